"""A lesson's program on a network of its choice: run on the relay, with virtual time, and looked at
afterwards.

In the program, `compute(seconds)` lets a rank compute for virtual seconds and `alive(nbytes)` says
how much memory it holds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from labkit.cells.notebook import chunks_of
from labkit.launch import launcher
from labkit.relay.charging import alive, compute
from labkit.relay.outcome import Outcome
from labkit.relay.topology import Topology, flat, nodes

__all__ = ["Topology", "alive", "compute", "flat", "nodes", "run", "topology"]

PROCESSES = 64  # more ranks than these are threads of one process


def topology(name: str | Topology) -> Topology:
    """The network of that name: "flat" (every rank has a card: 5 us, 10 GB/s), or "nodes of 4" (1 us
    and 300 GB/s inside a node; 5 us and 12.5 GB/s between nodes, over one card each).

    Other links: `nodes(4, inside=(alpha, beta), between=(alpha, beta))`. Raises ValueError.
    """
    if isinstance(name, Topology):
        return name
    if name == "flat":
        return flat()
    of = re.fullmatch(r"nodes of ([1-9]\d{0,3})", name)
    if of is None:
        raise ValueError(f'no network is called {name!r}: say "flat" or, for example, "nodes of 4"')
    return nodes(int(of[1]))


def run(
    function: Callable,
    world_size: int,
    arguments=(),
    *,
    alpha: float = 5e-6,
    beta: float = 1e-10,
    topology: str | Topology | None = None,
    late: Sequence[int] = (),
) -> Outcome:
    """Run a notebook's function on `world_size` ranks over the relay's network and see what it did.

    arguments: one tuple for all ranks, or a list with one tuple per rank (numbers, strings, lists,
    numpy arrays, torch tensors). alpha: seconds per message; beta: seconds per byte; topology: in
    place of these, a network of nodes (see `topology`); late: ranks that begin after the others. Up
    to 64 ranks are processes; more, up to 4,096, are threads of one process, which share whatever
    the function does not make itself.

    The outcome has `.ranks[r]` (value, sends, sent_bytes, collectives, clock, busy, memory),
    `.elapsed` (virtual seconds), `.link_bytes` (per class of link), `.events` (for
    `labkit.timeline.draw`) and `.hang`. Raises ValueError where there are not as many tuples as
    ranks, RuntimeError where a rank raised, with its lines.
    """
    per_rank = arguments if isinstance(arguments, list) else [tuple(arguments)] * world_size
    if len(per_rank) != world_size:
        raise ValueError(f"{len(per_rank)} tuples of arguments for {world_size} ranks")
    network = flat(alpha, beta) if topology is None else _topology(topology)
    if world_size > PROCESSES:
        from labkit.relay.threads import ThreadedRanks

        outcome = ThreadedRanks(world_size, topology=network, late=late).run(function, per_rank)
    else:
        torch = sys.modules.get("torch")
        jobs = launcher.make_jobs(chunks_of(function), function.__name__, per_rank, torch=torch)
        outcome, _ = launcher.shared().run(jobs, topology=network, late=late)
    for r, rank in enumerate(outcome.ranks):
        if rank.state == "raised":
            rows = "\n  ".join(rank.error["rows"])
            raise RuntimeError(
                f"rank {r} raised {rank.error['type']}: {rank.error['text']}\n  {rows}"
            )
    return outcome


_topology = topology  # an argument of `run` has the same name
