"""The networks of unit 15's exercises in numpy, and readings of the bytes that a rank kept alive."""

from __future__ import annotations

import itertools
from bisect import bisect_right

import numpy as np

from autograder.exercise import Run, Tensor
from labkit.watch.events import COMPUTE

BYTES = 8  # of a float64


# -- shards and sums in numpy ---------------------------------------------------------------------


def size_of_shard(n: int, p: int) -> int:
    return -(-n // p)


def padded(values: np.ndarray, p: int) -> np.ndarray:
    """With zeros at the end, so that p divides its length."""
    return np.concatenate([values, np.zeros(-len(values) % p, values.dtype)])


def shards_of(values: np.ndarray, p: int) -> list[np.ndarray]:
    return np.split(padded(values, p), p)


def tensors(arrays, dtype: str = "float64") -> list[Tensor]:
    return [Tensor(np.asarray(array), dtype) for array in arrays]


def adam(w, g, m, v, t, lr):
    """One step, as the lesson's `adam`: new w, m, v."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v


def over_the_links(run: Run) -> float:
    return sum(run.link_bytes.values())


def called(run: Run) -> list[list[str]]:
    """The collectives of each rank; a barrier is one."""
    return [list(rank.collectives) for rank in run.ranks]


def not_sent(run: Run, rank: int, nbytes: float) -> int:
    """The most gradients of micro-batches that a rank had computed and not yet sent when it computed the next one.

    nbytes: what it has to send of each.
    """
    events = [event for event in run.events if event.rank == rank]
    begun = sorted(event.posted for event in events if event.kind == COMPUTE)
    sent = sorted((event.posted, event.nbytes) for event in events if event.kind not in (COMPUTE, "recv"))
    times, sums = [at for at, _ in sent], [0, *itertools.accumulate(size for _, size in sent)]
    return max((k - int(sums[bisect_right(times, now)] / nbytes) for k, now in enumerate(begun) if k), default=0)


STATES = {"adam": 8, "momentum": 4, "sgd": 0}  # bytes of a parameter


def parts(optimizer: str, mixed: bool) -> tuple[int, int, int]:
    """Bytes of a parameter: itself, its gradient, the optimizer's state."""
    return (2, 2, STATES[optimizer] + 4) if mixed else (4, 4, STATES[optimizer])


def held(params: int, p: int, stage: int, sizes: tuple[int, int, int], share=None) -> float:
    share = size_of_shard(params, p) if share is None else share
    return sum(size * (share if stage >= first else params) for size, first in zip(sizes, (3, 2, 1), strict=True))


def gradients_of(weights, x, y, backward=None) -> tuple[list[np.ndarray], np.ndarray]:
    """The gradients of layers tanh(x W) one after the other, with output - y as the gradient of the loss, and that of
    x. backward: the weights in the backward pass, if they are others."""
    seen = [x]
    for w in weights:
        seen.append(np.tanh(seen[-1] @ w))
    g, found = seen[-1] - y, []
    for w, below, above in zip((backward or weights)[::-1], seen[-2::-1], seen[::-1], strict=False):
        g = g * (1 - above**2)
        found.append(below.T @ g)
        g = g @ w.T
    return found[::-1], g


def through_blocks(x, ups, downs, gy, others=(), every=1, old=0) -> tuple[np.ndarray, list[np.ndarray]]:
    """Blocks x + tanh(x U) D one after the other: the output, and the gradients of x, of each U, of each D.

    others: the Us and Ds when segments of `every` blocks are computed again, if they are not the same. old: so many
    blocks' insides are still those of the forward pass.
    """
    seen = [x]
    for up, down in zip(ups, downs, strict=True):
        seen.append(seen[-1] + np.tanh(seen[-1] @ up) @ down)
    again_ups, again_downs = others or (ups, downs)
    of_ups, of_downs, again, inside = [], [], [], []
    for k, up in enumerate(again_ups):
        again.append(seen[k] if k % every == 0 or k < old else again[-1] + inside[-1] @ again_downs[k - 1])
        inside.append(np.tanh(again[-1] @ (ups[k] if k < old else up)))
    for k in reversed(range(len(ups))):
        of_downs.insert(0, inside[k].T @ gy)
        to_inside = gy @ again_downs[k].T * (1 - inside[k] ** 2)
        of_ups.insert(0, again[k].T @ to_inside)
        gy = gy + to_inside @ again_ups[k].T
    return seen[-1], [gy, *of_ups, *of_downs]
