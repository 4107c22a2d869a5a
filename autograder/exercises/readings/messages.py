"""Who sent what to whom, and what else was called: what several exercises read out of the events of a run."""

from __future__ import annotations

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


def collective(run: Run) -> Finding | None:
    """A finding when an exercise on messages calls any collective."""
    called = sorted({name for rank in run.ranks for name in rank.collectives})
    return Finding("uses_collective", f"{', '.join(called)} was called.") if called else None


def forbidden_collective(run: Run) -> Finding | None:
    """A finding when an exercise that is to be built from sends calls a collective. A barrier moves nothing and may be
    called."""
    for rank, rank_run in enumerate(run.ranks):
        for name in rank_run.collectives:
            if name != "barrier":
                found = "uses_all_reduce" if name.startswith("all_reduce") else "uses_collective"
                return Finding(found, f"Rank {rank} called {name}.")
    return None


def time_without_barriers(run: Run) -> float:
    """Virtual seconds of a run; a barrier moves nothing and costs nothing here."""
    barriers = [
        event for event in run.events if event.rank == 0 and event.kind == "barrier" and event.ended is not None
    ]
    return run.elapsed - sum(event.ended - event.started for event in barriers)


def message_time(case: Case, nbytes: int) -> float:
    """Virtual seconds of one message."""
    return case.network.between.seconds(nbytes)
