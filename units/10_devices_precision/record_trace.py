"""Records what a step of DistributedDataParallel does, with torch.profiler.

    python record_trace.py trace.json.gz

Two ranks; over NCCL where there are two GPUs, over gloo on one GPU or on CPUs. Rank 0
writes its trace, for chrome://tracing or ui.perfetto.dev, and for unit 10.
"""

import gzip
import json
import os
import socket
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.nn  # noqa: F401  see docs/design.md: before the process group
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function

RANKS, WARMUP, STEPS = 2, 3, 2
KEPT = ("cpu_op", "user_annotation", "kernel", "gpu_memcpy", "gpu_user_annotation")


def work(rank: int, port: int, path: str) -> None:
    gpus = torch.cuda.device_count()
    backend = "nccl" if gpus >= RANKS else "gloo"
    device = torch.device("cuda", rank % gpus) if gpus else torch.device("cpu")
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group(backend, rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    width = 4096 if gpus else 768
    layers = [m for _ in range(6) for m in (nn.Linear(width, width), nn.ReLU())]
    ddp = DistributedDataParallel(
        nn.Sequential(*layers).to(device),
        device_ids=[device.index] if gpus else None,
        bucket_cap_mb=2 * width * width * 4 / 2**20,  # two layers in a bucket
    )
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
    x = torch.randn(1024, width, device=device)

    def step():
        with record_function("forward"):
            loss = ddp(x).square().mean()
        with record_function("backward"):
            loss.backward()
        with record_function("step"):
            optimizer.step()
            optimizer.zero_grad()
            if gpus:
                torch.cuda.synchronize()

    for _ in range(WARMUP):
        step()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * bool(gpus)
    with profile(activities=activities) as profiler:
        for _ in range(STEPS):
            step()
    if rank == 0:
        write(profiler, path, f"{RANKS} ranks over {backend}, {device.type}")
    dist.destroy_process_group()


def write(profiler: profile, path: str, machine: str) -> None:
    """Write a trace of what took time; of the machine it tells its kind alone."""
    with tempfile.TemporaryDirectory() as folder:
        profiler.export_chrome_trace(f"{folder}/all.json")
        with open(f"{folder}/all.json") as file:
            events = json.load(file)["traceEvents"]
    keys = ("ph", "cat", "name", "pid", "tid", "ts", "dur")
    kept = [
        {key: event[key] for key in keys}
        for event in events
        if event.get("cat") in KEPT and event["ph"] == "X"
    ]
    pids = {pid: k for k, pid in enumerate(dict.fromkeys(e["pid"] for e in kept))}
    tids = {tid: k for k, tid in enumerate(dict.fromkeys(e["tid"] for e in kept))}
    first = min(event["ts"] for event in kept)
    for event in kept:
        event |= {"pid": pids[event["pid"]], "tid": tids[event["tid"]]}
        event["ts"] = round(event["ts"] - first, 3)
    with gzip.open(path, "wt") as file:
        json.dump({"traceEvents": kept, "machine": machine}, file)


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(
        work, (port, os.path.abspath(sys.argv[1])), nprocs=RANKS
    )
