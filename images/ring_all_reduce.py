"""The ring all-reduce on four ranks, step by step: which ranks' contributions each chunk of each rank holds."""

from __future__ import annotations

from drawing import (
    GREY,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    SUM,
    arrow,
    cell,
    circle,
    page,
    save_all,
    text,
    tint,
)

RANKS = 4
CELL, ROW = 33, 28


def steps():
    """The cells of every rank after each step, and which of them have just arrived: lists of (title, held, arrived).

    held[rank][chunk] is the set of ranks whose contributions are in the chunk.
    """
    held = [[{rank} for _ in range(RANKS)] for rank in range(RANKS)]
    result = [("at the start", held, set())]
    for step in range(2 * (RANKS - 1)):
        before, held = held, [list(row) for row in held]
        arrived = set()
        for rank in range(RANKS):
            right = (rank + 1) % RANKS
            # Reduce-scatter: rank r sends chunk r first. All-gather: it sends the chunk it has just finished.
            chunk = (rank - step) % RANKS if step < RANKS - 1 else (rank + 1 - (step - RANKS + 1)) % RANKS
            kept = before[right][chunk] if step < RANKS - 1 else set()
            held[right][chunk] = kept | before[rank][chunk]
            arrived.add((right, chunk))
        phase, number = ("reduce-scatter", step + 1) if step < RANKS - 1 else ("all-gather", step - RANKS + 2)
        result.append((f"{phase} {number}", held, arrived))
    return result


def content(ranks):
    """The letters of the ranks in a sum, in order: A, AB, BCD, and Σ for all of them."""
    return "Σ" if len(ranks) == RANKS else "".join("ABCD"[rank] for rank in sorted(ranks))


def colour(ranks):
    if len(ranks) == RANKS:
        return SUM
    return RANK_COLOURS[min(ranks)] if len(ranks) == 1 else tint(GREY, 0.9 - 0.2 * len(ranks))


def draw_step(ax, left, top, title, held, arrived):
    text(ax, left + 2 * CELL, top - 16, title, SMALL + 1, fontweight="bold")
    for rank in range(RANKS):
        for chunk in range(RANKS):
            new = (rank, chunk) in arrived
            look = {"edgecolor": MESSAGE, "linewidth": 2.6, "zorder": 3} if new else {}
            ranks = held[rank][chunk]
            cell(
                ax, left + chunk * CELL, top + rank * ROW, CELL, ROW, content(ranks), colour(ranks), size=SMALL, **look
            )


def draw_ring(ax, x, y, radius=34):
    places = [(x - radius, y - radius), (x + radius, y - radius), (x + radius, y + radius), (x - radius, y + radius)]
    for rank, here in enumerate(places):
        circle(ax, *here, 14, str(rank), RANK_COLOURS[rank])
        there = places[(rank + 1) % RANKS]
        along = ((there[0] > here[0]) - (there[0] < here[0]), (there[1] > here[1]) - (there[1] < here[1]))
        start, end = [(p[0] + s * 16 * along[0], p[1] + s * 16 * along[1]) for p, s in ((here, 1), (there, -1))]
        arrow(ax, start, end, color=MESSAGE)


def ring_all_reduce():
    ax = page(720, 380)
    lefts = [68 + i * 164 for i in range(4)]
    for i, (title, held, arrived) in enumerate(steps()):
        draw_step(ax, lefts[i % 4], 38 + 168 * (i // 4), title, held, arrived)
    for top in (38, 206):
        for rank in range(RANKS):
            text(ax, 60, top + (rank + 0.5) * ROW, f"rank {rank}", SMALL, ha="right")
    draw_ring(ax, lefts[3] + 2 * CELL, 206 + 2 * ROW)
    cell(ax, 68, 342, 24, 22, "", "white", edgecolor=MESSAGE, linewidth=2.6)
    text(ax, 102, 353, "has just arrived from the left neighbour", SMALL, ha="left")
    text(ax, 712, 353, "BC: sum of B and C, Σ: sum of all", SMALL, ha="right")
    return ax


FIGURES = {"ring_all_reduce": ring_all_reduce}

if __name__ == "__main__":
    save_all(FIGURES)
