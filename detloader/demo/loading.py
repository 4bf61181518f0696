"""What the demo's loaders are made of; worker processes import it by name."""

from __future__ import annotations

import functools
import itertools
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.demo.digits import SUBJECTS
from detloader.order.interleave import OlderInterleave, older_random_id_generator
from detloader.order.schedule import random_id_generator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = [
    "BATCH",
    "RECORDS",
    "SEED",
    "WEIGHTS",
    "OlderLoader",
    "Scheduled",
    "pick_image",
    "schedule",
]

SEED = 7
PARTITIONS = 4
BATCH = 32
RECORDS = 72 * BATCH
"""Records of a run: enough for every subject to come often, whatever its weight."""

WEIGHTS = [(1.0, 2.0, 4.0)[subject % 3] for subject in range(SUBJECTS)]


def schedule() -> list[int]:
    """Return the subjects of a run, drawn by weight: what the experiment asks for."""
    drawn = random_id_generator(range(SUBJECTS), WEIGHTS, rng=random.Random(SEED))  # noqa: S311
    return list(itertools.islice(drawn, RECORDS))


class Scheduled:
    """A source whose records are the images of the scheduled subjects."""

    def __init__(self, subjects: Sequence[NDArray[np.uint8]], order: Sequence[int]) -> None:
        self._subjects = subjects
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        return self._subjects[self._order[index]]


def pick_image(subject: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return one image of a subject: float32, shape (8, 8), values 0 to 1."""
    image: NDArray[np.uint8] = subject[rng.integers(len(subject))]
    return image.astype(np.float32) / np.float32(16)


class OlderLoader:
    """Batches as the older loader made them: four implicit parts, and weights that nobody reads."""

    def __init__(self, subjects: Sequence[NDArray[np.uint8]]) -> None:
        self._subjects = subjects

    def __iter__(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield batches of `subject`, int64, shape (32,), and `image`, float32, (32, 8, 8)."""
        ids = self._ids()
        pick = np.random.default_rng(SEED)
        for _ in range(RECORDS // BATCH):
            subject = np.fromiter(ids, np.int64, BATCH)
            images = [pick_image(self._subjects[number], pick) for number in subject]
            yield {"subject": subject, "image": np.stack(images)}

    def _ids(self) -> Iterator[int]:
        rng = random.Random(SEED)  # noqa: S311 - an order, not a secret
        generator = functools.partial(older_random_id_generator, weights=WEIGHTS, rng=rng)
        return iter(
            OlderInterleave(
                range(SUBJECTS), id_generator=generator, num_workers=PARTITIONS, rng=rng
            )
        )
