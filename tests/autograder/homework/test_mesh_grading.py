"""The second homework in nbgrader: given out without what students are to make, graded with the files beside the
notebook, and fed back. What holds for every homework is tested with the first (test_homework_grading.py).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bank_mesh.folders import FINISHED, FOLDERS, SCRIPT
from machine import needs
from released_course import course_release

pytest.importorskip("nbgrader.apps.api")
from nbgrader.api import Gradebook

from autograder.grading import run as grading
from autograder.grading.run import GradingOptions
from autograder.homework.mesh.lines import RUBRIC
from autograder.reports.report import report_of
from autograder.reports.results import open_course

pytestmark = [
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning"),  # nbgrader's about its own models
    pytest.mark.timeout(600),  # a script is run on fourteen meshes
    needs("root"),  # 40 s of computing, for `make test-cluster`: what grades a class is tested with the first homework
]
NAME = "train_a_mesh"
CHECKS = {part: f"check_{'context' if part == 'bonus' else part}" for part in RUBRIC.parts}
GIVEN = {"README.md", "mesh_training_starter.py", f"{NAME}.ipynb"}


def hand_in(root: Path, student: str, folder: str, script: bool = True) -> None:
    """A folder of the bank, with the released notebook and a discussion in it."""
    place = FOLDERS[folder].make(root / "submitted" / student / NAME)
    released = nbformat.read(root / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    next(cell for cell in released.cells if cell.id == "discussion").source = "Tensor sends most."
    nbformat.write(released, place / f"{NAME}.ipynb")
    if not script:
        (place / SCRIPT).unlink()


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A class of three, graded. ada did everything; the others did not hand in a script, so that no ranks run."""
    root = tmp_path_factory.mktemp("class") / "dl"
    made = course_release(root, "--units", NAME)
    assert made.returncode == 0, made.stderr
    with (root / "nbgrader_config.py").open("a") as file:
        file.write("c.Judge.allow_weak_isolation = True\n")
    hand_in(root, "ada", "right_reference")
    hand_in(root, "ben", "wrong_does_not_fit", script=False)
    hand_in(root, "chloe", "flag_altered", script=False)
    report = grading.grade(root, GradingOptions(NAME, workers=1, weak=True))
    assert {line.student: line.how for line in report.submissions} == dict.fromkeys(
        ("ada", "ben", "chloe"), "graded"
    ), report
    return root


def grades(root: Path, student: str) -> dict[str, tuple[float | None, float | None, bool]]:
    """cell -> (points, extra credit, whether a person must look)."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        found = gradebook.find_submission(NAME, student)
        return {
            g.name: (g.auto_score, g.extra_credit, bool(g.needs_manual_grade))
            for n in found.notebooks
            for g in n.grades
        }


@pytest.mark.parametrize("where", ["source", "release", "student/homework"])
def test_what_students_are_to_make_is_not_there(root, where):
    assert {path.name for path in (root / where / NAME).rglob("*")} == GIVEN
    finished, starter = ((FINISHED / name).read_text() for name in (SCRIPT, "mesh_training_starter.py"))
    given = {line.strip() for path in (root / where / NAME).iterdir() for line in path.read_text().splitlines()}
    secret = {line.strip() for line in finished.splitlines()} - {line.strip() for line in starter.splitlines()}
    secret = {line for line in secret if len(line) > 30 and not line.startswith(("from ", "import "))}
    assert len(secret) > 100 and not secret & given
    notebook = (root / where / NAME / f"{NAME}.ipynb").read_text()
    assert ("several = [run for run in runs if" in notebook) == (where == "source"), "solutions are for instructors"


def test_everything_right_earns_everything_and_the_bonus_on_top(root):
    found = grades(root, "ada")
    assert {part: found[cell] for part, cell in CHECKS.items()} == {
        "script": (50.0, None, False),
        "measured": (20.0, None, False),
        "figures": (15.0, None, False),
        "plan": (15.0, None, False),
        "bonus": (0.0, 5.0, False),
    }
    assert found["discussion"] == (None, None, True), "a person reads it"
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        assert gradebook.find_submission(NAME, "ada").score == 105.0


def test_points_follow_the_rubric(root):
    found = grades(root, "ben")
    assert found[CHECKS["script"]][:2] == (0.0, None) and found[CHECKS["bonus"]][:2] == (0.0, 0.0)
    assert found[CHECKS["plan"]][0] == 15 - RUBRIC.line("plan_1024").points
    assert found[CHECKS["measured"]][0] == 20


def test_what_is_suspicious_is_for_a_person_and_costs_nothing(root):
    assert grades(root, "chloe")[CHECKS["measured"]] == (20.0, None, False)
    shown = nbformat.read(root / "autograded/chloe" / NAME / f"{NAME}.ipynb", as_version=4)
    assert "changed after it was written" in next(cell.source for cell in shown.cells if cell.id == "overview")


def test_feedback_holds_the_page(root):
    command = [sys.executable, "-m", "nbgrader", "generate_feedback", NAME, f"--CourseDirectory.root={root}"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=150, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    page = (root / "feedback/ben" / NAME / f"{NAME}.html").read_text()
    for said in (RUBRIC.line("plan_1024").title, "does not fit", "data:image/"):
        assert said in page, said


def test_the_report_on_the_class(root):
    made = report_of(open_course(root), NAME)
    assert any(one.student == "chloe" and "changed" in one.why for one in made.todo)
    mistakes = {mistake.name: mistake.students for exercise in made.exercises for mistake in exercise.mistakes}
    assert mistakes["does_not_fit"] == ("ben",) and set(mistakes["missing_file"]) == {"ben", "chloe"}
