"""What a run leaves on disk, and how it is written, read and proved.

A run is a folder; each rank of each of its streams has a folder of its own:
`RUN/<stream>/rank-00000/{manifest.json, order/part-000000.parquet, journal.arrows}`.

schema        the header, field by field
canonical     the header's bytes, and the digest over them
arrays        columns as NumPy arrays and back
column_types  which columns there may be
digests       blocks, columns and fingerprints, byte for byte
content       the digest of one delivered sample, and of each row of a batch
packed        the same for many batches of one form, faster
consistency   what a header says must fit together
environment   what the process runs on
layout        names of files and folders
folders       a rank's folder: local, on this machine, or remote, in a store
claim         a rank's folder, taken for one writer
beside        files of a run that belong to no rank
journal       rows that no sealed part holds yet; flatbuffers looks into its messages
sealed        what was sealed so far; unlisted, which parts of it the journal lists alone
parts         sealed rows, in Parquet; unpacking looks through one first, by means of thrift
writer        one rank being recorded
opening       headers of a run
reader        a run as it lies on disk
prefix        what a run that was cut off proves
verify        every byte proved
"""

from __future__ import annotations

__all__: list[str] = []
