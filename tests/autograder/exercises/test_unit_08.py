"""What the exercises of unit 08 expect, against truth from elsewhere: definitions, derivatives, and messages sent one
by one.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from autograder.exercise import rng_for
from autograder.registry import module_of

unit = module_of("08_scaling")

KEYS = ["public", "key 1", "key 2"]
every_key = pytest.mark.parametrize("key", KEYS)


def cases_of(exercise, key):
    return exercise.cases(rng_for(exercise, key))


def ring_seconds(p: int, nbytes: float, alpha: float, beta: float) -> float:
    """A ring all-reduce on p clocks: in each of its steps every rank waits for its left neighbour's chunk. No formula."""
    clocks = [0.0] * p
    for _ in range(2 * (p - 1)):
        arrivals = [clock + alpha + nbytes / p * beta for clock in clocks]
        clocks = [max(arrivals[rank], arrivals[rank - 1]) for rank in range(p)]
    return max(clocks)


@every_key
def test_a_throughput_counts_images_and_seconds_one_by_one(key):
    for case in cases_of(unit.Throughput(), key):
        sizes, seconds, warmup = case.arguments_of(0)
        images, time = 0, 0.0
        for step, duration in enumerate(seconds):
            if step >= warmup:
                images, time = images + sum(sizes), time + duration
        assert unit.Throughput().expected(case)[0][0] == pytest.approx(images / time)


@every_key
def test_a_speedup_has_the_error_of_many_repetitions(key):
    """First order: 100,000 pairs of means drawn with the two standard errors scatter by the error that is expected."""
    rng = np.random.default_rng(0)
    for case in cases_of(unit.SpeedupWithError(), key):
        slow, fast = case.arguments_of(0)
        drawn = [
            one.mean() + one.std(ddof=1) / math.sqrt(len(one)) * rng.standard_normal(100_000) for one in (slow, fast)
        ]
        value, error = unit.SpeedupWithError().right(case)
        assert value == pytest.approx(np.mean(slow) / np.mean(fast))
        low, high = np.quantile(drawn[0] / drawn[1], [0.1587, 0.8413])
        assert (high - low) / 2 == pytest.approx(error, rel=0.05)


@every_key
def test_amdahls_law_of_a_serial_fraction_is_the_speedup_and_its_error_a_derivative(key):
    for case in cases_of(unit.SerialFraction(), key):
        p, s, ds = case.arguments_of(0)
        fraction, error = unit.SerialFraction().right(case)
        if p == 1:
            assert math.isnan(fraction) and math.isnan(error)
            continue
        assert 1 / (fraction + (1 - fraction) / p) == pytest.approx(s)
        above, below = ((1 / (s + h) - 1 / p) / (1 - 1 / p) for h in (1e-5 * s, -1e-5 * s))
        assert (below - above) / (2e-5 * s) * ds == pytest.approx(error, rel=1e-6)


@every_key
def test_an_efficiency_is_images_per_second_and_rank_of_the_first_row(key):
    kinds = set()
    for case in cases_of(unit.ScalingEfficiency(), key):
        ranks, batches, seconds = case.arguments_of(0)
        kind, values = unit.ScalingEfficiency().expected(case)[0]
        kinds.add(kind)
        for row, value in enumerate(values):
            perfect = batches[0] / seconds[0] * ranks[row] / ranks[0]  # images per second, if nothing were lost
            assert value * perfect == pytest.approx(batches[row] / seconds[row])
        local_batches = {Fraction(int(batch), int(p)) for batch, p in zip(batches, ranks, strict=True)}
        same_global, same_local = len(set(batches)) == 1, len(local_batches) == 1
        assert kind == ("strong" if same_global else "weak" if same_local else "neither")
    assert kinds == {"strong", "weak", "neither"}


@every_key
def test_the_times_to_fit_are_those_of_a_ring_whose_messages_are_sent(key):
    for case in cases_of(unit.AlphaBetaFromRing(), key):
        p, sizes, seconds = case.arguments_of(0)
        alpha, beta = unit.AlphaBetaFromRing().expected(case)[0]
        sent = np.array([ring_seconds(p, n, alpha, beta) for n in sizes])
        exact = case.level == list(unit.AlphaBetaFromRing.levels)[0]
        np.testing.assert_allclose(seconds, sent, rtol=1e-9 if exact else 0.5)
        if exact:
            continue
        assert np.abs(seconds / sent - 1).min() > 1e-4, "no measurement lies on the line"
        for weights in (None, 1 / seconds, seconds**-0.5, seconds**-2, 1 / sizes, sizes**-0.5):
            slope, constant = np.polyfit(sizes, seconds, 1, w=weights)
            assert [constant / (2 * (p - 1)), slope * p / (2 * (p - 1))] == pytest.approx(
                [alpha, beta], rel=case.rtol / 2
            )


@every_key
def test_a_step_is_the_largest_share_and_what_of_a_ring_does_not_fit_behind_it(key):
    for case in cases_of(unit.StepSeconds(), key):
        p, batch, per_image, parameters, alpha, beta, hidden = case.arguments_of(0)
        compute = max(map(len, np.array_split(np.arange(batch), p))) * per_image
        begins = compute - hidden * compute  # the ring may run from here on
        ends = max(compute, begins + ring_seconds(p, 4 * parameters, alpha, beta))
        assert unit.StepSeconds().expected(case) == [pytest.approx(ends)]
