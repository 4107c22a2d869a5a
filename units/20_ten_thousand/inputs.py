"""Inputs for unit 20."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import shapes
from autograder.inputs.strategies import plain_cases


def mesh_coordinates(exercise):
    return plain_cases(exercise, rank=st.integers(-2, 90), shape=shapes() | st.just(()))


def axis_groups(exercise):
    return shapes().flatmap(
        lambda shape: plain_cases(exercise, shape=st.just(shape), axis=st.integers(0, len(shape) - 1))
    )


def step_bytes(exercise):
    work = st.fixed_dictionaries(
        {name: st.integers(1, 9) for name in ("micro_batches", "layers", "tensor_bytes", "hop_bytes", "gradient_bytes")}
    )
    return plain_cases(exercise, shape=shapes(axes=(3, 3)), work=work, per_node=st.integers(1, 9))


INPUTS = {"mesh_coordinates": mesh_coordinates, "axis_groups": axis_groups, "step_bytes": step_bytes}
