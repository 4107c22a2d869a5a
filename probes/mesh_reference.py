"""The sequential training that a mesh must equal, in a process that no student's code runs in.

All of it goes through `labkit.meshrun.sequential`, which ranks that run a script cannot call (`probes.mesh.WITHHELD`):
to import this module there is of no use.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from labkit.meshrun import Settings, sequential


def expected(asked: list[tuple[dict, int]]) -> list[list[list[float]]]:
    """[[loss, norm, a_0, a_1, ...] of each step] of the sequential training, for each (settings, number of steps).

    a_l: the sum of the squares of what leaves block l, of all rows of the minibatch; a_0 leaves the embedding."""
    found = []
    for settings, steps in asked:
        outputs: list[Tensor] = []
        run = sequential(Settings(**settings), steps, outputs.append)
        squares = [float(out.detach().square().sum()) for out in outputs]
        each = len(squares) // steps
        found.append([[*one, *squares[k * each : (k + 1) * each]] for k, one in enumerate(run.steps)])
    return found


def altered(asked: list[tuple[dict, int, dict]]) -> list[list[float]]:
    """The losses of the sequential training with what travels between ranks altered, for each (settings, number of
    steps, how): see `autograder.homework.mesh.altered`."""
    return [
        [loss for loss, _ in sequential(_Altered(**settings, how=how), steps).steps] for settings, steps, how in asked
    ]


def scaled(settings: dict, at: int, steps: int, factor: float) -> tuple[list[float], list[float]]:
    """(the numbers of the head after `at` steps, the losses of `steps` further steps with these numbers times a
    factor) of the sequential training."""
    given = _Scaled(**settings, at=at, factor=factor)
    run = sequential(given, at + steps)
    return given.kept[1], [loss for loss, _ in run.steps[at:]]


class _Factor(torch.autograd.Function):
    """Multiplied by one factor forward, and its gradient by another backward."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.backward_by = backward
        return x * forward

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.backward_by, None, None


@dataclass(frozen=True)
class _Altered(Settings):
    how: dict = field(default_factory=dict)

    def model(self) -> nn.Sequential:
        model = super().model()
        pipeline, tensor, rows = (
            None if self.how[name] is None else torch.tensor(self.how[name], dtype=torch.float64)
            for name in ("pipeline", "tensor", "rows")
        )
        for number, module in enumerate(list(model)[:-2]):
            if pipeline is not None and number in self.how["blocks"]:
                module.register_forward_hook(lambda module, given, out: out * pipeline)
            if tensor is not None and number > 0:
                _divided(module.attention, module.attention.out, tensor, self.how["biased"])
                _divided(module.mlp, module.mlp.down, tensor, self.how["biased"])
        if rows is not None:
            model[-1].register_forward_hook(lambda module, given, out: _Factor.apply(out, 1.0, rows[:, None, None]))
        return model


def _divided(part: nn.Module, last: nn.Linear, factors: Tensor, biased: bool) -> None:
    """Attention or an MLP as ranks of a tensor group compute it: gradients are summed where it begins, and what its
    last layer makes is summed before, or with, its bias."""

    def summed(module, given, out):
        bias = 0.0 if biased else last.bias
        return _Factor.apply(out - bias, factors, 1.0) + bias

    part.register_forward_pre_hook(lambda module, given: (_Factor.apply(given[0], 1.0, factors),))
    last.register_forward_hook(summed)


@dataclass(frozen=True)
class _Scaled(Settings):
    """kept: the head's weight, and what its numbers were when they were scaled."""

    at: int = 0
    factor: float = 1.0
    kept: list = field(default_factory=list)

    def model(self) -> nn.Sequential:
        model = super().model()
        self.kept[:] = [model[-1].weight]
        return model

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        if step == self.at:
            weight = self.kept[0].detach()
            self.kept.append(weight.flatten().tolist())
            weight *= self.factor
        return super().minibatch(step)
