"""The bank of homework folders: right ones get full marks, wrong ones lose just what they must, under the name that
teaches.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from bank_homework import folders
from bank_homework.folders import FOLDERS, PERSON, Folder
from machine import FULL, needs

from autograder.grading import isolation
from autograder.homework import judge_files
from autograder.homework.folder import Homework, collect
from autograder.homework.mnist import SCALING_MNIST, read_logs
from autograder.homework.mnist_rubric import lines_of
from autograder.homework.plots import judge as plots
from autograder.homework.rubric import Flag, LineResult
from autograder.homework.scaling import judge as scaling
from labkit.launch import horovod_rendezvous
from labkit.launch.launcher import Launcher
from probes.figure import figure as pdf_figure

HOSTILE = {
    "wrong_pdf_bomb",
    "wrong_deep_pdf",
    "wrong_huge_image",
    "wrong_500_pages",
}  # read as the grader does: in a process of its own
# In CI Keras, and the one mistake that no other test makes for real: test_homework_port.py judges a loop of one's own
# with seven mistakes at once, test_homework_grading.py the finished script. `make test-all` judges every script.
PORTS = ("right_keras_fit", "wrong_own_shuffle")
NONCE = "a-students-own"


@pytest.fixture(scope="module", autouse=True)
def base():
    folders.base()
    yield
    folders.forget_base()


_figures: dict[str, object] = {}


def read_once(path: Path):
    """Many folders share their figures: the same bytes are read once."""
    mark = hashlib.sha256(path.read_bytes()).hexdigest()
    if mark not in _figures:
        _figures[mark] = pdf_figure.read(path)
    return _figures[mark]


def judged(homework: Homework, folder: Folder) -> tuple[list[LineResult], list[Flag]]:
    """What is said of the logs, the table and the figures."""
    nonce = NONCE if "another_nonce" in folder.flags else ""
    if folder.name in HOSTILE:
        parts = judge_files(homework, nonce=nonce, parts=("scaling", "plots")).parts
    else:
        logs, broken = read_logs(homework)
        parts = [
            scaling.judge(homework, logs, read_once, broken=broken, nonce=nonce),
            plots.judge(homework, logs, read_once, broken=broken),
        ]
    return [finding for part in parts for finding in part.findings], [flag for part in parts for flag in part.flags]


def compare(folder: Folder, findings: list[LineResult], lines: set[str]) -> list[str]:
    """What was said otherwise than it should have been."""
    wrong = []
    expected = {name: diagnosis for name, diagnosis in folder.expected.items() if name in lines}
    for finding in findings:
        name, got = finding.line.name, PERSON if finding.earned is None else finding.diagnosis
        said = f"{name}: {finding.earned} of {finding.line.points:g}, {finding.diagnosis}: {finding.sentence}"
        if name not in expected:
            if finding.verdict != "passed":
                wrong.append(f"should have full marks. {said}")
        elif (
            got not in (expected[name] if isinstance(expected[name], tuple) else [expected[name]])
            or finding.verdict == "passed"
        ):
            wrong.append(f"should be {expected[name] or 'left to a person'}. {said}")
        elif finding.earned is not None and not finding.teach:
            wrong.append(f"does not teach. {said}")
    return wrong


FILES = {line.name for part in ("scaling", "plots") for line in lines_of(part)}


DRAWN_IN_A_BROWSER = ("right_plotly",)
FOLDERS_WITH_FILES = [
    pytest.param(name, marks=[needs("browser")] if name in DRAWN_IN_A_BROWSER else [])
    for name, folder in FOLDERS.items()
    if not folder.like_base
]


@pytest.mark.parametrize("name", FOLDERS_WITH_FILES)
def test_logs_tables_and_figures(name, tmp_path):
    folder = FOLDERS[name]
    folder.make(tmp_path / "handed in")
    (tmp_path / "copies").mkdir()
    findings, flags = judged(collect(tmp_path / "handed in", tmp_path / "copies", SCALING_MNIST.files), folder)
    assert {finding.line.name for finding in findings} == FILES
    assert not compare(folder, findings, FILES)
    kinds = {flag.kind for flag in flags}
    assert folder.flags <= kinds <= folder.flags | folder.may, [flag.sentence for flag in flags]


PORT = {line.name for part in ("port", "bonus") for line in lines_of(part)}


EACH_SCRIPT = {folder.script: name for name, folder in reversed(FOLDERS.items())}  # the first folder of each
BY_DDP = [name for script, name in EACH_SCRIPT.items() if script.startswith("ddp_")]
BY_HOROVOD = [name for name in EACH_SCRIPT.values() if name not in BY_DDP]
# In CI one script of each kind, and mistakes of which the judge hears in another way than from Horovod's ranks.
DDP_IN_CI = ["right_ddp_gathered", "right_ddp_reference", "right_ddp_sampler", "wrong_ddp_barrier"]
DDP_IN_CI += ["wrong_ddp_broadcast_on_rank_0", "wrong_ddp_local_shards", "wrong_ddp_metrics_of_one_rank"]
DDP_IN_CI += ["wrong_ddp_sent_for_show", "wrong_ddp_made_alike", "wrong_ddp_pinned_nowhere", "right_ddp_exchanged"]
DDP_IN_CI += ["wrong_ddp_module_inside", "wrong_ddp_no_broadcast", "wrong_ddp_no_init", "wrong_ddp_unequal_steps"]


@needs("horovod")
@pytest.mark.parametrize("name", reversed(BY_HOROVOD) if FULL else PORTS)
@pytest.mark.timeout(600)  # three runs and their yardstick: half a minute where nothing else runs
def test_ports(name, tmp_path, launcher_for_homework):
    judge_port(name, tmp_path, launcher_for_homework)


@pytest.mark.parametrize("name", BY_DDP if FULL else DDP_IN_CI)
@pytest.mark.timeout(180)
def test_ports_to_torch_distributed(name, tmp_path, launcher_for_ddp):
    judge_port(name, tmp_path, launcher_for_ddp)


def judge_port(name: str, tmp_path: Path, launcher: Launcher) -> None:
    folder = FOLDERS[name]
    folder.make(tmp_path / "handed in")
    (tmp_path / "copies").mkdir()
    homework = collect(tmp_path / "handed in", tmp_path / "copies", SCALING_MNIST.files)
    report = judge_files(homework, parts=("port",), launcher=launcher)
    findings = [finding for finding in report.findings if finding.line.part == "port"]
    assert not compare(folder, findings, PORT)
    bonus = next(finding for finding in report.findings if finding.line.part == "bonus")
    assert (bonus.verdict == "passed") == folder.bonus, bonus.sentence


@pytest.fixture(scope="module")
def launcher_for_homework():
    """In the grader's jail: some of these scripts are out to harm."""
    with Launcher(isolation=isolation.spec(weak=True)) as launcher:
        launcher.with_frameworks(horovod_rendezvous.FRAMEWORKS).wait_until_ready()
        yield launcher


@pytest.fixture(scope="module")
def launcher_for_ddp():
    """The same without TensorFlow and Horovod."""
    with Launcher(isolation=isolation.spec(weak=True)) as launcher:
        launcher.wait_until_ready()
        yield launcher


def test_every_step_of_the_port_is_missing_somewhere():
    for names in (BY_DDP, BY_HOROVOD):
        missing = {line for name in names for line in FOLDERS[name].expected}
        assert {line.name for line in lines_of("port")} <= missing
