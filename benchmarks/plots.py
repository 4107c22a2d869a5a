"""The accuracy with which `probes.figure.figure` reads figures back: hundreds of figures with known curves in random
styles, drawn, saved as PDF, read.

    python -m benchmarks.plots [--figures 240] [--seed 0] [--keep FOLDER] [--json FILE]

A figure is *read* if every curve comes back, named rightly where it was named, within 1e-4 of its axes' length (1e-3
where the path was simplified). It is read *roughly* where the reader says that it is uncertain and how much (no tick
marks), and is right within that; it is *left to a person* where the reader says so. Anything else is *silently wrong*,
and there must be none of these. plotly's figures need its exporter and a Chrome or Chromium; without, they are left out
and the table says so.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from probes.figure import figure as pdf_figure
from probes.figure.types import READABLE, Curve, Figure

EXACT, SIMPLIFIED = 1e-4, 1e-3
KINDS = (
    "plain",
    "styled",
    "panels",
    "errorbars",
    "log",
    "symlog",
    "long",
    "clipped",
    "markers",
    "numbers",
    "twin",
    "seaborn",
    "mixed",
    "plotly",
    "stems",
)
NAMES = [
    ("training", "validation"),
    ("train", "val"),
    ("Training", "Validierung"),
    ("entraînement", "validation"),
    ("acc", "val_acc"),
]


@dataclass
class Truth:
    """One curve as plotted. panel: index of its axes. bounds: of the axes (x0, x1, y0, y1). scales: of x and of y."""

    name: str
    x: np.ndarray
    y: np.ndarray
    panel: int
    bounds: tuple[float, float, float, float]
    scales: tuple[str, str] = ("linear", "linear")
    percent: bool = False


@dataclass
class PlotCase:
    """A figure: its kind, its file, its curves, and what else matters for the comparison."""

    kind: str
    seed: int
    path: Path
    truth: list[Truth]
    named: bool
    simplified: bool = False
    style: dict = field(default_factory=dict)


@dataclass
class PlotOutcome:
    """The outcome of a case. verdict: "read", "roughly", "person" or "wrong"."""

    case: PlotCase
    verdict: str
    error: float
    seconds: float
    said: str


# -- drawing -----------------------------------------------------------------------------------------------------------


def draw(kind: str, seed: int, folder: Path) -> PlotCase:
    """Draw one figure of a kind. Everything about it comes from the seed."""
    import matplotlib

    matplotlib.use("pdf")
    from matplotlib import pyplot as plt

    random = np.random.default_rng([seed, KINDS.index(kind)])
    path = folder / f"{kind}_{seed}.pdf"
    with warnings.catch_warnings(), plt.rc_context():
        warnings.simplefilter("ignore")
        logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
        if kind == "plotly":
            return _plotly(random, seed, path)
        style = _style(random, kind, plt)
        case = PlotCase(kind, seed, path, [], bool(random.random() < 0.8), kind == "long", style)
        _DRAWERS[kind](case, random, plt)
        plt.savefig(
            path, transparent=bool(random.random() < 0.15), bbox_inches="tight" if random.random() < 0.3 else None
        )
        plt.close("all")
    return case


def _style(random, kind: str, plt) -> dict:
    """A random style sheet, font type and sizes."""
    chosen = "default"
    if kind in ("styled", "panels", "errorbars", "markers", "log", "twin"):
        chosen = str(random.choice(sorted(s for s in plt.style.available if not s.startswith("_"))))
        plt.style.use(chosen)
    settings = {
        "pdf.fonttype": int(random.choice([3, 42])),
        "font.size": float(random.choice([8, 10, 12, 14])),
        "lines.linewidth": float(random.choice([0.8, 1.0, 1.5, 2.5])),
        "axes.grid": bool(random.random() < 0.4),
        "figure.figsize": (float(random.uniform(4, 9)), float(random.uniform(3, 6))),
        "pdf.compression": int(random.choice([0, 6])),
        "lines.markeredgewidth": 1.0,  # of 0 in some style sheets: then a cross is not drawn at all
    }
    if random.random() < 0.3:
        settings["xtick.direction"] = settings["ytick.direction"] = str(random.choice(["in", "inout"]))
    if random.random() < 0.3:
        settings["axes.spines.top"] = settings["axes.spines.right"] = False
    if random.random() < 0.3:
        settings["font.family"] = str(random.choice(["serif", "monospace", "sans-serif"]))
    if random.random() < 0.3:
        settings["xtick.minor.visible"] = settings["ytick.minor.visible"] = True
    plt.rcParams.update(settings)
    return {"style": chosen, **settings}


def _training(random, epochs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(epochs, training accuracy, validation accuracy) that look like a run's."""
    x = np.arange(epochs) + int(random.integers(0, 2))
    rise = 1 - np.exp(-(np.arange(epochs) + 1) / random.uniform(1, 0.5 + epochs / 2))
    top = random.uniform(0.85, 0.99)
    first = top * rise + random.normal(0, 0.004, epochs)
    second = (top - random.uniform(0.005, 0.05)) * rise + random.normal(0, 0.006, epochs)
    return x, np.clip(first, 0.01, 1), np.clip(second, 0.01, 1)


def _look(random, k: int) -> dict:
    return {
        "marker": str(random.choice(["", "o", "s", "^", "D", "v", "P", "X", "*", ".", "+", "x", "p", "h"])),
        "linestyle": ["-", "--", "-.", ":", (0, (5, 1, 1, 1))][(k + int(random.integers(0, 3))) % 5],
    }


def _finish(
    case: PlotCase, random, ax, curves: list[tuple[str, np.ndarray, np.ndarray]], panel: int = 0, percent: bool = False
) -> None:
    """Labels, limits and legend of one axes; its truth."""
    ax.set_xlabel(str(random.choice(["epoch", "Epoch", "Epoche", "époque", "steps"])))
    ax.set_ylabel(str(random.choice(["accuracy", "Genauigkeit", "Accuracy (%)", "précision"])))
    if random.random() < 0.7:
        ax.set_title(f"{2 ** int(random.integers(0, 4))} ranks")
    if case.named:
        ax.legend(
            loc=str(random.choice(["lower right", "upper left", "center right", "best"])),
            frameon=bool(random.random() < 0.7),
        )
    bounds = (*ax.get_xlim(), *ax.get_ylim())
    scales = (ax.get_xscale(), ax.get_yscale())
    case.truth += [Truth(name, x, y, panel, bounds, scales, percent) for name, x, y in curves]


def _two(case: PlotCase, random, ax, epochs: int | None = None, panel: int = 0, same_look: bool = False) -> None:
    x, first, second = _training(random, epochs or int(random.integers(3, 40)))
    names = NAMES[int(random.integers(0, len(NAMES)))]
    curves = []
    for k, (name, y) in enumerate(zip(names, (first, second), strict=True)):
        ax.plot(x, y, label=name, **({} if same_look else _look(random, k)))
        curves.append((name, x, y))
    _finish(case, random, ax, curves, panel)


def _plain(case, random, plt):
    _, ax = plt.subplots()
    _two(case, random, ax, same_look=True)


def _styled(case, random, plt):
    _, ax = plt.subplots()
    _two(case, random, ax)


def _panels(case, random, plt):
    rows, columns = [(1, 2), (2, 1), (2, 2), (1, 3)][int(random.integers(0, 4))]
    shared = bool(random.random() < 0.4)
    _, axes = plt.subplots(rows, columns, sharex=shared, sharey=shared, layout="constrained")
    epochs = int(random.integers(3, 20))
    axes = list(np.ravel(axes))
    for k, ax in enumerate(axes):
        _two(case, random, ax, epochs, k)
    for k, ax in enumerate(axes):  # shared limits are known only at the end
        for one in case.truth:
            if one.panel == k:
                one.bounds = (*ax.get_xlim(), *ax.get_ylim())


def _errorbars(case, random, plt):
    _, ax = plt.subplots()
    x, first, second = _training(random, int(random.integers(4, 15)))
    for k, (name, y) in enumerate((("training", first), ("validation", second))):
        look = _look(random, k)
        look["linestyle"] = "-" if random.random() < 0.7 else look["linestyle"]
        ax.errorbar(
            x, y, yerr=random.uniform(0.003, 0.02, len(x)), capsize=float(random.choice([0, 2, 4])), label=name, **look
        )
    if random.random() < 0.3:
        ax.fill_between(x, first - 0.02, first + 0.02, alpha=0.2)
    _finish(case, random, ax, [("training", x, first), ("validation", x, second)])


def _stems(case, random, plt):
    """Stem plots, side by side or over each other: the markers are the curve; the stems and what they stand on are
    none.
    """
    _, ax = plt.subplots()
    x, first, second = _training(random, int(random.integers(4, 15)))
    beside = float(random.choice([0.0, 0.1, 0.2]))
    bottom = float(random.choice([0.0, 0.3]))
    curves = [("training", x - beside, first), ("validation", x + beside, second)]
    for k, (name, at, y) in enumerate(curves):
        base = str(random.choice(["C3-", "k--", " "]))
        ax.stem(at, y, linefmt=f"C{k}-", markerfmt=f"C{k}{'os'[k]}", basefmt=base, bottom=bottom, label=name)
    _finish(case, random, ax, curves)


def _log(case, random, plt):
    _, ax = plt.subplots()
    p = 2.0 ** np.arange(int(random.integers(3, 8)))
    first = random.uniform(100, 5000) * p ** random.uniform(0.5, 1.0)
    second = random.uniform(50, 2000) * p ** random.uniform(0.3, 0.9)
    for k, (name, y) in enumerate((("measured", first), ("model", second))):
        ax.plot(p, y, label=name, **_look(random, k))
    scales = [("log", "log"), ("log", "linear"), ("linear", "log")][int(random.integers(0, 3))]
    ax.set(xscale=scales[0], yscale=scales[1])
    if scales[0] == "log" and random.random() < 0.6:
        ax.set_xscale("log", base=2)
        if random.random() < 0.7:
            ax.set_xticks(p, [f"{v:g}" for v in p])
            ax.minorticks_off()
    _finish(case, random, ax, [("measured", p, first), ("model", p, second)])


def _symlog(case, random, plt):
    _, ax = plt.subplots()
    x = np.arange(1, int(random.integers(8, 30)))
    threshold = float(random.choice([1, 2, 0.1, 0.01, 5]))
    reach = 10.0 ** random.uniform(2, 4)
    first = np.linspace(-reach * (random.random() < 0.5), reach, len(x)) * threshold
    second = threshold * np.geomspace(0.1, reach, len(x))
    for k, (name, y) in enumerate((("a", first), ("b", second))):
        ax.plot(x, y, label=name, **_look(random, k))
    ax.set_yscale("symlog", linthresh=threshold)
    _finish(case, random, ax, [("a", x, first), ("b", x, second)])


def _long(case, random, plt):
    _, ax = plt.subplots()
    count = int(10 ** random.uniform(2.3, 4.3))
    x = np.arange(count)
    walk = 0.5 + 0.4 * np.tanh(x / count * 3) + np.cumsum(random.normal(0, 0.2 / np.sqrt(count), count))
    smooth = np.convolve(np.pad(walk, 20, mode="edge"), np.ones(41) / 41, "valid")
    for k, (name, y) in enumerate((("training", walk), ("smooth", smooth))):
        ax.plot(x, y, label=name, linestyle=["-", "--"][k], linewidth=1)
    _finish(case, random, ax, [("training", x, walk), ("smooth", x, smooth)])


def _clipped(case, random, plt):
    _, ax = plt.subplots()
    x, first, second = _training(random, int(random.integers(5, 25)))
    for k, (name, y) in enumerate((("training", first), ("validation", second))):
        y = np.where(random.random(len(y)) < 0.1, np.nan, y) if random.random() < 0.3 else y
        ax.plot(x, y, label=name, **_look(random, k))
        first, second = (y, second) if k == 0 else (first, y)
    low = float(np.nanquantile(second, random.uniform(0.1, 0.5)))
    ax.set_ylim(low, 1.0 if random.random() < 0.5 else None)
    if random.random() < 0.3:
        ax.set_xlim(x[1] - 0.5, x[-1] + 0.5)
    _finish(case, random, ax, [("training", x, first), ("validation", x, second)])


def _markers(case, random, plt):
    _, ax = plt.subplots()
    x, first, second = _training(random, int(random.integers(5, 40)))
    for k, (name, y) in enumerate((("training", first), ("validation", second))):
        marker = str(random.choice(["o", "s", "D", "*", "p", "h", "X", "P", "x", "+", "^"]))
        if random.random() < 0.5:
            ax.scatter(x, y, label=name, marker=marker, s=float(random.uniform(10, 60)), color=f"C{k}")
        else:
            ax.plot(x, y, marker, label=name, color=f"C{k}", fillstyle="none" if random.random() < 0.2 else "full")
    _finish(case, random, ax, [("training", x, first), ("validation", x, second)])


def _numbers(case, random, plt):
    """Percent, decimal commas, thousands, multipliers, turned labels, ticks without marks, top and right axes, inverted
    axes.
    """
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    _, ax = plt.subplots()
    x, first, second = _training(random, int(random.integers(4, 30)))
    which, percent = int(random.integers(0, 9)), False
    factor = {1: 1e7, 2: 1e-6, 3: 4000.0}.get(which, 1.0)
    first, second = first * factor + (1e6 if which == 4 else 0), second * factor + (1e6 if which == 4 else 0)
    ax.plot(x, first, label="training")
    ax.plot(x, second, "--", label="validation")
    if which == 0:
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=None if random.random() < 0.5 else 1))
        percent = True
    if which == 3:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    if which == 5:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.3f}".replace(".", ",")))
    if which == 6:
        ax.tick_params(axis="x", labelrotation=float(random.choice([45, 90, 30])))
    if which == 7:
        ax.tick_params(length=0)
        ax.grid(bool(random.random() < 0.6))
    if which == 8:
        ax.xaxis.tick_top()
        ax.yaxis.tick_right()
    if random.random() < 0.15:
        ax.invert_yaxis()
    case.style["numbers"] = which
    _finish(case, random, ax, [("training", x, first), ("validation", x, second)], percent=percent)


def _twin(case, random, plt):
    _, ax = plt.subplots()
    x, first, _ = _training(random, int(random.integers(4, 20)))
    loss = 2.5 * np.exp(-x / 4) + random.uniform(0.01, 0.1, len(x))
    ax.plot(x, first, color="tab:blue", label="accuracy")
    other = ax.twinx()
    other.grid(False)
    other.plot(x, loss, color="tab:red", linestyle="--", label="loss")
    bounds = [(*a.get_xlim(), *a.get_ylim()) for a in (ax, other)]
    ax.set(xlabel="epoch", ylabel="accuracy")
    other.set_ylabel("loss")
    if case.named:
        ax.figure.legend(loc="upper center", ncols=2)
    case.truth = [Truth("accuracy", x, first, 0, bounds[0]), Truth("loss", x, loss, 0, bounds[1])]


def _mixed(case, random, plt):
    """Everything at once: scales, formats, insets, offsets, second axes, lines that are no data, texts in the way."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure, axes = plt.subplots(1, int(random.integers(1, 3)), layout=str(random.choice(["constrained", "tight"])))
    for k, ax in enumerate(np.ravel(axes)):
        x, first, second = _training(random, int(random.integers(2, 30)))
        factor, shift = 10.0 ** float(random.integers(-3, 6)), float(random.choice([0, 0, 0, -0.5, 3]))
        names = NAMES[int(random.integers(0, len(NAMES)))]
        curves = [(names[0], x, factor * (first + shift)), (names[1], x, factor * (second + shift))]
        for j, (name, across, up) in enumerate(curves):
            ax.plot(
                across,
                up,
                label=name,
                clip_on=bool(random.random() < 0.8),
                alpha=float(random.uniform(0.5, 1)),
                **_look(random, j),
            )
        if random.random() < 0.2 and min(v.min() for _, _, v in curves) > 0:
            ax.set_yscale("log")
        elif random.random() < 0.15:
            ax.set_yscale("symlog", linthresh=float(random.choice([0.1, 1, 10])))
        if random.random() < 0.2 and x[0] > 0:
            ax.set_xscale("log")
        if random.random() < 0.25 and ax.get_yscale() == "linear":
            places = int(random.integers(0, 4))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _, places=places: f"{v:.{places}f}"))
        if random.random() < 0.2 and ax.get_xscale() == "linear":
            ax.xaxis.set_major_locator(MaxNLocator(int(random.integers(1, 12)), integer=bool(random.random() < 0.5)))
        if random.random() < 0.2:
            ax.tick_params(axis="x", labelrotation=float(random.choice([-45, 20, 45, 60, 90])))
        if random.random() < 0.2:
            ax.tick_params(which="both", right=True, top=True, labelright=bool(random.random() < 0.5), direction="in")
        if random.random() < 0.2:
            ax.spines[["left", "bottom"]].set_position(("outward", float(random.choice([5, 12]))))
        if random.random() < 0.15:
            ax.tick_params(length=0)
        if random.random() < 0.2:
            ax.axvline(float(x[len(x) // 2]), color="0.5", linewidth=0.8)
            ax.axhline(float(curves[0][2][-1]), color="0.5", linestyle=":")
        if random.random() < 0.2:
            ax.annotate("5", (x[0], curves[0][2][-1]))
            ax.text(0.5, 0.5, "best: 0.97", transform=ax.transAxes)
        if random.random() < 0.1:
            ax.invert_xaxis()
        if random.random() < 0.15:
            ax.margins(x=0)
        _finish(case, random, ax, curves, k)
    if random.random() < 0.2:
        figure.suptitle("0.5")
    figure.canvas.draw()
    for one in case.truth:
        ax = np.ravel(axes)[one.panel]
        one.bounds = (*ax.get_xlim(), *ax.get_ylim())


def _seaborn(case, random, plt):
    import pandas
    import seaborn

    context, look = (
        str(random.choice(["paper", "notebook", "talk"])),
        str(random.choice(["darkgrid", "whitegrid", "dark", "white", "ticks"])),
    )
    seaborn.set_theme(context, look, rc={"figure.figsize": plt.rcParams["figure.figsize"]})
    plt.rcParams["pdf.fonttype"] = case.style["pdf.fonttype"]
    _, ax = plt.subplots()
    x, first, second = _training(random, int(random.integers(4, 30)))
    table = pandas.DataFrame(
        {
            "epoch": np.tile(x, 2),
            "accuracy": np.concatenate([first, second]),
            "data": ["training"] * len(x) + ["validation"] * len(x),
        }
    )
    style = "data" if random.random() < 0.5 else None
    case.named = True
    seaborn.lineplot(
        table, x="epoch", y="accuracy", hue="data", style=style, markers=bool(style) and random.random() < 0.5, ax=ax
    )
    if random.random() < 0.4:
        seaborn.despine(offset=float(random.choice([0, 10])))
    if random.random() < 0.3:
        ax.set_title("4 ranks")
    bounds = (*ax.get_xlim(), *ax.get_ylim())
    case.truth = [Truth(name, x, y, 0, bounds) for name, y in (("training", first), ("validation", second))]


_DRAWERS = {
    "plain": _plain, "styled": _styled, "panels": _panels, "errorbars": _errorbars, "log": _log, "symlog": _symlog,
    "long": _long, "clipped": _clipped, "markers": _markers, "numbers": _numbers, "twin": _twin, "seaborn": _seaborn,
    "mixed": _mixed, "stems": _stems,
}  # fmt: skip


def _plotly(random, seed: int, path: Path) -> PlotCase:
    import plotly.graph_objects as go

    template = str(
        random.choice(["plotly", "plotly_white", "plotly_dark", "ggplot2", "seaborn", "simple_white", "none"])
    )
    figure = go.Figure(
        layout={
            "template": template,
            "width": int(random.integers(500, 1000)),
            "height": int(random.integers(350, 700)),
        }
    )
    log = bool(random.random() < 0.3)
    x, first, second = _training(random, int(random.integers(4, 30)))
    if log:
        x, first, second = x + 1.0, 300 * first * (x + 1), 200 * second * (x + 1)
    for name, y in (("training", first), ("validation", second)):
        figure.add_scatter(
            x=x, y=y, name=name, mode=str(random.choice(["lines", "lines+markers", "markers"])), line_simplify=False
        )
    low, high = float(min(first.min(), second.min())), float(max(first.max(), second.max()))
    room = 0.05 * (high - low) if not log else 0
    bounds = (
        (float(x[0]) - 0.3, float(x[-1]) + 0.3, low - room, high + room)
        if not log
        else (float(x[0]), float(x[-1]), low, high)
    )
    span = [float(v) for v in (np.log10(bounds) if log else bounds)]
    kind = "log" if log else "linear"
    figure.update_xaxes(title="epoch", type=kind, range=span[:2])
    figure.update_yaxes(title="accuracy", type=kind, range=span[2:])
    truth = [Truth(name, x, y, 0, bounds, (kind, kind)) for name, y in (("training", first), ("validation", second))]
    path.with_suffix(".json").write_text(figure.to_json())
    return PlotCase("plotly", seed, path, truth, True, False, {"template": template, "log": log})


def export(cases: list[PlotCase]) -> str:
    """Save plotly's figures, all with one browser. Returns why that is impossible here, or ""."""
    waiting = [case for case in cases if case.kind == "plotly" and not case.path.exists()]
    if not waiting:
        return ""
    try:
        import plotly.io

        figures = [plotly.io.from_json(case.path.with_suffix(".json").read_text()) for case in waiting]
        plotly.io.write_images(figures, [str(case.path) for case in waiting])
    except Exception as error:  # no plotly, no browser, a browser that may not start here: all the same to us
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:100]}"
    return ""


# -- comparing ---------------------------------------------------------------------------------------------------------


def compare(case: PlotCase, figure: Figure) -> tuple[str, float, str]:
    """(verdict, largest error as a fraction of the axes, a remark)."""
    if figure.verdict != READABLE:
        return "person", 0.0, figure.reason
    found = [(k, curve, panel) for k, panel in enumerate(figure.panels) for curve in panel.curves]
    if len(found) != len(case.truth):
        return "wrong", np.inf, f"{len(found)} curves instead of {len(case.truth)}"
    worst, free, remark, verdict = 0.0, list(range(len(found))), "", "read"
    for truth in case.truth:
        errors = [(_error(truth, found[j][1], case.simplified), j) for j in free]
        error, j = min(errors)
        free.remove(j)
        _, curve, panel = found[j]
        axis = panel.right if panel.right is not None and curve.axis == "right" else panel.y
        allowed = max(SIMPLIFIED if case.simplified else EXACT, 2 * panel.x.uncertainty, 2 * axis.uncertainty)
        if error > allowed:
            return "wrong", error, f"{truth.name}: off by {error:.1e}, allowed {allowed:.0e}"
        if panel.x.uncertainty or axis.uncertainty:
            verdict = "roughly"
        else:
            worst = max(worst, error)
        if curve.name and curve.name != truth.name:
            return "wrong", error, f"{truth.name!r} is named {curve.name!r}"
        if case.named and not curve.name:
            remark = f"{truth.name!r} has no name"
    return verdict, worst, remark


def _error(truth: Truth, curve: Curve, simplified: bool) -> float:
    """The largest distance between what was plotted and what was read, as a fraction of the axes; infinite if points
    are missing.
    """
    x, y = curve.data()
    y = y / 100 if truth.percent else y
    tx, ty = truth.x.astype(float), truth.y.astype(float)
    keep = np.isfinite(ty)
    tx, ty = tx[keep], ty[keep]
    position = [_position(v, truth, k) for v, k in ((tx, 0), (ty, 1), (x, 0), (y, 1))]
    a, b, u, v = position
    if simplified:
        if len(u) < 2:
            return np.inf
        return max(_to_line(a, b, u, v), _to_line(u, v, a, b))
    if len(u) == len(a):
        return float(max(np.abs(u - a).max(), np.abs(v - b).max()))
    if curve.cut.any() or len(u) < len(a):  # the line leaves the page: those points are not in the file
        near = (
            np.array([np.hypot(u - p, v - q).min() for p, q in zip(a, b, strict=True)])
            if len(u)
            else np.full(len(a), np.inf)
        )
        outside = (b < -0.02) | (b > 1.02) | (a < -0.02) | (a > 1.02)
        alone = ~_has_neighbour(truth)[keep]
        needed = near[~outside & ~alone]
        return float(needed.max()) if len(needed) else np.inf
    return np.inf


def _to_line(x: np.ndarray, y: np.ndarray, line_x: np.ndarray, line_y: np.ndarray) -> float:
    """The largest distance from points to a line, which is that to its nearest piece."""
    begin, end = line_x[:-1], line_x[1:]
    dx, dy = np.diff(line_x), np.diff(line_y)
    length = np.maximum(dx * dx + dy * dy, 1e-30)
    worst = 0.0
    for px, py in zip(x, y, strict=True):
        near = np.flatnonzero((np.minimum(begin, end) < px + 0.01) & (np.maximum(begin, end) > px - 0.01))
        t = np.clip(((px - begin[near]) * dx[near] + (py - line_y[near]) * dy[near]) / length[near], 0, 1)
        worst = max(
            worst,
            float(np.hypot(px - begin[near] - t * dx[near], py - line_y[near] - t * dy[near]).min(initial=np.inf)),
        )
    return worst


def _has_neighbour(truth: Truth) -> np.ndarray:
    """True if the point before or behind is there: a single point between two gaps has no line."""
    finite = np.isfinite(truth.y.astype(float))
    return np.concatenate([[False], finite[:-1]]) | np.concatenate([finite[1:], [False]])


def _position(values: np.ndarray, truth: Truth, k: int) -> np.ndarray:
    """The place of a value on the axis, from 0 to 1."""
    from probes.figure.types import symlog

    low, high = truth.bounds[2 * k : 2 * k + 2]
    scale = truth.scales[k]
    if scale == "log":
        low, high, values = np.log10(low), np.log10(high), np.log10(np.maximum(values, 1e-300))
    elif scale == "symlog":
        reach = max(abs(low), abs(high))  # which threshold hardly matters for a relative error
        low, high, values = (symlog(np.array(v), reach / 1e3) for v in (low, high, values))
    return (values - low) / (high - low)


# -- the table ---------------------------------------------------------------------------------------------------------


def run(figures: int, seed: int, folder: Path) -> tuple[list[PlotOutcome], str]:
    """Draw and read that many figures, the kinds in turn. Returns the outcomes and why plotly's are missing, if they
    are.
    """
    cases = [draw(KINDS[k % len(KINDS)], seed + k // len(KINDS), folder) for k in range(figures)]
    missing = export(cases)
    outcomes = []
    for case in cases:
        if not case.path.exists():
            continue
        began = time.perf_counter()
        figure = pdf_figure.read(case.path)
        seconds = time.perf_counter() - began
        outcomes.append(PlotOutcome(case, *compare(case, figure)[:2], seconds, compare(case, figure)[2]))
    return outcomes, missing


def table(outcomes: list[PlotOutcome], missing: str) -> str:
    by_kind = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.case.kind].append(outcome)
    heads = ("figures", "read", "roughly", "person", "wrong", "error", "median s", "slowest")
    lines = [f"{'kind':<12}" + "".join(f"{head:>9}" for head in heads)]
    for kind, some in [*by_kind.items(), ("all", outcomes)]:
        count = {verdict: sum(o.verdict == verdict for o in some) for verdict in ("read", "roughly", "person", "wrong")}
        error = max((o.error for o in some if o.verdict == "read"), default=0.0)
        times = [o.seconds for o in some]
        lines.append(
            f"{kind:<12}{len(some):>9}{count['read']:>9}{count['roughly']:>9}"
            f"{count['person']:>9}{count['wrong']:>9}{error:>9.1e}"
            f"{np.median(times):>9.3f}{max(times):>9.3f}"
        )
    if missing:
        lines.append(f"plotly was left out: {missing}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=int, default=260)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where the PDFs stay")
    parser.add_argument("--json", type=Path, help="where the outcomes go")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        outcomes, missing = run(options.figures, options.seed, folder)
    print(table(outcomes, missing))
    for outcome in outcomes:
        if outcome.verdict in ("person", "wrong") or outcome.said:
            print(f"  {outcome.case.path.name:<20} {outcome.verdict:<7} {outcome.said}")
    if options.json:
        records = [
            {"file": o.case.path.name, "verdict": o.verdict, "error": float(min(o.error, 1e9)), "seconds": o.seconds}
            for o in outcomes
        ]
        options.json.write_text(json.dumps(records, indent=1))
    return int(any(o.verdict == "wrong" for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
