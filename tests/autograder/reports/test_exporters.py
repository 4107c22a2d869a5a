"""The export: what a spreadsheet must find in the file, and what it may not run."""

from __future__ import annotations

import csv
import subprocess
import sys
from datetime import datetime, timedelta

import pytest
from nbgrader.api import Gradebook
from traitlets.config import Config

from autograder.reports.exporters import CsvExporter, number, safe
from autograder.reports.marks import UnknownAssignment, read_marks

DUE = datetime(2026, 11, 20, 12)
STUDENTS = {  # id: (first, last, e-mail)
    "ada": ("Ada", "Lovelace", "ada@example.org"),
    "bob": ("Bob", "O'Neill, Jr.", "bob@example.org"),
    "eve": ("=HYPERLINK(1)", "@Eve", "+eve@example.org"),
    "zoe": (None, None, None),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A gradebook: a unit of three checks and a written answer; ada is perfect, bob late and half right, eve
    commented, zoe absent."""
    root = tmp_path_factory.mktemp("course")
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        book.add_assignment("03_collectives", duedate=DUE)
        book.add_notebook("collectives", "03_collectives")
        for k, (name, points) in enumerate([("check_mean", 2), ("check_ring", 3)]):
            book.add_grade_cell(name, "collectives", "03_collectives", max_score=points, cell_type="code")
            book.add_source_cell(name, "collectives", "03_collectives", cell_type="code", source=f"# {k}")
        book.add_grade_cell("explain", "collectives", "03_collectives", max_score=5, cell_type="markdown")
        book.add_solution_cell("explain", "collectives", "03_collectives")
        for name, (first, last, email) in STUDENTS.items():
            book.add_student(name, first_name=first, last_name=last, email=email)
        scores = {"ada": (2, 3, 4.5), "bob": (2, 0, None), "eve": (0, 1.125, 0)}
        for name, (mean, ring, explain) in scores.items():
            late = timedelta(hours=3 if name == "bob" else -1)
            submission = book.add_submission("03_collectives", name, timestamp=DUE + late)
            submission.notebooks[0].late_submission_penalty = 0.5 if name == "bob" else 0.0
            for cell, auto in [("check_mean", mean), ("check_ring", ring)]:
                grade = book.find_grade(cell, "collectives", "03_collectives", name)
                grade.auto_score, grade.needs_manual_grade = auto, False
            grade = book.find_grade("explain", "collectives", "03_collectives", name)
            grade.manual_score, grade.needs_manual_grade = explain, explain is None
        book.find_comment(
            "explain", "collectives", "03_collectives", "eve"
        ).manual_comment = "=cmd|' /C calc'!A0\nsee me"
        book.db.commit()
    return root


def table_of(exporter, course, tmp_path, **settings) -> list[list[str]]:
    """What the exporter writes, read back as a spreadsheet reads it."""
    made = exporter(config=Config({exporter.__name__: settings}))
    made.to = str(tmp_path / "out.csv")
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        made.export(book)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    return list(csv.reader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines(keepends=True)))


def formulas(rows: list[list[str]]) -> list[str]:
    return [cell for row in rows for cell in row if cell.lstrip().startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r\n=1", "  =1", "\0=1"])
def test_no_cell_begins_a_formula(text):
    assert safe(text).startswith("'") and "\t" not in safe(text) and "\0" not in safe(text)


def test_ordinary_text_and_numbers_stay_as_they_are():
    for text in ["", "Ada", "O'Neill, Jr.", "-1.5", "12", "a=b", "üß 漢字", "two\nlines"]:
        assert safe(text) == text
    assert [number(x) for x in (None, 0.0, 2.0, 1.125, 1 / 3, 10.0)] == ["", "0", "2", "1.12", "0.33", "10"]


def test_every_exercise_has_a_column(course, tmp_path):
    head, *rows = table_of(CsvExporter, course, tmp_path)
    assert head[8:] == ["mean", "ring", "explain", "penalty", "score", "max_score"]
    by_student = {row[1]: dict(zip(head, row, strict=True)) for row in rows}
    assert list(by_student) == ["ada", "bob", "eve", "zoe"]
    assert by_student["ada"]["score"] == "9.5" and by_student["ada"]["provisional"] == "no"
    bob = by_student["bob"]
    assert (bob["mean"], bob["ring"], bob["penalty"], bob["score"]) == ("2", "0", "0.5", "1.5")
    assert (bob["hours_late"], bob["provisional"]) == ("3", "yes")
    zoe = by_student["zoe"]
    assert (zoe["score"], zoe["mean"], zoe["handed_in"], zoe["max_score"]) == ("", "", "", "10")
    assert formulas(rows) == []


def test_missing_work_is_zero_only_if_asked(course, tmp_path):
    head, *rows = table_of(CsvExporter, course, tmp_path, missing="0")
    assert [row[head.index("score")] for row in rows if row[1] == "zoe"] == ["0"]


def test_marks_of_an_unknown_assignment_name_those_there_are(course):
    with (
        Gradebook(f"sqlite:///{course}/gradebook.db") as book,
        pytest.raises(UnknownAssignment, match="there are: 03_collectives"),
    ):
        read_marks(book, "04_sampler")


def test_nbgrader_export_takes_them_by_name(course, tmp_path):
    command = [
        sys.executable,
        "-m",
        "nbgrader",
        "export",
        "--exporter=autograder.reports.exporters.CsvExporter",
        "--to=out.csv",
    ]
    command += [f"--db=sqlite:///{course}/gradebook.db", "--student=['ada']"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader((tmp_path / "out.csv").open(newline="")))
    assert [row[:3] + row[-2:] for row in rows[1:]] == [["03_collectives", "ada", "Lovelace", "9.5", "10"]]
