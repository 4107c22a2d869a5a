"""Inputs for unit 14."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise, product

import numpy as np
from hypothesis import strategies as st

from autograder.case import Case, Tensor
from autograder.exercises.readings.search import products
from autograder.inputs.common import COUNTS, RANKS, SEEDS
from autograder.inputs.strategies import plain_case, plain_cases

ENDS = st.sampled_from([-1.0, 0.0, 1e-300, 1e-6, 0.5, 1.0, 1.0 + 1e-9, 1.5, 300.0, 1e300])


def log_grid(exercise):
    return plain_cases(exercise, low=ENDS, high=ENDS, n=st.integers(-1, 9))


def hyperband_brackets(exercise):
    powers = st.builds(pow, st.integers(2, 10), st.integers(0, 5))
    return plain_cases(exercise, R=st.integers(-1, 300) | powers, eta=st.integers(0, 12))


def asha_next(exercise):
    """Histories of rungs: the best may have been started, losses are equal, nearly so, nan or inf."""
    losses = st.sampled_from([0.0, 0.25, 0.5, 0.5, 0.5 + 2**-30, 1.0, math.inf, -math.inf, math.nan])

    def history(size):
        numbers = range(size)
        rungs = st.lists(
            st.dictionaries(st.sampled_from(numbers), losses) if size else st.just({}), min_size=0, max_size=3
        )
        begun = st.lists(st.sets(st.sampled_from(numbers)) if size else st.just(set()), min_size=3, max_size=3)
        return st.tuples(rungs, begun, st.integers(0, 3)).map(lambda drawn: _consistent(size, *drawn))

    return (
        st.integers(0, 7)
        .flatmap(history)
        .flatmap(lambda past: plain_cases(exercise, eta=st.integers(2, 4), **{k: st.just(v) for k, v in past.items()}))
    )


def _consistent(size, rungs, begun, more):
    """A history that can have been: who is on a rung has finished the one below, who has finished has begun."""
    finished, started = [], []
    below = set(range(size))
    for rung, others in zip(rungs, begun, strict=False):
        done = {i: loss for i, loss in rung.items() if i in below}
        running = set(range(size)) if not finished else (set(done) | others) & below
        started.append(sorted(running | set(done)))
        finished.append([[i, loss] for i, loss in done.items()])
        below = set(done)
    return {"finished": [*finished, []], "started": [*started, []], "n": size + more}


def random_configs(exercise):
    """Spaces with a float, without which two configurations may be equal."""
    kinds = {
        "rate": ("log", 1e-12, 1e3),
        "narrow": ("log", 0.5, 0.75),
        "shift": ("uniform", -2.0, 3.0),
        "one": ("int", 3, 3),
        "wide": ("int", -5, 2**53 + 1),
        "rise": ("uniform", 1.0, 3.0),
        "below": ("int", -3, 2),
        "pairs": ("choice", ((3, 3), (5, 5))),
        "only": ("choice", ("relu",)),
        "flag": ("choice", (True, False)),
    }
    of_floats = st.sampled_from(["rate", "narrow", "shift"])
    names = st.tuples(of_floats, st.sets(st.sampled_from(sorted(kinds)))).map(lambda some: sorted({some[0], *some[1]}))

    def sizes(drawn):
        seed, ranks = drawn
        return [[seed, p] for p in (1, 1, 1, *ranks)]

    return plain_cases(
        exercise,
        space=names.map(lambda some: {name: kinds[name] for name in some}),
        n=COUNTS,
        seed=SEEDS,
        sizes=st.tuples(SEEDS, st.lists(RANKS, min_size=1, max_size=3)).map(sizes),
    )


def farm(exercise):
    """Jobs of which each may wait for an earlier one, on any number of workers."""

    def case(drawn):
        seed, p, later, long = drawn
        after = [-1 if parent is None else parent % k if k else -1 for k, parent in enumerate(later)]
        level = list(exercise.levels)[2 if after else 0]
        long = long % len(after) if after and long is not None else None
        wide = 2**53 if len(after) > 4 and seed % 2 else None
        return exercise._case(np.random.default_rng(seed), level, p, after, long, len(after) > 6 or seed % 3 > 0, wide)

    parents = st.lists(st.none() | st.integers(0, 9), max_size=9)
    return st.tuples(SEEDS, st.integers(1, 6), parents, st.none() | st.integers(0, 9)).map(case)


def best_trial(exercise):
    """Losses that are equal, zero, tiny or huge, or nan; numbers of trials from 0 to 2**53; ranks without trials."""
    losses = st.sampled_from([0.0, -0.0, 0.5, 0.5, 0.5 + 2**-40, -1.0, 1e300, 5e-324, math.nan])
    errors = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1e-9])
    numbers = st.integers(0, 400) | st.integers(2**53 - 40, 2**53)

    def case(drawn):
        sizes, numbers, losses, errors = drawn
        n, starts = sum(sizes), [0, *accumulate(sizes)]
        known = {"numbers": np.array(numbers[:n], np.int64), "validation": np.array(losses[:n], np.float64)}
        known |= {"test": np.array(errors[:n], np.float64), "sizes": sizes}
        types = {"numbers": "int64", "validation": "float64", "test": "float64"}
        arguments = [tuple(Tensor(known[k][a:b], t) for k, t in types.items()) for a, b in pairwise(starts)]
        level = next(iter(exercise.levels))
        return Case(level, len(sizes), arguments, f"{sizes} trials", known, rtol=1e-12)

    def of(sizes):
        n = sum(sizes)
        lists = (st.lists(one, min_size=n, max_size=n) for one in (losses, errors))
        return st.tuples(st.just(sizes), st.lists(numbers, min_size=n, max_size=n, unique=True), *lists)

    return st.lists(st.sampled_from([0, 1, 2, 3, 4, 40]), min_size=1, max_size=4).flatmap(of).map(case)


def successive_halving(exercise):
    """Losses that are equal, nan or inf, after any number of epochs; nothing to train, and no rung at all."""
    losses = st.sampled_from([0.0, -0.0, 0.25, 0.5, 0.5, 1.0, -2.0, math.inf, -math.inf, math.nan])

    def of(drawn):
        n, R = drawn
        rows = st.lists(losses, min_size=n * (R + 1), max_size=n * (R + 1))
        return plain_cases(
            exercise,
            curves=rows.map(lambda some: np.array(some, np.float64).reshape(n, R + 1)),
            n=st.just(n),
            r=st.integers(1, 4),
            R=st.just(R),
            eta=st.integers(2, 4),
            counted=st.just(True),
        )

    return st.tuples(st.integers(0, 9), st.integers(1, 9)).flatmap(of)


def spectral(exercise):
    """All choices equally often, so that any sound method finds the same sets, whose sizes differ."""
    sizes = st.permutations([2.0, 1.25, -0.75, -3.0, 0.5])

    def of(drawn):
        n, degree, s, sizes, places, whole, scale = drawn
        x = np.array(list(product([-1.0, 1.0], repeat=n)))
        sets, table = products(x, degree)
        s = min(s, len(sets))
        y = sum(size * table[:, k] for size, k in zip(sizes, list(places), strict=False) if k < len(sets)) + 0.0
        y = y if isinstance(y, np.ndarray) else np.zeros(len(x))
        sizes = np.abs(table.T @ y) / len(y)
        ordered = np.sort(sizes)[::-1]
        s = next((k for k in range(s, 0, -1) if ordered[k - 1] > 0.1), 0)
        known = {"x": x.astype(np.int64) if whole else x, "y": y / scale, "degree": degree, "s": s}
        return plain_case(exercise, known) if s else None

    places = st.permutations(range(8))
    scales = st.sampled_from([1, 10_000])
    drawn = st.tuples(st.integers(1, 5), st.integers(0, 4), st.integers(1, 5), sizes, places, st.booleans(), scales)
    return drawn.map(of).filter(lambda case: case is not None)


INPUTS = {
    "log_grid": log_grid,
    "random_configs": random_configs,
    "farm": farm,
    "best_trial": best_trial,
    "successive_halving": successive_halving,
    "hyperband_brackets": hyperband_brackets,
    "asha_next": asha_next,
    "spectral": spectral,
}
