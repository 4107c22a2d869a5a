"""Figures of an estimate made on ranks: what it takes, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from labkit.plots import charts


def sums(sizes: Sequence[int], pickled: np.ndarray, buffered: np.ndarray, *, title: str = "") -> Axes:
    """The time of a sum over all ranks over the bytes of the array, both axes logarithmic: pickled and as a buffer, in
    seconds, a value for each size.
    """
    series = {
        "comm.allreduce, pickled": (sizes, pickled * 1e6, "orange s--"),
        "comm.Allreduce, buffers": (sizes, buffered * 1e6, "blue o-"),
    }
    words = {"xlabel": "size of the array (bytes)", "ylabel": "time (microseconds)", "title": title}
    return charts.lines(series, log="xy", size=(5.5, 3.4), **words)


def errors(darts: Sequence[int], of_experiments: np.ndarray, root_mean_square: np.ndarray, *, title: str = "") -> Axes:
    """The errors of estimates of pi over the number of darts, both axes logarithmic, their root mean square, and the
    standard error that theory says.

    darts: (sizes,). of_experiments: (sizes, experiments). root_mean_square: (sizes,).
    """
    experiments = of_experiments.shape[1]
    series = {
        "one experiment": (np.repeat(darts, experiments), of_experiments.ravel(), "grey ."),
        f"root mean square of {experiments}": (darts, root_mean_square, "blue o"),
        r"$1.64\,/\sqrt{n}$": (darts, 1.64 / np.sqrt(darts), "orange -"),
    }
    words = {"xlabel": "darts n", "ylabel": "error of the estimate", "title": title}
    return charts.lines(series, log="xy", size=(5.5, 3.6), markersize=4, ylim=(1e-5, 1), **words)


def scaling(published: tuple, here: tuple, cores: int, xticks: Sequence[int]) -> None:
    """Speedup and efficiency over the ranks, in two panels: published ones and those measured here, beside a perfect
    speedup and the best that the cores of this machine can do.

    published, here: (ranks, speedup, efficiency), arrays of one length. xticks: numbers of ranks, rising; the lines end
    at the last one.
    """
    best = np.arange(1, xticks[-1] + 1)
    on_cores = np.minimum(best, cores)
    speedups = {"perfect": (best, best, "grey :"), f"what {cores} cores can do": (best, on_cores, "ink -")}
    efficiencies = {name: (p, speedup / p, look) for name, (p, speedup, look) in speedups.items()}
    rows = {"published (ALCF)": (*published, "orange s--"), "here": (*here, "blue o-")}
    for name, (p, speedup, efficiency, look) in rows.items():
        speedups[name], efficiencies[name] = (p, speedup, look), (p, efficiency, look)
    panels = {"speedup": speedups, "efficiency": efficiencies}
    charts.side_by_side(panels, xlabel="ranks", xticks=xticks, ylim={"efficiency": (0, 1.25)})


def shapes(seconds: Mapping[tuple[int, int], float], cores: int, *, title: str = "") -> Axes:
    """A bar for each product of ranks and threads, orange where it is more than the cores. seconds: (ranks, threads) ->
    seconds.
    """
    return charts.bars(
        {f"{p} x {threads}": took for (p, threads), took in seconds.items()},
        upright=True,
        ends="{:.2f}",
        colours=["blue" if p * threads <= cores else "orange" for p, threads in seconds],
        xlabel="ranks x threads",
        ylabel="seconds",
        title=title,
    )
