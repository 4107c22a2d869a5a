"""What goes into nbgrader's gradebook for a submission, row by row, and that all of it goes in or nothing."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("nbgrader.apps.api")
from nbgrader.api import Gradebook, MissingEntry

from autograder.grading import gradebook as books
from autograder.grading.submission.finishing import FinishedNotebook
from autograder.grading.submission.grades import Graded, ItemGrade

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's about its own models
DUE = datetime(2026, 11, 20, 12)


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    """A gradebook with an assignment of one notebook: two checks, one without points, a written answer, a task."""
    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    with Gradebook(f"sqlite:///{path}") as book:
        book.add_assignment("own", duedate=DUE)
        book.add_notebook("own", "own")
        for name, points in (("check_a", 2), ("check_b", 3), ("bonus", 0)):
            book.add_grade_cell(name, "own", "own", max_score=points, cell_type="code")
        book.add_grade_cell("why", "own", "own", max_score=5, cell_type="markdown")
        for name in ("a", "why"):
            book.add_solution_cell(name, "own", "own")
        book.add_task_cell("job", "own", "own", max_score=1, cell_type="markdown")
    return path


@pytest.fixture
def gradebook(released, tmp_path):
    with Gradebook(f"sqlite:///{shutil.copy(released, tmp_path)}") as book:
        yield book


def finished(*items: ItemGrade, **answers: bool) -> FinishedNotebook:
    return FinishedNotebook(Graded("", list(items), []), answers, "")


def enter(book: Gradebook, done: FinishedNotebook, late: float = 0.0, penalty: float | None = None) -> None:
    plugin = SimpleNamespace(late_submission_penalty=lambda student, score, seconds: penalty)
    with books.transaction(book):
        book.update_or_create_student("anna")
        row = books.enter_submission(book, "own", "anna", DUE + timedelta(seconds=late), None)
        (notebook,) = row.notebooks
        books.enter_grades(book, notebook, done)
        books.enter_penalty(book, notebook, "anna", row.total_seconds_late, plugin)


def grades(book: Gradebook) -> dict[str, tuple[float | None, bool, float | None]]:
    (notebook,) = book.find_submission("own", "anna").notebooks
    return {one.name: (one.auto_score, one.needs_manual_grade, one.extra_credit) for one in notebook.grades}


A, B = ItemGrade("check_a", 1.5, 2.0, "wrong"), ItemGrade("check_b", 3.0, 3.0, "passed")


def test_grades_and_comments(gradebook):
    bonus = ItemGrade("bonus", 0.0, 0.0, "passed", homework={}, extra=4.0)
    enter(gradebook, finished(A, B, bonus, a=True, why=False))
    written, task = (None, True, None), (None, True, None)
    checks = {"check_a": (1.5, False, None), "check_b": (3.0, False, None), "bonus": (0.0, False, 4.0)}
    assert grades(gradebook) == checks | {"why": written, "job": task}
    comments = {name: gradebook.find_comment(name, "own", "own", "anna").auto_comment for name in ("a", "why")}
    assert comments == {"a": None, "why": "No response."}
    assert gradebook.find_submission("own", "anna").timestamp == DUE
    assert books.total_of(gradebook, "own", "anna") == 8.5
    assert books.scores_of(gradebook, "own")["anna"]["own/bonus"] == 4.0


def test_what_a_person_gave_stays_and_is_for_a_person(gradebook):
    enter(gradebook, finished(A, B))
    for name in ("check_a", "job"):
        grade = gradebook.find_grade(name, "own", "own", "anna")
        grade.manual_score, grade.needs_manual_grade = 0.5, False
    gradebook.db.commit()
    fault = ItemGrade("check_b", 0.0, 3.0, "missing", "fault", fault="the judge's own mistake")
    enter(gradebook, finished(A, fault))
    found = grades(gradebook)
    assert found["check_a"] == (1.5, True, None) and gradebook.find_grade("check_a", "own", "own", "anna").score == 0.5
    assert found["check_b"] == (0.0, True, None), "a fault of ours is no verdict"
    assert found["job"] == (None, False, None), "a task is a person's alone, from first to last"


@pytest.mark.parametrize(("asked", "taken"), [(None, 0.0), (1.0, 1.0), (-1.0, 0.0), (100.0, 4.5)])
def test_a_penalty_takes_no_more_than_there_is(gradebook, asked, taken):
    enter(gradebook, finished(A, B), late=60.0, penalty=asked)
    assert books.total_of(gradebook, "own", "anna") == 4.5 - taken
    enter(gradebook, finished(A, B), penalty=asked)
    assert books.total_of(gradebook, "own", "anna") == 4.5, "no longer late"


def test_all_of_a_submission_or_nothing(gradebook):
    with pytest.raises(MissingEntry, match="own/own/check_of_yesterday"):
        enter(gradebook, finished(A, ItemGrade("check_of_yesterday", 1.0, 1.0, "passed")))
    assert gradebook.students == [] and books.scores_of(gradebook, "own") == {}
    enter(gradebook, finished(A, B))
    with Gradebook(str(gradebook.engine.url)) as another:
        assert books.total_of(another, "own", "anna") == 4.5


def test_nothing_for_a_notebook_that_is_not_there(gradebook):
    enter(gradebook, finished(A, B))
    with books.transaction(gradebook):
        books.enter_nothing(gradebook.find_submission("own", "anna").notebooks[0])
    assert set(grades(gradebook).values()) == {(0.0, False, None)}
