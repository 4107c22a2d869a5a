"""Figures of gradients and of what it costs to reduce them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from labkit.plots import charts


def of_ranks(own: Sequence, whole: Sequence, batch: int) -> Axes:
    """The gradients of the last layer's biases: for each class the points of all ranks beside each other, their mean as
    a dash, and a cross for the one process that has seen the whole batch.

    own: a row for each rank, (ranks, classes). whole: (classes,). batch: images of all ranks together.
    """
    own = np.asarray(own)
    p, classes = own.shape
    places = np.arange(classes)
    points: dict[str, tuple] = {
        f"rank {rank}, {batch // p} images": (places + 0.12 * (rank - (p - 1) / 2), row) for rank, row in enumerate(own)
    }
    points[f"mean of the {p} ranks"] = places, own.mean(axis=0), "ink _"
    points[f"one process, {batch} images"] = places, np.asarray(whole), "ink x"
    legend = {"ncols": 2, "fontsize": 8}
    return charts.points(points, legend=legend, xlabel="class", ylabel="gradient of its bias", xticks=places)


def calls(pieces: Sequence[int], milliseconds: Sequence[float], size: str, p: int) -> Axes:
    """The time of one vector's all-reduce on p ranks over the number of calls it is cut into, both axes logarithmic,
    and the line of a fixed time per call through the first point and the last.

    size: of the vector, in words: "1.3 MB".
    """
    per_call = (milliseconds[-1] - milliseconds[0]) / (pieces[-1] - pieces[0])
    line = milliseconds[0] + per_call * (np.asarray(pieces) - 1)
    series = {
        f"measured, {p} ranks of this machine": (pieces, milliseconds, "blue o-"),
        f"{per_call * 1e3:.0f} µs per call": (pieces, line, "grey --"),
    }
    xlabel = f"number of all_reduce calls for {size}"
    return charts.lines(series, log="xy", size=(7, 3.4), xlabel=xlabel, ylabel="time, ms")
