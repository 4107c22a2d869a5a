"""Pi by random points on four ranks: fair shares, seeds and streams, counts that are added up, an array as a pickle and
as a buffer, and ranks that take turns on cores.
"""

from __future__ import annotations

import numpy as np
from drawing import (
    ALL_REDUCE,
    FAINT,
    GREY,
    INK,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    SUM,
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

RANKS = range(4)
DARTS = 10
# how many of ten darts each rank throws
SHARES = {
    "10 // 4 each": (2, 2, 2, 2),
    "the last one takes the rest": (2, 2, 2, 4),
    "rounded up": (3, 3, 3, 1),
    "fair": (3, 3, 2, 2),
}
INSIDE = (3, 2, 1, 2)  # of the darts of the fair shares
SEEDS = (7, 8)
LANDED = 12  # darts in a little square


def says_shares(shares: tuple[int, ...]) -> str:
    lost, apart = DARTS - sum(shares), max(shares) - min(shares)
    if lost:
        return f"{lost} darts that nobody throws"
    return f"shares differ by {apart}" + f": all wait for {max(shares)} throws" * (max(shares) > 3)


def share_panel(ax: Axes, left: float, top: float, name: str, shares: tuple[int, ...]) -> None:
    """The darts of each rank as numbered cells, those that nobody throws below them, and what follows."""
    wrong = name != "fair"
    text(ax, left + 64, top, name, TEXT, ha="left", fontweight="bold")
    first = 0
    for rank, share in enumerate(shares):
        y = top + 16 + rank * 30
        text(ax, left + 56, y + 13, f"rank {rank}", SMALL, ha="right")
        for i in range(share):
            cell(ax, left + 64 + 44 * i, y, 44, 26, str(first + i), RANK_COLOURS[rank], size=TEXT)
        first += share
    for i in range(first, DARTS):
        look = {"edgecolor": VERMILLION, "linestyle": "--", "linewidth": 2, "size": TEXT}
        cell(ax, left + 250 + 40 * (i - first), top + 106, 36, 26, str(i), **look)
    text(ax, left + 64, top + 152, says_shares(shares), SMALL + 1, ha="left", color=MESSAGE if wrong else INK)


def fair_shares() -> Axes:
    ax = page(720, 386)
    for i, (name, shares) in enumerate(SHARES.items()):
        share_panel(ax, 360 * (i % 2), 22 + 194 * (i // 2), name, shares)
    return ax


def little_square(ax: Axes, left: float, top: float, stream: list[int], colour: str) -> None:
    """A square of darts with the circle in it, from a stream of random numbers of its own."""
    size = 68
    cell(ax, left, top, size, size, "", "white")
    circle(ax, left + size / 2, top + size / 2, size / 2 - 1, edgecolor=FAINT, zorder=2)
    points = np.random.default_rng(stream).uniform(5, size - 5, (LANDED, 2)) + (left, top)
    look = {"marker": "o", "markersize": 6.5, "markeredgewidth": 0.7, "markeredgecolor": INK, "color": colour}
    line(ax, *points, linestyle="none", zorder=4, **look)


def seeds_and_streams() -> Axes:
    ax = page(720, 266)
    panels = (("the seed alone decides", "one set of darts", False), ("seed and rank decide", "four sets", True))
    for panel, (name, sets, by_rank) in enumerate(panels):
        left = 72 + 332 * panel
        text(ax, left + 154, 16, name, TEXT, fontweight="bold")
        for rank in RANKS:
            text(ax, left + 34 + 80 * rank, 44, f"rank {rank}", SMALL)
            for row, seed in enumerate(SEEDS):
                stream = [rank, seed] if by_rank else [0, seed]
                little_square(ax, left + 80 * rank, 58 + 82 * row, stream, RANK_COLOURS[rank])
        text(ax, left + 154, 240, f"each experiment: {sets}", SMALL + 1)
    for row, seed in enumerate(SEEDS):
        text(ax, 64, 92 + 82 * row, f"seed {seed}", SMALL, ha="right")
    return ax


def counts_added_up() -> Axes:
    ax = page(720, 268)
    shares, total = SHARES["fair"], sum(INSIDE)
    for x, words in ((150, "its own darts"), (318, "inside"), (498, "sum"), (624, "estimate")):
        text(ax, x, 18, words, SMALL + 1)
    for rank, (share, inside) in enumerate(zip(shares, INSIDE, strict=True)):
        y = 36 + rank * 50
        text(ax, 62, y + 19, f"rank {rank}", TEXT, ha="right", fontweight="bold")
        for i in range(share):
            x, hit = 98 + 52 * i, i < inside
            circle(ax, x, y + 19, 12, "" if hit else "×", RANK_COLOURS[rank] if hit else "white")
        cell(ax, 296, y, 44, 38, str(inside), RANK_COLOURS[rank], size=TEXT + 2)
        arrow(ax, (342, y + 19), (388, y + 19), color=MESSAGE, linewidth=2.2)
        arrow(ax, (432, y + 19), (474, y + 19), color=MESSAGE, linewidth=2.2)
        cell(ax, 476, y, 44, 38, str(total), SUM, size=TEXT + 2)
        text(ax, 624, y + 19, f"4 · {total} / {DARTS} = {4 * total / DARTS:g}", TEXT)
    band(ax, 410, 32, 196, "all-reduce: sum", ALL_REDUCE, 40)
    text(ax, 360, 252, "× outside. What travels is one number from each rank, not the darts.", SMALL + 1)
    return ax


def stations(ax: Axes, top: float, words: tuple[str, ...], colours: tuple[str, ...]) -> None:
    """Boxes from left to right, an arrow from each to the next."""
    width, gap = (696 - 26 * (len(words) - 1)) / len(words), 26
    for i, (says, colour) in enumerate(zip(words, colours, strict=True)):
        left = 12 + i * (width + gap)
        box(ax, left, top, width, 66, says, colour, size=SMALL + 1)
        if i:
            arrow(ax, (left - gap + 1, top + 33), (left - 1, top + 33), color=MESSAGE, linewidth=2)


def pickle_or_buffer() -> Axes:
    ax = page(720, 300)
    mine, python, bytes_ = RANK_COLOURS[0], tint(GREY, 0.8), tint(MESSAGE, 0.85)
    text(ax, 12, 18, "comm.allreduce(value)", TEXT, ha="left", fontweight="bold")
    text(ax, 708, 18, "any object", SMALL + 1, ha="right")
    words = (
        "array of\nrank 0",
        "packed:\na pickle",
        "a message\nof bytes",
        "unpacked:\na new array",
        "added\nby Python",
    )
    stations(ax, 36, words, (mine, python, bytes_, python, python))
    text(ax, 360, 122, "Grey: copies and objects that Python makes, again for every message.", SMALL + 1, color=GREY)
    line(ax, (12, 146), (708, 146), color=FAINT)
    text(ax, 12, 172, "comm.Allreduce(array, total)", TEXT, ha="left", fontweight="bold")
    text(ax, 708, 172, "arrays of one size and type", SMALL + 1, ha="right")
    words = (
        "array of rank 0,\nas it lies in memory",
        "a message\nof bytes",
        "added by MPI into total,\nwhich you have made",
    )
    stations(ax, 190, words, (mine, bytes_, ALL_REDUCE))
    text(ax, 360, 276, "MPI reads and writes the memory itself. Nothing is packed.", SMALL + 1)
    return ax


def turns(ranks: int, cores: int, slices: int) -> list[list[int]]:
    """For each core, which rank runs on it in each of its slices, all ranks in turn: slices in all are given."""
    order = [i % ranks for i in range(slices)]
    used = min(ranks, cores)
    return [order[core::used] for core in range(used)]


def ranks_on_cores() -> Axes:
    ax = page(720, 302)
    cores, slices, width = 2, 8, 70
    y = 12
    for ranks in (1, 2, 4):
        text(ax, 60, y + 8, f"{ranks} rank{'s' if ranks > 1 else ''}", TEXT, ha="left", fontweight="bold")
        plan = turns(ranks, cores, slices)
        for core in range(cores):
            top = y + 22 + core * 30
            text(ax, 54, top + 13, f"core {core}", SMALL, ha="right")
            cell(ax, 60, top, slices * width, 26, "", "white", edgecolor=FAINT, zorder=0)
            for i, rank in enumerate(plan[core] if core < len(plan) else ()):
                cell(ax, 60 + i * width, top, width, 26, f"rank {rank}", RANK_COLOURS[rank])
        end = 60 + width * max(map(len, plan))
        line(ax, (end, y + 14), (end, y + 84), color=MESSAGE, linewidth=2.2, zorder=5)
        time = "T" if len(plan) == 1 else f"T / {len(plan)}"
        text(
            ax, end + 8 if end < 600 else 632, y + 8 if end < 600 else y + 50, time, TEXT + 1, ha="left", color=MESSAGE
        )
        y += 98
    return ax


FIGURES = {
    "fair_shares": fair_shares,
    "seeds_and_streams": seeds_and_streams,
    "counts_added_up": counts_added_up,
    "pickle_or_buffer": pickle_or_buffer,
    "ranks_on_cores": ranks_on_cores,
}

if __name__ == "__main__":
    save_all(FIGURES)
