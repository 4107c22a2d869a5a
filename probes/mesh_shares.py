"""The numbers that parts of the work add to the sums of a mesh, in the sequential training: rows of the minibatch, and
heads and columns of its blocks. As squares and products, from which those of any number of parts together follow.

All of it goes through `labkit.meshrun.sequential`, as in `probes.mesh_reference`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from labkit.meshrun import Settings, sequential
from probes.mesh_reference import Arrived


def rows(settings: dict, steps: int) -> list[list[float]]:
    """(rows, rows) of the products of what each row of the minibatch adds to the gradient, of all steps together."""
    given = _OfRows(**settings)
    sequential(given, steps)
    flat = [torch.stack([torch.cat([one[name] for name in sorted(one)]) for one in step]) for step in given.kept]
    return sum(step @ step.T for step in flat).tolist()


def columns(settings: dict, steps: int) -> dict[str, list[list[float]]]:
    """Products of what parts of attentions and MLPs add to the sums of a tensor group, of all blocks and steps.

    Forward, with the bias as the last part: "attention" (of each head), "mlp" (of as many parts of the hidden
    features, one after the other), "mlp dealt" (one by one to each part). What their inputs' gradients are the sum of:
    the same names with " backward", and "attention apart", of q, k and v each.
    """
    given = _OfColumns(**settings)
    sequential(given, steps)
    return {name: products.tolist() for name, products in given.products.items()}


@dataclass(frozen=True)
class _OfRows(Settings):
    """kept: of each step, of each row, the gradients by name, flat."""

    kept: list[list[dict[str, Tensor]]] = field(default_factory=list)

    def model(self) -> nn.Sequential:
        return _InRows(super().model(), self.kept)


class _InRows(nn.Sequential):
    """A model through which every row goes alone."""

    def __init__(self, model: nn.Sequential, kept: list):
        super().__init__(*model)
        self.model, self.kept = [model], kept

    def forward(self, x: Tensor) -> Tensor:
        (model,) = self.model
        self.kept.append([{} for _ in x])
        parts = []
        for row, kept in zip(x, self.kept[-1], strict=True):
            keep = {name: functools.partial(_keep, kept, name) for name, _ in model.named_parameters()}
            arriving = {name: Arrived.apply(one, None, keep[name]) for name, one in model.named_parameters()}
            parts.append(torch.func.functional_call(model, arriving, (row[None],)))
        return torch.cat(parts)


def _keep(kept: dict[str, Tensor], name: str, gradient: Tensor) -> Tensor:
    kept[name] = gradient.flatten().clone()
    return gradient


@dataclass(frozen=True)
class _OfColumns(Settings):
    products: Counter = field(default_factory=Counter)

    def model(self) -> nn.Sequential:
        model = super().model()
        for block in list(model)[1:-2]:
            attention, mlp = block.attention, block.mlp
            self._look(attention.out, {"attention": False}, [attention.q, attention.k, attention.v])
            self._look(mlp.down, {"mlp": False, "mlp dealt": True}, [mlp.up])
        return model

    def _look(self, last: nn.Linear, names: dict[str, bool], first: Sequence[nn.Linear]) -> None:
        """Looks at one part of a block. last: its linear layer whose outputs are summed. first: those whose inputs'
        gradients are. names: of its products -> whether features are dealt."""
        arrived: list[list[Tensor]] = []

        def forward(module, given) -> None:
            bias = last.bias.detach().expand(*given[0].shape[:-1], -1).flatten()
            for name, dealt in names.items():
                self._add(name, [*self._parts(given[0].detach(), last.weight.detach().T, dealt), bias])

        def backward(module, gradient: Tensor) -> None:
            arrived.append([self._parts(gradient, module.weight.detach(), dealt) for dealt in names.values()])
            if len(first) > 1:
                self._add("attention apart", arrived[-1][0])
            if len(arrived) == len(first):
                for name, several in zip(names, zip(*arrived, strict=True), strict=True):
                    self._add(f"{name} backward", [sum(same) for same in zip(*several, strict=True)])
                arrived.clear()

        last.register_forward_pre_hook(forward)
        for one in first:
            one.register_forward_hook(
                lambda module, given, out: out.register_hook(lambda g: backward(module, g)) and None
            )

    def _parts(self, x: Tensor, weight: Tensor, dealt: bool) -> list[Tensor]:
        """The summand of a product that each of as many parts of the features as there are heads adds."""
        n = x.shape[-1]
        of = torch.arange(n) % self.heads if dealt else torch.arange(n) // (n // self.heads)
        return [(x[..., of == k] @ weight[of == k]).flatten() for k in range(self.heads)]

    def _add(self, name: str, parts: list[Tensor]) -> None:
        flat = torch.stack(parts)
        self.products[name] = self.products[name] + flat @ flat.T
