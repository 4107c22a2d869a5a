"""Inputs for unit 01."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from autograder.case import COMM, Case
from autograder.inputs.common import COUNTS, RANKS, SEEDS
from autograder.inputs.strategies import plain_cases
from autograder.registry import module_of
from autograder.values import full_precision, wide_integers

UNIT = module_of("01_mpi_pi")
TEAMS = st.integers(1, 5).flatmap(lambda p: st.lists(st.integers(0, 2), min_size=p, max_size=p))  # of each rank


def fair_share(exercise):
    many = {"n": st.integers(0, 10**6), "world_size": st.sampled_from([2, 2001, 10_000]), "last_two": st.just(True)}
    few = {"n": COUNTS | st.just(1000), "world_size": RANKS, "last_two": st.just(False)}
    return plain_cases(exercise, **few) | plain_cases(exercise, **many)


def count_inside(exercise):
    """Points in corners, on axes, close to the circle on either side, outside the square and anywhere, some of them
    equal."""
    edges = st.sampled_from(
        [0.0, -0.0, 0.25, -0.5, 0.5, 0.5 - 1e-9, -0.5 + 1e-9, 0.3, -0.4, 0.4 + 1e-9, 5e-324, 0.6, -3.0]
    )
    ends = edges | st.floats(-0.5, 0.5)
    points = st.tuples(ends, ends).filter(lambda point: abs(math.hypot(*point) - 0.5) > 1e-10)

    def cases(drawn):
        x, y = np.array(drawn, float).reshape(-1, 2).T.copy()
        return plain_cases(exercise, x=st.just(x), y=st.just(y), watch=st.just(False))

    return st.lists(points, max_size=12).flatmap(cases)


def rank_rng(exercise):
    seeds = st.lists(st.sampled_from([0, 1, 10, 2**31, 2**32 - 1]) | SEEDS, min_size=1, max_size=4, unique=True)
    counts = st.sampled_from([1, 2, 3, 11, 101, 1000])

    def of_ranks(p):
        ranks = st.lists(st.sampled_from([0, p - 1]) | st.integers(0, p - 1), min_size=1, max_size=4, unique=True)
        how = {"length": st.just(100), "far": st.just(0), "few": st.booleans()}
        return plain_cases(exercise, seeds=seeds, world_size=st.just(p), ranks=ranks.map(sorted), **how)

    return counts.flatmap(of_ranks)


def sum_counts(exercise):
    """Communicators of one rank and of several, arrays without an element, and all types of the text; a single number
    has 8 bytes, for the type of a scalar of numpy's is not looked at."""
    shapes = st.sampled_from([(), (0,), (1,), (3,), (2, 0), (2, 3), (1, 2, 2)])
    dtypes = st.sampled_from(["int32", "int64", "uint64", "float32", "float64"])

    def case(seed, teams, shape, dtype):
        dtype = dtype if shape else dtype.replace("32", "64")
        rng, all_shapes = np.random.default_rng(seed), (len(teams), *shape)
        if "int" in dtype:
            counts = wide_integers(rng, all_shapes, dtype.removeprefix("u"), summands=16).astype(dtype)
        else:
            counts = full_precision(rng, 1, 1000, all_shapes).astype(dtype)
        arguments = [(COMM, np.array(own), team) for own, team in zip(counts, teams, strict=True)]
        known = {"counts": counts, "teams": np.array(teams)}
        return Case("buffers", len(teams), arguments, f"{dtype}, shape {shape}, teams {teams}", known)

    return st.builds(case, SEEDS, TEAMS, shapes, dtypes)


def estimate_pi(exercise):
    def case(seed, teams, n):
        rng = np.random.default_rng(seed)
        inside = rng.random((len(teams), n)) < rng.uniform(0, 1)
        for size in filter(None, np.bincount(teams)):
            inside[:, n // size : n // size + 1] = True  # whoever draws one sample more draws one that is inside
        points = [UNIT.points_in_square(rng, own) for own in inside]
        known = {"n": n, "teams": np.array(teams), "inside": inside, "points": points}
        own = zip(points, teams, strict=True)
        arguments = [(COMM, n, of_rank, np.zeros(1, np.int64), team) for of_rank, team in own]
        return Case("unequal shares", len(teams), arguments, f"n = {n}, teams {teams}", known, rtol=1e-12)

    return st.builds(case, SEEDS, TEAMS, st.integers(1, 12))


def samples_needed(exercise):
    """Errors so small that a fraction of a sample is less than the half per cent that is allowed, some of which take
    more samples than 64 bits hold; and three for which one sample is enough."""
    errors = st.sampled_from([10.0, 2.0, 1.7, 0.05, 0.01, 1e-3, 1e-6, 1e-9, 4.5e-10, 1e-12, 1e-15]) | st.floats(
        1e-9, 0.05
    )
    return errors.map(lambda error: exercise._case("n for an error", {"error": error}, {"rtol": 5e-3}))


def speedup_and_efficiency(exercise):
    runs = st.lists(st.integers(1, 4096), min_size=1, max_size=6, unique=True).map(sorted)

    def with_seconds(ranks):
        kinds = st.floats(0.01, 1e4), st.integers(1, 9999)
        seconds = st.one_of(st.lists(of, min_size=len(ranks), max_size=len(ranks)) for of in kinds)
        return plain_cases(exercise, ranks=st.just(np.array(ranks)), seconds=seconds.map(np.array))

    return runs.flatmap(with_seconds)


INPUTS = {
    "fair_share": fair_share,
    "count_inside": count_inside,
    "rank_rng": rank_rng,
    "sum_counts": sum_counts,
    "estimate_pi": estimate_pi,
    "samples_needed": samples_needed,
    "speedup_and_efficiency": speedup_and_efficiency,
}
