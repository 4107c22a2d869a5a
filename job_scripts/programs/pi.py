"""Pi on many ranks: the area under 4 / (1 + x * x) from 0 to 1, cut into strips, each rank adding up every so-many-th
of them.

srun python pi.py --strips 100000000 --json result.json
"""

from __future__ import annotations

import argparse
import json
import math
import socket
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

AT_ONCE = 1_000_000  # strips in memory


def area(strips: int, rank: int, world_size: int) -> float:
    """The area of the strips rank, rank + world_size, rank + 2 * world_size ..., each as high as the curve at its
    middle.
    """
    total = 0.0
    for first in range(rank, strips, AT_ONCE * world_size):
        numbers = np.arange(first, min(first + AT_ONCE * world_size, strips), world_size)
        x = (numbers + 0.5) / strips
        total += float(np.sum(4.0 / (1.0 + x * x)))
    return total / strips


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--strips", type=int, default=200_000_000, help="more strips: a longer computation (default: 200 million)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to this file")
    options = parser.parse_args()

    comm = MPI.COMM_WORLD
    rank, world_size = comm.Get_rank(), comm.Get_size()
    local_rank = comm.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()  # among the ranks that share a node's memory
    places = comm.gather(
        {"rank": rank, "world_size": world_size, "local_rank": local_rank, "host": socket.gethostname()}
    )

    comm.Barrier()
    start = time.perf_counter()
    pi = comm.reduce(area(options.strips, rank, world_size), op=MPI.SUM, root=0)
    seconds = time.perf_counter() - start

    if rank == 0:
        for place in places:
            print(f"rank {place['rank']} of {world_size}: local rank {place['local_rank']} on {place['host']}")
        print(
            f"pi = {pi:.12f}, error {abs(pi - math.pi):.1e}; {options.strips:,} strips in {seconds:.3f} s on "
            f"{world_size} ranks"
        )
        if options.json:
            record = {
                "pi": pi,
                "error": abs(pi - math.pi),
                "strips": options.strips,
                "seconds": seconds,
                "ranks": places,
            }
            options.json.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
