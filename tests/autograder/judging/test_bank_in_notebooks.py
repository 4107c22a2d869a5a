"""The bank's answers, written into the released notebooks: what the judge is given is what the bank's own test has
judged.

The right answers of all units, and units 02 and 08 judged as whole notebooks; in `make test-all` the wrong
answers, too, and every unit judged, with every exercise answered wrongly once.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import nbformat
import pytest
from machine import FULL, needs

from autograder.grading.submission import judging, reading, rebuilding
from autograder.judging import bank
from autograder.judging.bank import BankAnswer
from autograder.judging.hiding import REFERENCE
from autograder.judging.judge import Runners, chunks_of_file
from autograder.registry import find
from labkit.cells.slicing import bound_names

ROOT = Path(__file__).resolve().parents[3]
UNITS = sorted(path.parent.name for path in ROOT.glob("notebooks/*/*.ipynb"))
JUDGED = UNITS if FULL else [unit for unit in UNITS if unit[:2] in ("02", "08")]


@functools.cache
def released(unit: str) -> nbformat.NotebookNode:
    (path,) = (ROOT / "notebooks" / unit).glob("*.ipynb")
    return nbformat.read(path, as_version=4)


@functools.cache
def answers(unit: str) -> dict[str, list[BankAnswer]]:
    found: dict[str, list[BankAnswer]] = {}
    for answer in bank.answers(unit=unit):
        found.setdefault(answer.exercise.function, []).append(answer)
    return found


def rebuilt(unit: str, chosen: dict[str, BankAnswer]) -> rebuilding.Rebuilt:
    """The unit's notebook with these answers in its solution cells."""
    notebook = nbformat.from_dict(json.loads(json.dumps(released(unit))))
    cells = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    for function, answer in chosen.items():
        cells[function].source = answer.source
    return rebuilding.rebuild(released(unit), reading.read(json.dumps(notebook).encode()))


@pytest.mark.parametrize("unit", UNITS)
def test_what_reaches_the_judge_is_the_answer_and_nothing_else(unit):
    for function, written in answers(unit).items():
        for answer in (a for a in written if a.right or FULL):
            exercise, source = answer.exercise, answer.source
            found = rebuilt(unit, {function: answer})
            assert found.flags == [], answer.file
            item = next(item for item in found.items if item.function == function)
            chunks, note = found.chunks(item, exercise, set(exercise.uses))
            try:
                wanted = chunks_of_file(source, function, "bank")
            except (SyntaxError, ValueError):
                wanted = None
            if wanted is None:
                assert chunks is None, answer.file
                continue
            references = sum(chunk.label.startswith(REFERENCE) for chunk in chunks)
            assert references <= sum(bool(find(name).reference) for name in exercise.uses)
            assert bool(note) == bool(references), answer.file
            if not set(exercise.uses) & bound_names(source):
                found_sources, own = [c.source for c in chunks[references:]], [c.source for c in wanted]
                more = [text for text in found_sources if text not in own]
                assert all(text.startswith(("import ", "from ")) for text in more), (answer.file, more)
                assert [text for text in found_sources if text not in more] == own, answer.file


def frameworks_of(unit: str) -> set[str]:
    """What its exercises need besides PyTorch: "tensorflow", "horovod"."""
    exercises = [found[0].exercise for found in answers(unit).values()]
    return {exercise.runtime for exercise in exercises if exercise.needs_frameworks}


@pytest.fixture(scope="module")
def runners(warm):
    with Runners(warm) as one:
        yield one


def graded(unit: str, chosen: dict[str, BankAnswer], runners: Runners) -> dict[str, tuple[float, float]]:
    """function -> (points, points to be had)."""
    found = rebuilt(unit, chosen)
    result = judging.judge(found, unit, runners, key="a key nobody has seen")
    assert result.flags == []
    return {
        item.function: (grade.points, grade.max_points) for item, grade in zip(found.items, result.items, strict=True)
    }


@pytest.mark.timeout(1800 if FULL else 180)
@pytest.mark.parametrize("unit", [pytest.param(u, marks=needs(*frameworks_of(u))) for u in JUDGED])
def test_right_answers_get_full_points_and_a_wrong_one_loses_its_own_only(unit, runners):
    written = answers(unit)
    right = {function: [a for a in found if a.right] for function, found in written.items()}
    rounds = max(map(len, right.values())) if FULL else 1
    for k in range(rounds):
        for function, (got, possible) in graded(
            unit, {f: a[-1 - k % len(a)] for f, a in right.items()}, runners
        ).items():
            assert got == possible, (k, function)
    for function in list(written) if FULL else list(written)[:1]:
        wrong = next(a for a in written[function] if not a.right)
        for other, (got, possible) in graded(
            unit, {f: a[0] for f, a in right.items()} | {function: wrong}, runners
        ).items():
            assert (got == possible) == (other != function or possible == 0), (wrong.path, other)
