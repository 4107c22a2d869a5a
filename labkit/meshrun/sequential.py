"""The same training in one process: what every mesh must equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from labkit.meshrun.settings import Settings


def adam(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, rate: float) -> None:
    """Step number t, counted from 1, with gradient g. Changes weights and moments (unit 15)."""
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


@dataclass
class Sequential:
    """A run so far. steps: (loss, norm of the gradient before it was clipped) of each. weights, m, v: by name."""

    steps: list[tuple[float, float]]
    weights: dict[str, Tensor]
    m: dict[str, Tensor]
    v: dict[str, Tensor]


@torch.no_grad()
def _update(parameters: dict[str, Tensor], run: Sequential, settings: Settings) -> float:
    norm = torch.stack([p.grad.square().sum() for p in parameters.values()]).sum().sqrt().item()
    scale = min(1.0, settings.clip / norm) if norm > 0 else 1.0
    for name, parameter in parameters.items():
        gradient = parameter.grad * scale
        adam(parameter, gradient, run.m[name], run.v[name], len(run.steps) + 1, settings.rate)
        parameter.grad = None
    return norm


def sequential(settings: Settings, steps: int, look: Callable[[Tensor], None] | None = None) -> Sequential:
    """So many steps from the first weights, each on its whole minibatch at once.

    look: is called with what leaves the embedding, and then with what leaves each block, in every step.
    """
    model = settings.model()
    for module in list(model)[:-2] if look else ():
        module.register_forward_hook(lambda module, inputs, out: look(out))
    parameters = dict(model.named_parameters())
    zeros = ({name: torch.zeros_like(p) for name, p in parameters.items()} for _ in range(2))
    run = Sequential([], {}, *zeros)
    for step in range(steps):
        x, y = settings.minibatch(step)
        loss = cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        norm = _update(parameters, run, settings)
        run.steps.append((loss.item(), norm))
    run.weights = {name: p.detach().clone() for name, p in parameters.items()}
    return run
