"""Inputs for unit 11."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.exercises.kinds import on_ranks
from autograder.inputs.strategies import plain_cases

SEEDS = st.integers(0, 2**20)
FEW = st.integers(0, 5)


def scaled_rate(exercise):
    """Both ends of the warm-up and of the training, and one step beyond each; no warm-up, and nothing else."""
    return plain_cases(
        exercise,
        step=st.integers(-1, 9),
        base_rate=st.sampled_from([0.0625, 0.1]),
        base_batch=st.sampled_from([1, 32]),
        batch=st.sampled_from([1, 31, 32, 33, 8192]),
        warmup_steps=st.integers(-1, 9),
        steps=st.integers(1, 8),
    )


def ghost_batch_norm(exercise):
    """One row, one group, groups of one row; groups that rows do not fill."""

    def of(drawn):
        seed, level, n, ghost, channels = drawn
        _, known, _ = exercise._drawn(np.random.default_rng(seed), level, n, ghost, channels)
        return plain_cases(exercise, **{name: st.just(value) for name, value in known.items()})

    levels = st.sampled_from([*exercise.levels])
    return st.tuples(SEEDS, levels, st.integers(1, 9), st.integers(-1, 10), st.integers(1, 3)).flatmap(of)


def _drawn(exercise, *parts):
    """Cases that the exercise's own `_case` makes of drawn levels and `parts`."""

    def case(seed, level, *known):
        return exercise._case(np.random.default_rng(seed), level, *known)

    return st.builds(case, SEEDS, st.sampled_from([*exercise.levels]), *parts)


def accumulate_uneven(exercise):
    """Micro-batches without rows, alone and among others, and one rank."""
    per_rank = st.lists(FEW, min_size=1, max_size=3)
    sizes = st.lists(per_rank, min_size=1, max_size=4).filter(lambda found: sum(map(sum, found)) > 0)
    return _drawn(exercise, sizes)


def trust_step(exercise):
    """One tensor and several, shards of nothing, tensors that are not adapted."""

    def sizes(p):
        shard = st.lists(FEW, min_size=p, max_size=p).filter(any).map(tuple)
        return st.lists(st.tuples(shard, st.booleans()), min_size=1, max_size=3)

    def case(seed, level, drawn):
        shards, adapt = [one for one, _ in drawn], [yes for _, yes in drawn]
        return exercise._case(np.random.default_rng(seed), level, shards, adapt)

    levels = st.sampled_from([*exercise.levels])
    return st.builds(case, SEEDS, levels, st.integers(1, 4).flatmap(sizes))


def noise_scale(exercise):
    """A gradient of one number, batches of one sample, estimates below zero."""
    return _drawn(exercise, st.integers(2, 5), st.integers(1, 6), st.sampled_from([1, 2, 64]), st.booleans())


def _shares(least: int):
    """Rows of each rank, some without, not all."""
    return st.lists(FEW, min_size=least, max_size=4).filter(any).map(tuple)


def global_moments(exercise):
    """Only one rank has rows, or a single row; one channel."""
    return _drawn(exercise, _shares(1), st.integers(1, 3))


def sync_norm_backward(exercise):
    return _drawn(exercise, _shares(1), st.integers(1, 3))


def train_and_validate(exercise):
    """Validations after every step, after the last alone and none at all; a sample, and fewer than there are ranks;
    all of them right, or none."""

    def case(drawn):
        level, seed, p, steps, every, n, share = drawn
        table = (np.random.default_rng(seed).random((steps + 1, n)) < share).astype(np.int64)
        known = {"table": table, "rows": table.tolist(), "steps": steps, "every": every, "n": n}
        says = f"n = {n}, {steps} steps, every = {every}"
        return on_ranks(level, p, "rows steps every n", known, says)

    levels, shares = st.sampled_from(list(exercise.levels)), st.sampled_from([0.0, 0.5, 1.0])
    few = st.integers(1, 6)
    return st.tuples(levels, SEEDS, st.integers(2, 5), few, few, st.integers(1, 12), shares).map(case)


INPUTS = {
    "scaled_rate": scaled_rate,
    "ghost_batch_norm": ghost_batch_norm,
    "accumulate_uneven": accumulate_uneven,
    "trust_step": trust_step,
    "noise_scale": noise_scale,
    "global_moments": global_moments,
    "sync_norm_backward": sync_norm_backward,
    "train_and_validate": train_and_validate,
}
