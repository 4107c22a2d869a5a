"""The edges that a case holds, read from its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autograder.case import Case, Tensor

LARGE = 2**53  # the first integers that a float64 does not hold
MANY = 32_767  # the last index that 16 bits hold
EDGES = ("one rank", "one element", "none", "unequal shares", "ties", "nan", "inf", "0", "-0.0", "above 2**53",
         "above 32,767 elements", "same object twice")  # fmt: skip


def edges_of(case: Case) -> set[str]:
    """The `EDGES` that a case holds.

    Counts of elements and ties are looked for in lists, tuples, dicts, arrays and tensors; "unequal shares" are
    arguments of one place that have several lengths on the ranks, none of them zero.
    """
    found = {"one rank"} if _ranks(case) == 1 else set()
    per_rank = [case.arguments_of(rank) for rank in range(case.world_size)]
    for arguments in per_rank:
        for value in arguments:
            found |= _of_value(value)
        found |= {"same object twice"} if _repeats(arguments) else set()
    for place in zip(*per_rank, strict=False):
        lengths = {len(value) for value in map(_sized, place) if value is not None}
        if len(lengths) > 1 and 0 not in lengths:
            found.add("unequal shares")
    return found


def edges_of_all(cases: Iterable[Case]) -> list[str]:
    """The edges that some of these cases hold, in the order of `EDGES`."""
    held = set().union(*map(edges_of, cases))
    return [edge for edge in EDGES if edge in held]


def _ranks(case: Case) -> int:
    """The number of ranks of the case, or the one that a plain function is told."""
    told = case.known.get("world_size", case.known.get("p"))
    return told if case.world_size == 1 and isinstance(told, int) else case.world_size


def _sized(value: Any) -> np.ndarray | list | tuple | dict | None:
    value = value.values if isinstance(value, Tensor) else value
    is_sized = isinstance(value, (list, tuple, dict)) or isinstance(value, np.ndarray) and value.ndim > 0
    return value if is_sized else None


def _of_value(value: Any) -> set[str]:
    found = set()
    sized = _sized(value)
    if sized is not None:
        count = sized.size if isinstance(sized, np.ndarray) else len(sized)
        found |= {"none"} if count == 0 else {"one element"} if count == 1 else set()
        found |= {"above 32,767 elements"} if count > MANY else set()
        numbers = list(_numbers(sized))
        found |= {"ties"} if len(set(map(repr, numbers))) < len(numbers) else set()
    for number in _numbers(value):
        found |= {name for name, holds in _OF_NUMBERS.items() if holds(number)}
    return found


_OF_NUMBERS: dict[str, Callable[[Any], bool]] = {
    "nan": lambda x: isinstance(x, float) and math.isnan(x),
    "inf": lambda x: isinstance(x, float) and math.isinf(x),
    "0": lambda x: x == 0,
    "-0.0": lambda x: isinstance(x, float) and x == 0 and math.copysign(1, x) < 0,
    "above 2**53": lambda x: isinstance(x, int) and abs(x) > LARGE,
}


def _numbers(value: Any) -> Iterator[int | float]:
    """All numbers in a value, at any depth; no bools."""
    value = value.values if isinstance(value, Tensor) else value
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iuf":
            yield from value.reshape(-1).tolist()
    elif isinstance(value, dict):
        for one in value.values():
            yield from _numbers(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value


def _repeats(arguments: tuple) -> bool:
    objects = [id(value) for value in arguments if isinstance(value, (list, dict, np.ndarray, Tensor))]
    return len(set(objects)) < len(objects)
