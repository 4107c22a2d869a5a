"""Processes of a check: started with torch already imported, joined in a process group, ended when their time is up.

All are forked from a server that has imported torch and never touched a GPU (multiprocessing's forkserver), so that a
rank costs no import, and CUDA begins anew in each.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
import time
import traceback
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path

from gpu_check.setting import Setting
from gpu_check.table import Row, judged

# torch._dynamo: the first step of any optimizer imports it. torch.distributed.nn: before there is a process group.
IMPORTS = ["torch", "torch._dynamo", "torch.distributed.nn", "torch.nn.parallel", "torch.utils.data", "numpy"]
GRACE = 5.0  # seconds for the other ranks when one has failed


def run(module: str, setting: Setting, world: int, backend: str = "") -> Iterator[Row | dict]:
    """The rows that `rows(setting, rank, world)` of a module yields on rank 0, as they come. It runs on `world` ranks,
    which are joined in a process group where there is a backend.

    A rank that fails is a row that failed; so is one that has not ended after `setting.seconds`. No process is left.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTS)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ended:
        processes, pipes = [], {}
        for rank in range(world):
            ours, theirs = context.Pipe(duplex=False)
            group = (backend, str(Path(folder) / "meeting_point")) if backend else None
            process = context.Process(target=_rank, args=(module, setting, rank, world, group, theirs), daemon=False)
            process.start()
            ended.callback(_end, process)
            theirs.close()
            processes.append(process)
            pipes[ours] = rank
        yield from _collect(processes, pipes, setting.seconds)


def _end(process) -> None:
    process.join(0.0)
    if process.is_alive():
        process.kill()
    process.join()
    process.close()


def _collect(processes: list, pipes: dict[Connection, int], seconds: float) -> Iterator[Row | dict]:
    end, rank_failed = time.monotonic() + seconds, False
    while pipes:
        ready = wait(list(pipes), timeout=max(0.0, end - time.monotonic()))
        if not ready:
            late = ", ".join(map(str, sorted(pipes.values())))
            if not rank_failed:
                yield judged(f"rank {late} at its end", False, "not there", f"within {seconds:.0f} s")
            return
        for pipe in ready:
            try:
                found = pipe.recv()
            except EOFError:
                rank = pipes.pop(pipe)
                processes[rank].join(GRACE)
                if processes[rank].exitcode != 0 and not rank_failed:
                    rank_failed, end = True, min(end, time.monotonic() + GRACE)
                    yield judged(f"rank {rank}", False, f"ended with {processes[rank].exitcode}", "ends with 0")
                continue
            if isinstance(found, str):
                rank_failed, end = True, min(end, time.monotonic() + GRACE)
                found = judged(f"rank {pipes[pipe]}", False, found, "no exception")
            yield found


def _rank(module: str, setting: Setting, rank: int, world: int, group: tuple | None, pipe: Connection) -> None:
    """The main function of a process: rank 0 sends its rows, the others nothing but an exception's words."""
    os.dup2(2, 1)  # what gloo says of itself does not belong into the table
    try:
        import torch

        torch.manual_seed(0)
        if setting.device == "cpu":
            torch.set_num_threads(1 if setting.small else max(1, len(os.sched_getaffinity(0)) // world))
        if group is not None:
            _join(setting, rank, world, *group)
        for row in import_module(f"gpu_check.{module}").rows(setting, rank, world):
            if rank == 0:
                pipe.send(row)
        if group is not None:
            torch.distributed.destroy_process_group()
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        lines = str(error).strip().splitlines() or [""]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        pipe.send(f"{type(error).__name__} ({where}): {lines[0][:300]}")
    pipe.close()


def _join(setting: Setting, rank: int, world: int, backend: str, meeting_point: str) -> None:
    import torch
    import torch.distributed as dist

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all ranks are on this machine
    more = {}
    if setting.device == "cuda":
        device = torch.device("cuda", rank if "nccl" in backend else 0)
        torch.cuda.set_device(device)
        if backend == "nccl":
            more["device_id"] = device
    dist.init_process_group(
        backend,
        init_method=f"file://{meeting_point}",
        rank=rank,
        world_size=world,
        timeout=timedelta(seconds=setting.seconds),
        **more,
    )
