"""Headers of long runs are the same bytes as before, however they are written."""

from __future__ import annotations

import hashlib

import msgspec
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from detloader.findings import JsonValue
from detloader.manifest.canonical import decode_header, encode_header
from detloader.manifest.fingerprints import fingerprint, make_column
from detloader.manifest.long_lists import members_of, object_of
from detloader.manifest.schema import BLOCK_ROWS, Declared, Environment, Header, Level, Seen

BLOCKS = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(1500)]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["a", "é", '"', "\\", "\x7f", "/", 1.0, 1e300])
)
FIELDS = st.dictionaries(
    st.text(max_size=3) | st.sampled_from(["columns", "files", "\ud7ff", "\U00010000", "\uffff"]),
    SCALARS | st.lists(st.dictionaries(st.text(max_size=3), SCALARS | st.lists(SCALARS))),
)


@given(FIELDS)
def test_objects_are_written_as_the_standard_says(fields: dict[str, JsonValue]) -> None:
    assert object_of(members_of(fields)) == rfc8785.dumps(fields)


def test_a_header_of_many_blocks_is_canonical_json_and_is_read_again() -> None:
    header = Header(
        run_id="long",
        stream="main",
        rank=0,
        level=Level.DIGEST,
        state="complete",
        declared=Declared(),
        environment=Environment(),
        seen=Seen(rows=len(BLOCKS) * BLOCK_ROWS),
        columns=[make_column("record", "int64", BLOCKS)],
    )
    header = msgspec.structs.replace(header, fingerprint=fingerprint([header]))
    data = encode_header(header)

    assert data == rfc8785.dumps(msgspec.json.decode(data))
    assert decode_header(data, "here") == header
