"""Operations of an MPI process group while they run: who waits in what, since when, and what ends a job that cannot go
on."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType

import torch
import torch.distributed as dist
from mpi4py import MPI

from labkit.watch import recorder
from labkit.watch.hang import direction, list_ranks

_GRACE = 2.0  # s that the other ranks get to say where they are stuck before the job is ended
_INTERVAL = 0.25  # s between two looks of the watch
_DTYPE_NAMES = {
    dtype: str(dtype).removeprefix("torch.") for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)
}


@dataclass
class Members:
    """A process group's identity. ranks: the global ranks of its members; rank: this process's place among them."""

    ranks: tuple[int, ...]
    rank: int
    is_world: bool
    timeout: float  # s
    name: str = "0"
    operations: int = 0  # how many were called so far; every member counts the same ones

    def __str__(self) -> str:
        return "all ranks" if self.is_world else f"the group of {list_ranks(self.ranks)}"


class Watched:
    """Something of a group (`members`) that may block, as a context manager: the watch looks at it for that long."""

    __slots__ = ("members", "thread", "since")
    members: Members

    def __enter__(self):
        self.thread, self.since = threading.get_ident(), time.monotonic()
        _running[id(self)] = self
        return self

    def __exit__(self, *exception) -> None:
        _running.pop(id(self), None)

    def stuck(self, now: float) -> bool:
        """True if it has lasted longer than the group's timeout, so that the job must end."""
        return now - self.since > self.members.timeout


class MpiCall(Watched):
    """One call of a communication function; watched while it blocks.

    peer: group rank of the other side or of the root; None: any rank, or no root.
    """

    __slots__ = ("kind", "peer", "tag", "number", "tensor", "line", "token")

    def __init__(
        self, members: Members, kind: str, tensor=None, peer: int | None = None, tag: int = 0, blocking: bool = True
    ):
        members.operations += 1
        self.members, self.kind, self.peer, self.tag = members, kind, peer, tag
        self.number = members.operations
        self.tensor = (
            ("", None, 0) if tensor is None else (_DTYPE_NAMES[tensor.dtype], tuple(tensor.shape), tensor.nbytes)
        )
        self.line = "" if blocking else _line_of(sys._getframe(1))
        dtype, shape, nbytes = self.tensor
        self.token = recorder.begin(
            kind,
            peer=self.global_peer,
            tag=tag,
            nbytes=nbytes,
            dtype=dtype,
            shape=shape,
            group=None if members.is_world else members.ranks,
            blocking=blocking,
        )

    @property
    def global_peer(self) -> int | None:
        return None if self.peer is None else self.members.ranks[self.peer]

    def __str__(self) -> str:
        """ "recv from rank 0, tag 7, float32[10] (40 B): operation 12 of all ranks, called at ring.py, line 12"."""
        side = direction(self.kind)
        text = self.kind
        if side:
            text += " to " if side == "send" else " from "
            text += "any rank" if self.peer is None else f"rank {self.global_peer}"
            text += f", tag {self.tag}"
        elif self.peer is not None:
            text += f" with root {self.global_peer}"
        dtype, shape, nbytes = self.tensor
        if shape is not None:
            text += f", {dtype}{list(shape)} ({nbytes} B)"
        text += f": operation {self.number} of {self.members}"
        line = self.user_line()
        return f"{text}, called at {line}" if line else text

    def user_line(self) -> str:
        """The line of its call: the one noted then, or the one where its thread stands now."""
        return self.line or _line_of(sys._current_frames().get(getattr(self, "thread", None)))


def _line_of(frame: FrameType | None) -> str:
    """The innermost line that is the user's own, as "ring.py, line 12"; empty where there is none (autograd's
    threads)."""
    while frame is not None:
        if not recorder.is_library(frame.f_code.co_filename):
            return f"{recorder.file_label(frame.f_code.co_filename)}, line {frame.f_lineno}"
        frame = frame.f_back
    return ""


# --- the watch over operations that take too long

_running: dict[int, Watched] = {}  # what this process's threads stand in just now
_watch: threading.Thread | None = None


def start_watch() -> None:
    """Start the thread that ends the job when an operation takes longer than its group's timeout."""
    global _watch
    if _watch is None or not _watch.is_alive():
        _watch = threading.Thread(target=_watch_operations, name="mpi deadline", daemon=True)
        _watch.start()


def _watch_operations() -> None:
    while True:
        time.sleep(_INTERVAL)
        now = time.monotonic()
        late = [operation for operation in list(_running.values()) if operation.stuck(now)]
        if late:
            rank = MPI.COMM_WORLD.Get_rank()
            for operation in late:
                waited, limit = now - operation.since, operation.members.timeout
                say(f"[rank {rank}] stuck for {waited:.1f} s (timeout {limit:g} s) in {operation}\n")
            time.sleep(_GRACE)
            MPI.COMM_WORLD.Abort(1)


def say(text: str) -> None:
    """Write to the process's real stderr at once: a notebook's own would be lost with the process."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # closed, or none at all
            pass
    os.write(2, text.encode())


# --- the end of a job in which one rank has failed

_process_that_failed: int | None = None
_hooks_installed = False


def end_job_on_uncaught_exception() -> None:
    """From now on an uncaught exception of this rank ends the whole job, once its traceback was printed.

    Otherwise the other ranks would wait for it for ever. Exceptions in a notebook's cells are caught by IPython and end
    nothing.
    """
    global _hooks_installed
    if not _hooks_installed:
        _hooks_installed = True
        sys.excepthook = _remembering(sys.excepthook)
        atexit.register(_leave, os.getpid())


def _remembering(show: Callable) -> Callable:
    def excepthook(*exception) -> None:
        global _process_that_failed
        _process_that_failed = os.getpid()  # and not that of a child it forks
        show(*exception)

    return excepthook


def _leave(process: int) -> None:
    """At exit: end the job of a rank that has failed; otherwise finish what was started, while the interpreter can
    still do it. A child that it has forked has none of its threads."""
    if os.getpid() != process:
        return
    # Not in the hook itself: torch.distributed wraps the hook and prints what it collected only when it has returned.
    if _process_that_failed == os.getpid() and not MPI.Is_finalized() and MPI.COMM_WORLD.Get_size() > 1:
        say("")
        MPI.COMM_WORLD.Abort(1)
    for closing in list(_closed_at_exit):
        closing.close()


_closed_at_exit: weakref.WeakSet = weakref.WeakSet()


def close_at_exit(closing) -> None:
    """Have `closing.close()` called when the process ends in peace, unless it is gone by then."""
    _closed_at_exit.add(closing)


# --- the profiler


def profiled(kind: str) -> AbstractContextManager:
    """An event "mpi:KIND" of torch.profiler; nothing where none is running."""
    return (
        torch.autograd.profiler.record_function(f"mpi:{kind}") if torch.autograd._profiler_enabled() else nullcontext()
    )


def profiled_until_complete(kind: str) -> torch.futures.Future | None:
    """The same, begun here and ended when the future is set, in whichever thread: it carries the profiler's state
    there."""
    if not torch.autograd._profiler_enabled():
        return None
    event, complete = torch.autograd.profiler.record_function(f"mpi:{kind}"), torch.futures.Future()
    event.__enter__()
    event._call_end_callbacks_on_future(complete)
    return complete


# --- what a process group hands back for an operation


class Finished(dist.Work):
    """An operation that was complete when its call returned. result: the tensors that its future holds."""

    def __init__(self, result):
        super().__init__()
        self._result = result

    def wait(self, timeout: timedelta | None = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def result(self):
        return self._result

    def get_future(self) -> torch.futures.Future:
        future = torch.futures.Future()
        future.set_result(self._result)
        return future


class Message(dist.Work):
    """A send or receive under way. tensor: what MPI reads or writes, kept alive; target: where it is copied to at the
    end."""

    def __init__(
        self, operation: MpiCall, request: MPI.Request, tensor: torch.Tensor, target: torch.Tensor | None = None
    ):
        super().__init__()
        self._operation, self._request, self._tensor, self._target = operation, request, tensor, target
        self._status = MPI.Status()
        self._busy = threading.Lock()  # MPI allows only one thread at a time to ask for a request
        self._done = False
        self._error: Exception | None = None
        self._future: torch.futures.Future | None = None
        self._profiled = profiled_until_complete(operation.kind)

    def progress(self) -> bool:
        """True if it is complete; never waits."""
        if not self._done and self._busy.acquire(blocking=False):
            try:
                self._complete(self._request.Test)
            finally:
                self._busy.release()
        return self._done

    def is_completed(self) -> bool:
        if self.progress():
            return True
        operation = self._operation
        recorder.polled(operation.kind, peer=operation.global_peer, tag=operation.tag)
        return False

    def wait(self, timeout: timedelta | None = None) -> bool:
        if not self.progress():
            recorder.waiting(self._operation.token)
            self._wait_for(seconds_of(timeout), timeout)
        if self._error is not None:
            raise self._error
        return True

    def _wait_for(self, seconds: float | None, timeout: timedelta | None) -> None:
        if seconds is None:
            with self._operation, self._busy:
                self._complete(self._request.Wait)
            return
        deadline = time.monotonic() + seconds
        while not self.progress():
            if time.monotonic() > deadline:
                raise too_late(self._operation, timeout)
            time.sleep(0.001)

    def _complete(self, ask: Callable[[MPI.Status], bool]) -> None:
        """Ask MPI by Test or Wait, and finish the message if it has come."""
        if self._done:
            return
        try:
            if not ask(self._status):
                return
            self._finish()
        except MPI.Exception as error:
            recorder.end(self._operation.token)
            self._error = RuntimeError(f"{self._operation} failed: {error}")
            if error.Get_error_class() == MPI.ERR_TRUNCATE:
                self._error = RuntimeError(f"{self._operation}: the message that came is longer than the tensor")
        self._done = True
        self._request = None
        if self._profiled is not None:
            self._profiled.set_result(None)

    def _finish(self) -> None:
        if direction(self._operation.kind) == "send":
            recorder.end(self._operation.token)
            return
        received, room = self._status.Get_count(MPI.BYTE), self._tensor.nbytes
        source = self._operation.members.ranks[self._status.Get_source()]
        recorder.end(self._operation.token, peer=source, tag=self._status.Get_tag(), nbytes=received)
        if received != room:
            self._error = RuntimeError(f"{self._operation}: rank {source} sent {received} B and the tensor has {room}")
        elif self._target is not None:
            self._target.copy_(self._tensor)

    def is_success(self) -> bool:
        return self._done and self._error is None

    def exception(self) -> Exception | None:
        return self._error

    def source_rank(self) -> int:
        """The group rank that a received message came from."""
        return self._status.Get_source()

    _source_rank = source_rank

    def result(self):
        return [self._tensor if self._target is None else self._target]

    def get_future(self) -> torch.futures.Future:
        if self._future is None:
            self._future = torch.futures.Future()
            threading.Thread(target=self._fulfil, name="mpi message").start()
        return self._future

    def _fulfil(self) -> None:
        self._wait_for(None, None)
        if self._error is not None:
            self._future.set_exception(self._error)
        else:
            self._future.set_result(self.result())


def seconds_of(timeout: timedelta | None) -> float | None:
    """A timeout given to `wait`; PyTorch says 0 when it means none."""
    return timeout.total_seconds() or None if timeout is not None else None


def too_late(operation: MpiCall, timeout: timedelta) -> RuntimeError:
    return RuntimeError(f"not complete after {timeout.total_seconds():g} s: {operation}")


@contextmanager
def at_once(operation: MpiCall):
    """Around an operation that this thread carries out itself: under the deadline, and at its end in the flight
    recorder."""
    try:
        with operation:
            yield
    finally:
        recorder.end(operation.token)
