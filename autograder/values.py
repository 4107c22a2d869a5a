"""Numbers that do not survive a detour, and the detours: through another type, or through one that holds fewer digits.

An answer that sums small whole numbers in float32, or promotes int32 to int64, returns the right values by luck. So
every array and tensor that an exercise hands out holds numbers of which a narrower type loses digits (`wide_integers`,
`full_precision`, and what `autograder.exercises.readings.contributions` draws), and
tests/autograder/exercises/test_exercises.py proves of every exercise that each detour shows in one of its cases. An
exercise that rightly asks for less says so, with its reason, in `Exercise.may_lose`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autograder.compare import difference
from autograder.exercise import Case, Exercise, Tensor, Typed

# given type -> the types through which somebody might send its numbers. All of them lose digits.
DETOURS = {"float64": ("float32",), "int64": ("int32", "float32", "float64"), "int32": ("float32",)}
WIDTHS = ("int32", "int64")  # where one is handed out, so is the other: "any dtype" is both
PROMOTED = {
    "int32": "int64",
    "float32": "float64",
}  # what a result may not become where the text asks for the type of the argument
SURPLUS = (
    1 + 2.0**-25
)  # x * SURPLUS differs from every float32, relatively by 3e-8, while x and sums of few such x have few digits


def full_precision(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...] = ()) -> np.ndarray:
    """float64 between low and high of which float32 loses 3e-8, relatively, in each and in any sum of up to 1000 of
    them.
    """
    # some 1000 to 2000 numbers, whose sums have less than 24 bits
    grid = 2.0 ** np.floor(np.log2((high - low) / 2**10))
    return np.rint(rng.uniform(low, high, shape) / grid) * grid * SURPLUS


def wide_integers(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "int64", summands: int = 1
) -> np.ndarray:
    """Integers that no narrower type and no float holds. A sum of up to `summands` of them still fits, and is held by
    none either.
    """
    bits, odd = (61, 20) if dtype == "int64" else (29, 8)
    high = 2 ** (bits - odd) // summands
    return (rng.integers(high // 2, high, shape) * 2**odd + 1).astype(dtype)


def dtypes_in(value: Any) -> set[str]:
    """The types of all arrays and tensors in a value."""
    if isinstance(value, Tensor):
        return {value.dtype}
    if isinstance(value, Typed):
        return dtypes_in(value.values)
    if isinstance(value, np.ndarray):
        return {value.dtype.name}
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*map(dtypes_in, value)) if isinstance(value, list | tuple) else set()


def through(value: Any, given: str, via: str) -> Any:
    """A value of which every array and tensor of type `given` has been converted to `via` and back."""
    return _changed(value, given, lambda array: _converted(_converted(array, via), given))


def promoted(value: Any, given: str) -> Any:
    """A value of which every array and tensor of type `given` has the wider type."""
    wider = PROMOTED[given]
    return _changed(value, given, lambda array: _converted(array, wider), wider)


def _converted(array: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(array).astype(dtype)


def _changed(value: Any, given: str, change, named: str | None = None) -> Any:
    if isinstance(value, Tensor):
        return (
            replace(value, values=change(np.asarray(value.values, given)), dtype=named or given)
            if value.dtype == given
            else value
        )
    if isinstance(value, Typed):
        return Typed(_changed(value.values, given, change, named))
    if isinstance(value, np.ndarray):
        return change(value) if value.dtype.name == given else value
    if isinstance(value, dict):
        return {key: _changed(one, given, change, named) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_changed(one, given, change, named) for one in value)
    return value


def told_apart(expected: list, values: list, case: Case) -> bool:
    """True if the judge would call these values, one per rank, wrong."""
    return any(difference(e, v, case.rtol, case.atol) is not None for e, v in zip(expected, values, strict=True))


def shows(exercise: Exercise, case: Case, given: str, via: str) -> bool:
    """True if an answer is called wrong in this case if its numbers of type `given` went through the type `via`."""
    detour = replace(case, arguments=through(case.arguments, given, via), known=through(case.known, given, via))
    return told_apart(exercise.expected(case), through(exercise.expected(detour), given, via), case)


def is_excused(detour: str, may_lose: dict[str, str]) -> bool:
    """True if `Exercise.may_lose` names a detour, or the type that takes it."""
    return any(detour == name or detour.startswith(f"{name} ") for name in may_lose)


def unseen_detours(exercise: Exercise, cases: list[Case]) -> dict[str, bool]:
    """Every detour that concerns an exercise, as "float64 -> float32" or "int32 promoted": whether none of these cases
    shows it.
    """
    unseen = {}
    handed_out = [dtypes_in(case.arguments) for case in cases]
    for given, ways in DETOURS.items():
        concerned = [case for case, dtypes in zip(cases, handed_out, strict=True) if given in dtypes]
        for via in ways if concerned else ():
            unseen[f"{given} -> {via}"] = not any(shows(exercise, case, given, via) for case in concerned)
    integers = set().union(*handed_out) & set(WIDTHS)
    if integers:
        unseen["integers of both widths"] = len(integers) < len(WIDTHS)
    for given in PROMOTED:
        right = [
            (case, exercise.expected(case)) for case, dtypes in zip(cases, handed_out, strict=True) if given in dtypes
        ]
        right = [(case, expected) for case, expected in right if given in dtypes_in(expected)]
        if right:
            unseen[f"{given} promoted"] = not any(
                told_apart(expected, promoted(expected, given), case) for case, expected in right
            )
    return unseen
