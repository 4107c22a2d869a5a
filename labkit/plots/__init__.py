"""The course's figures of scaling and of training: one look for all of them, and nothing told by
colour alone.

Each function draws into an axes that it is given, or makes one, and returns it. A curve is a name
and two sequences of the same length; its name stands at its end. y holds numbers or
`labkit.scaling.Estimate`s, which are drawn with their 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from labkit.palette import CYCLE, FAINT, GREY, INK
from labkit.scaling import Estimate

Curves = Mapping[str, tuple[Sequence, Sequence]]  # name -> (x, y)

MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
PLAIN = FuncFormatter(lambda tick, _: f"{tick:,.6g}")  # 2,000 and not 2 x 10^3
LINE_OF_TEXT = 12.0  # points between two names, so that they do not overlap


def style(k: int) -> dict:
    """Colour, marker and line style of the k-th curve: all three differ, so that a grey print-out
    can be read, too.
    """
    return {
        "color": CYCLE[k % len(CYCLE)],
        "marker": MARKERS[k % len(MARKERS)],
        "linestyle": LINES[k % len(LINES)],
    }


def speedup(curves: Curves, ax: Axes | None = None) -> Axes:
    """Speedup over ranks, both axes logarithmic, beside the line of a perfect one. curves: name ->
    (p, speedups).
    """
    ax, ranks = canvas(ax), _all_ranks(curves)
    ax.plot(ranks, ranks, color=GREY, linewidth=1, linestyle=(0, (2, 2)), zorder=1)
    _draw(ax, curves)
    ax.set(xscale="log", yscale="log", xlabel="ranks", ylabel="speedup")
    _ticks(ax.xaxis, ranks)
    slower = [0.5**k for k in range(1, 8)]  # with too few cores, more ranks may be slower than one
    _ticks(ax.yaxis, [p for p in (*slower, *ranks) if p >= ax.get_ylim()[0]])
    label_ends(ax, curves, also={"perfect": (ranks[-1], ranks[-1])})
    return ax


def efficiency(curves: Curves, ax: Axes | None = None) -> Axes:
    """Efficiency over ranks, from 0 up, with the line of a perfect one. curves: name -> (p,
    efficiencies; 1 is perfect).
    """
    ax, ranks = canvas(ax), _all_ranks(curves)
    ax.axhline(1, color=GREY, linewidth=1, linestyle=(0, (2, 2)), zorder=1)
    _draw(ax, curves)
    ax.set(xscale="log", xlabel="ranks", ylabel="efficiency", ylim=(0, max(1.08, ax.get_ylim()[1])))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.0f} %"))
    _ticks(ax.xaxis, ranks)
    label_ends(ax, curves)
    return ax


def throughput(curves: Curves, ax: Axes | None = None, ylabel: str = "images per second") -> Axes:
    """Throughput over ranks, both axes logarithmic. The thin line from each first point is what
    perfect scaling would give.
    """
    ax = canvas(ax)
    for k, (p, y) in enumerate(curves.values()):
        perfect = values(y)[0] * np.array(p) / p[0]
        ax.plot(p, perfect, color=style(k)["color"], linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    _draw(ax, curves)
    ax.set(xscale="log", yscale="log", xlabel="ranks", ylabel=ylabel)
    _ticks(ax.xaxis, _all_ranks(curves))
    ax.yaxis.set_major_formatter(PLAIN)
    ax.yaxis.set_minor_formatter(PLAIN)
    label_ends(ax, curves)
    return ax


def training(
    curves: Curves,
    ax: Axes | None = None,
    *,
    xlabel: str = "epoch",
    ylabel: str = "accuracy",
    log: bool = False,
) -> Axes:
    """Loss or accuracy over steps, epochs or seconds. curves: name -> (x, y). log: a logarithmic y
    axis. About ten markers a curve.
    """
    ax = canvas(ax)
    _draw(ax, curves, markers=10)
    ax.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if log else "linear")
    label_ends(ax, curves)
    return ax


def label_ends(
    ax: Axes,
    curves: Curves,
    also: Mapping[str, tuple[float, float]] | None = None,
    colours: Mapping[str, str] | None = None,
) -> None:
    """Write each curve's name beside its last point, in its colour; names that would overlap are
    moved apart.

    also: further names with the point where they belong, in grey. The limits and scales of the axes
    must be set before. colours: of names that are not drawn in the style of their place.
    """
    ends = {
        name: (x[-1], values(y)[-1], (colours or {}).get(name, style(k)["color"]))
        for k, (name, (x, y)) in enumerate(curves.items())
    }
    ends |= {name: (x, y, GREY) for name, (x, y) in (also or {}).items()}
    ax.figure.draw_without_rendering()  # only then is it known where a point will be
    to_points = 72 / ax.figure.dpi
    places = {name: ax.transData.transform((x, y)) * to_points for name, (x, y, _) in ends.items()}
    below = None
    for name in sorted(ends, key=lambda name: places[name][1]):
        x, y, colour = ends[name]
        lift = 0.0
        if below is not None and abs(below[0] - places[name][0]) < 60:
            lift = max(0.0, below[1] + LINE_OF_TEXT - places[name][1])
        below = (places[name][0], places[name][1] + lift)
        ax.annotate(
            name,
            (x, y),
            (7, lift),
            textcoords="offset points",
            color=dark(colour),
            fontsize=9,
            va="center",
        )


def dark(colour: str) -> str:
    """`colour` ("#RRGGBB") dark enough for text on white; orange and sky blue are not."""
    return "#" + "".join(f"{round(0.7 * int(colour[i : i + 2], 16)):02X}" for i in (1, 3, 5))


def values(y: Sequence) -> np.ndarray:
    """The values of numbers or estimates, as an array."""
    return np.array([one.value if isinstance(one, Estimate) else one for one in y], dtype=float)


def _draw(ax: Axes, curves: Curves, markers: int | None = None) -> None:
    """The curves, each in its style; error bars where there are estimates."""
    for k, (x, y) in enumerate(curves.values()):
        middle = values(y)
        spread = [one.high - one.value if isinstance(one, Estimate) else 0.0 for one in y]
        if any(spread):
            ax.errorbar(x, middle, spread, **style(k), markersize=5, capsize=3, linewidth=1.5)
        else:
            every = max(1, len(middle) // markers) if markers else 1
            ax.plot(x, middle, **style(k), markersize=5, linewidth=1.5, markevery=every)


def canvas(ax: Axes | None = None, size: tuple[float, float] = (6, 4)) -> Axes:
    """`ax`, or a new one of `size` in inches, with the course's grid and without a box."""
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.grid(color=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=INK)
    return ax


def _all_ranks(curves: Curves) -> list:
    return sorted({p for ranks, _ in curves.values() for p in ranks})


def _ticks(axis, ticks: Sequence) -> None:
    """Ticks at these numbers, written as numbers and not as powers of ten."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(PLAIN)
