"""A small class to grade: what its seven students hand in, what each must get, and ways to look at its gradebook."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from machine import FULL
from submissions import as_bytes, cell_of, handed_in, source_notebook

pytest.importorskip("nbgrader.apps.api")
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import PyFileConfigLoader

from autograder.grading import pool
from autograder.grading import run as grading
from autograder.grading.run import GradingOptions

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's about its own models
ROOT = Path(__file__).resolve().parents[2]
KILLED = ("command", "worker", "launcher", "command", "command") * 10 if FULL else ("command", "worker")
PATIENCE_S = 150
CONFIG = """
from pathlib import Path
from autograder.grading.nbgrader_plugin import configure
c = get_config()
configure(c, Path(__file__).resolve().parent)
"""
PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from autograder.cli import main; main()"
FULL = {"check_count_inside": 2.0, "check_fair_share": 4.0, "test_twice": 3.0, "test_twice_partly": 2.0, "why": None}
EXPECTED = {
    "anna": FULL,
    "ben": FULL | {"check_fair_share": 0.0},
    "chloe": FULL | {"test_twice": 0.0, "test_twice_partly": 1.5},
    "dario": FULL,
    "empty": dict.fromkeys(FULL, 0.0) | {"why": None},
    "slow": FULL,
    "unreadable": dict.fromkeys(FULL, 0.0) | {"why": None},
}


def notebooks() -> dict[str, bytes]:
    """student -> what was handed in; no two are alike."""
    made = {name: handed_in(name != "empty") for name in EXPECTED if name != "unreadable"}
    cell_of(made["ben"], "fair_share").source = "def fair_share(n, rank, world_size):\n    import os\n    os._exit(0)"
    cell_of(made["chloe"], "twice").source = "def twice(x):\n    return 2 * x if x < 3 and x >= 0 else 0"
    cell_of(made["dario"], "twice").source = "def twice(x):\n    return x + x"
    cell_of(made["slow"], "twice").source = "import time\n\ndef twice(x):\n    time.sleep(0.2)\n    return 2 * x"
    return {name: as_bytes(notebook) for name, notebook in made.items()} | {"unreadable": b'{"cells": ['}


@pytest.fixture(scope="module")
def handed_in_class(tmp_path_factory) -> Path:
    """A course root in which nothing has been graded. Tests work on copies of it."""
    root = tmp_path_factory.mktemp("course") / "class"
    (root / "source/homework").mkdir(parents=True)
    nbformat.write(source_notebook(), root / "source/homework/homework.ipynb")
    (root / "nbgrader_config.py").write_text(CONFIG)
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    made = NbGraderAPI(CourseDirectory(config=config), config=config).generate_assignment("homework")
    assert made["success"], made
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        gradebook.update_or_create_student("zoe")
    for student, content in notebooks().items():
        (root / "submitted" / student / "homework").mkdir(parents=True)
        (root / "submitted" / student / "homework/homework.ipynb").write_bytes(content)
    grading.Course(root).key("homework")  # the same in all copies
    return root


@pytest.fixture(scope="module")
def graded_class(handed_in_class, tmp_path_factory) -> tuple[Path, dict, float]:
    """The same, graded without disturbance by two workers: (root, what the command returned, seconds it took)."""
    root = tmp_path_factory.mktemp("course") / "class"
    shutil.copytree(handed_in_class, root)
    begin = time.monotonic()
    report = grading.grade(root, GradingOptions("homework", workers=2, weak=True))
    return root, {line.student: line for line in report.submissions} | {None: report}, time.monotonic() - begin


def copy(root: Path, place: Path) -> Path:
    return Path(shutil.copytree(root, place / "class"))


def scores(root: Path) -> dict[str, dict[str, float | None]]:
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        submitted = gradebook.assignment_submissions("homework")
        return {s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades} for s in submitted}


def shown(root: Path) -> dict[str, bytes]:
    """What formgrader shows of each student."""
    return {path.parts[-3]: path.read_bytes() for path in sorted(root.glob("autograded/*/homework/homework.ipynb"))}


def command(root: Path, *more: str) -> list[str]:
    options = ["--course", str(root), "--allow-weak-isolation", "--workers", "2", *more]
    return [sys.executable, "-c", PROGRAM, str(ROOT), "grade", "homework", *options]


def run(root: Path, *more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(root, *more), capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
    )


# Finds what was judged before; it has nothing to judge with.
CANNOT_JUDGE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from autograder.grading import worker
worker.Launcher.run = worker.Launcher.case = None
worker.main()
"""


def again(root: Path, **options) -> dict[str, str]:
    """Grade once more where nothing is left to judge: student -> what was done."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pool, "_PROGRAM", CANNOT_JUDGE)
        report = grading.grade(root, GradingOptions("homework", workers=1, weak=True, **options))
    return {line.student: line.how for line in report.submissions}
