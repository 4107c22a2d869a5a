"""All parts of a homework, judged one after the other, and each on its own: what fails in one costs nothing in
another."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import autograder.homework.inside as inside
import autograder.homework.registry as registry
from autograder.exercise import PUBLIC_KEY
from autograder.homework.assignment import Assignment, JudgedParts, JudgeRequest
from autograder.homework.figures import Figures
from autograder.homework.folder import Homework, collect
from autograder.homework.rubric import PartResult, Report, shown
from labkit.launch.launcher import Launcher


def judge(
    folder: Path,
    *,
    assignment: str = "",
    key: str = PUBLIC_KEY,
    nonce: str = "",
    parts: tuple[str, ...] | None = None,
    launcher: Launcher | None = None,
    jail: dict | None = None,
) -> Report:
    """Judge the homework in a folder. Raises NotADirectoryError where there is none, and `registry.UnknownHomework`
    where nobody can tell which one it is; everything else is in the report.

    assignment: its name; "": by the folder's name, or by the files in it. key: where what is drawn comes from. nonce:
    the code released to this student, "" if none was. parts: what to judge, of `Assignment.parts`; None: all. launcher:
    runs the student's programs, in the jail if there is one; None: one of our own, closed at the end. jail: as
    `autograder.grading.isolation.spec` makes it, for everything that opens a student's files; None: no jail, for one's
    own files.
    """
    folder = Path(folder)
    found = registry.get(assignment) if assignment else registry.find([folder.resolve().name], folder=folder)
    with tempfile.TemporaryDirectory(prefix="homework-") as copies:
        homework = collect(folder, Path(copies), found.files)
        return judge_files(homework, key=key, nonce=nonce, parts=parts, launcher=launcher, jail=jail)


def judge_files(
    homework: Homework,
    *,
    key: str = PUBLIC_KEY,
    nonce: str = "",
    parts: tuple[str, ...] | None = None,
    launcher: Launcher | None = None,
    jail: dict | None = None,
) -> Report:
    """The same for files that were collected before."""
    assignment = registry.get(homework.assignment)
    wanted = assignment.parts if parts is None else parts
    chosen = [judging for judging in assignment.judges if set(judging.parts) & set(wanted)]
    figures = Figures(homework, jail)
    frameworks = [name for judging in chosen if judging.starts for name in judging.frameworks(homework)]
    found: list[PartResult] = []
    with _own(launcher, jail, frameworks) if frameworks else contextlib.nullcontext(launcher) as ready:
        asked = JudgeRequest(homework, key, nonce, ready, jail, figures)
        for judging in chosen:
            results = _guarded(assignment, judging, asked)
            drawn = [role for role in figures.roles if judging.draws(role)]
            if drawn:
                figures.add_overlays(results[0], drawn)
            found += results
    order = list(assignment.rubric.parts)
    found.sort(key=lambda one: order.index(one.part))
    return Report(found, dict(homework.names), list(homework.notes), assignment.name)


def _guarded(assignment: Assignment, judging: JudgedParts, asked: JudgeRequest) -> list[PartResult]:
    """A result for each of the parts, with a finding for each line of the rubric. Where the judge fails, every line
    needs a person."""
    rubric = assignment.rubric
    try:
        result = judging.judge(asked)
        given = {finding.line.name: finding for finding in result.findings}
        why, diagnosis, flags, facts = "This line was not judged.", "needs_person", result.flags, result.facts
    except inside.Overdue as error:
        given, flags, facts = {}, [], {}
        why, diagnosis = f"What was handed in is too large to be judged here: {error}.", "too_large"
    except Exception as error:
        fault = f"{type(error).__name__}: {shown(error, 200)}"
        given, flags, facts = {}, [], {"fault": fault}
        why, diagnosis = "The grader failed on this part; that is no mistake of yours.", "fault"
    results = []
    for part in judging.parts:
        findings = [
            given.get(line.name) or rubric.needs_person(line.name, why, diagnosis) for line in rubric.lines_of(part)
        ]
        first = part == judging.parts[0]
        results.append(PartResult(part, findings, flags if first else [], facts if first else {}, assignment.name))
    return results


@contextlib.contextmanager
def _own(launcher: Launcher | None, jail: dict | None, frameworks: list[str]) -> Iterator[Launcher]:
    """The launcher given, or one for this homework alone."""
    if launcher is not None:
        yield launcher
        return
    with Launcher(tuple(dict.fromkeys(frameworks)), isolation=jail) as made:
        yield made
