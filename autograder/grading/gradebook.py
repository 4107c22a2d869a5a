"""nbgrader's gradebook: what a submission earned goes in, and the points that stand there come out.

Through `nbgrader.api` alone, its `Gradebook` and the rows it gives. The caller holds the course's lock and owns the
gradebook.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.plugins import BasePlugin
from sqlalchemy import select

from autograder.grading.submission.finishing import FinishedNotebook


@contextlib.contextmanager
def transaction(gradebook: Gradebook) -> Iterator[None]:
    """All that is written within, or, where an error leaves it, nothing. nbgrader commits after every row it adds;
    that waits for the end."""
    gradebook.db.remove()
    try:
        with gradebook.engine.begin() as connection:
            gradebook.db.configure(bind=connection, join_transaction_mode="rollback_only")
            yield
            gradebook.db.commit()
    finally:
        gradebook.db.remove()
        gradebook.db.configure(bind=gradebook.engine, join_transaction_mode="conditional_savepoint")


# -- in ---------------------------------------------------------------------------------------------------------------


def enter_submission(
    gradebook: Gradebook, assignment: str, student: str, timestamp: datetime | None, extension: timedelta | None
) -> SubmittedAssignment:
    """The row of a submission, with a row for every grade and comment; made where there is none.

    timestamp: when it was handed in, UTC; None leaves what stands there. extension: how much later than others this
    student may be. Raises nbgrader's MissingEntry for an assignment or a student that the gradebook does not have.
    """
    when = {} if timestamp is None else {"timestamp": timestamp}
    return gradebook.update_or_create_submission(assignment, student, extension=extension, **when)


def enter_nothing(notebook: SubmittedNotebook) -> None:
    """Enters zero points, and no need for manual grading, for a notebook that was not handed in, as nbgrader does."""
    for grade in notebook.grades:
        grade.auto_score, grade.needs_manual_grade = 0, False


def enter_grades(gradebook: Gradebook, notebook: SubmittedNotebook, finished: FinishedNotebook) -> None:
    """Points and comments of a notebook. A score given by hand stays; it, what waits, and what no machine grades are
    for a person.

    Raises nbgrader's MissingEntry for a check that the gradebook does not have: its assignment was not released since
    it came.
    """
    items = {item.grade_id: item for item in finished.graded.items}
    grades = _rows(gradebook, notebook, Grade, GradeCell)  # without tasks: those are a person's alone
    for unknown in items.keys() - grades.keys():
        raise MissingEntry(f"No such cell in the gradebook: {notebook.assignment.name}/{notebook.name}/{unknown}")
    for name, grade in grades.items():
        item = items.get(name)
        grade.auto_score = None if item is None else item.points
        waits = item is None or bool(item.fault) or item.waits
        grade.needs_manual_grade = waits or grade.manual_score is not None
        if item is not None and item.homework is not None and not item.max_points:  # nbgrader knows no bonus points
            grade.extra_credit = item.extra
    for name, comment in _rows(gradebook, notebook, Comment, BaseCell).items():
        comment.auto_comment = "No response." if finished.answers.get(name) is False else None


def enter_penalty(
    gradebook: Gradebook, notebook: SubmittedNotebook, student: str, late_s: float, plugin: BasePlugin
) -> None:
    """Enters the penalty for being `late_s` seconds late, as the course's plug-in says: at least 0, at most what the
    notebook earned."""
    notebook.late_submission_penalty = None
    if late_s > 0:
        gradebook.db.flush()
        gradebook.db.refresh(notebook)  # its score is a sum that the database makes
        penalty = plugin.late_submission_penalty(student, notebook.score, late_s)
        if penalty is not None:
            notebook.late_submission_penalty = min(max(penalty, 0), notebook.score)


def _rows(gradebook: Gradebook, notebook: SubmittedNotebook, row: type, cell: type) -> dict[str, Grade | Comment]:
    """The rows of a notebook that belong to such cells, by the name of their cell, in one look."""
    query = select(cell.name, row).join(cell, cell.id == row.cell_id).where(row.notebook_id == notebook.id)
    return dict(gradebook.db.execute(query).all())


# -- out --------------------------------------------------------------------------------------------------------------


def notebooks_of(gradebook: Gradebook, assignment: str) -> list[str]:
    """The names of its notebooks. Raises nbgrader's MissingEntry, naming what there is, where it was never released."""
    try:
        return [notebook.name for notebook in gradebook.find_assignment(assignment).notebooks]
    except MissingEntry:
        known = ", ".join(found.name for found in gradebook.assignments) or "none"
    raise MissingEntry(f"the gradebook has no assignment {assignment}; there are: {known}")


def scores_of(gradebook: Gradebook, assignment: str, student: str | None = None) -> dict[str, dict[str, float | None]]:
    """student -> {"notebook/cell": points given automatically}, as the gradebook has them, for one student or all.

    A cell that is worth nothing gives what it earns as extra credit: nbgrader knows no bonus.
    """
    columns = (SubmittedAssignment.student_id, Notebook.name, BaseCell.name)
    query = (
        select(*columns, Grade.auto_score, Grade.extra_credit, Grade.max_score)
        .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .where(Assignment.name == assignment)
    )
    if student is not None:
        query = query.where(SubmittedAssignment.student_id == student)
    scores: dict[str, dict[str, float | None]] = {}
    for owner, notebook, cell, points, extra, most in gradebook.db.execute(query):
        scores.setdefault(owner, {})[f"{notebook}/{cell}"] = (
            points if most or points is None else points + (extra or 0.0)
        )
    return scores


def total_of(gradebook: Gradebook, assignment: str, student: str) -> float:
    """A student's points as the gradebook and its export have them: with what was given by hand, less the penalty for
    being late."""
    with contextlib.suppress(MissingEntry):
        submitted = gradebook.find_submission(assignment, student)
        return max(0.0, float(submitted.score or 0.0) - float(submitted.late_submission_penalty or 0.0))
    return 0.0
