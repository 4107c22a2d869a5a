"""Faults and what they leave: a file killed while it is written, fewer ranks than before, a death in the middle
of a sum, a rank that all wait for, and the time that checkpoints save and cost.
"""

from __future__ import annotations

import math

from drawing import (
    ALL_REDUCE,
    FAINT,
    GREY,
    INK,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    SUM,
    TEXT,
    arrow,
    cell,
    circle,
    line,
    page,
    save_all,
    text,
    tint,
)
from matplotlib.axes import Axes

OLD, CHECKPOINT = tint(GREY, 0.7), tint(MESSAGE, 0.6)


def crashes() -> list[tuple[str, list[tuple[str, str, str, bool]]]]:
    """For both ways to save: (call, what is under the name, what is in the other file, whether its bytes are on the
    disk) after each call. A crash leaves what stands there.
    """
    in_place = [
        ("before", "old", "", True),
        ("open", "empty", "", False),
        ("write", "half", "", False),
        ("close", "new", "", False),
    ]
    whole = [
        ("before", "old", "", True),
        ("open", "old", "empty", False),
        ("write", "old", "half", False),
        ("flush", "old", "new", False),
        ("fsync", "old", "new", True),
        ("replace", "new", "", True),
    ]
    return [("in place", in_place), ("another file, then the name", whole)]


def file(ax: Axes, x: float, y: float, state: str, sure: bool) -> None:
    """A file as a box filled as far as it is written; dashed while its bytes may be only in memory."""
    width, height = 74, 34
    if not state:
        return
    part = {"old": 1.0, "empty": 0.0, "half": 0.5, "new": 1.0}[state]
    cell(ax, x, y, width * part, height, "", OLD if state == "old" else CHECKPOINT, linewidth=0)
    style = "-" if sure or state == "old" else (0, (3, 2))
    cell(ax, x, y, width, height, state, "none", size=SMALL + 1, linestyle=style, linewidth=1.5, zorder=2)


def crash_at_each_moment() -> Axes:
    ax = page(720, 408)
    first, pitch = 138, 97
    for top, (title, moments) in zip((8, 178), crashes(), strict=True):
        text(ax, 8, top + 8, title, TEXT, ha="left", fontweight="bold")
        text(ax, 8, top + 40, "killed", SMALL, ha="left", color=GREY)
        text(ax, 8, top + 73, "checkpoint", SMALL, ha="left")
        other = any(state for _, _, state, _ in moments)
        for k, (call, named, beside, sure) in enumerate(moments):
            x = first + k * pitch
            word = {"before": "before", "write": "in write"}.get(call, f"after {call}")
            text(ax, x + 37, top + 40, word, SMALL, color=GREY)
            file(ax, x, top + 56, named, sure)
            file(ax, x, top + 100, beside, sure)
            good = named in ("old", "new")
            y = top + (150 if other else 108)
            text(ax, x + 37, y, "whole" if good else "lost", SMALL, color=INK if good else MESSAGE,
                 fontweight="normal" if good else "bold")  # fmt: skip
        if other:
            text(ax, 8, top + 117, "checkpoint.new", SMALL, ha="left")
            arrow(ax, (first + 4 * pitch + 70, top + 98), (first + 5 * pitch + 4, top + 80), linewidth=2.2)
        text(ax, 8, y, "under the name", SMALL, ha="left")
    line(ax, (8, 150), (712, 150), color=FAINT)
    text(ax, 8, 364, "dashed: perhaps only in memory; a power cut may destroy these bytes.", SMALL, ha="left")
    text(ax, 8, 388, "The name changes last, when the bytes are on the disk.", SMALL, ha="left")
    return ax


SAMPLES, PER_RANK, BEFORE, AFTER, NUMBERS = 24, 2, 4, 3, 12


def samples() -> list[list[int]]:
    """The rank of each sample, step by step: the first step on BEFORE ranks, the others on AFTER."""
    batch = PER_RANK * BEFORE
    return [[i % (AFTER if step else BEFORE) for i in range(batch)] for step in range(SAMPLES // batch)]


def owners(ranks: int) -> list[int]:
    """The rank of each of the NUMBERS, divided in order, the first with one more where there is a rest."""
    return [r for r in range(ranks) for _ in range(NUMBERS // ranks + (r < NUMBERS % ranks))]


def samples_on_fewer_ranks() -> Axes:
    ax = page(720, 148)
    left, size = 76, 26
    text(
        ax,
        8,
        16,
        "samples of an epoch, in their order, and the rank that takes each",
        TEXT,
        ha="left",
        fontweight="bold",
    )
    for step, ranks in enumerate(samples()):
        x = left + step * len(ranks) * size + 4 * step
        text(ax, x + len(ranks) * size / 2, 44, f"step {step}", SMALL)
        for i, rank in enumerate(ranks):
            cell(ax, x + i * size, 58, size, 28, str(rank), RANK_COLOURS[rank])
        shares = sorted({ranks.count(rank) for rank in ranks}, reverse=True)
        words = f"{len(set(ranks))} ranks, {' or '.join(map(str, shares))} each"
        text(ax, x + len(ranks) * size / 2, 102, words, SMALL)
    text(ax, 68, 72, "rank", SMALL, ha="right")
    cut = left + PER_RANK * BEFORE * size + 2
    line(ax, (cut, 36), (cut, 128), color=MESSAGE, linewidth=2.2, linestyle=(0, (4, 2)))
    text(ax, cut + 6, 128, "one rank fewer: the minibatch stays 8", SMALL, ha="left", color=MESSAGE)
    return ax


def shards_on_fewer_ranks() -> Axes:
    ax = page(720, 234)
    left, size, top = 76, 52, 28
    text(
        ax, 8, top - 12, "numbers of a sharded state, and the rank that holds each", TEXT, ha="left", fontweight="bold"
    )
    old, new = owners(BEFORE), owners(AFTER)
    for y, ranks in ((top + 30, old), (top + 122, new)):
        for i, rank in enumerate(ranks):
            cell(ax, left + i * size, y, size, 28, str(i), RANK_COLOURS[rank])
        for rank in set(ranks):
            middle = left + (ranks.index(rank) + ranks.count(rank) / 2) * size
            text(ax, middle, y - 11 if ranks is old else y + 42, f"rank {rank}", SMALL)
    for i, (a, b) in enumerate(zip(old, new, strict=True)):
        x = left + (i + 0.5) * size
        look = {"color": GREY, "linewidth": 1.0} if a == b else {"color": MESSAGE, "linewidth": 2.8}
        arrow(ax, (x, top + 60), (x, top + 120), **look)
    moved = sum(a != b for a, b in zip(old, new, strict=True))
    text(ax, 8, top + 44, "before", SMALL, ha="left")
    text(ax, 8, top + 136, "after", SMALL, ha="left")
    text(ax, 388, top + 194, f"thick arrows: the {moved} numbers that are sent; the others stay on their rank", SMALL)
    return ax


SHARDS = "abcdefghijkl"


def dealt(alive: list[int]) -> list[int]:
    """The rank that computes each shard."""
    return [alive[shard % len(alive)] for shard in range(len(SHARDS))]


def tables(ax: Axes, left: float, alive: list[int], title: str) -> None:
    """One table for each rank that is alive, with zeros in the rows of others, and their sum."""
    width, height, top, pitch = 40, 20, 74, 56
    total = left + len(alive) * pitch + 12
    text(ax, (left + total + width) / 2, 16, title, TEXT, fontweight="bold")
    for k, rank in enumerate(alive):
        x = left + k * pitch
        text(ax, x + width / 2, 56, f"rank {rank}", SMALL)
        for row, (shard, owner) in enumerate(zip(SHARDS, dealt(alive), strict=True)):
            mine = owner == rank
            look = {} if mine else {"color": GREY, "edgecolor": FAINT, "zorder": 0.5}
            label, fill = (shard, RANK_COLOURS[rank]) if mine else ("0", "white")
            cell(ax, x, top + row * height, width, height, label, fill, **look)
        text(ax, x + 48, top + 6 * height, "+" if rank != alive[-1] else "", TEXT)
    text(ax, total - 14, top + 6 * height, "=", TEXT)
    text(ax, total + width / 2, 56, "sum", SMALL)
    for row, shard in enumerate(SHARDS):
        cell(ax, total, top + row * height, width, height, shard, SUM)


def survivors() -> Axes:
    ax = page(720, 396)
    tables(ax, 30, [0, 1, 2, 3], "four ranks, 3 shards each")
    tables(ax, 440, [0, 1, 3], "rank 2 is dead: 4 shards each")
    arrow(ax, (344, 194), (424, 194), linewidth=2.5, color=MESSAGE)
    text(ax, 384, 178, "a death", SMALL, color=MESSAGE)
    text(ax, 360, 338, "all-reduce: each row has one summand that is not zero, so nothing is rounded.", SMALL)
    text(ax, 360, 362, "Then every rank adds the rows up in the order a to l: the same bits on both sides.", SMALL)
    return ax


TOLD, TAKEN = 2, 3  # the rank that gets the signal, in the last step that all take
LANE, STEP, SUMS, FLAG = 26, 84, 28, 26  # pixels


def flags(step: int) -> list[int]:
    """For each rank, 1 if it was told to stop before a step."""
    return [int(rank == TOLD and step == TAKEN) for rank in range(4)]


def steps_together(ax: Axes, top: float, title: str, asks: bool) -> float:
    """The steps that all ranks take, each with its all-reduce, and, if they ask, the flags before every step."""
    text(ax, 70, top - 52, title, TEXT, ha="left", fontweight="bold")
    x = 70.0
    for rank in range(4):
        text(ax, x - 8, top + LANE * rank + 12, f"rank {rank}", SMALL, ha="right")
    for step in range(TAKEN):
        x += asked(ax, x, top, step) if asks else 0
        if step == TAKEN - 1:
            text(ax, x + STEP / 2, top - 28, f"signal to rank {TOLD}", SMALL, color=MESSAGE)
            arrow(ax, (x + 10, top - 18), (x + 10, top + LANE * TOLD), color=MESSAGE, linewidth=2)
        for rank in range(4):
            cell(ax, x, top + LANE * rank, STEP, 24, f"step {step}")
        cell(ax, x + STEP, top, SUMS, 4 * LANE - 2, "", ALL_REDUCE)
        text(ax, x + STEP + SUMS / 2, top + 2 * LANE - 1, "all-reduce", SMALL, rotation=90)
        x += STEP + SUMS + 8
    return x


def asked(ax: Axes, x: float, top: float, step: int) -> float:
    """The flags of the ranks before a step, and their maximum below; the width of that."""
    for rank, flag in enumerate(flags(step)):
        fill = tint(MESSAGE, 0.6) if flag else "white"
        cell(ax, x, top + LANE * rank, FLAG, 24, str(flag), fill, linestyle="-" if flag else (0, (2, 2)))
    circle(ax, x + FLAG / 2, top + 4 * LANE + 16, 12, str(max(flags(step))), tint(MESSAGE, 0.6 if step == TAKEN else 1))
    return FLAG + 6


def stop_together() -> Axes:
    ax = page(720, 422)
    top = 66
    x = steps_together(ax, top, "one rank leaves", asks=False)
    for rank in range(4):
        y = top + LANE * rank
        if rank == TOLD:
            text(ax, x + 4, y + 12, "has left", SMALL, ha="left", color=MESSAGE, fontweight="bold")
            continue
        cell(ax, x, y, STEP, 24, f"step {TAKEN}")
        cell(ax, x + STEP, y, 708 - x - STEP, 24, edgecolor=tint(GREY, 0.3), hatch="////", linewidth=0.9)
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        text(ax, (x + STEP + 708) / 2, y + 12, "waits for rank 2", SMALL, bbox=white)
    top = 256
    x = steps_together(ax, top, "all ask before every step", asks=True)
    x += asked(ax, x, top, TAKEN)
    text(ax, x + 6, top + 2 * LANE, f"all leave\nafter {TAKEN} steps", SMALL + 1, ha="left", fontweight="bold")
    text(ax, 62, top + 4 * LANE + 16, "max", SMALL, ha="right")
    text(ax, 70, 406, "0 or 1: was this rank told to stop?   circle: the maximum, by an all-reduce", SMALL, ha="left")
    return ax


TIMES = [40.0, 41.0, 39.5, 40.5, 40.2, 60.0]  # milliseconds of six ranks; the last is slow
MANY = 3  # deviations, or spreads


def median(values: list[float]) -> float:
    inorder = sorted(values)
    return (inorder[(len(inorder) - 1) // 2] + inorder[len(inorder) // 2]) / 2


def limits() -> list[tuple[str, float, float]]:
    """(what, centre, limit above which a rank is slow), by mean and deviation and by median and spread."""
    mean = sum(TIMES) / len(TIMES)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in TIMES) / len(TIMES))
    middle = median(TIMES)
    spread = 1.4826 * median([abs(x - middle) for x in TIMES])
    return [("mean", mean, mean + MANY * deviation), ("median", middle, middle + MANY * spread)]


def median_and_mad() -> Axes:
    ax = page(720, 262)

    def at(ms: float) -> float:
        return 40 + (ms - 36) * 20.5

    words = {"mean": "standard deviations", "median": "spreads (1.4826 MAD)"}
    for y, (what, centre, limit) in zip((72, 184), limits(), strict=True):
        title = f"{what}, and {MANY} {words[what]} above it"
        text(ax, 40, y - 56, title, TEXT, ha="left", fontweight="bold")
        cell(ax, at(centre), y - 20, at(limit) - at(centre), 40, "", tint(GREY, 0.85), linewidth=0, zorder=0)
        line(ax, (at(36), y), (at(68.5), y), color=GREY)
        line(ax, (at(centre), y - 26), (at(centre), y + 20), linewidth=2.4)
        line(ax, (at(limit), y - 26), (at(limit), y + 20), linewidth=2.4, color=MESSAGE)
        text(ax, at(centre), y - 35, f"{centre:.1f}", SMALL)
        ha = "left" if limit - centre < 4 else "center"
        text(ax, at(limit) + (6 if ha == "left" else 0), y - 35, f"limit {limit:.1f}", SMALL, ha=ha, color=MESSAGE)
        for x in TIMES:
            circle(ax, at(x), y, 6, fill=tint(MESSAGE, 0.4) if x == max(TIMES) else "white")
        slow = max(TIMES) > limit
        text(ax, at(60), y + 30, "found" if slow else "slow, not found", SMALL)
    text(ax, 360, 244, "six ranks, milliseconds of a step; beyond the limit a rank counts as slow", SMALL)
    return ax


CALLED, ENDED = [40, 46, 74, 43], 92  # microseconds: when each rank calls the all-reduce, and its end


def blame() -> tuple[int, float, float]:
    """(the last rank to call, what it costs the others, what the network costs)."""
    inorder = sorted(CALLED)
    return CALLED.index(inorder[-1]), inorder[-1] - inorder[-2], ENDED - inorder[-1]


def waiting_for_one() -> Axes:
    ax = page(720, 268)
    left, unit, top = 76, 6.4, 32
    for rank, called in enumerate(CALLED):
        y = top + 38 * rank
        text(ax, left - 8, y + 15, f"rank {rank}", SMALL, ha="right")
        cell(ax, left, y, called * unit, 30, "computes")
        x, there = left + called * unit, left + max(CALLED) * unit
        if there > x:
            cell(ax, x, y, there - x, 30, edgecolor=tint(GREY, 0.3), hatch="////", linewidth=0.9)
            text(
                ax,
                (x + there) / 2,
                y + 15,
                "waits",
                SMALL,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )
        cell(ax, there, y, (ENDED - max(CALLED)) * unit, 30, "all-reduce", ALL_REDUCE)
    rank, lost, network = blame()
    inorder = sorted(CALLED)
    y = top + 4 * 38 + 16
    for start, end, words in (
        (inorder[-2], inorder[-1], f"rank {rank}: {lost} µs"),
        (inorder[-1], ENDED, f"network: {network} µs"),
    ):
        a, b = left + start * unit, left + end * unit
        for x in (a, b):
            line(ax, (x, top - 6), (x, y + 6), color=MESSAGE, linewidth=1.2, linestyle=(0, (3, 2)), zorder=5)
        arrow(ax, (a + 1, y), (b - 1, y), both=True, color=MESSAGE, linewidth=2)
        text(ax, (a + b) / 2, y + 20, words, SMALL + 1, color=MESSAGE)
    for called, words in ((inorder[-2], "second-to-last calls"), (inorder[-1], "last calls"), (ENDED, "all have it")):
        text(ax, left + called * unit, top - 18, words, SMALL, color=MESSAGE)
    text(ax, 360, 252, f"Rank {rank} waits least: it is the one that the others wait for.", SMALL)
    return ax


SAVE, MTBF = 60.0, 3 * 3600.0


def waste(interval: float) -> tuple[float, float]:
    """The cost of saves and of lost work, for each second of work."""
    return SAVE / interval, interval / (2 * MTBF)


def young() -> float:
    return math.sqrt(2 * SAVE * MTBF)


def one_failure(ax: Axes, top: float) -> None:
    """Intervals of work and saves, a failure in the middle of one, a restart, the same work again."""
    x, fail = 12, 12 + 2 * 154 + 65
    for _ in range(2):
        cell(ax, x, top, 130, 34, "work")
        cell(ax, x + 130, top, 24, 34, "S", CHECKPOINT)
        arrow(ax, (x + 1, top - 12), (x + 129, top - 12), both=True, linewidth=1.4)
        text(ax, x + 65, top - 26, "interval τ", SMALL)
        x += 154
    cell(ax, x, top, 65, 34, "", "white", edgecolor=tint(GREY, 0.2), hatch="////")
    text(ax, x + 32, top - 15, "lost", SMALL, color=MESSAGE, fontweight="bold")
    line(ax, (fail, top - 10), (fail, top + 44), linewidth=4)
    text(ax, fail, top + 58, "failure", SMALL, fontweight="bold")
    cell(ax, fail, top, 78, 34, "restart", tint(GREY, 0.75))
    cell(ax, fail + 78, top, 130, 34, "work again")
    cell(ax, fail + 208, top, 24, 34, "S", CHECKPOINT)
    text(ax, fail + 240, top + 17, "S: save", SMALL, ha="left")
    arrow(ax, (fail - 8, top + 40), (x + 2, top + 40), linewidth=1.4, color=MESSAGE)


def young_daly() -> Axes:
    ax = page(720, 396)
    one_failure(ax, 40)
    left, bottom, across, up = 72, 340, 590 / 4000, 170 / 0.25

    def at(interval: float, share: float) -> tuple[float, float]:
        return left + interval * across, bottom - share * up

    line(ax, at(0, 0.25), at(0, 0), at(4000, 0), color=GREY)
    for share in (0, 0.1, 0.2):
        line(ax, at(0, share), at(4000, share), color=FAINT, zorder=0)
        text(ax, left - 8, at(0, share)[1], f"{share:.0%}", SMALL, ha="right", color=GREY)
    for interval in range(0, 4001, 1000):
        text(ax, at(interval, 0)[0], bottom + 15, str(interval), SMALL, color=GREY)
    text(
        ax, left + 295, bottom + 38, f"interval τ in seconds; a save takes {SAVE:.0f} s, a failure every 3 hours", SMALL
    )
    text(ax, left, bottom - 184, "wasted, for each second of work", SMALL, ha="left", color=GREY)
    grid = [*range(260, 1200, 20), *range(1200, 4001, 100)]
    for style, width, share in (
        ((0, (4, 2)), 1.8, lambda t: waste(t)[0]),
        ((0, (1, 1.5)), 2.4, lambda t: waste(t)[1]),
        ("-", 2.6, lambda t: sum(waste(t))),
    ):
        line(ax, *[at(t, share(t)) for t in grid], linewidth=width, linestyle=style)
    line(ax, *[(x, at(0, 0.078)[1]) for x in (470, 504)], linewidth=2.4, linestyle=(0, (1, 1.5)))
    line(ax, *[(x, at(0, 0.032)[1]) for x in (514, 548)], linewidth=1.8, linestyle=(0, (4, 2)))
    text(ax, *at(3960, 0.032), "saves: save / τ", SMALL, ha="right")
    text(ax, *at(3960, 0.078), "lost work: τ / (2 mtbf)", SMALL, ha="right")
    text(ax, *at(3960, 0.225), "together", SMALL, ha="right", fontweight="bold")
    best, least = young(), sum(waste(young()))
    line(ax, at(best, 0), at(best, least), color=MESSAGE, linewidth=1.6, linestyle=(0, (3, 2)))
    circle(ax, *at(best, least), 6, fill=MESSAGE)
    text(ax, *at(1650, 0.187), f"Young: √(2 · save · mtbf) = {best:.0f} s", SMALL, color=MESSAGE)
    text(ax, *at(1650, 0.159), f"{least:.1%}; at half or twice τ {sum(waste(2 * best)):.1%}", SMALL, color=MESSAGE)
    return ax


FIGURES = {
    "checkpoint_crash": crash_at_each_moment,
    "samples_on_fewer_ranks": samples_on_fewer_ranks,
    "shards_on_fewer_ranks": shards_on_fewer_ranks,
    "survivors_shards": survivors,
    "stop_together": stop_together,
    "median_and_mad": median_and_mad,
    "young_daly": young_daly,
    "waiting_for_one": waiting_for_one,
}

if __name__ == "__main__":
    save_all(FIGURES)
