"""The shapes of a diagram: polygons, lines and labels, in pixels."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.palette import ALL_REDUCE, BACKWARD, DEEP, FORWARD, INK, ORANGE, SKY, WEIGHT_GRADIENTS

WIDTH = 720  # of the whole diagram; all lengths are in pixels of the SVG
LEFT = 66  # room for "rank 12"
RIGHT = 18
RIGHT_WHEN_STUCK = 158  # room for "waits for rank 12"
RIGHT_WITH_MEMORY = 104  # room for "peak 65.5 kB"
TEXT = 14  # readable when the diagram is shown at half its width
SMALL = 12
COLOURS = {"send": SKY, "recv": ORANGE}
COLLECTIVE = ALL_REDUCE
COMPUTING = WEIGHT_GRADIENTS
PARTS = {"F": FORWARD, "B": BACKWARD, "W": WEIGHT_GRADIENTS}  # forward, backward, gradients of the weights alone
STUCK = DEEP


def colour_of(kind: str, label: str = "") -> str:
    """The colour of an operation; of computing that of its part (the first letter of its label), if it has one."""
    if kind == "compute":
        return PARTS.get(label[:1], COMPUTING)
    return COLOURS.get(kind, COLLECTIVE)


@dataclass(frozen=True)
class Polygon:
    """A closed shape. points: (x, y) in pixels, y downwards. role: what it stands for ("moving", "waiting", "band",
    ...)."""

    role: str
    points: tuple[tuple[float, float], ...]
    fill: str
    stroke: str = ""
    hatch: str = ""  # colour of diagonal lines over the fill
    width: float = 0.8
    opacity: float = 1.0


@dataclass(frozen=True)
class Line:
    """A straight line from (x1, y1) to (x2, y2); arrow: with a head at its end."""

    role: str
    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = INK
    width: float = 1.0
    arrow: bool = False


@dataclass(frozen=True)
class Label:
    """A line of text; y is the middle of its height. anchor: "start", "middle" or "end"."""

    role: str
    x: float
    y: float
    text: str
    size: float = SMALL
    anchor: str = "start"
    colour: str = INK
    halo: bool = False
    bold: bool = False


@dataclass(frozen=True)
class Diagram:
    """A drawing ready to be rendered. unit: of the time axis. shown, total: operations drawn and operations given."""

    width: float
    height: float
    shapes: tuple[Polygon | Line | Label, ...]
    title: str
    description: str
    unit: str
    shown: int
    total: int

    def of(self, role: str) -> list[Polygon | Line | Label]:
        """The shapes that stand for `role`."""
        return [shape for shape in self.shapes if shape.role == role]
