"""A DataLoader and a training step: does the device wait for data? A batch takes as long as two steps to be read."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

from gpu_check.devices import fitting, seconds_of, synchronize
from gpu_check.models import resnet50
from gpu_check.setting import Setting
from gpu_check.table import Row, measured

SLOW = 2.0  # steps that the reading of a batch takes
FED = 0.9  # utilisation from which on a device counts as fed
BATCHES = 10  # that are timed


class Slow(Dataset):
    """Whole batches of images, each of which somebody waits for, as for a disk; reading takes no processor time."""

    def __init__(self, count: int, batch: int, side: int, seconds: float) -> None:
        self.count, self.seconds = count, seconds
        self.images = torch.zeros(batch, 3, side, side, dtype=torch.uint8)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Tensor:
        time.sleep(self.seconds)
        return self.images.clone()


def rows(setting: Setting, rank: int, world: int) -> Iterator[Row]:
    """The utilisation with few and with many workers, beside what the pipeline's bound says."""
    device = torch.device(setting.device)
    width, side, size = (8, 32, 4) if setting.small else (64, 224, 64)
    step = training_step(resnet50(10, width).to(device), device)
    images = torch.zeros(size, 3, side, side, dtype=torch.uint8)
    size, seconds = fitting(size, lambda n: seconds_of(partial(step, images[:n]), device, warmup=2))
    yield measured(f"a step of ResNet-50, batch {size}", 1e3 * seconds, "ms", "what a batch may take at most")
    warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
    for workers in (0, 3) if setting.small else (0, 1, 4):
        waits, works = timed(Slow(3 * workers + BATCHES + 2, size, side, SLOW * seconds), workers, step, device)
        yield utilisation_row(workers, utilisation(waits, works), predicted(seconds, SLOW * seconds, workers))
    cores = len(os.sched_getaffinity(0))
    yield measured("cores for reading", cores, "cores", "real decoding needs one for each worker", f"{cores}")


def training_step(model: torch.nn.Module, device: torch.device) -> Callable[[Tensor], None]:
    """A step on a batch of uint8 images that is on the CPU, in 16 bits on a GPU."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(images: Tensor) -> None:
        x = images.to(device, non_blocking=True).float()
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = cross_entropy(model(x), torch.zeros(len(x), dtype=torch.int64, device=device))
        loss.backward()
        optimizer.step()

    return step


def timed(data: Slow, workers: int, step: Callable, device: torch.device) -> tuple[list[float], list[float]]:
    """Seconds of waiting for each batch and of the step on it, the first ones left out: workers read ahead while they
    start."""
    more = {"multiprocessing_context": "fork", "prefetch_factor": 1} if workers else {}
    loader = DataLoader(data, batch_size=None, num_workers=workers, pin_memory=device.type == "cuda", **more)
    waits, works, batches = [], [], iter(loader)
    for _ in range(len(data)):
        start = time.perf_counter()
        images = next(batches)
        there = time.perf_counter()
        step(images)
        synchronize(device)
        waits.append(there - start)
        works.append(time.perf_counter() - there)
    return waits[-BATCHES:], works[-BATCHES:]


def utilisation(waits: Sequence[float], works: Sequence[float]) -> float:
    """The fraction of the time in which the device was not waiting for data."""
    return sum(works) / (sum(waits) + sum(works))


def predicted(step: float, read: float, workers: int) -> float:
    """The pipeline's bound (unit 12). Without a worker reading and step take turns; w workers deliver w batches in the
    time of one reading, and then the slower of the two decides."""
    return step / (step + read) if workers == 0 else min(1.0, workers * step / read)


def word(used: float) -> str:
    """The word for a utilisation: "starving" or "fed"."""
    return "fed" if used >= FED else "starving"


def utilisation_row(workers: int, used: float, bound: float) -> Row:
    """Measured beside the bound, each with its word."""
    shown, expected = f"{used:.0%} busy: {word(used)}", f"{bound:.0%} at most: {word(bound)}"
    return measured(f"{workers} workers, reading {SLOW:g} steps long", used, "of the time", expected, shown)
