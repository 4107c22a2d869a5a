"""The judge: runs a candidate's source on an exercise's cases, elsewhere, and compares here what came back.

The expected values, the misconceptions and the comparison never leave this process; the candidate's code never enters
it. Cases are run by `runners`, each is judged by `case`, the way through them is `trial`, and which names the mistakes
keep in the end is `naming`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from autograder.exercise import PUBLIC_KEY, Case, Exercise, drawn, drawn_further, seed_of
from autograder.judging.case import judge_case
from autograder.judging.diagnoses import diagnosis_of, what_to_compare
from autograder.judging.hiding import REFERENCE
from autograder.judging.measured import says_of
from autograder.judging.naming import keep_names_that_explain_all
from autograder.judging.runners import LAST_S, Runners
from autograder.judging.trial import CandidateTrial
from autograder.verdict import CaseResult, LevelResult, Result
from labkit.cells.slicing import Cell, Chunk, bound_names, slice_cells
from labkit.launch.launcher import Launcher, Limits

__all__ = ["LAST_S", "Runners", "chunks_of_file", "judge", "judge_case", "judge_with", "with_references"]


def judge(
    exercise: Exercise,
    chunks: Sequence[Chunk] | None,
    launcher: Launcher,
    *,
    key: str = PUBLIC_KEY,
    limits: Limits | None = None,
    note: str = "",
    until_named: bool = False,
) -> Result:
    """The verdict on one candidate. chunks: the source that defines `exercise.function`; None: there is none.
    until_named: `judge_with`."""
    with Runners(launcher, limits) as runners:
        return judge_with(runners, exercise, chunks, key=key, note=note, until_named=until_named)


def judge_with(
    runners: Runners,
    exercise: Exercise,
    chunks: Sequence[Chunk] | None,
    *,
    key: str = PUBLIC_KEY,
    note: str = "",
    until_named: bool = False,
    unseen: Sequence[Case] = (),
) -> Result:
    """`judge` for one candidate after another: an MPI job that one has left in order serves the next, unless the
    launcher is isolated (see `Runners.student`). chunks: None with a note, which then says where, is a function whose
    text is no valid Python.

    until_named: only the verdict and the diagnosis are asked for. The judging ends as soon as nothing can change them;
    the result has the levels that were judged until then. unseen: inputs for an answer that is right in all cases (see
    `CandidateTrial.knows_only_its_cases`).
    """
    if chunks is None:
        return _nothing(exercise, "syntax_error" if note else "missing", note)
    with runners.student([exercise]):
        return _judge(runners, exercise, chunks, key, note, until_named, unseen)


def _judge(
    runners: Runners,
    exercise: Exercise,
    chunks: Sequence[Chunk],
    key: str,
    note: str,
    until_named: bool,
    unseen: Sequence[Case],
) -> Result:
    cases = [*drawn(exercise, key), *drawn_further(exercise, key)]
    seed = seed_of(key, exercise.unit, exercise.function)
    trial = CandidateTrial(runners, exercise, chunks, seed, until_named)
    levels = []
    for name, points in exercise.levels.items():
        results = _level(trial, exercise, (case for case in cases if case.level == name))
        if any(result.diagnosis == "not_written" for result in results):
            return _nothing(exercise, "not_written", note)
        passed = bool(results) and all(result.verdict == "passed" for result in results)
        levels.append(LevelResult(name, points, points if passed else 0, "passed", results))
        if trial.knows_enough():
            break
    _take_away(levels, trial.call_again(drawn(exercise, key)))
    _take_away(levels, trial.knows_only_its_cases(unseen))
    _take_away(levels, _refused_throughout(exercise, levels))
    keep_names_that_explain_all(exercise, trial.results)
    for case in trial.results:
        if case.diagnosis == "unrecognised" and "unrecognised" not in exercise.diagnoses:
            case.how = what_to_compare(case.differs)
    for level in levels:
        level.verdict = next((case.verdict for case in level.cases if case.verdict != "passed"), "passed")
    result = Result(exercise.unit, exercise.function, exercise.title, exercise.points, levels, note)
    if result.verdict == "passed":
        result.records = [record for case in result.cases for record in case.records]
    return result


def _level(trial: CandidateTrial, exercise: Exercise, cases: Iterable[Case]) -> list[CaseResult]:
    """The results of a level's cases, as far as they tell something new. The first is run even when the time for the
    candidate is used
    up: it says what is wrong."""
    results: list[CaseResult] = []
    for case in cases:
        if results and time.monotonic() > trial.runners.until:
            text = diagnosis_of(exercise, "too_slow")
            late = CaseResult(
                case.level, says_of(case), case.world_size, "too_slow", "too_slow", why=text.why, how=text.how
            )
            return [*results, late]
        results.append(trial.run_until_sure(case))
        if results[-1].diagnosis == "not_written" or trial.knows_enough_of_the_level() or trial.knows_enough():
            return results
    return results


def _take_away(levels: Sequence[LevelResult], wrong: Iterable[CaseResult]) -> None:
    """The points of the levels of these cases are lost after all."""
    for result in wrong:
        level = next(level for level in levels if level.name == result.level)
        level.cases.append(result)
        level.score = 0


def _refused_throughout(exercise: Exercise, levels: Sequence[LevelResult]) -> list[CaseResult]:
    """A wrong result for each level that was passed by an answer which raises ValueError in every case there is."""
    cases = [case for level in levels for case in level.cases]
    if all(case.verdict == "passed" for case in cases) or not all(case.refuses for case in cases):
        return []
    text = diagnosis_of(exercise, "refuses_everything")
    return [
        CaseResult(level.name, "", 0, "wrong", "refuses_everything", why=text.why, how=text.how)
        for level in levels
        if all(case.verdict == "passed" for case in level.cases)
    ]


def _nothing(exercise: Exercise, diagnosis: str, note: str) -> Result:
    """The result of a function that is not there. diagnosis: why."""
    text = diagnosis_of(exercise, diagnosis)
    levels = []
    for k, (name, points) in enumerate(exercise.levels.items()):
        cases = [CaseResult(name, "", 0, "missing", diagnosis, why=text.why, how=text.how)] if k == 0 else []
        levels.append(LevelResult(name, points, 0, "missing", cases))
    return Result(exercise.unit, exercise.function, exercise.title, exercise.points, levels, note)


# -- candidates from files -------------------------------------------------------------------------


def chunks_of_file(source: str, function: str, label: str) -> list[Chunk] | None:
    """The slice of a candidate file that defines `function`, or None where it does not. Raises SyntaxError."""
    compile(source, label, "exec")
    if function not in bound_names(source):
        return None
    return slice_cells([Cell(source, label)], [function])


def with_references(chunks: list[Chunk], uses: Sequence[Exercise], defined: set[str]) -> list[Chunk]:
    """The references of earlier exercises put before `chunks`, for those not in `defined`."""
    stand_ins = [
        Chunk(f"{REFERENCE}{e.function}", 1, e.reference) for e in uses if e.function not in defined and e.reference
    ]
    return [*stand_ins, *chunks]
