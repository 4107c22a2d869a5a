"""The harnesses of unit 11's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import operator

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from labkit.relay.charging import ask, compute


def or_error(f, *arguments):
    try:
        return f(*arguments)
    except ValueError:
        return "ValueError"


def scaled_rate(f, step, base_rate, base_batch, batch, warmup_steps, steps):
    return or_error(f, step, base_rate, base_batch, batch, warmup_steps, steps)


def is_alive(node):
    try:
        _ = node._saved_self
    except RuntimeError:
        return False
    return True


class Model(torch.nn.Module):
    """Its weights are one parameter or, with a `cut`, two: the last so many are the second."""

    def __init__(self, weight, cut):
        super().__init__()
        first, last = torch.from_numpy(weight).clone().split([len(weight) - cut, cut])
        self.weight = torch.nn.Parameter(first)
        if cut:
            self.last = torch.nn.Parameter(last)
        self.rows, self.nodes, self.alive = [], [], []

    def forward(self, x):
        weights = list(self.parameters())
        out = x @ (torch.cat(weights) if len(weights) > 1 else weights[0])
        self.rows.append(len(x))
        if out.grad_fn is not None:
            self.nodes.append(out.grad_fn)
        self.alive.append(sum(map(is_alive, self.nodes)))
        return out


def accumulate_uneven(f, weight, micro_batches, n, cut):
    module = Model(weight, cut)
    model = DistributedDataParallel(module)
    dist.barrier()
    f(model, list(zip(*micro_batches, strict=False)), n)
    parameters = list(module.parameters())
    return {
        "gradient": torch.cat([torch.zeros_like(w) if w.grad is None else w.grad for w in parameters]),
        "kept": bool((torch.cat(parameters).detach() == torch.from_numpy(weight)).all()),
        "silent": not model.require_backward_grad_sync,
        "largest": max(module.rows, default=0),
        "graphs": max(module.alive, default=0),
    }


def trust_step(f, shards, updates, adapt, lr, trust):
    held, given = list(shards), [u.clone() for u in updates]
    f(shards, updates, list(adapt), lr, trust)
    return {"weights": held, "kept": len(updates) == len(given) and all(map(torch.equal, given, updates))}


def noise_scale(f, gradient, b):
    found = or_error(f, gradient, b)
    if isinstance(found, str):
        return {"gradient": found, "noise": found}
    mean, noise = found
    return {"gradient": mean, "noise": float(noise)}


def global_moments(f, x):
    mean, var = f(x)
    return {"mean": mean, "var": var}


def sync_norm_backward(f, g, xhat, weight, inv, n):
    gx, of_weight, of_bias = f(g, xhat, weight, inv, n)
    return {"gx": gx, "weight": of_weight, "bias": of_bias}


def ghost_batch_norm(f, x, ghost, eps):
    return or_error(f, x, ghost, eps)


def train_and_validate(f, judge, steps, every, n):
    done = []

    def step(k):
        compute(0.002, f"S{k}")
        dist.all_reduce(torch.zeros(2, dtype=torch.float64))
        done.append(k)

    def correct(start, stop):
        if not 0 <= start <= stop <= n:
            raise ValueError(f"samples {start} to {stop} of {n}")
        return ask(judge, [len(done), operator.index(start), operator.index(stop)])

    return {"accuracies": f(step, correct, steps, every, n), "steps": done}
