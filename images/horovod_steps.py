"""Horovod: what becomes of the weights of two ranks, the eight steps as lanes of ranks, tensors fused into one buffer,
and shares of the data chosen by two kinds of rank.
"""

from __future__ import annotations

from drawing import (
    ALL_REDUCE,
    BACKWARD,
    FAINT,
    FORWARD,
    GRADIENTS,
    GREY,
    INK,
    MESSAGE,
    OPTIMIZER,
    PARAMETERS,
    RANK_COLOURS,
    SMALL,
    TEXT,
    VERMILLION,
    arrow,
    band,
    box,
    cell,
    circle,
    line,
    page,
    save_all,
    text,
    tint,
)
from matplotlib.axes import Axes

STEPS = ((34, 6), (30, 16), (28, 24), (24, 30))  # the path of the mean gradient, in pixels
OWN = (((30, -14), (30, -10), (30, -4), (26, 4)), ((26, 22), (26, 24), (22, 20), (18, 8)))  # of each rank's own
STARTS = ((34, 80), (58, 146))
TENSORS = (3, 1, 2, 1, 2, 1)  # sizes of six gradients
MACHINES, GPUS = 2, 4


def way(ax: Axes, left: float, start: tuple[float, float], steps: tuple, rank: int, offset: float = 0) -> None:
    """A rank's weights from step to step: dots joined by arrows, the first one larger."""
    x, y = left + start[0], start[1] + offset
    circle(ax, x, y, 9, "" if offset else str(rank), RANK_COLOURS[rank])
    for dx, dy in steps:
        line(ax, (x, y), (x + dx, y + dy), color=INK, linewidth=1.4)
        circle(ax, x + dx, y + dy, 5, "", RANK_COLOURS[rank], zorder=4)
        x, y = x + dx, y + dy


def weights_of_two_ranks() -> Axes:
    ax = page(720, 290)
    for panel, (name, says) in enumerate(
        (
            ("own gradients", "unrelated models"),
            ("+ average", "equal steps,\nas far apart as before"),
            ("+ broadcast", "one model"),
        )
    ):
        left = 20 + 236 * panel
        text(ax, left + 100, 20, name, TEXT, fontweight="bold")
        if panel:
            line(ax, (left - 14, 36), (left - 14, 280), color=FAINT)
        if panel < 2:
            for rank in (0, 1):
                way(ax, left, STARTS[rank], STEPS if panel else OWN[rank], rank)
        else:
            (x, y), (own_x, own_y) = STARTS
            circle(ax, left + own_x, own_y, 9, "1", "white", edgecolor=GREY, linestyle="--")
            arrow(ax, (left + own_x - 3, own_y - 12), (left + x + 8, y + 16), color=MESSAGE, linewidth=2.2)
            text(ax, left + own_x, own_y + 24, "takes over\nrank 0's", SMALL, va="top", color=MESSAGE)
            text(ax, left + x - 10, y - 26, "0 and 1", TEXT, ha="left")
            for rank in (0, 1):
                way(ax, left, STARTS[0], STEPS, rank, 8 * rank - 4)
        text(ax, left + 100, 258, says, SMALL + 1)
    return ax


def eight_steps() -> Axes:
    ax = page(720, 330)
    tops = [56 + 54 * rank for rank in range(4)]
    for rank, y in enumerate(tops):
        text(ax, 62, y + 20, f"rank {rank}", TEXT, ha="right", fontweight="bold")
        line(ax, (70, y + 20), (708, y + 20), color=FAINT, linewidth=2, zorder=0)
        cell(ax, 78, y, 64, 40, "one GPU", "white")
        cell(ax, 150, y, 76, 40, f"share {rank}", RANK_COLOURS[rank])
        cell(ax, 282, y, 56, 40, "forw.", FORWARD)
        cell(ax, 338, y, 62, 40, "backw.", BACKWARD)
        cell(ax, 448, y, 50, 40, "step", OPTIMIZER)
        if rank == 0:
            box(ax, 628, y, 80, 40, "saves", PARAMETERS, size=SMALL)
    band(ax, 254, tops[0] - 4, 210, "broadcast from rank 0", PARAMETERS, 36)
    band(ax, 424, tops[0] - 4, 210, "average gradients", ALL_REDUCE, 34)
    band(ax, 580, tops[0] - 4, 210, "average metrics", ALL_REDUCE, 34)
    for x, words in ((110, "1, 2"), (188, "3"), (254, "6"), (424, "5"), (473, "4"), (580, "8"), (668, "7")):
        text(ax, x, 32, words, TEXT, fontweight="bold", color=MESSAGE)
    line(ax, (276, 286), (504, 286), color=GREY)
    text(ax, 390, 304, "again for every minibatch", SMALL + 1)
    text(ax, 188, 304, "once", SMALL + 1)
    text(ax, 630, 304, "after every epoch", SMALL + 1)
    line(ax, (78, 286), (268, 286), color=GREY)
    line(ax, (556, 286), (708, 286), color=GREY)
    return ax


def tensor_fusion() -> Axes:
    ax = page(720, 330)
    unit, left = 44, 100
    text(ax, 90, 33, "ready", SMALL + 1, ha="right")
    text(ax, 90, 121, "buffer", SMALL + 1, ha="right")
    text(ax, 90, 249, "averages", SMALL + 1, ha="right")
    x, packed = left, left + 60
    for k, size in enumerate(TENSORS):
        cell(ax, x, 18, size * unit, 32, f"g{k}", GRADIENTS, size=TEXT)
        arrow(ax, (x + size * unit / 2, 52), (packed + size * unit / 2, 104), color=GREY)
        cell(ax, packed, 105, size * unit, 32, f"g{k}", GRADIENTS, size=TEXT)
        cell(ax, x, 234, size * unit, 32, f"g{k}", ALL_REDUCE, size=TEXT)
        arrow(ax, (packed + size * unit / 2, 196), (x + size * unit / 2, 232), color=GREY)
        x, packed = x + size * unit + 24, packed + size * unit
    width = sum(TENSORS) * unit
    cell(ax, left + 60, 158, width, 36, "one all-reduce of the whole buffer", ALL_REDUCE, size=TEXT)
    cell(ax, left + 60, 105, width, 32, "", "none", linewidth=2.6, zorder=5)
    arrow(ax, (left + 60 + width / 2, 138), (left + 60 + width / 2, 157), color=MESSAGE, linewidth=2.4)
    text(ax, left, 74, "copy", SMALL, color=GREY)
    text(ax, left, 212, "copy", SMALL, color=GREY)
    text(ax, 360, 300, "Two copies in memory are the price of one message in place of six.", SMALL + 1)
    return ax


def two_kinds_of_rank() -> Axes:
    ax = page(720, 316)
    width, gap, left = 72, 40, 66
    lefts = [left + width * r + gap * (r // GPUS) for r in range(MACHINES * GPUS)]
    for machine in range(MACHINES):
        x = lefts[machine * GPUS] - 8
        box(ax, x, 10, GPUS * width + 8, 112, "", tint(GREY, 0.9), round=8)
        text(ax, x + GPUS * width / 2 + 4, 26, f"machine {machine}", TEXT, fontweight="bold")
    for rank, x in enumerate(lefts):
        cell(ax, x, 42, width - 8, 34, f"rank {rank}", RANK_COLOURS[rank % GPUS], size=TEXT - 1)
        cell(ax, x, 78, width - 8, 34, f"local {rank % GPUS}", "white", size=TEXT - 1)
    text(ax, 58, 148, "share", SMALL + 1, ha="right")
    read = (("by rank", {r: 1 for r in range(8)}), ("by local\nrank", {r: 2 for r in range(4)}))
    for row, (name, readers) in enumerate(read):
        y = 168 + 56 * row
        text(ax, 58, y + 20, name, SMALL, ha="right")
        for share, x in enumerate(lefts):
            if not row:
                text(ax, x + 32, 148, str(share), SMALL + 1)
            times = readers.get(share, 0)
            says = {0: "nobody", 1: "once", 2: "twice"}[times]
            look = {} if times else {"edgecolor": VERMILLION, "linestyle": "--", "linewidth": 2.2}
            cell(
                ax,
                x,
                y,
                width - 8,
                40,
                says,
                ALL_REDUCE if times == 1 else tint(VERMILLION, 0.7) if times else "white",
                **look,
            )
    text(ax, 360, 296, "How often each of the eight shares of the images is read", SMALL + 1)
    return ax


FIGURES = {
    "weights_of_two_ranks": weights_of_two_ranks,
    "eight_steps": eight_steps,
    "tensor_fusion": tensor_fusion,
    "two_kinds_of_rank": two_kinds_of_rank,
}

if __name__ == "__main__":
    save_all(FIGURES)
