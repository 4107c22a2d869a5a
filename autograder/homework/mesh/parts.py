"""The parts of a checkpoint, whatever they are made of: the weights in them found by their values, and scaled.

A script that goes on from them trains with these weights; one that has the whole training in itself does not notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from autograder.homework.mesh import sizes

SAME = 1e-12  # how near a number of the parts is to one of the head
FACTOR = 1.25


@dataclass
class Scaling:
    """head: its numbers in the sequential training when the parts were made. losses: of its further steps with these
    numbers scaled by FACTOR.

    everywhere: the parts had not all numbers of the head as they are, so that all of their numbers were scaled. inside:
    they are all in a file in memory, which nobody but the script can alter.
    """

    head: np.ndarray
    losses: np.ndarray
    everywhere: bool = False
    inside: bool = False
    _seen: np.ndarray = field(init=False)

    def __post_init__(self):
        self.head = np.sort(self.head)
        self._seen = np.zeros(len(self.head), bool)

    def of(self, parts: list) -> list:
        """The parts with the head's numbers scaled."""
        found = self._scaled(parts)
        if self._seen.all():
            return found
        self.inside = any(self._all_in(data) for data in _files(parts))
        self.everywhere = True
        return self._scaled(parts)

    def _scaled(self, part):
        if isinstance(part, dict):
            return {name: self._scaled(one) for name, one in part.items()}
        if isinstance(part, list | tuple):
            return type(part)(self._scaled(one) for one in part)
        if isinstance(part, float):
            return float(self._numbers(np.array([part]))[0])
        if isinstance(part, np.ndarray) and part.dtype == np.float64:
            return self._numbers(part)
        values = getattr(part, "values", None)
        if isinstance(values, np.ndarray) and values.dtype == np.float64:
            return replace(part, values=self._numbers(values))
        return part

    def _numbers(self, values: np.ndarray) -> np.ndarray:
        places = self._places(values)
        self._seen[places[places >= 0]] = True
        return values * np.where((places >= 0) | self.everywhere, FACTOR, 1.0)

    def _places(self, values: np.ndarray) -> np.ndarray:
        """The place of each number among those of the head, -1 where it is none of them."""
        after = np.searchsorted(self.head, values - SAME).clip(0, len(self.head) - 1)
        return np.where(np.abs(self.head[after] - values) <= SAME, after, -1)

    def _all_in(self, data: bytes) -> bool:
        seen = np.zeros(len(self.head), bool)
        for start in range(sizes.FLOAT):
            count = (len(data) - start) // sizes.FLOAT
            places = self._places(np.nan_to_num(np.frombuffer(data, np.float64, max(0, count), start)))
            seen[places[places >= 0]] = True
        return bool(seen.all())


def _files(part) -> Iterator[bytes]:
    """The files in memory among the parts."""
    if isinstance(part, dict | list | tuple):
        for one in part.values() if isinstance(part, dict) else part:
            yield from _files(one)
    values = getattr(part, "values", part)
    if isinstance(values, bytes):
        yield values
    if isinstance(values, np.ndarray) and values.dtype == np.uint8:
        yield values.tobytes()
