"""A submitted notebook: read with suspicion, rebuilt from the released one, judged exercise by exercise.

    submitted = read(path)                                  # or Refused, with one sentence
    rebuilt = rebuild(released, submitted)                  # the released cells with the student's answers, and flags
    graded = judge(rebuilt, unit, runners, key=key)         # out of process; to_json() and from_json() for a cache
    notebook = carded(rebuilt, graded)                      # what formgrader and feedback show

Where another process is to read it: `HandedIn` holds the bytes, and `rebuild_handed_in` does the first two lines.

Nothing of a submission is trusted but the text of its cells: not its metadata, not its outputs, not the number or
order of its cells.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from autograder.check import _figure
from autograder.exercise import PUBLIC_KEY, Exercise
from autograder.grading.submission.grades import Graded, ItemGrade
from autograder.grading.submission.reading import SubmissionFlag
from autograder.grading.submission.rebuilding import Item, Rebuilt
from autograder.homework import handed_in
from autograder.inputs.unseen import unseen
from autograder.judging.following import Follows, Judged, follows_from
from autograder.judging.helpers import judge_with_its_helpers
from autograder.judging.judge import LAST_S, Runners, judge_with
from autograder.judging.limit import TakesTooLong, processor_time
from autograder.judging.looks_around import looks_around
from autograder.registry import UnknownExercise, find
from autograder.verdict import HINT_LEVELS, Result
from labkit.cells.slicing import Chunk
from labkit.launch.launcher import make_jobs
from labkit.relay import wire
from labkit.watch import pace

# Where one exercise of a notebook slept for so long, the others are waited for no longer: a case takes milliseconds.
WAITED_S = 20.0
# Seconds on the clock for all checks of one notebook (the homework's have limits of their own), and more on a machine
# that is slow or busy: sleep costs nothing else.
BUDGET_S = 120.0
_LOOKS_AROUND = "The answer has {}. By that a function reads what its check holds, or replaces what the check calls."
# Bytes of JSON of the source that an answer needs: the rest of a job is for the arguments. A character that is not
# ASCII takes 6 or 12.
MAX_SOURCE = wire.MAX_JSON // 2


class SourceTooLarge(Exception):
    """The source that an answer needs is too large for a job."""


def judge(
    rebuilt: Rebuilt,
    unit: str | None,
    runners: Runners,
    *,
    key: str = PUBLIC_KEY,
    hints: str = "how",
    budget: float | None = None,
) -> Graded:
    """Judge every check and every test of a rebuilt notebook, elsewhere (`runners`). A failure in one costs that one
    only.

    unit: where the exercises are looked for first, "03" or "03_collectives"; None: in all units. budget: seconds for
    all of it; what has not been judged by then is not, the card says so, and a person is told.
    """
    if hints not in HINT_LEVELS:
        raise ValueError(f"hints={hints!r}: choose one of {', '.join(HINT_LEVELS)}")
    start, limits = time.monotonic(), runners.limits
    sitting = _Sitting(rebuilt, unit, runners, key, BUDGET_S if budget is None else budget)
    ordered = _in_order(rebuilt.items, unit)
    exercises = [exercise for item in ordered if (exercise := exercise_of(item, unit)) is not None]
    try:
        with runners.student(exercises):
            grades = {item.grade_id: sitting.grade(item) for item in ordered}
    finally:
        runners.limits, runners.until = limits, math.inf
        runners.close()  # the processes of one student must not serve another
    items = [grades[item.grade_id] for item in rebuilt.items]
    seconds = round(time.monotonic() - start, 3)
    return Graded(
        unit or "", items, [*rebuilt.flags, *sitting.flags(list(grades.values()))], hints, rebuilt.refused, seconds
    )


class _Sitting:
    """One notebook before the judge, item by item. Owns the seconds that are left for it, and sets the runners'
    limits."""

    def __init__(self, rebuilt: Rebuilt, unit: str | None, runners: Runners, key: str, budget: float):
        self.rebuilt, self.unit, self.runners, self.key, self._budget = rebuilt, unit, runners, key, budget
        self._paces: list[float] = []  # measured before each item
        self.homework = handed_in.HomeworkJudge(rebuilt.files, runners.launcher, key)
        self.deadline = min(runners.limits.deadline, WAITED_S)
        self.failed: set[str] = set()  # functions whose check was not passed
        self.causes: list[Judged] = []  # of these the ones whose failure follows from no other
        self.followed: list[SubmissionFlag] = []
        self.noticed: list[SubmissionFlag] = []
        self.spent = 0.0  # seconds, of the budget

    @property
    def budget(self) -> float:
        """Seconds on this machine's clock, at the pace that it had so far."""
        return self._budget * (sum(self._paces) / len(self._paces) if self._paces else 1.0)

    def grade(self, item: Item) -> ItemGrade:
        """The grade of an item; notes what it means for the items after it."""
        self._paces.append(pace.now().clock)
        begin = time.monotonic()
        if item.part:  # of the files beside the notebook, whatever the notebook is like
            grade = _twice(item, self.runners, lambda: _judge_part(item, self.homework))
        elif self.rebuilt.refused:
            grade = _refused(item, self.rebuilt.refused)
        elif self.spent >= self.budget:
            grade = _out_of_time(item, self.budget)
        else:
            self.runners.until = begin + self.budget - self.spent
            judged = (self.rebuilt, item, self.unit, self.runners, self.key, self.failed)
            grade = _twice(item, self.runners, lambda: _judge(*judged))
            self.runners.until = math.inf
            self.spent += time.monotonic() - begin
        grade.seconds = round(time.monotonic() - begin, 3)
        if grade.points and not item.part:
            self._look_around(item)
        if item.function and grade.verdict != "passed":
            self._look_for_a_cause(item, grade)
            self.failed.add(item.function)
        if grade.verdict == "too_slow" and grade.seconds > WAITED_S:
            self.runners.limits = replace(self.runners.limits, deadline=self.deadline)
        return grade

    def _look_around(self, item: Item) -> None:
        """Notes an answer that has earned points and reads what belongs to the check, or replaces what that calls."""
        exercise = exercise_of(item, self.unit)
        chunks = self.rebuilt.own_chunks(item, exercise, self.failed) if exercise is not None else []
        if found := looks_around(chunk.source for chunk in chunks or ()):
            named = ", ".join(f"`{name[:60]}`" for name in found[:3])
            self.noticed.append(SubmissionFlag("looks_around", f"{item.grade_id}: {_LOOKS_AROUND.format(named)}", True))

    def _look_for_a_cause(self, item: Item, grade: ItemGrade) -> None:
        """Looks whether a failure follows from an earlier one; then the card says so, and a person is told."""
        exercise = exercise_of(item, self.unit)
        if exercise is None or grade.result is None:
            return
        chunks = self.rebuilt.own_chunks(item, exercise, self.failed)
        judged = Judged(item.function, Result.from_json(grade.result), chunks)
        follows = follows_from(judged, self.causes)
        if follows is None:
            self.causes.append(judged)
            return
        offered = round(item.points * follows.points / judged.result.max_score, 4)
        grade.follows = follows.function
        told = _followed(follows, grade.points, offered)
        grade.result["note"] = " ".join(part for part in (grade.result["note"], told) if part)
        self.followed.append(SubmissionFlag("follows", f"{item.grade_id}: {told}", needs_person=True))

    def flags(self, grades: list[ItemGrade]) -> list[SubmissionFlag]:
        """The flags for a person: our faults, the homework's files, the time, what waits for them."""
        faults = [
            SubmissionFlag("fault", f"{item.grade_id}: {item.fault}", needs_person=True)
            for item in grades
            if item.fault
        ]
        if self.spent >= self.budget:
            told = _BUDGET_USED.format(self.budget) + " Should your machine have been that slow, grade it again."
            faults.append(SubmissionFlag("budget", told, True))
        noticed = [SubmissionFlag(kind, sentence, needs_person=True) for kind, sentence in self.homework.flags]
        waiting = [item.grade_id for item in grades if item.waits]
        waits = [SubmissionFlag("waits", f"{name}: some of its points wait for a person.", True) for name in waiting]
        return [*faults, *noticed, *self.noticed, *waits, *self.followed]


def _followed(follows: Follows, points: float, offered: float) -> str:
    """The words of card and report for a failure that follows from another one. offered: points on top of `points`, for
    a person to give."""
    helpers = " and ".join(follows.helpers)
    return (
        f"This follows from {follows.function}, if the mistake lies in {helpers}, which both use: they fail in the "
        f"same way. Then it costs once: a person decides whether this earns {points + offered:g} points in place of "
        f"{points:g}."
    )


def exercise_of(item: Item, unit: str | None) -> Exercise | None:
    """The exercise a check cell is about; None: the registry has none of that name, or the cell is a test of another
    kind."""
    if not item.function:
        return None
    for where in (unit, None):
        with contextlib.suppress(UnknownExercise):
            return find(item.function, where)
    return None


def _in_order(items: list[Item], unit: str | None) -> list[Item]:
    """The items in their order, but each exercise behind those that it builds on."""
    ordered: list[Item] = []

    def add(item: Item, above: tuple[str, ...] = ()) -> None:
        exercise = exercise_of(item, unit)
        for other in items:
            if (
                exercise is not None
                and other.function in exercise.uses
                and other.function not in above
                and other not in ordered
            ):
                add(other, (*above, item.function))
        if item not in ordered:
            ordered.append(item)

    for item in items:
        add(item)
    return ordered


def _refused(item: Item, why: str) -> ItemGrade:
    said = ["This notebook could not be graded.", why]
    return ItemGrade(item.grade_id, 0.0, item.points, "missing", "refused", said=said)


_BUDGET_USED = "The {:g} seconds that the checks of one notebook may take were used up before all had been run."


def _out_of_time(item: Item, budget: float) -> ItemGrade:
    said = [_BUDGET_USED.format(budget), "A check takes a second or two: look for functions above that sleep or wait."]
    return ItemGrade(item.grade_id, 0.0, item.points, "too_slow", "budget", said=said)


def _too_large(item: Item) -> ItemGrade:
    said = [
        "The code that this needs is too large: the function and whatever it uses of the cells above.",
        f"At most {MAX_SOURCE >> 20} MB of it are run (a character that is not ASCII counts as 6 to 12 bytes): compute "
        "long texts and tables, or leave them out.",
    ]
    return ItemGrade(item.grade_id, 0.0, item.points, "missing", "too_large", said=said)


def _fitting(chunks: Sequence[Chunk] | None) -> Sequence[Chunk] | None:
    """The chunks. Raises SourceTooLarge."""
    if sum(len(json.dumps(chunk.source)) for chunk in chunks or ()) > MAX_SOURCE:
        raise SourceTooLarge
    return chunks


def _twice(item: Item, runners: Runners, judge: Callable[[], ItemGrade]) -> ItemGrade:
    """A verdict; when the machinery fails, once more from a fresh start, and then it is a fault of ours that a person
    looks at."""
    for attempt in (1, 2):
        try:
            return judge()
        except SourceTooLarge:
            return _too_large(item)
        except Exception as error:
            with contextlib.suppress(Exception):
                runners.close()
            if attempt == 2:
                fault = f"the grader failed on it ({type(error).__name__}: {str(error)[:300]})"
    said = ["The grader itself failed on this exercise. That is no fault of yours: a person will look at it."]
    return ItemGrade(item.grade_id, 0.0, item.points, "missing", "fault", said=said, fault=fault)


def _imports_check(rebuilt: Rebuilt) -> bool:
    """True if `check` in the notebook is the course's, not a function of the instructor's own."""
    return any(
        cell.source and re.search(r"^\s*from autograder import .*\bcheck\b", cell.source, re.M)
        for cell in rebuilt.cells
    )


def _no_exercise(item: Item) -> ItemGrade:
    """The grade of a check whose exercise has been removed since the release: no student's fault, so a person
    decides."""
    said = [f"The grader has no exercise called {item.function} (any more). A person will look at it."]
    fault = (
        f"there is no exercise called {item.function}: was its module taken out of overlay/exercises/, "
        "or does it fail to load?"
    )
    return ItemGrade(item.grade_id, 0.0, item.points, "missing", "fault", said=said, fault=fault)


def _judge(rebuilt: Rebuilt, item: Item, unit: str | None, runners: Runners, key: str, failed: set[str]) -> ItemGrade:
    exercise = exercise_of(item, unit)
    if exercise is None and item.function and _imports_check(rebuilt):
        return _no_exercise(item)
    if exercise is None:
        return _judge_test(rebuilt, item, runners)
    result = judge_with_its_helpers(
        exercise,
        lambda *which: rebuilt.chunks(item, exercise, *which),
        lambda chunks, note: judge_with(
            runners, exercise, _fitting(chunks), key=key, note=note, unseen=unseen(exercise, key)
        ),
        failed,
        forget=runners.close,
    )
    share = result.score / result.max_score if result.max_score else 0.0
    points = item.points if share == 1 else round(item.points * share, 4)
    return ItemGrade(
        item.grade_id, points, item.points, result.verdict, result.diagnosis, _trimmed(result), figure=_picture(result)
    )


def _judge_part(item: Item, homework: handed_in.HomeworkJudge) -> ItemGrade:
    """A part of the homework. One without points of its own (nbgrader knows no bonus) gives what it earns on top."""
    found = homework.part(item.part)
    verdict = "passed" if found.share == 1 else "wrong"
    points = item.points if found.share == 1 else round(item.points * found.share, 4)
    extra = 0.0 if item.points else found.earned
    return ItemGrade(
        item.grade_id,
        points,
        item.points,
        verdict,
        found.diagnosis,
        homework=found.json,
        extra=extra,
        waits=found.waits,
    )


def _trimmed(result: Result) -> dict:
    """The result as JSON, without what no card shows."""
    data = json.loads(json.dumps({**result.to_json(), "title": result.title}))
    for case in data["cases"]:
        case["printed"] = [line[:200] for line in case["printed"]]
        case["differs"] = [line[:1000] for line in case["differs"]]
    return data


def _picture(result: Result) -> str:
    try:
        with processor_time():
            return _figure(result)
    except (Exception, TakesTooLong):  # a picture is not worth a grade
        return ""


def _judge_test(rebuilt: Rebuilt, item: Item, runners: Runners) -> ItemGrade:
    """A test that an instructor wrote: it has to come to its end, and a number in its last line is the points it gives.

    It runs beside the student's code, in the same process, so it proves less than a check does: what it compares with
    can be looked up by code that is out for it. It cannot harm anything else.
    """
    jobs = make_jobs(_fitting(rebuilt.chunks_of_test(item)), "__outcome__", [()], runtime="plain")
    left = max(runners.until - time.monotonic(), LAST_S)
    limits = replace(runners.limits, deadline=min(runners.limits.deadline, left))
    outcome, ends = runners.launcher.run(jobs, limits=limits)
    rank = outcome.ranks[0]
    said = [line for _, line in outcome.printed[:40]]
    if rank.state == "returned":
        value = rank.value
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if number is not None and not 0 <= number <= item.points:
            raise ValueError(f"the test gives {number} of {item.points:g} points")
        points = item.points if number is None else float(number)
        return ItemGrade(item.grade_id, points, item.points, "passed" if points == item.points else "wrong", said=said)
    if rank.state == "raised":
        text = f"{rank.error['type']}: {rank.error['text']}".rstrip(": ")
        return ItemGrade(
            item.grade_id, 0.0, item.points, "raised", rank.error["type"], said=[*said, *rank.error["rows"], text]
        )
    verdict = "too_slow" if outcome.too_slow else "hung" if outcome.hang is not None else "crashed"
    told = {"too_slow": "It did not come to its end in time.", "hung": "It waits for something that never comes."}
    return ItemGrade(item.grade_id, 0.0, item.points, verdict, said=[*said, told.get(verdict, "Its process died.")])
