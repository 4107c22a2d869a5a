"""The panels of a figure: frames with their axes. Part of `probes.figure.figure`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probes.figure.calibration import EXACT, Fit, calibrate, distinct
from probes.figure.page import FigurePage
from probes.figure.sides import Side, frames, same, segment, sides
from probes.figure.types import Axis, Panel


@dataclass
class DrawnPanel:
    """A panel with what its axes were read from."""

    panel: Panel
    sides: dict[str, Side]
    fits: dict[str, list[Fit]]


def panels(page: FigurePage, index: int) -> list[DrawnPanel]:
    """The panels of a page: frames with tick labels on at least one side, or with curves. Twin panels are one panel
    with two y axes."""
    found = frames(page)
    result: list[DrawnPanel] = []
    for frame, of_frame in zip(found, sides(page, found), strict=True):
        if any(same(frame, other.panel.frame, 3.0) for other in result):
            continue
        labelled = {name: len(side.labels) for name, side in of_frame.items()}
        if max(labelled.values()) < 2 and not (of_frame["bottom"].marks and of_frame["left"].marks):
            if not any(
                path.clip and same(path.clip, frame) and not segment(path) and path.stroke and not path.fill
                for path in page.paths
            ):
                continue
        fits: dict[str, list[Fit]] = {}
        axes: dict[str, Axis] = {}
        for name in ("bottom", "top", "left", "right"):
            axes[name], fits[name] = calibrate(of_frame[name])
        level = "bottom" if fits["bottom"] or not fits["top"] else "top"
        upright = "left" if fits["left"] or not fits["right"] else "right"
        panel = Panel(index, frame, axes[level], axes[upright])
        if upright == "left" and labelled["right"] >= 2:
            panel.right = axes["right"]
        result.append(DrawnPanel(panel, of_frame, fits))
    result = [one for one in result if not _holds_panel(one, result)]
    for one in result:
        _share(one, result, "x")
        _share(one, result, "y")
    return result


def _holds_panel(one: DrawnPanel, others: list[DrawnPanel]) -> bool:
    """True if it is only a rectangle around panels, or around a part of one."""
    left, bottom, right, top = one.panel.frame
    read = bool(one.panel.x.scale) + bool(one.panel.y.scale)
    for other in others:
        a, b, c, d = other.panel.frame
        if other is one:
            continue
        overlap = max(0.0, min(right, c) - max(left, a)) * max(0.0, min(top, d) - max(bottom, b))
        smaller = min((right - left) * (top - bottom), (c - a) * (d - b))
        better = bool(other.panel.x.scale) + bool(other.panel.y.scale)
        if overlap > 0.8 * smaller and better > read:
            return True
    return False


def _share(one: DrawnPanel, others: list[DrawnPanel], which: str) -> None:
    """Panels below or beside each other that share an axis have labels at one of them only; their ticks stand at the
    same places."""
    axis: Axis = getattr(one.panel, which)
    if axis.scale or axis.ticks:
        return
    side = one.sides["bottom" if which == "x" else "left"]
    mine = distinct(side.marks) or distinct(side.grid)
    low, high = side.span
    for other in others:
        theirs: Axis = getattr(other.panel, which)
        if other is one or not theirs.scale:
            continue
        their_side = other.sides[theirs.side]
        a, b = their_side.span
        places = distinct(their_side.marks) or distinct(their_side.grid)
        if abs(a - low) > 0.1 or abs(b - high) > 0.1 or len(mine) < 2 or len(mine) != len(places):
            continue
        if np.allclose(mine, places, atol=EXACT):
            shared = Axis(
                axis.side, "", theirs.scale, theirs.offset, theirs.slope, theirs.threshold, theirs.linear_scale
            )
            shared.ticks, shared.uncertainty, shared.percent = list(theirs.ticks), theirs.uncertainty, theirs.percent
            setattr(one.panel, which, shared)
            one.fits[shared.side] = other.fits[theirs.side]
            return
