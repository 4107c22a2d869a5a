"""The class report: what an instructor must find on the page, and what students must not be able to put there."""

from __future__ import annotations

from datetime import datetime, timedelta
from html.parser import HTMLParser

import pytest

from autograder.grading.submission.grades import Graded, ItemGrade
from autograder.grading.submission.reading import SubmissionFlag
from autograder.pages import coded, marked, span
from autograder.reports import report, results
from autograder.reports.marks import CellMark, Column, Marks, StudentMarks
from autograder.verdict import CaseResult, LevelResult, Result

UNIT = "03_collectives"
HANDED_IN = datetime(2026, 11, 20, 12)
COLUMNS = (
    Column("collectives", "check_mean_over_ranks", "mean_over_ranks", 2.0, False),
    Column("collectives", "check_ring_all_reduce", "ring_all_reduce", 4.0, False),
    Column("collectives", "explain", "explain", 5.0, True),
)
MISTAKES = {  # diagnosis -> (verdict, why, how)
    "sum_for_mean": ("wrong", "The values were summed but not divided by the number of ranks.", "Divide by `p`."),
    "deadlock": ("hung", "Rank 0 waits for rank 1.", "Receive on one side first."),
    "unrecognised": ("wrong", "The result is not what it should be.", ""),
    "not_written": ("missing", "Nothing is written yet.", ""),
    "NameError": ("raised", "NameError at cell 5, line 3: <b>name</b> 'x' is not defined.", ""),
}


def item(cell: str, points: float, diagnosis: str = "") -> ItemGrade:
    """What the judge says of a check that passed, or failed with this diagnosis."""
    verdict, why, how = MISTAKES[diagnosis] if diagnosis else ("passed", "", "")
    case = CaseResult(
        "any size", "4 ranks", 4, verdict, diagnosis, ["rank 0 waits in recv"] * (verdict == "hung"), why, how
    )
    score = 0 if diagnosis else int(points)
    result = Result(
        UNIT,
        cell.removeprefix("check_"),
        "A title",
        int(points),
        [LevelResult("any size", int(points), score, verdict, [case])],
    )
    return ItemGrade(cell, float(score), points, verdict, diagnosis, {**result.to_json(), "title": "A title"})


def student(
    name: str,
    first: str = "",
    second: str = "",
    explain: float | None = None,
    late: float = 0.0,
    flags=(),
    last_name: str = "",
):
    """(row of the gradebook, what the judge said) of a student with these mistakes."""
    items = [item("check_mean_over_ranks", 2.0, first), item("check_ring_all_reduce", 4.0, second)]
    marks = {("collectives", one.grade_id): CellMark(one.points, False) for one in items}
    marks["collectives", "explain"] = CellMark(explain or 0.0, explain is None)
    score = sum(mark.score for mark in marks.values())
    row = StudentMarks(
        name, "", last_name, timestamp=HANDED_IN + timedelta(seconds=late), seconds_late=late, score=score, marks=marks
    )
    return row, results.SubmittedNotebook(name, "collectives", Graded(UNIT, items, list(flags)), tuple(flags))


def of_class(*those, absent=()) -> report.ClassReport:
    rows = sorted([*(row for row, _ in those if row), *absent], key=lambda row: row.student)
    marks = Marks(UNIT, 11.0, COLUMNS, tuple(rows))
    return report.class_report(
        marks, [judged for _, judged in those if judged], "dl_2027", datetime(2026, 11, 23, 8, 5)
    )


@pytest.fixture(scope="module")
def a_class() -> report.ClassReport:
    crowd = [student(f"s{k}", "sum_for_mean" if k < 4 else "", "deadlock" if k == 0 else "", 5.0) for k in range(6)]
    edited = SubmissionFlag("edited", "The cell check_mean_over_ranks was edited: the released one was used.")
    return of_class(
        *crowd,
        student("t1", "NameError", "unrecognised", late=7200.0, flags=[edited]),
        absent=[StudentMarks("zoe", "Zoe", "Last")],
    )


def test_counts_are_those_of_the_gradebook(a_class):
    assert (a_class.students, len(a_class.handed_in), a_class.absent) == (8, 7, ["zoe"])
    assert a_class.full == 2 and a_class.mean == pytest.approx((5 + 3 * 9 + 2 * 11 + 0) / 7)
    assert [row.student for row in a_class.late] == ["t1"] and a_class.nothing == []
    mean, ring = a_class.exercises
    assert mean.full_share == pytest.approx(2 / 7) and mean.verdicts == {"wrong": 4, "raised": 1, "passed": 2}
    assert ring.mean == pytest.approx(4 * 5 / 7)
    (explain,) = a_class.to_read
    assert (explain.waiting, explain.read, explain.mean) == (1, 6, 5.0)


def test_mistakes_are_counted_with_the_hint_that_was_given(a_class):
    first = a_class.exercises[0].mistakes[0]
    assert (first.name, first.count, first.students) == ("sum_for_mean", 4, ("s0", "s1", "s2", "s3"))
    assert first.hint == "The values were summed but not divided by the number of ranks. Divide by `p`."
    assert [mistake.name for mistake in a_class.talk] == ["sum_for_mean"], (
        "what one student did is nothing to talk about"
    )
    assert [(s.student, s.exercise, s.verdict) for s in a_class.stopped] == [("s0", "ring_all_reduce", "hung")]
    assert "rank 0 waits in recv" in a_class.stopped[0].facts


def test_a_mistake_of_one_name_in_two_exercises_was_made_twice():
    made = of_class(student("s1", "sum_for_mean", "sum_for_mean"), student("s2", "NameError"))
    (about,) = made.talk
    assert (about.name, about.exercises, about.students) == (
        "sum_for_mean",
        ("mean_over_ranks", "ring_all_reduce"),
        ("s1",),
    )
    page = report.render(made)
    assert "<strong>1 student</strong> in <code>mean_over_ranks</code> and <code>ring_all_reduce</code>: " in page


def test_what_was_not_written_is_no_mistake_made_most_often():
    made = of_class(*(student(f"s{k}", "not_written" if k else "unrecognised") for k in range(4)))
    mean, ring = made.exercises
    assert [mistake.name for mistake in mean.mistakes] == ["not_written", "unrecognised"], "it is counted all the same"
    assert mean.most_frequent.name == "unrecognised" and ring.most_frequent is None
    assert 'unrecognised <span class="tag">1</span>' in report.render(made)


def test_points_that_a_person_may_give_stand_in_the_list_of_what_to_do():
    sentence = "check_ring_all_reduce: This follows from mean_over_ranks: a person decides whether this earns 4 points."
    made = of_class(student("s1", "sum_for_mean", "sum_for_mean", flags=[SubmissionFlag("follows", sentence, True)]))
    (todo,) = [todo for todo in made.todo if "follows" in todo.why]
    assert (todo.student, todo.where) == ("s1", "ring_all_reduce") and "4 points" in todo.why
    assert todo.action.endswith("Where it is one mistake, give the points there.")
    assert not made.flags, "nothing that touches integrity"


def test_hints_that_differ_are_told_as_an_example():
    those = [student(f"s{k}", "NameError") for k in range(3)]
    those[0][1].graded.items[0].result["cases"][0]["why"] = "NameError at cell 9."
    (mistake,) = of_class(*those).exercises[0].mistakes
    assert mistake.hints == 2 and "line 3" in mistake.hint
    assert "for example: " in report.render(of_class(*those))


def test_what_needs_a_person_comes_first_and_says_why():
    ok = student("ok", explain=3.0)
    unreadable = student(
        "a_cell", explain=3.0, flags=[SubmissionFlag("unreadable", "1 cell could not be read and was left out.", True)]
    )
    refused = StudentMarks("broken", score=0.0, marks={})
    broken = results.SubmittedNotebook(
        "broken",
        "collectives",
        None,
        (SubmissionFlag("refused", "The submission was refused: no JSON.", True),),
        "no JSON.",
    )
    fault = student(
        "faulty",
        explain=3.0,
        flags=[SubmissionFlag("fault", "check_ring_all_reduce: the grader failed on it (OSError)", True)],
    )
    fault[0].marks["collectives", "check_ring_all_reduce"] = CellMark(0.0, True)
    silent = student("silent", explain=3.0)
    silent[0].marks["collectives", "check_mean_over_ranks"] = CellMark(0.0, True)
    corrected = student("corrected", explain=3.0)  # a score given by hand, then handed in again
    corrected[0].marks["collectives", "check_ring_all_reduce"] = CellMark(3.5, True, by_hand=True)
    stale = student("stale", explain=3.0)[0], results.SubmittedNotebook("stale", "collectives", None)
    fresh = StudentMarks("fresh"), results.SubmittedNotebook("fresh", "collectives", None)
    stranger = student("stranger")[1]
    made = of_class(ok, unreadable, (refused, broken), fault, silent, corrected, stale, fresh, (None, stranger))
    assert [(t.student, t.where) for t in made.todo] == [
        ("fresh", "everything"),
        ("stranger", "everything"),
        ("broken", "notebook collectives"),
        ("faulty", "ring_all_reduce"),
        ("silent", "mean_over_ranks"),
        ("a_cell", "notebook collectives"),
        ("corrected", "ring_all_reduce"),
        ("stale", "notebook collectives"),
    ]
    assert all(t.why.endswith(".") and t.action.endswith(".") for t in made.todo)
    assert next(t.why for t in made.todo if t.student == "corrected").startswith(
        "Graded again since a score was given by hand"
    )
    page = report.render(made)
    assert page.index('id="todo"') < page.index('id="talk"') < page.index('id="scores"')
    assert "The grader failed on it (OSError)." in page


def test_an_empty_class_and_one_without_results_have_a_page():
    for made in (of_class(), of_class(absent=[StudentMarks("zoe")]), of_class(student("s1", explain=1.0))):
        Checked(report.render(made))
    nothing = of_class(absent=[StudentMarks("zoe")])
    assert (nothing.mean, nothing.median, nothing.talk, nothing.verdicts) == (None, None, [], [])


class Checked(HTMLParser):
    """Reads a page: every element is closed in its order; keeps the attributes of all elements."""

    EMPTY = ("meta", "wbr", "br", "rect", "path", "i", "img")

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]


EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><style>*{}</style>`</code><iframe>` javascript:x \ud800"
)


def test_nothing_that_a_student_wrote_becomes_part_of_the_page(monkeypatch):
    monkeypatch.setitem(MISTAKES, "NameError", ("hung", EVIL, EVIL))
    flags = [SubmissionFlag(EVIL, EVIL, True)]
    row, judged = student("s1", "NameError", "NameError", flags=flags, last_name=EVIL)
    judged.graded.items[0].result["cases"][0]["differs"] = [EVIL]
    judged.graded.items[0].diagnosis = EVIL
    evil_row = StudentMarks(EVIL, EVIL, EVIL)
    page = report.render(of_class((row, judged), absent=[evil_row]))
    checked = Checked(page)
    assert {tag for tag, _ in checked.elements} & {"script", "img", "iframe", "object", "link", "form", "base"} == set()
    assert len(checked.all("style")) == 1
    assert not [
        name for _, attributes in checked.elements for name in attributes if name.startswith("on") or name == "src"
    ]
    assert all(attributes["href"].startswith("#") for attributes in checked.all("a"))
    assert page.count("&lt;script&gt;alert(1)") >= 5, "escaped, and still there to be read"
    assert "default-src 'none'" in checked.all("meta")[1]["content"]
    page.encode()


def test_the_page_stands_alone_and_can_be_listened_to(a_class):
    page = report.render(a_class)
    checked = Checked(page)
    assert "http:" not in page and "https:" not in page and "url(" not in page and "@import" not in page
    assert all(attributes.get("scope") in ("col", "row") for attributes in checked.all("th"))
    assert checked.all("html")[0]["lang"] == "en"
    named = {attributes["id"] for _, attributes in checked.elements if "id" in attributes}
    assert {attributes["href"][1:] for attributes in checked.all("a")} <= named
    assert "prefers-color-scheme: dark" in page and "@media print" in page


def test_scores_are_counted_where_they_fall():
    assert report.distribution([0, 3, 2.5, 4], 4.0, 8) == [("0", 1), ("1", 0), ("2", 0), ("3", 2), ("4", 1)]
    assert report.distribution([5.5], 4.0, 8)[-1] == ("6", 1), "extra credit has a line of its own"
    assert report.distribution([], 3.0, 8) == [("0", 0), ("1", 0), ("2", 0), ("3", 0)]
    ranges = dict(report.distribution([101.5, 99, 0, 10], 100.0, 24))
    assert len(ranges) == 10 and ranges["90 to 100"] == 2 and ranges["0 to 10"] == ranges["10 to 20"] == 1


def test_scores_and_verdicts_stand_in_tables(a_class):
    page = report.render(a_class)
    assert '<th scope="row" class="n">11</th><td class="n">2</td><td><i style="width:28.6%"></i></td>' in page
    assert "5 with 0, 2 with 2" in page and a_class.said == ["passed", "wrong", "raised", "hung"]


def test_small_words():
    assert [span(seconds) for seconds in (5, 3600, 12_000, 190_000)] == ["1 min", "1 h 0 min", "3 h 20 min", "2 d 4 h"]
    assert coded("use `x` & `y`") == "use <code>x</code> &amp; <code>y</code>"
    assert coded("one ` alone") == "one ` alone"
    assert len(coded("x" * 10_000)) < 700
    assert marked("a <b> c", [(0, 1), (2, 5)]) == "<mark>a &lt;b&gt;</mark> c"


def test_a_page_is_its_owners_alone(tmp_path):
    path = tmp_path / "page.html"
    report.write_page(path, "one")
    report.write_page(path, "two")
    assert path.read_text() == "two" and path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
