"""Lean cells: a cell computes, a call draws. Short cells, lines that need no scrolling, an alternative text for every
picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_notebooks as builder  # noqa: E402

LINES = 25  # of a cell; an exercise's stub and a program file may be longer
COLUMNS = 88  # what Lab shows beside its panel, and the site on a laptop
GIVEN = 250  # lines of code in a page that nobody has to write; what a student need not read lies in labkit.lessons
LEAN = builder.units(ROOT)
every_lean_unit = pytest.mark.parametrize("unit", LEAN)


def code_of(unit: str) -> list[nbformat.NotebookNode]:
    source = builder.source_of(ROOT, unit)
    return builder.code_cells(jupytext.read(source, fmt="py:percent"))


@every_lean_unit
def test_cells_are_short_and_their_lines_not_wide(unit):
    for cell in code_of(unit):
        source = cell.source.strip("\n")
        first = source.partition("\n")[0]
        if "### BEGIN SOLUTION" not in source and not source.startswith("%%writefile"):
            lines = len(source.split("\n"))
            assert lines <= LINES, f"{lines} lines in the cell that begins with {first!r}: cut it, or see labkit.plots"
        wide = [line for line in source.split("\n") if len(line) > COLUMNS]
        assert not wide, f"wider than {COLUMNS} characters: {wide[0]}"


def given_lines(unit: str) -> int:
    """The lines in the student's notebook that nobody has to write: all but blank ones in cells that are neither an
    exercise nor a check and become no file, with comments, the recap and the card.
    """
    count = 0
    for cell in builder.code_cells(nbformat.read(builder.solved_of(ROOT, unit), as_version=4)):
        if "nbgrader" not in cell.metadata and not cell.source.startswith("%%writefile"):
            count += sum(line.strip() != "" for line in cell.source.split("\n"))
    return count


@every_lean_unit
def test_a_page_is_given_little_code(unit):
    count = given_lines(unit)
    assert count <= GIVEN, f"{count} lines, at most {GIVEN}: what need not be read belongs in labkit.lessons"


@every_lean_unit
def test_every_picture_has_an_alternative_text(unit):
    """One text for each picture of a cell, as the metadata `alt` of the cell in the .py: a sentence, or a list."""
    executed = nbformat.read(builder.solved_of(ROOT, unit), as_version=4)
    for cell in builder.code_cells(executed):
        pictures = sum(any(kind.startswith("image/") for kind in one.get("data", {})) for one in cell.outputs)
        alt = cell.metadata.get("alt", [])
        texts = [alt] if isinstance(alt, str) else alt
        first = cell.source.partition("\n")[0]
        assert len(texts) == pictures, f"{pictures} pictures and {len(texts)} texts, cell {first!r}"
        assert all(len(text) > 20 for text in texts), f"too short, cell {first!r}: {texts}"
