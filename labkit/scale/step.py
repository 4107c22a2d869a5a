"""One training step as numbers: what every rank computes, and what it says to whom. The same for the closed formulas
(`labkit.scale.formula`), the replay (`labkit.scale.replay`) and real code on the relay (`labkit.scale.real`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labkit.scale.mesh import Mesh
from labkit.scale.overlap import Overlap

Order = Sequence[tuple]
ALL_LAYERS = 1 << 30  # more than any rank has


@dataclass(frozen=True)
class Step:
    """micro_batches: of each data-parallel replica. chunks: of the model, on each rank (v). layers: of each of the
    p v chunks of the model, or one number for all.

    forward, backward: seconds that a rank computes for its part of one layer and one micro-batch. head: seconds of the
    forward pass of what the last chunk does besides; its backward pass takes twice as long.

    overlap: what is hidden behind computing (`labkit.scale.overlap`). As it stands nothing: a rank that talks does not
    compute; but it does not wait for what it sends to the next stage. Bytes, of one rank and one micro-batch:
    tensor_bytes: of each of the two all-reduces of a layer, in the forward pass and again in the backward pass.
    context_bytes: keys and values that are handed on in each of the context - 1 steps of a layer's ring; in the
    backward pass, with their gradients, twice as many. hop_bytes: an activation, or its gradient, from one stage to the
    next. weight_bytes, gradient_bytes: of one chunk.

    Of a mixture of experts, which `mesh.experts` replicas have dealt out to them: expert_bytes: that a rank hands over
    in each of the two all-to-alls of a layer, to the experts and back, in the forward pass and again in the backward
    pass. expert_weight_bytes, expert_gradient_bytes: of one chunk's routed experts on a rank, which `mesh.copies`
    replicas share; weight_bytes and gradient_bytes are then those of the rest.

    zero: what the replicas share. 0: nothing, gradients are all-reduced once at the end. 1: the optimizer's state, they
    are reduce-scattered, and the new weights gathered. 2: a chunk's gradients are reduce-scattered after each backward
    pass. 3: its weights are gathered for each forward and backward pass besides.
    """

    mesh: Mesh
    micro_batches: int
    chunks: int = 1
    layers: int | tuple[int, ...] = 1
    forward: float = 1e-3
    backward: float = 2e-3
    head: float = 0.0
    tensor_bytes: int = 0
    context_bytes: int = 0
    hop_bytes: int = 0
    weight_bytes: int = 0
    gradient_bytes: int = 0
    zero: int = 0
    overlap: Overlap = Overlap()
    expert_bytes: int = 0
    expert_weight_bytes: int = 0
    expert_gradient_bytes: int = 0

    def __post_init__(self):
        if self.zero not in range(4):
            raise ValueError(f"ZeRO stage {self.zero}: there are 0, 1, 2 and 3")
        if len(self.layers_of) != self.mesh.pipeline * self.chunks:
            raise ValueError(f"layers of {len(self.layers_of)} chunks for {self.mesh.pipeline} x {self.chunks}")
        if min(self.micro_batches, self.chunks) < 1:
            raise ValueError(f"{self.micro_batches} micro-batches, {self.chunks} chunks: each must be at least 1")
        if self.zero > 1 and self.hides_replicas and self.expert_gradient_bytes:
            raise ValueError(
                f"experts with ZeRO {self.zero}: nothing of the replicas' is hidden; with 0 and 1 it can be"
            )

    @property
    def layers_of(self) -> tuple[int, ...]:
        """Layers of each chunk of the model."""
        if isinstance(self.layers, int):
            return (self.layers,) * (self.mesh.pipeline * self.chunks)
        return tuple(self.layers)

    @property
    def shard_bytes(self) -> int:
        """The bytes that a replica contributes when a chunk's weights are gathered."""
        return self.weight_bytes // self.mesh.replicas

    @property
    def expert_shard_bytes(self) -> int:
        """The bytes that a rank contributes when the weights of a chunk's experts are gathered."""
        return self.expert_weight_bytes // self.mesh.copies

    def layers_in_a_bucket(self, layers: int) -> int:
        """Layers of a chunk of so many whose gradients the replicas add up together."""
        cap = self.overlap.gradients
        return layers if cap is None else min(layers, max(1, math.ceil(cap * layers / max(self.gradient_bytes, 1))))

    def buckets_of(self, nbytes: int) -> int:
        """The buckets in which so many bytes of gradients go that are complete together."""
        return max(1, math.ceil(nbytes / (self.overlap.gradients or nbytes or 1)))

    @property
    def gathers_ahead(self) -> int:
        """The layers of which gathers are under way before they are needed; with whole weights those of all."""
        return ALL_LAYERS if self.overlap.gathers and self.zero < 3 else self.overlap.gathers

    @property
    def hides_replicas(self) -> bool:
        """True if some of the replicas' collectives go on while they compute."""
        hides = self.overlap.gradients is not None or (self.overlap.gathers > 0 and self.zero > 0)
        return hides and self.mesh.replicas > 1

    @property
    def usual_order(self) -> Callable:
        """The order that the formulas count on: 1F1B, eager where that is said, interleaved where there are chunks."""
        if self.chunks > 1:
            return order_interleaved
        return order_eager_1f1b if self.overlap.messages else order_1f1b

    def orders(self, order: Callable | Sequence[Order]) -> list[Order]:
        """The order of each stage: of `order(stage, p, m)`, with chunks `order(stage, p, m, v)`, or as they are."""
        if not callable(order):
            return list(order)
        p, m, v = self.mesh.pipeline, self.micro_batches, self.chunks
        return [order(stage, p, m, v) if v > 1 else order(stage, p, m) for stage in range(p)]


def order_1f1b(stage: int, p: int, m: int) -> list[tuple[str, int]]:
    """One forward, one backward (unit 17): what to replay where no student's order is at hand."""
    return _one_forward_one_backward(m, min(m, p - 1 - stage))


def order_eager_1f1b(stage: int, p: int, m: int) -> list[tuple[str, int]]:
    """1F1B with twice as many forward passes ahead (Zhuang et al. 2023): no message in the middle is waited for."""
    return _one_forward_one_backward(m, min(m, 2 * (p - 1 - stage)))


def _one_forward_one_backward(m: int, ahead: int) -> list[tuple[str, int]]:
    """One forward and one backward pass in turn, after so many forward passes."""
    order = [("F", k) for k in range(ahead)]
    for k in range(m):
        order += [("F", ahead + k), ("B", k)] if ahead + k < m else [("B", k)]
    return order


def order_interleaved(stage: int, p: int, m: int, v: int) -> list[tuple[str, int, int]]:
    """Interleaved 1F1B (Narayanan et al. 2021). Raises ValueError where p does not divide m."""
    if m % p:
        raise ValueError(f"{m} micro-batches are not in groups of {p}")
    every = [(first + k, j) for first in range(0, m, p) for j in range(v) for k in range(p)]
    forward, backward = [("F", k, j) for k, j in every], [("B", k, v - 1 - j) for k, j in every]
    ahead = min(m * v, 2 * (p - 1 - stage) + (v - 1) * p)
    order = forward[:ahead]
    for f, b in zip(forward[ahead:], backward, strict=False):
        order += [f, b]
    return order + backward[m * v - ahead :]
