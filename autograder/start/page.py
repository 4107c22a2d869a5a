"""The start page: the map of the units, what is earned and left, what is next, records, and what the doctor found.

A piece of HTML for JupyterLab's main area, in the colours of its theme (tools/start_page/ puts it there). Links carry
the path of a notebook in work/ and the cell they lead to.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import autograder.content as content
import autograder.progress as progress
from autograder.pages import page, span
from autograder.personal import FILE as RECORDS
from autograder.personal import MOST_BYTES
from autograder.start.units import ROOT, Unit, UnitTask, all_units

MOST_RECORDS = 12
# What is no student's trouble on a laptop: said by `make doctor`, not here.
NOT_HERE = {"isolation", "scheduler", "browser", "GPUs"}


@dataclass(frozen=True)
class TaskState:
    """A task with what the student has of it. state: "passed", "begun", "" or, for an answer in words, "written"."""

    task: UnitTask
    points: float
    state: str
    tries: int


@dataclass(frozen=True)
class UnitRow:
    """A unit of the map. here: the student has its notebook. last: the day of the last check, "" without one. minutes:
    those of the student's own work on it."""

    unit: Unit
    tasks: tuple[TaskState, ...]
    here: bool
    last: str
    minutes: int = 0

    @property
    def points(self) -> float:
        """The points that checks have given."""
        return sum(done.points for done in self.tasks)

    @property
    def state(self) -> str:
        """The state of the row: "done", "begun" or ""."""
        checked = [done for done in self.tasks if done.state != "written"]
        if checked and all(done.state == "passed" for done in checked):
            return "done"
        return "begun" if any(done.tries for done in checked) else ""

    @property
    def todo(self) -> TaskState | None:
        """The first exercise that has not passed."""
        return next((done for done in self.tasks if done.state in ("", "begun")), None)


def rows(work: Path, course: Path = ROOT) -> list[UnitRow]:
    """The units of the course with what is kept of them in this work/."""
    kept = progress.kept_in(work)
    return [row_of(unit, kept, (work / unit.path).is_file()) for unit in all_units(course)]


def row_of(unit: Unit, kept: dict, here: bool = True) -> UnitRow:
    """The row of a unit, filled from `kept`, which `progress.kept_in` returned."""
    entries = {task.name: kept.get(f"{unit.name}/{task.name}") for task in unit.tasks}
    tasks = tuple(_done(task, entries[task.name]) for task in unit.tasks)
    last = max((entry["on"] for entry in entries.values() if entry), default="")
    return UnitRow(unit, tasks, here, last, progress.minutes_of(kept, unit.name))


def _done(task: UnitTask, entry: dict | None) -> TaskState:
    if task.written:
        return TaskState(task, 0, "written", 0)
    if not entry:
        return TaskState(task, 0, "", 0)
    return TaskState(
        task, min(entry["points"], task.points), "passed" if entry["passed_at"] else "begun", entry["tries"]
    )


def next_of(found: list[UnitRow]) -> tuple[UnitRow, TaskState] | None:
    """The place to go on: the unit of the last check while something is left in it, else the first one that is not
    done; None when all is."""
    open_rows = [row for row in found if row.here and row.todo and not row.unit.is_homework]
    last = max((row.last for row in found), default="")
    going_on = [row for row in open_rows if row.last and row.last == last]
    needed = [row for row in open_rows if not row.unit.optional]
    row = next(iter([*going_on, *needed, *open_rows]), None)
    return (row, row.todo) if row else None


@dataclass(frozen=True)
class Way:
    """A path through the course with its rows. known: those of units that it takes as known."""

    title: str
    says: str
    rows: tuple[UnitRow, ...]
    known: tuple[UnitRow, ...]

    @property
    def minutes(self) -> int:
        """The minutes of the cores of its units."""
        return sum(row.unit.minutes or 0 for row in self.rows)


def parts_of(found: list[UnitRow], course: Path = ROOT) -> list[tuple[str, list[UnitRow]]]:
    """(title, rows) of each part of the course; a single one without a title where it names none."""
    units = {row.unit.name: row for row in found if not row.unit.is_homework}
    parts = [(part.title, [units.pop(name) for name in part.units if name in units]) for part in _content(course).parts]
    rest = list(units.values())  # a class's own, say
    return [(title, rows) for title, rows in [*parts, ("More units" if parts else "", rest)] if rows]


def ways_of(found: list[UnitRow], course: Path = ROOT) -> list[Way]:
    """The paths through the course, as far as their units are there."""
    units = {row.unit.name: row for row in found}
    return [
        Way(
            route.title,
            route.says,
            *(tuple(units[n] for n in names if n in units) for names in (route.units, route.known)),
        )
        for route in _content(course).routes
        if any(name in units for name in route.units)
    ]


def _content(course: Path) -> content.Content:
    """The content of the course's file; nothing where there is none, or a wrong one: the page is there all the same."""
    try:
        return content.course(course)
    except content.NoCourse:
        return content.Content(course, "", ())


def start_page(work: Path, base_url: str = "/", course: Path = ROOT) -> str:
    """The page for this work/. base_url: the server's, which a hub puts before every path."""
    found = rows(work, course)
    units = [row for row in found if not row.unit.is_homework]
    return page(
        "start.html",
        rows=units,
        parts=parts_of(found, course),
        ways=ways_of(found, course),
        homework=[row for row in found if row.unit.is_homework],
        earned=sum(row.points for row in units),
        points=sum(row.unit.points for row in units),
        done=sum(row.state == "done" for row in units),
        begun=any(row.state for row in units),
        next=next_of(found),
        records=records(work),
        address=lambda row, cell="": address(base_url, row.unit.path, cell),
        span=lambda minutes: span(60 * minutes),
        share=share,
    )


def address(base_url: str, path: str, cell: str = "") -> str:
    """The address at which Lab shows a notebook of work/, at this cell."""
    return f"{base_url}lab/tree/{quote(path)}" + (f"#cell-id={quote(cell)}" if cell else "")


def share(points: float, of: float) -> int:
    """The share in whole percent, rounded down: 100 only if nothing is left."""
    return math.floor(100 * points / of) if of else 0


def records(work: Path) -> list[dict]:
    """The student's own best, the newest first: {"exercise", "what", "value", "on"}."""
    path = work / RECORDS
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return []
        kept = json.loads(path.read_text(encoding="utf-8"))
        best = [{"name": name, **entries[-1]} for name, entries in kept.items() if entries]
        best = [
            {
                "exercise": one["name"].split(",")[0].split("/")[-1],
                "what": one["name"].partition(", ")[2],
                "value": f"{float(one['value']):.4g}",
                "on": str(one["on"]),
            }
            for one in best
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return []
    return sorted(best, key=lambda one: one["on"], reverse=True)[:MOST_RECORDS]


def doctor_page(checks: list[dict]) -> str:
    """The page of what `labkit doctor --json` reported: broken checks first, limited ones folded."""
    wrong = [check for check in checks if check["status"] == "broken"]
    limited = [check for check in checks if check["status"] == "limited" and check["subject"] not in NOT_HERE]
    return page("doctor.html", wrong=wrong, limited=limited)
