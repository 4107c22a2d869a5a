"""The homework in nbgrader: given out without what students are to make, graded with the files beside the notebook, and
fed back.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bank_homework.folders import FOLDERS, forget_base
from machine import needs
from released_course import course_release

pytest.importorskip("nbgrader.apps.api")
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import PyFileConfigLoader

from autograder.check import CheckFailed, check_homework
from autograder.course import Course
from autograder.grading import nbgrader_plugin, pool
from autograder.grading import run as grading
from autograder.grading.run import GradingOptions
from autograder.grading.submission import rebuilding
from autograder.homework import handed_in, rubric
from autograder.homework.mnist import SCALING_MNIST
from autograder.homework.mnist_rubric import RUBRIC
from autograder.reports.report import report_of
from autograder.reports.results import open_course

pytestmark = [
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning"),  # nbgrader's about its own models
    pytest.mark.timeout(600),  # a script is run on one, two and three ranks
]
ROOT = Path(__file__).resolve().parents[3]
NAME = "scaling_mnist"
CHECKS = {"port": "check_port", "scaling": "check_scaling", "plots": "check_plots", "bonus": "check_warmup"}
SCRIPT = "<script>document.title = 'hacked'</script>"


def hand_in(root: Path, student: str, folder: str, *, notebook: bool = True, script: bool = True) -> Path:
    """A folder of the bank, with the released notebook and a discussion in it."""
    place = FOLDERS[folder].make(root / "submitted" / student / NAME)
    if notebook:
        released = nbformat.read(root / "release" / NAME / f"{NAME}.ipynb", as_version=4)
        next(
            c for c in released.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "discussion"
        ).source = "All-reduce."
        nbformat.write(released, place / f"{NAME}.ipynb")
    if not script:
        (place / "tensorflow2_mnist_hvd.py").unlink()
    return place


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A class of five, graded. ada did everything, and the bonus, with our finished script, and so did eve with
    PyTorch; the others did not hand in a script, so that no ranks have to run.
    """
    root = tmp_path_factory.mktemp("class") / "dl"
    made = course_release(root, "--units", NAME)
    assert made.returncode == 0, made.stderr
    with (root / "nbgrader_config.py").open("a") as file:
        file.write("c.Judge.allow_weak_isolation = True\n")
    try:
        finished = ROOT / "solutions" / NAME / "tensorflow2_mnist_hvd.py"
        shutil.copy(finished, hand_in(root, "ada", "right_warmup"))
        ben = hand_in(root, "ben", "wrong_fabricated_table", script=False)
        hand_in(root, "chloe", "wrong_svg", script=False, notebook=False)
        dario = hand_in(root, "dario", "wrong_another_nonce", script=False)
        hand_in(root, "eve", "right_ddp_reference")
        (ben / "accuracy_8.pdf").unlink()
        (ben / "accuracy_8.pdf").symlink_to("/etc/passwd")
        (dario / f"scaling{SCRIPT.replace('/', '')}.csv").write_text(SCRIPT)
        with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
            gradebook.update_or_create_student("dario")
        Course(root).give_nonces(NAME, ["dario"])
        report = grading.grade(root, GradingOptions(NAME, workers=2, weak=True))
        assert {line.student: line.how for line in report.submissions} == dict.fromkeys(
            ("ada", "ben", "chloe", "dario", "eve"), "graded"
        ), report
        return root
    finally:
        forget_base()


def grades(root: Path, student: str) -> dict[str, tuple[float | None, float | None, bool]]:
    """cell -> (points, extra credit, whether a person must look)."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        found = gradebook.find_submission(NAME, student)
        return {
            g.name: (g.auto_score, g.extra_credit, bool(g.needs_manual_grade))
            for n in found.notebooks
            for g in n.grades
        }


def noticed(root: Path, student: str) -> str:
    return next(cell.source for cell in shown(root, student).cells if cell.id == "overview")


def shown(root: Path, student: str) -> nbformat.NotebookNode:
    return nbformat.read(root / "autograded" / student / NAME / f"{NAME}.ipynb", as_version=4)


# -- given out ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["source", "release", "student/homework"])
def test_what_students_are_to_make_is_not_there(root, where):
    """nbgrader releases all of source/, and copies it over what students hand in."""
    assert {path.name for path in (root / where / NAME).rglob("*")} == {
        f"{NAME}.ipynb",
        "README.md",
        "tensorflow2_mnist.py",
        "torch_mnist.py",
    }
    finished = (ROOT / "solutions" / NAME / "tensorflow2_mnist_hvd.py").read_text()
    line = next(line.strip() for line in finished.splitlines() if "DistributedGradientTape(" in line)
    for path in (root / where).rglob("*.py"):
        assert line not in path.read_text()


def test_nbgrader_with_its_gradebook_releases_what_lies_in_homework(root):
    made = {path.name: path.read_bytes() for path in (root / "release" / NAME).iterdir()}
    assert made == {path.name: path.read_bytes() for path in (ROOT / "homework" / NAME).iterdir()}


def test_the_students_tree_can_check_the_homework(root):
    assert not (root / "student" / "notebooks" / NAME).exists()
    program = "from autograder.homework import judge_files, handed_in; from autograder import check_homework"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root / "student",
        env={**os.environ, "PYTHONPATH": str(root / "student")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


# -- graded ------------------------------------------------------------------------------------------------------------


@needs("horovod")
def test_everything_right_earns_everything_and_the_bonus_on_top(root):
    found = grades(root, "ada")
    assert {name: found[cell] for name, cell in CHECKS.items()} == {
        "port": (50.0, None, False),
        "scaling": (25.0, None, False),
        "plots": (25.0, None, False),
        "bonus": (0.0, 5.0, False),
    }
    assert found["discussion"] == (None, None, True), "a person reads it"
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        assert gradebook.find_submission(NAME, "ada").score == 105.0


def test_a_port_to_torch_distributed_earns_the_same(root):
    found = grades(root, "eve")
    assert [found[CHECKS[part]][0] for part in ("port", "scaling", "plots")] == [50.0, 25.0, 25.0]
    assert found[CHECKS["bonus"]] == (0.0, 5.0, False)


def test_points_follow_the_rubric(root):
    found = grades(root, "ben")
    assert found[CHECKS["port"]][:2] == (0.0, None) and found[CHECKS["bonus"]][:2] == (0.0, 0.0)
    assert 0 < found[CHECKS["scaling"]][0] < 15
    assert 0 < found[CHECKS["plots"]][0] < 25, "the link to /etc/passwd counts as no figure"


def test_files_without_a_notebook_are_judged(root):
    found = grades(root, "chloe")
    assert found[CHECKS["scaling"]] == (25.0, None, False)
    assert found[CHECKS["plots"]] == (20.0, None, True), "what cannot be read waits for a person"
    assert "No notebook was handed in" in noticed(root, "chloe")


def test_what_is_suspicious_is_for_a_person_and_costs_nothing(root):
    assert grades(root, "dario")[CHECKS["scaling"]] == (25.0, None, False)
    assert "code" in noticed(root, "dario")
    assert "code" not in noticed(root, "ben"), "no code was given to ben"


def test_links_are_not_followed(root):
    assert not (root / "autograded/ben" / NAME / "accuracy_8.pdf").exists()
    assert "root:" not in (root / "autograded/ben" / NAME / f"{NAME}.ipynb").read_text()


@needs("horovod")
def test_again_nothing_is_judged(root):
    class Nobody(pool.SubmissionPool):
        def submit(self, student: str, request: dict) -> None:
            raise AssertionError(f"{student} was judged again")

    report = grading.grade(root, GradingOptions(NAME, weak=True), pool=lambda _: Nobody(1))
    assert {line.how for line in report.submissions} == {"unchanged"}
    path = root / "submitted/ada" / NAME / f"{NAME}.ipynb"
    path.write_text(path.read_text().replace("All-reduce.", "The all-reduce."))
    report = grading.grade(root, GradingOptions(NAME, weak=True, students=("ada",)))
    assert {line.student: line.how for line in report.submissions} == {"ada": "kept"}, (
        "another discussion is not another port"
    )
    assert grades(root, "ada")[CHECKS["bonus"]] == (0.0, 5.0, False)


def test_the_formgraders_button_says_the_same(root):
    before = grades(root, "ben")
    os.environ.setdefault("COURSE_OVERLAY", str(root / "overlay"))
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    with contextlib.closing(nbgrader_plugin):
        done = NbGraderAPI(CourseDirectory(config=config), config=config).autograde(NAME, "ben")
    assert done["success"], done
    assert grades(root, "ben") == before


def test_feedback_holds_the_page(root):
    command = [sys.executable, "-m", "nbgrader", "generate_feedback", NAME, f"--CourseDirectory.root={root}"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=150, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    page = (root / "feedback/ben" / NAME / f"{NAME}.html").read_text()
    for said in (RUBRIC.line("speedup").title, "perfect scaling assumed", "data:image/"):
        assert said in page, said
    for student in ("ada", "ben", "chloe", "dario", "eve"):
        assert SCRIPT not in (root / "feedback" / student / NAME / f"{NAME}.html").read_text()


def test_the_report_on_the_class(root):
    made = report_of(open_course(root), NAME)
    todo = {(one.student, one.why) for one in made.todo}
    for student, word in (("chloe", "wait for a person"), ("dario", "code")):
        assert any(who == student and word in why for who, why in todo), todo
    shared = {who for who, why in todo if "handed in, too" in why}
    assert shared == {"ben", "chloe", "eve"}, "they handed in the bank's run logs; the others' are of other runs"
    mistakes = {mistake.name: mistake.students for exercise in made.exercises for mistake in exercise.mistakes}
    assert mistakes["perfect_scaling_assumed"] == ("ben",) and set(mistakes["missing_file"]) == {
        "ben",
        "chloe",
        "dario",
    }


# -- codes -------------------------------------------------------------------------------------------------------------


def test_each_student_has_a_code_of_their_own(tmp_path):
    course = Course(tmp_path)
    assert course.nonce(NAME, "ada") == "", "nobody was given one"
    given = course.give_nonces(NAME, ["ada", "zoë, the second"])
    assert len(set(given.values())) == 2 and all(re.fullmatch("[0-9a-f]{12}", code) for code in given.values())
    assert {student: course.nonce(NAME, student) for student in given} == given
    assert course.nonce(NAME, "ben") == ""
    assert course.give_nonces(NAME, ["ben", "ada"])["ada"] == given["ada"], "who had one keeps it"
    assert stat.S_IMODE(course.nonce_file(NAME).stat().st_mode) == 0o600
    assert course.key(NAME)[:12] not in given.values()


def test_the_command_for_codes(root):
    program = "from autograder.cli import main; main()"

    def nonces(assignment: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", program, "nonces", assignment, "--course", str(root)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)

    assert nonces("no_such_thing").returncode == 2
    assert nonces("01_mpi_pi").returncode == 2, "nothing there bears a code"
    assert nonces(NAME).returncode == 0
    lines = (root / "overlay/nonces" / f"{NAME}.csv").read_text().splitlines()
    assert lines[0] == "student,nonce" and {line.split(",")[0] for line in lines[1:]} == {
        "ada",
        "ben",
        "chloe",
        "dario",
        "eve",
    }


# -- in a notebook -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ('check_homework("plots")', "plots"),
        ('from autograder.check import check_homework\n\ncheck_homework("port")', "port"),
        ('check_homework("essay")', ""),
        ("check_homework(part)", ""),
        ('print(1)\ncheck_homework("plots")', ""),
        ('check("plots")', ""),
        ("check_homework(", ""),
    ],
)
def test_which_cells_ask_for_the_files(source, part):
    assert rebuilding.checked_part(source) == part
    assert not (part and rebuilding.checked_function(source))


def test_the_students_own_check(tmp_path, monkeypatch, warm):
    FOLDERS["wrong_fabricated_table"].make(tmp_path / "mine")
    forget_base()
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(CheckFailed, match="scaling"):
        check_homework("scaling", tmp_path / "mine")
    assert RUBRIC.line("speedup").title in said.getvalue()
    monkeypatch.delenv("NBGRADER_EXECUTION")
    with contextlib.redirect_stdout(said):
        check_homework("scaling", tmp_path / "mine")
        check_homework("essay", tmp_path / "mine")
        check_homework("plots", tmp_path / "nowhere")
    assert "choose one of" in said.getvalue() and "there is no folder" in said.getvalue()


# -- on the way to the judge -------------------------------------------------------------------------------------------


def test_files_travel_as_they_are(tmp_path):
    FOLDERS["right_other_names"].make(tmp_path / "mine")
    packed = handed_in.packed(tmp_path / "mine", SCALING_MNIST, "abc")
    (tmp_path / "there").mkdir()
    found = handed_in.unpacked(packed, tmp_path / "there")
    assert found.names["run_2"] == "logs/Run-2.JSONL"
    for role, path in found.files.items():
        assert path.read_bytes() == (tmp_path / "mine" / found.names[role]).read_bytes()
    assert {"notebook", "discussion"}.isdisjoint(found.files)


def test_too_many_bytes_are_left_out_and_said(tmp_path, monkeypatch):
    (tmp_path / "scaling.csv").write_text("x" * 1000)
    (tmp_path / "tensorflow2_mnist_hvd.py").write_text("y" * 1000)
    monkeypatch.setattr(handed_in, "MOST_BYTES", 1500)
    packed = handed_in.packed(tmp_path, SCALING_MNIST)
    assert set(packed["files"]) == {"scaling.csv"} and "all files together" in packed["refused"]["script"]
    assert set(packed["names"]) == {"scaling.csv"}


def test_a_fault_of_ours_is_judged_again(tmp_path, monkeypatch):
    (tmp_path / "scaling.csv").write_text("ranks\n")
    judge = handed_in.HomeworkJudge(handed_in.packed(tmp_path, SCALING_MNIST), launcher=None, key="k")
    broken = RUBRIC.unjudged("scaling", "it failed", {"fault": "OSError"})
    told = [[broken], [rubric.PartResult("scaling", [RUBRIC.full("runs")])]]
    monkeypatch.setattr(judge, "_judged", lambda part: rubric.Report(told.pop(0)))
    with pytest.raises(handed_in.Fault, match="OSError"):
        judge.part("scaling")
    assert judge.part("scaling").share == 1 and judge.part("scaling").share == 1
    assert not told
