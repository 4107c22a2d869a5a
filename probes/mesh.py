"""A student's training on a mesh, run in a rank beside the grader: what each step gave, what the rank held.

Bytes are counted by `labkit.meshrun.Alive`, which sees every tensor that is made in this process, and told to the
relay; what is sent the relay counts itself. All of this happens in the process of the script, and what is told here
could be forged by a script that knows about it; what goes over the relay could not.
"""

from __future__ import annotations

import linecache
import sys
import types

from torch import Tensor

from labkit.meshrun import Alive, Settings, sequential
from labkit.relay import charging
from labkit.scale import Mesh

MODULE, FILE = "mesh_training", "mesh_training.py"
MOST_STEPS = 100


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
    [[loss, norm], ...], "held": bytes after each step, "peak": bytes in the last step, "part"}."""
    train = _loaded(source)
    alive = Alive(charging.alive) if counted else None
    log = _LastPeak(alive)
    if alive is None:
        part = train(Mesh(**mesh), Settings(**settings), steps, log, parts)
    else:
        with alive:
            part = train(Mesh(**mesh), Settings(**settings), steps, log, parts)
    return {"steps": log.steps, "held": log.held, "peak": log.peak, "part": part}


class _LastPeak(Steps):
    """Keeps the peak memory of the latest step."""

    peak = 0

    def step(self, loss, norm) -> None:
        if self.alive is not None:
            self.peak = self.alive.peak
        super().step(loss, norm)


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


def expected(asked: list[tuple[dict, int]]) -> list[list[list[float]]]:
    """[[loss, norm, a_0, a_1, ...] of each step] of the sequential training, for each (settings, number of steps).

    a_l: the sum of the squares of what leaves block l, of all rows of the minibatch; a_0 leaves the embedding."""
    found = []
    for settings, steps in asked:
        outputs: list[Tensor] = []
        run = sequential(Settings(**settings), steps, outputs.append)
        squares = [float(out.detach().square().sum()) for out in outputs]
        each = len(squares) // steps
        found.append([[*one, *squares[k * each : (k + 1) * each]] for k, one in enumerate(run.steps)])
    return found
