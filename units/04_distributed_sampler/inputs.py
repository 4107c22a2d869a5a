"""Inputs for unit 04."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.case import Case
from autograder.inputs.common import COUNTS, RANKS, SEEDS, SMALL
from autograder.inputs.strategies import plain_cases

FEW = st.integers(1, 5)  # ranks that run


def strided_share(exercise):
    return plain_cases(exercise, n=COUNTS, world_size=RANKS)


def stock_indices(exercise):
    flags = {"shuffle": st.booleans(), "drop_last": st.booleans()}
    seeds = SEEDS | st.just(2**31 + 5)
    return plain_cases(exercise, n=COUNTS.filter(bool), world_size=RANKS, seed=seeds, epoch=COUNTS, **flags)


def training_batches(exercise):
    def case(p, n, local, epochs, seed):
        known = {"n": n, "batch": p * local, "epochs": epochs, "seed": seed}
        return Case("one epoch", p, tuple(known.values()), says=str(known), known=known)

    return st.builds(case, FEW, COUNTS.filter(bool), FEW, st.integers(1, 3), SEEDS)


def minibatch_shares(exercise):
    orders = COUNTS.filter(bool).flatmap(lambda n: st.permutations(range(n)))
    orders |= st.lists(st.sampled_from([0, 7, 255, 40_000, 2**24 + 1, 2**31 + 5]), min_size=1, unique=True)
    return plain_cases(exercise, order=orders, batch_size=SMALL, world_size=RANKS)


def exact_accuracy(exercise):
    def case(p, flags):
        known = {"n": len(flags), "flags": np.array(flags)}
        return Case("equal shares", p, tuple(known.values()), says=f"n = {len(flags)}", known=known)

    return st.builds(case, FEW, st.lists(st.booleans(), min_size=1, max_size=12))


def epoch_generators(exercise):
    """Two seeds, up to 100 epochs, and of up to 1001 ranks some, the first and the last among them."""
    seeds = st.lists(st.sampled_from([0, 1, 2, 9998, 9999]) | st.integers(0, 9999), min_size=2, max_size=2, unique=True)

    def on(p):
        ranks = st.lists(st.integers(0, p - 1), max_size=6).map(lambda some: sorted({0, *some, p - 1}))
        return plain_cases(
            exercise,
            seeds=seeds,
            epochs=st.integers(2, 12) | st.just(100),
            world_size=st.just(p),
            ranks=ranks,
            order=st.booleans(),
        )

    return (RANKS | st.sampled_from([100, 1000, 1001])).flatmap(on)


INPUTS = {
    "strided_share": strided_share,
    "stock_indices": stock_indices,
    "training_batches": training_batches,
    "minibatch_shares": minibatch_shares,
    "exact_accuracy": exact_accuracy,
    "epoch_generators": epoch_generators,
}
