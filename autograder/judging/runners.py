"""Runs the cases of a candidate: one runner for each runtime, and `Runners` for all of them with one launcher."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from autograder.exercise import Case, Exercise, drawn
from labkit.cells.slicing import Chunk
from labkit.environment import without_frameworks
from labkit.launch import horovod_job, horovod_rendezvous
from labkit.launch.launcher import Launcher, LauncherError, Limits, make_jobs
from labkit.launch.mpi_job import MpiRunner
from labkit.launch.rank_set import RankSet
from labkit.relay.outcome import Outcome

HURRIED = 2  # windows without work that are a standstill of Horovod's ranks, once there was one
ALONE = 10**6  # the same of one rank: its deadline ends it
LAST_S = 0.5  # seconds that a case gets when there is no time left for it
MOST_SERVED = 40  # cases that ranks serve for answers of the bank, one after the other

STRETCHED = 1.5  # times the pace that a machine had while a case was too slow: so much it gets when it runs again


class Ranks(Enum):
    """The processes that run a case: some that may have served the same student before, or new ones."""

    SHARED = "shared"
    FRESH = "fresh"


@dataclass(frozen=True)
class CaseRequest:
    """One case to be run. jobs: see `labkit.launch.launcher.make_jobs`. hurry: an earlier case of this candidate was
    too slow."""

    exercise: Exercise
    case: Case
    jobs: list
    limits: Limits
    ranks: Ranks
    hurry: bool
    seed: int


class Runner:
    """Runs cases of some runtimes. cpu_seconds: at most so much processor time for each rank; hurried: the same in a
    hurry."""

    cpu_seconds = hurried = 0  # 0: as the limits say

    def __init__(self, runners: Runners):
        self.runners = runners

    def limited(self, limits: Limits, hurry: bool) -> Limits:
        """The limits of a rank of this runtime, within `limits`. hurry: it gets little time."""
        most = [limits.cpu_seconds, self.cpu_seconds, self.hurried if hurry else 0]
        limits = replace(limits, cpu_seconds=min((seconds for seconds in most if seconds), default=0))
        if hurry:
            limits = replace(limits, deadline=min(limits.deadline, 10.0), patience=min(limits.patience, 1.0))
        return limits

    def run(self, asked: CaseRequest) -> tuple[Outcome, list[dict]]:
        """Run a case: its outcome, and how each rank's process ended, where it did. Raises LauncherError."""
        raise NotImplementedError

    def close(self) -> None:
        """End all processes."""


class OnRelay(Runner):
    """Ranks forked by the launcher that talk over the relay, or not at all: one set of them serves a student's cases in
    turn."""

    cpu_seconds, hurried = 4, 1  # milliseconds are enough

    def __init__(self, runners: Runners):
        super().__init__(runners)
        self.set: RankSet | None = None
        self.served_others = 0  # cases of earlier candidates that the set has served

    def next_candidate(self) -> None:
        """Counts the ranks as new for the next candidate; ends them if they have served more than `MOST_SERVED`."""
        self.served_others = self.set.served if self.set is not None else 0
        if self.served_others > MOST_SERVED:
            self.close()

    def run(self, asked: CaseRequest) -> tuple[Outcome, list[dict]]:
        case, limits, how = asked.case, asked.limits, (asked.exercise.shares_files, asked.exercise.withheld)
        network = {"topology": case.network, "late": case.late, "kills": case.kills, "answers": case.answers}
        most = self.runners.most if asked.ranks is Ranks.SHARED else 0
        if not most and self.set is not None and self.runners.trusts:
            with contextlib.closing(RankSet(self.runners.launcher, case.world_size, limits, *how)) as alone:
                return alone.run(asked.jobs, seed=asked.seed, **network)
        usable = self.set is not None and self.set.serves(case.world_size, limits, *how)
        if not most or not usable:
            self.close()
            self.set = RankSet(self.runners.launcher, max(most, case.world_size), limits, *how)
            self.served_others = 0
        self.runners.served_before = self.set.served > self.served_others
        return self.set.run(asked.jobs, seed=asked.seed, **network)

    def close(self) -> None:
        if self.set is not None:
            self.set.close()
            self.set = None


class OnMpi(Runner):
    """One MPI job that lasts from case to case."""

    def __init__(self, runners: Runners):
        super().__init__(runners)
        self.job: MpiRunner | None = None

    def run(self, asked: CaseRequest) -> tuple[Outcome, list[dict]]:
        most = max(asked.case.world_size, *(case.world_size for case in drawn(asked.exercise)))
        if self.job is None or self.job.most < most:
            self.close()
            self.job = MpiRunner(most, asked.limits, self.runners.launcher.isolation)
        self.job.limits = asked.limits  # counts for a job that is started anew, as after every case that was too slow
        return self.job.run(asked.jobs)

    def close(self) -> None:
        if self.job is not None:
            self.job.close()
            self.job = None


class OnHorovod(Runner):
    """Ranks forked for one case by a launcher that has imported TensorFlow and Horovod."""

    cpu_seconds, hurried = 8, 1  # it builds graphs
    horovod = True

    def run(self, asked: CaseRequest) -> tuple[Outcome, list[dict]]:
        if sentence := without_frameworks(self.horovod):
            raise LauncherError(sentence)
        windows = min(self.runners.windows, HURRIED) if asked.hurry else self.runners.windows
        if asked.case.world_size == 1:  # it waits for nobody; TensorFlow may rest for seconds
            windows = ALONE
        warm = self.runners.launcher.with_frameworks(horovod_rendezvous.frameworks())
        nodes = asked.case.ranks_per_node
        return horovod_job.run(warm, asked.jobs, ranks_per_node=nodes, limits=asked.limits, windows=windows)


class OnTensorFlow(OnHorovod):
    """The same for exercises that TensorFlow alone is enough for, by a launcher without Horovod where it is not
    compiled."""

    horovod = False


class Runners:
    """All runners of one launcher: `run` takes the one of an exercise's runtime.

    most: ranks of the largest case that a student's exercises on the relay have; 0 while no `student` is being judged.
    trusts: the `student` is trusted: ranks that serve wait while a case runs in new ones, and are not forked again.
    served_before: whether the ranks of the latest case had served another one.
    until: on time.monotonic's clock; no case is waited for any longer.
    slowed: how many times its usual processor time the machine took for a computation when a case was too slow
    (`labkit.watch.pace`): cases get so much more of it.
    """

    def __init__(self, launcher: Launcher, limits: Limits | None = None, windows: int = horovod_rendezvous.WINDOWS):
        """windows: after so many seconds in which no rank of a Horovod case works it counts as a standstill."""
        self.launcher, self.limits, self.windows = launcher, limits or Limits(cpu_seconds=8), windows
        self.most, self.served_before, self.until, self.slowed = 0, False, float("inf"), 1.0
        self.trusts = False
        relay = OnRelay(self)
        self.by_runtime = {"plain": relay, "torch": relay, "mpi4py": OnMpi(self), "horovod": OnHorovod(self)}
        self.by_runtime["tensorflow"] = OnTensorFlow(self)

    @contextlib.contextmanager
    def student(self, exercises: Sequence[Exercise], trusted: bool = False) -> Iterator[None]:
        """Within, every case is one and the same student's answer to one of these exercises: ranks may serve one after
        the other. trusted: it is the author of the bank.

        With an isolated launcher an MPI job ends with the student as well: nothing of one person's code may be left
        where another's runs.
        """
        if self.most:
            yield
            return
        sizes = [case.world_size for e in exercises if e.runtime in ("plain", "torch") for case in drawn(e)]
        self.most, self.trusts = max(sizes, default=1), trusted
        try:
            yield
        finally:
            self.most, self.slowed, self.trusts = 0, 1.0, False
            self.by_runtime["torch"].close()
            if self.launcher.isolation is not None:
                self.close()

    def next_candidate(self) -> None:
        """Within `student`: what comes next is another candidate's, of the same trusted author (the bank)."""
        self.by_runtime["torch"].next_candidate()

    def run(
        self,
        exercise: Exercise,
        case: Case,
        chunks: list[Chunk],
        seed: int,
        ranks: Ranks = Ranks.SHARED,
        hurry: bool = False,
        poison: int = 0,
        rank_at: int | None = None,
    ) -> tuple[Outcome, list[dict]]:
        """Run one case: its outcome, and how each rank's process ended, where it did. Raises LauncherError.

        ranks: in which processes. hurry: an earlier case of this candidate was too slow, so this one gets little time.
        poison, rank_at: see `labkit.launch.launcher.make_jobs`.
        """
        self.served_before = False
        runner = self.by_runtime[exercise.runtime]
        limits = runner.limited(self.limits, hurry)
        if self.slowed > 1:
            limits = replace(limits, cpu_seconds=math.ceil(limits.cpu_seconds * self.slowed * STRETCHED))
        left = self.until - time.monotonic()
        if left < limits.deadline:
            limits = replace(limits, deadline=max(left, LAST_S))
        arguments = [case.arguments_of(r) for r in range(case.world_size)]
        how = {"runtime": exercise.runtime, "harness": exercise.harness, "seed": seed, "poison": seed + poison}
        how |= {"may_change": exercise.may_change, "returns": exercise.returns, "withheld": exercise.withheld}
        how["untouched"] = True
        how |= {"apart": exercise.apart, "rank_at": rank_at}
        jobs = make_jobs(chunks, exercise.function, arguments, **how)
        return runner.run(CaseRequest(exercise, case, jobs, limits, ranks, hurry, seed))

    def close(self) -> None:
        """End all processes of all runners."""
        for runner in self.by_runtime.values():
            runner.close()

    def __enter__(self) -> Runners:
        return self

    def __exit__(self, *exc) -> None:
        self.close()
