"""The small recorder gives, in another environment, what `record` gives here."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from detloader import audit, open_run, record
from detloader.audits.environments import Interpreter, recorded
from detloader.audits.environments.interpreter import here
from detloader.errors import FactoryError, RunExistsError
from detloader.findings import Verdict
from detloader.manifest.schema import Recipe
from tests.support import version_factories

# Packages are downloaded, at whatever speed that takes.
pytestmark = pytest.mark.timeout(900)

FACTORIES = "tests.support.version_factories"


def recipe(factory: str, **told: Any) -> Recipe:
    return Recipe(factory=f"{FACTORIES}:{factory}", **told)


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        ("array_batches", {"ids": "id", "batched": True}),
        ("array_batches", {"batched": True}),
        ("array_batches", {}),
        ("texts", {}),
    ],
)
def test_one_factory_is_the_same_run_here_and_in_a_bare_environment(
    factory: str, told: dict[str, Any], bare: Interpreter, tmp_path: Path
) -> None:
    loader = getattr(version_factories, factory)()
    with record(loader, tmp_path / "here", recipe=recipe(factory), **told) as twin:
        list(twin)

    recorded(bare, recipe(factory, **told), tmp_path / "there", seconds=60)

    result = audit(tmp_path / "here", tmp_path / "there")
    assert result.verdict is Verdict.IDENTICAL
    assert not result.not_compared
    stream = open_run(tmp_path / "there").streams["main"]
    assert stream.environment.versions["numpy"] == "1.26.4"
    assert stream.complete


def test_what_only_the_adapter_of_a_framework_sees_is_not_compared(tmp_path: Path) -> None:
    with record(version_factories.torch_batches(), tmp_path / "here", ids="id") as twin:
        list(twin)

    there = recipe("torch_batches", ids="id", batched=True)
    recorded(here(), there, tmp_path / "there", seconds=100)

    result = audit(tmp_path / "here", tmp_path / "there")
    assert result.verdict is Verdict.IDENTICAL
    assert isinstance(result.not_compared, list)
    assert "draws" in result.not_compared
    assert not {"record", "epoch", "batch", "content"} & {*result.not_compared}


def test_content_is_rounded_as_it_was_recorded(bare: Interpreter, tmp_path: Path) -> None:
    loader = version_factories.array_batches()
    with record(loader, tmp_path / "here", batched=True, content="float16") as twin:
        list(twin)

    there = recipe("array_batches", batched=True)
    recorded(bare, there, tmp_path / "there", seconds=60, rounding="float16")

    assert audit(tmp_path / "here", tmp_path / "there").verdict is Verdict.IDENTICAL


def test_arguments_and_elements_are_those_of_the_recipe(tmp_path: Path) -> None:
    told = recipe("array_batches", arguments={"batches": 9}, batched=True, elements=7)

    recorded(here(), told, tmp_path / "run", seconds=60)

    assert open_run(tmp_path / "run").rows == 21


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("failing", "ValueError: the third is broken"),
        ("dying", "its process ended by SIGKILL"),
        ("no_loader", "'NoneType' object is not iterable"),
        ("missing", "has no attribute 'missing'"),
    ],
)
def test_a_factory_that_fails_is_an_error_of_one_line_that_names_the_versions(
    factory: str, said: str, bare: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(FactoryError, match=said) as failure:
        recorded(bare, recipe(factory), tmp_path / "run", seconds=60)

    assert "numpy 1.26.4" in str(failure.value)
    assert "\n" not in str(failure.value)
    assert not (tmp_path / "run").exists()


def test_elements_that_have_neither_ids_nor_bytes_are_named(tmp_path: Path) -> None:
    with pytest.raises(FactoryError, match=r"element 0 of .*:unlike cannot be recorded"):
        recorded(here(), recipe("unlike"), tmp_path / "run", seconds=60)


def test_a_factory_that_hangs_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(FactoryError, match="did not end within 3 seconds"):
        recorded(here(), recipe("hanging"), tmp_path / "run", seconds=3)


def test_what_a_factory_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    begun = time.monotonic()

    recorded(here(), recipe("parent"), tmp_path / "run", seconds=300)

    assert open_run(tmp_path / "run").rows == 3
    assert time.monotonic() - begun < 200


def test_what_a_factory_prints_is_no_part_of_its_run(tmp_path: Path) -> None:
    recorded(here(), recipe("printing"), tmp_path / "run", seconds=60)

    assert open_run(tmp_path / "run").rows == 1


def test_a_run_that_is_there_stays(tmp_path: Path) -> None:
    recorded(here(), recipe("texts"), tmp_path / "run", seconds=60)

    with pytest.raises(RunExistsError):
        recorded(here(), recipe("printing"), tmp_path / "run", seconds=60)

    assert open_run(tmp_path / "run").rows == 7


def test_a_factory_may_be_named_by_its_file(tmp_path: Path) -> None:
    file = Path(version_factories.__file__)
    told = msgspec.structs.replace(recipe("texts"), factory=f"{file}:texts")

    recorded(here(), told, tmp_path / "run", seconds=60, folder=str(tmp_path))

    assert open_run(tmp_path / "run").rows == 7
