"""Which file of a student's folder is what: found by name, said, and copied before anything is read.

Names may vary as people vary them (`Accuracy-2.PDF`, `logs/run_2.jsonl`, `accuracy_02.pdf`); what is taken for what is
in `Homework.names`. Only plain files within limits are taken: links, pipes and devices are refused by name, so that
nothing outside the folder is ever read.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.homework.rubric import MORE_SIZES, SIZES, shown

MIB = 1 << 20
USUAL = {"script": "tensorflow2_mnist_hvd.py", "notebook": "scaling_mnist.ipynb", "discussion": "discussion.md"}
# bytes
CAPS = {"script": MIB, "notebook": 16 * MIB, "discussion": MIB, "scaling.csv": MIB, "pdf": 16 * MIB, "run": 16 * MIB}
DEEPEST = 3  # folders below the one handed in
MOST_ENTRIES = 4000
_PASSED_BY = {"__pycache__", "node_modules", "site-packages", "venv", "env"}
_LOGS = (".jsonl", ".ndjson", ".json", ".dat", ".log", ".txt")  # the first one wins
_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".gif", ".eps", ".ps", ".webp", ".html", ".tif", ".tiff")
_RANKS = (
    r"(?:n|np|p|ranks?|procs?|gpus?|nodes?|workers?)?_?0*(\d{1,4})_?(?:n|np|p|ranks?|procs?|gpus?|nodes?|workers?)?"
)
_RUN = re.compile(rf"(?:run|runs|run_?log|log|metrics|training|history)_?{_RANKS}")
_ACCURACY = re.compile(rf"(?:accuracy|accuracies|acc)_?(?:curves?_?|plot_?)?{_RANKS}")
_SCALING = re.compile(r"(?:scaling|scale)(?:_?(?:test|plot|results?|table|figure|curve|mnist))?")


@dataclass
class Homework:
    """The files of one submission, copied. files: role -> the copy; names: role -> where it lay in the folder.

    Roles: "script", "notebook", "discussion", "scaling.csv", "scaling.pdf", "accuracy_P.pdf", "run_P". refused: role ->
    why a file that bears the name was not taken. notes: remarks for student and grader.
    """

    files: dict[str, Path] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def absent(self, role: str, wanted: str) -> str:
        """Why there is no file for this role, in a sentence. wanted: the name it should have."""
        return self.refused.get(role, f"There is no {wanted}.")

    @property
    def sizes(self) -> list[int]:
        """The numbers of ranks that there are logs for."""
        return sorted(int(role.removeprefix("run_")) for role in self.files if role.startswith("run_"))


def collect(folder: Path, into: Path) -> Homework:
    """Find the files of the homework below `folder` and copy them to `into`, an empty folder of the grader's own.

    Raises NotADirectoryError where `folder` is none.
    """
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    found = Homework()
    candidates: dict[str, list[tuple[tuple, str]]] = {}
    for path in _walk(folder, found.notes):
        role, oddness = _role(path)
        if role:
            candidates.setdefault(role, []).append(((oddness, path.count(os.sep), path), path))
    for role in sorted(candidates):
        ranked = [path for _, path in sorted(candidates[role])]
        _take(found, role, folder, ranked, into)
    return found


def _take(found: Homework, role: str, folder: Path, ranked: list[str], into: Path) -> None:
    """Copy the best candidate for a role; say what was refused and what was passed over."""
    near = role.removeprefix("not:")
    if near != role:  # accuracy_2.png: told only where there is no PDF
        if near not in found.files:
            found.refused[near] = (
                f"There is no {near}; `{shown(ranked[0])}` is no PDF, and curves are read from PDFs only."
            )
        return
    for k, path in enumerate(ranked):
        target = into / USUAL.get(role, role if "." in role else role + os.path.splitext(path)[1].lower())
        why = _copy(folder / path, target, CAPS.get(role) or CAPS["pdf" if role.endswith(".pdf") else "run"])
        if why:
            found.refused.setdefault(role, f"`{shown(path)}` was not taken: {why}.")
            continue
        found.files[role], found.names[role] = target, path
        found.refused.pop(role, None)
        others = [f"`{shown(other)}`" for other in ranked[k + 1 :]]
        if others:
            found.notes.append(f"`{shown(path)}` was taken, not {', '.join(others[:3])}.")
        return


def _role(path: str) -> tuple[str, int]:
    """(role, how unusual the name is) of a file; ("", 0) where it is none of the homework's."""
    name = os.path.basename(path)
    stem, ending = os.path.splitext(name)
    usual, ending = stem == stem.lower(), ending.lower()
    stem = re.sub(r"[\s_.\-]+", "_", stem.lower()).strip("_")
    oddness = 0 if usual else 1
    if ending == ".py" and ("hvd" in stem or "horovod" in stem):
        return "script", oddness if stem == "tensorflow2_mnist_hvd" else 2
    if ending == ".ipynb":
        return ("notebook", oddness) if stem == "scaling_mnist" else ("", 0)
    if stem in ("discussion", "answer", "answers") and ending in (".md", ".txt", ".rst"):
        return "discussion", oddness + (stem != "discussion")
    if ending in _LOGS and (match := _RUN.fullmatch(stem)):
        return _of_size("run_{}", match), 2 * _LOGS.index(ending) + oddness
    if ending == ".pdf" or ending in _PICTURES:
        wrong = "" if ending == ".pdf" else "not:"
        if match := _ACCURACY.fullmatch(stem):
            role = _of_size("accuracy_{}.pdf", match)
            return (wrong + role if role else ""), oddness
        if _SCALING.fullmatch(stem):
            return f"{wrong}scaling.pdf", oddness + (stem != "scaling")
    if ending in (".csv", ".tsv") and _SCALING.fullmatch(stem):
        return "scaling.csv", oddness + (stem != "scaling")
    return "", 0


def _of_size(role: str, match: re.Match) -> str:
    size = int(match[1])
    return role.format(size) if size in SIZES + MORE_SIZES else ""


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
