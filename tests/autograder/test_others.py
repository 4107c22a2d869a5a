"""Other right answers: one for every exercise, with a sentence; seen after the second pass, and not before."""

from __future__ import annotations

import importlib
import json

import pytest

from autograder import answers, course, others
from autograder.registry import all_exercises
from autograder.verdict import CaseResult, LevelResult, Result

check = importlib.import_module("autograder.check")
EXERCISES = [(exercise.unit, exercise.function) for exercise in all_exercises()]


@pytest.mark.parametrize(("unit", "exercise"), EXERCISES, ids=lambda name: name)
def test_every_exercise_has_an_answer_with_a_sentence(unit, exercise):
    found = others.in_bank(others.BANK, unit, exercise)
    assert found and len({one.differs for one in found}) == len(found)
    for one in found:
        assert one.differs.endswith(".") and one.differs.count("`") % 2 == 0 and 30 < len(one.differs) < 220
        assert "verdict:" not in one.source and "differs:" not in one.source
        compile(one.source, exercise, "exec")


def test_no_wrong_answer_carries_a_sentence():
    entries = [entry for place in answers.exercises(others.BANK) for entry in answers.of_exercise(others.BANK, *place)]
    told = [entry for entry in entries if "# differs:" in entry.text]
    assert told and all(entry.right for entry in told)


def test_a_class_gets_those_of_the_units_that_are_named_and_cannot_read_them_by_accident(tmp_path):
    (tmp_path / "overlay").mkdir()
    assert course.Course(tmp_path).answers_shown() == []
    (tmp_path / "overlay" / "answers.txt").write_text("01_mpi_pi  # since Monday\n\n# 02_point_to_point\n")
    units = course.Course(tmp_path).answers_shown()
    assert units == ["01_mpi_pi"]
    file = tmp_path / "others.json"
    file.write_text(others.packed(units))
    assert {name.split("/")[0] for name in json.loads(file.read_text())} == {"01_mpi_pi"}
    assert "def " not in file.read_text() and "return" not in file.read_text()
    given = others.others("01_mpi_pi", "fair_share", file)
    assert given == others.in_bank(others.BANK, "01_mpi_pi", "fair_share")[: others.MOST]
    assert others.others("02_point_to_point", "exchange", file) == []
    for content in ("", "[]", '{"01_mpi_pi/fair_share": "no"}', '{"01_mpi_pi/fair_share": "eJwDAAAAAAE="}'):
        file.write_text(content)
        assert others.others("01_mpi_pi", "fair_share", file) == []


def result(verdict: str) -> Result:
    case = CaseResult("l", "", 1, verdict)
    level = LevelResult("l", 1, int(verdict == "passed"), verdict, [case])
    return Result("01_mpi_pi", "fair_share", "Fair shares", 1, [level])


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A folder outside of any work/, and a kernel in which nothing has passed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUTOGRADER_ANSWERS", raising=False)
    check._passes.clear()
    return tmp_path


@pytest.mark.parametrize("kept", [False, True])
def test_they_are_shown_from_the_second_pass_on(nowhere, kept):
    if kept:
        (nowhere / ".course.json").write_text("{}")
    assert check._kept(result("passed"), "how") == ""
    assert check._kept(result("wrong"), "how") == ""
    page = check._kept(result("passed"), "how")
    assert page.count("<details") == 2 and "open" not in page and "def fair_share(" in page
    check._passes.clear()  # another kernel
    assert bool(check._kept(result("passed"), "how")) == kept


def test_the_students_own_answer_is_no_other_one(nowhere):
    own = others.in_bank(others.BANK, "01_mpi_pi", "fair_share")[0].source
    own = own.replace("def fair_share(n: int,", "import math\n\n\ndef fair_share(n,").replace(
        "):", "):\n    'Mine.'", 1
    )
    check._kept(result("passed"), "how", own)
    assert check._kept(result("passed"), "how", own).count("<details") == 1
    assert check._kept(result("passed"), "how", "def fair_share(").count("<details") == 2


def test_an_instructor_can_say_no(nowhere, monkeypatch):
    check._kept(result("passed"), "how")
    assert check._kept(result("passed"), "why") == ""
    monkeypatch.setenv("AUTOGRADER_ANSWERS", "no")
    assert check._kept(result("passed"), "how") == ""
    monkeypatch.delenv("AUTOGRADER_ANSWERS")
    assert check._kept(result("passed"), "how")


def test_an_answer_is_escaped():
    page = others.as_html(others.Other("`a<b` is <i>not</i> it.", "x = a < b"), "Another")
    assert "<code>a&lt;b</code> is &lt;i&gt;" in page and "x = a &lt; b" in page
