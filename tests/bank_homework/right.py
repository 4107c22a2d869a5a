"""Right folders: each in another style, all worth full marks."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt

from bank_homework import figures, runs
from bank_homework.figures import STYLES, Style
from bank_homework.folders import PERSON, SCRIPT, SIZES, add, draw, log_name, ported, script_text, table, write
from bank_homework.runs import Run

add("right_plain", "a GradientTape loop; matplotlib as it comes", write)
add("right_course", "the figures of labkit.plots", partial(write, style="course"))
add(
    "right_keras_fit",
    "Keras fit with callbacks; ggplot",
    partial(write, script="keras_fit.py", style="ggplot"),
    script="keras_fit.py",
)
add(
    "right_optimizer",
    "DistributedOptimizer in a loop of one's own; seaborn",
    partial(write, script="optimizer.py", style="seaborn"),
    script="optimizer.py",
)
add(
    "right_dataset_shard",
    "tf.data's shard; two panels in each figure",
    partial(write, script="dataset_shard.py", style="two panels"),
    script="dataset_shard.py",
)
add(
    "right_warmup",
    "warm-up over three epochs; a dark background",
    partial(write, script="warmup", style="dark", run=Run(1, warmup_epochs=3, seed=7)),
    script="warmup",
    bonus=True,
)
add("right_logarithmic", "logarithmic axes with powers of ten", partial(write, style="logarithmic"))
add("right_percent", "accuracies in percent, labelled so", partial(write, style="percent", percent=True))
add("right_percent_signs", "percent signs at the ticks; TrueType fonts; base 2", partial(write, style="percent signs"))
add(
    "right_decimal_commas",
    "decimal commas in the table and at the ticks",
    partial(write, style="decimal commas", comma=True),
)
add("right_legend_outside", "legends outside, error bars, the page cut to size", partial(write, style="legend outside"))
add("right_from_zero", "epochs counted from 0 in the figures", partial(write, style="from zero"))
add("right_core_fonts", "fonts that are not embedded; three panels", partial(write, style="core fonts"))
add("right_uncompressed", "an uncompressed PDF; both axes logarithmic", partial(write, style="uncompressed"))
add("right_plotly", "plotly", partial(write, style="plotly"))
add("right_sixteen_ranks", "16 ranks, too", partial(write, style="percent signs", sizes=(*SIZES, 16)))
add("right_two_cores", "two cores: no speedup beyond two ranks, said honestly", lambda place: two_cores(place))
add(
    "right_early_stopping",
    "runs that stopped after 5 to 8 epochs",
    lambda place: early_stopping(place),
    script="early_stopping",
)
add("right_other_names", "the files have other names and places", lambda place: other_names(place))
add(
    "right_other_columns",
    "a table with columns of one's own names and more of them",
    lambda place: other_columns(place),
)
add("right_extra_files", "a notebook, figures and a README beside what was asked for", lambda place: extra_files(place))
add(
    "right_old_metrics",
    "metrics_P.dat of five columns in place of run logs: nothing tells how fast it was",
    lambda place: old_metrics(place),
    expected=dict.fromkeys(("runs", "throughput", "speedup", "efficiency", "figure"), PERSON),
)

add(
    "right_bars",
    "bars with the ideal line: bars are not read, so a person looks",
    lambda place: redrawn_scaling(place, bars),
    expected={"figure": PERSON, "scaling_pdf_curves": PERSON},
)
add("right_stems", "stems, in scaling.pdf and side by side in an accuracy figure", lambda place: stems(place))
add("right_noisy", "very noisy runs, computed as they are", lambda place: noisy(place))

for script, bonus in (
    ("broadcast_first", False),
    ("allreduce_by_hand", False),
    ("warmup_always", True),
    ("warmup_by_epoch", True),
):
    says = f"the port: {script.replace('_', ' ')}"
    add(f"right_{script}", says, ported(script), script=script, like_base=True, bonus=bonus)


def two_cores(place: Path) -> None:
    """Four and eight ranks share two cores, so their steps take twice and four times as long."""
    (place / SCRIPT).write_text(script_text("loop.py"), encoding="utf-8")
    laptop = {"processor": "a laptop's", "cores": 2, "memory_bytes": 8_000_000_000, "gpus": []}
    for ranks in SIZES:
        run = Run(ranks, step_seconds=0.02 * max(1, ranks / 2), hardware=laptop)
        run.write(place / log_name(ranks), place / SCRIPT)
    draw(place, STYLES["course"])
    runs.write_table(place / "scaling.csv", table(place))


def early_stopping(place: Path) -> None:
    (place / SCRIPT).write_text(script_text("early_stopping"), encoding="utf-8")
    for ranks, epochs in zip(SIZES, (5, 6, 6, 8), strict=True):
        Run(ranks, epochs).write(place / log_name(ranks), place / SCRIPT)
    draw(place, STYLES["plain"])
    runs.write_table(place / "scaling.csv", table(place))


def other_names(place: Path) -> None:
    write(place)
    (place / "logs").mkdir()
    for ranks in SIZES:
        (place / log_name(ranks)).rename(place / "logs" / f"Run-{ranks}.JSONL")
        (place / f"accuracy_{ranks}.pdf").rename(place / f"Accuracy-{ranks}.PDF")
    (place / "scaling.pdf").rename(place / "Scaling.pdf")


def other_columns(place: Path) -> None:
    write(place, style="core fonts")
    found = table(place)
    rows = ["Number of GPUs;Throughput (images/s);Speed-up;Efficiency (%);comment"]
    for p, rate, speedup, efficiency in zip(found.ranks, found.rates, found.speedups, found.efficiencies, strict=True):
        rows.append(f"{p};{rate:.0f};{speedup:.2f};{100 * efficiency:.0f};measured")
    (place / "scaling.csv").write_text("\n".join(rows) + "\n", encoding="utf-8-sig")


def extra_files(place: Path) -> None:
    write(place)
    (place / "scaling_mnist.ipynb").write_text(
        json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    (place / "README.md").write_text("# My homework\n")
    (place / "tensorflow2_mnist.py").write_text("print('the sequential program')\n")
    (place / "accuracy_all.pdf").write_bytes((place / "accuracy_1.pdf").read_bytes())
    (place / "run_3.jsonl").write_bytes((place / "run_2.jsonl").read_bytes())


def old_metrics(place: Path) -> None:
    write(place)
    for ranks in SIZES:
        runs.write_old_table(place / log_name(ranks), place / f"metrics_{ranks}.dat")
        (place / log_name(ranks)).unlink()


def redrawn_scaling(place: Path, scaling, accuracy=None) -> None:
    """A right folder whose scaling.pdf (and accuracy_4.pdf) is drawn otherwise."""
    write(place)
    style = Style(accuracy or figures.plain, scaling)
    style.draw(table(place), place / "scaling.pdf")
    if accuracy:
        style.draw(runs.curves(place / log_name(4), 4), place / "accuracy_4.pdf")


def bars(t: figures.Table):
    figure, ax = plt.subplots()
    ax.bar(t.ranks, t.speedups, label="measured")
    ax.plot(t.ranks, t.ranks, "k--", label="ideal")
    ax.set(xlabel="ranks", ylabel="speedup", title="Scaling")
    ax.legend()
    return figure


def stems(place: Path) -> None:
    def scaling(t: figures.Table):
        figure, ax = plt.subplots()
        ax.stem(t.ranks, t.speedups, label="measured")
        ax.plot(t.ranks, t.ranks, "k--", label="ideal")
        ax.set(xlabel="ranks", ylabel="speedup", title="Scaling")
        ax.legend()
        return figure

    def accuracy(c: figures.Curves):
        figure, ax = plt.subplots()
        ax.stem(c.epochs - 0.1, c.training, linefmt="C0-", markerfmt="C0o", label="training")
        ax.stem(c.epochs + 0.1, c.validation, linefmt="C1-", markerfmt="C1s", label="validation")
        ax.set(xlabel="epoch", ylabel="accuracy", title=figures.titled(c.ranks))
        ax.legend(loc="lower right")
        return figure

    redrawn_scaling(place, scaling, accuracy)


def noisy(place: Path) -> None:
    """Two cores that others use as well: step times scatter by a factor of two and more."""
    (place / SCRIPT).write_text(script_text("loop.py"), encoding="utf-8")
    for ranks in SIZES:
        run = Run(ranks, epochs=4, step_seconds=0.02 * max(1, ranks / 2), noise=0.9)
        run.write(place / log_name(ranks), place / SCRIPT)
    draw(place, STYLES["plain"])
    runs.write_table(place / "scaling.csv", table(place))
