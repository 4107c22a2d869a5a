"""PBS (OpenPBS, PBS Professional): jobs submitted with qsub, followed with qstat; its reasons and refusals in words."""

from __future__ import annotations

import base64
import json
import math
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from labkit.jobs import pbs_lint
from labkit.jobs.job import (
    CANCELLED,
    COMPLETED,
    ENDED,
    FAILED,
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
    last_line,
    refused,
    run_command,
    seconds_of,
    unreachable,
)
from labkit.jobs.pbs_script import SelectChunk, parse_select, read_script
from labkit.jobs.tables import table

# --- PBS --------------------------------------------------------------------------------------------------------------

# Job exit statuses below 0, where the job was ended or never began. Source: OpenPBS 23.06, src/include/job.h.
_PBS_KILLS = {-24: "ncpus", -25: "ncpus", -26: "vmem", -27: "mem", -28: "cput", -29: "walltime"}


class PBS(Scheduler):
    """The scheduler whose scripts have lines that begin with #PBS: OpenPBS, PBS Professional."""

    name, prefix, program = "PBS", "#PBS", "qsub"

    def submission(
        self,
        script: Path,
        text: str,
        request: Request,
        arguments: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Submission:
        """The qsub command. A request for nodes or ranks rewrites the script's select: its chunk keeps ncpus, ngpus ...

        Raises SchedulerError where the script's select has several kinds of chunks.
        """
        read = read_script(text)
        resources = {name: value for _, name, value in reversed(read.requests) if value}  # the first of a name counts
        options, notes, warnings = _select_options(script, request, resources)
        refused_lines = [found for found in pbs_lint.lint(text) if found.level == "error"]
        warnings = [f"Line {found.line}: {found.message}" for found in refused_lines] + warnings
        if request.seconds is not None:
            options += ["-l", f"walltime={clock(request.seconds)}"]
        if read.option("k") is None:
            options += ["-k", "doe"]
            notes.append("-k doe is added: PBS then writes the output where it can be followed while the job runs.")
        variables = dict(variables or {})
        if arguments:
            variables |= _pbs_arguments(script, text, arguments)
            notes.append(f"qsub gives a script no arguments: they travel in the variable {list(variables)[-1]}.")
        if variables:
            options += ["-v", ",".join(f"{name}={_pbs_quoted(value)}" for name, value in variables.items())]
        queue = read.option("q").value if read.option("q") else None
        return Submission(["qsub", *options, str(script)], _pbs_asked(request, resources, queue), notes, warnings)

    def submit(self, submission: Submission, folder: Path) -> str:
        """Run the command; returns the job's id. Raises SchedulerError."""
        ran = run_command(submission.command, folder)
        if ran.returncode:
            raise SchedulerError(refused("qsub", ran.stderr or ran.stdout))
        found = re.search(r"^\s*(\d+(?:\[\])?(?:\.\S+)?)\s*$", ran.stdout, re.MULTILINE)
        if not found:
            raise SchedulerError(f"qsub did not return a job's id but {ran.stdout.strip()[:200]!r}.")
        return found[1]

    def job(self, number: str) -> Job:
        """The job's state, from `qstat -x -f -F json`; without job history on the server a job that has ended is
        unknown."""
        if not re.fullmatch(r"\d+(\[\d*\])?(\.\S+)?", number):
            raise SchedulerError(f"{number!r} is no PBS job: its id is what qsub printed, such as 4711.server.")
        ran = run_command(["qstat", "-x", "-f", "-F", "json", number])
        facts = _pbs_facts(ran.stdout)
        if (
            facts is None and "history" in ran.stderr + ran.stdout
        ):  # a server without it says so, and ends with status 0
            ran = run_command(["qstat", "-f", "-F", "json", number])
            facts = _pbs_facts(ran.stdout)
        if facts is None:
            if nobody := unreachable("qsub", ran.stderr):
                raise SchedulerError(nobody)
            return Job(number)
        return _pbs_job(number, facts)

    def cancel(self, number: str) -> None:
        """Cancels the job with qdel. Raises SchedulerError if qdel refuses."""
        ran = run_command(["qdel", number])
        if ran.returncode:
            raise SchedulerError(f"PBS did not cancel job {number}: {last_line(ran.stderr)}")


def _select_options(
    script: Path, request: Request, resources: dict[str, str]
) -> tuple[list[str], list[str], list[str]]:
    """(options of qsub, notes, warnings) for the nodes and ranks of a request. resources: what the script asks for."""
    select, options, notes, warnings = resources.get("select"), [], [], []
    several = "+" in (select or "")
    if request.nodes is None and request.ranks_per_node is None:
        chunk = _first_chunk(select or "1:ncpus=1")
        if (chunk.count > 1 or several) and "place" not in resources:
            warnings.append("The script has no `#PBS -l place=scatter`: PBS may put all its chunks on one node.")
        return options, notes, warnings + _shared(chunk)
    if several:
        raise SchedulerError(
            f"{script.name} asks for chunks of several kinds (select={select}), so --nodes and --ranks-per-node have"
            " no one meaning: change its select line instead."
        )
    if select is None:
        warnings.append("The script has no `#PBS -l select`: as many cores as ranks are asked for on each node.")
    chunk = _first_chunk(select or f"1:ncpus={request.ranks_per_node or 1}")
    ranks = {"mpiprocs": str(request.ranks_per_node)} if request.ranks_per_node is not None else {}
    chunk = SelectChunk(request.nodes or chunk.count, chunk.resources | ranks)
    options += ["-l", "select=" + ":".join([str(chunk.count), *map("=".join, chunk.resources.items())])]
    if chunk.count > 1 and "place" not in resources:
        options += ["-l", "place=scatter"]
        notes.append("place=scatter is added: without it PBS may put all chunks on one node.")
    return options, notes, warnings + _shared(chunk)


def _pbs_arguments(script: Path, text: str, arguments: Sequence[str]) -> dict[str, str]:
    """{"ARGS": "--epochs 3"}, or {"ARGS64": ...} with the same in base64 where qsub -v would lose something on the way.

    Seen on OpenPBS 23.06: quotes and backslashes arrive as backslashes, and with some of them the rest is lost. Raises
    SchedulerError for a script that knows ARGS only.
    """
    words = shlex.join(arguments)
    if re.fullmatch(r"[\w@%+=:./ -]+", words, re.ASCII):
        return {"ARGS": words}
    if "launch.sh" not in text and "ARGS64" not in text:
        raise SchedulerError(
            f"qsub cannot hand over {words}: it garbles commas, quotes, $ and letters with accents. Let {script.name}"
            " read them from"
            f' ARGS64, which is free of that: eval "set -- $(base64 -d <<< "$ARGS64")".'
        )
    return {"ARGS64": base64.b64encode(words.encode()).decode()}


def _pbs_quoted(value: str) -> str:
    """A value for qsub -v, where a comma begins the next variable unless quotes stand around it. Raises SchedulerError
    for others."""
    if re.search(r"['\"\\\\$`\n]", value):
        raise SchedulerError(
            f"qsub cannot hand over {value!r}: quotes, $ and backslashes are lost on the way. Rename that folder."
        )
    return f'"{value}"' if "," in value else value


def _first_chunk(select: str) -> SelectChunk:
    """The first kind of chunk; an empty chunk if qsub could not read the statement."""
    try:
        return parse_select(select)[0]
    except ValueError:
        return SelectChunk(1, {})


def _shared(chunk: SelectChunk) -> list[str]:
    """Sentences about what the ranks of a chunk would share: cores with other ranks' threads, GPUs."""
    ranks, threads = chunk.number("mpiprocs", 1), chunk.number("ompthreads", 1)
    cores, gpus, found = chunk.number("ncpus", 1), chunk.number("ngpus"), []
    if cores < ranks * threads:
        each = f" of {threads} threads" if threads > 1 else ""
        share = f"{ranks} ranks{each} share {cores} core{'s' * (cores != 1)} on each node"
        found.append(f"{share}: change ncpus in the script's select line.")
    if 0 < gpus < ranks:
        share = f"{ranks} ranks share {gpus} GPU{'s' * (gpus != 1)} on each node"
        found.append(f"{share}: change ngpus in the script's select line.")
    return found


def _pbs_asked(request: Request, resources: dict[str, str], queue: str | None) -> list[tuple[str, str, str]]:
    select = resources.get("select")
    if select and "+" in select:
        asked = [("chunks", select, "script")]
    else:
        chunk = _first_chunk(select) if select else SelectChunk(1, {})
        asked = [
            asked_row("nodes", request.nodes, str(chunk.count) if select else None, "1 (PBS's default)"),
            asked_row("ranks per node", request.ranks_per_node, chunk.resources.get("mpiprocs"), "1 (PBS's default)"),
        ]
        named = (("ncpus", "cores per node"), ("ngpus", "GPUs per node"), ("mem", "memory per node"))
        asked += [(what, chunk.resources[key], "script") for key, what in named if key in chunk.resources]
    seconds = clock(request.seconds) if request.seconds else None
    asked.append(asked_row("time limit", seconds, resources.get("walltime"), "the queue's"))
    return [*asked, ("queue", queue, "script")] if queue else asked


def _pbs_facts(text: str) -> dict | None:
    """The one job of `qstat -f -F json`; None if there is none. Where what users put into Variable_List breaks the
    JSON, it is left out."""
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
        number,
        name=str(facts.get("Job_Name", "")),
        word=str(facts.get("job_state", "")),
        partition=str(facts.get("queue", "")),
    )
    job.nodes, job.ranks = int(wanted.get("nodect", 0)), int(wanted.get("mpiprocs", 0))
    if not job.ranks:
        chunk = _first_chunk(str(wanted.get("select", "1")))
        job.ranks = chunk.count * chunk.number("mpiprocs", 1)
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
    """The script's arguments, read from the job's variables."""
    try:
        return shlex.split(
            base64.b64decode(str(variables.get("ARGS64", ""))).decode() or str(variables.get("ARGS", ""))
        )
    except ValueError:  # not written by us
        return []


def _pbs_end(job: Job, facts: dict, ran: float) -> None:
    """Note how the job ended. An Exit_status above 256 is 256 + a signal; below 0 it is a code of PBS."""
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
    """(words, what to do) for the comment that PBS's scheduler leaves at a waiting job. Its texts: OpenPBS,
    src/scheduler/job_info.cpp."""
    if word == "H":
        return "is held", "Release it: qrls JOBID."
    if word == "W":
        return "waits for the time it was asked to begin at", ""
    never, text = comment.startswith("Can Never Run"), comment.partition(": ")[2] or comment
    amount = re.search(
        r"Insufficient amount of (?:queue |server )?resource: (\S+)(?: \(R: (\S+) A: (\S+) T: ([^)\s]+)\))?", text
    )
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
        return (
            f"can never run: {text.rstrip('.').lower()}",
            "Cancel it and ask for less; `pbsnodes -aSj` shows the nodes.",
        )
    for pattern, (words, advice) in table("pbs_reasons").items():
        if re.search(pattern, text, re.IGNORECASE):
            return words, advice
    return (f"PBS says: {text}", "") if text else ("has just been queued", "")


def _pbs_time(text) -> float:
    try:
        return time.mktime(time.strptime(str(text), "%a %b %d %H:%M:%S %Y"))
    except ValueError:
        return math.nan
