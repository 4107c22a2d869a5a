"""NCCL on as many ranks as there are GPUs (on a CPU: gloo on two): sums to the last bit, and bus bandwidth."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist

from gpu_check.devices import seconds_of
from gpu_check.setting import Setting
from gpu_check.table import Row, judged, measured

SIZES = (4096, 1 << 20, 1 << 24, 1 << 28)  # bytes


def rows(setting: Setting, rank: int, world: int) -> Iterator[Row]:
    """The values of four collectives, and the times of an all-reduce."""
    device = torch.device(setting.device, torch.cuda.current_device()) if setting.device == "cuda" else "cpu"
    device = torch.device(device)
    for dtype in (torch.int64, torch.float32, torch.bfloat16):
        yield values_row(f"all_reduce of {str(dtype)[6:]} on {world} ranks", _all_reduce_off(device, dtype), world)
    yield values_row(f"broadcast, all_gather, reduce_scatter on {world}", _others_off(device, rank, world), world)
    for nbytes in SIZES[:2] if setting.small else SIZES:
        numbers = torch.zeros(nbytes // 4, device=device)
        seconds = slowest(seconds_of(lambda numbers=numbers: dist.all_reduce(numbers), device), device)
        yield bandwidth_row(nbytes, seconds, world)


def values_row(what: str, wrong: int, world: int) -> Row:
    """wrong: how many numbers, on all ranks together, are not exactly what they should be."""
    return judged(what, wrong == 0, f"{wrong} numbers wrong", "0 wrong: sums are exact", wrong, "numbers")


def bus_bandwidth(nbytes: int, seconds: float, world: int) -> float:
    """Bytes per second that a link must have carried for an all-reduce of `nbytes` in a ring: each rank sends
    2 (p - 1) / p times the vector (unit 03; nccl-tests, doc/PERFORMANCE.md, calls it bus bandwidth)."""
    return nbytes / seconds * 2 * (world - 1) / world


def bandwidth_row(nbytes: int, seconds: float, world: int) -> Row:
    """The time of an all-reduce, and where there is a link its bandwidth."""
    what = f"all_reduce of {nbytes / 1024:,.0f} KiB"
    if world == 1:
        return measured(what, 1e6 * seconds, "us", "one rank: a call's latency, no link")
    gigabytes = bus_bandwidth(nbytes, seconds, world) / 1e9
    shown = f"{1e6 * seconds:,.0f} us, {gigabytes:,.3g} GB/s"
    return measured(what, gigabytes, "GB/s", "grows with the size up to the link's", shown)


def slowest(seconds: float, device: torch.device) -> float:
    """The largest of all ranks' times."""
    found = torch.tensor([seconds], dtype=torch.float64, device=device)
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return found.item()


def _everywhere(wrong: torch.Tensor) -> int:
    total = wrong.sum().reshape(1)
    dist.all_reduce(total)
    return int(total.item())


def _all_reduce_off(device: torch.device, dtype: torch.dtype) -> int:
    """Rank r brings (r + 1) times 0, 1, ..., 15 again and again: every sum is small enough to be exact in any dtype."""
    rank, world = dist.get_rank(), dist.get_world_size()
    pattern = torch.arange(10_007, device=device) % (16 if world < 6 else 2)
    numbers = ((rank + 1) * pattern).to(dtype)
    dist.all_reduce(numbers)
    return _everywhere(numbers.to(torch.int64) != pattern * (world * (world + 1) // 2))


def _others_off(device: torch.device, rank: int, world: int) -> int:
    # since torch 2.13 these are called ..._single
    gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    line = torch.arange(1000, device=device)
    sent = line.clone() if rank == 0 else torch.zeros_like(line)
    dist.broadcast(sent, src=0)
    gathered = torch.empty(1000 * world, dtype=torch.int64, device=device)
    gather(gathered, line + 1000 * rank)
    summed = torch.empty_like(line)
    scatter(summed, torch.arange(1000 * world, device=device) * (rank + 1))
    factor = world * (world + 1) // 2
    wrong = (sent != line).sum() + (gathered != torch.arange(1000 * world, device=device)).sum()
    return _everywhere(wrong + (summed != (line + 1000 * rank) * factor).sum())
