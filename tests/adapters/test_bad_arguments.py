"""What the user says of IDs and batches, and is not so: refused, or said in a sentence."""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from torch.utils.data import IterableDataset

from detloader import open_run, record
from detloader.errors import UsageError
from detloader.manifest.content import sample_digest
from tests.support.torch_datasets import torch_loader

SAMPLES: list[dict[str, Any]] = [{"id": f"n{i}", "x": np.full(2, i)} for i in range(5)]


class Split(enum.IntEnum):
    TRAIN = 1


class BytesPath:
    """A path that is no text."""

    def __fspath__(self) -> bytes:
        return b"run"


class Given(IterableDataset[Any]):
    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements

    def __iter__(self) -> Any:
        return iter(self.elements)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"declared": 5}, "declared is a mapping of fields"),
        ({"draws": 3}, "draws is True or False, not 3"),
        ({"batched": "yes"}, "batched is True, False or left out, not 'yes'"),
        ({"rank": "a"}, "rank is a whole number or left out, not 'a'"),
        ({"rank": 1.0}, "rank is a whole number or left out, not 1.0"),
        ({"rank": True}, "rank is a whole number or left out, not True"),
        ({"rank": -1}, "rank -1 is negative"),
        ({"run": None}, "a run is the name of a folder, not None"),
        ({"run": "a\0b"}, r"a run is the name of a folder, not 'a\\x00b'"),
        ({"run": "memory://a\0b"}, "a run is the name of a folder"),
        ({"run": BytesPath()}, "a run is the name of a folder"),
    ],
)
def test_arguments_of_another_kind_are_refused(
    options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    arguments = {"run": tmp_path / "run"} | options

    with pytest.raises(UsageError, match=why):
        record([1], **arguments)
    assert not (tmp_path / "run").exists()


def loss_of(loader: Iterable[Any], run: Path, caplog: Any, **options: Any) -> str:
    """Record what cannot be recorded, and return what is said of it."""
    with caplog.at_level(logging.WARNING, "detloader"), record(loader, run, **options) as twin:
        list(twin)
    assert not open_run(run).complete
    return str(caplog.text)


@pytest.mark.parametrize("torch", [False, True], ids=["iterable", "torch"])
def test_a_key_that_samples_do_not_have_is_named_with_those_that_they_have(
    torch: bool, tmp_path: Path, caplog: Any
) -> None:
    loader = torch_loader(SAMPLES) if torch else SAMPLES

    said = loss_of(loader, tmp_path / "run", caplog, ids="nope")

    assert "ids='nope' is no key of an element: there are 'id', 'x'" in said


def test_a_key_of_what_has_no_keys_is_no_riddle(tmp_path: Path, caplog: Any) -> None:
    said = loss_of([(1, 2)], tmp_path / "run", caplog, ids="id")

    assert "ids='id' is no key of an element, a tuple: give a function of it" in said


def test_a_function_that_fails_is_said_to_be_that(tmp_path: Path, caplog: Any) -> None:
    said = loss_of([{"id": 0}], tmp_path / "run", caplog, ids=lambda element: 1 / element["id"])

    assert "the function given as ids fails for an element, a dict: ZeroDivisionError(" in said


@pytest.mark.parametrize("torch", [False, True], ids=["iterable", "torch"])
@pytest.mark.parametrize("ids", [["a", 1], [1, "a"], [b"a", 1]])
def test_ids_of_two_types_are_said_to_be_that(
    torch: bool, ids: list[Any], tmp_path: Path, caplog: Any
) -> None:
    of = [{"id": id_} for id_ in ids]
    loader = torch_loader(of, batch_size=2, collate_fn=list) if torch else of

    said = loss_of(loader, tmp_path / "run", caplog, ids="id")

    assert "some ids are whole numbers and some are text: make them all of one type" in said


@pytest.mark.parametrize("ids", [[1, 2.5], ["a", 1.5], [1, None]])
def test_what_is_no_id_is_named_and_not_its_neighbour(
    ids: list[Any], tmp_path: Path, caplog: Any
) -> None:
    loader = torch_loader([{"id": id_} for id_ in ids], batch_size=2, collate_fn=list)

    said = loss_of(loader, tmp_path / "run", caplog, ids="id")

    assert f"row 1: an ID is a 64-bit integer or a string, not {ids[1]!r}" in said


KINDS = pytest.mark.parametrize("kind", ["elements", "batches", "torch", "torch batches"])


def loader_of(kind: str, ids: list[Any]) -> tuple[Any, dict[str, Any]]:
    """Return a loader of batches of two such IDs, or of one by one, and how it is recorded."""
    elements: list[Any] = [{"id": id_} for id_ in ids]
    if kind == "elements":
        return elements, {}
    if kind == "torch":
        return torch_loader(elements, batch_size=2, collate_fn=list), {}
    batches = [{"id": ids[:2]}, {"id": ids[2:]}]
    if kind == "batches":
        return batches, {"batched": True}
    return torch_loader(Given(batches), batch_size=None), {"batched": True}


@KINDS
@pytest.mark.parametrize("id_", ["a\udcff", b"\xff"])
def test_names_without_utf_8_are_named_with_their_place_and_what_to_do(
    kind: str, id_: Any, tmp_path: Path, caplog: Any
) -> None:
    loader, options = loader_of(kind, ["a", "b", "c", id_])

    said = loss_of(loader, tmp_path / "run", caplog, ids="id", **options)

    where = ["element 3: "] if kind == "elements" else ["batch 1: ", "row 1: "]
    assert all(place in said for place in where)
    assert f"the ID {id_!r} has no UTF-8: give ids as a function that makes text of it" in said


@KINDS
def test_of_numbers_that_are_no_ids_it_is_said_which_are(
    kind: str, tmp_path: Path, caplog: Any
) -> None:
    loader, options = loader_of(kind, [1, 2, 3, 2**63 + 1])

    said = loss_of(loader, tmp_path / "run", caplog, ids="id", **options)

    assert (
        "a signed 64-bit integer, from -2**63 to 2**63-1, or a string, not 9223372036854775809"
        in said
    )
    assert "give ids as a function that makes text of it" in said


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (["a\udcff", "b"], "row 0: the ID 'a\\\\udcff' has no UTF-8"),
        ([1, 2**63], "row 1: an ID is a signed 64-bit integer"),
        ([1, 2.5], "row 1: an ID is a 64-bit integer or a string, not 2.5"),
        (np.array([True, False]), "row 0: an ID is a 64-bit integer or a string, not True"),
    ],
)
def test_a_sequence_that_holds_what_is_no_id_is_refused_with_its_place(
    ids: list[Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=why):
        record(torch_loader(SAMPLES[:2]), tmp_path / "run", ids=ids)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("loader", [[(1, 2)], tf.data.Dataset.range(2)], ids=["list", "dataset"])
def test_ids_that_are_neither_text_nor_a_function_are_said_to_be_that(
    loader: Any, tmp_path: Path
) -> None:
    why = "give ids as a key of its elements that is text, or as a function of one, not as 1"

    place: Any = 1
    with pytest.raises(UsageError, match=why):
        record(loader, tmp_path / "run", ids=place)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("ids", [[np.int64(5), "a"], [np.uint64(2**63), "a"]])
def test_numbers_of_numpy_beside_text_are_refused_at_once(
    ids: list[Any], tmp_path: Path, caplog: Any
) -> None:
    loader = torch_loader([{"id": id_} for id_ in ids], batch_size=2, collate_fn=list)

    said = loss_of(loader, tmp_path / "run", caplog, ids="id")

    assert "make them all of one type" in said or "64-bit integer" in said


def test_members_of_an_enumeration_of_numbers_are_ids(tmp_path: Path) -> None:
    with record([{"id": Split.TRAIN}], tmp_path / "run", ids="id") as twin:
        list(twin)

    assert open_run(tmp_path / "run").streams["main"].table(["record"])["record"].to_pylist() == [1]


def test_a_batch_that_does_not_show_its_rows_is_told_by_its_leaves(
    tmp_path: Path, caplog: Any
) -> None:
    batch = {"x": np.zeros((2, 3)), "epoch": 3}

    said = loss_of([batch], tmp_path / "run", caplog, batched=True)

    assert "epoch has no rows and x has 2 rows does not show its rows" in said
    assert "batched=False" in said


@pytest.mark.parametrize("torch", [False, True], ids=["iterable", "torch"])
def test_a_list_of_samples_is_a_batch_of_them(torch: bool, tmp_path: Path) -> None:
    lists = [SAMPLES[:3], SAMPLES[3:]]
    loader = torch_loader(Given(lists), batch_size=None) if torch else lists
    with record(loader, tmp_path / "run", ids="id", batched=True) as twin:
        list(twin)
    table = open_run(tmp_path / "run").streams["main"].table().to_pydict()

    assert table["record"] == [sample["id"] for sample in SAMPLES]
    assert table["batch"] == [0, 0, 0, 1, 1]
    assert table["content"] == [sample_digest(sample) for sample in SAMPLES]
