"""A right answer with each rank in a process of its own. Where one process calls a function for all ranks
(`Exercise.rank_at`), what one call leaves behind reaches the next, though real ranks share no variables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autograder.compare import difference
from autograder.exercise import Case, Exercise
from autograder.judging.again import SLOW, ended_itself, in_one_process, results_of, was_slow
from autograder.judging.case import run_of, too_much_to_judge
from autograder.judging.diagnoses import diagnosis_of
from autograder.judging.limit import TakesTooLong, processor_time
from autograder.judging.measured import says_of
from autograder.judging.odd import wrong_or_odd
from autograder.judging.runners import Ranks, Runners
from autograder.verdict import CaseResult
from labkit.cells.slicing import Chunk
from labkit.relay.outcome import Outcome

LEANS = "leans_on_another_rank"
MOST_RANKS = 8  # cases of more are left out: each is a process


def each_rank(
    runners: Runners, exercise: Exercise, chunks: Sequence[Chunk], seed: int, ran: Sequence[tuple[Case, Outcome]]
) -> list[CaseResult]:
    """The results of the cases, two of each level, that are wrong with a process for each rank.

    ran: all cases, each with the outcome that was right. A run that does not come to its end is done again for one case
    at a time, with more time: what does not end there, on a machine that is not slow, is wrong."""
    chosen = _two_of_each_level(ran)
    if not chosen:
        return []
    outcome, ends = _run(runners, exercise, chunks, seed, chosen)
    if results_of(outcome.ranks[0], len(chosen)) is not None:
        return _judged(exercise, chosen, outcome) or _drawn(runners, exercise, chunks, seed, chosen, outcome)
    if ended_itself(outcome, ends):
        return [_lost(exercise, case, "the process that calls the ranks' processes has ended") for case, _ in chosen]
    found = []
    for one in chosen:
        found += _alone(runners, exercise, chunks, seed, one)
    return found


def _two_of_each_level(ran: Sequence[tuple[Case, Outcome]]) -> list[tuple[Case, Outcome]]:
    """Two cases of each level: that of the fewest ranks, but more than one, and that of the most for which there may be
    processes."""
    chosen: list[tuple[Case, Outcome]] = []
    for level in dict.fromkeys(case.level for case, _ in ran):
        some = [one for one in ran if one[0].level == level and 2 <= _ranks(one[0]) <= MOST_RANKS]
        some.sort(key=lambda one: _ranks(one[0]))
        chosen += some if len(some) < 3 else [some[0], some[-1]]
    return chosen


def _ranks(case: Case) -> int:
    """The number of ranks that a case tells of; 2 where it has several."""
    told = case.known.get("world_size", case.known.get("p", 2))
    return told if isinstance(told, int) else 2


def _run(
    runners: Runners, exercise: Exercise, chunks: Sequence[Chunk], seed: int, chosen: Sequence[tuple[Case, Outcome]]
) -> tuple[Outcome, list[dict]]:
    """The outcome of one run of the harness for these cases, and how its process ended."""
    asked = in_one_process(exercise, "in_order")
    together = replace(chosen[0][0], arguments=([list(case.arguments_of(0)) for case, _ in chosen],))
    return runners.run(asked, together, list(chunks), seed, Ranks.FRESH, rank_at=exercise.rank_at)


def _alone(
    runners: Runners, exercise: Exercise, chunks: Sequence[Chunk], seed: int, one: tuple[Case, Outcome]
) -> list[CaseResult]:
    """The results of a case that is run by itself with twice the time; none where there is no time left for it, and for
    a machine that is slow, which proves nothing."""
    if runners.until - time.monotonic() < runners.limits.deadline:
        return []
    slowed, runners.slowed = runners.slowed, max(2.0, 2 * runners.slowed)
    try:
        outcome, ends = _run(runners, exercise, chunks, seed, [one])
    finally:
        runners.slowed = slowed
    if results_of(outcome.ranks[0], 1) is not None:
        return _judged(exercise, [one], outcome)
    if outcome.slowed > SLOW:
        return []
    waits = "did not return: it waits, or its loop never ends"
    return [_lost(exercise, one[0], waits if was_slow(outcome, ends) else "came to no result that can be read")]


def _judged(exercise: Exercise, chosen: Sequence[tuple[Case, Outcome]], outcome: Outcome) -> list[CaseResult]:
    """The results of the cases that are wrong in this outcome."""
    found: list[CaseResult] = []
    calls = results_of(outcome.ranks[0], len(chosen)) or []
    try:
        with processor_time():
            for (case, alone), (how, value, after) in zip(chosen, calls, strict=True):
                if how == "raised" and value != "NotGiven":
                    found.append(_lost(exercise, case, f"raised {value}"))
                elif how == "returned":
                    run = run_of(alone)
                    ranks = (replace(run.ranks[0], value=value, after=tuple(after)),)
                    wrong = wrong_or_odd(exercise, case, replace(run, ranks=ranks))
                    found += [] if wrong is None else [_lost(exercise, case, *wrong.lines)]
    except TakesTooLong:
        return [too_much_to_judge(exercise, case) for case, _ in chosen]
    return found


def _drawn(
    runners: Runners,
    exercise: Exercise,
    chunks: Sequence[Chunk],
    seed: int,
    chosen: Sequence[tuple[Case, Outcome]],
    first: Outcome,
) -> list[CaseResult]:
    """The results of the cases, one of each level, in which the processes of a second run return something else for the
    same arguments: what is drawn anew in every job is the same on all ranks only where one has told the others."""
    results = zip(chosen, results_of(first.ranks[0], len(chosen)) or [], strict=False)
    some = list({one[0].level: (one, result) for one, result in results}.values())
    again, _ = _run(runners, exercise, chunks, seed + 1, [one for one, _ in some])
    both = [(*before, now) for before, now in zip(some, results_of(again.ranks[0], len(some)) or [], strict=False)]
    try:
        with processor_time():
            differ = [case for (case, _), one, two in both if one[0] == two[0] and not _alike(one[1], two[1])]
    except TakesTooLong:
        return []
    return [_lost(exercise, case, "returned something else when it was run once more") for case in differ]


def _alike(one: Any, two: Any) -> bool:
    """False where two results are certain to differ."""
    found = difference(one, two, strict=False)
    return found is None or difference(one, one, strict=False) is not None  # a NaN, or no plain data


def _lost(exercise: Exercise, case: Case, *differs: str) -> CaseResult:
    """The result of a case that is wrong with a process for each rank. differs: what is said of it."""
    text = diagnosis_of(exercise, LEANS)
    says = ", ".join(part for part in (says_of(case), "each rank in a process of its own") if part)
    result = CaseResult(case.level, says, case.world_size, "wrong", LEANS)
    result.why, result.how, result.differs = text.why, text.how, list(differs)
    return result
