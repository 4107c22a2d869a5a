"""Data, model and hybrid parallelism: three pictures of one family. The model has 4 layers with 4 neurons each."""

from __future__ import annotations

from drawing import (
    FAINT,
    GREY,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
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

MODEL = tint(GREY, 0.82)


def net(ax, x, y, layers=4, neurons=4, across=24, down=24, fill="white"):
    """Layers of neurons, the first one at (x, y), `across` and `down` pixels apart, with their connections."""
    for layer in range(layers):
        for neuron in range(neurons):
            here = (x + neuron * across, y + layer * down)
            for other in range(neurons if layer + 1 < layers else 0):
                line(ax, here, (x + other * across, here[1] + down), color=GREY, linewidth=0.6)
            circle(ax, *here, 7.5, fill=fill, linewidth=1.1)


def rank_box(ax, x, y, width, height, rank, **look):
    box(ax, x, y, width, height, round=8, linewidth=1.5, **look)
    text(ax, x + width / 2, y + 15, f"rank {rank}", TEXT, fontweight="bold")


def batch(ax, x, y, width, parts, height=26):
    for i, (colour, label) in enumerate(parts):
        cell(ax, x + i * width / len(parts), y, width / len(parts), height, label, colour)


def data_parallel():
    ax = page(720, 396)
    parts = [(colour, f"part {i}") for i, colour in enumerate(RANK_COLOURS)]
    text(ax, 12, 29, "batch", ha="left")
    batch(ax, 80, 16, 560, parts)
    for rank, colour in enumerate(RANK_COLOURS):
        left = 12 + rank * 176
        middle = left + 84
        arrow(ax, (150 + 140 * rank, 42), (middle, 70))
        rank_box(ax, left, 72, 168, 202, rank)
        box(ax, left + 26, 100, 116, 108, fill=MODEL)
        net(ax, middle - 36, 118)
        text(ax, middle, 222, "whole model", SMALL)
        cell(ax, left + 26, 238, 116, 25, f"gradient {rank}", colour)
        arrow(ax, (middle, 276), (middle, 303), both=True, color=MESSAGE)
    box(
        ax,
        12,
        305,
        696,
        34,
        "all-reduce: the average of the four gradients, on every rank",
        tint(MESSAGE, 0.85),
        edgecolor=MESSAGE,
    )
    text(ax, 360, 366, "Every rank makes the same step, so the four copies of the model stay equal.", SMALL + 1)
    return ax


def model_parallel():
    ax = page(720, 396)
    for left, title, says in (
        (0, "network parallelism", "Every layer is cut. After each layer\nthe ranks exchange activations."),
        (364, "layer pipelining", "Whole layers lie on a rank. Activations\nare passed on to the next rank."),
    ):
        text(ax, left + 178, 18, title, TEXT + 1, fontweight="bold")
        cell(ax, left + 108, 38, 140, 25, "whole batch", tint(GREY, 0.6))
        text(ax, left + 178, 366, says, SMALL + 1)
    line(ax, (360, 10), (360, 386), color=FAINT)

    for rank in range(2):
        left = 14 + rank * 180
        arrow(ax, (160 + 36 * rank, 63), (left + 76, 90))
        rank_box(ax, left, 92, 152, 232, rank)
        box(ax, left + 38, 122, 76, 188, fill=MODEL)
        net(ax, left + 60, 144, layers=4, neurons=2, across=32, down=48, fill=RANK_COLOURS[rank])
    for layer in range(3):
        arrow(ax, (130, 168 + layer * 48), (230, 168 + layer * 48), both=True, color=MESSAGE)

    for rank in range(2):
        top = 92 + rank * 128
        box(ax, 410, top, 264, 104, round=8, linewidth=1.5)
        text(ax, 424, top + 52, f"rank {rank}", ha="left", fontweight="bold")
        half_a_model(ax, 494, top + 8, rank, RANK_COLOURS[rank])
    arrow(ax, (542, 63), (542, 90))
    arrow(ax, (542, 197), (542, 219), both=True, color=MESSAGE, mutation_scale=10)
    text(ax, 556, 208, "activations", SMALL, ha="left", color=MESSAGE)
    return ax


def half_a_model(ax, x, y, half, fill="white"):
    """Layers 1 and 2, or 3 and 4, and beside them which they are."""
    box(ax, x, y, 96, 88, fill=MODEL)
    net(ax, x + 15, y + 20, layers=2, across=22, down=48, fill=fill)
    text(ax, x + 106, y + 44, f"layers\n{2 * half + 1} and {2 * half + 2}", SMALL, ha="left")


def hybrid_parallel():
    ax = page(720, 396)
    text(ax, 58, 20, "batch")
    text(ax, 426, 20, "along a row: model parallelism, one copy of the model")
    text(ax, 426, 376, "down a column: data parallelism, the same layers twice")
    for copy in range(2):
        top = 40 + copy * 182
        cell(ax, 12, top + 50, 92, 36, f"part {copy}", RANK_COLOURS[copy])
        arrow(ax, (104, top + 68), (142, top + 68))
        for half in range(2):
            left = 144 + half * 352
            rank_box(ax, left, top, 212, 136, 2 * copy + half)
            half_a_model(ax, left + 20, top + 34, half)
        arrow(ax, (357, top + 68), (495, top + 68), both=True, color=MESSAGE)
        text(ax, 426, top + 52, "activations", SMALL, color=MESSAGE)
    for half in range(2):
        arrow(ax, (250 + half * 352, 177), (250 + half * 352, 221), both=True, color=MESSAGE)
    text(ax, 426, 199, "average the gradients of the same layers", SMALL, color=MESSAGE)
    return ax


FIGURES = {"data_parallel": data_parallel, "model_parallel": model_parallel, "hybrid_parallel": hybrid_parallel}

if __name__ == "__main__":
    save_all(FIGURES)
