"""The README's map is made of what each unit says of itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import readme_map  # noqa: E402

from autograder import content  # noqa: E402


def test_the_map_is_current(capsys):
    assert readme_map.main([]) == 0, capsys.readouterr().out


def test_a_row_is_short_enough_to_be_read():
    course = content.course()
    for name in (*course.units, *course.homework):
        after = course.room(name).about["after"]
        assert len(after.split()) <= 12, f"{name}: at most twelve words, not {after!r}"


def test_a_row_that_is_missing_or_old_is_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "course.toml").write_text('title = "A"\nunits = ["00_a", "01_b"]\n')
    for name in ("00_a", "01_b"):
        (tmp_path / "units" / name).mkdir(parents=True)
        (tmp_path / "units" / name / "unit.toml").write_text(f'after = "you can {name[3:]} |x|"\n')
    (tmp_path / "README.md").write_text("# A\n\n| unit | after |\n|---|---|\n| `00_a` | old |\n\nMore.\n")
    monkeypatch.setenv(content.COURSE, str(tmp_path))
    assert readme_map.main([]) == 1 and "--write" in capsys.readouterr().out
    assert readme_map.main(["--write"]) == 0 and readme_map.main([]) == 0
    rows = "| `00_a` | you can a |x| |\n| `01_b` | you can b |x| |\n"
    assert (tmp_path / "README.md").read_text() == f"# A\n\n| unit | after |\n|---|---|\n{rows}\nMore.\n"
    (tmp_path / "README.md").write_text("# A\n")
    with pytest.raises(ValueError, match="no table"):
        readme_map.main([])
