"""Cases on real Horovod: forked ranks that talk over loopback through Horovod's own gloo, watched from two sides.

The *leader* (see `labkit.launch.launcher`) runs Horovod's rendezvous, forks the ranks and looks at the processor time of each. Ranks that compute
nothing for four seconds stand still, however busy the machine is: the leader then asks each for the line it stands at. (Horovod's own stall
inspector stays silent with gloo.) The *client* (`run`) collects what the ranks return and turns a standstill into words.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import os
import re
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from labkit.launch.horovod_tracing import trace_without_autograph
from labkit.launch.launcher import Launcher, Limits
from labkit.relay import wire
from labkit.relay.network import Outcome, RankOutcome, take
from labkit.watch import hang
from labkit.watch.events import RankState
from labkit.watch.stacks import frames, horovod_operation

FRAMEWORKS = ("torch", "tensorflow", "horovod")
GRACE = 0.5  # seconds the other ranks have after one has raised or died, to say the same
WINDOW = 1.0  # seconds over which the processor time of the ranks is looked at
WINDOWS = 4  # so many windows without work are a standstill; a rank in tf.data may rest for more than two
BUSY = 0.03  # share of a window above which a rank computes; waiting for Horovod takes less
_THREADS = 4096  # bytes per rank in the shared file where a rank notes which of its threads are Horovod's


# -- in the launcher, once ----------------------------------------------------------------------------------------------------------


def import_horovod() -> None:
    """Import Horovod for TensorFlow, Keras and PyTorch, with an `init` that notes which threads it starts.

    Where both frameworks are imported, Horovod asks the one imported last for the ranks of the global process set. That one was not
    initialised, the set stays empty, and a DistributedGradientTape averages nothing: `init` has to say first whose set it is.
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


def _count_what_is_moved(library, prefix: str) -> None:
    """Have Horovod's operations of one framework note the bytes they are called with: without any, a rank has heard of nobody."""
    for name in dir(library):
        if name.startswith(prefix) and _MOVES.match(name.removeprefix(prefix)):
            setattr(library, name, _counted(getattr(library, name)))


def _counted(operation):
    @functools.wraps(operation)
    def call(*arguments, **named):
        global _carried
        tensors = arguments[0] if arguments else next(iter(named.values()))
        _carried = min(UNKNOWN, _carried + sum(map(_bytes_of, tensors if isinstance(tensors, (list, tuple)) else [tensors])))
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


# -- in the leader ----------------------------------------------------------------------------------------------------------------------


def name_is_known() -> bool:
    """Whether this machine's own name can be looked up. Horovod's gloo does so and crashes where it cannot."""
    try:
        return bool(socket.getaddrinfo(socket.gethostname(), None))
    except OSError:
        return False


def _take_a_known_name() -> None:
    """From here on this process and its children live on "localhost", everybody else where they did. See uts_namespaces(7).

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
    """Where the ranks find each other, on a free port of loopback, and what Horovod wants to know in each rank's environment."""

    def __init__(self, world_size: int, ranks_per_node: int = 0):
        from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
        from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

        if not name_is_known():
            _take_a_known_name()
        per_node = ranks_per_node or world_size
        nodes = [min(per_node, world_size - first) for first in range(0, world_size, per_node)]
        plan = get_host_assignments(parse_hosts(",".join(f"node{k}:{n}" for k, n in enumerate(nodes))), world_size)
        self.server = RendezvousHTTPServer(("127.0.0.1", 0), RendezvousHandler, 0)
        self.server.init(plan)
        self._stacks = [os.memfd_create(f"stack-{r}") for r in range(world_size)]
        self.threads = os.memfd_create("horovod-threads")
        os.ftruncate(self.threads, world_size * _THREADS)
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
            }
            for slot in plan
        ]

    def enter_rank(self, rank: int) -> None:
        """In a freshly forked rank: its environment, and where it notes its threads and, when asked, its stack."""
        global _notes
        os.environ.update(self._environments[rank])
        _notes = (self.threads, rank)
        faulthandler.register(signal.SIGUSR1, file=self._stacks[rank], all_threads=True)
        self.server.socket.close()

    def serve(self) -> None:
        """Start answering. After the forks: a child of a process with threads is asking for trouble."""
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stacks(self, pids: dict[int, int]) -> dict[int, str]:
        """Where each rank stands: rank -> its stack, as `faulthandler` writes it, innermost frame first."""
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
    """Asked again and again by the leader: do the ranks stand still?"""

    def __init__(self, rendezvous: Rendezvous, windows: int = WINDOWS):
        self.rendezvous, self.windows = rendezvous, windows
        self._since, self._seconds, self._quiet = time.monotonic(), {}, 0
        self._asked, self._runnable = 0, {}

    def report(self, pids: dict[int, int]) -> dict[int, str]:
        """The ranks' stacks once no rank has computed for a while, else nothing. pids: process -> rank."""
        now = {rank: self._threads(pid, rank) for pid, rank in pids.items()}
        self._asked += 1
        for rank, (_, runnable) in now.items():
            self._runnable[rank] = self._runnable.get(rank, 0) + runnable
        elapsed = time.monotonic() - self._since
        if elapsed < WINDOW:
            return {}
        before, self._seconds = self._seconds, {rank: seconds for rank, (seconds, _) in now.items()}
        worked = any(rank not in before or seconds - before[rank] > BUSY * elapsed for rank, seconds in self._seconds.items())
        wanted = any(2 * count > self._asked for count in self._runnable.values())  # on a busy machine: wants to compute, may not
        self._since, self._asked, self._runnable = time.monotonic(), 0, {}
        self._quiet = 0 if worked or wanted else self._quiet + 1
        return self.rendezvous.stacks(pids) if self._quiet >= self.windows else {}

    def _threads(self, pid: int, rank: int) -> tuple[float, bool]:
        """(seconds of processor time, whether one could use a processor now) of all threads that are not Horovod's own."""
        own = self.rendezvous.horovod_threads(rank)
        seconds, runnable = 0.0, False
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                if thread in own:
                    continue
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                    seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                    runnable = runnable or fields[0] in "RD"
        return seconds, runnable


# -- the client's side ----------------------------------------------------------------------------------------------------------------


def run(
    launcher: Launcher,
    jobs: Sequence[tuple[dict, bytes]],
    *,
    ranks_per_node: int = 0,
    limits: Limits | None = None,
    notes: int = 0,
    windows: int = WINDOWS,
) -> tuple[Outcome, list[dict]]:
    """Run one case. ranks_per_node: 0 for one node; otherwise `hvd.local_rank()` counts within nodes of so many ranks.

    notes: bytes of notes that each rank may send while it runs (`probes.script`). windows: so many seconds without work are a
    standstill.
    """
    limits = limits or Limits()
    case = launcher.case(len(jobs), limits, horovod={"ranks_per_node": ranks_per_node, "windows": windows})
    ranks = [RankOutcome("running", notes_left=notes) for _ in jobs]
    printed: list[tuple[int, str]] = []
    try:
        for sock, (job, payload) in zip(case.sockets, jobs, strict=True):
            with contextlib.suppress(OSError):
                wire.send(sock, wire.JOB, job, payload)
        stacks, too_slow = _watch(case, ranks, printed, limits.deadline)
    finally:
        ends = case.end()
    labels = {label for job, _ in jobs for label, _, _ in job["chunks"]}
    if stacks is not None and any(_in_its_own_code(str(stack), labels) for stack in stacks.values()):
        stacks, too_slow = None, True  # asleep, which is no business of Horovod's
    outcome = _outcome(ranks, printed, stacks, too_slow, labels)
    launcher.still_there(outcome, ends)
    return outcome, ends


def _watch(case, ranks: list[RankOutcome], printed, deadline: float) -> tuple[dict | None, bool]:
    """Collect until all ranks have ended, stand still, or time is up: (where they stand or None, too slow)."""
    end = time.monotonic() + deadline
    with selectors.DefaultSelector() as selector:
        for r, sock in enumerate(case.sockets):
            sock.settimeout(20)
            selector.register(sock, selectors.EVENT_READ, (r, wire.Inbox(sock)))
        selector.register(case.lifeline, selectors.EVENT_READ, (None, wire.Inbox(case.lifeline)))
        lost = False
        while any(rank.state == "running" for rank in ranks):
            left = end - time.monotonic()
            if left <= 0:
                return None, not lost
            for key, _ in selector.select(left):
                r, inbox = key.data
                try:
                    for kind, meta, payload in inbox.frames():
                        if r is None and kind == wire.STALL:
                            return dict(meta["stacks"]), False
                        if r is not None:
                            take(ranks[r], r, printed, kind, meta, payload)
                except (wire.Closed, wire.WireError, KeyError, TypeError, ValueError):
                    selector.unregister(key.fileobj)
                    if r is not None and ranks[r].state == "running":
                        ranks[r].state = "dead"
            if not lost and any(rank.state in ("raised", "dead") for rank in ranks):
                lost, end = True, min(end, time.monotonic() + GRACE)
    return None, False


_MISMATCH = {"shape": "mismatched_shape", "data type": "mismatched_dtype", "root rank": "mismatched_collective"}


def _outcome(ranks: list[RankOutcome], printed, stacks: dict | None, too_slow: bool, labels: set[str]) -> Outcome:
    errors = [rank.error for rank in ranks if rank.state == "raised"]
    mismatch = next((str(e["text"]) for e in errors if "Mismatched" in str(e["text"])), "")
    if mismatch:
        for rank in ranks:
            rank.state = "running"
        text = mismatch[mismatch.index("Mismatched") :].split("\n")[0].split(" [[")[0]
        kind = next((name for word, name in _MISMATCH.items() if word in text), "mismatched_collective")
        return Outcome(ranks, printed, [], hang.HangReport(kind, hang.KINDS[kind], (f"Horovod: {text}",)), False)
    # Once a rank is gone, Horovod fails on all others: only the first cause counts.
    if any(rank.state == "dead" for rank in ranks) or not all(_is_echo(e) for e in errors):
        for rank in ranks:
            if rank.state == "raised" and _is_echo(rank.error):
                rank.state = "running"
    return Outcome(ranks, printed, [], _explain(ranks, stacks, labels) if stacks is not None else None, too_slow)


def _is_echo(error: dict) -> bool:
    """Whether Horovod only says that it failed somewhere else."""
    return error["type"] == "HorovodInternalError" or "Horovod has been shut down" in str(error["text"])


def _explain(ranks: list[RankOutcome], stacks: dict, labels: set[str]) -> hang.HangReport:
    """From where every rank stands to a verdict in words."""
    states = []
    for r, rank in enumerate(ranks):
        if rank.state != "running":
            states.append(RankState(r, rank.state))
            continue
        kind, line = _where(str(stacks.get(str(r), "")), labels)
        states.append(RankState(r, "waiting", kind=kind, line=line))
    report = hang.explain(states)
    if report.kind not in (
        "missing_rank",
        "mismatched_collective",
        "raised",
        "rank_died",
    ):  # the same call, but not the same tensor
        return hang.HangReport("mismatched_collective", hang.KINDS["mismatched_collective"], report.rows)
    return report


def _in_its_own_code(stack: str, labels: set[str]) -> bool:
    """Whether a rank stands in a line of the student's, or in something built into Python that it calls: `time.sleep`."""
    innermost = next(iter(frames(_own_thread(stack))), None)
    return innermost is not None and innermost[0] in labels


def _own_thread(stack: str) -> str:
    """The part of a stack of all threads in which the student's function runs."""
    sections = [s for s in re.split(r"^(?:Current t|T)hread ", stack, flags=re.MULTILINE) if " in run_rank\n" in s]
    return sections[-1] if sections else ""


def _where(stack: str, labels: set[str]) -> tuple[str, str]:
    """(the Horovod operation a rank waits in, the student's line) of a stack of all its threads."""
    mine = _own_thread(stack)
    line = next((f"{file}, line {number}" for file, number, _ in frames(mine) if file in labels), "")
    return horovod_operation(mine) or "a Horovod operation", line


# -- in a rank --------------------------------------------------------------------------------------------------------------------------


def run_rank(sock: socket.socket, job: dict, payload) -> None:
    """The life of a rank after its job has come: run it, then stay until the case is over, so that nobody else fails because we left."""
    from labkit.launch.rank_program import run_job

    run_job(sock, job, payload, torch=sys.modules.get("torch"), about=lambda: {"carried": _carried})
    with contextlib.suppress(OSError):
        sock.settimeout(None)
        sock.recv(1)
