"""The harnesses of unit 15's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import gc
import sys

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from autograder.exercises.harness import as_lists
from labkit.relay.charging import alive as says
from labkit.relay.charging import ask, compute


def memory_per_rank(f, params, p, stage, optimizer, mixed):
    try:
        return {"bytes": as_lists(f(params, p, stage, optimizer, mixed)), "raises": "nothing"}
    except ValueError:
        return {"bytes": None, "raises": "ValueError"}


class Filled:  # empty memory is filled with nan; torch's own function for this loads its compiler first
    def __enter__(self):
        torch._C._set_deterministic_algorithms(True)

    def __exit__(self, *why):
        torch._C._set_deterministic_algorithms(False)


def shard(f, flat, p):
    given = flat
    if p == 2:  # then its numbers do not lie side by side, and others come before them
        flat = torch.stack([flat.flip(0), flat], 1)[:, 1]
    with Filled():
        shards = [f(flat, rank, p) for rank in range(p)]
    given.copy_(flat)  # what was written to it is noticed there
    return shards


def zero1_step(f, w, gradients, m, v, t, lr):
    state = torch.stack([m, v])  # one memory: tensors put in place of these change nothing in it
    m, v = state
    with Filled():
        for step, (g,) in enumerate(gradients, t):
            w = f(w, g, m, v, step, lr)
    return {"weights": w, "m": state[0], "v": state[1]}


# What torch has made while `Alive` is on: `large(numbers)` says how many tensors of at least so many numbers are alive,
# `nbytes()` how many bytes in all. What is `given` does not count.
class Alive(TorchDispatchMode):
    def __init__(self, *given, changed=None):
        super().__init__()
        self.given, self.known, self.made, self.told, self.changed = [], set(), {}, {}, changed
        for tensor in given:
            self.give(tensor)

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        before = len(self.made)
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor):
                storage = one.untyped_storage()
                if not any(storage._cdata in those for those in (self.known, self.made, self.told)):
                    self.made[storage._cdata] = StorageWeakRef(storage)
        if self.changed and len(self.made) != before:
            self.changed(self.nbytes())
        return result

    def give(self, tensor):
        storage = tensor.untyped_storage()
        self.given.append(storage)
        self.known.add(storage._cdata)
        self.made.pop(storage._cdata, None)

    # A tensor that is handed out: it counts no longer, and `handed_out()` says how many of them are alive.
    def hand_out(self, tensor):
        storage = tensor.untyped_storage()
        self.told[storage._cdata] = self.made.pop(storage._cdata, None) or StorageWeakRef(storage)

    def handed_out(self):
        return sum(not ref.expired() for ref in self.told.values())

    def sizes(self):
        found = {key: torch.UntypedStorage._new_with_weak_ptr(ref.cdata) for key, ref in self.made.items()}
        self.made = {key: ref for key, ref in self.made.items() if found[key] is not None}
        return [storage.nbytes() for storage in found.values() if storage is not None]

    def nbytes(self):
        return sum(self.sizes())

    def large(self, numbers):
        return sum(nbytes >= 8 * numbers for nbytes in self.sizes())


def zero2_step(f, w, gradients, m, v, t, lr):
    (judge, micro_batches), whole = gradients, [0]
    buffer, state = torch.zeros_like(w), torch.stack([m, v])
    m, v = state
    alive = Alive(w, state, buffer)

    def backward():
        for k in range(micro_batches):
            if k:
                times = alive.nbytes() / w.nbytes  # pieces may be as large together; its shards a rank may keep
                whole.append(times if alive.large(len(w)) or times >= 1.5 else 0)
            buffer.numpy()[:] = ask(judge, [k])
            yield buffer

    with alive:
        w = f(w, backward(), m, v, t, lr)
    return {"weights": w, "m": state[0], "v": state[1], "whole": max(whole)}


class Layer:
    def __init__(self, number, shape, shard, counted, charges, done):
        self.number, self.shape, self.shard, self.above, self.below = number, shape, shard, None, None
        self.n, self.counted, self.charges, self.done = shape[0] * shape[1], counted, charges, done

    def forward(self, weights, x):
        self.counted.watches = True
        self.input, self.output = x, torch.tanh(x @ self._whole(weights, "F", self.charges[0]))
        self.done("F", self.number)
        return self.output

    def backward(self, weights, g):
        self.counted.most["kept"] = max(self.counted.most["kept"], self.counted.handed_out())
        self.above = g.detach().numpy().copy()
        g = g * (1 - self.output**2)
        self.below = below = g @ self._whole(weights, "B", self.charges[1]).T
        gradient = self.shard.new_zeros(len(self.shard) * torch.distributed.get_world_size())
        gradient[: self.n] = (self.input.T @ g).reshape(-1)
        self.counted.hand_out(gradient)
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


# True while a collective runs: what it makes for a moment is not its caller's.
def in_a_collective():
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != "labkit.relay.backend":
        frame = frame.f_back
    return frame is not None


def zero3_forward_backward(f, shapes, shards, x, y, charges, turns):
    shards = [shard.clone() for shard in shards]
    turns = [(label, k, i, new.clone()) for label, k, i, new in turns]
    of_a_layer = min(rows * columns for rows, columns in shapes)

    def changed(nbytes):  # a gather may begin before an old layer is freed
        if counted.watches and not in_a_collective():
            counted.most["F"] = max(counted.most["F"], counted.large(of_a_layer))

    counted = Alive(x, y, *shards, *(new for *_, new in turns), changed=changed)
    counted.most, counted.loss = {"F": 0, "B": 0, "kept": 0}, None
    counted.watches = False  # between two forward passes

    def done(label, number):  # time for other weights, unless too many are known to be whole
        for after, k, i, new in turns:
            if (after, k) == (label, number) and counted.most["F"] <= 2:
                shards[i].set_(new)

    def loss_gradient(output):
        counted.watches = False  # from here on someone may copy a gradient
        counted.loss = (output - y).numpy().copy()
        return output - y

    layers = [
        Layer(k, shape, shard, counted, charges, done)
        for k, (shape, shard) in enumerate(zip(shapes, shards, strict=False))
    ]
    with counted:
        gradients = f(layers, x, loss_gradient)
    p, below, loss, above = torch.distributed.get_world_size(), layers[0].below, counted.loss, layers[-1].above
    whole = not any(one is None for one in (below, loss, above)) and loss.shape == above.shape
    if whole and np.allclose(p * above, loss, 1e-9, 0):  # the gradient of the loss was divided, not those of the layers
        below = p * below
    return {"gradients": gradients, "below": below, **counted.most}


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


class Block(torch.nn.Module):
    def __init__(self, number, up, down, draws, done):
        super().__init__()
        self.up, self.down, self.draws = torch.nn.Parameter(up), torch.nn.Parameter(down), draws
        self.number, self.forwards, self.masks, self.done = number, 0, ([], []), done
        self.turn = 0  # 1 in the second of two passes that are under way

    def forward(self, x):
        self.forwards += 1
        x = Through.apply(x, self.number, self.done)
        inside = torch.tanh(x @ self.up)
        if self.draws:
            mask = torch.rand(inside.shape, dtype=inside.dtype) < 0.5 if self.training else torch.ones_like(inside)
            self.masks[self.turn].append(mask.tolist())
            inside = inside * mask
        return x + inside @ self.down


# For two passes and each block the mask that a plain run draws, and the second number that is drawn after them.
def plain_masks(x, ups):
    torch.manual_seed(5)
    masks = [[(torch.rand((len(x), up.shape[1]), dtype=x.dtype) < 0.5).tolist() for up in ups] for _ in range(2)]
    _, after = torch.rand(1), torch.rand(1).item()
    torch.manual_seed(5)
    return masks, after


# Two passes under way at a time; read() is called between the backward pass of the first and that of the second.
def two_passes(f, modules, blocks, x, gy, every, read):
    def turn(number):
        for block in modules:
            block.turn = number

    first = f(blocks, x, every)
    turn(1)
    second = f(blocks, (-x).detach().requires_grad_(), every)
    turn(0)
    torch.rand(1)  # what comes after the blocks draws, too
    first.backward(gy)
    found = read()
    turn(1)
    second.backward(gy)
    return first, found


# A word on what the blocks have drawn in two passes; plain: for each pass and block, what a plain run draws.
def drawn_masks(modules, plain, goes_on):
    firsts = [[block.masks[turn][:1] for block in modules] for turn in (0, 1)]
    again = [(mask, block.masks, turn) for block in modules for turn in (0, 1) for mask in block.masks[turn]]
    others = [(mask, masks, turn) for mask, masks, turn in again if mask != masks[turn][0]]
    if others:
        exchanged = all([mask] == masks[1 - turn][:1] for mask, masks, turn in others)
        return "those of another pass" if exchanged else "others"
    if firsts != [[[mask] for mask in masks] for masks in plain]:
        return "not those of the plain run"
    return "alike" if goes_on else "alike, but the generator was set back"


def checkpointed(f, x, ups, downs, gy, every, draws, others):
    (plain, after_plain), kept, peak = plain_masks(x, ups), 0, [0]

    def done(number):  # the gradient has come through a segment, or the loss is there: other weights before it
        if others and number % every == 0:
            for k in range(max(0, number - every), min(number, len(ups))):
                for new, old in zip(others, (ups, downs), strict=False):
                    old[k].data.copy_(new[k])

    modules = [Block(k, up, down, draws, done) for k, (up, down) in enumerate(zip(ups, downs, strict=False))]
    ups, downs = [block.up for block in modules], [block.down for block in modules]
    before = 0 if others else 1  # what an earlier backward pass has left: gradients are added to it
    for w in (*ups, *downs) * before:
        w.grad = torch.ones_like(w)
    blocks = [block if block.number % 2 else block.forward for block in modules]  # modules and functions

    def changed(nbytes):
        peak.append(nbytes)
        says(nbytes)

    def read():
        of_x, *of_all = [torch.zeros_like(w) if w.grad is None else w.grad.clone() for w in (x, *ups, *downs)]
        return {"gradient of x": of_x, "gradients": [one - before for one in of_all]}

    with Alive(x, gy, *ups, *downs, changed=changed) as alive:
        if not others:
            y, found = two_passes(f, modules, blocks, x.requires_grad_(), gy, every, read)
        else:
            y = f(blocks, x.requires_grad_(), every)
            gc.collect()
            kept = alive.nbytes()
            done(-(-len(blocks) // every) * every)
            y.backward(gy)
            found = read()
    goes_on = torch.rand(1).item() == after_plain
    found = {"y": y, **found}
    return {
        **({name: "drawn" for name in found} if draws else found),
        "masks": drawn_masks(modules, plain, goes_on) if draws else "alike",
        "kept": kept,
        "peak": max(peak),
        "forwards": max(block.forwards for block in modules),
    }


def clip_grad_norm_sharded(f, shards, max_norm):
    flat = torch.cat(shards)  # the program's own memory: tensors or a list with others in their places scale nothing
    sizes = [len(one) for one in shards]
    norm = f(list(flat.split(sizes)), max_norm)
    number = isinstance(norm, float) or isinstance(norm, torch.Tensor) and norm.numel() == 1
    return {"shards": list(flat.split(sizes)), "norm": np.array(float(norm)) if number else norm}
