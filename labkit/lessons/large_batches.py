"""The machinery of unit 11: a learner of digits, small programs on ranks around the exercises, and ResNet-50 counted.

Where a program needs an exercise, the page hands in the student's function.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from labkit import models, training
from labkit.relay.charging import compute
from labkit.relay.outcome import RankOutcome

# --- learning digits --------------------------------------------------------------------------------------------------


class Learner:
    """A function that trains a fresh network (784 -> 64 -> 10) by SGD on the samples x, y.

        learn = Learner(x, y, test_x, test_y)
        model, accuracy, steps = learn(32, 0.12, epochs=10)

    batch: samples of a step. rate: a number, or a function of the step, from 0. It ends after `epochs` or `steps`,
    or when the accuracy on the test samples, measured every `every` steps, has reached `target`. change:
    function of the model, called before each step; it may change the gradients. Returns the model, its accuracy (0 to
    1) and the number of steps.
    """

    def __init__(self, x: Tensor, y: Tensor, test_x: Tensor, test_y: Tensor) -> None:
        self.x, self.y, self.test = x, y, (test_x, test_y)

    def __call__(
        self,
        batch: int,
        rate: float | Callable[[int], float],
        epochs: int | None = None,
        target: float | None = None,
        every: int = 1,
        steps: int | None = None,
        change: Callable[[nn.Module], None] | None = None,
    ) -> tuple[nn.Module, float, int]:
        torch.manual_seed(0)
        model, step = models.mlp((64,)), 0
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step, rows in enumerate(self._rows_of(batch, epochs, steps), start=1):
            optimizer.param_groups[0]["lr"] = rate(step - 1) if callable(rate) else rate
            optimizer.zero_grad()
            cross_entropy(model(self.x[rows]), self.y[rows]).backward()
            if change:
                change(model)
            optimizer.step()
            if target and step % every == 0:
                accuracy = training.evaluate(model, *self.test)[1]
                if accuracy >= target:
                    return model, accuracy, step
        return model, training.evaluate(model, *self.test)[1], step

    def _rows_of(self, batch: int, epochs: int | None, steps: int | None) -> Iterator[Tensor]:
        """The rows of each minibatch, for a number of epochs or steps."""
        many = itertools.count() if epochs is None else range(epochs)
        all_of_them = (training.minibatches(len(self.x), batch, seed=1, epoch=e) for e in many)
        return itertools.islice(itertools.chain.from_iterable(all_of_them), steps)


def noise_scales(
    noise_scale: Callable, start: Tensor, rows: Tensor, targets: Tensor, b: int, steps: int
) -> list[float]:
    """The noise scale of every step of SGD with a rate of 0.12 on all ranks, b rows each.

    noise_scale: the exercise's function. start: the weights to begin with, of the learner's network, in one vector of
    float64. rows, targets: samples; step after step the ranks take the next ones.
    """
    model = models.mlp((64,)).double()
    nn.utils.vector_to_parameters(start.clone(), model.parameters())
    found = []
    for step in range(steps):
        first = (step * dist.get_world_size() + dist.get_rank()) * b
        own = slice(first, first + b)
        model.zero_grad()
        cross_entropy(model(rows[own]), targets[own]).backward()
        mean, scale = noise_scale(training.flat(w.grad for w in model.parameters()), b)
        found.append(scale)
        weights = training.flat(model.parameters()) - 0.12 * mean
        nn.utils.vector_to_parameters(weights, model.parameters())
    return found


def rates_of(
    optimizer: torch.optim.Optimizer, scheduler: torch.optim.lr_scheduler.LRScheduler, steps: int
) -> np.ndarray:
    """The learning rate of each of the first steps under a scheduler of PyTorch."""
    rates = []
    for _ in range(steps):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return np.array(rates)


def bend(batches: np.ndarray, steps: np.ndarray, at: float) -> tuple[np.ndarray, np.ndarray]:
    """The curve "fewest steps times (1 + at / batch)" that fits measured steps best, as 50 batches and their steps.

    batches, steps: what was measured, batches increasing. at: the batch where the curve bends.
    """
    wide = np.geomspace(batches[0], batches[-1], 50)
    fewest = np.exp(np.mean(np.log(steps / (1 + at / batches))))
    return wide, fewest * (1 + at / wide)


# --- programs on ranks ------------------------------------------------------------------------------------------------


class Charged(nn.Module):
    """A linear layer from 20,000 numbers to one whose passes take virtual time: 0.1 ms forward, 0.2 ms backward."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(20_000, dtype=torch.float64))

    def forward(self, rows: Tensor) -> Tensor:
        """(rows, 20000) -> (rows,)."""
        compute(1e-4, "F")
        out = rows @ self.weight
        if out.requires_grad:
            out.register_hook(lambda g: compute(2e-4, "B"))
        return out


def uneven_batches() -> list[tuple[Tensor, Tensor]]:
    """Four micro-batches (x, y) of this rank for `Charged`, of different sizes: on two ranks together 20 rows."""
    torch.manual_seed(dist.get_rank())
    sizes = (3, 1, 4, 2) if dist.get_rank() == 0 else (1, 2, 2, 5)
    rows = [torch.randn(n, 20_000).double() for n in sizes]
    return [(one, torch.randn(len(one)).double()) for one in rows]


def two_layers(pieces: int, how: str) -> tuple[list[Tensor], list[Tensor]]:
    """This rank's pieces of two layers of 12 and 7 weights, and of their updates.

    how: "LARS", the update is the gradient, or "LAMB", it is Adam's in its first step, where both of its means are the
    gradient's own.
    """
    generator = torch.Generator().manual_seed(0)
    layers = [torch.randn(n, generator=generator).double() for n in (12, 7)]
    gradients = [100 * torch.randn(n, generator=generator).double() for n in (12, 7)]
    mine = [one.tensor_split(pieces)[dist.get_rank()].clone() for one in layers]
    update = [one.tensor_split(pieces)[dist.get_rank()] for one in gradients]
    if how == "LAMB":
        update = [g / (g.abs() + 1e-6) for g in update]
    return mine, update


def furthest(whole: Sequence[list[float]], pieces: Sequence[Sequence[list[float]]]) -> float:
    """The largest difference between layers as one rank holds them and the same, joined from the pieces of all ranks.

    whole: a list of numbers for each layer. pieces: for each rank such a list, with its pieces of the layers.
    """
    joined = [[number for rank in pieces for number in rank[k]] for k in range(len(whole))]
    return max(
        abs(a - b) for ours, theirs in zip(whole, joined, strict=True) for a, b in zip(ours, theirs, strict=True)
    )


def timed_training(way: Callable) -> list[float] | None:
    """Four steps with two validations of 200 samples; a step takes 1 ms of virtual time, 100 samples as long.

    way: a function with the arguments and the result of the exercise `train_and_validate`, which is returned.
    """

    def step(k: int) -> None:
        compute(1e-3, f"S{k}")
        dist.all_reduce(torch.zeros(1000))

    def correct(start: int, stop: int) -> int:
        compute(1e-5 * (stop - start), "V")
        return sum(i % 3 > 0 for i in range(start, stop))

    return way(step, correct, 4, 2, 200)


def nobody(step: Callable, correct: Callable, steps: int, every: int, n: int) -> None:
    """All the steps and no validation, with the arguments of `train_and_validate`."""
    for k in range(steps):
        step(k)


# --- batch norm -------------------------------------------------------------------------------------------------------

SIZES, CHANNELS = (5, 3, 1, 0), 3  # rows of each of four ranks


def inputs() -> Tensor:
    """The rows of all four ranks, float64, (9, 3)."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(sum(SIZES), CHANNELS, generator=generator).double() * 2 + 3


def own_rows() -> Tensor:
    """This rank's rows of `inputs`: 5, 3, 1 and 0 of them on ranks 0 to 3."""
    return inputs().split(SIZES)[dist.get_rank()].clone()


def pass_through(norm: Callable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One pass of this rank's rows through a norm layer, forward and backward, which takes virtual time.

    norm: function, norm(rows, weight, bias, n, eps) is the output; n counts the rows of all ranks. Returns the outputs,
    the gradients of the rows, and the gradient of the weight, added up over the ranks.
    """
    rows = own_rows().requires_grad_()
    weight = (torch.arange(CHANNELS).double() + 1).requires_grad_()
    bias = torch.zeros(CHANNELS, dtype=torch.float64, requires_grad=True)
    compute(2e-5, "F")
    out = norm(rows, weight, bias, sum(SIZES), 1e-5)
    compute(4e-5, "B")
    (out**3).sum().div(sum(SIZES)).backward()
    called = weight.grad.clone()
    dist.all_reduce(called)  # as for all parameters
    return out.detach().numpy(), rows.grad.numpy(), called.numpy()


def differences(ranks: Sequence[RankOutcome]) -> dict[str, float]:
    """The largest differences between what `pass_through` returned on four ranks (`.ranks` of a simulation) and
    PyTorch's `BatchNorm1d` over all rows in one process: "outputs", "gradients of x", "of the weight".
    """
    whole, alone = inputs().requires_grad_(), nn.BatchNorm1d(CHANNELS).double()
    with torch.no_grad():
        alone.weight.copy_(torch.arange(CHANNELS) + 1)
    right = alone(whole)
    (right**3).sum().div(len(whole)).backward()
    out, gx = (torch.cat([torch.tensor(rank.value[k]) for rank in ranks]) for k in (0, 1))
    pairs = {"outputs": (out, right), "gradients of x": (gx, whole.grad)}
    pairs["of the weight"] = torch.tensor(ranks[0].value[2]), alone.weight.grad
    return {name: (mine - wanted).abs().max().item() for name, (mine, wanted) in pairs.items()}


def small_net() -> nn.Sequential:
    """A network for digits in float64 with one batch norm layer, its third module; the same on every rank."""
    torch.manual_seed(0)
    parts = nn.Flatten(), nn.Linear(784, 32), nn.BatchNorm1d(32, momentum=0.2)
    return nn.Sequential(*parts, nn.ReLU(), nn.Linear(32, 10)).double()


def train_sorted(normed: Callable | None, x: Tensor, y: Tensor, steps: int) -> tuple:
    """Train `small_net` on all ranks, 32 rows each, where the first 2000 samples are sorted: a rank sees three or four
    digits.

    normed: function, normed(norm, inside, n) is what comes out of the layer `norm` for this rank's rows `inside`, n
    rows on all ranks; None for each rank's own batch norm. Returns the accuracy on the last batch over all ranks, the
    weights in one vector, and this rank's running mean and variance.
    """
    rank, p = dist.get_rank(), dist.get_world_size()
    share = torch.argsort(y[:2000], stable=True).tensor_split(p)[rank]
    flatten, below, norm, relu, above = model = small_net()
    parameters = list(model.parameters())
    draw = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        rows = share[torch.randint(len(share), (32,), generator=draw)]
        inside = below(flatten(x[rows].double()))
        inside = normed(norm, inside, 32 * p) if normed else norm(inside)
        out = above(relu(inside))
        gradient = training.flat(torch.autograd.grad(cross_entropy(out, y[rows]), parameters))
        dist.all_reduce(gradient, op=dist.ReduceOp.AVG)
        weights = training.flat(parameters) - 0.5 * gradient
        nn.utils.vector_to_parameters(weights, parameters)
    seen = (out.argmax(1) == y[rows]).double().mean()
    dist.all_reduce(seen, op=dist.ReduceOp.AVG)
    return seen.item(), weights.detach().numpy(), norm.running_mean.numpy(), norm.running_var.numpy()


def evaluated(weights, mean, var, test_x: Tensor, test_y: Tensor) -> float:
    """The accuracy of `small_net` with these weights (one vector) and these running statistics of its norm."""
    model = small_net()
    nn.utils.vector_to_parameters(torch.tensor(weights), model.parameters())
    model[2].running_mean.copy_(torch.tensor(mean))
    model[2].running_var.copy_(torch.tensor(var))
    return training.evaluate(model, test_x.double(), test_y)[1]


def waves() -> Tensor:
    """Eight rows of three channels, float64, without a random number."""
    return torch.arange(24.0).double().reshape(8, 3).sin()


def norm_of_each_rank() -> np.ndarray:
    """This rank's share of `waves` after a batch norm of its own, for a run on 4 ranks."""
    rows = waves().tensor_split(dist.get_world_size())[dist.get_rank()]
    return nn.BatchNorm1d(3, affine=False).double()(rows).numpy()


def rows_depend_on_each_other(layer: nn.Module) -> bool:
    """True where the output of the first of 6 rows of 4 numbers changes if the other rows do."""
    rows = torch.randn(6, 4, generator=torch.Generator().manual_seed(2))
    others = rows.clone()
    others[1:] += 1
    return not torch.equal(layer(rows)[0], layer(others)[0])


def resnet50() -> tuple[list[int], int]:
    """The channels of each batch norm layer of ResNet-50, and the number of all its parameters (He et al. 2016, table
    1: 53 layers, 25,557,032 parameters).
    """
    channels, parameters, width_in = [64], 7 * 7 * 3 * 64, 64
    for blocks, width in zip((3, 4, 6, 3), (64, 128, 256, 512), strict=True):
        for block in range(blocks):
            channels += [width, width, 4 * width]
            parameters += width_in * width + 9 * width**2 + 4 * width**2
            if block == 0:  # the shortcut changes the number of channels
                channels.append(4 * width)
                parameters += width_in * 4 * width
            width_in = 4 * width
    return channels, parameters + 2 * sum(channels) + 2048 * 1000 + 1000
