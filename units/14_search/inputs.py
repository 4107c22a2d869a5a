"""Inputs for unit 14."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from autograder.inputs.strategies import plain_cases

ENDS = st.sampled_from([-1.0, 0.0, 1e-300, 1e-6, 0.5, 1.0, 1.5, 300.0, 1e300])


def log_grid(exercise):
    return plain_cases(exercise, low=ENDS, high=ENDS, n=st.integers(-1, 9))


def hyperband_brackets(exercise):
    powers = st.builds(pow, st.integers(2, 10), st.integers(0, 5))
    return plain_cases(exercise, R=st.integers(-1, 300) | powers, eta=st.integers(0, 12))


def asha_next(exercise):
    """Histories of rungs: the best may have been started, losses are equal, nan or inf."""
    losses = st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0, math.inf, math.nan])

    def history(size):
        numbers = range(size)
        rungs = st.lists(
            st.dictionaries(st.sampled_from(numbers), losses) if size else st.just({}), min_size=1, max_size=3
        )
        begun = st.lists(st.sets(st.sampled_from(numbers)) if size else st.just(set()), min_size=3, max_size=3)
        return st.tuples(rungs, begun, st.integers(0, 3)).map(lambda drawn: _consistent(size, *drawn))

    return (
        st.integers(0, 7)
        .flatmap(history)
        .flatmap(lambda past: plain_cases(exercise, eta=st.integers(2, 4), **{k: st.just(v) for k, v in past.items()}))
    )


def _consistent(size, rungs, begun, more):
    """A history that can have been: who is on a rung has finished the one below, who has finished has begun."""
    finished, started = [], []
    below = set(range(size))
    for rung, others in zip(rungs, begun, strict=False):
        done = {i: loss for i, loss in rung.items() if i in below}
        running = set(range(size)) if not finished else (set(done) | others) & below
        started.append(sorted(running | set(done)))
        finished.append([[i, loss] for i, loss in done.items()])
        below = set(done)
    return {"finished": [*finished, []], "started": [*started, []], "n": size + more}


INPUTS = {"log_grid": log_grid, "hyperband_brackets": hyperband_brackets, "asha_next": asha_next}
