"""Figures of spans: bars on lanes over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from labkit import palette, plots
from labkit.plots.charts import COLOURS, HATCHES

Span = tuple[float, float, str, str]  # begin, end, kind, and a word for it ("" for none)
WIDE = 0.045  # of the whole time: a shorter bar has its word before it


def lanes(
    rows: Mapping[str, Sequence[Sequence[Span]]],
    kinds: Mapping[str, str],
    *,
    size: tuple[float, float] | None = None,
    legend: bool = True,
    **axes,
) -> Axes:
    """For each name one or more lanes, the first above; each lane holds spans that do not overlap.

    kinds: kind of a span -> a colour of `labkit.plots.charts.COLOURS`; each kind has a hatching of its own, too. Other
    arguments (title, xlabel, xlim) go to the axes.
    """
    height = sum(len(row) for row in rows.values())
    ax = plots.canvas(None, size or (9, 1.3 + 0.17 * height + 0.35 * len(rows)))
    whole = max((span[1] for row in rows.values() for lane in row for span in lane), default=0.0)
    faces = {kind: _face(k, colour) for k, (kind, colour) in enumerate(kinds.items())}
    top, middles = 0.0, []
    for row in rows.values():
        for k, lane in enumerate(row):
            thick = 0.5 if k == 0 else 0.3
            _lane(ax, lane, top + thick / 2, 0.9 * thick, faces, whole)
            top += thick
        middles.append(top - sum(0.5 if k == 0 else 0.3 for k in range(len(row))) / 2)
        top += 0.25
    ax.set_yticks(middles, list(rows))
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.set(ylim=(top - 0.1, -0.15), **{"xlim": (0, None)} | axes)
    if legend:
        keys = [Patch(**face, label=kind) for kind, face in faces.items()]
        ax.legend(handles=keys, ncols=len(keys), frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))
    return ax


def _face(k: int, colour: str) -> dict:
    full = COLOURS[colour]
    pale = full if colour == "red" else palette.tint(full, 0.35)  # or it would be another orange
    return {"facecolor": pale, "edgecolor": plots.dark(full), "linewidth": 0.6, "hatch": HATCHES[k % len(HATCHES)]}


def _lane(ax: Axes, lane: Sequence[Span], y: float, thick: float, faces: Mapping[str, dict], whole: float) -> None:
    for begin, end, kind, word in lane:
        thin = {"linewidth": 0, "hatch": ""} if end - begin < 0.01 * whole else {}
        ax.barh(y, end - begin, thick, begin, **faces[kind] | thin)
        wide = end - begin > WIDE * whole
        if word and wide and thick > 0.3:
            box = {"facecolor": faces[kind]["facecolor"], "edgecolor": "none", "pad": 1}
            ax.text((begin + end) / 2, y, word, ha="center", va="center", fontsize=8, bbox=box)
        elif word:
            ax.annotate(word, (begin, y), (-3, 0), textcoords="offset points", ha="right", va="center", fontsize=8)
