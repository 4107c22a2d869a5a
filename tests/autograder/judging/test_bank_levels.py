"""The levels that a wrong answer passes are on record, and another key may not change them."""

from __future__ import annotations

from dataclasses import replace

from autograder.judging import bank
from autograder.registry import find
from autograder.verdict import CaseResult, LevelResult, Result


def tried(path, verdicts):
    exercise = find("right_neighbour")
    cases = [CaseResult("level", "", 2, v, "turns_left" if v == "wrong" else "") for v in verdicts]
    levels = [LevelResult("level", 1, int(v == "passed"), v, [case]) for v, case in zip(verdicts, cases, strict=True)]
    answer = bank.Answer(exercise, path, "wrong", "turns_left", bank.recorded_levels(path.parent).get(path.name))
    return bank.Tried(answer, Result("00_start_here", "right_neighbour", "", len(levels), levels))


def test_an_answer_that_passes_other_levels_than_recorded_is_not_as_declared(tmp_path):
    path = tmp_path / "wrong_left.py"
    path.write_text("# verdict: wrong, diagnosis: turns_left\n")
    first = tried(path, ["passed", "wrong"])
    assert first.answer.recorded is None and first.as_declared
    bank.record([first])
    assert (tmp_path / "levels.txt").read_text() == "wrong_left.py 1 0\n"
    assert tried(path, ["passed", "wrong"]).as_declared
    other = tried(path, ["wrong", "wrong"])
    assert not other.as_declared
    assert bank.summary([other])["short"][0]["levels"] == "passed 0 0, recorded are 1 0"
    assert not tried(path, ["passed"]).other_levels, "a level that was not judged says nothing"


def test_answers_that_are_gone_lose_their_line_and_others_keep_it(tmp_path):
    for name in ("wrong_a.py", "wrong_b.py", "right_c.py"):
        (tmp_path / name).write_text("")
    bank.record([tried(tmp_path / name, ["passed", "wrong"]) for name in ("wrong_a.py", "wrong_b.py", "right_c.py")])
    (tmp_path / "wrong_a.py").unlink()
    (tmp_path / "wrong_d.py").write_text("")
    bank.record([tried(tmp_path / "wrong_d.py", ["wrong", "wrong"])])
    assert bank.recorded_levels(tmp_path) == {"wrong_b.py": (True, False), "wrong_d.py": (False, False)}


def test_an_answer_without_a_record_is_missing(tmp_path):
    folder = tmp_path / "00_start_here" / "right_neighbour"
    folder.mkdir(parents=True)
    (folder / "wrong_left.py").write_text("# verdict: wrong, diagnosis: turns_left\n")
    named = "00_start_here/right_neighbour/wrong_left.py: run `autograder bank 00_start_here/right_neighbour --record`"
    assert named in bank.missing(tmp_path)
    one = next(bank.answers(tmp_path))
    result = tried(one.path, ["passed", "wrong"]).result
    bank.record([bank.Tried(replace(one, recorded=None), result)])
    assert named not in bank.missing(tmp_path)
