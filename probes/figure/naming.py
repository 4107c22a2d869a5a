"""The names of curves: from the legend, or from a text at their end. Part of `probes.figure.figure`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from probes.figure.axes import DrawnPanel
from probes.figure.curves import AT_PLACE, SMALL, Sample, channels, colours_apart, place_of, shape_of, within_frame
from probes.figure.numbers import number
from probes.figure.page import FigurePage, Path, Rect, Text
from probes.figure.sides import same, segment
from probes.figure.types import Curve


def legend(page: FigurePage, drawn: list[DrawnPanel]) -> list[Sample]:
    """The samples of all legends of a page: a short level line or a mark, and the text beside it."""
    frames = [one.panel.frame for one in drawn]
    texts = [text for text in page.texts if text.upright and not number(text)]
    found: list[Sample] = []
    for path in page.paths:
        if any(path.clip is not None and same(path.clip, frame, 1.5) for frame in frames):
            continue
        line = segment(path)
        width, height = path.box[2] - path.box[0], path.box[3] - path.box[1]
        is_line = bool(line and line[0] == "h" and 7 <= width <= 70 and not path.fill)
        is_mark = (
            not is_line and max(width, height) <= SMALL and min(width, height) > 0.5 and (path.stroke or path.fill)
        )
        if is_mark and _on_a_curve(path, page):
            continue
        if not (is_line or is_mark):
            continue
        text = _beside(path.box, path.order, texts)
        if text is None:
            continue
        x, y = (path.box[0] + path.box[2]) / 2, (path.box[1] + path.box[3]) / 2
        known = next((s for s in found if s.text is text and abs(s.at[1] - y) < 4), None)
        if known is None:
            known = Sample(text, path.stroke if is_line else path.fill or path.stroke, None, 0.0, None, (x, y))
            found.append(known)
        known.orders.add(path.order)
        if is_line:
            known.colour, known.dash, known.width = path.stroke, path.dash, path.width
        elif known.shape is None:
            known.shape = shape_of(path)
            if known.dash is None:
                known.colour = path.fill or path.stroke
    return [one for one in found if one.dash is not None or one.shape is not None]


def _on_a_curve(mark: Path, page: FigurePage) -> bool:
    """True if a mark stands on a corner of a line that is not clipped: then it belongs to that curve and to no
    legend."""
    place, _ = place_of(mark)
    for path in page.paths:
        if path.clip is None and path.stroke and not path.fill and not path.curved and not any(path.closed):
            large = path.box[2] - path.box[0] > 70 or (
                path.box[3] - path.box[1] > 0.01 and len(path.pieces[0]) > 2 and path.anchor is None
            )
            if large and within_frame((*place, *place), path.box, 0.1):
                if any(np.abs(piece - place).max(1).min() < AT_PLACE for piece in path.pieces):
                    return True
    return False


def _beside(box: Rect, order: int, texts: Iterable[Text]) -> Text | None:
    """The text that stands right of a sample on the same line (or left of it, where there is none).

    order: of the sample; of several texts, one that was painted after it is preferred to one that lies under the
    legend.
    """
    y = (box[1] + box[3]) / 2
    right, left = [], []
    for text in texts:
        if not text.box[1] - 0.45 * text.size <= y <= text.box[3] + 0.45 * text.size:
            continue
        gap = text.box[0] - box[2]
        if -1 <= gap <= 28:
            right.append((text.order < order, gap, text.order, text))
        elif -1 <= box[0] - text.box[2] <= 12:
            left.append((text.order < order, box[0] - text.box[2], text.order, text))
    return min(right or left)[3] if right or left else None


def _legends_for(drawn: DrawnPanel, others: list[DrawnPanel], samples: list[Sample], count: int) -> list[list[Sample]]:
    """The legends that may name a panel's curves: its own, the figure's, another panel's if that has as many entries as
    here are curves."""

    def within(one: DrawnPanel, sample: Sample) -> bool:
        return within_frame((*sample.at, *sample.at), one.panel.frame, 0.0)

    own = [s for s in samples if within(drawn, s)]
    free = [s for s in samples if not any(within(one, s) for one in (drawn, *others))]
    foreign = [[s for s in samples if within(one, s)] for one in others]
    return [pool for pool in (own, free, *(f for f in foreign if len(f) == count)) if pool]


def name_by_legend(
    curve_list: list[Curve], looks: list[tuple], samples: list[Sample], drawn: DrawnPanel, others: list[DrawnPanel]
) -> None:
    """Give each curve the text of the one legend sample that looks like it. others: the page's other panels."""
    chosen: list[list[Sample]] = []
    for pool in _legends_for(drawn, others, samples, len(curve_list)):
        chosen = [_alike(curve, look, pool) for curve, look in zip(curve_list, looks, strict=True)]
        if any(chosen):
            break
    else:
        return
    for k, (curve, matching) in enumerate(zip(curve_list, chosen, strict=True)):
        names = {sample.text.text for sample in matching}
        rivals = [j for j, other in enumerate(chosen) if j != k and any(s in other for s in matching)]
        if len(names) == 1 and not rivals:
            curve.name, curve.named_by = next(iter(names)), "legend"
        elif len(names) > 1:
            drawn.panel.problems.append(
                "Two entries of the legend look like the same curve: "
                + ", ".join(f"“{name}”" for name in sorted(names))
                + "."
            )
        elif len(names) == 1:
            drawn.panel.problems.append(f"Several curves look like the legend's “{next(iter(names))}”.")


def _alike(curve: Curve, look: tuple, samples: list[Sample]) -> list[Sample]:
    """The samples that look most like the curve: in colour, dashes and mark."""
    _, dash, width, shape, _ = look
    scored = []
    for sample in samples:
        if colours_apart(sample.colour, curve.colour) > 6:
            continue
        score = 0.0
        if (sample.dash is None) != (dash is None):
            score += 2
        elif dash is not None:
            score += 0 if _same_dash(sample.dash, dash, sample.width, width) else 4
        score += 0 if (sample.shape is None) == (shape is None) else 1
        if sample.shape is not None and shape is not None and sample.shape[2] != shape[2]:
            score += 2
        elif (
            sample.shape is not None
            and shape is not None
            and not np.allclose(_unit(sample.shape), _unit(shape), atol=0.06)
        ):
            score += 1.5
        scored.append((score, sample))
    if not scored:
        return []
    least = min(score for score, _ in scored)
    return [sample for score, sample in scored if score == least and score < 4]


def _unit(shape: tuple) -> list[float]:
    """A mark's first points for a mark of size 1."""
    size = max(shape[0], shape[1]) or 1.0
    return [v / size for v in shape[3]] + [0.0] * (6 - len(shape[3]))


def _same_dash(a: tuple, b: tuple, width_a: float, width_b: float) -> bool:
    """True if two dash patterns are the same in units of their line's width, or in points."""
    if len(a) != len(b):
        return False
    if not a:
        return True
    in_points = np.allclose(a, b, rtol=0.05, atol=0.1)
    return bool(
        in_points or np.allclose(np.array(a) / (width_a or 1), np.array(b) / (width_b or 1), rtol=0.08, atol=0.1)
    )


# A name at the end of a curve: how far its text begins behind the last point (points of the page; before it a little,
# where a marker is wide), and how far its middle is above or below (heights of the text). Within the last it is this
# curve's whatever else is near.
BEFORE_THE_END, BEHIND_THE_END = 6.0, 40.0
ABOVE_OR_BELOW, LEVEL_WITH = 1.6, 0.35


def name_by_ends(curve_list: list[Curve], drawn: DrawnPanel, page: FigurePage, taken: set[int]) -> None:
    """Give each nameless curve the text behind its last visible point, if there is one for each and no doubt which.

    taken: orders of texts that are something else (tick labels, axis labels, titles, legends).
    """
    frame = drawn.panel.frame
    texts = [t for t in page.texts if t.upright and t.order not in taken and _is_name(t) and _near_frame(t, frame)]
    nameless = [c for c in curve_list if not c.name and c.visible.any()]
    for curve in nameless if texts else ():
        coloured = [t for t in texts if same_colour(t.colour, curve.colour)]
        rivals = (
            [c for c in nameless if c is not curve and same_colour(coloured[0].colour, c.colour)] if coloured else []
        )
        if len({t.text for t in coloured}) == 1 and not rivals and _grey(coloured[0].colour) is False:
            curve.name, curve.named_by = coloured[0].text, "text"
    used = {c.name for c in curve_list if c.named_by == "text"}
    _name_by_place([c for c in nameless if not c.name], [t for t in texts if t.text not in used])


def _name_by_place(nameless: list[Curve], texts: list[Text]) -> None:
    """Each curve the text at the height of its end, if all of them find one of their own."""
    ends = {}  # curve: (height of its end, texts beside it, the nearest first)
    for k, curve in enumerate(nameless):
        last = np.flatnonzero(curve.visible)[-1]
        x, y = curve.page_x[last], curve.page_y[last]
        beside = [t for t in texts if -BEFORE_THE_END < t.box[0] - x < BEHIND_THE_END]
        near = [t for t in beside if abs(t.middle[1] - y) < ABOVE_OR_BELOW * t.size]
        ends[k] = y, sorted(near, key=lambda t, y=y: abs(t.middle[1] - y))
    chosen = {}
    for k, (y, near) in ends.items():
        others = [v for other, (v, _) in ends.items() if other != k]
        free = [t for t in near if all(abs(t.middle[1] - v) > abs(t.middle[1] - y) for v in others)]
        if len(free) == 1 or (free and abs(free[0].middle[1] - y) < LEVEL_WITH * free[0].size):
            chosen[k] = free[0].text
    if len(set(chosen.values())) == len(nameless):  # a single note beside one of several curves names nothing
        for k, text in chosen.items():
            nameless[k].name, nameless[k].named_by = text, "text"


def _is_name(text: Text) -> bool:
    """True if a text may name a curve: no number, and no remark that holds a decimal number ("best: 0.97")."""
    return number(text) is None and not re.search(r"\d[.,]\d|[=:]\s*\d", text.text)


def _near_frame(text: Text, frame: Rect) -> bool:
    return frame[0] < text.box[0] < frame[2] + 60 and frame[1] - 10 < text.middle[1] < frame[3] + 10


def same_colour(text: str, line: str) -> bool:
    """True if a text's colour is the line's, or the same made darker for reading."""
    if colours_apart(text, line) <= 6:
        return True
    a, b = channels(text), channels(line)
    return bool(b.max() > 0 and 0.5 <= a.max() / b.max() < 1 and np.abs(a - b * a.max() / b.max()).max() <= 8)


def _grey(colour: str) -> bool:
    return float(np.ptp(channels(colour))) < 12


def twin_axes(curve_list: list[Curve], looks: list[tuple], drawn: DrawnPanel) -> bool:
    """Say which curve of a twin panel goes with the right axis, by the order of painting: matplotlib draws one axes,
    then the other.

    Returns whether that is certain.
    """
    left = [n.text.order for n in drawn.sides["left"].labels]
    right = [n.text.order for n in drawn.sides["right"].labels]
    if not left or not right or max(left) > min(right):
        return False
    first, second = min(left), min(right)
    orders = [look[4] for look in looks]
    before = [order < first for order in orders]
    behind = [order > max(right) for order in orders]
    between = [first < order < second for order in orders]
    if any(before) == any(behind):
        return False
    for curve, is_behind, is_between in zip(curve_list, behind, between, strict=True):
        if is_behind or (any(before) and is_between):
            curve.axis = "right"
    return True
