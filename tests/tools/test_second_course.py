"""The engine serves a course that is not ours, from a folder outside of the repository: what docs/your-own-course.md says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.grading.run import CannotGrade, check_course

ROOT = Path(__file__).resolve().parents[2]
UNIT, PAGE = "00_sums", "sums.ipynb"
ANSWERS = {
    "ada": {
        "largest_anywhere": "    largest = x.clone()\n    dist.all_reduce(largest, op=dist.ReduceOp.MAX)\n    return largest",
        "my_share": "    return n // world_size + (rank < n % world_size)",
    },
    "bob": {"largest_anywhere": "    return x.clone()", "my_share": "    return n // world_size"},
}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("elsewhere") / "sums"
    shutil.copytree(ROOT / "tests" / "data" / "second_course", place)
    return place


def run(course: Path, *command: object, cwd: Path | None = None, refused: bool = False) -> str:
    """What a command prints in a terminal where COURSE names that course, and no environment is active. refused: it is
    to fail, and says why."""
    environment = {**os.environ, "COURSE": str(course), "PYTHONPATH": str(ROOT), "PATH": os.defpath}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd or course,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode != 0) == refused, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stderr if refused else done.stdout


def autograder(course: Path, *arguments: object, cwd: Path | None = None) -> str:
    return run(course, "-c", "from autograder.cli import main; main()", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def built(course) -> Path:
    """The course with its notebooks."""
    run(course, ROOT / "tools" / "build_notebooks.py")
    return course


def test_what_is_new_is_written_and_judged_as_it_stands(course, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(course, own)
    said = autograder(own, "new", UNIT, "made_here", "--kind", "plain")
    assert f"units/{UNIT}/answers/made_here.py" in said and "pytest" not in said
    assert "1 exercise" in autograder(own, "bank", f"{UNIT}/made_here")
    texts = [sys.executable, ROOT / "tools" / "exercise_texts.py", "00"]
    done = subprocess.run(texts, env={**os.environ, "COURSE": str(own)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_bank_is_judged_as_it_declares(course):
    said = autograder(course, "bank")
    assert "2 exercises" in said and "4 of 4 right answers accepted" in said and "11 of 11 wrong ones caught" in said
    assert "largest_anywhere" in autograder(course, "exercises") and "fair_share" not in autograder(course, "exercises")


def test_its_notebooks_have_stubs_in_place_of_solutions(built):
    released = (built / "notebooks" / UNIT / PAGE).read_text()
    assert "raise NotImplementedError" in released and "ReduceOp.MAX" not in released
    assert "ReduceOp.MAX" in (built / "solutions" / UNIT / PAGE).read_text()


def test_a_class_is_released_and_graded(built, tmp_path):
    root = tmp_path / "class"
    run(built, ROOT / "tools" / "course_release.py", root)
    given = {path.relative_to(root / "student").as_posix() for path in (root / "student" / "units").rglob("*.py")}
    assert given == {f"units/{UNIT}/exercises.py"}
    assert "my_share" not in (root / "student" / "units" / UNIT / "unit.toml").read_text()
    for student, answers in ANSWERS.items():
        hand_in(root, student, answers)
    autograder(built, "grade", UNIT, "--allow-weak-isolation", cwd=root)
    assert "2 of 2 handed in" in autograder(built, "report", UNIT, cwd=root)
    assert "Every rank returned its own values" in (root / f"report-{UNIT}.html").read_text()
    marks = {student: score(root, student) for student in ANSWERS}
    assert marks == {"ada": 4.0, "bob": 1.0}
    with pytest.raises(CannotGrade, match=f"this class is of the course in {built}"):  # a new terminal, without COURSE
        check_course(root)


def test_students_get_the_course_s_own_words_for_them(built, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(built, own)
    (own / "student.md").write_text("# Sums, for you\n")
    for _ in range(2):  # a second release, too
        run(own, ROOT / "tools" / "course_release.py", tmp_path / "class")
        assert (tmp_path / "class" / "student" / "README.md").read_text() == "# Sums, for you\n"


def test_points_of_the_page_that_are_not_those_of_the_levels_are_refused(course, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(course, own)
    page = own / "units" / UNIT / "sums.py"
    page.write_text(page.read_text().replace('"points": 2', '"points": 5', 1))
    run(own, ROOT / "tools" / "build_notebooks.py")
    said = run(own, ROOT / "tools" / "course_release.py", tmp_path / "class", refused=True)
    assert "the page gives 5 points for largest_anywhere, its levels 2" in said
    assert not (tmp_path / "class" / "source" / UNIT).exists()


def test_a_solution_of_the_page_that_loses_points_is_not_kept(course, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(course, own)
    page = own / "units" / UNIT / "sums.py"
    page.write_text(page.read_text().replace("ReduceOp.MAX", "ReduceOp.MIN", 1))
    said = run(own, ROOT / "tools" / "build_notebooks.py", "--execute", UNIT, refused=True)
    assert "a solution must get full points" in said and "0 of 2 points" in said


def test_a_folder_that_is_no_course_is_refused_in_one_sentence(tmp_path):
    for command in (["bank"], ["exercises"], ["new", "00", "sums", "--kind", "plain"]):
        said = run(tmp_path, "-c", "from autograder.cli import main; main()", *command, refused=True)
        assert said.startswith("autograder: ") and "is no course: it has no course.toml" in said
        assert "Traceback" not in said


def test_make_leaves_the_name_of_the_course_alone():
    """A variable that `make` gets from outside goes on to its commands as the Makefile sets it."""
    assert not re.search(r"^(export )?COURSE *[:+?]?=", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_a_class_is_of_the_course_that_it_was_released_from(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE", raising=False)
    (tmp_path / "overlay").mkdir()
    check_course(tmp_path)
    (tmp_path / "overlay" / "course.txt").write_text(".")
    check_course(tmp_path)
    monkeypatch.setenv("COURSE", str(tmp_path))
    with pytest.raises(CannotGrade, match="unset COURSE"):
        check_course(tmp_path)


def hand_in(root: Path, student: str, answers: dict[str, str]) -> None:
    notebook = nbformat.read(root / "release" / UNIT / PAGE, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name in answers:
            head = cell.source.partition("# Your code here")[0].rstrip()
            cell.source = f"{head}\n{answers[name]}"
    folder = root / "submitted" / student / UNIT
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / PAGE)


def score(root: Path, student: str) -> float:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as book:
        return book.find_submission(UNIT, student).score


def test_it_becomes_a_site(built, tmp_path):
    run(built, "-m", "tools.site", "--to", tmp_path / "site", cwd=ROOT)
    front = (tmp_path / "site" / "index.html").read_text()
    assert "Sums, twice" in front and "largest value over all ranks" in front and "Glossary" not in front
    page = (tmp_path / "site" / "units" / f"{UNIT}.html").read_text()
    assert "The largest value anywhere" in page
