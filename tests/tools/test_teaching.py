"""The pages for instructors speak of what there is: units, sections, exercises, and mistakes by names that checks give."""

import re
import sys
from pathlib import Path

import pytest
from machine import needs

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import lesson_time  # noqa: E402
import teaching  # noqa: E402

from autograder import content  # noqa: E402
from autograder.homework import registry  # noqa: E402
from autograder.registry import all_exercises  # noqa: E402

INDEX = ROOT / "docs" / "teaching.md"
PAGES = sorted(ROOT.glob("units/*/teaching.md"))
EXERCISES = {exercise.function: exercise for exercise in all_exercises()}
HEADINGS = ["Aims", "Time", "Where students stall", "On the board", "If time is short"]
ABOUT = {"frameworks", "without_frameworks"}  # pages for a course that has them (docs/frameworks.md)
every_page = pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=needs("frameworks")) if ABOUT & content.Room(p.parent).about.keys() else p for p in PAGES],
    ids=lambda path: path.parent.name,
)


def stalls(path: Path) -> list[tuple[str, list[str]]]:
    """(exercise or line of a rubric, names of mistakes) of each row of the table, "" for "any of them"."""
    table = path.read_text(encoding="utf-8").partition("## Where students stall")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ") and "`" in line]
    return [("".join(re.findall("`(.+?)`", who)), re.findall("`(.+?)`", names)) for who, names in rows]


def test_every_unit_has_a_page_or_is_said_to_have_none():
    text = INDEX.read_text(encoding="utf-8")
    missing = [unit for unit in teaching.units() if not teaching.page(unit).exists()]
    said = text.partition("No page yet:")[2].partition("\n")[0]
    for unit in missing:
        assert (f"unit {unit[:2]}" if unit[:2].isdigit() else "homework") in said, f"units/{unit} has no teaching.md"
    assert {path.parent.name for path in PAGES} <= {*teaching.units(), *content.course().left_out}
    assert all(f"(../units/{path.parent.name}/teaching.md)" in text for path in PAGES)


@every_page
def test_a_page_has_its_parts_and_a_length_to_read_in_the_evening(path):
    text = path.read_text(encoding="utf-8")
    assert [heading for heading in HEADINGS if f"\n## {heading}\n" in text] == HEADINGS
    assert text.count("\n") <= 110
    assert max(map(len, text.splitlines())) <= 160


@every_page
def test_every_name_on_a_page_exists(path):
    rows = stalls(path)
    assert len(rows) >= 4, "a row for each of at least four places where students stall"
    unit = [exercise for exercise in EXERCISES.values() if exercise.unit == path.parent.name]
    for who, names in rows:
        assert names, who
        if not unit:
            assert who in {line.name for line in registry.get(path.parent.name).rubric.lines}
            sources = [p.read_text(encoding="utf-8") for p in (ROOT / "autograder" / "homework").rglob("*.py")]
            known = {name for name in names if any(f'"{name}"' in source for source in sources)}
        elif who:
            assert EXERCISES[who].unit == path.parent.name
            known = EXERCISES[who].diagnoses.keys()
        else:
            known = set.intersection(*(set(exercise.diagnoses) for exercise in unit))
        assert set(names) <= set(known), f"{who} knows no {set(names) - set(known)}"


@every_page
def test_code_on_a_page_that_looks_like_an_exercise_is_one_of_the_course(path):
    """Names elsewhere on the page: `average_gradients` must not outlive its exercise."""
    own = {name for name, exercise in EXERCISES.items() if exercise.unit == path.parent.name}
    text = path.read_text(encoding="utf-8")
    plan = text.partition("<!-- end of timing -->")[2].partition("\n## ")[0]
    words = {word for word in re.findall(r"`([a-z_0-9]+)`", plan) if "_" in word}
    assert words <= EXERCISES.keys() | {"scaling_mnist", "set_epoch"}, words - EXERCISES.keys()
    exempt = not own or len(own) == 1 or path.parent.name == "21_puzzles"
    assert exempt or words & own, "below the minutes: a plan that names an exercise"


@every_page
def test_the_minutes_are_those_of_the_lesson(path):
    text = path.read_text(encoding="utf-8").partition(teaching.BEGIN)[2].partition(teaching.END)[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    shown = [row[0].replace("\\|", "|") for row in rows[1:-1]]
    assert set(shown) <= set(teaching.headings(path.parent.name)), "python tools/teaching.py --write"
    core = float(rows[-1][1].strip("* "))
    assert abs(core - lesson_time.totals(teaching.notebook(path.parent.name))[0]) <= 10, (
        "python tools/teaching.py --write"
    )


def test_links_lead_somewhere():
    for path in (INDEX, *PAGES):
        for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path}: {target}"


def test_the_plans_name_exercises_that_there_are():
    plans = INDEX.read_text(encoding="utf-8").partition("## Plan 1")[2]
    words = {word for word in re.findall(r"`([a-z_0-9]+)`", plans)}
    assert words <= EXERCISES.keys(), words - EXERCISES.keys()


@needs("frameworks")
def test_the_index_shows_the_parts_of_the_course():
    text = INDEX.read_text(encoding="utf-8").partition(teaching.PARTS)[2].partition(teaching.END_OF_PARTS)[0]
    assert text.strip() == teaching.parts(), "python tools/teaching.py --write"


def test_the_path_for_a_class_of_two_days_is_plan_1():
    plan = INDEX.read_text(encoding="utf-8").partition("## Plan 1")[2].partition("## Plan 2")[0]
    units = re.findall(r"^\| \d+:\d\d \| \d+ \| (\d\d) \|", plan, re.M)
    (route,) = [route for route in content.course(ROOT).routes if "two days" in route.title]
    assert [name[:2] for name in route.units] == units
