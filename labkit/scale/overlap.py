"""Communication that may go on while a rank computes: the options of a step, and which bytes go when.

Nothing that is hidden slows down what hides it: kernels compute as fast beside communication as without it, and a card
carries one message at a time. Both are a bound from below (NCCL's kernels take a few of the GPU's processors).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.scale.step import Step

BUCKET = 160_000_000  # bytes: 40 million gradients of 4 bytes, Megatron-LM's smallest (PyTorch's DDP: 25 MiB)


@dataclass(frozen=True)
class Overlap:
    """The communication that a step hides. As it stands nothing but messages that nobody waits for yet.

    gradients: bytes at which a bucket of gradients is full; the replicas then add it up while the backward pass goes on
    (DDP: Li et al. 2020, arXiv 2006.15704, section 3.2.3). A bucket holds whole layers of one chunk, or a part of one:
    those of one layer are full when it has been computed. None: they are added up in one piece, and everybody waits.
    gathers: under ZeRO 3 the weights of so many layers ahead are being gathered while a layer is computed (FSDP: Zhao
    et al. 2023, arXiv 2304.11277, section 3.3.2). Under ZeRO 1 and 2, which keep weights whole, any number but 0 means:
    the new weights are gathered layer by layer from the step's beginning on, behind its first forward passes, in place
    of at its end (Megatron-LM's --overlap-param-gather). 0: everybody waits.
    tensor: parts into which a layer is cut, so that the tensor group's all-reduces of one part go on while the next is
    computed (Wang et al. 2023, ASPLOS, doi 10.1145/3567955.3567959). The next layer waits for all parts.
    messages: without chunks, stage s of p runs 2 (p - 1 - s) forward passes ahead in place of p - 1 - s, so that only
    the first and last messages between stages are waited for (eager 1F1B: Zhuang et al. 2023, arXiv 2211.05322); it
    keeps the activations of up to twice as many micro-batches. Interleaved chunks hide them as they are.
    """

    gradients: int | None = None
    gathers: int = 0
    tensor: int = 1
    messages: bool = False

    def __post_init__(self):
        if self.gradients is not None and self.gradients < 1:
            raise ValueError(f"buckets of {self.gradients} bytes: at least 1")
        if self.gathers < 0 or self.tensor < 1:
            raise ValueError(f"gathers of {self.gathers} layers ahead, {self.tensor} parts: at least 0, and 1")


USUAL = Overlap(gradients=BUCKET, gathers=1)  # what replicas hide with Megatron-LM, or with PyTorch's DDP and FSDP


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


def at_the_end(step: Step) -> list[tuple[str, int]]:
    """The collectives of the replicas for which everybody waits when all passes are done, as (kind, bytes)."""
    found, shards = [], step.chunks * step.shard_bytes
    if step.zero < 2 and step.overlap.gradients is None:
        found.append(("reduce_scatter" if step.zero else "all_reduce", step.chunks * step.gradient_bytes))
    if step.zero in (1, 2) and not step.overlap.gathers:
        found.append(("all_gather", shards))
    return found
