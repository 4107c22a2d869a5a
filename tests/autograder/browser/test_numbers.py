"""The stand-in for numpy gives numpy's own numbers: as arrays, and as the values that cases draw."""

import itertools

import numpy as np
import pytest

from autograder.browser import numbers
from autograder.browser.generator import Generator

small = numbers.stand_in()
SHAPES = [(3,), (4,), (2, 3), (3, 2), (2, 1, 3), (1, 3)]
PAIRS = [(a, b) for a, b in itertools.product(SHAPES, SHAPES) if a[-1] == b[-1] and len(a) <= len(b)]


def both(shape: tuple[int, ...], kind: type = int, start: int = -3):
    values = np.arange(start, start + int(np.prod(shape))).astype(kind).reshape(shape)
    return values, small.array(values.tolist())


def agree(theirs, ours) -> None:
    theirs = np.asarray(theirs)
    assert getattr(ours, "shape", ()) == theirs.shape
    assert (ours.tolist() if hasattr(ours, "tolist") else ours) == theirs.tolist()
    if hasattr(ours, "dtype"):
        assert ours.dtype.kind == theirs.dtype.kind


@pytest.mark.parametrize("seed", range(40))
def test_the_generator_draws_what_numpy_draws(seed):
    words = np.random.default_rng(seed).integers(0, 2**32, 8, dtype=np.uint32)
    theirs, ours = np.random.default_rng(words), Generator(words.tolist())
    for low, high in ((0, 2), (5, 50), (-7, 9), (0, 2**31 + 5), (0, 2**32), (3, 3 + 2**40), (10, 11)):
        assert ours.integers(low, high) == theirs.integers(low, high)
    assert ours.integers(1, 30, 5).tolist() == theirs.integers(1, 30, 5).tolist()
    assert ours.random() == theirs.random() and ours.uniform(0.3, 0.4) == theirs.uniform(0.3, 0.4)
    assert ours.uniform(-1, 1, 3).tolist() == theirs.uniform(-1, 1, 3).tolist()
    assert ours.permutation(12).tolist() == theirs.permutation(12).tolist()
    assert ours.integers(9) == theirs.integers(9)


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "le", "eq", "ne", "gt"])
def test_operators_are_numpys(name, kind):
    for a, b in PAIRS:
        (x, u), (y, v) = both(a, kind), both(b, kind, start=4)
        agree(getattr(x, f"__{name}__")(y), getattr(u, f"__{name}__")(v))
    agree(getattr(x, f"__{name}__")(2), getattr(u, f"__{name}__")(2))


def test_parts_of_arrays_are_numpys():
    x, u = both((2, 3, 4))
    for key in (
        1,
        -1,
        (0, 2),
        (slice(None), 1),
        (slice(None), None),
        (0, slice(0, 2)),
        (slice(None), slice(1, None, 2)),
    ):
        agree(x[key], u[key])
    agree(x[x > 3], u[u > 3])
    agree(x[[1, 0, 1]], u[[1, 0, 1]])
    agree(x[np.array([False, True])], u[small.array([False, True])])
    x[:, 1], u[:, 1] = 7, 7
    agree(x, u)


def test_reductions_and_moves_are_numpys():
    x, u = both((2, 3, 4))
    for name, axis in itertools.product(("sum", "max", "min", "all", "any"), (None, 0, 1, -1)):
        agree(getattr(x, name)(axis=axis), getattr(u, name)(axis=axis))
    agree(x.transpose(2, 0, 1), u.transpose(2, 0, 1))
    agree(x.T, u.T)
    agree(x.reshape(-1, 6), u.reshape(-1, 6))
    agree(np.moveaxis(x, [0, 2], [-1, -2]), small.moveaxis(u, [0, 2], [-1, -2]))
    agree(np.moveaxis(x, 1, -1), small.moveaxis(u, 1, -1))
    for axis, shift in itertools.product((0, 1, 2), (-1, 2)):
        agree(np.roll(x, shift, axis=axis), small.roll(u, shift, axis=axis))
    agree(np.broadcast_to(np.array([1.5]), (4,)), small.broadcast_to(small.array([1.5]), (4,)))
    agree(np.bincount([3, 1, 1]), small.bincount(small.array([3, 1, 1])))
    agree(np.append(0, [2, 3]), small.append(0, [2, 3]))
    agree(np.argsort([2, 0, 1]), small.argsort([2, 0, 1]))
    agree(np.where([True, False], [1, 2], [3, 4]), small.where([True, False], [1, 2], [3, 4]))


@pytest.mark.parametrize("value", [1 / 3, 1e300, 2.0**-140, -7.25, 16777217.0])
def test_float32_rounds_as_numpys(value):
    with np.errstate(over="ignore"):
        assert small.array([value]).astype(small.float32).tolist() == np.array([value]).astype(np.float32).tolist()


def test_kinds_are_numpys():
    for value in (True, 3, 2.5, [1, 2.5], [True, 2], [], "word", 2**70, [[1], [2]], [1.0, 10**400]):
        assert small.asarray(value).dtype.kind == np.asarray(value).dtype.kind
    with pytest.raises(ValueError, match="length"):
        small.asarray([[1], [1, 2]])


def test_what_is_not_there_says_so():
    assert not isinstance(3, small.complexfloating)
    with pytest.raises(NotImplementedError, match=r"numpy\.einsum is not there"):
        small.einsum("ij->ji", [[1]])
