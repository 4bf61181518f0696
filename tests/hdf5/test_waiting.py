"""What the system holds in memory is read in turn; while a thread waits, another has its turn."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.support.hdf5_files import first_values, load, write


@pytest.mark.parametrize("threads", [0, 1, 16])
def test_frames_that_must_come_from_the_disk_are_the_same(threads: int, tmp_path: Path) -> None:
    files = sorted(write(tmp_path / "data", 40, 40).iterdir())
    expected = first_values(load(files, shuffle=False, num_threads=threads))
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    assert first_values(load(files, shuffle=False, num_threads=threads)) == expected


def test_a_file_system_that_cannot_tell_what_it_holds_is_read_all_the_same(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        in_memory = first_values(load(write(Path(folder) / "data", 30), shuffle=False))

    assert in_memory == first_values(load(write(tmp_path / "data", 30), shuffle=False))
