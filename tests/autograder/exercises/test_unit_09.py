"""What unit 09's exercises expect, against truth from elsewhere: bytes moved one by one, real optimizers; and the
finished port, run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from machine import needs

from autograder.exercise import rng_for
from autograder.registry import module_of
from labkit import products, runlog
from labkit.cells.slicing import Chunk
from labkit.launch import horovod_job
from labkit.launch.launcher import Limits, make_jobs

unit = module_of("09_multi_node_image_lab")

ROOT = Path(__file__).resolve().parents[3]
LAB = ROOT / "solutions" / unit.UNIT
KEYS = ["public", "key 1", "key 2"]
every_key = pytest.mark.parametrize("key", KEYS)


def cases_of(exercise, key):
    return exercise.cases(rng_for(exercise, key))


@every_key
def test_the_lists_are_read_as_labkit_reads_them(key, tmp_path, monkeypatch):
    monkeypatch.setattr(products, "SUPER_CLASSES", range(99))  # a case has ids that the published list has not
    for case in cases_of(unit.ReadProducts(), key):
        text, classes, asked = case.arguments_of(0)
        (tmp_path / "list.txt").write_text(text)
        entries = products.read_list(tmp_path / "list.txt")
        expected = unit.ReadProducts().expected(case)[0]
        paths, labels, used = (expected, None, None) if asked == "paths" else expected
        assert paths == [entry.path for entry in entries]
        if labels is not None:
            assert [used[int(label)] for label in labels] == [entry.super_class_id for entry in entries]
            assert used == (sorted(used) if classes is None else classes)


def reduce_scatter(p, holds, send):
    """On chunk sets: step by step, rank r sends chunk r - step to its right neighbour, which adds it. send(from, to,
    chunk).
    """
    for step in range(p - 1):
        for r in range(p):
            send(r, (r + 1) % p, (r - step) % p)
        moved = [holds[r][(r - step) % p].copy() for r in range(p)]
        for r in range(p):
            holds[(r + 1) % p][(r - step) % p] += moved[r]


def all_gather(p, holds, send):
    for step in range(p - 1):
        for r in range(p):
            send(r, (r + 1) % p, (r + 1 - step) % p)
        moved = [holds[r][(r + 1 - step) % p].copy() for r in range(p)]
        for r in range(p):
            holds[(r + 1) % p][(r + 1 - step) % p][:] = moved[r]


def ring(members, vectors, sent, node_of):
    """A ring all-reduce of `vectors` (rank -> array, its length divides) among `members`; counts bytes between nodes in
    `sent`.
    """
    p = len(members)
    if p == 1:
        return
    holds = [np.split(vectors[m], p) for m in members]  # views: the vectors change

    def send(a, b, chunk):
        if node_of[members[a]] != node_of[members[b]]:
            sent[node_of[members[a]]] += holds[a][chunk].nbytes

    reduce_scatter(p, holds, send)
    all_gather(p, holds, send)


@every_key
def test_the_bytes_between_nodes_are_those_of_messages_sent_one_by_one(key):
    """A real all-reduce on arrays, in one ring and in two levels: the sums are right, and the bytes counted are the
    expected ones.
    """
    for case in cases_of(unit.NetworkBytes(), key):
        node_of, nbytes, two_levels = case.arguments_of(0)
        p, nodes = len(node_of), max(node_of) + 1
        n = 8 * 9 * 5 * 7 * p * nodes
        vectors = [np.arange(n, dtype=np.float64) * (r + 1) for r in range(p)]
        total = np.sum(vectors, axis=0)
        sent = [0] * nodes
        if not two_levels:
            ring(list(range(p)), vectors, sent, node_of)
        else:
            members = [[r for r in range(p) if node_of[r] == node] for node in range(nodes)]
            g = len(members[0])
            for here in members:  # inside a node nothing crosses
                pieces = [np.split(vectors[r], g) for r in here]
                for k in range(g):
                    pieces[k][k][:] = np.sum([np.split(vectors[r], g)[k] for r in here], axis=0)
            for k in range(g):
                column = [here[k] for here in members]
                shares = {r: np.split(vectors[r], g)[k] for r in column}
                ring(column, shares, sent, node_of)
            for here in members:
                whole = np.concatenate([np.split(vectors[r], g)[k] for k, r in enumerate(here)])
                for r in here:
                    vectors[r][:] = whole
        for vector in vectors:
            np.testing.assert_allclose(vector, total)
        assert unit.NetworkBytes().expected(case)[0] == pytest.approx([s / vectors[0].nbytes * nbytes for s in sent])


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_the_memory_of_a_rank_is_what_a_real_optimizer_holds(optimizer):
    model = torch.nn.Linear(300, 70)
    made = {
        "sgd": lambda p: torch.optim.SGD(p, 0.1),
        "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        "adam": lambda p: torch.optim.Adam(p, 0.1),
    }[optimizer](model.parameters())
    model(torch.ones(2, 300)).sum().backward()
    made.step()
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    gradients = sum(p.grad.numel() * p.grad.element_size() for p in model.parameters())
    tensors = [v for state in made.state.values() for v in state.values() if torch.is_tensor(v) and v.dim() > 0]
    known = {"parameters": weights // 4, "optimizer": optimizer, "precision": "float32", "activations": 0}
    parts = unit.training_bytes(**known, global_batch_size=8, world_size=4)
    assert (parts["weights"], parts["gradients"], parts["copy"]) == (weights, gradients, 0)
    assert parts["optimizer"] == sum(v.numel() * v.element_size() for v in tensors)


def test_175_billion_parameters_are_700_gigabytes_and_adam_takes_16_bytes_for_each():
    parts = [unit.training_bytes(175 * 10**9, "adam", precision, 0, 1, 1) for precision in ("float32", "mixed")]
    assert [sum(one.values()) for one in parts] == [16 * 175e9] * 2
    assert parts[0]["weights"] == 700e9


@every_key
def test_an_epochs_steps_are_enough_for_every_image_and_one_less_is_not(key):
    for case in cases_of(unit.EpochBatches(), key):
        for k, (n, batch) in enumerate(case.known["sizes"]):
            steps = {report[k]["steps"] for report in unit.EpochBatches().expected(case)}
            assert len(steps) == 1
            largest = max(len(range(r, n, case.world_size)) for r in range(case.world_size))
            assert steps.pop() == next(s for s in range(1, n + 1) if s * batch >= largest)


@needs("frameworks")
def test_the_finished_port_stays_with_the_instructor_and_its_starter_does_not():
    released = ROOT / "notebooks" / unit.UNIT
    assert (released / "train_products.py").read_bytes() == (LAB / "train_products.py").read_bytes()
    assert (
        "horovod"
        not in (LAB / "train_products.py").read_text().replace("with Horovod", "").replace("horovod=False", "").lower()
    )
    assert not (released / "train_products_hvd.py").exists()
    secret = {
        line.strip() for line in (LAB / "train_products_hvd.py").read_text().splitlines() if "Horovod, step" in line
    }
    course = "".join(path.read_text(errors="replace") for path in released.rglob("*") if path.is_file())
    assert len(secret) > 8 and not [line for line in secret if line in course]


# -- the finished port -------------------------------------------------------------------------------------------------


PROGRAM = """
import runpy
import sys

def go(program, *options):
    sys.argv = [program, *options]
    runpy.run_path(program, run_name="__main__")
"""


@pytest.fixture
def train(warm_horovod, tmp_path):
    """Run the finished port on two ranks; what it printed. (mpiexec runs it in the unit, and Slurm in
    tests/job_scripts/test_slurm_scripts.py.)
    """

    def train(*options: str) -> str:
        places = ("--data", f"{tmp_path}/Stanford_Online_Products", "--scratch", f"{tmp_path}/scratch")
        arguments = (str(LAB / "train_products_hvd.py"), *places, "--side", "32", "--batch-size", "6", *options)
        jobs = make_jobs([Chunk("program", 1, PROGRAM)], "go", [arguments] * 2, runtime="horovod")
        limits = Limits(cpu_seconds=120, deadline=150)
        outcome, _ = horovod_job.run(warm_horovod, jobs, limits=limits, windows=60)  # a rank may wait long for a disk
        assert [rank.state for rank in outcome.ranks] == ["returned"] * 2, (
            outcome.hang,
            [rank.error for rank in outcome.ranks],
        )
        return "".join(text for _, text in outcome.printed)

    return train


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@needs("tensorflow")
def test_a_data_set_that_is_not_there_is_told_without_a_traceback(tmp_path):
    (tmp_path / "empty").mkdir()
    command = [
        sys.executable,
        str(LAB / "train_products.py"),
        "--data",
        str(tmp_path / "empty"),
        "--scratch",
        str(tmp_path / "scratch"),
    ]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Ebay_train.txt cannot be read" in done.stderr and "products.draw(folder)" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


@needs("frameworks")
@pytest.mark.parametrize("program", ["train_products.py", "train_products_hvd.py"])
def test_the_programs_say_which_python_has_tensorflow(program, tmp_path):
    """On this Python, made to believe that it is another one."""
    code = (
        "import runpy, sys; from labkit import environment; environment.FRAMEWORKS_PYTHON = (3, 10); "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-c", code, str(LAB / program), "--scratch", str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 1 and "`make lab PYTHON=3.11`" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(400)
def test_the_port_goes_on_where_it_stopped_and_ends_where_an_uninterrupted_run_ends(train, tmp_path):
    """Two ranks: one epoch, then a second one in a new job, against both in one job. Bit by bit the same checkpoint."""
    products.draw(tmp_path, products=(2, 1), photos=2)
    train("--epochs", "1", "--checkpoint", f"{tmp_path}/a.npz")
    told = train("--epochs", "2", "--checkpoint", f"{tmp_path}/a.npz")
    whole = train("--epochs", "2", "--checkpoint", f"{tmp_path}/b.npz", "--log", f"{tmp_path}/log")
    assert "after 2 epochs, 2 ranks" in told and "after 2 epochs, 2 ranks" in whole
    assert whole.count("test accuracy") == 1, "rank 0 alone reports"
    gone_on, uninterrupted = arrays(tmp_path / "a.npz"), arrays(tmp_path / "b.npz")
    assert gone_on.keys() == uninterrupted.keys() and int(gone_on["epochs"]) == 2
    for name, values in uninterrupted.items():
        np.testing.assert_array_equal(gone_on[name], values, err_msg=name)
    log = runlog.read(tmp_path / "log")
    assert (log.world_size, log.batch_size, log.problems) == (2, 6, [])
    assert [len(epoch.step_seconds) for epoch in log.epochs] == [4, 4], "48 images, 2 x 6 in a step"
    assert not list(tmp_path.glob("*.part"))
