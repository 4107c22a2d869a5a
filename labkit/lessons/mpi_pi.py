"""The machinery of unit 01: a clock for what ranks do together, and a barrier at which they sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # importing it would begin MPI in the notebook, too
    from mpi4py import MPI


def median_seconds(comm: MPI.Comm, work: Callable[[], object], repeats: int) -> float:
    """The median of this rank's seconds for `work()` over some repeats, each of which all ranks begin together."""
    seconds = []
    for _ in range(repeats):
        comm.Barrier()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def sleep_until_all_are_here(comm: MPI.Comm) -> None:
    """Wait as at a barrier, asleep. An ordinary one keeps asking "are you there?", and takes the core from ranks that
    work.
    """
    everybody = comm.Ibarrier()
    while not everybody.Test():
        time.sleep(0.002)
