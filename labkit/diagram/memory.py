"""The memory of every rank over time: a small curve below its lane, all on one scale, with its peak in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from labkit.diagram.places import Frame, Memory
from labkit.diagram.shapes import LEFT, SMALL, Label, Line, Polygon
from labkit.diagram.words import count, in_words
from labkit.palette import BLUE, FAINT, tint

FILL, EDGE = tint(BLUE, 0.7), BLUE


def checked(memory: Sequence[Sequence[tuple[float, float]] | None] | None, ranks: int) -> Memory | None:
    """The step functions in order of time; steps of one moment stay in their order.

    memory: per rank pairs (seconds, bytes from then on), or None for a rank whose memory nobody counted. Raises
    ValueError where it is not of `ranks` ranks, or where a number cannot be a time or a number of bytes.
    """
    if memory is None:
        return None
    if len(memory) != ranks:
        raise ValueError(f"memory of {count(len(memory), 'rank')} beside {count(ranks, 'lane')}")
    per_rank = [[] if points is None else [(float(t), float(n)) for t, n in points] for points in memory]
    for rank, points in enumerate(per_rank):
        for seconds, nbytes in points:
            if not (math.isfinite(seconds) and 0 <= nbytes < math.inf):
                raise ValueError(f"memory of rank {rank}: {nbytes:g} bytes at {seconds:g} s")
    return [sorted(points, key=lambda point: point[0]) for points in per_rank]


def peaks(memory: Memory) -> dict[int, str]:
    """By rank, the largest number of bytes in words; ranks without a curve are left out."""
    return {rank: in_words(round(max(n for _, n in points))) for rank, points in enumerate(memory) if points}


def highest(memory: Memory | None) -> float:
    """The largest number of bytes of any rank; 0.0 where nobody counted."""
    return max((n for points in memory or () for _, n in points), default=0.0)


def curves(memory: Memory | None, frame: Frame, most: float = 0.0) -> list[Polygon | Line | Label]:
    """A filled step curve below each lane, as high as its strip where any rank's peak is reached, and "peak 4.19 MB" to
    the right of it. most: the bytes that fill the strip, where they are more."""
    if memory is None:
        return []
    scale = max(highest(memory), most) or 1.0
    shapes: list[Polygon | Line | Label] = []
    for rank, says in peaks(memory).items():
        top, bottom = frame.curve(rank)
        outline = [(x, bottom - share * (bottom - top)) for x, share in _steps(memory[rank], scale, frame)]
        shapes.append(Line("guide", LEFT, bottom, frame.right, bottom, FAINT))
        if outline:
            outline = [(outline[0][0], bottom), *outline, (frame.right, outline[-1][1]), (frame.right, bottom)]
            shapes.append(Polygon("memory", tuple(outline), FILL, EDGE))
        shapes.append(Label("peak", frame.right + 6, (top + bottom) / 2, f"peak {says}", SMALL))
    return shapes


def _steps(points: list[tuple[float, float]], scale: float, frame: Frame) -> list[tuple[float, float]]:
    """The corners of a step function, in pixels and shares of `scale`. In every column of pixels stands the largest of
    its values: what is held for an instant only needs the memory, too."""
    columns: dict[int, float] = {}  # from this pixel on
    level = 0.0
    for seconds, nbytes in points:
        if seconds > frame.stop:
            break
        x = min(max(round(frame.x(seconds)), LEFT), int(frame.right) - 1)
        value = nbytes / scale
        columns[x] = value if seconds < frame.start else max(columns.get(x, level), value)
        columns[x + 1] = level = value
    corners: list[tuple[float, float]] = []
    for x, share in columns.items():
        corners += [(x, corners[-1][1])] if corners else []
        corners.append((x, share))
    return corners
