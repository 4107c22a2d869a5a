"""Prints the results of `autograder mutate`."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.holes import records
from autograder.holes.run import EQUIVALENT, HolesReport
from autograder.holes.trying import ALIVE, BROKEN, BY_KEY, KILLED

STATES = (KILLED, BY_KEY, EQUIVALENT, ALIVE, BROKEN)


def lines_of(report: HolesReport) -> list[str]:
    """A report as lines: the counts, then each hole with the lines as they were and as they are."""
    where = f"{report.unit}/{report.answer}"
    if report.failed:
        return [f"FAIL {where}: {report.failed}"]
    counts = ", ".join(f"{report.count(state)} {state}" for state in STATES)
    lines = [f"{'ok  ' if report.is_whole else 'HOLE'} {where}: {len(report.fates)} mutants: {counts}"]
    if report.reached.unknown:
        lines.append(f"     which lines are run is not known: {report.reached.unknown}")
    lines += [
        f"     line {spot.line} is run by no case{_way(spot.what)}: {spot.text}" for spot in report.reached.missed
    ]
    for mutant, fate in report.open():
        keys = [key for key, case in fate.fails.items() if (case is None) == (fate.state == BY_KEY)]
        passes = f", passes under {', '.join(keys)}" if fate.state == BY_KEY else ""
        lines.append(f"     {fate.state} {mutant.name}{passes}{f': {fate.how}' if fate.state == BROKEN else ''}")
        lines += [f"       - {line}" for line in mutant.old.splitlines()]
        lines += [f"       + {line}" for line in mutant.new.splitlines()]
    return [*lines, *(f"     {sentence}" for sentence in report.needless)]


def _way(what: str) -> str:
    return {"never true": " where its condition is true", "never false": " where its condition is false"}.get(what, "")


def summary(reports: Iterable[HolesReport]) -> str:
    """All reports in one line."""
    reports = list(reports)
    exercises = len({(report.unit, report.answer.partition("/")[0]) for report in reports})
    counts = ", ".join(f"{sum(report.count(state) for report in reports)} {state}" for state in STATES)
    mutants = sum(len(report.fates) for report in reports)
    missed = sum(len(report.reached.missed) for report in reports)
    return f"{exercises} exercises, {len(reports)} right answers, {mutants} mutants: {counts}; {missed} lines not run"


def bad_records(units: Iterable[str], options) -> list[str]:
    """The faults in the records of some units that are found without judging: no reason, no such mutant."""
    found = []
    for unit in units:
        found += records.stale(unit, options.records, options.bank)
        found += records.without_reason(unit, options.records)
    return found
