"""Inputs for unit 02."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from autograder.case import Case, Tensor
from autograder.inputs.common import SEEDS

SHAPES = st.sampled_from([(), (0,), (1,), (4,), (2, 3), (2, 0), (1, 2, 2)])
DTYPES = ["float64", "float32", "bfloat16", "float16", "int64", "int32", "int16", "uint8", "bool"]
FLOATS = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]


def numbers(rng, dtype, shape):
    """Numbers of a type with its edges among them, the first of them not zero."""
    if dtype in ("int64", "int32", "int16", "uint8"):
        ends = np.iinfo(dtype)
        values = rng.choice(np.array([1, ends.max, ends.min, ends.max - 1, 0, 7], dtype), shape)
    elif dtype == "bool":
        values = rng.choice(np.array([True, False]), shape)
    else:
        values = rng.choice(np.array(FLOATS, "float64" if dtype == "float64" else "float32"), shape)
    values = np.asarray(values)
    if values.size:
        values.flat[0] = rng.integers(1, 100)
    return values


def who_am_i(exercise):
    return st.integers(1, 9).map(lambda p: Case("any number of ranks", p, ()))


def a_matrix(exercise):
    """A matrix from any rank to any other, of any float32, no numbers and the smallest ones included."""
    values = st.sampled_from([*FLOATS, 2.0**-149, 3.4028234663852886e38, 0.1]) | st.floats(width=32)

    def case(p, source, away, value):
        destination = (source + away) % p
        arguments = (value, source, destination, np.zeros(2, np.int64))
        return Case("between any two ranks", p, arguments, f"{value}, {source} -> {destination}")

    def of_ranks(p):
        return st.builds(case, st.just(p), st.integers(0, p - 1), st.integers(1, p - 1), values)

    return st.integers(2, 6).flatmap(of_ranks)


def print_in_turn(exercise):
    """Lines that may be alike, begin and end with blanks or be empty; none is of blanks alone."""
    words = st.sampled_from(["a", "  b", "0", "%s {}", "é", "x" * 300, "\tc d", "-"]) | st.text("ab \\'\"", min_size=1)
    lines = words.map(lambda text: text + "." * (not text.strip())) | st.just("")

    def of_ranks(p):
        late = st.sets(st.integers(0, p - 1), max_size=p - 1).map(lambda ranks: tuple(sorted(ranks)))
        drawn = st.lists(lines.map(lambda line: (line,)), min_size=p, max_size=p)
        return st.builds(
            lambda lines, late: Case("with slow ranks", p, lines, f"{lines}, {late} start last", late=late), drawn, late
        )

    return st.integers(2, 6).flatmap(of_ranks)


def fit_alpha_beta(exercise):
    """Times on a line, in lists and arrays: two sizes or many, in any order, some of them measured again."""
    sizes = st.lists(st.integers(0, 40), min_size=2, max_size=8).filter(lambda sizes: len(set(sizes)) > 1)

    def case(alpha, beta, unit, drawn, as_lists):
        sizes = (np.array(drawn) * unit).astype(np.int32 if drawn[0] % 2 else np.int64)
        times = 2 * (alpha + beta * sizes)
        arguments = (sizes.tolist(), times.tolist()) if as_lists else (sizes, times)
        known = {"alpha": alpha, "beta": beta, "sizes": sizes, "times": times}
        return Case("exact times", 1, arguments, f"{len(sizes)} sizes", known, rtol=1e-3, atol=0.0)

    units = st.sampled_from([1, 1000, 2**20, 2**28])
    return st.builds(case, st.floats(1e-6, 1e-5), st.floats(1e-11, 1e-9), units, sizes, st.booleans()).filter(
        lambda case: case.known["beta"] * case.known["sizes"].max() > 1e-3 * case.known["alpha"]
    )


def exchange(exercise):
    """Any ranks in pairs, one at least, and some of them alone; tensors of any type, with nan, without an element. A
    rank alone has no nan: it is not told from a number of somebody else's."""

    def case(seed, order, pairs, dtype, shape):
        partners, rng = list(range(len(order))), np.random.default_rng(seed)
        for k in range(0, 2 * pairs, 2):
            partners[order[k]], partners[order[k + 1]] = order[k + 1], order[k]
        rows = np.stack([numbers(rng, dtype, shape) for _ in partners])
        if 2 * pairs < len(partners):
            rows[rows != rows] = 0
        arguments = [(Tensor(row, dtype), partner) for row, partner in zip(rows, partners, strict=True)]
        known = {"rows": rows, "partners": partners, "dtype": dtype}
        return Case("any partners", len(partners), arguments, f"partners {partners}, {dtype}, shape {shape}", known)

    def of_ranks(p):
        pairs = st.integers(1, p // 2)
        return st.builds(case, SEEDS, st.permutations(range(p)), pairs, st.sampled_from(DTYPES), SHAPES)

    return st.integers(2, 6).flatmap(of_ranks)


def ring_pass(exercise):
    def case(seed, p, n, dtype):
        rng = np.random.default_rng(seed)
        rows = np.stack([numbers(rng, dtype, (n,)) for _ in range(p)])
        known = {"rows": rows, "dtype": dtype}
        return Case("rings of any size", p, [(Tensor(row, dtype),) for row in rows], f"n = {n}, {dtype}", known)

    return st.builds(case, SEEDS, st.integers(1, 6), st.integers(0, 5), st.sampled_from(DTYPES))


INPUTS = {
    "who_am_i": who_am_i,
    "send_matrix": a_matrix,
    "move_matrix": a_matrix,
    "print_in_turn": print_in_turn,
    "fit_alpha_beta": fit_alpha_beta,
    "exchange": exchange,
    "ring_pass": ring_pass,
}
