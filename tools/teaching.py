"""Puts into the pages for instructors (units/*/teaching.md) how long the sections of a unit take.

    python tools/teaching.py            prints a table for every unit
    python tools/teaching.py --write    puts it into units/*/teaching.md, between their two marks

The minutes are those of tools/lesson_time.py: counted, by the same measure for all units. Nobody was timed.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import build_notebooks  # noqa: E402
import lesson_time  # noqa: E402
import nbformat  # noqa: E402

BEGIN, END = "<!-- timing: python tools/teaching.py --write -->", "<!-- end of timing -->"


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
            head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
            path.write_text(f"{head}{BEGIN}\n\n{table(unit)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
