"""The cards that a solution shows are those of its exercises as they are now: a level that has another name since shows
its new one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_notebooks as builder  # noqa: E402

from autograder import registry  # noqa: E402

UNITS = sorted({exercise.unit for exercise in registry.all_exercises()})


@pytest.mark.parametrize("unit", UNITS)
def test_stored_cards_have_the_levels_of_the_exercises(unit):
    solution = nbformat.read(builder.solved_of(ROOT, unit), as_version=4)
    checks = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in builder.code_cells(solution)
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    looked_at = 0
    for exercise in registry.all_exercises():
        cell = checks.get(f"check_{exercise.function}")
        if exercise.unit != unit or cell is None:
            continue
        (card,) = [output.data for output in cell.outputs if "text/html" in output.get("data", {})]
        looked_at += 1
        for level in exercise.levels:
            assert re.search(rf"^  passed +{re.escape(level)}  +\d", card["text/plain"], re.MULTILINE), level
            assert f">{level}</td>" in card["text/html"].replace("&#x27;", "'").replace("&#39;", "'"), level
    assert looked_at
