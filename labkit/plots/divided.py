"""Figures of a model divided over ranks: what a divided convolution sends, where a step's time goes, two trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes

from labkit.plots import charts
from labkit.watch.events import Event

CUTS = {"C_out": ("blue", "s"), "C_in": ("red", "o"), "H": ("green", "^")}


class Rank(Protocol):
    """A rank, as far as the figures read it."""

    busy: float
    collectives: Sequence[str]


class TimedRun(Protocol):
    """The outcome of `labkit.simulation.run`, as far as the figures read it."""

    elapsed: float
    ranks: Sequence[Rank]
    events: Sequence[Event]


def convolutions(
    sides: Sequence[int], costs: Mapping[str, Sequence[float]], sent: Mapping[str, Sequence[float]]
) -> Axes:
    """Bytes over the side of the image, both axes logarithmic: for each cut a line for what it must cost, and points
    for what was sent.

    costs, sent: name of the cut, "C_out", "C_in" or "H" -> bytes for each side; `sent` may leave cuts out.
    """
    curves = {}
    for how, (colour, marker) in CUTS.items():
        curves[how] = sides, costs[how], f"{colour} -"
        if how in sent:
            curves[f"_{how}"] = sides, sent[how], f"{colour} {marker}"
    return charts.lines(
        curves,
        log="xy",
        legend="ends",
        xlabel="height and width of the image, pixels",
        ylabel="bytes on all links",
        title="One convolution on 4 ranks: 8 channels in and out",
        xticks=sides,
    )


def steps(runs: Mapping[tuple[int, ...], TimedRun]) -> Axes:
    """A bar for the virtual time of each step, made of computing and waiting, with its milliseconds behind it.

    runs: (ranks, ranks of a node, and network cards of a node if there are more than one) -> the run.
    """
    rows = {}
    for (p, per_node, *cards), run in runs.items():
        where = "two nodes of 4" if per_node < p else "one node"
        where += f", {cards[0]} cards" if cards else ""
        total, busy = 1e3 * run.elapsed, 1e3 * run.ranks[0].busy
        rows[f"{p} rank{'s' * (p > 1)}, {where}"] = {"computing": busy, "waiting for sums": total - busy}
    totals = [sum(row.values()) for row in rows.values()]
    return charts.parts(
        rows,
        ends=[f"{total:.1f} ms" for total in totals],
        xlabel="virtual time of a step of two blocks, forward and back, ms",
        xlim=(0, 1.15 * max(totals)),
    )


def diagrams(runs: Mapping[str, TimedRun | None]) -> None:
    """The space-time diagrams of runs of 4 ranks, one below the other on one scale of time; above each the number of
    its all_reduces and its milliseconds. runs: name -> the run, or None where there is none.
    """
    titled = {}
    for name, run in runs.items():
        if run is not None:
            sums = list(run.ranks[0].collectives).count("all_reduce")
            titled[f"{name}: {sums} all_reduces, {run.elapsed * 1e3:.2f} ms"] = run
    charts.diagrams(titled, 4)


def trainings(losses: Mapping[str, Sequence[float]]) -> Axes:
    """The losses of two trainings over their steps, each the mean of 10. losses: name -> the loss of each step."""
    curves = {}
    for (name, values), look in zip(losses.items(), ("blue -", "red --"), strict=True):
        smooth = np.convolve(values, np.ones(10) / 10, "valid")
        curves[name] = range(len(smooth)), smooth, look
    return charts.lines(
        curves,
        size=(6.5, 3.6),
        xlabel="step",
        ylabel="loss, mean of 10 steps",
        title="The same text, the same start, two places for the sum",
    )
