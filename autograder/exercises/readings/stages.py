"""Stages of a pipeline: how layers are parted, what a pass is charged, and the same network in numpy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from autograder.exercise import Run
from labkit.watch.events import COMPUTE

FORWARD, BACKWARD = 1e-3, 2e-3  # virtual seconds of one micro-batch on one stage
INPUT, WEIGHTS = 1e-3, 1e-3  # of the two parts of a backward pass


# -- parts -----------------------------------------------------------------------------------------


def slowest(costs: Sequence[int], sizes: Sequence[int]) -> int:
    ends = list(itertools.accumulate(sizes))
    return max(sum(costs[end - size : end]) for size, end in zip(sizes, ends, strict=True))


def best_parts(costs: Sequence[int], p: int) -> list[int]:
    """By trying every cut."""
    n = len(costs)
    parted = (
        [b - a for a, b in itertools.pairwise((0, *cuts, n))] for cuts in itertools.combinations(range(1, n), p - 1)
    )
    return min(parted, key=lambda sizes: slowest(costs, sizes))


def filled_to_the_mean(costs: Sequence[int], p: int) -> list[int]:
    """Layers go to a stage until it has its share of the costs."""
    sizes, have = [0] * p, 0
    stage, mean = 0, sum(costs) / p
    for k, cost in enumerate(costs):
        if sizes[stage] and stage < p - 1 and (have + cost > mean or len(costs) - k <= p - 1 - stage):
            stage, have = stage + 1, 0
        sizes[stage] += 1
        have += cost
    return sizes


def equal_counts(n: int, p: int) -> list[int]:
    return [n // p + (r < n % p) for r in range(p)]


# -- what the relay saw of it ----------------------------------------------------------------------


def stage_contradiction(run: Run, nbytes: int) -> str:
    """A sentence if what stages say of their computing does not fit their messages; "" if it does.

    "F3", the fourth forward pass, needs four micro-batches from the stage before; four tensors can be sent on once
    it is over; "B3" and the stage behind likewise; and whoever has begun four and finished one keeps three.
    nbytes: of a micro-batch's tensor between two stages.
    """
    ranks, sender = range(len(run.ranks)), {e.match: e.rank for e in run.events if e.kind == "send"}
    for r in ranks:
        own = [e for e in run.events if e.rank == r and e.ended is not None]
        passes = sorted((e for e in own if e.kind == COMPUTE), key=lambda e: (e.posted, e.ended))
        for kind, before, behind in (("F", r - 1, r + 1), ("B", r + 1, r - 1)):
            done = [e for e in passes if e.label[:1] == kind]
            came = [e for e in own if e.kind == "recv" and sender.get(e.match) == before and e.dtype == "float64"]
            for k, one in enumerate(done):
                if before in ranks and sum(e.nbytes for e in came if e.ended <= one.posted) < (k + 1) * nbytes:
                    return f"rank {r} says that it computed {kind}{k} before its input had come from rank {before}"
            sent = [e for e in own if e.kind == "send" and e.peer == behind and e.dtype == "float64"]
            for one in sent:
                much = sum(e.nbytes for e in sent if e.posted <= one.posted)
                if much > sum(e.ended <= one.posted for e in done) * nbytes:
                    return f"rank {r} sent more to rank {behind} than it says it had computed"
        if (begun := begun_at_a_time(run, r)) * nbytes > run.ranks[r].peak:
            return f"rank {r} says that it kept fewer micro-batches than it had begun and not finished: {begun}"
    return ""


def begun_at_a_time(run: Run, rank: int) -> int:
    """The most micro-batches of a rank whose forward pass was over at any time and whose backward pass was not."""
    own = [e for e in run.events if e.rank == rank and e.kind == COMPUTE and e.ended is not None]
    passes = sorted(own, key=lambda e: (e.posted, e.ended))
    return max(itertools.accumulate({"F": 1, "B": -1}.get(e.label[:1], 0) for e in passes), default=0)


# -- the same in numpy -----------------------------------------------------------------------------


def backward_of(weights, biases, xs, ys, seeds=None, taken=None, latest=None, adds_up=False, per_batch: float = 1.0):
    """Gradients (p, n) and the loss of a chain of tanh(x W^T + b). xs, ys: (m, batch, width).

    seeds: what every rank begins its backward pass with in place of what came, or None. taken: for each rank, which of
    its micro-batches meets the gradient that comes first, second, ...; None: the first, the second. latest: for each
    rank, which micro-batch's input is in the memory of all inputs when the first gradient comes, the second, ...
    adds_up: the gradient that a rank sends is the sum of all so far. per_batch: a factor of the loss.
    """
    p = len(weights)
    into, out = [xs], []
    for w, b in zip(weights, biases, strict=True):
        out.append(np.tanh(into[-1] @ w.T + b))
        into.append(out[-1])
    error = out[-1] - ys
    gradient = per_batch * 2 * error / error.size
    found: list[np.ndarray] = [np.zeros(0)] * p
    for r in reversed(range(p)):
        if seeds is not None and r < p - 1:
            gradient = np.full_like(gradient, seeds)
        which = slice(None) if taken is None else taken[r]
        inner = gradient * (1 - out[r][which] ** 2)
        to_w = np.einsum("kbi,kbj->ij", inner, into[r][which if latest is None else latest[r]])
        found[r] = np.concatenate([to_w.ravel(), inner.sum(axis=(0, 1))])
        gradient = np.cumsum(inner @ weights[r], axis=0) if adds_up else inner @ weights[r]
    return found, float((error**2).mean() * per_batch)


def gradients(c, **how) -> list[dict]:
    return [{"gradients": one} for one in backward_of(c.weights, c.biases, c.xs, c.ys, **how)[0]]


def loss_of_the_last_rank(c, factor: float, which: slice = slice(None)) -> list[dict]:
    loss = backward_of(c.weights, c.biases, c.xs[which], c.ys[which])[1]
    return [*[{}] * (c.p - 1), {"loss": np.asarray(factor * loss)}]


def last_loss(c, factor: float | None = None) -> list[dict] | None:
    """factor: of the mean of the last micro-batch; None: its share of the minibatch's loss."""
    share = 1 / len(c.xs) if factor is None else factor
    return loss_of_the_last_rank(c, share, slice(-1, None)) if len(c.xs) > 1 else None


def of_the_last_alone(c) -> list[dict] | None:
    """The gradients that are left where every micro-batch overwrites the gradients of those before it."""
    m = len(c.xs)
    if m == 1:
        return None
    return [{"gradients": one} for one in backward_of(c.weights, c.biases, c.xs[-1:], c.ys[-1:], per_batch=1 / m)[0]]


def inner_gradient(c, gradient):
    """The gradient of the sum before the tanh. A bias for each feature is in it; one of the output's shape is not."""
    before = c.bias if c.bias is not None and c.bias.ndim == 1 else 0.0
    return gradient * (1 - np.tanh(c.xs @ c.weight.T + before) ** 2)


def input_gradient(c, gradient):
    return inner_gradient(c, gradient) @ c.weight


def weight_gradient(c, which: slice = slice(None), gradient=None):
    gradient = c.gradients if gradient is None else gradient
    inner = inner_gradient(c, gradient)[which]
    to_weight = np.einsum("kbi,kbj->ij", inner, c.xs[which]).ravel()
    if c.bias is None:
        return to_weight
    to_bias = inner.sum(axis=(0, 1)) if c.bias.ndim == 1 else gradient[which].sum(axis=0).ravel()
    return np.concatenate([to_weight, to_bias])
