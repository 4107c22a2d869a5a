"""step_time.pdf, memory.pdf and losses.pdf, held against the run logs: points where the logs' numbers are.

What was drawn counts, not with what: a curve for each mesh, one for all meshes, or markers alone; seconds or
milliseconds, bytes in any unit. Bars are not read: they wait for a person.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from autograder.homework.folder import Homework
from autograder.homework.mesh.lines import for_a_person, full, guarded, lost
from autograder.homework.mesh.measured import NEAR, read_runs
from autograder.homework.mesh.table import Key
from autograder.homework.plots.curves import is_stroke
from autograder.homework.rubric import LineResult, PartResult, shown
from labkit.meshrun import MeshRun
from probes.figure.types import READABLE, Axis, Curve, Figure, Panel

MOST_CURVES = 40  # of a panel that are looked at
STRAYS = 4  # points of a curve at a number of ranks or a stage that may be of no run, such as those of a line in steps
READING = 0.006  # of an axis: how wrong a point may be read or drawn
TIMES = tuple(10.0**k for k in (0, 3, 6, -3, -6))  # s, ms, us; tokens, thousands, millions
BYTES = (1.0, 1e3, 1e6, 1e9, 1024.0, 2.0**20, 2.0**30)
_SECONDS = re.compile(r"time|second|\bs\b|\[m?s\]|\bms\b|zeit|sekund|dauer|duration", re.IGNORECASE)
_TOKENS = re.compile(r"token|throughput|durchsatz", re.IGNORECASE)
_MEMORY = re.compile(r"mem|byte|speicher|\b[kmg]i?b\b|peak", re.IGNORECASE)
_UNITS = {  # what a label says -> what a value of 1 is, in seconds or bytes; looked for in this order
    "seconds": (
        (r"(?<![a-z])m(illi)?s(ec)?", 1e-3),
        (r"(?<![a-z])[uµμ]s(?![a-z])|micros", 1e-6),
        (r"(?<![a-z])s(ecs?)?(?![a-z])|second|sekund", 1.0),
    ),
    "bytes": (
        (r"(?<![a-z])gi?b(?![a-z])|giga", 1e9),
        (r"(?<![a-z])mi?b(?![a-z])|mega", 1e6),
        (r"(?<![a-z])ki?b(?![a-z])|kilo", 1e3),
        (r"(?<![a-z])b(?![a-z])|byte", 1.0),
    ),
}
_BINARY = re.compile(r"(?<![a-z])[kmg]ib(?![a-z])", re.IGNORECASE)
_NAMES = {"seconds": {1e-3: "milliseconds", 1e-6: "microseconds", 1e3: "thousands of seconds"},
          "bytes": {1e3: "kB", 1024.0: "KiB", 1e6: "MB", 2.0**20: "MiB", 1e9: "GB", 2.0**30: "GiB"}}  # fmt: skip
_LOSS = re.compile(r"loss|cross.?entropy|verlust", re.IGNORECASE)
Points = list[tuple[float, float]]


def judge(homework: Homework, reader: Callable) -> PartResult:
    """The part "figures". reader: path -> what was read from it."""
    runs = {key: run for key, run in read_runs(homework)[0].items() if run.timed}
    found = [guarded(what[0], _one, homework, reader, runs, *what) for what in (
        ("figure_times", "step_time.pdf", _times), ("figure_memory", "memory.pdf", _memory),
        ("figure_losses", "losses.pdf", _losses))]  # fmt: skip
    return PartResult("figures", found)


def _one(homework: Homework, reader: Callable, runs: Mapping[Key, MeshRun], name: str, role: str, judged) -> LineResult:
    if role not in homework.files:
        said = homework.absent(role, role)
        return lost(name, "missing_file", said, f'Save the figure: figure.savefig("{role}").')
    if not runs:
        return lost(
            name, "no_logs", "There is no run log with steps to compare it with.", "Hand in the log of every run."
        )
    try:
        figure: Figure = reader(homework.files[role])
    except Exception as error:  # whatever fails in reading a stranger's file is for a person to see
        return for_a_person(name, f"{role} could not be read by the program: {shown(error, 200)}", "unread")
    if figure.verdict != READABLE:
        return for_a_person(name, f"{role}: {shown(figure.reason, 200)}", figure.kind or "unread")
    if not any(panel.curves for panel in figure.panels):
        said = f"{role}: no curve was read; a point without a line cannot be told from a legend's."
        return for_a_person(name, said, "no_curves")
    verdict = judged(name, role, figure, runs)
    if verdict.diagnosis in ("not_from_the_logs", "curves_missing") and (
        doubt := _doubt(figure, _shown_by(name, runs))
    ):
        return for_a_person(name, f"{role}: {doubt}", "unclear")
    if verdict.verdict != "passed" and any(panel.shapes for panel in figure.panels):
        return for_a_person(
            name, f"Some of {role} is drawn as bars or areas, and their values are not read.", "shapes_unread"
        )
    return verdict


def _shown_by(name: str, runs: Mapping[Key, MeshRun]) -> list[MeshRun]:
    """The runs that a figure has to show: memory.pdf those with several stages, if there are any."""
    sound = [run for run in runs.values() if name != "figure_memory" or len(run.peaks) == run.mesh.size]
    several = [run for run in sound if run.mesh.pipeline > 1]
    return several if name == "figure_memory" and several else sound


def _doubt(figure: Figure, runs: list[MeshRun]) -> str:
    """The reason why a point or a curve that was not found may still be there."""
    problems = [problem for panel in figure.panels for problem in panel.problems]
    if problems:
        return shown(problems[0], 200)
    texts = {text.strip() for text in (*figure.texts, *(text for panel in figure.panels for text in panel.texts))}
    read = {curve.name.strip() for panel in figure.panels for curve in panel.curves}
    alone = sorted({run.name for run in runs} & texts - read)
    return f"{', '.join(alone)} stands in it, but no curve of that name was read." if alone else ""


@dataclass
class Drawn:
    """A curve over its panel's x axis; axis: the one of its values."""

    panel: Panel
    axis: Axis
    curve: Curve

    def says(self, *more: str) -> str:
        return " ".join((self.axis.label, self.panel.title, self.curve.name, *more))

    def has(self, x: float, y: float, exactly: bool = True) -> bool:
        """True if a point of the curve is there, or the curve passes there."""
        left, bottom, right, top = self.panel.frame
        keep = ~self.curve.cut
        across, up = self.curve.page_x[keep], self.curve.page_y[keep]
        at, want = self.panel.x.positions([x])[0], self.axis.positions([y])[0]
        slack = (READING + self.axis.uncertainty) * (top - bottom)
        slack = max(slack, abs(self.axis.positions([y * (1 + NEAR)])[0] - want)) if exactly else slack
        near = np.abs(across - at) <= (READING + self.panel.x.uncertainty) * (right - left)
        if near.any():
            stroke = not exactly and is_stroke(across[near], up[near], at)
            return not stroke and bool((np.abs(up[near] - want) <= slack).any())
        if exactly or len(across) < 2 or not across.min() <= at <= across.max():
            return False
        order = np.argsort(across, kind="stable")
        return bool(abs(np.interp(at, across[order], up[order]) - want) <= slack)

    def strays(self, x: float, values: Iterable[float]) -> int:
        """The number of points of the curve at x that are at none of these values."""
        left, bottom, right, top = self.panel.frame
        across, up = self.curve.page_x[~self.curve.cut], self.curve.page_y[~self.curve.cut]
        near = np.abs(across - self.panel.x.positions([x])[0]) <= (READING + self.panel.x.uncertainty) * (right - left)
        found = np.unique(np.round(up[near], 1))
        for y in values:
            want, more = self.axis.positions([y, y * (1 + NEAR)])
            slack = max((READING + self.axis.uncertainty) * (top - bottom), abs(more - want))
            found = found[np.abs(found - want) > slack + 0.1]
        return len(found)


def _drawn(figure: Figure) -> Iterable[Drawn]:
    for panel in figure.panels[:12]:
        for curve in panel.curves[:MOST_CURVES]:
            yield Drawn(panel, panel.right if curve.axis == "right" and panel.right else panel.y, curve)


def _labels(name: str, role: str, curves: list[Drawn]) -> LineResult | None:
    """The points lost if an axis has no label, or nothing says which curve is which; None if none are."""
    bare = {which for one in curves for which, axis in (("x", one.panel.x), ("y", one.axis)) if not axis.label.strip()}
    if bare:
        said = f"{role}: the {' and the '.join(sorted(bare))} axis has no label."
        return lost(name, "axes_not_labelled", said, 'ax.set(xlabel="ranks", ylabel="time of a step, ms").', 0.6)
    for panel in {id(one.panel): one.panel for one in curves}.values():
        nameless = [one for one in curves if one.panel is panel and not one.curve.name.strip()]
        if len(nameless) > 1:
            said = f"{role}: nothing says which of {len(nameless)} curves is of which mesh."
            return lost(name, "no_legend", said, 'ax.plot(x, y, label="d2 t2 p1"); ax.legend().', 0.6)
    return None


def _fits(curves: list[Drawn], points: Points, scales: Iterable[float]) -> tuple[list[int], float]:
    """The indices of the points that are drawn, and the unit: the one of `scales` in which most are."""
    found: tuple[list[int], float] = [], 1.0
    at: dict[float, list[float]] = {}
    for x, y in points:
        at.setdefault(x, []).append(y)

    def is_there(one: Drawn, x: float, y: float, scale: float) -> bool:
        return one.has(x, y / scale) and one.strays(x, [other / scale for other in at[x]]) <= STRAYS

    for scale in scales:
        there = [k for k, (x, y) in enumerate(points) if any(is_there(one, x, y, scale) for one in curves)]
        found = max(found, (there, scale), key=lambda one: len(one[0]))
    return found


def _unit(name: str, role: str, what: str, curves: list[Drawn], scale: float) -> LineResult | None:
    """The points lost if no text says the unit, or one says another than that in which the points are drawn. what: a
    key of _UNITS."""
    texts = [one.axis.label for one in curves]
    if not any(re.search(pattern, one.says().lower()) for one in curves for pattern, _ in _UNITS[what]):
        teach = f"The axis says quantity and unit: {'time of a step, ms' if what == 'seconds' else 'peak memory, MiB'}."
        return lost(name, "no_unit", f"{role}: no axis says its unit: {shown(texts[0])!r}.", teach, 0.6)
    for text in texts:
        said = next((value for pattern, value in _UNITS[what] if re.search(pattern, text.lower())), scale)
        if not 0.5 < said / scale < 2 and not re.search(r"10|×|thousand|million|tausend", text.lower()):
            found = f"{role}: the axis says {shown(text)!r}, and its numbers are the logs'"
            found += f" in {_NAMES[what].get(scale, what)}."
            return lost(
                name, "wrong_unit", found, "Divide the numbers by what the label says, or label them anew.", 0.6
            )
    return None


def _times(name: str, role: str, figure: Figure, runs: Mapping[Key, MeshRun]) -> LineResult:
    curves, every = list(_drawn(figure)), list(runs.values())
    seconds = [
        one
        for one in curves
        if _SECONDS.search(one.axis.label if _TOKENS.search(one.says()) else one.says())
        and not _TOKENS.search(one.axis.label)
    ]
    rates = [one for one in curves if _TOKENS.search(one.says())]
    wanted = (
        ("time of a step", seconds, [(run.mesh.size, run.seconds) for run in every]),
        ("tokens per second", rates, [(run.mesh.size, run.tokens_per_second) for run in every]),
    )
    absent, wrong, used, unit = [], [], [], 1.0
    for what, mine, points in wanted:
        there, scale = _fits(mine, points, [1 / s for s in TIMES])
        unit = scale if mine is seconds else unit
        used += mine
        if not mine:
            absent.append(what)
        elif len(there) < len(points):
            wrong.append((what, every[next(k for k in range(len(points)) if k not in there)], len(points) - len(there)))
    if absent:
        said = f"No curve of {role} says that it is the {' or the '.join(absent)} over the number of ranks."
        teach = "Two panels: time of a step, and tokens per second; the axis says which."
        return lost(name, "quantity_missing", said, teach, 0.5 if len(absent) == 1 and not wrong else 0.0)
    if wrong:
        what, run, n = wrong[0]
        right = run.seconds if what == "time of a step" else run.tokens_per_second
        said = (
            f"{role}: {n} of {len(every)} meshes have no point for the {what} at their number of ranks; of {run.name}"
        )
        said += f" ({run.mesh.size} ranks) the log gives {right:.4g}."
        share = max(0.0, 1 - max(n for _, _, n in wrong) / len(every)) / 2
        return lost(
            name, "not_from_the_logs", said, "Draw the figure from the run logs that you hand in.", round(share, 2)
        )
    right = full(name, f"{len(every)} meshes.")
    return _labels(name, role, used) or _unit(name, role, "seconds", seconds, unit) or right


def _memory(name: str, role: str, figure: Figure, runs: Mapping[Key, MeshRun]) -> LineResult:
    curves = [one for one in _drawn(figure) if _MEMORY.search(one.says(figure.title))]
    if not curves:
        said = f"No curve of {role} says that it is memory."
        return lost(name, "quantity_missing", said, "y: bytes of a rank (MiB), x: the stage; a curve for each mesh.")
    several = _shown_by(name, runs)
    best: tuple[int, list, float, int] = (-1, [], 1.0, 0)
    for first in (0, 1):
        points = [(stage + first, peak) for run in several for stage, peak in enumerate(run.stage_peaks())]
        owners = [run for run in several for _ in range(run.mesh.pipeline)]
        there, scale = _fits(curves, points, BYTES)
        if len(there) > best[0]:
            absent = [(owners[k], points[k]) for k in range(len(points)) if k not in there]
            best = len(there), absent, scale, first
    n, absent, scale, first = best
    if absent:
        run, (stage, peak) = absent[0]
        said = f"{role}: no point for {run.name}, stage {stage:g}, where the log has a peak of {peak:,} bytes;"
        said += f" {n} of {n + len(absent)} are there."
        share = round(0.5 * n / (n + len(absent)), 2)
        return lost(name, "not_from_the_logs", said, "`MeshRun.stage_peaks()`: the largest peak of each stage.", share)
    bare = _labels(name, role, curves) or _unit(name, role, "bytes", curves, scale)
    points = [(stage + first, peak) for run in several for stage, peak in enumerate(run.stage_peaks())]
    bare = bare or _decimal(name, role, curves, points, scale)
    right = full(name, f"{n} stages of {len(several)} meshes.")
    return bare or _misnamed(name, role, curves, several, scale, first) or right


def _decimal(name: str, role: str, curves: list[Drawn], points: Points, scale: float) -> LineResult | None:
    """The points lost if the label says MiB and the numbers are MB; the two are 5 % apart."""
    said = next((one.axis.label for one in curves if _BINARY.search(one.axis.label)), None)
    if said is None or len(_fits(curves, points, [unit for unit in BYTES if unit % 1024 == 0])[0]) == len(points):
        return None
    found = (
        f"{role}: the axis says {shown(said)!r}, and its numbers are the logs' in {_NAMES['bytes'].get(scale, 'B')}."
    )
    return lost(name, "wrong_unit", found, "1 MiB is 2**20 bytes, 1 MB is 10**6.", 0.6)


def _misnamed(
    name: str, role: str, curves: list[Drawn], runs: list[MeshRun], scale: float, first: int
) -> LineResult | None:
    """The points lost if the curve that has a mesh's name shows another mesh. scale, first: unit, number of the first
    stage."""
    for run in runs:
        mine = [one for one in curves if _letters(one.curve.name) == _letters(run.name)]
        for stage, peak in enumerate(run.stage_peaks()):
            if mine and not any(one.has(stage + first, peak / scale) for one in mine):
                said = f"{role}: the curve named {shown(mine[0].curve.name)!r} does not pass the peak of stage"
                said += f" {stage + first} of that run, {peak:,} bytes; another curve does."
                return lost(name, "wrong_names", said, "Each curve gets the name of the run that it shows.", 0.6)
    return None


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _losses(name: str, role: str, figure: Figure, runs: Mapping[Key, MeshRun]) -> LineResult:
    curves = [one for one in _drawn(figure) if _LOSS.search(one.says(figure.title))]
    if not curves:
        said = f"No curve of {role} says that it is a loss."
        return lost(
            name, "quantity_missing", said, "y: loss, x: step; a curve for each mesh, over the one of one rank."
        )
    absent, n = [], max(len(run.losses) for run in runs.values())
    right = [one for one in curves if any(_is_curve(one, run) for run in runs.values())]
    absent = [run for run in runs.values() if not any(_is_curve(one, run) for one in right)]
    if absent:
        run = absent[0]
        said = (
            f"{role}: no curve goes from {run.losses[0]:.4g} to {run.losses[-1]:.4g} in {len(run.losses)} steps as the"
        )
        said += f" log of {run.name} does; {len(absent)} of {len(runs)} are missing or wrong."
        teach = "Draw the losses of each log over its steps."
        return lost(name, "not_from_the_logs", said, teach, round(0.5 * (1 - len(absent) / len(runs)), 2))
    if len(right) < len(runs):
        said = f"{role} has {len(right)} right curves for {len(runs)} runs of {n} steps."
        return lost(name, "curves_missing", said, "One for each mesh, laid over the one of one rank.", 0.5)
    return _labels(name, role, curves) or full(name, f"{len(right)} curves.")


def _is_curve(one: Drawn, run: MeshRun) -> bool:
    """True if a curve is a run's losses, its steps counted from 0 or from 1."""
    for first in (1, 0):
        steps = range(first, first + len(run.losses))
        if all(one.has(x, y, exactly=False) for x, y in zip(steps, run.losses, strict=True)):
            return True
    return False
