"""The warm launcher: a process that has imported the frameworks once and forks the ranks of every case in milliseconds.

Three kinds of processes: the *client* (a notebook's kernel, or the grader) talks to the *launcher* over a socket; for each case the
launcher forks a *leader*, which forks the ranks, waits for them and reports how they ended. A case lives as long as its lifeline, a
socket between client and leader: when it closes, the leader kills its ranks. The launcher holds no job: ranks get theirs from the
client, through their own sockets, after the fork.

A grader's launcher runs in a jail (`labkit.launch.jail`), and so do its cases: each rank in a cell of its own where all talk goes over the relay,
all ranks in one where they find each other by themselves.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import ctypes
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from labkit.launch import jail
from labkit.relay import wire
from labkit.relay.network import Outcome, Relay
from labkit.watch import standstill

VERSION = 1
MAX_RANKS = 128
_PR_SET_PDEATHSIG = 1
_MADV_COLLAPSE = 25
_HUGE_PAGE = 2 << 20  # bytes, of x86-64 and of arm64 with pages of 4 kB
PROCESSES = 96  # that a rank in a jail may have, threads included: TensorFlow alone starts two dozen
_WATCH = 0.2  # seconds between two looks at what a cell uses
_SCRATCH = "LABKIT_LAUNCHER_SCRATCH"  # the launcher's temporary folder: each case gets one in it, gone with the case


@dataclass(frozen=True)
class Limits:
    """What one rank may use. cpu_seconds: processor time. memory_bytes: on top of what the launcher itself has. deadline: wall seconds
    for the whole case. patience: seconds a rank may compute, or sleep, without a word (`labkit.watch.standstill`). A limit of 0 is no limit."""

    cpu_seconds: int = 20
    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    deadline: float = 60.0
    patience: float = 4.0


class LauncherError(RuntimeError):
    """The launcher could not be started or has gone away."""


# -- the client's side ----------------------------------------------------------------------------------------------------------------


class Launcher:
    """A warm process of one's own. Start it early (`start`), use it when needed (`case`), close it at the end.

    isolation: the jail it and its ranks run in, from `autograder.grading.isolation.spec()`; None: no jail.
    """

    def __init__(self, frameworks: Sequence[str] = ("torch",), isolation: dict | None = None):
        self.frameworks = tuple(frameworks)
        self.isolation = isolation
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._scratch: str | None = None
        self._said = None  # what an isolated launcher wrote to its standard error
        self._beside: Launcher | None = None
        self._ready = False
        self._lock = threading.Lock()

    def start(self) -> Launcher:
        """Start the process without waiting for its imports."""
        with self._lock:
            self._start()
        return self

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        mine, theirs = socket.socketpair()
        self._remove_scratch()
        if self.isolation is None:
            command, environment, errors = *self._open_command(theirs.fileno()), None
        else:
            command, environment, errors = *self._jailed_command(theirs.fileno()), tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
            start_new_session=True,  # Ctrl-C in the notebook is none of its business
        )
        self._said = errors
        theirs.close()
        self._control, self._ready = mine, False

    def _open_command(self, control: int) -> tuple[list[str], dict[str, str]]:
        """(command, environment) of a launcher without a jail."""
        environment = {**os.environ, **_QUIET_FRAMEWORKS}
        environment.pop("PYTHONSTARTUP", None)
        self._scratch = environment[_SCRATCH] = tempfile.mkdtemp(prefix="labkit-launcher-")
        environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(
            self._scratch, "inductor"
        )  # made on import; nothing is compiled here
        package_root = str(Path(__file__).resolve().parents[2])
        program = f"import sys; sys.path.insert(0, {package_root!r}); from labkit.launch import launcher; launcher.serve()"
        return [sys.executable, "-c", program, str(control), ",".join(self.frameworks)], environment

    def _jailed_command(self, control: int) -> tuple[list[str], dict[str, str]]:
        """The same for one in a jail. Its environment is the jail's, not ours."""
        environment = {**self.isolation["environment"], **_QUIET_FRAMEWORKS, "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor"}
        inside = {**self.isolation, "keep": [control]}
        program = f"import sys; sys.path[:] = {self.isolation['path']!r}; from labkit.launch import launcher; launcher.serve()"
        command = [sys.executable, "-c", program, str(control), ",".join(self.frameworks), json.dumps(self.isolation)]
        return [sys.executable, "-I", "-S", jail.__file__, json.dumps(inside), "serve", *command], environment

    def wait_until_ready(self, timeout: float = 120.0) -> None:
        with self._lock:
            self._start()
            if self._ready:
                return
            self._control.settimeout(timeout)
            try:
                _, hello, _ = wire.receive(self._control)
            except (wire.Closed, TimeoutError, OSError):
                raise LauncherError(f"the launcher did not come up; run `labkit doctor`{self._last_words()}") from None
            if hello.get("version") != VERSION:
                raise LauncherError("the launcher is of another version: restart the kernel")
            self._ready = True

    def _last_words(self) -> str:
        """What an isolated launcher wrote to its standard error, the end of it."""
        if self._said is None:
            return ""
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - 2000))
        return "\n" + self._said.read().decode(errors="replace")

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def having(self, frameworks: Sequence[str]) -> Launcher:
        """This launcher if it has imported all of these, else one beside it that has, and that ends with this one."""
        if set(frameworks) <= set(self.frameworks):
            return self
        if self._beside is None:
            self._beside = Launcher(frameworks, self.isolation)
        return self._beside.having(frameworks)

    def case(self, world_size: int, limits: Limits, horovod: dict | None = None, together: bool = False) -> _Case:
        """Fork `world_size` ranks that wait for their jobs.

        horovod: how they are to find each other (`labkit.launch.horovod_job`). together: in a jail, whether they see each other's files.
        """
        if not 1 <= world_size <= MAX_RANKS:
            raise ValueError(f"{world_size} ranks: between 1 and {MAX_RANKS} are possible")
        pairs = [socket.socketpair() for _ in range(world_size + 1)]
        apart = self.isolation is not None and horovod is None and not together
        request = {"ranks": world_size, "apart": apart, "limits": asdict(limits), "horovod": horovod}
        try:
            self._ask(request, [theirs for _, theirs in pairs], when_ready=True)
        except BaseException:
            for mine, _ in pairs:
                mine.close()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()
        return _Case(pairs[0][0], [mine for mine, _ in pairs[1:]])

    def nursery(self, lifeline: socket.socket, listener: socket.socket) -> None:
        """Fork the process that forks a notebook's ranks (`labkit.ranks.forker`). Does not wait for the imports that come before it; where
        they fail, both sockets close. Raises LauncherError."""
        self._ask({"nursery": True}, [lifeline, listener])

    def _ask(self, request: dict, sockets: Sequence[socket.socket], when_ready: bool = False) -> None:
        """Send a request with its sockets; to a new launcher where this one has gone away. Raises LauncherError."""
        data = json.dumps(request).encode()
        for attempt in (1, 2):
            if when_ready:
                self.wait_until_ready()
            try:
                with self._lock:
                    self._start()
                    socket.send_fds(self._control, [len(data).to_bytes(4, "little") + data], [sock.fileno() for sock in sockets])
                return
            except OSError:
                self.close()
                if attempt == 2:
                    raise LauncherError("the launcher has gone away twice; run `labkit doctor`") from None

    def close(self) -> None:
        if self._beside is not None:
            self._beside.close()
            self._beside = None
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        self._remove_scratch()
        if self._said is not None:
            self._said.close()
            self._said = None
        self._ready = False

    def _remove_scratch(self) -> None:
        """The launcher does it itself, but not if it was ended during its imports."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        self.close()

    def run(
        self,
        jobs: Sequence[tuple[dict, bytes]],
        *,
        alpha: float = 5e-6,
        beta: float = 1e-10,
        late: Sequence[int] = (),
        seed: int = 0,
        limits: Limits | None = None,
        cancelled=lambda: False,
    ) -> tuple[Outcome, list[dict]]:
        """Run one case over the relay. Returns its outcome and how each rank's process ended ({"signal", "exit", "cpu", "rss"})."""
        limits = limits or Limits()
        case = self.case(len(jobs), limits)
        try:
            network = {"alpha": alpha, "beta": beta, "late": late, "seed": seed}
            watched = {"lifeline": case.lifeline, "patience": limits.patience}
            outcome = Relay(case.sockets, jobs, **network, deadline=limits.deadline, cancelled=cancelled, **watched).run()
        finally:
            ends = case.end()
        self.still_there(outcome, ends)
        return outcome, ends

    def still_there(self, outcome: Outcome, ends: list[dict]) -> None:
        """Raises LauncherError where ranks have died because this process did: that is not what the function has done."""
        if any(rank.state == "dead" and not (ends[r : r + 1] or [{}])[0] for r, rank in enumerate(outcome.ranks)):
            with contextlib.suppress(subprocess.TimeoutExpired, AttributeError):
                self._process.wait(0.3)  # its ranks go a moment before it can be waited for
                raise LauncherError("the launcher has gone away in the middle of a case")


class _Case:
    def __init__(self, lifeline: socket.socket, sockets: list[socket.socket]):
        self.lifeline, self.sockets = lifeline, sockets

    def end(self) -> list[dict]:
        """Close everything; the leader kills what still runs and says how each rank ended. Raises LauncherError where a jail failed."""
        for sock in self.sockets:
            sock.close()
        report: dict = {}
        with contextlib.suppress(OSError, wire.Closed, wire.WireError):
            self.lifeline.settimeout(20)
            self.lifeline.shutdown(socket.SHUT_WR)
            kind = None
            while kind != wire.RESULT:
                kind, report, _ = wire.receive(self.lifeline)
        self.lifeline.close()
        if report.get("failed"):
            raise LauncherError(report["failed"])
        return list(report.get("ends", []))


_shared: dict[tuple[str, ...], Launcher] = {}


def shared(frameworks: Sequence[str] = ("torch",)) -> Launcher:
    """The launcher of this process, started on first use and ended with the process."""
    key = tuple(frameworks)
    if key not in _shared:
        _shared[key] = Launcher(key).start()
    return _shared[key]


def for_notebook() -> Launcher:
    """The one that serves a notebook: with Horovod and both frameworks where the notebook has imported Horovod, else with PyTorch."""
    from labkit.launch.horovod_job import FRAMEWORKS

    return shared(FRAMEWORKS if "horovod" in sys.modules else ("torch",))


@atexit.register
def close_shared() -> None:
    """End the launchers of this process."""
    for launcher in _shared.values():
        launcher.close()
    _shared.clear()


def make_jobs(
    chunks,
    function: str,
    arguments: Sequence[tuple],
    *,
    runtime: str = "torch",
    harness: str = "",
    seed: int = 0,
    poison: int = 0,
    torch=None,
):
    """One job per rank: what to run (source chunks, name of the function) on which arguments (one tuple per rank).

    poison: decides what the memory of a receive holds while nobody has waited for it.
    """
    jobs = []
    for rank, args in enumerate(arguments):
        tagged, payload = wire.encode(list(args), torch)
        job = {
            "rank": rank,
            "world_size": len(arguments),
            "runtime": runtime,
            "chunks": [[c.label, c.line, c.source] for c in chunks],
            "function": function,
            "harness": harness,
            "seed": seed,
            "poison": (poison * MAX_RANKS) % (1 << 62),
            "arguments": tagged,
        }
        jobs.append((job, payload))
    return jobs


def simulate(function, world_size, arguments=(), *, alpha=5e-6, beta=1e-10, late=()) -> Outcome:
    """See `labkit.relay.simulate`."""
    from labkit.cells.notebook import chunks_of

    per_rank = arguments if isinstance(arguments, list) else [tuple(arguments)] * world_size
    if len(per_rank) != world_size:
        raise ValueError(f"{len(per_rank)} tuples of arguments for {world_size} ranks")
    jobs = make_jobs(chunks_of(function), function.__name__, per_rank, torch=sys.modules.get("torch"))
    outcome, _ = shared().run(jobs, alpha=alpha, beta=beta, late=late)
    for r, rank in enumerate(outcome.ranks):
        if rank.state == "raised":
            rows = "\n  ".join(rank.error["rows"])
            raise RuntimeError(f"rank {r} raised {rank.error['type']}: {rank.error['text']}\n  {rows}")
    return outcome


_QUIET_FRAMEWORKS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "MPLBACKEND": "Agg",
    "CUDA_VISIBLE_DEVICES": "",
}


# -- the launcher's side --------------------------------------------------------------------------------------------------------------


def _import_frameworks(names: Sequence[str]) -> None:
    import numpy  # noqa: F401

    if "torch" in names:
        import torch
        import torch._dynamo  # DistributedDataParallel's constructor would import it: 2 s
        import torch.distributed
        import torch.nn.parallel
        import torch.optim

        torch.set_num_threads(1)
        from labkit.relay import backend as relay_backend  # noqa: F401
    if "tensorflow" in names:
        import tensorflow  # noqa: F401
    if "horovod" in names:
        from labkit.launch import horovod_job

        horovod_job.import_horovod()
    from labkit.launch import rank_program  # noqa: F401


def use_huge_pages() -> int:
    """Have the memory that this process has filled moved into huge pages; the number of bytes for which that worked.

    A fork copies an entry for each page, and the end of the copy clears it: with the frameworks imported that was about a quarter of
    what a short case cost. madvise(2), MADV_COLLAPSE, from Linux 6.1 on; elsewhere everything stays as it is.
    """
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    moved = 0
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return 0
    for line in maps:
        addresses, rights, _, _, _, *name = line.split(maxsplit=5)
        if rights != "rw-p" or name not in ([], ["[heap]"]):
            continue
        start, end = (int(address, 16) for address in addresses.split("-"))
        start, end = -(-start // _HUGE_PAGE) * _HUGE_PAGE, end // _HUGE_PAGE * _HUGE_PAGE
        if start < end and madvise(start, end - start, _MADV_COLLAPSE) == 0:
            moved += end - start
    return moved


def serve() -> None:
    """The launcher's life: import, then fork the leaders of every request; its temporary folder goes with it."""
    try:
        _serve()
    finally:
        shutil.rmtree(os.environ.get(_SCRATCH, ""), ignore_errors=True)


def _serve() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    spec = json.loads(sys.argv[3]) if len(sys.argv) > 3 else None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _reap)  # waited for, so that their processor time counts as that of this process' children
    _import_frameworks(sys.argv[2].split(","))
    sys.argv = [""]
    gc.collect()
    use_huge_pages()
    gc.freeze()  # a forked rank does not copy pages just because the collector touched them
    try:
        wire.send(control, wire.READY, {"version": VERSION})
    except OSError:  # the client has left before the imports were done
        return
    while True:
        request, fds = _receive_request(control)
        if request is None:
            return
        pid = os.fork() if spec is None else jail.fork_leader(spec)
        if pid == 0:
            control.close()
            status = 1
            try:
                if request.get("nursery"):
                    status = _nurse(*[socket.socket(fileno=fd) for fd in fds])
                else:
                    status = _lead(request, [socket.socket(fileno=fd) for fd in fds], spec)
            finally:
                os._exit(status)
        for fd in fds:
            os.close(fd)


def _reap(*_) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _receive_request(control: socket.socket) -> tuple[dict | None, list[int]]:
    data = b""
    with contextlib.suppress(ConnectionResetError):  # the client has gone without waiting for us
        data, ancillary, _, _ = control.recvmsg(1 << 16, socket.CMSG_SPACE((MAX_RANKS + 1) * 4))
    if not data:
        return None, []
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    need = int.from_bytes(data[:4], "little")
    text = data[4:]
    while len(text) < need:
        text += control.recv(need - len(text))
    return json.loads(text), list(fds)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent goes (Linux; elsewhere the closed sockets do it)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def apply_limits(limits: dict) -> None:
    import resource

    def set_limit(which, value, grace=0):
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value + grace if hard == resource.RLIM_INFINITY else min(value + grace, hard)))

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits["cpu_seconds"]:
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        set_limit(resource.RLIMIT_CPU, int(used + limits["cpu_seconds"]) + 1, grace=2)  # SIGXCPU first, SIGKILL later
    if limits["file_bytes"]:
        set_limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
    if limits["memory_bytes"]:
        with contextlib.suppress(OSError, ValueError):
            status = Path("/proc/self/status").read_text()
            data = int(status.split("VmData:")[1].split()[0]) << 10
            set_limit(resource.RLIMIT_DATA, data + limits["memory_bytes"])


def _nurse(lifeline: socket.socket, listener: socket.socket) -> int:
    from labkit.ranks import forker as nursery

    nursery.serve(lifeline, listener)
    return 0


def _lead(request: dict, sockets: list[socket.socket], spec: dict | None) -> int:
    """The life of a leader: run the ranks of a case, say how they ended."""
    lifeline = sockets[0]
    die_with_parent()
    report: dict = {}
    try:
        report["ends"] = _lead_ranks(request, lifeline, sockets[1:], spec)
    except jail.JailError as error:
        report["failed"] = f"the jail of a case could not be built: {error}"
    if spec is not None:
        jail.end_everybody(spec)
    with contextlib.suppress(OSError):
        wire.send(lifeline, wire.RESULT, report)
    return 0


def _lead_ranks(request: dict, lifeline: socket.socket, ranks: list[socket.socket], spec: dict | None) -> list[dict]:
    """Fork the ranks, wait for them or for the end of the lifeline; how each ended. Raises JailError."""
    apart = request["apart"]
    if spec is not None and apart:
        jail.watch_cells(spec)
    elif spec is not None:
        jail.enter_cell(spec, network=bool(request["horovod"]))
    wake_read, wake_write = os.pipe()
    trouble_read, trouble_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    folder = None
    if not apart:
        folder = tempfile.mkdtemp(prefix="case-", dir=os.environ.get(_SCRATCH))
        if spec is not None:
            jail.give(spec, folder)
    rendezvous = watch = silence = None
    if request.get("horovod"):
        from labkit.launch import horovod_job

        rendezvous = horovod_job.Rendezvous(len(ranks), request["horovod"]["ranks_per_node"])
        watch = horovod_job.StandstillWatch(rendezvous, request["horovod"]["windows"])
    elif request["limits"]["patience"]:
        silence = standstill.Watch()
    if spec is not None:
        jail.hide()
    cells = [jail.start_cell(spec) if apart else 0 for _ in ranks]
    pids: dict[int, int] = {}
    for r, sock in enumerate(ranks):
        pid = jail.fork_into(cells[r])
        if pid == 0:
            others = [lifeline, *(s for s in ranks if s is not sock)]
            _rank(r, sock, others, request, (wake_read, wake_write, trouble_read), folder, rendezvous, spec, trouble_write)
        pids[pid] = r
    os.close(trouble_write)
    if spec is not None:
        jail.shield_leader(spec)
    if rendezvous is not None:
        rendezvous.serve()
    for sock in ranks:
        sock.close()
    ends: list[dict] = [{} for _ in ranks]
    over = ""  # which of the cell's limits was passed

    def reap(flags: int) -> None:
        while pids:
            pid, status, usage = os.wait4(-1, flags)
            if pid == 0:
                return
            if pid in pids:
                code = os.waitstatus_to_exitcode(status)
                ends[pids.pop(pid)] = {
                    "exit": code if code >= 0 else None,
                    "signal": -code if code < 0 else None,
                    "cpu": usage.ru_utime + usage.ru_stime,
                    "rss": usage.ru_maxrss << 10,
                    "over": over,
                }

    reap(os.WNOHANG)
    while pids:
        pause = 0.1 if watch is not None else _WATCH if spec is not None or silence is not None else None
        readable, _, _ = select.select([lifeline, wake_read], [], [], pause)
        stacks = watch.report(pids) if watch is not None else {}
        if stacks:
            watch = None
            with contextlib.suppress(OSError):
                wire.send(lifeline, wire.STALL, {"stacks": stacks})
        window = silence.look(pids) if silence is not None else None
        if window is not None and lifeline not in readable:
            with contextlib.suppress(OSError):
                wire.send(lifeline, wire.STALL, window)
        if wake_read in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_read, 4096)
            reap(os.WNOHANG)
        over = over or _over(request["limits"], len(ranks), spec)
        if pids and (over or lifeline in readable):
            _kill(pids)
            reap(0)
    trouble = os.read(trouble_read, 4096).decode(errors="replace")  # every rank has closed its end before it took its job
    if trouble:
        raise jail.JailError(trouble)
    if folder is not None and os.getpid() != 1:  # the files of a cell go with it
        # And what the ranks of a case wrote for each other, whether they came to their end or not (tempfile's folder, their parent's pid).
        for path in (folder, os.path.join(tempfile.gettempdir(), f"labkit-case-{os.getpid()}")):
            with contextlib.suppress(RecursionError):  # folders too deep to walk
                shutil.rmtree(path, ignore_errors=True)
    return ends


def _over(limits: dict, ranks: int, spec: dict | None) -> str:
    """Which limit all processes of a cell together have passed: "memory", "cpu" or none. Limits count for each process by itself, and a
    rank may start others."""
    if spec is None or os.getpid() != 1:
        return ""
    used_bytes, used_seconds = jail.usage()
    if limits["memory_bytes"] and used_bytes > limits["memory_bytes"] * ranks:
        return "memory"
    if limits["cpu_seconds"] and used_seconds > (limits["cpu_seconds"] + 4) * ranks:
        return "cpu"
    return ""


def _kill(pids) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _rank(
    rank: int,
    sock: socket.socket,
    others: list[socket.socket],
    request: dict,
    pipes: tuple[int, ...],
    folder: str | None,
    rendezvous,
    spec: dict | None,
    trouble: int,
) -> None:
    """What a freshly forked rank does first; never returns. trouble: where it says that its jail could not be built."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        os.setpgid(0, 0)
        die_with_parent()
        for other in others:
            other.close()
        for fd in pipes:
            os.close(fd)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.close(null)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        apply_limits(request["limits"])
        if spec is not None:
            folder = _shut_in(rank, request, folder, spec, trouble)
        os.close(trouble)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        os.chdir(folder)
        if rendezvous is not None:
            rendezvous.enter_rank(rank)
        from labkit.launch import rank_program

        rank_program.run_rank(sock)
        status = 0
    except (wire.Closed, BrokenPipeError, ConnectionResetError):
        status = 0
    finally:
        os._exit(status)


def _shut_in(rank: int, request: dict, folder: str | None, spec: dict, trouble: int) -> str:
    """A rank enters its cell, if it has one of its own, and gives up all rights; returns its folder. Where that fails nothing runs."""
    try:
        jail.share_no_memory()
        if folder is None:
            spec = jail.as_a_rank(spec, rank)
            jail.enter_cell(spec, network=False, alone=True)
            folder = tempfile.mkdtemp(prefix="case-", dir="/tmp")
            jail.give(spec, folder)
        jail.drop_rights(spec, PROCESSES * request["ranks"], request["apart"])
    except OSError as error:
        os.write(trouble, f"{error}\n".encode()[:500])
        os._exit(1)
    return folder
