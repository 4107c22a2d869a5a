"""All mutants of some answers, in processes side by side, and the report on them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from autograder.answers import BANK
from autograder.holes import records, results
from autograder.holes.mutants import Mutant, mutants
from autograder.holes.reached import Reached, reached
from autograder.holes.trying import ALIVE, BROKEN, BY_KEY, KILLED, OTHER_KEYS, Fate, MutantJudge
from autograder.judging import bank
from autograder.judging.bank import BankAnswer
from labkit.launch.launcher import Launcher

EQUIVALENT = "equivalent"
PROCESSES = len(os.sched_getaffinity(0)) + 1  # one more than cores: a mutant that stands still is waited for
RECORDED = 2  # keys under which a recorded equivalent is judged: it was under all when it was recorded


@dataclass(frozen=True)
class Options:
    """The thoroughness of a run. keys: the number of keys under which a survivor is judged. answers: right answers of
    each exercise, by name; 0 for all. recorded: what is recorded as equivalent is judged under all keys, too.
    survivors: what was killed before the exercise changed is killed (`results`)."""

    keys: int = 1 + len(OTHER_KEYS)
    answers: int = 0
    recorded: bool = False
    survivors: bool = False
    bank: Path = BANK
    records: Path | None = None  # a folder with a file for each unit; None: in the units' rooms
    results: Path = results.FOLDER


@dataclass
class HolesReport:
    """The fates of one answer's mutants. failed: why it could not be judged, "" where it was. needless: records of
    mutants that are killed."""

    unit: str
    answer: str
    fates: list[tuple[Mutant, Fate]] = field(default_factory=list)
    reached: Reached = field(default_factory=Reached)
    failed: str = ""
    equivalent: dict[tuple, str] = field(default_factory=dict)
    needless: list[str] = field(default_factory=list)

    def state(self, mutant: Mutant, fate: Fate) -> str:
        """killed, by key, equivalent, alive, breaks the judge."""
        return EQUIVALENT if fate.state == ALIVE and mutant.identity in self.equivalent else fate.state

    def count(self, state: str) -> int:
        """The number of mutants that ended that way."""
        return sum(self.state(mutant, fate) == state for mutant, fate in self.fates)

    def open(self) -> Iterator[tuple[Mutant, Fate]]:
        """The holes: what lives, or lives under some key, and is not recorded; and what breaks the judge."""
        for mutant, fate in self.fates:
            if self.state(mutant, fate) in (ALIVE, BY_KEY, BROKEN):
                yield mutant, fate

    @property
    def is_whole(self) -> bool:
        """True if nothing was found."""
        return not (self.failed or self.needless or self.reached.missed or any(self.open()))


def chosen(options: Options, unit: str | None, exercise: str | None) -> list[BankAnswer]:
    """The right answers to be changed."""
    found: dict[str, list[BankAnswer]] = {}
    for answer in bank.answers(options.bank, unit, exercise):
        if answer.right and not answer.exercise.lacking:
            found.setdefault(f"{answer.exercise.unit}/{answer.exercise.function}", []).append(answer)
    return [answer for of in found.values() for answer in (of[: options.answers] if options.answers else of)]


def run(answers: list[BankAnswer], options: Options, processes: int = PROCESSES) -> Iterator[HolesReport]:
    """The report on each answer, in their order."""
    if processes == 1 or len(answers) == 1:
        yield from map(partial(_in_process, options), *zip(*map(_place, answers), strict=True))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(partial(_in_process, options), *zip(*map(_place, answers), strict=True))


_launcher: Launcher | None = None


def _place(answer: BankAnswer) -> tuple[str, str, str]:
    return answer.exercise.unit, answer.exercise.function, answer.name


def _in_process(options: Options, unit: str, function: str, name: str) -> HolesReport:
    """The report on one answer; the process keeps its launcher for the next."""
    global _launcher
    if _launcher is None:
        _launcher = Launcher()
    answer = next(one for one in bank.answers(options.bank, unit, function) if one.name == name)
    return report_of(answer, _launcher, options)


def report_of(answer: BankAnswer, launcher: Launcher, options: Options) -> HolesReport:
    """The report on one answer. What is known already is not judged again."""
    exercise, source = answer.exercise, answer.source
    report = HolesReport(exercise.unit, f"{exercise.function}/{answer.name}.py")
    kept = results.Results(exercise, answer.name, options.results, options.survivors)
    made = mutants(source, exercise.function)
    with MutantJudge(exercise, launcher) as judge:
        report.reached = reached(judge, source)
        if report.reached.unknown and (failure := judge.failure(source, "public")) is not None:
            report.failed = f"the right answer itself fails: {failure.verdict} {failure.diagnosis}"
            return report
        entries = [
            entry for entry in records.equivalents(report.unit, options.records) if entry.answer == report.answer
        ]
        report.equivalent = _equivalent(made, entries)
        for mutant in made:
            sure = not options.recorded and mutant.identity in report.equivalent
            keys = min(options.keys, RECORDED) if sure else options.keys
            fate = kept.get(mutant)
            if fate is None or not fate.is_known(keys):
                fate = judge.fate(mutant.source, keys, fate)
                kept.put(mutant, fate)
            report.fates.append((mutant, fate))
    _compare_with_records(report, entries)
    return report


def _equivalent(made: list[Mutant], entries: list[records.Equivalent]) -> dict[tuple, str]:
    """Why a mutant is as right as the answer: by its operator, or by its record."""
    accepted = records.accepted()
    found = {mutant.identity: accepted[mutant.operator] for mutant in made if mutant.operator in accepted}
    return found | {identity: entry.reason for entry in entries for identity in entry.mutants}


def _compare_with_records(report: HolesReport, entries: list[records.Equivalent]) -> None:
    fates = {mutant.identity: fate for mutant, fate in report.fates}
    for entry in entries:
        for identity in entry.mutants:
            fate = fates.get(identity)
            if fate is None:
                report.needless.append(f"no such mutant: {records.said(identity)}")
            elif fate.state == KILLED:
                report.needless.append(f"recorded as equivalent, but killed ({fate.how}): {records.said(identity)}")


def record(reports: list[HolesReport], options: Options) -> int:
    """Write the holes of some answers into the records, each with an empty reason, which a person has to fill in.
    Returns how many."""
    written = 0
    for unit in sorted({report.unit for report in reports}):
        entries = records.equivalents(unit, options.records)
        for report in reports:
            if report.unit == unit:
                new = [mutant.identity for mutant, fate in report.open() if fate.state == ALIVE]
                entries += [records.Equivalent(report.answer, "", (identity,)) for identity in new]
                written += len(new)
        records.write(unit, entries, options.records)
    return written
