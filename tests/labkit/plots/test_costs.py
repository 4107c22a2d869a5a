"""Figures of times: steps of which the first is too long, all-reduces by formula and by simulation; gradients of ranks."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from labkit.plots import costs, gradients


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_first_step_that_is_too_long_is_said_in_words():
    ax = costs.step_times([0.029, 0.004, 0.005, 0.004], title="one rank")
    assert ax.get_ylim()[1] == pytest.approx(5.5) and [text.get_text() for text in ax.texts] == ["↑ step 1: 29 ms"]
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([29, 4, 5, 4])
    assert not costs.step_times([0.004, 0.004, 0.005]).texts


def test_a_panel_for_each_size_with_lines_and_points():
    virtual = {("ring", 4096, 2): 1e-5, ("tree", 4096, 2): 2e-5}
    costs.all_reduces({"4 KB": 4096, "1 MB": 10**6}, virtual, 5e-6, 1e-10, title="a model")
    left, right = plt.gcf().axes
    assert [ax.get_title() for ax in (left, right)] == ["4 KB per rank", "1 MB per rank"]
    points = [line.get_ydata() for line in left.lines if line.get_linestyle() == "None"]
    assert sorted(float(y[0]) for y in points) == pytest.approx([1e-2, 2e-2])


def test_gradients_of_ranks_beside_their_mean_and_the_whole():
    own = np.array([[1.0, 2.0], [3.0, 4.0]])
    ax = gradients.of_ranks(own, [2.0, 3.0], 64)
    names = [line.get_label() for line in ax.lines]
    assert names == ["rank 0, 32 images", "rank 1, 32 images", "mean of the 2 ranks", "one process, 64 images"]
    assert ax.lines[2].get_ydata().tolist() == [2.0, 3.0]


def test_the_line_of_a_fixed_price_goes_through_the_first_and_the_last_point():
    ax = gradients.calls([1, 4, 16], [1.0, 2.0, 4.0], "1.3 MB", 4)
    assert ax.lines[1].get_ydata()[[0, -1]].tolist() == pytest.approx([1.0, 4.0])
    assert ax.lines[1].get_label() == "200 µs per call" and ax.get_xlabel().endswith("1.3 MB")
