"""The curves of a panel: lines and markers put together, named from the legend or from a text at their end. Part of
`probes.figure.figure`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from probes.figure.axes import DrawnPanel, same, segment
from probes.figure.page import FigurePage, Path, Rect, Text
from probes.figure.seen import Seen, some_places, within
from probes.figure.types import Curve

HIDDEN = "A curve of it cannot be seen: it has the colour of what lies below it, is covered, or as good as transparent."
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
    paths: list[Path] = field(default_factory=list)


def curves(
    page: FigurePage, drawn: DrawnPanel, samples: list[Sample], owners: dict[int, int], index: int, seen: Seen
) -> tuple[list[Curve], list[tuple]]:
    """(the curves of a panel in page coordinates, their looks). owners: order of a path -> index of the panel that it
    belongs to. seen: of the page; what nobody sees is no curve, and a problem of the panel."""
    frame = drawn.panel.frame
    in_legends = {order for sample in samples for order in sample.orders}
    mine = [path for path in page.paths if owners.get(path.order) == index and path.order not in in_legends]
    lines = [path for path in mine if _is_line(path, frame)]
    areas = _areas(mine, frame)
    series = _series([path for path in mine if _is_mark(path, frame) and path not in lines and path not in areas])
    bars = {path.order for path in lines if _is_upright(path)} | _level_bars(lines)
    strokes = [path for path in lines if path.order in bars]
    lines = [path for path in lines if path.order not in bars and not _is_base(path, strokes)]
    hidden = [path for path in _once(lines) if not _is_seen(path, seen, frame)]
    lines = [path for path in _once(lines) if path not in hidden]
    found = [_curve(path, page, frame) for path in lines]
    looks = [(path.stroke, path.dash, path.width, None, path.order) for path in lines]
    unseen = [one for one in series if not _are_seen(one, seen, frame)]
    if _lack_something(hidden, lines, [one for one in unseen if _carrier(one, found, looks) is None]):
        drawn.panel.problems.append(HIDDEN)
    for one in (one for one in series if one not in unseen):
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


def owners_of(page: FigurePage, drawn: list[DrawnPanel]) -> dict[int, int]:
    """The panel of each path: the one it is clipped to, else the one that it lies in."""
    owners = {}
    frames = [one.panel.frame for one in drawn]
    for path in page.paths:
        if path.clip is not None:
            for k, frame in enumerate(frames):
                if same(path.clip, frame, 1.5):
                    owners[path.order] = k
                    break
            else:
                inside = [
                    k
                    for k, frame in enumerate(frames)
                    if within_frame(path.box, frame, 2.0) and _contains(path.clip, frame)
                ]
                if inside:
                    owners[path.order] = min(inside, key=lambda k: _area(frames[k]))
        else:
            inside = [k for k, frame in enumerate(frames) if within_frame(path.box, frame, 2.0)]
            if inside:
                owners[path.order] = min(inside, key=lambda k: _area(frames[k]))
    return owners


def lost_lines(page: FigurePage, drawn: list[DrawnPanel]) -> bool:
    """True if there is a line that looks like a curve and is clipped to a rectangle in which no axes were found."""
    frames = [one.panel.frame for one in drawn]
    for path in page.paths:
        clip = path.clip
        if clip is None or not path.stroke or path.fill or path.curved or any(path.closed) or segment(path):
            continue
        large = path.box[2] - path.box[0] > 2 * SMALL and clip[2] - clip[0] < 0.97 * page.width
        if large and not any(
            same(clip, frame, 3.0) or _contains(clip, frame) or _contains(frame, clip) for frame in frames
        ):
            return True
    return False


def within_frame(box: Rect, frame: Rect, slack: float) -> bool:
    """True if a box lies in a frame, or outside by no more than `slack` points."""
    return (
        box[0] >= frame[0] - slack
        and box[1] >= frame[1] - slack
        and box[2] <= frame[2] + slack
        and box[3] <= frame[3] + slack
    )


def _contains(outer: Rect, inner: Rect) -> bool:
    return within_frame(inner, outer, 2.0)


def _area(frame: Rect) -> float:
    return (frame[2] - frame[0]) * (frame[3] - frame[1])


# -- lines -------------------------------------------------------------------------------------------------------------


def _is_line(path: Path, frame: Rect) -> bool:
    """True if a path can be the line of a curve: drawn, not filled, open, neither grid nor frame nor a small mark."""
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
    """True if a straight line is what the stems of a stem plot stand on: no curve."""
    line = segment(path)
    if line is None or line[0] != "h" or sum(len(piece) for piece in path.pieces) != 2:
        return False
    level = line[1]
    return (
        sum(min(abs(one.box[1] - level), abs(one.box[3] - level)) < AT_PLACE for one in strokes if _is_upright(one)) > 1
    )


def _stands_on(stroke: Path, curve: Curve, from_one_level: bool) -> bool:
    """True if a stroke is an error bar of this curve, which runs through one of its points, or a stem, which ends at
    one.

    from_one_level: others begin where it begins, so it is a stem, or a thin bar.
    """
    left, bottom, right, top = stroke.box
    x, y = curve.page_x, curve.page_y
    if from_one_level:
        bottom = top
    return bool(((x > left - 0.6) & (x < right + 0.6) & (y > bottom - 0.6) & (y < top + 0.6)).any())


def _areas(mine: list[Path], frame: Rect) -> list[Path]:
    """Bars and filled areas. What is as wide or as high as the panel is a background; what is no larger than a mark may
    be a low bar."""
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


def _lack_something(hidden: list[Path], lines: list[Path], alone: list[Series]) -> bool:
    """True if lines that nobody sees, or such marks that stand on no line, are more than outlines of what is seen."""
    marks = any(not _is_cap(one) and len(one.places) >= 2 for one in alone)
    return marks or not all(_is_drawn_again(path, lines) for path in hidden)


def _is_seen(path: Path, seen: Seen, frame: Rect) -> bool:
    """True if a line is seen at half of its vertices within the frame at least, or half-way to the next; or if it has
    no vertex there."""
    before = np.concatenate([(piece + np.roll(piece, 1, axis=0)) / 2 for piece in path.pieces])
    behind = np.concatenate([(piece + np.roll(piece, -1, axis=0)) / 2 for piece in path.pieces])
    vertices = np.concatenate(path.pieces)
    for ends in np.cumsum([len(piece) for piece in path.pieces]):
        behind[ends - 1] = vertices[ends - 1]
    for begins in np.cumsum([0, *(len(piece) for piece in path.pieces[:-1])]):
        before[begins] = vertices[begins]
    some = within(vertices, frame)
    if not len(some):
        return True
    some = some[some_places(some)]
    around = [seen.of_line(path, places[some]) for places in (vertices, before, behind)]
    return bool(np.any(around, axis=0).mean() >= 0.5)


def _are_seen(one: Series, seen: Seen, frame: Rect) -> bool:
    """The same of marks."""
    some = within(one.places, frame)
    if not len(some):
        return True
    return bool(seen.of_marks(one.paths, one.places[some[some_places(some)]]).mean() >= 0.5)


def _is_drawn_again(path: Path, lines: list[Path]) -> bool:
    """True if a line that can be seen has the same vertices: what cannot is its outline, as text has one."""
    sizes = [len(piece) for piece in path.pieces]
    alike = (line.pieces for line in lines if [len(piece) for piece in line.pieces] == sizes)
    return any(all(map(partial(np.allclose, atol=AT_PLACE), path.pieces, pieces)) for pieces in alike)


def _curve(path: Path, page: FigurePage, frame: Rect) -> Curve:
    pieces = [piece for piece in path.pieces if len(piece) > 1] or path.pieces
    points = np.concatenate(pieces)
    breaks = np.cumsum([len(piece) for piece in pieces])[:-1].tolist()
    x, y = points[:, 0], points[:, 1]
    edge = (
        (x < 8) | (x > page.width - 8) | (y < 8) | (y > page.height - 8)
    )  # savefig may have cut or widened the page by some points
    ends = np.zeros(len(x), bool)
    ends[[0, len(x) - 1, *breaks, *[b - 1 for b in breaks]]] = True
    curve = Curve(
        np.full(len(x), np.nan), np.full(len(x), np.nan), x, y, colour=path.stroke, width=path.width, dash=path.dash
    )
    curve.visible = visible_points(x, y, frame)
    curve.cut, curve.breaks = edge & ends & ~curve.visible, [int(b) for b in breaks]
    return curve


def visible_points(x: np.ndarray, y: np.ndarray, frame: Rect) -> np.ndarray:
    """The mask of the points within the frame, shape (n,)."""
    left, bottom, right, top = frame
    return (x > left - 0.6) & (x < right + 0.6) & (y > bottom - 0.6) & (y < top + 0.6)


# -- markers -----------------------------------------------------------------------------------------------------------


def _is_mark(path: Path, frame: Rect) -> bool:
    width, height = path.box[2] - path.box[0], path.box[3] - path.box[1]
    if max(width, height) > SMALL or path.alpha < 0.02:
        return False
    clipped = path.clip is not None and same(path.clip, frame, 1.5)
    return clipped or path.anchor is not None or ((path.curved or any(path.closed)) and path.clip is None)


def shape_of(path: Path) -> tuple:
    """The key that two marks of the same shape and size have in common."""
    left, bottom, right, top = path.box
    corner = np.array([left, bottom])
    points = np.concatenate(path.pieces) - corner
    return (
        round(right - left, 1),
        round(top - bottom, 1),
        len(points),
        tuple(np.round(points[:3].ravel(), 1).tolist()),
    )


def _series(marks: list[Path]) -> list[Series]:
    """Marks of one shape and look that are drawn one after the other."""
    groups: list[list[Path]] = []
    keys: list[tuple] = []
    for path in marks:
        key = (shape_of(path), path.stroke, path.fill)
        if keys and key == keys[-1] and path.order - groups[-1][-1].order <= 2:
            groups[-1].append(path)
        else:
            groups.append([path])
            keys.append(key)
    found = []
    for (shape, stroke, fill), group in zip(keys, groups, strict=True):
        placed = [place_of(path) for path in group]
        places, sure = np.array([place for place, _ in placed]), all(certain for _, certain in placed)
        found.append(Series(shape, stroke or fill, fill, places, sure, group[0].order, stroke, group))
    return _joined(found)


def _joined(series: list[Series]) -> list[Series]:
    """plotly draws a mark's outline and its inside as two paths: one series of both. Two curves that coincide are still
    two."""
    kept: list[Series] = []
    for one in series:
        parts = bool(kept) and {bool(kept[-1].fill and not kept[-1].stroke), bool(one.fill and not one.stroke)} == {
            True,
            False,
        }
        if (
            parts
            and len(kept[-1].places) == len(one.places)
            and np.allclose(kept[-1].places, one.places, atol=AT_PLACE)
        ):
            continue
        kept.append(one)
    return kept


def place_of(path: Path) -> tuple[tuple[float, float], bool]:
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
            fits = on_line > 0.9 or (gaps and on_line >= 0.3 and colours_apart(one.colour, curve.colour) < 6)
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


# -- names -------------------------------------------------------------------------------------------------------------


def channels(colour: str) -> np.ndarray:
    """Red, green and blue of "#RRGGBB", each from 0 to 255."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], float)


def colours_apart(a: str, b: str) -> float:
    """The largest difference of two colours' red, green and blue, of 255."""
    return float(np.abs(channels(a) - channels(b)).max())
