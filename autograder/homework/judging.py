"""All parts of a homework, judged one after the other, and each on its own: what fails in one costs nothing in
another."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from autograder.exercise import PUBLIC_KEY
import autograder.homework.rubric as rubric
from autograder.homework.folder import Homework, collect
from autograder.homework.rubric import PartResult, Report, lines_of, lost, needs_person, shown, unjudged
from labkit import runlog
from labkit.launch import horovod_rendezvous
from labkit.launch.launcher import Launcher
from labkit.runlog import RunLog

PARTS = ("port", "scaling", "plots")  # "bonus" comes with the port: both are seen in the same runs


def judge(
    folder: Path,
    *,
    key: str = PUBLIC_KEY,
    nonce: str = "",
    parts: tuple[str, ...] = PARTS,
    launcher: Launcher | None = None,
    jail: dict | None = None,
) -> Report:
    """Judge the homework in a folder. Raises NotADirectoryError where there is none; everything else is in the report.

    key: where the port's data come from. nonce: the code released to this student, "" if none was. parts: what to
    judge, of `PARTS`. launcher: runs the script's ranks, in the jail if there is one; None: one of our own, closed at
    the end. jail: as `autograder.grading.isolation.spec` makes it, for everything that opens a student's files; None:
    no jail, for one's own files.
    """
    with tempfile.TemporaryDirectory(prefix="homework-") as copies:
        homework = collect(Path(folder), Path(copies))
        return judge_files(homework, key=key, nonce=nonce, parts=parts, launcher=launcher, jail=jail)


def judge_files(
    homework: Homework,
    *,
    key: str = PUBLIC_KEY,
    nonce: str = "",
    parts: tuple[str, ...] = PARTS,
    launcher: Launcher | None = None,
    jail: dict | None = None,
) -> Report:
    """The same for files that were collected before."""
    logs, broken = read_logs(homework)
    figures = Figures(homework, jail)
    found: list[PartResult] = []
    runs_script = "port" in parts or "bonus" in parts
    with _own(launcher, jail) if runs_script else contextlib.nullcontext(launcher) as ready:
        if runs_script:
            found += _port(homework, key, ready)
        if "scaling" in parts:
            found.append(
                _guarded("scaling", functools.partial(_scaling, homework, logs, broken, figures, nonce, ready))
            )
            figures.add_overlays(found[-1], ["scaling.pdf"])
    if "plots" in parts:
        found.append(_guarded("plots", functools.partial(_plots, homework, logs, broken, figures)))
        figures.add_overlays(found[-1], [role for role in figures.roles if role.startswith("accuracy_")])
    order = list(rubric.PARTS)
    return Report(sorted(found, key=lambda one: order.index(one.part)), dict(homework.names), list(homework.notes))


def read_logs(homework: Homework) -> tuple[dict[int, RunLog], dict[int, str]]:
    """(size -> run log, size -> why a log could not be read)."""
    logs: dict[int, RunLog] = {}
    broken: dict[int, str] = {}
    for size in homework.sizes:
        try:
            logs[size] = runlog.read(homework.files[f"run_{size}"], size)
        except runlog.RunLogError as error:
            broken[size] = str(error)
        except Exception as error:  # a parser that stumbles is our fault, but there is no log either way
            broken[size] = f"the reader of run logs stopped with {type(error).__name__}"
    return logs, broken


class Figures:
    """Reads each PDF once, and all of them side by side. Called with a path it gives the
    `probes.figure.types.Figure`."""

    def __init__(self, homework: Homework, jail: dict | None):
        self.homework, self.jail = homework, jail
        self.roles = [role for role in sorted(homework.files) if role.endswith(".pdf")]
        self._read = functools.cache(self._read_one)

    def __call__(self, path: Path):
        return self._read(Path(path))

    def read_all(self, roles: list[str]) -> None:
        with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            list(pool.map(lambda role: self(self.homework.files[role]), roles))

    def _read_one(self, path: Path):
        import autograder.homework.inside as inside
        from probes.figure.types import Figure

        name = self.homework.names.get(path.name, path.name)
        try:
            figure = Figure.from_json(inside.run("probes.figure.figure", path, jail=self.jail).decode("utf-8"))
        except inside.NoAnswer as error:
            figure = Figure().needs_person("unread", f"It could not be read: {error}.")
        except ValueError as error:  # no JSON, or not of a figure
            figure = Figure().needs_person("unread", f"It could not be read ({type(error).__name__}).")
        figure.source = shown(name)
        return figure

    def add_overlays(self, result: PartResult, roles: list[str]) -> None:
        """facts["overlays"]: file -> the page with what was read from it. A page that cannot be drawn is left out."""
        import autograder.homework.inside as inside
        import autograder.homework.overlay as overlay

        def drawn(role: str) -> tuple[str, dict | None]:
            path = self.homework.files[role]
            try:
                return role, overlay.draw(path, self(path), self.jail)
            except (inside.NoAnswer, ValueError, ArithmeticError, OSError):
                return role, None

        wanted = [role for role in roles if role in self.homework.files]
        with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            made = dict(pool.map(drawn, wanted))
        result.facts["overlays"] = {role: one for role, one in made.items() if one is not None}


def _port(homework: Homework, key: str, launcher: Launcher) -> list[PartResult]:
    """The parts "port" and "bonus"."""
    script = homework.files.get("script")
    if script is None:
        said = homework.absent("script", "tensorflow2_mnist_hvd.py")
        teach = "Save your port under that name, beside the logs."
        return [
            PartResult(part, [lost(line.name, "missing_file", said, teach) for line in lines_of(part)])
            for part in ("port", "bonus")
        ]
    both = _guarded("port", lambda: _judged_port(script, key, launcher), also=("bonus",))
    bonus = [finding for finding in both.findings if finding.line.part == "bonus"]
    both.findings = [finding for finding in both.findings if finding.line.part == "port"]
    return [both, PartResult("bonus", bonus)]


def _judged_port(script: Path, key: str, launcher: Launcher) -> PartResult:
    from autograder.homework.port import judge as port

    return port.judge(script, key=key, launcher=launcher)


def _scaling(
    homework: Homework, logs: dict, broken: dict, figures: Figures, nonce: str, launcher: Launcher | None
) -> PartResult:
    from autograder.homework.scaling import judge as scaling
    from autograder.homework.scaling import rerun

    script = homework.files.get("script")
    again = rerun.timer(script, launcher) if script is not None and launcher is not None else None
    return scaling.judge(homework, logs, figures, broken=broken, nonce=nonce, again=again)


def _plots(homework: Homework, logs: dict, broken: dict, figures: Figures) -> PartResult:
    from autograder.homework.plots import judge as plots

    figures.read_all(figures.roles)
    return plots.judge(homework, logs, figures, broken=broken)


def _guarded(part: str, judged: Callable[[], PartResult], also: tuple[str, ...] = ()) -> PartResult:
    """The part's result with a finding for each line of the rubric. Where its judge fails, every line needs a
    person."""
    lines = [line for one in (part, *also) for line in lines_of(one)]
    try:
        result = judged()
        given = {finding.line.name: finding for finding in result.findings}
        result.findings = [
            given.get(line.name) or needs_person(line.name, "This line was not judged.") for line in lines
        ]
        return result
    except Exception as error:
        fault = f"{type(error).__name__}: {shown(error, 200)}"
        why = "The grader failed on this part; that is no mistake of yours."
        result = unjudged(part, why, {"fault": fault})
        result.findings = [needs_person(line.name, why, "fault") for line in lines]
        return result


@contextlib.contextmanager
def _own(launcher: Launcher | None, jail: dict | None) -> Iterator[Launcher]:
    """The launcher given, or one for this homework alone."""
    if launcher is not None:
        yield launcher
        return
    with Launcher(horovod_rendezvous.FRAMEWORKS, isolation=jail) as made:
        yield made
