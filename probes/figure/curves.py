"""The curves of a panel: lines and markers put together, named from the legend or from a text at their end. Part of `probes.figure.figure`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from probes.figure.axes import Drawn, number, same, segment
from probes.figure.page import Page, Path, Rect, Text
from probes.figure.types import Curve

SMALL = 22.0  # points: a mark is not larger
AT_PLACE = 0.05  # points by which a marker may be off the vertex it belongs to


@dataclass
class Sample:
    """A line or a mark of the legend, beside its text."""

    text: Text
    colour: str
    dash: tuple[float, ...] | None  # None: there is no line
    width: float
    shape: tuple | None  # of its mark; None: there is none
    at: tuple[float, float]
    orders: set[int] = field(default_factory=set)  # of its paths


@dataclass
class Series:
    """Marks of one shape and look, in the order of painting. places: shape (n, 2)."""

    shape: tuple
    colour: str
    fill: str
    places: np.ndarray
    sure: bool
    order: int
    stroke: str = ""


def curves(
    page: Page, drawn: Drawn, samples: list[Sample], owners: dict[int, int], index: int
) -> tuple[list[Curve], list[tuple]]:
    """(the curves of a panel in page coordinates, their looks). owners: order of a path -> index of the panel that it belongs to."""
    frame = drawn.panel.frame
    in_legends = {order for sample in samples for order in sample.orders}
    mine = [path for path in page.paths if owners.get(path.order) == index and path.order not in in_legends]
    lines = [path for path in mine if _is_line(path, frame)]
    areas = _areas(mine, frame)
    series = _series([path for path in mine if _is_mark(path, frame) and path not in lines and path not in areas])
    bars = {path.order for path in lines if _is_upright(path)} | _level_bars(lines)
    strokes = [path for path in lines if path.order in bars]
    lines = [path for path in lines if path.order not in bars and not _is_base(path, strokes)]
    lines = _once(lines)
    found = [_curve(path, page, frame) for path in lines]
    looks = [(path.stroke, path.dash, path.width, None, path.order) for path in lines]
    for one in series:
        owner = _carrier(one, found, looks)
        if owner is not None:
            _put_on(found[owner], one, frame)
            looks[owner] = (*looks[owner][:3], one.shape, looks[owner][4])
        elif not _is_cap(one) and len(one.places) >= 2:
            found.append(_of_marks(one, frame))
            looks.append((one.fill or one.colour, None, 0.0, one.shape, one.order))
            if not one.sure:
                drawn.panel.problems.append("The exact places of some markers cannot be told from their shape.")
    feet = [round(path.box[1], 1) for path in strokes]
    loose = [
        path
        for path, foot in zip(strokes, feet, strict=True)
        if not any(_stands_on(path, curve, feet.count(foot) > 1) for curve in found)
    ]
    drawn.panel.shapes = len(areas) + (len(loose) if len(loose) > 1 else 0)
    return found, looks


def owners_of(page: Page, drawn: list[Drawn]) -> dict[int, int]:
    """Which panel each path belongs to: the one it is clipped to, else the one that it lies in."""
    owners = {}
    frames = [one.panel.frame for one in drawn]
    for path in page.paths:
        if path.clip is not None:
            for k, frame in enumerate(frames):
                if same(path.clip, frame, 1.5):
                    owners[path.order] = k
                    break
            else:
                inside = [k for k, frame in enumerate(frames) if _within(path.box, frame, 2.0) and _contains(path.clip, frame)]
                if inside:
                    owners[path.order] = min(inside, key=lambda k: _area(frames[k]))
        else:
            inside = [k for k, frame in enumerate(frames) if _within(path.box, frame, 2.0)]
            if inside:
                owners[path.order] = min(inside, key=lambda k: _area(frames[k]))
    return owners


def lost_lines(page: Page, drawn: list[Drawn]) -> bool:
    """Whether there is a line that looks like a curve and is clipped to a rectangle in which no axes were found."""
    frames = [one.panel.frame for one in drawn]
    for path in page.paths:
        clip = path.clip
        if clip is None or not path.stroke or path.fill or path.curved or any(path.closed) or segment(path):
            continue
        large = path.box[2] - path.box[0] > 2 * SMALL and clip[2] - clip[0] < 0.97 * page.width
        if large and not any(same(clip, frame, 3.0) or _contains(clip, frame) or _contains(frame, clip) for frame in frames):
            return True
    return False


def _within(box: Rect, frame: Rect, slack: float) -> bool:
    return box[0] >= frame[0] - slack and box[1] >= frame[1] - slack and box[2] <= frame[2] + slack and box[3] <= frame[3] + slack


def _contains(outer: Rect, inner: Rect) -> bool:
    return _within(inner, outer, 2.0)


def _area(frame: Rect) -> float:
    return (frame[2] - frame[0]) * (frame[3] - frame[1])


# -- lines ----------------------------------------------------------------------------------------------------------------------------


def _is_line(path: Path, frame: Rect) -> bool:
    """Whether a path can be the line of a curve: drawn, not filled, open, neither grid nor frame nor a small mark."""
    if not path.stroke or path.curved or path.alpha < 0.02 or path.width > 15:
        return False
    points = sum(len(piece) for piece in path.pieces)
    if any(path.closed) or (path.fill and points != 2) or points < 2:
        return False
    clipped = path.clip is not None and same(path.clip, frame, 1.5)
    line = segment(path)
    width, height = path.box[2] - path.box[0], path.box[3] - path.box[1]
    if line:
        extent = (frame[2] - frame[0]) if line[0] == "h" else (frame[3] - frame[1])
        if line[3] - line[2] >= 0.97 * extent or (line[0] == "h" and line[3] - line[2] < 8 and not clipped):
            return False
        if not clipped and line[0] == "v":
            return False
    if path.anchor is not None and max(width, height) < SMALL:
        return False
    if len(path.pieces) > 1 and max(width, height) < SMALL:
        return False  # a plus or a cross
    if path.fill:
        return False
    return clipped or points >= 3 or width > 60


def _once(lines: list[Path]) -> list[Path]:
    """Without lines that are drawn a second time in the same look, as happens when a cell is run twice."""
    kept: list[Path] = []
    for path in lines:
        twins = (
            o
            for o in kept
            if (o.stroke, o.dash, o.box) == (path.stroke, path.dash, path.box) and len(o.pieces) == len(path.pieces)
        )
        if not any(all(np.array_equal(a, b) for a, b in zip(o.pieces, path.pieces, strict=True)) for o in twins):
            kept.append(path)
    return kept


def _is_upright(path: Path) -> bool:
    """An error bar or a vertical line: no function of x."""
    return all(np.ptp(piece[:, 0]) < 0.01 for piece in path.pieces)


def _level_bars(lines: list[Path]) -> set[int]:
    """Level lines of two points in groups of the same look: error bars along x. A single one may be a curve."""
    groups: dict[tuple, list[int]] = {}
    for path in lines:
        line = segment(path)
        if line and line[0] == "h" and sum(len(piece) for piece in path.pieces) == 2:
            groups.setdefault((path.stroke, round(path.width, 2), path.dash), []).append(path.order)
    return {order for group in groups.values() if len(group) >= 3 for order in group}


def _is_base(path: Path, strokes: list[Path]) -> bool:
    """Whether a straight line is what the stems of a stem plot stand on: no curve."""
    line = segment(path)
    if line is None or line[0] != "h" or sum(len(piece) for piece in path.pieces) != 2:
        return False
    level = line[1]
    return sum(min(abs(one.box[1] - level), abs(one.box[3] - level)) < AT_PLACE for one in strokes if _is_upright(one)) > 1


def _stands_on(stroke: Path, curve: Curve, from_one_level: bool) -> bool:
    """Whether a stroke is an error bar of this curve, which runs through one of its points, or a stem, which ends at one.

    from_one_level: others begin where it begins, so it is a stem, or a thin bar.
    """
    left, bottom, right, top = stroke.box
    x, y = curve.page_x, curve.page_y
    if from_one_level:
        bottom = top
    return bool(((x > left - 0.6) & (x < right + 0.6) & (y > bottom - 0.6) & (y < top + 0.6)).any())


def _areas(mine: list[Path], frame: Rect) -> list[Path]:
    """Bars and filled areas. What is as wide or as high as the panel is a background; what is no larger than a mark may be a low bar."""
    width, height = frame[2] - frame[0], frame[3] - frame[1]
    filled = [
        path
        for path in mine
        if path.fill
        and path.alpha >= 0.02
        and path.anchor is None
        and path.clip is not None
        and same(path.clip, frame, 1.5)
        and path.box[2] - path.box[0] < 0.97 * width
        and path.box[3] - path.box[1] < 0.97 * height
    ]
    foot = [(round(path.box[1], 1), round(path.box[2] - path.box[0], 1)) for path in filled]
    heights: dict[tuple, set[float]] = {}
    for path, where in zip(filled, foot, strict=True):
        heights.setdefault(where, set()).add(round(path.box[3], 1))
    large = [
        path
        for path, where in zip(filled, foot, strict=True)
        if max(path.box[2] - path.box[0], path.box[3] - path.box[1]) > SMALL or len(heights[where]) > 1
    ]
    feet = {round(path.box[side], 1) for path in large for side in (0, 1, 3)}
    return [path for path in filled if path in large or any(round(path.box[side], 1) in feet for side in (0, 1, 3))]


def _curve(path: Path, page: Page, frame: Rect) -> Curve:
    pieces = [piece for piece in path.pieces if len(piece) > 1] or path.pieces
    points = np.concatenate(pieces)
    breaks = np.cumsum([len(piece) for piece in pieces])[:-1].tolist()
    x, y = points[:, 0], points[:, 1]
    edge = (
        (x < 8) | (x > page.width - 8) | (y < 8) | (y > page.height - 8)
    )  # savefig may have cut or widened the page by some points
    ends = np.zeros(len(x), bool)
    ends[[0, len(x) - 1, *breaks, *[b - 1 for b in breaks]]] = True
    curve = Curve(np.full(len(x), np.nan), np.full(len(x), np.nan), x, y, colour=path.stroke, width=path.width, dash=path.dash)
    curve.visible = visible_points(x, y, frame)
    curve.cut, curve.breaks = edge & ends & ~curve.visible, [int(b) for b in breaks]
    return curve


def visible_points(x: np.ndarray, y: np.ndarray, frame: Rect) -> np.ndarray:
    left, bottom, right, top = frame
    return (x > left - 0.6) & (x < right + 0.6) & (y > bottom - 0.6) & (y < top + 0.6)


# -- markers --------------------------------------------------------------------------------------------------------------------------


def _is_mark(path: Path, frame: Rect) -> bool:
    width, height = path.box[2] - path.box[0], path.box[3] - path.box[1]
    if max(width, height) > SMALL or path.alpha < 0.02:
        return False
    clipped = path.clip is not None and same(path.clip, frame, 1.5)
    return clipped or path.anchor is not None or ((path.curved or any(path.closed)) and path.clip is None)


def _shape(path: Path) -> tuple:
    """What two marks of the same shape and size have in common."""
    left, bottom, right, top = path.box
    corner = np.array([left, bottom])
    points = np.concatenate(path.pieces) - corner
    return (round(right - left, 1), round(top - bottom, 1), len(points), tuple(np.round(points[:3].ravel(), 1).tolist()))


def _series(marks: list[Path]) -> list[Series]:
    """Marks of one shape and look that are drawn one after the other."""
    groups: list[list[Path]] = []
    keys: list[tuple] = []
    for path in marks:
        key = (_shape(path), path.stroke, path.fill)
        if keys and key == keys[-1] and path.order - groups[-1][-1].order <= 2:
            groups[-1].append(path)
        else:
            groups.append([path])
            keys.append(key)
    found = []
    for (shape, stroke, fill), group in zip(keys, groups, strict=True):
        placed = [_place(path) for path in group]
        places, sure = np.array([place for place, _ in placed]), all(certain for _, certain in placed)
        found.append(Series(shape, stroke or fill, fill, places, sure, group[0].order, stroke))
    return _joined(found)


def _joined(series: list[Series]) -> list[Series]:
    """plotly draws a mark's outline and its inside as two paths: one series of both. Two curves that coincide are still two."""
    kept: list[Series] = []
    for one in series:
        parts = bool(kept) and {bool(kept[-1].fill and not kept[-1].stroke), bool(one.fill and not one.stroke)} == {True, False}
        if parts and len(kept[-1].places) == len(one.places) and np.allclose(kept[-1].places, one.places, atol=AT_PLACE):
            continue
        kept.append(one)
    return kept


def _place(path: Path) -> tuple[tuple[float, float], bool]:
    """(where a mark is, whether that is certain)."""
    if path.anchor is not None:
        return path.anchor, True
    points = np.unique(np.round(np.concatenate(path.pieces), 4), axis=0)
    middle = ((path.box[0] + path.box[2]) / 2, (path.box[1] + path.box[3]) / 2)
    mean = points.mean(0)
    if abs(mean[0] - middle[0]) < AT_PLACE and abs(mean[1] - middle[1]) < AT_PLACE:
        return middle, True
    spread = np.hypot(*(points - mean).T)
    if len(points) >= 5 and (np.ptp(spread) < 0.02 * spread.mean() or len(points) == 10):
        return (float(mean[0]), float(mean[1])), True  # a regular polygon, a star
    return middle, False


def _is_cap(one: Series) -> bool:
    """The ends of error bars: marks that are one short straight line."""
    return one.shape[2] == 2 and min(one.shape[0], one.shape[1]) < 0.05


def _carrier(one: Series, found: list[Curve], looks: list[tuple]) -> int | None:
    """The line whose vertices the marks stand on; the last one drawn before them, if several do."""
    best = None
    for k, curve in enumerate(found):
        if not curve.line:
            continue
        if one.sure:
            on_line = (_distance(one.places, curve) < AT_PLACE).mean()
            gaps = bool(curve.breaks) or bool(curve.cut.any()) or len(one.places) > len(curve.page_x)
            fits = on_line > 0.9 or (gaps and on_line >= 0.3 and _far(one.colour, curve.colour) < 6)
        else:  # the same small shift for all of them
            off = _shift(one.places, curve)
            fits = off is not None
        if fits and (best is None or looks[k][4] < one.order):
            best = k
    return best


def _distance(places: np.ndarray, curve: Curve) -> np.ndarray:
    """From each place to the line (not only to its vertices: matplotlib may have left some out), in points."""
    x, y = curve.page_x, curve.page_y
    best = np.full(len(places), np.inf)
    for block in range(0, len(places), 500):
        px, py = places[block : block + 500, 0][:, None], places[block : block + 500, 1][:, None]
        if len(x) > 4000:
            best[block : block + 500] = np.hypot(px - x, py - y).min(1)
            continue
        dx, dy = np.diff(x), np.diff(y)
        length = np.maximum(dx * dx + dy * dy, 1e-18)
        t = np.clip(((px - x[:-1]) * dx + (py - y[:-1]) * dy) / length, 0, 1)
        best[block : block + 500] = np.hypot(px - x[:-1] - t * dx, py - y[:-1] - t * dy).min(1)
    return best


def _shift(places: np.ndarray, curve: Curve) -> tuple[float, float] | None:
    """The shift, the same for all marks, that brings them onto the line's vertices, if it is small."""
    if len(places) != len(curve.page_x):
        return None
    dx, dy = places[:, 0] - curve.page_x, places[:, 1] - curve.page_y
    if np.ptp(dx) < AT_PLACE and np.ptp(dy) < AT_PLACE and np.hypot(dx[0], dy[0]) < SMALL / 2:
        return float(dx[0]), float(dy[0])
    return None


def _put_on(curve: Curve, one: Series, frame: Rect) -> None:
    """The curve has these marks. Where the line was simplified, they tell what was left out."""
    curve.marker = True
    if not one.sure or len(one.places) > 5000:
        return
    vertices = np.column_stack([curve.page_x, curve.page_y])
    new = np.array([np.abs(vertices - place).max(1).min() > AT_PLACE for place in one.places])
    if not new.any():
        return
    x, y = np.concatenate([curve.page_x, one.places[new, 0]]), np.concatenate([curve.page_y, one.places[new, 1]])
    order = np.argsort(x, kind="stable")
    if (np.diff(curve.page_x) < -1e-6).any():
        return
    cut = np.concatenate([curve.cut, np.zeros(int(new.sum()), bool)])
    curve.page_x, curve.page_y, curve.cut = x[order], y[order], cut[order]
    curve.x = curve.y = np.full(len(x), np.nan)
    curve.visible, curve.breaks = visible_points(curve.page_x, curve.page_y, frame), []


def _of_marks(one: Series, frame: Rect) -> Curve:
    x, y = one.places[:, 0], one.places[:, 1]
    nothing = np.full(len(x), np.nan)
    curve = Curve(nothing, nothing.copy(), x, y, colour=one.fill or one.colour, line=False, marker=True)
    curve.cut, curve.visible = np.zeros(len(x), bool), visible_points(x, y, frame)
    return curve


# -- names ----------------------------------------------------------------------------------------------------------------------------


def legend(page: Page, drawn: list[Drawn]) -> list[Sample]:
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
        is_mark = not is_line and max(width, height) <= SMALL and min(width, height) > 0.5 and (path.stroke or path.fill)
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
            known.shape = _shape(path)
            if known.dash is None:
                known.colour = path.fill or path.stroke
    return [one for one in found if one.dash is not None or one.shape is not None]


def _on_a_curve(mark: Path, page: Page) -> bool:
    """Whether a mark stands on a corner of a line that is not clipped: then it belongs to that curve and to no legend."""
    place, _ = _place(mark)
    for path in page.paths:
        if path.clip is None and path.stroke and not path.fill and not path.curved and not any(path.closed):
            large = path.box[2] - path.box[0] > 70 or (
                path.box[3] - path.box[1] > 0.01 and len(path.pieces[0]) > 2 and path.anchor is None
            )
            if large and _within((*place, *place), path.box, 0.1):
                if any(np.abs(piece - place).max(1).min() < AT_PLACE for piece in path.pieces):
                    return True
    return False


def _beside(box: Rect, order: int, texts: Iterable[Text]) -> Text | None:
    """The text that stands right of a sample on the same line (or left of it, where there is none).

    order: of the sample; of several texts, one that was painted after it is preferred to one that lies under the legend.
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


def _legends_for(drawn: Drawn, others: list[Drawn], samples: list[Sample], count: int) -> list[list[Sample]]:
    """The legends that may name a panel's curves: its own, the figure's, another panel's if that has as many entries as here are curves."""

    def within(one: Drawn, sample: Sample) -> bool:
        return _within((*sample.at, *sample.at), one.panel.frame, 0.0)

    own = [s for s in samples if within(drawn, s)]
    free = [s for s in samples if not any(within(one, s) for one in (drawn, *others))]
    foreign = [[s for s in samples if within(one, s)] for one in others]
    return [pool for pool in (own, free, *(f for f in foreign if len(f) == count)) if pool]


def name_by_legend(curve_list: list[Curve], looks: list[tuple], samples: list[Sample], drawn: Drawn, others: list[Drawn]) -> None:
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
                "Two entries of the legend look like the same curve: " + ", ".join(f"“{name}”" for name in sorted(names)) + "."
            )
        elif len(names) == 1:
            drawn.panel.problems.append(f"Several curves look like the legend's “{next(iter(names))}”.")


def _alike(curve: Curve, look: tuple, samples: list[Sample]) -> list[Sample]:
    """The samples that look most like the curve: in colour, dashes and mark."""
    _, dash, width, shape, _ = look
    scored = []
    for sample in samples:
        if _far(sample.colour, curve.colour) > 6:
            continue
        score = 0.0
        if (sample.dash is None) != (dash is None):
            score += 2
        elif dash is not None:
            score += 0 if _same_dash(sample.dash, dash, sample.width, width) else 4
        score += 0 if (sample.shape is None) == (shape is None) else 1
        if sample.shape is not None and shape is not None and sample.shape[2] != shape[2]:
            score += 2
        elif sample.shape is not None and shape is not None and not np.allclose(_unit(sample.shape), _unit(shape), atol=0.06):
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
    """Whether two dash patterns are the same in units of their line's width, or in points."""
    if len(a) != len(b):
        return False
    if not a:
        return True
    in_points = np.allclose(a, b, rtol=0.05, atol=0.1)
    return bool(in_points or np.allclose(np.array(a) / (width_a or 1), np.array(b) / (width_b or 1), rtol=0.08, atol=0.1))


def _channels(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], float)


def _far(a: str, b: str) -> float:
    """The largest difference of two colours' red, green and blue, of 255."""
    return float(np.abs(_channels(a) - _channels(b)).max())


def name_by_ends(curve_list: list[Curve], drawn: Drawn, page: Page, taken: set[int]) -> None:
    """Give each nameless curve the text that stands behind its last visible point, if there is one for each and no doubt which.

    taken: orders of texts that are something else (tick labels, axis labels, titles, legends).
    """
    frame = drawn.panel.frame
    texts = [t for t in page.texts if t.upright and t.order not in taken and _is_name(t) and _near_frame(t, frame)]
    nameless = [c for c in curve_list if not c.name and c.visible.any()]
    if not texts or not nameless:
        return
    for curve in nameless:
        coloured = [t for t in texts if same_colour(t.colour, curve.colour)]
        rivals = [c for c in nameless if c is not curve and same_colour(coloured[0].colour, c.colour)] if coloured else []
        if len({t.text for t in coloured}) == 1 and not rivals and _grey(coloured[0].colour) is False:
            curve.name, curve.named_by = coloured[0].text, "text"
    nameless = [c for c in nameless if not c.name]
    used = {c.name for c in curve_list if c.named_by == "text"}
    texts = [t for t in texts if t.text not in used]
    pairs, chosen = [], []
    for curve in nameless:
        last = np.flatnonzero(curve.visible)[-1]
        x, y = curve.page_x[last], curve.page_y[last]
        near = [t for t in texts if -6 < t.box[0] - x < 40 and abs(t.middle[1] - y) < 1.6 * t.size]
        near.sort(key=lambda t: abs(t.middle[1] - y))
        pairs.append((curve, near, y))
    for curve, near, y in pairs:
        free = [t for t in near if all(o is curve or abs(t.middle[1] - v) > abs(t.middle[1] - y) for o, _, v in pairs)]
        if len(free) == 1 or (free and abs(free[0].middle[1] - y) < 0.35 * free[0].size):
            chosen.append((curve, free[0].text))
    if len({text for _, text in chosen}) == len(nameless):  # a single note beside one of several curves names nothing
        for curve, text in chosen:
            curve.name, curve.named_by = text, "text"


def _is_name(text: Text) -> bool:
    """Whether a text may name a curve: no number, and no remark that holds a decimal number ("best: 0.97")."""
    return number(text) is None and not re.search(r"\d[.,]\d|[=:]\s*\d", text.text)


def _near_frame(text: Text, frame: Rect) -> bool:
    return frame[0] < text.box[0] < frame[2] + 60 and frame[1] - 10 < text.middle[1] < frame[3] + 10


def same_colour(text: str, line: str) -> bool:
    """Whether a text's colour is the line's, or the same made darker for reading."""
    if _far(text, line) <= 6:
        return True
    a, b = _channels(text), _channels(line)
    return bool(b.max() > 0 and 0.5 <= a.max() / b.max() < 1 and np.abs(a - b * a.max() / b.max()).max() <= 8)


def _grey(colour: str) -> bool:
    return float(np.ptp(_channels(colour))) < 12


def twin_axes(curve_list: list[Curve], looks: list[tuple], drawn: Drawn) -> bool:
    """Say which curve of a twin panel goes with the right axis, by the order of painting: matplotlib draws one axes, then the other.

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
