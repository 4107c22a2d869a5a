"""A right answer called again: all its cases in one process, the last one first, and before each the same case with
other values. A function that keeps something from call to call (a default argument that is a list, a global, a cache
that does not know all arguments) is right only in a process of its own. Then each case is called once more, with its
values in objects of an earlier call. That shows a cache by identity (`id(model)`), and one that returns an object a
second time."""

from __future__ import annotations

import copy
import itertools
import signal
import time
from collections.abc import Sequence
from dataclasses import replace

from autograder.exercise import Case, Exercise, drawn
from autograder.judging.case import run_of, too_much_to_judge
from autograder.judging.diagnoses import diagnosis_of
from autograder.judging.limit import TakesTooLong, processor_time
from autograder.judging.measured import says_of
from autograder.judging.odd import wrong_or_odd
from autograder.judging.runners import Ranks, Runners
from autograder.verdict import CaseResult
from labkit.cells.slicing import Chunk
from labkit.launch.called_again import CHANGED, RAISED, SHARED
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch.hang import KINDS

Pair = tuple[Case, tuple[Case, Outcome]]  # a case with other values, and the one that was right
SLOW = 1.3  # times its usual pace from which on a machine's time proves nothing
KEPT = "keeps_something"
REHEARSAL = "rehearsal"  # the key of the other values
# Runs beside the student's code. Put before it: INNER, the exercise's own harness, "" for none; and ORDER, the function
# of `labkit.launch.called_again` that makes the calls.
HARNESS = """
from labkit.launch import called_again

space = {"__name__": "harness"}
exec(compile(INNER, "harness", "exec"), space)
harness = getattr(called_again, ORDER)(space.get("harness"))
"""
CALLS = 3  # of each case: with other values, with its own, and with its own in objects of an earlier call


def again(
    runners: Runners, exercise: Exercise, chunks: Sequence[Chunk], seed: int, ran: Sequence[tuple[Case, Outcome]]
) -> list[CaseResult]:
    """The results of the cases that are wrong when the same processes run them all; none where nothing is kept. ran:
    all cases, each with the outcome that was right. What was counted there counts on: here only what comes back is
    compared.

    A run that is too slow is made once more, with more processor time. One without an end costs points in three cases:
    the function has ended its own process, or sent a result in the harness' place (all cases are lost); its ranks wait
    for each other, for example because some remember what the others ask for; the calls of one case, made alone, are
    wrong (`_stuck`).
    Of cases with several ranks those of one size are called again, the size that most of them have.
    """
    pairs = _of_one_size(list(zip(_with_other_values(exercise), ran, strict=True)))[::-1]
    if not pairs:
        return []
    asked, together = in_one_process(exercise, "repeated"), _together(pairs)

    def wrong(ranks: Ranks) -> list[CaseResult]:
        outcome, ends = runners.run(asked, together, list(chunks), seed, ranks)
        if was_slow(outcome, ends):
            outcome, ends = _in_fresh_processes(runners, asked, together, list(chunks), seed) or (outcome, ends)
        if ended_itself(outcome, ends):
            return [_lost(exercise, case, "the process ended in a later call") for _, (case, _) in pairs]
        came = [results_of(rank, CALLS * len(pairs)) for rank in outcome.ranks]
        if any(rank.state == "returned" and one is None for rank, one in zip(outcome.ranks, came, strict=True)):
            return [_lost(exercise, case, "what came back from later calls cannot be read") for _, (case, _) in pairs]
        if None in came:
            return _without_end(runners, asked, exercise, list(chunks), seed, pairs, outcome)
        return _wrong_ones(exercise, pairs, came)

    found = wrong(Ranks.SHARED)
    return wrong(Ranks.FRESH) if found and runners.served_before else found


def in_one_process(exercise: Exercise, order: str) -> Exercise:
    """The exercise with a harness that takes the arguments of many calls. order: "in_order" or "repeated", as in
    `labkit.launch.called_again`."""
    asked = copy.copy(exercise)
    asked.harness = f"INNER, ORDER = {exercise.harness!r}, {order!r}\n{HARNESS}"
    return asked


def _pair_of(call: int, pairs: int) -> int:
    """The number of the pair to which a call belongs: first come two of each, then the third of each."""
    return call // 2 if call < 2 * pairs else (call - 2 * pairs) % pairs


def _with_other_values(exercise: Exercise) -> list[Case]:
    """The exercise's cases under another key, in the order in which cases are judged: level by level."""
    levels = list(exercise.levels)
    return sorted(drawn(exercise, REHEARSAL), key=lambda case: levels.index(case.level))


def _of_one_size(pairs: list[Pair]) -> list[Pair]:
    """Those whose cases have the number of ranks that most have."""
    sizes = [case.world_size for _, (case, _) in pairs if not case.kills]
    most = max(sizes, key=sizes.count, default=0)
    return [(other, one) for other, one in pairs if one[0].world_size == other.world_size == most and not one[0].kills]


def _together(pairs: Sequence[Pair], calls: int | None = None) -> Case:
    """The case in which the ranks run all of these, or the first so many."""
    first = pairs[0][1][0]
    arguments = [(_calls(pairs, rank)[:calls],) for rank in range(first.world_size)]
    return replace(first, arguments=arguments, late=(), answers=_answers(pairs))


def _without_end(
    runners: Runners,
    asked: Exercise,
    exercise: Exercise,
    chunks: list[Chunk],
    seed: int,
    pairs: list[Pair],
    outcome: Outcome,
) -> list[CaseResult]:
    """The result of the case in which a run came to no end, or of the first one after it that is `_stuck`; none where
    that tells nothing."""
    first = _pair_of(max(0, _begun(outcome) - 1), len(pairs))
    if _is_deadlock(exercise, outcome):
        _, (case, _) = pairs[first]
        return [_lost(exercise, case, f"the ranks wait for each other: {outcome.hang.sentence}")]
    found = (_stuck(runners, asked, exercise, chunks, seed, pair) for pair in pairs[first:] + pairs[:first])
    return next((results for results in found if results), [])


def _stuck(
    runners: Runners, asked: Exercise, exercise: Exercise, chunks: list[Chunk], seed: int, pair: Pair
) -> list[CaseResult]:
    """The result of a case whose calls are wrong when they are made alone, in fresh processes; [] if they are right.

    Wrong is also a later call that never ends where the first one does. On a slow machine that proves nothing: several
    calls may take longer than one.
    """
    both = _in_fresh_processes(runners, asked, _together([pair]), chunks, seed)
    if both is None:
        return []
    if _ended(both[0], CALLS):
        return _wrong_ones(exercise, [pair], [results_of(rank, CALLS) for rank in both[0].ranks])
    first = None if both[0].slowed > SLOW else _in_fresh_processes(runners, asked, _together([pair], 1), chunks, seed)
    if first is None or first[0].slowed > SLOW or not _ended(first[0], 1):
        return []
    waits = "did not return when it was called again, with other values before: it waits, or its loop never ends"
    unread = "came to no result that can be read when it was called again, with other values before"
    return [_lost(exercise, pair[1][0], waits if was_slow(*both) else unread)]


def _in_fresh_processes(
    runners: Runners, asked: Exercise, case: Case, chunks: list[Chunk], seed: int
) -> tuple[Outcome, list[dict]] | None:
    """The case's outcome with time for several calls, and how processes ended; None where there is no time left."""
    if runners.until - time.monotonic() < runners.limits.deadline:
        return None
    slowed = runners.slowed
    runners.slowed = max(2.0, 2 * slowed)
    try:
        return runners.run(asked, case, chunks, seed, Ranks.FRESH)
    finally:
        runners.slowed = slowed


def _ended(outcome: Outcome, calls: int) -> bool:
    return all(results_of(rank, calls) is not None for rank in outcome.ranks)


def was_slow(outcome: Outcome, ends: Sequence[dict]) -> bool:
    """True if a rank went on computing until its time was over."""
    over = any(end.get("signal") == signal.SIGXCPU or end.get("over") == "cpu" for end in ends)
    return over or outcome.too_slow or (outcome.hang is not None and outcome.hang.kind == "busy")


def _is_deadlock(exercise: Exercise, outcome: Outcome) -> bool:
    """True if it is known that the ranks wait for each other: no deadline and no slow machine is behind it. The relay
    knows; of ranks in an MPI job only their silence is known, and a slow machine is silent, too."""
    reported = outcome.hang is not None and outcome.hang.kind in KINDS.keys() - {"rank_died"}
    return reported and not outcome.too_slow and (exercise.runtime != "mpi4py" or outcome.slowed <= SLOW)


def _begun(outcome: Outcome) -> int:
    """The number of calls that every rank has begun, as `HARNESS` tells."""
    said = [{line for q, line in outcome.printed if q == r} for r in range(len(outcome.ranks))]
    return min(next(k for k in itertools.count() if f"call {k}" not in lines) for lines in said)


def _calls(pairs: Sequence[Pair], rank: int) -> list[list]:
    """The arguments of all calls on a rank."""
    return [list(case.arguments_of(rank)) for other, (own, _) in pairs for case in (other, own, own)]


def _answers(pairs: Sequence[Pair]) -> dict:
    """Everything that the ranks may ask for in any of these cases."""
    return {name: tell for other, (own, _) in pairs for case in (other, own) for name, tell in case.answers.items()}


def results_of(rank: RankOutcome, calls: int) -> list[list] | None:
    """The results of so many calls, as `HARNESS` sends them; None if it did not end or anything else was sent."""
    sent = rank.value if rank.state == "returned" and isinstance(rank.value, list) else []
    whole = all(isinstance(call, list) and len(call) == 3 and isinstance(call[2], list) for call in sent)
    return sent if whole and len(sent) == calls else None


def ended_itself(outcome: Outcome, ends: Sequence[dict]) -> bool:
    """True if a rank has ended its own process: with a status, or by a signal that no limit sends."""
    for rank, end in zip(outcome.ranks, ends, strict=False):
        by_itself = end.get("signal") not in (None, signal.SIGXCPU) and not end.get("over")
        if rank.state == "dead" and (end.get("exit") is not None or by_itself):
            return True
    return False


def _wrong_ones(exercise: Exercise, pairs: Sequence[Pair], came: Sequence[list[list]]) -> list[CaseResult]:
    """The results of the pairs that are wrong, the last pair first. came: what each rank sent, see `results_of`."""
    calls = list(zip(*came, strict=True))  # each on all ranks
    by_case = zip(pairs, calls[0::CALLS], calls[1::CALLS], calls[2::CALLS], strict=True)
    try:
        with processor_time():
            judged = [_judged(exercise, *alone, *three) for (_, alone), *three in by_case]
    except TakesTooLong:
        return [too_much_to_judge(exercise, case) for _, (case, _) in pairs]
    return [result for result in judged[::-1] if result is not None]


def _lost(exercise: Exercise, case: Case, *differs: str, when: str = "called after other cases") -> CaseResult:
    """The result of a case that is wrong when it is called after others. differs: what is said of it."""
    text = diagnosis_of(exercise, KEPT)
    result = CaseResult(case.level, f"{says_of(case)}, {when}", case.world_size, "wrong", KEPT)
    result.why, result.how, result.differs = text.why, text.how, list(differs)
    return result


def _judged(exercise: Exercise, case: Case, alone: Outcome, *calls: Sequence[list]) -> CaseResult | None:
    """The result of the `CALLS` calls of a case, None if they are right. Of each, on each rank: how it ended, what came
    back or the exception's type, and the arguments afterwards. The first had other values."""
    for seen, said in (
        (CHANGED, "was changed by a later call: it must be a new object in every call"),
        (SHARED, "had come back from an earlier call, too: it must be a new object in every call"),
    ):
        ranks = [r for r in range(case.world_size) if any(call[r][0] == seen for call in calls)]
        if ranks:
            who = "" if case.world_size == 1 else f" on rank {ranks[0]}"
            return _lost(exercise, case, f"what came back{who} {said}")
    _, own, once_more = calls
    return _wrong(exercise, case, alone, own) or _wrong(
        exercise, case, alone, once_more, when="called once more, with the objects of an earlier call"
    )


def _wrong(exercise: Exercise, case: Case, alone: Outcome, call: Sequence[list], **when: str) -> CaseResult | None:
    """The result of one call, None if it is right."""
    raised = [(r, str(value)) for r, (how, value, _) in enumerate(call) if how == RAISED]
    if raised:
        who = "" if case.world_size == 1 else f"rank {raised[0][0]} "
        return _lost(exercise, case, f"{who}raised {raised[0][1]}", **when)
    run = run_of(alone)
    ranks = [
        replace(rank, value=value, after=tuple(after)) for rank, (_, value, after) in zip(run.ranks, call, strict=True)
    ]
    wrong = wrong_or_odd(exercise, case, replace(run, ranks=tuple(ranks)))
    return None if wrong is None else _lost(exercise, case, *wrong.lines, **when)
