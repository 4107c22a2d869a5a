"""Unit 06, DistributedDataParallel: wrapping, uneven batches, accumulation, buckets, checkpoints."""

from __future__ import annotations

import itertools

import numpy as np

from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run, Tensor
from autograder.exercises.kinds import PlainExercise, ReportExercise, on_ranks
from autograder.exercises.readings.contributions import returned
from autograder.exercises.source import harness_of

MOMENTUM = 0.9
LABELS = {
    "int64": "the only integers are labels of a few classes",
    "integers of both widths": "labels are int64 in torch",
}


# -- the same network in numpy: what the sequential run would give -----------------------------------------------------


def start_values(rng: np.random.Generator, sizes: tuple[int, int, int]) -> np.ndarray:
    """Random parameters of the network, shape (number of parameters,): W1 (h, d), b1 (h,), W2 (c, h), b2 (c,)."""
    d, h, c = sizes
    return rng.normal(0, 0.7, h * d + h + c * h + c)


def draw_batch(rng: np.random.Generator, n: int, sizes: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """x, shape (n, d), and labels, int64, shape (n,)."""
    return rng.normal(0, 1, (n, sizes[0])), rng.integers(0, sizes[2], n)


def as_tensors(batch: tuple[np.ndarray, np.ndarray]) -> tuple[Tensor, Tensor]:
    return Tensor(batch[0], "float64"), Tensor(batch[1], "int64")


def in_float32(values: np.ndarray) -> np.ndarray:
    """The numbers that float32 makes of them."""
    return values.astype(np.float32).astype(np.float64)


def as_images(batch: tuple[np.ndarray, np.ndarray]) -> tuple[Tensor, Tensor]:
    """Samples of shape (2, d / 2) in float32."""
    return Tensor(batch[0].reshape(len(batch[0]), 2, -1), "float32"), Tensor(batch[1], "int64")


def make_extreme(starts, batches, sizes) -> None:
    """Large inputs, with weights as small, so that gradients are long; and class 1 is so likely that float64 has the
    probability 0 for the label of the first sample of each batch."""
    d, h, c = sizes
    for start in starts:
        start[: h * d] /= 1000
        start[1 - c] += 900
    for x, labels in itertools.chain(*batches):
        x *= 1000
        labels[:1] = 0


def loss_and_gradient(values: np.ndarray, batch, sizes, total: float | None = None) -> tuple[float, np.ndarray]:
    """Cross-entropy summed over a batch and divided by `total` (None: its number of samples), and the gradient of
    that."""
    d, h, c = sizes
    w1, b1, w2, b2 = np.split(values, np.cumsum([h * d, h, c * h]))
    w1, w2 = w1.reshape(h, d), w2.reshape(c, h)
    x, y = batch
    n = len(x) if total is None else total
    hidden = np.tanh(x @ w1.T + b1)
    logits = hidden @ w2.T + b2
    logits -= logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    if not len(x):
        return 0.0, np.zeros_like(values)
    to_logits = (np.exp(log_p) - np.eye(c)[y]) / n
    to_hidden = (to_logits @ w2) * (1 - hidden**2)
    parts = (to_hidden.T @ x, to_hidden.sum(axis=0), to_logits.T @ hidden, to_logits.sum(axis=0))
    return float(-log_p[np.arange(len(y)), y].sum() / n), np.concatenate([part.ravel() for part in parts])


def sgd(starts, batches, sizes, rates, momentum=0.0, velocities=0.0, decay=0.0) -> tuple[np.ndarray, np.ndarray]:
    """SGD on p ranks along the mean of their gradients: the parameters of each at the end, (p, n), and the loss of each
    of its batches before its step, (p, steps). On one rank it is sequential SGD; shares of equal size give what one
    batch of all of them gives.

    starts: (p, n). batches: for each rank, one per step. rates: of all ranks, or (p, 1). velocities: at the start, (p,
        n).
    """
    values, losses = np.array(starts), []
    for step in zip(*batches, strict=True):
        found = [loss_and_gradient(value, batch, sizes) for value, batch in zip(values, step, strict=True)]
        velocities = momentum * velocities + np.mean([gradient for _, gradient in found], axis=0) + decay * values
        values = values - rates * velocities
        losses.append([loss for loss, _ in found])
    return values, np.array(losses).T


def close(a, b, rtol: float = 1e-6, atol: float = 1e-8) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=rtol, atol=atol)


LEFT_IN_EVAL_MODE = Mistake("left_in_eval_mode", "The weights are right, but the model is in evaluation mode "
                            "afterwards: dropout and batch normalisation do not train in it.",
                            "Take the loss from the forward pass of the training step; `model.eval()` is for an "
                            "evaluation, and `model.train()` ends it.")  # fmt: skip


class TrainDDP(ReportExercise):
    """Training with DistributedDataParallel"""

    signature = "train_ddp(model: nn.Module, batches: list, lr: float) -> list[float]"
    any_type = "the losses may stay in the tensor in which they were averaged"
    levels = {"the weights of the sequential run": 2, "the loss of all ranks": 1}
    may_lose = LABELS
    parts = ("weights", "dtype kept", "passes", "trains", "losses")
    harness = harness_of(__file__, "train_ddp")
    mistakes = [
        Mistake("not_wrapped", "Every rank trained its own model from its own start: nothing passed between the ranks.",
                "Wrap the model, `ddp = DistributedDataParallel(model)`, and call `ddp(x)`.",
                lambda t: t.alone(t.starts)),
        Mistake("bypasses_ddp", "All ranks started with the same weights, but then each took steps along its own "
                "gradient: the forward pass bypassed DDP, so the backward pass synchronised nothing.",
                "Call `ddp(x)`, not `model(x)` or `ddp.module(x)`, and not inside `no_sync()`.",
                lambda t: t.alone(t.equal)),
        Mistake("copy_trained", "`model` still has the weights of the start: something else was trained.",
                "DDP does not copy: wrap `model` itself, and give the optimizer the parameters of that object.",
                lambda t: t.starts),
        Mistake("never_updated", "DDP gave all ranks the weights of rank 0, and no step ever changed them.",
                "The optimizer must hold the parameters that DDP wraps: build it from `ddp.parameters()`, and call "
                "its step().", lambda t: t.equal),
        Mistake("divided_again",
                "The steps are too short by the number of ranks: DDP already divides the gradients by it.",
                "Do not scale gradient, loss or learning rate: DDP's result is already the mean.",
                lambda t: t.end(t.lr / t.p)),
        Mistake("summed_loss", "The loss was summed over the samples of a batch, not averaged.",
                "`cross_entropy` averages if you let it.", lambda t: t.end(t.lr * t.local)),
        Mistake("times_world_size", "The steps are too long by the number of ranks: gradients were summed, or the "
                "learning rate was scaled.",
                "Here the global batch is that of the sequential run, so do not scale the learning rate.",
                lambda t: t.end(t.lr * t.p)),
        Mistake("no_zero_grad", "Old gradients were never cleared: each step contains all gradients before it.",
                "`optimizer.zero_grad()` in every step.", lambda t: t.end(momentum=1)),
        Mistake("one_step_only", "Only the first batch was trained on.",
                "One step for every entry of `batches`.", lambda t: t.end(steps=1)),
        Mistake("weights_averaged", "Every rank trained alone and the weights were averaged at the end. That is "
                "another method (local SGD).",
                "DDP averages the gradients in every step.", lambda t: np.mean(t.alone(t.equal), axis=0)),
        Mistake("unequal_starts", "The gradients were averaged, but the ranks started with different weights and stay "
                "as far apart for ever.",
                "`DistributedDataParallel(model)` sends rank 0's weights to all ranks at the start.",
                lambda t: list(sgd(t.starts, t.batches, t.sizes, t.lr)[0])),
        Mistake("with_momentum",
                "The first step is right, the others are too long: these are steps with a momentum of 0.9.",
                "Use plain SGD: `torch.optim.SGD(..., lr=lr)`.", lambda t: t.end(momentum=MOMENTUM)),
        Mistake("other_learning_rate", "The steps have the right direction but the wrong length.",
                "Do not scale `lr` or DDP's gradients."),
        Mistake("weight_decay",
                "Every step also subtracts a part of the weights themselves: that is weight decay.",
                "Use plain SGD: `torch.optim.SGD(..., lr=lr)`."),
        Mistake("low_precision", "The weights are right only to some digits: something was converted to float32, "
                "float16 or bfloat16 on the way.",
                "Model and batches are float64 here; keep this dtype, also for the gradients that are sent."),
        Mistake("log_of_softmax", "The weights are not finite, although the outputs are: where they are far apart, "
                "softmax gives a probability of 0, whose logarithm is -inf.",
                "`F.cross_entropy`, or the log_softmax of the outputs: both never compute the probability itself."),
        Mistake("dtype_changed", "The model has another dtype than before: the caller's samples no longer fit it.",
                "Leave the dtype as it is: the batches are in that of the model."),
        Mistake("other_steps",
                "All ranks hold the same weights, but not those that plain SGD reaches on the whole minibatches.",
                "`torch.optim.SGD(..., lr=lr)`, no other optimizer and no schedule; one step for each entry of "
                "`batches`, in their order."),
        Mistake("by_hand", "The result is right, but the samples did not go through DistributedDataParallel: you "
                "averaged the gradients yourself.",
                "Wrap the model, `ddp = DistributedDataParallel(model)`, call `ddp(x)`, and let its backward pass "
                "average the gradients."),
        LEFT_IN_EVAL_MODE,
        Mistake("own_loss", "Each rank reports the loss of its own share instead of the mean over all ranks.",
                "DDP averages gradients, nothing else: average the loss with an all_reduce.",
                lambda t: [{"losses": list(own)} for own in t.own]),
        Mistake("loss_summed_over_ranks", "The losses of the ranks were added up, not averaged.",
                "Divide by `dist.get_world_size()`.", lambda t: {"losses": list(t.losses * t.p)}),
        Mistake("loss_divided_twice", "The loss was divided by the number of ranks twice.",
                "Once is enough.", lambda t: {"losses": list(t.losses / t.p)}),
        Mistake("loss_after_the_step", "This is the loss after each step, not the one the step was made from.",
                "Keep the loss you called backward() on; a second forward pass costs as much as the first.",
                lambda t: {"losses": t.after()}),
        Mistake("loss_of_one_rank", "All ranks report the loss of one rank's share.",
                "Every rank's loss counts: all_reduce, then divide.", lambda t: {"losses": list(t.own[0])}),
        Mistake("running_mean", "Each number is the mean of all losses so far.",
                "One number per step: the loss of that step's minibatch.",
                lambda t: {"losses": list(np.cumsum(t.losses) / np.arange(1, len(t.losses) + 1))}),
        Mistake("one_tensor", "Every entry is the loss of the last step: the same tensor was appended every time, "
                "and each step wrote into it.",
                "Append a number, `loss.item()`, or a copy, `loss.detach().clone()`.",
                lambda t: {"losses": [t.losses[-1]] * len(t.losses)}),
        Mistake("rounded", "The losses were rounded.", "Do not round them before you print them."),
        Mistake("loss_on_one_rank", "Only one rank returns the mean loss over all ranks.",
                "`reduce` leaves the sum on one rank, `all_reduce` on every one."),
        Mistake("other_losses", "The weights are right, but what is returned is not the loss of the whole minibatches.",
                "Average each step's loss over the ranks: all_reduce, then divide by `dist.get_world_size()`."),
    ]  # fmt: skip

    def cases(self, rng):
        weights, losses = self.levels
        return [
            self._case(rng, weights, 2, (4, 5, 3), 3, 4),
            self._case(rng, weights, 3, (3, 4, 4), 4, 2, late=(1,)),
            self._case(rng, weights, 5, (4, 3, 2), 2, 3, images=True),
            self._case(rng, losses, 3, (4, 4, 3), 3, 2, late=(0,)),
            self._case(rng, losses, 4, (4, 5, 3), 1, 2),
            self._case(rng, weights, 1, (4, 3, 3), 12, 3, extreme=True),  # more steps than a schedule waits for
        ]

    @staticmethod
    def _case(rng, level, p, sizes, steps, local, images=False, extreme=False, **options):
        """images: float32 samples of shape (2, d / 2). extreme: long gradients, and logits so far apart that softmax
        gives 0 for the first label of each minibatch."""
        starts = [start_values(rng, sizes) for _ in range(p)]
        batches = [[draw_batch(rng, local, sizes) for _ in range(steps)] for _ in range(p)]
        lr = float(rng.integers(3, 8)) / 10
        if extreme:
            make_extreme(starts, batches, sizes)
        if images:
            options |= {"rtol": 1e-4, "atol": 1e-6}
            starts = [in_float32(start) for start in starts]
            batches = [[(in_float32(x), labels) for x, labels in own] for own in batches]
        known = {"starts": starts, "batches": batches, "lr": lr, "sizes": sizes, "local": local}
        known |= {"images": images, "extreme": extreme}
        known["sent"] = [[(as_images if images else as_tensors)(batch) for batch in own] for own in batches]
        says = f"{steps} {'step' if steps == 1 else 'steps'}, {local} samples per rank and step"
        says += ", float32 samples of two axes" * images + ", large inputs, logits far apart" * extreme
        return on_ranks(level, p, "starts[r] sizes sent[r] lr", known, says, **options)

    def worked(self, case):
        t = super().worked(case)
        t.equal = [t.starts[0]] * t.p

        def end(rate=t.lr, steps=None, **how):
            return sgd(t.equal, [own[:steps] for own in t.batches], t.sizes, rate, **how)[0][0]

        def alone(starts):
            pairs = zip(starts, t.batches, strict=True)
            return [sgd([start], [own], t.sizes, t.lr)[0][0] for start, own in pairs]

        def after():
            """The loss of each minibatch after its step."""
            steps = enumerate(zip(*t.batches, strict=True), 1)
            return [np.mean([loss_and_gradient(end(steps=k), b, t.sizes)[0] for b in step]) for k, step in steps]

        t.end, t.alone, t.after = end, alone, after
        _, t.own = sgd(t.equal, t.batches, t.sizes, t.lr)
        t.losses = t.own.mean(axis=0)
        return t

    def expected(self, case):
        t = self.worked(case)
        losses = list(t.losses) if case.level == "the loss of all ranks" else ANYTHING
        seen = {"dtype kept": True, "passes": ANYTHING, "trains": True}
        return [{"weights": t.end(), "losses": losses, **seen}] * t.p

    def facts(self, case: Case, run: Run):
        t, values = self.worked(case), returned(run)
        held, right = [value["weights"] for value in values], t.end()
        if t.extreme and not np.isfinite(held).all():
            return "log_of_softmax"
        if not all(close(weights, right, *(1e-4, 1e-6) if t.images else (1e-6, 1e-8)) for weights in held):
            return self._other_weights(t, held, right)
        if not t.images and not all(close(weights, right, 1e-9, 1e-12) for weights in held):
            return Finding("low_precision", "Right to about 7 digits.")
        if not all(value["dtype kept"] for value in values):
            return "dtype_changed"
        few, steps = min(value["passes"] for value in values), len(t.losses)
        if few < steps:
            return Finding("by_hand", f"{few} forward passes went through DistributedDataParallel, for {steps} steps.")
        if not all(value["trains"] for value in values):
            return "left_in_eval_mode"
        if case.level != "the loss of all ranks":
            return None
        good = [close(value["losses"], t.losses, 1e-5) for value in values]
        if sum(good) == 1 < len(good):
            return "loss_on_one_rank"
        if all(good) or any(np.shape(value["losses"]) != np.shape(t.losses) for value in values):
            return None
        rounded = [np.round(t.losses, digits) for digits in range(1, 6)]
        return "rounded" if any(close(v["losses"], r, 0, 1e-12) for v in values for r in rounded) else "other_losses"

    @staticmethod
    def _other_weights(t, held, right) -> Finding | str | None:
        """A factor that all steps have in common, where the usual ones are tried; a weight decay; or another rule."""
        if not all(close(own, held[0]) for own in held):
            return None
        k = t.local
        for factor in (t.p**0.5, t.p**-0.5, t.p * k, 1 / k, 1 / (t.p * k), t.p**2, t.p**-2, 2, 0.5, 4, 0.25):
            if close(held[0], t.end(t.lr * factor)):
                return Finding("other_learning_rate", f"Every step is {factor:.4g} times as long as it should be.")
        for decay in (0.1, 0.01, 5e-3, 1e-3, 5e-4, 1e-4, 1e-5):
            if close(held[0], t.end(decay=decay), 1e-7, 1e-9):
                return Finding("weight_decay", f"It is {decay:.2g}.")
        error = np.abs(held[0] - right).max() / np.abs(right).max()
        if error < 10**-2.5 and not t.extreme and not close(held[0], t.starts[0]):
            return Finding("low_precision", f"Right to about {-np.log10(error):.0f} digits.")
        return "other_steps" if np.isfinite(held[0]).all() else None


EITHER = "Either mean * count * world_size / total, or sum * world_size / total."
SCALED = Mistake("scaled", "The gradient has the right direction but the wrong length.")


class UnevenLoss(ReportExercise):
    """A loss for uneven batches"""

    signature = "uneven_loss(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor"
    levels = {"uneven shares": 2, "a rank without samples": 1}
    may_lose = LABELS
    parts = ("gradient", ("loss", "differentiable"))
    harness = harness_of(__file__, "uneven_loss")
    # What a sample counts in the loss of its rank: one number, or one for each rank. A rank that leaves a collective
    # out meets the others' in its own backward pass: another type.
    mistakes = [
        Mistake("mean_of_means", "Each rank averages over its own share, and DDP averages the ranks: a sample on a "
                "rank with few of them counts more.",
                "Every sample of the global batch must weigh 1 / total: scale the mean by count * world_size / total.",
                lambda t: t.one_over),
        Mistake("world_size_missing",
                "The gradient is too small by the number of ranks: DDP divides the sum over the ranks by it.",
                "Multiply by `dist.get_world_size()`, to undo DDP's division.", lambda t: 1 / t.total),
        Mistake("summed_loss", "The loss was summed over the samples, and nothing divides by their number.",
                "Divide by the number of samples on all ranks, and multiply by the number of ranks.", lambda t: 1),
        Mistake("times_world_size", "This is the mean over this rank's share, times the number of ranks.",
                "The divisor is the number of samples on all ranks.", lambda t: t.p * t.one_over),
        Mistake("weighted_twice",
                "A mean over this rank's share was scaled like a sum, or a sum like a mean.", EITHER,
                lambda t: t.counts * t.p / t.total),
        Mistake("divided_twice",
                "The mean over this rank's share was divided by the number of all samples, a second division.", EITHER,
                lambda t: t.p * t.one_over / t.total),
        Mistake("largest_share", "The divisor is the largest share, not the mean share.",
                "Sum the counts: ReduceOp.SUM, not ReduceOp.MAX.", lambda t: 1 / t.counts.max()),
        Mistake("rank_0_share", "Every rank divides by the number of samples that rank 0 has.",
                "Sum the counts of all ranks with an all_reduce.", lambda t: t.one_over[0] or None),
        Mistake("whole_division", "The mean share was rounded to a whole number.",
                "Divide with `/`, not with `//`, and do not average integers.",
                lambda t: 1 / (t.total // t.p) if t.total >= t.p else None),
        Mistake("times_total", "The loss was multiplied by the number of samples on all ranks.",
                "Divide by that number: sum * world_size / total.",
                lambda t: t.total / t.p),
        Mistake("divided_by_world_size",
                "The loss was divided by the number of ranks. DDP does that as well, so it is done twice.",
                "Multiply by `dist.get_world_size()`, to undo DDP's division.",
                lambda t: 1 / t.total / t.p),
        Mistake("scaled_by_a_loss", "The loss was scaled by the loss of all ranks, so that its value is the mean over "
                "all samples. That also scales the gradient, by a wrong factor.",
                "The factor depends only on counts: world_size / total, for the sum over the rank's samples. The mean "
                "over the ranks then is the mean over all samples.",
                lambda t: t.mean_loss * t.one_over_own),
        Mistake("cut_from_graph", "What you return has no gradient: it was cut off from the outputs.",
                "No `.item()`, `.detach()` or `torch.tensor(loss)` on the way from the outputs to the returned loss."),
        Mistake("not_a_number", "On a rank without samples the loss is not a number: it is the mean over no samples.",
                'Start from the sum, `reduction="sum"`: over no samples it is zero.'),
        Mistake("log_of_softmax", "The loss is not finite, although the outputs are: where they are far apart, "
                "softmax gives a probability of 0, whose logarithm is -inf.",
                "`F.cross_entropy`, or the log_softmax of the outputs: both never compute the probability itself."),
        Mistake("no_gradient_of_the_others",
                "The gradients differ between the ranks: DDP's backward pass was not used.",
                "Return the loss and leave backward() to the caller."),
        *(Mistake(name, "A rank left out something the others wait for: a collective, or a loss to call backward() on.",
                  "Every rank counts its samples and returns a loss made from `outputs`, also without samples.")
          for name in ("missing_rank", "mismatched_dtype")),
        SCALED.but(how="Check the factors: every sample counts 1 / total, and DDP divides by world_size."),
        Mistake("count_overflows",
                "The number of samples does not fit the type in which it was counted: uint8 ends at 255, int16 at "
                "32767, and float16 holds no odd number above 2048.",
                "Count in int64, which is what `torch.tensor(3)` is, or in float32 or float64."),
        Mistake("low_precision", "The gradient is right only to some digits: the outputs are float64 here, and "
                "something was converted to a narrower type on the way to the loss.",
                "Keep the dtype of the outputs, also for the loss."),
        Mistake("other_value", "The gradient is right, but the mean of the returned losses over the ranks is not the "
                "mean cross-entropy over all samples.",
                "What was subtracted to keep the numbers small, such as the largest output, belongs to the loss: add "
                "it again."),
        Mistake("other_gradient",
                "All ranks hold the same gradient, but not that of the mean cross-entropy over all samples.",
                'The plain cross-entropy, `F.cross_entropy(outputs, labels, reduction="sum")`, times one factor: '
                "world_size / total."),
    ]  # fmt: skip

    def cases(self, rng):
        return [
            self._case(rng, "uneven shares", (3, 6)),
            self._case(rng, "uneven shares", (5, 5, 1), late=(2,)),
            self._case(rng, "uneven shares", (2, 7, 3, 1), far=True),
            self._case(rng, "uneven shares", (2305, 9)),  # more than a count of 8 bits, or of float16, holds
            self._case(rng, "a rank without samples", (5, 0), late=(1,)),
            self._case(rng, "a rank without samples", (0, 4, 1, 0, 2)),
            self._case(rng, "uneven shares", (6,)),
            self._case(rng, "uneven shares", (3, 9)),  # shares that other cases have, too, with other totals
            self._case(rng, "uneven shares", (16384, 16393)),  # more than a count of 16 bits holds
        ]

    @staticmethod
    def _case(rng, level, counts, far=False, **options):
        """far: the logits of two samples of each rank are so far apart that softmax gives 0 for a label: class 1 has
        the largest of them all in the first one, and the smallest in the second."""
        sizes = (4, 5, 3)
        known = {"values": start_values(rng, sizes), "sizes": sizes}
        known["shares"] = [draw_batch(rng, n, sizes) for n in counts]
        if far:
            w1, b1, w2, _ = np.split(known["values"], np.cumsum([20, 5, 15]))  # views
            w1[:4], b1[0], w2[5] = (3, 0, 0, 0), 0, 900  # class 1 has 900 times the tanh of three times a feature
            for x, labels in known["shares"]:
                x[:1, 0], x[1:2, 0], labels[:2] = 2, -2, 0
        known["x"], known["y"] = zip(*map(as_tensors, known["shares"]), strict=True)
        says = f"shares of {', '.join(map(str, counts[:-1]))} and {counts[-1]} samples" + ", logits far apart" * far
        return on_ranks(level, len(counts), "values sizes x[r] y[r]", known, says, rtol=2e-7, atol=1e-12, **options)

    def worked(self, case):
        t = super().worked(case)
        t.counts = np.array([len(x) for x, _ in t.shares])
        t.total = t.counts.sum()
        t.one_over = np.where(t.counts > 0, 1 / np.maximum(t.counts, 1), 0.0)
        losses = np.array([loss_and_gradient(t.values, share, t.sizes, total=1)[0] for share in t.shares])
        t.mean_loss = losses.sum() / t.total
        t.one_over_own = np.where(t.counts > 0, 1 / np.where(t.counts > 0, losses, 1), 0.0)
        return t

    @staticmethod
    def _gradient(case, weights) -> np.ndarray:
        """DDP's gradient when every sample of rank r counts weights[r] in that rank's loss."""
        known = case.known
        own = [loss_and_gradient(known["values"], share, known["sizes"], total=1)[1] for share in known["shares"]]
        return np.mean(np.broadcast_to(weights, case.world_size)[:, None] * own, axis=0)

    def expected(self, case):
        gradient = self._gradient(case, case.world_size / self.worked(case).total)
        return [{"gradient": gradient, "loss": ANYTHING, "differentiable": ANYTHING}] * case.world_size

    def per_rank(self, case, value):
        return super().per_rank(case, self._gradient(case, value))

    def facts(self, case: Case, run: Run):
        values = returned(run)
        first, right, total = values[0]["gradient"], self.expected(case)[0]["gradient"], self.worked(case).total
        if not all(value["differentiable"] for value in values):
            return "cut_from_graph"
        if not all(np.isfinite(value["loss"]) and np.isfinite(value["gradient"]).all() for value in values):
            name = "not_a_number" if self.worked(case).counts.min() == 0 else "log_of_softmax"
            return Finding(name, f"The losses are {', '.join(format(v['loss'], '.3g') for v in values)}.")
        if not all(close(value["gradient"], first) for value in values):
            return "no_gradient_of_the_others"
        ratio = float(first @ right / (right @ right))
        if close(first, right, 2e-7, 1e-12):
            mean, wanted = np.mean([value["loss"] for value in values]), self.worked(case).mean_loss
            said = f"The mean of the losses is {mean:.4g}, not {wanted:.4g}."
            return None if np.isclose(mean, wanted, 1e-5) else Finding("other_value", said)
        if close(first, right, 1e-4, 1e-6):
            return "low_precision"
        if name := self._other_scale(case, first):
            return name
        if not close(first, ratio * right, 1e-5, 1e-9):
            return "other_gradient"
        wrapped = [count for count in (total % 256, total - 2**16) if count]  # as uint8 and int16 count it
        overflows = np.isclose(ratio, total / np.array(wrapped)).any() or total > 2048 and abs(ratio - 1) < 0.01
        return "count_overflows" if overflows else Finding("scaled", f"It is {ratio:.4g} times what it should be.")

    def _other_scale(self, case, gradient) -> str | None:
        """The mistakes that scale by what all ranks have, in their other forms."""
        t = self.worked(case)
        forms = {
            "times_total": (t.total, t.one_over * t.total, t.one_over * t.total / t.p),
            "divided_by_world_size": (t.one_over / t.p, t.counts / t.total / t.p),
            "scaled_by_a_loss": (t.mean_loss / t.total, t.mean_loss * t.p / t.total, t.mean_loss),
        }
        pairs = ((name, weights) for name, all_weights in forms.items() for weights in all_weights)
        return next((name for name, weights in pairs if close(gradient, self._gradient(case, weights))), None)


class Accumulate(ReportExercise):
    """Accumulating gradients"""

    signature = "accumulate(ddp: DistributedDataParallel, micro_batches: list) -> None"
    levels = {"the gradient of all samples": 1, "one synchronisation": 2}
    may_lose = LABELS
    parts = ("gradient", ("largest", "graphs", "kept", "on", "mode", "hooks"))
    harness = harness_of(__file__, "accumulate")
    mistakes = [
        Mistake("own_gradient", "Each rank holds the gradient of its own samples: no backward pass was synchronised.",
                "Run the forward *and* the backward pass of the last micro-batch outside `no_sync()`.",
                lambda t: list(t.each.mean(axis=1))),
        Mistake("not_divided", "The gradients of the micro-batches were added up, not averaged.",
                "Divide each loss by the number of micro-batches.", lambda t: t.mean.sum(axis=0)),
        Mistake("own_not_divided",
                "Each rank holds the sum over its own micro-batches: neither averaged nor synchronised.",
                "Divide each loss by their number, and do the last forward and backward pass outside `no_sync()`.",
                lambda t: list(t.each.sum(axis=1))),
        Mistake("only_last_divided",
                "Only the last micro-batch's loss was divided by their number: the others count in full.",
                "Divide every loss, also inside `no_sync()`.", lambda t: t.mean[:-1].sum(axis=0) + t.mean[-1] / t.k),
        Mistake("last_not_divided",
                "Every loss was divided by the number of micro-batches but the last one, which counts in full.",
                "Divide every loss, also the one outside `no_sync()`.",
                lambda t: t.mean[:-1].sum(axis=0) / t.k + t.mean[-1]),
        Mistake("last_only", "Only the last micro-batch is in the gradient.",
                "No zero_grad() between the micro-batches: gradients add up by themselves.", lambda t: t.mean[-1]),
        Mistake("last_only_divided", "Only the last micro-batch is in the gradient, divided as if all of them were.",
                "No zero_grad() between the micro-batches: gradients add up by themselves.",
                lambda t: t.mean[-1] / t.k),
        Mistake("first_synchronised",
                "The first micro-batch was synchronised and the others were added on each rank alone.",
                "Synchronise the last one: its backward pass sends the whole accumulated gradient.",
                lambda t: list((t.mean[0] + t.each[:, 1:].sum(axis=1)) / t.k)),
        Mistake("divided_again", "The gradient was divided by the number of ranks once more.",
                "DDP's result is the mean over the ranks already.", lambda t: t.mean.mean(axis=0) / t.p),
        Mistake("one_too_few", "A micro-batch is missing.",
                "The loop inside `no_sync()` takes all but the last, and the last one follows after it.",
                lambda t: t.mean[:-1].sum(axis=0) / t.k if t.k > 1 else None),
        SCALED.but(how="Divide each loss by the number of micro-batches, and nothing by the number of ranks."),
        Mistake("synchronises_every_time", "The gradient is right, but it was sent more than once.",
                "All micro-batches but the last go inside `with ddp.no_sync():`, the forward pass too: there DDP "
                "decides whether to synchronise. After the last one all ranks hold the same gradient."),
        Mistake("one_big_batch", "The gradient is right, but all micro-batches went through the model at once.",
                "Take one after the other: accumulation exists because they do not fit into memory together."),
        Mistake("graphs_kept", "The gradient is right, but a forward pass ran before the backward pass of an earlier "
                "micro-batch: the activations of both are in memory at the same time, as if they were one batch.",
                "Run forward and backward of one micro-batch, then the next: gradients add up in `parameter.grad`, no "
                "sum of losses is needed."),
        Mistake("weights_changed", "The gradient is right, but the parameters have changed.",
                "Leave the gradient in `parameter.grad`: the caller makes the step."),
        LEFT_IN_EVAL_MODE.but(why="The gradient is right, but the model is in evaluation mode afterwards.",
                              how="Leave the mode as it is: the caller goes on training."),
        Mistake("left_in_training_mode", "The gradient is right, but what was in evaluation mode before the call is in "
                "training mode after it: the model, or a part of it that is frozen.",
                "Leave the mode as it is, or set it back before you return: the caller counts on it."),
        Mistake("hooks_left", "The gradient is right, but a hook was left on the parameters: it changes the gradient "
                "of the caller's next backward pass, too.",
                "Divide each loss instead, or call `remove()` on what `register_hook` returned."),
        Mistake("left_switched_off",
                "The gradient is right, but the model was left with its synchronisation switched off.",
                "Use `with ddp.no_sync():`, which switches it on again at its end."),
    ]  # fmt: skip

    def cases(self, rng):
        gradient, once = self.levels
        return [
            self._case(rng, gradient, 2, 3, 2),
            self._case(rng, gradient, 3, 1, 4, evaluates="a part of it", late=(2,)),
            self._case(rng, once, 4, 4, 2),
            self._case(rng, once, 3, 2, 3, evaluates="all of it", late=(0,)),
            self._case(rng, once, 2, 1, 3),
            self._case(rng, once, 2, 3, 2, one_twice=True),
            self._case(rng, gradient, 1, 3, 2),
        ]

    @staticmethod
    def _case(rng, level, p, k, local, one_twice=False, evaluates="", **options):
        """one_twice: the first entry of `micro_batches` is the same object as the last. evaluates: how much of the
        model is in evaluation mode: "", "a part of it" or "all of it"."""
        sizes = (4, 5, 3)
        known = {"values": start_values(rng, sizes), "sizes": sizes, "k": k, "local": local, "one_twice": one_twice}
        known["batches"] = [[draw_batch(rng, local, sizes) for _ in range(k)] for _ in range(p)]
        for own in known["batches"] if one_twice else ():
            own[0] = own[-1]
        known["sent"] = [[as_tensors(batch) for batch in own] for own in known["batches"]]
        says = f"{k} micro-{'batch' if k == 1 else 'batches'} of {local} samples on each rank"
        says += ", the first and the last the same" * one_twice
        says += f", the model ({evaluates}) in evaluation mode" if evaluates else ""
        known["evaluates"] = evaluates
        return on_ranks(
            level, p, "values sizes sent[r] one_twice evaluates", known, says, rtol=1e-6, atol=1e-9, **options
        )

    def worked(self, case):
        """each: the gradient of every micro-batch, (ranks, micro-batches, parameters); mean: over the ranks."""
        t = super().worked(case)
        t.each = np.array([[loss_and_gradient(t.values, batch, t.sizes)[1] for batch in own] for own in t.batches])
        t.mean = t.each.mean(axis=0)
        return t

    def expected(self, case):
        rest = dict.fromkeys(self.parts[1], ANYTHING)
        return [{"gradient": self.worked(case).mean.mean(axis=0), **rest}] * case.world_size

    def facts(self, case: Case, run: Run):
        values, right, k = returned(run), self.expected(case)[0]["gradient"], case.known["k"]
        ratio = float(values[0]["gradient"] @ right / (right @ right))
        if not all(close(value["gradient"], right, 1e-6, 1e-9) for value in values):
            scaled = all(close(value["gradient"], ratio * right, 1e-6, 1e-9) for value in values)
            return Finding("scaled", f"It is {ratio:.4g} times what it should be.") if scaled else None
        if not all(value["kept"] for value in values):
            return "weights_changed"
        if changed := [value["mode"] for value in values if value["mode"] != "as it was"]:
            return "left_in_eval_mode" if changed[0] == "evaluation" else "left_in_training_mode"
        if not all(value["hooks"] == "none" for value in values):
            return "hooks_left"
        if case.level != "one synchronisation":
            return None
        if k > 1 and any(value["largest"] > case.known["local"] for value in values):
            return Finding("one_big_batch", f"{values[0]['largest']} samples went through the model at once.")
        if kept := [value["graphs"] for value in values if value["graphs"] > 1]:
            return Finding("graphs_kept", f"{max(kept)} forward passes were waiting for their backward pass.")
        sent = self._sent(run)
        if (total := sum(sent.values())) > 1.5 * right.nbytes:
            times = f"{total / right.nbytes:.0f} times the {right.nbytes} B of the gradient"
            return Finding("synchronises_every_time", f"Rank 0 handed {total} B to {' and '.join(sent)}, {times}.")
        return None if all(value["on"] for value in values) else "left_switched_off"

    @staticmethod
    def _sent(run: Run) -> dict[str, int]:
        """The bytes that rank 0 gave to each operation after the first barrier, the harness's."""
        own = [event for event in run.events if event.rank == 0]
        begin = next((k for k, event in enumerate(own) if event.kind == "barrier"), -1)
        sent: dict[str, int] = {}
        for event in own[begin + 1 :]:
            if event.nbytes:
                sent[event.kind] = sent.get(event.kind, 0) + event.nbytes
        return sent


class Buckets(PlainExercise):
    """Who shares a bucket"""

    signature = "buckets(sizes: list[int], first_cap: int, cap: int) -> list[list[int]]"
    any_type = "whoever loops over the buckets does not mind in what they come"
    levels = {"equal caps": 1, "a small first bucket": 1}
    mistakes = [
        Mistake("forward_order", "The buckets were filled from the first parameter on.",
                "Start from the last parameter: the gradients of the first layer are ready last.",
                lambda t: t.fill(t.numbers)),
        Mistake("reversed_at_the_end", "The buckets were filled from the first parameter on and reversed "
                "afterwards: the remainder is in the wrong bucket.",
                "Walk through the parameters backwards.", lambda t: t.fill(t.numbers, first_cap=t.cap)[::-1]),
        Mistake("never_above_the_cap", "A bucket was closed before it would have exceeded its cap.",
                "DDP closes a bucket once it holds at least its cap: the gradient that exceeds it still goes in.",
                lambda t: t.fill(below=True)),
        Mistake("only_above_the_cap", "A bucket that holds exactly its cap was left open.",
                "A bucket is full when it holds its cap or more: `>=`, not `>`.",
                lambda t: t.fill(first_cap=t.first_cap + 1, cap=t.cap + 1)),
        Mistake("never_emptied", "The bytes of earlier buckets were counted again: from the first full bucket on every "
                "gradient has a bucket of its own.",
                "A new bucket begins with 0 bytes.", lambda t: t.fill(emptied=False)),
        Mistake("counted_from_one", "The parameters were counted from 1.",
                "Parameter 0 is the first: count from 0.", lambda t: [[k + 1 for k in bucket] for bucket in t.right]),
        Mistake("one_cap", "The first bucket got the cap of the others.",
                "The first bucket is closed at first_cap.", lambda t: t.fill(first_cap=t.cap)),
        Mistake("first_cap_for_all", "Every bucket got the cap of the first one.",
                "From the second bucket on it is cap.", lambda t: t.fill(cap=t.first_cap)),
        Mistake("caps_swapped", "The first bucket got the cap of the others, and the others got the cap of the first.",
                "`first_cap` is the first bucket's, also where it is the larger one.",
                lambda t: t.fill(first_cap=t.cap, cap=t.first_cap) if t.first_cap > t.cap else None),
        Mistake("small_bucket_last", "The small bucket is the last one.",
                "The small bucket is the first to be sent: it lets the communication begin early.",
                lambda t: [bucket[::-1] for bucket in t.fill(t.numbers)[::-1]]),
        Mistake("last_bucket_lost",
                "The last bucket is missing: it was never closed, because it did not reach its cap.",
                "The remainder is a bucket, too.", lambda t: t.right[:-1] if t.remainder else None),
        Mistake("empty_bucket", "There is an empty bucket.",
                "Open a bucket only when there is a gradient for it; without parameters there is no bucket.",
                lambda t: [*t.right, []]),
        Mistake("sorted_inside",
                "The right parameters share a bucket, but inside a bucket they are in the order of the model.",
                "Keep the order in which they become ready: the last parameter first.",
                lambda t: [sorted(bucket) for bucket in t.right]),
        Mistake("bytes_for_numbers", "These are the sizes of the gradients.",
                "Return their numbers, counted from 0.",
                lambda t: [[t.sizes[k] for k in bucket] for bucket in t.right]),
        Mistake("narrow_bytes", "The bytes were counted in a type that is too narrow: float32 has no odd number above "
                "2**24, and 2**24 bytes are only 16 MiB.", "Count in Python's integers, or in int64.",
                lambda t: fill(t.numbers[::-1], np.float32(t.sizes), t.first_cap, t.cap)),
        Mistake("other_order", "The right parameters share a bucket, but the buckets are in another order.",
                "The bucket with the last parameter is full first."),
        Mistake("not_integers",
                "The numbers of the parameters are floating-point numbers: 3.0 is not a valid index of a list.",
                "Return integers."),
        Mistake("remainder_carried_over",
                "The bytes of a bucket above its cap were counted in the next one, which is then full too early.",
                "A new bucket begins with 0 bytes, however full the last one was."),
        Mistake("other_buckets", "Every parameter is in exactly one bucket, but DDP groups them differently.",
                "From the last parameter to the first; a bucket is closed as soon as it holds at least its cap."),
        Mistake("parameter_lost", "Not every parameter is in exactly one bucket.", "Put each one into one bucket."),
    ]  # fmt: skip

    def draw(self, rng):
        first, second = self.levels
        # From behind 15 + 10 + 15 = 40 is exactly full, and so is the second bucket, which has the other cap.
        exact = [7, 40, *rng.integers(1, 30, 2).tolist(), 25, 12, 28, 15, 10, 15]
        for level, sizes, first_cap, cap in (
            (first, self._carried_over(rng, 12, 40, 40), 40, 40),
            (first, exact, 40, 40),
            (first, [12, 200, 49], 50, 50),  # one byte is missing
            (first, [12, 3 * 2**30, 1, 25 * 2**20 - 1], 25 * 2**20, 25 * 2**20),  # DDP's cap, one gradient of 3 GiB
            (first, [], 50, 50),
            (first, [3, 38, 39, 45], 40, 40),  # the rest is small
            (second, [22, 31, 18, 12, 9, 14, 5], 20, 30),  # the first bucket needs three
            (second, [12, 14, 8, 13, 16, 21, 22], 35, 20),  # and may be the largest
            (second, [0, 9, 0, 11, 20, 0], 20, 30),  # empty parameters have a place, too
            (second, [0, 0, 25], 20, 30),  # also where nothing else is left
            (second, self._carried_over(rng, 14, 20, 60), 20, 60),
            (
                second,
                self._telling_apart(rng, [30, 40, 20], 9, 20, 70),
                20,
                70,
            ),  # exactly full: the first and the second
            (first, [1] * 1200, 1, 1),  # more than Python's functions call each other
            (second, [0, 0], 20, 30),  # not one byte, and a bucket all the same
        ):
            says = f"{len(sizes)} parameters, first_cap = {first_cap} B, cap = {cap} B"
            yield level, {"sizes": sizes, "first_cap": first_cap, "cap": cap}, {"says": says}

    @staticmethod
    def _telling(rng, n, first_cap, cap) -> list[int]:
        """Sizes with which filling from the first parameter on gives other buckets than filling from the last.

        The last bucket stays below its cap and holds several parameters: without parameter 0 it is still there, so that
        a lost parameter and a lost bucket are two things.
        """
        while True:
            sizes = rng.integers(1, 30, n).tolist()
            right = fill(range(n)[::-1], sizes, first_cap, cap)
            several = len(right[-1]) > 1 and sum(sizes[k] for k in right[-1]) < cap
            if several and list(map(sorted, right)) != fill(range(n), sizes, cap, cap)[::-1]:
                return sizes

    def _carried_over(self, rng, n, first_cap, cap) -> list[int]:
        """Sizes for which bytes that are carried over change the buckets."""
        while True:
            sizes = self._telling(rng, n, first_cap, cap)
            right, never_emptied = (fill(range(n)[::-1], sizes, first_cap, cap, emptied=e) for e in (True, False))
            if right != never_emptied and len(carried(sizes, first_cap, cap)) != len(right):
                return sizes

    def _telling_apart(self, rng, end, n, first_cap, cap) -> list[int]:
        """Sizes that end in `end`, and with which no two slips come out alike, whatever the key."""
        while True:
            sizes = [*self._telling(rng, n, cap, cap), *end]
            order = range(len(sizes))[::-1]
            caps = [
                (first_cap + a, cap + b) for a in (0, 1) for b in (0, 1)
            ]  # exactly full is not full, in one or in all
            found = [fill(order, sizes, *two) for two in caps]
            found.append(fill(order, sizes, first_cap, cap, emptied=False))
            found.append([bucket[::-1] for bucket in fill(order[::-1], sizes, first_cap, cap)[::-1]])
            if all(a != b for a, b in itertools.combinations(found, 2)):
                return sizes

    def right(self, sizes, first_cap, cap):
        return fill(range(len(sizes))[::-1], sizes, first_cap, cap)

    def worked(self, case):
        t = super().worked(case)
        t.numbers = range(len(t.sizes))
        t.remainder = t.right and sum(t.sizes[k] for k in t.right[-1]) < (t.first_cap if len(t.right) == 1 else t.cap)

        def fill_as(order=t.numbers[::-1], first_cap=t.first_cap, cap=t.cap, **how):
            return fill(order, t.sizes, first_cap, cap, **how)

        t.fill = fill_as
        return t

    def read(self, buckets, sizes, first_cap, cap):
        if not isinstance(buckets, list) or not all(isinstance(bucket, (list, tuple)) for bucket in buckets):
            return None
        numbers, right = list(itertools.chain(*buckets)), self.right(sizes, first_cap, cap)
        if not all(isinstance(number, (int, float)) for number in numbers):
            return None
        if [] in buckets:
            return "empty_bucket"
        if sorted(numbers) != list(range(len(sizes))):
            return "parameter_lost"
        if sorted(map(sorted, buckets)) == sorted(map(sorted, right)):
            return "other_order"
        if numbers[0] == 0 and len(sizes) > 1:
            return "forward_order"
        caps = [first_cap, *[cap] * len(buckets)]
        if all(len(b) == 1 or sum(sizes[k] for k in b) <= cap for b, cap in zip(buckets, caps, strict=False)):
            return "never_above_the_cap"
        return "remainder_carried_over" if buckets == carried(sizes, first_cap, cap) else "other_buckets"

    def read_right(self, buckets, sizes, first_cap, cap):
        floats = isinstance(buckets, list) and any(isinstance(k, float) for bucket in buckets for k in bucket)
        return "not_integers" if floats else None


def fill(order, sizes, first_cap, cap, *, below=False, emptied=True) -> list[list[int]]:
    """Buckets in the order of `order`. Source: compute_bucket_assignment_by_size in torch.

    below: a bucket is closed before it would pass its cap. emptied: whether a new bucket counts its bytes from 0.
    """
    result, held, limit = [], 0, 0
    for k in order:
        if held >= limit or (below and held + sizes[k] > limit):
            result.append([])
            held, limit = held * (not emptied), cap if result[1:] else first_cap
        result[-1].append(k)
        held += sizes[k]
    return result


def carried(sizes, first_cap, cap) -> list[list[int]]:
    """The buckets that result from cutting the running sum of bytes at multiples of the cap."""
    result, held = {}, 0
    for k in reversed(range(len(sizes))):
        result.setdefault(0 if held < first_cap else 1 + (held - first_cap) // cap, []).append(k)
        held += sizes[k]
    return list(result.values())


BUFFERS = {"mean_module.batches", "mean_module.seen"}
OPTIMIZERS = ("state_dict", "a part of the state_dict", "another state", "other settings")
SCRATCH = "mean_module.scratch"  # not persistent: no entry of the state_dict


class SaveCheckpoint(Exercise):
    """Saving a checkpoint"""

    signature = (
        "save_checkpoint(path: str, ddp: DistributedDataParallel, optimizer: torch.optim.Optimizer, epoch: int) -> None"
    )
    levels = {"contents of the file": 1, "one rank writes, all wait": 2}
    talks = False  # a barrier is enough
    # Each rank's DDP has a group of its own here, so that nothing but the student's code makes a rank wait for another:
    # rank 0 starts when all others have returned or wait for it. Writing and renaming take a while, as on a real disk.
    shares_files = True
    harness = harness_of(__file__, "save_checkpoint")
    # In the order in which they are looked for.
    mistakes = [
        Mistake("written_by_others",
                "Another rank than 0 wrote a file: when several write the same one, it can end up mixed or cut off.",
                "Save only `if dist.get_rank() == 0:`; the others write nothing. LOCAL_RANK is 0 on every machine, "
                "the rank only once."),
        Mistake("never_written", "There is no file at `path`.", "Rank 0 writes it: `torch.save(..., path)`."),
        Mistake("older_file_kept",
                "There was an older checkpoint at `path`, and it is still there: the new one was not written.",
                "Write every time: the new checkpoint replaces the old one."),
        Mistake("other_entries", "The file must hold a dict with the entries model, optimizer and epoch.",
                '`{"model": ..., "optimizer": ..., "epoch": ...}`'),
        Mistake("whole_object", "The file holds a pickled object, not its state: it cannot be read without the "
                "classes that wrote it.",
                "Save `state_dict()`, of the model and of the optimizer."),
        Mistake("module_prefix",
                "The names in the file begin with `module.`: only a model in a DDP wrapper can load them.",
                "Save `ddp.module.state_dict()`."),
        Mistake("other_names", "The names in the file are not those of the model inside.",
                "Save `ddp.module.state_dict()`. If you remove `module.` yourself, remove it only at the beginning "
                "of a name: `name.removeprefix('module.')`."),
        Mistake("scratch_buffers", "A buffer is in the file that the model does not keep: it was registered with "
                "`persistent=False`, and `load_state_dict` will not know its name.",
                "Save `ddp.module.state_dict()`, which leaves such buffers out."),
        Mistake("buffers_missing", "The parameters are in the file, the model's buffers are not: tensors that are not "
                "trained, such as the running averages of a batch normalisation.",
                "Save `ddp.module.state_dict()`, which holds both."),
        Mistake("no_momentum",
                "The optimizer's momentum is not in the file: training would continue as if it had just begun.",
                "Save the whole `optimizer.state_dict()`."),
        Mistake("no_param_groups", "The optimizer's momentum is in the file, its settings are not (`param_groups`: the "
                "learning rate, for example): `optimizer.load_state_dict` refuses that.",
                "Save the whole `optimizer.state_dict()`."),
        Mistake("other_state", "The optimizer's momentum is in the file, but not under the numbers of the parameters: "
                "`optimizer.load_state_dict` takes it without an error, and then no parameter has any.",
                "Save `optimizer.state_dict()`, which numbers the parameters."),
        Mistake("other_settings", "The optimizer's settings in the file (`param_groups`) are not those it has, or some "
                "are missing: the weight decay, for example.",
                "Save the whole `optimizer.state_dict()`."),
        Mistake("other_momentum", "The momentum in the file is not the optimizer's, or is right only to some digits.",
                "Save `optimizer.state_dict()` unchanged, in its dtype."),
        Mistake("other_epoch", "The epoch in the file is not the one you were given.", "Store `epoch` unchanged."),
        Mistake("other_weights", "The weights in the file are not those of the model.",
                "`ddp.module.state_dict()` holds all of them, in their dtype."),
        Mistake("needs_pickle", "The file holds an object, such as a date, that torch.load refuses: by default it "
                "reads only tensors, numbers, texts, lists and dicts.",
                "Leave it out, or store it as a number or a text: `str(...)`."),
        Mistake("missing_barrier", "A rank returned before rank 0 had written the file: if it then loads the "
                "checkpoint, it finds none, or half of one.",
                "`dist.barrier()` on every rank, after rank 0 has saved."),
    ]  # fmt: skip

    def cases(self, rng):
        first, second = self.levels
        return [
            self._case(rng, first, 2, (4, 5, 3)),
            self._case(rng, first, 3, (3, 3, 2), older=True),
            self._case(rng, second, 3, (3, 4, 2), late=(0,)),
            self._case(rng, second, 4, (4, 3, 3), late=(0,)),
            self._case(rng, first, 1, (4, 3, 2), epoch=0, adam=True),
        ]

    @staticmethod
    def _case(rng, level, p, sizes, late=(), older=False, epoch=None, adam=False):
        known = {"values": start_values(rng, sizes), "velocity": start_values(rng, sizes), "sizes": sizes}
        epoch = known["epoch"] = int(rng.integers(3, 90)) if epoch is None else epoch
        known["seen"] = float(rng.integers(1, 100))
        known["older"] = epoch - 2 if older else 0
        over = f", over a checkpoint of epoch {epoch - 2}" if older else ""
        says = "rank 0 is late" if late else f"epoch {epoch}{over}"
        says += ", two ranks on a machine" * (p > 2) + ", Adam" * adam
        known["adam"] = adam
        # What is saved is what was there, bit by bit.
        return on_ranks(level, p, "values velocity sizes epoch seen older adam", known, says, late=late, rtol=0, atol=0)

    def expected(self, case):
        known = case.known
        content = {
            "file": "there",
            "entries": ["epoch", "model", "optimizer"],
            "epoch": known["epoch"],
            "model": ["0.bias", "0.weight", "2.bias", "2.weight", *sorted(BUFFERS)],
            "weights": np.array([*known["values"], known["seen"]]),
            "counts": [2 * int(known["seen"]) + 1],
            "optimizer": "state_dict",
            "momentum": known["velocity"],
            "dtypes kept": True,
            "weights_only": True,
        }
        others = ANYTHING if case.level == "contents of the file" else "there"
        return [content, *[{"file": others}] * (case.world_size - 1)]

    def facts(self, case: Case, run: Run):
        mine, *others = returned(run)
        right = self.expected(case)[0]
        early = [r for r, other in enumerate(others, 1) if other["file"] == "not there yet"]
        model, optimizer, epoch = mine.get("model", []), mine.get("optimizer"), mine.get("epoch")
        alien = "written by this rank" in [other["file"] for other in others]
        looked_for = {
            "written_by_others": alien or mine["file"] == "written by another rank",
            "never_written": mine["file"] == "never written",
            "older_file_kept": case.known["older"] and epoch == case.known["older"],
            "other_entries": mine.get("entries") != right["entries"],
            "whole_object": isinstance(model, str) or optimizer not in OPTIMIZERS,
            "module_prefix": any(name.startswith("module.") for name in model),
            "buffers_missing": set(model) < set(right["model"]) and not set(right["model"]) - set(model) - BUFFERS,
            "scratch_buffers": model == sorted([*right["model"], SCRATCH]),
            "other_names": model != right["model"],
            "no_momentum": "momentum" not in mine,
            "no_param_groups": optimizer == "a part of the state_dict",
            "other_state": optimizer == "another state",
            "other_settings": optimizer == "other settings",
            "other_momentum": not np.array_equal(mine.get("momentum"), right["momentum"]),
            "other_epoch": epoch != right["epoch"],
            "other_weights": not np.array_equal(mine.get("weights"), right["weights"])
            or mine.get("counts") != right["counts"]
            or not mine.get("dtypes kept"),
            "needs_pickle": mine.get("weights_only") is False,
            "missing_barrier": early and case.level != "contents of the file",
        }
        found = next((name for name, is_so in looked_for.items() if is_so), None)
        if found == "other_entries":
            return Finding(found, f"The file holds: {', '.join(mine['entries'])}.")
        return (
            Finding(found, f"Rank {early[0]} had returned when there was no file yet.")
            if found == "missing_barrier"
            else found
        )


class LoadCheckpoint(ReportExercise):
    """Resuming from a checkpoint"""

    signature = "load_checkpoint(path: str, ddp: DistributedDataParallel, optimizer: torch.optim.Optimizer) -> int"
    never_alone = "the ranks that have not written the file are what goes wrong"
    any_type = "the epoch may stay the tensor that rank 0 has sent"
    levels = {"the uninterrupted run": 2}
    may_lose = LABELS
    shares_files = True
    parts = ("weights", "seen", "file", "epoch", "trains")
    harness = harness_of(__file__, "load_checkpoint")
    # What the training goes on from: weights, momentum and rate of each rank.
    mistakes = [
        Mistake("NamesDiffer", "The wrapper's names begin with `module.`, those in the file do not.",
                'Load into the model inside: `ddp.module.load_state_dict(checkpoint["model"])`.'),
        Mistake("nothing_loaded", "Training started again: neither weights nor momentum came from the file.",
                "`strict=False` hides names that do not fit: load into `ddp.module`, and the optimizer's state too.",
                lambda t: t.go_on(t.new, t.new, t.new)),
        Mistake("weights_not_loaded", "The optimizer came from the file, the weights did not.",
                "`strict=False` hides names that do not fit: load into `ddp.module`.",
                lambda t: t.go_on(t.new, t.saved, t.saved)),
        Mistake("optimizer_not_loaded", "The weights came from the file, but the optimizer is a new one: without "
                "momentum and with its first learning rate.",
                '`optimizer.load_state_dict(checkpoint["optimizer"])`', lambda t: t.go_on(t.saved, t.new, t.new)),
        Mistake("momentum_not_loaded", "Weights and learning rate came from the file, the momentum did not: "
                "`param_groups` holds an optimizer's settings, and `state` its momentum.",
                '`optimizer.load_state_dict(checkpoint["optimizer"])` restores both.',
                lambda t: t.go_on(t.saved, t.new, t.saved)),
        Mistake("learning_rate_not_restored", "Weights and momentum came from the file, the learning rate did not.",
                '`optimizer.load_state_dict(checkpoint["optimizer"])` restores all of it.',
                lambda t: t.go_on(t.saved, t.saved, t.new)),
        Mistake("settings_not_restored", "Weights, momentum and learning rate came from the file, the optimizer's "
                "other settings did not: its weight decay, for example.",
                '`optimizer.load_state_dict(checkpoint["optimizer"])` restores all of it.',
                lambda t: t.go_on(t.saved, t.saved, t.saved, t.new)),
        Mistake("rank_0_only", "Only rank 0 loaded the file: DDP makes the ranks equal when it is built, not later, so "
                "they stay different for ever.",
                "Every rank loads the file.", lambda t: t.go_on(t.on_rank_0, t.on_rank_0, t.on_rank_0)),
        Mistake("optimizer_on_rank_0_only",
                "All ranks have the weights, but only rank 0 has the momentum: the ranks drift apart.",
                "Every rank restores its optimizer.", lambda t: t.go_on(t.saved, t.on_rank_0, t.on_rank_0)),
        Mistake("parameters_replaced", "The weights came from the file and then stayed as they are: the model got new "
                "parameters, and DDP and the optimizer still hold the old ones.",
                "Copy the values into the parameters that are there: `ddp.module.load_state_dict(...)` without "
                "`assign=True`.", lambda t: t.values),
        Mistake("low_precision", "The weights are right only to some digits: they were converted to a narrower "
                "type after they were read.",
                "Keep the dtypes of the tensors in the file."),
        Mistake("file_remembered", "An older checkpoint of that name was loaded before. You returned its content, not "
                "what is in the file now.", "Read the file in every call."),
        Mistake("left_in_eval_mode", "The model is in evaluation mode afterwards: dropout and batch normalisation do "
                "not train in it.", "Training continues: do not change the mode."),
        Mistake("buffers_not_loaded", "The parameters came from the file, the model's buffers did not: the running "
                "averages of a batch normalisation, for example.",
                '`ddp.module.load_state_dict(checkpoint["model"])` restores both.'),
        Mistake("file_gone", "The file no longer exists: after the next interruption there would be no checkpoint.",
                "Only read the file."),
        Mistake("epoch_off_by_one", "The epoch returned is one more or one less than the one in the file.",
                "Return the epoch in the file, an integer, with nothing added: float32 has no odd number above 2**24."),
        Mistake("no_epoch", "The weights are right, but the epoch is not returned.",
                'The caller has to know where to continue: `checkpoint["epoch"]`.'),
    ]  # fmt: skip

    def cases(self, rng):
        (level,) = self.levels
        return [
            self._case(rng, level, 2, (4, 5, 3)),
            self._case(rng, level, 3, (3, 4, 2), epoch=2**24 + 1, late=(0,)),  # float32 has not this number
            self._case(rng, level, 5, (3, 3, 2), epoch=0),
        ]

    @staticmethod
    def _case(rng, level, p, sizes, epoch=None, **options):
        known = {"values": start_values(rng, sizes), "velocity": start_values(rng, sizes), "sizes": sizes}
        known["start"] = [start_values(rng, sizes) for _ in range(p)]
        known["batches"] = [[draw_batch(rng, 3, sizes) for _ in range(2)] for _ in range(p)]
        known["sent"] = [[as_tensors(batch) for batch in own] for own in known["batches"]]
        known |= {"epoch": int(rng.integers(3, 90)), "lr": float(rng.integers(3, 8)) / 10}
        known["epoch"] = known["epoch"] if epoch is None else epoch
        known["seen"] = float(rng.integers(1, 100))
        names, says = "values velocity sizes epoch start[r] sent[r] lr seen", f"epoch {known['epoch']}, two steps more"
        # float64 all the way: what went through float32 is off in the eighth digit.
        return on_ranks(level, p, names, known, says, rtol=1e-10, atol=1e-11, **options)

    def worked(self, case):
        """go_on: two steps of SGD with momentum and mean gradients, from what each rank holds: what was saved, or what
        is new. settings: momentum and weight decay, which come with the rates if they are not named."""
        t = super().worked(case)
        t.saved, t.new, t.on_rank_0 = [True] * t.p, [False] * t.p, [True] + [False] * (t.p - 1)

        def go_on(weights, momenta, rates, settings=None):
            starts = [t.values if saved else t.start[0] for saved in weights]
            velocities = np.array([t.velocity * saved for saved in momenta])
            settings = np.array(settings or rates)[:, None]
            rates = np.array([[t.lr / 2 if saved else t.lr] for saved in rates])
            momentum, decay = np.where(settings, 0.8, MOMENTUM), np.where(settings, 0.1, 0)
            return list(sgd(starts, t.batches, t.sizes, rates, momentum, velocities, decay)[0])

        t.go_on = go_on
        return t

    def expected(self, case):
        t = self.worked(case)
        weights = t.go_on(t.saved, t.saved, t.saved)[0]
        seen = [t.seen, 2 * t.seen + 1]
        return [{"epoch": t.epoch, "weights": weights, "seen": seen, "file": "there", "trains": True}] * t.p

    def facts(self, case: Case, run: Run):
        values, right = returned(run), self.expected(case)[0]
        if all(v["epoch"] == right["epoch"] - 2 for v in values):
            return "file_remembered"
        wrong = {
            part: [v[part] for v in values if not close(v[part], right[part], 1e-10, 1e-11)]
            for part in ("weights", "seen")
        }
        if wrong["weights"]:
            t = self.worked(case)
            rate_alone = t.go_on(t.saved, t.new, t.saved, t.new)
            if all(close(v["weights"], found, 1e-10, 1e-11) for v, found in zip(values, rate_alone, strict=True)):
                return "momentum_not_loaded"
            return "low_precision" if all(close(v["weights"], right["weights"], 0.01, 0.01) for v in values) else None
        if wrong["seen"]:
            return "buffers_not_loaded"
        if any(v["file"] != "there" for v in values):
            return "file_gone"
        if not all(v["trains"] for v in values):
            return "left_in_eval_mode"
        epochs = [v["epoch"] for v in values]
        if any(isinstance(e, (int, float)) and abs(e - right["epoch"]) == 1 for e in epochs):
            return "epoch_off_by_one"
        return "no_epoch" if any(e != right["epoch"] for e in epochs) else None
