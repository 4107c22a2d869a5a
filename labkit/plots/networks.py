"""Figures of the load of a network's links."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from labkit import palette, plots

COLUMN, ROW = 1.5, 1.8  # distances between ranks of a node, and between nodes


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
