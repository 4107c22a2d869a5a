"""Words a hang: makes a report of the operations of a case that stands still or whose operations do not match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from labkit.relay import wire
from labkit.relay.matcher import Mismatch
from labkit.relay.operation import Group, Groups, Operation
from labkit.watch import hang
from labkit.watch.events import POINT_TO_POINT, Event, RankState

_SAMPLE = 256  # values of a payload


def state_of(op: Operation, ranks: int, completed: int = 0) -> RankState:
    """The state of a rank that waits for `op`. ranks: of the case; completed: operations of this rank."""
    return RankState(
        op.rank,
        "waiting",
        kind=op.kind,
        peer=op.peer if op.kind in POINT_TO_POINT else op.root,
        tag=op.tag,
        nbytes=op.nbytes,
        dtype=op.dtype,
        shape=op.shape,
        group=None if len(op.members) == ranks else op.members,
        line=op.line,
        operations=completed,
    )


def event_of(op: Operation, describe_payload: bool = False) -> Event:
    """`op` as the timeline draws it. describe_payload: with `Event.squares` and `Event.varied`."""
    return Event(
        op.rank,
        op.kind,
        op.posted,
        op.started,
        None if op.gone else op.ended,
        peer=op.peer if op.kind in POINT_TO_POINT else op.root,
        tag=op.tag,
        nbytes=op.nbytes,
        group=op.members,
        line=op.line,
        match=op.match,
        dtype=op.dtype,
        refused=bool(op.gone),
        **(_described(op) if describe_payload else {}),
    )


def _described(op: Operation) -> dict[str, float | None]:
    """`Event.squares` and `Event.varied` of what a rank handed over."""
    size = wire.DTYPES.get(op.dtype, 1)
    count = len(op.payload) // size
    if not count:
        return {}
    places = range(0, count, max(1, count // _SAMPLE))
    found = {bytes(op.payload[size * k : size * (k + 1)]) for k in places}
    numbers = np.frombuffer(op.payload, np.float64) if op.dtype == "float64" else None
    return {"squares": None if numbers is None else float(numbers @ numbers), "varied": len(found) / len(places)}


def of_mismatch(mismatch: Mismatch, states: list[RankState]) -> hang.HangReport:
    """states: of all ranks."""
    ops = mismatch.ops
    if mismatch.what == "reductions":
        rows = tuple(f"rank {op.rank}  {op.kind} ({op.reduce})   {op.line}" for op in ops)
        how = f"({ops[0].reduce}, {ops[-1].reduce})"
        what = f"The ranks called {ops[0].kind} with different reductions {how}."
        return hang.HangReport("mismatched_collective", what, rows)
    for op in ops:
        states[op.rank] = state_of(op, len(states), states[op.rank].operations)
    if mismatch.what == "calls":
        return hang.explain(states)
    if mismatch.what == "sizes":
        return _report(
            "mismatched_shape", f"The ranks called {ops[0].kind} with sizes that do not fit together.", states
        )
    send, recv = ops
    what = (
        f"Rank {send.rank} sends {send.elements} elements of {send.dtype} to rank {recv.rank}, "
        f"which has made room for {recv.elements} of {recv.dtype}."
    )
    return _report("mismatched_dtype" if send.dtype != recv.dtype else "mismatched_shape", what, states)


def of_tags(pairs: Iterable[tuple[Operation, Operation]], states: list[RankState]) -> hang.HangReport | None:
    """A rank waits for a message whose other end was posted too, only with another tag (perhaps by an isend nobody
    waits for yet).

    pairs: of a send and a receive that would fit but for their tags, and of which one is waited for.
    """
    for send, recv in pairs:
        what = (
            f"Rank {send.rank} sends to rank {recv.rank} with tag {send.tag}, "
            f"but rank {recv.rank} receives with tag {recv.tag}."
        )
        return _report("mismatched_tag", what, states)
    return None


def of_groups(groups: Groups, waiting: Iterable[Operation], states: list[RankState]) -> hang.HangReport | None:
    """Not all ranks have made the same groups: two by one call, or one by two. waiting: what ranks wait for."""
    if groups.two_of_one_call:
        made = " and ".join(f"the group {list(group.members)}" for group in _in_order(groups.two_of_one_call))
        return _report("partial_group", f"On different ranks, the same call of new_group has made {made}.", states)
    for op in waiting:
        if groups.made_by_two_calls(op.group):
            where = f"Rank {op.rank} waits in {op.kind} of the group {list(op.members)}"
            return _report("partial_group", f"{where}, which its members have made by different calls.", states)
    return None


def _in_order(groups: Iterable[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: group.members)


def of_endless_polls(polling: Sequence[int], states: list[RankState]) -> hang.HangReport:
    """polling: ranks that ask again and again, while nobody else does anything."""
    what = f"{hang.list_ranks(polling).capitalize()} {'polls' if len(polling) == 1 else 'poll'} without end."
    return _report("endless_poll", what, states)


def _report(kind: str, what: str, states: list[RankState]) -> hang.HangReport:
    return hang.HangReport(kind, f"{what} {hang.KINDS[kind]}", tuple(map(hang.describe, states)))
