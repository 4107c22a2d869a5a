"""Unit 19: survivors end where an uninterrupted training ends, whenever a rank dies; a checkpoint is old or new at every
byte; what the wall time of the course says, second by second."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from autograder import registry
from autograder.answers import sources
from autograder.exercises.readings.faults import wall_time
from autograder.judging.judge import Runners, chunks_of_file, judge_with
from labkit import checkpoint
from labkit.simulation import run

ROOT = Path(__file__).resolve().parents[3]
UNIT = "19_faults"
THROUGH = sources(UNIT, "train_through")["right_table"]
STEPS, SHARDS = 20, 6


def survived(source, steps, shards):
    import torch

    names = {}
    exec(source, names)

    def gradient(w, step, shard):
        return (shard + 1) * (w - 0.37 * (step + 1) / (shard + 1.1))

    def update(w, gradients):
        for one in gradients:
            w = w - 0.01 * one
        return w

    return names["train_through"](torch.linspace(0, 1, 3, dtype=torch.float64) / 3, gradient, update, shards, steps)


def bits(rank) -> bytes:
    return np.asarray(rank.value.values).tobytes()


@pytest.mark.parametrize("p", [4, 3, 2])
def test_survivors_end_bit_by_bit_where_one_rank_ends_whenever_a_rank_dies(warm, p):
    (alone,) = run(survived, 1, (THROUGH, STEPS, SHARDS)).ranks
    for operation in range(STEPS):
        dead = operation % p
        outcome = run(survived, p, (THROUGH, STEPS, SHARDS), kills={dead: operation})
        survivors = [rank for r, rank in enumerate(outcome.ranks) if r != dead]
        assert outcome.ranks[dead].state == "gone"
        assert {bits(rank) for rank in survivors} == {bits(alone)}
        told = [event for event in outcome.events if event.ended is None]
        died = outcome.ranks[dead].clock
        assert len(told) == p - 1 and all(died <= event.posted < died + 1 for event in told)


KILLED = """
import os, resource, signal, sys

path, old, new, step = sys.argv[1], *(open(name, "rb").read() for name in sys.argv[2:4]), int(sys.argv[4])
if step == 1:  # a process without torch is forked a thousand times in a second
    import types
    sys.modules["torch"] = types.SimpleNamespace(save=lambda state, file: file.write(state))
    state = new
else:
    import torch
    state = {"step": 2, "w": torch.zeros(4)}
from labkit import checkpoint

with open(path, "wb") as file:
    file.write(old)
for k in [*range(0, len(new), step), len(new)]:
    if os.fork() == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (k, k))
        try:
            checkpoint.write(path, state)
        finally:
            os._exit(0)
    killed = os.WIFSIGNALED(os.wait()[1])
    assert killed == (k < len(new))
    assert open(path, "rb").read() == (old if killed else new), k
"""


@pytest.mark.parametrize("step", [1, 97], ids=["every byte", "torch's own writes, every 97th byte"])
def test_a_checkpoint_killed_at_a_byte_is_old_or_new(tmp_path, step):
    names = [tmp_path / name for name in ("state.pt", "old", "new")]
    checkpoint.write(names[1], {"step": 1, "w": torch.ones(4)})
    checkpoint.write(names[2], {"step": 2, "w": torch.zeros(4)})
    command = [sys.executable, "-c", KILLED, *map(str, names), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert checkpoint.read(names[0])["step"] == 2


def test_the_wall_time_is_that_of_a_clock_that_ticks():
    names = {}
    exec(sources(UNIT, "wall_time")["right_second_by_second"], names)
    rng = np.random.default_rng(19)
    for _ in range(300):
        work, interval, save, restart = (int(k) for k in rng.integers([20, 3, 1, 1], [120, 40, 9, 15]))
        failures = np.unique(rng.integers(1, 300, rng.integers(0, 9))).tolist()
        case = work, interval, save, restart, failures
        assert wall_time(*case) == names["wall_time"](*case), case


ENDS_BY_ITSELF = """
import os
import resource

def write_whole(path, data):
    if WHEN:
        os._exit(0)
    other = path + ".new"
    with open(other, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(other, path)
"""


@pytest.mark.parametrize(
    "when, points",
    [
        ("resource.getrlimit(resource.RLIMIT_FSIZE)[0] < 99", 2),
        ("False", 4),
    ],
)
def test_a_save_that_ends_by_itself_where_it_would_be_killed_is_none(warm, when, points):
    chunks = chunks_of_file(ENDS_BY_ITSELF.replace("WHEN", when), "write_whole", "answer.py")
    with Runners(warm) as runners:
        result = judge_with(runners, registry.find("write_whole", "19"), chunks)
    assert result.score == points
