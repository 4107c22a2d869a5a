"""The tests once more with pip's default PyTorch: what is copied, what is lent, and that the tests it names exist."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import default_torch  # noqa: E402
from course import Course  # noqa: E402


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a tracked, a new, an ignored and a removed file."""
    root = tmp_path / "course"
    (root / "tests").mkdir(parents=True)
    for name in ("README.md", "gone.md", "tests/test_a.py"):
        (root / name).write_text(name)
    (root / ".gitignore").write_text(".venv\n.cache/\n")
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    (root / "gone.md").unlink()
    (root / "new.py").write_text("new")
    (root / ".cache").mkdir()
    (root / ".cache/large").write_text("large")
    return root


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_files_are_those_of_the_working_tree_and_the_environment_stays(checkout):
    place = checkout / ".cache/copy"
    (place / ".venv").mkdir(parents=True)
    (place / ".venv/kept").write_text("kept")
    (place / "stale.py").write_text("stale")
    (place / "stale").mkdir()
    default_torch.copy_files(checkout, place)
    assert files_of(place) == {".gitignore", "README.md", "tests/test_a.py", "new.py", ".venv/kept"}


def test_the_environment_is_lent_without_pytorch_and_what_is_compiled_against_it(checkout):
    course = Course(checkout)
    folders = {"torch", "torch-2.13.0.dist-info", "torchgen", "nvidia", "nvidia_nccl_cu13-2.dist-info", "horovod"}
    for name in {*folders, "numpy", "torchmetrics"}:
        (course.site_packages / name).mkdir(parents=True)
        (course.site_packages / name / "a.py").write_text(name)
    place = checkout / ".cache/copy"
    place.mkdir()
    default_torch.lend(course, place)
    (lent,) = (place / ".venv").rglob("site-packages")
    assert {path.name for path in lent.iterdir()} == {"numpy", "torchmetrics"}
    assert os.path.samefile(lent / "numpy/a.py", course.site_packages / "numpy/a.py")


def test_the_tests_it_names_exist():
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-q", *default_torch.TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
