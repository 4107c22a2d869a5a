"""Figures of a training beside another one: losses and what is between them, distances of weights step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from labkit import palette, plots
from labkit.plots.charts import COLOURS

LOOKS = (("red", "o"), ("blue", "^"))  # of the differences, in their order


def beside_sequential(
    sequential: Sequence[float],
    parallel: Mapping[str, Sequence[float]],
    gaps: Mapping[str, Sequence[float]],
    *,
    floor: float = 1e-9,
    ylim: tuple[float, float] = (1e-9, 1e-3),
    rounding: Mapping[str, float] | None = None,
) -> None:
    """Above: the loss of each step in one process, a broad pale curve, and those of other runs, dashed, on it. Below:
    by how much they are apart, logarithmic; less than `floor`, 0 above all, is drawn there.

    parallel: name -> losses of every step; may be empty. gaps: name -> differences of the losses. rounding: name ->
    what the number format of the gap in the same place rounds to, drawn as a line across.
    """
    _, (above, below) = plt.subplots(2, 1, figsize=(8, 5.2), sharex=True, layout="constrained")
    for ax in (above, below):
        plots.canvas(ax)
    above.plot(sequential, color=palette.SKY, linewidth=4.5, label="one process")
    for name, losses in parallel.items():
        above.plot(losses, "--", color=palette.INK, linewidth=1.2, label=name)
    above.set(ylabel="loss of the minibatch")
    for (name, gap), (colour, marker) in zip(gaps.items(), LOOKS, strict=False):
        below.plot(np.maximum(gap, floor), marker, color=COLOURS[colour], markersize=3, label=name)
    for (name, height), (colour, _), line in zip((rounding or {}).items(), LOOKS, ("--", ":"), strict=False):
        below.axhline(height, color=COLOURS[colour], linestyle=line, linewidth=1, label=name)
    below.set(yscale="log", ylim=ylim, xlabel="step", ylabel=f"difference (0 drawn at {floor:.0e})")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    above.legend(frameon=False, fontsize=9, loc="upper right")
    if len(gaps) + len(rounding or {}) > 1:
        below.legend(frameon=False, fontsize=9, loc="upper right", ncols=2)


def distances(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    ylabel: str,
    promised: float | None = None,
    ylim: tuple[float, float] = (-3e-10, 5),
) -> None:
    """Distances over steps, a panel for each way to measure them: title -> (name of a run -> a number for each step).

    The axis is logarithmic from 1e-9 up, with 0 below. promised: a thin line at what a right run keeps below.
    """
    size = (3.6 * len(panels), 3.9)
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharex=True, sharey=True, squeeze=False)
    figure.set_layout_engine("constrained")
    for ax, (title, runs) in zip(axes[0], panels.items(), strict=True):
        plots.canvas(ax)
        for k, (name, values) in enumerate(runs.items()):
            ax.plot(values, **plots.style(k), markevery=(k, 4), markersize=5, label=name)
        if promised is not None:
            ax.axhline(promised, color=palette.GREY, linewidth=0.8)
        ax.set_yscale("symlog", linthresh=1e-9, linscale=0.5)
        powers = range(-9, 1, 2)
        ax.set_yticks([0, *(10.0**k for k in powers)], ["0", *(f"$10^{{{k}}}$" for k in powers)])
        ax.set(xlabel="step", ylim=ylim)
        ax.set_title(title, fontsize=10)
    axes[0, 0].set_ylabel(ylabel)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, fontsize=9, ncols=len(names), loc="outside upper center")
