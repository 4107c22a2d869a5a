"""A right answer called again: what a function keeps from call to call costs it the points of the cases that show it."""

from __future__ import annotations

import copy
import importlib

import numpy as np
import pytest

from autograder import registry
from autograder.exercise import drawn
from autograder.judging.again import HARNESS, _with_other_values, results_of
from autograder.judging.judge import Runners, chunks_of_file, judge_with
from labkit.launch import called_again
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
    assert all("it must be a new object in every call" in case.differs[0] for case in wrong)


REMEMBERED = """
import functools

import torch

def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    return RESULT

@functools.cache
def remembered(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)) if shuffle else torch.arange(n)
    each = n // world_size if drop_last else -(-n // world_size)
    return order[(torch.arange(each) * world_size + rank) % n].tolist()
"""


@pytest.mark.parametrize("result, verdict", [("list(REMEMBERED)", "passed"), ("REMEMBERED", "wrong")])
def test_what_is_remembered_may_come_back_in_a_new_object_only(warm, result, verdict):
    exercise = registry.find("stock_indices", "04")
    call = "remembered(n, rank, world_size, shuffle, seed, epoch, drop_last)"
    source = REMEMBERED.replace("RESULT", result.replace("REMEMBERED", call))
    with Runners(warm) as runners:
        found = judge_with(runners, exercise, chunks_of_file(source, "stock_indices", "answer.py"))
    lines = [case.differs[0] for case in found.cases if case.verdict != "passed"]
    assert found.verdict == verdict and all("had come back from an earlier call" in line for line in lines)


def test_an_object_is_not_known_again_by_its_identity():
    """The third call of a case gets the objects of the first, with the values of the case."""
    kept: dict = {}

    def total(numbers, table, array):
        kept.setdefault(id(numbers), (numbers, sum(numbers) + sum(table.values()) + array.sum()))
        return float(kept[id(numbers)][1])

    calls = [([k, 2], {"a": k, k: 1}, np.full(2, k)) for k in (5, 7, 7)]
    found = called_again.repeated(None)(total, [copy.deepcopy(list(call)) for call in calls])
    assert [how for how, _, _ in found] == ["returned"] * 3
    assert [value for _, value, _ in found] == [23.0, 31.0, 23.0]  # the last one is what it returned for the first
    assert [after[:2] for _, _, after in found] == [list(call[:2]) for call in calls]


def test_what_belongs_to_the_arguments_may_come_back_every_time():
    found = called_again.repeated(None)(lambda rows: [rows, rows[0]], [[[[k], 2]] for k in (1, 2, 2)])
    assert [how for how, _, _ in found] == ["returned"] * 3
    constant: list = []
    found = called_again.repeated(None)(lambda rows: [rows, constant], [[[[k], 2]] for k in (1, 2, 2)])
    assert [how for how, _, _ in found] == ["returned", "shared", "shared"]


def test_tensors_take_the_values_of_others_only_if_they_are_alike():
    torch = importlib.import_module("torch")
    old = [torch.zeros(3), torch.zeros(2), torch.zeros(2, requires_grad=True)]
    new = [torch.ones(3), torch.ones(3), torch.ones(2)]
    filled = called_again.Refill(called_again.Calls(max), [old]).arguments(new)
    assert [a is b for a, b in zip(filled, old, strict=True)] == [True, False, False]
    assert all(torch.equal(a, b) for a, b in zip(filled, new, strict=True))


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


def test_the_calls_of_one_case_tell_what_the_run_of_all_could_not(warm):
    """All cases together have no end, and those of one case have one, but come to another result."""
    result = judged(
        warm,
        """
    while len(CALLS) > 3: pass
    ring = ring if len(CALLS) == 1 else 0.0""",
    )
    assert result.verdict == "wrong" and result.score < 2
    assert {case.diagnosis for case in result.cases if case.verdict != "passed"} == {"keeps_something"}


def test_a_second_call_that_does_not_return_is_told(warm):
    result = judged(warm, "while len(CALLS) > 1: pass")
    wrong = [case for case in result.cases if case.verdict != "passed"]
    assert result.verdict == "wrong" and result.score == 1
    assert [case.diagnosis for case in wrong] == ["keeps_something"]
    assert wrong[0].says.endswith(", called after other cases")
    assert wrong[0].differs[0].startswith("did not return when it was called again")


TOTALS = """
import torch
import torch.distributed as dist
from torch.nn import functional as F

TOTALS = {}

def uneven_loss(outputs, labels):
    total = TOTALS.get(len(labels)) if REMEMBERED else None
    if total is None:
        total = torch.tensor(float(len(labels)))
        dist.all_reduce(total)
        TOTALS[len(labels)] = total
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
"""


@pytest.mark.parametrize("remembered, verdict", [("True", "wrong"), ("False", "passed")])
def test_ranks_that_wait_for_each_other_in_a_later_case_are_told(warm, remembered, verdict):
    """One rank remembers what the other asks for: each case by itself comes to its end."""
    exercise = registry.find("uneven_loss", "06")
    chunks = chunks_of_file(TOTALS.replace("REMEMBERED", remembered), "uneven_loss", "answer.py")
    with Runners(warm) as runners:
        result = judge_with(runners, exercise, chunks)
    wrong = [case for case in result.cases if case.verdict != "passed"]
    assert result.verdict == verdict and all(case.diagnosis == "keeps_something" for case in wrong)
    assert all("wait for each other" in case.differs[0] for case in wrong)


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
    inner = "def harness(f, *numbers):\n    return {'twice': [f(*numbers), f(*numbers)]}\n"
    space: dict = {"INNER": inner, "ORDER": "in_order"}
    exec(HARNESS, space)
    found = space["harness"](max, [[1, 2], [3, "x"], [5, 4]])
    assert [one[:2] for one in found] == [
        ["returned", {"twice": [2, 2]}],
        ["raised", "TypeError"],
        ["returned", {"twice": [5, 5]}],
    ]
    space = {"INNER": "", "ORDER": "in_order"}
    exec(HARNESS, space)
    assert found[0][2] == [1, 2] and space["harness"](max, [[1, 2]]) == [["returned", 2, [1, 2]]]
