"""Harnesses and references as source text: the functions that stand around a student's on the ranks, and the right
answers that stand in for one that is missing. Both run in the student's processes, which cannot import the grader.

A unit's harnesses are ordinary functions in `harness.py` beside its `exercises.py`, where linters and editors see them.
A harness goes to the ranks with all that it needs of its file. What several units share lies in
`autograder.exercises.harness` and is imported from there. A reference is one of the bank's right answers.

    harness = harness_of(__file__, "prefetch")            # of the function `prefetch(f, batches, depth)` in harness.py
    reference = reference_of(__file__, "right_formula")   # of the answers to this exercise, in answers/
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from autograder.answers import read
from labkit.cells.slicing import Cell, slice_cells

HARNESS, ANSWERS, ENGINE = "harness.py", "answers", "autograder"
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


class reference_of:
    """The source of a right answer of the bank, read when it is first asked for; "" where there is no bank, as in the
    copies that students get.

    file: the module of the exercise. name: of the answer. Raises LookupError where the bank has no such answer.
    """

    def __init__(self, file: str | Path, name: str):
        self.path, self.name = Path(file).with_name(ANSWERS), name

    def __get__(self, exercise: object, kind: type) -> str:
        return _answer(self.path / f"{kind.function}.py", self.name)


@cache
def _answer(path: Path, name: str) -> str:
    if not path.is_file():
        return ""
    found = next((entry.text for entry in read(path) if entry.name == name), None)
    if found is None:
        raise LookupError(f"{path} has no answer {name}")
    return found


@cache
def _source(path: Path, name: str) -> str:
    source = "\n\n".join(chunk.source for chunk in slice_cells([Cell(_flat(path), HARNESS)], [name]))
    renamed, found = re.subn(rf"^def {name}\(", "def harness(", source, flags=re.M)
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
