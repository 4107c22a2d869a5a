"""The numbers of exercises: no narrower type holds them, nor the sums that they are made for."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import values
from autograder.exercise import Case, Exercise, Tensor
from autograder.exercises.readings import contributions

KEYS = range(20)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("summands", [1, 5])
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_neither_wide_integers_nor_their_sum_fit_into_a_narrower_type(key, summands, dtype):
    drawn = values.wide_integers(np.random.default_rng(key), (summands, 4), dtype, summands)
    total = drawn.sum(axis=0, dtype=np.int64)
    assert np.abs(total).max() <= np.iinfo(dtype).max and drawn.dtype == dtype
    for exact in (drawn, total):
        for via in values.DETOURS[dtype]:
            assert (exact.astype(via).astype(np.int64) != exact).all(), via


@pytest.mark.parametrize("key", KEYS)
def test_float32_loses_something_of_each_number_and_of_their_sum(key):
    drawn = values.full_precision(np.random.default_rng(key), 5, 900, (7, 3))
    for exact in (drawn, drawn.sum(axis=0)):
        assert (np.abs(exact.astype(np.float32) / exact - 1) > 2e-8).all()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("dtype", "most"), [("int64", 16), ("int32", 5), ("float64", 8), ("float32", 5), ("bfloat16", 3)]
)
def test_a_sum_of_contributions_is_exact_twice_over_and_says_who_is_in_it(key, dtype, most):
    for world_size in range(2, most + 1):
        parts, base = contributions.summands(np.random.default_rng(key), world_size, (3,), dtype)
        total, scale = sum(parts), contributions.unit(world_size, dtype)
        assert (contributions.decode(total, parts, base, scale) == 1).all()
        assert (contributions.decode(2 * total - parts[0], parts, base, scale)[:2] == [[1] * 3, [2] * 3]).all()
        if dtype.startswith("int"):
            assert (2 * total <= np.iinfo(dtype).max).all()
        for via in values.DETOURS.get(dtype, ()):
            lost = total.astype(dtype).astype(via).astype(dtype)
            assert lost[0] != total[0], f"{world_size} ranks: {via} holds {total[0]}"


@pytest.mark.parametrize("key", KEYS)
def test_no_two_elements_of_a_sum_are_equal_while_there_are_enough_digits(key):
    for world_size, n in ((2, 8), (2, 9), (3, 10), (5, 4)):
        parts, _ = contributions.summands(np.random.default_rng(key), world_size, (n,), "float64")
        assert len(set(sum(parts).tolist())) == n


class Negated(Exercise):
    """What the property test of all exercises finds, in one that takes float64 and int64."""

    unit, function, signature, levels = "99_test", "negated", "negated(x)", {"all": 1}
    runtime = "plain"

    def __init__(self, arguments):
        self.arguments = arguments

    def cases(self, rng):
        return [Case("all", 1, (argument,), known={"x": argument}) for argument in self.arguments]

    def expected(self, case):
        x = case.known["x"]
        return [Tensor(-np.asarray(x.values), x.dtype)]


def test_numbers_that_survive_a_detour_are_found():
    small = Negated([Tensor(np.array([1.0, 2.5]), "float64"), Tensor(np.array([1, 2]), "int64")])
    assert values.unseen_detours(small, small.cases(None)) == {
        "float64 -> float32": True,
        "int64 -> int32": True,
        "int64 -> float32": True,
        "int64 -> float64": True,
        "integers of both widths": True,
    }
    rng = np.random.default_rng(1)
    arguments = [Tensor(values.full_precision(rng, 1, 2, (2,)), "float64")]
    arguments += [Tensor(values.wide_integers(rng, (2,), dtype), dtype) for dtype in ("int64", "int32")]
    wide = Negated(arguments)
    assert not any(values.unseen_detours(wide, wide.cases(None)).values())
    assert "int32 promoted" in values.unseen_detours(wide, wide.cases(None))


def test_a_reason_excuses_one_detour_or_all_of_a_type():
    assert values.is_excused("int64 -> int32", {"int64": "labels"})
    assert values.is_excused("int64 -> int32", {"int64 -> int32": "labels"})
    assert not values.is_excused("int64 -> int32", {"int64 -> float32": "labels", "float64": "times"})
