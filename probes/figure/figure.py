"""Reads a figure back: panels, scales, labels, curves and their names, from a PDF's own lines and texts or from a live
matplotlib figure.

    figure = probes.figure.figure.read("accuracy_4.pdf")
    for panel in figure.panels:
        for curve in panel.curves:
            print(curve.name, curve.x, curve.y)

Reads what matplotlib (and seaborn), and plotly's exporter write: linear, logarithmic and symmetrical logarithmic axes,
several panels, twin axes, markers, dashes, error bars. No value is guessed: where a scale cannot be told for sure, or a
curve was saved as a picture, the figure's verdict is "needs_person", with the reason.

`python -m probes.figure.figure FILE` prints the figure as JSON, in a process that takes at most 1 GiB and some seconds
of processor time: this is what a grader runs in its jail. `python -m probes.figure.figure --show FILE` prints it for
people.
"""

from __future__ import annotations

import io
import logging
import os
import resource
import signal
import sys
import zlib

import numpy as np
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect

from probes.figure import axes as pdf_axes
from probes.figure import calibration, curves, naming, numbers, redrawn
from probes.figure import page as pdf_drawing
from probes.figure.page import FigurePage, PageTooFull, Text
from probes.figure.seen import Seen
from probes.figure.types import MAX_JSON_POINTS, NEEDS_PERSON, READABLE, Axis, Curve, Figure, Panel, Tick, symlog

__all__ = ["Axis", "Curve", "Figure", "Panel", "Tick", "NEEDS_PERSON", "READABLE", "from_matplotlib", "read", "symlog"]

MAX_BYTES = 16 << 20
MAX_PAGES = 4  # a figure has one page; a few are tolerated
_MEMORY, _SECONDS = 1 << 30, 5


def read(path: str | os.PathLike) -> Figure:
    """The figure in a PDF. Never raises for what a file may hold: `Figure.verdict`, `kind` and `reason` say what is
    wrong with it.

    Raises OSError where the file cannot be opened.
    """
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    figure = Figure(source=os.path.basename(os.fspath(path)))
    if len(data) > MAX_BYTES:
        return figure.needs_person("too_large", f"The file is larger than {MAX_BYTES >> 20} MiB.")
    if not data.strip():
        return figure.needs_person("empty", "The file is empty.")
    if b"%PDF-" not in data[:1024]:
        return figure.needs_person("not_a_pdf", f"The file is not a PDF{_looks_like(data)}.")
    logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
    try:
        pages, count, information = pdf_drawing.pages(io.BytesIO(data), MAX_PAGES)
    except Exception as error:  # pdfminer meets a broken file with whatever breaks first
        named = ((kind, says) for caught, kind, says in _UNREADABLE if isinstance(error, caught))
        kind, says = next(named, ("broken", "is broken ({name})"))
        return figure.needs_person(kind, f"The PDF {says.format(error=error, name=type(error).__name__)}.")
    figure.producer = _plain_text(information.get("Producer"))
    figure.pages = [(page.width, page.height) for page in pages]
    if count > MAX_PAGES:
        return figure.needs_person("too_many_pages", f"The PDF has more than {MAX_PAGES} pages; a figure has one.")
    try:
        return _look(_read_pages(figure, pages), data, pages)
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        # a page so odd that this program stumbles over it: what it has read so far is not to be trusted
        figure.panels = []
        return figure.needs_person(
            "unread", f"The program that reads plots could not make sense of the page ({type(error).__name__})."
        )


# (what pdfminer or a limit raises, the kind of figure that this is, what the PDF is or does)
_UNREADABLE = (
    ((PDFPasswordIncorrect, PDFEncryptionError), "encrypted", "is encrypted"),
    (PageTooFull, "too_large", "is no plain figure: {error}"),
    (MemoryError, "too_large", "needs more memory than a figure would"),
    (RecursionError, "broken", "has objects that are nested too deeply"),
    (zlib.error, "broken", "is damaged: its packed content cannot be unpacked to the end"),
)


def _looks_like(data: bytes) -> str:
    head = data[:1024].lstrip()
    for start, name in (
        (b"\x89PNG", "a PNG picture"),
        (b"\xff\xd8", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"%!PS", "PostScript"),
    ):
        if head.startswith(start):
            return f" but {name}"
    if b"<svg" in head:
        return " but an SVG picture"
    return " but a web page" if b"<html" in head.lower() else ""


def _plain_text(value) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-16" if value[:2] in (b"\xfe\xff", b"\xff\xfe") else "latin-1", "replace")
    return str(value or "")[:200]


def _read_pages(figure: Figure, pages: list[FigurePage]) -> Figure:
    pictures = False
    for index, page in enumerate(pages):
        drawn = pdf_axes.panels(page, index)
        _read_curves(page, drawn)
        _read_texts(figure, page, drawn)
        for one in drawn:
            if any(_overlap(picture, one.panel.frame) > 0.02 for picture in page.pictures):
                pictures = True
                one.panel.problems.append("A part of it is a picture: no values can be read from that.")
        figure.panels += [one.panel for one in drawn if one.panel.curves or one.panel.x.scale or one.panel.y.scale]
        pictures |= bool(page.pictures) and not drawn
        if curves.lost_lines(page, drawn):
            figure.needs_person("no_axes", "A line was drawn in axes that could not be read.")
    return _judge(figure, pages, pictures)


def _look(figure: Figure, data: bytes, pages: list[FigurePage]) -> Figure:
    """The same figure; a person must look where a page with panels looks otherwise than what was read from it."""
    for index, page in enumerate(pages) if figure.verdict == READABLE else ():
        frames = [panel.frame for panel in figure.panels if panel.page == index]
        if frames and (why := redrawn.compare(redrawn.pixels(data, index), page, frames)):
            return figure.needs_person("hidden", why)
    return figure


def _overlap(a: pdf_drawing.Rect, b: pdf_drawing.Rect) -> float:
    """The part of the rectangle b that a covers."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(0.0, width) * max(0.0, height) / ((b[2] - b[0]) * (b[3] - b[1]))


def _judge(figure: Figure, pages: list[FigurePage], pictures: bool) -> Figure:
    """The verdict on the whole."""
    if not any(page.paths or page.texts or page.pictures for page in pages):
        return figure.needs_person("empty", "The PDF's pages are empty." if pages else "The PDF has no pages.")
    if pictures:
        return figure.needs_person(
            "image", "The plot, or a part of it, is a picture in the PDF: no values can be read from that."
        )
    if not figure.panels:
        return figure.needs_person("no_axes", "No axes with tick labels were found.")
    for panel in figure.panels:
        for curve in panel.curves:
            axis = panel.right if panel.right is not None and curve.axis == "right" else panel.y
            unread = panel.x if not panel.x.scale else axis if not axis.scale else None
            if unread is not None:
                said = unread.problems or [f"The {unread.side} axis could not be read."]
                figure.needs_person("ambiguous" if "ambiguous" in said[-1] else "no_axes", said[-1])
        unsure = [problem for problem in panel.problems if "exact places" in problem or "which axis" in problem]
        if unsure:
            figure.needs_person("ambiguous", unsure[0])
        if curves.HIDDEN in panel.problems:
            figure.needs_person("hidden", curves.HIDDEN)
    points = sum(len(curve.x) for panel in figure.panels for curve in panel.curves)
    if points > MAX_JSON_POINTS or sum(len(panel.curves) for panel in figure.panels) > 200 or len(figure.panels) > 50:
        figure.panels = []
        figure.needs_person("too_large", f"There are too many curves, or more than {MAX_JSON_POINTS} points.")
    return figure


def _read_curves(page: FigurePage, drawn: list[pdf_axes.DrawnPanel]) -> None:
    """Fill in the curves of all panels of a page, their names and values."""
    samples = naming.legend(page, drawn)
    owners, seen = curves.owners_of(page, drawn), Seen(page)
    for index, one in enumerate(drawn):
        panel = one.panel
        panel.curves, looks = curves.curves(page, one, samples, owners, index, seen)
        if panel.right is not None and not _twins(panel, one, looks):
            panel.right = None
        for curve in panel.curves:
            if panel.right is None:
                curve.axis = panel.y.side if panel.y.side in ("left", "right") else "left"
        _settle(one)
        for curve in panel.curves:
            curve.x = panel.x.values(curve.page_x)
            curve.y = (panel.right if panel.right is not None and curve.axis == "right" else panel.y).values(
                curve.page_y
            )
        naming.name_by_legend(panel.curves, looks, samples, one, [other for other in drawn if other is not one])
    for one in drawn:
        taken = _taken(page, drawn, samples)
        naming.name_by_ends(one.panel.curves, one, page, taken)


def _twins(panel: Panel, one: pdf_axes.DrawnPanel, looks: list[tuple]) -> bool:
    """True if the right axis is another one than the left; if so, its curves are told from the others'."""
    left, right = panel.y, panel.right
    if (
        right.scale
        and right.scale == left.scale
        and np.allclose([left.offset, left.slope], [right.offset, right.slope], rtol=1e-4)
    ):
        return False
    if not naming.twin_axes(panel.curves, looks, one):
        panel.problems.append("There are two y axes, and which axis belongs to which curve cannot be told.")
    return True


def _settle(one: pdf_axes.DrawnPanel) -> None:
    """Decide between several scales that agree with an axis's labels by what is drawn, or say that it cannot be
    decided."""
    panel, none = one.panel, np.zeros(0)
    calibration.settle(
        panel.x, one.fits.get(panel.x.side, []), np.concatenate([none, *[c.page_x for c in panel.curves]]), counts=True
    )
    for axis in (panel.y, panel.right):
        if axis is not None:
            of_axis = [c.page_y for c in panel.curves if panel.right is None or c.axis == axis.side]
            calibration.settle(axis, one.fits.get(axis.side, []), np.concatenate([none, *of_axis]))


# -- labels and titles -------------------------------------------------------------------------------------------------


def _taken(page: FigurePage, drawn: list[pdf_axes.DrawnPanel], samples) -> set[int]:
    """The orders of texts that are tick labels or stand in a legend."""
    taken = {sample.text.order for sample in samples}
    for one in drawn:
        for side in one.sides.values():
            taken |= {n.text.order for n in side.labels} | ({side.multiplier.order} if side.multiplier else set())
    return taken


def _read_texts(figure: Figure, page: FigurePage, drawn: list[pdf_axes.DrawnPanel]) -> None:
    """Axis labels and titles: what stands beside a frame and is nothing else."""
    taken = _taken(page, drawn, naming.legend(page, drawn))
    names = {curve.name for one in drawn for curve in one.panel.curves if curve.named_by == "text"}
    free = [
        t for t in page.texts if t.order not in taken and t.text not in names and not (numbers.number(t) and t.upright)
    ]
    lines = _paragraphs(free)
    for one in drawn:
        panel = one.panel
        left, bottom, right, top = panel.frame
        inside = [
            text
            for text, box, angle in lines
            if left < (box[0] + box[2]) / 2 < right and bottom < (box[1] + box[3]) / 2 < top
        ]
        panel.texts = inside[:50]
        panel.x.label = _label(lines, one, drawn, "x")
        panel.y.label = _label(lines, one, drawn, "y")
        if panel.right is not None:
            panel.right.label = _label(lines, one, drawn, "right")
        panel.title = _label(lines, one, drawn, "title")
    figure.texts = (figure.texts + [t.text[:300] for t in page.texts if not numbers.number(t)])[:500]
    used = {panel.title for panel in (one.panel for one in drawn)}
    highest = max((one.panel.frame[3] for one in drawn), default=0.0)
    above = [text for text, box, _ in lines if box[1] > highest and text not in used]
    if above and not figure.title:
        figure.title = above[0]


def _paragraphs(texts: list[Text]) -> list[tuple[str, pdf_drawing.Rect, float]]:
    """Words of one line joined (a font change or a wide space parts them): (text, box, angle)."""
    done: list[list[Text]] = []
    for text in texts:
        for group in done:
            last = group[-1]
            level = abs(text.angle) < 1 and abs(last.angle) < 1 and abs(text.box[1] - last.box[1]) < 0.3 * last.size
            upright = (
                abs(abs(text.angle) - 90) < 1
                and abs(text.angle - last.angle) < 1
                and abs(text.box[0] - last.box[0]) < 0.3 * last.size
            )
            if (level and 0 <= text.box[0] - last.box[2] < 0.9 * last.size) or (
                upright and 0 <= _after(last, text) < 0.9 * last.size
            ):
                group.append(text)
                break
        else:
            done.append([text])
    joined = []
    for group in done:
        boxes = np.array([t.box for t in group])
        box = (*boxes[:, :2].min(0).tolist(), *boxes[:, 2:].max(0).tolist())
        joined.append((" ".join(t.text for t in group), box, group[0].angle))
    return joined


def _after(last: Text, text: Text) -> float:
    return text.box[1] - last.box[3] if last.angle > 0 else last.box[1] - text.box[3]


def _label(lines, one: pdf_axes.DrawnPanel, drawn: list[pdf_axes.DrawnPanel], which: str) -> str:
    """The text nearest to a side of a panel, of those that no other panel is nearer to; "" if there is none."""
    best = (np.inf, "")
    for text, box, angle in lines:
        gap = _text_gap(box, angle, one, which)
        nearest = min(
            _text_gap(box, angle, other, w)
            for other in drawn
            for w in ("x", "y", "title", *(["right"] if _labelled(other, "right") else []))
        )
        if gap < best[0] and gap <= nearest + 0.5:
            best = (gap, text)
    return best[1]


def _labelled(one: pdf_axes.DrawnPanel, side: str) -> bool:
    return bool(one.sides[side].labels) and (one.panel.right is not None or one.panel.y.side == side)


def _with_tick_labels(one: pdf_axes.DrawnPanel) -> pdf_drawing.Rect:
    """The frame and the tick labels around it."""
    boxes = [one.panel.frame, *(n.text.box for side in one.sides.values() for n in side.labels)]
    return tuple(pick(box[k] for box in boxes) for k, pick in enumerate((min, min, max, max)))


def _text_gap(box: pdf_drawing.Rect, angle: float, one: pdf_axes.DrawnPanel, which: str) -> float:
    """Points from a text to where the label of that kind stands; infinite where it can be none."""
    left, bottom, right, top = _with_tick_labels(one)
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    level = abs(angle) < 1
    if which == "x":
        return (
            bottom - box[3]
            if level and box[3] < bottom + 1 and bottom - box[3] < 80 and left - 20 < x < right + 20
            else np.inf
        )
    if which == "title":
        return (
            box[1] - top if level and box[1] > top - 1 and box[1] - top < 60 and left - 20 < x < right + 20 else np.inf
        )
    if not bottom - 20 < y < top + 20:
        return np.inf
    if which == "y" and one.panel.y.side == "right":
        which = "right"
    if which == "y":
        return left - box[2] if box[2] < left + 1 and left - box[2] < 110 else np.inf
    return box[0] - right if box[0] > right and box[0] - right < 110 and not level else np.inf


# -- a live figure -----------------------------------------------------------------------------------------------------


def from_matplotlib(figure) -> Figure:
    """The same for a matplotlib figure that is still alive. Reads its artists: nothing about it is ambiguous, and
    pictures do not matter.

    figure: matplotlib.figure.Figure. Curves are those of `Axes.plot`, `errorbar` and `scatter`; their names are their
    labels, or texts written in their colour. Axes that share one rectangle become a panel each.
    """
    figure.draw_without_rendering()
    scale = 72 / figure.dpi
    found = Figure(
        source="a live figure", pages=[tuple(float(v) * 72 for v in figure.get_size_inches())], producer="matplotlib"
    )
    found.title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        legend = axes.get_legend()
        found.texts += [
            text.get_text() for text in (*axes.texts, *(legend.get_texts() if legend else ())) if text.get_text()
        ]
        box = axes.get_window_extent()
        frame = tuple(float(v) * scale for v in (box.x0, box.y0, box.x1, box.y1))
        panel = Panel(0, frame, _live_axis(axes, "x", scale), _live_axis(axes, "y", scale), title=_title(axes))
        panel.texts = [text.get_text() for text in axes.texts if text.get_text()]
        panel.curves = [
            curve
            for line, name, colour in _live_lines(axes)
            if (curve := _live_curve(axes, line, name, colour, scale, frame))
        ]
        _name_live(panel, axes)
        panel.shapes = _live_shapes(axes)
        if panel.curves or axes.axison:
            found.panels.append(panel)
    if not any(panel.curves for panel in found.panels):
        found.needs_person("no_axes", "The figure has no curves.")
    return found


def _title(axes) -> str:
    return next((title for where in ("center", "left", "right") if (title := axes.get_title(where))), "")


def _live_axis(axes, which: str, scale: float) -> Axis:
    """The calibration of a live axis, from where matplotlib puts two values."""
    kind = axes.get_xscale() if which == "x" else axes.get_yscale()
    axis_of = axes.xaxis if which == "x" else axes.yaxis
    known = Axis(axis_of.get_label_position(), axis_of.get_label().get_text())
    if kind not in ("linear", "log", "symlog"):
        known.problems.append(f"Its scale is called {kind!r}, which is not read.")
        return known
    column = 0 if which == "x" else 1
    low, high = sorted(axes.get_xlim() if which == "x" else axes.get_ylim())
    values = np.array([low, high], float)
    points = (
        axes.transData.transform(np.column_stack([values, values]) if which == "x" else _pairs(axes, values))[:, column]
        * scale
    )
    known.scale = kind
    u = {"linear": lambda v: v, "log": np.log10}.get(kind)
    if u is None:
        transform = axis_of.get_transform()
        known.threshold, known.linear_scale = float(transform.linthresh), float(transform.linscale)
        u = lambda v: symlog(v, known.threshold, known.linear_scale)  # noqa: E731
        if transform.base != 10:
            known.scale = ""
            known.problems.append("Its symmetrical logarithm has another base than 10.")
    v = u(values)
    known.slope = float((points[1] - points[0]) / (v[1] - v[0]))
    known.offset = float(points[0] - known.slope * v[0])
    texts = [text.get_text() for text in axis_of.get_ticklabels()]
    places = axis_of.get_ticklocs()
    seen = [(v, t) for v, t in zip(places, texts, strict=False) if low <= v <= high and t]
    known.ticks = [Tick(float(known.positions(np.array([v]))[0]), float(v), t) for v, t in seen]
    known.percent = bool(seen) and sum("%" in t for _, t in seen) > len(seen) / 2
    if known.percent and (high - low) <= 2 and max(abs(_leading(t)) for _, t in seen) > 2:
        _in_percent(known)
    return known


def _in_percent(axis: Axis) -> None:
    """Fractions that matplotlib writes as percent (PercentFormatter(1)): values are those of the labels, as in a
    PDF."""
    axis.slope /= 100
    axis.ticks = [Tick(tick.position, 100 * tick.value, tick.text) for tick in axis.ticks]


def _leading(text: str) -> float:
    digits = "".join(c for c in text.replace(",", ".") if c.isdigit() or c == ".")
    try:
        return float(digits)
    except ValueError:
        return 0.0


def _pairs(axes, values: np.ndarray) -> np.ndarray:
    return np.column_stack([np.full(2, axes.get_xlim()[0]), values])


def _live_lines(axes):
    """(line, its name, colour) of all curves. Error bars' own lines come with the name of their container."""
    from matplotlib.colors import to_hex

    names = {}
    skipped = set()
    for container in axes.containers:
        if hasattr(container, "stemlines"):
            skipped.add(id(container.baseline))
            names[id(container.markerline)] = container.get_label()
        if getattr(container, "has_yerr", None) is not None or getattr(container, "has_xerr", None) is not None:
            line, caps, _ = container.lines
            skipped |= {id(cap) for cap in caps}
            if line is not None:
                names[id(line)] = container.get_label()
    for line in axes.lines:
        if id(line) not in skipped and line.get_visible() and line.get_transform() == axes.transData:
            yield line, _public(names.get(id(line), line.get_label())), to_hex(line.get_color())
    for cloud in axes.collections:
        if hasattr(cloud, "get_offsets") and type(cloud).__name__ == "PathCollection" and len(cloud.get_offsets()):
            colours = cloud.get_facecolor() if len(cloud.get_facecolor()) else cloud.get_edgecolor()
            yield cloud, _public(cloud.get_label()), to_hex(colours[0]) if len(colours) else "#000000"


def _live_shapes(axes) -> int:
    """Bars, filled areas and upright lines of a live panel: values may be shown by them, and none is read."""
    bars = sum(len(container.patches) for container in axes.containers if hasattr(container, "patches"))
    kinds = [type(one).__name__ for one in axes.collections if one.get_visible()]
    strokes = kinds.count("LineCollection") - sum(
        hasattr(one, "stemlines") + bool(getattr(one, "has_yerr", 0)) + bool(getattr(one, "has_xerr", 0))
        for one in axes.containers
    )
    areas = kinds.count("PolyCollection") + kinds.count("FillBetweenPolyCollection")
    return bars + areas + max(0, strokes)


def _public(label) -> str:
    return "" if str(label).startswith("_") else str(label)


def _live_curve(axes, line, name: str, colour: str, scale: float, frame) -> Curve | None:
    cloud = hasattr(line, "get_offsets")
    data = np.asarray(np.ma.filled(line.get_offsets(), np.nan) if cloud else line.get_xydata(), float)
    keep = np.isfinite(data).all(1)
    data = data[keep]
    if len(data) < 1:
        return None
    points = axes.transData.transform(data) * scale
    x, y = points[:, 0], points[:, 1]
    axis = axes.yaxis.get_label_position()
    curve = Curve(data[:, 0], data[:, 1], x, y, name=name, named_by="legend" if name else "", colour=colour, axis=axis)
    curve.line = not cloud and line.get_linestyle() not in ("None", "", " ")
    curve.marker = cloud or line.get_marker() not in ("None", "", " ", None)
    if not (curve.line or curve.marker):
        return None
    curve.breaks = [int(b) for b in np.flatnonzero(np.diff(np.flatnonzero(keep)) > 1) + 1]
    curve.cut, curve.visible = np.zeros(len(x), bool), curves.visible_points(x, y, frame)
    return curve


def _name_live(panel: Panel, axes) -> None:
    """A name counts where a reader sees it: in a legend of the axes or the figure, or as a text in the curve's
    colour."""
    from matplotlib.colors import to_hex

    legends = [axes.get_legend(), *axes.figure.legends, *[other.get_legend() for other in axes.figure.axes]]
    shown = {text.get_text() for legend in legends if legend for text in legend.get_texts()}
    for curve in panel.curves:
        if curve.name in shown:
            continue
        texts = {
            t.get_text() for t in axes.texts if naming.same_colour(to_hex(t.get_color()), curve.colour) and t.get_text()
        }
        rivals = [c for c in panel.curves if c is not curve and c.colour == curve.colour]
        curve.name, curve.named_by = (texts.pop(), "text") if len(texts) == 1 and not rivals else ("", "")
    if panel.y.percent:
        for curve in panel.curves:
            curve.y = panel.y.values(curve.page_y)


# -- the program that a grader runs ------------------------------------------------------------------------------------


def _limit(file: str) -> None:
    """Limits for this process: memory and processor time. When the time is over, the verdict is that a person must
    look."""

    def give_up(*_) -> None:
        figure = Figure(source=os.path.basename(file))
        figure.needs_person("too_slow", f"Reading the PDF takes more than {_SECONDS} s of processor time.")
        os.write(1, figure.to_json().encode() + b"\n")
        os._exit(0)

    for which, value in ((resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_CPU, 2 * _SECONDS)):
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, hard))
    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    sys.setrecursionlimit(2000)


def show(figure: Figure) -> str:
    """The figure in words and numbers."""
    lines = [f"{figure.source}: {figure.verdict}" + (f" ({figure.kind}: {figure.reason})" if figure.reason else "")]
    lines += [f"title: {figure.title}"] if figure.title else []
    for panel in figure.panels:
        lines.append(
            f"panel on page {panel.page + 1}: {panel.title!r}, frame " + ", ".join(f"{v:.1f}" for v in panel.frame)
        )
        for axis in (panel.x, panel.y, panel.right):
            if axis is not None:
                ticks = " ".join(tick.text for tick in axis.ticks)
                lines.append(f"  {axis.side}: {axis.label!r}, {axis.scale or 'not read'}, ticks {ticks}")
                lines += [f"    {problem}" for problem in axis.problems]
        for curve in panel.curves:
            x, y = curve.data()
            points = ", ".join(f"({a:.6g}, {b:.6g})" for a, b in list(zip(x, y, strict=True))[:8])
            lines.append(
                f"  curve {curve.name!r} {curve.colour} on {curve.axis}: {len(x)} points {points}"
                + (" ..." if len(x) > 8 else "")
            )
        lines += [f"  {problem}" for problem in panel.problems]
    return "\n".join([*lines, *figure.problems])


def main(arguments: list[str] | None = None) -> int:
    """python -m probes.figure.figure [--show] FILE"""
    arguments = sys.argv[1:] if arguments is None else arguments
    in_words = arguments[:1] == ["--show"]
    if len(arguments) != 1 + in_words:
        print("usage: python -m probes.figure.figure [--show] FILE", file=sys.stderr)
        return 2
    try:
        figure = read(arguments[-1])
    except OSError as error:
        print(f"{arguments[-1]} cannot be read: {error.strerror}.", file=sys.stderr)
        return 1
    print(show(figure) if in_words else figure.to_json())
    return 0


if __name__ == "__main__":
    _limit(sys.argv[-1])
    sys.exit(main())
