"""scaling.pdf against the run logs: throughput, speedup, efficiency or time over the number of ranks, whichever was
drawn."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autograder.homework.drawn import BASES, LOGARITHM, NOT_MEASURED, READING, ranks_at
from autograder.homework.mnist_rubric import MORE_SIZES, SIZES, full, lost, needs_person
from autograder.homework.rubric import LineResult, shown
from autograder.homework.scaling.measured import (
    LEAST_TOLERANCE,
    Range,
    ScalingLogs,
    Speed,
    Way,
    gain_ways,
    in_one_way,
    rate_ways,
    second_ways,
    share_ways,
    speed,
    speedup,
)
from autograder.homework.scaling.mistakes import efficiency_mistakes, rate_mistakes, speedup_mistakes
from autograder.homework.scaling.table import ScalingTable
from labkit.runlog import RunLog

_WORDS = (  # looked for in this order; "speed" alone may be a speedup or images per second
    ("efficiency", r"effic|effizi"),
    ("speedup", r"speed.?up|beschleunig|acc[eé]l[eé]r"),
    ("throughput", r"throughput|durchsatz|\bdébit|(per|/|pro|par) ?s(ec|ek|\b)"),
    ("seconds", r"\btime|second|minute|\bs\b|\[s\]|duration|zeit|sekund|dauer"),
    ("throughput", r"image|img|sample|bild"),
)


_SHAPES = "Some of scaling.pdf is drawn as bars or areas, and their values are not read."


@dataclass
class DrawnCurve:
    """A curve over the number of ranks. quantity: a name of _WORDS, "" where nothing says which. points: ranks ->
    value.

    uncertainty: how wrong a value may have been read. perfect: the line of perfect scaling, not a measurement. several:
    a number of ranks at which the curve has values that differ, 0 if there is none.
    """

    quantity: str
    name: str
    points: dict[int, float]
    uncertainty: float
    perfect: bool = False
    several: int = 0


def judge(figure, speeds: Mapping[int, Speed], sizes: list[int], claimed: ScalingTable | None) -> LineResult:
    """Do the curves of `figure` (a `probes.figure.types.Figure`) stand where the logs' numbers are?

    speeds: size -> throughput of the run; sizes: those that must be drawn.
    """
    if figure.verdict != "readable":
        return needs_person("figure", f"scaling.pdf: {shown(figure.reason, 200)}", figure.kind or "unreadable_figure")
    expected = _expected(speeds)
    curves = list(drawn(figure, expected, speeds))
    if several := next((curve for curve in curves if curve.several), None):
        said = f"A curve of scaling.pdf has several values on {several.several} ranks: which one counts is not known."
        return needs_person("figure", said, "several_values")
    measured = [curve for curve in curves if not curve.perfect]
    right = [curve for curve in measured if _quantity(curve, expected)]
    if not measured:
        return _nothing(figure, curves)
    complete = [curve for curve in right if set(sizes) <= set(curve.points)]
    shapes = any(panel.shapes for panel in figure.panels)
    named = ("speedup", "efficiency", "throughput")
    wrong = [curve for curve in measured if curve not in right and curve.quantity in named]
    if complete and not wrong and not any(_told(curve, expected, speeds) for curve in complete):
        return _too_wide(complete[0], expected)
    if complete and not wrong:
        ranks = ", ".join(map(str, sorted(complete[0].points)))
        return full("figure", f"{_quantity(complete[0], expected).capitalize()} on {ranks} ranks.")
    if wrong:
        return _wrong(wrong[0], expected, claimed, some_right=bool(complete))
    if right and shapes:
        return needs_person("figure", _SHAPES, "shapes_unread")
    if right:
        missing = [p for p in sizes if all(p not in curve.points for curve in right)] or sizes
        most = max(len(set(sizes) & set(curve.points)) for curve in right)
        said = f"The figure has no point for {', '.join(map(str, missing))} ranks."
        teach = "Draw a point for each run that you did."
        return lost("figure", "missing_sizes", said, teach, earned=round(5 * most / len(sizes), 2))
    return needs_person(
        "figure",
        "No curve of scaling.pdf says whether it is throughput, speedup, efficiency or time.",
        "unknown_quantity",
    )


def shows_runs(figure, logs: Mapping[int, RunLog]) -> bool | None:
    """True if a curve of `figure` has the numbers of these runs, all but one at most, or those that a known mistake
    makes of them; None where nothing says what the curves are. Also True where the logs or the figure tell nothing."""
    runs = ScalingLogs(dict(logs), {}, {})
    speeds = {p: found for p, run in sorted(runs.usable.items()) if (found := speed(run)) is not None}
    if not speeds:
        return True
    expected = _expected(speeds)
    curves = list(drawn(figure, expected, speeds))
    measured = [curve for curve in curves if not curve.perfect]
    if not measured:  # nothing over ranks was read, or perfect scaling alone
        return not curves or any(panel.shapes for panel in figure.panels)
    ways = _all_ways(runs, speeds)
    if any(_quantity(curve, expected) or _computed(curve, ways) for curve in measured):
        return True
    return False if any(curve.quantity for curve in measured) else None


def _all_ways(runs: ScalingLogs, speeds: Mapping[int, Speed]) -> list[Way]:
    """The numbers that each way of computing gives, right or by a known mistake."""
    base = min(speeds)
    mistakes = (rate_mistakes(runs, speeds), speedup_mistakes(runs, speeds, base), efficiency_mistakes(speeds, base))
    right = [way for name in ("throughput", "speedup", "efficiency", "seconds") for way in _ways(name, speeds)]
    return right + [way for known in mistakes for ways, _ in known.values() for way in ways]


def _computed(curve: DrawnCurve, ways: list[Way]) -> bool:
    """True if a curve's numbers on several ranks, all but one at most, were computed in one of these ways."""
    several = {p: y for p, y in curve.points.items() if p > 1}

    def agrees(p: int, value: float) -> bool:
        return p in several and abs(several[p] - value) <= READING * abs(value) + curve.uncertainty

    return len(in_one_way(ways, agrees)) >= max(2, len(several) - 1)


def drawn(figure, expected: Mapping[str, Mapping[int, Range]], speeds: Mapping[int, Speed]) -> Iterator[DrawnCurve]:
    """The curves of a figure that stand over numbers of ranks."""
    for panel in figure.panels:
        if re.search(r"epoch|step|iteration", panel.x.label, re.IGNORECASE):
            continue
        for curve in panel.curves:
            axis = panel.right if curve.axis == "right" and panel.right else panel.y
            quantity = _says((axis.label, curve.name, panel.title, figure.title))
            x, y = curve.seen()
            points, last = (_over_ranks(ranks_at(panel, x[::way]), y[::way]) for way in (1, -1))
            several = next((p for p in points if abs(last[p] - points[p]) > LEAST_TOLERANCE * abs(points[p])), 0)
            if len(points) < 2:
                continue
            if quantity == "efficiency":
                points = _fractions(points, axis.percent or "%" in axis.label)
            made = DrawnCurve(
                quantity, shown(curve.name, 40), points, _uncertainty(axis, panel.frame, max(points.values()))
            )
            if axis.scale == "linear" and any(LOGARITHM.search(text) for text in (axis.label, curve.name)):
                made = _undone(made, expected)
            flat = _is_perfect(points)
            named = bool(re.search(NOT_MEASURED, curve.name.lower())) and (
                flat or not _told_and_right(made, expected, speeds)
            )
            made.perfect = named or (flat and not _quantity(made, expected))
            made.several = several
            yield made


def _undone(made: DrawnCurve, expected: Mapping[str, Mapping[int, Range]]) -> DrawnCurve:
    """A curve whose label says that it shows logarithms, with the numbers they are of; of no known quantity where none
    is."""
    for base in BASES:
        points = {p: base**y for p, y in made.points.items() if y < 300}
        wrong_by = max(points.values(), default=0.0) * math.log(base) * made.uncertainty
        undone = DrawnCurve(made.quantity, made.name, points, wrong_by)
        if len(points) == len(made.points) and _quantity(undone, expected):
            return undone
    return DrawnCurve("", made.name, made.points, made.uncertainty)


def _ways(name: str, speeds: Mapping[int, Speed]) -> list[Way]:
    ways = {"throughput": rate_ways, "speedup": gain_ways, "efficiency": share_ways, "seconds": second_ways}
    return ways[name](speeds)


def _told(curve: DrawnCurve, expected: Mapping[str, Mapping[int, Range]], speeds: Mapping[int, Speed]) -> bool:
    """True if the curve's values are the logs', and not only within an interval that holds nearly everything."""
    name = _quantity(curve, expected)
    mine = [p for p in curve.points if p in expected[name]]
    if not any(expected[name][p].wide for p in mine if p > min(mine)):
        return True

    def agrees(p: int, value: float) -> bool:
        return p in curve.points and abs(curve.points[p] - value) <= LEAST_TOLERANCE * abs(value) + curve.uncertainty

    return set(mine) <= in_one_way(_ways(name, speeds), agrees)


def _told_and_right(
    curve: DrawnCurve, expected: Mapping[str, Mapping[int, Range]], speeds: Mapping[int, Speed]
) -> bool:
    return bool(_quantity(curve, expected)) and _told(curve, expected, speeds)


def _too_wide(curve: DrawnCurve, expected: Mapping[str, Mapping[int, Range]]) -> LineResult:
    name = _quantity(curve, expected)
    of = expected[name]
    at = max((p for p in curve.points if p in of), key=lambda p: of[p].accepted[1] / of[p].accepted[0])
    said = (
        f"{name.capitalize()} on {at} ranks: the run logs allow {Range(*of[at].accepted)}, too wide to tell a"
        " measurement from a guess, "
    )
    said += (
        "and no usual way to compute it gives all the values in scaling.pdf. Run again, longer and on an idle machine."
    )
    return needs_person("figure", said, "interval_too_wide")


def _uncertainty(axis, frame: tuple[float, float, float, float], value: float) -> float:
    """The uncertainty of a reading near `value`, in the unit of the axis."""
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


def _quantity(curve: DrawnCurve, expected: Mapping[str, Mapping[int, Range]]) -> str:
    """The quantity that the curve shows as the logs have it, "" for none."""
    for name in [curve.quantity] if curve.quantity else expected:
        of = expected[name]
        if all(p in of and of[p].holds(y, curve.uncertainty) for p, y in curve.points.items() if p in of):
            return name if any(p in of for p in curve.points) else ""
    return ""


def _says(texts: tuple[str, ...]) -> str:
    for text in texts:
        for name, pattern in _WORDS:
            if re.search(pattern, text.lower()):
                return name
    return ""


def _over_ranks(x, y) -> dict[int, float]:
    """ranks -> value, of the points that stand at a number of ranks which was asked for; empty where the curve has
    others."""
    found: dict[int, float] = {}
    for at, value in zip(x.tolist(), y.tolist(), strict=True):
        near = next((p for p in (*SIZES, *MORE_SIZES) if abs(at / p - 1) < READING), 0)
        if near and math.isfinite(value):
            found.setdefault(near, value)
    return found


def _fractions(points: dict[int, float], percent: bool) -> dict[int, float]:
    first = points[min(points)]
    return {p: y / 100 for p, y in points.items()} if first > 20 or (percent and first > 2) else points


def _is_perfect(points: dict[int, float]) -> bool:
    """True if the points are proportional to the number of ranks, or the same for all, as far as can be seen."""
    first, value = min(points), points[min(points)]
    if value <= 0:
        return False
    growing = all(abs(y / value - p / first) < 0.005 * p / first for p, y in points.items())
    return growing or all(abs(y / value - 1) < 0.005 for y in points.values())


def _nothing(figure, curves: list[DrawnCurve]) -> LineResult:
    if any(panel.shapes for panel in figure.panels):
        return needs_person("figure", _SHAPES, "shapes_unread")
    if curves:
        return lost(
            "figure",
            "only_perfect",
            "scaling.pdf shows perfect scaling, but no measurement.",
            "Draw what the logs say.",
        )
    labels = [panel.x.label for panel in figure.panels if panel.x.label]
    if any(re.search(r"epoch|step|iteration", label, re.IGNORECASE) for label in labels):
        said = f"scaling.pdf has no curve over the number of ranks; its x axis is `{shown(labels[0])}`."
        return lost("figure", "wrong_quantity", said, "x: the number of ranks; y: throughput, speedup or efficiency.")
    return needs_person("figure", "No curve over the numbers of ranks was found in scaling.pdf.", "no_curve")


def _wrong(
    curve: DrawnCurve, expected: Mapping[str, Mapping[int, Range]], claimed: ScalingTable | None, some_right: bool
) -> LineResult:
    of = expected[curve.quantity]
    at = next((p for p, y in sorted(curve.points.items()) if p in of and not of[p].holds(y, curve.uncertainty)), None)
    if at is None:
        return needs_person("figure", f"The curve of {curve.quantity} has no point that could be compared.", "no_curve")
    said = (
        f"{curve.quantity.capitalize()} on {at} ranks: the figure shows {curve.points[at]:.4g}, the run logs give"
        f" {of[at]}"
    )
    if curve.quantity != "efficiency" and any(
        all(
            p in of and y < 300 and of[p].holds(base**y, base**y * math.log(base) * curve.uncertainty)
            for p, y in curve.points.items()
        )
        for base in BASES
    ):
        teach = (
            "A logarithmic axis shows the numbers themselves: plt.yscale('log'). Where you draw logarithms, the"
            " label must say so."
        )
        return lost("figure", "logarithm", f"{said}: the curve shows logarithms.", teach, earned=2.5 * some_right)
    column = "images_per_second" if curve.quantity == "throughput" else curve.quantity
    written = (claimed.efficiencies()[0] if column == "efficiency" else claimed.column(column)) if claimed else {}
    same = at in written and any(abs(y / curve.points[at] - 1) < 0.02 for y in written[at].readings if curve.points[at])
    if same:
        teach = "Compute the table from the run logs, and draw the figure from the table."
        return lost(
            "figure", "not_from_the_logs", f"{said}. It is what scaling.csv says, too.", teach, earned=2.5 * some_right
        )
    table = f", and scaling.csv says {written[at].value:.4g}" if at in written else ""
    teach = "Draw the figure from the run logs that you hand in, with the same cell that writes the table."
    return lost("figure", "figure_of_other_runs", f"{said}{table}.", teach, earned=2.5 * some_right)
