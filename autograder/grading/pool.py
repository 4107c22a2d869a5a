"""The pools that judge: worker processes on this machine, or engines of ipyparallel in an allocation. Both take tasks
and return results.

A worker gets one submission at a time. When it dies over one, that submission is tried once more with another worker,
and then it is handed back as lost; the others are not affected.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course import OVERLAY
from autograder.grading.isolation import WeakIsolation, spec
from autograder.grading.store import DiskFull, code_version
from autograder.grading.worker import CannotJudge, leave_engine, on_engine, prepare_engine

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 2
LONGEST_S = 3600.0  # for one submission; every case has a deadline of its own, so only a fault of ours takes longer
# Without rfc3987_syntax: nbformat's validator would compile a grammar of web addresses on import, 1.2 s that nobody
# here needs.
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
sys.modules["rfc3987_syntax"] = None
from autograder.grading import worker
worker.main()
"""


@dataclass
class SubmissionTask:
    """A student's submission on its way through the pool. request: the argument of
    `autograder.grading.worker.SubmissionJudge.judge`."""

    student: str
    request: dict
    attempts: int = 0


@dataclass
class PoolResult:
    """graded: the result of `autograder.grading.worker.SubmissionJudge.judge`; None: the worker died over it each
    time. lost: how, in words."""

    student: str
    graded: dict[str, dict] | None
    seconds: float = 0.0
    lost: str = ""
    error: Exception | None = None  # the whole pool cannot go on


@dataclass
class SubmissionPool:
    """Base class of both kinds. size: the number of submissions judged at the same time. running: student -> since
    when."""

    size: int
    tasks: queue.Queue = field(default_factory=queue.Queue)
    results: queue.Queue = field(default_factory=queue.Queue)
    running: dict[str, float] = field(default_factory=dict)
    given: int = 0  # tasks taken over and not yet handed back

    def submit(self, student: str, request: dict) -> None:
        """Take over a submission. request: see `SubmissionTask`."""
        self.given += 1
        self.tasks.put(SubmissionTask(student, request))

    def result(self, timeout: float) -> PoolResult | None:
        """The next result, or None when none has come within `timeout` seconds. Raises CannotJudge, DiskFull."""
        try:
            done = self.results.get(timeout=timeout)
        except queue.Empty:
            return None
        self.given -= 1
        if done.error is not None:
            raise done.error
        return done

    def close(self) -> None:
        """End all workers, in the middle of their work too."""


class LocalPool(SubmissionPool):
    """Worker processes on this machine, each with a thread here that feeds it. Started when there is something to
    do."""

    def __init__(self, size: int, weak: bool = False):
        super().__init__(size)
        self.weak = weak
        self.closing = threading.Event()
        self.workers: list[_Worker] = []
        self.threads: list[threading.Thread] = []

    def submit(self, student: str, request: dict) -> None:
        super().submit(student, request)
        if len(self.threads) < min(self.size, self.given):
            thread = threading.Thread(target=self._feed, args=(len(self.threads),), daemon=True)
            self.threads.append(thread)
            thread.start()

    def pids(self) -> list[int]:
        """The processes of the workers that live."""
        return [worker.process.pid for worker in list(self.workers) if worker.process.poll() is None]

    def _feed(self, slot: int) -> None:
        worker = None
        while not self.closing.is_set():
            try:
                task = self.tasks.get(timeout=0.1)
            except queue.Empty:
                continue
            self.running[task.student] = start = time.monotonic()
            try:
                task.attempts += 1
                worker = worker or self._start(slot)
                graded = worker.judge(task.request)
                self.results.put(PoolResult(task.student, graded, time.monotonic() - start))
            except _WorkerLost as lost:
                self._forget(worker)
                worker = None
                if self.closing.is_set():
                    return
                if task.attempts < ATTEMPTS:
                    self.tasks.put(task)
                else:
                    self.results.put(PoolResult(task.student, None, time.monotonic() - start, str(lost)))
            except WeakIsolation as error:
                self.results.put(PoolResult(task.student, None, error=CannotJudge(str(error))))
            except Exception as error:
                self.results.put(PoolResult(task.student, None, error=error))
            finally:
                self.running.pop(task.student, None)

    def _start(self, slot: int) -> _Worker:
        worker = _Worker(spec(slot, weak=self.weak))
        self.workers.append(worker)
        if self.closing.is_set():
            worker.end()
        try:
            worker.greet()
        except BaseException:
            self._forget(worker)
            raise
        return worker

    def _forget(self, worker: _Worker | None) -> None:
        if worker is not None:
            worker.end()
            self.workers.remove(worker)

    def close(self) -> None:
        self.closing.set()
        for worker in list(self.workers):
            worker.end()
        for thread in self.threads:
            thread.join(10)


class _WorkerLost(RuntimeError):
    pass


class _Worker:
    """A worker process, as its parent handles it."""

    def __init__(self, jail: dict):
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(ROOT), json.dumps(jail)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def greet(self) -> None:
        """Wait until it is ready. Raises _WorkerLost, CannotJudge."""
        self._hear()

    def judge(self, request: dict) -> dict[str, dict]:
        """Raises _WorkerLost, CannotJudge, DiskFull."""
        too_long = threading.Timer(LONGEST_S, self.process.kill)
        too_long.daemon = True
        too_long.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            return self._hear()["graded"]
        except OSError:
            raise _WorkerLost(self._how()) from None
        finally:
            too_long.cancel()

    def _hear(self) -> dict:
        try:
            said = json.loads(self.process.stdout.readline())
        except (ValueError, OSError):
            raise _WorkerLost(self._how()) from None
        if "refused" in said:
            raise CannotJudge(said["refused"])
        if "full" in said:
            raise DiskFull(said["full"])
        return said

    def _how(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        status = self.process.returncode
        return (
            "it stopped answering" if status is None else f"signal {-status}" if status < 0 else f"exit status {status}"
        )

    def end(self) -> None:
        """Close its input, at which it ends; after some patience by force."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class EnginePool(SubmissionPool):
    """Engines of an ipyparallel cluster that runs already: one slot each, load balanced. profile: as in `ipcluster
    start --profile`."""

    def __init__(self, profile: str, weak: bool = False):
        import ipyparallel

        self.ipyparallel = ipyparallel
        try:
            self.client = ipyparallel.Client(profile=profile, timeout=30)
        except (OSError, TimeoutError, ipyparallel.error.TimeoutError) as error:
            raise CannotJudge(
                f"no cluster of profile {profile!r} answers: start one with "
                f"`ipcluster start --profile={profile} -n 4` ({error})"
            ) from None
        super().__init__(len(self.client.ids))
        if not self.size:
            self.client.close()
            raise CannotJudge(f"the cluster of profile {profile!r} has no engines yet")
        self.view = self.client.load_balanced_view()
        self.flying: list[tuple] = []
        self._prepare(weak)

    def _prepare(self, weak: bool) -> None:
        overlay = os.environ.get(OVERLAY, "")
        answers = []
        for slot, engine in enumerate(self.client.ids):
            view = self.client[engine]
            view.execute(f"import sys\nif {str(ROOT)!r} not in sys.path: sys.path.insert(0, {str(ROOT)!r})")
            options = {"slot": slot, "weak": weak, "overlay": overlay}
            answers.append(view.apply_async(prepare_engine, options, code_version()))
        for said in filter(None, [answer.get() for answer in answers]):
            self.close()
            raise CannotJudge(said)

    def submit(self, student: str, request: dict) -> None:
        super().submit(student, request)
        self._send()

    def _send(self) -> None:
        while len(self.flying) < self.size and not self.tasks.empty():
            task = self.tasks.get()
            task.attempts += 1
            self.running[task.student] = start = time.monotonic()
            self.flying.append((task, start, self.view.apply_async(on_engine, task.request)))

    def result(self, timeout: float) -> PoolResult | None:
        self._collect(timeout)
        self._send()
        return super().result(0.001)

    def _collect(self, timeout: float) -> None:
        """Take in what is ready; wait a little where nothing is."""
        end = time.monotonic() + timeout
        while self.flying and not any(answer.ready() for _, _, answer in self.flying) and time.monotonic() < end:
            self.flying[0][2].wait(0.02)
        for entry in [entry for entry in self.flying if entry[2].ready()]:
            self.flying.remove(entry)
            task, start, answer = entry
            self.running.pop(task.student, None)
            try:
                self.results.put(PoolResult(task.student, answer.get(), time.monotonic() - start))
            except self.ipyparallel.error.EngineError as error:  # the engine has died
                if task.attempts < ATTEMPTS and self.client.ids:
                    self.tasks.put(task)
                else:
                    self.results.put(PoolResult(task.student, None, time.monotonic() - start, str(error)))
            except Exception as error:
                self.results.put(
                    PoolResult(task.student, None, time.monotonic() - start, f"{type(error).__name__}: {error}")
                )

    def close(self) -> None:
        for _, _, answer in self.flying:
            with contextlib.suppress(Exception):
                answer.abort()
        with contextlib.suppress(Exception):
            self.client[:].apply_async(leave_engine).wait(20)
        self.client.close()
