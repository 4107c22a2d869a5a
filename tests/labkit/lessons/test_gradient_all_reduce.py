"""The machinery of unit 05: shares that are unequal and complete, sums in many orders, models from a common start."""

import numpy as np
import torch

from labkit import models, training
from labkit.lessons import gradient_all_reduce as given


def test_a_model_begins_with_the_weights_it_is_given():
    start = models.mlp()
    ours = given.mlp_from(start.state_dict())
    assert training.max_difference(ours, start) == 0
    given.descend(given.with_ones(ours), 0.5)
    assert abs(training.max_difference(ours, start) - 0.5) < 1e-6
    assert given.largest_gradient_gap(ours, given.with_ones(models.mlp())) == 0


def test_shares_are_unequal_and_hold_everything_once():
    batch = torch.arange(64)
    shares = [given.halves(batch, rank, 4) for rank in range(4)]
    assert [len(share) for share in shares] == [32, 16, 8, 8] and torch.equal(torch.cat(shares), batch)
    labels = torch.arange(1000) % 10
    blocks = given.blocks_by_class(labels, 4)
    assert [len(block) for block in blocks] == [700, 200, 90, 10]
    assert torch.equal(labels[torch.cat(blocks)], labels.sort().values)
    assert [len(block) for block in given.blocks_by_class(labels, 2)] == [500, 500]


def test_sums_in_many_orders_are_counted():
    errors, counts = given.sums_in_orders(np.array([0.1, 0.2, 0.3], dtype=np.float32), orders=50)
    assert counts.sum() == 50 and len(errors) == len(counts) and abs(errors).max() < 10


def test_the_gradient_of_the_mean_is_the_mean_of_the_images_gradients():
    x, y = training.load_tensors("digits", n=8)
    model = models.mlp()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    whole = model[-1].bias.grad.clone()
    found = given.bias_gradients(model, x, y)
    assert found.dtype == np.float32
    assert abs(found.mean() - float(whole[whole.abs().argmax()])) < 1e-6
