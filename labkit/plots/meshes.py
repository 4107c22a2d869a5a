"""Figures of a mesh of ranks: its groups on their nodes, and a step on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from labkit import palette, timeline
from labkit.watch.events import Event

COLOURS = (*palette.CYCLE, palette.YELLOW, palette.GREY)


class StepRun(Protocol):
    """The outcome of a run, as far as the figures read it."""

    events: Sequence[Event]


def groups(axes: Mapping[str, Sequence[Sequence[int]]], per_node: int) -> None:
    """The ranks on their nodes, a row for each node, in a panel for each axis of the mesh; a colour is a group.

    axes: name of an axis -> its groups, at most as many as there are `COLOURS`. per_node: ranks of a node.
    """
    figure, panels = plt.subplots(1, len(axes), figsize=(9, 2.6), layout="constrained", squeeze=False)
    for ax, (name, found) in zip(panels.flat, axes.items(), strict=True):
        for number, group in enumerate(found):
            colour = palette.tint(COLOURS[number], 0.2)
            for rank in group:
                node, place = divmod(rank, per_node)
                ax.add_patch(plt.Rectangle((place, node), 0.9, 0.8, color=colour))
                ax.text(place + 0.45, node + 0.4, str(rank), ha="center", va="center")
        nodes = sum(map(len, found)) // per_node
        ax.set(xlim=(-0.1, per_node), ylim=(nodes, -0.2), xticks=[])
        ax.set_yticks([node + 0.4 for node in range(nodes)])
        ax.set_yticklabels([f"node {node}" for node in range(nodes)])
        ax.set_title(f"groups of {name}", loc="left", fontsize=10)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)


def step(run: StepRun, p: int, title: str) -> Figure:
    """The space-time diagram of a step on p ranks: what is computed and the all-reduces, without the messages."""
    events = [event for event in run.events if event.kind in ("compute", "all_reduce")]
    return timeline.draw(events, p, title=title)
