"""The homework as it is given out: nothing of the finished work is in it, the scripts run, the handout says what the
rubric says.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from machine import needs

from autograder.homework import mnist_rubric as rubric
from labkit import runlog
from labkit.environment import mpi_environment, mpiexec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_notebooks as builder  # noqa: E402
import update_work  # noqa: E402

NAME = "scaling_mnist"
SOURCE, RELEASED = ROOT / "solutions" / NAME, ROOT / "homework" / NAME
STARTER, PORT = SOURCE / "tensorflow2_mnist.py", SOURCE / "tensorflow2_mnist_hvd.py"
TORCH, DDP = SOURCE / "torch_mnist.py", SOURCE / "torch_mnist_ddp.py"
PAGE = ROOT / "units" / NAME / f"{NAME}.py"
STARTERS, PORTS = (STARTER, TORCH), (PORT, DDP)
GIVEN = ["README.md", "scaling_mnist.ipynb", "tensorflow2_mnist.py", "torch_mnist.py"]
SIZES = (1, 2, 4, 8)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def released_lines(folder: Path) -> set[str]:
    """All lines of all files below `folder`, those of notebooks' cells too, stripped."""
    texts = [text_of(path) for path in folder.rglob("*") if path.is_file()]
    for path in folder.rglob("*.ipynb"):
        texts += [cell.source for cell in nbformat.read(path, as_version=4).cells]
    return {line.strip() for text in texts for line in text.splitlines()}


def solution_lines() -> set[str]:
    """What students must not read: the solutions in the notebook, and whatever is in the finished port and not in the
    starter.
    """
    regions = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", text_of(PAGE), re.DOTALL)
    outside = re.sub(r"### BEGIN SOLUTION\n.*?### END SOLUTION", "", text_of(PAGE), flags=re.DOTALL)
    inside = {line.strip().removeprefix("# ") for region in regions for line in region.splitlines()}
    ported, given = ({line.strip() for path in two for line in text_of(path).splitlines()} for two in (PORTS, STARTERS))
    port = {line for line in ported - given if not line.startswith(("import ", "from "))}
    known = {line.strip().removeprefix("# ") for line in outside.splitlines()}
    return {line for line in inside | port if len(line) > 1} - known


# --- what a student gets


@needs("frameworks")
def test_only_what_a_student_needs_is_released():
    assert sorted(path.relative_to(RELEASED).as_posix() for path in RELEASED.rglob("*")) == GIVEN
    assert text_of(RELEASED / "README.md") == text_of(SOURCE / "README.md")
    for starter in STARTERS:
        assert text_of(RELEASED / starter.name) == text_of(starter)


@needs("frameworks")
def test_no_line_of_a_solution_is_released():
    secret = solution_lines()
    assert len(secret) > 50, "nothing to look for: the test would prove nothing"
    assert not secret & (released_lines(RELEASED) | released_lines(ROOT / "notebooks" / "08_scaling"))
    for path in RELEASED.rglob("*"):
        assert not re.search(r"BEGIN SOLUTION|END SOLUTION|For graders|warmup_steps", text_of(path)), path


@pytest.fixture
def course(tmp_path) -> Path:
    """A root with the homework alone, and beside its notebook everything that a finished folder may hold."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    shutil.copytree(ROOT / "units" / NAME, tmp_path / "units" / NAME)
    finished = [
        "warmup_8.jsonl",
        "scaling.csv",
        "scaling.pdf",
        *(f"{kind}" for p in (*SIZES, 16) for kind in products_of(p)),
    ]
    for name in finished:
        (tmp_path / "units" / NAME / name).write_text("finished work\n")
    return tmp_path


def products_of(p: int) -> tuple[str, str]:
    return f"run_{p}.jsonl", f"accuracy_{p}.pdf"


def test_finished_work_beside_the_notebook_does_not_reach_students(course):
    built = builder.build(course)
    assert sorted(name for name in built if name.startswith("homework/")) == [
        f"homework/{NAME}/{name}" for name in GIVEN
    ]
    held = [name for name, content in built.items() if b"finished work" in content]
    assert held and all(name.startswith(f"solutions/{NAME}/") for name in held)


@needs("frameworks")
def test_students_find_it_in_their_own_folder(tmp_path):
    update_work.update(ROOT, tmp_path / "work")
    assert sorted(path.name for path in (tmp_path / "work" / NAME).iterdir()) == GIVEN


def test_the_cells_that_are_graded():
    from nbgrader.nbgraderformat import MetadataValidator

    notebook = nbformat.read(RELEASED / f"{NAME}.ipynb", as_version=4)
    MetadataValidator().validate_nb(notebook)
    assert all((cell.outputs, cell.execution_count) == ([], None) for cell in builder.code_cells(notebook))
    marked = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    checks = [(cell.source, cell.metadata.nbgrader.points) for cell in marked if cell.cell_type == "code"]
    parts = {"port": 50, "scaling": 25, "plots": 25, "bonus": 0}  # the bonus is extra credit
    assert checks == [(f'check_homework("{part}")', points) for part, points in parts.items()]
    assert all(parts[part] in (0, rubric.points_of(part)) for part in parts)
    assert all(cell.metadata.nbgrader.locked for cell in marked if cell.cell_type == "code")


def test_the_written_answer_is_graded_by_a_person_with_a_rubric():
    (cell,) = [c for c in nbformat.read(RELEASED / f"{NAME}.ipynb", as_version=4).cells if c.id == "discussion"]
    marks = cell.metadata.nbgrader
    assert cell.source == "*Write your answer here.*"
    assert marks.grade and marks.solution and not marks.locked
    (whole,) = [c for c in nbformat.read(SOURCE / f"{NAME}.ipynb", as_version=4).cells if c.id == "discussion"]
    points = re.findall(r"^- (\d+) points?: ", whole.source, re.MULTILINE)
    assert sum(map(int, points)) == marks.points


# --- the handout


def points_in(text: str, heading: str) -> list[int]:
    """The numbers at the ends of the rows of the first table below a heading."""
    section = text.partition(f"## {heading}")[2]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)[0]
    return [int(number) for number in re.findall(r"\| *(\d+) \|$", table, re.MULTILINE)]


def test_the_handout_gives_the_points_of_the_rubric():
    handout = text_of(SOURCE / "README.md")
    port = {line.name: line.points for line in rubric.lines_of("port")}
    eighth = port["rank_zero"] + port["global_metrics"]
    steps = [port[name] for name in ("init", "devices", "shards", "steps", "learning_rate", "gradients", "broadcast")]
    assert points_in(handout, "The port: 50 points") == [*steps, eighth, port["run_log"]]
    assert points_in(handout, "The table: 25 points") == [line.points for line in rubric.lines_of("scaling")]
    parts = dict(re.findall(r"^\| ([\w :-]+?) \| (\d+) \|", handout.partition("## How it is graded")[2], re.MULTILINE))
    for part, row in {
        "port": "port",
        "scaling": "scaling test",
        "plots": "figures",
        "bonus": "bonus: warm-up",
    }.items():
        assert int(parts[row]) == rubric.points_of(part)


@needs("frameworks")
def test_the_handout_names_the_files_that_are_collected(tmp_path):
    from autograder.homework import folder
    from autograder.homework.mnist import SCALING_MNIST

    handout = text_of(SOURCE / "README.md")
    names = re.findall(r"`([\w.]+\.(?:py|jsonl|csv|pdf|ipynb|md))`", handout.partition("## How it is graded")[0])
    handed_in = tmp_path / "folder"
    handed_in.mkdir()
    assert {path.name for path in (*STARTERS, *PORTS)} <= set(names)
    wanted = set(names) - {path.name for path in (*STARTERS, *PORTS)}
    for name in wanted:
        (handed_in / name).write_text("x")
    for port in PORTS:
        (handed_in / port.name).write_text("x")
        (tmp_path / port.stem).mkdir()
        found = folder.collect(handed_in, tmp_path / port.stem, SCALING_MNIST.files)
        assert set(found.names.values()) == wanted | {port.name} and found.files["script"].name == port.name
        assert {f"run_{p}" for p in SIZES} <= set(found.names)
        (handed_in / port.name).unlink()


def test_the_handout_promises_no_file_that_is_not_there():
    for name in re.findall(r"`((?:labkit|autograder|docs|job_scripts)/[\w./]+)`", text_of(SOURCE / "README.md")):
        assert (ROOT / name).exists(), name


# --- the scripts

SMALL = "--images 480 --epochs 2 --batch-size 32".split()


def run(*command: object, ranks: int = 1) -> list[str]:
    """The lines that a command prints."""
    environment = {**os.environ, **mpi_environment(ranks), "PYTHONPATH": str(ROOT)}
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=150, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def starter_run(tmp_path_factory) -> runlog.RunLog:
    path = tmp_path_factory.mktemp("starter") / "run_1.jsonl"
    lines = run(sys.executable, STARTER, *SMALL, "--log", path, "--seed", 5)
    assert [line.split(",")[0] for line in lines] == ["epoch 1: 15 steps", "epoch 2: 15 steps"]
    return runlog.read(path)


@needs("tensorflow")
def test_the_starter_writes_a_sound_log(starter_run):
    assert starter_run.problems == [] and starter_run.complete
    assert (starter_run.world_size, starter_run.batch_size, starter_run.seed) == (1, 32, 5)
    assert starter_run.source_sha256 == hashlib.sha256(STARTER.read_bytes()).hexdigest()
    assert starter_run.data == {"name": "digits", "train_images": 480, "test_images": 80}
    for epoch in starter_run.epochs:
        assert len(epoch.step_seconds) == 15 and epoch.samples_per_rank == [480]
        assert epoch.learning_rates == pytest.approx([0.005] * 15)
        assert epoch.val_accuracy * 80 == pytest.approx(round(epoch.val_accuracy * 80), abs=1e-6)


@needs("horovod")
@pytest.mark.timeout(300)
def test_the_port_on_one_rank_is_the_starter(starter_run, tmp_path):
    run(sys.executable, PORT, *SMALL, "--log", tmp_path / "run_1.jsonl", "--seed", 5)
    ported = runlog.read(tmp_path / "run_1.jsonl")
    for metric in runlog.METRICS:
        assert ported.curve(metric)[1] == pytest.approx(starter_run.curve(metric)[1], rel=1e-4), metric


@needs("horovod")
@pytest.mark.timeout(300)
def test_the_port_on_two_ranks(tmp_path):
    """--run-log is the name that horovodrun leaves alone; the data is a file of Keras' format."""
    random = np.random.default_rng(0)
    arrays = {"x_train": random.integers(0, 256, (70, 28, 28), dtype=np.uint8), "y_train": random.integers(0, 10, 70)}
    arrays |= {"x_test": arrays["x_train"][:7], "y_test": arrays["y_train"][:7]}
    np.savez(tmp_path / "mnist.npz", **arrays)
    options = "--epochs 3 --batch-size 8 --warmup-epochs 2 --lr 0.1".split()
    files = ["--data", tmp_path / "mnist.npz", "--run-log", tmp_path / "run_2.jsonl"]
    lines = run(*mpiexec(), "-n", 2, sys.executable, PORT, *options, *files, ranks=2)
    assert [line.split(",")[0] for line in lines] == [f"epoch {k}: 4 steps" for k in (1, 2, 3)], (
        "one rank prints for all"
    )
    log = runlog.read(tmp_path / "run_2.jsonl")
    assert log.problems == [] and log.complete and log.world_size == 2
    assert [epoch.samples_per_rank for epoch in log.epochs] == [[32, 32]] * 3
    rates = np.concatenate([epoch.learning_rates for epoch in log.epochs])
    assert rates == pytest.approx([0.1 + 0.1 * min(step, 8) / 8 for step in range(12)])
    for epoch in log.epochs:  # of all ranks: seven images in two parts of four and three
        assert epoch.val_accuracy * 7 == pytest.approx(round(epoch.val_accuracy * 7), abs=1e-6)
        assert epoch.accuracy * 64 == pytest.approx(round(epoch.accuracy * 64), abs=1e-6)


@needs("frameworks")
@pytest.mark.parametrize(
    ("starter", "port", "words"),
    [
        (STARTER, PORT, "hvd|Horovod|warm|each rank|step"),
        (TORCH, DDP, "dist|DDP|Distributed|warm|rank|step|wrapped|total|torchrun|import os|done|timedelta"),
    ],
)
def test_the_two_scripts_differ_by_the_port_alone(starter, port, words):
    before, after = (text_of(path).split('"""\n', 1)[1].splitlines() for path in (starter, port))
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            assert re.search(words, "\n".join(after[c:d])), (before[a:b], after[c:d])


def launched(folder: Path, ranks: int, *command: object) -> list[str]:
    """The lines that a program prints which torchrun starts on so many ranks. folder: for what torchrun leaves."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    return run(*torchrun, "--log-dir", folder, *command, ranks=ranks)


@pytest.mark.timeout(300)
def test_the_port_to_pytorch_is_its_starter_on_one_rank_and_shares_the_work_on_two(tmp_path):
    alone = run(sys.executable, TORCH, *SMALL, "--log", tmp_path / "alone.jsonl", "--seed", 5)
    assert launched(tmp_path / "torchrun", 1, DDP, *SMALL, "--run-log", tmp_path / "run_1.jsonl", "--seed", 5) == alone
    assert [line.split(",")[0] for line in alone] == ["epoch 1: 15 steps", "epoch 2: 15 steps"]
    logs = {name: runlog.read(tmp_path / f"{name}.jsonl") for name in ("alone", "run_1")}
    for metric in runlog.METRICS:
        assert logs["run_1"].curve(metric)[1] == pytest.approx(logs["alone"].curve(metric)[1], rel=1e-5), metric
    options = ["--warmup-epochs", 1, "--lr", 0.1, "--run-log", tmp_path / "run_2.jsonl"]
    lines = launched(tmp_path / "torchrun", 2, DDP, *SMALL, *options)
    assert [line.split(",")[0] for line in lines] == ["epoch 1: 7 steps", "epoch 2: 7 steps"], "one rank prints for all"
    log = runlog.read(tmp_path / "run_2.jsonl")
    assert log.problems == [] and log.complete and log.world_size == 2
    assert [epoch.samples_per_rank for epoch in log.epochs] == [[224, 224]] * 2
    rates = np.concatenate([epoch.learning_rates for epoch in log.epochs])
    assert rates == pytest.approx([0.1 + 0.1 * min(step, 7) / 7 for step in range(14)])


# --- the finished folder


@pytest.fixture(scope="module")
def finished() -> dict[int, runlog.RunLog]:
    return {p: runlog.read(SOURCE / f"run_{p}.jsonl") for p in SIZES}


@needs("frameworks")
def test_the_finished_runs_are_those_of_the_finished_port(finished):
    digest = hashlib.sha256(PORT.read_bytes()).hexdigest()
    for p, log in finished.items():
        assert log.problems == [] and log.complete
        assert log.world_size == p and log.source_sha256 == digest
        assert len(set(log.hosts)) == 1 and log.hosts[0] == "laptop"
        first = finished[1]
        assert (log.batch_size, log.seed, len(log.epochs)) == (first.batch_size, first.seed, len(first.epochs))
        assert {**log.arguments, "log": ""} == {**first.arguments, "log": ""}
        assert [sum(epoch.samples_per_rank) for epoch in log.epochs] == [6000 // (64 * p) * 64 * p] * len(log.epochs)


def test_the_finished_table_is_that_of_the_logs(finished):
    with open(SOURCE / "scaling.csv", newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    rates = {p: log.throughput().value for p, log in finished.items()}
    assert [row["ranks"] for row in rows] == list(SIZES)
    for row, (p, rate) in zip(rows, rates.items(), strict=True):
        assert row["images_per_second"] == pytest.approx(rate, abs=0.06)
        assert row["speedup"] == pytest.approx(rate / rates[1], abs=6e-4)
        assert row["efficiency"] == pytest.approx(rate / rates[1] / p, abs=6e-4)


@needs("frameworks")
def test_the_finished_notebook_was_run_to_its_end():
    notebook = nbformat.read(SOURCE / f"{NAME}.ipynb", as_version=4)
    assert [cell.execution_count for cell in builder.code_cells(notebook)] == list(
        range(1, len(builder.code_cells(notebook)) + 1)
    )
    assert not builder.failures(notebook)
    cards = {cell.id: str(cell.outputs) for cell in builder.code_cells(notebook) if cell.id.startswith("check_")}
    for part, points in {"port": "50 of 50", "scaling": "25 of 25", "plots": "25 of 25", "warmup": "5 of 5"}.items():
        assert f"{points} points" in cards[f"check_{part}"], part
