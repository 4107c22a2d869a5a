"""The failures that follow from another one: two functions share a helper of the student's, and the same mistake shows
in both.

A mistake in such a helper costs once; whether it lies there, nothing here can prove. So points are named, never given:
a person decides about them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.verdict import CaseResult, Result
from labkit.cells.slicing import Chunk, bound_names

# Names that say that nothing is known of a mistake, or that nothing was written.
_NO_MISTAKE = ("", "unrecognised", "not_written", "missing", "syntax_error")
_PLACE = re.compile(r"(\S+(?: \d+)?), line (\d+)")


@dataclass(frozen=True)
class Judged:
    """A function that failed. chunks: of the student's own what it needs, itself included."""

    function: str
    result: Result
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Follows:
    """A failure that seems to follow from that of `function`. helpers: what both use. points: of the levels that failed
    in the same way, in points of the exercise."""

    function: str
    helpers: tuple[str, ...]
    points: int


def follows_from(one: Judged, earlier: Sequence[Judged]) -> Follows | None:
    """The earlier failed function from whose failure this one seems to follow, or None.

    The two share a helper, and a level fails in the same way in both: by the same mistake with a name, by the same
    exception raised inside of the helper, or by the same kind of hang at the same line of it.
    """
    for other in earlier:
        shared = _helpers(one, other)
        causes = [case for case in other.result.cases if case.verdict != "passed"]
        points = sum(
            level.points
            for level in one.result.levels
            if any(_same(case, cause, shared) for case in level.cases for cause in causes)
        )
        if shared and points:
            return Follows(other.function, tuple(sorted(set().union(*map(_defined, shared)))), points)
    return None


def _helpers(one: Judged, other: Judged) -> list[Chunk]:
    """The functions and classes that both need."""
    both = [chunk for chunk in one.chunks if chunk in other.chunks]
    return [chunk for chunk in both if _defined(chunk) - {one.function}]


def _defined(chunk: Chunk) -> set[str]:
    """The names of the functions and classes that a chunk defines; a constant or an import is no helper."""
    try:
        body = ast.parse(chunk.source).body
    except (SyntaxError, ValueError):  # a magic: whatever the line says, it defines nothing
        return set()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return bound_names(chunk.source) if body and isinstance(body[0], kinds) else set()


def _same(case: CaseResult, cause: CaseResult, shared: Sequence[Chunk]) -> bool:
    """True if two failed cases fail in the same way, for a reason that may lie in their common helpers."""
    if case.verdict in ("passed", "missing") or (case.verdict, case.diagnosis) != (cause.verdict, cause.diagnosis):
        return False
    if case.verdict == "wrong":
        return case.diagnosis not in _NO_MISTAKE
    places, others = set(_places(case)), set(_places(cause))
    return any(_lies_in(place, shared) for place in places & others)


def _places(case: CaseResult) -> Iterator[tuple[str, int]]:
    """The cells and lines that a failed case names: of an exception where it was raised, of a hang where ranks wait."""
    raised = case.verdict == "raised"
    rows = case.differs[:-1] if raised else case.differs  # the last line of an exception is its text
    found = [(label, int(line)) for text in rows for label, line in _PLACE.findall(text)]
    yield from found[-1:] if raised else found


def _lies_in(place: tuple[str, int], chunks: Sequence[Chunk]) -> bool:
    label, line = place
    return any(chunk.label == label and chunk.line <= line <= chunk.line + chunk.source.count("\n") for chunk in chunks)
