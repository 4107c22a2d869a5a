"""No function of the course's library is by itself an answer to a plain exercise, but where it is withheld, or where
the bank takes it for right."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
from collections.abc import Callable, Iterator

import pytest

from autograder.compare import difference
from autograder.exercise import Exercise, drawn
from autograder.judging.bank import try_source
from autograder.registry import all_exercises
from labkit.launch.rank_program import rebuild, withheld
from labkit.scaling import Estimate

PARTS = ("labkit.scaling", "labkit.scale", "labkit.schedules", "labkit.simulation", "labkit.placement")
TAKEN = {  # `right_labkit` in the bank: who finds the estimate that carries its error along has read the page
    "speedup_with_error": {"labkit.scaling.speedup", "labkit.scaling.ratio"},
    "serial_fraction": {"labkit.scaling.karp_flatt"},
}
PLAIN = [exercise for exercise in all_exercises() if exercise.runtime == "plain" and not exercise.apart]


def modules() -> Iterator:
    for name in PARTS:
        module = importlib.import_module(name)
        yield module
        for inside in pkgutil.iter_modules(getattr(module, "__path__", ())):
            yield importlib.import_module(f"{name}.{inside.name}")


def functions() -> list[Callable]:
    """The public functions that these parts of the library define themselves."""
    return [
        function
        for module in modules()
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    ]


FUNCTIONS = functions()


def plainly(function: Callable) -> Callable:
    """The function with its value as a student would hand it on."""

    def answer(*arguments, **named):
        value = function(*arguments, **named)
        return (value.value, value.error) if isinstance(value, Estimate) else value

    return answer


def is_right(exercise: Exercise, function: Callable) -> bool:
    """True if it gives what is expected in every case, in the exercise's harness."""
    names: dict = {"__name__": "harness"}
    exec(exercise.harness, names)
    called = plainly(function)
    for case in drawn(exercise):
        for r, expected in enumerate(exercise.expected(case)):
            arguments = rebuild(list(case.arguments_of(r)))
            found = names["harness"](called, *arguments) if exercise.harness else called(*arguments)
            if difference(expected, found, case.rtol, case.atol, strict=False) is not None:
                return False
    return True


def answers(exercise: Exercise) -> list[str]:
    """The functions that give what is expected."""
    found = []
    for function in FUNCTIONS:
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            if is_right(exercise, function):
                found.append(f"{function.__module__}.{function.__name__}")
    return found


SOURCE = """import {module}


def {name}(*arguments, **named):
    value = {module}.{function}(*arguments, **named)
    return (value.value, value.error) if type(value).__name__ == "Estimate" else value
"""


@pytest.mark.parametrize("exercise", PLAIN, ids=lambda exercise: f"{exercise.unit}-{exercise.function}")
def test_no_function_is_an_answer_but_where_it_is_withheld(exercise, warm):
    with withheld(exercise.withheld):
        possible = answers(exercise)
    for one in set(possible) - TAKEN.get(exercise.function, set()):  # what a harness reports is judged by `facts`, too
        module, _, function = one.rpartition(".")
        source = SOURCE.format(module=module, function=function, name=exercise.function)
        assert try_source(exercise, source, warm).verdict != "passed", one


def test_what_is_an_answer_is_found():
    found = {exercise.function: answers(exercise) for exercise in PLAIN if exercise.withheld}
    assert "labkit.scale.step.order_interleaved" in found["order_interleaved"]
    assert "labkit.scale.formula.bubble" in found["bubble"]
