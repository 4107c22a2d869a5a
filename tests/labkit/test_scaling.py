"""Throughput, speedup and the laws: against scipy, against each other, and against a network whose times are exact."""

from __future__ import annotations

import itertools
import math

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import stats

from labkit import palette, plots, scaling
from labkit.scaling import Estimate

ALCF = {1: (281.22, 75.79), 2: (382.01, 8.42), 4: (689.22, 77.78), 8: (1341.25, 52.51)}  # images/s and sd of 10 steps


@pytest.mark.parametrize("dof", [1, 2, 7, 30, 31, 60, 1000])
def test_student_t_is_scipys(dof):
    assert scaling.student_t(dof) == pytest.approx(stats.t.ppf(0.975, dof), rel=2e-4)
    assert scaling.student_t(math.inf) == pytest.approx(1.959964, abs=1e-6)


def test_an_estimate_is_mean_and_standard_error():
    seconds = [0.11, 0.09, 0.1, 0.12, 0.1]
    found = scaling.estimate(seconds)
    low, high = stats.t.interval(0.95, 4, loc=np.mean(seconds), scale=stats.sem(seconds))
    assert (found.value, found.error) == pytest.approx((np.mean(seconds), stats.sem(seconds)))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-4)


def test_throughput_is_all_images_over_all_seconds():
    seconds = [9.0, 0.1, 0.1, 0.4]
    found = scaling.throughput(64, seconds, warmup=1)
    assert found.value == pytest.approx(3 * 64 / 0.6)
    assert found.value < np.mean(64 / np.array(seconds[1:])), "the mean of rates forgets that slow steps last longer"
    assert found.error / found.value == pytest.approx(stats.sem(seconds[1:]) / 0.2)
    assert found.dof == pytest.approx(2)


def test_a_ratio_carries_both_errors():
    found = scaling.ratio(Estimate(10, 0.3, 9), Estimate(5, 0.2, 9))
    assert found.value == 2
    assert found.error == pytest.approx(2 * math.hypot(0.03, 0.04))
    assert 9 < found.dof < 18
    assert scaling.ratio(Estimate(10, 0.3, 9), Estimate(5)).dof == pytest.approx(9)
    assert scaling.ratio(Estimate(10), Estimate(5)) == Estimate(2)


def test_speedup_against_many_repetitions():
    """The error that is computed from five runs is the scatter that thousands of such experiments show."""
    rng = np.random.default_rng(0)
    slow, fast = rng.normal(8, 0.2, (4000, 5)), rng.normal(2, 0.1, (4000, 5))
    found = [scaling.speedup(a, b) for a, b in zip(slow, fast, strict=True)]
    assert np.std([s.value for s in found]) == pytest.approx(np.sqrt(np.mean([s.error**2 for s in found])), rel=0.05)
    assert 0.93 < np.mean([s.low < 4 < s.high for s in found]) < 0.97


def test_efficiency_is_speedup_per_rank():
    assert scaling.efficiency(Estimate(6, 0.3, 4), 8) == Estimate(0.75, 0.0375, 4)
    assert scaling.efficiency(3.0, 16, baseline_p=4).value == 0.75


def test_the_published_resnet_of_alcf():
    rates = {p: Estimate(mean, sd / math.sqrt(10), 9) for p, (mean, sd) in ALCF.items()}
    speedups = {p: scaling.scaled_speedup(rates[1], rate) for p, rate in rates.items()}
    percent = [round(100 * scaling.efficiency(speedups[p], p).value) for p in (2, 4, 8)]
    assert percent == [68, 61, 60]
    assert scaling.efficiency(scaling.scaled_speedup(rates[2], rates[8]), 8, baseline_p=2).value == pytest.approx(
        0.878, abs=1e-3
    )
    serial = [scaling.karp_flatt(speedups[p], p).value for p in (2, 4, 8)]
    assert serial == sorted(serial, reverse=True), "it falls, so no serial fraction describes these runs"


def test_the_laws_are_each_others_inverse():
    p = np.array([2, 3, 8, 64, 4096])
    for f in (0.0, 0.03, 0.5, 1.0):
        speedups = scaling.amdahl(f, p)
        assert [scaling.karp_flatt(s, n).value for s, n in zip(speedups, p, strict=True)] == pytest.approx(
            [f] * len(p), abs=1e-9
        )
        assert scaling.fit_amdahl(p, speedups) == pytest.approx(f, abs=1e-12)
    assert scaling.amdahl(0.1, 10**9) == pytest.approx(10, rel=1e-6)
    assert scaling.gustafson(0.1, 10) == pytest.approx(9.1)
    # the same run seen by both: a serial fraction of 0.1 of the ten-rank time is 0.1 / 9.1 of the one-rank time
    assert scaling.amdahl(0.1 / 9.1, 10) == pytest.approx(scaling.gustafson(0.1, 10))


def test_karp_flatts_error_is_its_derivative():
    s, step = Estimate(5.0, 0.01, 9), 1e-6
    slope = (scaling.karp_flatt(5 + step, 8).value - scaling.karp_flatt(5 - step, 8).value) / (2 * step)
    assert scaling.karp_flatt(s, 8).error == pytest.approx(abs(slope) * 0.01, rel=1e-6)
    assert scaling.karp_flatt(9.0, 8).value < 0, "superlinear"


def test_ring_and_tree_cross_where_it_says():
    alpha, beta = 5e-6, 1e-10
    for p in (4, 5, 16, 64, 1000):
        n = scaling.crossover_bytes(p, alpha, beta)
        ring, tree = scaling.ring_all_reduce_time(p, n, alpha, beta), scaling.tree_all_reduce_time(p, n, alpha, beta)
        assert ring == pytest.approx(tree)
        assert scaling.ring_all_reduce_time(p, 2 * n, alpha, beta) < scaling.tree_all_reduce_time(p, 2 * n, alpha, beta)
    assert scaling.crossover_bytes(2, alpha, beta) == 0
    assert scaling.ring_all_reduce_time(1, 1e6, alpha, beta) == scaling.tree_all_reduce_time(1, 1e6, alpha, beta) == 0
    assert scaling.tree_all_reduce_time(5, 0, 1.0, 0) == 6, "log2 5 is rounded up"


def test_fits_find_what_was_put_in():
    n = np.array([4, 1000, 50_000, 1_000_000])
    assert scaling.fit_alpha_beta(n, 3e-6 + 2e-10 * n) == pytest.approx((3e-6, 2e-10))
    times = [scaling.ring_all_reduce_time(4, size, 3e-6, 2e-10) for size in n]
    assert scaling.fit_ring(4, n, times) == pytest.approx((3e-6, 2e-10))


def test_communication_hides_behind_a_part_of_the_computation():
    assert scaling.step_time(0.3, 0.1) == pytest.approx(0.4)
    assert scaling.step_time(0.3, 0.1, hidden=2 / 3) == pytest.approx(0.3)
    assert scaling.step_time(0.3, 0.5, hidden=2 / 3) == pytest.approx(0.6)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: scaling.estimate([1.0]), "repeat them"),
        (lambda: scaling.estimate([1.0, -1.0]), "larger than 0"),
        (lambda: scaling.student_t(0), "two measurements"),
        (lambda: scaling.throughput(32, [1.0, 1.0], warmup=2), "nothing to measure"),
        (lambda: scaling.throughput(0, [1.0, 1.0]), "positive number of images"),
        (lambda: scaling.karp_flatt(1.0, 1), "from 2 on"),
        (lambda: scaling.karp_flatt(0.0, 2), "larger than 0"),
        (lambda: scaling.amdahl(1.1, 4), "between 0 and 1"),
        (lambda: scaling.gustafson(-0.1, 4), "between 0 and 1"),
        (lambda: scaling.efficiency(1.0, 0), "from 1 on"),
        (lambda: scaling.fit_amdahl([1, 1], [1, 1]), "at least one p"),
        (lambda: scaling.fit_alpha_beta([4, 4], [1, 1]), "two different sizes"),
        (lambda: scaling.fit_alpha_beta([4, 400], [2, 1]), "do not lie on a line"),
        (lambda: scaling.ring_all_reduce_time(0, 1, 1, 1), "from 1 on"),
        (lambda: scaling.tree_all_reduce_time(2, -1, 1, 1), "not negative"),
        (lambda: scaling.step_time(1, 1, hidden=1.5), "between 0 and 1"),
    ],
)
def test_bad_input_is_refused_in_words(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize(
    "estimate, text",
    [
        (Estimate(281.22, 23.97, 9), "281 ± 54"),
        (Estimate(1341.25, 0.5, 9), "1341.2 ± 1.1"),
        (Estimate(0.676, 0.01), "0.676 ± 0.020"),
        (Estimate(9.65), "9.65"),
    ],
)
def test_an_estimate_is_written_with_two_digits_of_its_uncertainty(estimate, text):
    assert str(estimate) == text


CURVES = {
    "strong": ([1, 2, 4, 8], [1.0, 1.8, 3.0, 4.1]),
    "weak": ([1, 2, 4, 8], [Estimate(1.0), Estimate(1.9, 0.05, 9), Estimate(3.7, 0.1, 9), Estimate(4.2, 0.2, 9)]),
}


@pytest.mark.parametrize("draw", [plots.speedup, plots.efficiency, plots.throughput, plots.training])
def test_figures_have_labels_and_name_their_curves(draw):
    ax = draw(CURVES)
    assert ax.get_xlabel() and ax.get_ylabel()
    names = {text.get_text(): text for text in ax.texts}
    assert {"strong", "weak"} <= set(names)
    assert to_hex(names["weak"].get_color()).upper() == plots.dark(palette.CYCLE[1])
    plt.close(ax.figure)


def test_names_of_curves_that_end_together_do_not_overlap():
    ax = plots.training(
        {name: ([1, 2], [0.1, 0.9 + k / 1000]) for k, name in enumerate(("one", "two", "three", "four"))}
    )
    ax.figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == 4
    assert all(below.y1 <= above.y0 + 1 for below, above in itertools.pairwise(boxes))
    plt.close(ax.figure)


def test_curves_differ_in_more_than_colour():
    looks = [plots.style(k) for k in range(6)]
    for what in ("color", "marker", "linestyle"):
        assert len({look[what] for look in looks}) == 6
