"""Horovod in ranks forked from one process: imported once, told where to meet, and watched for a standstill."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import os
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from labkit.environment import without_frameworks
from labkit.launch.horovod_tracing import trace_without_autograph

FRAMEWORKS = ("torch", "tensorflow", "horovod")
WINDOW = 1.0  # seconds over which the processor time of the ranks is looked at
WINDOWS = 4  # so many windows without work are a standstill; a rank in tf.data may rest for more than two
BUSY = 0.03  # share of a window above which a rank computes; waiting for Horovod takes less
# Milliseconds between two rounds of Horovod's background thread. With its usual one, ranks that wait (for each other,
# for a slow machine) spend a third of a case's processor time on asking whether there is anything to do.
_CYCLE = "5"
_THREADS = 4096  # bytes per rank in the shared file where a rank notes which of its threads are Horovod's


def frameworks() -> tuple[str, ...]:
    """The frameworks of `FRAMEWORKS` that are installed: Horovod may not be compiled."""
    return FRAMEWORKS[:-1] if without_frameworks() else FRAMEWORKS


def import_horovod() -> None:
    """Import Horovod for TensorFlow, Keras and PyTorch, with an `init` that notes which threads it starts.

    Where both frameworks are imported, Horovod asks the one imported last for the ranks of the global process set. That
    one was not initialised, the set stays empty, and a DistributedGradientTape averages nothing: `init` has to say
    first whose set it is.
    """
    from horovod.common import basics, process_sets

    original = basics.HorovodBasics.init

    def init(self, *arguments, **named):
        process_sets._setup(self)
        before = set(os.listdir("/proc/self/task"))
        try:
            return original(self, *arguments, **named)
        finally:
            _note_threads(set(os.listdir("/proc/self/task")) - before)

    init.__doc__ = original.__doc__
    basics.HorovodBasics.init = init
    import horovod.tensorflow
    import horovod.tensorflow.keras
    import horovod.torch  # noqa: F401
    from horovod.runner.common.util import hosts  # noqa: F401
    from horovod.runner.http import http_server  # noqa: F401
    from horovod.tensorflow import mpi_ops
    from horovod.torch import mpi_lib_v2

    _wait_politely(mpi_lib_v2)
    _count_what_is_moved(mpi_lib_v2, "horovod_torch_")
    _count_what_is_moved(mpi_ops.MPI_LIB, "horovod_")
    trace_without_autograph()


def _wait_politely(library) -> None:
    """Horovod for PyTorch waits by asking without a pause, which takes a whole core from the ranks it waits for."""
    wait_and_clear = library.horovod_torch_wait_and_clear

    def wait(handle):
        pause = 1e-4
        while not library.horovod_torch_poll(handle):
            time.sleep(pause)
            pause = min(2 * pause, 5e-3)
        return wait_and_clear(handle)

    library.horovod_torch_wait_and_clear = wait


_MOVES = re.compile(r"(grouped_)?(allreduce|allgather|broadcast|alltoall|reducescatter)(_(async|inplace)\w*)?$")
UNKNOWN = 1e18  # bytes, of an operation that does not say how many it moves
_carried = 0.0  # bytes that this rank has handed to Horovod's collectives


def carried_bytes() -> float:
    """Bytes that this rank has handed to Horovod's collectives so far; UNKNOWN where one does not say how many."""
    return _carried


def _count_what_is_moved(library, prefix: str) -> None:
    """Have Horovod's operations of one framework note the bytes they are called with: without any, a rank has heard of
    nobody."""
    for name in dir(library):
        if name.startswith(prefix) and _MOVES.match(name.removeprefix(prefix)):
            setattr(library, name, _counted(getattr(library, name)))


def _counted(operation):
    @functools.wraps(operation)
    def call(*arguments, **named):
        global _carried
        tensors = arguments[0] if arguments else next(iter(named.values()))
        _carried = min(
            UNKNOWN, _carried + sum(map(_bytes_of, tensors if isinstance(tensors, (list, tuple)) else [tensors]))
        )
        return operation(*arguments, **named)

    return call


def _bytes_of(tensor) -> float:
    """UNKNOWN for what has no size yet: while TensorFlow makes a graph, of which each run moves bytes again."""
    try:
        nbytes = tensor.nbytes if hasattr(tensor, "element_size") else tensor.numpy().nbytes  # PyTorch's, TensorFlow's
    except (AttributeError, NotImplementedError, ValueError):
        return UNKNOWN
    return float(nbytes)


_notes: tuple[int, int] | None = None  # (file descriptor, rank) in a rank


def _note_threads(threads: set[str]) -> None:
    if _notes is None:
        return
    fd, rank = _notes
    known = os.pread(fd, _THREADS, rank * _THREADS).rstrip(b"\0")
    os.pwrite(fd, (known + b" " + " ".join(sorted(threads)).encode())[: _THREADS - 1], rank * _THREADS)


# -- in the leader ---------------------------------------------------------------------------------


def name_is_known() -> bool:
    """True if this machine's own name can be looked up. Horovod's gloo does so and crashes where it cannot."""
    try:
        return bool(socket.getaddrinfo(socket.gethostname(), None))
    except OSError:
        return False


def _take_a_known_name() -> None:
    """From here on this process and its children live on "localhost", everybody else where they did. See
    uts_namespaces(7).

    Where the machine does not allow it all stays as it is; `labkit doctor` has said so then.
    """
    new_uts, new_user = 0x4000000, 0x10000000
    libc, user, group = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(new_uts) != 0:
        if libc.unshare(new_user | new_uts) != 0:
            return
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", name).write_text(text)
    socket.sethostname("localhost")


class Rendezvous:
    """The ranks' meeting point on a free port of loopback, and what Horovod reads from each rank's environment. Empty
    where this process has not imported Horovod: only TensorFlow is wanted then."""

    def __init__(self, world_size: int, ranks_per_node: int = 0):
        self._stacks = [os.memfd_create(f"stack-{r}") for r in range(world_size)]
        self.threads = os.memfd_create("horovod-threads")
        os.ftruncate(self.threads, world_size * _THREADS)
        self.server = None
        self._environments: list[dict[str, str]] = [{} for _ in range(world_size)]
        if "horovod" in sys.modules:
            self._meet(world_size, ranks_per_node)

    def _meet(self, world_size: int, ranks_per_node: int) -> None:
        from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
        from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

        if not name_is_known():
            _take_a_known_name()
        per_node = ranks_per_node or world_size
        nodes = [min(per_node, world_size - first) for first in range(0, world_size, per_node)]
        plan = get_host_assignments(parse_hosts(",".join(f"node{k}:{n}" for k, n in enumerate(nodes))), world_size)
        self.server = RendezvousHTTPServer(("127.0.0.1", 0), RendezvousHandler, 0)
        self.server.init(plan)
        self._environments = [
            {
                "HOROVOD_RANK": str(slot.rank),
                "HOROVOD_SIZE": str(slot.size),
                "HOROVOD_LOCAL_RANK": str(slot.local_rank),
                "HOROVOD_LOCAL_SIZE": str(slot.local_size),
                "HOROVOD_CROSS_RANK": str(slot.cross_rank),
                "HOROVOD_CROSS_SIZE": str(slot.cross_size),
                "HOROVOD_HOSTNAME": slot.hostname,
                "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
                "HOROVOD_GLOO_RENDEZVOUS_PORT": str(self.server.server_address[1]),
                "HOROVOD_CONTROLLER": "gloo",
                "HOROVOD_CPU_OPERATIONS": "gloo",
                "HOROVOD_GLOO_IFACE": "lo",
                "HOROVOD_GLOO_TIMEOUT_SECONDS": "60",
                "HOROVOD_STALL_CHECK_DISABLE": "1",
                "HOROVOD_CYCLE_TIME": _CYCLE,
            }
            for slot in plan
        ]

    def enter_rank(self, rank: int) -> None:
        """Sets up a freshly forked rank: its environment, and the file for its threads and, when asked, its stack."""
        global _notes
        os.environ.update(self._environments[rank])
        _notes = (self.threads, rank)
        faulthandler.register(signal.SIGUSR1, file=self._stacks[rank], all_threads=True)
        if self.server is not None:
            self.server.socket.close()

    def serve(self) -> None:
        """Start answering. After the forks: a child of a process with threads is asking for trouble."""
        if self.server is not None:
            threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stacks(self, pids: dict[int, int]) -> dict[int, str]:
        """The stack of each rank: rank -> text as `faulthandler` writes it, innermost frame first."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
        stacks: dict[int, str] = {}
        end = time.monotonic() + 2
        while len(stacks) < len(pids) and time.monotonic() < end:
            for rank in pids.values():
                text = os.pread(self._stacks[rank], 1 << 16, 0).decode(errors="replace")
                if " in run_rank\n" in text:
                    stacks[rank] = text
            time.sleep(0.01)
        return stacks

    def horovod_threads(self, rank: int) -> set[str]:
        return set(os.pread(self.threads, _THREADS, rank * _THREADS).rstrip(b"\0").decode().split())


class StandstillWatch:
    """Notices that no rank has used more than 3 % of a core for `windows` seconds on end (Horovod's own threads not
    counted).

    PAUSE: seconds between two looks.
    """

    PAUSE = 0.1

    def __init__(self, rendezvous: Rendezvous, windows: int = WINDOWS):
        self.rendezvous, self.windows = rendezvous, windows
        self._since, self._seconds, self._quiet = time.monotonic(), {}, 0
        self._asked, self._runnable = 0, {}
        self._told = False

    def look(self, pids: dict[int, int]) -> dict | None:
        """{"stacks": {rank: its stack}} once, when the ranks stand still; else None. pids: process -> rank."""
        stacks = {} if self._told else self._stacks(pids)
        self._told = self._told or bool(stacks)
        return {"stacks": stacks} if stacks else None

    def _stacks(self, pids: dict[int, int]) -> dict[int, str]:
        now = {rank: self._threads(pid, rank) for pid, rank in pids.items()}
        self._asked += 1
        for rank, (_, runnable) in now.items():
            self._runnable[rank] = self._runnable.get(rank, 0) + runnable
        elapsed = time.monotonic() - self._since
        if elapsed < WINDOW:
            return {}
        before, self._seconds = self._seconds, {rank: seconds for rank, (seconds, _) in now.items()}
        worked = any(
            rank not in before or seconds - before[rank] > BUSY * elapsed for rank, seconds in self._seconds.items()
        )
        wanted = any(
            2 * count > self._asked for count in self._runnable.values()
        )  # on a busy machine: wants to compute, may not
        self._since, self._asked, self._runnable = time.monotonic(), 0, {}
        self._quiet = 0 if worked or wanted else self._quiet + 1
        return self.rendezvous.stacks(pids) if self._quiet >= self.windows else {}

    def _threads(self, pid: int, rank: int) -> tuple[float, bool]:
        """(seconds of processor time of all threads that are not Horovod's own, whether any could use a processor now).
        Where Horovod's get none, the ranks wait for the machine and not for each other."""
        own = self.rendezvous.horovod_threads(rank)
        seconds, runnable = 0.0, False
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                    runnable = runnable or fields[0] in "RD"
                    if thread not in own:
                        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return seconds, runnable
