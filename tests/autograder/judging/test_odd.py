"""Whatever an answer returns, or lets the harness return, it is judged: what cannot be compared is its own mistake, and
the grader's only where the right answer fails, too."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.exercise import ANYTHING, Case, Exercise, Opaque, RankRun, Run, Tensor, Typed, rng_for
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


NUMBERS = (0, 0.0, -1, -1.5, 1e-300, 1e300, 2**70, -(10**400), float("nan"), float("inf"), -float("inf"), True)
WHOLE = (
    *NUMBERS,
    *ODD.values(),
    None,
    "",
    (),
    {},
    [[]],
    [[1], [2, 3]],
    [{}],
    np.zeros(0),
    np.zeros((0, 3)),
    np.ones(3),
)


def with_numbers(value, number):
    """What is expected, with another number in the place of each."""
    if isinstance(value, Typed):
        return with_numbers(value.values, number)
    if isinstance(value, Tensor):
        return Tensor(with_numbers(value.values, number), value.dtype)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return np.full(value.shape, float(max(min(number, 10**300), -(10**300)))).astype(value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(with_numbers(one, number) for one in value)
    if isinstance(value, dict):
        return {key: with_numbers(one, number) for key, one in value.items()}
    return number if isinstance(value, (int, float, np.number)) or value is ANYTHING else value


def emptied(value, depth: int):
    """What is expected, with nothing in its lists, dicts and arrays at that depth."""
    if isinstance(value, Typed):
        return emptied(value.values, depth)
    if isinstance(value, (list, tuple)):
        return type(value)(emptied(one, depth - 1) for one in value) if depth else type(value)()
    if isinstance(value, dict):
        return {key: emptied(one, depth - 1) for key, one in value.items()} if depth else {}
    if isinstance(value, Tensor):
        return Tensor(value.values.reshape(-1)[:0], value.dtype)
    return value.reshape(-1)[:0] if isinstance(value, np.ndarray) else 0 if value is ANYTHING else value


@pytest.mark.parametrize("exercise", [e for e in all_exercises() if e.runtime == "plain"], ids=lambda e: e.function)
def test_no_reading_of_a_plain_exercise_raises(exercise):
    """Nothing is divided by what an answer returned, and nothing looked for where it may not be."""
    for case in exercise.cases(rng_for(exercise, "odd")):
        (right,) = exercise.expected(case)
        values = [with_numbers(right, number) for number in NUMBERS]
        values += [emptied(right, depth) for depth in range(3)]
        for value in (*values, *WHOLE):
            ran = RankRun(value, after=tuple(case.arguments_of(0)))
            exercise.facts(case, Run((ran,)))
            assert all(len(wrong) == 1 for wrong in exercise.misconceptions(case).values() if wrong is not None)


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
