"""A student's own best: kept, told, improved; whatever the file holds, the check goes on and nothing is lost."""

from __future__ import annotations

import importlib
import json
import os
import sys
from datetime import date
from pathlib import Path

import pytest

from autograder import personal
from autograder.verdict import CaseResult, LevelResult, RecordResult, Result

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import update_work

DAY, LATER = date(2026, 11, 23), date(2026, 12, 1)
KEY = "18_networks/f, virtual time, 6 ranks"


@pytest.fixture
def work(tmp_path):
    """work/ as tools/update_work.py makes it, with a unit's folder."""
    (tmp_path / personal.OF_WORK).write_text("{}")
    (tmp_path / "18_networks").mkdir()
    return tmp_path


def noted(work, value: float, today: date = DAY, name: str = "virtual time") -> str:
    """What the card says of it."""
    record = RecordResult(name, "s", "6 ranks", value, 1e-4)
    personal.keep_records(Result("18_networks", "f", "F", 1, [], records=[record]), work / "18_networks", today)
    return record.personal


def kept(work) -> dict:
    return json.loads((work / personal.FILE).read_text())


def test_the_first_one_a_better_one_and_a_worse_one(work):
    assert "your first" in noted(work, 2e-4)
    assert noted(work, 1.5e-4, LATER) == "your own best, improved by 25 % (the last was of 2026-11-23)"
    assert noted(work, 1.5e-4, LATER) == "as good as your own best, of 2026-12-01"
    assert noted(work, 3e-4, LATER) == "your own best is 50 % less, of 2026-12-01"
    assert kept(work) == {KEY: [{"value": 2e-4, "on": "2026-11-23"}, {"value": 1.5e-4, "on": "2026-12-01"}]}
    assert sorted(os.listdir(work)) == [personal.OF_WORK, "18_networks", personal.FILE]


def test_each_record_has_its_own_and_a_deleted_file_begins_anew(work):
    noted(work, 2e-4)
    assert "your first" in noted(work, 3.0, name="bytes moved")
    assert len(kept(work)) == 2
    (work / personal.FILE).unlink()
    assert "your first" in noted(work, 2e-4)


def test_what_is_ever_the_best_does_not_grow_without_end(work):
    for k in range(personal.KEPT + 20):
        noted(work, 1.0 / (k + 1))
    assert len(kept(work)[KEY]) == personal.KEPT


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not JSON",
        b"[]",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"a": 1' + b"0" * 6000 + b"}",
        json.dumps({KEY: {"best": 3}}).encode(),
        json.dumps({KEY: [3]}).encode(),
        json.dumps({KEY: [{"value": True, "on": "2026-11-23"}]}).encode(),
        json.dumps({KEY: [{"value": -1.0, "on": "2026-11-23"}]}).encode(),
        json.dumps({KEY: [{"value": 10**400, "on": "2026-11-23"}]}).encode(),
        json.dumps({KEY: [{"value": "fast", "on": "2026-11-23"}]}).encode(),
        json.dumps({KEY: [{"value": 1.0, "on": "<script>"}]}).encode(),
        b'{"%s": [{"value": NaN, "on": "2026-11-23"}]}' % KEY.encode(),
        b" " * (personal.MOST_BYTES + 1),
    ],
    ids=lambda content: repr(content[:40]),
)
def test_what_cannot_be_understood_stays_as_it_is(work, content):
    (work / personal.FILE).write_bytes(content)
    assert "cannot be read" in noted(work, 1e-4)
    assert (work / personal.FILE).read_bytes() == content


def test_entries_that_are_not_ours_stay(work):
    (work / personal.FILE).write_text(json.dumps({"of a later version": {"x": [1]}, "99_own/g": 7}))
    assert "your first" in noted(work, 2e-4)
    assert {name: kept(work)[name] for name in ("of a later version", "99_own/g")} == {
        "of a later version": {"x": [1]},
        "99_own/g": 7,
    }


def test_neither_a_pipe_nor_a_folder_nor_a_locked_place_stops_a_check(work, tmp_path_factory, monkeypatch):
    os.mkfifo(work / personal.FILE)
    assert "cannot be read" in noted(work, 2e-4)
    (work / personal.FILE).unlink()
    (work / personal.FILE).mkdir()
    assert "cannot be read" in noted(work, 2e-4)
    (work / personal.FILE).rmdir()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(personal.os, "replace", full)
    noted(work, 2e-4)
    assert sorted(os.listdir(work)) == [personal.OF_WORK, "18_networks"]


def test_an_update_of_the_course_leaves_it_alone(tmp_path):
    course, work = tmp_path / "course", tmp_path / "work"
    page = course / "notebooks" / "18_networks" / "networks.ipynb"
    page.parent.mkdir(parents=True)
    page.write_text('{"cells": []}')
    update_work.update(course, work)
    noted(work, 2e-4)
    page.write_text('{"cells": [], "metadata": {}}')
    update_work.update(course, work)
    assert (work / personal.OF_WORK).name == update_work.RECORD
    assert noted(work, 2e-4, LATER) == "as good as your own best, of 2026-11-23"


def test_outside_of_work_nothing_is_kept(tmp_path):
    assert noted(tmp_path, 2e-4) == ""
    assert not list(tmp_path.iterdir())


def test_a_check_notes_it_but_not_under_nbgrader(work, monkeypatch, capsys):
    check = importlib.import_module("autograder.check")  # the module, not the function that is called so
    record = RecordResult("virtual time", "s", "6 ranks", 2e-4, 1e-4)
    case = CaseResult("any", "", 6, "passed")
    passed = Result("18_networks", "order_1f1b", "F", 1, [LevelResult("any", 1, 1, "passed", [case])], "", [record])
    monkeypatch.setattr(check, "_judge", lambda exercise, function: passed)
    monkeypatch.chdir(work / "18_networks")
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    check.check("order_1f1b")
    assert not (work / personal.FILE).exists()
    monkeypatch.delenv("NBGRADER_EXECUTION")
    check.check("order_1f1b")
    assert (work / personal.FILE).exists() and "your first" in capsys.readouterr().out
