"""The lines of a right answer, and the ways of its branches, that some case takes.

The answer is judged once more with a note before each statement: the first time that a rank comes by, it appends the
note's number to a file. That works wherever ranks are processes of this machine, so under every runtime, with
TensorFlow's graphs as well (what is noted there is that the statement was traced). A branch without `else` gets one.
"""

from __future__ import annotations

import ast
import tempfile
from dataclasses import dataclass
from pathlib import Path

from autograder.exercise import PUBLIC_KEY
from autograder.holes.trying import MutantJudge

_NOTE = "_note_of_a_line"
_TOLD = """
def {name}(number, seen=set()):
    if number not in seen:
        seen.add(number)
        import os
        file = os.open({path!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(file, b"%d\\n" % number)
        os.close(file)
    return True
"""


@dataclass(frozen=True)
class Spot:
    """A place that a case may come by. what: "line" or the branch that is taken there."""

    line: int
    what: str
    text: str


@dataclass(frozen=True)
class Reached:
    """The spots that no case reached. unknown: why they could not be measured, "" if they were."""

    missed: tuple[Spot, ...] = ()
    unknown: str = ""
    spots: int = 0


class _Notes(ast.NodeTransformer):
    """Puts the notes in. spots: number -> place."""

    def __init__(self, lines: list[str]):
        self.lines, self.spots = lines, []

    def note(self, line: int, what: str = "line") -> ast.Call:
        self.spots.append(Spot(line, what, self.lines[line - 1].strip()))
        return ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(len(self.spots) - 1)], [])

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A function's or a branch's statements, each with its note before it."""
        found: list[ast.stmt] = []
        for node in body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not isinstance(node, (ast.Nonlocal, ast.Global)) and not is_text:
                found.append(ast.Expr(self.note(node.lineno)))
            found.append(self.visit(node))
        return found

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody"):
            inside = getattr(node, name, None)
            if isinstance(inside, list) and inside and not isinstance(node, (ast.Module, ast.ClassDef)):
                setattr(node, name, self.block(inside))
            elif isinstance(inside, list):
                setattr(node, name, [self.visit(one) for one in inside])
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    new = self.visit(child)
                    if isinstance(value, list):
                        value[value.index(child)] = new
                    else:
                        setattr(node, name, new)
        if isinstance(node, ast.If) and not node.orelse:
            node.orelse = [ast.Expr(self.note(node.lineno, "never false"))]
        if isinstance(node, ast.IfExp):
            node.body = ast.BoolOp(ast.And(), [self.note(node.lineno, "never true"), node.body])
            node.orelse = ast.BoolOp(ast.And(), [self.note(node.lineno, "never false"), node.orelse])
        return node


def with_notes(source: str, path: str) -> tuple[str, list[Spot]]:
    """The answer with notes that go to the file at `path`; and their places, by number."""
    tree = ast.parse(source)
    notes = _Notes(source.splitlines())
    tree = ast.fix_missing_locations(notes.visit(tree))
    return _TOLD.format(name=_NOTE, path=path) + ast.unparse(tree), notes.spots


def reached(judge: MutantJudge, source: str) -> Reached:
    """The spots of a right answer that the cases of the public key reach and miss."""
    with tempfile.TemporaryDirectory(prefix="holes-") as folder:
        path = Path(folder, "reached")
        changed, spots = with_notes(source, str(path))
        failed = judge.failure(changed, PUBLIC_KEY)
        if failed is not None:
            return Reached(unknown=f"with notes in it, it fails: {failed.verdict} {failed.diagnosis}")
        told = set(path.read_text().split()) if path.exists() else set()
        if not told:
            return Reached(unknown="no rank could write into the folder of the notes")
    missed = [spot for k, spot in enumerate(spots) if str(k) not in told]
    return Reached(tuple(sorted(missed, key=lambda s: (s.line, s.what))), spots=len(spots))
