"""Inputs that no check in a notebook has: a table of a check's cases does not hold them."""

from __future__ import annotations

import functools

from autograder.case import Case
from autograder.exercise import PUBLIC_KEY, Exercise, drawn
from autograder.inputs.strategies import added_cases, draw

COUNT = 6  # inputs
DRAWN = 24  # of which the last count: the first ones that Hypothesis draws are the simplest


@functools.lru_cache(maxsize=256)
def unseen(exercise: Exercise, key: str) -> tuple[Case, ...]:
    """Inputs of a plain exercise that its unit's strategy draws under a key, the same at every call; none under the
    public key, and none where the unit's `inputs.py` has no strategy."""
    strategy = added_cases(exercise) if exercise.runtime == "plain" and key != PUBLIC_KEY else None
    if strategy is None:
        return ()
    shown = {repr(case.arguments) for case in drawn(exercise)}
    cases = draw(strategy, DRAWN, seed=f"{key}/{exercise.unit}/{exercise.function}")
    found = {repr(case.arguments): case for case in cases}
    return tuple(case for said, case in found.items() if said not in shown)[-COUNT:]
