"""A kernel that starts beside files of somebody else runs none of them, and its cells import those they name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

OURS = Path(__file__).parents[3] / "tools" / "ipython"
TRAPS = ("labkit", "autograder", "ipykernel_launcher", "ipykernel", "pathlib", "json", "numpy", "matplotlib", "jedi")
TRAPS += ("random", "socket", "selectors", "torch", "mpi4py", "ipyparallel", "zmq", "conftest", "sitecustomize")
ANSWERS = """
import numpy as np
from autograder import check

def fair_share(n, rank, world_size):
    small, more = divmod(n, world_size)
    start = rank * small + min(rank, more)
    return start, start + small + (rank < more)

def sum_counts(comm, counts):
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "autograded"
    folder.mkdir()
    for name in TRAPS:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\n")
    (folder / "helper.py").write_text("VALUE = 7\n")
    return folder


@pytest.fixture
def kernel(tmp_path, folder) -> BlockingKernelClient:
    """The client of a kernel that starts as the set-up lets it start."""
    spec, profile = tmp_path / "kernels" / "python3", tmp_path / "ipython" / "profile_default"
    spec.mkdir(parents=True)
    profile.mkdir(parents=True)
    shutil.copy(OURS / "kernel.json", spec)
    shutil.copy(OURS / "ipython_config.py", profile)
    specs = KernelSpecManager(kernel_dirs=[str(spec.parent)])
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs, transport="ipc")
    manager.connection_file = str(tmp_path / "k.json")
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "IPYTHONDIR": str(profile.parent), "PYTHONPATH": path}
    manager.start_kernel(cwd=str(folder), env=environment)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.timeout(120)
def test_a_kernel_runs_nothing_that_lies_beside_the_notebook(kernel, folder):
    source = "import helper, labkit, json, numpy, autograder; assert helper.VALUE == 7 and numpy.add(1, 1) == 2"
    reply = kernel.execute_interactive(source, timeout=60)
    assert reply["content"]["status"] == "ok", reply["content"]
    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()


@pytest.mark.timeout(300)
def test_nor_do_the_processes_that_it_starts(kernel, folder):
    """A check on forked ranks and under mpiexec, and the ranks of a notebook with their controller."""
    cells = [ANSWERS, "check(fair_share)", "check(sum_counts)", "from labkit import ranks; ranks.start(2)"]
    cells += ["%%ranks\nimport helper, json, random, numpy\nassert helper.VALUE == 7 and json.dumps(1) == '1'"]
    said = []
    for source in [*cells, "ranks.stop()"]:
        reply = kernel.execute_interactive(source, timeout=120, output_hook=said.append)
        assert reply["content"]["status"] == "ok", reply["content"]
    shown = str([message["content"] for message in said])
    for expected in ("fair_share: 2 of 2 points", "sum_counts: 2 of 2 points", "2 ranks ready"):
        assert expected in shown, shown
    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()


@pytest.mark.timeout(120)
def test_nor_does_a_process_that_judges(folder):
    """Wherever somebody grades: their folder may be a student's."""
    program = "from autograder.grading.pool import _Worker; w = _Worker({'level': 'none'}); w.process.communicate()"
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=True
    )
    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()
