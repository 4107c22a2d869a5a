"""What a finished job should have done otherwise: idle ranks and GPUs, short limits, failures in words."""

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
from labkit.jobs.left import Left, Use

STOPPED = 75  # exit status of a script that stopped before its end and left a checkpoint ("try again", sysexits.h)
IDLE_RANK = 0.05  # of a core; a rank below may have done nothing
BUSY_RANK = 0.05  # of a core; the others must have done at least so much, and ten times as much as the idle one
IDLE_GPU = 5  # percent busy; a sample below counts as idle

# What a program says when it fails, and what to do. The first that is found counts.
_FAILURES = (
    (
        r"CUDA out of memory|torch\.(cuda\.)?OutOfMemoryError|OOM when allocating|ResourceExhaustedError",
        "A GPU's memory was too small.",
        "Halve the local batch size; the global one can stay if there are more ranks.",
    ),
    (
        r"ModuleNotFoundError: No module named '([\w.]+)'",
        "A Python package is missing on the nodes.",
        "Let job_scripts/site.sh activate the course's environment: the job does not inherit your shell's.",
    ),
    (
        r"Address already in use|EADDRINUSE",
        "The port where the ranks meet was taken.",
        "Submit again: the next job looks for another one.",
    ),
    (
        r"NCCL (error|WARN)|ncclInternalError|ncclSystemError|ncclUnhandledCudaError",
        "NCCL, which connects the GPUs, failed.",
        "Submit again with NCCL_DEBUG=INFO in the environment, and look at NCCL_SOCKET_IFNAME in job_scripts/site.sh.",
    ),
    (
        r"(Connection (refused|timed out|reset by peer)|The client socket has (failed|timed out)|Gloo connectFullMesh failed)",
        "Ranks did not reach each other.",
        "Look at the network interface in job_scripts/site.sh; if one rank failed first, its message stands further up.",
    ),
    (r"command not found", "A command is missing on the nodes.", "Load its module in job_scripts/site.sh."),
    (r"No space left on device", "A disk was full.", "Look at your quota, and at /tmp on the nodes."),
    (
        r"no slots available|not enough slots available",
        "mpiexec was to start more ranks than the allocation has.",
        "Ask for as many with --nodes and --ranks-per-node.",
    ),
)


@dataclass(frozen=True)
class Warn:
    """says: what was found. do: what to do about it, "" if nothing."""

    says: str
    do: str = ""


def measured_logs(logs: Iterable[tuple[Path, runlog.RunLog]]) -> list[tuple[Path, runlog.RunLog]]:
    """One log for each number of ranks, the smallest first: of several attempts the one with most epochs."""
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

    The baseline is looked for in the job's own folder, then in those beside it (jobs/*), the newest first. It must be a complete run of
    the same program on the same kind of processors and GPUs, with the same local batch size (weak scaling) or the same global one (strong).
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


# --- warnings -------------------------------------------------------------------------------------------------------------------------


def _as_before(job: Job) -> list[str]:
    """What the job had been given: nodes, ranks, time and the arguments of its script, without an older checkpoint."""
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


def about_the_end(job: Job, left: Left, script: str, shown: str) -> list[Warn]:
    again = ""
    if left.checkpoint:
        command = shlex.join(["labkit", "submit", script, *_as_before(job), "--checkpoint", f"{shown}/{left.checkpoint.name}"])
        again = f"Submit again, it goes on from there: {command}"
    if job.end == TIME_LIMIT or job.exit_status == STOPPED and job.end != COMPLETED:
        ended = (
            f"The job was killed at its time limit of {duration(job.limit)}"
            if job.end == TIME_LIMIT
            else "It stopped before its end"
        )
        if left.checkpoint:
            return [Warn(f"{ended}; a checkpoint is there.", again + ".")]
        return [Warn(f"{ended} and left no checkpoint.", "Ask for more with --time, and let the program write checkpoints.")]
    if job.end == OUT_OF_MEMORY:
        return [
            Warn(
                "A node's memory was too small for its ranks.",
                "Fewer ranks per node, a smaller local batch, or more --mem in the script.",
            )
        ]
    if job.end == NODE_LOST:
        return [Warn("A node failed under the job: that is not your program's fault.", again or "Submit again.")]
    if job.signal == signals.SIGKILL and job.end != COMPLETED:
        return [Warn("It was killed: often because its node's memory was full.", "Compare `memory` above with what a node has.")]
    return []


def about_failure(job: Job, tail: list[str]) -> list[Warn]:
    if job.end in (CANCELLED, TIME_LIMIT) or job.state != ENDED:
        return []
    text = "\n".join(tail)
    for pattern, says, do in _FAILURES:
        found = re.search(pattern, text)
        if found:
            line = next(line.strip() for line in tail if found[0].splitlines()[0] in line)
            return [Warn(f"{says} ({line[:120]})", do)]
    return []


def about_ranks(job: Job, left: Left) -> list[Warn]:
    """Ranks that share cores, ranks that did nothing, ranks that each ran alone, nodes without any."""
    measured = [place for node in left.nodes for place in node.places.values()]
    said = [str(sentence) for sentence in left.places["warnings"]] if "warnings" in left.places else placement.warnings(measured)
    found = [Warn(*_split(sentence)) for sentence in _merged(said, [node.host for node in left.nodes])]
    found += [_idle(rank, _others(rank, left.ranks)) for rank in left.ranks if _did_nothing(rank, left.ranks)]
    empty = [node.host for node in left.nodes if not node.ranks and node.samples >= 5]
    if empty and left.ranks:
        hosts = ", ".join(empty)
        found.append(
            Warn(f"No rank ran on {hosts}.", "The launcher started all of them elsewhere: take the one of the course's scripts.")
        )
    sizes = [run.world_size for _, run in left.logs]
    if sizes and job.ranks > 1 and max(sizes) == 1:
        found.append(
            Warn(
                f"{job.ranks} ranks were asked for, but the run log is of one: each rank may have trained alone.",
                "Is the program started by srun, mpiexec or torchrun, and does it call hvd.init() or init_process_group()?",
            )
        )
    for path, run in left.logs:
        lazy = [rank for rank in range(run.world_size) if run.epochs and all(_samples(epoch, rank) == 0 for epoch in run.epochs)]
        if lazy:
            who = ", ".join(map(str, lazy[:8]))
            found.append(
                Warn(
                    f"Rank {who} trained on no image ({path.name}).",
                    "Does each rank get its share of the data (DistributedSampler)?",
                )
            )
    for node in left.nodes:
        if node.memory_peak > 0.95 * node.memory_bytes:
            found.append(
                Warn(
                    f"The memory of {node.host} was full to {100 * node.memory_peak / node.memory_bytes:.0f} %.",
                    "Fewer ranks per node.",
                )
            )
    return found


def _samples(epoch: runlog.Epoch, rank: int) -> int:
    return epoch.samples_per_rank[rank] if rank < len(epoch.samples_per_rank) else -1


def _merged(sentences: list[str], hosts: list[str]) -> list[str]:
    """What is said of several nodes in the same words, said once: "... on node1, node2"."""
    merged: dict[str, list[str]] = {}
    for sentence in sentences:
        host = next((host for host in hosts if re.search(rf"\b{re.escape(host)}\b", sentence)), "")
        merged.setdefault(re.sub(rf"\b{re.escape(host)}\b", "\0", sentence) if host else sentence, []).append(host)
    return [sentence.replace("\0", ", ".join(on[:6]) + (" ..." if len(on) > 6 else "")) for sentence, on in merged.items()]


def _split(sentence: str) -> tuple[str, str]:
    """What `labkit.placement` says, and after its colon what to do."""
    says, _, do = sentence.partition(": ")
    return says[:1].upper() + says[1:] + ".", (do[:1].upper() + do[1:] + ".") if do else ""


def _others(rank: Use, ranks: list[Use]) -> float:
    busy = [other.mean for other in ranks if other is not rank and other.values]
    return statistics.median(busy) if busy else 0.0


def _did_nothing(rank: Use, ranks: list[Use]) -> bool:
    """Seen long enough to tell, and idle while the others worked. A rank that waits in MPI is busy all the same: this one is not there."""
    return rank.seconds >= 3 and rank.mean < IDLE_RANK and _others(rank, ranks) >= max(BUSY_RANK, 10 * rank.mean)


def _idle(rank: Use, others: float) -> Warn:
    return Warn(
        f"{rank.name.capitalize()} of {rank.host} did nothing: {100 * rank.mean:.0f} % of a core, the others {100 * others:.0f} %.",
        "Does it wait for a file, or for a message that nobody sends? Its part of the output may tell.",
    )


def about_gpus(left: Left) -> list[Warn]:
    found = []
    for gpu in left.gpus:
        if len(gpu.values) < 3:
            continue
        idle = sum(value < IDLE_GPU for value in gpu.values) / len(gpu.values)
        name = f"{gpu.name} of {gpu.host}"
        if idle == 1 and gpu.peak < 0.05 * gpu.size:
            found.append(
                Warn(
                    f"{name} was never used.", "Ask for as many GPUs as ranks, and let each rank take the one of its local rank."
                )
            )
        elif idle >= 0.5:
            do = "It waits for data or for other ranks: more workers that load data, a larger local batch, fewer copies to the CPU."
            found.append(Warn(f"{name} was idle {100 * idle:.0f} % of the time.", do))
    return found


def about_logs(job: Job, left: Left, shown: str, wants_log: bool) -> list[Warn]:
    found = [Warn(f"A run log cannot be read: {text}.", "labkit.runlog says how one is written.") for text in left.unreadable]
    for path, run in left.logs:
        if job.end == COMPLETED and run.problems and not _has_later_attempt(path, left.logs):
            found.append(Warn(f"{path.name}: {run.problems[0]}"))
    if wants_log and left.folder and job.end == COMPLETED and not (left.logs or left.unreadable):
        found.append(
            Warn(
                f"The run log is missing: there is no run_*.jsonl in {shown}.",
                "Let rank 0 write one with labkit.runlog, into $COURSE_RUN.",
            )
        )
    if left.folder is None and job.state == ENDED and job.hosts:
        found.append(
            Warn(
                "The job left no folder jobs/NAME-JOB: nothing is known of its ranks.", "The course's scripts make one (job.sh)."
            )
        )
    return found


def _has_later_attempt(path: Path, logs: list[tuple[Path, runlog.RunLog]]) -> bool:
    """Of a job that was stopped and went on, only the last log comes to its end."""
    stem = path.stem.partition("_attempt")[0]
    return any(other != path and other.stem.startswith(f"{stem}_attempt") and other.stem > path.stem for other, _ in logs)


def about_efficiency(left: Left, base: Path | None) -> list[Warn]:
    for path, run in reversed(measured_logs(left.logs)):
        found = efficiency(path, run, left)
        if found and found[0].high < 0.5:
            do = "A larger local batch gives each all-reduce more work to hide behind; unit 08 tells communication from waiting."
            return [Warn(f"More than half of {count(run.world_size, 'rank')} is lost: efficiency {found[0].times(100)} %.", do)]
    return []


def about_time(job: Job) -> list[Warn]:
    if job.end == COMPLETED and math.isfinite(job.limit) and job.limit >= 3600 and job.run_seconds < 0.1 * job.limit:
        enough = max(600, 2 * job.run_seconds)
        says = f"It ran {duration(job.run_seconds)} of the {duration(job.limit)} that it asked for."
        return [Warn(says, f"With --time {math.ceil(enough / 60)}m it would have started earlier.")]
    return []


def count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def size_of(number: float) -> str:
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"
