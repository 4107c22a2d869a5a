"""Numbers of 32 and 16 bits: their parts and ranges, what loss scaling does to gradients, and what lies where in a step
of mixed precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from drawing import (
    ACTIVATIONS,
    BACKWARD,
    FAINT,
    FORWARD,
    GRADIENTS,
    GREY,
    MESSAGE,
    PARAMETERS,
    SMALL,
    TEXT,
    arrow,
    box,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)

DARK, LIGHT = tint(GREY, 0.35), tint(GREY, 0.85)  # exponent and range, digits and what has few of them


@dataclass(frozen=True)
class Format:
    name: str
    exponent: int
    digits: int

    @property
    def bias(self) -> int:
        return 2 ** (self.exponent - 1) - 1

    @property
    def largest(self) -> float:
        return (2 - 2.0**-self.digits) * 2.0**self.bias

    @property
    def smallest_normal(self) -> int:
        """The exponent of 2 of the smallest number with all digits."""
        return 1 - self.bias

    @property
    def smallest(self) -> int:
        """The exponent of 2 of the smallest number above 0."""
        return self.smallest_normal - self.digits


FORMATS = (Format("float32", 8, 23), Format("float16", 5, 10), Format("bfloat16", 8, 7))
HALF = FORMATS[1]


def power(exponent: int) -> str:
    """2 to the exponent, in one line."""
    return "2" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def bits(ax, left, top, one: Format, width=14, height=30):
    """The parts of a number, one cell a bit, and how many bits each part has."""
    for k in range(1 + one.exponent + one.digits):
        fill = "white" if k == 0 else DARK if k <= one.exponent else LIGHT
        cell(ax, left + k * width, top, width, height, "", fill, linewidth=0.7)
    for first, many, label in (
        (0, 1, "±"),
        (1, one.exponent, str(one.exponent)),
        (1 + one.exponent, one.digits, str(one.digits)),
    ):
        cell(ax, left + first * width, top, many * width, height, "", "none", linewidth=1.6, zorder=3)
        under = {"facecolor": (DARK, LIGHT)[first > 1] if first else "white", "edgecolor": "none", "pad": 2.5}
        look = {"fontweight": "bold", "zorder": 4} | ({"bbox": under} if first else {})
        text(ax, left + (first + many / 2) * width, top + height / 2, label, TEXT, **look)


def number_formats():
    ax = page(720, 396)
    left, width = 100, 14
    for x, content, ha in ((left - 2, "sign", "left"), (left + 78, "exponent", "center")):
        text(ax, x, 20, content, SMALL, ha=ha)
    text(ax, left + 240, 20, "digits", SMALL)
    text(ax, 592, 20, "after 1 comes", SMALL, ha="left")
    for k, one in enumerate(FORMATS):
        top = 36 + 46 * k
        text(ax, 88, top + 15, one.name, ha="right", fontweight="bold")
        bits(ax, left, top, one, width)
        text(ax, 592, top + 15, f"{1 + 2.0**-one.digits:.8f}".rstrip("0"), ha="left")
    line(ax, (12, 184), (708, 184), color=FAINT)
    text(
        ax,
        12,
        204,
        "range of sizes: each tick is a thousand times the one before; hatched: with fewer digits",
        SMALL,
        ha="left",
    )
    for k, one in enumerate(FORMATS):
        draw_range(ax, 222 + 44 * k, one)
    draw_ticks(ax, 222, 358)
    return ax


def place(log2: float) -> float:
    """The place of a size on the number line of `number_formats`."""
    return 404 + 2.02 * log2


def draw_range(ax, top, one: Format, height=28):
    text(ax, 88, top + height / 2, one.name, ha="right", fontweight="bold")
    ends = [place(x) for x in (one.smallest, one.smallest_normal, math.log2(one.largest))]
    cell(ax, ends[0], top, ends[1] - ends[0], height, "", LIGHT, hatch="///", edgecolor=GREY)
    cell(ax, ends[1], top, ends[2] - ends[1], height, "", DARK)
    if one is HALF:
        text(ax, ends[0] - 8, top + height / 2, "6 · 10" + power(-8)[1:], ha="right")
        text(ax, ends[2] + 8, top + height / 2, f"{one.largest:.0f}", ha="left")


def draw_ticks(ax, top, bottom):
    for exponent in range(-45, 40, 3):
        x = place(exponent * math.log2(10))
        labelled = exponent in (-36, -24, -12, 0, 12, 24, 36)
        line(ax, (x, bottom), (x, bottom + (8 if labelled else 5)), linewidth=1)
        if exponent == 0:
            line(ax, (x, top), (x, bottom), color=GREY, linestyle=":", zorder=3)
        if labelled:
            shown = "1" if exponent == 0 else "10" + power(exponent)[1:]
            text(ax, x, bottom + 20, shown, TEXT)
    line(ax, (place(-151), bottom), (place(130), bottom), linewidth=1)


# Loss scaling: sizes of gradients as a hill on the number line of powers of 2
CENTRE, SPREAD = -22.0, 4.4
SHIFTS = (0, 16, 32)


def share(low: float, high: float, shift: int) -> float:
    """The part of the hill, moved by a factor of 2**shift, that lies between 2**low and 2**high."""
    parts = [math.erf((end - CENTRE - shift) / SPREAD / math.sqrt(2)) for end in (low, high)]
    return (parts[1] - parts[0]) / 2


def across(log2: float) -> float:
    return 300 + 7.1 * (log2 + 14)


def hill(ax, base, shift, height=66):
    """The hill, filled; what float16 cannot hold is hatched."""
    ends = (HALF.smallest, math.log2(HALF.largest))
    steps = [CENTRE + shift + SPREAD * (k / 20) for k in range(-60, 61)]
    low, high = steps[0], steps[-1]
    inside = [x for x in steps if ends[0] < x < ends[1]]
    parts = [(max(low, ends[0]), min(high, ends[1]), inside, False)]
    parts += [(low, ends[0], [x for x in steps if x < ends[0]], True)] if low < ends[0] else []
    parts += [(ends[1], high, [x for x in steps if x > ends[1]], True)] if high > ends[1] else []
    for start, end, between, lost in parts:
        xs = [start, *between, end]
        ys = [base - height * math.exp(-(((x - CENTRE - shift) / SPREAD) ** 2) / 2) for x in xs]
        look = {"facecolor": "white", "hatch": "////", "edgecolor": MESSAGE} if lost else {"facecolor": GRADIENTS}
        ax.fill_between([across(x) for x in xs], ys, base, linewidth=1.2, zorder=3, **look)


def loss_scaling():
    ax = page(720, 420)
    left, few, right = across(HALF.smallest), across(HALF.smallest_normal), across(math.log2(HALF.largest))
    cell(ax, left, 44, few - left, 336, "", tint(GREY, 0.93), edgecolor="none", zorder=0)
    cell(ax, few, 44, right - few, 336, "", tint(GREY, 0.82), edgecolor="none", zorder=0)
    for x, content in ((left / 2 + 6, "becomes 0"), ((left + few) / 2, "few\ndigits"), (right + 82, "infinite")):
        text(ax, x, 24, content, SMALL)
    text(ax, (few + right) / 2, 24, "float16 holds it", SMALL)
    says = ("lost:\ntoo small", "all are kept", "too large:\nskip the step,\nhalve the scale")
    for k, (shift, said) in enumerate(zip(SHIFTS, says, strict=True)):
        base = 140 + 112 * k
        line(ax, (12, base), (708, base), color=GREY, linewidth=1)
        hill(ax, base, shift)
        text(ax, 16, base - 80, f"loss × {power(shift) if shift else 1}", TEXT + 1, ha="left", fontweight="bold")
        if k == 0:
            text(ax, 28, base - 34, said, SMALL, ha="left", color=MESSAGE)
        elif k == 1:
            text(ax, right + 20, base - 34, said, SMALL, ha="left")
        else:
            text(ax, right + 64, base - 52, said, SMALL, ha="left", color=MESSAGE)
    for k, shift in enumerate(SHIFTS[1:]):
        start, end = across(CENTRE + SHIFTS[k]), across(CENTRE + shift)
        arrow(ax, (start + 12, 146 + 112 * k), (end - 8, 180 + 112 * k), color=MESSAGE)
    for x, content in ((left, power(HALF.smallest)), (few, power(HALF.smallest_normal)), (right, "65504")):
        line(ax, (x, 44), (x, 384), linewidth=1.4, zorder=4)
        text(ax, x, 402, content, TEXT + 1)
    text(ax, 12, 402, "size of a gradient", SMALL, ha="left", color=GREY)
    return ax


def mixed_precision_step():
    ax = page(720, 372)
    for top, height in ((52, 98), (206, 156)):
        box(ax, 8, top, 704, height, fill=tint(GREY, 0.92), edgecolor="none", round=8, zorder=0)
    text(ax, 200, 101, "float32", TEXT + 1, fontweight="bold", color=GREY)
    text(ax, 650, 255, "float16", TEXT + 1, fontweight="bold", color=GREY)
    box(ax, 20, 72, 118, 58, "master\nweights", PARAMETERS)
    box(ax, 20, 226, 118, 58, "weights", PARAMETERS)
    box(ax, 176, 226, 100, 58, "forward\nF", FORWARD)
    box(ax, 258, 72, 96, 58, "loss")
    box(ax, 336, 226, 100, 58, "backward\nB", BACKWARD)
    box(ax, 246, 312, 120, 36, "activations", ACTIVATIONS)
    box(ax, 474, 226, 118, 58, "scaled\ngradients", GRADIENTS)
    box(ax, 474, 72, 118, 58, "gradients", GRADIENTS)
    box(ax, 630, 72, 70, 58, "step")
    arrows = [(79, 130, 79, 226), (138, 255, 176, 255), (236, 226, 286, 130), (326, 130, 376, 226)]
    arrows += [(226, 284, 258, 312), (354, 312, 386, 284), (436, 255, 474, 255), (533, 226, 533, 130)]
    for x, y, to_x, to_y in [*arrows, (592, 101, 630, 101), (79, 30, 79, 72)]:
        arrow(ax, (x, y), (to_x, to_y))
    line(ax, (665, 72), (665, 30), (79, 30), linewidth=1.6)
    for x, content in ((90, "round"), (364, "× scale"), (544, "÷ scale")):
        text(ax, x, 178, content, TEXT, ha="left", color=MESSAGE, fontweight="bold")
    text(ax, 372, 15, "new master weights; if any gradient is infinite or NaN, the old ones stay", SMALL)
    return ax


FIGURES = {
    "number_formats": number_formats,
    "loss_scaling": loss_scaling,
    "mixed_precision_step": mixed_precision_step,
}

if __name__ == "__main__":
    save_all(FIGURES)
