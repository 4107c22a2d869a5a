"""Runs cases of plain exercises in this very process, for a reader's own browser: nothing is protected there, and
nothing is graded."""

from __future__ import annotations

import io
from collections.abc import Iterator

from autograder.judging.runners import CaseRequest, Runner, Runners
from labkit.launch import rank_program
from labkit.launch.each_rank import EachRankInside
from labkit.launch.launcher import Launcher
from labkit.relay import wire
from labkit.relay.outcome import Outcome, RankOutcome


class SocketEnds:
    """Both ends of a socket, by which a rank reports to this process."""

    def __init__(self):
        self._data, self._read = io.BytesIO(), 0

    def sendall(self, frame: bytes) -> None:
        self._data.seek(0, io.SEEK_END)
        self._data.write(frame)

    def recv_into(self, view: memoryview, _: int) -> int:
        self._data.seek(self._read)
        got = self._data.readinto(view)
        self._read += got
        return got

    def fileno(self) -> int:
        """No file: a process that held it could not write to it."""
        return -1

    def records(self) -> Iterator[tuple[int, dict, bytes]]:
        """The records that have been sent and not been read yet: (type, JSON, payload)."""
        while self._read < self._data.getbuffer().nbytes:
            yield wire.receive(self)


class InThisProcess(Runner):
    """Runs a job by the program of a rank, with a fresh namespace for each case. outcomes: all so far."""

    def __init__(self, runners: Runners):
        super().__init__(runners)
        self.outcomes: list[Outcome] = []

    def run(self, asked: CaseRequest) -> tuple[Outcome, list[dict]]:
        ((job, payload),) = asked.jobs
        sock, rank, printed = SocketEnds(), RankOutcome("running"), []
        surroundings = rank_program.Surroundings()
        rank_program.run_job(sock, job, payload, apart_by=EachRankInside)
        surroundings.restore_settings()
        for record in sock.records():
            printed += [(0, line) for line in rank.record(*record)]
        self.outcomes.append(Outcome([rank], printed, [], None, False))
        return self.outcomes[-1], [{}]


class RunnersInside(Runners):
    """Runners of plain exercises alone, without a launcher's process."""

    def __init__(self):
        super().__init__(Launcher())  # which is never started
        self.inside = InThisProcess(self)
        self.by_runtime = {"plain": self.inside, "torch": self.inside}
