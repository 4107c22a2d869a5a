"""Unit 10: trainings in 16 bits, what a backward pass keeps, weights that stand still, ranks that skip alone.

images, labels = precision.digits(2048)
losses, scales, skipped, model = precision.trained(torch.float16, 240, images, labels)
precision.kept_for_backward(torch.bfloat16, sequences=8)       bytes
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from matplotlib.axes import Axes
from torch import Tensor, nn

from labkit import data
from labkit.models import gpt, mlp
from labkit.plots import charts

INTERVAL = 20  # good steps in a row that double the scale; GradScaler's own default is 2000


def digits(n: int, train: bool = True) -> tuple[Tensor, Tensor]:
    """Images, float32 from 0 to 1, shape (n, 784), and labels, int64, shape (n,), of the course's digits."""
    pixels, numbers = data.load("digits", train=train, n=n)
    return torch.tensor(pixels / 255, dtype=torch.float32).flatten(1), torch.tensor(numbers)


def summed_one_by_one(n: int, dtype: torch.dtype) -> float:
    """The sum of n ones, added up one after the other in `dtype`."""
    total = torch.zeros((), dtype=dtype)
    for one in torch.ones(n, dtype=dtype):
        total += one
    return total.item()


def gradient_sizes(images: Tensor, labels: Tensor, factor: float = 1e-3) -> Tensor:
    """The sizes of all gradients of a network before its first step, without zeros: float32, one-dimensional.

    images: (n, 784), labels: (n,); factor: of the loss, to imitate a later time.
    """
    torch.manual_seed(0)
    net = mlp()
    (F.cross_entropy(net(images), labels) * factor).backward()
    sizes = torch.cat([w.grad.flatten() for w in net.parameters()]).abs()
    return sizes[sizes > 0]


def trained(
    dtype: torch.dtype, steps: int, images: Tensor, labels: Tensor, device: str = "cpu"
) -> tuple[list[float], list[float], list[bool], nn.Module]:
    """Train a small network with torch.autocast and, for float16, torch.amp.GradScaler: minibatches of 64 rows, SGD
    with momentum. Returns the losses, the scales after each step, which steps were skipped, and the network.

    dtype: of the products. images: (n, 784), labels: (n,). The scale starts at 2**16; INTERVAL good steps double it.
    """
    torch.manual_seed(0)
    model = mlp(hidden=(64,)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    half, init = dtype is torch.float16, {"init_scale": 2.0**16}
    scaler = torch.amp.GradScaler(device, **init, growth_interval=INTERVAL, enabled=half)
    losses, scales, skipped = [], [], []
    for step in range(steps):
        rows = torch.arange(64 * step, 64 * (step + 1)) % len(images)
        x, y = images[rows].to(device), labels[rows].to(device)
        optimizer.zero_grad()
        with torch.autocast(device, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x), y)
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
        skipped.append(scales[-1] < before)
    return losses, scales, skipped, model


def kept_for_backward(dtype: torch.dtype, sequences: int) -> int:
    """Bytes that the backward pass of a small transformer will need, besides the weights, counted by a hook on what
    autograd saves. dtype: of autocast; float32: without it. sequences: of 64 tokens, in one batch."""
    torch.manual_seed(0)
    model = gpt(layers=2)
    weights = {w.untyped_storage().data_ptr() for w in model.parameters()}
    found = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            found[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    tokens = torch.randint(96, (sequences, 64))
    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32),
    ):
        out = model(tokens)
    del out
    return sum(nbytes for nbytes, _ in found.values())


def fixed_bytes() -> int:
    """Bytes of that transformer's weights, gradients and Adam's two moments, all float32."""
    return 16 * sum(w.numel() for w in gpt(layers=2).parameters())


def print_kept(batches: Sequence[int]) -> None:
    """Print, for batches of these numbers of sequences, the MB that float32 and autocast to bfloat16 keep for the
    backward pass, their ratio, and the ratio with weights, gradients and Adam's state added to both."""
    fixed = fixed_bytes()
    print(f"weights, gradients and Adam's state: {fixed / 1e6:.1f} MB in either case")
    print(f"sequences   float32   autocast   ratio   with the {fixed / 1e6:.1f} MB")
    for k in batches:
        a, b = (kept_for_backward(dtype, k) for dtype in (torch.float32, torch.bfloat16))
        together = (fixed + b) / (fixed + a)
        print(f"{k:>6} {a / 1e6:>10.1f} MB {b / 1e6:>6.1f} MB {b / a:>8.0%} {together:>12.0%}")


def draw_sizes(sizes: Tensor, doublings: int) -> Axes:
    """Draw a histogram of log2 of sizes, as they are and times 2**doublings, between the ends of float16."""
    logarithms = torch.log2(sizes)
    shown = {"as they are": logarithms, f"times $2^{{{doublings}}}$": logarithms + doublings}
    words = {"xlabel": "$\\log_2$ of the gradient's size", "ylabel": "gradients"}
    ax = charts.histogram(shown, np.arange(-44, 25), **words)
    charts.guide(ax, "$2^{-24}$", x=-24, how="grey -", at="top")
    charts.guide(ax, "65504", x=math.log2(65504), how="grey -", at="top")
    return ax


def draw_scales(scales: Sequence[float], skipped: Sequence[bool]) -> Axes:
    """Draw the loss scale after each step as stairs, with a mark wherever a step was skipped."""
    steps = len(scales)
    lost = [k for k, one in enumerate(skipped) if one]
    shown = {
        "scale": (range(steps), scales, "blue -"),
        "a skipped step": (lost, [scales[k] for k in lost], "red v"),
    }
    above = {"ncols": 2, "loc": "lower right", "bbox_to_anchor": (1, 1)}
    words = {"legend": above, "xlabel": "step", "ylabel": "scale", "xlim": (0, steps)}
    ax = charts.lines(shown, size=(9, 2.8), log="y", stairs=True, markersize=7, **words)
    ax.set_yscale("log", base=2)
    return ax


def goes_on(
    begun: nn.Module, weights_in: torch.dtype, steps: int, images: Tensor, labels: Tensor, lr: float = 1e-3
) -> tuple[list[float], float]:
    """Train a copy of a network further, its weights kept in `weights_in`, its products in bfloat16: plain SGD. Returns
    the loss over all images after every tenth step, and the share of the first layer's weights that have changed."""
    model, brain = copy.deepcopy(begun).to(weights_in), torch.bfloat16
    losses = []
    for step in range(steps):
        rows = torch.arange(256 * step, 256 * (step + 1)) % len(images)
        with torch.autocast("cpu", dtype=brain, enabled=weights_in != brain):
            out = model(images[rows].to(weights_in))
        model.zero_grad()
        F.cross_entropy(out.float(), labels[rows]).backward()
        with torch.no_grad():
            for w in model.parameters():
                w -= lr * w.grad
            if step % 10 == 0:
                whole = copy.deepcopy(model).float()
                losses.append(F.cross_entropy(whole(images), labels).item())
    first, new = next(begun.parameters()), next(model.parameters())
    return losses, (new != first.to(weights_in)).float().mean().item()


def sharded_training(found_inf: Callable[[list[Tensor]], bool], steps: int) -> tuple[list[float], float]:
    """Train eight weights of which each rank owns an equal shard (unit 15's ZeRO), with a float16 loss scale. Returns
    the distance to the best weights after each step, and this rank's scale at the end.

    found_inf: function of a list of one tensor, this rank's shard of the gradient: True if the step is to be skipped.
    Weights 4 and 5 have gradients three times as large.
    """
    rank, p = dist.get_rank(), dist.get_world_size()
    draws = torch.Generator().manual_seed(rank)
    steep = torch.tensor([1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 1.0, 1.0])
    best = torch.linspace(-1, 1, 8)
    w, scale, distances = torch.zeros(8), 2.0**16, []
    for _ in range(steps):
        noise = 0.1 * torch.randn(8, generator=draws)
        gradient = (steep * (w - best + noise) * scale).half().float() / p
        shard = torch.empty(8 // p)
        dist.reduce_scatter_single(shard, gradient)
        shard /= scale
        mine = w[8 // p * rank : 8 // p * (rank + 1)].clone()
        if found_inf([shard]):
            scale /= 2
        else:
            mine -= 0.1 * shard
        dist.all_gather_single(w, mine)
        distances.append((w - best).norm().item())
    return distances, scale


def own_inf(grads: list[Tensor]) -> bool:
    """True if a gradient of this rank holds an infinity or nan; the other ranks are not asked."""
    return any(not gradient.isfinite().all() for gradient in grads)


def small_loss() -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Weights to start from, float32, shape (50,), and a function of weights: a loss with small slopes, float32."""
    draws = torch.Generator().manual_seed(5)
    slopes = torch.randn(50, generator=draws) / 10
    return torch.randn(50, generator=draws), lambda w: (w.float() * slopes).square().sum()
