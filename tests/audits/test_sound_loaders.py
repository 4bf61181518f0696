"""Loaders without a fault, of all shapes: no rule may raise an alarm."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader.audits import audit, check
from detloader.findings import Finding, Severity, Verdict
from tests.support.runs import write_run

if TYPE_CHECKING:
    import pytest

SEARCH = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Loader:
    """A sound loader: what it declares, and how it delivers."""

    size: int
    epochs: int
    ranks: int
    batch: int
    kind: str
    drop: bool
    text: bool
    augment: bool
    seed: int
    hidden: frozenset[str] = field(default_factory=frozenset)

    def rows(self, seed: int) -> dict[str, list[Any]]:
        """Deliver all epochs; `seed` decides what is random."""
        rows: dict[str, list[Any]] = {
            name: [] for name in ("epoch", "batch", "rank", "worker", "record", "draws", "content")
        }
        for epoch in range(self.epochs):
            order = self.order(random.Random(f"{seed} {epoch}"))
            for rank in range(self.ranks):
                for place, record in enumerate(self.share(order, rank)):
                    drawn = random.Random(f"{seed} {epoch} {record}").getrandbits(64)
                    rows["epoch"].append(epoch)
                    rows["batch"].append(place // self.batch)
                    rows["rank"].append(rank)
                    rows["worker"].append(place // self.batch % 2)
                    rows["record"].append(f"r{record}" if self.text else record)
                    rows["draws"].append(drawn)
                    rows["content"].append(drawn ^ record if self.augment else record)
        hidden = self.hidden | (set() if self.augment else {"draws"})
        hidden |= {"rank"} if self.ranks == 1 else set()
        return {name: values for name, values in rows.items() if name not in hidden}

    def order(self, rng: random.Random) -> list[int]:
        if self.kind == "sequential":
            return [*range(self.size)]
        if self.kind == "replacement":
            return rng.choices(range(self.size), k=self.size)
        if self.kind == "weighted":
            return rng.choices(range(self.size), self.weights, k=4 * self.size)
        return rng.sample(range(self.size), self.size)

    @property
    def drops(self) -> bool:
        """In a fixed order it would be the same records for ever, which is not sound."""
        return self.drop and self.kind != "sequential"

    @property
    def weights(self) -> list[float]:
        return [float(record % 4) for record in range(self.size)]

    def share(self, order: list[int], rank: int) -> list[int]:
        """Deal an order to ranks: evened out by repeating its beginning, or cut."""
        if self.drops:
            whole = len(order) // (self.ranks * self.batch) * self.ranks * self.batch
            return order[:whole][rank :: self.ranks]
        padded = order + order[: -len(order) % self.ranks]
        return padded[rank :: self.ranks]

    def declared(self) -> dict[str, Any]:
        declared: dict[str, Any] = {
            "purpose": "train",
            "shuffle": self.kind != "sequential",
            "source_size": self.size,
            "num_epochs": self.epochs,
            "batch_size": self.batch,
            "drop_remainder": self.drops,
            "world_size": self.ranks,
            "workers": 2,
            "replacement": self.kind in {"replacement", "weighted"},
        }
        if self.kind == "weighted" and not self.text:
            declared |= {"weights": self.weights, "num_samples": 4 * self.size}
        return {name: value for name, value in declared.items() if name not in self.hidden}


OPTIONAL = [
    "batch",
    "worker",
    "content",
    "source_size",
    "num_epochs",
    "batch_size",
    "drop_remainder",
    "world_size",
    "workers",
    "purpose",
]

LOADERS = st.builds(
    Loader,
    size=st.integers(4, 60),
    epochs=st.integers(1, 4),
    ranks=st.integers(1, 3),
    batch=st.integers(1, 5),
    kind=st.sampled_from(["sequential", "shuffled", "replacement", "weighted"]),
    drop=st.booleans(),
    text=st.booleans(),
    augment=st.booleans(),
    seed=st.integers(0, 2**32),
    hidden=st.frozensets(st.sampled_from(OPTIONAL), max_size=4),
)


def loud(findings: list[Finding]) -> list[str]:
    return [
        f"{finding.rule}: {finding.message}"
        for finding in findings
        if finding.severity is not Severity.NOTE
    ]


@given(loader=LOADERS)
@SEARCH
def test_a_sound_loader_is_clean(loader: Loader, tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = loader.rows(loader.seed)
    run = write_run(tmp_path_factory.mktemp("run") / "run", rows, loader.declared())
    result = check(run)

    assert loud(result.findings) == []
    assert result.verdict is (Verdict.CLEAN if rows["record"] else Verdict.INCONCLUSIVE)


@given(loader=LOADERS)
@SEARCH
def test_two_seeds_of_a_sound_loader_differ_without_a_fault(
    loader: Loader, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    runs = [
        write_run(folder / name, loader.rows(loader.seed + offset), loader.declared())
        for offset, name in enumerate("ab")
    ]

    assert loud(audit(*runs).findings) == []
