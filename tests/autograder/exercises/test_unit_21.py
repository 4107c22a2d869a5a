"""Unit 21: the bounds of the puzzles are right, and whatever an answer is, it is judged."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from autograder.exercise import Finding
from autograder.exercises.readings.puzzles import M, P, actions
from autograder.registry import all_exercises, find
from labkit.schedules import StandStill

PUZZLES = [exercise for exercise in all_exercises() if exercise.unit == "21_puzzles"]
IDS = [exercise.function for exercise in PUZZLES]


def work(puzzle) -> list[list[str]]:
    """Of each rank, all that it has to do, in an order that can be run."""
    parts = "FBW" if "weights" in puzzle.machine else "FB"
    if "v" in puzzle.machine:
        return [[f"{what}{k}.{j}" for k in range(M) for what, j in (("F", 0), ("F", 1), ("B", 1), ("B", 0))]] * P
    return [[f"{what}{k}" for k in range(M) for what in parts]] * P


def test_there_are_seven():
    assert len(PUZZLES) == 7


@pytest.mark.parametrize("puzzle", PUZZLES, ids=IDS)
def test_no_order_is_faster_than_the_bound(puzzle):
    """Each rank's order is changed at random, again and again; what is no slower and keeps within the memory stays."""
    draw = random.Random(21)
    orders = [list(one) for one in work(puzzle)]
    least = puzzle.replayed([" ".join(one) for one in orders]).elapsed
    for _ in range(1500):
        rank, a, b = draw.randrange(P), *sorted(draw.sample(range(len(orders[0])), 2))
        tried = [list(one) for one in orders]
        tried[rank].insert(a, tried[rank].pop(b))
        try:
            ran = puzzle.replayed([" ".join(one) for one in tried])
        except StandStill:
            continue
        if ran.alive.max() <= puzzle.most and ran.elapsed <= least:
            orders, least = tried, ran.elapsed
    assert puzzle.slots <= least


@pytest.mark.parametrize("puzzle", PUZZLES, ids=IDS)
@pytest.mark.parametrize(
    "answer",
    [
        None,
        3,
        "F0 B0",
        [],
        ["F0"],
        ["", "", "", ""],
        [3, 4, 5, 6],
        ["F99999999999999999999"] * 4,
        ["F0.0.0"] * 4,
        [[]] * 4,
    ],
    ids=repr,
)
def test_what_is_no_order_is_named(puzzle, answer):
    found = puzzle.read_right(answer)
    assert isinstance(found, Finding) and found.diagnosis == "no_actions"


def test_words_and_pairs_say_the_same():
    assert actions("F0 B10 F3.1") == [("F", 0, 0), ("B", 10, 0), ("F", 3, 1)]
    puzzle = find("slow_links")
    orders = [[(what, k) for k in range(M) for what in "FB"]] * P
    assert puzzle.read_right(orders).diagnosis == puzzle.read_right([" ".join(one) for one in work(puzzle)]).diagnosis


def test_what_is_enough_lies_above_the_bound():
    for puzzle in PUZZLES:
        time, memory = puzzle.records
        assert puzzle.slots < puzzle.enough and time.best(None) == time.bound(None) == puzzle.slots
        assert P <= memory.best(None) <= P * puzzle.most and memory.bound is None
    assert all(a.function != b.function for a, b in pairwise(PUZZLES))
