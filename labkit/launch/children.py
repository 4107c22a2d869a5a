"""The ranks of a case as processes: how they are forked from their leader, what they do first, and how they ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import tempfile
import traceback
from dataclasses import dataclass
from typing import BinaryIO

from labkit.launch import jail
from labkit.launch.own_places import have_private_roots
from labkit.launch.process import apply_limits, die_with_parent, settle_torch_after_fork
from labkit.relay import wire

MOST_SAID, SAID = 64 << 10, 400  # bytes of a rank's last words that are looked at, characters that are told
PROCESSES = 96  # that a rank in a jail may have, threads included: TensorFlow alone starts two dozen


@dataclass(frozen=True)
class Birth:
    """The arguments of a fork. sock: the rank's end of the connection to the client; others: sockets of the other
    ranks, which this one closes.

    request: the leader's. folder: that all ranks of the case share; None: it gets one of its own in its compartment of
    the jail.
    rendezvous: Horovod's, or None. spec: the jail, or None.
    """

    rank: int
    sock: socket.socket
    others: list[socket.socket]
    request: dict
    folder: str | None
    rendezvous: object
    spec: dict | None


class Children:
    """The forked ranks of a case. alive: process -> rank. ends: how each rank's process ended, {} until then.

    listens: what a rank's process writes to its standard error, which is no longer Python's then, is kept, and the end
    of one that died has "said", its last words: an abort of a library says why there, and nowhere else.
    """

    def __init__(self, ranks: int, listens: bool = False):
        self._errors: list[BinaryIO | None] = [tempfile.TemporaryFile() if listens else None for _ in range(ranks)]
        self.alive: dict[int, int] = {}
        self.ends: list[dict] = [{} for _ in range(ranks)]
        # The kernel writes a byte into one pipe when a child ends; children say in the other that a jail could not be
        # built.
        self._wake, self._wake_write = os.pipe()
        self._trouble, self._trouble_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_write)

    def fork(self, birth: Birth, compartment: int) -> None:
        """Fork a rank. compartment: of the jail (`jail.start_compartment`), 0 for none."""
        pid = jail.fork_into(compartment)
        if pid == 0:
            pipes = (self._wake, self._wake_write, self._trouble)
            _live(birth, pipes, self._trouble_write, self._errors[birth.rank])
        self.alive[pid] = birth.rank

    def complete(self) -> None:
        """All have been forked."""
        os.close(self._trouble_write)
        self._reap(os.WNOHANG, "")

    def wait(self, lifeline: socket.socket, pause: float | None, over: str) -> bool:
        """Wait for the end of a child, for `lifeline` or for `pause` seconds. Returns whether the lifeline has closed.

        over: which limit all of them have passed, noted of those that have ended.
        """
        readable, _, _ = select.select([lifeline, self._wake], [], [], pause)
        if self._wake in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, 4096)
            self._reap(os.WNOHANG, over)
        return lifeline in readable

    def kill(self, over: str) -> None:
        """End all that are left, and wait for them."""
        for pid in self.alive:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError):
                    kill(pid, signal.SIGKILL)
        self._reap(0, over)

    def _reap(self, flags: int, over: str) -> None:
        while self.alive:
            pid, status, usage = os.wait4(-1, flags)
            if pid == 0:
                return
            if pid in self.alive:
                code = os.waitstatus_to_exitcode(status)
                rank = self.alive.pop(pid)
                self.ends[rank] = {
                    "exit": code if code >= 0 else None,
                    "signal": -code if code < 0 else None,
                    "cpu": usage.ru_utime + usage.ru_stime,
                    "rss": usage.ru_maxrss << 10,
                    "over": over,
                    "said": _last_words(self._errors[rank]) if code else "",
                }

    def trouble(self) -> str:
        """Why a jail could not be built, "" where all were. Blocks until every rank has taken its job or ended."""
        return os.read(self._trouble, 4096).decode(errors="replace")


def _last_words(errors: BinaryIO | None) -> str:
    """The last lines of a process' standard error, without the stack that torch adds."""
    if errors is None:
        return ""
    errors.seek(0)
    text = errors.read(MOST_SAID).decode(errors="replace").partition("\nException raised from")[0]
    return " ".join(text.split())[-SAID:]


def _live(birth: Birth, pipes: tuple[int, ...], trouble: int, errors: BinaryIO | None) -> None:
    """A freshly forked rank's life; never returns. trouble: where it says that its jail could not be built. errors: its
    standard error; None: there is none."""
    status = 1
    try:
        _leave_the_leader(birth, pipes, errors)
        apply_limits(birth.request["limits"])
        folder = birth.folder if birth.spec is None else _shut_in(birth, trouble)
        os.close(trouble)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        os.chdir(folder)
        settle_torch_after_fork()
        if birth.rendezvous is not None:
            birth.rendezvous.enter_rank(birth.rank)
        from labkit.launch import rank_program

        rank_program.run_rank(birth.sock)
        status = 0
    except (wire.Closed, BrokenPipeError, ConnectionResetError):
        status = 0
    except BaseException:
        traceback.print_exc(file=os.fdopen(2, "w", closefd=False))
    finally:
        os._exit(status)


def _leave_the_leader(birth: Birth, pipes: tuple[int, ...], errors: BinaryIO | None) -> None:
    """Give up what belongs to the leader: its group, its signals, its pipes, the others' sockets, its terminal."""
    signal.set_wakeup_fd(-1)
    os.setpgid(0, 0)
    die_with_parent()
    for other in birth.others:
        other.close()
    for fd in pipes:
        os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    if errors is not None:
        os.dup2(errors.fileno(), 2)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _shut_in(birth: Birth, trouble: int) -> str:
    """A rank enters its compartment, if it has one of its own, and gives up all rights; returns its folder. Where that
    fails nothing runs."""
    spec, folder = birth.spec, birth.folder
    try:
        jail.share_no_memory()
        if folder is None:
            spec = jail.as_a_rank(spec, birth.rank)
            jail.enter_compartment(spec, network=False, alone=True)
            jail.cover(spec, birth.request["covered"])
            if "namespaces" in spec["protections"]:
                have_private_roots()
            folder = tempfile.mkdtemp(prefix="case-", dir="/tmp")
            jail.give(spec, folder)
        jail.drop_rights(spec, PROCESSES * birth.request["ranks"], birth.request["apart"])
    except OSError as error:
        os.write(trouble, f"{error}\n".encode()[:500])
        os._exit(1)
    return folder
