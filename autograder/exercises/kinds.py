"""Kinds of exercises, each of which derives what its exercises would otherwise repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.exercise import Case, Exercise, Finding, Run

__all__ = ["AS_LISTS", "PlainExercise", "names_of", "plain"]

# Numbers may come as a list, a tuple, a range, an array, a tensor or an iterator; a set has no order.
AS_LISTS = """
def as_lists(value):
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (set, frozenset)):
        return "a set, which has no order"
    if isinstance(value, (str, dict)) or not hasattr(value, "__iter__"):
        return value
    return [as_lists(one) for one in value]
"""


class PlainExercise(Exercise):
    """A function that does not communicate, called once, or once for every rank where its signature names a `rank`.

    A case is its arguments by name: `draw` yields (level, {name: value}) or (level, {name: value}, options of `Case`), with the
    names of the signature but `rank`. The harness calls the function for ranks 0 to world_size - 1 and returns a list of what came;
    lists, ranges, arrays and tensors are the same.

    right(**case): what is right, by a plain formula: one value, or a list with one for each rank. read(answer, **case): names what
    no mistake's `value` shows, or None; `read_right` a broken rule of an answer whose values are right.
    """

    runtime = "plain"
    given: tuple[str, ...]  # names of a case's arguments, in the order of the signature; an exercise with a harness says them itself

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "signature" in vars(cls) and "harness" not in vars(cls):
            names = names_of(cls.signature)
            given = [name for name in names if name != "rank"]
            call = f"as_lists(f({', '.join(names)}))"
            value = f"[{call} for rank in range(world_size)]" if "rank" in names else call
            cls.given = tuple(given)
            cls.harness = f"{AS_LISTS}\n\ndef harness(f, {', '.join(given)}):\n    return {value}\n"

    def draw(self, rng: np.random.Generator) -> Iterator[tuple]:
        raise NotImplementedError

    def right(self, **case: Any) -> Any:
        raise NotImplementedError

    def read(self, answer: Any, **case: Any) -> Finding | str | None:
        return None

    def read_right(self, answer: Any, **case: Any) -> Finding | str | None:
        return None

    def cases(self, rng):
        return [self._case(*drawn) for drawn in self.draw(rng)]

    def _case(self, level: str, known: dict[str, Any], options: dict[str, Any] | None = None) -> Case:
        known = {name: plain(value) for name, value in known.items()}
        says = ", ".join(f"{name} = {value}" for name, value in known.items() if name != "world_size")
        if "world_size" in known:
            says += f"{', ' if says else ''}{known['world_size']} ranks"
        return replace(Case(level, 1, tuple(known[name] for name in self.given), says, known), **(options or {}))

    def expected(self, case):
        return [self.right(**case.known)]

    def worked(self, case):
        return SimpleNamespace(**{"case": case, "right": self.right(**case.known), **case.known})

    def per_rank(self, case, value):
        return [value]

    def facts(self, case: Case, run: Run):
        answer, right = run.ranks[0].value, self.right(**case.known)
        return (self.read_right if answer == right else self.read)(answer, **case.known)


def names_of(signature: str) -> list[str]:
    """Names of the arguments in a signature such as "f(x: list[int], k: int = 3) -> float"."""
    inside = signature.partition("->")[0].strip().partition("(")[2].removesuffix(")")
    return re.findall(r"(\w+)\s*(?::[^,]*?(?:\[[^]]*\])?[^,]*)?(?:,|$)", inside)


def plain(value: Any) -> Any:
    """numpy's integers as Python's, so that a card shows 3 and not np.int64(3)."""
    return int(value) if isinstance(value, np.integer) else value
