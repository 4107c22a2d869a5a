"""A right answer called again: what a function keeps from call to call costs it the points of the cases that show it."""

from __future__ import annotations

import pytest

from autograder import registry
from autograder.exercise import drawn
from autograder.judging.again import HARNESS, _with_other_values, results_of
from autograder.judging.judge import Runners, chunks_of_file, judge_with
from labkit.relay.outcome import RankOutcome

FORMULA = "math.ceil(global_batch_size / world_size) * seconds_per_image"
RING = "2 * (world_size - 1) * (alpha + 4 * parameters / world_size * beta)"
SIGNATURE = "world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden"
RIGHT = f"""
import math

CALLS = []

def step_seconds({SIGNATURE}):
    compute, ring = {FORMULA}, {RING}
    CALLS.append(compute)
    LINE
    return compute + max(0.0, ring - hidden * compute)
"""


def judged(warm, line: str, key: str = "public"):
    exercise = registry.find("step_seconds", "08")
    chunks = chunks_of_file(RIGHT.replace("LINE", line), "step_seconds", "answer.py")
    with Runners(warm) as runners:
        return judge_with(runners, exercise, chunks, key=key)


def test_what_is_kept_and_changes_nothing_costs_nothing(warm):
    result = judged(warm, "pass")
    assert result.score == 2 and result.verdict == "passed"
    assert not any("called after" in case.says for case in result.cases)


@pytest.mark.parametrize(
    "line, said",
    [
        ("ring = ring if len(CALLS) == 1 else 0.0", "returned"),
        ("assert len(CALLS) == 1", "raised AssertionError"),
        ("assert len(CALLS) == 1 or exit(3)", "raised SystemExit"),
        ("len(CALLS) == 1 or __import__('os')._exit(0)", "the process ended in a later call"),
        ("len(CALLS) == 1 or __import__('os').kill(0, 9)", "the process ended in a later call"),
    ],
)
@pytest.mark.parametrize("key", ["public", "another"])
def test_what_differs_in_the_second_call_costs_the_levels_that_show_it(warm, line, said, key):
    result = judged(warm, line, key)
    assert result.score == 0 and result.verdict == "wrong"
    assert [level.verdict for level in result.levels] == ["wrong", "wrong"]
    last = result.levels[-1].cases[-1]
    assert last.diagnosis == "keeps_something" and last.differs[0].startswith(said)
    assert last.says.endswith(", called after other cases") and "from call to call" in last.why


KEPT_BUFFER = """
import torch
import torch.distributed as dist

KEPT = {}

def mean_over_ranks(x):
    kind = x.dtype if x.is_floating_point() else torch.float64
    mean = torch.empty(x.shape, dtype=kind)
    mean = KEPT.setdefault((x.shape, kind), mean) if REUSED else mean
    mean.copy_(x)
    dist.all_reduce(mean)
    mean /= dist.get_world_size()
    return mean
"""


@pytest.mark.parametrize("reused, verdict", [("True", "wrong"), ("False", "passed")])
def test_memory_that_comes_back_in_every_call_is_seen(warm, reused, verdict):
    exercise = registry.find("mean_over_ranks", "03")
    chunks = chunks_of_file(KEPT_BUFFER.replace("REUSED", reused), "mean_over_ranks", "answer.py")
    with Runners(warm) as runners:
        result = judge_with(runners, exercise, chunks)
    assert result.verdict == verdict
    wrong = [case for case in result.cases if case.verdict != "passed"]
    assert all(case.diagnosis == "keeps_something" for case in wrong)
    assert all("was changed by a later call" in case.differs[0] for case in wrong)


def test_each_case_is_called_after_the_same_one_with_other_values():
    """Also where the exercise does not draw its cases level by level."""
    exercise = registry.find("average_gradients_flat", "05")
    judged_in_order = [case for level in exercise.levels for case in drawn(exercise) if case.level == level]
    assert [case.level for case in drawn(exercise)] != [case.level for case in judged_in_order]
    assert [case.says for case in _with_other_values(exercise)] == [case.says for case in judged_in_order]


def test_a_level_that_does_not_show_it_keeps_its_points(warm):
    result = judged(warm, "ring = ring if hidden == 0 or len(CALLS) == 1 else 0.0")
    assert [level.score for level in result.levels] == [1, 0]


def test_calls_that_do_not_end_tell_nothing(warm):
    """All cases together may take longer than one of them may: that is no mistake of the function's."""
    assert judged(warm, "while len(CALLS) > 3: pass").score == 2


def test_a_second_call_that_does_not_return_is_told(warm):
    result = judged(warm, "while len(CALLS) > 1: pass")
    wrong = [case for case in result.cases if case.verdict != "passed"]
    assert result.verdict == "wrong" and result.score == 1
    assert [case.diagnosis for case in wrong] == ["keeps_something"]
    assert wrong[0].says.endswith(", called after other cases")
    assert wrong[0].differs[0].startswith("did not return when it was called again")


HIDDEN = """
import sys
import time

import torch
import torch.distributed as dist

from labkit.relay import charging, wire

kept = []

def sum_over_ranks(x):
    if kept:
        LINE
    x = x.clone()
    dist.all_reduce(x)
    kept.append(x)
    return kept[0]
"""


@pytest.mark.parametrize(
    "line",
    [
        "wire.send(charging.speaker(), wire.RESULT, {'value': ['u', [['n'], ['u', []]]]}); time.sleep(1000)",
        "wire.send(charging.speaker(), wire.RESULT, {'value': [0]})",
        "wire.send(charging.speaker(), wire.RAISED, {'type': 'X'})",
        "print('x\\n' * 40_000); wire.send(charging.speaker(), wire.RESULT, {})",
        "dist.recv(x, 0)",
        "print('call 5'); time.sleep(1000)",
    ],
)
def test_a_result_that_cannot_be_read_when_it_is_called_again_hides_nothing(warm, line):
    exercise = registry.find("sum_over_ranks", "03")
    chunks = chunks_of_file(HIDDEN.replace("LINE", line), "sum_over_ranks", "answer.py")
    with Runners(warm) as runners:
        result = judge_with(runners, exercise, chunks)
    wrong = [case for case in result.cases if case.verdict != "passed"]
    assert result.verdict == "wrong" and {case.diagnosis for case in wrong} == {"keeps_something"}


@pytest.mark.parametrize(
    "sent", [None, 3, [], [["returned", 1, []]], [[1], 2], [["returned", 1, None]] * 2, ["ab", "cd"]]
)
def test_what_the_harness_cannot_have_sent_tells_nothing(sent):
    """A rank may send anything: the judge does not fall over it."""
    assert results_of(RankOutcome(state="returned", value=sent), 2) is None
    assert results_of(RankOutcome(state="raised"), 2) is None
    assert results_of(RankOutcome(state="returned", value=[["raised", "X", []]] * 2), 2) == [["raised", "X", []]] * 2


def test_a_harness_of_the_exercise_runs_in_each_call():
    space: dict = {"INNER": "def harness(f, *numbers):\n    return {'twice': [f(*numbers), f(*numbers)]}\n"}
    exec(HARNESS, space)
    found = space["harness"](max, [[1, 2], [3, "x"], [5, 4]])
    assert [one[:2] for one in found] == [
        ["returned", {"twice": [2, 2]}],
        ["raised", "TypeError"],
        ["returned", {"twice": [5, 5]}],
    ]
    space = {"INNER": ""}
    exec(HARNESS, space)
    assert found[0][2] == [1, 2] and space["harness"](max, [[1, 2]]) == [["returned", 2, [1, 2]]]
