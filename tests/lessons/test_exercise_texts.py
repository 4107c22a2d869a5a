"""The text of every exercise has one form, and a rule for each level of its card."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import exercise_texts as texts  # noqa: E402

from autograder.registry import all_exercises, find  # noqa: E402

PAGE = '''# %%
def bubble(p: int, m: int, v: int = 1) -> float:
    """Return the share of time in which a rank is idle.

    p: int, number of ranks
    m: int, number of micro-batches
    v: int, number of chunks on each rank,
        one if left out
    Returns: float from 0 to 1

    - one chunk per rank: a rule
      on two lines.
    - v chunks per rank: another.
    - always: a third.

    Example: bubble(4, 4) == 3 / 7
    """
    ### BEGIN SOLUTION
    ### END SOLUTION
'''


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda one: f"{one.unit}/{one.function}")
def test_a_text_is_in_form(exercise):
    assert texts.out_of_form(exercise) == []


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.setattr(texts.builder, "source_of", lambda root, unit: root / "page.py")

    def lacks(old: str, new: str) -> list[str]:
        assert old in PAGE
        (tmp_path / "page.py").write_text(PAGE.replace(old, new))
        return texts.out_of_form(find("bubble"), tmp_path)

    return lacks


@pytest.mark.parametrize(
    ("old", "new", "lack"),
    [
        ("is idle.", "is idle", "one sentence"),
        ("is idle.", "is idle. Of all ranks.", "one sentence"),
        ("    m: int, number of micro-batches\n", "", "p, m, v, Returns"),
        ("    p: int, number of ranks\n    m:", "    m: int, number of ranks\n    p:", "p, m, v, Returns"),
        ("Returns: float", "A float", "p, m, v, Returns"),
        ("Returns: float", "Returns: int", "the text returns an int"),
        ("- v chunks per rank: another.\n", "", "one chunk per rank; v chunks per rank"),
        ("- v chunks per rank:", "- chunks:", "one chunk per rank; v chunks per rank"),
        ("    Example: bubble(4, 4) == 3 / 7\n", "", "Example"),
        ("3 / 7", "4 / 7", "the reference says otherwise"),
    ],
)
def test_what_is_out_of_form_is_named(course, old, new, lack):
    assert any(lack in one for one in course(old, new))


def test_other_ways_to_be_in_form(course):
    assert course("p: int, number of ranks\n    m: int,", "p, m: ints,") == []
    assert course("bubble(4, 4) == 3 / 7", "three of seven slots.") == []


def test_a_text_without_a_docstring_has_its_rules_above_the_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(texts.builder, "source_of", lambda root, unit: root / "page.py")
    page = tmp_path / "page.py"
    exercise = SimpleNamespace(unit="x", function="Sampler", levels={"its rows": 1}, runtime="plain")
    cell = "# %% [markdown]\n# {}\n\n# %%\nclass Sampler:\n    ### BEGIN SOLUTION\n    pass\n    ### END SOLUTION\n"
    page.write_text(cell.format("Write it.\n#\n# - its rows: every p-th."))
    assert texts.out_of_form(exercise, tmp_path) == []
    page.write_text(cell.format("Write it."))
    assert "its rows" in texts.out_of_form(exercise, tmp_path)[0]
