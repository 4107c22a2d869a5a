"""Reads the files of a class: settings, released notebooks, and what lies in submitted/. Never writes.

`coursedir` is nbgrader's `CourseDirectory` throughout: it says where in a course root which folder is. No link in
submitted/ is followed.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import glob
import hashlib
import json
import logging
import os
import re
import stat
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import nbformat
from jupyter_core.paths import jupyter_config_path
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions
from traitlets.config import Config, ConfigFileNotFound, PyFileConfigLoader

from autograder.course import Course
from autograder.grading.store import Store
from autograder.grading.submission import reading, rebuilding
from autograder.grading.submission.reading import HandedIn, SubmissionFlag
from autograder.grading.submission.rebuilding import Rebuilt
from autograder.homework import handed_in as homework
from autograder.homework import registry
from autograder.registry import all_exercises

MAX_HASHED = 64 << 20  # bytes of a file that are looked at to see whether it has changed
STRANGE = "it has no student's name (letters, digits, and _ . @ + - or blanks between them)"
_AUTOTEST = "AUTOTEST"
_STUDENT = re.compile(r"[\w@+](?:[\w .@+-]*[\w.@+-])?")


class NoCourseRoot(ValueError):
    """The folder is not the root of a class."""


def settings(course: Path, assignment: str = "", weak: bool = False) -> Config:
    """nbgrader's settings as its own commands find them: the user's and the system's, then those of the course root.

    weak: also where this machine lacks protections. Raises NoCourseRoot.
    """
    course = course.resolve()
    if not (course / "nbgrader_config.py").is_file():
        raise NoCourseRoot(
            f"{course} is no course root: there is no nbgrader_config.py in it (make course-release DIR makes one)"
        )
    config = Config()
    for folder in [*reversed(jupyter_config_path()), str(course)]:
        with contextlib.suppress(ConfigFileNotFound):
            config.merge(PyFileConfigLoader("nbgrader_config.py", path=folder).load_config())
    config.CourseDirectory.assignment_id = assignment
    config.CourseDirectory.setdefault("root", str(course))
    if weak:
        config.Judge.allow_weak_isolation = True
    return config


def unit_of(assignment: str) -> str | None:
    """The unit an assignment is called after; None: it is called otherwise, and its exercises may be of any unit."""
    return assignment if any(exercise.unit == assignment for exercise in all_exercises()) else None


# -- what is graded against -------------------------------------------------------------------------------------------


def source_folder(coursedir: CourseDirectory, assignment: str) -> Path:
    """The folder of an assignment's notebooks with their solutions."""
    return Path(coursedir.format_path(coursedir.source_directory, ".", assignment))


def released(coursedir: CourseDirectory, config: Config, assignment: str, notebook: str) -> NotebookNode:
    """The notebook of source/ without its solutions and mark schemes, with all its tests: what submissions are
    rebuilt from.

    config: of the application (its ClearSolutions counts); a CourseDirectory does not always have all of it.
    Raises FileNotFoundError where source/ has no such notebook.
    """
    path = source_folder(coursedir, assignment) / f"{notebook}.ipynb"
    about = path.stat()
    options = json.dumps(config.get("ClearSolutions", {}), sort_keys=True, default=str)
    found = copy.deepcopy(_without_solutions(str(path), about.st_mtime_ns, about.st_size, options))
    for cell in found.cells:
        # nbgrader has written out these tests when it released them.
        if cell.cell_type == "code" and _AUTOTEST in cell.source:
            cell.source = _source_in_gradebook(coursedir, assignment, notebook, cell) or cell.source
    return found


@functools.lru_cache(maxsize=32)
def _without_solutions(path: str, modified: int, size: int, options: str) -> NotebookNode:
    """modified, size: of the file, so that a changed one is read again."""
    notebook = nbformat.read(path, as_version=4)
    config = Config({"ClearSolutions": json.loads(options)})
    for step in (ClearSolutions, ClearMarkScheme):
        notebook, _ = step(config=config).preprocess(notebook, {})
    students, _ = ClearHiddenTests(config=config).preprocess(copy.deepcopy(notebook), {})
    for cell, shown in zip(notebook.cells, students.cells, strict=True):
        if cell.source != shown.source:
            cell.as_released = shown.source
        marks = cell.metadata.get("nbgrader")
        if marks is not None and not marks.get("grade_id"):
            del cell.metadata["nbgrader"]
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def _source_in_gradebook(coursedir: CourseDirectory, assignment: str, notebook: str, cell: NotebookNode) -> str:
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook, contextlib.suppress(MissingEntry, KeyError):
        return gradebook.find_source_cell(cell.metadata.nbgrader.grade_id, notebook, assignment).source
    return ""


# -- what was handed in -----------------------------------------------------------------------------------------------


def is_student(name: str) -> bool:
    """True for what may be a student's name. The formgrader shows it as HTML, and folders are called by it."""
    return _STUDENT.fullmatch(name) is not None


def submitted_students(coursedir: CourseDirectory, assignment: str) -> list[str]:
    """The students with a folder for this assignment in submitted/, by name."""
    return [name for name in _folders_submitted(coursedir, assignment) if is_student(name)]


def strange_folders(coursedir: CourseDirectory, assignment: str) -> list[str]:
    """The names of folders in submitted/ that are no student's, fit to be shown."""
    found = [name for name in _folders_submitted(coursedir, assignment) if not is_student(name)]
    return [reading.readable_name(name) for name in found]


def _folders_submitted(coursedir: CourseDirectory, assignment: str) -> list[str]:
    pattern = coursedir.format_path(coursedir.submitted_directory, "*", glob.escape(assignment))
    around = pattern.split("*")
    return sorted(path[len(around[0]) : -len(around[1]) or None] for path in glob.glob(pattern) if os.path.isdir(path))


def submitted_folder(coursedir: CourseDirectory, assignment: str, student: str) -> Path:
    """The folder of a student's submission, whether it exists or not."""
    return Path(coursedir.format_path(coursedir.submitted_directory, student, assignment))


def submissions_root(coursedir: CourseDirectory, assignment: str, student: str) -> Path:
    """The folder of all submissions. Below it links are not followed; where it lies itself is the instructor's
    affair."""
    one = submitted_folder(coursedir, assignment, student)
    other = submitted_folder(coursedir, f"{assignment}-", f"{student}-")
    return Path(os.path.commonpath([one, other]))


def submitted_link(coursedir: CourseDirectory, assignment: str, student: str) -> Path | None:
    """The link on the way to a submission, behind which nothing is the student's own; None: there is none."""
    return reading.linked_folder(
        submissions_root(coursedir, assignment, student), submitted_folder(coursedir, assignment, student)
    )


def timestamp_in(folder: Path, log: logging.Logger) -> datetime | None:
    """The time at which a submission was handed in, from the timestamp.txt in its folder; None if there is no such
    file, and None with a line in the log if it holds no date.

    A student may have made that file: a pipe is not waited for, a link not followed, no length of it read.
    """
    path = Path(folder, "timestamp.txt")
    if not os.path.lexists(path):
        return None
    # Refused is a ValueError, and so is what nbgrader says of no date.
    with contextlib.suppress(ValueError, OverflowError):
        text = reading.small_text(path, 200).strip()
        if text:
            return utils.parse_utc(text)
    log.warning("%s holds no date: the submission counts as handed in without one", path)
    return None


def owner_of(coursedir: CourseDirectory, file: Path, about: os.stat_result | None = None) -> str:
    """The place in the course where the same file has another name (a hard link) that students must not have; else
    "". about: of the file, where it is open already."""
    about, root = about or file.lstat(), Path(coursedir.root)
    if about.st_nlink < 2:
        return ""
    private = [
        root / coursedir.source_directory,
        root / "overlay",
        root / coursedir.submitted_directory,
        root / "gradebook.db",
    ]
    for path in (path for place in private for path in (place.rglob("*") if place.is_dir() else [place])):
        with contextlib.suppress(OSError):
            other = path.lstat()
            if (other.st_dev, other.st_ino) == (about.st_dev, about.st_ino) and path.absolute() != file.absolute():
                return str(path.relative_to(root))
    return ""


def notebook_file(coursedir: CourseDirectory, assignment: str, student: str, notebook: str) -> Path:
    """The path of a student's notebook: its own name, or another one where only this notebook can be meant."""
    folder = submitted_folder(coursedir, assignment, student)
    path = folder / f"{notebook}.ipynb"
    expected = _names(source_folder(coursedir, assignment))
    there = _names(folder)
    if notebook not in there and len(there - expected) == 1 and len(expected - there) == 1:
        return folder / f"{(there - expected).pop()}.ipynb"
    return path


def notebooks_to_grade(coursedir: CourseDirectory, assignment: str, student: str) -> list[str]:
    """The notebooks of an assignment that a student handed in. Where none of those handed in is one of them: all, to
    be refused.

    One that asks for the files beside it counts as handed in with those.
    """
    source = source_folder(coursedir, assignment)
    expected = sorted(_names(source))
    there = [name for name in expected if os.path.lexists(notebook_file(coursedir, assignment, student, name))]
    if not there and any(_asks_for_files(str(source / f"{name}.ipynb")) for name in expected):
        return expected
    return there or (expected if _names(submitted_folder(coursedir, assignment, student)) else [])


@functools.cache
def _asks_for_files(path: str) -> frozenset[str]:
    """The parts of a homework that a notebook of source/ checks; none: it is no homework's."""
    cells = nbformat.read(path, as_version=4).cells
    parts = {rebuilding.checked_part(cell.source) for cell in cells if cell.cell_type == "code"}
    return frozenset(parts - {""})


def _names(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.ipynb")}


def handed_in(coursedir: CourseDirectory, assignment: str, student: str, notebook: str) -> HandedIn:
    """A student's submitted notebook, taken in but not looked at. Never fails: what cannot be taken in is refused,
    and only that."""
    try:
        return _handed_in(coursedir, assignment, student, notebook)
    except Exception as error:  # one folder must not keep a class from its grades, its report and its copies
        return HandedIn(refused=f"The folder could not be read ({type(error).__name__}).")


def _handed_in(coursedir: CourseDirectory, assignment: str, student: str, notebook: str) -> HandedIn:
    path = notebook_file(coursedir, assignment, student, notebook)
    given = reading.modules_of(Path(coursedir.format_path(coursedir.release_directory, ".", assignment)))
    renamed = SubmissionFlag(
        "renamed", f"The notebook has another name than it was given: it counts as {notebook}.ipynb."
    )
    root = submissions_root(coursedir, assignment, student)
    flags = [renamed] * (path.stem != notebook)
    if time := Store(Path(coursedir.root)).time_note(assignment, student):
        flags.append(SubmissionFlag("time", f"{time}: the later time counts.", needs_person=True))
    found = HandedIn.at(path, given, flags, root, lambda file: owner_of(coursedir, file))
    asks = _asks_for_files(str(source_folder(coursedir, assignment) / f"{notebook}.ipynb"))
    if asks and found.refused not in (reading.LINKED, reading.BORROWED):
        which = registry.find([assignment, notebook], asks)
        nonce = Course(Path(coursedir.root)).nonce(assignment, student)
        found.files.update(homework.packed(path.parent, which, nonce))
    return found


def load(coursedir: CourseDirectory, config: Config, assignment: str, student: str, notebook: str) -> Rebuilt:
    """A student's submitted notebook, rebuilt. Never fails because of what was submitted."""
    found = handed_in(coursedir, assignment, student, notebook)
    return rebuilding.rebuild_handed_in(released(coursedir, config, assignment, notebook), found)


# -- what has changed -------------------------------------------------------------------------------------------------


def hashes(folder: Path) -> dict[str, str]:
    """Relative name -> what identifies a file's content, a hash of it where it can be read, for all files in a folder.
    Links are not followed."""
    return dict(sorted((str(path.relative_to(folder)), _hash(path)) for path in _files(folder)))


def hashes_of_submission(coursedir: CourseDirectory, assignment: str, student: str) -> dict[str, str]:
    """`hashes` of what a student handed in; behind a link to a folder nothing is looked at, it may lead to the whole
    disk."""
    link = submitted_link(coursedir, assignment, student)
    return {".": f"a link to {os.readlink(link)}"} if link else hashes(submitted_folder(coursedir, assignment, student))


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
