"""Notebooks made from real ones by chance: each gets a verdict or a clear refusal, never a traceback or a stuck grader.

200 of them; in `make test-all` 10,000.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import nbformat
import numpy as np
import pytest
from machine import FULL
from mutations import mutate

from autograder.exercise import Opaque, Tensor, rng_for
from autograder.grading.submission import carding, finishing, judging, reading, rebuilding
from autograder.grading.submission.grades import Graded
from autograder.grading.submission.reading import Refused
from autograder.judging.judge import Runners, judge_case
from autograder.registry import all_exercises, find
from labkit.launch.launcher import Limits
from labkit.relay.outcome import Outcome, RankOutcome

ROOT = Path(__file__).resolve().parents[3]
HOW_MANY = 10_000 if FULL else 60
PARTS = 10
SECONDS_EACH = 60  # far more than any may take; a stuck one would take forever


def bases() -> list[tuple[nbformat.NotebookNode, dict, list[str]]]:
    """(released notebook, a right submission as JSON, its functions) of every unit that has exercises without
    communication.

    Only those exercises keep their points: thousands of notebooks are judged, and what ranks do to each other is not
    the point here.
    """
    found = []
    for solved_path in sorted((ROOT / "solutions").glob("[0-9]*/*.ipynb")):
        released = nbformat.read(ROOT / "notebooks" / solved_path.relative_to(ROOT / "solutions"), as_version=4)
        solved = nbformat.read(solved_path, as_version=4)
        functions = []
        for cell in released.cells:
            marks = cell.metadata.get("nbgrader")
            function = (
                rebuilding.checked_function(cell.source) if marks and marks.grade and cell.cell_type == "code" else ""
            )
            if function and find(function).runtime == "plain" and len(functions) < 2:
                functions.append(function)
            elif function:
                del cell.metadata["nbgrader"]
                del next(other for other in solved.cells if other.id == cell.id).metadata["nbgrader"]
        for cell in solved.cells:  # pictures, for a smaller notebook
            if len(json.dumps(cell)) > 20_000:
                cell.outputs = []
        if functions:
            found.append((released, json.loads(json.dumps(solved)), functions))
    return found


BASES = bases()


@pytest.fixture(scope="module")
def runners(warm):
    with Runners(warm, Limits(cpu_seconds=2, deadline=20)) as one:
        yield one


@pytest.mark.timeout(180 if HOW_MANY <= 200 else 7200)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_notebook_gets_a_verdict_or_a_refusal(part, runners):
    for number in range(part, HOW_MANY, PARTS):
        rng = random.Random(f"notebook {number}")
        released, solved, functions = rng.choice(BASES)
        content = mutate(solved, functions, rng)
        start = time.monotonic()
        try:
            graded, notebook = grade(released, content, runners)
        except Exception as error:
            raise AssertionError(f"notebook {number} of {functions}") from error
        assert time.monotonic() - start < SECONDS_EACH, f"notebook {number}"
        holds(released, graded, notebook, number)


def grade(released, content: bytes, runners) -> tuple[Graded, nbformat.NotebookNode]:
    try:
        submitted = reading.read(content)
    except Refused as refused:
        submitted = refused
    rebuilt = rebuilding.rebuild(released, submitted)
    assert finishing.digest(rebuilt, finishing.Terms(None, "key", "how", "full"))
    graded = judging.judge(rebuilt, None, runners, key="key")
    graded = Graded.from_json(json.loads(json.dumps(graded.to_json())))
    return graded, carding.carded(rebuilt, graded)


def holds(released, graded: Graded, notebook, number: int) -> None:
    """The cells and points are the released ones, what is shown is harmless, and no fault is ours."""
    assert not any(item.fault for item in graded.items), (number, [item.fault for item in graded.items])
    nbformat.validate(notebook)
    wanted = {
        c.metadata.nbgrader.grade_id: c.metadata.nbgrader.get("points")
        for c in released.cells
        if "nbgrader" in c.metadata
    }
    found = [
        (c.metadata.nbgrader.grade_id, c.metadata.nbgrader.get("points"))
        for c in notebook.cells
        if "nbgrader" in c.metadata
    ]
    assert len(found) == len(wanted) and dict(found) == wanted, number
    for item in graded.items:
        assert 0 <= item.points <= item.max_points, (number, item)
    for flag in graded.flags:
        assert "\n" not in flag.sentence and "<script" not in flag.sentence, (number, flag)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            assert "<script" not in cell.source and "](javascript" not in cell.source, number
    text = json.dumps(notebook, ensure_ascii=False)
    text.encode("utf-8")
    assert "<script" not in text.replace("'<script", "").replace('\\"<script', ""), number


def test_the_bases_get_full_points(runners):
    """Otherwise the notebooks above would be judged for nothing."""
    for released, solved, functions in BASES:
        graded, _ = grade(released, json.dumps(solved).encode(), runners)
        assert graded.flags == [] and graded.points == graded.max_points, (functions, graded)
        assert len(graded.items) == len(functions)


RETURNED = [
    None, True, -1, 10**400, float("nan"), 1 + 2j, "text", b"bytes", [], {}, (1,), [None], [1, "a"], [[1, 2], [3]], [(1, 2), (3, 4)],
    ((1, 2), (3, (4,))), [[[[1]]], {"a": (1, 2)}, "text"], [float("inf")] * 3, [[1.5]] * 4, {"a": {"b": None}}, {"a": np.zeros(3)},
    [np.zeros(2), "a"], np.zeros(0), np.array(5), np.zeros((2, 2, 2, 2)), np.array([1 + 2j]), np.array(["a", "b"]),
    Tensor(np.zeros(3), "float32"), Tensor(np.zeros((2, 3)), "complex64"), [Tensor(np.zeros(3), "float32")] * 2, Opaque("a lock"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of numpy, about such values
@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: f"{e.unit[:2]}-{e.function}")
def test_whatever_a_function_returns_gets_a_verdict(exercise):
    """In the judge's own process: the comparison, the diagnoses and the card must cope with any plain value."""
    cases = {case.level: case for case in exercise.cases(rng_for(exercise))}
    for value in RETURNED:
        for case in cases.values():
            ranks = [RankOutcome("returned", value=value, after=case.arguments_of(r)) for r in range(case.world_size)]
            result = judge_case(exercise, case, Outcome(ranks, [], [], None, False), [{}] * case.world_size)
            assert result.verdict in ("passed", "wrong"), value
            json.dumps(result.to_json())
