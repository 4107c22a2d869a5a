"""Figures of unit 04: reported accuracies beside the true one, shifted pictures of every rank."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from labkit.plots import sampled


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_points_for_what_is_reported_and_a_line_for_what_is_true():
    ax = sampled.accuracy((1, 2), {"as they come": [66.0, 65.0], "sorted": [66.0, 70.0]}, truth=66.0)
    *points, line = ax.lines
    assert [one.get_ydata().tolist() for one in points] == [[66.0, 65.0], [66.0, 70.0]]
    assert list(line.get_ydata()) == [66.0, 66.0] and "every image once" in {text.get_text() for text in ax.texts}


def test_each_rank_shows_its_own_image_shifted():
    images = np.zeros((2, 4, 4))
    images[:, 0, 0] = 1, 2
    sampled.shifted(images, {"the same seed": [(1, 2), (1, 2)], "a seed per rank": [(0, 0), (-1, 0)]})
    axes = plt.gcf().axes
    assert [ax.get_title() for ax in axes[:2]] == ["rank 0: +1, +2", "rank 1: +1, +2"]
    pictures = [ax.images[0].get_array() for ax in axes]
    assert pictures[0][1, 2] == 1 and pictures[3][3, 0] == 2
