"""The report card of a job: how it ended, what its ranks, processors and GPUs did, and what to do better next time.

    report = job_report.examine(job, folder)      job: labkit.jobs.job.Job; folder: jobs/NAME-JOB, what the job left
    print(report)                                 in a notebook the same object draws itself as a card

It is put together from files that the job wrote: run logs (`labkit.runlog`), the samples of `labkit.jobs.monitor`, the
places of the ranks (report.json), figures (result.json, throughput.json), the output. Each of them may be missing; the
card then says less. The idea of a card after every job is from IDRIS' course DLO-JZ.
"""

from __future__ import annotations

import math
import signal as signals
import statistics
from pathlib import Path

from labkit.jobs.advice import (
    STOPPED,
    about_efficiency,
    about_failure,
    about_gpus,
    about_logs,
    about_ranks,
    about_the_end,
    about_time,
    count,
    efficiency,
    measured_logs,
    size_of,
    throughput,
)
from labkit.jobs.card import JobReport
from labkit.jobs.job import (
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
    duration,
)
from labkit.jobs.left import Left, complete_from, last_lines, of_the_program, relative


def examine(
    job: Job,
    folder: Path | None,
    output: Path | None = None,
    script: str = "SCRIPT",
    base: Path | None = None,
    wants_log: bool = False,
) -> JobReport:
    """The card of a job that has ended (or of one that runs, so far).

    folder: what it left, None if there is nothing. output: where its output is. script: as it was submitted, for the
    advice. base: paths are shown relative to it (default: the current folder). wants_log: the script is to leave a run
    log.
    """
    left = Left.read(folder)
    tail = last_lines(output, 200) if output else []
    complete_from(job, left, tail)
    shown = relative(folder, base) if folder else ""
    report = JobReport(f"{job.name or 'job'}, job {job.id}", _verdict(job, left), _is_good(job))
    report.rows += (
        _ran_on(job, left) + _times(job) + _speed(left, base) + _processors(left) + _gpus(left) + _figures(left)
    )
    report.warnings = [
        *about_the_end(job, left, script, base),
        *(about_failure(job, tail) if not report.good else []),
        *about_ranks(job, left),
        *about_gpus(left),
        *about_logs(job, left, shown, wants_log),
        *about_efficiency(left, base),
        *about_time(job),
    ]
    if folder and not (output and folder in output.parents):
        report.rows.append(("files", shown))
    if output:
        report.rows.append(("output", relative(output, base)))
    if not report.good and job.state == ENDED:
        report.tail = of_the_program(tail)[-12:]
    if not report.good:
        report.exit_status = job.exit_status or 1
    return report


MOST_MESHES = 12  # rows


# --- rows -------------------------------------------------------------------------------------------------------------


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
    ranks = f", {count(job.ranks, 'rank')}" if job.ranks else ""
    on = left.places.get("nodes") or [host for host in [job.hosts] if host]
    hosts = ": " + ", ".join(map(str, on[:8])) + (" ..." if len(on) > 8 else "") if on else ""
    return [("ran on", f"{count(job.nodes, 'node')}{ranks}{hosts}")]


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
    for path, run in measured_logs(left.logs):
        rate = throughput(run)
        if rate is None:
            rows.append(("throughput", f"not measurable from {path.name}: it needs two epochs, better four"))
            continue
        rows.append(("throughput", f"{rate} images/s on {count(run.world_size, 'rank')} ({path.name})"))
        found = efficiency(path, run, left)
        if found:
            share, baseline, ranks = found
            percent = share.times(100)
            against = (
                f"{count(ranks, 'rank')}"
                f" ({relative(baseline, base) if baseline.parent != path.parent else baseline.name})"
            )
            rows.append(("efficiency", f"{percent} %, compared with {against}"))
        elif run.world_size > 1:
            rows.append(("efficiency", "unknown: no run of this program on fewer ranks to compare with"))
    for path, run in left.mesh_logs[:MOST_MESHES]:
        if math.isfinite(run.seconds):
            ranks = count(run.mesh.size, "rank")
            rows.append(("throughput", f"{run.tokens_per_second:,.0f} tokens/s on {ranks}, {run.name} ({path.name})"))
    record = left.throughput
    if isinstance(record.get("images_per_second"), (int, float)):
        spread = record.get("images_per_second_sd")
        more = f", standard deviation {spread:.4g}" if isinstance(spread, (int, float)) else ""
        text = (
            f"{record['images_per_second']:.4g} images/s on {count(int(record.get('world_size') or 0), 'rank')}{more}"
        )
        rows.append(("throughput", f"{text} (throughput.json)"))
    return rows


def _processors(left: Left) -> list[tuple[str, str]]:
    ranks = [rank for rank in left.ranks if rank.values]
    if not ranks:
        return []
    least, most = min(ranks, key=lambda rank: rank.mean), max(ranks, key=lambda rank: rank.mean)
    text = f"{100 * statistics.fmean(rank.mean for rank in ranks):.0f} % of a core per rank"
    if len(ranks) > 1:
        text += f" (from {100 * least.mean:.0f} % on {least.name} to {100 * most.mean:.0f} % on {most.name})"
    return [("processors", text), ("memory", f"{size_of(max(rank.peak for rank in ranks))} at most per rank")]


def _gpus(left: Left) -> list[tuple[str, str]]:
    gpus = left.gpus
    if not gpus:
        return []
    told = [gpu.mean for gpu in gpus if gpu.values]
    busy = f"{statistics.fmean(told):.0f} % busy" if told else "use not told by the driver"
    peak = max(gpus, key=lambda gpu: gpu.peak)
    return [("GPUs", f"{len(gpus)}, {busy}; {size_of(peak.peak)} of {size_of(peak.size)} used at most")]


def _figures(left: Left) -> list[tuple[str, str]]:
    """The figures of result.json that are worth a row in the card."""
    shown = [
        f"{key.replace('_', ' ')} {value:.4g}" if isinstance(value, float) else f"{key.replace('_', ' ')} {value}"
        for key, value in left.result.items()
        if isinstance(value, (int, float))
        and not isinstance(value, bool)
        and key not in ("world_size", "attempt", "seed")
    ]
    rows = [("result", ", ".join(shown[:6]))] if shown else []
    accuracies = [run.epochs[-1].val_accuracy for _, run in measured_logs(left.logs)[-1:] if run.epochs]
    if not shown and accuracies and math.isfinite(accuracies[0]):
        rows.append(("result", f"validation accuracy {accuracies[0]:.3f}"))
    return rows
