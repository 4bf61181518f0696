"""What happens to an element last, in order and in one place: augmentation, tensors, names.

An augmentation may keep a state, and tensors are no good on their way between processes:
so neither happens in the threads or workers that read.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader.errors import DetloaderError, LoaderError
from detloader.generators.listening import Draw, ListeningGenerator
from detloader.hdf5.delivery.batches import Batch, BatchMaker
from detloader.hdf5.order.draws import Purpose
from detloader.hdf5.order.epochs import Pass
from detloader.hdf5.order.sample_order import Span
from detloader.manifest.content import UndigestibleError
from detloader.manifest.rounding import Digester
from detloader.randomness import PositionGenerator

__all__ = ["Augmentation", "Finisher", "Witness"]

Augmentation = Callable[..., Any]


class Witness(NamedTuple):
    """What happened while one element was made.

    Attributes:
        batch: the element before it was augmented.
        pass_: number and seed of its epoch.
        drawn: 32-bit words that the augmentation drew.
        content: uint64, shape (rows,): digests of the samples; None where they were not
            asked for, or hold something without bytes of its own.
    """

    batch: Batch
    pass_: Pass
    drawn: int
    content: NDArray[np.uint64] | None


@dataclass(frozen=True, kw_only=True)
class Finisher:
    """Makes what the user gets of batches.

    Attributes:
        augmentation: called with each batch, and with a generator where it has a parameter
            `rng`; None for none.
        convert: makes tensors of arrays; None leaves them.
        return_filename: whether metadata come along.
    """

    augmentation: Augmentation | None
    convert: Callable[[NDArray[Any]], Any] | None
    return_filename: bool

    @functools.cached_property
    def gives_generator(self) -> bool:
        """Whether the augmentation is given a generator."""
        return self.augmentation is not None and _takes_generator(self.augmentation)

    def finish(self, maker: BatchMaker, batch: Batch, draws: list[Draw] | None = None) -> Any:
        """Return an element; of a maker that witnesses, as a pair with the `Witness`.

        Args:
            maker: what made the batch.
            batch: the element before.
            draws: where what the augmentation draws is written down; None for nowhere.
        """
        images, drawn = self._augmented(maker, batch, draws)
        witness = None
        if maker.witnessing.told:
            digester = maker.witnessing.digester
            content = None
            if digester is not None:
                content = _content(digester, images, batched=maker.batched)
            # Without its images: what is recorded later must not keep them.
            told = batch._replace(images=np.empty(0, np.float32))
            witness = Witness(told, maker.pass_, drawn, content)
        if self.convert is not None and isinstance(images, np.ndarray):
            images = self.convert(images)
        element = (images, _metadata(maker, batch.span)) if self.return_filename else images
        return element if witness is None else (element, witness)

    def _augmented(
        self, maker: BatchMaker, batch: Batch, draws: list[Draw] | None
    ) -> tuple[Any, int]:
        if self.augmentation is None:
            return batch.images, 0
        named = f"batch {batch.number}"
        if not self.gives_generator:
            return _call(self.augmentation, batch.images, named), 0
        generator = PositionGenerator(maker.draw_seed(Purpose.AUGMENTATION))
        generator.reset(int(batch.span.positions[0]))
        rng = generator.generator
        if draws is not None:
            rng = ListeningGenerator(generator.bit_generator, draws)
        return _call(self.augmentation, batch.images, named, rng=rng), generator.taken()

    def augmented_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that images of a shape are augmented to, by a copy and with zeros.

        Raises:
            LoaderError: the augmentation fails, or returns something without a shape.
        """
        if self.augmentation is None:
            return shape
        further = {"rng": np.random.default_rng(0)} if self.gives_generator else {}
        zeros = np.zeros(shape, np.float32)
        images = _call(_copied(self.augmentation), zeros, f"zeros of shape {shape}", **further)
        try:
            return tuple(images.shape)
        except (AttributeError, TypeError) as error:
            kind = type(images).__name__
            raise LoaderError(f"the augmentation returned {kind}, which has no shape") from error


def _call(augmentation: Augmentation, images: Any, named: str, **further: Any) -> Any:
    """Call an augmentation; what goes wrong names the images."""
    try:
        images = augmentation(images, **further)
    except DetloaderError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise LoaderError(f"the augmentation failed on {named}: {what}") from error
    if images is None:
        raise LoaderError(f"the augmentation returned None for {named}: return images")
    return images


def _copied(augmentation: Augmentation) -> Augmentation:
    """Copy an augmentation: what it has drawn or counted must not depend on who looks."""
    try:
        return copy.deepcopy(augmentation)
    except Exception:  # noqa: BLE001  # whatever an object raises that cannot be copied
        return augmentation


def _content(digester: Digester, images: Any, *, batched: bool) -> NDArray[np.uint64] | None:
    try:
        return digester.batch(images) if batched else digester.samples([images])
    except UndigestibleError:
        return None


def _metadata(maker: BatchMaker, span: Span) -> dict[str, Any]:
    records = maker.pipeline.records
    return records.batched_metadata(span.rows) if maker.batched else records.metadata(span.rows)[0]


def _takes_generator(augmentation: Augmentation) -> bool:
    """Tell whether an augmentation has a parameter `rng`."""
    try:
        return "rng" in inspect.signature(augmentation).parameters
    except (TypeError, ValueError):
        # Some that are not written in Python do not say.
        return False
