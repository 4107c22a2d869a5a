"""Figures as students draw them: each style is two functions, one for accuracy_P.pdf and one for scaling.pdf.

What they are given is what the logs say. What differs is the library, the fonts, the axes, the words, and where the
curves' names are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter


@dataclass(frozen=True)
class Curves:
    """What accuracy_P.pdf shows. epochs: 1, 2, ...; the others have a value for each of them."""

    ranks: int
    epochs: np.ndarray
    training: np.ndarray
    validation: np.ndarray
    training_loss: np.ndarray
    validation_loss: np.ndarray


@dataclass(frozen=True)
class Table:
    """What scaling.csv and scaling.pdf show, a value for each number of ranks. errors: half of the 95 % interval of
    each rate.
    """

    ranks: Sequence[int]
    rates: np.ndarray
    errors: np.ndarray
    speedups: np.ndarray = field(init=False)
    efficiencies: np.ndarray = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "speedups", self.rates / self.rates[0] * self.ranks[0])
        object.__setattr__(self, "efficiencies", self.speedups / np.array(self.ranks))


@dataclass(frozen=True)
class Style:
    """settings: of matplotlib. accuracy, scaling: draw and return the figure. save: how it becomes a PDF."""

    accuracy: Callable[[Curves], Figure]
    scaling: Callable[[Table], Figure]
    settings: dict = field(default_factory=dict)
    sheet: str = "default"
    save: dict = field(default_factory=dict)

    def draw(self, what: Curves | Table, path: Path) -> None:
        """Writes one PDF."""
        # no date in the file: the same figure is the same bytes
        with plt.style.context([self.sheet]), matplotlib.rc_context(self.settings):
            figure = self.accuracy(what) if isinstance(what, Curves) else self.scaling(what)
            figure.savefig(path, format="pdf", metadata={"CreationDate": None}, **self.save)
        plt.close(figure)


def titled(ranks: int) -> str:
    return f"MNIST on {ranks} rank" + ("" if ranks == 1 else "s")


# -- accuracy ----------------------------------------------------------------------------------------------------------


def plain(c: Curves) -> Figure:
    figure, ax = plt.subplots()
    ax.plot(c.epochs, c.training, label="training accuracy")
    ax.plot(c.epochs, c.validation, label="validation accuracy")
    ax.set_xlabel("epoch")
    ax.set_ylabel("accuracy")
    ax.set_title(titled(c.ranks))
    ax.legend()
    return figure


def of_the_course(c: Curves) -> Figure:
    from labkit import plots

    ax = plots.training({"training": (c.epochs, c.training), "validation": (c.epochs, c.validation)})
    ax.set_title(titled(c.ranks))
    return ax.figure


def markers_and_dashes(c: Curves) -> Figure:
    figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
    ax.plot(c.epochs, c.training, "o--", label="Train acc", markersize=7)
    ax.plot(c.epochs, c.validation, "s:", label="Val acc", markersize=5, linewidth=2)
    ax.set(xlabel="Epoch", ylabel="Accuracy", title=f"Accuracy, {c.ranks} GPU(s)")
    ax.grid(True, which="both")
    ax.legend(loc="lower right")
    return figure


def with_seaborn(c: Curves) -> Figure:
    import pandas
    import seaborn

    rows = [
        {"epoch": int(e), "accuracy": a, "data": name}
        for name, values in (("training", c.training), ("validation", c.validation))
        for e, a in zip(c.epochs, values, strict=True)
    ]
    with seaborn.axes_style("darkgrid"):
        figure, ax = plt.subplots(figsize=(6, 4))
        seaborn.lineplot(pandas.DataFrame(rows), x="epoch", y="accuracy", hue="data", style="data", markers=True, ax=ax)
        ax.set_title(titled(c.ranks))
    return figure


def two_panels(c: Curves) -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot(c.epochs, c.training_loss, color="tab:red", label="training")
    left.plot(c.epochs, c.validation_loss, color="tab:purple", label="validation")
    left.set(xlabel="epoch", ylabel="loss")
    left.legend()
    right.plot(c.epochs, c.training, color="tab:red", label="training")
    right.plot(c.epochs, c.validation, color="tab:purple", label="validation")
    right.set(xlabel="epoch", ylabel="accuracy")
    right.legend()
    figure.suptitle(titled(c.ranks))
    figure.tight_layout()
    return figure


def in_percent(c: Curves) -> Figure:
    figure, ax = plt.subplots()
    ax.plot(c.epochs, 100 * c.training, "-o", label="training")
    ax.plot(c.epochs, 100 * c.validation, "-o", label="validation")
    ax.set(xlabel="epoch", ylabel="accuracy [%]", title=titled(c.ranks))
    ax.legend()
    return figure


def percent_signs(c: Curves) -> Figure:
    figure = plain(c)
    figure.axes[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    return figure


def decimal_commas(c: Curves) -> Figure:
    figure, ax = plt.subplots(figsize=(6, 4))
    ax.plot(c.epochs, c.training, "^-", label="Training (train)")
    ax.plot(c.epochs, c.validation, "v-", label="Validierung (validation)")
    ax.set(xlabel="Epoche (epoch)", ylabel="Genauigkeit (accuracy)", title=f"{c.ranks} Ranks")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.3f}".replace(".", ",")))
    ax.legend()
    return figure


def legend_outside(c: Curves) -> Figure:
    figure, ax = plt.subplots(figsize=(7, 4))
    ax.plot(c.epochs, c.validation, label="validation", color="black", dashes=(4, 2))  # the validation curve first
    ax.plot(c.epochs, c.training, label="training", color="0.5", linewidth=3, zorder=0.5)
    ax.set_xlabel("Epochs", fontweight="bold")
    ax.set_ylabel("Accuracy", fontweight="bold")
    ax.set_xticks(c.epochs)
    ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1), title=titled(c.ranks))
    figure.suptitle(titled(c.ranks))
    figure.tight_layout()
    return figure


def from_zero(c: Curves) -> Figure:
    """As `plt.plot(history["accuracy"])` draws it: epochs counted from 0."""
    figure, ax = plt.subplots()
    ax.plot(c.training)
    ax.plot(c.validation)
    ax.set(title=f"model accuracy ({c.ranks} ranks)", ylabel="accuracy", xlabel="epoch")
    ax.legend(["train", "val"], loc="upper left")
    return figure


def logarithmic(c: Curves) -> Figure:
    figure, ax = plt.subplots()
    ax.semilogx(c.epochs, c.training, "o-", label="training")
    ax.semilogx(c.epochs, c.validation, "x-", label="validation")
    ax.set(xlabel="epoch", ylabel="accuracy", title=titled(c.ranks), xlim=(0.8, 20))
    ax.legend()
    return figure


# -- scaling -----------------------------------------------------------------------------------------------------------


def scaling_plain(t: Table) -> Figure:
    figure, ax = plt.subplots()
    ax.plot(t.ranks, t.rates, "o-", label="measured")
    ax.plot(t.ranks, t.rates[0] * np.array(t.ranks), "C1--", label="ideal")
    ax.set(xlabel="number of ranks", ylabel="images per second", title="Scaling of MNIST training")
    ax.legend()
    return figure


def scaling_of_the_course(t: Table) -> Figure:
    from labkit import plots

    ax = plots.speedup({"measured": (t.ranks, t.speedups)})
    ax.set_title("Scaling of MNIST training")
    return ax.figure


def scaling_with_errors(t: Table) -> Figure:
    figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
    ax.errorbar(t.ranks, t.rates, t.errors, fmt="s-", capsize=4, label="measured")
    ax.plot(t.ranks, t.rates[0] * np.array(t.ranks), ":", label="linear")
    ax.set(xlabel="GPUs", ylabel="Throughput (images/s)", title="Throughput")
    ax.legend(loc="upper left")
    return figure


def scaling_log_log(t: Table) -> Figure:
    figure, ax = plt.subplots()
    ax.loglog(t.ranks, t.speedups, "o-", label="speedup")
    ax.loglog(t.ranks, t.ranks, "--", color="0.4", label="ideal")
    ax.set(xlabel="ranks", ylabel="speedup", title="Strong scaling", xlim=(0.8, 20), ylim=(0.8, 20))
    ax.legend()
    return figure


def scaling_base_two(t: Table) -> Figure:
    figure, ax = plt.subplots()
    ax.plot(t.ranks, t.speedups, "D-", label="speedup")
    ax.plot(t.ranks, t.ranks, "-.", label="perfect speedup")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xticks(t.ranks, [str(p) for p in t.ranks])
    ax.set_yticks(t.ranks, [str(p) for p in t.ranks])
    ax.set(xlabel="ranks", ylabel="speedup", title="Speedup")
    ax.legend()
    return figure


def scaling_three_panels(t: Table) -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(13, 4))
    for ax, values, ideal, name in (
        (axes[0], t.rates, t.rates[0] * np.array(t.ranks), "images per second"),
        (axes[1], t.speedups, np.array(t.ranks), "speedup"),
        (axes[2], t.efficiencies, np.ones(len(t.ranks)), "efficiency"),
    ):
        ax.plot(t.ranks, values, "o-", label="measured")
        ax.plot(t.ranks, ideal, "--", label="ideal")
        ax.set(xlabel="ranks", ylabel=name)
        ax.legend()
    figure.suptitle("Scaling of MNIST training")
    figure.tight_layout()
    return figure


def scaling_efficiency_percent(t: Table) -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left.plot(t.ranks, t.speedups, "o-", label="measured")
    left.plot(t.ranks, t.ranks, "--", label="ideal")
    left.set(xlabel="ranks", ylabel="speedup")
    left.legend()
    right.plot(t.ranks, 100 * t.efficiencies, "o-", label="measured")
    right.axhline(100, color="0.5", linestyle="--", label="ideal")
    right.set(xlabel="ranks", ylabel="efficiency [%]", ylim=(0, 110))
    right.legend()
    figure.suptitle("Speedup and efficiency")
    return figure


def scaling_with_seaborn(t: Table) -> Figure:
    import pandas
    import seaborn

    rows = pandas.DataFrame({"ranks": list(t.ranks), "images per second": t.rates})
    with seaborn.axes_style("whitegrid"):
        figure, ax = plt.subplots(figsize=(6, 4))
        seaborn.lineplot(rows, x="ranks", y="images per second", marker="o", label="measured", ax=ax)
        ax.set_title("Throughput over ranks")
    return figure


def scaling_decimal_commas(t: Table) -> Figure:
    figure, ax = plt.subplots()
    ax.plot(t.ranks, t.speedups, "o-", label="gemessen (measured)")
    ax.plot(t.ranks, t.ranks, "--", label="ideal")
    ax.set(xlabel="Ranks", ylabel="Speedup", title="Skalierung (scaling)")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.1f}".replace(".", ",")))
    ax.legend()
    return figure


# -- plotly ------------------------------------------------------------------------------------------------------------


class WithPlotly(Style):
    """plotly's own exporter, which draws with a browser."""

    def draw(self, what: Curves | Table, path: Path) -> None:
        import plotly.graph_objects as go

        figure = go.Figure()
        if isinstance(what, Curves):
            figure.add_scatter(x=what.epochs, y=what.training, name="training", mode="lines+markers")
            figure.add_scatter(x=what.epochs, y=what.validation, name="validation", mode="lines+markers")
            figure.update_layout(title=titled(what.ranks), xaxis_title="epoch", yaxis_title="accuracy")
        else:
            figure.add_scatter(x=list(what.ranks), y=what.rates, name="measured", mode="lines+markers")
            figure.add_scatter(
                x=list(what.ranks), y=what.rates[0] * np.array(what.ranks), name="ideal", line_dash="dash"
            )
            figure.update_layout(title="Scaling", xaxis_title="ranks", yaxis_title="images per second")
        figure.write_image(path, format="pdf")


# -- by name -----------------------------------------------------------------------------------------------------------

STYLES: dict[str, Style] = {
    "plain": Style(plain, scaling_plain),
    "course": Style(of_the_course, scaling_of_the_course),
    "ggplot": Style(markers_and_dashes, scaling_with_errors, sheet="ggplot"),
    "seaborn": Style(with_seaborn, scaling_with_seaborn),
    "two panels": Style(two_panels, scaling_three_panels),
    "percent": Style(in_percent, scaling_efficiency_percent),
    "percent signs": Style(percent_signs, scaling_base_two, {"pdf.fonttype": 42}),
    "decimal commas": Style(decimal_commas, scaling_decimal_commas, {"pdf.fonttype": 42}),
    "dark": Style(markers_and_dashes, scaling_plain, sheet="dark_background"),
    "legend outside": Style(legend_outside, scaling_with_errors, sheet="bmh", save={"bbox_inches": "tight"}),
    "from zero": Style(from_zero, scaling_base_two, sheet="fivethirtyeight"),
    "logarithmic": Style(logarithmic, scaling_log_log),
    "core fonts": Style(plain, scaling_three_panels, {"pdf.use14corefonts": True}),
    "uncompressed": Style(markers_and_dashes, scaling_log_log, {"pdf.compression": 0, "axes.grid": True}),
    "plotly": WithPlotly(plain, scaling_plain),
}
