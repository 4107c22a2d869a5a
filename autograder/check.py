"""`check(f)`: what a student calls in a notebook. Looks up the exercise, judges the function elsewhere, shows the card.

In Lab a failing check shows its card and lets Run All go on. Under nbgrader (which sets ``NBGRADER_EXECUTION``) it
raises one line, so that validation and autograding see a failed cell.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.exercise import PUBLIC_KEY, Exercise
from autograder.judging import cards
from autograder.judging.helpers import judge_with_its_helpers, slice_for
from autograder.judging.judge import judge
from autograder.others import shown
from autograder.personal import keep_records
from autograder.progress import keep_result, keep_time
from autograder.registry import UnknownExercise, find
from autograder.verdict import HINT_LEVELS, Result
from labkit.cells.notebook import NoSource, cells_for, executed_cells
from labkit.cells.slicing import defining_label, python_of
from labkit.launch import launcher
from labkit.ranks import unwritten

if TYPE_CHECKING:
    from autograder.homework.handed_in import HomeworkJudge

unwritten.install()  # every notebook with an exercise imports this module
_last: dict[str, Result] = {}  # by function: what its last check said
_passes: Counter[str] = Counter()  # by function: in this kernel, for where nothing is kept


class CheckFailed(Exception):
    """A check that did not pass, under nbgrader. One line, no traceback."""

    def _render_traceback_(self):
        return [f"CheckFailed: {self}"]


class CheckStopped(Exception):
    """The student stopped a check. One line, no traceback; Run All stops here, too."""

    def _render_traceback_(self):
        return [str(self)]


def check(function, *, hints: str | None = None) -> None:
    """Judge `function` (a function of this notebook, or its name) and show the result card.

    hints: how much the card tells: "verdict", "differs", "why" or "how" (default; environment variable
    AUTOGRADER_HINTS).
    """
    name = function if isinstance(function, str) else getattr(function, "__name__", None)
    hints = hints or os.environ.get("AUTOGRADER_HINTS", "how")
    if hints not in HINT_LEVELS:
        return _say(f"hints={hints!r}: choose one of {', '.join(HINT_LEVELS)}")
    if name is None:
        return _say(
            "check takes a function of this notebook, for example check(fair_share), without parentheses behind its "
            "name."
        )
    try:
        exercise = find(name)
    except UnknownExercise as error:
        return _say(f"check: {error}.")
    if sentence := exercise.lacking:
        return _say(f"{name} is not checked here. {sentence}")
    with _Patience(f"check({name})") as patience:
        try:
            result = _judge(exercise, None if isinstance(function, str) else function)
        except KeyboardInterrupt:
            raise CheckStopped(
                f"You stopped this check before it came to an end: nothing is known about {name}."
            ) from None
        _last[name] = result
        more = "" if os.environ.get("NBGRADER_EXECUTION") else _kept(result, hints, _source_of(name))
        _show(result, hints, patience, more)
    if result.verdict != "passed" and os.environ.get("NBGRADER_EXECUTION"):
        points = f", {result.score} of {result.max_score} points" if result.max_score else ""
        raise CheckFailed(f"{name}: {result.verdict} ({result.diagnosis}){points}")


def check_homework(
    part: str, folder: str | os.PathLike = ".", *, homework: str | None = None, hints: str | None = None
) -> None:
    """Judge a part of a homework ("port", "scaling", "plots" or "bonus" of `scaling_mnist`) from the files in `folder`,
    and show its card.

    Your script is run, with data of its own. The grader does the same with other data. homework: its name, where folder
    and files do not tell which one it is. hints: as in `check`.
    """
    from autograder.homework import handed_in, registry

    hints = hints or os.environ.get("AUTOGRADER_HINTS", "how")
    if hints not in HINT_LEVELS:
        return _say(f"hints={hints!r}: choose one of {', '.join(HINT_LEVELS)}")
    if not Path(folder).is_dir():
        return _say(f"check_homework: there is no folder {folder}")
    try:
        judge = _homework(Path(folder), part, homework)
    except registry.UnknownHomework as unknown:
        return _say(f"check_homework({part!r}): {unknown}")
    if sentence := judge.missing(part):
        return _say(f"The {part} is not checked here. {sentence}")
    with _Patience(f"check_homework({part!r})") as patience:
        try:
            found = judge.part(part)
        except KeyboardInterrupt:
            raise CheckStopped(
                "You stopped this check before it came to an end: nothing is known about your homework."
            ) from None
        except handed_in.Fault as fault:
            return _say(
                f"The check of {part!r} itself failed ({fault}). That is no fault of yours; please tell your "
                "instructor."
            )
        html, text = handed_in.card(found.json, hints)
        patience.end(html, text)
    if (found.share < 1 or found.waits) and part != "bonus" and os.environ.get("NBGRADER_EXECUTION"):
        raise CheckFailed(
            f"{part}: {100 * found.share:.0f} % of its points ({found.diagnosis or 'a person must look at it'})"
        )


_homeworks: dict[str, HomeworkJudge] = {}  # the files as they were last -> what was judged of them


def _homework(folder: Path, part: str, name: str | None) -> HomeworkJudge:
    """The judge of these files, who still knows what was judged before if none of them has changed."""
    from autograder.homework import handed_in, registry

    files = handed_in.packed(folder, registry.find([name or folder.resolve().name], [part], folder))
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    if digest not in _homeworks:
        _homeworks.clear()
        _homeworks[digest] = handed_in.HomeworkJudge(files, launcher.for_notebook(), PUBLIC_KEY)
    return _homeworks[digest]


def _judge(exercise: Exercise, function) -> Result:
    warm = launcher.for_notebook()
    try:
        cells = cells_for(exercise.function, function)
    except NoSource:
        broken = _broken_cell(exercise.function)
        return judge(exercise, None, warm, note=broken)
    broken = _broken_cell(exercise.function, after=defining_label(cells, exercise.function))
    failed = {name for name, result in _last.items() if result.verdict != "passed"}
    return judge_with_its_helpers(
        exercise,
        lambda *which: slice_for(exercise, cells, *which),
        lambda chunks, note: judge(exercise, chunks, warm, note=" ".join(part for part in (broken, note) if part)),
        failed,
    )


def _broken_cell(name: str, after: str | None = None) -> str:
    """The message for when the newest cell that defines `name` (newer than the cell labelled `after`) is no valid
    Python."""
    for cell in reversed(executed_cells()):
        if cell.label == after:
            break
        if f"def {name}" in cell.source and python_of(cell.source) is None:
            return f"{cell.label} defines {name}, but it is no valid Python: mend the error it shows and run it again."
    return ""


def _figure(result: Result) -> str:
    """The timeline of the decisive case, where a picture helps: a hang, or a wrong result with messages in it."""
    case = result.decisive
    if case is None or case.verdict not in ("hung", "wrong") or not case.events or case.world_size > 8:
        return ""
    if case.verdict == "wrong" and not any(event.kind in ("send", "recv") for event in case.events):
        return ""
    from labkit import timeline  # matplotlib takes a second: only when there is something to draw

    return timeline.svg(case.events, case.world_size)


def _source_of(name: str) -> str:
    """The newest cell that defines a function; "" where none does."""
    return next((cell.source for cell in reversed(executed_cells()) if f"def {name}(" in cell.source), "")


def _kept(result: Result, hints: str, own: str = "") -> str:
    """Keep what the student has reached; other right answers than their own, as HTML, if this is not their first
    pass."""
    keep_records(result)
    keep_time(result.unit)
    entry = keep_result(result)
    if result.verdict != "passed":
        return ""
    _passes[result.exercise] += 1
    passes = entry["passes"] if entry else _passes[result.exercise]
    return shown(result.unit, result.exercise, passes, own) if HINT_LEVELS[hints] == max(HINT_LEVELS.values()) else ""


def _show(result: Result, hints: str, patience: _Patience, more: str = "") -> None:
    figure = _figure(result) if _in_notebook() and HINT_LEVELS[hints] >= 1 else ""
    patience.end(cards.html_card(result, hints, figure) + more, cards.text_card(result, hints))


class _Patience:
    """While a check takes longer than a second it says so, in a line that the card replaces."""

    def __init__(self, what: str):
        self.what, self.began, self.shown = what, time.monotonic(), False
        self.display = f"{what} {secrets.token_hex(8)}"
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> _Patience:
        self.thread.start()
        return self

    def __exit__(self, kind, *_) -> None:
        if not self.done.is_set():
            self._finish()
            if self.shown and _in_notebook():
                self._put("", f"{self.what} ended after {time.monotonic() - self.began:.0f} s without a result.")

    def end(self, html: str, text: str) -> None:
        """Put the card where the line was."""
        self._finish()
        if not _in_notebook():
            print(text)
        else:
            self._put(html, text)

    def _count(self) -> None:
        while not self.done.wait(1.0):
            line = f"{self.what}: still running, {time.monotonic() - self.began:.0f} s ..."
            if _in_notebook():
                self._put("", line)
            elif sys.stderr.isatty():
                print(f"\r{line}", end="", file=sys.stderr, flush=True)
            self.shown = True

    def _finish(self) -> None:
        self.done.set()
        self.thread.join()
        if self.shown and not _in_notebook() and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _put(self, html: str, text: str) -> None:
        from IPython.display import display, update_display

        data = {"text/html": html, "text/plain": text} if html else {"text/plain": text}
        if self.shown:
            update_display(data, display_id=self.display, raw=True)
        else:
            display(data, raw=True, display_id=self.display)


def _say(message: str) -> None:
    print(message)
    if os.environ.get("NBGRADER_EXECUTION"):
        raise CheckFailed(message)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
