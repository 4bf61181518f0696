"""A process may die between any two steps: no row is lost, none comes twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from detloader import open_run
from detloader.errors import DamageError, RunExistsError
from detloader.manifest.canonical import decode_header
from detloader.manifest.journal import Journal, read_journal
from detloader.manifest.local import LocalFolder
from detloader.manifest.verify import verify_run
from detloader.manifest.writer import PART_ROWS
from tests.support.tables import rank_writer

RANK = Path("main", "rank-00000")
SCHEMA = pa.table({"record": ["a"], "epoch": [0]}).schema
BATCHES = [
    pa.table({"record": ["a", None], "epoch": [0, 0]}, SCHEMA),
    pa.table({"record": ["ü" * 9], "epoch": [None]}, SCHEMA),
    pa.table({"record": ["", "x", "y"], "epoch": [1, 2, 3]}, SCHEMA),
]


def test_a_torn_journal_gives_its_whole_batches_at_every_length(tmp_path: Path) -> None:
    path = tmp_path / "journal.arrows"
    ends = []
    journal = Journal(path, SCHEMA, 7)
    for batch in BATCHES:
        journal.append(batch)
        ends.append(path.stat().st_size)
    whole = path.read_bytes()

    for length in range(len(whole) + 1):
        found = read_journal(whole[:length])
        complete = [batch for batch, end in zip(BATCHES, ends, strict=True) if end <= length]
        if found is None:
            assert not complete
        else:
            assert found[0] == 7
            assert found[1].equals(pa.concat_tables([SCHEMA.empty_table(), *complete]))


def test_a_journal_with_a_flipped_bit_gives_rows_or_damage_and_nothing_worse(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    writer = rank_writer(run)
    for batch in BATCHES:
        writer.append(batch)
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    writer.discard()
    whole = (copy / RANK / "journal.arrows").read_bytes()

    found = 0
    for at in range(0, len(whole) * 8, 5):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        (copy / RANK / "journal.arrows").write_bytes(flipped)
        try:
            found += open_run(copy).streams["main"].table().num_rows
        except DamageError:
            continue

    assert found > 0


def test_no_row_is_lost_or_doubled_between_the_steps_of_sealing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = pa.table({"record": np.random.default_rng(0).permutation(PART_ROWS + 5)})
    writer = rank_writer(run)
    writer.append(rows.slice(0, PART_ROWS))
    before = tmp_path / "before"
    shutil.copytree(run, before)
    writer.append(rows.slice(PART_ROWS))
    after = tmp_path / "after"
    shutil.copytree(run, after)
    writer.close()

    part_written = tmp_path / "part-written"
    shutil.copytree(before, part_written)
    shutil.copytree(after / RANK / "order", part_written / RANK / "order")

    for state, count in {
        before: PART_ROWS,
        part_written: PART_ROWS,
        after: PART_ROWS + 5,
        run: PART_ROWS + 5,
    }.items():
        found = verify_run(state)
        assert found.rows == count
        assert found.streams["main"].ranks[0].table().equals(rows.slice(0, count))
        assert found.complete == (state == run)


def test_parts_are_listed_by_the_journal_and_from_time_to_time_by_the_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalFolder, "most_unlisted", 2)
    run = tmp_path / "run"
    order = np.random.default_rng(0).permutation(PART_ROWS * 5 + 5)
    rows = pa.table({"record": order, "epoch": np.arange(len(order)) // PART_ROWS})
    writer = rank_writer(run)
    listed, earlier = [], None
    for part in range(6):
        writer.append(rows.slice(part * PART_ROWS, PART_ROWS))
        state = tmp_path / f"after-{part}"
        shutil.copytree(run, state)
        header = (state / RANK / "manifest.json").read_bytes()
        listed.append(len(decode_header(header, "header").files))
        found = verify_run(state)
        assert found.rows == min((part + 1) * PART_ROWS, len(rows))
        assert found.streams["main"].ranks[0].table().equals(rows.slice(0, found.rows))
        assert found.streams["main"].ranks[0].header.seen.epochs == part
        if earlier is not None:
            # A header that is newer than the journal: the process died in between.
            mixed = tmp_path / f"mixed-{part}"
            shutil.copytree(state, mixed)
            shutil.copy(earlier / RANK / "journal.arrows", mixed / RANK)
            assert open_run(mixed).rows in {part * PART_ROWS, part * PART_ROWS + 5}
        earlier = state
    assert listed == [0, 0, 0, 3, 3, 3]
    (state / RANK / "journal.arrows").unlink()
    with pytest.raises(DamageError, match=r"2 parts that nothing lists"):
        open_run(state)
    writer.close()
    assert verify_run(run).streams["main"].ranks[0].table().equals(rows)


def test_every_bit_of_a_list_of_parts_is_proved(tmp_path: Path) -> None:
    run = tmp_path / "run"
    writer = rank_writer(run)
    writer.append(pa.table({"record": np.arange(PART_ROWS + 1)}))
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    writer.discard()
    path = copy / RANK / "journal.arrows"
    whole = path.read_bytes()
    start = whole.index(b'{"first_row"')
    end = whole.index(b"}]", start)
    for at in range(start * 8, end * 8, 3):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        with pytest.raises(DamageError, match="list of parts"):
            open_run(copy)


def test_no_row_is_lost_between_the_steps_of_closing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = pa.table({"record": [3, 1, 2]})
    writer = rank_writer(run)
    writer.append(rows)
    opened = tmp_path / "opened"
    shutil.copytree(run, opened)
    writer.close()
    part_written = tmp_path / "part-written"
    shutil.copytree(opened, part_written)
    shutil.copytree(run / RANK / "order", part_written / RANK / "order")
    (part_written / RANK / "manifest.json.tmp").write_bytes(b"{")

    for state in (opened, part_written):
        found = verify_run(state)
        assert found.streams["main"].ranks[0].table().equals(rows)
        assert not found.complete
    assert verify_run(run).complete


def test_a_gap_between_parts_and_journal_is_damage(tmp_path: Path) -> None:
    rows = pa.table({"record": [1, 2, 3]})
    writer = rank_writer(tmp_path / "run")
    writer.append(rows)
    Journal(tmp_path / "run" / RANK / "journal.arrows", rows.schema, 2).append(rows)

    with pytest.raises(DamageError, match="lacks rows 0 to 1"):
        open_run(tmp_path / "run").streams["main"].table()
    writer.discard()


def test_a_folder_whose_recorder_died_at_once_can_be_used_again(tmp_path: Path) -> None:
    folder = tmp_path / "run" / RANK
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    (folder / "manifest.json.tmp").write_bytes(b"{")

    with rank_writer(tmp_path / "run") as writer:
        writer.append(pa.table({"record": [1]}))

    assert verify_run(tmp_path / "run").complete


def test_a_run_that_was_cut_off_is_kept_and_said(tmp_path: Path) -> None:
    writer = rank_writer(tmp_path / "run")
    writer.append(pa.table({"record": [1]}))
    shutil.copytree(tmp_path / "run", tmp_path / "killed")
    writer.discard()

    with pytest.raises(RunExistsError, match="cut off: choose another folder, or remove it"):
        rank_writer(tmp_path / "killed")
    assert open_run(tmp_path / "killed").rows == 1
