"""Figures of input pipelines: the order of a stream, who reads what, and what ranks wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from labkit import palette, plots

KINDS = {  # what a rank does: colour and hatching
    "busy": (palette.BLUE, ""),
    "waits for data": (palette.VERMILLION, "////"),
    "waits for others": (palette.FAINT, "...."),
}


def orders(panels: Mapping[str, Sequence[int]]) -> Figure:
    """Streams that were shuffled: a point for each element, its place in the stream to the right and its place in the
    output upwards. panels: title -> for each place of the output the place in the stream.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(10, 3.4), sharey=True, squeeze=False, layout="constrained")
    for ax, (title, order) in zip(axes[0], panels.items(), strict=True):
        plots.canvas(ax).plot(order, range(len(order)), ".", markersize=2.5, color=palette.BLUE)
        ax.set(title=title, xlabel="place in the stream", aspect="equal")
    axes[0, 0].set_ylabel("place in the output")
    return figure


def bands(panels: Mapping[str, Sequence[Sequence[tuple[str, float, float]]]]) -> Figure:
    """Timelines of the ranks, a panel above the other with the same time axis.

    panels: title -> for each rank the spans (kind, from, to), in seconds; kinds are those of `KINDS`. Raises ValueError
    for another one.
    """
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(9.5, 0.6 + 2.3 * len(panels)), sharex=True, squeeze=False, layout="constrained"
    )
    for ax, (title, lanes) in zip(axes[:, 0], panels.items(), strict=True):
        for r, lane in enumerate(lanes):
            if others := {kind for kind, *_ in lane} - KINDS.keys():
                raise ValueError(f"a rank does {sorted(others)}; there is {', '.join(KINDS)}")
            for kind, (colour, hatch) in KINDS.items():
                spans = [(a, b - a) for which, a, b in lane if which == kind]
                look = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.3}
                ax.broken_barh(spans, (r - 0.38, 0.76), label=kind if r == 0 else None, **look)
        ax.set_yticks(range(len(lanes)), [f"rank {r}" for r in range(len(lanes))])
        ax.invert_yaxis()
        ax.set_title(title)
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel("seconds")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(KINDS))
    return figure


def seen(panels: Mapping[str, Mapping[str, Sequence[int] | str]], samples: int) -> Figure:
    """The samples that each worker has seen, side by side. panels: title -> (worker -> numbers of samples, or a
    word in their place, for example the name of an error).
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(10, 1.9), sharey=True, squeeze=False, layout="constrained")
    for ax, (title, workers) in zip(axes[0], panels.items(), strict=True):
        plots.canvas(ax)
        for k, numbers in enumerate(workers.values()):
            if isinstance(numbers, str):
                ax.text(samples / 2 - 0.5, k, numbers, ha="center", va="center", color=palette.VERMILLION)
            else:
                look = {"marker": plots.MARKERS[k], "color": palette.CYCLE[k], "s": 42}
                ax.scatter(numbers, [k] * len(numbers), **look)
        ax.set(title=title, xlabel="sample", xlim=(-0.8, samples - 0.2), ylim=(len(workers) - 0.4, -0.6))
        ax.set_xticks(range(0, samples, 2))
        ax.set_yticks(range(len(workers)), list(workers))
    return figure
