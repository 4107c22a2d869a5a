"""The built-in data set: images of the ten digits, drawn from the fonts that come with matplotlib.

Like MNIST: grey images of 28 x 28 pixels, ten classes, 60,000 to train on and 10,000 to test with.
Every image is one digit of one of 22 fonts, turned, slanted, scaled, moved, with uneven ink, a
stray stroke and noise. The numbers are integers from the outline of a letter to the last pixel: no
processor rounds them differently, so the images are the same bytes on every machine.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

import numpy as np

IMAGES = {"train": 60_000, "test": 10_000}
BLOCK = 5_000  # images are drawn (and cached) in blocks of this many
SIDE = 28
# part of the random seed and of the cache's file names: another recipe is another data set
VERSION = 1
FONTS = (
    *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique"),
    *("DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSerif-Italic", "DejaVuSerif-BoldItalic"),
    *(
        "DejaVuSansMono",
        "DejaVuSansMono-Bold",
        "DejaVuSansMono-Oblique",
        "DejaVuSansMono-BoldOblique",
    ),
    *("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"),
    *("cmr10", "cmb10", "cmss10", "cmti10", "cmtt10", "cmmi10"),
)

CELL = 32  # side of a glyph's picture in the atlas, in pixels
GLYPH_HEIGHT = 20  # of the digit within its cell
FINE = 8  # sub-pixels per pixel and direction while an outline is filled


# ------------------------------------------------------------------------------------------- glyphs


@cache
def atlas() -> np.ndarray:
    """All digits of all fonts, uint8, shape (fonts, 10, CELL, CELL): 255 inside the outline, 0
    outside, grey at its edge.
    """
    from matplotlib import get_data_path

    folder = Path(get_data_path()) / "fonts" / "ttf"
    return np.stack(
        [
            np.stack([_fill(outline) for outline in _outlines(folder / f"{name}.ttf")])
            for name in FONTS
        ]
    )


def _outlines(path: Path) -> list[list[np.ndarray]]:
    """The contours of the glyphs 0 to 9: int64 arrays of shape (points, 2), in 1/256 of the font's
    unit.
    """
    from fontTools.pens.basePen import BasePen
    from fontTools.ttLib import TTFont

    class Contours(BasePen):
        """Collects a glyph's contours; curves become 8 straight pieces."""

        def __init__(self, glyphs):
            super().__init__(glyphs)
            self.contours: list[list[tuple[int, int]]] = []

        def _moveTo(self, point):
            self.contours.append([_in_256ths(point)])

        def _lineTo(self, point):
            self.contours[-1].append(_in_256ths(point))

        def _qCurveToOne(self, control, end):
            begin = self._getCurrentPoint()
            for k in range(1, 9):
                # Sums of multiples of 1/128: exact in floating point.
                weights = ((8 - k) ** 2 / 64, 2 * k * (8 - k) / 64, k**2 / 64)
                points = list(zip(weights, (begin, control, end), strict=True))
                self._lineTo(tuple(sum(w * p[axis] for w, p in points) for axis in (0, 1)))

    # Three of the fonts are from 1994, and fontTools warns about their date.
    logging.getLogger("fontTools.ttLib").setLevel(logging.ERROR)
    with TTFont(path, lazy=True) as font:
        glyphs, names = font.getGlyphSet(), font.getBestCmap()
        result = []
        for digit in "0123456789":
            pen = Contours(glyphs)
            glyphs[names[ord(digit)]].draw(pen)
            result.append([np.array(contour, dtype=np.int64) for contour in pen.contours])
    return result


def _in_256ths(point: tuple[float, float]) -> tuple[int, int]:
    return int(256 * point[0]), int(256 * point[1])


def _fill(contours: list[np.ndarray]) -> np.ndarray:
    """Fill an outline by the even-odd rule: uint8, shape (CELL, CELL), the glyph GLYPH_HEIGHT
    pixels tall in the middle.

    A sub-pixel is inside when an odd number of edges crosses its row to the left of its centre.
    """
    points = np.concatenate(contours)
    low, high = points.min(axis=0), points.max(axis=0)
    size, unit = CELL * FINE, 256  # coordinates in 1/256 of a sub-pixel from here on
    grid = np.zeros((size, size + 1), dtype=np.int64)
    centres = np.arange(size) * unit + unit // 2
    for contour in contours:
        moved = (
            (2 * contour - low - high) * (GLYPH_HEIGHT * FINE * unit) // (2 * (high[1] - low[1]))
        )
        x0, y0 = size * unit // 2 + moved[:, 0], size * unit // 2 - moved[:, 1]
        x1, y1 = np.roll(x0, -1), np.roll(y0, -1)
        row, edge = np.nonzero((y0 <= centres[:, None]) != (y1 <= centres[:, None]))
        crossing = x0[edge] + (centres[row] - y0[edge]) * (x1 - x0)[edge] // (y1 - y0)[edge]
        column = np.clip((crossing + unit // 2 - 1) // unit, 0, size)
        np.add.at(grid, (row, column), 1)
    inside = grid.cumsum(axis=1)[:, :size] & 1
    covered = inside.reshape(CELL, FINE, CELL, FINE).sum(axis=(1, 3))
    return (covered * 255 // FINE**2).astype(np.uint8)


# ------------------------------------------------------------------------------------------- images


def draw_block(split: str, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Images number block * BLOCK up to (block + 1) * BLOCK of a split: uint8 (BLOCK, 28, 28) and
    their labels, uint8 (BLOCK,).

    split: "train" or "test".
    """
    numbers = np.random.PCG64([VERSION, list(IMAGES).index(split), block])
    chance = _Chance(numbers, BLOCK)
    labels, fonts = chance.between(0, 9), chance.between(0, len(FONTS) - 1)
    glyphs = atlas().reshape(-1, CELL * CELL)
    chosen = fonts * 10 + labels
    recipe = _recipe(chance)
    images = np.empty((BLOCK, SIDE, SIDE), dtype=np.uint8)
    some = 250  # images at a time: their arrays stay in the processor's cache
    for first in range(0, BLOCK, some):
        part = slice(first, first + some)
        images[part] = _draw(
            glyphs, chosen[part], {name: value[part] for name, value in recipe.items()}, numbers
        )
    return images, labels.astype(np.uint8)


class _Chance:
    """Random integers, one per image, from the raw bits of a generator: numpy promises these never
    change.
    """

    def __init__(self, numbers: np.random.PCG64, count: int):
        bits = numbers.random_raw(count * 6).astype("<u8")
        self._columns = iter(bits.view("<u2").reshape(count, 24).T.astype(np.int64))

    def between(self, low: int, high: int) -> np.ndarray:
        """Integers from low to high, both included, int64, shape (count,)."""
        return low + (next(self._columns) * (high - low + 1) >> 16)


def _recipe(chance: _Chance) -> dict[str, np.ndarray]:
    """The deformation of each image, all int64 of shape (images,). Fractions are in 1/256."""
    return {
        "narrower": chance.between(205, 320),  # 256 keeps the width, more makes it narrower
        "flatter": chance.between(205, 320),
        "turn": chance.between(-64, 64),  # tangent of the angle: 14 degrees either way
        "slant": chance.between(-80, 80),
        "right": chance.between(-544, 544),  # of a pixel: two pixels either way
        "down": chance.between(-544, 544),
        "ink": chance.between(100, 255),
        "paper": chance.between(0, 40),
        "noise": chance.between(10, 110),
        # a stray straight stroke: its distance from the middle ...
        "stroke_x": chance.between(-10 * 256, 10 * 256),
        "stroke_u": chance.between(-256, 256),  # ... and its direction
        "stroke_v": chance.between(-256, 256),
        "stroke_ink": chance.between(0, 200),
    }


def _draw(
    glyphs: np.ndarray, chosen: np.ndarray, recipe: dict[str, np.ndarray], numbers: np.random.PCG64
) -> np.ndarray:
    """Draw images, uint8 (images, 28, 28), each from the glyph number `chosen` and its own column
    of the recipe.
    """
    of = {name: value.astype(np.int32)[:, None, None] for name, value in recipe.items()}
    # Places are counted from the middle of the image, in half pixels, so that they are whole
    # numbers.
    v, u = np.mgrid[-SIDE + 1 : SIDE : 2, -SIDE + 1 : SIDE : 2].astype(np.int32)
    x = (of["narrower"] * (256 * u + (of["slant"] + of["turn"]) * v) >> 9) + of["right"]
    y = (of["flatter"] * (256 * v - of["turn"] * u) >> 9) + of["down"]
    shade = _look_up(glyphs, chosen, x, y)

    # 256 is about a pixel
    distance = np.abs((of["stroke_u"] * u + of["stroke_v"] * v >> 1) + of["stroke_x"])
    stroke = np.clip(256 - distance, 0, 256) * of["stroke_ink"] >> 8
    shade = np.maximum(shade * of["ink"] // 255, stroke) + of["paper"]

    count = len(chosen) * SIDE * SIDE
    dice = (
        numbers.random_raw(count // 4)
        .astype("<u8")
        .view(np.uint8)
        .astype(np.int32)
        .reshape(2, *shade.shape)
    )
    # two dice: small deviations are more frequent than large ones
    noise = (dice[0] + dice[1] - 255) * of["noise"] >> 8
    return np.clip(shade + noise, 0, 255).astype(np.uint8)


def _look_up(glyphs: np.ndarray, chosen: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The glyph's grey value at (x, y), in 1/256 pixel from the middle of its cell, mixed from the
    four pixels around it.
    """
    x, y = (np.clip(place + CELL * 128 - 128, 0, (CELL - 1) * 256 - 1) for place in (x, y))
    corner = (y >> 8) * CELL + (x >> 8) + (chosen * CELL * CELL).astype(np.int32)[:, None, None]
    flat = glyphs.reshape(-1)
    right, down = x & 255, y & 255
    upper = flat[corner] * (256 - right) + flat[corner + 1] * right
    lower = flat[corner + CELL] * (256 - right) + flat[corner + CELL + 1] * right
    return upper * (256 - down) + lower * down >> 16
