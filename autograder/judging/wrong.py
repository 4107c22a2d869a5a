"""Right or wrong: what the ranks returned beside what they should have, and the name of the mistake that explains the
difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.compare import Difference, difference, name_of_type, show, show_where_they_differ, unchanged
from autograder.exercise import ANYTHING, Case, Exercise, Finding, RankRun, Run, Tensor
from autograder.judging.carried import lacking
from labkit.watch import hang


@dataclass(frozen=True)
class Wrong:
    """Why a case is wrong. fits, hidden, guess, found: see `CaseResult`."""

    name: str
    lines: list[str]
    fits: tuple[str, ...] = ()
    hidden: tuple[str, ...] | None = None
    guess: bool = False
    found: bool = False


def wrong_in(exercise: Exercise, case: Case, run: Run) -> Wrong | None:
    """What is wrong with an answer that has come to its end, or None for a right one."""
    expected = _of_the_living(run, exercise.expected(case))
    values = [_observed(exercise, rank) for rank in run.ranks]
    differences = [difference(e, v, case.rtol, case.atol) for e, v in zip(expected, values, strict=True)]
    first = next((r for r, d in enumerate(differences) if d is not None), None)
    unwaited = [r for r, rank in enumerate(run.ranks) if rank.unwaited]
    if first is None:
        return _wrong_though_right_values(exercise, case, run, unwaited)
    lines = _comparison(case, first, expected[first], values[first], differences[first])
    kind = "raises_without_reason" if _refuses(expected, values) else differences[first].kind
    return _wrong_values(exercise, case, run, values, kind, lines, unwaited)


def _refuses(expected: list, values: list) -> bool:
    """Whether a harness that catches ValueError has caught one where there is an answer."""
    return any(
        value == "ValueError" or (isinstance(value, dict) and value.get("raises") == "ValueError")
        for wanted, value in zip(expected, values, strict=True)
        if isinstance(wanted, dict) and wanted.get("raises") == "nothing" and isinstance(value, (str, dict))
    )


def _wrong_though_right_values(exercise: Exercise, case: Case, run: Run, unwaited: list[int]) -> Wrong | None:
    finding = Finding("forgot_wait", never_waited(unwaited)) if unwaited else _finding(exercise, case, run)
    if finding is not None:
        return Wrong(finding.diagnosis, _lines(finding.detail))
    if changed := _changed(exercise, case, run):
        return Wrong("modifies_input", changed)
    missing = lacking(exercise, case, run)
    return Wrong("not_carried", [missing]) if missing else None


def _wrong_values(
    exercise: Exercise, case: Case, run: Run, values: list, kind: str, lines: list[str], unwaited: list[int]
) -> Wrong:
    """kind: how the first wrong value differs (`compare.Difference`). lines: that value and the right one."""
    wanted = {name: values and _of_the_living(run, values) for name, values in exercise.misconceptions(case).items()}
    hidden = tuple(name for name in exercise.diagnoses if wanted.get(name) is None)
    matches = _matching(case, wanted, values)
    if unwaited and not matches and kind != "wrong_type":
        return Wrong("forgot_wait", [*lines, never_waited(unwaited)])
    finding, changed = _finding(exercise, case, run, careful=True), _changed(exercise, case, run)
    others = {finding and finding.diagnosis: finding, kind: kind != "value", "modifies_input": changed}
    fits = (*matches, *(name for name, fit in others.items() if fit))

    def named(name: str, more: Sequence[str] = (), **how: bool) -> Wrong:
        return Wrong(name, [*lines, *more], fits, hidden, **how)

    if matches:
        return named(matches[0], guess=True)
    if kind in ("returns_nothing", "wrong_type", "raises_without_reason"):
        return named(kind)
    if finding is not None:
        return named(finding.diagnosis, _lines(finding.detail), found=True)
    if kind != "value":
        return named(kind)
    return named("modifies_input", changed) if changed else named("unrecognised")


def _of_the_living(run: Run, expected: list) -> list:
    """Of ranks that were killed nothing is expected."""
    return [ANYTHING if rank.gone else value for rank, value in zip(run.ranks, expected, strict=True)]


def _observed(exercise: Exercise, run: RankRun):
    if exercise.inputs != "result":
        return run.value
    return next((a for a in run.after if isinstance(a, Tensor) or hasattr(a, "dtype")), None)


def never_waited(ranks: list[int]) -> str:
    """What the card says of ranks whose operations nobody has waited for."""
    return f"On {hang.list_ranks(ranks)} an operation was still open at the end."


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _finding(exercise: Exercise, case: Case, run: Run, careful: bool = False) -> Finding | None:
    """What `facts` says. careful: the values are wrong, so that `facts` may stumble over them; that is no finding."""
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
    column = len(who) + len("returned ")
    target, value = show_where_they_differ(expected, observed, case.rtol, case.atol, column)
    kind = f"{name_of_type(observed)}: " if wrong.kind == "wrong_type" else ""
    lines = [f"{who}returned {kind}{value}", f"{'expected':>{column - 1}} {target}"]
    if wrong.text:
        lines.append(wrong.text)
    return lines


def _changed(exercise: Exercise, case: Case, run: Run) -> list[str] | None:
    if exercise.inputs != "kept":
        return None
    for r, rank in enumerate(run.ranks):
        for before, after in zip(case.arguments_of(r), rank.after, strict=False):
            if before is not ANYTHING and not unchanged(before, after):
                who = "" if case.world_size == 1 else f"on rank {r} "
                column = len(who) + len("the argument was ")
                return [
                    f"{who}the argument was {show(before, indent=column)}",
                    f"{'and now is':>{column - 1}} {show(after, indent=column)}",
                ]
    return None
