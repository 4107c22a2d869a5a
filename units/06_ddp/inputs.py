"""Inputs for unit 06."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import SMALL
from autograder.inputs.strategies import plain_cases


def buckets(exercise):
    sizes = st.lists(SMALL | st.just(10), min_size=1, max_size=12)
    return plain_cases(exercise, sizes=sizes, first_cap=SMALL | st.just(10), cap=SMALL | st.just(20))


INPUTS = {"buckets": buckets}
