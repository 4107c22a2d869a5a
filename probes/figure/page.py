"""The contents of a page of a PDF: lines, areas, texts and pictures, in page coordinates. The lowest layer of
`probes.figure.figure`.

pdfminer interprets the page; this keeps what it leaves out and figures need: clipping, transparency, marks that are
drawn again and again (a form is interpreted once), and characters that matplotlib draws as forms of their own (a minus
sign in a Type 3 font). ISO 32000-1, sections 8.4 (graphics state), 8.5 (paths), 8.10 (forms), 9.4 (text).

Nothing of a file is executed. What a hostile file can do is take time and memory: both are capped here by counting, and
by the process that `python -m probes.figure.figure` runs in.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np
from pdfminer import settings
from pdfminer.encodingdb import name2unicode
from pdfminer.pdfdevice import PDFTextDevice
from pdfminer.pdfdocument import PDFDocument
from pdfminer.pdffont import PDFType3Font, PDFUnicodeNotDefined
from pdfminer.pdfinterp import PDFGraphicState, PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import dict_value, list_value, resolve1, stream_value
from pdfminer.psparser import literal_name
from pdfminer.utils import MATRIX_IDENTITY, mult_matrix

settings.STRICT = False
MAX_PATHS, MAX_POINTS, MAX_CHARACTERS, MAX_DEPTH, MAX_FORMS = 100_000, 1_000_000, 50_000, 12, 2_000
MAX_CONTENT = 32 << 20
Rect = tuple[float, float, float, float]  # left, bottom, right, top


class PageTooFull(ValueError):
    """The page holds more than a figure would."""


@dataclass(eq=False)
class Path:
    """A path as painted. pieces: its subpaths, each an array of (x, y), shape (n, 2); of a Bezier curve the end points
    only.

    stroke, fill: "#rrggbb" or "" where it is not stroked or filled. width, dash: in points. order: of painting, counted
    over the page. anchor: of a mark drawn as a form: the place that it marks. phase: where in its dashes it begins.
    outline: of what has Bezier curves, `pieces` with points on these. fill_alpha: `alpha` of the inside. ends: how
    lines end and join. even_odd: by which rule it is filled.
    """

    pieces: list[np.ndarray]
    closed: list[bool]
    curved: bool
    stroke: str
    fill: str
    width: float
    dash: tuple[float, ...]
    clip: Rect | None
    alpha: float
    order: int
    anchor: tuple[float, float] | None = None
    phase: float = 0.0
    outline: list[np.ndarray] = field(default_factory=list)
    fill_alpha: float = 1.0
    ends: tuple[int, int] = (0, 0)
    even_odd: bool = False
    box: Rect = field(init=False)

    def __post_init__(self) -> None:
        points = self.pieces[0] if len(self.pieces) == 1 else np.concatenate(self.pieces)
        (left, bottom), (right, top) = points.min(0), points.max(0)
        self.box = (float(left), float(bottom), float(right), float(top))

    def moved(self, dx: float, dy: float, clip: Rect | None, order: int) -> Path:
        """The same path elsewhere."""
        shift = np.array([dx, dy])
        anchor = (self.anchor[0] + dx, self.anchor[1] + dy) if self.anchor else None
        pieces, outline = ([piece + shift for piece in some] for some in (self.pieces, self.outline))
        return replace(self, pieces=pieces, outline=outline, clip=clip, order=order, anchor=anchor)


@dataclass(eq=False)
class Char:
    """A character: where its baseline begins and ends, its size in points, its direction in degrees."""

    text: str
    start: tuple[float, float]
    end: tuple[float, float]
    size: float
    angle: float
    colour: str
    order: int
    block: int = 0  # the text object (BT ... ET) that it belongs to


@dataclass(eq=False)
class Text:
    """Characters that form one text, in reading order. box: left, bottom, right, top, as high as capital letters and
    digits are.

    level: for each character, whether it is on the base line (0), raised (1) or lowered (-1).
    """

    chars: list[Char]
    level: list[int]
    box: Rect
    angle: float
    size: float
    colour: str
    order: int

    @property
    def text(self) -> str:
        return "".join(c.text for c in self.chars).strip()

    @property
    def middle(self) -> tuple[float, float]:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    @property
    def upright(self) -> bool:
        return abs(self.angle) < 1


@dataclass
class FigurePage:
    """One page: its size in points and what is on it, in the order of painting. pictures: the boxes of its images."""

    width: float
    height: float
    paths: list[Path] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    pictures: list[Rect] = field(default_factory=list)


class _State(PDFGraphicState):
    """A graphics state that knows clipping and transparency."""

    def __init__(self) -> None:
        super().__init__()
        self.linewidth = 1
        self.clip: Rect | None = None
        self.stroke_alpha = self.fill_alpha = 1.0

    def copy(self) -> _State:
        other = _State()
        other.__dict__.update(self.__dict__)
        return other


class _Interpreter(PDFPageInterpreter):
    """pdfminer's interpreter, with clipping, transparency and cached forms."""

    depth = 0
    inherited: _State | None = None

    def init_resources(self, resources: dict) -> None:
        super().init_resources(resources)
        found = resolve1(dict_value(resources).get("ExtGState")) if resources else None
        self.graphics_states = found if isinstance(found, dict) else {}

    def init_state(self, ctm) -> None:
        super().init_state(ctm)
        state = _State()
        state.scs, state.ncs = self.graphicstate.scs, self.graphicstate.ncs
        self.graphicstate = self.inherited.copy() if self.inherited else state
        self.clipping = False

    def do_BT(self) -> None:
        super().do_BT()
        self.device.block += 1

    def do_gs(self, name) -> None:
        values = resolve1(self.graphics_states.get(literal_name(name)))
        if isinstance(values, dict):
            for key, attribute in (("CA", "stroke_alpha"), ("ca", "fill_alpha")):
                value = resolve1(values.get(key))
                if isinstance(value, int | float):
                    setattr(self.graphicstate, attribute, float(value))
            if isinstance(width := resolve1(values.get("LW")), int | float):
                self.graphicstate.linewidth = float(width)

    def do_W(self) -> None:
        self.clipping = True

    do_W_a = do_W

    def do_n(self) -> None:
        self._clip()
        super().do_n()

    def do_S(self) -> None:
        super().do_S()
        self.clipping = False

    def do_f(self) -> None:
        super().do_f()
        self.clipping = False

    do_F = do_f

    def _clip(self) -> None:
        """Narrow the clipping rectangle to the box around the current path."""
        if self.clipping and self.curpath:
            points = np.array([_apply(self.ctm, *s[i : i + 2]) for s in self.curpath for i in range(1, len(s) - 1, 2)])
            if len(points):
                (left, bottom), (right, top) = points.min(0), points.max(0)
                old = self.graphicstate.clip or (-math.inf, -math.inf, math.inf, math.inf)
                self.graphicstate.clip = (max(left, old[0]), max(bottom, old[1]), min(right, old[2]), min(top, old[3]))
        self.clipping = False

    def do_sh(self, name) -> None:
        """A smooth shade: what it covers cannot be seen, and what it shows cannot be read."""
        self.device.shade(self.graphicstate.clip)

    def do_Do(self, xobjid_arg) -> None:
        name = literal_name(xobjid_arg)
        try:
            form = stream_value(self.xobjmap[name])
        except KeyError:
            return
        subtype = literal_name(form.get("Subtype")) if form.get("Subtype") is not None else ""
        if subtype == "Image":
            self.device.picture(self.ctm)
        elif subtype == "Form":
            self._form(name, form)

    def _form(self, name: str, form) -> None:
        ctm = mult_matrix(_matrix(form.get("Matrix")), self.ctm)
        state = self.graphicstate
        if character := _glyph(name):
            self.device.glyph(character, form, ctm, state)
            return
        look = (ctm[:4], state.linewidth, str(state.dash), str(state.scolor), str(state.ncolor), state.stroke_alpha)
        key = (form.objid, look)
        before = self.device.known_forms.get(key) if form.objid is not None else None
        if before is not None:
            self.device.repeat(*before, ctm, state.clip)
            return
        self.device.forms += 1
        if self.device.forms > MAX_FORMS:
            raise PageTooFull(f"it is made of more than {MAX_FORMS} different drawings")
        if self.depth >= MAX_DEPTH:
            raise PageTooFull("its drawings are nested too deeply")
        paths, chars = len(self.device.page.paths), len(self.device.chars)
        interpreter = self.subinterp()
        interpreter.depth, interpreter.inherited = self.depth + 1, state
        own = resolve1(form.get("Resources"))
        interpreter.render_contents(own if isinstance(own, dict) else self.resources.copy(), [form], ctm=ctm)
        self.device.set_ctm(self.ctm)
        made = self.device.page.paths[paths:]
        if len(self.device.chars) == chars and len(made) <= 4:
            self.device.known_forms[key] = (made, ctm)
            for path in made:
                path.anchor = _marked(path.box, ctm[4], ctm[5])


class _Device(PDFTextDevice):
    """Collects what the interpreter paints."""

    def __init__(self, resources: PDFResourceManager) -> None:
        super().__init__(resources)
        self.page = FigurePage(0, 0)
        self.chars: list[Char] = []
        self.known_forms: dict = {}
        self.order = self.points = self.forms = self.block = 0

    def begin_page(self, page, ctm) -> None:
        left, bottom, right, top = page.mediabox
        corners = [_apply(ctm, x, y) for x in (left, right) for y in (bottom, top)]
        width, height = (max(c[k] for c in corners) - min(c[k] for c in corners) for k in (0, 1))
        self.page = FigurePage(width, height)

    def paint_path(self, graphicstate, stroke, fill, evenodd, path) -> None:
        self.order += 1
        self._count(len(path))
        pieces, closed, curved = _pieces(path)
        if not pieces:
            return
        a, b, c, d, e, f = self.ctm
        linear, shift = np.array([[a, b], [c, d]]), np.array([e, f])
        scale = math.sqrt(abs(a * d - b * c))
        placed = [np.asarray(piece) @ linear + shift for piece in pieces]
        if not all(np.isfinite(piece).all() for piece in placed):
            return
        phase = graphicstate.dash[1] if graphicstate.dash else 0
        dash = graphicstate.dash[0] if graphicstate.dash else ()
        dash = (
            tuple(float(v) * scale for v in dash if isinstance(v, int | float))
            if isinstance(dash, list | tuple)
            else ()
        )
        self.page.paths.append(
            Path(
                placed,
                closed,
                curved,
                colour(graphicstate.scolor) if stroke else "",
                colour(graphicstate.ncolor) if fill else "",
                float(graphicstate.linewidth or 0) * scale,
                dash if any(dash) else (),
                graphicstate.clip,
                graphicstate.stroke_alpha if stroke else graphicstate.fill_alpha,
                self.order,
                phase=float(phase) * scale if isinstance(phase, int | float) else 0.0,
                outline=[np.asarray(piece) @ linear + shift for piece in _outline(path)] if curved else [],
                fill_alpha=graphicstate.fill_alpha,
                ends=_ends(graphicstate),
                even_odd=bool(evenodd),
            )
        )

    def repeat(self, paths: list[Path], ctm, now, clip: Rect | None) -> None:
        """Draw a known form's paths once more. ctm: of the first time; now: of this time, different in place only."""
        for path in paths:
            self.order += 1
            self._count(sum(len(piece) for piece in path.pieces))
            self.page.paths.append(path.moved(now[4] - ctm[4], now[5] - ctm[5], clip, self.order))

    def _count(self, points: int) -> None:
        self.points += points
        if len(self.page.paths) >= MAX_PATHS or self.points > MAX_POINTS:
            raise PageTooFull(f"it holds more than {MAX_PATHS} lines or {MAX_POINTS} points")

    def picture(self, ctm) -> None:
        corners = np.array([_apply(ctm, x, y) for x in (0, 1) for y in (0, 1)])
        (left, bottom), (right, top) = corners.min(0), corners.max(0)
        self.page.pictures.append((float(left), float(bottom), float(right), float(top)))

    def shade(self, clip: Rect | None) -> None:
        self.page.pictures.append(clip or (0.0, 0.0, self.page.width, self.page.height))

    def render_char(self, matrix, font, fontsize, scaling, rise, cid, ncs, graphicstate) -> float:
        try:
            text = font.to_unichr(cid)
        except PDFUnicodeNotDefined:
            text = "\ufffd"
        advance = font.char_width(cid) * fontsize * scaling
        unit = abs(font.matrix[3]) * 1000 if isinstance(font, PDFType3Font) else 1.0
        self._character(text, matrix, advance, rise, fontsize * unit, colour(graphicstate.ncolor))
        return advance

    def glyph(self, text: str, form, ctm, state: _State) -> None:
        """A character drawn as a form, 1000 units to the size of its font."""
        box = [float(v) if isinstance(v, int | float) else 0.0 for v in list_value(form.get("BBox", [0, 0, 600, 700]))]
        self._character(text, ctm, box[2] if len(box) == 4 else 600.0, 0.0, 1000.0, colour(state.ncolor))

    def _character(self, text: str, matrix, advance: float, rise: float, size: float, said: str) -> None:
        self.order += 1
        if len(self.chars) >= MAX_CHARACTERS:
            raise PageTooFull(f"it holds more than {MAX_CHARACTERS} characters")
        a, b, c, d = matrix[:4]
        start, end = _apply(matrix, 0, rise), _apply(matrix, advance, rise)
        if not all(map(math.isfinite, (*start, *end))):
            return
        angle = math.degrees(math.atan2(b, a))
        self.chars.append(Char(text, start, end, abs(size) * math.hypot(c, d), angle, said, self.order, self.block))


def pages(file: BinaryIO, most: int) -> tuple[list[FigurePage], int, dict]:
    """(the first `most` pages, how many there are (at most `most` + 1 are counted), the document's information).

    Raises TooMuch, or whatever pdfminer raises for a broken or an encrypted file.
    """
    document = PDFDocument(PDFParser(file))
    resources = PDFResourceManager()
    found, count = [], 0
    for page in PDFPage.create_pages(document):
        count += 1
        if count > most:
            break
        device = _Device(resources)
        _whole(page)
        _Interpreter(resources, device).process_page(page)
        device.page.texts = list(_texts(device.chars))
        found.append(device.page)
    return found, count, document.info[0] if document.info else {}


def _whole(page: PDFPage) -> None:
    """Check that the page's content can be unpacked to its end: pdfminer goes on with what is left of a damaged one,
    and curves would be missing. Raises TooMuch, zlib.error."""
    for stream in page.contents:
        content = stream_value(stream)
        filters = [literal_name(name) for name, _ in content.get_filters()]
        packed = content.get_rawdata()
        if filters != ["FlateDecode"] or packed is None or content.decipher:
            continue
        unpacking = zlib.decompressobj()
        unpacking.decompress(packed, MAX_CONTENT)
        if unpacking.unconsumed_tail:
            raise PageTooFull(f"its page holds more than {MAX_CONTENT >> 20} MiB")
        if not unpacking.eof:
            raise zlib.error("the content of the page is cut off")


def colour(value) -> str:
    """ "#rrggbb" of a colour of 1 (grey), 3 (RGB) or 4 (CMYK) numbers from 0 to 1; of a pattern, which has none:
    grey."""
    parts = value if isinstance(value, tuple | list) else (value,)
    if not parts or not all(isinstance(v, int | float) for v in parts):
        return "#808080"
    if len(parts) == 4:
        cyan, magenta, yellow, black = parts
        parts = tuple((1 - min(1, v)) * (1 - min(1, black)) for v in (cyan, magenta, yellow))
    elif len(parts) != 3:
        parts = (parts[0],) * 3
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, float(v)))):02x}" for v in parts)


def _apply(matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _marked(box: Rect, x: float, y: float) -> tuple[float, float] | None:
    """The origin of a form, if it is a mark there: small, and around it or beside it."""
    left, bottom, right, top = box
    small = max(right - left, top - bottom) < 60
    return (float(x), float(y)) if small and left - 1 <= x <= right + 1 and bottom - 1 <= y <= top + 1 else None


def _matrix(value):
    found = resolve1(value)
    if isinstance(found, list) and len(found) == 6 and all(isinstance(v, int | float) for v in found):
        return tuple(found)
    return MATRIX_IDENTITY


def _glyph(name: str) -> str:
    """The character that a form of this name draws ("DejaVuSans-minus": matplotlib names them so), or ""."""
    match = re.fullmatch(r".+-([A-Za-z][A-Za-z0-9.]*)", name)
    if not match:
        return ""
    try:
        return name2unicode(match[1])
    except (KeyError, ValueError):
        return "\ufffd"


def _pieces(path) -> tuple[list[list], list[bool], bool]:
    """The subpaths of pdfminer's path: their points, whether each is closed, and whether there is a Bezier curve in
    any."""
    pieces: list[list] = []
    closed: list[bool] = []
    curved = False
    for segment in path:
        kind = segment[0]
        if kind == "m":
            pieces.append([segment[1:3]])
            closed.append(False)
        elif kind == "h":
            if closed:
                closed[-1] = True
        elif pieces:
            pieces[-1].append(segment[-2:])
            curved |= kind != "l"
    kept = [k for k, piece in enumerate(pieces) if len(piece) > 1 or closed[k]]
    return [pieces[k] for k in kept], [closed[k] for k in kept], curved


_STEPS = np.linspace(0.125, 1.0, 8)[:, None]  # of a Bezier curve


def _outline(path) -> list[np.ndarray]:
    """The subpaths of pdfminer's path, those that `_pieces` gives, Bezier curves as eight lines each."""
    pieces: list[list] = []
    closed: set[int] = set()
    for kind, *numbers in path:
        places = np.array(numbers, float).reshape(-1, 2)
        if kind == "m":
            pieces.append([places[0]])
        elif kind == "h":
            closed.add(len(pieces) - 1)
        elif kind in "lcvy" and pieces:
            start = pieces[-1][-1]
            if kind != "l":
                first = start if kind == "v" else places[0]
                second, end = (places[0] if kind == "v" else places[-1] if kind == "y" else places[1]), places[-1]
                t = _STEPS
                places = (1 - t) ** 3 * start + 3 * t * (1 - t) ** 2 * first + 3 * t**2 * (1 - t) * second + t**3 * end
            pieces[-1] += list(places)
    return [np.array(piece) for k, piece in enumerate(pieces) if len(piece) > 1 or k in closed]


def _ends(state: PDFGraphicState) -> tuple[int, int]:
    """(how lines end, how they join), as numbers of PDF."""
    cap, join = (v if v in (0, 1, 2) else 0 for v in (state.linecap, state.linejoin))
    return int(cap), int(join)


# -- characters to texts -----------------------------------------------------------------------------------------------


def _texts(chars: list[Char]) -> Iterator[Text]:
    """Join characters that follow each other in the file and on the page."""
    run: list[Char] = []
    for char in chars:
        if run and not _follows(run, char):
            yield from _text(run)
            run = []
        run.append(char)
    yield from _text(run)


def _follows(run: list[Char], char: Char) -> bool:
    last = run[-1]
    if abs((char.angle - last.angle + 180) % 360 - 180) > 1:
        return False
    angle = math.radians(last.angle)
    dx, dy = char.start[0] - last.end[0], char.start[1] - last.end[1]
    along, across = dx * math.cos(angle) + dy * math.sin(angle), dy * math.cos(angle) - dx * math.sin(angle)
    size = max(c.size for c in run)
    # each label is a text object of its own, and labels may stand close
    widest = 0.75 if char.block == last.block else 0.2
    return -0.35 * size < along < widest * size and abs(across) < 0.75 * size and char.size < 1.7 * size


def _text(run: list[Char]) -> Iterator[Text]:
    while run and not run[-1].text.strip():
        run = run[:-1]
    while run and not run[0].text.strip():
        run = run[1:]
    if not run:
        return
    size = max(c.size for c in run)
    angle = math.radians(run[0].angle)
    cos, sin = math.cos(angle), math.sin(angle)
    heights = [c.start[1] * cos - c.start[0] * sin for c in run]
    base = float(np.median([h for h, c in zip(heights, run, strict=True) if c.size > 0.85 * size]))
    level = [
        0 if c.size > 0.85 * size or abs(h - base) < 0.1 * size else 1 if h > base else -1
        for h, c in zip(heights, run, strict=True)
    ]
    corners = []
    for c in run:
        for x, y in (c.start, c.end):
            corners += [(x, y), (x - 0.72 * c.size * sin, y + 0.72 * c.size * cos)]
    points = np.array(corners)
    (left, bottom), (right, top) = points.min(0), points.max(0)
    yield Text(
        run,
        level,
        (float(left), float(bottom), float(right), float(top)),
        run[0].angle,
        size,
        run[0].colour,
        run[0].order,
    )
