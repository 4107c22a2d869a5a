"""Cases on real MPI: what is left when the process that watches them is killed, and where their ranks run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labkit.launch.launcher import Limits
from labkit.launch.mpi_job import _MpiJob

WATCHER = """
import sys
from labkit.launch.launcher import Limits
from labkit.launch.mpi_job import _MpiJob

job = _MpiJob(2, Limits())
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


@pytest.mark.parametrize("scheduler", ["Slurm", "PBS"])
def test_its_ranks_run_here_in_an_allocation_of_other_nodes(scheduler, monkeypatch, tmp_path):
    """They talk to us through a socket of this machine's; the nodes of this job cannot even be reached."""
    nodes = ["elsewhere1.invalid", "elsewhere2.invalid"]
    (tmp_path / "nodes").write_text("\n".join(nodes * 2) + "\n")
    told = {"OMPI_MCA_plm_rsh_agent": "/bin/false"}
    if scheduler == "PBS":  # as job_scripts/pbs has it, behind `source launch.sh`
        told |= {"PBS_JOBID": "7.login", "PBS_NODEFILE": f"{tmp_path}/nodes"}
        told["OMPI_MCA_orte_default_hostfile"] = f"{tmp_path}/nodes"
    else:
        told |= {"SLURM_JOB_ID": "7", "SLURM_JOBID": "7", "SLURM_JOB_NUM_NODES": "2", "SLURM_NNODES": "2"}
        told |= {"SLURM_NODELIST": "elsewhere[1-2].invalid", "SLURM_TASKS_PER_NODE": "2(x2)"}
        told |= {"SLURM_JOB_NODELIST": "elsewhere[1-2].invalid", "SLURM_JOB_CPUS_PER_NODE": "2(x2)"}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    job = _MpiJob(5, Limits())
    try:
        assert all(psutil.pid_exists(pid) for pid in job.pids.values()) and len(job.pids) == 5
    finally:
        job.close()
