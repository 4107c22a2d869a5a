"""Inputs for unit 08."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.case import Case
from autograder.inputs.common import RANKS
from autograder.registry import module_of

UNIT = module_of("08_scaling")
SIXTEENTHS = st.integers(1, 400).map(lambda k: k / 16)  # their means and deviations round alike in any order
TIMES = st.lists(SIXTEENTHS, min_size=2, max_size=9).map(lambda times: np.array(times, np.float64))
TIMES |= st.lists(st.integers(1, 99), min_size=2, max_size=9).map(np.array)  # a clock of whole seconds
BATCHES = st.lists(st.integers(1, 64) | st.just(10**6), min_size=1, max_size=9)


def throughput_with_error(exercise):
    """Warm-up steps as slow as the others, or none; both levels."""

    def case(level, batches, warm, times):
        seconds = np.array([*warm, *times])
        known = {"batches": np.array(batches), "seconds": seconds, "warmup": len(warm)}
        return _exact(level, known, (list(batches), seconds, len(warm)))

    return st.builds(case, st.sampled_from([*exercise.levels]), BATCHES, st.lists(SIXTEENTHS, max_size=4), TIMES)


def speedup_with_error(exercise):
    """Columns of any two lengths, of equal times, of times that differ by little or much."""
    return st.builds(
        lambda level, slow, fast: _exact(level, {"slow": slow, "fast": fast}, (slow, fast)),
        st.sampled_from([*exercise.levels]),
        TIMES,
        TIMES,
    )


def scaling_efficiency(exercise):
    """Tables of both kinds and of neither, with local batches that are whole numbers and such that are not.

    Small enough that `np.allclose` tells one image more from none.
    """

    def table(ranks):
        rows = st.lists(st.integers(1, 300), min_size=len(ranks), max_size=len(ranks))
        strong = st.integers(1, 300).map(lambda batch: [batch] * len(ranks))
        weak = st.sampled_from([1, 2, 32]).map(lambda local: [local * r for r in ranks])
        common = int(np.gcd.reduce(ranks))
        fraction = st.integers(1, 32).map(lambda k: [k * r // common for r in ranks])
        almost = st.tuples(weak, st.integers(0, len(ranks) - 1)).map(
            lambda both: [batch + (k == both[1]) for k, batch in enumerate(both[0])]
        )
        times = st.lists(SIXTEENTHS, min_size=len(ranks), max_size=len(ranks))
        return st.builds(case, st.just(ranks), rows | strong | weak | fraction | almost, times)

    def case(ranks, batches, times):
        known = {"ranks": np.array(ranks), "batches": np.array(batches), "seconds": np.array(times)}
        return _exact(next(iter(exercise.levels)), known, tuple(known.values()))

    growing = st.sets(st.integers(1, 16), min_size=2, max_size=5).map(sorted)
    return growing.flatmap(table)


def serial_fraction(exercise):
    """One rank, a speedup of 1, of p, below and above both, and an error of nothing."""

    def case(level, p, s, ds):
        return _exact(level, {"p": p, "s": s, "ds": ds}, (p, s, ds))

    levels = st.sampled_from([*exercise.levels])
    speedups = st.sampled_from([0.125, 1.0, 2.0, 3.0, 4.0, 8.0, 100.0])
    return st.builds(case, levels, RANKS | st.just(4096), speedups, st.sampled_from([0.0, 0.0625, 0.5, 2.5]))


def alpha_beta_from_ring(exercise):
    """Times on a line: links without latency's rounding in the way, in any order, sizes measured twice, two sizes, a
    vector of no bytes."""

    def case(p, alpha, beta, sizes):
        sizes = np.array(sizes) * 1000
        times = 2 * (p - 1) * (alpha + sizes / p * beta)
        known = {"p": p, "alpha": alpha, "beta": beta, "sizes": sizes, "times": times}
        says, level = f"p = {p}, sizes {sizes.tolist()}", next(iter(exercise.levels))
        return Case(level, 1, (p, sizes, times), says, known=known, rtol=1e-6, atol=0.0)

    sizes = st.lists(st.integers(0, 60), min_size=2, max_size=9).filter(lambda found: len(set(found)) > 1)
    ranks = st.sampled_from([2, 3, 4, 5, 7, 8, 64])
    return st.builds(case, ranks, st.sampled_from([1e-5, 1e-3]), st.sampled_from([1e-9, 1e-8, 1e-7]), sizes)


def step_seconds(exercise):
    """Fewer images than ranks, all hidden and nothing, one parameter, a link that costs nothing."""
    known = {
        "p": RANKS | st.just(123),
        "batch": st.integers(1, 40) | st.just(124),
        "per_image": st.sampled_from([0.0625, 1.0]),
        "parameters": st.sampled_from([1, 7, 1001, 2**31 + 1]),
        "alpha": st.sampled_from([0.0, 2.0**-20, 0.25]),
        "beta": st.sampled_from([0.0, 2.0**-30, 2.0**-10]),
        "hidden": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    }
    levels = st.sampled_from([*exercise.levels])
    return st.builds(
        lambda level, found: _exact(level, found, tuple(found[name] for name in known)),
        levels,
        st.fixed_dictionaries(known),
    )


def _exact(level: str, known: dict, arguments: tuple) -> Case:
    says = ", ".join(f"{name} = {value}" for name, value in known.items())
    return Case(level, 1, arguments, says=says, known=known, rtol=UNIT.EXACT, atol=1e-15)


INPUTS = {
    "throughput_with_error": throughput_with_error,
    "speedup_with_error": speedup_with_error,
    "scaling_efficiency": scaling_efficiency,
    "serial_fraction": serial_fraction,
    "alpha_beta_from_ring": alpha_beta_from_ring,
    "step_seconds": step_seconds,
}
