"""The course's own code as a browser gets it: the modules that judging a playable exercise imports, found by doing it
once without numpy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from autograder import content
from autograder.browser.names import EXERCISES, PUZZLES, UNITS
from autograder.registry import all_exercises
from tools.site.play import planner

NAME = "course.zip"
# Runs in a process of its own: says which files of the engine were imported or opened while each exercise was judged.
LIST = """
import json, sys

sys.modules["torch"] = None
opened = set()
sys.addaudithook(lambda event, given: opened.add(str(given[0])) if event == "open" else None)
from autograder.browser import planning, session

for name, answer in json.loads(sys.argv[1]).items():
    session.told(name, answer)
planning.told(sys.argv[2])
files = [getattr(module, "__file__", None) for module in list(sys.modules.values()) if module is not None]
print(json.dumps([*filter(None, files), *(one for one in opened if one.endswith((".py", ".toml", ".txt")))]))
"""


def first_answer(function: str) -> str:
    """The answer from which the list of modules comes: one micro-batch after the other, or nothing."""
    order = 'return [" ".join(f"F{k} B{k}" for k in range(8))] * 4' if function in PUZZLES else "return None"
    return f"def {function}(*arguments):\n    {order}\n"


def course_of(units: list[str], to: Path) -> None:
    """Writes a course of these units with what judging their exercises needs: of their answers those that stand in for
    a missing one."""
    for unit in units:
        room = to / content.UNITS / unit
        room.mkdir(parents=True)
        classes = content.course(content.ENGINE).room(unit).exercises
        for path in (classes, classes.with_name("harness.py")):
            if path.is_file():
                shutil.copyfile(path, room / path.name)
        for exercise in all_exercises():
            if exercise.unit == unit and exercise.reference:
                answers = content.Room(room).answers
                answers.mkdir(exist_ok=True)
                named = vars(type(exercise))["reference"].name
                (answers / f"{exercise.function}.py").write_text(f"# %% {named}: passed\n{exercise.reference}")
    said = json.dumps(units)
    (to / content.FILE).write_text(f'title = "{content.course(content.ENGINE).title}"\nunits = {said}\n')


def modules(course: Path, functions: tuple[str, ...]) -> list[Path]:
    """The files of the engine that judging these exercises needs, from its root."""
    environment = {**os.environ, "PYTHONPATH": str(content.ENGINE), content.COURSE: str(course)}
    answers = json.dumps({name: first_answer(name) for name in functions})
    ran = subprocess.run(
        [sys.executable, "-c", LIST, answers, planner.FIRST], env=environment, capture_output=True, text=True
    )
    if ran.returncode:
        raise RuntimeError(f"the modules for the browser cannot be listed:\n{ran.stderr}")
    found = {Path(file) for file in json.loads(ran.stdout.splitlines()[-1])}
    own = {path.relative_to(content.ENGINE) for path in found if path.is_relative_to(content.ENGINE)}
    return sorted(path for path in own if path.parts[0] in ("autograder", "labkit"))


def bundle(to: Path) -> int:
    """Writes the archive; returns its bytes."""
    with tempfile.TemporaryDirectory(prefix="play-") as folder:
        course = Path(folder)
        course_of(list(UNITS), course)
        listed = modules(course, PUZZLES + EXERCISES)
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in listed:
                archive.write(content.ENGINE / path, path.as_posix())
            for path in sorted(course.rglob("*.*")):
                archive.write(path, path.relative_to(course).as_posix())
    return to.stat().st_size
