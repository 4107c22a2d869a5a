"""A submitted notebook: read with suspicion, rebuilt from the released one, judged exercise by exercise.

    submitted = read(path)                                  # or Refused, with one sentence
    rebuilt = rebuild(released, submitted)                  # the released cells with the student's answers in them, and flags
    graded = judge(rebuilt, unit, runners, key=key)         # out of process; to_json() and from_json() for a cache
    notebook = carded(rebuilt, graded)                      # what formgrader and feedback show

Where another process is to read it: `HandedIn` holds the bytes, and `rebuild_handed_in` does the first two lines.

Nothing of a submission is trusted but the text of its cells: not its metadata, not its outputs, not the number or order of its cells.
"""

from __future__ import annotations

import ast
import base64
import binascii
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

import nbformat
from nbformat import NotebookNode, from_dict

from autograder.check import _figure, judge_with_its_helpers, slice_for
from autograder.exercise import PUBLIC_KEY, Exercise
from autograder.grading.store import Store
from autograder.homework import handed_in
from autograder.judging import cards
from autograder.judging.judge import LAST_S, Runners, judge_with
from autograder.registry import UnknownExercise, find, overlay_digests
from autograder.verdict import HINT_LEVELS, Result
from labkit.cells.slicing import Cell, Chunk, bound_names, defining_label, free_names, lacking_names, python_of, slice_cells
from labkit.launch.launcher import make_jobs

FORMAT = 2  # of the JSON of `Graded`
NOTHING = "No file of that name was handed in."
BORROWED = "A file in it is one that belongs to somebody else."
LINKED = "The submission's folder is a link to another place: nothing in it is the student's own."
MAX_BYTES = 32 << 20
MAX_CELLS = 2000
MAX_CELL_TEXT = 100_000  # characters of one cell
MAX_TEXT = 1_000_000  # characters of all cells together
MAX_STATEMENTS = 4000
MAX_MODULES = 50
MAX_FILES = 500  # of one submission
MAX_DEPTH = 12  # folders below its own
WAITED_S = (
    20.0  # where one exercise of a notebook slept for so long, the others are waited for no longer: a case takes milliseconds
)
BUDGET_S = 120.0  # seconds on the clock for all checks of one notebook (the homework's have limits of their own): sleep costs nothing else
MAX_OUTPUT_TEXT = 20_000
MAX_IMAGE = 2 << 20
_FLAG_NAMES = ("grade", "solution", "locked", "task")


class Refused(ValueError):
    """A submission that cannot be graded. One sentence says why."""


@dataclass(frozen=True)
class Flag:
    """Something to know about a submission. needs_person: what was given may have to be corrected by hand."""

    kind: str
    sentence: str
    needs_person: bool = False


# -- reading --------------------------------------------------------------------------------------------------------------------------


def read(source: str | Path | bytes) -> NotebookNode:
    """The cells of a notebook of any format from 3 to 4.5, as nbformat 4.5: type, id, nbgrader's metadata, source, and harmless outputs.

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
    notebook = NotebookNode(nbformat=4, nbformat_minor=5, metadata=NotebookNode(), cells=[c for c in read_cells if c is not None])
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
    return data.decode(
        json.detect_encoding(data), errors="replace"
    )  # UTF-8, -16 or -32, with a mark of the byte order or without


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
    text = _joined(raw.get("source", raw.get("input", "")))
    if text is None or len(text) > MAX_CELL_TEXT:
        return None
    kind = raw.get("cell_type")
    kind = kind if kind in ("code", "raw") else "markdown"
    cell = NotebookNode(cell_type=kind, metadata=NotebookNode(), source=_clean(text))
    cell.id = raw["id"] if isinstance(raw.get("id"), str) and re.fullmatch(r"[\w-]{1,64}", raw["id"]) else ""
    metadata = raw.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(marks, dict) and marks:
        cell.metadata.nbgrader = NotebookNode(_marks(marks))
    if kind == "code":
        cell.execution_count = None
        cell.outputs = _harmless_outputs(raw.get("outputs"))
    return cell


def _marks(marks: dict) -> dict:
    """nbgrader's metadata of a submitted cell, as far as it is what it should be."""
    kept = {name: marks[name] for name in _FLAG_NAMES if isinstance(marks.get(name), bool)}
    if isinstance(marks.get("grade_id"), str):
        kept["grade_id"] = marks["grade_id"][:200]
    if isinstance(marks.get("points"), (int, float)) and not isinstance(marks["points"], bool):
        kept["points"] = marks["points"]
    return kept


def _joined(text) -> str | None:
    if isinstance(text, list):
        return "".join(text) if all(isinstance(line, str) for line in text) else None
    return text if isinstance(text, str) else None


def _clean(text: str) -> str:
    """Line ends as Python and Lab write them, no byte order mark, nothing that UTF-8 cannot hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    return text.encode("utf-8", "replace").decode("utf-8")


def linked_folder(root: Path, folder: Path) -> Path | None:
    """The first link on the way from `root` down to `folder`, itself included: what lies behind it is somebody else's. Or None."""
    way = [folder, *folder.parents]
    below = way[: way.index(root)] if root in way else way[:1]
    return next((part for part in reversed(below) if part.is_symlink()), None)


def odd_files(folder: Path, shut: bool = False) -> list[Path]:
    """What in a submission's folder must not be copied: links to files or folders, pipes and the like, files larger than any notebook may
    be, and what lies deeper or is more than a homework can be. Where the folder itself is a link: that alone. shut: also what cannot be
    copied, because its mode forbids us (not root) to read it."""
    if folder.is_symlink():
        return [folder]
    found, seen = [], 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        links = [Path(place, name) for name in folders if os.path.islink(os.path.join(place, name))]
        if shut:
            found += [Path(place, name) for name in folders if not os.access(os.path.join(place, name), os.R_OK | os.X_OK)]
        if len(Path(place).relative_to(folder).parts) >= MAX_DEPTH:
            found += [Path(place, name) for name in folders]
            folders.clear()
        for path in sorted([*links, *(Path(place, name) for name in names)]):
            seen += 1
            try:
                about = path.lstat()
                odd = not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES or (shut and not os.access(path, os.R_OK))
            except OSError:
                odd = True
            if odd or seen > MAX_FILES:
                found.append(path)
        if seen > MAX_FILES:
            found += [Path(place, name) for name in folders]
            break
    return found


def file_flags(folder: Path) -> list[Flag]:
    """Flags for the files that were left out."""
    flags = []
    for path in odd_files(folder, shut=True)[:20]:
        name = _shown(str(path.relative_to(folder))) if path != folder else "of the submission"
        what = "is a link" if path.is_symlink() else "is one too many or too deep" if path.is_dir() else "is no ordinary file"
        if path.is_file() and not path.is_symlink():
            what = "is too large" if path.lstat().st_size > MAX_BYTES else "is one too many"
        if not path.is_symlink() and path.exists() and not os.access(path, os.R_OK):
            what = "may not be read"
        kind = "folder" if path.is_dir() else "file"
        flags.append(Flag("file", f"The {kind} {name} {what}: it was left out.", needs_person=path.is_symlink()))
    return flags


def modules_of(folder: Path) -> dict[str, str]:
    """Name -> source of the modules beside a notebook, which its cells may import; none that would hide an installed one."""
    found = {}
    for path in sorted(folder.glob("*.py"))[:MAX_MODULES]:
        name = path.stem
        if not name.isidentifier() or _is_taken(name):
            continue
        with contextlib.suppress(Refused):
            source = _clean(_bytes_of(path).decode("utf-8-sig", errors="replace"))
            if len(source) <= MAX_CELL_TEXT:
                found[name] = source
    return found


def _is_taken(name: str) -> bool:
    """Whether `import name` finds a module without the student's. Python cannot say it of all that it knows: `__main__` has no origin."""
    if name in sys.stdlib_module_names or name in sys.modules or name.startswith("__"):
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return True


@dataclass(frozen=True)
class HandedIn:
    """A submitted notebook as it lies in its folder, not yet looked at. refused: why there is nothing to look at, or "".

    modules: those beside it (`modules_of`). flags: of its folder. files: of the homework (`autograder.homework.handed_in.packed`).
    """

    content: bytes = b""
    refused: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    flags: list[Flag] = field(default_factory=list)
    files: dict = field(default_factory=dict)

    @classmethod
    def at(
        cls,
        path: Path,
        modules: dict[str, str],
        flags: Iterable[Flag] = (),
        root: Path | None = None,
        owner_of: Callable[[Path], str] = lambda file: "",
    ) -> HandedIn:
        """Takes in the file `path`. modules: what the course gave, which counts before a student's of that name.

        root: the folder of all submissions; a link anywhere below it leads to what is not the student's, and nothing behind it is taken.
        owner_of: where else in the course the same file lies, "" if nowhere.
        """
        link = linked_folder(root or path.parent, path.parent)
        if link is not None:
            return cls(b"", LINKED, dict(modules), [*flags, Flag("file", f"The folder {_shown(link.name)} is a link.", True)])
        flags = [*flags, *file_flags(path.parent)]
        for file in [path, *sorted(path.parent.glob("*.py"))]:
            where = owner_of(file) if os.path.lexists(file) else ""
            if where:
                sentence = f"The file {_shown(file.name)} is the same one as {where} of the course (a hard link): nothing was taken over."
                return cls(b"", BORROWED, dict(modules), [*flags, Flag("file", sentence, needs_person=True)])
        modules = modules_of(path.parent) | modules
        try:
            return cls(_bytes_of(path), "", modules, flags)
        except Refused as refused:
            return cls(b"", str(refused), modules, flags)

    def to_json(self) -> dict:
        return asdict(self) | {"content": base64.b64encode(self.content).decode()}

    @classmethod
    def from_json(cls, data: dict) -> HandedIn:
        flags = [Flag(**flag) for flag in data["flags"]]
        return cls(base64.b64decode(data["content"]), data["refused"], data["modules"], flags, data["files"])


# -- outputs and text of students, made harmless --------------------------------------------------------------------------------------


def _harmless_outputs(outputs) -> list[NotebookNode]:
    """Text and pixels only: a student's HTML, JavaScript or SVG must not run in the browser of the person who grades."""
    kept = []
    for output in outputs[:200] if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        kind = output.get("output_type")
        if kind == "stream":
            name = output.get("name") if output.get("name") == "stderr" else "stdout"
            kept.append({"output_type": "stream", "name": name, "text": _short(output.get("text"))})
        elif kind in ("display_data", "execute_result", "pyout"):
            data = _harmless_data(output.get("data"))
            if data:
                kept.append({"output_type": "display_data", "data": data, "metadata": {}})
        elif kind == "error":
            lines = output.get("traceback")
            lines = [_short(line) for line in lines[:50]] if isinstance(lines, list) else []
            names = {name: _short(output.get(name))[:500] for name in ("ename", "evalue")}
            kept.append({"output_type": "error", **names, "traceback": lines})
    return [from_dict(output) for output in kept]


def _short(text) -> str:
    joined = _joined(text) or ""
    return _clean(joined if len(joined) <= MAX_OUTPUT_TEXT else joined[:MAX_OUTPUT_TEXT] + "\n...")


def _harmless_data(data) -> dict[str, str]:
    if not isinstance(data, dict):
        return {}
    kept = {}
    for kind, magic in (("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff")):
        pixels = _base64_of(data.get(kind))
        if pixels is not None and pixels.startswith(magic):
            kept[kind] = base64.b64encode(pixels).decode()
    if _joined(data.get("text/plain")):
        kept["text/plain"] = _short(data["text/plain"])
    return kept


def _base64_of(text) -> bytes | None:
    text = _joined(text)
    if not text or len(text) > 2 * MAX_IMAGE:
        return None
    with contextlib.suppress(binascii.Error, ValueError):
        return base64.b64decode(re.sub(r"\s", "", text), validate=True)
    return None


def harmless_markdown(text: str) -> str:
    """A student's text without raw HTML, without links and formulas that could run something when it is shown, and without pictures: a
    browser fetches them by itself, and whoever owns the address hears that the text is being graded, when, and from where.

    nbconvert passes them on as they are. A blank is put in, so that the text reads as it was written; a picture becomes a link.
    """
    text = re.sub(r"<(?=[A-Za-z/!?])", "< ", text)
    text = re.sub(r"!(?=\s*\[)", "! ", text)
    text = re.sub(r"\]\((?!https?://)", "] (", text)
    text = re.sub(r"\]:(?!\s*https?://)", "] :", text)
    return re.sub(r"\\(?=(?:href|url|require|style|class|cssId|html|data|unicode|includegraphics)(?![a-z]))", r"\\ ", text)


# -- rebuilding -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """A cell that earns points automatically. function: of a check; "" for a test that an instructor wrote, and where there is a part.

    part: of the homework, where the cell asks for the files beside the notebook ("port", "scaling", "plots", "bonus").
    """

    grade_id: str
    points: float
    function: str
    at: int  # its place among `Rebuilt.cells`: what stands before it counts first
    source: str = ""
    part: str = ""


@dataclass
class Rebuilt:
    """notebook: the released cells with the student's answers, helper cells where the student put them, and no outputs in graded cells.

    cells: the code, in the order in which Run All would run it, labelled by the numbers the notebook shows. stubs: labels of answers that
    are as they were released. items: what earns points. flags: what was put right. refused: why nothing was taken over, or "".
    answers: grade_id -> whether something was written. modules: those beside the notebook (`modules_of`). files: what was handed in
    beside it for the homework (`autograder.homework.handed_in.packed`), where one of the items asks for it.
    """

    notebook: NotebookNode
    cells: list[Cell] = field(default_factory=list)
    stubs: set[str] = field(default_factory=set)
    items: list[Item] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    answers: dict[str, bool] = field(default_factory=dict)
    refused: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    files: dict = field(default_factory=dict)

    def cells_until(self, item: Item, names: Iterable[str]) -> list[Cell]:
        """The cells that count for `item`: those above it, as in Run All, and a later one only for a name that is nowhere above it."""
        above, below = self._written(self.cells[: item.at]), self._written(self.cells[item.at :])
        for _ in range(8):
            lacking = lacking_names(above, names)
            more = [cell for cell in below if bound_names(cell.source) & lacking]
            if not more:
                break
            above += more
            below = [cell for cell in below if cell not in more]
        return above

    def _written(self, cells: list[Cell]) -> list[Cell]:
        """Without an answer that nobody touched, where the student wrote the function in another cell."""
        own = set().union(*(bound_names(cell.source) for cell in self.cells if cell.label not in self.stubs))
        return [cell for cell in cells if not (cell.label in self.stubs and bound_names(cell.source) & own)]

    def broken(self, name: str, cells: list[Cell]) -> str:
        """What to say when a cell that is newer than the one defining `name` would define it, but is no valid Python."""
        defining = defining_label(cells, name)
        for cell in reversed(self.cells):
            if cell.label == defining:
                break
            if f"def {name}" in cell.source and python_of(cell.source) is None:
                return f"{cell.label} defines {name}, but it is no valid Python: mend the error it shows and run it again."
        return ""

    def chunks(self, item: Item, exercise: Exercise, failed: set[str] = frozenset(), *why: str) -> tuple[list[Chunk] | None, str]:
        """(what travels to the ranks, a note for the card), see `slice_for`; None: the function is not there."""
        cells = self.cells_until(item, [exercise.function])
        broken = self.broken(exercise.function, cells)
        if defining_label(cells, exercise.function) is None:
            return None, broken
        chunks, note = slice_for(exercise, cells, failed, *why)
        return [*self._imported(chunks), *chunks], " ".join(part for part in (broken, note) if part)

    def chunks_of_test(self, item: Item) -> list[Chunk]:
        """What an instructor's test needs of the notebook, and the test itself; `__outcome__()` is the value of its last line."""
        names = sorted(free_names(item.source))
        needed = slice_cells(self.cells_until(item, names), names)
        body, last = _last_expression(python_of(item.source) or item.source)
        outcome = f"__value__ = ({last}\n)\ndef __outcome__():\n    return __value__\n"
        return [
            *self._imported(needed),
            *needed,
            Chunk(f"test {item.grade_id}", 1, body),
            Chunk("the last line of the test", 1, outcome),
        ]

    def _imported(self, chunks: list[Chunk]) -> list[Chunk]:
        """The student's own modules that the chunks import, each before those that import it."""
        if not self.modules:
            return []
        ordered: dict[str, Chunk] = {}
        open_ends = [(name, False) for chunk in chunks for name in sorted(_imports(chunk.source) & set(self.modules))]
        seen: set[str] = set()
        while open_ends:
            name, its_own_are_there = open_ends.pop()
            if its_own_are_there:
                ordered[name] = Chunk(f"{name}.py", 1, _module_statement(name, self.modules[name]))
            elif name not in seen:
                seen.add(name)
                open_ends.append((name, True))
                open_ends += [(other, False) for other in sorted(_imports(self.modules[name]) & set(self.modules))]
        if not ordered:
            return []
        made = (
            f"for __name in {sorted(ordered)!r}:\n    __import__('sys').modules[__name] = __import__('types').ModuleType(__name)"
        )
        return [Chunk("modules", 1, made), *ordered.values()]


def _imports(source: str) -> set[str]:
    """The top-level names of the modules that a source imports."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.split(".")[0] for name in names}


def _module_statement(name: str, source: str) -> str:
    """One statement that fills a module: where ranks run there is no such file."""
    return f"exec(compile({source!r}, {name + '.py'!r}, 'exec'), __import__('sys').modules[{name!r}].__dict__)"


def _last_expression(source: str) -> tuple[str, str]:
    """A cell cut into its statements and the expression at its end ("None" where there is none)."""
    body = ast.parse(source).body
    if not body or not isinstance(body[-1], ast.Expr):
        return source, "None"
    lines = source.split("\n")
    before = lines[body[-1].lineno - 1].encode()[: body[-1].col_offset].decode().rstrip("; ")
    return "\n".join([*lines[: body[-1].lineno - 1], before]), ast.get_source_segment(source, body[-1]) or "None"


def rebuild(released: NotebookNode, submitted: NotebookNode | Refused, modules: dict[str, str] | None = None) -> Rebuilt:
    """The released notebook with the student's work in it.

    released: without solutions, with all tests (`autograder.grading.nbgrader_plugin.released`). submitted: what `read` returned or raised.
    modules: what `modules_of` found beside it.
    """
    if isinstance(submitted, Refused):
        flag = Flag("refused", f"The submission was refused: {submitted}", needs_person=True)
        rebuilt = _Builder(released, []).build()
        rebuilt.flags, rebuilt.refused = [flag], str(submitted)
        return rebuilt
    try:
        cells = _readable(submitted.cells)
    except Refused as refused:
        return rebuild(released, refused)
    rebuilt = _Builder(released, cells).build()
    rebuilt.modules = modules or {}
    unreadable = submitted.metadata.get("unreadable", 0) + sum("unreadable" in cell for cell in cells)
    if unreadable:
        rebuilt.flags.append(
            Flag("unreadable", f"{_count(unreadable, 'cell')} could not be read and was left out.", needs_person=True)
        )
    return rebuilt


def rebuild_handed_in(released: NotebookNode, found: HandedIn) -> Rebuilt:
    """`read` and `rebuild`. Never fails because of what was handed in."""
    try:
        submitted = Refused(found.refused) if found.refused else read(found.content)
    except Refused as refused:
        submitted = refused
    rebuilt = rebuild(released, submitted, found.modules)
    rebuilt.flags += found.flags
    if found.files and found.refused == NOTHING:
        rebuilt.flags[0] = Flag("no_notebook", "No notebook was handed in: the files beside it were judged without one.", True)
    rebuilt.files = found.files
    return rebuilt


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _readable(cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells, those emptied that Python cannot parse without running out of its stack. Raises Refused for too much code."""
    statements = 0
    kept = []
    for cell in cells:
        if cell.cell_type == "code":
            try:
                python = python_of(cell.source)
                bound_names(cell.source)
                statements += 0 if python is None else len(ast.parse(python).body)
            except (RecursionError, MemoryError, SystemError):
                cell = NotebookNode({**cell, "source": "", "unreadable": True})
            if statements > MAX_STATEMENTS:
                raise Refused(f"The notebook has more than {MAX_STATEMENTS:,} statements.")
        kept.append(cell)
    return kept


class _Builder:
    """One rebuilding: matches the submitted cells with the released ones, then puts them in the released order."""

    def __init__(self, released: NotebookNode, submitted: list[NotebookNode]):
        self.released = released.cells
        self.submitted = submitted
        self.flags: list[Flag] = []
        self.taken: dict[int, NotebookNode] = {}  # place in the released notebook -> the submitted cell that stands for it
        self.added: dict[int, list[NotebookNode]] = {}  # place -> cells the student put behind it
        self.by_text: set[int | None] = (
            set()
        )  # places found by what stands in them: the next cell of the same text is the next one
        self.place_of = {_grade_id(cell): k for k, cell in enumerate(self.released) if _grade_id(cell)}
        self.place_of_id = {cell.get("id"): k for k, cell in reversed(list(enumerate(self.released)))}  # the first of each id

    def build(self) -> Rebuilt:
        self._match()
        rebuilt = Rebuilt(NotebookNode(nbformat=4, nbformat_minor=5, metadata=_notebook_metadata(), cells=[]))
        for place in range(-1, len(self.released)):
            if place >= 0:
                self._put(rebuilt, place)
            for cell in self.added.get(place, []):
                self._put_added(rebuilt, cell)
        rebuilt.flags = self.flags
        return rebuilt

    # matching

    def _match(self) -> None:
        matches = [self._place(cell) for cell in self.submitted]
        self._drop_duplicates(matches)
        last = -1
        for cell, place in zip(self.submitted, matches, strict=True):
            if place is None:
                self.added.setdefault(last, []).append(cell)
            else:
                self.taken[place] = cell
                last = place
        if self.submitted and not self.taken:
            self._flag("foreign", "Not one cell of this notebook belongs to the assignment.", True)

    def _place(self, cell: NotebookNode) -> int | None:
        grade_id = _grade_id(cell)
        if grade_id in self.place_of:
            return self.place_of[grade_id]
        if "nbgrader" in cell.metadata:
            named = f"calls itself {_shown(grade_id)}" if grade_id else "is marked as nbgrader's"
            self._flag("foreign", f"A cell {named}, but is none of this assignment's: it counts as a cell the student added.")
        by_id = self.place_of_id.get(cell.id) if cell.id else None
        if by_id is not None and self.released[by_id].cell_type == cell.cell_type:
            return by_id
        same = (
            k for k, other in enumerate(self.released) if k not in self.by_text and _same(cell, other) and not _grade_id(other)
        )
        place = next(same, None)
        self.by_text.add(place)
        return place

    def _drop_duplicates(self, matches: list[int | None]) -> None:
        """Of cells that claim the same place one stays; the others become cells the student added."""
        for place in sorted({p for p in matches if p is not None}):
            copies = [k for k, p in enumerate(matches) if p == place]
            if len(copies) == 1:
                continue
            kept = self._which(place, copies, matches)
            for k in copies:
                if k != kept:
                    matches[k] = None
            if _grade_id(self.released[place]):
                self._flag(
                    "duplicate", f"The cell {_grade_id(self.released[place])} is there {len(copies)} times: only one counts."
                )

    def _which(self, place: int, copies: list[int], matches: list[int | None]) -> int:
        """Of the copies of an answer the last above the next graded cell that defines what is asked for."""
        names = bound_names(self.released[place].source) if self.released[place].cell_type == "code" else set()
        after = [k for k, p in enumerate(matches) if p is not None and p > place and _marked(self.released[p], "grade")]
        above = [k for k in copies if not after or k < after[0]] or copies
        defining = [k for k in above if names & bound_names(self.submitted[k].source)]
        changed = [k for k in defining if not _same(self.submitted[k], self.released[place])]
        return (changed or defining or above)[-1]

    # putting together

    def _put(self, rebuilt: Rebuilt, place: int) -> None:
        original, taken = self.released[place], self.taken.get(place)
        grade_id = _grade_id(original)
        cell = _copy(original, place)
        if taken is not None:
            self._compare(original, taken)
        if grade_id and _marked(original, "solution"):
            self._put_answer(rebuilt, cell, taken)
        elif grade_id:
            if taken is None and self.submitted:
                self._flag("deleted", f"The cell {grade_id} was deleted: it was put back.")
            elif taken is not None and not _same(taken, original):
                self._flag("edited", f"The cell {grade_id} was edited: the released one was used.")
            self._append(rebuilt, cell)
        elif taken is None or _same(taken, original):
            if taken is not None and cell.cell_type == "code":
                cell.outputs = taken.outputs
            self._append(rebuilt, cell)
        else:  # an edited cell that is not graded: the student's counts, and what it no longer says is supplied by the released one
            if original.cell_type == "code":
                number = 1 + sum(c.cell_type == "code" for c in rebuilt.notebook.cells)
                rebuilt.cells.append(Cell(original.source, f"cell {number} as released"))
            self._append(rebuilt, _students(taken, cell))
        if grade_id and _marked(original, "grade") and not _marked(original, "solution") and original.cell_type == "code":
            rebuilt.items.append(_item(original, len(rebuilt.cells)))

    def _put_answer(self, rebuilt: Rebuilt, cell: NotebookNode, taken: NotebookNode | None) -> None:
        grade_id = _grade_id(cell)
        untouched = taken is None or taken.source.strip() == cell.source.strip()
        if taken is None and self.submitted:
            self._flag("deleted", f"The cell {grade_id} was deleted: it counts as not answered.")
        if taken is not None:
            cell.source = taken.source if cell.cell_type == "code" else harmless_markdown(taken.source)
            if cell.cell_type == "code":
                cell.outputs = taken.get("outputs", [])
        rebuilt.answers[grade_id] = not untouched
        label = self._append(rebuilt, cell)
        if untouched and label:
            rebuilt.stubs.add(label)

    def _put_added(self, rebuilt: Rebuilt, cell: NotebookNode) -> None:
        self._append(rebuilt, _students(cell, NotebookNode(metadata=NotebookNode(), id=f"added-{len(rebuilt.notebook.cells)}")))

    def _append(self, rebuilt: Rebuilt, cell: NotebookNode) -> str:
        """Adds a cell; returns its label, or "" for text."""
        rebuilt.notebook.cells.append(cell)
        if cell.cell_type != "code":
            return ""
        cell.execution_count = sum(c.cell_type == "code" for c in rebuilt.notebook.cells)
        label = f"cell {cell.execution_count}"
        if cell.source.strip() and not _marked(cell, "grade"):
            rebuilt.cells.append(Cell(cell.source, label))
        return label

    # what is said

    def _flag(self, kind: str, sentence: str, needs_person: bool = False) -> None:
        flag = Flag(kind, sentence, needs_person)
        if flag not in self.flags:
            self.flags.append(flag)

    def _compare(self, original: NotebookNode, taken: NotebookNode) -> None:
        """Flags for what a submitted cell says of itself."""
        grade_id = _grade_id(original)
        if not grade_id:
            return
        wanted, found = original.metadata.nbgrader, taken.metadata.get("nbgrader")
        if taken.cell_type != original.cell_type:
            self._flag("type", f"The cell {grade_id} was turned from {original.cell_type} into {taken.cell_type}, and back here.")
        if found is None:
            self._flag("reflagged", f"The cell {grade_id} has lost nbgrader's marks: they were put back.")
            return
        changed = [name for name in _FLAG_NAMES if bool(found.get(name, False)) != bool(wanted.get(name, False))]
        changed = [name for name in changed if name != "locked" or not wanted.get("grade")]  # nbgrader locks these anyway
        if changed:
            self._flag("reflagged", f"The marks of the cell {grade_id} were changed ({', '.join(changed)}): they were put back.")
        if wanted.get("grade") and found.get("points") != wanted.get("points"):
            told = f"{found['points']:g}" if isinstance(found.get("points"), (int, float)) else "nothing"
            self._flag("points", f"The cell {grade_id} says it is worth {told}: it is worth {wanted.get('points'):g}.")


def _notebook_metadata() -> NotebookNode:
    return from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
        }
    )


def _grade_id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _marked(cell: NotebookNode, name: str) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get(name, False))


def _same(cell: NotebookNode, released: NotebookNode) -> bool:
    """Whether a submitted cell is as students were given it (`as_released`, where hidden tests make a difference)."""
    text = released.get("as_released", released.source)
    return cell.cell_type == released.cell_type and cell.source.strip() == text.strip()


def _shown(name: str) -> str:
    return re.sub(r"[^\w .-]", "?", name)[:40]


def _copy(cell: NotebookNode, place: int) -> NotebookNode:
    """A released cell without outputs and without the checksum, by which nbgrader would give an unanswered question 0 by itself."""
    copied = from_dict(json.loads(json.dumps(cell)))
    copied.metadata.get("nbgrader", {}).pop("checksum", None)
    copied.pop("as_released", None)
    copied.setdefault("id", f"cell-{place}")  # before nbformat 4.5 cells had none
    if copied.cell_type == "code":
        copied.outputs, copied.execution_count = [], None
    return copied


def _students(cell: NotebookNode, place: NotebookNode) -> NotebookNode:
    """A cell of the student's, with the id and the metadata of the place it gets."""
    source = cell.source if cell.cell_type == "code" else harmless_markdown(cell.source)  # formulas are set in raw cells, too
    shown = NotebookNode(cell_type=cell.cell_type, id=place.id, metadata=place.metadata, source=source)
    if cell.cell_type == "code":
        shown.outputs, shown.execution_count = cell.outputs, None
    return shown


def _item(cell: NotebookNode, at: int) -> Item:
    marks = cell.metadata.nbgrader
    return Item(
        marks.grade_id, float(marks.get("points", 0)), checked_function(cell.source), at, cell.source, checked_part(cell.source)
    )


def checked_function(source: str) -> str:
    """The function a check cell is about: `check(f)` and nothing else but imports; "" for any other test."""
    name = _only_argument(source, "check")
    return name.id if isinstance(name, ast.Name) else name.value if isinstance(getattr(name, "value", None), str) else ""


def checked_part(source: str) -> str:
    """The part of the homework a check cell is about: `check_homework("plots")` and nothing else but imports; "" for any other test."""
    part = _only_argument(source, "check_homework")
    part = part.value if isinstance(part, ast.Constant) else None
    return part if isinstance(part, str) and part in handed_in.PARTS else ""


def _only_argument(source: str, function: str) -> ast.expr | None:
    """The first argument of the one call, of `function`, that the source consists of."""
    try:
        body = [line for line in ast.parse(source).body if not isinstance(line, (ast.Import, ast.ImportFrom))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return None
    call = body[0].value
    return call.args[0] if isinstance(call.func, ast.Name) and call.func.id == function and call.args else None


# -- judging --------------------------------------------------------------------------------------------------------------------------


@dataclass
class ItemGrade:
    """What one cell earned. result: of a check (`autograder.verdict.Result` as JSON); None for an instructor's test or a fault of ours.

    said: lines to show where there is no result. figure: SVG of the decisive case. fault: what went wrong on our side.
    homework: of a part of the homework (`autograder.homework.rubric.PartResult` as JSON). extra: points on top of max_points. waits: some
    of its points wait for a person.
    """

    grade_id: str
    points: float
    max_points: float
    verdict: str
    diagnosis: str = ""
    result: dict | None = None
    said: list[str] = field(default_factory=list)
    figure: str = ""
    fault: str = ""
    seconds: float = 0.0
    homework: dict | None = None
    extra: float = 0.0
    waits: bool = False


@dataclass
class Graded:
    """What one submitted notebook earned, as plain data. hints: how much its cards tell unless somebody asks otherwise."""

    unit: str
    items: list[ItemGrade]
    flags: list[Flag]
    hints: str = "how"
    refused: str = ""
    seconds: float = 0.0

    @property
    def points(self) -> float:
        return sum(item.points + item.extra for item in self.items)

    @property
    def max_points(self) -> float:
        return sum(item.max_points for item in self.items)

    @property
    def needs_person(self) -> bool:
        return any(flag.needs_person for flag in self.flags)

    def to_json(self) -> dict:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict) -> Graded:
        """Raises ValueError for what another version wrote, or what is damaged."""
        try:
            if data["format"] != FORMAT:
                raise ValueError("written by another version")
            items = [ItemGrade(**item) for item in data["items"]]
            flags = [Flag(**flag) for flag in data["flags"]]
            return cls(data["unit"], items, flags, data["hints"], data["refused"], data["seconds"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a result of the grader: {error!r}") from None


def judge(
    rebuilt: Rebuilt,
    unit: str | None,
    runners: Runners,
    *,
    key: str = PUBLIC_KEY,
    hints: str = "how",
    budget: float | None = None,
) -> Graded:
    """Judge every check and every test of a rebuilt notebook, elsewhere (`runners`). A failure in one costs that one only.

    unit: where the exercises are looked for first, "03" or "03_collectives"; None: in all units. budget: seconds for all of it; what has
    not been judged by then is not, the card says so, and a person is told.
    """
    if hints not in HINT_LEVELS:
        raise ValueError(f"hints={hints!r}: choose one of {', '.join(HINT_LEVELS)}")
    start, budget = time.monotonic(), BUDGET_S if budget is None else budget
    grades: dict[str, ItemGrade] = {}
    failed: set[str] = set()
    ordered, limits = _in_order(rebuilt.items, unit), runners.limits
    homework = handed_in.Judge(rebuilt.files, runners.launcher, key)
    spent = 0.0  # seconds, of the budget
    exercises = [exercise for item in ordered if (exercise := exercise_of(item, unit)) is not None]
    try:
        with runners.student(exercises):
            for item in ordered:
                begin = time.monotonic()
                if item.part:  # of the files beside the notebook, whatever the notebook is like
                    grade = _twice(item, runners, lambda item=item: _judge_part(item, homework))
                elif rebuilt.refused:
                    grade = _refused(item, rebuilt.refused)
                elif spent >= budget:
                    grade = _out_of_time(item, budget)
                else:
                    runners.until = begin + budget - spent
                    grade = _twice(item, runners, lambda item=item: _judge(rebuilt, item, unit, runners, key, failed))
                    runners.until = math.inf
                    spent += time.monotonic() - begin
                grade.seconds = round(time.monotonic() - begin, 3)
                grades[item.grade_id] = grade
                if item.function and grade.verdict != "passed":
                    failed.add(item.function)
                if grade.verdict == "too_slow" and grade.seconds > WAITED_S:
                    runners.limits = replace(limits, deadline=min(limits.deadline, WAITED_S))
    finally:
        runners.limits, runners.until = limits, math.inf
        runners.close()  # the processes of one student must not serve another
    faults = [Flag("fault", f"{g.grade_id}: {g.fault}", needs_person=True) for g in grades.values() if g.fault]
    noticed = [Flag(kind, sentence, needs_person=True) for kind, sentence in homework.flags]
    if spent >= budget:
        faults.append(
            Flag("budget", _BUDGET_USED.format(budget) + " Should your machine have been that slow, grade it again.", True)
        )
    waiting = [Flag("waits", f"{g.grade_id}: some of its points wait for a person.", True) for g in grades.values() if g.waits]
    items = [grades[item.grade_id] for item in rebuilt.items]
    seconds = round(time.monotonic() - start, 3)
    return Graded(unit or "", items, [*rebuilt.flags, *faults, *noticed, *waiting], hints, rebuilt.refused, seconds)


def exercise_of(item: Item, unit: str | None) -> Exercise | None:
    """The exercise a check cell is about; None: the registry has none of that name, or the cell is a test of another kind."""
    if not item.function:
        return None
    for where in (unit, None):
        with contextlib.suppress(UnknownExercise):
            return find(item.function, where)
    return None


def _in_order(items: list[Item], unit: str | None) -> list[Item]:
    """As they stand, but an exercise that builds on another one comes after it."""
    ordered: list[Item] = []

    def add(item: Item, above: tuple[str, ...] = ()) -> None:
        exercise = exercise_of(item, unit)
        for other in items:
            if exercise is not None and other.function in exercise.uses and other.function not in above and other not in ordered:
                add(other, (*above, item.function))
        if item not in ordered:
            ordered.append(item)

    for item in items:
        add(item)
    return ordered


def _refused(item: Item, why: str) -> ItemGrade:
    said = ["This notebook could not be graded.", why]
    return ItemGrade(item.grade_id, 0.0, item.points, "missing", "refused", said=said)


_BUDGET_USED = "The {:g} seconds that the checks of one notebook may take were used up before all had been run."


def _out_of_time(item: Item, budget: float) -> ItemGrade:
    said = [_BUDGET_USED.format(budget), "A check takes a second or two: look for functions above that sleep or wait."]
    return ItemGrade(item.grade_id, 0.0, item.points, "too_slow", "budget", said=said)


def _twice(item: Item, runners: Runners, judge: Callable[[], ItemGrade]) -> ItemGrade:
    """A verdict; when the machinery fails, once more from a fresh start, and then it is a fault of ours that a person looks at."""
    for attempt in (1, 2):
        try:
            return judge()
        except Exception as error:
            with contextlib.suppress(Exception):
                runners.close()
            if attempt == 2:
                fault = f"the grader failed on it ({type(error).__name__}: {str(error)[:300]})"
    said = ["The grader itself failed on this exercise. That is no fault of yours: a person will look at it."]
    return ItemGrade(item.grade_id, 0.0, item.points, "missing", "fault", said=said, fault=fault)


def _imports_check(rebuilt: Rebuilt) -> bool:
    """Whether `check` in the notebook is the course's, not a function of the instructor's own."""
    return any(cell.source and re.search(r"^\s*from autograder import .*\bcheck\b", cell.source, re.M) for cell in rebuilt.cells)


def _no_exercise(item: Item) -> ItemGrade:
    """For a check of an exercise that was released and is there no more: no student's fault, so a person's turn."""
    said = [f"The grader has no exercise called {item.function} (any more). A person will look at it."]
    fault = (
        f"there is no exercise called {item.function}: was its module taken out of overlay/exercises/, or does it fail to load?"
    )
    return ItemGrade(item.grade_id, 0.0, item.points, "missing", "fault", said=said, fault=fault)


def _judge(rebuilt: Rebuilt, item: Item, unit: str | None, runners: Runners, key: str, failed: set[str]) -> ItemGrade:
    exercise = exercise_of(item, unit)
    if exercise is None and item.function and _imports_check(rebuilt):
        return _no_exercise(item)
    if exercise is None:
        return _judge_test(rebuilt, item, runners)
    result = judge_with_its_helpers(
        exercise,
        lambda *which: rebuilt.chunks(item, exercise, *which),
        lambda chunks, note: judge_with(runners, exercise, chunks, key=key, note=note),
        failed,
    )
    share = result.score / result.max_score if result.max_score else 0.0
    points = item.points if share == 1 else round(item.points * share, 4)
    return ItemGrade(
        item.grade_id, points, item.points, result.verdict, result.diagnosis, _trimmed(result), figure=_picture(result)
    )


def _judge_part(item: Item, homework: handed_in.Judge) -> ItemGrade:
    """A part of the homework. One without points of its own (nbgrader knows no bonus) gives what it earns on top."""
    found = homework.part(item.part)
    verdict = "passed" if found.share == 1 else "wrong"
    points = item.points if found.share == 1 else round(item.points * found.share, 4)
    extra = 0.0 if item.points else found.earned
    return ItemGrade(
        item.grade_id, points, item.points, verdict, found.diagnosis, homework=found.json, extra=extra, waits=found.waits
    )


def _trimmed(result: Result) -> dict:
    """The result as JSON, without what no card shows."""
    data = json.loads(json.dumps({**result.to_json(), "title": result.title}))
    for case in data["cases"]:
        case["printed"] = [line[:200] for line in case["printed"]]
        case["differs"] = [line[:1000] for line in case["differs"]]
    return data


def _picture(result: Result) -> str:
    try:
        return _figure(result)
    except Exception:  # a picture is not worth a grade
        return ""


def _judge_test(rebuilt: Rebuilt, item: Item, runners: Runners) -> ItemGrade:
    """A test that an instructor wrote: it has to come to its end, and a number in its last line is the points it gives.

    It runs beside the student's code, in the same process, so it proves less than a check does: what it compares with can be looked up
    by code that is out for it. It cannot harm anything else.
    """
    jobs = make_jobs(rebuilt.chunks_of_test(item), "__outcome__", [()], runtime="plain")
    left = max(runners.until - time.monotonic(), LAST_S)
    limits = replace(runners.limits, deadline=min(runners.limits.deadline, left))
    outcome, ends = runners.launcher.run(jobs, limits=limits)
    rank = outcome.ranks[0]
    said = [line for _, line in outcome.printed[:40]]
    if rank.state == "returned":
        value = rank.value
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if number is not None and not 0 <= number <= item.points:
            raise ValueError(f"the test gives {number} of {item.points:g} points")
        points = item.points if number is None else float(number)
        return ItemGrade(item.grade_id, points, item.points, "passed" if points == item.points else "wrong", said=said)
    if rank.state == "raised":
        text = f"{rank.error['type']}: {rank.error['text']}".rstrip(": ")
        return ItemGrade(item.grade_id, 0.0, item.points, "raised", rank.error["type"], said=[*said, *rank.error["rows"], text])
    verdict = "too_slow" if outcome.too_slow else "hung" if outcome.hang is not None else "crashed"
    told = {"too_slow": "It did not come to its end in time.", "hung": "It waits for something that never comes."}
    return ItemGrade(item.grade_id, 0.0, item.points, verdict, said=[*said, told.get(verdict, "Its process died.")])


# -- the cache's key ------------------------------------------------------------------------------------------------------------------


def digest(rebuilt: Rebuilt, unit: str | None, key: str, level: str) -> str:
    """What decides about a result: code of the student that a check or test reaches, the exercises and the judge, the key, isolation."""
    parts: list = [FORMAT, who_judges(), unit, key, level, rebuilt.refused, [asdict(flag) for flag in rebuilt.flags]]
    parts += [rebuilt.files] if rebuilt.files else []
    for item in rebuilt.items:
        exercise = exercise_of(item, unit)
        chunks, note = (None, "") if exercise is None else rebuilt.chunks(item, exercise)
        if exercise is None and not item.part and not rebuilt.refused:
            chunks = rebuilt.chunks_of_test(item)
        parts.append([item.grade_id, item.points, item.source, note, chunks and [[c.label, c.line, c.source] for c in chunks]])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def kept_result(store: Store, digest: str) -> Graded | None:
    """What was judged before; None where there is nothing, or nothing that can be read."""
    kept = store.result(digest)
    with contextlib.suppress(ValueError):
        return None if kept is None else Graded.from_json(kept)
    return None


def who_judges() -> list:
    """What changes when judging does: our code, the exercises of the overlay as they are loaded, the versions of what they run on."""
    return [_our_code(), overlay_digests(), _versions()]


@functools.cache
def _our_code() -> str:
    """A hash of everything that judges."""
    found = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for path in sorted(path for package in ("autograder", "labkit", "probes") for path in root.glob(f"{package}/**/*.py")):
        found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()


@functools.cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "torch", "mpi4py", "tensorflow-cpu", "horovod"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


# -- the notebook that formgrader and feedback show -----------------------------------------------------------------------------------


def carded(rebuilt: Rebuilt, graded: Graded, hints: str | None = None) -> NotebookNode:
    """The rebuilt notebook with a card and the points in every cell that earns some; on top a list of them, and what was noticed."""
    notebook = from_dict(json.loads(json.dumps(rebuilt.notebook)))
    grades = {grade.grade_id: grade for grade in graded.items}
    for cell in notebook.cells:
        grade = grades.get(_grade_id(cell))
        if grade is not None and cell.cell_type == "code":
            cell.outputs = _outputs(grade, hints or graded.hints, cell.execution_count)
    notebook.cells.insert(0, NotebookNode(cell_type="markdown", id="overview", metadata=NotebookNode(), source=_overview(graded)))
    return notebook


def _overview(graded: Graded) -> str:
    """What stands above the notebook: each graded cell in a line that leads to it (the formgrader's page is very long)."""
    lines = [f"**Checked automatically: {graded.points:g} of {graded.max_points:g} points**", ""]
    for item in graded.items:
        name = _one_line(harmless_markdown(item.grade_id.replace("check_", "", 1)))
        verdict = "waits for a person" if item.fault or item.waits else item.verdict.replace("_", " ")
        lines.append(f"- [{name}](#{quote(item.grade_id)}): {item.points + item.extra:g} of {item.max_points:g}, {verdict}")
    noticed = [flag.sentence for flag in graded.flags]
    if noticed:
        lines += ["", "**Noticed by the grader**", ""]
        lines += [f"- {harmless_markdown(_one_line(sentence))}" for sentence in noticed]
    return "\n".join(lines)


def written(notebook: NotebookNode) -> str:
    """The text of its file, as nbgrader writes it. Raises nbformat.ValidationError for what is no valid notebook."""
    nbformat.validate(notebook, relax_add_props=True)
    return nbformat.v4.writes(notebook) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _outputs(grade: ItemGrade, hints: str, number: int | None) -> list[NotebookNode]:
    """A card, the picture of the decisive case, and the points as nbgrader reads them: a number that a cell returns.

    nbgrader gives full points to a cell without such a number, so there is always one.
    """
    html, text = card(grade, hints)
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": html, "text/plain": text}}]
    if grade.figure and HINT_LEVELS[hints] >= 1:
        outputs.append({"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": grade.figure}})
    points = {"text/plain": repr(float(grade.points))}
    outputs.append({"output_type": "execute_result", "metadata": {}, "execution_count": number, "data": points})
    return [from_dict(output) for output in outputs]


def card(grade: ItemGrade, hints: str = "how") -> tuple[str, str]:
    """(HTML, text) of the card."""
    if grade.homework is not None:
        return handed_in.card(grade.homework, hints)
    if grade.result is not None:
        result = Result.from_json(grade.result)
        return cards.html_card(result, hints), cards.text_card(result, hints)
    said = grade.said if HINT_LEVELS[hints] >= 1 or grade.verdict == "missing" else []
    return cards.plain_card(grade.grade_id, grade.points, grade.max_points, grade.verdict, said)
