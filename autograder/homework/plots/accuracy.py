"""accuracy_P.pdf of a homework: its curves are those of the run log, over epochs, and say which is which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from autograder.homework.folder import Homework
from autograder.homework.mnist_rubric import SIZES, full, line, lost, needs_person
from autograder.homework.plots.curves import (
    BLURRED,
    LOSSES,
    METRICS,
    PERCENT,
    LabelledCurve,
    Match,
    best_run,
    match,
    quantity_of,
    role_of,
    shown_in,
)
from autograder.homework.rubric import LineResult, shown
from labkit.runlog import RunLog
from probes.figure.types import READABLE, Figure

_NO_EPOCH = r"\bstep|iteration|\bbatch|\btime\b|second|\branks?\b|\bgpus?\b|\bnodes?\b"
EPOCH = r"epoch|epoche|époque|época|epoca|epok|эпох|轮|輪|エポック|에포크|devir|εποχ|حقبة|युग"
_NAMES = {"training": "training accuracy", "validation": "validation accuracy"}


@dataclass
class Plot:
    """An accuracy figure beside its log. logs: of the other runs. curves: role -> the curve that shows it; matches:
    role -> its comparison with the log. swapped_axes: the curves match with x and y exchanged."""

    size: int
    figure: Figure
    log: RunLog | None
    logs: Mapping[int, RunLog]
    all: list[LabelledCurve] = field(default_factory=list)
    curves: dict[str, LabelledCurve] = field(default_factory=dict)
    matches: dict[str, Match] = field(default_factory=dict)
    swapped_axes: bool = False

    @property
    def role(self) -> str:
        """The name of its file."""
        return f"accuracy_{self.size}.pdf"

    def line(self, what: str) -> str:
        """The name of the line of the rubric for `what`."""
        return _line_name(self.size, what)


def _line_name(size: int, what: str) -> str:
    """The rubric's line; for a size that it does not ask for another's, of which only the sentence is used."""
    return f"accuracy_{size if size in SIZES else SIZES[0]}_{what}"


def judge_accuracy(
    size, figure: Figure | None, why: str, logs, broken: Mapping[int, str], homework: Homework
) -> list[LineResult]:
    """The results of the three lines (curves, values, labels) for the accuracy of one run."""
    names = [_line_name(size, what) for what in ("curves", "values", "labels")]
    if figure is None and not why:
        said = homework.absent(f"accuracy_{size}.pdf", f"accuracy_{size}.pdf")
        return [lost(name, "missing_file", said, "Save each figure with plt.savefig(...).") for name in names]
    if figure is None or figure.verdict != READABLE:
        reason = why or f"accuracy_{size}.pdf: {figure.reason}"
        return [
            needs_person(name, reason, figure.kind if figure is not None and figure.kind else "unreadable")
            for name in names
        ]
    plot = Plot(size, figure, logs.get(size), {p: log for p, log in logs.items() if p != size}, shown_in(figure))
    _find(plot)
    # beside bars, a line that nothing calls an accuracy may be anything
    if plot.log is not None and has_unread_shapes(figure):
        for role in [
            r for r, one in plot.curves.items() if not one.role and not (r in plot.matches and plot.matches[r].right)
        ]:
            del plot.curves[role]
            plot.matches.pop(role, None)
    return _of_run(plot, [_curves_line(plot), _values_line(plot, broken.get(size, "")), _labels_line(plot)])


def _of_run(plot: Plot, findings: list[LineResult]) -> list[LineResult]:
    """The findings on a figure, which earn points for a figure of this run only: without a log nobody knows if it is,
    and curves that were made up are no training and validation accuracy, whatever their labels say."""
    curves, values, labels = findings
    if plot.log is None and labels.earned:
        return [curves, values, needs_person(labels.line.name, values.sentence, "missing_run")]
    stretched = curves.diagnosis == "x_not_epochs" and any(_in_order(one, plot.log) for one in plot.all)
    some = stretched or any(m.share >= 0.5 for m in plot.matches.values())
    if values.diagnosis != "values_differ" or values.earned or some:
        return findings
    said = f"{plot.role}: neither curve has the values of the run log, so it is no figure of this run."
    return [lost(one.line.name, "figure_of_other_runs", said, values.teach) if one.earned else one for one in findings]


def _in_order(one: LabelledCurve, log: RunLog) -> bool:
    """True if a curve has the log's accuracies one after the other, wherever they stand along x."""
    _, y = one.curve.data()
    logged = (np.array(log.curve(metric)[1], float) for metric in METRICS.values())
    return any(
        len(y) == len(values) and np.mean(np.abs(y / unit - values) <= BLURRED / 2) >= 0.5
        for values in logged
        for unit in (1, 100)
    )


def _find(plot: Plot) -> None:
    """Find the two curves: by their words and by their values."""
    candidates = [one for one in plot.all if one.quantity != "loss"]
    if plot.log is not None and not any(_fits(one, plot.log, False) for one in candidates):
        mislabelled = [one for one in plot.all if one.quantity == "loss" and _fits(one, plot.log, False)]
        if mislabelled and not any(_fits(one, plot.log, False, LOSSES) for one in mislabelled):
            candidates = [one for one in plot.all if one in candidates or one in mislabelled]
    said = [one for one in candidates if one.quantity == "accuracy"]
    candidates = said if said and any(one.quantity != "accuracy" for one in candidates) and _both(said) else candidates
    for swapped in (False, True):
        if plot.log is not None and candidates:
            _assign(plot, candidates, swapped)
            if plot.curves and any(m.right and len(m.present) >= 2 for m in plot.matches.values()):
                plot.swapped_axes = swapped
                return
    if plot.log is not None:
        _assign(plot, candidates, False)
    else:
        for role in METRICS:
            named = [one for one in candidates if one.role == role]
            if named:
                plot.curves[role] = named[0]


def _both(some: list[LabelledCurve]) -> bool:
    return {one.role for one in some} >= set(METRICS) or len(some) >= 2


def _fits(one: LabelledCurve, log: RunLog, swapped: bool, metrics: Mapping[str, str] = METRICS) -> bool:
    """True if the curve's values are those of one of the metrics, at all epochs that it shows."""
    found = [match(one, log, metric, swapped) for metric in metrics.values()]
    return any(m is not None and m.right and len(m.present) >= 2 for m in found)


def _assign(plot: Plot, candidates: list[LabelledCurve], swapped: bool) -> None:
    """Give the roles: to a curve whose words and values agree, else by the words, else by the values."""
    plot.curves, plot.matches = {}, {}
    found = {
        (role, k): m
        for role, metric in METRICS.items()
        for k, one in enumerate(candidates)
        if (m := match(one, plot.log, metric, swapped))
    }

    def quality(role: str, k: int) -> tuple:
        m = found.get((role, k))
        return (0,) if m is None else (m.right * len(m.present), m.share, len(m.present), -m.difference / m.unit)

    free = list(range(len(candidates)))
    for role in METRICS:
        named = [k for k in free if candidates[k].role == role]
        if named:
            best = max(named, key=lambda k: quality(role, k))
            plot.curves[role] = candidates[best]
            free.remove(best)
    nameless = [k for k in free if not candidates[k].role]
    missing = [role for role in METRICS if role not in plot.curves]
    if len(missing) == 2 and len(nameless) >= 2:
        pairs = [(a, b) for a in nameless for b in nameless if a != b]
        a, b = max(
            pairs, key=lambda pair: (_plus(quality("training", pair[0]), quality("validation", pair[1])), -pair[0])
        )
        plot.curves = {"training": candidates[a], "validation": candidates[b]}
    elif missing and nameless:
        role, k = max(((role, k) for role in missing for k in nameless), key=lambda pair: quality(*pair))
        plot.curves[role] = candidates[k]
    for role, one in plot.curves.items():
        m = found.get((role, candidates.index(one)))
        if m is not None:
            plot.matches[role] = m


def _plus(a: tuple, b: tuple) -> tuple:
    return tuple(x + y for x, y in zip((*a, 0, 0, 0)[:4], (*b, 0, 0, 0)[:4], strict=True))


def _curves_line(plot: Plot) -> LineResult:
    """Judges if both curves are there, over all epochs, epochs to the right and accuracy upwards."""
    name = plot.line("curves")
    if not plot.curves:
        return _no_accuracy(plot, name)
    missing = [role for role in METRICS if role not in plot.curves]
    if missing and plot.log is not None and not _has_metric(plot.log, missing[0]):
        missing = []  # nobody can draw what was not measured; the log's own line says so
    if missing and has_unread_shapes(plot.figure):
        return needs_person(name, f"{plot.role}: {UNREAD_SHAPES}", "shapes_unread")
    if missing:
        other = next(iter(plot.curves))
        said = f"{plot.role} has no curve of the {_NAMES[missing[0]]}; it shows {_NAMES[other]} only."
        return lost(name, f"{missing[0]}_missing", said, _TEACH[missing[0]], line(name).points / 2)
    if plot.swapped_axes:
        said = f"{plot.role} has accuracy to the right and epochs upwards."
        teach = "plt.plot(epochs, accuracy): what you chose goes to the right, what came out upwards."
        return lost(name, "axes_swapped", said, teach, 1)
    if plot.log is None:
        said = f"{plot.role}: without a run log nobody knows of how many epochs the curves should be."
        return needs_person(name, said, "missing_run")
    if more := _beyond_torn_log(plot):
        return needs_person(name, more, "log_incomplete")
    return _epochs(plot, name)


def _no_accuracy(plot: Plot, name: str) -> LineResult:
    """The finding on a figure in which no curve is an accuracy."""
    if _shows_errors(plot):
        return needs_person(name, f"{plot.role} {_ERRORS}", "error_rate")
    if has_unread_shapes(plot.figure):
        return needs_person(name, f"{plot.role}: {UNREAD_SHAPES}", "shapes_unread")
    if any(one.quantity == "loss" for one in plot.all):
        said = f"{plot.role} shows the loss; training and validation accuracy were asked for."
        teach = "Accuracy is the part of the images that are classified correctly."
        return lost(name, "accuracy_missing", said, teach)
    if not plot.all:
        return needs_person(name, f"{plot.role}: no curve was found in the figure.", "no_curves")
    said = f"{plot.role}: no curve says that it is training or validation accuracy."
    return needs_person(name, said, "curves_unknown")


UNREAD_SHAPES = "some of it is drawn as bars or areas, and their values are not read."


def has_unread_shapes(figure: Figure) -> bool:
    """True if a figure has bars or areas, whose values are not read."""
    return any(panel.shapes for panel in figure.panels)


def _beyond_torn_log(plot: Plot) -> str:
    """The remark on a figure that goes on where its log ends early; "" otherwise."""
    if plot.log.complete or not any(m.other > 0 for m in plot.matches.values()):
        return ""
    return f"{plot.role} shows more epochs than the {len(plot.log.epochs)} of the run log, which is not complete."


_ERRORS = "shows error rates, the parts that accuracy leaves to one; accuracy was asked for."


def _shows_errors(plot: Plot) -> bool:
    """True if the figure has curves of 1 - accuracy: the same facts, the other way up."""
    if plot.log is None:
        return False
    upside_down = replace(
        plot.log,
        epochs=[
            replace(epoch, accuracy=1 - epoch.accuracy, val_accuracy=1 - epoch.val_accuracy)
            for epoch in plot.log.epochs
        ],
    )
    return any(_right(one, upside_down, metric) for one in plot.all for metric in METRICS.values())


_TEACH = {
    "validation": "Only data that the network was not trained on shows whether it has learned or memorised.",
    "training": "The distance between training and validation accuracy shows how far the network has memorised.",
}


def _has_metric(log: RunLog, role: str) -> bool:
    return bool(np.isfinite(np.array(log.curve(METRICS[role])[1], float)).any())


def _epochs(plot: Plot, name: str) -> LineResult:
    """Judges if all epochs of the log are there."""
    wanted = [epoch.number for epoch in plot.log.epochs]
    for role, one in plot.curves.items():
        found = plot.matches.get(role)
        if found is None:
            continue
        if len(found.present) < 0.5 * len(wanted) and (stretch := _stretched(one, len(wanted))):
            said = (
                f"{plot.role}: the x axis goes to {stretch:.4g} for {len(wanted)} epochs: it counts something else"
                " than epochs."
            )
            return lost(
                name,
                "x_not_epochs",
                said,
                "The x axis is the epoch, so that runs with different numbers of steps compare.",
                1,
            )
        missing = [number for number in wanted if number not in found.present]
        hidden = [number for number in wanted if number not in found.visible]
        if missing and not one.curve.cut.any():  # cut: it leaves the page
            said = (
                f"{plot.role}: {_NAMES[role]} is drawn for {len(found.present)} of {len(wanted)} epochs;"
                f" {_listed(missing)} not there."
            )
            earned = 1.0 if len(missing) <= len(wanted) / 2 else 0.0
            return lost(
                name, "epochs_missing", said, "Show the whole run: how fast it learns is what the curve is for.", earned
            )
        if len(hidden) > len(wanted) / 2 or (hidden and hidden[-1] == wanted[-1]):
            said = f"{plot.role}: of {_NAMES[role]}, {_listed(hidden)} outside of the axes' limits."
            return lost(name, "epochs_hidden", said, "Choose the limits of the y axis so that the curve is seen.", 1)
    return full(name, f"Training and validation accuracy over {len(wanted)} epochs.")


def _stretched(one: LabelledCurve, epochs: int) -> float:
    """The last x of a curve that has a point for each epoch, evenly spaced, but counts something else; 0 if it does
    not."""
    x, _ = one.curve.data()
    if len(x) != epochs or len(x) < 2:
        return 0.0
    steps = np.diff(x)
    return float(x[-1]) if np.allclose(steps, steps[0], rtol=0.01) and abs(steps[0] - 1) > 0.01 else 0.0


def _listed(numbers: list[int]) -> str:
    said = ", ".join(map(str, numbers[:6])) + (" ..." if len(numbers) > 6 else "")
    return f"epoch{'s' * (len(numbers) > 1)} {said} {'are' if len(numbers) > 1 else 'is'}"


def _values_line(plot: Plot, broken: str) -> LineResult:
    """Judges if the values are those of the run log."""
    name = plot.line("values")
    if plot.log is None:
        why = broken or f"there is no run log of {plot.size} ranks"
        said = (
            f"{plot.role} cannot be compared: {shown(why, 200).rstrip('.')}. Hand in the log of every run that you"
            " draw."
        )
        return needs_person(name, said, "missing_run")
    if not plot.curves:
        if _shows_errors(plot):
            return needs_person(name, f"{plot.role} {_ERRORS}", "error_rate")
        if has_unread_shapes(plot.figure):
            return needs_person(name, f"{plot.role}: {UNREAD_SHAPES}", "shapes_unread")
        if any(one.quantity == "loss" for one in plot.all):
            return lost(name, "accuracy_missing", f"{plot.role} has no accuracies that could be compared.")
        return needs_person(name, f"{plot.role}: no curve could be compared with the run log.", "curves_unknown")
    compared = {role: m for role, m in plot.matches.items() if m.present}
    if len(plot.curves) < len(METRICS) and has_unread_shapes(plot.figure) and all(m.right for m in compared.values()):
        return needs_person(name, f"{plot.role}: {UNREAD_SHAPES}", "shapes_unread")
    wrong = [role for role, m in compared.items() if not m.right]
    if not compared:
        return lost(name, "values_differ", f"{plot.role}: no point of a curve stands at an epoch of the run log.")
    if not wrong and any(m.blurred for m in compared.values()):
        return needs_person(name, f"{plot.role}: {_BLURRED}", "axis_too_long")
    if not wrong and (more := _beyond_torn_log(plot)):
        return needs_person(name, more, "log_incomplete")
    if not wrong:
        extra = [role for role, m in compared.items() if m.other > 0 and plot.log.complete and not plot.swapped_axes]
        if extra and all(_only_the_start(plot.curves[role], m) for role, m in compared.items()):
            said = (
                f"{plot.role} has a point before the first epoch, of the network that has not learned yet, perhaps;"
                " no log tells."
            )
            return needs_person(name, said, "before_the_first_epoch")
        if extra and all(m.other >= 1 for m in compared.values()) and not plot.log.problems:
            return _more_than_logged(plot, name, compared[extra[0]])
        return full(name, "The values are those of the run log.")
    return _named(plot, name, compared, wrong)


_BLURRED = f"along its y axis, accuracies that differ by {BLURRED:.0%} and more look the same."


def _only_the_start(one: LabelledCurve, found: Match) -> bool:
    """True if what a curve has besides the log's epochs is one point, an epoch before the first."""
    x, _ = one.curve.data()
    return found.other == 0 or (found.other == 1 and len(x) > 0 and abs(float(x.min()) - (found.first - 1)) < 0.05)


def _more_than_logged(plot: Plot, name: str, found: Match) -> LineResult:
    said = (
        f"{plot.role} has points that the run log has not: {found.other} more than its {len(plot.log.epochs)} epochs."
    )
    return lost(name, "more_epochs_than_run", said, "Draw the run whose log you hand in.", 1)


def _named(plot: Plot, name: str, compared: Mapping[str, Match], wrong: list[str]) -> LineResult:
    """Values that differ: say which mistake gives exactly these."""
    curves = plot.curves
    if set(compared) == set(METRICS) and len(wrong) == 2:
        exchanged = {"training": "val_accuracy", "validation": "accuracy"}
        if all(_right(curves[role], plot.log, metric) for role, metric in exchanged.items()):
            said = (
                f"{plot.role}: the curve named training has the run's validation accuracies, and the other way round."
            )
            return lost(name, "swapped_curves", said, "Give plt.plot its label in the same call as its data.", 1)
    if all(_right(curves[role], plot.log, LOSSES[role]) for role in wrong):
        said = f"{plot.role}: the curves have the values of the loss, not of the accuracy."
        return lost(
            name,
            "loss_as_accuracy",
            said,
            "In the log, loss and accuracy stand beside each other; accuracy ends near 1.",
        )
    others = {best_run(curves[role], plot.logs, METRICS[role], plot.size) for role in wrong}
    if len(others) == 1 and (other := others.pop()):
        said = f"{plot.role}: {_which(wrong)} of the run on {other} rank{'s' * (other > 1)}, not of this one."
        return lost(name, "another_run", said, "Make the file's name and its data from one variable.")
    if len(wrong) == 1 and len(compared) == 2:
        of_other = METRICS["validation" if wrong[0] == "training" else "training"]
        if _right(curves[wrong[0]], plot.log, of_other):
            said = f"{plot.role}: both curves have the same values, those of the {_NAMES[_other(wrong[0])]}."
            return lost(name, "same_curve_twice", said, "Check which column of the log each curve is drawn from.", 1)
    worst = max(wrong, key=lambda role: compared[role].difference / compared[role].unit)
    epoch, drawn, logged = compared[worst].worst
    said = f"{plot.role}: {_NAMES[worst]} after epoch {epoch} is drawn as {drawn:.4g}, the run log says {logged:.4g}"
    said += f" ({len(compared[worst].wrong)} of {len(compared[worst].present)} epochs differ)."
    earned = 1.0 if len(wrong) == 1 and len(compared) == 2 else 0.0
    return lost(name, "values_differ", said, "Draw the figure from the run log that you hand in.", earned)


def _right(one: LabelledCurve, log: RunLog, metric: str) -> bool:
    found = match(one, log, metric)
    return found is not None and found.right and len(found.present) >= min(2, len(log.epochs))


def _other(role: str) -> str:
    return "validation" if role == "training" else "training"


def _which(roles: list[str]) -> str:
    return "the curves are those" if len(roles) == 2 else f"the {_NAMES[roles[0]]} is that"


def _labels_line(plot: Plot) -> LineResult:
    """Judges if the axes and the legend say what is shown."""
    name = plot.line("labels")
    mine = list(plot.curves.values()) or plot.all
    if not mine:
        return needs_person(name, f"{plot.role}: no curve was found in the figure.", "no_curves")
    empty = [which for which in ("x", "y") if any(not label_of(one, which, plot) for one in mine)]
    if empty:
        which = " and the ".join(f"{axis} axis" for axis in empty)
        said = f"{plot.role}: the {which} {'have' if len(empty) > 1 else 'has'} no label."
        return lost(
            name,
            "axes_not_labelled",
            said,
            'plt.xlabel("epoch"); plt.ylabel("accuracy").',
            0 if len(empty) > 1 else 0.5,
        )
    said_x = label_of(mine[0], "x", plot)
    if not plot.swapped_axes and re.search(_NO_EPOCH, said_x.lower()) and not re.search(EPOCH, said_x.lower()):
        return lost(
            name,
            "x_label_wrong",
            f"{plot.role}: the x axis is called “{shown(said_x, 40)}”, but its values are epochs.",
            "",
            0.5,
        )
    if plot.matches and any(one.quantity == "loss" for one in plot.curves.values()):
        said = f"{plot.role}: curves of the accuracy are labelled as loss."
        return lost(name, "y_label_wrong", said, "A label must name what the curve shows.", 0.5)
    return _units(plot, name, mine) or _legend(plot, name, mine) or full(name, "Axes and curves are named.")


def label_of(one: LabelledCurve, which: str, plot: Plot) -> str:
    """The label of the curve's axis. Panels above each other may have a common x label, panels side by side a common y
    label."""
    axis = one.panel.x if which == "x" else one.axis
    if axis.label:
        return axis.label
    left, bottom, right, top = one.panel.frame
    for other in plot.figure.panels:
        a, b, c, d = other.frame
        if which == "x" and other.x.label and abs(a - left) < 3 and abs(c - right) < 3 and not one.panel.x.problems:
            return other.x.label
        if which == "y" and other.y.label and abs(b - bottom) < 3 and abs(d - top) < 3 and _same_scale(other.y, axis):
            return other.y.label
    return ""


def _same_scale(a, b) -> bool:
    return a.scale == b.scale and abs(a.offset - b.offset) < 0.01 and abs(a.slope - b.slope) < 1e-6 * abs(a.slope)


def _units(plot: Plot, name: str, mine: list[LabelledCurve]) -> LineResult | None:
    """Judges if percent is said where values are percent, and only there."""
    for role, one in plot.curves.items():
        found = plot.matches.get(role)
        _, y = one.curve.data()
        percent = found.unit == 100 if found is not None and found.right else bool(len(y)) and float(np.nanmax(y)) > 1.5
        words = " ".join((one.axis.label, one.panel.title, plot.figure.title, one.curve.name))
        said = one.axis.percent or bool(re.search(PERCENT, words.lower()))
        if one.quantity == "loss" or (found is not None and not found.right and _right(one, plot.log, LOSSES[role])):
            continue
        if percent and not said:
            sentence = f"{plot.role}: the y axis goes to {np.nanmax(y):.3g}, and nothing says that this is percent."
            return lost(name, "percent_not_said", sentence, 'plt.ylabel("accuracy [%]").', 0.5)
        if not percent and re.search(PERCENT, one.axis.label.lower()) and not one.axis.percent and len(y):
            sentence = f"{plot.role}: the label says percent, but the values are fractions up to {np.nanmax(y):.3g}."
            return lost(name, "percent_wrong", sentence, "Multiply by 100, or leave the % out of the label.", 0.5)
    return None


def _legend(plot: Plot, name: str, mine: list[LabelledCurve]) -> LineResult | None:
    """Judges if training can be told from validation by the names."""
    if len(mine) < 2:
        return None
    names = [one.name for one in mine]
    if all(names) and len(set(names)) == len(names):
        return None
    if not any(names) and any(_tells_both(text) for text in plot.figure.texts):
        return needs_person(
            name, f"{plot.role}: which curve is which is said in words, not beside the curves.", "legend_unclear"
        )
    if not any(names) and not any(
        role_of(text) or quantity_of(text) for text in plot.figure.texts if not _is_label(plot, text)
    ):
        said = f"{plot.role}: nothing says which curve is training and which is validation."
        return lost(name, "no_legend", said, 'plt.plot(..., label="training") and plt.legend().')
    if all(names):
        said = f"{plot.role}: both curves are called {shown(names[0], 40)}."
        return lost(name, "same_name_twice", said, "Each curve needs a name of its own.")
    unclear = [p for panel in plot.figure.panels for p in panel.problems]
    said = unclear[0] if unclear else "Not every curve has a name that could be told to be its own."
    return needs_person(name, f"{plot.role}: {said}", "legend_unclear")


def _tells_both(text: str) -> bool:
    """True if a text tells training from validation by how the curves look: "blue: training, red: validation"."""
    words = text.lower()
    looks = r"blue|red|green|orange|black|gr[ae]y|purple|solid|dashed|dotted"
    looks += r"|blau|rot\b|grün|schwarz|gestrichelt|bleu|rouge|vert\b"
    return (
        bool(re.search(looks, words))
        and len({role_of(part) for part in re.split(r"[,;/()]|\band\b|\bund\b", words)} & set(METRICS)) == 2
    )


def _is_label(plot: Plot, text: str) -> bool:
    """True if a text is a label of an axis or a title."""
    known = {plot.figure.title}
    for panel in plot.figure.panels:
        known |= {panel.title, panel.x.label, panel.y.label} | ({panel.right.label} if panel.right else set())
    return any(text and text in label for label in known)
