"""Unit 10: a step with DataParallel and one with DDP on virtual time, a published table, and evaluations on ranks.

run = simulation.run(devices.like_ddp, 4, **devices.LINK)      a step on the relay, to be drawn
devices.print_speedups()                                       the published table, line by line
correct, loss_sum, count = devices.counted(logits, labels, [3, 2])     on each of two ranks: its shard alone
"""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

from labkit.simulation import compute

FORWARD, BACKWARD, REST = 0.4e-3, 0.8e-3, 0.1e-3  # virtual seconds
SIZE, ROWS = 100_000, 256  # numbers of the model, rows of the batch
LINK = {"alpha": 5e-6, "beta": 5e-10}  # seconds per message and per byte

# High-Flyer AI, "PyTorch Distributed Training Method": GPUs, seconds for an epoch of ResNet-50 on ImageNet
PUBLISHED = {
    "one GPU": (1, 1786),
    "DataParallel": (8, 984),
    "DDP": (8, 239),
    "apex": (8, 230),
    "apex, 4 nodes": (32, 52),
}
STEPS_BETWEEN = (  # from, to, what changes
    ("one GPU", "DataParallel", "devices"),
    ("one GPU", "DDP", "devices"),
    ("DataParallel", "DDP", "the method"),
    ("DDP", "apex", "precision"),
    ("apex", "apex, 4 nodes", "devices"),
    ("one GPU", "apex, 4 nodes", "devices and precision"),
)
UTILISATION = {  # a share of the time: the article's, and that of the chart in the repository
    "one GPU": (None, 0.995),
    "DataParallel": (0.365, 0.598),
    "DDP": (0.958, 0.995),
    "apex": (0.958, 0.888),
    "apex, 4 nodes": (None, 0.792),
}


def like_data_parallel() -> None:
    """Make a step as nn.DataParallel does, on any number of ranks that stand for devices; FORWARD, BACKWARD and REST
    are its computing, in virtual seconds. Weights and batch begin on rank 0."""
    rank, p = dist.get_rank(), dist.get_world_size()
    weights, shard = torch.zeros(SIZE), torch.zeros(ROWS // p, 64)
    out = torch.zeros(ROWS // p, 10)
    dist.broadcast(weights, 0)  # replicate
    dist.scatter(shard, [shard] * p if rank == 0 else None, 0)
    compute(FORWARD, "F")
    dist.gather(out, [torch.empty_like(out) for _ in range(p)] if rank == 0 else None)
    if rank == 0:
        compute(REST, "L")  # the loss, on device 0
    dist.scatter(out, [out] * p if rank == 0 else None, 0)
    compute(BACKWARD, "B")
    dist.reduce(weights, 0)
    if rank == 0:
        compute(REST, "S")  # the optimizer's step, on device 0


def like_ddp() -> None:
    """Make the same step as DDP does: every rank has weights and rows of its own, and the gradients are all-reduced in
    four buckets, each while the next one is computed."""
    gradient, p, pending = torch.zeros(SIZE), dist.get_world_size(), []
    compute(FORWARD, "F")
    compute(REST / p, "L")
    for k, bucket in enumerate(gradient.chunk(4)):
        compute(BACKWARD / 4, f"B{3 - k}")
        pending.append(dist.all_reduce(bucket, async_op=True))
    for one in pending:
        one.wait()
    compute(REST, "S")


def print_speedups() -> None:
    """Print, for pairs of lines of the published table, how much faster the second is, how many times the GPUs it has,
    and its efficiency: the speedup divided by that factor."""
    print(f"{'from':<13} {'to':<14} {'changes':<22} speedup  GPUs  efficiency")
    for before, after, changes in STEPS_BETWEEN:
        (p, slow), (q, fast) = PUBLISHED[before], PUBLISHED[after]
        efficiency = slow / fast / (q / p)
        print(f"{before:<13} {after:<14} {changes:<22} {slow / fast:6.2f}x  x{q // p:<3} {efficiency:9.0%}")


def print_utilisation() -> None:
    """Print how many times as fast as one GPU each run was, and how many it would have been if utilisation were the
    share of useful work: GPUs times utilisation, divided by that of one GPU; by the article's numbers and the chart's.
    """
    alone = UTILISATION["one GPU"][1]
    print(f"{'':<14} measured   by the article's   by the chart's")
    for name, shares in UTILISATION.items():
        p, seconds = PUBLISHED[name]
        would_be = [f"{p * u / alone:4.1f}x" if u else "   -" for u in shares]
        print(f"{name:<14} {PUBLISHED['one GPU'][1] / seconds:6.1f}x  {would_be[0]:>12} {would_be[1]:>16}")


def published_validate(logits: Tensor, labels: Tensor, batch: int) -> tuple[float, float, int]:
    """The accuracy, the loss and the total, as the published validation returns them on this rank.

    logits: float tensor (n, classes); labels: int64 tensor (n,), of all samples, the same on every rank. batch: rows of
    a minibatch. A DistributedSampler deals the samples out.
    """
    rank, p, n = dist.get_rank(), dist.get_world_size(), len(labels)
    mine = list(DistributedSampler(range(n), p, rank, shuffle=False))
    loss, correct, total = torch.zeros(3)
    batches = [mine[k : k + batch] for k in range(0, len(mine), batch)]
    for rows in batches:
        loss += F.cross_entropy(logits[rows], labels[rows])
        correct += (logits[rows].argmax(1) == labels[rows]).sum()
        total += len(rows)
    for x in (loss, correct, total):
        dist.reduce(x, 0)
    loss_value = loss.item() / p / len(batches)
    return correct.item() / total.item(), loss_value, int(total)


def shard(sizes: list[int]) -> slice:
    """The rows of this rank where rank r has sizes[r] of them, one rank's behind the other's."""
    rank = dist.get_rank()
    return slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))


def counted(logits: Tensor, labels: Tensor, sizes: list[int], digits: int | None = None) -> tuple[int, float, int]:
    """The right answers, the sum of the losses and the number of samples in this rank's shard of sizes[rank] rows.

    logits: float tensor (n, classes); labels: int64 tensor (n,), of all samples. digits: each loss is rounded to a
    multiple of 2**-digits, so that sums are exact; None: as they come.
    """
    mine = shard(sizes)
    losses = F.cross_entropy(logits[mine].double(), labels[mine], reduction="none")
    if digits is not None:
        losses = torch.round(losses * 2**digits) / 2**digits
    correct = (logits[mine].argmax(1) == labels[mine]).sum().item()
    return correct, losses.sum().item(), sizes[dist.get_rank()]


def mean_of_own_f1(predicted: Tensor, labels: Tensor, classes: int) -> float:
    """The mean over the ranks of each rank's own macro F1, the wrong way. predicted, labels: this rank's, int64."""
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2)
    matrix = counts.view(classes, classes)
    both = matrix.sum(0) + matrix.sum(1)
    own = (2 * matrix.diag() / both.clamp(min=1)).double().mean()
    dist.all_reduce(own)
    return own.item() / dist.get_world_size()


def small_replica() -> nn.Linear:
    """A layer of 6 inputs and 3 outputs, with the same weights on every call."""
    torch.manual_seed(0)
    return nn.Linear(6, 3)


def gradients_with_ddp(rows: Tensor, targets: Tensor) -> list[Tensor]:
    """The gradients of `small_replica` on this rank after a backward pass under DistributedDataParallel.

    rows: float tensor (n, 6), targets: (n, 3), of all ranks: this rank takes its part of them. Loss: the mean square.
    """
    model, rank, p = small_replica(), dist.get_rank(), dist.get_world_size()
    ddp = DistributedDataParallel(model)
    F.mse_loss(ddp(rows.chunk(p)[rank]), targets.chunk(p)[rank]).backward()
    return [w.grad for w in model.parameters()]
