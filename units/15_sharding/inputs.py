"""Inputs for unit 15."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.case import Tensor
from autograder.inputs.common import COUNTS, RANKS, SEEDS
from autograder.inputs.generator import EdgeGenerator
from autograder.inputs.strategies import SHARES, plain_cases

DRAWN = st.builds(EdgeGenerator, SEEDS, st.sampled_from(SHARES))
FEW_RANKS = st.integers(1, 5)


def memory_per_rank(exercise):
    kinds = st.sampled_from(["adam", "momentum", "sgd"])
    params = COUNTS | st.sampled_from([2**31 + 1, 2**53 + 1])
    return plain_cases(
        exercise, params=params, p=st.integers(-1, 9), stage=st.integers(-1, 4), optimizer=kinds, mixed=st.booleans()
    )


def shard(exercise):
    floats = st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.25, float("inf"), float("nan")]), max_size=20)
    integers = st.lists(st.integers(-(2**62), 2**62), max_size=20)
    flat = floats.map(lambda x: Tensor(np.array(x, np.float64), "float64"))
    flat |= integers.map(lambda x: Tensor(np.array(x, np.int64), "int64"))
    return plain_cases(exercise, flat=flat, p=RANKS)


def unshard(exercise):
    types = st.sampled_from(["float64", "float32", "int64", "int32", "bfloat16"])
    level = st.sampled_from(list(exercise.levels)[:2])
    return st.builds(exercise._case, DRAWN, level, st.integers(0, 14), FEW_RANKS, types)


def zero1_step(exercise):
    return _steps(exercise, st.integers(1, 2), st.just(1))


def zero2_step(exercise):
    return _steps(exercise, st.just(1), st.integers(1, 4))


def _steps(exercise, steps, micro):
    levels, count = st.sampled_from(list(exercise.levels)[:2]), st.integers(1, 14)
    number = st.sampled_from([1, 2, 3, 7, 1000])
    return st.builds(
        exercise._known, DRAWN, levels, count, FEW_RANKS, steps, micro, t=number, still=st.sampled_from([False, True])
    )


def zero3_forward_backward(exercise):
    widths = st.lists(st.integers(1, 5), min_size=2, max_size=6)
    shapes = widths.map(lambda found: list(zip(found, found[1:], strict=False)))
    return st.builds(exercise._case, DRAWN, st.just(next(iter(exercise.levels))), shapes, FEW_RANKS)


def checkpointed(exercise):
    values, _, dropout = exercise.levels
    blocks, every = st.integers(1, 7), st.integers(1, 8)
    plain = st.builds(exercise._case, DRAWN, st.just(values), blocks, every)
    return plain | st.builds(exercise._case, DRAWN, st.just(dropout), blocks, every, draws=st.just(True))


def clip_grad_norm_sharded(exercise):
    """Shares of the norm on both sides of 1; a gradient of zeros; shards of all sizes, on some ranks none."""

    def sizes(p):
        of = st.tuples(*[st.sampled_from([0, 1, 2, 5])] * p)
        return st.lists(of, min_size=1, max_size=3).filter(lambda drawn: any(map(any, drawn)))

    share = st.sampled_from([None, 0.0, 0.001, 0.3, 0.999, 1.001, 3.0])
    level = st.sampled_from(list(exercise.levels)[:2])
    return st.builds(exercise._case, DRAWN, level, FEW_RANKS.flatmap(sizes), share, st.sampled_from([1.0, 0.0]))


INPUTS = {
    "memory_per_rank": memory_per_rank,
    "shard": shard,
    "unshard": unshard,
    "zero1_step": zero1_step,
    "zero2_step": zero2_step,
    "zero3_forward_backward": zero3_forward_backward,
    "checkpointed": checkpointed,
    "clip_grad_norm_sharded": clip_grad_norm_sharded,
}
