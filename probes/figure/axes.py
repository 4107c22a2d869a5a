"""The axes of a figure: frames, tick marks, tick labels, and the scale that joins them. Part of `probes.figure.figure`.

A tick's place is that of its mark or grid line, never that of its label: labels are centred to half a point at best. A scale is taken only
if all labels agree with it, and only if no other scale agrees as well; everything else is said to be unclear.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from probes.figure.page import Page, Path, Rect, Text
from probes.figure.types import Axis, Panel, Tick, symlog

SMALLEST = 24.0  # points: a panel is at least as wide and as high
EXACT = 0.05  # points by which a tick mark may be off its scale
REACH = 2.2  # points that the middle of a label may be away from its tick
LABELS_WITHIN = 90.0  # points between a frame and its tick labels, at most
NICE = (1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0)
_SUFFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "µ": 1e-6, "μ": 1e-6, "m": 1e-3}


# -- numbers --------------------------------------------------------------------------------------------------------------------------


@dataclass
class Number:
    """A text that is a number. value with the comma read as a decimal one, and as one between thousands (equal if there is no comma)."""

    text: Text
    said: str
    decimal: float
    thousands: float
    power: bool = False  # written as a power, as the labels of logarithmic axes are
    percent: bool = False
    digit_unit: float = 0.0  # what one more in its last digit would be
    value: float = math.nan


_PLAIN = re.compile(r"([+-]?)(\d[\d.,]*|[.,]\d+)(?:[eE]([+-]?\d+))?\s*([kKMGBµμm]?)\s*(%?)")
_POWER = re.compile(r"([+-]?)(?:(\d+(?:[.,]\d+)?)[×x·*⋅])?(\d{1,2}|e)\^\{([+-]?\d+)\}\s*(%?)")


def number(text: Text) -> Number | None:
    """The number that a text is, or None. Reads 0.95, 0,95, 1,000, 95 %, -1, 1e-3, 10^-2 (raised), 3 x 10^4, 2k."""
    said = _written(text)
    if match := _POWER.fullmatch(said):
        sign, factor, base, exponent, percent = match.groups()
        base = math.e if base == "e" else float(base)
        if len(exponent) > 4 or base < 2 or abs(int(exponent)) * math.log10(base) > 300:
            return None
        value = float((factor or "1").replace(",", ".")) * base ** int(exponent) * (-1 if sign == "-" else 1)
        return Number(text, said, value, value, power=not factor, percent=bool(percent))
    match = _PLAIN.fullmatch(said)
    if not match or len(said) > 24:
        return None
    sign, digits, exponent, suffix, percent = match.groups()
    scale = 10.0 ** int(exponent or 0) * _SUFFIX.get(suffix, 1.0) * (-1 if sign == "-" else 1)
    decimal, thousands = _decimal(digits), _thousands(digits)
    if decimal is None and thousands is None:
        return None
    places = len(re.split("[.,]", digits)[-1]) if re.search("[.,]", digits) else 0
    return Number(
        text,
        text.text,
        math.nan if decimal is None else decimal * scale,
        math.nan if thousands is None else thousands * scale,
        percent=bool(percent),
        digit_unit=abs(scale) * 10.0**-places,
    )


def _written(text: Text) -> str:
    """The text with raised characters after a 10 as ^{...}, all kinds of minus as "-", without spaces."""
    out, raised = "", False
    for char, level in zip(text.chars, text.level, strict=True):
        if not char.text.strip():
            continue
        if (level > 0) != raised:
            out += "^{" if level > 0 else "}"
            raised = level > 0
        out += char.text
    out += "}" if raised else ""
    for minus in "−–‐‑‒﹣－":
        out = out.replace(minus, "-")
    return re.sub(r"\s|'|’|\u202f|\u00a0|\u2009", "", out).replace("％", "%")


def _decimal(digits: str) -> float | None:
    """With the comma as the decimal sign; a point is one as well, so there may be only one of both."""
    if digits.count(",") + digits.count(".") > 1:
        return None
    return float(digits.replace(",", "."))


def _thousands(digits: str) -> float | None:
    """With commas between thousands."""
    if "," not in digits:
        return _decimal(digits)
    if not re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", digits):
        return None
    return float(digits.replace(",", ""))


# -- frames ---------------------------------------------------------------------------------------------------------------------------


def frames(page: Page) -> list[Rect]:
    """Rectangles that may be panels: those that are filled or drawn, and those that lines are clipped to."""
    found: list[Rect] = []
    for path in page.paths:
        if path.stroke and path.clip and len(path.pieces[0]) > 1 and all(map(math.isfinite, path.clip)):
            _add(found, path.clip, page)
        if _is_rectangle(path):
            _add(found, path.box, page)
    _add_spines(found, page)
    return found


def _is_rectangle(path: Path) -> bool:
    if len(path.pieces) != 1 or path.curved or not 4 <= len(path.pieces[0]) <= 5:
        return False
    left, bottom, right, top = path.box
    points = path.pieces[0]
    on_x = np.minimum(np.abs(points[:, 0] - left), np.abs(points[:, 0] - right)) < 0.01
    on_y = np.minimum(np.abs(points[:, 1] - bottom), np.abs(points[:, 1] - top)) < 0.01
    return bool((on_x & on_y).all())


def _add(found: list[Rect], box: Rect, page: Page) -> None:
    left, bottom, right, top = box
    if right - left < SMALLEST or top - bottom < SMALLEST:
        return
    if right - left > 0.995 * page.width and top - bottom > 0.995 * page.height:
        return
    if not any(same(box, other) for other in found):
        found.append(tuple(float(v) for v in box))


def _add_spines(found: list[Rect], page: Page) -> None:
    """Rectangles between a left and a bottom line that meet (a figure without background)."""
    lines = [(path, segment(path)) for path in page.paths]
    across = [s for path, s in lines if s and s[0] == "h" and path.clip is None and s[3] - s[2] > SMALLEST]
    upright = [s for path, s in lines if s and s[0] == "v" and path.clip is None and s[3] - s[2] > SMALLEST]
    for h, v in itertools.islice(itertools.product(across, upright), 20_000):
        if abs(v[1] - h[2]) < 0.6 and abs(h[1] - v[2]) < 0.6:
            _add(found, (h[2], v[2], h[3], v[3]), page)


def same(a: Rect, b: Rect, within: float = 1.0) -> bool:
    """Whether two rectangles are the same, to `within` points."""
    return all(abs(x - y) <= within for x, y in zip(a, b, strict=True))


def segment(path: Path) -> tuple[str, float, float, float] | None:
    """("h" or "v", where, from, to) of a path that is one straight upright or level line, else None."""
    if not path.stroke or path.curved or len(path.pieces) != 1:
        return None
    left, bottom, right, top = path.box
    if right - left < 0.01 < top - bottom:
        return ("v", (left + right) / 2, bottom, top)
    if top - bottom < 0.01 < right - left:
        return ("h", (bottom + top) / 2, left, right)
    return None


# -- one side of a frame --------------------------------------------------------------------------------------------------------------


@dataclass
class Side:
    """One side of a frame as drawn: places of tick marks by their length, of grid lines, and the numbers beside it."""

    frame: Rect
    side: str
    marks: dict[float, float] = field(default_factory=dict)  # place -> length
    grid: list[float] = field(default_factory=list)
    labels: list[Number] = field(default_factory=list)
    multiplier: Text | None = None
    text_size: float = 0.0  # of the page's other texts, in points
    comma: str = ""  # what a comma means in other numbers of the page: "decimal", "thousands", "" where they do not say

    @property
    def level(self) -> bool:
        """Whether it runs from left to right."""
        return self.side in ("bottom", "top")

    @property
    def span(self) -> tuple[float, float]:
        left, bottom, right, top = self.frame
        return (left, right) if self.level else (bottom, top)


def sides(page: Page, found: list[Rect]) -> list[dict[str, Side]]:
    """The four sides of every frame, each number with the one frame and side it stands closest to."""
    all_sides = [{name: Side(frame, name) for name in ("bottom", "left", "right", "top")} for frame in found]
    lines = [(path, line) for path in page.paths if (line := segment(path))]
    for of_frame in all_sides:
        for side in of_frame.values():
            _marks(side, lines)
    numbers = [one for text in page.texts if (one := number(text))]
    for one in numbers:
        best = min(
            ((_cost(one.text, side), k, name) for k, of_frame in enumerate(all_sides) for name, side in of_frame.items()),
            default=(math.inf, 0, ""),
        )
        if best[0] < LABELS_WITHIN + 30:
            rivals = [
                (k, name)
                for k, of_frame in enumerate(all_sides)
                for name, side in of_frame.items()
                if _cost(one.text, side) < best[0] + 0.75 and same(side.frame, found[best[1]], 3.0) and name == best[2]
            ]
            for k, name in rivals:
                all_sides[k][name].labels.append(one)
    comma = _comma(numbers)
    sizes = [text.size for text in page.texts if text not in {n.text for n in numbers}]
    for of_frame in all_sides:
        for side in of_frame.values():
            side.text_size = float(np.median(sizes)) if sizes else 0.0
            side.comma = comma
            side.labels = _main_row(side)
        for name, opposite in (("right", "left"), ("top", "bottom")):
            if len(of_frame[opposite].labels) >= 2:
                of_frame[name].grid = []  # of twin axes, grid lines are taken to be the first one's
        for side in of_frame.values():
            side.multiplier = _multiplier(side, page)
    return all_sides


def _marks(side: Side, lines: list) -> None:
    left, bottom, right, top = side.frame
    edge = {"bottom": bottom, "top": top, "left": left, "right": right}[side.side]
    low, high = side.span
    far_low, far_high = (bottom, top) if side.level else (left, right)
    outward = -1 if side.side in ("bottom", "left") else 1
    for path, (kind, where, begin, end) in lines:
        if (kind == "v") != side.level or not low - 0.6 <= where <= high + 0.6:
            continue
        if end - begin >= 0.97 * (far_high - far_low) and begin > far_low - 25 and end < far_high + 25:
            if path.clip is not None or min(where - low, high - where) > 0.3:
                side.grid.append(where)
        elif 0.9 <= end - begin <= 14 and path.width < 4 and (path.clip is None or not same(path.clip, side.frame)):
            near, far = (end, begin) if outward < 0 else (begin, end)  # the end towards the panel, the end away from it
            if -14.5 <= outward * (near - edge) <= 25 and outward * (far - edge) >= -1:
                side.marks[where] = max(side.marks.get(where, 0.0), round(end - begin, 2))


def _cost(text: Text, side: Side) -> float:
    """How far a text is from being a label of this side: the gap, and more where no tick mark stands beside it."""
    along = text.middle[0] if side.level else text.middle[1]
    marks = [*side.marks, *(side.grid if side.side in ("bottom", "left") else [])]
    beside = any(abs(mark - along) < 4 for mark in marks) or not text.upright
    return _gap(text, side) + (0.0 if beside else 30.0)


def _gap(text: Text, side: Side) -> float:
    """Points between a text and the side of a frame it could label; infinite where it cannot."""
    left, bottom, right, top = side.frame
    x, y = text.middle
    low, high = side.span
    slack = 6.0 if text.upright else 40.0
    if not low - slack <= (x if side.level else y) <= high + slack:
        return math.inf
    gap = {
        "bottom": bottom - text.box[3],
        "top": text.box[1] - top,
        "left": left - text.box[2],
        "right": text.box[0] - right,
    }[side.side]
    return abs(gap) if gap > (-3 if side.level else -1) else math.inf


def _main_row(side: Side) -> list[Number]:
    """The numbers in one row (or column) beside the side, the one that is nearest and has at least two; sorted along the side."""
    if not side.labels:
        return []
    rows: list[list[Number]] = []
    for one in sorted(side.labels, key=lambda n: _gap(n.text, side)):
        for row in rows:
            if _aligned(one.text, row[0].text, side):
                row.append(one)
                break
        else:
            rows.append([one])
    row = next((row for row in rows if len(row) >= 2), rows[0])
    along = 0 if side.level else 1
    return sorted(row, key=lambda n: n.text.middle[along])


def _aligned(a: Text, b: Text, side: Side) -> bool:
    if abs(a.angle - b.angle) > 1:
        return False
    if side.level and abs(a.size - b.size) > 0.1 * max(a.size, b.size):
        pairs = [(a.box[1], b.box[3]), (a.box[3], b.box[1])]  # plotly's small labels stand a little higher
    elif side.level:
        pairs = [(a.chars[0].start[1], b.chars[0].start[1])] if a.upright else [(a.box[1], b.box[1]), (a.box[3], b.box[3])]
    else:
        pairs = [(a.box[0], b.box[0]), (a.box[2], b.box[2]), (a.middle[0], b.middle[0])]
    room = 0.35 if side.level else 0.6  # labels of minor ticks stand closer to the axis
    return any(abs(p - q) < room * max(a.size, b.size) for p, q in pairs)


_MULTIPLIER = re.compile(
    r"(?:[×x]?(?:1?[eE]([+-]?\d+)|10\^\{([+-]?\d+)\}))?([+-]\d[\d.,]*(?:[eE][+-]?\d+|[×x]10\^\{[+-]?\d+\})?)?"
)


def _multiplier(side: Side, page: Page) -> Text | None:
    """matplotlib's text at the end of an axis that all labels are to be multiplied by, or added to."""
    left, bottom, right, top = side.frame
    for text in page.texts:
        if not text.upright or not (said := _written(text)) or not _MULTIPLIER.fullmatch(said):
            continue
        x0, y0, x1, _ = text.box
        if (
            side.side == "bottom"
            and -60 < y0 - bottom < -8
            and abs(x1 - right) < 12
            and not any(n.text is text for n in side.labels)
        ):
            if re.search("[eE×^+]", said) and all(text.box[3] <= n.text.box[1] + 2 for n in side.labels):
                return text
        if side.side in ("left", "right") and -2 < y0 - top < 25 and re.search("[eE×^+]", said):
            if (side.side == "left" and -40 < x0 - left < 12) or (
                side.side == "right" and -12 < x1 - right < 60 and x0 > (left + right) / 2
            ):
                return text
    return None


def _scaled_by(text: Text | None) -> tuple[float, float]:
    """(factor, summand) of a multiplier."""
    if text is None:
        return 1.0, 0.0
    match = _MULTIPLIER.fullmatch(_written(text))
    exponent = match[1] or match[2]
    summand = match[3] or "0"
    summand = re.sub(r"[×x]10\^\{([+-]?\d+)\}", r"e\1", summand).replace(",", ".")
    return 10.0 ** int(exponent or 0), float(summand)


# -- calibration ----------------------------------------------------------------------------------------------------------------------


@dataclass
class Fit:
    """A scale with its numbers; residual: the largest distance of a tick from where it should be, in points."""

    scale: str
    offset: float
    slope: float
    residual: float
    threshold: float = math.nan
    sure: bool = True

    def positions(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            u = {
                "linear": lambda v: v,
                "log": np.log10,
                "symlog": lambda v: symlog(v, self.threshold),
                "logit": lambda v: np.log10(v / (self.threshold - v)),
            }[self.scale](values)
        return self.offset + self.slope * u


def calibrate(side: Side) -> tuple[Axis, list[Fit]]:
    """(the axis, all scales that agree with its labels). More than one: the axis takes the first, and `settle` must decide."""
    axis = Axis(side.side)
    labels = [one for one in side.labels]
    axis.percent = bool(labels) and sum(n.percent for n in labels) > len(labels) / 2
    if len(labels) < 2:
        axis.problems.append(
            f"The {side.side} axis has {len(labels) or 'no'} tick label{'s' * (len(labels) != 1)} that can be read."
        )
        return axis, []
    best: list[tuple[float, list[Fit], list[Number], np.ndarray, bool]] = []
    for reading in _readings(labels, side.comma):
        tried = _fits_of(side, labels, reading)
        if tried:
            best.append(tried)
    if not best:
        axis.problems.append(f"The labels of the {side.side} axis fit no linear, logarithmic or symmetrical logarithmic scale.")
        return axis, []
    best.sort(key=lambda one: one[0])
    _, fits, used, places, marked = best[0]
    for residual, others, *_ in best[1:]:
        fits = fits + others if residual <= max(best[0][0], EXACT) else fits
    factor, summand = _scaled_by(side.multiplier)
    axis.ticks = [Tick(float(p), float(n.value) * factor + summand, n.said) for p, n in zip(places, used, strict=True)]
    fits = [_rescaled(fit, factor, summand) for fit in fits]
    if any(f is None for f in fits):
        axis.problems.append(f"The text “{side.multiplier.text}” beside the {side.side} axis cannot be applied to its scale.")
        return axis, []
    take(axis, fits[0])
    if fits[0].scale == "log" and _digits_only(side, used):
        axis.problems.append(
            f"The {side.side} axis is ambiguous: its labels are single digits, and of which decade cannot be told."
        )
        axis.scale = ""
        return axis, []
    low, high = side.span
    if not marked:
        axis.uncertainty = max(2 * fits[0].residual, 0.5) / (high - low)
        axis.problems.append(
            f"The {side.side} axis has no tick marks: its scale is read from where its labels stand, to about a point."
        )
    elif fits[0].residual > EXACT:
        axis.uncertainty = 2 * fits[0].residual / (high - low)
        axis.problems.append(
            f"The labels of the {side.side} axis are rounded: its scale is known to {100 * axis.uncertainty:.1g} %."
        )
    return axis, fits


def take(axis: Axis, fit: Fit) -> None:
    """Give the axis this scale."""
    axis.scale, axis.offset, axis.slope, axis.threshold = fit.scale, fit.offset, fit.slope, fit.threshold


def _rescaled(fit: Fit, factor: float, summand: float) -> Fit | None:
    """The fit for values multiplied by factor, summand added."""
    if factor == 1 and summand == 0:
        return fit
    if fit.scale == "linear":
        slope = fit.slope / factor
        return Fit("linear", fit.offset - slope * summand, slope, fit.residual)
    if fit.scale == "log" and summand == 0:
        return Fit("log", fit.offset - fit.slope * math.log10(factor), fit.slope, fit.residual)
    return None


def _comma(numbers: list[Number]) -> str:
    """What a comma means in the numbers of a page: 0,95 can only be one thing, and so can 1,000,000.

    A 1.5 elsewhere proves nothing: who gives one axis decimal commas by hand may have left the other as it was.
    """
    decimal = any("," in n.said and math.isnan(n.thousands) for n in numbers)
    thousands = any("," in n.said and math.isnan(n.decimal) for n in numbers)
    return "" if decimal == thousands else "decimal" if decimal else "thousands"


def _readings(labels: list[Number], comma: str) -> list[list[float]]:
    """What the labels may say: with decimal commas or with commas between thousands. One reading where that makes no difference."""
    readings = []
    for kind in ("decimal", "thousands"):
        values = [getattr(n, kind) for n in labels]
        if all(map(math.isfinite, values)) and values not in readings:
            readings.append(values)
    if len(readings) == 2 and comma:
        return [readings[0 if comma == "decimal" else 1]]
    if len(readings) == 2 and any("," not in n.said for n in labels):
        bare = [n.said for n in labels if "," not in n.said]
        if all(re.search(r",\d{3}", n.said) for n in labels if "," in n.said) and all(
            re.fullmatch(r"\W?\d+\W*", b) for b in bare
        ):
            readings = readings[1:]  # a locale with decimal commas would have written 0,000 and not 0
    if len(readings) == 2 and any(re.search(r"\d,\d{3},\d{3}|\d,\d{3}\.", n.said) for n in labels):
        readings = readings[1:]
    return readings


def _fits_of(side: Side, labels: list[Number], values: list[float]):
    """(residual, scales that agree, the labels used, their places, whether these are tick marks), or None."""
    labels = [_with(n, v) for n, v in zip(labels, values, strict=True)]
    labels = _whole_numbers(labels)
    if len(labels) < 2:
        return None
    along = 0 if side.level else 1
    for exact in (True, False):
        for places, minor in _places(side, labels):
            there = np.isfinite(places)
            used = [n for n, has in zip(labels, there, strict=True) if has]
            fits = _fits(side, used, places[there], exact)
            for one, has in zip(labels, there, strict=True):  # one without a mark must still stand where the scale puts it
                fits = fits if has else [f for f in fits if abs(f.positions(np.array(one.value)) - one.text.middle[along]) < 3]
            if minor:  # only logarithmic axes have labels at minor ticks
                fits = [f for f in fits if f.scale != "linear"]
            if fits:
                return fits[0].residual, fits, used, places[there], True
    places = np.array([n.text.middle[along] for n in labels])
    if all(n.text.upright for n in labels):
        fits = [
            fit for fit in _scales(labels, places) if fit.residual < 1.2 and fit.scale != "logit"
        ]  # too like a line for these places
        if fits:
            return fits[0].residual, _without_worse(fits), labels, places, False
    return None


def _with(one: Number, value: float) -> Number:
    return Number(one.text, one.said, one.decimal, one.thousands, one.power, one.percent, one.digit_unit, value)


def _whole_numbers(labels: list[Number]) -> list[Number]:
    """plotly writes a small 2 and 5 between the decades of a logarithmic axis for 20, 500 ...: with the values they stand for."""
    largest = max(n.text.size for n in labels)
    small = [n.text.size <= 0.9 * largest for n in labels]
    if not any(small) or not all(re.fullmatch("[2-9]", n.said) for n, is_small in zip(labels, small, strict=True) if is_small):
        return labels
    large = [k for k, is_small in enumerate(small) if not is_small]
    if any(labels[k].value <= 0 or abs(math.log10(labels[k].value) % 1) > 1e-9 for k in large):
        return labels
    rising = len(large) < 2 or labels[large[0]].value < labels[large[-1]].value
    whole = []
    for k, (one, is_small) in enumerate(zip(labels, small, strict=True)):
        if is_small:
            below = [labels[j].value for j in large if (j < k) == rising]
            above = [labels[j].value for j in large if (j > k) == rising]
            one = _with(one, one.value * (max(below) if below else min(above) / 10))
        whole.append(one)
    return whole


def _digits_only(side: Side, labels: list[Number]) -> bool:
    """Whether only plotly's small digits of a logarithmic axis are seen, so that the decade is unknown."""
    return all(re.fullmatch("[2-9]", n.said) and n.text.size < 0.85 * side.text_size for n in labels)


def _places(side: Side, labels: list[Number]) -> Iterator[tuple[np.ndarray, bool]]:
    """Ways to give each label a tick, the closest one first: (places, whether minor ticks are among them).

    Ticks may be the longest marks, all marks, or grid lines. A label may stand with its middle at the tick, or, turned, with an end.
    """
    sizes = np.array([n.text.size for n in labels])
    turned = any(not n.text.upright for n in labels)
    longest = max(side.marks.values(), default=0.0)
    major = _distinct([p for p, length in side.marks.items() if length > longest - 0.3])
    every = _distinct(side.marks)
    ways = []
    for candidates, minor in (
        (major, False),
        (_distinct(side.grid), False),
        *([(every, True)] if len(every) > len(major) else []),
    ):
        for anchors in _anchors(side, labels):
            found = _nearest(np.array(candidates), anchors, sizes, side, 0.2 if turned else 1.6) if len(candidates) >= 2 else None
            if found is not None:
                ways.append((float(np.nanmax(np.abs(anchors - found))), len(ways), found, minor))
        if turned and not minor and len(candidates) == len(labels):
            ways.append((REACH + 1, len(ways), np.array(candidates), minor))  # one each, in order
    for _, _, found, minor in sorted(ways, key=lambda way: way[:2]):
        yield found, minor


def _anchors(side: Side, labels: list[Number]) -> list[np.ndarray]:
    """Where along the side the labels may point to: with their middles; below an axis and turned, with their ends or corners."""
    along = 0 if side.level else 1
    ways = [[n.text.middle[along] for n in labels]]
    if side.level and any(not n.text.upright for n in labels):
        ways += [[n.text.box[0] for n in labels], [n.text.box[2] for n in labels]]
        ways += [[n.text.chars[0].start[0] for n in labels], [n.text.chars[-1].end[0] for n in labels]]
    return [np.array(way) for way in ways]


def _nearest(marks: np.ndarray, anchors: np.ndarray, sizes: np.ndarray, side: Side, closest: float) -> np.ndarray | None:
    """For each label the tick it stands at, NaN for one at the border of the panel that has none; None if they do not fit together.

    closest: how far labels may stand off where not all ticks among them have a label.
    """
    gap = np.diff(np.sort(anchors)).min()
    nearest = marks[np.abs(marks[None, :] - anchors[:, None]).argmin(1)]
    off = anchors - nearest
    near = np.abs(off) <= min(REACH, 0.45 * gap)
    if not near.all() and len(anchors) >= 4 and near.sum() >= max(3, len(anchors) - 2) and near[1:-1].all():
        nearest = np.where(near, nearest, np.nan)  # plotly draws no grid line at the border of the panel
    elif not near.all():
        return None
    kept = nearest[np.isfinite(nearest)]
    between = int(((marks > kept.min() - 0.01) & (marks < kept.max() + 0.01)).sum()) - len(kept)
    if between > 0 and np.abs(off[near]).max() > closest:
        return None  # marks without labels among those with: these may all be minor ticks
    alone = len(set(kept.tolist())) == len(kept)
    return nearest if alone and _stand_alike(off[near], kept, side, sizes[near]) else None


def _stand_alike(off: np.ndarray, places: np.ndarray, side: Side, sizes: np.ndarray) -> bool:
    """Whether labels of one size stand to their ticks all in the same way. Labels of other ticks, a little closer together, drift away."""
    if np.ptp(sizes) > 0.1:
        large = sizes > sizes.max() - 0.1
        return all(_stand_alike(off[some], places[some], side, sizes[some]) for some in (large, ~large))
    if np.ptp(off) > (2.0 if side.level else 1.2):
        return False
    if len(off) < 4 or np.ptp(off) < 0.4:
        return True
    return bool(abs(np.corrcoef(off, places)[0, 1]) < 0.9)


def _distinct(places) -> list[float]:
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > 0.02:
            kept.append(place)
    return kept


def _fits(side: Side, labels: list[Number], places: np.ndarray, exact: bool) -> list[Fit]:
    """The scales that these ticks agree with, best first. exact False: labels may be rounded in their last digit (linear only)."""
    found = _scales(labels, places)
    if exact:
        return _plausible(side, labels, [fit for fit in found if fit.residual <= EXACT])
    if any(n.power or not n.digit_unit for n in labels) or len(labels) < 4:
        return []
    if (steps := _round_steps(labels, places)) is not None:
        return [steps]
    rounded = []
    for fit in found:
        allowed = 0.51 * max(n.digit_unit for n in labels) * abs(fit.slope)
        if fit.scale == "linear" and fit.residual <= 1.5 * allowed and fit.residual < 0.04 * np.ptp(places):
            rounded.append(fit)
    return rounded


def _round_steps(labels: list[Number], places: np.ndarray) -> Fit | None:
    """The one scale with ticks at multiples of a round step (1, 2, 2.5 or 5 times a power of ten) of which all labels are roundings."""
    gap = np.diff(places).min()
    numbers = np.round((places - places[0]) / gap)
    if gap <= 0 or np.abs(places[0] + gap * numbers - places).max() > EXACT:
        return None
    values, unit = np.array([n.value for n in labels]), max(n.digit_unit for n in labels)
    rough = (values[-1] - values[0]) / numbers[-1]
    if rough == 0:
        return None
    found = set()
    for power in range(-12, 13):
        for lead in (1.0, 2.0, 2.5, 5.0):
            step = math.copysign(lead * 10.0**power, rough)
            if not 0.5 < step / rough < 2:
                continue
            for first in np.round(values[0] / step) + np.array([-1.0, 0.0, 1.0]):
                if np.abs((first + numbers) * step - values).max() <= 0.5001 * unit:
                    found.add((step, first * step))
    if len(found) != 1:
        return None
    step, first = found.pop()
    slope = gap / step
    return Fit("linear", float(places[0] - slope * first), float(slope), 1.5 * EXACT)


def _scales(labels: list[Number], places: np.ndarray) -> list[Fit]:
    values = np.array([n.value for n in labels])
    found = []
    if np.ptp(values) > 0 and len(set(values.tolist())) == len(values):
        if not _are_powers(labels):
            found.append(_line("linear", values, places))
        if (values > 0).all():
            found.append(_line("log", np.log10(values), places))
        elif (
            not found or found[0] is None or found[0].residual > EXACT
        ):  # a linear scale is a symlog that never leaves its linear part
            found += _symlog(values, places)
        found.append(_logit(labels, values, places))
    return sorted((f for f in found if f), key=lambda fit: fit.residual)


def _logit(labels: list[Number], values: np.ndarray, places: np.ndarray) -> Fit | None:
    """The scale of shares that spreads out what is near nothing and near all. Three labels about the middle fit a linear one as well."""
    whole = 100.0 if all(n.percent for n in labels) else 1.0
    if len(values) < 3 or not ((0 < values) & (values < whole)).all():
        return None
    fit = _line("logit", np.log10(values / (whole - values)), places)
    return fit and Fit("logit", fit.offset, fit.slope, fit.residual, whole)


def _are_powers(labels: list[Number]) -> bool:
    """Whether all labels but 0 are a base to a power: no linear axis is labelled so."""
    return all(n.value == 0 or n.power for n in labels)


def _line(scale: str, u: np.ndarray, places: np.ndarray) -> Fit | None:
    middle_u, middle_p = u.mean(), places.mean()
    slope = float(((u - middle_u) * (places - middle_p)).sum() / ((u - middle_u) ** 2).sum())
    if slope == 0 or not math.isfinite(slope):
        return None
    offset = float(middle_p - slope * middle_u)
    return Fit(scale, offset, slope, float(np.abs(offset + slope * u - places).max()))


def _symlog(values: np.ndarray, places: np.ndarray) -> list[Fit]:
    """Symmetrical logarithms of base 10 whose linear part takes as much room as one decade (matplotlib's default)."""
    decades = sorted({math.log10(abs(v)) for v in values if v != 0})
    if len(values) < 3 or len(decades) < 2:
        return []
    best = None
    for power in range(math.floor(decades[0]) - 2, math.ceil(decades[-1]) + 1):
        for first in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0):
            threshold = first * 10.0**power
            fit = _line("symlog", symlog(values, threshold), places)
            if fit and (best is None or fit.residual < best.residual):
                best = Fit("symlog", fit.offset, fit.slope, fit.residual, threshold)
    if best is None or best.residual > EXACT:
        return []
    lowest = 10.0 ** decades[0]
    best.sure = lowest < 10.000001 * best.threshold and math.floor(math.log10(best.threshold) + 1e-9) <= decades[0] + 1e-9
    best.sure &= abs(decades[0] - math.floor(math.log10(best.threshold) + 1e-9)) < 0.01
    return [best]


def _plausible(side: Side, labels: list[Number], fits: list[Fit]) -> list[Fit]:
    """Of several scales, those that the ticks without labels agree with."""
    if len(fits) < 2:
        return fits
    others = np.array(_distinct([*side.marks, *side.grid]))
    kept = []
    for fit in fits:
        if fit.scale == "log":
            with np.errstate(over="ignore"):
                values = 10.0 ** ((others - fit.offset) / fit.slope)
            lead = values / 10.0 ** np.floor(np.log10(values) + 1e-6)
            good = np.abs(lead - np.round(lead)) < 0.01
            few = len(others) < 4 + len(labels)
        elif fit.scale == "logit":
            with np.errstate(over="ignore"):
                values = 1 / (1 + 10.0 ** ((fit.offset - others) / fit.slope))
            rest = np.minimum(values, 1 - values)
            lead = rest / 10.0 ** np.floor(np.log10(rest) + 1e-6)
            good = np.abs(lead - np.round(lead)) < 0.01
            few = len(others) < 4 + len(labels)
        else:
            steps = np.diff(others)
            whole = steps / steps.min() if len(steps) else steps
            good = np.abs(whole - np.round(whole)) < 0.02
            few = len(others) < 1 + len(labels)
        if good.all():
            kept.append((few, fit))
    certain = [fit for few, fit in kept if not few]
    return certain if len(certain) == 1 else [fit for _, fit in kept] or fits


def _without_worse(fits: list[Fit]) -> list[Fit]:
    return [fit for fit in fits if fit.residual <= 2 * fits[0].residual + 0.3]


def settle(axis: Axis, fits: list[Fit], places: np.ndarray, counts: bool = False) -> None:
    """Where several scales agree with the labels, see whether it matters for what is drawn. places: of the data, in page coordinates.

    If the scales give the same values there, the axis keeps the first. counts: along this axis something is counted; if with one scale
    only all of at least four places are whole numbers, it is that one. Otherwise the axis is left without a scale, and says so.
    """
    if len(fits) >= 2 and counts:
        whole = [fit for fit in fits if _whole(axis, fit, places)]
        fits = whole if len(whole) == 1 else fits
        take(axis, fits[0])
    if len(fits) >= 2:
        readings = []
        for fit in fits:
            take(axis, fit)
            readings.append(axis.values(places))
        take(axis, fits[0])
        span = max((float(np.ptp(v)) for v in readings if len(v)), default=0.0) or 1.0
        if any(not np.allclose(readings[0], other, rtol=0, atol=1e-4 * span) for other in readings[1:]):
            names = (
                " and ".join(sorted({fit.scale for fit in fits}))
                if len({fit.scale for fit in fits}) > 1
                else "two readings of the commas"
            )
            said = ", ".join(f"“{tick.text}”" for tick in axis.ticks[:4])
            axis.problems.append(f"The {axis.side} axis is ambiguous: its labels ({said}) fit {names}.")
            axis.scale = ""
    elif fits and not fits[0].sure and len(places):
        inside = np.abs(axis.values(places)) < 10 * fits[0].threshold
        if inside.any():
            axis.problems.append(f"The {axis.side} axis is ambiguous: where its linear part ends cannot be told from its labels.")
            axis.scale = ""


def _whole(axis: Axis, fit: Fit, places: np.ndarray) -> bool:
    take(axis, fit)
    values = axis.values(places)
    return len(set(np.round(values, 3).tolist())) >= 4 and bool((np.abs(values - np.round(values)) < 2e-3).all())


# -- panels ---------------------------------------------------------------------------------------------------------------------------


@dataclass
class Drawn:
    """A panel with what its axes were read from."""

    panel: Panel
    sides: dict[str, Side]
    fits: dict[str, list[Fit]]


def panels(page: Page, index: int) -> list[Drawn]:
    """The panels of a page: frames with tick labels on at least one side, or with curves. Twin panels are one panel with two y axes."""
    found = frames(page)
    result: list[Drawn] = []
    for frame, of_frame in zip(found, sides(page, found), strict=True):
        if any(same(frame, other.panel.frame, 3.0) for other in result):
            continue
        labelled = {name: len(side.labels) for name, side in of_frame.items()}
        if max(labelled.values()) < 2 and not (of_frame["bottom"].marks and of_frame["left"].marks):
            if not any(
                path.clip and same(path.clip, frame) and not segment(path) and path.stroke and not path.fill
                for path in page.paths
            ):
                continue
        fits: dict[str, list[Fit]] = {}
        axes: dict[str, Axis] = {}
        for name in ("bottom", "top", "left", "right"):
            axes[name], fits[name] = calibrate(of_frame[name])
        level = "bottom" if fits["bottom"] or not fits["top"] else "top"
        upright = "left" if fits["left"] or not fits["right"] else "right"
        panel = Panel(index, frame, axes[level], axes[upright])
        if upright == "left" and labelled["right"] >= 2:
            panel.right = axes["right"]
        result.append(Drawn(panel, of_frame, fits))
    result = [one for one in result if not _holds_panel(one, result)]
    for one in result:
        _share(one, result, "x")
        _share(one, result, "y")
    return result


def _holds_panel(one: Drawn, others: list[Drawn]) -> bool:
    """Whether it is only a rectangle around panels, or around a part of one."""
    left, bottom, right, top = one.panel.frame
    read = bool(one.panel.x.scale) + bool(one.panel.y.scale)
    for other in others:
        a, b, c, d = other.panel.frame
        if other is one:
            continue
        overlap = max(0.0, min(right, c) - max(left, a)) * max(0.0, min(top, d) - max(bottom, b))
        smaller = min((right - left) * (top - bottom), (c - a) * (d - b))
        better = bool(other.panel.x.scale) + bool(other.panel.y.scale)
        if overlap > 0.8 * smaller and better > read:
            return True
    return False


def _share(one: Drawn, others: list[Drawn], which: str) -> None:
    """Panels below or beside each other that share an axis have labels at one of them only; their ticks stand at the same places."""
    axis: Axis = getattr(one.panel, which)
    if axis.scale or axis.ticks:
        return
    side = one.sides["bottom" if which == "x" else "left"]
    mine = _distinct(side.marks) or _distinct(side.grid)
    low, high = side.span
    for other in others:
        theirs: Axis = getattr(other.panel, which)
        if other is one or not theirs.scale:
            continue
        their_side = other.sides[theirs.side]
        a, b = their_side.span
        places = _distinct(their_side.marks) or _distinct(their_side.grid)
        if abs(a - low) > 0.1 or abs(b - high) > 0.1 or len(mine) < 2 or len(mine) != len(places):
            continue
        if np.allclose(mine, places, atol=EXACT):
            shared = Axis(axis.side, "", theirs.scale, theirs.offset, theirs.slope, theirs.threshold, theirs.linear_scale)
            shared.ticks, shared.uncertainty, shared.percent = list(theirs.ticks), theirs.uncertainty, theirs.percent
            setattr(one.panel, which, shared)
            one.fits[shared.side] = other.fits[theirs.side]
            return
