"""The sequential training loop of the course: what every parallel run is held against.

    x, y = load_tensors("digits", n=2048)
    losses = train(model, x, y, minibatches(len(x), 64, seed=0), lr=0.1)
    loss, accuracy = evaluate(model, *load_tensors("digits", train=False))

No rank, no communication: one process, the minibatches one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import nn
from torch.nn import functional

from labkit import data


def load_tensors(
    name: str = "digits", train: bool = True, n: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels of a data set as tensors.

    name, train, n: as in `labkit.data.load`. Returns x, float32, shape (n, 1, 28, 28), 0 is paper
    and 1 ink; and y, int64, shape (n,). Raises labkit.data.DataError when the data set cannot be
    had.
    """
    images, labels = data.load(name, train, n)
    return torch.from_numpy(images).to(torch.float32).div(255).unsqueeze(1), torch.from_numpy(
        labels
    )


def minibatches(
    n: int, batch_size: int, *, seed: int | None = None, epoch: int = 0, drop_last: bool = False
) -> list[torch.Tensor]:
    """The minibatches of one epoch over n samples: each a tensor of indices, int64, together every
    index once.

    batch_size: samples per minibatch; the last one holds what remains, or is left out with
    drop_last. seed: None for the order 0 to n - 1; otherwise the order is the random permutation
    that belongs to seed + epoch, the same on every rank and machine.
    """
    if n < 0 or batch_size < 1:
        raise ValueError(
            f"n = {n}, batch_size = {batch_size}: there cannot be fewer than 0 samples or 1 per "
            "minibatch."
        )
    if n == 0:
        return []
    if seed is None:
        order = torch.arange(n)
    else:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))
    batches = list(order.split(batch_size))
    if drop_last and len(batches[-1]) < batch_size:
        batches.pop()
    return batches


def train(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    batches: Iterable[Sequence[int] | torch.Tensor],
    *,
    lr: float,
    momentum: float = 0.0,
) -> list[float]:
    """Train `model` in place, one step of SGD per minibatch. Returns the mean cross-entropy of each
    minibatch before its step.

    x: inputs, shape (n, ...). y: labels, int64, shape (n,). batches: indices into x and y, one
    entry per step (for several epochs, concatenate the lists of `minibatches`). lr, momentum: as in
    torch.optim.SGD. Raises ValueError for an empty minibatch: the mean over no sample is not a
    number.
    """
    optimizer = torch.optim.SGD(
        [p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum
    )
    losses = []
    model.train()
    for step, batch in enumerate(batches):
        if len(batch) == 0:
            raise ValueError(f"Minibatch {step} is empty: there is no mean over no sample.")
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def evaluate(
    model: nn.Module, x: torch.Tensor, y: torch.Tensor, batch_size: int = 1000
) -> tuple[float, float]:
    """The mean cross-entropy and the accuracy (a fraction, 0 to 1) of `model` over all of x.

    x: inputs, shape (n, ...), n at least 1. y: labels, shape (n,). batch_size: samples at once, a
    matter of memory only. Dropout and batch normalisation are in evaluation mode meanwhile; the
    mode is restored. Raises ValueError when there is no sample.
    """
    if len(x) == 0:
        raise ValueError("There is no sample to evaluate.")
    was_training = model.training
    model.eval()
    loss_sum, correct = 0.0, 0
    for inputs, labels in zip(x.split(batch_size), y.split(batch_size), strict=True):
        outputs = model(inputs)
        loss_sum += functional.cross_entropy(outputs, labels, reduction="sum").item()
        correct += int((outputs.argmax(dim=1) == labels).sum())
    model.train(was_training)
    return loss_sum / len(x), correct / len(x)


def flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """A copy of all values, one tensor after the other, as one vector: shape (total number of
    values,).
    """
    tensors = [tensor.detach().reshape(-1) for tensor in tensors]
    return torch.cat(tensors) if tensors else torch.empty(0)


def max_difference(a: nn.Module, b: nn.Module) -> float:
    """The largest absolute difference between a parameter of `a` and the same parameter of `b`,
    models of the same structure.

    Raises ValueError when their parameters differ in number or shape.
    """
    ours, theirs = list(a.parameters()), list(b.parameters())
    if [p.shape for p in ours] != [p.shape for p in theirs]:
        raise ValueError("The models differ in the number or the shapes of their parameters.")
    return max(
        (
            float((p - q).detach().abs().max())
            for p, q in zip(ours, theirs, strict=True)
            if p.numel()
        ),
        default=0.0,
    )
