"""Orders the collectives of a process group, and runs the callbacks of their futures.

MPI matches the collectives of a communicator by their order, so all ranks must begin them in the same one. Here it is
the order of the program, also of what callbacks start, as on a stream of CUDA: a callback runs where it was attached,
and what is called after that begins when the callback has returned, and when everything that it has started is done.

    first = dist.all_reduce(a, async_op=True).get_future().then(callback)   # callback: dist.all_reduce(c) ...
    dist.all_reduce(b, async_op=True)                                       # a, c, b on every rank, whoever is late

Each stream has a thread, which carries out collectives and runs callbacks, one after the other. What a callback starts
goes to streams of its own, one for each group, which end with it: so it may wait for what it has started, in whose
callbacks there may be more. An operation behind it is another matter: to wait for that is an error at the call.

In another group, what a callback starts comes after what was called there before the callback was attached. What the
program calls there later must wait for the callback: else it may come first on one rank and last on another, and all
ranks get an error, as one of them calls in a callback what the other does not (`place`).

Other libraries let callbacks run as data arrive: gloo in any of its threads, so that two callbacks that start
collectives may do so in another order on each rank.
"""

from __future__ import annotations

import copy
import itertools
import queue
import threading
import traceback
from collections import deque
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist

from labkit.mpi.operations import (
    MpiCall,
    Watched,
    close_at_exit,
    profiled_until_complete,
    say,
    seconds_of,
    too_late,
)
from labkit.watch import recorder

_changed = threading.Condition()  # guards what is pending and what is complete, in all streams
_numbers = itertools.count()  # of what is submitted: the order of the program


class _Here(threading.local):
    """The callback that this thread is running."""

    callback: Callback | None = None
    depth = 0  # 1 in a callback, 2 in one that was attached there ...


_here = _Here()


def place() -> str:
    """Words for the place of the calling thread's operation: "" in the program itself."""
    return " in a callback" + " of a callback" * (_here.depth - 1) if _here.depth else ""


class CollectiveProgress:
    """The progress of a collective, shared by its work object and its futures without each other's tensors."""

    def __init__(self, operation: MpiCall, stream: Stream):
        self.operation, self.stream = operation, stream
        self.carried_out = False
        self.callbacks = 0  # attached and not returned
        self.complete = False  # both at once, and from then on

    def changed(self) -> None:
        """Called with the lock held."""
        self.complete = self.complete or (self.carried_out and not self.callbacks)
        _changed.notify_all()

    def is_over(self) -> bool:
        """True if whoever asks need not wait: a callback waits for the operation only, not for other callbacks."""
        return self.complete or (self.carried_out and _here.callback is not None)


class Streams:
    """The streams of one group: the program's, and those of callbacks that are running."""

    def __init__(self):
        # MPI allows one collective at a time on a communicator, whichever thread calls it
        self.turn = threading.Lock()
        self.unfinished = 0
        self.of_program = Stream(self, None)
        self._threads: dict[threading.Thread, queue.SimpleQueue[Stream | None]] = {}
        self._idle: list[queue.SimpleQueue[Stream | None]] = []  # of these
        close_at_exit(self)

    def serve(self, stream: Stream) -> None:
        """Have a thread carry out what is in a stream. Called with the lock held."""
        if not self._idle:
            served = queue.SimpleQueue()
            thread = threading.Thread(target=self._serve, args=(served,), name="mpi collectives", daemon=True)
            self._threads[thread] = served
            self._idle.append(served)
            thread.start()
        self._idle.pop().put(stream)

    def _serve(self, served: queue.SimpleQueue[Stream | None]) -> None:
        while (stream := served.get()) is not None:
            stream.work()
            del stream
            with _changed:
                if threading.current_thread() in self._threads:  # not when it is to end
                    self._idle.append(served)

    def here(self) -> Stream:
        """The stream of the calling thread's operations."""
        return self.of_program if _here.callback is None else _here.callback.stream_of(self)

    def close(self) -> None:
        """Finish what was submitted, and what its callbacks submit. Raises RuntimeError in one of these."""
        if any(stream.group is self for stream in _streams_held_up()):
            raise RuntimeError("a callback of a group's future cannot end the group: it would wait for itself")
        with _changed:
            _changed.wait_for(lambda: not self.unfinished)
            threads, self._threads, self._idle = self._threads, {}, []
        self.of_program.end()
        for thread, served in threads.items():
            served.put(None)
            thread.join()


class Stream:
    """Collectives of one group and callbacks, one after the other in the order in which they were submitted.

    owner: the callback that has started all of them; None: the program, whose stream keeps its thread.
    """

    def __init__(self, group: Streams, owner: Callback | None):
        self.group, self.owner = group, owner
        self.pending = 0  # submitted or running at once, and not finished
        self.queued: deque[int] = deque()  # the former, by number
        self._actions: queue.SimpleQueue[Queued | Callback | None] = queue.SimpleQueue()
        self._served = False  # by a thread

    def begin_at_once(self) -> bool:
        """True if the calling thread may carry out a collective itself because nothing is pending; `end_at_once` must
        follow."""
        with _changed:
            if self.pending or not self._is_its_turn():
                return False
            self._count(1)
        return self.group.turn.acquire()

    def end_at_once(self) -> None:
        self.group.turn.release()
        with _changed:
            self._count(-1)

    def submit(self, action: Queued | Callback) -> Queued | Callback:
        with _changed:
            action.number = next(_numbers)
            self.queued.append(action.number)
            self._count(1)
            self._actions.put(action)
            if not self._served:
                self._served = True
                self.group.serve(self)
        return action

    def _count(self, more: int) -> None:
        self.pending += more
        self.group.unfinished += more
        if more < 0:
            _changed.notify_all()

    def _is_its_turn(self) -> bool:
        """True if what was submitted to the group before the owner was attached is finished."""
        callback = self.owner
        while callback is not None:
            outer = callback.stream.owner
            around = self.group.of_program if outer is None else outer.streams.get(self.group)
            if around is not None and around.queued and around.queued[0] < callback.number:
                return False
            callback = outer
        return True

    def work(self) -> None:
        """Carry out what is submitted: until there is nothing, the program's stream until it ends."""
        while (action := self._actions.get()) is not None:
            if self.owner is not None:
                with _changed:
                    _changed.wait_for(self._is_its_turn)
            action.carry_out(self)
            del action  # it holds tensors, and the next one may be long in coming
            with _changed:
                self.queued.popleft()
                self._count(-1)
                if self.owner is not None and not self.queued:
                    self._served = False
                    return

    def end(self) -> None:
        """Let go of the thread: there is nothing to do."""
        with _changed:
            if self._served:
                self._served = False
                self._actions.put(None)


class Callback(Watched):
    """A callback of a future. depth: the nesting of the callbacks that it starts.

    awaited: that future, if it may not be complete when its turn comes.
    """

    stream: Stream  # that runs it
    number: int  # its place in the order of the program

    def __init__(
        self,
        progress: CollectiveProgress,
        run: Callable[[], None],
        depth: int,
        awaited: torch.futures.Future | None = None,
    ):
        self._progress, self._run, self._depth, self._awaited = progress, run, depth, awaited
        self.members = progress.operation.members
        self.streams: dict[Streams, Stream] = {}  # of what it starts
        with _changed:
            progress.callbacks += 1

    def stream_of(self, group: Streams) -> Stream:
        """The stream of what it starts in a group."""
        if group not in self.streams:
            self.streams[group] = Stream(group, self)
        return self.streams[group]

    def carry_out(self, stream: Stream) -> None:
        """Run it and wait for what it has started, in the stream's thread."""
        self.stream = stream
        _here.callback, _here.depth = self, self._depth
        try:
            with self:
                if self._awaited is not None:
                    _wait_for(self._awaited)
                self._run()
        except BaseException:  # a callback that nobody can ask for its error: add_done_callback's
            say(f"An error in {self}:\n{traceback.format_exc()}")
        _here.callback, _here.depth = None, 0
        with _changed:
            _changed.wait_for(lambda: not any(own.pending for own in self.streams.values()))
            self._progress.callbacks -= 1
            self._progress.changed()
        self._run = self._awaited = None

    def stuck(self, now: float) -> bool:
        """A callback may take as long as it likes, as long as nothing waits behind it."""
        return super().stuck(now) and len(self.stream.queued) > 1

    def __str__(self) -> str:
        return f"a callback of {self._progress.operation}"


def _wait_for(future: torch.futures.Future) -> None:
    try:
        torch.futures.Future.wait(future)
    except Exception:
        pass  # the callback asks the future itself


def _streams_held_up() -> list[Stream]:
    """The streams that go on only when the callback of this thread has returned."""
    streams, callback = [], _here.callback
    while callback is not None:
        streams.append(callback.stream)
        callback = callback.stream.owner
    return streams


def _require_not_behind(stream: Stream, operation: MpiCall) -> None:
    """Raise RuntimeError in a callback for which everything in `stream` that is not done waits."""
    if stream in _streams_held_up():
        raise RuntimeError(
            f"a callback waits for what begins only when it has returned: {operation}. Wait outside, or start the"
            " operation before the callback is attached"
        )


class OrderedFuture(torch.futures.Future):
    """The future of a collective, or of a callback of one. stream: where it will be completed.

    Its callbacks run in the order of the program, each exception is raised by the `wait` of the future that `then` has
    returned.
    """

    def __init__(self, progress: CollectiveProgress, stream: Stream):
        super().__init__()
        self._progress, self._stream = progress, stream

    def then(self, callback: Callable) -> OrderedFuture:
        stream = self._stream_of_callbacks()
        result = OrderedFuture(self._progress, stream)
        self._attach(stream, lambda: result._set_from(callback, self))
        return result

    def add_done_callback(self, callback: Callable) -> None:
        self._attach(self._stream_of_callbacks(), lambda: callback(self))

    def wait(self):
        if not self.done():
            _require_not_behind(self._stream, self._progress.operation)
        return super().wait()

    def _stream_of_callbacks(self) -> Stream:
        """The stream of the calling thread; that of the future where the latter waits for the former."""
        if not self.done() and self._stream in _streams_held_up():
            return self._stream
        return self._progress.stream.group.here()

    def _attach(self, stream: Stream, run: Callable[[], None]) -> None:
        if not self.done() or stream.pending:
            stream.submit(Callback(self._progress, run, _here.depth + 1, self))
            return
        _here.depth += 1
        try:
            torch.futures.Future.add_done_callback(self, lambda _: run())  # at once, in this thread
        finally:
            _here.depth -= 1

    def _set_from(self, callback: Callable, completed: OrderedFuture) -> None:
        try:
            value = callback(completed)
        except BaseException as error:
            shown = CallbackError("\n" + "".join(traceback.format_exception(error)).rstrip())
            self.set_error(error, shown)
        else:
            self.set_result(value)

    def set_error(self, error: BaseException, shown: CallbackError | None = None) -> None:
        """Complete it by an error, which `wait` and `value` raise. shown: its traceback, which is also what C++ shows
        where it asks for a tensor (DistributedDataParallel for what a hook returns).

        The future keeps no frame of the traceback: they hold tensors, and the future itself.
        """
        kept = _copy(error if isinstance(error, Exception) else RuntimeError(repr(error)))

        def raise_error(_):
            raise _copy(kept) from shown

        self._set_unwrap_func(raise_error)
        self.set_result(kept if shown is None else shown)


class CallbackError(Exception):
    """A callback's error with its traceback, as text."""


def _copy(error: Exception) -> Exception:
    """The same error without a traceback; itself where its class cannot be copied."""
    try:
        return copy.copy(error)
    except Exception:  # the constructor wants something else
        return error.with_traceback(None)


class Queued(dist.Work):
    """A collective that a stream's thread carries out while the program goes on.

    It counts as complete when the callbacks of its future have run, as with gloo.
    """

    number: int  # its place in the order of the program

    def __init__(self, operation: MpiCall, run: Callable[[], None], result, stream: Stream):
        super().__init__()
        self._operation, self._run, self._result = operation, run, result
        self._progress, self._depth = CollectiveProgress(operation, stream), _here.depth
        # made when somebody asks: most collectives are just waited for
        self._future: OrderedFuture | None = None
        self._error: BaseException | None = None
        self._profiled = profiled_until_complete(operation.kind)

    def carry_out(self, stream: Stream) -> None:
        """Called by the stream, once."""
        try:
            with stream.group.turn, self._operation:
                self._run()
        except BaseException as error:  # it belongs to whoever waits for the operation
            self._error = error
        self._run = None  # lets go of the tensors
        recorder.end(self._operation.token)
        if self._profiled is not None:
            self._profiled.set_result(None)
        with _changed:
            self._progress.carried_out = True
            asked = self._future is not None
            self._progress.changed()
        if asked:  # PyTorch's own callbacks run here, and those of a future of several (`collect_all`)
            self._delivery.number = self.number
            self._delivery.carry_out(stream)
            self._delivery = None

    def _complete_future(self) -> None:
        if self._error is None:
            self._future.set_result(self._result)
        else:
            self._future.set_error(self._error)

    def wait(self, timeout: timedelta | None = None) -> bool:
        progress = self._progress
        if not progress.is_over():
            if not progress.carried_out:
                _require_not_behind(progress.stream, self._operation)
            recorder.waiting(self._operation.token)
            with _changed:
                if not _changed.wait_for(progress.is_over, seconds_of(timeout)):
                    raise too_late(self._operation, timeout)
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        if not self._progress.complete:
            recorder.polled(self._operation.kind)
        return self._progress.complete

    def is_success(self) -> bool:
        return self._progress.complete and self._error is None

    def exception(self) -> BaseException | None:
        return self._error

    def result(self):
        return self._result

    def get_future(self) -> torch.futures.Future:
        with _changed:
            if self._future is None:
                self._future = OrderedFuture(self._progress, self._progress.stream)
                if self._progress.carried_out:
                    self._complete_future()
                else:
                    self._delivery = Callback(self._progress, self._complete_future, self._depth)
            return self._future
