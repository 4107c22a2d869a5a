"""Puts into the pages for instructors (units/*/teaching.md) how long the sections of a unit take.

    python tools/teaching.py            prints a table for every unit
    python tools/teaching.py --write    puts it into units/*/teaching.md, between their two marks; and the table of the
                                        course's parts into docs/teaching.md

The minutes are those of tools/lesson_time.py: counted, by the same measure for all units. Nobody was timed.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import build_notebooks  # noqa: E402
import lesson_time  # noqa: E402
import nbformat  # noqa: E402

from autograder import content  # noqa: E402
from autograder.start.units import all_units  # noqa: E402

BEGIN, END = "<!-- timing: python tools/teaching.py --write -->", "<!-- end of timing -->"
PARTS, END_OF_PARTS = "<!-- parts: python tools/teaching.py --write -->", "<!-- end of parts -->"
INDEX = ROOT / "docs" / "teaching.md"


def units() -> list[str]:
    """The names of the units' and homeworks' folders."""
    return [*build_notebooks.units(ROOT), *build_notebooks.homeworks(ROOT)]


def page(unit: str) -> Path:
    """The page for whoever teaches a unit."""
    return ROOT / "units" / unit / "teaching.md"


def notebook(unit: str) -> Path:
    return build_notebooks.solved_of(ROOT, unit)


def headings(unit: str) -> list[str]:
    """The headings of the first two levels, in their order."""
    cells = nbformat.read(notebook(unit), as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return [
        title.strip() for title in re.findall(r"^##? (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    ]


def minutes(unit: str) -> list[tuple[str, float, float]]:
    """(heading, minutes of core, of stretch) for each section of the second level, what is below it included."""
    titles, rows = headings(unit), []
    for section in lesson_time.sections(notebook(unit)):
        if section.heading in titles or not rows:
            rows.append([section.heading, 0.0, 0.0])
        rows[-1][2 if section.stretch else 1] += section.minutes
    return [tuple(row) for row in rows]


def table(unit: str) -> str:
    """A Markdown table of these minutes, and their sums."""
    lines = ["| section | core | stretch |", "|---|---|---|"]
    for heading, core, stretch in minutes(unit):
        lines.append(f"| {heading.replace('|', chr(92) + '|')} | {_whole(core)} | {_whole(stretch)} |")
    core, stretch = lesson_time.totals(notebook(unit))
    return "\n".join([*lines, f"| **together** | **{core:.0f}** | **{stretch:.0f}** |"])


def parts() -> str:
    """A Markdown table of the course's parts, which leads to the page for each unit."""
    course, known = content.course(ROOT), {unit.name: unit.title for unit in all_units(ROOT)}
    lines = ["| | |", "|---|---|"]
    for title, names in [*((part.title, part.units) for part in course.parts), ("Homework", course.homework)]:
        titles = [(name, known[name].replace(" · ", " ").removeprefix("Homework: ")) for name in names]
        links = ", ".join(f"[{words}](../units/{name}/teaching.md)" for name, words in titles)
        lines.append(f"| {title} | {links} |")
    return "\n".join(lines)


def _with(text: str, begin: str, made: str, end: str) -> str:
    """The text with this between the two marks; what was there goes."""
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n\n{made}\n\n{end}{rest.partition(end)[2]}"


def _whole(counted: float) -> str:
    return f"{max(1, round(counted))}" if counted else ""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into units/*/teaching.md")
    options = parser.parse_args(arguments)
    for unit in units():
        path = page(unit)
        if not options.write:
            print(f"{unit}\n{table(unit)}\n")
        elif path.exists():
            path.write_text(_with(path.read_text(encoding="utf-8"), BEGIN, table(unit), END), encoding="utf-8")
    if options.write:
        INDEX.write_text(_with(INDEX.read_text(encoding="utf-8"), PARTS, parts(), END_OF_PARTS), encoding="utf-8")


if __name__ == "__main__":
    main()
