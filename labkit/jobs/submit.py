"""`labkit submit`: your job script to the scheduler that is here, its queue and output before your eyes, a report card
at the end.

    labkit submit job_scripts/slurm/ddp.sh --nodes 2 --ranks-per-node 2 --time 10m
    labkit submit --dry-run ...      only shows the command and what the scheduler would be asked for
    labkit submit --follow 17        takes up a job again; Ctrl-C leaves it running
    labkit submit --cancel 17

In a notebook, `!labkit submit ...` prints the card as text; as the last line of a cell this draws it:

    from labkit.jobs.submit import submit
    submit("job_scripts/slurm/ddp.sh", nodes=2, ranks_per_node=2, time="10m")

Anything behind the script that is no option of these goes to the script.
"""

from __future__ import annotations

import contextlib
import dataclasses
import html
import math
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit.jobs import card, schedulers
from labkit.jobs import job as jobs_job
from labkit.jobs import report as job_report
from labkit.jobs.card import JobReport
from labkit.jobs.job import (
    COMPLETED,
    ENDED,
    QUEUED,
    RUNNING,
    UNKNOWN,
    Job,
    Request,
    Scheduler,
    SchedulerError,
    Submission,
    duration,
)
from labkit.jobs.left import plain

TICK = 0.5  # seconds between two looks at the output
FORGOTTEN = 30.0  # seconds a scheduler may take to know a job that it has just accepted
PATIENCE = 600.0  # seconds without an answer after which following a job ends
MOST_LINES = 200  # of output shown at one look; the rest stays in the file
REMINDER = 600.0  # seconds after which a log that nobody reads live is told that the job still waits or runs
_OUTPUT_FOLDER = re.compile(r"^output(?: folder)?: (.+?)(?:/output\.txt)?$", re.MULTILINE)


def submit(
    script: str | os.PathLike,
    *arguments: str,
    nodes: int | None = None,
    ranks_per_node: int | None = None,
    time: str | int | None = None,
    scheduler: str | None = None,
    dry_run: bool = False,
    follow: bool = True,
) -> JobReport | Planned | Submitted | None:
    """Submit a job script and follow its job to the end.

    arguments: for the script. nodes, ranks_per_node, time: override its directives; time as in "10m", "1h30m",
    "00:10:00" or a number of minutes. scheduler: "slurm" or "pbs", if both are here. Returns the report card (None
    after an interrupt, which leaves the job running); with dry_run what would be submitted; without follow the job.
    Raises SchedulerError with one sentence.
    """
    kind, planned = plan(script, arguments, nodes, ranks_per_node, time, scheduler)
    if dry_run:
        return planned
    for sentence in planned.submission.warnings:
        print(f"warning: {sentence}")
    job = Submitted(kind.submit(planned.submission, Path.cwd()), kind.name)
    if not follow:
        return job
    with watcher() as shown:
        return watch(kind, job.id, shown, str(script), arguments)


def plan(script, arguments, nodes, ranks_per_node, time_limit, scheduler) -> tuple[Scheduler, Planned]:
    """The scheduler and what it is going to be asked for. Raises SchedulerError."""
    path = Path(script)
    if path.is_dir() or not path.exists():
        here = sorted(one.name for one in (path.parent if path.parent.is_dir() else Path()).glob("*.sh"))
        known = f" There are {', '.join(here[:12])}." if here else ""
        raise SchedulerError(f"There is no script {path}.{known}")
    for name, number in (("--nodes", nodes), ("--ranks-per-node", ranks_per_node)):
        if number is not None and number < 1:
            raise SchedulerError(f"{name} is a number from 1 on, not {number}.")
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise SchedulerError(f"{path} cannot be read as a script: {error}.") from None
    kind = schedulers.choose(scheduler, text, path)
    seconds = None if time_limit is None else jobs_job.seconds_of(str(time_limit))
    request = Request(nodes, ranks_per_node, seconds)
    return kind, Planned(kind.name, kind.submission(path, text, request, list(arguments), course_of(path, text)))


def course_of(script: Path, text: str) -> dict[str, str]:
    """{"COURSE": folder} for a script of the course that is submitted from elsewhere: it looks for the course in that
    variable."""
    if "COURSE" in os.environ:
        return {"COURSE": os.environ["COURSE"]}
    folder = script.resolve().parent.parent.parent
    needed = "COURSE" in text and (folder / "job_scripts" / "job.sh").is_file() and folder != Path.cwd().resolve()
    return {"COURSE": str(folder)} if needed else {}


def cancel(number: str, scheduler: str | None = None) -> str:
    """Cancels a job; returns a sentence to print. Raises SchedulerError."""
    kind = schedulers.present(scheduler, number)
    before = kind.job(number)
    if before.state == UNKNOWN:
        raise SchedulerError(f"{kind.name} knows no job {number} (any more).")
    if before.state == ENDED:
        return f"Job {number} has ended already: {before.end}."
    kind.cancel(number)
    return f"Job {number} is cancelled."


def follow(number: str, scheduler: str | None = None) -> JobReport | None:
    """Follows a job submitted earlier and returns its card, at once if it has ended. Raises SchedulerError."""
    kind = schedulers.present(scheduler, number)
    with watcher() as shown:
        return watch(kind, number, shown, from_end=True)


@dataclass(frozen=True)
class Submitted:
    """A job that was submitted and is not followed."""

    id: str
    scheduler: str

    def __str__(self) -> str:
        return f"Job {self.id} is submitted. {how_to_return(self.id)}"

    __repr__ = __str__


@dataclass(frozen=True)
class Planned:
    """The steps that `submit(..., dry_run=True)` would take."""

    scheduler: str
    submission: Submission

    def __str__(self) -> str:
        width = max(len(what) for what, _, _ in self.submission.asked)
        amounts = max(len(amount) for _, amount, _ in self.submission.asked)
        lines = [self.submission.shell(), f"{self.scheduler} would be asked for"]
        lines += [
            f"  {what:<{width}}  {amount:<{amounts}}  {source}".rstrip()
            for what, amount, source in self.submission.asked
        ]
        return "\n".join([*lines, *self.submission.notes, *(f"warning: {one}" for one in self.submission.warnings)])

    __repr__ = __str__


def how_to_return(number: str) -> str:
    """The sentence that says how to follow a job again."""
    return f"Follow it: labkit submit --follow {number}   Cancel it: labkit submit --cancel {number}"


# --- following --------------------------------------------------------------------------------------------------------


def watch(
    kind,
    number: str,
    shown: Watcher,
    script: str = "SCRIPT",
    arguments: Sequence[str] = (),
    from_end: bool = False,
    tick: float = TICK,
) -> JobReport | None:
    """Follow a job to its end; returns its card, None if interrupted. The job itself is never touched.

    arguments: of the script; without them those that the scheduler has kept.
    from_end: only the last lines of what it has printed so far are shown.
    """
    output, kind = Output(from_end), Patient(kind)
    try:
        job = _to_the_end(kind, number, shown, output, from_end, tick)
    except KeyboardInterrupt:
        shown.say(f"Job {number} goes on. {how_to_return(number)}")
        return None
    if job.state == UNKNOWN and output.folder is None:
        nowhere = f"and there is no folder jobs/*-{short(number)} here"
        raise SchedulerError(f"{kind.name} knows no job {number} (any more), {nowhere}.")
    job.arguments = list(arguments) or job.arguments
    report = job_report.examine(job, output.folder, output.path, script, wants_log=_wants_log(script))
    if output.folder:
        with contextlib.suppress(OSError):
            (output.folder / "report.html").write_text(card.html_page(report), encoding="utf-8")
    return report


def _to_the_end(kind: Patient, number: str, shown: Watcher, output: Output, from_end: bool, tick: float) -> Job:
    """Show a job's state and its output until it has ended, or the scheduler knows it no more."""
    begun, asked, job = time.monotonic(), -math.inf, Job(number)
    while True:
        if time.monotonic() - asked >= pause(time.monotonic() - begun):
            job, asked = _latest(kind, job), time.monotonic()
        lines = output.new(job)
        if lines and job.state == QUEUED:  # it has begun since
            job, asked = _latest(kind, job), time.monotonic()
        shown.state(job)
        for line in lines:
            shown.line(line)
        unknown = job.state == UNKNOWN
        if job.state == ENDED or unknown and (from_end or job.word or time.monotonic() - begun > FORGOTTEN):
            break
        time.sleep(tick)
    output.settle(job)
    for line in output.new(job, last=True):
        shown.line(line)
    return job


def _wants_log(script: str) -> bool:
    """True if a script gives its program the name of a run log; there are others, that grade or compute pi."""
    try:
        return ".jsonl" in Path(script).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


class Patient:
    """A scheduler that does not answer for a while, because it is restarted or busy, does not end the following of a
    job it has known."""

    def __init__(self, kind) -> None:
        self.kind, self.name, self.known, self.heard = kind, kind.name, False, time.monotonic()

    def job(self, number: str) -> Job | None:
        """The job; None if there is no answer now. Raises SchedulerError where there has been none for PATIENCE."""
        try:
            job = self.kind.job(number)
        except SchedulerError:
            if not self.known or time.monotonic() - self.heard > PATIENCE:
                raise
            return None
        self.known, self.heard = self.known or job.state != UNKNOWN, time.monotonic()
        return job


def _latest(kind: Patient, before: Job) -> Job:
    """The job as it stands now; of one that the scheduler has forgotten meanwhile, what was known of it."""
    job = kind.job(before.id) or before
    if job.state == UNKNOWN and before.state in (QUEUED, RUNNING):
        return dataclasses.replace(before, state=UNKNOWN, ended=time.time(), reason="", advice="")
    return before if job.state == UNKNOWN and before.word else job


def pause(seconds: float) -> float:
    """Seconds until the scheduler is asked again, growing with the time followed so far: it has other users."""
    return 1.0 if seconds < 30 else 5.0 if seconds < 300 else 15.0 if seconds < 3600 else 60.0


def short(number: str) -> str:
    """The number of a job id: "4711" of "4711.server"."""
    return number.split(".")[0]


@dataclass
class Output:
    """The files that a job prints into: the scheduler's own, and the output.txt in the folder that the course's scripts
    make.

    folder, path: that folder and the file that holds the output, once they are known.
    """

    from_end: bool = False
    folder: Path | None = None
    path: Path | None = None
    _files: dict[Path, Tail] = field(default_factory=dict)
    _looked: bool = False

    def new(self, job: Job, last: bool = False) -> list[str]:
        """The lines since the last call. last: no call follows, so that a line without an end counts, too."""
        lines = []
        if not self._looked and job.state == QUEUED and job.attempt == 1:
            self._pass_over(job)
        self._looked = True
        if job.output:
            lines += self._tail(Path(job.output)).lines(last)
        self._find(job, lines)
        if self.folder:
            lines += self._tail(self.folder / "output.txt").lines(last)
        self.path = next((path for path in reversed(self._files) if path.is_file()), self.path)
        if len(lines) > MOST_LINES:
            left_out = len(lines) - MOST_LINES // 2
            lines = [
                *lines[: MOST_LINES // 4],
                f"... {left_out} lines left out; all are in {self.path} ...",
                *lines[-MOST_LINES // 4 :],
            ]
        return lines

    def _pass_over(self, job: Job) -> None:
        """Skips output that was written before this job was submitted: it is of an older job with the same number (a
        throw-away Slurm counts from 1 each time).

        What was written since then is shown: the job may have started just after the scheduler said that it waits.
        """
        for path in ((Path(job.folder) if job.folder else Path.cwd()) / "jobs").glob(f"*-{short(job.id)}/output.txt"):
            seen = path.stat()
            if not seen.st_mtime >= job.submitted:  # nan: the scheduler has not said when
                self._files[path] = Tail(path, _offset=seen.st_size)

    def _tail(self, path: Path) -> Tail:
        return self._files.setdefault(path, Tail(path, 20 if self.from_end else None))

    def _find(self, job: Job, lines: Sequence[str]) -> None:
        """Finds the job's folder: the one that the script printed, else by the job's number. The printed line is not
        shown: the folder stands in the card."""
        if self.folder is None:
            said = _OUTPUT_FOLDER.findall("\n".join(lines))
            place = Path(job.folder) if job.folder else Path.cwd()
            by_number = [] if job.state == QUEUED else sorted((place / "jobs").glob(f"*-{short(job.id)}"))
            found = [place / said[-1]] if said else by_number
            self.folder = next((path for path in found if path.is_dir()), None)

    def settle(self, job: Job, patience: float = 5.0) -> None:
        """Wait for the file that a script writes last: on a shared file system it may come a moment after the job's
        end."""
        end = time.monotonic() + patience
        while self.folder and job.end == COMPLETED and (self.folder / "output.txt").exists() and time.monotonic() < end:
            if (self.folder / "exit_status").exists():
                return
            time.sleep(0.1)


@dataclass
class Tail:
    """The lines that are added to a file. start: how many of the lines already there are shown, the last ones."""

    path: Path
    start: int | None = None
    _offset: int = 0
    _rest: bytes = b""

    def lines(self, last: bool = False) -> list[str]:
        """The lines added since the last call. last: a line without an end counts, too."""
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size < self._offset:
                    self._offset, self._rest = 0, b""  # a requeued job began the file anew
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        self._offset += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if last and self._rest:
            whole, self._rest = [*whole, self._rest], b""
        if self.start is not None and data:
            whole, self.start = whole[-self.start :], None
        return [plain(line.decode("utf-8", "replace")) for line in whole]


# --- what is seen meanwhile -------------------------------------------------------------------------------------------


def told(job: Job) -> str:
    """A line that says in which state the job is."""
    if job.state == QUEUED:
        why = f": {job.reason}" if job.reason else ""
        again = f" for attempt {job.attempt}" if job.attempt > 1 else ""
        return f"job {job.id} in the queue{again}{why}"
    if job.state == RUNNING:
        where = f" on {job.hosts}" if job.hosts else ""
        return f"job {job.id} runs{where}"
    if job.state == ENDED:
        return f"job {job.id} has ended: {job.end}"
    return f"job {job.id} is not known {'any more' if job.word else 'yet'}"


def since(job: Job) -> str:
    """The time that the job has been in this state, in words."""
    if job.state == QUEUED and math.isfinite(job.submitted):
        return duration(math.floor(job.queue_seconds))
    if job.state == RUNNING and math.isfinite(job.began):
        limit = f" of {duration(job.limit)}" if math.isfinite(job.limit) else ""
        return duration(math.floor(job.run_seconds)) + limit
    return ""


class Watcher:
    """Shows how a job gets on. This one writes lines, few of them: for logs, pipes and `!` in a notebook."""

    def __init__(self) -> None:
        self.said, self.at = "", time.monotonic()

    def state(self, job: Job) -> None:
        """Shows the job's state if it is new, and every ten minutes if it is not. Called often."""
        text = told(job)
        if text != self.said:
            self.say(text)
            if job.advice:
                self.say(job.advice.replace("JOBID", job.id))
        elif time.monotonic() - self.at >= REMINDER:
            self.say(f"{text} ({since(job)})")
        else:
            return
        self.said, self.at = text, time.monotonic()

    def line(self, text: str) -> None:
        """Prints a line of the job's output."""
        print(f"  {text}", flush=True)

    def say(self, text: str) -> None:
        """Prints a sentence of ours, not of the job."""
        print(text, flush=True)

    def close(self) -> None:
        """Ends the display: nothing is shown after this."""
        pass


class Terminal(Watcher):
    """Progress in a terminal: a status line at the bottom, the output above it."""

    def __init__(self) -> None:
        from rich.console import Console

        super().__init__()
        self.console = Console(highlight=False)
        self.status = self.console.status("", spinner="dots")
        self.status.start()

    def state(self, job: Job) -> None:
        from rich.markup import escape

        super().state(job)
        self.status.update(escape(f"{told(job)}, {since(job)}" if since(job) else told(job)))

    def line(self, text: str) -> None:
        self.console.print(f"  {text}", markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, style="bold", soft_wrap=True)

    def close(self) -> None:
        self.status.stop()


class CellProgress(Watcher):
    """Progress in a notebook's cell: a status line that is updated in place, the output below it."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        super().__init__()
        self.html = HTML
        self.handle = display(HTML(""), display_id=True)
        self.drawn = ""

    def state(self, job: Job) -> None:
        text = f"{told(job)}, {since(job)}" if since(job) else told(job)
        advice = f" {job.advice.replace('JOBID', job.id)}" if job.advice else ""
        if text + advice != self.drawn:
            self.drawn = text + advice
            self.handle.update(self.html(f"<div><strong>{html.escape(text)}</strong>{html.escape(advice)}</div>"))


@contextlib.contextmanager
def watcher() -> Iterator[Watcher]:
    """The watcher for this place: terminal, cell or pipe. A notebook's `!command` only seems to have a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and hasattr(shell, "kernel"):
        chosen = CellProgress()
    elif sys.stdout.isatty() and "JPY_PARENT_PID" not in os.environ:
        chosen = Terminal()
    else:
        chosen = Watcher()
    try:
        yield chosen
    finally:
        chosen.close()


# --- the command ------------------------------------------------------------------------------------------------------


def command(
    script, arguments, nodes, ranks_per_node, time_limit, scheduler, dry_run, detach, followed, cancelled
) -> int:
    """Run `labkit submit`; returns its exit status: 0 for a job that completed, else the job's own, 130 after
    Ctrl-C."""
    try:
        if cancelled is not None:
            print(cancel(cancelled, scheduler))
            return 0
        if followed is not None:
            return _end(follow(followed, scheduler))
        if script is None:
            raise SchedulerError(
                "Which script? labkit submit job_scripts/slurm/ddp.sh, for example; or --follow, --cancel and a job."
            )
        done = submit(
            script,
            *arguments,
            nodes=nodes,
            ranks_per_node=ranks_per_node,
            time=time_limit,
            scheduler=scheduler,
            dry_run=dry_run,
            follow=not detach,
        )
        if dry_run or detach:
            print(done)
            return 0
        return _end(done)
    except SchedulerError as error:
        print(error, file=sys.stderr)
        return 2


def _end(report: JobReport | None) -> int:
    if report is None:
        return 130
    print(f"\n{report}")
    return report.exit_status
