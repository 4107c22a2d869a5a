"""Layers cut over ranks: columns and rows of a matrix, columns then rows with f and g, heads, tokens, the rows of an
image with their halos, and attention in a ring.
"""

from __future__ import annotations

from drawing import (
    ALL_GATHER,
    ALL_REDUCE,
    BACKWARD,
    ELSEWHERE,
    FORWARD,
    GREY,
    INK,
    RANK_COLOURS,
    REDUCE_SCATTER,
    SMALL,
    SUM,
    TEXT,
    arrow,
    band,
    cell,
    circle,
    line,
    page,
    save_all,
    text,
    tint,
)

WHOLE = tint(GREY, 0.8)  # what all ranks hold alike
N, D, H = 66, 52, 104  # pixels of n tokens, d inputs, h outputs
HEADS, STRIPE = 4, 15  # heads, pixels of one head
IMAGE_RANKS, STRIP, REACH = 4, 3, 1  # ranks, rows of an image on each, rows of the halo for a kernel of 3
RING = 4  # ranks of ring attention
BACK = {"edgecolor": "none", "boxstyle": "square,pad=0.15"}  # behind a text on a hatched ground


def divided(ax, x, y, width, height, part, along, content, parts=2):
    """A matrix of which a rank holds one part; the parts of the others are dotted. along: "columns" or "rows"."""
    cell(ax, x, y, width, height, **ELSEWHERE)
    if along == "columns":
        x, width = x + part * width / parts, width / parts
    else:
        y, height = y + part * height / parts, height / parts
    cell(ax, x, y, width, height, content, RANK_COLOURS[part], size=TEXT)


def column_parallel():
    ax = page(720, 250)
    for rank, top in enumerate((40, 146)):
        text(ax, 10, top + N / 2, f"rank {rank}", TEXT, ha="left", fontweight="bold")
        cell(ax, 84, top, D, N, "x", WHOLE, size=TEXT)
        text(ax, 158, top + N / 2, "×", TEXT)
        divided(ax, 180, top + 7, H, D, rank, "columns", f"W{rank}ᵀ")
        text(ax, 304, top + N / 2, "=", TEXT)
        divided(ax, 324, top, H, N, rank, "columns", f"y{rank}")
        arrow(ax, (438, top + N / 2), (470, top + N / 2))
        arrow(ax, (504, top + N / 2), (536, top + N / 2))
        for part in range(2):
            cell(ax, 546 + part * H / 2, top, H / 2, N, f"y{part}", RANK_COLOURS[part], size=TEXT)
    band(ax, 487, 34, 184, "all-gather", ALL_GATHER, 30)
    for x, size in ((110, "n × d"), (232, "d × h"), (376, "n × h"), (598, "n × h")):
        text(ax, x, 20, size, SMALL, color=GREY)
    text(ax, 598, 234, "whole, on every rank", SMALL)
    text(ax, 376, 234, "some outputs", SMALL)
    text(ax, 232, 234, "its columns", SMALL)
    text(ax, 110, 234, "all inputs", SMALL)
    return ax


def row_parallel():
    ax = page(720, 296)
    for rank, top in enumerate((54, 174)):
        middle = top + N / 2
        text(ax, 10, middle, f"rank {rank}", TEXT, ha="left", fontweight="bold")
        divided(ax, 84, top, H, N, rank, "columns", f"x{rank}")
        text(ax, 206, middle, "×", TEXT)
        divided(ax, 226, middle - H / 2, D, H, rank, "rows", f"W{rank}ᵀ")
        text(ax, 298, middle, "=", TEXT)
        cell(ax, 320, top, 60, N, f"x{rank}W{rank}ᵀ", RANK_COLOURS[rank], size=SMALL)
        arrow(ax, (390, middle), (432, middle))
        arrow(ax, (466, middle), (508, middle))
        cell(ax, 518, top, 60, N, "y", SUM, size=TEXT)
        text(ax, 586, middle, "x0W0ᵀ + x1W1ᵀ", SMALL, ha="left")
    band(ax, 449, 44, 206, "all-reduce", ALL_REDUCE, 30)
    for x, size, says in (
        (136, "n × d", "some inputs"),
        (252, "d × h", "its rows"),
        (350, "n × h", "a summand"),
        (548, "n × h", "the sum"),
    ):
        text(ax, x, 18, size, SMALL, color=GREY)
        text(ax, x, 280, says, SMALL)
    return ax


def directions(ax, top, forward, backward, xs):
    """Two strips below a chain: what is sent at each of xs in the forward and in the backward pass."""
    for y, name, colour, said in ((top, "forward", FORWARD, forward), (top + 34, "backward", BACKWARD, backward)):
        text(ax, 10, y + 14, name, SMALL, ha="left")
        cell(ax, 84, y, 626, 28, "", colour, linewidth=0)
        for x, content in zip(xs, said, strict=True):
            weight = "normal" if content == "nothing" else "bold"
            text(ax, x, y + 14, content, SMALL, fontweight=weight)
        start, end = (670, 702) if name == "forward" else (122, 90)
        arrow(ax, (start, y + 14), (end, y + 14))


def mlp_chain(ax, rank, top, enters, leaves):
    """Draw the work of a rank between the two bands: columns, GELU, rows, with the shapes of what is there."""
    middle = top + N / 2
    text(ax, 10, middle, f"rank {rank}", TEXT, ha="left", fontweight="bold")
    enters(ax, rank, 84, top)
    arrow(ax, (140, middle), (160, middle))
    arrow(ax, (192, middle), (212, middle))
    cell(ax, 218, top, D, N, "x", WHOLE, size=TEXT)
    arrow(ax, (276, middle), (316, middle))
    text(ax, 296, middle - 16, f"U{rank}ᵀ", SMALL)
    text(ax, 296, middle + 16, "GELU", SMALL)
    divided(ax, 322, top, H, N, rank, "columns", f"h{rank}")
    arrow(ax, (432, middle), (472, middle))
    text(ax, 452, middle - 16, f"D{rank}ᵀ", SMALL)
    cell(ax, 478, top, D, N, f"h{rank}D{rank}ᵀ", RANK_COLOURS[rank])
    arrow(ax, (536, middle), (556, middle))
    arrow(ax, (588, middle), (608, middle))
    leaves(ax, rank, 614, top)


def f_and_g():
    ax = page(720, 306)
    tops = (46, 138)
    for rank, top in enumerate(tops):
        mlp_chain(
            ax,
            rank,
            top,
            lambda ax, _, x, y: cell(ax, x, y, D, N, "x", WHOLE, size=TEXT),
            lambda ax, _, x, y: cell(ax, x, y, D, N, "y", SUM, size=TEXT),
        )
    for x, name in ((176, "f"), (572, "g")):
        cell(ax, x - 15, tops[0] - 12, 30, tops[1] + N - tops[0] + 24, name, ALL_REDUCE, size=TEXT + 3)
    for x, size in ((110, "n × d"), (244, "n × d"), (374, "n × h/p"), (504, "n × d"), (640, "n × d")):
        text(ax, x, 18, size, SMALL, color=GREY)
    directions(ax, 236, ("nothing", "nothing", "all-reduce"), ("all-reduce", "nothing", "nothing"), (190, 374, 572))
    return ax


def tokens(ax, rank, x, y, content="x"):
    """This rank's half of the tokens."""
    divided(ax, x, y, D, N, rank, "rows", f"{content}{rank}")


def sequence_parallel():
    ax = page(720, 330)
    tops = (70, 162)
    for rank, top in enumerate(tops):
        mlp_chain(ax, rank, top, tokens, lambda ax, rank, x, y: tokens(ax, rank, x, y, "y"))
    height = tops[1] + N - tops[0] + 24
    band(ax, 176, tops[0] - 12, height, "all-gather", ALL_GATHER, 30)
    band(ax, 572, tops[0] - 12, height, "reduce-scatter", REDUCE_SCATTER, 30)
    for x, size in ((110, "n/p × d"), (244, "n × d"), (374, "n × h/p"), (504, "n × d"), (640, "n/p × d")):
        text(ax, x, 44, size, SMALL, color=GREY)
    for left, right, says in ((74, 146, "norm"), (206, 542, "MLP: hidden activations divided"), (602, 674, "residual")):
        text(ax, (left + right) / 2, 16, says, SMALL)
        line(ax, (left, 29), (right, 29), color=GREY)
    sent = ("all-gather", "nothing", "reduce-scatter")
    directions(ax, 260, sent, sent[::-1], (194, 374, 572))
    return ax


def stripes(ax, x, y, width, height, rank, along):
    """A matrix of which each rank holds its heads' columns or rows."""
    for head in range(HEADS):
        mine = head * 2 // HEADS == rank
        look = {"linewidth": 0.9} if mine else ELSEWHERE
        fill = RANK_COLOURS[rank] if mine else "white"
        if along == "columns":
            cell(ax, x + head * width / HEADS, y, width / HEADS, height, "", fill, **look)
        else:
            cell(ax, x, y + head * height / HEADS, width, height / HEADS, "", fill, **look)


def scores(ax, x, y, size, colour, tokens=4):
    """The scores of one head: a token sees itself and those before it."""
    unit = size / tokens
    cell(ax, x, y, size, size, **ELSEWHERE)
    for query in range(tokens):
        for key in range(query + 1):
            cell(ax, x + key * unit, y + query * unit, unit, unit, "", colour, linewidth=0.6)


def attention_heads():
    ax = page(720, 290)
    width, height, size = HEADS * STRIPE, 56, 48
    for rank, top in enumerate((50, 162)):
        middle = top + height / 2
        text(ax, 10, middle, f"rank {rank}", TEXT, ha="left", fontweight="bold")
        cell(ax, 80, top - 4, 42, height + 8, "x", WHOLE, size=TEXT)
        arrow(ax, (126, middle), (146, middle))
        for i, name in enumerate("qkv"):
            stripes(ax, 150 + i * (width + 10), top, width, height, rank, "columns")
            if rank == 0:
                text(ax, 150 + i * (width + 10) + width / 2, 30, name, TEXT)
        arrow(ax, (356, middle), (376, middle))
        for i in range(2):
            x = 380 + i * (size + 10)
            scores(ax, x, middle - size / 2, size, RANK_COLOURS[rank])
            text(ax, x + size / 2, middle + size / 2 + 14, f"head {2 * rank + i}", SMALL)
        arrow(ax, (490, middle), (510, middle))
        stripes(ax, 514, middle - width / 2, 50, width, rank, "rows")
        arrow(ax, (568, middle), (588, middle))
        arrow(ax, (624, middle), (644, middle))
        cell(ax, 650, top - 4, 42, height + 8, "y", SUM, size=TEXT)
    band(ax, 606, 40, 188, "all-reduce", ALL_REDUCE, 30)
    text(ax, 433, 30, "softmax", SMALL)
    text(ax, 539, 30, "out", TEXT)
    for x, says in ((250, "columns: whole heads"), (539, "rows")):
        text(ax, x, 270, says, SMALL)
    text(ax, 433, 270, "nothing sent", SMALL, fontweight="bold")
    return ax


def halos() -> list[list[int | None]]:
    """The numbers of the image's rows that each rank needs, from above to below; None beyond the edge."""
    last = IMAGE_RANKS * STRIP
    return [
        [row if 0 <= row < last else None for row in range(rank * STRIP - REACH, (rank + 1) * STRIP + REACH)]
        for rank in range(IMAGE_RANKS)
    ]


def halo():
    ax = page(720, 306)
    unit, left, top = 20, 66, 36
    text(ax, left + 4 * unit, 18, "the image in four strips", SMALL)
    for row in range(IMAGE_RANKS * STRIP):
        for column in range(8):
            cell(
                ax,
                left + column * unit,
                top + row * unit,
                unit,
                unit,
                "",
                RANK_COLOURS[row // STRIP],
                linewidth=0.5,
                edgecolor="white",
            )
    for rank in range(IMAGE_RANKS):
        text(ax, 8, top + (rank + 0.5) * STRIP * unit, f"rank {rank}", SMALL, ha="left")
    cell(ax, left + 3 * unit, top + 2 * unit, 3 * unit, 3 * unit, "", "none", linewidth=2.6, zorder=5)
    circle(ax, left + 4.5 * unit, top + 3.5 * unit, 4, fill=INK)
    text(ax, left + 4 * unit, 292, "a kernel of 3 × 3 at a seam", SMALL)
    cell(ax, 322, 284, 20, 16, "", "white", hatch="////")
    text(ax, 350, 292, "halo: sent by the neighbour that owns the row", SMALL, ha="left")
    for rank, rows in enumerate(halos()):
        x = 290 + rank * 110
        text(ax, x + 44, 18, f"rank {rank}", TEXT, fontweight="bold")
        for place, row in enumerate(rows):
            y = 62 + place * 34 + (0 if place < REACH else 10) + (10 if place >= REACH + STRIP else 0)
            if row is None:
                cell(ax, x, y, 88, 34, "?", "white", linestyle=(0, (3, 3)), size=TEXT)
                continue
            owner = row // STRIP
            look = {} if owner == rank else {"hatch": "////"}
            cell(ax, x, y, 88, 34, "", RANK_COLOURS[owner], **look)
            label = f"row {row}"
            text(ax, x + 44, y + 17, label, SMALL, zorder=4, bbox=BACK | {"facecolor": RANK_COLOURS[owner]})
    return ax


def blocks_in_the_ring() -> list[list[int]]:
    """Whose keys and values each rank has, rank by rank, in each of the steps."""
    return [[(rank - step) % RING for step in range(RING)] for rank in range(RING)]


def ring_attention():
    ax = page(720, 276)
    places = [(70, 84), (190, 84), (190, 204), (70, 204)]
    for rank, (x, y) in enumerate(places):
        circle(ax, x, y, 20, str(rank), RANK_COLOURS[rank])
        there = places[(rank + 1) % RING]
        dx, dy = (there[0] > x) - (there[0] < x), (there[1] > y) - (there[1] < y)
        arrow(ax, (x + 22 * dx, y + 22 * dy), (there[0] - 22 * dx, there[1] - 22 * dy))
    text(ax, 130, 144, "keys and\nvalues", SMALL)
    width, row, left, top = 82, 42, 372, 56
    for step in range(RING):
        text(ax, left + (step + 0.5) * width, 26, f"step {step}", SMALL)
    text(ax, left - 60, 26, "queries", SMALL)
    for rank, blocks in enumerate(blocks_in_the_ring()):
        y = top + rank * row
        cell(ax, left - 80, y, 40, row - 6, f"Q{rank}", RANK_COLOURS[rank])
        for step, block in enumerate(blocks):
            later = {"fill": "white", "linestyle": (0, (3, 3))}
            look = later if block > rank else {"fill": RANK_COLOURS[block]}
            cell(ax, left + step * width, y, width - 6, row - 6, f"K{block} V{block}", **look)
    cell(ax, 340, 246, 24, 16, linestyle=(0, (3, 3)))
    text(ax, 372, 254, "later tokens: nothing to compute if causal", SMALL, ha="left")
    return ax


FIGURES = {
    "column_parallel": column_parallel,
    "row_parallel": row_parallel,
    "f_and_g": f_and_g,
    "attention_heads": attention_heads,
    "sequence_parallel": sequence_parallel,
    "halo": halo,
    "ring_attention": ring_attention,
}

if __name__ == "__main__":
    save_all(FIGURES)
