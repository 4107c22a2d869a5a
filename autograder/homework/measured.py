"""What the run logs say about time: images per second and speedup, under every sensible way to compute them, and how sure that is.

A student may leave out the first epoch (compilation) or not, count validation or not, take a mean, a median or the best epoch. All of
these are right, so what is right is a range. What no log can tell, the scatter from run to run, is not in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from labkit.runlog import RunLog
from labkit.scaling import Estimate, estimate, student_t

LEAST_TOLERANCE = 0.02  # of a value: for definitions that nobody has thought of, and for digits that were not written
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
        """Whether `value`, written with an uncertainty of `rounding` in its last digit, may come from the same measurement."""
        wide = max(tolerance, self.half)
        return self.low * (1 - wide) - rounding <= value <= self.high * (1 + wide) + rounding

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
    """The throughput of a run. rates: definition -> images per second on all ranks together. half: relative, of a 95 % interval."""

    rates: dict[str, float]
    half: float
    seconds_per_epoch: tuple[float, float]

    @property
    def range(self) -> Range:
        return Range(min(self.rates.values()), max(self.rates.values()), self.half)

    @property
    def steady(self) -> Speed:
        """The same without the definitions that count what happens once: compilation, the start and the end of the program."""
        kept = {name: rate for name, rate in self.rates.items() if name.startswith(("without", "median"))}
        return Speed(kept or self.rates, self.half, self.seconds_per_epoch)

    @property
    def usual(self) -> Estimate:
        """The rate without the first epoch, where there is more than one; its error is that of `half`."""
        rate = self.rates.get("without 1 epoch", self.rates["all"])
        return Estimate(rate, rate * self.half / student_t(math.inf))


def speed(run: RunLog) -> Speed | None:
    """The throughput that a log tells; None where it has no times or no numbers of samples."""
    epochs = [e for e in run.epochs if len(e.step_seconds) and sum(e.samples_per_rank) > 0 and _positive(e.step_seconds)]
    if not epochs:
        return None
    images = np.array([sum(e.samples_per_rank) for e in epochs], dtype=float)
    in_steps = np.array([float(e.step_seconds.sum()) for e in epochs])
    whole = np.array(
        [s + (e.validation_seconds if e.validation_seconds > 0 else 0.0) for s, e in zip(in_steps, epochs, strict=True)]
    )
    steps = np.concatenate([e.step_seconds for e in epochs])
    per_step = float(images.sum() / len(steps))
    rates = {"all": images.sum() / in_steps.sum(), "with validation": images.sum() / whole.sum()}
    for k in range(1, len(epochs)):
        rates[f"without {k} epoch"] = images[k:].sum() / in_steps[k:].sum()
        rates[f"with validation, without {k} epoch"] = images[k:].sum() / whole[k:].sum()
    for k in SKIPS:
        if k <= len(steps) // 2:
            rates[f"without {k} steps"] = per_step / float(steps[k:].mean())
            rates[f"median without {k} steps"] = per_step / float(np.median(steps[k:]))
            rates[f"mean of rates without {k} steps"] = per_step * float((1 / steps[k:]).mean())
    rates["mean of epochs"], rates["median of epochs"] = float((images / in_steps).mean()), float(np.median(images / in_steps))
    rates["best epoch"] = float((images / in_steps).max())
    if run.seconds > in_steps.sum():
        rates["whole run"] = images.sum() / run.seconds
    per_epoch = float(min(in_steps.min(), whole.min())), float(max(whole.max(), run.seconds if run.seconds > 0 else 0.0))
    return Speed({name: float(rate) for name, rate in rates.items()}, _half(epochs, images, in_steps), per_epoch)


def speedup(baseline: Speed, parallel: Speed, base_size: int = 1) -> Range:
    """How many times more images per second than on one rank, the same definition on both sides. base_size: ranks of the baseline."""
    ratios = [parallel.rates[name] / baseline.rates[name] for name in parallel.rates if name in baseline.rates]
    return Range(min(ratios) * base_size, max(ratios) * base_size, min(math.hypot(baseline.half, parallel.half), LARGEST_HALF))


def _half(epochs, images: np.ndarray, seconds: np.ndarray) -> float:
    """Half the width of the 95 % interval of the mean time per image, relative to it: the larger of what epochs and blocks of steps say."""
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
    """The first two neighbouring sizes between which a value rises by more than its error and `margin` (relative), however computed."""
    for (p, before), (q, after) in pairwise(values):
        if after.low * (1 - math.hypot(before.half, after.half)) > before.high * (1 + margin):
            return p, q
    return None
