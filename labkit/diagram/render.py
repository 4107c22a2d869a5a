"""A diagram as SVG text, and as a matplotlib figure."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

from labkit.diagram.shapes import (
    Diagram,
    Label,
    Line,
    Polygon,
)
from labkit.palette import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch


def _escape(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(character, entity)
    return text


def render_svg(diagram: Diagram) -> str:
    """One self-contained <svg> element, with title and description for screen readers."""
    # Ids must be unique in a page that shows many diagrams, and the same whenever this one is drawn.
    key = hashlib.sha256(repr(diagram).encode()).hexdigest()[:10]
    hatches = sorted({(s.fill, s.hatch) for s in diagram.shapes if isinstance(s, Polygon) and s.hatch})
    names = {pair: f"wait-{key}-{i}" for i, pair in enumerate(hatches)}
    body = [f"<title>{_escape(diagram.title)}</title>", f"<desc>{_escape(diagram.description)}</desc>", "<defs>"]
    for (fill, hatch), name in names.items():
        body.append(
            f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<rect width="6" height="6" fill="{fill}"/><rect width="2" height="6" fill="{hatch}"/></pattern>'
        )
    body.append(
        f'<marker id="head-{key}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6.5" markerHeight="6.5" '
        f'orient="auto"><path d="M0,1 L10,5 L0,9 z" fill="{INK}"/></marker></defs>'
    )
    body.append(f'<rect width="{diagram.width:g}" height="{diagram.height:.0f}" fill="#FFFFFF"/>')
    body += [_svg_shape(shape, names, key) for shape in diagram.shapes]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {diagram.width:g} {diagram.height:.0f}"'
        f' width="{diagram.width:g}" '
        f'height="{diagram.height:.0f}" style="max-width:100%;height:auto" role="img" '
        f'font-family="DejaVu Sans, Verdana, Arial, sans-serif">' + "\n".join(body) + "</svg>"
    )


def _svg_shape(shape: Polygon | Line | Label, hatches: dict[tuple[str, str], str], key: str) -> str:
    if isinstance(shape, Polygon):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        fill = f"url(#{hatches[shape.fill, shape.hatch]})" if shape.hatch else shape.fill
        stroke = f' stroke="{shape.stroke}" stroke-width="{shape.width:g}"' if shape.stroke else ""
        opacity = f' opacity="{shape.opacity:g}"' if shape.opacity < 1 else ""
        return f'<polygon class="{shape.role}" points="{points}" fill="{fill}"{stroke}{opacity}/>'
    if isinstance(shape, Line):
        head = f' marker-end="url(#head-{key})"' if shape.arrow else ""
        return (
            f'<line class="{shape.role}" x1="{shape.x1:.1f}" y1="{shape.y1:.1f}" x2="{shape.x2:.1f}"'
            f' y2="{shape.y2:.1f}" '
            f'stroke="{shape.colour}" stroke-width="{shape.width:g}"{head}/>'
        )
    halo = ' stroke="#FFFFFF" stroke-width="3" stroke-linejoin="round" paint-order="stroke"' if shape.halo else ""
    bold = ' font-weight="bold"' if shape.bold else ""
    return (
        f'<text class="{shape.role}" x="{shape.x:.1f}" y="{shape.y:.1f}" font-size="{shape.size:g}"'
        f' text-anchor="{shape.anchor}" '
        f'dominant-baseline="central" fill="{shape.colour}"{halo}{bold}>{_escape(shape.text)}</text>'
    )


def render_matplotlib(diagram: Diagram, ax: Axes | None) -> Figure:
    """A figure of its own, or `ax` filled with the diagram."""
    from matplotlib import patheffects
    from matplotlib.figure import Figure

    class Shown(Figure):
        """A figure that a notebook shows as a picture even before its first use of pyplot."""

        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png")
            return picture.getvalue()

    if ax is None:
        # Not pyplot: in a notebook the figure is the value of the cell and must not be shown twice.
        figure = Shown(figsize=(diagram.width / 96, diagram.height / 96), dpi=96)
        ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, diagram.width)
    ax.set_ylim(diagram.height, 0)
    ax.axis("off")
    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi * min(box.width / diagram.width, box.height / diagram.height)  # of a pixel
    halo = [patheffects.withStroke(linewidth=3 * points, foreground="white")]
    for order, shape in enumerate(diagram.shapes, start=1):
        look = {"zorder": order, "gid": shape.role}
        if isinstance(shape, Label):
            align = {"ha": {"start": "left", "middle": "center", "end": "right"}[shape.anchor], "va": "center_baseline"}
            look |= {"fontsize": shape.size * points, "color": shape.colour, **align}
            look |= {"fontweight": "bold"} if shape.bold else {}
            look |= {"path_effects": halo} if shape.halo else {}
            ax.text(shape.x, shape.y, shape.text, parse_math=False, **look)  # a dollar sign in a label is a dollar sign
        else:
            ax.add_patch(_patch(shape, points, look))
    return ax.figure


def _patch(shape: Polygon | Line, points: float, look: dict) -> Patch:
    """points: of a pixel."""
    from matplotlib import patches

    if isinstance(shape, Polygon):
        edge = {"edgecolor": shape.stroke, "linewidth": shape.width * points} if shape.stroke else {"linewidth": 0}
        hatch = {"hatch": "/////", "hatchcolor": shape.hatch} if shape.hatch else {}
        return patches.Polygon(shape.points, facecolor=shape.fill, alpha=shape.opacity, **look, **edge, **hatch)
    style = patches.ArrowStyle("-|>", head_length=4, head_width=2) if shape.arrow else patches.ArrowStyle("-")
    ends = {"posA": (shape.x1, shape.y1), "posB": (shape.x2, shape.y2), "shrinkA": 0, "shrinkB": 0}
    width = shape.width * points
    look |= {"color": shape.colour, "linewidth": width, "mutation_scale": 1.2 * width}
    return patches.FancyArrowPatch(arrowstyle=style, **ends, **look)
