"""Right is right however it is written, wrong is told apart, and nothing a rank returns makes the comparison stumble."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder import compare
from autograder.compare import difference, same, show, show_where_they_differ, unchanged
from autograder.exercise import ANYTHING, Opaque, Tensor, Typed
from labkit.relay import wire


def kind(expected, observed, strict=True):
    found = difference(expected, observed, 1e-6, 1e-9, strict)
    return found and found.kind


@pytest.mark.parametrize(
    ("expected", "observed"),
    [
        (3, 3),
        (3, 3.0),
        (3, np.array(3)),
        (3.0, Tensor(np.array([3.0], np.float32))),
        (0.1 + 0.2, 0.3),
        (True, np.array(True)),
        ([1, 2], (1, 2)),
        ((1, 2), [1.0, 2.0]),
        ([1, 2], np.array([1, 2])),
        ([1.5, 2.5], Tensor(np.array([1.5, 2.5]))),
        ([np.arange(2), 7], [np.arange(2), 7]),
        ({"a": 1}, {"a": 1.0}),
        (np.arange(3), np.arange(3.0)),
        (np.arange(3), Tensor(np.arange(3), "int64")),
        (np.array([np.nan, 1]), np.array([np.nan, 1])),
        (Tensor(np.array([1 / 3]), "bfloat16"), Tensor(np.array([0.334]), "bfloat16")),
        (None, None),
        ("a", "a"),
        (ANYTHING, Opaque("Model")),
    ],
)
def test_right_answers_in_any_writing(expected, observed):
    assert kind(expected, observed) is None


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint32"])
def test_a_single_number_has_a_type_where_the_text_asks_for_one(dtype):
    expected = Typed(np.array(3, dtype))
    for other in ("float32", "float64", "int32", "int64"):
        for observed in (np.dtype(other).type(3), np.array(3, other)):
            arrived = wire.decode(*wire.encode(observed))
            assert kind(expected, arrived) == (None if other == dtype else "wrong_dtype"), other
            assert kind(3, arrived) is None
        assert unchanged([3], [wire.decode(*wire.encode(np.dtype(other).type(3)))])


def test_numbers_of_numpy_are_shown_and_read_as_pythons():
    value = [np.float32(0.5), (np.int32(3), {"a": np.uint8(7)}), np.arange(2)]
    assert show(value) == "[0.5, (3, {'a': 7}), [0, 1]]"
    plain = compare.with_pythons_numbers(value)
    assert [type(one) for one in (plain[0], *plain[1][:1], plain[1][1]["a"])] == [float, int, int]
    assert plain[2] is value[2]


@pytest.mark.parametrize(
    ("expected", "observed", "why"),
    [
        (3, 4, "value"),
        (3, None, "returns_nothing"),
        (3, "3", "wrong_type"),
        (3, [3, 3], "wrong_type"),
        (3, Opaque("generator"), "wrong_type"),
        ([1, 2], [1, 3], "value"),
        ([1, 2], [1, 2, 3], "wrong_length"),
        ([1, 2], 1, "wrong_type"),
        (Tensor(np.arange(3.0)), np.arange(3.0), "wrong_type"),
        (Tensor(np.arange(3.0)), [0.0, 1.0, 2.0], "wrong_type"),
        (Tensor(np.arange(3.0)), Tensor(np.arange(4.0)), "wrong_shape"),
        (Tensor(np.arange(3.0)), Tensor(np.arange(3.0).reshape(3, 1)), "wrong_shape"),
        (Tensor(np.arange(3), "int64"), Tensor(np.arange(3.0), "float32"), "wrong_dtype"),
        (np.arange(3), np.arange(3) + 1, "value"),
        (np.arange(3), [0, 1, 2], "wrong_type"),
        (np.zeros(2), np.array([np.nan, 0]), "value"),
        ({"a": 1}, {"b": 1}, "wrong_length"),
        (None, 3, "value"),
        ("a", 1, "wrong_type"),
        (1.0, float("inf"), "value"),
        (2**62, 2**62 + 1, "value"),
        (3, 10**400, "value"),
        ([1], [10**40], "value"),
    ],
)
def test_wrong_answers_by_kind(expected, observed, why):
    assert kind(expected, observed) == why


def test_leniency_forgives_types_and_not_values():
    assert kind(Tensor(np.arange(3), "int64"), Tensor(np.arange(3.0), "float32"), strict=False) is None
    assert kind(Tensor(np.arange(3.0)), [0, 1, 2], strict=False) is None
    assert kind(Tensor(np.arange(3.0)), [0, 1, 3], strict=False) == "value"


def test_long_arrays_name_the_first_difference():
    x = np.arange(100.0)
    y = x.copy()
    y[[7, 50]] = -1
    assert difference(x, y, 1e-6, 1e-9).text == "2 of 100 elements differ, the first at index 7: -1 instead of 7"


plain = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**40), 10**40),
        st.floats(),
        st.text(max_size=3),
        st.just(Opaque("x")),
        st.builds(np.array, st.lists(st.floats(), max_size=3)),
        st.builds(
            lambda v, d: Tensor(np.array(v), d),
            st.lists(st.integers(0, 1), max_size=3),
            st.sampled_from(["float32", "bool", "int64"]),
        ),
        st.just(np.array([1 + 2j])),
        st.just(np.zeros((0, 3))),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=2), st.tuples(inner, inner)
    ),
    max_leaves=6,
)
wanted = st.sampled_from(
    [
        3,
        2.5,
        True,
        None,
        "a",
        [1, 2],
        (1.0,),
        {"a": 1},
        np.arange(3),
        np.array(1.0),
        Tensor(np.arange(3.0)),
        Tensor(np.zeros((2, 0)), "int64"),
        [Tensor(np.ones(2))],
    ]
)


@given(wanted, plain, st.booleans())
def test_nothing_a_rank_returns_makes_it_stumble(expected, observed, strict):
    difference(expected, observed, 1e-6, 1e-9, strict)
    unchanged(expected, observed)
    assert isinstance(show(observed, indent=3), str)


@given(plain)
def test_what_was_returned_is_equal_to_itself(value):
    assert unchanged(value, value)


def test_of_long_nested_values_the_first_difference_is_shown():
    """A detour of all gradients through float32 once filled a card with every number of every layer."""
    exact = [{f"layer {k}": np.arange(12.0).reshape(3, 4) / 7 + k for k in range(4)}, 1.0]
    coarse = [{name: value.astype(np.float32).astype(float) for name, value in exact[0].items()}, 1.0]
    coarse[0]["layer 0"] = exact[0]["layer 0"]
    expected, observed = show_where_they_differ(exact, coarse)
    assert expected.startswith("[{'layer 1': [[1, 1.1428571428571428,") and expected.endswith("]], ...}, ...]")
    assert observed.startswith("[{'layer 1': [[1, 1.1428571939468384,") and "layer 2" not in observed
    assert max(len(expected), len(observed)) < 500
    assert [len(line) - len(line.lstrip()) for line in observed.split("\n")[1:]] == [len("[{'layer 1': [")] * 2


def test_what_may_be_anything_is_called_so():
    assert show((526.5, ANYTHING)) == "(526.5, anything)"


def test_of_two_dicts_what_differs_is_shown():
    expected = {"loss": np.array([1.0, 2.0]), "weights": np.zeros(3), "bias": np.ones(2)}
    shown = show_where_they_differ(expected, expected | {"loss": np.array([1.0, 3.0])}, 1e-6, 0)
    assert shown == ("{'loss': [1, 2], ...}", "{'loss': [1, 3], ...}")
    both = {"loss": np.zeros(2), "weights": np.ones(3), "bias": np.zeros(2)}
    assert show_where_they_differ(expected, both, 1e-6, 0) == (show(expected), show(both))
    assert show_where_they_differ(expected, {"loss": np.zeros(2)}, 1e-6, 0) == (show(expected), "{'loss': [0, 0]}")
    assert show_where_they_differ([1, 2], [1, 3], 1e-6, 0) == ("[1, 2]", "[1, 3]")


@pytest.mark.parametrize(
    ("expected", "observed", "why"),
    [
        (Tensor(np.array([3121 * (1 + 2.0**-25)]), "float64"), Tensor(np.array([3121.0]), "float64"), "lost_digits"),
        (Tensor(np.array([2**60 + 1]), "int64"), Tensor(np.array([2**60]), "int64"), "lost_digits"),
        (Tensor(np.array([2**40 + 7]), "int64"), Tensor(np.array([7]), "int64"), "wrapped"),
        (Tensor(np.array([300]), "int64"), Tensor(np.array([44]), "int64"), "wrapped"),
        (Tensor(np.array([2**40 + 7]), "int64"), Tensor(np.array([7]), "int32"), "wrong_dtype"),
        (Tensor(np.array([0.1]), "float64"), Tensor(np.array([np.float32(0.1)]), "float32"), "wrong_dtype"),
        (np.array([0.1]), np.array([0.1], np.float32), "lost_digits"),
        (Tensor(np.array([3121.0]), "float64"), Tensor(np.array([3120.0]), "float64"), "value"),
        (Tensor(np.array([31]), "int64"), Tensor(np.array([30]), "int64"), "value"),
        (Typed(np.array([3], np.int32)), np.array([3]), "wrong_dtype"),
    ],
)
def test_a_detour_through_a_narrower_type_is_told_apart_and_named(expected, observed, why):
    found = difference(expected, observed)
    assert found and found.kind == why


def test_float32_is_named_where_rounding_explains_what_came_back():
    rng = np.random.default_rng(3)
    w, g, mean = rng.uniform(1, 2, 40), rng.normal(size=40), 3121 * (1 + 2.0**-25)
    step = w - 0.01 * g / (np.sqrt(g**2) + 1e-8)
    inside = w - 0.01 * g / np.sqrt(g**2 + 1e-8)  # near the right weights, and only where g is small it shows
    rounded = step + (w.astype(np.float32) - w)  # float64 that has begun as float32
    few = step.copy()
    few[:3] = few[:3].astype(np.float32)  # three of forty, which float32 holds
    for wrong, kind in ((inside, "near"), (rounded, "lost_digits"), (few, "lost_digits")):
        assert difference(Tensor(step, "float64"), Tensor(wrong, "float64")).kind == kind
    assert difference(mean, 3121.0, rtol=1e-9).kind == "lost_digits"
    assert difference(mean, mean * (1 + 2e-8), rtol=1e-9).kind == "value"


def test_rounding_is_named_only_where_no_part_is_wrong_in_another_way():
    fine = np.array([0.1, 0.2])
    rounded, wrong = fine.astype(np.float32).astype(float), fine + 1
    right = {"a": Tensor(fine, "float64"), "b": [Tensor(fine, "float64")]}
    for b, kind, where in ((fine, "lost_digits", "'a'"), (rounded, "lost_digits", "'a'"), (wrong, "value", "'b'")):
        found = difference(right, {"a": Tensor(rounded, "float64"), "b": [Tensor(b, "float64")]})
        assert found.kind == kind and where in found.text, found
    left = Tensor(fine - fine.astype(np.float32).astype(float), "float64")  # what a rounding leaves, wholly off then
    found = difference([right["a"], left], [Tensor(rounded, "float64"), Tensor(np.zeros(2), "float64")])
    assert found.kind == "lost_digits" and "entry 0" in found.text


def test_a_large_integer_that_is_one_off_has_not_lost_its_digits():
    for right in (2**31 + 5, 2**40 + 7, 2**60 + 1):
        assert difference(np.array([right]), np.array([right + 1])).kind in ("value", "near")
    assert difference(np.array([2**60 + 1]), np.array([int(float(2**60 + 1))])).kind == "lost_digits"


def test_the_tolerance_of_a_type_lets_sums_in_any_order_pass():
    rng = np.random.default_rng(0)
    for dtype in ("float64", "float32"):
        numbers = rng.uniform(0.1, 1, (300, 50)).astype(dtype)
        other_order = np.array([sum(column[::-1], np.dtype(dtype).type(0)) for column in numbers.T])
        assert difference(Tensor(numbers.astype(np.float64).sum(axis=0), dtype), Tensor(other_order, dtype)) is None


def test_numbers_that_look_the_same_are_shown_with_all_their_digits():
    right, wrong = Tensor(np.array([2132 * (1 + 2.0**-25)]), "float64"), Tensor(np.array([2132.0]), "float64")
    assert show_where_they_differ(right, wrong) == ("[2132.0000635385513]", "[2132]")
    assert difference((2132.0000635,), (2132.0,), rtol=1e-9).text == "entry 0: 2132 instead of 2132.0000635000001"


def test_a_list_that_was_sorted_or_written_to_is_changed():
    assert unchanged([3, 1.5, "a", float("nan")], [3, 1.5, "a", float("nan")])
    assert not unchanged([3, 1], [1, 3])
    assert not unchanged(([2, 1], {"a": "b"}), ([2, 1], {"a": "c"}))


@pytest.mark.parametrize("rtol", [0.0, 1e-9, 1e-5])
def test_two_numbers_are_close_where_numpy_says_so(rtol):
    numbers = [0, 1, -1, True, 3, 2**53, 2**53 + 1, 2**70, 0.0, -0.0, 1.0, 1 + 1e-6, 1 + 1e-12, -1.0, 1e300, 2.0**53]
    numbers += [float("nan"), float("inf"), -float("inf"), np.float64(1.0), np.float32(0.1), 0.1]
    for a, b in itertools.product(numbers, repeat=2):
        arrays = np.asarray(a), np.asarray(b)
        if {one.dtype.kind for one in arrays} <= set("biuf"):
            whole = all(one.dtype.kind in "biu" for one in arrays)
            wanted = a == b if whole else np.allclose(*arrays, rtol=rtol, atol=1e-12, equal_nan=True)
        else:  # numpy holds it as an object
            wanted = a == b
        assert compare._close_numbers(a, b, rtol, 1e-12) == bool(wanted), (a, b)


def test_two_arrays_are_close_where_numpy_says_so():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(50, 3))
    others = [a, a + 1e-13, a * (1 + 1e-9), -a, np.where(a > 2, np.inf, a), np.where(a > 2, np.nan, a), a[:, :1], 0 * a]
    for one, other in itertools.product(others, repeat=2):
        for rtol, atol in ((0.0, 0.0), (1e-12, 0.0), (1e-7, 1e-12)):
            wanted = np.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True)
            assert compare._close(one, other, rtol, atol) == wanted


def test_expected_values_with_a_type_are_the_same_if_value_and_type_are():
    whole, floats = Typed(np.arange(3)), Typed(np.arange(3.0))
    assert same(whole, Typed(np.arange(3))) and same(floats, Typed(np.arange(3.0)))
    assert not same(whole, floats) and not same(floats, Typed(np.arange(3.0) + 1)) and not same(whole, None)
