"""The sequential training that a mesh must equal, in a process that no student's code runs in.

All of it goes through `labkit.meshrun.sequential`, which ranks that run a script cannot call (`probes.mesh.WITHHELD`):
to import this module there is of no use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from labkit.meshrun import Settings, sequential
from probes.mesh_noise import Noise
from probes.mesh_sums import Sums


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


def altered(
    asked: list[tuple[dict, int, str, dict]], sums: dict[str, tuple[np.ndarray, np.ndarray]]
) -> list[tuple[list[float], float]]:
    """(the losses of the sequential training with what travels between ranks altered, the share of its gradients that
    was found among the sums over replicas), for each (settings, number of steps, trial, how): see
    `autograder.homework.mesh.altered`. sums: trial -> what was summed, and what it was multiplied by."""
    found = []
    for settings, steps, name, how in asked:
        known = None if how["scales"] is None else Sums(*sums[name], how["scales"])
        run = sequential(_Altered(**settings, how=how, sums=known), steps)
        found.append(([loss for loss, _ in run.steps], 1.0 if known is None else known.found / max(1, known.asked)))
    return found


def scaled(settings: dict, at: int, steps: int, names: list[str], factor: float) -> tuple[list[float], list[float]]:
    """(the numbers of the weights of these names after `at` steps, the losses of `steps` further steps with these
    numbers times a factor) of the sequential training."""
    given = _Scaled(**settings, at=at, names=tuple(names), factor=factor)
    run = sequential(given, at + steps)
    return given.numbers, [loss for loss, _ in run.steps[at:]]


class Arrived(torch.autograd.Function):
    """Alters something forward, and its gradient backward, as it arrives; None: it stays as it is."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.backward_by = backward
        return x.view_as(x) if forward is None else forward(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient if ctx.backward_by is None else ctx.backward_by(gradient), None, None


@dataclass(frozen=True)
class _Altered(Settings):
    """sums: over replicas, as they were altered; None where there were none."""

    how: dict = field(default_factory=dict)
    sums: Sums | None = None

    def model(self) -> nn.Sequential:
        model = super().model()
        pipeline, tensor = (_stretched(self.how[axis], self.width) for axis in ("pipeline", "tensor"))
        for number, module in enumerate(list(model)[:-2]):
            if pipeline is not None and number in self.how["blocks"]:
                module.register_forward_hook(lambda module, given, out: Arrived.apply(out, pipeline, pipeline))
            if tensor is not None and number > 0:
                attention, mlp = module.attention, module.mlp
                each = [attention.q, attention.k, attention.v] if self.how["apart"] else [attention]
                _divided(each, attention.out, tensor, self.how["biased"])
                _divided([mlp], mlp.down, tensor, self.how["biased"])
        if self.sums is not None and self.how["micro_batches"] is not None:
            return _InMicroBatches(model, self.how["micro_batches"], self.sums)
        if self.sums is not None:
            _summed(list(model.parameters()), self.sums)
        return model


def _stretched(seed: list[int] | None, width: int) -> Callable[[Tensor], Tensor] | None:
    if seed is None:
        return None
    noise = Noise(seed, width)
    return lambda x: torch.from_numpy(noise(x.detach().numpy()))


def _divided(parts: list[nn.Module], last: nn.Linear, altered: Callable[[Tensor], Tensor], biased: bool) -> None:
    """Attention or an MLP as ranks of a tensor group compute it: gradients are summed where its parts begin, and what
    its last layer makes is summed before, or with, its bias."""

    def summed(module, given, out):
        bias = 0.0 if biased else last.bias
        return Arrived.apply(out - bias, altered, None) + bias

    for part in parts:
        part.register_forward_pre_hook(lambda module, given: (Arrived.apply(given[0], None, altered),))
    last.register_forward_hook(summed)


def _summed(parameters: list[nn.Parameter], sums: Sums) -> None:
    """Each time when all parameters have their gradients, these are altered as sums over replicas were."""
    done: list[nn.Parameter] = []

    def one_more(parameter: nn.Parameter) -> None:
        done.append(parameter)
        if len(done) == len(parameters):
            done.clear()
            for one, gradient in zip(parameters, sums([one.grad.numpy() for one in parameters]), strict=True):
                one.grad = torch.from_numpy(gradient)

    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(one_more)


class _InMicroBatches(nn.Sequential):
    """A model whose gradient is altered for each micro-batch. rows: of each of them."""

    def __init__(self, model: nn.Sequential, rows: list[list[int]], sums: Sums):
        super().__init__(*model)
        self.model, self.rows, self.sums = [model], rows, sums

    def forward(self, x: Tensor) -> Tensor:
        (model,) = self.model
        parts = []
        for rows in self.rows:
            arriving = {name: Arrived.apply(one, None, self._one) for name, one in model.named_parameters()}
            parts.append(torch.func.functional_call(model, arriving, (x[rows],)))
        return torch.cat(parts)[torch.tensor([row for rows in self.rows for row in rows]).argsort()]

    def _one(self, gradient: Tensor) -> Tensor:
        return torch.from_numpy(self.sums([gradient.numpy()])[0])


@dataclass(frozen=True)
class _Scaled(Settings):
    """kept: the weights. numbers: what they were when they were scaled."""

    at: int = 0
    names: tuple[str, ...] = ()
    factor: float = 1.0
    kept: list[Tensor] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def model(self) -> nn.Sequential:
        model = super().model()
        self.kept[:] = [model.get_parameter(name).detach() for name in self.names]
        return model

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        for weight in self.kept if step == self.at else ():
            self.numbers.extend(weight.flatten().tolist())
            weight *= self.factor
        return super().minibatch(step)
