"""`make bench-relay`: what an operation on the relay costs this machine as ranks become more. Takes about a minute.

Each line is a program on so many ranks that are threads of one process, in a process of its own; shown is the median of
the rounds, beside what an operation costs on 64 ranks. An operation's cost is that of one more: what the same ranks
need for a single step, their start included ("first step"), is taken off before.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time

ROUNDS = 3
PROGRAMS = (
    ("ring", 4, 2000),
    ("ring", 64, 160),
    ("ring", 512, 20),
    ("ring", 4096, 6),
    ("all_reduce", 4, 1000),
    ("all_reduce", 64, 100),
    ("all_reduce", 512, 12),
    ("all_reduce", 4096, 3),
)


def ring(steps: int) -> float:
    """Each rank sends to the next and receives from the one before."""
    import torch
    import torch.distributed as dist

    r, p = dist.get_rank(), dist.get_world_size()
    x, y = torch.full((4,), float(r)), torch.empty(4)
    for _ in range(steps):
        work = dist.isend(x, (r + 1) % p)
        dist.recv(y, (r - 1) % p)
        work.wait()
    return float(y[0])


def all_reduce(steps: int) -> float:
    """Each rank's four numbers, added up so many times."""
    import torch
    import torch.distributed as dist

    x = torch.full((4,), 1.0 / dist.get_world_size())
    y = torch.ones(4)
    for _ in range(steps):
        y = x.clone()
        dist.all_reduce(y)
    return float(y[0])


def measure(name: str, ranks: int, steps: int) -> dict:
    """Seconds (wall, and of the processor) and operations of one program."""
    import resource

    from labkit.relay.threads import ThreadedRanks

    program = {"ring": ring, "all_reduce": all_reduce}[name]
    ThreadedRanks(2).run(program, [(1,)] * 2)
    start = time.process_time()
    first = ThreadedRanks(ranks).run(program, [(1,)] * ranks)
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = ThreadedRanks(ranks).run(program, [(steps,)] * ranks)
    start, wall, cpu = cpu - start, time.perf_counter() - wall, time.process_time() - cpu
    right = [float((r - 1) % ranks) for r in range(ranks)] if name == "ring" else [1.0] * ranks
    if any(abs(rank.value - value) > 1e-3 for rank, value in zip(outcome.ranks, right, strict=True)):
        raise SystemExit(f"{name} on {ranks} ranks: wrong values")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return {
        "start": start,
        "wall": wall,
        "cpu": cpu,
        "operations": len(outcome.events),
        "first": len(first.events),
        "peak": peak,
        "virtual": outcome.elapsed,
    }


def main() -> None:
    """Print the table."""
    print(
        f"{platform.machine()}, Python {platform.python_version()}; medians of {ROUNDS} rounds, each in a new process\n"
    )
    heads = (
        "program",
        "ranks",
        "steps",
        "operations",
        "wall s",
        "CPU s",
        "first step",
        "us each",
        "of 64's",
        "peak MB",
    )
    print("{:10} {:>6} {:>6} {:>11} {:>7} {:>7} {:>11} {:>8} {:>8} {:>8}".format(*heads))
    of_64: dict[str, float] = {}
    for name, ranks, steps in PROGRAMS:
        command = [sys.executable, "-m", "benchmarks.relay", name, str(ranks), str(steps)]
        rounds = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(ROUNDS)]
        median = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        wall, cpu, start, operations = (median[key] for key in ("wall", "cpu", "start", "operations"))
        each = 1e6 * (cpu - start) / (operations - median["first"])
        if ranks == 64:
            of_64[name] = each
        ratio = f"{each / of_64[name]:.2f}" if name in of_64 else ""
        row = f"{name:10} {ranks:6} {steps:6} {operations:11.0f} {wall:7.2f} {cpu:7.2f} {start:11.2f}"
        print(f"{row} {each:8.0f} {ratio:>8} {median['peak']:8.0f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
