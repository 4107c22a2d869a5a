"""Drives a case: takes the ranks' requests, completes them in order of virtual time, and reports a standstill.

Time is virtual (`labkit.relay.clock`). Messages and collectives complete only when no rank is running, the earliest
first (a discrete-event simulation): that makes virtual times, any-source receives and verdicts the same on every
machine, however busy it is. What matches is `labkit.relay.matcher`'s to say, what is told of a hang
`labkit.relay.words`'. How ranks are reached is not known here: see `labkit.relay.network` (processes) and
`labkit.relay.threads`.

Only numpy is needed here: torch is never imported, and nothing a rank has sent is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from labkit.interconnect.topology import Topology, flat
from labkit.relay import operation, wire, words
from labkit.relay.clock import Clock
from labkit.relay.matcher import KINDS, Matcher
from labkit.relay.operation import Operation
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.relay.phantom import Phantom
from labkit.watch import hang
from labkit.watch.events import DEATH, POINT_TO_POINT, Event, RankState

# What the ranks of one case may ask of the relay. Far more than any exercise needs; what goes beyond is a rank that
# means harm.
MAX_OPERATIONS = 100_000
MAX_PENDING = 2_000  # operations of one rank that are under way: matching messages takes time with the square
MAX_FRUITLESS_POLLS = 2_000
MAX_QUESTION = 4 << 10  # bytes of the arrays in a question
ENDED = ("returned", "raised", "dead", "gone")
# what another thread of a rank, or a signal, may say while the rank waits for an answer
_WHILE_WAITING = (wire.PRINT, wire.NOTE, wire.RAISED)


class Altering(Protocol):
    """Alters what travels between the ranks of one case."""

    def handed(self, op: Operation) -> bytes:
        """The bytes, as many, that travel in place of those that a rank hands over."""

    def arrives(self, ops: Sequence[Operation]) -> None:
        """Alters what the members of a collective get (`Operation.data`), which is complete."""


class ProgressEngine:
    """The operations of one case of `n` ranks. A subclass says how a rank is told something (`_send`) and started
    (`_start`).

    topology: of the network; None: `topology.flat()`. late: ranks that start only when all others wait or are done, at
    the virtual time of that. seed: decides which of several waiting senders an any-source receive takes, where
    computing takes no time.
    kills: rank -> the operation, counted from 0, in place of which its process dies. Whoever needs it for an operation
    is told so, as in MPI's user-level failure mitigation (Bland et al. 2013): a message with it, a collective of a
    group it belongs to; and of each death the next receive from any source, once.
    answers: name -> the function from a rank's question (plain data) to (virtual seconds that it costs, a label, the
    answer).
    describe_payloads: events say what was handed over is like (`Event.squares`, `Event.varied`).
    altered: alters what is handed over and what arrives; None: nothing is altered.
    phantoms: payloads of tensors on "meta" are counted and not carried. For lessons alone: else a rank that names the
    size of such a payload is refused.
    """

    max_operations = MAX_OPERATIONS

    def __init__(
        self,
        n: int,
        *,
        topology: Topology | None = None,
        late: Sequence[int] = (),
        seed: int = 0,
        kills: Mapping[int, int] | None = None,
        answers: Mapping[str, Callable] | None = None,
        describe_payloads: bool = False,
        altered: Altering | None = None,
        phantoms: bool = False,
    ):
        self.n, self.kills, self.describe_payloads = n, dict(kills or {}), describe_payloads
        self.altered, self.phantoms = altered, phantoms
        self.answers = dict(answers or {})
        self.late = [r for r in late if 0 <= r < n]
        self.groups = operation.Groups(n)
        self.clock, self.matcher = Clock(n, topology or flat()), Matcher(np.random.default_rng(seed))
        self.ranks = [RankOutcome() for _ in range(n)]
        self.operations: list[dict[int, Operation]] = [{} for _ in range(n)]
        self.history: list[Operation] = []
        self.waiting_for: list[Operation | None] = [None] * n
        # of each rank, tickets of sends that are complete, which it has not heard yet
        self.over: list[list[int]] = [[] for _ in range(n)]
        self.dying: dict[int, float] = {}  # ranks whose process has ended, and when: nobody has been told yet
        self.gone: dict[int, float] = {}  # the same, once whoever waited for them has been told
        self.knows: list[set[int]] = [set() for _ in range(n)]  # of which dead ranks each has been told
        self.pending = [0] * n  # operations that are not complete
        self.polls = 0  # answered with a no since somebody heard something
        self.records = 0  # of computing and memory
        self.report: hang.HangReport | None = None

    def _send(self, r: int, kind: int, meta: dict, payload: bytes = b"") -> None:
        """Tell a rank: a REPLY or a FAIL."""
        raise NotImplementedError

    def _start(self, r: int) -> None:
        """Let a rank begin."""
        self.ranks[r].state = "running"
        self.clock.start(r)

    def outcome(self, too_slow: bool) -> Outcome:
        """The outcome of the case, which is over."""
        for r, rank in enumerate(self.ranks):
            waits = [] if rank.state == "gone" else self.operations[r].values()
            rank.unwaited = sum(not (op.awaited or op.gone or op is self.waiting_for[r]) for op in waits)
            rank.clock, rank.busy = self.clock.now[r], self.clock.busy[r]
            rank.memory = tuple(self.clock.memory[r])
        events = [words.event_of(op, self.describe_payloads) for op in self.history] + self.clock.computed
        events += [Event(r, DEATH, at, at, at) for r, at in {**self.dying, **self.gone}.items()]
        lines, sent = self.clock.lines_in_causal_order(), dict(self.clock.link_bytes)
        return Outcome(self.ranks, lines, events, self.report, too_slow, sent)

    def handle(self, r: int, kind: int, meta: dict, payload: bytes) -> None:
        """Takes a message of a rank. Raises Mismatch; WireError, KeyError, TypeError or ValueError for one that no rank
        of ours sends."""
        rank = self.ranks[r]
        if rank.state in ENDED:
            raise wire.WireError("a record after the end")
        if self.waiting_for[r] is not None and kind not in _WHILE_WAITING:
            raise wire.WireError("a record of a rank that waits for an answer")
        if kind == wire.POST:
            self._post(r, meta, payload)
        elif kind in (wire.WAIT, wire.POLL):
            self._wait(r, kind, meta)
        elif kind == wire.LIVES:
            self._send(r, wire.REPLY, {"lives": self.lives(r)})
        elif kind == wire.COMPUTE:
            self._count_record()
            self.clock.compute(r, float(meta["seconds"]), str(meta.get("label", ""))[:20])
        elif kind == wire.ASK:
            self._answer(r, meta, payload)
        elif kind == wire.HOLDS:
            self._count_record()
            self.clock.holds(r, int(meta["bytes"]))
        else:
            for line in rank.record(kind, meta, payload):
                self.clock.say(r, line)
            if rank.state in ENDED:
                self.waiting_for[r] = None

    def _count_record(self) -> None:
        self.records += 1
        if self.records > self.max_operations:
            raise wire.TooMuch(f"more than {self.max_operations} records of computing in one case")

    # -- what ranks ask for

    def _answer(self, r: int, meta: dict, payload: bytes) -> None:
        """Charge a rank for what it asks, and tell it."""
        self._count_record()
        if len(payload) > MAX_QUESTION:
            raise wire.TooMuch(f"a question of {len(payload)} bytes")
        seconds, label, value = self.answers[str(meta["to"])](wire.decode(meta["question"], payload))
        self.clock.compute(r, float(seconds), label)
        tagged, data = wire.encode(value)
        self._send(r, wire.REPLY, {"value": tagged}, data)

    def lives(self, r: int) -> bool:
        """True if a rank lives to begin its next operation; else its process dies here, and it is gone from now on."""
        if len(self.operations[r]) != self.kills.get(r):
            return True
        self.ranks[r].state, self.dying[r] = "gone", self.clock.now[r]
        return False

    def _post(self, r: int, meta: dict, payload: bytes) -> None:
        op, rank = operation.read(r, meta, payload, self.groups, self.phantoms), self.ranks[r]
        if len(self.operations[r]) >= self.kills.get(r, self.max_operations):
            raise wire.WireError("an operation after its death")
        if op.kind not in KINDS:
            raise wire.WireError("an operation the relay does not know")
        if len(self.history) >= self.max_operations:
            raise wire.TooMuch(f"more than {self.max_operations} operations in one case")
        if op.ticket in self.operations[r]:
            raise wire.WireError("a ticket used twice")
        self.pending[r] += 1
        if self.pending[r] > MAX_PENDING:
            raise wire.TooMuch(f"more than {MAX_PENDING} operations at a time")
        if self.altered is not None:
            op.payload = self.altered.handed(op)
        self.operations[r][op.ticket] = op
        self.history.append(op)
        self.clock.post(op)
        if op.kind == "send":
            rank.sends += 1
            rank.sent_bytes += len(op.payload)
        elif op.kind != "recv":
            rank.collectives.append(op.kind)
            rank.collective_bytes += len(op.payload)
        if lost := self._lost(op):
            self._lose(op, lost)
        elif members := self.matcher.post(op):
            if self.altered is not None:
                self.altered.arrives(members)
            self.clock.ready(members)

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
        if op.refused or op.gone:
            self._send(r, wire.FAIL, {"error": op.refused, "gone": op.gone})
        else:
            meta = {**op.meta, "done": True} if polled else op.meta
            if self.over[r]:
                meta, self.over[r] = {**meta, "over": self.over[r]}, []
            self._send(r, wire.REPLY, meta, b"" if isinstance(op.data, Phantom) else op.data)
        op.data = b""

    # -- when a rank dies

    def _lost(self, op: Operation) -> tuple[int, ...]:
        """The dead ranks that an operation would need, or has to be told of."""
        if not self.gone:
            return ()
        if op.kind in POINT_TO_POINT and op.peer is not None:
            return (op.peer,) if op.peer in self.gone else ()
        known = self.knows[op.rank] if op.kind == "recv" else ()
        return tuple(sorted(r for r in self.gone if r in op.members and r not in known))

    def _lose(self, op: Operation, dead: tuple[int, ...]) -> None:
        """An operation will never be done."""
        op.gone, op.ended = dead, max(op.posted, *(self.gone[r] for r in dead))
        self.knows[op.rank].update(dead)
        self.pending[op.rank] -= 1
        self._deliver_to_who_waits([op])

    def _tell_of_deaths(self) -> None:
        """Tell of the first deaths, those of one moment together, whoever has to know."""
        first = min(self.dying.values())
        dead = sorted(r for r, at in self.dying.items() if at == first)
        self.gone |= {r: self.dying.pop(r) for r in dead}
        for op in [op for r in dead for op in self.matcher.leave(r)]:
            self._lose(op, self._lost(op) or tuple(r for r in dead if r in op.members))

    # -- when nobody runs

    def _advance(self) -> bool:
        """Nobody is running: let the earliest thing happen. False when the case is over. Raises Mismatch."""
        self._pair()
        if self.groups.two_of_one_call:
            self.report = words.of_groups(self.groups, (), self._states())
            return False
        if self.dying and min(self.dying.values()) <= self.clock.next_start():
            self._tell_of_deaths()
            return True
        if completed := self.clock.complete_earliest():
            for ops in completed:
                self._hand_over(ops)
            return True
        if self.late:
            self.clock.catch_up(self.late[0])
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
            states, waiting = self._states(), [op for op in self.waiting_for if op is not None]
            waited = {(op.rank, op.ticket) for op in waiting}
            self.report = words.of_tags(self.matcher.with_other_tags(waited), states)
            self.report = self.report or words.of_groups(self.groups, waiting, states) or hang.explain(states)
        return False

    def _pair(self) -> None:
        """Pair what can be paired. Where computing takes time, time decides who is first, once all that may happen
        earlier has happened."""
        in_time = bool(self.clock.computed)
        for pair in self.matcher.pair(in_time):
            self.clock.ready(pair)
        if in_time and (pair := self.matcher.pair_earliest(self.clock.next_start())):
            self.clock.ready(pair)

    def _hand_over(self, ops: Sequence[Operation]) -> None:
        if ops[0].kind == "send":
            send, recv = ops
            receiver = self.ranks[recv.rank]
            receiver.recvs += 1
            receiver.received_bytes += len(send.payload)
            if self.waiting_for[send.rank] is not send:
                self.over[send.rank].append(send.ticket)
        for op in ops:
            self.pending[op.rank] -= 1
        self._deliver_to_who_waits(ops)

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
