"""Marks for other systems: plug-ins of `nbgrader export`.

    nbgrader export --exporter=autograder.reports.exporters.CsvExporter     every exercise in a column, for a spreadsheet
    nbgrader export --exporter=autograder.reports.exporters.CanvasExporter  for the gradebook of Canvas
    nbgrader export --exporter=autograder.reports.exporters.MoodleExporter  for the gradebook of Moodle

All understand nbgrader's `--to FILE`, `--assignment [A,B]` and `--student [X,Y]`. Those who handed in nothing get an empty cell, not a
zero: what a missing submission is worth is for the other system's rules (or `--Exporter.missing=0`). Text that a spreadsheet would run as
a formula is made plain text.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbgrader.plugins import ExportPlugin
from traitlets import Dict, Unicode

from autograder.reports.marks import Marks, Row, read_marks

_FORMULA = ("=", "+", "-", "@")
_PLAIN_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def safe(text: str) -> str:
    """`text` as a cell that no spreadsheet runs as a formula: a quote in front of what would begin one; no control characters.

    Source: OWASP Application Security Verification Standard 5.0, 1.2.10 (CSV and formula injection). A number is left alone.
    """
    text = "".join(" " if ord(c) < 32 and c != "\n" else c for c in text.replace("\r\n", "\n").replace("\r", "\n"))
    if text.strip().startswith(_FORMULA) and not _PLAIN_NUMBER.fullmatch(text):
        return "'" + text.strip()
    return text


def number(value: float | None) -> str:
    """A mark with a decimal point and at most two decimals (what Canvas and Moodle show); nothing for None."""
    return "" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """RFC 4180: commas, quotes doubled, lines ended by CR LF."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


class Exporter(ExportPlugin):
    """What the three have in common."""

    missing = Unicode("", help="What stands where nothing was handed in: nothing, or for example 0.").tag(config=True)
    default_file = "grades.csv"

    def export(self, gradebook) -> None:
        """Write the file named by --to. It is replaced whole or not at all."""
        chosen = [str(name) for name in self.assignment] or [one.name for one in gradebook.assignments]
        students = [str(name) for name in self.student]
        marks = [read_marks(gradebook, name, students) for name in chosen]
        for one in marks:
            waiting = sum(row.to_grade for row in one.rows)
            if waiting:
                self.log.warning(
                    "%s: the scores of %d submissions are provisional, a person has yet to grade a part", one.assignment, waiting
                )
        target = Path(self.to or self.default_file)
        part = target.with_name(target.name + ".part")
        part.write_text(as_csv(self.table(marks)), encoding="utf-8", newline="")
        os.replace(part, target)
        self.log.info("Wrote %s", target)

    def table(self, marks: list[Marks]) -> list[list[str]]:
        """The rows of the file, header first."""
        raise NotImplementedError

    def mark(self, value: float | None) -> str:
        return self.missing if value is None else number(value)


class CsvExporter(Exporter):
    """One row per assignment and student, one column per exercise; "provisional" says whether a person has yet to grade a part."""

    def table(self, marks: list[Marks]) -> list[list[str]]:
        names = list(dict.fromkeys(column.name for one in marks for column in one.columns))
        head = ["assignment", "student", "last_name", "first_name", "email", "handed_in", "hours_late", "provisional"]
        rows = [[*head, *map(safe, names), "penalty", "score", "max_score"]]
        return rows + [self._row(one, row, names) for one in marks for row in one.rows]

    def _row(self, one: Marks, row: Row, names: list[str]) -> list[str]:
        scores = {c.name: (row.marks or {}).get((c.notebook, c.cell)) for c in one.columns}
        cells = [one.assignment, row.student, row.last_name, row.first_name, row.email]
        facts = [
            row.timestamp.isoformat(" ", "seconds") if row.timestamp else "",
            number(row.seconds_late / 3600) if row.handed_in else "",
            ("yes" if row.to_grade else "no") if row.handed_in else "",
        ]
        by_exercise = [number(scores[name].score) if scores.get(name) else "" for name in names]
        penalty = number(row.penalty) if row.handed_in else ""
        return [*map(safe, cells), *facts, *by_exercise, penalty, self.mark(row.score), number(one.points)]


class CanvasExporter(Exporter):
    """A file for Canvas: Grades, Import.

    With `--CanvasExporter.canvas_csv=FILE`, a file exported there before, students and assignments keep the numbers that Canvas gave
    them, and its points possible stay as they are. Without, Canvas finds students by their login (nbgrader's student id) and offers to
    make a new assignment.

    Format: "How do I import grades in the Gradebook?" in the Canvas Instructor Guide, and what reads it, `lib/gradebook_importer.rb` of
    instructure/canvas-lms: columns Student, ID, SIS User ID, SIS Login ID, Section, then assignments as "Name (number)"; below the
    header a row "    Points Possible". Students are found by ID, then SIS User ID, then SIS Login ID, then name; those who are not in the
    file keep what they have, and so do those in it who handed in nothing here (an empty cell would remove their mark).
    """

    default_file = "canvas.csv"
    canvas_csv = Unicode("", help="A file exported from Canvas, so that students and assignments keep its numbers.").tag(
        config=True
    )
    columns = Dict(help="assignment -> name of its column in Canvas, where the two differ; a number is enough").tag(config=True)
    section = Unicode("", help="The section, where there is no file exported from Canvas.").tag(config=True)

    def table(self, marks: list[Marks]) -> list[list[str]]:
        return self._merged(marks, read_canvas(Path(self.canvas_csv))) if self.canvas_csv else self._new(marks)

    def _new(self, marks: list[Marks]) -> list[list[str]]:
        named = [self.columns.get(one.assignment, one.assignment) for one in marks]
        rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(safe, named)]]
        rows.append(["    Points Possible", "", "", "", "", *[number(one.points) for one in marks]])
        for same in zip(*(one.rows for one in marks), strict=True):
            row = same[0]
            person = [row.full_name, row.lms_user_id, "", row.student, self.section]
            rows.append([*map(safe, person), *[self.mark(one.score) for one in same]])
        return rows

    def _merged(self, marks: list[Marks], canvas: CanvasFile) -> list[list[str]]:
        places = [canvas.assignment(self.columns.get(one.assignment, one.assignment)) for one in marks]
        named = [canvas.header[k] if k is not None else safe(one.assignment) for k, one in zip(places, marks, strict=True)]
        rows = [[*canvas.header[: canvas.people], *named]]
        points = [canvas.points[k] if k is not None else number(one.points) for k, one in zip(places, marks, strict=True)]
        rows.append(["    Points Possible", *[""] * (canvas.people - 1), *points])
        for one, said in zip(marks, points, strict=True):
            if said and _value(said) != one.points:
                self.log.warning("%s: %s points here, %s in Canvas (left as it is)", one.assignment, number(one.points), said)
        for same in zip(*(one.rows for one in marks), strict=True):
            line = canvas.student(same[0])
            if line is None:
                self.log.warning("%s is not in the file from Canvas and was left out", same[0].student)
                continue
            marks_here = [self.mark(one.score) or canvas.standing(line, k) for one, k in zip(same, places, strict=True)]
            rows.append([*map(safe, line[: canvas.people]), *marks_here])
        return rows


class CanvasFile:
    """A gradebook exported from Canvas. people: how many columns say who somebody is; assignments stand behind them."""

    IDENTIFIERS = ("ID", "SIS User ID", "SIS Login ID")

    def __init__(self, rows: list[list[str]]):
        self.header = rows[0] if rows else []
        if len(self.header) < 4 or "Section" not in self.header or "ID" not in self.header:
            raise ValueError("this is no gradebook exported from Canvas: its first line should name Student, ID ... Section")
        self.people = self.header.index("Section") + 1
        body = [row + [""] * (len(self.header) - len(row)) for row in rows[1:] if any(row)]
        self.points = next((row for row in body if "Points Possible" in row[0]), [""] * len(self.header))
        self.students: dict[tuple[str, str], list[str]] = {}
        for row in body:
            for name in self.IDENTIFIERS:
                value = row[self.header.index(name)].strip() if name in self.header else ""
                if value:
                    self.students.setdefault((name, value.casefold()), row)

    def student(self, row: Row) -> list[str] | None:
        """The line of this student: by Canvas' number if nbgrader knows it, else by login, SIS number or e-mail address."""
        keys = [("ID", row.lms_user_id)]
        keys += [(name, value) for value in (row.student, row.email) for name in ("SIS Login ID", "SIS User ID")]
        return next((self.students[n, v.casefold()] for n, v in keys if v and (n, v.casefold()) in self.students), None)

    def standing(self, line: list[str], column: int | None) -> str:
        """The mark that stands in Canvas already: an empty cell would remove it."""
        mark = line[column].strip() if column is not None else ""
        return mark if _value(mark) is not None or mark == "EX" else ""

    def assignment(self, name: str) -> int | None:
        """The column of an assignment given by its name or its number, or None."""
        for k, title in enumerate(self.header[self.people :], self.people):
            bare, _, number_of = title.rpartition(" (")
            if name in (title, bare, number_of.rstrip(")") if bare else None):
                return k
        return None


def read_canvas(path: Path) -> CanvasFile:
    """Read what Canvas exported, with commas or semicolons, with or without a byte order mark. Raises ValueError, OSError."""
    text = path.read_text(encoding="utf-8-sig")
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    return CanvasFile(list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)))


def _value(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


class MoodleExporter(Exporter):
    """A file for Moodle: Grades, Import, CSV file (separator comma, encoding UTF-8).

    On Moodle's page, map one of Username, ID number and Email address to the user field of that name, NAME to the grade item (or "new
    grade item") and "NAME (Feedback)" to its feedback: Moodle drops grades whose feedback is imported alone. nbgrader's student id is
    the username; `--MoodleExporter.id_number=student` or `=lms_user_id` fills ID number.

    Format: https://docs.moodle.org/en/Grade_import and what reads it, `grade/import/csv/classes/load_data.php` of moodle/moodle: a
    user is found by id, idnumber, email or username (addresses are compared exactly); an empty mark or "-" is no grade; a number with a
    decimal point is read in every language; a mark above the site's limit (100 unless raised) is refused; so is the whole file if it
    names somebody whom Moodle does not know.
    """

    default_file = "moodle.csv"
    id_number = Unicode("lms_user_id", help='What is their ID number in Moodle: "student", "lms_user_id" or "" (none).').tag(
        config=True
    )
    columns = Dict(help="assignment -> name of the grade item in Moodle, where the two differ").tag(config=True)

    def table(self, marks: list[Marks]) -> list[list[str]]:
        head = ["Username", "ID number", "Email address", "First name", "Last name"]
        for one in marks:
            name = safe(self.columns.get(one.assignment, one.assignment))
            head += [name, f"{name} (Feedback)"]
            if one.points > 100:
                self.log.warning(
                    "%s: %s points; Moodle refuses marks above its limit, 100 unless raised", one.assignment, number(one.points)
                )
        rows = [head]
        for same in zip(*(one.rows for one in marks), strict=True):
            row = same[0]
            person = [
                row.student,
                getattr(row, self.id_number) if self.id_number else "",
                row.email,
                row.first_name,
                row.last_name,
            ]
            cells = list(map(safe, person))
            for one, mine in zip(marks, same, strict=True):
                cells += [self.mark(mine.score), safe(feedback(one, mine))]
            rows.append(cells)
        return rows


def feedback(marks: Marks, row: Row) -> str:
    """The marks of each exercise and what people wrote, in one line: "fair_share 2/2; sum_counts 0/2. Well explained."."""
    if not row.handed_in:
        return ""
    parts = []
    for column in marks.columns:
        mark = row.marks.get((column.notebook, column.cell))
        if mark is not None and column.points:
            parts.append(f"{column.name} {'?' if mark.to_grade else number(mark.score)}/{number(column.points)}")
    if row.penalty:
        parts.append(f"late: -{number(row.penalty)}")
    return ". ".join(part for part in ["; ".join(parts), *[" ".join(text.split()) for text in row.comments]] if part)
