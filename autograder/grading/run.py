"""`autograder grade`: judges the submissions of an assignment in a pool of workers and writes the results into nbgrader's gradebook.

Workers rebuild, judge and write out each notebook (`autograder.grading.pool`); this process alone writes to the gradebook and to autograded/, one
submission after another, through nbgrader's own Autograde with the steps of `autograder.grading.nbgrader_plugin`. A submission's mark
(`autograder.grading.store`) is taken away before the first and put back after the last thing that is written for it, and it is believed only
while the gradebook and the folder in autograded/ still say the same. So whatever stops a run, the next one finds what is missing, does
that, and leaves the rest alone.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import logging
import os
import shutil
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_core.paths import jupyter_config_path
from nbgrader import utils
from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.converters import Autograde, autograde
from nbgrader.converters.base import BaseConverter, NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import latesubmissions, saveautogrades
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config, ConfigFileNotFound, PyFileConfigLoader

from autograder.course import BadKey, Course
from autograder.grading import nbgrader_plugin
from autograder.grading.pool import CannotJudge, Done, EnginePool, LocalPool, Pool
from autograder.grading.store import Store, free_bytes, is_disk_full
from autograder.grading.submission import carding, identity, reading
from autograder.grading.submission.grades import Graded, ItemGrade
from autograder.grading.submission.reading import Flag
from autograder.grading.submission.rebuilding import Rebuilt
from labkit.environment import cores

AHEAD = 2  # submissions prepared beyond what the workers have in hand, so that none of them waits for this process
MAX_HASHED = 64 << 20  # bytes of a file that are looked at to see whether it has changed


class CannotGrade(RuntimeError):
    """Grading cannot begin, or had to stop; one sentence says why and what to do."""


@dataclass(frozen=True)
class Wish:
    """What was asked for. students: only these; empty: all. force: judge again what was judged before. engines: profile of a cluster."""

    assignment: str
    workers: int = 0
    students: tuple[str, ...] = ()
    force: bool = False
    weak: bool = False
    engines: str = ""


@dataclass
class Line:
    """What became of one submission. how: "graded" (judged now), "kept" (judged before, written now), "unchanged" or "failed"."""

    student: str
    how: str
    points: float = 0.0
    max_points: float = 0.0
    seconds: float = 0.0
    reasons: list[str] = field(default_factory=list)  # why a person should look at it; for "failed": what went wrong


@dataclass
class Report:
    """What a run has done. missing: students without a submission."""

    assignment: str
    lines: list[Line] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, how: str) -> int:
        return sum(line.how == how for line in self.lines)

    @property
    def for_a_person(self) -> list[Line]:
        return [line for line in self.lines if line.reasons]


class Watcher:
    """Told what happens, to show it. This one shows nothing."""

    def begins(self, total: int) -> None: ...
    def has(self, line: Line) -> None: ...
    def runs(self, running: dict[str, float]) -> None: ...
    def close(self) -> None: ...


def grade(course: Path, wish: Wish, watcher: Watcher | None = None, pool: Callable[[Wish], Pool] | None = None) -> Report:
    """Grade an assignment in the course root `course`. Raises CannotGrade, `autograder.grading.store.Busy`."""
    config = settings(course, wish)
    coursedir = CourseDirectory(config=config)
    check_name(wish.assignment)
    run = _Run(coursedir, config, wish, watcher or Watcher(), pool or _pool)
    start = time.monotonic()
    try:
        with run.store.lock(f"grades {wish.assignment}"):
            run.store.remove_leftovers()
            run.go()
    except (CannotJudge, NbGraderException, BadKey) as error:
        raise CannotGrade(str(error)) from error
    except Exception as error:
        if is_disk_full(error):
            raise CannotGrade(run.told_of_a_full_disk()) from error
        raise
    run.report.seconds = time.monotonic() - start
    return run.report


def check_name(assignment: str) -> None:
    """Raises CannotGrade for what cannot be the name of an assignment, such as a path."""
    try:
        Course(Path()).key_file(assignment)
    except ValueError as error:
        raise CannotGrade(f"{error}: give it as it is called in submitted/, for example 03_collectives") from None


def settings(course: Path, wish: Wish) -> Config:
    """nbgrader's settings as its own commands find them: the user's and the system's, then those of the course root."""
    course = course.resolve()
    if not (course / "nbgrader_config.py").is_file():
        raise CannotGrade(f"{course} is no course root: there is no nbgrader_config.py in it (make course-release DIR makes one)")
    config = Config()
    for folder in [*reversed(jupyter_config_path()), str(course)]:
        with contextlib.suppress(ConfigFileNotFound):
            config.merge(PyFileConfigLoader("nbgrader_config.py", path=folder).load_config())
    config.CourseDirectory.assignment_id = wish.assignment
    config.CourseDirectory.setdefault("root", str(course))
    config.SubmissionExporter.optimistic_validation = True  # once, after all steps
    if wish.weak:
        config.Judge.allow_weak_isolation = True
    return config


def _pool(wish: Wish) -> Pool:
    return EnginePool(wish.engines, wish.weak) if wish.engines else LocalPool(wish.workers or cores(), wish.weak)


@dataclass
class _InHand:
    """A submission that is being judged. state: the hash of everything that decides what will be written for it; files: of what was
    handed in; names: of its notebooks."""

    student: str
    state: str
    files: dict[str, str]
    names: list[str]


class _Run:
    """One run of the command."""

    def __init__(self, coursedir: CourseDirectory, config: Config, wish: Wish, watcher: Watcher, make_pool):
        self.coursedir, self.config, self.wish, self.watcher, self.make_pool = coursedir, config, wish, watcher, make_pool
        self.store = Store(coursedir.root)
        self.report = Report(wish.assignment)
        self.in_hand: dict[str, _InHand] = {}

    def go(self) -> None:
        self.unit = nbgrader_plugin.unit_of(self.wish.assignment)
        self.level = nbgrader_plugin.jail(self.wish.weak)["level"]
        self.hints = nbgrader_plugin.Judge(config=self.config).hints
        with one_gradebook(self.coursedir) as self.gradebook:
            self._go()

    def _go(self) -> None:
        source = Path(self.coursedir.format_path(self.coursedir.source_directory, ".", self.wish.assignment))
        files = hashes(source)  # before they are read: what is changed meanwhile is graded again by the next run
        self.notebooks = {name: self._released(name) for name in notebooks_of(self.gradebook, self.wish.assignment)}
        self.key = Course(Path(self.coursedir.root)).key(self.wish.assignment)  # drawn only for an assignment that there is
        self.held_against = [files, self.notebooks]
        self.scores = scores_of(self.gradebook, self.wish.assignment)
        with self.gradebook:
            self.due = self.gradebook.find_assignment(self.wish.assignment).duedate
        self.extensions = Course(Path(self.coursedir.root)).extensions(self.wish.assignment)
        self.lateness = str([self.due, self.config.get("AssignLatePenalties", {}), self.config.get("LateSubmissionPlugin", {})])
        students = self._students()
        self.watcher.begins(len(students))
        writer = _Writer(coursedir=self.coursedir, config=self.config, log=_log)
        writer.work = lambda: self._work(writer, deque(students))
        self.pool = self.make_pool(self.wish)
        try:
            writer.start()
        finally:
            self.pool.close()

    def _students(self) -> list[str]:
        handed_in = submitted_students(self.coursedir, self.wish.assignment)
        with self.gradebook:
            known = {student.id for student in self.gradebook.students}
        self.report.missing = sorted(known - set(handed_in))
        if not self.wish.students:
            return handed_in
        strangers = set(self.wish.students) - set(handed_in)
        if strangers:
            raise CannotGrade(f"no submission of {', '.join(sorted(strangers))} for {self.wish.assignment}")
        return sorted(set(self.wish.students))

    def _work(self, writer: _Writer, waiting: deque[str]) -> None:
        while waiting or self.in_hand:
            while waiting and self.pool.given < self.pool.size + AHEAD:
                self._begin(waiting.popleft())
            if self.in_hand:
                done = self.pool.result(0.2)
                if done is not None:
                    self._take(writer, done)
            self.watcher.runs(dict(self.pool.running))

    # -- one submission

    def _released(self, name: str) -> str:
        """What submissions of a notebook are rebuilt from, as JSON; "" where source/ has it no more."""
        with contextlib.suppress(FileNotFoundError):
            return json.dumps(nbgrader_plugin.released(self.coursedir, self.config, self.wish.assignment, name))
        return ""

    def _begin(self, student: str) -> None:
        """Leave it alone or have it judged."""
        try:
            files = hashes_of_submission(self.coursedir, self.wish.assignment, student)
            state = self._state(files, student)
            mark = self.store.mark(self.wish.assignment, student)
            if not self.wish.force and mark is not None and mark.get("state") == state and self._stands(student, mark):
                points = total_of(self.gradebook, self.wish.assignment, student)
                self._has(Line(student, "unchanged", points, mark["max_points"], 0.0, mark["reasons"]))
                return
            notebooks = self._handed_in(student)
        except Exception as error:
            self._failed(student, error)
            return
        self.in_hand[student] = _InHand(student, state, files, list(notebooks))
        task = {"unit": self.unit, "key": self.key, "hints": self.hints, "course": str(self.coursedir.root)}
        self.pool.submit(student, task | {"again": self.wish.force, "notebooks": notebooks})

    def _handed_in(self, student: str) -> dict[str, dict]:
        """Name -> what a worker needs to judge it; for a notebook that was not handed in nbgrader gives 0."""
        there = nbgrader_plugin.notebooks_to_grade(self.coursedir, self.wish.assignment, student)
        names = [name for name in self.notebooks if name in there]
        if not names:
            folder = nbgrader_plugin.submitted_folder(self.coursedir, self.wish.assignment, student)
            raise CannotGrade(f"nothing in {folder} is called {' or '.join(f'{name}.ipynb' for name in self.notebooks)}")
        found = {name: nbgrader_plugin.handed_in(self.coursedir, self.wish.assignment, student, name) for name in names}
        return {name: {"released": self.notebooks[name], "handed_in": one.to_json()} for name, one in found.items()}

    def _take(self, writer: _Writer, done: Done) -> None:
        """Keep the results of a submission that has come back, and write them."""
        submitted = self.in_hand.pop(done.student)
        try:
            results = done.graded or {name: self._lost(done, name) for name in submitted.names}
            for result in results.values():
                if "failed" in result:
                    raise CannotGrade(result["failed"])
            line = Line(done.student, "graded", seconds=done.seconds)
            if all(result["kept"] for result in results.values()):
                line = Line(done.student, "kept")
            notebooks = {name: self._finished(result) for name, result in results.items()}
        except Exception as error:
            self._failed(done.student, error)
            return
        self._write(writer, submitted, notebooks, {name: result["digest"] for name, result in results.items()}, line)

    def _finished(self, result: dict) -> nbgrader_plugin.Finished:
        graded = Graded.from_json(result["graded"])
        if not result["kept"] and not any(item.fault for item in graded.items):
            self.store.keep_result(result["digest"], result["graded"])
        return nbgrader_plugin.Finished(graded, result["answers"], result["text"])

    def _lost(self, done: Done, name: str) -> dict:
        """What stands for the result of a notebook over which the judging process died each time."""
        rebuilt = nbgrader_plugin.load(self.coursedir, self.config, self.wish.assignment, done.student, name)
        graded = lost(rebuilt, self.unit, self.hints, done.lost)
        text = carding.written(carding.carded(rebuilt, graded, self.hints))
        return {"graded": graded.to_json(), "digest": "", "kept": False, "answers": rebuilt.answers, "text": text}

    def _write(
        self,
        writer: _Writer,
        submitted: _InHand,
        notebooks: dict[str, nbgrader_plugin.Finished],
        digests: dict[str, str],
        line: Line,
    ) -> None:
        """Into the gradebook and into autograded/; only then say that it is graded."""
        student = submitted.student
        try:
            self.store.remove_mark(self.wish.assignment, student)
            for name, notebook in notebooks.items():
                nbgrader_plugin.finished[self.wish.assignment, student, name] = notebook
            try:
                writer.write(student)
                self.gradebook.save()
            finally:
                nbgrader_plugin.finished.clear()
            scores = scores_of(self.gradebook, self.wish.assignment, student).get(student, {})
            graded = [notebook.graded for notebook in notebooks.values()]
            line.points = total_of(self.gradebook, self.wish.assignment, student)
            line.max_points = sum(notebook.max_points for notebook in graded)
            line.reasons = [flag.sentence for notebook in graded for flag in notebook.flags if flag.needs_person]
            if not any(item.fault for notebook in graded for item in notebook.items):  # else the next run tries again
                about = {"points": line.points, "max_points": line.max_points, "reasons": line.reasons}
                about |= {"submitted": submitted.files, "results": digests}  # by which a report finds what was said
                note = {"state": submitted.state, "scores": scores, "files": hashes(self._graded_folder(student)), **about}
                self.store.set_mark(self.wish.assignment, student, note)
        except Exception as error:
            shutil.rmtree(self._graded_folder(student), ignore_errors=True)
            with contextlib.suppress(SQLAlchemyError):
                self.gradebook.forget()
            self._failed(student, error)
            return
        self._has(line)

    def _failed(self, student: str, error: Exception) -> None:
        """One submission that cannot be graded does not keep the others from being graded; a full disk does."""
        if is_disk_full(error):
            raise error
        text = str(error) if isinstance(error, (CannotGrade, NbGraderException)) else f"{type(error).__name__}: {error}"
        self._has(Line(student, "failed", reasons=[text]))

    def _has(self, line: Line) -> None:
        self.report.lines.append(line)
        self.watcher.has(line)

    # -- what has changed

    def _state(self, files: dict[str, str], student: str) -> str:
        """A hash of all that decides what is written for a submission: its files, what it is held against, who judges how, and what
        being late costs this student."""
        parts = [files, self.held_against, identity.who_judges(), self.key, self.level, self.hints]
        parts += [self.lateness, str(self.extensions.get(student))]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _stands(self, student: str, mark: dict) -> bool:
        """Whether the gradebook and autograded/ still hold what they held when the mark was made."""
        return mark.get("scores") == self.scores.get(student, {}) and mark.get("files") == hashes(self._graded_folder(student))

    def _graded_folder(self, student: str) -> Path:
        return Path(self.coursedir.format_path(self.coursedir.autograded_directory, student, self.wish.assignment))

    def told_of_a_full_disk(self) -> str:
        done = self.report.count("graded") + self.report.count("kept") + self.report.count("unchanged")
        root = Path(self.coursedir.root)
        return (
            f"there is no room left in {root} ({free_bytes(root) / 1e6:.1f} MB free): {done} submissions are graded and safe. "
            "Make room and give the same command again; it goes on from there."
        )


class _Writer(Autograde):
    """nbgrader's Autograde, one submission at a time and whenever we say, without its search for submissions."""

    work = None

    def init_notebooks(self) -> None:
        pass

    def convert_notebooks(self) -> None:
        self.work()

    def write(self, student: str) -> None:
        """As nbgrader does it for one submission, but an error is raised, not swallowed."""
        assignment = self.coursedir.assignment_id
        folder = self.coursedir.format_path(self.coursedir.submitted_directory, student, assignment)
        self.force = True
        self.notebooks = sorted(glob.glob(os.path.join(glob.escape(folder), "*.ipynb")))
        self.init_destination(assignment, student)
        self.run_pre_convert_hook()
        self.init_assignment(assignment, student)
        for notebook in self.notebooks:
            if self.sanitize_preprocessors == [nbgrader_plugin.Rebuild]:
                self._second_pass(os.path.join(self._format_dest(assignment, student), os.path.basename(notebook)))
            else:
                self.convert_single_notebook(notebook)
        self.set_permissions(assignment, student)
        self.run_post_convert_hook()

    def _second_pass(self, notebook: str) -> None:
        """nbgrader's conversion without the pass that cleans the notebook: it would write a file that nobody reads, because the step
        `Judge` has the notebook at hand."""
        self._sanitizing = False
        self._init_preprocessors()
        try:
            with utils.setenv(NBGRADER_EXECUTION="autograde"):
                BaseConverter.convert_single_notebook(self, notebook)
        finally:
            self._sanitizing = True


def lost(rebuilt: Rebuilt, unit: str | None, hints: str, how: str) -> Graded:
    """What a submission gets over which the judging process died each time: nothing yet, and a person's attention."""
    said = ["The grader itself failed on this notebook. A person will look at it."]
    fault = f"the process that judged it died each time ({how})"
    items = [ItemGrade(i.grade_id, 0.0, i.points, "missing", "fault", said=said, fault=fault) for i in rebuilt.items]
    return Graded(unit or "", items, [*rebuilt.flags, Flag("fault", f"Not graded: {fault}.", needs_person=True)], hints)


# -- reading the course ---------------------------------------------------------------------------------------------------------------


def submitted_students(coursedir: CourseDirectory, assignment: str) -> list[str]:
    """Those with a folder for this assignment in submitted/, by name."""
    pattern = coursedir.format_path(coursedir.submitted_directory, "*", glob.escape(assignment))
    around = pattern.split("*")
    return sorted(path[len(around[0]) : -len(around[1]) or None] for path in glob.glob(pattern) if os.path.isdir(path))


class _StaysOpen(Gradebook):
    """A gradebook that stays open for a whole run, and in which a submission is one transaction: all of its grades, or none."""

    def __init__(self, coursedir: CourseDirectory):
        super().__init__(coursedir.db_url, coursedir.course_id)
        self._commit = self.db.commit
        self.db.commit = self.db.flush  # nbgrader commits after every cell

    def close(self) -> None:
        """nbgrader's steps open and close theirs; this one goes on."""

    def save(self) -> None:
        self._commit()
        self.db.remove()

    def forget(self) -> None:
        """Undo what was not saved."""
        self.db.rollback()
        self.db.remove()


@contextlib.contextmanager
def one_gradebook(coursedir: CourseDirectory) -> Iterator[_StaysOpen]:
    """Within, nbgrader's own steps use one open gradebook. They would open eight for each submission and look through all tables each time,
    which takes longer than the rest of what they do."""
    gradebook = _StaysOpen(coursedir)
    with contextlib.ExitStack() as stack:
        stack.callback(Gradebook.close, gradebook)
        for module in (autograde, saveautogrades, latesubmissions):
            stack.callback(setattr, module, "Gradebook", module.Gradebook)
            module.Gradebook = lambda *_, **__: gradebook
        yield gradebook


def notebooks_of(gradebook: Gradebook, assignment: str) -> list[str]:
    """The names of its notebooks. Raises CannotGrade where it was never released."""
    with gradebook:
        try:
            return [notebook.name for notebook in gradebook.find_assignment(assignment).notebooks]
        except MissingEntry:
            known = ", ".join(found.name for found in gradebook.assignments) or "none"
    raise CannotGrade(f"the gradebook has no assignment {assignment}; there are: {known}")


def scores_of(gradebook: Gradebook, assignment: str, student: str | None = None) -> dict[str, dict[str, float | None]]:
    """student -> {"notebook/cell": points given automatically}, as the gradebook has them, for one student or all.

    A cell that is worth nothing gives what it earns as extra credit: nbgrader knows no bonus.
    """
    query = (
        select(
            SubmittedAssignment.student_id, Notebook.name, BaseCell.name, Grade.auto_score, Grade.extra_credit, Grade.max_score
        )
        .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .where(Assignment.name == assignment)
    )
    if student is not None:
        query = query.where(SubmittedAssignment.student_id == student)
    scores: dict[str, dict[str, float | None]] = {}
    with gradebook:
        for owner, notebook, cell, points, extra, most in gradebook.db.execute(query):
            scores.setdefault(owner, {})[f"{notebook}/{cell}"] = points if most or points is None else points + (extra or 0.0)
    return scores


def hashes_of_submission(coursedir: CourseDirectory, assignment: str, student: str) -> dict[str, str]:
    """`hashes` of what a student handed in; behind a link to a folder nothing is looked at, it may lead to the whole disk."""
    folder = nbgrader_plugin.submitted_folder(coursedir, assignment, student)
    link = reading.linked_folder(nbgrader_plugin.submissions_root(coursedir, assignment, student), folder)
    return {".": f"a link to {os.readlink(link)}"} if link else hashes(folder)


def total_of(gradebook: Gradebook, assignment: str, student: str) -> float:
    """A student's points as the gradebook and its export have them: with what was given by hand, less the penalty for being late."""
    with gradebook, contextlib.suppress(MissingEntry):
        submitted = gradebook.find_submission(assignment, student)
        return max(0.0, float(submitted.score or 0.0) - float(submitted.late_submission_penalty or 0.0))
    return 0.0


def hashes(folder: Path) -> dict[str, str]:
    """Relative name -> what tells a file's content, for all files in a folder. Links are not followed."""
    return dict(sorted((str(path.relative_to(folder)), _hash(path)) for path in _files(folder)))


def _files(folder: Path) -> Iterable[Path]:
    for where, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(where) / name for name in names)


def _hash(path: Path) -> str:
    try:
        about = path.lstat()
    except OSError as error:  # a name longer than a path may be
        return f"not readable ({error.errno})"
    if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_HASHED:
        return f"{about.st_mode:o} {about.st_size} {about.st_mtime_ns}"
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return f"not readable ({error.errno}) {about.st_size} {about.st_mtime_ns}"


_log = logging.getLogger("autograder.grading")
_log.addHandler(logging.NullHandler())
_log.propagate = False
logging.getLogger("tornado.application").addHandler(
    logging.NullHandler()
)  # nbgrader's gradebook writes a traceback there and then raises
