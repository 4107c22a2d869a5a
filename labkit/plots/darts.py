"""Darts on the square around a circle of radius 1/2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from labkit.palette import INK
from labkit.plots.charts import look


def darts(
    thrown: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    looks: Sequence[str],
    *,
    quarter: bool = False,
    sizes: Sequence[float] = (3,),
    title: str = "",
) -> Axes:
    """Darts and the circle around (0, 0) with radius 1/2. thrown: name -> (x, y), each between -1/2 and 1/2.

    looks, sizes: one for each name, as in `labkit.plots.charts`, over and over; markers are hollow where several sizes
    are given. quarter: only the upper right quarter, with a legend beside it.
    """
    _, ax = plt.subplots(figsize=(5.2, 3.8), layout="constrained")
    for k, (name, (x, y)) in enumerate(thrown.items()):
        how = look(looks[k % len(looks)])
        face = "none" if len(sizes) > 1 else how["color"]
        ax.plot(x, y, **how, markerfacecolor=face, markersize=sizes[k % len(sizes)], label=name)
    ax.add_patch(plt.Circle((0, 0), 0.5, fill=False, color=INK))
    low, ticks = (-0.02, [0, 0.25, 0.5]) if quarter else (-0.52, [-0.5, 0, 0.5])
    ax.set(aspect="equal", xlim=(low, 0.52), ylim=(low, 0.52), xticks=ticks, yticks=ticks, xlabel="x", ylabel="y")
    ax.set_title(title, fontsize=10)
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5), markerscale=1 if quarter else 2)
    return ax
