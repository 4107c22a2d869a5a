"""The network of the checks: a relay outside the ranks that matches their operations, moves the bytes and knows who
waits for whom.

Time is virtual (`labkit.relay.clock`). The relay completes messages only when no rank is running, the earliest first (a
discrete-event simulation): that makes virtual times, any-source receives and verdicts the same on every machine,
however busy it is. What matches is `labkit.relay.matcher`'s to say, what is told of a hang `labkit.relay.words`'.

Only numpy is needed here: the relay never imports torch and never executes anything a rank has sent.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Sequence

import numpy as np

from labkit.relay import operation, wire, words
from labkit.relay.clock import Clock
from labkit.relay.matcher import Matcher, Mismatch
from labkit.relay.operation import Operation
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch import hang, standstill
from labkit.watch.events import POINT_TO_POINT, RankState

# What the ranks of one case may ask of the relay. Far more than any exercise needs; what goes beyond is a rank that
# means harm.
MAX_OPERATIONS = 100_000
MAX_PENDING = 2_000  # messages of one rank that are under way: matching them takes time with the square
MAX_BYTES = 256 << 20  # of all messages and results together
MAX_FRUITLESS_POLLS = 2_000
_LEADER = -1  # in place of a rank
SEND_TIMEOUT = 20.0  # seconds a rank may leave a message unread
_ENDED = ("returned", "raised", "dead")


class Relay:
    """Runs one case over already connected sockets, one per rank.

    jobs: per rank (meta, payload), sent when the rank may start. late: ranks that start only when all others wait or
    are done.
    seed: decides which of several waiting senders an any-source receive takes. deadline: wall-clock seconds for the
    whole case.
    case: whose leader says what the ranks' processes do (`lifeline`, a socket, and `windows()`, what came over it).
    patience: see `labkit.watch.standstill.Silence`.
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
        n = len(self.sockets)
        self.late = [r for r in late if 0 <= r < n]
        self.deadline, self.cancelled = deadline, cancelled
        self.case, self.silence, self.silent_too_long = case, standstill.Silence(patience), False
        self.clock, self.matcher = Clock(n, alpha, beta), Matcher(np.random.default_rng(seed))
        self.ranks = [RankOutcome() for _ in range(n)]
        self.operations: list[dict[int, Operation]] = [{} for _ in range(n)]
        self.history: list[Operation] = []
        self.waiting_for: list[Operation | None] = [None] * n
        self.over: list[list[int]] = [
            [] for _ in range(n)
        ]  # tickets of sends that are complete, which the rank has not heard yet
        self.pending = [0] * n  # sends and receives that are not complete
        self.polls = 0  # answered with a no since somebody heard something
        self.bytes = 0  # that have arrived
        self.inboxes: dict[int, wire.Inbox] = {}
        self.report: hang.HangReport | None = None

    # -- the loop

    def run(self) -> Outcome:
        """Run the case to its end: all ranks have returned or are gone, nobody can move any more, or the time is up."""
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
            too_slow = False
            try:
                too_slow = self._serve(selector)
            except Mismatch as mismatch:
                self.report = words.of_mismatch(mismatch, self._states())
        for r, rank in enumerate(self.ranks):
            rank.unwaited = sum(not op.awaited for op in self.operations[r].values())
            rank.clock = self.clock.now[r]
        events = [words.event_of(op) for op in self.history]
        return Outcome(self.ranks, self.clock.lines_in_causal_order(), events, self.report, too_slow)

    def _serve(self, selector) -> bool:
        """Serve the ranks until the case is over. Returns whether its time was up. Raises Mismatch."""
        end = time.monotonic() + self.deadline
        while self.report is None:
            left = end - time.monotonic()
            if left <= 0 or self.silent_too_long or self.cancelled():
                return True
            if any(rank.state == "running" for rank in self.ranks):
                ready = sorted((key.data for key, _ in selector.select(min(left, 0.5))), reverse=True)
                for r in ready:  # what ranks have said comes first
                    self._read(selector, r) if r != _LEADER else self._read_leader(selector)
            elif not self._advance():
                break
        return False

    def _start(self, r: int) -> None:
        self.ranks[r].state = "running"
        self.clock.start(r)
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
        rank, inbox = self.ranks[r], self.inboxes[r]
        try:
            for kind, meta, payload in inbox.frames():
                self._handle(r, kind, meta, payload)
            self.bytes += inbox.taken()
            if self.bytes > MAX_BYTES:
                raise wire.TooMuch(f"more than {MAX_BYTES >> 20} MB of messages in one case")
        except wire.Closed:
            selector.unregister(self.sockets[r])
            if rank.state not in ("returned", "raised"):
                rank.state = "dead"
        except Mismatch:
            raise
        except Exception as error:  # whatever a rank makes up must never end the judge
            selector.unregister(self.sockets[r])
            inbox.clear()
            rank.state = "dead"
            kind = "too_much" if isinstance(error, wire.TooMuch) else "protocol"
            rank.error = {"type": kind, "text": f"{type(error).__name__}: {error}", "rows": []}

    def _handle(self, r: int, kind: int, meta: dict, payload: bytes) -> None:
        rank = self.ranks[r]
        if rank.state in _ENDED:
            raise wire.WireError("a record after the end")
        if kind == wire.POST:
            self._post(r, meta, payload)
        elif kind in (wire.WAIT, wire.POLL):
            self._wait(r, kind, meta)
        else:
            for line in rank.record(kind, meta, payload):
                self.clock.say(r, line)

    # -- what ranks ask for

    def _post(self, r: int, meta: dict, payload: bytes) -> None:
        op, rank = operation.read(r, meta, payload, len(self.ranks)), self.ranks[r]
        if len(self.history) >= MAX_OPERATIONS:
            raise wire.TooMuch(f"more than {MAX_OPERATIONS} operations in one case")
        if op.ticket in self.operations[r]:
            raise wire.WireError("a ticket used twice")
        if op.kind in POINT_TO_POINT:
            self.pending[r] += 1
            if self.pending[r] > MAX_PENDING:
                raise wire.TooMuch(f"more than {MAX_PENDING} messages at a time")
        self.operations[r][op.ticket] = op
        self.history.append(op)
        self.clock.post(op)
        if op.kind == "send":
            rank.sends += 1
            rank.sent_bytes += len(payload)
        elif op.kind != "recv":
            rank.collectives.append(op.kind)
            rank.collective_bytes += len(payload)
        members = self.matcher.post(op)
        if members is not None:
            self.clock.complete(members)
            self._deliver_to_who_waits(members)

    def _wait(self, r: int, kind: int, meta: dict) -> None:
        """A WAIT or a POLL. told: the rank has heard already that this send is over, and asks for no answer."""
        rank, op = self.ranks[r], self.operations[r].get(meta.get("ticket"))
        if op is None:
            raise wire.WireError("a wait for something that was never posted")
        rank.deferred += bool(meta.get("later"))
        if meta.get("told"):
            if not op.done or op.kind != "send":
                raise wire.WireError("a wait for something that is not over")
            op.awaited = True
            self.clock.learn(op)
            return
        op.awaited = op.awaited or kind == wire.WAIT  # asking is not waiting, unless the answer is yes
        if kind == wire.POLL and not op.asked:  # nothing is done at once: who asks must be ready for a no
            op.asked = True
            self._send(r, wire.REPLY, {"done": False})
            return
        self.waiting_for[r] = op
        rank.state = "waiting" if kind == wire.WAIT else "polling"
        if op.done:
            self._deliver(op)

    def _deliver_to_who_waits(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if self.waiting_for[op.rank] is op:
                self._deliver(op)

    def _deliver(self, op: Operation) -> None:
        """Tell a rank that waits for `op` what came of it, and which of its sends are over besides."""
        r, rank = op.rank, self.ranks[op.rank]
        polled = rank.state == "polling"
        self.clock.learn(op)
        rank.state = "running"
        op.awaited = True
        self.waiting_for[r] = None
        self.polls = 0
        if op.refused:
            self._send(r, wire.FAIL, {"error": op.refused})
        else:
            meta = {**op.meta, "done": True} if polled else op.meta
            if self.over[r]:
                meta, self.over[r] = {**meta, "over": self.over[r]}, []
            self._send(r, wire.REPLY, meta, op.data)
        op.data = b""

    # -- when nobody runs

    def _advance(self) -> bool:
        """Nobody is running: let the earliest thing happen. False when the case is over. Raises Mismatch."""
        self.matcher.pair()
        if self.matcher.pairs:
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
            self.report = words.of_endless_polls(polling, self._states())
        elif any(rank.state == "waiting" for rank in self.ranks):
            states, waited = self._states(), {(op.rank, op.ticket) for op in self.waiting_for if op is not None}
            self.report = words.of_tags(self.matcher.with_other_tags(), waited, states) or hang.explain(states)
        return False

    def _transfer_earliest(self) -> None:
        complete, self.matcher.pairs = self.clock.transfer_earliest(self.matcher.pairs)
        for send, recv in complete:
            receiver = self.ranks[recv.rank]
            receiver.recvs += 1
            receiver.received_bytes += len(send.payload)
            for op in (send, recv):
                self.pending[op.rank] -= 1
            if self.waiting_for[send.rank] is not send:
                self.over[send.rank].append(send.ticket)
        self._deliver_to_who_waits([op for pair in complete for op in pair])

    def _states(self) -> list[RankState]:
        states = []
        for r, rank in enumerate(self.ranks):
            op = self.waiting_for[r]
            if rank.state in ("waiting", "polling") and op is not None:
                completed = sum(o.done for o in self.operations[r].values())
                states.append(words.state_of(op, len(self.ranks), completed))
            elif rank.state == "raised":
                states.append(RankState(r, "raised", detail=f"{rank.error['type']}: {rank.error['text']}"))
            else:
                states.append(RankState(r, "running" if rank.state == "late" else rank.state))
        return states
