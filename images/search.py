"""Searching for hyperparameters: two grids for a rate, a grid and random points, trials that do not depend on the
number of ranks, a manager and its workers, successive halving, the brackets of Hyperband, ASHA, and three sets of data.
"""

from __future__ import annotations

import itertools
import math
import random

from drawing import (
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
    circle,
    line,
    page,
    save_all,
    text,
    tint,
)

from labkit.palette import BLUE

SEED = 3676  # of random points that lie apart in the drawing
# Nine trials of two hyperparameters, each from 0 to 1. The first matters, the second does not.
GRID = tuple((x, y) for y in (1 / 6, 0.5, 5 / 6) for x in (1 / 6, 0.5, 5 / 6))


# A rate from 1e-5 to 1: six points with equal differences, and six with equal ratios
EXPONENTS = range(-5, 1)


def grids_for_a_rate() -> dict[str, list[float]]:
    return {"equal differences": [1e-5 + 0.2 * k for k in range(6)], "equal ratios": [10.0**k for k in EXPONENTS]}


def linear_and_log_grid():
    ax = page(720, 236)
    left, decade = 130, 108
    for y, (name, grid) in zip((66, 146), grids_for_a_rate().items(), strict=True):
        text(ax, 12, y, name.replace(" ", "\n"), TEXT, ha="left", fontweight="bold")
        line(ax, (left, y), (left + 5 * decade, y), color=GREY, linewidth=1.8)
        places = [left + decade * min(5, math.log10(rate) + 5) for rate in grid]
        for x in places:
            circle(ax, x, y, 7, fill=MESSAGE)
        if name == "equal ratios":
            for a, b in itertools.pairwise(places):
                arrow(ax, (a + 8, y - 10), (b - 8, y - 10), bend=-0.25, mutation_scale=11)
                text(ax, (a + b) / 2, y - 38, "× 10", SMALL)
    line(ax, (left, 190), (left + 5 * decade, 190))
    for k in EXPONENTS:
        x = left + decade * (k + 5)
        line(ax, (x, 186), (x, 194))
        text(ax, x, 206, f"{10.0**k:.{-k}f}", SMALL)
    text(ax, left + 2.5 * decade, 225, "learning rate", SMALL)
    text(ax, left + 2 * decade, 38, "no point in four orders of magnitude", SMALL)
    return ax


def random_trials(seed: int = SEED) -> list[tuple[float, float]]:
    draws = random.Random(seed)
    return [(draws.random(), draws.random()) for _ in GRID]


def quality(x: float) -> float:
    """The quality of a value of the hyperparameter that matters, from 0 to 1: a narrow hill on a gentle slope."""
    return 0.15 + 0.12 * x + 0.7 * math.exp(-(((x - 0.7) / 0.075) ** 2))


def grid_and_random():
    ax = page(720, 400)
    for k, (title, trials) in enumerate((("grid", GRID), ("random", random_trials()))):
        left, top, size = 84 + 350 * k, 138, 220
        values = sorted({x for x, _ in trials})
        text(ax, left + size / 2, 18, f"{title}: {len(trials)} trials", TEXT, fontweight="bold")
        best = max(values, key=quality)
        hill = [(left + size * i / 100, top - 16 - 72 * quality(i / 100)) for i in range(101)]
        line(ax, *hill, color=GREY, linewidth=1.8)
        box(ax, left, top, size, size, round=1)
        for x, y in trials:
            is_best = x == best
            at = left + size * x
            line(ax, (at, top + size * y), (at, top - 16 - 72 * quality(x)), color=FAINT, linewidth=1, zorder=1)
            circle(ax, at, top + size * y, 6, fill=MESSAGE if is_best else "white")
        for x in values:
            circle(ax, left + size * x, top - 16 - 72 * quality(x), 4.5, fill=MESSAGE if x == best else INK, zorder=4)
        text(ax, left + size * best + 8, top - 30 - 72 * quality(best), "best", SMALL, ha="left", color=MESSAGE)
        text(ax, left + size / 2, top + size + 18, f"the one that matters: {len(values)} values", SMALL)
        text(ax, left - 16, top + size / 2, "the other one", SMALL, rotation=90)
        text(ax, left - 16, top - 62, "quality", SMALL, rotation=90)
    return ax


# Eight configurations on two and on four ranks
TRIALS = 8


def trials_of(rank: int, world_size: int) -> list[int]:
    return list(range(rank, TRIALS, world_size))


def same_trials():
    ax = page(720, 330)
    size = 52
    text(ax, 12, 31, "8 configurations", TEXT, ha="left")
    for i in range(TRIALS):
        cell(ax, 190 + 64 * i, 12, size, 38, f"c{i}", tint(GREY, 0.88), size=TEXT)
    for top, world_size in ((84, 2), (184, 4)):
        text(ax, 12, top + 38, f"{world_size} ranks", TEXT, ha="left", fontweight="bold")
        wide = 508 / world_size - 8
        for rank in range(world_size):
            left = 190 + rank * (wide + 8)
            height = 76 if world_size == 2 else 122
            box(ax, left, top, wide, height, round=8, linewidth=1.5)
            text(ax, left + wide / 2, top + 16, f"rank {rank}", SMALL)
            for k, i in enumerate(trials_of(rank, world_size)):
                x = left + (wide - 4 * 56) / 2 + 56 * k if world_size == 2 else left + (wide - size) / 2
                y = top + 30 if world_size == 2 else top + 28 + 46 * k
                cell(ax, x + 2, y, size, 38, f"c{i}", RANK_COLOURS[rank], size=TEXT)
    return ax


# A manager and three workers: seconds that each job takes
JOBS = (5, 2, 3, 2, 4, 2, 1.5)
ON = 3


def handed_out() -> list[tuple[int, int, float, float]]:
    """(job, worker, from, to): whoever is idle first gets the next job."""
    idle = {worker: 0.0 for worker in range(1, ON + 1)}
    spans = []
    for job, seconds in enumerate(JOBS):
        worker = min(idle, key=lambda one: (idle[one], one))
        spans.append((job, worker, idle[worker], idle[worker] + seconds))
        idle[worker] += seconds
    return spans


def manager_and_workers():
    ax = page(720, 330)
    left, unit, y_of = 112, 75, [36, 124, 190, 256]
    for rank, y in enumerate(y_of):
        text(ax, 12, y, f"rank {rank}" if rank else "rank 0\nmanager", TEXT, ha="left", fontweight="bold")
    spans = handed_out()
    end = max(until for *_, until in spans)
    bottom = y_of[0] + 20
    says = "whoever has sent a result gets the next job"
    cell(ax, left, bottom - 40, 594, 40, says, tint(GREY, 0.88), size=TEXT)
    for job, worker, start, until in spans:
        y, x = y_of[worker] - 19, left + unit * start
        cell(ax, x + 4, y, unit * (until - start) - 8, 38, f"job {job}", RANK_COLOURS[worker], size=TEXT)
        begins, result = x + 10 + 11 * (worker - 1), left + unit * until - 9
        arrow(ax, (begins, bottom), (begins, y), mutation_scale=11, zorder=0.5)
        line(ax, (result, y), (result, bottom + 8), color=MESSAGE, linestyle="--", linewidth=1.6, zorder=0.4)
        arrow(ax, (result, bottom + 10), (result, bottom), color=MESSAGE, mutation_scale=11, zorder=0.5)
    for worker in range(1, ON + 1):
        x = left + unit * end + 8 + 11 * (worker - 1)
        arrow(ax, (x, bottom), (x, y_of[worker] - 12), mutation_scale=11, zorder=0.5)
        text(
            ax, 712, y_of[worker], "stop", SMALL, ha="right", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}
        )
    text(ax, left, 310, "down: a job (or stop)      up, dashed: its result", SMALL, ha="left")
    return ax


# Successive halving and the brackets of Hyperband: (configurations, epochs) of each rung
R, ETA = 9, 3


def brackets() -> list[list[tuple[int, int]]]:
    s_max = 0
    while ETA ** (s_max + 1) <= R:
        s_max += 1
    found = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * ETA**s
        found.append([(n // ETA**i, R // ETA ** (s - i)) for i in range(s + 1)])
    return found


def epochs_of(rungs: list[tuple[int, int]]) -> int:
    """Epochs that a bracket trains if each configuration goes on where it was."""
    before = [0, *[epochs for _, epochs in rungs]]
    return sum(n * (epochs - before[k]) for k, (n, epochs) in enumerate(rungs))


def bars(ax, left, top, rungs, unit, row, shades=(0.72, 0.45, 0.1)):
    """A bar for each configuration, as long as its epochs; the best are above."""
    before = 0
    for rung, (n, epochs) in enumerate(rungs):
        shade = tint(BLUE, shades[3 - len(rungs) + rung] if len(rungs) < 3 else shades[rung])
        for k in range(n):
            cell(ax, left + unit * before, top + row * k, unit * (epochs - before), row - 6, "", shade)
        before = epochs


def successive_halving():
    ax = page(720, 352)
    rungs = brackets()[0]
    left, top, unit, row = 140, 66, 60, 27
    bars(ax, left, top, rungs, unit, row)
    text(ax, left - 10, 20, "epochs", SMALL, ha="right", color=MESSAGE)
    for n, epochs in rungs:
        x = left + unit * epochs
        line(ax, (x, 36), (x, top + n * row), color=MESSAGE, linestyle="--")
        text(ax, x, 20, f"{epochs}", TEXT, color=MESSAGE, fontweight="bold")
    text(ax, 12, top + 4.5 * row - 3, "9 configu-\nrations", TEXT, ha="left")
    kept = [n for n, _ in rungs]
    text(
        ax, left + 3 * unit + 16, top + 2 * row - 3, f"{kept[1] - kept[2]} are dropped after 3 epochs", TEXT, ha="left"
    )
    text(ax, left + unit + 16, top + 6 * row - 3, f"{kept[0] - kept[1]} are dropped after 1 epoch", TEXT, ha="left")
    said = f"together {epochs_of(rungs)} epochs; all to the end would be {kept[0] * R}"
    text(ax, 360, 332, said, TEXT)
    return ax


def hyperband():
    ax = page(720, 330)
    for k, rungs in enumerate(brackets()):
        left = 24 + 236 * k
        s = len(rungs) - 1
        first = rungs[0]
        text(ax, left + 99, 18, f"s = {s}", TEXT, fontweight="bold")
        text(ax, left + 99, 42, f"{first[0]} begin, first cut" if s else f"{first[0]} begin, no cut", SMALL)
        text(ax, left + 99, 60, f"at {first[1]} epoch{'s' * (first[1] > 1)}" if s else "all to 9 epochs", SMALL)
        bars(ax, left, 80, rungs, 22, 22)
        line(ax, (left, 280), (left + 198, 280))
        for _, epochs in rungs:
            line(ax, (left + 22 * epochs, 280), (left + 22 * epochs, 286))
            text(ax, left + 22 * epochs, 298, str(epochs), SMALL)
        text(ax, left + 99, 318, f"{epochs_of(rungs)} epochs trained", SMALL)
        if k:
            line(ax, (left - 20, 10), (left - 20, 322), color=FAINT)
    return ax


# ASHA: the losses of rung 0, the trials started on rung 1, and one that still runs on rung 0
LOSSES, STARTED, RUNNING = (0.9, 0.4, 0.7, 0.2, 0.8, 0.6), (3,), 6


def may_go_up() -> list[int]:
    """The best 1 / ETA of those that have finished, the best first."""
    return sorted(range(len(LOSSES)), key=lambda i: LOSSES[i])[: len(LOSSES) // ETA]


def asha():
    ax = page(720, 290)
    left, unit, best = 116, 86, may_go_up()
    for y, rung in ((216, 0), (62, 1)):
        text(ax, 12, y, f"rung {rung}", TEXT, ha="left", fontweight="bold")
    for i, loss in enumerate(LOSSES):
        fill = tint(BLUE, 0.45) if i in best else "white"
        box(ax, left + unit * i, 186, unit - 14, 60, f"c{i}\n{loss}", fill, size=TEXT)
    x = left + unit * RUNNING
    box(ax, x, 186, unit - 14, 60, f"c{RUNNING}\nruns", "white", linestyle=(0, (3, 3)), size=TEXT)
    for i in best:
        x, there = left + unit * i, i in STARTED
        look = {} if there else {"linestyle": (0, (3, 3))}
        box(ax, x, 32, unit - 14, 60, f"c{i}\nruns" if there else f"c{i}", tint(BLUE, 0.45), size=TEXT, **look)
        arrow(ax, (x + 36, 184), (x + 36, 94), color=INK if there else MESSAGE)
        if not there:
            text(ax, x + 46, 139, "next: (1, 1)", TEXT, ha="left", color=MESSAGE, fontweight="bold")
    many = len(LOSSES)
    said = f"{many} have finished rung 0, with these losses: the best {many} // {ETA} = {len(best)} may go up"
    text(ax, 360, 272, said, SMALL)
    return ax


def three_sets():
    ax = page(720, 240)
    names = ("training set", "validation set", "test set")
    done = ("40 networks\nlearn", "one of them\nis chosen", "its error\nis reported")
    for k, (name, does) in enumerate(zip(names, done, strict=True)):
        x = 16 + 244 * k
        box(ax, x, 18, 200, 46, name, tint(GREY, 0.85), size=TEXT + 1)
        arrow(ax, (x + 100, 64), (x + 100, 146))
        box(ax, x, 148, 200, 60, does)
        if k:
            arrow(ax, (x - 44, 178), (x - 2, 178))
    arrow(ax, (540, 66), (430, 146), color=VERMILLION, linestyle="--")
    for way in (-1, 1):
        line(ax, (476, 106 - 9 * way), (494, 106 + 9 * way), color=VERMILLION, linewidth=2.6, zorder=4)
    text(ax, 510, 122, "never", SMALL, ha="left", color=MESSAGE)
    return ax


FIGURES = {
    "linear_and_log_grid": linear_and_log_grid,
    "grid_and_random": grid_and_random,
    "same_trials": same_trials,
    "manager_and_workers": manager_and_workers,
    "successive_halving": successive_halving,
    "hyperband": hyperband,
    "asha": asha,
    "three_sets": three_sets,
}

if __name__ == "__main__":
    save_all(FIGURES)
