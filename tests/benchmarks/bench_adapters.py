"""What recording costs a loader that people already have, per batch.

    python -m tests.benchmarks.bench_adapters [NAME …]

Images of 3x32x32 with a usual augmentation, in batches of 128. For Torch that is done in two ways:
"tensors" are cropped and flipped, which is as little as can be; "pictures" are those of Pillow,
padded, cropped, flipped, made tensors and normalised, as torchvision does it. Where torchvision
can be imported, its own transforms are measured, too. Epochs of a bare loader and of
recorded ones take turns, so that other work on the machine falls on all. Two figures, each
the median of the turns' ratios: by the clock, and of the processor time of this process and
its workers together; on a busy machine, believe the second, of which the quartiles are shown,
too. A second bare loader shows how far either is to be believed.

`--streaming PYTHON` is one with mosaicml-streaming, which wants an older NumPy than the rest.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader import record, to_grain

RECORDS = 12_800
BATCH = 128

MEAN, SPREAD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
"""Of CIFAR-10, by channel."""

Loader = Any


class Case(NamedTuple):
    """A loader, and the ways to record it: arguments of `record` by the name of the way.

    Attributes:
        turns: epochs of each way; where processes wait for each other, few tell little.
    """

    name: str
    build: Callable[[], Loader]
    ways: dict[str, dict[str, Any]]
    record: Callable[..., Any] = record
    turns: int = 7


class Took(NamedTuple):
    """Seconds of one epoch: by the clock, and of all processors."""

    clock: float
    processor: float


def torch_cases() -> list[Case]:
    """Return Torch's loader without and with workers."""
    import torch
    from torch.nn.functional import pad
    from torch.utils.data import DataLoader, Dataset

    torch.set_num_threads(1)

    class Tensors(Dataset[Any]):
        def __init__(self) -> None:
            generator = torch.Generator().manual_seed(0)
            self.images = torch.randint(
                0, 256, (RECORDS, 3, 32, 32), dtype=torch.uint8, generator=generator
            )
            self.labels = torch.randint(0, 10, (RECORDS,), generator=generator).tolist()

        def __len__(self) -> int:
            return RECORDS

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            padded = pad(self.images[index].float() / 255, (4, 4, 4, 4))
            top, left = torch.randint(0, 9, (2,)).tolist()
            image = padded[:, top : top + 32, left : left + 32]
            return image.flip(-1) if torch.rand(()) < 0.5 else image, self.labels[index]

    def build(dataset: Callable[[], Any], workers: int) -> Callable[[], Loader]:
        return lambda: DataLoader(dataset(), batch_size=BATCH, shuffle=True, num_workers=workers)

    def stateful() -> Loader:
        from torchdata.stateful_dataloader import StatefulDataLoader

        return StatefulDataLoader(
            Pictures(augment_picture), batch_size=BATCH, shuffle=True, num_workers=2
        )

    ways: dict[str, dict[str, Any]] = {
        "recorded": {},
        "recorded, draws=False": {"draws": False},
        'recorded, level="order"': {"level": "order"},
    }
    data: dict[str, Callable[[], Any]] = {
        "torch, tensors": Tensors,
        "torch, pictures": lambda: Pictures(augment_picture),
    }
    if (transform := torchvision_transform()) is not None:
        data["torchvision"] = lambda: Pictures(transform)
    loaders = [
        Case(f"{name}, {workers} workers", build(dataset, workers), ways, turns=turns)
        for name, dataset in data.items()
        for workers, turns in ((0, 7), (2, 31))
    ]
    return [*loaders, Case("torchdata, 2 workers", stateful, ways, turns=15)]


class Pictures:
    """Images as `torchvision.datasets.CIFAR10` gives them."""

    def __init__(self, transform: Callable[[Any], Any]) -> None:
        pixels, self.labels = images()
        self.pixels = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
        self.transform = transform

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> tuple[Any, int]:
        from PIL import Image

        return self.transform(Image.fromarray(self.pixels[index])), self.labels[index]


def augment_picture(picture: Any) -> Any:
    """Crop a padded picture, mirror every other one, and normalise its tensor."""
    import torch
    from PIL import ImageOps

    left, top = torch.randint(0, 9, (2,)).tolist()
    cropped = ImageOps.expand(picture, 4).crop((left, top, left + 32, top + 32))
    picture = ImageOps.mirror(cropped) if torch.rand(()) < 0.5 else cropped
    image = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
    mean, spread = (torch.tensor(each).view(3, 1, 1) for each in (MEAN, SPREAD))
    return (image - mean) / spread


def torchvision_transform() -> Any:
    """Return the same in torchvision's own transforms; None where it cannot be imported."""
    try:
        from torchvision import transforms
    except (ImportError, RuntimeError) as error:
        # A build for another Torch than the one that is there is a RuntimeError.
        sys.stderr.write(f"torchvision is not measured: {error}\n")
        return None
    return transforms.Compose(
        [
            transforms.RandomCrop(32, padding=4),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, SPREAD),
        ]
    )


def images() -> tuple[NDArray[np.uint8], list[int]]:
    """Return images, shape (records, 3, 32, 32), and their labels."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (RECORDS, 3, 32, 32), np.uint8)
    return pixels, rng.integers(0, 10, RECORDS).tolist()


def augment(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.float32]:
    """Crop a padded image, and mirror every other one."""
    padded: Any = np.pad(image.astype(np.float32) / 255, ((0, 0), (4, 4), (4, 4)))
    top, left = rng.integers(0, 9, 2)
    cropped: NDArray[np.float32] = padded[:, top : top + 32, left : left + 32]
    return cropped[..., ::-1].copy() if rng.random() < 0.5 else cropped


class Images:
    """A source of records."""

    def __init__(self) -> None:
        self.images, self.labels = images()

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": self.images[index], "label": self.labels[index]}


def augmented(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**sample, "image": augment(sample["image"], rng)}


RECORDED: dict[str, dict[str, Any]] = {
    "recorded": {},
    'recorded, level="order"': {"level": "order"},
}


def grain_cases() -> list[Case]:
    """Return a chain of Grain's own nodes, without and with workers."""
    import grain

    def build() -> Loader:
        chain = grain.MapDataset.source(Images()).shuffle(seed=1).random_map(augmented, seed=2)
        return chain.to_iter_dataset().batch(BATCH)

    def with_workers() -> Loader:
        return build().mp_prefetch(grain.MultiprocessingOptions(2))

    return [
        Case("grain, 0 workers", build, RECORDED),
        Case("grain, 2 workers", with_workers, RECORDED),
    ]


def datasets_cases() -> list[Case]:
    """Return rows of Hugging Face that a transform changes."""
    import datasets

    pixels, labels = images()
    rows = datasets.Dataset.from_dict({"image": list(pixels.reshape(RECORDS, -1)), "label": labels})
    rng = np.random.default_rng(0)

    def change(batch: dict[str, Any]) -> dict[str, Any]:
        found = [np.array(image, np.uint8).reshape(3, 32, 32) for image in batch["image"]]
        return {**batch, "image": [augment(image, rng) for image in found]}

    def streamed() -> Loader:
        return rows.to_iterable_dataset().map(change, batched=True, batch_size=BATCH)

    return [
        Case("datasets", lambda: rows.with_transform(change), RECORDED),
        Case("datasets, iterable", streamed, RECORDED),
    ]


def webdataset_cases() -> list[Case]:
    """Return a pipeline over one shard."""
    import webdataset

    folder = tempfile.mkdtemp()
    pixels, labels = images()
    with webdataset.TarWriter(f"{folder}/shard.tar") as writer:
        for number, (image, label) in enumerate(zip(pixels, labels, strict=True)):
            writer.write({"__key__": f"{number:06}", "npy": image, "cls": label})
    rng = np.random.default_rng(0)

    def build() -> Loader:
        shards = webdataset.WebDataset(f"{folder}/shard.tar", shardshuffle=False).decode()
        return shards.map_dict(npy=lambda image: augment(image, rng)).batched(BATCH)

    return [Case("webdataset", build, RECORDED)]


def tensorflow_cases() -> list[Case]:
    """Return a dataset of TensorFlow."""
    import tensorflow as tf

    pixels, labels = images()
    pixels = pixels.transpose(0, 2, 3, 1)

    def change(image: Any, label: Any) -> tuple[Any, Any]:
        padded = tf.image.resize_with_crop_or_pad(tf.cast(image, tf.float32) / 255, 40, 40)
        cropped = tf.image.random_crop(padded, (32, 32, 3))
        return tf.image.random_flip_left_right(cropped), label

    def build() -> Loader:
        rows = tf.data.Dataset.from_tensor_slices((pixels, labels)).shuffle(RECORDS)
        return rows.map(change, num_parallel_calls=1).batch(BATCH)

    ways = {way: {"batched": True, **options} for way, options in RECORDED.items()}
    return [Case("tf.data", build, ways)]


def keras_cases() -> list[Case]:
    """Return a `fit` of the smallest model, for one epoch each time."""
    import keras

    from detloader.keras import RecordFit

    pixels, labels = images()
    x, y = pixels.astype(np.float32) / 255, np.array(labels, np.float32)

    class Fit:
        def __init__(self, *callback: Any) -> None:
            self.callback = callback
            layers = [keras.Input((3, 32, 32)), keras.layers.Flatten(), keras.layers.Dense(1)]
            self.model = keras.Sequential(layers)
            self.model.compile(optimizer="sgd", loss="mse")
            self.turn = 0

        def __iter__(self) -> Any:
            self.turn += 1
            made = [make(self.turn) for make in self.callback]
            self.model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=made)
            return iter(())

        def close(self) -> None:
            """Do nothing: `fit` has sealed its run."""

    def recorded(_: Fit, run: str, **options: Any) -> Fit:
        return Fit(lambda turn: RecordFit(f"{run}-{turn}", **options))

    class Batches(keras.utils.PyDataset):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rng = np.random.default_rng(0)

        def __len__(self) -> int:
            return RECORDS // BATCH

        def __getitem__(self, index: int) -> tuple[Any, Any]:
            some = slice(index * BATCH, (index + 1) * BATCH)
            return np.stack([augment(image, self.rng) for image in pixels[some]]), y[some]

    return [Case("keras fit", Fit, RECORDED, recorded), Case("keras PyDataset", Batches, RECORDED)]


def plain_cases() -> list[Case]:
    """Return an iterable that nobody knows, of batches."""
    pixels, labels = images()

    class Batches:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            rng = np.random.default_rng(0)
            for start in range(0, RECORDS, BATCH):
                some = pixels[start : start + BATCH]
                images = np.stack([augment(image, rng) for image in some])
                yield {"image": images, "label": np.array(labels[start : start + BATCH])}

    ways = {way: {"batched": True, **options} for way, options in RECORDED.items()}
    return [Case("any iterable", Batches, ways)]


def detloader_cases() -> list[Case]:
    """Return detloader's own stream."""

    def build() -> Loader:
        transform = augmented
        return to_grain(Images(), seed=1, shuffle=True, transform=transform, batch_size=BATCH)

    return [Case("to_grain", build, RECORDED)]


def streaming_cases() -> list[Case]:
    """Return shards of MosaicML Streaming, decoded and augmented."""
    from streaming import MDSWriter, StreamingDataset

    folder = tempfile.mkdtemp()
    pixels, labels = images()
    with MDSWriter(out=folder, columns={"image": "ndarray", "label": "int"}) as writer:
        for image, label in zip(pixels, labels, strict=True):
            writer.write({"image": image, "label": label})

    class Shards(StreamingDataset):  # type: ignore[misc]
        def __getitem__(self, index: Any) -> Any:
            sample = super().__getitem__(index)
            return {**sample, "image": augment(sample["image"], RNG)}

    return [Case("streaming", lambda: Shards(local=folder, batch_size=BATCH), RECORDED)]


RNG = np.random.default_rng(0)

FRAMEWORKS: dict[str, Callable[[], list[Case]]] = {
    "torch": torch_cases,
    "grain": grain_cases,
    "datasets": datasets_cases,
    "webdataset": webdataset_cases,
    "tensorflow": tensorflow_cases,
    "keras": keras_cases,
    "plain": plain_cases,
    "detloader": detloader_cases,
    "streaming": streaming_cases,
}


def measure(streaming: str | None = None) -> list[dict[str, Any]]:
    """Compare the loaders of every framework, each in a process of its own."""
    rows = []
    for name in FRAMEWORKS:
        python = streaming if name == "streaming" else sys.executable
        if python is not None:
            command = [python, "-m", __spec__.name, "--json", name]
            ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            rows += json.loads(ran.stdout)
    return rows


def processor_seconds() -> float:
    """Return what this process and its ended children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def epoch(loader: Loader) -> Took:
    """Walk through a loader once."""
    clock, processor = time.perf_counter(), processor_seconds()
    for _ in loader:
        pass
    return Took(time.perf_counter() - clock, processor_seconds() - processor)


def compare(case: Case) -> list[dict[str, Any]]:
    """Give the rows of a case."""
    with tempfile.TemporaryDirectory() as folder:
        loaders = {"bare": case.build(), "bare, once more": case.build()}
        for number, (way, options) in enumerate(case.ways.items()):
            loaders[way] = case.record(case.build(), f"{folder}/{number}", **options)
        took = take_turns(loaders, case.turns)
        for way in case.ways:
            loaders[way].close()
    return [
        {"loader": case.name, "way": way} | _against(turns, took["bare"])
        for way, turns in took.items()
        if way != "bare"
    ]


def _against(turns: list[Took], bare: list[Took]) -> dict[str, Any]:
    clock, processor = (
        [(one[at] / other[at] - 1) * 100 for one, other in zip(turns, bare, strict=True)]
        for at in range(2)
    )
    low, middle, high = statistics.quantiles(processor, n=4, method="inclusive")
    each = statistics.median(one.processor for one in turns)
    return {
        "processor, ms a batch": each * 1e3 * BATCH / RECORDS,
        "more by the clock, %": statistics.median(clock),
        "more processor, %": middle,
        "quartiles": f"{low:.1f} to {high:.1f}",
    }


def take_turns(loaders: dict[str, Loader], turns: int) -> dict[str, list[Took]]:
    """Walk through all loaders again and again; the first time does not count."""
    took: dict[str, list[Took]] = {name: [] for name in loaders}
    for turn in range(turns + 1):
        # In another order each time: what one leaves behind falls on the next.
        for name in random.Random(turn).sample([*loaders], len(loaders)):
            took[name].append(epoch(loaders[name]))
    return {name: each[1:] for name, each in took.items()}


def main() -> None:
    """Print the table, or its rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*FRAMEWORKS, []])
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    names = asked.names or [*FRAMEWORKS][:-1]
    cases = [case for name in names for case in FRAMEWORKS[name]()]
    if asked.json:
        sys.stdout.write(json.dumps([row for case in cases for row in compare(case)]) + "\n")
        return
    for case in cases:
        for row in compare(case):
            name, way, each, clock, processor, quartiles = row.values()
            told = f"{name:<26} {way:<26} {each:8.2f} {processor:8.1f} {clock:8.1f}   {quartiles}"
            sys.stdout.write(told + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
