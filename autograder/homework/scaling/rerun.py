"""The scaling test once more, on 1 and 2 ranks, where the logs come from hardware like this machine's: is the speedup
about the same?

Speedups are compared, not times, and within a wide factor: runs differ by more than the scatter within one of them.
What differs is a flag for a person. Where nothing can be compared, that is said, and it costs nothing.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from autograder.homework.rubric import Flag, shown
from autograder.homework.scaling.measured import Range, Speed, speed, speedup
from labkit import runlog
from labkit.cells.slicing import Chunk
from labkit.launch import horovod_job, horovod_rendezvous
from labkit.launch.launcher import Launcher, Limits, make_jobs
from labkit.runlog import RunLog

RANKS = 2
FACTOR = 1.5  # by which two honest speedups on 2 ranks may differ, beyond their errors
STEPS = 60  # of an epoch on one rank
IDLE = 0.85  # of the cores that the ranks need, before a run is worth anything
_LIMITS = Limits(cpu_seconds=60, deadline=60)
_WINDOWS = 60  # a run that stands still is ended by its deadline: TensorFlow may rest for seconds before its first step
_RUN = "from probes.timing import run_script"

Timer = Callable[[int, int], RunLog]  # (ranks, batch size) -> the log of a run


def compare(
    logs: Mapping[int, RunLog], speeds: Mapping[int, Speed], timer: Timer, idle: Callable[[], float] | None = None
):
    """(facts, flags). timer: runs the script again; raises RuntimeError, with a sentence, where that fails. idle: how
    many cores are."""
    why = _why_not(logs, speeds) or _busy(idle or idle_cores)
    if why:
        return {"done": False, "why": why}, []
    try:
        again = {p: speed(timer(p, logs[p].batch_size)) for p in (1, RANKS)}
    except (RuntimeError, runlog.RunLogError, OSError) as error:
        return {"done": False, "why": f"The script could not be run again: {shown(error, 200)}."}, []
    if None in again.values():
        return {"done": False, "why": "Run again, the script wrote no log with times of steps."}, []
    claimed, found = (speedup(of[1].steady, of[RANKS].steady) for of in (speeds, again))
    facts = {"done": True, "claimed": [claimed.low, claimed.high], "found": [found.low, found.high]}
    if _apart(claimed, found):
        said = (
            f"On {RANKS} ranks the logs show a speedup of {claimed}. Run again on hardware of the same name, the"
            f" script shows {found}"
        )
        return facts, [Flag("rerun_differs", f"{said}.")]
    return facts, []


def _apart(claimed: Range, found: Range) -> bool:
    half = math.hypot(claimed.half, found.half)
    return claimed.low * (1 - half) > FACTOR * found.high or claimed.high * (1 + half) * FACTOR < found.low


def _why_not(logs: Mapping[int, RunLog], speeds: Mapping[int, Speed]) -> str:
    """The reason why the runs cannot be compared with ones on this machine; "" if they can."""
    if not {1, RANKS} <= set(speeds):
        return f"There are no logs with times for 1 and {RANKS} ranks."
    here = runlog.hardware()
    if here["machine_cores"] < RANKS:
        return "This machine has one core."
    for p in (1, RANKS):
        there = logs[p].hardware
        if there.get("gpus") or str(logs[p].arguments.get("device", "cpu")) != "cpu":
            return "The runs used GPUs, or may have; nothing was run again."
        if (there.get("processor"), there.get("machine_cores")) != (here["processor"], here["machine_cores"]):
            return "The runs were made on hardware other than this machine's, so their times cannot be checked here."
        if not 1 <= logs[p].batch_size <= 512:
            return "The batch size is larger than what is run again here."
    return ""


def _busy(idle: Callable[[], float]) -> str:
    free = idle()
    return (
        "" if free >= IDLE * RANKS else f"This machine is busy ({free:.1f} cores are free), so times would say nothing."
    )


def idle_cores(seconds: float = 0.4) -> float:
    """The number of this machine's cores that had nothing to do for a moment. Source: proc(5), /proc/stat."""

    def ticks() -> tuple[int, int, int]:
        lines = Path("/proc/stat").read_text().splitlines()
        numbers = [int(n) for n in lines[0].split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4], sum(line[:3] == "cpu" for line in lines) - 1

    try:
        (whole, idle, _), _, (later, idle_later, cores) = ticks(), time.sleep(seconds), ticks()
    except (OSError, ValueError, IndexError):
        return 0.0
    return cores * (idle_later - idle) / max(later - whole, 1)


def timer(script: Path, launcher: Launcher) -> Timer:
    """Runs `script` in the launcher, which is in the jail when a class is graded, on random images."""
    source = script.read_text(encoding="utf-8", errors="replace")

    def run(ranks: int, batch_size: int) -> RunLog:
        chance = np.random.default_rng(0)
        count = batch_size * STEPS
        data = {
            "x_train": chance.integers(0, 256, (count, 28, 28), dtype=np.uint8),
            "y_train": chance.integers(0, 10, count, dtype=np.uint8),
            "x_test": chance.integers(0, 256, (64, 28, 28), dtype=np.uint8),
            "y_test": chance.integers(0, 10, 64, dtype=np.uint8),
        }
        words = [
            "--batch-size",
            str(batch_size),
            "--epochs",
            "2",
            "--device",
            "cpu",
            "--data",
            "DATA",
            "--log",
            f"run_{ranks}.jsonl",
        ]
        chunks = [Chunk("timing", 1, _RUN)]
        jobs = make_jobs(chunks, "run_script", [(script.name, source, words, data)] * ranks, runtime="horovod")
        warm = launcher.with_frameworks(horovod_rendezvous.FRAMEWORKS)
        outcome, _ = horovod_job.run(warm, jobs, limits=_LIMITS, windows=_WINDOWS)
        first = outcome.ranks[0]
        if first.state != "returned" or not isinstance(first.value, str) or not first.value:
            raise RuntimeError(f"rank 0 {first.state}" if first.state != "returned" else "it wrote no log")
        with tempfile.TemporaryDirectory(prefix="rerun-") as folder:
            path = Path(folder) / f"run_{ranks}.jsonl"
            path.write_text(first.value, encoding="utf-8")
            return runlog.read(path, ranks)

    return run
