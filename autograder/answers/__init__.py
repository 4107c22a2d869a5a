"""The file of an exercise's answers, `units/UNIT/answers/EXERCISE.py`: right ones whole, wrong ones mostly as edits.

    import math

    # %% right_formula: passed
    def root(x):
        return math.sqrt(x)

    # %% wrong_half (right_formula): wrong, halves, levels 1 0
    -    return math.sqrt(x)
    +    return x / 2

A section's head says the answer's name, the one it is an edit of, the verdict and diagnosis it must get and the levels
that it passes. In an edit, lines that begin with `-` go, those with `+` come, those with a blank say where; `@@` stands
between two places. Of the imports above the first section, an answer gets those whose names it uses.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import autograder.content as content
from autograder.answers import edits

_HEAD = re.compile(
    r"# %% (?P<name>(?:right|wrong)_\w+)(?: \((?P<base>right_\w+)\))?: (?P<verdict>\w+)(?:, (?P<diagnosis>\w+))?"
    r"(?:, levels (?P<levels>[01](?: [01])*))?$"
)
_FIRST_LINE = re.compile(r"#\s*verdict:\s*(\w+)(?:\s*,\s*diagnosis:\s*(\w+))?\s*$")

BANK = content.root() / content.UNITS  # the course's own; in another one a unit's folder holds the files themselves


class BadBank(ValueError):
    """Answers that cannot be read, that do not say what they must get, or that lie where no exercise is."""


@dataclass(frozen=True)
class Entry:
    """An answer as it is kept. name: "right_flat"; text: the lines below its first one, with its imports; levels:
    which levels it passes, None if nobody has recorded it yet.
    """

    name: str
    verdict: str
    diagnosis: str
    text: str
    levels: tuple[bool, ...] | None = None

    @property
    def right(self) -> bool:
        """True if its name says that it is a right answer."""
        return self.name.startswith("right_")

    @property
    def source(self) -> str:
        """The answer as a file of its own, which says in its first line what it must get."""
        return f"# verdict: {self.verdict}{', diagnosis: ' * bool(self.diagnosis)}{self.diagnosis}\n{self.text}"

    def checked(self, place: object) -> Entry:
        """Return this entry. Raises BadBank where its name, its verdict and its diagnosis do not fit."""
        if self.right != (self.verdict == "passed") or (self.verdict != "passed" and not self.diagnosis):
            raise BadBank(f"{place}: a right answer must pass, a wrong one must name its verdict and diagnosis")
        return self


class _Section(NamedTuple):
    number: int  # of its first line
    head: str
    lines: list[str]


def of_exercise(bank: Path, unit: str, exercise: str) -> list[Entry]:
    """The answers to an exercise, by name: from its file, or from a folder with a file for each. Raises BadBank."""
    file, folder = file_of(bank, unit, exercise), folder_of(bank, unit) / exercise
    found = read(file) if file.is_file() else []
    return sorted([*found, *map(_from_file, folder.glob("*.py"))], key=lambda entry: entry.name)


def sources(unit: str, exercise: str, bank: Path = BANK) -> dict[str, str]:
    """Name -> source of each answer to an exercise, by name. Raises BadBank."""
    return {entry.name: entry.source for entry in of_exercise(bank, unit, exercise)}


def exercises(bank: Path) -> list[tuple[str, str]]:
    """(unit, exercise) of all that have answers in a bank."""
    found = set()
    for unit in (path.name for path in bank.glob("*") if path.is_dir()):
        place = folder_of(bank, unit)
        found |= {(unit, path.stem) for path in place.glob("*.py")}
        found |= {(unit, path.parent.name) for path in place.glob("*/*.py")}
    return sorted(found)


def folder_of(bank: Path, unit: str) -> Path:
    """The folder of a unit's answers: in its room, where the bank is a course's units/; else the one of its name."""
    room = content.Room(bank / unit)
    return room.answers if (bank.parent / content.FILE).is_file() else room.folder


def file_of(bank: Path, unit: str, exercise: str) -> Path:
    """The file of an exercise's answers, whether it is there or not."""
    return folder_of(bank, unit) / f"{exercise}.py"


def _from_file(path: Path) -> Entry:
    first, _, text = path.read_text(encoding="utf-8").partition("\n")
    match = _FIRST_LINE.match(first)
    if match is None or not path.name.startswith(("right_", "wrong_")):
        raise BadBank(f"{path}: call it right_*.py or wrong_*.py and begin it with '# verdict: ...[, diagnosis: ...]'")
    return Entry(path.stem, match[1], match[2] or "", text).checked(path)


def read(path: Path) -> list[Entry]:
    """The answers of an exercise's file, in its order. Raises BadBank, with the line."""
    programs: dict[str, list[str]] = {}
    found = []
    preamble, *sections = _sections(path.read_text(encoding="utf-8"))
    imports = [line for line in preamble.lines if _is_import(line)]
    for number, head, lines in sections:
        place = f"{path}:{number}"
        match = _HEAD.match(head)
        if match is None or match["name"] in programs:
            form = "# %% wrong_NAME (right_NAME): VERDICT, DIAGNOSIS"
            raise BadBank(f"{place}: a head is '{form}', and each name stands once: {head}")
        comments, program = _split(lines)
        if match["base"]:
            if match["base"] not in programs:
                raise BadBank(f"{place}: {match['base']}, of which it is an edit, does not stand above it")
            try:
                program = edits.edited(programs[match["base"]], program)
            except edits.BadEdit as error:
                raise BadBank(f"{place}: {error}") from None
        programs[match["name"]] = program
        levels = tuple(flag == "1" for flag in match["levels"].split()) if match["levels"] else None
        text = _text(comments, program, imports)
        found.append(Entry(match["name"], match["verdict"], match["diagnosis"] or "", text, levels).checked(place))
    return found


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write the answers of an exercise into its file, right ones first, by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(folded(path.stem, entries), encoding="utf-8")


def folded(exercise: str, entries: Iterable[Entry]) -> str:
    """The file of an exercise's answers. What is read from it is the same answers, with their imports in one order."""
    entries = sorted(entries, key=lambda entry: entry.name)
    parsed = {entry.name: _split(entry.text.rstrip("\n").split("\n")) for entry in entries}
    imports = _common([_imports(program) for _, program in parsed.values()])
    programs = {name: _without(program, imports) for name, (_, program) in parsed.items()}
    right = {entry.name: programs[entry.name] for entry in entries if entry.right}
    first = f"# Right and wrong answers to `{exercise}`. In files of their own: autograder bank --write DIR"
    sections = ["\n".join([first, *imports])]
    for entry in entries:
        base, lines = (None, programs[entry.name]) if entry.right else edits.shortest(right, programs[entry.name])
        sections.append("\n".join([_head(entry, base), *parsed[entry.name][0], *lines]))
    return "\n\n".join(sections) + "\n"


def unfold(bank: Path, unit: str, exercise: str, folder: Path) -> int:
    """Write each answer to an exercise into a file of its own, FOLDER/UNIT/EXERCISE/NAME.py; how many there are."""
    entries = of_exercise(bank, unit, exercise)
    place = folder / unit / exercise
    place.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        (place / f"{entry.name}.py").write_text(entry.source, encoding="utf-8")
    return len(entries)


def fold(folder: Path, unit: str, exercise: str, bank: Path) -> int:
    """Make the file of an exercise's answers from FOLDER/UNIT/EXERCISE/*.py; how many there are. Levels that the file
    has recorded stay with answers that have not changed.
    """
    kept = {(entry.name, entry.source): entry.levels for entry in of_exercise(bank, unit, exercise)}
    file = file_of(bank, unit, exercise)
    write(file, of_exercise(folder, unit, exercise))
    given = [replace(entry, levels=kept.get((entry.name, entry.source))) for entry in read(file)]
    write(file, given)
    return len(given)


def with_levels(path: Path, levels: dict[str, tuple[bool, ...]]) -> None:
    """Write into an exercise's file which levels its wrong answers pass; those of others stay."""
    write(path, [replace(entry, levels=levels.get(entry.name, entry.levels)) for entry in read(path)])


def _head(entry: Entry, base: str | None) -> str:
    of = f" ({base})" if base else ""
    diagnosis = f", {entry.diagnosis}" if entry.diagnosis else ""
    levels = "" if entry.levels is None or entry.right else f", levels {' '.join(str(int(p)) for p in entry.levels)}"
    return f"# %% {entry.name}{of}: {entry.verdict}{diagnosis}{levels}"


def _sections(text: str) -> Iterator[_Section]:
    """The lines above the first head, with "" for a head, then each section; without the blank lines at their ends."""
    number = 1
    for part in re.split(r"^(?=# %% )", text, flags=re.MULTILINE):
        head, _, rest = part.partition("\n") if part.startswith("# %% ") else ("", "", part)
        yield _Section(number, head, rest.rstrip("\n").split("\n"))
        number += part.count("\n")


# --- imports ----------------------------------------------------------------------------------------------------------


def _split(lines: list[str]) -> tuple[list[str], list[str]]:
    """The comments at the beginning, and what follows them."""
    count = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return lines[:count], lines[count:]


def _is_import(line: str) -> bool:
    return line.startswith(("import ", "from ")) and not line.endswith(("(", "\\"))


def _imports(program: list[str]) -> list[str]:
    """The lines at a program's beginning that import something."""
    found = []
    for line in program:
        if line and not _is_import(line):
            break
        found += [line] if line else []
    return found


def _without(program: list[str], imports: list[str]) -> list[str]:
    """A program without those of its imports that are said once for all answers."""
    own = [line for line in _imports(program) if line not in imports]
    rest = program
    while rest and (not rest[0] or _is_import(rest[0])):
        rest = rest[1:]
    return [*own, *([""] * 2 if own else []), *rest]


def _text(comments: list[str], program: list[str], imports: list[str]) -> str:
    """The lines of an answer below its first one: of the `imports`, those whose names it uses."""
    own = _imports(program)
    words = set(re.findall(r"(?<![\w.])\w+", "\n".join(line for line in program if line not in own)))
    words -= {name for line in own for name in _bound(line)}
    used = [line for line in imports if words & set(_bound(line))]
    space = [""] * 2 if used and not _is_import(program[0]) else []
    return "\n".join([*comments, *used, *space, *program]) + "\n"


def _common(imports: list[list[str]]) -> list[str]:
    """The imports that two answers or more have, but one for each name."""
    chosen: dict[str, str] = {}
    for line, count in Counter(line for lines in imports for line in dict.fromkeys(lines)).most_common():
        if count > 1 and not any(name in chosen for name in _bound(line)):
            chosen |= dict.fromkeys(_bound(line), line)
    return sorted(set(chosen.values()), key=lambda line: (line.startswith("from "), line))


def _bound(line: str) -> list[str]:
    (statement,) = ast.parse(line).body
    return [alias.asname or alias.name.split(".")[0] for alias in statement.names]
