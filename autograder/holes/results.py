"""Keeps the fates of mutants in build/holes/, so that a run that was stopped goes on where it was.

A result counts while three things are the same: the mutant, the exercise's module with what exercises share, and the
judge. After a change of the exercise or the judge, `survivors` takes over what was killed and asks again only what
lived: right while cases are added, and a quick way to see whether a new case kills; the last word has a run without.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import asdict
from pathlib import Path

from autograder.exercise import Exercise
from autograder.holes.mutants import Mutant
from autograder.holes.trying import KILLED, Fate

FOLDER = Path(__file__).resolve().parents[2] / "build" / "holes"


def digest(exercise: Exercise) -> str:
    """A hash of what decides about a mutant besides itself: the exercise's module, what exercises share, the judge."""
    root = Path(__file__).resolve().parents[1]
    shared = root.glob("exercises/**/*.py")
    judge = [*root.glob("judging/*.py"), *root.glob("*.py"), Path(__file__).with_name("trying.py")]
    files = [Path(inspect.getfile(type(exercise))), *sorted(shared), *sorted(judge)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files if path.name != "cli.py")).hexdigest()[:16]


class Results:
    """The fates of one answer's mutants, in one file."""

    def __init__(self, exercise: Exercise, answer: str, folder: Path = FOLDER, survivors: bool = False):
        self.path = folder / exercise.unit / exercise.function / f"{answer}.json"
        self.digest, self.fates = digest(exercise), {}
        try:
            kept = json.loads(self.path.read_text())
            fates = {name: Fate(**fate) for name, fate in kept["fates"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            return
        same = kept["digest"] == self.digest
        self.fates = {name: fate for name, fate in fates.items() if same or (survivors and fate.state == KILLED)}

    def get(self, mutant: Mutant) -> Fate | None:
        """The known fate of a mutant, or None."""
        return self.fates.get(_name(mutant))

    def put(self, mutant: Mutant, fate: Fate) -> None:
        """Keep what became of a mutant."""
        self.fates[_name(mutant)] = fate
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"digest": self.digest, "fates": {n: asdict(f) for n, f in self.fates.items()}}))
        new.replace(self.path)


def _name(mutant: Mutant) -> str:
    return hashlib.sha256(mutant.source.encode()).hexdigest()[:20]
