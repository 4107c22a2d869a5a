"""Unit 06, DistributedDataParallel: wrapping, uneven batches, accumulation, buckets, checkpoints."""

from __future__ import annotations

import itertools

import numpy as np

from autograder.exercise import ANYTHING, Case, Diagnosis, Exercise, Finding, Run, Tensor

UNIT = "06_ddp"
MOMENTUM = 0.9

# The network of every case: two linear layers with a tanh between them, float64, its parameters one flat array.
MODEL = """
import builtins
import io
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel


def build(values, sizes):
    inputs, hidden, classes = sizes
    model = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, classes)).double()
    parts = torch.from_numpy(values).split([p.numel() for p in model.parameters()])
    with torch.no_grad():
        for parameter, part in zip(model.parameters(), parts):
            parameter.copy_(part.view_as(parameter))
    return model


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors]).numpy().copy()


def gradients(model):
    return flat([torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()])


def plain(numbers):
    try:
        return [float(number.detach() if isinstance(number, torch.Tensor) else number) for number in numbers]
    except TypeError:
        return numbers
"""

# Where the ranks of one case find each other's files; the launcher removes the folder when the case is over.
FOLDER = """
folder = os.path.join(tempfile.gettempdir(), f"labkit-case-{os.getppid()}")
os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, "checkpoint.pt")
"""


# -- the same network in numpy: what the sequential run would give ------------------------------------------------------


def start_values(rng: np.random.Generator, sizes: tuple[int, int, int]) -> np.ndarray:
    """Random parameters of the network, shape (number of parameters,): W1 (h, d), b1 (h,), W2 (c, h), b2 (c,)."""
    d, h, c = sizes
    return rng.normal(0, 0.7, h * d + h + c * h + c)


def draw_batch(rng: np.random.Generator, n: int, sizes: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """x, shape (n, d), and labels, int64, shape (n,)."""
    return rng.normal(0, 1, (n, sizes[0])), rng.integers(0, sizes[2], n)


def as_tensors(batch: tuple[np.ndarray, np.ndarray]) -> tuple[Tensor, Tensor]:
    return Tensor(batch[0], "float64"), Tensor(batch[1], "int64")


def joined(batches: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])


def loss_and_gradient(values: np.ndarray, batch, sizes, total: float | None = None) -> tuple[float, np.ndarray]:
    """Cross-entropy summed over a batch and divided by `total` (None: its own number of samples), and the gradient of that."""
    d, h, c = sizes
    w1, b1, w2, b2 = np.split(values, np.cumsum([h * d, h, c * h]))
    w1, w2 = w1.reshape(h, d), w2.reshape(c, h)
    x, y = batch
    n = len(x) if total is None else total
    hidden = np.tanh(x @ w1.T + b1)
    logits = hidden @ w2.T + b2
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    if not len(x):
        return 0.0, np.zeros_like(values)
    to_logits = (np.exp(log_p) - np.eye(c)[y]) / n
    to_hidden = (to_logits @ w2) * (1 - hidden**2)
    parts = (to_hidden.T @ x, to_hidden.sum(axis=0), to_logits.T @ hidden, to_logits.sum(axis=0))
    return float(-log_p[np.arange(len(y)), y].sum() / n), np.concatenate([part.ravel() for part in parts])


def sgd(values, batches, sizes, lr: float, *, zero_grad: bool = True) -> tuple[np.ndarray, list[float]]:
    """Sequential SGD: the parameters after one step per batch, and the loss of each batch before its step."""
    losses, gradient = [], np.zeros_like(values)
    for batch in batches:
        loss, new = loss_and_gradient(values, batch, sizes)
        gradient = new if zero_grad else gradient + new
        values = values - lr * gradient
        losses.append(loss)
    return values, losses


def shown(expected: list, wrong: dict[str, list | None]) -> dict[str, list | None]:
    """`wrong` with None for what cannot be told from `expected`, or from a mistake named before it, in this case."""
    seen, result = [expected], {}
    for name, value in wrong.items():
        result[name] = None if value is None or value in seen else value
        seen.append(value)
    return result


BY_HAND_OR_NOT_AT_ALL = Diagnosis(
    "The result is right, but the samples did not go through DistributedDataParallel: you averaged the gradients yourself.",
    "Wrap the model, `ddp = DistributedDataParallel(model)`, call `ddp(x)` and leave the gradients to its backward pass.",
)


class TrainDDP(Exercise):
    """Training with DistributedDataParallel"""

    unit, function = UNIT, "train_ddp"
    signature = "train_ddp(model: nn.Module, batches: list, lr: float) -> list[float]"
    levels = {"the weights of the sequential run": 2, "the loss of all ranks": 1}
    may_lose = {
        "int64": "the only integers are labels of a few classes",
        "integers of both widths": "labels are int64 in torch",
    }
    harness = (
        MODEL
        + """

def harness(f, values, sizes, batches, lr):
    passes, forward = [], DistributedDataParallel.forward

    def counted(self, *arguments, **options):
        passes.append(torch.is_grad_enabled())
        return forward(self, *arguments, **options)

    DistributedDataParallel.forward = counted
    model = build(values, sizes)
    try:
        losses = f(model, batches, lr)
    finally:
        DistributedDataParallel.forward = forward
    return {"weights": flat(model.parameters()), "losses": plain(losses), "passes": sum(passes)}
"""
    )
    diagnoses = {
        "not_wrapped": Diagnosis(
            "Every rank trained its own model from its own start: nothing passed between the ranks.",
            "Wrap the model, `ddp = DistributedDataParallel(model)`, and call `ddp(x)`.",
        ),
        "bypasses_ddp": Diagnosis(
            "All ranks started alike, but then each stepped along its own gradient: the forward pass went past DDP, so its "
            "backward pass had nothing to synchronise.",
            "Call `ddp(x)`, not `model(x)` or `ddp.module(x)`, and not inside `no_sync()`.",
        ),
        "copy_trained": Diagnosis(
            "`model` still holds what it held at the start: something else was trained.",
            "DDP does not copy: wrap `model` itself, and give the optimizer the parameters of that object.",
        ),
        "never_updated": Diagnosis(
            "DDP gave all ranks the values of rank 0, and no step ever reached them.",
            "The optimizer must hold the parameters that DDP wraps: build it from `ddp.parameters()`, and call its step().",
        ),
        "divided_again": Diagnosis(
            "The steps are too short by the number of ranks: DDP already divides the gradients by it.",
            "Leave gradient, loss and learning rate as they are: DDP's result is the mean.",
        ),
        "times_world_size": Diagnosis(
            "The steps are too long by the number of ranks: gradients were summed, or the learning rate was scaled.",
            "Here the global batch is the sequential one, so its learning rate is right as it is.",
        ),
        "no_zero_grad": Diagnosis(
            "Old gradients were never cleared: each step contains all gradients before it.",
            "`optimizer.zero_grad()` in every step.",
        ),
        "summed_loss": Diagnosis(
            "The loss was summed over the samples of a batch, not averaged.", "`cross_entropy` averages if you let it."
        ),
        "one_step_only": Diagnosis("Only the first batch was trained on.", "One step for every entry of `batches`."),
        "weights_averaged": Diagnosis(
            "Every rank trained alone and the weights were averaged at the end. That is another method (local SGD).",
            "DDP averages the gradients in every step.",
        ),
        "unequal_starts": Diagnosis(
            "The gradients were averaged, but the ranks started with different weights and keep their distance for ever.",
            "`DistributedDataParallel(model)` sends rank 0's weights to all, before anything else.",
        ),
        "with_momentum": Diagnosis(
            "The first step is right, the others go further: these are steps with a momentum of 0.9.",
            "Plain SGD is asked for: `torch.optim.SGD(..., lr=lr)`.",
        ),
        "one_share_only": Diagnosis(
            "Only rank 0's share of the batches was trained on.",
            "Every rank trains on its own share, and DDP averages the gradients.",
        ),
        "other_learning_rate": Diagnosis(
            "The steps have the right direction and the wrong length.",
            "Use `lr` as it is, and leave the gradients as DDP made them.",
        ),
        "weight_decay": Diagnosis(
            "Besides the gradient every step takes off a part of the weights themselves: that is weight decay.",
            "Plain SGD is asked for: `torch.optim.SGD(..., lr=lr)`.",
        ),
        "low_precision": Diagnosis(
            "The weights are right to some digits only: on their way they went through float32, float16 or bfloat16.",
            "Model and batches are float64 here; leave them so, and the gradients on the network too.",
        ),
        "other_steps": Diagnosis(
            "All ranks hold the same weights, but not those that plain SGD reaches on the whole minibatches.",
            "`torch.optim.SGD(..., lr=lr)`, no other optimizer and no schedule; one step for each entry of `batches`, in their order.",
        ),
        "ranks_differ": Diagnosis(
            "After the training the ranks hold different weights.",
            "What DDP has averaged is the same everywhere: let nothing that depends on the rank come between it and the step.",
        ),
        "by_hand": BY_HAND_OR_NOT_AT_ALL,
        "running_mean": Diagnosis(
            "Each number is the mean of all losses so far.", "One number per step: the loss of that step's minibatch."
        ),
        "one_tensor": Diagnosis(
            "Every entry is the loss of the last step: one and the same tensor was appended again and again, and each step wrote into it.",
            "Append a number, `loss.item()`, or a tensor of its own, `loss.detach().clone()`.",
        ),
        "rounded": Diagnosis("The losses were rounded.", "Return them as they are, and round where you print them."),
        "other_losses": Diagnosis(
            "The weights are right, but what is returned is not the loss of the whole minibatches.",
            "Average each step's loss over the ranks: all_reduce, then divide by `dist.get_world_size()`.",
        ),
        "own_loss": Diagnosis(
            "Each rank reports the loss of its own share as if it were everybody's.",
            "DDP averages gradients, nothing else: average the loss with an all_reduce.",
        ),
        "loss_summed_over_ranks": Diagnosis(
            "The losses of the ranks were added up, not averaged.", "Divide by `dist.get_world_size()`."
        ),
        "loss_divided_twice": Diagnosis("The loss was divided by the number of ranks twice.", "Once is enough."),
        "loss_after_the_step": Diagnosis(
            "This is the loss after each step, not the one the step was made from.",
            "Keep the loss you called backward() on; a second forward pass costs as much as the first.",
        ),
        "loss_of_one_rank": Diagnosis(
            "All ranks report the loss of one rank's share.", "Every rank's loss counts: all_reduce, then divide."
        ),
        "loss_on_one_rank": Diagnosis(
            "Only one rank has the loss of all ranks.", "`reduce` leaves the sum on one rank, `all_reduce` on every one."
        ),
    }

    def cases(self, rng):
        return [
            self._case(rng, "the weights of the sequential run", 2, (4, 5, 3), 3, 4),
            self._case(rng, "the weights of the sequential run", 3, (3, 4, 4), 4, 2, late=(1,)),
            self._case(rng, "the weights of the sequential run", 5, (4, 3, 2), 2, 3),
            self._case(rng, "the loss of all ranks", 3, (4, 4, 3), 3, 2, late=(0,)),
            self._case(rng, "the loss of all ranks", 4, (4, 5, 3), 1, 2),
        ]

    @staticmethod
    def _case(rng, level, p, sizes, steps, local, **options):
        starts = [start_values(rng, sizes) for _ in range(p)]
        batches = [[draw_batch(rng, local, sizes) for _ in range(steps)] for _ in range(p)]
        lr = float(rng.integers(3, 8)) / 10
        arguments = [(starts[r], sizes, [as_tensors(b) for b in batches[r]], lr) for r in range(p)]
        says = f"{steps} {'step' if steps == 1 else 'steps'}, {local} samples per rank and step"
        known = {"starts": starts, "batches": batches, "lr": lr, "sizes": sizes, "local": local}
        return Case(level, p, arguments, says=says, known=known, **options)

    @staticmethod
    def _value(weights, losses=ANYTHING):
        return {"weights": weights, "losses": losses, "passes": ANYTHING}

    def _right(self, case):
        known = case.known
        whole = [joined([own[step] for own in known["batches"]]) for step in range(len(known["batches"][0]))]
        return (known["starts"][0], whole, known["sizes"], known["lr"])

    def expected(self, case):
        weights, losses = sgd(*self._right(case))
        looked_at = losses if case.level == "the loss of all ranks" else ANYTHING
        return [self._value(weights, looked_at)] * case.world_size

    @staticmethod
    def _from_unequal_starts(case) -> list[np.ndarray]:
        """Mean gradients, but every rank takes them at its own weights and starts from its own."""
        known = case.known
        values = list(known["starts"])
        for step in range(len(known["batches"][0])):
            pairs = zip(values, known["batches"], strict=True)
            mean = np.mean([loss_and_gradient(v, own[step], known["sizes"])[1] for v, own in pairs], axis=0)
            values = [v - known["lr"] * mean for v in values]
        return values

    def _with_momentum(self, case) -> np.ndarray:
        """The weights after SGD with momentum on the whole minibatches."""
        values, whole, sizes, lr = self._right(case)
        velocity = np.zeros_like(values)
        for batch in whole:
            velocity = MOMENTUM * velocity + loss_and_gradient(values, batch, sizes)[1]
            values = values - lr * velocity
        return values

    def _own_losses(self, case) -> np.ndarray:
        """What each rank's share lost in each step of the right run: shape (ranks, steps)."""
        known = case.known
        values, whole, sizes, lr = self._right(case)
        rows = []
        for step, batch in enumerate(whole):
            rows.append([loss_and_gradient(values, own[step], sizes)[0] for own in known["batches"]])
            values = values - lr * loss_and_gradient(values, batch, sizes)[1]
        return np.array(rows).T

    def misconceptions(self, case):
        known, p = case.known, case.world_size
        starts, batches, lr, sizes = known["starts"], known["batches"], known["lr"], known["sizes"]
        first, whole, _, _ = self._right(case)
        alone = [sgd(first, own, sizes, lr)[0] for own in batches]
        steps = len(whole)

        def everywhere(weights):
            return [self._value(weights)] * p

        wrong = {
            "not_wrapped": [self._value(sgd(start, own, sizes, lr)[0]) for start, own in zip(starts, batches, strict=True)],
            "bypasses_ddp": [self._value(weights) for weights in alone],
            "copy_trained": [self._value(start) for start in starts],
            "never_updated": everywhere(first),
            "divided_again": everywhere(sgd(first, whole, sizes, lr / p)[0]),
            "times_world_size": everywhere(sgd(first, whole, sizes, lr * p)[0]) if p != known["local"] else None,
            "no_zero_grad": everywhere(sgd(first, whole, sizes, lr, zero_grad=False)[0]) if steps > 1 else None,
            "summed_loss": everywhere(sgd(first, whole, sizes, lr * known["local"])[0]),
            "one_step_only": everywhere(sgd(first, whole[:1], sizes, lr)[0]) if steps > 1 else None,
            "weights_averaged": everywhere(np.mean(alone, axis=0)) if steps > 1 else None,
            "unequal_starts": [self._value(weights) for weights in self._from_unequal_starts(case)],
            "with_momentum": everywhere(self._with_momentum(case)) if steps > 1 else None,
            "one_share_only": everywhere(alone[0]),
        }
        if case.level == "the loss of all ranks":
            weights, losses = sgd(*self._right(case))
            own = self._own_losses(case)
            after, values = [], first
            for batch in whole:
                values = values - lr * loss_and_gradient(values, batch, sizes)[1]
                after.append(loss_and_gradient(values, batch, sizes)[0])
            wrong |= {
                "own_loss": [self._value(weights, list(row)) for row in own],
                "loss_summed_over_ranks": [self._value(weights, [p * loss for loss in losses])] * p,
                "loss_divided_twice": [self._value(weights, [loss / p for loss in losses])] * p,
                "loss_after_the_step": [self._value(weights, after)] * p,
                "loss_of_one_rank": [self._value(weights, list(own[0]))] * p,
                "running_mean": None,
                "one_tensor": None,
            }
            if steps > 1:
                means = (np.cumsum(losses) / np.arange(1, steps + 1)).tolist()
                wrong |= {
                    "running_mean": [self._value(weights, means)] * p,
                    "one_tensor": [self._value(weights, losses[-1:] * steps)] * p,
                }
        else:
            of_the_loss = (
                "own_loss loss_summed_over_ranks loss_divided_twice loss_after_the_step loss_of_one_rank running_mean one_tensor"
            )
            wrong |= dict.fromkeys(of_the_loss.split())
        return wrong

    def facts(self, case: Case, run: Run):
        values = [rank.value for rank in run.ranks]
        right = self.expected(case)
        if not all(np.allclose(v["weights"], r["weights"], rtol=1e-6, atol=1e-8) for v, r in zip(values, right, strict=True)):
            return self._other_weights(case, [np.asarray(v["weights"]) for v in values], right[0]["weights"])
        if not all(np.allclose(v["weights"], r["weights"], rtol=1e-9, atol=1e-12) for v, r in zip(values, right, strict=True)):
            return Finding("low_precision", "Right to about 7 digits.")
        steps = len(case.known["batches"][0])
        if not all(v["passes"] >= steps for v in values):
            few = min(v["passes"] for v in values)
            return Finding("by_hand", f"{few} forward passes went through DistributedDataParallel, for {steps} steps.")
        if case.level != "the loss of all ranks":
            return None
        good = [np.shape(v["losses"]) == np.shape(r["losses"]) and np.allclose(v["losses"], r["losses"], rtol=1e-5)
                for v, r in zip(values, right, strict=True)]  # fmt: skip
        if sum(good) == 1:
            return "loss_on_one_rank"
        wanted = right[0]["losses"]
        if all(np.shape(v["losses"]) == np.shape(wanted) for v in values):
            if all(good):
                return None
            if any(
                np.allclose(v["losses"], np.round(wanted, digits), rtol=0, atol=1e-12)
                for v in values
                for digits in (1, 2, 3, 4, 5)
            ):
                return "rounded"
            return "other_losses"
        return None

    def _other_weights(self, case, held: list[np.ndarray], right: np.ndarray) -> Finding | None:
        """Some other factor that all steps have in common, where the usual ones are tried; or another rule."""
        p, k = case.world_size, case.known["local"]
        first, whole, sizes, lr = self._right(case)
        for factor in (p**0.5, p**-0.5, p * k, 1 / k, 1 / (p * k), p**2, p**-2, 2, 0.5, 4, 0.25):
            weights, _ = sgd(first, whole, sizes, lr * factor)
            if all(np.allclose(own, weights, rtol=1e-6, atol=1e-8) for own in held):
                return Finding("other_learning_rate", f"Every step is {factor:.4g} times as long as it should be.")
        if not all(np.isfinite(own).all() for own in held):
            return None
        if not all(np.allclose(own, held[0], rtol=1e-6, atol=1e-8) for own in held):
            return (
                None
                if all(np.allclose(own, start) for own, start in zip(held, case.known["starts"], strict=True))
                else Finding("ranks_differ")
            )
        decay = self._decay(case, held[0])
        if decay is not None:
            return Finding("weight_decay", f"It is about {decay:.2g}.")
        if np.allclose(held[0], right, rtol=0, atol=0.02 * np.abs(right).max()) and not np.allclose(held[0], first):
            digits = -np.log10(np.abs(held[0] - right).max() / np.abs(right).max())
            return Finding("low_precision", f"Right to about {digits:.0f} digits.") if digits > 2.5 else Finding("other_steps")
        return Finding("other_steps")

    def _decay(self, case, held: np.ndarray) -> float | None:
        """The weight decay with which SGD on the whole minibatches ends at `held`; None where there is none."""
        values, whole, sizes, lr = self._right(case)

        def end(decay):
            weights = values
            for batch in whole:
                weights = weights - lr * (loss_and_gradient(weights, batch, sizes)[1] + decay * weights)
            return weights

        found = 0.0
        for _ in range(20):  # Newton's method along one number; the slope is taken over a short way
            slope = (end(found + 1e-6) - end(found)) / 1e-6
            found += float(slope @ (held - end(found)) / (slope @ slope))
            if not 0 <= abs(found) < 10:
                return None
        return found if abs(found) > 1e-9 and np.allclose(end(found), held, rtol=1e-7, atol=1e-9) else None


class UnevenLoss(Exercise):
    """A loss for uneven batches"""

    unit, function = UNIT, "uneven_loss"
    signature = "uneven_loss(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor"
    levels = {"uneven shares": 2, "a rank without samples": 1}
    may_lose = {
        "int64": "the only integers are labels of a few classes",
        "integers of both widths": "labels are int64 in torch",
    }
    harness = (
        MODEL
        + """

def harness(f, values, sizes, x, y):
    model = DistributedDataParallel(build(values, sizes))
    outputs = model(x)
    outputs.retain_grad()
    loss = f(outputs, y)
    if loss is None:
        return None
    differentiable = isinstance(loss, torch.Tensor) and loss.requires_grad
    if differentiable:
        loss.backward()
        loss = loss.detach()
    reached = outputs.grad is not None and (not len(x) or bool((outputs.grad != 0).any()))
    return {"gradient": gradients(model), "loss": float(loss), "differentiable": differentiable and reached}
"""
    )
    diagnoses = {
        "mean_of_means": Diagnosis(
            "Each rank averages over its own share, and DDP averages the ranks: a sample on a rank with few of them counts more.",
            "Every sample of the global batch must weigh 1 / total: scale the mean by count * world_size / total.",
        ),
        "world_size_missing": Diagnosis(
            "The gradient is too small by the number of ranks: DDP divides the sum over the ranks by it.",
            "Multiply by `dist.get_world_size()`, so that DDP's division is taken back.",
        ),
        "summed_loss": Diagnosis(
            "The loss was summed over the samples, and nothing divides by their number.",
            "Divide by the number of samples on all ranks, and multiply by the number of ranks.",
        ),
        "times_world_size": Diagnosis(
            "This is the mean over the own share, times the number of ranks.",
            "The divisor is the number of samples on all ranks.",
        ),
        "weighted_twice": Diagnosis(
            "A mean over the own share was scaled as if it were a sum, or a sum as if it were a mean.",
            "Either mean * count * world_size / total, or sum * world_size / total.",
        ),
        "divided_twice": Diagnosis(
            "The mean over the own share was divided by the number of all samples: that is dividing twice.",
            "Either mean * count * world_size / total, or sum * world_size / total.",
        ),
        "divided_thrice": Diagnosis(
            "The mean over the own share was divided by the number of all samples, and DDP divides by the number of ranks.",
            "Either mean * count * world_size / total, or sum * world_size / total.",
        ),
        "largest_share": Diagnosis(
            "The divisor is the largest share, not the mean share.", "Add the counts up: ReduceOp.SUM, not ReduceOp.MAX."
        ),
        "rank_0_share": Diagnosis(
            "Every rank divides by the number of samples that rank 0 has.", "Add the counts of all ranks up with an all_reduce."
        ),
        "whole_division": Diagnosis(
            "The mean share was rounded to a whole number.", "Divide with `/`, not with `//`, and do not average integers."
        ),
        "cut_from_graph": Diagnosis(
            "What you return has no gradient: it was cut off from the outputs.",
            "No `.item()`, `.detach()` or `torch.tensor(loss)` on the way from the outputs to the returned loss.",
        ),
        "not_a_number": Diagnosis(
            "On a rank without samples the loss is not a number: the mean over nothing.",
            'Start from the sum, `reduction="sum"`: over nothing it is zero.',
        ),
        "no_gradient_of_the_others": Diagnosis(
            "The gradients differ between the ranks: DDP's backward pass was not used.",
            "Return the loss and leave backward() to the caller.",
        ),
        **dict.fromkeys(
            # A rank that leaves a collective out meets the others' in its own backward pass: other sizes, another type.
            ("missing_rank", "mismatched_shape", "mismatched_dtype", "mismatched_collective"),
            Diagnosis(
                "A rank left out something the others wait for: a collective, or a loss to call backward() on.",
                "All ranks count, and all return a loss made from `outputs`, also a rank without samples.",
            ),
        ),
        "scaled": Diagnosis(
            "The gradient points the right way and has the wrong length.",
            "Follow the factors: every sample counts 1 / total, and DDP divides by world_size.",
        ),
        "count_overflows": Diagnosis(
            "The number of samples does not fit the type in which it was counted: uint8 ends at 255.",
            "Count in int64, which is what `torch.tensor(3)` is, or in floating point.",
        ),
        "other_gradient": Diagnosis(
            "All ranks hold the same gradient, but not that of the mean cross-entropy over all samples.",
            'The plain cross-entropy, `F.cross_entropy(outputs, labels, reduction="sum")`, times one factor: world_size / total.',
        ),
    }

    def cases(self, rng):
        return [
            self._case(rng, "uneven shares", (3, 6)),
            self._case(rng, "uneven shares", (5, 5, 1), late=(2,)),
            self._case(rng, "uneven shares", (2, 7, 3, 1)),
            self._case(rng, "uneven shares", (290, 7)),  # more than a count of 8 bits holds
            self._case(rng, "a rank without samples", (5, 0), late=(1,)),
            self._case(rng, "a rank without samples", (0, 4, 1, 0, 2)),
        ]

    @staticmethod
    def _case(rng, level, counts, **options):
        sizes = (4, 5, 3)
        values = start_values(rng, sizes)
        shares = [draw_batch(rng, n, sizes) for n in counts]
        arguments = [(values, sizes, *as_tensors(share)) for share in shares]
        says = f"shares of {', '.join(map(str, counts[:-1]))} and {counts[-1]} samples"
        known = {"values": values, "shares": shares, "counts": counts, "sizes": sizes}
        return Case(level, len(counts), arguments, says=says, known=known, rtol=1e-6, atol=1e-9, **options)

    @staticmethod
    def _weighted(case, weights) -> np.ndarray:
        """DDP's gradient when every sample of rank r counts weights[r] in that rank's loss."""
        known = case.known
        own = [loss_and_gradient(known["values"], share, known["sizes"], total=1)[1] for share in known["shares"]]
        return sum(w * g for w, g in zip(weights, own, strict=True)) / case.world_size

    def expected(self, case):
        p, total = case.world_size, sum(case.known["counts"])
        return [self._value(self._weighted(case, [p / total] * p))] * p

    @staticmethod
    def _value(gradient):
        return {"gradient": gradient, "loss": ANYTHING, "differentiable": ANYTHING}

    def misconceptions(self, case):
        counts, p = np.array(case.known["counts"]), case.world_size
        total = counts.sum()
        with np.errstate(divide="ignore"):
            one_over = np.where(counts > 0, 1 / np.maximum(counts, 1), 0.0)
        floor = total // p
        weights = {
            "mean_of_means": one_over,
            "world_size_missing": np.full(p, 1 / total),
            "summed_loss": np.ones(p),
            "times_world_size": p * one_over,
            "weighted_twice": counts * p / total,
            "divided_twice": p * one_over / total,
            "divided_thrice": one_over / total,
            "largest_share": np.full(p, 1 / counts.max()) if counts.max() * p != total else None,
            "rank_0_share": np.full(p, 1 / counts[0]) if counts[0] not in (0, counts.max()) and p * counts[0] != total else None,
            "whole_division": np.full(p, 1 / floor) if floor and floor * p != total else None,
        }
        values = {name: None if w is None else self._weighted(case, w) for name, w in weights.items()}
        seen, result = [self.expected(case)[0]["gradient"]], {}
        for name, value in values.items():
            shows = value is not None and not any(np.allclose(value, other) for other in seen)
            result[name] = [self._value(value)] * p if shows else None
            seen += [value] if shows else []
        return result

    def facts(self, case: Case, run: Run):
        values = [rank.value for rank in run.ranks]
        if not all(v["differentiable"] for v in values):
            return "cut_from_graph"
        if any(not np.isfinite(v["loss"]) or not np.isfinite(v["gradient"]).all() for v in values):
            return Finding("not_a_number", f"The losses are {', '.join(format(v['loss'], '.3g') for v in values)}.")
        first, right = values[0]["gradient"], self.expected(case)[0]["gradient"]
        if any(not np.allclose(v["gradient"], first, rtol=1e-6) for v in values):
            return "no_gradient_of_the_others"
        ratio, total = float(first @ right / (right @ right)), sum(case.known["counts"])
        if np.allclose(first, right, rtol=1e-6, atol=1e-9):
            return None
        if np.allclose(first, ratio * right, rtol=1e-5, atol=1e-9):
            if total > 255 and np.isclose(ratio, total / (total % 256)):
                return "count_overflows"
            return Finding("scaled", f"It is {ratio:.4g} times what it should be.")
        return "other_gradient"


class Accumulate(Exercise):
    """Accumulating gradients"""

    unit, function = UNIT, "accumulate"
    signature = "accumulate(ddp: DistributedDataParallel, micro_batches: list) -> None"
    levels = {"the right gradient": 1, "one synchronisation": 2}
    may_lose = {
        "int64": "the only integers are labels of a few classes",
        "integers of both widths": "labels are int64 in torch",
    }
    harness = (
        MODEL
        + """

def is_alive(node):
    # what the forward pass has saved for the backward pass is freed by it
    try:
        node._saved_mat1
    except RuntimeError:
        return False
    return True


def harness(f, values, sizes, micro_batches):
    module = build(values, sizes)
    rows, nodes, alive = [], [], []

    def note(_, inputs, output):
        rows.append(len(inputs[0]))
        if output.grad_fn is not None:
            nodes.append(output.grad_fn)
        alive.append(sum(map(is_alive, nodes)))

    module.register_forward_hook(note)
    model = DistributedDataParallel(module)
    dist.barrier()  # what was sent before it, the constructor has sent
    f(model, micro_batches)
    kept = bool((flat(model.parameters()) == values).all())
    return {"gradient": gradients(model), "largest": max(rows, default=0), "graphs": max(alive, default=0), "kept": kept,
            "on": model.require_backward_grad_sync}
"""
    )
    diagnoses = {
        "own_gradient": Diagnosis(
            "Each rank holds the gradient of its own samples: no backward pass was synchronised.",
            "Leave `no_sync()` before the last micro-batch: its forward *and* its backward pass stand outside.",
        ),
        "not_divided": Diagnosis(
            "The gradients of the micro-batches were added up, not averaged.", "Divide each loss by the number of micro-batches."
        ),
        "own_not_divided": Diagnosis(
            "Each rank holds the sum over its own micro-batches: neither averaged nor synchronised.",
            "Divide each loss by their number, and do the last forward and backward pass outside `no_sync()`.",
        ),
        "only_last_divided": Diagnosis(
            "Only the last micro-batch's loss was divided by their number: the others count in full.",
            "Divide every loss, inside `no_sync()` too.",
        ),
        "last_not_divided": Diagnosis(
            "Every loss was divided by the number of micro-batches but the last one, which counts in full.",
            "Divide every loss, the one outside of `no_sync()` too.",
        ),
        "last_only": Diagnosis(
            "Only the last micro-batch is in the gradient.",
            "No zero_grad() between the micro-batches: gradients add up by themselves.",
        ),
        "last_only_divided": Diagnosis(
            "Only the last micro-batch is in the gradient, divided as if all were.",
            "No zero_grad() between the micro-batches: gradients add up by themselves.",
        ),
        "first_synchronised": Diagnosis(
            "The first micro-batch was synchronised and the others were added on each rank alone.",
            "Synchronise the last one: its backward pass sends all that has accumulated.",
        ),
        "divided_again": Diagnosis(
            "The gradient was divided by the number of ranks once more.", "DDP's result is the mean over the ranks already."
        ),
        "one_too_few": Diagnosis(
            "A micro-batch is missing.", "The loop inside `no_sync()` takes all but the last, and the last one follows behind it."
        ),
        "scaled": Diagnosis(
            "The gradient points the right way and has the wrong length.",
            "Divide each loss by the number of micro-batches, and nothing by the number of ranks.",
        ),
        "synchronises_every_time": Diagnosis(
            "The gradient is right, but it was sent round more than once.",
            "All micro-batches but the last go inside `with ddp.no_sync():`, the forward pass too: DDP decides there.",
        ),
        "one_big_batch": Diagnosis(
            "The gradient is right, but all micro-batches went through the model at once.",
            "Accumulation exists because they do not fit into memory together: one after the other.",
        ),
        "graphs_kept": Diagnosis(
            "The gradient is right, but all micro-batches went forward before the first went backward: what they have saved for that "
            "lies in memory at the same time, as if they were one batch.",
            "Forward and backward of one micro-batch, then the next: gradients add up in `parameter.grad`, no sum of losses is needed.",
        ),
        "weights_changed": Diagnosis(
            "The gradient is right, but the parameters are not what they were.",
            "Leave the gradient in `parameter.grad`: the step is the caller's.",
        ),
        "other_gradient": Diagnosis(
            "All ranks hold the same gradient, but not that of the mean over all micro-batches of all ranks.",
            "Each loss divided by the number of micro-batches, all of them added up, and the mean over the ranks by DDP.",
        ),
        "ranks_differ": Diagnosis(
            "The ranks hold different gradients: what was accumulated did not go round, or not all of it.",
            "Synchronise the last backward pass, which sends all that has accumulated.",
        ),
        "left_switched_off": Diagnosis(
            "The gradient is right, but the model was left with its synchronisation switched off.",
            "Let `with ddp.no_sync():` switch it on again by itself.",
        ),
    }

    def cases(self, rng):
        return [
            self._case(rng, "the right gradient", 2, 3, 2),
            self._case(rng, "the right gradient", 3, 1, 4, late=(2,)),
            self._case(rng, "one synchronisation", 4, 4, 2),
            self._case(rng, "one synchronisation", 3, 2, 3, late=(0,)),
            self._case(rng, "one synchronisation", 2, 1, 3),
        ]

    @staticmethod
    def _case(rng, level, p, k, local, **options):
        sizes = (4, 5, 3)
        values = start_values(rng, sizes)
        batches = [[draw_batch(rng, local, sizes) for _ in range(k)] for _ in range(p)]
        arguments = [(values, sizes, [as_tensors(b) for b in own]) for own in batches]
        says = f"{k} micro-{'batch' if k == 1 else 'batches'} of {local} samples on each rank"
        known = {"values": values, "batches": batches, "sizes": sizes, "k": k, "local": local}
        return Case(level, p, arguments, says=says, known=known, rtol=1e-6, atol=1e-9, **options)

    @staticmethod
    def _gradients(case) -> np.ndarray:
        """The gradient of every micro-batch: shape (ranks, micro-batches, parameters)."""
        known = case.known
        return np.array([[loss_and_gradient(known["values"], b, known["sizes"])[1] for b in own] for own in known["batches"]])

    @staticmethod
    def _values(gradients):
        return [
            {"gradient": gradient, "largest": ANYTHING, "graphs": ANYTHING, "kept": ANYTHING, "on": ANYTHING}
            for gradient in gradients
        ]

    def expected(self, case):
        return self._values([self._gradients(case).mean(axis=(0, 1))] * case.world_size)

    def misconceptions(self, case):
        each, p, k = self._gradients(case), case.world_size, case.known["k"]
        mean = each.mean(axis=0)  # over the ranks: one row per micro-batch
        several = k > 1
        wrong = {
            "own_gradient": each.mean(axis=1),
            "not_divided": [mean.sum(axis=0)] * p if several else None,
            "own_not_divided": each.sum(axis=1) if several else None,
            "only_last_divided": [mean[:-1].sum(axis=0) + mean[-1] / k] * p if several else None,
            "last_not_divided": [mean[:-1].sum(axis=0) / k + mean[-1]] * p if several else None,
            "last_only": [mean[-1]] * p if several else None,
            "last_only_divided": [mean[-1] / k] * p if several else None,
            "first_synchronised": mean[0] / k + each[:, 1:].sum(axis=1) / k if several else None,
            "divided_again": [mean.mean(axis=0) / p] * p if k != p else None,
            "one_too_few": [mean[:-1].sum(axis=0) / k] * p if several else None,
        }
        return {name: None if value is None else self._values(value) for name, value in wrong.items()}

    def facts(self, case: Case, run: Run):
        values = [rank.value for rank in run.ranks]
        each, k, p = self._gradients(case), case.known["k"], case.world_size
        right = each.mean(axis=(0, 1))
        if not all(np.allclose(v["gradient"], right, rtol=1e-6, atol=1e-9) for v in values):
            ratio = float(values[0]["gradient"] @ right / (right @ right))
            if all(np.allclose(v["gradient"], ratio * right, rtol=1e-6, atol=1e-9) for v in values):
                return (
                    "divided_again"
                    if np.isclose(ratio, 1 / p)
                    else Finding("scaled", f"It is {ratio:.4g} times what it should be.")
                )
            same = all(np.allclose(v["gradient"], values[0]["gradient"], rtol=1e-6, atol=1e-9) for v in values)
            return "other_gradient" if same else "ranks_differ"
        if not all(v["kept"] for v in values):
            return "weights_changed"
        if case.level != "one synchronisation":
            return None
        if k > 1 and any(v["largest"] > case.known["local"] for v in values):
            return Finding("one_big_batch", f"{values[0]['largest']} samples went through the model at once.")
        if k > 1 and any(v["graphs"] >= k for v in values):
            return Finding("graphs_kept", f"{k} forward passes were waiting for their backward pass.")
        kind, sent = self._most_sent(run)
        if sent > 1.5 * right.nbytes:
            return Finding(
                "synchronises_every_time",
                f"Rank 0 handed {sent} B to {kind}, {sent / right.nbytes:.0f} times the {right.nbytes} B of the gradient.",
            )
        return None if all(v["on"] for v in values) else "left_switched_off"

    @staticmethod
    def _most_sent(run: Run) -> tuple[str, int]:
        """The operation by which rank 0 sent most after the first barrier, which the harness calls, and how many bytes that were."""
        own = [event for event in run.events if event.rank == 0]
        begin = next((k for k, event in enumerate(own) if event.kind == "barrier"), -1)
        sent: dict[str, int] = {}
        for event in own[begin + 1 :]:
            sent[event.kind] = sent.get(event.kind, 0) + (event.nbytes or 0)
        return max(sent.items(), key=lambda item: item[1], default=("nothing", 0))


class Buckets(Exercise):
    """Who shares a bucket"""

    unit, function = UNIT, "buckets"
    signature = "buckets(sizes: list[int], first_cap: int, cap: int) -> list[list[int]]"
    runtime = "plain"
    levels = {"equal caps": 1, "a small first bucket": 1}
    # A bucket may be a list, a tuple, an array or a tensor, and all of them may come one by one.
    harness = """
def as_lists(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (str, dict, set, frozenset)) or not hasattr(value, "__iter__"):
        return value
    return [as_lists(entry) for entry in value]


def harness(buckets, sizes, first_cap, cap):
    return as_lists(buckets(sizes, first_cap, cap))
"""
    diagnoses = {
        "forward_order": Diagnosis(
            "The buckets were filled from the first parameter on.",
            "The backward pass ends with the first layer: its gradients are ready last.",
        ),
        "reversed_at_the_end": Diagnosis(
            "The buckets were filled from the first parameter on and turned round afterwards: the remainder is in the wrong one.",
            "Walk through the parameters backwards.",
        ),
        "never_above_the_cap": Diagnosis(
            "A bucket was closed before it would have passed its cap.",
            "DDP closes a bucket once it holds at least its cap: the gradient that passes it still belongs in.",
        ),
        "only_above_the_cap": Diagnosis(
            "A bucket that holds exactly its cap was left open.", "A bucket is full from its cap on: `>=`, not `>`."
        ),
        "never_emptied": Diagnosis(
            "The bytes of earlier buckets were counted again: from the first full bucket on every gradient has a bucket of its own.",
            "A new bucket begins with 0 bytes.",
        ),
        "one_cap": Diagnosis("The first bucket got the cap of the others.", "The first bucket is closed at first_cap."),
        "first_cap_for_all": Diagnosis("Every bucket got the cap of the first one.", "From the second bucket on it is cap."),
        "small_bucket_last": Diagnosis(
            "The small bucket is the last one.",
            "The small bucket is the first to be sent: it lets the communication begin early.",
        ),
        "last_bucket_lost": Diagnosis(
            "The last bucket is missing: it was never closed, because it did not reach its cap.", "What remains is a bucket, too."
        ),
        "empty_bucket": Diagnosis(
            "There is an empty bucket.", "A bucket is opened for a gradient, not ahead of it; without parameters there is none."
        ),
        "sorted_inside": Diagnosis(
            "The right parameters share a bucket, but inside they stand in the order of the model.",
            "Keep the order in which they become ready: the last parameter first.",
        ),
        "other_order": Diagnosis(
            "The right parameters share a bucket, but the buckets stand in another order.",
            "The bucket with the last parameter is full first.",
        ),
        "counted_from_one": Diagnosis("The parameters were counted from 1.", "Parameter 0 is the first: count from 0."),
        "not_integers": Diagnosis(
            "The numbers of the parameters are floating-point numbers: no list takes 3.0 for an index.", "Keep them integers."
        ),
        "remainder_carried_over": Diagnosis(
            "What a bucket held beyond its cap was counted in the next one, which is then full too early.",
            "A new bucket begins with 0 bytes, however full the last one was.",
        ),
        "other_buckets": Diagnosis(
            "Every parameter is in exactly one bucket, but others share one than with DDP.",
            "From the last parameter to the first; a bucket is closed as soon as it holds at least its cap.",
        ),
        "bytes_for_numbers": Diagnosis("These are the sizes of the gradients.", "Return their numbers, counted from 0."),
        "parameter_lost": Diagnosis("Not every parameter is in exactly one bucket.", "Each one goes into one bucket."),
    }

    def cases(self, rng):
        def drawn(n, low=1, high=30):
            return [int(v) for v in rng.integers(low, high, n)]

        def telling(n, first_cap, cap):
            """Sizes with which filling from the first parameter on gives other buckets than filling from the last.

            The last bucket stays below its cap and holds several parameters: without parameter 0 it is still there, so that a
            lost parameter and a lost bucket are two things.
            """
            while True:
                sizes = drawn(n)
                right = self._fill(range(n)[::-1], sizes, (first_cap, cap))
                several = len(right[-1]) > 1 and sum(sizes[k] for k in right[-1]) < cap
                if several and [sorted(bucket) for bucket in right] != self._fill(range(n), sizes, (cap, cap))[::-1]:
                    return sizes

        def by_slips(sizes, first_cap, cap):
            """Buckets as they come out right, and with a byte too much, with bytes carried over, and filled from the other end."""
            numbers, caps = range(len(sizes)), (first_cap, cap)
            return [
                self._fill(numbers[::-1], sizes, caps),
                self._fill(numbers[::-1], sizes, caps, full=lambda held, cap: held > cap),
                self._fill(numbers[::-1], sizes, (first_cap, cap + 1)),  # exactly full is not full, but in the first
                self._fill(numbers[::-1], sizes, (first_cap + 1, cap)),  # or in the first alone
                self._fill(numbers[::-1], sizes, caps, emptied=False),
                [bucket[::-1] for bucket in self._fill(numbers, sizes, caps)[::-1]],
            ]

        def telling_apart(end, n, first_cap, cap):
            """Sizes that end in `end`, and with which no two slips come out alike, whatever the key."""
            while True:
                sizes = [*telling(n, cap, cap), *end]
                found = by_slips(sizes, first_cap, cap)
                if all(a != b for a, b in itertools.combinations(found, 2)):
                    return sizes

        def carried_over(n, first_cap, cap):
            """Sizes with which bytes that are carried over make a difference."""
            while True:
                sizes = telling(n, first_cap, cap)
                right, carried = by_slips(sizes, first_cap, cap)[0], by_slips(sizes, first_cap, cap)[4]
                held = np.cumsum([0, *sizes[:0:-1]])  # bytes of all parameters before each one, from behind
                by_multiples = np.where(held < first_cap, 0, 1 + (held - first_cap) // cap)
                if carried != right and len(set(by_multiples)) != len(right):
                    return sizes

        first, second = self.levels
        # From behind 15 + 10 + 15 = 40 is exactly full, and so is the second bucket, which has the other cap.
        exact = [7, 40, *drawn(2), 25, 12, 28, 15, 10, 15]
        return [
            self._case(first, carried_over(12, 40, 40), 40, 40),
            self._case(first, exact, 40, 40),
            self._case(first, [12, 200, 5], 50, 50),
            self._case(first, [], 50, 50),
            self._case(second, carried_over(14, 20, 60), 20, 60),
            self._case(second, telling_apart([30, 40, 20], 9, 20, 70), 20, 70),  # exactly full are the first and the second
        ]

    @staticmethod
    def _case(level, sizes, first_cap, cap):
        says = f"{len(sizes)} parameters, first_cap = {first_cap} B, cap = {cap} B"
        return Case(level, 1, (sizes, first_cap, cap), says=says, known={"sizes": sizes, "first_cap": first_cap, "cap": cap})

    @staticmethod
    def _fill(order, sizes, caps, full=lambda held, cap: held >= cap, emptied=True) -> list[list[int]]:
        """Buckets in the order of `order`; caps: of the first bucket and of the others. Source: compute_bucket_assignment_by_size.

        emptied: whether a new bucket counts its bytes from 0.
        """
        result, held = [], 0
        open_ = False
        for k in order:
            if not open_:
                result.append([])
                held, open_ = 0 if emptied else held, True
            result[-1].append(k)
            held += sizes[k]
            open_ = not full(held, caps[0] if len(result) == 1 else caps[1])
        return result

    @staticmethod
    def _fill_below(order, sizes, caps) -> list[list[int]]:
        result, held = [], 0
        for k in order:
            if not result or held + sizes[k] > (caps[0] if len(result) == 1 else caps[1]):
                result.append([])
                held = 0
            result[-1].append(k)
            held += sizes[k]
        return result

    def expected(self, case):
        known = case.known
        return [self._fill(range(len(known["sizes"]))[::-1], known["sizes"], (known["first_cap"], known["cap"]))]

    def misconceptions(self, case):
        known = case.known
        sizes, first, cap = known["sizes"], known["first_cap"], known["cap"]
        numbers = range(len(sizes))
        backwards = numbers[::-1]
        right = self.expected(case)[0]
        small_last = self._fill(numbers, sizes, (first, cap))[::-1]
        full = bool(right) and sum(sizes[k] for k in right[-1]) >= (first if len(right) == 1 else cap)
        wrong = {
            "forward_order": self._fill(numbers, sizes, (first, cap)),
            "reversed_at_the_end": self._fill(numbers, sizes, (cap, cap))[::-1],
            "never_above_the_cap": self._fill_below(backwards, sizes, (first, cap)),
            "only_above_the_cap": self._fill(backwards, sizes, (first, cap), lambda held, cap: held > cap),
            "never_emptied": self._fill(backwards, sizes, (first, cap), emptied=False),
            "counted_from_one": [[k + 1 for k in bucket] for bucket in right],
            "one_cap": self._fill(backwards, sizes, (cap, cap)),
            "first_cap_for_all": self._fill(backwards, sizes, (first, first)),
            "small_bucket_last": [bucket[::-1] for bucket in small_last],
            "last_bucket_lost": None if full else right[:-1],
            "empty_bucket": [*right, []],
            "sorted_inside": [sorted(bucket) for bucket in right],
            "bytes_for_numbers": [[sizes[k] for k in bucket] for bucket in right],
        }
        return shown([right], {name: None if value is None else [value] for name, value in wrong.items()})

    def facts(self, case: Case, run: Run):
        found = [list(bucket) for bucket in run.ranks[0].value]
        right = self.expected(case)[0]
        if any(isinstance(k, float) for bucket in found for k in bucket):
            return "not_integers"
        if any(not bucket for bucket in found):
            return "empty_bucket"
        if sorted(k for bucket in found for k in bucket) != list(range(len(case.known["sizes"]))):
            return "parameter_lost"
        same = {frozenset(bucket) for bucket in found} == {frozenset(bucket) for bucket in right}
        return "other_order" if same and found != right else self._below(case, found)

    def _below(self, case, found) -> str | None:
        """Other buckets that hold every parameter once: below the cap, in the wrong direction, or neither."""
        known = case.known
        sizes = known["sizes"]
        if found and found[0] and found[0][0] == 0 and len(sizes) > 1:
            return "forward_order"
        caps = [known["first_cap"], *[known["cap"]] * len(found)]
        held = [sum(sizes[k] for k in bucket) for bucket in found]
        if found != self.expected(case)[0] and all(h <= cap or len(b) == 1 for h, cap, b in zip(held, caps, found, strict=False)):
            return "never_above_the_cap"
        if found != self.expected(case)[0]:
            return "remainder_carried_over" if found == self._carried(sizes, caps) else "other_buckets"
        return None

    @staticmethod
    def _carried(sizes, caps) -> list[list[int]]:
        """Buckets cut at the multiples of the cap in the running sum of bytes."""
        result, held = {}, 0
        for k in reversed(range(len(sizes))):
            result.setdefault(0 if held < caps[0] else 1 + (held - caps[0]) // caps[-1], []).append(k)
            held += sizes[k]
        return list(result.values())


class SaveCheckpoint(Exercise):
    """Saving a checkpoint"""

    unit, function = UNIT, "save_checkpoint"
    signature = "save_checkpoint(path: str, ddp: DistributedDataParallel, optimizer: torch.optim.Optimizer, epoch: int) -> None"
    levels = {"what is in the file": 1, "who writes it, and when": 2}
    # Each rank's DDP has a group of its own here, so that nothing but the student's code makes a rank wait for another:
    # rank 0 starts when all others have returned or wait for it. Writing takes a while, as on a real disk.
    shares_files = True
    harness = (
        MODEL
        + """

def harness(f, values, velocity, sizes, epoch, seen, older):
"""
        + FOLDER.replace("\n", "\n    ")
        + """
    rank = dist.get_rank()
    module = build(values, sizes)
    module.register_buffer("seen", torch.tensor([seen], dtype=torch.float64))  # as batch normalisation has them
    model = DistributedDataParallel(module, process_group=dist.new_group([rank], use_local_synchronization=True))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25, momentum=0.9)
    for parameter, part in zip(model.parameters(), torch.from_numpy(velocity).split([p.numel() for p in model.parameters()])):
        optimizer.state[parameter]["momentum_buffer"] = part.view_as(parameter).clone()
    written_by_others = rank == 0 and bool(os.listdir(folder))
    if rank == 0 and older:
        torch.save({"model": {"0.weight": torch.zeros(1)}, "optimizer": {}, "epoch": older}, path)
    save, python_open, wrote = torch.save, builtins.open, []

    def noted_save(content, place, *arguments, **options):
        if rank == 0:
            time.sleep(0.15)
        if isinstance(place, (str, os.PathLike)):
            wrote.append(os.fspath(place))
        return save(content, place, *arguments, **options)

    def noted_open(place, mode="r", *arguments, **options):
        if isinstance(place, (str, os.PathLike)) and set(mode) & set("wax+"):
            wrote.append(os.fspath(place))
        return python_open(place, mode, *arguments, **options)

    torch.save, builtins.open, io.open = noted_save, noted_open, noted_open
    try:
        f(path, model, optimizer, epoch)
    finally:
        torch.save, builtins.open, io.open = save, python_open, python_open
    there = os.path.exists(path)
    if rank != 0:
        mine = any(os.path.abspath(place).startswith(folder) for place in wrote)
        return {"file": "written by this rank" if mine else "there" if there else "not there yet"}
    if written_by_others:
        return {"file": "written by another rank"}
    return {"file": "there", **contents(path)} if there else {"file": "never written"}


def contents(path):
    try:
        content = torch.load(path, weights_only=False)
    except Exception:
        return {"entries": ["nothing that torch.load can read"]}
    if not isinstance(content, dict):
        return {"entries": [type(content).__name__]}
    if not {"model", "optimizer", "epoch"} <= set(content):
        return {"entries": sorted(map(str, content))}
    model, optimizer, epoch = content["model"], content["optimizer"], content["epoch"]
    found = {"entries": ["epoch", "model", "optimizer"], "epoch": epoch}
    found["model"] = sorted(model) if isinstance(model, dict) else type(model).__name__
    if isinstance(model, dict) and all(isinstance(value, torch.Tensor) for value in model.values()):
        found["weights"] = flat(model.values())
    found["optimizer"] = "state_dict" if isinstance(optimizer, dict) else type(optimizer).__name__
    if isinstance(optimizer, dict):
        groups = optimizer.get("param_groups")
        if not groups or groups[0].get("lr") != 0.25 or groups[0].get("momentum") != 0.9:
            found["optimizer"] = "a part of the state_dict"
        states = optimizer.get("state", {})
        if states:
            found["momentum"] = flat([s["momentum_buffer"] for s in states.values()])
    return found
"""
    )
    diagnoses = {
        "never_written": Diagnosis("There is no file at `path`.", "Rank 0 writes it: `torch.save(..., path)`."),
        "written_by_others": Diagnosis(
            "Another rank than 0 wrote a file: when several write the same one, it can end up mixed or cut off.",
            "`if dist.get_rank() == 0:` around the save; the others have nothing to write.",
        ),
        "missing_barrier": Diagnosis(
            "A rank returned before rank 0 had written the file: if it loads the checkpoint next, it finds none, or half of one.",
            "`dist.barrier()` on every rank, after rank 0 has saved.",
        ),
        "module_prefix": Diagnosis(
            "The names in the file begin with `module.`: only a model in a DDP wrapper can load them.",
            "Save `ddp.module.state_dict()`.",
        ),
        "whole_object": Diagnosis(
            "The file holds a pickled object, not its state: it cannot be read without the very classes that wrote it.",
            "Save `state_dict()`, of the model and of the optimizer.",
        ),
        "no_momentum": Diagnosis(
            "The optimizer's momentum is not in the file: training would go on as if it had just begun.",
            "Save `optimizer.state_dict()` whole.",
        ),
        "other_entries": Diagnosis(
            "The file must hold a dict with the entries model, optimizer and epoch.",
            '`{"model": ..., "optimizer": ..., "epoch": ...}`',
        ),
        "no_param_groups": Diagnosis(
            "The optimizer's momentum is in the file, its settings are not (`param_groups`: the learning rate, for example): "
            "`optimizer.load_state_dict` refuses that.",
            "Save `optimizer.state_dict()` whole.",
        ),
        "other_momentum": Diagnosis(
            "The momentum in the file is not the optimizer's, or only to some digits.",
            "Save `optimizer.state_dict()` as it is, in its dtype.",
        ),
        "older_file_kept": Diagnosis(
            "There was an older checkpoint at `path`, and it is still there: the new one was not written.",
            "Write every time: the new checkpoint replaces the old one.",
        ),
        "other_epoch": Diagnosis("The epoch in the file is not the one you were given.", "Store `epoch` as it is."),
        "buffers_missing": Diagnosis(
            "The parameters are in the file, the model's buffers are not: what it holds without training it, such as the running "
            "averages of a batch normalisation.",
            "Save `ddp.module.state_dict()`, which holds both.",
        ),
        "other_weights": Diagnosis(
            "The weights in the file are not those of the model.", "`ddp.module.state_dict()` holds all of them, in their dtype."
        ),
    }

    def cases(self, rng):
        first, second = self.levels
        return [
            self._case(rng, first, 2, (4, 5, 3), late=()),
            self._case(rng, first, 3, (3, 3, 2), late=(), older=True),
            self._case(rng, second, 3, (3, 4, 2), late=(0,)),
            self._case(rng, second, 4, (4, 3, 3), late=(0,)),
        ]

    @staticmethod
    def _case(rng, level, p, sizes, late, older=False):
        values, velocity = start_values(rng, sizes), start_values(rng, sizes)
        epoch = int(rng.integers(3, 90))
        before = epoch - 2 if older else 0
        says = "rank 0 is late" if late else f"epoch {epoch}, over a checkpoint of epoch {before}" if older else f"epoch {epoch}"
        seen = float(rng.integers(1, 100))
        known = {"values": values, "velocity": velocity, "epoch": epoch, "seen": seen, "older": before}
        # What is saved is what was there, bit by bit.
        return Case(level, p, (values, velocity, sizes, epoch, seen, before), says=says, known=known, late=late, rtol=0, atol=0)

    def expected(self, case):
        known = case.known
        if case.level == "what is in the file":
            others = [{"file": ANYTHING}] * (case.world_size - 1)
        else:
            others = [{"file": "there"}] * (case.world_size - 1)
        content = {
            "file": "there",
            "entries": ["epoch", "model", "optimizer"],
            "epoch": known["epoch"],
            "model": ["0.bias", "0.weight", "2.bias", "2.weight", "seen"],
            "weights": np.concatenate([[known["seen"]], known["values"]]),
            "optimizer": "state_dict",
            "momentum": known["velocity"],
        }
        return [content, *others]

    def facts(self, case: Case, run: Run):
        mine, others = run.ranks[0].value, [rank.value for rank in run.ranks[1:]]
        right = self.expected(case)[0]
        if mine["file"] == "written by another rank" or any(other["file"] == "written by this rank" for other in others):
            return "written_by_others"
        if mine["file"] == "never written":
            return "never_written"
        if case.known["older"] and mine.get("epoch") == case.known["older"]:
            return "older_file_kept"
        if mine["entries"] != right["entries"]:
            return Finding("other_entries", f"The file holds: {', '.join(mine['entries'])}.")
        if isinstance(mine["model"], str) or mine["optimizer"] not in ("state_dict", "a part of the state_dict"):
            return "whole_object"
        if any(name.startswith("module.") for name in mine["model"]):
            return "module_prefix"
        if mine["model"] == right["model"][:-1]:
            return "buffers_missing"
        if "momentum" not in mine:
            return "no_momentum"
        if mine["optimizer"] != "state_dict":
            return "no_param_groups"
        if not np.array_equal(mine["momentum"], right["momentum"]):
            return "other_momentum"
        if mine["epoch"] != right["epoch"]:
            return "other_epoch"
        if "weights" not in mine or np.shape(mine["weights"]) != np.shape(right["weights"]):
            return "other_weights"
        if not np.array_equal(mine["weights"], right["weights"]):
            return "other_weights"
        if case.level != "what is in the file" and any(other["file"] != "there" for other in others):
            early = next(r for r, other in enumerate(others, 1) if other["file"] != "there")
            return Finding("missing_barrier", f"Rank {early} had returned when there was no file yet.")
        return None


class LoadCheckpoint(Exercise):
    """Going on from a checkpoint"""

    unit, function = UNIT, "load_checkpoint"
    signature = "load_checkpoint(path: str, ddp: DistributedDataParallel, optimizer: torch.optim.Optimizer) -> int"
    levels = {"the uninterrupted run": 2}
    may_lose = {
        "int64": "the only integers are labels of a few classes",
        "integers of both widths": "labels are int64 in torch",
    }
    shares_files = True
    harness = (
        MODEL
        + """

class NamesDiffer(Exception):
    pass


def harness(f, values, velocity, sizes, epoch, start, batches, lr, seen):
"""
        + FOLDER.replace("\n", "\n    ")
        + """
    if dist.get_rank() == 0:
        saved = build(values, sizes)
        saved.register_buffer("seen", torch.tensor([seen], dtype=torch.float64))  # as batch normalisation has them
        old = torch.optim.SGD(saved.parameters(), lr=lr / 2, momentum=0.9)
        for parameter, part in zip(saved.parameters(), torch.from_numpy(velocity).split([p.numel() for p in saved.parameters()])):
            old.state[parameter]["momentum_buffer"] = part.view_as(parameter).clone()
        torch.save({"model": saved.state_dict(), "optimizer": old.state_dict(), "epoch": epoch}, path)
    module = build(start, sizes)
    module.register_buffer("seen", torch.zeros(1, dtype=torch.float64))
    model = DistributedDataParallel(module)  # its constructor waits for all ranks: the file is there
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    try:
        found = f(path, model, optimizer)
    except RuntimeError as error:
        if "Missing key" not in str(error):
            raise
        raise NamesDiffer("the model's names begin with module., those in the file do not").with_traceback(error.__traceback__)
    if isinstance(found, torch.Tensor):
        found = found.item()
    for x, y in batches:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    file = "there" if os.path.exists(path) else "gone"  # all ranks have returned: they have averaged gradients since
    return {"epoch": found, "weights": flat(model.parameters()), "seen": float(module.seen), "file": file}
"""
    )
    diagnoses = {
        "NamesDiffer": Diagnosis(
            "The wrapper's names begin with `module.`, those in the file do not.",
            'Load into the model inside: `ddp.module.load_state_dict(checkpoint["model"])`.',
        ),
        "nothing_loaded": Diagnosis(
            "Training went on from the start: neither weights nor momentum came from the file.",
            "`strict=False` hides names that do not fit: load into `ddp.module`, and the optimizer's state too.",
        ),
        "weights_not_loaded": Diagnosis(
            "The optimizer came from the file, the weights did not.",
            "`strict=False` hides names that do not fit: load into `ddp.module`.",
        ),
        "optimizer_not_loaded": Diagnosis(
            "The weights came from the file, but the optimizer began anew: without momentum and with its first learning rate.",
            '`optimizer.load_state_dict(checkpoint["optimizer"])`',
        ),
        "momentum_not_restored": Diagnosis(
            "Weights and learning rate came from the file, the momentum did not.",
            '`optimizer.load_state_dict(checkpoint["optimizer"])` restores all of it.',
        ),
        "learning_rate_not_restored": Diagnosis(
            "Weights and momentum came from the file, the learning rate did not.",
            '`optimizer.load_state_dict(checkpoint["optimizer"])` restores all of it.',
        ),
        "rank_0_only": Diagnosis(
            "Only rank 0 loaded the file: DDP makes the ranks equal when it is built, not later, so they stay different for ever.",
            "Every rank loads the file.",
        ),
        "optimizer_on_rank_0_only": Diagnosis(
            "All ranks have the weights, but only rank 0 has the momentum: the ranks drift apart.",
            "Every rank restores its optimizer.",
        ),
        "ranks_differ": Diagnosis(
            "The ranks hold different weights after the same steps.", "Every rank loads the same, all of it."
        ),
        "buffers_not_loaded": Diagnosis(
            "The parameters came from the file, the model's buffers did not: the running averages of a batch normalisation, for example.",
            '`ddp.module.load_state_dict(checkpoint["model"])` restores both.',
        ),
        "low_precision": Diagnosis(
            "The weights are right to some digits only: on the way from the file they went through a narrower type.",
            "Load what is in the file in the dtype that it has.",
        ),
        "file_gone": Diagnosis(
            "The file is not there any more: the next interruption would find no checkpoint.", "Only read the file."
        ),
        "other_weights": Diagnosis(
            "All ranks hold the same weights, but not those of the uninterrupted run.",
            "Load the model inside and the optimizer from the file, and change nothing else.",
        ),
        "epoch_off_by_one": Diagnosis(
            "The epoch returned is not the one in the file, but its neighbour.", "Return what the file says, nothing added."
        ),
        "no_epoch": Diagnosis(
            "The weights are right, but the epoch is not returned.",
            'The caller has to know where to go on: `checkpoint["epoch"]`.',
        ),
    }

    def cases(self, rng):
        (level,) = self.levels
        return [
            self._case(rng, level, 2, (4, 5, 3)),
            self._case(rng, level, 3, (3, 4, 2), late=(0,)),
            self._case(rng, level, 5, (3, 3, 2)),
        ]

    @staticmethod
    def _case(rng, level, p, sizes, **options):
        values, velocity = start_values(rng, sizes), start_values(rng, sizes)
        starts = [start_values(rng, sizes) for _ in range(p)]
        batches = [[draw_batch(rng, 3, sizes) for _ in range(2)] for _ in range(p)]
        epoch, lr = int(rng.integers(3, 90)), float(rng.integers(3, 8)) / 10
        seen = float(rng.integers(1, 100))
        arguments = [(values, velocity, sizes, epoch, starts[r], [as_tensors(b) for b in batches[r]], lr, seen) for r in range(p)]
        known = {
            "values": values,
            "velocity": velocity,
            "sizes": sizes,
            "epoch": epoch,
            "start": starts[0],
            "batches": batches,
            "lr": lr,
            "seen": seen,
        }
        # float64 all the way: what went through float32 is off in the eighth digit.
        says = f"epoch {epoch}, two steps more"
        return Case(level, p, arguments, says=says, known=known, rtol=1e-10, atol=1e-11, **options)

    @staticmethod
    def _go_on(case, values: list, velocities: list, rates: list) -> list[np.ndarray]:
        """Two steps of SGD with momentum and mean gradients, from each rank's own values, momentum and learning rate."""
        known, p = case.known, case.world_size
        values, velocities = list(values), list(velocities)
        for step in range(2):
            own = [loss_and_gradient(values[r], known["batches"][r][step], known["sizes"])[1] for r in range(p)]
            mean = np.mean(own, axis=0)
            for r in range(p):
                velocities[r] = MOMENTUM * velocities[r] + mean
                values[r] = values[r] - rates[r] * velocities[r]
        return values

    def expected(self, case):
        known, p = case.known, case.world_size
        weights = self._go_on(case, [known["values"]] * p, [known["velocity"]] * p, [known["lr"] / 2] * p)
        return [{"epoch": known["epoch"], "weights": weights[0], "seen": known["seen"], "file": "there"}] * p

    def misconceptions(self, case):
        known, p = case.known, case.world_size
        saved, start, nothing = known["values"], known["start"], np.zeros_like(known["values"])
        velocity, old, new = known["velocity"], known["lr"] / 2, known["lr"]
        one = [True, *[False] * (p - 1)]
        runs = {
            "nothing_loaded": ([start] * p, [nothing] * p, [new] * p),
            "weights_not_loaded": ([start] * p, [velocity] * p, [old] * p),
            "optimizer_not_loaded": ([saved] * p, [nothing] * p, [new] * p),
            "momentum_not_restored": ([saved] * p, [nothing] * p, [old] * p),
            "learning_rate_not_restored": ([saved] * p, [velocity] * p, [new] * p),
            "rank_0_only": (
                [saved if first else start for first in one],
                [velocity if first else nothing for first in one],
                [old if first else new for first in one],
            ),
            "optimizer_on_rank_0_only": (
                [saved] * p,
                [velocity if first else nothing for first in one],
                [old if first else new for first in one],
            ),
        }
        rest = {"epoch": ANYTHING, "seen": ANYTHING, "file": ANYTHING}
        return {name: [{"weights": w, **rest} for w in self._go_on(case, *given)] for name, given in runs.items()}

    def facts(self, case: Case, run: Run):
        values, right = [rank.value for rank in run.ranks], self.expected(case)[0]
        if any(not np.allclose(v["weights"], values[0]["weights"], rtol=1e-6, atol=1e-8) for v in values):
            return "ranks_differ"
        if not np.allclose(values[0]["weights"], right["weights"], rtol=1e-10, atol=1e-11):
            return (
                "low_precision" if np.allclose(values[0]["weights"], right["weights"], rtol=0.01, atol=0.01) else "other_weights"
            )
        if any(v["seen"] != right["seen"] for v in values):
            return "buffers_not_loaded"
        if any(v["file"] != "there" for v in values):
            return "file_gone"
        epochs = [v["epoch"] for v in values]
        if any(isinstance(e, (int, float)) and abs(e - right["epoch"]) == 1 for e in epochs):
            return "epoch_off_by_one"
        return "no_epoch" if any(e != right["epoch"] for e in epochs) else None
