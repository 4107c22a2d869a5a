"""Figures of unit 01: what is drawn is what was given, and the lines are those of the theory."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from labkit import palette
from labkit.plots import timings


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_both_sums_in_microseconds():
    ax = timings.sums([8, 80], np.array([2e-6, 3e-6]), np.array([1e-6, 2e-6]), title="four ranks")
    assert [list(line.get_ydata()) for line in ax.lines] == [pytest.approx([2, 3]), pytest.approx([1, 2])]
    assert ax.get_title() == "four ranks" and ax.get_xscale() == ax.get_yscale() == "log"


def test_errors_beside_the_standard_error():
    ax = timings.errors([100, 10_000], np.full((2, 3), 0.1), np.array([0.1, 0.2]))
    single, mean, theory = ax.lines
    assert len(single.get_xdata()) == 6 and list(mean.get_ydata()) == [0.1, 0.2]
    assert list(theory.get_ydata()) == pytest.approx([0.164, 0.0164])
    assert mean.get_label() == "root mean square of 3"


def test_no_speedup_is_drawn_beyond_the_cores():
    published = np.array([1, 2]), np.array([1, 1.9]), np.array([1, 0.95])
    timings.scaling(published, (np.array([1]), np.array([1]), np.array([1])), 2, xticks=np.array([1, 2, 4]))
    speedup, efficiency = plt.gcf().axes
    cores = [line.get_label() for line in speedup.lines].index("what 2 cores can do")
    assert list(speedup.lines[cores].get_ydata()) == [1, 2, 2, 2]
    assert list(efficiency.lines[cores].get_ydata()) == pytest.approx([1, 1, 2 / 3, 0.5])
    assert (speedup.get_ylabel(), efficiency.get_ylabel()) == ("speedup", "efficiency")


def test_more_than_the_cores_is_orange():
    ax = timings.shapes({(1, 2): 0.5, (2, 2): 0.6}, 2, title="darts")
    assert [bar.get_facecolor()[:3] for bar in ax.patches] == [to_rgb(palette.BLUE), to_rgb(palette.ORANGE)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1 x 2", "2 x 2"]
