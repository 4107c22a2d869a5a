"""A lesson's program on a network of its choice: run on the relay, with virtual time, and looked at
afterwards.

In the program, `compute(seconds)` lets a rank compute for virtual seconds and `alive(nbytes)` says
how much memory it holds.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from labkit import timeline
from labkit.cells.notebook import chunks_of
from labkit.interconnect.topology import Link, Topology, flat, nodes, topology
from labkit.launch import launcher
from labkit.relay.charging import alive, compute
from labkit.relay.outcome import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Link", "Topology", "alive", "compute", "draw", "flat", "nodes", "run", "topology"]

PROCESSES = 64  # more ranks than these are threads of one process


def draw(network: str | Topology, world_size: int, ax: Axes | None = None) -> Figure:
    """The ranks of a network, node by node, and what their links cost, as a matplotlib figure; with
    `ax` it is drawn there. network: as `topology` takes it."""
    network = _topology(network)
    ranks: list[list[int]] = [[] for _ in range(network.node_of(world_size - 1) + 1)]
    for r in range(world_size):
        ranks[network.node_of(r)].append(r)
    inside = "" if network.inside is None else f"inside: {_words(network.inside)}"
    cards = f", {network.cards_per_node} cards a node" if network.cards_per_node > 1 else ""
    return timeline.draw_topology(ranks, inside, f"between: {_words(network.between)}{cards}", ax)


def _words(link: Link) -> str:
    rate = f", {1e-9 / link.beta:.3g} GB/s" if link.beta else ""
    return f"{1e6 * link.alpha:.3g} µs{rate}"


_topology = topology  # an argument of `run` has the same name


def run(
    function: Callable,
    world_size: int,
    arguments=(),
    *,
    alpha: float = 5e-6,
    beta: float = 1e-10,
    topology: str | Topology | None = None,
    late: Sequence[int] = (),
    kills: Mapping[int, int] | None = None,
    meta_tensors: bool = False,
) -> Outcome:
    """Run a notebook's function on `world_size` ranks over the simulated network and see what it did.

    arguments: one tuple for all ranks, or a list with one tuple per rank (numbers, strings, lists,
    numpy arrays, torch tensors). alpha: seconds per message; beta: seconds per byte; topology: in
    place of these, a network of nodes (see `topology`); late: ranks that begin after the others;
    kills: {rank: operation, counted from 0, in place of which it dies}. Up to 64 ranks are
    processes; more, up to 4,096, are threads of one process, which share what they do not make.
    meta_tensors: what is sent may be tensors with device="meta", which have a shape, a type and no
    elements: time and bytes are those of real ones, whatever their size, and nothing is carried.

    The outcome has `.ranks[r]` (state, value, sends, sent_bytes, collectives, clock, busy, memory),
    `.elapsed` (virtual seconds), `.link_bytes` (per class of link), `.events`, `.memory`, `.hang`.
    Raises ValueError where tuples and ranks differ in number; RuntimeError where a rank raised, where
    its process ended before the function did (it says which limit it met, or how it died), and where
    the ranks were too slow. A hang is no error: `.hang` tells of it.
    """
    per_rank = arguments if isinstance(arguments, list) else [tuple(arguments)] * world_size
    if len(per_rank) != world_size:
        raise ValueError(f"{len(per_rank)} tuples of arguments for {world_size} ranks")
    network = flat(alpha, beta) if topology is None else _topology(topology)
    outcome, ends = _run(
        function,
        per_rank,
        {"topology": network, "late": late, "kills": kills, "phantoms": meta_tensors},
    )
    if trouble := _trouble(outcome, ends):
        raise RuntimeError(trouble)
    return outcome


def _run(function: Callable, per_rank: list[tuple], network: dict) -> tuple[Outcome, list[dict]]:
    """The outcome, and how each rank's process ended (nothing of threads)."""
    if len(per_rank) > PROCESSES:
        from labkit.relay.threads import ThreadedRanks

        return ThreadedRanks(len(per_rank), **network).run(function, per_rank), []
    torch = sys.modules.get("torch")
    jobs = launcher.make_jobs(chunks_of(function), function.__name__, per_rank, torch=torch)
    return launcher.shared().run(jobs, **network)


def _trouble(outcome: Outcome, ends: list[dict]) -> str:
    """Why the outcome is not that of the whole program; "" where it is, or where a hang report says
    so. A rank that ended first is named first: what others raised may follow from it."""
    dead = [r for r, rank in enumerate(outcome.ranks) if rank.state == "dead"]
    for r in sorted(dead, key=lambda r: not outcome.ranks[r].error):
        how = outcome.ranks[r].error.get("text") or _death(ends[r] if r < len(ends) else {})
        others = [str(other) for other in dead if other != r]
        also = f" (and so did {', '.join(others)})" if others else ""
        said = f"rank {r} ended before its function did{also}: {how}"
        return "\n  ".join([said, *(outcome.hang.rows if outcome.hang else [])])
    for r, rank in enumerate(outcome.ranks):
        if rank.state == "raised":
            said = f"rank {r} raised {rank.error['type']}: {rank.error['text']}"
            return "\n  ".join([said, *rank.error["rows"]])
    if outcome.too_slow:
        left = [str(r) for r, rank in enumerate(outcome.ranks) if rank.state != "returned"]
        limits = launcher.Limits()
        return (
            f"too slow: a rank was silent for {limits.patience:g} s of computing or of sleep, or not at "
            f"its end after {limits.deadline:g} s; ranks {', '.join(left)} had not returned"
        )
    return ""


def _death(end: dict) -> str:
    """The end of a process that said nothing, in words. end: as `Launcher.run` returns it."""
    number = end.get("signal")
    if number == signal.SIGXCPU or end.get("over") == "cpu":
        return f"it took more than {launcher.Limits().cpu_seconds} s of processor time"
    if number == signal.SIGXFSZ:
        return f"it wrote a file of more than {launcher.Limits().file_bytes >> 20} MB"
    said = f", after saying: {end['said']}" if end.get("said") else ""
    if number:
        return f"its process was ended by {signal.Signals(number).name}{said}"
    return f"its process ended with status {end.get('exit', '?')}{said}"
