"""Harnesses and references as source text: the functions that stand around a student's on the ranks, and right answers
that stand in for one that is missing.

Both are ordinary functions beside a unit's `exercises.py`, in `harness.py` and `references.py`, where linters and
editors see them. They run in the student's processes, which cannot import the grader; so a function goes there as text,
with all that it needs of its file. What the harnesses of several units share lies in `autograder.exercises.harness` and
is imported from there.

    harness = harness_of(__file__, "prefetch")      # of the function `prefetch(f, batches, depth)` in harness.py
    reference = reference_of(__file__, "shard")     # the function `shard(flat, rank, p)` in references.py
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from labkit.cells.slicing import Cell, slice_cells

HARNESS, REFERENCES, ENGINE = "harness.py", "references.py", "autograder"
FUTURE = "from __future__ import annotations"


class harness_of:
    """The source of a harness, made when it is first asked for: most processes ask for few of them.

    file: the module of the exercise. name: of the function in the `harness.py` beside it; it is called `harness` in the
    source, behind everything of that module that it reaches. Raises LookupError where there is no such function.
    """

    def __init__(self, file: str | Path, name: str):
        self.path, self.name = Path(file).with_name(HARNESS), name

    def __get__(self, exercise: object, kind: type | None = None) -> str:
        return _source(self.path, self.name)


class reference_of(harness_of):
    """The source of a reference, a right answer that an exercise has.

    file: the module of the exercise. name: of the function in the `references.py` beside it; with everything of that
    module that it reaches. Raises LookupError where there is no such function.
    """

    def __init__(self, file: str | Path, name: str):
        self.path, self.name = Path(file).with_name(REFERENCES), name

    def __get__(self, exercise: object, kind: type | None = None) -> str:
        return _source(self.path, self.name, self.name)


@cache
def _source(path: Path, name: str, called: str = "harness") -> str:
    source = "\n\n".join(chunk.source for chunk in slice_cells([Cell(_flat(path), path.name)], [name]))
    renamed, found = re.subn(rf"^def {name}\(", f"def {called}(", source, flags=re.M)
    if found != 1:
        raise LookupError(f"{path} has no function {name}")
    return f"\n{renamed}\n"


@cache
def _flat(path: Path) -> str:
    """The module's source with the definitions that it imports from the grader in place of those imports."""
    source = path.read_text(encoding="utf-8").replace(FUTURE, "")
    lines = source.split("\n")
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == ENGINE:
            lines[node.lineno - 1 : node.end_lineno] = [source_of(node.module or "", *(a.name for a in node.names))]
    return "\n".join(lines)


def source_of(module: str, *names: str) -> str:
    """The definitions of those names in a module of the grader, and what they need of it. Raises LookupError."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise LookupError(f"there is no module {module}")
    return "\n\n".join(chunk.source for chunk in slice_cells([Cell(_flat(Path(spec.origin)), module)], names)) + "\n"
