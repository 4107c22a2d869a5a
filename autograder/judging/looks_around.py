"""Tells answers that look into what has called them, or replace what others call: a person should read them.

Nobody needs that to solve an exercise, and somebody determined can hide it; so it changes no verdict.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator

_NAMES = frozenset(
    "__closure__ cell_contents __globals__ f_back f_locals f_globals tb_frame gi_frame cr_frame ag_frame _getframe"
    " _current_frames _current_exceptions get_referrers get_referents get_objects settrace setprofile currentframe"
    " getclosurevars getouterframes getinnerframes getcoroutinelocals getgeneratorlocals __subclasses__ ctypes".split()
)
_OURS = ("autograder", "harness", "labkit.launch", "labkit.relay", "labkit.watch")  # what judges and counts
_STACKS = frozenset(("stack", "trace"))  # of the module inspect; torch has a function of that name


def looks_around(sources: Iterable[str]) -> list[str]:
    """The names by which these pieces of Python look around, in order: "f_back", "itertools.islice = ..."."""
    nodes: list[ast.AST] = []
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            nodes += ast.walk(ast.parse(source))
    modules = {name for node in nodes for name in _imported(node)}
    found: dict[str, None] = {}
    for node in nodes:
        found |= dict.fromkeys([*_names(node), *_replaced(node, modules)])
    return list(found)


def _imported(node: ast.AST) -> Iterator[str]:
    """Yields the names that an import binds to modules."""
    if isinstance(node, ast.Import):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _paths(node: ast.Import | ast.ImportFrom) -> list[str]:
    within = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
    return [f"{within}{alias.name}" for alias in node.names]


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        if node.attr in _STACKS and isinstance(node.value, ast.Name) and node.value.id == "inspect":
            yield f"inspect.{node.attr}"
        names: tuple = (node.attr,)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (path for path in _paths(node) if any(f"{path}.".startswith(f"{one}.") for one in _OURS))
        names = tuple(part for alias in node.names for part in alias.name.split("."))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        names = (node.value,)  # getattr(f, "__closure__")
    else:
        names = ()
    yield from (name for name in names if name in _NAMES)


def _replaced(node: ast.AST, modules: set[str]) -> Iterator[str]:
    """Yields a module's function that is given another meaning: "itertools.islice = ..."."""
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Lambda, ast.Name)):
        targets = [one for one in node.targets if isinstance(one, ast.Attribute)]
        yield from (f"{ast.unparse(one)} = ..." for one in targets if _root(one) in modules)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
        if node.args and _root(node.args[0]) in modules:
            yield f"{node.func.id}({ast.unparse(node.args[0])}, ...)"


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
