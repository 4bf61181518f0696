"""Generators are found wherever data sets and transforms keep them."""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
from typing import Any

import numpy as np
import torch
from torch.utils.data import Subset

from detloader.generators.search import find_generators
from tests.support.torch_datasets import Augmented


class Holder:
    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    @property
    def trap(self) -> Any:
        raise AssertionError("a property was asked")

    def method(self) -> None: ...


def test_attributes_containers_functions_and_their_arguments_are_searched() -> None:
    one = random.Random(1)

    def draws() -> float:
        return one.random()

    held = {
        "rng": one,
        "listed": [0, one],
        "by_name": {"a": (one,)},
        "partial": functools.partial(draws),
        "closure": draws,
        "method": Holder(inner=one).method,
        "deep": Holder(a=Holder(b=Holder(c=one))),
    }
    paths = {name: list(find_generators(Holder(**{name: value}))) for name, value in held.items()}

    assert paths == {
        "rng": ["rng"],
        "listed": ["listed[1]"],
        "by_name": ["by_name['a'][0]"],
        "partial": ["partial[0].one"],
        "closure": ["closure.one"],
        "method": ["method.inner"],
        "deep": ["deep.a.b.c"],
    }


def test_defaults_slots_classes_and_other_containers_are_searched() -> None:
    one = random.Random(1)

    @dataclasses.dataclass(slots=True)
    class Slotted:
        rng: random.Random
        unset: int = dataclasses.field(init=False)

    class Shared:
        transform = Holder(rng=one)

    def by_default(x: int, rng: random.Random = one, *, more: int = 0) -> None: ...

    def by_keyword(*, rng: random.Random = one) -> None: ...

    held = {
        "default": by_default,
        "keyword": by_keyword,
        "slots": Slotted(one),
        "ordered": collections.OrderedDict(a=one),
        "deque": collections.deque([one]),
        "shared": Shared(),
    }
    paths = {name: list(find_generators(Holder(**{name: value}))) for name, value in held.items()}

    assert paths == {
        "default": ["default.rng"],
        "keyword": ["keyword.rng"],
        "slots": ["slots.rng"],
        "ordered": ["ordered['a']"],
        "deque": ["deque[0]"],
        "shared": ["shared.transform.rng"],
    }


def test_generators_of_all_libraries_are_found_once_and_by_their_shortest_path() -> None:
    rng = np.random.default_rng(0)
    holder = Holder(
        deep=Holder(rng=rng), rng=rng, torch=torch.Generator(), old=[np.random.RandomState(1)]
    )

    assert sorted(find_generators(holder)) == ["old[0]", "rng", "torch"]


def test_a_generator_and_its_bits_are_one() -> None:
    rng = np.random.default_rng(0)
    one = Holder(bits=rng.bit_generator, rng=rng)
    other = Holder(rng=rng, of=Holder(bits=rng.bit_generator), again=np.random.PCG64(1))

    assert list(find_generators(one)) == ["bits"]
    assert list(find_generators(other)) == ["rng", "again"]


def test_a_class_keeps_generators_too() -> None:
    class Shared:
        rng = np.random.default_rng(0)

    assert list(find_generators(Holder(transform=Shared()))) == ["transform.rng"]


def test_wrapped_data_sets_are_searched() -> None:
    assert list(find_generators(Subset(Augmented(3), [0]))) == ["dataset.transform.rng"]


def test_circles_and_long_lists_end_the_search() -> None:
    holder = Holder(long=[random.Random(0)] * 1000)
    holder.self = [holder]  # type: ignore[attr-defined]

    assert find_generators(holder) == {}


def test_generators_are_found_deep_beside_nested_data_which_are_not_walked_through() -> None:
    def nested(depth: int) -> Any:
        return [nested(depth - 1) for _ in range(40)] if depth else random.Random(0)

    deep: Any = random.Random(0)
    for _ in range(12):
        deep = Holder(transforms=[deep])
    holder = Holder(data=nested(3), records=[Holder(a=[Holder()] * 5)] * 64, transform=deep)

    assert list(find_generators(holder)) == ["transform" + ".transforms[0]" * 12]


def test_no_generator_and_no_holder_is_no_error() -> None:
    for value in (None, 3, "text", np.zeros(3), torch.zeros(3), range(3), object()):
        assert find_generators(value) == {}
