"""A student's script run on the ranks of the relay: what came of every trial."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from autograder.exercise import seed_of
from autograder.homework.mesh.altered import Altered, secret_of
from autograder.homework.mesh.cases import Trial
from autograder.homework.mesh.stretched import Stretched
from autograder.homework.mesh.summed import Summed
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
VARIED = 0.1  # share of different values in a payload: what was computed has more
LIMITS = Limits(cpu_seconds=40, deadline=40.0, patience=6.0)
HURRIED = replace(LIMITS, cpu_seconds=20, deadline=10.0)  # a trial takes about a second
PATIENT_S = 120.0  # so long the trials of a script may take, all together, until each of the rest is hurried
_PLACE = re.compile(rf"{re.escape(FILE)}, (line \d+)")
WITHHELD = ("labkit.meshrun.sequential.sequential",)  # as `probes.mesh` says: ranks of a script cannot read it either
_TRIAL = [Chunk("judge", 1, "from probes.mesh import trial"), Chunk(FILE, 1, "")]
_REFERENCE = [
    Chunk("judge", 1, "from probes.mesh_reference import altered, expected, scaled"),
    Chunk("judge", 2, "from probes.mesh_shares import columns, rows"),
]


class RunTrouble(NamedTuple):
    """The reason why a trial did not come to its end. kind, said: diagnosis and sentence. rows: of a hang, a line for
    each rank. what: the type of an exception, the kind of a hang. places: the lines of the script where it ended."""

    kind: str
    said: str
    rows: tuple[str, ...] = ()
    what: str = ""
    places: frozenset[str] = frozenset()

    def same(self, other: RunTrouble) -> bool:
        """True if both have one cause: the same exception at the same line, or a hang of one kind at the same lines,
        on however many ranks."""
        apart = not self.places or (self.kind, self.what) != (other.kind, other.what)
        return self is other or not (apart or not (self.places <= other.places or other.places <= self.places))


@dataclass
class Ran:
    """The result of one trial. steps: of each rank, (number of steps, 2) of loss and norm. held, peaks: bytes of each
    rank. sent: axis -> bytes that all ranks sent in one step. narrow: the same of floating-point numbers that are not
    float64. Payloads in which nearly all values are equal, such as zeros, count in neither.
    onward: (stage, later stage) -> sum of the squares of the float64 numbers that all ranks of one sent to the other in
    all steps. unwaited: sends and receives that a rank began and never waited for. parts: of the checkpoint. first:
    bytes of each rank at most until its first step was done. altered, stretched: what was done to its messages.
    summed: what ranks added to sums. trouble: where it did not come to its end."""

    trial: Trial
    steps: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 2)))
    held: list[int] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    sent: Counter = field(default_factory=Counter)
    narrow: Counter = field(default_factory=Counter)
    onward: Counter = field(default_factory=Counter)
    parts: list = field(default_factory=list)
    unwaited: int = 0
    first: list[int] = field(default_factory=list)
    altered: Altered | None = None
    stretched: Stretched | None = None
    summed: Summed | None = None
    trouble: RunTrouble | None = None

    @property
    def where(self) -> str:
        """The mesh in words."""
        mesh = self.trial.mesh
        said = f"{mesh.data} x {mesh.tensor} x {mesh.pipeline}"
        return f"data x tensor x pipeline = {said}" + (f", context {mesh.context}" if mesh.context > 1 else "")


class Runs:
    """Runs trials of one script, one after the other; those that come after one that was too slow get little time, and
    so do those that come when all the time is used up. The seed is the ranks' to read; what alters their messages
    comes from the key by another way, and does not follow from it."""

    def __init__(self, launcher: Launcher, script: Path, key: str):
        self.launcher, self.seed = launcher, seed_of(key, "train_a_mesh", "ranks")
        self._secret = secret_of(key)
        self.source = script.read_text(encoding="utf-8", errors="replace")
        self._set: RankSet | None = None
        self._left, self._limits = PATIENT_S, LIMITS

    def close(self) -> None:
        if self._set is not None:
            self._set.close()
            self._set = None

    def run(self, trial: Trial, parts: list | None = None) -> Ran:
        """Runs a trial. parts: the checkpoint that it goes on from."""
        arguments = (self.source, *trial.arguments, parts, trial.counted)
        jobs = make_jobs(_TRIAL, "trial", [arguments] * trial.mesh.size, seed=self.seed, poison=self.seed)
        if self._set is None or not self._set.serves(trial.mesh.size, self._limits, False, WITHHELD):
            self.close()
            self._set = RankSet(self.launcher, max(8, trial.mesh.size), self._limits, withheld=WITHHELD)
        began = time.monotonic()
        altered = Altered(trial, self._secret) if trial.altered else None
        stretched = Stretched(trial, self._secret) if trial.stretched else None
        summed = Summed(trial, altered or stretched)
        outcome, _ = self._set.run(jobs, describe_payloads=True, altered=summed)
        self._left -= (time.monotonic() - began) / max(outcome.slowed, 1.0)
        found = Ran(trial, altered=altered, stretched=stretched, summed=summed)
        found.trouble = _trouble(outcome, self._limits.deadline)
        if outcome.too_slow or self._left < 0:
            self._limits = HURRIED
        if found.trouble is None:
            try:
                _take(found, outcome)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError):
                said = f"log.step was not called with two numbers, {trial.steps} times"
                found.trouble = RunTrouble("wrong_steps", said)
        return found


def _take(found: Ran, outcome: Outcome) -> None:
    values = [rank.value for rank in outcome.ranks]
    steps = np.array([value["steps"] for value in values], dtype=float)
    if steps.shape != (found.trial.mesh.size, found.trial.steps, 2):
        raise ValueError
    found.steps, found.parts = steps, [value["part"] for value in values]
    found.held = [int(value["held"][-1]) if value["held"] else 0 for value in values]
    found.peaks = [int(value["peak"]) for value in values]
    found.first = [int(value["first"]) for value in values]
    found.unwaited = max(rank.unwaited for rank in outcome.ranks)
    mesh = found.trial.mesh
    for event in outcome.events:
        if event.ended is None or event.kind in ("recv", "compute", "barrier"):
            continue
        ranks = (event.rank, event.peer) if event.kind == "send" else event.group
        if ranks and len(set(ranks)) > 1:
            nbytes = on_the_wire(event.kind, event.nbytes, len(ranks))
            axis = axis_of(mesh, ranks)
            if event.nbytes > FEW and (event.varied or 0) < VARIED:
                continue
            found.sent[axis] += nbytes / found.trial.steps
            if event.kind == "send" and axis == "pipeline" and event.nbytes > FEW and event.squares is not None:
                way = tuple(mesh.coordinates(rank)["pipeline"] for rank in ranks)
                found.onward[way] += event.squares if way[0] < way[1] else 0.0
            if event.dtype in NARROW and event.nbytes > FEW:
                found.narrow[axis] += nbytes / found.trial.steps


def _trouble(outcome: Outcome, deadline: float) -> RunTrouble | None:
    """The reason why not every rank has returned; None if all have."""
    raised = [(r, rank) for r, rank in enumerate(outcome.ranks) if rank.state == "raised"]
    if raised:
        r, rank = raised[0]
        kind, row = rank.error["type"], rank.error["rows"][-1] if rank.error.get("rows") else ""
        said = f"rank {r} raised {kind}: {shown(rank.error['text'], 240)}{shown(f' ({row})', 160) if row else ''}"
        return RunTrouble("not_started" if kind == "NotStarted" else "raised", said, (), kind, _places([row]))
    if outcome.hang is not None:
        hang = outcome.hang
        said = f"the ranks stood still. {shown(hang.sentence, 360)}"
        return RunTrouble("hung", said, tuple(hang.rows), hang.kind, _places(hang.rows))
    if outcome.too_slow:
        return RunTrouble("too_slow", f"it was not done after {deadline:.0f} s")
    gone = [r for r, rank in enumerate(outcome.ranks) if rank.state != "returned"]
    return RunTrouble("crashed", f"rank {gone[0]} ended without a word") if gone else None


def _places(rows: Iterable[str]) -> frozenset[str]:
    return frozenset(place for row in rows for place in _PLACE.findall(row))


def expected(launcher: Launcher, asked: list[tuple[dict, int]]) -> list[np.ndarray]:
    """(steps, 2 + blocks + 1) of loss, norm and squares of the activations of the sequential training, for each
    (settings, steps) (`probes.mesh_reference.expected`). Raises RuntimeError."""
    return [np.array(one) for one in reference(launcher, "expected", asked)]


def reference(launcher: Launcher, function: str, *arguments):
    """The result of a function of `probes.mesh_reference` or `probes.mesh_shares`. Raises RuntimeError."""
    outcome, _ = launcher.run(make_jobs(_REFERENCE, function, [arguments]), limits=LIMITS)
    rank = outcome.ranks[0]
    if rank.state != "returned":
        raise RuntimeError(f"the sequential training could not be run ({rank.state}, {rank.error.get('text', '')})")
    return rank.value
