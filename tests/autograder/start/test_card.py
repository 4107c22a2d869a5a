"""The card at the end of a unit: what the checks have kept, and a sentence where nothing is."""

from __future__ import annotations

import json

import pytest

from autograder import personal, progress
from autograder.start import card, units
from autograder.start.recap import recap

UNIT = next(unit for unit in units.all_units() if unit.name.startswith("06"))


@pytest.fixture
def work(tmp_path):
    (tmp_path / personal.OF_WORK).write_text("{}")
    (tmp_path / UNIT.name).mkdir()
    return tmp_path


def test_points_tries_and_mistakes(work, capsys):
    first, second = [task.name for task in UNIT.tasks if not task.written][:2]
    mistakes = {
        "sums_twice": {"times": 2, "says": "Your `sum` <b>is</b> taken twice.", "mended": 3},
        "in_place": {"times": 1, "says": "x changes.", "mended": 0},
    }
    points = next(task.points for task in UNIT.tasks if task.name == first)
    entry = {"points": points, "of": points, "tries": 3, "passes": 1, "passed_at": 3, "on": "2026-11-23"}
    (work / progress.FILE).write_text(json.dumps({f"{UNIT.name}/{first}": {**entry, "mistakes": mistakes}}))
    card.unit_card("06", work / UNIT.name)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{UNIT.title}: {points:g} of {UNIT.points:g} points, ")
    assert f"  {first}: {points:g} of {points:g}, passed, 3 tries" in said
    assert "      mended: sums twice. Your `sum` <b>is</b> taken twice." in said
    assert "      open: in place. x changes." in said
    assert any(line.startswith(f"  {second}: 0 of ") and line.endswith(", not begun") for line in said)
    assert any(line.endswith(": in words, a person reads it") for line in said)
    row = card.row_of(UNIT, progress.kept_in(work))
    html = card.as_html(
        row, {task.name: progress.kept_in(work).get(f"{UNIT.name}/{task.name}") or {} for task in UNIT.tasks}
    )
    assert "2 mistakes" in html and "<code>sum</code> &lt;b&gt;" in html and "<b>" not in html


def test_the_time_since_the_recap_is_on_the_card(work, capsys, monkeypatch):
    clock = iter((1e9, 1e9 + 600, 1e9 + 1500))
    monkeypatch.setattr(progress.time, "time", lambda: next(clock))
    monkeypatch.chdir(work / UNIT.name)
    recap("06")
    for minutes in (10, 25):
        card.unit_card("06")
        assert f"left, {minutes} minutes of work" in capsys.readouterr().out


def test_without_a_work_there_is_a_sentence(tmp_path, capsys):
    card.unit_card("06", tmp_path)
    card.unit_card("99", tmp_path)
    assert capsys.readouterr().out == f"{card.EMPTY}\n" * 2
