"""Figures of what ranks draw: an accuracy that depends on their number, and pictures that each of them has shifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from labkit.plots import charts, tiles

LOOKS = ("blue o", "red ^")


def accuracy(worlds: Sequence[int], reported: Mapping[str, Sequence[float]], truth: float) -> Axes:
    """Reported accuracy over the number of ranks, and a line at the true one; all in percent.

    worlds: numbers of ranks. reported: at most two; name -> an accuracy for each number of ranks.
    """
    series = {name: (worlds, reported[name], LOOKS[k]) for k, name in enumerate(reported)}
    ax = charts.points(
        series,
        markersize=4,
        legend={"ncols": 2, "loc": "lower center", "bbox_to_anchor": (0.5, 1)},
        xlabel="ranks",
        ylabel="reported accuracy, %",
    )
    charts.guide(ax, "every image once", y=truth, how="ink -", at="right")
    return ax


def shifted(images: Sequence[np.ndarray], shifts: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    """The image of each rank, shifted, in a row for each name. shifts: name -> pixels (down, right) for each rank."""
    rows = {
        name: [
            (f"rank {rank}: {down:+d}, {right:+d}", np.roll(images[rank], (down, right), axis=(0, 1)))
            for rank, (down, right) in enumerate(pairs)
        ]
        for name, pairs in shifts.items()
    }
    tiles.pictures(rows, cmap="gray_r")
