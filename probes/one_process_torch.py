"""The computation of one process for the homework's PyTorch models, to compare a port with: losses, gradients, whole
runs. In the jail. `probes.one_process` is the same for TensorFlow's."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import cross_entropy


def replay(shapes: list, steps: list, run: dict | None = None) -> dict:
    """The results of one process; arguments, result and errors are those of `probes.one_process.replay`, the models
    those of `labkit.models`."""
    torch.set_num_threads(1)
    model = _model_of([tuple(shape) for shape in shapes])
    losses, correct, gradients = [], [], []
    for weights, x, y in steps:
        loss, right, gradient = _gradient_at(model, weights, x, y)
        losses.append(loss)
        correct.append(right)
        gradients.append(gradient)
    found = {"losses": losses, "correct": correct, "gradients": gradients}
    optimizer = _optimizer_of(model, run)
    if optimizer is not None:
        found["weights"] = _weights_after(model, optimizer, run)
    return found


def _gradient_at(model, weights, x, y) -> tuple[float, int, np.ndarray]:
    """(mean loss, how many are recognised, the gradient as one vector)."""
    _set(model, weights)
    labels = torch.from_numpy(np.asarray(y, dtype=np.int64))
    logits = model(torch.from_numpy(np.array(x, dtype=np.float32).reshape(-1, 1, 28, 28)))
    loss = cross_entropy(logits, labels)
    model.zero_grad()
    loss.backward()
    gradient = np.concatenate([np.ravel(parameter.grad.numpy()) for parameter in model.parameters()])
    return loss.item(), int((logits.argmax(dim=1) == labels).sum()), gradient


def _weights_after(model, optimizer, run: dict) -> np.ndarray:
    """The weights after a run, as one vector; run: as in `probes.one_process.replay`."""
    weights = np.asarray(run["weights"])
    for k, (rate, batches) in enumerate(zip(run["rates"], run["batches"], strict=True)):
        starts = run["first"] if k == 0 else [weights] * len(batches)
        parts = [_gradient_at(model, start, x, y)[2] for start, (x, y) in zip(starts, batches, strict=True)]
        _set(model, weights)
        _set(model, np.mean(parts, axis=0), gradients=True)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        weights = np.concatenate([np.ravel(parameter.detach().numpy()) for parameter in model.parameters()])
    return weights


def _optimizer_of(model, run: dict | None):
    """The optimizer of a run, or None where there is none that PyTorch can make from this description."""
    if run is None:
        return None
    try:
        return getattr(torch.optim, run["optimizer"])(model.parameters(), **{**run["config"], "lr": 0.0})
    except (AttributeError, TypeError, ValueError):
        return None


def _set(model, vector, gradients: bool = False) -> None:
    where = 0
    with torch.no_grad():
        for parameter in model.parameters():
            part = torch.from_numpy(np.array(vector[where : where + parameter.numel()], dtype=np.float32))
            target = parameter.grad if gradients else parameter
            target.copy_(part.view_as(parameter))
            where += parameter.numel()


def _model_of(shapes: list[tuple]):
    """The course's model with parameters of these shapes. Raises ValueError."""
    from labkit import models

    if all(len(shape) <= 2 for shape in shapes) and len(shapes) >= 2 and shapes[-1:] == [(10,)]:
        hidden = [shape[0] for shape in shapes[:-2:2]]
        if any(width > 4096 for width in hidden):
            raise ValueError("a model of enormous size")
        model = models.mlp(hidden=hidden)
    else:
        model = models.cnn()
    if [tuple(parameter.shape) for parameter in model.parameters()] != shapes:
        raise ValueError("not a model of the course")
    return model
