"""Folders of the second homework as students could hand them in, right and wrong ones, and what must be said of each.

    for folder in FOLDERS.values():
        folder.make(place)                      # an empty folder is filled
        folder.expected                         # line of the rubric -> diagnosis; every other line gets full marks
        folder.flags                            # kinds of flags that must be raised

Each is the finished work in solutions/train_a_mesh with a few lines changed. `python -m bank_mesh DIR [NAME ...]`
writes them to DIR (with PYTHONPATH=tests).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from labkit.runlog_reading import chain

FINISHED = Path(__file__).resolve().parents[2] / "solutions" / "train_a_mesh"
SCRIPT = "mesh_training.py"
FILES = (SCRIPT, "plan.toml", "meshes.csv", "step_time.pdf", "memory.pdf", "losses.pdf")
PERSON = None  # as a diagnosis: a person must decide
EVERY = ("one_rank", "data", "tensor", "pipeline", "mixed", "norm", "checkpoint", "traffic", "memory")
DISCUSSION = "Tensor sends most: four all-reduces of an activation in each block.\n"


@dataclass(frozen=True)
class Folder:
    """One submission. says: what is special about it. expected: line -> diagnosis for all lines that do not get full
    marks (PERSON: the line waits for a person; several: one of these). flags: must be raised. bonus: it earns its
    points. scripted: its script is not the finished one, so that ranks must run to judge it."""

    name: str
    says: str
    fill: Callable[[Path], None]
    expected: dict[str, str | tuple[str, ...] | None] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    bonus: bool = True
    scripted: bool = False

    @property
    def right(self) -> bool:
        return not self.expected and not self.flags

    def make(self, place: Path) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        for path in [*(FINISHED / name for name in FILES), *FINISHED.glob("run_d*.jsonl")]:
            shutil.copy(path, place)
        (place / "discussion.md").write_text(DISCUSSION, encoding="utf-8")
        self.fill(place)
        return place


FOLDERS: dict[str, Folder] = {}


def add(name: str, says: str, fill: Callable[[Path], None] = lambda place: None, **what) -> None:
    assert name not in FOLDERS, name
    FOLDERS[name] = Folder(name, says, fill, **what)


# -- run logs ----------------------------------------------------------------------------------------------------------


def logs(place: Path) -> list[Path]:
    return sorted(place.glob("run_d*.jsonl"))


def records(path: Path) -> list[dict]:
    """The lines of a log, without their digests."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in record.items() if name != "digest"} for record in found]


def rewrite(path: Path, lines: Iterable[dict], digests: bool = True) -> None:
    """digests: made anew, as a forger would; else they are all those of another line."""
    digest, text = "", ""
    for record in lines:
        digest = chain(digest, record) if digests else "0" * 16
        text += json.dumps(record | {"digest": digest}) + "\n"
    path.write_text(text, encoding="utf-8")


def relogged(change: Callable[[list[dict]], None], names: Iterable[str] = (), digests: bool = True):
    """A change of the logs of these names; of all where none is named."""

    def fill(place: Path) -> None:
        for path in [place / name for name in names] or logs(place):
            lines = records(path)
            change(lines)
            rewrite(path, lines, digests)

    return fill


# -- scripts -----------------------------------------------------------------------------------------------------------


def edited(*pairs: tuple[str, str]) -> Callable[[Path], None]:
    """The finished script with some text replaced, by which its logs say they were written."""

    def fill(place: Path) -> None:
        text = (place / SCRIPT).read_text(encoding="utf-8")
        for old, new in pairs:
            assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {SCRIPT}"
            text = text.replace(old, new)
        written(text)(place)

    return fill


def written(text: str) -> Callable[[Path], None]:
    """Another script, by which the logs say they were written."""

    def fill(place: Path) -> None:
        (place / SCRIPT).write_text(text, encoding="utf-8")
        mark = hashlib.sha256((place / SCRIPT).read_bytes()).hexdigest()
        relogged(lambda lines: lines[0].update(source_sha256=mark))(place)

    return fill


def script(name: str, says: str, *pairs: tuple[str, str], **what) -> None:
    """A folder whose script differs."""
    add(name, says, edited(*pairs), scripted=True, **what)


from bank_mesh import right, wrong  # noqa: E402, F401  (they add theirs)
