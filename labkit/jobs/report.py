"""The report card of a job: how it ended, what its ranks, processors and GPUs did, and what to do better next time.

    report = job_report.examine(job, folder)      job: labkit.jobs.schedulers.Job; folder: jobs/NAME-JOB, what the job left
    print(report)                                 in a notebook the same object draws itself as a card

It is put together from files that the job wrote: run logs (`labkit.runlog`), the samples of `labkit.jobs.monitor`, the places of the
ranks (report.json), figures (result.json, throughput.json), the output. Each of them may be missing; the card then says less.
The idea of a card after every job is from IDRIS' course DLO-JZ.
"""

from __future__ import annotations

import html
import json
import math
import re
import shlex
import signal as signals
import statistics
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from labkit import placement, runlog, scaling
from labkit.jobs import monitor
from labkit.jobs.schedulers import (
    CANCELLED,
    COMPLETED,
    ENDED,
    NODE_LOST,
    OUT_OF_MEMORY,
    QUEUED,
    RUNNING,
    TIME_LIMIT,
    UNKNOWN,
    Job,
    clock,
    duration,
)
from labkit.palette import GREEN, GREY, ORANGE, VERMILLION

STOPPED = 75  # exit status of a script that stopped before its end and left a checkpoint ("try again", sysexits.h)
IDLE_RANK = 0.05  # of a core; a rank below may have done nothing
BUSY_RANK = 0.05  # of a core; the others must have done at least so much, and ten times as much as the idle one
IDLE_GPU = 5  # percent busy; a sample below counts as idle
LARGEST_FILE = 64 * 2**20  # bytes of one file of samples that are read
_WIDTH = 110

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


@dataclass
class Report:
    """The card. verdict: how it ended, in a few words. rows: (label, text). tail: the last lines of the output, where they explain it.

    exit_status: 0 if it is good, else that of the job, at least 1.
    """

    title: str
    verdict: str
    good: bool
    rows: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    exit_status: int = 0

    def __str__(self) -> str:
        return text_card(self)

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": text_card(self), "text/html": html_card(self)}


def examine(
    job: Job,
    folder: Path | None,
    output: Path | None = None,
    script: str = "SCRIPT",
    base: Path | None = None,
    wants_log: bool = False,
) -> Report:
    """The card of a job that has ended (or of one that runs, so far).

    folder: what it left, None if there is nothing. output: where its output is. script: as it was submitted, for the advice. base: paths
    are shown relative to it (default: the current folder). wants_log: the script is to leave a run log.
    """
    left = Left.read(folder)
    complete_from(job, left)
    shown = _relative(folder, base) if folder else ""
    tail = last_lines(output, 200) if output else []
    report = Report(f"{job.name or 'job'}, job {job.id}", _verdict(job, left), _is_good(job))
    report.rows += _ran_on(job, left) + _times(job) + _speed(left, base) + _processors(left) + _gpus(left) + _figures(left)
    report.warnings = [
        *_about_the_end(job, left, script, shown),
        *(_about_failure(job, tail) if not report.good else []),
        *_about_ranks(job, left),
        *_about_gpus(left),
        *_about_logs(job, left, shown, wants_log),
        *_about_efficiency(left, base),
        *_about_time(job),
    ]
    if folder and not (output and folder in output.parents):
        report.rows.append(("files", shown))
    if output:
        report.rows.append(("output", _relative(output, base)))
    if not report.good and job.state == ENDED:
        report.tail = tail[-12:]
    if not report.good:
        report.exit_status = job.exit_status or 1
    return report


# --- what a job left ------------------------------------------------------------------------------------------------------------------


@dataclass
class Use:
    """One rank or one GPU over the whole job. values: one per sample. peak: bytes. seconds: over which it was seen."""

    name: str
    host: str
    values: list[float]
    peak: float
    seconds: float = 0.0
    size: float = math.nan

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values) if self.values else math.nan


@dataclass
class Node:
    """The samples of one node, as `labkit.jobs.monitor` wrote them. ranks: busy as a share of one core. gpus: busy in percent."""

    host: str
    memory_bytes: float = math.nan
    memory_peak: float = 0.0
    samples: int = 0
    cores: list[int] = field(default_factory=list)
    ranks: dict[str, Use] = field(default_factory=dict)
    gpus: dict[str, Use] = field(default_factory=dict)
    places: dict[str, dict] = field(default_factory=dict)


@dataclass
class Left:
    """Everything that a job left in its folder, read."""

    folder: Path | None = None
    logs: list[tuple[Path, runlog.RunLog]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    places: dict = field(default_factory=dict)
    result: dict = field(default_factory=dict)
    throughput: dict = field(default_factory=dict)
    checkpoint: Path | None = None
    exit_status: int | None = None

    @classmethod
    def read(cls, folder: Path | None) -> Left:
        left = cls(folder)
        if folder is None or not folder.is_dir():
            return left
        for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*/*.jsonl")]):
            if path.parent.name == monitor.FOLDER:
                continue
            try:
                left.logs.append((path, runlog.read(path)))
            except (runlog.RunLogError, OSError) as error:
                left.unreadable.append(str(error))
        left.nodes = [read_samples(path) for path in sorted((folder / monitor.FOLDER).glob("*.jsonl"))]
        left.places = _json(folder / "report.json")
        left.result, left.throughput = _json(folder / "result.json"), _json(folder / "throughput.json")
        left.checkpoint = next(
            (path for path in sorted(folder.glob("checkpoint*")) if not path.is_file() or path.stat().st_size), None
        )
        try:
            left.exit_status = int((folder / "exit_status").read_text())
        except (OSError, ValueError):
            left.exit_status = None
        return left

    @property
    def ranks(self) -> list[Use]:
        return [rank for node in self.nodes for rank in node.ranks.values()]

    @property
    def gpus(self) -> list[Use]:
        return [gpu for node in self.nodes for gpu in node.gpus.values()]


def read_samples(path: Path) -> Node:
    """One file of `labkit.jobs.monitor`. Lines that are torn or not what they should be are left out.

    A rank's share of a core between two samples is the processor time that it has used in between over the time that has passed. Where
    its processor time falls, another process has taken the rank (the next step of the script): counting begins anew.
    """
    node, before = Node(path.stem), {}
    with open(path, "rb") as file:
        records = [_record(line) for line in file.read(LARGEST_FILE).decode("utf-8", "replace").splitlines()]
    # What torchrun has started are ranks; torchrun itself, or a step of srun before it, only seemed to be some.
    levels = [record["level"] for record in records if isinstance(record.get("level"), int)]
    for record in records:
        try:
            if levels and record.get("level") != min(levels) and record["kind"] == "sample":
                record["ranks"] = {}
            if record["kind"] == "node":
                node.host, node.memory_bytes, node.cores = (
                    str(record["host"]),
                    float(record["memory_bytes"]),
                    list(record["cores"]),
                )
                before = {}
                for gpu in record["gpus"]:
                    size = float(gpu["memory_bytes"])
                    node.gpus.setdefault(str(gpu["index"]), Use(f"GPU {gpu['index']}", node.host, [], 0.0, size=size))
            else:
                before = _take_sample(node, record, before)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return node


def _record(line: str) -> dict:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _take_sample(node: Node, record: dict, before: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Count one sample in; returns {rank: (time, processor time)} for the next one."""
    now, latest = float(record["t"]), {}
    node.samples += 1
    node.memory_peak = max(node.memory_peak, float(record["memory_used"]))
    for name, seen in record["ranks"].items():
        rank = node.ranks.setdefault(name, Use(f"rank {name}", node.host, [], 0.0))
        rank.peak = max(rank.peak, float(seen["rss"]))
        latest[name] = now, float(seen["cpu"])
        node.places[name] = {
            "rank": int(name),
            "host": node.host,
            "cores": list(seen["cores"]),
            "threads": int(seen["threads"]) or len(seen["cores"]),
            "gpus": [],
            "numa_domains": [],
        }
        then, spent = before.get(name, (now, 0.0))
        if now > then and latest[name][1] >= spent:
            rank.values.append((latest[name][1] - spent) / (now - then))
            rank.seconds += now - then
    for seen in record["gpus"] if record["ranks"] else []:  # before and after the ranks a GPU has nothing to do
        gpu = node.gpus[str(seen["index"])]
        gpu.peak = max(gpu.peak, float(seen["memory"] or 0))
        if seen["busy"] is not None:
            gpu.values.append(float(seen["busy"]))
    return latest


def complete_from(job: Job, left: Left) -> None:
    """What the scheduler has forgotten or does not know, from the job's own files."""
    places = left.places
    job.name = job.name or str(places.get("name", ""))
    job.nodes = job.nodes or len(places.get("nodes", []))
    job.ranks = len(places.get("ranks", [])) or job.ranks
    job.hosts = job.hosts or ",".join(map(str, places.get("nodes", [])))
    if job.state == UNKNOWN and left.exit_status is not None:
        job.state, job.exit_status = ENDED, left.exit_status
        job.end = COMPLETED if left.exit_status == 0 else "failed"
    elif job.state == ENDED and job.exit_status is None:
        job.exit_status = left.exit_status


def _json(path: Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def last_lines(path: Path, most: int) -> list[str]:
    """The last lines of a file, of each the last state of a progress bar."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - 200 * most))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [plain(line) for line in text.splitlines() if plain(line).strip()][-most:]


def plain(line: str) -> str:
    """A line without colours and other steering characters, a progress bar in its last state."""
    line = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", line).rstrip("\r\n").rpartition("\r")[2]
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", line)


def _relative(path: Path, base: Path | None) -> str:
    try:
        return str(Path(path).resolve().relative_to((base or Path.cwd()).resolve()))
    except ValueError:
        return str(path)


# --- rows -----------------------------------------------------------------------------------------------------------------------------


def _is_good(job: Job) -> bool:
    return job.state in (QUEUED, RUNNING) or job.end == COMPLETED


def _verdict(job: Job, left: Left) -> str:
    if job.state in (QUEUED, RUNNING):
        return f"{job.state}, so far"
    if job.state == UNKNOWN:
        return "the scheduler has forgotten it"
    if job.end == COMPLETED:
        return "completed"
    if job.end in (TIME_LIMIT, OUT_OF_MEMORY, CANCELLED, NODE_LOST):
        return {TIME_LIMIT: "ended at its time limit", NODE_LOST: "lost a node"}.get(job.end, job.end)
    if job.exit_status == STOPPED:
        return "stopped before its end"
    if job.signal:
        try:
            return f"failed: killed by {signals.Signals(job.signal).name}"
        except ValueError:
            return f"failed: killed by signal {job.signal}"
    return f"failed: exit status {job.exit_status}" if job.exit_status is not None else "failed"


def _ran_on(job: Job, left: Left) -> list[tuple[str, str]]:
    if not job.nodes:
        return []
    ranks = f", {_count(job.ranks, 'rank')}" if job.ranks else ""
    on = left.places.get("nodes") or [host for host in [job.hosts] if host]
    hosts = ": " + ", ".join(map(str, on[:8])) + (" ..." if len(on) > 8 else "") if on else ""
    return [("ran on", f"{_count(job.nodes, 'node')}{ranks}{hosts}")]


def _times(job: Job) -> list[tuple[str, str]]:
    parts = []
    if math.isfinite(job.submitted) and math.isfinite(job.queue_seconds):
        parts.append(f"{duration(job.queue_seconds)} in the queue")
    if math.isfinite(job.began) and math.isfinite(job.run_seconds):
        parts.append(f"{duration(job.run_seconds)} running")
    if parts and math.isfinite(job.limit):
        parts[-1] += f" of {duration(job.limit)}"
    return [("time", ", ".join(parts))] if parts else []


def _speed(left: Left, base: Path | None) -> list[tuple[str, str]]:
    rows = []
    for path, run in _measured(left.logs):
        rate = throughput(run)
        if rate is None:
            rows.append(("throughput", f"not measurable from {path.name}: it needs two epochs, better four"))
            continue
        rows.append(("throughput", f"{rate} images/s on {_count(run.world_size, 'rank')} ({path.name})"))
        found = efficiency(path, run, left)
        if found:
            share, baseline, ranks = found
            percent = share.times(100)
            against = (
                f"{_count(ranks, 'rank')} ({_relative(baseline, base) if baseline.parent != path.parent else baseline.name})"
            )
            rows.append(("efficiency", f"{percent} %, compared with {against}"))
        elif run.world_size > 1:
            rows.append(("efficiency", "unknown: no run of this program on fewer ranks to compare with"))
    record = left.throughput
    if isinstance(record.get("images_per_second"), (int, float)):
        spread = record.get("images_per_second_sd")
        more = f", standard deviation {spread:.4g}" if isinstance(spread, (int, float)) else ""
        text = f"{record['images_per_second']:.4g} images/s on {_count(int(record.get('world_size') or 0), 'rank')}{more}"
        rows.append(("throughput", f"{text} (throughput.json)"))
    return rows


def _measured(logs: Iterable[tuple[Path, runlog.RunLog]]) -> list[tuple[Path, runlog.RunLog]]:
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


def _processors(left: Left) -> list[tuple[str, str]]:
    ranks = [rank for rank in left.ranks if rank.values]
    if not ranks:
        return []
    least, most = min(ranks, key=lambda rank: rank.mean), max(ranks, key=lambda rank: rank.mean)
    text = f"{100 * statistics.fmean(rank.mean for rank in ranks):.0f} % of a core per rank"
    if len(ranks) > 1:
        text += f" (from {100 * least.mean:.0f} % on {least.name} to {100 * most.mean:.0f} % on {most.name})"
    return [("processors", text), ("memory", f"{_bytes(max(rank.peak for rank in ranks))} at most per rank")]


def _gpus(left: Left) -> list[tuple[str, str]]:
    gpus = left.gpus
    if not gpus:
        return []
    told = [gpu.mean for gpu in gpus if gpu.values]
    busy = f"{statistics.fmean(told):.0f} % busy" if told else "use not told by the driver"
    peak = max(gpus, key=lambda gpu: gpu.peak)
    return [("GPUs", f"{len(gpus)}, {busy}; {_bytes(peak.peak)} of {_bytes(peak.size)} used at most")]


def _figures(left: Left) -> list[tuple[str, str]]:
    """The few figures of result.json that a person wants to see at once."""
    shown = [
        f"{key.replace('_', ' ')} {value:.4g}" if isinstance(value, float) else f"{key.replace('_', ' ')} {value}"
        for key, value in left.result.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in ("world_size", "attempt", "seed")
    ]
    rows = [("result", ", ".join(shown[:6]))] if shown else []
    accuracies = [run.epochs[-1].val_accuracy for _, run in _measured(left.logs)[-1:] if run.epochs]
    if not shown and accuracies and math.isfinite(accuracies[0]):
        rows.append(("result", f"validation accuracy {accuracies[0]:.3f}"))
    return rows


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


def _about_the_end(job: Job, left: Left, script: str, shown: str) -> list[Warn]:
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


def _about_failure(job: Job, tail: list[str]) -> list[Warn]:
    if job.end in (CANCELLED, TIME_LIMIT) or job.state != ENDED:
        return []
    text = "\n".join(tail)
    for pattern, says, do in _FAILURES:
        found = re.search(pattern, text)
        if found:
            line = next(line.strip() for line in tail if found[0].splitlines()[0] in line)
            return [Warn(f"{says} ({line[:120]})", do)]
    return []


def _about_ranks(job: Job, left: Left) -> list[Warn]:
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


def _about_gpus(left: Left) -> list[Warn]:
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


def _about_logs(job: Job, left: Left, shown: str, wants_log: bool) -> list[Warn]:
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


def _about_efficiency(left: Left, base: Path | None) -> list[Warn]:
    for path, run in reversed(_measured(left.logs)):
        found = efficiency(path, run, left)
        if found and found[0].high < 0.5:
            do = "A larger local batch gives each all-reduce more work to hide behind; unit 08 tells communication from waiting."
            return [Warn(f"More than half of {_count(run.world_size, 'rank')} is lost: efficiency {found[0].times(100)} %.", do)]
    return []


def _about_time(job: Job) -> list[Warn]:
    if job.end == COMPLETED and math.isfinite(job.limit) and job.limit >= 3600 and job.run_seconds < 0.1 * job.limit:
        enough = max(600, 2 * job.run_seconds)
        says = f"It ran {duration(job.run_seconds)} of the {duration(job.limit)} that it asked for."
        return [Warn(says, f"With --time {math.ceil(enough / 60)}m it would have started earlier.")]
    return []


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _bytes(number: float) -> str:
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"


# --- the card -------------------------------------------------------------------------------------------------------------------------


def text_card(report: Report) -> str:
    """The card as text."""
    lines = [f"{report.title}{report.verdict:>{max(2, _WIDTH - len(report.title))}}"]
    lines += [f"  {label:<13}{text}" for label, text in report.rows]
    for warning in report.warnings:
        wrapped = textwrap.wrap(
            f"{warning.says} {warning.do}".strip(), _WIDTH - 15, break_long_words=False, break_on_hyphens=False
        )
        lines += [f"  {'warning' if number == 0 else '':<13}{line}" for number, line in enumerate(wrapped)]
    if report.tail:
        lines.append("  the last lines of the output")
        lines += [f"    {line[: _WIDTH - 4]}" for line in report.tail]
    return "\n".join(lines)


_MONO = "font-family:var(--jp-code-font-family,monospace);font-size:12px"


def html_card(report: Report) -> str:
    """The card as HTML, in the style of the cards that checks draw."""
    colour = (ORANGE if report.warnings else GREEN) if report.good else VERMILLION
    cell = "text-align:left;padding:2px 14px 2px 0;vertical-align:top"
    rows = [
        f'<tr><td style="{cell};opacity:.7;white-space:nowrap">{html.escape(label)}</td><td style="{cell}">{html.escape(text)}</td></tr>'
        for label, text in report.rows
    ]
    rows += [
        f'<tr><td style="{cell};color:{VERMILLION};font-weight:600">warning</td><td style="{cell}">{html.escape(warning.says)}'
        f'<div style="opacity:.8">{html.escape(warning.do)}</div></td></tr>'
        for warning in report.warnings
    ]
    tail = ""
    if report.tail:
        text = html.escape("\n".join(report.tail))
        tail = (
            f'<div style="margin-top:6px;color:{GREY}">the last lines of the output</div>'
            f'<pre style="{_MONO};margin:2px 0 0;padding:0 0 0 .8em;border:0;border-left:2px solid rgba(128,128,128,.35);'
            f'white-space:pre-wrap;background:none">{text}</pre>'
        )
    return (
        f'<div role="group" aria-label="{html.escape(report.title)}: {html.escape(report.verdict)}" '
        f'style="border:1px solid #bbb;border-left:5px solid {colour};border-radius:3px;padding:8px 12px;max-width:62em;font-size:13px">'
        f'<div style="display:flex;justify-content:space-between;margin-bottom:4px">'
        f'<code style="font-weight:600">{html.escape(report.title)}</code>'
        f'<span style="font-weight:600">{html.escape(report.verdict)}</span></div>'
        f'<table style="border-collapse:collapse;border:none;margin:0;width:100%;table-layout:auto">'
        f'<colgroup><col style="width:8em"><col></colgroup>{"".join(rows)}</table>{tail}</div>'
    )


def html_page(report: Report) -> str:
    """A page of its own with the card, for a browser."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(report.title)}</title>'
        f'<body style="font-family:system-ui,sans-serif;color:#1a1a1a;margin:2em">{html_card(report)}</body></html>\n'
    )
