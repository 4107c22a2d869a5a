"""Unit 11, large batches: the rate, uneven accumulation, trust ratios, the noise scale, batch norm over ranks, and
validation during training.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from autograder.case import Answer, name_of
from autograder.compare import difference
from autograder.exercise import ANYTHING, Case, Finding, Mistake, Run, Tensor
from autograder.exercises.kinds import PlainExercise, ReportExercise, fits, on_ranks, refused
from autograder.exercises.readings.sharding import called, over_the_links
from autograder.exercises.source import harness_of
from autograder.values import full_precision

TOO_MANY = Mistake("too_many_collectives", "The numbers are right, but they took more collectives than are needed.",
                   "Even a small call costs its latency: put everything to be sent into one tensor.")  # fmt: skip
MOVES_TOO_MUCH = Mistake("moves_too_much", "The numbers are right, but more bytes were sent than are needed.")
NOT_REFUSED = Mistake("not_refused", "These arguments are impossible, but the function returned something.",
                      "Raise a ValueError before anything else.")  # fmt: skip
REFUSED = Mistake("ValueError", "This can be done, and the function refused.", "",
                  lambda c: "ValueError" if c.possible else None)  # fmt: skip


def float64(arrays) -> list[Tensor]:
    return [Tensor(np.asarray(one, np.float64), "float64") for one in arrays]


def too_much(run: Run, calls: int, nbytes: float, handed: float = math.inf) -> Finding | None:
    """More collectives on a rank, more bytes over the links, or more that a rank has handed over, than so many."""
    most = max(map(len, called(run)))
    if most > calls:
        return Finding(TOO_MANY.name, f"A rank called {most} collectives; {calls} is enough.")
    if (moved := over_the_links(run)) > nbytes:
        return Finding(MOVES_TOO_MUCH.name, f"{moved:,.0f} B travelled; {nbytes:,.0f} B are enough.")
    own = max(rank.collective_bytes + rank.sent_bytes for rank in run.ranks)
    if own > handed:
        return Finding(MOVES_TOO_MUCH.name, f"A rank handed over {own:,.0f} B; {handed:,.0f} B are enough.")
    return None


# -- the rate ----------------------------------------------------------------------------------------------------------


def cosine(share: float) -> float:
    return (1 + math.cos(math.pi * share)) / 2


class Refusable(PlainExercise):
    """A plain function that raises ValueError where `right` says ANYTHING."""

    def misconceptions(self, case):
        if self.right(**case.known) is not ANYTHING:
            return super().misconceptions(case)
        return {m.name: None for m in self.mistakes if m.value}

    def of_exception(self, case, kind, text):
        return "not_a_value_error" if self.right(**case.known) is ANYTHING else None

    def read_right(self, answer, **case):
        return NOT_REFUSED.name if self.right(**case) is ANYTHING and not refused(answer) else None


class ScaledRate(Refusable):
    """The learning rate of a large batch"""

    signature = (
        "scaled_rate(step: int, base_rate: float, base_batch: int, batch: int, warmup_steps: int, steps: int) -> float"
    )
    given = ("step", "base_rate", "base_batch", "batch", "warmup_steps", "steps")
    levels = {"the linear rule, with warm-up": 1, "down to zero": 1, "illegal steps": 1}
    harness = harness_of(__file__, "scaled_rate")
    mistakes = [
        NOT_REFUSED,
        REFUSED.but(how="Raise a ValueError only for a step that is not one of 0 to steps - 1, and for more steps of "
                    "warm-up than there are."),
        Mistake("never_smaller", "A batch that is smaller than base_batch gets no smaller peak.",
                "The linear scaling rule holds for smaller batches, too: base_rate * batch / base_batch.",
                lambda c: c.rate(c.base_rate * max(1.0, c.batch / c.base_batch))),
        Mistake("not_scaled", "The rate does not depend on the batch.", "base_rate * batch / base_batch is the peak.",
                lambda c: c.rate(c.base_rate)),
        Mistake("square_root", "The rate grows with the square root of the batch.", "The linear rule: k times the "
                "batch, k times the rate.", lambda c: c.rate(c.base_rate * math.sqrt(c.batch / c.base_batch))),
        Mistake("divides", "A larger batch gets a smaller rate.", "k times the batch, k times the rate.",
                lambda c: c.rate(c.base_rate * c.base_batch / c.batch)),
        Mistake("scaled_by_batch", "The rate was multiplied by the batch, not by how many times it is the base batch.",
                "base_rate * batch / base_batch", lambda c: c.rate(c.base_rate * c.batch)),
        Mistake("whole_factor", "The factor was rounded down to a whole number.", "/, not //.",
                lambda c: c.rate(c.base_rate * (c.batch // c.base_batch))),
        Mistake("no_warmup", "There is no warm-up: the first steps get the rate of later ones.",
                "Raise it in equal increments from base_rate in step 0 to the peak in step warmup_steps.",
                lambda c: c.peak if c.warming else None),
        Mistake("from_zero", "The warm-up begins at zero: the first step does nothing.",
                "It begins at base_rate, the rate of the small batch.",
                lambda c: c.peak * c.step / c.warmup_steps if c.warming else None),
        Mistake("one_step_ahead", "The warm-up is a step ahead.", "Step 0 gets base_rate, step warmup_steps the peak.",
                lambda c: c.base_rate + (c.peak - c.base_rate) * (c.step + 1) / c.warmup_steps if c.warming else None),
        Mistake("geometric", "In the warm-up each step multiplies the rate by the same factor.",
                "Each step adds the same: base_rate + (peak - base_rate) * step / warmup_steps.",
                lambda c: c.base_rate * (c.peak / c.base_rate) ** (c.step / c.warmup_steps) if c.warming else None),
        Mistake("ahead_from_zero", "The warm-up goes from zero, a step ahead.",
                "Step 0 gets base_rate, step warmup_steps the peak.",
                lambda c: c.peak * (c.step + 1) / c.warmup_steps if c.warming else None),
        Mistake("stays_up", "After the warm-up the rate stays constant.", "It falls along half a cosine.",
                lambda c: None if c.warming else c.peak),
        Mistake("counts_from_the_start", "The cosine counts from step 0: at the end of the warm-up the rate jumps.",
                "Its share is (step - warmup_steps) / (steps - warmup_steps).",
                lambda c: None if c.warming else c.peak * cosine(c.step / c.steps)),
        Mistake("too_long", "The cosine begins after the warm-up, but is stretched over the number of all steps: it "
                "never reaches zero.", "Its share is (step - warmup_steps) / (steps - warmup_steps).",
                lambda c: None if c.warming else c.peak * cosine((c.step - c.warmup_steps) / c.steps)),
        Mistake("down_a_step_too_soon", "The cosine is at zero in the last step, one step too early.",
                "Its share is (step - warmup_steps) / (steps - warmup_steps).",
                lambda c: None if c.warming or c.steps - c.warmup_steps < 2 else
                c.peak * cosine((c.step - c.warmup_steps) / (c.steps - 1 - c.warmup_steps))),
        Mistake("not_halved", "1 + cos falls from 2 to 0.", "Divide it by 2.",
                lambda c: None if c.warming else 2 * c.right),
        Mistake("straight_down", "The rate goes down in a straight line.", "peak * (1 + cos(pi * share)) / 2",
                lambda c: None if c.warming else c.peak * (c.steps - c.step) / (c.steps - c.warmup_steps)),
    ]  # fmt: skip

    def draw(self, rng):
        linear, down, no_step = self.levels
        base_rate = float(full_precision(rng, 0.05, 0.1))
        base, odd = 8 * int(rng.integers(4, 9)), 8 * int(rng.integers(20, 40)) + 3

        def case(level, step, batch, warmup, steps, known=()):
            values = (step, base_rate, base, batch, warmup, steps)
            return level, dict(zip(self.given, values, strict=True))

        yield case(linear, 7, 8 * base, 20, 100)
        yield case(linear, 0, 4 * base, 5, 50)
        yield case(linear, int(rng.integers(3, 8)), odd, 10, 40)
        yield case(linear, 10, odd, 10, 40)
        yield case(linear, 3, 2 * base, 9, 9)
        yield case(linear, 0, odd, 0, 40)
        yield case(linear, 3, base // 4, 8, 40)
        yield case(linear, 8, base // 2, 8, 40)
        yield case(down, 30, base // 4, 8, 40)
        yield case(down, 17, odd, 10, 40)
        yield case(down, int(rng.integers(60, 80)), 16 * base, 20, 100)
        yield case(down, int(rng.integers(12, 17)), 3 * base, 0, 50)
        yield case(down, 49, odd, 5, 50)
        for step, warmup, steps in ((50, 5, 50), (-1, 5, 50), (3, 60, 50), (3, 51, 50), (3, -1, 50)):
            yield case(no_step, step, odd, warmup, steps)

    def right(self, step, base_rate, base_batch, batch, warmup_steps, steps, peak=None):
        if not (0 <= step < steps and 0 <= warmup_steps <= steps):
            return ANYTHING
        peak = base_rate * batch / base_batch if peak is None else peak
        if step < warmup_steps:
            return base_rate + (peak - base_rate) * step / warmup_steps
        return peak * cosine((step - warmup_steps) / (steps - warmup_steps))

    def worked(self, case):
        c = super().worked(case)
        c.possible = c.right is not ANYTHING
        c.peak = c.base_rate * c.batch / c.base_batch
        c.warming = c.step < c.warmup_steps
        c.rate = lambda peak: self.right(**case.known, peak=peak) if c.possible else None
        return c


# -- accumulation ------------------------------------------------------------------------------------------------------


class AccumulateUneven(ReportExercise):
    """Accumulating uneven micro-batches"""

    signature = "accumulate_uneven(ddp: DistributedDataParallel, micro_batches: list, n: int) -> None"
    levels = {
        "every row weighs the same": 2,
        "one synchronisation, one micro-batch at a time": 2,
        "a rank without rows": 1,
    }
    parts = ("gradient", ("kept", "silent", "largest", "graphs"))
    harness = harness_of(__file__, "accumulate_uneven")
    mistakes = [
        Mistake("mean_of_means", "Every micro-batch counts the same, however many rows it has: a row in a small one "
                "counts more.", "Divide the sum over its rows by n, the rows of all micro-batches of all ranks.",
                lambda c: c.weighed(lambda r, k: c.over(len(c.batches[r]) * c.sizes[r][k]))),
        Mistake("mean_of_ranks", "The rows of one rank count the same, but those of a rank with few rows count "
                "more.", "Divide by n, and multiply by the number of ranks, which DDP divides by.",
                lambda c: c.weighed(lambda r, k: c.over(sum(c.sizes[r])))),
        Mistake("world_size_missing", "The gradient is too small by the number of ranks: DDP divides by it.",
                "Multiply the loss by `dist.get_world_size()`.", lambda c: c.weighed(lambda r, k: 1 / c.n)),
        Mistake("not_divided", "The squared errors were added up, but not divided by the number of rows.",
                "Divide by n.", lambda c: c.weighed(lambda r, k: 1)),
        Mistake("means_added", "The means of the micro-batches were added up.", "sum of squares * p / n",
                lambda c: c.weighed(lambda r, k: c.over(c.sizes[r][k]))),
        Mistake("last_only", "Only the last micro-batch is in the gradient.",
                "No zero_grad() between them: gradients add up by themselves.",
                lambda c: c.weighed(lambda r, k: c.p / c.n if k == len(c.batches[r]) - 1 else 0)),
        Mistake("one_too_few", "The last micro-batch is missing.", "The loop in `no_sync()` takes all but the last, "
                "which comes after the loop.",
                lambda c: c.weighed(lambda r, k: c.p / c.n if k < len(c.batches[r]) - 1 else 0)),
        Mistake("last_one_twice", "The last micro-batch counts twice: once in the loop, and once after it.",
                "The loop in `no_sync()` takes `micro_batches[:-1]`.",
                lambda c: c.weighed(lambda r, k: (1 + (k == len(c.batches[r]) - 1)) * c.p / c.n)),
        Mistake("synchronises_the_first", "The first micro-batch was synchronised; the later ones are each rank's own.",
                "Put the last one outside of `no_sync()`: its backward pass synchronises the whole sum.",
                lambda c: c.first_synchronised()),
        Mistake("missing_rank", "A rank has left out a backward pass that the others wait in: DDP synchronises in that "
                "of the last micro-batch.",
                "Every rank goes through the last one, with no rows, too: its gradient is zero then."),
        Mistake("one_parameter", "Only the first parameter's gradient was added up over the ranks; those of the others "
                "are each rank's own.", "Go through all of `ddp.parameters()`.",
                lambda c: c.first_parameter() if c.cut else None),
        Mistake("own_gradient", "Each rank has the gradient of its own rows: nothing was synchronised.",
                "Put the forward and backward pass of the last micro-batch outside of `no_sync()`.",
                lambda c: [{"gradient": Tensor(g, "float64")} for g in c.own(c.p / c.n)]),
        Mistake("synchronises_every_time", "The gradient is right, but it was synchronised more than once.",
                "All micro-batches but the last go inside `with ddp.no_sync():`, the forward pass, too."),
        Mistake("one_big_batch", "The gradient is right, but several micro-batches went through the model at once.",
                "They may not fit into memory together: take one after the other."),
        Mistake("graphs_kept", "The gradient is right, but micro-batches waited for their backward pass while others "
                "went forward.", "Do the forward and backward pass of one, then the next."),
        Mistake("weights_changed", "The gradient is right, but the weights have changed.",
                "Leave the gradient in .grad: the step is the caller's."),
        Mistake("stays_silent", "The gradient is right, but DDP is left switched off: in the backward passes that "
                "follow it synchronises nothing any more.",
                "`with ddp.no_sync():` switches it on again at its end. Whoever sets require_backward_grad_sync must "
                "set it back to True."),
        Mistake("divided_by_batches", "The gradient was divided by n and by the number of micro-batches, too.",
                "n counts all rows, those of all micro-batches: divide by n alone.",
                lambda c: c.weighed(lambda r, k: c.p / c.n / len(c.batches[r]))),
        Mistake("world_size_twice", "The gradient is too large by the number of ranks.",
                "Multiply the loss by the number of ranks where DDP divides by it, not where you add up the gradients "
                "by yourself.",
                lambda c: c.weighed(lambda r, k: c.p * c.p / c.n)),
        Mistake("stops_without_rows", "What follows a micro-batch without rows is missing.",
                "Skip that one alone (`continue`, not `break`).",
                lambda c: c.weighed(lambda r, k: c.p / c.n if all(c.sizes[r][:k]) else 0)
                if any(0 in of[:-1] and of[-1] for of in c.sizes) else None),
    ]  # fmt: skip

    def cases(self, rng):
        alike, once, none = self.levels
        return [
            self._case(rng, alike, [[3, 1], [2, 5]]),
            self._case(rng, alike, [[4], [1], [2]]),
            self._case(rng, alike, [[2, 3]]),
            self._case(rng, once, [[2, 3, 1, 4], [1, 1, 2, 3]], width=40),
            self._case(rng, once, [[2, 3], [1, 4], [5, 2]], width=40, late=(1,)),
            self._case(rng, none, [[2, 0, 3, 1], [0, 0], [1, 0]]),
            self._case(rng, alike, [[3, 1], [2, 5]], cut=1),
        ]

    @staticmethod
    def _case(rng, level, sizes, width=3, cut=0, **options):
        """cut: the model holds so many of its weights in a parameter of their own, behind the others."""
        batches = [
            [(full_precision(rng, -1, 1, (n, width)), full_precision(rng, -1, 1, (n,))) for n in of] for of in sizes
        ]
        known = {"weight": full_precision(rng, -1, 1, (width,)), "batches": batches, "sizes": sizes, "cut": cut}
        known |= {
            "n": sum(map(sum, sizes)),
            "sent": [[float64(part) for part in zip(*of, strict=True)] for of in batches],
        }
        says = "; ".join(f"rank {r}: {', '.join(map(str, of))}" for r, of in enumerate(sizes))
        says += "; two parameters" * bool(cut)
        return on_ranks(level, len(sizes), "weight sent[r] n cut", known, f"rows on {says}", **options)

    def worked(self, case):
        c = super().worked(case)
        sums = [[2 * x.T @ (x @ c.weight - y) for x, y in of] for of in c.batches]
        c.over = lambda rows: 1 / max(rows, 1)
        c.filled = [len([n for n in of if n]) for of in c.sizes]  # micro-batches that have rows

        def weighed(weight):
            total = sum(weight(r, k) * g for r, of in enumerate(sums) for k, g in enumerate(of)) / c.p
            return [{"gradient": Tensor(total, "float64")}] * c.p

        c.weighed = weighed

        def first_synchronised():
            if min(map(len, sums)) < 2:
                return None
            first = sum(of[0] for of in sums) / c.n
            return [{"gradient": Tensor(first + c.p / c.n * sum(of[1:]), "float64")} for of in sums]

        c.own = lambda weight: [weight * sum(of) for of in sums]

        def first_parameter():
            first = np.arange(len(c.weight)) < len(c.weight) - c.cut
            whole = sum(map(sum, sums)) / c.n
            return [{"gradient": Tensor(np.where(first, whole, own), "float64")} for own in c.own(1)]

        c.first_parameter = first_parameter
        c.first_synchronised = first_synchronised
        return c

    def expected(self, case):
        c = self.worked(case)
        report = c.weighed(lambda r, k: c.p / c.n)[0]
        most = [max(of) for of in c.sizes]
        return [{**report, "kept": True, "silent": ANYTHING, "largest": ANYTHING, "graphs": ANYTHING} for _ in most]

    def facts(self, case: Case, run: Run):
        values = [rank.value for rank in run.ranks]
        if not all(isinstance(value, dict) for value in values):
            return None
        if not all(value["kept"] for value in values):
            return "weights_changed"
        c, level = self.worked(case), list(self.levels)[1]
        if case.level == list(self.levels)[2]:
            means = [c.weighed(lambda r, k: c.over(c.filled[r] * c.sizes[r][k]))[0] | {"kept": True}] * c.p
            numbers = [{name: value[name] for name in means[0]} for value in values]
            return "mean_of_means" if fits(case, means, numbers) else None
        if case.level != level:
            return None
        for value, sizes in zip(values, c.sizes, strict=True):
            if value["largest"] > max(sizes):
                return Finding("one_big_batch", f"{value['largest']} rows went through the model at once.")
            if value["graphs"] > 1:
                return Finding("graphs_kept", f"{value['graphs']} forward passes waited for their backward pass.")
        sent = self._sent(run)
        if sent > 1.5 * c.weight.nbytes:
            return Finding(
                "synchronises_every_time",
                f"Rank 0 handed {sent} B to all_reduce; the gradient has {c.weight.nbytes} B.",
            )
        silent = any(value["silent"] for value in values) and fits(case, self.expected(case), values)
        return "stays_silent" if silent else None

    @staticmethod
    def _sent(run: Run) -> int:
        """The bytes that rank 0 handed to collectives after the harness's barrier."""
        own = [event for event in run.events if event.rank == 0]
        begin = next((k for k, event in enumerate(own) if event.kind == "barrier"), -1)
        return sum(event.nbytes or 0 for event in own[begin + 1 :] if event.kind != "compute")


# -- trust ratios ------------------------------------------------------------------------------------------------------


class TrustStep(ReportExercise):
    """A step as long as the layer can bear"""

    signature = "trust_step(shards: list, updates: list, adapt: list[bool], lr: float, trust: float) -> None"
    levels = {"whole tensors": 1, "biases, and zeros": 1, "shards, one collective": 2}
    parts = ("weights",)
    inputs = "free"
    harness = harness_of(__file__, "trust_step")
    mistakes = [
        Mistake("own_norms", "Each rank used the norms of its own shards: the parts of one layer made steps with "
                "different factors.", "Sum the squares of both norms over the ranks, then take the roots.",
                lambda c: c.steps(lambda k, r: c.ratio(c.w[r][k], c.u[r][k]))),
        Mistake("norms_added", "The norms of the ranks were added up.", "Add up the squares, then take the roots.",
                lambda c: c.steps(lambda k, r: c.of_norms(*(sum(c.norm(one[k]) for one in x) for x in (c.w, c.u))))),
        Mistake("squares", "The roots are missing: this is the ratio of the squares.", "Norms, not their squares.",
                lambda c: c.steps(lambda k, r: c.of_norms(c.norm(c.whole_w[k]) ** 2, c.norm(c.whole_u[k]) ** 2))),
        Mistake("upside_down", "The ratio is upside down: small weights make long steps.", "norm of w / norm of u",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_u[k], c.whole_w[k]))),
        Mistake("norm_forgotten", "The update was not divided by its norm.", "Divide by the norm of u.",
                lambda c: c.steps(lambda k, r: c.trust * c.norm(c.whole_w[k]) if c.moves(k) else 1)),
        Mistake("weights_forgotten", "All layers make steps of one length, large ones and small ones.",
                "Multiply by the norm of w.",
                lambda c: c.steps(lambda k, r: c.trust / c.norm(c.whole_u[k]) if c.moves(k) else 1)),
        Mistake("trust_forgotten", "`trust` was not used.", "lr * trust * norm of w / norm of u",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k]) / c.trust if c.moves(k) else 1)),
        Mistake("one_ratio", "One ratio was used for all layers.", "Every tensor has a ratio of its own.",
                lambda c: c.steps(lambda k, r: c.ratio(*(np.concatenate([x[j] for j in range(len(x))]) for x in
                                                        (c.whole_w, c.whole_u))))),
        Mistake("eps_added", "A small number was added to the norm of the update: where that is small itself, the step "
                "is too short.", "trust * |w| / |u|, with nothing added; where |u| is 0 the factor is 1.",
                lambda c: c.steps(lambda k, r: c.of_norms(c.norm(c.whole_w[k]), c.norm(c.whole_u[k]) + 1e-12))),
        Mistake("capped", "The factor was limited to 10, as in some programs for LAMB: layers with a larger factor "
                "make too short steps.", "trust * |w| / |u|, however large.",
                lambda c: c.steps(lambda k, r: min(10.0, c.ratio(c.whole_w[k], c.whole_u[k])))),
        Mistake("capped_at_one", "The factor was limited to 1, as in some programs for LARS: layers with a larger "
                "factor make too short steps.", "trust * |w| / |u|, however large.",
                lambda c: c.steps(lambda k, r: min(1.0, c.ratio(c.whole_w[k], c.whole_u[k])))),
        Mistake("rate_forgotten", "`lr` was not used.", "w -= lr * factor * u, whatever the factor is.",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k]) / c.lr, others=1 / c.lr)),
        Mistake("small_is_zero", "A small norm was taken for one of 0.",
                "Only where a norm is 0 itself the factor is 1.",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k])
                                  if min(c.norm(c.whole_w[k]), c.norm(c.whole_u[k])) > 1e-8 else 1)),
        Mistake("plain_step", "No ratio was used.", "Where `adapt` is True, w -= lr * trust * |w| / |u| * u.",
                lambda c: c.steps(lambda k, r: 1)),
        Mistake("adapts_all", "Tensors were adapted where `adapt` is False.",
                "Where `adapt` is False the factor is 1.",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k]), [True] * len(c.adapt))),
        Mistake("trust_always", "`trust` was also used where the factor is 1.", "Where `adapt` is False, or a norm is "
                "zero: w -= lr * u.",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k]), others=c.trust)),
        Mistake("zero_stays", "Weights of norm zero never move: their ratio is zero.",
                "Where a norm is zero the factor is 1.",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k]) if c.norm(c.whole_w[k]) else 0)),
        Mistake("zero_divided", "The update has norm zero, and w has become nan.",
                "Where a norm is zero the factor is 1.",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k]) if c.whole_u[k].any() else np.nan)),
        Mistake("zeros_not_tested", "Norms of zero are not tested for: weights of norm zero never move, and where the "
                "update is zero, w has become nan.",
                "Where a norm is zero the factor is 1.",
                lambda c: c.steps(lambda k, r: np.nan if not c.whole_u[k].any() else
                                  c.ratio(c.whole_w[k], c.whole_u[k]) if c.whole_w[k].any() else 0)),
        Mistake("own_zeros", "A rank whose shard is zero did not adapt it: but the tensor is not zero.",
                "Test the norm of the whole tensor for zero.",
                lambda c: c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k])
                                  if c.w[r][k].any() and c.u[r][k].any() else 1)),
        Mistake("uphill", "The weights moved in the wrong direction.", "w -= ..., not +=.",
                lambda c: c.steps(lambda k, r: -c.ratio(c.whole_w[k], c.whole_u[k]), others=-1)),
        Mistake("not_changed", "The weights have not changed.", "Change them in place: `w.sub_(...)`; a new tensor in "
                "the list does not change them.",
                lambda c: c.steps(lambda k, r: 0, others=0)),
        Mistake("updates_changed", "The weights are right, but the updates have changed.",
                "Only the weights change in place: `w.sub_(u, alpha=lr * factor)`."),
        TOO_MANY,
        MOVES_TOO_MUCH.but(how="Send only the squares of two norms for each tensor."),
    ]  # fmt: skip

    def cases(self, rng):
        whole, zeros, shards = self.levels
        return [
            self._case(rng, whole, [(4,), (6,)]),
            self._case(rng, whole, [(5,)], small=2.0**-4),  # both norms are less than 1
            self._case(rng, zeros, [(4,), (3,), (5,)], adapt=[True, False, True]),
            self._case(rng, zeros, [(3,), (4,), (2,)], zero=(0, 1)),
            self._case(rng, shards, [(3, 2), (2, 4)]),
            self._case(rng, shards, [(3, 2), (2, 4)], zeros=((0, 1), (1, 0))),
            self._case(rng, shards, [(3, 0, 2), (1, 2, 0), (60, 60, 60)], adapt=[True, False, True], late=(1,)),
            self._case(rng, shards, [(3, 0), (4, 0), (2, 0)], large=(2.0**13, 2.0**-40)),  # rank 1 has nothing at all
            self._case(rng, whole, [(4,)], small=2.0**-30),
            self._case(rng, whole, [(4,), (6,)], small=2.0**-8, faint=2.0**-22),
        ]

    @staticmethod
    def _case(rng, level, sizes, adapt=None, zero=(), zeros=(), large=(), small=1.0, faint=1.0, **options):
        """sizes: of each tensor, the size of each rank's shard. zero: which weights are zero, and which update. zeros:
        likewise, but (rank, tensor), of one shard alone. large: factors for the weights of the first tensors. small: a
        factor for everything. faint: one for all updates."""
        p = len(sizes[0])
        w = [[small * full_precision(rng, -1, 1, (of[r],)) for of in sizes] for r in range(p)]
        u = [[small * faint * full_precision(rng, -4, 4, (of[r],)) for of in sizes] for r in range(p)]
        for r in range(p):
            for name, k in zip((w, u), zero, strict=False):
                name[r][k][:] = 0.0
        for name, (r, k) in zip((w, u), zeros, strict=False):
            name[r][k][:] = 0.0
        for k, factor in enumerate(large):
            for one in w:
                one[k] *= factor
        known = {"w": w, "u": u, "adapt": adapt or [True] * len(sizes), "lr": round(float(rng.uniform(0.2, 0.4)), 3)}
        known |= {
            "trust": round(float(rng.uniform(0.1, 0.2)), 3),
            "ws": list(map(float64, w)),
            "us": list(map(float64, u)),
        }
        says = f"{len(sizes)} tensor{'s' * (len(sizes) > 1)}"
        says += ", one with weights of zero, one with an update of zero" * bool(zero)
        says += ", a rank's shard of zeros" * bool(zeros)
        says += ", one of large and one of tiny weights, none of them on rank 1" * bool(large)
        says += ", tiny updates" * (faint < 1)
        return on_ranks(level, p, "ws[r] us[r] adapt lr trust", known, says, **options)

    def worked(self, case):
        c = super().worked(case)
        c.norm = lambda x: float(np.sqrt((x**2).sum()))
        c.whole_w, c.whole_u = (
            [np.concatenate([x[r][k] for r in range(c.p)]) for k in range(len(c.adapt))] for x in (c.w, c.u)
        )
        c.of_norms = lambda w, u: c.trust * w / u if w and u else 1.0
        c.ratio = lambda w, u: c.of_norms(c.norm(w), c.norm(u))
        c.moves = lambda k: bool(c.norm(c.whole_w[k]) and c.norm(c.whole_u[k]))

        def steps(factor, adapt=c.adapt, others=1.0):
            def at(r, k):
                used = factor(k, r) if adapt[k] and (c.moves(k) or others == 1.0) else others
                return c.w[r][k] - c.lr * used * c.u[r][k]

            return [{"weights": float64(at(r, k) for k in range(len(adapt)))} for r in range(c.p)]

        c.steps = steps
        return c

    def expected(self, case):
        c = self.worked(case)
        return [one | {"kept": ANYTHING} for one in c.steps(lambda k, r: c.ratio(c.whole_w[k], c.whole_u[k]))]

    def needs_bytes(self, case):
        return [8] * case.world_size

    def facts(self, case: Case, run: Run):
        p, tensors = case.world_size, len(case.known["adapt"])
        if not all(rank.value["kept"] for rank in run.ranks):
            return "updates_changed"
        most = 2 * tensors * 8
        return too_much(run, 1, 2 * p * (p - 1) * most, most) if case.level == list(self.levels)[2] else None


# -- the noise scale ---------------------------------------------------------------------------------------------------


def is_huge(value: object, right: float) -> bool:
    """True if a number is infinite or thousands of times what is right, and positive."""
    return isinstance(value, float) and value > 1e3 * abs(right)


def is_tiny(value: object, right: float) -> bool:
    """True if a number is less than a tenth of what is right, and neither 0 nor negative."""
    return isinstance(value, float) and 0 < value < right / 10


class NoiseScale(ReportExercise):
    """The noise scale, on the way"""

    signature = "noise_scale(gradient: torch.Tensor, b: int) -> tuple[torch.Tensor, float]"
    levels = {"the estimate": 2, "one extra number sent": 2, "one rank": 1}
    parts = ("gradient", "noise")
    harness = harness_of(__file__, "noise_scale")
    mistakes = [
        NOT_REFUSED.but(why="One rank has one batch, and an estimate takes two: something was returned all the same."),
        REFUSED.but(how="Raise a ValueError for one rank only.").giving(lambda c: {"gradient": "ValueError"}),
        Mistake("own_gradient", "The gradient is this rank's own.", "Return the mean over the ranks.",
                lambda c: c.gradients(c.g)),
        Mistake("sum_of_gradients", "The gradients were added up.", "Divide by the number of ranks.",
                lambda c: c.gradients([sum(c.g)] * c.p)),
        Mistake("own_norm", "Each rank compares the norm of its own gradient: the ranks get different numbers.",
                "Average the squared norms of all ranks: one number more to send.",
                lambda c: [{"noise": c.of((g**2).sum(), c.big)} for g in c.g]),
        Mistake("biased", "The squared norm of the mean gradient still has noise in it.",
                "|G|^2 is (B big - b small) / (B - b).",
                lambda c: c.noises((c.small - c.big) / (1 / c.b - 1 / c.B) / c.big)),
        Mistake("variance_over_p", "The spread of the ranks' gradients was divided by p: that is too small by "
                "(p - 1) / p.",
                "S is (|g|^2 - |mean g|^2) / (1 / b - 1 / B), which is b p / (p - 1) times the difference.",
                lambda c: c.noises(c.right_noise * (c.p - 1) / c.p)),
        Mistake("in_local_batches", "The result is b times too small: it counts local batches, not samples.",
                "The batches are b and p b samples.", lambda c: c.noises(c.right_noise / c.b)),
        Mistake("upside_down", "The result is upside down.", "S / |G|^2", lambda c: c.noises(1 / c.right_noise)),
        Mistake("roots", "Norms were used in place of their squares.", "Take no roots.",
                lambda c: c.noises(c.of(np.mean([np.sqrt((g**2).sum()) for g in c.g]), np.sqrt(c.big)))),
        Mistake("square_of_mean_norm", "The mean of the norms was squared.", "Take the mean of the squared norms.",
                lambda c: c.noises(c.of(np.mean([np.sqrt((g**2).sum()) for g in c.g]) ** 2, c.big))),
        Mistake("norms_added", "The squared norms of the ranks were added up.", "Take their mean.",
                lambda c: c.noises(c.of(c.p * c.small, c.big))),
        Mistake("ranks_for_batch", "The number of ranks was taken for the batch of all of them.",
                "B = p * b samples.", lambda c: c.noises(c.of(c.small, c.big, c.p)) if c.p != c.b else None),
        Mistake("one_not_squared", "The mean of the norms was taken for that of their squares.",
                "|g|^2 is a sum of squares: take no root.",
                lambda c: c.noises(c.of(np.mean([np.sqrt((g**2).sum()) for g in c.g]), c.big))),
        Mistake("square_in_float32", "The squared norm was rounded to float32. Where the ranks' gradients nearly "
                "agree, the difference of the squares is smaller than that rounding.",
                "Stay in float64: `torch.tensor([x])` makes float32 of a float, give it dtype=torch.float64; or take "
                "`(gradient**2).sum().reshape(1)`.",
                lambda c: c.noises(c.of(np.mean([float(np.float32((g**2).sum())) for g in c.g]), c.big))),
        Mistake("only_variance", "This is S, the noise of one sample: it was not divided by |G|^2.", "S / |G|^2",
                lambda c: c.noises(c.right_noise * c.signal)),
        Mistake("cut_off_at_zero", "A negative estimate was cut off at zero: means over many steps come out too large.",
                "Single estimates scatter; return them as they are.", lambda c: c.noises(max(c.right_noise, 0.0))),
        Mistake("signal_cut_off", "A negative estimate of |G|^2 was replaced by a small positive number, and S divided "
                "by that is huge.",
                "Single estimates scatter: divide by the estimate as it is. It is negative at times, and never 0."),
        Mistake("signal_padded", "A small number was added to the estimate of |G|^2, or took its place: where "
                "gradients are small, it is the larger of the two.",
                "Divide by the estimate as it is: it is never 0."),
        Mistake("sign_lost", "A negative estimate lost its sign: means over many steps come out too large.",
                "Single estimates scatter; return them as they are.", lambda c: c.noises(abs(c.right_noise))),
        TOO_MANY,
        MOVES_TOO_MUCH.but(how="One all_reduce, of the gradient and one number."),
    ]  # fmt: skip

    def cases(self, rng):
        estimate, one_more, alone = self.levels
        return [
            self._case(rng, estimate, 2, 5, 8),
            self._case(rng, estimate, 4, 6, 16, late=(2,)),
            self._case(rng, estimate, 2, 5, 8, negative=True),
            self._case(rng, estimate, 5, 6, 1, apart=1e-3),
            self._case(rng, one_more, 3, 50, 4),
            self._case(rng, alone, 1, 4, 8),
            self._case(rng, estimate, 2, 5, 8, scale=2.0**-24),
        ]

    @staticmethod
    def _case(rng, level, p, n, b, negative=False, apart=1.0, scale=1.0, **options):
        """negative: whether the estimate is, as where the ranks' gradients point away from each other. apart: a factor
        of their differences; small, a square that was rounded to float32 shows.
        scale: a factor of all gradients."""
        g = full_precision(rng, 0.5, 1.5, (n,)) + apart * full_precision(rng, -0.7, 0.7, (p, n))
        g += rng.uniform(0, 1e-6, (p, n))  # so many digits that dividing by p and multiplying again shows
        if negative:
            g[1::2] *= -1
        g *= scale
        known = {"g": list(g), "sent": float64(g), "b": b, "scale": scale}
        return on_ranks(level, p, "sent[r] b", known, f"{n} {'tiny ' * (scale < 1)}numbers, b = {b}", **options)

    def worked(self, case):
        c = super().worked(case)
        c.mean = np.mean(c.g, axis=0)
        c.B = c.p * c.b
        c.small, c.big = np.mean([(g**2).sum() for g in c.g]), (c.mean**2).sum()

        def of(small, big, whole=c.B):
            signal = (whole * big - c.b * small) / (whole - c.b)
            return float((small - big) / (1 / c.b - 1 / whole) / signal)

        c.of = of
        if c.p > 1:
            c.right_noise, c.signal = of(c.small, c.big), (c.B * c.big - c.b * c.small) / (c.B - c.b)
        c.gradients = lambda gs: [{"gradient": Tensor(g, "float64")} for g in gs] if c.p > 1 else None
        c.noises = lambda value: [{"noise": float(value)}] * c.p
        return c

    def expected(self, case):
        if case.world_size == 1:
            return [{"gradient": ANYTHING, "noise": ANYTHING}]
        c = self.worked(case)
        return [{"gradient": Tensor(c.mean, "float64"), "noise": c.right_noise}] * c.p

    def misconceptions(self, case):
        if case.world_size > 1:
            return super().misconceptions(case)
        return {m.name: None for m in self.mistakes if m.value}

    def facts(self, case: Case, run: Run):
        p, values = case.world_size, [rank.value for rank in run.ranks]
        if p == 1:
            said = [isinstance(value, dict) and refused(value["noise"]) for value in values]
            return None if all(said) else NOT_REFUSED.name
        right = self.expected(case)[0]["noise"]
        if right < 0 and all(isinstance(v, dict) and is_huge(v["noise"], right) for v in values):
            return "signal_cut_off"
        if case.known["scale"] < 1 and all(isinstance(v, dict) and is_tiny(v["noise"], right) for v in values):
            return "signal_padded"
        if case.level != list(self.levels)[1]:
            return None
        return too_much(run, 1, 2 * (p - 1) * (len(case.known["g"][0]) + 1) * 8)


# -- batch norm --------------------------------------------------------------------------------------------------------


class GlobalMoments(ReportExercise):
    """The moments of all rows"""

    signature = "global_moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]"
    levels = {"uneven and empty shards": 2, "large means, one collective": 3}
    parts = ("mean", "var")
    all_hear = True
    harness = harness_of(__file__, "global_moments")
    mistakes = [
        Mistake("own_rows", "These are the moments of this rank's rows.", "Mean and variance are those of all rows.",
                lambda c: [c.moments(x.mean(0), x.var(0)) for x in c.x] if all(map(len, c.x)) else None),
        Mistake("mean_of_means", "The means of the ranks were averaged: rows on a rank with few of them count more.",
                "Weigh each by its rows.", lambda c: {"mean": Tensor(np.mean(c.means, axis=0), "float64")}),
        Mistake("empty_divided", "A rank without rows divided by zero, and sent the nan to all others.",
                "Send sums, or let a rank without rows send zeros.",
                lambda c: c.moments(c.right_mean * np.nan, c.right_var * np.nan)),
        Mistake("averages_variances", "The variances of the ranks were averaged: the spread of their means is lost.",
                "Add n_r (mean_r - mean)^2 of each rank.", lambda c: {"var": Tensor(c.within, "float64")}),
        Mistake("variances_alike", "The variances of the ranks were averaged with equal weights: their numbers of "
                "rows differ, and so do their means.", "Add up n_r var_r + n_r (mean_r - mean)^2.",
                lambda c: {"var": Tensor(np.mean(c.variances, axis=0), "float64")}),
        Mistake("unbiased", "The variance was divided by n - 1.", "Batch norm divides by n.",
                lambda c: {"var": Tensor(c.right_var * c.n / (c.n - 1), "float64")}),
        Mistake("unbiased_on_ranks", "The variance of each rank's rows was divided by their number less 1: of one row "
                "that is 0 / 0, and one NaN in a sum makes it NaN.",
                "`x.var(0, correction=0)`, or the sum of the squares around the rank's mean.",
                lambda c: {"var": Tensor(c.unbiased_on_ranks(), "float64")}),
        Mistake("squares_only", "These are the mean squares: that of the mean was not subtracted.",
                "Subtract the square of the mean.",
                lambda c: {"var": Tensor(c.right_var + c.right_mean**2, "float64")}),
        Mistake("deviation", "This is the standard deviation.", "The variance, its square.",
                lambda c: {"var": Tensor(np.sqrt(c.right_var), "float64")}),
        Mistake("digits_cancel", "Far from zero, the mean of the squares and the square of the mean agree in most of "
                "their digits: their difference has few correct digits.",
                "Let each rank send its rows, its mean, and the sum of the squared distances from that mean."),
        TOO_MANY.but(how="Number of rows, mean, and the sum of squares around that mean: one all_gather of 2 C + 1 "
                     "numbers is enough."),
        MOVES_TOO_MUCH.but(how="Do not send rows: 2 C + 1 numbers describe them."),
    ]  # fmt: skip

    def cases(self, rng):
        uneven, far = self.levels
        return [
            self._case(rng, uneven, (4, 2), 3),
            self._case(rng, uneven, (5, 3, 1, 0), 3),
            self._case(rng, uneven, (0, 6, 2), 2, late=(1,)),
            self._case(rng, far, (40, 20, 9), 4, far=2e5, rtol=1e-8),  # right ways are right to 2e-10 or so
            self._case(rng, far, (30, 0, 8), 4, far=3e5, rtol=1e-8),
            self._case(rng, far, (0, 25, 8), 3, far=3e5, rtol=1e-8),  # whoever shifts by rank 0's mean shifts by 0
            self._case(rng, uneven, (7,), 3),
            self._case(rng, uneven, (4, 2), 1),
        ]

    @staticmethod
    def _case(rng, level, sizes, channels, far=0.0, **options):
        x = [
            full_precision(rng, -1, 1, (n, channels)) * (0.2 if far else 1) + 0.1 * (r + 1) for r, n in enumerate(sizes)
        ]
        x = [one + far for one in x]
        known = {"x": x, "sent": float64(x)}
        return on_ranks(level, len(sizes), "sent[r]", known, f"{', '.join(map(str, sizes))} rows", **options)

    def worked(self, case):
        c = super().worked(case)
        rows = np.concatenate(c.x)
        c.n, c.right_mean, c.right_var = len(rows), rows.mean(0), rows.var(0)
        c.means = [x.mean(0) if len(x) else 0 * c.right_mean for x in c.x]
        c.variances = [x.var(0) if len(x) else 0 * c.right_mean for x in c.x]
        c.within = sum(len(x) * v for x, v in zip(c.x, c.variances, strict=True)) / c.n

        def unbiased_on_ranks():
            with np.errstate(invalid="ignore", divide="ignore"):
                around = [len(x) * ((x - m) ** 2).sum(0) / (len(x) - np.float64(1)) if len(x) else 0 * m
                          for x, m in zip(c.x, c.means, strict=True)]  # fmt: skip
            between = [len(x) * (m - c.right_mean) ** 2 for x, m in zip(c.x, c.means, strict=True)]
            return (sum(around) + sum(between)) / c.n

        c.unbiased_on_ranks = unbiased_on_ranks
        c.moments = lambda mean, var: {"mean": Tensor(mean, "float64"), "var": Tensor(var, "float64")}
        return c

    def expected(self, case):
        c = self.worked(case)
        return [c.moments(c.right_mean, c.right_var)] * c.p

    def facts(self, case: Case, run: Run):
        if case.level != list(self.levels)[1]:
            return None
        p, c = case.world_size, self.worked(case)
        for rank in run.ranks:
            var = rank.value.get("var") if isinstance(rank.value, dict) else None
            if not isinstance(var, Tensor) or np.shape(var.values) != c.right_var.shape:
                return None
            error = np.abs(np.asarray(var.values) / c.right_var - 1).max()
            if 1e-8 < error < 1:
                return Finding("digits_cancel", f"The variance is right to {error:.0e}, relatively.")
        # in the sum of tables with a row for each rank, every row travels twice
        each = 2 if any("all_reduce" in calls for calls in called(run)) else 1
        return too_much(run, 1, each * p * (p - 1) * (2 * len(c.right_mean) + 1) * 8)


class SyncNormBackward(ReportExercise):
    """Back through the batch norm of all rows"""

    signature = (
        "sync_norm_backward(g: Tensor, xhat: Tensor, weight: Tensor, inv: Tensor, n: int)"
        " -> tuple[Tensor, Tensor, Tensor]"
    )
    levels = {"uneven and empty shards": 3, "one all_reduce": 1}
    parts = ("gx", ("weight", "bias"))
    harness = harness_of(__file__, "sync_norm_backward")
    mistakes = [
        Mistake("own_sums", "The sums are those of this rank's rows, divided by their number: batch norm of each rank "
                "alone.", "Both sums go over all rows: all_reduce them, and divide by n.",
                lambda c: c.gx(lambda r: c.sums[r], lambda r: max(len(c.g[r]), 1))),
        Mistake("own_sums_over_n", "The sums are those of this rank's rows, divided by the number of all rows.",
                "All_reduce both sums.", lambda c: c.gx(lambda r: c.sums[r], lambda r: c.n)),
        Mistake("own_n", "The sums of all rows were divided by the number of this rank's.", "Divide by n.",
                lambda c: c.gx(lambda r: c.total, lambda r: max(len(c.g[r]), 1))),
        Mistake("sums_averaged", "The sums of the ranks were averaged.", "ReduceOp.SUM, then divide by n.",
                lambda c: c.gx(lambda r: c.total / c.p, lambda r: c.n)),
        Mistake("mean_of_means", "The means of the ranks were averaged: a row on a rank with few of them counts more.",
                "Add up the sums of all ranks, then divide by n.",
                lambda c: c.gx(lambda r: sum(c.means) / c.p, lambda r: 1)),
        Mistake("empty_means_zero", "The means of the ranks were averaged, and a rank without rows counts as one whose "
                "means are 0.", "Add up the sums of all ranks, then divide by n.",
                lambda c: c.gx(lambda r: sum(map(np.nan_to_num, c.means)) / c.p, lambda r: 1)),
        Mistake("as_if_constant", "Mean and variance were treated as constants: but every row moves them.",
                "Subtract the mean of g, and xhat times the mean of g xhat.",
                lambda c: c.gx(lambda r: 0 * c.total, lambda r: c.n)),
        Mistake("no_variance_term", "The gradient through the variance is missing.", "- xhat * sum(g xhat) / n",
                lambda c: c.gx(lambda r: c.total * [[1], [0]], lambda r: c.n)),
        Mistake("no_mean_term", "The gradient through the mean is missing.", "- sum(g) / n",
                lambda c: c.gx(lambda r: c.total * [[0], [1]], lambda r: c.n)),
        Mistake("weight_forgotten", "The weight is missing.", "weight * inv * (...)",
                lambda c: c.gx(lambda r: c.total, lambda r: c.n, weight=1)),
        Mistake("inv_forgotten", "inv is missing.", "weight * inv * (...)",
                lambda c: c.gx(lambda r: c.total, lambda r: c.n, inv=1)),
        Mistake("sums_of_all", "The gradients of weight and bias are the sums over all ranks: added up or averaged "
                "once more, as those of all other parameters, they are p times too large.",
                "They come from this rank's rows alone.",
                lambda c: [c.of_parameters(*c.total[::-1])] * c.p),
        Mistake("exchanged", "The gradients of weight and bias are exchanged.", "That of the weight is sum(g xhat).",
                lambda c: [c.of_parameters(*s) for s in c.sums]),
        Mistake("weight_in_the_sums", "The gradients of weight and bias were multiplied by the weight.",
                "They are sums of g alone; the weight is a factor of the gradient of x.",
                lambda c: [c.of_parameters(*(c.weight * s[::-1])) for s in c.sums]),
        Mistake("divided_by_n", "The gradients of weight and bias were divided by n.", "They are sums.",
                lambda c: [c.of_parameters(*s[::-1] / c.n) for s in c.sums]),
        Mistake("divided_by_own_n", "The gradients of weight and bias were divided by the number of this rank's rows.",
                "They are sums.",
                lambda c: [c.of_parameters(*mean[::-1]) for mean in c.means]),
        TOO_MANY.but(how="Both sums in one tensor of 2 C numbers."),
        MOVES_TOO_MUCH.but(how="2 C numbers are enough."),
    ]  # fmt: skip

    def cases(self, rng):
        uneven, once = self.levels
        return [
            self._case(rng, uneven, (4, 2), 3),
            self._case(rng, uneven, (5, 3, 1, 0), 3),
            self._case(rng, uneven, (0, 6), 2, late=(1,)),
            self._case(rng, once, (20, 9, 12), 2),
            self._case(rng, uneven, (7,), 3),
            self._case(rng, uneven, (3, 4), 3, zero=True),
            self._case(rng, uneven, (4, 2), 1),
        ]

    @staticmethod
    def _case(rng, level, sizes, channels, zero=False, **options):
        """zero: the weight of a channel is 0."""

        def rows():
            return [full_precision(rng, -1, 1, (n, channels)) for n in sizes]

        known = {"g": rows(), "xhat": rows(), "n": sum(sizes)}
        known |= {"weight": full_precision(rng, 0.5, 2, (channels,)), "inv": full_precision(rng, 0.5, 2, (channels,))}
        known["weight"][0] *= not zero
        known |= {"gs": float64(known["g"]), "xs": float64(known["xhat"])}
        known |= dict(zip(("w", "i"), float64((known["weight"], known["inv"])), strict=True))
        return on_ranks(level, len(sizes), "gs[r] xs[r] w i n", known, f"{', '.join(map(str, sizes))} rows", **options)

    def worked(self, case):
        c = super().worked(case)
        c.sums = [np.stack([g.sum(0), (g * x).sum(0)]) for g, x in zip(c.g, c.xhat, strict=True)]
        c.total = sum(c.sums)
        c.means = [s / (len(g) or np.nan) for s, g in zip(c.sums, c.g, strict=True)]  # of no rows: nan, as in torch

        def gx(sums, n, weight=c.weight, inv=c.inv):
            return [
                {"gx": Tensor(weight * inv * (g - sums(r)[0] / n(r) - x * sums(r)[1] / n(r)), "float64")}
                for r, (g, x) in enumerate(zip(c.g, c.xhat, strict=True))
            ]

        c.gx = gx
        c.of_parameters = lambda weight, bias: dict(zip(("weight", "bias"), float64((weight, bias)), strict=True))
        return c

    def expected(self, case):
        c = self.worked(case)
        gx = c.gx(lambda r: c.total, lambda r: c.n)
        return [{**one, **c.of_parameters(*s[::-1])} for one, s in zip(gx, c.sums, strict=True)]

    def needs_bytes(self, case):
        return [8 if len(g) else 0 for g in case.known["g"]]

    def facts(self, case: Case, run: Run):
        p, channels = case.world_size, len(case.known["weight"])
        most = 2 * channels * 8
        return too_much(run, 1, 2 * p * (p - 1) * most, most) if case.level == list(self.levels)[1] else None


class GhostBatchNorm(Refusable):
    """Batch norm of small groups"""

    signature = "ghost_batch_norm(x: torch.Tensor, ghost: int, eps: float) -> torch.Tensor"
    given = ("x", "ghost", "eps")
    levels = {"each group by itself": 2, "illegal group sizes": 1}
    harness = harness_of(__file__, "ghost_batch_norm")
    mistakes = [
        NOT_REFUSED,
        REFUSED.but(how="Raise a ValueError only where ghost is less than 1 or does not divide the rows."),
        Mistake("whole_batch", "Mean and variance are those of all rows.", "Take those of each group of `ghost` rows.",
                lambda c: c.normed(len(c.rows))),
        Mistake("groups_counted", "There are `ghost` groups.", "Make groups of `ghost` rows.",
                lambda c: c.normed(len(c.rows) // c.ghost) if len(c.rows) % c.ghost == 0 else None),
        Mistake("dealt", "The rows were dealt to the groups like cards.", "Rows that follow each other are a group.",
                lambda c: c.dealt()),
        Mistake("across_channels", "Each row was normalised over its channels: that is layer norm.",
                "One mean for each channel, over the rows of a group.",
                lambda c: (c.rows - c.rows.mean(1, keepdims=True)) / np.sqrt(c.rows.var(1, keepdims=True) + c.eps)),
        Mistake("one_mean", "A group has one mean and one variance for all of its channels.",
                "One for each channel.", lambda c: c.normed(c.ghost, axis=(1, 2))),
        Mistake("unbiased", "The variance was divided by ghost - 1.", "Batch norm divides by the number of rows.",
                lambda c: c.normed(c.ghost, ddof=1) if c.ghost > 1 else None),
        Mistake("eps_outside", "eps was added to the root.", "Take the root of variance + eps.",
                lambda c: c.normed(c.ghost, outside=True)),
        Mistake("eps_forgotten", "eps is missing.", "The root of variance + eps.",
                lambda c: c.normed(c.ghost, eps=0.0) if c.ghost > 1 else None),
        Mistake("default_eps", "eps is 1e-5, whatever the argument says.",
                "Hand `eps` on: `F.batch_norm(..., eps=eps)`, or add it to the variance as it is.",
                lambda c: c.normed(c.ghost, eps=1e-5) if c.ghost > 1 else None),
        Mistake("digits_cancel", "Far from zero, the mean of the squares and the square of the mean agree in most of "
                "their digits: their difference has few correct digits.",
                "Take the mean of the squared distances from the group's mean, or `var`."),
        Mistake("only_centred", "The mean was subtracted, no more.", "Divide by the root of variance + eps.",
                lambda c: c.normed(c.ghost, divides=False)),
    ]  # fmt: skip

    def draw(self, rng):
        groups, none = self.levels
        for n, ghost, channels in ((12, 4, 3), (6, 2, 4), (10, 5, 3), (5, 1, 3), (8, 8, 2)):
            yield self._drawn(rng, groups, n, ghost, channels, far=2**16 * (ghost == 5))
        for n, ghost in ((10, 4), (3, 5), (6, 0), (6, -2)):
            yield self._drawn(rng, none, n, ghost, 2)
        yield self._drawn(rng, groups, 6, 2, 1)
        yield self._drawn(rng, groups, 1, 1, 3)
        yield self._drawn(rng, groups, 6, 3, 2, near=2.0**-10, eps=1e-12)

    @staticmethod
    def _drawn(rng, level, n, ghost, channels, far=0, near=1.0, eps=None):
        """far: how far from zero the rows lie; then they are such that float32 holds them. near: a factor of the
        rows."""
        sign = np.where(np.arange(n) % 2, 1, -1)[:, None] * rng.choice([-1, 1], channels)
        for _ in range(500):
            rows = sign * full_precision(rng, 0.5, 1, (n, channels)) + rng.uniform(0, 0.5, (n, channels))
            if ghost < 2 or n % ghost or _alike_in_float32(rows, ghost):
                break
        rows = np.round(rows * 64) / 64 + far if far else rows * near
        eps = float(rng.uniform(0.01, 0.03)) if eps is None else eps
        known = {"x": Tensor(rows, "float64"), "rows": rows, "ghost": ghost, "eps": eps}
        where = ", far from zero" * bool(far) + ", close to each other" * (near < 1)
        return level, known, {"says": f"{n} row{'s' * (n != 1)}{where}, ghost = {ghost}"}

    def right(self, x, rows, ghost, eps):
        if ghost < 1 or len(rows) % ghost:
            return ANYTHING
        return Tensor(_normed(rows, ghost, eps), "float64")

    def read(self, answer, x, rows, ghost, eps):
        found, right = getattr(answer, "values", None), self.right(x, rows, ghost, eps)
        if np.abs(rows).max() < 1e3 or right is ANYTHING or np.shape(found) != rows.shape:
            return None
        error = np.abs(np.asarray(found, float) - right.values).max()
        return Finding("digits_cancel", f"They are right to {error:.0e}.") if error < 1e-4 else None

    def worked(self, case):
        c = super().worked(case)
        c.possible = True  # where it is not, nobody asks
        c.normed = lambda group, eps=c.eps, **how: Tensor(_normed(c.rows, group, eps, **how), "float64")

        def dealt():
            groups = len(c.rows) // c.ghost
            order = np.argsort(np.arange(len(c.rows)) % groups, kind="stable")
            found = np.empty_like(c.rows)
            found[order] = _normed(c.rows[order], c.ghost, c.eps)
            return Tensor(found, "float64")

        c.dealt = dealt
        return c


def _alike_in_float32(rows: np.ndarray, group: int) -> bool:
    """True if what float32 loses of the rows is of one size in all results, so that it is seen for what it is."""
    right = _normed(rows, group, 0.02)
    errors = np.abs(_normed(rows.astype(np.float32).astype(float), group, 0.02) - right)
    return bool(5e-9 < errors.max() < 5 * np.median(errors) and (errors < 3e-7 * np.abs(right)).all())


def _normed(rows, group, eps, axis=1, ddof=0, outside=False, divides=True):
    grouped = rows.reshape(-1, group, rows.shape[1])
    centred = grouped - grouped.mean(axis, keepdims=True)
    var = grouped.var(axis, keepdims=True, ddof=ddof)
    root = np.sqrt(var) + eps if outside else np.sqrt(var + eps)
    return (centred / root if divides else centred).reshape(rows.shape)


# -- validation --------------------------------------------------------------------------------------------------------
STEP, SAMPLE = 2e-3, 1e-3  # virtual seconds of a training step, and of one sample that is validated


def right_ones(table: np.ndarray, done: int, start: int, stop: int) -> tuple[float, str, int]:
    """(virtual seconds that a rank of `train_and_validate` pays, the timeline's label, the number of samples that are
    right after so many steps). Raises ValueError for a number of samples below 0."""
    if start > stop:
        raise ValueError(f"samples {start} to {stop}")
    return SAMPLE * (stop - start), "V", int(table[done][start:stop].sum())


class TrainAndValidate(ReportExercise):
    """Validation that stops nobody"""

    signature = "train_and_validate(step: Callable, correct: Callable, steps: int, every: int, n: int) -> list[float]"
    levels = {"every sample once": 2, "equal work": 2}
    parts = ("accuracies", "steps")
    all_hear = True
    harness = harness_of(__file__, "train_and_validate")
    mistakes = [
        Mistake("own_share", "Each rank returns the accuracy of the samples that it has seen itself.",
                "Add up the counts of all ranks.",
                lambda c: c.each(lambda v, r: c.counts[v][r] / max(c.shares[r], 1))),
        Mistake("count_of_one", "Each rank returns its own count over all n samples.",
                "Add up the counts of all ranks.",
                lambda c: c.each(lambda v, r: c.counts[v][r] / c.n)),
        Mistake("mean_of_accuracies", "The accuracies of the ranks were averaged: their shares differ in size.",
                "Add up the counts, then divide by n.",
                lambda c: {"accuracies": c.over(lambda v: np.mean([x / s for x, s in c.seen(v) if s]))}),
        Mistake("rest_dropped", "The remainder of n / p was dropped: some samples were never validated.",
                "Shares may differ by one sample.",
                lambda c: {"accuracies": c.over(lambda v: c.of(v, c.n // c.p * c.p) / c.n)}),
        Mistake("rest_not_counted", "Some samples were neither validated nor counted.",
                "Shares may differ by one sample.",
                lambda c: {"accuracies": c.over(lambda v: c.of(v, c.n // c.p * c.p) / (c.n // c.p * c.p))}
                if c.n >= c.p else None),
        Mistake("p_times", "Every rank has counted all samples, and the counts were added up.",
                "Divide the samples among the ranks.",
                lambda c: {"accuracies": c.over(lambda v: c.p * c.of(v, c.n) / c.n)}),
        Mistake("counts", "These are counts.", "Divide by n.",
                lambda c: {"accuracies": c.over(lambda v: c.of(v, c.n))}),
        Mistake("before_the_step", "The validation came a step too early.", "After steps every - 1, 2 every - 1, and "
                "so on: when `every`, 2 `every` ... steps are done.", lambda c: c.when(lambda k: k % c.every == 0, 0)),
        Mistake("before_its_step", "The validation came before its step: it used the weights of one step less.",
                "step(k) first, then the validation.",
                lambda c: c.when(lambda k: (k + 1) % c.every == 0, 0)),
        Mistake("never_after_step_0", "The validation after step 0 is missing.",
                "With `every` = 1 one follows each step, the first as well.",
                lambda c: c.when(lambda k: k > 0 and (k + 1) % c.every == 0, 1) if c.every == 1 else None),
        Mistake("after_the_first", "The validation came after step 0, `every`, and so on.",
                "When `every`, 2 `every` ... steps are done.", lambda c: c.when(lambda k: k % c.every == 0, 1)),
        Mistake("validates_later", "All validations used the weights of the last step.",
                "Validate in the loop, when `every`, 2 `every` ... steps are done.",
                lambda c: {"accuracies": c.over(lambda v: c.of(c.steps, c.n) / c.n)}),
        Mistake("reduce_to_one", "Only one rank has the sum of the counts: `dist.reduce` does not give it to the "
                "others.",
                "Every rank returns the accuracies: `dist.all_reduce`."),
        Mistake("mismatched_dtype", "Two collectives met that do not belong together: a rank has left one out and is "
                "in its next step, or the ranks count in different types.",
                "Look at the lines above. Where they differ, the rank that is further has left out a collective: with "
                "no samples it still takes part, with a count of 0."),
        Mistake("one_more", "There is a validation too many, at the end.",
                "When `every`, 2 `every` ... steps are done.",
                lambda c: c.when(lambda k: (k + 1) % c.every == 0 or k == c.steps - 1, 1)),
        Mistake("steps_left_out", "Not all ranks have done all steps in order.",
                "step(0) to step(steps - 1), each once."),
        Mistake("rank_0_alone", "The numbers are right, but one rank validates while the others wait for it.",
                "Let each rank validate a share."),
        Mistake("everybody_everything", "The numbers are right, but samples were validated on more than one rank.",
                "Give each rank a share of its own."),
        Mistake("uneven_shares", "The numbers are right, but one rank validates more samples than necessary.",
                "A share has at most n / p samples, rounded up."),
        TOO_MANY.but(how="One all_reduce of the count for each validation; `all_gather_object` is two collectives, "
                     "one for the sizes."),
    ]  # fmt: skip

    def cases(self, rng):
        once, nobody = self.levels
        return [
            self._case(rng, once, 2, 4, 2, 8),
            self._case(rng, once, 3, 7, 3, 10),
            self._case(rng, once, 4, 5, 2, 3, late=(1,)),
            self._case(rng, once, 4, 4, 2, 5),
            self._case(rng, once, 1, 4, 2, 6),
            self._case(rng, nobody, 4, 6, 2, 12),
            self._case(rng, nobody, 3, 4, 2, 11),
            self._case(rng, once, 2, 1, 1, 4100),  # a count that float16 does not hold
            self._case(rng, once, 2, 2, 3, 5),  # no validation
            self._case(rng, nobody, 4, 4, 2, 10),
        ]

    @staticmethod
    def _case(rng, level, p, steps, every, n, **options):
        """Right or not, for each number of steps that are done: drawn until one mistake counts other than another."""
        parts, looked = TrainAndValidate.shares_of(p, n), sorted({1, every - 1, every, 2 * every})
        looked, last = [k for k in looked if k <= steps], min(every, steps)
        while True:
            table = (rng.random((steps + 1, n)) < 0.6).astype(np.int64)
            table[:, -1] = 1
            counts = [table[k].sum() for k in looked]
            means = [table[last][a:b].mean() for a, b in parts if b > a]
            uneven = abs(np.mean(means) - table[last].mean()) > 0.01 or n % p == 0 or n < p
            uneven = uneven and (n < 2048 or counts[-1] % 2)
            if len(set(counts)) == len(counts) - (n < p) and len(set(means)) > (p > 1) and n not in counts and uneven:
                known = {"table": table, "judge": name_of(table), "steps": steps, "every": every, "n": n}
                says = f"n = {n}, {steps} steps, every = {every}"
                form = (range(steps + 1), range(n + 1), range(n + 1))
                options["answers"] = {known["judge"]: Answer(partial(right_ones, table), form)}
                return on_ranks(level, p, "judge steps every n", known, says, **options)

    @staticmethod
    def shares_of(p: int, n: int) -> list[tuple[int, int]]:
        return [(r * n // p, (r + 1) * n // p) for r in range(p)]

    def worked(self, case):
        c = super().worked(case)
        ends = [(k + 1) for k in range(c.steps) if (k + 1) % c.every == 0]
        parts = self.shares_of(c.p, c.n)
        c.counts = {v: [int(c.table[v][a:b].sum()) for a, b in parts] for v in ends}
        c.shares = [b - a for a, b in parts]
        c.of = lambda v, n: int(c.table[v][:n].sum())
        c.over = lambda f: [f(v) for v in ends]
        c.seen = lambda v: zip(c.counts[v], c.shares, strict=True)
        c.each = lambda f: [{"accuracies": [f(v, r) for v in ends]} for r in range(c.p)]
        c.when = lambda due, done: {"accuracies": [c.of(k + done, c.n) / c.n for k in range(c.steps) if due(k)]}
        return c

    def expected(self, case):
        c = self.worked(case)
        return [{"accuracies": c.over(lambda v: c.of(v, c.n) / c.n), "steps": list(range(c.steps))}] * c.p

    def needs_bytes(self, case):
        return [1] * case.world_size

    def facts(self, case: Case, run: Run):
        c = self.worked(case)
        for rank in run.ranks:
            if not isinstance(rank.value, dict) or rank.value["steps"] != list(range(c.steps)):
                return "steps_left_out"
        if any(difference(w, r.value) is not None for w, r in zip(self.expected(case), run.ranks, strict=True)):
            return "reduce_to_one" if any("reduce" in rank.collectives for rank in run.ranks) else None
        if case.level != list(self.levels)[1]:
            return None
        times = len(c.counts)
        busy = [round((rank.busy - c.steps * STEP) / SAMPLE) for rank in run.ranks]
        said = f"The ranks validated {', '.join(map(str, busy))} samples; there are {times} times {c.n}."
        if sum(busy) > times * c.n:
            return Finding("everybody_everything", said)
        if max(busy) == times * c.n > times * -(-c.n // c.p):
            return Finding("rank_0_alone", said)
        if max(busy) > times * -(-c.n // c.p):
            return Finding("uneven_shares", said)
        most = max(map(len, called(run))) - c.steps
        return (
            Finding(TOO_MANY.name, f"There were {most} collectives beside those of the steps.")
            if most > times
            else None
        )

    def contradiction(self, case, run):
        c = self.worked(case)
        return run.uncharged(c.steps * STEP, c.p * c.steps * STEP + len(c.counts) * c.n * SAMPLE)
