from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import DetloaderError, LogError, RunExistsError
from detloader.importers import import_log
from detloader.manifest.reader import open_run
from detloader.manifest.schema import Environment
from detloader.manifest.verify import verify_run


def write(folder: Path, text: str, name: str = "log.csv") -> Path:
    log = folder / name
    log.write_text(text, encoding="utf-8")
    return log


def write_meta(folder: Path, content: str) -> Path:
    return write(folder, content, "meta.json")


def test_rows_keep_their_order_and_the_run_is_sealed(tmp_path: Path) -> None:
    import_log(write(tmp_path, "record\n3\n1\n2\n"), tmp_path / "run")
    run = verify_run(tmp_path / "run")

    assert run.complete
    assert run.streams["main"].table()["record"].to_pylist() == [3, 1, 2]


@given(ranks=st.lists(st.integers(0, 4), min_size=1))
def test_each_rank_gets_its_rows_in_delivery_order(
    ranks: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ranks")
    lines = [f"{rank},{row}" for row, rank in enumerate(ranks)]
    import_log(write(folder, "\n".join(["rank,record", *lines, ""])), folder / "run")
    stream = open_run(folder / "run").streams["main"]

    found = {rank.header.rank: rank.table()["record"].to_pylist() for rank in stream.ranks}

    assert found == {r: [i for i, rank in enumerate(ranks) if rank == r] for r in set(ranks)}
    assert "rank" not in stream.columns


def test_all_ranks_belong_to_one_run(tmp_path: Path) -> None:
    import_log(write(tmp_path, "rank,record\n0,1\n1,2\n"), tmp_path / "run")
    ranks = open_run(tmp_path / "run").streams["main"].ranks

    assert len({rank.header.run_id for rank in ranks}) == 1


def test_a_log_of_names_only_is_a_run_without_rows(tmp_path: Path) -> None:
    import_log(write(tmp_path, "record,rank\n"), tmp_path / "run")

    assert verify_run(tmp_path / "run").rows == 0


def test_nothing_is_claimed_of_the_environment(tmp_path: Path) -> None:
    import_log(write(tmp_path, "record\n1\n"), tmp_path / "run")

    assert open_run(tmp_path / "run").streams["main"].environment == Environment()


def test_what_the_run_declared_is_kept_as_it_was_said(tmp_path: Path) -> None:
    said = {
        "seed": 0,
        "weights": {"a": 1.5},
        "versions": {"numpy": "1.26"},
        "resume": {"position": 3},
    }
    meta = write_meta(tmp_path, json.dumps(said))

    import_log(write(tmp_path, "record\na\n"), tmp_path / "run", meta=meta)
    declared = open_run(tmp_path / "run").streams["main"].declared

    assert (declared.seed, declared.weights) == (0, {"a": 1.5})
    assert declared.versions == {"numpy": "1.26"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "is no JSON object"),
        ('{"seed": 1', "is no JSON that can be read"),
        ('{"shufle": true}', "did you mean shuffle"),
        ('{"colour": "red"}', "goes into config"),
        ('{"workers": "two"}', "cannot be"),
        (
            '{"resume": {"position": 3, "unit": "steps"}}',
            "count records, batches, epochs, elements",
        ),
        ('{"resume": {"position": 1, "sample": 2}}', "sample"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(
    content: str, reason: str, tmp_path: Path
) -> None:
    log, meta = write(tmp_path, "record\n1\n"), write_meta(tmp_path, content)

    with pytest.raises(LogError, match=reason):
        import_log(log, tmp_path / "run", meta=meta)


def test_columns_may_have_other_names_in_the_log(tmp_path: Path) -> None:
    log = write(tmp_path, "sample_id,pass\n7,0\n8,1\n")

    import_log(log, tmp_path / "run", columns={"record": "sample_id", "epoch": "pass"})
    table = open_run(tmp_path / "run").streams["main"].table()

    assert table.select(["record", "epoch"]).to_pydict() == {"record": [7, 8], "epoch": [0, 1]}


@pytest.mark.parametrize(
    ("header", "columns", "reason"),
    [
        ("id", {}, "has no column record"),
        ("id", {"record": "sample"}, "has no column 'sample'"),
        ("record,id", {"record": "id"}, "more than one column record"),
        ("record,record", {}, "more than one column record"),
        ("record,position", {}, "column position"),
        (",record", {}, "column 1 has no name"),
    ],
)
def test_names_that_do_not_fit_are_refused(
    header: str, columns: dict[str, str], reason: str, tmp_path: Path
) -> None:
    row = ",".join("1" for _ in header.split(","))
    log = write(tmp_path, f"{header}\n{row}\n")

    with pytest.raises(LogError, match=reason):
        import_log(log, tmp_path / "run", columns=columns)


def test_a_run_that_exists_is_left_alone(tmp_path: Path) -> None:
    log, other = write(tmp_path, "record\n1\n"), write(tmp_path, "record\n2\n", "other.csv")
    import_log(log, tmp_path / "run")
    before = open_run(tmp_path / "run").fingerprint

    with pytest.raises(RunExistsError, match="exists"):
        import_log(other, tmp_path / "run")

    assert verify_run(tmp_path / "run").fingerprint == before


@pytest.mark.parametrize("log", ["", "id\n1\n", "record,rank\n1,0\n2,-1\n", "record,epoch\n1,x\n"])
def test_an_error_leaves_nothing_behind(log: str, tmp_path: Path) -> None:
    path = write(tmp_path, log)

    with pytest.raises(DetloaderError):
        import_log(path, tmp_path / "runs" / "run")

    assert list(tmp_path.rglob("*")) == [path]


def test_a_log_in_a_store_is_to_be_copied_first(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"s3://bucket/log.csv is in a remote store: copy the log"):
        import_log("s3://bucket/log.csv", tmp_path / "run")
