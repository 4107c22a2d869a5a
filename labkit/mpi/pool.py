"""Memory that all ranks of a job map before its first case, for windows of shared memory (`MPI.Win.Allocate_shared`).

Open MPI makes such a window of a file that its ranks open when it is asked for. In a grader's jail they have no folder
in common by then (`labkit.launch.mpi_cells`).
"""

from __future__ import annotations

import itertools
import mmap
import os

from mpi4py import MPI

from labkit.mpi.traced import TracedWin
from labkit.watch import recorder

REGION = 4 << 20  # bytes for the windows of communicators whose rank 0 is the same
_ALIGNED = 64


class Pool:
    """The memory, of which each rank of `world` gives away a region of its own. path: of a file that all of them see
    now."""

    def __init__(self, path: str, world: MPI.Intracomm):
        rank, size = world.Get_rank(), world.Get_size()
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, REGION * size)
        self.memory = memoryview(mmap.mmap(handle, REGION * size))
        os.close(handle)
        self.used, self.end = REGION * rank, REGION * (rank + 1)

    def take(self, size: int) -> int | None:
        """The place at which so many bytes begin; None if there are not so many left."""
        start = -(-self.used // _ALIGNED) * _ALIGNED
        if size < 0 or start + size > self.end:
            return None
        self.used = start + size
        return start


class PooledWin(TracedWin):
    """A traced window whose shared memory comes from a pool. parts: of it, each rank's memory and disp_unit."""

    pool: Pool
    parts: list[tuple[memoryview, int]] | None = None

    @classmethod
    def Allocate_shared(cls, size, disp_unit=1, info=MPI.INFO_NULL, comm=MPI.COMM_SELF):
        """As that of MPI.Win, contiguous. Raises MPI.Exception where the pool has no more."""
        token = recorder.begin("Win.Allocate_shared", group=getattr(comm, "recorded_group", (comm.Get_rank(),)))
        try:
            told = comm.allgather((size, disp_unit))
            ends = list(itertools.accumulate((length for length, _ in told), initial=0))
            start = comm.bcast(cls.pool.take(ends[-1]) if comm.Get_rank() == 0 else None)
            if start is None:
                raise MPI.Exception(MPI.ERR_NO_MEM)
            parts = [cls.pool.memory[start + low : start + high] for low, high in itertools.pairwise(ends)]
            window = cls.Create(parts[comm.Get_rank()], disp_unit, info, comm)
            window.parts = [(part, unit) for part, (_, unit) in zip(parts, told, strict=True)]
            return window
        finally:
            recorder.end(token)

    def Shared_query(self, rank):
        """As that of MPI.Win: (a rank's memory, its disp_unit); PROC_NULL: of the first that has any."""
        if self.parts is None:
            return super().Shared_query(rank)
        if rank == MPI.PROC_NULL:
            return next((part for part in self.parts if len(part[0])), self.parts[0])
        return self.parts[rank]
