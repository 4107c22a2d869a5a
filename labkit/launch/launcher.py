"""The warm launcher: a process that has imported the frameworks once and forks the ranks of every case in milliseconds.

Three kinds of processes: the *client* (a notebook's kernel, or the grader) talks to the *launcher* over a socket; for
each case the launcher forks a *leader*, which forks the ranks, waits for them and reports how they ended. A case lives
as long as its lifeline, a socket between client and leader: when it closes, the leader kills its ranks. The launcher
holds no job: ranks get theirs from the client, through their own sockets, after the fork.

A grader's launcher runs in a jail (`labkit.launch.jail`), and so do its cases: each rank in a compartment of its own
where all talk goes over the relay, all ranks in one where they find each other by themselves.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from labkit.interconnect.topology import Topology
from labkit.launch import framed, jail
from labkit.launch.leader import MAX_RANKS, SCRATCH, VERSION
from labkit.relay import wire
from labkit.relay.network import Relay
from labkit.relay.outcome import Outcome
from labkit.relay.progress import Altering

_QUIET_FRAMEWORKS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "MPLBACKEND": "Agg",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True)
class Limits:
    """The limits of one rank. cpu_seconds: processor time. memory_bytes: on top of what the launcher itself has.
    deadline: wall seconds for the whole case. patience: seconds a rank may compute, or sleep, without a word
    (`labkit.watch.standstill`). A limit of 0 is no limit."""

    cpu_seconds: int = 20
    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    deadline: float = 60.0
    patience: float = 4.0


class LauncherError(RuntimeError):
    """The launcher could not be started or has gone away."""


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
        self._scratch = environment[SCRATCH] = tempfile.mkdtemp(prefix="labkit-launcher-")
        environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(
            self._scratch, "inductor"
        )  # made on import; nothing is compiled here
        package_root = str(Path(__file__).resolve().parents[2])
        program = f"import sys; sys.path.insert(0, {package_root!r}); from labkit.launch import leader; leader.serve()"
        return [sys.executable, "-P", "-c", program, str(control), ",".join(self.frameworks)], environment

    def _jailed_command(self, control: int) -> tuple[list[str], dict[str, str]]:
        """The same for one in a jail. Its environment is the jail's, not ours."""
        environment = {**self.isolation["environment"], **_QUIET_FRAMEWORKS, "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor"}
        inside = {**self.isolation, "keep": [control]}
        program = (
            f"import sys; sys.path[:] = {self.isolation['path']!r}; from labkit.launch import leader; leader.serve()"
        )
        command = [sys.executable, "-c", program, str(control), ",".join(self.frameworks), json.dumps(self.isolation)]
        return [sys.executable, "-I", "-S", jail.__file__, json.dumps(inside), "serve", *command], environment

    def wait_until_ready(self, timeout: float = 480.0) -> None:
        """Wait until the process has imported its frameworks. Raises LauncherError where it does not come up."""
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
        """The end of what an isolated launcher wrote to its standard error."""
        if self._said is None:
            return ""
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - 2000))
        return "\n" + self._said.read().decode(errors="replace")

    @property
    def pid(self) -> int | None:
        """The process id; None if no process was started."""
        return self._process.pid if self._process is not None else None

    def with_frameworks(self, frameworks: Sequence[str]) -> Launcher:
        """A launcher that has imported `frameworks`: this one, or a second process that belongs to it (`close` ends
        both)."""
        if set(frameworks) <= set(self.frameworks):
            return self
        if self._beside is None:
            self._beside = Launcher(frameworks, self.isolation)
        return self._beside.with_frameworks(frameworks)

    def case(
        self,
        world_size: int,
        limits: Limits,
        horovod: dict | None = None,
        together: bool = False,
        withheld: Sequence[str] = (),
    ) -> _Case:
        """Fork `world_size` ranks that wait for their jobs.

        horovod: how they are to find each other (`labkit.launch.horovod_rendezvous`). together: in a jail, whether they
        see each other's files. withheld: functions of labkit whose files they cannot read there.
        """
        if not 1 <= world_size <= MAX_RANKS:
            raise ValueError(f"{world_size} ranks: between 1 and {MAX_RANKS} are possible")
        pairs = [socket.socketpair() for _ in range(world_size + 1)]
        apart = self.isolation is not None and horovod is None and not together
        request = {"ranks": world_size, "apart": apart, "limits": asdict(limits), "horovod": horovod}
        request["withheld"] = list(withheld)
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

    def fork_ranks(self, lifeline: socket.socket, listener: socket.socket) -> None:
        """Fork the process that forks a notebook's ranks (`labkit.ranks.forker`). Does not wait for the imports that
        come before it; where they fail, both sockets close. Raises LauncherError."""
        self._ask({"program": "labkit.ranks.forker"}, [lifeline, listener])

    def _ask(self, request: dict, sockets: Sequence[socket.socket], when_ready: bool = False) -> None:
        """Send a request with its sockets; to a new launcher where this one has gone away. Raises LauncherError."""
        for attempt in (1, 2):
            if when_ready:
                self.wait_until_ready()
            try:
                with self._lock:
                    self._start()
                    framed.send(self._control, request, [sock.fileno() for sock in sockets])
                return
            except OSError:
                self.close()
                if attempt == 2:
                    raise LauncherError("the launcher has gone away twice; run `labkit doctor`") from None

    def close(self) -> None:
        """End the process, and a second one that belongs to it."""
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
        topology: Topology | None = None,
        late: Sequence[int] = (),
        seed: int = 0,
        kills: Mapping[int, int] | None = None,
        limits: Limits | None = None,
        cancelled=lambda: False,
        notes: int = 0,
        together: bool = False,
        phantoms: bool = False,
        altered: Altering | None = None,
    ) -> tuple[Outcome, list[dict]]:
        """Run one case over the relay. Returns its outcome and how each rank's process ended ({"signal", "exit", "cpu",
        "rss"}). notes: bytes of notes that each rank may send while it runs (`probes.ddp`). together: as in `case`.
        phantoms, altered: as in `ProgressEngine`."""
        limits = limits or Limits()
        case = self.case(len(jobs), limits, together=together)
        try:
            network = {"topology": topology, "late": late, "seed": seed, "kills": kills, "phantoms": phantoms}
            watched = {"case": case, "patience": limits.patience, "altered": altered}
            relay = Relay(case.sockets, jobs, **network, deadline=limits.deadline, cancelled=cancelled, **watched)
            for rank in relay.ranks:
                rank.notes_left = notes
            outcome = relay.run()
        finally:
            ends = case.end()
        self.still_there(outcome, ends)
        return outcome, ends

    def still_there(self, outcome: Outcome, ends: list[dict]) -> None:
        """Raises LauncherError where ranks have died because this process did: that is not what the function
        has done."""
        if any(rank.state == "dead" and not (ends[r : r + 1] or [{}])[0] for r, rank in enumerate(outcome.ranks)):
            with contextlib.suppress(subprocess.TimeoutExpired, AttributeError):
                self._process.wait(0.3)  # its ranks go a moment before it can be waited for
                raise LauncherError("the launcher has gone away in the middle of a case")


class _Case:
    """A case under way: its ranks' sockets, and the lifeline to its leader, of which only one reader may cut the
    frames."""

    def __init__(self, lifeline: socket.socket, sockets: list[socket.socket]):
        self.lifeline, self.sockets = lifeline, sockets
        self._inbox = wire.Inbox(lifeline)
        self._report: dict | None = None  # the leader's last word, which comes as soon as all ranks have ended

    def windows(self) -> Iterator[dict]:
        """The leader's reports on its ranks' processes (`labkit.watch.standstill`) since the last call. Raises Closed,
        WireError."""
        for kind, meta, _ in self._inbox.frames():
            if kind == wire.STALL:
                yield meta
            elif kind == wire.RESULT:
                self._report = meta

    def end(self) -> list[dict]:
        """Close everything; the leader kills what still runs and says how each rank ended. Raises LauncherError where a
        jail failed."""
        for sock in self.sockets:
            sock.close()
        with contextlib.suppress(OSError, wire.Closed, wire.WireError):
            self.lifeline.settimeout(20)
            self.lifeline.shutdown(socket.SHUT_WR)
            while self._report is None:
                for _ in self.windows():
                    pass
        self.lifeline.close()
        report = self._report or {}
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
    """The one that serves a notebook: with TensorFlow, and Horovod where it is here, if the notebook has imported
    TensorFlow; else with PyTorch."""
    from labkit.launch.horovod_rendezvous import frameworks

    return shared(frameworks() if {"horovod", "tensorflow"} & set(sys.modules) else ("torch",))


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
    may_change: Sequence[str] | None = None,
    returns: str = "",
    withheld: Sequence[str] = (),
    apart: bool = False,
    rank_at: int | None = None,
    untouched: bool = False,
    torch=None,
):
    """One job per rank: what to run (source chunks, name of the function) on which arguments (one tuple per rank).
    poison: decides what the memory of a receive holds while nobody has waited for it. may_change: names of the
    function's arguments that it may change; what it did to the others is told (`labkit.launch.arguments`). None: nobody
    looks. returns: the type of its result, as a signature writes it (`labkit.launch.returned`). withheld: functions of
    labkit that it may not call (`labkit.launch.rank_program.withheld`). apart: the harness calls it in child processes
    only (`labkit.launch.apart`). rank_at: the place of the argument that says for which rank the harness calls it, in a
    process of its own (`labkit.launch.each_rank`). untouched: no function of labkit and of the harness may be replaced.
    """
    jobs = []
    for rank, args in enumerate(arguments):
        tagged, payload = wire.encode(list(args), torch)
        job = {
            **{"rank": rank, "world_size": len(arguments), "runtime": runtime},
            "chunks": [[c.label, c.line, c.source] for c in chunks],
            **{"function": function, "harness": harness},
            **{"seed": seed, "poison": (poison * MAX_RANKS) % (1 << 62)},
            "may_change": None if may_change is None else list(may_change),
            "returns": returns,
            **{"withheld": list(withheld), "apart": apart, "rank_at": rank_at, "untouched": untouched},
            "arguments": tagged,
        }
        jobs.append((job, payload))
    return jobs
