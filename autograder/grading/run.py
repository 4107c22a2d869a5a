"""`autograder grade`: judges the submissions of an assignment in a pool of workers and writes the results into
nbgrader's gradebook.

Workers rebuild, judge and write out each notebook (`autograder.grading.pool`); this process alone writes to the
gradebook and to autograded/, one submission after another (`autograder.grading.writer`). A submission's mark
(`autograder.grading.store`) is taken away before the first and put back after the last thing that is written for it,
and it is believed only while the gradebook and the folder in autograded/ still say the same. So whatever stops a run,
the next one finds what is missing, does that, and leaves the rest alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import shutil
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder import content
from autograder.course import BadKey, Course
from autograder.grading import course_files, isolation, store
from autograder.grading.gradebook import notebooks_of, scores_of, total_of
from autograder.grading.nbgrader_plugin import Judge
from autograder.grading.pool import CannotJudge, EnginePool, LocalPool, PoolResult, SubmissionPool
from autograder.grading.store import free_bytes, is_disk_full
from autograder.grading.submission.finishing import FinishedNotebook, keep
from autograder.grading.submission.grades import Graded, ItemGrade
from autograder.grading.submission.reading import SubmissionFlag
from autograder.grading.submission.rebuilding import Rebuilt
from autograder.grading.writer import GradebookWriter, writing
from labkit.environment import cores

AHEAD = 2  # submissions prepared beyond what the workers have in hand, so that none of them waits for this process


class CannotGrade(RuntimeError):
    """Grading cannot begin, or had to stop; one sentence says why and what to do."""


@dataclass(frozen=True)
class GradingOptions:
    """The options of a run. students: only these; empty: all. force: judge again what was judged before. engines:
    profile of a cluster.

    workers: how many submissions at a time; 0: one per core. weak: also where this machine lacks protections.
    """

    assignment: str
    workers: int = 0
    students: tuple[str, ...] = ()
    force: bool = False
    weak: bool = False
    engines: str = ""


@dataclass
class SubmissionOutcome:
    """The outcome of one submission. how: "graded" (judged now), "kept" (judged before, written now), "unchanged" or
    "failed".

    points: as the gradebook has them, of max_points. reasons: why a person should look at it; for "failed": what went
    wrong.
    """

    student: str
    how: str
    points: float = 0.0
    max_points: float = 0.0
    seconds: float = 0.0
    reasons: list[str] = field(default_factory=list)


@dataclass
class GradingOutcome:
    """The report of a run. missing: students without a submission. strange: folders of nobody, left out."""

    assignment: str
    submissions: list[SubmissionOutcome] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, how: str) -> int:
        """The number of submissions with that outcome."""
        return sum(one.how == how for one in self.submissions)

    @property
    def for_a_person(self) -> list[SubmissionOutcome]:
        """The submissions at which a person should look."""
        return [one for one in self.submissions if one.reasons]


class Progress:
    """Callbacks by which a run shows its progress. This class shows nothing."""

    def started(self, total: int) -> None:
        """total: submissions."""

    def finished(self, outcome: SubmissionOutcome) -> None:
        """Called when a submission has been dealt with."""

    def running(self, students: dict[str, float]) -> None:
        """student -> since when (`time.monotonic`) it is being judged."""

    def close(self) -> None:
        """Called when nothing more will come."""


def grade(
    course: Path,
    options: GradingOptions,
    progress: Progress | None = None,
    pool: Callable[[GradingOptions], SubmissionPool] | None = None,
) -> GradingOutcome:
    """Grade an assignment in the course root `course`. Raises CannotGrade, `autograder.grading.store.Busy`."""
    start, run = time.monotonic(), None
    try:
        config = course_files.settings(course, options.assignment, options.weak)
    except course_files.NoCourseRoot as error:
        raise CannotGrade(str(error)) from None
    coursedir = CourseDirectory(config=config)
    check_name(options.assignment)
    check_course(course)
    try:
        with writing(coursedir, config, options.assignment) as writer:
            run = _Run(coursedir, config, options, writer, progress or Progress())
            run.go(pool or _pool)
    except (CannotJudge, NbGraderException, MissingEntry, BadKey, isolation.WeakIsolation) as error:
        raise CannotGrade(str(error)) from error
    except Exception as error:
        if is_disk_full(error):
            raise CannotGrade(_told_of_a_full_disk(coursedir, run)) from error
        raise
    run.outcome.seconds = time.monotonic() - start
    return run.outcome


def check_name(assignment: str) -> None:
    """Raises CannotGrade for what cannot be the name of an assignment, such as a path."""
    try:
        Course(Path()).key_file(assignment)
    except ValueError as error:
        raise CannotGrade(f"{error}: give it as it is called in submitted/, for example 03_collectives") from None


def check_course(root: Path) -> None:
    """Raises CannotGrade where another course is served than the class was released from: all its exercises would be
    missing, and everybody would have 0 points."""
    made_for, served = Course(root).made_for(), content.root()
    if made_for and content.ENGINE / made_for != served:
        say = f"unset {content.COURSE}" if made_for == "." else f"export {content.COURSE}={made_for}"
        raise CannotGrade(
            f"this class is of the course in {content.ENGINE / made_for}, and that in {served} is served: `{say}`, then"
            " grade. If the course's folder has moved, release the class again"
        )


def lost(rebuilt: Rebuilt, unit: str | None, hints: str, how: str) -> Graded:
    """The result of a submission whose judge crashed on every attempt: no points yet, flagged for a person."""
    said = ["The grader itself failed on this notebook. A person will look at it."]
    fault = f"the process that judged it died each time ({how})"
    items = [ItemGrade(i.grade_id, 0.0, i.points, "missing", "fault", said=said, fault=fault) for i in rebuilt.items]
    return Graded(
        unit or "", items, [*rebuilt.flags, SubmissionFlag("fault", f"Not graded: {fault}.", needs_person=True)], hints
    )


def _pool(options: GradingOptions) -> SubmissionPool:
    if options.engines:
        return EnginePool(options.engines, options.weak)
    return LocalPool(options.workers or cores(), options.weak)


def _told_of_a_full_disk(coursedir: CourseDirectory, run: _Run | None) -> str:
    done = sum(run.outcome.count(how) for how in ("graded", "kept", "unchanged")) if run else 0
    root = Path(coursedir.root)
    return (
        f"there is no room left in {root} ({free_bytes(root) / 1e6:.1f} MB free): {done} submissions are graded and "
        "safe. Make room and give the same command again; it goes on from there."
    )


@dataclass
class InProgress:
    """A submission that is being judged. state: the hash of everything that decides what will be written for it.

    files: hashes of what was handed in. names: of its notebooks.
    """

    student: str
    state: str
    files: dict[str, str]
    names: list[str]


class _Run:
    """One run of the command. Owns the loop: what is due goes to the pool, what comes back to the writer, one at a
    time."""

    def __init__(
        self,
        coursedir: CourseDirectory,
        config: Config,
        options: GradingOptions,
        writer: GradebookWriter,
        progress: Progress,
    ):
        self.coursedir, self.config, self.options, self.writer, self.progress = (
            coursedir,
            config,
            options,
            writer,
            progress,
        )
        self.assignment, self.gradebook = options.assignment, writer.gradebook
        self.store = store.Store(coursedir.root)
        self.outcome = GradingOutcome(options.assignment)
        self.in_progress: dict[str, InProgress] = {}

    def go(self, make_pool: Callable[[GradingOptions], SubmissionPool]) -> None:
        """Grade all that is due. Raises CannotGrade, and what `grade` makes one of."""
        self.store.remove_leftovers()
        self._read_the_assignment()
        waiting = deque(self._students())
        self.progress.started(len(waiting))
        pool = make_pool(self.options)
        try:
            while waiting or self.in_progress:
                while waiting and pool.given < pool.size + AHEAD:
                    self._begin(waiting.popleft(), pool)
                done = pool.result(0.2) if self.in_progress else None
                if done is not None:
                    self._store(done)
                self.progress.running(dict(pool.running))
        finally:
            pool.close()

    def _read_the_assignment(self) -> None:
        """Reads, once, all that submissions are compared with, so that what changes meanwhile is graded again by the
        next run."""
        self.unit = course_files.unit_of(self.assignment)
        self.level = isolation.spec(weak=self.options.weak)["level"]
        self.hints = Judge(config=self.config).hints
        files = course_files.hashes(course_files.source_folder(self.coursedir, self.assignment))
        self.notebooks = {name: self._released(name) for name in notebooks_of(self.gradebook, self.assignment)}
        course = Course(Path(self.coursedir.root))
        self.key = course.key(self.assignment)  # drawn only for an assignment that there is
        self.extensions = course.extensions(self.assignment)
        self.scores = scores_of(self.gradebook, self.assignment)
        due = self.gradebook.find_assignment(self.assignment).duedate
        penalties = [due, self.config.get("AssignLatePenalties", {}), self.config.get("LateSubmissionPlugin", {})]
        self.held_against = [files, self.notebooks, store.version(), self.key, self.level, self.hints, str(penalties)]

    def _released(self, name: str) -> str:
        """The released notebook from which submissions are rebuilt, as JSON; "" if source/ has it no more."""
        with contextlib.suppress(FileNotFoundError):
            return json.dumps(course_files.released(self.coursedir, self.config, self.assignment, name))
        return ""

    def _students(self) -> list[str]:
        handed_in = course_files.submitted_students(self.coursedir, self.assignment)
        self.outcome.strange = course_files.strange_folders(self.coursedir, self.assignment)
        known = {student.id for student in self.gradebook.students}
        self.outcome.missing = sorted(known - set(handed_in))
        if not self.options.students:
            return handed_in
        strangers = set(self.options.students) - set(handed_in)
        if strangers:
            raise CannotGrade(f"no submission of {', '.join(sorted(strangers))} for {self.assignment}")
        return sorted(set(self.options.students))

    # -- one submission

    def _begin(self, student: str, pool: SubmissionPool) -> None:
        """Has a submission judged, or leaves it alone if its grade is current."""
        try:
            files = course_files.hashes_of_submission(self.coursedir, self.assignment, student)
            state = self._state(files, student)
            mark = self.store.mark(self.assignment, student)
            if not self.options.force and mark is not None and self._is_current(student, state, mark):
                points = total_of(self.gradebook, self.assignment, student)
                self._record(SubmissionOutcome(student, "unchanged", points, mark["max_points"], 0.0, mark["reasons"]))
                return
            notebooks = self._handed_in(student)
        except Exception as error:
            self._failed(student, error)
            return
        self.in_progress[student] = InProgress(student, state, files, list(notebooks))
        task = {"unit": self.unit, "key": self.key, "hints": self.hints, "course": str(self.coursedir.root)}
        pool.submit(student, task | {"again": self.options.force, "notebooks": notebooks})

    def _handed_in(self, student: str) -> dict[str, dict]:
        """Name -> what a worker needs to judge it; a notebook that was not handed in is given nothing when the others
        are written."""
        there = course_files.notebooks_to_grade(self.coursedir, self.assignment, student)
        names = [name for name in self.notebooks if name in there]
        if not names:
            folder = course_files.submitted_folder(self.coursedir, self.assignment, student)
            raise CannotGrade(
                f"nothing in {folder} is called {' or '.join(f'{name}.ipynb' for name in self.notebooks)}"
            )
        found = {name: course_files.handed_in(self.coursedir, self.assignment, student, name) for name in names}
        return {name: {"released": self.notebooks[name], "handed_in": one.to_json()} for name, one in found.items()}

    def _store(self, done: PoolResult) -> None:
        """Write a submission that has come back into the gradebook and into autograded/; only then say that it is
        graded."""
        work = self.in_progress.pop(done.student)
        try:
            notebooks = self._notebooks(done, work)
        except Exception as error:
            self._failed(done.student, error)
            return
        try:
            self.store.remove_mark(self.assignment, done.student)
            self.writer.write(done.student, notebooks)
            outcome = self._outcome(done, notebooks)
            self._mark(work, notebooks, outcome)
        except Exception as error:
            shutil.rmtree(self.writer.folder(done.student), ignore_errors=True)
            self._failed(done.student, error)
            return
        self._record(outcome)

    def _notebooks(self, done: PoolResult, work: InProgress) -> dict[str, FinishedNotebook]:
        """Raises CannotGrade where the worker says that it failed over one."""
        if not done.graded:
            return {name: self._lost(done, name) for name in work.names}
        for result in done.graded.values():
            if "failed" in result:
                raise CannotGrade(result["failed"])
        found = {name: FinishedNotebook.from_json(result) for name, result in done.graded.items()}
        if self.options.engines:  # a worker of this machine has kept its results itself
            for notebook in found.values():
                keep(self.store, notebook.digest, notebook.graded)
        return found

    def _lost(self, done: PoolResult, name: str) -> FinishedNotebook:
        """The stand-in for the result of a notebook whose judge crashed on every attempt."""
        rebuilt = course_files.load(self.coursedir, self.config, self.assignment, done.student, name)
        return FinishedNotebook.of(rebuilt, lost(rebuilt, self.unit, self.hints, done.lost), self.hints)

    def _outcome(self, done: PoolResult, notebooks: dict[str, FinishedNotebook]) -> SubmissionOutcome:
        kept = all(notebook.kept for notebook in notebooks.values())
        graded = [notebook.graded for notebook in notebooks.values()]
        return SubmissionOutcome(
            done.student,
            "kept" if kept else "graded",
            total_of(self.gradebook, self.assignment, done.student),
            sum(one.max_points for one in graded),
            0.0 if kept else done.seconds,
            [flag.sentence for one in graded for flag in one.flags if flag.needs_person],
        )

    def _mark(self, work: InProgress, notebooks: dict[str, FinishedNotebook], outcome: SubmissionOutcome) -> None:
        """Marks the submission as graded, unless a fault of ours decided a result: then the next run tries again."""
        if any(item.fault for notebook in notebooks.values() for item in notebook.graded.items):
            return
        scores = scores_of(self.gradebook, self.assignment, work.student).get(work.student, {})
        about = {"points": outcome.points, "max_points": outcome.max_points, "reasons": outcome.reasons}
        digests = {name: notebook.digest for name, notebook in notebooks.items()}
        about |= {"submitted": work.files, "results": digests}  # by which a report finds what was said
        files = course_files.hashes(self.writer.folder(work.student))
        self.store.set_mark(
            self.assignment, work.student, {"state": work.state, "scores": scores, "files": files, **about}
        )

    def _failed(self, student: str, error: Exception) -> None:
        """Records a submission that cannot be graded, so that the others still are; raises the error of a full disk."""
        if is_disk_full(error):
            raise error
        text = str(error) if isinstance(error, (CannotGrade, NbGraderException)) else f"{type(error).__name__}: {error}"
        self._record(SubmissionOutcome(student, "failed", reasons=[text]))

    def _record(self, outcome: SubmissionOutcome) -> None:
        self.outcome.submissions.append(outcome)
        self.progress.finished(outcome)

    # -- what has changed

    def _state(self, files: dict[str, str], student: str) -> str:
        """A hash of all that decides what is written for a submission: its files, what it is held against, who judges
        how, and what being late costs this student."""
        parts = [files, self.held_against, str(self.extensions.get(student))]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _is_current(self, student: str, state: str, mark: dict) -> bool:
        """True if nothing has changed, and the gradebook and autograded/ still hold what they held when the mark was
        made."""
        unchanged = mark.get("state") == state and mark.get("scores") == self.scores.get(student, {})
        return unchanged and mark.get("files") == course_files.hashes(self.writer.folder(student))


# nbgrader's gradebook writes a traceback there and then raises
logging.getLogger("tornado.application").addHandler(logging.NullHandler())
