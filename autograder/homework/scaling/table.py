"""scaling.csv: what a student says the scaling is, read as people write it and believed in nothing.

Commas, semicolons, tabs or bars separate; numbers may have a decimal comma, a separator of thousands, a percent sign, a
unit or an error ("1 234,5 ± 20 images/s"). Columns are known by words in the first line, or by their order where there
is none.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from autograder.homework.rubric import shown

COLUMNS = ("ranks", "images_per_second", "speedup", "efficiency")
MOST_ROWS, MOST_FIELDS = 200, 60
_WORDS = {  # looked for in this order
    "efficiency": r"effic|\beff\b",
    "speedup": r"speed.?up|beschleunig|acc[eé]l[eé]r",
    "images_per_second": r"image|img|throughput|sample|per_?sec|/ ?s\b",
    "ranks": r"rank|\bnp?\b|\bp\b|gpu|proc|worker|world|size|node|device",
}
_NUMBER = re.compile(r"[+-]?(?:\d[\d.,' \u00a0\u202f]{0,40}|[.,]\d{1,40})(?:[eE][+-]?\d{1,3})?")


class TableError(ValueError):
    """A file that is no such table: says why."""


@dataclass(frozen=True)
class Number:
    """A number as written. half: half a unit of its last digit. other: a second way to read it ("1.234" as 1234), or
    nan."""

    value: float
    half: float = 0.0
    percent: bool = False
    other: float = math.nan

    @property
    def readings(self) -> tuple[float, ...]:
        return (self.value,) if math.isnan(self.other) else (self.value, self.other)

    def scaled(self, factor: float) -> Number:
        return Number(self.value * factor, self.half * factor, self.percent, self.other * factor)


@dataclass
class Table:
    """rows: number of ranks -> column -> number; what a row does not have is not in it. problems: sentences."""

    rows: dict[int, dict[str, Number]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    percent_columns: frozenset[str] = frozenset()

    def column(self, name: str) -> dict[int, Number]:
        return {p: row[name] for p, row in sorted(self.rows.items()) if name in row}

    def efficiencies(self) -> tuple[dict[int, Number], bool]:
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


def read(path: Path) -> Table:
    """The table in a file. Raises TableError with one sentence where there is none in it, and OSError."""
    text = _text(path.read_bytes())
    rows = _rows(text)
    if not rows:
        raise TableError("the file is empty")
    table, first = Table(), rows[0]
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
    for cells in rows:
        _take(table, cells, columns, width)
    if not table.rows:
        raise TableError("it has no line that begins with a number of ranks")
    return table


def number(text: str) -> Number | None:
    """The number that a cell begins with, None where it begins with none."""
    found = _NUMBER.match(text.strip())
    if not found:
        return None
    written = re.sub(r"[' \u00a0\u202f]", "", found[0])
    digits, _, power = written.lower().partition("e")
    plain, other = _with_point(digits)
    try:
        value = float(f"{plain}e{power or 0}")
        unit = float(f"1e{int(power or 0) - len(plain.partition('.')[2])}")
    except ValueError:
        return None
    percent = text.strip()[found.end() :].lstrip(" )").startswith("%")
    return Number(value, unit / 2, percent, other) if math.isfinite(value) else None


def _with_point(digits: str) -> tuple[str, float]:
    """(the digits with a decimal point, the value if what looks like one separates thousands; nan)."""
    digits = digits.rstrip(".,")
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:  # the last one is the decimal's
        thousands = "," if point > comma else "."
        return digits.replace(thousands, "").replace(",", "."), math.nan
    mark = "," if comma >= 0 else "."
    if digits.count(mark) > 1:
        return digits.replace(mark, ""), math.nan
    other = float(digits.replace(mark, "")) if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}\{mark}\d{{3}}", digits) else math.nan
    return digits.replace(",", "."), other


def _text(data: bytes) -> str:
    for encoding in ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise TableError("it is not text")


def _rows(text: str) -> list[list[str]]:
    """The cells of all lines that are not empty, remarks or rules of a table in Markdown."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" \t,;|")]
    lines = [line for line in lines if not re.fullmatch(r"[|:\s-]+", line) and not line.startswith("sep=")]
    if len(lines) > MOST_ROWS:
        raise TableError(f"it has {len(lines)} lines; a table of scaling has one for each number of ranks")
    if lines and lines[0].startswith("#"):
        lines[0] = lines[0].lstrip("# ")
    lines = [line for line in lines if not line.startswith("#")]
    mark = next((mark for mark in "|;\t" if lines and all(mark in line for line in lines[:2])), ",")
    if mark == ",":
        lines = lines if any("," in line for line in lines) else [re.sub(r"\s+", ",", line) for line in lines]
    try:
        rows = list(
            csv.reader(
                (line.strip("|") if mark == "|" else line for line in lines), delimiter=mark, skipinitialspace=True
            )
        )
    except csv.Error as error:
        raise TableError(f"its lines cannot be taken apart ({error})") from None
    return [[cell.strip() for cell in row[:MOST_FIELDS]] for row in rows if row]


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


def _take(table: Table, cells: list[str], columns: dict[str, int], width: int) -> None:
    if len(cells) > width and len(cells) >= 2 * width - 1 and all(number(cell) for cell in cells):
        said = shown(",".join(cells))
        raise TableError(
            f"`{said}` can be read in more than one way: separate columns by semicolons where numbers have decimal"
            " commas"
        )
    found = {name: number(cells[k]) for name, k in columns.items() if k < len(cells)}
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
