"""Inputs for unit 07."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.inputs.common import RANKS
from autograder.inputs.strategies import plain_cases

GENERATORS = st.integers(0, 2**31).map(np.random.default_rng)


def init_and_pin(exercise):
    """Ranks on machines of any number of ranks each, one after the other or in turn; GPUs for all of them, or none."""

    def case(counts, in_turn, more):
        places = [(local, machine) for machine, count in enumerate(counts) for local in range(count)]
        gpus = st.just(0 if more is None else max(counts) + more)
        return plain_cases(exercise, places=st.just(sorted(places) if in_turn else places), gpus=gpus)

    counts = st.lists(st.integers(1, 4), min_size=1, max_size=3)
    return st.tuples(counts, st.booleans(), st.none() | st.integers(0, 2)).flatmap(lambda drawn: case(*drawn))


def shard_dataset(exercise):
    def case(rng, p, n, batch):
        return exercise.case(rng, next(iter(exercise.levels)), p, ((n, batch),), "")

    return st.builds(case, GENERATORS, st.integers(1, 4), st.integers(1, 20), st.integers(1, 4))


def learning_rate(exercise):
    steps = st.integers(0, 12) | st.sampled_from([0, 10**6])
    return plain_cases(
        exercise,
        steps=st.lists(steps, min_size=1, max_size=5),
        base_rate=st.sampled_from([0.0, 1e-6, 0.1, 0.3, 1.0, 100.0]),
        world_size=RANKS | st.just(10_000),
        warmup_steps=st.integers(0, 12),
    )


INPUTS = {"init_and_pin": init_and_pin, "shard_dataset": shard_dataset, "learning_rate": learning_rate}
