"""Values that nothing can be compared with: what makes a comparison raise is the answer's mistake, unless the right
answer makes it raise, too."""

from __future__ import annotations

import traceback
from dataclasses import replace

from autograder.exercise import ANYTHING, Case, Exercise, Run
from autograder.judging.wrong import Wrong, wrong_in

LONGEST = 300  # characters of an exception's text


def wrong_or_odd(exercise: Exercise, case: Case, run: Run) -> Wrong | None:
    """`wrong_in`; where that raises because of what came back, the answer is wrong for that reason. Raises what it
    raises for the right values, too: that is a mistake of the exercise's."""
    try:
        return wrong_in(exercise, case, run)
    except Exception as error:
        if _place(error) == _place_with_right_values(exercise, case, run):
            raise
        text = " ".join(str(error).split())[:LONGEST]
        said = f"{type(error).__name__}: {text}".rstrip(": ")
        return Wrong("not_comparable", [f"returned something that cannot be compared: {said}"])


def _place_with_right_values(exercise: Exercise, case: Case, run: Run) -> tuple | None:
    """The place where the comparison raises although all ranks returned what is expected and left their arguments
    alone. None where it does not raise, and where the exercise does not state all that it looks at (the bank's right
    answers show that it can be looked at)."""
    try:
        exercise.misconceptions(case)
        expected = exercise.expected(case)
        if _leaves_open(expected):
            return None
        ranks = [
            replace(rank, value=value, after=tuple(case.arguments_of(r)))
            for r, (rank, value) in enumerate(zip(run.ranks, expected, strict=True))
        ]
        wrong_in(exercise, case, replace(run, ranks=tuple(ranks)))
    except Exception as error:
        return _place(error)
    return None


def _leaves_open(value) -> bool:
    """True if some part of an expected value may be anything."""
    if isinstance(value, dict):
        return any(map(_leaves_open, value.values()))
    return value is ANYTHING or (isinstance(value, (list, tuple)) and any(map(_leaves_open, value)))


def _place(error: Exception) -> tuple:
    """The type of an exception and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return type(error), last.filename, last.lineno
