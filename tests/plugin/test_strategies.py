"""What the strategies give, and what shrinks to what."""

from __future__ import annotations

from typing import Any

from hypothesis import find, given, settings
from hypothesis import strategies as st

from detloader import strategies, to_grain
from detloader.testing import Assertions


@given(over=st.dictionaries(st.text(), st.lists(st.integers(), min_size=1)), data=st.data())
def test_each_axis_has_one_of_its_values(over: dict[str, list[int]], data: st.DataObject) -> None:
    case = data.draw(strategies.axes(over))

    assert case.keys() == over.keys()
    assert all(value in over[axis] for axis, value in case.items())


def test_axes_shrink_to_their_first_values() -> None:
    over = {"workers": [0, 4, 2], "prefetch": [1, 8]}

    assert find(strategies.axes(over), lambda _: True) == {"workers": 0, "prefetch": 1}
    assert find(strategies.axes(over), lambda case: case["workers"] > 0)["workers"] == 4


@given(strategies.sources(), strategies.workers(), strategies.seeds(), strategies.batch_sizes())
def test_sources_seeds_and_sizes_are_those_that_loaders_take(
    source: list[dict[str, Any]], workers: int, seed: int, batch_size: int | None
) -> None:
    stream = to_grain(source, seed=seed, shuffle=True, batch_size=batch_size)

    assert [record["id"] for record in source] == list(range(len(source)))
    assert len({record["values"].shape for record in source}) == 1
    assert sum(1 for _ in stream) == -(-len(source) // (batch_size or 1))
    assert 0 <= workers <= 2


@settings(max_examples=20)
@given(strategies.sources(most=6), strategies.seeds())
def test_an_assertion_holds_for_every_small_source(source: list[dict[str, Any]], seed: int) -> None:
    def make_loader(seed: int) -> Any:
        return to_grain(source, seed=seed, shuffle=True)

    Assertions().assert_covers(make_loader, epochs=1, seed=seed)
