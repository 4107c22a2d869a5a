"""One candidate's way through the cases of an exercise: which processes they run in, and when enough is known."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.exercise import Case, Exercise
from autograder.judging.again import SLOW, again
from autograder.judging.case import judge_case
from autograder.judging.diagnoses import diagnosis_of
from autograder.judging.each_rank import each_rank
from autograder.judging.naming import is_certain
from autograder.judging.runners import Ranks, Runners
from autograder.verdict import CaseResult
from labkit.cells.slicing import Chunk
from labkit.relay import wire
from labkit.relay.outcome import Outcome

CALLED_AGAIN = ("plain", "torch", "mpi4py")  # runtimes whose ranks serve more than one case
FEW = 4  # of so many inputs that no check has, an answer may be wrong for one


class CandidateTrial:
    """One candidate's way through the cases.

    passed: the cases that were right, each with its outcome. ranks: in which processes the next case runs. hurry: an
    endless loop is waited for once, not in every level, and so is a standstill that only the clock shows. until_named:
    see `autograder.judging.judge.judge_with`.
    """

    def __init__(
        self, runners: Runners, exercise: Exercise, chunks: Sequence[Chunk], seed: int, until_named: bool = False
    ):
        self.runners, self.exercise, self.chunks, self.seed = runners, exercise, list(chunks), seed
        self.until_named = until_named
        self.results: list[CaseResult] = []
        self.passed: list[tuple[Case, Outcome]] = []
        self.ranks, self.hurry = Ranks.SHARED, False
        self.confirmed = False  # a case failed in fresh ranks, too: it does not hang on what others left behind

    def run_until_sure(self, case: Case) -> CaseResult:
        """The result of the next case.

        A case that fails in ranks that have served before is run once more in fresh ones, and from the first failure on
        every case gets fresh ranks: nothing that an earlier case left behind may help or harm. Where only a name is
        asked for, ranks go on serving; once a case has failed in fresh ranks, too, or where the name found so far
        explains a result, nothing is run again.

        A case that may have used what a receive had not brought yet is run once more as well: such memory holds
        something else then.
        """
        result, outcome = self._run(case, self.ranks, 1)
        if result.verdict != "passed":
            doubtful = not self._is_explained(result) and not (self.until_named and self.confirmed)
            served_before = self.runners.served_before and doubtful
            self.ranks = Ranks.SHARED if self.until_named else Ranks.FRESH
            # Files may differ by chance.
            suspicious = not self.exercise.shares_files and _may_have_looked_too_early(result, outcome)
            if served_before or suspicious:
                result, again = self._run(case, Ranks.FRESH, 2)
                self.confirmed = self.confirmed or result.verdict != "passed"
                if suspicious and _may_have_looked_too_early(result, again) and _encoded(outcome) != _encoded(again):
                    text = diagnosis_of(self.exercise, "used_before_wait")
                    result.verdict, result.diagnosis, result.why, result.how = (
                        "wrong",
                        "used_before_wait",
                        text.why,
                        text.how,
                    )
                    result.guess, result.found, result.hidden = False, False, None
        self.results.append(result)
        if result.verdict == "passed":
            self.passed.append((case, outcome))
        stands_still = result.verdict == "hung" and self.exercise.needs_frameworks
        self.hurry = self.hurry or result.verdict == "too_slow" or stands_still
        return result

    def call_again(self, cases: Sequence[Case]) -> list[CaseResult]:
        """The results of those of these cases in which an answer that was right in every one is wrong when it is called
        for one after the other (`autograder.judging.again`), or with a process for each rank (`each_rank`)."""
        possible = self.exercise.runtime in CALLED_AGAIN and not self.exercise.shares_files and not self.exercise.apart
        if not possible or len(self.passed) < len(self.results):
            return []
        own = {id(case) for case in cases}
        passed = [(case, outcome) for case, outcome in self.passed if id(case) in own]
        asked = (self.runners, self.exercise, self.chunks, self.seed, passed)
        found = again(*asked)
        if not found and self.exercise.rank_at is not None:
            found = each_rank(*asked)
        self.results += found
        return found

    def knows_only_its_cases(self, unseen: Sequence[Case]) -> list[CaseResult]:
        """A result for every level where an answer that was right in all cases is wrong for more than a quarter of
        these inputs; else none. An answer that holds a table of the cases is right for no other input. One that fails a
        single rare input keeps what it has: its grade must not hang on what was drawn."""
        failed: list[CaseResult] = []
        if len(self.passed) < len(self.results):
            return failed
        for case in unseen:
            result, _ = self._run(case, Ranks.SHARED, 1)
            if result.verdict != "passed":
                result, _ = self._run(case, Ranks.FRESH, 2)
            if result.verdict != "passed":
                failed.append(result)
                self.hurry = self.hurry or result.verdict == "too_slow"
            if FEW * len(failed) > len(unseen):
                return [self._of_a_table(level, failed[0]) for level in self.exercise.levels]
        return []

    def _of_a_table(self, level: str, failed: CaseResult) -> CaseResult:
        text = diagnosis_of(self.exercise, "knows_its_cases")
        result = CaseResult(level, failed.says, failed.world_size, "wrong", "knows_its_cases", why=text.why)
        result.how, result.differs, result.printed = text.how, failed.differs, failed.printed
        self.results.append(result)
        return result

    def _run(self, case: Case, ranks: Ranks, attempt: int) -> tuple[CaseResult, Outcome]:
        """The result of one run. Where it was too slow on a machine that was slow meanwhile, that of a second one with
        as much more processor time."""
        poison = 2 * len(self.results) + attempt
        asked = (self.exercise, case, self.chunks, self.seed)
        outcome, ends = self.runners.run(*asked, ranks, self.hurry, poison)
        result = judge_case(self.exercise, case, outcome, ends)
        if result.verdict == "too_slow" and outcome.slowed > max(SLOW, self.runners.slowed):
            self.runners.slowed = outcome.slowed
            outcome, ends = self.runners.run(*asked, Ranks.FRESH, self.hurry, poison)
            result = judge_case(self.exercise, case, outcome, ends)
        return result, outcome

    def _is_explained(self, result: CaseResult) -> bool:
        """True if only a name is asked for, and the name of the first failing case fits this one, too."""
        first = next((r for r in self.results if r.verdict != "passed"), None)
        return self.until_named and first is not None and first.guess and first.diagnosis in result.fits

    def knows_enough_of_the_level(self) -> bool:
        """True if the rest of the level would tell nothing new: its points are lost, and the reason is known. A mistake
        that was recognised by its values must explain the other cases, too."""
        last = self.results[-1]
        return last.verdict != "passed" and last.diagnosis not in ("unrecognised", "not_carried") and not last.guess

    def knows_enough(self) -> bool:
        """True if only a name is asked for, and no later case can change it."""
        return self.until_named and is_certain(self.results)


def _may_have_looked_too_early(result: CaseResult, outcome: Outcome) -> bool:
    """True if a failed case may have read memory that a receive had not filled yet. Then it fails in another way when
    that memory holds something else."""
    return (
        any(rank.deferred for rank in outcome.ranks)
        and result.verdict in ("wrong", "raised", "out_of_memory")
        and result.diagnosis not in ("reused_buffer", "used_before_wait", "forgot_wait", "not_written")
        and not result.guess
        and not (result.verdict == "wrong" and result.hidden is None)
    )


def _encoded(outcome: Outcome) -> list:
    """The ranks' results and exceptions in a form that can be compared."""
    return [(rank.state, rank.error.get("text"), *wire.encode(rank.value)) for rank in outcome.ranks]
