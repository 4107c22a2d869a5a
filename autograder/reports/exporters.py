"""Marks for a spreadsheet or another system: a plug-in of `nbgrader export`, every exercise in a column.

    nbgrader export --exporter=autograder.reports.exporters.CsvExporter --to marks.csv

It understands nbgrader's `--to FILE`, `--assignment [A,B]` and `--student [X,Y]`. Those who handed in nothing get an
empty cell, not a zero: what a missing submission is worth is for the other system's rules (or
`--CsvExporter.missing=0`). Text that a spreadsheet would run as a formula is made plain text.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbgrader.plugins import ExportPlugin
from traitlets import Unicode

from autograder.reports.marks import Marks, StudentMarks, read_marks

_FORMULA = ("=", "+", "-", "@")
_PLAIN_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def safe(text: str) -> str:
    """`text` as a cell that no spreadsheet runs as a formula: a quote in front of what would begin one; no control
    characters.

    Source: OWASP Application Security Verification Standard 5.0, 1.2.10 (CSV and formula injection). A number is left
    alone.
    """
    text = "".join(" " if ord(c) < 32 and c != "\n" else c for c in text.replace("\r\n", "\n").replace("\r", "\n"))
    if text.strip().startswith(_FORMULA) and not _PLAIN_NUMBER.fullmatch(text):
        return "'" + text.strip()
    return text


def number(value: float | None) -> str:
    """A mark with a decimal point and at most two decimals; nothing for None."""
    return "" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """RFC 4180: commas, quotes doubled, lines ended by CR LF."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


class CsvExporter(ExportPlugin):
    """One row per assignment and student, one column per exercise; "provisional" says whether a person has yet to
    grade a part."""

    missing = Unicode("", help="What stands where nothing was handed in: nothing, or for example 0.").tag(config=True)

    def export(self, gradebook) -> None:
        """Write the file named by --to. It is replaced whole or not at all."""
        chosen = [str(name) for name in self.assignment] or [one.name for one in gradebook.assignments]
        students = [str(name) for name in self.student]
        marks = [read_marks(gradebook, name, students) for name in chosen]
        for one in marks:
            waiting = sum(row.to_grade for row in one.rows)
            if waiting:
                self.log.warning(
                    "%s: the scores of %d submissions are provisional, a person has yet to grade a part",
                    one.assignment,
                    waiting,
                )
        target = Path(self.to or "grades.csv")
        part = target.with_name(target.name + ".part")
        part.write_text(as_csv(self.table(marks)), encoding="utf-8", newline="")
        os.replace(part, target)
        self.log.info("Wrote %s", target)

    def table(self, marks: list[Marks]) -> list[list[str]]:
        """The rows of the file, header first."""
        names = list(dict.fromkeys(column.name for one in marks for column in one.columns))
        head = ["assignment", "student", "last_name", "first_name", "email", "handed_in", "hours_late", "provisional"]
        rows = [[*head, *map(safe, names), "penalty", "score", "max_score"]]
        return rows + [self._row(one, row, names) for one in marks for row in one.rows]

    def _row(self, one: Marks, row: StudentMarks, names: list[str]) -> list[str]:
        scores = {c.name: (row.marks or {}).get((c.notebook, c.cell)) for c in one.columns}
        cells = [one.assignment, row.student, row.last_name, row.first_name, row.email]
        facts = [
            row.timestamp.isoformat(" ", "seconds") if row.timestamp else "",
            number(row.seconds_late / 3600) if row.handed_in else "",
            ("yes" if row.to_grade else "no") if row.handed_in else "",
        ]
        by_exercise = [number(scores[name].score) if scores.get(name) else "" for name in names]
        penalty = number(row.penalty) if row.handed_in else ""
        return [
            *map(safe, cells),
            *facts,
            *by_exercise,
            penalty,
            self.missing if row.score is None else number(row.score),
            number(one.points),
        ]
