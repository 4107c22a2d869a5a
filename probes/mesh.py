"""A student's training on a mesh, run in a rank beside the grader: what each step gave, what the rank held.

Bytes are counted by `labkit.meshrun.Alive`, which sees every tensor that is made in this process, by whatever thread,
and told to the relay; what is sent the relay counts itself. All of this happens in the process of the script, and what
is told here could be forged by a script that knows about it; what goes over the relay could not. What the losses should
be is computed elsewhere (`probes.mesh_reference`): here the sequential training cannot be called.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
import threading
import types
from collections.abc import Iterator

from labkit.launch.rank_program import withheld
from labkit.meshrun import Alive, Settings
from labkit.relay import charging
from labkit.scale import Mesh

MODULE, FILE = "mesh_training", "mesh_training.py"
MOST_STEPS = 100
WITHHELD = ("labkit.meshrun.sequential.sequential",)


class NotStarted(RuntimeError):
    """The script could not be loaded, or has no `train`."""


class Steps:
    """The log that `train` is given: it records the loss and the norm of each step."""

    def __init__(self, alive: Alive | None):
        self.alive, self.steps, self.held = alive, [], []

    def step(self, loss, norm) -> None:
        """A step is done."""
        if len(self.steps) >= MOST_STEPS:
            raise ValueError(f"log.step was called more than {MOST_STEPS} times: once for each step")
        self.steps.append([float(loss), float(norm)])
        if self.alive is not None:
            self.held.append(self.alive.now())
            charging.alive(self.held[-1])
            self.alive.forget_peak()


def trial(source: str, mesh: dict, settings: dict, steps: int, parts: list | None, counted: bool) -> dict:
    """One call of a script's `train`. counted: whether what is alive is counted; it takes time. Returns {"steps":
    [[loss, norm], ...], "held": bytes after each step, "first": most bytes until the first step was done, "peak": in
    the last step, "part"}."""
    alive = Alive(charging.alive) if counted else None
    log = _Peaks(alive)
    with withheld(WITHHELD):
        train = _loaded(source)
        with alive or contextlib.nullcontext(), in_all_threads(alive) if alive else contextlib.nullcontext():
            part = train(Mesh(**mesh), Settings(**settings), steps, log, parts)
    return {"steps": log.steps, "held": log.held, "first": log.first, "peak": log.peak, "part": part}


class _Peaks(Steps):
    """Keeps the peak memory until the end of the first step, and that of the latest step."""

    first = peak = 0

    def step(self, loss, norm) -> None:
        if self.alive is not None:
            self.peak = self.alive.peak
            self.first = self.first or self.peak
        super().step(loss, norm)


@contextlib.contextmanager
def in_all_threads(alive: Alive) -> Iterator[None]:
    """Within, `alive` counts what threads make that are started."""
    begin = threading.Thread._bootstrap_inner

    def counted(thread: threading.Thread) -> None:
        with alive.of_thread():
            begin(thread)

    threading.Thread._bootstrap_inner = counted
    try:
        yield
    finally:
        threading.Thread._bootstrap_inner = begin


def _loaded(source: str):
    module = types.ModuleType(MODULE)
    module.__file__ = FILE
    sys.modules[MODULE] = module
    linecache.cache[FILE] = (len(source), None, [line + "\n" for line in source.split("\n")], FILE)
    try:
        exec(compile(source, FILE, "exec"), module.__dict__)
    except SystemExit as error:
        raise NotStarted(f"importing {FILE} ended the program ({error})") from None
    train = getattr(module, "train", None)
    if not callable(train):
        raise NotStarted(f"{FILE} has no function `train`")
    return train
