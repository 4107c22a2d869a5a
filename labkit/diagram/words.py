"""Times, sizes and ranks in words, and events with the moments that only their partners know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from labkit.watch.events import COMPUTE, POINT_TO_POINT, Event

LETTERS = {
    "all_gather": ("G", "all-gather"),
    "reduce_scatter": ("R", "reduce-scatter"),
}  # in blocks too narrow for words


def letter(kind: str) -> str:
    """The letter of a collective, or "" if it has none; torch's names end in `_single`, `_into_tensor` and the like."""
    return next((one for name, (one, _) in LETTERS.items() if kind.startswith(name)), "")


def time_unit(seconds: float) -> tuple[str, float]:
    """The unit in which a diagram of that length is labelled, and how many of them make a second."""
    if seconds < 1e-3:
        return "µs", 1e6
    if seconds < 1:
        return "ms", 1e3
    return "s", 1.0


def in_words(nbytes: int) -> str:
    """A number of bytes as a short text: 96 B, 65.5 kB, 1.05 MB (powers of 1000)."""
    if nbytes < 10_000:
        return f"{nbytes} B"
    unit, size = next(((u, s) for u, s in (("kB", 1e3), ("MB", 1e6)) if nbytes < 1000 * s), ("GB", 1e9))
    return f"{nbytes / size:.3g} {unit}"


def matched(events: Iterable[Event]) -> list[Event]:
    """The events in order of time, with `match` and `started` filled in where the recording could not know them.

    MPI delivers messages of the same sender, receiver and tag in order, so the k-th send belongs to the k-th recv; the
    k-th collective of a group on one member is the k-th on the others. An operation starts when the last of its
    partners called it.
    """
    events = sorted(events, key=lambda e: (e.posted, e.rank, e.kind))
    number = max((e.match for e in events if e.match is not None), default=-1) + 1
    seen: dict[tuple, int] = defaultdict(int)
    numbers: dict[tuple, int] = {}
    for i, event in enumerate(events):
        alone = event.kind == COMPUTE or (event.kind in POINT_TO_POINT and event.peer is None)
        if event.match is not None or alone:
            continue
        if event.kind in POINT_TO_POINT:
            ends = (event.rank, event.peer) if event.kind == "send" else (event.peer, event.rank)
            queue = ("message", *ends, event.tag)
            turn = seen[queue, event.kind]
            seen[queue, event.kind] += 1
            key = (queue, turn)
        else:
            turn = seen["collective", event.group, event.rank]
            seen["collective", event.group, event.rank] += 1
            key = ("collective", event.group, turn, event.kind)
        if key not in numbers:
            numbers[key] = number
            number += 1
        events[i] = replace(event, match=numbers[key])
    return _with_starts(events)


def _with_starts(events: list[Event]) -> list[Event]:
    partners: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.match is not None:
            partners[event.match].append(event)
    result = []
    for event in events:
        if event.started is None and event.ended is not None:
            called = [event.posted, *(e.posted for e in partners.get(event.match, ()))]
            started = max(called)
            # A small send may be buffered and end before its recv is called: it never waited.
            buffered = event.kind == "send" and started > event.ended
            event = replace(event, started=event.posted if buffered else min(started, event.ended))
        result.append(event)
    return result


def time_in_words(seconds: float) -> str:
    """A duration in the unit that suits it: 20 µs, 1.5 ms, 3 s."""
    unit, scale = time_unit(seconds)
    return f"{seconds * scale:.3g} {unit}"


def messages(events: list[Event]) -> list[tuple[Event, Event]]:
    """Pairs of a send and the recv that got its bytes."""
    sends = {e.match: e for e in events if e.kind == "send" and e.match is not None}
    received = [e for e in events if e.kind == "recv" and e.match in sends and e.ended is not None]
    return [(sends[e.match], e) for e in received]


def count(n: int, noun: str) -> str:
    """A number of things: 1 rank, 4 ranks."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def per_rank(says: dict[int, str], ranks: int) -> str:
    """The sentences about all ranks, in one list in which neighbours of whom the same is said stand together."""
    if len(says) == ranks > 1 and len(set(says.values())) == 1:
        return f"{says[0]} on every rank"
    runs: list[list[int]] = []
    for rank in sorted(says):
        if runs and runs[-1][-1] == rank - 1 and says[rank] == says[rank - 1]:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    named = [f"{numbers(run)}: {says[run[0]]}" for run in runs]
    return "; ".join(named if len(named) <= 16 else [*named[:15], f"and {len(named) - 15} more"])


def numbers(ranks: Sequence[int]) -> str:
    """Ranks by their numbers: rank 3, ranks 0, 2, ranks 4 to 7."""
    ranks = list(ranks)
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return f"rank{'s' if len(ranks) > 1 else ''} " + ", ".join(map(str, ranks))


def short(text: str, length: int) -> str:
    """Printable characters only (XML has no others), cut to `length`."""
    text = "".join(c if c.isprintable() else " " for c in str(text))
    return text if len(text) <= length else text[: length - 1] + "…"


def width_of(text: str, size: float) -> float:
    """About the width of a text in DejaVu Sans."""
    return 0.61 * size * len(text)
