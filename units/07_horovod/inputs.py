"""Inputs for unit 07."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.exercises.kinds import on_ranks
from autograder.inputs.common import RANKS
from autograder.inputs.strategies import plain_cases
from autograder.registry import module_of

UNIT = module_of("07_horovod")
GENERATORS = st.integers(0, 2**31).map(np.random.default_rng)


def init_and_pin(exercise):
    """Ranks on machines of any number of ranks each, one after the other or in turn; GPUs for all of them, or none."""

    def case(counts, in_turn, more):
        places = [(local, machine) for machine, count in enumerate(counts) for local in range(count)]
        gpus = st.just(0 if more is None else max(counts) + more)
        places = sorted(places) if in_turn else places
        return plain_cases(exercise, places=st.just(places), gpus=gpus, order=st.permutations(list(range(len(places)))))

    counts = st.lists(st.integers(1, 4), min_size=1, max_size=3)
    return st.tuples(counts, st.booleans(), st.none() | st.integers(0, 2)).flatmap(lambda drawn: case(*drawn))


def shard_dataset(exercise):
    def case(rng, p, n, batch):
        return exercise.case(rng, next(iter(exercise.levels)), p, ((n, batch),), "")

    return st.builds(case, GENERATORS, st.integers(1, 4), st.integers(1, 20), st.integers(1, 4))


def learning_rate(exercise):
    steps = st.integers(0, 12) | st.sampled_from([0, 10**6])
    return plain_cases(
        exercise,
        steps=st.lists(steps, min_size=1, max_size=5),
        base_rate=st.sampled_from([0.0, 1e-6, 0.1, 0.3, 1.0, 100.0]),
        world_size=RANKS | st.just(10_000),
        warmup_steps=st.integers(0, 12),
    )


TRAINING = {"p": st.integers(1, 4), "steps": st.integers(1, 3), "n": st.integers(1, 4)}
SHAPE = {"inputs": st.integers(1, 3), "outputs": st.integers(1, 3)}
OWN = {"own_start": True, "first_is_zero": True}  # who broadcasts before a step and who behind it then agree
LIKE = st.sampled_from([{}, OWN, OWN | {"resumed": True}])


def trained(more=None):
    """The beginning of a training on one rank and more, in steps of one sample and more: equal models, one on each
    rank, and rank 0 with a momentum; first the generator, then what `training_data` takes, then what `more` adds."""
    sizes = st.fixed_dictionaries(TRAINING | SHAPE | {"first_is_zero": st.booleans()})
    return st.tuples(GENERATORS, sizes, LIKE, st.fixed_dictionaries(more or {}))


def horovod_step(exercise):
    def case(drawn):
        rng, sizes, how, _ = drawn
        equal, own, resumed = exercise.levels
        known = UNIT.training_data(rng, **(sizes | how))
        known["built"] = list(known["momentum"]) if "resumed" in how else [None] * sizes["p"]
        level = resumed if "resumed" in how else own if how else equal
        known["first"] = int(bool(how))
        return UNIT.training_case(level, sizes["p"], UNIT.STEP, known, str(sizes))

    return trained().map(case)


def finish_epoch(exercise):
    """Ranks without a sample, rank 0 among them, and counts that float32 has not; several epochs, and one."""

    def row(loss, accuracy, n):  # a whole number of samples is right
        return (loss, round(accuracy * n) / n, n) if n else (0.0, 0.0, 0)

    def case(drawn):
        p, asked, drawn_counts, metrics = drawn
        counts = [one if any(one[:p]) else (1, *one[1:]) for one in drawn_counts]
        rows = [[row(*metrics[(k + r) % 4], n) for r, n in enumerate(one[:p])] for k, one in enumerate(counts)]
        known = {"asked": asked, "epochs": rows, "own": list(zip(*rows, strict=True))}
        level = list(exercise.levels)[asked == "saved"]
        says = "; ".join(f"counts {', '.join(map(str, one[:p]))}" for one in counts)
        return on_ranks(level, p, "asked own[r]", known, says, rtol=1e-5, ranks_per_node=2)

    some = st.integers(1, 50) | st.just(2**24 + 1)
    of_ranks = st.tuples(*[st.just(0) | some] * 4)
    numbers = st.tuples(st.floats(0, 8, width=32), st.sampled_from([0.0, 0.25, 1.0]))
    asked, epochs = st.sampled_from(["metrics", "saved"]), st.lists(of_ranks, min_size=1, max_size=3)
    return st.tuples(st.integers(1, 4), asked, epochs, st.lists(numbers, min_size=4, max_size=4)).map(case)


def keras_callbacks(exercise):
    """A warm-up that ends with the first epoch, in the middle of the training, and behind it."""

    def case(drawn):
        rng, sizes, how, more = drawn
        model, metrics = exercise.levels
        if more["asked"] == "losses":  # of the first batch of the only epoch
            sizes, more = sizes | {"steps": 1}, more | {"epochs": 1}
        how = {name: value for name, value in how.items() if name != "resumed" and more["asked"] == "weights"}
        known = UNIT.training_data(rng, **(sizes | how))
        for name in ("x", "y"):  # every epoch goes through the same minibatches
            known[name] = np.tile(known[name], (1, more["epochs"], 1, 1))
        known |= more | {"scaled": 0.05 * sizes["p"]}
        level = model if more["asked"] == "weights" else metrics
        return UNIT.training_case(level, sizes["p"], UNIT.CALLBACKS, known, str(more))

    asked = st.sampled_from(["weights", "losses"])
    return trained({"asked": asked, "epochs": st.integers(1, 3), "warmup": st.integers(1, 4)}).map(case)


def train_torch(exercise):
    def case(drawn):
        rng, sizes, how, _ = drawn
        equal, resumed = exercise.levels
        known = UNIT.training_data(rng, **(sizes | how))
        known["offsets"][:] = 0
        known["saved"] = [known["momentum"][0] if "resumed" in how else None, *[None] * (sizes["p"] - 1)]
        names = "x[r] y[r] weights[r] saved[r] rate"
        return UNIT.training_case(resumed if how else equal, sizes["p"], names, known, str(sizes))

    return trained().map(case)


INPUTS = {
    "init_and_pin": init_and_pin,
    "shard_dataset": shard_dataset,
    "learning_rate": learning_rate,
    "horovod_step": horovod_step,
    "finish_epoch": finish_epoch,
    "keras_callbacks": keras_callbacks,
    "train_torch": train_torch,
}
