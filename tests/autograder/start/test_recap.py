"""The recap: three to five questions for every unit, each with an answer that holds, back when they are due."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from autograder import personal, progress
from autograder.start import recap

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import build_notebooks  # noqa: E402

UNITS = build_notebooks.units(ROOT)
QUESTIONS = recap.questions()


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_but_the_first_opens_with_three_to_five_questions_on_units_before_it(unit):
    asked = recap.due(unit)
    assert len(asked) == len(set(asked)) and (3 <= len(asked) <= 5 or unit == UNITS[0])
    assert all(question.unit < unit for question in asked)
    assert bool(recap.as_markdown(unit)) == bool(asked)


def test_every_question_is_asked_after_one_unit_and_the_first_of_a_unit_after_three_and_six():
    known = sorted({question.unit for question in QUESTIONS})
    assert set(known) <= set(UNITS)
    place = {unit: k for k, unit in enumerate(known)}
    after = {question.key: Counter() for question in QUESTIONS}
    for unit in known:
        for question in recap.due(unit):
            after[question.key][place[unit] - place[question.unit]] += 1
    for unit in known:
        of = [question for question in QUESTIONS if question.unit == unit]
        assert len(of) == recap.NEXT
        left = len(known) - 1 - place[unit]
        for k, question in enumerate(of):
            assert after[question.key] == Counter(back for back in ((1, 3, 6) if k == 0 else (1,)) if back <= left)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.key)
def test_an_answer_holds_and_others_do_not(question):
    assert question.judge(question.answer) is True and question.judge(f" {question.answer})") is True
    assert question.judge("?") is None and question.judge("") is None
    assert question.ask.endswith("?") and question.why.endswith(".") and question.said
    if question.choices:
        assert len(set(question.choices)) == len(question.choices) >= 3
        assert [question.judge(letter) for letter in question.letters].count(True) == 1
        with pytest.raises(ValueError, match="one of a, b, c is wanted"):
            question.judge("z")
    else:
        assert question.judge(question.answer * 1.1) is False and question.judge(-question.answer) is False
        assert question.tolerance <= 0.01
        with pytest.raises(ValueError, match="a number is wanted"):
            question.judge("many")


def test_names_are_unique_and_answers_are_not_all_the_same_letter():
    assert len({question.key for question in QUESTIONS}) == len(QUESTIONS)
    letters = Counter(question.answer for question in QUESTIONS if question.choices)
    assert set(letters) == {"a", "b", "c"} and max(letters.values()) < 0.5 * sum(letters.values())


def test_what_the_page_shows_and_the_cell_asks_for():
    text = recap.as_markdown("05_gradient_all_reduce")
    numbers = re.findall(r"^(\d)\. \(unit (\d\d)\)", text, re.MULTILINE)
    assert [unit for _, unit in numbers] == ["04", "04", "04", "02"]
    cell = recap.as_cell("05_gradient_all_reduce")
    assert 'recap("05", "?", "?", "?", "?")' in cell and max(map(len, cell.splitlines())) <= 88
    compile(cell, "cell", "exec")


def test_answers_are_judged_at_once_and_counted(tmp_path, monkeypatch, capsys):
    (tmp_path / personal.OF_WORK).write_text("{}")
    monkeypatch.chdir(tmp_path)
    recap.recap("01", "b", "?", "x")
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("1. right. Copies of the model save time") and second == "2. not answered yet."
    assert third == "3. a number is wanted, this is 'x'."
    recap.recap("01", "A", "a", 9)
    assert capsys.readouterr().out.startswith("1. not A. Unit 00 has it.\n2. right.")
    kept = json.loads((tmp_path / progress.FILE).read_text())["recap"]
    assert kept["00_start_here/which_parallelism"] == {"right": 1, "wrong": 1} and len(kept) == 3
    recap.recap("01", "a")
    assert capsys.readouterr().out == "recap: unit 01 has 3 questions, these are 1 answers.\n"


def test_a_wrong_answer_shows_the_right_one_only_unfolded():
    question = recap.due("01")[0]
    page = recap._html([recap._judged(question, "c")])
    assert "not c. Unit 00 has it." in page.split("<details>")[0] and question.why in page.split("<details>")[1]
    page = recap._html([recap._judged(question, "<b>")])
    assert "<b>" not in page and "&lt;b&gt;" in page
