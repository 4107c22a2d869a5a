"""Orders of a pipeline as the puzzles read them: a timeline with its parts, what is alive on a rank, the least possible
time, and ranks of which none can go on.
"""

from __future__ import annotations

from drawing import (
    BACKWARD,
    FAINT,
    FORWARD,
    GREY,
    MESSAGE,
    SMALL,
    TEXT,
    VERMILLION,
    arrow,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)
from matplotlib.axes import Axes
from pipelines import hatched, lanes

from labkit.scale import order_1f1b
from labkit.schedules import Replay, replay

RANKS = 4
LEFT, LANE, ROW = PLACES = 72, 26, 34  # as in pipelines.py
COLOURS = {"F": FORWARD, "B": BACKWARD}
STUCK = (("F0", "B0", "F1", "F2"), ("F0", "F1", "F2", "B0"))  # the first actions of two ranks


def one_f_one_b(m: int) -> Replay:
    return replay([order_1f1b(rank, RANKS, m) for rank in range(RANKS)], RANKS, m)


def reading_a_timeline() -> Axes:
    ax = page(720, 292)
    ran, slot, top = one_f_one_b(3), 34.0, 62
    lanes(ax, ran, top, slot, places=PLACES)
    for rank in range(RANKS - 1):
        x = LEFT + (rank + 1) * slot
        arrow(ax, (x, top + rank * ROW + LANE - 6), (x + 8, top + (rank + 1) * ROW + 5), color=MESSAGE, zorder=6)
    text(ax, LEFT, 20, "F0 waits for F0 of the rank before", SMALL + 1, ha="left", color=MESSAGE)
    line(ax, (LEFT + slot, 30), (LEFT + slot, top - 2), color=MESSAGE)
    last = RANKS - 1
    ends = {(what, k): end for (what, k, _), end in zip(ran.orders[last], ran.ends[last], strict=True)}
    x = LEFT + ends["B", 0] * slot
    for step in range(last):
        y = top + (last - step) * ROW
        arrow(ax, (x + 2 * slot * step, y + 5), (x + 2 * slot * step + 8, y - ROW + LANE - 6), color=MESSAGE, zorder=6)
    text(ax, LEFT + 9.5 * slot, 20, "B0 waits for B0 of the next rank", SMALL + 1, ha="left", color=MESSAGE)
    line(ax, (LEFT + 10.4 * slot, 30), (LEFT + 10.4 * slot, top - 2), color=MESSAGE)
    y = top + RANKS * ROW + 14
    cell(ax, LEFT, y, 24, 20, "F", FORWARD)
    text(ax, LEFT + 32, y + 10, "forward, 1 slot", SMALL + 1, ha="left")
    cell(ax, LEFT + 190, y, 48, 20, "B", BACKWARD)
    text(ax, LEFT + 246, y + 10, "backward, 2 slots", SMALL + 1, ha="left")
    hatched(ax, LEFT + 418, y - 3, 24, LANE)
    text(ax, LEFT + 450, y + 10, "idle", SMALL + 1, ha="left")
    text(ax, LEFT, y + 48, f"{ran.elapsed:g} slots until the last rank is done", SMALL + 1, ha="left")
    line(
        ax,
        (LEFT + ran.elapsed * slot, top - 8),
        (LEFT + ran.elapsed * slot, top + RANKS * ROW),
        color=MESSAGE,
        linewidth=2,
    )
    return ax


def alive_on_a_rank() -> Axes:
    ax = page(720, 330)
    ran, slot, rank = one_f_one_b(5), 26.0, 1
    text(ax, LEFT - 8, 29, f"rank {rank}", SMALL, ha="right")
    hatched(ax, LEFT, 16, ran.elapsed * slot, LANE)
    spans: dict[int, list[float]] = {}
    for (what, k, _), start, end in zip(ran.orders[rank], ran.starts[rank], ran.ends[rank], strict=True):
        cell(ax, LEFT + start * slot, 16, (end - start) * slot, LANE, f"{what}{k}", COLOURS[what])
        spans.setdefault(k, [start, end])[1] = end
    for k, (start, end) in spans.items():
        y = 60 + 24 * k
        cell(ax, LEFT + start * slot, y, (end - start) * slot, 18, f"{k} is alive", tint(GREY, 0.72), linewidth=0.7)
    base, unit = 286, 26
    curve = ran.memory[rank]
    for (t, count), (until, _) in zip(curve, [*curve[1:], (ran.elapsed, 0)], strict=True):
        cell(
            ax,
            LEFT + t * slot,
            base - count * unit,
            (until - t) * slot,
            count * unit,
            "",
            tint(MESSAGE, 0.75),
            linewidth=0,
        )
    line(ax, (LEFT, base), (LEFT + ran.elapsed * slot, base), color=GREY)
    for count in (1, 2, 3):
        text(ax, LEFT - 10, base - count * unit, str(count), SMALL, ha="right", color=GREY)
    most = int(ran.alive[rank])
    line(
        ax,
        (LEFT, base - most * unit),
        (LEFT + ran.elapsed * slot, base - most * unit),
        color=VERMILLION,
        linestyle="--",
    )
    text(ax, LEFT, 310, f"how many at a time; most alive: {most}", SMALL + 1, ha="left", color=MESSAGE)
    return ax


def never_idle() -> Axes:
    ax = page(720, 308)
    ran, slot, top = one_f_one_b(8), 18.4, 16
    lanes(ax, ran, top, slot, named="", places=PLACES)
    last = RANKS - 1
    begin, end = ran.starts[last][0], ran.ends[last][-1]
    y = top + last * ROW
    cell(ax, LEFT + begin * slot, y, (end - begin) * slot, LANE, "", "none", edgecolor=MESSAGE, linewidth=3, zorder=6)
    parts = ((0, begin, "before"), (begin, end, "rank 3 is never idle"), (end, ran.elapsed, "after"))
    for start, stop, name in parts:
        a, b = LEFT + start * slot, LEFT + stop * slot
        arrow(ax, (a, 170), (b, 170), both=True, color=MESSAGE, mutation_scale=9)
        text(ax, (a + b) / 2, 192, f"{stop - start:g}", TEXT + 1, fontweight="bold", color=MESSAGE)
        text(ax, (a + b) / 2, 214, name, SMALL + 1)
    adds_up = f"{begin:g} + 8 · (1 + 2) + {ran.elapsed - end:g} = {ran.elapsed:g} slots: no order is shorter"
    text(ax, LEFT, 250, adds_up, SMALL + 1, ha="left")
    text(ax, LEFT, 278, "before: F0 on ranks 0, 1, 2.  after: B7 on ranks 2, 1, 0.", SMALL + 1, ha="left", color=GREY)
    return ax


def nobody_goes_on() -> Axes:
    ax = page(720, 268)
    tops, width, left, stuck = (48, 156), 108, 100, 1  # stuck: the place of the action at which a rank stands
    for rank, (order, y) in enumerate(zip(STUCK, tops, strict=True)):
        text(ax, left - 12, y + 20, f"rank {rank}", TEXT, ha="right", fontweight="bold")
        for i, action in enumerate(order):
            done, stands = i < stuck, i == stuck
            look = {"edgecolor": VERMILLION, "linewidth": 2.6, "zorder": 3} if stands else {}
            fill = COLOURS[action[0]] if done or stands else tint(COLOURS[action[0]], 0.55)
            cell(ax, left + i * width, y, width - 14, 40, action, fill, size=TEXT + 1, **look)
    x = [left + i * width + (width - 14) / 2 for i in range(4)]
    look = {"color": MESSAGE, "linewidth": 2.2, "zorder": 5}
    arrow(ax, (x[1] + 20, tops[0] + 41), (x[3] - 10, tops[1] - 1), **look)
    arrow(ax, (x[1] + 6, tops[1] - 1), (x[2] - 24, tops[0] + 41), **look)
    arrow(ax, (x[2], tops[0] - 1), (x[1] + 10, tops[0] - 1), bend=0.5, **look)
    arrow(ax, (x[3], tops[1] + 41), (x[1] + 10, tops[1] + 41), bend=-0.35, **look)
    text(ax, 540, 46, "An arrow: needs.", SMALL + 1, ha="left", color=MESSAGE)
    text(
        ax,
        540,
        100,
        "B0 needs B0 of rank 1,\nthat F1 before it,\nthat F1 of rank 0,\nthat B0 before it",
        SMALL + 1,
        ha="left",
    )
    line(ax, (524, 34), (524, 208), color=FAINT)
    return ax


FIGURES = {
    "reading_a_timeline": reading_a_timeline,
    "alive_on_a_rank": alive_on_a_rank,
    "never_idle": never_idle,
    "nobody_goes_on": nobody_goes_on,
}

if __name__ == "__main__":
    save_all(FIGURES)
