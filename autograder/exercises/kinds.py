"""Kinds of exercises, each of which derives what its exercises would otherwise repeat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.compare import difference, same, show
from autograder.exercise import ANYTHING, Case, Exercise, Finding, Run, names_of
from autograder.exercises.source import harness_of, source_of

__all__ = [
    "AS_LISTS",
    "PlainExercise",
    "RefusingExercise",
    "ReportExercise",
    "fits",
    "names_of",
    "on_ranks",
    "plain",
    "tells_apart",
]

MOST_SHOWN, LONG = 24, 120  # entries of a list, and characters of an array, that name a case

AS_LISTS = source_of("autograder.exercises.harness", "as_lists")  # numbers may come as a list, an array, an iterator


class PlainExercise(Exercise):
    """A function that does not communicate, called once, or once for every rank where its signature names a `rank`.

    A case is its arguments by name: `draw` yields (level, {name: value}) or (level, {name: value}, options of `Case`),
    with the names in `given`, which are those of the signature but `rank`; what else it names, only we know. The
    harness calls the function for ranks world_size - 1 down to 0 and returns a list of what came, by rank; lists,
    ranges, arrays and tensors are the same. A harness of the exercise's own takes the function and what is `given`; it
    may call `as_lists`. `draw_further` yields `further` cases in the same way.

    right(**case): what is right, by a plain formula: one value, or a list with one for each rank; `ANYTHING` where what
    came is judged by `read_right` alone. read(answer, **case): names what no mistake's `value` shows, or None;
    `read_right` a broken rule of an answer whose values are right. rtol: of numbers; 1e-9 where float32 is too coarse.
    """

    runtime = "plain"
    given: tuple[str, ...] = ()
    rtol: float | None = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        own = vars(cls)
        if "signature" in own:
            names = names_of(cls.signature)
            cls.given = own.get("given", tuple(name for name in names if name != "rank"))
            if "rank" in names and "rank" not in cls.given and not {"harness", "rank_at"} & set(own):
                cls.rank_at = names.index("rank")
            call = f"as_lists(f({', '.join(names)}))"
            each = f"[{call} for rank in reversed(range(world_size))][::-1]"  # no rank may lean on the one before it
            value = each if "rank" in names else call
            harness = own.get("harness", f"\ndef harness(f, {', '.join(cls.given)}):\n    return {value}\n")
            if isinstance(harness, str):
                cls.harness = f"{AS_LISTS}\n{harness}"

    def draw(self, rng: np.random.Generator) -> Iterator[tuple]:
        raise NotImplementedError

    def draw_further(self, rng: np.random.Generator) -> Iterator[tuple]:
        yield from ()

    def right(self, **case: Any) -> Any:
        return ANYTHING

    def read(self, answer: Any, **case: Any) -> Finding | str | None:
        return None

    def read_right(self, answer: Any, **case: Any) -> Finding | str | None:
        return None

    def cases(self, rng):
        return [self._case(*drawn) for drawn in self.draw(rng)]

    def further(self, rng):
        return [self._case(*drawn) for drawn in self.draw_further(rng)]

    def _case(self, level: str, known: dict[str, Any], options: dict[str, Any] | None = None) -> Case:
        known = {name: plain(value) for name, value in known.items()}
        shown = [(name, known[name]) for name in self.given if name != "world_size"]
        says = [said(name, value) for name, value in shown if value is not False and not _is_empty_text(value)]
        if "world_size" in known:
            says.append(f"{known['world_size']} ranks")
        return replace(
            Case(level, 1, tuple(known[name] for name in self.given), ", ".join(says), known, rtol=self.rtol),
            **(options or {}),
        )

    def expected(self, case):
        return self.per_rank(case, self.right(**case.known))

    def worked(self, case):
        """The values that the case names, its `world_size` also as `p`, and those that are `right`."""
        p = case.known.get("world_size", 1)
        return SimpleNamespace(**{"case": case, "p": p, "right": self.right(**case.known), **case.known})

    def per_rank(self, case, value):
        return [value]

    def facts(self, case: Case, run: Run):
        (right,), answer = self.expected(case), run.ranks[0].value
        is_right = difference(right, answer, case.rtol, case.atol) is None
        return (self.read_right if is_right else self.read)(answer, **case.known)


def holds(answer: Any, *keys: str) -> bool:
    """True if an answer is a dict with a list or a tuple under each of the keys."""
    return isinstance(answer, dict) and all(isinstance(answer.get(key), (list, tuple)) for key in keys)


def as_floats(answer: Any) -> np.ndarray:
    """The numbers of an answer, shape (n,); none where it is anything else than numbers, or they are too large."""
    try:
        found = np.ravel(np.asarray(getattr(answer, "values", answer)))
        numeric = found.dtype.kind in "biuf" or all(isinstance(one, (int, float)) for one in found)
        return found.astype(float) if numeric else np.zeros(0)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0)


def refused(answer: Any) -> bool:
    """True if a harness that catches ValueError said so. Answers are of any type, and arrays do not compare."""
    return isinstance(answer, str) and answer == "ValueError"


class RefusingExercise(PlainExercise):
    """A plain function that raises ValueError where the case is `impossible`.

    A mistake whose value is "ValueError" raises one where it is not.
    """

    def __init_subclass__(cls, **options):
        if "signature" in vars(cls) and "harness" not in vars(cls):
            cls.harness = harness_of(__file__, "refusing")
        super().__init_subclass__(**options)

    def impossible(self, **case) -> bool:
        raise NotImplementedError

    def per_rank(self, case, value):
        if self.impossible(**case.known):
            return [{"value": ANYTHING, "raises": "ValueError"}]
        if refused(value):
            return [{"value": None, "raises": "ValueError"}]
        return [{"value": value, "raises": "nothing"}]

    def worked(self, case):
        possible = not self.impossible(**case.known)
        return SimpleNamespace(**{"case": case, "possible": possible, "right": None, **case.known})

    def expected(self, case):
        return self.per_rank(case, None if self.impossible(**case.known) else self.right(**case.known))

    def of_exception(self, case, kind, text):
        return "not_a_value_error" if self.impossible(**case.known) else None

    def facts(self, case: Case, run: Run):
        if not self.impossible(**case.known):
            return super().facts(case, run)
        answer = run.ranks[0].value
        return None if isinstance(answer, dict) and refused(answer.get("raises")) else "takes_anything"


class ReportExercise(Exercise):
    """Every rank returns a dict of parts, such as its weights after a training run and the losses on the way.

    parts: their names, in the order in which they are to be mended; those that are to be mended together are a tuple of
    their own. A mistake's `value` holds the parts that it changes: a dict if they are the same on every rank, else a
    list of such dicts. What is no dict is the first part. The parts before those are right; those after them may be
    anything, so that of two mistakes at once the one to be mended first gets its name.
    """

    parts: tuple[str | tuple[str, ...], ...]

    def per_rank(self, case: Case, value: Any) -> list[dict] | None:
        groups = [(group,) if isinstance(group, str) else group for group in self.parts]
        values = value if isinstance(value, list) else [value] * case.world_size
        changes = [one if isinstance(one, dict) else {groups[0][0]: one} for one in values]
        rights, wrong = self.expected(case), set()
        for right, change in zip(rights, changes, strict=True):
            for name, new in change.items():
                if right[name] is not ANYTHING and not same(right[name], new, case.rtol, case.atol):
                    wrong.add(name)
        first = next((k for k, group in enumerate(groups) if wrong & set(group)), None)
        if first is None:
            return None
        later = {name: ANYTHING for name in chain(*groups[first + 1 :]) if name in rights[0]}
        return [right | change | later for right, change in zip(rights, changes, strict=True)]


def fits(case: Case, wanted: Iterable, values: Iterable) -> bool:
    """True if the ranks hold these values, one per rank, within the case's tolerance."""
    return all(difference(w, v, case.rtol, case.atol) is None for w, v in zip(wanted, values, strict=True))


def on_ranks(level: str, p: int, names: str, known: dict[str, Any], says: str = "", **options: Any) -> Case:
    """A case whose arguments are entries of `known`, in this order; rank r gets entry r of those whose name ends in
    [r]: "x[r] lr".
    """

    def argument(name: str, rank: int) -> Any:
        return known[name.removesuffix("[r]")][rank] if name.endswith("[r]") else known[name]

    arguments = [tuple(argument(name, rank) for name in names.split()) for rank in range(p)]
    return Case(level, p, arguments, says, known, **options)


def plain(value: Any) -> Any:
    """numpy's integers as Python's, so that a card shows 3 and not np.int64(3)."""
    return int(value) if isinstance(value, np.integer) else value


def said(name: str, value: Any) -> str:
    """An argument as a card names its case by it, in one line: the name alone if it is True, long values cut."""
    text = value if isinstance(value, str) else " ".join(show(value, MOST_SHOWN).split())
    if isinstance(value, np.ndarray) and len(text) > LONG:  # every row, for one of them may be what it is about
        cut = {"threshold": 4, "edgeitems": 2, "separator": ", ", "formatter": {"float": "{:.5g}".format}}
        rows = [np.array2string(row, **cut) for row in value]
        text = f"[{', '.join(rows)}]"
    return name if value is True else f"{name} = {text}"


def _is_empty_text(value: Any) -> bool:
    return isinstance(value, str) and not value


def tells_apart(exercise: Exercise, case: Case) -> bool:
    """True if each mistake that gives a value in this case gives another than is right, and than those before it."""
    worked, shown = exercise.worked(case), exercise.misconceptions(case)
    return all(m.value is None or m.value(worked) is None or shown[m.name] is not None for m in exercise.mistakes)
