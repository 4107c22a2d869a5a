"""labkit.plots: the functions draw what they are given, and say what they cannot draw."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from labkit import palette, plots, timeline
from labkit.plots import charts, runs, spans, tiles
from labkit.plots.darts import darts
from labkit.watch.events import COMPUTE, Event


@pytest.fixture(autouse=True)
def no_figure_left():
    plt.close("all")
    yield
    plt.close("all")


def names_in(legend) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def words_on(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_lines_draw_every_point_in_its_look():
    ax = charts.lines({"a": ([1, 10], [3, 4], "red s--"), "b": ([1, 10], [5, 6])}, log="x", title="two")
    first, second = ax.lines
    assert first.get_xdata().tolist() == [1, 10] and first.get_ydata().tolist() == [3, 4]
    assert (first.get_color(), first.get_marker(), first.get_linestyle()) == (palette.VERMILLION, "s", "--")
    assert second.get_color() == plots.style(1)["color"]
    assert ax.get_xscale() == "log" and ax.get_yscale() == "linear" and ax.get_title() == "two"
    assert names_in(ax.get_legend()) == ["a", "b"]


def test_names_stand_at_the_ends_in_the_colours_of_their_curves():
    ax = charts.lines({"up": ([0, 1], [0, 9], "green -"), "down": ([0, 1], [9, 0], "blue -")}, legend="ends")
    assert ax.get_legend() is None and set(words_on(ax)) == {"up", "down"}
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours == {"up": plots.dark(palette.GREEN), "down": plots.dark(palette.BLUE)}


def test_a_spread_becomes_a_bar_and_ticks_are_plain_numbers():
    ax = charts.lines({"rate": ([1, 2], [10.0, 20.0], "blue o-", [1.0, 2.0])}, log="xy", xticks=[1, 2])
    segments = ax.collections[0].get_segments()
    assert [segment[:, 1].tolist() for segment in segments] == [[9.0, 11.0], [18.0, 22.0]]
    ax.figure.draw_without_rendering()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2"]


def test_what_is_not_there_yet_leaves_an_empty_chart():
    """A student's function is not written: the formula gives nan, and nothing was measured."""
    ax = charts.compared({"ring": ([1, 2], [np.nan, np.nan])}, {}, log="xy")
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("series", "said"),
    [
        ({"a": ([1, 2], [3])}, "a: 2 values of x and 1 of y"),
        ({"a": ([1], [3], "pink o")}, 'no colour "pink".*there are blue'),
    ],
)
def test_bad_series_are_refused_with_what_is_wrong(series, said):
    with pytest.raises(ValueError, match=said):
        charts.lines(series)


def test_formula_and_measured_share_a_colour_and_one_name():
    ax = charts.compared({"ring": ([1, 2], [3, 4]), "tree": ([1, 2], [5, 6])}, {"tree": ([1], [5])})
    line, ring_tree, dots = ax.lines
    assert ring_tree.get_color() == dots.get_color() != line.get_color()
    assert dots.get_linestyle() == "None" and names_in(ax.get_legend()) == ["ring", "tree"]


def test_a_guide_stands_at_x_or_at_y():
    ax = charts.lines({"a": ([0, 1], [0, 1])})
    charts.guide(ax, "here", x=0.5, at="top")
    charts.guide(ax, "there", y=0.2, below=True)
    assert words_on(ax) == ["here", "there"]
    with pytest.raises(ValueError, match="give one of the two"):
        charts.guide(ax, "nowhere")


@pytest.mark.parametrize("upright", [False, True])
def test_bars_have_their_values_at_their_ends(upright):
    ax = charts.bars({"ring": 1.5, "tree": 2.0}, ends="{:.1f} MB", upright=upright, colours=("red", "blue"))
    lengths = [bar.get_height() if upright else bar.get_width() for bar in ax.patches]
    assert lengths == [1.5, 2.0] and words_on(ax) == ["1.5 MB", "2.0 MB"]
    assert to_hex(ax.patches[0].get_facecolor()).upper() == palette.VERMILLION
    with pytest.raises(ValueError, match="2 bars and 1 texts"):
        charts.bars({"a": 1, "b": 2}, ends=["one"])


def test_parts_lie_one_behind_the_other():
    ax = charts.parts({"small": {"weights": 1, "rest": 3}, "large": {"weights": 2, "rest": 5}}, ends=["a", "b"])
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 1), (1, 3), (0, 2), (2, 5)]
    assert names_in(ax.get_legend()) == ["weights", "rest"] and words_on(ax) == ["a", "b"]


def test_boxes_spikes_and_histograms_draw_their_numbers():
    ax = charts.boxes([1, 10], [(1, 2, 3), (4, 5, 6)], ["few", "many"], log="x")
    assert [line.get_ydata().tolist() for line in ax.lines[::2]] == [[1, 3], [4, 6]]
    assert words_on(ax) == ["few", "many"]
    ax = charts.spikes([0.0, 2.0, 3.0], [5, 1, 2])
    assert [bar.get_height() for bar in ax.patches] == [5, 1, 2] and ax.patches[0].get_width() == pytest.approx(0.7)
    ax = charts.histogram({"all": [0.5, 0.6, 1.5]}, [0, 1, 2])
    assert ax.get_xlim() == (0, 2) and names_in(ax.get_legend()) == ["all"]


def test_panels_share_one_legend():
    charts.side_by_side({"speedup": {"a": ([1, 2], [1, 2])}, "efficiency": {"a": ([1, 2], [1, 1])}}, xlabel="ranks")
    figure = plt.gcf()
    assert [ax.get_ylabel() for ax in figure.axes] == ["speedup", "efficiency"]
    assert len(figure.legends) == 1 and names_in(figure.legends[0]) == ["a"]


def test_differences_of_zero_are_drawn_at_the_floor():
    runs.beside_sequential([2.0, 1.0], {"2 ranks": [2.0, 1.0]}, {"float32": [0.0, 1e-7]}, floor=1e-9)
    above, below = plt.gcf().axes
    assert [line.get_label() for line in above.lines] == ["one process", "2 ranks"]
    assert below.lines[0].get_ydata().tolist() == [1e-9, 1e-7]
    runs.beside_sequential([2.0, 1.0], {}, {"float32": []})  # nothing written yet
    plt.gcf().draw_without_rendering()


def test_distances_have_a_panel_for_each_measure():
    runs.distances({"between": {"a": [0, 1e-6], "b": [1, 1]}, "alone": {"a": [0, 0], "b": [1, 1]}}, ylabel="apart")
    figure = plt.gcf()
    assert [ax.get_title() for ax in figure.axes] == ["between", "alone"]
    assert names_in(figure.legends[0]) == ["a", "b"]


def test_lanes_hold_their_spans():
    ax = spans.lanes(
        {"rank 0": [[(0, 4, "forward", "forward"), (4, 10, "backward", "")], [(5, 6, "all-reduce", "1 MB")]]},
        {"forward": "sky", "backward": "orange", "all-reduce": "red"},
        xlabel="ms",
    )
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 4), (4, 6), (5, 1)]
    assert words_on(ax) == ["forward", "1 MB"]
    assert names_in(ax.get_legend()) == ["forward", "backward", "all-reduce"]


def test_grids_show_whose_numbers_the_ranks_hold():
    tiles.before_and_after(
        [{"reduce": np.array([10, 11])}, {"reduce": np.array([20, 21])}],
        [{"reduce": np.array([30, 32])}, {"reduce": np.array([-1, -1])}],
    )
    above, below = plt.gcf().axes
    assert words_on(above) == ["10", "11", "20", "21"] and words_on(below) == ["30", "32"]
    assert to_hex(above.patches[0].get_facecolor()).upper() == tiles.colour_of(0)


def test_samples_dealt_again_and_to_nobody_are_counted():
    tiles.shares(5, {"one batch": [[0, 1], [2, 0]], "steps": [[[0], [2]], [[1]]]})
    one, steps = plt.gcf().axes
    assert one.get_xlabel() == "4 dealt, 1 of them again; nobody has [3, 4]"
    assert words_on(one) == ["0", "2", "1", "0", "again"]
    assert [tick.get_text() for tick in steps.get_xticklabels()] == ["step 0", "step 1"]


def test_pictures_and_darts_are_where_they_belong():
    tiles.pictures({"row": [("a", np.zeros((2, 2))), ("b", np.ones((2, 2)))]})
    assert [ax.get_title() for ax in plt.gcf().axes] == ["a", "b"]
    ax = darts({"in": ([0.1], [0.2]), "out": ([0.5], [0.5])}, ("blue .", "orange x"), title="two darts")
    assert [line.get_label() for line in ax.lines] == ["in", "out"] and ax.get_title() == "two darts"


def test_diagrams_that_are_compared_have_one_scale_of_time_and_one_of_memory():
    def run(seconds, nbytes):
        return SimpleNamespace(events=[Event(0, COMPUTE, 0.0, 0.0, seconds)], memory=[[(0.0, nbytes)]])

    charts.diagrams({"long": run(4.0, 100), "short": run(1.0, 50), "nearly": run(3.99, 0)}, 1, memory=True)
    long, short, nearly = plt.gcf().axes

    def box(ax, role):
        (shape,) = [patch for patch in ax.patches if patch.get_gid() == role]
        (left, top), (right, bottom) = shape.get_xy().min(0), shape.get_xy().max(0)
        return right - left, bottom - top

    assert box(long, "computing")[0] == pytest.approx(4 * box(short, "computing")[0])
    assert box(long, "memory")[1] == pytest.approx(2 * box(short, "memory")[1])
    ends = [[text for text in words_on(ax) if text.startswith("ends")] for ax in (long, short, nearly)]
    assert ends == [[], ["ends after 1 s"], []]
    ticks = [[text.get_text() for text in ax.texts if text.get_gid() == "tick"] for ax in (long, short)]
    assert ticks[0] == ticks[1] and len(ticks[0]) > 3


def test_diagrams_lie_under_each_other_as_large_as_alone():
    event = Event(0, COMPUTE, 0.0, 0.0, 1.0)
    charts.diagrams({"one": SimpleNamespace(events=[event]), "two": SimpleNamespace(events=[event])}, 2)
    alone = timeline.draw([event], 2, title="one").get_size_inches()
    figure = plt.gcf()
    assert figure.get_size_inches() == pytest.approx((alone[0], 2 * alone[1]))
    assert [{"one", "two"} & set(words_on(ax)) for ax in figure.axes] == [{"one"}, {"two"}]
