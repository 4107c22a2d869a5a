"""Homework folders as students could hand them in, right and wrong ones, and what must be said of each.

    for folder in FOLDERS.values():
        folder.make(place)                      # an empty folder is filled
        folder.expected                         # line of the rubric -> diagnosis; every other line gets full marks
        folder.flags                            # kinds of flags that must be raised

`python -m bank_homework DIR [NAME ...]` writes them to DIR (with PYTHONPATH=tests).
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from bank_homework import runs
from bank_homework.figures import STYLES, Style
from bank_homework.runs import Run

SCRIPTS = Path(__file__).resolve().parent / "scripts"
SCRIPT, DDP_SCRIPT = "tensorflow2_mnist_hvd.py", "torch_mnist_ddp.py"
SIZES = (1, 2, 4, 8)
PERSON = None  # as a diagnosis: a person must decide


@dataclass(frozen=True)
class Folder:
    """One submission. says: what is special about it. expected: line -> diagnosis for all lines that do not get full
    marks (PERSON: the line waits for a person; several: one of these). flags: must be raised; may: these may be, too.
    bonus: the warm-up earns its points.

    script: of the bank, "" for none. like_base: all but the script is that of right_plain.
    """

    name: str
    says: str
    fill: Callable[[Path], None]
    expected: dict[str, str | tuple[str, ...] | None] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)
    bonus: bool = False
    script: str = "loop.py"
    like_base: bool = False

    @property
    def right(self) -> bool:
        return not self.expected and not self.flags

    def make(self, place: Path) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        self.fill(place)
        return place


# -- making one --------------------------------------------------------------------------------------------------------


def script_text(name: str) -> str:
    """A script of the bank, or a variation of one: see `scripts/variations.py`."""
    from bank_homework.scripts import variations

    return variations.text_of(name)


def log_name(ranks: int) -> str:
    return f"run_{ranks}.jsonl"


def write(
    place: Path, script: str = "loop.py", style: str = "plain", sizes=SIZES, run: Run | None = None, **csv
) -> None:
    """A whole right folder. run: what the runs on all sizes have in common."""
    (place / SCRIPT).write_text(script_text(script), encoding="utf-8")
    for ranks in sizes:
        replace(run or Run(1), ranks=ranks).write(place / log_name(ranks), place / SCRIPT)
    draw(place, STYLES[style], sizes)
    runs.write_table(place / "scaling.csv", table(place, sizes), **csv)
    (place / "discussion.md").write_text(DISCUSSION, encoding="utf-8")


def table(place: Path, sizes=SIZES) -> runs.Table:
    return runs.table({ranks: place / log_name(ranks) for ranks in sizes})


def draw(place: Path, style: Style, sizes=SIZES) -> None:
    for ranks in sizes:
        style.draw(runs.curves(place / log_name(ranks), ranks), place / f"accuracy_{ranks}.pdf")
    style.draw(table(place, sizes), place / "scaling.pdf")


DISCUSSION = """The speedup is nearly linear within a node. Beyond it every step waits for the all-reduce over the network, and with a
fixed local batch the ranks have fewer steps per epoch, so the accuracy after the same number of epochs is a little lower.
"""


@functools.cache
def base() -> Path:
    """A right folder that others are changed copies of; made once."""
    place = Path(tempfile.mkdtemp(prefix="homework-"))
    write(place)
    return place


def forget_base() -> None:
    if base.cache_info().currsize:
        shutil.rmtree(base())
        base.cache_clear()


def changed(change: Callable[[Path], None]) -> Callable[[Path], None]:
    """A copy of the base in which something was changed."""

    def fill(place: Path) -> None:
        shutil.copytree(base(), place, dirs_exist_ok=True)
        change(place)

    return fill


def ported(script: str) -> Callable[[Path], None]:
    """The base, with another script, by which its logs say they were written."""

    def fill(place: Path) -> None:
        (place / SCRIPT).unlink()
        path = place / (DDP_SCRIPT if script.startswith("ddp_") else SCRIPT)
        path.write_text(script_text(script), encoding="utf-8")
        source = hashlib.sha256(path.read_bytes()).hexdigest()
        for ranks in SIZES:
            found = runs.records(place / log_name(ranks))
            found[0]["source_sha256"] = source
            runs.rewrite(place / log_name(ranks), found)

    return changed(fill)


FOLDERS: dict[str, Folder] = {}


def add(name: str, says: str, fill: Callable[[Path], None], **what) -> None:
    assert name not in FOLDERS, name
    FOLDERS[name] = Folder(name, says, fill, **what)


from bank_homework import ddp, right, wrong  # noqa: E402, F401  (they add theirs)
