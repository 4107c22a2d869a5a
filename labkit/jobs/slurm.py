"""Slurm: jobs submitted with sbatch, followed with squeue and sacct; its reasons and refusals in words."""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from labkit.jobs.job import (
    CANCELLED,
    COMPLETED,
    ENDED,
    FAILED,
    NODE_LOST,
    OUT_OF_MEMORY,
    QUEUED,
    RUNNING,
    TIME_LIMIT,
    Job,
    Request,
    Scheduler,
    SchedulerError,
    Submission,
    asked_row,
    clock,
    directives,
    last_line,
    option,
    outside_of_a_job,
    refused,
    run_command,
    seconds_of,
    unreachable,
)
from labkit.jobs.tables import table

# --- Slurm ------------------------------------------------------------------------------------------------------------

_SLURM_ENDS = {
    "COMPLETED": COMPLETED,
    "FAILED": FAILED,
    "TIMEOUT": TIME_LIMIT,
    "DEADLINE": TIME_LIMIT,
    "CANCELLED": CANCELLED,
    "PREEMPTED": CANCELLED,
    "OUT_OF_MEMORY": OUT_OF_MEMORY,
    "NODE_FAIL": NODE_LOST,
    "BOOT_FAIL": NODE_LOST,
    "REVOKED": CANCELLED,
}


# What of a script is shown before it is submitted.
_SHOWN = (
    ("partition", ("--partition", "-p")),
    ("cores per rank", ("--cpus-per-task", "-c")),
    ("GPUs per node", ("--gpus-per-node", "--gres")),
    ("GPUs per rank", ("--gpus-per-task",)),
    ("memory per node", ("--mem",)),
)


class Slurm(Scheduler):
    """The scheduler whose scripts have lines that begin with #SBATCH."""

    name, prefix, program = "Slurm", "#SBATCH", "sbatch"

    def submission(
        self,
        script: Path,
        text: str,
        request: Request,
        arguments: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Submission:
        """The sbatch command for a script, its own directives overridden by the request. Options given to sbatch win
        over the script's."""
        own = directives(text, self.prefix)
        nodes, ranks = option(own, "--nodes", "-N"), option(own, "--ntasks-per-node")
        total, limit = option(own, "--ntasks", "-n"), option(own, "--time", "-t")
        options = []
        if request.nodes is not None:
            options.append(f"--nodes={request.nodes}")
        if request.ranks_per_node is not None:
            options.append(f"--ntasks-per-node={request.ranks_per_node}")
        if total is not None and (request.nodes is not None or request.ranks_per_node is not None):
            # the script's --ntasks would win over the two others
            options.append(f"--ntasks={_tasks(request, nodes, ranks, total)}")
        if request.seconds is not None:
            options.append(f"--time={clock(request.seconds)}")
        if variables:  # ALL: what sbatch passes on without --export
            options.append("--export=" + ",".join(["ALL", *(f"{name}={value}" for name, value in variables.items())]))
        one = "1 (Slurm's default)"
        asked = [
            asked_row("nodes", request.nodes, nodes, one),
            asked_row("ranks per node", request.ranks_per_node, ranks, f"as {total} tasks fit" if total else one),
            asked_row("time limit", clock(request.seconds) if request.seconds else None, limit, "the partition's"),
        ]
        for what, names in _SHOWN:
            value = option(own, *names)
            if value is not None:
                asked.append((what, value, "script"))
        return Submission(["sbatch", *options, str(script), *arguments], asked)

    def submit(self, submission: Submission, folder: Path) -> str:
        """Run the command; returns the job's id. Raises SchedulerError."""
        ran = run_command([submission.command[0], "--parsable", *submission.command[1:]], folder, outside_of_a_job())
        if ran.returncode:
            raise SchedulerError(refused("sbatch", ran.stderr or ran.stdout))
        number = ran.stdout.strip().splitlines()[-1].split(";")[0] if ran.stdout.strip() else ""
        if not number.isdigit():
            raise SchedulerError(f"sbatch did not return a job's number but {ran.stdout.strip()[:200]!r}.")
        return number

    def job(self, number: str) -> Job:
        """The job's state. Slurm forgets it five minutes after its end (MinJobAge); then its accounting is asked,
        if any."""
        if not re.fullmatch(r"\d+(_\d+)?", number):
            raise SchedulerError(f"{number!r} is no Slurm job: its number is what sbatch printed, such as 4711.")
        ran = run_command(["scontrol", "--oneliner", "show", "job", number])
        if ran.returncode == 0 and "JobId=" in ran.stdout:
            return _slurm_job(number, ran.stdout.splitlines()[0])
        if nobody := unreachable("sbatch", ran.stderr):
            raise SchedulerError(nobody)
        return self._from_accounting(number)

    def _from_accounting(self, number: str) -> Job:
        if shutil.which("sacct") is None:
            return Job(number)
        columns = "JobName,State,ExitCode,NNodes,NTasks,NodeList,Submit,Start,End,TimelimitRaw,WorkDir,Partition"
        ran = run_command(["sacct", "-j", number, "-X", "-P", "-n", "-o", columns])
        fields = ran.stdout.splitlines()[0].split("|") if ran.returncode == 0 and ran.stdout.strip() else []
        if len(fields) != 12:
            return Job(number)
        name, word, code, nodes, ranks, hosts, submitted, began, ended, limit, folder, partition = fields
        job = Job(number, name=name, word=word.split()[0], hosts=hosts, folder=folder, partition=partition)
        job.nodes, job.ranks = int(nodes or 0), int(ranks or 0)
        job.submitted, job.began, job.ended = map(_slurm_time, (submitted, began, ended))
        job.limit = 60 * int(limit) if limit.isdigit() else math.nan
        _slurm_state(job, code)
        return job

    def cancel(self, number: str) -> None:
        """Cancels the job with scancel. Raises SchedulerError if scancel refuses."""
        ran = run_command(["scancel", number])
        if ran.returncode:
            raise SchedulerError(f"Slurm did not cancel job {number}: {last_line(ran.stderr)}")


def _tasks(request: Request, nodes: str | None, ranks: str | None, total: str) -> int:
    """All ranks of a job whose script says --ntasks=`total`, after the request has changed its nodes or its ranks per
    node."""

    def number(text: str | None, otherwise: int) -> int:
        return int(text) if text and text.isdigit() else otherwise

    in_script = number(nodes, 1)
    each = request.ranks_per_node or number(ranks, max(1, number(total, 1) // in_script))
    return (request.nodes or in_script) * each


def _slurm_job(number: str, line: str) -> Job:
    """The job, parsed from one line of `scontrol --oneliner show job`."""
    starts = list(re.finditer(r"(?:^| )([A-Za-z][A-Za-z:/]*)=", line))
    ends = [one.start() for one in starts[1:]] + [len(line)]
    facts = {one[1]: line[one.end() : end].strip() for one, end in zip(starts, ends, strict=True)}
    job = Job(
        number, name=facts.get("JobName", ""), word=facts.get("JobState", ""), partition=facts.get("Partition", "")
    )
    job.nodes = int((re.match(r"\d+", facts.get("NumNodes", "")) or ["0"])[0])
    job.ranks = int((re.match(r"\d+", facts.get("NumTasks", "")) or ["0"])[0])
    job.hosts = facts.get("NodeList", "").replace("(null)", "")
    job.submitted, job.began, job.ended = (
        _slurm_time(facts.get(key, "")) for key in ("SubmitTime", "StartTime", "EndTime")
    )
    limit = facts.get("TimeLimit", "")
    job.limit = seconds_of(limit) if re.fullmatch(r"[\d:-]+", limit) and limit.count(":") else math.nan
    job.output, job.folder = facts.get("StdOut", ""), facts.get("WorkDir", "")
    job.arguments = facts.get("Command", "").split(" ")[1:]  # Slurm keeps no quotes
    job.reason, job.advice = slurm_reason(facts.get("Reason", "None"))
    job.attempt = int(facts.get("Restarts", "0") or 0) + 1
    _slurm_state(job, facts.get("ExitCode", ""))
    return job


def _slurm_state(job: Job, code: str) -> None:
    """Fill in state, end, exit status and signal from Slurm's word and its ExitCode "status:signal"."""
    if job.word in ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "CONFIGURING"):
        job.state = QUEUED
    elif job.word in ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING", "RESIZING"):
        job.state = RUNNING
    elif job.word in _SLURM_ENDS:
        job.state, job.end = ENDED, _SLURM_ENDS[job.word]
        found = re.fullmatch(r"(\d+):(\d+)", code)
        if found:
            job.exit_status, job.signal = int(found[1]), int(found[2])
    if job.state == QUEUED:
        job.began = math.nan
    if job.state != ENDED:
        job.ended = math.nan
    if job.state != QUEUED:
        job.reason = job.advice = ""


def slurm_reason(code: str) -> tuple[str, str]:
    """(words, what to do) for Slurm's reason why a job waits."""
    code = code.strip("()")
    short = re.match(r"[A-Za-z]+", code)
    reasons = table("slurm_reasons")
    if known := reasons.get(code) or reasons.get(short[0] if short else ""):
        return tuple(known)
    if code.startswith("Nodes required for job are DOWN"):
        return (
            "the nodes it needs are down, drained or reserved for others",
            "`sinfo -R` says why; ask for fewer with --nodes.",
        )
    if re.match(r"(QOS|Assoc)", code):
        return (
            f"you or your account are at a limit ({code})",
            "It starts when others of your jobs have ended; `sacctmgr show qos` lists limits.",
        )
    return f"Slurm says: {code}", "squeue(1) explains it."


def _slurm_time(text: str) -> float:
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return math.nan
