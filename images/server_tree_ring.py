"""Three ways to all-reduce n bytes on four ranks, and the bytes through the link of each rank."""

from __future__ import annotations

from drawing import (
    FAINT,
    GREY,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    TEXT,
    arrow,
    cell,
    circle,
    line,
    page,
    save_all,
    text,
)

WIDTH = 236  # of one panel
UNIT = 30  # pixels per n bytes in the bars
# name, bytes each rank sends (and as many it receives) in units of n, steps one after the other, time with cost α +
# bytes β
SCHEMES = (
    ("parameter server", (3, 1, 1, 1), "6 (α + n β)"),
    ("tree", (2, 1, 2, 1), "4 (α + n β)"),
    ("ring", (1.5, 1.5, 1.5, 1.5), "6 (α + n β / 4)"),
)


def rank_at(ax, place, rank):
    circle(ax, *place, 17, str(rank), RANK_COLOURS[rank])


def between(ax, a, b, both=True, **look):
    """An arrow from the rim of one rank to that of another."""
    length = ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5
    dx, dy = 19 * (b[0] - a[0]) / length, 19 * (b[1] - a[1]) / length
    arrow(ax, (a[0] + dx, a[1] + dy), (b[0] - dx, b[1] - dy), both=both, color=MESSAGE, **look)


def draw_server(ax, x, top):
    places = [(x, top + 20), (x - 70, top + 104), (x, top + 104), (x + 70, top + 104)]
    for place in places[1:]:
        between(ax, place, places[0])
    for rank, place in enumerate(places):
        rank_at(ax, place, rank)
    text(ax, x - 62, top + 54, "n", SMALL, color=MESSAGE)


def draw_tree(ax, x, top):
    places = [(x - 36, top + 20), (x - 36, top + 104), (x + 36, top + 60), (x + 36, top + 122)]
    for a, b in ((0, 1), (2, 3), (0, 2)):
        between(ax, places[b], places[a])
    for rank, place in enumerate(places):
        rank_at(ax, place, rank)
    text(ax, x - 50, top + 62, "n", SMALL, color=MESSAGE)


def draw_ring(ax, x, top):
    places = [(x - 46, top + 20), (x + 46, top + 20), (x + 46, top + 112), (x - 46, top + 112)]
    for rank, place in enumerate(places):
        between(ax, place, places[(rank + 1) % 4], both=False)
    for rank, place in enumerate(places):
        rank_at(ax, place, rank)
    text(ax, x, top + 66, "6 steps\nof n / 4", SMALL, color=MESSAGE)


def bars(ax, left, top, sent):
    """For each rank a bar as long as the bytes it sends; the busiest is marked."""
    for rank, amount in enumerate(sent):
        y = top + rank * 27
        busiest = amount == max(sent)
        text(ax, left, y + 10, f"rank {rank}", SMALL, ha="left")
        cell(ax, left + 56, y, amount * UNIT, 20, "", RANK_COLOURS[rank], linewidth=2.2 if busiest else 0.9)
        text(
            ax,
            left + 62 + amount * UNIT,
            y + 10,
            f"{amount:g} n",
            SMALL,
            ha="left",
            fontweight="bold" if busiest else "normal",
        )


def server_tree_ring():
    ax = page(720, 384)
    for i, (draw, (name, sent, time)) in enumerate(zip((draw_server, draw_tree, draw_ring), SCHEMES, strict=True)):
        left = 8 + i * (WIDTH + 4)
        text(ax, left + WIDTH / 2, 18, name, TEXT + 1, fontweight="bold")
        draw(ax, left + WIDTH / 2, 34)
        text(ax, left + 14, 198, "each rank sends, and receives:", SMALL, ha="left", color=GREY)
        bars(ax, left + 14, 214, sent)
        text(ax, left + 14, 340, "time", SMALL, ha="left", color=GREY)
        text(ax, left + 70, 340, time, TEXT, ha="left")
        if i:
            line(ax, (left - 2, 10), (left - 2, 350), color=FAINT)
    text(ax, 360, 370, "α: seconds per message, β: seconds per byte, n: bytes to sum", SMALL, color=GREY)
    return ax


FIGURES = {"server_tree_ring": server_tree_ring}

if __name__ == "__main__":
    save_all(FIGURES)
