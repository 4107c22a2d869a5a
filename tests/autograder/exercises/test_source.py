"""Harnesses as source: what is taken along, and that nothing in a unit's `harness.py` is there for nobody."""

from __future__ import annotations

import ast

import pytest

import autograder.content as content
from autograder.exercises.source import harness_of
from autograder.registry import all_exercises

FILE = '''"""Harnesses."""

import json
import math

from autograder.exercises.harness import as_lists

SIZES = (1, 2)


def sizes(count):
    return SIZES[:count]


def counted(f, count):
    return as_lists([f(size) for size in sizes(count)])


def other(f):
    return json.dumps(math.pi)
'''


@pytest.fixture
def exercises_py(tmp_path):
    (tmp_path / "harness.py").write_text(FILE)
    return tmp_path / "exercises.py"


def test_a_harness_comes_with_what_it_reaches_and_nothing_else(exercises_py):
    class Exercise:
        harness = harness_of(exercises_py, "counted")

    names: dict = {}
    exec(Exercise.harness, names)
    assert names["harness"](lambda size: (size, size), 2) == [[1, 1], [2, 2]]
    assert Exercise().harness == Exercise.harness and "autograder" not in Exercise.harness
    assert "json" not in names and "other" not in names


def test_a_function_that_is_not_there_is_named(exercises_py):
    class Exercise:
        harness = harness_of(exercises_py, "counts")

    with pytest.raises(LookupError, match="has no function counts"):
        Exercise.harness  # noqa: B018


@pytest.mark.parametrize(
    "room",
    [room for room in content.course().rooms if room.folder.joinpath("harness.py").exists()],
    ids=lambda room: room.unit,
)
def test_everything_in_a_unit_s_harnesses_is_used(room):
    defined = {
        node.name
        for node in ast.parse((room.folder / "harness.py").read_text(encoding="utf-8")).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    sources = [exercise.harness for exercise in all_exercises() if exercise.unit == room.unit and exercise.harness]
    taken = {
        node.name
        for source in sources
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    heads = {
        vars(kind)["harness"].name
        for exercise in all_exercises()
        if exercise.unit == room.unit
        for kind in type(exercise).__mro__
        if isinstance(vars(kind).get("harness"), harness_of)
    }
    assert defined <= taken | heads, f"used by no exercise: {sorted(defined - taken - heads)}"
