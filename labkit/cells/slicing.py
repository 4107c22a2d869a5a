"""The statements of a notebook that a function needs: slicing cells by dependency, and running the slice.

Tracebacks from a slice show the student's own cells and lines. Names are resolved by Python's own symbol tables
(`symtable`), so a local variable of a function is never mistaken for a notebook's global of the same name.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import functools
import linecache
import re
import symtable
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_HARMLESS_CELL_MAGICS = ("%%time", "%%timeit", "%%capture")
_ADDING = {"add", "append", "extend", "insert", "register", "setdefault", "update"}
_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "get_ipython"}


@dataclass(frozen=True)
class Cell:
    """A notebook cell. label: how the student knows it, for example "cell 7" (the number in its brackets)."""

    source: str
    label: str


@dataclass(frozen=True)
class Chunk:
    """A piece of a cell: whole top-level statements, starting at line `line` (1 is the cell's first line)."""

    label: str
    line: int
    source: str


@dataclass
class _Statement:
    label: str
    line: int
    source: str
    binds: set[str] = field(default_factory=set)  # names it defines at the top level
    touches: set[str] = field(default_factory=set)  # names whose items or attributes it assigns, in a loop or outside
    adds_to: set[str] = field(default_factory=set)  # names to which it adds: update, register, ...
    imports: bool = False
    reads_now: set[str] = field(default_factory=set)  # names it needs at once
    reads_later: set[str] = field(default_factory=set)  # names its functions need when they are called
    star_import: bool = False


MOST_KEPT = 4096  # cells that are parsed once only: more than a notebook may have, with the released ones


@functools.lru_cache(maxsize=MOST_KEPT)  # a cell is looked at from several sides
def python_of(source: str) -> str | None:
    """The cell as plain Python with the same line numbers: magics and shell lines become `pass`; None where the cell is
    no Python."""
    if source.lstrip().startswith("%%"):
        first, _, rest = source.lstrip().partition("\n")
        if not first.startswith(_HARMLESS_CELL_MAGICS):
            return None
        source = "\n" + rest
    try:
        ast.parse(source)
        return source
    except (SyntaxError, ValueError):
        pass
    lines = []
    for line in source.split("\n"):
        stripped = line.strip()
        if stripped.startswith(("%", "!", "?")) or re.fullmatch(r"[\w.]+\?{1,2}", stripped):
            line = line[: len(line) - len(line.lstrip())] + "pass"
        elif re.match(r"\s*\w+\s*=\s*[%!]", line):
            line = line[: len(line) - len(line.lstrip())] + line.strip().split("=")[0] + "= None"
        lines.append(line)
    source = "\n".join(lines)
    try:
        ast.parse(source)
        return source
    except (SyntaxError, ValueError):
        return None


def _names(table: symtable.SymbolTable, top: bool, binds: set, now: set, later: set) -> None:
    for symbol in table.get_symbols():
        name = symbol.get_name()
        if top:
            if symbol.is_assigned() or symbol.is_imported():
                binds.add(name)
            if symbol.is_referenced():
                now.add(name)
        elif symbol.is_global():
            if symbol.is_referenced():
                later.add(name)
            if symbol.is_declared_global() and symbol.is_assigned():
                later.add(name)
    for child in table.get_children():
        runs_at_once = child.get_type() == "class" or child.get_name() in ("listcomp", "setcomp", "dictcomp", "genexpr")
        inner_now: set[str] = set()
        inner_later: set[str] = set()
        _names(child, False, set(), inner_now, inner_later)
        (now if runs_at_once and top else later).update(inner_later)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *[d.lineno for d in decorators]])


def _segment(lines: Sequence[str], node: ast.stmt) -> str:
    """`ast.get_source_segment`, without taking the whole source apart for every statement. Columns count bytes of
    UTF-8."""
    wanted = [line.encode() for line in lines[node.lineno - 1 : node.end_lineno]]
    wanted[-1] = wanted[-1][: node.end_col_offset]
    wanted[0] = wanted[0][node.col_offset :]
    return b"\n".join(wanted).decode()


def _base_of(node: ast.expr) -> set[str]:
    """The name at the left end of `a.b[c].d`, if there is one."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _at_once(node: ast.AST) -> Iterable[ast.AST]:
    """A statement and what is in it, without the bodies of functions and classes: what runs when it runs."""
    waiting = [node]
    while waiting:  # no recursion: expressions may be nested deeper than Python's stack
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            waiting += node.decorator_list
        elif not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _assigned_into(node: ast.stmt) -> set[str]:
    """The names whose items or attributes a statement assigns, in a loop or outside."""
    targets = (part for part in _at_once(node) if isinstance(part, (ast.Subscript, ast.Attribute)))
    return set().union(*(_base_of(target.value) for target in targets if isinstance(target.ctx, ast.Store)))


def _added_to(node: ast.stmt) -> set[str]:
    """The names to which a statement adds something: `table.update(...)`, `copied.register(dict, copy_dict)`, and as
    decorators `@copied.register` and `@table.add("name")`."""
    calls = [part.func for part in _at_once(node) if isinstance(part, ast.Call)]
    calls = [call for call in calls if isinstance(call, ast.Attribute) and call.attr in _ADDING]
    for decorator in getattr(node, "decorator_list", []):
        calls.append(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return set().union(*(_base_of(call) for call in calls if isinstance(call, ast.Attribute)))


@functools.lru_cache(maxsize=MOST_KEPT)  # a notebook is sliced once per exercise
def _statements(cell: Cell) -> tuple[_Statement, ...]:
    source = python_of(cell.source.replace("\r\n", "\n").replace("\r", "\n"))
    if source is None:
        return ()
    lines = source.split("\n")
    found = []
    for node in ast.parse(source).body:
        first = _first_line(node)
        segment = _segment(lines, node) if first == node.lineno else "\n".join(lines[first - 1 : node.end_lineno])
        statement = _Statement(cell.label, first, segment)
        try:
            _names(
                symtable.symtable(segment, cell.label, "exec"),
                True,
                statement.binds,
                statement.reads_now,
                statement.reads_later,
            )
        except (SyntaxError, ValueError):
            continue
        statement.imports = isinstance(node, (ast.Import, ast.ImportFrom))
        statement.adds_to = _added_to(node)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            statement.star_import = True
        statement.touches = _assigned_into(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            statement.reads_now.add(node.target.id)
        found.append(statement)
    return tuple(found)


def bound_names(source: str) -> set[str]:
    """The names a cell defines at its top level."""
    return set(_bound_names(source))


@functools.lru_cache(maxsize=MOST_KEPT)
def _bound_names(source: str) -> frozenset[str]:
    return frozenset().union(*(statement.binds for statement in _statements.__wrapped__(Cell(source, ""))))


def free_names(source: str) -> set[str]:
    """The names a cell reads without having defined them before; builtins left out."""
    python = python_of(source)
    if python is None:
        return set()
    bound: set[str] = set()
    free: set[str] = set()
    later: set[str] = set()
    _read_in_order(ast.parse(python).body, bound, free, later)
    return (free | (later - bound)) - _BUILTINS


def _read_in_order(nodes: Iterable[ast.AST], bound: set[str], free: set[str], later: set[str]) -> None:
    """Walk statements as they would run, into loops and blocks: what is read before it is bound is free."""
    for node in nodes:
        if isinstance(node, (ast.For, ast.While, ast.If)):
            _read_in_order([node.iter if isinstance(node, ast.For) else node.test], bound, free, later)
            if isinstance(node, ast.For):
                bound |= _stored(node.target)
            _read_in_order([*node.body, *node.orelse], bound, free, later)
        elif isinstance(node, ast.With):
            for item in node.items:
                _read_in_order([item.context_expr], bound, free, later)
                bound |= _stored(item.optional_vars)
            _read_in_order(node.body, bound, free, later)
        elif isinstance(node, ast.Try):
            _read_in_order(node.body, bound, free, later)
            for handler in node.handlers:
                _read_in_order([handler.type] if handler.type else [], bound, free, later)
                inside = bound | ({handler.name} if handler.name else set())
                _read_in_order(handler.body, inside, free, later)
                bound |= inside - {handler.name}
            _read_in_order([*node.orelse, *node.finalbody], bound, free, later)
        else:
            binds: set[str] = set()
            now: set[str] = set()
            _names(symtable.symtable(ast.unparse(node), "cell", "exec"), True, binds, now, later)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                now.add(node.target.id)
            free |= now - bound
            bound |= binds


def _stored(target: ast.AST | None) -> set[str]:
    """The names that a loop variable or `as` binds."""
    if target is None:
        return set()
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def defining_label(cells: Sequence[Cell], name: str) -> str | None:
    """The label of the last cell that defines `name` at its top level, or None."""
    for cell in reversed(cells):
        if any(name in statement.binds for statement in _statements(cell)):
            return cell.label
    return None


def slice_cells(cells: Sequence[Cell], names: Iterable[str], skip: Iterable[str] = ()) -> list[Chunk]:
    """The top-level statements that `names` reach, in the order of the cells.

    The last definition of a name counts, together with later assignments to its items and attributes; a definition that
    builds on an older one brings that along. Names in `skip` are left alone (they are provided otherwise). Unknown
    names are nobody's business here: running the slice will say `NameError` with the student's line.
    """
    found, _ = _reached(cells, names, skip)
    return [Chunk(statement.label, statement.line, statement.source) for statement in found]


def lacking_names(cells: Sequence[Cell], names: Iterable[str]) -> set[str]:
    """The names that `names` reach and that nothing in the cells defines, themselves included; builtins left out."""
    return _reached(cells, names, ())[1]


class _Reach:
    """The statements that bind each name, and those that a statement needs of those before it."""

    def __init__(self, statements: list[_Statement]):
        self.statements = statements
        self.binding: dict[str, list[int]] = {}  # name -> the statements that bind it, in their order
        self.touching: dict[str, list[int]] = {}
        for k, statement in enumerate(statements):
            for name in statement.binds:
                self.binding.setdefault(name, []).append(k)
        own = {name for name, places in self.binding.items() if not all(statements[k].imports for k in places)}
        for k, statement in enumerate(
            statements
        ):  # what decorators of modules (`@torch.no_grad()`) see is not kept there
            for name in statement.touches | (statement.adds_to & own):
                self.touching.setdefault(name, []).append(k)
        self.stars = [k for k, statement in enumerate(statements) if statement.star_import]

    def last_binding(self, name: str, before: int) -> int | None:
        """The last statement before `before` that binds the name."""
        places = self.binding.get(name, [])
        k = bisect.bisect_left(places, before)
        return places[k - 1] if k else None

    def touching_between(self, name: str, first: int, before: int) -> list[int]:
        """The statements from `first` on, up to `before`, that touch the name."""
        places = self.touching.get(name, [])
        return places[bisect.bisect_left(places, first) : bisect.bisect_left(places, before)]

    def needs(self, k: int) -> Iterable[tuple[str, int]]:
        """The names that statement k needs: (name, the statement before which it is looked for)."""
        statement, end = self.statements[k], len(self.statements)
        for name in statement.reads_now | statement.touches:
            if self.last_binding(name, k) is not None:
                yield name, k
            elif name not in statement.binds:
                yield name, end
        for name in statement.reads_later:
            yield name, end


def _reached(cells: Sequence[Cell], names: Iterable[str], skip: Iterable[str]) -> tuple[list[_Statement], set[str]]:
    """(the statements that `names` reach, in their order; the names that are nowhere defined)."""
    reach = _Reach([statement for cell in cells for statement in _statements(cell)])
    end, wanted, lacking = len(reach.statements), set(), set()
    looked_for = {(name, end) for name in names} - {(name, end) for name in skip}
    looked_up_to: dict[
        tuple[str, int], int
    ] = {}  # (name, the statement that binds it) -> what touches it before is known
    open_ends = list(looked_for)
    while open_ends:  # no recursion: a chain of definitions may be longer than Python's stack
        name, before = open_ends.pop()
        k = reach.last_binding(name, before)
        if k is not None:
            seen = looked_up_to.get((name, k), k + 1)
            found = {k, *reach.touching_between(name, seen, before)}
            looked_up_to[name, k] = max(seen, before)
        else:
            found = set() if name in _BUILTINS else {j for j in reach.stars if j < before}
            if not found and name not in _BUILTINS:
                lacking.add(name)
        for j in found - wanted:
            wanted.add(j)
            if k is None:
                continue
            more = {need for need in reach.needs(j) if need[0] not in skip} - looked_for
            looked_for |= more
            open_ends += more
    return [reach.statements[k] for k in sorted(wanted)], lacking


def execute(chunks: Iterable[Chunk], namespace: dict) -> None:
    """Run the chunks in `namespace`; tracebacks, `inspect` and `linecache` show each line under its cell's label and
    number."""
    shown: dict[str, list[str]] = {}
    for chunk in chunks:
        lines = shown.setdefault(chunk.label, [])
        text = chunk.source.split("\n")
        lines.extend([""] * (chunk.line - 1 + len(text) - len(lines)))
        lines[chunk.line - 1 : chunk.line - 1 + len(text)] = text
        linecache.cache[chunk.label] = (sum(map(len, lines)), None, [line + "\n" for line in lines], chunk.label)
        exec(compile("\n" * (chunk.line - 1) + chunk.source, chunk.label, "exec"), namespace)
