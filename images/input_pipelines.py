"""The way of samples to the accelerators: shards dealt to ranks and workers, a shuffle buffer, the slowest stage,
batches made ahead of the step, ranks that wait, and an epoch that goes on with other ranks.
"""

from __future__ import annotations

import random

from drawing import (
    ALL_REDUCE,
    FAINT,
    GREY,
    INK,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    TEXT,
    VERMILLION,
    arrow,
    box,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)

from labkit.palette import BLUE

READING = tint(GREY, 0.75)

# Files dealt to two workers of each of two ranks
FILES = "ABCDEFGH"
RANKS = WORKERS = 2
SEED = 7


def order_of(epoch: int, seed: int = SEED) -> list[str]:
    order = sorted(FILES)
    random.Random(f"{seed} {epoch}").shuffle(order)
    return order


def dealt(epoch: int) -> list[list[list[str]]]:
    """For each rank and each of its workers the files that it reads."""
    order = order_of(epoch)
    shares = [order[rank::RANKS] for rank in range(RANKS)]
    return [[share[worker::WORKERS] for worker in range(WORKERS)] for share in shares]


def shards_dealt():
    ax = page(720, 372)
    for epoch in range(2):
        draw_epoch(ax, 14 + 362 * epoch, epoch)
    line(ax, (360, 10), (360, 362), color=FAINT)
    return ax


def draw_epoch(ax, left, epoch, size=41):
    text(ax, left + 4 * size, 18, f"epoch {epoch}: all files, sorted", TEXT, fontweight="bold")
    for k, file in enumerate(sorted(FILES)):
        cell(ax, left + k * size, 36, size, 30, file, "white", size=TEXT)
    text(ax, left + 4 * size + 14, 88, f"shuffled with seed and epoch {epoch}", SMALL, ha="center")
    arrow(ax, (left + 24, 70), (left + 24, 106))
    for k, file in enumerate(order_of(epoch)):
        cell(ax, left + k * size, 110, size, 30, file, RANK_COLOURS[k % RANKS], size=TEXT)
        arrow(ax, (left + (k + 0.5) * size, 140), (left + 80 + 170 * (k % RANKS), 190), color=GREY, linewidth=0.9)
    for rank, shares in enumerate(dealt(epoch)):
        x = left + 168 * rank
        box(ax, x, 192, 160, 166, round=8, linewidth=1.5)
        text(ax, x + 80, 210, f"rank {rank}", TEXT, fontweight="bold")
        for worker, files in enumerate(shares):
            y = 230 + 62 * worker
            text(ax, x + 12, y + 26, f"worker {worker}", SMALL, ha="left")
            for k, file in enumerate(files):
                cell(ax, x + 78 + 36 * k, y + 8, 36, 34, file, RANK_COLOURS[rank], size=TEXT)


# A shuffle buffer of four places: which of them is drawn for each element that comes in, and the order at the end
STREAM, SIZE, DRAWN, AT_THE_END = "ABCDEFG", 4, (2, 0, 2), (3, 0, 2, 1)


def buffer_states() -> list[tuple[str, str, str, str, int | None]]:
    """(what happens, the rest of the stream, the buffer, the output, the place in the buffer that is new)."""
    held, out = list(STREAM[:SIZE]), ""
    states = [("it fills up", STREAM[SIZE:], "".join(held), out, None)]
    for k, place in enumerate(DRAWN):
        new = STREAM[SIZE + k]
        out += held[place]
        said = f"{new} comes, {held[place]} leaves"
        held[place] = new
        states.append((said, STREAM[SIZE + k + 1 :], "".join(held), out, place))
    states.append(("the rest leaves", "", "", out + "".join(held[k] for k in AT_THE_END), None))
    return states


def shuffle_buffer():
    ax = page(720, 342)
    size, lefts = 34, (156, 286, 462)
    for x, title in ((208, "stream"), (354, "buffer of 4"), (581, "output")):
        text(ax, x, 18, title, TEXT, fontweight="bold")
    for k, (said, rest, held, out, new) in enumerate(buffer_states()):
        y = 40 + 60 * k
        text(ax, 12, y + 17, said, SMALL, ha="left")
        for i, element in enumerate(rest):
            cell(ax, lefts[0] + i * size, y, size, 34, element, READING, size=TEXT)
        for i in range(SIZE):
            look = {"edgecolor": MESSAGE, "linewidth": 2.6, "zorder": 3} if i == new else {}
            cell(ax, lefts[1] + i * size, y, size, 34, held[i : i + 1], "white", size=TEXT, **look)
        for i, element in enumerate(out):
            latest = k > 0 and (i == len(out) - 1 or not held and i >= len(DRAWN))
            look = {"edgecolor": MESSAGE, "linewidth": 2.6, "zorder": 3} if latest else {}
            cell(ax, lefts[2] + i * size, y, size, 34, element, tint(GREY, 0.9), size=TEXT, **look)
        if k:
            arrow(ax, (428, y + 17), (456, y + 17), color=MESSAGE)
        if new is not None:
            arrow(ax, (260, y + 17), (282, y + 17), color=MESSAGE)
    return ax


# The slowest stage: samples per second of each, one rank of two on a machine
STAGES = (
    ("2 workers", "read 6 ms, decode 4 ms", 2 / (0.006 + 0.004)),
    ("4 cores for 2 ranks", "decode 4 ms", 4 / 2 / 0.004),
    ("accelerator", "step 2.5 ms for a sample", 1 / 0.0025),
)


def slowest_stage():
    ax = page(720, 300)
    middle, unit, wide = 158, 0.36, 176
    flow = min(rate for *_, rate in STAGES)
    cell(ax, 20, middle - flow * unit / 2, 680, flow * unit, "", tint(BLUE, 0.72), edgecolor="none", zorder=0)
    for k, (name, takes, rate) in enumerate(STAGES):
        left, height = 60 + 212 * k, rate * unit
        look = {"linewidth": 2.6, "edgecolor": MESSAGE} if rate == flow else {"linewidth": 1.4}
        cell(ax, left, middle - height / 2, wide, height, "", "none", zorder=2, **look)
        bold = "bold" if rate == flow else "normal"
        text(ax, left + wide / 2, 22, name, TEXT, fontweight="bold")
        text(ax, left + wide / 2, 44, takes, SMALL)
        text(ax, left + wide / 2, middle, f"{rate:.0f} / s", TEXT + 2, fontweight=bold)
    arrow(ax, (20, middle), (54, middle), color=BLUE, linewidth=2.4)
    arrow(ax, (664, middle), (704, middle), color=BLUE, linewidth=2.4)
    said = f"as many samples arrive as the narrowest stage lets through: {flow:.0f} / s"
    text(ax, 360, 278, said, TEXT)
    return ax


# Batches made ahead of the step, in milliseconds
MAKE, STEP, UNTIL = 48, 32, 260


def made_and_used(workers: int) -> tuple[list[list[tuple[int, int, int]]], list[tuple[int, int, int]]]:
    """(for each worker its batches, the steps): lists of (batch, from, to). No worker: the program makes them."""
    lanes, steps, end = [[] for _ in range(max(workers, 1))], [], 0
    for batch in range(12):
        lane = lanes[batch % len(lanes)]
        begun = end if workers == 0 else lane[-1][2] if lane else 0
        lane.append((batch, begun, begun + MAKE))
        start = max(end, begun + MAKE)
        end = start + STEP
        steps.append((batch, start, end))
    return lanes, steps


def busy(workers: int) -> float:
    """The accelerator's share of the time after the first batch."""
    _, steps = made_and_used(workers)
    return STEP * (len(steps) - 1) / (steps[-1][2] - steps[0][2])


def prefetching():
    ax = page(720, 372)
    top = 16
    for workers, name in enumerate(("nothing ahead", "1 worker", "2 workers")):
        lanes, steps = made_and_used(workers)
        text(ax, 12, top + 14 * len(lanes) + 14, name, TEXT, ha="left", fontweight="bold")
        for k, lane in enumerate(lanes):
            lane_of(ax, top + 28 * k, f"worker {k}" if workers else "read", lane, READING, INK)
        y = top + 28 * len(lanes)
        lane_of(ax, y, "step", steps, BLUE, "white")
        waits_of(ax, y, steps)
        text(ax, 708, y + 12, f"busy\n{100 * busy(workers):.0f} %", SMALL, ha="right")
        top = y + 56
    base = 288
    arrow(ax, (200, base), (670, base))
    for ms in range(0, UNTIL, MAKE):
        line(ax, (at_time(ms), base), (at_time(ms), base + 6))
        text(ax, at_time(ms), base + 20, f"{ms}", SMALL)
    text(ax, 690, base + 20, "ms", SMALL)
    for x, fill, said in ((200, READING, "makes a batch"), (356, BLUE, "busy"), (456, "", "waits for data")):
        look = {} if fill else {"hatch": "////", "edgecolor": VERMILLION}
        cell(ax, x, 338, 30, 22, "", fill or "white", **look)
        text(ax, x + 38, 349, said, SMALL, ha="left")
    return ax


def at_time(ms: float) -> float:
    return 200 + 1.72 * ms


def lane_of(ax, y, name, spans, fill, colour):
    text(ax, 190, y + 12, name, SMALL, ha="right")
    for batch, start, end in spans:
        if start < UNTIL:
            until = min(end, UNTIL)
            label = str(batch) if until == end else ""
            width = at_time(until) - at_time(start)
            cell(ax, at_time(start), y, width, 24, label, fill, color=colour, zorder=2)


def waits_of(ax, y, steps):
    """Hatch the time between two steps: the accelerator waits for data."""
    ends = [steps[0][2], *(end for *_, end in steps[1:])]
    for (_, start, _), before in zip(steps[1:], ends, strict=False):
        if start > before and before < UNTIL:
            width = at_time(min(start, UNTIL)) - at_time(before)
            cell(ax, at_time(before), y, width, 24, "", "white", hatch="////", edgecolor=VERMILLION, linewidth=0.6)


# What a batch of rank 3 and a step take, in milliseconds; the batches of rank 0 are made in time
SLOW, A_STEP = 50, 40


def who_waits():
    ax = page(720, 214)
    unit, left, period = 3.9, 86, max(SLOW, A_STEP)
    for rank, y in ((0, 40), (3, 104)):
        text(ax, 12, y + 19, f"rank {rank}", TEXT, ha="left", fontweight="bold")
    for k in range(3):
        x, wait = left + (period * unit + 10) * k, (period - A_STEP) * unit
        busy_part = A_STEP * unit
        cell(ax, x, 40, busy_part, 38, f"step {k}", BLUE, size=TEXT, color="white")
        cell(ax, x + busy_part, 40, wait, 38, "", FAINT, edgecolor=GREY, linewidth=0.8)
        cell(ax, x, 104, wait, 38, "", "white", hatch="////", edgecolor=VERMILLION, linewidth=0.8)
        cell(ax, x + wait, 104, busy_part, 38, f"step {k}", BLUE, size=TEXT, color="white")
        end = x + busy_part + wait
        cell(ax, end, 34, 10, 114, "", ALL_REDUCE, zorder=0)
        text(ax, min(end + 5, 672), 17, "all-reduce", SMALL)
    cell(ax, 86, 178, 34, 22, "", FAINT, edgecolor=GREY, linewidth=0.8)
    text(ax, 130, 189, "waits for others", SMALL, ha="left")
    cell(ax, 262, 178, 34, 22, "", "white", hatch="////", edgecolor=VERMILLION, linewidth=0.8)
    text(ax, 306, 189, f"waits for data: {SLOW} ms for a batch, {A_STEP} ms for a step", SMALL, ha="left")
    return ax


# An epoch of 24 samples in batches, begun on 4 ranks and ended on 3
SAMPLES, BEFORE, AFTER = 24, (4, 8), (3, 6)  # ranks, samples of a batch


def shares() -> list[tuple[int, int]]:
    """For each place in the order of the epoch the batch that takes it, and the rank."""
    places = []
    for batch, (world_size, size) in enumerate((BEFORE, *[AFTER] * 3)):
        start = len(places)
        places += [(batch, k % world_size) for k in range(min(size, SAMPLES - start))]
    return places


def other_ranks():
    ax = page(720, 250)
    left, size, y = 18, 28.5, 92
    places = shares()
    text(ax, left, 24, "the order of the epoch: from seed and epoch, the same on every rank", SMALL + 1, ha="left")
    for k, (_, rank) in enumerate(places):
        cell(ax, left + k * size, y, size, 40, str(rank), RANK_COLOURS[rank], size=TEXT)
    for batch in range(4):
        held = [k for k, (which, _) in enumerate(places) if which == batch]
        start, end = left + held[0] * size + 2, left + (held[-1] + 1) * size - 2
        line(ax, (start, y - 8), (start, y - 16), (end, y - 16), (end, y - 8), color=GREY)
        text(ax, (start + end) / 2, y - 30, f"batch {batch}", SMALL)
    stop = left + BEFORE[1] * size
    line(ax, (stop, y - 40), (stop, 172), color=MESSAGE, linewidth=2.4, zorder=4)
    text(ax, (left + stop) / 2, y + 58, "4 ranks", TEXT, fontweight="bold")
    text(ax, (stop + left + SAMPLES * size) / 2, y + 58, "3 ranks", TEXT, fontweight="bold")
    box(ax, stop - 118, 172, 236, 34, f"state: taken = {BEFORE[1]}", tint(MESSAGE, 0.88), edgecolor=MESSAGE)
    text(ax, 360, 230, "a number in a cell: the rank that takes this sample", SMALL, color=GREY)
    return ax


FIGURES = {
    "shards_dealt": shards_dealt,
    "shuffle_buffer": shuffle_buffer,
    "slowest_stage": slowest_stage,
    "prefetching": prefetching,
    "who_waits": who_waits,
    "other_ranks": other_ranks,
}

if __name__ == "__main__":
    save_all(FIGURES)
