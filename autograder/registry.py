"""All exercises of the course, found in `autograder/exercises/unit_*.py`."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil

from autograder import exercises
from autograder.exercise import Exercise


class UnknownExercise(LookupError):
    """No exercise of that name."""


@functools.cache
def all_exercises() -> tuple[Exercise, ...]:
    """Every exercise, by unit, in the order in which the module defines them."""
    found = []
    for module_info in sorted(pkgutil.iter_modules(exercises.__path__), key=lambda m: m.name):
        if not module_info.name.startswith("unit_"):
            continue
        module = importlib.import_module(f"{exercises.__name__}.{module_info.name}")
        classes = [
            c
            for _, c in inspect.getmembers(module, inspect.isclass)
            if issubclass(c, Exercise) and c.__module__ == module.__name__ and "function" in vars(c)
        ]
        found += [c() for c in sorted(classes, key=lambda c: inspect.getsourcelines(c)[1])]
    return tuple(found)


def find(function: str, unit: str | None = None) -> Exercise:
    """The exercise of that function name. Raises UnknownExercise, naming what there is."""
    matches = [e for e in all_exercises() if e.function == function and (unit is None or unit in (e.unit, e.unit.split("_")[0]))]
    if matches:
        return matches[0]
    names = [e.function for e in all_exercises() if unit is None or unit in (e.unit, e.unit.split("_")[0])]
    units = sorted({e.unit for e in all_exercises()})
    hint = f"there are: {', '.join(names)}" if names else f"units are: {', '.join(units)}"
    raise UnknownExercise(f"no exercise called {function}{f' in unit {unit}' if unit else ''}; {hint}")
