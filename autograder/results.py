"""A class as reports see it: who handed in what, and what the judge said of it. Reads, never judges, never writes.

The judge keeps a result under the hash of everything that decides it (`autograder.submission.digest`), so it is found again from the
submission itself, whoever graded it: the command, nbgrader's own, or the formgrader's button.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from autograder import nbgrader_plugin, submission
from autograder.course import Course
from autograder.marks import Marks, read_marks
from autograder.store import Store
from autograder.submission import Flag, Graded


class NoCourse(ValueError):
    """The folder is no course root, or it lacks what was asked for."""


@dataclass(frozen=True)
class Submitted:
    """One notebook of one student. graded: the judge's result; None where it has not been judged as it stands now, or where the
    judge failed. notebook: as rebuilt. flags: what was noticed when it was rebuilt and judged. refused: why it was not read, or ""."""

    student: str
    name: str
    notebook: NotebookNode
    graded: Graded | None
    flags: tuple[Flag, ...]
    refused: str


def open_course(root: Path) -> CourseDirectory:
    """The course whose root is `root`, with the settings of its nbgrader_config.py. Raises NoCourse."""
    root = root.resolve()
    if not (root / "nbgrader_config.py").is_file():
        raise NoCourse(f"{root} holds no nbgrader_config.py: name the root of a class (`make course-release DIR` makes one)")
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.merge(Config({"CourseDirectory": {"root": str(root)}}))
    return CourseDirectory(config=config)


def marks(coursedir: CourseDirectory, assignment: str) -> Marks:
    """What the gradebook says. Raises NoCourse, `autograder.marks.UnknownAssignment`."""
    database = coursedir.db_url.removeprefix("sqlite:///")
    if coursedir.db_url.startswith("sqlite:///") and not Path(database).exists():
        raise NoCourse(f"there is no gradebook {database}: release and grade an assignment first")
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        return read_marks(gradebook, assignment)


def students(coursedir: CourseDirectory, assignment: str) -> list[str]:
    """Those who have a folder in submitted/ for this assignment, sorted."""
    pattern = Path(coursedir.format_path(coursedir.submitted_directory, "*", assignment))
    return sorted(
        path.parent.name for path in Path(coursedir.root).glob(str(pattern.relative_to(coursedir.root))) if path.is_dir()
    )


def notebooks(coursedir: CourseDirectory, assignment: str) -> list[str]:
    """The notebooks the assignment consists of. Raises NoCourse."""
    folder = Path(coursedir.format_path(coursedir.source_directory, ".", assignment))
    names = sorted(path.stem for path in folder.glob("*.ipynb"))
    if not names:
        raise NoCourse(f"{folder} holds no notebook")
    return names


def source(coursedir: CourseDirectory, assignment: str, notebook: str) -> NotebookNode:
    """The published solution."""
    return nbformat.read(
        Path(coursedir.format_path(coursedir.source_directory, ".", assignment), f"{notebook}.ipynb"), as_version=4
    )


def submitted(coursedir: CourseDirectory, assignment: str, with_results: bool = True) -> Iterator[Submitted]:
    """Every submitted notebook of the class, rebuilt, with what the judge said of it."""
    names = notebooks(coursedir, assignment)
    find = _Kept(coursedir, assignment) if with_results else None
    for student in students(coursedir, assignment):
        for name in names:
            rebuilt = nbgrader_plugin.load(coursedir, coursedir.config, assignment, student, name)
            graded = find(student, name, rebuilt) if find else None
            flags = tuple(graded.flags if graded else rebuilt.flags)
            yield Submitted(student, name, rebuilt.notebook, graded, flags, rebuilt.refused)


class _Kept:
    """Finds the kept result of a rebuilt notebook, at whatever level of isolation it was judged."""

    def __init__(self, coursedir: CourseDirectory, assignment: str):
        self.store, self.assignment = Store(Path(coursedir.root)), assignment
        self.key, self.unit = Course(Path(coursedir.root)).key(assignment), nbgrader_plugin.unit_of(assignment)
        self.levels = levels()

    def __call__(self, student: str, name: str, rebuilt: submission.Rebuilt) -> Graded | None:
        for k, level in enumerate(self.levels):
            kept = self.store.result(submission.digest(rebuilt, self.unit, self.key, level))
            if kept is not None:
                self.levels.insert(0, self.levels.pop(k))  # the others were probably judged at the same level
                with contextlib.suppress(ValueError):
                    return Graded.from_json(kept)
        return None


def levels() -> list[str]:
    """The levels of isolation at which this machine may have judged, the strongest first."""
    found = []
    for weak in (False, True):
        with contextlib.suppress(Exception):  # where this machine cannot isolate, nothing was judged at that level here
            found.append(nbgrader_plugin.level_of(nbgrader_plugin.isolation(weak)))
    return list(dict.fromkeys([*found, "none"]))
