"""The second homework as it is given out: what is released, the graded cells, and what the page says of points."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat

from autograder.homework.mesh import plan
from autograder.homework.mesh.lines import RUBRIC
from labkit.meshrun import TASKS

ROOT = Path(__file__).resolve().parents[2]
NAME = "train_a_mesh"
SOURCE, RELEASED = ROOT / "solutions" / NAME, ROOT / "homework" / NAME
GIVEN = ["README.md", "mesh_training_starter.py", f"{NAME}.ipynb"]


def test_only_what_a_student_needs_is_released():
    assert sorted(path.relative_to(RELEASED).as_posix() for path in RELEASED.rglob("*")) == GIVEN
    for name in GIVEN[:2]:
        assert (RELEASED / name).read_bytes() == (SOURCE / name).read_bytes()
    assert not re.search("BEGIN SOLUTION|For graders", (RELEASED / f"{NAME}.ipynb").read_text())


def test_the_cells_that_are_graded():
    notebook = nbformat.read(RELEASED / f"{NAME}.ipynb", as_version=4)
    marked = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    checks = {cell.source: cell.metadata.nbgrader.points for cell in marked if cell.cell_type == "code"}
    points = {part: RUBRIC.points_of(part) for part in RUBRIC.parts}
    assert checks == {f'check_homework("{part}")': 0 if part == "bonus" else n for part, n in points.items()}
    (written,) = [cell for cell in marked if cell.cell_type == "markdown"]
    whole = (ROOT / "units" / NAME / f"{NAME}.py").read_text()
    found = re.findall(r"^# - (\d+) points?: ", whole, re.MULTILINE)
    assert sum(map(int, found)) == written.metadata.nbgrader.points == 5


def test_the_page_says_the_points_of_the_rubric():
    page = (SOURCE / "README.md").read_text()
    rows = {row[0].strip(): row[1] for row in re.findall(r"^\|([^|\n]+)\|\s*(\d+)(?: each)?\s*\|", page, re.MULTILINE)}
    parts = ("the script on meshes", "run logs and table", "figures", "plans", "bonus: context parallel")
    assert [int(rows[part]) for part in parts] == [RUBRIC.points_of(part) for part in RUBRIC.parts]
    names = {
        "script": ("one rank", "replicas", "divided matrices", "stages", "several axes", "norm", "checkpoint", "bytes", "memory"),
        "measured": ("runs", "losses", "times", "bytes"),
        "figures": ("`step_time.pdf`", "`memory.pdf`", "`losses.pdf`"),
    }  # fmt: skip
    for part, lines in names.items():
        assert [int(rows[name]) for name in lines] == [line.points for line in RUBRIC.lines_of(part)]
    each = {RUBRIC.line(f"plan_{gpus}").points for gpus in TASKS}
    assert {int(rows["1,024 GPUs, 16,384 GPUs, 576 GPUs"])} == each
    for most, share in plan.SCALE[1:-1]:
        assert f"{100 * (most - 1):.0f} %: {100 * share:.0f} %" in page


def test_the_plan_on_the_page_is_a_plan():
    (text,) = re.findall(r"```toml\n(.*?)\[gpus_16384\]", (SOURCE / "README.md").read_text(), re.DOTALL)
    import tomllib

    choice = tomllib.loads(text)["gpus_1024"]
    choice.pop("checkpoint_interval")
    found = TASKS[1024].plan(**choice)
    assert found.fits and found.estimate().seconds > plan.BEST[1024], "an example, and not the best one"


def test_the_starter_says_what_it_takes():
    done = subprocess.run(
        [sys.executable, SOURCE / GIVEN[1], "--help"], capture_output=True, text=True, timeout=120, cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for option in ("--data", "--tensor", "--pipeline", "--steps", "--run-log", "--checkpoint"):
        assert option in done.stdout
