"""`autograder new UNIT FUNCTION`: the files of a new exercise, complete and judged as right, for its author to change.

What is written is an exercise that works: a function of its own (the largest value over the ranks, or a fair number of
samples) with a mistake that has a name and its answers in the bank. An author changes one thing after the other and
always has an exercise that can be judged.
"""

from __future__ import annotations

import ast
import keyword
import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

import autograder.content as content
from autograder.registry import all_exercises

KINDS = {
    "torch": "ranks of torch.distributed, on the checks' network",
    "mpi4py": "ranks of a real MPI job",
    "plain": "no communication, called once for each rank",
}
_TEMPLATES = Path(__file__).parent
_BEHIND = re.compile(r"^# %% \[markdown\]\n# ## (Break it|What to remember|Deeper)", re.MULTILINE)
_POINTS = 2


class CannotCreate(ValueError):
    """Raised when no exercise can be created; its text says why in one sentence."""


@dataclass(frozen=True)
class Created:
    """A new exercise: its unit, and every file written with its new contents."""

    unit: str
    function: str
    files: dict[Path, str]


def create(unit: str, function: str, kind: str = "torch", title: str = "", root: Path | None = None) -> Created:
    """Write the cell pair, the class and the bank of a new exercise into the course at `root`.

    unit: "03", "03_collectives" or the name of a unit that does not exist yet, "15_sharding". title: the exercise's
    heading on the page; made from the function's name where it is left out. Raises CannotCreate before anything is
    written.
    """
    root = root or content.root()
    _check_names(function, kind)
    unit = _unit(root, unit)
    words = {
        "function": function,
        "Class": "".join(word.capitalize() for word in function.split("_")),
        "title": title or function.replace("_", " ").capitalize(),
        "unit": unit,
        "number": unit.split("_")[0],
        "topic": unit.split("_", 1)[1].replace("_", " ").capitalize(),
        "points": str(_POINTS),
    }
    room = content.Room(root / content.UNITS / unit)
    bank = room.answers / f"{function}.py"
    if bank.exists():
        raise CannotCreate(f"{bank} is there already: give the exercise another name, or remove the file")
    module = room.exercises
    page = _page(root, unit)
    files = {
        module: "the class: what is asked, its cases, what is right, its mistakes",
        page: "a markdown cell, the solution and its check",
        bank: "right and wrong answers",
    }
    _add_class(module, _filled(kind, "exercise.py.txt", words), words)
    _add_cells(page, _filled(kind, "cells.py.txt", words), words)
    bank.parent.mkdir(parents=True, exist_ok=True)
    content.enter(unit, root)
    bank.write_text(_filled(kind, "answers.py.txt", words))
    return Created(unit, function, files)


def _check_names(function: str, kind: str) -> None:
    """Raises CannotCreate where there is no such kind, or no exercise can be called so."""
    if kind not in KINDS:
        raise CannotCreate(f"no kind of exercise is called {kind}: choose one of {', '.join(KINDS)}")
    if not function.isidentifier() or keyword.iskeyword(function) or function != function.lower():
        raise CannotCreate(
            f"{function} is no name for a function of the course: lower-case words joined by underscores"
        )
    taken = {exercise.function: exercise.unit for exercise in all_exercises()}
    if function in taken:
        raise CannotCreate(
            f"unit {taken[function]} has an exercise {function}: `check(f)` finds an exercise by its name"
        )


def _unit(root: Path, wanted: str) -> str:
    units = sorted(path.name for path in (root / content.UNITS).glob("[0-9][0-9]_*"))
    found = [unit for unit in units if wanted in (unit, unit.split("_")[0])]
    if found:
        return found[0]
    if not re.fullmatch(r"\d\d_[a-z0-9]+(_[a-z0-9]+)*", wanted):
        raise CannotCreate(
            f"no unit is called {wanted} (there are {', '.join(units)}); a new one is named like 15_sharding"
        )
    return wanted


def _page(root: Path, unit: str) -> Path:
    """The source of a unit's page: the script that begins with a markdown cell. For a new unit, where it will lie."""
    folder = root / content.UNITS / unit
    found = [path for path in sorted(folder.glob("*.py")) if path.read_text().startswith("# %% [markdown]")]
    return found[0] if found else folder / f"{unit.split('_', 1)[1]}.py"


def _filled(kind: str, name: str, words: dict[str, str]) -> str:
    return Template((_TEMPLATES / kind / name).read_text()).substitute(words)


def _add_class(module: Path, text: str, words: dict[str, str]) -> None:
    """Put a class at a module's end, and what it imports among the module's imports."""
    imports, _, body = text.partition("\n\n\n")
    source = module.read_text() if module.exists() else Template(_MODULE).substitute(words)
    for node in ast.parse(imports).body:
        source = _with_import(source, node)
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(source.rstrip("\n") + "\n\n\n" + body.strip("\n") + "\n")


def _with_import(source: str, wanted: ast.Import | ast.ImportFrom) -> str:
    """The source of a module with an import: into the statement that imports from there already, else in the order of
    names.
    """
    there = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    if isinstance(wanted, ast.Import):
        held = {ast.unparse(alias) for node in there if isinstance(node, ast.Import) for alias in node.names}
        if {ast.unparse(alias) for alias in wanted.names} <= held:
            return source
    lines = source.splitlines(keepends=True)
    same = [node for node in there if isinstance(node, ast.ImportFrom) and node.module == getattr(wanted, "module", "")]
    if same:
        names = {ast.unparse(alias) for node in (same[0], wanted) for alias in node.names}
        merged = sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
        lines[same[0].lineno - 1 : same[0].end_lineno] = [f"from {wanted.module} import {', '.join(merged)}\n"]
        return "".join(lines)
    before = [node for node in there if _place(node) < _place(wanted)]
    at = before[-1].end_lineno if before else there[0].lineno - 1
    lines.insert(at, ast.unparse(wanted) + "\n")
    return "".join(lines)


def _place(node: ast.Import | ast.ImportFrom) -> tuple[bool, str]:
    """The sort key of an import: other people's modules stand before the course's own."""
    name = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
    return name.split(".")[0] in ("autograder", "labkit", "probes"), name if name != "__future__" else ""


def _add_cells(page: Path, cells: str, words: dict[str, str]) -> None:
    """Put cells before the page's last sections, or at its end."""
    page.parent.mkdir(parents=True, exist_ok=True)
    source = page.read_text() if page.exists() else Template(_PAGE).substitute(words)
    behind = _BEHIND.search(source)
    place = behind.start() if behind else len(source)
    page.write_text(
        source[:place].rstrip("\n") + "\n\n" + cells.strip("\n") + "\n" + ("\n" + source[place:] if behind else "")
    )


_MODULE = '''"""Unit $number, $topic."""

from __future__ import annotations

import numpy as np

from autograder.exercise import Case, Exercise, Mistake
'''

_PAGE = """# %% [markdown]
# # $number · $topic
#
# The question this page answers, and why it matters.
#
# **At the end of this page** you can ...
#
# **You need** unit ... **It takes** about ... minutes. The cells themselves run for
# about ... seconds on two cores. They take about ... GB of memory.

# %%
import numpy as np
import torch
import torch.distributed as dist

from autograder import check

# %% [markdown]
# ## Build
"""
