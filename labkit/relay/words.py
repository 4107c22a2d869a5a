"""What words a hang: from the operations of a case in which nobody moves any more, or that do not fit, to a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labkit.relay.matcher import Mismatch
from labkit.relay.operation import Operation
from labkit.watch import hang
from labkit.watch.events import POINT_TO_POINT, Event, RankState


def state_of(op: Operation, ranks: int, completed: int = 0) -> RankState:
    """Where a rank stands that waits for `op`. ranks: of the case; completed: operations of this rank."""
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


def event_of(op: Operation) -> Event:
    """`op` as the timeline draws it."""
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
    )


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


def of_tags(
    pairs: Iterable[tuple[Operation, Operation]], waited: set, states: list[RankState]
) -> hang.HangReport | None:
    """A rank waits for a message whose other end was posted too, only with another tag (perhaps by an isend nobody
    waits for yet).

    pairs: of a send and a receive that would fit but for their tags. waited: (rank, ticket) of the operations that
    ranks wait for.
    """
    for send, recv in pairs:
        if {(recv.rank, recv.ticket), (send.rank, send.ticket)} & waited:
            what = (
                f"Rank {send.rank} sends to rank {recv.rank} with tag {send.tag}, "
                f"but rank {recv.rank} receives with tag {recv.tag}."
            )
            return _report("mismatched_tag", what, states)
    return None


def of_endless_polls(polling: Sequence[int], states: list[RankState]) -> hang.HangReport:
    """polling: ranks that ask again and again, while nobody else does anything."""
    what = f"{hang.list_ranks(polling).capitalize()} {'polls' if len(polling) == 1 else 'poll'} without end."
    return _report("endless_poll", what, states)


def _report(kind: str, what: str, states: list[RankState]) -> hang.HangReport:
    return hang.HangReport(kind, f"{what} {hang.KINDS[kind]}", tuple(map(hang.describe, states)))
