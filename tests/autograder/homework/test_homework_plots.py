"""The judge of the homework's figures: right ones in many styles get full marks, each mistake gets its name, what is
unclear a person.
"""

import matplotlib
import numpy as np
import pytest

matplotlib.use("pdf")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, PercentFormatter

from autograder.homework.folder import Homework
from autograder.homework.mnist_rubric import SIZES, lines_of, points_of
from autograder.homework.plots import judge as plots
from autograder.homework.plots.curves import is_stroke
from labkit.runlog import Epoch, RunLog
from probes.figure import figure as pdf_figure

P = 4  # the size whose figure varies


@pytest.fixture(autouse=True)
def no_figures_left():
    with plt.rc_context():
        yield
    plt.close("all")


def run(size=P, epochs=8):
    """A run's log. Every size has curves of its own."""
    k = np.arange(1, epochs + 1)
    accuracy = 0.97 - 0.3 * np.exp(-k / 2) - 0.002 * size - 0.004 * np.sin(3.0 * k + size)
    validation = accuracy - 0.015 - 0.004 * np.cos(2.0 * k)
    loss = 2.3 * np.exp(-k / 3) + 0.01 * size
    log = RunLog(world_size=size, complete=True)
    log.epochs = [
        Epoch(int(n), *map(float, row)) for n, *row in zip(k, loss, accuracy, loss + 0.05, validation, strict=True)
    ]
    return log


LOGS = {size: run(size) for size in SIZES}
X, T, V = (np.array(values) for values in (*LOGS[P].curve("accuracy"), LOGS[P].curve("val_accuracy")[1]))
LOSS = np.array(LOGS[P].curve("loss")[1])
VAL_LOSS = np.array(LOGS[P].curve("val_loss")[1])


def judged(path, figure=None, logs=LOGS, size=P):
    """The findings on accuracy_P.pdf: what -> LineResult."""
    (figure or plt.gcf()).savefig(path)
    homework = Homework(files={f"accuracy_{size}.pdf": path})
    found = {one.line.name: one for one in plots.judge(homework, logs, pdf_figure.read).findings}
    return {what: found[f"accuracy_{size}_{what}"] for what in ("curves", "values", "labels")}


def diagnoses(path, **options):
    found = judged(path, **options)
    for one in found.values():
        assert one.verdict == "passed" or (one.diagnosis and one.sentence)
    return {what: one.diagnosis for what, one in found.items() if one.verdict != "passed"}


def two(x=X, training=T, validation=V, names=("training", "validation"), xlabel="epoch", ylabel="accuracy", ax=None):
    ax = ax or plt.gca()
    ax.plot(x, training, label=names[0])
    ax.plot(x, validation, "--", label=names[1])
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend()


# -- right figures -----------------------------------------------------------------------------------------------------


def from_zero():
    two(x=X - 1)


def percent():
    two(training=100 * T, validation=100 * V, ylabel="accuracy [%]")


def percent_signs():
    two()
    plt.gca().yaxis.set_major_formatter(PercentFormatter(1))


def decimal_commas():
    two(names=("Training", "Validierung"), xlabel="Epoche", ylabel="Genauigkeit")
    plt.gca().yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.2f}".replace(".", ",")))


def with_loss():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    two(training=LOSS, validation=VAL_LOSS, ylabel="loss", ax=left)
    two(ax=right)


def loss_on_the_right_axis():
    figure, ax = plt.subplots()
    ax.plot(X, T, "b", label="training accuracy")
    ax.plot(X, V, "g--", label="validation accuracy")
    ax.set(xlabel="epoch", ylabel="accuracy")
    other = ax.twinx()
    other.plot(X, LOSS, "r:", label="training loss")
    other.set_ylabel("loss")
    figure.legend(loc="center right")


def a_panel_each():
    figure, axes = plt.subplots(2, sharex=True)
    for ax, y, name in zip(axes, (T, V), ("training", "validation"), strict=True):
        ax.plot(X, y)
        ax.set(ylabel="accuracy", title=name)
    axes[1].set_xlabel("epoch")


def keras_names():
    two(names=("accuracy", "val_accuracy"))


def turkish():
    two(names=("eğitim", "doğrulama"), xlabel="devir", ylabel="doğruluk")


def words_nobody_knows():
    two(names=("koulutus", "vahvistus"), xlabel="kierros", ylabel="tarkkuus")


def order_reversed():
    plt.plot(X, V, label="test")
    plt.plot(X, T, label="train")
    plt.xlabel("epoch")
    plt.ylabel("acc")
    plt.legend()


def points():
    plt.scatter(X, T, label="training")
    plt.scatter(X, V, label="validation", marker="x")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def in_steps():
    plt.step(X, T, where="mid", label="training")
    plt.step(X, V, where="post", label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def names_at_the_ends():
    from labkit.plots import training

    training({"training": (X, T), "validation": (X, V)})


def rounded():
    two(training=np.round(T, 3), validation=np.round(V, 3))


def start_cut_off():
    two()
    plt.ylim(0.9, 1)


def another_run_for_comparison():
    plt.plot(X, LOGS[1].curve("accuracy")[1], ":", label="training, 1 rank")
    plt.plot(X, LOGS[1].curve("val_accuracy")[1], "-.", label="validation, 1 rank")
    two()


def stems_side_by_side():
    plt.stem(X - 0.1, T, linefmt="C0-", markerfmt="C0o", label="training")
    plt.stem(X + 0.1, V, linefmt="C1-", markerfmt="C1s", label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def training_half_an_epoch_earlier():
    plt.plot(X - 0.5, T, "o-", label="training")
    plt.plot(X, V, "s-", label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


RIGHT = [
    stems_side_by_side, training_half_an_epoch_earlier, two, from_zero, percent, percent_signs, decimal_commas, with_loss,
    loss_on_the_right_axis, a_panel_each, keras_names, turkish, words_nobody_knows, order_reversed, points, in_steps,
    names_at_the_ends, rounded, start_cut_off, another_run_for_comparison,
]  # fmt: skip


@pytest.mark.parametrize("draw", RIGHT, ids=lambda f: f.__name__)
def test_right_figures_get_full_marks(draw, tmp_path):
    draw()
    assert diagnoses(tmp_path / "a.pdf") == {}


def test_very_many_epochs_whose_path_was_simplified(tmp_path):
    logs = {P: run(epochs=400)}
    x, training = map(np.array, logs[P].curve("accuracy"))
    two(x, training, np.array(logs[P].curve("val_accuracy")[1]))
    assert diagnoses(tmp_path / "a.pdf", logs=logs) == {}
    plt.figure()
    two(x, training + 0.01, np.array(logs[P].curve("val_accuracy")[1]))
    assert diagnoses(tmp_path / "a.pdf", logs=logs) == {"values": "values_differ"}


def test_curves_that_coincide_are_two(tmp_path):
    log = run()
    for epoch in log.epochs:
        epoch.val_accuracy = epoch.accuracy
    plt.scatter(X, T, label="training")
    plt.scatter(X, T, marker="x", label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()
    assert diagnoses(tmp_path / "a.pdf", logs={**LOGS, P: log}) == {}


# -- right ones that are not all lines: a person looks, and nothing is lost --------------------------------------------


def bars_beside_a_line():
    plt.bar(X, T, label="training")
    plt.plot(X, V, "ko-", label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def bars_and_a_target():
    plt.bar(X - 0.2, T, 0.4, label="training")
    plt.bar(X + 0.2, V, 0.4, label="validation")
    plt.plot([1, 8], [0.97, 0.97], "k--", label="target")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def upright_strokes():
    plt.vlines(X, 0, T, lw=5, label="training")
    plt.plot(X, V, "ko-", label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def error_rates():
    two(training=1 - T, validation=1 - V, names=("training error", "validation error"), ylabel="error rate")


def the_untrained_network_as_well():
    two(np.r_[0, X], np.r_[0.1, T], np.r_[0.1, V])


def named_in_the_title():
    plt.plot(X, T, "b")
    plt.plot(X, V, "r")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.title("blue: training, red: validation")


WAITING = [
    (bars_beside_a_line, "shapes_unread"),
    (bars_and_a_target, "shapes_unread"),
    (upright_strokes, "shapes_unread"),
    (error_rates, "error_rate"),
    (the_untrained_network_as_well, "before_the_first_epoch"),
    (named_in_the_title, "legend_unclear"),
]


@pytest.mark.parametrize(("draw", "why"), WAITING, ids=lambda one: getattr(one, "__name__", ""))
def test_what_is_not_read_waits_for_a_person_and_loses_nothing(draw, why, tmp_path):
    draw()
    found = judged(tmp_path / "a.pdf").values()
    assert {one.verdict for one in found} <= {"passed", "needs_person"}
    assert why in {one.diagnosis for one in found if one.verdict == "needs_person"}


# -- wrong ones --------------------------------------------------------------------------------------------------------


def swapped():
    two(training=V, validation=T)


def of_another_run():
    two(training=np.array(LOGS[2].curve("accuracy")[1]), validation=np.array(LOGS[2].curve("val_accuracy")[1]))


def loss_as_accuracy():
    two(training=LOSS, validation=VAL_LOSS)


def nicer():
    two(validation=V + np.linspace(0, 0.02, len(V)))


def one_point_edited():
    changed = V.copy()
    changed[5] += 0.004
    two(validation=changed)


def same_twice():
    two(validation=T)


def last_epochs_missing():
    two(X[:5], T[:5], V[:5])


def every_second_epoch():
    two(X[::2], T[::2], V[::2])


def training_only():
    plt.plot(X, T, label="training")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def validation_only():
    plt.plot(X, V, label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()


def loss_only():
    two(training=LOSS, validation=VAL_LOSS, ylabel="loss")


def axes_swapped():
    plt.plot(T, X, label="training")
    plt.plot(V, X, label="validation")
    plt.xlabel("accuracy")
    plt.ylabel("epoch")
    plt.legend()


def over_steps():
    two(x=X * 235, xlabel="step")


def percent_not_said():
    two(training=100 * T, validation=100 * V)


def percent_that_is_none():
    two(ylabel="accuracy (%)")


def no_legend():
    two()
    plt.gca().get_legend().remove()


def no_labels():
    two(xlabel="", ylabel="")


def no_x_label():
    two(xlabel="")


def x_called_ranks():
    two(xlabel="number of ranks")


def called_loss():
    two(ylabel="loss")


def same_names():
    two(names=("accuracy", "accuracy"))


def made_up_with_one_value_of_the_next_epoch():
    """Where one value is by chance that of the next epoch, all epochs are still there."""
    invented = T - 0.02
    invented[2] = T[3]
    two(training=invented, validation=V - 0.02)


def two_values_for_each_epoch():
    """A line with two guesses for each epoch, of which now the first and now the second is right."""
    x, even = np.repeat(X, 2), X % 2 == 0
    guesses = [np.where(even, (values, values - 0.03), (values - 0.03, values)).T.ravel() for values in (T, V)]
    two(x=x, training=guesses[0], validation=guesses[1])


def marks_above_each_other():
    for values in (T, V):
        plt.plot(np.r_[X, X], np.r_[values, values - 0.05], "o", label="training" if values is T else "validation")
    plt.gca().set(xlabel="epoch", ylabel="accuracy")
    plt.legend()


def on_an_endless_axis():
    """Along an axis up to 1000, one accuracy looks like any other."""
    two(training=T - 0.1, validation=V - 0.1)
    plt.ylim(0, 1000)


def shifted_by_one():
    two(training=np.r_[T[1:], 0.99], validation=np.r_[V[1:], 0.98])


def hidden():
    two()
    plt.ylim(0.94, 1)


MADE_UP = {"curves": "figure_of_other_runs", "values": "values_differ", "labels": "figure_of_other_runs"}
WRONG = [
    (swapped, {"values": "swapped_curves"}),
    (of_another_run, {"values": "another_run"}),
    (loss_as_accuracy, {"values": "loss_as_accuracy"}),
    (nicer, {"values": "values_differ"}),
    (one_point_edited, {"values": "values_differ"}),
    (same_twice, {"values": "same_curve_twice"}),
    (last_epochs_missing, {"curves": "epochs_missing"}),
    (every_second_epoch, {"curves": "epochs_missing"}),
    (training_only, {"curves": "validation_missing"}),
    (validation_only, {"curves": "training_missing"}),
    (loss_only, {"curves": "accuracy_missing", "values": "accuracy_missing"}),
    (axes_swapped, {"curves": "axes_swapped"}),
    (over_steps, {"curves": "x_not_epochs", "values": "values_differ", "labels": "x_label_wrong"}),
    (percent_not_said, {"labels": "percent_not_said"}),
    (percent_that_is_none, {"labels": "percent_wrong"}),
    (no_legend, {"labels": "no_legend"}),
    (no_labels, {"labels": "axes_not_labelled"}),
    (no_x_label, {"labels": "axes_not_labelled"}),
    (x_called_ranks, {"labels": "x_label_wrong"}),
    (called_loss, {"labels": "y_label_wrong"}),
    (same_names, {"labels": "same_name_twice"}),
    (made_up_with_one_value_of_the_next_epoch, MADE_UP),
    (marks_above_each_other, MADE_UP),
    (two_values_for_each_epoch, {"values": "values_differ"}),
    (on_an_endless_axis, {"values": "axis_too_long"}),
    (shifted_by_one, {"curves": "epochs_missing", "values": "more_epochs_than_run"}),
    (hidden, {"curves": "epochs_hidden"}),
]


@pytest.mark.parametrize(("draw", "expected"), WRONG, ids=lambda one: getattr(one, "__name__", ""))
def test_wrong_figures_get_the_name_of_the_mistake(draw, expected, tmp_path):
    draw()
    assert diagnoses(tmp_path / "a.pdf") == expected


def test_sentences_say_what_was_found_and_what_was_expected(tmp_path):
    nicer()
    said = judged(tmp_path / "a.pdf")["values"].sentence
    assert f"drawn as {V[-1] + 0.02:.4g}, the run log says {V[-1]:.4g}" in said and "epoch 8" in said
    plt.figure()
    of_another_run()
    assert "the run on 2 ranks" in judged(tmp_path / "a.pdf")["values"].sentence


def test_curves_that_look_the_same_are_for_a_person(tmp_path):
    plt.plot(X, T, "k", label="training")
    plt.plot(X, V, "k", label="validation")
    plt.xlabel("epoch")
    plt.ylabel("accuracy")
    plt.legend()
    found = judged(tmp_path / "a.pdf")
    assert found["labels"].verdict == "needs_person" and found["labels"].diagnosis == "legend_unclear"
    assert found["values"].verdict == "passed"


# -- files and logs ----------------------------------------------------------------------------------------------------


def test_nothing_handed_in():
    result = plots.judge(Homework(), LOGS, pdf_figure.read)
    assert [one.line for one in result.findings] == lines_of("plots")
    assert {one.diagnosis for one in result.findings} == {"missing_file"}
    assert sum(one.earned for one in result.findings) == 0
    assert points_of("plots") == 25


def test_a_picture_instead_of_a_pdf_is_named():
    homework = Homework(refused={"accuracy_2.pdf": "There is no accuracy_2.pdf; `accuracy_2.png` is no PDF."})
    found = {one.line.name: one for one in plots.judge(homework, LOGS, pdf_figure.read).findings}
    assert "accuracy_2.png" in found["accuracy_2_curves"].sentence


@pytest.mark.parametrize("content", [b"", b"<svg/>", b"%PDF-1.4"])
def test_what_cannot_be_read_is_for_a_person(content, tmp_path):
    (tmp_path / "a.pdf").write_bytes(content)
    homework = Homework(files={"accuracy_4.pdf": tmp_path / "a.pdf", "scaling.pdf": tmp_path / "a.pdf"})
    found = {one.line.name: one for one in plots.judge(homework, LOGS, pdf_figure.read).findings}
    for name in (
        "accuracy_4_curves",
        "accuracy_4_values",
        "accuracy_4_labels",
        "scaling_pdf_curves",
        "scaling_pdf_labels",
    ):
        assert found[name].verdict == "needs_person" and found[name].sentence


def test_a_reader_that_fails_costs_nobody_anything(tmp_path):
    def reader(path):
        raise RuntimeError("it took longer than 25 s")

    homework = Homework(files={"accuracy_4.pdf": tmp_path / "a.pdf"})
    found = {one.line.name: one for one in plots.judge(homework, LOGS, reader).findings}
    assert found["accuracy_4_values"].verdict == "needs_person" and "25 s" in found["accuracy_4_values"].sentence


def test_without_a_log_a_figure_is_for_a_person(tmp_path):
    two()
    found = judged(tmp_path / "a.pdf", logs={})
    assert {what: one.diagnosis for what, one in found.items()} == {
        "curves": "missing_run",
        "values": "missing_run",
        "labels": "missing_run",
    }


def test_more_epochs_than_a_torn_log_has_are_for_a_person(tmp_path):
    torn = run(epochs=8)
    torn.epochs, torn.complete = torn.epochs[:5], False
    two()
    assert judged(tmp_path / "a.pdf", logs={P: torn})["curves"].diagnosis == "log_incomplete"
    two(X[:5], T[:5], V[:5])


def test_more_epochs_than_a_whole_log_has_are_wrong(tmp_path):
    short = run(epochs=8)
    short.epochs = short.epochs[:5]
    two()
    assert diagnoses(tmp_path / "a.pdf", logs={P: short}) == {"values": "more_epochs_than_run"}


def test_sixteen_ranks_earn_nothing_and_may_raise_a_flag(tmp_path):
    logs = {**LOGS, 16: run(16)}
    x, training, validation = *map(np.array, logs[16].curve("accuracy")), np.array(logs[16].curve("val_accuracy")[1])
    two(x, training, validation)
    plt.savefig(tmp_path / "right.pdf")
    plt.figure()
    two(x, validation, training)
    plt.savefig(tmp_path / "wrong.pdf")
    for name, kinds in (("right", []), ("wrong", ["accuracy_16"])):
        result = plots.judge(Homework(files={"accuracy_16.pdf": tmp_path / f"{name}.pdf"}), logs, pdf_figure.read)
        assert [one.line for one in result.findings] == lines_of("plots")
        assert [flag.kind for flag in result.flags] == kinds
        assert all("accuracy_16.pdf" in flag.sentence for flag in result.flags)


def test_facts_are_json(tmp_path):
    import json

    two()
    plt.savefig(tmp_path / "a.pdf")
    result = plots.judge(Homework(files={"accuracy_4.pdf": tmp_path / "a.pdf"}), LOGS, pdf_figure.read)
    facts = json.loads(json.dumps(result.facts, allow_nan=False))
    assert facts["accuracy_4.pdf"]["curves"][0]["says"] == ["training", "accuracy"]
    assert facts["accuracy_1.pdf"] == {"verdict": "missing"}


def test_a_live_figure_is_judged_by_the_same_rules():
    two()
    assert all(one.verdict == "passed" for one in plots.check(pdf_figure.from_matplotlib(plt.gcf()), LOGS[P]))
    plt.figure()
    swapped()
    found = plots.check(pdf_figure.from_matplotlib(plt.gcf()), LOGS[P])
    assert [one.diagnosis for one in found] == ["", "swapped_curves", ""]


# -- scaling.pdf -------------------------------------------------------------------------------------------------------

RANKS = np.array(SIZES)
SPEEDUP = np.array([1, 1.9, 3.5, 6.1])


def scaling(path):
    plt.savefig(path)
    found = plots.judge(Homework(files={"scaling.pdf": path}), LOGS, pdf_figure.read).findings
    return {
        one.line.name: one.diagnosis for one in found if one.line.name.startswith("scaling") and one.verdict != "passed"
    }


def speedups(ranks=RANKS, y=SPEEDUP, ideal=True, labels=("ranks", "speedup"), name="measured"):
    plt.plot(ranks, y, "o-", label=name)
    if ideal:
        plt.plot(ranks, ranks, "--", label="ideal")
    plt.xlabel(labels[0])
    plt.ylabel(labels[1])
    plt.legend()


def test_scaling_figures(tmp_path):
    speedups()
    assert scaling(tmp_path / "a.pdf") == {}
    plt.figure()
    speedups()
    plt.xscale("log", base=2)
    plt.yscale("log", base=2)
    assert scaling(tmp_path / "a.pdf") == {}
    plt.figure()
    speedups(RANKS[:3], SPEEDUP[:3])
    assert scaling(tmp_path / "a.pdf") == {"scaling_pdf_curves": "missing_sizes"}
    plt.figure()
    speedups(y=RANKS, ideal=False)
    assert scaling(tmp_path / "a.pdf") == {"scaling_pdf_curves": "only_perfect"}
    plt.figure()
    speedups(labels=("", ""))
    assert scaling(tmp_path / "a.pdf") == {"scaling_pdf_labels": "axes_not_labelled"}
    plt.figure()
    speedups()
    plt.gca().get_legend().remove()
    assert scaling(tmp_path / "a.pdf") == {"scaling_pdf_labels": "no_legend"}
    plt.figure()
    two()
    assert scaling(tmp_path / "a.pdf") == {"scaling_pdf_curves": "wrong_quantity"}


def test_scaling_figures_of_bars_and_of_logarithms(tmp_path):
    plt.bar(RANKS, SPEEDUP, label="measured")
    plt.plot(RANKS, RANKS, "k--", label="ideal")
    plt.xlabel("ranks")
    plt.ylabel("speedup")
    plt.legend()
    assert scaling(tmp_path / "a.pdf") == {"scaling_pdf_curves": "shapes_unread"}
    plt.figure()
    plt.bar(RANKS, SPEEDUP, width=0.3, label="measured")
    plt.plot(RANKS, RANKS, "k--", label="ideal")
    plt.ylim(0, 100)  # bars no larger than marks
    plt.xlabel("ranks")
    plt.ylabel("speedup")
    plt.legend()
    assert scaling(tmp_path / "a.pdf") == {"scaling_pdf_curves": "shapes_unread"}
    plt.figure()
    speedups(np.log2(RANKS), np.log2(SPEEDUP), ideal=False, labels=("log2(ranks)", "log2(speedup)"))
    assert scaling(tmp_path / "a.pdf") == {}
    plt.figure()
    speedups()
    plt.plot(RANKS, 1 / (0.1 + 0.9 / RANKS), ":", label="Amdahl's law")
    assert scaling(tmp_path / "a.pdf") == {}


@pytest.mark.parametrize("look", [{"color": "white"}, {"alpha": 0.02}, {"lw": 0.01}])
def test_right_curves_that_nobody_sees_earn_nothing_by_themselves(look, tmp_path):
    """Made-up ones are drawn as areas, which are not read, and the right ones so that only a program finds them."""
    two()
    for line in plt.gca().lines:
        line.set(**look)
    plt.ylim(*plt.ylim())
    for made_up in (0.5 + 0.06 * X, 0.45 + 0.06 * X):
        plt.fill_between(X, made_up - 0.004, made_up + 0.004, lw=0)
    found = judged(tmp_path / "a.pdf")
    assert {one.verdict for one in found.values()} == {"needs_person"}
    assert {one.diagnosis for one in found.values()} == {"hidden"}


def test_a_stroke_through_all_values_is_no_curve():
    """A line drawn in steps has two levels at a place; one that goes up and down over all of them shows none."""
    at = np.full(40, 7.0)
    assert is_stroke(at, np.linspace(0, 200, 40), 7.0)
    assert not is_stroke(at, np.repeat([10.0, 90.0], 20), 7.0), "a step"
    assert not is_stroke(np.linspace(6.5, 7.5, 40), np.linspace(0, 10, 40), 7.0), "a smooth, steep line"
