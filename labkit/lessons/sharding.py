"""The machinery of unit 15: a memory counter, blocks that take virtual time, and the course's transformer, sharded.

Functions named `..._gpt` are programs of one rank: `labkit.simulation.run` runs them.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit import data, training
from labkit.models import gpt
from labkit.relay.charging import alive, compute
from labkit.relay.outcome import Outcome

# --- the published table ----------------------------------------------------------------------------------------------

RANKS_OF_THE_TABLE = (1, 4, 16, 64, 256, 1024)
PRINTED = {  # parameters -> GB per device; a row for each of the stages 1 to 3
    7.5e9: [
        [120, 52.5, 35.6, 31.4, 30.4, 30.1],
        [120, 41.3, 21.6, 16.6, 15.4, 15.1],
        [120, 30, 7.5, 1.88, 0.47, 0.12],
    ],
    128e9: [
        [2048, 896, 608, 536, 518, 513],
        [2048, 704, 368, 284, 263, 257],
        [2048, 512, 128, 32, 8, 2],
    ],
    1e12: [
        [16000, 7000, 4750, 4187, 4046, 4011],
        [16000, 5500, 2875, 2218, 2054, 2013],
        [16000, 4000, 1000, 250, 62.5, 15.6],
    ],
}


def published() -> Iterator[tuple[int, int, int, float]]:
    """The 54 numbers of the ZeRO paper's table 1 (arXiv 1910.02054, page 11), one after the other.

    Each is (parameters, stage, ranks, GB per device as printed): (7500000000, 1, 4, 52.5) is the second.
    """
    for params, rows in PRINTED.items():
        for stage, row in enumerate(rows, 1):
            for p, printed in zip(RANKS_OF_THE_TABLE, row, strict=True):
                yield int(params), stage, p, printed


def rounds_to(value: float, printed: float) -> bool:
    """True where a number of GB, rounded to as many digits as the table prints, is the printed one.

    Below 2 the table has two decimals, below 100 one, else none: rounds_to(7.52, 7.5) holds, rounds_to(7.56, 7.5) not.
    """
    unit = 0.01 if printed < 2 else 0.1 if printed < 100 else 1
    return abs(np.floor(value / unit + 0.5) * unit - printed) <= 1e-6


def parts_per_rank(params: float, p: int, stage: int) -> dict[str, float]:
    """GB of parameters, gradients and optimizer state on each of p ranks, for Adam in mixed precision.

    stage: 0 to 3. parts_per_rank(1e9, 4, 1) is {"parameters": 2.0, "gradients": 2.0, "optimizer state": 3.0}.
    """
    table = (("parameters", 2, 3), ("gradients", 2, 2), ("optimizer state", 12, 1))
    return {name: size * (params / p if stage >= first else params) / 1e9 for name, size, first in table}


def stages(params: float, p: int) -> dict[str, dict[str, float]]:
    """`parts_per_rank` of data parallelism and of the three stages, by name: "data parallel", "ZeRO-1" and so on."""
    names = ("data parallel", "ZeRO-1", "ZeRO-2", "ZeRO-3")
    return {name: parts_per_rank(params, p, stage) for stage, name in enumerate(names)}


# --- memory and time --------------------------------------------------------------------------------------------------


class Counted(TorchDispatchMode):
    """A context in which the simulation is told, after every operation, how many bytes made within it are alive.

    `.peak` is the most so far, `.now` what is alive at present, both in bytes; a view makes nothing new.

        with Counted() as counted:
            y = torch.ones(1000)  # float32
        counted.peak  # 4000
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0

    @property
    def now(self) -> int:
        return sum(nbytes for _, nbytes in self.made.values())

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        given = {t.untyped_storage()._cdata for t in tensors}
        for one in tree_leaves(result):
            if isinstance(one, Tensor) and not one.is_meta:
                storage = one.untyped_storage()
                if storage._cdata not in given:
                    self.made[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.made = {k: v for k, v in self.made.items() if not v[0].expired()}
        now = self.now
        self.peak = max(self.peak, now)
        alive(now)
        return result


class Timed(torch.autograd.Function):
    """The identity, whose forward and backward pass take virtual time."""

    @staticmethod
    def forward(ctx, x, label, forward, backward):
        ctx.label, ctx.seconds = label, backward
        compute(forward, f"F{label}")
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        compute(ctx.seconds, f"B{ctx.label}")
        return g, None, None, None


def timed(block: Callable, label: int, forward: float = 1e-3, backward: float = 2e-3) -> Callable:
    """The block as a function of its input that takes virtual seconds forward and backward, shown as "F3" and "B3" for
    the label 3.
    """
    return lambda x: Timed.apply(block(x), label, forward, backward)


def measured_step(run: Callable, **model: int) -> tuple[int, int, Tensor]:
    """One forward and backward pass of a transformer's blocks on this rank, 8 sequences as long as its context.

    run: function, run(blocks, x) is the output of the blocks one after the other. model: context, width, heads and
    layers, as of `labkit.models.gpt`. Returns the bytes that are alive after the forward pass, those at the peak of the
    whole step, and the gradient of all the blocks' parameters in one vector.
    """
    torch.manual_seed(0)
    net = gpt(**model)
    x = torch.randn(8, model["context"], model["width"], requires_grad=True)
    blocks = [timed(block, k) for k, block in enumerate(net[1:-2])]
    with Counted() as counted:
        y = run(blocks, x)
        kept = counted.now
        y.sum().backward()
    return kept, counted.peak, torch.cat([w.grad.flatten() for w in net[1:-2].parameters()])


# --- a small transformer and what it learns ---------------------------------------------------------------------------

BATCH = 2  # sequences of a rank
SMALL_GPT = {"context": 32, "width": 32, "heads": 4, "layers": 4}


def small_gpt() -> nn.Sequential:
    """A transformer of 4 blocks in float64, the same on every rank."""
    torch.manual_seed(1)
    return gpt(**SMALL_GPT).double()


@functools.cache
def all_tokens() -> np.ndarray:
    """The course's text as tokens."""
    return data.encode(data.text())


def minibatch(rank: int, p: int, step: int = 0) -> tuple[Tensor, Tensor]:
    """A rank's sequences of a step's global batch, and what comes next in each: both int64, (2, 32)."""
    random = np.random.default_rng(step)
    drawn = data.windows(all_tokens(), BATCH * p, SMALL_GPT["context"], random)
    x, y = (torch.from_numpy(one).chunk(p)[rank] for one in drawn)
    return x, y


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy over all places of all sequences."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def loss_gradient(targets: Tensor) -> Callable[[Tensor], Tensor]:
    """A function: from logits to the gradient of `loss_of` with respect to them."""

    def gradient(logits: Tensor) -> Tensor:
        logits = logits.detach().requires_grad_()
        loss_of(logits, targets).backward()
        return logits.grad

    return gradient


def flat_gradient(net: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of a batch, and the gradient of all parameters in one vector; `.grad` holds it, too."""
    net.zero_grad()
    loss = loss_of(net(x), y)
    loss.backward()
    return loss.detach(), torch.cat([w.grad.flatten() for w in net.parameters()])


def write(net: nn.Module, flat: Tensor) -> None:
    """Put a vector of all numbers into the parameters of a model; `labkit.training.flat` reads them."""
    with torch.no_grad():
        sizes = [w.numel() for w in net.parameters()]
        for w, piece in zip(net.parameters(), flat.split(sizes), strict=True):
            w.copy_(piece.view_as(w))


def timed_gpt() -> nn.Sequential:
    """The small transformer with modules that take virtual time: 0.1 ms forward and 0.2 ms backward each."""
    net = small_gpt()
    for k, module in enumerate(net):
        module.forward = timed(module.forward, k, 1e-4, 2e-4)
    return net


def data_parallel_gpt() -> tuple[list[Tensor], int]:
    """The mean gradient of every module over the ranks, flat, and the peak memory in bytes, of one step of data
    parallelism on the small transformer.
    """
    rank, p = dist.get_rank(), dist.get_world_size()
    x, y = minibatch(rank, p)
    with Counted() as counted:
        net = timed_gpt()
        _, flat = flat_gradient(net, x, y)
        dist.all_reduce(flat)
        flat /= p
    sizes = [sum(w.numel() for w in module.parameters()) for module in net]
    return list(flat.split(sizes)), counted.peak


# --- sharded layers ---------------------------------------------------------------------------------------------------


class Layer:
    """A module of which this rank holds a shard, as `zero3_forward_backward` takes it; a pass takes virtual time.

    cut: function, cut(flat, rank, p) is the rank's shard of a vector. number: the layer's, for the diagram. The module
    itself is kept on the device "meta", without memory; `forward` keeps only its input, and `backward` recomputes the
    intermediate activations.
    """

    def __init__(self, module: nn.Module, number: int, cut: Callable[[Tensor, int, int], Tensor]) -> None:
        parameters = dict(module.named_parameters())
        self.names = {name: one.shape for name, one in parameters.items()}
        whole = torch.cat([one.detach().flatten() for one in parameters.values()])
        self.n, self.number = len(whole), number
        self.shard = cut(whole, dist.get_rank(), dist.get_world_size())
        self.module = copy.deepcopy(module).to("meta")

    def run(self, weights: Tensor, x: Tensor) -> Tensor:
        """The module's output with these weights, n of them and perhaps padding."""
        pieces = weights[: self.n].split([shape.numel() for shape in self.names.values()])
        named = zip(self.names.items(), pieces, strict=True)
        return functional_call(self.module, {name: w.view(shape) for (name, shape), w in named}, (x,))

    def forward(self, weights: Tensor, x: Tensor) -> Tensor:
        """The output; the input is kept for `backward`."""
        self.input = x
        with torch.no_grad():
            y = self.run(weights, x)
        compute(1e-4, f"F{self.number}")
        return y

    def backward(self, weights: Tensor, g: Tensor) -> tuple[Tensor | None, Tensor]:
        """The gradients with respect to the input (None where that is tokens) and to the weights, padding included."""
        x = self.input
        if x.is_floating_point():
            x = x.detach().requires_grad_()
        weights = weights.detach().requires_grad_()
        self.run(weights, x).backward(g)
        compute(3e-4, f"B{self.number}")
        return x.grad, weights.grad


class Square:
    """A layer of n weights, all 1, that adds their sum to its input. n, cut: as of `Layer`."""

    def __init__(self, n: int, cut: Callable[[Tensor, int, int], Tensor]) -> None:
        self.n = n
        self.shard = cut(torch.ones(n, dtype=torch.float64), dist.get_rank(), dist.get_world_size())

    def forward(self, weights: Tensor, x: Tensor) -> Tensor:
        return x + weights[: self.n].sum()

    def backward(self, weights: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        gradient = torch.zeros(len(weights), dtype=torch.float64)
        gradient[: self.n] = g.sum()
        return g, gradient


def apart(shards: Sequence[Sequence], wholes: Sequence) -> float:
    """The largest difference between full gradients and the shards of all ranks, gathered.

    shards: for each rank a list with one shard for each module, as `.ranks[r].value` of a simulation holds them
    (their numbers are `.values`). wholes: one full gradient for each module, likewise.
    """
    worst = 0.0
    for i, whole in enumerate(wholes):
        gathered = np.concatenate([own[i].values for own in shards])
        worst = max(worst, np.abs(gathered[: len(whole.values)] - whole.values).max())
    return worst


def until_computed(run: Outcome) -> tuple[Outcome, float]:
    """The outcome with only the events up to the end of the last computation, and the virtual seconds until they end.

    It leaves out what came after: gathers that only a comparison needs.
    """
    done = max(e.ended for e in run.events if e.kind == "compute")
    step = [e for e in run.events if e.started is not None and e.started <= done]
    return replace(run, events=step), max(e.ended for e in step)


def furthest(ours: Sequence, theirs: Sequence) -> float:
    """The largest difference between two lists of arrays as a simulation returns them: their numbers are `.values`."""
    return max(np.abs(a.values - b.values).max() for a, b in zip(ours, theirs, strict=True))


# --- trainings --------------------------------------------------------------------------------------------------------


def descend(applied: Callable[[Tensor], Tensor], steps: int) -> tuple[list[float], list[float], list[float]]:
    """Train the small transformer in float32 on this rank's share of each batch, with a rate of 1 and no momentum.

    applied: function; applied(flat) is what is subtracted from the weights, where `flat` is the mean gradient over all
    ranks. Returns, for each step, the loss over all ranks, the cosine between the applied and the mean gradient, and
    the norm of the applied gradient.
    """
    rank, p = dist.get_rank(), dist.get_world_size()
    net = small_gpt().float()
    losses, cosines, norms = [], [], []
    for step in range(steps):
        loss, flat = flat_gradient(net, *minibatch(rank, p, step))
        dist.all_reduce(flat)
        flat /= p
        whole = applied(flat.clone())
        cosines.append(float(F.cosine_similarity(whole, flat, dim=0)))
        norms.append(float(whole.norm()))
        write(net, training.flat(net.parameters()) - whole)
        dist.all_reduce(loss)
        losses.append(float(loss) / p)
    return losses, cosines, norms


def zero_redundancy_gpt(steps: int = 3) -> tuple[Tensor, int]:
    """The small transformer's weights after some steps of PyTorch's `ZeroRedundancyOptimizer` with Adam and a rate of
    0.01, in one vector, and the number of elements of Adam's moments on this rank.
    """
    from torch.distributed.optim import ZeroRedundancyOptimizer

    rank, p = dist.get_rank(), dist.get_world_size()
    net = small_gpt()
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.01)
    for t in range(1, steps + 1):
        flat_gradient(net, *minibatch(rank, p, t))
        for w in net.parameters():
            dist.all_reduce(w.grad)
            w.grad /= p
        optimizer.step()
    states = optimizer.optim.state.values()
    return training.flat(net.parameters()), sum(2 * state["exp_avg"].numel() for state in states)


def whole_gradients(net: nn.Module) -> list[Tensor]:
    """The gradients of each module of a network under `fully_shard`, gathered from all ranks, flat."""
    return [torch.cat([w.grad.full_tensor().flatten() for w in module.parameters()]) for module in net]
