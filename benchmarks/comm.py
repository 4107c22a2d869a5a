"""`make bench-comm`: torch.distributed over MPI against gloo and against MPI itself, on this machine. Takes one to
three minutes.

For every world size one mpiexec: the same processes measure the three ways in turn, round after round, so that whatever
else the machine does hits all of them. A round's time is that of the slowest rank; shown is the median of the rounds.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from labkit import environment

WORLD_SIZES = (2, 4)
SIZES = {"4 B": 4, "64 KB": 64 << 10, "1 MB": 1 << 20, "16 MB": 16 << 20, "64 MB": 64 << 20}
ROUNDS = (5, 9)  # at least, and at most where they take less than
PATIENCE = 8.0  # s
ROUND_SECONDS = 0.2  # how long one way is measured in one round, roughly
WIDTHS = (784, 2048, 2048, 256, 10)  # of the MLP: 6.3 million parameters
BATCH_SIZE = 32
STEPS = 5  # of training per round


# --- in the ranks


def rounds(ways: dict[str, Callable[[], None]], repeat: int, comm) -> dict[str, float]:
    """Median seconds per call of each way, measured in turn."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    end = time.monotonic() + PATIENCE
    while len(times["mpi"]) < ROUNDS[0] or comm.bcast(len(times["mpi"]) < ROUNDS[1] and time.monotonic() < end):
        for name, call in ways.items():
            call()
            comm.Barrier()
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            times[name].append(comm.allreduce((time.perf_counter() - start) / repeat, max_of()))
    return {name: statistics.median(values) for name, values in times.items()}


def max_of():
    from mpi4py import MPI

    return MPI.MAX


def repeats(call: Callable[[], None], comm) -> int:
    """The number of times that `call` fits into a round; the same on all ranks."""
    call()
    comm.Barrier()
    start = time.perf_counter()
    call()
    seconds = comm.allreduce(time.perf_counter() - start, max_of())
    return max(1, min(300, int(ROUND_SECONDS / seconds)))


def measure_all_reduce(comm, gloo) -> dict[str, dict[str, float]]:
    import torch
    import torch.distributed as dist
    from mpi4py import MPI

    raw, found = comm.Dup(), {}
    for name, nbytes in SIZES.items():
        tensor = torch.zeros(nbytes // 4)
        array = tensor.numpy()
        ways = {
            "mpi": lambda tensor=tensor: dist.all_reduce(tensor),
            "gloo": lambda tensor=tensor: dist.all_reduce(tensor, group=gloo),
            "raw": lambda array=array: raw.Allreduce(MPI.IN_PLACE, array),
        }
        found[name] = rounds(ways, repeats(ways["gloo"], comm), comm)
    return found


def measure_ddp(comm, gloo) -> dict[str, float]:
    """Seconds per training step: without communication, over mpi, over gloo."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    inputs, labels = torch.randn(BATCH_SIZE, WIDTHS[0]), torch.randint(WIDTHS[-1], (BATCH_SIZE,))

    def trainer(group) -> Callable[[], None]:
        torch.manual_seed(0)
        layers = [layer for a, b in zip(WIDTHS, WIDTHS[1:], strict=False) for layer in (nn.Linear(a, b), nn.ReLU())][
            :-1
        ]
        model = nn.Sequential(*layers)
        parallel = model if group is None else DistributedDataParallel(model, process_group=group)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step() -> None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(parallel(inputs), labels).backward()
            optimizer.step()

        return step

    ways = {"alone": trainer(None), "mpi": trainer(dist.group.WORLD), "gloo": trainer(gloo)}
    return rounds(ways, STEPS, comm)


def rank_program(output: str) -> None:
    import torch
    import torch.distributed as dist
    from mpi4py import MPI

    torch.set_num_threads(1)
    dist.init_process_group("mpi")
    gloo = dist.new_group(backend="gloo")
    comm = MPI.COMM_WORLD
    found = {"all_reduce": measure_all_reduce(comm, gloo), "ddp": measure_ddp(comm, gloo)}
    if comm.Get_rank() == 0:
        Path(output).write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


# --- the report


def machine() -> str:
    """One line on what was measured on."""
    import torch

    model = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{environment.cores()} cores ({model}), load {load}; torch {torch.__version__}, Python "
        f"{platform.python_version()}"
    )


def measure(world_size: int, folder: Path) -> dict:
    output = folder / f"{world_size}.json"
    environ = {
        **os.environ,
        **environment.mpi_environment(world_size),
        "GLOO_SOCKET_IFNAME": "lo",
        "TMPDIR": str(folder),
    }
    command = [*environment.mpiexec(), "-n", str(world_size), sys.executable, __file__, str(output)]
    subprocess.run(command, env=environ, check=True, timeout=170)
    return json.loads(output.read_text())


def show(world_size: int, found: dict) -> None:
    print(f"\n{world_size} ranks, all_reduce     mpi        gloo     raw MPI   gloo / mpi   mpi / raw")
    for name, times in found["all_reduce"].items():
        mpi, gloo, raw = times["mpi"], times["gloo"], times["raw"]
        columns = "".join(f"{value * 1e6:9.0f} us" for value in (mpi, gloo, raw))
        print(f"  {name:>10s}       {columns}   {gloo / mpi:10.2f}   {mpi / raw:9.2f}")
    ddp = {name: value * 1e3 for name, value in found["ddp"].items()}
    print(
        f"  DDP step of an MLP with 6.3 M parameters, batch {BATCH_SIZE} per rank: mpi {ddp['mpi']:.0f} ms, gloo "
        f"{ddp['gloo']:.0f} ms,"
    )
    print(f"  {ddp['alone']:.0f} ms without communication; gloo / mpi {ddp['gloo'] / ddp['mpi']:.2f}")


def main() -> None:
    print(machine())
    if environment.cores() < max(WORLD_SIZES):
        print(
            f"{max(WORLD_SIZES)} ranks share these cores: their times say how well ranks give way, not how fast "
            "memory is."
        )
    with tempfile.TemporaryDirectory() as folder:
        for world_size in WORLD_SIZES:
            show(world_size, measure(world_size, Path(folder)))


if __name__ == "__main__":
    rank_program(sys.argv[1]) if len(sys.argv) > 1 else main()
