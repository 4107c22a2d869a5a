"""Messages between nodes with torch.distributed: send and receive, then an all-reduce, each timed and checked.

    torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint HOST:PORT c10d.py --megabytes 16

On GPUs over NCCL, else over gloo.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from labkit import placement

PATIENCE = timedelta(seconds=60)  # a rank that waits longer for another one gives up with an error


def set_up() -> torch.device:
    """Join the other ranks: torchrun has left in the environment who we are and where to meet. Returns this rank's
    device.
    """
    local_rank = int(os.environ["LOCAL_RANK"])
    placement.bind(local_rank, int(os.environ["LOCAL_WORLD_SIZE"]))
    if not torch.cuda.is_available():
        dist.init_process_group("gloo", timeout=PATIENCE)
        return torch.device("cpu")
    device = torch.device("cuda", placement.gpu_number(local_rank, torch.cuda.device_count()))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", timeout=PATIENCE, device_id=device)
    return device


def round_trip(other: int, numbers: torch.Tensor, repeats: int) -> float:
    """Rank 0 sends `numbers` to rank `other`, which adds its rank and sends them back. Seconds of one way, the median;
    on rank 0.
    """
    rank, seconds = dist.get_rank(), []
    for _ in range(repeats):
        start = time.perf_counter()
        if rank == 0:
            back = torch.empty_like(numbers)
            dist.send(numbers, dst=other)
            dist.recv(back, src=other)
            if not torch.equal(back, numbers + other):
                raise RuntimeError(
                    f"rank {other} should have sent the numbers plus {other}, but begins with {back[:3].tolist()}"
                )
        elif rank == other:
            dist.recv(numbers, src=0)
            numbers += rank
            dist.send(numbers, dst=0)
        seconds.append((time.perf_counter() - start) / 2)
    return statistics.median(seconds)


def all_reduce(count: int, device: torch.device, repeats: int) -> float:
    """Every rank puts in its rank + 1, so everyone must get 1 + 2 + ... + world size. Seconds, the median."""
    rank, world_size, seconds = dist.get_rank(), dist.get_world_size(), []
    for _ in range(repeats):
        numbers = torch.full((count,), rank + 1.0, device=device)
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(numbers)
        total = numbers[-1].item()  # waits for the result, on a GPU too
        seconds.append(time.perf_counter() - start)
        if total != world_size * (world_size + 1) / 2:
            raise RuntimeError(f"rank {rank}: the sum of 1 to {world_size} came out as {total}")
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=16, help="size of a message (default: 16)")
    parser.add_argument("--repeats", type=int, default=10, help="how often each is timed (default: 10)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to this file")
    options = parser.parse_args()
    device = set_up()
    rank, world_size = dist.get_rank(), dist.get_world_size()

    place = {
        "rank": rank,
        "world_size": world_size,
        "local_rank": int(os.environ["LOCAL_RANK"]),
        "host": socket.gethostname(),
    }
    places = [None] * world_size
    dist.all_gather_object(places, place)
    count = max(1, int(options.megabytes * 1e6) // 4)  # float32: 4 bytes each
    one_way = [round_trip(other, torch.zeros(count, device=device), options.repeats) for other in range(1, world_size)]
    reduced = all_reduce(count, device, options.repeats)

    if rank == 0:
        for one in places:
            print(f"rank {one['rank']} of {world_size}: local rank {one['local_rank']} on {one['host']}")
        for other, seconds in enumerate(one_way, 1):
            where = "same node" if places[other]["host"] == place["host"] else "other node"
            print(f"rank 0 -> rank {other} ({where}): {options.megabytes:g} MB in {1e3 * seconds:.2f} ms,", end=" ")
            print(f"{options.megabytes / seconds:.0f} MB/s")
        print(f"all-reduce of {options.megabytes:g} MB on {world_size} ranks: {1e3 * reduced:.2f} ms")
        if options.json:
            record = {"backend": dist.get_backend(), "megabytes": options.megabytes, "all_reduce_seconds": reduced}
            options.json.write_text(json.dumps(record | {"send_seconds": one_way, "ranks": places}) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
