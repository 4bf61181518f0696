"""The zea format: what a file lacks, said without a trace in its folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np
import pytest

from detloader.errors import DetloaderError, FormatError
from detloader.hdf5.files.validation import faults, refuse


def faults_of(
    folder: Path, datasets: Iterable[str] = (), groups: Iterable[str] = (), *, legacy: bool = False
) -> list[str]:
    path = folder / "file.hdf5"
    with h5py.File(path, "w") as file:
        if not legacy:
            file.attrs["zea_version"] = "0.1.0"
        for name in datasets:
            file[name] = np.zeros((2, 3))
        for name in groups:
            file.require_group(name)
    with h5py.File(path, "r") as file:
        return list(faults(file))


# Since zea 0.1.0


@pytest.mark.parametrize(
    "datasets",
    [
        ["data/image/values"],
        ["data/raw_data"],
        ["data/a_map_of_ones_own/values", "data/raw_data"],
        ["tracks/track_0/data/image/values"],
        ["tracks/track_0/data/image/values", "tracks/track_1/data/raw_data"],
    ],
)
def test_a_new_file_holds_groups_and_raw_data(tmp_path: Path, datasets: list[str]) -> None:
    assert faults_of(tmp_path, datasets) == []


def test_a_new_file_holds_no_other_plain_dataset(tmp_path: Path) -> None:
    found = faults_of(tmp_path, ["data/image", "data/envelope_data", "data/raw_data"])

    assert found == ["data/envelope_data is no group", "data/image is no group"]


def test_every_track_is_looked_at(tmp_path: Path) -> None:
    datasets = ["tracks/track_0/data/image", "tracks/track_2/data/raw_data"]

    found = faults_of(tmp_path, datasets, ["tracks/track_1/scan"])

    assert found == ["tracks/track_0/data/image is no group", "no group tracks/track_1/data"]


# Before


@pytest.mark.parametrize("name", ["beamformed_data", "envelope_data", "image", "image_sc"])
def test_an_old_file_holds_known_kinds(tmp_path: Path, name: str) -> None:
    assert faults_of(tmp_path, [f"data/{name}"], legacy=True) == []


def test_an_old_file_holds_nothing_else(tmp_path: Path) -> None:
    found = faults_of(tmp_path, ["data/image", "data/mask"], legacy=True)

    assert found == ["data/mask is of no known kind"]


@pytest.mark.parametrize("name", ["raw_data", "aligned_data"])
def test_channel_data_of_an_old_file_needs_its_scan(tmp_path: Path, name: str) -> None:
    assert faults_of(tmp_path, [f"data/{name}"], legacy=True) == ["no group scan"]
    assert faults_of(tmp_path, [f"data/{name}"], ["scan"], legacy=True) == []


# Either


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("datasets", "groups", "fault"),
    [
        ([], [], "no group data, at the root or in tracks/track_0"),
        (["images"], [], "no group data, at the root or in tracks/track_0"),
        ([], ["tracks"], "no group data, at the root or in tracks/track_0"),
        (["tracks"], ["data"], "no group data, at the root or in tracks/track_0"),
        (["tracks/track_0"], [], "no group data, at the root or in tracks/track_0"),
        (["data"], [], "no group data"),
        (["tracks/track_0/data"], [], "no group tracks/track_0/data"),
    ],
)
def test_a_file_without_a_group_of_data_is_none(
    tmp_path: Path, datasets: list[str], groups: list[str], fault: str, legacy: bool
) -> None:
    assert faults_of(tmp_path, datasets, groups, legacy=legacy) == [fault]


def test_a_link_that_leads_nowhere_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "file.hdf5"
    with h5py.File(path, "w") as file:
        file.attrs["zea_version"] = "0.1.0"
        file["data/image"] = h5py.SoftLink("/nowhere")
        file["data/segmentation"] = h5py.ExternalLink("nowhere.hdf5", "/data")

    with h5py.File(path, "r") as file:
        assert faults(file) == ("data/image is no group", "data/segmentation is no group")


def test_no_array_is_read_and_nothing_is_written_into_the_folder(tmp_path: Path) -> None:
    faults_of(tmp_path, ["data/image", "data/raw_data"])
    path = tmp_path / "file.hdf5"
    # Were an array read, it would be read from here, and fail.
    with h5py.File(path, "r+") as file:
        del file["data/raw_data"]
        file["data"].create_dataset("raw_data", (10**6,), external=str(tmp_path / "missing.bin"))
    before = path.read_bytes()

    with h5py.File(path, "r") as file, pytest.raises(FormatError):
        refuse({str(path): faults(file)})

    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.hdf5"]


# The error


def test_valid_files_are_not_refused() -> None:
    refuse({})
    refuse({"a.hdf5": (), "b.hdf5": ()})


def test_one_file_and_a_folder_are_refused_alike() -> None:
    bad = ("no group data", "no group scan")

    with pytest.raises(FormatError, match=r"^a file not of the zea format: a \(no group data, no"):
        refuse({"a": bad})
    with pytest.raises(FormatError, match=r"^1 of 3 files not of the zea format: a \(no") as error:
        refuse({"c": (), "a": bad, "b": ()})

    assert error.value.path == "a"
    assert isinstance(error.value, DetloaderError | ValueError)


def test_no_more_than_five_files_are_named_and_the_rest_counted() -> None:
    files = {f"{number:02}.h5": ["no group data"] for number in range(12)}

    with pytest.raises(FormatError, match=r"12 of 12 files.* and 7 more: validate=False") as error:
        refuse(files)

    assert str(error.value).count("no group data") == 5
    assert "\n" not in str(error.value)
