"""The parts of a figure that are read: pages, panels, axes, curves. `probes.figure.figure` fills these in, from a PDF
or from a live figure.

Every point is kept twice: as the data value it stands for, and in *page coordinates*: points (1/72 inch) from the lower
left corner of the page as it is seen, y upwards, as in PDF. Whoever draws over a rendered page of height H at s pixels
a point therefore wants (s * page_x, s * (H - page_y)).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np

READABLE, NEEDS_PERSON = "readable", "needs_person"
MAX_JSON_POINTS = 60_000  # of all curves of a figure together


@dataclass(frozen=True)
class Tick:
    """A tick with its label. position: where it is along the axis, in page coordinates; value: what the label says."""

    position: float
    value: float
    text: str


@dataclass
class Axis:
    """One axis of a panel and its calibration.

    scale: "linear", "log", "symlog", "logit", or "" where the axis could not be read; then `values` gives NaN. offset,
    slope: the position of the value v on the page is offset + slope * u(v), with u(v) = v (linear), log10 v (log),
    matplotlib's symmetrical logarithm of base 10 with `threshold` and `linear_scale` (symlog), or log10 v / (whole - v)
    (logit) for shares v of the whole, which is `threshold`: 1, or 100 for percent. uncertainty: how wrong a reading may
    be, as a fraction of the axis's length (0 where tick marks or grid lines were found). percent: the tick labels carry
    a percent sign. values are then still those of the labels: 61 for "61 %".
    """

    side: str  # "bottom" "top" "left" "right"
    label: str = ""
    scale: str = ""
    offset: float = math.nan
    slope: float = math.nan
    threshold: float = math.nan
    linear_scale: float = 1.0
    ticks: list[Tick] = field(default_factory=list)
    uncertainty: float = 0.0
    percent: bool = False
    problems: list[str] = field(default_factory=list)

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The values at these page coordinates (x for a bottom axis, y for a left one), any shape; NaN if the axis was
        not read."""
        u = (np.asarray(positions, float) - self.offset) / self.slope
        if self.scale == "linear":
            return u
        if self.scale == "log":
            with np.errstate(over="ignore"):
                return 10.0**u
        if self.scale == "symlog":
            return _undo_symlog(u, self.threshold, self.linear_scale)
        if self.scale == "logit":
            with np.errstate(over="ignore"):
                return self.threshold / (1 + 10.0**-u)
        return np.full_like(u, np.nan)

    def positions(self, values: np.ndarray) -> np.ndarray:
        """The page coordinates of these values, any shape; NaN where the scale has no place for a value."""
        v = np.asarray(values, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.scale == "linear":
                u = v
            elif self.scale == "log":
                u = np.log10(v)
            elif self.scale == "symlog":
                u = symlog(v, self.threshold, self.linear_scale)
            elif self.scale == "logit":
                u = np.log10(v / (self.threshold - v))
            else:
                u = np.full_like(v, np.nan)
        return self.offset + self.slope * u


def symlog(values: np.ndarray, threshold: float, linear_scale: float = 1.0) -> np.ndarray:
    """matplotlib's symmetrical logarithm, base 10: linear up to +-threshold, which takes linear_scale decades' room,
    then logarithmic."""
    v = np.asarray(values, float)
    linear = linear_scale / 0.9
    size = np.abs(v)
    with np.errstate(divide="ignore", invalid="ignore"):
        outside = np.sign(v) * threshold * (linear + np.log10(size / threshold))
    return np.where(size <= threshold, v * linear, outside)


def _undo_symlog(u: np.ndarray, threshold: float, linear_scale: float) -> np.ndarray:
    linear = linear_scale / 0.9
    size = np.abs(u)
    with np.errstate(over="ignore", invalid="ignore"):
        outside = np.sign(u) * threshold * 10.0 ** (size / threshold - linear)
    return np.where(size <= threshold * linear, u / linear, outside)


@dataclass
class Curve:
    """One curve: a line, markers or both.

    x, y: the values (float64); page_x, page_y: the same points in page coordinates. cut: for each point, whether it is
    no data but where the line was cut off (at the border of the page). visible: for each point, whether it lies within
    the panel's frame: what is outside is in the file, but not to be seen. breaks: indices at which a new piece of the
    line begins (a gap in the data, or the line left the page). name: from the legend or from a text at the curve's end
    (`named_by`: "legend", "text", ""), "" if there is none. axis: "left" or "right": whose values y are.
    """

    x: np.ndarray
    y: np.ndarray
    page_x: np.ndarray
    page_y: np.ndarray
    name: str = ""
    named_by: str = ""
    colour: str = "#000000"
    width: float = 0.0
    dash: tuple[float, ...] = ()
    line: bool = True
    marker: bool = False
    axis: str = "left"
    cut: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    visible: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    breaks: list[int] = field(default_factory=list)

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """(x, y) of the points that are data."""
        keep = ~self.cut
        return self.x[keep], self.y[keep]

    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """(x, y) of the points that are data and lie within the frame."""
        keep = ~self.cut & self.visible if len(self.visible) == len(self.cut) else ~self.cut
        return self.x[keep], self.y[keep]


@dataclass
class Panel:
    """One set of axes. frame: (left, bottom, right, top) in page coordinates. page: counted from 0.

    right: the second y axis of a twin panel, if it has one. shapes: how many bars, filled areas and upright strokes it
    has that belong to no curve: values may be shown by them, and none is read. problems: sentences; each means that
    something here was not read for sure.
    """

    page: int
    frame: tuple[float, float, float, float]
    x: Axis
    y: Axis
    right: Axis | None = None
    title: str = ""
    curves: list[Curve] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    shapes: int = 0


@dataclass
class Figure:
    """The reading of a figure. verdict: "readable", or "needs_person" with the reason (one sentence).

    kind: why nothing or not everything was read: "" "not_a_pdf" "empty" "encrypted" "too_many_pages" "too_large"
    "broken" "image" "no_axes" "ambiguous" "hidden" "too_slow". pages: (width, height) of each page in points. texts:
    all that are in the figure, tick labels left out. problems: sentences about the whole figure. Those about a panel or
    axis are with it.
    """

    source: str = ""
    pages: list[tuple[float, float]] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    title: str = ""
    texts: list[str] = field(default_factory=list)
    producer: str = ""
    problems: list[str] = field(default_factory=list)
    verdict: str = READABLE
    kind: str = ""
    reason: str = ""

    def needs_person(self, kind: str, reason: str) -> Figure:
        """This figure, marked as not readable by a program. The first reason stays."""
        if self.verdict == READABLE:
            self.verdict, self.kind, self.reason = NEEDS_PERSON, kind, reason
        return self

    def to_json(self) -> str:
        """As one line of JSON; numbers only, NaN as null."""
        return json.dumps(_plain(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Figure:
        """The inverse of `to_json`. ValueError with one sentence for anything that is not a figure (the text may come
        from a jail)."""
        try:
            return _figure(json.loads(text))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(
                f"This is not a figure as probes.figure.figure writes it ({type(error).__name__})."
            ) from None


def _plain(thing):
    if isinstance(thing, np.ndarray):
        return thing.tolist() if thing.dtype == bool else [float(v) if math.isfinite(v) else None for v in thing]
    if isinstance(thing, Figure | Panel | Axis | Curve | Tick):
        return {name: _plain(value) for name, value in vars(thing).items()}
    if isinstance(thing, list | tuple):
        return [_plain(one) for one in thing]
    if isinstance(thing, float | np.floating):
        return float(thing) if math.isfinite(thing) else None
    return thing


def _number(value) -> float:
    return math.nan if value is None else float(value)


def _numbers(values) -> np.ndarray:
    return np.array([_number(v) for v in values], dtype=float)


def _flags(values, count: int) -> np.ndarray:
    flags = np.array([bool(v) for v in values], dtype=bool)
    return flags if len(flags) == count else np.zeros(count, bool)


def _sentences(values) -> list[str]:
    return [str(v)[:500] for v in values][:50]


def _axis(record: dict) -> Axis:
    numbers = ("offset", "slope", "threshold", "linear_scale", "uncertainty")
    return Axis(
        side=str(record["side"])[:10],
        label=str(record["label"])[:300],
        scale=str(record["scale"])[:10],
        **{name: _number(record[name]) for name in numbers},
        ticks=[Tick(_number(t["position"]), _number(t["value"]), str(t["text"])[:60]) for t in record["ticks"][:500]],
        percent=bool(record["percent"]),
        problems=_sentences(record["problems"]),
    )


def _curve(record: dict) -> Curve:
    x = _numbers(record["x"])
    others = [_numbers(record[name]) for name in ("y", "page_x", "page_y")]
    if any(len(one) != len(x) for one in others):
        raise ValueError("a curve whose x and y have different lengths")
    return Curve(
        x,
        *others,
        name=str(record["name"])[:300],
        named_by=str(record["named_by"])[:20],
        colour=str(record["colour"])[:7],
        width=_number(record["width"]),
        dash=tuple(_number(d) for d in record["dash"][:20]),
        line=bool(record["line"]),
        marker=bool(record["marker"]),
        axis=str(record["axis"])[:10],
        cut=_flags(record["cut"], len(x)),
        visible=_flags(record["visible"], len(x)),
        breaks=[int(b) for b in record["breaks"]],
    )


def _panel(record: dict) -> Panel:
    return Panel(
        page=int(record["page"]),
        frame=tuple(float(v) for v in record["frame"]),
        x=_axis(record["x"]),
        y=_axis(record["y"]),
        right=_axis(record["right"]) if record["right"] else None,
        title=str(record["title"])[:300],
        curves=[_curve(one) for one in record["curves"][:200]],
        texts=_sentences(record["texts"]),
        problems=_sentences(record["problems"]),
        shapes=int(record["shapes"]),
    )


def _figure(record: dict) -> Figure:
    if sum(len(c["x"]) for p in record["panels"] for c in p["curves"]) > MAX_JSON_POINTS:
        raise ValueError("too many points")
    return Figure(
        source=str(record["source"])[:300],
        pages=[(float(w), float(h)) for w, h in record["pages"][:20]],
        panels=[_panel(one) for one in record["panels"][:50]],
        title=str(record["title"])[:300],
        texts=[str(text)[:300] for text in record["texts"][:500]],
        producer=str(record["producer"])[:200],
        problems=_sentences(record["problems"]),
        verdict=READABLE if record["verdict"] == READABLE else NEEDS_PERSON,
        kind=str(record["kind"])[:30],
        reason=str(record["reason"])[:500],
    )
