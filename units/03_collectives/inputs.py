"""Inputs for unit 03."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from autograder.case import Case
from autograder.exercises.readings.contributions import sum_case
from autograder.inputs.common import SEEDS
from autograder.inputs.strategies import plain_cases

VECTORS = [(1,), (2,), (3,), (5,), (8,), (13,)]
SHAPES = [*VECTORS, (), (0,), (1, 1), (2, 0), (2, 3), (2, 2, 2)]
WIDE = ["float64", "float32", "int64", "int32"]
NARROW = ["bfloat16", "float16", "uint8"]  # on up to three ranks, so that sums of these digits are exact
ODD = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])


def sums(level: str, ranks: Iterable[int], shapes: list[tuple], odd: bool = False) -> st.SearchStrategy[Case]:
    """Sums over ranks some of which start late. odd: zeros, nan and inf stand among the numbers of the wide floats, so
    that nobody can read there whose numbers are in a sum."""

    def case(p, seed, shape, dtype, late, places):
        drawn = sum_case(np.random.default_rng(seed), level, p, shape, dtype, late=late)
        parts = [np.array(part) for part in drawn.known["parts"]]
        known = {**drawn.known, "parts": parts}
        if dtype in ("float64", "float32") and parts[0].size and odd:
            parts[:] = [part.astype(float) for part in parts]
            known["base"] = None
            for rank, place, value in places:
                parts[rank].flat[place % parts[rank].size] = value
        arguments = [(replace(given, values=part),) for (given,), part in zip(drawn.arguments, parts, strict=True)]
        return replace(drawn, arguments=arguments, known=known)

    def of_ranks(p):
        dtypes = st.sampled_from(WIDE + (NARROW if p <= 3 else []))
        late = st.sets(st.integers(0, p - 1), max_size=min(2, p - 1)).map(lambda ranks: tuple(sorted(ranks)))
        places = st.lists(st.tuples(st.integers(0, p - 1), st.integers(0, 12), ODD), max_size=3)
        return st.builds(case, st.just(p), SEEDS, st.sampled_from(shapes), dtypes, late, places)

    return st.sampled_from(list(ranks)).flatmap(of_ranks)


def sum_over_ranks(exercise):
    """Some number travels: where messages have no byte, nobody can tell whether the ranks have talked."""
    shapes = [shape for shape in SHAPES if 0 not in shape]
    return sums("a different tensor on each rank", range(1, 7), shapes, odd=True)


def mean_over_ranks(exercise):
    floats = sums("floating point", range(1, 6), SHAPES, odd=True)
    whole = st.builds(
        lambda seed, p, dtype, low, more: exercise._integers(np.random.default_rng(seed), p, low, low + more, dtype),
        *(SEEDS, st.integers(1, 5), st.sampled_from(["int64", "int32", "int16", "uint8"])),
        *(st.integers(0, 200), st.integers(10, 50)),
    )
    whole |= st.builds(
        lambda seed, p, wide: exercise._integers(np.random.default_rng(seed), p, wide[1], wide[1] + 2**20, wide[0]),
        *(SEEDS, st.integers(1, 5), st.sampled_from([("int32", 2**30), ("int64", 2**62)])),
    )
    return floats.filter(lambda case: case.known["dtype"].startswith(("float", "bfloat"))) | whole


def server_all_reduce(exercise):
    return sums("any dtype and shape", range(1, 7), SHAPES)


def tree_all_reduce(exercise):
    """The limits on messages and time count under every number of ranks."""
    return sums("few steps", [*range(1, 9)], SHAPES)


def all_reduce_in_two_halves(exercise):
    return sums("any n", range(1, 7), VECTORS)


def ring_all_reduce(exercise):
    return sums("uneven sizes", range(1, 7), VECTORS)


def all_reduce_time(exercise):
    ranks = st.integers(1, 70) | st.sampled_from([2**k + d for k in range(1, 21) for d in (-1, 0, 1)])

    def on(p):
        sizes = st.sampled_from([0, 1, 1000, 2**40]).map(lambda chunk: chunk * p)
        ways = st.sampled_from(["server", "tree", "ring"])
        network = {"latency": st.sampled_from([0.0, 1e-7, 5e-6]), "bandwidth": st.sampled_from([300.0, 1e9, 4e11])}
        return plain_cases(exercise, algorithm=ways, world_size=st.just(p), nbytes=sizes, **network)

    return ranks.flatmap(on)


INPUTS = {
    "sum_over_ranks": sum_over_ranks,
    "mean_over_ranks": mean_over_ranks,
    "server_all_reduce": server_all_reduce,
    "tree_all_reduce": tree_all_reduce,
    "all_reduce_in_two_halves": all_reduce_in_two_halves,
    "ring_all_reduce": ring_all_reduce,
    "all_reduce_time": all_reduce_time,
}
