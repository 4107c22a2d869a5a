"""Finds answers that cannot have got their numbers by messages: compares the bytes that must have reached a rank with
those that did.

Ranks can be kept apart, but never quite: they share a processor and a kernel, and those on MPI and Horovod share files
besides. So it is not enough that no other way is known. What a rank returns and could not know by itself has to have
come to it in messages or collectives; where too few bytes came, the answer is not taken, by whatever way it was found.

`needed` is a bound from below, `arrived` one from above: an honest answer is never caught between them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from autograder.exercise import ANYTHING, Case, Exercise, Run, Tensor, Typed
from labkit.watch.events import COMPUTE, DEATH, Event
from labkit.watch.hang import ONE_SIDED, direction

SILENT = (  # what is recorded and moves no byte from one rank to another
    COMPUTE,
    DEATH,
    "barrier",
    "ibarrier",
    "abort",
    "win.create",
    "win.create_dynamic",
    "win.allocate",
    "win.fence",
    "win.free",
)
_TO_THE_ROOT = ("reduce", "gather", "gatherv")


def needed(exercise: Exercise, case: Case) -> list[int]:
    """Bytes that must reach each rank from the others: one for each number that it returns, that is not among its own
    arguments, and that one of the others' arguments may stand behind. nan is no number: nobody has to be told of it."""
    if exercise.runtime == "plain" or exercise.shares_files or case.world_size == 1:
        return [0] * case.world_size
    given = [set(_numbers(case.arguments_of(r))) for r in range(case.world_size)]
    returned = [set(_numbers(value)) for value in exercise.expected(case)]
    bounds = []
    for r, own in enumerate(given):
        known = own | set(
            map(float, range(-1, case.world_size + 1))
        )  # ranks, their number, True and False: known to all
        others = set().union(*(theirs for q, theirs in enumerate(given) if q != r))
        bounds.append(min(len(returned[r] - known), len(others - known)))
    return bounds


def bound(exercise: Exercise, case: Case) -> list[int]:
    """The exercise's own bound, else `needed`; at least one byte where every rank must hear of the others."""
    own = exercise.needs_bytes(case)
    least = int(exercise.all_hear and case.world_size > 1)
    return [max(least, found) for found in needed(exercise, case)] if own is None else own


def arrived(run: Run) -> list[float]:
    """Bytes that may have reached each rank: of the messages it received and of what others put into its collectives.
    Infinite where an operation does not say how many they were; a rank's messages to itself are none. What is empty
    tells something, too, by coming: all that had no bytes, messages and collectives, counts as one byte, for else
    their tags could spell numbers out."""
    found = [float(rank.carried or 0) for rank in run.ranks]
    heard = [False] * len(found)  # of what is empty
    senders = _senders(run)
    together: dict[object, list[Event]] = defaultdict(list)
    for event in run.events:
        kind, side = event.kind.lower(), direction(event.kind)
        if event.ended is None or kind in SILENT or "probe" in kind:
            continue
        if side == "recv":
            if _other_end(event, senders) != event.rank:
                found[event.rank] += event.nbytes
                heard[event.rank] |= not event.nbytes
        elif side == "send":
            if kind in ONE_SIDED and event.peer not in (None, event.rank):
                found[event.peer] += event.nbytes
        else:
            together[event.match if event.match is not None else (event.kind, event.group)].append(event)
    for events in together.values():
        size = sum(event.nbytes for event in events)
        for event in events:
            gets = event.peer in (None, event.rank) or event.kind.lower().removeprefix("i") not in _TO_THE_ROOT
            if gets and len({other.rank for other in events}) > 1:
                found[event.rank] += size if _tells(events) else math.inf
                heard[event.rank] |= not size
    return [most + empty for most, empty in zip(found, heard, strict=True)]


def lacking(exercise: Exercise, case: Case, run: Run) -> str:
    """A sentence if an answer with right numbers is not to be taken; "" if it is.

    A rank got too few bytes for what it returned, nobody communicated at all, a rank lives that was to die, or what
    ranks say of themselves cannot be (`Exercise.contradiction`).
    """
    if exercise.runtime == "plain" or case.world_size == 1:
        return ""
    senders = _senders(run)
    told = any(_goes_to_others(event, senders) for event in run.events)
    if exercise.talks and not told and not any(rank.carried for rank in run.ranks):
        return (
            "no rank has sent, received or called anything: whatever they know of each other, it did not come by "
            "communication"
        )
    for r, operation in case.kills.items():
        if not run.ranks[r].gone:
            return (
                f"rank {r} was to die in place of its operation {operation} (counted from 0) and has not got that far: "
                "whatever the ranks know of each other, it did not come by communication"
            )
    wanted, got = bound(exercise, case), arrived(run)
    for r, (least, most) in enumerate(zip(wanted, got, strict=True)):
        if most < least and not run.ranks[r].gone:
            return (
                f"rank {r} returned numbers that depend on what other ranks hold; at least {least:,} B of theirs must "
                "reach it, "
                f"but {most:,.0f} B came by messages and collectives"
            )
    return exercise.contradiction(case, run)


def _senders(run: Run) -> dict[int | None, int]:
    """The sender of each message, by its number."""
    return {event.match: event.rank for event in run.events if direction(event.kind) == "send"}


def _other_end(event: Event, senders: dict[int | None, int]) -> int | None:
    """The other rank of a message, also where it was received from any source; None where that is not known."""
    unknown = event.peer is None and event.match is not None and direction(event.kind) == "recv"
    return senders.get(event.match) if unknown else event.peer


def _goes_to_others(event: Event, senders: dict[int | None, int]) -> bool:
    """True if two ranks take part in it, and it tells something: a barrier does not."""
    alone = _other_end(event, senders) == event.rank if direction(event.kind) else event.group == (event.rank,)
    return event.kind.lower() not in SILENT and not alone


def _tells(events: Sequence[Event]) -> bool:
    """True if the sizes of a collective are known. Those of large pickled objects (`allreduce`, not `Allreduce`) are
    not; where all contributions are empty, their types are known."""
    return any(event.nbytes for event in events) or all(event.dtype for event in events)


def _numbers(value) -> Iterator[float]:
    """All numbers in a value of an exercise, nan left out: two of them are never the same."""
    return (number for number in _all_numbers(value) if not math.isnan(number))


def _all_numbers(value) -> Iterator[float]:
    if value is ANYTHING or value is None or isinstance(value, (str, bytes)):
        return
    if isinstance(value, (Tensor, Typed)):
        value = value.values
    if isinstance(value, (bool, int, float, np.generic)) or (isinstance(value, np.ndarray) and value.dtype != object):
        flat = np.asarray(value).ravel()
        if flat.dtype.kind in "biuf":
            yield from flat.astype(float).tolist()
        elif flat.dtype.kind == "c":
            yield from [*flat.real.tolist(), *flat.imag.tolist()]
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _all_numbers(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _all_numbers(entry)
