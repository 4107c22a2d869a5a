"""Count how long the units take, on their pages; the pages' own figures are held against it.

    python tools/lesson_time.py            a table: minutes of the core and of the stretch of each unit
    python tools/lesson_time.py 16         every section of unit 16

A measure is only good for comparing if it is the same for all pages, so it is counted and not guessed:

- text, comments and docstrings are read once, 150 words a minute;
- a drawing is looked at for ten seconds, and its alternative text is not read, too;
- code that is given is read twice, at the same speed; its words are names, numbers and the words of strings;
- an exercise takes a minute for each line of its solution (empty lines and comments do not count) and two for its
  check; one on ranks takes twice as long, because a hang, or a rank that is alone in its mistake, has to be understood;
- an answer in words takes a minute for every 30 words of its solution;
- the recap of earlier units (two or three minutes), like all that `make notebooks` adds, is not counted.

A section whose heading ends in "· stretch", or begins with "Deeper", "Bonus" or "To read", is *stretch*, with all below
it: it can be left for another day, only its cells must have been run. All else is the core. A core of more than
`SITTING` minutes is cut in two by a heading that begins with "Half-time".
"""

from __future__ import annotations

import argparse
import functools
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.registry import all_exercises  # noqa: E402

SITTING = 100  # minutes without a break
WORDS_READ, WORDS_WRITTEN = 150, 30  # a minute
LOOKING = 1 / 6  # minutes for a drawing
CHECKING = 2  # minutes for an exercise, beside its lines
ON_RANKS = 2  # times as long
STEP = 5  # minutes: pages speak in multiples of it
STRETCH = re.compile(r"^(Deeper|Bonus|To read)\b|· stretch$")
BREAK = re.compile(r"^Half-time\b")

_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
_DRAWING = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\]\([^)]*\)|<[^>]*>")
_SOLUTION = re.compile(r"^[ ]*### BEGIN SOLUTION\n(.*?)^[ ]*### END SOLUTION", re.DOTALL | re.MULTILINE)
_HIDDEN = re.compile(r"^[ ]*### BEGIN HIDDEN TESTS\n.*?^[ ]*### END HIDDEN TESTS", re.DOTALL | re.MULTILINE)
_DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
# Where a string with expressions begins and ends, f"" or t"", as far as this Python's tokenize says so.
_OPENS, _CLOSES = (
    {getattr(tokenize, name) for name in names if hasattr(tokenize, name)}
    for names in (("FSTRING_START", "TSTRING_START"), ("FSTRING_END", "TSTRING_END"))
)
_MAGIC = re.compile(r"^[%!].*$", re.MULTILINE)
_SAYS = re.compile(r"\*\*It takes\*\* about (\d+) minutes(?:, the \*stretch\* (\d+) more)?")


@dataclass(frozen=True)
class PageSection:
    """A section of a page: its heading, whether it is stretch, and the minutes it takes."""

    heading: str
    stretch: bool
    minutes: float


def sections(page: Path) -> list[PageSection]:
    """The sections of a page (an .ipynb with its solutions), by headings down to the third level, in their order."""
    found: dict[tuple[str, bool], float] = {}
    heading, stretch_level = "", 0
    for cell in nbformat.read(page, as_version=4).cells:
        if "generated" in cell.metadata.get("tags", ()):
            continue
        if cell.cell_type == "markdown":
            title = _HEADING.search(_FENCE.sub("", _SOLUTION.sub("", cell.source)))
            if title:
                level = len(title[1])
                if stretch_level and level <= stretch_level:
                    stretch_level = 0
                if not stretch_level and STRETCH.search(title[2]):
                    stretch_level = level
                if level <= 3:
                    heading = title[2]
        key = (heading, stretch_level > 0)
        found[key] = found.get(key, 0.0) + _minutes(cell)
    return [PageSection(heading, stretch, minutes) for (heading, stretch), minutes in found.items()]


def totals(page: Path) -> tuple[float, float]:
    """(minutes of the core, minutes of the stretch) of a page."""
    found = sections(page)
    return (
        sum(section.minutes for section in found if not section.stretch),
        sum(section.minutes for section in found if section.stretch),
    )


def sittings(page: Path) -> list[float]:
    """Minutes of the core before and after the page's break; one number where it has none."""
    found = [0.0]
    for section in sections(page):
        if BREAK.search(section.heading):
            found.append(0.0)
        if not section.stretch:
            found[-1] += section.minutes
    return found


def said(page: Path) -> tuple[int, int] | None:
    """The minutes that a page names itself, core and stretch: "**It takes** about 85 minutes, the *stretch* 20 more."
    None: it says nothing of the kind."""
    text = "\n".join(cell.source for cell in nbformat.read(page, as_version=4).cells[:1])
    words = _SAYS.search(" ".join(text.split()))
    return (int(words[1]), int(words[2] or 0)) if words else None


def in_steps(minutes: float) -> int:
    """Minutes rounded to a multiple of `STEP`, as pages print them."""
    return STEP * round(minutes / STEP)


def pages(unit: str = "") -> list[Path]:
    """The pages of all units whose folder begins with `unit`, in their order."""
    return sorted(page for page in ROOT.glob("solutions/[0-9]*/*.ipynb") if page.parent.name.startswith(unit))


def _minutes(cell: nbformat.NotebookNode) -> float:
    solutions = _SOLUTION.findall(cell.source)
    rest = _HIDDEN.sub("", _SOLUTION.sub("", cell.source))
    if cell.cell_type == "markdown":
        written = sum(len(_WORD.findall(answer)) for answer in solutions)
        text, drawings = _DRAWING.subn("", rest)
        read = len(_WORD.findall(_LINK.sub("", text))) / WORDS_READ
        return read + drawings * LOOKING + written / WORDS_WRITTEN
    lines = sum(
        1 for answer in solutions for line in answer.splitlines() if line.strip(" #") and line.strip()[0] != "#"
    )
    once, twice = _words_of_code(rest)
    times = ON_RANKS if _on_ranks() & set(_DEFINED.findall(rest)) else 1
    return (once + 2 * twice) / WORDS_READ + (times * (lines + CHECKING) if solutions else 0)


@functools.cache
def _on_ranks() -> set[str]:
    return {exercise.function for exercise in all_exercises() if exercise.runtime != "plain"}


def _words_of_code(source: str) -> tuple[int, int]:
    """Words of prose (comments, docstrings) and of code, to which lines for IPython (%%ranks, !ls) belong."""
    prose, code = 0, sum(len(_WORD.findall(line)) for line in _MAGIC.findall(source))
    before = tokenize.NEWLINE
    ends_statement = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL)
    try:
        for kind, text in _tokens(_MAGIC.sub("", source)):
            words = len(_WORD.findall(text))
            if kind == tokenize.COMMENT or (kind == tokenize.STRING and before in ends_statement):
                prose += words
            else:
                code += words
            if kind != tokenize.COMMENT:
                before = kind
    except (tokenize.TokenError, IndentationError, SyntaxError):  # another language under %%writefile or %%bash
        return 0, len(_WORD.findall(source))
    return prose, code


def _tokens(source: str) -> Iterator[tuple[int, str]]:
    """(kind, text) of every token. An f-string is one STRING: Python 3.11 says so, later ones take it to pieces, which
    would be more words. Raises what `tokenize` does for what is no Python."""
    lines, inside, start = source.splitlines(keepends=True), 0, (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _OPENS:
            start = start if inside else token.start
            inside += 1
        elif token.type in _CLOSES:
            inside -= 1
            if not inside:
                yield tokenize.STRING, _between(lines, start, token.end)
        elif not inside:
            yield token.type, token.string


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one place (line from 1, column from 0) to another."""
    (first, left), (last, right) = start, end
    if first == last:
        return lines[first - 1][left:right]
    return lines[first - 1][left:] + "".join(lines[first : last - 1]) + lines[last - 1][:right]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("unit", nargs="?", default="", help="a unit's number: its sections")
    unit = parser.parse_args(arguments).unit
    chosen = pages(unit)
    if not chosen:
        print(f"No unit begins with {unit!r}. Leave it out to see all of them.", file=sys.stderr)
        return 1
    print(f"{'core':>5} {'stretch':>7}  {'said':>9}")
    for page in chosen:
        core, stretch = totals(page)
        words = said(page)
        named = f"{words[0]} + {words[1]}" if words else "-"
        print(f"{core:5.0f} {stretch:7.0f}  {named:>9}  {page.parent.name}")
        for section in sections(page) if unit else ():
            columns = f"{'':5} {section.minutes:7.0f}" if section.stretch else f"{section.minutes:5.0f} {'':7}"
            print(f"{columns}  {'':9}    {section.heading}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
