"""The class's table of records: only those who want to be listed, under the name they chose, with what the grader has
measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.api import Gradebook
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course import OVERLAY
from autograder.grading import course_files
from autograder.grading.store import Store
from autograder.grading.submission import judging
from autograder.grading.submission.grades import Graded, ItemGrade
from autograder.reports import alike, records, results
from autograder.reports.marks import StudentMarks
from autograder.reports.results import SubmittedNotebook
from autograder.verdict import CaseResult, LevelResult, RecordResult, Result

ROOT = Path(__file__).resolve().parents[3]
UNIT, NOTEBOOK, EXERCISE = "03_collectives", "collectives", "ring_all_reduce"
CONFIG = """
from pathlib import Path
from autograder.grading.nbgrader_plugin import configure
c = get_config()
configure(c, Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "dl_2027"
"""
LINES = {  # student -> a cell of theirs
    "ada": "# my records: Ada L.",
    "bob": "x = 1\n   #  My Records:   the <b>fastest</b>\n# my records: a second line does not count",
    "carl": "# carl wants none of this, and says nothing",
    "dora": "# my records: Carl",
    "eve": "# my records: ada l.",
}


def graded(value: float, counted: bool = True, **more) -> Graded:
    """The judge's word on an answer that took so many seconds."""
    record = RecordResult("virtual time", "s", "8 ranks", value, 4e-5, **more)
    memory = RecordResult("bytes alive", "B", "8 ranks", 100.0, 50.0, counted=False)
    case = CaseResult("any", "", 8, "passed")
    levels = [LevelResult("any", 4, 4, "passed", [case])]
    result = Result(UNIT, EXERCISE, "Ring", 4, levels, records=[replace(record, counted=counted), memory])
    kept = judging._trimmed(result)
    return Graded(UNIT, [ItemGrade(f"check_{EXERCISE}", 4.0, 4.0, "passed", result=kept)], [])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Five students whose answers took 70, 43, 43, 50 and 60 us; carl does not want to be listed, dora not as dora."""
    folder = tmp_path_factory.mktemp("class")
    patch = pytest.MonkeyPatch()
    patch.setenv(OVERLAY, str(folder / "overlay"))
    (folder / "nbgrader_config.py").write_text(CONFIG)
    source = folder / "source" / UNIT / f"{NOTEBOOK}.ipynb"
    source.parent.mkdir(parents=True)
    solved = nbformat.read(ROOT / "solutions" / UNIT / f"{NOTEBOOK}.ipynb", as_version=4)
    solved.cells.append(new_code_cell("# my records: YOUR NAME"))
    nbformat.write(solved, source)
    store = Store(folder)
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        book.add_assignment(UNIT)
        for name in LINES:
            book.add_student(name)
        book.add_student("zoe")
        book.db.commit()
    for (name, line), value in zip(LINES.items(), (7e-5, 4.3e-5, 4.3e-5, 5e-5, 6e-5), strict=True):
        hand_in(folder, name, line)
        store.keep_result(f"of {name}", graded(value, bound=4e-5, why="a reason.").to_json())
        files = course_files.hashes(folder / "submitted" / name / UNIT)
        store.set_mark(UNIT, name, {"submitted": files, "results": {NOTEBOOK: f"of {name}"}})
    yield folder
    patch.undo()


def hand_in(folder: Path, student: str, line: str) -> None:
    notebook = nbformat.read(ROOT / "notebooks" / UNIT / f"{NOTEBOOK}.ipynb", as_version=4)
    notebook.cells += [new_code_cell("# my records: YOUR NAME"), new_code_cell(line)]
    path = folder / "submitted" / student / UNIT / f"{NOTEBOOK}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)


def test_the_table_has_those_who_want_it_in_the_order_of_what_they_took(root):
    made = records.records_of(results.open_course(root), UNIT)
    (board,) = made.boards
    assert (made.listed, made.handed_in) == (3, 5)
    assert (board.exercise, board.record, board.best, board.bound) == (EXERCISE, "virtual time", "40 us", "40 us")
    assert [(line.place, line.name, line.value, line.to_bound) for line in board.lines] == [
        (1, "the ?b?fastest??b?", "43 us", "+7.5 %"),
        (2, "ada l. (2)", "60 us", "+50 %"),
        (3, "Ada L.", "70 us", "+75 %"),
    ]
    assert made.refused == ("dora wants to be listed as Carl, which is the name of somebody else in the class.",)


def test_the_command_prints_it_and_writes_a_page(root):
    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file() and path.suffix != ".html"}

    before = files()
    done = CliRunner().invoke(app, ["records", UNIT, "--course", str(root)])
    assert done.exit_code == 0, done.output
    assert "3 of 5 want to be listed" in done.output and "   3  Ada L." in done.output
    page = (root / f"records-{UNIT}.html").read_text()
    assert "Ada L." in page and "43 us" in page and "a reason." in page
    for secret in ("carl", "Carl", "dora", "bytes alive"):
        assert secret not in page
    assert files() == before


def test_a_user_s_mistakes_are_one_line(root, tmp_path):
    for arguments in (["records", "04_sampler", "--course", str(root)], ["records", UNIT, "--course", str(tmp_path)]):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 2 and len(done.output.strip().splitlines()) == 1


def test_equal_values_share_a_place_and_what_nobody_counts_is_left_out():
    judged = [
        SubmittedNotebook(name, NOTEBOOK, graded(value))
        for name, value in zip("abcd", (3e-5, 2e-5, 2e-5, 4e-5), strict=True)
    ]
    judged += [SubmittedNotebook("e", NOTEBOOK, graded(1e-5, counted=False)), SubmittedNotebook("f", NOTEBOOK, None)]
    (board,) = records.boards_of(judged, {name: name.upper() for name in "abcdef"})
    assert [(line.place, line.name) for line in board.lines] == [(1, "B"), (1, "C"), (3, "A"), (4, "D")]
    assert [line.to_best for line in board.lines] == ["-50 %", "-50 %", "-25 %", "reached"]
    assert board.bound == "" and "no bound is known" in records.text(records.ClassRecords(UNIT, (board,), 6, 6))
    assert records.boards_of(judged, {}) == ()
    assert "Nothing to show" in records.render(records.ClassRecords(UNIT, (), 0, 6))


def test_results_of_before_there_were_records_have_none():
    older = graded(1e-5)
    del older.items[0].result["records"]
    assert records.boards_of([SubmittedNotebook("a", NOTEBOOK, older)], {"a": "A"}) == ()


def test_nobody_appears_under_somebody_else_s_name():
    rows = [StudentMarks("s1", "Ada", "Lovelace", "ada@uni.example"), StudentMarks("s2"), StudentMarks("s3")]
    for name in ("s1", "S1", "Ada  Lovelace", "lovelace, ada", "ada@uni.example"):
        shown, refused = records.names_to_show({"s2": name}, rows)
        assert (shown, len(refused)) == ({}, 1), name
        assert records.names_to_show({"s1": name}, rows) == ({"s1": name}, ())
    assert records.names_to_show({"s2": "s2", "s3": "a shrew"}, rows)[0] == {"s2": "s2", "s3": "a shrew"}


ALIKE = {
    "another alphabet": "\u0410d\u0430 L\u043ev\u0435lace",
    "words turned round": "Lovelace Ada",
    "a full stop": "Ada Lovelace.",
    "a hyphen": "Ada-Lovelace",
    "one word": "AdaLovelace",
    "an accent": "\u00c1da Lovel\u00e1ce",
    "a combining accent": "A\u0301da Lovelace",
    "wide letters": "\uff21\uff44\uff41 \uff2c\uff4f\uff56\uff45\uff4c\uff41\uff43\uff45",
    "letters of formulas": "\U0001d400\U0001d41d\U0001d41a Lovelace",
    "a letter without width": "A\u200bda Lovelace",
    "digits and capitals": "Ada L0veIace",
    "underscores": "_Ada_Lovelace_",
    "r and n": "Adarn Clew",
    "a large i": "Adam CIew",
    "two v": "Adam Clevv",
    "c and l": "Aclam Clew",
    "a digit one": "Ada Love1ace",
    "a number behind it": "Ada Lovelace2",
}
UNSEEN = {
    "a filler": "Ada Lovelace\u3164",
    "a filler of a syllable": "\u115fAda Lovelace",
    "an inherent vowel": "Ada Lovelace\u17b4",
    "letters of Cherokee": "\u13aada Lovelace",
    "letters of Lisu": "\ua4eeda Love\ua4e1ace",
    "letters of Coptic": "\u2c80da Lovelace",
    "letters of Deseret": "Ada L\U0001042cvelace",
    "letters of Limbu": "Ada Lov\u1971lace",
    "a syllable of Cree": "\u15c5da Lovelace",
    "a small capital": "\u1d00da Lovelace",
    "a letter of phonetics": "Ada Lovel\u0252ce",
    "a mark of stress": "Ada\u02c8 Lovelace",
    "half of another alphabet": "n\u043ebody",
    "Cherokee alone": "\u13aa\u13a0\u13aa",
}


@pytest.mark.parametrize("how", ALIKE)
def test_a_name_that_looks_like_somebody_else_s_is_refused(how):
    first, last = ("Adam", "Clew") if how in ("r and n", "a large i", "two v", "c and l") else ("Ada", "Lovelace")
    rows = [StudentMarks("s1", first, last, "ada@uni.example"), StudentMarks("s2", "Bob", "Boole"), StudentMarks("s3")]
    assert records.names_to_show({"s2": ALIKE[how]}, rows)[0] == {}
    assert records.names_to_show({"s1": ALIKE[how]}, rows) == ({"s1": ALIKE[how]}, ()), "it is one's own"


@pytest.mark.parametrize("how", UNSEEN)
def test_a_name_of_two_alphabets_or_with_something_unseen_is_refused(how):
    rows = [StudentMarks("s1", "Ada", "Lovelace"), StudentMarks("s2", "Bob", "Boole")]
    shown, (sentence,) = records.names_to_show({"s2": UNSEEN[how]}, rows)
    assert not shown and ("one alphabet" in sentence or "somebody else" in sentence)


CLASS = [
    StudentMarks("bob", "Bob", "Builder"),
    StudentMarks("mil", "Bob", "Miller"),
    StudentMarks("ada", "Ada", "Lovelace"),
    StudentMarks("gau", "Carl", "van der Gauss"),
    StudentMarks("nina55", "Nina", "Li"),
    StudentMarks("wang", "小明", "王"),
    StudentMarks("eve", "Eve", "Miller"),
    StudentMarks("zoe"),
]
NOT_SHOWN = {
    "dotless": "Bob Bu\u0131lder",
    "dotless, and a large i": "Bob Bu\u0131Ider",
    "an eight": "8ob Miller",
    "a six": "Nina6 Li",
    "a thirteen": "13ob Mi11er",
    "n and i": "Bob NIiller",
    "n and l": "Bob Nliller",
    "i, v and i": "Bob IVIiller",
    "sharp s": "\u00dfob Miller",
    "fives": "Carl van der Gau55",
    "a three and a four": "4da Lov3lace",
    "another alphabet alone": "\u0412\u043e\u044c",
    "junior": "Bob Miller Jr",
    "a title": "Dr Bob Miller",
    "a title in one word": "DrBobMiller",
    "among letters": "xxbobmillerxx",
    "numbers around it": "7 Bob Miller 7",
    "turned round": "Miller, Bob the 2nd",
    "a surname": "Lovelace",
    "a surname's letters": "L o v e l a c e",
    "a surname with more": "Lovelace's fan",
    "part of a surname": "Gauss the Great",
    "a short surname": "the Li",
    "a surname in pieces": "Dr Love lace",
    "a surname behind a capital": "drXLovelaceX",
    "a surname between digits": "1Lovelace2",
    "an account": "it is nina55",
    "signs": "\u738b\u5c0f\u660e\u5148\u751f",
}


@pytest.mark.parametrize("how", NOT_SHOWN)
def test_a_name_that_has_somebody_else_s_in_it_is_refused(how):
    rows = [*CLASS, StudentMarks("bow", "Bob", "Boь")] if how == "another alphabet alone" else CLASS
    shown, refused = records.names_to_show({"zoe": NOT_SHOWN[how]}, rows)
    assert (shown, len(refused)) == ({}, 1)


def test_one_s_own_names_are_shown_whatever_others_are_called():
    own = {
        "bob": "Bob the Builder",
        "mil": "Bob Miller Jr",
        "eve": "Miller, E.",
        "gau": "C. F. Gauss",
        "nina55": "NINA",
    }
    own |= {"wang": "王", "ada": "Ada King Lovelace"}
    assert records.names_to_show(own, CLASS) == (dict(sorted(own.items())), ())
    shown, _ = records.names_to_show({"eve": "Dr Bob Miller", "mil": "Miller 8"}, CLASS)
    assert shown == {"mil": "Miller 8"}, "a surname of two is both's, a whole name is not"


def test_what_looks_like_a_letter_is_that_letter_at_once():
    for letters in alike._LOOKS:
        assert letters.translate(alike._ALIKE) == letters
    for pair, one in alike._PAIRS:
        assert pair.translate(alike._ALIKE) == pair and one.translate(alike._ALIKE) == one
        assert not any(one in other for other, _ in alike._PAIRS), "what a pair becomes is no part of another one"
    seen = "".join(alike._LOOKS.values())
    assert len(seen) == len(set(seen))
    assert all(one.casefold() == one for one in seen if one != "\u017f"), "looked up after case is left out"


def test_those_who_have_one_name_are_both_shown():
    rows = [StudentMarks("s1", "Ada", "Bern"), StudentMarks("s2", "Ada", "Bem")]
    assert records.names_to_show({"s1": "Ada Bern", "s2": "Ada Bem"}, rows)[0] == {
        "s1": "Ada Bern",
        "s2": "Ada Bem (2)",
    }


NAMES = (
    "王小明",
    "محمد علي",
    "김철수",
    "たなかカナ",
    "ταχύς",
    "Nguyễn Văn A",
    "José Muñoz",
    "Łukasz Żółw",
    "Ağrı Əliyev",
)
NAMES += ("Straße 7", "O'Brien-Smith Jr.", "הילה", "สมชาย", "Ørsted", "प्रिया", "გიორგი", "Čapek", "team_42", "人々")


def test_pseudonyms_stay_as_they_are_chosen():
    rows = [
        StudentMarks("s1", "Ada", "Lovelace"),
        StudentMarks("s2", "Bob", "Boole"),
        StudentMarks("s3", "Ольга", "Попова"),
    ]
    for name in ("the fastest", "Ada B.", "Ada", "Love 2 learn", "Оля", "速い", "...", *NAMES):
        assert records.names_to_show({"s2": name}, rows) == ({"s2": name}, ()), name
    assert records.names_to_show({"s1": "nobody", "s2": "n0body"}, rows)[0] == {
        "s1": "nobody",
        "s2": "n0body (2)",
    }


def test_no_released_notebook_lists_anybody():
    for path in sorted(ROOT.glob("notebooks/*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found = [name.strip() for cell in cells for name in records.LINE.findall("".join(cell["source"]))]
        assert not any(found), path.name


def test_no_line_of_blanks_keeps_the_page_busy():
    """With `(\\S.*?)[ \\t]*$` this took a minute: twice as many blanks, four times as long."""
    cell = new_code_cell(
        "# my records: ada" + " " * 200_000 + "l\n#" + " " * 200_000 + "\n# my records:" + "\t " * 100_000
    )
    assert records.listed_as(new_notebook(cells=[cell])).startswith("ada")
