"""A class as reports see it: who handed in what, and what the judge said of it. Reads, never judges, never writes.

The judge keeps a result under the hash of everything that decides it
(`autograder.grading.submission.finishing.digest`). `autograder grade` notes that hash for every student; what
nbgrader's own command or the formgrader's button graded is found again from the submission itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from autograder.course import BadName, Course
from autograder.grading import course_files, isolation
from autograder.grading.store import Store
from autograder.grading.submission.finishing import Terms, kept_at_any_level, kept_result
from autograder.grading.submission.grades import Graded
from autograder.grading.submission.reading import SubmissionFlag, read
from autograder.grading.submission.rebuilding import Rebuilt
from autograder.homework import handed_in
from autograder.reports.marks import Marks, read_marks


@dataclass(frozen=True)
class SubmittedNotebook:
    """One notebook of one student. graded: the judge's result; None where it has not been judged as it stands now, or
    where the judge failed. flags: what was noticed when it was rebuilt and judged. refused: why it was not read, or
    ""."""

    student: str
    name: str
    graded: Graded | None
    flags: tuple[SubmissionFlag, ...] = ()
    refused: str = ""


class NoResults(ValueError):
    """The folder is no course root, or it lacks what was asked for."""


def open_course(root: Path) -> CourseDirectory:
    """The course whose root is `root`, with its settings. Raises NoCourse."""
    try:
        return CourseDirectory(config=course_files.settings(root))
    except course_files.NoCourseRoot as error:
        raise NoResults(str(error)) from None


def marks(coursedir: CourseDirectory, assignment: str) -> Marks:
    """The marks in the gradebook. Raises NoCourse, `autograder.reports.marks.UnknownAssignment`."""
    with _gradebook(coursedir) as gradebook:
        return read_marks(gradebook, assignment)


def students(coursedir: CourseDirectory) -> list[str]:
    """The names that the gradebook knows. Raises NoCourse where there is none yet."""
    with _gradebook(coursedir) as gradebook:
        return sorted(student.id for student in gradebook.students)


def _gradebook(coursedir: CourseDirectory) -> Gradebook:
    database = coursedir.db_url.removeprefix("sqlite:///")
    if coursedir.db_url.startswith("sqlite:///") and not Path(database).exists():
        raise NoResults(f"there is no gradebook {database}: release and grade an assignment first")
    return Gradebook(coursedir.db_url, coursedir.course_id)


def notebooks(coursedir: CourseDirectory, assignment: str) -> list[str]:
    """The notebooks the assignment consists of. Raises NoCourse."""
    try:
        Course(Path(coursedir.root)).key_file(assignment)
    except BadName as error:
        raise NoResults(str(error)) from None
    folder = Path(coursedir.format_path(coursedir.source_directory, ".", assignment))
    names = sorted(path.stem for path in folder.glob("*.ipynb"))
    if not names:
        raise NoResults(f"{folder} holds no notebook")
    return names


def source(coursedir: CourseDirectory, assignment: str, notebook: str) -> NotebookNode:
    """The published solution."""
    return nbformat.read(
        Path(coursedir.format_path(coursedir.source_directory, ".", assignment), f"{notebook}.ipynb"), as_version=4
    )


def submitted(coursedir: CourseDirectory, assignment: str) -> Iterator[SubmittedNotebook]:
    """Every submitted notebook of the class with what the judge said of it, and what only the whole class shows."""
    found = list(_submitted(coursedir, assignment))
    shared = handed_in.shared_runs(
        (one.student, item.homework)
        for one in found
        if one.graded
        for item in one.graded.items
        if item.homework is not None
    )
    for one in found:
        more = [SubmissionFlag(kind, sentence, needs_person=True) for kind, sentence in shared.pop(one.student, ())]
        yield replace(one, flags=(*one.flags, *more))


def _submitted(coursedir: CourseDirectory, assignment: str) -> Iterator[SubmittedNotebook]:
    names, store, judged = notebooks(coursedir, assignment), Store(Path(coursedir.root)), _Judged(coursedir, assignment)
    for student in course_files.submitted_students(coursedir, assignment):
        mark = store.mark(assignment, student) or {}
        unchanged = "results" in mark and mark.get("submitted") == course_files.hashes_of_submission(
            coursedir, assignment, student
        )
        for name in names:
            graded = kept_result(store, mark["results"].get(name, "")) if unchanged else None
            if graded is not None:
                yield SubmittedNotebook(student, name, graded, tuple(graded.flags), graded.refused)
            else:
                yield judged.now(student, name)


def answers(coursedir: CourseDirectory, assignment: str) -> Iterator[tuple[str, str, Rebuilt]]:
    """(student, notebook's name, notebook as it is graded) of the whole class."""
    for student in course_files.submitted_students(coursedir, assignment):
        for name in notebooks(coursedir, assignment):
            yield student, name, course_files.load(coursedir, coursedir.config, assignment, student, name)


def as_handed_in(coursedir: CourseDirectory, assignment: str) -> Iterator[tuple[str, str, NotebookNode]]:
    """(student, notebook's name, notebook as it was handed in), read with suspicion but not rebuilt, of those that can
    be read."""
    for student in course_files.submitted_students(coursedir, assignment):
        for name in notebooks(coursedir, assignment):
            found = course_files.handed_in(coursedir, assignment, student, name)
            with contextlib.suppress(Exception):  # Refused, and whatever `rebuild_handed_in` refuses it for
                if not found.refused:
                    yield student, name, read(found.content)


class _Judged:
    """Finds the kept result of a notebook as it stands now, at whatever level of isolation it was judged."""

    def __init__(self, coursedir: CourseDirectory, assignment: str):
        self.coursedir, self.assignment, root = coursedir, assignment, Path(coursedir.root)
        self.store, self.terms = (
            Store(root),
            Terms(course_files.unit_of(assignment), Course(root).key(assignment), "how", ""),
        )
        self.levels = levels()

    def now(self, student: str, name: str) -> SubmittedNotebook:
        """Rebuilt here, as for grading: for what the formgrader's button graded, and for what is not graded."""
        rebuilt = course_files.load(self.coursedir, self.coursedir.config, self.assignment, student, name)
        graded, level = kept_at_any_level(rebuilt, self.terms, self.levels, self.store)
        self.levels.sort(key=lambda one: one != level)  # the others were probably judged at the same level
        return SubmittedNotebook(
            student, name, graded, tuple(graded.flags if graded else rebuilt.flags), rebuilt.refused
        )


def levels() -> list[str]:
    """The levels of isolation at which this machine may have judged, the strongest first."""
    found = []
    for weak in (False, True):
        with contextlib.suppress(Exception):  # where this machine cannot isolate, nothing was judged at that level here
            found.append(isolation.spec(weak=weak)["level"])
    return list(dict.fromkeys([*found, "none"]))
