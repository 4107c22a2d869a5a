"""Hundreds and thousands of ranks in one process: each is a thread, and one of them runs at a time.

For programs that one trusts: the threads share everything, and none of them can be ended from outside. A rank runs
until it waits for something; then the next one that can go on does, in the order in which they were told to. Nothing
depends on how threads are scheduled, and torch's global random generator is one for all ranks.

torch.distributed's idea of "this process" is made one for each thread by torch's own test of many ranks in one process
(torch.testing._internal.distributed.multi_threaded_pg).
"""

from __future__ import annotations

import contextlib
import copy
import gc
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _set_thread_isolation_mode

from labkit.relay import backend, charging, wire, words
from labkit.relay.connection import Connection, refusal
from labkit.relay.matcher import Mismatch
from labkit.relay.outcome import Outcome
from labkit.relay.progress import ProgressEngine

MOST = 4096
STACK = 512 << 10  # bytes of each thread


class _Over(BaseException):
    """The case is over, or this rank is."""


class _Speaker(Connection):
    """A rank's way to the engine: a call, in place of a socket."""

    def __init__(self, engine: ThreadedRanks, rank: int):
        self.engine, self.rank, self.tickets, self._over = engine, rank, 0, set()
        self.begin(rank, phantoms=engine.phantoms)

    def say(self, kind: int, meta: dict, payload: bytes = b"") -> None:
        self.engine.take(self.rank, kind, meta, payload)

    def post(self, meta: dict, payload: bytes = b"") -> int:
        self._die_in_time()
        meta = self._ticketed(meta)
        self.say(wire.POST, meta, payload)
        return meta["ticket"]

    def _die_in_time(self) -> None:
        if not self.engine.lives(self.rank):
            raise _Over

    def ask(self, frame: int, ticket: int, later: bool = False) -> tuple[dict, bytearray]:
        self.say(frame, {"ticket": ticket, "later": later})
        kind, meta, payload = self.engine.pause(self.rank)
        if kind == wire.FAIL:
            raise refusal(meta)
        self._over.update(meta.get("over", ()))
        return meta, bytearray(payload)

    def wait(self, ticket: int, later: bool = False) -> tuple[dict, bytearray]:
        if ticket not in self._over:
            return self.ask(wire.WAIT, ticket, later)
        self._over.discard(ticket)
        self.say(wire.WAIT, {"ticket": ticket, "later": later, "told": True})
        return {}, bytearray()


class ThreadedRanks(ProgressEngine):
    """One case whose ranks are threads of this process. network: topology, late, seed and kills of `ProgressEngine`."""

    max_operations = 10_000_000

    def __init__(self, n: int, **network):
        if not 0 < n <= MOST:
            raise ValueError(f"{n} ranks in one process: 1 to {MOST} are possible")
        super().__init__(n, **network)
        self._gates = [threading.Lock() for _ in range(n)]
        for gate in self._gates:
            gate.acquire()
        self._told: list[tuple | None] = [None] * n  # what a rank hears when it goes on
        self._next: deque[int] = deque()  # the ranks that can go on, in turn
        self._finished = threading.Event()
        self._everybody = {r: r for r in range(n)}

    def run(self, function: Callable, arguments: Sequence[tuple]) -> Outcome:
        """Call `function(*arguments[r])` on every rank r, each with copies of its own."""
        backend.register_backend()
        with _world_per_thread(), _small_stacks(), _patient_collector():
            threads = [
                threading.Thread(target=self._live, args=(r, function, arguments[r]), daemon=True)
                for r in range(self.n)
            ]
            for thread in threads:
                thread.start()
            for r in range(self.n):
                if r not in self.late:
                    self._start(r)
            try:
                self._hand_on()
                self._finished.wait()
            finally:
                self._finished.set()
                for gate in self._gates:
                    with contextlib.suppress(RuntimeError):  # open already
                        gate.release()
                for thread in threads:
                    thread.join()
        return self.outcome(False)

    def _start(self, r: int) -> None:
        super()._start(r)
        self._next.append(r)

    def _send(self, r: int, kind: int, meta: dict, payload: bytes = b"") -> None:
        self._told[r] = (kind, meta, payload)
        self._next.append(r)

    def take(self, rank: int, kind: int, meta: dict, payload: bytes) -> None:
        """Takes a message of a rank. Ends the case where it does not match what others have said."""
        if self._finished.is_set() or self.ranks[rank].state == "gone":
            raise _Over
        try:
            self.handle(rank, kind, meta, payload)
        except Mismatch as mismatch:
            self.report = words.of_mismatch(mismatch, self._states())
            self._finished.set()
            raise _Over from None

    def pause(self, rank: int) -> tuple:
        """A rank waits until it has been told something: what it was told."""
        if not self._next or self._next[0] != rank:
            self._hand_on()
            self._gates[rank].acquire()
        if self._finished.is_set():
            raise _Over
        self._next.popleft()
        return self._told[rank]

    def _hand_on(self) -> None:
        """Let the next rank run; where none can, let the earliest thing happen first."""
        try:
            while not self._next and self.report is None and self._advance():
                pass
        except Mismatch as mismatch:
            self.report = words.of_mismatch(mismatch, self._states())
        if self._next and self.report is None:
            self._gates[self._next[0]].release()
        else:
            self._finished.set()

    def _live(self, r: int, function: Callable, arguments: tuple) -> None:
        self._gates[r].acquire()
        if self._finished.is_set():
            return
        self._next.popleft()
        try:
            charging.speak_through(_Speaker(self, r), thread=True)
            dist.init_process_group("relay", store=dist.HashStore(), rank=r, world_size=self.n)
            dist.distributed_c10d._world.pg_group_ranks[dist.group.WORLD] = self._everybody  # not p lists of p ranks
            self.ranks[r].value = wire.decode(*wire.encode(function(*copy.deepcopy(arguments)), torch))
            self.ranks[r].state = "returned"
        except _Over:
            if self.ranks[r].state != "gone":
                return
        except BaseException as error:
            rows = [f"{type(error).__name__} in rank {r}"]
            self.ranks[r].error = {"type": type(error).__name__, "text": str(error), "rows": rows}
            self.ranks[r].state = "raised"
        self._hand_on()


@contextlib.contextmanager
def _world_per_thread() -> Iterator[None]:
    from torch.testing._internal.distributed import multi_threaded_pg as many

    many._install_threaded_pg()
    _set_thread_isolation_mode(True)
    try:
        yield
    finally:
        _set_thread_isolation_mode(False)
        many._uninstall_threaded_pg()


@contextlib.contextmanager
def _patient_collector() -> Iterator[None]:
    """Within, the garbage collector rarely looks through the objects of thousands of ranks."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def _small_stacks() -> Iterator[None]:
    before = threading.stack_size(STACK)
    try:
        yield
    finally:
        threading.stack_size(before)
