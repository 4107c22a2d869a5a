"""A model cut into stages: how micro-batches flow through it, and the schedules of a pipeline (one minibatch that is
not split, GPipe, 1F1B, interleaved chunks, zero bubble), replayed and drawn on one time axis with the bubble hatched.
"""

from __future__ import annotations

from drawing import (
    BACKWARD,
    FORWARD,
    GREY,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    TEXT,
    WEIGHT_GRADIENTS,
    arrow,
    box,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)
from matplotlib.axes import Axes

from labkit.scale import order_1f1b, order_interleaved
from labkit.schedules import Replay, replay

RANKS = 4
LEFT, LANE, ROW = PLACES = 70, 24, 28  # where slot 0 is, the height of a lane, from lane to lane
COLOURS = {"F": FORWARD, "B": BACKWARD, "W": WEIGHT_GRADIENTS}

Order = list[tuple]


def gpipe(rank: int, p: int, m: int) -> Order:
    return [("F", k) for k in range(m)] + [("B", k) for k in range(m)]


def zero_bubble(rank: int, p: int, m: int) -> Order:
    order, postponed = [], []
    for what, k in order_1f1b(rank, p, m):
        order.append((what, k))
        if what == "B":
            postponed.append(("W", k))
            if len(postponed) > rank:
                order.append(postponed.pop(0))
    return order + postponed


def schedules() -> dict[str, Replay]:
    """The schedules of the figures, by name: orders of four ranks, replayed. A forward pass of a stage is one slot."""
    ranks, split = range(RANKS), {"forward": 1.0, "backward": 1.0, "weights": 1.0}
    one = [[("F", 0), ("B", 0)] for _ in ranks]
    chunks = [order_interleaved(r, RANKS, 4, 2) for r in ranks]
    return {
        "not cut": replay(one, RANKS, 1, forward=4.0, backward=8.0),
        "GPipe, 4": replay([gpipe(r, RANKS, 4) for r in ranks], RANKS, 4),
        "GPipe, 6": replay([gpipe(r, RANKS, 6) for r in ranks], RANKS, 6),
        "1F1B, 6": replay([order_1f1b(r, RANKS, 6) for r in ranks], RANKS, 6),
        "1F1B, 4": replay([order_1f1b(r, RANKS, 4) for r in ranks], RANKS, 4),
        "interleaved, 4": replay(chunks, RANKS, 4, 2, forward=0.5, backward=1.0),
        "zero bubble, 4": replay([zero_bubble(r, RANKS, 4) for r in ranks], RANKS, 4, **split),
    }


def hatched(ax: Axes, x: float, y: float, width: float, height: float) -> None:
    cell(ax, x, y, width, height, edgecolor=tint(GREY, 0.45), hatch="////", linewidth=0, zorder=0)


def lanes(
    ax: Axes, ran: Replay, top: float, slot: float, named: str = "FBW", places: tuple[float, float, float] = PLACES
) -> None:
    """A lane for each rank: hatched while idle, a block for each action. named: the actions whose letter is written.
    places: where slot 0 is, the height of a lane, from lane to lane."""
    left, height, row = places
    for rank, order in enumerate(ran.orders):
        y = top + rank * row
        text(ax, left - 8, y + height / 2, f"rank {rank}", SMALL, ha="right")
        hatched(ax, left, y, ran.elapsed * slot, height)
        for (what, k, chunk), start, end in zip(order, ran.starts[rank], ran.ends[rank], strict=True):
            label = f"{what}{k}" if what in named else str(k)
            x, width = left + start * slot, (end - start) * slot
            cell(ax, x, y, width, height, label, COLOURS[what])
            if chunk:
                under = y + height - 2.5
                line(ax, (x + 2, under), (x + width - 2, under), linewidth=2.6, solid_capstyle="butt")


def heading(ax: Axes, y: float, name: str, says: str, right: float) -> None:
    text(ax, LEFT, y, name, TEXT, ha="left", fontweight="bold")
    text(ax, right, y, says, SMALL + 1, ha="right")


def says(ran: Replay) -> str:
    return f"{ran.elapsed:g} slots, each rank idle {ran.bubble.mean():.0%}"


def bubble_label(ax: Axes, x: float, y: float) -> None:
    look = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    text(ax, x, y + LANE / 2, "bubble", SMALL, bbox=look, zorder=5, fontstyle="italic")


def longest_wait(ran: Replay, rank: int) -> float:
    """The slot in the middle of the longest pause between two actions of a rank."""
    pauses = [
        (start - end, (start + end) / 2) for end, start in zip(ran.ends[rank], ran.starts[rank][1:], strict=False)
    ]
    return max(pauses)[1]


def time_axis(ax: Axes, y: float, slot: float, last: int, every: int = 3) -> None:
    line(ax, (LEFT, y), (LEFT + last * slot, y), color=GREY)
    for t in range(0, last + 1, every):
        line(ax, (LEFT + t * slot, y), (LEFT + t * slot, y + 5), color=GREY)
        text(ax, LEFT + t * slot, y + 15, str(t), SMALL, color=GREY)
    text(ax, LEFT - 8, y + 15, "slots", SMALL, ha="right", color=GREY)


def legend(ax: Axes, y: float, *entries: tuple[str, str]) -> None:
    """Entries (colour, words) in a row; "" is the hatching."""
    x = LEFT
    for colour, words in entries:
        if colour:
            cell(ax, x, y, 22, 18, "", colour)
        else:
            hatched(ax, x, y, 22, 18)
        text(ax, x + 29, y + 9, words, SMALL, ha="left")
        x += 29 + 7.6 * len(words) + 20


def stage(ax: Axes, rank: int, left: float, top: float) -> None:
    layers = [f"block {2 * rank + 1}", f"block {2 * rank + 2}"]
    layers = ["embedding"] * (rank == 0) + layers + ["norm, head"] * (rank == RANKS - 1)
    box(ax, left, top, 132, 132, round=8, linewidth=1.5, fill=RANK_COLOURS[rank])
    text(ax, left + 66, top + 16, f"rank {rank}", TEXT, fontweight="bold")
    first = top + 79 - 17 * len(layers)
    for i, layer in enumerate(layers):
        cell(ax, left + 14, first + 34 * i, 104, 28, layer)


def stages() -> Axes:
    ax = page(720, 432)
    lefts = [92 + 158 * rank for rank in range(RANKS)]
    text(ax, 12, 20, "minibatch", ha="left")
    for k in range(RANKS):
        cell(ax, 92 + 102 * k, 8, 102, 24, f"micro-batch {k}")
    arrow(ax, (158, 34), (158, 56), linewidth=2.5)
    for rank, left in enumerate(lefts):
        stage(ax, rank, left, 58)
    for left in lefts[:-1]:
        arrow(ax, (left + 133, 96), (left + 157, 96), linewidth=2.5)
        arrow(ax, (left + 157, 152), (left + 133, 152), linewidth=2.5, color=MESSAGE)
    text(ax, lefts[0], 208, "→ forward: activations", SMALL + 1, ha="left")
    text(ax, lefts[-1] + 132, 208, "← backward: gradients of the activations", SMALL + 1, ha="right", color=MESSAGE)
    first_slots(ax, lefts, 240)
    text(ax, 360, 416, "hatched: idle. In slot 3 micro-batch 0 reaches the last rank, and all four work.", SMALL)
    return ax


def first_slots(ax: Axes, lefts: list[int], top: float) -> None:
    """Draw the work of each rank (a column) in each of the first slots (a row), with the way of micro-batch 0."""
    ran = schedules()["GPipe, 4"]
    for slot in range(RANKS):
        y = top + 40 * slot
        text(ax, 12, y + 13, f"slot {slot}", SMALL + 1, ha="left")
        for rank, left in enumerate(lefts):
            begun = [k for (what, k, _), start in zip(ran.orders[rank], ran.starts[rank], strict=True) if start == slot]
            if begun:
                cell(ax, left + 26, y, 80, 26, f"F{begun[0]}", FORWARD, size=TEXT)
            else:
                hatched(ax, left + 26, y, 80, 26)
            if begun and rank + 1 < RANKS and slot + 1 < RANKS:
                arrow(ax, (left + 108, y + 24), (left + 182, y + 44), linewidth=1.2)


def uncut_and_cut() -> Axes:
    ran, slot = schedules(), 590 / 48
    right = LEFT + 48 * slot
    ax = page(720, 368)
    heading(ax, 16, "one minibatch, not split", says(ran["not cut"]), right)
    lanes(ax, ran["not cut"], 32, slot, "FB")
    cut = ran["GPipe, 4"]
    heading(ax, 172, "split into 4 micro-batches", says(cut), right)
    lanes(ax, cut, 188, slot, "")
    end = LEFT + cut.elapsed * slot
    arrow(ax, (right, 244), (end + 6, 244), linewidth=2)
    text(ax, (end + right) / 2, 228, f"{48 - cut.elapsed:g} slots saved", SMALL + 1)
    time_axis(ax, 306, slot, 48)
    legend(ax, 340, (FORWARD, "F, forward"), (BACKWARD, "B, backward: twice as long"), ("", "idle: the bubble"))
    return ax


def gpipe_and_1f1b() -> Axes:
    ran, slot = schedules(), 20
    ax = page(720, 370)
    for top, name in ((8, "GPipe"), (164, "1F1B")):
        one = ran[f"{name}, 6"]
        heading(ax, top + 8, name, says(one), LEFT + one.elapsed * slot)
        lanes(ax, one, top + 24, slot)
        bubble_label(ax, LEFT + longest_wait(one, 0) * slot, top + 24)
        text(ax, 664, top + 8, "alive", SMALL + 1, fontweight="bold")
        for rank, alive in enumerate(one.alive):
            text(ax, 664, top + 24 + rank * ROW + LANE / 2, str(alive), TEXT)
    time_axis(ax, 304, slot, 27)
    legend(ax, 340, (FORWARD, "F, forward"), (BACKWARD, "B, backward"), ("", "bubble"))
    text(ax, 712, 349, "alive: peak number of micro-batches", SMALL, ha="right")
    return ax


def interleaved_chunks() -> Axes:
    ran, slot = schedules(), 600 / 21
    ax = page(720, 456)
    text(ax, LEFT - 8, 21, "model", SMALL, ha="right")
    for chunk in range(2 * RANKS):
        x = LEFT + 75 * chunk
        cell(ax, x, 8, 75, 26, f"chunk {chunk}", RANK_COLOURS[chunk % RANKS])
        text(ax, x + 37, 46, f"rank {chunk % RANKS}", SMALL)
        if chunk >= RANKS:
            line(ax, (x + 4, 31), (x + 71, 31), linewidth=2.6, solid_capstyle="butt")
    right = LEFT + 600
    heading(ax, 84, "1F1B, one stage per rank", says(ran["1F1B, 4"]), right)
    lanes(ax, ran["1F1B, 4"], 100, slot, "")
    short = ran["interleaved, 4"]
    heading(ax, 236, "interleaved, two chunks per rank", says(short), right)
    lanes(ax, short, 252, slot, "")
    time_axis(ax, 378, slot, 21)
    words = "line below: the rank's second chunk"
    legend(ax, 424, (FORWARD, "F, forward"), (BACKWARD, "B, backward"), ("", "bubble"), (FORWARD, words))
    line(ax, (LEFT + 354, 439), (LEFT + 372, 439), linewidth=2.6, solid_capstyle="butt")
    return ax


def zero_bubble_split() -> Axes:
    ran, slot = schedules(), 600 / 21
    ax = page(720, 460)
    for y, content, colour, way in (
        (8, "B: gradient of the input", BACKWARD, "to rank r - 1, which waits"),
        (48, "W: gradients of the weights", WEIGHT_GRADIENTS, "stay here: nobody waits"),
    ):
        cell(ax, 252, y, 216, 30, content, colour)
        arrow(ax, (250, y + 15), (214, y + 15), linewidth=2)
        text(ax, 206, y + 15, way, SMALL, ha="right")
        line(ax, (508, 43), (508, y + 15), linewidth=2)
        arrow(ax, (508, y + 15), (470, y + 15), linewidth=2)
    line(ax, (508, 43), (530, 43), linewidth=2)
    text(ax, 538, 43, "gradient from rank r + 1", SMALL, ha="left")
    right = LEFT + 600
    heading(ax, 108, "1F1B, backward passes not split", says(ran["1F1B, 4"]), right)
    lanes(ax, ran["1F1B, 4"], 124, slot)
    heading(ax, 260, "zero bubble: B first, W postponed", says(ran["zero bubble, 4"]), right)
    lanes(ax, ran["zero bubble, 4"], 276, slot)
    time_axis(ax, 398, slot, 21)
    colours = [(FORWARD, "F"), (BACKWARD, "B"), (WEIGHT_GRADIENTS, "W"), ("", "bubble")]
    legend(ax, 434, *colours)
    text(ax, right, 443, "above, B is both products: two slots", SMALL, ha="right")
    return ax


COSTS = [1, 1, 4, 2, 4, 5]  # of six layers


def cuts() -> list[tuple[str, list[int]]]:
    """Three ways to partition the layers into three stages: how many layers each gets."""
    mean, filled, load = sum(COSTS) / 3, [0], 0
    for cost in COSTS:
        if load + cost > mean and len(filled) < 3:
            filled, load = [*filled, 0], 0
        filled[-1] += 1
        load += cost
    every = [[a, b, 6 - a - b] for a in range(1, 5) for b in range(1, 6 - a)]
    best = min(every, key=lambda sizes: max(stage_costs(sizes)))
    return [("equal layer counts", [2, 2, 2]), ("filled up to the mean", filled), ("best cut", best)]


def stage_costs(sizes: list[int]) -> list[int]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [sum(COSTS[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def three_cuts() -> Axes:
    ax = page(720, 424)
    unit = 48
    for (title, sizes), top in zip(cuts(), (10, 140, 270), strict=True):
        slowest = max(stage_costs(sizes))
        text(ax, LEFT, top + 8, title, TEXT, ha="left", fontweight="bold")
        first = 0
        for rank, size in enumerate(sizes):
            x, y = LEFT, top + 24 + 30 * rank
            text(ax, LEFT - 8, y + 13, f"rank {rank}", SMALL, ha="right")
            for layer in range(first, first + size):
                cell(ax, x, y, COSTS[layer] * unit, 26, f"{'abcdef'[layer]}: {COSTS[layer]}", RANK_COLOURS[rank])
                x += COSTS[layer] * unit
            hatched(ax, x, y, LEFT + slowest * unit - x, 26)
            first += size
        limit = LEFT + slowest * unit
        line(ax, (limit, top + 20), (limit, top + 114), color=MESSAGE, linewidth=2.4)
        text(ax, limit + 7, top + 67, f"{slowest}", TEXT, ha="left", color=MESSAGE, fontweight="bold")
    text(ax, LEFT, 406, "letter: layer, number: its cost; hatched: waiting for the slowest", SMALL, ha="left")
    return ax


FIGURES = {
    "pipeline_stages": stages,
    "pipeline_uncut_and_cut": uncut_and_cut,
    "pipeline_cuts": three_cuts,
    "pipeline_gpipe_and_1f1b": gpipe_and_1f1b,
    "pipeline_interleaved": interleaved_chunks,
    "pipeline_zero_bubble": zero_bubble_split,
}

if __name__ == "__main__":
    save_all(FIGURES)
