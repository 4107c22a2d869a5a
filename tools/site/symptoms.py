"""The symptoms of a mistake, before anybody has named it: found from the values it gives, from how it ends, and
last from the words of its diagnosis.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograder.case import ANYTHING, Case, Tensor, Typed
from autograder.exercise import Exercise, rng_for
from labkit.watch.hang import KINDS

# key -> (what a student would say, what it is about), in the order of the index.
SYMPTOMS = {
    "hangs": (
        "My ranks hang",
        "Somebody waits for what will never come. Find out who waits for whom, and at which line: a check says it.",
    ),
    "stops": ("It stops with an error", "The exception is in the name, or in the sentence."),
    "too_large": (
        "My numbers are p times too large",
        "p is the number of ranks. Something was added up over all ranks and never divided, or counted by each.",
    ),
    "too_small": (
        "My numbers are p times too small",
        "p is the number of ranks. Something was divided twice, or a rank's own share was taken for the whole.",
    ),
    "factor": (
        "My numbers are wrong by one factor",
        "All of them, and by the same: a constant, a unit, a sign or a power is not what it should be.",
    ),
    "some_ranks": (
        "It is right on some ranks and wrong on others",
        "Compare what the ranks hold: the root and the others, the first and the last.",
    ),
    "some_cases": (
        "It works for some sizes or numbers of ranks, not for others",
        "Look for what divides evenly in one case and not in the other, and for numbers written into the program.",
    ),
    "missing": (
        "Something is missing, or there twice",
        "There is less or more of it than there should be: samples, elements, steps, the contribution of a rank.",
    ),
    "places": (
        "The right numbers stand in the wrong places",
        "Nothing is lost and nothing is new: the order is another one.",
    ),
    "type": (
        "The type, the shape or the last digits are wrong",
        "The numbers went through something too narrow, or came back in another form than was asked for.",
    ),
    "costs": (
        "The result is right, but it costs too much",
        "More messages, bytes, memory or time than the exercise allows, or something waits that need not.",
    ),
    "numbers": ("My numbers are just wrong", "No simple relation to the right ones."),
    "rules": (
        "A rule is broken, or something is missing",
        "The values are not what was looked at first: what was called, what was kept, what came back at all.",
    ),
}
ENDS_BY_RAISING = re.compile(r"^[A-Z]\w+$")  # diagnoses named like the exception
# By a diagnosis' name, then by its sentence: the first that fits counts.
NAMES = {
    "too_large": r"sum_for_mean|summed_(twice|again|not)|not_averaged|^summed$",
    "too_small": r"mean_for_sum|^averaged$|divided_(twice|again)",
    "rules": r"^uses_|takes_anything|not_refused|^no_actions$|^not_written$",
    "some_ranks": r"own_only|own_counts|one_ranks?_|only_one_rank|rank_(0|zero)_|not_broadcast|ranks_(differ|disagree)",
    "costs": r"too_(many|much|slow|long)|moves_|one_at_a_time|one_after|holds_|keeps_|serial|_bytes|idle|pickled",
    "type": r"float|integer|dtype|_type|rounded|digit|wrapped|shape|length|^not_an?_",
}
SENTENCES = {
    "hangs": r"\b(nobody moves|waits? for(?:ever)?|still waits?|never returns?|deadlock|hangs?)\b",
    "costs": r"\b(slower|longer|idle|alive|memory|steps than|more often|more (bytes|messages)|do(es)? not overlap)\b",
    "some_ranks": r"\b(ranks (hold|have) different|the ranks differ|each rank (reports|has) its own|only rank)\b",
    "missing": r"\b(missing|left out|lost|dropped|never (sent|seen|looked|arrive)|twice|overlap|more than once)\b",
    "type": r"\b(float32|digits|data type|floating-point|another (type|shape|form)|Two objects|what came is not)\b",
}
SAID = {  # what a sentence says outright comes before what the values look like
    "too_large": r"times too (large|long)|sums?,? not (the|their) mean|summed,? (but )?(not|instead)|not their mean"
    r"|multiplied by the number of ranks|added up,? (and )?not averaged",
    "too_small": r"times too (small|short)|mean,? not the sum|divided by .* (twice|again|once more)",
}


def symptoms_of(exercise: Exercise) -> dict[str, str]:
    """name of each diagnosis of `exercise` -> a key of `SYMPTOMS`; by the public key, so the same everywhere."""
    seen: dict[str, list] = defaultdict(list)
    for case in exercise.cases(rng_for(exercise)):
        expected = exercise.expected(case)
        for name, values in exercise.misconceptions(case).items():
            seen[name].append((case, expected, values))
    return {name: symptom(name, text.why, seen[name]) for name, text in exercise.diagnoses.items()}


def symptom(name: str, why: str, cases: Sequence = ()) -> str:
    """The key of one diagnosis. cases: (case, right values, mistaken values or None where it does not show)."""
    if name in KINDS and name != "rank_died":
        return "hangs"
    if ENDS_BY_RAISING.match(name):
        return "stops"
    by_name, by_sentence = _first(NAMES, name), _first(SENTENCES, why)
    said = _first(SAID, why) or (by_name if by_name in SAID else None)
    return said or _by_values(cases) or by_name or by_sentence or "rules"


def _first(patterns: dict[str, str], text: str) -> str | None:
    return next((key for key, pattern in patterns.items() if re.search(pattern, text, re.IGNORECASE)), None)


def _by_values(cases: Sequence[tuple[Case, list, list | None]]) -> str | None:
    """The look of the mistaken values beside the right ones, over all cases in which the mistake shows."""
    shown = [(case, right, wrong) for case, right, wrong in cases if wrong is not None]
    if not shown:
        return None
    found = [_compared(case, right, wrong) for case, right, wrong in shown]
    if len(set(found)) == 1 and found[0] != "numbers":
        return found[0]
    worlds = {case.world_size for case, _, _ in shown}
    if {"too_large", "factor"} >= set(found) and "too_large" in found and len(worlds) > 1:
        return "too_large"
    return "some_cases" if 2 * len(shown) <= len(cases) else "numbers"


def _compared(case: Case, right: list, wrong: list) -> str:
    ranks = []
    for a, b in zip(right, wrong, strict=True):
        try:
            pairs = list(_pairs(a, b))
        except _Unlike as unlike:
            return str(unlike)
        if pairs:
            ranks.append(np.array(pairs).T)
    same = [np.allclose(x, y, rtol=1e-9, atol=0, equal_nan=True) for x, y in ranks]
    if any(same) and not all(same):
        return "some_ranks"
    return _of_numbers(*np.hstack(ranks), case.world_size) if ranks else "numbers"


def _of_numbers(x: np.ndarray, y: np.ndarray, p: int) -> str:
    """The relation of y to x, arrays of as many float64."""
    if not len(x) or np.allclose(x, y, rtol=1e-6, atol=0, equal_nan=True):
        return "type"
    used = x != 0
    with np.errstate(all="ignore"):
        ratios = y[used] / x[used]
        if len(ratios) and not y[~used].any() and np.allclose(ratios, ratios[0], rtol=1e-6) and ratios[0]:
            known = {p: "too_large", 1 / p: "too_small"} if p > 1 else {}
            return next((key for r, key in known.items() if np.isclose(r, ratios[0])), "factor")
    if np.allclose(np.sort(x), np.sort(y), rtol=1e-9, equal_nan=True):
        return "places"
    return "numbers"


class _Unlike(Exception):
    """Two values whose numbers cannot be put side by side; its text is the symptom."""


def _pairs(a: Any, b: Any) -> Iterator[tuple[float, float]]:
    """The numbers of a right and of a wrong value beside each other; what is no number counts by its text."""
    a, b = (one.values if isinstance(one, (Tensor, Typed)) else one for one in (a, b))
    if a is ANYTHING or b is ANYTHING:
        return
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape:
            raise _Unlike("missing" if a.ndim == b.ndim else "type")
        if a.dtype.kind in "biuf" and b.dtype.kind in "biuf":
            yield from zip(a.astype(float).ravel().tolist(), b.astype(float).ravel().tolist(), strict=True)
            return
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from _pairs(a[key], b[key])
    elif isinstance(a, (list, tuple, np.ndarray)) and isinstance(b, (list, tuple, np.ndarray)):
        if len(a) != len(b):
            raise _Unlike("missing")
        for one, other in zip(a, b, strict=True):
            yield from _pairs(one, other)
    elif isinstance(a, (bool, int, float, np.number)) and isinstance(b, (bool, int, float, np.number)):
        yield float(a), float(b)
    elif isinstance(a, (dict, list, tuple, np.ndarray)) or isinstance(b, (dict, list, tuple, np.ndarray)):
        raise _Unlike("type")
    else:
        yield _of_text(a), _of_text(b)


def _of_text(value: Any) -> float:
    """A number that is another one for another text."""
    return float(zlib.crc32(repr(value).encode()))
