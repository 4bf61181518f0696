"""`Dataloader`: HDF5 files in a reproducible order, as batches of images."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from detloader.grain.iterators import grain
from detloader.hdf5.arguments import Compatibility, Remainder, check_integer, take_extras
from detloader.hdf5.files.discovery import discover
from detloader.hdf5.order.epochs import Epochs, Pass
from detloader.hdf5.plan import Plan
from detloader.hdf5.settings import Settings
from detloader.hdf5.stream import EpochIterator, Stream
from detloader.hdf5.summary import summarize

__all__ = ["Dataloader"]


class Dataloader:
    """Reads frames of HDF5 files into batches.

    Parameters, defaults, members and order are those of `zea.Dataloader`; what it gets wrong
    is right here (docs/hdf5.md lists it), and `shard_remainder` and `compatibility` are ours.

    Samples come in the order: table of blocks, `limit_n_samples`, shuffle, shard, channels,
    clip, range check, resize, repeat, batch, float32, normalise, augment, tensor.

    Attributes:
        seed: that of the order; drawn where none was given.
        plan: what the loader does in any epoch.
        epochs: which epoch it is in.
    """

    def __init__(  # noqa: PLR0917 - published
        self,
        file_paths: str | os.PathLike[str] | Sequence[Any],
        key: str = "data/image",
        batch_size: int | None = 16,
        n_frames: int = 1,
        shuffle: bool = True,  # noqa: FBT001, FBT002 - published, as all of these
        return_filename: bool = False,  # noqa: FBT001, FBT002
        seed: int | None = None,
        limit_n_samples: int | None = None,
        limit_n_frames: int | None = None,
        drop_remainder: bool = False,  # noqa: FBT001, FBT002
        image_size: Sequence[int] | None = None,
        resize_type: str | None = None,
        resize_axes: Sequence[int] | None = None,
        resize_kwargs: Mapping[str, Any] | None = None,
        image_range: Sequence[float] | None = None,
        normalization_range: Sequence[float] | None = None,
        clip_image_range: bool = False,  # noqa: FBT001, FBT002
        assert_image_range: bool = True,  # noqa: FBT001, FBT002
        dataset_repetitions: int | None = None,
        cache: bool = False,  # noqa: FBT001, FBT002
        additional_axes_iter: Sequence[int] | None = None,
        sort_files: bool = True,  # noqa: FBT001, FBT002
        overlapping_blocks: bool = False,  # noqa: FBT001, FBT002
        augmentation: Callable[..., Any] | None = None,
        initial_frame_axis: int = 0,
        insert_frame_axis: bool = True,  # noqa: FBT001, FBT002
        frame_index_stride: int = 1,
        frame_axis: int = -1,
        validate: bool = True,  # noqa: FBT001, FBT002
        revision: str | None = None,
        prefetch: bool = True,  # noqa: FBT001, FBT002
        shard_index: int | None = None,
        num_shards: int = 1,
        num_threads: int = 16,
        prefetch_buffer_size: int = 500,
        reshuffle_each_epoch: bool = True,  # noqa: FBT001, FBT002
        convert_to_tensor: bool = True,  # noqa: FBT001, FBT002
        *,
        shard_remainder: Remainder = "keep",
        compatibility: Compatibility = None,
        **kwargs: Any,
    ) -> None:
        """Find the files, and look at the shape of each; no frame is read.

        Args:
            file_paths: folders, `.hdf5` or `.h5` files and `hf://org/repo[/path]`, one or a
                list of them. Folders are searched with all that is below them.
            key: name of the dataset in each file.
            batch_size: samples of a batch; None gives samples.
            n_frames: frames of a sample.
            shuffle: whether each epoch is a permutation of the samples.
            return_filename: whether elements are pairs of images and of a dict that says
                where they are from: `fullpath`, `filename` without suffix, `indices`.
            seed: that of order and draws; None draws one, which `seed` tells. Shards need one.
            limit_n_samples: use the first so many samples of the table.
            limit_n_frames: use the first so many frames of each file.
            drop_remainder: whether a last, shorter batch is left out.
            image_size: height and width that images are brought to; None leaves them.
            resize_type: "resize", the default, "center_crop", "random_crop" or "crop_or_pad".
            resize_axes: axes of height and width in a sample. By default the first two that
                are not the frames', in samples of up to four axes.
            resize_kwargs: further arguments of the resizing; see `make_resize`.
            image_range: lowest and highest value of the images.
            normalization_range: what `image_range` is mapped to, at the end of all.
            clip_image_range: whether values beyond `image_range` are brought to its bounds.
            assert_image_range: whether values beyond `image_range` are an error.
            dataset_repetitions: passes over the samples in one epoch, each shuffled anew.
            cache: whether frames are kept in memory once they were read, as they were read.
            additional_axes_iter: axes of the files' data of which each index is a sample of
                its own, beside the frames.
            sort_files: whether files come in the natural order of their names: 2 before 10.
            overlapping_blocks: whether samples begin at each frame, not each behind the last.
            augmentation: called with each batch, in the order of delivery and in the
                process that iterates. One with a parameter `rng` is given a generator that
                depends on seed, epoch and position alone.
            initial_frame_axis: axis of the frames in the files' data.
            insert_frame_axis: whether frames have an axis of their own in a sample, or are
                concatenated along one.
            frame_index_stride: distance between two frames of a sample.
            frame_axis: axis of a sample where the frames stand, or along which they are joined.
            validate: whether files must be of the zea format.
            revision: branch, tag or commit for `hf://` paths.
            prefetch: whether to read ahead.
            shard_index: number of the shard that is read here, below `num_shards`.
            num_shards: shards of each pass; shard i has its samples i, i + num_shards, ….
            num_threads: threads that read; 0 reads in the calling one, when asked.
            prefetch_buffer_size: samples that are read ahead, rounded up to whole batches.
            reshuffle_each_epoch: whether each epoch has an order of its own.
            convert_to_tensor: whether images are tensors of the framework that KERAS_BACKEND
                names, else of one that is installed; else they are arrays of NumPy.
            shard_remainder: what becomes of samples that do not go round the shards: "keep"
                leaves some shards one longer, "pad" evens them out by samples that come
                twice, "drop" by leaving some out.
            compatibility: "zea-0.1" gives order and values of zea 0.1.0 also where that is
                wrong. Only for replaying a frozen experiment.
            **kwargs: `directory_splits`, the share of each path's files that is used, and
                `file_handle_cache_capacity`, the files that are held open at most.

        Raises:
            UsageError: an argument makes no sense, or does not fit the files.
            FileError: a file is missing, damaged, locked, not of the format, or lacks the key.
            BatchError: samples of different files have different shapes.
            TypeError: there is no such argument.
        """
        given = {name: value for name, value in locals().items() if name not in _NO_SETTINGS}
        splits, capacity = take_extras(kwargs)
        settings = Settings.checked(given)
        found = discover(
            file_paths,
            revision=revision,
            sort=settings.sort_files,
            splits=splits,
            compatibility=settings.compatibility,
        )
        self.plan = Plan(found, settings, capacity)
        self.seed = self.plan.seed
        self.epochs = Epochs(
            self.seed,
            reshuffle=settings.shuffle and settings.reshuffle_each_epoch,
            compatibility=settings.compatibility,
        )
        self._shape: tuple[int, ...] | None = None

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Iterate the next epoch; it counts as one when its first element is asked for.

        The iterator's `get_state()` can be given to the `set_state` of another one, of the
        same loader in another process: it goes on in that epoch.
        """
        iterator = EpochIterator(self._show, self._begin, self._resume)
        if self.plan.settings.compatibility is not None:
            # There an iterator that is never used counts, too.
            iterator.start()
        return iterator

    def __len__(self) -> int:
        """Return the number of batches of an epoch, or of samples without batches."""
        return len(self.plan.maker(self.epochs.current))

    def __repr__(self) -> str:
        settings = self.plan.settings
        return (
            f"Dataloader(n_samples={len(self.plan.pipeline.table)}, "
            f"batch_size={settings.batch_size}, key={settings.key!r}, "
            f"threads={settings.num_threads})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the files."""
        self.close()

    @property
    def dataset(self) -> grain.MapDataset[Any]:
        """The `grain.MapDataset` of the epoch that began last, or that `set_epoch` went to.

        Before either, as published, it has the order of the seed itself, which is that of no
        epoch where each is shuffled anew.
        """
        return self.plan.dataset(self.epochs.current)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first element's images; nothing is read for it.

        With an augmentation, a copy of that is called with zeros, once, to see what it makes
        of them.

        Raises:
            LoaderError: the augmentation fails, or returns nothing that has a shape.
        """
        if self._shape is None:
            self._shape = self.plan.shape()
        return self._shape

    def to_iter_dataset(self) -> Stream:
        """Return `dataset` as a `grain.IterDataset` that reads ahead; it is no further epoch.

        For the elements of `for batch in loader` call `set_epoch(e)` before. `mp_prefetch` of
        what comes back reads in processes, with the same elements.
        """
        return self._stream(self.epochs.current)

    def shuffle(self, seed: int | None = None) -> None:
        """Give `dataset`, and the next epoch, another order.

        Args:
            seed: that of the order. None shows the next epoch's order in `dataset`, or,
                without `reshuffle_each_epoch`, takes the next of the seeds that are drawn.

        Raises:
            UsageError: the seed is no integer of 0 or more.
        """
        self.epochs.reshuffle(check_integer("seed", seed, 0, optional=True))

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration be a certain epoch, counted from 0; `dataset` shows it already.

        Raises:
            UsageError: the epoch is no integer of 0 or more.
        """
        self.epochs.set_next(check_integer("epoch", epoch, 0))

    def summary(self) -> None:
        """Print how many samples there are, and how many in each folder."""
        rows = self.plan.pipeline.table.file_rows.tolist()
        sys.stdout.write(summarize(self.plan.files, rows) + "\n")

    def close(self) -> None:
        """Close the files; a loader that goes on being used opens them again."""
        self.plan.pipeline.handles.close()

    def _show(self) -> Stream:
        return self._stream(self.epochs.show())

    def _begin(self) -> Stream:
        return self._stream(self.epochs.begin())

    def _resume(self, state: dict[str, Any]) -> grain.DatasetIterator[Any]:
        pass_ = self.plan.read_state(state).pass_
        steps = self._stream(pass_).__iter__()
        steps.set_state(state)
        # Last, for a state may be damaged.
        self.epochs.resume(pass_)
        return steps

    def _stream(self, pass_: Pass) -> Stream:
        return Stream(self.plan, self.plan.maker(pass_))


_NO_SETTINGS = {"self", "file_paths", "revision", "kwargs"}
