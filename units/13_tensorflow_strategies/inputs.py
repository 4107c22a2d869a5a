"""Inputs for unit 13."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.inputs.common import SEEDS
from autograder.inputs.strategies import plain_cases
from autograder.values import full_precision

HOSTS = ["a:1", "a:2", "a:12", "b:1", "node10:20000", "localhost:12345", "10.0.0.1:80"]


def tf_config(exercise):
    hosts = st.lists(st.sampled_from(HOSTS), max_size=5)
    return plain_cases(exercise, hosts=hosts, indices=st.lists(st.integers(-2, 5), min_size=1, max_size=3))


def mirrored_gradients(exercise):
    """More replicas than samples, one of each, one output, and errors that are all alike."""

    def case(drawn):
        seed, replicas, n, features, outputs = drawn
        rng = np.random.default_rng(seed)
        shapes = {"x": (n, features), "y": (n, outputs), "weights": (features, outputs), "offset": (outputs,)}
        known = {name: full_precision(rng, -1, 1, shape) for name, shape in shapes.items()}
        level = list(exercise.levels)[n % replicas > 0]
        return exercise.case(level, {"replicas": replicas} | known, f"{n} samples, {replicas} replicas")

    small = st.integers(1, 4)
    return st.tuples(SEEDS, small, st.integers(1, 7), small, small).map(case)


def global_loss(exercise):
    def case(drawn):
        seed, counts, penalty = drawn
        rng = np.random.default_rng(seed)
        shares = [full_precision(rng, 1, 2, (n,)) for n in counts]
        known = {"shares": shares, "penalty": np.asarray(penalty)}
        return exercise.case(list(exercise.levels)[1], known, f"{counts} samples")

    counts = st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any)
    return st.tuples(SEEDS, counts, st.sampled_from([0.0, 0.75, -1.5])).map(case)


def distribute(exercise):
    """One sample, fewer than a step holds, and as many as steps hold."""

    def case(drawn):
        n, batch, workers, replicas = drawn
        known = {"samples": np.arange(n) + 100, "batch": batch, "workers": workers, "replicas": replicas}
        says = f"{n} samples, batch = {batch}, {workers} workers of {replicas} replicas"
        return exercise.case(list(exercise.levels)[workers > 1], known, says)

    small = st.integers(1, 4)
    return st.tuples(st.integers(1, 30), small, st.integers(1, 3), st.integers(1, 3)).map(case)


def port(exercise):
    def case(drawn):
        seed, replicas, index, steps, local_batch, epochs = drawn
        rng = np.random.default_rng(seed)
        n = steps * local_batch * replicas
        known = {"replicas": replicas, "index": index, "epochs": epochs, "local_batch": local_batch, "rate": 0.0625}
        known |= {"x": full_precision(rng, -1, 1, (n, 3)), "y": full_precision(rng, 1, 2, (n, 2))}
        known["weights"] = full_precision(rng, -1, 1, (3, 2))
        return exercise.case(list(exercise.levels)[index > 0], known, f"worker {index}, {n} samples, {epochs} epochs")

    small = st.integers(1, 3)
    return st.tuples(SEEDS, small, st.integers(0, 3), small, small, st.integers(0, 3)).map(case)


INPUTS = {
    "tf_config": tf_config,
    "mirrored_gradients": mirrored_gradients,
    "global_loss": global_loss,
    "distribute": distribute,
    "port": port,
}
