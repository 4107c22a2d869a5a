"""A page of a PDF as pixels: `python -m probes.figure.pixels WIDTH FILE` writes them to its standard output.

First a line "PAGES HEIGHT WIDTH", then HEIGHT * WIDTH * 3 bytes, red, green and blue, of the first page; at most WIDTH
pixels wide. PDFium draws it, and as the PDF may come from anybody, a grader runs this in its jail. Raw pixels are what
comes out because nothing can be hidden in them. Exit status 1, and one sentence on standard error, where there is
nothing to draw.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

MOST_PIXELS = 4_000_000
_MEMORY, _SECONDS = 1 << 30, 10


def pixels(path: str, width: int) -> tuple[int, np.ndarray]:
    """(number of pages, first page of shape (height, width, 3), uint8). Raises ValueError where the file has no page to
    draw."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
        pages = len(document)
        page = document[0]
        points = page.get_size()
        scale = min(width / points[0], (MOST_PIXELS / (points[0] * points[1])) ** 0.5)
        drawn = page.render(scale=scale, rev_byteorder=True, may_draw_forms=False).to_numpy()
    except (pypdfium2.PdfiumError, ZeroDivisionError, IndexError) as error:
        raise ValueError(f"the PDF cannot be drawn ({error})") from None
    if drawn.ndim == 2:
        drawn = drawn[:, :, None]
    return pages, np.ascontiguousarray(np.broadcast_to(drawn[:, :, :3], (*drawn.shape[:2], 3)))


def main() -> int:
    """WIDTH PDF: writes the number of pages, height and width, and the pixels of the first page to stdout."""
    width, path = int(sys.argv[1]), sys.argv[2]
    try:
        pages, drawn = pixels(path, width)
    except (ValueError, OSError, MemoryError) as error:
        print(f"{error}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(f"{pages} {drawn.shape[0]} {drawn.shape[1]}\n".encode() + drawn.tobytes())
    return 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    sys.exit(main())
