"""Communication that may go on while a rank computes: the options of a step.

A card carries one message at a time. Kernels are assumed to compute as fast beside communication as without it, so
times are lower bounds (NCCL's kernels take a few of the GPU's processors).
"""

from __future__ import annotations

from dataclasses import dataclass

BUCKET = 160_000_000  # bytes: 40 million gradients of 4 bytes, Megatron-LM's smallest (PyTorch's DDP: 25 MiB)


@dataclass(frozen=True)
class Overlap:
    """The communication that a step hides. By default only messages between stages that the receiver does not need yet.

    gradients: bytes at which a bucket of gradients is full; the replicas then add it up while the backward pass goes on
    (DDP: Li et al. 2020, arXiv 2006.15704, section 3.2.3). A bucket holds whole layers of one chunk, or a part of one:
    those of one layer are full when it has been computed. None: they are added up in one piece, and everybody waits.
    gathers: under ZeRO 3 the weights of this many layers ahead are being gathered while a layer is computed (FSDP: Zhao
    et al. 2023, arXiv 2304.11277, section 3.3). Under ZeRO 1 and 2, which keep weights whole, any number but 0 means:
    the new weights are gathered layer by layer from the step's beginning on, behind its first forward passes, in place
    of at its end (Megatron-LM's --overlap-param-gather). 0: everybody waits.
    tensor: parts into which a layer is cut, so that the tensor group's all-reduces of one part go on while the next is
    computed (Wang et al. 2023, ASPLOS, doi 10.1145/3567955.3567959). The next layer waits for all parts.
    messages: without chunks, stage s of p runs 2 (p - 1 - s) forward passes ahead in place of p - 1 - s, so that only
    the first and last messages between stages are waited for (eager 1F1B: Zhuang et al. 2023, arXiv 2211.05322); it
    keeps the activations of up to twice as many micro-batches. Interleaved 1F1B runs far enough ahead to hide
    them anyway.
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
