"""Inputs for unit 12."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import RANKS, SECONDS, SMALL
from autograder.inputs.strategies import plain_cases


def samples_per_second(exercise):
    times = {name: SECONDS for name in ("read", "decode", "step")}
    return plain_cases(exercise, **times, workers=st.integers(0, 9), cores=SMALL, ranks=RANKS)


def utilisation(exercise):
    """Seconds are sixteenths, so that sums are exact."""
    sixteenths = st.integers(0, 48).map(lambda k: k / 16)

    def batches(shape):
        ranks, count = shape
        times = st.lists(sixteenths, min_size=count, max_size=count)
        return st.lists(times, min_size=ranks, max_size=ranks)

    make = st.tuples(st.integers(1, 4), st.integers(1, 8)).flatmap(batches)
    return plain_cases(exercise, make=make, step=st.sampled_from([0.0625, 0.5, 1.0, 2.0]), depth=st.integers(1, 5))


def pack(exercise):
    lengths = st.lists(st.integers(1, 20), max_size=14)
    return plain_cases(
        exercise, lengths=lengths, capacity=st.sampled_from([10, 20, 21]), level=st.just(next(iter(exercise.levels)))
    )


INPUTS = {"samples_per_second": samples_per_second, "utilisation": utilisation, "pack": pack}
