"""The machinery of unit 05: models from a common start, unequal shares, a clock for calls, distances between ranks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from labkit import models, training


def mlp_from(start: Mapping[str, Tensor]) -> nn.Sequential:
    """A new MLP of the course (784 -> 128 -> 64 -> 10) with the weights of a `state_dict`."""
    model = models.mlp()
    model.load_state_dict(start)
    return model


def with_ones(model: nn.Module) -> nn.Module:
    """The same model, with made-up gradients: all 1."""
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    return model


def narrow_resnet() -> nn.Module:
    """A ResNet-34 with 8 feature maps in the first stage, and gradients of 1."""
    return with_ones(models.resnet34(classes=10, channels=1, width=8, small_images=True))


@torch.no_grad()
def descend(model: nn.Module, lr: float) -> None:
    """Subtract lr times its gradient from every parameter."""
    for p in model.parameters():
        p.sub_(p.grad, alpha=lr)


def largest_gradient_gap(a: nn.Module, b: nn.Module) -> float:
    """The largest difference between a gradient of one model and the same one of the other."""
    return max(float((p.grad - q.grad).abs().max()) for p, q in zip(a.parameters(), b.parameters(), strict=True))


# --- rounding ---------------------------------------------------------------------------------------------------------


def bias_gradients(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """The gradient of each image's own loss with respect to one bias, float32, (images,): of the last layer's bias
    whose `.grad` is the largest when this is called. It overwrites the gradients.
    """
    which = int(model[-1].bias.grad.abs().argmax())
    found = []
    for image, label in zip(x, y, strict=True):
        model.zero_grad()
        F.cross_entropy(model(image[None]), label[None]).backward()
        found.append(model[-1].bias.grad[which].item())
    return np.array(found, dtype=np.float32)


def sums_in_orders(summands: np.ndarray, orders: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """The different sums that float32 numbers give when they are added one after the other in random orders: their
    errors relative to the exact sum, in units of 1e-7 and increasing, and the number of orders that gave each.
    """
    random = np.random.default_rng(0)
    # accumulate: strictly one after the other
    sums = [np.add.accumulate(random.permutation(summands))[-1] for _ in range(orders)]
    exact = np.sum(summands, dtype=np.float64)
    values, counts = np.unique(np.array(sums), return_counts=True)
    return (values - exact) / abs(exact) * 1e7, counts


# --- unequal shares ---------------------------------------------------------------------------------------------------


def blocks_by_class(labels: Tensor, p: int) -> Sequence[Tensor]:
    """The indices of 1000 samples in the order of their classes, cut into a block for each of p ranks: 700, 200, 90 and
    10 samples for four ranks, equal ones for any other number.
    """
    order = torch.argsort(labels, stable=True)
    return order.split([700, 200, 90, 10] if p == 4 else [len(order) // p] * p)


def halves(batch: Tensor, rank: int, p: int) -> Tensor:
    """A rank's share of a batch: a half, a quarter, an eighth ... and the last rank takes what is left."""
    sizes = [len(batch) >> (r + 1) for r in range(p - 1)]
    return batch.split([*sizes, len(batch) - sum(sizes)])[rank]


def print_metrics(images: int, one_process: Sequence, of_ranks: Sequence, means: Sequence) -> None:
    """Print loss and accuracy of all images, computed in one process, by `global_metrics`, and as a mean of the ranks'
    means; each a pair (loss, accuracy).
    """
    rows = {f"all {images} images, one process:": one_process, "global_metrics:": of_ranks, "mean of means:": means}
    for name, (loss, accuracy) in rows.items():
        print(f"{name:<27} loss {loss:.4f}, accuracy {accuracy:.2%}")


# --- on ranks ---------------------------------------------------------------------------------------------------------


def milliseconds(action: Callable[[], object], repeat: int = 7) -> float:
    """The milliseconds of the fastest of several calls, on the slowest rank; all ranks call it together."""
    times = []
    for _ in range(repeat):
        dist.barrier()
        began = time.perf_counter()
        action()
        times.append(1e3 * (time.perf_counter() - began))
    slowest = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return float(slowest.min())


def distance_to_rank_0(model: nn.Module) -> float:
    """The largest distance |w_r - w_0| of a rank's weights from those of rank 0, the same number on every rank."""
    mine = training.flat(model.parameters())
    reference = mine.clone()
    dist.broadcast(reference, src=0)
    distance = (mine - reference).norm()
    dist.all_reduce(distance, op=dist.ReduceOp.MAX)
    return distance.item()
