"""The processes behind a notebook's ranks: a reaper, ipyparallel's controller, and MPI engines that can be replaced by
fresh ones."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import labkit.ranks.engine as engine
import labkit.ranks.forker as forker
from labkit import environment
from labkit.launch import reaper
from labkit.launch.launcher import LauncherError
from labkit.ranks.forker import RankForker
from labkit.watch import recorder
from labkit.watch.events import RankState
from labkit.watch.stacks import horovod_operation

_PORTS = 18  # where a controller listens
_START_LIMIT = 120.0  # s until ranks must be there
_HEARTBEAT = 250  # ms; the controller announces new engines with its next heartbeat
# How Open MPI starts its daemons on the other nodes of a PBS job: as job_scripts/pbs/launch.sh says, which knows why.
# under its own name: the notebook sends functions of this module
_ENGINE = "from labkit.ranks.engine import main; main()"
_PBS_DAEMONS = {
    "OMPI_MCA_plm_rsh_agent": str(Path(__file__).resolve().parents[2] / "job_scripts" / "pbs" / "on_host.sh"),
    "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
    "OMPI_MCA_orte_leave_session_attached": "1",
}
# What mpiexec writes when a rank is gone.
_DEATHS = (
    (re.compile(r"process rank (\d+) with PID \d+ on node \S+ exited on\s+signal (\d+)"), "signal"),
    (re.compile(r"MPI_ABORT was invoked on rank (\d+)"), "abort"),
    (re.compile(r"Process name: \[\[\d+,\d+\],(\d+)\]\s+Exit code:\s+(\d+)"), "exit"),
    (re.compile(r"due to process rank (\d+) with PID \d+ on\s+node \S+ exiting (improperly)"), "quiet exit"),
)


class StartFailed(Exception):
    """The ranks did not start. Its text is for the student."""


@dataclass(frozen=True)
class Member:
    """One rank: its engine in ipyparallel, and its process."""

    rank: int
    engine: int
    pid: int
    host: str
    started: str  # tells the process from a later one with the same number

    def is_alive(self) -> bool:
        """True if the process runs; a rank on another node is believed to."""
        return self.host != os.uname().nodename or _start_time(self.pid) == self.started


@dataclass
class RankRequest:
    """One rank's part of a cell that is running."""

    member: Member
    future: Any

    @property
    def rank(self) -> int:
        return self.member.rank

    def is_done(self) -> bool:
        """True if the result is here and all output before it."""
        return self.future.done() and self.future.output.done()

    def result(self) -> dict[str, Any]:
        """The result of `engine.run_cell`."""
        result = self.future.result()
        if isinstance(result, BaseException):
            return {
                "state": "raised",
                "error": type(result).__name__,
                "message": str(result),
                "line": "",
                "traceback": "",
            }
        return result


class Cluster:
    """`world_size` ranks. They start in the background; `wait_until_ready` before the first use."""

    def __init__(self, world_size: int, torch: bool):
        self.world_size, self.torch = world_size, torch
        self.folder = Path(tempfile.mkdtemp(prefix="labkit-ranks-", dir=_shared_memory()))
        self.members: list[Member] = []
        self._client = None
        self._forker: RankForker | None = None
        self._reserved: list[socket.socket] = []
        # ranks on other nodes that said where they stood at the end of the present cell
        self._answered: set[int] = set()
        self._used: set[int] = set()  # engines of ranks that are gone
        self._generation = 0
        self._ended: queue.SimpleQueue[dict] = queue.SimpleQueue()
        self._gone: set[str] = set()
        program = [sys.executable, "-I", "-S", reaper.__file__, str(self.folder)]
        self._reaper = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._start_controller()
            if forker.is_possible(self.folder, environment.hosts()):
                with contextlib.suppress(OSError, LauncherError):  # then each rank is a program of its own
                    self._forker = RankForker(self.folder)
            self._start_engines()
        except BaseException:
            self.close()
            raise

    # -- processes

    def _start_controller(self) -> None:
        (self.folder / "profile").mkdir()
        controller = [sys.executable, "-P", "-m", "ipyparallel.controller", f"--profile-dir={self.folder / 'profile'}"]
        controller += ["--usethreads", "--nodb", f"--ping={_HEARTBEAT}", "--log-level=ERROR"]
        # Whether a rank is alive is seen from its process. Some missed heartbeats only tell that the machine is busy.
        controller += ["--HeartMonitor.max_heartmonitor_misses=240"]
        ip = "*" if self._is_spread() else "127.0.0.1"
        self._reserved = _reserve_ports(ip, _PORTS)
        ports = ",".join(str(taken.getsockname()[1]) for taken in self._reserved)
        controller += [f"--ip={ip}", f"--ports={ports}"]
        self._order(
            start="controller", command=controller, environment=self._environment(), log=str(self.folder / "log")
        )

    def _free_ports(self) -> None:
        while self._reserved:
            self._reserved.pop().close()

    def _is_spread(self) -> bool:
        """True if the ranks run on several nodes."""
        return environment.hosts() > 1

    def _environment(self) -> dict[str, str]:
        own = {"LABKIT_RANKS": str(self.folder), "IPYTHONDIR": str(self.folder), "PYTHONUNBUFFERED": "1"}
        mpi = environment.mpi_environment(self.world_size)
        # Open MPI's own files belong to the folder that the reaper removes; other nodes do not have it
        if not self._is_spread():
            mpi |= {
                "OMPI_MCA_orte_tmpdir_base": str(self.folder),
                "OMPI_MCA_btl_vader_backing_directory": str(self.folder),
            }
        return {**os.environ, **mpi, **own}

    def _order(self, **order) -> None:
        try:
            self._reaper.stdin.write(json.dumps(order).encode() + b"\n")
            self._reaper.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise StartFailed(
                "The process that looks after the ranks is gone. Start them again: ranks.start()"
            ) from None

    def _listen(self) -> None:
        for line in self._reaper.stdout:
            self._ended.put(json.loads(line))

    def _has_ended(self, name: str) -> bool:
        while not self._ended.empty():
            self._gone.add(self._ended.get()["ended"])
        return name in self._gone

    @property
    def flight(self) -> Path:
        """The folder of the recordings of the present ranks."""
        return self.folder / f"flight{self._generation}"

    @property
    def _log(self) -> Path:
        return self.folder / f"log{self._generation}"

    def _start_engines(self) -> None:
        self._generation += 1
        self.flight.mkdir()
        variables = self._environment() | {"LABKIT_FLIGHT": str(self.flight), "LABKIT_HOST": os.uname().nodename}
        variables["LABKIT_NODES"] = str(environment.hosts())
        try:
            command = [*environment.mpiexec(), "-n", str(self.world_size)]
        except FileNotFoundError as error:
            raise StartFailed(str(error)) from None
        if self._is_spread():
            variables["IPP_CONNECTION_INFO"] = self._connection("engine")
            own = {"IPP_CONNECTION_INFO", "PATH", "PYTHONPATH", "OMP_NUM_THREADS"}
            own |= {"LABKIT_RANKS", "LABKIT_FLIGHT", "LABKIT_HOST", "LABKIT_NODES"}
            for name in sorted(own & variables.keys()):
                command += ["-x", name]
            if "PBS_NODEFILE" in variables:
                command += ["--hostfile", variables["PBS_NODEFILE"]]
                for name, value in _PBS_DAEMONS.items():
                    variables.setdefault(name, value)
        command += self._forker.command if self._forker is not None else [sys.executable, "-P", "-c", _ENGINE]
        self._order(start=self._name, command=command, environment=variables, log=str(self._log), cwd=os.getcwd())

    @property
    def _name(self) -> str:
        return f"engines{self._generation}"

    def _connection(self, side: str) -> str:
        """The controller's file about itself: for "client" or "engine"."""
        file = self.folder / "profile" / "security" / f"ipcontroller-{side}.json"
        deadline = time.monotonic() + _START_LIMIT
        while time.monotonic() < deadline and not self._has_ended("controller"):
            try:
                text = file.read_text()
                json.loads(text)
                return text
            except (OSError, ValueError):
                time.sleep(0.02)
        raise StartFailed(f"The controller of the ranks did not start:\n{_tail(self.folder / 'log')}")

    def renew(self) -> None:
        """Replace all ranks by fresh ones, in the background."""
        self._used |= {member.engine for member in self.members}
        self.members = []
        self._order(stop=self._name)
        self._start_engines()

    def close(self) -> None:
        """End all processes and remove all files."""
        self._let_them_come_up()
        self._free_ports()
        if self._client is not None:
            self._client.close()
        if self._forker is not None:
            self._forker.close()
        try:
            self._reaper.stdin.close()
            self._reaper.wait(timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            self._reaper.kill()
            self._reaper.wait()
        self._reaper.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _let_them_come_up(self, limit: float = 10.0) -> None:
        """Ranks on other nodes that are just being started cannot yet be told to end and to remove their files: give
        them a moment."""
        deadline = time.monotonic() + limit
        while self._client is not None and not self.members and self._is_spread() and time.monotonic() < deadline:
            if self._has_ended(self._name) or len(self._fresh()) >= self.world_size:
                return
            time.sleep(0.05)

    def is_usable(self) -> bool:
        """True if fresh ranks could still be started."""
        return self._reaper.poll() is None and not self._has_ended("controller")

    # -- ranks

    def wait_until_ready(self) -> None:
        """Return when every rank answers. Raises StartFailed."""
        if self.members:
            return
        import ipyparallel

        if self._client is None:
            self._client = ipyparallel.Client(
                connection_info=json.loads(self._connection("client")), timeout=_START_LIMIT
            )
        deadline = time.monotonic() + _START_LIMIT
        while len(fresh := self._fresh()) < self.world_size:
            if self._has_ended("controller"):
                raise StartFailed(f"The controller of the ranks has ended:\n{_tail(self.folder / 'log')}")
            if self._has_ended(self._name) or time.monotonic() > deadline:
                raise StartFailed(f"The ranks did not start:\n{_tail(self._log)}")
            time.sleep(0.02)
        found = self._on_engines(fresh, engine.identify, deadline)
        self._free_ports()
        members = [
            Member(rank, number, pid, host, _start_time(pid) if host == os.uname().nodename else "")
            for number, (rank, pid, host, _) in found.items()
        ]
        self.members = sorted(members, key=lambda member: member.rank)
        if self.members[0].host != os.uname().nodename:
            self._set_clocks()
        if self.torch:
            self.start_process_group()

    def _fresh(self) -> list[int]:
        """The engines that have come up since the ranks were last replaced."""
        return [number for number in self._client.ids if number not in self._used]

    def _set_clocks(self) -> None:
        """Ranks know what time it is where rank 0 runs. When that is elsewhere, tell them by how much our clock is
        ahead of that one's: never too little, so that no rank seems to begin a cell before it was sent."""
        ahead, first = [], self.members[0]
        for _ in range(5):
            theirs = self._on_engines([first.engine], engine.clock, time.monotonic() + _START_LIMIT)[first.engine]
            ahead.append(time.monotonic() - theirs)
        self.call(engine.set_clock, min(ahead))

    def start_process_group(self) -> None:
        """`init_process_group("mpi")` on every rank, and on all that will replace them. Raises StartFailed."""
        self.torch = True
        problems = {problem for problem in self.call(engine.start_process_group).values() if problem}
        if problems:
            self.members = []
            raise StartFailed(f'init_process_group("mpi") failed: {"; ".join(sorted(problems))}')

    def _on_engines(self, numbers: list[int], function: Callable, deadline: float, *args) -> dict[int, Any]:
        futures = {number: self._send(number, function, args) for number in numbers}
        while not all(future.done() for future in futures.values()):
            if self._has_ended(self._name) or time.monotonic() > deadline:
                raise StartFailed(f"The ranks do not answer:\n{_tail(self._log)}")
            time.sleep(0.005)
        results = {number: future.result() for number, future in futures.items()}
        for result in results.values():
            if isinstance(result, BaseException):
                raise StartFailed(f"The ranks do not answer: {result}")
        return results

    def call(self, function: Callable, *args, limit: float = _START_LIMIT) -> dict[int, Any]:
        """`function(*args)` on every rank, all at once: {rank: result}. Raises StartFailed when ranks are gone or too
        slow."""
        ranks = {member.engine: member.rank for member in self.members}
        results = self._on_engines(list(ranks), function, time.monotonic() + limit, *args)
        return {ranks[number]: result for number, result in results.items()}

    def run(
        self,
        source: str,
        label: str,
        first_line: int,
        sent: dict[int, bytes],
        deadline: float,
        listen: Callable[[int, dict], None],
    ) -> list[RankRequest]:
        """Start a cell on the ranks that `sent` names (engine.run_cell says what the rest means).

        listen(rank, message): takes their output, in ipyparallel's thread.
        """
        runs = []
        self._answered, flight = set(), self.flight

        def receive(rank: int, message: dict) -> None:
            sent = message["content"].get("data", {}).get(engine.RECORDING)
            if sent is None:
                listen(rank, message)
            else:
                self._keep_recording(flight, rank, sent, message["parent_header"]["msg_id"])

        for member in self.members:
            if member.rank in sent:
                arguments = (source, label, first_line, sent[member.rank], deadline)
                runs.append(
                    RankRequest(
                        member, self._send(member.engine, engine.run_cell, arguments, partial(receive, member.rank))
                    )
                )
        self._client.history.clear()
        return runs

    def _keep_recording(self, flight: Path, rank: int, sent: dict, message_id: str) -> None:
        """Put the recording of a rank on another node where those of our own are."""
        new = flight / f"rank{rank}.new"
        new.write_bytes(zlib.decompress(base64.b64decode(sent["recording"])))
        new.replace(flight / f"rank{rank}.flight")
        if sent["asked"]:
            self._answered.add(rank)
        outputs = self._client.metadata[message_id]["outputs"]  # where ipyparallel collects what is displayed
        outputs[:] = [output for output in outputs if engine.RECORDING not in output["data"]]

    def _send(self, number: int, function: Callable, args: tuple, listen: Callable[[dict], None] | None = None):
        """Send a call to one engine. A DirectView does the same, but offers no way to see all output as it comes."""

        def hook(future) -> None:
            if listen is not None:
                future.iopub_callbacks.append(listen)

        view = self._client.direct_view(number)
        identity = self._client._engines[number].encode()
        return self._client.send_apply_request(view._socket, function, args, ident=identity, message_future_hook=hook)

    # -- what happened to them

    def dead(self) -> list[int]:
        """The ranks whose processes are gone; [] while all are there."""
        gone = [member.rank for member in self.members if not member.is_alive()]
        if not gone and self.members and self._has_ended(self._name):  # on another node
            gone = sorted(_told_deaths(self._log)) or [member.rank for member in self.members]
        return gone

    def cause_of_death(self, ranks: list[int]) -> dict[int, str]:
        """{rank: "SIGKILL", "exited with status 3" ...}; "" where nobody can tell. Ends the ranks that are left,
        too."""
        told = self._told(ranks, 0.3)
        if not told:  # of a signal mpiexec speaks only when the last rank is gone
            for member in self.members:
                if member.host == os.uname().nodename and member.is_alive():
                    os.kill(member.pid, signal.SIGKILL)
            told = self._told(ranks, 3.0)
        if "MPI_Abort" in "".join(told.values()):
            return {rank: how for rank, how in told.items() if "MPI_Abort" in how}
        if told and not told.keys() & set(ranks):
            return told
        return {rank: told.get(rank, "") for rank in ranks}

    def wait_for_reports(self, ranks: list[int]) -> None:
        """Give those of these ranks that run on other nodes the time to tell where they stand."""
        deadline = time.monotonic() + 1.2
        far = {member.rank for member in self.members if member.host != os.uname().nodename and member.rank in ranks}
        while far - self._answered and time.monotonic() < deadline:
            time.sleep(0.02)

    def _told(self, ranks: list[int], limit: float) -> dict[int, str]:
        """mpiexec's sentence about one of these ranks, waited for up to `limit` s."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            told = _told_deaths(self._log)
            if any(rank in told for rank in ranks) or any("MPI_Abort" in how for how in told.values()):
                return told
            if told and self._is_spread():  # the first to go was on another node
                return told
            time.sleep(0.02)
        return {}

    def states(self, dead: list[int]) -> list[RankState]:
        """The state of every rank; of one that computes, its line. dead: ranks that are known to be gone."""
        found = {state.rank: state for state in recorder.states(self.flight, dict.fromkeys(dead, ""))}
        for member in self.members:
            state = found.setdefault(member.rank, RankState(member.rank, "dead" if member.rank in dead else "running"))
            if state.state == "dead" and not state.line:
                found[member.rank] = replace(state, line=self._stack_line(member.rank))
        busy = [
            member for member in self.members if found[member.rank].state == "running" and not found[member.rank].line
        ]
        for member, stack in self._stacks_of(busy).items():
            state = replace(found[member.rank], line=_students_line(stack))
            operation = horovod_operation(stack)
            found[member.rank] = replace(state, state="waiting", kind=operation) if operation else state
        return [found[rank] for rank in sorted(found)]

    def _stacks_of(self, members: list[Member]) -> dict[Member, str]:
        """Ask ranks for their stacks: faulthandler answers even in the middle of C code."""
        here = [member for member in members if member.host == os.uname().nodename and member.is_alive()]
        before = {member: len(self._stack(member.rank)) for member in here}
        for member in here:
            os.kill(member.pid, signal.SIGUSR1)
        deadline = time.monotonic() + 0.5
        stacks: dict[Member, str] = {}
        while len(stacks) < len(here) and time.monotonic() < deadline:
            time.sleep(0.01)
            for member in here:
                stack = self._stack(member.rank)[before[member] :]
                if stack.endswith("\n") and "most recent call first" in stack:
                    stacks[member] = stack
        return stacks

    def _stack(self, rank: int) -> str:
        try:
            return (self.flight / f"rank{rank}.stack").read_text(errors="replace")
        except OSError:
            return ""

    def _stack_line(self, rank: int) -> str:
        """The line in which a rank crashed, if faulthandler saw it."""
        return _students_line(self._stack(rank))


def _reserve_ports(ip: str, count: int) -> list[socket.socket]:
    """Sockets that hold free ports for the controller. By itself it picks ports long before it listens there, and when
    many start at once (a class, in the first minute of a lesson) some find theirs taken. A port held this way is given
    to nobody who asks for any free one; ZeroMQ, which asks for this one and sets SO_REUSEADDR as well, may listen
    there."""
    held = []
    for _ in range(count):
        held.append(socket.socket())
        held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held[-1].bind(("" if ip == "*" else ip, 0))
    return held


def _students_line(stack: str) -> str:
    """The innermost line of the student's own code in what faulthandler wrote."""
    for name, line in re.findall(r'File "([^"]+)", line (\d+)', stack):
        if not recorder.is_library(name) and not name.startswith("<"):
            return f"{recorder.file_label(name)}, line {line}"
    return ""


def _told_deaths(log: Path) -> dict[int, str]:
    """mpiexec's words about ranks that are gone: {rank: "SIGKILL", "exited with status 3" ...}."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return {}
    found: dict[int, str] = {}
    for pattern, kind in _DEATHS:
        for match in pattern.finditer(text):
            rank = int(match[1])
            if kind == "signal":
                found.setdefault(rank, _signal_name(int(match[2])))
            elif kind == "abort":
                found.setdefault(rank, "called MPI_Abort")
            elif kind == "quiet exit":
                found.setdefault(rank, "its process ended")
            else:
                found.setdefault(rank, f"exited with status {match[2]}")
    return found


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _start_time(pid: int) -> str:
    """The start time of a process, in the kernel's own count; "" if there is none or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _tail(log: Path, lines: int = 15) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").strip().split("\n")[-lines:])
    except OSError:
        return ""


def _shared_memory() -> str | None:
    """/dev/shm where it is one and has room: recordings must not wait for a disk. None: the usual place."""
    folder = "/dev/shm"
    try:
        room = os.statvfs(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) and room.f_bavail * room.f_frsize > 32 << 20 else None
