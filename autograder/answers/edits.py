"""An answer as an edit of another: lines that go (`-`), lines that come (`+`) and, where they are needed to tell the
place, lines that stay (a blank). `@@` stands between two places.
"""

from __future__ import annotations

import difflib
import itertools

_PLACES = 5  # an edit at more places is no easier to read than the whole answer


class BadEdit(ValueError):
    """An edit that does not say at which place it changes what."""


def shortest(right: dict[str, list[str]], program: list[str]) -> tuple[str | None, list[str]]:
    """(the right answer of which a program is the shortest edit, the edit's lines); (None, program) where the whole is
    no longer.
    """
    best, name = program, None
    for other, base in right.items():
        edit = _edit(base, program)
        if edit is not None and len(edit) < len(best):
            best, name = edit, other
    return name, best


def _edit(base: list[str], program: list[str]) -> list[str] | None:
    """The lines of an edit that makes `program` of `base`; None at more than a few places, or where no lines around a
    change tell its place from others.
    """
    codes = difflib.SequenceMatcher(None, base, program, autojunk=False).get_opcodes()
    changes = [code[1:] for code in codes if code[0] != "equal"]
    hunks: list[tuple[int, int, list[tuple[int, int, int, int]]]] = []
    for change in changes if len(changes) <= _PLACES else ():
        around = _around(base, *change[:2])
        if around is None:
            return None
        above, below, together = *around, [change]
        while hunks and above < hunks[-1][1]:  # the lines that say where are said once
            first, last, earlier = hunks.pop()
            above, below, together = min(above, first), max(below, last), [*earlier, *together]
        hunks.append((above, below, together))
    return [line for k, hunk in enumerate(hunks) for line in (["@@"] * (k > 0) + _lines(base, program, *hunk))] or None


def _around(base: list[str], start: int, stop: int) -> tuple[int, int] | None:
    """The fewest lines above base[start:stop], then below, that stand at one place only, with no blank one at an edge;
    None if there are none.
    """
    above = (first for first in range(start, -1, -1) if first == start or base[first])
    below = (last for last in range(stop + 1, len(base) + 1) if base[last - 1])
    for first, last in itertools.chain(((first, stop) for first in above), ((start, last) for last in below)):
        if len(_places(base, base[first:last])) == 1:
            return first, last
    return None


def _lines(base: list[str], program: list[str], above: int, below: int, changes: list) -> list[str]:
    lines = []
    for start, stop, first, last in changes:
        lines += [f" {line}".rstrip() for line in base[above:start]] + [f"-{line}" for line in base[start:stop]]
        lines += [f"+{line}" for line in program[first:last]]
        above = stop
    return lines + [f" {line}".rstrip() for line in base[above:below]]


def edited(base: list[str], edit: list[str]) -> list[str]:
    """The program with the edit made. Raises BadEdit where it does not say at which place it changes what."""
    changed: list[tuple[int, int, list[str]]] = []
    for hunk in "\n".join(edit).split("\n@@\n"):
        lines = [line or " " for line in hunk.split("\n")]
        if any(line[0] not in "-+ " for line in lines):
            raise BadEdit("the lines of an edit begin with '-', '+' or a blank; '@@' stands between two places")
        old, new = ([line[1:] for line in lines if line[0] in kinds] for kinds in ("- ", "+ "))
        places = _places(base, old)
        if len(places) != 1:
            raise BadEdit(f"{len(places)} places of the other answer are\n{hunk}\nAdd lines that stand around it.")
        changed.append((places[0], places[0] + len(old), new))
    program = list(base)
    for start, stop, new in sorted(changed, reverse=True):
        program[start:stop] = new
    return program


def _places(lines: list[str], wanted: list[str]) -> list[int]:
    """The places of `wanted` in `lines`; none if it is empty."""
    count = len(wanted)
    return [k for k in range(len(lines) - count + 1) if lines[k : k + count] == wanted] if wanted else []
