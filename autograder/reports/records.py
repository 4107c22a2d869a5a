"""`autograder records ASSIGNMENT`: whose answers take least, among those who want to be listed.

A line of a student's own in any code cell of the notebook says so, and under which name:

    # my records: Ada

Nobody else is listed. The numbers are those that the grader has measured (`autograder.judging.measured`), of answers
that have passed, and only such as the relay or the judge counts. Reads, never judges.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory

from autograder.grading import course_files
from autograder.grading.submission.reading import readable_name
from autograder.judging.measured import EQUAL, above, quantity, share
from autograder.pages import page
from autograder.reports.alike import Taken, looks
from autograder.reports.marks import StudentMarks
from autograder.reports.results import SubmittedNotebook, answers, marks, submitted
from autograder.verdict import RecordResult

LINE = re.compile(r"^[ \t]*#[ \t]*my records:(.*)$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class RecordLine:
    """One student's. place: from 1; equal values share it. to_best, to_bound: how far above them, in words."""

    place: int
    name: str
    value: str
    to_best: str
    to_bound: str


@dataclass(frozen=True)
class Board:
    """One record of one exercise. best, bound: in words; "" for a bound that nobody knows. why: of the bound."""

    exercise: str
    record: str
    says: str
    best: str
    bound: str
    why: str
    lines: tuple[RecordLine, ...]


@dataclass(frozen=True)
class ClassRecords:
    """Everything on the page. listed, handed_in: numbers of students. refused: sentences about names that are not
    shown, for the instructor alone."""

    assignment: str
    boards: tuple[Board, ...]
    listed: int
    handed_in: int
    refused: tuple[str, ...] = ()


def records_of(coursedir: CourseDirectory, assignment: str) -> ClassRecords:
    """The records of a class. Raises `autograder.reports.results.NoResults`,
    `autograder.reports.marks.UnknownAssignment`."""
    rows = marks(coursedir, assignment).rows
    wanted: dict[str, str] = {}
    unread: list[str] = []
    for student, notebook, rebuilt in answers(coursedir, assignment):
        if rebuilt.refused:
            unread.append(f"{readable_name(student)}, {notebook}: {rebuilt.refused}")
            continue
        released = course_files.released(coursedir, coursedir.config, assignment, notebook)
        name = listed_as(rebuilt.notebook, released)
        if name:
            wanted.setdefault(student, name)
    names, refused = names_to_show(wanted, rows)
    judged = list(submitted(coursedir, assignment))
    boards = boards_of(judged, names)
    return ClassRecords(assignment, boards, len(names), len({one.student for one in judged}), (*unread, *refused))


def listed_as(notebook: NotebookNode, released: NotebookNode | None = None) -> str:
    """The name under which the notebook's author wants to be listed, with nothing in it that a page or a terminal could
    take amiss; "" where none is given. What is written in the released notebook is nobody's wish."""
    given = set() if released is None else set(_names(released))
    return readable_name(next((name for name in _names(notebook) if name not in given), "")).strip()


def _names(notebook: NotebookNode) -> Iterator[str]:
    """The texts behind "my records:" in its code cells."""
    code = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    return filter(None, (name.strip() for source in code for name in LINE.findall(source)))


def names_to_show(wanted: dict[str, str], rows: Sequence[StudentMarks]) -> tuple[dict[str, str], tuple[str, ...]]:
    """(student -> name, sentences about those who are not shown). Nobody appears under the name of somebody else in the
    class or one that looks like it or has it in it, nor under one whose letters are of two alphabets or are not seen,
    unless it is their own; who shares a name with another one gets a number behind it."""
    taken = Taken(rows)
    shown, refused, often = {}, [], defaultdict(int)
    for student, name in sorted(wanted.items()):
        why = taken.why_not(student, name)
        if why:
            refused.append(f"{student} wants to be listed as {name}, {why}.")
            continue
        look = min(looks(name), default=name)
        often[look] += 1
        shown[student] = name if often[look] == 1 else f"{name} ({often[look]})"
    return shown, tuple(refused)


def boards_of(judged: Iterable[SubmittedNotebook], names: dict[str, str]) -> tuple[Board, ...]:
    """A board for every record that somebody who is listed has, as the notebooks have them. names: student -> name."""
    found: dict[tuple[str, str, str], dict[str, RecordResult]] = {}
    for one in judged:
        for item in one.graded.items if one.graded and one.student in names else ():
            for data in (item.result or {}).get("records", []):
                record = RecordResult(**data)
                if record.counted:
                    mine = found.setdefault((item.result["exercise"], record.name, record.says), {})
                    if one.student not in mine or record.value < mine[one.student].value:
                        mine[one.student] = record
    return tuple(_board(exercise, {names[s]: r for s, r in mine.items()}) for (exercise, *_), mine in found.items())


def _board(exercise: str, mine: dict[str, RecordResult]) -> Board:
    lines: list[RecordLine] = []
    ordered = sorted(mine.items(), key=lambda one: (one[1].value, one[0]))
    for k, (name, record) in enumerate(ordered, 1):
        alike = k > 1 and record.value <= ordered[k - 2][1].value * (1 + EQUAL)
        place = lines[-1].place if alike else k
        to_bound = "" if record.bound is None else _above(record.value, record.bound)
        lines.append(
            RecordLine(place, name, quantity(record.value, record.unit), _above(record.value, record.best), to_bound)
        )
    one = ordered[0][1]
    bound = "" if one.bound is None else quantity(one.bound, one.unit)
    return Board(exercise, one.name, one.says, quantity(one.best, one.unit), bound, one.why, tuple(lines))


def _above(value: float, least: float) -> str:
    part = above(value, least)
    return "" if part is None else "reached" if part == 0 else f"+{share(part)}" if part > 0 else f"-{share(-part)}"


def text(records: ClassRecords) -> str:
    """The records as text for a terminal."""
    said = [f"{records.assignment}: {records.listed} of {records.handed_in} want to be listed"]
    for board in records.boards:
        bound = f"bound {board.bound}" if board.bound else "no bound is known"
        said += ["", f"{board.exercise}, {board.record} ({board.says}): best known {board.best}, {bound}"]
        name_width = max(len(line.name) for line in board.lines)
        value_width = max(len(line.value) for line in board.lines)
        for line in board.lines:
            to_bound = f"bound {line.to_bound}" if line.to_bound else ""
            row = f"{line.place:>4}  {line.name:<{name_width}}  {line.value:>{value_width}}"
            said.append(f"{row}  best known {line.to_best:<9}{to_bound}".rstrip())
    return "\n".join(said)


def render(records: ClassRecords) -> str:
    """The page, which may be shown to the class: the names on it are those that students chose."""
    return page("records.html", c=records)
