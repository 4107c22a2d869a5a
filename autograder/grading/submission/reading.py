"""Reads a submission as data: notebooks of any version or damage, modules beside them, files that do not belong."""

from __future__ import annotations

import base64
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from autograder.finite import is_finite
from autograder.grading.submission.harmless import clean, harmless_outputs, text_of_source

NOTHING = "No file of that name was handed in."
BORROWED = "A file in it is one that belongs to somebody else."
LINKED = "The submission's folder is a link to another place: nothing in it is the student's own."
MAX_BYTES = 32 << 20
MAX_CELLS = 2000
MAX_CELL_TEXT = 100_000  # characters of one cell
MAX_TEXT = 1_000_000  # characters of all cells together
MAX_MODULES = 50
MAX_FILES = 500  # of one submission
MAX_DEPTH = 12  # folders below its own
FLAG_NAMES = ("grade", "solution", "locked", "task")


class Refused(ValueError):
    """A submission that cannot be graded. One sentence says why."""


@dataclass(frozen=True)
class SubmissionFlag:
    """Something to know about a submission. needs_person: what was given may have to be corrected by hand."""

    kind: str
    sentence: str
    needs_person: bool = False


# -- reading ----------------------------------------------------------------------------------------------------------


def read(source: str | Path | bytes) -> NotebookNode:
    """The cells of a notebook of any format from 3 to 4.5, as nbformat 4.5: type, id, nbgrader's metadata, source,
    and harmless outputs.

    Raises Refused for what is no notebook or is too large to look at.
    """
    data = source if isinstance(source, bytes) else _bytes_of(Path(source))
    if len(data) > MAX_BYTES:
        raise Refused(f"The file is larger than {MAX_BYTES >> 20} MB.")
    if not data.strip():
        raise Refused("The file is empty.")
    try:
        found = json.loads(_text_of(data), parse_constant=lambda name: None)
    except (ValueError, RecursionError, MemoryError):
        raise Refused("The file is no notebook: it is not valid JSON.") from None
    cells = _cells_of(found)
    if cells is None:
        raise Refused("The file is no notebook: it has no list of cells.")
    if len(cells) > MAX_CELLS:
        raise Refused(f"The notebook has more than {MAX_CELLS:,} cells.")
    read_cells = [_cell(raw) for raw in cells]
    notebook = NotebookNode(
        nbformat=4, nbformat_minor=5, metadata=NotebookNode(), cells=[c for c in read_cells if c is not None]
    )
    notebook.metadata.unreadable = sum(c is None for c in read_cells)
    if sum(len(c.source) for c in notebook.cells) > MAX_TEXT:
        raise Refused(f"The cells of the notebook hold more than {MAX_TEXT:,} characters.")
    return notebook


def _bytes_of(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The content of a regular file; a link is not followed, and a pipe is not waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise Refused(NOTHING) from None
    except OSError:
        raise Refused("The file cannot be read, or it is a link to another one.") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Refused("That is no ordinary file.")
        with open(handle, "rb", closefd=False) as file:
            return file.read(limit + 1)
    except OSError:
        raise Refused("The file cannot be read.") from None
    finally:
        os.close(handle)


def small_text(path: Path, limit: int) -> str:
    """The text of a small ordinary file. Raises Refused for what is none, or is larger than `limit` bytes."""
    data = _bytes_of(path, limit)
    if len(data) > limit:
        raise Refused(f"The file is larger than {limit} bytes.")
    return data.decode("utf-8-sig", errors="replace")


def _text_of(data: bytes) -> str:
    # UTF-8, -16 or -32, with a mark of the byte order or without.
    return data.decode(json.detect_encoding(data), errors="replace")


def _cells_of(found) -> list | None:
    if not isinstance(found, dict):
        return None
    if isinstance(found.get("cells"), list):
        return found["cells"]
    sheets = found.get("worksheets")  # nbformat 3
    if not isinstance(sheets, list):
        return None
    cells: list = []
    for sheet in sheets:
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list):
            cells += sheet["cells"]
    return cells


def _cell(raw) -> NotebookNode | None:
    """A cell with nothing in it that was not looked at; None for what is no cell."""
    if not isinstance(raw, dict):
        return None
    text = text_of_source(raw.get("source", raw.get("input", "")))
    if text is None or len(text) > MAX_CELL_TEXT:
        return None
    kind = raw.get("cell_type")
    kind = kind if kind in ("code", "raw") else "markdown"
    cell = NotebookNode(cell_type=kind, metadata=NotebookNode(), source=clean(text))
    cell.id = raw["id"] if isinstance(raw.get("id"), str) and re.fullmatch(r"[\w-]{1,64}", raw["id"]) else ""
    metadata = raw.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(marks, dict) and marks:
        cell.metadata.nbgrader = NotebookNode(_marks(marks))
    if kind == "code":
        cell.execution_count = None
        cell.outputs = harmless_outputs(raw.get("outputs"))
    return cell


def _marks(marks: dict) -> dict:
    """nbgrader's metadata of a submitted cell, as far as it is what it should be."""
    kept = {name: marks[name] for name in FLAG_NAMES if isinstance(marks.get(name), bool)}
    if isinstance(marks.get("grade_id"), str):
        kept["grade_id"] = marks["grade_id"][:200]
    if is_finite(marks.get("points")):
        kept["points"] = marks["points"]
    return kept


def linked_folder(root: Path, folder: Path) -> Path | None:
    """The first link on the way from `root` down to `folder`, itself included: what lies behind it is somebody
    else's. Or None."""
    way = [folder, *folder.parents]
    below = way[: way.index(root)] if root in way else way[:1]
    return next((part for part in reversed(below) if part.is_symlink()), None)


def odd_files(folder: Path, shut: bool = False) -> list[Path]:
    """The entries of a submission's folder that must not be copied: links to files or folders, pipes and the like,
    files larger than any notebook may be, and what lies deeper or is more than a homework can be. Where the folder
    itself is a link: that alone. shut: also what cannot be copied, because its mode forbids us (not root) to read
    it."""
    if folder.is_symlink():
        return [folder]
    found, seen = [], 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        links = [Path(place, name) for name in folders if os.path.islink(os.path.join(place, name))]
        if shut:
            found += [
                Path(place, name) for name in folders if not os.access(os.path.join(place, name), os.R_OK | os.X_OK)
            ]
        if len(Path(place).relative_to(folder).parts) >= MAX_DEPTH:
            found += [Path(place, name) for name in folders]
            folders.clear()
        for path in sorted([*links, *(Path(place, name) for name in names)]):
            seen += 1
            try:
                about = path.lstat()
                odd = (
                    not stat.S_ISREG(about.st_mode)
                    or about.st_size > MAX_BYTES
                    or (shut and not os.access(path, os.R_OK))
                )
            except OSError:
                odd = True
            if odd or seen > MAX_FILES:
                found.append(path)
        if seen > MAX_FILES:
            found += [Path(place, name) for name in folders]
            break
    return found


def file_flags(folder: Path) -> list[SubmissionFlag]:
    """Flags for the files that were left out."""
    flags = []
    for path in odd_files(folder, shut=True)[:20]:
        name = readable_name(str(path.relative_to(folder))) if path != folder else "of the submission"
        what = (
            "is a link"
            if path.is_symlink()
            else "is one too many or too deep"
            if path.is_dir()
            else "is no ordinary file"
        )
        if path.is_file() and not path.is_symlink():
            what = "is too large" if path.lstat().st_size > MAX_BYTES else "is one too many"
        if not path.is_symlink() and path.exists() and not os.access(path, os.R_OK):
            what = "may not be read"
        kind = "folder" if path.is_dir() else "file"
        flags.append(
            SubmissionFlag("file", f"The {kind} {name} {what}: it was left out.", needs_person=path.is_symlink())
        )
    return flags


def modules_of(folder: Path) -> dict[str, str]:
    """Name -> source of the modules beside a notebook, which its cells may import; none that would hide an installed
    one."""
    found = {}
    for path in sorted(folder.glob("*.py"))[:MAX_MODULES]:
        name = path.stem
        if not name.isidentifier() or _is_taken(name):
            continue
        with contextlib.suppress(Refused):
            source = clean(_bytes_of(path).decode("utf-8-sig", errors="replace"))
            if len(source) <= MAX_CELL_TEXT:
                found[name] = source
    return found


def _is_taken(name: str) -> bool:
    """True if `import name` finds a module without the student's. Python cannot say it of all that it knows:
    `__main__` has no origin."""
    if name in sys.stdlib_module_names or name in sys.modules or name.startswith("__"):
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return True


@dataclass(frozen=True)
class HandedIn:
    """A submitted notebook as it lies in its folder, not yet looked at. refused: why there is nothing to look at, or
    "".

    modules: those beside it (`modules_of`). flags: of its folder. files: of the homework
    (`autograder.homework.handed_in.packed`).
    """

    content: bytes = b""
    refused: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    flags: list[SubmissionFlag] = field(default_factory=list)
    files: dict = field(default_factory=dict)

    @classmethod
    def at(
        cls,
        path: Path,
        modules: dict[str, str],
        flags: Iterable[SubmissionFlag] = (),
        root: Path | None = None,
        owner_of: Callable[[Path], str] = lambda file: "",
    ) -> HandedIn:
        """Takes in the file `path`. modules: what the course gave, which counts before a student's of that name.

        root: the folder of all submissions; a link anywhere below it leads to what is not the student's, and nothing
        behind it is taken. owner_of: where else in the course the same file lies, "" if nowhere.
        """
        link = linked_folder(root or path.parent, path.parent)
        if link is not None:
            return cls(
                b"",
                LINKED,
                dict(modules),
                [*flags, SubmissionFlag("file", f"The folder {readable_name(link.name)} is a link.", True)],
            )
        flags = [*flags, *file_flags(path.parent)]
        for file in [path, *sorted(path.parent.glob("*.py"))]:
            where = owner_of(file) if os.path.lexists(file) else ""
            if where:
                sentence = (
                    f"The file {readable_name(file.name)} is the same one as {where} of the course (a hard link): "
                    "nothing was taken over."
                )
                return cls(b"", BORROWED, dict(modules), [*flags, SubmissionFlag("file", sentence, needs_person=True)])
        modules = modules_of(path.parent) | modules
        try:
            return cls(_bytes_of(path), "", modules, flags)
        except Refused as refused:
            return cls(b"", str(refused), modules, flags)

    def to_json(self) -> dict:
        """Plain data, for another process."""
        return asdict(self) | {"content": base64.b64encode(self.content).decode()}

    @classmethod
    def from_json(cls, data: dict) -> HandedIn:
        """The inverse of `to_json`."""
        flags = [SubmissionFlag(**flag) for flag in data["flags"]]
        return cls(base64.b64decode(data["content"]), data["refused"], data["modules"], flags, data["files"])


def readable_name(name: str) -> str:
    """The name with nothing in it that a terminal or a page could take amiss, at most 40 characters."""
    return re.sub(r"[^\w .-]", "?", name)[:40]
