"""Unit 19's training under torchrun, a worker killed at random moments: the same end to the last bit, and nothing is
lost but the steps since the last checkpoint. COURSE_KILLS says how many times (20 take about five minutes)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from machine import needs

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "solutions" / "19_faults" / "train_elastic.py"
KILLS = int(os.environ.get("COURSE_KILLS", "2"))
STEPS, EVERY = 24, 5
SEQUENTIAL = f"""
import sys, torch
sys.path.insert(0, {str(SCRIPT.parent)!r})
import train_elastic
from labkit import checkpoint
w = torch.zeros(train_elastic.SIZE, dtype=torch.float64)
for step in range({STEPS}):
    w = train_elastic.one_step(w, step, 0, 1)
print(checkpoint.digest([w]))
"""


@pytest.fixture(scope="module")
def uninterrupted() -> str:
    done = subprocess.run([sys.executable, "-c", SEQUENTIAL], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def killed(folder: Path, ranks: int, after: float, rank: int) -> list[str]:
    """The lines of a training in which this rank is killed so many seconds after all have started."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += ["--max-restarts=1", str(SCRIPT), str(folder), f"--steps={STEPS}", f"--every={EVERY}", "--pause=0.05"]
    settings = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    said, workers = [], {}
    with subprocess.Popen(
        command,
        env=os.environ | settings | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as torchrun:
        for line in torchrun.stdout:
            said.append(line.rstrip())
            if found := re.match(r"start 0: rank (\d+) .* process (\d+)", line):
                workers[int(found[1])] = int(found[2])
                if len(workers) == ranks:
                    time.sleep(after)
                    os.kill(workers[rank], signal.SIGKILL)
    assert torchrun.returncode == 0, said
    return said


@needs("root")  # it needs nothing that root alone has, but minutes
@pytest.mark.parametrize("trial", range(KILLS))
def test_a_killed_worker_costs_the_steps_since_the_checkpoint_and_nothing_else(tmp_path, uninterrupted, trial):
    rng = np.random.default_rng(trial)
    ranks = 2 + trial % 2
    said = killed(tmp_path, ranks, float(rng.uniform(0, 0.9 * 0.05 * STEPS)), int(rng.integers(ranks)))
    steps = [int(line.split()[1]) for line in said if line.startswith("step ")]
    begins = {int(line.rsplit(" ", 1)[1]) for line in said if line.startswith("start 1")}
    assert said[-1] == f"end {uninterrupted}"
    (begin,) = begins
    before = steps[: len(steps) - (STEPS - begin)]
    assert steps[len(before) :] == list(range(begin + 1, STEPS + 1)), "from the checkpoint to the end"
    assert before == list(range(1, len(before) + 1)), "from the beginning to the death"
    assert begin % EVERY == 0 and 0 <= len(before) - begin <= EVERY, "no more than the steps since the checkpoint"
