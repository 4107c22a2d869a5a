"""Unit 07's parts that need no ranks."""

from __future__ import annotations

import numpy as np
import pytest
from machine import needs


@needs("horovod")
def test_distances_between_runs(capsys):
    from labkit.lessons import eight_steps

    runs = [[np.zeros(2), np.ones(2)], [np.full(2, 3.0), np.full(2, 4.5)]]
    assert eight_steps.between_ranks(runs) == [3, 3.5]
    assert eight_steps.between_paths(runs) == [0, 0.5]
    assert eight_steps.from_sequential([np.zeros(2), np.zeros(2)])(runs) == [3, 4.5]
    eight_steps.draw_differences([{"a": run} for run in runs], {"between ranks": eight_steps.between_ranks})
    eight_steps.print_differences([runs[0][1], runs[1][1]], np.ones(2))
    said = capsys.readouterr().out
    assert "between ranks          3.5e+00" in said and "sequential run  3.5e+00" in said
    eight_steps.print_evidence([np.zeros(2)] * 2, [[0, 1], [1]], [[], ["epoch 0"]], 4)
    assert "2 of 4" in capsys.readouterr().out


@needs("horovod")
def test_a_model_starts_where_its_seed_says():
    from labkit.lessons import eight_steps

    first, again, other = (eight_steps.weights_of(eight_steps.new_model(seed)) for seed in (0, 0, 1))
    assert first.shape == (784 * 32 + 32 + 32 * 10 + 10,)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    x, y = eight_steps.as_tensors(np.zeros((64, 28, 28, 1), "float32"), np.zeros(64, np.int64))
    assert x.shape == (64, 1, 28, 28) and y.shape == (64,)
    assert eight_steps.torch_alone(x.movedim(1, -1).numpy(), y.numpy(), 2).size == first.size
    eight_steps.draw_rates([0.02, 0.04], [0.03, 0.04], 2)
    eight_steps.draw_throughput({1: (100.0, 1.0), 2: (150.0, 2.0)})
    assert pytest.approx(0.02) == eight_steps.BASE_RATE
