"""A student's text, short enough for what reads it.

A lexer goes through a run of blanks from each of its beginnings: twice as many take four times as long, and a cell may
hold minutes of work for the person who grades. So every text of a student is made short before it meets one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BLANKS = 80  # in a row, within a line
EMPTY_LINES = 10  # in a row
MOST_SHOWN = 10_000  # characters of one cell on a page; the longest cell of the course has about 3,000
MOST_READ = 40_000  # characters of one answer that a lexer is given
_RUN = re.compile(rf"([^\S\n]{{{BLANKS}}})[^\S\n]+")


def squeezed(text: str) -> str:
    """The text with no more than `BLANKS` blanks in a row in a line, and no more than `EMPTY_LINES` empty lines."""
    return "".join(piece for _, piece in pieces(text))


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """(place in the text, piece) of what is left of a text that is squeezed."""
    at = empty = 0
    for line in text.split("\n"):
        end = "\n" if at + len(line) < len(text) else ""
        blank = not line.strip()
        empty = empty + 1 if blank else 0
        if not blank:
            yield from _without_runs(at, line + end)
        elif empty <= EMPTY_LINES:
            yield at + len(line), end
        at += len(line) + 1


def _without_runs(at: int, line: str) -> Iterator[tuple[int, str]]:
    done = 0
    for run in _RUN.finditer(line):
        yield at + done, line[done : run.end(1)]
        done = run.end()
    yield at + done, line[done:]


def shown(text: str, most: int = MOST_SHOWN, mark: str = "") -> str:
    """The text, squeezed and cut, for a page that colours it."""
    return cut(squeezed(text), most, mark)


def cut(text: str, most: int = MOST_SHOWN, mark: str = "") -> str:
    """The text; where it is longer than `most`, its beginning and a line, behind `mark`, that says how much is left
    out."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n{mark}[{len(text) - most:,} more characters are not shown]"
