"""The cells of a notebook that do the same whether its exercises are solved or not."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IN_ORDER = {  # the parts of a statement, in the order in which they run; others as they stand in the syntax tree
    ast.Assign: ("value", "targets"),
    ast.AnnAssign: ("value", "target"),
    ast.For: ("iter", "target", "body", "orelse"),
    ast.comprehension: ("iter", "target", "ifs"),
    ast.ListComp: ("generators", "elt"),
    ast.SetComp: ("generators", "elt"),
    ast.GeneratorExp: ("generators", "elt"),
    ast.DictComp: ("generators", "key", "value"),
}
# What a program calls of these changes no object that a cell below needs (of `ranks`, start and stop do).
MODULES = {"torch", "dist", "plt", "np", "time", "os", "sys", "nn", "F", "tf", "charts", "MPI", "comm", "random"}
MODULES |= {"collectives", "devices", "eight_steps", "given", "image_lab", "mpi_pi"}  # of labkit.lessons
MODULES |= {"precision", "replicas", "roofline", "traces"}  # the same
MODULES |= {"divided", "meshes", "networks", "sampled", "tiles", "timings"}  # of labkit.plots


class Cell(NamedTuple):
    """The names of a cell's program: those that it `reads` before it binds them, those that it `sets` to a value of its
    own, and those whose object it may have changed. `free`: its functions and what they will read when they are called.
    `unclear`: no plain Python, so nobody can tell.
    """

    reads: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    free: dict[str, set[str]] = {}
    unclear: bool = False


def same_in_both(sources: Sequence[str], answers: set[str], kept: set[int], files: tuple[Path, Path]) -> set[int]:
    """The places of cells that neither need an answer nor set what a kept cell needs.

    sources: the code cells of the unsolved notebook in their order. answers: the functions to be written. kept: places
    of cells to keep whatever they need. files: the folders beside the unsolved and the solved notebook; a cell that
    names a file that is not the same in both is kept.
    """
    cells = with_all_that_is_called([parsed(source) for source in sources])
    theirs = {path.name for path in files[0].iterdir() if path.is_file() and not same_file(path, files[1] / path.name)}
    needed = kept | {k for k, source in enumerate(sources) if cells[k].unclear or any(one in source for one in theirs)}
    missing = set(answers)
    for k, cell in enumerate(cells):
        if cell.reads & missing:
            needed.add(k)
            missing |= cell.sets | cell.changes - {"ranks"}
        elif k not in kept:
            missing -= cell.sets
    folders = {name for source in sources for name in folders_made(source)}
    before: set[int] = set()
    while before != needed:
        before = needed
        needed = with_what_sets(cells, needed)
        used = folders & set().union(*(cells[k].reads | cells[k].sets for k in needed))
        needed |= {k for k, cell in enumerate(cells) if (cell.reads | cell.sets) & used}
    return set(range(len(cells))) - needed


def with_what_sets(cells: Sequence[Cell], needed: set[int]) -> set[int]:
    """The needed cells and those that set what they read."""
    every, wanted = set(needed), set()
    for k, cell in reversed(list(enumerate(cells))):
        if k in every or (cell.sets | cell.changes) & wanted:
            every.add(k)
            wanted = wanted - cell.sets | cell.reads
    return every


def folders_made(source: str) -> list[str]:
    """Names of temporary folders: what one cell writes there another may read."""
    return re.findall(r"^(\w+) = .*\b(?:TemporaryDirectory|mkdtemp)\(", source, re.MULTILINE)


def with_all_that_is_called(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that read, besides, what the page's functions read that they name, those of a later cell included."""
    free: dict[str, set[str]] = {}
    for cell in cells:
        for name, names in cell.free.items():
            free.setdefault(name, set()).update(names)

    def read(names: frozenset[str]) -> frozenset[str]:
        every = names.union(*(free.get(name, ()) for name in names))
        return every if every == names else read(every)

    return [cell._replace(reads=read(cell.reads) - (cell.sets - cell.reads)) for cell in cells]


def same_file(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def parsed(source: str) -> Cell:
    """The names of a cell's program. One on ranks reads `ranks`, too."""
    first, _, rest = source.partition("\n")
    on_ranks = first.startswith("%%ranks")
    python = rest if on_ranks or first.startswith(("%%time", "%%capture")) else source
    try:
        tree, table = ast.parse(python), symtable.symtable(python, "cell", "exec")
    except SyntaxError:  # %%bash, %%writefile, a line that begins with !
        return Cell(unclear=True)
    free: dict[str, set[str]] = {}
    for child in table.get_children():
        free[child.get_name()] = free.get(child.get_name(), set()) | free_names(child)
    reads, sets = ({"ranks"} if on_ranks else set()), set()
    for name, kind in uses(tree, free):
        if kind == "read" and name not in sets:
            reads.add(name)
        elif kind == "set":
            sets.add(name)
    return Cell(frozenset(reads), frozenset(sets), frozenset(changed(tree) - sets), free)


def free_names(table: symtable.SymbolTable) -> set[str]:
    """The cell's names that a function or class of it, and what is in that, refers to."""
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and symbol.is_global()}
    return own.union(*map(free_names, table.get_children()))


def uses(node: ast.AST, free: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """(name, "read" or "set") of a program's names in the order in which it runs. A name in a string is read, too:
    `ranks.pull("losses")`.
    """
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            yield name, "read"
        case ast.Name(id=name):
            yield name, "set"
        case ast.Constant(value=str(text)) if text.isidentifier():
            yield text, "read"
        case ast.alias(name=name, asname=asname):
            yield asname or name.partition(".")[0], "set"
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, "read"
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        name = getattr(node, "name", "lambda")
        outside = [*getattr(node, "decorator_list", []), *getattr(node, "bases", []), node_defaults(node)]
        for part in filter(None, outside):
            yield from uses(part, free)
        yield from ((one, "read") for one in sorted(free.get(name, ())))
        yield from [(name, "set")] * isinstance(node, DEFINITIONS)
        return
    for field in IN_ORDER.get(type(node), node._fields):
        value = getattr(node, field, None)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from uses(part, free)


def node_defaults(node: ast.AST) -> ast.Tuple | None:
    """The default values of a function's parameters, which are computed where it is defined."""
    arguments = getattr(node, "args", None)
    return arguments and ast.Tuple([*arguments.defaults, *filter(None, arguments.kw_defaults)], ast.Load())


def changed(tree: ast.Module) -> set[str]:
    """Names whose object a program may change: `x.y = 1`, `x[0] += 1`, `x.append(1)`."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                found |= root_of(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as called)):
                found |= root_of(called)
    return found - MODULES


def root_of(node: ast.AST) -> set[str]:
    """The name at the beginning of `x.y[0].z`, if it is one."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()
