"""Inputs for unit 17."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from autograder.inputs.common import RANKS
from autograder.inputs.strategies import plain_cases


def bubble(exercise):
    return plain_cases(exercise, p=RANKS, m=st.integers(1, 70), v=st.integers(1, 8))


def enough_micro_batches(exercise):
    """Shares of which the bubble of some number of micro-batches is just one, and any others."""

    def exact(p, m, v):
        return float(Fraction(p - 1, v * m + p - 1)) if p > 1 else 1.0

    shares = st.builds(exact, RANKS, st.integers(1, 60), st.integers(1, 4)) | st.floats(0.01, 1.0)
    return plain_cases(exercise, p=RANKS, share=shares, v=st.integers(1, 4))


def partition(exercise):
    costs = st.lists(st.integers(1, 60), min_size=1, max_size=20)
    return plain_cases(exercise, costs=costs, p=st.integers(1, 21))


INPUTS = {"bubble": bubble, "enough_micro_batches": enough_micro_batches, "partition": partition}
