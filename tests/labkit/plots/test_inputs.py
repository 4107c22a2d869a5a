"""Figures of input pipelines: what is drawn is what was given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from labkit.plots import inputs


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_point_for_each_element_of_a_stream():
    figure = inputs.orders({"a buffer of 2": [1, 0, 3, 2], "none": [0, 1, 2, 3]})
    first, second = figure.axes
    (points,) = first.lines
    assert np.array_equal(points.get_xydata(), [[1, 0], [0, 1], [3, 2], [2, 3]])
    assert (first.get_title(), second.get_title()) == ("a buffer of 2", "none")
    assert first.get_ylabel() and not second.get_ylabel()


def test_a_band_for_each_rank_and_a_legend_once():
    lanes = [[("busy", 0, 2), ("waits for data", 2, 3)], [("busy", 0, 1), ("waits for others", 1, 3)]]
    figure = inputs.bands({"nothing ahead": lanes, "depth 1": lanes})
    assert len(figure.axes) == 2
    spans = [path.get_extents() for bars in figure.axes[0].collections for path in bars.get_paths()]
    assert sorted((box.x0, box.x1) for box in spans) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == list(inputs.KINDS)
    assert len({hatch for _, hatch in inputs.KINDS.values()}) == len(inputs.KINDS)  # not told by colour alone


def test_a_kind_that_there_is_not():
    with pytest.raises(ValueError, match=r"\['sleeps'\]; there is busy"):
        inputs.bands({"": [[("sleeps", 0, 1)]]})


def test_samples_that_workers_saw_or_a_word():
    figure = inputs.seen({"DATA": {"worker 0": [0, 2], "worker 1": [1, 3]}, "FILE": {"worker 0": "an error"}}, 4)
    data, file = figure.axes
    drawn = [points.get_offsets().tolist() for points in data.collections]
    assert drawn == [[[0, 0], [2, 0]], [[1, 1], [3, 1]]]
    assert [text.get_text() for text in file.texts] == ["an error"] and not file.collections
