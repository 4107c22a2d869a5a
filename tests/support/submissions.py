"""Made-up submissions for tests: a small assignment with the course's own checks, and ways to hand it in."""

from __future__ import annotations

import json

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

SETUP = """import math

import numpy as np
import torch
import torch.distributed as dist

from autograder import check

RADIUS = 0.5"""

ANSWERS = {
    "count_inside": """def count_inside(x: np.ndarray, y: np.ndarray) -> int:
    ### BEGIN SOLUTION
    return int((np.hypot(x, y) < RADIUS).sum())  # only in the solution
    ### END SOLUTION""",
    "fair_share": """def fair_share(n: int, rank: int, world_size: int) -> tuple[int, int]:
    ### BEGIN SOLUTION
    base, rest = divmod(n, world_size)  # only in the solution
    first = rank * base + min(rank, rest)
    return first, first + base + (rank < rest)
    ### END SOLUTION""",
    "twice": """def twice(x):
    ### BEGIN SOLUTION
    return 2 * x  # only in the solution
    ### END SOLUTION""",
}
ESSAY = """### BEGIN SOLUTION
The rubric: 5 points for the word latency.
### END SOLUTION"""
TEST = """assert twice(2) == 4
### BEGIN HIDDEN TESTS
assert twice(-3) == -6
### END HIDDEN TESTS"""
PARTLY = "sum(twice(k) == 2 * k for k in range(4)) / 2"
POINTS = {"check_count_inside": 2, "check_fair_share": 4, "test_twice": 3, "test_twice_partly": 2}


def marks(grade_id: str, **flags) -> dict:
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    return {"nbgrader": {**plain, "grade_id": grade_id, **flags}}


def answer_cell(name: str) -> NotebookNode:
    return new_code_cell(ANSWERS[name], id=name, metadata=marks(name, solution=True))


def graded_cell(grade_id: str, source: str) -> NotebookNode:
    return new_code_cell(
        source, id=grade_id, metadata=marks(grade_id, grade=True, locked=True, points=POINTS[grade_id])
    )


def source_notebook() -> NotebookNode:
    """As it stands in source/: two checks, two tests of an instructor's own, one written answer."""
    cells = [
        new_markdown_cell("# Homework", id="title"),
        new_code_cell(SETUP, id="setup"),
        answer_cell("count_inside"),
        graded_cell("check_count_inside", "check(count_inside)"),
        new_code_cell("print(count_inside(np.zeros(3), np.zeros(3)))", id="look"),
        answer_cell("fair_share"),
        graded_cell("check_fair_share", "check(fair_share)"),
        answer_cell("twice"),
        graded_cell("test_twice", TEST),
        graded_cell("test_twice_partly", PARTLY),
        new_markdown_cell(ESSAY, id="why", metadata=marks("why", grade=True, solution=True, points=5)),
    ]
    notebook = new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def released_notebook() -> NotebookNode:
    """What submissions are rebuilt from: no solutions, all tests."""
    notebook = source_notebook()
    for cell in notebook.cells:
        if "BEGIN SOLUTION" in cell.source:
            cell.source = stub(cell.source) if cell.cell_type == "code" else "*Write your answer here.*"
        if "BEGIN HIDDEN" in cell.source:
            cell.as_released = cell.source.split("\n")[0]
    return notebook


def stub(source: str) -> str:
    head = source.split("\n")[0]
    return f'{head}\n    # Your code here: replace the next line.\n    raise NotImplementedError("write this function")'


def solved(source: str) -> str:
    """The text of a right answer, without marks and comments."""
    return "\n".join(line.split("  #")[0] for line in source.split("\n") if "###" not in line)


def handed_in(right: bool = True) -> NotebookNode:
    """What a student has: as released, without the hidden tests; with right answers if asked for."""
    notebook = released_notebook()
    for cell in notebook.cells:
        cell.source = cell.pop("as_released", cell.source)
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if right and grade_id in ANSWERS:
            cell.source = solved(ANSWERS[grade_id])
        if right and grade_id == "why":
            cell.source = "Because of the latency."
    return notebook


def cell_of(notebook: NotebookNode, name: str) -> NotebookNode:
    return next(c for c in notebook.cells if c.id == name)


def place_of(notebook: NotebookNode, name: str) -> int:
    return next(k for k, c in enumerate(notebook.cells) if c.id == name)


def as_bytes(notebook: NotebookNode) -> bytes:
    return json.dumps(notebook).encode()
