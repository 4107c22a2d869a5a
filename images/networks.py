"""Sending less over slow links: the hierarchical all-reduce in three phases, recursive halving and doubling, error
feedback with the k largest entries, a matrix as a product of two thin ones, and rounds of local steps.
"""

from __future__ import annotations

from drawing import (
    ALL_GATHER,
    ALL_REDUCE,
    FAINT,
    GRADIENTS,
    GREY,
    INK,
    MESSAGE,
    PARAMETERS,
    RANK_COLOURS,
    REDUCE_SCATTER,
    SMALL,
    SUM,
    TEXT,
    arrow,
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

NODES, PER_NODE = 2, 4
RANKS = NODES * PER_NODE

Held = list[list[frozenset[int]]]  # held[rank][part]: the ranks whose numbers are in the sum; empty: not complete


def phases() -> list[tuple[str, Held, float]]:
    """(phase, what each rank holds after it, vectors that went between the nodes) for the hierarchical all-reduce."""
    nodes = [frozenset(range(first, first + PER_NODE)) for first in range(0, RANKS, PER_NODE)]
    own = [[frozenset({rank})] * PER_NODE for rank in range(RANKS)]
    place = [rank % PER_NODE for rank in range(RANKS)]
    home = [nodes[rank // PER_NODE] for rank in range(RANKS)]
    nothing, everyone = frozenset(), frozenset(range(RANKS))

    def only(sums: list[frozenset[int]]) -> Held:
        return [[sums[rank] if part == place[rank] else nothing for part in range(PER_NODE)] for rank in range(RANKS)]

    across = 2 * (NODES - 1) / NODES / PER_NODE * RANKS  # a ring of NODES ranks for each part of 1 / PER_NODE
    return [
        ("at the start", own, 0),
        ("1 reduce-scatter", only(home), 0),
        ("2 all-reduce", only([everyone] * RANKS), across),
        ("3 all-gather", [[everyone] * PER_NODE for _ in range(RANKS)], 0),
    ]


def content(ranks: frozenset[int]) -> tuple[str, str]:
    """The text of a cell, and its colour."""
    if not ranks:
        return "", "white"
    if len(ranks) == RANKS:
        return "Σ", SUM
    if len(ranks) == PER_NODE:
        return f"Σ{min(ranks) // PER_NODE}", tint(GREY, 0.75)
    return str(*ranks), RANK_COLOURS[min(ranks) % PER_NODE]


SIDE, ROW, GAP, TOP = 31, 28, 44, 84  # a cell's width and height, the space between the nodes, the first row
ROWS_AT = [TOP + rank * ROW + GAP * (rank // PER_NODE) for rank in range(RANKS)]


def grid_of_sums(ax: Axes, left: float, held: Held) -> None:
    for rank, row in enumerate(held):
        for part, ranks in enumerate(row):
            label, fill = content(ranks)
            look = {"edgecolor": INK, "zorder": 2} if label else {"edgecolor": FAINT, "zorder": 1}
            cell(ax, left + part * SIDE, ROWS_AT[rank], SIDE, ROW, label, fill, **look)


def moves(ax: Axes, left: float, across: float) -> None:
    """Arrows: between the nodes, one for each part, or beside the ranks of each node."""
    if across:
        for part in range(PER_NODE):
            x = left + (part + 0.5) * SIDE
            ends = (x, ROWS_AT[PER_NODE - 1] + ROW + 4), (x, ROWS_AT[PER_NODE] - 4)
            arrow(ax, *ends, both=True, color=MESSAGE, linewidth=2.2)
        return
    for first in range(0, RANKS, PER_NODE):
        x, y = left + PER_NODE * SIDE + 13, ROWS_AT[first]
        arrow(ax, (x, y + 6), (x, y + PER_NODE * ROW - 6), both=True, linewidth=2.2)


def hierarchical() -> Axes:
    ax = page(720, 446)
    colours = ("white", REDUCE_SCATTER, ALL_REDUCE, ALL_GATHER)
    where = ("", "inside each node", "across the nodes", "inside each node")
    for k, (title, held, across) in enumerate(phases()):
        left = 70 + k * 167
        middle = left + 2 * SIDE
        box(ax, left - 8, 10, 4 * SIDE + 16, 28, title, colours[k], size=SMALL, **({} if k else {"linewidth": 0}))
        text(ax, middle, 56, where[k], SMALL)
        grid_of_sums(ax, left, held)
        if k:
            moves(ax, left, across)
            moved = f"{across:g} n" if across else "0"
            text(ax, middle, 382, moved, TEXT, fontweight="bold", color=MESSAGE)
    for rank in range(RANKS):
        text(ax, 60, ROWS_AT[rank] + ROW / 2, f"rank {rank}", SMALL, ha="right")
    border = ROWS_AT[PER_NODE] - GAP / 2
    for start, end in ((4, 390), (540, 716)):
        line(ax, (start, border), (end, border), color=GREY, linestyle=(0, (4, 3)))
    text(ax, 60, border - 12, "node 0", SMALL, ha="right", fontweight="bold")
    text(ax, 60, border + 12, "node 1", SMALL, ha="right", fontweight="bold")
    text(
        ax, 360, 406, "bytes between the nodes, both directions together; n: bytes of the vector", SMALL, color=MESSAGE
    )
    text(
        ax,
        360,
        430,
        "3: numbers of rank 3 alone   Σ1: sum over node 1   Σ: sum of all   empty: not used further",
        SMALL,
    )
    return ax


def halvings() -> list[tuple[int, list[tuple[float, float]]]]:
    """(distance of the partners, the part of the vector that each rank works on after the exchange), 0 to 1."""
    parts = [(0.0, 1.0)] * RANKS
    result = [(0, parts)]
    distances = [RANKS >> k for k in range(1, RANKS.bit_length())]
    for d in distances:
        halves = [((low, (low + high) / 2), ((low + high) / 2, high)) for low, high in parts]
        parts = [half[bool(rank & d)] for rank, half in enumerate(halves)]
        result.append((d, parts))
    for d in reversed(distances):
        pairs = [(parts[rank], parts[rank ^ d]) for rank in range(RANKS)]
        parts = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in pairs]
        result.append((d, parts))
    return result


def halving_doubling() -> Axes:
    ax = page(720, 390)
    wide, pitch, height, top = 52, 94, 20, 84
    for k, (distance, parts) in enumerate(halvings()):
        left = 66 + k * pitch
        summed = 1 << min(k, 3)
        for rank, (low, high) in enumerate(parts):
            y = top + 31 * rank
            cell(ax, left, y, wide, height, "", "white", edgecolor=GREY)
            fill = SUM if summed == RANKS else tint(GREY, 0.85 - 0.2 * (summed > 1) - 0.2 * (summed > 2))
            cell(ax, left + low * wide, y, (high - low) * wide, height, "", fill, zorder=2)
            if k == 0:
                text(ax, 58, y + height / 2, f"rank {rank}", SMALL, ha="right")
            if distance and not rank & distance:
                x = left - 35 + 28 * (rank % distance + 0.5) / distance
                arrow(ax, (x, y + 5), (x, y + 31 * distance + 15), both=True, color=MESSAGE, mutation_scale=9)
        text(ax, left + wide / 2, 344, f"{summed}", TEXT, fontweight="bold")
        if distance:
            before = halvings()[k - 1][1][0]
            moved = parts[0][1] - parts[0][0] if k <= 3 else before[1] - before[0]
            text(ax, left - 21, 64, f"n/{1 / moved:g}", SMALL, color=MESSAGE)
    text(ax, 66 + pitch * 2 - 21, 42, "each rank sends", SMALL, color=MESSAGE)
    text(ax, 66 + pitch * 5 - 21, 42, "each rank sends", SMALL, color=MESSAGE)
    box(ax, 66 + wide, 8, 3 * pitch - 8, 24, "halving: a reduce-scatter", REDUCE_SCATTER, size=SMALL)
    box(ax, 66 + wide + 3 * pitch, 8, 3 * pitch - 8, 24, "doubling: an all-gather", ALL_GATHER, size=SMALL)
    text(ax, 360, 372, "ranks that are added up in the filled part of the vector", SMALL)
    return ax


K = 2
FIRST_STEPS = [  # gradients of one rank, in three steps
    [6.0, 1.0, -2.0, 0.5, 4.5, 1.2, -1.0, 1.5],
    [5.0, 0.8, -2.0, 0.6, 4.2, 0.7, -1.1, 1.0],
    [4.0, 1.0, -2.0, 0.4, 3.5, 0.9, -0.8, 0.7],
]


def error_feedback() -> list[tuple[list[float], list[float], list[int]]]:
    """(what was kept, the gradient on top of it, the indices that are sent) in each step."""
    kept, result = [0.0] * len(FIRST_STEPS[0]), []
    for gradient in FIRST_STEPS:
        full = [a + b for a, b in zip(kept, gradient, strict=True)]
        sent = sorted(range(len(full)), key=lambda i: -abs(full[i]))[:K]
        result.append((kept, gradient, sorted(sent)))
        kept = [0.0 if i in sent else x for i, x in enumerate(full)]
    return result


def top_k() -> Axes:
    ax = page(720, 356)
    zero, unit, pitch = 158, 15, 24
    for step, (kept, gradient, sent) in enumerate(error_feedback()):
        left = 24 + 236 * step
        text(ax, left + 4 * pitch, 18, f"step {step}", TEXT, fontweight="bold")
        for i, (old, new) in enumerate(zip(kept, gradient, strict=True)):
            x, full = left + i * pitch, old + new
            cell(ax, x, zero, 18, -unit * old, edgecolor=GREY, hatch="////")
            cell(ax, x, zero - unit * old, 18, -unit * new, "", GRADIENTS)
            if i in sent:
                sign = 1 if full > 0 else -1
                y = zero - unit * full
                cell(ax, x, zero, 18, -unit * full, edgecolor=MESSAGE, fill="none", linewidth=2.8, zorder=4)
                arrow(ax, (x + 9, y - 3 * sign), (x + 9, y - 24 * sign), color=MESSAGE, linewidth=2.2)
        line(ax, (left - 6, zero), (left + 8 * pitch, zero), zorder=5)
        text(ax, left + 5.2 * pitch, 46, f"{K} sent, the rest kept", SMALL, ha="center", color=MESSAGE)
        box(ax, left, 284, 8 * pitch - 6, 28, "kept: the error", tint(GREY, 0.9), size=SMALL)
        if step < 2:
            arrow(ax, (left + 8 * pitch - 4, 298), (left + 230, 298), linewidth=2)
    cell(ax, 24, 328, 22, 18, "", GRADIENTS)
    text(ax, 54, 337, "gradient of this step", SMALL, ha="left")
    cell(ax, 222, 328, 22, 18, "", edgecolor=GREY, hatch="////")
    text(ax, 252, 337, "kept from the steps before", SMALL, ha="left")
    cell(ax, 462, 328, 22, 18, "", edgecolor=MESSAGE, linewidth=2.8)
    text(ax, 492, 337, "sent: largest in magnitude", SMALL, ha="left")
    return ax


ROWS, COLUMNS, LARGEST, THIN = 24, 20, 5, 2
PLACES = [(3, 15), (8, 4), (12, 11), (17, 17), (20, 7)]  # of the largest entries


def numbers() -> dict[str, int]:
    """Numbers that a rank hands over in each step."""
    return {"whole": ROWS * COLUMNS, "top k": 2 * LARGEST, "low rank": THIN * (ROWS + COLUMNS)}


def matrix(ax: Axes, x: float, y: float, rows: int, columns: int, fill: str, unit: float = 6) -> None:
    cell(ax, x, y, columns * unit, rows * unit, "", fill)
    for i in range(1, rows):
        line(ax, (x, y + i * unit), (x + columns * unit, y + i * unit), color="white", linewidth=0.5)
    for j in range(1, columns):
        line(ax, (x + j * unit, y), (x + j * unit, y + rows * unit), color="white", linewidth=0.5)


def low_rank() -> Axes:
    ax = page(720, 352)
    unit, top, sent = 6, 52, numbers()
    for left, title in ((0, "whole"), (220, "top k"), (450, "low rank")):
        text(ax, left + 120, 20, title, TEXT, fontweight="bold")
    matrix(ax, 60, top, ROWS, COLUMNS, GRADIENTS, unit)
    text(ax, 52, top + ROWS * unit / 2, f"{ROWS}", SMALL, ha="right")
    text(ax, 120, top + ROWS * unit + 14, f"{COLUMNS}", SMALL)
    cell(ax, 280, top, COLUMNS * unit, ROWS * unit, "", "white")
    for row, column in PLACES:
        cell(ax, 280 + column * unit, top + row * unit, unit, unit, "", GRADIENTS)
    text(ax, 340, top + ROWS * unit + 14, f"the {LARGEST} largest, with their index", SMALL)
    matrix(ax, 480, top, ROWS, THIN, GRADIENTS, unit)
    text(ax, 486, top + ROWS * unit + 14, f"P: {ROWS} × {THIN}", SMALL)
    text(ax, 514, top + ROWS * unit / 2, "×", TEXT + 3)
    matrix(ax, 536, top + (ROWS - THIN) * unit / 2, THIN, COLUMNS, GRADIENTS, unit)
    text(ax, 596, top + ROWS * unit / 2 + 22, f"Qᵀ: {THIN} × {COLUMNS}", SMALL)
    rows = (
        ("sends", f"{ROWS} × {COLUMNS} = {sent['whole']}", f"2 × {LARGEST} = {sent['top k']}",
         f"{THIN} × ({ROWS} + {COLUMNS}) = {sent['low rank']}"),
        ("by", "all-reduce", "all-gather", "two all-reduces"),
        ("arrives", "the mean", f"p × {sent['top k']}, of p ranks", "the mean, projected"),
    )  # fmt: skip
    for i, (name, *words) in enumerate(rows):
        y = 252 + 34 * i
        line(ax, (8, y - 17), (712, y - 17), color=FAINT)
        text(ax, 8, y, name, SMALL, ha="left", color=GREY)
        for x, word in zip((120, 340, 576), words, strict=True):
            fill = {"all-reduce": ALL_REDUCE, "two all-reduces": ALL_REDUCE, "all-gather": ALL_GATHER}.get(word)
            if fill:
                box(ax, x - 70, y - 13, 140, 26, word, fill, size=SMALL)
            else:
                text(ax, x, y, word, SMALL + 1)
    return ax


START = (84, 150)
PATHS = [  # the inner steps of four ranks in the plane of two weights, to the right and up
    [(44, 30), (46, 26), (40, 34), (36, 22)],
    [(58, 24), (60, 6), (52, 20), (60, 10)],
    [(52, 4), (58, 14), (46, -10), (50, 6)],
    [(46, -20), (56, -6), (50, -16), (44, 4)],
]
OUTER_RATE, MOMENTUM = 0.7, 0.9
STEPS, EVERY = 8, 4


def outer_step() -> tuple[tuple[float, float], tuple[float, float]]:
    """The mean of the ranks' ends, and the new start after the first outer step (v is zero before it)."""
    ends = [(START[0] + sum(dx for dx, _ in path), START[1] - sum(dy for _, dy in path)) for path in PATHS]
    mean = tuple(sum(end[axis] for end in ends) / len(ends) for axis in (0, 1))
    delta = tuple(a - b for a, b in zip(START, mean, strict=True))
    new = tuple(a - OUTER_RATE * (d + MOMENTUM * d) for a, d in zip(START, delta, strict=True))
    return mean, new


def in_weight_space(ax: Axes) -> None:
    mean, new = outer_step()
    for rank, (path, shift) in enumerate(zip(PATHS, ((12, -8), (-10, -20), (14, 10), (14, 8)), strict=True)):
        here = START
        for dx, dy in path:
            there = (here[0] + dx, here[1] - dy)
            line(ax, here, there, color=GREY, linewidth=1.4)
            circle(ax, *there, 4.5, fill=RANK_COLOURS[rank], linewidth=0.9)
            here = there
        text(ax, here[0] + shift[0], here[1] + shift[1], f"rank {rank}", SMALL, ha="left")
    line(ax, START, mean, linewidth=2.4, linestyle=(0, (4, 2)))
    arrow(ax, mean, (new[0] - 10, new[1] + 2), color=MESSAGE, linewidth=2.6, zorder=5)
    mark_start(ax, *START)
    text(ax, START[0] - 16, START[1], "start", TEXT, ha="right")
    mark_mean(ax, *mean)
    mark_new(ax, *new)


def mark_start(ax: Axes, x: float, y: float) -> None:
    circle(ax, x, y, 9, fill=PARAMETERS)


def mark_mean(ax: Axes, x: float, y: float) -> None:
    cell(ax, x - 6, y - 6, 12, 12, "", "white", linewidth=2, zorder=6)


def mark_new(ax: Axes, x: float, y: float) -> None:
    circle(ax, x, y, 9, fill=PARAMETERS, edgecolor=MESSAGE, linewidth=3, zorder=6)


def rounds(every: int) -> list[tuple[str, int]]:
    """The steps that every rank takes, and the all-reduce after every round."""
    return [
        event
        for step in range(STEPS)
        for event in [("step", step), ("all-reduce", step)][: 1 + (step % every == every - 1)]
    ]


def time_line(ax: Axes, top: float, title: str, every: int) -> None:
    text(ax, 74, top, title, SMALL + 1, ha="left", fontweight="bold")
    x, top = 74, top + 16
    for what, step in rounds(every):
        if what == "step":
            for rank in range(4):
                cell(ax, x, top + 20 * rank, 38, 20, str(step))
        else:
            cell(ax, x, top, 30, 80, "", ALL_REDUCE)
            text(ax, x + 15, top + 40, "all-reduce", SMALL, rotation=90)
        x += 38 if what == "step" else 30
    for rank in range(4):
        text(ax, 66, top + 20 * rank + 10, f"rank {rank}", SMALL, ha="right")


def local_sgd() -> Axes:
    ax = page(720, 468)
    in_weight_space(ax)
    for y, mark, words in (
        (46, mark_start, "weights at the start of a round"),
        (84, mark_mean, "mean of the ranks: start - δ"),
        (122, mark_new, "new start: start - η (δ + μ v)"),
    ):
        mark(ax, 452, y)
        text(ax, 474, y, words, SMALL + 1, ha="left")
    text(ax, 474, 146, f"here η = {OUTER_RATE}, μ = {MOMENTUM}, and v = δ", SMALL, ha="left")
    text(ax, 474, 166, "(the first round)", SMALL, ha="left")
    time_line(ax, 236, f"an all-reduce in every step: {STEPS} in {STEPS} steps", 1)
    time_line(ax, 356, f"rounds of {EVERY} steps alone: {STEPS // EVERY} in {STEPS} steps", EVERY)
    return ax


FIGURES = {
    "hierarchical_all_reduce": hierarchical,
    "halving_doubling": halving_doubling,
    "top_k_error_feedback": top_k,
    "gradient_low_rank": low_rank,
    "local_sgd": local_sgd,
}

if __name__ == "__main__":
    save_all(FIGURES)
