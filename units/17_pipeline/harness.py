"""The harnesses of unit 17's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import weakref

import numpy as np
import torch
from torch import nn

from autograder.exercises.harness import as_lists
from autograder.exercises.readings.stages import BACKWARD, FORWARD, INPUT, WEIGHTS
from labkit.relay.charging import alive, compute


def by_default(f, p, second, v):
    return as_lists(f(p, second) if v == 1 else f(p, second, v))


def or_error(f, *arguments):
    try:
        return as_lists(f(*arguments))
    except ValueError:
        return "ValueError"


def partition(f, costs, p):
    return or_error(f, costs, p)


def order_interleaved(f, p, m, v):
    return [or_error(f, rank, p, m, v) for rank in range(p)]


class Charge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, out, stage, k):
        ctx.stage, ctx.k = stage, k
        return out.view_as(out)

    @staticmethod
    def backward(ctx, gradient):
        compute(BACKWARD, f"B{ctx.k}")
        # what is saved for this one goes now; if it does not, the next forward pass counts it
        alive(max(0, len(ctx.stage.held) - 1) * gradient.numel() * gradient.element_size())
        return gradient, None, None


class Saved:
    def __init__(self, tensor):
        self.tensor = tensor


class Stage(nn.Module):
    def __init__(self, weight, bias, table=None):
        super().__init__()
        self.table = None if table is None else torch.from_numpy(table)  # of the numbers of each token
        self.linear = nn.Linear(*weight.shape).double()
        with torch.no_grad():
            self.linear.weight.copy_(torch.from_numpy(weight))
            self.linear.bias.copy_(torch.from_numpy(bias))
        self.calls, self.held = 0, weakref.WeakSet()  # what autograd has saved and not freed

    def forward(self, x):
        k, self.calls = self.calls, self.calls + 1
        compute(FORWARD, f"F{k}")
        inner = self.linear(x if self.table is None else self.table[x])
        with torch.autograd.graph.saved_tensors_hooks(self.save, lambda saved: saved.tensor):
            out = torch.tanh(inner)  # autograd saves one tensor for it, its output
        if not out.requires_grad:
            return out
        alive(len(self.held) * out.numel() * out.element_size())
        return Charge.apply(out, self, k)

    def save(self, tensor):
        saved = Saved(tensor)
        self.held.add(saved)
        return saved


def mean_squared_error(out, y):
    return ((out - y) ** 2).mean()


def pipeline(f, weight, bias, xs, ys, m, shape, table):
    block = Stage(weight, bias, table)
    loss = f(block, mean_squared_error, xs and list(xs), ys and list(ys), m, tuple(shape))
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in block.parameters()]
    number = isinstance(loss, float) or isinstance(loss, torch.Tensor) and loss.numel() == 1
    return {
        "gradients": torch.cat([g.reshape(-1) for g in gradients]).numpy().copy(),
        "loss": np.array(float(loss)) if number else loss,  # an array: float64 is asked for
    }


class Mark(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, seconds, label, seen):
        ctx.say = seconds, label
        ctx.seen = seen
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient):
        compute(*ctx.say)
        ctx.seen.append(ctx.say[1])
        return gradient, None, None, None


# True if a parameter's .grad holds other numbers than before; that there is none any longer, the sum tells.
def has_new(parameters, before):
    pairs = [(p.grad, old) for p, old in zip(parameters, before, strict=True) if p.grad is not None]
    return any(old is None or not torch.equal(new, old) for new, old in pairs)


def split_backward(f, weight, bias, xs, gradients):
    parameters = [torch.nn.Parameter(torch.from_numpy(one)) for one in (weight, bias) if one is not None]
    seen, early, inputs, later = [], 0, [], []
    given = [gradient.clone() for gradient in gradients]
    for k, (x, gradient) in enumerate(zip(xs, gradients, strict=False)):
        x.requires_grad_()
        if bias is None:  # then x is no leaf either
            x = x.view_as(x)
            x.retain_grad()
        own = Mark.apply(parameters[0], WEIGHTS, f"W{k}", seen)
        inner, shift = Mark.apply(x, INPUT, f"B{k}", seen) @ own.T, sum(parameters[1:])
        late = bias is not None and bias.ndim == 2  # its gradient is that of out, in the same memory
        result = torch.tanh(inner) + shift if late else torch.tanh(inner + shift)
        out = Mark.apply(result, 0.0, "out", seen)
        before = [None if p.grad is None else p.grad.clone() for p in parameters]
        to_x, then = f(out, x, gradient, list(parameters))
        inputs.append(to_x.detach().clone() if isinstance(to_x, torch.Tensor) else to_x)
        later.append(then)
        early += f"W{k}" in seen or has_new(parameters, before)
        if 0 < k < len(xs) - 1:  # as in a pipeline: the gradients of the weights come one micro-batch later
            later[k - 1]()
    for then in later[max(0, len(xs) - 2) :]:
        then()
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return {
        "input": torch.stack(inputs).numpy().copy() if isinstance(inputs[0], torch.Tensor) else inputs[0],
        "early": early,
        "weights": torch.cat([one.reshape(-1) for one in found]).numpy().copy(),
        "twice": sum(label[0] == "B" for label in seen) - len(inputs),
        "more passes": max(0, seen.count("out") - 2 * len(inputs)),
        "changed": sum(not torch.equal(*pair) for pair in zip(gradients, given, strict=True)),
    }
