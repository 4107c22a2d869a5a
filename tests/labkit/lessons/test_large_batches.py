"""The machinery of unit 11: a learner that ends when it is told, ResNet-50's numbers, programs on ranks."""

import numpy as np
import pytest
import torch
from torch import nn

from labkit import simulation, training
from labkit.lessons import large_batches

pytestmark = pytest.mark.usefixtures("warm")


def test_the_learner_ends_after_steps_epochs_or_at_its_target():
    x, y = training.load_tensors("digits", n=128)
    learn, rates = large_batches.Learner(x, y, x, y), []

    def rate(step):
        rates.append(step)
        return 0.1

    assert learn(32, rate, steps=3)[2] == 3 and rates == [0, 1, 2]
    assert learn(32, 0.1, epochs=2)[2] == 8
    _, accuracy, steps = learn(32, 0.3, target=0.3, steps=400)
    assert accuracy >= 0.3 and steps < 400
    still, _, _ = learn(32, 0.1, steps=2, change=lambda model: [w.grad.zero_() for w in model.parameters()])
    assert training.max_difference(still, learn(32, 0.1, steps=0)[0]) == 0


def test_resnet50_has_53_norms_and_its_published_parameters():
    channels, parameters = large_batches.resnet50()
    assert len(channels) == 53 and parameters == 25_557_032


def test_a_bend_goes_through_measurements_that_follow_it():
    batches = np.array([8, 32, 128])
    wide, steps = large_batches.bend(batches, 100 * (1 + 50 / batches), 50)
    assert np.allclose(steps, 100 * (1 + 50 / wide))


def norm_over_all():
    from torch.distributed.nn.functional import all_reduce

    def norm(rows, weight, bias, n, eps):
        mean, square = (all_reduce(torch.cat([rows.sum(0), (rows**2).sum(0)])) / n).chunk(2)
        return (rows - mean) * (square - mean**2 + eps).rsqrt() * weight + bias

    return large_batches.pass_through(norm)


def test_a_norm_over_all_ranks_is_that_of_one_process():
    off = large_batches.differences(simulation.run(norm_over_all, 4).ranks)
    assert set(off) == {"outputs", "gradients of x", "of the weight"} and max(off.values()) < 1e-9


def test_rows_depend_on_each_other_in_a_batch_norm_only():
    assert large_batches.rows_depend_on_each_other(nn.BatchNorm1d(4))
    assert not large_batches.rows_depend_on_each_other(nn.Linear(4, 2))


def test_pieces_are_joined_before_they_are_compared():
    assert large_batches.furthest([[1, 2], [3]], [[[1], []], [[2.5], [3]]]) == 0.5


def nobody_validates():
    return large_batches.timed_training(large_batches.nobody)


def test_a_training_of_four_steps_takes_their_time():
    run = simulation.run(nobody_validates, 2)
    assert all(abs(rank.busy - 4e-3) < 1e-9 for rank in run.ranks)
    assert torch.is_tensor(large_batches.waves())
