"""Bars in groups, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from labkit import palette, plots

COLOURS = (palette.SKY, palette.VERMILLION, palette.GREEN)
HATCHES = ("", "//", "..")


def bars(
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (8, 3),
    ends: str = "%.1f",
    **axes,
) -> Axes:
    """For each group one upright bar of each series, from 0 on, with its value at its end; a series has one colour and
    one hatching.

    groups: names below the bars. series: name -> a value for each group; at most three. ends: a format of the values.
    What else is given by name (ylabel, title) goes to the axes. Raises ValueError where a series does not fit.
    """
    if not 1 <= len(series) <= len(COLOURS):
        raise ValueError(f"{len(series)} series; from 1 to {len(COLOURS)} can be told apart")
    ax, places, width = plots.canvas(ax, size), np.arange(len(groups)), 0.8 / len(series)
    for k, (name, values) in enumerate(series.items()):
        if len(values) != len(groups):
            raise ValueError(f"{name}: {len(values)} values for {len(groups)} groups; each group needs one")
        look = {"color": palette.tint(COLOURS[k], 0.4), "edgecolor": COLOURS[k], "hatch": HATCHES[k], "label": name}
        drawn = ax.bar(places + (k - (len(series) - 1) / 2) * width, values, 0.95 * width, **look)
        ax.bar_label(drawn, fmt=ends, fontsize=8, padding=2)
    ax.grid(visible=False, axis="x")
    largest = max(max(values) for values in series.values())
    ax.set(**{"xticks": places, "xticklabels": groups, "ylim": (0, 1.25 * largest)} | axes)
    ax.legend(frameon=False, fontsize=9)
    return ax
