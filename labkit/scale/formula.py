"""Closed formulas: what a step takes, how much of it is idle, how many bytes cross which links. No simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from labkit.interconnect.topology import Topology
from labkit.scale.hidden import REPLICAS, Behind, behind, longest
from labkit.scale.mesh import Mesh
from labkit.scale.overlap import Overlap
from labkit.scale.step import Step
from labkit.scale.wires import Wires
from labkit.scale.zero import sent, times

Bytes = dict[str, dict[str, float]]  # axis -> class of link -> bytes of all ranks in one step


def bubble(p: int, m: int, v: int = 1) -> float:
    """The share of time in which a rank of a pipeline waits: p stages, m micro-batches, v chunks on each rank. GPipe,
    1F1B and, with v > 1, interleaved 1F1B, where messages cost nothing (Narayanan et al. 2021, section 2.2)."""
    return (p - 1) / (v * m + p - 1)


def hops(p: int, m: int, v: int = 1, eager: bool = False) -> int:
    """The number of messages between stages on the critical path of 1F1B, of eager 1F1B, or, with v > 1, of interleaved
    1F1B, where computing takes longer than a message."""
    if v > 1 or eager:
        return 2 * (p * v - 1) if p > 1 else 0
    rounds, rest = divmod(m - 1, p)
    return 2 * (p - 1) * (rounds + 1) + max(0, 2 * (rest - 1)) if p > 1 else 0


@dataclass(frozen=True)
class Estimate:
    """Seconds of one step, from its parts: computing, each axis' messages, waiting in the pipeline. bytes: of all
    ranks, by axis and class of link. hidden: seconds of an axis' messages beside them that go on while the slowest rank
    computes, of those that the step's `overlap` names."""

    computing: float
    tensor: float
    context: float
    pipeline: float
    data: float
    waiting: float
    bytes: Bytes
    hidden: dict[str, float] = field(default_factory=dict)
    experts: float = 0.0

    @property
    def seconds(self) -> float:
        """The whole step."""
        talking = self.tensor + self.context + self.experts + self.pipeline + self.data
        return self.computing + talking + self.waiting

    @property
    def idle(self) -> float:
        """The share of the step in which a rank, in the mean, does not compute."""
        return 1 - self.computing / self.seconds


@lru_cache(2)
def _wires(mesh: Mesh, topology: Topology) -> Wires:
    """The wires of a mesh: a search prices many steps of one mesh, one after the other."""
    return Wires(mesh, topology)


def estimate(step: Step, topology: Topology, wires: Wires | None = None) -> Estimate:
    """The step under its usual order: 1F1B, eager, or interleaved where there are several chunks on a rank. Exact where
    all chunks have the same number of layers and messages are shorter than a layer's computing; else the slowest stage
    decides. wires: of this mesh and topology, where they are at hand: steps of one mesh share them."""
    wires, mesh = wires or _wires(step.mesh, topology), step.mesh
    p, m, v = mesh.pipeline, step.micro_batches, step.chunks
    per_stage = [sum(step.layers_of[stage::p]) for stage in range(p)]
    busy = [m * n * (step.forward + step.backward) for n in per_stage]
    busy[-1] += 3 * m * step.head
    most = max(range(p), key=lambda stage: busy[stage])
    turns, at_first = _of_tensor_groups(step, wires)
    ring = max(wires.ring(stage).seconds(step.context_bytes) for stage in range(p)) if mesh.context > 1 else 0.0
    twice = max(wires.ring(stage).seconds(2 * step.context_bytes) for stage in range(p)) if mesh.context > 1 else 0.0
    rings = [(mesh.context - 1) * seconds for seconds in (ring, twice)]
    swaps = 2 * wires.collective("all_to_all", "experts").seconds(step.expert_bytes) if step.expert_bytes else 0.0
    each_way = [turn + ring + swaps for turn, ring in zip(turns, rings, strict=True)]
    replicas = _of_replicas(step, wires, each_way)
    computing = sum(busy) / p
    talking = m * sum(per_stage) / p * sum(each_way)
    mean = (computing + talking) / (m * v) + replicas.filling  # a slot: forward and backward
    waiting = (p - 1) * mean + busy[most] - computing
    there = sum(wires.forward(s).seconds(step.hop_bytes) + wires.backward(s).seconds(step.hop_bytes) for s in range(p))
    found = Estimate(
        computing=computing,
        tensor=m * per_stage[most] * sum(turns) + at_first,
        context=m * per_stage[most] * sum(rings),
        pipeline=hops(p, m, v, step.overlap.messages) * there / (2 * p) + _for_cards(step, wires, replicas),
        data=m * v * replicas.within + replicas.after,
        waiting=waiting,
        bytes=traffic(step, topology, wires),
        experts=m * per_stage[most] * 2 * swaps,
    )
    return found if step.overlap == Overlap() else replace(found, hidden=_hidden(step, wires, found, replicas, there))


def _of_tensor_groups(step: Step, wires: Wires) -> tuple[list[float], float]:
    """Seconds that a layer's all-reduces add to its forward and to its backward pass, and once, as all begin
    together."""
    groups, parts = wires.collective("all_reduce", "tensor"), step.overlap.tensor
    each = step.tensor_bytes / parts
    turns = [groups.in_turns(each, 2, seconds, parts) for seconds in (step.forward, step.backward)]
    return turns, max(0.0, 2 * groups.seconds(each) - turns[0])


def _for_cards(step: Step, wires: Wires, replicas: Behind) -> float:
    """Seconds that messages between stages wait for cards on the critical path. Where gradients are summed once, that
    is in the last backward passes; else at each sender, and, between the first passes and the last, in 1F1B, at the
    receiver, which has just begun its last bucket."""
    p, m, v = step.mesh.pipeline, step.micro_batches, step.chunks
    if not step.hides_replicas or p == 1:
        return 0.0
    ways = [[longest(held, way(s).classes) for s in range(p)]
            for held, way in zip(replicas.waits, (wires.forward, wires.backward), strict=True)]  # fmt: skip
    if step.zero < 2:
        return sum(max(0.0, wait) for wait in ways[1][1:])
    critical = hops(p, m, v, step.overlap.messages)
    between = critical - 2 * (p - 1) if v == 1 else 0
    coming = [longest(replicas.last, wires.forward(s).classes) - wires.backward(s + 1).seconds(step.hop_bytes)
              for s in range(p - 1)]  # fmt: skip
    late = sum(max(0.0, wait) for way in ways for wait in way) / p
    return critical / 2 * late + between / 2 * sum(max(0.0, wait) for wait in coming) / (p - 1)


def _hidden(step: Step, wires: Wires, found: Estimate, replicas: Behind, there: float) -> dict[str, float]:
    """The seconds that messages take beside those that they add to a step, by axis."""
    p, m, v = step.mesh.pipeline, step.micro_batches, step.chunks
    alone = wires.collective("all_reduce", "tensor").seconds(step.tensor_bytes / step.overlap.tensor)
    layers = max(sum(step.layers_of[stage::p]) for stage in range(p))
    tensor = 4 * m * layers * step.overlap.tensor * alone - found.tensor if step.overlap.tensor > 1 else 0.0
    fewer = hops(p, m) - hops(p, m, eager=True) if step.overlap.messages and v == 1 else 0
    data = replicas.all - found.data if step.hides_replicas else 0.0
    spared = {"tensor": tensor, "pipeline": fewer * there / (2 * p), "data": data}
    return {axis: max(0.0, seconds) for axis, seconds in spared.items()}


def _of_replicas(step: Step, wires: Wires, talking: Sequence[float]) -> Behind:
    """The time of the replicas' collectives: around each chunk's forward and backward pass, and at the end. talking:
    seconds of all other communication in a layer, forward and backward."""
    routed = step.expert_gradient_bytes > 0 and step.mesh.copies > 1
    experts = _in_the_open(step, wires, ("copies",), experts=True) if routed else (0.0, 0.0)
    if step.hides_replicas:
        computing = (step.forward, step.backward)
        found = behind(step, wires, list(zip(computing, talking, strict=True)))
        return replace(found, after=found.after + experts[1], all=found.all + experts[1])
    shared = _in_the_open(step, wires, REPLICAS) if step.mesh.replicas > 1 else (0.0, 0.0)
    within, after = (one + other for one, other in zip(shared, experts, strict=True))
    return Behind(within, within, after, step.micro_batches * step.chunks * within + after)


def _in_the_open(step: Step, wires: Wires, axes: Sequence[str], experts: bool = False) -> tuple[float, float]:
    """The same where everybody waits for each: seconds around each chunk's passes, and at the end. axes: of the ranks
    that share what is added up. experts: see `sent`."""
    within = after = 0.0
    for one, nbytes in sent(step, experts):
        seconds = wires.collective(one.kind, *axes).seconds
        if one.when == "end":
            after += seconds(step.chunks * nbytes)
        else:
            within += seconds(nbytes)
    return within, after


def traffic(step: Step, topology: Topology, wires: Wires | None = None) -> Bytes:
    """The bytes of one step of all ranks, by axis ("tensor", "context", "pipeline", "data", and "experts" where there
    are some) and class of link ("inside" nodes, "between" them). "data": of all that hold the same parameters."""
    wires = wires or Wires(step.mesh, topology)
    p, m, v = step.mesh.pipeline, step.micro_batches, step.chunks
    found: dict[str, Counter] = {axis: Counter() for axis in axes_of(step)}

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
        for one, nbytes in sent(step):
            add("data", wires.collective(one.kind, *REPLICAS).shares[stage], times(step, one) * nbytes)
        for one, nbytes in sent(step, experts=True):
            if nbytes:
                add("data", wires.collective(one.kind, "copies").shares[stage], times(step, one) * nbytes)
        if step.expert_bytes:
            add("experts", wires.collective("all_to_all", "experts").shares[stage], 4 * layers * step.expert_bytes)
    return {axis: dict(counts) for axis, counts in found.items()}


def axes_of(step: Step) -> tuple[str, ...]:
    """The axes along which a step sends something, or might."""
    return ("tensor", "context", "pipeline", "data", *(["experts"] if step.expert_bytes else []))
