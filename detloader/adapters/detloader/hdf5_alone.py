"""One row of a Dataloader, made again alone, with what was drawn for it and for its batch."""

from __future__ import annotations

import numpy as np

from detloader.adapters.detloader.hdf5_rows import Delivered, RowMaker
from detloader.errors import UsageError
from detloader.generators.listening import Draw, ListeningGenerator
from detloader.grain.alone import Alone
from detloader.grain.elements import Witnessing
from detloader.hdf5.delivery.batches import BatchMaker
from detloader.hdf5.loader import Dataloader
from detloader.hdf5.order.draws import Purpose
from detloader.hdf5.stream import Stream
from detloader.manifest.rounding import EXACT, Digester
from detloader.randomness import PositionGenerator

__all__ = ["alone"]


def alone(loader: Dataloader | Stream, position: int, digester: Digester = EXACT) -> Alone:
    """Make one row of an epoch again: with its batch, for that is what is augmented.

    Args:
        loader: a Dataloader, of which the epoch is meant that was iterated last, or else will
            be first; or a stream.
        position: of the row in the epoch.
        digester: what digests content.

    Raises:
        UsageError: the epoch has no such row.
    """
    plan = loader.plan
    pass_ = loader.maker.pass_ if isinstance(loader, Stream) else loader.epochs.latest()
    maker = plan.maker(pass_, Witnessing(digester=digester))
    number, place = divmod(position, plan.settings.batch_size or 1)
    if number >= len(maker):
        raise UsageError(f"row {position} is beyond the first epoch, whose rows alone can be made")
    batch = maker(number)
    draws = _draws_of_crop(maker, number, place)
    _, witness = plan.finisher.finish(maker, batch, draws)
    told = Delivered(witness, pass_.epoch, resumed=False)
    row = RowMaker(plan, None, full=True).encode([told]).slice(place, 1).to_pylist()[0]
    return Alone(
        position=position,
        index=row["index"],
        draws=tuple(draws),
        taken=int(batch.taken[place]) + witness.drawn,
        draws_digest=row["draws"],
        content=row["content"],
        content_in_batch=lambda: row["content"],
        changed_in_place=False,
    )


def _draws_of_crop(maker: BatchMaker, number: int, place: int) -> list[Draw]:
    """Return what a sample's crop draws, which follows from its shape, and not from its values."""
    draws: list[Draw] = []
    pipeline, span = maker.pipeline, maker.span(number)
    making = pipeline.maker
    if making.resize is None or not making.resize.draws:
        return draws
    file = int(pipeline.table.locate(span.rows[place : place + 1]).file[0])
    shape = making.placement.shape(pipeline.block_shapes[file])
    generator = PositionGenerator(maker.draw_seed(Purpose.CROP))
    generator.reset(int(span.positions[place]))
    blank = np.broadcast_to(np.float32(0), shape)
    making.resize(blank, ListeningGenerator(generator.bit_generator, draws))
    return draws
