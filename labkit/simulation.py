"""A lesson's program on a network of its choice: run on the relay, with virtual time, and looked at
afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from labkit.cells.notebook import chunks_of
from labkit.launch import launcher
from labkit.relay.outcome import Outcome


def run(
    function,
    world_size: int,
    arguments=(),
    *,
    alpha: float = 5e-6,
    beta: float = 1e-10,
    late: Sequence[int] = (),
) -> Outcome:
    """Run a notebook's function on `world_size` ranks over the relay's network and see what it did.

    arguments: one tuple for all ranks, or a list with one tuple per rank (numbers, strings, lists,
    numpy arrays, torch tensors). alpha: seconds per message; beta: seconds per byte; late: ranks
    that begin after the others. The outcome has `.ranks[r]` (value, sends, sent_bytes, collectives,
    clock), `.elapsed` (virtual seconds), `.events` (for `labkit.timeline.draw`) and `.hang`. Raises
    ValueError where there are not as many tuples as ranks, RuntimeError where a rank raised, with
    its lines.
    """
    per_rank = arguments if isinstance(arguments, list) else [tuple(arguments)] * world_size
    if len(per_rank) != world_size:
        raise ValueError(f"{len(per_rank)} tuples of arguments for {world_size} ranks")
    jobs = launcher.make_jobs(
        chunks_of(function), function.__name__, per_rank, torch=sys.modules.get("torch")
    )
    outcome, _ = launcher.shared().run(jobs, alpha=alpha, beta=beta, late=late)
    for r, rank in enumerate(outcome.ranks):
        if rank.state == "raised":
            rows = "\n  ".join(rank.error["rows"])
            raise RuntimeError(
                f"rank {r} raised {rank.error['type']}: {rank.error['text']}\n  {rows}"
            )
    return outcome
