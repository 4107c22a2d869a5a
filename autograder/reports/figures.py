"""The figures of the class report, as SVG that follows the page's light or dark colours. Nothing is told by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from labkit.palette import BLACK, BLUE, FAINT, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILLION, YELLOW

WIDTH = 860
VERDICT_COLOURS = {
    "passed": GREEN,
    "wrong": VERMILLION,
    "raised": ORANGE,
    "hung": PURPLE,
    "crashed": BLACK,
    "out_of_memory": YELLOW,
    "too_slow": SKY,
    "missing": FAINT,
    "not_judged": GREY,
}
_DARK = {VERMILLION, BLACK, GREY, GREEN, BLUE}  # white figures stand on these, dark ones on the others


def score_histogram(scores: Sequence[float], points: float) -> Markup:
    """How many students have how many points, the mean dashed. scores: of those who handed in, in points."""
    height, left, bottom, top = 242, 44, 44, 34
    edges = _edges(points, max(scores, default=0))
    counts, _ = np.histogram(scores, bins=edges)
    base, most = height - bottom, max(int(counts.max()), 1)
    scale = (base - top) / most
    across = (WIDTH - left - 10) / (edges[-1] - edges[0])

    def x(value: float) -> float:
        return left + (value - edges[0]) * across

    parts = [_text(0, 11, "students", soft=True), _text((left + WIDTH) / 2, height - 8, "points", "middle", soft=True)]
    labels = []  # in front of the dashed line
    for tick in _ticks(most):
        parts.append(_path("guide", f"M{left} {base - tick * scale:.1f}H{WIDTH - 10}"))
        parts.append(_text(left - 7, base - tick * scale + 4, tick, "end", soft=True))
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        middle = (low + high) / 2
        if count:
            parts.append(_rect(x(low) + 1, base - count * scale, (high - low) * across - 2, count * scale))
            labels.append(_text(x(middle), base - count * scale - 4, count, "middle"))
        whole = high - low == 1
        if not whole or len(edges) <= 13 or round(middle) % max(1, round(points / 10)) == 0:
            parts.append(_text(x(middle), base + 17, f"{middle:g}" if whole else f"{low:g} to {high:g}", "middle", soft=True))
    parts.append(_path("axis", f"M{left} {base}H{WIDTH - 10}"))
    told = f"Histogram of the scores of {len(scores)} students, 0 to {points:g} points"
    if len(scores):
        mean = float(np.mean(scores))
        at_right = x(mean) > WIDTH - 90
        parts.append(_path("mean", f"M{x(mean):.1f} {top - 6}V{base}"))
        parts.append(_text(x(mean) + (-5 if at_right else 5), top - 8, f"mean {mean:.1f}", "end" if at_right else "start"))
        told += f", mean {mean:.1f}"
    return _svg(WIDTH, height, told, [*parts, Markup('<g class="halo">'), *labels, Markup("</g>")])


def _edges(points: float, highest: float) -> np.ndarray:
    """A bar for every whole point where there are few, otherwise ten bars; the last one holds what is above the maximum."""
    if points <= 24:
        return np.arange(0, max(int(np.ceil(points)), int(round(highest)), 1) + 2) - 0.5
    edges = np.linspace(0, points, 11)
    edges[-1] = max(points, highest)
    return edges


def _ticks(most: int) -> list[int]:
    step = next(s * 10**k for k in range(6) for s in (1, 2, 5) if most / (s * 10**k) <= 5)
    return list(range(0, most + 1, step))


def small_bars(scores: Sequence[float], points: float) -> Markup:
    """A distribution as small as a word: up to nine bars from no points to all points."""
    width, height = 108, 30
    if not points:
        return Markup('<span class="none">no points</span>')
    bins = int(min(max(points, 1), 8)) + 1
    places = np.clip(np.round(np.array(scores, dtype=float) / points * (bins - 1)), 0, bins - 1).astype(int)
    counts = np.bincount(places, minlength=bins) if len(scores) else np.zeros(bins, dtype=int)
    most = max(int(counts.max()), 1)
    each = width / bins
    parts = [_path("axis", f"M0 {height - 0.5}H{width}")]
    for k, count in enumerate(counts):
        if count:
            tall = max((height - 3) * count / most, 1)
            parts.append(_rect(k * each + 1, height - 1 - tall, each - 2, tall))
    told = "; ".join(f"{points * k / (bins - 1):g} points: {count}" for k, count in enumerate(counts) if count) or "no scores"
    return _svg(width, height, told, parts, fixed=True)


def verdict_bars(verdicts: Sequence[tuple[str, Mapping[str, int]]]) -> Markup:
    """A bar per exercise with a segment per verdict. verdicts: (exercise, verdict -> number of students)."""
    left, row, bar = 210, 30, 20
    parts, told = [], []
    for k, (name, counts) in enumerate(verdicts):
        y, x = k * row + 5, float(left)
        shown = [(verdict, colour, counts[verdict]) for verdict, colour in VERDICT_COLOURS.items() if counts.get(verdict)]
        told.append(f"{name}: {', '.join(f'{_words(verdict)} {count}' for verdict, _, count in shown)}.")
        parts.append(_text(left - 8, y + 14, name if len(name) <= 31 else name[:30] + "…", "end"))
        for verdict, colour, count in shown:
            wide = (WIDTH - left - 10) * count / sum(counts.values())
            parts.append(_rect(x, y, wide, bar, colour, f"{name}: {_words(verdict)} {count}"))
            if wide > 9 * len(str(count)) + 4:
                ink = "#FFFFFF" if colour in _DARK else INK
                parts.append(_text(x + wide / 2, y + 14, count, "middle", colour=ink))
            x += wide
    return _svg(WIDTH, row * len(verdicts) + 6, f"Verdicts of each exercise. {' '.join(told)}", parts)


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")


def _text(x: float, y: float, text: object, anchor: str = "start", soft: bool = False, colour: str = "") -> Markup:
    look = Markup(' class="soft"') if soft else Markup(' style="fill:{}"').format(colour) if colour else ""
    return Markup('<text x="{}" y="{}" text-anchor="{}"{}>{}</text>').format(f"{x:.1f}", f"{y:.1f}", anchor, look, text)


def _rect(x: float, y: float, width: float, height: float, colour: str = BLUE, title: str = "") -> Markup:
    made = Markup('<rect x="{}" y="{}" width="{}" height="{}" fill="{}" stroke="var(--paper)" stroke-width="0.7">{}</rect>')
    told = Markup("<title>{}</title>").format(title) if title else ""
    return made.format(f"{x:.1f}", f"{y:.1f}", f"{max(width, 0.5):.1f}", f"{max(height, 0.5):.1f}", colour, told)


def _path(kind: str, d: str) -> Markup:
    return Markup('<path class="{}" d="{}"/>').format(kind, d)


def _svg(width: float, height: float, told: str, parts: Sequence[Markup], fixed: bool = False) -> Markup:
    size = Markup(' width="{}" height="{}"').format(width, height) if fixed else ""
    made = Markup('<svg viewBox="0 0 {} {}"{} role="img" aria-label="{}">{}</svg>')
    return made.format(width, height, size, told, Markup("").join(parts))
