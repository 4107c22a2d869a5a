"""The one who writes what a submission earned: its files into autograded/, its grades into nbgrader's gradebook.

As `nbgrader autograde` leaves them, so that formgrader, feedback, grading by hand and exports find what they look
for, but in one process and without looking for submissions: `write(student, finished)`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from nbgrader import utils
from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

from autograder.course import Course
from autograder.grading import copying, course_files
from autograder.grading.gradebook import enter_grades, enter_nothing, enter_penalty, enter_submission, transaction
from autograder.grading.store import Store
from autograder.grading.submission.finishing import FinishedNotebook


class GradebookWriter:
    """Writes the submissions of one assignment. Owns the open gradebook; whoever calls it holds the course's lock
    (`writing`).

    options: nbgrader's converter, for its settings (create_student, exclude_overwriting, permissions, hooks); it is
    never started.
    """

    def __init__(
        self, coursedir: CourseDirectory, config: Config, assignment: str, gradebook: Gradebook, options: Autograde
    ):
        self.coursedir, self.assignment, self.gradebook, self.options = coursedir, assignment, gradebook, options
        self.penalties = AssignLatePenalties(config=config)
        self.penalties.init_plugin()

    def write(self, student: str, finished: Mapping[str, FinishedNotebook]) -> None:
        """Put the submission's folder and its grades in the place of what stood there. finished: by notebook; all
        that was handed in.

        The gradebook gets all of it or nothing; an error may leave half a folder. Raises OSError, nbgrader's and
        SQLAlchemy's errors.
        """
        folder, given = self.folder(student), course_files.submitted_folder(self.coursedir, self.assignment, student)
        self.options.notebooks = [str(given / f"{name}.ipynb") for name in sorted(finished)]  # what its hooks are told
        if folder.exists():
            copying.remove(folder)
        self.options.run_pre_convert_hook()
        self.copy_files(student)
        for name, notebook in finished.items():
            (folder / f"{name}.ipynb").write_text(notebook.text, encoding="utf-8")
        self.options.set_permissions(self.assignment, student)
        with transaction(self.gradebook):
            submission = self.enter(student)
            for notebook in submission.notebooks:
                if notebook.name in finished:
                    enter_grades(self.gradebook, notebook, finished[notebook.name])
                    late_s, plugin = submission.total_seconds_late, self.penalties.plugin_inst
                    enter_penalty(self.gradebook, notebook, student, late_s, plugin)
        self.options.run_post_convert_hook()

    def enter(self, student: str) -> SubmittedAssignment:
        """Make or update the submission's rows: when it came, how late it may be, no points for notebooks that are
        not there.

        One that is there under another name gets its points when its grades are entered.
        """
        if self.options.create_student:
            self.gradebook.update_or_create_student(student)
        linked = course_files.submitted_link(self.coursedir, self.assignment, student)
        folder = course_files.submitted_folder(self.coursedir, self.assignment, student)
        when = None if linked else course_files.timestamp_in(folder, self.options.log)
        extension = Course(Path(self.coursedir.root)).extensions(self.assignment).get(student)
        submission = enter_submission(self.gradebook, self.assignment, student, when, extension)
        if submission.total_seconds_late > 0:
            self.options.log.warning("%s is %s seconds late", submission, submission.total_seconds_late)
        for notebook in submission.notebooks:
            if not (folder / f"{notebook.name}.ipynb").exists():
                self.options.log.warning("No submitted file: %s.ipynb", folder / notebook.name)
                enter_nothing(notebook)
        return submission

    def folder(self, student: str) -> Path:
        """The submission's folder in autograded/."""
        return Path(self.coursedir.format_path(self.coursedir.autograded_directory, student, self.assignment))

    def copy_files(self, student: str) -> None:
        """Copies the files beside the notebooks: the student's own ordinary ones, then over them those of source/."""
        target = self.folder(student)
        target.mkdir(parents=True, exist_ok=True)
        folder = course_files.submitted_folder(self.coursedir, self.assignment, student)
        with tempfile.TemporaryDirectory(prefix="handed-in-", dir=Store(self.coursedir.root).scratch) as place:
            clean = Path(place, "submission")
            if course_files.submitted_link(self.coursedir, self.assignment, student) is None:
                copy_what_is_ordinary(
                    folder, clean, lambda path, about: bool(course_files.owner_of(self.coursedir, path, about))
                )
            # Looked through only now: the submission itself may lead anywhere and be of any size.
            self._copy(clean, target, ())
        source = course_files.source_folder(self.coursedir, self.assignment)
        self._copy(source, target, self.options.exclude_overwriting.get(self.assignment, ()))

    def _copy(self, folder: Path, target: Path, left_out: Collection[str]) -> None:
        """All files but notebooks and what nbgrader is told to ignore. left_out: more of those, relative to
        `folder`."""
        kept = {os.path.join(folder, name) for name in left_out}
        for path in utils.find_all_files(str(folder), [*self.coursedir.ignore, "*.ipynb"]):
            if path not in kept:
                place = target / os.path.relpath(path, folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.unlink(missing_ok=True)
                shutil.copy(path, place)


@contextlib.contextmanager
def writing(
    coursedir: CourseDirectory, config: Config, assignment: str, options: Autograde | None = None, wait: float = 0.0
) -> Iterator[GradebookWriter]:
    """A writer that holds the course's lock and an open gradebook, in the course root, where hooks and plug-ins expect
    to be. Raises `autograder.grading.store.Busy` after `wait` seconds.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(Store(coursedir.root).lock(f"grades {assignment}", wait))
        stack.enter_context(contextlib.chdir(coursedir.root))
        gradebook = stack.enter_context(Gradebook(coursedir.db_url, coursedir.course_id))
        yield GradebookWriter(
            coursedir, config, assignment, gradebook, options or Autograde(coursedir=coursedir, config=config)
        )


def copy_what_is_ordinary(
    folder: Path, target: Path, foreign: Callable[[Path, os.stat_result], bool] = copying.nobody_elses
) -> None:
    """A submission's folder without its notebooks, which are written anew, and without what must not be copied.
    foreign: of a path and its open file, whether it is somebody else's."""
    copying.Copying(target, foreign, skip=lambda name: name.endswith(".ipynb")).walk(folder)
