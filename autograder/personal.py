"""A student's own records: the best that each of their answers has reached, in a small file of their own.

    work/records.json      {"03_collectives/ring_all_reduce, virtual time, 8 ranks, (16,), float64":
                            [{"value": 7.0e-05, "on": "2026-11-23"}, ...], ...}

A list holds what was ever the best, the newest last. The file lies in the folder that `tools/update_work.py` keeps up
to date, which leaves it alone; where there is no such folder, nothing is kept. Deleted, it begins anew. What cannot be
understood is never overwritten, and nothing about this file stops a check. It is worth nothing to anybody else: a
class's table is made of what the grader has measured.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from datetime import date
from pathlib import Path

from autograder.verdict import RecordResult, Result

FILE = "records.json"
OF_WORK = ".course.json"  # what tools/update_work.py leaves in work/
MOST_BYTES = 1 << 20
KEPT = 100  # of what was ever the best of one record


class UnreadableFile(ValueError):
    """The file holds what this module has not written."""


def folder_of(start: Path) -> Path | None:
    """work/, seen from a notebook's folder: the nearest above that was made by the course; None: there is none."""
    return next((folder for folder in [start, *start.parents][:4] if (folder / OF_WORK).is_file()), None)


def keep_records(result: Result, start: Path | None = None, today: date | None = None) -> None:
    """Compare the records of a result with the student's own, keep what is better, and say so in each (`personal`).
    Never fails.

    start: the notebook's folder. today: the day that is written down.
    """
    if not result.records:
        return
    with contextlib.suppress(OSError):
        folder = folder_of(start or Path.cwd())
        if folder is None:
            return
        path = folder / FILE
        try:
            _note(result, path, (today or date.today()).isoformat())
        except UnreadableFile:
            for record in result.records:
                record.personal = (
                    f"your own best is not known: {path.name} in {folder.name}/ cannot be read (delete it)"
                )


def _note(result: Result, path: Path, today: str) -> None:
    """Raises Unreadable before anything is said or written, OSError where the disk or the permissions say no."""
    kept = _read(path)
    before = {_key(result, record): _best_of(kept.get(_key(result, record), [])) for record in result.records}
    changed = False
    for record in result.records:
        best = before[_key(result, record)]
        better = not best or record.value < best[-1]["value"] * (1 - 1e-9)
        record.personal = _said(record, best, better)
        if better:
            now = [*best, {"value": record.value, "on": today}][-KEPT:]
            kept[_key(result, record)] = now
            changed = True
    if changed:
        write(path, kept)


def _key(result: Result, record: RecordResult) -> str:
    """The key of a record in the file; it includes the case, which an update of the course may change."""
    return f"{result.unit}/{result.exercise}, {record.name}, {record.says}"


def _said(record: RecordResult, best: list[dict], better: bool) -> str:
    if not best:
        return "your first: from now on it is your own best"
    value, on = best[-1]["value"], best[-1]["on"]
    if better:
        return f"your own best, improved by {100 * (1 - record.value / value):.2g} % (the last was of {on})"
    if record.value <= value * (1 + 1e-9):
        return f"as good as your own best, of {on}"
    return f"your own best is {100 * (1 - value / record.value):.2g} % less, of {on}"


def _read(path: Path) -> dict:
    """The file's content, {} where there is no file. Raises Unreadable."""
    if not os.path.lexists(path):
        return {}
    if not path.is_file() or path.stat().st_size > MOST_BYTES:  # a pipe would be waited for
        raise UnreadableFile
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise UnreadableFile from None
    if not isinstance(found, dict):
        raise UnreadableFile
    return found


def _best_of(entry: object) -> list[dict]:
    """The best values kept in an entry of the file. Raises Unreadable if it is no list of such."""
    if not isinstance(entry, list):
        raise UnreadableFile
    for one in entry:
        try:
            there = math.isfinite(one["value"]) and one["value"] > 0 and not isinstance(one["value"], bool)
            date.fromisoformat(one["on"])
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            raise UnreadableFile from None
        if not there:
            raise UnreadableFile
    return entry


def write(path: Path, data: dict) -> None:
    """Writes `data` as JSON, whole or not at all."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1, sort_keys=True)
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
