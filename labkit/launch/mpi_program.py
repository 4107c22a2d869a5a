"""One rank of an MPI job that runs cases: `mpiexec -n 5 python -m labkit.launch.mpi_program SOCKET FOLDER`.

Started once per exercise. Each case comes over the socket with the number of ranks it wants; the first so many ranks of
the job form a communicator of their own for it, and note what they do in the flight recorder.

With a third argument the rank gives up what leads to the others beside MPI before its first case: in a cell, if it is
the number of a socket, and then it has been started before mpiexec asked for it (`labkit.launch.mpi_cells`); or as far
as it can by itself, if it is APART.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from labkit.launch.process import apply_limits, die_with_parent
from labkit.launch.rank_program import run_job
from labkit.relay import wire
from labkit.watch import recorder

APART = "apart"


def main() -> None:
    path, folder, *how = sys.argv[1:]
    seal = None
    if how:  # a notebook's checks do not wait for this import
        from labkit.launch.mpi_cells import Seal, shut_in

        seal = None if how[0] == APART else Seal(int(how[0]))
    if seal is not None:
        seal.wait_for_call()
    die_with_parent()
    import mpi4py

    if how:  # Open MPI's one-sided operations by messages want it
        mpi4py.rc.thread_level = "serialized"
    from mpi4py import MPI  # starts MPI

    world = MPI.COMM_WORLD
    rank = world.Get_rank()
    if how:
        from labkit.mpi.pool import Pool, PooledWin

        PooledWin.pool = Pool(f"{folder}/windows", world)
        world.alltoall([0] * world.Get_size())  # Open MPI looks for a rank when it is first spoken to
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    if how:
        if seal is not None:
            seal.close()
        else:
            folder = f"{folder}/rank{rank}"
            shut_in(folder)
    wire.send(sock, wire.READY, {"rank": rank, "pid": os.getpid()})
    sys.argv = [""]
    from labkit.mpi.traced import install

    install()
    if how:
        MPI.Win = PooledWin
    _run_cases(sock, world, folder)


def _run_cases(sock: socket.socket, world, folder: str) -> None:
    """One after the other, until the other end of `sock` closes."""
    from mpi4py import MPI

    from labkit.mpi.traced import traced

    rank = world.Get_rank()
    while True:
        try:
            _, job, payload = wire.receive(sock)
        except (wire.Closed, ConnectionResetError):
            break
        if "limits" in job:
            apply_limits(job["limits"])
            continue
        size = job["world_size"]
        group = world.Get_group().Incl(list(range(size)))
        comm = traced(world.Create_group(group, tag=job["number"]))
        MPI.COMM_WORLD = comm  # to the student the case is the whole job, whichever way it asks for its ranks
        recorder.open(os.path.join(folder, f"case{job['number']}"), rank, size)
        recorder.mark("running")
        try:
            returned = run_job(sock, job, payload, placeholders={"comm": comm}, torch=sys.modules.get("torch"))
            recorder.mark("returned" if returned else "raised")
        finally:
            recorder.close()
        wire.receive(sock)  # the case is over for everybody: only now may the communicator go
        with contextlib.suppress(MPI.Exception):
            comm.Free()
            group.Free()


if __name__ == "__main__":
    main()
