"""Records a factory's loader in another environment, by the small recorder.

What the loader delivers there comes over as plain bytes, and is recorded here as any
iterable is: by the same code, into the same rows and digests.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from detloader.adapters.elements import Delivered, ElementReader
from detloader.audits.environments.sender import Sender
from detloader.errors import FactoryError
from detloader.manifest.relative import IdRoot
from detloader.manifest.rounding import Digester
from detloader.manifest.schema import Declared, Recipe
from detloader.manifest.writer import RankWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from detloader.audits.environments.interpreter import Interpreter

__all__ = ["recorded"]

_AT_ONCE = 4096
"""Elements that are written together."""


def recorded(
    interpreter: Interpreter,
    recipe: Recipe,
    out: Path,
    *,
    seconds: float | None,
    stream: str = "main",
    rank: int = 0,
    ranks: int | None = None,
    rounding: str | None = None,
    folder: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Path:
    """Record what a recipe's factory delivers in an environment.

    The run has the columns that any iterable gives: `record` by the recipe's `ids`, or else
    the digest of the content, `epoch` 0, `batch` where the recipe says that elements are
    batches, and `content`.

    Args:
        interpreter: the environment's.
        recipe: how the loader is made, and its elements are read.
        out: folder of the run, which is sealed there.
        seconds: time after which the factory's process is given up; None for never.
        stream: name of the stream.
        rank: which of the data-parallel processes this is.
        ranks: how many there are; None where nobody says.
        rounding: how content is digested, as `Header.digesting` names it.
        folder: working folder of the factory's process; by default the present one.
        variables: its environment; by default the present one, with a fixed hash seed.

    Returns:
        The folder of the run.

    Raises:
        FactoryError: the factory failed there, gave no loader, or did not end in time.
        RunExistsError: the rank is recorded already.
    """
    digester = Digester.named(rounding)
    with Sender(
        interpreter,
        recipe,
        folder=folder or str(Path.cwd()),
        variables=variables or {**os.environ, "PYTHONHASHSEED": _hash_seed()},
        seconds=seconds,
    ) as sender:
        beginning = sender.beginning()
        with RankWriter(
            out,
            stream=stream,
            rank=rank,
            ranks=ranks,
            declared=Declared(loader=beginning.loader),
            environment=beginning.environment,
            recipe=msgspec.structs.replace(recipe, source_sha256=beginning.source_sha256),
            id_root=IdRoot(recipe.id_root) if recipe.id_root else None,
            rounding=digester.rounding,
            strong=digester.strong,
        ) as writer:
            _write(sender.elements(), writer, recipe, digester)
    return out


def _hash_seed() -> str:
    """Return the hash seed that is set; what is left to chance would never repeat itself."""
    seed = os.environ.get("PYTHONHASHSEED", "")
    return seed if seed.isdecimal() else "0"


def _write(elements: Iterable[Any], writer: RankWriter, recipe: Recipe, digester: Digester) -> None:
    reader = ElementReader(
        recipe.ids or None, batched=bool(recipe.batched), content=True, digester=digester
    )
    chunks = (_read(reader, element, number, recipe) for number, element in enumerate(elements))
    while part := list(itertools.islice(chunks, _AT_ONCE)):
        writer.append(reader.encode(part))


def _read(reader: ElementReader, element: object, number: int, recipe: Recipe) -> Delivered:
    try:
        return reader.read(element, 0, number)
    except (LookupError, TypeError, ValueError) as error:
        raise FactoryError(
            f"element {number} of {recipe.factory} cannot be recorded: "
            f"{type(error).__name__}: {error}"
        ) from error
