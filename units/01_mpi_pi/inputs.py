"""Inputs for unit 01."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.inputs.common import COUNTS, RANKS
from autograder.inputs.strategies import plain_cases


def fair_share(exercise):
    return plain_cases(exercise, n=COUNTS | st.just(1000), world_size=RANKS)


def speedup_and_efficiency(exercise):
    runs = st.lists(st.integers(1, 4096), min_size=1, max_size=6, unique=True).map(sorted)

    def with_seconds(ranks):
        seconds = st.lists(st.floats(0.01, 1e4), min_size=len(ranks), max_size=len(ranks))
        return plain_cases(exercise, ranks=st.just(np.array(ranks)), seconds=seconds.map(np.array))

    return runs.flatmap(with_seconds)


INPUTS = {"fair_share": fair_share, "speedup_and_efficiency": speedup_and_efficiency}
