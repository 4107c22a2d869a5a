"""The sequential loop that every parallel one is held against, held against formulas itself."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from labkit import training


def softmax_regression(features: int = 4, classes: int = 3) -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(features, classes).double()


@pytest.fixture
def samples() -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(1)
    return torch.from_numpy(rng.normal(size=(10, 4))), torch.from_numpy(rng.integers(0, 3, 10))


def numpy_steps(
    model: nn.Linear, x, y, batches, lr: float, momentum: float
) -> tuple[list[float], np.ndarray, np.ndarray]:
    """SGD of softmax regression by its formulas: dL/dz = (softmax(z) - onehot(y)) / n; v = m v + g; w = w - lr v."""
    w, b, x, y = (t.detach().numpy().copy() for t in (model.weight, model.bias, x, y))
    vw, vb, losses = np.zeros_like(w), np.zeros_like(b), []
    for batch in batches:
        z = x[batch] @ w.T + b
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        rows = np.arange(len(p))
        losses.append(-np.log(p[rows, y[batch]]).mean())
        p[rows, y[batch]] -= 1
        vw, vb = momentum * vw + p.T @ x[batch] / len(p), momentum * vb + p.mean(axis=0)
        w, b = w - lr * vw, b - lr * vb
    return losses, w, b


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_train_is_sgd_as_in_the_book(samples, momentum):
    model = softmax_regression()
    batches = [batch.numpy() for epoch in range(3) for batch in training.minibatches(10, 4, seed=5, epoch=epoch)]
    losses, w, b = numpy_steps(model, *samples, batches, 0.3, momentum)
    found = training.train(model, *samples, [torch.from_numpy(batch) for batch in batches], lr=0.3, momentum=momentum)
    assert found == pytest.approx(losses, rel=1e-12)
    np.testing.assert_allclose(model.weight.detach().numpy(), w, rtol=1e-12)
    np.testing.assert_allclose(model.bias.detach().numpy(), b, rtol=1e-12)


def test_train_leaves_frozen_parameters_alone_and_refuses_an_empty_minibatch(samples):
    model = softmax_regression()
    model.bias.requires_grad_(False)
    before = model.bias.clone()
    training.train(model, *samples, [[0, 1], [2]], lr=1.0)
    assert torch.equal(model.bias, before)
    with pytest.raises(ValueError, match="Minibatch 1 is empty"):
        training.train(model, *samples, [[0, 1], []], lr=1.0)


def test_minibatches_hold_every_index_once():
    for n, size in ((10, 4), (8, 4), (3, 4), (1, 1)):
        for seed in (None, 0):
            batches = training.minibatches(n, size, seed=seed)
            assert sorted(torch.cat(batches).tolist()) == list(range(n))
            assert [len(batch) for batch in batches] == [size] * (n // size) + [n % size] * (n % size > 0)
            assert [len(batch) for batch in training.minibatches(n, size, seed=seed, drop_last=True)] == [size] * (
                n // size
            )
    assert training.minibatches(0, 4) == []
    assert torch.cat(training.minibatches(7, 3)).tolist() == list(range(7))
    with pytest.raises(ValueError, match="batch_size = 0"):
        training.minibatches(4, 0)


def test_the_order_of_an_epoch_belongs_to_its_seed():
    def order(**options):
        return torch.cat(training.minibatches(50, 8, **options)).tolist()

    torch.manual_seed(1)
    first = order(seed=3, epoch=1)
    torch.manual_seed(2)
    assert order(seed=3, epoch=1) == first
    assert order(seed=3, epoch=2) != first


def test_evaluate_weights_every_sample_alike_and_restores_the_mode(samples):
    x, y = samples
    model = nn.Sequential(softmax_regression(), nn.Dropout(0.5))
    model.train()
    outputs = model[0](x)
    loss, accuracy = training.evaluate(model, x, y, batch_size=4)
    assert loss == pytest.approx(nn.functional.cross_entropy(outputs, y).item(), rel=1e-12)
    assert accuracy == (outputs.argmax(dim=1) == y).double().mean().item()
    assert model.training and torch.is_grad_enabled()
    with pytest.raises(ValueError, match="no sample"):
        training.evaluate(model, x[:0], y[:0])


def test_flat_copies_and_max_difference_compares():
    model = softmax_regression()
    other = copy.deepcopy(model)
    values = training.flat(model.parameters())
    assert torch.equal(values, torch.cat([model.weight.flatten(), model.bias])) and not values.requires_grad
    values += 1
    assert training.max_difference(model, other) == 0.0
    with torch.no_grad():
        other.weight[1, 2] -= 0.25
    assert training.max_difference(model, other) == 0.25
    assert training.flat([]).shape == (0,)
    with pytest.raises(ValueError, match="shapes"):
        training.max_difference(model, nn.Linear(4, 2))


def test_load_tensors_scales_ink_to_one(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_DATA", str(tmp_path))
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
    images[0, 0, :2] = 0, 255
    labels = np.arange(5, dtype=np.uint8)
    np.savez(tmp_path / "fashion_mnist.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    x, y = training.load_tensors("fashion_mnist", train=True, n=4)
    assert x.shape == (4, 1, 28, 28) and x.dtype == torch.float32 and y.dtype == torch.int64
    assert x[0, 0, 0, :2].tolist() == [0.0, 1.0] and y.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(np.rint(x[:, 0].numpy() * 255).astype(np.uint8), images[:4])
