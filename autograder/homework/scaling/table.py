"""scaling.csv: what a student says the scaling is, read as people write it and believed in nothing.

Numbers may have a percent sign, a unit or an error ("1 234,5 ± 20 images/s"); `students_table` says how files and
numbers may be written. Columns are known by words in the first line, or by their order where there
is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from autograder.homework.rubric import shown
from autograder.homework.students_table import TableError, WrittenNumber, decimal_mark, number, read_rows

COLUMNS = ("ranks", "images_per_second", "speedup", "efficiency")
MOST_ROWS = 200
_WORDS = {  # looked for in this order
    "efficiency": r"effic|\beff\b",
    "speedup": r"speed.?up|beschleunig|acc[eé]l[eé]r",
    "images_per_second": r"image|img|throughput|sample|per_?sec|/ ?s\b",
    "ranks": r"rank|\bnp?\b|\bp\b|gpu|proc|worker|world|size|node|device",
}


@dataclass
class ScalingTable:
    """rows: number of ranks -> column -> number; what a row does not have is not in it. problems: sentences."""

    rows: dict[int, dict[str, WrittenNumber]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    percent_columns: frozenset[str] = frozenset()

    def column(self, name: str) -> dict[int, WrittenNumber]:
        return {p: row[name] for p, row in sorted(self.rows.items()) if name in row}

    def efficiencies(self) -> tuple[dict[int, WrittenNumber], bool]:
        """(the efficiencies as fractions, whether a percent sign stands beside fractions: "0.61 %" where 61 % is
        meant)."""
        column = self.column("efficiency")
        if not column:
            return {}, False
        if column[min(column)].value > 20:  # the baseline's own efficiency is 1, or 100 %
            return {p: number.scaled(0.01) for p, number in column.items()}, False
        signed = {p: number for p, number in column.items() if number.percent and number.value > 2}
        marked = "efficiency" in self.percent_columns or any(number.percent for number in column.values())
        return {p: n.scaled(0.01) if p in signed else n for p, n in column.items()}, marked and not signed


def read(path: Path) -> ScalingTable:
    """The table in a file. Raises TableError with one sentence where there is none in it, and OSError."""
    rows = read_rows(path)
    if not rows:
        raise TableError("the file is empty")
    if len(rows) > MOST_ROWS:
        raise TableError(f"it has {len(rows)} lines; a table of scaling has one for each number of ranks")
    table, first = ScalingTable(), rows[0]
    columns, width = _named(first), len(first)
    if columns:
        table.percent_columns = frozenset(
            name for name, k in columns.items() if re.search(r"%|percent", first[k].lower())
        )
        rows = rows[1:]
    elif len(first) >= len(COLUMNS) and number(first[0]):
        columns, width = {name: k for k, name in enumerate(COLUMNS)}, len(COLUMNS)
    if "ranks" not in columns or len(columns) < 2:
        raise TableError(
            f"its first line does not name the columns {', '.join(COLUMNS)}, but says `{shown(' '.join(first))}`"
        )
    decimal = decimal_mark(cells[k] for cells in rows for k in columns.values() if k < len(cells))
    for cells in rows:
        _take(table, cells, columns, width, decimal)
    if not table.rows:
        raise TableError("it has no line that begins with a number of ranks")
    return table


def _named(header: list[str]) -> dict[str, int]:
    """column -> its place, by the words in the first line. Empty where that line holds numbers."""
    if number(header[0]):
        return {}
    found: dict[str, int] = {}
    for k, cell in enumerate(header):
        words = cell.lower().replace("_", " ")
        name = next(
            (name for name, pattern in _WORDS.items() if re.search(pattern, words)), "speedup" * ("speed" in words)
        )
        if name and name not in found and not re.search(r"error|std|±|\bsd\b|ideal|perfect|theor", words):
            found[name] = k
    return found


def _take(table: ScalingTable, cells: list[str], columns: dict[str, int], width: int, decimal: str) -> None:
    if len(cells) > width and len(cells) >= 2 * width - 1 and all(number(cell) for cell in cells):
        said = shown(",".join(cells))
        raise TableError(
            f"`{said}` can be read in more than one way: separate columns by semicolons where numbers have decimal"
            " commas"
        )
    found = {name: number(cells[k], decimal) for name, k in columns.items() if k < len(cells)}
    ranks = found.pop("ranks", None)
    if ranks is None or ranks.value != int(ranks.value) or not 1 <= ranks.value <= 100_000:
        table.problems.append(
            f"The line `{shown(', '.join(cells))}` does not begin with a number of ranks; it was left out."
        )
        return
    if int(ranks.value) in table.rows:
        table.problems.append(f"There are two lines for {int(ranks.value)} ranks; the first one counts.")
        return
    table.rows[int(ranks.value)] = {name: value for name, value in found.items() if value is not None}
