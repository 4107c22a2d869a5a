"""The files of a student's folder and their roles: found by name, said, and copied before anything is read.

Names may vary as people vary them (`Accuracy-2.PDF`, `logs/run_2.jsonl`, `accuracy_02.pdf`); what is taken for what is
in `Homework.names`, and each homework says what it takes (`CollectedFiles`). Only plain files within limits are taken:
links, pipes and devices are refused by name, so that nothing outside the folder is ever read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.homework.rubric import shown

MIB = 1 << 20
DEEPEST = 3  # folders below the one handed in
MOST_ENTRIES = 4000
_PASSED_BY = {"__pycache__", "node_modules", "site-packages", "venv", "env"}


@dataclass(frozen=True)
class CollectedFiles:
    """The files that a homework collects. assignment: its name. role: path -> (role, how unusual the name is), ("", 0)
    for none; of several files for a role the most usual is taken. A role "not:scaling.pdf" is a picture that should be
    that PDF. cap: role -> bytes. usual: role -> the name that the file should have, where that is not the role, or the
    role and ".jsonl"; also: further such names.
    """

    assignment: str
    role: Callable[[str], tuple[str, int]]
    cap: Callable[[str], int]
    usual: Mapping[str, str]
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def found_in(self, folder: Path) -> set[str]:
        """The roles that files below `folder` would have; nothing is read."""
        return {role for path in _walk(folder, []) if (role := self.role(path)[0])}


@dataclass
class Homework:
    """The files of one submission, copied. files: role -> the copy; names: role -> where it lay in the folder. refused:
    role -> why a file that bears the name was not taken. notes: remarks for student and grader. assignment: the
    homework's name.
    """

    files: dict[str, Path] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    assignment: str = ""

    def absent(self, role: str, wanted: str) -> str:
        """The reason why there is no file for this role, in a sentence. wanted: the name it should have."""
        return self.refused.get(role, f"There is no {wanted}.")

    @property
    def sizes(self) -> list[int]:
        """The numbers of ranks that there are logs for."""
        return sorted(int(role.removeprefix("run_")) for role in self.files if role.startswith("run_"))


def collect(folder: Path, into: Path, wanted: CollectedFiles) -> Homework:
    """Find the wanted files below `folder` and copy them to `into`, an empty folder of the grader's own.

    Raises NotADirectoryError where `folder` is none.
    """
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    found = Homework(assignment=wanted.assignment)
    candidates: dict[str, list[tuple[tuple, str]]] = {}
    for path in _walk(folder, found.notes):
        role, oddness = wanted.role(path)
        if role:
            candidates.setdefault(role, []).append(((oddness, path.count(os.sep), path), path))
    for role in sorted(candidates):
        ranked = [path for _, path in sorted(candidates[role])]
        _take(found, role, folder, ranked, into, wanted)
    return found


def _take(found: Homework, role: str, folder: Path, ranked: list[str], into: Path, wanted: CollectedFiles) -> None:
    """Copy the best candidate for a role; say what was refused and what was passed over."""
    near = role.removeprefix("not:")
    if near != role:  # accuracy_2.png: told only where there is no PDF
        if near not in found.files:
            found.refused[near] = (
                f"There is no {near}; `{shown(ranked[0])}` is no PDF, and curves are read from PDFs only."
            )
        return
    for k, path in enumerate(ranked):
        name = wanted.usual.get(role, role if "." in role else role + os.path.splitext(path)[1].lower())
        target = into / (os.path.basename(path) if os.path.basename(path) in wanted.also.get(role, ()) else name)
        why = _copy(folder / path, target, wanted.cap(role))
        if why:
            found.refused.setdefault(role, f"`{shown(path)}` was not taken: {why}.")
            continue
        found.files[role], found.names[role] = target, path
        found.refused.pop(role, None)
        others = [f"`{shown(other)}`" for other in ranked[k + 1 :]]
        if others:
            found.notes.append(f"`{shown(path)}` was taken, not {', '.join(others[:3])}.")
        return


def _walk(folder: Path, notes: list[str]) -> Iterator[str]:
    """The names of all entries but folders, relative to `folder`. Follows no link; stops at DEEPEST folders and
    MOST_ENTRIES entries."""
    waiting, seen = [("", 0)], 0
    while waiting:
        below, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
        except OSError as error:
            notes.append(f"The folder `{shown(below) or '.'}` cannot be read: {error.strerror}.")
            continue
        for entry in entries:
            seen += 1
            if seen > MOST_ENTRIES:
                notes.append(f"The folder holds more than {MOST_ENTRIES} files: the rest was not looked at.")
                return
            path = os.path.join(below, entry.name)
            if entry.name.startswith(".") or entry.name in _PASSED_BY:
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST:
                    waiting.append((path, depth + 1))
            else:
                yield path


def _copy(path: Path, target: Path, cap: int) -> str:
    """Copy one plain file of at most `cap` bytes. Returns why it was not copied, or ""."""
    try:
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return "it is a link" if error.errno == errno.ELOOP else f"it cannot be read ({error.strerror})"
    with open(source, "rb") as file:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            return "it is not a plain file"
        data = file.read(cap + 1)
    if len(data) > cap:
        return f"it is larger than {cap // MIB} MiB"
    target.write_bytes(data)
    return ""
