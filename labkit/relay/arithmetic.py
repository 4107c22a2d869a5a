"""The arithmetic of collectives: reductions, concatenations and pieces of byte strings."""

from __future__ import annotations

import numpy as np

from labkit.relay import wire
from labkit.relay.phantom import Payload, Phantom


def cut(data: Payload, sizes: list[int], n: int) -> list[Payload]:
    """`data` cut into n pieces of the given sizes. Raises ValueError when they do not add up."""
    if len(sizes) != n or sum(sizes) != len(data) or any(s < 0 for s in sizes):
        raise ValueError("pieces that do not add up")
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return pieces


def reduce_bytes(payloads: list[Payload], dtype: str, how: str) -> Payload:
    """Reduce equal-sized messages element by element, in rank order; half precision is summed in float32. Of phantoms
    it is one. Raises TypeError where the reduction does not work on the type."""
    if len({len(p) for p in payloads}) != 1:
        raise ValueError("messages of different sizes")
    if isinstance(payloads[0], Phantom):
        reduce_bytes(
            [bytes(wire.DTYPES.get(dtype, 1))] * len(payloads), dtype, how
        )  # an element, to see whether it works
        return payloads[0]
    arrays = [wire.from_bytes(p, dtype) for p in payloads]
    kind = arrays[0].dtype
    work = [a.astype(np.float32) if dtype == "float16" else a for a in arrays]
    combine = {
        "sum": np.logical_or if kind == np.bool_ else np.add,
        "avg": np.add,
        "product": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
        "band": np.bitwise_and,
        "bor": np.bitwise_or,
        "bxor": np.bitwise_xor,
    }[how]
    total = work[0].copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for other in work[1:]:
            total = combine(total, other)
        if how == "avg":
            total = total / len(arrays) if np.issubdtype(kind, np.inexact) else _quotient(total, len(arrays))
    return wire.to_bytes(total, dtype)


def _quotient(total: np.ndarray, n: int) -> np.ndarray:
    """Rounded towards zero, as MPI's and NCCL's averages of whole numbers are."""
    return total // n + ((total < 0) & (total % n != 0))
