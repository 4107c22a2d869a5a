"""The name that a mistake keeps when all cases of an answer are known: one case may look like another mistake by
chance."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.exercise import Exercise
from autograder.judging.diagnoses import diagnosis_of
from autograder.verdict import CaseResult

# What is said of right values. Where other cases come out wrong, the reason for those is the reason.
_SECOND = ("not_carried", "other_type")


def is_certain(results: Sequence[CaseResult]) -> bool:
    """True if these first cases of an answer decide its verdict and its diagnosis, whatever comes after them.

    What says most is the first failing case that has a name (`Result.decisive`). A name that was recognised by the
    values or read from wrong ones may still give way in `keep_names_that_explain_all`, and so may a silence and another
    type; a case without a name stays without one. Every other name was seen to happen, and stays.
    """
    failed = [result for result in results if result.verdict != "passed"]
    named = next((result for result in failed if result.guess or result.diagnosis != "unrecognised"), None)
    return named is not None and not (named.guess or named.found or named.diagnosis in _SECOND)


def keep_names_that_explain_all(exercise: Exercise, results: list[CaseResult]) -> None:
    """A mistake that was recognised by its values is a guess, for one case may look like another mistake by chance. Its
    name is kept only if it explains every case of the run in which wrong values came back; where it does not, another
    one that fits is taken, or none.

    It explains a case that gives the values it should. Where the exercise says that it does not show, something else
    must have been found, or two other cases confirm it. What a case did (it hung, it raised, it sent too much, a rank's
    part was read to be missing: a finding) is no guess: it is said where it happened. Only where another case shows
    that it cannot be (the exercise knows what this mistake gives there, and something else came back) does it give way,
    as a guess does: to a name that explains them all, or to none.
    """
    wrong = [result for result in results if result.hidden is not None]
    doubtful = [r for r in wrong if r.guess or (r.found and any(_contradicts(other, r.diagnosis) for other in wrong))]
    everywhere = dict.fromkeys(result.diagnosis for result in wrong if result.guess)
    names = [(r, [*r.fits, *(name for name in everywhere if r.found and name in r.hidden)]) for r in doubtful]
    renamed = [(result, [name for name in fitting if _explains(name, wrong)]) for result, fitting in names]
    for result, kept in renamed:
        name = kept[0] if kept else "unrecognised"
        if name != result.diagnosis:
            text = diagnosis_of(exercise, name)
            result.diagnosis, result.why, result.how = name, text.why, text.how
    _take_the_reason_of_others(exercise, results)


def _take_the_reason_of_others(exercise: Exercise, results: list[CaseResult]) -> None:
    """Right numbers that nobody communicated are right by chance where other cases come out wrong: then that mistake is
    the reason. So it is for right numbers of another type."""
    others = [r for r in results if r.verdict == "wrong" and r.diagnosis not in (*_SECOND, "unrecognised")]
    for result in results:
        if result.diagnosis in _SECOND and others:
            text = diagnosis_of(exercise, others[0].diagnosis)
            result.diagnosis, result.why, result.how = others[0].diagnosis, text.why, text.how


def _explains(name: str, wrong: list[CaseResult]) -> bool:
    """True if the mistake `name` explains every one of these cases, all of which returned wrong values."""
    confirmed = sum(name in result.fits for result in wrong)
    others = [result for result in wrong if name not in result.fits]
    if name == "lost_digits":  # how large a rounding error is, is left to chance as well
        return confirmed > sum(name not in other.hidden for other in others)
    return all(name in other.hidden and (other.diagnosis != "unrecognised" or confirmed > 1) for other in others)


def _contradicts(other: CaseResult, name: str) -> bool:
    """True if the mistake `name` would have given other values than this case returned, and no fact explains them."""
    return not other.found and name not in other.fits and name not in other.hidden
