"""Matches receives with sends, and the members of a collective with each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np

from labkit.interconnect.collectives import COLLECTIVES
from labkit.relay import wire
from labkit.relay.arithmetic import cut, reduce_bytes
from labkit.relay.operation import Group, Operation
from labkit.relay.phantom import Payload, joined
from labkit.watch.events import POINT_TO_POINT


class Mismatch(Exception):
    """Operations that belong together and do not fit. what: "calls", "reductions", "sizes" (of a collective) or
    "message"."""

    def __init__(self, what: str, ops: list[Operation]):
        self.what, self.ops = what, ops


Pair = tuple[Operation, Operation]  # a send and its receive
Queue = tuple[int, str]  # receiver and group


class Matcher:
    """The operations of one case that are not matched. random: decides which of several waiting senders an any-source
    receive takes.

    sends, recvs: of each queue, in the order in which they were posted.
    """

    def __init__(self, random: np.random.Generator):
        self.random = random
        self.sends: dict[Queue, list[Operation]] = {}
        self.recvs: dict[Queue, list[Operation]] = {}
        self._changed: set[Queue] = set()  # since `pair` was called
        self._open: set[Queue] = set()  # those whose first unmatched receive has senders to choose from, in time
        self._slots: dict[tuple[Group, int], list[Operation]] = {}
        self._sequence: dict[Queue, int] = {}
        self._matches = 0

    def post(self, op: Operation) -> list[Operation] | None:
        """Take an operation. Returns those of a collective that it completes, in the order of their members, with what
        each rank gets.

        Raises Mismatch where members have called different ones, the moment they do, and WireError for an unknown
        operation.
        """
        name = op.group.name
        if op.kind in ("send", "recv"):
            queues, to = (self.sends, op.peer) if op.kind == "send" else (self.recvs, op.rank)
            queues.setdefault((to, name), []).append(op)
            self._changed.add((to, name))
            return None
        number = self._sequence.get((op.rank, name), 0)
        self._sequence[op.rank, name] = number + 1
        slot = self._slots.setdefault((op.group, number), [])
        slot.append(op)
        _check_agreement(slot)
        if len(slot) < len(op.members):
            return None
        del self._slots[op.group, number]
        position = op.group.position
        ops = sorted(slot, key=lambda o: position[o.rank])
        self._match(ops)
        exchange(ops)
        return ops

    def _match(self, ops) -> None:
        self._matches += 1
        for op in ops:
            op.match = self._matches

    def pair(self, in_time: bool = False) -> list[Pair]:
        """Pair receives with sends: per receiver in the order of the receives, per sender in the order of the sends.
        Raises Mismatch.

        in_time: leave the any-source receives, and what comes behind them, for `pair_earliest`.
        """
        pairs: list[Pair] = []
        for queue in sorted(self._changed):
            self._open.discard(queue)
            sends, rest = self.sends.get(queue, []), []
            recvs = self.recvs.get(queue, ())
            for k, recv in enumerate(recvs):
                first = _first_of_each_sender(recv, sends)
                if in_time and recv.peer is None and first:
                    self._open.add(queue)
                    rest += recvs[k:]
                    break
                if not first:
                    rest.append(recv)
                    continue
                chosen = sorted(first)[self.random.integers(len(first)) if len(first) > 1 else 0]
                pairs.append(self._pair(first[chosen], recv, sends))
            if recvs:
                self.recvs[queue] = rest
        self._changed.clear()
        return pairs

    def pair_earliest(self, before: float) -> Pair | None:
        """The any-source receive that can begin first, with the sender that called first; where computing takes time,
        time decides. None if none can begin by `before`. Raises Mismatch."""
        candidates = []
        for queue in self._open:
            recv = next(r for r in self.recvs[queue] if _first_of_each_sender(r, self.sends[queue]))
            for send in _first_of_each_sender(recv, self.sends[queue]).values():
                candidates.append((max(send.posted, recv.posted), send.posted, queue, send.rank, send, recv))
        if not candidates or min(candidates)[0] > before:
            return None
        *_, queue, _, send, recv = min(candidates, key=lambda c: c[:4])
        self.recvs[queue].remove(recv)
        self._changed.add(queue)
        return self._pair(send, recv, self.sends[queue])

    def _pair(self, send: Operation, recv: Operation, sends: list[Operation]) -> Pair:
        sends.remove(send)
        if (send.dtype, send.elements) != (recv.dtype, recv.elements):
            raise Mismatch("message", [send, recv])
        self._match((send, recv))
        _refuse_mixed([send, recv])
        recv.data = send.payload
        recv.meta = {"source": recv.group.position.get(send.rank, send.rank)}
        return send, recv

    def leave(self, rank: int) -> list[Operation]:
        """A rank has died: returns what others have posted and what cannot be done without it, receives from any source
        in its groups included. What it had posted itself is gone with it."""
        lost: list[Operation] = []
        for queues in (self.sends, self.recvs):
            for queue, ops in queues.items():
                lost += [op for op in ops if rank in (op.rank, op.peer) or (op.peer is None and rank in op.members)]
                queues[queue] = [op for op in ops if op not in lost]
        self._changed |= self.sends.keys() | self.recvs.keys()
        for slot in [slot for slot, ops in self._slots.items() if rank in ops[0].members]:
            lost += self._slots.pop(slot)
        return [op for op in lost if op.rank != rank]

    def with_other_tags(self, waited: Collection[tuple[int, int]]) -> Iterator[tuple[Operation, Operation]]:
        """Sends and receives of the same two ranks that differ in their tags alone, and of which one is waited for.

        waited: (rank, ticket) of the operations that ranks wait for.
        """
        for key, recvs in sorted(self.recvs.items()):
            sends = self.sends.get(key, [])
            waited_sends = [send for send in sends if (send.rank, send.ticket) in waited]
            for recv in recvs:
                for send in sends if (recv.rank, recv.ticket) in waited else waited_sends:
                    if recv.peer in (None, send.rank) and recv.tag != send.tag:
                        yield send, recv


def _first_of_each_sender(recv: Operation, sends: list[Operation]) -> dict[int, Operation]:
    first: dict[int, Operation] = {}
    for send in sends:
        if send.tag == recv.tag and recv.peer in (None, send.rank):
            first.setdefault(send.rank, send)
    return first


def _check_agreement(slot: list[Operation]) -> None:
    """Raises Mismatch where the newest member of a collective has not called what the first one has, with the same
    sizes."""
    first, last = slot[0], slot[-1]
    same = (first.kind, first.root, first.reduce, first.group) == (last.kind, last.root, last.reduce, last.group)
    if same and (not COLLECTIVES[first.kind].sized or (first.dtype, first.elements) == (last.dtype, last.elements)):
        return
    raise Mismatch("reductions" if first.kind == last.kind and first.reduce != last.reduce else "calls", slot)


# -- what a collective does ------------------------------------------------------------------------


def exchange(ops: list[Operation]) -> None:
    """Give each member of a complete collective its data. Raises Mismatch("sizes"), WireError for an unknown one.

    A reduction that does not work on the type of the data is refused (`Operation.refused`), and so is one call of ranks
    with tensors on "meta" and ranks with others.
    """
    if ops[0].kind not in EXCHANGES:
        raise wire.WireError("an operation the relay does not know")
    if _refuse_mixed(ops):
        return
    try:
        EXCHANGES[ops[0].kind](ops)
    except TypeError:
        for op in ops:
            op.refused = f"the reduction {op.reduce} does not work on {op.dtype}"
    except ValueError:
        raise Mismatch("sizes", ops) from None


def _refuse_mixed(ops: list[Operation]) -> bool:
    """Refuse operations of which some bring a payload and others only its size. Returns whether that is so."""
    counted, carried = ([op for op in ops if op.phantom is there] for there in (True, False))
    if not (counted and carried):
        return False
    what = ops[0].kind if ops[0].kind == ops[-1].kind else "a message"
    for op in ops:
        op.refused = (
            f'{what}: the tensor of rank {counted[0].rank} is on the device "meta", counted and not carried, and that '
            f'of rank {carried[0].rank} has elements. Make the tensors of all these ranks on "meta", or none of them'
        )
    return True


def _nothing(ops: list[Operation]) -> None:
    pass


def _all_reduce(ops: list[Operation]) -> None:
    data = reduce_bytes([op.payload for op in ops], ops[0].dtype, ops[0].reduce)
    for op in ops:
        op.data = data if op.kind == "all_reduce" or op.rank == op.root else b""


def _broadcast(ops: list[Operation]) -> None:
    data = next(op.payload for op in ops if op.rank == op.root)
    for op in ops:
        op.data = b"" if op.rank == op.root else data


def _all_gather(ops: list[Operation]) -> None:
    sizes = [len(op.payload) for op in ops]
    data = joined([op.payload for op in ops])
    for op in ops:
        if op.kind == "all_gather" and op.sizes != sizes:
            raise ValueError("room for other sizes than those that arrive")
        op.data = data if op.kind == "all_gather" or op.rank == op.root else b""
        op.meta = {"sizes": sizes}


def _scatter(ops: list[Operation]) -> None:
    source = next(op for op in ops if op.rank == op.root)
    for op, piece in zip(ops, cut(source.payload, source.sizes, len(ops)), strict=True):
        op.data = _fitting(op, piece)


def _reduce_scatter(ops: list[Operation]) -> None:
    pieces = [cut(op.payload, op.sizes, len(ops)) for op in ops]
    for k, op in enumerate(ops):
        op.data = _fitting(op, reduce_bytes([p[k] for p in pieces], op.dtype, op.reduce))


def _all_to_all(ops: list[Operation]) -> None:
    pieces = [cut(op.payload, op.sizes, len(ops)) for op in ops]
    for k, op in enumerate(ops):
        mine = [p[k] for p in pieces]
        op.data, op.meta = joined(mine), {"sizes": [len(m) for m in mine]}


def _fitting(op: Operation, piece: Payload) -> Payload:
    if len(piece) != op.elements * wire.DTYPES[op.dtype]:
        raise ValueError("a piece that does not fit")
    return piece


EXCHANGES: dict[str, Callable[[list[Operation]], None]] = {
    "all_reduce": _all_reduce,
    "reduce": _all_reduce,
    "broadcast": _broadcast,
    "all_gather": _all_gather,
    "gather": _all_gather,
    "scatter": _scatter,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
    "barrier": _nothing,
}
KINDS = (*POINT_TO_POINT, *EXCHANGES)  # all that a rank can ask for
