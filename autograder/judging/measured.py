"""Records: what an answer that has passed took, how far that is from the best known answer and from the bound, in
numbers and in words.

The numbers are read from what the relay has counted, or computed here from what the answer returned. An answer has no
say in them, unless the exercise declares that its harness counts (`autograder.exercise.Record.counted`).
"""

from __future__ import annotations

import math

from autograder.exercise import Case, Exercise, Record, Run
from autograder.verdict import RecordResult

EQUAL = 1e-9  # relative: what is nearer than that is the same number


def says_of(case: Case) -> str:
    """The case in the words of the card: "4 ranks, n = 10"."""
    ranks = "" if case.world_size == 1 else f"{case.world_size} ranks"
    return ", ".join(part for part in (ranks, case.says) if part)


def measured(exercise: Exercise, case: Case, run: Run) -> tuple[RecordResult, ...]:
    """The records of this case. One that cannot be computed is left out: no record is worth a grade. An answer that is
    below one bound has none at all: the trick that saves bytes, say numbers sent in fewer bits, saves time as well."""
    found = []
    for record in exercise.records:
        try:
            one = _measured(record, case, run) if record.case(case) else None
        except _BelowBound:
            return ()
        except Exception:  # of an overlay's own, perhaps; ours are read in the tests
            one = None
        found += [] if one is None else [one]
    return tuple(found)


class _BelowBound(Exception):
    """A measurement is less than there can be, by whatever trick."""


def _measured(record: Record, case: Case, run: Run) -> RecordResult | None:
    """The measurement of a record; None if it is not a finite number. Raises _BelowBound."""
    value = record.value(case, run)
    bound = None if record.bound is None else float(record.bound(case))
    if value is None or not math.isfinite(value):
        return None
    if value < (bound or 0.0) * (1 - EQUAL):
        raise _BelowBound
    best = float(record.best(case))
    says = record.says or says_of(case)
    return RecordResult(record.name, record.unit, says, float(value), best, bound, record.why, record.counted)


# -- in words ----------------------------------------------------------------------------------------------------------


def quantity(value: float, unit: str) -> str:
    """A number with its unit: "153.6 us", "23,040 B", "40 slots"."""
    if unit == "s":
        power = next((k for k, least in enumerate((1.0, 1e-3, 1e-6)) if abs(value) >= least), 2)
        return f"{value * 1000**power:.4g} {('s', 'ms', 'us')[power]}"
    number = f"{value:,.0f}" if value == round(value) else f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"
    return f"{number} {unit}".rstrip()


def above(value: float, least: float) -> float | None:
    """The relative distance of `value` above `least`: 0.1 for 10 %, 0 where they are equal, None where `least` is 0."""
    if abs(value - least) <= EQUAL * abs(least):
        return 0.0
    return (value - least) / least if least else None


def share(part: float) -> str:
    """ "28 %", or "0.4 %" for what is small."""
    return f"{100 * part:.0f} %" if part >= 0.095 else f"{100 * part:.2g} %"


def distance(record: RecordResult) -> str:
    """The record's distance from the bound and from the best known answer, in words."""
    to_best = above(record.value, record.best)
    to_bound = None if record.bound is None else above(record.value, record.bound)
    if to_bound == 0:
        return "nobody can do better"
    said = []
    if to_best == 0:
        said.append("as good as the best known")
    elif record.value < record.best:
        said.append(f"better than the best known, {quantity(record.best, record.unit)}: tell your instructor")
    elif to_best is not None:
        said.append(f"{share(to_best)} above the best known, {quantity(record.best, record.unit)}")
    if record.bound is None:
        said.append("no bound is known")
    elif record.bound == record.best:
        said = [f"{share(to_bound)} above the bound, {quantity(record.bound, record.unit)}, which can be reached"]
    elif to_bound is not None:
        said.append(f"{share(to_bound)} above the bound, {quantity(record.bound, record.unit)}")
    return "; ".join(said)


def record_lines(record: RecordResult) -> list[tuple[str, str]]:
    """(head, text) of the lines on the card: the number, why it can be no smaller, the student's own best."""
    where = f" ({record.says})" if record.says else ""
    lines = [("record", f"{record.name}: {quantity(record.value, record.unit)}{where}: {distance(record)}")]
    if record.bound is not None and record.why:
        lines.append(("", f"bound: {record.why}"))
    if record.personal:
        lines.append(("", record.personal))
    return lines
