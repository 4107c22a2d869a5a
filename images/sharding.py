"""ZeRO: the state that each stage keeps, shards and their padding, a step of ZeRO-1, the life of a layer
under ZeRO-3, activation checkpointing, and the two groups of a hybrid of sharding and replicating.
"""

from __future__ import annotations

from drawing import (
    ACTIVATIONS,
    ALL_GATHER,
    BACKWARD,
    ELSEWHERE,
    FAINT,
    FORWARD,
    GRADIENTS,
    GREY,
    OPTIMIZER,
    PARAMETERS,
    RANK_COLOURS,
    REDUCE_SCATTER,
    SMALL,
    TEXT,
    arrow,
    band,
    box,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)

RANKS = 4
# from the bottom of a bar: name, bytes for one parameter, the first stage that shards it, colour
KEPT = (
    ("parameters", 2, 3, PARAMETERS),
    ("gradients", 2, 2, GRADIENTS),
    ("optimizer\nstate", 12, 1, OPTIMIZER),
)
STAGES = ("data parallel", "ZeRO-1", "ZeRO-2", "ZeRO-3")
INPUTS = tint(GREY, 0.1)
BLOCKS, EVERY = 6, 2  # of the drawing of checkpointing
INPUT, INSIDE = 1, 5  # the size of a block's input, and of all that autograd keeps of a block


def bytes_per_parameter(stage: int) -> float:
    """The bytes that each rank keeps for one parameter of the model."""
    return sum(size / (RANKS if stage >= first else 1) for _, size, first, _ in KEPT)


def draw_kept(ax, left, bottom, stage, rank, width, scale):
    """The bar of one rank; the shards of the others are dotted."""
    for name, size, first, colour in KEPT:
        height = size * scale
        bottom -= height
        if stage < first:
            cell(ax, left, bottom, width, height, name[0].upper(), colour)
            continue
        cell(ax, left, bottom, width, height, **ELSEWHERE)
        own = height / RANKS
        letter = "O" if own > 20 else ""
        cell(ax, left, bottom + (RANKS - 1 - rank) * own, width, own, letter, colour)


def zero_stages():
    ax = page(720, 332)
    width, scale, bottom = 30, 13, 252
    middle = bottom
    for name, size, _, _ in KEPT:
        text(ax, 6, middle - size * scale / 2, f"{name}: {size}", SMALL, ha="left")
        middle -= size * scale
    for stage, title in enumerate(STAGES):
        left = 122 + stage * 152
        text(ax, left + 2 * width + 4.5, 22, title, TEXT, fontweight="bold")
        for rank in range(RANKS):
            x = left + rank * (width + 3)
            draw_kept(ax, x, bottom, stage, rank, width, scale)
            text(ax, x + width / 2, bottom + 14, str(rank), SMALL)
        text(ax, left + 2 * width + 4.5, bottom + 40, f"{bytes_per_parameter(stage):g} bytes", TEXT)
    text(ax, 6, bottom + 14, "rank", SMALL, ha="left")
    text(ax, 6, bottom + 40, "on each rank", SMALL, ha="left")
    cell(ax, 236, 310, 20, 14, **ELSEWHERE)
    text(ax, 264, 317, "dotted: shards on other ranks", SMALL, ha="left")
    return ax


def shards(n: int) -> list[list[int | None]]:
    """The places in a vector of n numbers that each rank owns, None for padding."""
    k = -(-n // RANKS)
    return [[i if i < n else None for i in range(rank * k, (rank + 1) * k)] for rank in range(RANKS)]


def padded_shards():
    ax = page(720, 196)
    size, gap, left = 36, 14, 150
    for rank in range(RANKS):
        text(ax, left + rank * (3 * size + gap) + 1.5 * size, 16, f"rank {rank}", SMALL)
    for top, n in ((34, 10), (104, 5)):
        k = len(shards(n)[0])
        text(ax, 10, top + size / 2, f"n = {n},  k = {k}", TEXT, ha="left")
        for rank, own in enumerate(shards(n)):
            x = left + rank * (3 * size + gap) + (3 - k) * size / 2
            for place, i in enumerate(own):
                here = (x + place * size, top, size, size)
                if i is None:
                    cell(ax, *here, "", hatch="////", edgecolor=FAINT)
                    cell(ax, *here, "0", "none", size=TEXT)
                else:
                    cell(ax, *here, f"w{i}", RANK_COLOURS[rank], size=TEXT)
    cell(ax, left, 164, 18, 14, hatch="////", edgecolor=FAINT)
    cell(ax, left, 164, 18, 14, "", "none")
    text(ax, left + 26, 171, "padding: zeros, so that all shards have the same size", SMALL, ha="left")
    return ax


def grid(ax, left, top, contents, colour, size, row):
    """A row for each rank; contents[rank][shard] is a text, or None where the rank has nothing."""
    for rank, cells in enumerate(contents):
        for shard, content in enumerate(cells):
            here = (left + shard * size, top + rank * row, size, size)
            if content is None:
                cell(ax, *here, **ELSEWHERE)
            else:
                cell(ax, *here, content, colour)


def own(letter: str) -> list[list[str | None]]:
    return [[f"{letter}{shard}" if shard == rank else None for shard in range(RANKS)] for rank in range(RANKS)]


def everywhere(letter: str) -> list[list[str]]:
    return [[f"{letter}{shard}" for shard in range(RANKS)]] * RANKS


def of_each_rank() -> list[list[str]]:
    """The gradients A of rank 0, B of rank 1 and so on."""
    return [[f"{letter}{shard}" for shard in range(RANKS)] for letter in "ABCD"]


def zero1_states() -> list[tuple[str, list, str]]:
    """(title, what the ranks hold, colour), from left to right."""
    return [
        ("each rank's\ngradient", of_each_rank(), GRADIENTS),
        ("its shard\nof the mean", own("Σ"), GRADIENTS),
        ("its shard of the\noptimizer state", own("m"), OPTIMIZER),
        ("its shard of new\nparameters", own("w"), PARAMETERS),
        ("all new\nparameters", everywhere("w"), PARAMETERS),
    ]


def zero1_step():
    ax = page(720, 212)
    size, row, top, step = 24, 30, 60, 138
    height = 3 * row + size
    for rank in range(RANKS):
        text(ax, 54, top + rank * row + size / 2, f"rank {rank}", SMALL, ha="right")
    for i, (title, contents, colour) in enumerate(zero1_states()):
        text(ax, 62 + i * step + 2 * size, 30, title, SMALL)
        grid(ax, 62 + i * step, top, contents, colour, size, row)
    gaps = [62 + i * step + 4 * size + (step - 4 * size) / 2 for i in range(4)]
    band(ax, gaps[0], top, height, "reduce-scatter", REDUCE_SCATTER, 24)
    band(ax, gaps[2], top, height, "Adam", "white", 24)
    band(ax, gaps[3], top, height, "all-gather", ALL_GATHER, 24)
    for rank in range(RANKS):
        text(ax, gaps[1], top + rank * row + size / 2, "+", TEXT)
    for i, note in ((0, "n numbers"), (1, "k numbers"), (2, "stays here"), (3, "k numbers"), (4, "n numbers")):
        text(ax, 62 + i * step + 2 * size, 196, note, SMALL, color=GREY)
    return ax


def layer_states() -> list[tuple[str, list, list | None]]:
    """(what happens, parameters, gradients) of one layer on the ranks, in the order of time."""
    nothing = [[None] * RANKS] * RANKS
    return [
        ("at rest", own("w"), nothing),
        ("forward", everywhere("w"), nothing),
        ("at rest", own("w"), nothing),
        ("backward", everywhere("w"), of_each_rank()),
        ("at rest", own("w"), own("Σ")),
    ]


def zero3_layer():
    ax = page(720, 352)
    size, row, top, step = 23, 66, 66, 140
    height = 3 * row + 2 * size
    for rank in range(RANKS):
        text(ax, 52, top + rank * row + size, f"rank {rank}", SMALL, ha="right")
    for i, (title, parameters, gradients) in enumerate(layer_states()):
        left = 60 + i * step
        if title != "at rest":
            colour = FORWARD if title == "forward" else BACKWARD
            cell(ax, left - 3, 20, 4 * size + 6, 28, title, colour, size=TEXT)
        else:
            text(ax, left + 2 * size, 34, title, TEXT, color=GREY)
        grid(ax, left, top, parameters, PARAMETERS, size, row)
        grid(ax, left, top + size, gradients, GRADIENTS, size, row)
    gaps = [60 + i * step + 4 * size + (step - 4 * size) / 2 for i in range(4)]
    for gap, label, colour in zip(
        gaps,
        ("all-gather", "free", "all-gather", "reduce-scatter, free"),
        (ALL_GATHER, "white", ALL_GATHER, REDUCE_SCATTER),
        strict=True,
    ):
        band(ax, gap, top, height, label, colour, 26)
    cell(ax, 60, 328, 18, 14, "", PARAMETERS)
    text(ax, 86, 335, "w: parameters", SMALL, ha="left")
    cell(ax, 220, 328, 18, 14, "", GRADIENTS)
    text(ax, 246, 335, "A to D: each rank's gradient, Σ: their sum, divided by 4", SMALL, ha="left")
    return ax


def checkpointing_steps(every: int) -> list[tuple[str, int, int, int]]:
    """(pass, length, inputs, blocks whose intermediate activations are kept while it runs) of a step, in time's order.

    every: blocks in a segment of which the input is kept; 0 keeps everything.
    """
    if not every:
        forward = [("F", k, 1, 0, k) for k in range(1, BLOCKS + 1)]
        backward = [("B", k, 2, 0, k) for k in range(BLOCKS, 0, -1)]
        return [(f"{name}{k}", length, inputs, insides) for name, k, length, inputs, insides in forward + backward]
    steps = [(f"F{k}", 1, -(-k // every), 0) for k in range(1, BLOCKS + 1)]
    for segment in range(BLOCKS // every, 0, -1):
        blocks = range((segment - 1) * every + 1, segment * every + 1)
        steps += [(f"F{k}", 1, segment, i) for i, k in enumerate(blocks, 1)]
        steps += [(f"B{k}", 2, segment, every - i) for i, k in enumerate(reversed(blocks))]
    return steps


def draw_memory(ax, left, bottom, steps, unit, scale):
    """The passes as a strip, and above it what is kept while each of them runs."""
    x, seen = left, set()
    for name, length, inputs, insides in steps:
        width = length * unit
        low, high = inputs * INPUT * scale, insides * INSIDE * scale
        if low:
            cell(ax, x, bottom - low, width, low, "", INPUTS, linewidth=0)
        if high:
            cell(ax, x, bottom - low - high, width, high, "", ACTIVATIONS, linewidth=0)
        cell(ax, x, bottom + 5, width, 24, name, FORWARD if name[0] == "F" else BACKWARD)
        if name in seen and int(name[1:]) % EVERY == 0:
            text(ax, x, bottom + 42, "again", SMALL)
        seen.add(name)
        x += width
    line(ax, (left, bottom), (x, bottom), color=GREY)


def checkpointing():
    ax = page(720, 386)
    unit, scale, left = 27, 4.2, 58
    right = left + unit * sum(step[1] for step in checkpointing_steps(EVERY))
    for bottom, every, title in ((164, 0, "plain"), (302, EVERY, f"segments of {EVERY} blocks")):
        steps = checkpointing_steps(every)
        draw_memory(ax, left, bottom, steps, unit, scale)
        peak = max(inputs * INPUT + insides * INSIDE for _, _, inputs, insides in steps) * scale
        line(ax, (left, bottom - peak), (right, bottom - peak), color=GREY, linestyle=(0, (4, 3)), zorder=0)
        text(ax, right, bottom - peak - 11, "peak", SMALL, ha="right")
        text(ax, left, bottom - peak - 12, title, TEXT, ha="left", fontweight="bold")
        text(ax, left - 20, bottom - 28, "memory", SMALL, rotation=90)
    labels = (58, INPUTS, "inputs of the segments"), (262, ACTIVATIONS, "intermediate activations of the blocks")
    for x, colour, label in labels:
        cell(ax, x, 362, 18, 14, "", colour, linewidth=0)
        text(ax, x + 26, 369, label, SMALL, ha="left")
    text(ax, right, 369, "F forward, B backward", SMALL, ha="right")
    return ax


def hsdp():
    ax = page(720, 312)
    lefts, tops = (104, 500), (14, 196)
    for node, top in enumerate(tops):
        box(ax, 12, top, 696, 100, round=10, edgecolor=GREY, linestyle=(0, (5, 3)), linewidth=1.4)
        text(ax, 56, top + 50, f"node {node}", TEXT, fontweight="bold")
        for place, left in enumerate(lefts):
            box(ax, left, top + 10, 194, 80, round=8, linewidth=1.5)
            text(ax, left + 97, top + 26, f"rank {2 * node + place}", TEXT, fontweight="bold")
            for half in range(2):
                here = (left + 23 + half * 74, top + 44, 74, 32)
                if half == place:
                    cell(ax, *here, f"half {half}", PARAMETERS)
                else:
                    cell(ax, *here, **ELSEWHERE | {"zorder": 2})
        arrow(ax, (300, top + 50), (498, top + 50), both=True)
        text(ax, 399, top + 32, "all-gather twice", SMALL)
        text(ax, 399, top + 68, "reduce-scatter once", SMALL)
    for left in lefts:
        arrow(ax, (left + 97, tops[0] + 92), (left + 97, tops[1] + 8), both=True)
    text(ax, 399, 143, "all-reduce of the gradient's\nhalf, between the replicas", SMALL)
    return ax


FIGURES = {
    "zero_stages": zero_stages,
    "padded_shards": padded_shards,
    "zero1_step": zero1_step,
    "zero3_layer": zero3_layer,
    "checkpointing": checkpointing,
    "hsdp": hsdp,
}

if __name__ == "__main__":
    save_all(FIGURES)
