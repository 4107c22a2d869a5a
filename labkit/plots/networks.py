"""Figures of a network: the load of its links, and how long an all-reduce takes on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from labkit import palette, plots
from labkit.plots import charts

COLUMN, ROW = 1.5, 1.8  # distances between ranks of a node, and between nodes
LOOKS = {"ring": "blue -", "doubling": "red :", "halving_doubling": "green --", "hierarchical": "purple -."}


def links(
    loads: Mapping[tuple[int, int], float],
    p: int,
    per_node: int,
    ax: Axes | None = None,
    *,
    size: tuple[float, float] = (5.5, 3.4),
    title: str = "",
) -> Axes:
    """The p ranks of a network, a row of `per_node` for each node, and an arrow for each link that was used: the
    more bytes, the thicker; solid inside a node, dashed between nodes. The title ends with the bytes between the nodes.

    loads: bytes from rank to rank, (from, to) -> bytes. Raises ValueError for a rank that is not there.
    """
    if strangers := {rank for link in loads for rank in link if not 0 <= rank < p}:
        raise ValueError(f"ranks {sorted(strangers)} are not among the {p} of this network")
    ax = plots.canvas(ax, size)
    at = {r: (r % per_node * COLUMN, -(r // per_node) * ROW) for r in range(p)}
    nodes = -(-p // per_node)
    for node in range(nodes):
        box = Rectangle((-0.6, -node * ROW - 0.6), per_node * COLUMN - 0.3, 1.2)
        box.set(facecolor="#F4F4F4", edgecolor=palette.FAINT)
        ax.add_patch(box)
    largest, between = max(loads.values(), default=1.0), 0.0
    for (a, b), nbytes in loads.items():
        crosses = a // per_node != b // per_node
        between += nbytes if crosses else 0
        ax.annotate("", at[b], at[a], arrowprops=_arrow(crosses, nbytes / largest))
    for r, (x, y) in at.items():
        ax.plot(x, y, "o", ms=19, mfc="white", mec=palette.INK, mew=1, zorder=4)
        ax.text(x, y, r, ha="center", va="center", fontsize=10, zorder=5)
    ax.set_title(f"{title}\n{between / 1e3:.0f} kB between the nodes", fontsize=10)
    ax.set(xlim=(-0.9, per_node * COLUMN - 0.6), ylim=(1.0 - nodes * ROW, 0.75))
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def beside(
    panels: Mapping[str, Mapping[tuple[int, int], float]],
    p: int,
    per_node: int,
    *,
    size: tuple[float, float] = (11, 3.4),
) -> None:
    """`links` in several panels beside each other. panels: title -> loads, as `links` takes them."""
    _, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained")
    for ax, (title, loads) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        links(loads, p, per_node, ax, title=title)


def modelled(seconds: Callable[[str, float, int, int], float], shapes: Sequence[tuple[int, int]]) -> None:
    """The time of four all-reduces over the bytes of the vector, 100 B to 1 GB, both axes logarithmic: a panel for each
    shape of the machine.

    seconds: function, seconds(algorithm, nbytes, nodes, per_node), for the algorithms in `LOOKS`. shapes: (nodes, ranks
    on each).
    """
    sizes = np.logspace(2, 9, 60)
    _, axes = plt.subplots(1, len(shapes), figsize=(5.5 * len(shapes), 3.8), layout="constrained", sharey=True)
    for ax, (count, per_node) in zip(np.atleast_1d(axes), shapes, strict=True):
        curves = {
            name: (sizes, [seconds(name, size, count, per_node) for size in sizes], look)
            for name, look in LOOKS.items()
        }
        charts.lines(curves, ax, log="xy", xlabel="bytes", title=f"{count} nodes of {per_node}")
    np.atleast_1d(axes)[0].set_ylabel("seconds (model)")


def _arrow(crosses: bool, share: float) -> dict:
    """The arrow of a link, bent so that the way back lies beside it. share: of the bytes of the busiest link."""
    return {
        "arrowstyle": "-|>",
        "color": palette.VERMILLION if crosses else palette.BLUE,
        "linestyle": (0, (4, 1.5)) if crosses else "-",
        "lw": 0.6 + 3 * share,
        "shrinkA": 11,
        "shrinkB": 11,
        "connectionstyle": "arc3,rad=0.22",
    }
