"""The marks of one assignment from nbgrader's gradebook, as plain records: a row per student, a mark per graded cell.

Everything is read through nbgrader's own objects (`nbgrader.api.Gradebook`); nothing here imports nbgrader or writes
to its database.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime


class UnknownAssignment(LookupError):
    """The gradebook has no assignment of that name."""


@dataclass(frozen=True)
class Column:
    """A graded cell of the assignment. name: as instructors see it. points: its maximum. written: a person grades
    it."""

    notebook: str
    cell: str
    name: str
    points: float
    written: bool


@dataclass(frozen=True)
class CellMark:
    """The mark of one student on one graded cell. to_grade: a person has to look at it (again), so the score is
    provisional.

    by_hand: a person gave the score; it counts instead of the judge's, also for work that was handed in afterwards.
    """

    score: float
    to_grade: bool
    by_hand: bool = False


@dataclass(frozen=True)
class StudentMarks:
    """One student. timestamp: when the work was handed in, UTC. marks: by (notebook, cell); empty for those who
    handed in nothing.

    score: all marks and extra credit less the penalty for lateness, never below zero; None for those who handed in
    nothing.
    """

    student: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    timestamp: datetime | None = None
    seconds_late: float = 0.0
    penalty: float = 0.0
    score: float | None = None
    marks: dict[tuple[str, str], CellMark] | None = None

    @property
    def handed_in(self) -> bool:
        """True if the gradebook has a submission."""
        return self.marks is not None

    @property
    def to_grade(self) -> bool:
        """True if a person has to look at some of it, so that the score is provisional."""
        return any(mark.to_grade for mark in (self.marks or {}).values())

    @property
    def full_name(self) -> str:
        """ "Last, First" as gradebooks sort it; the student's id where no name is known."""
        return ", ".join(part for part in (self.last_name, self.first_name) if part) or self.student


@dataclass(frozen=True)
class Marks:
    """One assignment. rows: all students of the course, by id."""

    assignment: str
    points: float
    columns: tuple[Column, ...]
    rows: tuple[StudentMarks, ...]


def read_marks(gradebook, assignment: str, students: list[str] | None = None) -> Marks:
    """The marks of `assignment`; of these students only, if any are named. Raises UnknownAssignment, naming what
    there is."""
    found = {one.name: one for one in gradebook.assignments}
    if assignment not in found:
        there = ", ".join(sorted(found)) or "none; release one first"
        raise UnknownAssignment(f"the gradebook has no assignment {assignment!r}; there are: {there}")
    columns = _columns(found[assignment])
    handed_in = {one.student.id: one for one in gradebook.assignment_submissions(assignment)}
    rows = [
        _row(student, handed_in.get(student.id), columns)
        for student in sorted(gradebook.students, key=lambda s: s.id)
        if not students or student.id in students
    ]
    return Marks(assignment, float(found[assignment].max_score or 0), columns, tuple(rows))


def _columns(assignment) -> tuple[Column, ...]:
    """The graded cells, in the order of the notebooks."""
    cells = []
    for notebook in sorted(assignment.notebooks, key=lambda n: n.name):
        order = {cell.name: k for k, cell in enumerate(notebook.source_cells)}
        graded = [*notebook.grade_cells, *notebook.task_cells]
        cells += [(notebook.name, cell) for cell in sorted(graded, key=lambda c: order.get(c.name, len(order)))]
    often = Counter(cell.name for _, cell in cells)
    return tuple(
        Column(
            notebook,
            cell.name,
            (cell.name if often[cell.name] == 1 else f"{notebook}/{cell.name}").replace("check_", "", 1),
            float(cell.max_score or 0),
            cell.cell_type != "code",
        )
        for notebook, cell in cells
    )


def _row(student, submission, columns: tuple[Column, ...]) -> StudentMarks:
    person = StudentMarks(
        student.id,
        student.first_name or "",
        student.last_name or "",
        student.email or "",
    )
    if submission is None:
        return person
    known = {(c.notebook, c.cell) for c in columns}
    marks = {}
    for notebook in submission.notebooks:
        for grade in notebook.grades:
            if (notebook.name, grade.name) in known:
                marks[notebook.name, grade.name] = CellMark(
                    float(grade.score or 0), bool(grade.needs_manual_grade), grade.manual_score is not None
                )
    penalty = float(submission.late_submission_penalty or 0)
    return StudentMarks(
        person.student,
        person.first_name,
        person.last_name,
        person.email,
        submission.timestamp,
        float(submission.total_seconds_late or 0),
        penalty,
        max(0.0, float(submission.score or 0) - penalty),
        {(c.notebook, c.cell): marks[c.notebook, c.cell] for c in columns if (c.notebook, c.cell) in marks},
    )
