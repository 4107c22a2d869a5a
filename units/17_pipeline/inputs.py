"""Inputs for unit 17."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from autograder.inputs.common import RANKS, SEEDS
from autograder.inputs.generator import EdgeGenerator
from autograder.inputs.strategies import SHARES, plain_cases

DRAWN = st.builds(EdgeGenerator, SEEDS, st.sampled_from(SHARES))


def bubble(exercise):
    return plain_cases(exercise, p=RANKS, m=st.integers(1, 70), v=st.integers(1, 8))


def enough_micro_batches(exercise):
    """Shares that are exactly the bubble of some number of micro-batches, and any others."""

    def exact(p, m, v):
        return float(Fraction(p - 1, v * m + p - 1)) if p > 1 else 1.0

    shares = st.builds(exact, RANKS, st.integers(1, 60), st.integers(1, 4)) | st.floats(0.01, 1.0)
    return plain_cases(exercise, p=RANKS, share=shares, v=st.integers(1, 4))


def partition(exercise):
    costs = st.lists(st.integers(0, 60), min_size=1, max_size=20)
    return plain_cases(exercise, costs=costs, p=st.integers(1, 21))


def order_1f1b(exercise):
    return plain_cases(exercise, p=RANKS, m=st.integers(1, 24))


def order_interleaved(exercise):
    """Numbers of micro-batches that make full groups, and any others."""
    whole = RANKS.flatmap(
        lambda p: plain_cases(exercise, p=st.just(p), m=st.integers(1, 5).map(p.__mul__), v=st.integers(1, 4))
    )
    return whole | plain_cases(exercise, p=RANKS, m=st.integers(1, 24), v=st.integers(1, 4))


def order_zero_bubble(exercise):
    return RANKS.flatmap(lambda p: plain_cases(exercise, p=st.just(p), m=st.integers(p, 3 * p + 1)))


def pipelines(exercise):
    batches = st.sampled_from([(1,), (2,), (2, 3), (1, 1, 2)])
    level = st.just(next(iter(exercise.levels)))
    return st.builds(exercise.case, DRAWN, level, st.integers(1, 5), st.integers(1, 6), batches, st.booleans())


def split_backward(exercise):
    (level,) = exercise.levels
    return st.builds(exercise._case, DRAWN, st.just(level), st.integers(1, 4), st.booleans())


INPUTS = {
    "bubble": bubble,
    "enough_micro_batches": enough_micro_batches,
    "partition": partition,
    "order_1f1b": order_1f1b,
    "order_interleaved": order_interleaved,
    "order_zero_bubble": order_zero_bubble,
    "gpipe": pipelines,
    "one_f_one_b": pipelines,
    "split_backward": split_backward,
}
