"""Messages between ranks, altered on their way by factors that the key draws, and the losses of a right training then.

Along pipeline, activations and their gradients are multiplied by a vector, feature by feature; along tensor, so is what
goes into a sum; along data, what a replica brings to a sum is multiplied by a number of its own. All of these are
linear: it does not matter how a message was cut up or packed, in which order things were sent, or by which collective
they were summed. So the sequential training can do the same at the same places (`probes.mesh_reference`), and whoever
uses what arrives has its losses. A rank that has computed everything itself does not notice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from autograder.homework.mesh import sizes
from autograder.homework.mesh.cases import Trial
from labkit.meshrun.counting import axis_of
from labkit.relay.operation import Operation

FEW = 64  # bytes: losses and norms stay as they are
ENOUGH = 0.4  # of the bytes that a division needs: so many were altered, else nothing can be said
SUMS = ("all_reduce", "reduce_scatter", "reduce")
AXES = ("data", "tensor", "pipeline")


class Reference(NamedTuple):
    """One way to write a right training. axes: along which what arrives is used. how: `probes.mesh_reference.altered`
    takes it."""

    axes: tuple[str, ...]
    how: dict


def secret_of(key: str) -> bytes:
    """The bytes that the factors are drawn from. No rank is handed them, or a number from which they follow."""
    return hashlib.sha256(f"train_a_mesh altered\0{key}".encode()).digest()


class Altered:
    """Alters what the ranks of one trial send. bytes: axis -> what was altered so far."""

    def __init__(self, trial: Trial, secret: bytes):
        digest = hashlib.sha256(secret + trial.name.encode()).digest()
        random = np.random.default_rng(int.from_bytes(digest[:16], "big"))
        self.trial, self.bytes = trial, Counter()
        width = trial.settings.width
        self.features = {axis: 1 + random.uniform(-0.25, 0.25, width) for axis in ("tensor", "pipeline")}
        self.replicas = 1 + random.uniform(-0.3, 0.3, trial.mesh.data)

    @property
    def axes(self) -> tuple[str, ...]:
        """Those along which something is altered."""
        return tuple(axis for axis in AXES if getattr(self.trial.mesh, axis) > 1)

    def __call__(self, op: Operation) -> bytes:
        """The bytes that travel in place of those that a rank hands over."""
        if op.dtype != "float64" or op.kind == "recv" or not FEW < len(op.payload) == len(op.payload) // 8 * 8:
            return op.payload
        ranks = (op.rank, op.peer) if op.kind == "send" else op.members
        axis = axis_of(self.trial.mesh, ranks) if None not in ranks and len(set(ranks)) > 1 else ""
        factors = self._factors(axis, op)
        if factors is None:
            return op.payload
        self.bytes[axis] += len(op.payload)
        return bytearray((np.frombuffer(op.payload, np.float64) * factors).tobytes())

    def _factors(self, axis: str, op: Operation) -> np.ndarray | float | None:
        """The factors of what a rank hands over along an axis; None where it stays as it is."""
        width, mesh = self.trial.settings.width, self.trial.mesh
        count = len(op.payload) // sizes.FLOAT
        summed = op.kind in SUMS and op.reduce in ("sum", "avg")
        if axis == "pipeline" and op.kind == "send" and count % width == 0:
            return np.tile(self.features[axis], count // width)
        # an activation, or a rank's share of one: not the gradients of a few parameters
        if axis == "tensor" and summed and len(op.payload) * mesh.tensor % sizes.hop(self.trial.settings, mesh) == 0:
            return np.tile(self.features[axis], count // width) if count % width == 0 else None
        if axis == "data" and (summed or op.kind == "all_to_all"):
            return float(self.replicas[mesh.coordinates(op.rank)["data"]])
        return None

    def reached(self, axis: str) -> bool:
        """True if nearly all that a division needs was altered along an axis."""
        settings, mesh, steps = self.trial.settings, self.trial.mesh, self.trial.steps
        activations = 4 * settings.layers * settings.micro_batches * sizes.hop(settings, mesh)
        handed = {
            "pipeline": sizes.traffic(settings, mesh)["pipeline"],
            "tensor": activations * mesh.replicas * mesh.tensor,
            "data": sizes.parameters(settings, mesh.tensor) * sizes.FLOAT * mesh.replicas * mesh.tensor,
        }
        return self.bytes[axis] >= ENOUGH * steps * handed[axis]

    # -- what a right training gives

    def usual(self) -> Reference:
        """The way of the units: rows and blocks in one piece each, and biases added behind the sum."""
        return next(self._ways(self.axes))

    def others(self) -> list[Reference]:
        """All other ways that are known, and trainings that use what arrives along some of the axes alone."""
        found = list(self._ways(self.axes))[1:]
        fewer = [some for n in range(len(self.axes)) for some in combinations(self.axes, n)]
        return found + [way for axes in fewer for way in self._ways(axes)]

    def _ways(self, axes: tuple[str, ...]) -> Iterator[Reference]:
        settings, p = self.trial.settings, self.trial.mesh.pipeline
        edges = tuple(k * settings.layers // p for k in range(1, p))
        cuts = [edges] + [some for some in _cuts(settings.layers, p) if some != edges]
        dealt = self._dealt()
        for cut, rows, biased in product(
            cuts if "pipeline" in axes else [()],
            dealt if "data" in axes else [None],
            (False, True) if "tensor" in axes else [False],
        ):
            of_rows = None if rows is None else self.replicas[rows].tolist()
            how = {"blocks": list(cut), "rows": of_rows, "biased": biased}
            used = {axis: self.features[axis].tolist() if axis in axes else None for axis in ("tensor", "pipeline")}
            yield Reference(axes, how | used)

    def _dealt(self) -> list[np.ndarray]:
        """The replica of each row of a minibatch, by every way to deal them that is known."""
        settings, data = self.trial.settings, self.trial.mesh.data
        rows, part = np.arange(settings.batch), settings.batch // settings.micro_batches
        return [rows // (settings.batch // data), rows % data, rows % part // (part // data)]


def _cuts(layers: int, p: int) -> list[tuple[int, ...]]:
    """The numbers of the blocks behind which a model may be cut into stages, 0 being the embedding: p parts in a row,
    or parts of one block each, of which every rank has several."""
    return [*combinations(range(layers + 1), p - 1), tuple(range(1, layers))]


__all__ = ["Altered", "Reference", "secret_of"]
