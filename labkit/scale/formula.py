"""Closed formulas: what a step takes, how much of it is idle, how many bytes cross which links. No simulation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from labkit.relay.topology import Topology
from labkit.scale.mesh import Mesh
from labkit.scale.step import Step
from labkit.scale.wires import Wires

Bytes = dict[str, dict[str, float]]  # axis -> class of link -> bytes of all ranks in one step
REPLICAS = ("data", "context")


def bubble(p: int, m: int, v: int = 1) -> float:
    """The share of time in which a rank of a pipeline waits: p stages, m micro-batches, v chunks on each rank. GPipe,
    1F1B and, with v > 1, interleaved 1F1B, where messages cost nothing (Narayanan et al. 2021, section 2.2)."""
    return (p - 1) / (v * m + p - 1)


def hops(p: int, m: int, v: int = 1) -> int:
    """The number of messages between stages on the critical path of 1F1B, or, with v > 1, of interleaved 1F1B, where
    computing takes longer than a message."""
    if v > 1:
        return 2 * (p * v - 1) if p > 1 else 0
    rounds, rest = divmod(m - 1, p)
    return 2 * (p - 1) * (rounds + 1) + max(0, 2 * (rest - 1)) if p > 1 else 0


@dataclass(frozen=True)
class Estimate:
    """Seconds of one step, from its parts: computing, each axis' messages, waiting in the pipeline. bytes: of all
    ranks, by axis and class of link."""

    computing: float
    tensor: float
    context: float
    pipeline: float
    data: float
    waiting: float
    bytes: Bytes

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.computing + self.tensor + self.context + self.pipeline + self.data + self.waiting

    @property
    def idle(self) -> float:
        """The share of the step in which a rank, in the mean, does not compute."""
        return 1 - self.computing / self.seconds


@lru_cache(2)
def _wires(mesh: Mesh, topology: Topology) -> Wires:
    """The wires of a mesh: a search prices many steps of one mesh, one after the other."""
    return Wires(mesh, topology)


def estimate(step: Step, topology: Topology, wires: Wires | None = None) -> Estimate:
    """The step under 1F1B, or interleaved 1F1B where there are several chunks on a rank. Exact where all chunks have
    the same number of layers and messages are shorter than a layer's computing; else the slowest stage decides. wires:
    of this mesh and topology, where they are at hand: steps of one mesh share them."""
    wires, mesh = wires or _wires(step.mesh, topology), step.mesh
    p, m, v = mesh.pipeline, step.micro_batches, step.chunks
    per_stage = [sum(step.layers_of[stage::p]) for stage in range(p)]
    busy = [m * n * (step.forward + step.backward) for n in per_stage]
    busy[-1] += 3 * m * step.head
    most = max(range(p), key=lambda stage: busy[stage])
    groups = wires.collective("all_reduce", "tensor")
    turns = [groups.in_turns(step.tensor_bytes, 2, seconds) for seconds in (step.forward, step.backward)]
    tensor, at_first = sum(turns), 2 * groups.seconds(step.tensor_bytes) - turns[0]  # they begin together
    ring = max(wires.ring(stage).seconds(step.context_bytes) for stage in range(p)) if mesh.context > 1 else 0.0
    twice = max(wires.ring(stage).seconds(2 * step.context_bytes) for stage in range(p)) if mesh.context > 1 else 0.0
    context = (mesh.context - 1) * (ring + twice)
    within, after = _of_replicas(step, wires)
    computing = sum(busy) / p
    mean = (computing + m * sum(per_stage) / p * (tensor + context)) / (m * v) + within  # a slot: forward and backward
    waiting = (p - 1) * mean + busy[most] - computing
    there = sum(wires.forward(s).seconds(step.hop_bytes) + wires.backward(s).seconds(step.hop_bytes) for s in range(p))
    return Estimate(
        computing=computing,
        tensor=m * per_stage[most] * tensor + at_first,
        context=m * per_stage[most] * context,
        pipeline=hops(p, m, v) * there / (2 * p),
        data=m * v * within + after,
        waiting=waiting,
        bytes=traffic(step, topology, wires),
    )


def _of_replicas(step: Step, wires: Wires) -> tuple[float, float]:
    """Seconds of the replicas' collectives: around each chunk's forward and backward pass, and at the end."""
    if step.mesh.replicas == 1:
        return 0.0, 0.0
    gather, scatter = (wires.collective(kind, *REPLICAS).seconds for kind in ("all_gather", "reduce_scatter"))
    whole = step.chunks * step.gradient_bytes
    if step.zero == 0:
        return 0.0, wires.collective("all_reduce", *REPLICAS).seconds(whole)
    if step.zero == 1:
        return 0.0, scatter(whole) + gather(step.chunks * step.shard_bytes)
    if step.zero == 2:
        return scatter(step.gradient_bytes), gather(step.chunks * step.shard_bytes)
    return scatter(step.gradient_bytes) + 2 * gather(step.shard_bytes), 0.0


def traffic(step: Step, topology: Topology, wires: Wires | None = None) -> Bytes:
    """The bytes of one step of all ranks, by axis ("tensor", "context", "pipeline", "data") and class of link
    ("inside" nodes, "between" them). "data": of all that hold the same parameters."""
    wires = wires or Wires(step.mesh, topology)
    p, m, v = step.mesh.pipeline, step.micro_batches, step.chunks
    found: dict[str, Counter] = {axis: Counter() for axis in ("tensor", "context", "pipeline", "data")}

    def add(axis: str, shares: dict[str, float], nbytes: float) -> None:
        found[axis].update({kind: share * nbytes for kind, share in shares.items() if share * nbytes})

    for stage in range(p):
        layers = m * sum(step.layers_of[stage::p])
        add("tensor", wires.collective("all_reduce", "tensor").shares[stage], 4 * layers * step.tensor_bytes)
        add("context", wires.ring(stage).counts, 3 * layers * (step.mesh.context - 1) * step.context_bytes)
        last, first = stage == p - 1, stage == 0
        if p > 1:
            add("pipeline", wires.forward(stage).counts, m * (v - last) * step.hop_bytes)
            add("pipeline", wires.backward(stage).counts, m * (v - first) * step.hop_bytes)
        for kind, nbytes in _contributions(step):
            add("data", wires.collective(kind, *REPLICAS).shares[stage], nbytes)
    return {axis: dict(counts) for axis, counts in found.items()}


def _contributions(step: Step) -> list[tuple[str, float]]:
    """The collectives of a replica in one step, as pairs (collective, bytes)."""
    passes, whole = step.micro_batches * step.chunks, step.chunks * step.gradient_bytes
    if step.zero == 0:
        return [("all_reduce", whole)]
    if step.zero == 1:
        return [("reduce_scatter", whole), ("all_gather", step.chunks * step.shard_bytes)]
    if step.zero == 2:
        return [("reduce_scatter", passes * step.gradient_bytes), ("all_gather", step.chunks * step.shard_bytes)]
    return [("reduce_scatter", passes * step.gradient_bytes), ("all_gather", 2 * passes * step.shard_bytes)]
