"""The network of the checks: a relay outside the ranks that matches their operations, moves the bytes and knows who waits for whom.

Time is virtual. Computing costs nothing; a message costs alpha + bytes x beta; every rank has one full-duplex port, so messages through
the same port queue up. The relay completes messages only when no rank is running, the earliest first (a discrete-event simulation):
that makes virtual times, any-source receives and verdicts the same on every machine, however busy it is.

Only numpy is needed here: the relay never imports torch and never executes anything a rank has sent.
"""

from __future__ import annotations

import math
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from labkit.relay import wire
from labkit.relay.arithmetic import collective_seconds, cut, reduce_bytes
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch import hang, standstill
from labkit.watch.events import Event, RankState

# What the ranks of one case may ask of the relay. Far more than any exercise needs; what goes beyond is a rank that means harm.
MAX_OPERATIONS = 100_000
MAX_PENDING = 2_000  # messages of one rank that are under way: matching them takes time with the square
MAX_BYTES = 256 << 20  # of all messages and results together
MAX_FRUITLESS_POLLS = 2_000
MAX_DIMENSIONS = 64
_LEADER = -1  # in place of a rank
SEND_TIMEOUT = 20.0  # seconds a rank may leave a message unread


@dataclass
class Operation:
    """One posted operation of one rank."""

    rank: int
    ticket: int
    kind: str
    group: str
    members: tuple[int, ...]
    peer: int | None
    tag: int
    dtype: str
    shape: tuple[int, ...]
    root: int | None
    reduce: str
    sizes: list[int]
    line: str
    payload: bytes
    posted: float
    started: float | None = None
    ended: float | None = None
    match: int | None = None
    meta: dict = field(default_factory=dict)  # the reply
    data: bytes = b""
    awaited: bool = False
    asked: bool = False  # by a poll
    refused: str = ""  # why it cannot be done; told to the rank instead of a result
    heard: tuple[int, ...] = ()  # how many lines of each rank had been said when it was posted, as far as its rank can know
    learned: tuple[int, ...] = ()  # the same, for whoever has seen it completed

    @property
    def done(self) -> bool:
        return self.ended is not None

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes handed over; for a recv the bytes asked for."""
        return len(self.payload) if self.kind != "recv" else self.elements * wire.DTYPES.get(self.dtype, 1)


class _Mismatch(Exception):
    def __init__(self, report: hang.HangReport):
        self.report = report


class Relay:
    """Runs one case over already connected sockets, one per rank.

    jobs: per rank (meta, payload), sent when the rank may start. late: ranks that start only when all others wait or are done.
    seed: decides which of several waiting senders an any-source receive takes. deadline: wall-clock seconds for the whole case.
    case: whose leader says what the ranks' processes do (`lifeline`, a socket, and `windows()`, what came over it); patience: see `labkit.watch.standstill.Silence`.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        jobs: Sequence[tuple[dict, bytes]],
        *,
        alpha: float = 5e-6,
        beta: float = 1e-10,
        late: Sequence[int] = (),
        seed: int = 0,
        deadline: float = 60.0,
        cancelled: Callable[[], bool] = lambda: False,
        case=None,
        patience: float = 0.0,
    ):
        self.sockets, self.jobs = list(sockets), list(jobs)
        self.alpha, self.beta = alpha, beta
        self.late = [r for r in late if 0 <= r < len(sockets)]
        self.random = np.random.default_rng(seed)
        self.deadline, self.cancelled = deadline, cancelled
        self.case, self.silence, self.silent_too_long = case, standstill.Silence(patience), False
        n = len(self.sockets)
        self.ranks = [RankOutcome() for _ in range(n)]
        self.operations: list[dict[int, Operation]] = [{} for _ in range(n)]
        self.waiting_for: list[int | None] = [None] * n
        self.slots: dict[tuple[str, int], list[Operation]] = {}
        self.sequence: dict[tuple[int, str], int] = {}
        self.sends: dict[tuple[int, str], list[Operation]] = {}
        self.recvs: dict[tuple[int, str], list[Operation]] = {}
        self.pairs: list[tuple[Operation, Operation]] = []
        self.out_free, self.in_free = [0.0] * n, [0.0] * n
        self.history: list[Operation] = []
        self.lines: list[list[tuple[str, tuple[int, ...]]]] = [[] for _ in range(n)]  # per rank: what it said, what it had heard
        self.heard = [[0] * n for _ in range(n)]  # per rank: how many lines of each rank came before, by its own messages
        self.matches = 0
        self.polls = 0
        self.pending = [0] * n  # sends and receives that are not complete
        self.bytes = 0  # that arrived in whole records
        self.inboxes: dict[int, wire.Inbox] = {}
        self.report: hang.HangReport | None = None

    # -- the loop
    def run(self) -> Outcome:
        too_slow = False
        end = time.monotonic() + self.deadline
        with selectors.DefaultSelector() as selector:
            for r, sock in enumerate(self.sockets):
                sock.settimeout(SEND_TIMEOUT)
                self.inboxes[r] = wire.Inbox(sock)
                selector.register(sock, selectors.EVENT_READ, r)
            if self.case is not None:
                selector.register(self.case.lifeline, selectors.EVENT_READ, _LEADER)
            for r in range(len(self.sockets)):
                if r not in self.late:
                    self._start(r)
            try:
                while self.report is None:
                    left = end - time.monotonic()
                    if left <= 0 or self.silent_too_long or self.cancelled():
                        too_slow = True
                        break
                    if not any(r.state == "running" for r in self.ranks):
                        if not self._advance():
                            break
                        continue
                    for r in sorted((key.data for key, _ in selector.select(min(left, 0.5))), reverse=True):
                        self._read(selector, r) if r != _LEADER else self._read_leader(
                            selector
                        )  # what ranks have said comes first
            except _Mismatch as mismatch:
                self.report = mismatch.report
        for r, rank in enumerate(self.ranks):
            rank.unwaited = sum(not op.awaited for op in self.operations[r].values())
        return Outcome(self.ranks, self._said(), self._events(), self.report, too_slow)

    def _start(self, r: int) -> None:
        self.ranks[r].state = "running"
        self.heard[r] = [len(said) for said in self.lines]  # a late rank comes after all that was said before
        self._send(r, wire.JOB, *self.jobs[r])

    def _read_leader(self, selector) -> None:
        running = [r for r, rank in enumerate(self.ranks) if rank.state == "running"]
        try:
            for window in self.case.windows():
                self.silent_too_long = self.silence.too_long(window, running)
        except (wire.Closed, wire.WireError, AttributeError, KeyError, TypeError, ValueError):
            selector.unregister(self.case.lifeline)

    def _send(self, r: int, kind: int, meta: dict, payload: bytes = b"") -> None:
        self.silence.heard(r)
        try:
            wire.send(self.sockets[r], kind, meta, payload)
        except OSError:
            self.ranks[r].state = "dead"

    def _read(self, selector, r: int) -> None:
        self.silence.heard(r)
        try:
            for kind, meta, payload in self.inboxes[r].frames():
                self.bytes += len(payload)
                self._handle(r, kind, meta, payload)
            if self.bytes + sum(inbox.waiting for inbox in self.inboxes.values()) > MAX_BYTES:
                raise wire.TooMuch(f"more than {MAX_BYTES >> 20} MB of messages in one case")
        except wire.Closed:
            selector.unregister(self.sockets[r])
            if self.ranks[r].state not in ("returned", "raised"):
                self.ranks[r].state = "dead"
        except _Mismatch:
            raise
        except Exception as error:  # whatever a rank makes up must never end the judge
            selector.unregister(self.sockets[r])
            self.inboxes[r].clear()
            self.ranks[r].state = "dead"
            kind = "too_much" if isinstance(error, wire.TooMuch) else "protocol"
            self.ranks[r].error = {"type": kind, "text": f"{type(error).__name__}: {error}", "rows": []}

    def _handle(self, r: int, kind: int, meta: dict, payload: bytes) -> None:
        rank = self.ranks[r]
        if rank.state in ("returned", "raised", "dead"):
            raise wire.WireError("a record after the end")
        if kind == wire.POST:
            self._post(self._operation(r, meta, payload))
        elif kind in (wire.WAIT, wire.POLL):
            op = self.operations[r].get(meta.get("ticket"))
            if op is None:
                raise wire.WireError("a wait for something that was never posted")
            op.awaited = op.awaited or kind == wire.WAIT  # asking is not waiting, unless the answer is yes
            rank.deferred += bool(meta.get("later"))
            if kind == wire.POLL and not op.asked:  # nothing is done at once: who asks must be ready for a no
                op.asked = True
                self._send(r, wire.REPLY, {"done": False})
                return
            self.waiting_for[r] = op.ticket
            rank.state = "waiting" if kind == wire.WAIT else "polling"
            if op.done:
                self._deliver(op)
        elif kind == wire.PRINT:
            for line in rank.say(meta):
                self.lines[r].append((line, tuple(self.heard[r])))
                self.heard[r][r] += 1
        elif kind == wire.RESULT:
            rank.value, rank.after = wire.decode(meta["value"], payload)
            rank.state = "returned"
        elif kind == wire.RAISED:
            rank.error = {
                "type": str(meta.get("type"))[:200],
                "text": str(meta.get("text"))[:2000],
                "rows": [str(row)[:300] for row in list(meta.get("rows", []))[:8]],
            }
            rank.state = "raised"
        else:
            raise wire.WireError("a record of unknown type")

    # -- posting
    def _operation(self, r: int, meta: dict, payload: bytes) -> Operation:
        n = len(self.ranks)
        members = tuple(int(m) for m in meta["members"])
        peer = meta.get("peer")
        shape = tuple(int(s) for s in meta.get("shape", []))
        sizes = [int(s) for s in meta.get("sizes", [])]
        root = meta.get("root")
        if r not in members or min(members) < 0 or max(members) >= n or len(set(members)) < len(members):
            raise wire.WireError("an operation outside its group")
        if len(shape) > MAX_DIMENSIONS or any(not 0 <= s < 1 << 48 for s in shape) or len(sizes) > n:
            raise wire.WireError("an operation of impossible size")
        if root is not None and (type(root) is not int or root not in members):
            raise wire.WireError("a root outside its group")
        if peer is not None and not 0 <= int(peer) < n:
            raise wire.WireError("a peer that does not exist")
        if len(self.history) >= MAX_OPERATIONS:
            raise wire.TooMuch(f"more than {MAX_OPERATIONS} operations in one case")
        op = Operation(
            rank=r,
            ticket=int(meta["ticket"]),
            kind=str(meta["op"])[:40],
            group=str(meta["group"])[:100],
            members=members,
            peer=None if peer is None else int(peer),
            tag=_tag(meta.get("tag", 0)),
            dtype=str(meta.get("dtype", ""))[:20],
            shape=shape,
            root=root,
            reduce=str(meta.get("reduce", ""))[:10],
            sizes=sizes,
            line=str(meta.get("line", ""))[:200],
            payload=payload,
            posted=self.ranks[r].clock,
            heard=tuple(self.heard[r]),
        )
        if op.ticket in self.operations[r]:
            raise wire.WireError("a ticket used twice")
        if op.kind == "send" and len(payload) != op.elements * wire.DTYPES.get(op.dtype, 0):
            raise wire.WireError("a message whose bytes and shape differ")
        if op.kind in ("send", "recv"):
            self.pending[r] += 1
            if self.pending[r] > MAX_PENDING:
                raise wire.TooMuch(f"more than {MAX_PENDING} messages at a time")
        self.operations[r][op.ticket] = op
        self.history.append(op)
        return op

    def _post(self, op: Operation) -> None:
        rank = self.ranks[op.rank]
        if op.kind == "send":
            rank.sends += 1
            rank.sent_bytes += len(op.payload)
            self.sends.setdefault((op.peer, op.group), []).append(op)
            return
        if op.kind == "recv":
            self.recvs.setdefault((op.rank, op.group), []).append(op)
            return
        rank.collectives.append(op.kind)
        rank.collective_bytes += len(op.payload)
        number = self.sequence.get((op.rank, op.group), 0)
        self.sequence[op.rank, op.group] = number + 1
        slot = self.slots.setdefault((op.group, number), [])
        slot.append(op)
        self._check_slot(slot)
        if len(slot) == len(op.members):
            self._complete_collective(sorted(slot, key=lambda o: o.members.index(o.rank)))
            del self.slots[op.group, number]

    def _check_slot(self, slot: list[Operation]) -> None:
        """All members of a collective must have called the same one, with the same sizes: said the moment they differ."""
        first, last = slot[0], slot[-1]
        sized = first.kind in ("all_reduce", "broadcast", "reduce", "reduce_scatter", "gather", "scatter")
        same = (
            first.kind == last.kind and first.root == last.root and first.reduce == last.reduce and first.members == last.members
        )
        if same and (not sized or (first.dtype == last.dtype and first.elements == last.elements)):
            return
        if first.reduce != last.reduce and first.kind == last.kind:
            rows = tuple(f"rank {op.rank}  {op.kind} ({op.reduce})   {op.line}" for op in slot)
            raise _Mismatch(
                hang.HangReport(
                    "mismatched_collective",
                    f"The ranks called {first.kind} with different reductions ({first.reduce}, {last.reduce}).",
                    rows,
                )
            )
        states = self._states()
        for op in slot:
            states[op.rank] = self._state_of(op)
        raise _Mismatch(hang.explain(states))

    # -- collectives
    def _complete_collective(self, ops: list[Operation]) -> None:
        started = max(op.posted for op in ops)
        self.matches += 1
        try:
            self._move(ops)
        except TypeError:
            for op in ops:
                op.refused = f"the reduction {op.reduce} does not work on {op.dtype}"
        except ValueError:
            states = self._states()
            for op in ops:
                states[op.rank] = self._state_of(op)
            rows = tuple(hang.describe(s) for s in states)
            what = f"The ranks called {ops[0].kind} with sizes that do not fit together. {hang.KINDS['mismatched_shape']}"
            raise _Mismatch(hang.HangReport("mismatched_shape", what, rows)) from None
        ended = started + collective_seconds(ops[0].kind, len(ops), max(len(op.payload) for op in ops), self.alpha, self.beta)
        for op in ops:
            op.started, op.ended, op.match = started, ended, self.matches
            op.learned = _latest([other.heard for other in ops])
        for op in ops:
            if self.waiting_for[op.rank] == op.ticket:
                self._deliver(op)

    def _move(self, ops: list[Operation]) -> None:
        kind, n = ops[0].kind, len(ops)
        root = ops[0].root
        if kind == "all_reduce":
            data = reduce_bytes([op.payload for op in ops], ops[0].dtype, ops[0].reduce)
            for op in ops:
                op.data = data
        elif kind == "reduce":
            data = reduce_bytes([op.payload for op in ops], ops[0].dtype, ops[0].reduce)
            for op in ops:
                op.data = data if op.rank == root else b""
        elif kind == "broadcast":
            data = next(op.payload for op in ops if op.rank == root)
            for op in ops:
                op.data = b"" if op.rank == root else data
        elif kind in ("all_gather", "gather"):
            sizes = [len(op.payload) for op in ops]
            data = b"".join(op.payload for op in ops)
            for op in ops:
                if kind == "all_gather" and op.sizes != sizes:
                    raise ValueError("room for other sizes than those that arrive")
                op.data = data if kind == "all_gather" or op.rank == root else b""
                op.meta = {"sizes": sizes}
        elif kind == "scatter":
            source = next(op for op in ops if op.rank == root)
            for op, piece in zip(ops, cut(source.payload, source.sizes, n), strict=True):
                if len(piece) != op.elements * wire.DTYPES[op.dtype]:
                    raise ValueError("a piece that does not fit")
                op.data = piece
        elif kind == "reduce_scatter":
            pieces = [cut(op.payload, op.sizes, n) for op in ops]
            for k, op in enumerate(ops):
                op.data = reduce_bytes([p[k] for p in pieces], op.dtype, op.reduce)
                if len(op.data) != op.elements * wire.DTYPES[op.dtype]:
                    raise ValueError("a piece that does not fit")
        elif kind == "all_to_all":
            pieces = [cut(op.payload, op.sizes, n) for op in ops]
            for k, op in enumerate(ops):
                mine = [p[k] for p in pieces]
                op.data, op.meta = b"".join(mine), {"sizes": [len(m) for m in mine]}
        elif kind != "barrier":
            raise wire.WireError("an operation the relay does not know")

    # -- messages
    def _match(self) -> None:
        """Pair receives with sends: per receiver in the order of the receives, per sender in the order of the sends."""
        for key in sorted(self.recvs):
            sends = self.sends.get(key, [])
            rest = []
            for recv in self.recvs[key]:
                send = self._partner(recv, sends)
                if send is None:
                    rest.append(recv)
                    continue
                sends.remove(send)
                self._agree(send, recv)
                self.matches += 1
                send.match = recv.match = self.matches
                self.pairs.append((send, recv))
            self.recvs[key] = rest

    def _partner(self, recv: Operation, sends: list[Operation]) -> Operation | None:
        first: dict[int, Operation] = {}
        for send in sends:
            if send.tag == recv.tag and recv.peer in (None, send.rank):
                first.setdefault(send.rank, send)
        if not first:
            return None
        return first[sorted(first)[self.random.integers(len(first))]]

    def _agree(self, send: Operation, recv: Operation) -> None:
        if send.dtype == recv.dtype and send.elements == recv.elements:
            return
        kind = "mismatched_dtype" if send.dtype != recv.dtype else "mismatched_shape"
        states = self._states()
        states[send.rank], states[recv.rank] = self._state_of(send), self._state_of(recv)
        what = (
            f"Rank {send.rank} sends {send.elements} elements of {send.dtype} to rank {recv.rank}, "
            f"which has made room for {recv.elements} of {recv.dtype}."
        )
        raise _Mismatch(hang.HangReport(kind, f"{what} {hang.KINDS[kind]}", tuple(hang.describe(s) for s in states)))

    def _start_of(self, pair: tuple[Operation, Operation]) -> float:
        send, recv = pair
        return max(send.posted, recv.posted, self.out_free[send.rank], self.in_free[recv.rank])

    def _transfer_earliest(self) -> None:
        """Complete the pairs that start first; ports make the others wait."""
        earliest = min(self._start_of(pair) for pair in self.pairs)
        rest = []
        for pair in sorted(self.pairs, key=lambda p: (p[0].rank, p[1].rank, p[0].ticket)):
            if self._start_of(pair) > earliest:
                rest.append(pair)
                continue
            send, recv = pair
            ended = earliest + self.alpha + len(send.payload) * self.beta
            self.out_free[send.rank] = self.in_free[recv.rank] = ended
            send.started = recv.started = earliest
            send.ended = recv.ended = ended
            recv.data = send.payload
            recv.learned = send.heard  # not the other way round: a send may be over before it is received
            recv.meta = {"source": recv.members.index(send.rank) if send.rank in recv.members else send.rank}
            receiver = self.ranks[recv.rank]
            receiver.recvs += 1
            receiver.received_bytes += len(send.payload)
            for op in pair:
                self.pending[op.rank] -= 1
                if self.waiting_for[op.rank] == op.ticket:
                    self._deliver(op)
        self.pairs = rest

    def _deliver(self, op: Operation) -> None:
        rank = self.ranks[op.rank]
        polled = rank.state == "polling"
        rank.clock = max(rank.clock, op.ended)
        if op.learned:
            self.heard[op.rank] = list(_latest([self.heard[op.rank], op.learned]))
        rank.state = "running"
        op.awaited = True
        self.waiting_for[op.rank] = None
        self.polls = 0
        if op.refused:
            self._send(op.rank, wire.FAIL, {"error": op.refused})
        else:
            self._send(op.rank, wire.REPLY, {**op.meta, "done": True} if polled else op.meta, op.data)
        op.data = b""

    # -- when nobody runs
    def _advance(self) -> bool:
        """Nobody is running: let the earliest thing happen. False when the case is over."""
        self._match()
        if self.pairs:
            self._transfer_earliest()
            return True
        if self.late:
            self._start(self.late.pop(0))
            return True
        polling = [r for r, rank in enumerate(self.ranks) if rank.state == "polling"]
        if polling and self.polls < MAX_FRUITLESS_POLLS:
            self.polls += 1
            for r in polling:
                self.ranks[r].state = "running"
                self.waiting_for[r] = None
                self._send(r, wire.REPLY, {"done": False})
            return True
        if polling:
            states = self._states()
            rows = tuple(hang.describe(s) for s in states)
            what = f"{hang.list_ranks(polling).capitalize()} {'polls' if len(polling) == 1 else 'poll'} without end."
            self.report = hang.HangReport("endless_poll", f"{what} {hang.KINDS['endless_poll']}", rows)
            return False
        if any(rank.state == "waiting" for rank in self.ranks):
            self.report = self._other_tag() or hang.explain(self._states())
        return False

    def _other_tag(self) -> hang.HangReport | None:
        """A rank waits for a message whose other end was posted too, only with another tag (perhaps by an isend nobody waits for yet)."""
        waited = {(r, ticket) for r, ticket in enumerate(self.waiting_for) if ticket is not None}
        for (receiver, group), recvs in sorted(self.recvs.items()):
            for recv in recvs:
                for send in self.sends.get((receiver, group), []):
                    meant = recv.peer in (None, send.rank) and recv.tag != send.tag
                    if meant and {(recv.rank, recv.ticket), (send.rank, send.ticket)} & waited:
                        what = (
                            f"Rank {send.rank} sends to rank {receiver} with tag {send.tag}, "
                            f"but rank {receiver} receives with tag {recv.tag}."
                        )
                        rows = tuple(hang.describe(state) for state in self._states())
                        return hang.HangReport("mismatched_tag", f"{what} {hang.KINDS['mismatched_tag']}", rows)
        return None

    def _said(self) -> list[tuple[int, str]]:
        """All lines in causal order: (rank, line). Where no message decides who was first, the highest rank is: a program that
        relies on luck is found out, and the order does not depend on how busy the machine is."""
        said, out = [], [0] * len(self.lines)
        while len(said) < sum(map(len, self.lines)):
            for r in reversed(range(len(self.lines))):
                if out[r] < len(self.lines[r]):
                    line, heard = self.lines[r][out[r]]
                    if all(before <= there for before, there in zip(heard, out, strict=True)):
                        break
            said.append((r, line))
            out[r] += 1
        return said

    def _states(self) -> list[RankState]:
        states = []
        for r, rank in enumerate(self.ranks):
            ticket = self.waiting_for[r]
            if rank.state in ("waiting", "polling") and ticket is not None:
                states.append(self._state_of(self.operations[r][ticket]))
            elif rank.state == "raised":
                states.append(RankState(r, "raised", detail=f"{rank.error['type']}: {rank.error['text']}"))
            else:
                states.append(RankState(r, "running" if rank.state == "late" else rank.state))
        return states

    def _state_of(self, op: Operation) -> RankState:
        point_to_point = op.kind in ("send", "recv")
        return RankState(
            op.rank,
            "waiting",
            kind=op.kind,
            peer=op.peer if point_to_point else op.root,
            tag=op.tag,
            nbytes=op.nbytes,
            dtype=op.dtype,
            shape=op.shape,
            group=None if len(op.members) == len(self.ranks) else op.members,
            line=op.line,
            operations=sum(o.done for o in self.operations[op.rank].values()),
        )

    def _events(self) -> list[Event]:
        return [
            Event(
                op.rank,
                op.kind,
                op.posted,
                op.started,
                op.ended,
                peer=op.peer if op.kind in ("send", "recv") else op.root,
                tag=op.tag,
                nbytes=op.nbytes,
                group=op.members,
                line=op.line,
                match=op.match,
            )
            for op in self.history
        ]


# -- plain functions ------------------------------------------------------------------------------------------------------------------


def _tag(tag) -> int:
    if not -1 << 31 <= int(tag) < 1 << 31:
        raise wire.WireError("a tag that is no tag")
    return int(tag)


def _latest(clocks: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The element-wise largest of several vector clocks (Mattern 1989)."""
    return tuple(max(counts) for counts in zip(*clocks, strict=True))
