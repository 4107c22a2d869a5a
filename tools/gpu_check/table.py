"""The findings of a check: a row with the measured beside the expected, and how rows are shown and written."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

OK, FAILED, MEASURED, NOT_RUN = "ok", "FAILED", "measured", "not run"
WIDTHS = (42, 27, 36)  # of the columns what, measured and expected


@dataclass(frozen=True)
class Row:
    """One line of the table.

    verdict: "ok" and "FAILED" where a fact was judged, "measured" for a time or a rate, which nobody judges, "not run"
    where something is missing; `expected` then says what. value: the number behind `measured`, in `unit`, for programs.
    """

    what: str
    measured: str
    expected: str
    verdict: str
    value: float | None = None
    unit: str = ""
    check: str = ""


def judged(what: str, good: bool, measured: str, expected: str, value: float | None = None, unit: str = "") -> Row:
    """A row that is right or wrong."""
    return Row(what, measured, expected, OK if good else FAILED, value, unit)


def measured(what: str, value: float | None, unit: str, expected: str, shown: str | None = None) -> Row:
    """A row that nobody judges: a time, a rate. value: None where it is not known. shown: instead of value and unit."""
    number = "unknown" if value is None else f"{value:,.4g} {unit}".strip()
    return Row(what, shown or number, expected, MEASURED, value, unit)


def not_run(what: str, why: str) -> Row:
    """A row for what could not be tried here."""
    return Row(what, "-", why, NOT_RUN)


def failed(rows: Sequence[Row]) -> list[Row]:
    """Those that are wrong: they decide the exit status."""
    return [row for row in rows if row.verdict == FAILED]


def text(rows: Sequence[Row], machine: dict) -> str:
    """The table as text, check by check."""
    lines = [f"{name + ':':<10} {value}" for name, value in machine.items()]
    lines += ["", _line(("", "measured", "expected"), "verdict")[0]]
    check = None
    for row in rows:
        if row.check != check:
            check = row.check
            lines += ["", check]
        lines += _line((row.what, row.measured, row.expected), row.verdict)
    return "\n".join(line.rstrip() for line in lines)


def _line(cells: Sequence[str], verdict: str) -> list[str]:
    """One row in columns; what is longer than its column goes on in the next line."""
    columns = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, WIDTHS, strict=True)]
    columns.append([verdict])
    height = max(map(len, columns))
    padded = [column + [""] * (height - len(column)) for column in columns]
    return [
        "  " + "  ".join(f"{part:<{width}}" for part, width in zip(parts, (*WIDTHS, 0), strict=True))
        for parts in zip(*padded, strict=True)
    ]


def write(path: Path, rows: Sequence[Row], machine: dict) -> None:
    """The same for programs: an object with `machine`, `rows` (as in `Row`) and `failed`, how many are wrong."""
    record = {"machine": machine, "rows": [asdict(row) for row in rows], "failed": len(failed(rows))}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
