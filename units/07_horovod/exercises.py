"""Unit 07, Horovod: the eight steps in TensorFlow, the same as Keras callbacks and in PyTorch.

The models are linear and the loss is the mean squared error, so that a whole training run with momentum is a few lines
of numpy (`train`). What a mistake leads to is the same run with one thing done differently.

If every rank has its own model, the first gradients depend on whether the broadcast comes before the first step or
after it. Both are right. In these cases the first minibatch is all zeros: its gradient is zero for every model, and
both orders end in the same weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run
from autograder.exercises.kinds import PlainExercise, ReportExercise, as_floats, fits, holds, on_ranks
from autograder.exercises.readings.contributions import returned
from autograder.exercises.readings.shares import SharesExercise
from autograder.exercises.source import harness_of

MOMENTUM = 0.9
NOT_ALL_RANKS = Mistake("mismatched_collective", "Some ranks wait in a collective that the others do not call.",
                        "Averaging and broadcasting are collectives: every rank calls them, rank 0 too, and in the "
                        "same order; `root_rank=0` says whose values count.")  # fmt: skip


class InitAndPin(PlainExercise):
    """Initialise and pin"""

    signature = "init_and_pin(tf, hvd) -> None"
    inputs = "free"
    levels = {"one machine": 1, "several machines, and one without a GPU": 1}
    given = ("places", "gpus", "order")
    # tf and hvd are stand-ins that know about machines and GPUs this computer does not have.
    harness = harness_of(__file__, "init_and_pin")
    mistakes = [
        Mistake("needs_a_gpu", "On a machine without a GPU the list of GPUs is empty, and an index into it fails.",
                "Pin only `if gpus:`; then the same script runs anywhere.",
                lambda t: t.found(lambda rank, local_rank, machine: [local_rank])),
        Mistake("init_needs_a_gpu", "Horovod was not initialised before it was used, or only where there is a GPU.",
                "`hvd.init()` comes first, on every machine; only the pinning needs a GPU.",
                lambda t: t.not_initialised if t.gpus else t.found(initialised=False)),
        Mistake("not_pinned", "No GPU was chosen: every rank sees all GPUs of its machine, and TensorFlow takes the "
                "first one, with all its memory.",
                "`tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')`.",
                lambda t: t.found(lambda *_: list(range(t.gpus)))),
        Mistake("no_growth", "The memory of the GPU does not grow as needed, or only where there are several GPUs: "
                "TensorFlow takes all of it at the start.",
                "`tf.config.experimental.set_memory_growth(gpu, True)`, for the rank's GPU or for all of them.",
                lambda t: t.found(grows=lambda seen: not seen)),
        Mistake("no_processor",
                "The rank sees its GPU and nothing else: without a type of devices TensorFlow hides the processor, "
                "too, and cannot start.",
                "`tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')`.",
                lambda t: t.found(processor=False) if t.gpus else None),
        Mistake("growth_of_the_first", "The memory grows on the first GPU only, whichever GPU the rank got.",
                "Set it for the rank's own GPU, or for all of them.",
                lambda t: t.found(grows=lambda seen: seen in ([], [0]))),
        Mistake("first_gpu", "All ranks of a machine got its first GPU, and the others stay idle.",
                "Each rank takes its own: `gpus[hvd.local_rank()]`.", lambda t: t.found(lambda *_: [0])),
        Mistake("by_rank", "The GPU was chosen by the rank. With several machines, no GPU has a number as large as "
                "some of the ranks.",
                "The GPUs are numbered from 0 on every machine: `gpus[hvd.local_rank()]`.",
                lambda t: t.found(lambda rank, local_rank, machine: [rank])),
        Mistake("rank_modulo", "The GPU was chosen by the rank modulo the number of GPUs. Two ranks of one machine can "
                "get the same GPU, as here, where ranks are dealt out to the machines in turn.",
                "`hvd.local_rank()` counts the ranks of this machine, however they were dealt out.",
                lambda t: t.found(lambda rank, local_rank, machine: [rank % t.gpus]) if t.gpus else None),
        Mistake("by_machine", "The GPU was chosen by the number of the machine: all ranks of a machine share one GPU.",
                "`hvd.local_rank()` is the rank's number within its machine, `hvd.cross_rank()` the machine's.",
                lambda t: t.found(lambda rank, local_rank, machine: [machine])),
        Mistake("not_the_local_rank", "A rank sees one GPU, but not the one whose number is its local rank.",
                "`gpus[hvd.local_rank()]`; a rank cannot work out by itself which ranks share its machine."),
    ]  # fmt: skip

    def draw(self, rng):
        one, several = self.levels
        gpus = int(rng.integers(4, 9))
        in_turn = [(rank // 2, rank % 2) for rank in range(2 * gpus - 2)]
        dealt = f"{2 * gpus - 2} ranks dealt out in turn to 2 machines, {gpus} GPUs in each"
        for level, places, n, says in (
            (one, [(rank, 0) for rank in range(3)], 12, "3 ranks, one machine, 12 GPUs"),  # as text, 10 is before 2
            (one, [(0, 0)], 1, "1 rank, one machine, 1 GPU"),
            (several, in_turn, gpus, dealt),
            (several, [(0, 0), (1, 0)], 0, "2 ranks, one machine, 0 GPUs"),
            (one, [(0, 0)], 4, "1 rank, one machine, 4 GPUs"),
        ):
            yield level, {"places": places, "gpus": n, "order": self._order(rng, places)}, {"says": says}

    @staticmethod
    def _order(rng, places) -> list[int]:
        """An order of the ranks in which no machine's local ranks come one after the other from 0 on."""
        machines = {machine for _, machine in places}
        while True:
            order = rng.permutation(len(places)).tolist()
            local = [[places[rank][0] for rank in order if places[rank][1] == machine] for machine in machines]
            if all(len(one) < 2 or one != sorted(one) for one in local):
                return order

    @staticmethod
    def _found(places, gpus, sees=None, grows=lambda seen: True, initialised=True, processor=True) -> list[dict]:
        """The harness's report if each rank sees these GPUs. A number that no GPU has is an IndexError."""
        sees, found = sees or (lambda rank, local_rank, machine: [local_rank] if gpus else []), []
        for rank, (local_rank, machine) in enumerate(places):
            seen = sees(rank, local_rank, machine)
            if any(number >= gpus for number in seen):
                found.append({"rank": rank, "raised": "IndexError"})
            else:
                pinned = {"GPUs it sees": seen, "their memory grows": grows(seen), "sees its processor": processor}
                found.append({"rank": rank, "initialised": initialised, **pinned})
        return found

    def right(self, places, gpus, order):
        return self._found(places, gpus)

    def worked(self, case):
        t = super().worked(case)
        t.found = lambda *changed, **change: self._found(t.places, t.gpus, *changed, **change)
        t.not_initialised = [{"rank": rank, "raised": "ValueError"} for rank in range(len(t.places))]
        return t

    def read(self, answer, places, gpus, order):
        """The mistake in a report; of two at once the one to mend first."""
        if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
            return None
        found = [one for one in answer if "raised" not in one]
        if (
            not found
            or gpus == 0
            or not all(holds(one, "GPUs it sees") and "their memory grows" in one for one in found)
        ):
            return None
        if gpus > 1 and all(len(one["GPUs it sees"]) == gpus for one in found):
            return "not_pinned"
        if not any(one["their memory grows"] for one in found):
            return "no_growth"
        named = (lambda *_: [0], lambda rank, *_: [rank], lambda rank, *_: [rank % gpus], lambda *place: [place[2]])
        has_a_name = any(answer == self._found(places, gpus, sees) for sees in named)
        alone = all(len(one["GPUs it sees"]) == 1 for one in found)
        return "not_the_local_rank" if alone and not has_a_name else None


# -- shares and steps --------------------------------------------------------------------------------------------------


class ShardDataset(SharesExercise):
    """Shards and steps"""

    signature = "shard_dataset(dataset: tf.data.Dataset, n: int, local_batch_size: int) -> tuple[tf.data.Dataset, int]"
    levels = {"equal shares": 1, "unequal shares": 1}
    may_lose = {
        "int64": "labels and numbers of samples are small",
        "integers of both widths": "labels only mark which sample is which",
    }
    harness = harness_of(__file__, "shard_dataset")
    mistakes = [
        *SharesExercise.steps_mistakes,
        Mistake("length_unknown", "The number of steps came from the dataset's own length. TensorFlow does not know it "
                "behind `filter` or `from_generator`, and says -2.",
                "n is the number of samples: n // (local_batch_size * hvd.size())."),
        Mistake("rounded_up", "There is one step too many: not every rank can fill it.",
                "Only steps that all ranks can fill count: round down."),
        Mistake("overlap", "Some samples are seen twice.",
                "Shards must not overlap, and an epoch does not repeat: every sample belongs to one rank."),
        Mistake("wrong_batch_size", "The minibatches do not hold local_batch_size samples.",
                "local_batch_size is one rank's part of a step: `batch(local_batch_size, drop_remainder=True)`."),
        Mistake("not_cut", "The dataset does not hold as many minibatches as `steps` says: a loop over it does not end "
                "when the loops of the other ranks end.",
                "Cut it with `.take(steps)`, after `shard` and `batch`."),
        Mistake("only_once", "The dataset is used up after one epoch: the second loop over it gets another number of "
                "minibatches than the first.",
                "Return what `shard`, `batch` and `take` give: every loop over such a dataset begins anew."),
        Mistake("InvalidArgumentError", "TensorFlow refuses the arguments of `shard`: the index must lie between 0 and "
                "the number of shards minus 1.",
                "`shard(num_shards=hvd.size(), index=hvd.rank())`."),
    ]  # fmt: skip

    def cases(self, rng):
        divides, rest = self.levels
        says = "2 on each machine; "
        return [
            self.case(rng, divides, 4, ((32, 4), (12, 3)), says),
            self.case(rng, rest, 3, ((23, 4), (7, 1), (2, 1)), says),
        ]

    def right_steps(self, n, batch, p):
        return n // (batch * p)

    @staticmethod
    def _steps(reports, n, batch, right):
        if float(reports[0]["steps"]) < 0:
            yield "length_unknown", f"{reports[0]['steps']} steps instead of {right}."
        yield from SharesExercise._steps(reports, n, batch, right)

    def expected(self, case):
        steps = [(self.right_steps(n, batch, case.world_size), batch) for n, batch in case.known["sizes"]]
        alone = {"shares samples with": [], "samples it repeats": 0}
        reports = [{"steps": k, "minibatches": [batch] * k, "in the next epoch": k, **alone} for k, batch in steps]
        return [reports] * case.world_size

    def broken(self, reports, n, batch, right):
        yield from self.sharing(reports)
        for rank, report in enumerate(reports):
            sizes = report["minibatches"]
            if report["samples it repeats"]:
                yield "overlap", f"rank {rank} sees {report['samples it repeats']} samples again."
            if any(size != batch for size in sizes[:right]):
                yield "wrong_batch_size", f"rank {rank}'s minibatches hold {', '.join(map(str, sizes))} samples."
            if len(sizes) != right:
                yield "not_cut", f"rank {rank} has {len(sizes)} minibatches for {right} steps."
            if report["in the next epoch"] != len(sizes):
                said = f"{len(sizes)} minibatches in the first epoch and {report['in the next epoch']} in the next."
                yield "only_once", f"rank {rank} has {said}"


class LearningRate(PlainExercise):
    """Learning rate and warm-up"""

    signature = "learning_rate(step: int, base_rate: float, world_size: int, warmup_steps: int) -> float"
    levels = {"the warm-up": 1, "after the warm-up, or without one": 1}
    given = ("steps", "base_rate", "world_size", "warmup_steps")
    harness = harness_of(__file__, "learning_rate")
    # What base_rate is multiplied by, from the part of the warm-up that is over (at least 1 without a warm-up).
    mistakes = [
        Mistake("unscaled", "The learning rate does not depend on the number of ranks.",
                "After the warm-up it is base_rate * world_size.", lambda t: lambda part: 1),
        Mistake("no_warmup", "The full rate was used from the first step on.",
                "It rises from base_rate to base_rate * world_size.", lambda t: lambda part: t.p),
        Mistake("starts_at_zero", "The warm-up starts at zero, so the first step does nothing.",
                "It starts at base_rate, the rate of one process.", lambda t: t.climb(0, t.p)),
        Mistake("unscaled_warmup", "The rate rises from base_rate / world_size to base_rate.",
                "It rises from base_rate to base_rate * world_size.", lambda t: t.climb(1 / t.p, 1)),
        Mistake("one_step_early", "The warm-up is one step ahead.",
                "At step 0 the rate is base_rate.",
                lambda t: lambda part: t.climb(1, t.p)(part + 1 / max(t.warmup_steps, 1))),
        Mistake("jumps", "The rate stays at base_rate during the warm-up and then jumps.",
                "It rises a little in every step.", lambda t: lambda part: t.p if part >= 1 else 1),
        Mistake("falls_back", "After the warm-up the rate is base_rate again.",
                "It stays at base_rate * world_size once it is there.",
                lambda t: lambda part: t.climb(1, t.p)(part) if part < 1 else 1),
        Mistake("never_stops", "The rate still rises after the warm-up.",
                "From step warmup_steps on it is base_rate * world_size.",
                lambda t: lambda part: 1 + (t.p - 1) * (part if t.warmup_steps else 1)),
        Mistake("geometric", "The rate is multiplied by the same factor in every step of the warm-up: it rises "
                "exponentially, slowly at first and steeply at the end.",
                "It rises linearly, by the same amount in every step: (base_rate * world_size - base_rate) / "
                "warmup_steps.", lambda t: lambda part: t.p ** min(1, part)),
        Mistake("cosine", "The rate rises along a cosine: slowly at first and at the end, steeply in between.",
                "It rises linearly, by the same amount in every step: (base_rate * world_size - base_rate) / "
                "warmup_steps.",
                lambda t: lambda part: t.climb(1, t.p)((1 - np.cos(np.pi * min(1, part))) / 2)),
        Mistake("square_root", "The rate grows with the square root of the number of ranks.",
                "Here it is scaled linearly: base_rate * world_size.", lambda t: t.climb(1, t.p**0.5)),
        Mistake("overshoots",
                "The rate rises by base_rate * world_size, one base_rate too much, and falls when the warm-up is over.",
                "It rises by the difference, base_rate * world_size - base_rate.",
                lambda t: lambda part: t.p if part >= 1 else 1 + t.p * part),
        Mistake("warmup_of_one_step", "Without a warm-up (warmup_steps = 0) the rate of step 0 is base_rate, as if "
                "there were a warm-up of one step.",
                "Ask first whether the warm-up is over: step >= warmup_steps.",
                lambda t: None if t.warmup_steps else lambda part: t.climb(1, t.p)(part - 1)),
        Mistake("ends_early", "The last step of the warm-up has the full rate. Step warmup_steps is the first one with "
                "it.",
                "step / warmup_steps is the part of the warm-up that is over, not step / (warmup_steps - 1).",
                lambda t: lambda part: t.climb(1, t.p)(part * t.warmup_steps / max(t.warmup_steps - 1, 1))),
        Mistake("flat_at_first", "The rate rises from 0 to the full rate, and is base_rate where that is less: it "
                "stays there at first.",
                "It rises from the first step on: base_rate + (base_rate * world_size - base_rate) * step / "
                "warmup_steps.",
                lambda t: lambda part: max(1, t.p * min(1, part))),
        Mistake("starts_elsewhere", "The warm-up does not start at base_rate.",
                "At step 0 it is base_rate, at step warmup_steps base_rate * world_size."),
        Mistake("ZeroDivisionError", "Without a warm-up (warmup_steps = 0) you divide by zero.",
                "Ask first whether the warm-up is over: step >= warmup_steps."),
    ]  # fmt: skip

    def draw(self, rng):
        during, after = self.levels
        for level, steps, p, warmup in (
            (during, [0, 1, 3, 7, 10], 4, 10),
            (during, [0, 2, 5, 6], 3, 6),
            (during, [0, 1], 4, 1),  # a warm-up of a single step
            (after, [10, 11, 50], 4, 10),
            (after, [0, 1, 9], 5, 0),
            (after, [0, 3, 6, 8], 1, 6),
            (during, [2500, 4999], 8, 5000),  # more steps than Python's functions call each other
        ):
            rate = float(rng.integers(11, 100)) / (1000 if p != 3 else 7e6)  # a small one with many digits, too
            says = f"base_rate {rate}, world_size {p}, warmup_steps {warmup}, steps {', '.join(map(str, steps))}"
            known = {"steps": steps, "base_rate": rate, "world_size": p, "warmup_steps": warmup}
            yield level, known, {"says": says, "atol": 1e-12}

    def draw_further(self, rng):
        during, after = self.levels
        for level in (during, after):
            p, warmup = int(rng.integers(2, 40)), int(rng.integers(8, 50))
            steps = np.sort(rng.integers(1, warmup, 4)) if level == during else warmup + np.sort(rng.integers(0, 90, 3))
            known = {"steps": steps.tolist(), "base_rate": float(rng.uniform(1e-3, 0.1)), "world_size": p}
            yield level, known | {"warmup_steps": warmup}, {"atol": 1e-12}

    @staticmethod
    def _climb(first, last):
        return lambda part: first + (last - first) * min(1, part)

    @staticmethod
    def _rates(factor, steps, base_rate, world_size, warmup_steps) -> list[float]:
        return [base_rate * factor(step / warmup_steps if warmup_steps else 1 + step) for step in steps]

    def right(self, world_size, **case):
        return self._climb(1, world_size)

    def worked(self, case):
        t = super().worked(case)
        t.climb = self._climb
        return t

    def per_rank(self, case, value):
        return [self._rates(value, **case.known)]

    def read(self, rates, steps, base_rate, world_size, warmup_steps):
        first = next(iter(as_floats(rates)), base_rate)
        elsewhere = steps[0] == 0 and warmup_steps and not np.isclose(first, base_rate)
        start = f"At step 0 it is {first:.4g}, base_rate is {base_rate:.4g}."
        return Finding("starts_elsewhere", start) if elsewhere else None


# -- training ----------------------------------------------------------------------------------------------------------


def from_rank_0(*names: str, when=lambda step: step == 0):
    """A broadcast of these arrays (none named: of all) after every step for which `when` says so; -1 is before the
    first one."""

    def broadcast(held, step):
        for name in (names or held) if when(step) else ():
            held[name][:] = held[name][0]

    return broadcast


def from_the_last(held, step) -> None:
    if step == 0:
        for array in held.values():
            array[:] = array[-1]


def model_before_optimizer(held, step) -> None:
    for name in {-1: ("weights", "offsets"), 0: ("momentum",)}.get(step, ()):
        held[name][:] = held[name][0]


def average_models(held, step) -> None:
    for name in ("weights", "offsets"):
        held[name][:] = held[name].mean(0)


def before(step) -> bool:
    return step == -1


def train(known, combine=lambda own: own[-1].mean(0), broadcast=None, rates=None) -> dict[str, np.ndarray]:
    """Train x W + c by SGD with momentum, each step on one minibatch per rank: weights, offsets, momentum and losses.

    known: x (ranks, steps, n, d), y (ranks, steps, n, k), weights W (ranks, d, k), offsets c (ranks, k; frozen),
        momentum m (ranks, d, k), rate, and sometimes `factor`, that of the momentum instead of 0.9. The loss is the
        mean of (x W + c - y)**2; its gradient is 2 / (n k) x^T (x W + c - y). The update is Keras's: m <- 0.9 m - rate
        g; W <- W + m (PyTorch keeps -m / rate).

    combine: what is applied, from the ranks' own gradients (ranks, d, k) of all steps so far. broadcast(held, step):
        changes the arrays in place after a step; None: `from_rank_0()`. rates: one learning rate per step. Losses are
        of shape (ranks, steps).
    """
    broadcast = broadcast or from_rank_0()
    held = {name: known[name].copy() for name in ("weights", "offsets", "momentum")}
    losses, own = [], []
    broadcast(held, -1)
    for step in range(known["x"].shape[1]):
        x, y = known["x"][:, step], known["y"][:, step]
        error = np.einsum("rnd,rdk->rnk", x, held["weights"]) + held["offsets"][:, None] - y
        losses.append((error**2).mean((1, 2)))
        own.append(2 * np.einsum("rnd,rnk->rdk", x, error) / error[0].size)
        rate = known["rate"] if rates is None else rates[step]
        held["momentum"] = known.get("factor", MOMENTUM) * held["momentum"] - rate * combine(own)
        held["weights"] = held["weights"] + held["momentum"]
        broadcast(held, step)
    return held | {"losses": np.array(losses).T}


# What goes wrong, in the order in which it is to be mended: the gradients first, then where they start.
NO_AVERAGE = Mistake("no_average",
                     "Every rank applied its own gradients: these are independent runs, each on a part of the data.",
                     "Average the gradients over the ranks before you apply them.",
                     lambda t: t.train(lambda own: own[-1]))  # fmt: skip
P_TIMES_TOO_LONG = Mistake("p_times_too_long", "Every step is p times too long: the gradients were summed, or the "
                           "learning rate was multiplied by the number of ranks again.",
                           "Average the gradients (the default, `op=hvd.Average`) and leave the optimizer's learning "
                           "rate as it is.", lambda t: t.train(lambda own: own[-1].sum(0)))  # fmt: skip
DIVIDED_AGAIN = Mistake("divided_again", "Every step is p times too short: something that is already an average "
                        "was divided by the number of ranks.",
                        "Horovod's average divides by the number of ranks; the loss is a mean over the minibatch. "
                        "Divide nothing else.",
                        lambda t: t.train(lambda own: own[-1].mean(0) / t.p))  # fmt: skip
NO_BROADCAST = Mistake("no_broadcast", "The ranks started with different models and still hold different ones: "
                       "averaged gradients move them all in the same way, but never closer together.",
                       "Broadcast rank 0's variables to all ranks.",
                       lambda t: t.train(broadcast=lambda held, step: None))  # fmt: skip
OPTIMIZER_NOT_BROADCAST = Mistake("optimizer_not_broadcast", "The model was broadcast, the optimizer was not: rank 0 "
                                  "continues with the momentum of its checkpoint, the others with none, and the models "
                                  "drift apart.",
                                  "Broadcast the optimizer's state too.",
                                  lambda t: t.train(broadcast=from_rank_0("weights", "offsets")))  # fmt: skip
MEAN_START = Mistake("mean_start", "The models of the ranks were averaged: all ranks hold the same model, but not the "
                     "one that starts from rank 0's variables.",
                     "Broadcast rank 0's variables; average gradients only.",
                     lambda t: t.train(broadcast=average_models))  # fmt: skip


def training_data(
    rng, p: int, steps: int, n: int, *, own_start=False, resumed=False, first_is_zero=False, inputs=3, outputs=2
) -> dict:
    """Minibatches and starts for `train`, in float32. own_start: another model on every rank. resumed: rank 0 has
    momentum."""

    def draw(*shape):
        return rng.normal(size=shape).astype(np.float32)

    x, y = draw(p, steps, n, inputs), draw(p, steps, n, outputs) + np.float32(1)
    if first_is_zero:
        x[:, 0] = 0
    weights, offsets = draw(p, inputs, outputs), draw(p, outputs)
    if not own_start:
        weights[:], offsets[:] = weights[0], offsets[0]
    momentum = np.zeros_like(weights)
    if resumed:
        momentum[0] = draw(inputs, outputs)
    return {"x": x, "y": y, "weights": weights, "offsets": offsets, "momentum": momentum, "rate": 0.05}


def training_case(level: str, p: int, names: str, known: dict, says: str, **options) -> Case:
    """A case whose ranks get float32 arrays; what is known of it are these numbers in float64."""
    exact = {
        name: value.astype(np.float64) if isinstance(value, np.ndarray) else value for name, value in known.items()
    }
    return replace(on_ranks(level, p, names, known, says, rtol=1e-4, atol=1e-5, **options), known=exact)


STEP = "x[r] y[r] weights[r] offsets[r] built[r] rate first"  # the arguments of its harness


class TrainStep(ReportExercise):
    """One training step"""

    signature = "horovod_step(model, optimizer, loss_function, x, y, first_batch: bool) -> tf.Tensor"
    runtime = "horovod"
    inputs = "free"
    levels = {
        "equal weights at the start": 1,
        "every rank starts with its own model": 2,
        "rank 0 goes on from a checkpoint": 1,
    }
    parts = (("weights", "frozen"), "broadcasts later", "losses", "steps that the optimizer counts")
    harness = harness_of(__file__, "horovod_step")
    mistakes = [
        *(NO_AVERAGE, P_TIMES_TOO_LONG, DIVIDED_AGAIN),
        Mistake("averaged_once", "Only the gradients of the first minibatch were averaged; from then on every rank "
                "applied its own.",
                "Wrap the tape in every step; only the broadcast belongs under `if first_batch:`.",
                lambda t: t.train(lambda own: own[-1] if own[1:] else own[-1].mean(0))),
        Mistake("another_root", "The ranks go on with the last rank's variables.",
                "`root_rank=0`: rank 0's variables count, for it has read the checkpoint.",
                lambda t: t.train(broadcast=from_the_last)),
        Mistake("optimizer_later", "The model was broadcast before the first step and the optimizer after it: in that "
                "step rank 0 still went on with the momentum of its checkpoint, the others without, and the models "
                "differ.",
                "Broadcast both in one place, before the step or after it.",
                lambda t: t.train(broadcast=model_before_optimizer)),
        Mistake("ValueError", "The optimizer got no gradients. The loss is a function of the prediction, which is the "
                "second argument of `loss_function`.",
                "`loss_function(y, model(x, training=True))`, inside `with tf.GradientTape() as tape:`."),
        Mistake("broadcast_again", "The weights are right, but the variables are broadcast on later batches too: every "
                "step sends a whole model over the network.",
                "Averaged gradients keep equal models equal: broadcast `if first_batch:` only.",
                lambda t: {"broadcasts later": True}),
        Mistake("no_first_loss", "The first step returned no loss.", "Return it in every step, the first one, too.",
                lambda t: [{"losses": [None, *one["losses"][1:]]} for one in t.train()] if t.first == 0 else None),
        *(NO_BROADCAST, OPTIMIZER_NOT_BROADCAST),
        Mistake("broadcast_late", "The broadcast came too late: a step was taken with gradients of different models, "
                "and after every later step the state of the other ranks is thrown away.",
                "Broadcast on the first batch, and only then.",
                lambda t: t.train(broadcast=from_rank_0(when=lambda step: step > 0))),
        MEAN_START,
        Mistake("scalars_not_broadcast", "The weights are right, but the ranks' optimizers count different numbers of "
                "steps: rank 0's goes on from its checkpoint, the others' begin at 0. A schedule, or Adam, would take "
                "different steps.",
                "Broadcast `optimizer.variables`, all of them: the count of the steps and the learning rate, too.",
                lambda t: [{"steps that the optimizer counts": t.x.shape[1] + 1000 * (r == 0)} for r in range(t.p)]
                if t.momentum.any() else None),
        Mistake("frozen_not_broadcast", "Only the trainable variables were broadcast: the model's other variables "
                "differ from rank to rank.",
                "Broadcast `model.variables`, not `model.trainable_variables`: think of the running averages of a "
                "batch normalisation.", lambda t: t.train(broadcast=from_rank_0("weights", "momentum"))),
        Mistake("evaluation_mode", "The model was called in evaluation mode: dropout and batch normalisation, for "
                "example, work differently there.",
                "`model(x, training=True)`.", lambda t: t.train(known={"x": t.x / 2})),
        Mistake("mean_loss", "Each rank returned the mean of all ranks' losses.",
                "Return the loss of this rank's minibatch as it is; only gradients are averaged.",
                lambda t: {"losses": t.mean_losses()}),
        NOT_ALL_RANKS,
    ]  # fmt: skip

    def cases(self, rng):
        equal, own, resumed = self.levels
        cases = []
        for level, p, how in (
            (equal, 2, {}),
            (own, 3, {"own_start": True, "first_is_zero": True}),
            (resumed, 2, {"own_start": True, "first_is_zero": True, "resumed": True}),
        ):
            known = training_data(rng, p, 4, 4, **how)
            # Built on all ranks or on none: Keras gives variables made by `build` other names than those made by the
            # first step, and Horovod matches by name.
            known["built"] = list(known["momentum"]) if level == resumed else [None] * p
            # The step from which on the losses are alike, whether the broadcast is before the first step or behind it.
            known["first"] = int(bool(how))
            says = "4 steps of 4 samples" + (", the first one all zeros" if how else "")
            cases.append(training_case(level, p, STEP, known, says))
        return cases

    def worked(self, case):
        t = super().worked(case)

        def trained(*combine, known=None, **how):
            held = train(case.known | (known or {}), *combine, **how)
            rows = zip(held["weights"], held["offsets"], held["losses"], strict=True)
            names = (*self.parts[0], "losses", "broadcasts later", "steps that the optimizer counts")
            counted = t.x.shape[1] + 1000 * bool(t.momentum.any())
            columns = ((w.ravel(), c, list(own[t.first :]), False, counted) for w, c, own in rows)
            return [dict(zip(names, column, strict=True)) for column in columns]

        t.train = trained
        t.mean_losses = lambda: list(train(case.known)["losses"].mean(0)[t.first :])
        return t

    def expected(self, case):
        return self.worked(case).train()


def weighted(values, counts, rank) -> float:
    """The mean over the samples of all ranks."""
    return (values * counts).sum() / counts.sum()


class FinishEpoch(Exercise):
    """The end of an epoch"""

    signature = "finish_epoch(save, loss: float, accuracy: float, count: int) -> dict"
    runtime = "horovod"
    levels = {"the metrics of all samples": 1, "one checkpoint": 1}
    harness = harness_of(__file__, "finish_epoch")
    # What becomes of the values and counts of all ranks on one of them, or who saves.
    mistakes = [
        Mistake("divided_by_own_count", "The sum over all ranks was divided by this rank's count.",
                "Sum the counts over the ranks as well.",
                lambda t: t.metrics(lambda v, n, rank: (v * n).sum() / max(n[rank], 1))),
        Mistake("average_over_own_count", "The mean over the ranks of loss * count was divided by this rank's count.",
                "Use one op for both, loss * count and count, and divide one by the other.",
                lambda t: t.metrics(lambda v, n, rank: (v * n).mean() / max(n[rank], 1))),
        Mistake("own_only", "Every rank returned the metrics of its own samples.",
                "`hvd.allreduce` brings the ranks' numbers together.", lambda t: t.metrics(lambda v, n, rank: v[rank])),
        Mistake("mean_of_means", "This is the mean of the ranks' means: a sample on a rank with few samples counts "
                "more than one on a rank with many.",
                "Weight by counts: sum loss * count over the ranks and divide by the sum of the counts.",
                lambda t: t.metrics(lambda v, n, rank: v.mean())),
        Mistake("sum_of_means", "The ranks' means were added up.",
                "Sum loss * count over the ranks and divide by the sum of the counts.",
                lambda t: t.metrics(lambda v, n, rank: v.sum())),
        Mistake("divided_again", "The mean over all samples was divided by the number of ranks as well: hvd.Average "
                "of loss * count was divided by hvd.Sum of the counts.",
                "Use the same op for both, hvd.Sum or hvd.Average.",
                lambda t: t.metrics(lambda v, n, rank: (v * n).mean() / n.sum())),
        Mistake("every_rank_saves",
                "Every rank wrote the checkpoint: all of them write to the same file at the same time.",
                "`if hvd.rank() == 0:`", lambda t: t.saved(lambda rank: True)),
        Mistake("all_but_the_root", "Every rank but rank 0 wrote the checkpoint: the condition is the wrong way round.",
                "`if hvd.rank() == 0:`", lambda t: t.saved(lambda rank: rank != 0)),
        Mistake("once_per_machine", "One rank on every machine wrote the checkpoint: the local rank was tested.",
                "Test `hvd.rank() == 0`: true on one rank only.", lambda t: t.saved(lambda rank: rank % 2 == 0)),
        Mistake("not_without_samples", "Rank 0 wrote no checkpoint after an epoch in which it had no samples.",
                "The checkpoint holds the model, which all ranks have trained: test `hvd.rank() == 0` alone.",
                lambda t: t.saved(lambda rank: rank == 0, lambda epoch: epoch[0][2] > 0)),
        Mistake("never_saved", "No rank wrote a checkpoint.", "Rank 0 calls `save()` once.",
                lambda t: t.saved(lambda rank: 0)),
        Mistake("saves_twice", "Rank 0 wrote the checkpoint twice in each epoch.",
                "Call `save()` once, before or after the all-reduce.", lambda t: t.saved(lambda rank: 2 * (rank == 0))),
        Mistake("empty_rank_counted", "A rank without samples was counted as if it had one, of loss and accuracy 0.",
                "Its count is 0, and the sums bear that: only the sum of the counts is divided by, and it is not 0.",
                lambda t: t.metrics(lambda v, n, rank: (v * n).sum() / np.maximum(n, 1).sum())),
        Mistake("accuracy_not_weighted",
                "The loss is the mean over all samples; the accuracy is the mean of the ranks' means.",
                "Weight both by counts.", lambda t: t.metrics(weighted, lambda v, n, rank: v.mean())),
        Mistake("hits_cut_off", "A right sample is missing: accuracy * count was cut down to a whole number, and in "
                "floating point it may be a little less than the number of right samples.",
                "Leave it a float: `accuracy * count`.",
                lambda t: t.metrics(weighted, lambda v, n, rank: (v * n).astype(int).sum() / n.sum())),
        Mistake("root_alone", "Rank 0 returned the metrics of all samples, and every other rank those of its own.",
                "After an all-reduce every rank has the sums: all of them divide and return.",
                lambda t: t.metrics(lambda v, n, rank: v[rank] if rank else weighted(v, n, rank))),
        NOT_ALL_RANKS.but(name="missing_rank",
                          how="Every rank takes part in an allreduce; only rank 0 calls `save()`."),
        Mistake("AttributeError", "An object does not have the attribute that was used. If it is `dtype`: Horovod's "
                "collectives take tensors, not plain numbers.",
                "`hvd.allreduce(tf.constant(loss), ...)`."),
    ]  # fmt: skip

    def cases(self, rng):
        metrics, checkpoint = self.levels

        def right(n):
            """A number of right samples; of 49 one for which (right / 49) * 49 is less in floating point."""
            return rng.choice([16, 27, 32]) if n == 49 else rng.integers(1, n)

        def epoch(counts):
            while True:
                found = [(float(rng.uniform(0.5, 2)), float(right(n) / n), n) if n else (0.0, 0.0, 0) for n in counts]
                hits = np.array([accuracy for _, accuracy, _ in found])
                if len({*counts}) == 1 or abs(weighted(hits, np.array(counts), 0) - hits.mean()) > 0.01:
                    return found

        cases = []
        for level, asked, counts in (
            (metrics, "metrics", ((7, 49, 3), (9, 2, 0), (0, 2, 9))),
            (checkpoint, "saved", ((8, 8, 8, 4), (5, 5, 5, 5), (0, 5, 5, 5))),
        ):
            epochs = [epoch(one) for one in counts]
            known = {"asked": asked, "epochs": epochs, "own": list(zip(*epochs, strict=True))}
            says = "2 on each machine; " + "; ".join(f"counts {', '.join(map(str, one))}" for one in counts)
            cases.append(on_ranks(level, len(counts[0]), "asked own[r]", known, says, rtol=1e-5, ranks_per_node=2))
        return cases

    def worked(self, case):
        """metrics: both of them on every rank in every epoch, each combine(values, counts, rank), the accuracy
        in another way if one is given. saved: how often who(rank) saves, in the epochs of which when(epoch) is true."""
        t = super().worked(case)

        def metrics(combine, accuracy=None):
            def of(epoch, rank):
                losses, hits, counts = map(np.array, zip(*epoch, strict=True))
                loss, hit = combine(losses, counts, rank), (accuracy or combine)(hits, counts, rank)
                return {"loss": float(loss), "accuracy": float(hit)}

            return [[of(epoch, rank) for epoch in t.epochs] for rank in range(t.p)] if t.asked == "metrics" else None

        def saved(who, when=lambda epoch: True):
            written = [{"checkpoints written": sum(map(when, t.epochs)) * who(rank)} for rank in range(t.p)]
            return written if t.asked == "saved" else None

        t.metrics, t.saved = metrics, saved
        return t

    def expected(self, case):
        t = self.worked(case)
        return t.metrics(weighted) or t.saved(lambda rank: rank == 0)

    def facts(self, case: Case, run: Run):
        """In the first epoch every rank has samples: it tells what the second one hides."""
        t, values = self.worked(case), returned(run)
        if t.asked == "saved" or fits(case, self.expected(case), values):
            return None
        first = [value[:1] for value in values]
        if fits(case, [one[:1] for one in self.expected(case)], first):
            return None
        answers = {name: answer for name, answer in self.misconceptions(case).items() if answer}
        return next((name for name, answer in answers.items() if fits(case, [one[:1] for one in answer], first)), None)


CALLBACKS = "asked x[r] y[r] weights[r] offsets[r] scaled warmup epochs"  # the arguments of its harness


class KerasCallbacks(ReportExercise):
    """The Keras callbacks"""

    signature = "keras_callbacks(scaled_rate: float, warmup_epochs: int, plateau, checkpoint) -> list"
    runtime = "horovod"
    inputs = "free"
    levels = {"one model, one learning rate": 2, "one loss, one checkpoint": 1}
    parts = ("learning rates", ("weights", "frozen"), ("losses checkpoint saw", "losses plateau saw"))
    harness = harness_of(__file__, "keras_callbacks")
    mistakes = [
        Mistake("momentum_correction", "LearningRateWarmupCallback tries to correct the momentum, which in this Keras "
                "is a plain number that it cannot set.",
                "Give it `momentum_correction=False`.", lambda t: "LearningRateWarmupCallback raised AttributeError"),
        Mistake("one_list_for_all", "The second call gave the list of the first one again, with more callbacks in it: "
                "a default such as `callbacks=[]` is made once, when the function is defined.",
                "Make a new list inside the function.", lambda t: "the list of an earlier call"),
        Mistake("one_broadcast_for_all", "The second call gave the broadcast callback of the first one again. It "
                "broadcasts once in its life, so the second model's variables would differ between the ranks.",
                "Make a new callback inside the function.", lambda t: "the broadcast of an earlier call"),
        Mistake("no_warmup", "The learning rate was the full scaled rate from the first batch on.",
                "`hvd_keras.callbacks.LearningRateWarmupCallback(initial_lr=scaled_rate, warmup_epochs=warmup_epochs, "
                "...)`.", lambda t: {"learning rates": [t.scaled] * len(t.rates)} if t.asked == "weights" else None),
        Mistake("unscaled",
                "The warm-up ends at the rate of one process: it rises from scaled_rate / p**2 to scaled_rate / p.",
                "initial_lr is the rate at the end of the warm-up, scaled_rate.",
                lambda t: {"learning rates": list(t.rates / t.p)} if t.asked == "weights" else None),
        Mistake("default_warmup", "The rate rises for five epochs, the callback's default.",
                "`LearningRateWarmupCallback(..., warmup_epochs=warmup_epochs)`.",
                lambda t: {"learning rates": list(t.rates_over(5))} if t.asked == "weights" else None),
        Mistake("warmup_on_one_rank", "The rate rises on rank 0 alone; all others begin with the full scaled rate.",
                "Every rank has an optimizer of its own: LearningRateWarmupCallback belongs on every rank.",
                lambda t: [{"learning rates": list(t.rates) if r == 0 else [t.scaled] * len(t.rates)}
                           for r in range(t.p)] if t.asked == "weights" else None),
        Mistake("another_root", "The ranks start with the last rank's model.",
                "`hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0)`: 0 is the rank whose variables count.",
                lambda t: t.train(broadcast=from_the_last) if t.asked == "weights" else None),
        NO_BROADCAST.but(how="`hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0)`, on every rank.")
        .giving(lambda t: t.train(broadcast=lambda held, step: None) if t.asked == "weights" else None),
        Mistake("frozen_not_broadcast", "Only the trainable variables were broadcast: the model's other variables "
                "differ from rank to rank.",
                "`hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0)` broadcasts all of them.",
                lambda t: t.train(broadcast=from_rank_0("weights")) if t.asked == "weights" else None),
        Mistake("every_rank_saves", "Every rank saves: all of them write to the same file.",
                "Append checkpoint `if hvd.rank() == 0:` only.", lambda t: t.seen(lambda rank: True)),
        Mistake("one_saves_on_each_node", "One rank of each node saves: they write to the same file.",
                "`hvd.local_rank()` counts the ranks of one node. Ask for `hvd.rank() == 0`.",
                lambda t: t.seen(lambda rank: rank % 2 == 0)),
        Mistake("all_but_the_root", "Every rank but rank 0 saves: the condition is the wrong way round.",
                "Append checkpoint `if hvd.rank() == 0:`.", lambda t: t.seen(lambda rank: rank != 0)),
        Mistake("metrics_not_averaged",
                "The callbacks saw the loss of this rank's samples: they would decide differently on every rank.",
                "`hvd_keras.callbacks.MetricAverageCallback()` comes before every callback that reads metrics.",
                lambda t: t.seen(plateau="own", checkpoint="own")),
        Mistake("plateau_too_early",
                "plateau saw the loss of this rank alone, so each rank would lower its rate at a different time.",
                "Keras calls callbacks in the order of the list: MetricAverageCallback comes first, then those that "
                "read metrics.", lambda t: t.seen(plateau="own")),
        Mistake("checkpoint_too_early", "checkpoint saw the loss of rank 0 alone, which says little about the model.",
                "Keras calls callbacks in the order of the list: MetricAverageCallback comes first, then those that "
                "read metrics.", lambda t: t.seen(checkpoint="own")),
        Mistake("plateau_left_out", "plateau is missing on a rank: when the loss no longer falls, this rank keeps its "
                "old rate.",
                "Only checkpoint is for rank 0 alone; plateau belongs on every rank."),
        NOT_ALL_RANKS.but(how="Broadcasting and averaging are collectives: those callbacks belong on every rank."),
    ]  # fmt: skip

    def cases(self, rng):
        model, metrics = self.levels
        cases = []
        for level, asked, p, epochs, steps, how in (
            (model, "weights", 2, 3, 2, {"own_start": True, "first_is_zero": True}),
            (metrics, "losses", 3, 1, 1, {}),
        ):
            known = training_data(rng, p, steps, 4, **how)
            for name in ("x", "y"):  # every epoch goes through the same minibatches
                known[name] = np.tile(known[name], (1, epochs, 1, 1))
            warmup = 1 if level == model else 2
            known |= {"asked": asked, "scaled": 0.05 * p, "warmup": warmup, "epochs": epochs}
            says = f"{epochs} epoch{'s' * (epochs > 1)} of {steps} step{'s' * (steps > 1)}, warmup_epochs = {warmup}"
            nodes = 2 if level == metrics else 0
            cases.append(training_case(level, p, CALLBACKS, known, says, ranks_per_node=nodes))
        return cases

    def worked(self, case):
        """rates: the rate of every batch. own: the loss of each rank's first minibatch before the first step."""
        t = super().worked(case)
        batches = t.x.shape[1]
        # LearningRateWarmupCallback is one batch ahead, so that an epoch ends on a round number.
        done = (np.arange(batches) + 1) / (batches // t.epochs)
        t.rates_over = lambda epochs: t.scaled * (np.minimum(1, done / epochs) * (t.p - 1) + 1) / t.p
        t.rates = t.rates_over(t.warmup)
        t.own = train(case.known)["losses"][:, 0]

        def trained(**how):
            held, rates = train(case.known, rates=t.rates, **how), list(t.rates)
            rows = zip(held["weights"], held["offsets"], strict=True)
            return [{"learning rates": rates, "weights": w.ravel(), "frozen": c} for w, c in rows]

        def seen(saves=lambda rank: rank == 0, plateau="mean", checkpoint="mean"):
            """The losses that both callbacks saw in the only epoch, which has one batch."""
            losses = {"mean": [t.own.mean()] * t.p, "own": t.own}
            pairs = zip(losses[plateau], losses[checkpoint], strict=True)
            found = [
                {"losses plateau saw": [a], "losses checkpoint saw": [b] * saves(r)} for r, (a, b) in enumerate(pairs)
            ]
            return found if t.asked == "losses" else None

        t.train, t.seen = trained, seen
        return t

    def expected(self, case):
        t = self.worked(case)
        return t.train() if t.asked == "weights" else t.seen()

    def per_rank(self, case, value):
        return [value] * case.world_size if isinstance(value, str) else super().per_rank(case, value)

    def facts(self, case: Case, run: Run):
        values = returned(run)
        if case.known["asked"] == "weights" or not all(isinstance(one, dict) for one in values):
            return None
        if fits(case, self.expected(case), values):
            return None
        if not all(one["losses plateau saw"] for one in values):
            return "plateau_left_out"
        saving = [bool(one["losses checkpoint saw"]) for one in values]
        if saving == [True] + [False] * (case.world_size - 1):
            return "metrics_not_averaged"
        return "every_rank_saves" if saving[0] else "all_but_the_root" if any(saving) else None


class TrainTorch(ReportExercise):
    """The same in PyTorch"""

    signature = (
        "train_torch(model: torch.nn.Module, optimizer: torch.optim.Optimizer, checkpoint, loss_function, "
        "batches: list) -> None"
    )
    runtime = "horovod"
    inputs = "free"
    levels = {"equal weights at the start": 1, "every rank starts with its own model": 2}
    parts = ("weights", "in the call before")
    harness = harness_of(__file__, "train_torch")
    mistakes = [
        NO_AVERAGE.but(how="`hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())`, "
                       "and step with that one.")
        .giving(lambda t: t.train(lambda own: own[-1], broadcast=from_rank_0(when=before))),
        *(P_TIMES_TOO_LONG, DIVIDED_AGAIN),
        NO_BROADCAST.but(how="`hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)`."),
        OPTIMIZER_NOT_BROADCAST.but(how="`hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)`.")
        .giving(lambda t: t.train(broadcast=from_rank_0("weights", "offsets", when=before))),
        Mistake("model_not_broadcast",
                "The optimizer's variables were broadcast, the model's were not: the ranks hold different models.",
                "Broadcast the variables of both.", lambda t: t.train(broadcast=from_rank_0("momentum", when=before))),
        MEAN_START,
        Mistake("gradients_pile_up", "Every step still contains the gradients of all earlier steps.",
                "`optimizer.zero_grad()` before every `backward()`.", lambda t: t.train(lambda own: sum(own).mean(0))),
        Mistake("momentum_lost", "The ranks hold the same model, but the momentum of rank 0's checkpoint is lost: "
                "DistributedOptimizer makes a new optimizer, which takes over the parameters and the learning rate of "
                "the old one, but not its state.",
                "Load the checkpoint into the DistributedOptimizer, then broadcast its state.",
                lambda t: t.train(momentum=0 * t.momentum)),
        Mistake("another_momentum", "These are the steps of another optimizer, with a momentum of 0.9: that of the "
                "optimizer you were given is another one.",
                "Use the optimizer that you were given, in Horovod's wrapper.",
                lambda t: {"in the call before": t.before(MOMENTUM)} if t.x.shape[1] > 1 else None),
        Mistake("AssertionError", "A rule of Horovod's optimizer was broken, most likely this one: every `backward()` "
                "is followed by `step()` of the *wrapped* optimizer, and only then by the next zero_grad() or "
                "backward().",
                "Wrap once, and from then on use what DistributedOptimizer gave you: `zero_grad()`, `backward()`, "
                "`step()`, in that order."),
        NOT_ALL_RANKS,
        Mistake("unnamed_objects", "`broadcast_object` without a name calls its message after the type of the object, "
                "and that is another on rank 0 than on the others: they wait for different messages.",
                'Give it a name: `hvd_torch.broadcast_object(start, root_rank=0, name="start")`.'),
    ]  # fmt: skip

    def cases(self, rng):
        equal, own = self.levels
        cases = []
        for level, p, steps, how in (
            (equal, 3, 4, {}),
            (own, 2, 4, {"own_start": True, "first_is_zero": True, "resumed": True}),
            (own, 2, 2, {"own_start": True, "first_is_zero": True}),
        ):
            known = training_data(rng, p, steps, 4, **how)
            known["offsets"][:] = 0
            known["saved"] = [known["momentum"][0] if "resumed" in how else None, *[None] * (p - 1)]
            says = f"{steps} steps of 4 samples" + (", the first one all zeros" if how else "")
            says += "; rank 0 has a checkpoint" if "resumed" in how else ""
            cases.append(training_case(level, p, "x[r] y[r] weights[r] saved[r] rate", known, says))
        return cases

    def worked(self, case):
        t = super().worked(case)

        def before(factor):
            """The weights after another call, with this momentum: two steps of another model."""
            start = {"x": t.x[:, :2], "y": t.y[:, :2], "weights": t.weights + 1, "momentum": 0 * t.momentum}
            return train({**case.known, **start, "factor": factor})["weights"][0].ravel()

        def trained(*combine, momentum=t.momentum, **how):
            held = train({**case.known, "momentum": momentum}, *combine, **how)
            return [{"weights": weights.ravel(), "in the call before": before(0.8)} for weights in held["weights"]]

        t.train, t.before = trained, before
        return t

    def expected(self, case):
        own_start = case.level != next(iter(self.levels))
        later = {"in the call before": ANYTHING} if own_start else {}
        return [one | later for one in self.worked(case).train()]
