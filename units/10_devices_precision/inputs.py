"""Inputs for unit 10."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import COUNTS, SMALL
from autograder.inputs.strategies import plain_cases


def device_batches(exercise):
    return plain_cases(exercise, kind=st.sampled_from(["DataParallel", "DDP"]), batch_size=COUNTS, devices=SMALL)


def dynamic_scale(exercise):
    starts = st.sampled_from([1.0, 2.0, 65536.0, 2.0**24, 2.0**60])
    found = st.lists(st.booleans(), max_size=20)
    return plain_cases(exercise, found_inf=found, start=starts, growth_interval=st.integers(1, 4))


INPUTS = {"device_batches": device_batches, "dynamic_scale": dynamic_scale}
