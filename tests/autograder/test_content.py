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
