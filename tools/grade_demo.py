"""A pretend class, graded for real: release, collect, grade, feedback, report, and what each student was expected to
get beside it.

    python tools/grade_demo.py [DIR] [--students 40] [--unit 01_mpi_pi]

The submissions are made from the bank and the attacks (tests/attacks): right and wrong answers, crashes,
hangs, dishonest ones, and notebooks that are damaged, empty, or written in an unusual but honest way. What is made lies
in DIR (a temporary folder, removed at the end, if none is named). The exit status is 0 when every student got what was
expected.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import course_release
import nbformat
from rich.console import Console
from rich.table import Table

from autograder.exercise import Exercise
from autograder.judging import bank
from autograder.registry import all_exercises
from autograder.reports import results
from labkit.cells.slicing import bound_names

ROOT = Path(__file__).resolve().parents[1]
ATTACKS = ROOT / "tests" / "attacks"
COURSE_ID = "demo"
TIMESTAMP = "2026-01-15 12:00:00.000000 UTC"
NAMES = """ada alan barbara claude dennis donald dorothy edsger emmy ernst evelyn frances grace grete hedy ida james
    jean joan john karen katherine ken lynn margaret mary maurice niklaus olga radia richard robin rosa shafi sofia
    stephen tim tony vera yuri""".split()


@dataclass
class Student:
    """One member of the class. answers: exercise -> source of the answer. expected: exercise -> (verdict, diagnosis),
    where it is not passed; diagnosis "" stands for any. change: what else is done to the notebook's text before it is
    handed in. refused: that it must not be read at all."""

    name: str
    kind: str
    answers: dict[str, str]
    expected: dict[str, tuple[str, str]] = field(default_factory=dict)
    change: Callable[[str], str] = lambda text: text
    refused: bool = False


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "root", type=Path, nargs="?", metavar="DIR", help="where to build it and leave it (default: nowhere)"
    )
    parser.add_argument("--students", type=int, default=40, help="how many (default: 40)")
    parser.add_argument("--unit", default="01_mpi_pi", help="the assignment (default: 01_mpi_pi)")
    parser.add_argument("--seed", type=int, default=0, help="which answers are drawn (default: 0)")
    parser.add_argument(
        "--workers", type=int, help="how many submissions are graded at the same time (default: the cores)"
    )
    parser.add_argument(
        "--allow-weak-isolation", action="store_true", help="grade even if this machine cannot isolate fully"
    )
    options = parser.parse_args(arguments)
    if not 1 <= options.students <= 200:
        parser.error("--students: between 1 and 200")
    with tempfile.TemporaryDirectory(prefix="grade-demo-") as temporary:
        root = (options.root or Path(temporary) / "class").resolve()
        students = list(pretend_class(options.unit, options.students, random.Random(options.seed)))
        try:
            return demonstrate(root, options.unit, students, options)
        except course_release.ReleaseError as error:
            print(f"grade-demo: {error}", file=sys.stderr)
            return 1


def demonstrate(root: Path, unit: str, students: list[Student], options: argparse.Namespace) -> int:
    """Runs everything that an instructor does in a term, for one assignment."""
    step(f"make course-release DIR={root}", lambda: course_release.release(root, [unit]))
    exchange = root / "exchange"
    with (root / "nbgrader_config.py").open("a") as file:
        file.write(f'\nc.CourseDirectory.course_id = "{COURSE_ID}"\nc.Exchange.root = {str(exchange)!r}\n')
        file.write("c.ExchangeCollect.check_owner = False  # the pretend class has no accounts on this machine\n")
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    run(root, "nbgrader", "release_assignment", unit)
    step(f"{len(students)} students hand in", lambda: hand_in(root, unit, students))
    run(root, "nbgrader", "collect", unit)
    grade = ["autograder", "grade", unit]
    grade += ["--workers", str(options.workers)] if options.workers else []
    grade += ["--allow-weak-isolation"] if options.allow_weak_isolation else []
    status = run(root, *grade, check=False)
    run(root, "nbgrader", "generate_feedback", unit)
    run(root, "autograder", "report", unit)
    run(root, "nbgrader", "export", "--to", "grades.csv")
    print(f"autograder grade ended with status {status}")
    return compare(root, unit, students)


def step(what: str, do: Callable[[], object]) -> None:
    start = time.monotonic()
    do()
    print(f"{time.monotonic() - start:6.1f} s  {what}", flush=True)


def run(root: Path, *command: str, check: bool = True) -> int:
    """Runs one of the instructor's commands in the root of the class; prints its output if it fails."""
    start = time.monotonic()
    path = Path(sys.executable).parent / command[0]
    done = subprocess.run([path, *command[1:]], cwd=root, capture_output=True, text=True, timeout=3600)
    print(f"{time.monotonic() - start:6.1f} s  {' '.join(command)}", flush=True)
    if check and done.returncode:
        raise course_release.ReleaseError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.returncode


# --- the class --------------------------------------------------------------------------------------------------------


def pretend_class(unit: str, count: int, rng: random.Random) -> Iterator[Student]:
    """`count` students: of ten, four are right, three have mistakes, one crashes or hangs, one cheats, one is a special
    case."""
    exercises = [e for e in all_exercises() if e.unit == unit]
    answers = list(bank.answers(unit=unit))
    if not exercises or not answers:
        raise course_release.ReleaseError(f"no such unit with a bank: {unit}")
    right = {e.function: [a for a in answers if a.exercise is e and a.right] for e in exercises}
    mistakes = [a for a in answers if a.verdict in ("wrong", "raised", "missing")]
    failures = [a for a in answers if a.verdict in ("crashed", "hung", "too_slow")] or mistakes
    attacks = [path for path in sorted(ATTACKS.glob("*.py")) if attacked(path) in right]
    special = special_cases()
    for k in range(count):
        name = NAMES[k % len(NAMES)] + (str(1 + k // len(NAMES)) if k >= len(NAMES) else "")
        student = Student(name, "right", {e.function: text(rng.choice(right[e.function])) for e in exercises})
        place = k % 10
        if place in (4, 5, 6):
            give(student, "mistakes", *rng.sample(mistakes, rng.randint(1, 3)))
        elif place == 7:
            give(student, "crash or hang", rng.choice(failures))
        elif place == 8 and attacks:
            path = attacks[(k // 10) % len(attacks)]
            student.kind, student.answers[attacked(path)] = f"cheats: {path.stem[3:]}", path.read_text(encoding="utf-8")
            student.expected[attacked(path)] = ("anything but passed", "")
        elif place == 9:
            special[(k // 10) % len(special)](student, exercises)
        yield student


def give(student: Student, kind: str, *wrong: bank.BankAnswer) -> None:
    student.kind = kind
    for answer in wrong:
        student.answers[answer.exercise.function] = text(answer)
        student.expected[answer.exercise.function] = (answer.verdict, answer.diagnosis)


def text(answer: bank.BankAnswer) -> str:
    """The answer without the line that says what it must get."""
    return answer.source.partition("\n")[2]


def attacked(path: Path) -> str:
    """The exercise that an attack pretends to answer, from its first line."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# exercise:").strip() if first.startswith("# exercise:") else ""


def special_cases() -> list[Callable[[Student, list[Exercise]], None]]:
    def nothing_written(student: Student, exercises: list[Exercise]) -> None:
        student.kind, student.answers = "nothing written", {}
        student.expected = {e.function: ("missing", "not_written") for e in exercises}

    def torn(student: Student, exercises: list[Exercise]) -> None:
        student.kind, student.refused = "half a file", True
        student.change = lambda notebook: notebook[: len(notebook) // 2]

    def unusual(student: Student, exercises: list[Exercise]) -> None:
        student.kind = "right, with Windows line ends, prints and warnings"
        noise = 'import warnings\nwarnings.warn("Größe 🙂")\nprint("working on it")\n'
        student.answers = {name: noise + answer.replace("\n", "\r\n") for name, answer in student.answers.items()}

    def duplicated(student: Student, exercises: list[Exercise]) -> None:
        student.kind, student.change = "right, every cell twice", twice

    return [nothing_written, torn, unusual, duplicated]


def twice(notebook: str) -> str:
    """Every cell two times, with all that nbgrader wrote into it: stock nbgrader refuses to grade such a notebook."""
    content = json.loads(notebook)
    content["cells"] = [cell for cell in content["cells"] for _ in range(2)]
    return json.dumps(content)


def hand_in(root: Path, unit: str, students: list[Student]) -> None:
    """Puts into the exchange what `nbgrader submit` would put there."""
    inbound = root / "exchange" / COURSE_ID / "inbound"
    for student in students:
        folder = inbound / f"{student.name}+{unit}+{TIMESTAMP}"
        shutil.copytree(root / "release" / unit, folder)
        (folder / "timestamp.txt").write_text(TIMESTAMP)
        for path in folder.glob("*.ipynb"):
            path.write_text(student.change(answered(path, student.answers)), encoding="utf-8")


def answered(path: Path, answers: dict[str, str]) -> str:
    """A released notebook with these answers in its solution cells."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution"):
            for name in bound_names(cell.source) & answers.keys():
                cell.source = answers[name]
    return nbformat.writes(notebook)


# --- what came out ----------------------------------------------------------------------------------------------------


def compare(root: Path, unit: str, students: list[Student]) -> int:
    """Prints expected beside given verdicts; returns 0 if all agree."""
    coursedir = results.open_course(root)
    given = {found.student: found for found in results.submitted(coursedir, unit)}
    scores = {row.student: row.score for row in results.marks(coursedir, unit).rows}
    table = Table(
        "student", "hands in", "expected", "given", "points", "", title=f"{unit}: {len(students)} submissions"
    )
    wrong = 0
    for student in students:
        expected, got, agree = verdicts(student, given.get(student.name))
        points = scores.get(student.name)
        judged = given[student.name].graded if student.name in given else None
        agree = agree and points is not None and abs(points - (judged.points if judged else 0)) < 1e-9
        wrong += not agree
        shown = "-" if points is None else f"{points:g} of {judged.max_points:g}" if judged else f"{points:g}"
        table.add_row(student.name, student.kind, expected, got, shown, "ok" if agree else "NOT AS EXPECTED")
    Console(width=None if sys.stdout.isatty() else 180).print(table)
    page = root / f"report-{unit}.html"
    print(f"{len(students) - wrong} of {len(students)} as expected; the class's page: {page}")
    return 1 if wrong else 0


def verdicts(student: Student, found: results.SubmittedNotebook | None) -> tuple[str, str, bool]:
    """(expected, given, whether they agree), in words."""
    if student.refused:
        refused = bool(found and (found.refused or (found.graded and found.graded.refused)))
        return "refused", "refused" if refused else "graded", refused
    if found is None or found.graded is None:
        return "a verdict", "none", False
    got = {
        i.grade_id.removeprefix("check_"): (i.verdict, i.diagnosis) for i in found.graded.items if i.verdict != "passed"
    }
    agree = got.keys() == student.expected.keys() and all(alike(student.expected[name], got[name]) for name in got)
    return in_words(student.expected), in_words(got), agree


def alike(expected: tuple[str, str], given: tuple[str, str]) -> bool:
    return expected[0] == "anything but passed" or expected == given


def in_words(verdicts: dict[str, tuple[str, str]]) -> str:
    return (
        "; ".join(f"{name} {diagnosis or verdict}" for name, (verdict, diagnosis) in sorted(verdicts.items()))
        or "all passed"
    )


if __name__ == "__main__":
    sys.exit(main())
