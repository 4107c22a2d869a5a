"""`units/NN_topic/holes.toml`: the mutants that are as right as the answer they come from, each with its reason.

    [[equivalent]]
    answer = "fair_share/right_loop.py"
    reason = "The share is never negative, so 0 and -1 are the same bound."
    mutants = [["one less", "if share > 0:", "if share > -1:"]]

A mutant is named by its operator, the changed lines before and after, and, where the same change is possible at
several places of the file, how many of them stand before it. `accepted.toml` beside this file names operators whose
survivors are right in every exercise.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import autograder.content as content
from autograder.answers import BANK, sources
from autograder.holes.mutants import Mutant, candidates

ACCEPTED = Path(__file__).with_name("accepted.toml")
Identity = tuple[str, str, str, int]


class BadRecord(ValueError):
    """A file of records that does not say what it should."""


@dataclass(frozen=True)
class Equivalent:
    """Mutants of one answer that are as right as it, for one reason. answer: "EXERCISE/right_NAME.py"."""

    answer: str
    reason: str
    mutants: tuple[Identity, ...]


def file_of(unit: str, folder: Path | None = None) -> Path:
    """The file of a unit's records. folder: where each unit has a file NN_topic.toml; None: in the unit's room."""
    return content.course().room(unit).holes if folder is None else folder / f"{unit}.toml"


def equivalents(unit: str, folder: Path | None = None) -> list[Equivalent]:
    """The records about a unit's answers. Raises BadRecord."""
    path = file_of(unit, folder)
    if not path.exists():
        return []
    found = []
    for entry in _entries(path, "equivalent", {"answer", "reason", "mutants"}):
        for one in entry["mutants"]:
            kinds = [type(part) for part in one]
            if kinds not in ([str, str, str], [str, str, str, int]):
                raise BadRecord(
                    f"{_shown(path)}: a mutant is [operator, old, new] or [operator, old, new, n], not {one}"
                )
        identities = tuple((*one[:3], one[3] if len(one) > 3 else 0) for one in entry["mutants"])
        found.append(Equivalent(entry["answer"], entry["reason"], identities))
    return found


def accepted() -> dict[str, str]:
    """Operator -> why its survivors are right in every exercise. Raises BadRecord."""
    return {entry["operator"]: entry["reason"] for entry in _entries(ACCEPTED, "accepted", {"operator", "reason"})}


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _entries(path: Path, table: str, keys: set[str]) -> list[dict]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadRecord(f"{_shown(path)}: {error}") from None
    if set(document) - {table}:
        raise BadRecord(f"{_shown(path)}: it holds [[{table}]] and nothing else")
    for entry in document.get(table, []):
        if set(entry) != keys:
            raise BadRecord(f"{_shown(path)}: an entry has {', '.join(sorted(keys))}, not {', '.join(sorted(entry))}")
    return document.get(table, [])


def write(unit: str, entries: Iterable[Equivalent], folder: Path | None = None) -> None:
    """Write a unit's records, in their order; a file without any is removed."""
    entries, path = list(entries), file_of(unit, folder)
    if not entries:
        path.unlink(missing_ok=True)
        return
    parts = []
    for one in entries:
        rows = [list(m if m[3] else m[:3]) for m in one.mutants]
        lines = "".join(f"    {json.dumps(row, ensure_ascii=False)},\n" for row in rows)
        head = f"[[equivalent]]\nanswer = {_text(one.answer)}\nreason = {_text(one.reason)}\n"
        parts.append(f"{head}mutants = [\n{lines}]\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")


def _text(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def stale(unit: str, folder: Path | None = None, bank: Path = BANK) -> list[str]:
    """A sentence for each record of a unit whose mutant can no longer be made, or that two entries name."""
    found, seen = [], set()
    for one in equivalents(unit, folder):
        exercise, _, file = one.answer.partition("/")
        source = sources(unit, exercise, bank).get(file.removesuffix(".py"))
        possible = identities(source, exercise) if source is not None else set()
        for identity in one.mutants:
            if identity not in possible:
                found.append(f"{unit}/{one.answer}: no such mutant any more: {said(identity)}")
            if (one.answer, identity) in seen:
                found.append(f"{unit}/{one.answer}: recorded twice: {said(identity)}")
            seen.add((one.answer, identity))
    return found


def without_reason(unit: str, folder: Path | None = None) -> list[str]:
    """A sentence for each record of a unit that gives no reason: two words at least, with a full stop."""
    return [
        f"{unit}/{one.answer}: why is this as right? {said(one.mutants[0]) if one.mutants else 'no mutant is named'}"
        for one in equivalents(unit, folder)
        if len(one.reason.split()) < 2 or not one.reason.rstrip().endswith(".") or not one.mutants
    ]


def identities(source: str, exercise: str) -> set[Identity]:
    """The names of all mutants that can be made of an answer."""
    return {one.identity for one in candidates(source, exercise)}


def said(mutant: Mutant | Identity) -> str:
    """A mutant in one line."""
    operator, old, new, occurrence = mutant.identity if isinstance(mutant, Mutant) else mutant
    again = f" (place {occurrence + 1})" if occurrence else ""
    return f"{operator}: {' / '.join(old.splitlines())}  ->  {' / '.join(new.splitlines())}{again}"
