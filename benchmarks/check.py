"""The time of a check: warm, through the relay or one MPI job, beside the same work through fresh processes (`make
bench-check`)."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from autograder.answers import sources
from autograder.judging import bank
from autograder.registry import find
from labkit.cells.slicing import Cell, slice_cells
from labkit.environment import cores, mpi_environment, mpiexec
from labkit.launch.launcher import Launcher, make_jobs
from labkit.relay.wire import Tensor

ROOT = Path(__file__).resolve().parent.parent
RUNS = 5

PROGRAM = """
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    chunks = [c.clone() for c in torch.tensor_split(x, size)]
    for add in (True, False):
        for step in range(size - 1):
            out, into = (rank + (not add) - step) % size, (rank + (not add) - step - 1) % size
            buffer = torch.empty_like(chunks[into])
            work = dist.isend(chunks[out], right)
            dist.recv(buffer, left)
            work.wait()
            chunks[into] = chunks[into] + buffer if add else buffer
    return torch.cat(chunks)
"""
FRESH_MPIEXEC = (
    PROGRAM + '\ndist.init_process_group("mpi")\nring_all_reduce(torch.ones(12))\ndist.destroy_process_group()\n'
)
FRESH_CLUSTER = """
import ipyparallel as ipp
with ipp.Cluster(n=4, engines="mpi", log_level=40) as clients:
    view = clients[:]
    view.execute({program!r}, block=True)
    view.execute("dist.init_process_group('mpi'); ring_all_reduce(torch.ones(12))", block=True)
"""
FRESH_PI = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
total = np.empty(1)
comm.Allreduce(np.ones(1), total)
"""


def timed(action: Callable[[], object], runs: int = RUNS) -> list[float]:
    """Seconds of each of `runs` calls."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return times


def run_process(*command: str, ranks: int = 4) -> None:
    """Run a command to its end. Raises CalledProcessError, TimeoutExpired."""
    environment = {**os.environ, **mpi_environment(ranks)}
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)


def mpiexec_with(source: str, ranks: int) -> None:
    """Run a Python program on `ranks` ranks."""
    run_process(*mpiexec(), "-n", str(ranks), sys.executable, "-c", source, ranks=ranks)


def first_right_answer(unit: str, exercise: str) -> tuple:
    """(the exercise, the first right answer in its bank)."""
    return find(exercise, unit), next(iter(sources(unit, exercise).values()))


def rows() -> Iterator[tuple[str, float | None, Callable[[], object], int]]:
    """(what, bar in seconds or None, an action, how often to time it), each while what it needs is warm."""
    ring, ring_answer = first_right_answer("03_collectives", "ring_all_reduce")
    on_mpi, mpi_answer = first_right_answer("01_mpi_pi", "estimate_pi")
    chunks = slice_cells([Cell(PROGRAM, "ring.py")], ["ring_all_reduce"])
    jobs = make_jobs(chunks, "ring_all_reduce", [(Tensor(np.ones(12)),)] * 4)
    cluster = FRESH_CLUSTER.format(program=PROGRAM)
    cases = len(ring.cases(np.random.default_rng(0)))

    def first_check() -> None:
        with Launcher() as fresh:
            bank.try_source(ring, ring_answer, fresh)

    with Launcher() as launcher:
        launcher.wait_until_ready()
        launcher.run(jobs)
        yield "one case, 4 ranks: warm launcher and relay", 0.03, lambda: launcher.run(jobs), 4 * RUNS
        yield "  the same, fresh mpiexec", None, lambda: mpiexec_with(FRESH_MPIEXEC, 4), 3
        yield "  the same, fresh ipyparallel cluster", None, lambda: run_process(sys.executable, "-c", cluster), 3
        whole = f"a whole check ({cases} cases, 2-8 ranks)"
        yield whole, 0.12, lambda: bank.try_source(ring, ring_answer, launcher), 2 * RUNS
        yield "a check on mpi4py (2-5 ranks)", 3.0, lambda: bank.try_source(on_mpi, mpi_answer, launcher), RUNS
        yield "  one of its cases, fresh mpiexec", None, lambda: mpiexec_with(FRESH_PI, 4), 3
    yield "first check of a notebook", 4.0, first_check, 3


def main() -> None:
    """Time all rows and print them."""
    title = f"{cores()} cores, load {os.getloadavg()[0]:.1f}; seconds of wall time"
    table = Table("what", "median", "min", "max", "bar", title=title)
    for name, bar, action, runs in rows():
        times = timed(action, runs)
        limit = "" if bar is None else f"{bar:.2f}"
        table.add_row(name, f"{statistics.median(times):.3f}", f"{min(times):.3f}", f"{max(times):.3f}", limit)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
