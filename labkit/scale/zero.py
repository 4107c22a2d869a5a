"""The collectives of each stage of ZeRO, in one table: what replicas send of a chunk's parameters, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from labkit.scale.step import Step


class Sent(NamedTuple):
    """One collective among replicas. kind: "all_reduce" ... of: "gradients" or "shard" of a chunk. when: "end" of the
    step, once for each chunk, or with every "forward" or "backward" pass of one."""

    kind: str
    of: str
    when: str


SENT = {
    0: (Sent("all_reduce", "gradients", "end"),),
    1: (Sent("reduce_scatter", "gradients", "end"), Sent("all_gather", "shard", "end")),
    2: (Sent("reduce_scatter", "gradients", "backward"), Sent("all_gather", "shard", "end")),
    3: (
        Sent("all_gather", "shard", "forward"),
        Sent("all_gather", "shard", "backward"),
        Sent("reduce_scatter", "gradients", "backward"),
    ),
}


def sent(step: Step, experts: bool = False) -> Iterator[tuple[Sent, int]]:
    """The collectives of a step's stage, each with its bytes for one chunk. experts: those of the routed experts'
    copies in place of the replicas'."""
    gradients = step.expert_gradient_bytes if experts else step.gradient_bytes
    shard = step.expert_shard_bytes if experts else step.shard_bytes
    for one in SENT[step.zero]:
        yield one, gradients if one.of == "gradients" else shard


def times(step: Step, one: Sent) -> int:
    """The number of chunks whose bytes a collective of the table carries in a step: in all passes, or each once."""
    return step.chunks if one.when == "end" else step.micro_batches * step.chunks
