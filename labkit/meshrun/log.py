"""The log of a run on a mesh, written by one line in the training loop: `log.step(loss, norm)`, on every rank."""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import torch.distributed as dist

from labkit import runlog
from labkit.meshrun.counting import Alive, Traffic
from labkit.meshrun.settings import Settings
from labkit.runlog_reading import chain
from labkit.scale.mesh import Mesh

FORMAT = 1
COUNTED = 2  # the first steps: bytes alive are counted in them, and so they take longer


class Log:
    """JSON lines, each with a digest of itself and of the line before: what was run and where, a line for each step,
    what every rank held and said, the end. Rank 0 writes it.

    path: None writes nothing. program: the script's file, noted by name and SHA-256. nonce: the code that came with the
    assignment; where it is empty, that of nonce.txt beside the program. To be used with `with`, on every rank, around
    all of the training: the bytes of what is made before are not counted.
    """

    def __init__(
        self,
        path: str | os.PathLike | None,
        mesh: Mesh,
        settings: Settings,
        program: str | os.PathLike | None = None,
        nonce: str = "",
    ):
        self.mesh, self.settings, self.program = mesh, settings, program
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self._path, self._file, self._digest = path, None, ""
        self._nonce = nonce or runlog.released_nonce(program)
        self._alive, self._traffic, self._counting = Alive(), Traffic(mesh), False
        self._steps, self._held, self._first = 0, 0, {}
        self._seconds: list[float] = []

    def __enter__(self) -> Log:
        machines = self._of_all(os.uname().nodename)
        if self.rank == 0 and self._path is not None:
            self._file = open(self._path, "w", encoding="utf-8")
            self._write("run", **self._about(machines))
        self._traffic.__enter__()
        self._alive.__enter__()
        self._counting = True
        self._began = self._mark = time.perf_counter()
        return self

    def _about(self, machines: list[str]) -> dict:
        source = Path(self.program).read_bytes() if self.program else b""
        return {
            "format": FORMAT,
            "mesh": {axis: getattr(self.mesh, axis) for axis in self.mesh.order},
            "settings": asdict(self.settings),
            "hosts": machines,
            "hardware": runlog.hardware(),
            "environment": runlog.software(),
            "program": Path(self.program).name if self.program else "",
            "source_sha256": hashlib.sha256(source).hexdigest() if source else "",
            "nonce": self._nonce,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }

    def step(self, loss: float, norm: float) -> None:
        """A step is done. loss: the mean over the whole minibatch. norm: of the whole gradient, before it was
        clipped."""
        seconds = time.perf_counter() - self._mark
        self._steps += 1
        if self._counting:
            self._look_at_memory()
        self._seconds.append(seconds)
        self._write("step", step=self._steps, seconds=round(seconds, 7), loss=_number(loss), norm=_number(norm))
        self._mark = time.perf_counter()

    def _look_at_memory(self) -> None:
        self._held = self._alive.now()
        if self._steps == COUNTED:
            self._stop_counting()
        else:
            self._alive.forget_peak()  # the first step has seen the whole model
            self._first = dict(self._traffic.bytes)

    def _stop_counting(self) -> None:
        self._alive.__exit__(None, None, None)
        self._counting = False

    def __exit__(self, kind, *exc) -> None:
        if self._counting:
            self._stop_counting()
        self._traffic.__exit__()
        if kind is None:
            self._end()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _end(self) -> None:
        later = max(1, self._steps - 1)
        sent = {axis: (n - self._first.get(axis, 0)) / later for axis, n in self._traffic.bytes.items()}
        mine = {"held": self._held, "peak": self._alive.peak, "sent": sent}
        for rank, one in enumerate(self._of_all(mine)):
            self._write("rank", rank=rank, **one)
        self._write("end", steps=self._steps, seconds=round(time.perf_counter() - self._began, 7))

    def _of_all(self, value) -> list:
        return runlog.torch_gather(value) if dist.is_initialized() else [value]

    def _write(self, kind: str, **fields) -> None:
        if self._file is None:
            return
        record = {"kind": kind, **fields}
        self._digest = chain(self._digest, record)
        self._file.write(json.dumps(record | {"digest": self._digest}, allow_nan=False) + "\n")
        self._file.flush()

    @property
    def seconds(self) -> float:
        """The median of the steps in which nothing was counted; of all where there are no others."""
        return statistics.median(self._seconds[COUNTED:] or self._seconds or [math.nan])


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
