"""What the kinds of exercises derive: a plain exercise's harness, cases and right values, and mistakes that are told
apart.
"""

from __future__ import annotations

import numpy as np
import pytest

from autograder.exercise import ANYTHING, Finding, Mistake, RankRun, Run, rng_for
from autograder.exercises.kinds import PlainExercise, said, tells_apart


class Multiples(PlainExercise):
    """Multiples of a rank"""

    signature = "multiples(k: int, rank: int, world_size: int, twice: bool = False) -> list[int]"
    levels = {"all": 1}
    mistakes = [
        Mistake("adds", "Added.", value=lambda c: [c.k + rank for rank in range(c.p)]),
        Mistake("doubles", "Doubled.", value=lambda c: [2 * c.k * rank for rank in range(c.p)] if c.twice else None),
        Mistake("halves", "Halved."),
    ]

    def draw(self, rng):
        yield "all", {"k": 2, "world_size": 3, "twice": False}
        yield "all", {"k": 2, "world_size": 2, "twice": True}, {"rtol": 0.1}

    def right(self, k, world_size, twice):
        return [k * rank for rank in range(world_size)]

    def read(self, answer, k, **case):
        return "halves" if answer[-1] < k else None

    def read_right(self, answer, **case):
        return Finding("floats") if isinstance(answer[0], float) else None


class AnyNumber(PlainExercise):
    """Any number at all"""

    signature = "any_number(seed)"
    given = ("seeds",)
    harness = "def harness(f, seeds):\n    return as_lists(map(f, seeds))\n"
    levels = {"all": 1}

    def draw(self, rng):
        yield "all", {"seeds": [1, 2]}

    def read_right(self, answer, seeds):
        return None if len(set(answer)) == len(seeds) else "repeats"


def found(exercise, case, answer):
    return exercise.facts(case, Run((RankRun(answer),)))


def test_a_case_is_its_arguments_by_name():
    three, two = Multiples().cases(rng_for(Multiples()))
    assert three.arguments == (2, 3, False) and three.world_size == 1 and three.says == "k = 2, 3 ranks"
    assert two.says == "k = 2, twice, 2 ranks" and two.rtol == 0.1
    assert Multiples().expected(three) == [[0, 2, 4]]


@pytest.mark.parametrize("made", ["range(0, 3 * k, k)[rank]", "torch.arange(3)[rank] * k", "np.int64(k * rank)"])
def test_the_harness_calls_for_each_rank_and_returns_lists(made):
    names = {}
    exec(
        f"import numpy as np, torch\ndef f(k, rank, world_size, twice):\n    return {made}\n{Multiples.harness}", names
    )
    assert names["harness"](names["f"], 2, 3, False) == [0, 2, 4]


def test_a_harness_of_its_own_may_call_as_lists():
    names = {}
    exec(AnyNumber.harness, names)
    assert names["harness"](lambda seed: (seed,), [1, 2]) == [[1], [2]]


def test_right_and_wrong_answers_are_read_apart():
    exercise, case = Multiples(), Multiples().cases(rng_for(Multiples()))[0]
    assert found(exercise, case, [0, 2, 4]) is None
    assert found(exercise, case, [0.0, 2.0, 4.0]) == Finding("floats")
    assert found(exercise, case, [0, 1, 1]) == "halves"


def test_where_nothing_is_said_to_be_right_every_answer_is_read():
    exercise, (case,) = AnyNumber(), AnyNumber().cases(rng_for(AnyNumber()))
    assert exercise.expected(case) == [ANYTHING]
    assert found(exercise, case, [7, 8]) is None and found(exercise, case, [7, 7]) == "repeats"


def test_mistakes_are_told_apart_where_each_gives_a_value_of_its_own():
    exercise = Multiples()
    three, two = exercise.cases(rng_for(exercise))
    assert tells_apart(exercise, three), "`doubles` gives no value here"
    assert exercise.misconceptions(two)["adds"] and tells_apart(exercise, two)
    exercise.mistakes = [*exercise.mistakes, Mistake("adds_later", "Added.", value=exercise.mistakes[0].value)]
    three, _ = exercise.cases(rng_for(exercise))  # what was computed of the other one is kept
    assert not tells_apart(exercise, three)


def test_the_values_that_name_a_case_are_short_and_in_one_line():
    times = np.linspace(0.1, 0.2, 63).reshape(7, 9)
    named = said("times", times)
    assert named.startswith("times = [[0.1, 0.10161, ..., 0.11129, 0.1129], [") and len(named) < 320
    assert named.count("...") == 7 and "\n" not in named, "every row is there"
    assert said("read", 0.0017200000000000002) == "read = 0.00172"
    assert said("shuffle", True) == "shuffle" and said("kind", "ring") == "kind = ring"
    assert said("stream", list(range(30))).endswith("23, ...]")
