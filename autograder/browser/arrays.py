"""Small arrays in pure Python: as much of numpy's as the judging of plain exercises needs where numpy is not.

Elements are Python's own numbers, rows follow each other in one list, and nothing is a view of anything else. Whoever
asks for more than there is here gets an AttributeError, never another number than numpy's.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

LARGEST = 2**63
KINDS = {"bool": "b", "int64": "i", "float64": "f", "float32": "f", "str": "U", "object": "O"}
NAMES = {bool: "bool", int: "int64", float: "float64", str: "str", object: "object"}


@dataclass(frozen=True)
class Dtype:
    """The type of an array's elements; equal to another of that name, and to the class that stands for it."""

    name: str

    @property
    def kind(self) -> str:
        """numpy's letter for it: "b", "i", "f", "U" or "O"."""
        return KINDS[self.name]

    def __eq__(self, other: object) -> bool:
        return self.name == name_of(other)

    def __hash__(self) -> int:
        return hash(self.name)


def name_of(dtype: Any) -> str:
    """The name of a type, said as a text, a class of Python's, numpy's stand-in for one, or a `Dtype`."""
    if isinstance(dtype, (str, Dtype)):
        return getattr(dtype, "name", dtype)
    return NAMES.get(dtype, getattr(dtype, "__name__", "object").rstrip("_"))


class Array:
    """An array of any number of axes. flat: its elements, the last axis fastest."""

    def __init__(self, shape: Sequence[int], flat: list, dtype: str):
        self.shape, self.flat, self.dtype = tuple(shape), flat, Dtype(dtype)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: len(self.flat))
    nbytes = property(lambda self: 8 * len(self.flat))
    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"array({self.tolist()})"

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of several elements is ambiguous")
        return bool(self.flat[0])

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def item(self) -> Any:
        """The only element."""
        (element,) = self.flat
        return element

    def tolist(self) -> Any:
        """The elements as nested lists; of an array without axes the element."""
        rows: list = self.flat
        for length in reversed(self.shape[1:]):
            rows = [rows[k : k + length] for k in range(0, len(rows), length)] if length else [[]] * self.shape[0]
        return list(rows) if self.shape else rows[0]

    def tobytes(self) -> bytes:
        """Bytes that are the same for the same elements."""
        return repr((self.shape, self.flat)).encode()

    def copy(self) -> Array:
        return Array(self.shape, list(self.flat), self.dtype.name)

    def astype(self, dtype: Any) -> Array:
        """The elements as numbers of that type; those of float32 rounded to it."""
        return Array(self.shape, [CASTS[name_of(dtype)](one) for one in self.flat], name_of(dtype))

    def ravel(self) -> Array:
        return Array((self.size,), list(self.flat), self.dtype.name)

    def reshape(self, *shape: Any) -> Array:
        lengths = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
        known = math.prod(length for length in lengths if length != -1)
        lengths = [self.size // max(known, 1) if length == -1 else length for length in lengths]
        if math.prod(lengths) != self.size:
            raise ValueError(f"{self.size} elements have no shape {tuple(lengths)}")
        return Array(lengths, list(self.flat), self.dtype.name)

    def transpose(self, *axes: Any) -> Array:
        order = list(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else list(axes)
        order = order or list(range(self.ndim))[::-1]
        steps = strides(self.shape)
        shape = [self.shape[axis] for axis in order]
        return self._taken(shape, _walk(tuple(shape), tuple(steps[axis] for axis in order)))

    def _taken(self, shape: Sequence[int], places: Sequence[int]) -> Array:
        return Array(shape, [self.flat[place] for place in places], self.dtype.name)

    def __getitem__(self, key: Any) -> Any:
        shape, places = _places(self.shape, key)
        found = self._taken(shape, places)
        return found if shape or _is_mask(key) else found.flat[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        shape, places = _places(self.shape, key)
        for place, new in zip(places, broadcast_to(asarray(value), shape).flat, strict=True):
            self.flat[place] = CASTS[self.dtype.name](new)

    def reduced(self, function: Callable[[list], Any], axis: int | None = None) -> Any:
        """`function` of all elements, or of those along an axis."""
        if axis is None:
            return function(self.flat)
        order = [k for k in range(self.ndim) if k != axis % self.ndim]
        rows = self.transpose([*order, axis % self.ndim])
        length = self.shape[axis]
        found = [function(rows.flat[k * length : (k + 1) * length]) for k in range(math.prod(rows.shape[:-1]))]
        return asarray(found).reshape(rows.shape[:-1])

    def sum(self, axis: int | None = None) -> Any:
        return self.reduced(added, axis)

    def max(self, axis: int | None = None, initial: Any = None) -> Any:
        return self.reduced(lambda some: max(some if initial is None else [*some, initial]), axis)

    def min(self, axis: int | None = None, initial: Any = None) -> Any:
        return self.reduced(lambda some: min(some if initial is None else [*some, initial]), axis)

    def all(self, axis: int | None = None) -> Any:
        return self.reduced(lambda some: all(map(bool, some)), axis)

    def any(self, axis: int | None = None) -> Any:
        return self.reduced(lambda some: any(map(bool, some)), axis)

    def mean(self, axis: int | None = None) -> Any:
        return self.reduced(lambda some: added(some) / len(some), axis)

    def __invert__(self) -> Array:
        flip = operator.not_ if self.dtype.kind == "b" else operator.invert
        return Array(self.shape, list(map(flip, self.flat)), self.dtype.name)

    def __neg__(self) -> Array:
        return Array(self.shape, [-one for one in self.flat], self.dtype.name)

    def __abs__(self) -> Array:
        return Array(self.shape, [abs(one) for one in self.flat], self.dtype.name)

    __hash__ = None


def _is_mask(key: Any) -> bool:
    return isinstance(key, Array)


def added(some: Sequence) -> Any:
    """The sum from left to right, as numpy's of a few numbers: Python's own makes up for what it rounds."""
    total = 0
    for one in some:
        total = total + one
    return total


def _to_float32(value: Any) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


CASTS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int64": int,
    "float64": float,
    "float32": _to_float32,
    "str": str,
    "object": lambda value: value,
}


def strides(shape: Sequence[int]) -> list[int]:
    """For each axis, how many places its next element is away."""
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


@functools.lru_cache(4096)
def _walk(shape: tuple[int, ...], steps: tuple[int, ...]) -> list[int]:
    """The places of all elements, the last axis fastest, where the next of each axis is so many steps away."""
    places = [0]
    for length, step in zip(shape, steps, strict=True):
        places = [place + k * step for place in places for k in range(length)]
    return places


def _places(shape: Sequence[int], key: Any) -> tuple[tuple[int, ...], list[int]]:
    """(shape, places) of what a key chooses: whole numbers, slices and None, a mask, or rows by their numbers."""
    if isinstance(key, list):
        key = asarray(key)
    if isinstance(key, Array):
        step = math.prod(shape[1:])
        if key.dtype.kind == "b":
            chosen = [k for k, holds in enumerate(key.flat) if holds]
            if key.shape == tuple(shape):
                return (len(chosen),), chosen
            key = asarray(chosen)
        rows = [one % shape[0] for one in key.flat]
        return (*key.shape, *shape[1:]), [row * step + k for row in rows for k in range(step)]
    keys = list(key) if isinstance(key, tuple) else [key]
    keys += [slice(None)] * (len(shape) - sum(one is not None for one in keys))
    lengths, places, left = [], [0], list(zip(shape, strides(shape), strict=True))
    for one in keys:
        if one is None:
            lengths.append(1)
            continue
        length, step = left.pop(0)
        if isinstance(one, slice):
            chosen = range(length)[one]
            lengths.append(len(chosen))
        else:
            chosen = [range(length)[int(one)]]
        places = [place + k * step for place in places for k in chosen]
    return tuple(lengths), places


def asarray(value: Any, dtype: Any = None) -> Array:
    """A number, nested lists or an array as an array. Raises ValueError for rows of different lengths."""
    if not isinstance(value, Array):
        shape, flat = _flattened(value)
        name = _name_for(flat)
        value = Array(shape, list(map(CASTS[name], flat)), name)
    return value if dtype is None or value.dtype == dtype else value.astype(dtype)


def _flattened(value: Any) -> tuple[tuple[int, ...], list]:
    if isinstance(value, Array):
        return value.shape, value.flat
    if not isinstance(value, (list, tuple, range)):
        return (), [value]
    parts = [_flattened(part) for part in value]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise ValueError("rows of different lengths")
    return (len(parts), *(shapes.pop() if shapes else ())), list(itertools.chain(*(flat for _, flat in parts)))


def _name_for(flat: Sequence) -> str:
    """The type that numpy gives to such elements."""
    kinds = set(map(type, flat))
    if not flat or kinds == {float}:
        return "float64"
    if kinds == {bool}:
        return "bool"
    if any(issubclass(kind, str) for kind in kinds):
        return "str"
    if not all(issubclass(kind, (bool, int, float)) for kind in kinds):
        return "object"
    whole = flat if float not in kinds else [one for one in flat if not isinstance(one, float)]
    if whole and not (-LARGEST <= min(whole) and max(whole) < LARGEST):
        return "object"
    return "float64" if float in kinds else "int64"


def broadcast_to(value: Any, shape: Any) -> Array:
    """An array repeated along the axes that it lacks, and along those of length 1. Raises ValueError."""
    array, shape = asarray(value), (shape,) if isinstance(shape, int) else tuple(shape)
    own = (1,) * (len(shape) - array.ndim) + array.shape
    if len(own) != len(shape) or any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
        raise ValueError(f"shape {array.shape} does not fit into {shape}")
    steps = (0 if a == 1 else step for a, step in zip(own, strides(own), strict=True))
    return array._taken(shape, _walk(shape, tuple(steps)))


def _common(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    pairs = itertools.zip_longest(reversed(a), reversed(b), fillvalue=1)
    return tuple(y if x == 1 else x for x, y in pairs)[::-1]


def elementwise(function: Callable, *values: Any) -> Any:
    """`function` of the elements that stand in the same place; a number where all are numbers."""
    if not any(isinstance(value, Array) for value in values) and all(isinstance(v, (int, float)) for v in values):
        return function(*values)
    arrays = [asarray(value) for value in values]
    shape = arrays[0].shape
    for other in arrays[1:]:
        shape = shape if other.shape in ((), shape) else _common(shape, other.shape)
    rows = [_repeated(array, shape) for array in arrays]
    found = list(map(function, *rows))
    name = _name_for(found) if found else arrays[0].dtype.name
    if name == "float64" and all(array.dtype.name == "float32" for array in arrays):
        return Array(shape, found, name).astype("float32")
    return Array(shape, found, name)


def _repeated(array: Array, shape: tuple[int, ...]) -> list:
    """The elements, repeated to that shape."""
    if array.shape == shape:
        return array.flat
    return array.flat * math.prod(shape) if not array.shape else broadcast_to(array, shape).flat


def _give_operators() -> None:
    """Gives `Array` the operators between arrays, and between an array and a number."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
        function, own = getattr(operator, name), name.rstrip("_")
        setattr(Array, f"__{own}__", lambda self, other, f=function: elementwise(f, self, other))
        setattr(Array, f"__r{own}__", lambda self, other, f=function: elementwise(f, other, self))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        function = getattr(operator, name)
        setattr(Array, f"__{name}__", lambda self, other, f=function: elementwise(f, self, other))


_give_operators()
