"""A homework on its way from submitted/ to the judge and into the gradebook.

The files are read where the class is graded and judged wherever a worker is, so they travel as JSON. What a student
handed in is not opened on the way: only the bytes of plain files, found by name and within limits
(`autograder.homework.folder`).
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import autograder.homework.folder as folders
import autograder.homework.registry as registry
from autograder.homework.assignment import Assignment
from autograder.homework.folder import Homework
from autograder.homework.rubric import PartResult, Report, shown
from labkit.launch.launcher import Launcher

MOST_BYTES = 48 << 20  # of all files together


def packed(folder: Path, assignment: Assignment, nonce: str = "") -> dict:
    """The judged files of a student's folder, as JSON. nonce: the code that was given to this student, "" if none
    was."""
    with tempfile.TemporaryDirectory(prefix="homework-") as place:
        found = folders.collect(folder, Path(place), assignment.files)
        files: dict[str, list[str]] = {}
        total = 0
        for role in sorted(set(found.files) - assignment.not_judged):
            content = found.files[role].read_bytes()
            total += len(content)
            if total > MOST_BYTES:
                name = shown(found.names[role])
                found.refused[role] = (
                    f"`{name}` was not taken: all files together are larger than {MOST_BYTES >> 20} MiB."
                )
            else:
                files[role] = [found.files[role].name, base64.b64encode(content).decode()]
    names = {role: found.names[role] for role in files}
    told = {"refused": found.refused, "notes": found.notes, "nonce": nonce}
    return {"assignment": assignment.name, "files": files, "names": names, **told}


def unpacked(data: dict, place: Path) -> Homework:
    """The files again, in `place`, an empty folder."""
    told = (dict(data["names"]), dict(data["refused"]), list(data["notes"]))
    found = Homework({}, *told, data["assignment"])
    for role, (name, content) in data["files"].items():
        found.files[role] = place / name
        found.files[role].write_bytes(base64.b64decode(content))
    return found


class Fault(RuntimeError):
    """The grader failed on a part; nobody's points are lost by that."""


@dataclass(frozen=True)
class PartGrade:
    """The grade of one part. share: of its points. waits: some of them wait for a person. diagnosis: of the first line
    that lost any."""

    earned: float
    share: float
    waits: bool
    diagnosis: str
    json: dict


class HomeworkJudge:
    """Judges the parts of one packed homework, each when it is asked for and each once. flags: (kind, sentence) for a
    person.

    A part over which the grader itself failed is not kept: asked for again, it is judged again.
    """

    def __init__(self, files: dict, launcher: Launcher, key: str):
        self.files, self.launcher, self.key = files, launcher, key
        self.results: dict[str, PartResult] = {}
        self.flags: list[tuple[str, str]] = []

    def part(self, name: str) -> PartGrade:
        """The grade of a part. Raises Fault where the grader failed; what is wrong with the files is a finding."""
        if name not in self.results:
            judged = self._judged(name).parts
            faults = [result.facts["fault"] for result in judged if "fault" in result.facts]
            if faults:
                raise Fault(faults[0])
            for result in judged:
                self.results[result.part] = result
                self.flags += [(flag.kind, flag.sentence) for flag in result.flags]
        return found_in(self.results[name])

    def missing(self, part: str) -> str:
        """The reason why this part cannot be judged on this machine, in a sentence; "" if it can."""
        with tempfile.TemporaryDirectory(prefix="homework-") as place:
            homework = unpacked(self.files, Path(place))
            return registry.get(homework.assignment).judging_of(part).missing(homework)

    def _judged(self, part: str) -> Report:
        from autograder.homework.judging import judge_files  # only where a homework is judged: it reads PDFs

        with tempfile.TemporaryDirectory(prefix="homework-") as place:
            homework = unpacked(self.files, Path(place))
            return judge_files(
                homework,
                key=self.key,
                nonce=self.files["nonce"],
                parts=(part,),
                launcher=self.launcher,
                jail=self.launcher.isolation,
            )


def found_in(result: PartResult) -> PartGrade:
    """The grade of a judged part: its points, their share, whether a person must look, the first mistake."""
    earned = sum(finding.earned or 0.0 for finding in result.findings)
    possible = sum(finding.line.points for finding in result.findings)
    lost = [finding for finding in result.findings if finding.verdict != "passed"]
    diagnosis = lost[0].diagnosis if lost else ""
    waits = any(finding.earned is None for finding in result.findings)
    return PartGrade(earned, earned / possible if possible else 0.0, waits, diagnosis, result.to_json())


def shared_runs(results: Iterable[tuple[str, dict]]) -> dict[str, list[tuple[str, str]]]:
    """student -> (kind, sentence) of what only all results of a class show: two students' run logs of the same run.
    results: (student, result of a part as JSON)."""
    reports: dict[str, Report] = {}
    for student, result in results:
        reports.setdefault(student, Report([])).parts.append(PartResult.from_json(result))
    names = {part.assignment for report in reports.values() for part in report.parts}
    found = {name: registry.get(name).compare(reports) for name in names}
    return {
        student: [(flag.kind, flag.sentence) for flags in found.values() for flag in flags.get(student, ())]
        for student in reports
    }


def card(result: dict, hints: str) -> tuple[str, str]:
    """(HTML, text) of what a part earned and why. hints: a level of `autograder.verdict.HINT_LEVELS`."""
    import autograder.homework.page as page

    found = PartResult.from_json(result)
    return page.part_html(found, hints), page.part_text(found, hints)
