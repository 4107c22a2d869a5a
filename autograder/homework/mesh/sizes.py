"""The needs of a training on a mesh: parameters, and bytes to be sent. Totals over all ranks, for any division of the
layers over stages."""

from __future__ import annotations

import numpy as np

from labkit.meshrun import Settings, on_the_wire
from labkit.scale import Mesh

FEW = 8  # numbers of a narrower type that a checkpoint may have, such as the step of torch.optim.Adam
FLOAT = 8  # bytes


def parameters(settings: Settings, tensor: int = 1) -> int:
    """The parameters of all stages together, for one of the ranks that share their matrices: a block's four column-wise
    matrices with their biases and its two row-wise ones are divided; norms, the row-wise ones' biases, embedding and
    head are not."""
    h = settings.width
    block = (12 * h * h + 7 * h) // tensor + 6 * h
    return settings.layers * block + (2 * settings.vocabulary + settings.context) * h + 2 * h


def hop(settings: Settings, mesh: Mesh) -> int:
    """Bytes of the activation of one micro-batch."""
    return settings.tokens // mesh.data // settings.micro_batches // mesh.context * settings.width * FLOAT


def traffic(settings: Settings, mesh: Mesh) -> dict[str, float]:
    """Bytes that all ranks together send in one step, by axis: two all-reduces of an activation forward and two
    backward in each block; an activation forward and its gradient backward between stages; gradients reduce-scattered
    and weights gathered."""
    m, p, t, r = settings.micro_batches, mesh.pipeline, mesh.tensor, mesh.replicas
    reduced = on_the_wire("all_reduce", hop(settings, mesh), t) * 4 * settings.layers * m
    weights = parameters(settings, t) * FLOAT
    return {
        "tensor": reduced * r * t,
        "pipeline": 2.0 * (p - 1) * m * hop(settings, mesh) * r * t,
        "data": 2 * on_the_wire("reduce_scatter", weights, r) * r * t,
    }


def summed(settings: Settings, mesh: Mesh) -> dict[str, float]:
    """Bytes that all ranks together add to sums in one step: activations and their gradients, and gradients of
    parameters."""
    activations = 4 * settings.layers * settings.micro_batches * hop(settings, mesh)
    return {
        "tensor": activations * mesh.replicas * mesh.tensor,
        "data": parameters(settings, mesh.tensor) * FLOAT * mesh.replicas * mesh.tensor,
    }


def between_parts(settings: Settings, mesh: Mesh) -> float:
    """Bytes that ranks along context send in one step if they send as little as they can: all parts of what enters an
    attention, or as much in keys, values or heads, and the gradients of that."""
    gathered = on_the_wire("all_gather", hop(settings, mesh), mesh.context)
    return 2.0 * settings.layers * settings.micro_batches * gathered * mesh.replicas * mesh.tensor


def checkpoint(settings: Settings, mesh: Mesh) -> int:
    """Numbers in the checkpoint of all ranks: weights and two moments, each once for each tensor rank."""
    return 3 * parameters(settings, mesh.tensor) * mesh.tensor


def numbers(part, narrow: bool = False) -> int:
    """The number of floating-point numbers in a value; narrow: of those of a type other than float64."""
    if isinstance(part, dict):
        return sum(numbers(one, narrow) for one in part.values())
    if isinstance(part, list | tuple):
        return sum(numbers(one, narrow) for one in part)
    if isinstance(part, float | bytes):
        return 0 if narrow else 1 if isinstance(part, float) else len(part) // FLOAT
    values = getattr(part, "values", part)
    if isinstance(values, np.ndarray) and values.dtype == np.uint8 and not narrow:  # a file in memory
        return values.size // FLOAT
    if (
        not isinstance(values, np.ndarray)
        or values.dtype.kind != "f"
        or (narrow and (values.dtype.itemsize == 8 or values.size <= FEW))
    ):
        return 0
    return int(values.size)
