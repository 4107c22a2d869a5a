"""A student's function for a harness that calls it for one rank after the other: the calls of each rank are in a
process of its own, as on real ranks, and the student's code is not in that of the harness."""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from labkit.cells.slicing import Chunk, execute
from labkit.launch.own_places import OwnPlaces
from labkit.launch.process import die_with_parent, let_look_into, settle_torch_after_fork
from labkit.relay import wire

STREAM = "\0stream"  # key of the state of a random generator, which is no plain data


class NotGiven(Exception):
    """The harness gave the function what cannot be carried from one process to another."""


class EachRank:
    """The stand-in for the function in a harness. place: of the argument that says for which rank it is called; begin:
    what the process of a rank does first."""

    def __init__(self, chunks: Sequence[Chunk], name: str, place: int, fileno: int, begin: Callable[[int], None]):
        self.chunks, self.name, self.place, self.fileno, self.begin = chunks, name, place, fileno, begin
        self.ranks: dict[int, tuple[int, socket.socket]] = {}
        self.running: int | None = None  # the rank whose process is not stopped
        let_look_into(False)

    def __call__(self, *arguments):
        """The result of the function in the process of that rank. Raises what it raises, as far as that is an exception
        of Python's own, NotGiven, and ChildProcessError where the process has ended or sent anything else."""
        rank = int(arguments[self.place])
        try:
            given = _packed(list(arguments))
            _unpacked(*given)
        except wire.WireError as error:
            raise NotGiven(str(error)) from None
        try:
            kind, meta, payload = self._asked(rank, given)
            if kind != wire.RAISED:
                return _unpacked(meta, payload)
        except wire.WireError as error:
            raise ChildProcessError(f"rank {rank} returned what no other process can be given: {error}") from None
        except (wire.Closed, OSError):
            raise ChildProcessError(f"the process of rank {rank} has ended before it returned") from None
        raise _exception(str(meta.get("type")), str(meta.get("text")))

    def _asked(self, rank: int, given: tuple[dict, bytes]) -> tuple[int, dict, bytes]:
        """The answer of a rank's process. Raises WireError, Closed, OSError."""
        if self.running != rank:
            self._turn_to(rank)
        sock = self.ranks[rank][1]
        wire.send(sock, wire.JOB, *given)
        return wire.receive(sock)

    def _turn_to(self, rank: int) -> None:
        """Stop the process that runs, and let that of this rank run, which finds no file of the other."""
        if self.running is not None:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # it has ended
                os.kill(self.ranks[self.running][0], signal.SIGSTOP)
                os.waitpid(self.ranks[self.running][0], os.WUNTRACED)
            self.places.clear()
        self.running = rank
        if rank not in self.ranks:
            self.ranks[rank] = self._fork(rank)
        else:
            _go_on(self.ranks[rank][0])

    @functools.cached_property
    def places(self) -> OwnPlaces:
        return OwnPlaces()

    def end(self) -> None:
        """End the processes, and wait for them."""
        for pid, sock in self.ranks.values():
            sock.close()
            _go_on(pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        if self.ranks:
            self.places.end()
        self.ranks.clear()

    def _fork(self, rank: int) -> tuple[int, socket.socket]:
        places = self.places  # made by the parent, so that all have the same
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid:
            theirs.close()
            return pid, ours
        try:
            ours.close()
            places.enter(rank)
            self._live(rank, theirs)
        finally:
            os._exit(1)

    def _live(self, rank: int, sock: socket.socket) -> None:
        """The life of a rank: one call after the other, until the harness has no more of them."""
        die_with_parent()
        let_look_into(True)
        for _, other in self.ranks.values():
            other.close()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, self.fileno)  # the way to the relay
        os.close(nothing)
        sys.stdout = sys.stderr = io.StringIO()
        settle_torch_after_fork()
        self.begin(rank)
        namespace = self._namespace()
        while True:
            _, meta, payload = wire.receive(sock)
            self.places.stay(rank)
            wire.send(sock, *self._reply(namespace, meta, payload))

    def _namespace(self) -> dict:
        namespace = {"__name__": "__main__", "__builtins__": __builtins__}
        execute(self.chunks, namespace)
        return namespace

    def _reply(self, namespace: dict, meta: dict, payload: bytes) -> tuple[int, dict, bytes]:
        """The record that says what a call gave."""
        try:
            return wire.REPLY, *_packed(namespace[self.name](*_unpacked(meta, payload)))
        except BaseException as error:
            return wire.RAISED, {"type": type(error).__name__, "text": str(error)[:2000]}, b""


class EachRankInside(EachRank):
    """The same where there are no processes, as in a browser: each rank has variables of its own, but modules are
    shared."""

    def _asked(self, rank: int, given: tuple[dict, bytes]) -> tuple[int, dict, bytes]:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.begin(rank)
            if rank not in self.namespaces:
                try:
                    self.namespaces[rank] = self._namespace()
                except BaseException:
                    raise wire.Closed from None
            return self._reply(self.namespaces[rank], *given)

    @functools.cached_property
    def namespaces(self) -> dict[int, dict]:
        """The variables of each rank that has been called."""
        return {}


def _go_on(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _packed(value: Any) -> tuple[dict, bytes]:
    """A value as the parts of a record. Random generators are their state."""
    tagged, payload = wire.encode(_with_states(value), sys.modules.get("torch"))
    return {"value": tagged}, payload


def _with_states(value: Any) -> Any:
    torch = sys.modules.get("torch")
    if isinstance(value, np.random.Generator):
        state = value.bit_generator.state
        return {STREAM: type(value.bit_generator).__name__, "state": state}
    if torch is not None and isinstance(value, torch.Generator):
        return {STREAM: "torch", "state": value.get_state()}
    if isinstance(value, tuple):
        return tuple(map(_with_states, value))
    if isinstance(value, np.ndarray):
        return value if value.dtype.name in wire.DTYPES else _with_states(value.tolist())
    whole = (str, bytes, dict, np.generic, wire.Tensor)
    if isinstance(value, whole) or (torch is not None and torch.is_tensor(value)) or not hasattr(value, "__iter__"):
        return value
    return [_with_states(one) for one in value]


def _unpacked(meta: dict, payload: bytes) -> Any:
    """The value of a record. Raises WireError."""
    return _rebuilt(wire.decode(meta.get("value"), payload))


def _rebuilt(value: Any) -> Any:
    torch = sys.modules.get("torch")
    if isinstance(value, (wire.Opaque, wire.Placeholder)):
        raise wire.WireError(f"{value} is no plain data")
    if isinstance(value, wire.Tensor):
        return torch.from_numpy(np.array(value.values)).to(getattr(torch, value.dtype))
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (list, tuple)):
        return type(value)(map(_rebuilt, value))
    if isinstance(value, dict) and STREAM in value:
        return _stream(value[STREAM], _rebuilt(value["state"]), torch)
    return {key: _rebuilt(one) for key, one in value.items()} if isinstance(value, dict) else value


def _stream(kind: str, state: Any, torch) -> Any:
    """A random generator with this state."""
    try:
        if kind == "torch":
            generator = torch.Generator()
            generator.set_state(state)
            return generator
        bits = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"} & {kind}
        made = np.random.Generator(getattr(np.random, bits.pop())())
        made.bit_generator.state = state
        return made
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise wire.WireError(f"a random generator of another kind, {kind}") from None


def _exception(kind: str, text: str) -> Exception:
    """An exception of Python's own, or one that says of which type it was."""
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, UnicodeError):
        return known(text)
    return RuntimeError(f"{kind}: {text}")
