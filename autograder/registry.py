"""All exercises of the course, found in `autograder/exercises/unit_*.py` and in the instructor's overlay
(`autograder.course`).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import autograder.exercises as exercises
from autograder.course import overlay_exercises
from autograder.exercise import Exercise


class UnknownExercise(LookupError):
    """Raised when no exercise has that name."""


def all_exercises() -> tuple[Exercise, ...]:
    """Every exercise, by unit, in the order in which the module defines them. A module of the overlay that has changed
    is read anew: the formgrader's server may have been running for weeks.
    """
    return _exercises(overlay_digests())


def overlay_digests() -> tuple[tuple[str, str], ...]:
    """(file, hash of its content) of the overlay's modules: they decide about results like the course's own code."""
    return tuple((str(path), hashlib.sha256(path.read_bytes()).hexdigest()) for path in overlay_exercises())


@functools.lru_cache(maxsize=1)
def _exercises(overlay: tuple[tuple[str, str], ...]) -> tuple[Exercise, ...]:
    found = []
    for module in _modules([Path(path) for path, _ in overlay]):
        classes = [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, Exercise)]
        found += [c() for c in classes if c.__module__ == module.__name__ and "function" in vars(c)]
    return tuple(found)


def _modules(overlay: Sequence[Path]) -> list[ModuleType]:
    """The modules that define exercises, by name; one of the overlay stands in for a public one of the same name."""
    public = {m.name: None for m in pkgutil.iter_modules(exercises.__path__) if m.name.startswith("unit_")}
    private = {path.stem: path for path in overlay}
    modules = []
    for name, path in sorted({**public, **private}.items()):
        modules.append(importlib.import_module(f"{exercises.__name__}.{name}") if path is None else _module_of(path))
    return modules


def _module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{exercises.__name__}.{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and inspect look a class's module up
    spec.loader.exec_module(module)
    return module


def find(function: str, unit: str | None = None) -> Exercise:
    """The exercise of that function name. Raises UnknownExercise, naming what there is."""
    matches = [
        e
        for e in all_exercises()
        if e.function == function and (unit is None or unit in (e.unit, e.unit.split("_")[0]))
    ]
    if matches:
        return matches[0]
    names = [e.function for e in all_exercises() if unit is None or unit in (e.unit, e.unit.split("_")[0])]
    units = sorted({e.unit for e in all_exercises()})
    hint = f"there are: {', '.join(names)}" if names else f"units are: {', '.join(units)}"
    raise UnknownExercise(f"no exercise called {function}{f' in unit {unit}' if unit else ''}; {hint}")
