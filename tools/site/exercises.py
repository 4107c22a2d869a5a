"""The exercises of a notebook as boxes on its page: where each begins and ends, and what its first line says."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from nbformat import NotebookNode

HEADING = re.compile(r"^(#{1,6}) (.+)$", re.M)
POINTS = re.compile(r" \((\d+) points?\)(?: · stretch)?$")
STRETCH = re.compile(r"^(Deeper|Bonus|To read)\b|· stretch$")  # as tools/lesson_time.py has it
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


@dataclass(frozen=True)
class Edge:
    """One end of a box. opens: the HTML that begins it, "" for its end. heading: it begins behind this one, which is
    the last of its cell; "": before the whole cell."""

    opens: str = ""
    heading: str = ""


def boxes(cells: list[NotebookNode]) -> dict[int, Edge]:
    """Cell -> the end of the box that it has: the text of an exercise begins one, its check (of a question, the place
    for the answer) ends it."""
    found, stretch = {}, _stretch(cells)
    for k, cell in enumerate(cells):
        marks = cell.metadata.get("nbgrader", {})
        if not marks.get("solution") or cells[k - 1].cell_type != "markdown" or k - 1 in found:
            continue
        written = bool(marks.get("grade"))
        check = cell if written or k + 1 == len(cells) else cells[k + 1]
        if not check.metadata.get("nbgrader", {}).get("grade"):
            continue  # a part of a homework
        headings = HEADING.findall(FENCE.sub("", cells[k - 1].source))
        heading = f"{headings[-1][0]} {headings[-1][1]}" if headings and POINTS.search(headings[-1][1]) else ""
        points = check.metadata["nbgrader"].get("points", 0)
        name = "" if written else marks.get("grade_id", "")
        found[k - 1 if heading else k] = Edge(_opens(name, points, stretch[k]), heading)
        found[k if written else k + 1] = Edge()
    return found


def _opens(name: str, points: float, stretch: bool) -> str:
    """The HTML that begins a box; a question to answer in words has no name."""
    what = f"Exercise <code>{name}</code>" if name else "A question to answer in words"
    worth = f'<span class="badge-points">{points:g} point{"" if points == 1 else "s"}</span>' if points else ""
    later = '<span class="badge-stretch">stretch</span>' if stretch else ""
    label = f"Exercise {name}" if name else "Question"
    head = f'<p class="exercise-head"><span>{what}</span>{worth}{later}</p>'
    return f'<div class="exercise" role="group" aria-label="{label}">\n{head}\n'


def at_heading(source: str, heading: str) -> tuple[str, str]:
    """(the text up to this heading, which loses its points; the text behind it)."""
    before, _, after = source.rpartition(heading)
    return before + POINTS.sub("", heading), after.strip()


def given(source: str, least: int) -> str:
    """The names that code defines, if it does nothing else and has so many lines; "" for other code."""
    code = source.partition("\n")[2] if source.startswith("%%ranks") else source
    if code.startswith(("%", "!")) or code.count("\n") + 1 < least:
        return ""
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return ""
    quiet, names = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef), []
    if not all(isinstance(node, quiet) for node in body):
        return ""
    for node in body:
        names += [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
    return ", ".join(names)


def _stretch(cells: list[NotebookNode]) -> list[bool]:
    """True for each cell below a heading that marks what can wait."""
    found, level = [], 0
    for cell in cells:
        for marks, title in HEADING.findall(FENCE.sub("", cell.source)) if cell.cell_type == "markdown" else ():
            if level and len(marks) <= level:
                level = 0
            if not level and STRETCH.search(title):
                level = len(marks)
        found.append(level > 0)
    return found
