"""Unit 10: a trace of torch.profiler in lanes, and the overlap of a backward pass with its all-reduces on virtual time.

trace = traces.read("ddp_trace.json.gz")
lanes = traces.lanes_of(trace)                  computing, communication and phases as spans in milliseconds
traces.print_overlap(lanes), traces.draw(lanes)
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from matplotlib.axes import Axes
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from labkit.plots import spans as drawn
from labkit.simulation import compute

Span = list[float]  # begin, end, in milliseconds


@dataclass(frozen=True)
class Lanes:
    """A trace of one rank: spans of its phases with their names, of computing and of communication; all its events."""

    machine: str
    phases: list[tuple[str, Span]]
    computing: list[Span]
    talking: list[Span]
    events: int


def read(path: str) -> dict:
    """The trace in a .json.gz of torch.profiler."""
    with gzip.open(path) as file:
        return json.loads(file.read())


def recorded(program: str) -> dict:
    """The trace that a program writes when it runs: `python PROGRAM PATH`."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/trace.json.gz"
        subprocess.run([sys.executable, program, path], check=True)
        return read(path)


def joined(events: Iterable[dict]) -> list[Span]:
    """The spans of events that are sorted by their begin; those that overlap are made one."""
    found: list[Span] = []
    for event in events:
        begin, end = event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3
        if found and begin <= found[-1][1]:
            found[-1][1] = max(end, found[-1][1])
        else:
            found.append([begin, end])
    return found


def common(one: list[Span], other: list[Span]) -> float:
    """Milliseconds in which spans of both lists are going on."""
    return sum(max(0, min(b, d) - max(a, c)) for a, b in one for c, d in other)


def is_communication(event: dict) -> bool:
    return event["name"].startswith("gloo:") or "ncclDevKernel" in event["name"]


def lanes_of(trace: dict) -> Lanes:
    """The lanes of a trace: computing is kernels on a GPU, or without one the operations of the training's thread."""
    events = sorted(trace["traceEvents"], key=lambda event: event["ts"])
    phases = [e for e in events if e["name"] in ("forward", "backward", "step") and e["cat"] == "user_annotation"]
    on_gpu = [event for event in events if event.get("cat") == "kernel"]
    thread = phases[0]["tid"]
    work = on_gpu or [e for e in events if e["tid"] == thread and "aten::" in e["name"]]
    computing = joined(event for event in work if not is_communication(event))
    talking = joined(event for event in events if is_communication(event))
    named = [(phase["name"], joined([phase])[0]) for phase in phases]
    return Lanes(trace["machine"], named, computing, talking, len(events))


def print_overlap(lanes: Lanes) -> None:
    """Print how long communication takes and how much of it is hidden behind computing, in all and in each phase."""
    total, hidden = sum(b - a for a, b in lanes.talking), common(lanes.computing, lanes.talking)
    print(f"communication {total:.1f} ms, {hidden / total:.0%} of it while computing")
    for name, at in lanes.phases:
        computing, talking = common(lanes.computing, [at]), common(lanes.talking, [at])
        print(f"{name:<9} {at[1] - at[0]:6.1f} ms, of these computing {computing:6.1f}, communication {talking:6.1f}")


def draw(lanes: Lanes) -> Axes:
    """Draw three lanes over the time: phases, computing, all-reduces."""
    rows = {"phase": [[(*at, name, name) for name, at in lanes.phases]]}
    rows["computing"] = [[(*one, "computing", "") for one in lanes.computing]]
    rows["all-reduce"] = [[(*one, "all-reduce", "") for one in lanes.talking]]
    kinds = {"forward": "sky", "backward": "purple", "step": "orange", "computing": "purple", "all-reduce": "green"}
    return drawn.lanes(rows, kinds, size=(11, 2.9), legend=False, xlabel="ms", title=lanes.machine)


class ChargedPass(torch.autograd.Function):
    """Hands its input on; takes virtual time in both directions."""

    @staticmethod
    def forward(ctx, x: Tensor, label: int) -> Tensor:
        ctx.label = label
        compute(1e-4, f"F{label}")
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g: Tensor) -> tuple[Tensor, None]:
        compute(2e-4, f"B{ctx.label}")
        return g, None


class Layers(nn.Module):
    """Linear layers with tanh, each of which takes virtual time; with the same weights on every rank."""

    def __init__(self, width: int = 160, layers: int = 6):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for k, layer in enumerate(self.layers):
            x = ChargedPass.apply(torch.tanh(layer(x)), k)
        return x


def one_step(how: str, with_hooks: Callable[[nn.ModuleList], list] | None = None) -> Tensor:
    """The gradients, as one vector, averaged over the ranks, of one backward pass of `Layers` on this rank's rows.

    how: "DDP", "at the end" (one all-reduce after the backward pass) or "with hooks". with_hooks: function of the
    layers that lets them start all-reduces, and returns a list that fills with (work, bucket, weights): what is on its
    way.
    """
    model, rank, p = Layers(), dist.get_rank(), dist.get_world_size()
    x = torch.randn(8, 160, generator=torch.Generator().manual_seed(rank))
    if how == "DDP":
        ddp = DistributedDataParallel(model)  # a name keeps its hooks alive
        ddp(x).square().mean().backward()
        return _flat(model)
    pending = with_hooks(model.layers) if how == "with hooks" and with_hooks else []
    model(x).square().mean().backward()
    if how == "at the end":
        flat = _flat(model)
        dist.all_reduce(flat)
        return flat / p
    for work, bucket, weights in pending:
        work.wait()
        for w, part in zip(weights, bucket.split([w.numel() for w in weights]), strict=True):
            w.grad.copy_(part.view_as(w) / p)
    return _flat(model)


def _flat(model: nn.Module) -> Tensor:
    return torch.cat([w.grad.flatten() for w in model.parameters()])
