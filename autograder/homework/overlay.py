"""A student's page with what was read from it drawn on top, so that everybody sees what the judge saw.

The page is drawn in the jail and comes back as raw pixels; the picture is encoded here, from them. Curves are kept as
points, in pixels.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
from PIL import Image

import autograder.homework.inside as inside
from autograder.homework.rubric import shown

WIDTH = 760  # pixels
MOST_BYTES = 110_000  # of a picture; larger ones get fewer colours, and then fewer pixels
MOST_POINTS, MOST_CURVES = 240, 24
_FADED = 0.45  # how much of the page's own colours is left


def draw(path: Path, figure, jail: dict | None = None) -> dict:
    """{"png": base64, "width", "height": pixels, "curves": [{"name", "points": [[x, y], ...]}], "alt"} of the first
    page, as JSON values.

    figure: what was read from it, a `probes.figure.types.Figure`. Raises `inside.NoAnswer` where the page cannot be
    drawn.
    """
    answer = inside.run("probes.figure.pixels", path, str(WIDTH), jail=jail)
    page = _pixels(answer)
    curves = _curves(figure, page.shape[1], page.shape[0])
    names = ", ".join(curve["name"] for curve in curves) or "no curve"
    alt = f"The first page of {shown(figure.source, 60)} with the curves that were read from it: {names}."
    return {
        "png": base64.b64encode(_encoded(page)).decode(),
        "width": page.shape[1],
        "height": page.shape[0],
        "curves": curves,
        "alt": alt,
    }


def _pixels(answer: bytes) -> np.ndarray:
    head, _, data = answer.partition(b"\n")
    try:
        _, height, width = map(int, head[:60].split())
    except ValueError:
        raise inside.NoAnswer("it did not answer with a page") from None
    if not (0 < width <= 2 * WIDTH and 0 < height and len(data) == height * width * 3):
        raise inside.NoAnswer("it answered with a page of an impossible size")
    page = np.frombuffer(data, dtype=np.uint8).reshape(height, width, 3)
    return (255 - _FADED * (255.0 - page)).astype(np.uint8)


def _encoded(page: np.ndarray) -> bytes:
    """The page as PNG, of at most MOST_BYTES."""
    picture = Image.fromarray(page)
    for colours, part in ((0, 1), (32, 1), (16, 2), (8, 4)):
        small = picture.resize((max(picture.width // part, 1), max(picture.height // part, 1))) if part > 1 else picture
        file = io.BytesIO()
        (small.quantize(colours) if colours else small).save(file, "PNG", optimize=True)
        if file.tell() <= MOST_BYTES:
            return file.getvalue()
    file = io.BytesIO()
    Image.new("RGB", (1, 1), "white").save(file, "PNG")
    return file.getvalue()


def _curves(figure, width: int, height: int) -> list[dict]:
    """The curves of the first page in pixels from its upper left corner."""
    if not figure.pages:
        return []
    scale = width / figure.pages[0][0]
    found = []
    for panel in figure.panels:
        for curve in panel.curves if panel.page == 0 else ():
            keep = ~curve.cut & np.isfinite(curve.page_x) & np.isfinite(curve.page_y)
            x, y = scale * curve.page_x[keep], height - scale * curve.page_y[keep]
            inside_page = (x > -width) & (x < 2 * width) & (y > -height) & (y < 2 * height)
            x, y = x[inside_page], y[inside_page]
            if not len(x):
                continue
            some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
            points = [[round(float(a), 1), round(float(b), 1)] for a, b in zip(x[some], y[some], strict=True)]
            found.append(
                {"name": shown(curve.name, 40) or "a curve without a name", "count": int(len(x)), "points": points}
            )
    return found[:MOST_CURVES]
