"""The network of the checks: a relay outside the ranks, which are processes at the other ends of its sockets.

What the ranks ask for and what comes of it is `labkit.relay.progress`'s; here are their sockets, what they may send,
and the time that a case may take.
"""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable, Sequence

from labkit.relay import wire, words
from labkit.relay.matcher import Mismatch
from labkit.relay.outcome import Outcome
from labkit.relay.progress import ProgressEngine
from labkit.watch import standstill
from labkit.watch.pace import MOST, Deadline

MAX_BYTES = 256 << 20  # of all messages and results together
_LEADER = -1  # in place of a rank
SEND_TIMEOUT = 20.0  # seconds a rank may leave a message unread, while the case has so many left
LAST_SECONDS = 0.1  # the same when the case's time is up


class Relay(ProgressEngine):
    """Runs one case over already connected sockets, one per rank.

    jobs: per rank (meta, payload), sent when the rank may start. deadline: seconds for the whole case
    (`labkit.watch.pace.Deadline`).
    case: whose leader says what the ranks' processes do (`lifeline`, a socket, and `windows()`, what came over it).
    patience: see `labkit.watch.standstill.Silence`. network: topology, late, seed, kills and more of `ProgressEngine`.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        jobs: Sequence[tuple[dict, bytes]],
        *,
        deadline: float = 60.0,
        cancelled: Callable[[], bool] = lambda: False,
        case=None,
        patience: float = 0.0,
        **network,
    ):
        super().__init__(len(sockets), **network)
        self.sockets, self.jobs = list(sockets), list(jobs)
        self.deadline, self.cancelled = deadline, cancelled
        self.case, self.silence, self.silent_too_long = case, standstill.Silence(patience), False
        self.bytes = 0  # that have arrived
        self.inboxes: dict[int, wire.Inbox] = {}
        self.end = Deadline(deadline)  # begins with `run`
        self.unread: set[int] = set()  # ranks that had not read a message when the time was up

    # -- the loop

    def run(self) -> Outcome:
        """Run the case to its end: all ranks have returned or are gone, nobody can move any more, or the time is up."""
        with selectors.DefaultSelector() as selector:
            for r, sock in enumerate(self.sockets):
                self.inboxes[r] = wire.Inbox(sock)
                selector.register(sock, selectors.EVENT_READ, r)
            if self.case is not None:
                selector.register(self.case.lifeline, selectors.EVENT_READ, _LEADER)
            self.end = Deadline(self.deadline)
            for r in range(len(self.sockets)):
                if r not in self.late:
                    self._start(r)
            too_slow = False
            try:
                too_slow = self._serve(selector, self.end)
            except Mismatch as mismatch:
                self.report = words.of_mismatch(mismatch, self._states())
        outcome = self.outcome(too_slow)
        outcome.slowed = self.end.worst
        return outcome

    def _serve(self, selector, end: Deadline) -> bool:
        """Serve the ranks until the case is over. Returns whether its time was up. Raises Mismatch."""
        while self.report is None:
            left = end.left()
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
        super()._start(r)
        meta, payload = self.jobs[r]
        self._send(r, wire.JOB, {**meta, "deadly": bool(self.kills), "phantoms": self.phantoms}, payload)

    def _read_leader(self, selector) -> None:
        running = [r for r, rank in enumerate(self.ranks) if rank.state == "running"]
        try:
            for window in self.case.windows():
                self.silent_too_long = self.silence.too_long(window, running)
        except (wire.Closed, wire.WireError, AttributeError, KeyError, TypeError, ValueError):
            selector.unregister(self.case.lifeline)

    def _send(self, r: int, kind: int, meta: dict, payload: bytes = b"") -> None:
        """Tell a rank. All that do not read share the seconds that are left to the case: when these are over, the case
        is too slow, and the ranks that have not read are among those that still run."""
        if r in self.unread:
            return
        self.silence.heard(r)
        sock = self.sockets[r]
        try:
            sock.settimeout(max(min(SEND_TIMEOUT, MOST * self.end.left()), LAST_SECONDS))
            wire.send(sock, kind, meta, payload)
        except OSError as error:
            if isinstance(error, TimeoutError) and self.end.left() <= 0:
                self.unread.add(r)
            else:
                self._dead(r)

    def _dead(self, r: int) -> None:
        """Nothing more is heard of a rank. What it waited for may still come to its end: that wakes nobody."""
        if (op := self.waiting_for[r]) is not None:
            op.awaited = True
        self.ranks[r].state, self.waiting_for[r] = "dead", None

    def _read(self, selector, r: int) -> None:
        self.silence.heard(r)
        rank, inbox = self.ranks[r], self.inboxes[r]
        try:
            for kind, meta, payload in inbox.frames():
                self.handle(r, kind, meta, payload)
            self.bytes += inbox.taken()
            if self.bytes > MAX_BYTES:
                raise wire.TooMuch(f"more than {MAX_BYTES >> 20} MB of messages in one case")
        except wire.Closed:
            selector.unregister(self.sockets[r])
            if rank.state not in ("returned", "raised", "gone"):
                self._dead(r)
        except Mismatch:
            raise
        except Exception as error:  # whatever a rank makes up must never end the judge
            selector.unregister(self.sockets[r])
            inbox.clear()
            self._dead(r)
            kind = "too_much" if isinstance(error, wire.TooMuch) else "protocol"
            rank.error = {"type": kind, "text": f"{type(error).__name__}: {error}", "rows": []}
