"""Advice on a finished job: idle ranks and GPUs, short limits, failures in words."""

from __future__ import annotations

import math
import re
import shlex
import signal as signals
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from labkit import placement, runlog, scaling
from labkit.jobs.job import (
    CANCELLED,
    COMPLETED,
    ENDED,
    NODE_LOST,
    OUT_OF_MEMORY,
    TIME_LIMIT,
    Job,
    clock,
    duration,
)
from labkit.jobs.left import DeviceUse, Left, relative
from labkit.jobs.tables import table

STOPPED = 75  # exit status of a script that stopped before its end and left a checkpoint ("try again", sysexits.h)
IDLE_RANK = 0.05  # of a core; a rank below may have done nothing
BUSY_RANK = 0.05  # of a core; the others must have done at least so much, and ten times as much as the idle one
IDLE_GPU = 5  # percent busy; a sample below counts as idle


@dataclass(frozen=True)
class Warn:
    """says: what was found. do: what to do about it, "" if nothing."""

    says: str
    do: str = ""


def measured_logs(logs: Iterable[tuple[Path, runlog.RunLog]]) -> list[tuple[Path, runlog.RunLog]]:
    """The log with the most epochs for each number of ranks, fewest ranks first."""
    best: dict[int, tuple[Path, runlog.RunLog]] = {}
    for path, run in logs:
        if run.world_size not in best or len(run.epochs) >= len(best[run.world_size][1].epochs):
            best[run.world_size] = path, run
    return [best[world_size] for world_size in sorted(best)]


def throughput(run: runlog.RunLog) -> scaling.Estimate | None:
    """Images per second, the first epoch left out where there are more; None where the log is too short."""
    for skip in (1, 0):
        try:
            return run.throughput(skip_epochs=skip)
        except ValueError:
            continue
    return None


def efficiency(path: Path, run: runlog.RunLog, left: Left) -> tuple[scaling.Estimate, Path, int] | None:
    """(efficiency, the baseline's log, its ranks): throughput per rank over that of the same program on fewest ranks.

    The baseline is looked for in the job's own folder, then in those beside it (jobs/*), the newest first. It must be a
    complete run of the same program on the same kind of processors and GPUs, with the same local batch size (weak
    scaling) or the same global one (strong).
    """
    rate = throughput(run)
    if rate is None or run.world_size < 2:
        return None
    candidates = [(one, other) for one, other in left.logs if one != path]
    if not any(_comparable(run, other) for _, other in candidates) and left.folder:
        for one in sorted(left.folder.parent.glob("*/run_*.jsonl"), key=lambda one: -one.stat().st_mtime)[:200]:
            if one.parent != left.folder:
                try:
                    candidates.append((one, runlog.read(one)))
                except (runlog.RunLogError, OSError):
                    continue
    fitting = [(one, other) for one, other in candidates if _comparable(run, other)]
    if not fitting:
        return None
    baseline, other = min(fitting, key=lambda candidate: candidate[1].world_size)
    speedup = scaling.scaled_speedup(throughput(other), rate)
    return scaling.efficiency(speedup, run.world_size, other.world_size), baseline, other.world_size


def _comparable(run: runlog.RunLog, other: runlog.RunLog) -> bool:
    return (
        0 < other.world_size < run.world_size
        and other.program == run.program
        and other.source_sha256 == run.source_sha256
        and (other.batch_size == run.batch_size or other.global_batch_size == run.global_batch_size)
        and all(other.hardware.get(part) == run.hardware.get(part) for part in ("processor", "gpus"))
        and throughput(other) is not None
    )


# --- warnings ---------------------------------------------------------------------------------------------------------


def _as_before(job: Job) -> list[str]:
    """The options and script arguments that the job was submitted with, except for an older checkpoint."""
    options = []
    if job.nodes:
        options += ["--nodes", str(job.nodes)]
        if job.ranks and job.ranks % job.nodes == 0:
            options += ["--ranks-per-node", str(job.ranks // job.nodes)]
    if math.isfinite(job.limit):
        options += ["--time", clock(job.limit)]
    arguments = list(job.arguments)
    while "--checkpoint" in arguments:
        position = arguments.index("--checkpoint")
        del arguments[position : position + 2]
    return [*options, *(word for word in arguments if not word.startswith("--checkpoint="))]


def _warn(name: str, **figures) -> Warn:
    """The advice of that name in the table, with its {figures} filled in."""
    return Warn(*(sentence.format(**figures) for sentence in table("advice")[name]))


def about_the_end(job: Job, left: Left, script: str, base: Path | None = None) -> list[Warn]:
    """Warnings about what stopped the job from outside (time limit, memory, a node), and how to resume it."""
    again = ""
    if left.checkpoint:
        checkpoint = ["--checkpoint", relative(left.checkpoint, base)]
        command = shlex.join(["labkit", "submit", script, *_as_before(job), *checkpoint])
        again = f"Submit again, it goes on from there: {command}"
    if job.end == TIME_LIMIT or job.exit_status == STOPPED and job.end != COMPLETED:
        killed = f"The job was killed at its time limit of {duration(job.limit)}"
        ended = killed if job.end == TIME_LIMIT else "It stopped before its end"
        return [_warn("checkpoint" if again else "no_checkpoint", ended=ended, again=again)]
    if job.end == OUT_OF_MEMORY:
        return [_warn("out_of_memory")]
    if job.end == NODE_LOST:
        return [_warn("node_lost", again=again or "Submit again.")]
    if job.signal == signals.SIGKILL and job.end != COMPLETED:
        return [_warn("killed")]
    return []


def about_failure(job: Job, tail: list[str]) -> list[Warn]:
    """An explanation of a failed job's last output lines, if the table of failures has one."""
    if job.end in (CANCELLED, TIME_LIMIT) or job.state != ENDED:
        return []
    text = "\n".join(tail)
    for pattern, (says, do) in table("failures").items():
        found = re.search(pattern, text)
        if found:
            line = next(line.strip() for line in tail if found[0].splitlines()[0] in line)
            return [Warn(f"{says} ({line[:120]})", do)]
    return []


def about_ranks(job: Job, left: Left) -> list[Warn]:
    """Warnings about ranks that share cores, did nothing or each ran alone, and about nodes without ranks."""
    measured = [place for node in left.nodes for place in node.places.values()]
    told = left.places["warnings"] if "warnings" in left.places else placement.warnings(measured)
    found = [Warn(*_split(sentence)) for sentence in _merged([*map(str, told)], [node.host for node in left.nodes])]
    found += [_idle(rank, _others(rank, left.ranks)) for rank in left.ranks if _did_nothing(rank, left.ranks)]
    empty = [node.host for node in left.nodes if not node.ranks and node.samples >= 5]
    if empty and left.ranks:
        found.append(_warn("empty_nodes", hosts=", ".join(empty)))
    sizes = [run.world_size for _, run in left.logs]
    if sizes and job.ranks > 1 and max(sizes) == 1:
        found.append(_warn("trained_alone", ranks=job.ranks))
    for path, run in left.logs:
        lazy = [rank for rank in range(run.world_size) if run.epochs and not any(_samples(e, rank) for e in run.epochs)]
        if lazy:
            found.append(_warn("no_share", ranks=", ".join(map(str, lazy[:8])), log=path.name))
    for node in left.nodes:
        if node.memory_peak > 0.95 * node.memory_bytes:
            found.append(_warn("memory_full", host=node.host, percent=100 * node.memory_peak / node.memory_bytes))
    return found


def _samples(epoch: runlog.Epoch, rank: int) -> int:
    return epoch.samples_per_rank[rank] if rank < len(epoch.samples_per_rank) else -1


def _merged(sentences: list[str], hosts: list[str]) -> list[str]:
    """The sentences with those that differ only in the node merged into one: "... on node1, node2"."""
    merged: dict[str, list[str]] = {}
    for sentence in sentences:
        host = next((host for host in hosts if re.search(rf"\b{re.escape(host)}\b", sentence)), "")
        merged.setdefault(re.sub(rf"\b{re.escape(host)}\b", "\0", sentence) if host else sentence, []).append(host)
    return [
        sentence.replace("\0", ", ".join(on[:6]) + (" ..." if len(on) > 6 else "")) for sentence, on in merged.items()
    ]


def _split(sentence: str) -> tuple[str, str]:
    """(what was found, what to do about it): the two halves of a sentence of `labkit.placement`."""
    says, _, do = sentence.partition(": ")
    return says[:1].upper() + says[1:] + ".", (do[:1].upper() + do[1:] + ".") if do else ""


def _others(rank: DeviceUse, ranks: list[DeviceUse]) -> float:
    busy = [other.mean for other in ranks if other is not rank and other.values]
    return statistics.median(busy) if busy else 0.0


def _did_nothing(rank: DeviceUse, ranks: list[DeviceUse]) -> bool:
    """True if the rank was watched long enough and was idle while the others worked. A rank that waits in MPI polls,
    so it counts as busy."""
    return rank.seconds >= 3 and rank.mean < IDLE_RANK and _others(rank, ranks) >= max(BUSY_RANK, 10 * rank.mean)


def _idle(rank: DeviceUse, others: float) -> Warn:
    name = rank.name.capitalize()
    return _warn("idle_rank", rank=name, host=rank.host, percent=100 * rank.mean, others=100 * others)


def about_gpus(left: Left) -> list[Warn]:
    """Warnings about GPUs that were never used or were idle at least half of the time."""
    found = []
    for gpu in left.gpus:
        if len(gpu.values) < 3:
            continue
        idle = sum(value < IDLE_GPU for value in gpu.values) / len(gpu.values)
        name = f"{gpu.name} of {gpu.host}"
        if idle == 1 and gpu.peak < 0.05 * gpu.size:
            found.append(_warn("unused_gpu", gpu=name))
        elif idle >= 0.5:
            found.append(_warn("idle_gpu", gpu=name, percent=100 * idle))
    return found


def about_logs(job: Job, left: Left, shown: str, wants_log: bool) -> list[Warn]:
    """Warnings about run logs that are unreadable, incomplete or missing."""
    found = [_warn("unreadable_log", why=text) for text in left.unreadable]
    for path, run in left.logs:
        if job.end == COMPLETED and run.problems and not _has_later_attempt(path, left.logs):
            found.append(Warn(f"{path.name}: {run.problems[0]}"))
    found += [
        Warn(f"{path.name}: {run.problems[0]}") for path, run in left.mesh_logs if job.end == COMPLETED and run.problems
    ]
    if wants_log and left.folder and job.end == COMPLETED and not (left.logs or left.mesh_logs or left.unreadable):
        found.append(_warn("no_log", folder=shown))
    if left.folder is None and job.state == ENDED and job.hosts:
        found.append(_warn("no_folder"))
    return found


def _has_later_attempt(path: Path, logs: list[tuple[Path, runlog.RunLog]]) -> bool:
    """True if a later attempt of the same job has its own log: only the last attempt's log is complete."""
    stem = path.stem.partition("_attempt")[0]
    return any(
        other != path and other.stem.startswith(f"{stem}_attempt") and other.stem > path.stem for other, _ in logs
    )


def about_efficiency(left: Left, base: Path | None) -> list[Warn]:
    """A warning if the largest run that has a baseline is less than 50 % efficient."""
    for path, run in reversed(measured_logs(left.logs)):
        found = efficiency(path, run, left)
        if found and found[0].high < 0.5:
            return [_warn("efficiency", ranks=count(run.world_size, "rank"), percent=found[0].times(100))]
    return []


def about_time(job: Job) -> list[Warn]:
    """A warning if a job requested an hour or more and used less than a tenth of it."""
    if job.end == COMPLETED and math.isfinite(job.limit) and job.limit >= 3600 and job.run_seconds < 0.1 * job.limit:
        minutes = math.ceil(max(600, 2 * job.run_seconds) / 60)
        return [_warn("long_limit", ran=duration(job.run_seconds), limit=duration(job.limit), minutes=minutes)]
    return []


def count(number: int, thing: str) -> str:
    """ "1 rank", "4 ranks"."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def size_of(number: float) -> str:
    """Bytes for a person: "3.2 GiB", "512 MiB"."""
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"
