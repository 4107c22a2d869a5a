"""What keeps time: virtual seconds on a network of one latency and one bandwidth, and which line was said
before which."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.relay.arithmetic import collective_seconds
from labkit.relay.operation import Operation

Pair = tuple[Operation, Operation]  # a send and its receive


class Clock:
    """The time of one case.

    Computing costs nothing; a message costs alpha + bytes x beta; every rank has one full-duplex port, so messages
    through the same port queue up. Lines are ordered by vector clocks (Mattern 1989).

    now: virtual seconds, of each rank. known: each rank's vector clock, how many lines of every rank came before what
    it does next.
    """

    def __init__(self, n: int, alpha: float, beta: float):
        self.alpha, self.beta = alpha, beta
        self.now = [0.0] * n
        self.known: list[tuple[int, ...]] = [(0,) * n] * n
        self._out_free, self._in_free = [0.0] * n, [0.0] * n
        self._lines: list[list[tuple[str, tuple[int, ...]]]] = [[] for _ in range(n)]  # what it said, what it knew

    def start(self, rank: int) -> None:
        """A rank starts now: after all that was said before."""
        self.known[rank] = tuple(map(len, self._lines))

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

    def complete(self, ops: Sequence[Operation]) -> None:
        """A collective that all members have called: when it began and ended."""
        started = max(op.posted for op in ops)
        nbytes = max(len(op.payload) for op in ops)
        ended = started + collective_seconds(ops[0].kind, len(ops), nbytes, self.alpha, self.beta)
        latest = _latest([op.clock for op in ops])
        for op in ops:
            op.started, op.ended, op.clock_after = started, ended, latest

    def transfer_earliest(self, pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
        """(the pairs that start first and are complete now, the others): ports make these wait."""
        earliest = min(map(self._start_of, pairs))
        complete, rest = [], []
        for pair in sorted(pairs, key=lambda p: (p[0].rank, p[1].rank, p[0].ticket)):
            if self._start_of(pair) > earliest:
                rest.append(pair)
                continue
            send, recv = pair
            ended = earliest + self.alpha + len(send.payload) * self.beta
            self._out_free[send.rank] = self._in_free[recv.rank] = ended
            send.started = recv.started = earliest
            send.ended = recv.ended = ended
            recv.clock_after = send.clock  # not the other way round: a send may be over before it is received
            complete.append(pair)
        return complete, rest

    def _start_of(self, pair: Pair) -> float:
        send, recv = pair
        return max(send.posted, recv.posted, self._out_free[send.rank], self._in_free[recv.rank])

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


def _latest(clocks: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The element-wise largest of several vector clocks."""
    return tuple(map(max, *clocks)) if len(clocks) > 1 else clocks[0]
