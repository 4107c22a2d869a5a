"""The released notebook with the student's answers in it: what is graded and shown, whatever was done to the rest."""

from __future__ import annotations

import ast
import functools
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from nbformat import NotebookNode, from_dict

from autograder.exercise import Exercise
from autograder.finite import is_finite
from autograder.grading.submission.harmless import harmless_markdown
from autograder.grading.submission.reading import (
    FLAG_NAMES,
    NOTHING,
    HandedIn,
    Refused,
    SubmissionFlag,
    read,
    readable_name,
)
from autograder.homework import registry
from autograder.judging.helpers import slice_for
from autograder.judging.limit import TakesTooLong, processor_time
from labkit.cells.slicing import (
    Cell,
    Chunk,
    bound_names,
    defining_label,
    free_names,
    lacking_names,
    python_of,
    slice_cells,
)

MAX_STATEMENTS = 4000
MOST_CPU_S = 20.0  # of processor time to rebuild a notebook and to find what its checks reach; usual is less than one


# -- rebuilding -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """A cell that earns points automatically. function: of a check; "" for a test that an instructor wrote, and where
    there is a part.

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
    """notebook: the released cells with the student's answers, helper cells where the student put them, and no
    outputs in graded cells.

    cells: the code, in the order in which Run All would run it, labelled by the numbers the notebook shows. stubs:
    labels of answers that are as they were released. own: labels of what the student wrote, answers and added cells.
    items: what earns points. flags: what was put right. refused: why nothing was taken over, or "". answers:
    grade_id -> whether something was written. modules: those beside the notebook (`modules_of`). files: what was handed
    in beside it for the homework (`autograder.homework.handed_in.packed`), where one of the items asks for it.
    """

    notebook: NotebookNode
    cells: list[Cell] = field(default_factory=list)
    stubs: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    items: list[Item] = field(default_factory=list)
    flags: list[SubmissionFlag] = field(default_factory=list)
    answers: dict[str, bool] = field(default_factory=dict)
    refused: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    _counting: dict[tuple, list[Cell]] = field(default_factory=dict, repr=False, compare=False)

    def cells_until(self, item: Item, names: Iterable[str]) -> list[Cell]:
        """The cells that count for `item`: those above it, as in Run All, and a later one only for a name that is
        nowhere above it."""
        asked = item.at, tuple(names)
        if asked not in self._counting:
            self._counting[asked] = self._cells_until(*asked)
        return self._counting[asked]

    def _cells_until(self, at: int, names: tuple[str, ...]) -> list[Cell]:
        above, below = self._written(self.cells[:at]), self._written(self.cells[at:])
        for _ in range(8):
            lacking = lacking_names(above, names)
            more = [not lacking.isdisjoint(bound_names(cell.source)) for cell in below]
            if not any(more):
                break
            above += itertools.compress(below, more)
            below = [cell for cell, taken in zip(below, more, strict=True) if not taken]
        return above

    def _written(self, cells: list[Cell]) -> list[Cell]:
        """The cells, without an untouched answer cell whose function the student wrote in another cell."""
        own = set().union(*(bound_names(cell.source) for cell in self.cells if cell.label not in self.stubs))
        return [cell for cell in cells if not (cell.label in self.stubs and bound_names(cell.source) & own)]

    def broken(self, name: str, cells: list[Cell]) -> str:
        """The remark about a cell below the one that defines `name`, which would define it anew but is no valid
        Python."""
        defining = defining_label(cells, name)
        for cell in reversed(self.cells):
            if cell.label == defining:
                break
            if f"def {name}" in cell.source and python_of(cell.source) is None:
                return (
                    f"{cell.label} defines {name}, but it is no valid Python: mend the error it shows and run it again."
                )
        return ""

    def chunks(
        self, item: Item, exercise: Exercise, failed: set[str] = frozenset(), *why: str
    ) -> tuple[list[Chunk] | None, str]:
        """(what travels to the ranks, a note for the card), see `slice_for`; None: the function is not there."""
        cells = self.cells_until(item, [exercise.function])
        broken = self.broken(exercise.function, cells)
        if defining_label(cells, exercise.function) is None:
            return None, broken
        chunks, note = slice_for(exercise, cells, failed, *why)
        return [*self._imported(chunks), *chunks], " ".join(part for part in (broken, note) if part)

    def own_chunks(self, item: Item, exercise: Exercise, failed: set[str]) -> tuple[Chunk, ...]:
        """The part of `chunks` that the student wrote in this notebook."""
        return tuple(chunk for chunk in self.chunks(item, exercise, failed)[0] or () if chunk.label in self.own)

    def chunks_of_test(self, item: Item) -> list[Chunk]:
        """The chunks that an instructor's test needs of the notebook, and the test itself; `__outcome__()` returns the
        value of its last line."""
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
            f"for __name in {sorted(ordered)!r}:\n"
            "    __import__('sys').modules[__name] = __import__('types').ModuleType(__name)"
        )
        return [Chunk("modules", 1, made), *ordered.values()]


@functools.lru_cache(256)
def _imports(source: str) -> frozenset[str]:
    """The top-level names of the modules that a source imports."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return frozenset(name.split(".")[0] for name in names)


def _module_statement(name: str, source: str) -> str:
    """A statement that fills a module with `source`: where ranks run there is no such file."""
    return f"exec(compile({source!r}, {name + '.py'!r}, 'exec'), __import__('sys').modules[{name!r}].__dict__)"


def _last_expression(source: str) -> tuple[str, str]:
    """A cell cut into its statements and the expression at its end ("None" where there is none)."""
    body = ast.parse(source).body
    if not body or not isinstance(body[-1], ast.Expr):
        return source, "None"
    lines = source.split("\n")
    before = lines[body[-1].lineno - 1].encode()[: body[-1].col_offset].decode().rstrip("; ")
    return "\n".join([*lines[: body[-1].lineno - 1], before]), ast.get_source_segment(source, body[-1]) or "None"


def rebuild(
    released: NotebookNode, submitted: NotebookNode | Refused, modules: dict[str, str] | None = None
) -> Rebuilt:
    """The released notebook with the student's work in it.

    released: without solutions, with all tests (`autograder.grading.course_files.released`). submitted: what `read`
    returned or raised. modules: what `modules_of` found beside it.
    """
    if isinstance(submitted, Refused):
        flag = SubmissionFlag("refused", f"The submission was refused: {submitted}", needs_person=True)
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
            SubmissionFlag(
                "unreadable", f"{_count(unreadable, 'cell')} could not be read and was left out.", needs_person=True
            )
        )
    return rebuilt


def rebuild_handed_in(released: NotebookNode, found: HandedIn) -> Rebuilt:
    """`read` and `rebuild`. Never fails because of what was handed in: what it fails on is refused, and only that."""
    try:
        with processor_time(MOST_CPU_S):
            rebuilt = _rebuild_handed_in(released, found)
            for item in rebuilt.items:  # whatever takes long is begun here
                rebuilt.cells_until(item, [item.function] if item.function else sorted(free_names(item.source)))
            return rebuilt
    except TakesTooLong:
        return rebuild(released, Refused("The notebook takes too long to read: remove the cells you do not need."))
    except Exception as error:  # one notebook must not keep a class from its grades, its report and its copies
        return rebuild(released, Refused(f"The notebook could not be read ({type(error).__name__})."))


def _rebuild_handed_in(released: NotebookNode, found: HandedIn) -> Rebuilt:
    try:
        submitted = Refused(found.refused) if found.refused else read(found.content)
    except Refused as refused:
        submitted = refused
    rebuilt = rebuild(released, submitted, found.modules)
    rebuilt.flags += found.flags
    if found.files and found.refused == NOTHING:
        rebuilt.flags[0] = SubmissionFlag(
            "no_notebook", "No notebook was handed in: the files beside it were judged without one.", True
        )
    rebuilt.files = found.files
    return rebuilt


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _readable(cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells, those emptied that Python cannot parse without running out of its stack. Raises Refused for too much
    code."""
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
        self.flags: list[SubmissionFlag] = []
        # Place in the released notebook -> the submitted cell that stands for it.
        self.taken: dict[int, NotebookNode] = {}
        self.added: dict[int, list[NotebookNode]] = {}  # place -> cells the student put behind it
        # Places found by what stands in them: the next cell of the same text is the next one.
        self.by_text: set[int | None] = set()
        self.place_of = {id_of(cell): k for k, cell in enumerate(self.released) if id_of(cell)}
        # The first of each id.
        self.place_of_id = {cell.get("id"): k for k, cell in reversed(list(enumerate(self.released)))}

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
        grade_id = id_of(cell)
        if grade_id in self.place_of:
            return self.place_of[grade_id]
        if "nbgrader" in cell.metadata:
            named = f"calls itself {readable_name(grade_id)}" if grade_id else "is marked as nbgrader's"
            self._flag(
                "foreign", f"A cell {named}, but is none of this assignment's: it counts as a cell the student added."
            )
        by_id = self.place_of_id.get(cell.id) if cell.id else None
        if by_id is not None and self.released[by_id].cell_type == cell.cell_type:
            return by_id
        same = (
            k
            for k, other in enumerate(self.released)
            if k not in self.by_text and _same(cell, other) and not id_of(other)
        )
        place = next(same, None)
        self.by_text.add(place)
        return place

    def _drop_duplicates(self, matches: list[int | None]) -> None:
        """Leaves one of the cells that claim the same place; the others become cells that the student added."""
        for place in sorted({p for p in matches if p is not None}):
            copies = [k for k, p in enumerate(matches) if p == place]
            if len(copies) == 1:
                continue
            kept = self._which(place, copies, matches)
            for k in copies:
                if k != kept:
                    matches[k] = None
            if id_of(self.released[place]):
                self._flag(
                    "duplicate",
                    f"The cell {id_of(self.released[place])} is there {len(copies)} times: only one counts.",
                )

    def _which(self, place: int, copies: list[int], matches: list[int | None]) -> int:
        """The copy of an answer that counts: the last one above the next graded cell that defines what is asked for."""
        names = bound_names(self.released[place].source) if self.released[place].cell_type == "code" else set()
        after = [k for k, p in enumerate(matches) if p is not None and p > place and _marked(self.released[p], "grade")]
        above = [k for k in copies if not after or k < after[0]] or copies
        defining = [k for k in above if names & bound_names(self.submitted[k].source)]
        changed = [k for k in defining if not _same(self.submitted[k], self.released[place])]
        return (changed or defining or above)[-1]

    # putting together

    def _put(self, rebuilt: Rebuilt, place: int) -> None:
        original, taken = self.released[place], self.taken.get(place)
        grade_id = id_of(original)
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
        else:
            # An edited cell that is not graded: the student's counts; what it no longer says the released one supplies.
            if original.cell_type == "code":
                number = 1 + sum(c.cell_type == "code" for c in rebuilt.notebook.cells)
                rebuilt.cells.append(Cell(original.source, f"cell {number} as released"))
            self._append(rebuilt, _students(taken, cell))
        if (
            grade_id
            and _marked(original, "grade")
            and not _marked(original, "solution")
            and original.cell_type == "code"
        ):
            rebuilt.items.append(_item(original, len(rebuilt.cells)))

    def _put_answer(self, rebuilt: Rebuilt, cell: NotebookNode, taken: NotebookNode | None) -> None:
        grade_id = id_of(cell)
        untouched = taken is None or taken.source.strip() == cell.source.strip()
        if taken is None and self.submitted:
            self._flag("deleted", f"The cell {grade_id} was deleted: it counts as not answered.")
        if taken is not None:
            cell.source = taken.source if cell.cell_type == "code" else harmless_markdown(taken.source)
            if cell.cell_type == "code":
                cell.outputs = taken.get("outputs", [])
        rebuilt.answers[grade_id] = not untouched
        label = self._append(rebuilt, cell)
        if label:
            (rebuilt.stubs if untouched else rebuilt.own).add(label)

    def _put_added(self, rebuilt: Rebuilt, cell: NotebookNode) -> None:
        place = NotebookNode(metadata=NotebookNode(), id=f"added-{len(rebuilt.notebook.cells)}")
        label = self._append(rebuilt, _students(cell, place))
        if label:
            rebuilt.own.add(label)

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
        flag = SubmissionFlag(kind, sentence, needs_person)
        if flag not in self.flags:
            self.flags.append(flag)

    def _compare(self, original: NotebookNode, taken: NotebookNode) -> None:
        """Flags for what a submitted cell says of itself."""
        grade_id = id_of(original)
        if not grade_id:
            return
        wanted, found = original.metadata.nbgrader, taken.metadata.get("nbgrader")
        if taken.cell_type != original.cell_type:
            self._flag(
                "type",
                f"The cell {grade_id} was turned from {original.cell_type} into {taken.cell_type}, and back here.",
            )
        if found is None:
            self._flag("reflagged", f"The cell {grade_id} has lost nbgrader's marks: they were put back.")
            return
        changed = [name for name in FLAG_NAMES if bool(found.get(name, False)) != bool(wanted.get(name, False))]
        # nbgrader locks these anyway.
        changed = [name for name in changed if name != "locked" or not wanted.get("grade")]
        if changed:
            self._flag(
                "reflagged",
                f"The marks of the cell {grade_id} were changed ({', '.join(changed)}): they were put back.",
            )
        if wanted.get("grade") and found.get("points") != wanted.get("points"):
            told = f"{found['points']:g}" if is_finite(found.get("points")) else "nothing"
            self._flag("points", f"The cell {grade_id} says it is worth {told}: it is worth {wanted.get('points'):g}.")


def _notebook_metadata() -> NotebookNode:
    return from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
        }
    )


def id_of(cell: NotebookNode) -> str:
    """nbgrader's name of a cell, or ""."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _marked(cell: NotebookNode, name: str) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get(name, False))


def _same(cell: NotebookNode, released: NotebookNode) -> bool:
    """True if a submitted cell is as students were given it (`as_released`, where hidden tests make a difference)."""
    text = released.get("as_released", released.source)
    return cell.cell_type == released.cell_type and cell.source.strip() == text.strip()


def _copy(cell: NotebookNode, place: int) -> NotebookNode:
    """A released cell without outputs and without the checksum, by which nbgrader would give an unanswered question 0
    by itself."""
    copied = from_dict(json.loads(json.dumps(cell)))
    copied.metadata.get("nbgrader", {}).pop("checksum", None)
    copied.pop("as_released", None)
    copied.setdefault("id", f"cell-{place}")  # before nbformat 4.5 cells had none
    if copied.cell_type == "code":
        copied.outputs, copied.execution_count = [], None
    return copied


def _students(cell: NotebookNode, place: NotebookNode) -> NotebookNode:
    """A cell of the student's, with the id and the metadata of the place it gets."""
    # Formulas are set in raw cells, too.
    source = cell.source if cell.cell_type == "code" else harmless_markdown(cell.source)
    shown = NotebookNode(cell_type=cell.cell_type, id=place.id, metadata=place.metadata, source=source)
    if cell.cell_type == "code":
        shown.outputs, shown.execution_count = cell.outputs, None
    return shown


def _item(cell: NotebookNode, at: int) -> Item:
    marks = cell.metadata.nbgrader
    return Item(
        marks.grade_id,
        float(marks.get("points", 0)),
        checked_function(cell.source),
        at,
        cell.source,
        checked_part(cell.source),
    )


def checked_function(source: str) -> str:
    """The function a check cell is about: `check(f)` and nothing else but imports; "" for any other test."""
    name = _only_argument(source, "check")
    return (
        name.id if isinstance(name, ast.Name) else name.value if isinstance(getattr(name, "value", None), str) else ""
    )


def checked_part(source: str) -> str:
    """The part of the homework a check cell is about: `check_homework("plots")` and nothing else but imports; "" for
    any other test."""
    part = _only_argument(source, "check_homework")
    part = part.value if isinstance(part, ast.Constant) else None
    return part if isinstance(part, str) and part in registry.all_parts() else ""


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
