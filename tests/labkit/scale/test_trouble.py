"""A long run with failures, against the interval of Young and Daly."""

import pytest

from labkit.scale import run_with_failures, young_daly

DAY = 86400.0


def test_without_failures_only_saving_is_lost():
    run = run_with_failures(1000.0, 1, 1e12, save=5.0, interval=100.0, restart=60.0)
    assert (run.elapsed, run.failures) == (1045.0, 0)  # after the last steps nothing is saved
    assert run.useful == pytest.approx(1000 / 1045)


def test_failures_are_drawn_from_the_seed_and_come_as_often_as_they_should():
    mtbf = 16384 * 3.09 * 3600  # of one rank, so that all together fail every 3.09 hours
    runs = [run_with_failures(54 * DAY, 16384, mtbf, 30.0, 817.0, 300.0, seed) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    expected = runs[0].elapsed / (3.09 * 3600)
    assert runs[0].failures == pytest.approx(expected, rel=0.15)


def test_the_best_interval_is_young_and_daly_s():
    ranks, mtbf, save = 1000, 1000 * 10000.0, 30.0
    best = young_daly(save, mtbf / ranks)
    assert best == pytest.approx((2 * 30 * 10000) ** 0.5)

    def lost(interval):
        runs = [run_with_failures(3e6, ranks, mtbf, save, interval, 0.0, seed) for seed in range(8)]
        return 1 - sum(run.useful for run in runs) / len(runs)

    assert lost(best) < min(lost(best / 3), lost(3 * best))
    assert lost(best) == pytest.approx((2 * save / 10000) ** 0.5, rel=0.2)


def test_a_run_that_never_ends_is_refused():
    with pytest.raises(ValueError, match="nothing is ever saved"):
        run_with_failures(1e6, 10**6, 1e6, 30.0, 3600.0, 60.0)
    with pytest.raises(ValueError, match="positive"):
        run_with_failures(1e6, 0, 1e6, 30.0, 3600.0, 60.0)
