"""Other right answers, for whoever has one: after the second pass the card shows, folded, one or two of the bank, each
with a sentence on how it goes about it.

The sentence is the first line of a right answer of the bank, `# differs: ...`; an answer without one is not shown.
A class's students have no bank: `make course-release` packs the answers of the units that the instructor names in
overlay/answers.txt into one file (`packed`), so that nobody reads them by accident. AUTOGRADER_ANSWERS=no in the
environment shows none at all.
"""

from __future__ import annotations

import ast
import base64
import html
import json
import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.answers import BANK, exercises, of_exercise

FILE = Path(__file__).with_name("others.json")
MOST = 2  # on one card
FROM_PASS = 2
_HEAD = re.compile(r"\A# differs: (.+)\n")


@dataclass(frozen=True)
class Other:
    """A right answer: how it differs, in a sentence, and its source."""

    differs: str
    source: str


def others(unit: str, exercise: str, file: Path = FILE, bank: Path = BANK) -> list[Other]:
    """The right answers that may be shown, from a class's file or from the bank; [] where neither has any, or the file
    cannot be read.
    """
    if not file.is_file():
        return in_bank(bank, unit, exercise)[:MOST]
    try:
        kept = json.loads(file.read_text(encoding="utf-8")).get(f"{unit}/{exercise}")
        found = json.loads(zlib.decompress(base64.b64decode(kept))) if kept else []
        return [Other(*one) for one in found][:MOST]
    except (OSError, ValueError, TypeError, AttributeError, zlib.error):
        return []


def in_bank(bank: Path, unit: str, exercise: str) -> list[Other]:
    """The bank's right answers with a sentence, by name."""
    found = []
    for entry in of_exercise(bank, unit, exercise):
        head = _HEAD.match(entry.text) if entry.right else None
        if head:
            found.append(Other(head[1].strip(), entry.text[head.end() :].strip()))
    return found


def packed(units: Iterable[str], bank: Path = BANK) -> str:
    """A class's file: exercise -> its answers, not to be read by accident."""
    kept = {}
    chosen = set(units)
    for unit, exercise in exercises(bank):
        found = [[one.differs, one.source] for one in in_bank(bank, unit, exercise)[:MOST]] if unit in chosen else []
        if found:
            data = zlib.compress(json.dumps(found).encode(), 9)
            kept[f"{unit}/{exercise}"] = base64.b64encode(data).decode()
    return json.dumps(kept, indent=1, sort_keys=True) + "\n"


def shown(unit: str, exercise: str, passes: int, own: str = "") -> str:
    """The HTML below the card of the pass with this number; "" if nothing is to be shown.

    own: the source of the student's answer, which is not shown to them as another one.
    """
    if passes < FROM_PASS or os.environ.get("AUTOGRADER_ANSWERS") == "no":
        return ""
    mine = _body(own, exercise)
    found = [one for one in others(unit, exercise) if mine is None or _body(one.source, exercise) != mine]
    return "".join(as_html(one, "Another right answer") for one in found)


def _body(source: str, function: str) -> str | None:
    """The arguments and body of a function, without docstring and annotations; None if the source does not define
    it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            return f"{names} {[ast.dump(one) for one in body]}"
    return None


def as_html(other: Other, head: str) -> str:
    pieces = html.escape(other.differs).split("`")
    sentence = "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces))
    style = "margin:4px 0;padding:4px 8px;background:rgba(127,127,127,0.10);font-size:12px;overflow-x:auto"
    return (
        f'<details style="margin:4px 0 0 17px;max-width:62em;font-size:13px"><summary>{head}</summary>'
        f'<div style="margin:4px 0">{sentence}</div><pre style="{style}">{html.escape(other.source)}</pre></details>'
    )
