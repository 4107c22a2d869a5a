"""Right or wrong: what the ranks returned beside what they should have, and the name of the mistake that explains the
difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.compare import (
    Difference,
    difference,
    name_of_type,
    show,
    show_where_they_differ,
    with_pythons_numbers,
)
from autograder.exercise import ANYTHING, Case, Diagnosis, Exercise, Finding, RankRun, Run, Tensor, names_of
from autograder.judging.arguments import changed_argument, other_type
from autograder.judging.carried import lacking
from labkit.watch import hang

PLAIN = ("value", "near")  # kinds of `Difference` that are no name of a mistake


@dataclass(frozen=True)
class Wrong:
    """The reason why a case is wrong. fits, hidden, guess, found: see `CaseResult`. text: in words, where the name does
    not say all of it."""

    name: str
    lines: list[str]
    fits: tuple[str, ...] = ()
    hidden: tuple[str, ...] | None = None
    guess: bool = False
    found: bool = False
    text: Diagnosis | None = None


def wrong_in(exercise: Exercise, case: Case, run: Run) -> Wrong | None:
    """The mistake of an answer whose ranks have all come to their end; None if the answer is right."""
    expected = _of_the_living(run, exercise.expected(case))
    values = [_observed(exercise, rank) for rank in run.ranks]
    differences = [difference(e, v, case.rtol, case.atol) for e, v in zip(expected, values, strict=True)]
    run = with_plain_numbers(run)  # an exercise's readings know Python's
    first = next((r for r, d in enumerate(differences) if d is not None), None)
    unwaited = [r for r, rank in enumerate(run.ranks) if rank.unwaited]
    if first is None:
        return _wrong_though_right_values(exercise, case, run, unwaited)
    lines = _comparison(case, first, expected[first], values[first], differences[first])
    kind = "raises_without_reason" if _refuses(expected, values) else differences[first].kind
    if kind == "returns_nothing" and not _is_nothing(exercise, values[first]):
        kind = "wrong_type"
    return _wrong_values(exercise, case, run, values, kind, lines, unwaited)


def with_plain_numbers(run: Run) -> Run:
    """A run in which ranks have returned Python's numbers in place of numpy's."""
    ranks = (replace(rank, value=with_pythons_numbers(rank.value)) for rank in run.ranks)
    return replace(run, ranks=tuple(ranks))


def _is_nothing(exercise: Exercise, value) -> bool:
    """True if a rank returned None. Where a harness makes several calls, or wraps the result in a dict of its own, True
    if a call returned None."""
    if value is None or not exercise.harness:
        return value is None
    if isinstance(value, dict):
        return any(_is_nothing(exercise, part) for part in value.values())
    if not isinstance(value, (list, tuple)) or not value:
        return False
    if exercise.runtime == "plain":
        return "rank" in names_of(exercise.signature) and any(part is None for part in value)
    return all(part is None for part in value)


def _tells_of_errors(answer: object) -> bool:
    """True if a harness that catches ValueError has put it together: what came, and what was raised."""
    return isinstance(answer, dict) and len(answer) == 2 and isinstance(answer.get("raises"), str)


def _what_came(answer: object) -> object:
    """The value that the student's function returned, out of what the harness has made of it."""
    return next(part for name, part in answer.items() if name != "raises") if _tells_of_errors(answer) else answer


def _raised(answer: object) -> bool:
    """True if this stands for a ValueError, or for one in each of several calls."""
    if _tells_of_errors(answer):
        answer = answer["raises"]
    if isinstance(answer, (list, tuple)):
        return bool(answer) and all(isinstance(one, str) and one == "ValueError" for one in answer)
    return isinstance(answer, str) and answer == "ValueError"


def refuses(run: Run) -> bool:
    """True if every rank has raised ValueError, by what its harness says."""
    return all(_raised(rank.value) for rank in run.ranks)


def _refuses(expected: list, values: list) -> bool:
    """True if the answer raised ValueError in a case that has a solution."""
    return any(
        value == "ValueError" or (isinstance(value, dict) and value.get("raises") == "ValueError")
        for wanted, value in zip(expected, values, strict=True)
        if isinstance(wanted, dict) and wanted.get("raises") == "nothing" and isinstance(value, (str, dict))
    )


def _wrong_though_right_values(exercise: Exercise, case: Case, run: Run, unwaited: list[int]) -> Wrong | None:
    finding = Finding("forgot_wait", never_waited(unwaited)) if unwaited else _finding(exercise, case, run)
    if finding is not None:
        return Wrong(finding.diagnosis, _lines(finding.detail))
    if changed := changed_argument(exercise, case, run):
        return Wrong("modifies_input", changed.lines, text=changed.text)
    if missing := lacking(exercise, case, run):
        return Wrong("not_carried", [missing])
    if other := other_type(case, run):
        return Wrong("other_type", other)
    return None


def _wrong_values(
    exercise: Exercise, case: Case, run: Run, values: list, kind: str, lines: list[str], unwaited: list[int]
) -> Wrong:
    """kind: how the first wrong value differs (`compare.Difference`). lines: that value and the right one."""
    wanted = {name: values and _of_the_living(run, values) for name, values in exercise.misconceptions(case).items()}
    hidden = tuple(name for name in exercise.diagnoses if wanted.get(name) is None)
    hidden += () if kind == "near" else ("lost_digits",)
    matches = _matching(case, wanted, values)
    if unwaited and not matches and kind != "wrong_type":
        return Wrong("forgot_wait", [*lines, never_waited(unwaited)])
    finding, changed = _finding(exercise, case, run, careful=True), changed_argument(exercise, case, run)
    others = {finding and finding.diagnosis: finding, kind: kind not in PLAIN, "modifies_input": changed}
    fits = (*matches, *(name for name, fit in others.items() if fit))

    def named(name: str, more: Sequence[str] = (), text: Diagnosis | None = None, **how: bool) -> Wrong:
        return Wrong(name, [*lines, *more], fits, hidden, **how, text=text)

    if matches:
        return named(matches[0], guess=True)
    if kind in ("returns_nothing", "wrong_type", "raises_without_reason"):
        return named(kind)
    if changed and changed.container:  # the answer speaks of what it has become
        return named("modifies_input", changed.lines, changed.text)
    if finding is not None:
        return named(finding.diagnosis, _lines(finding.detail), found=True)
    if changed and kind in PLAIN:
        return named("modifies_input", changed.lines, changed.text)
    if kind == "lost_digits":  # a few numbers may be as near as that by chance
        return named(kind, guess=True)
    return named(kind if kind not in PLAIN else "unrecognised")


def _of_the_living(run: Run, expected: list) -> list:
    """The expected values, with `ANYTHING` for the ranks that were killed."""
    return [ANYTHING if rank.gone else value for rank, value in zip(run.ranks, expected, strict=True)]


def _observed(exercise: Exercise, run: RankRun):
    if exercise.inputs != "result":
        return run.value
    return next((a for a in run.after if isinstance(a, Tensor) or hasattr(a, "dtype")), None)


def never_waited(ranks: list[int]) -> str:
    """The card's sentence about ranks that never waited for an operation of theirs."""
    return f"On {hang.list_ranks(ranks)} an operation was still open at the end."


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _finding(exercise: Exercise, case: Case, run: Run, careful: bool = False) -> Finding | None:
    """Returns `exercise.facts`. careful: the values are wrong and `facts` may raise because of them, which is no
    finding."""
    try:
        found = exercise.facts(case, run)
    except Exception:
        if not careful:
            raise
        return None
    return Finding(found) if isinstance(found, str) else found


def _matching(case: Case, misconceptions: dict[str, list | None], values: list) -> list[str]:
    """Names of all misconceptions that give these values; first those that give the same types, too."""
    shown = {name: wanted for name, wanted in misconceptions.items() if wanted is not None}
    return list(
        dict.fromkeys(
            name
            for strict in (True, False)
            for name, wanted in shown.items()
            if all(difference(w, v, case.rtol, case.atol, strict) is None for w, v in zip(wanted, values, strict=True))
        )
    )


def _comparison(case: Case, r: int, expected, observed, wrong: Difference) -> list[str]:
    who = "" if case.world_size == 1 else f"rank {r} "
    if _tells_of_errors(expected) and _tells_of_errors(observed) or _raised(observed):
        raised, asked = _raised(observed), "a ValueError" if _raised(expected) else None
        expected, observed = _what_came(expected), _what_came(observed)
        if raised or asked:
            said = "raised a ValueError" if raised else f"returned {show(observed)}"
            label = f"{'expected':>{len(who) + len(said.split()[0])}} "
            return [f"{who}{said}", label + (asked or show(expected, indent=len(label)))]
        wrong = difference(expected, observed, case.rtol, case.atol) or wrong
    column = len(who) + len("returned ")
    target, value = show_where_they_differ(expected, observed, case.rtol, case.atol, column)
    kind = f"{name_of_type(observed)}: " if wrong.kind == "wrong_type" else ""
    lines = [f"{who}returned {kind}{value}", f"{'expected':>{column - 1}} {target}"]
    if wrong.text:
        lines.append(wrong.text)
    return lines
