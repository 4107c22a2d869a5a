"""The machinery of unit 08: the traffic of a ring and of a tree takes the time of the formulas; runs become curves."""

import numpy as np
import pytest

from labkit.lessons import scaling_laws
from labkit.scaling import Estimate

pytestmark = pytest.mark.usefixtures("warm")


def test_a_ring_and_a_tree_take_the_time_of_their_formulas():
    virtual, off = scaling_laws.simulated({4096: (2, 4)}, 5e-6, 1e-10)
    assert set(virtual) == {(kind, 4096, p) for kind in ("ring", "tree") for p in (2, 4)}
    assert off < 0.01


def test_measured_runs_become_curves_with_errors():
    def times_of(experiment):
        return [np.full(4, 1.0), np.full(4, 0.5)]

    def efficiency(worlds, batches, means):
        return "strong", means[0] / means / worlds

    def speedup(baseline, parallel):
        return baseline.mean() / parallel.mean(), 0.2

    experiments = {"fixed": [8, 8], "no communication": [8, 16]}
    curves, efficiencies = scaling_laws.scaled_runs(experiments, [1, 2], times_of, efficiency, speedup)
    assert list(curves) == ["fixed (strong)", "no communication (bound)"]
    (worlds, found), (_, speedups) = efficiencies["fixed (strong)"], curves["fixed (strong)"]
    assert worlds == [1, 2] and found == [Estimate(1.0, 0.0, 3), Estimate(1.0, 0.1, 3)]
    assert speedups[1] == Estimate(2.0, 0.2, 3)


def test_efficiency_from_another_baseline():
    rates = {1: Estimate(100.0), 2: Estimate(150.0), 4: Estimate(300.0)}
    worlds, found = scaling_laws.efficiencies_from(2, rates)
    assert worlds == [2, 4] and [one.value for one in found] == [1.0, 1.0]
    assert [one.value for one in scaling_laws.efficiencies_from(1, rates)[1]] == [1.0, 0.75, 0.75]


def test_predictions_have_a_curve_for_each_size_and_share_hidden():
    def step_seconds(p, images, seconds_per_image, hidden):
        return images / p * seconds_per_image + (1 - hidden)

    def efficiency(worlds, batches, times):
        return "weak", times[0] / times

    curves = scaling_laws.predicted(step_seconds, efficiency, {"local 4": [4, 8]}, [1, 2], seconds_per_image=1.0)
    assert list(curves) == ["local 4, two thirds hidden", "local 4, nothing hidden"]
    assert curves["local 4, nothing hidden"][1].tolist() == [1.0, 1.0]
