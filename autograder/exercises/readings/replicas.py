"""Unit 13's kind of exercise: replicas on logical CPUs, in one process that has TensorFlow."""

from __future__ import annotations

from autograder.compare import difference
from autograder.exercise import Case, Finding, Run
from autograder.exercises.kinds import ReportExercise


class StrategyExercise(ReportExercise):
    """One process with TensorFlow, whose report is a dict. A case's arguments are those of the harness, by name."""

    runtime = "tensorflow"
    inputs = "free"
    talks = False
    given: tuple[str, ...] = ()

    def case(self, level: str, known: dict, says: str) -> Case:
        return Case(level, 1, tuple(known[name] for name in self.given), says, known)

    def facts(self, case: Case, run: Run):
        report = run.ranks[0].value
        if not isinstance(report, dict):
            return None
        right = difference(self.expected(case)[0], report, case.rtol, case.atol) is None
        return self.read(self.worked(case), report, right)

    def read(self, t, report: dict, right: bool) -> Finding | str | None:
        """Names what happened. right: whether the values are."""
        return None
