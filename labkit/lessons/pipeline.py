"""The machinery of unit 17: the timeline of a schedule, and a stage whose passes take virtual time and which counts
what it keeps.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from labkit import simulation, timeline
from labkit.schedules import replay


def show(orders: Sequence[list[tuple]], m: int, v: int = 1, title: str | None = None, **seconds: float) -> Figure:
    """Replay the orders of a schedule of m micro-batches and v chunks a rank, print how long they take, how long ranks
    are idle and how many forward passes are alive at most, and draw them. seconds: as for `replay`."""
    p = len(orders)
    ran = replay(orders, p, m, v, **seconds)
    print(
        f"{ran.elapsed:g} slots; idle {ran.bubble.mean():.1%} of the time; "
        f"peak number of forward passes alive on each rank: {ran.alive.tolist()}"
    )
    memory = [[(t, n * 1e6) for t, n in steps] for steps in ran.memory]
    return timeline.draw(ran.events, p, title=title, memory=memory)


class Charge(torch.autograd.Function):
    """The identity; its `backward`, which autograd calls when a gradient passes through it, adds the time of the
    stage's backward pass to the rank's clock."""

    @staticmethod
    def forward(ctx, out: Tensor, stage: Stage, k: int) -> Tensor:
        ctx.stage, ctx.k = stage, k
        return out.view_as(out)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None]:
        simulation.compute(ctx.stage.seconds[1], f"B{ctx.k}")
        ctx.stage.kept.pop(ctx.k)
        simulation.alive(sum(ctx.stage.kept.values()))
        return gradient, None, None


def saved_bytes(layers: nn.Module, x: Tensor) -> tuple[Tensor, int]:
    """The layers' output, and the bytes that autograd saved while computing it, without the weights. Tensors that share
    memory (a storage) are counted once."""
    weights = {p.untyped_storage().data_ptr() for p in layers.parameters()}
    saved = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = layers(x)
    return out, sum(saved.values())


class Stage(nn.Module):
    """Layers that add their time to the rank's clock and count the bytes they keep.

    forward, backward: virtual seconds of a pass of one micro-batch.
    """

    def __init__(self, layers: nn.Module, forward: float, backward: float):
        super().__init__()
        self.layers, self.calls, self.kept = layers, 0, {}
        self.seconds = forward, backward

    def forward(self, x: Tensor) -> Tensor:
        k, self.calls = self.calls, self.calls + 1
        simulation.compute(self.seconds[0], f"F{k}")
        out, self.kept[k] = saved_bytes(self.layers, x)
        simulation.alive(sum(self.kept.values()))
        return Charge.apply(out, self, k)
