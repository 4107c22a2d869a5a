"""The minutes that students work on a unit, from files that they have handed over."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from autograder import progress
from autograder.cli import app
from autograder.reports.times import FEWEST, times_of

HERE, THERE = "05_gradient_all_reduce", "06_ddp"


@pytest.fixture
def given(tmp_path):
    """Files of six students: all have worked on one unit, four on another, one has looked at a third."""
    files = []
    for k in range(6):
        path = tmp_path / f"{k}.json"
        minutes = {HERE: 60 + 10 * k, **({THERE: 90} if k < 4 else {}), **({"07_horovod": 1} if k == 0 else {})}
        path.write_text(
            json.dumps({progress.TIME: {unit: {"seconds": 60 * m, "last": 0} for unit, m in minutes.items()}})
        )
        files.append(path)
    return files


def test_units_of_few_students_are_left_out(given):
    (line,) = times_of(given).lines
    assert (line.unit, line.students, line.median, line.low, line.high) == (HERE, 6, 85.0, 72.5, 97.5)
    assert line.page > 30
    assert not times_of(given[: FEWEST - 1]).lines


def test_the_command_says_which_files_it_cannot_read(given, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    done = CliRunner().invoke(app, ["times", *map(str, given), str(tmp_path / "bad.json"), "--json"])
    assert done.exit_code == 0 and json.loads(done.stdout)[0]["median"] == 85.0
    assert "bad.json is no progress.json" in done.stderr
    done = CliRunner().invoke(app, ["times", *map(str, given)])
    assert HERE in done.output and THERE not in done.output and "72.5 to 97.5" in done.output
    assert CliRunner().invoke(app, ["times", *map(str, given[:4])]).exit_code == 2
