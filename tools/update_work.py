"""Copies notebooks/, homework/ and images/ to work/, where students work. A file that its owner has changed is never
overwritten.

    python tools/update_work.py [WORK]

work/.course.json records the digest of every file as it was copied. A file that still has that digest is updated; one
that does not has become its owner's: it stays, and the course's new version is put beside it as NAME.new.ipynb, which
is said once per version. A notebook's digest is of what its owner sees, its cells and their outputs: JupyterLab writes
its own version and settings into a file that was only opened. A deleted file comes back fresh. Only the standard
library is used, so this runs before anything is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ".course.json"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--course", type=Path, default=ROOT, help="the course's folder (default: the one this script is in)"
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="UNIT", help="leave this folder of the course out"
    )
    parser.add_argument(
        "work", type=Path, nargs="?", help="the folder to bring up to date (default: work/ in the course)"
    )
    options = parser.parse_args(arguments)
    work = options.work or options.course / "work"
    try:
        said = update(options.course, work, options.without)
    except OSError as error:
        print(f"{work} could not be brought up to date ({error}). Nothing of yours was changed.", file=sys.stderr)
        return 1
    print("\n".join(said), end="\n" if said else "")
    return 0


def update(course: Path, work: Path, without: Sequence[str] = ()) -> list[str]:
    """Brings `work` up to date with `course` and returns what its owner should know, one line each.

    without: folders of the course that are not brought here, because they are handed out in another way.

    It can be interrupted anywhere and run again: a file is replaced whole or not at all, and recorded right after.
    Raises OSError where the disk or the permissions say no.
    """
    record = read_record(work)
    copied, offered = record["copied"], record["offered"]
    said, fresh, updated = [], 0, 0
    for name, source in course_files(course).items():
        if name.split("/")[0] in without:
            continue
        content = source.read_bytes()
        new, target = digest(content), work / name
        now = digests(target.read_bytes()) if target.exists() else ()
        offer = offered.get(name)
        if not now or new in now or copied.get(name) in now or (offer and offer["version"] in now):
            if new in now and copied.get(name) == new:
                continue
            if new not in now:
                replace(target, content)
                fresh, updated = fresh + (not now), updated + bool(now)
            copied[name] = new
        elif new not in (copied.get(name), offer and offer["version"]):
            beside = place_beside(target, offer)
            replace(beside, content)
            offered[name] = {"version": new, "file": beside.name}
            said.append(
                f"{name} has your changes and stays as it is; the course's new version is beside it: {beside.name}"
            )
        else:
            continue
        replace(work / RECORD, json.dumps(record, indent=1, sort_keys=True).encode())
    counts = [f"{count} {what}" for count, what in ((fresh, "new"), (updated, "updated")) if count]
    return ([f"{work.name}/: {' and '.join(counts)} files"] if counts else []) + said


def course_files(course: Path) -> dict[str, Path]:
    """Name in work/ -> file of the course: notebooks and homework at the top, figures under images/ (not the scripts
    that draw them)."""
    notebooks, homework, images = course / "notebooks", course / "homework", course / "images"
    files = {path.relative_to(homework).as_posix(): path for path in homework.rglob("*")}
    files |= {path.relative_to(notebooks).as_posix(): path for path in notebooks.rglob("*")}
    files |= {
        path.relative_to(course).as_posix(): path for path in images.rglob("*") if path.suffix in (".png", ".svg")
    }
    return {
        name: path for name, path in sorted(files.items()) if path.is_file() and ".ipynb_checkpoints" not in path.parts
    }


def place_beside(target: Path, offer: dict | None) -> Path:
    """The path of a new version: NAME.new.ipynb; if its owner already works in that one too, NAME.new2.ipynb, and so
    on."""
    for count in ["", *map(str, range(2, 1000))]:
        beside = target.with_name(f"{target.stem}.new{count}{target.suffix}")
        untouched = (
            offer
            and offer["file"] == beside.name
            and beside.exists()
            and offer["version"] in digests(beside.read_bytes())
        )
        if untouched or not beside.exists():
            return beside
    raise OSError(f"too many versions beside {target}")


def read_record(work: Path) -> dict[str, dict]:
    """The record of what was copied and offered so far; empty if it is damaged: files that differ are then kept."""
    try:
        record = json.loads((work / RECORD).read_text(encoding="utf-8"))
        return {"copied": dict(record["copied"]), "offered": dict(record["offered"])}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {"copied": {}, "offered": {}}


def replace(path: Path, content: bytes) -> None:
    """Writes a file so that at every moment either the old or the new one is there, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, 0o644)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def digest(content: bytes) -> str:
    """The digest of a notebook's cells as their owner sees them; of any other file, of its bytes."""
    try:
        cells = [as_seen(cell) for cell in json.loads(content.decode())["cells"]]
    except (ValueError, KeyError, TypeError, AttributeError):  # no notebook
        return hashlib.sha256(content).hexdigest()
    return "cells " + hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def digests(content: bytes) -> tuple[str, str]:
    """Every digest under which a record may know this content: earlier releases recorded notebooks byte by byte,
    too."""
    return digest(content), hashlib.sha256(content).hexdigest()


def as_seen(cell: dict) -> list:
    source, metadata = cell["source"], cell.get("metadata", {})
    text = source if isinstance(source, str) else "".join(source)
    return [cell["cell_type"], text, cell.get("outputs") or [], cell.get("attachments") or {}, metadata.get("nbgrader")]


if __name__ == "__main__":
    sys.exit(main())
