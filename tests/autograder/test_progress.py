"""How far a student has come: noted by every check, damaged by nothing, in nobody's way."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from datetime import date
from pathlib import Path

import pytest

from autograder import personal, progress
from autograder.verdict import CaseResult, LevelResult, Result

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import update_work

DAY = date(2026, 11, 23)
NAME = "05_gradient_all_reduce/f"


@pytest.fixture
def work(tmp_path):
    """work/ as tools/update_work.py makes it, with a unit's folder."""
    (tmp_path / personal.OF_WORK).write_text("{}")
    (tmp_path / "05_gradient_all_reduce").mkdir()
    return tmp_path


def result(*levels: str, diagnosis: str = "no_division", name: str = "f") -> Result:
    """A result with a point for each level, given by their verdicts."""
    made = []
    for k, verdict in enumerate(levels):
        case = CaseResult(f"l{k}", "", 2, verdict, "" if verdict == "passed" else diagnosis, why=f"{diagnosis}!")
        made.append(LevelResult(f"l{k}", 1, int(verdict == "passed"), verdict, [case]))
    return Result("05_gradient_all_reduce", name, "F", len(levels), made)


def noted(work, *levels: str, **more) -> dict | None:
    return progress.keep_result(result(*levels, **more), work / "05_gradient_all_reduce", DAY)


def kept(work) -> dict:
    return json.loads((work / progress.FILE).read_text())


def test_tries_points_passes_and_mistakes_that_are_mended(work):
    assert noted(work, "missing", "missing", diagnosis="not_written") is None and not progress.kept_in(work)
    noted(work, "passed", "wrong")
    noted(work, "wrong", "wrong")
    entry = noted(work, "hung", "wrong", diagnosis="deadlock")
    assert (entry["points"], entry["of"], entry["tries"], entry["passes"], entry["passed_at"]) == (1, 2, 3, 0, 0)
    assert entry["mistakes"] == {
        "no_division": {"times": 2, "says": "no_division!", "mended": 0},
        "deadlock": {"times": 1, "says": "deadlock!", "mended": 0},
    }
    noted(work, "wrong", "wrong", diagnosis="unrecognised")
    noted(work, "passed", "passed")
    entry = noted(work, "passed", "passed")
    assert (entry["points"], entry["tries"], entry["passes"], entry["passed_at"]) == (2, 6, 2, 5)
    assert {one["mended"] for one in entry["mistakes"].values()} == {5} and "unrecognised" not in entry["mistakes"]
    entry = noted(work, "passed", "wrong")
    assert (entry["points"], entry["passed_at"]) == (2, 5) and entry["mistakes"]["no_division"]["mended"] == 0
    assert kept(work) == {NAME: entry} == progress.kept_in(work / "05_gradient_all_reduce")


def test_a_recap_is_counted_beside_the_exercises(work):
    noted(work, "passed")
    for right in (False, True, True):
        progress.keep_recap("03_collectives/ring_bytes", right, work)
    assert kept(work)["recap"] == {"03_collectives/ring_bytes": {"right": 2, "wrong": 1}} and NAME in kept(work)


def test_time_adds_up_and_a_long_pause_counts_as_a_short_one(work):
    for minute in (0, 3, 10, 50, 51):
        progress.keep_time("05_gradient_all_reduce", work, 1e9 + 60 * minute)
        progress.keep_time("06_ddp", work, 1e9 - 60 * minute)  # a clock that was set back
    assert kept(work)["time"]["05_gradient_all_reduce"] == {"seconds": 31 * 60, "last": 10**9 + 51 * 60}
    found = progress.kept_in(work)
    assert [progress.minutes_of(found, unit) for unit in ("05_gradient_all_reduce", "06_ddp", "07_horovod")] == [
        31,
        0,
        0,
    ]


@pytest.mark.parametrize(
    "content",
    [
        b'{"time": {"05_gradient_all_reduce": {"seconds": -1, "last": 0}}}',
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"05_gradient_all_reduce/f": {"points": "3"}}',
        b"[" * 100_000,
        b'{"recap": [1]}',
    ],
)
def test_a_damaged_file_is_put_aside_and_a_new_one_begins(work, content):
    (work / progress.FILE).write_bytes(content)
    assert noted(work, "passed")["tries"] == 1
    assert (work / progress.ASIDE).read_bytes() == content and list(kept(work)) == [NAME]


def test_what_is_whole_in_a_damaged_file_is_kept(work):
    noted(work, "passed")
    (work / progress.FILE).write_text(json.dumps({**kept(work), "x/y": None}))
    assert noted(work, "passed")["tries"] == 2
    assert list(kept(work)) == [NAME] and "x/y" in (work / progress.ASIDE).read_text()
    (work / progress.FILE).write_text("{")
    noted(work, "passed")
    assert (work / "progress.damaged2.json").read_text() == "{"


def test_nothing_is_kept_outside_of_work_or_where_the_disk_says_no(work, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert progress.keep_result(result("passed"), elsewhere, DAY) is None and not os.listdir(elsewhere)

    def full(*_):
        raise OSError("no space left")

    noted(work, "passed")
    monkeypatch.setattr(progress, "write", full)
    assert noted(work, "passed") is None and kept(work)[NAME]["tries"] == 1
    assert progress.kept_in(elsewhere) == {}


def test_an_update_of_the_course_leaves_it_alone_and_a_deleted_one_begins_anew(work):
    noted(work, "passed")
    before = (work / progress.FILE).read_bytes()
    course = work.parent / "course"
    (course / "notebooks" / "05_gradient_all_reduce").mkdir(parents=True)
    (course / "notebooks" / "05_gradient_all_reduce" / "a.txt").write_text("new")
    update_work.update(course, work)
    assert (work / progress.FILE).read_bytes() == before
    (work / progress.FILE).unlink()
    assert noted(work, "passed")["tries"] == 1


def _note_often(work: Path, name: str) -> None:
    for _ in range(20):
        noted(work, "passed", name=name)


def test_two_notebooks_at_once_lose_nothing(work):
    fork = multiprocessing.get_context("fork")
    both = [fork.Process(target=_note_often, args=(work, name)) for name in ("f", "g")]
    for one in both:
        one.start()
    for one in both:
        one.join(30)
    assert {name: entry["tries"] for name, entry in kept(work).items()} == {NAME: 20, NAME[:-1] + "g": 20}
