#!/usr/bin/env python3
"""Run the tests that PyTorch's build can change once more, with the build that pip takes where nothing leads it to
another.

    default_torch.py [OPTIONS OF PYTEST]

Most people have that build (for GPUs, 7 GB, with or without a GPU), and some of what the course needs differs in it:
what gloo accepts, how much memory a rank takes, how its threads end. The course's files are copied to
.cache/default_torch, where the environment of this folder is used again, all but PyTorch and what is compiled
against it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from course import ROOT, Course

PLACE = ROOT / ".cache" / "default_torch"
OTHERS = (
    "torch",
    "torchgen",
    "functorch",
    "horovod",
    "triton",
    "nvidia",
)  # as do their metadata: torch-2.13.0.dist-info
# Sharding, pipelines and meshes of torch itself; its communication hooks; processes that die; counted minutes.
TESTS = (
    "tests/labkit/mpi/test_frameworks.py",
    "tests/labkit/relay",
    "tests/labkit/ranks/test_ranks.py",
    "tests/lessons/test_notebooks.py::test_the_solution_gets_full_marks[17_pipeline]",
)


def is_of_torch(name: str) -> bool:
    """True for a file or folder of site-packages that belongs to PyTorch's build."""
    return name.split("-")[0].split("_")[0] in OTHERS


def copy_files(root: Path, place: Path) -> None:
    """The files of `root` that git knows or would add, in `place`; what is there otherwise goes, but an environment."""
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        if old.name not in (".venv", ".cache"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    known = ["git", "-c", f"safe.directory={root}", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.run(known, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0"):
        if name and (root / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, place / name)


def lend(course: Course, place: Path) -> None:
    """The environment of this folder in `place`, by hard links, without PyTorch; what is written there is its own."""
    packages = course.site_packages

    def left_out(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if is_of_torch(name)] if Path(folder) == packages else []

    beside = place / ".venv.new"
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(course.env, beside, symlinks=True, copy_function=os.link, ignore=left_out)
    beside.rename(place / ".venv")


def main(options: list[str]) -> int:
    """The tests' exit status."""
    course = Course(ROOT)
    copy_files(ROOT, PLACE)
    if not (PLACE / ".venv").exists():
        lend(course, PLACE)
    variables = {**os.environ, "COURSE_TORCH": "default", "COURSE_PYTHON": ""}
    command = [sys.executable, "tools/bootstrap.py", "run", "python", "-m", "pytest", "-n", "auto", "--tier=test"]
    return subprocess.run([*command, *TESTS, *options], cwd=PLACE, env=variables).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
