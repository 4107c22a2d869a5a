"""Strategies of cases: an exercise's own with values that like edges, and what the unit's `inputs.py` adds."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st

import autograder.content as content
from autograder.case import Case
from autograder.exercise import Exercise, names_of, rng_for
from autograder.inputs.generator import EdgeGenerator

SHARES = (0.0, 0.1, 0.3, 0.6)  # of a case's values that are edges


def cases_of(exercise: Exercise) -> st.SearchStrategy[Case]:
    """All that is drawn for an exercise: half of it from its own cases, half from its module's strategy if it has
    one."""
    own, added = own_cases(exercise), added_cases(exercise)
    return own if added is None else own | added


def own_cases(exercise: Exercise) -> st.SearchStrategy[Case]:
    """A strategy that draws the exercise's cases with other values."""
    count = len(exercise.cases(rng_for(exercise)))
    builder = functools.partial(_own_case, exercise)
    return st.builds(builder, st.integers(0, 2**31), st.sampled_from(SHARES), st.integers(0, count - 1))


def added_cases(exercise: Exercise) -> st.SearchStrategy[Case] | None:
    """The strategy that `INPUTS` of the unit's `inputs.py` has for an exercise; None if it has none."""
    make = inputs_of(exercise.unit).get(exercise.function)
    return make(exercise) if make else None


def takes_nothing(exercise: Exercise) -> bool:
    """True if there is nothing to draw: the exercise's function has no arguments, so each of its cases is the same."""
    return not names_of(exercise.signature)


def inputs_of(unit: str) -> dict[str, Callable[[Exercise], st.SearchStrategy[Case]]]:
    """Name of a function -> what makes its strategy, from the unit's `inputs.py`; empty where there is none."""
    path = content.course().room(unit).inputs
    return _inputs(path) if path.is_file() else {}


@functools.cache
def _inputs(path: Path) -> dict[str, Callable[[Exercise], st.SearchStrategy[Case]]]:
    return content.load(path, f"course.inputs_{path.parent.name}").INPUTS


def plain_cases(exercise: Exercise, **names: st.SearchStrategy) -> st.SearchStrategy[Case]:
    """Cases of a `PlainExercise`'s first level from a strategy for each name that its `draw` yields."""
    return st.fixed_dictionaries(names).map(lambda known: plain_case(exercise, known))


def plain_case(exercise: Exercise, known: dict[str, Any]) -> Case:
    """The case that a `PlainExercise` makes of what its `draw` would yield for its first level."""
    twin = copy.copy(exercise)
    twin.draw = lambda rng: iter([(next(iter(exercise.levels)), known)])
    return twin.cases(None)[0]


def _own_case(exercise: Exercise, seed: int, share: float, place: int) -> Case:
    cases = _round(exercise, seed, share)
    if place >= len(cases):
        hypothesis.reject()
    return cases[place]


@functools.lru_cache(maxsize=4)
def _round(exercise: Exercise, seed: int, share: float) -> tuple[Case, ...]:
    """The exercise's cases from one generator; none where these values break what the exercise builds of them."""
    try:
        return tuple(exercise.cases(EdgeGenerator(seed, share)))
    except (ArithmeticError, AssertionError, LookupError, ValueError):
        return ()


def draw(strategy: st.SearchStrategy[Case], count: int, seed: str | None = None) -> list[Case]:
    """`count` cases, the same at every call; others with another seed."""
    cases: list[Case] = []

    @hypothesis.settings(
        max_examples=count,
        database=None,
        derandomize=seed is None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(case: Case) -> None:
        cases.append(case)

    (collect if seed is None else hypothesis.seed(seed)(collect))()
    return cases[:count]
