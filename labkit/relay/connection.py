"""A rank's end of the socket to the relay: what it posts, what it waits for, and whatever else it says."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence

import numpy as np
import torch
import torch.distributed as dist

import labkit
from labkit.relay import buffers, wire
from labkit.relay.buffers import Claim
from labkit.watch import hang

# What is posted is kept back for so many operations, so many bytes in one of them, so many seconds.
_KEPT, _KEPT_BYTES, _KEPT_SECONDS = 64, 64 << 10, 0.02
_HIDDEN = (
    os.path.dirname(torch.__file__) + os.sep,
    os.path.dirname(labkit.__file__ or labkit.__path__[0] + "/x") + os.sep,
    "<",
    "harness",
)


def hide(folder: str) -> None:
    """Files in this folder are not the student's code either: no line of theirs is shown."""
    global _HIDDEN
    _HIDDEN += (folder.rstrip(os.sep) + os.sep,)


def user_line() -> str:
    """The line where the student's code stands: the innermost frame outside torch and labkit, as "cell 7, line 3"."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_HIDDEN):
            return f"{os.path.basename(name)}, line {frame.f_lineno}"
        frame = frame.f_back
    return ""


def asked_by_the_program() -> bool:
    """True if the program itself called this wait, and not torch (a blocking call, or DistributedDataParallel)."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HIDDEN[1]):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(_HIDDEN[0])


class RankGone(dist.DistBackendError):
    """An operation cannot be done, because ranks that it needs have died. ranks: which, as far as this one knows."""

    def __init__(self, ranks: Sequence[int]):
        self.ranks = tuple(map(int, ranks))
        super().__init__(f"{hang.list_ranks(self.ranks)} {'is' if len(self.ranks) == 1 else 'are'} gone")


def refusal(meta: dict) -> RuntimeError:
    """The exception for the relay's FAIL."""
    return RankGone(meta["gone"]) if meta.get("gone") else RuntimeError(str(meta.get("error")))


class Connection:
    """This rank's socket to the relay: post an operation, wait for it, ask for it.

    What is posted travels with whatever the rank says next: the relay completes nothing while a rank runs, so it need
    not hear of it earlier. Everything of this rank goes through here (`sendall`, `receive`), so that its order stays
    what it was.

    open: what the operations of this rank claim that nobody has waited for yet. random: what unfinished receives hold
    comes from it.
    """

    def __init__(self, sock: socket.socket):
        self.sock = sock
        self.tickets = 0
        self._busy = threading.Lock()
        self._writing = threading.Lock()
        self._kept: list[bytes] = []  # frames of operations that have been posted and not sent
        self._kept_since = 0.0
        self._inbox, self._frames = wire.Inbox(sock), deque()
        self._over: set[int] = set()  # sends that are complete, as the relay has told with something else
        self.begin(0)

    def begin(self, seed: int, deadly: bool = False, phantoms: bool = False) -> None:
        """A case begins. deadly: a rank dies in it; the relay knows which, and is asked before every operation.
        phantoms: tensors on "meta" may be sent (`labkit.relay.phantom`)."""
        self._deadly, self.phantoms = deadly, phantoms
        self.open: dict[int, Claim] = {}
        self._groups: dict[str, list[int]] = {}  # whose members the relay has been told
        self.random = np.random.default_rng(seed)

    def sendall(self, data: bytes) -> None:
        """Send what was kept back, and then `data`."""
        with self._writing:
            self._kept.append(data)
            data = b"".join(self._kept)
            self._kept.clear()
            self.sock.sendall(data)

    def _keep_back(self, frame: bytes) -> None:
        """Send `frame` with what comes next: at once where there is much already, or where the rank takes its time."""
        now = time.monotonic()
        if not self._kept:
            self._kept_since = now
        if len(self._kept) < _KEPT and len(frame) < _KEPT_BYTES and now - self._kept_since < _KEPT_SECONDS:
            self._kept.append(frame)
        else:
            self.sendall(frame)

    def receive(self) -> tuple[int, dict, bytearray]:
        """The relay's next frame, blocking. Raises Closed, WireError."""
        while not self._frames:
            self._frames.extend(self._inbox.frames())
        return self._frames.popleft()

    def claim(self, reads: list[torch.Tensor], writes: list[torch.Tensor]) -> None:
        """Raises UsedBeforeWait, ReusedBuffer or NeverWaited where an open operation has claimed this memory
        (`buffers.check`)."""
        buffers.check(self.open.values(), reads, writes)

    @contextlib.contextmanager
    def _alone(self):
        """Raises RuntimeError while another thread of this rank communicates: the relay could not tell who waits for
        what."""
        if not self._busy.acquire(blocking=False):
            raise RuntimeError(
                "two threads of this rank communicate at the same time: post one side with isend or irecv instead"
            )
        try:
            yield
        finally:
            self._busy.release()

    def post(self, meta: dict, payload: bytes = b"") -> int:
        """Post an operation; returns its ticket. Raises ValueError, RuntimeError."""
        self._die_in_time()
        if not -1 << 31 <= meta.get("tag", 0) < 1 << 31:
            raise ValueError(f"tag {meta['tag']} is too large: a tag is a small number, the same on both sides")
        with self._alone():
            meta = self._ticketed(meta)
            self._keep_back(wire.pack(wire.POST, meta, payload))
            return meta["ticket"]

    def _die_in_time(self) -> None:
        """Ends the process, if the relay says so, as a signal would: no `finally`, no `except`, no other thread goes
        on."""
        if self._deadly:
            with self._alone():
                wire.send(self, wire.LIVES, {})
                if not self.receive()[1]["lives"]:
                    os._exit(128 + signal.SIGKILL)

    def _ticketed(self, meta: dict) -> dict:
        """The description of an operation for the relay. The members of a group are sent once, with its first
        operation."""
        self.tickets += 1
        meta = {**meta, "ticket": self.tickets, "line": user_line()}
        if self._groups.get(meta["group"]) is meta["members"]:
            del meta["members"]
        else:
            self._groups[meta["group"]] = meta["members"]
        return meta

    def say(self, kind: int, meta: dict) -> None:
        """Say something that needs no answer, in its turn."""
        with self._alone():
            self._keep_back(wire.pack(kind, meta))

    def inquire(self, to: str, question):
        """The judge's answer to a question, both plain data (`Case.answers`)."""
        tagged, payload = wire.encode(question, torch)
        with self._alone():
            wire.send(self, wire.ASK, {"to": to, "question": tagged}, payload)
            _, meta, payload = self.receive()
        return wire.decode(meta["value"], payload)

    def ask(self, frame: int, ticket: int, later: bool = False) -> tuple[dict, bytearray]:
        """The relay's answer (meta, payload) to a WAIT or a POLL. Raises RuntimeError where it refuses the operation,
        RankGone, Closed.

        later: it is the program that waits, some time after it has begun the operation, and not the call that began it.
        """
        with self._alone():
            wire.send(self, frame, {"ticket": ticket, "later": later})
            kind, meta, payload = self.receive()
        if kind == wire.FAIL:
            raise refusal(meta)
        self._over.update(meta.get("over", ()))
        return meta, payload

    def wait(self, ticket: int, later: bool = False) -> tuple[dict, bytearray]:
        """Wait for an operation; `ask` says the rest. A send that is known to be over needs no answer."""
        if ticket not in self._over:
            return self.ask(wire.WAIT, ticket, later)
        with self._alone():
            self._over.discard(ticket)
            self._keep_back(wire.pack(wire.WAIT, {"ticket": ticket, "later": later, "told": True}))
        return {}, bytearray()
