"""Inputs with a preference for edges: the generator, what is read of a case, and what tells answers apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autograder.answers import sources
from autograder.case import Case, Tensor
from autograder.exercise import rng_for
from autograder.inputs import search, strategies
from autograder.inputs.edges import EDGES, edges_of
from autograder.inputs.generator import CALM_AFTER, EdgeGenerator
from autograder.registry import all_exercises, find
from labkit.launch.launcher import Launcher


def test_edges_come_more_often_than_by_chance():
    rng = EdgeGenerator(1)
    integers = rng.integers(10, 1000, 2000)
    assert integers.min() == 10 and integers.max() == 999
    assert np.sum(integers == 10) > 50 and np.sum(integers == 999) > 50
    normal = rng.normal(size=2000)
    zeros = normal[normal == 0]
    assert np.signbit(zeros).any() and not np.signbit(zeros).all()
    assert len(np.unique(rng.uniform(1, 2, 2000))) < 1900, "ties"
    orders = [rng.permutation(8).tolist() for _ in range(100)]
    assert list(range(8)) in orders and list(range(8))[::-1] in orders


@pytest.mark.parametrize("draw", ["integers", "uniform", "normal", "random", "standard_normal"])
def test_values_keep_type_shape_and_range(draw):
    rng, plain = EdgeGenerator(2), np.random.default_rng(2)
    bounds = {"integers": (3, 9), "uniform": (-1.5, 2.5)}.get(draw, ())
    for size in (None, 0, 1, (3, 4)):
        mine, other = getattr(rng, draw)(*bounds, size=size), getattr(plain, draw)(*bounds, size=size)
        assert np.shape(mine) == np.shape(other) and np.asarray(mine).dtype == np.asarray(other).dtype
        assert isinstance(mine, np.ndarray) == isinstance(other, np.ndarray)
        if bounds:
            assert np.all(np.asarray(mine) >= bounds[0]) and np.all(np.asarray(mine) < bounds[1])


def test_a_loop_that_draws_until_values_differ_ends():
    rng = EdgeGenerator(3, share=1.0)
    for _ in range(2 * CALM_AFTER):
        if len(set(rng.integers(0, 10**6, 5).tolist())) == 5:
            return
    pytest.fail("still edges alone")


def test_the_same_seed_draws_the_same():
    assert EdgeGenerator(7).normal(size=50).tolist() == EdgeGenerator(7).normal(size=50).tolist()


@pytest.mark.parametrize(
    ("arguments", "edge"),
    [
        ([(np.array([1.0, np.nan]),), (np.array([2.0, 3.0]),)], "nan"),
        ([(Tensor(np.array([1.0, -0.0])),)] * 2, "-0.0"),
        ([(2**53 + 1,)] * 2, "above 2**53"),
        ([([1, 2],), ([3],)], "unequal shares"),
        ([([],), ([3],)], "none"),
        ([([7],), ([3],)], "one element"),
        ([([1, 1, 2],)] * 2, "ties"),
        ([(np.zeros(40_000),)] * 2, "above 32,767 elements"),
        ([({"a": [float("inf")]},)] * 2, "inf"),
        ([(0,)] * 2, "0"),
    ],
)
def test_an_edge_is_read_from_the_arguments(arguments, edge):
    assert edge in EDGES and edge in edges_of(Case("a level", 2, arguments))


def test_what_is_no_edge_is_none():
    twice = np.array([1.5, 2.5])
    assert edges_of(Case("a level", 2, [(np.array([1.5, 2.5]), 3)] * 2)) == set()
    assert edges_of(Case("a level", 2, [(twice, twice)] * 2)) == {"same object twice"}
    assert edges_of(Case("a level", 1, (3,))) == {"one rank"}
    assert edges_of(Case("a level", 1, (3,), known={"world_size": 4})) == set()


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """Of right and wrong answers."""
    with Launcher() as warm:
        yield warm


def right_answers(exercise) -> list[search.Program]:
    """Those of the bank, by name."""
    written = sources(exercise.unit, exercise.function).items()
    return [search.Program(f"{name}.py", source) for name, source in written if name.startswith("right_")]


def test_right_answers_agree_and_one_that_is_wrong_at_an_edge_is_told_apart(launcher):
    exercise = find("log_grid", "14")
    right = right_answers(exercise)
    wrong = search.Program("wrong_two.py", "def log_grid(low, high, n):\n    return [low, high]\n")
    agreed = search.agreement(launcher, exercise, right[:2], 8)
    assert len(agreed.cases) == 8 and not agreed.differ and not agreed.impossible
    told = search.telling(launcher, exercise, wrong, right[0], 8)
    assert told.refused == [wrong.name] and told.case.known["n"] != 2
    assert "on which right answers differ" in search.said_of("log_grid", agreed)


def test_answers_that_differ_are_shown(launcher):
    exercise = find("log_grid", "14")
    right = right_answers(exercise)[0]
    other = search.Program("right_other.py", right.source.replace("def log_grid(", "def first(") + BUT_FOR_SIX)
    agreed = search.agreement(launcher, exercise, [right, other], 12)
    assert agreed.differ and all(told.refused == ["right_other.py"] for told in agreed.differ)
    assert "refused: right_other.py" in search.said_of("log_grid", agreed)


BUT_FOR_SIX = """

def log_grid(low, high, n):
    return first(low, high, n) if n != 6 else [high, low]
"""


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: f"{e.unit}-{e.function}")
def test_every_exercise_has_a_strategy(exercise):
    (case, *_) = search.draw(strategies.cases_of(exercise), 1)
    assert case.level in exercise.levels and len(exercise.expected(case)) == case.world_size


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: f"{e.unit}-{e.function}")
def test_what_cases_hold_fixed_is_drawn_too_where_there_are_arguments(exercise):
    added = strategies.added_cases(exercise)
    if added is None and strategies.takes_nothing(exercise):
        assert len({repr(case.arguments) for case in search.draw(strategies.own_cases(exercise), 3)}) == 1
    else:
        assert added is not None, "write a strategy into INPUTS of the unit's inputs.py: docs/exercises.md"
        (case,) = search.draw(added, 1)
        assert case.level in exercise.levels and len(exercise.expected(case)) == case.world_size


def test_a_module_of_inputs_names_exercises_of_its_unit():
    units = {exercise.unit: set() for exercise in all_exercises()}
    for exercise in all_exercises():
        units[exercise.unit].add(exercise.function)
    for unit, functions in units.items():
        assert strategies.inputs_of(unit).keys() <= functions, unit


def test_a_share_of_none_draws_as_an_exercise_does():
    exercise = find("fair_share", "01")
    assert len(search.draw(strategies.own_cases(exercise), 3)) == 3
    assert len(exercise.cases(rng_for(exercise))) == len(exercise.cases(EdgeGenerator(1, share=0.0)))
