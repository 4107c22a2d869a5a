"""Messages between ranks, altered on their way by what the key draws, and the losses of a right training then.

Activations and their gradients, along pipeline what is sent and along tensor what a sum gives, are stretched: each
token's vector by its direction (`probes.mesh_noise`). What a sum over replicas gives is multiplied by a number that is
new with each sum, and found again by its values (`probes.mesh_sums`). It does not matter how messages were cut up or
packed, in which order things were sent, or by which collective they were summed, and no message tells what becomes of
the next. So the sequential training can do the same at the same places (`probes.mesh_reference`), and whoever uses what
arrives has its losses. A rank that has computed everything itself does not notice, nor can it learn beforehand what it
would have to do.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from autograder.homework.mesh import sizes
from autograder.homework.mesh.cases import Trial
from labkit.meshrun import Settings
from labkit.meshrun.counting import axis_of
from labkit.relay.operation import Group, Operation
from probes.mesh_noise import Noise

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
    """The bytes that the altering is drawn from. No rank is handed them, or a number from which they follow."""
    return hashlib.sha256(f"train_a_mesh altered\0{key}".encode()).digest()


class Altered:
    """Alters what the ranks of one trial send. bytes: axis -> what was altered so far."""

    def __init__(self, trial: Trial, secret: bytes):
        self.trial, self.bytes = trial, Counter()
        self._secret = secret + trial.name.encode()
        self.seeds = {axis: self._drawn(axis) for axis in ("tensor", "pipeline")}
        self._noise = {axis: Noise(seed, trial.settings.width) for axis, seed in self.seeds.items()}
        self._summed: list[tuple[np.ndarray, float]] = []
        self._groups: dict[tuple[int, ...], list[Group]] = {}
        self._count: Counter = Counter()

    def _drawn(self, *what) -> list[int]:
        """A seed that follows from the secret and these names and numbers."""
        digest = hashlib.sha256(self._secret + repr(what).encode()).digest()
        return [int.from_bytes(digest[at : at + 4], "big") for at in range(0, 16, 4)]

    @property
    def axes(self) -> tuple[str, ...]:
        """Those along which something is altered."""
        return tuple(axis for axis in AXES if getattr(self.trial.mesh, axis) > 1)

    def _axis(self, op: Operation) -> str:
        """The axis along which an operation takes numbers in float64 that may be altered; "" where it takes none."""
        if op.dtype != "float64" or not op.payload or len(op.payload) % sizes.FLOAT:
            return ""
        ranks = (op.rank, op.peer) if op.kind == "send" else op.members
        return axis_of(self.trial.mesh, ranks) if None not in ranks and len(set(ranks)) > 1 else ""

    def handed(self, op: Operation) -> bytes:
        """The bytes that travel in place of those that a rank hands over: other ones for what a stage sends."""
        count = len(op.payload) // sizes.FLOAT
        whole = len(op.payload) > FEW and count % self.trial.settings.width == 0
        if op.kind != "send" or not whole or self._axis(op) != "pipeline":
            return op.payload
        self.bytes["pipeline"] += len(op.payload)
        return bytearray(self._noise["pipeline"](np.frombuffer(op.payload, np.float64)).tobytes())

    @np.errstate(all="ignore")
    def arrives(self, ops: Sequence[Operation]) -> None:
        """Alters what the members of a collective get from a sum."""
        first, axis = ops[0], self._axis(ops[0])
        summed = first.kind in SUMS and first.reduce in ("sum", "avg")
        if axis == "data" and (summed or first.kind == "all_to_all"):
            self._of_replicas(ops)
        # an activation, or a rank's share of one: not the gradients of a few parameters
        mesh, settings, got = self.trial.mesh, self.trial.settings, max(len(op.data) for op in ops)
        whole = len(first.payload) > FEW and len(first.payload) * mesh.tensor % sizes.hop(settings, mesh) == 0
        if axis == "tensor" and summed and whole and got % (settings.width * sizes.FLOAT) == 0:
            self.bytes[axis] += sum(len(op.payload) for op in ops)
            for op in ops:
                op.data = self._noise[axis](np.frombuffer(op.data, np.float64)).tobytes()

    def _of_replicas(self, ops: Sequence[Operation]) -> None:
        """Multiplies what is a sum over replicas, or the summands that each of them gets for itself. The number is the
        same for the same sum of another tensor rank: what both hold stays equal. For a few bytes it is 1."""
        group = ops[0].group
        known = self._groups.setdefault(group.members, [])
        if group not in known:
            known.append(group)
        stage, number = self.trial.mesh.coordinates(ops[0].rank)["pipeline"], known.index(group)
        self._count[group] += 1
        seed = self._drawn("data", stage, number, self._count[group], len(ops[0].payload))
        few = len(ops[0].payload) <= FEW
        factor = 1.0 if few else float(1 + np.random.default_rng(seed).uniform(-0.3, 0.3))
        for k, op in enumerate(ops):
            self.bytes["data"] += 0 if few else len(op.payload)
            given = np.frombuffer(op.data, np.float64)
            if op.kind == "all_to_all":
                pieces = given.reshape(len(ops), -1) if len(given) % len(ops) == 0 else given[None]
                self._summed.append((pieces.sum(0), factor))
            elif op.kind != "all_reduce" or k == 0:
                self._summed.append((given, factor))
            op.data = (given * factor).tobytes()

    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """All numbers that were sums over replicas, and what each was multiplied by."""
        factors = [np.full(len(values), factor) for values, factor in self._summed]
        return np.concatenate([np.zeros(0), *(values for values, _ in self._summed)]), np.concatenate([[], *factors])

    def reached(self, axis: str) -> bool:
        """True if nearly all that a division needs was altered along an axis."""
        settings, mesh, steps = self.trial.settings, self.trial.mesh, self.trial.steps
        handed = sizes.summed(settings, mesh) | {"pipeline": sizes.traffic(settings, mesh)["pipeline"]}
        return self.bytes[axis] >= ENOUGH * steps * handed[axis]

    # -- what a right training gives

    def usual(self) -> Reference:
        """The way of the units: blocks in one piece each, biases added behind the sum, one f for q, k and v."""
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
        either = (False, True) if "tensor" in axes else (False,)
        used = {axis: self.seeds[axis] if axis in axes else None for axis in ("tensor", "pipeline")}
        dealt, scales = ([None, *self._dealt()], self._scales()) if "data" in axes else ([None], None)
        for rows, cut, biased, apart in product(dealt, cuts if "pipeline" in axes else [()], either, either):
            how = {"blocks": list(cut), "biased": biased, "apart": apart, "scales": scales, "micro_batches": rows}
            yield Reference(axes, how | used)

    def _dealt(self) -> list[list[list[int]]]:
        """The rows of each micro-batch, of all replicas together, by every way to deal them that is known: where sums
        are over replicas after each micro-batch."""
        m, ways = self.trial.settings.micro_batches, dealt(self.trial.settings, self.trial.mesh.data)
        found = [[sorted(one) for one in way.swapaxes(0, 1).reshape(m, -1).tolist()] for way in ways]
        return [one for k, one in enumerate(found) if one not in found[:k]]

    def _scales(self) -> list[float]:
        """The multiples of the gradient that a sum over replicas may be, by what is divided before and behind it."""
        settings, replicas = self.trial.settings, self.trial.mesh.replicas
        summed = (1, settings.micro_batches, settings.batch, settings.tokens, settings.tokens / settings.micro_batches)
        return sorted({float(n) for one in summed for n in (one, one * replicas, one / replicas)})


def dealt(settings: Settings, data: int) -> list[np.ndarray]:
    """(replicas, micro-batches, rows) of the minibatch's rows, by every way to deal them that is known."""
    rows, part = np.arange(settings.batch), settings.batch // settings.micro_batches
    ways = rows // (settings.batch // data), rows % data, rows % part // (part // data)
    of_each = [[np.flatnonzero(replica == k) for k in range(data)] for replica in ways]
    return [np.array(one).reshape(data, settings.micro_batches, -1) for one in of_each]


def _cuts(layers: int, p: int) -> list[tuple[int, ...]]:
    """The numbers of the blocks behind which a model may be cut into stages, 0 being the embedding: p parts in a row,
    or parts of one block each, of which every rank has several."""
    return [*combinations(range(layers + 1), p - 1), tuple(range(1, layers))]


__all__ = ["Altered", "Reference", "dealt", "secret_of"]
