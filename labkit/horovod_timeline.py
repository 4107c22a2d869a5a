"""Horovod's timeline: what its background thread on rank 0 did with every tensor, read from its
file and drawn.

    phases = horovod_timeline.read("timeline.json")
    horovod_timeline.draw(horovod_timeline.steps(phases)[-1])

Horovod writes the file with HOROVOD_TIMELINE=FILE from the start of a program to its end, or with
HOROVOD_TIMELINE=DYNAMIC between `hvd.start_timeline(FILE)` and `hvd.stop_timeline()`. It is a list
of trace events as Chrome draws them (chrome://tracing): one "process" per tensor, in which phases
begin ("B") and end ("E") like brackets.

A tensor passes through these phases: NEGOTIATE_ALLREDUCE (the ranks say which tensors they have
ready), then ALLREDUCE, and inside of it WAIT_FOR_DATA and QUEUE (on GPUs), MEMCPY_IN_FUSION_BUFFER,
the transfer itself (MPI_ALLREDUCE, NCCL_ALLREDUCE, GLOO_ALLREDUCE) and MEMCPY_OUT_FUSION_BUFFER.
Tensors that went through the network as one share the time of their transfer.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.diagram.words import in_words, time_unit
from labkit.palette import BLUE, FAINT, GREEN, GREY, INK, ORANGE, PURPLE, SKY, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OPERATIONS = ("ALLREDUCE", "BROADCAST", "ALLGATHER", "ALLTOALL", "REDUCESCATTER", "ADASUM")
_LIBRARIES = ("MPI_", "NCCL_", "GLOO_", "CCL_")
_ITEM_SIZES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint16": 2,
}
_LANES = 24  # tensors in one picture: more cannot be read


@dataclass(frozen=True)
class Phase:
    """One phase of one tensor on rank 0.

    tensor: Horovod's name for it. name: of the phase, as in the file. start, end: in s since the
    recording began; end is None if the file breaks off before. inside: the phase that this one is a
    part of. ready: {rank: time} when rank 0 heard that a rank has the tensor (only in a
    negotiation, and only until Horovod has seen the tensor once: then it remembers). nbytes: of the
    tensor, None where the file does not say.
    """

    tensor: str
    name: str
    start: float
    end: float | None
    inside: str = ""
    ready: dict[int, float] = field(default_factory=dict)
    nbytes: int | None = None

    @property
    def is_negotiation(self) -> bool:
        return self.name.startswith("NEGOTIATE_")

    @property
    def is_transfer(self) -> bool:
        """True if bytes move between ranks in this phase."""
        return self.name.startswith(_LIBRARIES)


# --- reading


def read(path: str | Path) -> list[Phase]:
    """The phases of a timeline file, in order of their start.

    A file whose end is missing, because the program still runs or died, gives what is there. Raises
    ValueError if it is no timeline.
    """
    names: dict[int, str] = {}
    open_: dict[int, list[Phase]] = defaultdict(list)
    phases: list[Phase] = []
    nbytes: dict[str, int] = {}
    for event in _records(Path(path).read_text(errors="replace"), path):
        number, kind = event.get("pid", 0), event.get("ph")
        if kind == "M" and event.get("name") == "process_name" and "name" in event["args"]:
            names[number] = event["args"]["name"]
        elif kind == "B":
            inside = open_[number][-1].name if open_[number] else ""
            tensor = names.get(number, f"tensor {number}")
            open_[number].append(Phase(tensor, event["name"], event["ts"] * 1e-6, None, inside))
        elif (
            kind == "X"
            and open_[number]
            and open_[number][-1].is_negotiation
            and event["name"].isdecimal()
        ):
            open_[number][-1].ready[int(event["name"])] = event["ts"] * 1e-6
        elif kind == "E" and open_[number]:
            phase = replace(open_[number].pop(), end=event["ts"] * 1e-6)
            phases.append(phase)
            if (size := _nbytes(event.get("args", {}))) is not None:
                nbytes[phase.tensor] = size
    phases += [phase for left in open_.values() for phase in left]
    return sorted(
        (replace(phase, nbytes=nbytes.get(phase.tensor)) for phase in phases),
        key=lambda phase: phase.start,
    )


def _records(text: str, path: str | Path) -> list[dict[str, Any]]:
    """The trace events up to the place where the text breaks off. Whole files, too, often end in
    `,]`, which json refuses."""
    start = text.find("[")
    if start < 0 or text[:start].strip():
        raise ValueError(f"{path} is no Horovod timeline: it does not begin with [")
    between = re.compile(r"[\s,]*")
    decoder, place, records = json.JSONDecoder(), start + 1, []
    while True:
        place = between.match(text, place).end()
        try:
            record, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError:
            return records
        if isinstance(record, dict):
            records.append(record)


def _nbytes(arguments: dict[str, str]) -> int | None:
    """{"dtype": "float32", "shape": "[784, 64]"} -> 200704."""
    if "shape" not in arguments:
        return None
    shape = [int(n) for n in re.findall(r"\d+", arguments["shape"])]
    return math.prod(shape) * _ITEM_SIZES.get(arguments.get("dtype", ""), 1)


# --- what belongs together


def steps(phases: list[Phase]) -> list[list[Phase]]:
    """The all-reduces of each training step: a new one begins when a tensor is negotiated that the
    step had already.

    A step of which the recording has only a part, because it began or ended in the middle of it, is
    left out.
    """
    found: list[list[Phase]] = []
    seen: set[str] = set()
    step_of: dict[str, int] = {}
    for phase in phases:
        if phase.name == "NEGOTIATE_ALLREDUCE":
            if phase.tensor in seen or not found:
                found.append([])
                seen = set()
            seen.add(phase.tensor)
            step_of[phase.tensor] = len(found) - 1
        if phase.tensor in step_of:
            found[step_of[phase.tensor]].append(phase)
    whole = [step for step in found if all(phase.end is not None for phase in step)]
    sent = [{phase.tensor for phase in step if phase.is_transfer} for step in whole]
    most = max((len(tensors) for tensors in sent), default=0)
    return [step for step, tensors in zip(whole, sent, strict=True) if len(tensors) == most > 0]


def transfers(phases: list[Phase]) -> list[list[Phase]]:
    """The transfers in order of time, each as the phases of the tensors that were fused into it.

    Horovod has one thread for communication, so transfers never overlap: phases that do are one
    transfer.
    """
    found: list[list[Phase]] = []
    for phase in phases:
        if not phase.is_transfer:
            continue
        if found and any(other.end is None or phase.start < other.end for other in found[-1]):
            found[-1].append(phase)
        else:
            found.append([phase])
    return found


def short_name(tensor: str) -> str:
    """Horovod's name without the path of its own operations: ".../HorovodAllreduce_dense_kernel_0"
    -> "dense_kernel"."""
    name = re.sub(
        r"^Horovod[A-Z][a-z]+_|^(allreduce|broadcast|allgather)\.(noname\.)?",
        "",
        tensor.rsplit("/", 1)[-1],
    )
    return re.sub(r"^gradient_tape_|_0$", "", name) or tensor


# --- drawing

# Phase: (what the legend says, colour, hatch). Hatched is waiting, solid is work.
_LOOKS = {
    "negotiate": ("negotiate: is it ready on all ranks?", tint(SKY, 0.55), "////"),
    "wait": ("queue, wait for data", tint(GREY, 0.6), "...."),
    "copy in": ("copy into the fusion buffer", ORANGE, ""),
    "transfer": ("transfer", BLUE, ""),
    "copy out": ("copy out of the fusion buffer", PURPLE, ""),
    "other": ("other", tint(GREEN, 0.3), ""),
}


def _look(phase: Phase) -> str:
    if phase.is_negotiation:
        return "negotiate"
    if phase.is_transfer:
        return "transfer"
    return {
        "QUEUE": "wait",
        "WAIT_FOR_DATA": "wait",
        "WAIT_FOR_OTHER_TENSOR_DATA": "wait",
        "MEMCPY_IN_FUSION_BUFFER": "copy in",
        "MEMCPY_OUT_FUSION_BUFFER": "copy out",
    }.get(phase.name, "other")


def draw(
    phases: list[Phase],
    *,
    title: str | None = None,
    ax: Axes | None = None,
    stop: float | None = None,
) -> Figure:
    """One lane per tensor, time to the right; a frame joins the tensors that went through the
    network as one.

    phases: best those of one step. stop: right edge, in s after the first phase (default: where the
    last one ends), so that two pictures can have the same scale. Returns the figure; lanes beyond
    the 24th are left out, and the title says so.
    """
    import matplotlib.pyplot as plt

    phases = [phase for phase in phases if phase.name not in OPERATIONS]  # drawn are their parts
    tensors = list(dict.fromkeys(phase.tensor for phase in sorted(phases, key=_order)))
    counted = f"{_count(len(tensors), 'tensor')} in {_count(len(transfers(phases)), 'transfer')}"
    if len(tensors) > _LANES:
        counted += f", the first {_LANES} tensors are shown"
        tensors = tensors[:_LANES]
        phases = [phase for phase in phases if phase.tensor in tensors]
    if ax is None:
        _, ax = plt.subplots(figsize=(9, 1.6 + 0.32 * len(tensors)), layout="constrained")
    begin, length = _extent(phases)
    unit, scale = time_unit(stop or length)
    _draw_lanes(ax, phases, tensors, begin, length, scale)
    labels = [f"{short_name(t)}{_size(t, phases)}" for t in tensors]
    ax.set_yticks(range(len(tensors)), labels, fontsize=8)
    ax.set(ylim=(len(tensors) - 0.4, -0.6), xlabel=f"time on rank 0, {unit}")
    ax.set_xlim(0, (stop or length) * scale * 1.02)
    ax.grid(axis="x", color=FAINT)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"{title}: {counted}" if title else counted, fontsize=10)
    _legend(ax, {_look(phase) for phase in phases}, len(tensors))
    return ax.figure


def _extent(phases: list[Phase]) -> tuple[float, float]:
    """(when the first phase starts, seconds until the last one ends)."""
    begin = min((phase.start for phase in phases), default=0.0)
    times = [t for p in phases for t in (p.start, p.end, *p.ready.values()) if t is not None]
    return begin, max((time - begin for time in times), default=1e-3)


def _draw_lanes(
    ax: Axes, phases: list[Phase], tensors: list[str], begin: float, length: float, scale: float
) -> None:
    """A bar per phase, a digit where a rank became ready, a frame per fused transfer. What never
    ended reaches to the right edge."""
    from matplotlib.patches import Rectangle

    def span(*phases: Phase) -> tuple[float, float]:
        stop = max(begin + length if p.end is None else p.end for p in phases)
        return (min(p.start for p in phases) - begin) * scale, (stop - begin) * scale

    for phase in phases:
        lane, (left, right), (_, colour, hatch) = (
            tensors.index(phase.tensor),
            span(phase),
            _LOOKS[_look(phase)],
        )
        ax.barh(
            lane, right - left, 0.62, left, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.5
        )
        for when, ready in _moments(phase.ready, length / 60):
            x = (when - begin) * scale
            ax.plot([x, x], [lane - 0.34, lane + 0.34], color=INK, linewidth=1.5)
            ax.text(x, lane - 0.34, ready, fontsize=8, fontweight="bold", ha="center", va="bottom")
    for fused in (fused for fused in transfers(phases) if len(fused) > 1):
        lanes, (left, right) = [tensors.index(phase.tensor) for phase in fused], span(*fused)
        corner, height = (left, min(lanes) - 0.42), max(lanes) - min(lanes) + 0.84
        ax.add_patch(
            Rectangle(
                corner, right - left, height, fill=False, edgecolor=INK, linewidth=1.8, zorder=5
            )
        )


def _moments(ready: dict[int, float], apart: float) -> list[tuple[float, str]]:
    """{0: 0.1, 1: 0.1001, 2: 0.3} -> [(0.1, "0,1"), (0.3, "2")]: ranks that are less than `apart` s
    apart share a label."""
    found: list[tuple[float, str]] = []
    for rank, when in sorted(ready.items(), key=lambda item: item[1]):
        if found and when - found[-1][0] < apart:
            found[-1] = (found[-1][0], f"{found[-1][1]},{rank}")
        else:
            found.append((when, str(rank)))
    return found


def _legend(ax: Axes, present: set[str], lanes: int) -> None:
    """Below the axis, only what is in the picture."""
    from matplotlib.patches import Patch

    entries = [
        Patch(facecolor=c, hatch=h, edgecolor=INK, label=text)
        for key, (text, c, h) in _LOOKS.items()
        if key in present
    ]
    below = -0.16 - 0.9 / (2 + lanes)  # the axis label takes a larger share of a lower picture
    ax.legend(
        handles=entries,
        fontsize=8,
        frameon=False,
        ncols=2,
        loc="upper center",
        bbox_to_anchor=(0.45, below),
    )


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _order(phase: Phase) -> tuple[bool, float]:
    """Lanes in the order in which the transfers happened, so that fused tensors lie side by
    side."""
    return (not phase.is_transfer, phase.start)


def _size(tensor: str, phases: list[Phase]) -> str:
    nbytes = next(
        (phase.nbytes for phase in phases if phase.tensor == tensor and phase.nbytes is not None),
        None,
    )
    return "" if nbytes is None else f"  {in_words(nbytes)}"
