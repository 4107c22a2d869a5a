"""The machinery of unit 19: processes that are killed while they save, a sharded training run, torchrun with a killed
worker, and failures at random moments.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from labkit import checkpoint
from labkit.relay.charging import compute

# --- saves ------------------------------------------------------------------------------------------------------------

Save = Callable[[str, bytes], None]  # save(path, data) writes a file


def killed_at(k: int, save: Save, path: str, data: bytes) -> None:
    """Let a process of its own save data at path, and have it killed when a file has k bytes: by a limit on the size of
    files, RLIMIT_FSIZE.
    """
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (k, k))
        try:
            save(path, data)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def killed_at_every_byte(save: Save) -> dict[str, int]:
    """Counts of what was left of a file of 40 bytes after the process that wrote 60 new ones over it was killed at each
    of 61 sizes: {"old": ..., "new": ..., "half": ..., "gone": ...}.
    """
    old, new = b"old " * 10, b"NEW! " * 12
    found = {"old": 0, "new": 0, "half": 0, "gone": 0}
    with tempfile.TemporaryDirectory() as folder:
        for k in range(len(new) + 1):
            path = Path(folder) / str(k)
            path.write_bytes(old)
            killed_at(k, save, str(path), new)
            there = path.read_bytes() if path.exists() else None
            words = {old: "old", new: "new", None: "gone"}
            found[words.get(there, "half")] += 1
    return found


def train_and_save(save: Callable[[dict, Callable], Callable[[], None]]) -> float:
    """Seconds of six steps of 30 ms, with a save of 100 ms after every second one.

    save: function, save(state, write) begins a save and returns a function that waits for its end, as the exercise
    `save_in_background` does. One save at a time: the next one waits for the last.
    """
    state, wait, began = {"w": torch.zeros(1000)}, None, time.perf_counter()
    for step in range(1, 7):
        time.sleep(0.03)  # a step
        state["w"] += 1
        if step % 2 == 0:
            if wait is not None:
                wait()
            wait = save(state, lambda copied: time.sleep(0.1))
    wait()
    return time.perf_counter() - began


# --- trainings --------------------------------------------------------------------------------------------------------


def digest_of(model: nn.Module) -> str:
    """Twelve digits of a hash of a sharded model's gathered parameters."""
    return checkpoint.digest([q.full_tensor() for q in model.parameters()])[:12]


def sharded_training(seed: int) -> tuple[nn.Module, torch.optim.Optimizer, Callable[[int, int], None]]:
    """A model of three linear layers under `fully_shard`, its Adam, and a function, steps(first, last), that takes the
    steps first to last - 1 on samples that are the same on every rank. seed: of the initial weights.
    """
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(seed)
    model = nn.Sequential(*(nn.Linear(12, 12, dtype=torch.float64) for _ in range(3)))
    fully_shard(model)
    adam = torch.optim.Adam(model.parameters(), 0.05)

    def steps(first: int, last: int) -> None:
        for step in range(first, last):
            torch.manual_seed(step)
            x = torch.randn(8, 12, dtype=torch.float64)
            adam.zero_grad()
            model(x).square().mean().backward()
            adam.step()

    return model, adam, steps


def slope(w: Tensor, step: int, shard: int) -> Tensor:
    """The gradient of one of 12 shards of a step, (len(w),): of linear regression to weights that are all 1. It takes
    10 µs of virtual time, named by a letter.
    """
    compute(1e-5, "abcdefghijkl"[shard])
    draw = torch.Generator().manual_seed(100 * step + shard)
    x = torch.randn(4, len(w), generator=draw, dtype=torch.float64)
    return x.T @ (x @ w - x.sum(dim=1)) / 48


def descend(w: Tensor, gradients: list[Tensor]) -> Tensor:
    """The weights after a step with a rate of 0.1: the gradients are taken off one after the other, in their order."""
    for one in gradients:
        w = w - 0.1 * one
    return w


# --- killed for real --------------------------------------------------------------------------------------------------


def torchrun(folder: str) -> subprocess.Popen:
    """torchrun with two ranks of `train_elastic.py` and one restart, as a process whose lines can be read."""
    settings = {
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "TMPDIR": folder,
    }
    command = "torch.distributed.run --standalone --nproc-per-node 2 --max-restarts 1"
    return subprocess.Popen(
        [sys.executable, "-m", *command.split(), "train_elastic.py", folder],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def with_a_killed_worker(kill_after: int) -> tuple[list[str], float]:
    """The lines that the ranks of `torchrun` printed, and the seconds from the kill to the next start: rank 1 is killed
    with signal 9 after a step.
    """
    said, victim, killed_at, took = [], None, None, 0.0
    with tempfile.TemporaryDirectory() as folder, torchrun(folder) as running:
        for line in running.stdout:
            said.append(line.rstrip())
            if found := re.match(r"start 0: rank 1 .* process (\d+)", line):
                victim = int(found[1])
            if line == f"step {kill_after}\n" and killed_at is None and victim:
                os.kill(victim, signal.SIGKILL)
                killed_at = time.perf_counter()
            elif killed_at and not took and "start 1" in line:
                took = time.perf_counter() - killed_at
    return said, took


def printed_by(program: str) -> str:
    """The lines of a Python program in a process of its own, one rank of Horovod over gloo; the end of its error where
    it printed nothing.
    """
    gloo = {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo"}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, env=os.environ | gloo, capture_output=True, text=True, timeout=80)
    return done.stdout or done.stderr[-300:]


# --- how often to save ------------------------------------------------------------------------------------------------


def log_of_failures(seed: int, mtbf: float, until: float) -> list[int]:
    """The seconds at which failures come, independent of each other and every `mtbf` seconds in the mean."""
    rng = np.random.default_rng(seed)
    moments = np.cumsum(rng.exponential(mtbf, int(2 * until / mtbf) + 20))
    return [int(moment) for moment in moments if moment < until]
