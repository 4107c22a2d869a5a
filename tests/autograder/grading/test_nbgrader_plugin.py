"""Grading with a real nbgrader, from release to feedback: scores, partial points and cards, and what a submission
cannot do to them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from submissions import as_bytes, cell_of, handed_in, place_of, source_notebook

nbgrader_api = pytest.importorskip("nbgrader.apps.api")
from nbgrader.api import Gradebook  # noqa: E402
from nbgrader.coursedir import CourseDirectory  # noqa: E402
from traitlets.config import PyFileConfigLoader  # noqa: E402

from autograder.grading import isolation, nbgrader_plugin  # noqa: E402
from autograder.grading.formulas import with_formulas  # noqa: E402
from autograder.grading.store import Store  # noqa: E402
from autograder.grading.submission import judging  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
from pathlib import Path
from autograder.grading.nbgrader_plugin import configure
c = get_config()
configure(c, Path(__file__).resolve().parent)
c.Judge.allow_weak_isolation = True  # this test is about grading, whatever the machine can enforce
"""
MARK = "made-by-the-student"
FULL = {"check_count_inside": 2.0, "check_fair_share": 4.0, "test_twice": 3.0, "test_twice_partly": 2.0, "why": None}
NOTHING = dict.fromkeys(FULL, 0.0) | {"why": None}


def class_of_students() -> dict[str, bytes]:
    """student -> the notebook handed in."""
    right = handed_in()
    partly = handed_in()
    cell_of(
        partly, "count_inside"
    ).source = "def count_inside(x, y):\n    return sum(1 for a, b in zip(x, y) if (a * a + b * b) ** 0.5 < RADIUS)"
    cell_of(partly, "fair_share").source = "def fair_share(n, rank, world_size):\n    import os\n    os._exit(0)"
    cell_of(partly, "twice").source = "def twice(x):\n    return 2 * x if x < 3 else 0"
    hostile = handed_in()
    script = f"<script>document.title = '{MARK}'</script><img src=x onerror=\"{MARK}\">"
    cell_of(hostile, "why").source = f"Because. {script} [click](javascript:{MARK})"
    cell_of(hostile, "look").outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": script}}]
    cell_of(hostile, "fair_share").source = f"def fair_share(n, rank, world_size):\n    raise ValueError({script!r})"
    cell_of(hostile, "fair_share").metadata.nbgrader["</script>"] = script
    hostile.cells.insert(1, new_markdown_cell(script))
    hostile.cells.insert(
        2, new_code_cell("1", metadata={"nbgrader": {"grade_id": script, "grade": True, "points": 100}})
    )
    hostile.metadata.title = script
    twice = handed_in(right=False)
    twice.cells += [nbformat.from_dict(json.loads(json.dumps(cell))) for cell in handed_in().cells]
    del twice.cells[place_of(twice, "check_fair_share")]
    forger = handed_in(right=False)
    cell_of(forger, "check_fair_share").source = "4.0"
    cell_of(forger, "check_fair_share").metadata.nbgrader.update(points=1000, solution=True)
    cell_of(forger, "check_count_inside").outputs = [
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "2.0"}}
    ]
    notebooks = {
        "right": right,
        "partly": partly,
        "hostile": hostile,
        "twice": twice,
        "forger": forger,
        "empty": handed_in(False),
    }
    typo = handed_in()
    cell_of(typo, "fair_share").source = "def fair_share(n, rank, world_size)\n    return 0, n"
    notebooks |= {"renamed": right, "two": right, "typo": typo}
    return {name: as_bytes(notebook) for name, notebook in notebooks.items()} | {"broken": b'{"cells": ['}


def make_course(root: Path) -> None:
    (root / "source/homework").mkdir(parents=True)
    nbformat.write(source_notebook(), root / "source/homework/homework.ipynb")
    (root / "nbgrader_config.py").write_text(CONFIG)
    for student, content in class_of_students().items():
        folder = root / "submitted" / student / "homework"
        folder.mkdir(parents=True)
        (folder / "homework.ipynb").write_bytes(content)
    renamed = root / "submitted/renamed/homework/homework.ipynb"
    renamed.rename(renamed.with_name("homework (1).ipynb"))
    two = root / "submitted/two/homework/homework.ipynb"
    shutil.copy(two, two.with_name("old.ipynb"))
    two.rename(two.with_name("new.ipynb"))
    (root / "secret.txt").write_text("the instructor's")
    broken = root / "submitted/broken/homework"
    (broken / "mine.txt").symlink_to(root / "secret.txt")
    os.mkfifo(broken / "pipe")
    (broken / "timestamp.txt").write_text("yesterday, about noon")


class Class:
    def __init__(self, root: Path):
        self.root = root
        config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
        self.api = nbgrader_api.NbGraderAPI(CourseDirectory(config=config), config=config)

    def grade(self, student: str) -> dict:
        return self.api.autograde("homework", student)

    def scores(self) -> dict[str, dict[str, float | None]]:
        with Gradebook(f"sqlite:///{self.root}/gradebook.db") as gradebook:
            return {
                s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades}
                for s in gradebook.assignment_submissions("homework")
            }

    def to_grade(self, student: str) -> set[str]:
        with Gradebook(f"sqlite:///{self.root}/gradebook.db") as gradebook:
            submitted = gradebook.find_submission("homework", student)
            return {g.name for n in submitted.notebooks for g in n.grades if g.needs_manual_grade}

    def autograded(self, student: str):
        return nbformat.read(self.root / "autograded" / student / "homework/homework.ipynb", as_version=4)

    def feedback(self, student: str) -> str:
        return (self.root / "feedback" / student / "homework/homework.html").read_text()


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class whose submissions were graded once, through nbgrader's API, as the formgrader's button does it."""
    root = tmp_path_factory.mktemp("class")
    make_course(root)
    graded = Class(root)
    try:
        made = graded.api.generate_assignment("homework")
        assert made["success"], made
        for student in sorted(class_of_students()):
            result = graded.grade(student)
            assert result["success"], (student, result)
        told = graded.api.generate_feedback("homework")
        assert told["success"], told
        yield graded
    finally:
        nbgrader_plugin.close()


def test_scores_are_in_the_gradebook(course):
    partly = FULL | {"check_count_inside": 1.0, "check_fair_share": 0.0, "test_twice": 3.0, "test_twice_partly": 1.5}
    assert course.scores() == {
        "right": FULL,
        "partly": partly,
        "hostile": FULL | {"check_fair_share": 0.0},
        "twice": FULL,
        "forger": NOTHING,
        "empty": NOTHING,
        "broken": NOTHING,
        "renamed": FULL,
        "two": NOTHING,
        "typo": FULL | {"check_fair_share": 0.0},
    }


def test_a_syntax_error_is_called_one(course):
    card = cell_of(course.autograded("typo"), "check_fair_share").outputs[0].data["text/plain"]
    assert "no valid Python" in card and "no such function" not in card.splitlines()[1]
    assert course.scores()["typo"] == FULL | {"check_fair_share": 0.0}


def test_written_answers_wait_for_a_person_also_empty_ones(course):
    assert all(course.to_grade(student) == {"why"} for student in class_of_students())
    with Gradebook(f"sqlite:///{course.root}/gradebook.db") as gradebook:
        comments = {
            s: gradebook.find_comment("why", "homework", "homework", s).auto_comment for s in ("right", "empty")
        }
    assert comments == {"right": None, "empty": "No response."}


def test_the_card_is_in_the_autograded_notebook_and_in_the_feedback(course):
    notebook = course.autograded("partly")
    nbformat.validate(notebook)
    outputs = cell_of(notebook, "check_count_inside").outputs
    assert "count_inside" in outputs[0].data["text/html"] and "1 of 2 points" in outputs[0].data["text/plain"]
    assert "no Python loop" in outputs[0].data["text/plain"]
    assert outputs[-1].data["text/plain"] == "1.0"
    page = course.feedback("partly")
    assert "no Python loop" in page and "died" in page
    assert re.search(r"Score: 5\.5 / 16\.0", page)


def test_feedback_asks_no_other_host(course):
    """Formulas are MathML; what a student has written becomes no link and no script."""
    page = course.feedback("right")
    assert "mathjax" not in page.lower()
    assert "<math" in with_formulas(r"so $\alpha + n \beta$ is")
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=[\"']?(?:https?:)?//", page)
    for tex in (r"\href{javascript:alert(1)}{x}", r"\text{<script>alert(1)</script>}", r"\style{color:red}{x}"):
        assert with_formulas(f"so ${tex}$ is") == f"so `{tex}` is"


def test_feedback_has_no_number_below_a_card(course):
    """nbgrader reads the points from what a cell returns; on the page a student has the card."""
    returned = [
        out for out in cell_of(course.autograded("right"), "check_count_inside").outputs if "execution_count" in out
    ]
    assert len(returned) == 1
    assert "Out[" not in course.feedback("right")


def test_flags_are_plain_sentences_on_top(course):
    top = course.autograded("forger").cells[0].source
    assert "The cell check_fair_share was edited" in top and "it is worth 4" in top
    assert "is there 2 times" in course.autograded("twice").cells[0].source
    top = course.autograded("right").cells[0]
    assert "Noticed" not in top.source and course.autograded("right").cells[1].id == "title"


def test_a_list_on_top_leads_to_every_graded_cell(course):
    """The formgrader's page is as long as the notebook; its field for a cell's score is called like the cell."""
    lines = course.autograded("partly").cells[0].source.splitlines()
    assert lines[0] == "**Checked automatically: 5.5 of 11 points**"
    assert "- [count_inside](#check_count_inside): 1 of 2, wrong" in lines
    assert "- [fair_share](#check_fair_share): 0 of 4, crashed" in lines
    assert sum(line.startswith("- [") for line in lines) == 4


def test_a_refused_submission_has_a_card_that_says_why_and_its_links_lead_nowhere(course):
    card = cell_of(course.autograded("broken"), "check_fair_share").outputs[0].data["text/plain"]
    assert "not valid JSON" in card
    left = {path.name for path in (course.root / "autograded/broken/homework").iterdir()}
    assert left == {"homework.ipynb", "timestamp.txt"}
    assert "mine.txt is a link" in course.autograded("broken").cells[0].source


def test_a_renamed_notebook_counts_where_only_it_can_be_meant(course):
    assert "another name" in course.autograded("renamed").cells[0].source
    card = cell_of(course.autograded("two"), "check_fair_share").outputs[0].data["text/plain"]
    assert "No file of that name was handed in." in card


def test_no_solution_text_anywhere_students_look(course):
    for folder in ("release", "autograded", "feedback"):
        for path in (course.root / folder).rglob("*"):
            if path.is_file():
                text = path.read_text(errors="replace")
                for secret in ("only in the solution", "rubric", "BEGIN SOLUTION", "the instructor"):
                    assert secret not in text, f"{secret!r} in {path}"


class Elements(HTMLParser):
    """What a browser would do with the student's mark: text is harmless, a script or an attribute is not."""

    def __init__(self):
        super().__init__()
        self.bad, self.inside = [], ""

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        self.bad += [f"{tag} {name}" for name, value in attributes if MARK in (value or "") or name.startswith("on")]

    def handle_data(self, data):
        if MARK in data and self.inside == "script":
            self.bad.append("script")


def test_a_students_html_runs_nowhere(course):
    parser = Elements()
    parser.feed(course.feedback("hostile"))
    assert MARK in course.feedback("hostile") and parser.bad == []
    assert "text/html" not in json.dumps(cell_of(course.autograded("hostile"), "look").outputs)
    assert MARK not in json.dumps(course.autograded("hostile").metadata)


def test_unchanged_work_is_not_judged_again(course, monkeypatch):
    def judged(*arguments, **about):
        raise AssertionError("judged once more")

    before = course.scores()
    monkeypatch.setattr(judging, "judge", judged)
    for student in ("right", "partly", "broken"):
        assert course.grade(student)["success"]
    assert course.scores() == before


def test_nobody_grades_while_somebody_else_does(course):
    before = course.autograded("right")
    command = [sys.executable, "-c", HOLDER, str(course.root)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as holder:
        assert holder.stdout.readline() == b"locked\n"
        course.api.config.SubmissionExporter.wait_s = 0.1
        try:
            result = course.grade("right")
        finally:
            del course.api.config["SubmissionExporter"]
            holder.stdin.close()
    assert not result["success"] and "grades 02_point_to_point since" in result["log"]
    assert course.autograded("right") == before
    assert course.grade("right")["success"]


HOLDER = """
import sys
from autograder.grading.store import Store
with Store(sys.argv[1]).lock("grades 02_point_to_point"):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_less_isolation_than_there_should_be_is_said_before_anything_is_removed(course, monkeypatch):
    def weak(slot=0, weak=False):
        raise isolation.WeakIsolation("this machine cannot enforce: network")

    before = course.autograded("right")
    monkeypatch.setattr(isolation, "spec", weak)
    result = course.grade("right")
    assert not result["success"] and "cannot enforce: network" in result["error"]
    assert course.autograded("right") == before


def test_a_fault_of_ours_is_marked_for_a_person_and_not_kept(course, monkeypatch):
    real = judging.judge_with

    def fails(runners, exercise, chunks, **about):
        if exercise.function == "fair_share":
            raise RuntimeError("the judge's own mistake")
        return real(runners, exercise, chunks, **about)

    notebook = handed_in()
    cell_of(notebook, "fair_share").source += "\n    # a new comment, so a new result"
    cell_of(notebook, "twice").source = "def twice(x):\n    return x * 2"
    place = course.root / "submitted/right/homework/homework.ipynb"
    old = place.read_bytes()
    place.write_bytes(as_bytes(notebook))
    monkeypatch.setattr(judging, "judge_with", fails)
    kept = set(Store(course.root).folder.rglob("*.json"))
    try:
        assert course.grade("right")["success"]
        assert course.scores()["right"] == FULL | {"check_fair_share": 0.0}
        assert course.to_grade("right") == {"why", "check_fair_share"}
        assert set(Store(course.root).folder.rglob("*.json")) == kept
    finally:
        monkeypatch.undo()
        place.write_bytes(old)
        assert course.grade("right")["success"]
    assert course.scores()["right"] == FULL


def test_a_server_grades_in_whatever_thread_it_likes(course):
    found = []
    thread = threading.Thread(target=lambda: found.append(course.grade("partly")))
    thread.start()
    thread.join(120)
    assert found and found[0]["success"], found


def test_the_command_line_grades_the_same(course, tmp_path):
    root = tmp_path / "class"
    shutil.copytree(
        course.root, root, symlinks=True, ignore=shutil.ignore_patterns("autograded", "feedback", "pipe", ".autograder")
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "nbgrader", "autograde", "homework", "--student", "partly"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    assert Class(root).scores()["partly"] == course.scores()["partly"]
    assert cell_of(Class(root).autograded("partly"), "check_count_inside") == cell_of(
        course.autograded("partly"), "check_count_inside"
    )
