"""Makes the groups of the mpi backend: called by `labkit.mpi.autoload` on behalf of torch.distributed."""

from __future__ import annotations

import socket
from datetime import timedelta

from labkit import environment

environment.set_up_singleton()

import torch.distributed as dist  # noqa: E402 (MPI starts when mpi4py is imported, and must find its environment)
from mpi4py import MPI  # noqa: E402

from labkit.mpi.backend import ProcessGroup  # noqa: E402
from labkit.mpi.operations import Members, MpiCall, at_once, end_job_on_uncaught_exception, start_watch  # noqa: E402

_DEFAULT_TIMEOUT = timedelta(minutes=30)  # PyTorch's own for every backend but NCCL
_next_timeout = _DEFAULT_TIMEOUT  # of the group that PyTorch is about to make
_world_timeout = _DEFAULT_TIMEOUT  # of the default group


def prepare(ranks: list[int], store: dist.Store, timeout: timedelta | None) -> dist.Store:
    """Called before `create`: remembers the timeout; for the default group returns a new store that all ranks share.

    A group made without a timeout of its own takes over that of the default group, not PyTorch's half an hour.
    """
    global _next_timeout, _world_timeout
    _next_timeout = timeout or _DEFAULT_TIMEOUT
    if ranks:
        if _next_timeout == _DEFAULT_TIMEOUT:
            _next_timeout = _world_timeout
        return store
    _world_timeout = _next_timeout
    world = _world()
    start_watch()
    members = Members(tuple(range(world.Get_size())), world.Get_rank(), True, _next_timeout.total_seconds())
    with at_once(MpiCall(members, "init_process_group")):
        return _shared_store(world, _next_timeout)


def create(ranks: list[int]) -> ProcessGroup | None:
    """The group of the global `ranks`, called by all of them and by nobody else; empty: all ranks. None on a rank
    outside."""
    world = _world()
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise RuntimeError("the mpi backend needs MPI_THREAD_MULTIPLE: leave mpi4py.rc.thread_level at its default")
    if ranks and world.Get_rank() not in ranks:
        return None
    everybody = tuple(range(world.Get_size()))
    order = tuple(ranks) or everybody
    members = Members(order, order.index(world.Get_rank()), order == everybody, _next_timeout.total_seconds())
    start_watch()
    end_job_on_uncaught_exception()
    with at_once(MpiCall(members, "new_group" if ranks else "init_process_group")):
        communicator = world.Create_group(world.Get_group().Incl(list(ranks))) if ranks else world.Dup()
    members.operations = 0
    return ProcessGroup(communicator, members)


def _world() -> MPI.Intracomm:
    """All ranks of the job, by MPI's own communicator: a notebook may have put a recording one in the place of
    MPI.COMM_WORLD."""
    return MPI.Intracomm.fromhandle(MPI.COMM_WORLD.handle)


def _shared_store(world: MPI.Intracomm, timeout: timedelta) -> dist.Store:
    """A key-value store on rank 0 that every rank is connected to; its address travels over MPI.

    Open to this machine only where all ranks run on it. PyTorch needs a store for groups of another backend beside this
    one.
    """
    one_machine = world.Split_type(MPI.COMM_TYPE_SHARED).Get_size() == world.Get_size()
    address, store = None, None
    if world.Get_rank() == 0:
        host = "127.0.0.1" if one_machine else socket.gethostbyname(socket.gethostname())
        with socket.create_server((host, 0), backlog=world.Get_size()) as server:
            address = (host, server.getsockname()[1])
            store = dist.TCPStore(
                *address, world.Get_size(), True, timeout, wait_for_workers=False, master_listen_fd=server.detach()
            )
    host, port = world.bcast(address, 0)
    return store or dist.TCPStore(host, port, world.Get_size(), False, timeout, wait_for_workers=False)
