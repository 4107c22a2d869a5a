"""A student's script run on the ranks of the relay: what came of every trial."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autograder.homework.mesh.cases import Trial
from autograder.homework.rubric import shown
from labkit.cells.slicing import Chunk
from labkit.launch.launcher import Launcher, Limits, make_jobs
from labkit.launch.rank_set import RankSet
from labkit.meshrun import on_the_wire
from labkit.meshrun.counting import axis_of
from labkit.relay.outcome import Outcome

FILE = "mesh_training.py"
NARROW = ("float32", "float16", "bfloat16")
FEW = 64  # bytes: a number or two in float32 are left alone here
LIMITS = Limits(cpu_seconds=40, deadline=40.0, patience=6.0)
_TRIAL = [Chunk("judge", 1, "from probes.mesh import trial"), Chunk(FILE, 1, "")]
_EXPECTED = [Chunk("judge", 1, "from probes.mesh import expected")]


@dataclass
class Ran:
    """What came of one trial. steps: of each rank, (number of steps, 2) of loss and norm. held, peaks: bytes of each
    rank. sent: axis -> bytes that all ranks sent in one step. narrow: the same of floating-point numbers that are not
    float64. unwaited: sends and receives that a rank began and never waited for. parts: of the checkpoint. trouble:
    diagnosis, sentence where it did not come to its end."""

    trial: Trial
    steps: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 2)))
    held: list[int] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    sent: Counter = field(default_factory=Counter)
    narrow: Counter = field(default_factory=Counter)
    parts: list = field(default_factory=list)
    unwaited: int = 0
    trouble: tuple[str, str] | None = None

    @property
    def where(self) -> str:
        """The mesh in words."""
        mesh = self.trial.mesh
        said = f"{mesh.data} x {mesh.tensor} x {mesh.pipeline}"
        return f"data x tensor x pipeline = {said}" + (f", context {mesh.context}" if mesh.context > 1 else "")


class Runs:
    """Runs trials of one script, one after the other."""

    def __init__(self, launcher: Launcher, script: Path, seed: int):
        self.launcher, self.seed = launcher, seed
        self.source = script.read_text(encoding="utf-8", errors="replace")
        self._set: RankSet | None = None

    def close(self) -> None:
        if self._set is not None:
            self._set.close()
            self._set = None

    def run(self, trial: Trial, parts: list | None = None) -> Ran:
        """One trial. parts: the checkpoint that it goes on from."""
        arguments = (self.source, *trial.arguments, parts, trial.counted)
        jobs = make_jobs(_TRIAL, "trial", [arguments] * trial.mesh.size, seed=self.seed, poison=self.seed)
        if self._set is None or not self._set.serves(trial.mesh.size, LIMITS, False):
            self.close()
            self._set = RankSet(self.launcher, max(8, trial.mesh.size), LIMITS)
        outcome, ends = self._set.run(jobs)
        found = Ran(trial, trouble=_trouble(outcome, ends))
        if found.trouble is None:
            try:
                _take(found, outcome)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError):
                found.trouble = "wrong_steps", f"log.step was not called with two numbers, {trial.steps} times"
        return found


def _take(found: Ran, outcome: Outcome) -> None:
    values = [rank.value for rank in outcome.ranks]
    steps = np.array([value["steps"] for value in values], dtype=float)
    if steps.shape != (found.trial.mesh.size, found.trial.steps, 2):
        raise ValueError
    found.steps, found.parts = steps, [value["part"] for value in values]
    found.held = [int(value["held"][-1]) if value["held"] else 0 for value in values]
    found.peaks = [int(value["peak"]) for value in values]
    found.unwaited = max(rank.unwaited for rank in outcome.ranks)
    mesh = found.trial.mesh
    for event in outcome.events:
        if event.ended is None or event.kind in ("recv", "compute", "barrier"):
            continue
        ranks = (event.rank, event.peer) if event.kind == "send" else event.group
        if ranks and len(set(ranks)) > 1:
            nbytes = on_the_wire(event.kind, event.nbytes, len(ranks))
            axis = axis_of(mesh, ranks)
            found.sent[axis] += nbytes / found.trial.steps
            if event.dtype in NARROW and event.nbytes > FEW:
                found.narrow[axis] += nbytes / found.trial.steps


def _trouble(outcome: Outcome, ends: list[dict]) -> tuple[str, str] | None:
    """(diagnosis, sentence) where not every rank has returned."""
    raised = [(r, rank) for r, rank in enumerate(outcome.ranks) if rank.state == "raised"]
    if raised:
        r, rank = raised[0]
        row = f" ({rank.error['rows'][-1]})" if rank.error.get("rows") else ""
        kind = "not_started" if rank.error["type"] == "NotStarted" else "raised"
        return kind, f"rank {r} raised {rank.error['type']}: {shown(rank.error['text'], 240)}{shown(row, 160)}"
    if outcome.hang is not None:
        return "hung", f"the ranks stood still: {shown(outcome.hang, 360)}"
    if outcome.too_slow:
        return "too_slow", f"it was not done after {LIMITS.deadline:.0f} s"
    gone = [r for r, rank in enumerate(outcome.ranks) if rank.state != "returned"]
    return ("crashed", f"rank {gone[0]} ended without a word") if gone else None


def expected(launcher: Launcher, asked: list[tuple[dict, int]]) -> list[np.ndarray]:
    """(steps, 2) of loss and norm of the sequential training, for each (settings, steps). Raises RuntimeError."""
    outcome, _ = launcher.run(make_jobs(_EXPECTED, "expected", [(asked,)]), limits=LIMITS)
    rank = outcome.ranks[0]
    if rank.state != "returned":
        raise RuntimeError(f"the sequential training could not be run ({rank.state}, {rank.error.get('text', '')})")
    return [np.array(one) for one in rank.value]
