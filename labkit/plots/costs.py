"""Figures of times: the steps of one run, and all-reduces on a network of the formulas in `labkit.scaling`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from labkit import scaling
from labkit.plots import charts

FORMULAS = {"ring": scaling.ring_all_reduce_time, "tree": scaling.tree_all_reduce_time}


def step_times(seconds: Sequence[float], *, title: str = "", size: tuple[float, float] = (7, 3.2)) -> Axes:
    """A point for the time of each step, in ms. The axis ends a tenth above the second longest; a first step beyond it
    is named in words at the top.
    """
    milliseconds = 1e3 * np.asarray(seconds)
    top = 1.1 * np.sort(milliseconds)[-2]
    ax = charts.points(
        {"one step": (1 + np.arange(len(milliseconds)), milliseconds)},
        size=size,
        markersize=4,
        legend=None,
        xlabel="step",
        ylabel="time, ms",
        ylim=(0, top),
        title=title,
    )
    if milliseconds[0] > top:
        ax.annotate(f"↑ step 1: {milliseconds[0]:.0f} ms", (1, 0.95 * top))
    return ax


def all_reduces(
    sizes: Mapping[str, int],
    virtual: Mapping[tuple[str, int, int], float],
    alpha: float,
    beta: float,
    *,
    title: str = "",
) -> None:
    """The time of a ring and of a tree over 2 to 4096 ranks, a panel for each size: lines by formula, points where a
    simulation has said it.

    sizes: name -> bytes. virtual: ("ring" or "tree", bytes, ranks) -> seconds. alpha, beta: seconds for a message and
    for a byte. title: above all panels.
    """
    many = 2 ** np.arange(1, 13)
    figure, axes = plt.subplots(1, len(sizes), figsize=(4 * len(sizes), 3.8), layout="constrained")
    words = {"log": "xy", "xlabel": "ranks", "xticks": [2, 8, 64, 512, 4096]}
    for ax, (name, nbytes) in zip(np.atleast_1d(axes), sizes.items(), strict=True):
        lines, dots = {}, {}
        for kind, formula in FORMULAS.items():
            lines[kind] = many, [1e3 * formula(int(p), nbytes, alpha, beta) for p in many]
            there = [p for which, n, p in virtual if (which, n) == (kind, nbytes)]
            dots[kind] = there, [1e3 * virtual[kind, nbytes, p] for p in there]
        charts.compared(lines, dots, ax, legend="ends", title=f"{name} per rank", **words)
    np.atleast_1d(axes)[0].set_ylabel("time of one all-reduce, ms")
    figure.suptitle(title, fontsize=10)
