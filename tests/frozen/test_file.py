"""What a frozen file holds, how large it is, and what is refused when it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import open_run
from detloader.audits.frozen import freeze, load, save
from detloader.errors import FrozenError, RunError
from detloader.manifest.environment import capture_environment
from detloader.manifest.schema import Declared, Recipe
from detloader.manifest.writer import RankWriter
from tests.support.headers import headers_only
from tests.support.runs import write_run

MILLION = 1_000_000


def default_columns(rows: int) -> pa.Table:
    """Return what is recorded of a shuffled loader with workers, where nothing is asked for."""
    rng = np.random.default_rng(rows)
    return pa.table(
        {
            "record": rng.permutation(rows),
            "epoch": np.zeros(rows, np.int64),
            "batch": np.arange(rows) // 32,
            "draws": rng.integers(0, 2**63, rows, np.uint64),
            "content": rng.integers(0, 2**63, rows, np.uint64),
            "worker": np.arange(rows) % 4,
        }
    )


def run_of(folder: Path, rows: int = 100, *, recipe: Recipe | None = None, **declared: Any) -> Path:
    """Record rows with the default columns, in this environment."""
    writer = RankWriter(
        folder, declared=Declared(**declared), environment=capture_environment(), recipe=recipe
    )
    writer.append(default_columns(rows))
    writer.close()
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A frozen run's file."""
    save(freeze(run_of(tmp_path / "run")), tmp_path / "frozen.json")
    return tmp_path / "frozen.json"


def refusal(file: Path) -> str:
    """What is said of a file that cannot be read, in one line."""
    with pytest.raises(FrozenError) as caught:
        load(file)
    message = str(caught.value)
    assert str(file) in message
    assert "\n" not in message
    return message


def test_a_million_records_take_less_than_ten_kilobytes(tmp_path: Path) -> None:
    recipe = Recipe(
        factory="train.data:make_loader",
        arguments={"seed": 7},
        source_sha256="0" * 64,
        packages={f"package-{number}": "1.22.3" for number in range(60)},
    )
    run = run_of(tmp_path / "run", MILLION, recipe=recipe, seed=7, shuffle=True, batch_size=32)

    save(freeze(run), tmp_path / "frozen.json")
    assert (tmp_path / "frozen.json").stat().st_size < 10_000


@pytest.mark.parametrize("blocks", [16, 17, 160, 16_000])
def test_however_long_a_run_is_its_file_stays_small(tmp_path: Path, blocks: int) -> None:
    save(freeze(headers_only(blocks)), tmp_path / "frozen.json")
    assert (tmp_path / "frozen.json").stat().st_size < 10_000


def test_of_a_weight_for_each_record_only_the_digest_is_kept(tmp_path: Path) -> None:
    weights = np.linspace(0, 1, 10_000).tolist()
    save(freeze(run_of(tmp_path / "run", weights=weights, seed=3)), tmp_path / "frozen.json")
    stream = load(tmp_path / "frozen.json").streams["main"]

    assert not stream.declared.weights
    assert stream.declared.seed == 3
    assert len(stream.long_values["weights"]) == 64
    assert (tmp_path / "frozen.json").stat().st_size < 10_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@settings(max_examples=30)
@given(arguments=st.dictionaries(st.text(min_size=1), json_values, max_size=4), seed=st.integers())
def test_what_was_written_is_read_back_and_written_alike(
    tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("written")
    recipe = Recipe(factory="train:make", arguments=arguments)
    frozen = freeze(run_of(folder / "run", recipe=recipe, seed=seed))
    save(frozen, folder / "a.json")
    save(load(folder / "a.json"), folder / "b.json")

    assert load(folder / "a.json") == frozen
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_other_line_ends_and_another_layout_are_no_edit(file: Path) -> None:
    frozen = load(file)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert load(file) == frozen
    file.write_text(json.dumps(json.loads(file.read_text())))
    assert load(file) == frozen


@pytest.mark.parametrize(
    ("before", "after"),
    [('"rows": 100', '"rows": 101'), ('"grouped": 1', '"grouped": 2'), ('"record": {', '"id": {')],
)
def test_an_edit_by_hand_is_noticed(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))

    assert "was edited by hand" in refusal(file)


def test_conflict_markers_are_named_with_their_line(file: Path) -> None:
    lines = file.read_text().splitlines()
    mine = [*lines[:3], "<<<<<<< HEAD", lines[3], "=======", lines[3], ">>>>>>> other", *lines[4:]]
    file.write_text("\n".join(mine))

    assert "conflict markers of a merge, the first in line 4" in refusal(file)


def test_a_newer_form_asks_for_a_newer_detloader(file: Path) -> None:
    fields = json.loads(file.read_text())
    file.write_text(json.dumps({**fields, "schema_version": 2}))

    assert "schema version 2" in refusal(file)
    assert "upgrade detloader" in refusal(file)


def test_a_key_that_stands_twice_is_refused(file: Path) -> None:
    file.write_text(file.read_text().replace('"grouped": 1,', '"grouped": 1, "grouped": 1,'))

    assert "'grouped' stands twice" in refusal(file)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"a = 3", b"\xff\xfe", b'{"schema_version": 1}', b"[" * 100_000]
)
def test_what_is_no_frozen_file_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)

    assert "no frozen file" in refusal(tmp_path / "other")


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "missing")
    assert "is a folder" in refusal(tmp_path)


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    frozen = freeze(run_of(tmp_path / "run"))
    with pytest.raises(FrozenError, match="cannot be written"):
        save(frozen, tmp_path / "missing" / "frozen.json")


def test_a_run_that_is_not_complete_is_not_frozen(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"record": [1, 2]}, seal=False)
    with pytest.raises(RunError, match="freeze a complete run"):
        freeze(open_run(run))
