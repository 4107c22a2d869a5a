"""Cases on real MPI: what is left when the process that watches them is killed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil

WATCHER = """
import sys
from labkit.launch.launcher import Limits
from labkit.launch.mpi_job import _Job

job = _Job(2, Limits())
print(job.folder, job.process.pid, *job.pids.values(), flush=True)
sys.stdin.read()
"""


def test_a_killed_kernel_leaves_no_rank_and_no_folder():
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as watcher:
        folder, *pids = watcher.stdout.readline().split()
        family = [psutil.Process(int(pid)) for pid in pids]
        assert len(family) == 3 and Path(folder).is_dir()
        watcher.kill()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive
    deadline = time.monotonic() + 10
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()
