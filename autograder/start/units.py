"""The map of the course, read from the units themselves: what each says it needs and takes, and its exercises.

Only the standard library: the start page asks a Jupyter server, which has no use for torch.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TAKES = re.compile(r"\*\*It takes\*\*\s+(.*?)\.(?=\s|\Z)", re.DOTALL)
_NEEDS = re.compile(r"\*\*You need\*\*\s+(.*?)(?=\*\*It (?:takes|runs)\*\*|\n\n|\Z)", re.DOTALL)
_PROMISE = re.compile(r"\*\*At the end of this page\*\*\s+(.*?)(?=\n\n|\*\*You need|\Z)", re.DOTALL)
_FRAMEWORKS = re.compile(r"^(?:import|from) (?:horovod|tensorflow)\b", re.MULTILINE)
_MEMORY = re.compile(r"They\s+take\s+(about\s+[\d.]+\s+GB)\s+of\s+memory")


@dataclass(frozen=True)
class UnitTask:
    """An exercise of a unit's notebook. cell: the id of the cell that a student writes, or of its check. written: it is
    answered in words, and a person gives the points.
    """

    name: str
    points: float
    cell: str
    written: bool = False


@dataclass(frozen=True)
class Unit:
    """The description of a notebook, read from it. path: below notebooks/ or work/. title: "05 · Gradient all-reduce by
    hand".

    needs, takes, promise: in the notebook's words, without line breaks. minutes: those of its core; None where
    it says none. memory: "1.2 GB", "" where it is not said. frameworks: it imports TensorFlow or Horovod.
    """

    name: str
    path: str
    title: str
    needs: str
    takes: str
    minutes: int | None
    memory: str
    promise: str
    optional: bool
    frameworks: bool
    tasks: tuple[UnitTask, ...]

    @property
    def points(self) -> float:
        """The points that checks give."""
        return sum(task.points for task in self.tasks if not task.written)

    @property
    def is_homework(self) -> bool:
        return not self.name[:2].isdigit()


def all_units(course: Path = ROOT) -> list[Unit]:
    """The units of a course's notebooks/, then its homework, each by name."""
    found = []
    for folder in (*sorted((course / "notebooks").glob("[0-9][0-9]_*")), *sorted((course / "homework").glob("*"))):
        for path in sorted(folder.glob("*.ipynb")):
            unit = _read(path, path.stat().st_mtime_ns)
            if unit is not None:
                found.append(unit)
    return found


@functools.lru_cache(maxsize=200)
def _read(path: Path, _changed_at: int) -> Unit | None:
    """The unit of a notebook file; None if it is no notebook."""
    try:
        return of_notebook(path.parent.name, path.name, json.loads(path.read_text(encoding="utf-8"))["cells"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def of_notebook(name: str, file: str, cells: list[dict]) -> Unit:
    """The unit `name` from the cells of its notebook."""
    head = "\n\n".join(_source(cell) for cell in cells[:4] if cell["cell_type"] == "markdown")
    code = "\n".join(text for cell in cells if cell["cell_type"] == "code" and _is_python(text := _source(cell)))
    title = re.search(r"^# (.+)$", head, re.MULTILINE)
    takes = _first(_TAKES, head)
    return Unit(
        name=name,
        path=f"{name}/{file}",
        title=title[1].strip() if title else name,
        needs=plain(_first(_NEEDS, head)).rstrip(". "),
        takes=takes,
        minutes=_minutes(takes),
        memory=_first(_MEMORY, head),
        promise=plain(_first(_PROMISE, head)),
        optional="*Optional" in head,
        frameworks=bool(_FRAMEWORKS.search(re.sub(r'""".*?"""', "", code, flags=re.DOTALL))),
        tasks=tuple(_tasks(cells)),
    )


def _is_python(source: str) -> bool:
    """True if a cell's text is run as it stands, here or on the ranks; another magic makes a file of it, say."""
    return not source.startswith("%%") or source.startswith("%%ranks")


def plain(markdown: str) -> str:
    """Markdown without links and emphasis; `code` stays marked."""
    return re.sub(r"\*\*?([^*]+)\*\*?", r"\1", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown))


def _first(pattern: re.Pattern, text: str) -> str:
    found = pattern.search(text)
    return " ".join(found[1].split()) if found else ""


def _minutes(takes: str) -> int | None:
    numbers = [int(number) for number in re.findall(r"\d+", takes)]
    return numbers[0] if numbers else 60 if "hour" in takes else None


def _tasks(cells: list[dict]) -> list[UnitTask]:
    there = {cell.get("id") for cell in cells}
    found = []
    for cell in cells:
        marks = cell.get("metadata", {}).get("nbgrader") or {}
        if marks.get("grade"):
            name = marks["grade_id"].removeprefix("check_")
            place, written = name if name in there else cell.get("id", ""), bool(marks.get("solution"))
            found.append(UnitTask(name, marks.get("points", 0), place, written))
    return found


def _source(cell: dict) -> str:
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
