"""A job as its user sees it: what is asked for, what became of it, durations as people write them; and how a
scheduler's commands are run."""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from labkit.jobs.tables import table

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
        """The sentence alone: a notebook shows no traceback."""
        return [str(self)]


@dataclass(frozen=True)
class Request:
    """Resources asked for on top of the script's own directives. None: as the script says. seconds: the limit."""

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
    """The state of a job.

    state: QUEUED, RUNNING, ENDED or UNKNOWN (the scheduler has forgotten it). end: how it ended, "" before. word: the
    scheduler's own word for all that. reason: why it waits, in plain words; advice: what to do about it, "" if waiting
    is all there is to do. exit_status: of the script; None: not known. signal: the one that ended it, 0 for none.
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
        """Seconds from submission to start, or until now while the job waits."""
        began = self.began if self.state in (RUNNING, ENDED) else time.time()
        return max(began - self.submitted, 0.0)  # nan stays nan

    @property
    def run_seconds(self) -> float:
        """Seconds from start to end, or until now while the job runs; nan before that."""
        ended = self.ended if self.state == ENDED else time.time()
        return max(ended - self.began, 0.0)


class Scheduler(Protocol):
    """A scheduler as `labkit submit` uses it. Another one is a class with these names, entered in
    `labkit.jobs.schedulers.SCHEDULERS`, and sentences for its messages in messages.toml.

    name: as people write it. prefix: how the directives of its scripts begin. program: what submits; the scheduler is
    here if that program is.
    """

    name: ClassVar[str]
    prefix: ClassVar[str]
    program: ClassVar[str]

    def submission(
        self,
        script: Path,
        text: str,
        request: Request,
        arguments: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Submission:
        """The command that submits `script`, whose text is `text`, with `arguments` and environment `variables`. The
        request wins over the script's directives. Raises SchedulerError where it cannot."""

    def submit(self, submission: Submission, folder: Path) -> str:
        """Runs the command in `folder`; returns the job's id. Raises SchedulerError."""

    def job(self, number: str) -> Job:
        """The state of a job; UNKNOWN where it is forgotten. Raises SchedulerError where nobody answers."""

    def cancel(self, number: str) -> None:
        """Cancels the job. Raises SchedulerError where that is refused."""


# --- durations --------------------------------------------------------------------------------------------------------


def seconds_of(text: str) -> int:
    """A time limit as people write it: "30" (minutes, as Slurm has it), "90s", "1h30m", "2d", "MM:SS", "HH:MM:SS",
    "D-HH:MM:SS".

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
    """The duration as HH:MM:SS, which both schedulers understand; days are counted in the hours."""
    seconds = int(seconds)
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def duration(seconds: float) -> str:
    """A duration in readable form: "0.8 s", "45 s", "12 min 5 s", "3 h 10 min", "5 days", "?" for nan."""
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


# --- scripts ----------------------------------------------------------------------------------------------------------


def directives(text: str, prefix: str) -> list[str]:
    """The options in a script's #SBATCH or #PBS lines, as words; those behind the first command do not count, as for
    the schedulers."""
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


def asked_row(what: str, wanted, in_script: str | None, default: str) -> tuple[str, str, str]:
    """(what, how much, where that comes from) of one thing that is asked for."""
    if wanted is not None:
        return (
            what,
            str(wanted),
            "your request" + (f", instead of the script's {in_script}" if in_script not in (None, str(wanted)) else ""),
        )
    return (what, in_script, "script") if in_script is not None else (what, default, "")


def refused(program: str, message: str) -> str:
    """A sentence on a rejected submission: the scheduler's own message and, if known, what it means."""
    said = last_line(message)
    if program == "sbatch" and (nobody := unreachable(program, message)):
        return nobody
    for pattern, meaning in table(program).items():
        found = re.search(pattern, message, re.IGNORECASE)
        if found:
            line = next((line for line in message.splitlines() if re.search(pattern, line, re.IGNORECASE)), said)
            return f"{meaning} ({_bare(line)})"
    return f"{program} refused the script: {_bare(said)}"


def unreachable(program: str, message: str) -> str:
    """The advice when no server answers sbatch or qsub: the first row of its table; else
    ""."""
    pattern, meaning = next(iter(table(program).items()))
    return meaning if re.search(pattern, message, re.IGNORECASE) else ""


def last_line(text: str) -> str:
    """The last line of what a command complained, the one that says why; of sbatch's the first with "error" and a
    reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"


def _bare(line: str) -> str:
    """The message without "sbatch: error: " and the final full stop."""
    return re.sub(r"^(sbatch|qsub): (error: )?(Batch job submission failed: )?", "", line).strip().rstrip(".")


def outside_of_a_job() -> dict[str, str]:
    """The environment without what a surrounding Slurm job, such as one that runs a notebook, has put into it: sbatch
    would pass it on."""
    if "SLURM_JOB_ID" not in os.environ:
        return dict(os.environ)
    kept = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")
    return {
        name: value for name, value in os.environ.items() if not re.match("SLURM|SRUN_|PMIX?_", name) or name in kept
    }


def run_command(
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
