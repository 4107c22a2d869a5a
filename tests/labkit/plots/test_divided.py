"""Figures of unit 16: what cuts of a convolution cost and have sent, where a step's time goes, two trainings."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from labkit.plots import divided
from labkit.watch.events import Event


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def a_run(elapsed, busy, events=()):
    rank = SimpleNamespace(busy=busy, collectives=["all_reduce", "all_reduce", "barrier"])
    return SimpleNamespace(elapsed=elapsed, ranks=[rank] * 4, events=list(events))


def test_lines_for_all_cuts_and_points_for_what_was_sent():
    costs = {"C_out": [24.0, 96.0], "C_in": [48.0, 192.0], "H": [48.0, 96.0]}
    ax = divided.convolutions((8, 16), costs, {"H": [48, 96]})
    assert [line.get_marker() for line in ax.lines] == ["", "", "", "^"]
    assert divided.convolutions((8, 16), costs, {}).get_xscale() == "log"


def test_a_bar_for_each_place_with_its_milliseconds():
    ax = divided.steps({(1, 8): a_run(4e-3, 4e-3), (8, 4): a_run(6e-3, 1e-3), (8, 4, 8): a_run(2e-3, 1e-3)})
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["1 rank, one node", "8 ranks, two nodes of 4", "8 ranks, two nodes of 4, 8 cards"]
    assert {"4.0 ms", "6.0 ms", "2.0 ms"} <= {text.get_text() for text in ax.texts}


def test_a_diagram_for_each_run_there_is():
    events = [Event(rank, "all_reduce", 0.0, 0.1, 0.2) for rank in range(4)]
    divided.diagrams({"by hand": None, "by plan": a_run(2e-3, 1e-3, events)})
    assert len(plt.gcf().axes) == 1


def test_losses_are_means_of_ten_steps():
    ax = divided.trainings({"one": [1.0] * 12, "other": [2.0] * 12})
    assert [line.get_ydata().tolist() for line in ax.lines] == [pytest.approx([1.0] * 3), pytest.approx([2.0] * 3)]
