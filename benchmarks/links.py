"""`make bench-links`: an all-reduce between four nodes whose links carry 100 Mbit/s, 1 Gbit/s or as much as memory. As
root.

Each time a throw-away Slurm (tools/slurm_cluster.py) with one rank on each node. What unit 03 says about the cost of an
all-reduce, and unit 05 about few large ones instead of many small ones, becomes visible, because the limit on the links
is real. A round's time is that of the slowest rank; shown is the median of the rounds. No all-reduce of n bytes on p
ranks takes less than 2 (p - 1) / p * n / rate: so much must leave every node in a ring, which is the least there is
(Patarasuk and Yuan, 2009). It takes about a minute.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NODES = 4
RATES = {"no limit": None, "1 Gbit/s": "1gbit", "100 Mbit/s": "100mbit"}
BITS_PER_SECOND = {"1 Gbit/s": 1e9, "100 Mbit/s": 1e8}
# bytes in all, number of calls: 1.3 MB in 62 tensors are the gradients of unit 05's ResNet
SIZES = {
    "4 B": (4, 1),
    "64 KB": (64 << 10, 1),
    "1.3 MB": (1_300_000, 1),
    "1.3 MB in 62 calls": (1_300_000, 62),
    "16 MB": (16 << 20, 1),
}
ROUNDS = 7
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # the nodes share this machine's cores
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def measure() -> None:
    """In every rank: {size: median seconds} on the output of rank 0."""
    import numpy as np
    from mpi4py import MPI

    comm, found = MPI.COMM_WORLD, {}
    for name, (nbytes, calls) in SIZES.items():
        pieces = np.array_split(np.ones(nbytes // 4, np.float32), calls)
        times = []
        for _ in range(ROUNDS + 1):  # the first opens the connections
            comm.Barrier()
            start = time.perf_counter()
            for piece in pieces:
                comm.Allreduce(MPI.IN_PLACE, piece, MPI.MAX)
            times.append(comm.allreduce(time.perf_counter() - start, MPI.MAX))
        found[name] = statistics.median(times[1:])
    if comm.rank == 0:
        print(json.dumps(found))


def run(rate: str | None) -> dict[str, float]:
    from slurm_cluster import SlurmCluster

    with tempfile.TemporaryDirectory() as folder, SlurmCluster(NODES, 1, Path(folder) / "cluster", rate) as cluster:
        words = ["salloc", "--quiet", f"--nodes={NODES}", "mpiexec", sys.executable, __file__, "rank"]
        done = cluster.run(words, env=SETTINGS, timeout=300)
        if done.returncode:
            sys.exit(done.stderr)
        return json.loads(done.stdout)


def least(nbytes: int, rate: str) -> float:
    """Seconds below which no all-reduce of so many bytes can be."""
    return 2 * (NODES - 1) / NODES * nbytes * 8 / BITS_PER_SECOND[rate] if rate in BITS_PER_SECOND else 0.0


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def main() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from slurm_cluster import missing

    if reason := missing():
        sys.exit(f"The links cannot be measured: {reason}.")
    found = {name: run(rate) for name, rate in RATES.items()}
    print(f"All-reduce on {NODES} nodes, one rank each, ms (in brackets: the least that the link allows)\n")
    print("| bytes | " + " | ".join(RATES) + " |")
    print("|---|" + "---:|" * len(RATES))
    for name, (nbytes, _) in SIZES.items():
        cells = []
        for rate in RATES:
            bound = least(nbytes, rate)
            cells.append(
                milliseconds(found[rate][name]) + (f" ({milliseconds(bound)})" if nbytes > 1e5 and bound else "")
            )
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["rank"] else main()
