"""The machinery of unit 14: points to classify and networks for them, learning curves by formula, and the records of
a manager that hands out rungs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

# --- networks ---------------------------------------------------------------------------------------------------------


def points(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """n points in 6 dimensions, (n, 6), and their classes, 0 or 1, (n,); about one label in ten is wrong."""
    draws = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=draws)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
    return x, y ^ (torch.rand(n, generator=draws) < 0.1)


@torch.no_grad()
def loss_and_error(net: nn.Module, data: tuple[Tensor, Tensor]) -> tuple[float, float]:
    """The mean cross-entropy of a network on such points, and the share that it gets wrong."""
    out = net(data[0])
    wrong = (out.argmax(dim=1) != data[1]).double().mean().item()
    return F.cross_entropy(out, data[1]).item(), wrong


def trained(
    data: tuple[Tensor, Tensor], epochs: int, lr: float, momentum: float, layers: int, activation: str
) -> nn.Sequential:
    """A network after `epochs` epochs of SGD on these points with minibatches of 20, always from the same start.

    layers: hidden ones, 32 wide. activation: "relu", "tanh" or "gelu".
    """
    torch.manual_seed(0)
    act = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}[activation]
    widths = [6] + [32] * layers
    parts = [p for a, b in zip(widths, widths[1:], strict=False) for p in (nn.Linear(a, b), act())]
    net = nn.Sequential(*parts, nn.Linear(widths[-1], 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum)
    x, y = data
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(20):
            optimizer.zero_grad()
            F.cross_entropy(net(x[batch]), y[batch]).backward()
            optimizer.step()
    return net


def in_words(config: Mapping[str, object]) -> str:
    """A configuration as text, floats with three digits: "lr 0.0316, layers 2"."""
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in config.items()
    )


def reported_minus_true(wrong: np.ndarray, searches: int = 1000) -> dict[str, list[float]]:
    """Percentage points by which the reported error of the best of many networks exceeds its true one, for each search:
    once chosen and reported by the same 200 test points, once chosen by 200 other points.

    wrong: (networks, points), True where a network gets a point wrong.
    """
    true, draws = wrong.mean(axis=1), np.random.default_rng(0)
    found: dict[str, list[float]] = {"chosen and reported by the test set": [], "chosen by validation": []}
    for _ in range(searches):
        some = draws.integers(0, wrong.shape[1], 400)
        validation = wrong[:, some[:200]].mean(axis=1)
        test = wrong[:, some[200:]].mean(axis=1)
        for kept, choice in zip(found.values(), (test.argmin(), validation.argmin()), strict=True):
            kept.append(100 * (test[choice] - true[choice]))
    return found


# --- learning curves by formula ---------------------------------------------------------------------------------------


def curve(config: Mapping, epochs):
    """The loss of a configuration (lr, momentum, layers) after `epochs` epochs, a number or an array: the best rate is
    10^-1.5, and with more layers it falls more slowly.
    """
    off = abs(np.log10(config["lr"]) + 1.5)  # orders of magnitude from the best rate
    end = min(2.3, 0.12 + 0.3 * off + 0.1 * (1 - config["momentum"]))
    pace = 2 + config["layers"]
    return end + (2.3 - end) * np.exp(-np.asarray(epochs) / pace)


def crossing(k: int, epochs):
    """The loss of curve k of 81 after `epochs` epochs: the smaller k, the lower its end, and the slower its fall."""
    end, pace = 0.1 + 0.015 * k, 2 + 30 * (1 - k / 80) ** 3
    return end + (2.3 - end) * np.exp(-np.asarray(epochs) / pace)


# --- who trains what --------------------------------------------------------------------------------------------------

Rungs = Sequence[Mapping[int, float]]  # of each rung: trial -> loss
Started = Sequence[Sequence[int]]  # of each rung: trials


def halving_next(finished: Rungs, started: Started, n: int, eta: int) -> tuple[int, int] | None:
    """The trial and the rung that an idle worker takes under successive halving of n trials; None while it has to wait
    for a rung to be complete.
    """
    if len(started[0]) < n:
        return len(started[0]), 0
    for k in range(len(finished) - 1):
        if len(finished[k]) < n // eta**k:
            return None
        best = sorted(finished[k], key=finished[k].get)[: n // eta ** (k + 1)]
        free = [i for i in best if i not in started[k + 1]]
        if free:
            return free[0], k + 1
    return None


def all_to_the_end(finished: Rungs, started: Started, n: int, eta: int) -> tuple[int, int] | None:
    """The next of n trials, on the only rung there is; None when all have begun."""
    return (len(started[0]), 0) if len(started[0]) < n else None


class Table:
    """The records of a manager: which trials have started and finished which rung.

    rule: function, rule(finished, started, n, eta) is (trial, rung) or None, as `halving_next`. n: trials. R: epochs of
    the highest rung; each rung below has eta times fewer. `.rungs` are the epochs of each, `.finished` its losses.
    """

    def __init__(self, rule: Callable, n: int, R: int, eta: int) -> None:
        steps = [1] if rule is all_to_the_end else [eta**k for k in range(9) if eta**k <= R]
        self.rungs = sorted(R // step for step in steps)
        self.rule, self.n, self.eta = rule, n, eta
        self.finished: list[dict[int, float]] = [{} for _ in steps]
        self.started: list[list[int]] = [[] for _ in steps]

    def next_job(self) -> tuple[int, int] | None:
        """The next job, (trial, epochs), or None."""
        found = self.rule(self.finished, self.started, self.n, self.eta)
        if found is None:
            return None
        self.started[found[1]].append(found[0])
        return found[0], self.rungs[found[1]]

    def report(self, job: tuple[int, int], loss: float) -> None:
        """Enter the loss of a job that is done."""
        self.finished[self.rungs.index(job[1])][job[0]] = loss

    def new_epochs(self, epochs: int) -> int:
        """The epochs of a job that begins where the rung before has ended."""
        k = self.rungs.index(epochs)
        return epochs - (self.rungs[k - 1] if k else 0)

    def spent(self) -> int:
        """The epochs of all jobs so far."""
        return sum(len(jobs) * self.new_epochs(epochs) for jobs, epochs in zip(self.started, self.rungs, strict=True))

    def best(self) -> float | None:
        """The smallest loss so far; None before there is one."""
        return min((loss for rung in self.finished for loss in rung.values()), default=None)
