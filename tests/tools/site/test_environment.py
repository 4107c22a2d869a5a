"""The environment for reading: small, pinned by the lock file, made once."""

from __future__ import annotations

import ast
import subprocess
import sys

import course as course_module
import pytest
import site_environment
from course import ROOT, Course

LARGE = ("torch", "tensorflow", "horovod", "mpi4py", "scipy", "pandas", "nbgrader", "jupyterlab", "notebook", "sympy")


@pytest.mark.parametrize("version", course_module.PYTHONS)
def test_what_is_needed_is_pinned_for_every_python(version):
    pins = {course_module.normalised(name) for name in Course(ROOT, version=version).pins()}
    names = [line for line in site_environment.NAMES.read_text().splitlines() if not line.startswith("#")]
    assert names and {course_module.normalised(name) for name in names} <= pins


def test_it_can_be_read_by_the_python_that_a_machine_has():
    ast.parse((ROOT / "tools" / "site_environment.py").read_text(), feature_version=(3, 6))


def test_nothing_large_is_needed(tmp_path):
    for name in LARGE:
        (tmp_path / f"{name}.py").write_text("raise ImportError('not needed for reading')\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from tools.site import cli, extension, figures, mistakes, sources\n"
        "figures._labkit('speedup')\n"
        "mistakes.pages(mistakes.public_exercises(), {})\n"
        f"assert not set({LARGE!r}) & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=120)


@pytest.fixture
def calls(monkeypatch):
    made = []
    monkeypatch.setattr(site_environment, "run_logged", lambda course, log, command, **more: made.append(command))
    monkeypatch.setattr(
        site_environment, "find_python", lambda course: {"version": [*sys.version_info[:3]], "executable": "python"}
    )
    monkeypatch.setattr(site_environment, "say", lambda *words, **more: None)
    return made


def test_it_is_made_once_and_anew_when_a_pin_changes(tmp_path, calls):
    version = sys.version_info[:2]
    course = Course(tmp_path, tmp_path / ".cache" / "site", version)
    course.lock_file.write_text("first==1.0\n")
    course.python.parent.mkdir(parents=True)
    course.python.symlink_to(sys.executable)
    assert site_environment.for_reading(course) is course
    made, installed = calls
    assert made[1:3] == ["-m", "venv"]
    assert str(course.lock_file) in installed and site_environment.NAMES in installed
    site_environment.for_reading(course)
    assert len(calls) == 2
    course.lock_file.write_text("first==2.0\n")
    site_environment.for_reading(course)
    assert len(calls) == 4


def test_the_course_s_own_environment_is_taken_where_it_is_whole(monkeypatch, tmp_path):
    own = Course(tmp_path)
    own.python.parent.mkdir(parents=True)
    own.python.symlink_to(sys.executable)
    monkeypatch.setattr(site_environment, "environment_in_use", lambda: own)
    monkeypatch.setattr(site_environment, "packages_to_install", lambda course, most: {})
    assert site_environment.environment() is own
    monkeypatch.setattr(site_environment, "packages_to_install", lambda course, most: {"Sphinx": "9.0.4"})
    monkeypatch.setattr(site_environment, "for_reading", lambda course: course.env)
    assert site_environment.environment() == ROOT / ".cache" / "site"
