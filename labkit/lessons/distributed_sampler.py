"""The machinery of unit 04: a comparison with PyTorch's sampler, and the simplest model that knows digits."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import numpy as np
from torch.utils.data import DistributedSampler


def equal_settings(indices: Callable[..., Iterable[int]], count: int) -> int:
    """The number of settings, out of `count` drawn at random, in which `indices` gives the ids of PyTorch's
    `DistributedSampler`.

    indices: function with the arguments of `stock_indices`, in their order: n, rank, world_size, shuffle, seed, epoch,
    drop_last.
    """
    equal = 0
    for _ in range(count):
        n, p = random.randint(1, 40), random.randint(1, 8)
        rank, seed, epoch = random.randrange(p), random.randint(0, 99), random.randint(0, 99)
        shuffle, drop_last = random.random() < 0.5, random.random() < 0.5
        found = [int(i) for i in indices(n, rank, p, shuffle, seed, epoch, drop_last)]
        sampler = DistributedSampler(range(n), p, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
        sampler.set_epoch(epoch)
        equal += found == list(sampler)
    return equal


def nearest_mean(train_images: np.ndarray, train_labels: np.ndarray, images: np.ndarray) -> np.ndarray:
    """For each image the digit whose mean over the training images is nearest, int64, (n,).

    train_images, images: (n, height, width). train_labels: 0 to 9, each at least once.
    """
    means = np.stack([train_images[train_labels == digit].mean(axis=0) for digit in range(10)])
    distances = ((images[:, None].astype(float) - means) ** 2).sum(axis=(2, 3))
    return distances.argmin(axis=1)
