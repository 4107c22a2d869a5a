"""The verdict on one run of one case: it came to its end with right values, or what happened instead."""

from __future__ import annotations

from autograder.exercise import Case, Diagnosis, Exercise, RankRun, Run
from autograder.judging.diagnoses import (
    OF_BUFFERS,
    as_shown,
    diagnosis_of,
    how_to_mend,
    of_exception,
    without_sources,
)
from autograder.judging.limit import TakesTooLong, processor_time
from autograder.judging.measured import measured, says_of
from autograder.judging.odd import wrong_or_odd
from autograder.judging.wrong import never_waited, refuses, with_plain_numbers
from autograder.verdict import CaseResult
from labkit.relay.outcome import Outcome
from labkit.watch import hang

_MOST_MOVED = 400  # characters of what a card says of messages: the names of MPI's calls come from the ranks


def judge_case(exercise: Exercise, case: Case, outcome: Outcome, ends: list[dict]) -> CaseResult:
    """The verdict on one run; "too_much" where finding it takes too long (`autograder.judging.limit`)."""
    try:
        with processor_time():
            return _judge_case(exercise, case, outcome, ends)
    except TakesTooLong:
        return too_much_to_judge(exercise, case)


def too_much_to_judge(exercise: Exercise, case: Case) -> CaseResult:
    """The verdict on a run that cannot be looked at in time."""
    text = diagnosis_of(exercise, "too_much")
    result = CaseResult(case.level, says_of(case), case.world_size, "wrong", "too_much", why=text.why, how=text.how)
    result.differs = ["what the ranks sent, printed or returned is far more than this exercise needs"]
    return result


def _judge_case(exercise: Exercise, case: Case, outcome: Outcome, ends: list[dict]) -> CaseResult:
    result = CaseResult(case.level, says_of(case), case.world_size, "passed", events=tuple(outcome.events))
    printed = as_shown(outcome.printed[:40])
    result.printed = [f"rank {r}: {line}" if case.world_size > 1 else line for r, line in printed]
    result.moved = _moved(outcome) if exercise.runtime != "plain" else ""
    failure = _failure(exercise, case, outcome, ends)
    if failure is not None:
        result.verdict, result.diagnosis, result.differs, text = failure
    else:
        run = run_of(outcome)
        result.refuses = refuses(run)
        wrong = wrong_or_odd(exercise, case, run)
        if wrong is None:
            result.records = measured(exercise, case, with_plain_numbers(run))
            return result
        result.verdict, result.diagnosis, result.differs = "wrong", wrong.name, wrong.lines
        result.fits, result.hidden, result.guess, result.found = wrong.fits, wrong.hidden, wrong.guess, wrong.found
        text = wrong.text or diagnosis_of(exercise, wrong.name)
    result.why, result.how = text.why, text.how
    return result


def _moved(outcome: Outcome) -> str:
    def range_of(numbers: list[int], unit: str) -> str:
        low, high = min(numbers), max(numbers)
        return f"{low:,} {unit}" if low == high else f"{low:,} to {high:,} {unit}"

    ranks = outcome.ranks
    parts = []
    if any(r.sends for r in ranks):
        messages = "message" if all(r.sends == 1 for r in ranks) else "messages"
        parts.append(
            f"each rank sent {range_of([r.sends for r in ranks], messages)}, "
            f"{range_of([r.sent_bytes for r in ranks], 'B')}"
        )
    called = sorted({name for r in ranks for name in r.collectives})
    if called:
        parts.append(
            f"collectives: {', '.join(f'{name} x{max(r.collectives.count(name) for r in ranks)}' for name in called)}"
        )
    moved = "; ".join(parts)
    return moved if len(moved) <= _MOST_MOVED else f"{moved[:_MOST_MOVED]} ..."


def _failure(exercise: Exercise, case: Case, outcome: Outcome, ends: list[dict]):
    """(verdict, diagnosis, what differs, text) of a run that did not come to its end, or None."""
    raised = [r for r, rank in enumerate(outcome.ranks) if rank.state == "raised"]
    if raised:  # a buffer used too early comes first: what else was raised may follow from it
        return _raised(
            exercise, case, outcome, min(raised, key=lambda r: (outcome.ranks[r].error["type"] not in OF_BUFFERS, r))
        )
    for r, rank in enumerate(outcome.ranks):
        if rank.state == "dead":
            return _died(exercise, case, r, rank, ends)
    if outcome.hang is not None:
        kind = outcome.hang.kind
        if kind == "busy":
            kind = "too_slow"
        text = exercise.diagnoses.get(kind) or Diagnosis(outcome.hang.sentence)
        return ("too_slow" if kind == "too_slow" else "hung"), kind, list(outcome.hang.rows), text
    if outcome.too_slow:
        running = [r for r, rank in enumerate(outcome.ranks) if rank.state == "running"]
        return (
            "too_slow",
            "too_slow",
            [f"{hang.list_ranks(running)} did not come to an end"] if running else [],
            diagnosis_of(exercise, "too_slow"),
        )
    return None


def _raised(exercise: Exercise, case: Case, outcome: Outcome, r: int):
    error = outcome.ranks[r].error
    kind, text, rows = error["type"], without_sources(error["text"]), error["rows"]
    same = [q for q, other in enumerate(outcome.ranks) if other.state == "raised" and other.error["type"] == kind]
    who = "" if case.world_size == 1 else f"{hang.list_ranks(same)}: "
    lines = [*rows, f"{who}{kind}: {text}".rstrip(": ")]
    if kind == "NotImplementedError" and not rows[1:] and not exercise.diagnoses.get(kind):
        return "missing", "not_written", [], diagnosis_of(exercise, "not_written")
    if kind == "NameError" and f"'{exercise.function}'" in text and not rows:
        return "missing", "missing", [], diagnosis_of(exercise, "missing")
    if kind in OF_BUFFERS:
        return "wrong", OF_BUFFERS[kind], lines, diagnosis_of(exercise, OF_BUFFERS[kind])
    if kind == "out_of_memory":
        return "out_of_memory", "out_of_memory", rows, diagnosis_of(exercise, "out_of_memory")
    if name := exercise.of_exception(case, kind, text) or (kind if kind in exercise.diagnoses else None):
        return "raised", name, lines, of_exception(exercise, name, kind)
    where = rows[-1].split(", in ")[0] if rows else ""
    why = f"{who.capitalize()}{kind}{f' at {where}' if where else ''}: {text}".rstrip(": ")
    return (
        "raised",
        kind,
        lines,
        Diagnosis(why + ("" if why.endswith(".") else "."), how_to_mend(kind, text, rows[-1] if rows else "")),
    )


def _died(exercise: Exercise, case: Case, r: int, rank, ends: list[dict]):
    end = ends[r] if r < len(ends) else {}
    signal_number = end.get("signal")
    if rank.error.get("type") in ("protocol", "too_much"):
        kind = rank.error["type"]
        return "crashed", kind, [f"rank {r}: {rank.error['text'].partition(': ')[2]}"], diagnosis_of(exercise, kind)
    if signal_number in (7, 11) and rank.unwaited:  # SIGBUS, SIGSEGV
        return (
            "crashed",
            "forgot_wait",
            [f"rank {r} died: signal {signal_number}", never_waited([r])],
            diagnosis_of(exercise, "forgot_wait"),
        )
    if end.get("over") == "memory":
        return (
            "out_of_memory",
            "out_of_memory",
            [f"rank {r} and its processes"],
            diagnosis_of(exercise, "out_of_memory"),
        )
    if signal_number == 24 or end.get("over") == "cpu":  # SIGXCPU
        return "too_slow", "too_slow", [f"rank {r} used up its processor time"], diagnosis_of(exercise, "too_slow")
    if signal_number == 25:
        return "crashed", "rank_died", [f"rank {r} wrote too large a file"], diagnosis_of(exercise, "rank_died")
    how = (
        f"signal {signal_number}"
        if signal_number
        else f"exit status {end.get('exit')}"
        if end
        else "it left without a word"
    )
    text = exercise.diagnoses.get("rank_died") or Diagnosis(
        f"The process of rank {r} died ({how}).",
        "A rank has to return; look for exit or kill."
        if signal_number not in (7, 11)
        else "Native code used memory that was not there (any more): an array that was given to a library and gone "
        "before the library had "
        "done with it, or a request that nobody waited for.",
    )
    return "crashed", "rank_died", [f"rank {r} died: {how}"], text


def run_of(outcome: Outcome) -> Run:
    """The `Run` that an exercise looks at: what each rank did and sent."""
    ranks = tuple(
        RankRun(
            value=rank.value,
            after=rank.after,
            changed=rank.changed,
            printed="\n".join(line for q, line in outcome.printed if q == r),
            sends=rank.sends,
            sent_bytes=rank.sent_bytes,
            recvs=rank.recvs,
            received_bytes=rank.received_bytes,
            collectives=tuple(rank.collectives),
            collective_bytes=rank.collective_bytes,
            finish=rank.clock,
            unwaited=rank.unwaited,
            carried=rank.carried,
            busy=rank.busy,
            memory=rank.memory,
            gone=rank.state == "gone",
        )
        for r, rank in enumerate(outcome.ranks)
    )
    return Run(ranks, tuple(outcome.printed), outcome.elapsed, tuple(outcome.events), outcome.link_bytes)
