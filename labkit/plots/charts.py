"""Figures that many lessons need: lines and points, bars, bars made of parts, histograms.

Every function takes the numbers that a cell has computed, draws into `ax` or makes one of `size` (inches), and returns
the axes (`diagrams`, of several, nothing). What else it is given by name (xlabel, ylabel, title, xlim, ylim, xticks,
yticks) goes to the axes. A *look* is a string: the name of a colour (`COLOURS`) and, after a space, matplotlib's marker
and line: "blue o", "red --", "ink o-".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from labkit import palette, plots
from labkit.timeline import common_scales
from labkit.timeline import draw as draw_timeline

COLOURS = {
    "blue": palette.BLUE,
    "orange": palette.ORANGE,
    "green": palette.GREEN,
    "red": palette.VERMILLION,
    "purple": palette.PURPLE,
    "sky": palette.SKY,
    "ink": palette.INK,
    "grey": palette.GREY,
}
HATCHES = ("", "//", "..", "\\\\", "xx", "++")
_LINE = re.compile(r"(--|-\.|-|:)$")


def look(text: str) -> dict:
    """Colour, marker and line style of a look, "blue o--", for matplotlib. Raises ValueError for a colour that the
    course does not have.
    """
    colour, _, rest = text.partition(" ")
    if colour not in COLOURS:
        raise ValueError(f'there is no colour "{colour}" in the look "{text}"; there are {", ".join(COLOURS)}')
    line = _LINE.search(rest)
    marker = rest[: line.start()] if line else rest
    return {"color": COLOURS[colour], "marker": marker or "", "linestyle": line.group() if line else ""}


def lines(
    series: Mapping[str, tuple],
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (7, 4),
    log: str = "",
    legend: str | dict | None = "best",
    markersize: float = 5,
    stairs: bool = False,
    **axes,
) -> Axes:
    """Curves and points. series: name -> (x, y) or (x, y, look) or (x, y, look, spread); spread: y goes from
    y - spread to y + spread. A name that begins with "_" is not in the legend.

    log: the logarithmic axes: "", "x", "y" or "xy". legend: where (matplotlib's words), or all of its arguments;
    "ends": each name stands at the end of its curve; None: no legend. stairs: a value holds until the next one. Raises
    ValueError where x and y do not have the same length.
    """
    ax = _scaled(ax, size, log)
    for k, (name, (x, y, *more)) in enumerate(series.items()):
        if len(x) != len(y):
            raise ValueError(f"{name}: {len(x)} values of x and {len(y)} of y; each point needs both")
        how = (look(more[0]) if more and more[0] else plots.style(k)) | {"markersize": markersize, "label": name}
        if how["marker"] == "_":  # a dash across all other points
            how |= {"markersize": 22, "markeredgewidth": 2}
        if len(more) > 1:
            ax.errorbar(x, y, more[1], capsize=4, **how)
        else:
            ax.plot(x, y, linewidth=1.5, drawstyle="steps-post" if stairs else "default", **how)
    _finish(ax, axes)
    _name(ax, series, legend)
    return ax


def points(series: Mapping[str, tuple], ax: Axes | None = None, **how) -> Axes:
    """`lines` without lines: name -> (x, y) or (x, y, look); colours and markers in their order where no look is
    given. how: as for `lines`.
    """
    names = list(COLOURS)
    given = {}
    for k, (name, (x, y, *more)) in enumerate(series.items()):
        given[name] = (x, y, *(more or [f"{names[k % len(names)]} {plots.MARKERS[k % len(plots.MARKERS)]}"]))
    return lines(given, ax, **{"size": (8, 3.6), "markersize": 6} | how)


def compared(
    formula: Mapping[str, tuple],
    measured: Mapping[str, tuple],
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (7, 4),
    log: str = "",
    legend: str | dict | None = "best",
    **axes,
) -> Axes:
    """Curves of a formula as lines, and measurements as points: name -> (x, y) in both. The same name has the
    same colour in both and stands in the legend once. log, legend: as for `lines`.
    """
    ax = _scaled(ax, size, log)
    names = list(dict.fromkeys([*formula, *measured]))
    for k, name in enumerate(names):
        how = plots.style(k)
        if name in formula:
            ax.plot(*formula[name], color=how["color"], linestyle=how["linestyle"], linewidth=1.5)
        if name in measured:
            ax.plot(*measured[name], color=how["color"], marker=how["marker"], linestyle="", markersize=6)
    _finish(ax, axes)
    keys = [Line2D([], [], **plots.style(k), markersize=6) for k in range(len(names))]
    if legend == "ends":
        plots.label_ends(ax, {name: formula[name] for name in names})
    elif legend is not None:
        where = legend if isinstance(legend, dict) else {"loc": legend}
        ax.legend(keys, names, **{"frameon": False, "fontsize": 9} | where)
    return ax


def _scaled(ax: Axes | None, size: tuple[float, float], log: str) -> Axes:
    """The canvas, its axes in `log` logarithmic before anything is drawn, so that there may be nothing to draw."""
    ax = plots.canvas(ax, size)
    ax.set(**{f"{axis}scale": "log" for axis in log})
    return ax


def _finish(ax: Axes, axes: dict) -> None:
    """Labels and limits; ticks that are given are written as numbers, without others between them."""
    ax.set(**axes)
    for axis in (ax.xaxis, ax.yaxis):
        if f"{axis.axis_name}ticks" in axes:
            axis.set_major_formatter(plots.PLAIN)
            axis.set_minor_locator(plots.NullLocator())


def _name(ax: Axes, series: Mapping[str, tuple], legend: str | dict | None) -> None:
    """The names of the series, in a legend or at their ends."""
    named = {name: (x, y) for name, (x, y, *_) in series.items() if not name.startswith("_")}
    if legend == "ends":
        colours = {one.get_label(): one.get_color() for one in ax.lines}
        plots.label_ends(ax, named, colours=colours)
    elif legend is not None and len(named) > 0:
        ax.legend(**{"frameon": False, "fontsize": 9} | (legend if isinstance(legend, dict) else {"loc": legend}))


def guide(
    ax: Axes,
    name: str,
    *,
    x: float | None = None,
    y: float | None = None,
    how: str = "grey :",
    at: str = "left",
    below: bool = False,
) -> None:
    """A thin line across `ax` at x or at y with its name beside it, out of any legend: over (`below`: under) a line at
    y, at its "left" or "right" end; beside a line at x, at the "top" or (any other `at`) at the bottom.
    """
    style = look(how)
    colour, lift = plots.dark(style["color"]), {"textcoords": "offset points", "fontsize": 9}
    if (x is None) == (y is None):
        raise ValueError("a guide stands at x or at y: give one of the two")
    if y is not None:
        ax.axhline(y, color=style["color"], linestyle=style["linestyle"], linewidth=1, zorder=1)
        place, side = ((1, y), "right") if at == "right" else ((0, y), "left")
        where = {"xycoords": ("axes fraction", "data"), "ha": side, "va": "top" if below else "bottom"}
        ax.annotate(name, place, (-3 if side == "right" else 3, -3 if below else 2), color=colour, **where, **lift)
    else:
        ax.axvline(x, color=style["color"], linestyle=style["linestyle"], linewidth=1, zorder=1)
        place, side = ((x, 0.97), "top") if at == "top" else ((x, 0.03), "bottom")
        where = {"xycoords": ("data", "axes fraction"), "ha": "left", "va": side}
        ax.annotate(name, place, (4, 0), color=colour, **where, **lift)


def bars(
    values: Mapping[str, float],
    ax: Axes | None = None,
    *,
    size: tuple[float, float] | None = None,
    ends: str | Sequence[str] = "{:.3g}",
    colours: Sequence[str] = ("blue",),
    upright: bool = False,
    **axes,
) -> Axes:
    """A bar for each name, from 0 on, with a word at its end; the first is at the top, or, with `upright`, at the left.

    ends: a format for the values, or one text for each bar. colours: names of `COLOURS`, over and over.
    """
    ax = plots.canvas(ax, size or ((6, 3.2) if upright else (7, 0.8 + 0.5 * len(values))))
    texts = [ends.format(value) for value in values.values()] if isinstance(ends, str) else list(ends)
    if len(texts) != len(values):
        raise ValueError(f"{len(values)} bars and {len(texts)} texts for their ends; each bar needs one")
    fill = [COLOURS[colours[k % len(colours)]] for k in range(len(values))]
    draw = ax.bar if upright else ax.barh
    ax.bar_label(draw(list(values), list(values.values()), color=fill), texts, padding=4, fontsize=9)
    ax.margins(**{"y" if upright else "x": 0.14})
    ax.grid(visible=False, axis="x" if upright else "y")
    if not upright:
        ax.invert_yaxis()
    ax.set(**axes)
    return ax


def boxes(
    x: Sequence[float],
    quarters: Sequence[tuple[float, float, float]],
    names: Sequence[str],
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (7, 4),
    log: str = "",
    **axes,
) -> Axes:
    """At each x a point for the median and a bar for the middle half of what was measured there, with its name.

    quarters: (lower quartile, median, upper quartile) for each x. log: as for `lines`. y begins at 0.
    """
    ax = _scaled(ax, size, log)
    for place, (low, middle, high), name in zip(x, quarters, names, strict=True):
        ax.plot([place, place], [low, high], color=palette.SKY, linewidth=3)
        ax.plot(place, middle, "o", color=palette.BLUE)
        ax.annotate(name, (place, middle), (7, 5), textcoords="offset points", fontsize=9)
    _finish(ax, {"ylim": (0, None)} | axes)
    return ax


def parts(
    rows: Mapping[str, Mapping[str, float]],
    ax: Axes | None = None,
    *,
    size: tuple[float, float] | None = None,
    ends: Sequence[str] = (),
    **axes,
) -> Axes:
    """A lying bar for each row, made of its parts from left to right; each part has one colour and one hatching in all
    rows. rows: name -> (part -> length). ends: a text behind each bar.
    """
    ax = plots.canvas(ax, size or (9, 1.3 + 0.5 * len(rows)))
    names = list(dict.fromkeys(part for row in rows.values() for part in row))
    for k, row in enumerate(rows.values()):
        left = 0.0
        for part, length in row.items():
            n = names.index(part)
            face = palette.tint(palette.CYCLE[n % len(palette.CYCLE)], 0.35)
            ax.barh(k, length, left=left, color=face, hatch=HATCHES[n % len(HATCHES)], edgecolor="white")
            left += length
        if ends:
            ax.annotate(ends[k], (left, k), (6, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set(yticks=range(len(rows)), yticklabels=list(rows), **axes)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    handles = [
        Patch(facecolor=palette.tint(palette.CYCLE[n % len(palette.CYCLE)], 0.35), hatch=HATCHES[n], edgecolor="white")
        for n in range(len(names))
    ]
    ax.legend(handles, names, frameon=False, ncols=len(names), loc="lower left", bbox_to_anchor=(0, 1), fontsize=9)
    return ax


def histogram(
    samples: Mapping[str, Sequence],
    bins: Sequence,
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (9, 3),
    **axes,
) -> Axes:
    """Histograms of samples, with the edges `bins`, as outlines: name -> values."""
    ax = plots.canvas(ax, size)
    for k, (name, values) in enumerate(samples.items()):
        colour, line = plots.style(k)["color"], plots.LINES[k % len(plots.LINES)]
        ax.hist(np.asarray(values), bins, histtype="step", color=colour, linestyle=line, linewidth=1.5, label=name)
    ax.set(**{"xlim": (bins[0], bins[-1])} | axes)
    ax.set_ylim(top=1.2 * ax.get_ylim()[1])
    ax.legend(frameon=False, loc="upper left", fontsize=9)
    return ax


def spikes(
    x: Sequence[float],
    heights: Sequence[float],
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (8, 2.8),
    **axes,
) -> Axes:
    """Upright bars that stand at the numbers x (increasing), as wide as the smallest gap between two allows."""
    ax = plots.canvas(ax, size)
    ax.bar(x, heights, width=0.7 * np.diff(x).min() if len(x) > 1 else 1.0, color=palette.BLUE)
    ax.grid(visible=False, axis="x")
    ax.margins(y=0.15)
    ax.set(**axes)
    return ax


def diagrams(runs: Mapping[str, object], p: int, *, memory: bool = False) -> None:
    """The space-time diagrams of several runs, one under the other, on one scale of time and one of memory.

    runs: title -> what `simulation.run` returned, of p ranks. memory: with the curves of what each rank holds.
    """
    curves = {title: run.memory if memory else None for title, run in runs.items()}
    scales = common_scales([(run.events, curves[title]) for title, run in runs.items()], p)

    def draw(title: str, ax: Axes | None = None) -> Figure:
        return draw_timeline(runs[title].events, p, title=title, ax=ax, memory=curves[title], scales=scales)

    sizes = {title: draw(title).get_size_inches() for title in runs}
    width, height, top = max(w for w, _ in sizes.values()), sum(h for _, h in sizes.values()), 1.0
    figure = plots.plt.figure(figsize=(width, height))
    for title, (w, h) in sizes.items():
        top -= h / height
        draw(title, figure.add_axes((0, top, w / width, h / height)))


def side_by_side(
    panels: Mapping[str, Mapping[str, tuple]],
    *,
    size: tuple[float, float] | None = None,
    xlabel: str,
    xticks: Sequence[float] | None = None,
    ylim: Mapping[str, tuple] | None = None,
) -> None:
    """`lines` in several panels with the same names, and their legend once, above.

    panels: label of the y axis -> series as for `lines`. ylim: of panels that have limits of their own.
    """
    figure, axes = plots.plt.subplots(1, len(panels), figsize=size or (4.3 * len(panels), 3.7), layout="constrained")
    for ax, (ylabel, series) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        lines(series, ax, legend=None, xlabel=xlabel, ylabel=ylabel, ylim=(ylim or {}).get(ylabel, (None, None)))
        if xticks is not None:
            _finish(ax, {"xticks": xticks})
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, fontsize=9, ncols=len(names), loc="outside upper center")
