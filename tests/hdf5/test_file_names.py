"""Files of any name that a file system takes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import Dataloader, open_run, record
from detloader.errors import FileError
from tests.support.hdf5_files import first_values, load, numbered, write_file

# Bytes that a name may have: none of it need be UTF-8.
stems = st.one_of(
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1),
    st.binary(min_size=1).map(
        lambda name: os.fsdecode(name.replace(b"\0", b"0").replace(b"/", b"_"))
    ),
    st.from_regex(r"[fg]?[0-9]{1,4}[_. -]?[0-9]{0,3}", fullmatch=True),
).filter(lambda stem: len(os.fsencode(stem)) < 200)


@settings(max_examples=40)
@given(names=st.lists(stems, min_size=1, max_size=5, unique=True), inner=stems)
def test_each_file_comes_once_in_one_order_under_its_name(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], inner: str
) -> None:
    folder = tmp_path_factory.mktemp("names") / "data"
    inner = f"d{inner}"
    for number, name in enumerate(names):
        write_file(folder / inner / f"n{name}.hdf5", numbered(1, number))

    run = folder.parent / "run"
    with record(load(folder, shuffle=False, batch_size=None, return_filename=True), run) as twin:
        found = [(int(sample.flat[0]), told) for sample, told in twin]

    assert sorted(number for number, _ in found) == list(range(len(names)))
    for number, told in found:
        assert told["fullpath"] == str(folder / inner / f"n{names[number]}.hdf5")
        assert told["filename"] == Path(f"n{names[number]}.hdf5").stem
    ids = open_run(run).streams["main"].table(["record"])["record"].to_pylist()
    assert len(set(ids)) == len(names)
    again = load(folder / inner, shuffle=False, batch_size=None)
    assert [int(sample.flat[0]) for sample in again] == [number for number, _ in found]


def test_bytes_without_utf_8_are_told_from_how_they_are_spelled(tmp_path: Path) -> None:
    for number, name in enumerate((b"a\xe9", b"a\\xe9", b"a\\\\xe9", "a\u00e9".encode())):
        write_file(tmp_path / "data" / f"{os.fsdecode(name)}.hdf5", numbered(1, number))

    with record(load(tmp_path / "data"), tmp_path / "run") as twin:
        list(twin)

    ids = open_run(tmp_path / "run").streams["main"].table(["record"])["record"].to_pylist()
    stems = ("a\\xe9", "a\\\\xe9", "a\\\\\\\\xe9", "a\u00e9")
    assert set(ids) == {f"{stem}.hdf5#0:1" for stem in stems}


def test_a_state_over_files_of_any_name_is_saved_and_restored(tmp_path: Path) -> None:
    write_file(tmp_path / os.fsdecode(b"caf\xe9.hdf5"), numbered(9))
    steps = iter(load(tmp_path))
    next(steps)

    taken_up = iter(load(tmp_path))
    taken_up.set_state(steps.get_state())

    assert first_values(taken_up) == first_values(steps)


def test_a_name_that_would_break_the_line_is_spelled_out_in_errors(tmp_path: Path) -> None:
    bad = tmp_path / "a\nb\x1b[31m.hdf5"
    bad.write_bytes(b"none")
    with pytest.raises(FileError) as caught:
        Dataloader(bad, validate=False)

    assert str(caught.value).isprintable()
    assert r"a\nb\x1b[31m.hdf5" in str(caught.value)
    assert caught.value.path == str(bad)
