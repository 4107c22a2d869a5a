"""Compares a page of a PDF with what was read from it, as pixels. Part of `probes.figure.figure`.

A page can hold what its reader does not know of: soft masks, layers that are switched off, clipping by other shapes
than rectangles, annotations, patterns, pictures within the content, text that is not painted. Here PDFium draws the
page, and then another one with the paths that were read and nothing else. Outside of texts the two must look the same,
and each text must add something to the second one; otherwise a person who looks at the page sees something else than
its reader.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from probes.figure.curves import within_frame
from probes.figure.page import FigurePage, Path, Rect, Text

OTHER = (
    "What is seen on the page is not what was read from the file: a part of it is covered, masked, cut off, switched"
    " off, or drawn in a way that plots are not. Save it with matplotlib's savefig."
)
UNSEEN_TEXT = "A text of it is in the file but is not seen."
_SCALE, _MOST_PIXELS = 2.0, 3_000_000  # pixels to a point; of a page
_NEAR = 2  # pixels: how far apart the same may be drawn
_TOLERANCE = 64  # of 255: colours of other colour spaces are not converted exactly
_LEAST_PIXELS = 24  # of a panel: so many differ where something is missing
_LEAST_INK, _INK = 2, 24.0  # pixels of a text; by how much they differ from what is below
_LARGEST, _MOST_TEXT = 40.0, 0.7  # points: of a larger text nobody knows the ink; the part of a panel below texts


def compare(drawn: np.ndarray, page: FigurePage, frames: list[Rect]) -> str:
    """The reason why a page is not what was read from it, "" if it is. drawn: as `pixels` gives it; frames: of the
    panels."""
    again = pixels(_as_pdf(page), 0)
    if abs(np.subtract(drawn.shape, again.shape)).max() > 1:
        return OTHER
    height, width = np.minimum(drawn.shape, again.shape)[:2]
    drawn, again = drawn[:height, :width], again[:height, :width]
    scale = height / page.height
    differs = _beyond(drawn, again) | _beyond(again, drawn)
    behind = np.zeros((height, width), bool)
    for text in page.texts:
        if text.size <= _LARGEST:
            behind[_pixels_of(_grown(text), height, scale)] = True
    for frame in frames:
        at = _pixels_of(frame, height, scale)
        if (differs[at] & ~behind[at]).sum() >= _LEAST_PIXELS or behind[at].mean() > _MOST_TEXT:
            return OTHER
    ink = np.abs(drawn.astype(int) - again).max(2) >= _INK
    whole = [text for text in page.texts if within_frame(text.box, (0, 0, page.width, page.height), 0)]
    unseen = any(ink[_pixels_of(_grown(text), height, scale)].sum() < _LEAST_INK for text in whole)
    return UNSEEN_TEXT if unseen else ""


def pixels(data: bytes, index: int) -> np.ndarray:
    """A page of a PDF as it is seen, shape (height, width, 3), uint8. Raises ValueError where it cannot be drawn."""
    import pypdfium2

    try:
        page = pypdfium2.PdfDocument(data)[index]
        width, height = page.get_size()
        scale = min(_SCALE, (_MOST_PIXELS / (width * height)) ** 0.5)
        drawn = page.render(scale=scale, rev_byteorder=True, may_draw_forms=False).to_numpy()
    except (pypdfium2.PdfiumError, ZeroDivisionError, IndexError) as error:
        raise ValueError(f"the page cannot be drawn ({error})") from None
    drawn = drawn if drawn.ndim == 3 else drawn[:, :, None]
    return np.broadcast_to(drawn[:, :, :3], (*drawn.shape[:2], 3)).copy()


def _beyond(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Says which pixels have a colour that is nowhere near in the other picture."""
    low, high = _around(other, np.minimum), _around(other, np.maximum)
    return ((low - np.minimum(low, one) > _TOLERANCE) | (np.maximum(high, one) - high > _TOLERANCE)).any(2)


def _around(picture: np.ndarray, extreme: np.ufunc) -> np.ndarray:
    """The least or the largest of the values near each pixel."""
    for axis in (0, 1):
        padding = [(_NEAR, _NEAR) if axis == k else (0, 0) for k in range(3)]
        wide, length = np.pad(picture, padding, "edge"), picture.shape[axis]
        picture = extreme.reduce(
            [wide[by : by + length] if axis == 0 else wide[:, by : by + length] for by in range(2 * _NEAR + 1)]
        )
    return picture


def _grown(text: Text) -> Rect:
    """The box of a text with its descenders and accents."""
    by = 0.35 * text.size
    left, bottom, right, top = text.box
    return left - by, bottom - by, right + by, top + by


def _pixels_of(box: Rect, height: int, scale: float) -> tuple[slice, slice]:
    left, bottom, right, top = (scale * v for v in box)
    rows = slice(max(0, int(height - top)), max(0, int(height - bottom) + 1))
    return rows, slice(max(0, int(left)), max(0, int(right) + 1))


# -- a PDF of paths ----------------------------------------------------------------------------------------------------


def _as_pdf(page: FigurePage) -> bytes:
    """A PDF of one page with the paths of this one."""
    alphas = sorted({(path.alpha, path.fill_alpha) for path in page.paths})
    names = {both: f"A{k}" for k, both in enumerate(alphas)}
    content = "\n".join(_drawn(path, names[path.alpha, path.fill_alpha]) for path in page.paths).encode("ascii")
    states = " ".join(f"/{name} << /CA {_number(a)} /ca {_number(b)} >>" for (a, b), name in names.items())
    size = f"{_number(page.width)} {_number(page.height)}"
    resources = f"/Resources << /ExtGState << {states} >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size}] /Contents 4 0 R {resources} >>".encode("ascii"),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    ]
    file, places = io.BytesIO(), []
    file.write(b"%PDF-1.4\n")
    for number, one in enumerate(objects, 1):
        places.append(file.tell())
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, one))
    start = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    file.writelines(b"%010d 00000 n \n" % place for place in places)
    file.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return file.getvalue()


def _drawn(path: Path, state: str) -> str:
    """The operators that paint a path."""
    if not (path.stroke or path.fill):
        return ""
    said = ["q"]
    if path.clip is not None:
        left, bottom, right, top = np.clip(path.clip, -1e5, 1e5)
        said.append(f"{_numbers((left, bottom, max(0.0, right - left), max(0.0, top - bottom)))} re W n")
    said.append(f"/{state} gs {_number(path.width)} w {path.ends[0]} J {path.ends[1]} j")
    if path.dash:
        said.append(f"[{_numbers(path.dash)}] {_number(path.phase)} d")
    said += [f"{_numbers(_channels(path.stroke))} RG"] if path.stroke else []
    said += [f"{_numbers(_channels(path.fill))} rg"] if path.fill else []
    said += _pieces(path)
    even = "*" if path.even_odd and path.fill else ""
    return "\n".join([*said, f"{'B' if path.stroke and path.fill else 'S' if path.stroke else 'f'}{even} Q"])


def _pieces(path: Path) -> Iterator[str]:
    for piece, closed in zip(path.outline or path.pieces, path.closed, strict=True):
        first, *others = np.clip(piece, -1e5, 1e5).tolist()
        yield " ".join([f"{_numbers(first)} m", *(f"{_numbers(point)} l" for point in others), "h" * closed])


def _channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def _numbers(values) -> str:
    return " ".join(map(_number, values))


def _number(value: float) -> str:
    return f"{value:.4f}"
