"""A student's progress, in a small file of their own: what each exercise has earned, and which mistakes were made
and mended.

    work/progress.json     {"05_gradient_all_reduce/average_gradients":
                            {"points": 3, "of": 3, "tries": 4, "passes": 1, "passed_at": 4, "on": "2026-11-23",
                             "mistakes": {"no_division": {"times": 2, "says": "You never ...", "mended": 4}}}, ...
                            "recap": {"03_collectives/ring_bytes": {"right": 1, "wrong": 0}},
                            "time": {"05_gradient_all_reduce": {"seconds": 3300, "last": 1795434000}}}

Each check adds to it: `points` are the best so far, `passed_at` is the try that passed first, `mended` the first pass
after the mistake was named last (0: not yet). A function that is not written yet is no try. The recap, each check and
the card of a unit are moments at which somebody works on it: `seconds` adds up the time between them, of which a pause
counts as `PAUSE_S` at most. The file lies beside records.json, where an update of the course leaves it alone; deleted,
it begins anew. It is replaced whole or not at all. What cannot be understood in it is put aside
(progress.damaged.json), and what can is kept. Nothing about it stops a check, and no grade depends on it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

from autograder.personal import MOST_BYTES, folder_of, write
from autograder.verdict import Result

FILE, ASIDE, LOCK = "progress.json", "progress.damaged.json", ".progress.lock"
RECAP, TIME = "recap", "time"  # the keys that are no exercise
PAUSE_S = 20 * 60  # a longer pause counts as one of this length: nobody knows whether it was one
LONGEST = 400  # characters of what is kept of a mistake
PATIENCE_S = 1.0  # for another check that writes at this moment
_NUMBERS = ("points", "of", "tries", "passes", "passed_at")


def keep_result(result: Result, start: Path | None = None, today: date | None = None) -> dict | None:
    """Note what a check has said, and return the exercise's entry as it is now; None where nothing is kept: the
    function is not written yet, there is no work/, or the disk says no.

    start: the notebook's folder. today: the day that is written down.
    """
    if result.verdict == "missing":
        return None
    name = f"{result.unit}/{result.exercise}"

    def add(kept: dict) -> dict:
        kept[name] = _with_try(kept.get(name) or _blank(), result, (today or date.today()).isoformat())
        return kept[name]

    return _changed(add, start)


def keep_recap(question: str, right: bool, start: Path | None = None) -> None:
    """Note an answer to a question of the recap ("03_collectives/ring_bytes")."""

    def add(kept: dict) -> None:
        counts = kept.setdefault(RECAP, {}).setdefault(question, {"right": 0, "wrong": 0})
        counts["right" if right else "wrong"] += 1

    _changed(add, start)


def keep_time(unit: str, start: Path | None = None, now: float | None = None) -> None:
    """Note that somebody works on a unit at this moment. now: seconds since the epoch."""

    def add(kept: dict) -> None:
        at = int(time.time() if now is None else now)
        times = kept.setdefault(TIME, {})
        before = times.get(unit, {"seconds": 0, "last": at})
        passed = max(0, at - before["last"])
        times[unit] = {"seconds": before["seconds"] + min(passed, PAUSE_S), "last": at}

    _changed(add, start)


def minutes_of(kept: dict, unit: str) -> int:
    """The minutes that somebody has worked on a unit, by the contents of the file."""
    return round(kept.get(TIME, {}).get(unit, {"seconds": 0})["seconds"] / 60)


def kept_in(start: Path | None = None) -> dict:
    """The contents of the file in the work/ around this folder: exercise -> entry; {} if there is none."""
    with contextlib.suppress(OSError):
        folder = folder_of(start or Path.cwd())
        if folder is not None:
            return _read(folder / FILE)[0]
    return {}


def read(path: Path) -> dict | None:
    """The contents of a progress.json that somebody has handed over: exercise -> entry; None if not all of it can be
    understood."""
    found, whole = _read(path)
    return found if whole and found else None


def _changed(change: Callable[[dict], dict | None], start: Path | None) -> dict | None:
    with contextlib.suppress(OSError):
        folder = folder_of(start or Path.cwd())
        if folder is None:
            return None
        path = folder / FILE
        with _alone(folder / LOCK):
            kept, whole = _read(path)
            if not whole:
                os.replace(path, _free(folder / ASIDE))
            found = change(kept)
            write(path, kept)
        return found
    return None


def _blank() -> dict:
    return {**dict.fromkeys(_NUMBERS, 0), "on": "", "mistakes": {}}


def _with_try(entry: dict, result: Result, today: str) -> dict:
    """The entry after one more check."""
    entry = {**entry, "tries": entry["tries"] + 1, "of": result.max_score, "on": today}
    entry["points"] = max(entry["points"], result.score)
    mistakes = {name: dict(one) for name, one in entry["mistakes"].items()}
    if result.verdict == "passed":
        entry["passes"] += 1
        entry["passed_at"] = entry["passed_at"] or entry["tries"]
        for one in mistakes.values():
            one["mended"] = one["mended"] or entry["tries"]
    elif result.diagnosis not in ("", "unrecognised"):
        one = mistakes.setdefault(result.diagnosis, {"times": 0, "says": "", "mended": 0})
        one |= {"times": one["times"] + 1, "says": result.decisive.why[:LONGEST], "mended": 0}
    return {**entry, "mistakes": mistakes}


def _read(path: Path) -> tuple[dict, bool]:
    """The entries of the file that can be understood, and True if these are all of it."""
    if not os.path.lexists(path):
        return {}, True
    if not path.is_file() or path.stat().st_size > MOST_BYTES:  # a pipe would be waited for
        return {}, False
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return {}, False
    if not isinstance(found, dict):
        return {}, False
    forms = {RECAP: _is_recap, TIME: _is_time}
    good = {name: entry for name, entry in found.items() if forms.get(name, _is_entry)(entry)}
    return good, len(good) == len(found)


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and all(_is_count(entry.get(name)) for name in _NUMBERS)
        and isinstance(entry.get("on"), str)
        and isinstance(entry.get("mistakes"), dict)
        and all(
            isinstance(one, dict)
            and all(_is_count(one.get(name)) for name in ("times", "mended"))
            and isinstance(one.get("says"), str)
            for one in entry["mistakes"].values()
        )
    )


def _is_recap(entry: object) -> bool:
    return _are_counts(entry, "right", "wrong")


def _is_time(entry: object) -> bool:
    return _are_counts(entry, "seconds", "last", most=10**11)


def _are_counts(entry: object, *names: str, most: int = 10**9) -> bool:
    return isinstance(entry, dict) and all(
        isinstance(one, dict) and all(_is_count(one.get(name), most) for name in names) for one in entry.values()
    )


def _is_count(value: object, most: int = 10**9) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < most


def _free(path: Path) -> Path:
    """A name beside this one that nothing has yet; after ten of them the first is used again."""
    names = [path, *(path.with_name(f"progress.damaged{k}.json") for k in range(2, 11))]
    return next((name for name in names if not os.path.lexists(name)), path)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Holds the lock at `path`; goes on without it after `PATIENCE_S`, or where files cannot be locked."""
    with path.open("w") as lock:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                break
        yield
