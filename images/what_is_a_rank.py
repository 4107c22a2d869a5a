"""Four ranks: four processes of one program, each with its own memory, that can only send each other messages."""

from __future__ import annotations

from drawing import (
    GREY,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    TEXT,
    arrow,
    box,
    cell,
    page,
    save_all,
    text,
    tint,
)


def what_is_a_rank():
    ax = page(720, 372)
    box(ax, 220, 10, 280, 34, "mpiexec -n 4 python pi.py", tint(GREY, 0.85), size=TEXT)
    for rank, value in enumerate((3.10, 3.16, 3.12, 3.18)):
        left = 12 + rank * 178
        middle = left + 81
        arrow(ax, (297 + 42 * rank, 45), (middle, 80))
        box(ax, left, 82, 162, 188, round=8, linewidth=1.5)
        text(ax, middle, 99, f"rank {rank}", TEXT + 1, fontweight="bold")
        text(ax, middle, 120, "a process running pi.py", SMALL - 1)
        box(ax, left + 10, 136, 142, 122, fill=RANK_COLOURS[rank], linestyle="--")
        text(ax, middle, 152, "its own memory", SMALL)
        for i, content in enumerate((f"rank = {rank}", "world_size = 4", f"x = {value:.2f}")):
            cell(ax, left + 19, 166 + i * 29, 124, 26, content, "white")
    messages = "messages: the only way from one memory to another"
    box(ax, 12, 318, 696, 42, messages, tint(MESSAGE, 0.88), edgecolor=MESSAGE)
    for rank, says in enumerate(("send x to 1", "recv from 0", "send x to 3", "recv from 2")):
        ends = ((93 + 178 * rank, 271), (93 + 178 * rank, 317))
        arrow(ax, *(ends if says.startswith("send") else reversed(ends)), color=MESSAGE)
        text(ax, 101 + 178 * rank, 294, says, SMALL - 1, ha="left", color=MESSAGE)
    return ax


FIGURES = {"what_is_a_rank": what_is_a_rank}

if __name__ == "__main__":
    save_all(FIGURES)
