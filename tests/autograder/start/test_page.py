"""The start page: read from the units themselves, right about what is next, and safe whatever lies in work/."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from machine import needs

from autograder import content, personal, progress
from autograder.start import page, units

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import update_work  # noqa: E402

MAP = units.all_units()


@pytest.fixture
def work(tmp_path):
    """A small work/: two units and the homework."""
    (tmp_path / personal.OF_WORK).write_text("{}")
    for unit in MAP:
        if unit.name[:2] in ("00", "01", "13") or unit.is_homework:
            (tmp_path / unit.path).parent.mkdir(exist_ok=True)
            (tmp_path / unit.path).write_text("{}")
    return tmp_path


def entry(points: int, of: int, passed: bool, on: str = "2026-11-23") -> dict:
    return {"points": points, "of": of, "tries": 2, "passes": int(passed), "passed_at": int(passed), "on": on} | {
        "mistakes": {}
    }


def note(work: Path, **entries: dict) -> None:
    (work / progress.FILE).write_text(json.dumps({name.replace("__", "/"): one for name, one in entries.items()}))


@pytest.mark.parametrize("unit", MAP, ids=lambda unit: unit.name)
def test_every_unit_says_what_it_needs_and_how_long_it_takes(unit):
    assert unit.title != unit.name and unit.tasks
    said = {"You need": unit.needs, "It takes": unit.minutes, "At the end": unit.promise, "GB of memory": unit.memory}
    assert unit.is_homework or all(said.values()), (
        f"not in the page's head: {[name for name in said if not said[name]]}"
    )


def test_points_are_those_of_the_exercises():
    from autograder.registry import all_exercises

    points = {unit.name: unit.points for unit in MAP if not unit.is_homework}
    assert points == {name: sum(e.points for e in all_exercises() if e.unit == name) for name in points}


@needs("frameworks")
def test_frameworks_are_those_that_are_imported():
    assert {unit.name[:2] for unit in MAP if unit.frameworks and not unit.is_homework} == {"07", "09", "13"}
    assert [unit.name[:2] for unit in MAP if unit.optional] == ["13"]


def test_the_map_needs_no_library_that_takes_a_second():
    program = (
        "import sys, autograder.start.page as p; p.all_units(); print(*{'torch', 'numpy', 'IPython'} & {*sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, "\n"), ran.stderr


@needs("frameworks")
def test_what_is_next(work):
    def following() -> tuple[str, str]:
        row, done = page.next_of(page.rows(work))
        return row.unit.name, done.task.name

    first = MAP[0].tasks[0].name
    assert following() == ("00_start_here", first)
    note(work, **{f"00_start_here__{first}": entry(0, 0, True)})
    assert following() == ("01_mpi_pi", MAP[1].tasks[0].name)
    thirteen = next(unit for unit in MAP if unit.name.startswith("13"))
    here = {f"{thirteen.name}__{thirteen.tasks[1].name}": entry(1, 3, False, "2026-11-24")}
    note(work, **{f"00_start_here__{first}": entry(0, 0, True)}, **here)
    assert following() == (thirteen.name, thirteen.tasks[0].name)
    all_of_it = [(u.name, task.name) for u in MAP for task in u.tasks]
    note(work, **{f"{unit}__{task}": entry(9, 9, True) for unit, task in all_of_it})
    assert page.next_of(page.rows(work)) is None and "Every unit is done" in page.start_page(work)


def numbers(needs: str) -> set[str]:
    """The numbers of the units that are named: "units 03 to 06" are four."""
    found = set(re.findall(r"\b\d\d\b", needs))
    for first, last in re.findall(r"\b(\d\d) to (\d\d)\b", needs):
        found |= {f"{k:02}" for k in range(int(first), int(last) + 1)}
    return found


@pytest.mark.parametrize("route", content.course(ROOT).routes, ids=lambda route: route.title)
def test_what_a_unit_of_a_path_needs_comes_before_it_on_the_path_or_is_named(route):
    assert len(route.units) >= 3 and len(set(route.units + route.known)) == len(route.units + route.known)
    there = {name[:2] for name in route.known}
    for name in route.units:
        needed = numbers(next(unit.needs for unit in MAP if unit.name == name))
        assert needed <= there, f"{name} on the path {route.title!r}"
        there.add(name[:2])


def test_units_are_shown_in_parts_and_paths_lead_to_units(work):
    text = page.start_page(work)
    parts = re.findall(r'<th class="part"[^>]*>([^<]+)</th>', text)
    assert parts == [part.title for part in content.course(ROOT).parts]
    table = text.partition("<h2>The units</h2>")[2]
    assert table.count('class="unit"') == sum(not unit.is_homework for unit in MAP)
    for way in page.ways_of(page.rows(work)):
        assert way.minutes >= 60 and f"<strong>{way.title}</strong> ({len(way.rows)} units, " in text


def test_a_course_without_parts_is_one_table(work, tmp_path):
    found = page.rows(work)
    assert page.parts_of(found, tmp_path) == [("", [row for row in found if not row.unit.is_homework])]
    assert page.ways_of(found, tmp_path) == []


def test_points_are_never_more_than_an_exercise_has(work):
    task = MAP[1].tasks[0]
    note(work, **{f"01_mpi_pi__{task.name}": entry(99, 99, True), "01_mpi_pi__gone": entry(5, 5, True)})
    row = page.rows(work)[1]
    assert row.points == task.points and row.state == "begun"


def test_links_lead_to_cells_under_the_address_of_a_hub(work):
    text = page.start_page(work, "/user/some%20body/")
    for unit in MAP[:2]:
        for task in unit.tasks:
            assert f'href="/user/some%20body/lab/tree/{unit.path}#cell-id={task.cell}"' in text
            cells = json.loads((ROOT / "notebooks" / unit.path).read_text())["cells"]
            assert task.cell in {cell["id"] for cell in cells}
    assert "02_point_to_point/" not in text.split("<h2>The units")[0] and "handed out as an assignment" in text


@pytest.mark.parametrize(
    "content", ["", "[]", '{"a": 1}', '{"a": [{"value": "x", "on": 1}]}', '{"a/<b>, t": [{"value": 2, "on": "<i>"}]}']
)
def test_whatever_lies_in_work_the_page_is_there(work, content):
    (work / personal.FILE).write_text(content)
    (work / progress.FILE).write_text(content)
    text = page.start_page(work)
    assert "The units" in text and "<i>" not in text and "/<b>" not in text


def test_what_the_doctor_found(work):
    good = {"subject": "disk", "status": "good", "found": "9 GiB", "remedy": ""}
    limited = {"subject": "cores", "status": "limited", "found": "2 usable", "remedy": "Take turns."}
    broken = {"subject": "MPI", "status": "broken", "found": "<no> ranks", "remedy": "`make clean`"}
    grading = {"subject": "isolation", "status": "limited", "found": "no namespaces", "remedy": "r"}
    assert "has everything the course wants" in page.doctor_page([good, grading])
    said = page.doctor_page([good, limited, broken])
    assert "1 thing does not work" in said and "&lt;no&gt;" in said and "<code>make clean</code>" in said
    assert "Also less than recommended: cores" in said and "9 GiB" not in said


def test_a_records_newest_value_is_shown(work):
    kept = {"18_networks/f, bytes, 8 ranks": [{"value": 9.0, "on": "2026-11-01"}, {"value": 7.125, "on": "2026-11-02"}]}
    (work / personal.FILE).write_text(json.dumps(kept))
    assert page.records(work) == [{"exercise": "f", "what": "bytes, 8 ranks", "value": "7.125", "on": "2026-11-02"}]


def test_a_number_too_large_for_a_float_hides_the_records_alone(work):
    kept = {"18_networks/f, bytes, 8 ranks": [{"value": 10**400, "on": "2026-11-01"}]}
    (work / personal.FILE).write_text(json.dumps(kept))
    assert page.records(work) == []


def test_a_real_work_has_every_unit(tmp_path):
    update_work.update(ROOT, tmp_path / "work")
    assert all(row.here for row in page.rows(tmp_path / "work"))
