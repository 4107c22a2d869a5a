"""Whatever an answer returns, or lets the harness return, it is judged: what cannot be compared is its own mistake, and
the grader's only where the right answer fails, too."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.exercise import Case, Exercise, Opaque, Tensor, rng_for
from autograder.judging import cards
from autograder.judging.case import judge_case
from autograder.registry import all_exercises
from autograder.verdict import LevelResult, Result
from labkit.relay.outcome import Outcome, RankOutcome

ODD = {
    "text": "no number",
    "an object": Opaque("Thing"),
    "nothing": [],
    "texts": ["a", "b", "c", "d"],
    "nested": [[1, [2, ["three"]]], {"four": None}],
    "other keys": {"marks": 3, "left": "over"},
    "a number too large": 10**400,
    "not a number": float("nan"),
    "a complex number": np.array([1j, 2.0]),
    "text in an array": np.array(["a", "b"]),
    "an empty tensor": Tensor(np.zeros((0, 3), np.float32), "float32"),
    "one of the parts alone": [None],
}


def came(exercise: Exercise, case: Case, values: list):
    ranks = [RankOutcome("returned", value, case.arguments_of(r)) for r, value in enumerate(values)]
    return judge_case(exercise, case, Outcome(ranks, [], [], None, False), [])


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.function)
def test_no_value_makes_the_judge_itself_fail(exercise):
    case = exercise.cases(rng_for(exercise, "odd"))[0]
    right = exercise.expected(case)
    for name, value in ODD.items():
        for values in ([value] * case.world_size, [*right[:-1], value], _with_a_part(right, value)):
            assert came(exercise, case, values).verdict in ("wrong", "passed"), name


def _with_a_part(right: list, odd) -> list:
    """What is expected, with one of its parts replaced: as if a list of the harness had been changed on the way."""
    if not isinstance(right[0], dict) or not right[0]:
        return [odd] * len(right)
    return [{**one, next(reversed(one)): odd} if isinstance(one, dict) and one else one for one in right]


class Counts(Exercise):
    """Returns a list and its sum"""

    signature = "counts(n: int) -> list"
    unit, runtime, levels = "00_made_up", "plain", {"any": 1}
    broken = False

    def cases(self, rng):
        return [Case("any", 1, ((3,),))]

    def expected(self, case):
        return [[0, 1, 2]]

    def facts(self, case, run):
        if self.broken:
            raise RuntimeError("a mistake of the exercise's")
        return None

    def misconceptions(self, case):
        return {}


class Sums(Counts):
    """Looks into the values before it compares them"""

    signature = "sums(n: int) -> list"

    def facts(self, case, run):
        return "too_many" if sum(run.ranks[0].after[0]) > 3 else None

    def cases(self, rng):
        return [Case("any", 1, ([1, 2],))]


def test_what_cannot_be_compared_is_named_on_the_card():
    exercise = Sums()
    (case,) = exercise.cases(None)
    changed = RankOutcome("returned", [0, 1, 2], (["x", 2],))
    found = judge_case(exercise, case, Outcome([changed], [], [], None, False), [])
    assert (found.verdict, found.diagnosis) == ("wrong", "not_comparable")
    level = LevelResult("any", 1, 0, found.verdict, [found])
    text = cards.text_card(Result(exercise.unit, exercise.function, exercise.title, 1, [level]))
    assert "returned something that cannot be compared: TypeError: unsupported operand" in text


def test_a_mistake_of_the_exercise_s_stays_the_grader_s():
    exercise = Counts()
    (case,) = exercise.cases(None)
    exercise.broken = True
    with pytest.raises(RuntimeError, match="of the exercise's"):
        came(exercise, case, [[0, 1, 2]])
    assert came(exercise, case, [[0, 1, 3]]).verdict == "wrong", "nothing is asked of wrong values that raises"
