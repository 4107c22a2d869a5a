"""Identifies a curve of accuracy_P.pdf: its quantity, its data and its run, by its words and by its values beside the
logs'.

Words are read in several languages and trusted less than values: a curve whose values are those of the log is what the
log says it is, whatever language it is labelled in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from labkit.runlog import RunLog
from probes.figure.types import Axis, Curve, Figure, Panel

ROUNDED = 6e-4  # accuracies written with three decimals are off by half of the last one
READING = 2e-4  # of the axis's length: how exactly a curve is read
SIMPLIFIED = 1e-3  # the same, where the program that drew it left out points of a line with very many
SAME_PLACE, APART = 0.05, 0.3  # of the page's points: how near points are at one place, how far apart two levels
BLURRED = 0.01  # accuracies that differ by more than this must look different
MANY = 100  # points of a line from which on some may be left out
METRICS = {"training": "accuracy", "validation": "val_accuracy"}
LOSSES = {"training": "loss", "validation": "val_loss"}

_ROLES = {  # looked for in this order: "validation" may stand beside "train" as in "train/val split"
    "validation": r"valid|\bval\b|val[_ .-]|[_ .-]val\b|\btest|\btst\b|\beval|held.?out|\bdev\b|walidac|"
    r"验证|驗證|测试|測試|検証|テスト|"
    r"검증|провер|валидац|тест|doğrulama|geçerli|επικύρωση|تحقق|सत्यापन",
    "training": r"\btrain|training|\btrn\b|[_"
    r" .-]train|entra[iî]n|apprentissage|entrenamiento|treino|treinamento|addestramento|eğitim|"
    r"обуч|трениров|训练|訓練|学習|훈련|trenow|trening|träning|opplæring|oefen|εκπαίδευση|تدريب|प्रशिक्षण",
}
_QUANTITIES = {
    "loss": r"\bloss|[_ ]loss|verlust|\bperte|pérdida|perdita|\bperda|kayıp|kayip|"
    r"потер|损失|損失|손실|\berror\b|fehler|entropy|entropie|entropía",
    "accuracy": r"accura|\bacc\b|[_ ]acc\b|\bacc[_"
    r" ]|genauig|treffer|précision|precision|exactitude|exactitud|precisión|accuratezza|"
    r"precisione|acurácia|acuracia|precisão|doğruluk|dogruluk|точност|准确|準確|精度|正解率|정확|dokładność|nøyaktig|noggrann|"
    r"nauwkeurig|ακρίβεια|دقة|correct|richtig",
}
PERCENT = r"%|percent|prozent|pourcent|por ?ciento|per ?cento|por ?cento|yüzde|процент|百分|퍼센트|\bpct\b"


def role_of(text: str) -> str:
    """ "training", "validation", or "" where the text says neither (or both)."""
    found = [role for role, pattern in _ROLES.items() if re.search(pattern, text.lower())]
    return found[0] if len(found) == 1 else ""


def quantity_of(*texts: str) -> str:
    """ "accuracy", "loss", or "": what the first of the texts says that says anything."""
    for text in texts:
        found = [name for name, pattern in _QUANTITIES.items() if re.search(pattern, text.lower())]
        if len(found) == 1:
            return found[0]
    return ""


@dataclass(eq=False)
class LabelledCurve:
    """A curve of a figure with what its words say. role, quantity: "" where they say nothing."""

    curve: Curve
    panel: Panel
    axis: Axis
    role: str
    quantity: str
    name: str

    @property
    def label(self) -> str:
        """The curve's name in a sentence."""
        return f"“{self.name}”" if self.name else f"the curve in {self.curve.colour}"


def shown_in(figure: Figure) -> list[LabelledCurve]:
    """All curves of a figure. A name of the panel serves where the curve has none that says what it is."""
    found = []
    for panel in figure.panels:
        for curve in panel.curves:
            axis = panel.right if panel.right is not None and curve.axis == "right" else panel.y
            role = role_of(curve.name) or role_of(panel.title) or role_of(axis.label)
            quantity = quantity_of(curve.name, axis.label, panel.title, figure.title)
            name = curve.name or next((text for text in (panel.title, axis.label) if role_of(text)), "")
            found.append(LabelledCurve(curve, panel, axis, role, quantity, name))
    for of_panel in _by_panel(found):  # Keras's names: "accuracy" and "val_accuracy"
        nameless = [one for one in of_panel if not one.role]
        if len(nameless) == 1 and len(of_panel) == 2 and nameless[0].name:
            other = next(one for one in of_panel if one is not nameless[0])
            nameless[0].role = {"training": "validation", "validation": "training"}[other.role]
    return found


def _by_panel(found: list[LabelledCurve]) -> Iterator[list[LabelledCurve]]:
    for panel in {id(one.panel): one.panel for one in found}.values():
        of_panel = [one for one in found if one.panel is panel]
        for quantity in {one.quantity for one in of_panel}:
            yield [one for one in of_panel if one.quantity == quantity]


# -- values ------------------------------------------------------------------------------------------------------------


@dataclass
class Match:
    """The comparison of a curve with a series of a log.

    unit: 1, or 100 where the curve is in percent. first: the number that the curve gives to the log's first epoch (a
    fraction where its points stand beside the epochs, as those of two series side by side do). present, visible: epochs
    that the curve has, and those that can be seen. wrong: epochs whose value differs. worst: (epoch, drawn, logged), by
    difference. other: points of the curve before the first or behind the last epoch of the log. blurred: the axis is so
    long, or so unclear, that accuracies which differ much look the same.
    """

    metric: str
    unit: float
    first: float
    present: list[int]
    visible: list[int]
    wrong: list[int]
    worst: tuple[int, float, float]
    difference: float
    other: int
    blurred: bool = False

    @property
    def right(self) -> bool:
        """True if all that is drawn is what the log says, and is enough to tell."""
        return bool(self.present) and not self.wrong

    @property
    def share(self) -> float:
        """The part of the epochs drawn whose value is the log's."""
        return 1 - len(self.wrong) / len(self.present) if self.present else 0.0


def match(one: LabelledCurve, log: RunLog, metric: str, swapped: bool = False) -> Match | None:
    """The best comparison of a curve with a metric of a log, in both units and ways to count epochs; None: nothing to
    compare.

    swapped: compare as if the axes were exchanged.
    """
    numbers, values = (np.array(v, float) for v in log.curve(metric))
    known = np.isfinite(values)
    if not known.any():
        return None
    tried = [
        _compare(one, numbers, values, known, metric, unit, first, swapped, last)
        for unit in (1.0, 100.0)
        for first in _firsts(one, int(numbers[0]), swapped)
        for last in (False, True)
    ]
    # A single value that is right by chance must not decide how epochs are counted: unless half of them are, it is what
    # stands where.
    return max(tried, key=lambda m: (m.share >= 0.5, len(m.present) - m.other, m.share, -m.difference / m.unit))


def _firsts(one: LabelledCurve, number: int, swapped: bool) -> list[float]:
    """The numbers that a curve may give to the first epoch: its own, or 0; with the same fraction on top where all
    points stand beside whole numbers, as in series drawn side by side, and training accuracies drawn half an epoch
    earlier."""
    x = one.curve.data()[1 if swapped else 0]
    firsts = [float(number), 0.0]
    if len(x) and np.isfinite(x).all() and len(set(np.round(x - x[0], 3) % 1)) == 1 and 0.01 < x[0] % 1 < 0.99:
        beside = float(x[0] % 1)
        firsts += [first + off for first in firsts for off in (beside, beside - 1) if abs(off) < 0.51]
    return firsts


def _points(curve: Curve, swapped: bool) -> tuple[np.ndarray, ...]:
    """(x, y, places across, places upwards, which of them can be seen) of a curve's points; swapped: x and y are."""
    (x, y), (across, up) = curve.data(), (curve.page_x[~curve.cut], curve.page_y[~curve.cut])
    seen = curve.visible[~curve.cut] if len(curve.visible) == len(curve.cut) else np.ones(len(x), bool)
    return (y, x, up, across, seen) if swapped else (x, y, across, up, seen)


def _compare(
    one: LabelledCurve, numbers, values, known, metric: str, unit: float, first: float, swapped: bool, last: bool
) -> Match:
    curve = one.curve
    x, y, across, up, seen = _points(curve, swapped)
    x_axis, y_axis = (one.axis, one.panel.x) if swapped else (one.panel.x, one.axis)
    at = numbers - numbers[0] + first
    left, bottom, right, top = one.panel.frame
    width, height = (top - bottom, right - left) if swapped else (right - left, top - bottom)
    want_across, want_up = x_axis.positions(at), y_axis.positions(unit * values)
    allowed_across = (2e-3 + x_axis.uncertainty) * width
    allowed_up = (READING + y_axis.uncertainty) * height + np.abs(y_axis.positions(unit * (values + ROUNDED)) - want_up)
    present, visible, wrong = [], [], []
    worst, difference = (0, math.nan, math.nan), 0.0
    used = np.zeros(len(x), bool)
    blurred = np.abs(y_axis.values(want_up + allowed_up) - unit * values)[known] > BLURRED * unit
    simplified = curve.line and len(numbers) >= MANY
    last = None if simplified else last
    for k in np.flatnonzero(np.isfinite(want_across)):
        near = np.abs(across - want_across[k]) <= allowed_across
        used |= near
        drawn, drawn_up, is_seen = _at(want_across[k], want_up[k], last, near, across, up, y, seen, curve)
        if drawn is None:
            continue
        slack = allowed_up[k] if np.isfinite(allowed_up[k]) else READING * height
        slack += SIMPLIFIED * height * bool(simplified or not near.any())
        slack += _steepness(across, up, want_across[k]) * 0.3 if simplified else 0.0
        differs = bool(known[k]) and not abs(drawn_up - want_up[k]) <= slack
        if differs and not near.any() and not simplified:
            continue  # the line passes here, but not because of this epoch
        number = int(numbers[k])
        present.append(number)
        visible += [number] if is_seen else []
        if differs:
            wrong.append(number)
            if abs(drawn - unit * values[k]) > difference:
                difference, worst = abs(drawn - unit * values[k]), (number, float(drawn), float(unit * values[k]))
    ends = np.sort(x_axis.positions(np.array([at[0] - 0.6, at[-1] + 0.6])))
    other = int(((across < ends[0]) | (across > ends[1])).sum()) if np.isfinite(ends).all() else int((~used).sum())
    return Match(metric, unit, first, present, visible, wrong, worst, difference, other, bool(blurred.any()))


def _at(place: float, wanted: float, last: bool | None, near: np.ndarray, across, up, y, seen, curve: Curve):
    """(value, place on the page, whether it is seen) of a curve at a place along x; Nones where it has none there.

    last: of several points above each other the last one counts, else the first one: a line drawn in steps has two at
    each place, and one of them is the value, for all places alike. None: the one nearest to `wanted`, for a line with
    very many points, of which some were left out. A line has values between its vertices, too: plotly and matplotlib
    leave out points that lie on it.
    """
    if near.any():
        k = _which(np.flatnonzero(near), place, wanted, last, across, up, curve.line)
        return y[k], up[k], seen[k]
    if curve.line and not curve.breaks and len(across) > 1 and across.min() <= place <= across.max():
        order = np.argsort(across, kind="stable")
        return np.interp(place, across[order], y[order]), np.interp(place, across[order], up[order]), True
    return None, None, False


def _which(near: np.ndarray, place: float, wanted: float, last: bool | None, across, up, line: bool) -> int:
    """The index of the point, of those near a place, that is the curve's value there."""
    off = np.abs(up[near] - wanted) if np.isfinite(wanted) else np.abs(across[near] - place)
    if is_stroke(across[near], up[near], place):
        return int(near[off.argmax()])  # the furthest of them counts, too
    if last is None:
        return int(near[off.argmin()])
    nearest = across[near][np.abs(across[near] - place).argmin()]
    there = np.abs(across[near] - nearest) <= SAME_PLACE
    if not line:  # marks above each other are no steps
        return int(near[there][off[there].argmax()])
    return int(near[there][-1 if last else 0])


def is_stroke(across: np.ndarray, up: np.ndarray, place: float) -> bool:
    """True if points stand above each other at one place as in no function: between the two levels that a line drawn in
    steps has there are others. across, up: the points near that place, in page coordinates."""
    there = up[np.abs(across - across[np.abs(across - place).argmin()]) <= SAME_PLACE]
    return bool(((there > there.min() + APART) & (there < there.max() - APART)).any())


def _steepness(across: np.ndarray, up: np.ndarray, place: float) -> float:
    """The slope of the line around a place: a point left out shifts a steep line by much."""
    near = np.abs(across - place) < 3.0
    if near.sum() < 2:
        return 0.0
    return min(30.0, float(np.ptp(up[near])) / max(0.3, float(np.ptp(across[near]))))


def best_run(one: LabelledCurve, logs: Mapping[int, RunLog], metric: str, but: int) -> int:
    """The number of ranks of the other run whose values the curve has; 0 if there is none."""
    for size, log in logs.items():
        found = match(one, log, metric) if size != but else None
        if found is not None and found.right and found.other == 0 and len(found.present) >= 2:
            return size
    return 0
