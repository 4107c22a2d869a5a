"""Inputs for unit 19."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.inputs.common import RANKS, SMALL
from autograder.inputs.strategies import plain_cases


def resume_order(exercise):
    def at(n, step):
        return plain_cases(
            exercise,
            order=st.permutations(range(100, 100 + n)),
            step=st.just(step),
            per_rank=st.integers(1, 4),
            old=RANKS,
            world_size=RANKS,
        )

    return st.tuples(st.integers(0, 30), st.integers(0, 3)).flatmap(lambda drawn: at(*drawn)).filter(_is_left)


def _is_left(case):
    known = case.known
    return known["step"] * known["per_rank"] * known["old"] <= len(known["order"])


def stragglers(exercise):
    near = st.sampled_from([0.1, 0.1, 0.1, 0.101, 0.102, 0.103, 0.12, 0.5])

    def times(shape):
        ranks, steps = shape
        row = st.lists(near, min_size=steps, max_size=steps)
        return st.lists(row, min_size=ranks, max_size=ranks).map(np.array)

    table = st.tuples(st.integers(1, 8), st.integers(1, 5)).flatmap(times)
    return plain_cases(exercise, times=table, k=st.sampled_from([3.0, 6.0]))


def wall_time(exercise):
    failures = st.lists(st.integers(0, 120), max_size=5, unique=True).map(sorted)
    return plain_cases(
        exercise,
        work=st.integers(1, 60),
        interval=st.integers(4, 40),
        save=st.integers(0, 6),
        restart=st.integers(0, 9),
        failures=failures,
    )


def young_interval(exercise):
    return plain_cases(exercise, save=st.floats(1, 300), mtbf=st.floats(1e4, 1e9), machines=SMALL | st.just(16384))


INPUTS = {"resume_order": resume_order, "stragglers": stragglers, "wall_time": wall_time,
          "young_interval": young_interval}  # fmt: skip
