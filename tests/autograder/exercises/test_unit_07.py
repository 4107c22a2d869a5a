"""Unit 07: what the course's own answers compute on real Horovod, held against sequential training written without the
exercises.
"""

from __future__ import annotations

import numpy as np
import pytest

from autograder.answers import sources
from autograder.exercise import rng_for
from autograder.judging.judge import Runners, chunks_of_file
from autograder.registry import find

UNIT = "07_horovod"
RIGHT = {"horovod_step": "right_broadcast_after", "train_torch": "right_as_documented"}


def sequential(known: dict) -> np.ndarray:
    """Rank 0's model trained by one process on the global batches: x W + c, mean squared error, SGD with momentum 0.9."""
    weights, velocity = known["weights"][0], -known["momentum"][0] / known["rate"]
    for step in range(known["x"].shape[1]):
        x, y = (np.concatenate(known[name][:, step]) for name in ("x", "y"))
        gradient = 2 / y.size * x.T @ (x @ weights + known["offsets"][0] - y)
        velocity = 0.9 * velocity + gradient
        weights = weights - known["rate"] * velocity
    return weights.ravel()


@pytest.mark.parametrize("function", RIGHT)
def test_ranks_end_equal_and_as_the_sequential_run_on_the_global_batch(function, warm, warm_horovod):
    exercise = find(function, UNIT)
    source = sources(UNIT, function)[RIGHT[function]]
    chunks = chunks_of_file(source, function, "answer.py")
    with Runners(warm) as runners:
        for case in exercise.cases(rng_for(exercise, "sequential")):
            outcome, _ = runners.run(exercise, case, chunks, seed=1)
            assert [rank.state for rank in outcome.ranks] == ["returned"] * case.world_size
            weights = [rank.value["weights"] for rank in outcome.ranks]
            for other in weights[1:]:
                np.testing.assert_array_equal(other, weights[0])
            np.testing.assert_allclose(weights[0], sequential(case.known), rtol=1e-5, atol=1e-5)
