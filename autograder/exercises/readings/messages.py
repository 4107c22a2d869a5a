"""Readings of a run's events that several exercises share: who sent what to whom, and what else was called."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from autograder.exercise import Case, Finding, Run
from labkit.watch.events import Event
from labkit.watch.hang import direction


def messages(run: Run) -> list[Event]:
    """The sends of a run: one event per message."""
    return [event for event in run.events if direction(event.kind) == "send"]


def describe_messages(run: Run) -> str:
    """For a card: "rank 0 sent 1 message to rank 1; rank 2 sent 3 messages to rank 0." """
    sent = [(event.rank, event.peer) for event in messages(run)]
    counts = [(pair, sent.count(pair)) for pair in sorted(set(sent), key=str)]
    words = [f"rank {a} sent {n} message{'s' if n > 1 else ''} to rank {b}" for (a, b), n in counts]
    return ("; ".join(words) or "no message was sent") + "."


def collective(run: Run, but: str = "") -> Finding | None:
    """A finding when an exercise on messages calls any collective. but: one that is looked at later."""
    called = sorted({name for rank in run.ranks for name in rank.collectives} - {but})
    return Finding("uses_collective", f"{', '.join(called)} was called.") if called else None


def needless_barrier(run: Run) -> Finding | None:
    """A finding when a rank calls a barrier, where all else about the messages is right."""
    called = [rank for rank, rank_run in enumerate(run.ranks) if "barrier" in rank_run.collectives]
    return Finding("needless_barrier", f"Rank {called[0]} called barrier.") if called else None


def forbidden_collective(run: Run, but: str = "") -> Finding | None:
    """A finding when an exercise that is to be built from sends calls a collective. but: one that its text allows."""
    for rank, rank_run in enumerate(run.ranks):
        for name in rank_run.collectives:
            if name != but:
                found = "uses_all_reduce" if name.startswith("all_reduce") else "uses_collective"
                return Finding(found, f"Rank {rank} called {name}.")
    return None


def time_without_barriers(run: Run) -> float:
    """Virtual seconds of a run; a barrier moves nothing and costs nothing here, unless something else moves
    meanwhile."""
    moved = [event for event in run.events if event.ended is not None and event.started is not None]
    barriers = _covered(event for event in moved if event.kind == "barrier" and event.rank == 0)
    others = _covered(event for event in moved if event.kind != "barrier")
    firsts, lasts = [first for first, _ in others], [last for _, last in others]
    shared = sum(
        min(end, lasts[k]) - max(start, firsts[k])
        for start, end in barriers
        for k in range(bisect_right(lasts, start), bisect_left(firsts, end))
    )
    return run.elapsed - (sum(end - start for start, end in barriers) - shared)


def _covered(events: Iterable[Event]) -> list[tuple[float, float]]:
    """The times in which any of these is under way, as (start, end), one after the other."""
    pieces: list[tuple[float, float]] = []
    for start, end in sorted((event.started, event.ended) for event in events):
        if pieces and start <= pieces[-1][1]:
            pieces[-1] = pieces[-1][0], max(end, pieces[-1][1])
        else:
            pieces.append((start, end))
    return pieces


def message_time(case: Case, nbytes: int) -> float:
    """Virtual seconds of one message."""
    return case.network.between.seconds(nbytes)
