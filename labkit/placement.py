"""The place of a rank: among the ranks, its cores, NUMA domains and GPUs. As a launcher or
scheduler has arranged it.

    placement.of_this_process()    # {"rank": 1, "world_size": 4, "local_rank": 1, ...}
    placement.bind(local_rank, 2)  # torchrun binds nobody: each of two ranks takes its half
    placement.warnings(ranks)      # ["2 ranks share 1 core on node1: ..."]
"""

from __future__ import annotations

import os
import re
import socket
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

# Rank, world size, local rank, as torchrun, Open MPI's mpiexec, srun and MPICH's mpiexec call them
# (the last has no local rank).
LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)
NODES = Path("/sys/devices/system/node")
DRIVER = Path("/proc/driver/nvidia/gpus")


def who() -> tuple[int, int, int]:
    """Rank, world size and local rank from the launcher's variables; (0, 1, 0) for a process that
    no launcher started.
    """
    for names in LAUNCHERS:
        if names[0] in os.environ and names[1] in os.environ:
            rank, world_size, local_rank = (int(os.environ.get(name, 0)) for name in names)
            return rank, world_size, local_rank
    return 0, 1, 0


def of_this_process() -> dict:
    """Rank, world size, local rank, host, and this process's cores, threads, NUMA domains and GPUs:
    plain values, fit for JSON.
    """
    rank, world_size, local_rank = who()
    cores = sorted(os.sched_getaffinity(0))
    return {
        "rank": rank,
        "world_size": world_size,
        "local_rank": local_rank,
        "host": socket.gethostname(),
        "cores": cores,
        "threads": int(os.environ.get("OMP_NUM_THREADS") or len(cores)),
        "numa_domains": [
            number for number, members in numa_domains().items() if members & set(cores)
        ],
        "gpus": gpus(),
    }


def numa_domains() -> dict[int, set[int]]:
    """The cores of each NUMA domain of this node: a part of the memory and the cores that are close
    to it.
    """
    domains = {}
    for folder in NODES.glob("node[0-9]*"):
        domains[int(folder.name[4:])] = numbers((folder / "cpulist").read_text())
    return {number: members for number, members in sorted(domains.items()) if members} or {
        0: set(range(os.cpu_count() or 1))
    }


def numbers(text: str) -> set[int]:
    """The numbers of a list as Linux writes it: "0-3,8" is {0, 1, 2, 3, 8}."""
    found = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def gpus() -> list[str]:
    """The GPUs that this process may use: what the scheduler has put into CUDA_VISIBLE_DEVICES, or
    else all that the driver knows.
    """
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return [
            name
            for name in os.environ["CUDA_VISIBLE_DEVICES"].split(",")
            if name not in ("", "-1", "NoDevFiles")
        ]
    return [str(number) for number in range(len(list(DRIVER.iterdir())))] if DRIVER.is_dir() else []


def gpu_number(local_rank: int, visible: int) -> int:
    """The one of the `visible` GPUs that belongs to a rank: its only one, or the one with its local
    rank.

    Raises ValueError where several ranks of a node would have to share one.
    """
    if visible == 1:
        return 0  # the scheduler has bound it: each rank sees its own as number 0
    if local_rank >= visible:
        raise ValueError(
            f"local rank {local_rank}, but this node gives {visible} GPUs: start one rank for "
            "each GPU"
        )
    return local_rank


def share(cores: Iterable[int], local_rank: int, local_world_size: int) -> set[int]:
    """The part of a node's cores that belongs to one of its ranks: equal numbers of neighbours,
    NUMA domain by NUMA domain.

    All cores where there are fewer than ranks: to tie two ranks to one core helps nobody.
    """
    cores = set(cores)
    ordered = [core for members in numa_domains().values() for core in sorted(members & cores)]
    each = len(ordered) // local_world_size
    return set(ordered[local_rank * each : (local_rank + 1) * each]) if each else cores


def bind(local_rank: int, local_world_size: int) -> None:
    """Tie this process, and the threads that it will start, to its share of the cores; nothing if
    the site says COURSE_BINDING=none.
    """
    if os.environ.get("COURSE_BINDING", "none") != "none":
        os.sched_setaffinity(0, share(os.sched_getaffinity(0), local_rank, local_world_size))


def warnings(ranks: Sequence[dict]) -> list[str]:
    """Sentences on what is wrong with the places of these ranks (as `of_this_process` describes
    them): sentences, none if all is well.
    """
    found = []
    on_host = defaultdict(list)
    for rank in ranks:
        on_host[rank["host"]].append(rank)
    for host, members in on_host.items():
        cores = set().union(*(member["cores"] for member in members))
        threads = sum(member["threads"] for member in members)
        if len(cores) < len(members):
            shared = _count(len(cores), "core")
            found.append(
                f"{len(members)} ranks share {shared} on {host}: ask for more cores for each, or "
                "for fewer ranks"
            )
        elif threads > len(cores):
            found.append(
                f"{threads} computing threads on {_count(len(cores), 'core')} of {host}: set "
                "THREADS in site.sh"
            )
        gpus_seen = {tuple(member["gpus"]) for member in members}
        seen = max(map(len, gpus_seen))
        if len(gpus_seen) == 1 and 1 < seen < len(members):
            found.append(
                f"{len(members)} ranks share {seen} GPUs on {host}: start one rank for each GPU"
            )
        if (
            not seen
            and len(members) > 1
            and any(len(member["numa_domains"]) > 1 for member in members)
        ):
            found.append(
                f"ranks on {host} are spread over NUMA domains: one rank for each domain, and "
                "BINDING=cores in site.sh"
            )
    return found


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
