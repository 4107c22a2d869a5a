"""Unit 10, devices and precision: data parallelism in one process, loss scaling in float16, flags and evaluations over
ranks.

Which rows a replica has seen and what a rank has handed over are facts; whether a rank's answer is another's to the
last bit is read from the values.
"""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from autograder.compare import difference
from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run, Tensor
from autograder.exercises.kinds import PlainExercise, ReportExercise, as_floats
from autograder.exercises.readings.devices import (
    called,
    chunks,
    f1,
    given,
    numbers,
    read_evaluation,
    scales_after,
    tensor,
)
from autograder.exercises.source import harness_of

OWN_ONLY = Mistake("own_only", "Each rank returns the result for its own samples.",
                   "Add up over the ranks first, then divide.")  # fmt: skip
MEAN_OF_MEANS = Mistake("mean_of_means", "This is the mean of the ranks' means: a sample on a rank with few samples "
                        "counts more than one on a rank with many.",
                        "Add up sums and counts over the ranks, then divide, once.")  # fmt: skip
TOO_MANY = Mistake("too_many_collectives", "The answer is right, but it took more collectives than are needed.",
                   "Put everything into one tensor: each call costs a latency, however small.")  # fmt: skip
TOO_MANY_BYTES = Mistake("too_many_bytes", "The answer is right, but more bytes were passed to collectives than "
                         "needed.",
                         "Reduce sums and counts, not samples.")  # fmt: skip
COUNTS_WRAP = Mistake("counts_wrap", "A count went through a type that is too small for it: uint8 ends at 255, int16 "
                      "at 32,767, and the next one is 0 or below.",
                      "Count in int64, as `sum()` does by itself.")  # fmt: skip


# -- one process, many devices -----------------------------------------------------------------------------------------


class DeviceBatches(PlainExercise):
    """Batch size: of all devices or of each"""

    signature = "device_batches(kind: str, batch_size: int, devices: int) -> list[int]"
    levels = {"equal shares": 1, "unequal shares": 1}
    mistakes = [
        Mistake("always_global", "The batch was divided, but a DDP process has a loader and a batch of its own.",
                "With DDP every device gets `batch_size` rows.",
                lambda c: c.chunks if c.kind == "DDP" else None),
        Mistake("always_local", "DataParallel divides the batch that it gets.",
                "Its `batch_size` is that of all devices together.",
                lambda c: c.cut(lambda: [c.batch_size] * c.devices)),
        Mistake("equal_pieces", "The rows were dealt out as evenly as possible; DataParallel cuts chunks.",
                "Chunks of ceil(batch_size / devices) rows, from the front, until there are no more.",
                lambda c: c.cut(lambda: [len(a) for a in np.array_split(np.arange(c.batch_size), c.devices)])),
        Mistake("drops_the_rest", "Rows are missing: the rest of the division was dropped.",
                "Every row has its device: divide and round up.",
                lambda c: c.cut(lambda: [c.batch_size // c.devices] * c.devices)),
        Mistake("last_takes_the_rest", "The batch was divided and rounded down, and the last device got the rest.",
                "Chunks of ceil(batch_size / devices) rows, from the front, until there are no more.",
                lambda c: c.cut(lambda: c.all_rest_on_the_last)),
        Mistake("no_entry_for_the_idle", "A device that gets no row has no entry.",
                "It has 0 rows: one entry for each device.",
                lambda c: c.cut(lambda: [k for k in c.chunks if k])),
        Mistake("too_many_rows", "There are more rows on the devices than in the batch.",
                "The last chunk holds only the rest.",
                lambda c: c.cut(lambda: [math.ceil(c.batch_size / c.devices)] * c.devices)),
        Mistake("one_row_too_many", "The rows divide evenly, and still the chunks have one more: `// devices + 1` "
                "rounds up only where there is a rest.",
                "`-(-batch_size // devices)`, or math.ceil of the quotient.",
                lambda c: c.cut(lambda: c.larger)),
        Mistake("full_but_for_the_last", "All devices but the last have a full chunk, also those for which no rows "
                "were left.",
                "A chunk is full only while there are rows; devices after the last chunk have 0.",
                lambda c: c.cut(lambda: [*c.rest_on_the_last[:-1], max(c.rest_on_the_last[-1], 0)])),
        Mistake("fewer_than_no_rows", "A device has fewer than 0 rows.",
                "A chunk is full only while there are rows; devices after the last chunk have 0.",
                lambda c: c.cut(lambda: c.rest_on_the_last)),
        Mistake("nothing_for_some", "With DDP, too, some devices get nothing.",
                "Each process has a loader of its own: with DDP every device gets `batch_size` rows.",
                lambda c: c.thin if c.kind == "DDP" else None),
    ]  # fmt: skip

    def draw(self, rng):
        even, uneven = self.levels
        some = int(rng.integers(2, 9))
        for level, kind, size, devices in (
            (even, "DataParallel", 16 * some + 8, 8),  # an odd number of rows each
            (even, "DDP", 400 * some, 8),
            (even, "DataParallel", 30, 1),
            (uneven, "DataParallel", 4 * some + 2, 4),  # 3, 3, 3, 1 and not 3, 3, 2, 2
            (uneven, "DataParallel", 8 * some + 1, 8),
            (uneven, "DataParallel", 9, 8),
            (uneven, "DataParallel", 2, 5),
            (uneven, "DDP", 4 * some + 1, 4),
            (uneven, "DDP", 2, 5),  # fewer rows than devices
            (uneven, "DataParallel", 201, 200),  # the quotient is only just above 1
            (uneven, "DataParallel", 20_001, 20_000),  # and more devices than Python recurses
        ):
            yield level, {"kind": kind, "batch_size": size, "devices": devices}

    def draw_further(self, rng):
        even, uneven = self.levels
        for kind in ("DataParallel", "DDP"):
            devices = int(rng.integers(5, 40))
            size = devices * int(rng.integers(10, 400))
            yield even, {"kind": kind, "batch_size": size, "devices": devices}
            yield uneven, {"kind": kind, "batch_size": size + int(rng.integers(1, devices)), "devices": devices}

    def right(self, kind, batch_size, devices):
        return [batch_size] * devices if kind == "DDP" else chunks(batch_size, devices)

    def worked(self, case):
        c = super().worked(case)
        c.chunks = chunks(c.batch_size, c.devices)
        full = [math.ceil(c.batch_size / c.devices)] * (c.devices - 1)
        c.rest_on_the_last = [*full, c.batch_size - sum(full)]
        least = [c.batch_size // c.devices] * (c.devices - 1)
        c.all_rest_on_the_last = [*least, c.batch_size - sum(least)]
        larger = c.batch_size // c.devices + 1
        c.larger = [max(0, min(larger, c.batch_size - k * larger)) for k in range(c.devices)]
        c.thin = [c.batch_size if k < c.batch_size else 0 for k in range(c.devices)]
        c.cut = lambda pieces: None if c.kind == "DDP" else pieces()
        return c

    def per_rank(self, case, value):
        return None if value is None else [value]

    def read(self, answer, **case):
        return "fewer_than_no_rows" if min(as_floats(answer), default=0) < 0 else None


class DataParallelStep(ReportExercise):
    """DataParallel by hand"""

    signature = "data_parallel_step(replicas: list, x: Tensor, y: Tensor, loss_fn: Callable) -> list[Tensor]"
    levels = {"the gradient of the batch": 1, "uneven rows": 1, "each row once, on all devices": 1}
    runtime = "plain"
    parts = ("weights", "gradients")
    may_lose = {
        "int64": "labels of a few classes",
        "integers of both widths": "labels are int64 in torch",
    }
    harness = harness_of(__file__, "data_parallel_step")
    mistakes = [
        Mistake("not_replicated", "The replicas do not have the weights of the first one.",
                "Copy its parameters into the others under `torch.no_grad()`, in every step.",
                lambda c: {"weights": c.weights}),
        Mistake("stale_gradients", "The sum contains old gradients: `.grad` still held those of an earlier step.",
                "`zero_grad()` on every replica, or torch.autograd.grad."),
        Mistake("mean_of_means", "The gradients of the shards' means were averaged, as if all shards were of one size.",
                "One loss of the gathered outputs; or weigh each shard's mean by its rows.",
                lambda c: {"gradients": [tensor(g) for g in c.gradients([1 / len(c.shards)] * len(c.shards))]}),
        Mistake("sum_for_mean", "The gradients of the shards' means were added up: this is too large by a factor.",
                "The loss is a mean over all rows of x.",
                lambda c: {"gradients": [tensor(g) for g in c.gradients([1.0] * len(c.shards))]}),
        Mistake("not_reduced", "This is the gradient of the first replica's rows; those of the others are missing.",
                "Every replica has a gradient: add them up.",
                lambda c: {"gradients": [tensor(g) for g in c.gradients(c.even[:1])]}),
        Mistake("wrong_weights", "The gradients of the shards' means are right, but not the factors with which they "
                "were added up.",
                "Multiply each by the rows that this shard really has: `len(shard) / len(x)`."),
        Mistake("TypeError", "Python stopped at the line above. If it speaks of None: a replica that got no rows has "
                "no gradient.", "Leave out the replicas that got nothing."),
        Mistake("steps_the_weights", "The gradients are right, but the weights have changed.",
                "Return the gradients, and leave the weights unchanged."),
        Mistake("shares_the_weights", "The gradients are right, but two replicas share the same memory, which separate "
                "devices cannot.",
                "`other.copy_(mine)` under `torch.no_grad()`, or load_state_dict: both copy."),
        Mistake("drops_rows", "Some rows went through no replica.",
                "Every row of x counts, also the rest of the division."),
        Mistake("rows_twice", "Some rows went through more than one replica, or through one twice.",
                "Each row goes to one replica, once."),
        Mistake("idle_devices", "One replica got more than its share of the rows while others could have worked.",
                "`x.chunk(len(replicas))`: no replica gets more than ceil(rows / replicas)."),
    ]  # fmt: skip

    def cases(self, rng):
        whole, uneven, once = self.levels
        return [
            self._case(rng, level, p, n)
            for level, p, n in (
                (whole, 2, 6),
                (whole, 4, 8),
                (uneven, 3, 8),
                (uneven, 4, 5),  # the smaller share is not that of the last device, which gets nothing
                (once, 4, 3),
                (once, 3, 7),
                (whole, 1, 4),
            )
        ] + [self._case(rng, uneven, 3, 8, classes=True)]

    @staticmethod
    def _case(rng, level, p, n, classes=False):
        """classes: the labels are one class for each row, the loss is the cross-entropy."""
        x, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n) if classes else rng.normal(size=(n, 2))
        weights = [[rng.normal(size=(3, 2)), rng.normal(size=2)] for _ in range(p)]
        if (p, n) in ((4, 8), (3, 8)):  # a parameter of all replicas is right already: the first, or the last
            for replica in weights[1:]:
                replica[p == 3] = weights[0][p == 3]
        known = {"x": x, "y": y, "weights": weights, "replicas": p}
        labels = tensor(y, "int64") if classes else tensor(y)
        arguments = ([tensor(w) for w, _ in weights], [tensor(b) for _, b in weights], tensor(x), labels)
        says = f"{n} rows on {p} device{'s' * (p > 1)}{', a class for each row' * classes}"
        return Case(level, 1, arguments, says, known)

    def worked(self, case):
        """gradients(factors): each shard's own mean gradient times its factor, added up. even: the right factors."""
        c = super().worked(case)
        c.p, n = c.replicas, len(c.x)
        size = math.ceil(n / c.p)
        c.shards = [slice(k, min(k + size, n)) for k in range(0, n, size)]
        c.even = [(s.stop - s.start) / n for s in c.shards]
        w, b = c.weights[0]

        def gradient(shard):
            x, y = c.x[shard], c.y[shard]
            out = np.tanh(x @ w + b)
            if y.ndim == 1:  # classes
                share = np.exp(out) / np.exp(out).sum(axis=1, keepdims=True)
                of_out = (share - np.eye(2)[y]) / len(y)
            else:
                of_out = 2 * (out - y) / y.size
            g = of_out * (1 - out**2)
            return [x.T @ g, g.sum(axis=0)]

        def gradients(factors, shards=c.shards):
            found = [[f * g for g in gradient(s)] for f, s in zip(factors, shards, strict=False)]
            return [sum(one) for one in zip(*found, strict=True)]

        c.gradients = gradients
        c.weights = [[tensor(one) for one in pair] for pair in c.weights]
        return c

    def expected(self, case):
        c = self.worked(case)
        right = {"weights": [c.weights[0]] * c.p, "gradients": [tensor(g) for g in c.gradients(c.even)]}
        return [right | {"rows": ANYTHING, "shared": ANYTHING}]

    def facts(self, case: Case, run: Run):
        answer, rows = run.ranks[0].value, case.known["x"][:, 0].tolist()
        if not isinstance(answer, dict) or not isinstance(answer.get("rows"), list):
            return None
        seen = [row for one in answer["rows"] for row in one]
        if set(rows) - set(seen):
            return Finding("drops_rows", f"{len(set(rows) - set(seen))} of {len(rows)} rows went through no replica.")
        right = self.expected(case)[0]
        for k in range(1, case.known["replicas"] + 1):  # a one in each `.grad`
            if difference(right | {"gradients": [tensor(g.values + k) for g in right["gradients"]]}, answer) is None:
                return "stale_gradients"
        if difference(right, answer) is not None and (name := self._of_shards(case, answer)):
            return name
        if difference(right, answer) is not None:
            return "steps_the_weights" if difference(right["gradients"], answer["gradients"]) is None else None
        if len(seen) > len(rows):
            return "rows_twice"
        if answer.get("shared"):
            return "shares_the_weights"
        most = max(len(one) for one in answer["rows"])
        share = math.ceil(len(rows) / case.known["replicas"])
        return Finding("idle_devices", f"One replica got {most} rows; {share} are its share.") if most > share else None

    def _of_shards(self, case: Case, answer: dict) -> str | None:
        """The name of gradients of shards' means that were averaged or added up, however the rows were dealt."""
        c, places = self.worked(case), {row: k for k, row in enumerate(case.known["x"][:, 0].tolist())}
        if not all(row in places for one in answer["rows"] for row in one):
            return None
        shards = [[places[row] for row in one] for one in answer["rows"] if one]
        if len(shards) < 2:
            return None
        for name, factor in (("mean_of_means", 1 / len(shards)), ("sum_for_mean", 1.0)):
            found = [tensor(g) for g in c.gradients([factor] * len(shards), shards)]
            if difference(self.expected(case)[0] | {"gradients": found}, answer) is None:
                return name
        return "wrong_weights" if self._are_weighed(c, shards, answer) else None

    def _are_weighed(self, c, shards: list, answer: dict) -> bool:
        """True if the gradients are those of the shards' means, each times a factor that is not 0."""
        each = [np.concatenate([g.ravel() for g in c.gradients([1.0], [shard])]) for shard in shards]
        found = [getattr(g, "values", None) for g in answer["gradients"]]
        if any(g is None for g in found) or sum(map(np.size, found)) != each[0].size or len(shards) >= each[0].size:
            return False
        found = np.concatenate([np.ravel(g) for g in found])
        factors = np.linalg.lstsq(np.transpose(each), found, rcond=None)[0]
        right = [len(shard) / len(c.x) for shard in shards]
        if np.allclose(factors, right, rtol=1e-9) or (np.abs(factors) < 1e-9).any():
            return False
        return bool(np.allclose(factors @ each, found, rtol=1e-9))


# -- half precision ----------------------------------------------------------------------------------------------------

MANTISSAS = np.array([1.0, 1.25, 1.5, 1.75])  # so few bits that float16 holds them, and their sums with powers of two


class ScaledStep(ReportExercise):
    """A step with loss scaling"""

    signature = (
        "scaled_step(weights: Tensor, loss_of: Callable, scale: float, lr: float, max_norm: float)"
        " -> tuple[Tensor, bool]"
    )
    levels = {"underflow": 2, "overflow": 1, "clipping": 1}
    runtime = "plain"
    parts = ("step", "calls", "marked")
    harness = harness_of(__file__, "scaled_step")
    mistakes = [
        Mistake("lost_in_half", "Gradients too small for float16 are lost: the loss was not scaled, or the gradient "
                "was divided by the scale while it was still float16.",
                "`(loss * scale).backward()`, then `grad.float() / scale`.",
                lambda c: c.stepped(c.half(1.0).astype(np.float32))),
        Mistake("unscales_after_step", "The step was made with the gradient of the scaled loss.",
                "Divide the gradient by `scale` before the step.", lambda c: c.stepped(c.half().astype(np.float32))),
        Mistake("clips_before_unscale", "The gradient was clipped while it was still scaled.",
                "First unscale, then clip: max_norm is the limit of the unscaled gradient.",
                lambda c: c.stepped(c.clipped(c.half().astype(np.float32)) / np.float32(c.scale), clip=False)),
        Mistake("clamps_entries", "Each element was clipped separately, which changes the gradient's direction.",
                "Scale the whole gradient: times max_norm / norm.",
                lambda c: c.stepped(np.clip(c.half().astype(np.float32) / np.float32(c.scale), -c.norm, c.norm),
                                    clip=False)),
        Mistake("no_clipping", "The gradient was not clipped.",
                "If its norm is above max_norm, scale it down to max_norm.",
                lambda c: c.stepped(c.half().astype(np.float32) / np.float32(c.scale), clip=False)),
        Mistake("master_weight_in_half", "The new weights went through float16: most of the step is rounded away.",
                "The step is made on the float32 weights; float16 is a copy for the forward pass.",
                lambda c: None if c.skip else [tensor(c.new.astype(np.float16), "float32"), False]),
        Mistake("steps_from_the_copy", "The step was made from the float16 copy of the weights.",
                "The copy is for the forward pass; step from `weights`.",
                lambda c: None if c.skip else [tensor(c.new - c.weights + c.weights.astype(np.float16), "float32"),
                                               False]),
        Mistake("skips_only_the_overflow", "Some weights were stepped although the gradient had overflowed.",
                "With one infinity or NaN anywhere, no weight is updated.",
                lambda c: [tensor(c.where_finite, "float32"), True] if c.skip else None),
        Mistake("overflows_itself", "All numbers of the gradient are finite, and still the step was skipped: their "
                "sum, or norm, is too large for float16.",
                "Test each element: `gradient.isfinite().all()`.",
                lambda c: [tensor(c.weights, "float32"), True] if c.sums else None),
        Mistake("largest_is_infinite", "65,504, the largest number of float16, was taken for an infinity, and the step "
                "was skipped.", "It is finite: `gradient.isfinite().all()`.",
                lambda c: [tensor(c.weights, "float32"), True] if c.largest else None),
        Mistake("lengthens", "A gradient that is shorter than max_norm was lengthened to it.",
                "Only where its norm is above max_norm: `min(1, max_norm / norm)`.", lambda c: c.lengthened()),
        Mistake("steps_on_overflow", "There are infinities or NaNs in the new weights.",
                "Where the gradient is not finite, return the weights as they were."),
        Mistake("flag_not_set", "The step was skipped, but the second value does not say so.",
                "The second value is True where the step was skipped.",
                lambda c: [tensor(c.weights, "float32"), False] if c.skip else None),
        Mistake("scale_in_half", "The scale went through float16, where it is infinite: so was the gradient, and the "
                "step was skipped.",
                "The loss is a float32 number: multiply it as it is.",
                lambda c: None if c.skip or c.scale < 65520 else [tensor(c.weights, "float32"), True]),
        Mistake("norm_in_half", "The gradient has the right direction, but not quite the length max_norm: its norm was "
                "computed in float16, which has three digits.",
                "`.float()` and unscale first; then the norm is a float32 number, too."),
        Mistake("leaves_grad_in_weights", "The step is right, but `weights` have changed: they require a gradient "
                "now, or hold one, which the next call will find.",
                "`half = weights.half().requires_grad_()` is a leaf of its own; leave `weights` as they are.",
                lambda c: {"marked": True}),
        Mistake("computes_twice", "The step is right, but the loss was computed more than once.",
                "Scale the loss that you have.", lambda c: {"calls": 2}),
    ]  # fmt: skip

    def cases(self, rng):
        small, large, clip = self.levels
        none = math.inf
        return [
            self._case(rng, level, low, high, scale, lr, norm, **odd)
            for level, low, high, scale, lr, norm, odd in (
                (small, -30, -25, 2.0**10, 2.0**23, none, {}),
                (small, -30, -25, 1.0, 2.0**23, none, {"lost": True}),
                (small, -22, -14, 2.0**16, 2.0**12, none, {}),
                (large, -9, -6, 2.0**24, 2.0, none, {"overflow": 2}),
                (large, -9, -6, 2.0**10, 2.0, none, {"nan": True}),
                (large, -9, -6, 2.0**14, 2.0, none, {}),
                (large, 0, 1, 2.0**14, 2.0, none, {"sums": True}),  # together more than float16 holds
                (clip, -3, 1, 2.0**8, 0.125, 0.75, {}),
                (clip, -14, -12, 2.0**12, 0.5, 0.25, {}),
                (clip, -3, 1, 2.0**8, 0.125, 0.75, {"table": True}),
                (large, -20, -16, 2.0**10, 2.0, none, {"edge": 65504 / 2**10}),  # the largest number of float16
                (large, -9, -6, 1000.0, 2.0, none, {"edge": 64.0}),  # 2**10 times this is infinite
            )
        ]

    @staticmethod
    def _case(rng, level, low, high, scale, lr, max_norm, overflow=0, nan=False, sums=False, table=False, edge=0.0,
              **known):  # fmt: skip
        """table: weights of two dimensions, where the largest gradients share no row and no column. edge: one gradient,
        far larger than the others."""
        n = 24 if sums else 6  # 24 numbers from 2^14 on: their norm, too, is more than float16 holds
        while True:
            slopes = rng.choice(MANTISSAS, n) * 2.0 ** rng.integers(low, high, n) * rng.choice([-1, 1], n)
            slopes[0], slopes[1] = 1.25 * 2.0**low, -1.5 * 2.0 ** (high - 1)
            if table:
                slopes[[2, 4]], slopes[5] = 2.0**low, 1.5 * 2.0 ** (high - 1)
            norm = float(np.linalg.norm(slopes))
            rounded = [float(np.float16(norm)) / norm, float(np.float16(max_norm / np.float16(norm))) * norm / max_norm]
            if math.isinf(max_norm) or min(abs(one - 1) for one in rounded) > 1e-4:
                break  # where it is clipped to, three digits of the norm, or of the factor, are not enough
        if overflow:
            slopes[2:] = 1.5 * 2.0 ** (low - 8)  # these stay finite
        if nan:
            slopes[3] = np.nan
        if sums:
            slopes = np.abs(slopes)
        if edge:
            slopes[2] = edge
        weights, slopes = (one.reshape((2, 3) if table else n).astype(np.float32)
                           for one in (rng.uniform(0.5, 2, n), slopes))  # fmt: skip
        known |= {"weights": weights, "slopes": slopes, "scale": scale, "lr": lr, "norm": max_norm, "sums": sums}
        known["largest"] = edge * scale == 65504
        arguments = (tensor(weights, "float32"), tensor(slopes, "float32"), scale, lr, max_norm)
        says = f"gradients from 2^{low} to 2^{high}, scale {scale:g}, max_norm {max_norm:g}"
        says += ", all of one sign" * sums + ", 2 rows and 3 columns" * table
        says += f", one is {edge:g}" if edge else ""
        return Case(level, 1, arguments, says + (", one is NaN" if nan else ""), known)

    def worked(self, case):
        c = super().worked(case)

        def half(scale=c.scale):
            with np.errstate(over="ignore", invalid="ignore"):
                return (c.slopes * np.float32(scale)).astype(np.float16)

        def clipped(gradient):
            norm = np.linalg.norm(gradient.astype(float))
            return gradient * np.float32(min(1.0, c.norm / norm)) if 0 < norm < math.inf else gradient

        def stepped(gradient, clip=True):
            if not np.isfinite(gradient).all():
                return None
            return [tensor(c.weights - np.float32(c.lr) * (clipped(gradient) if clip else gradient), "float32"), False]

        def lengthened():
            gradient = half().astype(np.float32) / np.float32(c.scale)
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                new = c.weights - np.float32(c.lr) * gradient * np.float32(c.norm / np.linalg.norm(gradient))
            return None if c.skip else [tensor(new, "float32"), False]

        c.half, c.clipped, c.stepped, c.lengthened = half, clipped, stepped, lengthened
        c.skip = not np.isfinite(half()).all()
        unscaled = half().astype(np.float32) / np.float32(c.scale)
        c.new = c.weights if c.skip else stepped(unscaled)[0].values
        c.where_finite = c.weights - np.float32(c.lr) * np.where(np.isfinite(unscaled), unscaled, 0)
        return c

    def expected(self, case):
        c = self.worked(case)
        return [{"step": [tensor(c.new, "float32"), c.skip], "calls": 1, "marked": False}]

    def per_rank(self, case, value):
        return None if value is None else super().per_rank(case, value if isinstance(value, dict) else {"step": value})

    def facts(self, case: Case, run: Run):
        answer = run.ranks[0].value
        step = answer.get("step") if isinstance(answer, dict) else None
        if isinstance(step, list | tuple) and len(step) and isinstance(step[0], Tensor):
            values = np.asarray(step[0].values)
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                return "steps_on_overflow"
            if values.dtype.kind == "f" and self._nearly_of_the_length(case, values):
                return "norm_in_half"
        return None

    def _nearly_of_the_length(self, case: Case, values: np.ndarray) -> bool:
        """True if the step is the right one but for a factor near 1."""
        c = self.worked(case)
        if c.skip or values.shape != c.weights.shape or math.isinf(c.norm):
            return False
        step, right = ((c.weights.astype(float) - new).ravel() for new in (values, c.new))
        factor = (step @ right) / (right @ right)
        return 1e-5 < abs(factor - 1) < 3e-3 and bool(np.allclose(step, factor * right, rtol=1e-4, atol=3e-7))


class DynamicScale(PlainExercise):
    """Dynamic loss scaling"""

    signature = "dynamic_scale(found_inf: list[bool], start: float, growth_interval: int) -> list[float]"
    levels = {"halving the scale": 1, "doubling the scale": 2}
    mistakes = [
        Mistake("never_halves", "The scale stays the same after a skipped step.", "Halve it each time.",
                lambda c: c.of(backoff=1.0)),
        Mistake("stops_at_one", "The scale does not fall below 1.", "There is no floor: a scale may be a fraction.",
                lambda c: [max(1.0, one) for one in c.right]),
        Mistake("has_a_floor", "The scale stops falling at some number.", "There is no floor: it halves."),
        Mistake("whole_numbers", "The scale is rounded down to a whole number, and 0 in the end.",
                "`/ 2` or `* 0.5`, not `// 2`: a scale may be a fraction.", lambda c: c.of(whole=True)),
        Mistake("has_a_ceiling", "The scale stops growing at some number.", "There is no ceiling: it doubles."),
        Mistake("never_grows", "The scale never grows.", "After growth_interval good steps in a row it doubles.",
                lambda c: c.of(interval=10**9)),
        Mistake("grows_every_step", "The scale doubles in every good step.",
                "Only after growth_interval of them in a row.", lambda c: c.of(interval=1)),
        Mistake("counts_on_after_a_skip", "Good steps from before a skipped one are still counted.",
                "A skipped step sets the count to 0.", lambda c: c.of(reset=False)),
        Mistake("counts_on_after_growth", "After the first doubling it doubles in every good step.",
                "Doubling sets the count to 0.", lambda c: c.of(again=False)),
        Mistake("counts_all_steps", "The scale doubles with every growth_interval-th step of the training.",
                "Count good steps in a row; a skipped one sets the count to 0.",
                lambda c: c.of(every=True)),
        Mistake("one_late", "It doubles one good step too late.", "It doubles at the growth_interval-th good "
                "step, not after it.", lambda c: c.of(interval=c.growth_interval + 1)),
        Mistake("scale_before_the_step", "These are the scales with which the steps were made.",
                "Return the scale after each step.", lambda c: [c.start, *c.right[:-1]]),
    ]  # fmt: skip

    def draw(self, rng):
        halves, doubles = self.levels
        for level, pattern, interval in (
            (halves, "010011", 50),
            (halves, "111", 1),
            (doubles, "0000000", 2),
            (doubles, "0010000010000", 3),
            (doubles, "0010100000000", 3),
            (doubles, "010000", 1),
            (doubles, "", 2),
            (doubles, "000000000", 1),
            (halves, "1111", 1),
            (doubles, "0000", 1),
            (halves, "0110", 50),
            (doubles, "0" * 3000, 1000),  # more steps than Python recurses
        ):
            start = 2.0 ** int(rng.integers(8, 20))
            fixed = {"111": 2.0, "1111": 2.0**-120, "0" * 9: 2.0**23, "0000": 2.0**120}  # no floor, and no ceiling
            start = fixed.get(pattern, 3.0 if pattern == "0110" else start)
            known = {"found_inf": [one == "1" for one in pattern], "start": start, "growth_interval": interval}
            yield level, known, {"atol": 0.0}

    def draw_further(self, rng):
        halves, doubles = self.levels
        for level, share, interval in ((halves, 0.4, 60), (doubles, 0.2, 2), (doubles, 0.15, 3)):
            found = [bool(one) for one in rng.random(int(rng.integers(12, 30))) < share]
            yield level, {"found_inf": found, "start": 2.0 ** int(rng.integers(8, 20)), "growth_interval": interval}

    def right(self, found_inf, start, growth_interval):
        return scales_after(found_inf, start, growth_interval)

    def read(self, answer, found_inf, start, growth_interval):
        if not isinstance(answer, list) or len(answer) != len(found_inf) or len(answer) < 4:
            return None
        if all(found_inf) and answer[0] == answer[-1] and answer[0] not in (0.0, 1.0, start):
            return "has_a_floor"
        alike = growth_interval < 3 and not any(found_inf)
        return "has_a_ceiling" if alike and answer[0] == answer[-1] or alike and answer[-3] == answer[-1] else None

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda **slip: scales_after(c.found_inf, c.start, c.growth_interval, **slip) if c.found_inf else None
        return c


# -- over ranks --------------------------------------------------------------------------------------------------------


class FoundInfAnywhere(Exercise):
    """Overflow on one rank: all skip the step"""

    signature = "found_inf_anywhere(grads: list[Tensor]) -> bool"
    levels = {"the same answer on all ranks": 1, "large but finite gradients": 1, "one number": 1}
    all_hear = True
    mistakes = [
        Mistake("skips_on_own_inf_only", "Each rank answers for its own gradients: one skips the step, the others make "
                "it, and from now on their weights differ.",
                "`dist.all_reduce` of the flag, with ReduceOp.MAX.", lambda c: c.own),
        Mistake("misses_nan", "A NaN was overlooked: it is no infinity, but no gradient either.",
                "`torch.isfinite` is False for both.",
                lambda c: [any(np.isinf(a).any() for rank in c.grads for a in rank)] * c.p),
        Mistake("misses_minus_infinity", "Minus infinity is an overflow, too.", "`torch.isfinite` is False for both.",
                lambda c: [any((np.isnan(a) | (a == np.inf)).any() for rank in c.grads for a in rank)] * c.p),
        Mistake("overflows_itself", "All gradients are finite, and still you report an overflow: it happened in your "
                "own computation, in a sum, a square or a narrower type.",
                "Look at each number as it is: `torch.isfinite(g).all()`; do not add them up."),
        Mistake("needs_all_of_them", "The answer is True only if every rank has an overflow.",
                "One is enough: ReduceOp.MAX.",
                lambda c: [all(c.own)] * c.p),
        COUNTS_WRAP.but(why="The infinities were counted in a type that is too small: 65,536 of them are 0 in uint8 "
                            "and in int16.",
                        how="`.any()` is enough; if you count, count in int64.")
        .giving(lambda c: [False] * c.p if c.wraps else None),
        Mistake("ranks_disagree", "The ranks do not have the same answer.", "`dist.all_reduce` leaves it on all of "
                "them, `dist.reduce` on one."),
        TOO_MANY,
        TOO_MANY_BYTES.but(how="Reduce a flag, not the gradients: one number of at most 8 bytes."),
    ]  # fmt: skip

    def cases(self, rng):
        same, large, one = self.levels
        return [
            self._case(rng, level, p, odd, **options)
            for level, p, odd, options in (
                (same, 4, {2: np.inf}, {}),
                (same, 3, {0: np.nan}, {"late": (0,)}),
                (same, 2, {1: -np.inf}, {}),
                (same, 3, {}, {"late": (1,)}),
                (same, 5, {1: np.inf, 3: np.nan}, {"empty": (0, 4)}),
                (same, 2, {}, {"dtype": "float16", "n": 2**15, "everywhere": True}),
                (large, 3, {}, {"dtype": "float16", "large": (5e4, 6e4)}),  # two of them are more than float16 holds
                (large, 2, {}, {"large": (2e38, 3e38)}),  # and float32
                (large, 2, {0: np.inf, 1: -np.inf}, {}),
                (large, 2, {}, {"large": (1e5, 2e5), "mixed": True}),  # more than float16 holds, behind a float16
                (one, 4, {3: np.inf}, {"n": 40}),
                (same, 1, {0: np.inf}, {}),
                (same, 1, {}, {}),
                (one, 3, {}, {}),
            )
        ]

    @staticmethod
    def _case(rng, level, p, odd, dtype="float32", n=3, large=(), empty=(), late=(), everywhere=False, mixed=False):
        """NaN and -inf lie in the second tensor, where Python's `max` and who looks at the first only overlook them.
        everywhere: each rank has n * 2 infinities: 2**16 of them are none for who counts in 8 or 16 bits. mixed: a
        float16 stands before a float32, and both hold the largest number that they can."""
        grads = [[rng.normal(size=(n, 2)).astype(dtype), rng.normal(size=2).astype(dtype)] for _ in range(p)]
        for rank in grads if large else ():
            rank[0][:] = rng.uniform(*large, rank[0].shape)
        for rank in grads if everywhere else ():
            rank[0][:] = np.inf
        for rank, value in odd.items():
            grads[rank][0 if value == np.inf else 1].flat[1] = value
        for rank in grads if mixed else ():
            rank[0].flat[0] = np.finfo(np.float32).max
            rank[:] = np.array([1.5, -65504.0], np.float16), rank[0]
        grads = [[] if rank in empty else grads[rank] for rank in range(p)]
        arguments = [([tensor(a, a.dtype.name) for a in rank],) for rank in grads]
        says = ", ".join(f"{value} on rank {rank}" for rank, value in odd.items())
        says = f"{dtype}, {says or (f'{2 * n} infinities on each rank' if everywhere else 'all finite')}"
        says = f"float16 and {says}" if mixed else says
        return Case(level, p, arguments, says, {"grads": grads, "dtype": dtype, "wraps": everywhere}, late=late)

    def worked(self, case):
        c = super().worked(case)
        c.own = [not all(np.isfinite(a).all() for a in rank) for rank in c.grads]
        return c

    def expected(self, case):
        return [any(self.worked(case).own)] * case.world_size

    def facts(self, case: Case, run: Run):
        values = [rank.value for rank in run.ranks]
        if any(difference(True, v) is not None and difference(False, v) is not None for v in values):
            return None
        flags, right = [difference(True, v) is None for v in values], self.expected(case)
        if flags != right:
            if len(set(flags)) > 1:
                return "ranks_disagree"
            return "overflows_itself" if not right[0] else None
        if case.level != list(self.levels)[2]:
            return None
        if given(run) > 8:
            return Finding("too_many_bytes", f"A rank passed {given(run)} B to collectives.")
        return Finding("too_many_collectives", f"A rank called {called(run)}.") if called(run) > 1 else None


class Evaluate(Exercise):
    """One evaluation on all ranks"""

    signature = "evaluate(correct: int, loss_sum: float, count: int, root: int | None) -> tuple[float, float] | None"
    levels = {"shards of any size": 1, "the same bits on every rank, at most 32 bytes sent": 1, "on one rank only": 1}
    mistakes = [
        OWN_ONLY,
        MEAN_OF_MEANS,
        Mistake("empty_is_nan", "The mean over no sample is not a number (0 / 0), and one NaN in a sum makes it NaN.",
                "Add up before you divide: an empty shard adds 0 to the sums and 0 to the count."),
        Mistake("empty_counts_one", "A rank without samples counts as a rank with one: `max(count, 1)` was added up.",
                "An empty shard adds 0 to the count; the sum over the ranks is never 0."),
        Mistake("ZeroDivisionError", "A rank divided by the number of its own samples, and has none.",
                "Add up over the ranks before you divide."),
        Mistake("divided_by_ranks", "The sum of the losses was divided by the number of ranks.",
                "Divide by the number of all samples."),
        Mistake("sum_for_mean", "The loss is the sum over all samples.", "Divide by the number of all samples."),
        Mistake("reads_reduce_off_root", "One rank has the sum, and the others divide whatever `reduce` has left on "
                "them: on the relay their own numbers, with gloo partial sums.",
                "If all ranks need the result, use `dist.all_reduce`."),
        Mistake("swapped", "Accuracy and loss have changed places.", "Return (accuracy, mean loss)."),
        Mistake("narrow_type", "Only some digits are right: counts or losses were rounded on the way, to "
                "float32 (which counts up to 16,777,216) or to a few decimal places.",
                "A tensor of float64 holds all three exactly."),
        Mistake("ranks_disagree", "The ranks differ in the last bits: each added up in an order of its own.",
                "Add up in the same order on all ranks, or use `dist.all_reduce`: one sum for all."),
        Mistake("everybody_answers", "Other ranks than the root return a result, too; they should return None.",
                "`if dist.get_rank() != root: return None`, after the reduce."),
        Mistake("wrong_root", "Another rank than `root` has the result.", "`dist.reduce(sums, dst=root)`."),
        Mistake("spread_for_nothing", "The result is right, but the sums were sent to ranks that do not need them.",
                "With a root: `dist.reduce`, half the bytes of an all_reduce."),
        TOO_MANY_BYTES.but(how="Three sums are 24 bytes in one tensor of float64."),
    ]  # fmt: skip

    def cases(self, rng):
        uneven, same, root = self.levels
        return [
            self._case(rng, level, counts, **options)
            for level, counts, options in (
                (uneven, (7, 2, 12), {}),
                (uneven, (3, 0, 9, 5), {"late": (1,)}),
                (uneven, (20_000_003, 9_000_001), {}),
                (uneven, (9,), {}),
                (same, (911, 401, 333, 277, 1203), {"late": (0,)}),
                (same, (5, 8, 3), {"losses": [1.0, 1.0, 2.0**53]}),  # 2 less where the last one comes first
                (root, (4, 9, 3), {"root": 2}),
                (root, (5, 2, 7), {"root": 0}),
                (root, (0, 6, 3, 8), {"root": 1, "late": (1,)}),
                (root, (0, 6, 3), {"root": 0}),  # the root itself has no samples
            )
        ]

    @staticmethod
    def _case(rng, level, counts, root=None, late=(), losses=None):
        """Drawn until not all ways to add up in a ring's orders agree, where ranks are to agree to the last bit. (From
        Python 3.12 on `sum` makes up for what it rounds, and all orders agree.)
        """
        p = len(counts)
        correct = [n * (r % 3 + 1) // 4 + (n > 3) for r, n in enumerate(counts)]
        while losses is None:
            losses = [float(n * rng.uniform(0.4, 3.0)) for n in counts]
            orders = {functools.reduce(operator.add, losses[r:] + losses[:r]) for r in range(p)}
            losses = losses if not level.startswith("the same") or len(orders) > 1 else None
        known = {"correct": correct, "losses": losses, "counts": counts, "root": root}
        arguments = [(*one, root) for one in zip(correct, losses, counts, strict=True)]
        says = f"{', '.join(map(str, counts))} samples" + (f", root {root}" if root is not None else "")
        return Case(level, p, arguments, says, known, late=late, rtol=1e-13, atol=0.0)

    def expected(self, case):
        k = case.known
        pair = sum(k["correct"]) / sum(k["counts"]), sum(k["losses"]) / sum(k["counts"])
        return [pair if k["root"] in (None, r) else None for r in range(case.world_size)]

    def needs_bytes(self, case):
        wants = [case.world_size > 1 and case.known["root"] in (None, r) for r in range(case.world_size)]
        return [12 if one else 0 for one in wants]

    def facts(self, case: Case, run: Run):
        k, p, right = case.known, case.world_size, self.expected(case)
        values = [rank.value for rank in run.ranks]
        if all(difference(w, v, case.rtol, case.atol) is None for w, v in zip(right, values, strict=True)):
            return None if case.level == list(self.levels)[0] else self._effort(k["root"], p, run)
        if k["root"] is not None:
            there = [r for r in range(p) if values[r] is not None]
            if k["root"] in there and difference(right[k["root"]], values[k["root"]], case.rtol, case.atol) is None:
                return Finding("everybody_answers", f"Ranks {', '.join(map(str, there))} returned something.")
            if len(there) != 1:
                return None
            if there[0] != k["root"]:
                return Finding("wrong_root", f"Rank {there[0]} returned it.")
            pairs = numbers(Run((run.ranks[there[0]],) * p), 2)
            return pairs and read_evaluation(np.array(pairs), k)
        pairs = numbers(run, 2)
        return pairs and read_evaluation(np.array(pairs), k)

    def _effort(self, root: int | None, p: int, run: Run) -> Finding | str | None:
        if given(run) > 32:
            return Finding("too_many_bytes", f"A rank passed {given(run)} B to collectives.")
        if root is None:
            pairs = numbers(run, 2)
            return "ranks_disagree" if pairs and any(pair != pairs[0] for pair in pairs) else None
        sent = sum(run.link_bytes.values())
        if sent > 32 * (p - 1):
            return Finding("spread_for_nothing", f"{sent:.0f} B on the links; 24 for each other rank would do.")
        return None


class CountedExercise(Exercise):
    """All ranks return one number made of labels. known: whatever `of` needs."""

    may_lose = {
        "int64": "labels of a few classes and numbers of samples",
        "integers of both widths": "labels are int64 in torch",
    }
    all_hear = True

    def of(self, c, slip: str = ""):
        raise NotImplementedError

    def expected(self, case):
        return self.per_rank(case, self.of(self.worked(case)))

    def per_rank(self, case, value):
        return [float(one) for one in (value if isinstance(value, list) else [value] * case.world_size)]

    def is_right(self, case: Case, run: Run) -> bool:
        return all(
            difference(w, r.value, case.rtol, case.atol) is None
            for w, r in zip(self.expected(case), run.ranks, strict=True)
        )


class EvaluatePadded(CountedExercise):
    """Evaluation with a padding sampler"""

    signature = "evaluate_padded(predictions: Tensor, labels: Tensor, indices: Tensor, n: int) -> float"
    levels = {"every sample once": 2, "fewer samples than ranks": 1, "no sample travels": 1}
    mistakes = [
        Mistake("counts_padding", "Samples that were dealt twice count twice: you divide by more than n.",
                "Place k of rank r is place r + k p of the sampler's order: from n on it is padding.",
                lambda c: sum(map(sum, c.hits)) / sum(map(len, c.hits))),
        Mistake("padding_in_numerator", "You divide by n, but samples that were dealt twice were counted twice.",
                "Leave the padding out of the correct ones, too.", lambda c: sum(map(sum, c.hits)) / c.n),
        Mistake("samples_left_out", "Every rank left out its last sample; only some of these are padding.",
                "Rank r's last place is padding only where r + k p is n or more.",
                lambda c: sum(sum(h[:-1]) for h in c.hits) / max(1, sum(len(h) - 1 for h in c.hits))
                if c.n % c.p else None),
        Mistake("drops_if_even", "The number of ranks divides n: there is no padding, and still the last sample of "
                "each rank was left out.",
                "Place k of rank r is place r + k p of the sampler's order: from n on it is padding.",
                lambda c: sum(sum(h[:-1]) for h in c.hits) / c.n if c.n % c.p == 0 else None),
        Mistake("one_pass_of_padding", "With so few samples the sampler has dealt each of them several times, and only "
                "some of these were left out.",
                "Place k of rank r is place r + k p of the sampler's order: from n on it is padding.",
                lambda c: c.first(c.places - (c.places - c.n) % c.n) / c.n if 2 * c.n <= c.p else None),
        Mistake("mean_of_nothing", "A rank that has nothing but padding took the mean of nothing, nan, and all ranks "
                "have it now.",
                "Add up counts over the ranks, then divide, once.",
                lambda c: None if all(map(len, c.kept)) else math.nan),
        Mistake("in_blocks", "The samples were dealt in turn, like cards, but you looked for padding as if each rank "
                "had a block of the order.",
                "Place k of rank r is r + k p, not r ceil(n / p) + k.",
                lambda c: sum(sum(h[: max(0, c.n - r * len(h))]) for r, h in enumerate(c.hits)) / c.n
                if c.n % c.p else None),
        Mistake("by_index", "Samples were kept or left out by their index. The order is shuffled: the index says "
                "nothing about the rank that a sample belongs to.",
                "Place k of rank r is place r + k p of the sampler's order: from n on it is padding.",
                lambda c: c.of_own_index),
        Mistake("percent", "This is the accuracy in percent.", "Return a number from 0 to 1.",
                lambda c: 100 * sum(map(sum, c.kept)) / c.n),
        OWN_ONLY.giving(lambda c: [np.mean(h) for h in c.hits]),
        MEAN_OF_MEANS.giving(lambda c: np.mean([np.mean(h) for h in c.kept]) if all(map(len, c.kept)) else None),
        Mistake("ranks_disagree", "Not every rank has the accuracy.", "`dist.all_reduce` leaves it on all of them."),
        COUNTS_WRAP,
        TOO_MANY_BYTES.but(how="A rank knows from its place which of its samples are padding: one or two counts "
                               "travel, not the samples."),
    ]  # fmt: skip

    def cases(self, rng):
        once, few, small = self.levels
        return [
            self._case(rng, level, p, n, late)
            for level, p, n, late in (
                (once, 3, 13, ()),
                (once, 4, 22, (2,)),
                (once, 2, 8, ()),
                (few, 5, 3, (4,)),
                (few, 4, 1, ()),
                (few, 5, 2, ()),
                (small, 4, 1201, (0,)),
                (small, 4, 140_001, ()),  # more of them right than 16 bits can count
                (once, 1, 9, ()),
            )
        ]

    def _case(self, rng, level, p, n, late):
        """A case, drawn anew until all mistakes can be told apart."""
        each = math.ceil(n / p)
        for _ in range(400):
            order = rng.permutation(n)
            padded = np.resize(order, each * p)
            labels = rng.integers(0, 10, n)
            predictions = np.where(rng.random(n) < 0.6, labels, (labels + 1) % 10)
            dealt = [padded[r::p] for r in range(p)]
            hits = [(predictions[d] == labels[d]).tolist() for d in dealt]
            kept = [[h for k, h in enumerate(own) if r + k * p < n] for r, own in enumerate(hits)]
            arguments = [(tensor(predictions[d], "int64"), tensor(labels[d], "int64"), tensor(d, "int64"), n)
                         for d in dealt]  # fmt: skip
            known = {"hits": hits, "kept": kept, "n": n, "dealt": dealt}
            case = Case(level, p, arguments, f"n = {n}, {each} for each rank", known, late=late)
            if self._telling(case):
                break
        return case

    def _telling(self, case) -> bool:
        c = self.worked(case)
        right, by_name = self.of(c), {m.name: m.value(c) for m in self.mistakes if m.value}
        apart = ["drops_if_even", "one_pass_of_padding"]
        apart += ["in_blocks"] * (3 < c.n < 100)
        others = [by_name[name] for name in ("counts_padding", "padding_in_numerator", "samples_left_out")]
        values = [right, *others] if c.n % c.p and c.n > 2 else [right]
        if c.n % c.p == 0:  # whoever drops a sample of each rank may divide by those that are left
            apart_too = sum(sum(h[:-1]) for h in c.hits) / (c.n - c.p)
            values.append(apart_too)
        told = all(by_name[name] is None or abs(by_name[name] - right) > 1e-9 for name in apart)
        if c.n > 1 and by_name["one_pass_of_padding"] is not None:
            told = told and abs(by_name["one_pass_of_padding"] - by_name["padding_in_numerator"]) > 1e-9
        return told and right > 0 and len({round(float(v), 6) for v in values if v is not None}) == len(values)

    def worked(self, case):
        c = super().worked(case)
        c.places = sum(map(len, c.hits))
        dealt = [hit for row in zip(*c.hits, strict=True) for hit in row]
        c.first = lambda count: sum(dealt[:count])
        own = [np.array(hits) & (d % c.p == r) for r, (hits, d) in enumerate(zip(c.hits, c.dealt, strict=True))]
        c.of_own_index = sum(map(np.sum, own)) / c.n if c.p > 1 else None
        return c

    def of(self, c, slip=""):
        return sum(map(sum, c.kept)) / c.n

    def facts(self, case: Case, run: Run):
        if self.is_right(case, run):
            if case.level == list(self.levels)[2] and given(run) > 32:
                return Finding("too_many_bytes", f"A rank passed {given(run)} B to collectives; 32 are enough.")
            return None
        found, right = numbers(run, 1), self.expected(case)[0]
        good = [math.isclose(one[0], right, rel_tol=1e-6) for one in found or ()]
        if any(good) and not all(good):
            return "ranks_disagree"
        off = [(one[0] - right) * case.known["n"] for one in found or ()]
        wraps = off and all(abs(k) > 1 and abs(math.remainder(k, 256)) < 1e-6 for k in off)
        return "counts_wrap" if wraps else None


class MacroF1(CountedExercise):
    """F1 over all ranks"""

    signature = "macro_f1(predicted: Tensor, labels: Tensor, classes: int) -> float"
    levels = {"one matrix for all": 2, "missing classes": 1, "one collective": 1}
    mistakes = [
        Mistake("averages_f1", "Each rank computed an F1 of its own, and these were averaged: a mean of quotients.",
                "Add up the confusion matrices, then compute, once.",
                lambda c: float(np.mean([c.f1(m) for m in c.matrices]))),
        OWN_ONLY.giving(lambda c: [c.f1(m) for m in c.matrices]),
        Mistake("accuracy", "This is the share of right predictions: the F1 of all classes together (micro).",
                "Macro: the F1 of each class, then their plain mean.", lambda c: c.f1(c.total, "micro")),
        Mistake("weighted_by_samples", "The classes were weighted by their samples.",
                "Macro: every class counts alike, however rare.", lambda c: c.f1(c.total, "weighted")),
        Mistake("leaves_out_missing_classes", "Classes that do not occur were left out of the mean.",
                "Their F1 is 0, and they count, predicted or not: divide by `classes`.",
                lambda c: c.f1(c.total, "present")),
        Mistake("missing_is_one", "A class without labels and predictions has F1 = 1.", "Its F1 is 0.",
                lambda c: c.f1(c.total, "missing is one") if c.missing else None),
        Mistake("counts_pairs_once", "Of all samples of a rank with the same label and prediction one was counted.",
                "`matrix[labels, predicted] += 1` adds 1 once to each place: torch.bincount, or index_put_ with "
                "accumulate=True.",
                lambda c: c.f1(sum((m > 0).astype(int) for m in c.matrices))),
        Mistake("missing_is_nan", "A class without labels and predictions gives 0 / 0.",
                "Set its F1 to 0, or divide by max(1, ...).",
                lambda c: math.nan if c.missing else None),
        Mistake("f1_of_means", "This was computed from the mean precision and the mean recall.",
                "First the F1 of each class, then the mean.", lambda c: c.f1(c.total, "means")),
        Mistake("ranks_disagree", "Not every rank has the F1 of all.", "`dist.all_reduce` leaves the sum on all."),
        COUNTS_WRAP,
        TOO_MANY,
        TOO_MANY_BYTES.but(how="A matrix of classes x classes counts, or TP and FP + FN of each class; no samples."),
    ]  # fmt: skip

    def cases(self, rng):
        whole, missing, one = self.levels
        return [
            self._case(rng, level, counts, classes, absent, late)
            for level, counts, classes, absent, late in (
                (whole, (30, 11, 19), 3, (), (1,)),
                (whole, (40, 25), 4, (), ()),
                (whole, (35,), 3, (), ()),
                (missing, (20, 0, 30), 4, (), (1,)),
                (missing, (25, 12, 18, 9), 5, (2,), (0,)),
                (one, (60_000, 44_000, 40_000), 3, (), ()),  # more than 16 bits can count
                (one, (70, 44), 2, (), ()),  # three counts for each class are more than a matrix
            )
        ] + [
            self._case(rng, missing, (21, 30), 4, (), (), unlabelled=(2,)),
            self._case(rng, one, (5, 3), 1, (), ()),
        ]

    def _case(self, rng, level, counts, classes, absent, late, unlabelled=()):
        """Drawn until the mistakes can be told apart. absent: classes that nobody has and nobody predicts. unlabelled:
        those that nobody has, and somebody predicts."""
        there = [k for k in range(classes) if k not in absent]
        weights = np.array([k not in unlabelled for k in there]) * np.arange(1, len(there) + 1)
        weights = weights / weights.sum()
        while True:
            labels = [rng.choice(there, n, p=weights) for n in counts]
            said = [np.where(rng.random(len(a)) < 0.4 + 0.15 * r, a, rng.choice(there, len(a)))
                    for r, a in enumerate(labels)]  # fmt: skip
            matrices = [np.zeros((classes, classes), int) for _ in counts]
            for m, a, b in zip(matrices, labels, said, strict=True):
                np.add.at(m, (a, b), 1)
            known = {"matrices": matrices, "classes": classes, "missing": bool(absent)}
            arguments = [(tensor(b, "int64"), tensor(a, "int64"), classes) for a, b in zip(labels, said, strict=True)]
            says = f"{', '.join(map(str, counts))} samples, {classes} class{'es' * (classes > 1)}"
            case = Case(level, len(counts), arguments, says, known, late=late)
            if len(counts) == 1 or classes == 1 or self._telling(case):
                return case

    def _telling(self, case) -> bool:
        c = self.worked(case)
        values = [f1(c.total, how) for how in ("macro", "micro", "weighted", "means")]
        values += [f1(m) for m in c.matrices] + [np.mean([f1(m) for m in c.matrices])]
        return min(np.diff(np.sort(values))) > 1e-4

    def worked(self, case):
        c = super().worked(case)
        c.total, c.f1 = sum(c.matrices), f1
        return c

    def of(self, c, slip=""):
        return c.f1(c.total)

    def facts(self, case: Case, run: Run):
        if not self.is_right(case, run):
            found, right = numbers(run, 1), self.expected(case)[0]
            good = [math.isclose(one[0], right, rel_tol=1e-6) for one in found or ()]
            if any(good) and not all(good):
                return "ranks_disagree"
            return "counts_wrap" if found and self._wraps(case, found[0][0]) else None
        if case.level != list(self.levels)[2]:
            return None
        classes = case.known["classes"]
        if given(run) > (most := 8 * max(classes**2, 2 * classes)):
            return Finding("too_many_bytes", f"A rank passed {given(run)} B to collectives; {most} would do.")
        return Finding("too_many_collectives", f"A rank called {called(run)}.") if called(run) > 1 else None

    def _wraps(self, case: Case, found: float) -> bool:
        total = self.worked(case).total
        return any(math.isclose(found, f1(total.astype(kind).astype(int)), rel_tol=1e-6)
                   for kind in ("int8", "uint8", "int16"))  # fmt: skip
