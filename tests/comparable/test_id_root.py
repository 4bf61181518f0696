from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader import audit, open_run, record
from detloader.errors import LogError, UsageError
from detloader.importers import import_log
from detloader.manifest.relative import IdRoot
from detloader.manifest.verify import verify_run

NAMES = st.text(st.characters(exclude_characters="/\\\0", codec="utf-8"), min_size=1).filter(
    lambda name: name not in {".", ".."}
)


def told(root: str | Path, *ids: str | None) -> list[Any]:
    return IdRoot(root).relative(pa.chunked_array([pa.array(ids, pa.string())])).to_pylist()


def deliver(run: Path, ids: list[Any], **options: Any) -> Path:
    with record([{"id": name} for name in ids], run, ids="id", **options) as recorded:
        for _ in recorded:
            pass
    return run


def records(run: Path) -> list[Any]:
    return open_run(run).streams["main"].table()["record"].to_pylist()


@given(root=st.lists(NAMES, min_size=1), rest=st.lists(NAMES, min_size=1))
def test_a_path_below_the_root_is_told_relative_to_it(root: list[str], rest: list[str]) -> None:
    folder, name = "/" + "/".join(root), "/".join(rest)

    assert told(folder, f"{folder}/{name}") == [name]


@given(name=st.text(st.characters(codec="utf-8")))
def test_what_is_not_below_the_root_stays_as_it_is(name: str) -> None:
    assert told("/no/such/folder", name, None) == [name, None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/data/train/1.png", "train/1.png"),
        ("/data//train/./1.png", "train/1.png"),
        ("/data", "/data"),
        ("/data/", "/data/"),
        ("/database/1.png", "/database/1.png"),
        ("/data/../etc/1.png", "/data/../etc/1.png"),
        ("/data/a..b/1.png", "a..b/1.png"),
        ("train/1.png", "train/1.png"),
        ("/data/a\nb", "a\nb"),
    ],
)
def test_paths_are_told_apart_as_a_file_system_would(name: str, expected: str) -> None:
    assert told("/data/", name) == [expected]


@pytest.mark.parametrize("name", [r"D:\data\train\1.png", "d:/data/train/1.png"])
def test_windows_paths_become_posix_paths(name: str) -> None:
    assert told("D:\\data", name) == ["train/1.png"]


def test_an_address_may_be_a_root() -> None:
    assert told("s3://bucket/data", "s3://bucket/data/1.png", "s3://bucket/2") == [
        "1.png",
        "s3://bucket/2",
    ]


def test_a_root_goes_by_all_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)

    ids = ["link/1", "./link/1", f"{tmp_path}/link/1", f"{os.path.realpath(tmp_path)}/real/1"]

    assert told("link", *ids) == ["1"] * 4


def test_runs_of_two_machines_are_identical(tmp_path: Path) -> None:
    a = deliver(tmp_path / "a", ["/home/x/data/1", "/home/x/data/2"], id_root="/home/x/data")
    b = deliver(tmp_path / "b", ["/mnt/data/1", "/mnt/data/2"], id_root="/mnt/data", level="order")

    assert audit(a, b).verdict == "identical"
    assert verify_run(a).streams["main"].ranks[0].header.relative_ids is True
    assert b"/home/x" not in (a / "main/rank-00000/manifest.json").read_bytes()


def test_the_id_that_was_asked_for_is_relative_too(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("record,asked\n/d/1,/d/2\n/e/1,/d/1\n")

    import_log(log, tmp_path / "run", id_root="/d")
    rows = open_run(tmp_path / "run").streams["main"].table()

    assert rows["record"].to_pylist() == ["1", "/e/1"]
    assert rows["asked"].to_pylist() == ["2", "1"]


def test_a_root_with_nothing_below_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("record\n/d/1\n")

    deliver(tmp_path / "a", ["/d/1"], id_root="/elsewhere")

    assert "no record ID lies below /elsewhere" in caplog.text
    with pytest.raises(LogError, match="no record ID below /elsewhere: check the folder's name"):
        import_log(log, tmp_path / "b", id_root="/elsewhere")
    assert not (tmp_path / "b").exists()


def test_integers_are_no_paths(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert records(deliver(tmp_path / "a", [1, 2], id_root="/data")) == [1, 2]
    assert "no record ID lies below /data" in caplog.text


@pytest.mark.parametrize("root", ["", "  ", 7, b"/data", "a\0b", "\udcff"])
def test_what_is_no_folder_is_refused_before_anything_is_written(tmp_path: Path, root: Any) -> None:
    with pytest.raises(UsageError, match="id_root"):
        record([1], tmp_path / "run", id_root=root)
    assert not (tmp_path / "run").exists()


def test_a_file_is_no_root(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("")

    with pytest.raises(UsageError, match="is a file: name the folder that IDs lie below"):
        record([1], tmp_path / "run", id_root=file)


def test_a_recipe_keeps_a_root_below_the_working_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from detloader.manifest.schema import Recipe

    monkeypatch.chdir(tmp_path)
    recipe = Recipe(factory="m:f")
    inside = deliver(tmp_path / "a", ["data/1"], id_root=tmp_path / "data", recipe=recipe)
    outside = deliver(tmp_path / "b", ["/x/1"], id_root="/x", recipe=recipe)

    told = [open_run(run).streams["main"].recipe for run in (inside, outside)]

    assert [recipe and (recipe.id_root or None) for recipe in told] == ["data", None]


def test_the_command_line_makes_ids_relative(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def make():\n    return [{'id': '/data/1'}, {'id': '/data/2'}]\n"
    )
    script = Path(sys.executable).with_name("detloader")
    (tmp_path / "log.csv").write_text("record\n/mnt/1\n/mnt/2\n")

    for words in (
        ["record", "mine:make", "-o", "a", "--ids", "id", "--id-root", "/data"],
        ["import", "log.csv", "-o", "b", "--id-root", "/mnt"],
    ):
        subprocess.run([script, *words], cwd=tmp_path, check=True, capture_output=True)

    assert records(tmp_path / "a") == records(tmp_path / "b") == ["1", "2"]
