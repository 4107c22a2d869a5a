"""The layers that a rank computes one after the other, and which of its replicas' bytes go when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labkit.scale.step import Step
from labkit.scale.zero import sent


@dataclass(frozen=True)
class Use:
    """One layer of one pass of a rank. forward: the kind of the pass. computes: False for a chunk without layers.
    gather: bytes that a replica contributes to the weights that are needed first; reduce: bytes of the gradients that
    are complete afterwards; 0: nothing. buckets: in which those are. last: of its pass."""

    forward: bool
    computes: bool
    gather: int
    reduce: int
    buckets: int
    last: bool


def pieces(nbytes: int, parts: int, unit: int = 1) -> list[int]:
    """So many bytes in so many parts, as even as can be; all but the last are multiples of `unit`."""
    ends = [nbytes // unit * k // parts * unit for k in range(parts)] + [nbytes]
    return [end - start for start, end in zip(ends, ends[1:], strict=False)]


def uses_of_pass(step: Step, layers: int, forward: bool, gathers: bool, reduces: bool) -> list[Use]:
    """A pass of a chunk of so many layers, layer by layer. gathers: its weights are gathered first; reduces: the
    replicas add up its gradients."""
    length, replicas = max(layers, 1), step.mesh.replicas
    gathered, reduced = [0] * length, [0] * length
    if gathers:
        shards = pieces(step.shard_bytes, length) if step.overlap.gathers else [step.shard_bytes]
        gathered[: len(shards)] = shards
    if reduces:
        each = step.layers_in_a_bucket(length)
        whole = pieces(step.gradient_bytes, length, replicas)
        for first in range(0, length, each):
            bucket = whole[first : first + each]
            reduced[first + len(bucket) - 1] = sum(bucket)
    return [
        Use(forward, layers > 0, gather, reduce, step.buckets_of(reduce), place == length - 1)
        for place, (gather, reduce) in enumerate(zip(gathered, reduced, strict=True))
    ]


def uses(step: Step, stage: int, order: Sequence[tuple]) -> Iterator[list[Use]]:
    """The passes of a rank of this stage, in its order. Where its weights are whole it gathers the new ones for its
    first forward pass of a chunk; where its gradients are, it adds them up in its last backward pass."""
    told = [(*action, 0)[:3] for action in order]
    first = {j: k for what, k, j in reversed(told) if what == "F"}
    last = {j: k for what, k, j in told if what == "B"}
    for what, k, j in told:
        layers, forward = step.layers_of[stage + j * step.mesh.pipeline], what == "F"
        early = step.zero in (1, 2) and step.overlap.gathers > 0 and forward and k == first[j]
        late = step.zero >= 2 or (step.overlap.gradients is not None and k == last[j])
        yield uses_of_pass(step, layers, forward, step.zero == 3 or early, late and not forward)


def at_the_end_of_experts(step: Step) -> list[tuple[str, int]]:
    """The collectives of those who hold the same routed experts when all passes are done, as (kind, bytes)."""
    if not step.expert_gradient_bytes or step.mesh.copies == 1:
        return []
    return [(one.kind, step.chunks * nbytes) for one, nbytes in sent(step, experts=True) if one.when == "end"]


def at_the_end(step: Step) -> list[tuple[str, int]]:
    """The collectives of the replicas for which everybody waits when all passes are done, as (kind, bytes)."""
    hidden = {"gradients": step.overlap.gradients is not None, "shard": step.overlap.gathers > 0}
    return [(one.kind, step.chunks * nbytes) for one, nbytes in sent(step) if one.when == "end" and not hidden[one.of]]
