"""Makes `torch.distributed.init_process_group("mpi")` work with PyTorch from PyPI.

PyTorch's own MPI backend exists only in builds from source. This module is an entry point of the group
`torch.backends`, so PyTorch calls `install` at the end of every `import torch`, in every process of this environment.
It therefore only leaves a note where PyTorch will look; mpi4py and `labkit.mpi.groups` are imported when somebody asks
for "mpi", and MPI is started then.

PyTorch offers a registry for new backends, but the name "mpi" does not go through it: it is spelled out in
`torch.distributed.distributed_c10d`. Four names of that module are replaced, as PyTorch 2.13 has them:

- `_MPI_AVAILABLE` and `ProcessGroupMPI`: the backend itself;
- `_new_process_group_helper`: PyTorch's MPI backend knows neither the timeout nor a store, ours uses both;
- `_new_group_with_tag`: PyTorch's MPI backend cannot make a group by a call of its members only, ours can.

tests/labkit/mpi/test_process_groups.py fails where a new PyTorch has changed any of them.
"""

from __future__ import annotations

import functools
import os
import sys
from importlib.util import find_spec


class ProcessGroupMPI:
    """The class that PyTorch finds under the name of its missing MPI backend."""

    @staticmethod
    def create(ranks: list[int]):
        """The process group of the global `ranks`, empty for all of them; None on a rank that is not among them."""
        from labkit.mpi import groups

        return groups.create(ranks)


def install() -> None:
    """Put our backend in place of PyTorch's missing one; do nothing where PyTorch was built with MPI or mpi4py is
    missing."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is None or c10d.is_mpi_available() or find_spec("mpi4py") is None:
        return
    c10d._MPI_AVAILABLE = True
    c10d.ProcessGroupMPI = ProcessGroupMPI
    c10d._new_process_group_helper = _with_timeout_and_store(c10d._new_process_group_helper)
    c10d._new_group_with_tag = _by_members_only(c10d._new_group_with_tag, c10d)


def _with_timeout_and_store(new_process_group):
    """`new_process_group`, which tells our backend the timeout and gives the default group a store that all ranks
    share."""

    @functools.wraps(new_process_group)
    def wrapper(group_size, group_rank, ranks, backend, store, group_name, *args, timeout=None, **more):
        if backend in ("mpi", "cpu:mpi"):
            _require_mpiexec()
            from labkit.mpi import groups

            backend = "mpi"
            store = groups.prepare(ranks, store, timeout)
        return new_process_group(
            group_size, group_rank, ranks, backend, store, group_name, *args, timeout=timeout, **more
        )

    return wrapper


def _require_mpiexec() -> None:
    """Raise RuntimeError in a process that torchrun has started as one of several: MPI would make each of them a world
    of its own."""
    processes = int(os.environ.get("WORLD_SIZE") or 1) if "TORCHELASTIC_RUN_ID" in os.environ else 1
    if processes > 1 and os.environ.get("OMPI_COMM_WORLD_SIZE") != str(processes):
        raise RuntimeError(
            f"torchrun has started {processes} processes, but the ranks of the mpi backend are those that mpiexec"
            " starts: "
            f"`mpiexec -n {processes} python program.py`, or init_process_group('gloo') with torchrun"
        )


def _by_members_only(new_group, c10d):
    """`new_group`, which accepts `use_local_synchronization=True` for our backend.

    PyTorch refuses it for the name "mpi" but not for "cpu:mpi", which means the same; the wrapper above turns it back
    into "mpi".
    """

    @functools.wraps(new_group)
    def wrapper(ranks=None, timeout=None, backend=None, *args, use_local_synchronization=False, **more):
        if use_local_synchronization and (backend or c10d.get_backend()) == "mpi":
            backend = "cpu:mpi"
        return new_group(ranks, timeout, backend, *args, use_local_synchronization=use_local_synchronization, **more)

    return wrapper
