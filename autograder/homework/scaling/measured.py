"""The times in the run logs: images per second and speedup, under every sensible way to compute them, with their
uncertainty.

A student may leave out the first epoch (compilation) or not, count validation or not, take a mean, a median or the best
epoch. All of these are right, so what is right is a range. What no log can tell, the scatter from run to run, is not in
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from labkit.runlog import RunLog
from labkit.scaling import Estimate, estimate, student_t

LEAST_TOLERANCE = 0.02  # of a value: for definitions that nobody has thought of, and for digits that were not written
WIDE = 1.5  # an interval whose end is that many times its beginning tells no measurement from a guess
LARGEST_HALF = 0.5  # a run that scatters more than this says nothing anyway
BLOCKS = 10  # of steps: what disturbs a machine lasts longer than a step, so single steps tell too small an error
SKIPS = (0, 1, 2, 3, 5, 10, 20, 50, 100)  # steps at the beginning that somebody may leave out


@dataclass(frozen=True)
class Range:
    """Values that are right. half: the relative half width of the 95 % interval of the measurement behind them."""

    low: float
    high: float
    half: float = 0.0

    def holds(self, value: float, rounding: float = 0.0, tolerance: float = LEAST_TOLERANCE) -> bool:
        """True if `value`, written with an uncertainty of `rounding` in its last digit, may come from the same
        measurement."""
        wide = max(tolerance, self.half)
        return self.low * (1 - wide) - rounding <= value <= self.high * (1 + wide) + rounding

    @property
    def accepted(self) -> tuple[float, float]:
        """The ends of what `holds` takes."""
        wide = max(LEAST_TOLERANCE, self.half)
        return self.low * (1 - wide), self.high * (1 + wide)

    @property
    def wide(self) -> bool:
        """True if so much is accepted that a number within it may as well have been made up. Then it must be computed
        in the one way in which the others beside it are: a made-up table hardly ever is, and one that was computed
        always."""
        low, high = self.accepted
        return high > WIDE * low

    def times(self, factor: float) -> Range:
        return Range(self.low * factor, self.high * factor, self.half)

    def inverse(self) -> Range:
        return Range(1 / self.high, 1 / self.low, self.half)

    def __str__(self) -> str:
        low, high = f"{self.low:.3g}", f"{self.high:.3g}"
        if self.low >= 1000:
            low, high = f"{self.low:,.0f}", f"{self.high:,.0f}"
        return low if low == high else f"{low} to {high}"


MAIN = ("without 1 epoch", "all", "with validation", "with validation, without 1 epoch", "median without 0 steps")


@dataclass(frozen=True)
class Speed:
    """The throughput of a run. rates: definition -> images per second on all ranks together. half: relative, of a 95 %
    interval."""

    rates: dict[str, float]
    half: float
    seconds_per_epoch: tuple[float, float]
    seconds: dict[str, float] = field(default_factory=dict)  # definition -> seconds of an epoch, or of the run

    @property
    def range(self) -> Range:
        return Range(min(self.rates.values()), max(self.rates.values()), self.half)

    @property
    def steady(self) -> Speed:
        """The same without the definitions that count what happens once: compilation, the start and the end of the
        program."""
        kept = {name: rate for name, rate in self.rates.items() if name.startswith(("without", "median"))}
        return Speed(kept or self.rates, self.half, self.seconds_per_epoch, self.seconds)

    @property
    def usual(self) -> Estimate:
        """The rate without the first epoch, where there is more than one; its error is that of `half`."""
        rate = self.rates.get("without 1 epoch", self.rates["all"])
        return Estimate(rate, rate * self.half / student_t(math.inf))


def speed(run: RunLog) -> Speed | None:
    """The throughput that a log tells; None where it has no times or no numbers of samples."""
    epochs = [
        e for e in run.epochs if len(e.step_seconds) and sum(e.samples_per_rank) > 0 and _positive(e.step_seconds)
    ]
    if not epochs:
        return None
    images = np.array([sum(e.samples_per_rank) for e in epochs], dtype=float)
    in_steps = np.array([float(e.step_seconds.sum()) for e in epochs])
    whole = np.array(
        [s + (e.validation_seconds if e.validation_seconds > 0 else 0.0) for s, e in zip(in_steps, epochs, strict=True)]
    )
    steps = np.concatenate([e.step_seconds for e in epochs])
    rates = _ways_to_average(images, in_steps, whole, steps)
    if run.seconds > in_steps.sum():
        rates["whole run"] = images.sum() / run.seconds
    longest = float(max(whole.max(), run.seconds if run.seconds > 0 else 0.0))
    per_epoch = float(min(in_steps.min(), whole.min())), longest
    seconds = {name: float(images.mean()) / float(rate) for name, rate in rates.items()}
    seconds |= {"of all epochs": float(in_steps.sum()), "of all epochs, with validation": float(whole.sum())}
    everything = run.data.get("train_images")
    if isinstance(everything, int) and everything > 0:
        # what does not divide among the ranks is not trained on, and may be counted
        seconds |= {f"{name}, of all images": everything / float(rate) for name, rate in rates.items()}
    if run.seconds > 0:
        seconds["of the run"] = float(run.seconds)
    rates = {name: float(rate) for name, rate in rates.items()}
    return Speed(rates, _half(epochs, images, in_steps), per_epoch, seconds)


def _ways_to_average(images: np.ndarray, in_steps: np.ndarray, whole: np.ndarray, steps: np.ndarray) -> dict:
    """Images/s by everything that one may rightly call the throughput.

    images, in_steps, whole: of each epoch, the images, the seconds in its steps and those with its validation. steps:
    seconds of each step of all epochs.
    """
    per_step = float(images.sum() / len(steps))
    rates = {"all": images.sum() / in_steps.sum(), "with validation": images.sum() / whole.sum()}
    for k in range(1, len(images)):
        rates[f"without {k} epoch"] = images[k:].sum() / in_steps[k:].sum()
        rates[f"with validation, without {k} epoch"] = images[k:].sum() / whole[k:].sum()
    for k in SKIPS:
        if k <= len(steps) // 2:
            rates[f"without {k} steps"] = per_step / float(steps[k:].mean())
            rates[f"median without {k} steps"] = per_step / float(np.median(steps[k:]))
            rates[f"mean of rates without {k} steps"] = per_step * float((1 / steps[k:]).mean())
    for k in range(len(images)):
        behind = f", without {k} epoch" if k else ""
        rates[f"mean of epochs{behind}"] = float((images / in_steps)[k:].mean())
        rates[f"median of epochs{behind}"] = float(np.median((images / in_steps)[k:]))
    rates["best epoch"] = float((images / in_steps).max())
    return rates


def speedup(baseline: Speed, parallel: Speed, base_size: int = 1) -> Range:
    """The speedup in images per second over the baseline, the same definition on both sides. base_size: ranks of the
    baseline."""
    ratios = [parallel.rates[name] / baseline.rates[name] for name in parallel.rates if name in baseline.rates]
    return Range(
        min(ratios) * base_size, max(ratios) * base_size, min(math.hypot(baseline.half, parallel.half), LARGEST_HALF)
    )


Way = dict[int, float]  # size -> value, in one way to compute it


def rate_ways(speeds: Mapping[int, Speed]) -> list[Way]:
    """Images per second, in each way to compute them that all these runs allow."""
    return [
        {p: found.rates[name] for p, found in speeds.items()}
        for name in _common([found.rates for found in speeds.values()])
    ]


def second_ways(speeds: Mapping[int, Speed]) -> list[Way]:
    """Seconds, of an epoch or of the run, in each way to compute them."""
    return [
        {p: found.seconds[name] for p, found in speeds.items()}
        for name in _common([found.seconds for found in speeds.values()])
    ]


def gain_ways(speeds: Mapping[int, Speed]) -> list[Way]:
    """Speedups over the smallest of the runs."""
    base = min(speeds)
    return [{p: rate / way[base] * base for p, rate in way.items()} for way in rate_ways(speeds)]


def share_ways(speeds: Mapping[int, Speed]) -> list[Way]:
    """The efficiencies, in each way to compute them."""
    return [{p: gain / p for p, gain in way.items()} for way in gain_ways(speeds)]


def in_one_way(ways: list[Way], agrees: Callable[[int, float], bool]) -> set[int]:
    """The sizes at which values agree with the one way of computing them that explains most. agrees(size, value):
    whether one does."""
    return max(({p for p, value in way.items() if agrees(p, value)} for way in ways), key=len, default=set())


def _common(found: list[dict[str, float]]) -> list[str]:
    return [name for name in found[0] if all(name in other for other in found[1:])] if found else []


def _half(epochs, images: np.ndarray, seconds: np.ndarray) -> float:
    """Half the width of the 95 % interval of the mean time per image, relative to it: the larger of the values from
    epochs and from blocks of steps."""
    found = [0.0]
    if len(epochs) >= 4:
        found.append(_relative(seconds[1:] / images[1:]))
    settled = np.concatenate([e.step_seconds for e in (epochs[1:] or epochs)])
    settled = settled[min(3, len(settled) // 3) :] if len(epochs) == 1 else settled
    if len(settled) >= 2 * BLOCKS:
        found.append(_relative([block.mean() for block in np.array_split(settled, BLOCKS)]))
    elif len(settled) >= 2:
        found.append(_relative(settled))
    return min(max(found), LARGEST_HALF)


def _relative(samples) -> float:
    scatter = estimate(samples)
    return (scatter.high - scatter.value) / scatter.value


def _positive(values: np.ndarray) -> bool:
    return bool(np.all(np.isfinite(values)) and np.all(values > 1e-9) and np.all(values < 1e7))


def rises(values: list[tuple[int, Range]], margin: float) -> tuple[int, int] | None:
    """The first two neighbouring sizes between which a value rises by more than its error and `margin` (relative),
    however computed."""
    for (p, before), (q, after) in pairwise(values):
        if after.low * (1 - math.hypot(before.half, after.half)) > before.high * (1 + margin):
            return p, q
    return None


@dataclass
class ScalingLogs:
    """The logs of one submission. usable: those that are of as many ranks as their names say. broken: size -> why a log
    is none."""

    logs: dict[int, RunLog]
    broken: dict[int, str]
    names: dict[int, str]

    @property
    def usable(self) -> dict[int, RunLog]:
        return {p: run for p, run in self.logs.items() if run.world_size == p}


def images_of(run: RunLog) -> float:
    """Images that all ranks together have trained on in an epoch; 0 where the log does not say."""
    totals = [sum(epoch.samples_per_rank) for epoch in run.epochs if epoch.samples_per_rank]
    return float(np.median(totals)) if totals else 0.0
