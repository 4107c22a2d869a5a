"""The scale of an axis: what joins its tick marks and its tick labels. Part of `probes.figure.figure`.

A tick's place is that of its mark or grid line, never that of its label: labels are centred to half a point at best. A
scale is taken only if all labels agree with it, and only if no other scale agrees as well; everything else is said to
be unclear.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from probes.figure.numbers import Number
from probes.figure.sides import Side, scaled_by
from probes.figure.types import Axis, Tick, symlog

EXACT = 0.05  # points by which a tick mark may be off its scale
REACH = 2.2  # points that the middle of a label may be away from its tick
NICE = (1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 10.0)


@dataclass
class Fit:
    """A scale with its numbers; residual: the largest distance of a tick from where it should be, in points."""

    scale: str
    offset: float
    slope: float
    residual: float
    threshold: float = math.nan
    sure: bool = True

    def positions(self, values: np.ndarray) -> np.ndarray:
        """The places of values on the page, in points along the axis."""
        with np.errstate(divide="ignore", invalid="ignore"):
            u = {
                "linear": lambda v: v,
                "log": np.log10,
                "symlog": lambda v: symlog(v, self.threshold),
                "logit": lambda v: np.log10(v / (self.threshold - v)),
            }[self.scale](values)
        return self.offset + self.slope * u


def calibrate(side: Side) -> tuple[Axis, list[Fit]]:
    """(the axis, all scales that agree with its labels). More than one: the axis takes the first, and `settle` must
    decide."""
    axis = Axis(side.side)
    labels = side.labels
    axis.percent = bool(labels) and sum(n.percent for n in labels) > len(labels) / 2
    if len(labels) < 2:
        axis.problems.append(
            f"The {side.side} axis has {len(labels) or 'no'} tick label{'s' * (len(labels) != 1)} that can be read."
        )
        return axis, []
    best = [tried for reading in _readings(labels, side.comma) if (tried := _fits_of(side, labels, reading))]
    if not best:
        axis.problems.append(
            f"The labels of the {side.side} axis fit no linear, logarithmic or symmetrical logarithmic scale."
        )
        return axis, []
    best.sort(key=lambda one: one[0])
    _, fits, used, places, marked = best[0]
    for residual, others, *_ in best[1:]:
        fits = fits + others if residual <= max(best[0][0], EXACT) else fits
    factor, summand = scaled_by(side.multiplier)
    axis.ticks = [Tick(float(p), float(n.value) * factor + summand, n.said) for p, n in zip(places, used, strict=True)]
    fits = [_rescaled(fit, factor, summand) for fit in fits]
    if any(f is None for f in fits):
        axis.problems.append(
            f"The text “{side.multiplier.text}” beside the {side.side} axis cannot be applied to its scale."
        )
        return axis, []
    take(axis, fits[0])
    if fits[0].scale == "log" and _digits_only(side, used):
        axis.problems.append(
            f"The {side.side} axis is ambiguous: its labels are single digits, and of which decade cannot be told."
        )
        axis.scale = ""
        return axis, []
    _say_how_exact(axis, side, fits[0].residual, marked)
    return axis, fits


def _say_how_exact(axis: Axis, side: Side, residual: float, marked: bool) -> None:
    """The scale of an axis without tick marks, or with rounded labels. residual: points by which labels are off their
    scale.
    """
    low, high = side.span
    if not marked:
        axis.uncertainty = max(2 * residual, 0.5) / (high - low)
        read = "its scale is read from where its labels stand, to about a point"
        axis.problems.append(f"The {side.side} axis has no tick marks: {read}.")
    elif residual > EXACT:
        axis.uncertainty = 2 * residual / (high - low)
        known = f"its scale is known to {100 * axis.uncertainty:.1g} %"
        axis.problems.append(f"The labels of the {side.side} axis are rounded: {known}.")


def take(axis: Axis, fit: Fit) -> None:
    """Sets the axis to this scale."""
    axis.scale, axis.offset, axis.slope, axis.threshold = fit.scale, fit.offset, fit.slope, fit.threshold


def _rescaled(fit: Fit, factor: float, summand: float) -> Fit | None:
    """The fit for values multiplied by factor, summand added."""
    if factor == 1 and summand == 0:
        return fit
    if fit.scale == "linear":
        slope = fit.slope / factor
        return Fit("linear", fit.offset - slope * summand, slope, fit.residual)
    if fit.scale == "log" and summand == 0:
        return Fit("log", fit.offset - fit.slope * math.log10(factor), fit.slope, fit.residual)
    return None


def _readings(labels: list[Number], comma: str) -> list[list[float]]:
    """The readings of the labels: with decimal commas or with commas between thousands. One reading where that makes no
    difference."""
    readings = []
    for kind in ("decimal", "thousands"):
        values = [getattr(n, kind) for n in labels]
        if all(map(math.isfinite, values)) and values not in readings:
            readings.append(values)
    if len(readings) == 2 and comma:
        return [readings[0 if comma == "decimal" else 1]]
    if len(readings) == 2 and any("," not in n.said for n in labels):
        bare = [n.said for n in labels if "," not in n.said]
        if all(re.search(r",\d{3}", n.said) for n in labels if "," in n.said) and all(
            re.fullmatch(r"\W?\d+\W*", b) for b in bare
        ):
            readings = readings[1:]  # a locale with decimal commas would have written 0,000 and not 0
    if len(readings) == 2 and any(re.search(r"\d,\d{3},\d{3}|\d,\d{3}\.", n.said) for n in labels):
        readings = readings[1:]
    return readings


def _fits_of(side: Side, labels: list[Number], values: list[float]):
    """(residual, scales that agree, the labels used, their places, whether these are tick marks), or None."""
    labels = [_with(n, v) for n, v in zip(labels, values, strict=True)]
    labels = _whole_numbers(labels)
    if len(labels) < 2:
        return None
    along = 0 if side.level else 1
    for exact in (True, False):
        for places, minor in _places(side, labels):
            there = np.isfinite(places)
            used = [n for n, has in zip(labels, there, strict=True) if has]
            fits = _fits(side, used, places[there], exact)
            # one without a mark must still stand where the scale puts it
            for one, has in zip(labels, there, strict=True):
                fits = (
                    fits
                    if has
                    else [f for f in fits if abs(f.positions(np.array(one.value)) - one.text.middle[along]) < 3]
                )
            if minor:  # only logarithmic axes have labels at minor ticks
                fits = [f for f in fits if f.scale != "linear"]
            if fits:
                return fits[0].residual, fits, used, places[there], True
    places = np.array([n.text.middle[along] for n in labels])
    if all(n.text.upright for n in labels):
        fits = [
            fit for fit in _scales(labels, places) if fit.residual < 1.2 and fit.scale != "logit"
        ]  # too like a line for these places
        if fits:
            return fits[0].residual, _without_worse(fits), labels, places, False
    return None


def _with(one: Number, value: float) -> Number:
    return Number(one.text, one.said, one.decimal, one.thousands, one.power, one.percent, one.digit_unit, value)


def _whole_numbers(labels: list[Number]) -> list[Number]:
    """plotly writes a small 2 and 5 between the decades of a logarithmic axis for 20, 500 ...: with the values they
    stand for."""
    largest = max(n.text.size for n in labels)
    small = [n.text.size <= 0.9 * largest for n in labels]
    if not any(small) or not all(
        re.fullmatch("[2-9]", n.said) for n, is_small in zip(labels, small, strict=True) if is_small
    ):
        return labels
    large = [k for k, is_small in enumerate(small) if not is_small]
    if any(labels[k].value <= 0 or abs(math.log10(labels[k].value) % 1) > 1e-9 for k in large):
        return labels
    rising = len(large) < 2 or labels[large[0]].value < labels[large[-1]].value
    whole = []
    for k, (one, is_small) in enumerate(zip(labels, small, strict=True)):
        if is_small:
            below = [labels[j].value for j in large if (j < k) == rising]
            above = [labels[j].value for j in large if (j > k) == rising]
            one = _with(one, one.value * (max(below) if below else min(above) / 10))
        whole.append(one)
    return whole


def _digits_only(side: Side, labels: list[Number]) -> bool:
    """True if only plotly's small digits of a logarithmic axis are seen, so that the decade is unknown."""
    return all(re.fullmatch("[2-9]", n.said) and n.text.size < 0.85 * side.text_size for n in labels)


def _places(side: Side, labels: list[Number]) -> Iterator[tuple[np.ndarray, bool]]:
    """Ways to give each label a tick, the closest one first: (places, whether minor ticks are among them).

    Ticks may be the longest marks, all marks, or grid lines. A label may stand with its middle at the tick, or, turned,
    with an end.
    """
    sizes = np.array([n.text.size for n in labels])
    turned = any(not n.text.upright for n in labels)
    longest = max(side.marks.values(), default=0.0)
    major = distinct([p for p, length in side.marks.items() if length > longest - 0.3])
    every = distinct(side.marks)
    ways = []
    for candidates, minor in (
        (major, False),
        (distinct(side.grid), False),
        *([(every, True)] if len(every) > len(major) else []),
    ):
        for anchors in _anchors(side, labels):
            found = (
                _nearest(np.array(candidates), anchors, sizes, side, 0.2 if turned else 1.6)
                if len(candidates) >= 2
                else None
            )
            if found is not None:
                ways.append((float(np.nanmax(np.abs(anchors - found))), len(ways), found, minor))
        if turned and not minor and len(candidates) == len(labels):
            ways.append((REACH + 1, len(ways), np.array(candidates), minor))  # one each, in order
    for _, _, found, minor in sorted(ways, key=lambda way: way[:2]):
        yield found, minor


def _anchors(side: Side, labels: list[Number]) -> list[np.ndarray]:
    """The places along the side that the labels may point to: with their middles; below an axis and turned, with their
    ends or corners."""
    along = 0 if side.level else 1
    ways = [[n.text.middle[along] for n in labels]]
    if side.level and any(not n.text.upright for n in labels):
        ways += [[n.text.box[0] for n in labels], [n.text.box[2] for n in labels]]
        ways += [[n.text.chars[0].start[0] for n in labels], [n.text.chars[-1].end[0] for n in labels]]
    return [np.array(way) for way in ways]


def _nearest(
    marks: np.ndarray, anchors: np.ndarray, sizes: np.ndarray, side: Side, closest: float
) -> np.ndarray | None:
    """For each label the tick it stands at, NaN for one at the border of the panel that has none; None if they do not
    fit together.

    closest: how far labels may stand off where not all ticks among them have a label.
    """
    gap = np.diff(np.sort(anchors)).min()
    nearest = marks[np.abs(marks[None, :] - anchors[:, None]).argmin(1)]
    off = anchors - nearest
    near = np.abs(off) <= min(REACH, 0.45 * gap)
    if not near.all() and len(anchors) >= 4 and near.sum() >= max(3, len(anchors) - 2) and near[1:-1].all():
        nearest = np.where(near, nearest, np.nan)  # plotly draws no grid line at the border of the panel
    elif not near.all():
        return None
    kept = nearest[np.isfinite(nearest)]
    between = int(((marks > kept.min() - 0.01) & (marks < kept.max() + 0.01)).sum()) - len(kept)
    if between > 0 and np.abs(off[near]).max() > closest:
        return None  # marks without labels among those with: these may all be minor ticks
    alone = len(set(kept.tolist())) == len(kept)
    return nearest if alone and _stand_alike(off[near], kept, side, sizes[near]) else None


def _stand_alike(off: np.ndarray, places: np.ndarray, side: Side, sizes: np.ndarray) -> bool:
    """True if labels of one size stand to their ticks all in the same way. Labels of other ticks, a little closer
    together, drift away."""
    if np.ptp(sizes) > 0.1:
        large = sizes > sizes.max() - 0.1
        return all(_stand_alike(off[some], places[some], side, sizes[some]) for some in (large, ~large))
    if np.ptp(off) > (2.0 if side.level else 1.2):
        return False
    if len(off) < 4 or np.ptp(off) < 0.4:
        return True
    return bool(abs(np.corrcoef(off, places)[0, 1]) < 0.9)


def distinct(places) -> list[float]:
    """Places in rising order, each once (to 0.02 points)."""
    kept: list[float] = []
    for place in sorted(places):
        if not kept or place - kept[-1] > 0.02:
            kept.append(place)
    return kept


def _fits(side: Side, labels: list[Number], places: np.ndarray, exact: bool) -> list[Fit]:
    """The scales that these ticks agree with, best first. exact False: labels may be rounded in their last digit
    (linear only)."""
    found = _scales(labels, places)
    if exact:
        return _plausible(side, labels, [fit for fit in found if fit.residual <= EXACT])
    if any(n.power or not n.digit_unit for n in labels) or len(labels) < 4:
        return []
    if (steps := _round_steps(labels, places)) is not None:
        return [steps]
    rounded = []
    for fit in found:
        allowed = 0.51 * max(n.digit_unit for n in labels) * abs(fit.slope)
        if fit.scale == "linear" and fit.residual <= 1.5 * allowed and fit.residual < 0.04 * np.ptp(places):
            rounded.append(fit)
    return rounded


def _round_steps(labels: list[Number], places: np.ndarray) -> Fit | None:
    """The one scale with ticks at multiples of a round step (1, 2, 2.5 or 5 times a power of ten) of which all labels
    are roundings."""
    gap = np.diff(places).min()
    numbers = np.round((places - places[0]) / gap)
    if gap <= 0 or np.abs(places[0] + gap * numbers - places).max() > EXACT:
        return None
    values, unit = np.array([n.value for n in labels]), max(n.digit_unit for n in labels)
    rough = (values[-1] - values[0]) / numbers[-1]
    if rough == 0:
        return None
    found = set()
    for power in range(-12, 13):
        for lead in (1.0, 2.0, 2.5, 5.0):
            step = math.copysign(lead * 10.0**power, rough)
            if not 0.5 < step / rough < 2:
                continue
            for first in np.round(values[0] / step) + np.array([-1.0, 0.0, 1.0]):
                if np.abs((first + numbers) * step - values).max() <= 0.5001 * unit:
                    found.add((step, first * step))
    if len(found) != 1:
        return None
    step, first = found.pop()
    slope = gap / step
    return Fit("linear", float(places[0] - slope * first), float(slope), 1.5 * EXACT)


def _scales(labels: list[Number], places: np.ndarray) -> list[Fit]:
    values = np.array([n.value for n in labels])
    found = []
    if np.ptp(values) > 0 and len(set(values.tolist())) == len(values):
        if not _are_powers(labels):
            found.append(_line("linear", values, places))
        if (values > 0).all():
            found.append(_line("log", np.log10(values), places))
        elif (
            not found or found[0] is None or found[0].residual > EXACT
        ):  # a linear scale is a symlog that never leaves its linear part
            found += _symlog(values, places)
        found.append(_logit(labels, values, places))
    return sorted((f for f in found if f), key=lambda fit: fit.residual)


def _logit(labels: list[Number], values: np.ndarray, places: np.ndarray) -> Fit | None:
    """The scale of shares that spreads out what is near nothing and near all. Three labels about the middle fit a
    linear one as well."""
    whole = 100.0 if all(n.percent for n in labels) else 1.0
    if len(values) < 3 or not ((0 < values) & (values < whole)).all():
        return None
    fit = _line("logit", np.log10(values / (whole - values)), places)
    return fit and Fit("logit", fit.offset, fit.slope, fit.residual, whole)


def _are_powers(labels: list[Number]) -> bool:
    """True if all labels but 0 are a base to a power: no linear axis is labelled so."""
    return all(n.value == 0 or n.power for n in labels)


def _line(scale: str, u: np.ndarray, places: np.ndarray) -> Fit | None:
    middle_u, middle_p = u.mean(), places.mean()
    slope = float(((u - middle_u) * (places - middle_p)).sum() / ((u - middle_u) ** 2).sum())
    if slope == 0 or not math.isfinite(slope):
        return None
    offset = float(middle_p - slope * middle_u)
    return Fit(scale, offset, slope, float(np.abs(offset + slope * u - places).max()))


def _symlog(values: np.ndarray, places: np.ndarray) -> list[Fit]:
    """Symmetrical logarithms of base 10 whose linear part takes as much room as one decade (matplotlib's default)."""
    decades = sorted({math.log10(abs(v)) for v in values if v != 0})
    if len(values) < 3 or len(decades) < 2:
        return []
    best = None
    for power in range(math.floor(decades[0]) - 2, math.ceil(decades[-1]) + 1):
        for first in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0):
            threshold = first * 10.0**power
            fit = _line("symlog", symlog(values, threshold), places)
            if fit and (best is None or fit.residual < best.residual):
                best = Fit("symlog", fit.offset, fit.slope, fit.residual, threshold)
    if best is None or best.residual > EXACT:
        return []
    lowest = 10.0 ** decades[0]
    best.sure = (
        lowest < 10.000001 * best.threshold and math.floor(math.log10(best.threshold) + 1e-9) <= decades[0] + 1e-9
    )
    best.sure &= abs(decades[0] - math.floor(math.log10(best.threshold) + 1e-9)) < 0.01
    return [best]


def _plausible(side: Side, labels: list[Number], fits: list[Fit]) -> list[Fit]:
    """Those of several scales that the ticks without labels agree with."""
    if len(fits) < 2:
        return fits
    others = np.array(distinct([*side.marks, *side.grid]))
    kept = []
    for fit in fits:
        if fit.scale == "log":
            with np.errstate(over="ignore"):
                values = 10.0 ** ((others - fit.offset) / fit.slope)
            lead = values / 10.0 ** np.floor(np.log10(values) + 1e-6)
            good = np.abs(lead - np.round(lead)) < 0.01
            few = len(others) < 4 + len(labels)
        elif fit.scale == "logit":
            with np.errstate(over="ignore"):
                values = 1 / (1 + 10.0 ** ((fit.offset - others) / fit.slope))
            rest = np.minimum(values, 1 - values)
            lead = rest / 10.0 ** np.floor(np.log10(rest) + 1e-6)
            good = np.abs(lead - np.round(lead)) < 0.01
            few = len(others) < 4 + len(labels)
        else:
            steps = np.diff(others)
            whole = steps / steps.min() if len(steps) else steps
            good = np.abs(whole - np.round(whole)) < 0.02
            few = len(others) < 1 + len(labels)
        if good.all():
            kept.append((few, fit))
    certain = [fit for few, fit in kept if not few]
    return certain if len(certain) == 1 else [fit for _, fit in kept] or fits


def _without_worse(fits: list[Fit]) -> list[Fit]:
    return [fit for fit in fits if fit.residual <= 2 * fits[0].residual + 0.3]


def settle(axis: Axis, fits: list[Fit], places: np.ndarray, counts: bool = False) -> None:
    """See whether it matters for what is drawn that several scales agree with the labels. places: of the data, in
    page coordinates.

    If the scales give the same values there, the axis keeps the first. counts: along this axis something is counted; if
    with one scale only all of at least four places are whole numbers, it is that one. Otherwise the axis is left
    without a scale, and says so.
    """
    if len(fits) >= 2 and counts:
        whole = [fit for fit in fits if _whole(axis, fit, places)]
        fits = whole if len(whole) == 1 else fits
        take(axis, fits[0])
    if len(fits) >= 2:
        readings = []
        for fit in fits:
            take(axis, fit)
            readings.append(axis.values(places))
        take(axis, fits[0])
        span = max((float(np.ptp(v)) for v in readings if len(v)), default=0.0) or 1.0
        if any(not np.allclose(readings[0], other, rtol=0, atol=1e-4 * span) for other in readings[1:]):
            names = (
                " and ".join(sorted({fit.scale for fit in fits}))
                if len({fit.scale for fit in fits}) > 1
                else "two readings of the commas"
            )
            said = ", ".join(f"“{tick.text}”" for tick in axis.ticks[:4])
            axis.problems.append(f"The {axis.side} axis is ambiguous: its labels ({said}) fit {names}.")
            axis.scale = ""
    elif fits and not fits[0].sure and len(places):
        inside = np.abs(axis.values(places)) < 10 * fits[0].threshold
        if inside.any():
            axis.problems.append(
                f"The {axis.side} axis is ambiguous: where its linear part ends cannot be told from its labels."
            )
            axis.scale = ""


def _whole(axis: Axis, fit: Fit, places: np.ndarray) -> bool:
    take(axis, fit)
    values = axis.values(places)
    return len(set(np.round(values, 3).tolist())) >= 4 and bool((np.abs(values - np.round(values)) < 2e-3).all())
