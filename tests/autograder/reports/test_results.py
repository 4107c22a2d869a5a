"""A class on disk, from its root to the pages: results are found again, what changed since is noticed, a user's
mistakes are one line."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from typer.testing import CliRunner

from autograder.answers import sources
from autograder.cli import app
from autograder.course import OVERLAY, Course
from autograder.grading import course_files
from autograder.grading.store import Store
from autograder.grading.submission import finishing
from autograder.grading.submission.grades import Graded, ItemGrade
from autograder.reports import copies, report, results

ROOT = Path(__file__).resolve().parents[3]
UNIT, NOTEBOOK, EXERCISE = "03_collectives", "collectives", "ring_all_reduce"
CONFIG = """
from pathlib import Path
from autograder.grading.nbgrader_plugin import configure
c = get_config()
configure(c, Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "dl_2027"
"""
ANSWER = sources(UNIT, EXERCISE)["right_padded"]
OWN = """
def ring_all_reduce(x):
    me, everybody = dist.get_rank(), dist.get_world_size()
    bounds = [round(k * len(x) / everybody) for k in range(everybody + 1)]
    result, turn = x.clone(), 0
    while turn < 2 * everybody - 2:
        give, take = divmod(me - turn + 1000 * everybody, everybody)[1], divmod(me - turn - 1 + 1000 * everybody, everybody)[1]
        parcel = result[bounds[give] : bounds[give + 1]].contiguous()
        room = torch.zeros(bounds[take + 1] - bounds[take], dtype=x.dtype)
        if me % 2:
            dist.recv(room, src=me - 1)
            dist.send(parcel, dst=(me + 1) % everybody)
        else:
            waiting = dist.isend(parcel, dst=(me + 1) % everybody)
            dist.recv(room, src=me - 1 if me else everybody - 1)
            waiting.wait()
        old = result[bounds[take] : bounds[take + 1]]
        old.copy_(old + room if turn < everybody - 1 else room)
        turn = turn + 1
    return result
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """ada and bob handed in the same unusual answer, carl the bank's, eve half a file; dora is new; zoe handed in
    nothing."""
    folder = tmp_path_factory.mktemp("class")
    patch = pytest.MonkeyPatch()
    patch.setenv(OVERLAY, str(folder / "overlay"))
    (folder / "nbgrader_config.py").write_text(CONFIG)
    (folder / "source" / UNIT).mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / UNIT / f"{NOTEBOOK}.ipynb", folder / "source" / UNIT)
    for name, answer in [
        ("ada", OWN),
        ("bob", OWN.replace("parcel", "mine")),
        ("carl", ANSWER),
        ("eve", None),
        ("dora", ANSWER),
    ]:
        hand_in(folder, name, answer)
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        book.add_assignment(UNIT)
        book.add_notebook(NOTEBOOK, UNIT)
        book.add_grade_cell(f"check_{EXERCISE}", NOTEBOOK, UNIT, max_score=4, cell_type="code")
        for name in ("ada", "bob", "carl", "eve", "dora", "zoe"):
            book.add_student(name)
        for name in ("ada", "bob", "carl", "eve"):
            book.add_submission(UNIT, name, timestamp=datetime(2026, 11, 20))
            grade = book.find_grade(f"check_{EXERCISE}", NOTEBOOK, UNIT, name)
            grade.auto_score, grade.needs_manual_grade = 4.0, False
        book.db.commit()
    yield folder
    patch.undo()


def hand_in(folder: Path, student: str, answer: str | None) -> None:
    notebook = nbformat.read(ROOT / "notebooks" / UNIT / f"{NOTEBOOK}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == EXERCISE:
            cell.source = answer or ""
    text = nbformat.writes(notebook)
    path = folder / "submitted" / student / UNIT / f"{NOTEBOOK}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if answer else text[:1000], encoding="utf-8")


def result(points: float) -> Graded:
    item = ItemGrade(f"check_{EXERCISE}", points, 4.0, "passed" if points else "wrong", said=["What it said."])
    return Graded(UNIT, [item], [])


def found(coursedir) -> dict[str, results.SubmittedNotebook]:
    return {one.student: one for one in results.submitted(coursedir, UNIT)}


def test_results_are_found_by_their_mark_and_without_it(root, monkeypatch):
    coursedir, store = results.open_course(root), Store(root)
    store.keep_result("the digest that was noted", result(4.0).to_json())
    files = course_files.hashes(root / "submitted" / "ada" / UNIT)
    store.set_mark(UNIT, "ada", {"submitted": files, "results": {NOTEBOOK: "the digest that was noted"}})
    rebuilt = course_files.load(coursedir, coursedir.config, UNIT, "bob", NOTEBOOK)
    terms = finishing.Terms(UNIT, Course(root).key(UNIT), "how", "none")
    store.keep_result(finishing.digest(rebuilt, terms), result(0.0).to_json())

    there = found(coursedir)
    assert sorted(there) == ["ada", "bob", "carl", "dora", "eve"]
    assert (there["ada"].graded.points, there["bob"].graded.points, there["carl"].graded) == (4.0, 0.0, None)
    assert "not valid JSON" in there["eve"].refused
    todo = {(t.student, t.where) for t in report.report_of(coursedir, UNIT).todo}
    assert todo == {("dora", "everything"), ("eve", f"notebook {NOTEBOOK}"), ("carl", f"notebook {NOTEBOOK}")}

    hand_in(root, "ada", OWN + "\n# better\nx = 1\n" + OWN.replace("turn", "t"))
    assert found(coursedir)["ada"].graded is None, "what was handed in since is not what was graded"
    hand_in(root, "ada", OWN)
    (root / ".autograder" / "results" / "the digest that was noted.json").write_text("{")
    assert found(coursedir)["ada"].graded is None, "a damaged result is none"


def test_only_solution_cells_are_compared(root):
    made = copies.compare_class(results.open_course(root), UNIT)
    assert [(pair.first, pair.second) for pair in made.pairs] == [("ada", "bob")]
    (cell,) = made.pairs[0].cells
    assert cell.name == f"{NOTEBOOK}/{EXERCISE}" and "everybody" in cell.first
    assert made.skipped == ("eve",) and made.students == 4
    assert f"{NOTEBOOK}/mean_over_ranks" in made.cells and f"{NOTEBOOK}/check_mean_over_ranks" not in made.cells


def test_the_report_lists_answers_that_are_the_same_letter_by_letter(root, monkeypatch):
    """Without rebuilding a notebook, and without comparing answers with each other."""
    coursedir = results.open_course(root)
    monkeypatch.setattr(copies, "similar_pairs", None)
    monkeypatch.setattr(results, "answers", None)
    made = report.report_of(coursedir, UNIT)
    (same,) = made.same
    assert same.students == ("carl", "dora") and same.cells == same.known == (f"{NOTEBOOK}/{EXERCISE}",)
    page = report.render(made)
    assert "<strong>carl, dora</strong>: " in page and "autograder copies" in page
    assert page.index('id="flags"') < page.index("letter by letter") < page.index('id="hand-in"')


@pytest.mark.parametrize("command, told", [("report", "4 of 6 handed in"), ("copies", "1 pairs to look at")])
def test_the_commands_write_a_page_into_the_class_s_root(root, command, told):
    done = CliRunner().invoke(app, [command, UNIT, "--course", str(root)])
    assert done.exit_code == 0, done.output
    page = root / f"{command}-{UNIT}.html"
    assert told in done.output and page.stat().st_mode & 0o777 == 0o600
    assert "<!doctype html>" in page.read_text()[:20]


@pytest.mark.parametrize("command", ["report", "copies"])
def test_a_user_s_mistakes_are_one_line(root, tmp_path, command):
    for arguments, says in [
        ([command, "04_sampler", "--course", str(root)], "04_sampler"),
        ([command, UNIT, "--course", str(tmp_path)], "no course root"),
    ]:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 2 and says in done.output and "Traceback" not in done.output
        assert len(done.output.strip().splitlines()) == 1 and done.output.startswith("autograder: ")


def test_nothing_is_written_but_the_page(root, tmp_path):
    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file() and path.suffix != ".html"}

    before = files()
    for command in ("report", "copies"):
        assert (
            CliRunner()
            .invoke(app, [command, UNIT, "--course", str(root), "--to", str(tmp_path / "page.html")])
            .exit_code
            == 0
        )
    assert files() == before and json.loads((root / "submitted" / "ada" / UNIT / f"{NOTEBOOK}.ipynb").read_text())
