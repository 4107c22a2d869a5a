"""The helpers of an answer: the student's own earlier functions, or the reference where one of these is wrong or
missing."""

from __future__ import annotations

import re
from collections.abc import Callable

from autograder.exercise import Exercise
from autograder.judging.hiding import REFERENCE, references_in, without_words
from autograder.registry import find
from autograder.verdict import Result
from labkit.cells.slicing import Cell, Chunk, defining_label, slice_cells


def judge_with_its_helpers(
    exercise: Exercise,
    chunks_for: Callable[..., tuple[list[Chunk] | None, str]],
    judge_chunks: Callable[[list[Chunk] | None, str], Result],
    failed: set[str],
    forget: Callable[[], None] = lambda: None,
) -> Result:
    """A function is judged with the student's functions of earlier exercises that it calls. One that has passed its own
    check may still not fit here (another data type, say): then the references count, where they give more points. A
    mistake costs its own exercise.

    chunks_for(failed), chunks_for(failed, why): what travels to the ranks when the references of these functions stand
    in, and a note (see `slice_for`); failed: those that did not pass. forget: ends the processes in which a reference
    has run, so that no later case can tell what was read there.
    """

    def judged(chunks: list[Chunk] | None, note: str) -> Result:
        """The result of these chunks. An answer could tell a reference that stands in: then it tells nothing."""
        result, stand_ins = judge_chunks(chunks, note), references_in(chunks or [])
        if stand_ins:
            forget()
        return without_words(exercise, result, stand_ins)

    chunks, note = chunks_for(failed)
    result = judged(chunks, note)
    if result.verdict == "passed" or not chunks or not set(exercise.uses) - failed:
        return result
    instead, note = chunks_for(
        failed | set(exercise.uses), "with yours it does not work, though they may pass their own checks"
    )
    own, own_instead = ([c for c in some if not c.label.startswith(REFERENCE)] for some in (chunks, instead))
    if own == own_instead:  # it calls none of them
        return result
    other = judged(instead, note)
    return other if other.score > result.score else result


def slice_for(
    exercise: Exercise, cells: list[Cell], failed: set[str], why: str = "yours does not pass yet"
) -> tuple[list[Chunk], str]:
    """The source that `exercise.function` needs, and a note about stand-ins. References stand in for functions of
    earlier exercises that failed or are missing; the note says so, with `why` as its reason."""
    absent = {e.function: e for e in map(find, exercise.uses) if e.reference}
    absent = {name: e for name, e in absent.items() if name in failed or defining_label(cells, name) is None}
    chunks = slice_cells(cells, [exercise.function], skip=set(absent))
    stand_ins = _called(absent, [chunk.source for chunk in chunks])
    references = [Chunk(f"{REFERENCE}{e.function}", 1, e.reference) for e in stand_ins]
    names = " and ".join(e.function for e in stand_ins)
    note = f"Checked with the course's own {names}, because {why}." if stand_ins else ""
    return [*references, *chunks], note


def _called(exercises: dict[str, Exercise], sources: list[str]) -> list[Exercise]:
    """Those exercises, by name, that these sources name, or the reference of one that they name. What nobody calls is
    not put where it could be read."""
    found: dict[str, Exercise] = {}
    while True:
        text = "\n".join([*sources, *(e.reference for e in found.values())])
        more = {n: e for n, e in exercises.items() if n not in found and re.search(rf"\b{n}\b", text)}
        if not more:
            return [e for name, e in exercises.items() if name in found]
        found |= more
