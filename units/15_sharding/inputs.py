"""Inputs for unit 15."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.case import Tensor
from autograder.inputs.common import COUNTS, RANKS
from autograder.inputs.strategies import plain_cases


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


INPUTS = {"memory_per_rank": memory_per_rank, "shard": shard}
