"""The levels that a wrong answer passes are on record, and another key may not change them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.judging import bank
from autograder.registry import find
from autograder.verdict import CaseResult, LevelResult, Result

NAME = "00_start_here/right_neighbour"
LEFT = "    return (rank - 1) % world_size\n"


@pytest.fixture
def folder(tmp_path):
    """A bank with two wrong answers, to one exercise."""
    (tmp_path / "00_start_here").mkdir()
    one = "# %% wrong_{}: wrong, turns_left\ndef right_neighbour(rank, world_size):\n" + LEFT
    (tmp_path / f"{NAME}.py").write_text(one.format("a") + "\n" + one.format("b"))
    return tmp_path


def tried(answer, verdicts):
    cases = [CaseResult("level", "", 2, v, "turns_left" if v == "wrong" else "") for v in verdicts]
    levels = [LevelResult("level", 1, int(v == "passed"), v, [case]) for v, case in zip(verdicts, cases, strict=True)]
    return bank.Tried(answer, Result("00_start_here", "right_neighbour", "", len(levels), levels))


def test_an_answer_that_passes_other_levels_than_recorded_is_not_as_declared(folder):
    first, _ = bank.answers(folder)
    assert first.exercise is find("right_neighbour") and first.levels is None
    assert tried(first, ["passed", "wrong"]).as_declared
    bank.record([tried(first, ["passed", "wrong"])], folder)
    assert "# %% wrong_a: wrong, turns_left, levels 1 0\n" in (folder / f"{NAME}.py").read_text()
    first, second = bank.answers(folder)
    assert (first.levels, second.levels) == ((True, False), None)
    assert tried(first, ["passed", "wrong"]).as_declared
    other = tried(first, ["wrong", "wrong"])
    assert not other.as_declared
    assert bank.summary([other])["short"][0]["levels"] == "passed 0 0, recorded are 1 0"
    assert not tried(first, ["passed"]).other_levels, "a level that was not judged says nothing"


def test_others_keep_their_record(folder):
    first, second = bank.answers(folder)
    bank.record([tried(first, ["passed", "wrong"])], folder)
    bank.record([tried(second, ["wrong", "wrong"])], folder)
    assert [answer.levels for answer in bank.answers(folder)] == [(True, False), (False, False)]


def test_an_answer_without_a_record_is_missing(folder):
    named = f"{NAME}/wrong_a.py: run `autograder bank {NAME} --record`"
    assert named in bank.missing(folder)
    first, _ = bank.answers(folder)
    bank.record([tried(replace(first, levels=None), ["passed", "wrong"])], folder)
    assert named not in bank.missing(folder)
