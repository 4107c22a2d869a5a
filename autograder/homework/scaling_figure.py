"""scaling.pdf against the run logs: throughput, speedup, efficiency or time over the number of ranks, whichever was drawn."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autograder.homework.measured import Range, Speed, speedup
from autograder.homework.rubric import MORE_SIZES, SIZES, Finding, full, lost, needs_person, shown
from autograder.homework.table import Table

_WORDS = {  # looked for in this order
    "efficiency": r"effic|effizi",
    "speedup": r"speed",
    "throughput": r"image|img|throughput|sample|per second",
    "seconds": r"\btime|second|minute|\bs\b|\[s\]|duration",
}
_PERFECT = re.compile(r"ideal|perfect|linear|theor|optim", re.IGNORECASE)
_READING = 0.03  # of a value: an x that is closer to a number of ranks is that number


@dataclass
class Drawn:
    """A curve over the number of ranks. quantity: a key of _WORDS, "" where nothing says which. points: ranks -> value.

    uncertainty: how wrong a value may have been read. perfect: the line of perfect scaling, not a measurement.
    """

    quantity: str
    name: str
    points: dict[int, float]
    uncertainty: float
    perfect: bool = False


def judge(figure, speeds: Mapping[int, Speed], sizes: list[int], claimed: Table | None) -> Finding:
    """Do the curves of `figure` (a `labkit.pdf_types.Figure`) stand where the logs' numbers are?

    speeds: size -> throughput of the run; sizes: those that must be drawn.
    """
    if figure.verdict != "readable":
        return needs_person("figure", f"scaling.pdf: {shown(figure.reason, 200)}", figure.kind or "unreadable_figure")
    expected = _expected(speeds)
    curves = list(drawn(figure, expected))
    measured = [curve for curve in curves if not curve.perfect]
    right = [curve for curve in measured if _quantity(curve, expected)]
    if not measured:
        return _nothing(figure, curves)
    complete = [curve for curve in right if set(sizes) <= set(curve.points)]
    wrong = [curve for curve in measured if curve not in right and curve.quantity in ("speedup", "efficiency", "throughput")]
    if complete and not wrong:
        return full(
            "figure",
            f"{_quantity(complete[0], expected).capitalize()} on {', '.join(map(str, sorted(complete[0].points)))} ranks.",
        )
    if wrong:
        return _wrong(wrong[0], expected, claimed, some_right=bool(complete))
    if right:
        missing = [p for p in sizes if all(p not in curve.points for curve in right)] or sizes
        most = max(len(set(sizes) & set(curve.points)) for curve in right)
        said = f"The figure has no point for {', '.join(map(str, missing))} ranks."
        teach = "Draw a point for each run that you did."
        return lost("figure", "missing_sizes", said, teach, earned=round(5 * most / len(sizes), 2))
    return needs_person(
        "figure", "No curve of scaling.pdf says whether it is throughput, speedup, efficiency or time.", "unknown_quantity"
    )


def drawn(figure, expected: Mapping[str, Mapping[int, Range]]) -> Iterator[Drawn]:
    """The curves of a figure that stand over numbers of ranks."""
    for panel in figure.panels:
        if re.search(r"epoch|step|iteration", panel.x.label, re.IGNORECASE):
            continue
        for curve in panel.curves:
            axis = panel.right if curve.axis == "right" and panel.right else panel.y
            quantity = _says((axis.label, curve.name, panel.title, figure.title))
            points = _over_ranks(*curve.data())
            if len(points) < 2:
                continue
            if quantity == "efficiency":
                points = _fractions(points, axis.percent or "%" in axis.label)
            made = Drawn(quantity, shown(curve.name, 40), points, _uncertainty(axis, panel.frame, max(points.values())))
            made.perfect = bool(_PERFECT.search(curve.name)) or (_is_perfect(points) and not _quantity(made, expected))
            yield made


def _uncertainty(axis, frame: tuple[float, float, float, float], value: float) -> float:
    """How wrong a reading near `value` may be, in the unit of the axis."""
    length = frame[3] - frame[1]
    moved = axis.values(axis.positions([value]) + axis.uncertainty * length)[0]
    return abs(moved - value) if math.isfinite(moved) else 0.0


def _expected(speeds: Mapping[int, Speed]) -> dict[str, dict[int, Range]]:
    base = min(speeds)
    gains = {p: speedup(speeds[base], found, base) for p, found in speeds.items()}
    seconds = {p: Range(*found.seconds_per_epoch, found.half) for p, found in speeds.items()}
    return {
        "throughput": {p: found.range for p, found in speeds.items()},
        "speedup": gains,
        "efficiency": {p: gain.times(1 / p) for p, gain in gains.items()},
        "seconds": seconds,
    }


def _quantity(curve: Drawn, expected: Mapping[str, Mapping[int, Range]]) -> str:
    """The quantity that the curve shows as the logs have it, "" for none."""
    for name in [curve.quantity] if curve.quantity else expected:
        of = expected[name]
        if all(p in of and of[p].holds(y, curve.uncertainty) for p, y in curve.points.items() if p in of):
            return name if any(p in of for p in curve.points) else ""
    return ""


def _says(texts: tuple[str, ...]) -> str:
    for text in texts:
        for name, pattern in _WORDS.items():
            if re.search(pattern, text.lower()):
                return name
    return ""


def _over_ranks(x, y) -> dict[int, float]:
    """ranks -> value, of the points that stand at a number of ranks which was asked for; empty where the curve has others."""
    found: dict[int, float] = {}
    for at, value in zip(x.tolist(), y.tolist(), strict=True):
        near = next((p for p in (*SIZES, *MORE_SIZES) if abs(at / p - 1) < _READING), 0)
        if near and math.isfinite(value):
            found.setdefault(near, value)
    return found


def _fractions(points: dict[int, float], percent: bool) -> dict[int, float]:
    first = points[min(points)]
    return {p: y / 100 for p, y in points.items()} if first > 20 or (percent and first > 2) else points


def _is_perfect(points: dict[int, float]) -> bool:
    """Proportional to the number of ranks, or the same for all of them, to what can be seen."""
    first, value = min(points), points[min(points)]
    if value <= 0:
        return False
    growing = all(abs(y / value - p / first) < 0.005 * p / first for p, y in points.items())
    return growing or all(abs(y / value - 1) < 0.005 for y in points.values())


def _nothing(figure, curves: list[Drawn]) -> Finding:
    if curves:
        return lost("figure", "only_perfect", "scaling.pdf shows perfect scaling, but no measurement.", "Draw what the logs say.")
    labels = [panel.x.label for panel in figure.panels if panel.x.label]
    if any(re.search(r"epoch|step|iteration", label, re.IGNORECASE) for label in labels):
        said = f"scaling.pdf has no curve over the number of ranks; its x axis is `{shown(labels[0])}`."
        return lost("figure", "wrong_quantity", said, "x: the number of ranks; y: throughput, speedup or efficiency.")
    return needs_person("figure", "No curve over the numbers of ranks was found in scaling.pdf.", "no_curve")


def _wrong(curve: Drawn, expected: Mapping[str, Mapping[int, Range]], claimed: Table | None, some_right: bool) -> Finding:
    of = expected[curve.quantity]
    at = next((p for p, y in sorted(curve.points.items()) if p in of and not of[p].holds(y, curve.uncertainty)), None)
    if at is None:
        return needs_person("figure", f"The curve of {curve.quantity} has no point that could be compared.", "no_curve")
    said = f"{curve.quantity.capitalize()} on {at} ranks: the figure shows {curve.points[at]:.4g}, the run logs give {of[at]}"
    column = "images_per_second" if curve.quantity == "throughput" else curve.quantity
    written = (claimed.efficiencies()[0] if column == "efficiency" else claimed.column(column)) if claimed else {}
    same = at in written and any(abs(y / curve.points[at] - 1) < 0.02 for y in written[at].readings if curve.points[at])
    if same:
        teach = "Compute the table from the run logs, and draw the figure from the table."
        return lost("figure", "not_from_the_logs", f"{said}. It is what scaling.csv says, too.", teach, earned=2.5 * some_right)
    table = f", and scaling.csv says {written[at].value:.4g}" if at in written else ""
    teach = "Draw the figure from the run logs that you hand in, with the same cell that writes the table."
    return lost("figure", "figure_of_other_runs", f"{said}{table}.", teach, earned=2.5 * some_right)
