"""Slurm and PBS from one side: what a script asks for, how it is submitted, and where its job stands, in plain words.

Both schedulers are talked to through their own commands (sbatch, scontrol, sacct, scancel; qsub, qstat, qdel), because that is what a
student would type: `submission` returns the very command. Times are seconds since the epoch, durations seconds.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit.jobs import pbs_lint

QUEUED, RUNNING, ENDED, UNKNOWN = "queued", "running", "ended", "unknown"
# How a job ended: "completed" or what went wrong.
COMPLETED, FAILED, TIME_LIMIT, CANCELLED, OUT_OF_MEMORY, NODE_LOST = (
    "completed",
    "failed",
    "time limit",
    "cancelled",
    "out of memory",
    "node lost",
)
_COMMAND_TIMEOUT = 60.0  # seconds a busy scheduler may take to answer


class SchedulerError(Exception):
    """One sentence on what a scheduler refused or could not do, and what to do about it."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook the sentence is all there is to see."""
        return [str(self)]


@dataclass(frozen=True)
class Request:
    """What is asked for on top of the script's own directives. None: as the script says. seconds: the time limit."""

    nodes: int | None = None
    ranks_per_node: int | None = None
    seconds: int | None = None


@dataclass(frozen=True)
class Submission:
    """command: what is to be run. asked: (what, how much, where that comes from) for a person to read.

    notes: sentences on what was added, for a dry run. warnings: sentences on what may go wrong.
    """

    command: list[str]
    asked: list[tuple[str, str, str]]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def shell(self) -> str:
        """The command as one would type it."""
        return shlex.join(self.command)


@dataclass
class Job:
    """Where a job stands.

    state: QUEUED, RUNNING, ENDED or UNKNOWN (the scheduler has forgotten it). end: how it ended, "" before. word: the scheduler's own
    word for all that. reason: why it waits, in plain words; advice: what to do about it, "" if waiting is all there is to do.
    exit_status: of the script; None: not known. signal: the one that ended it, 0 for none.
    attempt: 2 and more after it went back into the queue.
    """

    id: str
    name: str = ""
    state: str = UNKNOWN
    end: str = ""
    word: str = ""
    reason: str = ""
    advice: str = ""
    nodes: int = 0
    ranks: int = 0
    hosts: str = ""
    partition: str = ""
    submitted: float = math.nan
    began: float = math.nan
    ended: float = math.nan
    limit: float = math.nan
    exit_status: int | None = None
    signal: int = 0
    attempt: int = 1
    output: str = ""
    folder: str = ""
    arguments: list[str] = field(default_factory=list)  # of the script, where the scheduler knows them

    @property
    def queue_seconds(self) -> float:
        """From the submission to the start, or until now while it waits."""
        began = self.began if self.state in (RUNNING, ENDED) else time.time()
        return max(began - self.submitted, 0.0)  # nan stays nan

    @property
    def run_seconds(self) -> float:
        """From the start to the end, or until now while it runs; nan before."""
        ended = self.ended if self.state == ENDED else time.time()
        return max(ended - self.began, 0.0)


# --- durations ------------------------------------------------------------------------------------------------------------------------


def seconds_of(text: str) -> int:
    """A time limit as people write it: "30" (minutes, as Slurm has it), "90s", "1h30m", "2d", "MM:SS", "HH:MM:SS", "D-HH:MM:SS".

    Raises SchedulerError for anything else.
    """
    text = text.strip().lower()
    if re.fullmatch(r"\d+", text):
        return _positive(60 * int(text), text)
    units = re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s)?", text)
    if units and text:
        days, hours, minutes, seconds = (int(one or 0) for one in units.groups())
        return _positive(86400 * days + 3600 * hours + 60 * minutes + seconds, text)
    clock = re.fullmatch(r"(?:(\d+)-)?(\d+(?::\d+){0,2})", text)
    if not clock:
        raise SchedulerError(f"--time {text!r} is no time limit: write 30 (minutes), 1h30m, 00:30:00 or 1-12:00:00.")
    parts = [int(one) for one in clock[2].split(":")]
    if clock[1] is not None:  # D-HH, D-HH:MM, D-HH:MM:SS
        parts = [*parts, 0, 0][:3]
        return _positive(86400 * int(clock[1]) + 3600 * parts[0] + 60 * parts[1] + parts[2], text)
    parts = [0, 0, *parts][-3:]
    return _positive(3600 * parts[0] + 60 * parts[1] + parts[2], text)


def _positive(seconds: int, text: str) -> int:
    if seconds <= 0:
        raise SchedulerError(f"--time {text!r} is no time at all: write 30 (minutes), 1h30m or 00:30:00.")
    return seconds


def clock(seconds: float) -> str:
    """HH:MM:SS, which both schedulers understand; days stay in the hours."""
    seconds = int(seconds)
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def duration(seconds: float) -> str:
    """For a person: "0.8 s", "45 s", "12 min 5 s", "3 h 10 min", "5 days", "?" for nan."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds != int(seconds) else f"{int(seconds)} s"
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s" if seconds % 60 else f"{seconds // 60} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min" if seconds % 3600 >= 60 else f"{seconds // 3600} h"
    return f"{seconds / 86400:.3g} days"


# --- scripts --------------------------------------------------------------------------------------------------------------------------


def directives(text: str, prefix: str) -> list[str]:
    """The options in a script's #SBATCH or #PBS lines, as words; those behind the first command do not count, as for the schedulers."""
    words: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(prefix) and line[len(prefix) : len(prefix) + 1] in ("", " ", "\t"):
            try:
                words += shlex.split(line[len(prefix) :], comments=True)
            except ValueError:
                continue  # an unmatched quote: the scheduler will say so
        elif line and not line.startswith("#"):
            break
    return words


def option(words: Sequence[str], *names: str) -> str | None:
    """The value of an option given as `--name value`, `--name=value`, `-n value` or `-nvalue`; of several the last."""
    found = None
    for position, word in enumerate(words):
        for name in names:
            if word == name and position + 1 < len(words):
                found = words[position + 1]
            elif name.startswith("--") and word.startswith(name + "="):
                found = word[len(name) + 1 :]
            elif not name.startswith("--") and not word.startswith("--") and word.startswith(name) and word != name:
                found = word[len(name) :]
    return found


# --- Slurm ----------------------------------------------------------------------------------------------------------------------------

# Why a job waits: words, and what to do. Source: squeue(1), JOB REASON CODES.
_SLURM_REASONS = {
    "None": ("has just been queued", ""),
    "Priority": ("waits behind jobs with a higher priority", ""),
    "Resources": ("waits for free nodes", ""),
    "Dependency": ("waits for another job that it depends on", ""),
    "BeginTime": ("waits for the time it was asked to begin at", ""),
    "Licenses": ("waits for a licence", ""),
    "Cleaning": ("is cleaned up after its last run", ""),
    "Prolog": ("its nodes are being prepared", ""),
    "JobArrayTaskLimit": ("waits for other tasks of its job array", ""),
    "PartitionNodeLimit": (
        "asks for more nodes than one job may have in this partition",
        "Ask for fewer with --nodes; `sinfo` shows the partitions.",
    ),
    "PartitionTimeLimit": (
        "asks for more time than the partition gives",
        "Ask for less with --time; `sinfo` shows the limits.",
    ),
    "PartitionConfig": (
        "asks for more than the partition has (nodes, or cores on one of them)",
        "Cancel it (labkit submit --cancel JOBID) and ask for less with --nodes or --ranks-per-node; `sinfo` shows what there is.",
    ),
    "PartitionDown": ("the partition is switched off", "Ask the administrators, or take another partition (`sinfo`)."),
    "PartitionInactive": ("the partition takes no jobs now", "Ask the administrators, or take another partition (`sinfo`)."),
    "BadConstraints": (
        "asks for what no node has",
        "Compare the script's --constraint, --gres and --mem with `sinfo -N -o '%N %c %m %f %G'`.",
    ),
    "ReqNodeNotAvail": (
        "a node it needs is down, drained or reserved",
        "`sinfo -R` says why; without --nodelist it could run elsewhere.",
    ),
    "NodeDown": ("a node it needs is down", "`sinfo -R` says why."),
    "Reservation": ("waits for its reservation to begin", ""),
    "JobHeldUser": ("is held", "Release it: scontrol release JOBID."),
    "JobHeldAdmin": ("is held by an administrator", "Ask the administrators."),
    "JobHoldMaxRequeue": ("is held: it was started too often", "Look at its output first, then: scontrol release JOBID."),
    "launch failed requeued held": (
        "is held: its start failed on a node",
        "Tell the administrators, then: scontrol release JOBID.",
    ),
    "MaxJobsPerAccount": ("your account runs as many jobs as it may", ""),
    "InvalidAccount": ("the account is not valid", "Set #SBATCH --account; `sacctmgr show associations user=$USER` lists yours."),
    "InvalidQOS": ("the quality of service is not valid", "Take out or change #SBATCH --qos."),
}
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
_NOBODY_ANSWERS = (
    "Slurm's commands are here, but no Slurm answers them: on a cluster, go to its login node; `make cluster-up` starts one on this"
    " machine, and `make cluster-run CMD='labkit submit ...'` submits to it."
)
# What sbatch says, and what that means. Looked for in this order.
_SBATCH_ERRORS = (
    (r"configuration source|fetch_config|Unable to contact slurm controller|Zero Bytes were transmitted", _NOBODY_ANSWERS),
    (
        r"invalid partition specified|Invalid partition name",
        "There is no such partition: `sinfo -s` lists them; change #SBATCH --partition.",
    ),
    (
        r"More processors requested than permitted|Node count specification invalid",
        "It asks for more nodes or cores than the partition has: `sinfo` shows them; ask for less with --nodes or --ranks-per-node.",
    ),
    (
        r"Requested node configuration is not available",
        "No node has what it asks for (cores, memory or GPUs on one node): compare with `sinfo -N -o '%N %c %m %G'`, ask for less with"
        " --ranks-per-node or change --gres, --mem or --cpus-per-task in the script.",
    ),
    (
        r"Invalid generic resource|Invalid GRES|Invalid Trackable",
        "This cluster knows no such GPU or other resource: `sinfo -o '%N %G'` lists what it has; change --gres or --gpus in the script.",
    ),
    (
        r"Requested time limit is invalid|time limit",
        "It asks for more time than the partition gives: `sinfo` shows the limits; ask for less with --time.",
    ),
    (
        r"Invalid account",
        "Slurm does not know the account: set #SBATCH --account; `sacctmgr show associations user=$USER` lists yours.",
    ),
    (r"Invalid qos", "There is no such quality of service for you: take out or change #SBATCH --qos."),
    (
        r"QOSMax|AssocMax|violates accounting|job submit limit",
        "You have as many jobs or cores as you may, or this one is too large for your account: wait for others to end, or ask for less.",
    ),
    (
        r"doesn't have a valid|not a valid batch script|no #!|does not look like a batch script",
        "The script's first line must name its shell: #!/bin/bash.",
    ),
    (r"DOS line breaks|dos2unix", "The script has Windows line ends: `sed -i 's/\\r$//' SCRIPT` removes them."),
    (
        r"unrecognized option|invalid option",
        "An #SBATCH line holds an option that sbatch does not know: `man sbatch` lists them.",
    ),
)


class Slurm:
    """The scheduler whose scripts have lines that begin with #SBATCH."""

    name, prefix, program = "Slurm", "#SBATCH", "sbatch"

    def submission(
        self, script: Path, text: str, request: Request, arguments: Sequence[str] = (), variables: Mapping[str, str] | None = None
    ) -> Submission:
        """The sbatch command for a script, its own directives overridden by the request. Options given to sbatch win over the script's."""
        own = directives(text, self.prefix)
        nodes, ranks = option(own, "--nodes", "-N"), option(own, "--ntasks-per-node")
        total, limit = option(own, "--ntasks", "-n"), option(own, "--time", "-t")
        options = []
        if request.nodes is not None:
            options.append(f"--nodes={request.nodes}")
        if request.ranks_per_node is not None:
            options.append(f"--ntasks-per-node={request.ranks_per_node}")
        if total is not None and (request.nodes is not None or request.ranks_per_node is not None):
            options.append(
                f"--ntasks={_tasks(request, nodes, ranks, total)}"
            )  # the script's --ntasks would win over the two others
        if request.seconds is not None:
            options.append(f"--time={clock(request.seconds)}")
        if variables:  # ALL: what sbatch passes on without --export
            options.append("--export=" + ",".join(["ALL", *(f"{name}={value}" for name, value in variables.items())]))
        asked = [
            _asked("nodes", request.nodes, nodes, "1 (Slurm's default)"),
            _asked("ranks per node", request.ranks_per_node, ranks, f"as {total} tasks fit" if total else "1 (Slurm's default)"),
            _asked("time limit", clock(request.seconds) if request.seconds else None, limit, "the partition's"),
        ]
        for what, names in (
            ("partition", ("--partition", "-p")),
            ("cores per rank", ("--cpus-per-task", "-c")),
            ("GPUs per node", ("--gpus-per-node", "--gres")),
            ("GPUs per rank", ("--gpus-per-task",)),
            ("memory per node", ("--mem",)),
        ):
            value = option(own, *names)
            if value is not None:
                asked.append((what, value, "script"))
        return Submission(["sbatch", *options, str(script), *arguments], asked)

    def submit(self, submission: Submission, folder: Path) -> str:
        """Run the command; returns the job's id. Raises SchedulerError."""
        ran = _run([submission.command[0], "--parsable", *submission.command[1:]], folder, _outside_of_a_job())
        if ran.returncode:
            raise SchedulerError(refused("sbatch", ran.stderr or ran.stdout, _SBATCH_ERRORS))
        number = ran.stdout.strip().splitlines()[-1].split(";")[0] if ran.stdout.strip() else ""
        if not number.isdigit():
            raise SchedulerError(f"sbatch did not return a job's number but {ran.stdout.strip()[:200]!r}.")
        return number

    def job(self, number: str) -> Job:
        """Where the job stands. Slurm forgets it five minutes after its end (MinJobAge); then its accounting is asked, if any."""
        if not re.fullmatch(r"\d+(_\d+)?", number):
            raise SchedulerError(f"{number!r} is no Slurm job: its number is what sbatch printed, such as 4711.")
        ran = _run(["scontrol", "--oneliner", "show", "job", number])
        if ran.returncode == 0 and "JobId=" in ran.stdout:
            return _slurm_job(number, ran.stdout.splitlines()[0])
        if re.search(_SBATCH_ERRORS[0][0], ran.stderr):
            raise SchedulerError(_NOBODY_ANSWERS)
        return self._from_accounting(number)

    def _from_accounting(self, number: str) -> Job:
        if shutil.which("sacct") is None:
            return Job(number)
        columns = "JobName,State,ExitCode,NNodes,NTasks,NodeList,Submit,Start,End,TimelimitRaw,WorkDir,Partition"
        ran = _run(["sacct", "-j", number, "-X", "-P", "-n", "-o", columns])
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
        ran = _run(["scancel", number])
        if ran.returncode:
            raise SchedulerError(f"Slurm did not cancel job {number}: {last_line(ran.stderr)}")


def _tasks(request: Request, nodes: str | None, ranks: str | None, total: str) -> int:
    """All ranks of a job whose script says --ntasks=`total`, after the request has changed its nodes or its ranks per node."""

    def number(text: str | None, otherwise: int) -> int:
        return int(text) if text and text.isdigit() else otherwise

    in_script = number(nodes, 1)
    each = request.ranks_per_node or number(ranks, max(1, number(total, 1) // in_script))
    return (request.nodes or in_script) * each


def _asked(what: str, wanted, in_script: str | None, default: str) -> tuple[str, str, str]:
    if wanted is not None:
        return (
            what,
            str(wanted),
            "your request" + (f", instead of the script's {in_script}" if in_script not in (None, str(wanted)) else ""),
        )
    return (what, in_script, "script") if in_script is not None else (what, default, "")


def _slurm_job(number: str, line: str) -> Job:
    """One line of `scontrol --oneliner show job`."""
    starts = list(re.finditer(r"(?:^| )([A-Za-z][A-Za-z:/]*)=", line))
    ends = [one.start() for one in starts[1:]] + [len(line)]
    facts = {one[1]: line[one.end() : end].strip() for one, end in zip(starts, ends, strict=True)}
    job = Job(number, name=facts.get("JobName", ""), word=facts.get("JobState", ""), partition=facts.get("Partition", ""))
    job.nodes = int((re.match(r"\d+", facts.get("NumNodes", "")) or ["0"])[0])
    job.ranks = int((re.match(r"\d+", facts.get("NumTasks", "")) or ["0"])[0])
    job.hosts = facts.get("NodeList", "").replace("(null)", "")
    job.submitted, job.began, job.ended = (_slurm_time(facts.get(key, "")) for key in ("SubmitTime", "StartTime", "EndTime"))
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
    key = code if code in _SLURM_REASONS else short[0] if short else ""
    if key in _SLURM_REASONS:
        return _SLURM_REASONS[key]
    if code.startswith("Nodes required for job are DOWN"):
        return "the nodes it needs are down, drained or reserved for others", "`sinfo -R` says why; ask for fewer with --nodes."
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


# --- PBS ------------------------------------------------------------------------------------------------------------------------------

# Job exit statuses below 0, where the job was ended or never began. Source: OpenPBS 23.06, src/include/job.h.
_PBS_KILLS = {-24: "ncpus", -25: "ncpus", -26: "vmem", -27: "mem", -28: "cput", -29: "walltime"}
# What qsub says, and what that means. Messages of OpenPBS 23.06: src/lib/Liblog/pbs_messages.c, src/cmds/qsub.c.
_QSUB_ERRORS = (
    (
        r"cannot connect to server|Connection refused|Unknown Host|No default server|Failed to load configuration",
        "PBS's commands are here, but no PBS server answers them: go to the cluster's login node, or ask whether the server is down"
        " (`qstat -B`).",
    ),
    (r"Unknown queue", "There is no such queue: `qstat -Q` lists them; change #PBS -q."),
    (
        r"Access to queue is denied|Unauthorized Request",
        "You may not use this queue: `qstat -Q` lists the others; change #PBS -q.",
    ),
    (r"Queue is not enabled", "The queue takes no jobs now: try later, or another one (`qstat -Q`)."),
    (
        r"violates queue and/or server resource limits|exceeds? .*limit",
        "It asks for more than the queue gives to one job: `qstat -Qf` shows resources_max; ask for less with --nodes or --time.",
    ),
    (
        r"Illegal attribute or resource value Resource_List\.walltime",
        "The walltime is not one that PBS reads: write HH:MM:SS, or give --time.",
    ),
    (
        r"Unknown resource:?\s*(?P<what>\S*)",
        "This server knows no resource of that name: ask which ones it has (`qmgr -c 'list resource'`) and change the select line.",
    ),
    (
        r'Resource invalid in "select" specification',
        "A resource in the select line is not one of a chunk: walltime and place stand in -l lines of their own.",
    ),
    (
        r"cannot be used with \"select\" or \"place\"|Cannot be used with select or place",
        "The script mixes the old form (-l nodes, -l ncpus) with select: keep `#PBS -l select=...` only.",
    ),
    (
        r"directive error: (?P<what>.*)",
        "A #PBS line holds what PBS does not know, perhaps an option of Slurm: `labkit lint-pbs SCRIPT` says which line and why.",
    ),
    (
        r"Maximum number of jobs already in queue",
        "You have as many jobs in this queue as you may: wait for one to end, or `qdel` one.",
    ),
    (
        r"Bad UID for job execution|Bad GID",
        "PBS does not run jobs of this user on this server (root, for example): log in as yourself.",
    ),
    (r"Invalid Account", "PBS does not know the account: change #PBS -A."),
)


class PBS:
    """The scheduler whose scripts have lines that begin with #PBS: OpenPBS, PBS Professional."""

    name, prefix, program = "PBS", "#PBS", "qsub"

    def submission(
        self, script: Path, text: str, request: Request, arguments: Sequence[str] = (), variables: Mapping[str, str] | None = None
    ) -> Submission:
        """The qsub command. A request for nodes or ranks rewrites the script's select: its chunk keeps ncpus, ngpus and the rest.

        Raises SchedulerError where the script's select has several kinds of chunks.
        """
        own = directives(text, self.prefix)
        resources, options, notes = _pbs_resources(own), [], []
        warnings = [
            f"Line {found.line}: {found.message}"
            for found in pbs_lint.lint(text)
            if found.level == "error" and found.rule != "packs-nodes"  # told below, unless it is mended
        ]
        several = "+" in resources.get("select", "")
        if request.nodes is not None or request.ranks_per_node is not None:
            if several:
                raise SchedulerError(
                    f"{script.name} asks for chunks of several kinds (select={resources['select']}), so --nodes and --ranks-per-node have"
                    " no one meaning: change its select line instead."
                )
            if "select" not in resources:
                warnings.append("The script has no `#PBS -l select`: as many cores as ranks are asked for on each node.")
            count, chunk = _wanted_chunk(request, resources.get("select"))
            options += ["-l", "select=" + ":".join([str(count), *(f"{key}={value}" for key, value in chunk.items())])]
            if count > 1 and "place" not in resources:
                options += ["-l", "place=scatter"]
                notes.append("place=scatter is added: without it PBS may put all chunks on one node.")
        else:
            count, chunk = _first_chunk(resources.get("select", "1:ncpus=1"))
            if (count > 1 or several) and "place" not in resources:
                warnings.append("The script has no `#PBS -l place=scatter`: PBS may put all its chunks on one node.")
        warnings += _shared(chunk)
        if request.seconds is not None:
            options += ["-l", f"walltime={clock(request.seconds)}"]
        if option(own, "-k") is None:
            options += ["-k", "doe"]
            notes.append("-k doe is added: PBS then writes the output where it can be followed while the job runs.")
        variables = dict(variables or {})
        if arguments:
            variables |= _pbs_arguments(script, text, arguments)
            notes.append(f"qsub gives a script no arguments: they travel in the variable {list(variables)[-1]}.")
        if variables:
            options += ["-v", ",".join(f"{name}={_pbs_quoted(value)}" for name, value in variables.items())]
        return Submission(["qsub", *options, str(script)], _pbs_asked(request, resources, option(own, "-q")), notes, warnings)

    def submit(self, submission: Submission, folder: Path) -> str:
        ran = _run(submission.command, folder)
        if ran.returncode:
            raise SchedulerError(refused("qsub", ran.stderr or ran.stdout, _QSUB_ERRORS))
        found = re.search(r"^\s*(\d+(?:\[\])?(?:\.\S+)?)\s*$", ran.stdout, re.MULTILINE)
        if not found:
            raise SchedulerError(f"qsub did not return a job's id but {ran.stdout.strip()[:200]!r}.")
        return found[1]

    def job(self, number: str) -> Job:
        """Where the job stands, from `qstat -x -f -F json`; without job history on the server a job that has ended is unknown."""
        if not re.fullmatch(r"\d+(\[\d*\])?(\.\S+)?", number):
            raise SchedulerError(f"{number!r} is no PBS job: its id is what qsub printed, such as 4711.server.")
        ran = _run(["qstat", "-x", "-f", "-F", "json", number])
        facts = _pbs_facts(ran.stdout)
        if facts is None and "history" in ran.stderr + ran.stdout:  # a server without it says so, and ends with status 0
            ran = _run(["qstat", "-f", "-F", "json", number])
            facts = _pbs_facts(ran.stdout)
        if facts is None:
            if re.search(_QSUB_ERRORS[0][0], ran.stderr):
                raise SchedulerError(_QSUB_ERRORS[0][1])
            return Job(number)
        return _pbs_job(number, facts)

    def cancel(self, number: str) -> None:
        ran = _run(["qdel", number])
        if ran.returncode:
            raise SchedulerError(f"PBS did not cancel job {number}: {last_line(ran.stderr)}")


def _pbs_resources(words: Sequence[str]) -> dict[str, str]:
    """{"select": "2:ncpus=4:mpiprocs=2", "place": "scatter", "walltime": "00:10:00"} of all -l options; the first of a name counts."""
    found: dict[str, str] = {}
    for position, word in enumerate(words):
        value = words[position + 1] if word == "-l" and position + 1 < len(words) else word[2:] if re.match(r"-l.", word) else ""
        for part in value.split(","):
            name, _, amount = part.partition("=")
            if amount:
                found.setdefault(name.strip(), amount.strip())
    return found


def _pbs_arguments(script: Path, text: str, arguments: Sequence[str]) -> dict[str, str]:
    """{"ARGS": "--epochs 3"}, or {"ARGS64": ...} with the same in base64 where qsub -v would lose something on the way.

    Seen on OpenPBS 23.06: quotes and backslashes arrive as backslashes, and with some of them the rest is lost. Raises SchedulerError for
    a script that knows ARGS only.
    """
    words = shlex.join(arguments)
    if re.fullmatch(r"[\w@%+=:./ -]+", words, re.ASCII):
        return {"ARGS": words}
    if "launch.sh" not in text and "ARGS64" not in text:
        raise SchedulerError(
            f"qsub cannot hand over {words}: it garbles commas, quotes, $ and letters with accents. Let {script.name} read them from"
            f' ARGS64, which is free of that: eval "set -- $(base64 -d <<< "$ARGS64")".'
        )
    return {"ARGS64": base64.b64encode(words.encode()).decode()}


def _pbs_quoted(value: str) -> str:
    """A value for qsub -v, where a comma begins the next variable unless quotes stand around it. Raises SchedulerError for others."""
    if re.search(r"['\"\\\\$`\n]", value):
        raise SchedulerError(
            f"qsub cannot hand over {value!r}: quotes, $ and backslashes are lost on the way. Rename that folder."
        )
    return f'"{value}"' if "," in value else value


def _first_chunk(select: str) -> tuple[int, dict[str, str]]:
    """(2, {"ncpus": "4", "mpiprocs": "2"}) of "2:ncpus=4:mpiprocs=2"; of several kinds of chunks the first."""
    parts = select.split("+")[0].split(":")
    count = int(parts.pop(0)) if parts[0].isdigit() else 1
    return count, {key: value for key, _, value in (part.partition("=") for part in parts) if value}


def _wanted_chunk(request: Request, select: str | None) -> tuple[int, dict[str, str]]:
    """The script's chunk with the nodes and ranks of the request; what else it has is kept."""
    count, chunk = _first_chunk(select or f"1:ncpus={request.ranks_per_node or 1}")
    if request.ranks_per_node is not None:
        chunk["mpiprocs"] = str(request.ranks_per_node)
    return request.nodes or count, chunk


def _shared(chunk: dict[str, str]) -> list[str]:
    """What the ranks of a chunk would have to share: cores with each other's threads, GPUs."""

    def number(key: str, otherwise: int) -> int:
        return int(chunk[key]) if chunk.get(key, "").isdigit() else otherwise

    ranks, threads = number("mpiprocs", 1), number("ompthreads", 1)
    cores, gpus, found = number("ncpus", 1), number("ngpus", 0), []
    if cores < ranks * threads:
        each = f" of {threads} threads" if threads > 1 else ""
        found.append(
            f"{ranks} ranks{each} share {cores} core{'s' * (cores != 1)} on each node: change ncpus in the script's select line."
        )
    if 0 < gpus < ranks:
        found.append(f"{ranks} ranks share {gpus} GPU{'s' * (gpus != 1)} on each node: change ngpus in the script's select line.")
    return found


def _pbs_asked(request: Request, resources: dict[str, str], queue: str | None) -> list[tuple[str, str, str]]:
    select = resources.get("select")
    if select and "+" in select:
        asked = [("chunks", select, "script")]
    else:
        count, chunk = _first_chunk(select) if select else (None, {})
        asked = [
            _asked("nodes", request.nodes, str(count) if select else None, "1 (PBS's default)"),
            _asked("ranks per node", request.ranks_per_node, chunk.get("mpiprocs"), "1 (PBS's default)"),
        ]
        named = (("ncpus", "cores per node"), ("ngpus", "GPUs per node"), ("mem", "memory per node"))
        asked += [(what, chunk[key], "script") for key, what in named if key in chunk]
    seconds = clock(request.seconds) if request.seconds else None
    asked.append(_asked("time limit", seconds, resources.get("walltime"), "the queue's"))
    return [*asked, ("queue", queue, "script")] if queue else asked


def _pbs_facts(text: str) -> dict | None:
    """The one job of `qstat -f -F json`; None if there is none. Where what users put into Variable_List breaks the JSON, it is left out."""
    for attempt in (text, re.sub(r'"Variable_List"\s*:\s*\{.*?\n\s*\},?\n', "", text, flags=re.DOTALL)):
        try:
            jobs = json.loads(attempt, strict=False).get("Jobs", {})
        except (ValueError, AttributeError):
            continue
        return next(iter(jobs.values())) if jobs else None
    return None


def _pbs_job(number: str, facts: dict) -> Job:
    wanted, used = facts.get("Resource_List", {}), facts.get("resources_used", {})
    job = Job(
        number, name=str(facts.get("Job_Name", "")), word=str(facts.get("job_state", "")), partition=str(facts.get("queue", ""))
    )
    job.nodes, job.ranks = int(wanted.get("nodect", 0)), int(wanted.get("mpiprocs", 0))
    if not job.ranks:
        count, chunk = _first_chunk(str(wanted.get("select", "1")))
        job.ranks = count * int(chunk.get("mpiprocs", 1))
    job.hosts = ",".join(dict.fromkeys(re.findall(r"([^/+()]+)/\d+", str(facts.get("exec_host", "")))))
    job.submitted, job.began = _pbs_time(facts.get("ctime")), _pbs_time(facts.get("stime"))
    job.limit = seconds_of(wanted["walltime"]) if ":" in str(wanted.get("walltime", "")) else math.nan
    job.output = str(facts.get("Output_Path", "")).partition(":")[2]
    job.attempt = max(1, int(facts.get("run_count", 1)))
    variables = facts.get("Variable_List", {})
    if isinstance(variables, dict):
        job.folder, job.arguments = str(variables.get("PBS_O_WORKDIR", "")), _pbs_arguments_of(variables)
    if job.word in ("Q", "H", "W", "T"):
        job.state, job.began = QUEUED, math.nan
        job.reason, job.advice = pbs_reason(job.word, str(facts.get("comment", "")))
    elif job.word in ("R", "E", "S", "U", "B"):
        job.state = RUNNING
    elif job.word in ("F", "X", "M"):
        job.state = ENDED
        walltime = used.get("walltime", "")
        ran = seconds_of(walltime) if ":" in str(walltime) and walltime != "00:00:00" else 0
        job.ended = _pbs_time(facts.get("obittime") or facts.get("mtime")) if math.isnan(job.began) else job.began + ran
        _pbs_end(job, facts, ran)
    return job


def _pbs_arguments_of(variables: Mapping[str, str]) -> list[str]:
    """What the script was given, read from the job's own variables."""
    try:
        return shlex.split(base64.b64decode(str(variables.get("ARGS64", ""))).decode() or str(variables.get("ARGS", "")))
    except ValueError:  # not written by us
        return []


def _pbs_end(job: Job, facts: dict, ran: float) -> None:
    """How it ended. An Exit_status above 256 is 256 + a signal, below 0 one of PBS's own."""
    comment = str(facts.get("comment", ""))
    try:
        status = int(facts["Exit_status"])
    except (KeyError, ValueError):
        job.end = CANCELLED if "terminated" in comment or math.isnan(job.began) else FAILED
        return
    killed = _PBS_KILLS.get(status, "")
    job.exit_status = status if 0 <= status <= 255 else None
    job.signal = status - 256 if 256 < status < 256 + 65 else 0
    if killed == "walltime" or job.signal and math.isfinite(job.limit) and ran >= job.limit:
        job.end = TIME_LIMIT
    elif killed in ("mem", "vmem"):
        job.end = OUT_OF_MEMORY
    elif "terminated" in comment or job.signal == 15:
        job.end = CANCELLED
    else:
        job.end = COMPLETED if status == 0 else FAILED


def pbs_reason(word: str, comment: str) -> tuple[str, str]:
    """(words, what to do) for the comment that PBS's scheduler leaves at a waiting job. Its texts: OpenPBS, src/scheduler/job_info.cpp."""
    if word == "H":
        return "is held", "Release it: qrls JOBID."
    if word == "W":
        return "waits for the time it was asked to begin at", ""
    never, text = comment.startswith("Can Never Run"), comment.partition(": ")[2] or comment
    amount = re.search(r"Insufficient amount of (?:queue |server )?resource: (\S+)(?: \(R: (\S+) A: (\S+) T: ([^)\s]+)\))?", text)
    if amount:
        thing = {"ncpus": "cores", "ngpus": "GPUs", "mem": "memory", "nodect": "nodes"}.get(amount[1], amount[1])
        figures = f" (asks for {amount[2]}, {amount[3]} free, {amount[4]} in all)" if amount[2] else ""
        if never or amount[2] and amount[2].isdigit() and amount[4].isdigit() and int(amount[2]) > int(amount[4]):
            return (
                f"can never run: there are not so many {thing}{figures}",
                "Cancel it and ask for less; `pbsnodes -aSj` shows the nodes.",
            )
        return f"waits for free {thing}{figures}", ""
    if never or "Not enough total nodes" in text:
        return f"can never run: {text.rstrip('.').lower()}", "Cancel it and ask for less; `pbsnodes -aSj` shows the nodes."
    for pattern, words in (
        (r"Not enough free nodes|No available resources on nodes|right type of nodes", "waits for free nodes"),
        (r"limit|would exceed", "you, your group or the queue run as many jobs as they may"),
        (r"top job|strict sorted order|interfere", "waits behind jobs with a higher priority"),
        (r"dedicated time|primetime|cross into", "waits: it would not end before a time that is kept free"),
    ):
        if re.search(pattern, text, re.IGNORECASE):
            return words, ""
    if "Queue not started" in text:
        return "the queue starts no jobs now", "Ask the administrators, or take another queue (`qstat -Q`)."
    return (f"PBS says: {text}", "") if text else ("has just been queued", "")


def _pbs_time(text) -> float:
    try:
        return time.mktime(time.strptime(str(text), "%a %b %d %H:%M:%S %Y"))
    except ValueError:
        return math.nan


# --- both -----------------------------------------------------------------------------------------------------------------------------

SCHEDULERS = {"slurm": Slurm, "pbs": PBS}


def choose(wanted: str | None, text: str, script: Path) -> Slurm | PBS:
    """The scheduler for a script: the one named, else the one that is here, else an error that says how to get one.

    Raises SchedulerError, also where the script was written for the other one.
    """
    if wanted is not None and wanted.lower() not in SCHEDULERS:
        raise SchedulerError(f"--scheduler {wanted!r} is neither slurm nor pbs.")
    written_for = [name for name, kind in SCHEDULERS.items() if re.search(rf"^{kind.prefix}\b", text, re.MULTILINE)]
    here = [name for name, kind in SCHEDULERS.items() if shutil.which(kind.program)]
    candidates = [wanted.lower()] if wanted else here
    if not candidates:
        raise SchedulerError(
            "Neither Slurm nor PBS is here (no sbatch, no qsub): log in to your cluster, or start a Slurm of your own on this machine"
            " with `make cluster-up N=2` and submit with `make cluster-run CMD='labkit submit ...'`."
        )
    fitting = [name for name in candidates if name in written_for] or ([] if written_for else candidates)
    if not fitting:
        kind, other = SCHEDULERS[candidates[0]], SCHEDULERS[written_for[0]]
        twin = script.parent.parent / candidates[0] / script.name
        instead = f"take {twin}" if twin.is_file() else f"write its {kind.prefix} lines first"
        reason = "you asked for" if wanted else "here is"
        raise SchedulerError(f"{script} is written for {other.name} (lines {other.prefix}), but {reason} {kind.name}: {instead}.")
    return SCHEDULERS[fitting[0]]()


def present(wanted: str | None, number: str = "") -> Slurm | PBS:
    """The scheduler to ask about a job. A dot in a job's id is PBS's. Raises SchedulerError."""
    if wanted is None and "." in number and shutil.which("qstat"):
        return PBS()
    return choose(wanted, "", Path())


def refused(program: str, message: str, table) -> str:
    """A rejected submission in one sentence: what that means if it is known, and always the scheduler's own word."""
    said = last_line(message)
    for pattern, meaning in table:
        found = re.search(pattern, message, re.IGNORECASE)
        if found:
            line = next((line for line in message.splitlines() if re.search(pattern, line, re.IGNORECASE)), said)
            return meaning if meaning == _NOBODY_ANSWERS else f"{meaning} ({_bare(line)})"
    return f"{program} refused the script: {_bare(said)}"


def last_line(text: str) -> str:
    """The last line of what a command complained, the one that says why; of sbatch's the first with "error" and a reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"


def _bare(line: str) -> str:
    """Without "sbatch: error: " and the final full stop."""
    return re.sub(r"^(sbatch|qsub): (error: )?(Batch job submission failed: )?", "", line).strip().rstrip(".")


def _outside_of_a_job() -> dict[str, str]:
    """The environment without what a surrounding Slurm job, such as one that runs a notebook, has put into it: sbatch would pass it on."""
    if "SLURM_JOB_ID" not in os.environ:
        return dict(os.environ)
    kept = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")
    return {name: value for name, value in os.environ.items() if not re.match("SLURM|SRUN_|PMIX?_", name) or name in kept}


def _run(
    command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess:
    """Run a scheduler's command. Its times are to be of the standard form, whatever a user likes to see."""
    environment = environment or os.environ | {"SLURM_TIME_FORMAT": "standard"}
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMMAND_TIMEOUT,
        )
    except FileNotFoundError:
        raise SchedulerError(f"There is no {command[0]} on this machine: go to the cluster's login node.") from None
    except subprocess.TimeoutExpired:
        raise SchedulerError(
            f"{command[0]} has not answered for {_COMMAND_TIMEOUT:.0f} s: try again when the scheduler is less busy."
        ) from None
