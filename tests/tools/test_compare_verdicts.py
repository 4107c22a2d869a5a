"""Two trees' verdicts beside each other: every difference is told, nothing else, and of what was asked for only."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import compare_verdicts
from compare_verdicts import What, compared

RIGHT = {"verdict": "passed", "diagnosis": "", "score": "4 of 4", "levels": {"2 ranks": ["passed", 4]}, "cases": []}
BEFORE = {
    "key": "public",
    "answers": {
        "03_collectives/ring/right_a.py": RIGHT,
        "03_collectives/tree/right_a.py": RIGHT,
        "04_x/ring/right_a.py": RIGHT,
    },
    "attacks": {"01_read": {"verdict": "wrong", "problems": []}, "test_folder[200]": {"outcome": "passed"}},
}
EVERYTHING = What(())


def test_the_same_is_no_difference():
    assert compared(BEFORE, json.loads(json.dumps(BEFORE)), EVERYTHING) == []


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("03_collectives/ring/right_a.py", "verdict", "wrong"),
        ("03_collectives/ring/right_a.py", "diagnosis", "deadlock"),
        ("03_collectives/ring/right_a.py", "score", "3 of 4"),
        ("03_collectives/ring/right_a.py", "levels", {"2 ranks": ["wrong", 0]}),
        ("01_read", "problems", ["GOT it"]),
        ("test_folder[200]", "outcome", "failure"),
    ],
)
def test_a_difference_is_told_once(name, field, value):
    after = json.loads(json.dumps(BEFORE))
    (after["answers"] | after["attacks"])[name][field] = value
    found = compared(BEFORE, after, EVERYTHING)
    assert len(found) == 1
    assert found[0].startswith(f"{name}: {field} was ")
    assert found[0].endswith(f"is {value!r}")


def test_answers_of_one_tree_only_are_told():
    after = json.loads(json.dumps(BEFORE))
    after["answers"]["03_collectives/ring/wrong_new.py"] = after["answers"].pop("03_collectives/ring/right_a.py")
    assert compared(BEFORE, after, What(("03",))) == [
        "only before: 03_collectives/ring/right_a.py",
        "only after: 03_collectives/ring/wrong_new.py",
    ]
    assert compared(BEFORE, after, What(("03/tree",))) == compared(BEFORE, after, What(("04", "attacks"))) == []


def test_a_unit_is_judged_and_merged(tmp_path, monkeypatch):
    monkeypatch.setattr(
        compare_verdicts, "judged", lambda tree, what, key: iter([("03_collectives/ring/right_b.py", RIGHT)])
    )
    (tmp_path / "taken.json").write_text(json.dumps(BEFORE))
    after = compare_verdicts.take(tmp_path / "taken.json", What(("03/ring",)), tmp_path, "public")
    assert json.loads((tmp_path / "taken.json").read_text()) == after
    assert list(after["answers"]) == [
        "03_collectives/tree/right_a.py",
        "04_x/ring/right_a.py",
        "03_collectives/ring/right_b.py",
    ]
    assert after["attacks"] == BEFORE["attacks"]
    with pytest.raises(SystemExit, match="key"):
        compare_verdicts.take(tmp_path / "taken.json", What(("03",)), tmp_path, "19")
