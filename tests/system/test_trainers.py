"""Trainers that make loaders of their own from those that they are given, on two ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from detloader import check, open_run

EPOCHS, RECORDS = 2, 23

DATA = """
import torch
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 23

    def __getitem__(self, index):
        return {"x": torch.randn(3) + index, "labels": torch.tensor(index % 2.0), "index": index}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def loss(self, batch):
        return ((self.layer(batch["x"]).squeeze(-1) - batch["labels"]) ** 2).mean()

def tell(rank, seen, drawn):
    # One write, as several ranks have one output.
    print("\\n" + __import__("json").dumps([rank, seen, drawn]), flush=True)
"""

ACCELERATE = """
import sys
from accelerate import Accelerator
from accelerate.utils import set_seed
from data import Data, DataLoader, tell
from detloader import record

set_seed(3)
accelerator = Accelerator(cpu=True)
loader = accelerator.prepare(DataLoader(Data(), batch_size=4, shuffle=True, num_workers=2))
if sys.argv[1:]:
    loader = record(loader, sys.argv[1])
seen, drawn = [], 0.0
for epoch in range(2):
    for batch in loader:
        seen += batch["index"].tolist()
        drawn += batch["x"].sum().item()
if sys.argv[1:]:
    loader.close()
tell(accelerator.process_index, seen, drawn)
"""

LIGHTNING = """
import lightning
import torch
from data import Data, DataLoader, Model, tell

class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.seen = Model(), []

    def training_step(self, batch, _):
        self.seen += batch["index"].tolist()
        return self.model.loss(batch)

    def validation_step(self, batch, _):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.001)

    def train_dataloader(self):
        return DataLoader(Data(), batch_size=4, shuffle=True, num_workers=2)

    def val_dataloader(self):
        return DataLoader(Data(), batch_size=8)

lightning.seed_everything(3)
module = Module()
trainer = lightning.Trainer(
    accelerator="cpu", devices=2, strategy="ddp", max_epochs=2, num_sanity_val_steps=0,
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(module)
tell(trainer.global_rank, module.seen, sum(each.sum().item() for each in module.parameters()))
"""

TRANSFORMERS = """
import os
from transformers import Trainer, TrainingArguments, set_seed
from data import Data, Model, tell

seen = []

class Told(Model):
    def forward(self, x, labels, index):
        seen.extend(index.tolist() if self.training else [])
        return {"loss": self.loss({"x": x, "labels": labels}), "logits": self.layer(x)}

set_seed(3)
how = TrainingArguments(
    "out", per_device_train_batch_size=4, num_train_epochs=2, dataloader_num_workers=2,
    use_cpu=True, report_to=[],
    save_strategy="no", eval_strategy="epoch", remove_unused_columns=False,
)
trainer = Trainer(Told(), how, train_dataset=Data(), eval_dataset=Data())
trainer.train()
tell(int(os.environ["RANK"]), seen, sum(each.sum().item() for each in trainer.model.parameters()))
"""

RANKS = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
PROGRAMS = {
    "accelerate": (ACCELERATE, RANKS),
    "lightning": (LIGHTNING, []),
    "transformers": (TRANSFORMERS, RANKS),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("trainer", PROGRAMS)
def test_what_ranks_of_a_trainer_are_given_is_recorded_and_stays_the_same(
    trainer: str, tmp_path: Path
) -> None:
    program, launcher = write(trainer, tmp_path)

    bare = told_by(tmp_path, *launcher, program)
    recorder = ["-m", "detloader", "record", "-o", "run", "--", sys.executable]
    assert told_by(tmp_path, *recorder, *launcher, program) == bare

    assert len(rows_of(tmp_path / "run")[0]) == EPOCHS * (RECORDS + 1) / 2
    assert rows_of(tmp_path / "run") == {rank: seen for rank, seen, _ in bare}


@pytest.mark.timeout(600)
def test_what_accelerate_prepares_is_recorded_as_the_loader_within(tmp_path: Path) -> None:
    program, launcher = write("accelerate", tmp_path)

    bare = told_by(tmp_path, *launcher, program)
    assert told_by(tmp_path, *launcher, program, "run") == bare

    assert rows_of(tmp_path / "run") == {rank: seen for rank, seen, _ in bare}
    # Both ranks draw of one seed, as `set_seed` without `device_specific` has it.
    found = {finding.rule for finding in check(tmp_path / "run").findings}
    assert found == {"tail-handling", "worker-rng-clone"}


def write(trainer: str, folder: Path) -> tuple[str, list[str]]:
    """Write a program; returns its name, and what starts its ranks."""
    text, launcher = PROGRAMS[trainer]
    (folder / "data.py").write_text(DATA)
    (folder / "train.py").write_text(text)
    return "train.py", launcher


def told_by(folder: Path, *arguments: str) -> list[Any]:
    """Run a program of two ranks; returns for each its number, what it saw, and a sum."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [rank for rank, _, _ in sorted(told)] == [0, 1]
    return sorted(told)


def rows_of(run: Path) -> dict[int, list[Any]]:
    """Return the records of each rank in the stream that trains: the longest."""
    train = max(open_run(run).streams.values(), key=lambda stream: stream.rows)
    return {rank.header.rank: rank.table(["record"])["record"].to_pylist() for rank in train.ranks}
