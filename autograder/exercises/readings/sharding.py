"""Harnesses of unit 15's exercises that count the bytes alive, and the same networks in numpy."""

from __future__ import annotations

import itertools
from bisect import bisect_right

import numpy as np

from autograder.exercise import Run, Tensor
from labkit.watch.events import COMPUTE

BYTES = 8  # of a float64

# What torch has made while `Alive` is on: `large(numbers)` says how many tensors of at least so many numbers are alive,
# `nbytes()` how many bytes in all. What is `given` does not count.
COUNTING = """
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Alive(TorchDispatchMode):
    def __init__(self, *given, changed=None):
        super().__init__()
        self.given, self.known, self.made, self.changed = [], set(), {}, changed
        for tensor in given:
            self.give(tensor)

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        before = len(self.made)
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor):
                storage = one.untyped_storage()
                if storage._cdata not in self.known and storage._cdata not in self.made:
                    self.made[storage._cdata] = StorageWeakRef(storage)
        if self.changed and len(self.made) != before:
            self.changed(self.nbytes())
        return result

    def give(self, tensor):
        storage = tensor.untyped_storage()
        self.given.append(storage)
        self.known.add(storage._cdata)
        self.made.pop(storage._cdata, None)

    def sizes(self):
        found = {key: torch.UntypedStorage._new_with_weak_ptr(ref.cdata) for key, ref in self.made.items()}
        self.made = {key: ref for key, ref in self.made.items() if found[key] is not None}
        return [storage.nbytes() for storage in found.values() if storage is not None]

    def nbytes(self):
        return sum(self.sizes())

    def large(self, numbers):
        return sum(nbytes >= 8 * numbers for nbytes in self.sizes())
"""

LAYERS = """
from labkit.relay.charging import alive as says, compute


class Layer:
    def __init__(self, number, shape, shard, counted, charges, done):
        self.number, self.shape, self.shard, self.below = number, shape, shard, None
        self.n, self.counted, self.charges, self.done = shape[0] * shape[1], counted, charges, done

    def forward(self, weights, x):
        self.input, self.output = x, torch.tanh(x @ self._whole(weights, "F", self.charges[0]))
        self.done("F", self.number)
        return self.output

    def backward(self, weights, g):
        g = g * (1 - self.output**2)
        self.below = below = g @ self._whole(weights, "B", self.charges[1]).T
        gradient = self.shard.new_zeros(len(self.shard) * torch.distributed.get_world_size())
        gradient[: self.n] = (self.input.T @ g).reshape(-1)
        self.counted.give(gradient)
        self.done("B", self.number)
        return below, gradient

    def _whole(self, weights, label, seconds):
        if weights.numel() < self.n:
            raise ValueError(f"a layer of {self.n} numbers got {weights.numel()}: it needs all of its weights")
        large = self.counted.large(self.n)
        self.counted.most[label] = max(self.counted.most[label], large)
        says(8 * self.n * large)
        compute(seconds, f"{label}{self.number}")
        return weights.reshape(-1)[: self.n].reshape(self.shape)


def harness(f, shapes, shards, x, y, charges, turns):
    shards = [shard.clone() for shard in shards]
    turns = [(label, k, i, new.clone()) for label, k, i, new in turns]
    counted = Alive(x, y, *shards, *(new for *_, new in turns))
    counted.most = {"F": 0, "B": 0}

    def done(label, number):  # time for other weights, unless too many are known to be whole
        for after, k, i, new in turns:
            if (after, k) == (label, number) and counted.most["F"] <= 2:
                shards[i].set_(new)

    layers = [Layer(k, shape, shard, counted, charges, done) for k, (shape, shard) in enumerate(zip(shapes, shards))]
    with counted:
        gradients = f(layers, x, lambda output: output - y)
    return {"gradients": gradients, "below": layers[0].below, **counted.most}
"""

BLOCKS = """
import gc
from labkit.relay.charging import alive as says


class Through(torch.autograd.Function):  # a block's input; done(number): its gradient is there
    @staticmethod
    def forward(x, number, done):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.of = inputs[1:]

    @staticmethod
    def backward(ctx, gradient):
        number, done = ctx.of
        done(number)
        return gradient, None, None


class Block:
    def __init__(self, number, up, down, draws, done):
        self.up, self.down, self.draws = up.requires_grad_(), down.requires_grad_(), draws
        self.number, self.forwards, self.masks, self.done = number, 0, [], done

    def __call__(self, x):
        self.forwards += 1
        x = Through.apply(x, self.number, self.done)
        inside = torch.tanh(x @ self.up)
        if self.draws:
            mask = torch.rand(inside.shape, dtype=inside.dtype) < 0.5
            self.masks.append(mask.tolist())
            inside = inside * mask
        return x + inside @ self.down


def harness(f, x, ups, downs, gy, every, draws, others):
    torch.manual_seed(5)
    plain = [(torch.rand((len(x), up.shape[1]), dtype=x.dtype) < 0.5).tolist() for up in ups]
    torch.manual_seed(5)
    peak = [0]

    def done(number):  # the gradient has come through a segment, or the loss is there: other weights before it
        if others and number % every == 0:
            for k in range(max(0, number - every), min(number, len(ups))):
                for new, old in zip(others, (ups, downs)):
                    old[k].data.copy_(new[k])

    blocks = [Block(k, up, down, draws, done) for k, (up, down) in enumerate(zip(ups, downs))]

    def changed(nbytes):
        peak.append(nbytes)
        says(nbytes)

    with Alive(x, gy, *ups, *downs, changed=changed) as alive:
        y = f(blocks, x.requires_grad_(), every)
        gc.collect()
        kept = alive.nbytes()
        done(-(-len(blocks) // every) * every)
        y.backward(gy)
    alike = all(mask == block.masks[0] for block in blocks for mask in block.masks)
    as_plain = not draws or [block.masks[:1] for block in blocks] == [[mask] for mask in plain]
    x_and_all = [torch.zeros_like(w) if w.grad is None else w.grad for w in (x, *ups, *downs)]
    found = {"y": y, "gradient of x": x_and_all[0], "gradients": x_and_all[1:]}
    found = {name: "drawn" for name in found} if draws else found
    masks = "others" if not alike else "alike" if as_plain else "not those of the plain run"
    return {**found, "masks": masks, "kept": kept, "peak": max(peak),
            "forwards": max(block.forwards for block in blocks)}
"""


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
