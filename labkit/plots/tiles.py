"""Figures of who holds what: vectors of ranks as rows of numbers in boxes, samples dealt out to ranks, and pictures in
a grid.

A box has the colour of the rank that its number comes from; the number in it says the same in digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from labkit import palette

Shares = Sequence[Sequence]  # of each rank: ids of samples, or a list of batches of them


def colour_of(rank: int) -> str:
    """The pale colour of a rank, for boxes with ink in them."""
    return palette.tint(palette.CYCLE[rank % len(palette.CYCLE)], 0.45)


def before_and_after(before: Sequence[Mapping], after: Sequence[Mapping]) -> None:
    """The numbers of every rank before and after each of several operations: a column of two grids for each, a row for
    each rank.

    before, after: for each rank, a dictionary: operation -> vector of p integers, a tensor of any device, too.
    10 (r + 1) + k stands for element k of rank r, a larger number for a sum (white), a negative one for nothing
    (empty).
    """
    p, names = len(before), list(before[0])
    figure, axes = plt.subplots(2, len(names), figsize=(2.1 * len(names), 4.7), squeeze=False, layout="constrained")
    for (above, below), name in zip(axes.T, names, strict=True):
        _grid(above, [rank[name] for rank in before])
        _grid(below, [rank[name] for rank in after])
        above.set_title(name, fontsize=10)
    for ax, when in zip(axes[:, 0], ("before", "after"), strict=True):
        ax.set_yticks([rank + 0.5 for rank in range(p)], [f"rank {rank}" for rank in range(p)], fontsize=9)
        ax.tick_params(length=0)
        ax.set_ylabel(when, fontsize=10)


def _grid(ax: Axes, rows: Sequence[Sequence[int]]) -> None:
    p = len(rows)
    for rank, row in enumerate(rows):
        for column, value in enumerate(row.tolist() if hasattr(row, "tolist") else row):
            owner, edge = value // 10 - 1, dict(edgecolor=palette.INK, linewidth=1)
            if value < 0:
                face, edge = "none", dict(edgecolor=palette.FAINT, linewidth=0.8)
            else:
                face = colour_of(owner) if owner < p else "white"
                ax.text(column + 0.5, rank + 0.5, value, ha="center", va="center", fontsize=9)
            ax.add_patch(Rectangle((column, rank), 1, 1, facecolor=face, **edge, zorder=0))
    ax.set(xlim=(-0.05, p + 0.05), ylim=(p + 0.05, -0.05), xticks=[], yticks=[], aspect="equal")
    ax.set_frame_on(False)


def shares(n: int, panels: Mapping[str, Shares], columns: int = 1) -> None:
    """The ranks' shares of the samples 0 ... n - 1: in each panel a row for each rank, a box for each sample, a gap
    between batches. A dashed frame with "again": this sample was dealt before. A dotted empty box: no sample in this
    step.

    panels: title -> for each rank the ids it gets, or a list of its batches. columns: panels side by side.
    """
    rows = [list(panels.values())[row : row + columns] for row in range(0, len(panels), columns)]
    heights = [max(map(len, row)) for row in rows]
    figure, axes = plt.subplots(len(rows), columns, squeeze=False, layout="constrained", height_ratios=heights)
    widest = max(_panel(ax, n, each, title) for ax, (title, each) in zip(axes.flat, panels.items(), strict=False))
    for ax in axes.flat:
        ax.set_xlim(-0.1, widest)
    size = max(columns * (0.4 * widest + 0.9), 4.8), sum(0.35 * height + 0.85 for height in heights)
    figure.set_size_inches(*size)


def _panel(ax: Axes, n: int, dealt: Shares, title: str) -> float:
    """One panel of `shares`; returns its width in boxes."""
    batched = [share if not share or isinstance(share[0], list) else [share] for share in dealt]
    steps, seen = max(len(share) for share in batched), []
    edges = [0.0]
    for step in range(steps):
        batches = [share[step] if step < len(share) else [] for share in batched]
        width = max(1, *(len(batch) for batch in batches))
        for place in range(width):
            for rank, batch in enumerate(batches):
                if place < len(batch):
                    _sample(ax, edges[-1] + place, rank, batch[place], again=batch[place] in seen)
                    seen.append(batch[place])
                elif place == 0:
                    frame = dict(fill=False, edgecolor=palette.GREY, linestyle=":")
                    ax.add_patch(Rectangle((edges[-1] + 0.1, rank + 0.1), 0.8, 0.8, **frame))
        edges.append(edges[-1] + width + 0.5)
    ax.set_xlabel(_counted(n, seen), fontsize=9, loc="left")
    ax.set_title(title, fontsize=10, loc="left")
    middles = [(left + right - 0.5) / 2 for left, right in pairwise(edges)] if steps > 1 else []
    ax.set_xticks(middles, [f"step {step}" for step in range(len(middles))], fontsize=8)
    ax.set_yticks([r + 0.5 for r in range(len(dealt))], [f"rank {r}" for r in range(len(dealt))], fontsize=9)
    ax.tick_params(length=0)
    ax.set(ylim=(len(dealt) + 0.05, -0.05), aspect="equal", anchor="NW")
    ax.set_frame_on(False)
    return edges[-1]


def _counted(n: int, seen: Sequence[int]) -> str:
    nobody, again = sorted(set(range(n)) - set(seen)), len(seen) - len(set(seen))
    return f"{len(seen)} dealt" + f", {again} of them again" * bool(again) + f"; nobody has {nobody}" * bool(nobody)


def _sample(ax: Axes, x: float, rank: int, sample: int, again: bool) -> None:
    """One box with the id of a sample, in the colour of its rank."""
    ax.add_patch(Rectangle((x, rank), 1, 1, facecolor=colour_of(rank), edgecolor="white", linewidth=1))
    ax.text(x + 0.5, rank + (0.35 if again else 0.5), sample, ha="center", va="center", fontsize=9)
    if again:
        frame = dict(fill=False, edgecolor=palette.INK, linewidth=1.6, linestyle="--")
        ax.add_patch(Rectangle((x + 0.06, rank + 0.06), 0.88, 0.88, **frame))
        ax.text(x + 0.5, rank + 0.72, "again", ha="center", va="center", fontsize=8)


def pictures(
    rows: Mapping[str, Sequence[tuple[str, np.ndarray]]], *, each: float = 1.5, cmap: str | None = None
) -> None:
    """Pictures in rows: name of the row -> (title, pixels) for each picture of it; `each` is their width in inches."""
    columns = max(map(len, rows.values()))
    size = (each * columns, (each + 0.2) * len(rows))
    figure, axes = plt.subplots(len(rows), columns, figsize=size, squeeze=False, layout="constrained")
    for line, (name, row) in zip(axes, rows.items(), strict=True):
        for ax, (title, pixels) in zip(line, row, strict=True):
            ax.imshow(pixels, cmap=cmap)
            ax.set_title(title, fontsize=9)
            ax.set(xticks=[], yticks=[])
            ax.set_frame_on(name != "")
        line[0].set_ylabel(name, fontsize=9)
