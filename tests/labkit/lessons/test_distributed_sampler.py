"""The machinery of unit 04: PyTorch's sampler beside another function, and a model of mean images."""

import numpy as np
from torch.utils.data import DistributedSampler

from labkit.lessons import distributed_sampler


def stock(n, rank, world_size, shuffle, seed, epoch, drop_last):
    sampler = DistributedSampler(range(n), world_size, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
    sampler.set_epoch(epoch)
    return np.array(list(sampler))


def test_equal_settings_are_counted():
    assert distributed_sampler.equal_settings(stock, 30) == 30
    assert distributed_sampler.equal_settings(lambda *settings: [-1], 30) == 0


def test_an_image_is_the_digit_whose_mean_is_nearest():
    labels = np.repeat(np.arange(10), 2)
    images = np.zeros((20, 4, 4), dtype=np.uint8)
    images[:, 0, 0] = 10 * labels + np.tile([0, 2], 10)  # the mean of a digit is 10 times the digit, plus 1
    others = np.zeros((3, 4, 4), dtype=np.uint8)
    others[:, 0, 0] = [3, 58, 200]
    assert distributed_sampler.nearest_mean(images, labels, others).tolist() == [0, 6, 9]
