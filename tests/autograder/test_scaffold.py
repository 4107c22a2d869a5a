"""`autograder new`: what it writes is an exercise that can be judged, on a page that can be built."""

from __future__ import annotations

import pytest

from autograder import content, scaffold
from autograder.judging import bank
from autograder.registry import find

UNIT = "15_made"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A course of one unit that has nothing yet."""
    (tmp_path / "units" / UNIT).mkdir(parents=True)
    (tmp_path / "course.toml").write_text(f'title = "Made"\nunits = ["{UNIT}"]\n')
    monkeypatch.setenv("COURSE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", scaffold.KINDS)
def test_a_new_exercise_is_judged_as_its_bank_declares(root, warm, kind):
    created = scaffold.create(UNIT, f"made_{kind}", kind, "A heading", root=root)
    tried = bank.run(warm, root / "units", UNIT, created.function)
    assert [t.answer.name for t in tried if not t.as_declared] == [] and len(tried) >= 7
    assert not any(t.other_levels for t in tried) and all(t.answer.levels for t in tried if not t.answer.right)
    assert find(created.function).title == "A heading" and find(created.function).unit == UNIT


def test_a_second_exercise_joins_the_first(root):
    scaffold.create(UNIT, "made_first", "torch", root=root)
    page = root / "units" / UNIT / "made.py"
    page.write_text(page.read_text() + "\n# %% [markdown]\n# ## What to remember\n")
    scaffold.create("15", "made_second", "plain", root=root)
    with pytest.raises(scaffold.CannotCreate, match=f"unit {UNIT} has an exercise made_first"):
        scaffold.create("15", "made_first", "plain", root=root)
    text = page.read_text()
    assert text.index("check(made_first)") < text.index("check(made_second)") < text.index("## What to remember")
    module = (root / "units" / UNIT / "exercises.py").read_text()
    assert module.count("from autograder.exercise import") == 1 and "import PlainExercise" in module
    compile(module, "module", "exec")


def test_a_new_unit_is_named_in_the_course(root):
    scaffold.create("16_other", "made_other", "plain", root=root)
    assert content.course(root).units == (UNIT, "16_other") and find("made_other").unit == "16_other"
    assert content.course(root).title == "Made"


@pytest.mark.parametrize(
    ("unit", "function", "kind", "says"),
    [
        ("15_made", "for", "torch", "no name for a function"),
        ("99", "made_up", "torch", "no unit is called 99"),
        ("15_made", "made_up", "cuda", "choose one of torch"),
    ],
)
def test_what_cannot_be_created_is_said_before_anything_is_written(root, unit, function, kind, says):
    with pytest.raises(scaffold.CannotCreate, match=says):
        scaffold.create(unit, function, kind, root=root)
    assert list(root.rglob("*.py")) == []
