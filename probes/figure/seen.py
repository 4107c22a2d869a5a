"""Curves that can be seen, told from those that are in the file alone. Part of `probes.figure.figure`.

A line in the colour of what lies below it, under an area, as good as transparent, or thinner than any screen shows is
in the PDF, and nobody who looks at it knows. Here each place of a line or a mark gets the colour that it has and the
one that the page would have without it, from all areas below and above it in the order of painting.
"""

from __future__ import annotations

import numpy as np

from probes.figure.page import FigurePage, Path, Rect

LEAST = 24.0  # of 255, in red, green or blue: what differs by less nobody sees
THIN = 0.25  # points: a line of this width is seen, a thinner one less in proportion
SPARSE = 0.03  # of a line: dashes that cover less are not seen
LARGE = 22.0  # points: what is filled and larger than a mark is an area
_PLACES = 60  # of a curve, at which it is looked at
_MOST = 1_000  # areas of a page that are looked at, and as many wide lines: those on top
_WHITE = np.full(3, 255.0)


class Seen:
    """The areas of a page, in the order of painting. Called with the paths of a line or of marks, and the places at
    which they stand, shape (n, 2), it says at which of them something of theirs is seen, shape (n,)."""

    def __init__(self, page: FigurePage):
        filled = [path for path in page.paths if path.fill and path.alpha > 0 and _size(path) > LARGE]
        wide = [path for path in page.paths if path.stroke and not path.fill and path.width > LARGE / 2]
        self._areas = sorted(filled[-_MOST:] + wide[-_MOST:], key=lambda path: path.order)
        self._lines = [path for path in page.paths if path.stroke and not path.fill and 2 <= path.width <= LARGE / 2]
        self._small = [path for path in page.paths if path.fill and path.alpha > 0.9 and _size(path) <= LARGE]
        self._boxes = np.array([path.box for path in self._small], float).reshape(-1, 4)
        self._orders = np.array([path.order for path in self._small], int)

    def of_line(self, path: Path, places: np.ndarray) -> np.ndarray:
        """Says at which places a line is seen."""
        strength = min(1.0, path.width / THIN) * path.alpha * (_dashed(path) >= SPARSE)
        below, above = self._around(path.order, places)
        found = _apart(path.stroke, below) * strength * above >= LEAST
        return found & ~self._erased(path.order, places, below)

    def of_marks(self, paths: list[Path], places: np.ndarray) -> np.ndarray:
        """Says at which places marks of one look are seen; paths: one for each place."""
        first = paths[0]
        below, above = self._around(paths[-1].order, places)
        strength = np.zeros(len(places))
        size = max(first.box[2] - first.box[0], first.box[3] - first.box[1])
        if first.fill:
            strength = np.maximum(strength, _apart(first.fill, below) * min(1.0, size / (2 * THIN)))
        if first.stroke:
            strength = np.maximum(strength, _apart(first.stroke, below) * min(1.0, first.width / THIN))
        found = strength * first.alpha * above >= LEAST
        return found & ~self._erased(paths[-1].order, places, below)

    def _around(self, order: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the colours of what lies below, shape (n, 3); the part of a difference that what lies above leaves to be
        seen, shape (n,))."""
        below, above = np.tile(_WHITE, (len(places), 1)), np.ones(len(places))
        for area in self._areas:
            if area.order == order:
                continue
            inside = _covers(area, places)
            if area.order < order:
                below[inside] += area.alpha * (_colour(area.fill or area.stroke) - below[inside])
            else:
                above[inside] *= 1 - area.alpha
        return below, above

    def _erased(self, order: int, places: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Says at which places a mark or a line in the colour of what lies below stands on top. One in another colour
        hides what is below it, too, and shows that there is something."""
        erased = np.zeros(len(places), bool)
        for path in self._lines[-_MOST:]:
            if path.order > order and path.alpha > 0.9:
                erased |= _covers(path, places) & (_apart(path.stroke, below) < LEAST)
        (left, bottom), (right, top) = places.min(0), places.max(0)
        boxes = self._boxes
        near = (boxes[:, 0] < right) & (boxes[:, 2] > left) & (boxes[:, 1] < top) & (boxes[:, 3] > bottom)
        for path in [self._small[k] for k in np.flatnonzero(near & (self._orders > order))]:
            at = _in_box(path.box, places)
            edged = path.stroke and path.width >= THIN and (_apart(path.stroke, below[at]) > LEAST).any()
            if not edged:
                erased[at[_apart(path.fill, below[at]) < LEAST]] = True
        return erased


def some_places(points: np.ndarray) -> np.ndarray:
    """Indices of at most `_PLACES` of these, evenly."""
    return np.unique(np.linspace(0, len(points) - 1, min(len(points), _PLACES)).astype(int))


def _in_box(box: Rect, places: np.ndarray) -> np.ndarray:
    """Indices of the places inside of a box."""
    left, bottom, right, top = box
    x, y = places.T
    return np.flatnonzero((x > left) & (x < right) & (y > bottom) & (y < top))


def within(points: np.ndarray, frame: Rect) -> np.ndarray:
    """Indices of the points that lie within a frame."""
    left, bottom, right, top = frame
    x, y = points.T
    return np.flatnonzero((x > left - 0.6) & (x < right + 0.6) & (y > bottom - 0.6) & (y < top + 0.6))


def _size(path: Path) -> float:
    return max(path.box[2] - path.box[0], path.box[3] - path.box[1])


def _colour(said: str) -> np.ndarray:
    return np.array([int(said[i : i + 2], 16) for i in (1, 3, 5)], float)


def _apart(said: str, others: np.ndarray) -> np.ndarray:
    return np.abs(_colour(said) - others).max(1)


def _covers(area: Path, places: np.ndarray) -> np.ndarray:
    """Says which places lie within an area, shape (n,)."""
    x, y = places.T
    slack = 0.0 if area.fill else area.width / 2
    near = np.ones(len(places), bool)
    for box in (area.box, area.clip):
        if box is not None:
            grown = slack if box is area.box else 0.0
            near &= (x >= box[0] - grown) & (x <= box[2] + grown) & (y >= box[1] - grown) & (y <= box[3] + grown)
    at = np.flatnonzero(near)
    if len(at):
        near[at] = _within(area, places[at]) if area.fill else _beside(area, places[at])
    return near


def _within(area: Path, places: np.ndarray) -> np.ndarray:
    """By the winding number, as matplotlib fills. Pieces that have no inside of their own count together."""
    winding = np.zeros(len(places), int)
    x, y = places[:, :1], places[:, 1:]
    for piece in area.outline or area.pieces:
        a, b = piece, np.roll(piece, -1, axis=0)
        side = (b[:, 0] - a[:, 0]) * (y - a[:, 1]) - (b[:, 1] - a[:, 1]) * (x - a[:, 0])
        winding += ((a[:, 1] <= y) & (b[:, 1] > y) & (side > 0)).sum(1)
        winding -= ((a[:, 1] > y) & (b[:, 1] <= y) & (side < 0)).sum(1)
    return winding != 0


def _beside(line: Path, places: np.ndarray) -> np.ndarray:
    """Says which places a wide line covers."""
    covered = np.zeros(len(places), bool)
    x, y = places[:, :1], places[:, 1:]
    for piece in line.pieces:
        a, step = piece[:-1], np.diff(piece, axis=0)
        length = np.maximum((step**2).sum(1), 1e-18)
        t = np.clip(((x - a[:, 0]) * step[:, 0] + (y - a[:, 1]) * step[:, 1]) / length, 0, 1)
        away = np.hypot(x - a[:, 0] - t * step[:, 0], y - a[:, 1] - t * step[:, 1])
        covered |= (away <= line.width / 2).any(1)
    return covered


def _dashed(path: Path) -> float:
    """The part of a line that its dashes cover."""
    if not path.dash:
        return 1.0
    dash = np.array(path.dash * (1 + len(path.dash) % 2))
    length = sum(float(np.hypot(*np.diff(piece, axis=0).T).sum()) for piece in path.pieces)
    ends = np.cumsum(dash)
    period = float(ends[-1])
    if not (period > 0 and length > 0 and (dash >= 0).all()):
        return 1.0

    def drawn(until: float) -> float:
        whole, rest = divmod(until, period)
        part = sum(max(0.0, min(rest, end) - (end - on)) for on, end in zip(dash[::2], ends[::2], strict=True))
        return whole * float(dash[::2].sum()) + part

    return (drawn(path.phase + length) - drawn(path.phase)) / length
