"""`autograder grade`: a class graded, graded again, disturbed in every way, and always the same gradebook at the
end."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import nbformat
import psutil
import pytest
from machine import full
from nbformat.v4 import new_code_cell, new_notebook
from submissions import marks

pytest.importorskip("nbgrader.apps.api")
import graded_class as small_class
from graded_class import (
    CANNOT_JUDGE,
    CONFIG,
    EXPECTED,
    FULL,
    KILLED,
    PATIENCE_S,
    PROGRAM,
    ROOT,
    again,
    command,
    copy,
    notebooks,
    run,
    scores,
    shown,
)
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import PyFileConfigLoader

from autograder.grading import pool
from autograder.grading import run as grading
from autograder.grading.run import CannotGrade, GradingOptions
from autograder.grading.store import Busy, DiskFull, Store

handed_in_class, graded_class = small_class.handed_in_class, small_class.graded_class  # fixtures

# -- a class ----------------------------------------------------------------------------------------------------------


def test_a_class_is_graded(graded_class):
    root, lines, _ = graded_class
    assert scores(root) == EXPECTED
    assert set(shown(root)) == set(EXPECTED)
    assert {line.how for student, line in lines.items() if student} == {"graded"}
    assert lines[None].missing == ["zoe"]
    assert [line.student for line in lines[None].for_a_person] == ["unreadable"]
    assert (lines["chloe"].points, lines["chloe"].max_points) == (7.5, 11.0)


def test_what_is_unchanged_is_left_alone(graded_class, tmp_path):
    root = copy(graded_class[0], tmp_path)
    before = {path: path.stat().st_mtime_ns for path in root.glob("autograded/**/*") if path.is_file()}
    assert again(root) == dict.fromkeys(EXPECTED, "unchanged")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_what_was_lost_is_written_again_and_not_judged_again(graded_class, tmp_path):
    root = copy(graded_class[0], tmp_path)
    shutil.rmtree(root / "autograded/anna")  # a folder somebody removed
    (root / "autograded/ben/homework/homework.ipynb").chmod(0o644)
    (root / "autograded/ben/homework/homework.ipynb").write_text("{}")  # one that was being written when the power went
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:  # a gradebook that was restored from a copy
        gradebook.find_grade("test_twice", "homework", "homework", "chloe").auto_score = 3.0
        gradebook.db.commit()
    (root / "submitted/dario/homework/notes.txt").write_text("a new file, the same answers")
    done = again(root)
    assert {student for student, how in done.items() if how == "kept"} == {"anna", "ben", "chloe", "dario"}
    assert {how for how in done.values()} == {"kept", "unchanged"}
    assert scores(root) == EXPECTED and shown(root) == shown(graded_class[0])
    assert (root / "autograded/dario/homework/notes.txt").exists()


def test_the_formgraders_button_writes_what_the_command_writes(graded_class, tmp_path):
    root = copy(graded_class[0], tmp_path)
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.Judge.allow_weak_isolation = True
    for student in ("ben", "chloe", "unreadable"):
        done = NbGraderAPI(CourseDirectory(config=config), config=config).autograde("homework", student)
        assert done["success"], done
    assert scores(root) == EXPECTED and shown(root) == shown(graded_class[0])


def test_points_are_those_of_the_gradebook_with_what_was_given_by_hand(graded_class, tmp_path):
    root = copy(graded_class[0], tmp_path)
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        gradebook.find_grade("test_twice", "homework", "homework", "chloe").manual_score = 2.5
        gradebook.find_grade("why", "homework", "homework", "chloe").manual_score = 4.0
        gradebook.db.commit()
    total = (
        sum(points for points in EXPECTED["chloe"].values() if points is not None)
        - EXPECTED["chloe"]["test_twice"]
        + 6.5
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pool, "_PROGRAM", CANNOT_JUDGE)
        for force in (False, True):  # left alone, and written again
            if force:
                (root / "submitted/chloe/homework/notes.txt").write_text("a new file, the same answers")
            report = grading.grade(root, GradingOptions("homework", students=("chloe",), workers=1, weak=True))
            assert [(line.how, line.points) for line in report.submissions] == [
                ("kept" if force else "unchanged", total)
            ]


LATE = """
from math import ceil
from nbgrader.plugins import BasePlugin

class TenPercentADay(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 0.1 * ceil(total_seconds_late / 86400) * score

c.AssignLatePenalties.plugin_class = TenPercentADay
"""


def test_late_days_and_an_extension_for_one_student(handed_in_class, tmp_path):
    root = copy(handed_in_class, tmp_path)
    (root / "nbgrader_config.py").write_text(CONFIG + LATE)
    for student in ("anna", "ben"):
        (root / "submitted" / student / "homework/timestamp.txt").write_text("2026-11-22 12:00:00 UTC")
    run_grading = partial(
        grading.grade, root, GradingOptions("homework", students=("anna", "ben"), workers=1, weak=True)
    )

    def points() -> dict[str, tuple[str, float]]:
        return {line.student: (line.how, line.points) for line in run_grading().submissions}

    assert points() == {"anna": ("graded", 11.0), "ben": ("graded", 7.0)}, "without a due date nobody is late"
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        gradebook.update_or_create_assignment("homework", duedate="2026-11-20 23:00 UTC")
    assert points() == {"anna": ("kept", pytest.approx(8.8)), "ben": ("kept", pytest.approx(5.6))}
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        str(ROOT),
        "extend",
        "homework",
        "anna",
        "--days",
        "1",
        "--course",
        str(root),
    ]
    said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert said.returncode == 0 and "applies it" in said.stdout, said.stderr
    assert points() == {"anna": ("kept", pytest.approx(9.9)), "ben": ("unchanged", pytest.approx(5.6))}
    command[6] = "nobody"
    refused = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert refused.returncode == 2 and "knows no student nobody" in refused.stderr


EXTRA = """
from autograder.exercise import Case, Exercise

class Twice(Exercise):
    "Twice"
    unit, function, signature, runtime, levels = "90_own", "doubled", "doubled(x)", "plain", {"all": 2}
    def cases(self, rng):
        return [Case("all", 1, (int(rng.integers(5, 9)),))]
    def expected(self, case):
        return [FACTOR * case.arguments[0]]
"""


def test_an_overlay_exercise_that_changes_or_goes_is_judged_anew(handed_in_class, tmp_path, monkeypatch):
    root = copy(handed_in_class, tmp_path)
    monkeypatch.setenv("COURSE_OVERLAY", str(root / "overlay"))
    own = root / "overlay/exercises/unit_90_own.py"
    own.parent.mkdir(parents=True)
    notebook = new_notebook(cells=[new_code_cell("from autograder import check", id="setup")])
    answer = "def doubled(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
    notebook.cells.append(new_code_cell(answer, id="doubled", metadata=marks("doubled", solution=True)))
    flags = marks("check_doubled", grade=True, locked=True, points=2)
    notebook.cells.append(new_code_cell("check(doubled)", id="check_doubled", metadata=flags))
    (root / "source/own").mkdir()
    nbformat.write(notebook, root / "source/own/own.ipynb")
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    assert NbGraderAPI(CourseDirectory(config=config), config=config).generate_assignment("own")["success"]
    (root / "submitted/anna/own").mkdir()
    nbformat.write(notebook, root / "submitted/anna/own/own.ipynb")

    def graded() -> tuple:
        report = grading.grade(root, GradingOptions("own", workers=1, weak=True))
        (line,) = report.submissions
        return line.how, line.points, bool(line.reasons)

    own.write_text(EXTRA.replace("FACTOR", "2"))
    assert graded() == ("graded", 2.0, False) and graded() == ("unchanged", 2.0, False)
    own.write_text(EXTRA.replace("FACTOR", "3"))
    assert graded() == ("graded", 0.0, False)
    own.unlink()
    assert graded() == ("graded", 0.0, True), "no student's fault: a person is asked"


def test_one_worker_says_what_two_say_and_a_new_submission_alone_is_judged(graded_class, handed_in_class, tmp_path):
    root = copy(handed_in_class, tmp_path)
    report = grading.grade(root, GradingOptions("homework", workers=1, students=("ben", "chloe", "slow"), weak=True))
    assert sorted(line.student for line in report.submissions) == ["ben", "chloe", "slow"]
    alone, together = shown(root), shown(graded_class[0])
    assert alone == {student: together[student] for student in ("ben", "chloe", "slow")}
    (root / "submitted/chloe/homework/homework.ipynb").write_bytes(notebooks()["anna"])
    report = grading.grade(root, GradingOptions("homework", workers=1, students=("ben", "chloe"), weak=True))
    assert {line.student: line.how for line in report.submissions} == {"ben": "unchanged", "chloe": "graded"}
    assert scores(root)["chloe"] == FULL


def test_refusals_in_one_sentence(graded_class, tmp_path):
    root = graded_class[0]
    for options, said in (
        (GradingOptions("homwork"), "there are: homework"),
        (GradingOptions("homework", students=("anna", "nobody")), "no submission of nobody"),
        (GradingOptions("homework", engines="no_such_cluster"), "ipcluster start"),
    ):
        with pytest.raises(CannotGrade, match=said):
            grading.grade(root, GradingOptions(**{**vars(options), "weak": True}))
    assert not (root / "overlay/keys/homwork.key").exists(), "a mistyped name draws no key"
    with pytest.raises(CannotGrade, match="no course root"):
        grading.grade(tmp_path, GradingOptions("homework"))
    unknown = run(root, "--student", "nobody")
    assert unknown.returncode == 2 and unknown.stderr.count("\n") == 1, unknown.stderr


def test_who_grades_is_told_to_whoever_wants_to(graded_class, tmp_path):
    root = copy(graded_class[0], tmp_path)
    held = "with Store(sys.argv[1]).lock('grades 03'): print(1, flush=True); input()"
    holder = f"import sys; from autograder.grading.store import Store\n{held}"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as other:
        other.stdout.readline()
        with pytest.raises(Busy, match=rf"grades 03 since .* \(process {other.pid} on "):
            grading.grade(root, GradingOptions("homework", weak=True))
        other.kill()
    assert set(again(root).values()) == {"unchanged"}  # the lock has gone with its holder


def test_half_a_result_counts_as_none(tmp_path):
    store = Store(tmp_path)
    store.keep_result("abc", {"points": 1})
    assert store.result("abc") == {"points": 1}
    (tmp_path / ".autograder/results/abc.json").write_text('{"points": ')
    assert store.result("abc") is None
    part = tmp_path / f".autograder/results/.abc.json.{2**22 + 1}"  # a number no process has
    part.write_text("{")
    store.remove_leftovers()
    assert not part.exists()


# -- a pool whose workers die -----------------------------------------------------------------------------------------

# Speaks as autograder.grading.worker does. "once": dies over it the first time; "always": each time.
MORTAL = """
import json, os, sys
sys.argv.pop(1)
print(json.dumps({"ready": os.getpid()}), flush=True)
for line in sys.stdin:
    task = json.loads(line)
    if task["dies"] == "always" or task["dies"] == "once" and not os.path.exists(task["flag"]):
        open(task["flag"], "w").close()
        os.kill(os.getpid(), 9)
    print(json.dumps({"graded": {"notebook": task["student"]}}), flush=True)
"""


def test_a_worker_that_dies_costs_nobody_else(monkeypatch, tmp_path):
    monkeypatch.setattr(pool, "_PROGRAM", MORTAL)
    workers = pool.LocalPool(2, weak=True)
    tasks = {"a": "never", "b": "once", "c": "always", "d": "never", "e": "never"}
    try:
        for student, dies in tasks.items():
            workers.submit(student, {"student": student, "dies": dies, "flag": str(tmp_path / student)})
        found = {}
        end = time.monotonic() + 60
        while len(found) < len(tasks) and time.monotonic() < end:
            done = workers.result(1.0)
            if done is not None:
                found[done.student] = done.graded if done.graded is not None else done.lost
        assert found == {student: {"notebook": student} for student in "abde"} | {"c": "signal 9"}
        assert workers.given == 0 and workers.running == {}
    finally:
        workers.close()
    assert workers.pids() == []


def test_workers_that_cannot_judge_stop_the_run(monkeypatch):
    monkeypatch.setattr(pool, "_PROGRAM", 'print(\'{"refused": "this machine cannot enforce: seccomp"}\', flush=True)')
    workers = pool.LocalPool(2, weak=True)
    try:
        workers.submit("a", {})
        with pytest.raises(pool.CannotJudge, match="seccomp"):
            while workers.result(1.0) is None:
                pass
    finally:
        workers.close()


def test_a_full_disk_in_a_worker_stops_the_run(monkeypatch):
    monkeypatch.setattr(pool, "_PROGRAM", 'print(\'{"full": "there is no room left in /srv"}\', flush=True)')
    workers = pool.LocalPool(1, weak=True)
    try:
        workers.submit("a", {})
        with pytest.raises(DiskFull, match="no room left"):
            while workers.result(1.0) is None:
                pass
    finally:
        workers.close()


def test_a_submission_that_kills_its_worker_waits_for_a_person(handed_in_class, monkeypatch, tmp_path):
    root = copy(handed_in_class, tmp_path)
    monkeypatch.setattr(pool, "_PROGRAM", "import os; os.kill(os.getpid(), 9)")
    report = grading.grade(root, GradingOptions("homework", workers=1, students=("anna",), weak=True))
    (line,) = report.submissions
    assert line.points == 0 and "the process that judged it died each time (signal 9)" in line.reasons[0]
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        (submitted,) = gradebook.assignment_submissions("homework")
        waiting = {
            grade.name for notebook in submitted.notebooks for grade in notebook.grades if grade.needs_manual_grade
        }
    assert waiting == set(EXPECTED["anna"]), "nothing is decided before a person, or the next run, has looked at it"
    monkeypatch.undo()
    report = grading.grade(root, GradingOptions("homework", workers=1, students=("anna",), weak=True))
    assert [(line.how, line.reasons) for line in report.submissions] == [("graded", [])]
    assert scores(root)["anna"] == FULL


# -- killed at any moment ---------------------------------------------------------------------------------------------


def family(process: psutil.Process) -> dict[str, list[psutil.Process]]:
    """The processes of a run by what they do. "launcher": of each worker its launcher and what keeps that in its
    jail. What these fork has the same command line: leaders and ranks, and a rank that is killed is for the judge one
    that a student's code has killed."""
    found: dict[str, list[psutil.Process]] = {"worker": [], "launcher": []}
    with contextlib.suppress(psutil.Error):
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.Error, AttributeError):  # gone meanwhile, or its parent
                above = [word for one in (child.parent(), child.parent().parent()) for word in one.cmdline()]
                text = " ".join(child.cmdline())
                if "worker.main()" in text:
                    found["worker"].append(child)
                elif "launcher.serve()" in text and " ".join(above).count("launcher.serve()") < 2:
                    found["launcher"].append(child)
    return found


def differing(found: dict[str, bytes], wanted: dict[str, bytes]) -> dict[str, list[str]]:
    """student -> lines that differ."""

    def lines(notebooks: dict[str, bytes], student: str) -> list[str]:
        return notebooks.get(student, b"").decode().splitlines()

    students = [student for student in sorted({*found, *wanted}) if found.get(student) != wanted.get(student)]
    return {
        student: list(difflib.unified_diff(lines(wanted, student), lines(found, student), n=1)) for student in students
    }


def kill_at(root: Path, whom: str, chance: random.Random, seconds: float) -> tuple[int, set[str], str]:
    """Start grading and kill one of its processes at a random moment, some time after a random number of submissions
    is graded.

    Returns the exit status, who was marked as graded at the end, and what was said.
    """
    with subprocess.Popen(
        command(root), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    ) as process:
        lines = [process.stdout.readline() for _ in range(chance.randrange(len(EXPECTED)))]
        time.sleep(chance.uniform(0.0, 0.3 if lines else seconds))
        with contextlib.suppress(psutil.Error):
            alive = psutil.Process(process.pid)
            victims = [alive] if whom == "command" else family(alive)[whom]
            if victims:
                chance.choice(victims).kill()
        said, _ = process.communicate(timeout=PATIENCE_S)
    for folder in Path(tempfile.gettempdir()).glob("probe-*"):  # of a command that was killed while it tried its jail
        folder.rmdir()
    return (
        process.returncode,
        {path.stem for path in root.glob(".autograder/graded/homework/*.json")},
        "".join([*lines, said]),
    )


@pytest.mark.timeout(120 + 60 * len(KILLED))
def test_killed_at_any_moment_the_next_run_completes(handed_in_class, graded_class, tmp_path):
    _, _, seconds = graded_class
    chance = random.Random(20261121)
    fair = shown(graded_class[0])
    for number, whom in enumerate(KILLED):
        root = copy(handed_in_class, tmp_path / str(number))
        status, marked, said = kill_at(root, whom, chance, seconds)
        context = f"kill {number}, {whom}: exit status {status}\n{said}"
        assert status in ((0, -9) if whom == "command" else (0,)), context
        assert not differing({s: shown(root)[s] for s in marked}, {s: fair[s] for s in marked}), context
        assert {s: scores(root)[s] for s in marked} == {s: EXPECTED[s] for s in marked}, context
        if whom != "command":
            assert marked == set(EXPECTED), context
        report = grading.grade(root, GradingOptions("homework", workers=1, weak=True))
        assert {line.student for line in report.submissions if line.how == "unchanged"} == marked, context
        assert scores(root) == EXPECTED and not differing(shown(root), fair), context
        assert not list(root.glob(".autograder/**/.*.json.*")), context
        shutil.rmtree(root)


# -- no room left -----------------------------------------------------------------------------------------------------

# Runs in a mount namespace of its own. argv: folder to mount on, course root to copy there, bytes to leave free, then
# the command.
ON_A_SMALL_DISK = """
import os, shutil, subprocess, sys
disk, course, free, *command = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=True)
shutil.copytree(course, disk + "/class")
filler = open(disk + "/filler", "wb")
filler.write(bytes(max(0, shutil.disk_usage(disk).free - int(free))))
filler.flush()
command = [word.replace(course, disk + "/class") for word in command]
status = subprocess.run(command).returncode
filler.close()
os.unlink(disk + "/filler")
shutil.copytree(disk + "/class", course + ".after")
sys.exit(status)
"""


def may_mount() -> bool:
    trial = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    with contextlib.suppress(OSError):
        return os.geteuid() == 0 and subprocess.run(trial, capture_output=True).returncode == 0
    return False


def graded_with_little_room(root: Path, place: Path) -> tuple[subprocess.CompletedProcess, Path]:
    """Grade on a disk that fills up half-way; where none can be had, with files that may not grow. Returns what was
    said and the course."""
    if may_mount():
        (place / "disk").mkdir()
        free = 72 << 10
        around = [
            "unshare",
            "--mount",
            sys.executable,
            "-c",
            ON_A_SMALL_DISK,
            str(place / "disk"),
            str(root),
            str(free),
        ]
        done = subprocess.run([*around, *command(root)], capture_output=True, text=True, timeout=PATIENCE_S)
        return done, Path(f"{root}.after")
    size = (
        root / "gradebook.db"
    ).stat().st_size // 2  # what is written far back in it fails; its pages need not become more

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run(command(root), capture_output=True, text=True, timeout=PATIENCE_S, preexec_fn=small_files)
    return done, root


def test_a_full_disk_is_one_clear_error_and_costs_nothing(handed_in_class, graded_class, tmp_path):
    done, root = graded_with_little_room(copy(handed_in_class, tmp_path), tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no room left" in done.stderr and "Traceback" not in done.stderr, done.stderr
    marked = {path.stem for path in root.glob(".autograder/graded/homework/*.json")}
    assert len(marked) < len(EXPECTED)
    assert {s: scores(root)[s] for s in marked} == {s: EXPECTED[s] for s in marked}
    report = grading.grade(root, GradingOptions("homework", workers=1, weak=True))
    assert {line.student for line in report.submissions if line.how == "unchanged"} == marked
    assert scores(root) == EXPECTED and shown(root) == shown(graded_class[0])


# -- engines ----------------------------------------------------------------------------------------------------------


@full
def test_the_engines_of_a_cluster_judge_as_workers_do(handed_in_class, graded_class, tmp_path):
    import ipyparallel

    root = copy(handed_in_class, tmp_path)
    with ipyparallel.Cluster(n=2, profile="grading", cluster_id="", engines="local", log_level=40) as client:
        report = grading.grade(root, GradingOptions("homework", engines="grading", weak=True))
        left = [family(psutil.Process(pid))["launcher"] for pid in client[:].apply_sync(os.getpid)]
    assert left == [[], []], "an engine keeps nothing of ours"
    assert len(list(root.glob(".autograder/results/*.json"))) == len(EXPECTED), "what it judged is kept here"
    assert {line.how for line in report.submissions} == {"graded"}
    assert scores(root) == EXPECTED and shown(root) == shown(graded_class[0])


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_did(graded_class, tmp_path):
    root = copy(graded_class[0], tmp_path)
    done = run(root)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "1/7 anna: unchanged, 11 of 11"
    assert any("unreadable: unchanged, 0 of 11; The submission was refused" in line for line in lines)
    assert any("unchanged" in line and " 7 " in line for line in lines[7:])
    assert any("handed in nothing" in line and "zoe" in line for line in lines[7:])
    shutil.rmtree(root / "submitted/anna/homework")
    (root / "submitted/anna/homework").mkdir()
    done = run(root)
    assert done.returncode == 1 and "anna: not graded" in done.stdout, done.stdout
    assert json.loads((root / ".autograder/graded/homework/ben.json").read_text())["points"] == 7.0
