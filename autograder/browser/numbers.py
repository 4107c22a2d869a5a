"""The module that stands in for numpy where it is not: the functions that judging a plain exercise calls, on
`autograder.browser.arrays`.

Every other name of numpy is here as a class of which nothing is an instance, so that modules which speak of arrays can
be imported, and `isinstance(value, np.complexfloating)` is False. To call one is an error that says so.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import importlib.util
import math
import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from autograder.browser.arrays import Array, Dtype, asarray, broadcast_to, elementwise, name_of
from autograder.browser.generator import Generator


class StandIn(ModuleType):
    """A module in which every name is there: one that it was not given is an empty class, made when it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_, **__):
            raise NotImplementedError(f"numpy.{name} is not there where numpy is not")

        made = type(name, (), {"__new__": refuse})
        setattr(self, name, made)
        return made


class _Float64Type(type):
    """Says that Python's floats are those of numpy's float64, as numpy does itself, the other way round."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, float)


class float64(metaclass=_Float64Type):
    """The class by which arrays name the type of their elements; calling it gives a float."""

    def __new__(cls, value: Any = 0.0):
        return float(value)


def of_array(name: str) -> Callable:
    """The function that calls an array's method."""
    return lambda value, *arguments, **named: getattr(asarray(value), name)(*arguments, **named)


def of_elements(function: Callable) -> Callable:
    """The function of arrays that calls `function` for their elements."""
    return functools.partial(elementwise, function)


def filled(value: Any) -> Callable:
    """The function that makes an array of a shape in which all elements are `value`."""

    def make(shape: Any, dtype: Any = float) -> Array:
        return broadcast_to(value, shape).astype(name_of(dtype))

    return make


def arange(*bounds: int) -> Array:
    return asarray(range(*map(int, bounds))).astype("int64")


def sort(values: Any) -> Array:
    array = asarray(values)
    return Array(array.shape, sorted(array.flat), array.dtype.name)


def argsort(values: Any) -> Array:
    flat = asarray(values).flat
    return asarray(sorted(range(len(flat)), key=flat.__getitem__)).astype("int64")


def append(values: Any, more: Any) -> Array:
    return asarray([*asarray(values).flat, *asarray(more).flat])


def ptp(values: Any) -> Any:
    return asarray(values).max() - asarray(values).min()


def bincount(values: Any) -> Array:
    counts = Counter(asarray(values).flat)
    return asarray([counts[k] for k in range(max(counts, default=-1) + 1)]).astype("int64")


def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    first, second = asarray(a), asarray(b)
    return first.shape == second.shape and all(map(operator.eq, first.flat, second.flat))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    def close(x: Any, y: Any) -> bool:
        if math.isfinite(x) and math.isfinite(y):
            return abs(x - y) <= atol + rtol * abs(y)
        return x == y or (equal_nan and x != x and y != y)

    return elementwise(close, a, b)


def allclose(a: Any, b: Any, **how: Any) -> bool:
    return bool(asarray(isclose(a, b, **how)).all())


def moveaxis(values: Array, source: Any, target: Any) -> Array:
    n = values.ndim
    moved = [k % n for k in ([source] if isinstance(source, int) else source)]
    places = [k % n for k in ([target] if isinstance(target, int) else target)]
    order = [k for k in range(n) if k not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return values.transpose(order)


def roll(values: Array, shift: int, axis: int) -> Array:
    order = [*(k for k in range(values.ndim) if k != axis), axis]
    rows, length = values.transpose(order), values.shape[axis]
    places = [k - k % length + (k - shift) % length for k in range(rows.size)]
    return moveaxis(rows._taken(rows.shape, places), -1, axis)


def prod(values: Sequence) -> Any:
    return math.prod(asarray(values).flat)


def median(values: Any) -> float:
    ordered = sorted(asarray(values).flat)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def ascontiguousarray(values: Any, dtype: Any = None) -> Array:
    return asarray(values, dtype)


def ndim(values: Any) -> int:
    return asarray(values).ndim


@contextlib.contextmanager
def errstate(**_: str) -> Iterator[None]:
    yield


def _random() -> StandIn:
    module = StandIn("numpy.random")
    module.default_rng = module.Generator = Generator
    module.seed = lambda seed: None
    return module


OF_PROCESSES = ("resource", "labkit.launch.jail")  # Linux alone has them
FUNCTIONS = (allclose, append, arange, argsort, array_equal, ascontiguousarray, asarray, bincount, broadcast_to,
             errstate, float64, isclose, median, moveaxis, ndim, prod, ptp, roll, sort)  # fmt: skip
METHODS = ("all", "any", "max", "mean", "min", "ravel", "sum", "transpose")
ELEMENTS = {
    "abs": abs,
    "add": operator.add,
    "floor": lambda x: float(math.floor(x)),
    "isfinite": math.isfinite,
    "isnan": math.isnan,
    "maximum": max,
    "minimum": min,
    "multiply": operator.mul,
    "rint": lambda x: float(round(x)),
    "sqrt": math.sqrt,
    "subtract": operator.sub,
    "where": lambda holds, x, y: x if holds else y,
}


def stand_in() -> StandIn:
    """The module."""
    module = StandIn("numpy")
    module.__spec__ = importlib.machinery.ModuleSpec("numpy", None)
    for function in FUNCTIONS:
        setattr(module, function.__name__, function)
    for name in METHODS:
        setattr(module, name, of_array(name))
    for name, function in ELEMENTS.items():
        setattr(module, name, of_elements(function))
    module.array, module.ndarray, module.dtype = asarray, Array, lambda name: Dtype(name_of(name))
    module.vectorize = lambda function, otypes=None: of_elements(function)
    module.zeros, module.ones, module.empty = filled(0), filled(1), filled(0)
    module.frombuffer = lambda data, dtype: memoryview(bytes(data)).cast({"uint32": "I"}[dtype.__name__]).tolist()
    module.shape, module.size = (lambda value: asarray(value).shape), (lambda value: asarray(value).size)
    module.geterr, module.seterr = dict, lambda **_: None
    module.inf, module.nan, module.pi, module.e, module.newaxis = math.inf, math.nan, math.pi, math.e, None
    module.random = _random()
    return module


@contextlib.contextmanager
def in_place_of_numpy() -> Iterator[None]:
    """Within, `import numpy` gives the stand-in; afterwards it finds no numpy: an answer gets numpy, or is told. So it
    is with what the launcher of processes imports and a browser has not: nobody calls it there."""
    module = stand_in()
    missing = OF_PROCESSES if importlib.util.find_spec("resource") is None else ()
    sys.modules.update({"numpy": module, "numpy.random": module.random, **{name: StandIn(name) for name in missing}})
    try:
        yield
    finally:
        sys.modules.update({"numpy": None, "numpy.random": None})
        for name in missing:
            del sys.modules[name]
