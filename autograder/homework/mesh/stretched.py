"""The messages that context ranks hand each other, changed on their way: the loss of the first step, which no gradient
has touched yet, must show it.

There are many ways to divide a sequence, so what the losses become is not foretold: whoever gathers keys, sends them
round or swaps heads has other ones. They only must not stay as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from autograder.homework.mesh import sizes
from autograder.homework.mesh.cases import Trial
from labkit.meshrun.counting import axis_of
from labkit.relay.operation import Operation

FEW = 64  # bytes: losses and norms stay as they are
SPREAD = 0.3
IN_PIECES = ("all_gather", "gather", "all_to_all")  # of which one is a rank's own


class Stretched:
    """Multiplies every number by one of its own. bytes: of all that was changed."""

    def __init__(self, trial: Trial, secret: bytes):
        self.trial, self.bytes = trial, 0
        self._random = np.random.default_rng(list(hashlib.sha256(secret + trial.name.encode()).digest()))

    def _along(self, op: Operation) -> bool:
        ranks = (op.rank, op.peer) if op.kind == "send" else op.members
        large = op.dtype == "float64" and None not in ranks and len(set(ranks)) > 1
        return large and axis_of(self.trial.mesh, ranks) == "context"

    @np.errstate(all="ignore")
    def _changed(self, data: bytes) -> bytes:
        if len(data) <= FEW or len(data) % sizes.FLOAT:
            return data
        self.bytes += len(data)
        numbers = np.frombuffer(data, np.float64)
        return (numbers * (1 + self._random.uniform(-SPREAD, SPREAD, len(numbers)))).tobytes()

    def handed(self, op: Operation) -> bytes:
        """The bytes that travel in place of those that a rank sends."""
        return bytearray(self._changed(op.payload)) if op.kind == "send" and self._along(op) else op.payload

    def arrives(self, ops: Sequence[Operation]) -> None:
        """Changes what the members of a collective get from each other."""
        for place, op in enumerate(ops):
            if self._along(op) and op.data:
                op.data = self._but_one(op, place) if op.kind in IN_PIECES else self._changed(op.data)

    def _but_one(self, op: Operation, own: int) -> bytes:
        """The pieces of all ranks, the own one as it is."""
        edges = np.cumsum([0, *op.meta["sizes"]])
        pieces = [bytes(op.data[a:b]) for a, b in zip(edges[:-1], edges[1:], strict=True)]
        return b"".join(piece if k == own else self._changed(piece) for k, piece in enumerate(pieces))


__all__ = ["Stretched"]
