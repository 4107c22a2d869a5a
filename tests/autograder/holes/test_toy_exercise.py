"""An exercise with a known hole, from its mutants to the exit status: what is found, recorded, and stale."""

from __future__ import annotations

import pytest

from autograder.holes import command, records, run, trying
from autograder.holes.trying import MutantJudge
from autograder.judging import bank
from autograder.judging.case import judge_case

MODULE = '''
from autograder.exercise import Case, Exercise, Tensor

import numpy as np


class CountAbove(Exercise):
    """How many are above a limit"""

    signature = "count_above(values, limit)"
    runtime = "plain"
    levels = {"counted": 1}

    def cases(self, rng):
        limit = int(rng.integers(1, 3))
        lists = [(2, 4, 6), (*EDGE,), (6, 8, limit)]
        return [Case("counted", 1, (list(values), 5), known={"n": sum(v > 5 for v in values)}) for values in lists]

    def expected(self, case):
        return [case.known["n"]]
'''
ANSWER = """# verdict: passed
def count_above(values, limit):
    if not values:
        return 0
    found = [v for v in values if v > limit]
    return len(found)
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A course with one exercise, whose cases never have a value at the limit, and never no value at all."""
    folder = tmp_path / "autograder" / "exercises"
    folder.mkdir(parents=True)
    (folder / "unit_90_toy.py").write_text(MODULE.replace("*EDGE,", "7, 9"))
    place = tmp_path / "bank" / "90_toy" / "count_above"
    place.mkdir(parents=True)
    (place / "right_list.py").write_text(ANSWER)
    monkeypatch.setenv("COURSE_OVERLAY", str(tmp_path / "autograder"))
    return tmp_path


def options_of(root, **more) -> run.Options:
    return run.Options(bank=root / "bank", records=root / "holes", results=root / "results", **more)


def report_of(root, warm, **more) -> run.HolesReport:
    options = options_of(root, **more)
    (answer,) = run.chosen(options, "90_toy", None)
    return run.report_of(answer, warm, options)


def names(report: run.HolesReport) -> set[str]:
    return {mutant.name for mutant, _ in report.open()}


def test_a_hole_is_found_and_a_case_closes_it(toy, warm):
    report = report_of(toy, warm, keys=2)
    assert {"comparison turned:5:35", "branch never taken:3:8", "one more:4:16"} <= names(report)
    assert not report.failed and not report.is_whole and report.count("killed") >= 5
    assert [(spot.line, spot.what) for spot in report.reached.missed] == [(4, "line")]
    text = "\n".join(command.lines_of(report))
    assert "- found = [v for v in values if v > limit]" in text and "line 4 is run by no case: return 0" in text

    module = toy / "autograder" / "exercises" / "unit_90_toy.py"
    edge = MODULE.replace("(*EDGE,), ", "(5, 7), (), ")
    module.write_text(edge)
    again = report_of(toy, warm, keys=2, survivors=True)
    assert "comparison turned:5:35" not in names(again) and not again.reached.missed


def test_a_mutant_that_breaks_the_judge_is_told_and_the_others_are_judged(toy, warm, monkeypatch):
    def judged(*arguments):
        result = judge_case(*arguments)
        if result.verdict == "wrong":
            raise TypeError("list indices must be integers")
        return result

    monkeypatch.setattr(trying, "judge_case", judged)
    report = report_of(toy, warm, keys=1)
    broken = {fate.how for _, fate in report.fates if fate.state == "breaks the judge"}
    assert broken == {"TypeError: list indices must be integers"} and not report.is_whole
    assert report.count("alive") and report.count("breaks the judge") < len(report.fates)
    assert "breaks the judge" in "\n".join(command.lines_of(report))


def test_what_hangs_on_the_key_is_a_hole_of_its_own(toy, warm):
    module = toy / "autograder" / "exercises" / "unit_90_toy.py"
    module.write_text(MODULE.replace("*EDGE,", "4 + limit, 9"))
    (answer,) = run.chosen(options_of(toy), "90_toy", None)
    with MutantJudge(answer.exercise, warm) as judge:
        fate = judge.fate(ANSWER.replace("v > limit", "v >= limit"))
        assert fate.state == "by key" and {None, 1} == set(fate.fails.values())
        assert judge.fate(ANSWER.replace("v > limit", "v < limit")).state == "killed"
        assert judge.is_fixed(0) and not judge.is_fixed(1)


def test_a_recorded_equivalent_is_accepted_and_an_empty_reason_is_not(toy, warm):
    report, options = report_of(toy, warm, keys=2), options_of(toy)
    lived = len(list(report.open()))
    assert run.record([report], options) == lived
    assert len(records.without_reason("90_toy", toy / "holes")) == lived
    path = toy / "holes" / "90_toy.toml"
    path.write_text(path.read_text().replace('reason = ""', 'reason = "Nobody counts at the limit."'))
    assert command.bad_records(["90_toy"], options) == []
    again = report_of(toy, warm, keys=2)
    assert again.count("equivalent") == lived + report.count("equivalent") and not names(again) and not again.needless


def test_a_stale_record_and_one_of_a_killed_mutant_are_named(toy, warm):
    gone = ("one more", "return 41", "return 42", 0)
    killed = (
        "comparison turned",
        "found = [v for v in values if v > limit]",
        "found = [v for v in values if v >= limit]",
    )
    module = toy / "autograder" / "exercises" / "unit_90_toy.py"
    module.write_text(MODULE.replace("*EDGE,", "5, 9"))
    entries = [records.Equivalent("count_above/right_list.py", "It is so.", (gone, (*killed, 0)))]
    records.write("90_toy", entries, toy / "holes")
    assert ["no such mutant any more" in line for line in command.bad_records(["90_toy"], options_of(toy))] == [True]
    report = report_of(toy, warm, keys=2)
    assert len(report.needless) == 2 and "but killed (wrong" in " ".join(report.needless) and not report.is_whole


def test_what_is_known_is_not_judged_again(toy, warm, monkeypatch):
    first = report_of(toy, warm, keys=1)
    monkeypatch.setattr(MutantJudge, "fate", lambda *arguments: pytest.fail("judged again"))
    assert report_of(toy, warm, keys=1).fates == first.fates


def test_a_right_answer_that_fails_is_said(toy, warm):
    path = toy / "bank" / "90_toy" / "count_above" / "right_list.py"
    path.write_text(ANSWER.replace("return len(found)", "return len(found) + 1"))
    report = report_of(toy, warm, keys=1)
    assert "the right answer itself fails: wrong" in report.failed and not report.fates
    assert next(iter(bank.answers(toy / "bank"))).right
