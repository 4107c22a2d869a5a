"""Cases on real MPI: one `mpiexec` whose ranks run case after case, watched from outside through the flight recorder.

The watching side never trusts the ranks to come back: it reads from their recorders who waits for whom, and ends the
job when nobody can move any more.

With `isolation` (see `autograder.grading.isolation`) mpiexec and its ranks run in a jail. What they write there, their
recordings too, is then read with care: through a handle of the folder, following no link, believing no size.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from labkit.environment import mpi_environment, mpiexec, outside_of_jobs
from labkit.launch import jail, mpi_cells, reaper
from labkit.launch.children import PROCESSES
from labkit.launch.launcher import Limits
from labkit.launch.process import die_with_parent
from labkit.relay import wire
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch import hang, recorder, standstill
from labkit.watch.events import RankState
from labkit.watch.pace import MOST, Deadline

START_TIMEOUT = 60.0
LAST_WORDS = 5.0  # seconds mpiexec has to say how a rank died
# What ranks that share no files can do without: one-sided operations and the names of ranks by messages alone.
_APART = {"OMPI_MCA_osc": "pt2pt", "PMIX_MCA_gds": "hash"}
QUIET = 1.0  # seconds without any progress after which a circle of waiting counts as one


class MpiRunner:
    """Runs cases of up to `most` ranks under mpiexec; the job is started with the first case and again after a case
    that hung.

    isolation: the jail it runs in, None for none. Whatever a case's code has done to its processes is still there in
    the next case: before another person's code, `close`.
    """

    def __init__(self, most: int, limits: Limits, isolation: dict | None = None):
        self.most, self.limits, self.isolation = most, limits, isolation
        self._job: _MpiJob | None = None

    def run(self, jobs: Sequence[tuple[dict, bytes]]) -> tuple[Outcome, list[dict]]:
        """Run one case (one job per rank, see `labkit.launch.launcher.make_jobs`)."""
        if self._job is None:
            self._job = _MpiJob(self.most, self.limits, self.isolation)
        outcome, ends, usable = self._job.run(jobs, self.limits.deadline, self.limits.patience)
        if not usable:
            self.close()
        return outcome, ends

    def close(self) -> None:
        if self._job is not None:
            self._job.close()
            self._job = None


class _MpiJob:
    def __init__(self, most: int, limits: Limits, isolation: dict | None = None):
        self.isolation, self.limits = isolation, limits
        self.lifeline: socket.socket | None = None  # of a jail: it ends when this closes
        self.handle: int | None = None  # of the job's folder within a jail
        self.folder = Path(
            tempfile.mkdtemp(prefix="labkit-mpi-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        )
        self.errors = open(self.folder / "errors", "wb")
        self.number = 0
        self.pids: dict[int, int] = {}
        self.processes: dict[int, int] = {}  # process, as we know it -> rank
        # Should this process be killed, the operating system ends mpiexec and its ranks, and the reaper removes the
        # folder.
        self.reaper = subprocess.Popen(
            [sys.executable, "-I", "-S", reaper.__file__, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with socket.socket(socket.AF_UNIX) as server:
                if isolation is None:
                    server.bind(str(self.folder / "socket"))
                    server.listen(most)
                    self.process = self._start(most)
                else:
                    self.process = self._start_jail(most)
                    self.handle = self._receive_folder()
                    server.bind(f"/proc/self/fd/{self.handle}/socket")
                    os.chmod(f"/proc/self/fd/{self.handle}/socket", 0o777)
                    server.listen(most)
                    self.lifeline.send(b"!")
                self.sockets = self._accept(server, most)
            for sock in self.sockets:
                wire.send(sock, wire.JOB, {"limits": vars(limits)})
        except BaseException:
            self.close()
            raise

    def _start(self, most: int) -> subprocess.Popen:
        # On this machine, where their socket is, in an allocation of several nodes, too; and a kernel that is a rank
        # itself must not make its children believe they are.
        environment = outside_of_jobs(os.environ) | mpi_environment(most, here=True)
        environment.update(MPLBACKEND="Agg", PYTHONPATH=str(Path(__file__).resolve().parents[2]))
        environment["TMPDIR"] = str(self.folder)
        # a killed rank leaves its shared memory behind
        environment["OMPI_MCA_btl_vader_backing_directory"] = str(self.folder)
        return subprocess.Popen(
            [
                *mpiexec(),
                "-n",
                str(most),
                sys.executable,
                "-P",
                "-m",
                "labkit.launch.mpi_program",
                str(self.folder / "socket"),
                str(self.folder),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )

    def _start_jail(self, most: int) -> subprocess.Popen:
        """mpiexec in a jail; the jail's folder for the job comes over the lifeline, and the jail waits for a word
        before it begins. Where there are namespaces each rank gets a cell (`labkit.launch.mpi_cells`).
        """
        inside = "namespaces" in self.isolation["protections"]
        folder = jail.JOB_FOLDER if inside else str(self.folder / "job")
        os.chmod(self.folder, 0o700 if inside else 0o711)
        environment = self._environment_of_jail(most, folder, inside)
        self.lifeline, theirs = socket.socketpair()
        limits = {
            "file_bytes": self.limits.file_bytes,
            "memory_bytes": self.limits.memory_bytes * most,
            "processes": PROCESSES * most,
        }
        spec = {**self.isolation, "keep": [theirs.fileno()], "lifeline": theirs.fileno(), "folder": folder}
        spec |= {"loopback": True, "limits": limits}
        program = [sys.executable, "-P", "-m", "labkit.launch.mpi_program", f"{folder}/socket", folder]
        if inside:
            what, command = "serve", mpi_cells.command(spec, most, program, [*mpiexec(), "-n", str(most)])
        else:
            what, command = "run", [*mpiexec(), "-n", str(most), *program, "apart"]
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", jail.__file__, json.dumps(spec), what, *command],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
        finally:
            theirs.close()

    def _environment_of_jail(self, most: int, folder: str, inside: bool) -> dict[str, str]:
        """The variables of mpiexec and its ranks. inside: the job has file systems of its own."""
        environment = {**self.isolation["environment"], **mpi_environment(most, here=True), **_APART}
        environment |= {"MPLBACKEND": "Agg", "TMPDIR": folder}
        environment["OMPI_MCA_btl_vader_backing_directory"] = "/dev/shm" if inside else folder
        # one process may not read another's memory there
        environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
        return environment

    def _receive_folder(self) -> int:
        self.lifeline.settimeout(START_TIMEOUT * MOST)
        _, handles, _, _ = socket.recv_fds(self.lifeline, 64, 1)
        if not handles:
            raise RuntimeError(
                f"the jail of an MPI job could not be built; `autograder doctor` says more.\n{self._said()[-1500:]}"
            )
        return handles[0]

    @contextlib.contextmanager
    def _recordings(self) -> Iterator[Path | dict[int, Path] | None]:
        """The folder into which the flight recorders of the present case write, or that of each rank; None if it does
        not exist."""
        name = f"case{self.number}"
        if self.isolation is None:
            yield self.folder / name if (self.folder / name).exists() else None
            return
        with contextlib.ExitStack() as opened:

            def handle_of(name: str, folder: int) -> int | None:
                try:
                    handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                except OSError:
                    return None
                opened.callback(os.close, handle)
                return handle

            own = {r: handle_of(f"rank{r}", self.handle) for r in range(len(self.sockets))}
            found = {r: handle_of(name, handle) for r, handle in own.items() if handle is not None}
            yield {r: Path(f"/proc/self/fd/{handle}") for r, handle in found.items() if handle is not None}

    def _said(self) -> str:
        """The standard error of mpiexec and the ranks. A file, not a pipe: a full pipe would stop them."""
        with open(self.folder / "errors", "rb") as file:
            return file.read(1 << 20).decode(errors="replace")

    def _accept(self, server: socket.socket, most: int) -> list[socket.socket]:
        found: dict[int, socket.socket] = {}
        end = Deadline(START_TIMEOUT)
        while len(found) < most:
            server.settimeout(0.5)
            try:
                sock, _ = server.accept()
            except TimeoutError:
                if self.process.poll() is not None or end.left() <= 0:
                    raise RuntimeError(
                        f"mpiexec could not start {most} ranks; `labkit doctor` says more.\n{self._said()[-1500:]}"
                    ) from None
                continue
            sock.settimeout(START_TIMEOUT)
            try:
                _, hello, _ = wire.receive(sock)
            except (wire.Closed, OSError):
                raise RuntimeError(f"a rank of an MPI job ended as it began.\n{self._said()[-1500:]}") from None
            found[hello["rank"]] = sock
            self.pids[hello["rank"]] = hello["pid"]
            peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            self.processes[struct.unpack("3i", peer)[0]] = hello["rank"]  # a jail's rank knows another number of itself
        return [found[r] for r in range(most)]

    def run(self, jobs, deadline: float, patience: float = 0.0) -> tuple[Outcome, list[dict], bool]:
        """(outcome, how processes ended, whether the job can run another case)."""
        self.number += 1
        ranks = [RankOutcome("running") for _ in jobs]
        printed: list[tuple[int, str]] = []
        for r, (job, payload) in enumerate(jobs):
            self._tell(ranks, r, wire.JOB, {**job, "number": self.number}, payload)
        end = Deadline(deadline)
        report, too_slow = self._watch(ranks, printed, end, standstill.Silence(patience))
        events, complete = self._events(len(ranks))
        for r, rank in enumerate(ranks):
            _count(rank, [e for e in events if e.rank == r])
            rank.carried = 0.0 if complete else math.inf
        usable = all(rank.state in ("returned", "raised") for rank in ranks) and report is None
        if usable:
            for r in range(len(jobs)):
                self._tell(ranks, r, wire.REPLY, {})
            usable = all(rank.state != "dead" for rank in ranks)
        if self.isolation is None:  # a jail's files go with it
            shutil.rmtree(self.folder / f"case{self.number}", ignore_errors=True)
        ends = [{} for _ in jobs]
        if not usable:
            ends = self._ends(len(jobs), died=any(rank.state == "dead" for rank in ranks))
        return Outcome(ranks, printed, events, report, too_slow, slowed=end.worst), ends, usable

    def _tell(self, ranks: list[RankOutcome], r: int, kind: int, meta: dict, payload: bytes = b"") -> None:
        """A rank that does not hear any more is dead, whatever it has said: its end of the socket is its own."""
        try:
            wire.send(self.sockets[r], kind, meta, payload)
        except OSError:
            ranks[r].state = "dead"

    def _watch(self, ranks, printed, end: Deadline, silence: standstill.Silence):
        seen, since, watch = None, time.monotonic(), standstill.Watch()
        with selectors.DefaultSelector() as selector:
            for r in range(len(ranks)):
                selector.register(self.sockets[r], selectors.EVENT_READ, (r, wire.Inbox(self.sockets[r])))
            while any(rank.state == "running" for rank in ranks):
                for key, _ in selector.select(0.1):
                    r, inbox = key.data
                    try:
                        for kind, meta, payload in inbox.frames():
                            printed.extend((r, line) for line in ranks[r].record(kind, meta, payload))
                    except (wire.Closed, wire.WireError, OSError, KeyError, TypeError, ValueError):
                        selector.unregister(self.sockets[r])
                        if ranks[r].state == "running":
                            ranks[r].state = "dead"
                if not any(rank.state == "running" for rank in ranks):
                    return None, False
                states = self._states(ranks)
                now = [(s.state, s.kind, s.operations) for s in states]
                for r, one in enumerate(now):
                    if seen is None or one != seen[r]:
                        silence.heard(r)
                window = watch.look(self.processes)
                if window is not None and silence.too_long(
                    window, [r for r, s in enumerate(states) if s.state == "running"]
                ):
                    return None, True
                if now != seen:
                    seen, since = now, time.monotonic()
                waits = not any(s.state == "running" for s in states) and any(s.state == "waiting" for s in states)
                lost = any(rank.state in ("raised", "dead") for rank in ranks)
                if waits and (lost or time.monotonic() - since > QUIET):
                    report = hang.explain(states)
                    if report.kind != "busy":
                        return report, False
                if end.left() <= 0:
                    return None, True
        return None, False

    def _events(self, world_size: int) -> tuple[list, bool]:
        """The operations that the ranks have called, and True if these are all: a recording holds a few thousand."""
        with self._recordings() as folder, contextlib.suppress(OSError, ValueError):
            whose = range(world_size)
            return (recorder.events(folder, whose), not recorder.overwritten(folder, whose)) if folder else ([], True)
        return [], True

    def _states(self, ranks: list[RankOutcome]) -> list[RankState]:
        recorded: dict[int, RankState] = {}
        with self._recordings() as folder, contextlib.suppress(OSError, ValueError):
            recorded = {s.rank: s for s in recorder.states(folder, ranks=range(len(ranks)))} if folder else {}
        states = []
        for r, rank in enumerate(ranks):
            if rank.state == "running":
                state = recorded.get(r, RankState(r, "running"))
                states.append(replace(state, group=None) if state.group == tuple(range(len(ranks))) else state)
            else:
                detail = f"{rank.error.get('type')}: {rank.error.get('text')}" if rank.state == "raised" else ""
                states.append(RankState(r, rank.state, detail=detail))
        return states

    def _ends(self, count: int, died: bool) -> list[dict]:
        """mpiexec's sentence about a rank that a signal ended. died: True if one did, so that mpiexec will end by
        itself.
        """
        if self.isolation is not None and died:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(LAST_WORDS)
        self._stop()
        errors = self._said()
        ends = [{} for _ in range(count)]
        for r in range(count):
            for text in (f"process rank {r} with", f"rank {r} with PID"):
                if text in errors and "exited on signal" in errors:
                    number = errors.split("exited on signal", 1)[1].split()[0]
                    ends[r] = {"signal": int(number), "exit": None}
        return ends

    def _stop(self) -> None:
        for sock in getattr(self, "sockets", []):
            sock.close()
        process = getattr(self, "process", None)
        if process is None:
            return
        if self.lifeline is not None:
            self.lifeline.close()
            process.wait()
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.3)
        for pid in self.pids.values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self) -> None:
        for sock in getattr(self, "sockets", []):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        if hasattr(self, "process"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(3)
        self._stop()
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
        self.errors.close()
        self.reaper.stdin.close()
        self.reaper.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _count(rank: RankOutcome, events) -> None:
    for event in events:
        side = hang.direction(event.kind)
        rank.unwaited += event.ended is None and event.kind[:1] in "Ii" and "probe" not in event.kind
        if side == "send":
            rank.sends += 1
            rank.sent_bytes += event.nbytes
        elif side == "recv" and "probe" not in event.kind.lower():
            rank.recvs += 1
            rank.received_bytes += event.nbytes
        elif not side:
            rank.collectives.append(event.kind)
            rank.collective_bytes += event.nbytes
