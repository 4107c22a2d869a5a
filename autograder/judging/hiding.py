"""Results of answers beside which a reference of the course runs: an answer could read it there, so nothing that it
says in words or numbers of its own choice is told."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from autograder.exercise import Exercise
from autograder.judging.diagnoses import BUILT_IN, diagnosis_of, how_to_mend
from autograder.verdict import CaseResult, Result
from labkit.cells.slicing import Chunk
from labkit.watch import hang

REFERENCE = "reference of "  # how the label of a reference's chunk begins


def references_in(chunks: Sequence[Chunk]) -> list[str]:
    """The functions whose references are among the chunks."""
    return [chunk.label.removeprefix(REFERENCE) for chunk in chunks if chunk.label.startswith(REFERENCE)]


def without_words(exercise: Exercise, result: Result, names: Sequence[str]) -> Result:
    """The result, changed: what the answer printed, raised and returned is left out, and so are its messages, their
    picture and what was measured beside its own code. Left are the verdicts, and the mistakes in the course's own
    words. names: the functions whose references stood in."""
    what = "that" if len(names) == 1 else "these"
    if len(names) == 0:
        return result
    silent = [_is_silent(case) for case in result.cases]
    for case in result.cases:
        _hide(exercise, case)
    if not all(silent):
        said = (
            f"While the course's own {' and '.join(names)} stands in, what your function prints, raises and returns "
            f"is not shown. To see it, solve {what} first, or call your function in a cell of your own."
        )
        result.note = f"{result.note} {said}".strip()
    result.records = [record for record in result.records if record.counted]
    return result


def _is_silent(case: CaseResult) -> bool:
    return case.verdict in ("passed", "missing") and not case.printed


def _hide(exercise: Exercise, case: CaseResult) -> None:
    case.printed, case.differs, case.moved, case.events = [], [], "", ()
    case.records = tuple(record for record in case.records if record.counted)
    if case.verdict == "passed":
        return
    name = case.diagnosis
    if name in exercise.diagnoses or name in BUILT_IN or name in hang.KINDS:
        text = diagnosis_of(exercise, name)
        case.why, case.how = text.why, "" if name == "unrecognised" else text.how
        return
    kind = getattr(builtins, name, None)
    known = isinstance(kind, type) and issubclass(kind, BaseException)
    case.diagnosis = name if known else "Exception"
    case.why = f"Your function, or what it calls, raised {name}." if known else "Your function raised an exception."
    case.how = how_to_mend(name, "") if known else ""
