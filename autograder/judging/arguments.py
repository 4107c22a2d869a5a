"""Arguments that are not what they were: which, what has changed, and how a student keeps them. And a result of another
type than the signature names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.compare import show, unchanged
from autograder.exercise import ANYTHING, Case, Diagnosis, Exercise, Run, Tensor, names_of
from autograder.judging.diagnoses import diagnosis_of

_HOW = {  # by what was changed
    "list": "Work on a list of your own: `list({0})`, or `sorted({0})` in place of `{0}.sort()`.",
    "dict": "Work on a dict of your own: `dict({0})`.",
    "set": "Work on a set of your own: `set({0})`.",
    "array": "Work on a copy: `{0}.copy()`.",
    "tensor": "Work on a copy: `{0}.clone()`.",
    "module": "Set it back before you return, as with `{0}.train(mode)`: whoever goes on with it counts on its mode.",
    "gradient": "Ask for gradients of a tensor of your own: `{0}.detach().clone().requires_grad_()`.",
}


@dataclass(frozen=True)
class ChangedArgument:
    """The card's words about an argument that was changed: lines, why, and how to mend it.

    container: whether it is a list, a dict or a set. An answer that speaks of its entries by their places may be right
    for what it has become.
    """

    lines: list[str]
    text: Diagnosis
    container: bool


def changed_argument(exercise: Exercise, case: Case, run: Run) -> ChangedArgument | None:
    """The first argument that a rank has changed. None where all are as they were, or may be changed."""
    if exercise.may_change is None:
        return None
    for r, rank in enumerate(run.ranks):
        found = _first_changed(exercise, case, r, rank.after)
        change = next((one for one in rank.changed if one["kind"] != "return"), None)
        if change is None and found is not None:
            change = {"name": _name(exercise, found[0]), "where": "", "what": "values", "kind": _kind(found[1])}
        if change is not None:
            lines, text = _lines(case, r, rank.after, found), _in_words(exercise, **change)
            return ChangedArgument(lines, text, change["kind"] in ("list", "dict", "set"))
    return None


def other_type(case: Case, run: Run) -> list[str]:
    """The card's line about the first result that is right but of another type than the signature names; [] where all
    are of that type."""
    for r, rank in enumerate(run.ranks):
        for one in rank.changed:
            if one["kind"] == "return":
                return [f"{'' if case.world_size == 1 else f'rank {r} '}returned {one['what']}"]
    return []


def _in_words(exercise: Exercise, name: str, where: str, what: str, kind: str) -> Diagnosis:
    own = exercise.diagnoses.get("modifies_input")
    general = diagnosis_of(exercise, "modifies_input")
    whole = f"{name}{where}"
    how = _HOW[kind].format(whole) if kind in _HOW and name.isidentifier() else general.how
    if own is not None:
        return Diagnosis(own.why, own.how or how)
    return Diagnosis(f"Your function changes its argument `{whole}`: its {what}.", how)


def _name(exercise: Exercise, k: int) -> str:
    names = names_of(exercise.signature) if not exercise.harness else []
    return names[k] if k < len(names) else f"number {k + 1}"


def _kind(value: Any) -> str:
    return (
        "tensor"
        if isinstance(value, Tensor)
        else "array"
        if isinstance(value, np.ndarray)
        else "dict"
        if isinstance(value, dict)
        else "list"
    )


def _first_changed(exercise: Exercise, case: Case, r: int, after: tuple) -> tuple[int, Any] | None:
    """(which, what it was) of the first argument of a rank whose values have changed."""
    for k, (before, now) in enumerate(zip(case.arguments_of(r), after, strict=False)):
        allowed = _name(exercise, k) in exercise.may_change or (exercise.harness and exercise.may_change)
        if before is not ANYTHING and not allowed and not unchanged(before, now):
            return k, before
    return None


def _lines(case: Case, r: int, after: tuple, found: tuple[int, Any] | None) -> list[str]:
    """An argument's values before and after, where they are known here and differ."""
    if found is None:
        return []
    who = "" if case.world_size == 1 else f"on rank {r} "
    column = len(who) + len("the argument was ")
    before, now = found[1], after[found[0]]
    digits = 17 if show(before) == show(now) else 6
    return [
        f"{who}the argument was {show(before, indent=column, digits=digits)}",
        f"{'and now is':>{column - 1}} {show(now, indent=column, digits=digits)}",
    ]
