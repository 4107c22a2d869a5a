"""Strong and weak scaling, Amdahl's law, and where the time of a data-parallel step goes."""

from __future__ import annotations

from drawing import (
    ALL_REDUCE,
    BACKWARD,
    FAINT,
    FORWARD,
    GREY,
    INK,
    OPTIMIZER,
    RANK_COLOURS,
    SMALL,
    TEXT,
    arrow,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)

from labkit.scaling import amdahl

SERIAL, PARALLEL = 2, 8  # seconds on one rank
COMPUTE, REDUCE, STEP = (6, 9, 7.5, 6.6), 3, 1  # units of time: computation of four ranks, all-reduce, optimizer step
HIDDEN, RING = 2 / 3, 5.0  # part of the computation behind which communication can hide; time of the ring
LARGE_SHARE, SMALL_SHARE = 9.0, 3.0  # computation of a step


def images_per_rank(kind: str, ranks: int) -> int:
    """Strong: 8 images on all ranks together. Weak: 4 images on each rank."""
    return 8 // ranks if kind == "strong" else 4


def amdahl_seconds(ranks: int) -> float:
    return SERIAL + PARALLEL / ranks


def waiting() -> list[float]:
    """For each rank, the time that it waits for the slowest one."""
    return [max(COMPUTE) - own for own in COMPUTE]


def step_seconds(computation: float) -> float:
    return computation + max(0.0, RING - HIDDEN * computation)


def draw_scaling(ax, left, title, kind):
    text(ax, left, 20, title, TEXT, ha="left", fontweight="bold")
    top = 50
    for ranks in (1, 2, 4):
        own = images_per_rank(kind, ranks)
        each = "" if ranks == 1 else f", {own} each"
        name = "1 rank" if ranks == 1 else f"{ranks} ranks"
        text(ax, left, top, f"{name}: {own * ranks} images{each}", SMALL + 1, ha="left")
        for rank in range(ranks):
            for i in range(own):
                cell(ax, left + i * 36, top + 13 + rank * 18, 36, 18, "", RANK_COLOURS[rank])
        top += 36 + ranks * 18 + 6
    arrow(ax, (left, 302), (left + 286, 302), color=GREY)
    text(ax, left + 294, 302, "time", SMALL, ha="left", color=GREY)


def strong_weak_scaling():
    ax = page(720, 322)
    draw_scaling(ax, 14, "strong: the global batch stays", "strong")
    draw_scaling(ax, 380, "weak: the local batch stays", "weak")
    line(ax, (362, 10), (362, 286), color=FAINT)
    return ax


def amdahl_bars():
    ax = page(720, 330)
    left, scale, lane = 92, 44, 11
    serial_fill, parallel_fill = tint(GREY, 0.25), tint(GREY, 0.78)
    text(ax, left + scale * SERIAL / 2, 18, "serial", TEXT, fontweight="bold")
    text(ax, left + scale * (SERIAL + PARALLEL / 2), 18, "parallel", TEXT, fontweight="bold")
    text(ax, 654, 18, "speedup", TEXT, fontweight="bold")
    top = 38
    for ranks in (1, 2, 4, 8):
        middle = top + lane * max(ranks, 2) / 2
        start = middle - lane * ranks / 2
        text(ax, 12, middle, f"p = {ranks}", TEXT, ha="left", fontweight="bold")
        for rank in range(ranks):
            y = start + rank * lane
            fill = serial_fill if rank == 0 else "white"
            look = {"edgecolor": INK, "zorder": 2} if rank == 0 else {"edgecolor": FAINT}
            cell(ax, left, y, scale * SERIAL, lane, "", fill, **look)
            cell(ax, left + scale * SERIAL, y, scale * PARALLEL / ranks, lane, "", parallel_fill)
        seconds = amdahl_seconds(ranks)
        text(ax, left + scale * seconds + 12, middle, f"{seconds:g} s", TEXT, ha="left")
        text(ax, 654, middle, f"{amdahl(SERIAL / (SERIAL + PARALLEL), ranks):.3g}", TEXT)
        top += lane * max(ranks, 2) + 20
    text(
        ax,
        left + scale * SERIAL / 2,
        middle + lane / 2,
        "idle",
        SMALL + 1,
        color=GREY,
        zorder=4,
        backgroundcolor="white",
    )
    line(ax, (left + scale * SERIAL, 30), (left + scale * SERIAL, 296), linestyle="--", color=INK, zorder=5)
    text(ax, left, 314, "No number of ranks gets below 2 s: the speedup stays below 5.", SMALL + 1, ha="left")
    return ax


def draw_pass(ax, x, y, computation, scale, height=34):
    """Forward and backward pass, the backward pass twice as long; returns where they end."""
    forward = scale * computation * (1 - HIDDEN)
    cell(ax, x, y, forward, height, "F", FORWARD, size=TEXT)
    cell(ax, x + forward, y, scale * computation * HIDDEN, height, "B", BACKWARD, size=TEXT)
    return x + scale * computation


def step_waiting():
    ax = page(720, 268)
    left, scale = 84, 47
    meet = left + scale * max(COMPUTE)
    for rank, own in enumerate(COMPUTE):
        y = 44 + rank * 44
        text(ax, 10, y + 17, f"rank {rank}", TEXT, ha="left", fontweight="bold")
        end = draw_pass(ax, left, y, own, scale)
        if end < meet:
            cell(ax, end, y, meet - end, 34, "wait", "white", size=SMALL + 1, linestyle="--", edgecolor=GREY)
        cell(ax, meet, y, scale * REDUCE, 34, "all-reduce", ALL_REDUCE, size=SMALL + 1)
        cell(ax, meet + scale * REDUCE, y, scale * STEP, 34, "step", OPTIMIZER, size=SMALL + 1)
    line(ax, (meet, 36), (meet, 222), linewidth=2, zorder=5)
    text(ax, meet, 20, "all ranks are there", SMALL + 1)
    arrow(ax, (left, 240), (left + scale * 13, 240), color=GREY)
    text(ax, 10, 240, "time", SMALL, ha="left", color=GREY)
    return ax


def hidden_communication():
    ax = page(720, 326)
    left, scale = 100, 58
    for top, title, computation in ((46, "large share", LARGE_SHARE), (208, "small share", SMALL_SHARE)):
        says = f"{title}: computation {computation:g}, all-reduce {RING:g}"
        text(ax, left, top - 22, says, TEXT, ha="left", fontweight="bold")
        for y, name in ((top, "compute"), (top + 46, "network")):
            text(ax, left - 10, y + 17, name, SMALL + 1, ha="right")
        compute_end = draw_pass(ax, left, top, computation, scale)
        begin = left + scale * computation * (1 - HIDDEN)
        sticking = step_seconds(computation) - computation
        cell(ax, begin, top + 46, scale * (RING - sticking), 34, "all-reduce", ALL_REDUCE, size=TEXT)
        if sticking:
            says = f"sticks out: {sticking:g}"
            cell(ax, compute_end, top + 46, scale * sticking, 34, says, ALL_REDUCE, size=TEXT, linewidth=2.6, zorder=3)
        end = left + scale * step_seconds(computation)
        arrow(ax, (left, top + 98), (end, top + 98), both=True)
        text(ax, end + 8, top + 98, f"t = {step_seconds(computation):g}", TEXT, ha="left", fontweight="bold")
        line(ax, (compute_end, top - 8), (compute_end, top + 98), linestyle=":", color=GREY, zorder=0.5)
    return ax


FIGURES = {
    "strong_weak_scaling": strong_weak_scaling,
    "amdahl_bars": amdahl_bars,
    "step_waiting": step_waiting,
    "hidden_communication": hidden_communication,
}

if __name__ == "__main__":
    save_all(FIGURES)
