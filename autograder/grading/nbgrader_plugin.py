"""The judge as steps of nbgrader: ``nbgrader autograde``, its API and the formgrader's button grade through these.

    from autograder.grading.nbgrader_plugin import configure
    configure(c, Path(__file__).resolve().parent)            # in the course root's nbgrader_config.py

`Rebuild` takes the place of everything nbgrader does to clean a submitted notebook, `Judge` the place of executing it: no code of a student
runs in this process or in a kernel. Scores and cards stand in the notebook's cells, where nbgrader looks for them.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import functools
import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.converters import Autograde, autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import (
    AssignLatePenalties,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearSolutions,
    NbGraderPreprocessor,
    SaveAutoGrades,
)
from sqlalchemy import select
from traitlets import Bool, Enum, Float
from traitlets.config import Config

from autograder.course import CODE_STUB, OVERLAY, TEXT_STUB, Course
from autograder.grading import isolation
from autograder.grading.store import Busy, Store
from autograder.grading.submission import carding, identity, judging, reading, rebuilding
from autograder.grading.submission.grades import Graded
from autograder.grading.submission.reading import Flag, HandedIn
from autograder.grading.submission.rebuilding import Rebuilt
from autograder.homework import handed_in as homework
from autograder.judging.judge import Runners
from autograder.registry import all_exercises
from autograder.verdict import HINT_LEVELS
from labkit.launch.launcher import Launcher

IDLE_S = 120.0  # a server that has graded keeps the warm process for so long
_AUTOTEST = "AUTOTEST"


def configure(c: Config, root: Path) -> None:
    """Settings of a class: nbgrader's standard layout under `root`, and grading by these steps.

    On a hub the course has the hub's name for it, else it is called like its folder: without a name nbgrader refuses every command of
    its exchange.
    """
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.course_id = os.environ.get("COURSE_ID") or re.sub(r"[^\w.-]+", "_", root.name).strip("._-") or "course"
    c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback"]
    c.ClearSolutions.code_stub = {"python": CODE_STUB}
    c.ClearSolutions.text_stub = TEXT_STUB
    c.Autograde.exporter_class = SubmissionExporter
    c.Autograde.sanitize_preprocessors = [Rebuild]
    c.Autograde.autograde_preprocessors = [Judge, SaveScores, AssignLatePenalties]  # the cells' metadata are the released ones
    c.ExchangeFactory.collect = "autograder.grading.collecting.Collect"
    os.environ.setdefault(OVERLAY, str(root / "overlay"))
    careful_timestamps()


def careful_timestamps() -> None:
    """From here on nbgrader takes a submission's timestamp.txt for what it is: a file that a student has made.

    It would wait for a pipe of that name, follow a link, read any length of it, and stop over what is no date.
    """

    def get_existing_timestamp(self: CourseDirectory, folder: str):
        path = Path(folder, "timestamp.txt")
        if not os.path.lexists(path):
            return None
        try:
            text = reading.small_text(path, 200).strip()
            return utils.parse_utc(text) if text else None
        except (ValueError, OverflowError):  # Refused is one, and so is what nbgrader 0.9.6 says of no date
            self.log.warning("%s holds no date: the submission counts as handed in without one", path)
            return None

    CourseDirectory.get_existing_timestamp = get_existing_timestamp


# -- what is graded against -----------------------------------------------------------------------------------------------------------


def released(coursedir: CourseDirectory, config: Config, assignment: str, notebook: str) -> NotebookNode:
    """The notebook of source/ without its solutions and mark schemes, with all its tests: what submissions are rebuilt from.

    config: of the application (its ClearSolutions counts); a CourseDirectory does not always have all of it.
    Raises FileNotFoundError where source/ has no such notebook.
    """
    path = Path(coursedir.format_path(coursedir.source_directory, ".", assignment), f"{notebook}.ipynb")
    about = path.stat()
    settings = json.dumps(config.get("ClearSolutions", {}), sort_keys=True, default=str)
    found = copy.deepcopy(_without_solutions(str(path), about.st_mtime_ns, about.st_size, settings))
    for cell in found.cells:
        if cell.cell_type == "code" and _AUTOTEST in cell.source:  # nbgrader has written out these tests when it released them
            cell.source = _source_in_gradebook(coursedir, assignment, notebook, cell) or cell.source
    return found


@functools.lru_cache(maxsize=32)
def _without_solutions(path: str, modified: int, size: int, settings: str) -> NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    config = Config({"ClearSolutions": json.loads(settings)})
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


def submitted_folder(coursedir: CourseDirectory, assignment: str, student: str) -> Path:
    return Path(coursedir.format_path(coursedir.submitted_directory, student, assignment))


def submissions_root(coursedir: CourseDirectory, assignment: str, student: str) -> Path:
    """The folder of all submissions. Below it links are not followed; where it lies itself is the instructor's affair."""
    one = submitted_folder(coursedir, assignment, student)
    other = submitted_folder(coursedir, f"{assignment}-", f"{student}-")
    return Path(os.path.commonpath([one, other]))


def owner_of(coursedir: CourseDirectory, file: Path) -> str:
    """Where in the course the same file lies under another name (a hard link), as far as students must not have it there; "" if nowhere."""
    about, root = file.lstat(), Path(coursedir.root)
    if about.st_nlink < 2:
        return ""
    private = [root / coursedir.source_directory, root / "overlay", root / coursedir.submitted_directory, root / "gradebook.db"]
    for path in (path for place in private for path in (place.rglob("*") if place.is_dir() else [place])):
        with contextlib.suppress(OSError):
            other = path.lstat()
            if (other.st_dev, other.st_ino) == (about.st_dev, about.st_ino) and path.absolute() != file.absolute():
                return str(path.relative_to(root))
    return ""


def _borrowed(coursedir: CourseDirectory, folder: Path) -> list[Path]:
    """Files in a submission that are others' (`owner_of`)."""
    files = [path for path in folder.rglob("*") if not path.is_symlink() and path.is_file()]
    return [path for path in files[: reading.MAX_FILES] if owner_of(coursedir, path)]


def notebook_file(coursedir: CourseDirectory, assignment: str, student: str, notebook: str) -> Path:
    """Where a student's notebook is: under its own name, or under another one where only this one can be meant."""
    folder = submitted_folder(coursedir, assignment, student)
    path = folder / f"{notebook}.ipynb"
    expected = _names(Path(coursedir.format_path(coursedir.source_directory, ".", assignment)))
    there = _names(folder)
    if notebook not in there and len(there - expected) == 1 and len(expected - there) == 1:
        return folder / f"{(there - expected).pop()}.ipynb"
    return path


def notebooks_to_grade(coursedir: CourseDirectory, assignment: str, student: str) -> list[str]:
    """The notebooks of an assignment that a student handed in. Where none of those handed in is one of them: all, to be refused.

    One that asks for the files beside it counts as handed in with those.
    """
    source = Path(coursedir.format_path(coursedir.source_directory, ".", assignment))
    expected = sorted(_names(source))
    there = [name for name in expected if os.path.lexists(notebook_file(coursedir, assignment, student, name))]
    if not there and any(_asks_for_files(str(source / f"{name}.ipynb")) for name in expected):
        return expected
    return there or (expected if _names(submitted_folder(coursedir, assignment, student)) else [])


@functools.cache
def _asks_for_files(path: str) -> bool:
    """Whether a notebook of source/ has a check of the homework."""
    return any(
        rebuilding.checked_part(cell.source) for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
    )


def _names(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.ipynb")}


def handed_in(coursedir: CourseDirectory, assignment: str, student: str, notebook: str) -> HandedIn:
    """A student's submitted notebook, taken in but not looked at. Never fails: what cannot be taken in is refused, and only that."""
    try:
        return _handed_in(coursedir, assignment, student, notebook)
    except Exception as error:  # one folder must not keep a class from its grades, its report and its copies
        return HandedIn(refused=f"The folder could not be read ({type(error).__name__}).")


def _handed_in(coursedir: CourseDirectory, assignment: str, student: str, notebook: str) -> HandedIn:
    path = notebook_file(coursedir, assignment, student, notebook)
    given = reading.modules_of(Path(coursedir.format_path(coursedir.release_directory, ".", assignment)))
    renamed = Flag("renamed", f"The notebook has another name than it was given: it counts as {notebook}.ipynb.")
    root = submissions_root(coursedir, assignment, student)
    found = HandedIn.at(path, given, [renamed] * (path.stem != notebook), root, lambda file: owner_of(coursedir, file))
    if found.refused not in (reading.LINKED, reading.BORROWED) and _asks_for_files(
        str(Path(coursedir.format_path(coursedir.source_directory, ".", assignment), f"{notebook}.ipynb"))
    ):
        found.files.update(homework.packed(path.parent, Course(Path(coursedir.root)).nonce(assignment, student)))
    return found


def load(coursedir: CourseDirectory, config: Config, assignment: str, student: str, notebook: str) -> Rebuilt:
    """A student's submitted notebook, rebuilt. Never fails because of what was submitted."""
    found = handed_in(coursedir, assignment, student, notebook)
    return rebuilding.rebuild_handed_in(released(coursedir, config, assignment, notebook), found)


def unit_of(assignment: str) -> str | None:
    """The unit an assignment is called after; None: it is called otherwise, and its exercises may be of any unit."""
    return assignment if any(exercise.unit == assignment for exercise in all_exercises()) else None


# -- where it is judged ---------------------------------------------------------------------------------------------------------------


def jail(weak: bool = False) -> dict:
    """How submissions are shut in on this machine (`autograder.grading.isolation`). Raises NbGraderException where that is too little."""
    try:
        return isolation.spec(weak=weak)
    except isolation.WeakIsolation as error:
        raise NbGraderException(str(error)) from None


class _Warm:
    """This process's launcher. It is started by exec, never forked from here, and ends when nobody has used it for a while."""

    def __init__(self):
        self.lock = threading.RLock()
        self.runners: Runners | None = None
        self.spec: dict | None = None
        self.timer: threading.Timer | None = None

    @contextlib.contextmanager
    def use(self, spec: dict) -> Iterator[Runners]:
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


# -- the steps ------------------------------------------------------------------------------------------------------------------------


class SubmissionExporter(NotebookExporter):
    """Stands between nbgrader and the files of students: it opens none of them, `Rebuild` reads them as they have to be read.

    One submission after another is graded under the course's lock, and a link in a submission is not followed.
    """

    wait_s = Float(10.0, help="Seconds to wait for somebody else who is grading in this course.").tag(config=True)

    def __init__(self, config: Config | None = None, **kwargs):
        super().__init__(config=config, **kwargs)
        if isinstance(self.parent, Autograde):
            _guard(self.parent, self.wait_s)

    def from_filename(self, filename, resources=None, **kwargs):
        self._text, self._noted = "", None
        return self.from_notebook_node(nbformat.v4.new_notebook(), resources, **kwargs)

    def note(self, text: str) -> NotebookNode:
        """A notebook that is checked and written already (`autograder.grading.submission.carding.written`). As long as no step changes it, it is not
        checked and written again."""
        self._text, self._noted = text, nbformat.v4.reads(text)
        return nbformat.v4.reads(text)

    def _validate_preprocessor(self, nbc, preprocessor):
        if nbc != self._noted:
            super()._validate_preprocessor(nbc, preprocessor)

    def from_notebook_node(self, nb, resources=None, **kwargs):
        """(text, resources), as NotebookExporter."""
        notebook, resources = super(NotebookExporter, self).from_notebook_node(nb, resources, **kwargs)
        resources["output_suffix"] = ".nbconvert"
        return (self._text if notebook == self._noted else nbformat.writes(notebook, version=4) + "\n"), resources


def _guard(converter: Autograde, wait_s: float) -> None:
    """nbgrader offers no place before and after a whole run, so its two methods are wrapped for this one converter."""
    convert, init = converter.convert_notebooks, converter.init_assignment
    coursedir = converter.coursedir
    careful_timestamps()

    def convert_notebooks() -> None:
        jail(Judge(parent=converter.exporter).allow_weak_isolation)  # says so before anything old is removed
        try:
            with Store(coursedir.root).lock(f"grades {coursedir.assignment_id}", wait_s):
                convert()
        except Busy as busy:
            converter.log.error("%s", busy)
            raise NbGraderException(str(busy)) from None

    def init_assignment(assignment_id: str, student_id: str) -> None:
        folder = submitted_folder(coursedir, assignment_id, student_id)
        names = notebooks_to_grade(coursedir, assignment_id, student_id)
        converter.notebooks = [str(folder / f"{name}.ipynb") for name in names] or converter.notebooks
        linked = reading.linked_folder(submissions_root(coursedir, assignment_id, student_id), folder)
        format_source = converter._format_source
        with tempfile.TemporaryDirectory(prefix="handed-in-", dir=Store(coursedir.root).scratch) as place:
            clean = os.path.join(place, "submission")
            if linked:
                os.mkdir(clean)
            else:
                _copy_what_is_ordinary(folder, clean, _borrowed(coursedir, folder))
            # nbgrader looks through it for what to copy: at all that lies behind a link, and at each file once for each thing to ignore
            converter._format_source = lambda *_, **__: clean
            try:
                init(assignment_id, student_id)
            finally:
                converter._format_source = format_source
        extension = Course(Path(coursedir.root)).extensions(assignment_id).get(student_id)
        with autograde.Gradebook(
            coursedir.db_url, coursedir.course_id
        ) as gradebook:  # the one that stays open, where there is one
            submitted = gradebook.find_submission(assignment_id, student_id)
            if submitted.extension != extension:
                submitted.extension = extension
                gradebook.db.commit()

    converter.convert_notebooks, converter.init_assignment = convert_notebooks, init_assignment


def _copy_what_is_ordinary(folder: Path, target: str, unwanted: list[Path]) -> None:
    """A submission's folder without its notebooks, which are written anew, and without what must not be copied."""
    odd = {str(path) for path in [*reading.odd_files(folder, shut=True), *unwanted]}

    def left_out(place: str, names: list[str]) -> set[str]:
        return {name for name in names if os.path.join(place, name) in odd or name.endswith(".ipynb")}

    shutil.copytree(folder, target, symlinks=True, ignore=left_out)


@dataclass(frozen=True)
class Finished:
    """A notebook that only has to be put into the gradebook and into autograded/. text: of its file. answers: as in `Rebuilt`."""

    graded: Graded
    answers: dict[str, bool]
    text: str


finished: dict[tuple[str, str, str], Finished] = {}  # (assignment, student, notebook) -> what `autograder.grading` has had judged


class _Step(NbGraderPreprocessor):
    """A step that knows its course."""

    @property
    def coursedir(self) -> CourseDirectory:
        converter = getattr(self.parent, "parent", None)
        found = getattr(converter, "coursedir", None)
        return found if found is not None else CourseDirectory(config=self.config)

    def load(self, resources) -> Rebuilt:
        told = resources["nbgrader"]
        return load(self.coursedir, self.config, told["assignment"], told["student"], told["notebook"])


class Rebuild(_Step):
    """The released notebook with the student's answers in it takes the place of whatever was submitted."""

    def preprocess(self, nb, resources):
        return self.load(resources).notebook, resources


class Judge(_Step):
    """Puts a card and the points into every cell that earns some: from the kept results, or judged now."""

    hints = Enum(list(HINT_LEVELS), "how", help="How much a card tells the student.").tag(config=True)
    allow_weak_isolation = Bool(False, help="Grade although this machine cannot enforce every protection.").tag(config=True)

    def preprocess(self, nb, resources):
        told = resources["nbgrader"]
        done = finished.get((told["assignment"], told["student"], told["notebook"])) or self.finish(resources)
        for flag in done.graded.flags:
            self.log.warning("%s, %s: %s", told["student"], told["notebook"], flag.sentence)
        resources["autograder"] = {"graded": done.graded, "answers": done.answers}
        if isinstance(self.parent, SubmissionExporter):
            return self.parent.note(done.text), resources
        return nbformat.v4.reads(done.text), resources

    def finish(self, resources) -> Finished:
        rebuilt = self.load(resources)
        graded = self.graded(rebuilt, resources["nbgrader"]["assignment"])
        return Finished(graded, rebuilt.answers, carding.written(carding.carded(rebuilt, graded, self.hints)))

    def graded(self, rebuilt: Rebuilt, assignment: str) -> Graded:
        """The result of a rebuilt notebook; a result that a failure of ours decided is not kept."""
        root = Path(self.coursedir.root)
        store, key, unit = Store(root), Course(root).key(assignment), unit_of(assignment)
        spec = jail(self.allow_weak_isolation)
        digest = identity.digest(rebuilt, unit, key, spec["level"])
        kept = identity.kept_result(store, digest)
        if kept is not None:
            return kept
        with _warm.use(spec) as runners:
            graded = judging.judge(rebuilt, unit, runners, key=key, hints=self.hints)
        if not any(item.fault for item in graded.items):
            store.keep_result(digest, graded.to_json())
        return graded


class SaveScores(SaveAutoGrades):
    """nbgrader's own step, which reads the points from the cells. What only a person can decide is marked for one.

    nbgrader looks for the row of every cell by itself, and commits after it; here they are looked up and saved together.
    """

    def preprocess(self, nb, resources):
        told = resources.get("autograder", {})
        items = told["graded"].items if "graded" in told else []
        self.for_a_person = {item.grade_id for item in items if item.fault or item.waits}
        self.extra = {item.grade_id: item.extra for item in items if item.homework is not None and not item.max_points}
        self.answers = told.get("answers", {})
        self.rows: dict[type, dict[str, Grade | Comment]] = {}
        self.last = len(nb.cells) - 1
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell, resources, cell_index):
        done = super().preprocess_cell(cell, resources, cell_index)
        if cell_index == self.last:
            self.gradebook.db.commit()
        return done

    def _add_score(self, cell, resources):
        grade_id = cell.metadata["nbgrader"]["grade_id"]
        grade = self._row(Grade, grade_id)
        grade.auto_score, _ = utils.determine_grade(cell, self.log)
        in_doubt = grade.manual_score is not None or grade.auto_score is None or grade_id in self.for_a_person
        grade.needs_manual_grade = in_doubt
        grade.extra_credit = self.extra.get(grade_id, grade.extra_credit)

    def _add_comment(self, cell, resources):
        grade_id = cell.metadata["nbgrader"]["grade_id"]
        comment = self._row(Comment, grade_id)
        comment.auto_comment = "No response." if self.answers.get(grade_id) is False and not utils.is_task(cell) else None

    def _row(self, kind: type, grade_id: str) -> Grade | Comment:
        """Raises nbgrader's MissingEntry."""
        if kind not in self.rows:
            query = (
                select(BaseCell.name, kind)
                .join(BaseCell, BaseCell.id == kind.cell_id)
                .join(SubmittedNotebook, SubmittedNotebook.id == kind.notebook_id)
                .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
                .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
                .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
                .where(Notebook.name == self.notebook_id, Assignment.name == self.assignment_id)
                .where(SubmittedAssignment.student_id == self.student_id)
            )
            self.rows[kind] = dict(self.gradebook.db.execute(query).all())
        if grade_id not in self.rows[kind]:
            raise MissingEntry(f"No such cell in the gradebook: {self.assignment_id}/{self.notebook_id}/{grade_id}")
        return self.rows[kind][grade_id]
