"""The part of pages, and of the files beside them, that a course without TensorFlow and Horovod leaves out.

A unit's `unit.toml` says it, in the table `without_frameworks` (docs/frameworks.md); where the course has the
frameworks nothing here changes anything:

    files = ["three_ways.py"]       files of its room that go, by name or pattern
    cells = ["## The port"]         cells of its page that go, by how their text begins
    [[without_frameworks.change]]   words of the page that become others, or those of the file that `file` names
    old = "units 05 and 07"
    new = "unit 05"

Whatever else the table says stands in place of what `unit.toml` says for all (`content.Room.about`). A unit that is
about the frameworks alone says `frameworks = true` and goes as a whole: links to it become words.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

from nbformat import NotebookNode

from autograder import content

TABLE = "without_frameworks"
SAID = "left out of this course"
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)\s]*?(\d\d_\w+)/[^)\s]*\)")
_UNITS = re.compile(r"\b[Uu]nits?\s+\d\d(?:(?:,|,?\s+(?:and|or|to))\s+\d\d)*\b(?!-)")


class Unknown(ValueError):
    """Raised where `unit.toml` names words or cells that the page does not have; the text says which."""


def files(root: Path, unit: str) -> tuple[str, ...]:
    """Names and patterns of the files beside a page that go."""
    return tuple(_table(root, unit).get("files", ()))


def goes(root: Path, unit: str, name: str) -> bool:
    """True for the name of a file that goes."""
    return any(fnmatch(name, pattern) for pattern in files(root, unit))


def cells(root: Path, unit: str, there: list[NotebookNode]) -> list[NotebookNode]:
    """The cells of a page that stay, with their words changed. Raises Unknown."""
    begins = tuple(_table(root, unit).get("cells", ()))
    for begin in begins:
        if not any(cell.source.startswith(begin) for cell in there):
            raise Unknown(f"{unit}/unit.toml: no cell of the page begins with {begin!r}")
    kept = [cell for cell in there if not cell.source.startswith(begins)] if begins else there
    for old, new in _changes(root, unit):
        found = [cell for cell in kept if old in cell.source]
        if not found:
            raise Unknown(f"{unit}/unit.toml: the page has no {old!r}")
        for cell in found:
            cell.source = cell.source.replace(old, new)
    for cell in kept:
        if cell.cell_type == "markdown":
            cell.source = words(root, cell.source)
    return kept


def file(root: Path, unit: str, path: Path) -> bytes:
    """The content of a file beside a page. Raises Unknown."""
    changes = list(_changes(root, unit, path.name))
    if not changes and (path.suffix != ".md" or not _left_out(root)):
        return path.read_bytes()
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        if old not in text:
            raise Unknown(f"{unit}/unit.toml: {path.name} has no {old!r}")
        text = text.replace(old, new)
    return (words(root, text) if path.suffix == ".md" else text).encode()


def words(root: Path, text: str) -> str:
    """Markdown without links to units that are left out; where it names one, a few words say so."""
    numbers = {unit[:2] for unit in _left_out(root)}
    if not numbers:
        return text
    text = _LINK.sub(lambda m: f"{m[1]} ({SAID})" if m[2] in _left_out(root) else m[0], text)
    return _UNITS.sub(lambda m: _told(m[0], [n for n in re.findall(r"\d\d", m[0]) if n in numbers]), text)


def _told(said: str, gone: list[str]) -> str:
    """The words "units 05 and 07", and which of them are left out, where some are."""
    whole = len(re.findall(r"\d\d", said)) == len(gone)
    return f"{said} ({SAID})" if whole else f"{said} ({' and '.join(gone)}: {SAID})" if gone else said


def _left_out(root: Path) -> tuple[str, ...]:
    return content.course(root).left_out if (root / content.FILE).is_file() else ()


def _table(root: Path, unit: str) -> dict:
    """The table of `unit.toml` for a course without frameworks; {} where the course has them."""
    if not (root / content.FILE).is_file() or content.course(root).frameworks:
        return {}
    return content.Room(root / content.UNITS / unit).about.get(TABLE, {})


def _changes(root: Path, unit: str, name: str = "") -> list[tuple[str, str]]:
    """(words, what they become) of the page, or of the file of that name."""
    return [(one["old"], one["new"]) for one in _table(root, unit).get("change", ()) if one.get("file", "") == name]
