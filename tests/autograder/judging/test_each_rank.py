"""Ranks that one process plays: what a call for one of them leaves behind helps no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import registry
from autograder.exercise import drawn, names_of
from autograder.judging.each_rank import MOST_RANKS, _ranks
from autograder.judging.judge import Runners, chunks_of_file, judge_with

PLAYED = [exercise for exercise in registry.all_exercises() if exercise.rank_at is not None]
SHARD = """
import os
import torch

left = {}


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    left.setdefault(p, set()).add(rank)
    if rank and rank - 1 not in left[p]:
        LINE
    part = flat[rank * k : (rank + 1) * k]
    return torch.cat([part, part.new_zeros(k - len(part))])
"""


def judged(warm, function: str, unit: str, source: str):
    with Runners(warm) as runners:
        return judge_with(runners, registry.find(function, unit), chunks_of_file(source, function, "answer.py"))


def test_every_exercise_that_plays_ranks_says_so():
    ranks = {"rank", "index"}
    for exercise in registry.all_exercises():
        names = names_of(exercise.signature)
        calls = exercise.runtime == "plain" and ranks & set(names)
        if exercise.rank_at is not None:
            assert names[exercise.rank_at] in ranks, exercise.function
        elif calls:  # one call, with the rank that the case names
            assert "rank" in exercise.given, exercise.function
    for exercise in PLAYED:
        assert any(2 <= _ranks(case) <= MOST_RANKS for case in drawn(exercise)), exercise.function


@pytest.mark.parametrize(
    "line, said",
    [
        ("return flat[:k].clone()", "returned"),
        ("raise KeyError(rank)", "raised KeyError"),
        ("return object()", "raised ChildProcessError"),
        ("os._exit(0)", "raised ChildProcessError"),
        (  # or it may signal no other process
            "os.kill(os.getppid(), 9)",
            ("the process that calls the ranks' processes has ended", "raised PermissionError"),
        ),
    ],
)
def test_what_the_rank_before_has_left_is_missing_in_a_process_of_its_own(warm, line, said):
    result = judged(warm, "shard", "15", SHARD.replace("LINE", line))
    assert result.verdict == "wrong" and result.score == 0
    wrong = [case for case in result.cases if case.verdict != "passed"]
    assert {case.diagnosis for case in wrong} == {"leans_on_another_rank"}
    assert wrong[0].differs[0].startswith(said)
    assert wrong[0].says.endswith("each rank in a process of its own") and "variables" in wrong[0].how


def test_what_a_function_keeps_and_does_not_need_costs_nothing(warm):
    assert judged(warm, "shard", "15", SHARD.replace("LINE", "pass")).score == 2


FILE = """
import os
import torch


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    PREPARE
    left = os.path.join(PLACE, f"left-{p}-{len(flat)}-{flat.sum():.9f}")
    try:
        with open(left, "a" if rank == 0 else "r"):
            pass
    except OSError:
        return flat[:k].clone() * WITHOUT
    part = flat[rank * k : (rank + 1) * k]
    return torch.cat([part, part.new_zeros(k - len(part))])
"""


@pytest.mark.parametrize("place", ["'/tmp'", "'/dev/shm'", "os.getcwd()", "os.path.dirname(os.getcwd())"])
def test_what_the_rank_before_has_written_into_a_file_is_missing_too(warm, place, folder_of_left):
    result = judged(
        warm, "shard", "15", FILE.replace("PLACE", place).replace("PREPARE", "pass").replace("WITHOUT", "0")
    )
    assert result.verdict == "wrong"
    assert "leans_on_another_rank" in {case.diagnosis for case in result.cases}


@pytest.fixture
def folder_of_left():
    yield
    for folder in map(Path, ("/tmp", "/dev/shm")):
        for left in folder.glob("left-*"):
            left.unlink()


def test_a_rank_has_a_folder_to_work_in(warm):
    prepare = """import tempfile
    with tempfile.NamedTemporaryFile() as file, open("mine", "w") as other:
        file.write(b"1"), other.write("1")"""
    source = FILE.replace('"r"', '"a"').replace("PLACE", "tempfile.gettempdir()").replace("WITHOUT", "0")
    assert judged(warm, "shard", "15", source.replace("PREPARE", prepare)).score == 2


GENERATORS = """
import numpy as np


class Numbers(np.random.Generator):
    pass


def rank_rng(seed, rank, world_size):
    return RETURNED
"""


@pytest.mark.parametrize(
    "returned",
    [
        "np.random.default_rng([rank, seed])",
        "Numbers(np.random.Philox([rank, seed]))",
        "np.random.Generator(np.random.MT19937(np.random.SeedSequence([rank, seed])))",
        "np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed).spawn(world_size)[rank]))",
    ],
)
def test_generators_of_every_kind_come_through(warm, returned):
    assert judged(warm, "rank_rng", "01", GENERATORS.replace("RETURNED", returned)).score == 2


SHARES = """
import numpy as np


def minibatch_shares(order, batch_size, rank, world_size):
    starts = range(0, len(order), batch_size)
    shares = [list(order[start : start + batch_size])[rank::world_size] for start in starts]
    return RETURNED
"""


@pytest.mark.parametrize("returned", ["iter(shares)", "(np.array(one) for one in shares)", "tuple(map(tuple, shares))"])
def test_so_does_whatever_else_is_taken_for_a_list(warm, returned):
    alone = judged(warm, "minibatch_shares", "04", SHARES.replace("RETURNED", "shares"))
    assert judged(warm, "minibatch_shares", "04", SHARES.replace("RETURNED", returned)).score == alone.score
    assert alone.verdict == "passed"
