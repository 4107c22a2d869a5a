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
import autograder.homework.rubric as rubric
from autograder.homework.folder import Homework
from autograder.homework.rubric import PARTS, PartResult, Report
from labkit.launch.launcher import Launcher

MOST_BYTES = 48 << 20  # of all files together
JUDGED_WITH = {"bonus": "port"}  # the warm-up is seen in the run that judges the port
# a person reads these; a word changed there must not have everything judged again
_NOT_JUDGED = ("notebook", "discussion")

__all__ = ["PARTS", "Judge", "card", "packed", "shared_runs", "unpacked"]


def packed(folder: Path, nonce: str = "") -> dict:
    """What is judged of a student's folder, as JSON. nonce: the code that was given to this student, "" if none was."""
    with tempfile.TemporaryDirectory(prefix="homework-") as place:
        found = folders.collect(folder, Path(place))
        files: dict[str, list[str]] = {}
        total = 0
        for role in sorted(set(found.files) - set(_NOT_JUDGED)):
            content = found.files[role].read_bytes()
            total += len(content)
            if total > MOST_BYTES:
                name = rubric.shown(found.names[role])
                found.refused[role] = (
                    f"`{name}` was not taken: all files together are larger than {MOST_BYTES >> 20} MiB."
                )
            else:
                files[role] = [found.files[role].name, base64.b64encode(content).decode()]
    names = {role: found.names[role] for role in files}
    return {"files": files, "names": names, "refused": found.refused, "notes": found.notes, "nonce": nonce}


def unpacked(data: dict, place: Path) -> Homework:
    """The files again, in `place`, an empty folder."""
    found = Homework(names=dict(data["names"]), refused=dict(data["refused"]), notes=list(data["notes"]))
    for role, (name, content) in data["files"].items():
        found.files[role] = place / name
        found.files[role].write_bytes(base64.b64decode(content))
    return found


class Fault(RuntimeError):
    """The grader failed on a part; nobody's points are lost by that."""


@dataclass(frozen=True)
class Found:
    """What one part earned. share: of its points. waits: some of them wait for a person. diagnosis: of the first line
    that lost any."""

    earned: float
    share: float
    waits: bool
    diagnosis: str
    json: dict


class Judge:
    """Judges the parts of one packed homework, each when it is asked for and each once. flags: (kind, sentence) for a
    person.

    A part over which the grader itself failed is not kept: asked for again, it is judged again.
    """

    def __init__(self, files: dict, launcher: Launcher, key: str):
        self.files, self.launcher, self.key = files, launcher, key
        self.results: dict[str, PartResult] = {}
        self.flags: list[tuple[str, str]] = []

    def part(self, name: str) -> Found:
        """What a part earned. Raises Fault where the grader failed; what is wrong with the files is a finding."""
        if name not in self.results:
            judged = self._judged(JUDGED_WITH.get(name, name)).parts
            faults = [result.facts["fault"] for result in judged if "fault" in result.facts]
            if faults:
                raise Fault(faults[0])
            for result in judged:
                self.results[result.part] = result
                self.flags += [(flag.kind, flag.sentence) for flag in result.flags]
        return found_in(self.results[name])

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


def found_in(result: PartResult) -> Found:
    """What a judged part comes to: its points, their share, whether a person must look, the first mistake."""
    earned = sum(finding.earned or 0.0 for finding in result.findings)
    possible = sum(finding.line.points for finding in result.findings)
    lost = [finding for finding in result.findings if finding.verdict != "passed"]
    diagnosis = lost[0].diagnosis if lost else ""
    waits = any(finding.earned is None for finding in result.findings)
    return Found(earned, earned / possible if possible else 0.0, waits, diagnosis, result.to_json())


def shared_runs(results: Iterable[tuple[str, dict]]) -> dict[str, list[tuple[str, str]]]:
    """student -> (kind, sentence) where two students' run logs are of the same run. results: (student, result of a part
    as JSON)."""
    from autograder.homework.scaling import judge as scaling

    reports: dict[str, Report] = {}
    for student, result in results:
        reports.setdefault(student, Report([])).parts.append(PartResult.from_json(result))
    found = scaling.shared_runs(reports) if reports else {}
    return {student: [(flag.kind, flag.sentence) for flag in flags] for student, flags in found.items()}


def card(result: dict, hints: str) -> tuple[str, str]:
    """(HTML, text) of what a part earned and why. hints: a level of `autograder.verdict.HINT_LEVELS`."""
    import autograder.homework.page as page

    found = PartResult.from_json(result)
    return page.part_html(found, hints), page.part_text(found, hints)
