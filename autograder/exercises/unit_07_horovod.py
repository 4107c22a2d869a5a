"""Unit 07, Horovod: the eight steps in TensorFlow, the same as Keras callbacks and in PyTorch.

The models are linear and the loss is the mean squared error, so that a whole training run with momentum is a few lines of numpy
(`train`). What a mistake leads to is the same run with one thing done differently.

With a model of its own on every rank the first gradients depend on whether the broadcast comes before the first step or after it. Both
are right. There the first minibatch is all zeros: its gradient is zero for every model, and both orders end in the same weights.
"""

from __future__ import annotations

import itertools

import numpy as np

from autograder.compare import NUMBER, difference, same
from autograder.exercise import Case, Diagnosis, Exercise, Finding, Run
from autograder.exercises.readings.contributions import returned
from labkit.watch.hang import list_ranks

UNIT = "07_horovod"
MOMENTUM = 0.9

NO_AVERAGE = Diagnosis(
    "Every rank applied its own gradients: these are independent runs, each on a part of the data.",
    "The gradients have to be averaged over the ranks before they are applied.",
)
P_TIMES_TOO_LONG = Diagnosis(
    "Every step is p times too long: the gradients were summed, or the learning rate was multiplied by the number of ranks again.",
    "Average the gradients (the default, `op=hvd.Average`) and leave the optimizer's learning rate as it is.",
)
DIVIDED_AGAIN = Diagnosis(
    "Every step is p times too short: something was divided by the number of ranks that is an average already.",
    "Horovod's average divides by the number of ranks; the loss is a mean over the minibatch. Nothing else is to be divided.",
)
RANK_0_GRADIENTS = Diagnosis(
    "Only rank 0's gradients count: the other ranks' work is thrown away.",
    "Average the gradients over the ranks; broadcast once, not instead of averaging.",
)
NOTHING_APPLIED = Diagnosis(
    "The weights are those of the start: no gradient was ever applied.", "Let the optimizer take its step."
)
NO_BROADCAST = Diagnosis(
    "The ranks started with different models and still hold different ones: averaged gradients move them all the same way, "
    "but never together.",
    "Broadcast rank 0's variables to all ranks.",
)
WRONG_ROOT = Diagnosis(
    "All ranks hold the same model, but it grew out of another rank's start than rank 0's.", "Broadcast from `root_rank=0`."
)
BROADCAST_LATE = Diagnosis(
    "The broadcast came too late: a step was taken with gradients of different models, and on every step after that the others' "
    "state is thrown away.",
    "Broadcast on the first batch, and only then.",
)
MEAN_START = Diagnosis(
    "The models of the ranks were averaged: all ranks hold the same, but not what grew out of rank 0's start.",
    "Broadcast rank 0's variables; average gradients only.",
)
NOT_ALL_RANKS = Diagnosis(
    "Some ranks wait in a collective that the others do not call.",
    "Averaging and broadcasting are collectives: every rank calls them, rank 0 too, and in the same order; `root_rank=0` says whose "
    "values count.",
)
HANGS = {"missing_rank": NOT_ALL_RANKS, "mismatched_collective": NOT_ALL_RANKS}
MODEL_NOT_BROADCAST = Diagnosis(
    "The optimizer's variables were broadcast, the model's were not: the ranks hold different models.",
    "Broadcast the variables of both.",
)
OPTIMIZER_NOT_BROADCAST = Diagnosis(
    "The model was broadcast, the optimizer was not: rank 0 goes on with the momentum of its checkpoint, the others with none, "
    "and the models drift apart.",
    "Broadcast the optimizer's state too.",
)


def told_apart(case: Case, expected: list, wrong: dict) -> dict:
    """The answers of `wrong` that show in this case: those that look like the right one or like an earlier mistake become None."""
    shown, seen = {}, [expected]
    for name, answer in wrong.items():
        new = answer is not None and not any(looks_like(case, answer, other) for other in seen)
        shown[name] = answer if new else None
        if new:
            seen.append(answer)
    return shown


def looks_like(case: Case, a: list, b: list, margin: float = 1.0) -> bool:
    rtol, atol = (own if given is None else given for own, given in zip(NUMBER, (case.rtol, case.atol), strict=True))
    return all(same(one, other, margin * rtol, margin * atol) for one, other in zip(a, b, strict=True))


def first_that_fits(case: Case, values: list, answers) -> str | None:
    """The name of the first of `answers`, pairs (name, one value per rank), that the ranks returned."""
    for name, answer in answers:
        if all(difference(w, v, case.rtol, case.atol) is None for w, v in zip(answer, values, strict=True)):
            return name
    return None


class InitAndPin(Exercise):
    """Initialise and pin"""

    unit, function = UNIT, "init_and_pin"
    signature = "init_and_pin(tf, hvd) -> None"
    runtime = "plain"
    inputs = "free"
    levels = {"one machine": 1, "several machines, and one without a GPU": 1}
    # tf and hvd are stand-ins that know about machines and GPUs this computer does not have.
    harness = """
import contextlib


class Device:
    def __init__(self, device_type, number):
        self.device_type, self.number = device_type, number
        self.name = f"/physical_device:{device_type}:{number}"

    def __repr__(self):
        return f"PhysicalDevice(name={self.name!r}, device_type={self.device_type!r})"


class Config:
    def __init__(self, gpus):
        self.devices = [Device("CPU", 0), *(Device("GPU", k) for k in range(gpus))]
        self.visible = list(self.devices)
        self.growing = set()
        self.experimental = self

    def list_physical_devices(self, device_type=None):
        return [d for d in self.devices if device_type in (None, d.device_type)]

    def get_visible_devices(self, device_type=None):
        return [d for d in self.visible if device_type in (None, d.device_type)]

    list_logical_devices = get_visible_devices

    def set_visible_devices(self, devices, device_type=None):
        devices = list(devices) if isinstance(devices, (list, tuple)) else [devices]
        for device in devices:
            if device not in self.devices:
                raise ValueError(f"Unrecognized device: {device!r}")
            if device_type not in (None, device.device_type):
                raise ValueError(f"Unexpected device type {device.device_type}, expected {device_type}: {device!r}")
        self.visible = [d for d in self.visible if device_type not in (None, d.device_type)] + devices

    def set_memory_growth(self, device, enable):
        if device not in self.devices or device.device_type != "GPU":
            raise ValueError(f"Cannot set memory growth on {device!r}")
        (self.growing.add if enable else self.growing.discard)(device)

    def get_memory_growth(self, device):
        return device in self.growing

    def set_soft_device_placement(self, enabled):
        pass


class TensorFlow:
    def __init__(self, gpus):
        self.config = Config(gpus)

    def device(self, name):
        return contextlib.nullcontext()


class NotInitialised(ValueError):
    pass


class Horovod:
    def __init__(self, **numbers):
        self.initialised = False
        for name, number in numbers.items():
            setattr(self, name, lambda number=number: self.answer(number))

    def init(self, *arguments, **options):
        self.initialised = True

    def is_initialized(self):
        return self.initialised

    def answer(self, number):
        if not self.initialised:
            raise NotInitialised("Horovod has not been initialized; use hvd.init().")
        return number


def harness(f, places, gpus):
    found = []
    for rank, (local_rank, machine) in enumerate(places):
        same = sum(place[1] == machine for place in places)
        machines = len({place[1] for place in places})
        tf = TensorFlow(gpus)
        hvd = Horovod(
            rank=rank, size=len(places), local_rank=local_rank, local_size=same, cross_rank=machine, cross_size=machines
        )
        try:
            f(tf, hvd)
        except (IndexError, NotInitialised) as error:
            found.append({"rank": rank, "raised": "IndexError" if isinstance(error, IndexError) else "ValueError"})
            continue
        seen = tf.config.get_visible_devices("GPU")
        found.append(
            {
                "rank": rank,
                "initialised": hvd.initialised,
                "GPUs it sees": [gpu.number for gpu in seen],
                "their memory grows": all(gpu in tf.config.growing for gpu in seen),
            }
        )
    return found
"""
    diagnoses = {
        "by_rank": Diagnosis(
            "The GPU was chosen by the rank. On the second machine there is no GPU with such a number.",
            "The GPUs of a machine are numbered from 0 on every machine: `gpus[hvd.local_rank()]`.",
        ),
        "rank_modulo": Diagnosis(
            "The GPU was chosen by the rank modulo the number of GPUs. Two ranks of one machine can get the same one, as here, where "
            "ranks are dealt out to the machines in turn.",
            "`hvd.local_rank()` counts the ranks of this machine, however they were dealt out.",
        ),
        "by_machine": Diagnosis(
            "The GPU was chosen by the number of the machine: all ranks of a machine share one GPU.",
            "`hvd.local_rank()` is the rank's number within its machine, `hvd.cross_rank()` the machine's.",
        ),
        "off_by_one": Diagnosis("The local rank was shifted by one.", "Local ranks and GPUs are both counted from 0."),
        "first_gpu": Diagnosis(
            "All ranks of a machine got its first GPU, and the others stay idle.", "Rank by rank: `gpus[hvd.local_rank()]`."
        ),
        "not_pinned": Diagnosis(
            "No GPU was chosen: every rank sees all GPUs of its machine, and TensorFlow takes the first one, with all its memory.",
            "`tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')`.",
        ),
        "no_growth": Diagnosis(
            "The memory of the GPU does not grow as needed: TensorFlow takes all of it at the start.",
            "`tf.config.experimental.set_memory_growth(gpu, True)`, for the rank's GPU or for all of them.",
        ),
        "growth_of_the_first": Diagnosis(
            "The memory grows on the first GPU only, whichever GPU the rank got.",
            "Set it for the rank's own GPU, or for all of them.",
        ),
        "not_initialised": Diagnosis("Horovod was not initialised before it was asked.", "`hvd.init()` comes first."),
        "never_initialised": Diagnosis("Horovod was never initialised.", "Call `hvd.init()`."),
        "needs_a_gpu": Diagnosis(
            "Without a GPU there is no first element in the list of GPUs.", "Pin only `if gpus:`; the same script runs anywhere."
        ),
        "init_needs_a_gpu": Diagnosis(
            "Without a GPU Horovod was not initialised.", "`hvd.init()` is needed on every machine; only the pinning needs a GPU."
        ),
        "no_cpu_left": Diagnosis("The CPU is no longer visible.", "Name the type: `set_visible_devices(gpu, 'GPU')`."),
    }

    def cases(self, rng):
        one, several = self.levels
        gpus = int(rng.integers(4, 9))
        in_turn = [(rank // 2, rank % 2) for rank in range(2 * gpus - 2)]
        places = [(one, [(rank, 0) for rank in range(3)], gpus, "3 ranks, one machine")]
        places.append((several, in_turn, gpus, f"{2 * gpus - 2} ranks dealt out in turn to 2 machines"))
        places.append((several, [(0, 0), (1, 0)], 0, "2 ranks, one machine"))
        return [
            Case(level, 1, (where, n), says=f"{says}, {n} GPUs in each" if "2 machines" in says else f"{says}, {n} GPUs")
            for level, where, n, says in places
        ]

    @staticmethod
    def _found(case, sees=lambda rank, local_rank, machine: [local_rank], grows=None, initialised=True):
        """What the harness reports if each rank sees these GPUs. A number that no GPU has is an IndexError."""
        places, gpus = case.arguments_of(0)
        found = []
        for rank, (local_rank, machine) in enumerate(places):
            seen = sees(rank, local_rank, machine)
            if any(number >= gpus for number in seen):
                found.append({"rank": rank, "raised": "IndexError"})
                continue
            grow = True if grows is None or not seen else grows(seen)
            found.append({"rank": rank, "initialised": initialised, "GPUs it sees": seen, "their memory grows": grow})
        return [found]

    def expected(self, case):
        return self._found(
            case, (lambda *_: []) if case.arguments_of(0)[1] == 0 else lambda rank, local_rank, machine: [local_rank]
        )

    def misconceptions(self, case):
        places, gpus = case.arguments_of(0)
        several = len({machine for _, machine in places}) > 1
        unasked = [{"rank": rank, "raised": "ValueError"} for rank in range(len(places))]
        wrong = dict.fromkeys(name for name in self.diagnoses if name != "no_cpu_left")
        if gpus == 0:
            return wrong | {
                "not_initialised": [unasked],
                "needs_a_gpu": [[one | {"raised": "IndexError"} for one in unasked]],
                "init_needs_a_gpu": self._found(case, lambda *_: [], initialised=False),
            }
        wrong |= {
            "not_initialised": [unasked],
            "never_initialised": self._found(case, initialised=False),
            "not_pinned": self._found(case, lambda *_: list(range(gpus))),
            "no_growth": self._found(case, grows=lambda seen: False),
            "growth_of_the_first": self._found(case, grows=lambda seen: seen == [0]),
            "first_gpu": self._found(case, lambda *_: [0]),
            "off_by_one": self._found(case, lambda rank, local_rank, machine: [local_rank + 1]),
        }
        if several:
            wrong["by_rank"] = self._found(case, lambda rank, local_rank, machine: [rank])
            wrong["rank_modulo"] = self._found(case, lambda rank, local_rank, machine: [rank % gpus])
            wrong["by_machine"] = self._found(case, lambda rank, local_rank, machine: [machine])
        return wrong

    def facts(self, case: Case, run: Run):
        """Two mistakes at once get the name of the one to mend first."""
        found = [one for one in returned(run)[0] if "raised" not in one]
        if found == returned(run)[0] == self.expected(case)[0]:
            return None
        gpus = case.arguments_of(0)[1]
        if not found or gpus == 0:
            return None
        if all(len(one["GPUs it sees"]) == gpus for one in found):
            return "not_pinned"
        if not any(one["their memory grows"] for one in found):
            return "no_growth"
        if not any(one["initialised"] for one in found):
            return "never_initialised"
        return None


class ShardDataset(Exercise):
    """Shards and steps"""

    unit, function = UNIT, "shard_dataset"
    signature = "shard_dataset(dataset: tf.data.Dataset, n: int, local_batch_size: int) -> tuple[tf.data.Dataset, int]"
    talks = False  # every rank is handed all samples; only the harness compares what they took
    runtime = "horovod"
    levels = {"what divides": 1, "what does not divide": 1}
    may_lose = {
        "int64": "labels and numbers of samples are small",
        "integers of both widths": "labels only mark which sample is which",
    }
    harness = """
import itertools

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def harness(f, asked):
    hvd.init()
    reports, mine = [], []
    for samples, local_batch_size in asked:
        result = f(tf.data.Dataset.from_tensor_slices(samples), len(samples), local_batch_size)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            return result
        part, steps = result
        batches = list(itertools.islice(iter(part), 40))
        mine.append([int(i) for batch in batches for i in np.ravel(batch)])
        reports.append({"steps": getattr(steps, "numpy", lambda: steps)(), "minibatches": [int(np.size(b)) for b in batches]})
    everybody = hvd.allgather_object(mine)
    for k, report in enumerate(reports):
        report["shares samples with"] = [
            rank for rank, drawn in enumerate(everybody) if rank != hvd.rank() and set(drawn[k]) & set(mine[k])
        ]
        report["samples it repeats"] = len(mine[k]) - len(set(mine[k]))
    return reports
"""
    diagnoses = {
        "not_sharded": Diagnosis(
            "All ranks see the same samples: more ranks do the same work more often.",
            "Each rank takes its own part: `dataset.shard(num_shards=hvd.size(), index=hvd.rank())`.",
        ),
        "by_local_rank": Diagnosis(
            "Ranks with the same local rank on different machines see the same samples, and the other samples are never seen.",
            "A shard belongs to a rank, not to a place in a machine: `index=hvd.rank()`, `num_shards=hvd.size()`.",
        ),
        "overlap": Diagnosis(
            "Some samples are seen twice.",
            "Shards must not overlap, and an epoch does not repeat: every sample belongs to one rank.",
        ),
        "unequal_steps": Diagnosis(
            "The ranks make different numbers of steps. In the first step that one of them does not make, the others wait forever.",
            "The number must follow from what all ranks know: n, the batch size and hvd.size().",
        ),
        "steps_of_one_process": Diagnosis(
            "This is the number of steps of one process that has all the data to itself.",
            "One step of all ranks uses hvd.size() minibatches: divide by hvd.size() too.",
        ),
        "rounded_up": Diagnosis(
            "There is one step too many: not every rank can fill it.", "Only steps that all ranks can fill count: round down."
        ),
        "too_few_steps": Diagnosis(
            "There are fewer steps than all ranks together can fill.",
            "n // (local_batch_size * hvd.size()): the local batch size is one rank's, and is not to be multiplied or divided again.",
        ),
        "too_many_steps": Diagnosis(
            "There are more steps than there are samples for.",
            "All ranks together use local_batch_size * hvd.size() samples per step.",
        ),
        "wrong_batch_size": Diagnosis(
            "The minibatches do not hold local_batch_size samples.",
            "local_batch_size is one rank's part of a step: `batch(local_batch_size, drop_remainder=True)`.",
        ),
        "not_cut": Diagnosis(
            "The dataset holds another number of minibatches than the steps say: a loop over it does not end where the others end.",
            "Cut it: `.take(steps)`; and shard before it is cut, not after.",
        ),
        "not_whole": Diagnosis(
            "The number of steps is not a whole number.", "Divide with `//`: a step that not all ranks can fill is none."
        ),
        "InvalidArgumentError": Diagnosis(
            "TensorFlow refuses the arguments of `shard`: the index must lie between 0 and the number of shards minus 1.",
            "`shard(num_shards=hvd.size(), index=hvd.rank())`.",
        ),
    }

    def cases(self, rng):
        divides, rest = self.levels

        def ask(*sizes):
            return [(rng.permutation(1000)[:n], batch) for n, batch in sizes]

        shapes = [(divides, 4, ((32, 4), (12, 3))), (rest, 3, ((23, 4), (7, 1), (2, 1)))]
        cases = []
        for level, p, sizes in shapes:
            says = "2 on each machine; " + "; ".join(f"n = {n}, minibatches of {batch}" for n, batch in sizes)
            cases.append(Case(level, p, (ask(*sizes),), says=says, known={"sizes": sizes}, ranks_per_node=2))
        return cases

    @staticmethod
    def _reports(case, part, steps):
        """What each rank reports if it takes the samples part(n, rank) and makes steps(n, batch, rank) steps."""
        p = case.world_size
        reports = [[] for _ in range(p)]
        for n, batch in case.known["sizes"]:
            drawn = []
            for rank in range(p):
                made = steps(n, batch, rank)
                samples = list(part(n, rank))
                drawn.append([samples[k * batch : (k + 1) * batch] for k in range(made)])
                drawn[rank] = [b for b in drawn[rank] if b]
            flat = [set(itertools.chain(*batches)) for batches in drawn]
            for rank in range(p):
                reports[rank].append(
                    {
                        "steps": steps(n, batch, rank),
                        "minibatches": [len(b) for b in drawn[rank]],
                        "shares samples with": [q for q in range(p) if q != rank and flat[q] & flat[rank]],
                        "samples it repeats": 0,
                    }
                )
        return reports

    def expected(self, case):
        p = case.world_size
        return self._reports(case, lambda n, rank: range(rank, n, p), lambda n, batch, rank: n // (batch * p))

    def misconceptions(self, case):
        p = case.world_size

        def stride(n, rank):
            return range(rank, n, p)

        def right(n, batch, rank):
            return n // (batch * p)

        rest = any(n % (batch * p) for n, batch in case.known["sizes"])
        return {
            "not_sharded": self._reports(case, lambda n, rank: range(n), right),
            "by_local_rank": self._reports(case, lambda n, rank: range(rank % 2, n, p), right),
            "unequal_steps": self._reports(case, stride, lambda n, batch, rank: len(stride(n, rank)) // batch) if rest else None,
            "rounded_up": self._reports(case, stride, lambda n, batch, rank: -(-n // (batch * p))) if rest else None,
            "steps_of_one_process": self._reports(case, stride, lambda n, batch, rank: n // batch),
        }

    def facts(self, case: Case, run: Run):
        reports = returned(run)
        for k, (n, batch) in enumerate(case.known["sizes"]):
            right, where = n // (batch * case.world_size), f"With n = {n} and minibatches of {batch}: "
            found = float(reports[0][k]["steps"])
            if found != int(found):
                return Finding("not_whole", f"{where}{found:.3g} steps.")
            steps = [int(report[k]["steps"]) for report in reports]
            held = [report[k]["minibatches"] for report in reports]
            if len(set(steps)) > 1:
                return Finding("unequal_steps", f"{where}{', '.join(map(str, steps))} steps.")
            if steps[0] != right:
                one = "steps_of_one_process" if steps[0] in (n // batch, -(-n // batch)) and right != steps[0] else None
                up = "rounded_up" if steps[0] == -(-n // (batch * case.world_size)) else None
                more = "too_many_steps" if steps[0] > right else "too_few_steps"
                return Finding(up or one or more, f"{where}{steps[0]} steps instead of {right}.")
            for rank, report in enumerate(reports):
                if report[k]["shares samples with"]:
                    return Finding(
                        "overlap", f"{where}rank {rank} shares samples with {list_ranks(report[k]['shares samples with'])}."
                    )
                if report[k]["samples it repeats"]:
                    return Finding("overlap", f"{where}rank {rank} sees {report[k]['samples it repeats']} samples again.")
            for rank, sizes in enumerate(held):
                if any(size != batch for size in sizes[: steps[0]]):
                    return Finding(
                        "wrong_batch_size", f"{where}rank {rank}'s minibatches hold {', '.join(map(str, sizes))} samples."
                    )
                if len(sizes) != steps[0]:
                    return Finding("not_cut", f"{where}rank {rank} has {len(sizes)} minibatches for {steps[0]} steps.")
        return None


class LearningRate(Exercise):
    """Learning rate and warm-up"""

    unit, function = UNIT, "learning_rate"
    signature = "learning_rate(step: int, base_rate: float, world_size: int, warmup_steps: int) -> float"
    runtime = "plain"
    levels = {"the warm-up": 1, "after it, and without it": 1}
    harness = """
def harness(f, steps, base_rate, world_size, warmup_steps):
    rates = [f(step, base_rate, world_size, warmup_steps) for step in steps]
    return None if all(rate is None for rate in rates) else rates
"""
    diagnoses = {
        "unscaled": Diagnosis(
            "The learning rate does not know how many ranks there are.", "After the warm-up it is base_rate * world_size."
        ),
        "no_warmup": Diagnosis(
            "The whole rate was used from the first step on.", "It climbs from base_rate to base_rate * world_size."
        ),
        "starts_at_zero": Diagnosis(
            "The warm-up starts at zero, so the first step does nothing.", "It starts at base_rate, the rate of one process."
        ),
        "unscaled_warmup": Diagnosis(
            "The rate climbs from base_rate / world_size to base_rate.", "It climbs from base_rate to base_rate * world_size."
        ),
        "one_step_early": Diagnosis("The warm-up is one step ahead.", "At step 0 the rate is base_rate."),
        "one_step_late": Diagnosis("The warm-up ends one step early or late.", "At step warmup_steps the whole rate is reached."),
        "jumps": Diagnosis("The rate stays at base_rate during the warm-up and then jumps.", "It climbs a little in every step."),
        "never_stops": Diagnosis("The rate climbs on after the warm-up.", "From step warmup_steps on it stays as it is."),
        "falls_back": Diagnosis(
            "After the warm-up the rate is base_rate again.", "It stays at base_rate * world_size once it is there."
        ),
        "square_root": Diagnosis(
            "The rate grows with the square root of the number of ranks.", "Here it is scaled linearly: base_rate * world_size."
        ),
        "scaled_twice": Diagnosis("The rate was multiplied by the number of ranks twice.", "Once is enough."),
        "starts_scaled": Diagnosis(
            "The warm-up starts at the scaled rate and multiplies it by the number of ranks again.", "It starts at base_rate."
        ),
        "adds_base_rate": Diagnosis(
            "The warm-up climbs by base_rate * world_size and ends one base_rate too high.",
            "It climbs by the difference, base_rate * world_size - base_rate.",
        ),
        "overshoots": Diagnosis(
            "The warm-up climbs by base_rate * world_size, one base_rate too much, and falls back when it is over.",
            "It climbs by the difference, base_rate * world_size - base_rate.",
        ),
        "geometric": Diagnosis(
            "Each step multiplies the rate by the same factor.", "Here it climbs by the same amount each step."
        ),
        "falls": Diagnosis("The rate falls during the warm-up.", "It starts at base_rate and climbs."),
        "starts_elsewhere": Diagnosis(
            "The warm-up does not start at base_rate.", "At step 0 it is base_rate, at step warmup_steps base_rate * world_size."
        ),
        "ZeroDivisionError": Diagnosis(
            "Without a warm-up (warmup_steps = 0) there is nothing to divide by.",
            "Ask first whether the warm-up is over: step >= warmup_steps.",
        ),
    }

    def cases(self, rng):
        during, after = self.levels
        asked = [(during, (0, 1, 3, 7, 10), 4, 10), (during, (0, 2, 5, 6), 3, 6)]
        asked += [(after, (10, 11, 50), 4, 10), (after, (0, 1, 9), 5, 0), (after, (0, 3, 6, 8), 1, 6)]
        cases = []
        for level, steps, p, warmup in asked:
            rate = float(rng.integers(1, 100)) / 1000
            says = f"base_rate {rate}, world_size {p}, warmup_steps {warmup}, steps {', '.join(map(str, steps))}"
            cases.append(Case(level, 1, (list(steps), rate, p, warmup), says=says, atol=1e-12))
        return cases

    def expected(self, case):
        _, _, p, _ = case.arguments_of(0)
        return self._rates(case, lambda part: 1 + (p - 1) * min(1, part))

    @staticmethod
    def _rates(case, factor, shift=0):
        """base_rate times factor(part of the warm-up that is over, at least 1 without a warm-up), for every step of the case."""
        steps, rate, _, warmup = case.arguments_of(0)
        return [[rate * factor((step + shift) / warmup if warmup else 1 + step) for step in steps]]

    def misconceptions(self, case):
        _, _, p, warmup = case.arguments_of(0)

        def climb(part, first=1, last=p):
            return first + (last - first) * min(1, part)

        wrong = {
            "unscaled": self._rates(case, lambda part: 1),
            "no_warmup": self._rates(case, lambda part: p),
            "starts_at_zero": self._rates(case, lambda part: climb(part, first=0)),
            "unscaled_warmup": self._rates(case, lambda part: climb(part, 1 / p, 1)),
            "one_step_early": self._rates(case, climb, shift=1),
            "one_step_late": self._rates(case, lambda part: climb(part * warmup / (warmup - 1)) if warmup else p),
            "jumps": self._rates(case, lambda part: p if part >= 1 else 1),
            "falls_back": self._rates(case, lambda part: climb(part) if part < 1 else 1),
            "never_stops": self._rates(case, lambda part: 1 + (p - 1) * part if warmup else p),
            "square_root": self._rates(case, lambda part: climb(part, last=p**0.5)),
            "scaled_twice": self._rates(case, lambda part: climb(part, last=p * p)),
            "starts_scaled": self._rates(case, lambda part: climb(part, p, p * p)),
            "adds_base_rate": self._rates(case, lambda part: climb(part, last=1 + p)),
            "overshoots": self._rates(case, lambda part: p if part >= 1 else 1 + p * part),
            "geometric": self._rates(case, lambda part: p ** min(1, part)),
            "falls": self._rates(case, lambda part: climb(part, p, 1)),
        }
        return told_apart(case, self.expected(case), wrong)

    def facts(self, case: Case, run: Run):
        """Endless climbs of the mistakes that have a name already, and other starts."""
        if first_that_fits(case, returned(run), [("right", self.expected(case))]):
            return None
        steps, rate, p, warmup = case.arguments_of(0)
        endless = {
            "starts_at_zero": self._rates(case, lambda part: p * part),
            "adds_base_rate": self._rates(case, lambda part: 1 + p * part),
            "one_step_early": self._rates(case, lambda part: 1 + (p - 1) * part, shift=1),
            "geometric": self._rates(case, lambda part: p**part),
            "unscaled": self._rates(case, lambda part: part),
        }
        known = [*endless.items(), *((name, value) for name, value in self.misconceptions(case).items() if value)]
        name, start = first_that_fits(case, returned(run), known), float(returned(run)[0][0])
        if name or steps[0] != 0 or warmup == 0 or np.isclose(start, rate):
            return name
        return Finding("starts_elsewhere", f"At step 0 it is {start:.4g}, base_rate is {rate:.4g}.")


# -- training ---------------------------------------------------------------------------------------------------------------------------


def train(
    known: dict,
    gradients: str = "mean",
    broadcast: str = "first",
    momentum: str = "first",
    averaged_losses: bool = False,
    rates=None,
    piled_up: bool = False,
) -> list[dict]:
    """Train x W + c by SGD with momentum on several ranks, each step on one minibatch per rank; one dict per rank.

    known: x (ranks, steps, n, d), y (ranks, steps, n, k), weights W (ranks, d, k), offsets c (ranks, k; frozen), momentum m (ranks, d, k)
    and rate. The loss is the mean of (x W + c - y)**2; its gradient is 2 / (n k) x^T (x W + c - y). The update is Keras's:
    m <- 0.9 m - rate g; W <- W + m (PyTorch keeps -m / rate).

    gradients: what is applied: the "mean" over the ranks, its "own", the "sum", "divided" (the mean over p again), "rank 0", "first" (the
        mean on the first batch, then its own), "none".
    broadcast: of W and c "before" the first step, or after a step: on the "first" batch, "never", "late" (on all batches but the first),
        "every" batch, from rank "1", of the "trainable" W only, of the "optimizer" only, or the "mean" of all ranks; or of the
        "optimizer before" the first step.
    momentum: whether m is broadcast along: "first" or "never"; "lost": it is zero at the start.
    rates: one learning rate per step. piled_up: gradients are added to those of the steps before.
    """
    x, y = known["x"], known["y"]
    p, steps = x.shape[:2]
    weights, offsets, moments = known["weights"].copy(), known["offsets"].copy(), known["momentum"].copy()
    if momentum == "lost":
        moments[:] = 0
    if broadcast == "before":
        weights[:], offsets[:] = weights[0], offsets[0]
        if momentum == "first":
            moments[:] = moments[0]
    if broadcast == "optimizer before":
        moments[:] = moments[0]
    losses = np.zeros((p, steps))
    pile = np.zeros_like(weights)
    for step in range(steps):
        error = np.einsum("rnd,rdk->rnk", x[:, step], weights) + offsets[:, None] - y[:, step]
        losses[:, step] = (error**2).mean((1, 2))
        own = 2 * np.einsum("rnd,rnk->rdk", x[:, step], error) / error[0].size
        mean = own.mean(0, keepdims=True)
        applied = {"mean": mean, "own": own, "sum": mean * p, "divided": mean / p, "rank 0": own[:1], "none": 0 * own}
        applied["first"] = own if step else mean
        pile = applied[gradients] + (pile if piled_up else 0)
        moments = MOMENTUM * moments - (known["rate"] if rates is None else rates[step]) * pile
        weights = weights + (moments if gradients != "none" else 0)
        if broadcast == "mean":
            weights[:], offsets[:] = weights.mean(0), offsets.mean(0)
        elif broadcast not in ("never", "before", "optimizer before") and {"late": step > 0, "every": True}.get(
            broadcast, step == 0
        ):
            root = 1 if broadcast == "1" else 0
            if broadcast != "optimizer":
                weights[:] = weights[root]
            if broadcast not in ("trainable", "optimizer"):
                offsets[:] = offsets[root]
            if momentum == "first":
                moments[:] = moments[root]
    if averaged_losses:
        losses[:] = losses.mean(0)
    return [
        {
            "weights": weights[r].ravel(),
            "frozen": offsets[r],
            "losses from step 1 on": list(losses[r, 1:]),
            "broadcasts later": broadcast in ("late", "every"),
        }
        for r in range(p)
    ]


# What goes wrong, in the order in which it is to be mended: the gradients first, then where they start.
GRADIENTS = {
    "no_average": {"gradients": "own"},
    "p_times_too_long": {"gradients": "sum"},
    "divided_again": {"gradients": "divided"},
    "rank_0_gradients": {"gradients": "rank 0"},
    "nothing_applied": {"gradients": "none"},
}
STARTS = {
    "no_broadcast": {"broadcast": "never"},
    "optimizer_not_broadcast": {"momentum": "never"},
    "model_not_broadcast": {"broadcast": "optimizer"},
    "wrong_root": {"broadcast": "1"},
    "broadcast_late": {"broadcast": "late"},
    "mean_start": {"broadcast": "mean"},
    "frozen_not_broadcast": {"broadcast": "trainable"},
}
TEXTS = {
    "no_average": NO_AVERAGE,
    "p_times_too_long": P_TIMES_TOO_LONG,
    "divided_again": DIVIDED_AGAIN,
    "rank_0_gradients": RANK_0_GRADIENTS,
    "nothing_applied": NOTHING_APPLIED,
    "no_broadcast": NO_BROADCAST,
    "optimizer_not_broadcast": OPTIMIZER_NOT_BROADCAST,
    "model_not_broadcast": MODEL_NOT_BROADCAST,
    "wrong_root": WRONG_ROOT,
    "broadcast_late": BROADCAST_LATE,
    "mean_start": MEAN_START,
}


def training_data(
    rng, p: int, steps: int, n: int, *, own_start=False, resumed=False, first_is_zero=False, inputs=3, outputs=2
) -> dict:
    """Minibatches and starts for `train`, in float32. own_start: another model on every rank. resumed: rank 0 has momentum."""

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


def as_float64(known: dict) -> dict:
    return {name: np.asarray(value, dtype=np.float64) for name, value in known.items()}


def reading(case: Case, run: Run, look_at: tuple[str, ...]) -> str | None:
    """The name of the first mistake, or of the first of two mistakes at once, that explains these entries of what the ranks returned."""

    def part(answers):
        return [{name: answer[name] for name in look_at} for answer in answers]

    values = part(returned(run))
    starts = [(None, {}), (None, {"broadcast": "every"}), *STARTS.items()]
    starts.append(("optimizer_not_broadcast", {"broadcast": "before", "momentum": "never"}))
    for (gradients, one), (start, other) in itertools.product([(None, {}), *GRADIENTS.items()], starts):
        if first_that_fits(case, values, [("it", part(train(case.known, **one, **other)))]):
            return gradients or start
    return None


class TrainStep(Exercise):
    """One training step"""

    unit, function = UNIT, "horovod_step"
    signature = "horovod_step(model, optimizer, loss_function, x, y, first_batch: bool) -> tf.Tensor"
    runtime = "horovod"
    inputs = "free"
    levels = {"all start equal": 1, "every rank starts with its own model": 2, "rank 0 goes on from a checkpoint": 1}
    harness = """
import horovod.tensorflow as hvd
import tensorflow as tf


class Offset(tf.keras.layers.Layer):
    def build(self, shape):
        self.offset = self.add_weight(name="offset", shape=(shape[-1],), trainable=False)

    def call(self, x):
        return x + self.offset


def harness(f, x, y, weights, offset, momentum, rate):
    hvd.init()
    model = tf.keras.Sequential([tf.keras.layers.Dense(weights.shape[1], use_bias=False), Offset()])
    model.build((None, weights.shape[0]))
    model.set_weights([weights, offset])
    optimizer = tf.keras.optimizers.SGD(rate, momentum=0.9)
    if momentum is not None:
        optimizer.build(model.trainable_variables)
        optimizer.momentums[0].assign(momentum)
    loss_function = tf.keras.losses.MeanSquaredError()
    losses, steps_with_a_broadcast = [], set()
    broadcast_variables = hvd.broadcast_variables

    def noted(*arguments, **options):
        steps_with_a_broadcast.add(len(losses))
        return broadcast_variables(*arguments, **options)

    hvd.broadcast_variables = noted
    for step in range(len(x)):
        losses.append(f(model, optimizer, loss_function, tf.constant(x[step]), tf.constant(y[step]), step == 0))
    if all(loss is None for loss in losses):
        return None
    losses = [loss.numpy() if hasattr(loss, "numpy") else loss for loss in losses[1:]]
    kernel, offset = model.get_weights()
    return {
        "weights": kernel.ravel(),
        "frozen": offset,
        "losses from step 1 on": losses,
        "broadcasts later": bool(steps_with_a_broadcast - {0}),
    }
"""
    diagnoses = {
        **TEXTS,
        "frozen_not_broadcast": Diagnosis(
            "Only the trainable variables were broadcast: what the model holds besides them differs from rank to rank.",
            "Broadcast `model.variables`, not `model.trainable_variables`: think of the averages in a batch normalisation.",
        ),
        "averaged_first_only": Diagnosis(
            "Only the first batch's gradients were averaged; after it every rank goes its own way.",
            "The tape is wrapped in every step; only the broadcast belongs to the first one.",
        ),
        "broadcast_again": Diagnosis(
            "The weights are right, but the variables are broadcast on later batches too: a whole model more per step on the network.",
            "Averaged gradients keep equal models equal: broadcast `if first_batch:` only.",
        ),
        "loss_averaged": Diagnosis(
            "The weights are right, but the loss is the mean over all ranks.",
            "Return this rank's loss: averaging it in every step is one more message per step; `finish_epoch` will do it once.",
        ),
        "wrong_loss": Diagnosis(
            "The weights are right, but what was returned is not the loss of this rank's minibatch.",
            "Return the loss as computed under the tape.",
        ),
        **HANGS,
    }

    def cases(self, rng):
        equal, own, resumed = self.levels
        cases = []
        for level, p, how in (
            (equal, 2, {}),
            (own, 3, {"own_start": True, "first_is_zero": True}),
            (resumed, 2, {"own_start": True, "first_is_zero": True, "resumed": True}),
        ):
            known = training_data(rng, p, 4, 4, **how)
            # Built on all ranks or on none: Keras gives variables made by `build` other names than those made by the first step, and
            # Horovod matches by name.
            momenta = known["momentum"] if level == resumed else [None] * p
            arguments = [
                (known["x"][r], known["y"][r], known["weights"][r], known["offsets"][r], momenta[r], known["rate"])
                for r in range(p)
            ]
            says = "4 steps of 4 samples" + (", the first one all zeros" if how else "")
            cases.append(Case(level, p, arguments, says=says, known=as_float64(known), rtol=1e-4, atol=1e-5))
        return cases

    def expected(self, case):
        return train(case.known)

    def misconceptions(self, case):
        hows = {**GRADIENTS, "broadcast_again": {"broadcast": "every"}, **STARTS}
        wrong = {name: train(case.known, **how) for name, how in hows.items()}
        wrong["averaged_first_only"] = train(case.known, gradients="first")
        wrong["loss_averaged"] = train(case.known, averaged_losses=True)
        return told_apart(case, self.expected(case), wrong)

    def facts(self, case: Case, run: Run):
        values, right = returned(run), self.expected(case)
        if first_that_fits(case, values, [("right", right)]):
            return None
        for name in ("weights", "frozen"):
            if not first_that_fits(case, [v[name] for v in values], [("right", [one[name] for one in right])]):
                return reading(case, run, ("weights", "frozen"))
        return "broadcast_again" if any(v["broadcasts later"] for v in values) else "wrong_loss"


class FinishEpoch(Exercise):
    """The end of an epoch"""

    unit, function = UNIT, "finish_epoch"
    signature = "finish_epoch(save, loss: float, accuracy: float, count: int) -> dict"
    runtime = "horovod"
    levels = {"the metrics of all samples": 1, "one checkpoint": 1}
    harness = """
import horovod.tensorflow as hvd


def harness(f, asked, epochs):
    hvd.init()
    saved, metrics = 0, []

    def save():
        nonlocal saved
        saved += 1

    for loss, accuracy, count in epochs:
        found = f(save, loss, accuracy, count)
        if not isinstance(found, dict):
            return found if asked == "metrics" or found is not None else {"checkpoints written": saved}
        metrics.append({name: getattr(value, "numpy", lambda value=value: value)() for name, value in found.items()})
    return metrics if asked == "metrics" else {"checkpoints written": saved}
"""
    diagnoses = {
        "own_only": Diagnosis(
            "Every rank returned the metrics of its own samples.", "`hvd.allreduce` brings the ranks' numbers together."
        ),
        "mean_of_means": Diagnosis(
            "This is the mean of the ranks' means: a sample on a rank with few samples counts more than one on a rank with many.",
            "Weight by counts: sum loss * count over the ranks and divide by the sum of the counts.",
        ),
        "sum_of_means": Diagnosis(
            "The ranks' means were added up.", "Sum loss * count over the ranks and divide by the sum of the counts."
        ),
        "not_divided": Diagnosis("The sums were not divided by the number of samples.", "Divide by the sum of the counts."),
        "divided_by_own_count": Diagnosis(
            "The sum over all ranks was divided by this rank's count.", "The counts have to be summed over the ranks as well."
        ),
        "divided_by_ranks": Diagnosis(
            "The sum of loss * count was divided by the number of ranks.", "Divide by the number of samples of all ranks."
        ),
        "divided_again": Diagnosis(
            "The mean over all samples was divided by the number of ranks as well: a mean of the ranks' sums over a sum of the counts.",
            "The same op for both: hvd.Sum over hvd.Sum, or hvd.Average over hvd.Average.",
        ),
        "only_one_rank": Diagnosis(
            "Rank 0 has the metrics of all samples, the others have their own.", "Every rank returns the same numbers."
        ),
        "rank_0_metrics": Diagnosis("These are the metrics of rank 0's samples.", "Broadcasting is no averaging."),
        "accuracy_not_averaged": Diagnosis(
            "The loss is right, the accuracy is this rank's own.", "Both are averaged in the same way."
        ),
        "not_a_number": Diagnosis(
            "With a rank that has no samples something is divided by its count, 0.",
            "Divide once, after the sums: the sum of all counts is not 0.",
        ),
        "every_rank_saves": Diagnosis(
            "Every rank wrote the checkpoint: all of them write to the same file at the same time.", "`if hvd.rank() == 0:`"
        ),
        "nobody_saves": Diagnosis("Nobody wrote the checkpoint.", "Rank 0 calls `save()`."),
        "all_but_the_root": Diagnosis(
            "Every rank but rank 0 wrote the checkpoint: the guard is the wrong way round.", "`if hvd.rank() == 0:`"
        ),
        "once_per_machine": Diagnosis(
            "One rank on every machine wrote the checkpoint: the local rank was asked.",
            "Only one rank of all is number 0: `hvd.rank()`.",
        ),
        "last_rank_saves": Diagnosis(
            "The last rank wrote the checkpoint.", "Rank 0 writes it, after whom all others were broadcast."
        ),
        "saves_twice": Diagnosis("The checkpoint was written more than once in an epoch.", "Call `save()` once."),
        "wrong_ranks_save": Diagnosis("It is not rank 0 alone who wrote the checkpoint.", "`if hvd.rank() == 0:`"),
        **dict.fromkeys(
            HANGS,
            Diagnosis(NOT_ALL_RANKS.why, "Every rank takes part in an allreduce; only `save()` is rank 0's alone."),
        ),
        "AttributeError": Diagnosis(
            "Something has not the attribute it was asked for. If that is `dtype`: Horovod's collectives take tensors, not plain numbers.",
            "`hvd.allreduce(tf.constant(loss), ...)`.",
        ),
        "ZeroDivisionError": Diagnosis(
            "A rank without samples has count 0, and something was divided by it.", "Divide by the sum of all counts."
        ),
    }

    def cases(self, rng):
        metrics, checkpoint = self.levels

        def epoch(counts):
            return [
                (float(rng.uniform(0.5, 2)), float(rng.uniform(0.1, 0.9)), count) if count else (0.0, 0.0, 0) for count in counts
            ]

        cases = []
        for level, asked, counts in (
            (metrics, "metrics", ((7, 40, 3), (9, 2, 0))),
            (checkpoint, "saved", ((8, 8, 8, 4), (5, 5, 5, 5))),
        ):
            epochs = [epoch(one) for one in counts]
            p = len(counts[0])
            says = "2 on each machine; " + "; ".join(f"counts {', '.join(map(str, one))}" for one in counts)
            arguments = [(asked, [one[r] for one in epochs]) for r in range(p)]
            cases.append(Case(level, p, arguments, says=says, known={"epochs": epochs}, rtol=1e-5, ranks_per_node=2))
        return cases

    @staticmethod
    def _metrics(case, combine):
        """combine(values, counts, rank) -> one number; for both metrics, in every epoch, on every rank."""
        answers = []
        for rank in range(case.world_size):
            answers.append([])
            for epoch in case.known["epochs"]:
                loss, accuracy, counts = (np.array(column) for column in zip(*epoch, strict=True))
                answers[-1].append({"loss": combine(loss, counts, rank), "accuracy": combine(accuracy, counts, rank)})
        return answers

    @staticmethod
    def _mean(values, counts, rank):
        return float((values * counts).sum() / counts.sum())

    def expected(self, case):
        if case.level == "one checkpoint":
            return self._saved(case, lambda rank: rank == 0)
        return self._metrics(case, self._mean)

    @staticmethod
    def _saved(case, who):
        return [{"checkpoints written": len(case.known["epochs"]) * int(who(rank))} for rank in range(case.world_size)]

    def misconceptions(self, case):
        p = case.world_size
        names = (
            "own_only",
            "mean_of_means",
            "sum_of_means",
            "not_divided",
            "divided_by_ranks",
            "divided_again",
            "only_one_rank",
            "rank_0_metrics",
        )
        names += ("accuracy_not_averaged", "every_rank_saves", "nobody_saves", "all_but_the_root", "once_per_machine")
        names += ("last_rank_saves", "saves_twice")
        wrong = dict.fromkeys(names)
        if case.level == "one checkpoint":
            return wrong | {
                "every_rank_saves": self._saved(case, lambda rank: 1),
                "nobody_saves": self._saved(case, lambda rank: 0),
                "all_but_the_root": self._saved(case, lambda rank: rank != 0),
                "once_per_machine": self._saved(case, lambda rank: rank % 2 == 0),
                "last_rank_saves": self._saved(case, lambda rank: rank == p - 1),
                "saves_twice": self._saved(case, lambda rank: 2 * (rank == 0)),
            }
        right, own = self._metrics(case, self._mean), self._metrics(case, lambda v, n, rank: float(v[rank]))
        return wrong | {
            "own_only": own,
            "mean_of_means": self._metrics(case, lambda v, n, rank: float(v.mean())),
            "sum_of_means": self._metrics(case, lambda v, n, rank: float(v.sum())),
            "not_divided": self._metrics(case, lambda v, n, rank: float((v * n).sum())),
            "divided_by_ranks": self._metrics(case, lambda v, n, rank: float((v * n).mean())),
            "divided_again": self._metrics(case, lambda v, n, rank: float((v * n).mean() / n.sum())),
            "only_one_rank": [right[0], *own[1:]],
            "rank_0_metrics": self._metrics(case, lambda v, n, rank: float(v[0])),
            "accuracy_not_averaged": [
                [one | {"accuracy": mine["accuracy"]} for one, mine in zip(right[r], own[r], strict=True)] for r in range(p)
            ],
        }

    def facts(self, case: Case, run: Run):
        values = returned(run)
        if case.level == "one checkpoint":
            written = [int(value["checkpoints written"]) for value in values]
            return "wrong_ranks_save" if written != [len(case.known["epochs"]), *[0] * (case.world_size - 1)] else None
        right = self._metrics(case, self._mean)
        if first_that_fits(case, values, [("right", right)]):
            return None
        numbers = np.array([[float(np.asarray(x)) for e in v for x in (e["loss"], e["accuracy"])] for v in values])
        if not np.isfinite(numbers[:, 2:]).all() and np.isfinite(numbers[:, :2]).all():
            return "not_a_number"
        first = [[v[0]] for v in values]  # the epoch in which every rank has samples
        by_own = self._metrics(case, lambda v, n, rank: float((v * n).sum() / max(n[rank], 1)))
        averaged = self._metrics(case, lambda v, n, rank: float((v * n).mean() / max(n[rank], 1)))
        names = {name: answer for name, answer in self.misconceptions(case).items() if answer}
        options = [("divided_by_own_count", by_own), ("divided_by_own_count", averaged), *names.items()]
        return first_that_fits(case, first, [(name, [one[:1] for one in answer]) for name, answer in options])


class KerasCallbacks(Exercise):
    """The Keras callbacks"""

    unit, function = UNIT, "keras_callbacks"
    signature = "keras_callbacks(scaled_rate: float, warmup_epochs: int, plateau, checkpoint) -> list"
    runtime = "horovod"
    inputs = "free"
    levels = {"one model, one learning rate": 2, "one loss, one checkpoint": 1}
    harness = """
import horovod.tensorflow.keras as hvd
import tensorflow as tf


class Reader(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_epoch_end(self, epoch, logs=None):
        self.losses.append(float(logs["loss"]))


class Watch(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.rates = []

    def on_train_batch_begin(self, batch, logs=None):
        self.rates.append(float(self.model.optimizer.learning_rate.numpy()))


def harness(f, asked, x, y, weights, scaled_rate, warmup_epochs, epochs):
    hvd.init()
    steps, samples = x.shape[0] // epochs, x.shape[1]
    x, y = (array[:steps].reshape(-1, array.shape[-1]) for array in (x, y))
    model = tf.keras.Sequential([tf.keras.layers.Dense(weights.shape[1], use_bias=False)])
    model.build((None, weights.shape[0]))
    model.set_weights([weights])
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(scaled_rate, momentum=0.9))
    model.compile(optimizer=optimizer, loss="mse", run_eagerly=True)
    plateau, checkpoint, watch = Reader(), Reader(), Watch()
    callbacks = f(scaled_rate, warmup_epochs, plateau, checkpoint)
    if not isinstance(callbacks, (list, tuple)):
        return callbacks
    try:
        model.fit(x, y, batch_size=samples, epochs=epochs, shuffle=False, verbose=0, callbacks=[*callbacks, watch])
    except AttributeError:
        if any(getattr(callback, "momentum_correction", False) for callback in callbacks):
            return "LearningRateWarmupCallback raised AttributeError"
        raise
    if asked == "losses":
        return {"losses plateau saw": plateau.losses, "losses checkpoint saw": checkpoint.losses}
    return {"learning rates": watch.rates, "weights": model.get_weights()[0].ravel()}
"""
    diagnoses = {
        **{name: TEXTS[name] for name in ("wrong_root", "no_average")},
        "no_broadcast": Diagnosis(NO_BROADCAST.why, "`hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0)`, on every rank."),
        "no_warmup": Diagnosis(
            "The learning rate was the whole scaled rate from the first batch on.",
            "`hvd_keras.callbacks.LearningRateWarmupCallback(initial_lr=scaled_rate, warmup_epochs=warmup_epochs, ...)`.",
        ),
        "unscaled": Diagnosis(
            "The warm-up ends at the rate of one process: it climbs from scaled_rate / p**2 to scaled_rate / p.",
            "initial_lr is the rate at the end of the warm-up, scaled_rate.",
        ),
        "scaled_twice": Diagnosis(
            "The warm-up ends at scaled_rate times the number of ranks: the rate was scaled twice.",
            "initial_lr is the rate at the end of the warm-up: scaled_rate as it is.",
        ),
        "wrong_rates": Diagnosis(
            "The learning rate does not climb from scaled_rate / p to scaled_rate, batch by batch, in warmup_epochs epochs.",
            "`LearningRateWarmupCallback(initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False)`.",
        ),
        "momentum_correction": Diagnosis(
            "LearningRateWarmupCallback wants to correct the momentum, which in this Keras is a plain number it cannot set.",
            "Give it `momentum_correction=False`.",
        ),
        "metrics_not_averaged": Diagnosis(
            "The callbacks saw the loss of this rank's samples: on every rank they would decide otherwise.",
            "`hvd_keras.callbacks.MetricAverageCallback()` comes before every callback that reads metrics.",
        ),
        "plateau_too_early": Diagnosis(
            "plateau saw the loss of this rank alone, so that each rank would lower its rate at another time.",
            "Keras calls callbacks in the order of the list: MetricAverageCallback comes first, then those that read metrics.",
        ),
        "checkpoint_too_early": Diagnosis(
            "checkpoint saw the loss of rank 0 alone.",
            "Keras calls callbacks in the order of the list: MetricAverageCallback comes first, then those that read metrics.",
        ),
        "every_rank_saves": Diagnosis(
            "Every rank saves: all of them write to the same file.", "Append checkpoint `if hvd.rank() == 0:` only."
        ),
        "nobody_saves": Diagnosis("Nobody saves.", "Rank 0's list holds checkpoint."),
        "all_but_the_root": Diagnosis(
            "Every rank but rank 0 saves: the guard is the wrong way round.", "Append checkpoint `if hvd.rank() == 0:`."
        ),
        "plateau_on_rank_0_only": Diagnosis(
            "Only rank 0 has plateau: it would lower its learning rate, and the others would not.",
            "Every rank's list holds plateau.",
        ),
        "no_plateau": Diagnosis("plateau is in nobody's list.", "Every rank's list holds plateau."),
        **dict.fromkeys(
            HANGS,
            Diagnosis(NOT_ALL_RANKS.why, "Broadcasting and averaging are collectives: those callbacks belong on every rank."),
        ),
    }

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
            known["offsets"][:] = 0
            rate, warmup = 0.05 * p, 2
            arguments = [(asked, known["x"][r], known["y"][r], known["weights"][r], rate, warmup, epochs) for r in range(p)]
            says = f"{epochs} epoch{'s' * (epochs > 1)} of {steps} step{'s' * (steps > 1)}, warmup_epochs = {warmup}"
            more = {"epochs": epochs, "scaled": rate, "warmup": warmup}
            cases.append(Case(level, p, arguments, says=says, known=as_float64(known) | more, rtol=1e-4, atol=1e-5))
        return cases

    @staticmethod
    def _rates(case, end=1.0, warmup=True):
        """The rate of every batch: LearningRateWarmupCallback is one batch ahead, so that an epoch ends on a round number."""
        p, epochs, total = case.world_size, case.known["epochs"], case.known["x"].shape[1]
        done = (np.arange(total) + 1) / (total // epochs) / case.known["warmup"]
        return (
            case.known["scaled"] * end * (np.minimum(1, done) * (p - 1) + 1) / p
            if warmup
            else np.full(total, case.known["scaled"])
        )

    def _trained(self, case, end=1.0, warmup=True, **how):
        rates = self._rates(case, end, warmup)
        return [{"learning rates": list(rates), "weights": one["weights"]} for one in train(case.known, rates=rates, **how)]

    @staticmethod
    def _seen(case, plateau="mean", checkpoint="mean", saves=lambda rank: rank == 0, lowers=lambda rank: True):
        """What both callbacks saw in the only epoch, of one batch: the loss before the first step."""
        one_step = {**case.known, "x": np.tile(case.known["x"], (1, 2, 1, 1)), "y": np.tile(case.known["y"], (1, 2, 1, 1))}
        own = [one["losses from step 1 on"][0] for one in train(one_step, gradients="none")]
        seen = {"mean": [float(np.mean(own))] * case.world_size, "own": own}
        return [
            {
                "losses plateau saw": [seen[plateau][rank]] if lowers(rank) else [],
                "losses checkpoint saw": [seen[checkpoint][rank]] if saves(rank) else [],
            }
            for rank in range(case.world_size)
        ]

    def expected(self, case):
        return self._trained(case) if case.level == "one model, one learning rate" else self._seen(case)

    def misconceptions(self, case):
        names = (
            "no_broadcast",
            "wrong_root",
            "no_warmup",
            "unscaled",
            "scaled_twice",
            "momentum_correction",
            "metrics_not_averaged",
        )
        names += ("plateau_too_early", "checkpoint_too_early", "every_rank_saves", "nobody_saves", "all_but_the_root")
        names += ("plateau_on_rank_0_only", "no_plateau")
        p = case.world_size
        wrong = dict.fromkeys(names)
        wrong["momentum_correction"] = ["LearningRateWarmupCallback raised AttributeError"] * p
        if case.level == "one model, one learning rate":
            return wrong | {
                "no_broadcast": self._trained(case, broadcast="never"),
                "wrong_root": self._trained(case, broadcast="1"),
                "no_warmup": self._trained(case, warmup=False),
                "unscaled": self._trained(case, end=1 / p),
                "scaled_twice": self._trained(case, end=p),
            }
        return wrong | {
            "metrics_not_averaged": self._seen(case, plateau="own", checkpoint="own"),
            "plateau_too_early": self._seen(case, plateau="own"),
            "checkpoint_too_early": self._seen(case, checkpoint="own"),
            "every_rank_saves": self._seen(case, saves=lambda rank: True),
            "nobody_saves": self._seen(case, saves=lambda rank: False),
            "all_but_the_root": self._seen(case, saves=lambda rank: rank != 0),
            "plateau_on_rank_0_only": self._seen(case, lowers=lambda rank: rank == 0),
            "no_plateau": self._seen(case, lowers=lambda rank: False),
        }

    def facts(self, case: Case, run: Run):
        values, right = returned(run), self.expected(case)
        if first_that_fits(case, values, [("right", right)]):
            return None
        if case.level == "one model, one learning rate":
            rates = [one["learning rates"] for one in values]
            wrong_rates = not first_that_fits(case, rates, [("right", [one["learning rates"] for one in right])])
            if wrong_rates:
                return first_that_fits(
                    case,
                    rates,
                    [
                        ("no_warmup", [list(self._rates(case, warmup=False))] * case.world_size),
                        ("unscaled", [list(self._rates(case, end=1 / case.world_size))] * case.world_size),
                        ("scaled_twice", [list(self._rates(case, end=case.world_size))] * case.world_size),
                        ("wrong_rates", rates),
                    ],
                )
            return None
        plateau, checkpoint = ([one[f"losses {name} saw"] for one in values] for name in ("plateau", "checkpoint"))
        saving = [bool(seen) for seen in checkpoint]
        if not any(saving):
            return "nobody_saves"
        if saving != [True] + [False] * (case.world_size - 1):
            return "every_rank_saves" if all(saving) else "all_but_the_root" if not saving[0] else "every_rank_saves"
        if not all(plateau):
            return "plateau_on_rank_0_only" if any(plateau) else "no_plateau"
        return "metrics_not_averaged"


class TrainTorch(Exercise):
    """The same in PyTorch"""

    unit, function = UNIT, "train_torch"
    signature = (
        "train_torch(model: torch.nn.Module, optimizer: torch.optim.Optimizer, checkpoint, loss_function, batches: list) -> None"
    )
    runtime = "horovod"
    inputs = "free"
    levels = {"all start equal": 1, "rank 0 goes on from a checkpoint": 2}
    harness = """
import horovod.torch as hvd
import torch


def harness(f, x, y, weights, momentum, rate):
    hvd.init()
    model = torch.nn.Linear(*weights.shape, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(weights.T.copy()))
    optimizer, checkpoint = (torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9) for _ in range(2))
    if momentum is not None:
        checkpoint.state[model.weight]["momentum_buffer"] = torch.from_numpy(-momentum.T.copy() / rate)
    checkpoint = None if momentum is None else checkpoint.state_dict()
    batches = [(torch.from_numpy(x[step]), torch.from_numpy(y[step])) for step in range(len(x))]

    def loss_function(prediction, y):
        return torch.nn.functional.mse_loss(prediction, y.detach())  # what stands for the labels learns nothing

    f(model, optimizer, checkpoint, loss_function, batches)
    return {"weights": model.weight.detach().numpy().T.ravel()}
"""
    diagnoses = {
        **{name: text for name, text in TEXTS.items() if name != "rank_0_gradients"},
        "no_average": Diagnosis(
            NO_AVERAGE.why,
            "`hvd_torch.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())`, and step with that one.",
        ),
        "no_broadcast": Diagnosis(NO_BROADCAST.why, "`hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)`."),
        "optimizer_not_broadcast": Diagnosis(
            OPTIMIZER_NOT_BROADCAST.why, "`hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)`."
        ),
        "rank_0_gradients": RANK_0_GRADIENTS,
        "momentum_lost": Diagnosis(
            "The ranks hold the same model, but the momentum of rank 0's checkpoint is lost: DistributedOptimizer makes a new optimizer, "
            "which takes over the parameters and the learning rate of the old one and not its state.",
            "Load the checkpoint into the DistributedOptimizer, then broadcast its state.",
        ),
        "gradients_pile_up": Diagnosis(
            "The gradients of all earlier steps are still in every step.", "`optimizer.zero_grad()` before every `backward()`."
        ),
        "AssertionError": Diagnosis(
            "A rule of Horovod's optimizer was broken, most likely this one: every `backward()` is followed by `step()` of the *wrapped* "
            "optimizer, and only then by the next zero_grad() or backward().",
            "Wrap once, and from then on use what DistributedOptimizer gave you: `zero_grad()`, `backward()`, `step()`, in that order.",
        ),
        **dict.fromkeys(
            HANGS,
            Diagnosis(
                NOT_ALL_RANKS.why,
                f"{NOT_ALL_RANKS.how} Collectives meet by name: `broadcast_object` takes the type of its object for one, so objects of "
                "different types on different ranks (here a dict and None) need the same `name=`.",
            ),
        ),
    }

    def cases(self, rng):
        equal, resumed = self.levels
        cases = []
        for level, p, how in (
            (equal, 3, {}),
            (resumed, 2, {"own_start": True, "first_is_zero": True, "resumed": True}),
        ):
            known = training_data(rng, p, 4, 4, **how)
            known["offsets"][:] = 0
            momenta = [known["momentum"][0], *[None] * (p - 1)] if level == resumed else [None] * p
            arguments = [(known["x"][r], known["y"][r], known["weights"][r], momenta[r], known["rate"]) for r in range(p)]
            says = "4 steps of 4 samples" + (", the first one all zeros" if how else "")
            cases.append(Case(level, p, arguments, says=says, known=as_float64(known), rtol=1e-4, atol=1e-5))
        return cases

    @staticmethod
    def _weights(answers):
        return [{"weights": answer["weights"]} for answer in answers]

    def expected(self, case):
        return self._weights(train(case.known))

    def misconceptions(self, case):
        hows = {name: how for name, how in (GRADIENTS | STARTS).items() if name != "frozen_not_broadcast"}
        hows["gradients_pile_up"] = {"piled_up": True}
        hows["momentum_lost"] = {"momentum": "lost"}
        hows["model_not_broadcast"] = {"broadcast": "optimizer before"}
        hows["optimizer_not_broadcast"] = {"broadcast": "before", "momentum": "never"}
        wrong = {name: self._weights(train(case.known, **how)) for name, how in hows.items()}
        return told_apart(case, self.expected(case), wrong)

    def facts(self, case: Case, run: Run):
        if first_that_fits(case, returned(run), [("right", self.expected(case))]):
            return None
        return reading(case, run, ("weights",))
