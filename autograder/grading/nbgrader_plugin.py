"""The judge as steps of nbgrader: ``nbgrader autograde``, its API and the formgrader's button grade through these.

    from autograder.grading.nbgrader_plugin import configure
    configure(c, Path(__file__).resolve().parent)            # in the course root's nbgrader_config.py

`Rebuild` takes the place of everything nbgrader does to clean a submitted notebook, `Judge` the place of executing
it: no code of a student runs in this process or in a kernel. `SaveScores` enters the points, and `SubmissionExporter`
keeps nbgrader away from students' files. The pages of ``nbgrader generate_feedback`` are `autograder.grading.feedback`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, GetGrades, NbGraderPreprocessor
from traitlets import Bool, Enum, Float
from traitlets.config import Config

from autograder.course import CODE_STUB, OVERLAY, TEXT_STUB, Course
from autograder.grading import course_files, isolation
from autograder.grading.feedback import CardsAlone, FeedbackExporter, Formulas
from autograder.grading.formgrader import careful_formgrader
from autograder.grading.gradebook import enter_grades, notebooks_of, transaction
from autograder.grading.store import Busy, Store
from autograder.grading.submission import finishing, reading
from autograder.grading.submission.finishing import FinishedNotebook, Terms
from autograder.grading.submission.rebuilding import Rebuilt
from autograder.grading.writer import GradebookWriter, writing
from autograder.judging.judge import Runners
from autograder.verdict import HINT_LEVELS
from labkit.launch.launcher import Launcher

IDLE_S = 120.0  # a server that has graded keeps the warm process for so long


def configure(c: Config, root: Path) -> None:
    """Settings of a class: nbgrader's standard layout under `root`, and grading by these steps.

    On a hub the course has the hub's name for it, else it is called like its folder: without a name nbgrader refuses
    every command of its exchange.
    """
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.course_id = (
        os.environ.get("COURSE_ID") or re.sub(r"[^\w.-]+", "_", root.name).strip("._-") or "course"
    )
    c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback"]
    c.ClearSolutions.code_stub = {"python": CODE_STUB}
    c.ClearSolutions.text_stub = TEXT_STUB
    c.Autograde.exporter_class = SubmissionExporter
    c.Autograde.sanitize_preprocessors = [Rebuild]
    # The cells' metadata are the released ones.
    c.Autograde.autograde_preprocessors = [Judge, SaveScores, AssignLatePenalties]
    c.GenerateFeedback.preprocessors = [GetGrades, CardsAlone, Formulas, CSSHTMLHeaderPreprocessor]
    c.GenerateFeedback.exporter_class = FeedbackExporter
    c.ExchangeFactory.collect = "autograder.grading.collecting.Collect"
    os.environ.setdefault(OVERLAY, str(root / "overlay"))
    careful_timestamps()
    careful_formgrader()


def careful_timestamps() -> None:
    """Makes nbgrader take a submission's timestamp.txt for what it is: a file that a student has made.

    It would wait for a pipe of that name, follow a link, read any length of it, and stop over what is no date; there
    is no setting for it.
    """

    def get_existing_timestamp(self: CourseDirectory, folder: str):
        return course_files.timestamp_in(Path(folder), self.log)

    CourseDirectory.get_existing_timestamp = get_existing_timestamp


# -- where it is judged -----------------------------------------------------------------------------------------------


def jail(weak: bool = False) -> dict:
    """The jail's SPEC for submissions (`autograder.grading.isolation`). Raises NbGraderException where this machine
    enforces too little."""
    try:
        return isolation.spec(weak=weak)
    except isolation.WeakIsolation as error:
        raise NbGraderException(str(error)) from None


class _Warm:
    """Owns this process's launcher, started by exec and never forked from here; it ends when unused for `IDLE_S`
    seconds."""

    def __init__(self):
        self.lock = threading.RLock()
        self.runners: Runners | None = None
        self.spec: dict | None = None
        self.timer: threading.Timer | None = None

    @contextlib.contextmanager
    def use(self, spec: dict) -> Iterator[Runners]:
        """Within, this thread alone has the runners of a jail like `spec`."""
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
            if self.runners is None or self.spec != spec:
                self._close()
                self.runners, self.spec = Runners(Launcher(isolation=spec)), spec
            try:
                yield self.runners
            finally:
                self.timer = threading.Timer(IDLE_S, self.close)
                self.timer.daemon = True
                self.timer.start()

    def close(self) -> None:
        """End the launcher's processes, if there are any."""
        with self.lock:
            self._close()

    def _close(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.runners is not None:
            self.runners.close()
            self.runners.launcher.close()
            self.runners = None


_warm = _Warm()
close = _warm.close
atexit.register(close)


# -- the steps --------------------------------------------------------------------------------------------------------


class SubmissionExporter(NotebookExporter):
    """Stands between nbgrader and the files of students: it opens none of them, `Rebuild` reads them as they have to
    be read.

    One submission after another is graded under the course's lock, and a link in a submission is not followed.
    """

    wait_s = Float(10.0, help="Seconds to wait for somebody else who is grading in this course.").tag(config=True)

    def __init__(self, config: Config | None = None, **kwargs):
        super().__init__(config=config, **kwargs)
        if isinstance(self.parent, Autograde):
            _guard(self.parent, self.wait_s)

    def from_filename(self, filename, resources=None, **kwargs):
        """(text, resources) as the steps make them, from an empty notebook: what `filename` holds is not opened."""
        return self.from_notebook_node(nbformat.v4.new_notebook(), resources, **kwargs)


def _guard(converter: Autograde, wait_s: float) -> None:
    """Have this one converter write under the course's lock, and begin a submission as `autograder grade` does.

    nbgrader's own copies what lies behind links. It has a setting neither for that nor for what is to be done around
    a whole run, so two of its public methods are replaced.
    """
    convert, coursedir = converter.convert_notebooks, converter.coursedir
    careful_timestamps()

    def convert_notebooks() -> None:
        jail(Judge(parent=converter.exporter).allow_weak_isolation)  # says so before anything old is removed
        try:
            with writing(coursedir, converter.config, coursedir.assignment_id, converter, wait_s) as writer:
                converter.init_assignment = lambda assignment, student: _begin(converter, writer, student)
                convert()
        except Busy as busy:
            converter.log.error("%s", busy)
            raise NbGraderException(str(busy)) from None

    converter.convert_notebooks = convert_notebooks


def _begin(converter: Autograde, writer: GradebookWriter, student: str) -> None:
    """Files and rows of a submission, and which of its notebooks are to be converted. Raises NbGraderException where
    none is known."""
    if not course_files.is_student(student):
        raise NbGraderException(f"{reading.readable_name(student)} is left out: {course_files.STRANGE}")
    names = course_files.notebooks_to_grade(writer.coursedir, writer.assignment, student)
    try:
        with transaction(writer.gradebook):
            known = notebooks_of(writer.gradebook, writer.assignment)
            writer.enter(student)
    except MissingEntry as error:
        raise NbGraderException(str(error)) from None
    folder = course_files.submitted_folder(writer.coursedir, writer.assignment, student)
    converter.notebooks = [str(folder / f"{name}.ipynb") for name in names if name in known]
    if not converter.notebooks:
        raise NbGraderException(f"nothing in {folder} is called {' or '.join(f'{name}.ipynb' for name in known)}")
    writer.copy_files(student)


class _Step(NbGraderPreprocessor):
    """A step that knows its course."""

    @property
    def coursedir(self) -> CourseDirectory:
        """nbgrader's, of the application that runs this step, or one made from the settings."""
        converter = getattr(self.parent, "parent", None)
        found = getattr(converter, "coursedir", None)
        return found if found is not None else CourseDirectory(config=self.config)

    def load(self, resources) -> Rebuilt:
        """The submission that `resources` names, rebuilt."""
        told = resources["nbgrader"]
        return course_files.load(self.coursedir, self.config, told["assignment"], told["student"], told["notebook"])


class Rebuild(_Step):
    """The released notebook with the student's answers in it takes the place of whatever was submitted."""

    def preprocess(self, nb, resources):
        return self.load(resources).notebook, resources


class Judge(_Step):
    """Puts a card and the points into every cell that earns some: from the kept results, or judged now."""

    hints = Enum(list(HINT_LEVELS), "how", help="How much a card tells the student.").tag(config=True)
    allow_weak_isolation = Bool(False, help="Grade although this machine cannot enforce every protection.").tag(
        config=True
    )

    def preprocess(self, nb, resources):
        told = resources["nbgrader"]
        done = self.finished(self.load(resources), told["assignment"])
        for flag in done.graded.flags:
            self.log.warning("%s, %s: %s", told["student"], told["notebook"], flag.sentence)
        resources["autograder"] = done
        return nbformat.v4.reads(done.text), resources

    def finished(self, rebuilt: Rebuilt, assignment: str) -> FinishedNotebook:
        """A rebuilt notebook of this course as it is written. Raises what
        `autograder.grading.submission.finishing.finished` raises."""
        root, spec = Path(self.coursedir.root), jail(self.allow_weak_isolation)
        terms = Terms(course_files.unit_of(assignment), Course(root).key(assignment), self.hints, spec["level"])
        return finishing.finished(rebuilt, terms, Store(root), lambda: _warm.use(spec))


class SaveScores(_Step):
    """Enters the points that `Judge` has found. What only a person can decide is marked for one."""

    def preprocess(self, nb, resources):
        told = resources["nbgrader"]
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook, transaction(gradebook):
            row = gradebook.find_submission_notebook(told["notebook"], told["assignment"], told["student"])
            enter_grades(gradebook, row, resources["autograder"])
        return nb, resources
