"""The virtual clock: seconds of computing and of a network's links, and the order of printed lines."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Sequence

from labkit.interconnect.collectives import COLLECTIVES
from labkit.interconnect.topology import Card, CollectiveCost, Topology
from labkit.relay.operation import Group, Operation
from labkit.watch.events import Event

LARGEST = 1e9  # seconds of computing, at a time


class Clock:
    """The time of one case.

    Computing takes what is charged for it (`compute`). Messages take what the links of the topology cost, and queue for
    the cards; a group's collectives queue behind each other besides, as a library runs them. Lines are ordered by
    vector clocks (Mattern 1989).

    now: virtual seconds, of each rank; busy: those of them in which it computed. computed: an event for each piece of
    computing. memory: of each rank, (virtual seconds, bytes alive from then on). link_bytes: that went over links of
    each class. known: each rank's vector clock, how many lines of every rank came before what it does next.
    """

    def __init__(self, n: int, topology: Topology):
        self.topology = topology
        self.now, self.busy = [0.0] * n, [0.0] * n
        self.computed: list[Event] = []
        self.memory: list[list[tuple[float, int]]] = [[] for _ in range(n)]
        self.link_bytes: Counter[str] = Counter()
        self.known: list[tuple[int, ...]] = [(0,) * n] * n
        self._out_free: dict[Card, float] = {}
        self._in_free: dict[Card, float] = {}
        self._group_free: dict[str, float] = {}
        self._queues: dict[str, deque[Sequence[Operation]]] = {}  # of a group, collectives that all members have called
        self._reached = 0.0  # when the latest of what is complete has begun
        self._costs: dict[tuple[Group, str, int | None], CollectiveCost] = {}
        self._ready: list[tuple] = []  # a heap: when it can begin at the earliest, who and which, the operations
        self._lines: list[list[tuple[str, tuple[int, ...]]]] = [[] for _ in range(n)]  # what it said, what it knew

    def compute(self, rank: int, seconds: float, label: str = "", line: str = "") -> None:
        """A rank computes for so long. Raises ValueError where that is no time."""
        if not 0 <= seconds <= LARGEST:
            raise ValueError(f"computing for {seconds} seconds")
        began, self.now[rank] = self.now[rank], self.now[rank] + seconds
        self.busy[rank] += seconds
        self.computed.append(Event(rank, "compute", began, began, self.now[rank], line=line, label=label))

    def holds(self, rank: int, nbytes: int) -> None:
        """From now on so many bytes of a rank are alive. Raises ValueError where that is no size."""
        if not 0 <= nbytes < 1 << 62:
            raise ValueError(f"{nbytes} bytes alive")
        self.memory[rank].append((self.now[rank], nbytes))

    def start(self, rank: int) -> None:
        """A rank starts now: after all that was said before."""
        self.known[rank] = tuple(map(len, self._lines))

    def catch_up(self, rank: int) -> None:
        """A late rank is about to start: at the time to which the others have come.

        It would otherwise call at a time that has passed, and queue behind what began later than its call.
        """
        self.now[rank] = max(self._reached, *self.now)

    def say(self, rank: int, line: str) -> None:
        """A rank says a line."""
        known = self.known[rank]
        self._lines[rank].append((line, known))
        self.known[rank] = (*known[:rank], known[rank] + 1, *known[rank + 1 :])

    def post(self, op: Operation) -> None:
        """An operation is posted now."""
        op.posted, op.clock = self.now[op.rank], self.known[op.rank]

    def learn(self, op: Operation) -> None:
        """The rank of a completed operation has waited for it."""
        self.now[op.rank] = max(self.now[op.rank], op.ended)
        if op.clock_after and op.clock_after != self.known[op.rank]:
            self.known[op.rank] = _latest([self.known[op.rank], op.clock_after])

    def ready(self, ops: Sequence[Operation]) -> None:
        """A send and its receive, or all members of a collective, have found each other."""
        if ops[0].kind != "send":  # a group's collectives run in the order of the calls, whatever cards are free
            queue = self._queues.setdefault(ops[0].group.name, deque())
            queue.append(ops)
            if len(queue) > 1:
                return
        self._push(ops, self._start_of(ops))

    def next_start(self) -> float:
        """The earliest start among the ready operations; infinity if none is ready."""
        return self._ready[0][0] if self._ready else float("inf")

    def complete_earliest(self) -> list[Sequence[Operation]]:
        """Completes those of the ready operations that begin first; the cards that they occupy make the others wait."""
        complete: list[Sequence[Operation]] = []
        earliest = float("inf")
        while self._ready and self._ready[0][0] <= earliest:
            *_, ops = heapq.heappop(self._ready)
            start = self._start_of(ops)
            if start > self.next_start() or start > earliest:  # a card has been taken meanwhile
                self._push(ops, start)
                continue
            earliest = self._reached = start
            self._transfer(*ops, start) if ops[0].kind == "send" else self._exchange(ops, start)
            complete.append(ops)
        return complete

    def _push(self, ops: Sequence[Operation], start: float) -> None:
        first, last = ops[0], ops[-1]
        heapq.heappush(self._ready, (start, first.rank, last.rank, first.ticket, ops))

    def _start_of(self, ops: Sequence[Operation]) -> float:
        start = max(op.posted for op in ops)
        if ops[0].kind == "send":
            out, into = self.topology.cards(ops[0].rank, ops[1].rank)
            return max(start, self._out_free.get(out, 0.0), self._in_free.get(into, 0.0))
        cost, start = self._cost(ops[0]), max(start, self._group_free.get(ops[0].group.name, 0.0))
        for free, cards in ((self._out_free, cost.out), (self._in_free, cost.into)):
            start = max(start, max((free.get(card, 0.0) for card in cards), default=0.0))
        return start

    def _transfer(self, send: Operation, recv: Operation, start: float) -> None:
        link, nbytes = self.topology.link(send.rank, recv.rank), len(send.payload)
        out, into = self.topology.cards(send.rank, recv.rank)
        self._out_free[out] = self._in_free[into] = start + link.occupied(nbytes)
        self.link_bytes[self.topology.kind(send.rank, recv.rank)] += nbytes
        send.started = recv.started = start
        send.ended = recv.ended = start + link.seconds(nbytes)
        recv.clock_after = send.clock  # not the other way round: a send may be over before it is received

    def _exchange(self, ops: Sequence[Operation], start: float) -> None:
        cost, nbytes = self._cost(ops[0]), max(len(op.payload) for op in ops)
        if (pieces := _uneven_pieces(ops)) is not None:
            cost, nbytes = self.topology.uneven(ops[0].kind, _from_the_root(ops[0]), pieces), 1
        for free, cards in ((self._out_free, cost.out), (self._in_free, cost.into)):
            for card, (overhead, per_byte) in cards.items():
                free[card] = start + overhead + nbytes * per_byte
        for kind, share in cost.shares.items():
            self.link_bytes[kind] += share * nbytes
        ended = start + cost.seconds(nbytes)
        self._group_free[ops[0].group.name] = ended
        latest = _latest([op.clock for op in ops])
        for op in ops:
            op.started, op.ended, op.clock_after = start, ended, latest
        queue = self._queues[ops[0].group.name]
        queue.popleft()
        if queue:
            self._push(queue[0], self._start_of(queue[0]))

    def _cost(self, op: Operation) -> CollectiveCost:
        root = op.root if COLLECTIVES[op.kind].rooted else None
        key = op.group, op.kind, root
        if key not in self._costs:
            self._costs[key] = self.topology.collective(op.kind, _from_the_root(op))
        return self._costs[key]

    def lines_in_causal_order(self) -> list[tuple[int, str]]:
        """All lines: (rank, line). Where no message decides who was first, the highest rank is: a program that relies
        on luck is found out, and the order does not depend on how busy the machine is."""
        said, out = [], [0] * len(self._lines)
        while len(said) < sum(map(len, self._lines)):
            for r in reversed(range(len(self._lines))):
                if out[r] < len(self._lines[r]):
                    line, known = self._lines[r][out[r]]
                    if all(before <= there for before, there in zip(known, out, strict=True)):
                        break
            said.append((r, line))
            out[r] += 1
        return said


def _from_the_root(op: Operation) -> tuple[int, ...]:
    """The members of its group; where it has a root, beginning with that."""
    at = op.group.position[op.root] if COLLECTIVES[op.kind].rooted else 0
    return op.members[at:] + op.members[:at]


def _uneven_pieces(ops: Sequence[Operation]) -> list[list[int]] | None:
    """Bytes of the pieces that a collective deals out (`topology.uneven_rounds`), where they are of different sizes."""
    first = ops[0]
    if COLLECTIVES[first.kind].dealt is None:
        return None
    givers = [op for op in ops if op.rank == op.root] if first.kind == "scatter" else ops
    if len({size for op in givers for size in op.sizes}) < 2:
        return None
    at = first.group.position[first.root] if first.kind == "scatter" else 0
    return [op.sizes[at:] + op.sizes[:at] for op in givers]


def _latest(clocks: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The element-wise largest of several vector clocks."""
    different = list({id(clock): clock for clock in clocks}.values())
    return tuple(map(max, *different)) if len(different) > 1 else different[0]
