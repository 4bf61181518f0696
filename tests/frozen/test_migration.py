"""The change that the project is named for, from its frozen file to the child of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from detloader.audits.frozen import differences, load
from detloader.manifest.reader import open_run
from tests.support.freezing import Experiment, source

OLDER = """
import functools, itertools, random

from detloader.order.interleave import OlderInterleave, older_random_id_generator

WEIGHTS = [1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0, 1.0, 1.0]


class Loader:
    def __init__(self, count):
        rng = random.Random(7)
        draw = functools.partial(older_random_id_generator, weights=WEIGHTS, rng=rng)
        self.ids = OlderInterleave(range(10), id_generator=draw, num_workers=4, rng=rng)
        self.count = count

    def __iter__(self):
        ids = itertools.islice(self.ids, self.count)
        return ({"id": number, "x": float(number)} for number in ids)


def make(count=4000):
    return Loader(count)
"""

GLOBAL = """
import functools, random

import numpy as np
import tensorflow as tf

from detloader import create_interleaved_dataset_from_generator, random_id_generator

WEIGHTS = [1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0, 1.0, 1.0]


def read(ids):
    for number in ids:
        yield {"id": np.int64(number), "x": np.float64(number)}


def make(count=4000):
    random.seed(7)
    return create_interleaved_dataset_from_generator(
        read,
        functools.partial(random_id_generator, weights=WEIGHTS),
        range(10),
        {"id": tf.TensorSpec((), tf.int64), "x": tf.TensorSpec((), tf.float64)},
        num_workers=4,
    ).take(count)
"""

STEADY = source("return Rows(range(n))")
BACKWARDS = source("return Rows(range(n)[::-1])")
NOISY = source("return Rows(random.Random(os.urandom(8)).sample(range(n), n))")


def test_implicit_partitioning_migrates_to_the_global_mode_with_all_that_changes(
    experiment: Experiment,
) -> None:
    experiment.freeze(OLDER)
    experiment.edit(GLOBAL)
    answer = experiment.preflight("--run", "run")

    assert answer.status == 1
    assert answer.result["decision"] == "migrate"
    assert answer.evidence("implicit-partitioning")["dropped"] == [8, 9]
    assert answer.evidence("implicit-partitioning")["partitions"] == [4]
    assert answer.evidence("ignored-weights")["decision"] == "migrate"
    changes = answer.evidence("experiment")
    assert changes["added"] == [8, 9]
    shares = {row["record"]: row for row in changes["shares"]}
    assert shares.keys() == set(range(10))
    for record, row in shares.items():
        declared = (4 if 4 <= record < 8 else 1) / 22
        frozen = 0 if record > 7 else 1 / 8
        assert row["declared"] == pytest.approx(declared)
        assert row["frozen"] == pytest.approx(frozen, rel=0.15)
        assert row["candidate"] == pytest.approx(declared, rel=0.2)
        assert row["oversampled"] == pytest.approx(frozen / declared, rel=0.15)


def test_an_accepted_change_is_a_child_that_names_its_parent_and_is_kept_from_then_on(
    experiment: Experiment,
) -> None:
    experiment.freeze(STEADY, stream_mode="shards")
    experiment.edit(BACKWARDS)
    parent = experiment.file.read_bytes()
    answer = experiment.preflight("--accept", "newest  first\nfrom now on", "-o", "child.json")

    assert answer.status == 0
    assert answer.result["outcome"] == "accepted"
    assert "child.json: accepted" in answer.errors
    assert experiment.file.read_bytes() == parent
    child = load("child.json")
    assert child.migration is not None
    assert child.migration.parent == load(experiment.file).fingerprint
    assert child.migration.order_policy == "Rows"
    assert child.migration.reason == "newest first from now on"
    Path("child.json").replace(experiment.file)
    assert experiment.preflight().result["decision"] == "keep"


def test_a_child_lies_beside_its_parent_under_a_name_of_its_own(experiment: Experiment) -> None:
    experiment.freeze(STEADY)
    experiment.edit(BACKWARDS)
    experiment.preflight("--accept", "newest first")

    (child,) = Path.cwd().glob("frozen-*.json")
    assert child.stem == f"frozen-{load(child).fingerprint[:8]}"
    assert differences(load(child), open_run(experiment.run))


@pytest.mark.parametrize(
    ("body", "reason", "told"),
    [
        (STEADY, "why not", "there is no change to accept"),
        (BACKWARDS, " ", "the reason is empty"),
        (NOISY, "why not", "does not deliver the same rows twice"),
    ],
)
def test_what_cannot_be_accepted_leaves_no_file(
    experiment: Experiment, body: str, reason: str, told: str
) -> None:
    experiment.freeze(STEADY)
    experiment.edit(body)
    answer = experiment.preflight("--accept", reason)

    assert answer.status == 2
    assert told in answer.errors
    assert [*Path.cwd().glob("frozen-*.json")] == []
