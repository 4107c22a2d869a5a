"""The space-time diagram of a program's communication: one lane per rank, time to the right.

Every operation is a block on the lane of its rank: hatched while the rank waits for its partners
(posted to started), solid while bytes move (started to ended). Messages are arrows from the send to
the recv, collectives are bands that join the lanes of their members, and an operation that never
finished runs to the right edge, torn off, with what it waits for written beside it. Computing is a
solid block with its label, in a row of its own above what is communicated meanwhile. Below the lanes
lie curves of memory where it was counted.

`labkit.diagram` turns events into simple shapes; `svg` (for cards, whose pages hold nothing but
text) and `draw` (for notebooks) render that same diagram as SVG text and as a matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from labkit.diagram.layout import common_scales as common_scales
from labkit.diagram.layout import layout
from labkit.diagram.places import Scales
from labkit.diagram.render import render_matplotlib, render_svg
from labkit.diagram.topology import layout_topology
from labkit.watch.events import Event

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Memory = Sequence[Sequence[tuple[float, float]] | None]  # steps (seconds, bytes) of every rank


def svg(
    events: Iterable[Event],
    world_size: int | None = None,
    *,
    title: str | None = None,
    memory: Memory | None = None,
) -> str:
    """The space-time diagram as one self-contained <svg> element, with title and description for
    screen readers.

    events: in any order. world_size: number of lanes (default: as many as the events name). memory:
    for each rank pairs (seconds, bytes from then on), or None. The same events give the same text.
    Raises ValueError where memory does not fit.
    """
    return render_svg(layout(events, world_size, title=title, memory=memory))


def draw(
    events: Iterable[Event],
    world_size: int | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
    memory: Memory | None = None,
    scales: Scales | None = None,
) -> Figure:
    """The space-time diagram of `svg` as a matplotlib figure; with `ax` it is drawn there and the
    figure of `ax` is returned. scales: those of several diagrams (`common_scales`)."""
    return render_matplotlib(
        layout(events, world_size, title=title, memory=memory, scales=scales), ax
    )


def describe(
    events: Iterable[Event], world_size: int | None = None, memory: Memory | None = None
) -> str:
    """The contents of the diagram, in sentences: the alternative text of the picture."""
    return layout(events, world_size, memory=memory).description


def draw_topology(
    nodes: Sequence[Sequence[int]], inside: str, between: str, ax: Axes | None = None
) -> Figure:
    """The ranks of a network by node, with a word for the links inside a node and one for those
    between nodes, as a matplotlib figure; `ax` as for `draw`.

    nodes: the ranks of each: one list for a single node, lists of one rank each for a flat network.
    inside, between: for example "inside: 1 µs, 300 GB/s". Raises ValueError where a node is empty or
    a rank stands in two.
    """
    return render_matplotlib(layout_topology(nodes, inside, between), ax)
