"""Forks the ranks of a notebook from a process that has imported what they need, so that they share its memory.

Four ranks that import torch and ipyparallel for themselves are four times the same 200 MB, and four times the same two
seconds of a core: on a hub with a class that is most of what a student costs. So the warm launcher
(`labkit.launch.launcher`), which has imported the frameworks for the checks anyway, forks this process, and this forks
each rank when mpiexec starts its stub (`labkit.ranks.stub`). The rank gets the environment, streams, folder and cores
that mpiexec gave the stub, and starts MPI itself, after the fork. To a program it is the rank that mpiexec started,
with one difference: Python's hashes of strings, and so the order of a set of names, are the same on all ranks. It ends
when its stub ends, and all end when the kernel lets go of the lifeline.

Not used, and ranks started as programs of their own (`python -m labkit.ranks.engine`): on several nodes, and where
there is a GPU, whose driver does not survive a fork.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path

from labkit.launch import framed, launcher
from labkit.launch.process import die_with_parent, settle_torch_after_fork

_STUB = str(Path(__file__).with_name("stub.py"))
# What an engine comes to import by itself; only mpi4py, which starts MPI, has to wait for the fork.
_USED_BY_EVERY_RANK = (
    "ipyparallel.engine.app",
    "ipykernel.debugger",
    "IPython.core.completerlib",
    "IPython.core.oinspect",
)
_USED_BY_EVERY_RANK += (
    "IPython.extensions.storemagic",
    "tornado.iostream",
    "tornado.tcpserver",
    "sqlite3",
    "labkit.ranks.engine",
)
_LONGEST_PATH = 100  # of a socket, in bytes; Linux allows 107
_PATIENCE = 30.0  # s for a stub to say what it wants; it writes it in one go


# -- the kernel's side -------------------------------------------------------------------------------------------------


class RankForker:
    """The process that forks this notebook's ranks, as its kernel holds it: it lives until `close`, or until the kernel
    is gone.

    folder: where the stubs find it; `command` is what mpiexec is to start for each rank. Raises OSError where it cannot
    listen there, LauncherError where the launcher is gone for good.
    """

    def __init__(self, folder: Path):
        path = str(folder / "forker")
        self.command = [sys.executable, "-I", "-S", _STUB, path]  # to be started by mpiexec
        self._lifeline, theirs = socket.socketpair()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, theirs:
            try:
                listener.bind(path)
                listener.listen(128)
                launcher.for_notebook().fork_ranks(theirs, listener)
            except BaseException:
                self._lifeline.close()
                raise

    def close(self, limit: float = 10.0) -> None:
        """End the ranks; returns when they are gone."""
        with contextlib.suppress(OSError):
            self._lifeline.settimeout(limit)
            self._lifeline.shutdown(socket.SHUT_WR)
            self._lifeline.recv(1)  # nothing comes: the other end closes when everybody has gone
        self._lifeline.close()


def is_possible(folder: Path, nodes: int) -> bool:
    """True if the ranks of a notebook can be forked here, with the forker's socket in `folder`."""
    gpu = os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/kfd")
    return nodes == 1 and sys.platform == "linux" and not gpu and len(os.fsencode(folder / "forker")) <= _LONGEST_PATH


# -- the forker's side -------------------------------------------------------------------------------------------------


def serve(lifeline: socket.socket, listener: socket.socket) -> None:
    """Import what every rank needs, then fork a rank for each stub that asks, until the lifeline is let go."""
    _call_this_process("forker")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # ipykernel's debugger would warn of itself
    gc.disable()  # as in the launcher
    for module in _USED_BY_EVERY_RANK:
        importlib.import_module(module)
    gc.enable()
    gc.collect()
    gc.freeze()  # what is not looked at is not copied
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    stubs: dict[int, socket.socket] = {}  # by the rank's process
    try:
        while True:
            readable, _, _ = select.select([lifeline, listener, wake, *stubs.values()], [], [])
            if wake in readable:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)
                _tell_ends(stubs)
            for pid, stub in stubs.items():
                if stub in readable:  # it says nothing any more: it is gone
                    os.kill(pid, signal.SIGKILL)
            if listener in readable:
                stub, _ = listener.accept()
                with contextlib.suppress(OSError, ValueError):
                    stubs[_fork(stub, [lifeline, listener, *stubs.values()], [wake, woken])] = stub
            if lifeline in readable:
                return
    finally:
        for pid in stubs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in stubs:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _tell_ends(stubs: dict[int, socket.socket]) -> None:
    """Tell the stubs of ranks that have ended how they did: an exit status, or minus the number of a signal."""
    for pid in list(stubs):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with stubs.pop(pid) as stub, contextlib.suppress(OSError):
                stub.sendall(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _fork(stub: socket.socket, sockets: list[socket.socket], pipes: list[int]) -> int:
    """Fork the rank that this stub asks for; the number of its process. Raises OSError and ValueError where a stub
    breaks off."""
    request, streams = _receive(stub)
    try:
        pid = os.fork()
        if pid == 0:
            _be_a_rank(request, streams, [stub, *sockets], pipes)
        return pid
    finally:
        for stream in streams:
            os.close(stream)


def _receive(stub: socket.socket) -> tuple[dict, list[int]]:
    """The request of a stub: {"environment", "folder", "cores"} and its three standard streams. Raises OSError and
    ValueError."""
    stub.settimeout(_PATIENCE)
    try:
        request, streams = framed.receive(stub, 3)
    except framed.Broken as error:
        raise ValueError(str(error)) from None
    if request is None or len(streams) != 3:
        for stream in streams:
            os.close(stream)
        raise ValueError("a stub has broken off")
    return request, streams


def _be_a_rank(request: dict, streams: list[int], sockets: list[socket.socket], pipes: list[int]) -> None:
    """Turns the forked process into the rank that mpiexec meant to start, and runs it. Never returns."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        die_with_parent()
        for sock in sockets:
            sock.close()
        for pipe in pipes:
            os.close(pipe)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        _take_over(request)
        import labkit.ranks.engine as engine

        engine.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _call_this_process(name: str) -> None:
    """The name by which top and ps show it; its command line stays the launcher's."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def _take_over(request: dict) -> None:
    """Environment, folder, cores; streams as a fresh Python has them; and chance, of which every rank has its own."""
    os.environ.clear()
    os.environ.update(request["environment"])
    _call_this_process(f"rank {os.environ.get('OMPI_COMM_WORLD_RANK', '')}")
    os.chdir(request["folder"])
    os.sched_setaffinity(0, request["cores"])
    os.setpgid(0, 0)
    sys.stdin = open(0, closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", buffering=1, closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, closefd=False)
    sys.argv = ["labkit.ranks.engine"]
    tempfile.tempdir = None
    threading.current_thread().name = "MainThread"
    settle_torch_after_fork()
    reseed_after_fork()


def reseed_after_fork() -> None:
    """Seed numpy's and torch's global generators from the operating system: all forked ranks would draw the same
    numbers. Python's own `random` reseeds itself."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()
