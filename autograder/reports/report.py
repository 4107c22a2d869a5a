"""`autograder report ASSIGNMENT`: what an instructor wants to know of a class, on one page.

First what a person has to do, then what to talk about, then scores, mistakes, hung runs, integrity, lateness. Made
from the gradebook and the kept results; it judges nothing and changes nothing.
"""

from __future__ import annotations

import math
import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from autograder.grading.submission.grades import ItemGrade
from autograder.homework.registry import title_of
from autograder.homework.rubric import PartResult
from autograder.pages import page
from autograder.registry import all_exercises
from autograder.reports.copies import Same, same_in_class
from autograder.reports.marks import Column, Marks, StudentMarks
from autograder.reports.results import SubmittedNotebook
from autograder.verdict import VERDICTS, Result

STOPPED = ("hung", "crashed", "out_of_memory", "too_slow")
TALK = 5  # mistakes to talk about
FEW, MANY = 8, 24  # points up to which a distribution has a line for each, of an exercise and of the assignment


@dataclass(frozen=True)
class Todo:
    """An entry in the list of what needs a person."""

    student: str
    where: str
    why: str
    action: str


@dataclass(frozen=True)
class MistakeMade:
    """Students with the same diagnosis in the same exercise. hint: the one most of them got; hints: how many
    different ones there were."""

    exercise: str
    name: str
    verdict: str
    hint: str
    hints: int
    students: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of students who made it."""
        return len(self.students)


@dataclass(frozen=True)
class TalkedAbout:
    """A mistake that was made more than once: in which exercises, by whom. hint: the one most of them got."""

    name: str
    exercises: tuple[str, ...]
    hint: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class ExerciseReport:
    """A graded cell. scores: one for each student who handed in."""

    name: str
    title: str
    points: float
    scores: tuple[float, ...]
    verdicts: Counter
    mistakes: tuple[MistakeMade, ...]

    @property
    def most_frequent(self) -> MistakeMade | None:
        """The mistake that most students made; what was not written is none."""
        return next((m for m in self.mistakes if m.name not in _NOT_WRITTEN), None)

    @property
    def mean(self) -> float | None:
        """The mean score in points; None if nobody handed in."""
        return statistics.fmean(self.scores) if self.scores else None

    @property
    def full_share(self) -> float | None:
        """The share (0 to 1) of scores with all points; None if there are no scores, or no points to earn."""
        return (
            sum(score >= self.points for score in self.scores) / len(self.scores)
            if self.scores and self.points
            else None
        )

    @property
    def none_share(self) -> float | None:
        """The share (0 to 1) of scores of no point; None if there are no scores, or no points to earn."""
        return sum(score <= 0 for score in self.scores) / len(self.scores) if self.scores and self.points else None

    @property
    def distribution(self) -> list[tuple[str, int]]:
        """`distribution`, without the lines that nobody is in."""
        return [(points, count) for points, count in distribution(self.scores, self.points, FEW) if count]


@dataclass(frozen=True)
class WrittenAnswers:
    """An answer that a person grades: how many wait, how many are read, and the mean of those."""

    name: str
    points: float
    waiting: int
    read: int
    mean: float | None


@dataclass(frozen=True)
class StoppedRun:
    """A run that did not come to its end."""

    student: str
    exercise: str
    verdict: str
    why: str
    facts: str


@dataclass(frozen=True)
class Noticed:
    """Students about whose notebooks the same kind of thing was noticed."""

    kind: str
    example: str
    students: tuple[str, ...]


@dataclass
class ClassReport:
    """Everything on the page. same: those whose answers are the same letter by letter."""

    assignment: str
    course: str
    when: str
    points: float
    rows: Sequence[StudentMarks]
    columns: Sequence[Column]
    todo: list[Todo]
    to_read: list[WrittenAnswers]
    exercises: list[ExerciseReport]
    stopped: list[StoppedRun]
    flags: list[Noticed]
    hints: str = "how"
    names: dict[str, str] = field(default_factory=dict)
    same: tuple[Same, ...] = ()

    @property
    def students(self) -> int:
        """The number of students in the class."""
        return len(self.rows)

    @property
    def handed_in(self) -> list[StudentMarks]:
        """The rows of students with a submission."""
        return [row for row in self.rows if row.handed_in]

    @property
    def scores(self) -> list[float]:
        """Points of those with a submission."""
        return [row.score for row in self.handed_in]

    @property
    def mean(self) -> float | None:
        """The mean score in points; None if nobody handed in."""
        return statistics.fmean(self.scores) if self.scores else None

    @property
    def median(self) -> float | None:
        """The median score in points; None if nobody handed in."""
        return statistics.median(self.scores) if self.scores else None

    @property
    def full(self) -> int:
        """The number of students with all points."""
        return sum(score >= self.points for score in self.scores)

    @property
    def provisional(self) -> bool:
        """True if some written answer is unread."""
        return any(written.waiting for written in self.to_read)

    @property
    def late(self) -> list[StudentMarks]:
        """The rows of students who were late, the latest first."""
        return sorted((row for row in self.handed_in if row.seconds_late > 0), key=lambda row: -row.seconds_late)

    @property
    def absent(self) -> list[str]:
        """The students without a submission."""
        return [row.student for row in self.rows if not row.handed_in]

    @property
    def nothing(self) -> list[str]:
        """The students who handed in, have no points, and wait for nobody."""
        return [row.student for row in self.handed_in if not row.score and not row.to_grade]

    @property
    def talk(self) -> list[TalkedAbout]:
        """The mistakes that most students made, those that can be talked about: with a name, and made at least twice,
        in one exercise or in several."""
        groups: dict[str, list[MistakeMade]] = defaultdict(list)
        for made in (m for e in self.exercises for m in e.mistakes if m.hint and m.name not in _NOT_A_MISTAKE):
            groups[made.name].append(made)
        twice = [those for those in groups.values() if sum(made.count for made in those) > 1]
        return sorted(map(_talked_about, twice), key=lambda about: -len(about.students))[:TALK]

    @property
    def verdicts(self) -> list[tuple[str, Counter]]:
        """(exercise, verdict -> number of students)."""
        return [(e.name, e.verdicts) for e in self.exercises if e.verdicts]

    @property
    def said(self) -> list[str]:
        """The verdicts that were given at all, in the order in which they are shown."""
        seen = {verdict for _, counts in self.verdicts for verdict in counts}
        return [verdict for verdict in (*VERDICTS, "not_judged") if verdict in seen]

    @property
    def distribution(self) -> list[tuple[str, int]]:
        """`distribution` of the scores."""
        return distribution(self.scores, self.points, MANY)


def distribution(scores: Sequence[float], points: float, most: int) -> list[tuple[str, int]]:
    """(points, number of students): a line for every whole point where there are at most `most`, else ten ranges.

    What is above `points`, by extra credit, stands in the last one of these, or in lines of its own.
    """
    if points <= most:
        counts = Counter(int(score + 0.5) for score in scores)
        return [(str(whole), counts[whole]) for whole in range(max([math.ceil(points), *counts]) + 1)]
    counts = Counter(min(int(10 * score / points), 9) for score in scores)
    return [(f"{points * k / 10:g} to {points * (k + 1) / 10:g}", counts[k]) for k in range(10)]


_NOT_WRITTEN = ("not_written", "missing", "refused", "fault")
_NOT_A_MISTAKE = ("unrecognised", *_NOT_WRITTEN)


def _talked_about(those: Sequence[MistakeMade]) -> TalkedAbout:
    """Combines what several exercises say of one mistake."""
    students = dict.fromkeys(student for made in those for student in made.students)
    most = max(those, key=lambda made: made.count)
    return TalkedAbout(most.name, tuple(dict.fromkeys(made.exercise for made in those)), most.hint, tuple(students))


# -- gathering --------------------------------------------------------------------------------------------------------


def class_report(
    marks: Marks,
    submitted: Iterable[SubmittedNotebook],
    course: str = "",
    when: datetime | None = None,
    same: Sequence[Same] = (),
) -> ClassReport:
    """The report of a class. submitted: every notebook in submitted/, in any order. same: what
    `autograder.reports.copies.same_in_class` finds."""
    judged = sorted(submitted, key=lambda one: (one.student, one.name))
    return ClassReport(
        marks.assignment,
        course,
        (when or datetime.now()).strftime("%A %d %B %Y, %H:%M"),
        marks.points,
        marks.rows,
        marks.columns,
        _todo(marks, judged),
        _to_read(marks),
        [_exercise(marks, column, judged) for column in marks.columns if not column.written],
        _stopped(marks, judged),
        _noticed(judged),
        next((one.graded.hints for one in judged if one.graded), "how"),
        {row.student: row.full_name if row.full_name != row.student else "" for row in marks.rows},
        tuple(same),
    )


def _todo(marks: Marks, judged: Sequence[SubmittedNotebook]) -> list[Todo]:
    """The list of what needs a person, student by student: first what is not graded at all, then what may be wrong."""
    rows = {row.student: row for row in marks.rows}
    again = f"`autograder grade {marks.assignment}`"
    found = list(_not_graded(rows, judged, again))
    ungraded = {todo.student for _, todo in found}
    for one in judged:
        found += _of_a_notebook(one)
        if one.graded is None and not one.refused and one.student not in ungraded:
            if not _faults(rows.get(one.student), marks):
                why = "What is in `submitted/` now is not what was graded, or its result was removed."
                found.append((4, Todo(one.student, f"notebook {one.name}", why, f"Run {again}.")))
    told = {(todo.student, todo.where) for _, todo in found}
    for row in marks.rows:
        found += _of_the_gradebook(row, marks, told)
    return [todo for _, todo in sorted(found, key=lambda entry: entry[0])]


def _not_graded(
    rows: Mapping[str, StudentMarks], judged: Sequence[SubmittedNotebook], again: str
) -> Iterator[tuple[int, Todo]]:
    """(rank, what to do) for those who handed in and are not in the gradebook; the lowest rank comes first."""
    for student in dict.fromkeys(one.student for one in judged):
        if student not in rows:
            why = "Handed in, but the gradebook knows nobody of that name."
            yield 0, Todo(student, "everything", why, f"Add the student, then run {again}.")
        elif not rows[student].handed_in:
            yield 0, Todo(student, "everything", "Handed in, but not graded yet.", f"Run {again}.")


def _of_a_notebook(one: SubmittedNotebook) -> Iterator[tuple[int, Todo]]:
    """Yields (rank, what to do) for each thing that was noticed in a notebook."""
    if one.refused:
        action = "Look at the file; ask for a new one, or grade it by hand."
        yield 1, Todo(one.student, f"notebook {one.name}", one.refused, action)
        if not (one.graded and any(item.homework for item in one.graded.items)):  # else the files beside it were judged
            return
    for flag in one.flags:
        if flag.needs_person and flag.kind not in ("refused", "no_notebook"):
            where, rest = f"notebook {one.name}", flag.sentence
            if flag.kind in ("fault", "waits", "follows", "looks_around"):  # of a cell, whose name comes first
                where, _, rest = flag.sentence.partition(": ")
            action = _ACTIONS.get(flag.kind, _LOOK)
            yield 2 if flag.kind == "fault" else 3, Todo(one.student, _plain(where), _sentence(rest), action)


def _of_the_gradebook(row: StudentMarks, marks: Marks, told: Collection[tuple[str, str]]) -> Iterator[tuple[int, Todo]]:
    """(rank, what to do) about checks that the gradebook marks for a person, but for those that are `told` already."""
    faults = _faults(row, marks)
    names = [column.name for column in faults if (row.student, column.name) not in told]
    if names:
        yield 2, Todo(row.student, ", ".join(names), "The judge itself failed on it.", _ACTIONS["fault"])
    names = [c.name for c in _for_a_person(row, marks) if c not in faults and (row.student, c.name) not in told]
    if names:
        why = "Graded again since a score was given by hand; that score counts."
        yield 3, Todo(row.student, ", ".join(names), why, _ACTIONS["by_hand"])


_LOOK = "Read the notebook in the formgrader and correct the score there if it is unfair."
_ACTIONS = {
    "fault": "Grade again; if it stays, give the points by hand in the formgrader, and report it with the notebook.",
    "waits": "Read the part's card in the formgrader, look at the file, and give what it is worth.",
    "one_cause": "Read the part's card in the formgrader. Where it is one mistake, give the points there.",
    "follows": "Read both cards in the formgrader. Where it is one mistake, give the points there.",
    "looks_around": "Read the answer. Where it takes from the check what it should compute, take its points away.",
    "by_hand": "Compare it with the card in the formgrader: confirm the score there, or empty its field to take the "
    "judge's.",
    "foreign": "See whether the wrong file was handed in, and ask for the right one.",
}


def _for_a_person(row: StudentMarks | None, marks: Marks) -> list[Column]:
    """The checks that are marked for a person, although a machine grades them."""
    if row is None or not row.handed_in:
        return []
    return [
        c
        for c in marks.columns
        if not c.written and (m := row.marks.get((c.notebook, c.cell))) is not None and m.to_grade
    ]


def _faults(row: StudentMarks | None, marks: Marks) -> list[Column]:
    """The columns on which the judge failed."""
    return [column for column in _for_a_person(row, marks) if not row.marks[column.notebook, column.cell].by_hand]


def _to_read(marks: Marks) -> list[WrittenAnswers]:
    found = []
    for column in marks.columns:
        if column.written:
            mine = [
                m
                for row in marks.rows
                if row.handed_in and (m := row.marks.get((column.notebook, column.cell))) is not None
            ]
            read = [mark.score for mark in mine if not mark.to_grade]
            mean = statistics.fmean(read) if read else None
            found.append(WrittenAnswers(column.name, column.points, len(mine) - len(read), len(read), mean))
    return found


def _exercise(marks: Marks, column: Column, judged: Sequence[SubmittedNotebook]) -> ExerciseReport:
    place = (column.notebook, column.cell)
    scores = tuple(row.marks[place].score for row in marks.rows if row.handed_in and place in row.marks)
    items = [
        (one.student, item)
        for one in judged
        if one.name == column.notebook and (item := _item(one, column.cell)) is not None
    ]
    unjudged = sum(one.graded is None for one in judged if one.name == column.notebook)
    verdicts = Counter(item.verdict for _, item in items) + Counter({"not_judged": unjudged})
    title = next((item.result.get("title", "") for _, item in items if item.result), "") or _title(column.name)
    title = next((title_of(PartResult.from_json(item.homework)) for _, item in items if item.homework), title)
    return ExerciseReport(column.name, title, column.points, scores, verdicts, _mistakes(column.name, items))


def _item(one: SubmittedNotebook, cell: str) -> ItemGrade | None:
    return next((item for item in one.graded.items if item.grade_id == cell), None) if one.graded else None


def _title(function: str) -> str:
    return next((e.title for e in all_exercises() if e.function == function), "")


def _mistakes(exercise: str, items: Sequence[tuple[str, ItemGrade]]) -> tuple[MistakeMade, ...]:
    """The failures of an exercise by diagnosis, the most frequent first."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for student, item in items:
        for name, verdict, hint in _failures(item):
            groups[name, verdict].append((student, hint))
    found = []
    for (name, verdict), those in groups.items():
        hints = Counter(hint for _, hint in those)
        found.append(
            MistakeMade(exercise, name, verdict, hints.most_common(1)[0][0], len(hints), tuple(s for s, _ in those))
        )
    return tuple(sorted(found, key=lambda mistake: (-mistake.count, mistake.name)))


def _failures(item: ItemGrade) -> Iterator[tuple[str, str, str]]:
    """(name, verdict, hint) of what went wrong: of each line of the rubric where it is a part of the homework, each
    name once."""
    if item.homework is not None:
        lost = [finding for finding in item.homework["findings"] if finding["verdict"] in ("wrong", "partly")]
        for finding in {finding["diagnosis"]: finding for finding in reversed(lost)}.values():
            yield finding["diagnosis"], "wrong", finding["teach"] or finding["sentence"]
    elif item.verdict != "passed" and not item.fault and item.diagnosis != "refused":
        yield item.diagnosis or item.verdict, item.verdict, hint_of(item)


def hint_of(item: ItemGrade) -> str:
    """The card's explanation, whatever the card was allowed to tell; for an instructor's own test its last line."""
    if item.result is not None:
        return Result.from_json(item.result).hint
    return item.said[-1] if item.said else ""


def _stopped(marks: Marks, judged: Sequence[SubmittedNotebook]) -> list[StoppedRun]:
    names = {(column.notebook, column.cell): column.name for column in marks.columns}
    found = []
    for one in judged:
        for item in one.graded.items if one.graded else ():
            if item.verdict in STOPPED:
                case = Result.from_json(item.result).decisive if item.result else None
                why = (case.why if case else "") or (item.said[-1] if item.said else "")
                facts = "\n".join([case.says, *case.differs] if case else item.said[:-1]).strip()
                found.append(
                    StoppedRun(
                        one.student, names.get((one.name, item.grade_id), item.grade_id), item.verdict, why, facts
                    )
                )
    return sorted(found, key=lambda s: (STOPPED.index(s.verdict), s.exercise, s.student))


def _noticed(judged: Sequence[SubmittedNotebook]) -> list[Noticed]:
    """The repairs that were made, the most frequent first; those that need a person are in the list of what to do,
    too."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for one in judged:
        for flag in one.flags:
            if flag.kind not in ("fault", "refused", "follows", "one_cause"):
                groups[flag.kind].setdefault(one.student, flag.sentence)
    found = [Noticed(kind, next(iter(those.values())), tuple(those)) for kind, those in groups.items()]
    return sorted(found, key=lambda noticed: -len(noticed.students))


def _plain(grade_id: str) -> str:
    return grade_id.replace("check_", "", 1)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


# -- the page ---------------------------------------------------------------------------------------------------------


def render(report: ClassReport) -> str:
    """The report as one HTML page."""
    return page("report.html", r=report)


def report_of(coursedir, assignment: str) -> ClassReport:
    """The report of an assignment of a course (`nbgrader.coursedir.CourseDirectory`). Raises
    `autograder.reports.results.NoResults` and `autograder.reports.marks.UnknownAssignment`."""
    from autograder.reports import results  # nbgrader takes a second to import

    found = results.marks(coursedir, assignment)
    course = coursedir.course_id or Path(coursedir.root).name
    same = same_in_class(coursedir, assignment)
    return class_report(found, results.submitted(coursedir, assignment), course=course, same=same)


def write_page(path: Path, text: str) -> None:
    """Write a page that its owner alone can read: it names students. Whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
