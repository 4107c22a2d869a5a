"""The first process of an MPI job's jail: mpiexec in it, and its ranks, each in a cell of its own.

mpiexec has no rights, so a rank that it forks could be given no namespace. It forks *stubs* instead, which run nothing
of a student's: a stub hands the variables and the standard streams that it got to this process, which has forked the
ranks beforehand, and ends as its rank does. A rank finds the others as Open MPI has it, over a loopback device and
files that all share, and then asks for its cell to be closed (`Seal`): from there on it sees a /tmp and a /dev/shm of
its own, no process but its own, and can open no socket. The memory in which Open MPI passes messages is mapped by then,
and its connections to mpiexec are open: they remain.

Started by `labkit.launch.mpi_job`, within `jail.py SPEC serve`; `Seal` is the rank's side.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile

from labkit.launch import jail, landlock

PLACE = "cells"  # of the socket on which stubs call, in the job's folder
_LONGEST = 1 << 20  # bytes of variables that a stub may hand over
# Of a rank as mpiexec sees it. argv: the socket's path. Imports next to nothing: it is started once for each rank.
STUB = """
import _signal, _socket, os, sys
sock = _socket.socket(_socket.AF_UNIX)
sock.connect(sys.argv[1])
said = b"\\0".join(name + b"=" + value for name, value in os.environb.items())
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
sock.sendmsg([len(said).to_bytes(4, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
sock.sendall(said)
for number in (0, 1, 2):
    os.close(number)
code = sock.recv(4)
code = int.from_bytes(code, "little", signed=True) if len(code) == 4 else 1
if code < 0:
    if -code not in (_signal.SIGKILL, _signal.SIGSTOP):
        _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code if code >= 0 else 1)
"""


class RankCell:
    """A rank and what holds it. rank: its number among all, -1 until a stub has called for it."""

    def __init__(self, spec: dict, command: list[str], place: int):
        """place: among the cells. Open MPI takes two ranks whose processes have the same number for one."""
        self.sock, theirs = socket.socketpair()
        self.rank, self.stub, self.sealed = -1, None, False
        self.compartment = jail.start_compartment(spec)
        self.pid = jail.fork_into(self.compartment, left_out=place)
        if self.pid == 0:
            _enter(spec, theirs, command)
        theirs.close()
        self.process = os.pidfd_open(self.pid)
        _, handles, _, _ = socket.recv_fds(self.sock, 1, 1)
        if not handles:
            raise jail.JailError(0, "a rank could not enter its cell")
        self.namespace = handles[0]

    def take(self, stub: socket.socket) -> None:
        """Bring the rank to life that `stub` stands for."""
        self.stub = stub
        head, streams, _, _ = socket.recv_fds(stub, 4, 3)
        size = int.from_bytes(head, "little")
        if len(head) < 4 or len(streams) != 3 or size > _LONGEST:
            raise jail.JailError(0, "mpiexec has started something that is no rank")
        said = _exactly(stub, size)
        variables = dict(entry.split(b"=", 1) for entry in said.split(b"\0"))
        self.rank = int(variables[b"OMPI_COMM_WORLD_RANK"])
        socket.send_fds(self.sock, [head], streams)
        self.sock.sendall(said)
        for number in streams:
            os.close(number)

    def seal(self, spec: dict) -> None:
        """Close the cell, as its rank has asked for. Raises JailError where that fails."""
        if not self.sock.recv(1):
            return
        own = f"{jail.JOB_FOLDER}/rank{self.rank}"
        os.mkdir(own, 0o700)
        jail.give(spec, own)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                jail.cover_folders(spec, self.namespace, own)
                status = 0
            except OSError as error:
                print(f"the jail cannot be built: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        if os.waitpid(pid, 0)[1] != 0:
            raise jail.JailError(0, "the cell of a rank could not be closed")
        os.close(self.namespace)
        self.sealed = True
        self.sock.sendall(b"!")

    def end(self) -> None:
        """End the rank and all that it has started, and let its stub end in the same way."""
        try:
            os.kill(self.compartment or self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self.stub is not None:
            try:
                self.stub.sendall(code.to_bytes(4, "little", signed=True))
            except OSError:
                pass  # mpiexec has ended it
            self.stub.close()
            self.stub = None
        os.close(self.process)
        self.sock.close()


def _enter(spec: dict, sock: socket.socket, command: list[str]) -> None:
    """A freshly forked rank enters its cell and becomes `command`, with its end of `sock` for the last argument."""
    try:
        jail.die_with_parent()
        os.setsid()
        socket.send_fds(sock, [b"n"], [jail.enter_cell(spec)])
        jail.apply_limits(spec["limits"])
        jail.drop_rights(spec, spec["limits"]["processes"])
        jail.close_descriptors({0, 1, 2, sock.fileno()})
        sock.set_inheritable(True)
        os.execv(command[0], [*command, str(sock.fileno())])
    except OSError as error:
        print(f"the jail cannot be built: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(125)


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise jail.JailError(0, "a rank has ended before it began")
        data += piece
    return data


class _Job:
    """The cells of a job and its mpiexec, until the latter ends."""

    def __init__(self, spec: dict, ranks: int, rank: list[str], mpiexec: list[str]):
        self.spec = spec
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(f"{jail.JOB_FOLDER}/{PLACE}")
        os.chmod(f"{jail.JOB_FOLDER}/{PLACE}", 0o777)
        self.server.listen(ranks)
        self.mpiexec = jail.start(spec, mpiexec)
        self.waiting = [RankCell(spec, rank, place) for place in range(ranks)]
        self.alive: list[RankCell] = []
        self.shielded = False

    def stay(self) -> int:
        """The exit status of mpiexec, once it has ended."""
        ended = os.pidfd_open(self.mpiexec)
        while True:
            self._look(ended)
            if os.waitid(os.P_PIDFD, ended, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                code = os.waitstatus_to_exitcode(os.waitpid(self.mpiexec, 0)[1])
                return code if code >= 0 else 128 - code
            if jail.usage()[0] > self.spec["limits"]["memory_bytes"]:
                print("the jail's processes together have taken too much memory: ended", file=sys.stderr, flush=True)
                return 128 + signal.SIGKILL

    def _look(self, ended: int) -> None:
        """Wait for a fifth of a second at most, and do what there is to be done."""
        watched = [ended, self.server, *(cell.process for cell in self.alive)]
        watched += [one for cell in self.alive for one in (cell.stub, *([] if cell.sealed else [cell.sock]))]
        readable, _, _ = select.select(watched, [], [], 0.2)
        for cell in list(self.alive):
            if not cell.sealed and cell.sock in readable and cell.process not in readable:
                cell.seal(self.spec)
            if cell.process in readable or cell.stub in readable:  # a stub says nothing more: mpiexec has ended it
                self.alive.remove(cell)
                cell.end()
        if self.server in readable and self.waiting:
            cell = self.waiting.pop()
            self.alive.append(cell)
            cell.take(self.server.accept()[0])
        if not self.shielded and not self.waiting and all(cell.sealed for cell in self.alive):
            jail.shield_leader(self.spec)
            self.shielded = True


def command(spec: dict, ranks: int, rank: list[str], mpiexec: list[str], stubs: int = 1) -> list[str]:
    """The first process of a job's jail, for `jail.py SPEC serve`. rank: the command of each rank, to which the number
    of a socket is added (`Seal`); mpiexec: what starts the stubs, to which a stub's command is added, `stubs` times as
    JSON where that is more than once."""
    stub = [sys.executable, "-I", "-S", "-c", STUB, f"{jail.JOB_FOLDER}/{PLACE}"]
    started = [*mpiexec, *(stub if stubs == 1 else [json.dumps(stub)] * stubs)]
    asked = {"spec": spec, "ranks": ranks, "rank": rank, "mpiexec": started}
    program = f"import sys; sys.path[:] = {spec['path']!r}; from labkit.launch import mpi_cells; mpi_cells.main()"
    return [sys.executable, "-I", "-S", "-c", program, json.dumps(asked)]


def main() -> None:
    """argv: a JSON object with the SPEC, the number of ranks, a rank's command, mpiexec's."""
    asked = json.loads(sys.argv[1])
    spec = asked["spec"]
    status = 125
    try:
        jail.settle(spec, socket.socket(fileno=spec["lifeline"]) if "lifeline" in spec else None)
        os.makedirs(jail.JOB_FOLDER, exist_ok=True)
        status = _Job(spec, asked["ranks"], asked["rank"], asked["mpiexec"]).stay()
    except OSError as error:
        print(f"the jail cannot be built: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


class Seal:
    """The rank's side of its cell. fileno: of the socket to the job's first process."""

    def __init__(self, fileno: int):
        self.sock = socket.socket(fileno=fileno)

    def wait_for_call(self) -> None:
        """Wait until mpiexec asks for a rank; then this process has its variables and its streams."""
        head, streams, _, _ = socket.recv_fds(self.sock, 4, 3)
        if len(head) < 4 or len(streams) != 3:
            os._exit(1)
        said = _exactly(self.sock, int.from_bytes(head, "little"))
        os.environb.clear()
        os.environb.update(entry.split(b"=", 1) for entry in said.split(b"\0"))
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)

    def close(self) -> None:
        """Give up, for good, what leads to other ranks beside MPI. Open MPI must have found them."""
        self.sock.sendall(b"s")
        if self.sock.recv(1) != b"!":
            os._exit(1)
        self.sock.close()
        _withdraw("/tmp")


def shut_in(folder: str) -> None:
    """Give up as much of that as a rank can without a cell, for a `folder` of its own."""
    os.mkdir(folder, 0o700)
    _withdraw(folder)
    landlock.shut_in(folder)


def _withdraw(folder: str) -> None:
    """Go to work in `folder`, without files and sockets that others have, too."""
    os.chdir(folder)
    _let_go_of_files()
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    limit = jail.DESCRIPTORS_APART
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if _seccomp_is_on():
        jail.install_seal()


def _let_go_of_files() -> None:
    """Puts nothing in place of every open file of the folders that were shared: of them one could ask how full they
    are."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the one by which they were listed
            continue
        if path.startswith(("/tmp/", "/dev/shm/")):
            os.dup2(nothing, int(name))
    os.close(nothing)


def _seccomp_is_on() -> bool:
    """True if this process has a filter of system calls, as all have where the machine can."""
    with open("/proc/self/status") as file:
        return any(line.split() == ["Seccomp:", "2"] for line in file)
