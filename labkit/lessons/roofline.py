"""Unit 10: a roofline of this machine, measured: the memory's bandwidth, and the rate of thin and thick products.

bandwidth = roofline.bandwidth("cpu")                      bytes per second
intensities, rates = roofline.rates(torch.float32, "cpu")  operations per byte, GFLOP/s
roofline.draw({"float32": (intensities, rates)}, bandwidth)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from matplotlib.axes import Axes

from labkit import plots
from labkit.plots import charts


def seconds_of(work: Callable[[], object], device: str, at_least: float = 0.03) -> float:
    """Seconds of the fastest of the repetitions of `work()` that fit into at_least seconds."""
    work()
    best, begin = math.inf, time.perf_counter()
    while time.perf_counter() - begin < at_least:
        _wait(device)
        start = time.perf_counter()
        work()
        _wait(device)
        best = min(best, time.perf_counter() - start)
    return best


def _wait(device: str) -> None:
    """A GPU works behind Python's back."""
    if device == "cuda":
        torch.cuda.synchronize()


def bandwidth(device: str) -> float:
    """Bytes per second that a copy in the device's memory reads and writes."""
    block = torch.ones(2**28 if device == "cuda" else 2**24, device=device)
    into = torch.empty_like(block)
    return 2 * 4 * block.numel() / seconds_of(lambda: into.copy_(block), device, 0.1)


def columns(device: str) -> tuple[int, ...]:
    """The numbers of columns of the products that `rates` measures."""
    return (1, 4, 16, 64, 256) + (1024, 4096) * (device == "cuda")


def rates(dtype: torch.dtype, device: str, side: int | None = None) -> tuple[list[float], list[float]]:
    """Operations per byte, and GFLOP/s, of products of a square matrix with more and more columns.

    side: rows of the square matrix; None: 8192 on a GPU, 4096 elsewhere. Ends early where a product takes more than a
    second: this machine has no units for the type.
    """
    side = side or (8192 if device == "cuda" else 4096)
    left = torch.randn(side, side, device=device, dtype=dtype)
    intensities, found = [], []
    for n in columns(device):
        right = torch.randn(side, n, device=device, dtype=dtype)
        seconds = seconds_of(lambda right=right: left @ right, device)
        if seconds > 1:
            break
        operations, moved = 2 * side * side * n, side * side + 2 * side * n
        intensities.append(operations / (moved * left.element_size()))
        found.append(operations / seconds / 1e9)
    return intensities, found


def draw(measured: Mapping[str, tuple[list[float], list[float]]], bytes_per_second: float) -> Axes:
    """Draw the measured rates over the intensity, and for each name a roof: the memory's slope, then its largest rate.
    measured: name -> (operations per byte, GFLOP/s)."""
    roofs = {}
    for name, (intensities, found) in measured.items():
        roof = max(found)
        slope = np.array([intensities[0] / 1.5, roof * 1e9 / bytes_per_second])
        roofs[name] = [*slope, intensities[-1] * 1.5], [*(slope * bytes_per_second / 1e9), roof]
    words = {"xlabel": "operations per byte", "ylabel": "GFLOP/s", "log": "xy"}
    ax = charts.compared(roofs, measured, size=(8, 4.2), **words)
    ax.yaxis.set_major_formatter(plots.PLAIN)
    return ax
