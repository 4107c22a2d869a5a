"""Parts that the figures share: a page measured in pixels, boxes, arrows, colours, and files that come out the same
every time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from labkit.palette import (
    ACTIVATIONS,
    ALL_GATHER,
    ALL_REDUCE,
    BACKWARD,
    DEEP,
    FAINT,
    FORWARD,
    GRADIENTS,
    GREEN,
    GREY,
    INK,
    OPTIMIZER,
    ORANGE,
    PARAMETERS,
    PURPLE,
    REDUCE_SCATTER,
    SKY,
    VERMILLION,
    WEIGHT_GRADIENTS,
    YELLOW,
    tint,
)

HERE = Path(__file__).resolve().parent
# rank 0, 1, 2, 3, or the parts of a batch
RANK_COLOURS = tuple(tint(colour, 0.35) for colour in (SKY, ORANGE, GREEN, PURPLE))
SUM = tint(YELLOW, 0.1)
MESSAGE = DEEP  # what goes from rank to rank, and what a figure is about
ELSEWHERE = {"edgecolor": "#A6A6A6", "linewidth": 0.8, "linestyle": (0, (2, 2)), "zorder": 0}  # what others hold
FONTS = "'DejaVu Sans', Verdana, sans-serif"
TEXT, SMALL = 15, 13  # pixels on a page 720 wide: readable at half of that

__all__ = [
    "ACTIVATIONS",
    "ALL_GATHER",
    "ALL_REDUCE",
    "BACKWARD",
    "ELSEWHERE",
    "FAINT",
    "FORWARD",
    "GRADIENTS",
    "GREEN",
    "GREY",
    "INK",
    "MESSAGE",
    "OPTIMIZER",
    "ORANGE",
    "PARAMETERS",
    "RANK_COLOURS",
    "REDUCE_SCATTER",
    "SKY",
    "SMALL",
    "SUM",
    "TEXT",
    "VERMILLION",
    "WEIGHT_GRADIENTS",
    "tint",
]


def page(width: float, height: float) -> Axes:
    """An empty white page; lengths are pixels, y points down. Its figure is `.figure`."""
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.axis("off")
    return ax


def text(ax: Axes, x: float, y: float, content: str, size: float = TEXT, ha: str = "center", **look) -> None:
    """Text with the middle of its height at y."""
    look = {"color": INK, "va": "center", "linespacing": 1.25} | look
    ax.text(x, y, content, fontsize=size, ha=ha, **look)


def box(
    ax: Axes, x: float, y: float, width: float, height: float, content: str = "", fill: str = "white", **look
) -> None:
    """A rounded box with a text in its middle. look: edgecolor, linewidth, linestyle, round, size, zorder."""
    size, corner = look.pop("size", TEXT), look.pop("round", 5)
    look = {"edgecolor": INK, "linewidth": 1.2, "zorder": 1} | look
    ax.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=f"round,pad=0,rounding_size={corner}", facecolor=fill, **look)
    )
    if content:
        text(ax, x + width / 2, y + height / 2, content, size, zorder=look["zorder"] + 1)


def cell(
    ax: Axes, x: float, y: float, width: float, height: float, content: str = "", fill: str = "white", **look
) -> None:
    """A cell of a grid: a box with sharp corners."""
    size, colour = look.pop("size", SMALL), look.pop("color", INK)
    look = {"edgecolor": INK, "linewidth": 0.9, "zorder": 1} | look
    ax.add_patch(Rectangle((x, y), width, height, facecolor=fill, **look))
    if content:
        text(ax, x + width / 2, y + height / 2, content, size, color=colour, zorder=look["zorder"] + 1)


def band(ax: Axes, x: float, top: float, height: float, label: str, colour: str, width: float) -> None:
    """A step of all ranks together: a narrow cell around x with its name written upwards."""
    cell(ax, x - width / 2, top, width, height, "", colour)
    text(ax, x, top + height / 2, label, SMALL, rotation=90, zorder=3)


def circle(ax: Axes, x: float, y: float, radius: float, content: str = "", fill: str = "white", **look) -> None:
    look = {"edgecolor": INK, "linewidth": 1.2, "zorder": 3} | look
    ax.add_patch(Circle((x, y), radius, facecolor=fill, **look))
    if content:
        text(ax, x, y, content, zorder=4)


def arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], both: bool = False, bend: float = 0.0, **look
) -> None:
    """An arrow from start to end (or in both directions). bend: how much it curves, 0 is straight."""
    look = {"color": INK, "linewidth": 1.6, "zorder": 2, "mutation_scale": 13} | look
    style = {
        "arrowstyle": "<|-|>" if both else "-|>",
        "connectionstyle": f"arc3,rad={bend}",
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.add_patch(FancyArrowPatch(start, end, **style, **look))


def line(ax: Axes, *points: tuple[float, float], **look) -> None:
    look = {"color": INK, "linewidth": 1.2, "zorder": 2, "solid_capstyle": "round"} | look
    ax.plot([x for x, _ in points], [y for _, y in points], **look)


def alternative_texts() -> dict[str, str]:
    """The alternative text of each figure in README.md, by the figure's name without ending."""
    rows = re.findall(
        r"^\| `(\w+)\.svg` \| `\w+\.py` \| (.+) \|$", (HERE / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return dict(rows)


def save(name: str, draw: Callable[[], Axes], folder: Path = HERE) -> Path:
    """Draw a figure into folder/name.svg. Text is text, which a screen reader reads; no date, no random ids."""
    settings = {"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "DejaVu Sans", "hatch.linewidth": 1.0}
    drawn = io.StringIO()
    with matplotlib.rc_context(matplotlib.rcParamsDefault | settings):
        draw().figure.savefig(drawn, format="svg", metadata={"Date": None})
    path = folder / f"{name}.svg"
    path.write_text(_slim(drawn.getvalue(), name), encoding="utf-8")
    return path


def _slim(svg: str, name: str) -> str:
    """matplotlib's SVG with title and description instead of its metadata, hundredths of a pixel, and fonts as wide as
    its own where that is missing.
    """
    about = f"<title>{escape(name.replace('_', ' '))}</title>\n <desc>{escape(alternative_texts()[name])}</desc>"
    svg = re.sub(r"<metadata>.*?</metadata>", lambda _: about, svg, flags=re.DOTALL)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)  # not in what is written
    return svg.replace("'DejaVu Sans'", FONTS)


def save_all(figures: dict[str, Callable[[], Axes]]) -> None:
    for name, draw in figures.items():
        print(save(name, draw).name)
