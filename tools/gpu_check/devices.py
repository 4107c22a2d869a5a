"""The device that everything is tried on: what it is, how fast it can be at most, and how to read a clock beside it."""

from __future__ import annotations

import platform
import re
import statistics
import time
from collections.abc import Callable, Iterator

import torch

from gpu_check.setting import Setting

RUNS = 5  # the median of so many is what counts
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
SIXTEEN, TF32, FLOAT32 = "16 bits", "TF32", "float32"  # the number formats in which a GPU multiplies

# The words in a device's name, and its peak in TFLOP/s: 16 bits on tensor cores, added up in 32 bits, without
# sparsity; and float32 outside of them. The first line that fits counts. Sources: for 16 bits torchtitan,
# torchtitan/tools/utils.py (get_peak_flops), which names NVIDIA's page or data sheet for each; 989.4 and float32 are
# units x clock x 2 (docs/gpu.md), which NVIDIA's data sheets round to 989, 67 and 19.5. None: not looked up.
PEAKS: tuple[tuple[tuple[str, ...], float, float | None], ...] = (
    (("A100",), 312, 19.5),
    (("H100", "NVL"), 835, None),
    (("H100", "PCIe"), 756, None),
    (("H100",), 989.4, 66.9),
    (("H200", "NVL"), 0, None),  # another card than the next line's
    (("H200",), 989.4, 66.9),
    (("B200",), 2250, None),
    (("L40S",), 362, None),
)


def peak(name: str, products: str, told: float | None = None) -> float | None:
    """The peak of a device in FLOP/s, or None where it is not known.

    name: as torch gives it. products: SIXTEEN, TF32 (half of 16 bits, on every device of the table) or FLOAT32 (outside
    of tensor cores). told: TFLOP/s in 16 bits from the command line, which counts more than the table.
    """
    sixteen, thirty_two = told, None
    for words, known, known_32 in PEAKS:
        if all(re.search(rf"\b{word}\b", name) for word in words):
            sixteen, thirty_two = told or known, known_32
            break
    found = thirty_two if products == FLOAT32 else sixteen
    return 1e12 * found / (2 if products == TF32 else 1) if found else None


def name_of(setting: Setting) -> str:
    """The name of the device, as torch gives it."""
    return torch.cuda.get_device_name(0) if setting.device == "cuda" else "cpu"


def describe(setting: Setting) -> dict:
    """The lines that stand above the table. `problem` is there only if the device cannot be had."""
    found = {"device": setting.device, "torch": torch.__version__, "python": platform.python_version()}
    if setting.device == "cuda":
        if not torch.cuda.is_available():
            return {"problem": f"torch {torch.__version__} finds no GPU here. On a CPU: --device cpu --small"}
        count = torch.cuda.device_count()
        found["device"] = ", ".join(torch.cuda.get_device_name(k) for k in range(count))
        found["CUDA"] = str(torch.version.cuda)
        found["gpus"] = count
    found["float32"] = f"matrix products {torch.get_float32_matmul_precision()!r}"
    return found


def rows(setting: Setting, rank: int, world: int) -> Iterator[dict]:
    """Not a check: what `describe` says."""
    yield describe(setting)


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what it was told; a CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(step: Callable[[], object], device: torch.device, warmup: int = 3, runs: int = RUNS) -> float:
    """Seconds of one call, the median of `runs`, each begun and ended with an idle device."""
    for _ in range(warmup):
        step()
    found = []
    for _ in range(runs):
        synchronize(device)
        start = time.perf_counter()
        step()
        synchronize(device)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def fitting(batch: int, measure: Callable[[int], object]) -> tuple[int, object]:
    """The largest of batch, batch / 2, batch / 4 ... that fits into the device's memory, and what `measure` returned
    for it. Raises torch.OutOfMemoryError where not even one sample does."""
    while True:
        try:
            return batch, measure(batch)
        except torch.OutOfMemoryError:
            if batch == 1:
                raise
        torch.cuda.empty_cache()
        batch //= 2
