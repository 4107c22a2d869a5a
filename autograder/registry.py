"""All exercises: those of the course's units (`autograder.content`) and of the instructor's overlay
(`autograder.course`).
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import autograder.content as content
from autograder.course import overlay_exercises
from autograder.exercise import Exercise


class UnknownExercise(LookupError):
    """Raised when no exercise has that name."""


def all_exercises() -> tuple[Exercise, ...]:
    """Every exercise, by unit, in the order in which the module defines them. A module of the overlay that has changed
    is read anew: the formgrader's server may have been running for weeks. A course without frameworks has none that
    needs them. Raises `content.NoCourse`.
    """
    course = content.course()
    rooms = course.rooms
    public = tuple((room.unit, room.exercises) for room in rooms if room.exercises.is_file())
    found = _exercises(public, overlay_digests())
    return found if course.frameworks else tuple(one for one in found if not one.needs_frameworks)


def is_left_out(unit: str, function: str) -> bool:
    """True for an exercise that a course without frameworks does not have, though its room does."""
    return not content.course().frameworks and (unit, function) not in {(e.unit, e.function) for e in all_exercises()}


def overlay_digests() -> tuple[tuple[str, str], ...]:
    """(file, hash of its content) of the overlay's modules: they decide about results like the course's own code."""
    return tuple((str(path), _digest(path)) for path in overlay_exercises())


@functools.lru_cache(maxsize=1)
def _exercises(public: tuple[tuple[str, Path], ...], overlay: tuple[tuple[str, str], ...]) -> tuple[Exercise, ...]:
    found = []
    for module in _modules(dict(public), [Path(path) for path, _ in overlay]):
        classes = [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, Exercise)]
        found += [c() for c in classes if c.__module__ == module.__name__ and "function" in vars(c)]
    return tuple(found)


def _modules(public: dict[str, Path], overlay: Sequence[Path]) -> list[ModuleType]:
    """The modules that define exercises, by unit; one of the overlay stands in for a public one of the same unit."""
    private = {path.stem.removeprefix("unit_"): path for path in overlay}
    found = []
    for unit, path in sorted({**public, **private}.items()):
        found.append(_module(path, module_name(unit), _digest(path)))
        sys.modules[module_name(unit)] = found[-1]
    return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.lru_cache(maxsize=200)
def _module(path: Path, name: str, _content: str) -> ModuleType:
    """The module of a file with that content, read once: an exercise got before the overlay changed stays its own."""
    return content.load(path, name)


def module_name(unit: str) -> str:
    """The name under which a unit's exercises are in `sys.modules`, once they have been read."""
    return f"course.unit_{unit}"


def module_of(unit: str) -> ModuleType:
    """The module of a unit's exercises. Raises UnknownExercise."""
    if not any(exercise.unit == unit for exercise in all_exercises()):
        raise UnknownExercise(f"no unit {unit} has exercises")
    return sys.modules[module_name(unit)]


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
