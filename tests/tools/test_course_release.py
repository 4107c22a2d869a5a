"""`make course-release`: what an instructor's root and the students' tree hold, and what building them again leaves
alone.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from released_course import OWN_EXERCISE, OWN_UNIT, ROOT, course_release


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("class") / "dl"
    first = course_release(root, "--units", "00_start_here")
    assert first.returncode == 0, first.stderr
    unit = root / "overlay" / "solutions" / "77_own_unit"
    unit.mkdir()
    (unit / "own_unit.py").write_text(OWN_UNIT)
    (root / "overlay" / "exercises" / "unit_77_own_unit.py").write_text(OWN_EXERCISE)
    (root / "nbgrader_config.py").open("a").write("# a line of mine\n")
    (root / "submitted" / "ada" / "00_start_here").mkdir(parents=True)
    (root / "submitted" / "ada" / "00_start_here" / "start_here.ipynb").write_text("handed in")
    keys = {path.name: path.read_text() for path in (root / "overlay" / "keys").iterdir()}
    again = course_release(root, "--units", "00_start_here", "77_own_unit")
    assert again.returncode == 0, again.stderr
    assert {name: (root / "overlay" / "keys" / name).read_text() for name in keys} == keys
    return root


def test_settings_and_submissions_stay(root):
    assert (root / "nbgrader_config.py").read_text().endswith("# a line of mine\n")
    assert (root / "submitted" / "ada" / "00_start_here" / "start_here.ipynb").read_text() == "handed in"


def test_the_layout_is_nbgraders(root):
    for unit, name in (("00_start_here", "start_here"), ("77_own_unit", "own_unit")):
        assert (root / "source" / unit / f"{name}.ipynb").is_file()
        assert (root / "release" / unit / f"{name}.ipynb").is_file()
        assert not list((root / "source" / unit).glob("*.py"))
    assert (root / "gradebook.db").is_file()
    assert not [path for path in root.rglob(".*-*") if "git" not in path.name], (
        "what was prepared beside its place is gone"
    )


def test_keys_are_secret(root):
    keys = sorted((root / "overlay" / "keys").iterdir())
    assert [path.name for path in keys] == ["00_start_here.key", "77_own_unit.key"]
    assert len({path.read_text() for path in keys}) == 2
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in keys)
    assert stat.S_IMODE((root / "overlay").stat().st_mode) == 0o700
    key = keys[0].read_text().strip()
    assert not any(key in path.read_text(errors="replace") for path in (root / "student").rglob("*") if path.is_file())


def test_students_get_no_solution(root):
    student = root / "student"
    assert {path.name for path in student.iterdir()} >= {
        "Makefile",
        "README.md",
        "labkit",
        "autograder",
        "notebooks",
        "images",
        "tools",
    }
    assert not (student / "solutions").exists() and not (student / "tests").exists()
    for path in student.rglob("*.ipynb"):
        assert "BEGIN SOLUTION" not in path.read_text() and "only_in_the_solution" not in path.read_text()
        assert not [cell for cell in nbformat.read(path, as_version=4).cells if cell.get("outputs")]


def test_students_are_offered_what_works_in_their_files(root):
    def make(target: str) -> subprocess.CompletedProcess:
        return subprocess.run(["make", target], cwd=root / "student", capture_output=True, text=True, timeout=20)

    offered = make("help").stdout
    assert "make lab" in offered and "make doctor" in offered
    assert not any(f"make {name} " in offered for name in ("test", "site", "bank", "slides", "course-release", "hub"))
    assert make("bank").returncode == 2 and "bank needs the course's repository" in make("bank").stderr


def test_students_can_check_an_exercise_of_ones_own(root, tmp_path):
    answer = tmp_path / "answer.py"
    answer.write_text("def halve(x):\n    return 0.5 * x\n")
    program = (
        "import sys; from autograder.cli import main; sys.argv = ['autograder', 'try', '77', 'halve', sys.argv[1]]; "
        "main()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "COURSE_OVERLAY"}
    tried = subprocess.run(
        [sys.executable, "-c", program, answer],
        cwd=root / "student",
        env={**environment, "PYTHONPATH": str(root / "student")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert tried.returncode == 0, tried.stdout + tried.stderr


@pytest.mark.parametrize("where", ["in the course", "in use"])
def test_a_wrong_place_is_refused(where, tmp_path):
    root = ROOT / "dl" if where == "in the course" else tmp_path
    (tmp_path / "thesis.txt").write_text("mine")
    refused = course_release(root)
    assert refused.returncode == 1
    assert refused.stderr.startswith("course-release: ") and "Traceback" not in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert not (ROOT / "dl").exists()


def test_a_unit_that_is_not_there_is_named(root):
    refused = course_release(root, "--units", "42_nothing")
    assert refused.returncode == 1 and "no such unit: 42_nothing" in refused.stderr


def test_what_is_not_for_students_is_for_its_owner_alone(root):
    """Whoever runs it, root on a shared machine too: solutions, submissions, grades and keys."""
    for name in ("source", "submitted", "autograded", "feedback", "overlay"):
        assert stat.S_IMODE((root / name).stat().st_mode) == 0o700, name
    assert stat.S_IMODE((root / "gradebook.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((root / "student").stat().st_mode) == 0o755


def test_students_get_no_right_answers_with_the_exercises(root):
    """Ten exercises bear one, for those that build on them."""
    folder = root / "student" / "units"
    script = (
        "from autograder.registry import all_exercises\n"
        "print(len(all_exercises()), [e.function for e in all_exercises() if e.reference], [e.function for e in "
        "all_exercises() if e.uses])"
    )

    def told(tree: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tree), "COURSE_OVERLAY": ""}
        return subprocess.run(
            [sys.executable, "-c", script], cwd=tree, env=environment, capture_output=True, text=True
        ).stdout

    ours, theirs = told(ROOT), told(root / "student")
    assert " [] [" not in ours and " [] [" in theirs, (ours, theirs)
    names = {path.name for path in folder.glob("*/*")} - {"__pycache__"}  # of the exercises that were just imported
    assert names == {"exercises.py", "harness.py", "unit.toml"}
    for path in folder.glob("*/exercises.py"):
        assert "reference_of(__file__" not in path.read_text(), path


def test_references_are_taken_out_however_they_are_written():
    sys.path.insert(0, str(ROOT / "tools"))
    from course_release import without_references

    source = (
        'ANSWER = "secret one"\nclass A:\n    """ü"""\n    reference = """\nsecret two\n"""  # ä\n    x = 1\n'
        'class B:\n    reference: str = "ü" + "secret three"; y = 2\nclass C:\n    reference = ANSWER\nA.reference = "secret four"\n'
    )
    left = without_references(source)
    assert "secret" not in left and "x = 1" in left and "y = 2" in left and "# ä" in left
    namespace: dict = {}
    exec(left, namespace)
    assert [namespace[name].reference for name in "ABC"] == ["", "", ""]
