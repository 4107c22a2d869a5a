"""`autograder times FILE...`: how long students work on a unit, by the files that they have handed over.

Each student's `progress.json` adds up the time between the recap, the checks and the card of a unit
(`autograder.progress`). It never leaves their folder unless they give it away; what is printed here tells of nobody:
units with the times of fewer than `FEWEST` students are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import autograder.progress as progress
from autograder.start.units import all_units

FEWEST = 5
SHORTEST = 2  # minutes: less is a look at the page


@dataclass(frozen=True)
class UnitTimes:
    """Minutes of work on a unit. page: those of its core, as its page says. low, high: quartiles."""

    unit: str
    page: int | None
    students: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Times:
    """lines: by unit. unreadable: files that are no progress.json."""

    lines: list[UnitTimes]
    unreadable: list[Path]


def times_of(files: Sequence[Path]) -> Times:
    """The minutes of work on each unit of the course in these files, one file a student."""
    read = {path: progress.read(path) for path in files}
    kept = [found for found in read.values() if found is not None]
    lines = []
    for unit in all_units():
        minutes = [progress.minutes_of(one, unit.name) for one in kept]
        minutes = [one for one in minutes if one >= SHORTEST]
        if len(minutes) >= FEWEST:
            low, median, high = np.percentile(minutes, [25, 50, 75]).tolist()
            lines.append(UnitTimes(unit.name, unit.minutes, len(minutes), median, low, high))
    return Times(lines, [path for path, found in read.items() if found is None])
