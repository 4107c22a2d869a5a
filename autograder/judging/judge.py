"""The judge: runs a candidate's source on an exercise's cases, elsewhere, and compares here what came back.

The expected values, the misconceptions and the comparison never leave this process; the candidate's code never enters it.
"""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autograder.compare import Difference, difference, name_of_type, show, show_where_they_differ, unchanged
from autograder.exercise import ANYTHING, PUBLIC_KEY, Case, Diagnosis, Exercise, Finding, RankRun, Run, Tensor, rng_for
from autograder.judging.carried import lacking
from autograder.verdict import CaseResult, LevelResult, Result
from labkit.cells.slicing import Cell, Chunk, bound_names, slice_cells
from labkit.environment import without_frameworks
from labkit.launch import horovod_job, horovod_rendezvous
from labkit.launch.launcher import Launcher, LauncherError, Limits, make_jobs
from labkit.launch.mpi_job import MpiRunner
from labkit.launch.rank_set import RankSet
from labkit.relay import wire
from labkit.relay.outcome import Outcome
from labkit.watch import hang

HURRIED = 2  # windows without work that are a standstill of Horovod's ranks, once there was one
LAST_S = 0.5  # seconds that a case gets when there is no time left for it
_BUILT_IN = {
    "modifies_input": Diagnosis("Your function changes the argument it was given.", "Work on a copy: `x.clone()`, `x.copy()`."),
    "returns_nothing": Diagnosis(
        "Your function returns nothing (None).", "End it with `return ...`, on every rank that should have a result."
    ),
    "wrong_type": Diagnosis(
        "What your function returns is of another type than asked for.", "Read the last line of its docstring."
    ),
    "wrong_shape": Diagnosis("The result has another shape than asked for."),
    "wrong_dtype": Diagnosis("The numbers are right, but their data type has changed.", "Keep the data type of the argument."),
    "lost_digits": Diagnosis(
        "The numbers are right to about 7 digits, and the others are lost: they went through a type that holds no more, such as float32.",
        "Compute in the type of the argument, and make buffers of that type: `empty_like`. Whole numbers never go through floats.",
    ),
    "wrapped": Diagnosis(
        "The last bits are right, the first ones are lost: the integers went through a type of too few bits. int32 ends at 2,147,483,647.",
        "Make buffers of the type of the argument: `empty_like`.",
    ),
    "wrong_length": Diagnosis("The result has another number of entries than asked for."),
    "unrecognised": Diagnosis(
        "The result is not what it should be.", "Compare the two lines above, element by element, for the smallest case."
    ),
    "not_written": Diagnosis("This function is still to be written.", "Replace the line that raises NotImplementedError."),
    "missing": Diagnosis("There is no such function.", "Define it under exactly this name and run its cell."),
    "syntax_error": Diagnosis(
        "The cell that defines this function is no valid Python, so there is no such function.",
        "Run the cell: Python points at the place. Mend it, and run the cell again.",
    ),
    "reused_buffer": Diagnosis(
        "A tensor was changed between isend and its wait(): the receiver may get the old or the new values.",
        "Wait first, or send a copy: `x.clone()`.",
    ),
    "used_before_wait": Diagnosis(
        "The memory of a receive was used before its wait() had returned. Until then nobody knows what it holds: on one machine the old "
        "numbers, on another the new ones. The same holds for a collective with async_op=True.",
        "Wait first, then read it, change it, send it or receive into it again. Two open receives need two tensors.",
    ),
    "forgot_wait": Diagnosis(
        "An operation was started and never waited for. isend, irecv and collectives with async_op=True return at once, before anything "
        "has moved; only wait() tells that it has.",
        "Keep the request that they return and call its wait() before you use the tensor or return.",
    ),
    "out_of_memory": Diagnosis(
        "It ran out of memory.", "A check's cases are small: look for something that grows with every step."
    ),
    "too_slow": Diagnosis(
        "It had not returned when its time was up.", "A check's cases take milliseconds: look for a loop that never ends."
    ),
    "rank_died": Diagnosis("A rank's process died.", ""),
    "too_much": Diagnosis(
        "A rank asked for more than a check allows: thousands of messages at a time, or far more bytes or printed lines than the data has.",
        "Look for a loop that sends or prints in every turn; a whole tensor is one message.",
    ),
    "not_carried": Diagnosis(
        "The numbers are right, but the ranks have not told them each other by the communication that the exercise is about.",
        "Use messages or collectives of the process group (communicator) for everything one rank has to know of another.",
    ),
    "protocol": Diagnosis(
        "A rank sent something the relay does not understand.", "Leave the process group's own connection alone."
    ),
}
# exceptions of `labkit.relay.backend`
_BUFFERS = {"ReusedBuffer": "reused_buffer", "UsedBeforeWait": "used_before_wait", "NeverWaited": "forgot_wait"}
_HOW_OF_EXCEPTIONS = {
    "NameError": "Everything your function uses must be defined or imported in a cell of this notebook.",
    "ModuleNotFoundError": "That module is not installed where checks run.",
    "UnboundLocalError": "A name that a function assigns is local in all of it.",
    "SystemExit": "A rank must not leave: return instead.",
    "IndexError": "p entries have the indices 0 to p - 1, and an empty list has none: print the length and the index in that line.",
    "KeyError": "Print the keys that are there: `print(list(...))`.",
    "ZeroDivisionError": "Some rank or case divides by nothing: which divisor can be 0 there?",
    "AttributeError": "Print the type of what stands before the dot: it is another one than the line expects.",
    "RecursionError": "A function that calls itself needs a case in which it does not.",
}
_HOW_OF_MPI = {  # by the error's name in its text
    "MPI_ERR_OP": "That operation is not made for this data: `Allreduce` takes MPI.SUM and its like, on two arrays of one numeric type.",
    "MPI_ERR_TRUNCATE": "The message is longer than the room for it: the receiving array needs as many elements as were sent, of one type.",
    "MPI_ERR_RANK": "There is no such rank: ranks end at `comm.Get_size() - 1`.",
    "MPI_ERR_ROOT": "There is no such rank: ranks end at `comm.Get_size() - 1`.",
    "MPI_ERR_TYPE": "The array's type has no counterpart in MPI: use float64, int64 or another plain numpy type.",
    "MPI_ERR_COUNT": "The number of elements is not what the call needs.",
    "MPI_ERR_BUFFER": "The call needs an array of its own for what arrives: `np.empty(...)`.",
    "MPI_ERR_TAG": "A tag is a small number, not below 0.",
}


def judge(
    exercise: Exercise,
    chunks: Sequence[Chunk] | None,
    launcher: Launcher,
    *,
    key: str = PUBLIC_KEY,
    limits: Limits | None = None,
    note: str = "",
) -> Result:
    """The verdict on one candidate. chunks: the source that defines `exercise.function`; None: there is none."""
    with Runners(launcher, limits) as runners:
        return judge_with(runners, exercise, chunks, key=key, note=note)


def judge_with(
    runners: Runners, exercise: Exercise, chunks: Sequence[Chunk] | None, *, key: str = PUBLIC_KEY, note: str = ""
) -> Result:
    """`judge` for one candidate after another: an MPI job that one has left in order serves the next, unless the launcher is isolated
    (see `Runners.student`). chunks: None with a note, which then says where, is a function whose text is no valid Python."""
    if chunks is None:
        return _nothing(exercise, "syntax_error" if note else "missing", note)
    with runners.student([exercise]):
        return _judge(runners, exercise, chunks, key, note)


def _judge(runners: Runners, exercise: Exercise, chunks: Sequence[Chunk], key: str, note: str) -> Result:
    cases = exercise.cases(rng_for(exercise, key))
    trial = _Trial(runners, exercise, chunks, zlib.crc32(f"{key}/{exercise.unit}/{exercise.function}".encode()))
    levels = []
    for name, points in exercise.levels.items():
        results: list[CaseResult] = []
        for case in (c for c in cases if c.level == name):
            if results and time.monotonic() > runners.until:  # a level's first case is run all the same: it says what is wrong
                text = _diagnosis(exercise, "too_slow")
                late = CaseResult(case.level, _says(case), case.world_size, "too_slow", "too_slow", why=text.why, how=text.how)
                results.append(late)
                break
            results.append(trial.result_of(case))
            if results[-1].diagnosis == "not_written":
                return _nothing(exercise, "not_written", note)
            if trial.knows_enough():
                break
        passed = bool(results) and all(r.verdict == "passed" for r in results)
        levels.append(LevelResult(name, points, points if passed else 0, "passed", results))
    _keep_names_that_explain_all(exercise, trial.results)
    for level in levels:
        level.verdict = next((case.verdict for case in level.cases if case.verdict != "passed"), "passed")
    return Result(exercise.unit, exercise.function, exercise.title, exercise.points, levels, note)


class _Trial:
    """One candidate's way through the cases."""

    def __init__(self, runners: Runners, exercise: Exercise, chunks: Sequence[Chunk], seed: int):
        self.runners, self.exercise, self.chunks, self.seed = runners, exercise, list(chunks), seed
        self.results: list[CaseResult] = []
        self.hurry = (
            False  # an endless loop is waited for once, not in every level, and so is a standstill that only the clock shows
        )
        self.fresh = False  # nothing that an earlier case left behind helps or harms after the first failure

    def result_of(self, case: Case) -> CaseResult:
        result, outcome = self._run(case, 1)
        if result.verdict != "passed":
            self.fresh = True
            suspicious = not self.exercise.shares_files and _may_have_looked_too_early(
                result, outcome
            )  # files may differ by chance
            if self.runners.served_before or suspicious:
                result, again = self._run(case, 2)
                if suspicious and _may_have_looked_too_early(result, again) and _encoded(outcome) != _encoded(again):
                    text = _diagnosis(self.exercise, "used_before_wait")
                    result.verdict, result.diagnosis, result.why, result.how = "wrong", "used_before_wait", text.why, text.how
                    result.guess, result.found, result.hidden = False, False, None
        self.results.append(result)
        self.hurry = (
            self.hurry or result.verdict == "too_slow" or (result.verdict == "hung" and self.exercise.runtime == "horovod")
        )
        return result

    def _run(self, case: Case, attempt: int) -> tuple[CaseResult, Outcome]:
        poison = 2 * len(self.results) + attempt
        outcome, ends = self.runners.run(self.exercise, case, self.chunks, self.seed, self.hurry, self.fresh, poison)
        return judge_case(self.exercise, case, outcome, ends), outcome

    def knows_enough(self) -> bool:
        """Whether the rest of the level would tell nothing new: its points are lost, and the reason is known. A mistake that was
        recognised by its values must explain the other cases, too."""
        last = self.results[-1]
        return last.verdict != "passed" and last.diagnosis not in ("unrecognised", "not_carried") and not last.guess


def _may_have_looked_too_early(result: CaseResult, outcome: Outcome) -> bool:
    """Whether a failed case may be one that used what a receive had not brought yet. Then it fails otherwise where that memory holds
    something else."""
    return (
        any(rank.deferred for rank in outcome.ranks)
        and result.verdict in ("wrong", "raised", "out_of_memory")
        and result.diagnosis not in ("reused_buffer", "used_before_wait", "forgot_wait", "not_written")
        and not result.guess
        and not (result.verdict == "wrong" and result.hidden is None)
    )


def _encoded(outcome: Outcome) -> list:
    """What the ranks returned or raised, comparable."""
    return [(rank.state, rank.error.get("text"), *wire.encode(rank.value)) for rank in outcome.ranks]


def _keep_names_that_explain_all(exercise: Exercise, results: list[CaseResult]) -> None:
    """A mistake that was recognised by its values is a guess, for one case may look like another mistake by chance. Its name is kept
    only if it explains every case of the run in which wrong values came back; where it does not, another one that fits is taken, or none.

    It explains a case that gives the values it should. Where the exercise says that it does not show, something else must have been found,
    or two other cases confirm it. What a case did (it hung, it raised, it sent too much, a rank's part was read to be missing: a finding)
    is no guess: it is said where it happened. Only where another case shows that it cannot be (the exercise knows what this mistake gives
    there, and something else came back) does it give way, as a guess does: to a name that explains them all, or to none.
    """
    wrong = [result for result in results if result.hidden is not None]
    doubtful = [r for r in wrong if r.guess or (r.found and any(_contradicts(other, r.diagnosis) for other in wrong))]
    everywhere = dict.fromkeys(result.diagnosis for result in wrong if result.guess)
    names = [(r, [*r.fits, *(name for name in everywhere if r.found and name in r.hidden)]) for r in doubtful]
    renamed = [(result, [name for name in fitting if _explains(name, wrong)]) for result, fitting in names]
    for result, kept in renamed:
        name = kept[0] if kept else "unrecognised"
        if name != result.diagnosis:
            text = _diagnosis(exercise, name)
            result.diagnosis, result.why, result.how = name, text.why, text.how
    _find_a_reason_for_silence(exercise, results)


def _find_a_reason_for_silence(exercise: Exercise, results: list[CaseResult]) -> None:
    """Right numbers that nobody communicated are right by chance where other cases come out wrong: then that mistake is the reason."""
    others = [r for r in results if r.verdict == "wrong" and r.diagnosis not in ("not_carried", "unrecognised")]
    for result in results:
        if result.diagnosis == "not_carried" and others:
            text = _diagnosis(exercise, others[0].diagnosis)
            result.diagnosis, result.why, result.how = others[0].diagnosis, text.why, text.how


def _explains(name: str, wrong: list[CaseResult]) -> bool:
    """Whether the mistake `name` explains all these cases in which wrong values came back."""
    confirmed = sum(name in result.fits for result in wrong)
    others = [result for result in wrong if name not in result.fits]
    return all(name in other.hidden and (other.diagnosis != "unrecognised" or confirmed > 1) for other in others)


def _contradicts(other: CaseResult, name: str) -> bool:
    """Whether the mistake `name` would give other values than came back in this case, and facts say nothing of these."""
    return not other.found and name not in other.fits and name not in other.hidden


def _nothing(exercise: Exercise, diagnosis: str, note: str) -> Result:
    text = _diagnosis(exercise, diagnosis)
    levels = []
    for k, (name, points) in enumerate(exercise.levels.items()):
        cases = [CaseResult(name, "", 0, "missing", diagnosis, why=text.why, how=text.how)] if k == 0 else []
        levels.append(LevelResult(name, points, 0, "missing", cases))
    return Result(exercise.unit, exercise.function, exercise.title, exercise.points, levels, note)


class Runners:
    """How a case is run: over the relay, by ranks that serve a student's cases one after the other, or as part of one MPI job that lasts
    from case to case."""

    def __init__(self, launcher: Launcher, limits: Limits | None = None, windows: int = horovod_rendezvous.WINDOWS):
        """windows: after so many seconds in which no rank of a Horovod case works it counts as a standstill."""
        self.launcher, self.limits, self.windows = launcher, limits or Limits(cpu_seconds=8), windows
        self.mpi: MpiRunner | None = None
        self.ranks: RankSet | None = None
        self.sharing, self.most = False, 1
        self.served_before = False  # whether the ranks of the latest case had served another one
        self.until = float("inf")  # on time.monotonic's clock: no case is waited for any longer

    @contextlib.contextmanager
    def student(self, exercises: Sequence[Exercise]) -> Iterator[None]:
        """Within, every case is one and the same student's answer to one of these exercises: ranks may serve one after the other.

        With an isolated launcher an MPI job ends with the student as well: nothing of one person's code may be left where another's runs.
        """
        if self.sharing:
            yield
            return
        sizes = [case.world_size for e in exercises if e.runtime in ("plain", "torch") for case in e.cases(rng_for(e))]
        self.sharing, self.most = True, max(sizes, default=1)
        try:
            yield
        finally:
            self.sharing = False
            self.end_ranks()
            if self.launcher.isolation is not None:
                self.close()

    def end_ranks(self) -> None:
        if self.ranks is not None:
            self.ranks.close()
            self.ranks = None

    def run(
        self,
        exercise: Exercise,
        case: Case,
        chunks: list[Chunk],
        seed: int,
        hurry: bool = False,
        fresh: bool = False,
        poison: int = 0,
    ) -> tuple[Outcome, list[dict]]:
        """Run one case. hurry: an earlier case of this candidate was too slow, so this one gets little time. fresh: in new ranks.

        poison: see `labkit.launch.launcher.make_jobs`.
        """
        self.served_before = False
        limits = self.limits
        if exercise.runtime in (
            "plain",
            "torch",
        ):  # milliseconds are enough; Horovod builds graphs, and MPI's ranks wait by turning
            limits = replace(limits, cpu_seconds=min(limits.cpu_seconds, 4))
        if exercise.runtime == "horovod":
            limits = replace(limits, cpu_seconds=min(limits.cpu_seconds, 6))
        if hurry:
            limits = replace(limits, deadline=min(limits.deadline, 10.0), patience=min(limits.patience, 1.0))
            if exercise.runtime != "mpi4py":
                limits = replace(limits, cpu_seconds=min(limits.cpu_seconds, 1))
        left = self.until - time.monotonic()
        if left < limits.deadline:
            limits = replace(limits, deadline=max(left, LAST_S))
        arguments = [case.arguments_of(r) for r in range(case.world_size)]
        how = {"runtime": exercise.runtime, "harness": exercise.harness, "seed": seed, "poison": seed + poison}
        jobs = make_jobs(chunks, exercise.function, arguments, **how)
        if exercise.runtime == "mpi4py":
            most = max(c.world_size for c in exercise.cases(rng_for(exercise)))
            if self.mpi is None or self.mpi.most < most:
                self.close()
                self.mpi = MpiRunner(most, limits, self.launcher.isolation)
            self.mpi.limits = limits  # counts for a job that is started anew, as after every case that was too slow
            return self.mpi.run(jobs)
        if exercise.runtime == "horovod":
            if sentence := without_frameworks():
                raise LauncherError(sentence)
            warm = self.launcher.having(horovod_rendezvous.FRAMEWORKS)
            return horovod_job.run(
                warm,
                jobs,
                ranks_per_node=case.ranks_per_node,
                limits=limits,
                windows=min(self.windows, HURRIED) if hurry else self.windows,
            )
        usable = self.ranks is not None and self.ranks.serves(case.world_size, limits, exercise.shares_files)
        if fresh or not self.sharing or not usable:
            self.end_ranks()
            most = self.most if self.sharing and not fresh else case.world_size
            self.ranks = RankSet(self.launcher, most, limits, exercise.shares_files)
        self.served_before = self.ranks.served > 0
        return self.ranks.run(jobs, alpha=case.alpha, beta=case.beta, late=case.late, seed=seed)

    def close(self) -> None:
        if self.mpi is not None:
            self.mpi.close()
            self.mpi = None
        self.end_ranks()

    def __enter__(self) -> Runners:
        return self

    def __exit__(self, *exc) -> None:
        self.close()


# -- one case -------------------------------------------------------------------------------------------------------------------------


def judge_case(exercise: Exercise, case: Case, outcome: Outcome, ends: list[dict]) -> CaseResult:
    """The verdict on one run."""
    result = CaseResult(case.level, _says(case), case.world_size, "passed", events=tuple(outcome.events))
    result.printed = [f"rank {r}: {line}" if case.world_size > 1 else line for r, line in outcome.printed[:40]]
    result.moved = _moved(outcome) if exercise.runtime != "plain" else ""
    failure = _failure(exercise, case, outcome, ends)
    if failure is not None:
        result.verdict, result.diagnosis, result.differs, text = failure
    else:
        wrong = _wrong(exercise, case, _run_of(outcome))
        if wrong is None:
            return result
        result.verdict, result.diagnosis, result.differs = "wrong", wrong.name, wrong.lines
        result.fits, result.hidden, result.guess, result.found = wrong.fits, wrong.hidden, wrong.guess, wrong.found
        text = _diagnosis(exercise, wrong.name)
    result.why, result.how = text.why, text.how
    return result


def _says(case: Case) -> str:
    ranks = "" if case.world_size == 1 else f"{case.world_size} ranks"
    return ", ".join(part for part in (ranks, case.says) if part)


def _diagnosis(exercise: Exercise, name: str) -> Diagnosis:
    return exercise.diagnoses.get(name) or _BUILT_IN.get(name) or Diagnosis(hang.KINDS.get(name, ""))


def _moved(outcome: Outcome) -> str:
    def range_of(numbers: list[int], unit: str) -> str:
        low, high = min(numbers), max(numbers)
        return f"{low:,} {unit}" if low == high else f"{low:,} to {high:,} {unit}"

    ranks = outcome.ranks
    parts = []
    if any(r.sends for r in ranks):
        parts.append(
            f"each rank sent {range_of([r.sends for r in ranks], 'messages')}, {range_of([r.sent_bytes for r in ranks], 'B')}"
        )
    called = sorted({name for r in ranks for name in r.collectives})
    if called:
        parts.append(f"collectives: {', '.join(f'{name} x{max(r.collectives.count(name) for r in ranks)}' for name in called)}")
    return "; ".join(parts)


def _failure(exercise: Exercise, case: Case, outcome: Outcome, ends: list[dict]):
    """(verdict, diagnosis, what differs, text) of a run that did not come to its end, or None."""
    raised = [r for r, rank in enumerate(outcome.ranks) if rank.state == "raised"]
    if raised:  # a buffer used too early comes first: what else was raised may follow from it
        return _raised(exercise, case, outcome, min(raised, key=lambda r: (outcome.ranks[r].error["type"] not in _BUFFERS, r)))
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
            _diagnosis(exercise, "too_slow"),
        )
    return None


def _raised(exercise: Exercise, case: Case, outcome: Outcome, r: int):
    error = outcome.ranks[r].error
    kind, text, rows = error["type"], error["text"], error["rows"]
    same = [q for q, other in enumerate(outcome.ranks) if other.state == "raised" and other.error["type"] == kind]
    who = "" if case.world_size == 1 else f"{hang.list_ranks(same)}: "
    lines = [*rows, f"{who}{kind}: {text}".rstrip(": ")]
    if kind == "NotImplementedError" and not rows[1:] and not exercise.diagnoses.get(kind):
        return "missing", "not_written", [], _diagnosis(exercise, "not_written")
    if kind == "NameError" and f"'{exercise.function}'" in text and not rows:
        return "missing", "missing", [], _diagnosis(exercise, "missing")
    if kind in _BUFFERS:
        return "wrong", _BUFFERS[kind], lines, _diagnosis(exercise, _BUFFERS[kind])
    if kind == "out_of_memory":
        return "out_of_memory", "out_of_memory", rows, _diagnosis(exercise, "out_of_memory")
    if kind in exercise.diagnoses:
        return "raised", kind, lines, exercise.diagnoses[kind]
    where = rows[-1].split(", in ")[0] if rows else ""
    why = f"{who.capitalize()}{kind}{f' at {where}' if where else ''}: {text}".rstrip(": ")
    how = next((how for name, how in _HOW_OF_MPI.items() if name in text), _HOW_OF_EXCEPTIONS.get(kind, ""))
    return "raised", kind, lines, Diagnosis(why + ("" if why.endswith(".") else "."), how)


def _died(exercise: Exercise, case: Case, r: int, rank, ends: list[dict]):
    end = ends[r] if r < len(ends) else {}
    signal_number = end.get("signal")
    if rank.error.get("type") in ("protocol", "too_much"):
        kind = rank.error["type"]
        return "crashed", kind, [f"rank {r}: {rank.error['text'].partition(': ')[2]}"], _diagnosis(exercise, kind)
    if signal_number in (7, 11) and rank.unwaited:  # SIGBUS, SIGSEGV
        return (
            "crashed",
            "forgot_wait",
            [f"rank {r} died: signal {signal_number}", _never_waited([r])],
            _diagnosis(exercise, "forgot_wait"),
        )
    if end.get("over") == "memory":
        return "out_of_memory", "out_of_memory", [f"rank {r} and its processes"], _diagnosis(exercise, "out_of_memory")
    if signal_number == 24 or end.get("over") == "cpu":  # SIGXCPU
        return "too_slow", "too_slow", [f"rank {r} used up its processor time"], _diagnosis(exercise, "too_slow")
    if signal_number == 25:
        return "crashed", "rank_died", [f"rank {r} wrote too large a file"], _diagnosis(exercise, "rank_died")
    how = f"signal {signal_number}" if signal_number else f"exit status {end.get('exit')}" if end else "it left without a word"
    text = exercise.diagnoses.get("rank_died") or Diagnosis(
        f"The process of rank {r} died ({how}).",
        "A rank has to return; look for exit or kill."
        if signal_number not in (7, 11)
        else "Native code used memory that was not there (any more): an array that was given to a library and gone before the library had "
        "done with it, or a request that nobody waited for.",
    )
    return "crashed", "rank_died", [f"rank {r} died: {how}"], text


def _run_of(outcome: Outcome) -> Run:
    ranks = tuple(
        RankRun(
            r.value,
            r.after,
            "\n".join(line for q, line in outcome.printed if q == k),
            r.sends,
            r.sent_bytes,
            r.recvs,
            r.received_bytes,
            tuple(r.collectives),
            r.collective_bytes,
            r.clock,
            r.unwaited,
            r.carried,
        )
        for k, r in enumerate(outcome.ranks)
    )
    return Run(ranks, tuple(outcome.printed), outcome.elapsed, tuple(outcome.events))


# -- right or wrong -------------------------------------------------------------------------------------------------------------------


def _observed(exercise: Exercise, run: RankRun):
    if exercise.inputs != "result":
        return run.value
    return next((a for a in run.after if isinstance(a, Tensor) or hasattr(a, "dtype")), None)


@dataclass(frozen=True)
class _Wrong:
    """Why a case is wrong. fits, hidden, guess, found: see `CaseResult`."""

    name: str
    lines: list[str]
    fits: tuple[str, ...] = ()
    hidden: tuple[str, ...] | None = None
    guess: bool = False
    found: bool = False


def _wrong(exercise: Exercise, case: Case, run: Run) -> _Wrong | None:
    """What is wrong with an answer, or None for a right one."""
    expected = exercise.expected(case)
    values = [_observed(exercise, rank) for rank in run.ranks]
    differences = [difference(e, v, case.rtol, case.atol) for e, v in zip(expected, values, strict=True)]
    first = next((r for r, d in enumerate(differences) if d is not None), None)
    changed = _changed(exercise, case, run)
    unwaited = [r for r, rank in enumerate(run.ranks) if rank.unwaited]
    if first is None:
        finding = Finding("forgot_wait", _never_waited(unwaited)) if unwaited else _finding(exercise, case, run)
        if finding is not None:
            return _Wrong(finding.diagnosis, _lines(finding.detail))
        if changed is not None:
            return _Wrong("modifies_input", changed)
        missing = lacking(exercise, case, run)
        return _Wrong("not_carried", [missing]) if missing else None
    wrong = differences[first]
    lines = _comparison(case, first, expected[first], values[first], wrong)
    wanted = exercise.misconceptions(case)
    hidden = tuple(name for name in exercise.diagnoses if wanted.get(name) is None)
    matches = _matching(case, wanted, values)
    if unwaited and not matches and wrong.kind != "wrong_type":
        return _Wrong("forgot_wait", [*lines, _never_waited(unwaited)])
    finding = _finding(exercise, case, run, careful=True)
    fits = tuple(matches)
    if finding is not None:
        fits += (finding.diagnosis,)
    if wrong.kind != "value":
        fits += (wrong.kind,)
    if changed is not None:
        fits += ("modifies_input",)
    if matches:
        return _Wrong(matches[0], lines, fits, hidden, guess=True)
    if wrong.kind in ("returns_nothing", "wrong_type"):
        return _Wrong(wrong.kind, lines, fits, hidden)
    if finding is not None:
        read = [*lines, *_lines(finding.detail)]
        return _Wrong(finding.diagnosis, read, fits, hidden, found=True)
    if wrong.kind != "value":
        return _Wrong(wrong.kind, lines, fits, hidden)
    if changed is not None:
        return _Wrong("modifies_input", [*lines, *changed], fits, hidden)
    return _Wrong("unrecognised", lines, fits, hidden)


def _never_waited(ranks: list[int]) -> str:
    return f"On {hang.list_ranks(ranks)} an operation was still open at the end."


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _finding(exercise: Exercise, case: Case, run: Run, careful: bool = False) -> Finding | None:
    """What `facts` says. careful: the values are wrong, so that `facts` may stumble over them; that is no finding."""
    try:
        found = exercise.facts(case, run)
    except Exception:
        if not careful:
            raise
        return None
    return Finding(found) if isinstance(found, str) else found


def _matching(case: Case, misconceptions: dict[str, list | None], values: list) -> list[str]:
    """Names of all misconceptions that give these values; first those that give the same types, too."""
    shown = {name: wanted for name, wanted in misconceptions.items() if wanted is not None}
    return list(
        dict.fromkeys(
            name
            for strict in (True, False)
            for name, wanted in shown.items()
            if all(difference(w, v, case.rtol, case.atol, strict) is None for w, v in zip(wanted, values, strict=True))
        )
    )


def _comparison(case: Case, r: int, expected, observed, wrong: Difference) -> list[str]:
    who = "" if case.world_size == 1 else f"rank {r} "
    column = len(who) + len("returned ")
    target, value = show_where_they_differ(expected, observed, case.rtol, case.atol, column)
    kind = f"{name_of_type(observed)}: " if wrong.kind == "wrong_type" else ""
    lines = [f"{who}returned {kind}{value}", f"{'expected':>{column - 1}} {target}"]
    if wrong.text:
        lines.append(wrong.text)
    return lines


def _changed(exercise: Exercise, case: Case, run: Run) -> list[str] | None:
    if exercise.inputs != "kept":
        return None
    for r, rank in enumerate(run.ranks):
        for before, after in zip(case.arguments_of(r), rank.after, strict=False):
            if before is not ANYTHING and not unchanged(before, after):
                who = "" if case.world_size == 1 else f"on rank {r} "
                column = len(who) + len("the argument was ")
                return [
                    f"{who}the argument was {show(before, indent=column)}",
                    f"{'and now is':>{column - 1}} {show(after, indent=column)}",
                ]
    return None


# -- candidates from files ------------------------------------------------------------------------------------------------------------


def chunks_of_file(source: str, function: str, label: str) -> list[Chunk] | None:
    """The slice of a candidate file that defines `function`, or None where it does not. Raises SyntaxError."""
    compile(source, label, "exec")
    if function not in bound_names(source):
        return None
    return slice_cells([Cell(source, label)], [function])


def with_references(chunks: list[Chunk], uses: Sequence[Exercise], defined: set[str]) -> list[Chunk]:
    """The references of earlier exercises put before `chunks`, for those not in `defined`."""
    stand_ins = [Chunk(f"reference of {e.function}", 1, e.reference) for e in uses if e.function not in defined and e.reference]
    return [*stand_ins, *chunks]
