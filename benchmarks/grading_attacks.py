"""The attacks of tests/attacks on stock `nbgrader autograde`, beside what comes of them here: a table.

    python benchmarks/grading_attacks.py    all attacks that need no other ranks; about a quarter of an hour
    python benchmarks/grading_attacks.py 03 22 72        only those whose names begin so

Each attack is handed in to a throw-away course as a student's answer to one exercise, with a cell that calls it once,
as students do. The test below it is plain asserts, and an honest answer to a second exercise stands at the end. Stock
nbgrader runs as a user of its own, with a time limit, because an attack may do to it whatever that user may: it takes
root to start it so. Attacks on the relay and between ranks have no counterpart in stock nbgrader and are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import psutil
from nbformat.v4 import new_code_cell, new_notebook
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

import attack_course  # noqa: E402
import ordinary_user  # noqa: E402

UID = 61235  # of stock nbgrader and of nobody else: all its processes are ended after each attack
SECONDS = 60  # for one submission; nbgrader's own limit for a cell is 20
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.Execute.timeout = 20
"""
HONEST = attack_course.HONEST
CALL = """try:
    print(count_inside(np.zeros(3), np.zeros(3)))
except BaseException as error:
    print(type(error))"""
TEST = """points = np.random.default_rng(7).random((2, 101)) - 0.5
assert count_inside(*points) == np.count_nonzero((points**2).sum(axis=0) < 0.25)
for n in (1, 10, 100):
    assert count_inside(*points[:, :n]) == np.count_nonzero((points[:, :n] ** 2).sum(axis=0) < 0.25)"""
OTHER = "def other(x):\n    return x + 1"
OTHER_TEST = "assert other(1) == 2"


def marks(grade_id: str, points: int = 0) -> dict:
    kind = {"grade": bool(points), "solution": not points, "locked": bool(points), "task": False, "schema_version": 3}
    return {"nbgrader": {"grade_id": grade_id, **kind, **({"points": points} if points else {})}}


def notebook(answer: str) -> str:
    cells = [
        new_code_cell("import numpy as np", id="setup"),
        new_code_cell(answer, id="answer", metadata=marks("count_inside")),
        new_code_cell(CALL, id="call"),
        new_code_cell(TEST, id="test", metadata=marks("test_count_inside", 2)),
        new_code_cell(OTHER, id="other", metadata=marks("other")),
        new_code_cell(OTHER_TEST, id="test_other", metadata=marks("test_other", 1)),
    ]
    found = new_notebook(cells=cells)
    found.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.writes(found)


class Stock:
    """A throw-away course in which an honest rival has been graded."""

    def __init__(self, folder: Path):
        self.template, self.folder = folder / "template", folder
        (self.template / "source" / "attack").mkdir(parents=True)
        (self.template / "source" / "attack" / "attack.ipynb").write_text(notebook(HONEST))
        (self.template / "nbgrader_config.py").write_text(CONFIG)
        self.hand_in(self.template, "rival", HONEST)
        own(folder)
        for command in (
            ["generate_assignment", "attack", "--create"],
            ["autograde", "attack", "--create", "--student=rival"],
        ):
            done = self.nbgrader(self.template, command)
            if done is None or done.returncode:
                raise SystemExit(f"nbgrader {' '.join(command)} failed:\n{done and done.stderr[-3000:]}")

    @staticmethod
    def hand_in(course: Path, student: str, answer: str) -> None:
        place = course / "submitted" / student / "attack"
        place.mkdir(parents=True)
        (place / "attack.ipynb").write_text(notebook(answer))

    @staticmethod
    def nbgrader(course: Path, command: list[str]) -> subprocess.CompletedProcess | None:
        """None: the time was up."""
        program = f"import os, sys; os.chdir({str(course)!r}); from nbgrader.apps.nbgraderapp import main; main()"
        try:
            started = ordinary_user.command([sys.executable, "-c", program, *command], UID)
            return subprocess.run(started, cwd="/", capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_users_processes()

    def attack(self, attack: attack_course.Attack) -> list[str]:
        """The outcome: a list of words, empty where nothing did."""
        scratch = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            outside = attack_course.Outside(scratch)
            course = scratch / "stock"
            shutil.copytree(self.template, course, symlinks=True)
            self.hand_in(course, "student", outside.source_of(attack))
            own(scratch)
            os.environ["COURSE_SECRET"] = attack_course.SECRET
            done = self.nbgrader(course, ["autograde", "attack", "--create", "--student=student"])
            found = [f"the grader was held up for {SECONDS} s"] if done is None else []
            found += self.scores(course)
            shown = course / "autograded" / "student" / "attack" / "attack.ipynb"
            if shown.exists() and "GOT " in said(shown):
                found.append("it got what it was after")
            found += outside.disturbed()
            outside.close()
        finally:
            remove(scratch)
            for place in ("/tmp", "/var/tmp", "/dev/shm"):
                for entry in os.scandir(place):
                    with contextlib.suppress(OSError):  # of others, gone meanwhile
                        if entry.stat(follow_symlinks=False).st_uid == UID and Path(entry.path) != self.folder:
                            remove(Path(entry.path))
        return found

    @staticmethod
    def scores(course: Path) -> list[str]:
        from nbgrader.api import Gradebook, MissingEntry

        with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
            found = []
            for student, wanted in (
                ("student", {"test_other": 1.0}),
                ("rival", {"test_count_inside": 2.0, "test_other": 1.0}),
            ):
                try:
                    graded = gradebook.find_submission_notebook("attack", "attack", student)
                    scores = {grade.name: grade.auto_score for grade in graded.grades}
                except MissingEntry:
                    scores = {}
                if student == "student" and scores.get("test_count_inside"):
                    found.append("full marks")
                if not scores or None in scores.values():
                    found.append(f"the {student}'s whole submission is ungraded")
                elif any(scores.get(name) != points for name, points in wanted.items()):
                    found.append(f"the {student}'s honest answer lost its points")
            return found


def said(path: Path) -> str:
    """The text that the cells of a notebook printed."""
    outputs = [out for cell in nbformat.read(path, as_version=4).cells for out in cell.get("outputs", [])]
    return "".join(out.get("text", "") for out in outputs)


def own(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in names)):
            os.chown(path, UID, UID, follow_symlinks=False)


def remove(path: Path) -> None:
    """A folder that an attack has been in: too deep, perhaps, for anything that calls itself for each folder."""
    subprocess.run(["rm", "-rf", "--", str(path)], check=False)


def end_users_processes() -> None:
    """Nobody but stock nbgrader and what it has started runs as this user."""
    for process in psutil.process_iter():
        try:
            if process.uids().real == UID:
                process.kill()
        except psutil.Error:
            continue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of the names of attacks")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("Stock nbgrader is given a user of its own to be attacked in: start this as root.")
    attacks = [
        a for a in attack_course.all_attacks() if a.exercise == "count_inside" and "def connection" not in a.source
    ]
    attacks = [a for a in attacks if not arguments.names or a.name.startswith(tuple(arguments.names))]
    table = Table("attack", "must not", "stock nbgrader autograde", "here", title="The same attacks on two graders")
    succeeded = [0, 0]
    folder = Path(tempfile.mkdtemp(prefix="attacks-", dir="/tmp"))
    try:
        stock = Stock(folder)
        with attack_course.Range(folder / "here") as place:
            for attack in attacks:
                came_of_it = stock.attack(attack), place.run(attack).problems(attack)
                succeeded = [n + bool(found) for n, found in zip(succeeded, came_of_it, strict=True)]
                table.add_row(attack.name, attack.must_not, *("; ".join(found) or "-" for found in came_of_it))
                print(f"{attack.name}: stock: {came_of_it[0] or '-'}, here: {came_of_it[1] or '-'}", flush=True)
    finally:
        remove(folder)
    Console(width=160).print(table)
    print(f"Of {len(attacks)} attacks {succeeded[0]} succeed with stock nbgrader, {succeeded[1]} here.")


if __name__ == "__main__":
    main()
