"""What `autograder grade` shows while it works, and the table at its end."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from autograder.grading.run import Line, Report, Watcher

_WORDS = {"graded": "graded", "kept": "judged before, written now", "unchanged": "unchanged", "failed": "not graded"}


class Lines(Watcher):
    """One line of text per submission, for logs and pipes."""

    def __init__(self, console: Console):
        self.console, self.total, self.done = console, 0, 0

    def begins(self, total: int) -> None:
        self.total = total

    def has(self, line: Line) -> None:
        self.done += 1
        self.console.print(f"{self.done}/{self.total} {told(line)}", markup=False, highlight=False, soft_wrap=True)
        self.console.file.flush()  # a log is read while it grows


class Bar(Watcher):
    """A line that moves: how many, how fast, what is running. Trouble is printed above it, and stays."""

    def __init__(self, console: Console):
        self.begun, self.judged = time.monotonic(), 0
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[running]}", markup=False),
            console=console,
            transient=True,
        )

    def begins(self, total: int) -> None:
        self.begun = time.monotonic()
        self.task = self.progress.add_task("grading", total=total, rate="", running="")
        self.progress.start()

    def has(self, line: Line) -> None:
        self.judged += line.how == "graded"
        rate = 60 * self.judged / max(time.monotonic() - self.begun, 1e-3)
        self.progress.update(self.task, advance=1, rate=f"{rate:.0f} a minute" if self.judged else "")
        if line.reasons:
            self.progress.console.print(told(line), markup=False, highlight=False)

    def runs(self, running: dict[str, float]) -> None:
        now = time.monotonic()
        told = ", ".join(
            f"{student} {now - since:.0f} s" for student, since in sorted(running.items(), key=lambda one: one[1])[:4]
        )
        more = f" and {len(running) - 4} more" if len(running) > 4 else ""
        self.progress.update(self.task, running=told + more)

    def close(self) -> None:
        self.progress.stop()


def told(line: Line) -> str:
    """A submission in one line."""
    points = "" if line.how == "failed" else f", {line.points:g} of {line.max_points:g}"
    seconds = f", {line.seconds:.1f} s" if line.how == "graded" else ""
    return f"{line.student}: {_WORDS[line.how]}{points}{seconds}" + "".join(f"; {reason}" for reason in line.reasons)


def summary(report: Report) -> Table:
    """Counts, and who needs a person."""
    table = Table(title=f"{report.assignment}: {len(report.lines)} submissions in {report.seconds:.0f} s", title_justify="left")
    table.add_column("what")
    table.add_column("how many", justify="right")
    table.add_column("who", overflow="fold")
    for how, words in _WORDS.items():
        table.add_row(words, str(report.count(how)), ", ".join(x.student for x in report.lines if x.how == how == "failed"))
    table.add_row("need a person", str(len(report.for_a_person)), ", ".join(line.student for line in report.for_a_person))
    table.add_row("handed in nothing", str(len(report.missing)), ", ".join(report.missing))
    return table
