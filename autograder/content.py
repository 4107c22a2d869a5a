"""The course that this engine serves: a folder with `course.toml` and one room for each unit.

    course.toml                     title, the units and the homework in their order, its parts and some paths through
                                    it; `frameworks = false` leaves out what needs TensorFlow or Horovod
                                    (docs/frameworks.md)
    units/NN_topic/topic.py         the page, a notebook as text; scripts beside it go to students with it
    units/NN_topic/exercises.py     the classes of the unit's exercises
    units/NN_topic/harness.py       functions that run around the student's on the ranks
    units/NN_topic/answers/NAME.py  right and wrong answers to the exercise NAME (`autograder.answers`)
    units/NN_topic/inputs.py        strategies of inputs at their edges (`autograder.inputs`), where the unit has some
    units/NN_topic/holes.toml       changes that are as right as the answer they come from (`autograder.holes`)
    units/NN_topic/unit.toml        its questions in recaps, claims that it computes again, files that no student gets
    units/NN_topic/teaching.md      the page for whoever teaches it

The folder is the engine's own, unless the environment names another one: COURSE=/srv/other autograder bank.
Only the standard library is imported here: a recap needs no more.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

# What of a unit's room is the grader's and the instructor's: it never reaches a student beside the page.
GRADERS = ("exercises.py", "harness.py", "answers", "inputs.py", "holes.toml", "unit.toml", "teaching.md")
COURSE = "COURSE"  # environment: the folder of the course, where it is not the engine's own
FILE, UNITS = "course.toml", "units"
ENGINE = Path(__file__).resolve().parents[1]


class NoCourse(ValueError):
    """Raised where no course can be read; the text says which file is missing or wrong, and what it should hold."""


@dataclass(frozen=True)
class Room:
    """The folder of a unit; any of its files may be missing. frameworks: the course has TensorFlow and Horovod."""

    folder: Path
    frameworks: bool = True

    @property
    def unit(self) -> str:
        """The unit's name, "14_search"."""
        return self.folder.name

    @property
    def exercises(self) -> Path:
        """The module of its exercises."""
        return self.folder / "exercises.py"

    @property
    def answers(self) -> Path:
        """The folder of right and wrong answers."""
        return self.folder / "answers"

    @property
    def inputs(self) -> Path:
        """The module of its strategies of inputs."""
        return self.folder / "inputs.py"

    @property
    def holes(self) -> Path:
        """The records of changes that are as right as the original."""
        return self.folder / "holes.toml"

    @property
    def needs_frameworks(self) -> bool:
        """True for a unit that is about TensorFlow or Horovod: its `unit.toml` says `frameworks = true`."""
        return self.about.get("frameworks") is True

    @property
    def about(self) -> dict[str, Any]:
        """The content of its `unit.toml`; {} where it has none. In a course without frameworks, what the table
        `without_frameworks` says stands in place of what is said for all. Raises NoCourse."""
        path = self.folder / "unit.toml"
        said = _toml(path, path.stat().st_mtime_ns) if path.is_file() else {}
        return said if self.frameworks else {**said, **said.get("without_frameworks", {})}


@dataclass(frozen=True)
class Part:
    """Some units under one title."""

    title: str
    units: tuple[str, ...]


@dataclass(frozen=True)
class Route:
    """A path through the course for one kind of reader. known: units that are taken as known and not part of it."""

    title: str
    says: str
    units: tuple[str, ...]
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """A course: its folder and what its `course.toml` says. units, homework: their names, in the course's order.

    frameworks: it has TensorFlow and Horovod. left_out: units that it has a room for, but not the frameworks.
    parts: the units by topic, each in one part; () where the course names none. routes: paths through the course.
    samples: what its site shows on the first page (`tools.site.samples`).
    """

    root: Path
    title: str
    units: tuple[str, ...]
    homework: tuple[str, ...] = ()
    frameworks: bool = True
    left_out: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    routes: tuple[Route, ...] = ()
    samples: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def rooms(self) -> list[Room]:
        """The rooms of the units, in the course's order."""
        return [self.room(unit) for unit in self.units]

    def room(self, unit: str) -> Room:
        """The room of a unit, whether it is there or not."""
        return Room(self.root / UNITS / unit, self.frameworks)


def root() -> Path:
    """The folder of the course: what the environment's COURSE names, else the folder that the engine lies in."""
    named = os.environ.get(COURSE)
    return Path(named).resolve() if named else ENGINE


def course(folder: Path | None = None) -> Content:
    """The course in a folder (default: `root`). Raises NoCourse."""
    folder = folder or root()
    path = folder / FILE
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        raise NoCourse(f"{folder} is no course: it has no {FILE}, which holds a title and a list of units") from None
    said = _toml(path, changed)
    title, units, homework = said.get("title"), said.get("units"), said.get("homework", [])
    lists = isinstance(units, list) and isinstance(homework, list)
    if not isinstance(title, str) or not lists or not all(isinstance(name, str) for name in [*units, *homework]):
        raise NoCourse(f'{path} should hold title = "...", units = ["00_first", ...] and, if any, homework = [...]')
    if missing := [name for name in [*units, *homework] if not (folder / UNITS / name).is_dir()]:
        raise NoCourse(f"{path} names {', '.join(missing)}, but {folder / UNITS} has no such folder")
    frameworks = said.get("frameworks", True)
    if not isinstance(frameworks, bool):
        raise NoCourse(f"{path} should hold frameworks = true or frameworks = false")
    left_out = () if frameworks else tuple(name for name in units if Room(folder / UNITS / name).needs_frameworks)
    there = tuple(name for name in units if name not in left_out)
    parts, routes = (
        _parts(path, said.get("part", []), there, left_out),
        _routes(path, said.get("path", []), there, left_out),
    )
    return Content(folder, title, there, tuple(homework), frameworks, left_out, parts, routes, said.get("samples", {}))


def _parts(path: Path, said: list[dict], units: tuple[str, ...], left_out: tuple[str, ...]) -> tuple[Part, ...]:
    """The parts that a course names; units that none of them has come last, in one of their own. Raises NoCourse."""
    found = [Part(str(one.get("title")), _known(path, one.get("units", []), units, left_out)) for one in said]
    named = [unit for part in found for unit in part.units]
    if twice := sorted({unit for unit in named if named.count(unit) > 1}):
        raise NoCourse(f"{path} has {', '.join(twice)} in more than one part")
    rest = tuple(unit for unit in units if unit not in named)
    parts = [*found, Part("More units", rest)] if found else []
    return tuple(part for part in parts if part.units)


def _routes(path: Path, said: list[dict], units: tuple[str, ...], left_out: tuple[str, ...]) -> tuple[Route, ...]:
    """The paths that a course names. Raises NoCourse."""
    names = [[_known(path, one.get(key, []), units, left_out) for key in ("units", "known")] for one in said]
    return tuple(
        Route(str(one.get("title")), str(one.get("says", "")), *both) for one, both in zip(said, names, strict=True)
    )


def _known(path: Path, names: list[str], units: tuple[str, ...], left_out: tuple[str, ...]) -> tuple[str, ...]:
    """These names without those that the course leaves out. Raises NoCourse for one that is no unit."""
    if strangers := [str(name) for name in names if name not in units and name not in left_out]:
        raise NoCourse(f"{path}: a part or a path names {', '.join(strangers)}, which is not among its units")
    return tuple(name for name in names if name in units)


def tables(said: Content) -> str:
    """The parts and paths as `course.toml` holds them."""
    lines = []
    for part in said.parts:
        lines += ["", "[[part]]", f"title = {json.dumps(part.title)}", f"units = {json.dumps(part.units)}"]
    for route in said.routes:
        lines += ["", "[[path]]", f"title = {json.dumps(route.title)}", f"says = {json.dumps(route.says)}"]
        lines += [f"units = {json.dumps(route.units)}", f"known = {json.dumps(route.known)}"]
    return "".join(f"{line}\n" for line in lines)


def enter(unit: str, folder: Path) -> None:
    """Name a unit in a course's list, in the order of the names; nothing where it is named already. Raises NoCourse."""
    said = course(folder)
    there = [*said.units, *said.left_out]
    if unit in there:
        return
    path = folder / FILE
    names = "".join(f'    "{name}",\n' for name in sorted([*there, unit]))
    text, count = re.subn(
        r"^units = \[.*?\]", f"units = [\n{names}]", path.read_text(encoding="utf-8"), count=1, flags=re.M | re.S
    )
    if count != 1:
        raise NoCourse(f"{path}: cannot find where units = [...] begins; add {unit} to it by hand")
    path.write_text(text, encoding="utf-8")


def load(path: Path, name: str) -> ModuleType:
    """The module of a room's file, kept under that name in `sys.modules`: dataclasses and inspect look there. It has no
    package; what it shares it imports from the engine."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@functools.lru_cache(maxsize=200)
def _toml(path: Path, _changed_at: int) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NoCourse(f"{path}: {error}") from None
