"""The space-time diagram of a program's communication: one lane per rank, time to the right.

Every operation is a block on the lane of its rank: hatched while the rank waits for its partners
(posted to started), solid while bytes move (started to ended). Messages are arrows from the send to
the recv, collectives are bands that join the lanes of their members, and an operation that never
finished runs to the right edge, torn off, with what it waits for written beside it.

`labkit.diagram` turns events into simple shapes; `svg` (for cards, whose pages hold nothing but
text) and `draw` (for notebooks) render that same diagram as SVG text and as a matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from labkit.diagram.layout import layout
from labkit.diagram.render import render_matplotlib, render_svg
from labkit.watch.events import Event

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def svg(events: Iterable[Event], world_size: int | None = None, *, title: str | None = None) -> str:
    """The space-time diagram as one self-contained <svg> element, with title and description for
    screen readers.

    events: in any order. world_size: number of lanes (default: as many as the events name). The
    same events give the same text.
    """
    return render_svg(layout(events, world_size, title=title))


def draw(
    events: Iterable[Event],
    world_size: int | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """The space-time diagram as a matplotlib figure; with `ax` it is drawn there and the figure of
    `ax` is returned."""
    return render_matplotlib(layout(events, world_size, title=title), ax)


def describe(events: Iterable[Event], world_size: int | None = None) -> str:
    """What the diagram shows, in sentences: the alternative text of the picture."""
    return layout(events, world_size).description
