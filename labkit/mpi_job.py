"""Cases on real MPI: one `mpiexec` whose ranks run case after case, watched from outside through the flight recorder.

The watching side never trusts the ranks to come back: it reads from their recorders who waits for whom, and ends the job when nobody can
move any more.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labkit import hang, recorder, warden, wire
from labkit.environment import mpi_environment, mpiexec
from labkit.events import RankState
from labkit.launcher import Limits, die_with_parent
from labkit.relay import Outcome, RankOutcome, take

START_TIMEOUT = 60.0
QUIET = 1.0  # seconds without any progress after which a circle of waiting counts as one


class MpiRunner:
    """Runs cases of up to `most` ranks under mpiexec; the job is started with the first case and again after a case that hung."""

    def __init__(self, most: int, limits: Limits):
        self.most, self.limits = most, limits
        self._job: _Job | None = None

    def run(self, jobs: Sequence[tuple[dict, bytes]]) -> tuple[Outcome, list[dict]]:
        """Run one case (one job per rank, see `labkit.launcher.make_jobs`)."""
        if self._job is None:
            self._job = _Job(self.most, self.limits)
        outcome, ends, usable = self._job.run(jobs, self.limits.deadline)
        if not usable:
            self.close()
        return outcome, ends

    def close(self) -> None:
        if self._job is not None:
            self._job.close()
            self._job = None


class _Job:
    def __init__(self, most: int, limits: Limits):
        self.folder = Path(tempfile.mkdtemp(prefix="labkit-mpi-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.errors = open(self.folder / "errors", "wb")
        self.number = 0
        self.pids: dict[int, int] = {}
        # Should this process be killed, the operating system ends mpiexec and its ranks, and the warden removes the folder.
        self.warden = subprocess.Popen(
            [sys.executable, "-I", "-S", warden.__file__, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(self.folder / "socket"))
                server.listen(most)
                self.process = self._start(most)
                self.sockets = self._accept(server, most)
            for sock in self.sockets:
                wire.send(sock, wire.JOB, {"limits": vars(limits)})
        except BaseException:
            self.close()
            raise

    def _start(self, most: int) -> subprocess.Popen:
        environment = dict(os.environ)
        for name in [n for n in environment if n.startswith(("OMPI_COMM_", "PMIX_", "PMI_", "OMPI_UNIVERSE"))]:
            del environment[name]  # a kernel that is a rank itself must not make its children believe they are
        environment.update(mpi_environment(most), MPLBACKEND="Agg", PYTHONPATH=str(Path(__file__).resolve().parent.parent))
        environment["TMPDIR"] = str(self.folder)
        environment["OMPI_MCA_btl_vader_backing_directory"] = str(self.folder)  # a killed rank leaves its shared memory behind
        return subprocess.Popen(
            [
                *mpiexec(),
                "-n",
                str(most),
                sys.executable,
                "-m",
                "labkit.mpi_program",
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

    def _said(self) -> str:
        """What mpiexec and the ranks wrote to their standard error. A file, not a pipe: a full pipe would stop them."""
        return (self.folder / "errors").read_text(errors="replace")

    def _accept(self, server: socket.socket, most: int) -> list[socket.socket]:
        found: dict[int, socket.socket] = {}
        end = time.monotonic() + START_TIMEOUT
        while len(found) < most:
            server.settimeout(0.5)
            try:
                sock, _ = server.accept()
            except TimeoutError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(
                        f"mpiexec could not start {most} ranks; `labkit doctor` says more.\n{self._said()[-1500:]}"
                    ) from None
                continue
            sock.settimeout(20)
            _, hello, _ = wire.receive(sock)
            found[hello["rank"]] = sock
            self.pids[hello["rank"]] = hello["pid"]
        return [found[r] for r in range(most)]

    def run(self, jobs, deadline: float) -> tuple[Outcome, list[dict], bool]:
        """(outcome, how processes ended, whether the job can run another case)."""
        self.number += 1
        folder = self.folder / f"case{self.number}"
        ranks = [RankOutcome("running") for _ in jobs]
        printed: list[tuple[int, str]] = []
        for r, (job, payload) in enumerate(jobs):
            wire.send(self.sockets[r], wire.JOB, {**job, "number": self.number}, payload)
        report, too_slow = self._watch(ranks, printed, folder, deadline)
        events = recorder.events(folder) if folder.exists() else []
        for r, rank in enumerate(ranks):
            _count(rank, [e for e in events if e.rank == r])
        usable = all(rank.state in ("returned", "raised") for rank in ranks) and report is None
        if usable:
            for r in range(len(jobs)):
                wire.send(self.sockets[r], wire.REPLY, {})
        shutil.rmtree(folder, ignore_errors=True)
        ends = [{} for _ in jobs]
        if not usable:
            ends = self._ends(len(jobs))
        return Outcome(ranks, printed, events, report, too_slow), ends, usable

    def _watch(self, ranks, printed, folder: Path, deadline: float):
        end = time.monotonic() + deadline
        seen, since = None, time.monotonic()
        with selectors.DefaultSelector() as selector:
            for r in range(len(ranks)):
                selector.register(self.sockets[r], selectors.EVENT_READ, (r, wire.Inbox(self.sockets[r])))
            while any(rank.state == "running" for rank in ranks):
                for key, _ in selector.select(0.1):
                    r, inbox = key.data
                    try:
                        for kind, meta, payload in inbox.frames():
                            take(ranks[r], r, printed, kind, meta, payload)
                    except (wire.Closed, wire.WireError, KeyError, TypeError, ValueError):
                        selector.unregister(self.sockets[r])
                        if ranks[r].state == "running":
                            ranks[r].state = "dead"
                if not any(rank.state == "running" for rank in ranks):
                    return None, False
                states = self._states(ranks, folder)
                now = [(s.state, s.kind, s.operations) for s in states]
                if now != seen:
                    seen, since = now, time.monotonic()
                waits = not any(s.state == "running" for s in states) and any(s.state == "waiting" for s in states)
                lost = any(rank.state in ("raised", "dead") for rank in ranks)
                if waits and (lost or time.monotonic() - since > QUIET):
                    report = hang.explain(states)
                    if report.kind != "busy":
                        return report, False
                if time.monotonic() > end:
                    return None, True
        return None, False

    def _states(self, ranks: list[RankOutcome], folder: Path) -> list[RankState]:
        recorded = {s.rank: s for s in recorder.states(folder)} if folder.exists() else {}
        states = []
        for r, rank in enumerate(ranks):
            if rank.state == "running":
                state = recorded.get(r, RankState(r, "running"))
                states.append(replace(state, group=None) if state.group == tuple(range(len(ranks))) else state)
            else:
                detail = f"{rank.error.get('type')}: {rank.error.get('text')}" if rank.state == "raised" else ""
                states.append(RankState(r, rank.state, detail=detail))
        return states

    def _ends(self, count: int) -> list[dict]:
        """What mpiexec says about a rank that a signal ended."""
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
        self.errors.close()
        self.warden.stdin.close()
        self.warden.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _count(rank: RankOutcome, events) -> None:
    for event in events:
        side = hang.direction(event.kind)
        if side == "send":
            rank.sends += 1
            rank.sent_bytes += event.nbytes
        elif side == "recv" and "probe" not in event.kind.lower():
            rank.recvs += 1
            rank.received_bytes += event.nbytes
        elif not side:
            rank.collectives.append(event.kind)
            rank.collective_bytes += event.nbytes
