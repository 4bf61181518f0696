"""Files, frames and values against what zea 0.1.0 gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detloader.hdf5.arguments import Compatibility
from tests.support.hdf5_files import load, numbered, write_file

FOLDER = Path(__file__).parent / "published"

ORDER = json.loads((FOLDER / "order.json").read_text())

MENDED = {"colour", "other_axis"}


@pytest.mark.parametrize("compatibility", [None, "zea-0.1"])
@pytest.mark.parametrize("case", ORDER["arguments"])
def test_values_are_the_published_ones(
    tmp_path: Path, case: str, compatibility: Compatibility
) -> None:
    source, arguments = ORDER["arguments"][case]
    with np.load(FOLDER / "values.npz") as values:
        path = write_file(tmp_path / "a.hdf5", values[f"source_{source}"])
        wanted = values[case]

    loader = load(path, shuffle=False, compatibility=compatibility, **arguments)
    found = np.concatenate(list(loader))

    if case in MENDED and compatibility is None:
        assert found.shape != wanted.shape
    else:
        # A resize differs by rounding: it is another library's.
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("compatibility", [None, "zea-0.1"])
@pytest.mark.parametrize("number", range(len(ORDER["blocks"])))
def test_blocks_are_the_published_ones(
    tmp_path: Path, number: int, compatibility: Compatibility
) -> None:
    arguments, wanted = ORDER["blocks"][number]
    path = write_file(tmp_path / "a.hdf5", numbered(10))

    samples = load(path, shuffle=False, batch_size=None, compatibility=compatibility, **arguments)

    assert [sample[0, 0].tolist() for sample in samples] == wanted


@pytest.mark.parametrize("number", range(len(ORDER["sorting"])))
def test_compatibility_sorts_files_as_published(tmp_path: Path, number: int) -> None:
    names, wanted = ORDER["sorting"][number]
    for name in names:
        write_file(tmp_path / f"{name}.hdf5", numbered(1))

    found = {
        compatibility: [
            Path(file.name).stem for file in load(tmp_path, compatibility=compatibility).plan.files
        ]
        for compatibility in ("zea-0.1", None)
    }

    assert found["zea-0.1"] == wanted
    assert sorted(found[None]) == sorted(wanted)


def test_compatibility_gives_up_sorting_at_a_path_without_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b", "a"):
        write_file(tmp_path / f"{name}.hdf5", numbered(1))
    monkeypatch.chdir(tmp_path)

    paths: list[Any] = ["b.hdf5", "a.hdf5"]
    with pytest.warns(UserWarning, match="without a number"):
        loader = load(paths, compatibility="zea-0.1")

    assert [file.name for file in loader.plan.files] == paths
