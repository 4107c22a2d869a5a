"""The mutants of an answer: its text with one small change, by every operator at every place, in a fixed order."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from autograder.holes.operators import OPERATORS, NodePlace


@dataclass(frozen=True)
class Mutant:
    """An answer with one change. old, new: the lines that the change touches, without the blanks around them.
    occurrence: how many mutants of the same operator, `old` and `new` stand before it in the file."""

    operator: str
    line: int
    column: int
    old: str
    new: str
    source: str
    occurrence: int = 0

    @property
    def name(self) -> str:
        """Operator, line and column (from 1), by which it is listed."""
        return f"{self.operator}:{self.line}:{self.column}"

    @property
    def identity(self) -> tuple[str, str, str, int]:
        """The key by which it is recognised after edits elsewhere in the file."""
        return self.operator, self.old, self.new, self.occurrence


class SourceText:
    """A source whose nodes can be read and replaced. Columns of `ast` count bytes of UTF-8."""

    def __init__(self, source: str):
        self.bytes = source.encode()
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The offsets at which a node begins and ends."""
        begin = self.starts[node.lineno - 1] + node.col_offset
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        begin, end = self.span(node)
        return self.bytes[begin:end].decode()

    def replaced(self, node: ast.AST, text: str) -> tuple[str, str, str]:
        """The whole source with another text in the place of a node; the lines it touches as they were; as they are."""
        begin, end = self.span(node)
        first = self.bytes.rfind(b"\n", 0, begin) + 1
        last = self.bytes.find(b"\n", end)
        last = len(self.bytes) if last < 0 else last
        old = self.bytes[first:last].decode()
        new = (self.bytes[first:begin] + text.encode() + self.bytes[end:last]).decode()
        return (self.bytes[:first] + new.encode() + self.bytes[last:]).decode(), _stripped(old), _stripped(new)


def _stripped(lines: str) -> str:
    return "\n".join(line.strip() for line in lines.strip().split("\n"))


def candidates(source: str, function: str) -> list[Mutant]:
    """The candidates that the operators make of an answer to the exercise of that function, by line, column and
    operator: some are no programs, and some are the same."""
    tree, text, found = ast.parse(source), SourceText(source), []
    for place in _places(tree, text, function):
        for name, of in OPERATORS.items():
            for node, new in of(place):
                changed, was, is_now = text.replaced(node, new)
                if was != is_now:
                    found.append(Mutant(name, node.lineno, node.col_offset + 1, was, is_now, changed))
    found.sort(key=lambda m: (m.line, m.column))  # those of one place stay in the order of the operators
    before: dict[tuple, int] = {}
    for k, one in enumerate(found):
        alike = (one.operator, one.old, one.new)
        found[k] = replace(one, occurrence=before.get(alike, 0))
        before[alike] = before.get(alike, 0) + 1
    return found


def mutants(source: str, function: str) -> list[Mutant]:
    """Every mutant of an answer to the exercise of that function, by line, column and operator. One that is the same
    program as the answer, or as another mutant, is left out."""
    seen = {_program(source)}
    found = []
    for one in candidates(source, function):
        program = _program(one.source)
        if program not in seen | {""}:
            seen.add(program)
            found.append(one)
    return found


def _program(source: str) -> str:
    """The program as a tree, the same for two ways to write it; "" where it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "is not" with a literal
            tree = ast.parse(source)
            compile(tree, "mutant", "exec")
    except (SyntaxError, ValueError):
        return ""
    return ast.dump(tree)


def _places(tree: ast.Module, text: SourceText, function: str) -> Iterator[NodePlace]:
    """Yields every node that may be changed, with the node it stands in. Imports, annotations, docstrings and texts
    with values in them stay as they are."""

    def walk(node: ast.AST, inside: str) -> Iterator[NodePlace]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or isinstance(child, (ast.Import, ast.ImportFrom, ast.JoinedStr)):
                    continue
                returned = isinstance(node, ast.Return) and inside == function
                yield NodePlace(child, node, text.of, returned)
                named = isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef))
                yield from walk(child, getattr(child, "name", "") if named else inside)

    yield from walk(tree, "")
