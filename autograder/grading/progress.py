"""Shows the progress of `autograder grade`, and the table at its end."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Table

from autograder.grading.run import GradingOutcome, Progress, SubmissionOutcome

_WORDS = {"graded": "graded", "kept": "judged before, written now", "unchanged": "unchanged", "failed": "not graded"}


class ProgressLines(Progress):
    """Prints one line of text per submission, for logs and pipes."""

    def __init__(self, console: Console):
        self.console, self.total, self.done = console, 0, 0

    def started(self, total: int) -> None:
        self.total = total

    def finished(self, outcome: SubmissionOutcome) -> None:
        self.done += 1
        self.console.print(f"{self.done}/{self.total} {told(outcome)}", markup=False, highlight=False, soft_wrap=True)
        self.console.file.flush()  # a log is read while it grows


class ProgressBar(Progress):
    """A line that moves: how many, how fast, what is running. Trouble is printed above it, and stays."""

    def __init__(self, console: Console):
        self.begun, self.judged = time.monotonic(), 0
        self.bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[running]}", markup=False),
            console=console,
            transient=True,
        )

    def started(self, total: int) -> None:
        self.begun = time.monotonic()
        self.task = self.bar.add_task("grading", total=total, rate="", running="")
        self.bar.start()

    def finished(self, outcome: SubmissionOutcome) -> None:
        self.judged += outcome.how == "graded"
        rate = 60 * self.judged / max(time.monotonic() - self.begun, 1e-3)
        self.bar.update(self.task, advance=1, rate=f"{rate:.0f} a minute" if self.judged else "")
        if outcome.reasons:
            self.bar.console.print(told(outcome), markup=False, highlight=False)

    def running(self, students: dict[str, float]) -> None:
        now = time.monotonic()
        told = ", ".join(
            f"{student} {now - since:.0f} s" for student, since in sorted(students.items(), key=lambda one: one[1])[:4]
        )
        more = f" and {len(students) - 4} more" if len(students) > 4 else ""
        self.bar.update(self.task, running=told + more)

    def close(self) -> None:
        self.bar.stop()


def told(outcome: SubmissionOutcome) -> str:
    """A submission in one line."""
    points = "" if outcome.how == "failed" else f", {outcome.points:g} of {outcome.max_points:g}"
    seconds = f", {outcome.seconds:.1f} s" if outcome.how == "graded" else ""
    return f"{outcome.student}: {_WORDS[outcome.how]}{points}{seconds}" + "".join(
        f"; {reason}" for reason in outcome.reasons
    )


def summary(run: GradingOutcome) -> Table:
    """Counts, and who needs a person."""
    table = Table(
        title=f"{run.assignment}: {len(run.submissions)} submissions in {run.seconds:.0f} s", title_justify="left"
    )
    table.add_column("what")
    table.add_column("how many", justify="right")
    table.add_column("who", overflow="fold")
    for how, words in _WORDS.items():
        failed = ", ".join(one.student for one in run.submissions if one.how == how == "failed")
        table.add_row(words, str(run.count(how)), failed)
    table.add_row("need a person", str(len(run.for_a_person)), ", ".join(one.student for one in run.for_a_person))
    table.add_row("handed in nothing", str(len(run.missing)), ", ".join(run.missing))
    if run.strange:
        table.add_row("left out: no student's name", str(len(run.strange)), ", ".join(run.strange))
    return table
