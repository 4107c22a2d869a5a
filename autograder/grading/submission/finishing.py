"""Makes of a rebuilt notebook what is written for it: digest, look in the store, judge, keep, put the cards in."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace

from autograder.grading import store as stores
from autograder.grading.store import Store
from autograder.grading.submission import carding, judging
from autograder.grading.submission.grades import FORMAT, Graded
from autograder.grading.submission.rebuilding import Rebuilt
from autograder.judging.judge import Runners


@dataclass(frozen=True)
class FinishedNotebook:
    """A notebook that only has to be written into the gradebook and into autograded/.

    answers: as in `Rebuilt`. text: of its file. digest: under which the store keeps the result, or "". kept: it was
    judged before.
    """

    graded: Graded
    answers: dict[str, bool]
    text: str
    digest: str = ""
    kept: bool = False

    @classmethod
    def of(cls, rebuilt: Rebuilt, graded: Graded, hints: str, digest: str = "", kept: bool = False) -> FinishedNotebook:
        """The finished notebook, with its cards. Raises nbformat.ValidationError if it is no valid notebook."""
        return cls(graded, rebuilt.answers, carding.written(carding.carded(rebuilt, graded, hints)), digest, kept)

    def to_json(self) -> dict:
        """Plain data, for another process."""
        return vars(self) | {"graded": self.graded.to_json()}

    @classmethod
    def from_json(cls, data: dict) -> FinishedNotebook:
        """Raises ValueError for what another version wrote, or what is damaged."""
        return cls(**data | {"graded": Graded.from_json(data["graded"])})


@dataclass(frozen=True)
class Terms:
    """The settings by which the notebooks of an assignment are judged.

    unit: where exercises are looked for first; None: in all units. hints: how much the cards tell. level: of the
    isolation, as `autograder.grading.isolation.spec` names it. again: judge what has been judged before, too.
    """

    unit: str | None
    key: str
    hints: str
    level: str
    again: bool = False


def finished(
    rebuilt: Rebuilt, terms: Terms, store: Store, runners: Callable[[], AbstractContextManager[Runners]]
) -> FinishedNotebook:
    """`graded`, with the cards put in. Raises what `graded` and `FinishedNotebook.of` raise."""
    result, name, kept = graded(rebuilt, terms, store, runners)
    return FinishedNotebook.of(rebuilt, result, terms.hints, name, kept)


def graded(
    rebuilt: Rebuilt, terms: Terms, store: Store, runners: Callable[[], AbstractContextManager[Runners]]
) -> tuple[Graded, str, bool]:
    """The result of a rebuilt notebook, its digest, and whether it was judged before.

    runners: called where it has to be judged, for what judges it. A result is kept in the store unless a fault of
    ours decided it. Raises `autograder.grading.store.DiskFull`, and whatever `runners` raises.
    """
    name = digest(rebuilt, terms)
    found = None if terms.again else kept_result(store, name)
    if found is not None:
        return found, name, True
    with runners() as ready:
        found = judging.judge(rebuilt, terms.unit, ready, key=terms.key, hints=terms.hints)
    keep(store, name, found)
    return found, name, False


def keep(store: Store, name: str, result: Graded) -> None:
    """Keep a result under its digest; one that a fault of ours decided is not kept. Raises DiskFull."""
    if not any(item.fault for item in result.items):
        store.keep_result(name, result.to_json())


def digest(rebuilt: Rebuilt, terms: Terms) -> str:
    """A hash of what decides a result: the student's code that a check or test reaches, the exercises and the judge,
    key, isolation."""
    unit = terms.unit
    flags = [asdict(flag) for flag in rebuilt.flags]
    parts: list = [FORMAT, stores.version(), unit, terms.key, terms.level, rebuilt.refused, flags]
    parts += [rebuilt.files] if rebuilt.files else []
    for item in rebuilt.items:
        exercise = judging.exercise_of(item, unit)
        chunks, note = (None, "") if exercise is None else rebuilt.chunks(item, exercise)
        if exercise is None and not item.part and not rebuilt.refused:
            chunks = rebuilt.chunks_of_test(item)
        code = chunks and [[c.label, c.line, c.source, c.label in rebuilt.own] for c in chunks]
        parts.append([item.grade_id, item.points, item.source, note, code])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def kept_result(store: Store, name: str) -> Graded | None:
    """The earlier result with this digest; None if there is none, or none that can be read."""
    kept = store.result(name)
    with contextlib.suppress(ValueError):
        return None if kept is None else Graded.from_json(kept)
    return None


def kept_at_any_level(rebuilt: Rebuilt, terms: Terms, levels: list[str], store: Store) -> tuple[Graded | None, str]:
    """The earlier result at the first of these levels of isolation that has one, and that level; (None, "") if none
    has."""
    for level in levels:
        found = kept_result(store, digest(rebuilt, replace(terms, level=level)))
        if found is not None:
            return found, level
    return None, ""
