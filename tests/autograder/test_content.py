"""The course that the engine serves: what `course.toml` says, and where the environment's COURSE leads."""

from __future__ import annotations

import pytest

from autograder import content
from autograder.registry import all_exercises, find, module_of


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "has no course.toml"),
        ("units = []", "should hold title"),
        ('title = "A"\nunits = "00_a"', "should hold title"),
        ('title = "A"\nunits = [1]', "should hold title"),
        ('title = "A"\nunits = ["00_a"]', "names 00_a, but"),
        ('title = "A', "course.toml: "),
    ],
)
def test_a_folder_that_is_no_course_is_refused_with_what_is_missing(tmp_path, monkeypatch, text, says):
    if text is not None:
        (tmp_path / "course.toml").write_text(text)
    monkeypatch.setenv(content.COURSE, str(tmp_path))
    with pytest.raises(content.NoCourse, match=says):
        all_exercises()


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ('[[part]]\ntitle = "A"\nunits = ["00_a", "02_c"]', "names 02_c, which is not among its units"),
        ('[[part]]\ntitle = "A"\nunits = ["00_a"]\n[[part]]\ntitle = "B"\nunits = ["00_a"]', "in more than one part"),
        ('[[path]]\ntitle = "A"\nunits = ["00_a"]\nknown = ["03_d"]', "names 03_d, which is not among its units"),
    ],
)
def test_parts_and_paths_name_units_of_the_course(tmp_path, tables, says):
    for unit in ("00_a", "01_b"):
        (tmp_path / content.UNITS / unit).mkdir(parents=True)
    said = 'title = "A"\nunits = ["00_a", "01_b"]\n'
    (tmp_path / content.FILE).write_text(said + tables)
    with pytest.raises(content.NoCourse, match=says):
        content.course(tmp_path)


def test_a_unit_in_no_part_comes_last_and_the_tables_can_be_written_again(tmp_path):
    for unit in ("00_a", "01_b"):
        (tmp_path / content.UNITS / unit).mkdir(parents=True)
    head = 'title = "A"\nunits = ["00_a", "01_b"]\n'
    (tmp_path / content.FILE).write_text(
        f'{head}[[part]]\ntitle = "First"\nunits = ["01_b"]\n[[path]]\ntitle = "P"\nsays = "S."\nunits = ["00_a"]\n'
    )
    said = content.course(tmp_path)
    assert said.parts == (content.Part("First", ("01_b",)), content.Part("More units", ("00_a",)))
    assert said.routes == (content.Route("P", "S.", ("00_a",)),)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / content.UNITS).symlink_to(tmp_path / content.UNITS)
    (tmp_path / "again" / content.FILE).write_text(head + content.tables(said))
    again = content.course(tmp_path / "again")
    assert (again.parts, again.routes) == (said.parts, said.routes)


def test_every_unit_of_ours_is_in_a_part():
    ours = content.course(content.ENGINE)
    assert sorted(unit for part in ours.parts for unit in part.units) == sorted(ours.units)
    assert "More units" not in {part.title for part in ours.parts} and len(ours.routes) >= 3


def test_our_course_names_each_room_and_each_room_has_its_files():
    ours = content.course(content.ENGINE)
    folders = {path.name for path in (ours.root / content.UNITS).iterdir() if path.is_dir()}
    assert folders == {*ours.units, *ours.homework, *ours.left_out}
    for room in ours.rooms:
        assert room.exercises.is_file() and list(room.answers.glob("*.py")) and room.about["question"], room.unit


def test_an_exercise_stays_one_of_its_module_whatever_other_courses_and_overlays_were_read(tmp_path, monkeypatch):
    clip = find("average_and_clip")
    with monkeypatch.context() as patch:
        patch.setenv("COURSE_OVERLAY", str(tmp_path))
        (tmp_path / "exercises").mkdir()
        (tmp_path / "exercises/unit_90_own.py").write_text("")
        all_exercises()
        patch.setenv(content.COURSE, str(content.ENGINE / "tests/data/second_course"))
        all_exercises()
    assert isinstance(clip, module_of(clip.unit).AverageAndClip) and isinstance(find("average_and_clip"), type(clip))


def test_a_unit_file_that_cannot_be_read_says_which(tmp_path):
    (tmp_path / "unit.toml").write_text("[[question]")
    with pytest.raises(content.NoCourse, match="unit.toml"):
        assert content.Room(tmp_path).about
