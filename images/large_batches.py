"""Effects of a larger batch: the noise of a gradient, how far one long step agrees with several short ones, the
learning rate over time, the steps that a goal takes, and the moments of a batch that lies on four ranks.
"""

from __future__ import annotations

import math

from drawing import (
    FAINT,
    GRADIENTS,
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

# The gradient's noise. Lengths in units of the true gradient's; batches in units of the noise scale S / |G|^2.
BATCHES = (0.25, 1, 16)


def noise(batch: float) -> float:
    """The distance of a batch's gradient from the true one, root mean square."""
    return 1 / math.sqrt(batch)


def ends(batch: float, many: int = 24) -> list[tuple[float, float]]:
    """Ends of gradients of such batches, spread evenly over a disc whose middle, (1, 0), is the end of the true one."""
    places = []
    for k in range(many):
        radius = noise(batch) * math.sqrt(2 * (k + 0.5) / many)
        angle = k * math.pi * (3 - math.sqrt(5))
        places.append((1 + radius * math.cos(angle), radius * math.sin(angle)))
    return places


def gradient_noise():
    ax = page(720, 366)
    titles = ("noise scale / 4", "noise scale", "noise scale × 16")
    says = ("mostly noise", "noise as long as G", "nearly G")
    unit, middle = 38, 172
    for k, (batch, title, said) in enumerate(zip(BATCHES, titles, says, strict=True)):
        left = 240 * k
        origin = (left + 82, middle)
        text(ax, left + 120, 16, "batch", SMALL, color=GREY)
        text(ax, left + 120, 38, title, TEXT, fontweight="bold")
        look = {"fill": tint(GREY, 0.88), "edgecolor": GREY, "linestyle": "--", "zorder": 0}
        circle(ax, origin[0] + unit, middle, noise(batch) * unit, **look)
        for x, y in ends(batch):
            end = (origin[0] + unit * x, middle + unit * y)
            line(ax, origin, end, color=GRADIENTS, linewidth=0.9, zorder=1)
            circle(ax, *end, 2.8, fill=GRADIENTS, linewidth=0.6, zorder=2)
        arrow(ax, origin, (origin[0] + unit, middle), linewidth=3, zorder=5)
        circle(ax, *origin, 4, fill=INK, zorder=5)
        text(ax, left + 120, 306, said, TEXT)
        if k:
            line(ax, (left, 10), (left, 322), color=FAINT)
    legend = "arrow: G, the true gradient; dots: gradients of one batch each; circle: their noise, √(S / B)"
    text(ax, 360, 348, legend, SMALL)
    return ax


# Short steps and one long one, on a parabola of each curvature: steps of the rate RATE, k of them, from 1
RATE, K = 1.0, 4
CURVATURES = (0.03, 0.55)


def short_steps(curvature: float) -> list[float]:
    """Places, as shares of the distance from the lowest point, after 0, 1, ... K short steps."""
    return [(1 - RATE * curvature) ** k for k in range(K + 1)]


def long_step(curvature: float) -> float:
    return 1 - K * RATE * curvature


def long_and_short_steps():
    ax = page(720, 324)
    titles = ("the slope hardly changes", "the slope changes within a step")
    says = ("one long step ends where 4 short ones do", "the long step jumps over: the loss grows")
    for k, (curvature, title, said) in enumerate(zip(CURVATURES, titles, says, strict=True)):
        left = 360 * k
        text(ax, left + 180, 20, title, TEXT, fontweight="bold")
        text(ax, left + 180, 304, said, SMALL + 1)
        draw_valley(ax, left, curvature, *((1.05, 0.84) if k == 0 else (1.35, -1.35)))
    line(ax, (360, 10), (360, 314), color=FAINT)
    return ax


def draw_valley(ax, left, curvature, high, low):
    """The loss between two places, left and right, with the steps on it."""
    squares = [high**2, 0.0 if low < 0 else low**2]

    def at(place):
        x = left + 40 + 280 * (high - place) / (high - low)
        return x, 262 - 196 * (place**2 - squares[1]) / (squares[0] - squares[1])

    line(ax, *(at(high + (low - high) * i / 60) for i in range(61)), color=GREY, linewidth=2, zorder=1)
    places = short_steps(curvature)
    far = at(long_step(curvature))
    gentle = curvature < 0.1
    end = (far[0] - 2, far[1] - 8) if gentle else (far[0] - 8, far[1] - 3)
    arrow(ax, at(1), end, bend=-0.35 if gentle else -0.25, color=MESSAGE, linewidth=2.2, zorder=3)
    for place in places[1:]:
        circle(ax, *at(place), 6, zorder=4)
    circle(ax, *far, 8, fill=MESSAGE, zorder=3)
    circle(ax, *at(1), 6, fill=INK, zorder=5)
    short, long = ((100, 214), (256, 100)) if gentle else ((58, 228), (184, 62))
    text(ax, left + short[0], short[1], "4 short steps\nof rate η", SMALL)
    text(ax, left + long[0], long[1], "1 long step\nof rate 4 η", SMALL, color=MESSAGE)


# The learning rate over time: base rate, k times as much after the warm-up, then half a cosine
WARMUP, STEPS, TIMES = 20, 100, 4


def rate(step: float) -> float:
    """In units of the base rate."""
    if step < WARMUP:
        return 1 + (TIMES - 1) * step / WARMUP
    return TIMES * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2


def warm_up():
    ax = page(720, 300)
    left, base, wide, unit = 150, 242, 520, 48

    def at(step, height):
        return left + wide * step / STEPS, base - unit * height

    ax.fill_between([at(0, 0)[0], at(WARMUP, 0)[0]], base - unit * TIMES, base, color=tint(GREY, 0.88), zorder=0)
    line(ax, at(0, TIMES), at(WARMUP, TIMES), color=GREY, linestyle=":")
    line(ax, at(0, 1), at(STEPS, 1), color=GREY, linestyle=":")
    line(ax, *(at(step, rate(step)) for step in range(STEPS + 1)), color=MESSAGE, linewidth=2.6, zorder=3)
    arrow(ax, at(0, 0), (left + wide + 34, base))
    arrow(ax, at(0, 0), (left, 24))
    for step, height in ((0, 1), (WARMUP, TIMES), (STEPS, 0)):
        circle(ax, *at(step, height), 5, fill="white", zorder=4)
    text(ax, left - 10, 28, "learning rate", SMALL, ha="right", color=GREY)
    text(ax, left - 10, at(0, 1)[1], "base rate", ha="right")
    text(ax, left - 10, at(0, TIMES)[1], "k × base rate", ha="right")
    text(ax, at(WARMUP / 2, 0)[0], base - 16, "warm-up", SMALL)
    text(ax, at(64, 0)[0], at(0, 2.9)[1], "half a cosine", SMALL + 1)
    for step, label in ((0, "0"), (WARMUP, "warmup_steps"), (STEPS, "steps")):
        line(ax, at(step, 0), (at(step, 0)[0], base + 6))
        text(ax, at(step, 0)[0], base + 20, label)
    for step, label in ((WARMUP, "s = 0"), (STEPS, "s = 1")):
        text(ax, at(step, 0)[0], base + 42, label, SMALL, color=GREY)
    return ax


# Steps and samples that a goal takes, over the batch in units of the noise scale
def steps_needed(batch: float) -> float:
    """In units of the fewest."""
    return 1 + 1 / batch


def samples_needed(batch: float) -> float:
    """In units of the fewest."""
    return batch * steps_needed(batch)


def batch_and_steps():
    ax = page(720, 340)
    curve_of(ax, 44, "steps to the goal", steps_needed)
    curve_of(ax, 402, "samples to the goal", samples_needed)
    for x, y, said in (
        (178, 100, "twice the batch,\nhalf the steps"),
        (266, 196, "steps stay\nthe same"),
        (462, 196, "samples stay\nthe same"),
        (556, 100, "twice the batch,\ntwice the samples"),
    ):
        text(ax, x, y, said, SMALL)
    text(ax, 360, 324, "both axes logarithmic; dashed: what the curve comes close to", SMALL, color=GREY)
    return ax


def curve_of(ax, left, title, needed):
    base, unit = 262, 46  # unit: pixels of a factor of 4

    def at(batch, height):
        return left + 138 + unit * math.log(batch, 4), base - 26 - unit * math.log(height, 4)

    text(ax, left + 138, 20, title, TEXT, fontweight="bold")
    knee = at(1, 1)
    line(ax, (knee[0], 150), (knee[0], base), color=GREY, linestyle=":")
    far = [at(b, max(1, round(needed(b)) - 1)) for b in (1 / 64, 64)]
    line(ax, far[0], knee, far[1], color=GREY, linestyle="--")
    line(
        ax, *(at(4 ** (i / 10), needed(4 ** (i / 10))) for i in range(-30, 31)), color=MESSAGE, linewidth=2.6, zorder=3
    )
    arrow(ax, (left, base), (left + 296, base))
    arrow(ax, (left, base), (left, 44))
    text(ax, knee[0], base + 18, "noise scale", SMALL + 1)
    text(ax, left + 296, base + 18, "batch", SMALL, ha="right", color=GREY)


# Rows of one channel on four ranks
ROWS = ((1, 2, 3, 4, 5), (6, 7, 8), (9,), ())


def moments(rows) -> tuple[int, float, float]:
    """(number, mean, sum of the squared distances from it) of some rows."""
    mean = sum(rows) / len(rows) if rows else 0.0
    return len(rows), mean, sum((x - mean) ** 2 for x in rows)


def sync_batch_norm():
    ax = page(720, 392)
    everyone = [x for rows in ROWS for x in rows]
    whole = moments(everyone)[1]
    columns = (430, 496, 562, 656)
    for x, title in zip(columns, ("n", "mean", "M", "n (mean − 5)²"), strict=True):
        text(ax, x, 20, title, SMALL, fontweight="bold")

    def at(value):
        return 78 + 32 * value

    line(ax, (at(whole), 40), (at(whole), 316), color=MESSAGE, linestyle="--", zorder=1)
    added = [0, 0.0, 0.0]
    for rank, rows in enumerate(ROWS):
        y = 62 + 56 * rank
        n, mean, squares = moments(rows)
        draw_rows(ax, y, f"rank {rank}", rows, at)
        shifted = n * (mean - whole) ** 2
        added = [a + b for a, b in zip(added, (n, squares, shifted), strict=True)]
        values = (n, mean, squares, shifted) if rows else (0, "–", 0, 0)
        for x, value in zip(columns, values, strict=True):
            text(ax, x, y, value if isinstance(value, str) else f"{value:g}")
    return draw_whole(ax, at, columns, everyone, added)


def draw_rows(ax, y, name, rows, at):
    text(ax, 12, y, name, ha="left", fontweight="bold")
    line(ax, (at(0.4), y), (at(9.6), y), color=FAINT, linewidth=2, zorder=0)
    for value in rows:
        rank = next(r for r, held in enumerate(ROWS) if value in held)
        circle(ax, at(value), y, 12, str(value), RANK_COLOURS[rank])
    if rows:
        mean = moments(rows)[1]
        ax.plot([at(mean)], [y - 21], marker="v", markersize=9, color=INK)


def draw_whole(ax, at, columns, everyone, added):
    y = 306
    n, mean, squares = moments(everyone)
    assert added[1] + added[2] == squares
    line(ax, (12, 268), (708, 268), color=FAINT)
    draw_rows(ax, y, "all rows", everyone, at)
    for x, value, fill in zip(columns, (n, mean, added[1], added[2]), (SUM, "white", SUM, SUM), strict=True):
        cell(ax, x - 24, y - 14, 48, 28, f"{value:g}", fill, size=TEXT)
    text(ax, 360, 346, f"variance of all rows: ({added[1]:g} + {added[2]:g}) / {n} = {squares / n:.2f}", TEXT + 1)
    legend = "▼ mean    n: how many rows    M: their squared distances from their own mean, added up"
    text(ax, 360, 376, legend, SMALL, color=GREY)
    return ax


FIGURES = {
    "gradient_noise": gradient_noise,
    "long_and_short_steps": long_and_short_steps,
    "warm_up": warm_up,
    "batch_and_steps": batch_and_steps,
    "sync_batch_norm": sync_batch_norm,
}

if __name__ == "__main__":
    save_all(FIGURES)
