"""Inputs for unit 06."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.inputs.common import SMALL
from autograder.inputs.strategies import plain_cases

RANKS = st.integers(1, 5)
GENERATORS = st.integers(0, 2**31).map(np.random.default_rng)
SIZES = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(2, 4))  # inputs, hidden, classes


def level_of(exercise) -> str:
    return next(reversed(exercise.levels))


def train_ddp(exercise):
    def case(rng, p, sizes, steps, local, images, extreme):
        images = images and sizes[0] % 2 == 0 and not extreme
        return exercise._case(rng, level_of(exercise), p, sizes, steps, local, images, extreme)

    steps = st.integers(1, 4) | st.just(12)
    return st.builds(case, GENERATORS, RANKS, SIZES, steps, st.integers(1, 4), st.booleans(), st.booleans())


def uneven_loss(exercise):
    counts = st.lists(st.integers(0, 4), min_size=1, max_size=5).filter(any).map(tuple)

    def case(rng, counts, far):
        return exercise._case(rng, level_of(exercise), counts, far)

    return st.builds(case, GENERATORS, counts, st.booleans())


def accumulate(exercise):
    def case(rng, p, k, local, one_twice, evaluates):
        return exercise._case(rng, level_of(exercise), p, k, local, one_twice and k > 1, evaluates)

    evaluates = st.sampled_from(["", "a part of it", "all of it"])
    return st.builds(case, GENERATORS, RANKS, st.integers(1, 4), st.integers(1, 3), st.booleans(), evaluates)


def buckets(exercise):
    sizes = st.lists(SMALL | st.sampled_from([0, 10]), max_size=12)
    return plain_cases(exercise, sizes=sizes, first_cap=SMALL | st.just(10), cap=SMALL | st.just(20))


def save_checkpoint(exercise):
    def case(rng, p, sizes, late, older, epoch, adam):
        return exercise._case(rng, level_of(exercise), p, sizes, (0,) if late else (), older, epoch, adam)

    epochs = st.sampled_from([0, 1, 2, 5, 2**40])
    return st.builds(case, GENERATORS, RANKS, SIZES, st.booleans(), st.booleans(), epochs, st.booleans())


def load_checkpoint(exercise):
    def case(rng, p, sizes, epoch):
        return exercise._case(rng, level_of(exercise), p, sizes, epoch)

    return st.builds(case, GENERATORS, st.integers(2, 5), SIZES, st.sampled_from([0, 1, 2, 5, 2**40]))


INPUTS = {
    "train_ddp": train_ddp,
    "uneven_loss": uneven_loss,
    "accumulate": accumulate,
    "buckets": buckets,
    "save_checkpoint": save_checkpoint,
    "load_checkpoint": load_checkpoint,
}
