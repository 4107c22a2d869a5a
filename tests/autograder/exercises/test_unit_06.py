"""Unit 06: the exercises' formulas against PyTorch itself, and the script that is started without a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from autograder.exercise import Case, rng_for
from autograder.registry import find, module_of

unit = module_of("06_ddp")
ROOT = Path(__file__).resolve().parents[3]
SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(2, 5))


def network(values: np.ndarray, sizes: tuple[int, int, int]) -> nn.Module:
    inputs, hidden, classes = sizes
    model = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, classes)).double()
    nn.utils.vector_to_parameters(torch.from_numpy(values.copy()), model.parameters())
    return model


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-12))


@given(st.lists(st.integers(1, 60), max_size=25), st.integers(1, 80), st.integers(1, 80))
@settings(max_examples=200, deadline=None)
def test_the_rule_of_the_buckets_is_pytorchs(numbers, first_cap, cap):
    """torch assigns in the order it is given, so it is given the last parameter first, as DDP does after its first
    step.
    """
    sizes = [4 * number for number in numbers]
    case = Case("equal caps", 1, (sizes, first_cap, cap), known={"sizes": sizes, "first_cap": first_cap, "cap": cap})
    (ours,) = unit.Buckets().expected(case)
    if not sizes:
        assert ours == []
        return
    backwards = [torch.zeros(number) for number in reversed(numbers)]
    assigned, _ = dist._compute_bucket_assignment_by_size(backwards, [first_cap, cap])
    assert ours == [[len(sizes) - 1 - place for place in bucket] for bucket in assigned]


@given(SHAPES, st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_gradient_in_numpy_is_autograds(sizes, n, seed):
    rng = np.random.default_rng(seed)
    values, (x, y) = unit.start_values(rng, sizes), unit.draw_batch(rng, n, sizes)
    model = network(values, sizes)
    loss = functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y))
    loss.backward()
    ours, gradient = unit.loss_and_gradient(values, (x, y), sizes)
    assert ours == pytest.approx(loss.item(), rel=1e-9)
    assert relative(gradient, torch.cat([p.grad.reshape(-1) for p in model.parameters()]).numpy()) < 1e-6


@given(SHAPES, st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_sgd_in_numpy_is_pytorchs(sizes, steps, seed):
    rng = np.random.default_rng(seed)
    values, batches = unit.start_values(rng, sizes), [unit.draw_batch(rng, 3, sizes) for _ in range(steps)]
    model = network(values, sizes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for x, y in batches:
        optimizer.zero_grad()
        functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y)).backward()
        optimizer.step()
    ours, _ = unit.sgd([values], [batches], sizes, 0.3)
    assert relative(ours[0], nn.utils.parameters_to_vector(model.parameters()).detach().numpy()) < 1e-6


@pytest.mark.parametrize("exercise", [unit.UnevenLoss(), unit.Accumulate()], ids=lambda e: e.function)
def test_what_is_expected_is_the_sequential_gradient_of_all_samples(exercise):
    for key in ("public", "another"):
        for case in exercise.cases(rng_for(exercise, key)):
            known = case.known
            shares = known["shares"] if "shares" in known else [batch for own in known["batches"] for batch in own]
            model = network(known["values"], known["sizes"])
            x, y = (torch.from_numpy(np.concatenate([share[k] for share in shares])) for k in (0, 1))
            functional.cross_entropy(model(x), y).backward()
            truth = torch.cat([p.grad.reshape(-1) for p in model.parameters()]).numpy()
            for value in exercise.expected(case):
                assert relative(value["gradient"], truth) < 1e-6


def test_an_empty_share_adds_nothing():
    rng = np.random.default_rng(1)
    sizes = (3, 2, 4)
    loss, gradient = unit.loss_and_gradient(
        unit.start_values(rng, sizes), unit.draw_batch(rng, 0, sizes), sizes, total=5
    )
    assert loss == 0 and not gradient.any()


def test_an_exercise_of_the_unit_is_found_by_its_name():
    names = {"train_ddp", "uneven_loss", "accumulate", "buckets", "save_checkpoint", "load_checkpoint"}
    assert {find(name, "06_ddp").function for name in names} == names
    assert unit.as_tensors((np.zeros((1, 2)), np.zeros(1, np.int64)))[1].dtype == "int64"


ENDS = """
import os, runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
left = []
for task in os.listdir("/proc/self/task"):
    try:
        left.append(open(f"/proc/self/task/{task}/comm").read())
    except OSError:  # it has ended meanwhile
        pass
print([name for name in left if "gloo" in name])
"""


@pytest.mark.parametrize(
    "program",
    [
        "solutions/06_ddp/train_ddp.py --steps 2",
        "job_scripts/programs/ddp.py --images 64 --batch-size 32 --epochs 1 --checkpoint c.pt",
    ],
)
def test_no_thread_of_gloo_is_left_when_a_program_ends(tmp_path, program):
    """One that still held a tensor while the interpreter ends would want the interpreter's lock then, and abort the
    rank (signal 6).
    """
    where = {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
    }
    script, *options = program.split()
    command = [sys.executable, "-c", ENDS, str(ROOT / script), *options]
    environment = {**os.environ, **where, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
