"""The frames of a figure, and on each side of one its tick marks and labels. Part of `probes.figure.figure`."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field

import numpy as np

from probes.figure.numbers import Number, as_written, comma_of, number
from probes.figure.page import FigurePage, Path, Rect, Text

SMALLEST = 24.0  # points: a panel is at least as wide and as high
LABELS_WITHIN = 90.0  # points between a frame and its tick labels, at most


def frames(page: FigurePage) -> list[Rect]:
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


def _add(found: list[Rect], box: Rect, page: FigurePage) -> None:
    left, bottom, right, top = box
    if right - left < SMALLEST or top - bottom < SMALLEST:
        return
    if right - left > 0.995 * page.width and top - bottom > 0.995 * page.height:
        return
    if not any(same(box, other) for other in found):
        found.append(tuple(float(v) for v in box))


def _add_spines(found: list[Rect], page: FigurePage) -> None:
    """Rectangles between a left and a bottom line that meet (a figure without background)."""
    lines = [(path, segment(path)) for path in page.paths]
    across = [s for path, s in lines if s and s[0] == "h" and path.clip is None and s[3] - s[2] > SMALLEST]
    upright = [s for path, s in lines if s and s[0] == "v" and path.clip is None and s[3] - s[2] > SMALLEST]
    for h, v in itertools.islice(itertools.product(across, upright), 20_000):
        if abs(v[1] - h[2]) < 0.6 and abs(h[1] - v[2]) < 0.6:
            _add(found, (h[2], v[2], h[3], v[3]), page)


def same(a: Rect, b: Rect, within: float = 1.0) -> bool:
    """True if two rectangles are the same, to `within` points."""
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
        """True if it runs from left to right."""
        return self.side in ("bottom", "top")

    @property
    def span(self) -> tuple[float, float]:
        left, bottom, right, top = self.frame
        return (left, right) if self.level else (bottom, top)


def sides(page: FigurePage, found: list[Rect]) -> list[dict[str, Side]]:
    """The four sides of every frame, each number with the one frame and side it stands closest to."""
    all_sides = [{name: Side(frame, name) for name in ("bottom", "left", "right", "top")} for frame in found]
    lines = [(path, line) for path in page.paths if (line := segment(path))]
    for of_frame in all_sides:
        for side in of_frame.values():
            _marks(side, lines)
    numbers = [one for text in page.texts if (one := number(text))]
    for one in numbers:
        best = min(
            (
                (_cost(one.text, side), k, name)
                for k, of_frame in enumerate(all_sides)
                for name, side in of_frame.items()
            ),
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
    comma = comma_of(numbers)
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
    """The distance of a text from being a label of this side: the gap, and more where no tick mark stands beside it."""
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
    """The numbers in one row (or column) beside the side, the one that is nearest and has at least two; sorted along
    the side."""
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
        pairs = (
            [(a.chars[0].start[1], b.chars[0].start[1])] if a.upright else [(a.box[1], b.box[1]), (a.box[3], b.box[3])]
        )
    else:
        pairs = [(a.box[0], b.box[0]), (a.box[2], b.box[2]), (a.middle[0], b.middle[0])]
    room = 0.35 if side.level else 0.6  # labels of minor ticks stand closer to the axis
    return any(abs(p - q) < room * max(a.size, b.size) for p, q in pairs)


MULTIPLIER = re.compile(
    r"(?:[×x]?(?:1?[eE]([+-]?\d+)|10\^\{([+-]?\d+)\}))?([+-]\d[\d.,]*(?:[eE][+-]?\d+|[×x]10\^\{[+-]?\d+\})?)?"
)


def _multiplier(side: Side, page: FigurePage) -> Text | None:
    """matplotlib's text at the end of an axis that all labels are to be multiplied by, or added to."""
    left, bottom, right, top = side.frame
    for text in page.texts:
        if not text.upright or not (said := as_written(text)) or not MULTIPLIER.fullmatch(said):
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


def scaled_by(text: Text | None) -> tuple[float, float]:
    """(factor, summand) of a multiplier."""
    if text is None:
        return 1.0, 0.0
    match = MULTIPLIER.fullmatch(as_written(text))
    exponent = match[1] or match[2]
    summand = match[3] or "0"
    summand = re.sub(r"[×x]10\^\{([+-]?\d+)\}", r"e\1", summand).replace(",", ".")
    return 10.0 ** int(exponent or 0), float(summand)
