"""Matching of recorded operations that belong together: the two ends of a message, the members of a collective."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

from labkit.watch.events import Event
from labkit.watch.hang import ONE_SIDED, direction


def matched(recorded: list[Event], everybody: tuple[int, ...], from_the_end: bool) -> list[Event]:
    """The events with `match` and `started` filled in.

    MPI and torch.distributed keep the order of messages between two ranks and of collectives in a group, so the k-th
    send from a to b belongs to the k-th receive of b from a, tag by tag. When the beginning was overwritten the count
    runs from the end.
    """
    lanes: dict[Hashable, dict[Hashable, list[int]]] = defaultdict(lambda: defaultdict(list))
    for position, event in enumerate(recorded):
        side = direction(event.kind)
        if "probe" in event.kind.lower() or event.kind.lower() in ONE_SIDED or (side and event.peer is None):
            continue  # looking takes no message, and a receive from any source that nobody answered has no sender
        if side == "send":
            lanes["message", event.rank, event.peer, event.tag]["send"].append(position)
        elif side == "recv":
            lanes["message", event.peer, event.rank, event.tag]["recv"].append(position)
        else:
            lanes["collective", event.group or everybody][event.rank].append(position)
    result = list(recorded)
    numbers = itertools.count(1)
    for lane, sides in lanes.items():
        members = 2 if lane[0] == "message" else len(lane[1])
        longest = max(len(side) for side in sides.values())
        for k in range(longest):
            index = -1 - k if from_the_end else k
            partners = [side[index] for side in sides.values() if k < len(side)]
            if len(partners) > 1:
                _join(result, partners, next(numbers), complete=len(partners) == members)
            elif members == 1:
                _join(result, partners, next(numbers), complete=True)
    return [
        event if event.started is not None or event.ended is None else replace(event, started=event.posted)
        for event in result
    ]


def _join(result: list[Event], partners: list[int], match: int, complete: bool) -> None:
    last = max(result[position].posted for position in partners)
    for position in partners:
        event = result[position]
        started = None
        if complete:  # an eager send is over before its receiver comes
            started = last if event.ended is None else min(last, event.ended)
        elif event.ended is not None:
            started = event.posted
        result[position] = replace(event, match=match, started=started)
