"""The helpers of an answer: the student's own earlier functions, or the reference where one of these is wrong or
missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from autograder.exercise import Exercise
from autograder.registry import find
from autograder.verdict import Result
from labkit.cells.slicing import Cell, Chunk, defining_label, slice_cells

if TYPE_CHECKING:
    pass


REFERENCE = "reference of "  # how the label of a reference's chunk begins


def judge_with_its_helpers(
    exercise: Exercise,
    chunks_for: Callable[..., tuple[list[Chunk] | None, str]],
    judge_chunks: Callable[[list[Chunk] | None, str], Result],
    failed: set[str],
) -> Result:
    """A function is judged with the student's functions of earlier exercises that it calls. One that has passed its own
    check may still not fit here (another data type, say): then the references count, where they give more points. A
    mistake costs its own exercise.

    chunks_for(failed), chunks_for(failed, why): what travels to the ranks when the references of these functions stand
    in, and a note (see `slice_for`); failed: those that did not pass.
    """
    chunks, note = chunks_for(failed)
    result = judge_chunks(chunks, note)
    if result.verdict == "passed" or not chunks or not set(exercise.uses) - failed:
        return result
    instead, note = chunks_for(
        failed | set(exercise.uses), "with yours it does not work, though they may pass their own checks"
    )
    own, own_instead = ([c for c in some if not c.label.startswith(REFERENCE)] for some in (chunks, instead))
    if own == own_instead:  # it calls none of them
        return result
    other = judge_chunks(instead, note)
    return other if other.score > result.score else result


def slice_for(
    exercise: Exercise, cells: list[Cell], failed: set[str], why: str = "yours does not pass yet"
) -> tuple[list[Chunk], str]:
    """The source that `exercise.function` needs, and a note about stand-ins. References stand in for functions of
    earlier exercises that failed or are missing; the note says so, with `why` as its reason."""
    stand_ins = []
    for name in exercise.uses:
        used = find(name)
        if used.reference and (name in failed or defining_label(cells, name) is None):
            stand_ins.append(used)
    chunks = slice_cells(cells, [exercise.function], skip={e.function for e in stand_ins})
    references = [Chunk(f"{REFERENCE}{e.function}", 1, e.reference) for e in stand_ins]
    names = " and ".join(e.function for e in stand_ins)
    note = f"Checked with the course's own {names}, because {why}." if stand_ins else ""
    return [*references, *chunks], note
