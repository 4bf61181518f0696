"""Logs that do not fit together, imported and audited as a person would."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., subprocess.CompletedProcess[str]]

WHOLE = [
    {"epoch": epoch, "rank": rank, "record": 10 * epoch + 2 * place + rank}
    for epoch in range(2)
    for rank in range(2)
    for place in range(5)
]
DECLARED = {"shuffle": False, "purpose": "train"}


def import_log(
    cli: Cli, folder: Path, name: str, rows: list[dict[str, Any]], **declared: Any
) -> None:
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    meta = folder / f"{name}.json"
    meta.write_text(json.dumps(DECLARED | declared), encoding="utf-8")
    assert cli("import", f"{name}.csv", "--meta", meta, "-o", name).returncode == 0


OF_RANK_0 = [row for row in WHOLE if row["rank"] == 0]
OF_RANK_1 = [row for row in WHOLE if row["rank"] == 1]
OF_EPOCH_0 = [row for row in WHOLE if row["epoch"] == 0]
AS_TEXT = [row | {"record": f"x{row['record']}"} for row in WHOLE]

NO_RANK_1 = "rank 1 of a is not in b; the rows of the other ranks are the same"
NO_EPOCH_1 = "epoch 1 is in a alone; the rows of the other epochs are the same"
TYPES = (
    "record IDs are int64 in a and string in b: record or import both with one type of ID, "
    "or join them with --id-map"
)


@pytest.mark.parametrize(
    ("rows", "declared", "answer"),
    [
        (OF_RANK_0, {}, (1, "changed", NO_RANK_1)),
        (OF_RANK_1, {"world_size": 2}, (0, "identical", "b lacks rank 0 of 2")),
        (OF_EPOCH_0, {}, (1, "changed", NO_EPOCH_1)),
        (OF_EPOCH_0, {"complete": False}, (0, "identical", None)),
        (AS_TEXT, {}, (2, "inconclusive", TYPES)),
    ],
)
def test_what_does_not_fit_is_said_in_text_and_json(
    rows: list[dict[str, Any]],
    declared: dict[str, Any],
    answer: tuple[int, str, str | None],
    cli: Cli,
    tmp_path: Path,
) -> None:
    import_log(cli, tmp_path, "a", WHOLE)
    import_log(cli, tmp_path, "b", rows, **declared)
    done = cli("audit", "a", "b", "--json", "result.json")
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))

    assert (done.returncode, result["verdict"], result["reason"]) == answer
    assert done.stdout.startswith(answer[1])
    assert (answer[2] or "") in " ".join(done.stdout.split())
