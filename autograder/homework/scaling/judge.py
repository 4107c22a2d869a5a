"""The scaling test: what a student's table and figure claim, held against what the run logs say.

A number is right if some sensible way to compute it from the logs gives it, within the scatter of the measurement
(`measured`). Poor scaling is a right answer: nothing here asks for a certain speedup. Whatever looks impossible becomes
a flag for a person (`suspicion`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

import autograder.homework.inside as inside
import autograder.homework.mnist_rubric as rubric
from autograder.homework.folder import Homework
from autograder.homework.mnist_rubric import SIZES, full, lost, needs_person
from autograder.homework.rubric import LineResult, PartResult, shown
from autograder.homework.scaling import rerun, suspicion, table
from autograder.homework.scaling.measured import (
    LEAST_TOLERANCE,
    Range,
    ScalingLogs,
    Speed,
    Way,
    gain_ways,
    images_of,
    in_one_way,
    rate_ways,
    share_ways,
    speed,
    speedup,
)
from autograder.homework.scaling.mistakes import Mistakes, efficiency_mistakes, rate_mistakes, speedup_mistakes
from autograder.homework.scaling.table import ScalingTable
from autograder.homework.shared_runs import FACT, trace
from autograder.homework.students_table import WrittenNumber
from labkit.runlog import RunLog
from labkit.scaling import karp_flatt

_ROUNDING = 0.05  # of a value: what "2" may stand for at most
_NAMING = 0.03  # of a value: how well a mistake must explain a wrong one
_PERFECT = 0.01  # from a perfect speedup: closer than that on all numbers of ranks is no measurement
_NO_TIMES = "has no times of steps, so no throughput can be recomputed from it"
_LOGS_FIRST = "Numbers are worth what the run behind them is worth: hand in the log of every run."
_ASSUMED = "Perfect scaling was assumed, not measured."
_FABRICATED = (
    "A table of measurements comes from the measurements: compute it from the run logs that you hand in, and run again"
    " what you doubt. "
    "Poor scaling, honestly reported, earns all points."
)


def judge(
    homework: Homework,
    logs: Mapping[int, RunLog],
    reader: Callable[[Path], object],
    *,
    broken: Mapping[int, str] | None = None,
    nonce: str = "",
    again: rerun.Timer | None = None,
) -> PartResult:
    """Judge the scaling test. logs: size -> run log; broken: size -> why a log could not be read.

    reader: reads a PDF, as `probes.figure.figure.read` does. nonce: the code that was released to this student, "" if
    there was none. again: runs the script once more, on a few ranks; None where no script is to be run.
    """
    names = {p: homework.names.get(f"run_{p}", f"run_{p}.jsonl") for p in {*logs, *SIZES, *homework.sizes}}
    runs = ScalingLogs(dict(logs), dict(broken or {}), names)
    speeds = {p: found for p, run in sorted(runs.usable.items()) if (found := speed(run)) is not None}
    claimed, why = _table(homework)
    findings = [
        _runs(runs, homework),
        *_columns(runs, speeds, claimed, why),
        _figure_in_time(homework, runs, speeds, claimed, reader),
    ]
    flags = suspicion.flags(runs.usable, speeds, _hash(homework.files.get("script")), nonce)
    facts = _facts(runs, speeds, claimed)
    if again is not None:
        facts["rerun"], more = rerun.compare(runs.usable, speeds, again)
        flags += more
    return PartResult("scaling", findings, flags, facts)


# -- the runs ----------------------------------------------------------------------------------------------------------


def _runs(runs: ScalingLogs, homework: Homework) -> LineResult:
    sizes = [*SIZES, *(p for p in sorted({*runs.logs, *runs.broken}) if p not in SIZES)]
    work = _Work.of(runs.usable)
    wrong = {p: problem for p in sizes if (problem := _problem(p, runs, homework, work)) is not None}
    if not wrong:
        timeless = [p for p in sizes if runs.logs[p].format != "jsonl"]
        if timeless:
            said = (
                f"`{shown(runs.names[timeless[0]])}` says neither how many ranks it is of, nor their batch size,"
                " nor their times."
            )
            return needs_person("runs", said, "no_times")
        return full(
            "runs", f"Runs on {_listed(sizes)} ranks with {work.batch} images a step on each; all logs are complete."
        )
    kinds = Counter(kind for kind, _, _ in wrong.values())
    kind = max(kinds, key=lambda name: (kinds[name], name))
    sentence = " ".join(said for _, said, _ in list(wrong.values())[:3])
    teach = next(teach for name, _, teach in wrong.values() if name == kind)
    return lost("runs", kind, sentence, teach, earned=_share("runs", len(sizes) - len(wrong), len(sizes)))


@dataclass(frozen=True)
class _Work:
    """The facts that the runs have in common. batch: images of a step on one rank. images: of one epoch. largest_step:
    images of the largest one."""

    batch: int
    images: float
    largest_step: int

    @classmethod
    def of(cls, logs: Mapping[int, RunLog]) -> _Work:
        told = {p: run for p, run in sorted(logs.items()) if run.batch_size}
        if not told:
            return cls(0, 0.0, 0)
        batch = Counter(run.batch_size for run in told.values()).most_common(1)[0][0]
        images = [total for run in told.values() if (total := images_of(run)) > 0]
        like = [sum(abs(one / other - 1) < 0.1 for one in images) for other in images]
        # what most runs have; where all differ, the smallest run
        usual = images[like.index(max(like))] if images else 0.0
        return cls(batch, usual, max(run.global_batch_size for run in told.values()))


def _problem(p: int, runs: ScalingLogs, homework: Homework, work: _Work) -> tuple[str, str, str] | None:
    """(diagnosis, sentence, what it teaches) where something is wrong with the run on p ranks."""
    name = runs.names.get(p, f"run_{p}.jsonl")
    again = f"Run the script again on {p} rank{'s' * (p > 1)}, with `--log run_{p}.jsonl`."
    if p in runs.broken:
        return "not_a_log", f"`{shown(name)}` could not be read: {shown(runs.broken[p], 200)}.", again
    if p not in runs.logs:
        return (
            "missing_file",
            homework.absent(f"run_{p}", f"run log for {p} rank{'s' * (p > 1)} (run_{p}.jsonl)"),
            again,
        )
    run = runs.logs[p]
    if run.world_size != p:
        said = f"`{shown(name)}` is the log of a run on {run.world_size} rank{'s' * (run.world_size != 1)}, not on {p}."
        return (
            "wrong_world_size",
            said,
            "Look at how many ranks mpirun or srun really started: `world_size` in the log's first line.",
        )
    if run.format == "jsonl" and not np.isfinite(run.seconds):
        said = f"`{shown(name)}` has no last line: the run did not come to its end, or the file was cut off."
        return "log_incomplete", said, f"A run that was stopped half way measures something else. {again}"
    if len(run.epochs) < 2:
        said = f"`{shown(name)}` has {len(run.epochs) or 'no'} epoch{'s' * (not run.epochs)} in it."
        return (
            "too_few_epochs",
            said,
            "The first epoch holds TensorFlow's compilation: what is measured begins with the second.",
        )
    return _other_work(p, run, name, work)


def _other_work(p: int, run: RunLog, name: str, work: _Work) -> tuple[str, str, str] | None:
    """The reason why this run cannot be compared with the others, or None."""
    if not run.batch_size:
        return None  # an old metrics.dat says nothing about it
    if run.batch_size != work.batch:
        said = (
            f"`{shown(name)}` was made with {run.batch_size} images a step on each rank, other runs with {work.batch}."
        )
        teach = (
            "A scaling test changes the number of ranks and nothing else: larger local batches alone give more"
            " images per second."
        )
        return "batch_sizes_differ", said, teach
    for epoch in run.epochs:
        steps = len(epoch.step_seconds)
        if not steps or not epoch.samples_per_rank:
            continue
        seen = epoch.samples_per_rank[0]
        if not (steps - 1) * run.batch_size < seen <= steps * run.batch_size:
            said = (
                f"`{shown(name)}` says {run.batch_size} images a step on each rank, but rank 0 saw {seen} images in"
                f" {steps} steps (epoch {epoch.number}), that is {seen / steps:.4g} a step."
            )
            teach = "`batch_size` in the log is the local one: images of one step on one rank."
            return "batch_size_not_as_said", said, teach
    images = images_of(run)
    if images and work.images and abs(images - work.images) > 2 * max(run.global_batch_size, work.largest_step):
        if abs(images / work.images - p) < 0.05 * p:
            said = (
                f"In `{shown(name)}` the ranks together saw {images:.0f} images an epoch, {p} times the data set"
                f" ({work.images:.0f})."
            )
            teach = "Each rank went over all of the data: shard it, so that an epoch on p ranks is one epoch."
            return "every_rank_all_data", said, teach
        said = f"In `{shown(name)}` an epoch has {images:.0f} images, in the run it is compared with {work.images:.0f}."
        return "different_data", said, "Compare runs on the same data."
    return None


# -- the table ---------------------------------------------------------------------------------------------------------


def _table(homework: Homework) -> tuple[ScalingTable | None, tuple[str, str]]:
    """(the student's table, ("", "")), or (None, (diagnosis, why))."""
    path = homework.files.get("scaling.csv")
    if path is None:
        return None, ("missing_file", homework.absent("scaling.csv", "scaling.csv"))
    try:
        return table.read(path), ("", "")
    except table.TableError as error:
        return None, ("unreadable_table", f"`{shown(homework.names['scaling.csv'])}` could not be read: {error}.")


def _columns(
    runs: ScalingLogs, speeds: Mapping[int, Speed], claimed: ScalingTable | None, why: tuple[str, str]
) -> list[LineResult]:
    """Findings on throughput, speedup and efficiency."""
    names = ("throughput", "speedup", "efficiency")
    timeless = [p for p in SIZES if p in runs.usable and p not in speeds]
    if claimed is None:
        teach = (
            "Write `scaling.csv` with the columns ranks, images_per_second, speedup, efficiency, one line for each run."
        )
        return [lost(name, *why, teach) for name in names]
    if timeless or not speeds:
        if timeless:
            said = f"`{shown(runs.names[timeless[0]])}` {_NO_TIMES}."
            return [needs_person(name, said, "no_times") for name in names]
        return [
            lost(name, "missing_run", "No run log has times to recompute them from.", _LOGS_FIRST) for name in names
        ]
    sizes = _asked(runs, claimed, speeds)
    base = min(speeds)
    gains = {p: speedup(speeds[base], found, base) for p, found in speeds.items()}
    rates = _Column("throughput", claimed.column("images_per_second"), {p: found.range for p, found in speeds.items()})
    rates.ways = rate_ways(speeds)
    rates.mistakes = rate_mistakes(runs, speeds)
    gain = _Column("speedup", claimed.column("speedup"), gains, also=_own_ratios(rates, base))
    gain.ways, gain.mistakes = gain_ways(speeds), speedup_mistakes(runs, speeds, base)
    fractions, mislabelled = claimed.efficiencies()
    shares = _Column("efficiency", fractions, {p: gains[p].times(1 / p) for p in gains})
    shares.ways, shares.mistakes = share_ways(speeds), efficiency_mistakes(speeds, base)
    found = [column.judge(sizes) for column in (rates, gain)]
    computed_wrongly = gain.diagnosis not in ("", "not_from_the_logs", "perfect_scaling_assumed", "interval_too_wide")
    follows = {
        p: number for p, number in gain.claims.items() if computed_wrongly or gain.right(p)
    }  # then E = S / p of it is right
    shares.also = {p: Range(number.value / p, number.value / p) for p, number in follows.items()}
    found.append(_percent(shares.judge(sizes), mislabelled))
    return found


def _asked(runs: ScalingLogs, claimed: ScalingTable, speeds: Mapping[int, Speed]) -> list[int]:
    """The sizes that a column is judged on: the four, and 16 where the table has it."""
    return [*SIZES, *(p for p in sorted(claimed.rows) if p not in SIZES and p in runs.usable and p in speeds)]


@dataclass
class _Column:
    """One column: what is claimed and what the logs give. also: values that follow from another column and are as
    right.

    mistakes: see `Mistakes`. ways: what each way to compute it gives.
    """

    line: str
    claims: dict[int, WrittenNumber]
    expected: dict[int, Range]
    also: dict[int, Range] = None
    mistakes: Mistakes | None = None
    diagnosis: str = ""
    ways: list[Way] = field(default_factory=list)

    def right(self, p: int) -> bool:
        if p not in self.claims or p not in self.expected:
            return False
        more = (self.also or {}).get(p)
        return (
            self._possible(p)
            and (not self.expected[p].wide or p in self._told)
            or more is not None
            and _is(self.claims[p], more)
        )

    def _possible(self, p: int) -> bool:
        """True if the number is one that the logs allow."""
        return p in self.claims and p in self.expected and _is(self.claims[p], self.expected[p])

    @cached_property
    def _told(self) -> set[int]:
        """The sizes whose numbers were computed in one and the same way. One ratio alone agrees with some way by
        chance."""
        found = in_one_way(self.ways, lambda p, value: p in self.claims and _close(self.claims[p], value))
        compared = self.claims.keys() & self.expected.keys()
        # the baseline's own ratio always agrees
        alone = self.line != "throughput" and len(found) < min(3, len(compared))
        return set() if alone else found

    def judge(self, sizes: list[int]) -> LineResult:
        if self.line != "throughput":  # a baseline's speedup over itself is 1 and earns nothing; a wrong one costs
            sizes = [p for p in sizes if p > 1 or (p in self.claims and not self.right(p))]
        wrong = [p for p in sizes if not self.right(p)]
        if not wrong:
            return full(self.line, self._said(sizes))
        earned = _share(self.line, len(sizes) - len(wrong), len(sizes))
        untold = [p for p in wrong if self._possible(p)]
        if untold == wrong and not (len(untold) > 1 and self._named(untold)[1]):
            self.diagnosis = "interval_too_wide"
            return needs_person(self.line, self._too_wide(untold), self.diagnosis)
        false = [p for p in wrong if p in self.claims and p in self.expected]
        if not false:
            unknown = [p for p in wrong if p not in self.expected]
            if unknown:
                self.diagnosis = "missing_run"
                said = f"Without a usable run log, the numbers for {_listed(unknown)} ranks cannot be checked."
                return lost(self.line, self.diagnosis, said, _LOGS_FIRST, earned)
            self.diagnosis = "missing_value"
            teach = "Write one line for each run, with all four columns."
            return lost(
                self.line, self.diagnosis, f"scaling.csv has no {self._word} for {_listed(wrong)} ranks.", teach, earned
            )
        self.diagnosis, teach = self._named(false)
        teach = teach or _FABRICATED
        return lost(self.line, self.diagnosis, self._compared(false), teach, earned)

    def _named(self, false: list[int]) -> tuple[str, str]:
        """The mistake that explains all wrong values on more than one rank, in one and the same way of computing
        them."""
        several = [p for p in false if p > 1]
        if several and self._assumed():
            return "perfect_scaling_assumed", _ASSUMED
        for name, (ways, teach) in (self.mistakes or {}).items():
            if several and any(all(p in way and _near(self.claims[p], way[p]) for p in several) for way in ways):
                return name, teach
        return "not_from_the_logs", ""

    def _too_wide(self, untold: list[int]) -> str:
        told = [
            f"on {p} rank{'s' * (p > 1)} the run logs allow {Range(*self.expected[p].accepted)}" for p in untold[:3]
        ]
        said = (
            f"{self._word.capitalize()}: {'; '.join(told)}. That is too wide to tell a measurement from a guess,"
            " and no usual way to "
        )
        return (
            said
            + "compute them gives all the table's numbers. Run again, longer and on an idle machine, or say how they"
            " were computed."
        )

    def _assumed(self) -> bool:
        """True if the column says p, or 1, for all numbers of ranks: a perfect speedup, or efficiency."""
        perfect = {"speedup": lambda p: p, "efficiency": lambda p: 1.0}.get(self.line)
        return perfect is not None and all(abs(n.value / perfect(p) - 1) < _PERFECT for p, n in self.claims.items())

    @property
    def _word(self) -> str:
        return {"throughput": "images per second"}.get(self.line, self.line)

    def _said(self, sizes: list[int]) -> str:
        return f"{self._word.capitalize()}: " + ", ".join(f"{_plain(self.claims[p].value)} on {p}" for p in sizes) + "."

    def _compared(self, false: list[int]) -> str:
        told = [
            f"on {p} rank{'s' * (p > 1)} the table says {_plain(self.claims[p].value)}, the run logs give"
            f" {self.expected[p]}"
            for p in false[:3]
        ]
        return f"{self._word.capitalize()}: {'; '.join(told)}."


def _is(number: WrittenNumber, expected: Range) -> bool:
    return any(expected.holds(value, min(number.half, _ROUNDING * abs(value))) for value in number.readings)


def _close(number: WrittenNumber, value: float) -> bool:
    """True if a number was computed to be this value."""
    tolerance = LEAST_TOLERANCE * abs(value) + min(number.half, _ROUNDING * abs(value))
    return any(abs(reading - value) <= tolerance for reading in number.readings)


def _near(number: WrittenNumber, value: float) -> bool:
    tolerance = _NAMING * abs(value) + min(number.half, _ROUNDING * abs(value))
    return any(abs(reading - value) <= tolerance for reading in number.readings)


def _own_ratios(rates: _Column, base: int) -> dict[int, Range]:
    """Speedups that follow from the table's own images per second, where those are right."""
    if base not in rates.claims or not rates.right(base) or rates.claims[base].value <= 0:
        return {}
    of_base = rates.claims[base].value
    ratios = {p: number.value / of_base * base for p, number in rates.claims.items() if rates.right(p)}
    return {p: Range(ratio, ratio) for p, ratio in ratios.items()}


def _percent(finding: LineResult, mislabelled: bool) -> LineResult:
    """Takes one point off for a percent sign beside fractions: 0.61 % is not 61 %."""
    if not mislabelled or finding.earned != finding.line.points:
        return finding
    return lost(
        finding.line.name,
        "percent_beside_fractions",
        "The efficiencies are fractions, but a percent sign says that they are per cent.",
        "0.61 and 61 % are the same, 0.61 % is a hundredth of it.",
        earned=finding.line.points - 1,
    )


# -- the figure --------------------------------------------------------------------------------------------------------


def _figure_in_time(*given) -> LineResult:
    try:
        return inside.bounded(_figure, *given)
    except inside.Overdue as error:
        return needs_person("figure", f"scaling.pdf is too large to be judged here: {error}.", "too_large")


def _figure(
    homework: Homework,
    runs: ScalingLogs,
    speeds: Mapping[int, Speed],
    claimed: ScalingTable | None,
    reader: Callable[[Path], object],
) -> LineResult:
    """scaling.pdf: do its points stand where the numbers are?"""
    from autograder.homework.scaling import figure as scaling_figure

    path = homework.files.get("scaling.pdf")
    if path is None:
        return lost(
            "figure", "missing_file", homework.absent("scaling.pdf", "scaling.pdf"), "Hand in the figure as a PDF."
        )
    if not runs.usable:
        return lost("figure", "missing_run", "There is no run log to compare scaling.pdf with.", _LOGS_FIRST)
    if not speeds:
        said = f"scaling.pdf cannot be compared: `{shown(runs.names[min(runs.usable)])}` {_NO_TIMES}."
        return needs_person("figure", said, "no_times")
    try:
        return scaling_figure.judge(reader(path), speeds, [p for p in SIZES if p in speeds], claimed)
    except Exception as error:  # whatever a reader stumbles over, a person can look at the page
        return needs_person("figure", f"scaling.pdf could not be read ({type(error).__name__}).", "unreadable_figure")


# -- odds and ends -----------------------------------------------------------------------------------------------------


def _share(name: str, right: int, of: int) -> float:
    return round(rubric.line(name).points * right / of, 2)


def _listed(sizes) -> str:
    words = [str(p) for p in sizes]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _hash(script: Path | None) -> str:
    return hashlib.sha256(script.read_bytes()).hexdigest() if script else ""


def _facts(runs: ScalingLogs, speeds: Mapping[int, Speed], claimed: ScalingTable | None) -> dict:
    """The measurements, for the page and for comparing a class."""
    base = min(speeds, default=0)
    rows = []
    for p in sorted({*runs.logs, *(claimed.rows if claimed else ())}):
        row: dict = {"ranks": p}
        if p in speeds:
            gain = speedup(speeds[base], speeds[p], base)
            usual = speeds[p].usual
            row |= {
                "images_per_second": [usual.value, usual.value * speeds[p].half],
                "range": [*_pair(speeds[p].range)],
            }
            row |= {"speedup": [*_pair(gain)], "efficiency": [*_pair(gain.times(1 / p))], "half": gain.half}
            if p > 1 and base == 1:
                serial = karp_flatt(speeds[p].usual.value / speeds[1].usual.value, p).value
                row["karp_flatt"] = serial
        if claimed and p in claimed.rows:
            row["claimed"] = {name: number.value for name, number in claimed.rows[p].items()}
        rows.append(row)
    hardware = {str(p): suspicion.hardware_of(run) for p, run in sorted(runs.usable.items()) if run.hardware}
    return {
        "rows": rows,
        "hardware": hardware,
        "problems": {
            str(p): [shown(one, 300) for one in run.problems[:5]]
            for p, run in sorted(runs.logs.items())
            if run.problems
        },
        "table": claimed.problems[:5] if claimed else [],
        FACT: {f"run_{p}": times for p, run in sorted(runs.logs.items()) if (times := trace(suspicion.steps_of(run)))},
    }


def _pair(values: Range) -> tuple[float, float]:
    return values.low, values.high
