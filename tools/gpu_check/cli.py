"""The command: its options, the checks one after the other, the table, the exit status.

    python tools/gpu_check                           all GPUs of this machine
    python tools/gpu_check --device cpu --small      the same code without a GPU, some seconds

Needs torch 2.10 or later and numpy. Exit status: 0 if everything that was judged is right, 1 if not, 2 if there is
nothing to try it on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpu_check import table, workers
from gpu_check.setting import Setting
from gpu_check.table import Row

OLDEST = (2, 10)  # torch


@dataclass(frozen=True)
class GpuCheck:
    """A module's `rows`, on how many ranks, joined by which backend. backend: "" for none."""

    module: str
    title: str
    ranks: Callable[[Setting], int] = lambda setting: 1
    backend: Callable[[Setting], str] = lambda setting: ""


def collective_ranks(setting: Setting) -> int:
    """As many as there are GPUs."""
    return setting.gpus if setting.device == "cuda" else 2


def lesson_ranks(setting: Setting) -> int:
    """A lesson has four ranks; with fewer GPUs fewer, but two at least, on one GPU if need be."""
    return max(2, min(4, setting.gpus))


def lesson_backend(setting: Setting) -> str:
    """NCCL for a GPU's tensors where each rank has a GPU, and gloo for all else."""
    return "cpu:gloo,cuda:nccl" if setting.device == "cuda" and setting.gpus > 1 else "gloo"


CHECKS = {
    "collectives": GpuCheck(
        "collectives",
        "1 collectives: NCCL, a rank for each GPU (on a CPU: gloo, two ranks)",
        collective_ranks,
        lambda setting: "nccl" if setting.device == "cuda" else "gloo",
    ),
    "ddp": GpuCheck("replicas", "2 DDP: gloo, two ranks on one device", lambda setting: 2, lambda setting: "gloo"),
    "precision": GpuCheck("precision", "3 precision: steps in float32, bfloat16 and float16"),
    "memory": GpuCheck("memory", "4 memory: unit 15's arithmetic"),
    "loader": GpuCheck("loading", "5 input: does the device wait for data?"),
    "lessons": GpuCheck("lessons", "6 lessons: the cells with a DEVICE", lesson_ranks, lesson_backend),
    "programs": GpuCheck("programs", "7 programs that choose a GPU"),
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="where (default: cuda)")
    parser.add_argument("--small", action="store_true", help="tiny sizes: whether it runs, no figures worth reading")
    parser.add_argument("--only", help="some of the checks, with commas: " + ",".join(CHECKS))
    parser.add_argument("--seconds", type=float, default=900, help="for all checks together (default: 900)")
    parser.add_argument("--peak", type=float, metavar="TFLOPS", help="the device's peak in 16 bits, without sparsity")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table for programs, too")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",") if options.only else list(CHECKS)
    unknown = sorted(set(options.only) - set(CHECKS))
    if unknown:
        parser.error(f"--only {','.join(unknown)}: choose from {', '.join(CHECKS)}")
    if options.seconds <= 0 or (options.peak is not None and options.peak <= 0):
        parser.error("--seconds and --peak must be above 0")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks that the command line asks for. Returns the exit status."""
    options = parse(arguments)
    setting = Setting(options.device, options.small, options.peak, min(120.0, options.seconds))
    machine = machine_of(setting)
    if "problem" in machine:
        print(machine["problem"], file=sys.stderr)
        return 2
    rows = found_by(options.only, replace(setting, gpus=machine.get("gpus", 0)), options.seconds)
    print(table.text(rows, machine))
    wrong = table.failed(rows)
    print(f"\n{len(rows)} rows, {len(wrong)} failed")
    if options.json:
        table.write(options.json, rows, machine)
    return 1 if wrong else 0


def machine_of(setting: Setting) -> dict:
    """The device, torch and GPUs of this machine, or the `problem` why there are none."""
    found = next(iter(workers.run("devices", setting, 1)), None)
    if not isinstance(found, dict):
        said = found.measured if found else "nothing came back"
        return {"problem": f"{sys.executable}: {said}\nAnother Python, one with torch: make gpu-check PYTHON=python3"}
    version = tuple(int(part) for part in found.get("torch", "0.0").split(".")[:2])
    if "problem" not in found and version < OLDEST:
        return {"problem": f"torch {found['torch']} is too old: this needs {'.'.join(map(str, OLDEST))} or later"}
    return found


def found_by(names: Sequence[str], setting: Setting, seconds: float) -> list[Row]:
    """The rows of these checks. What is left of the time is shared by the checks that are left; one that fails, or
    does not end, costs the others nothing."""
    end, rows = time.monotonic() + seconds, []
    for k, name in enumerate(names):
        check, start = CHECKS[name], time.monotonic()
        share = max(1.0, (end - start) / (len(names) - k))
        print(f"{name} ... ", end="", file=sys.stderr, flush=True)
        told = replace(setting, seconds=share)
        found = list(workers.run(check.module, told, check.ranks(told), check.backend(told)))
        rows += [replace(row, check=check.title) for row in found]
        print(f"{time.monotonic() - start:.1f} s, {len(table.failed(found))} failed", file=sys.stderr)
    return rows
