"""Inputs for unit 04."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import COUNTS, RANKS, SEEDS, SMALL
from autograder.inputs.strategies import plain_cases


def strided_share(exercise):
    return plain_cases(exercise, n=COUNTS, world_size=RANKS)


def stock_indices(exercise):
    flags = {"shuffle": st.booleans(), "drop_last": st.booleans()}
    return plain_cases(exercise, n=COUNTS.filter(bool), world_size=RANKS, seed=SEEDS, epoch=COUNTS, **flags)


def minibatch_shares(exercise):
    orders = COUNTS.filter(bool).flatmap(lambda n: st.permutations(range(n)))
    return plain_cases(exercise, order=orders, batch_size=SMALL, world_size=RANKS)


INPUTS = {"strided_share": strided_share, "stock_indices": stock_indices, "minibatch_shares": minibatch_shares}
