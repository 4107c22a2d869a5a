"""A table as students save it: text in the encodings of spreadsheets, cells apart by any usual mark, numbers in the
habits of their countries.

A number like "1.234" can be read in two ways. What the other numbers of the table show decides: in a table with "0,5"
or "13.989.008" a comma is the decimal mark, in one with "0.5" or "1,234.5" a point is. Where they show nothing, or
both, `WrittenNumber.value` is the reading with a decimal mark and `WrittenNumber.other` the one with thousands: the run
logs, which the homework's judges know, then decide between them.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES, MOST_FIELDS = 1 << 20, 60
LONGEST_CELL = 200  # characters of a cell that are read
_BLANKS = " '\u2019\u00a0\u2009\u202f"  # what stands between thousands besides points and commas
_NUMBER = re.compile(rf"[+-]?(?:\d[\d.,{_BLANKS}]{{0,40}}|[.,]\d{{1,40}})(?:[eE][+-]?\d{{1,3}})?")
_AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


class TableError(ValueError):
    """A file that is no such table: says why."""


@dataclass(frozen=True)
class WrittenNumber:
    """A number as written. half: half a unit of its last digit. other: a second way to read it ("1.234" as 1234), or
    nan."""

    value: float
    half: float = 0.0
    percent: bool = False
    other: float = math.nan

    @property
    def readings(self) -> tuple[float, ...]:
        return (self.value,) if math.isnan(self.other) else (self.value, self.other)

    def scaled(self, factor: float) -> WrittenNumber:
        return WrittenNumber(self.value * factor, self.half * factor, self.percent, self.other * factor)


def read_rows(path: Path) -> list[list[str]]:
    """The cells of a table's lines, without empty lines, remarks and the rules of a table in Markdown. Raises
    TableError, OSError."""
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise TableError("it is larger than such a table can be")
    lines = [line.strip("\r\n") for line in _text(data).splitlines() if line.strip(" \t,;|")]
    lines = [line for line in lines if not re.fullmatch(r"[|:\s-]+", line) and not line.lower().startswith("sep=")]
    while len(lines) > 1 and lines[0].startswith("#") and _marks(lines[0]) < _marks(lines[1]):
        del lines[0]  # a remark above the table
    if lines and lines[0].startswith("#"):  # as numpy.savetxt writes the names of columns
        lines[0] = lines[0].lstrip("# ")
    lines = [line for line in lines if not line.startswith("#")]
    mark = next((mark for mark in "|;\t" if lines and all(mark in line for line in lines[:2])), ",")
    if mark == ",":
        by_comma = any("," in line for line in lines)
        lines = lines if by_comma else [re.sub(r"\s+", ",", line.strip()) for line in lines]
    if mark == "|":
        lines = [line.strip().strip("|") for line in lines]
    try:
        rows = list(csv.reader(lines, delimiter=mark, skipinitialspace=True))
    except csv.Error as error:
        raise TableError(f"its lines cannot be taken apart ({error})") from None
    return [[cell.strip()[:LONGEST_CELL] for cell in row[:MOST_FIELDS]] for row in rows if row]


def _text(data: bytes) -> str:
    for encoding in ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise TableError("it is not text")


def _marks(line: str) -> int:
    return max(map(line.count, ",;\t|"))


def decimal_mark(cells: Iterable[str]) -> str:
    """ "," or "." if the numbers in these cells show which of them is the decimal mark, else ""."""
    shown = {mark for cell in cells if (found := _NUMBER.match(cell.lstrip("~≈≃ "))) and (mark := _shown(found[0]))}
    return shown.pop() if len(shown) == 1 else ""


def _shown(written: str) -> str:
    """The decimal mark that a number shows, "" where it shows none."""
    digits = _plain(written).lower().partition("e")[0].rstrip(".,")
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:
        return "," if comma > point else "."
    mark = "," if comma >= 0 else "." if point >= 0 else ""
    if not mark or _AMBIGUOUS.fullmatch(digits):
        return ""
    return mark if digits.count(mark) == 1 else "." if mark == "," else ","


def _plain(written: str) -> str:
    return re.sub(f"[{_BLANKS}]", "", written)


def number(text: str, decimal: str = "") -> WrittenNumber | None:
    """The number that a cell begins with, None where it begins with none. decimal: the table's `decimal_mark`."""
    text = text.strip().lstrip("~≈≃ ")
    found = _NUMBER.match(text)
    if not found:
        return None
    digits, _, power = _plain(found[0]).lower().partition("e")
    plain, other = _with_point(digits.rstrip(".,"), decimal)
    try:
        factor = 10.0 ** int(power or 0)
        value = float(f"{plain}e{power or 0}")
        unit = float(f"1e{int(power or 0) - len(plain.partition('.')[2])}")
    except (ValueError, OverflowError):
        return None
    percent = text[found.end() :].lstrip(" )").startswith("%")
    return WrittenNumber(value, unit / 2, percent, other * factor) if math.isfinite(value) else None


def _with_point(digits: str, decimal: str) -> tuple[str, float]:
    """(the digits with a decimal point, the value if what looks like one separates thousands; nan)."""
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:  # the last one is the decimal's
        thousands = "," if point > comma else "."
        return digits.replace(thousands, "").replace(",", "."), math.nan
    mark = "," if comma >= 0 else "."
    if digits.count(mark) > 1:
        return digits.replace(mark, ""), math.nan
    if not _AMBIGUOUS.fullmatch(digits):
        return digits.replace(",", "."), math.nan
    if decimal:
        return digits.replace(mark, "." if mark == decimal else ""), math.nan
    return digits.replace(",", "."), float(digits.replace(mark, ""))
