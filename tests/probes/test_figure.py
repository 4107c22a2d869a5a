"""Figures read back from PDFs: what was plotted comes out, and what cannot be told for sure is said to be unclear."""

import io
import json
import subprocess
import sys
import zlib

import matplotlib
import numpy as np
import pytest
from machine import needs

matplotlib.use("pdf")
import matplotlib.pyplot as plt
from matplotlib.patches import Ellipse
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

from benchmarks import plots as bench
from probes.figure import figure as pdf_figure
from probes.figure import page as pdf_drawing
from probes.figure.types import MAX_JSON_POINTS, NEEDS_PERSON, READABLE, Figure

EPOCHS = np.arange(1, 9)
TRAINING = np.array([0.71, 0.83, 0.88, 0.91, 0.93, 0.94, 0.952, 0.96])
VALIDATION = TRAINING - 0.02


@pytest.fixture(autouse=True)
def no_figures_left():
    plt.close("all")  # of another file's tests
    with plt.rc_context():
        yield
    plt.close("all")


def saved(path, figure=None, **options):
    (figure or plt.gcf()).savefig(path, **options)
    return pdf_figure.read(path)


def only_curve(figure):
    assert figure.verdict == READABLE, figure.reason
    (curve,) = [curve for panel in figure.panels for curve in panel.curves]
    return curve


# -- curves that nobody sees -------------------------------------------------------------------------------------------


def two_lines(ax, **look):
    ax.plot(EPOCHS, TRAINING, **look)
    ax.plot(EPOCHS, VALIDATION, "--", **look)


def ribbon(ax, half, **look):
    ax.fill_between(EPOCHS, TRAINING - half, TRAINING + half, **look)


def dots(ax, **look):
    ax.plot(EPOCHS, TRAINING, **{"marker": "o", "ls": "", **look})


def bars(ax, **look):
    ax.bar(EPOCHS, TRAINING, width=0.4, **look)


def ellipse(ax, **look):
    ax.add_patch(Ellipse((4.5, 0.85), 12, 0.5, **look))


def gouraud(ax, **look):
    ax.pcolormesh([[0, 9], [0, 9]], [[0.5, 0.5], [1, 1]], np.ones((2, 2)), shading="gouraud", cmap="Greys_r", **look)


def over_all(ax, **look):
    ax.axhspan(0, 2, **look)
    ax.set_ylim(0.6, 1)


UNSEEN = {
    "white": [(two_lines, {"color": "white"})],
    "nearly white": [(two_lines, {"color": "#f4f4f4"})],
    "transparent": [(two_lines, {"alpha": 0.03})],
    "thin": [(two_lines, {"lw": 0.01})],
    "a dash an ell": [(two_lines, {"dashes": (0.001, 5000)})],
    "before its first dash": [(dots, {"marker": "", "ls": (5000, (5000, 5000))})],
    "under a ribbon": [(two_lines, {"color": "k"}), (ribbon, {"half": 0.1, "color": "tab:blue", "zorder": 9})],
    "under a white ribbon": [(two_lines, {"color": "k"}), (ribbon, {"half": 0.1, "color": "w", "zorder": 9})],
    "in a ribbon's colour": [(ribbon, {"half": 0.1, "color": "tab:blue"}), (two_lines, {"color": "tab:blue"})],
    "under a span": [(two_lines, {"color": "k"}), (over_all, {"color": "w", "zorder": 9})],
    "far below": [(two_lines, {"color": "k", "zorder": -9}), (over_all, {"color": "w", "zorder": 0})],
    "under an ellipse": [(two_lines, {"color": "k"}), (ellipse, {"fc": "w", "zorder": 9})],
    "under a white line": [(two_lines, {"color": "k"}), (two_lines, {"color": "w", "lw": 10, "zorder": 9})],
    "under a very wide line": [(two_lines, {"color": "k"}), (two_lines, {"color": "w", "lw": 40, "zorder": 9})],
    "under a shade": [(two_lines, {"color": "k"}), (gouraud, {"zorder": 9})],
    "white marks": [(dots, {"color": "w"})],
    "marks of no size": [(dots, {"ms": 0.01, "mew": 0})],
    "marks under white ones": [(dots, {"color": "k"}), (dots, {"color": "w", "ms": 9})],
}
SEEN = {
    "ribbons below": [(ribbon, {"half": 0.01, "color": "lightblue"}), (two_lines, {})],
    "a ribbon above": [(two_lines, {"color": "tab:red"}), (ribbon, {"half": 0.01, "alpha": 0.3, "zorder": 9})],
    "an outline": [(two_lines, {"path_effects": [withStroke(linewidth=4, foreground="w")]})],
    "the same curves": [(dots, {"ls": "-"}), (dots, {"ls": "-"})],
    "hollow marks": [(dots, {"mfc": "w"})],
    "white edges": [(dots, {"mec": "w", "ms": 9, "ls": "-"})],
    "yellow": [(two_lines, {"color": "yellow"})],
    "pale": [(two_lines, {"alpha": 0.2})],
    "dotted": [(dots, {"marker": "", "ls": (0, (1, 10)), "lw": 0.5})],
    "on bars": [(bars, {"color": "tab:blue"}), (dots, {"color": "tab:orange", "ls": "-"})],
    "beside bars of its colour": [(bars, {"color": "tab:blue"}), (two_lines, {"color": "tab:blue"})],
    "a white mark on a line": [(two_lines, {}), (dots, {"color": "w"})],
}


@pytest.mark.parametrize("drawn", UNSEEN.values(), ids=UNSEEN)
def test_what_nobody_sees_is_left_to_a_person(drawn, tmp_path):
    for draw, look in drawn:
        draw(plt.gca(), **look)
    figure = saved(tmp_path / "a.pdf")
    assert (figure.verdict, figure.kind) in ((NEEDS_PERSON, "hidden"), (NEEDS_PERSON, "image"))


@pytest.mark.parametrize("style", ["default", "dark_background", "ggplot"])
@pytest.mark.parametrize("drawn", SEEN.values(), ids=SEEN)
def test_what_is_seen_is_read(drawn, style, tmp_path):
    with plt.style.context(style):
        for draw, look in drawn:
            draw(plt.gca(), **look)
        figure = saved(tmp_path / "a.pdf")
    (panel,) = figure.panels
    assert figure.verdict == READABLE and panel.curves
    for curve in panel.curves:
        assert np.allclose(curve.x, EPOCHS, atol=0.02)
        assert min(np.abs(curve.y - one).max() for one in (TRAINING, VALIDATION)) < 1e-3


@pytest.mark.parametrize("colour", ["white", "black"])
def test_the_background_decides_what_is_seen(colour, tmp_path):
    for style, seen in (("default", colour == "black"), ("dark_background", colour == "white")):
        with plt.style.context(style):
            two_lines(plt.figure().gca(), color=colour)
            figure = saved(tmp_path / "a.pdf")
        assert (figure.verdict == READABLE, len(figure.panels[0].curves)) == (seen, 2 * seen)


# -- known curves in random styles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in bench.KINDS if kind != "plotly"])
def test_random_figures_are_read_or_left_to_a_person_but_never_misread(kind, tmp_path):
    outcomes = []
    for seed in range(3):
        case = bench.draw(kind, seed, tmp_path)
        outcomes.append((seed, *bench.compare(case, pdf_figure.read(case.path))))
    assert not [one for one in outcomes if one[1] == "wrong"]
    assert sum(one[1] in ("read", "roughly") for one in outcomes) >= 2, outcomes


@needs("browser")  # plotly draws with it
def test_figures_of_plotly(tmp_path):
    cases = [bench.draw("plotly", seed, tmp_path) for seed in (0, 1, 110)]
    assert bench.export(cases) == ""
    for case in cases:
        verdict, error, said = bench.compare(case, pdf_figure.read(case.path))
        assert verdict == "read", (case.seed, said)
        assert error <= bench.EXACT


def test_the_benchmark_notices_a_wrong_reading(tmp_path):
    case = bench.draw("plain", 0, tmp_path)
    figure = pdf_figure.read(case.path)
    assert bench.compare(case, figure)[0] == "read"
    curve = figure.panels[0].curves[0]
    curve.y = curve.y + 0.001
    assert bench.compare(case, figure)[0] == "wrong"
    del figure.panels[0].curves[0]
    assert bench.compare(case, figure)[0] == "wrong"


# -- scales ------------------------------------------------------------------------------------------------------------


def test_powers_of_ten_are_not_read_as_ten_and_some(tmp_path):
    plt.semilogy(EPOCHS, 10.0 ** -np.arange(8))
    axis = saved(tmp_path / "a.pdf").panels[0].y
    assert axis.scale == "log"
    assert all(tick.value == pytest.approx(10.0 ** round(np.log10(tick.value))) for tick in axis.ticks)
    assert "10^{-3}" in {tick.text for tick in axis.ticks}


def test_powers_of_two(tmp_path):
    plt.plot([1, 2, 4, 8, 16], [1, 1.9, 3.6, 6.5, 10])
    plt.xscale("log", base=2)
    curve = only_curve(saved(tmp_path / "a.pdf"))
    np.testing.assert_allclose(curve.x, [1, 2, 4, 8, 16], rtol=1e-6)


def test_labels_of_major_ticks_are_not_given_to_minor_ones(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.minorticks_on()
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, TRAINING, atol=1e-7)


def two_labels(scale):
    """A panel whose y axis has the labels 1 and 2 only."""
    plt.plot(EPOCHS, np.linspace(1.1, 1.9, 8))
    plt.yscale(scale)
    plt.yticks([1, 2], ["1", "2"])
    plt.minorticks_off()
    plt.ylim(0.9, 2.1)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_two_labels_fit_two_scales(scale, tmp_path):
    two_labels(scale)
    figure = saved(tmp_path / "a.pdf")
    assert (figure.verdict, figure.kind) == (NEEDS_PERSON, "ambiguous")
    assert "linear and log" in figure.reason


def test_two_labels_are_enough_where_all_points_stand_at_them(tmp_path):
    plt.plot([1, 2], [0.5, 0.8], "o")
    plt.xticks([1, 2])
    assert only_curve(saved(tmp_path / "a.pdf")).x.tolist() == pytest.approx([1, 2])


def test_two_labels_are_enough_along_an_axis_on_which_epochs_are_counted(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.xticks([2, 6])
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).x, EPOCHS, atol=1e-6)


@pytest.mark.parametrize("threshold", [0.01, 1.0, 2.0, 5.0])
def test_symmetrical_logarithm(threshold, tmp_path):
    y = threshold * np.array([-300.0, -20, -1, -0.3, 0, 0.7, 30, 500])
    plt.plot(EPOCHS, y)
    plt.yscale("symlog", linthresh=threshold)
    figure = saved(tmp_path / "a.pdf")
    assert figure.panels[0].y.scale == "symlog"
    np.testing.assert_allclose(only_curve(figure).y, y, rtol=1e-5, atol=1e-6 * threshold)


def test_symmetrical_logarithm_with_another_linear_part_is_left_to_a_person(tmp_path):
    plt.plot(EPOCHS, np.array([0, 0.2, 0.5, 3, 30, 300, 2000, 5000]))
    plt.yscale("symlog", linthresh=1, linscale=0.1)
    figure = saved(tmp_path / "a.pdf")
    assert figure.verdict == NEEDS_PERSON, [curve.y for curve in figure.panels[0].curves]


@pytest.mark.parametrize("whole", [1, 100])
@pytest.mark.parametrize("ticks", [(0.6, 0.8, 0.9, 0.95), (0.5, 0.9, 0.97), (0.3, 0.5, 0.7), (0.2, 0.5, 0.8), None])
def test_a_logit_scale_is_read_or_left_to_a_person(ticks, whole, tmp_path):
    """Labels about the middle stand as on a linear scale. None: those that matplotlib writes by itself."""
    plt.plot(EPOCHS, TRAINING)
    plt.yscale("logit")
    plt.minorticks_off()
    if ticks is not None:
        plt.yticks(ticks, [f"{whole * tick:g}" + "%" * (whole == 100) for tick in ticks])
    figure = saved(tmp_path / "a.pdf")
    about_the_middle = ticks is not None and ticks[0] + ticks[-1] == 1
    whole = 1 if ticks is None else whole
    assert figure.verdict == (NEEDS_PERSON if about_the_middle else READABLE), figure.reason
    if not about_the_middle:
        assert figure.panels[0].y.scale == "logit"
        np.testing.assert_allclose(only_curve(figure).y, whole * TRAINING, rtol=1e-4)


def test_a_linear_scale_with_labels_about_the_middle_is_told_by_its_other_ticks(tmp_path):
    plt.plot(EPOCHS, 0.5 + (TRAINING - 0.83) / 2)
    plt.yticks([0.45, 0.5, 0.55])
    plt.minorticks_on()
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, 0.5 + (TRAINING - 0.83) / 2, rtol=1e-5)


def test_a_multiplier_beside_the_axis_counts(tmp_path):
    plt.plot(EPOCHS, 3e7 * TRAINING)
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, 3e7 * TRAINING, rtol=1e-6)


def test_a_summand_beside_the_axis_counts(tmp_path):
    plt.plot(EPOCHS, 1e6 + TRAINING)
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, 1e6 + TRAINING, atol=1e-4)


def with_labels(label):
    plt.gca().yaxis.set_major_formatter(FuncFormatter(lambda v, _: label(v)))


def test_decimal_commas(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    with_labels(lambda v: f"{v:.3f}".replace(".", ","))
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, TRAINING, atol=1e-6)


def test_commas_between_thousands(tmp_path):
    plt.plot(EPOCHS, 4000 * (TRAINING - 0.7))
    with_labels(lambda v: f"{v:,.0f}")
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, 4000 * (TRAINING - 0.7), atol=1e-2)


@pytest.mark.parametrize("label", [lambda v: f"{v:,.0f}", lambda v: f"{v / 1000:.3f}".replace(".", ",")])
def test_a_comma_that_may_mean_either_is_left_to_a_person(label, tmp_path):
    plt.plot(EPOCHS, 4000 * TRAINING)
    with_labels(label)
    figure = saved(tmp_path / "a.pdf")
    assert (figure.verdict, figure.kind) == (NEEDS_PERSON, "ambiguous")
    assert "commas" in figure.reason


def test_the_other_axis_may_tell_what_a_comma_means(tmp_path):
    plt.plot(EPOCHS, 4 * TRAINING)
    with_labels(lambda v: f"{v:.3f}".replace(".", ","))
    plt.gca().xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.1f}".replace(".", ",")))
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, 4 * TRAINING, rtol=1e-5)


def test_decimal_points_on_the_other_axis_tell_nothing_about_a_comma(tmp_path):
    plt.plot(EPOCHS, 4 * TRAINING)
    with_labels(lambda v: f"{v:.3f}".replace(".", ","))
    plt.gca().xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.1f}"))
    assert saved(tmp_path / "a.pdf").kind == "ambiguous"


def test_rounded_labels_make_a_reading_uncertain(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.yticks(0.7 + np.arange(9) / 30)
    with_labels(lambda v: f"{v:.2f}")
    figure = saved(tmp_path / "a.pdf")
    axis = figure.panels[0].y
    assert axis.uncertainty > 0 and "rounded" in axis.problems[0]
    low, high = plt.ylim()
    np.testing.assert_allclose(only_curve(figure).y, TRAINING, atol=2 * axis.uncertainty * (high - low))


def test_rounded_labels_of_round_steps(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.yticks(0.7 + np.arange(11) / 40)
    with_labels(lambda v: f"{v:.2f}")
    figure = saved(tmp_path / "a.pdf")
    axis = figure.panels[0].y
    assert 0 < axis.uncertainty < 1e-3 and "rounded" in axis.problems[0]
    np.testing.assert_allclose(only_curve(figure).y, TRAINING, atol=1e-5)


def test_without_tick_marks_the_reading_says_how_uncertain_it_is(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.tick_params(length=0)
    figure = saved(tmp_path / "a.pdf")
    axis = figure.panels[0].y
    assert axis.uncertainty > 0 and "no tick marks" in axis.problems[0]
    low, high = plt.ylim()
    np.testing.assert_allclose(only_curve(figure).y, TRAINING, atol=2 * axis.uncertainty * (high - low))


@pytest.mark.parametrize("angle", [30, 45, 90])
def test_turned_labels(angle, tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.xticks(EPOCHS, rotation=angle, ha="right" if angle < 90 else "center")
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).x, EPOCHS, atol=1e-6)


def test_labels_that_are_no_numbers(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.xticks(EPOCHS, list("abcdefgh"))
    figure = saved(tmp_path / "a.pdf")
    assert figure.verdict == NEEDS_PERSON and "bottom axis" in figure.reason


def test_a_minus_sign_is_not_lost_in_either_font(tmp_path):
    for kind in (3, 42):
        plt.rcParams["pdf.fonttype"] = kind
        plt.figure()
        plt.plot(EPOCHS, np.linspace(-3, 2, 8))
        np.testing.assert_allclose(only_curve(saved(tmp_path / f"{kind}.pdf")).y, np.linspace(-3, 2, 8), atol=1e-6)


@pytest.mark.parametrize("kind", [3, 42])
def test_other_alphabets(kind, tmp_path):
    plt.rcParams["pdf.fonttype"] = kind
    plt.plot(EPOCHS, TRAINING, label="обучение")
    plt.plot(EPOCHS, VALIDATION, label="проверка")
    plt.legend()
    plt.xlabel("эпоха")
    plt.ylabel("ακρίβεια")
    panel = saved(tmp_path / "a.pdf").panels[0]
    assert [curve.name for curve in panel.curves] == ["обучение", "проверка"]
    assert (panel.x.label, panel.y.label) == ("эпоха", "ακρίβεια")


# -- panels and curves -------------------------------------------------------------------------------------------------


def test_panels_are_not_mixed_up(tmp_path):
    figure, axes = plt.subplots(2, 2, layout="constrained")
    for k, ax in enumerate(axes.flat):
        ax.plot(EPOCHS, (k + 1) * TRAINING)
        ax.set(xlabel=f"x{k}", ylabel=f"y{k}", title=f"t{k}")
    found = saved(tmp_path / "a.pdf", figure).panels
    assert len(found) == 4
    for panel in found:
        k = int(panel.title[1])
        assert (panel.x.label, panel.y.label) == (f"x{k}", f"y{k}")
        np.testing.assert_allclose(panel.curves[0].y, (k + 1) * TRAINING, atol=1e-6)


def test_shared_axes_have_labels_once(tmp_path):
    figure, (upper, lower) = plt.subplots(2, sharex=True)
    upper.plot(EPOCHS, TRAINING)
    lower.plot(EPOCHS, VALIDATION)
    for panel in saved(tmp_path / "a.pdf", figure).panels:
        np.testing.assert_allclose(panel.curves[0].x, EPOCHS, atol=1e-6)


def test_twin_axes(tmp_path):
    plt.plot(EPOCHS, TRAINING, color="tab:blue")
    plt.twinx().plot(EPOCHS, 2 - TRAINING, color="tab:red")
    figure = saved(tmp_path / "a.pdf")
    left, right = sorted(figure.panels[0].curves, key=lambda curve: curve.axis)
    np.testing.assert_allclose(left.y, TRAINING, atol=1e-6)
    np.testing.assert_allclose(right.y, 2 - TRAINING, atol=1e-6)


def test_points_outside_of_the_limits_are_not_visible(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.ylim(0.9, 1)
    curve = only_curve(saved(tmp_path / "a.pdf"))
    x, y = curve.data()
    seen = curve.visible[~curve.cut]
    assert x[seen].tolist() == pytest.approx([4, 5, 6, 7, 8])
    assert set(np.round(y[seen], 6)) <= set(TRAINING)


def test_a_gap_in_the_data_is_no_second_curve(tmp_path):
    y = TRAINING.copy()
    y[3] = np.nan
    plt.plot(EPOCHS, y, "o-")
    x, read = only_curve(saved(tmp_path / "a.pdf")).data()
    assert x.tolist() == pytest.approx([1, 2, 3, 5, 6, 7, 8])


def test_error_bars_grid_lines_and_bands_are_no_curves(tmp_path):
    plt.errorbar(EPOCHS, TRAINING, yerr=0.01, xerr=0.2, capsize=3)
    plt.fill_between(EPOCHS, TRAINING - 0.02, TRAINING + 0.02, alpha=0.3)
    plt.axhline(0.9, linestyle="--")
    plt.axvline(3)
    plt.grid()
    np.testing.assert_allclose(only_curve(saved(tmp_path / "a.pdf")).y, TRAINING, atol=1e-6)


def test_legend_tells_curves_apart_by_dashes_or_marks_alone(tmp_path):
    plt.plot(EPOCHS, TRAINING, "k-", label="a")
    plt.plot(EPOCHS, VALIDATION, "k--", label="b")
    plt.plot(EPOCHS, VALIDATION - 0.1, "ks-", label="c")
    plt.legend()
    curves = saved(tmp_path / "a.pdf").panels[0].curves
    assert {curve.name: round(float(curve.y[0]), 3) for curve in curves} == {"a": 0.71, "b": 0.69, "c": 0.59}


def test_curves_that_look_the_same_get_no_names(tmp_path):
    plt.plot(EPOCHS, TRAINING, "k-", label="a")
    plt.plot(EPOCHS, VALIDATION, "k-", label="b")
    plt.legend()
    panel = saved(tmp_path / "a.pdf").panels[0]
    assert [curve.name for curve in panel.curves] == ["", ""]
    assert panel.problems


def test_a_curve_drawn_twice_is_one_curve(tmp_path):
    for _ in range(2):
        plt.plot(EPOCHS, TRAINING, color="C0", label="a")
    plt.plot(EPOCHS, TRAINING, color="C1", label="b")
    plt.legend()
    curves = saved(tmp_path / "a.pdf").panels[0].curves
    assert [curve.colour for curve in curves] == ["#1f77b4", "#ff7f0e"]
    assert [curve.name for curve in curves] == ["a", "b"]


def test_names_at_the_ends_of_curves(tmp_path):
    from labkit import plots

    ax = plots.training({"training": (EPOCHS, TRAINING), "validation": (EPOCHS, VALIDATION)})
    curves = saved(tmp_path / "a.pdf", ax.figure).panels[0].curves
    assert {curve.name: curve.named_by for curve in curves} == {"training": "text", "validation": "text"}
    np.testing.assert_allclose(next(c.y for c in curves if c.name == "training"), TRAINING, atol=1e-6)


def test_points_are_kept_in_page_coordinates(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    figure = saved(tmp_path / "a.pdf")
    want = plt.gca().transData.transform(np.column_stack([EPOCHS, TRAINING])) * 72 / plt.gcf().dpi
    curve = only_curve(figure)
    np.testing.assert_allclose(np.column_stack([curve.page_x, curve.page_y]), want, atol=1e-3)
    np.testing.assert_allclose(figure.panels[0].y.positions(curve.y), curve.page_y, atol=1e-6)
    assert figure.pages == [(pytest.approx(460.8), pytest.approx(345.6))]


# -- what cannot be read -----------------------------------------------------------------------------------------------


def test_a_rasterised_curve_needs_a_person(tmp_path):
    plt.plot(EPOCHS, TRAINING, rasterized=True)
    figure = saved(tmp_path / "a.pdf")
    assert (figure.verdict, figure.kind) == (NEEDS_PERSON, "image")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not_a_pdf"),
        (b"\x89PNG\r\n", "not_a_pdf"),
        (b"%PDF-1.4\nnothing more", "broken"),
    ],
)
def test_files_that_are_no_pdf(content, kind, tmp_path):
    (tmp_path / "a.pdf").write_bytes(content)
    figure = pdf_figure.read(tmp_path / "a.pdf")
    assert (figure.verdict, figure.kind) == (NEEDS_PERSON, kind)


def test_pages_encryption_and_empty_pages(tmp_path):
    from pypdf import PdfReader, PdfWriter

    plt.plot(EPOCHS, TRAINING)
    plt.savefig(tmp_path / "a.pdf")

    def written(fill):
        writer, out = PdfWriter(), io.BytesIO()
        fill(writer)
        writer.write(out)
        (tmp_path / "b.pdf").write_bytes(out.getvalue())
        return pdf_figure.read(tmp_path / "b.pdf").kind

    page = PdfReader(tmp_path / "a.pdf").pages[0]
    assert written(lambda w: [w.add_page(page) for _ in range(500)]) == "too_many_pages"
    assert written(lambda w: (w.add_page(page), w.encrypt("secret", algorithm="RC4-128"))) == "encrypted"
    assert written(lambda w: w.add_blank_page(200, 200)) == "empty"
    assert written(lambda w: w.add_page(page)) == ""


def test_a_damaged_page_is_not_read_in_part(tmp_path):
    plt.plot(EPOCHS, TRAINING)
    plt.savefig(tmp_path / "a.pdf")
    content = bytearray((tmp_path / "a.pdf").read_bytes())
    begin = content.index(b"stream\n", content.index(b"/FlateDecode")) + 300
    content[begin : begin + 20] = bytes(20)
    (tmp_path / "a.pdf").write_bytes(bytes(content))
    figure = pdf_figure.read(tmp_path / "a.pdf")
    assert figure.verdict == NEEDS_PERSON or only_curve(figure).y == pytest.approx(TRAINING)


# -- what the reader sees, and nobody else -------------------------------------------------------------------------------


def _state(page, **entries):
    """Adds the graphics state /Odd to a page."""
    states = page["/Resources"]["/ExtGState"].get_object()
    states[NameObject("/Odd")] = DictionaryObject({NameObject(f"/{key}"): value for key, value in entries.items()})


def _masked(writer, page):
    empty = StreamObject()
    empty.set_data(b"")
    box, group = ArrayObject(map(FloatObject, (0, 0, 600, 600))), DictionaryObject()
    group.update({NameObject("/S"): NameObject("/Transparency"), NameObject("/CS"): NameObject("/DeviceGray")})
    for key, value in (("Type", "XObject"), ("Subtype", "Form")):
        empty[NameObject(f"/{key}")] = NameObject(f"/{value}")
    empty[NameObject("/BBox")], empty[NameObject("/Group")] = box, group
    mask = {NameObject("/S"): NameObject("/Luminosity"), NameObject("/G"): writer._add_object(empty)}
    _state(page, SMask=DictionaryObject(mask))


def _switched_off(writer, page):
    layer = {NameObject("/Type"): NameObject("/OCG"), NameObject("/Name"): TextStringObject("layer")}
    layer = writer._add_object(DictionaryObject(layer))
    off = DictionaryObject({NameObject("/OFF"): ArrayObject([layer])})
    layers = DictionaryObject({NameObject("/OCGs"): ArrayObject([layer]), NameObject("/D"): off})
    writer._root_object[NameObject("/OCProperties")] = layers
    page["/Resources"][NameObject("/Properties")] = DictionaryObject({NameObject("/L"): layer})


def _note(writer, page):
    """A white sheet on top that belongs to no content of the page."""
    sheet = StreamObject()
    sheet.set_data(b"1 g 0 0 600 600 re f")
    for key, value in (("Type", "XObject"), ("Subtype", "Form")):
        sheet[NameObject(f"/{key}")] = NameObject(f"/{value}")
    sheet[NameObject("/BBox")] = ArrayObject(map(FloatObject, (0, 0, 600, 600)))
    note = {NameObject("/Type"): NameObject("/Annot"), NameObject("/Subtype"): NameObject("/Stamp")}
    note |= {NameObject("/Rect"): ArrayObject(map(FloatObject, (0, 0, 600, 600))), NameObject("/F"): NumberObject(4)}
    note[NameObject("/AP")] = DictionaryObject({NameObject("/N"): writer._add_object(sheet)})
    page[NameObject("/Annots")] = ArrayObject([writer._add_object(DictionaryObject(note))])


def _cropped(writer, page):
    page[NameObject("/CropBox")] = ArrayObject(map(FloatObject, (0, 0, 200, 345)))


def _blended(writer, page):
    _state(page, BM=NameObject("/Screen"))


TRICKS = {  # what comes before the page's content, what behind it, what the page gets besides
    "masked": (b"q /Odd gs", b"Q", _masked),
    "on a layer that is off": (b"/OC /L BDC", b"EMC", _switched_off),
    "under a note": (b"", b"", _note),
    "outside of the crop box": (b"", b"", _cropped),
    "blended with white": (b"1 g 0 0 600 600 re f q /Odd gs", b"Q", _blended),
    "clipped to a triangle": (b"q 0 0 m 600 0 l 0 400 l h W n", b"Q", None),
    "clipped to nothing": (b"q 0 0 m 600 0 l 600 400 l 600 0 l h W n", b"Q", None),
    "under a picture in the content": (
        b"",
        b"q 600 0 0 600 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \xff EI Q",
        None,
    ),
    "texts that are not painted": (b"3 Tr", b"", None),
}


@pytest.mark.parametrize("name", TRICKS)
def test_what_only_the_file_holds_is_left_to_a_person(name, tmp_path):
    plt.plot(EPOCHS, TRAINING, "o-", label="training")
    plt.xlabel("epoch")
    plt.legend()
    plt.savefig(tmp_path / "plain.pdf")
    before, behind, more = TRICKS[name]
    writer = PdfWriter(clone_from=PdfReader(tmp_path / "plain.pdf"))
    page = writer.pages[0]
    content = StreamObject()
    content.set_data(b"\n".join((before, page.get_contents().get_data(), behind)))
    page[NameObject("/Contents")] = writer._add_object(content)
    if more is not None:
        more(writer, page)
    writer.write(tmp_path / "a.pdf")
    figure = pdf_figure.read(tmp_path / "a.pdf")
    assert (figure.verdict, figure.kind) == (NEEDS_PERSON, "hidden")


@pytest.mark.parametrize("colour", ["white", "#fafafa"])
def test_a_text_that_nobody_sees_is_left_to_a_person(colour, tmp_path):
    plt.plot(EPOCHS, TRAINING, "o-")
    plt.ylabel("accuracy", color=colour)
    assert saved(tmp_path / "a.pdf", bbox_inches="tight").kind == "hidden"


# -- hostile files -----------------------------------------------------------------------------------------------------


def pdf_of(objects):
    out, places = b"%PDF-1.4\n", []
    for k, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (k, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def stream(content, head=b"", packed=False):
    if packed:
        content, head = zlib.compress(content, 9), head + b"/Filter/FlateDecode"
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (head, len(content), content)


def page_of(content, resources=b"<<>>", more=()):
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 300]/Contents 4 0 R/Resources %s>>" % resources
    return pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, content, *more])


def form(inner, content):
    return stream(content, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F %d 0 R>>>>" % inner)


HOSTILE = {
    "bomb": lambda: page_of(stream(b"0 0 m 1 1 l S\n" * 5_000_000, packed=True)),
    "twice packed": lambda: page_of(
        stream(zlib.compress(bytes(400_000_000)), b"/Filter[/FlateDecode/FlateDecode]", True)
    ),
    "deep arrays": lambda: page_of(stream(b"[" * 100_000)),
    "deep dictionaries": lambda: page_of(stream(b""), b"<</A" * 20_000 + b"<<>>" + b">>" * 20_000),
    "a billion laughs": lambda: page_of(
        stream(b"/F Do"),
        b"<</XObject<</F 5 0 R>>>>",
        [form(k, b"/F Do 0 0 m 9 9 l S " * 10) for k in range(6, 15)] + [form(5, b"")],
    ),
    "a form of itself": lambda: page_of(stream(b"/F Do"), b"<</XObject<</F 5 0 R>>>>", [form(5, b"/F Do")]),
    "huge numbers": lambda: page_of(
        stream(b"1e308 0 0 1e308 0 0 cm 0 0 9e307 9e307 re W n 1e308 1e308 m 1 1 l 1e400 5 l S")
    ),
    "pages of pages": lambda: pdf_of(
        [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 99999>>"]
    ),
    "a huge picture": lambda: page_of(
        stream(b"q 400 0 0 300 0 0 cm /I Do Q"),
        b"<</XObject<</I 5 0 R>>>>",
        [stream(bytes(50_000_000), b"/Type/XObject/Subtype/Image/Width 99999/Height 99999/BitsPerComponent 8", True)],
    ),
    "a wrong length": lambda: page_of(b"<</Length 99999999999>>stream\nq Q\nendstream"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_a_clear_verdict(name, tmp_path):
    (tmp_path / "a.pdf").write_bytes(HOSTILE[name]())
    done = subprocess.run(
        [sys.executable, "-m", "probes.figure.figure", str(tmp_path / "a.pdf")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    figure = Figure.from_json(done.stdout)
    assert figure.verdict == NEEDS_PERSON and figure.kind and figure.reason


def test_too_many_marks_are_not_a_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf_drawing, "MAX_PATHS", 50)
    plt.scatter(np.arange(200), np.arange(200))
    assert saved(tmp_path / "a.pdf").kind == "too_large"


def test_bytes_changed_at_random_never_raise(tmp_path):
    plt.plot(EPOCHS, TRAINING, "o-", label="a")
    plt.legend()
    plt.savefig(tmp_path / "a.pdf")
    sound = (tmp_path / "a.pdf").read_bytes()
    random = np.random.default_rng(1)
    for _ in range(25):
        content = bytearray(sound)
        for _ in range(int(random.choice([1, 10, 200]))):
            content[random.integers(len(content))] = random.integers(256)
        (tmp_path / "b.pdf").write_bytes(bytes(content))
        assert pdf_figure.read(tmp_path / "b.pdf").verdict in (READABLE, NEEDS_PERSON)


# -- as JSON, as a program, and alive ----------------------------------------------------------------------------------


def test_json_there_and_back(tmp_path):
    plt.plot(EPOCHS, TRAINING, "o--", label="a")
    plt.legend()
    figure = saved(tmp_path / "a.pdf")
    again = Figure.from_json(figure.to_json())
    assert again.to_json() == figure.to_json()
    np.testing.assert_array_equal(again.panels[0].curves[0].y, figure.panels[0].curves[0].y)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"panels": 3}',
        "[" * 100_000,
        json.dumps({"panels": [{"curves": [{"x": [0] * (MAX_JSON_POINTS + 1)}]}]}),
    ],
)
def test_json_from_a_jail_is_checked(text):
    with pytest.raises(ValueError, match="not a figure"):
        Figure.from_json(text)


def test_the_program_says_the_same(tmp_path, capsys):
    plt.plot(EPOCHS, TRAINING)
    figure = saved(tmp_path / "a.pdf")
    assert pdf_figure.main([str(tmp_path / "a.pdf")]) == 0
    assert capsys.readouterr().out.strip() == figure.to_json()
    assert pdf_figure.main(["--show", str(tmp_path / "a.pdf")]) == 0
    assert "8 points (1, 0.71)" in capsys.readouterr().out
    assert pdf_figure.main([str(tmp_path / "none.pdf")]) == 1
    assert pdf_figure.main([]) == 2


def test_a_live_figure_gives_what_its_pdf_gives(tmp_path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot(EPOCHS, TRAINING, "o-", label="training")
    left.plot(EPOCHS, VALIDATION, "--", label="validation")
    left.set(xlabel="epoch", ylabel="accuracy", title="4 ranks")
    left.legend()
    right.semilogy(EPOCHS, 1 - TRAINING)
    right.set(ylabel="loss")
    live, read = pdf_figure.from_matplotlib(figure), saved(tmp_path / "a.pdf", figure)
    assert live.verdict == read.verdict == READABLE
    for a, b in zip(live.panels, read.panels, strict=True):
        assert (a.x.label, a.y.label, a.title, a.x.scale, a.y.scale) == (
            b.x.label,
            b.y.label,
            b.title,
            b.x.scale,
            b.y.scale,
        )
        np.testing.assert_allclose(a.frame, b.frame, atol=0.01)
        for one, other in zip(a.curves, b.curves, strict=True):
            assert (one.name, one.colour, one.marker) == (other.name, other.colour, other.marker)
            np.testing.assert_allclose(one.y, other.y, rtol=1e-6)
            np.testing.assert_allclose(one.page_y, other.page_y, atol=1e-3)


def test_a_name_that_no_legend_shows_is_no_name():
    plt.plot(EPOCHS, TRAINING, label="training")
    figure = pdf_figure.from_matplotlib(plt.gcf())
    assert only_curve(figure).name == ""
