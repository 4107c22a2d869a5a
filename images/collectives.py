"""The collectives as grids of ranks by chunks, before and after: one figure each, and two sheets of all of them."""

from __future__ import annotations

from functools import partial

from drawing import FAINT, GREY, RANK_COLOURS, SMALL, SUM, TEXT, arrow, cell, page, save_all, text

RANKS = 4
LETTERS = "ABCD"  # A0 is chunk 0 of rank 0, D3 chunk 3 of rank 3
SUM_OF = "Σ"  # Σ0 = A0 + B0 + C0 + D0
UNDEFINED = "?"
CELL, ROW = 33, 28  # size of a cell in pixels
PANEL = (360, 178)


def nothing():
    return [[""] * RANKS for _ in range(RANKS)]


def own():
    """Every rank holds four chunks of its own."""
    return [[f"{letter}{chunk}" for chunk in range(RANKS)] for letter in LETTERS]


def one_each():
    """Rank i holds one chunk, in column i."""
    return [[f"{LETTERS[rank]}" if chunk == rank else "" for chunk in range(RANKS)] for rank in range(RANKS)]


def only_rank_0(row):
    return [row] + nothing()[1:]


SUMS = [f"{SUM_OF}{chunk}" for chunk in range(RANKS)]
DIAGONAL = [[own()[0][rank] if chunk == rank else "" for chunk in range(RANKS)] for rank in range(RANKS)]

# name: (before, after), each a list of one row per rank
COLLECTIVES = {
    "broadcast": (only_rank_0(own()[0]), [own()[0]] * RANKS),
    "reduce": (own(), [SUMS] + [[UNDEFINED] * RANKS] * (RANKS - 1)),
    "all_gather": (one_each(), [list(LETTERS)] * RANKS),
    "reduce_scatter": (
        own(),
        [[SUMS[rank] if chunk == rank else "" for chunk in range(RANKS)] for rank in range(RANKS)],
    ),
    "all_reduce": (own(), [SUMS] * RANKS),
    "scatter": (only_rank_0(own()[0]), DIAGONAL),
    "gather": (one_each(), only_rank_0(list(LETTERS))),
    "all_to_all": (own(), [list(column) for column in zip(*own(), strict=True)]),
}
CORE = ("broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce")
DEEPER = ("scatter", "gather", "all_to_all")


def colour(content):
    if content in ("", UNDEFINED):
        return "white"
    return SUM if content[0] == SUM_OF else RANK_COLOURS[LETTERS.index(content[0])]


def grid(ax, left, top, rows, with_ranks=False):
    for rank, row in enumerate(rows):
        y = top + rank * ROW
        if with_ranks:
            text(ax, left - 8, y + ROW / 2, f"rank {rank}", SMALL, ha="right")
        for chunk, content in enumerate(row):
            faint = content in ("", UNDEFINED)
            look = {"edgecolor": FAINT, "zorder": 0, "color": GREY} if faint else {"zorder": 2}
            cell(ax, left + chunk * CELL, y, CELL, ROW, content, colour(content), size=SMALL + 1, **look)


def panel(ax, left, top, name):
    """One collective: its name, the grid before, an arrow, the grid after."""
    before, after = COLLECTIVES[name]
    text(ax, left + 180, top + 16, name, TEXT + 1, fontweight="bold")
    grid(ax, left + 62, top + 50, before, with_ranks=True)
    arrow(ax, (left + 199, top + 50 + 2 * ROW), (left + 217, top + 50 + 2 * ROW), mutation_scale=15)
    grid(ax, left + 221, top + 50, after)
    text(ax, left + 62 + 2 * CELL, top + 38, "before", SMALL, color=GREY)
    text(ax, left + 221 + 2 * CELL, top + 38, "after", SMALL, color=GREY)


def single(name):
    ax = page(PANEL[0], PANEL[1])
    panel(ax, 0, 0, name)
    return ax


def sheet(names, remarks):
    """Two columns of panels; what is left over at the end explains the letters."""
    rows = (len(names) + 2) // 2
    ax = page(2 * PANEL[0], rows * PANEL[1])
    for i, name in enumerate(names):
        panel(ax, PANEL[0] * (i % 2), PANEL[1] * (i // 2), name)
    x, y = PANEL[0] * (len(names) % 2) + 62, PANEL[1] * (rows - 1) + 50
    for i, (content, says) in enumerate(remarks):
        cell(
            ax,
            x,
            y + i * 36,
            CELL,
            ROW,
            content,
            colour(content),
            size=SMALL + 1,
            color=GREY if content == UNDEFINED else "black",
        )
        text(ax, x + CELL + 12, y + i * 36 + ROW / 2, says, SMALL, ha="left")
    return ax


FIGURES = {f"collective_{name}": partial(single, name) for name in COLLECTIVES}
FIGURES["collectives_core"] = partial(
    sheet,
    CORE,
    [("B2", "chunk 2 of what rank 1 held"), ("Σ2", "A2 + B2 + C2 + D2"), (UNDEFINED, "not defined: do not use it")],
)
FIGURES["collectives_deeper"] = partial(
    sheet, DEEPER, [("B2", "chunk 2 of what rank 1 held"), ("B", "the one chunk that rank 1 held")]
)

if __name__ == "__main__":
    save_all(FIGURES)
