"""The figures of the homework: accuracy_P.pdf held against the run logs, and whether scaling.pdf shows a measurement
over ranks.

Curves come from `probes.figure.figure`, which says what it could not read; that waits for a person. Everything else is
decided by comparing values: a curve is training accuracy because its values are the log's training accuracies, and the
words beside it must not deny it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from autograder.homework.drawn import NOT_MEASURED, ranks_at
from autograder.homework.folder import Homework
from autograder.homework.mnist_rubric import MORE_SIZES, SIZES, full, line, lost, needs_person
from autograder.homework.plots.accuracy import EPOCH, UNREAD_SHAPES, Plot, has_unread_shapes, judge_accuracy, label_of
from autograder.homework.plots.curves import (
    LabelledCurve,
    shown_in,
)
from autograder.homework.rubric import Flag, LineResult, PartResult, shown
from autograder.homework.scaling.figure import shows_runs
from labkit.runlog import RunLog
from probes.figure.types import READABLE, Figure

Reader = Callable[[Path], Figure]


def judge(
    homework: Homework, logs: Mapping[int, RunLog], reader: Reader, *, broken: Mapping[int, str] | None = None
) -> PartResult:
    """Judge accuracy_1.pdf ... accuracy_8.pdf and scaling.pdf (accuracy_16.pdf, where it is there, earns nothing but
    may raise a flag).

    logs: size -> run log; broken: size -> why a log could not be read. reader: reads a PDF, as
    `probes.figure.figure.read` does; what it raises makes that figure wait for a person.
    """
    findings, flags, facts = [], [], {}
    for size in (*SIZES, *MORE_SIZES):
        role = f"accuracy_{size}.pdf"
        if size in MORE_SIZES and role not in homework.files:
            continue
        figure, why = _read(homework, role, reader)
        verdicts = judge_accuracy(size, figure, why, logs, broken or {}, homework)
        facts[role] = _facts(figure, size, logs)
        if size in SIZES:
            findings += verdicts
        else:
            flags += [
                Flag(f"accuracy_{size}", f"{role}: {one.sentence}") for one in verdicts if one.verdict != "passed"
            ]
    figure, why = _read(homework, "scaling.pdf", reader)
    findings += _of_runs(_scaling(figure, why, sorted(set(SIZES) & set(logs)) or list(SIZES), homework), figure, logs)
    facts["scaling.pdf"] = _facts(figure, 0, {})
    return PartResult("plots", findings, flags, facts)


def check(figure: Figure, log: RunLog) -> list[LineResult]:
    """The judge's findings on one accuracy figure and its run's log; also for a live figure in a notebook."""
    return judge_accuracy(log.world_size, figure, "", {log.world_size: log}, {}, Homework())


def _read(homework: Homework, role: str, reader: Reader) -> tuple[Figure | None, str]:
    """(the figure, why there is none)."""
    path = homework.files.get(role)
    if path is None:
        return None, ""
    try:
        return reader(path), ""
    except Exception as error:  # whatever fails in reading a stranger's file is for a person to see, and costs nothing
        return None, f"{role} could not be read by the program: {shown(error, 200)}"


def _facts(figure: Figure | None, size: int, logs: Mapping[int, RunLog]) -> dict:
    """The readings of a figure, for the page."""
    if figure is None:
        return {"verdict": "missing"}
    curves = [
        {
            "name": shown(one.curve.name),
            "says": [one.role, one.quantity],
            "colour": one.curve.colour,
            "points": int((~one.curve.cut).sum()),
            "x_label": shown(one.panel.x.label),
            "y_label": shown(one.axis.label),
        }
        for one in shown_in(figure)
    ]
    problems = [p for panel in figure.panels for p in (*panel.problems, *panel.x.problems, *panel.y.problems)]
    return {
        "verdict": figure.verdict,
        "reason": shown(figure.reason, 300),
        "curves": curves[:20],
        "problems": [shown(p, 300) for p in problems[:10]],
    }


# -- scaling.pdf -------------------------------------------------------------------------------------------------------


def _scaling(figure: Figure | None, why: str, sizes: list[int], homework: Homework) -> list[LineResult]:
    """Judges if there is a measured curve over the number of ranks, and if it is labelled. Its values are judged with
    the scaling test."""
    names = ("scaling_pdf_curves", "scaling_pdf_labels")
    if figure is None and not why:
        said = homework.absent("scaling.pdf", "scaling.pdf")
        return [lost(name, "missing_file", said, "Save the figure with plt.savefig(...).") for name in names]
    if figure is None or figure.verdict != READABLE:
        reason = why or f"scaling.pdf: {figure.reason}"
        return [
            needs_person(name, reason, figure.kind if figure is not None and figure.kind else "unreadable")
            for name in names
        ]
    over = [(one, _sizes(one)) for one in shown_in(figure)]
    over = [(one, at) for one, at in over if len(at) >= 2 or (len(sizes) == 1 and at)]
    return [_scaling_curves(over, sizes, figure), _scaling_labels([one for one, _ in over], figure)]


def _of_runs(findings: list[LineResult], figure: Figure | None, logs: Mapping[int, RunLog]) -> list[LineResult]:
    """The findings on scaling.pdf, which earn points for a figure of these runs only: a curve that was made up is no
    measured one, whatever its labels say."""
    if not any(finding.earned for finding in findings):
        return findings
    if not logs:
        said = "scaling.pdf: without a run log nobody knows of what it is a measurement."
        return [needs_person(finding.line.name, said, "missing_run") for finding in findings]
    shows = shows_runs(figure, logs)
    if shows:
        return findings
    if shows is None:
        said = "No curve of scaling.pdf says whether it is throughput, speedup, efficiency or time."
        return [needs_person(finding.line.name, said, "unknown_quantity") for finding in findings]
    said = "scaling.pdf: no curve has the numbers of the run logs, so it is no figure of this measurement."
    teach = "Draw the figure from the run logs that you hand in, with the same cell that writes the table."
    return [
        lost(finding.line.name, "figure_of_other_runs", said, teach) if finding.earned else finding
        for finding in findings
    ]


def _sizes(one: LabelledCurve) -> set[int]:
    """The numbers of ranks at which the curve has a point."""
    x, _ = one.curve.seen()
    if re.search(EPOCH, one.panel.x.label.lower()):
        return set()
    x = ranks_at(one.panel, x)
    return {p for p in (*SIZES, *MORE_SIZES) if (np.abs(x / p - 1) < 0.03).any()}


def _is_perfect(one: LabelledCurve) -> bool:
    """True if a curve is proportional to the number of ranks, or the same for all, more exactly than any
    measurement."""
    x, y = one.curve.data()
    if len(x) < 3 or not (y > 0).all():
        return False
    rate = y / x
    return bool(np.ptp(rate) < 1e-3 * rate.mean() or np.ptp(y) < 1e-3 * y.mean())


def _scaling_curves(over: list[tuple[LabelledCurve, set[int]]], sizes: list[int], figure: Figure) -> LineResult:
    name = "scaling_pdf_curves"
    if not over:
        labels = [panel.x.label for panel in figure.panels if re.search(EPOCH, panel.x.label.lower())]
        if labels:
            said = f"scaling.pdf has no curve over the number of ranks; its x axis is “{shown(labels[0], 40)}”."
            return lost(name, "wrong_quantity", said, "x: the number of ranks; y: throughput, speedup or efficiency.")
        return needs_person(name, "scaling.pdf: no curve over the numbers of ranks was found.", "no_curves")
    measured = [
        (one, at) for one, at in over if not re.search(NOT_MEASURED, one.curve.name.lower()) and not _is_perfect(one)
    ]
    if not measured and has_unread_shapes(figure):
        return needs_person(name, f"scaling.pdf: {UNREAD_SHAPES}", "shapes_unread")
    if not measured:
        return lost(
            name, "only_perfect", "scaling.pdf shows perfect scaling, but no measurement.", "Draw what the logs say."
        )
    most = max((at for _, at in measured), key=lambda at: len(at & set(sizes)))
    missing = [p for p in sizes if p not in most]
    if missing and has_unread_shapes(figure):
        return needs_person(name, f"scaling.pdf: {UNREAD_SHAPES}", "shapes_unread")
    if missing:
        said = f"scaling.pdf has no point for {', '.join(map(str, missing))} ranks, though there are run logs."
        earned = round(line(name).points * (1 - len(missing) / len(sizes)), 2)
        return lost(name, "missing_sizes", said, "Draw every run.", earned)
    return full(name, f"A curve over {', '.join(map(str, sorted(most)))} ranks.")


def _scaling_labels(over: list[LabelledCurve], figure: Figure) -> LineResult:
    name = "scaling_pdf_labels"
    plot = Plot(SIZES[0], figure, None, {}, over)
    mine = over or shown_in(figure)
    if not mine:
        return needs_person(name, "scaling.pdf: no curve was found in the figure.", "no_curves")
    empty = [which for which in ("x", "y") if any(not label_of(one, which, plot) for one in mine)]
    if empty:
        which = " and the ".join(f"{axis} axis" for axis in empty)
        said = f"scaling.pdf: the {which} {'have' if len(empty) > 1 else 'has'} no label."
        return lost(
            name, "axes_not_labelled", said, 'plt.xlabel("ranks"); plt.ylabel("speedup").', 0 if len(empty) > 1 else 1
        )
    for panel in figure.panels:
        nameless = [one for one in mine if one.panel is panel and not one.curve.name]
        together = [one for one in mine if one.panel is panel]
        if len(together) > 1 and len(nameless) > 1:
            if any(re.search(NOT_MEASURED, text.lower()) for text in figure.texts):
                return needs_person(
                    name, "scaling.pdf: which name belongs to which curve could not be told.", "legend_unclear"
                )
            return lost(
                name,
                "no_legend",
                "scaling.pdf: nothing says which curve is the measurement.",
                'plt.plot(..., label="measured").',
                1,
            )
    return full(name, "Axes and curves are named.")
