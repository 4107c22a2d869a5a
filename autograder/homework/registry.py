"""The homeworks of the course, and which of them a folder is."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from autograder.homework.assignment import Assignment
from autograder.homework.mesh.entry import TRAIN_A_MESH
from autograder.homework.mnist import SCALING_MNIST
from autograder.homework.rubric import PartResult

ASSIGNMENTS: dict[str, Assignment] = {one.name: one for one in (SCALING_MNIST, TRAIN_A_MESH)}


class UnknownHomework(LookupError):
    """Raised when no homework has that name, or a folder fits several or none; its text says what to do."""


def get(name: str) -> Assignment:
    """The homework of that name. Raises UnknownHomework."""
    if name not in ASSIGNMENTS:
        raise UnknownHomework(f"there is no homework {name!r}: choose one of {', '.join(ASSIGNMENTS)}")
    return ASSIGNMENTS[name]


def title_of(result: PartResult) -> str:
    """The title of a part on the page."""
    return get(result.assignment).rubric.parts[result.part]


def all_parts() -> list[str]:
    """The names of all parts of all homeworks."""
    return list(dict.fromkeys(part for one in ASSIGNMENTS.values() for part in one.rubric.parts))


def find(names: Collection[str] = (), parts: Collection[str] = (), folder: Path | None = None) -> Assignment:
    """The homework that has all these parts: the one of these names, the only one, or the one whose files lie in
    `folder`, most of them. Raises UnknownHomework.
    """
    having = {one.name: one for one in ASSIGNMENTS.values() if set(parts) <= set(one.rubric.parts)}
    named = [having[name] for name in names if name in having]
    if named or len(having) == 1:
        return (named or list(having.values()))[0]
    if not having:
        raise UnknownHomework(f"no homework has the part {', '.join(parts)}: choose one of {', '.join(all_parts())}")
    found = {} if folder is None else {name: len(one.files.found_in(folder)) for name, one in having.items()}
    most = [name for name, count in found.items() if count and count == max(found.values())]
    if len(most) == 1:
        return having[most[0]]
    why = f"the files fit {' and '.join(most)} alike" if most else f"no file of {' or '.join(having)} was found"
    raise UnknownHomework(
        f"which homework this is cannot be told: {why}. Name it, or call the folder like it: {', '.join(having)}"
    )
