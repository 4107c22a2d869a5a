"""Unit 08, scaling: a throughput and a speedup with their errors, strong against weak scaling, Karp and Flatt, and a
prediction."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run
from autograder.exercises.kinds import as_floats
from autograder.exercises.source import harness_of
from labkit.scaling import student_t

SWAPPED = Mistake("swapped", "The two answers are swapped.",
                  "Return the value first, then its error.",  # fmt: skip
                  lambda c: (c.error, c.value))  # fmt: skip
INTERVAL = Mistake("interval",
                   "The error was multiplied, as for a 95 % interval. Return the standard error itself.",
                   "A factor such as 1.96 or Student's t belongs to an interval.")  # fmt: skip
SD_FOR_SE = Mistake("sd_for_se", "This is the standard deviation: how far a single measurement scatters. A mean of n "
                    "measurements scatters less.",
                    "The standard error of a mean is s / sqrt(n).")  # fmt: skip
DDOF_0 = Mistake("ddof_0", "The standard deviation was divided by n, numpy's default; for a sample it is n - 1.",
                 "`np.std(x, ddof=1)`.")  # fmt: skip
RELATIVE = Mistake("relative_error", "This is the relative error, a fraction of the value.",
                   "Multiply it by the value.")  # fmt: skip
VARIANCE = Mistake("variance", "The square root is missing.",
                   "An error has the unit of its value; its square does not.")  # fmt: skip
ROUNDED = Mistake("rounded", "The numbers were rounded.", "Return them as they are; round where they are printed.")
NEGATIVE = Mistake("negative_error", "An error has no sign.",
                   "Take the absolute value: the slope 1/S² is meant without its minus.")  # fmt: skip
FLOAT32 = Mistake(
    "float32",
    "The numbers are right to 7 digits: somewhere they went through float32. Times have 16.",
    "Leave out the conversion. `torch.tensor` makes float32 of a list: give it dtype=torch.float64.",
)
LOST_DIGITS = [ROUNDED, FLOAT32]
CANCELLATION = Mistake("cancellation", "The standard deviation is that of a mean of squares less the square of a mean. "
                       "Where times hardly differ, these two agree in nearly all their digits, and what is left of "
                       "the difference is rounding.",
                       "Subtract the mean first, then square: `np.std(x, ddof=1)` does.")  # fmt: skip
NEARLY_EQUAL = 200 + 1e-4 * np.array([2.1, 0.3, 5.2, 1.4, 3.7, 0.9, 2.6, 4.3])  # s; they differ by 2.5 millionths
# relative: every right way to compute in float64 agrees to far more, and nothing that went through float32 gets there
EXACT = 1e-9


def listed(these) -> str:
    return ", ".join(str(one) for one in these)


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=EXACT, abs_tol=0.0)


def lost_digits(got, right) -> str | None:
    """ "rounded" or "float32", where `got` are the numbers `right` with fewer digits; else None."""
    pairs = list(zip(got, right, strict=True))
    if any(not math.isfinite(g) for g, _ in pairs):
        return None
    for digits in range(7):
        if all(close(g, r) or g == round(r, digits) for g, r in pairs):
            return "rounded" if any(not close(g, r) for g, r in pairs) else None
    return "float32" if all(math.isclose(g, r, rel_tol=2e-6) for g, r in pairs) else None


def interval_factor(factor: float, *dofs: int) -> bool:
    """True if a standard error was multiplied by what makes an interval of it: a normal quantile, 2, 3, or one of
    Student's t."""
    known = (1.645, 1.6449, 1.96, 2.0, 2.576, 3.0, *(student_t(dof) for dof in dofs if dof >= 1))
    return any(math.isclose(factor, one, rel_tol=1e-3) for one in known)


def numbers(run: Run) -> list[float]:
    """The numbers that a function returned, as floats; none where it is anything else."""
    value = getattr(run.ranks[0].value, "values", run.ranks[0].value)
    if isinstance(value, (tuple, list)):
        found = [as_floats(one) for one in value]
        return [float(one[0]) for one in found] if all(one.size == 1 for one in found) else []
    return as_floats(value).tolist()


def standard_error(x: np.ndarray) -> float:
    """s / sqrt(n), with n - 1 in s."""
    return float(np.std(x, ddof=1) / math.sqrt(len(x)))


class NumbersExercise(Exercise):
    """Numbers by a formula. A mistake gives them, or, as a dict, the factors of `formula` that it changes."""

    runtime = "plain"

    def formula(self, case: Case, **changed: Any) -> float:
        """The right numbers, or with other factors those of a mistake."""
        raise NotImplementedError

    def per_rank(self, case, value):
        return [self.formula(case, **value) if isinstance(value, dict) else value]

    def two_at_once(self, case: Case, got: float) -> Finding | None:
        """The finding that names two mistakes that together give the number. Two that change one factor cannot."""
        given, c = {}, self.worked(case)
        for mistake in self.mistakes:
            if mistake.value and isinstance(changed := mistake.value(c), dict):
                given[mistake.name] = changed
        for (a, one), (b, other) in itertools.combinations(given.items(), 2):
            if not one.keys() & other.keys() and close(self.formula(case, **one, **other), got):
                return Finding(a, self.diagnoses[b].why)
        return None


class ValueAndError(NumbersExercise):
    """A value and its standard error, of which the first level asks for the value alone.

    What a mistake gives is a wrong value, or both numbers (`in_error`); it is computed from the right `value` and
    `error` (`right`) and what the case knows. `read` names what else a mistake gives; `degrees_of_freedom` are those of
    which somebody may have taken Student's t.
    """

    def right(self, case: Case) -> tuple[float, float]:
        raise NotImplementedError

    def read(self, c: SimpleNamespace, value: float, error: float) -> Finding | str | None:
        return None

    def degrees_of_freedom(self, c: SimpleNamespace) -> Iterable[int]:
        return ()

    def worked(self, case):
        value, error = self.right(case)
        both = case.level != next(iter(self.levels))
        return SimpleNamespace(case=case, value=value, error=error, both=both, **case.known)

    def expected(self, case):
        c = self.worked(case)
        return [(c.value, c.error if c.both else ANYTHING)]

    def per_rank(self, case, value):
        if isinstance(value, tuple):
            return [value]
        (value,), (right, _) = super().per_rank(case, value), self.right(case)
        as_it_is = close(value, right) or (math.isnan(value) and math.isnan(right))
        return None if as_it_is else [(float(value), ANYTHING)]

    def facts(self, case: Case, run: Run):
        c, got = self.worked(case), numbers(run)
        asked = 2 if c.both else 1
        if len(got) != 2:
            return None
        if case.known.get("nearly_equal") and close(got[0], c.value) and not close(got[1], c.error):
            if math.isclose(got[1], c.error, rel_tol=1e-3):
                return "cancellation"
        if all(close(*pair) for pair in zip(got[:asked], (c.value, c.error)[:asked], strict=True)):
            return None
        found = lost_digits(got[:asked], (c.value, c.error)[:asked]) or self.read(c, *got)
        if found or not c.both or not close(got[0], c.value):
            return found
        factor = got[1] / c.error if c.error else math.nan
        known = interval_factor(factor, *self.degrees_of_freedom(c))
        return Finding("interval", f"It is {factor:.2f} standard errors.") if known else None


def in_error(of: Callable[[SimpleNamespace], float]) -> Callable[[SimpleNamespace], tuple[float, float] | None]:
    """The values that a mistake gives which is in the error alone; none where its error is nan."""

    def values(c):
        error = float(of(c)) if c.both and math.isfinite(c.value) else math.nan
        return None if math.isnan(error) else (c.value, error)

    return values


class Throughput(ValueAndError):
    """Throughput and its error"""

    signature = "throughput_with_error(local_batch_sizes, step_seconds, warmup) -> tuple[float, float]"
    levels = {"images per second": 1, "its standard error": 1}
    may_lose = {
        "int64": "whole seconds are small",
        "integers of both widths": "whole seconds enter quotients, whatever their width",
    }
    mistakes = [
        Mistake("mean_of_rates", "You averaged the rates of the steps. A slow step then counts as much as a fast one, "
                "although it lasts longer, and the result is too high.",
                "All images divided by all seconds.", lambda c: {"mean": lambda times: 1 / np.mean(1 / times)}),
        Mistake("median", "This is the median step. It forgets the slow ones, and they happened.",
                "All images divided by all seconds.", lambda c: {"mean": np.median}),
        Mistake("fastest", "This is the fastest step. Nobody trains at that speed for long.",
                "All images divided by all seconds.", lambda c: {"mean": np.min}),
        Mistake("one_step", "The images of one step were divided by the seconds of all.",
                "Multiply by the number of counted steps.", lambda c: {"counted": 1}),
        Mistake("drops_one_more", "One step too many was left out.",
                "`warmup` steps go: step_seconds[warmup:].", lambda c: {"times": c.seconds[c.warmup + 1 :]}),
        Mistake("one_rank", "These are the images of one rank. All work at the same time, and all images count.",
                "A step has sum(local_batch_sizes) images.", lambda c: {"images": c.batches[0]}),
        Mistake("rank_0_times_p", "Rank 0's batch was multiplied by the ranks, but the others' batches differ from it.",
                "A step has sum(local_batch_sizes) images.", lambda c: {"images": c.batches[0] * len(c.batches)}),
        Mistake("warmup_included", "The warm-up steps are included. The first steps load libraries and fill caches: "
                "they measure something else.",
                "Leave them out: step_seconds[warmup:].", lambda c: {"times": c.seconds}),
        Mistake("warmup_images_counted", "The seconds of the warm-up steps were left out, their images were counted.",
                "Count the steps after the cut: len(step_seconds[warmup:]).", lambda c: {"counted": len(c.seconds)}),
        Mistake("warmup_seconds_counted", "The images of the warm-up steps were left out, their seconds were counted.",
                "Cut first, then sum.", lambda c: {"times": c.seconds, "counted": len(c.seconds) - c.warmup}),
        Mistake("last_steps_dropped", "The last steps were left out instead of the first.",
                "step_seconds[warmup:].", lambda c: {"times": c.seconds[: len(c.seconds) - c.warmup]}),
        Mistake("drops_one_less", "One step too few was left out.",
                "`warmup` steps go: step_seconds[warmup:].", lambda c: {"times": c.seconds[max(c.warmup - 1, 0) :]}),
        Mistake("drops_first_only", "Only the first step was left out.",
                "`warmup` steps go: step_seconds[warmup:].", lambda c: {"times": c.seconds[1:]}),
        Mistake("slowest_dropped", "The slowest steps were left out, wherever they lie. The warm-up is the beginning; "
                "a slow step later on happened.",
                "step_seconds[warmup:].", lambda c: {"times": np.sort(c.seconds)[: len(c.seconds) - c.warmup]}),
        Mistake("outlier_dropped", "The slowest of the counted steps was left out. It happened, and in a long run its "
                "like will happen again.",
                "Leave out the warm-up, and nothing else.", lambda c: {"times": np.sort(c.times)[:-1]}),
        Mistake("last_steps_only", "Only the last `warmup` steps were counted: a minus there counts from the end.",
                "step_seconds[warmup:].", lambda c: {"times": c.seconds[-c.warmup :]}),
        Mistake("upside_down", "These are seconds per image.", "Images divided by seconds.", lambda c: 1 / c.value),
        Mistake("per_rank", "The throughput was divided by the number of ranks.",
                "Return the rate of all ranks together: leave the sum as it is."),
        Mistake("times_ranks", "The number of ranks was counted twice.",
                "sum(local_batch_sizes) holds all ranks already: do not multiply again.",
                lambda c: {"images": c.batches.sum() * len(c.batches)}),
        SWAPPED,
        SD_FOR_SE.giving(in_error(lambda c: c.error * math.sqrt(c.n))),
        SD_FOR_SE.but(name="sd_ddof_0").giving(in_error(lambda c: c.error * math.sqrt(c.n - 1))),
        DDOF_0.giving(in_error(lambda c: c.error * math.sqrt((c.n - 1) / c.n))),
        Mistake("error_of_seconds", "This is the error of the step time, in seconds; a rate's is in images per second.",
                "The relative errors are the same: rate * (standard error of the step time) / (mean step time).",
                in_error(lambda c: c.of_seconds)),
        Mistake("error_upside_down", "Dividing the images by the error of the time does not give an error: the surer "
                "the time, the larger it gets.",
                "The relative errors are the same: rate * (standard error of the step time) / (mean step time).",
                in_error(lambda c: c.images / c.of_seconds)),
        Mistake("rate_over_root_n", "Images divided by the scatter of the times is no error of the rate, and dividing "
                "that by sqrt(n) does not make it one.",
                "The relative errors are the same: rate * (standard error of the step time) / (mean step time).",
                in_error(lambda c: c.images / c.of_seconds / c.n)),
        RELATIVE.giving(in_error(lambda c: c.error / c.value)),
        Mistake("scatter_of_rates", "This is the scatter of the steps' rates. The throughput is not the mean of these "
                "rates, so that is not its error.",
                "Take the standard error of the step time and carry it over: rate * error / mean.",
                in_error(lambda c: standard_error(c.images / c.times))),
        Mistake("sd_of_rates", "This is the standard deviation of the steps' rates, not the error of a mean.",
                "Take the standard error of the step time and carry it over: rate * error / mean.",
                in_error(lambda c: np.std(c.images / c.times, ddof=1))),
        Mistake("n_with_warmup", "The warm-up steps are counted in n.",
                "Cut them off once, and compute both numbers from what is left.",
                in_error(lambda c: c.error * math.sqrt(c.n / len(c.seconds)))),
        INTERVAL, CANCELLATION, *LOST_DIGITS,
    ]  # fmt: skip

    def cases(self, rng):
        rate, error = self.levels

        def case(level, batches, steps, warmup, disturbed=4):
            seconds = rng.uniform(0.05, 0.2) * rng.uniform(0.9, 1.2, steps) * sum(batches) / 100
            seconds[:warmup] *= np.linspace(9, 1.5, warmup)
            # disturbed, and slower than the end of the warm-up: neither slow nor quick says what to leave out
            seconds[warmup + 2] *= disturbed
            says = f"batches {listed(batches)}, {steps} steps, warmup {warmup}"
            known = {"batches": np.array(batches), "seconds": seconds, "warmup": warmup}
            return Case(level, 1, (list(batches), seconds, warmup), says=says, known=known, rtol=EXACT, atol=0.0)

        return [
            case(rate, [32], 9, 0),
            case(rate, [48, 48, 48, 48], 12, 3),
            case(rate, [40, 40, 24], 9, 2),
            case(error, [32, 32], 11, 0),
            case(error, [31, 28, 16, 25, 20], 10, 3),
            self._nearly_equal(error),
            case(error, [16, 24], 12, 1, disturbed=60),
            self._short(rate, [32], [2.9, 1.7, 1.1, 0.31, 0.34], 3),  # more warm-up than half of the steps
            self._short(error, [8], [9, 2, 3], 1),
        ]

    @staticmethod
    def _short(level, batches, seconds, warmup):
        """The fewest steps that can be left: two. A clock may show whole seconds."""
        known = {"batches": np.array(batches), "seconds": np.array(seconds), "warmup": warmup}
        says = f"batches {listed(batches)}, steps of {listed(seconds)} s, warmup {warmup}"
        return Case(level, 1, (batches, known["seconds"], warmup), says=says, known=known, rtol=EXACT, atol=0.0)

    @staticmethod
    def _nearly_equal(level):
        """Steps of which a sum of squares does not tell how they differ."""
        seconds = np.append([260.0, 210.0], NEARLY_EQUAL)
        known = {"batches": np.array([48, 40]), "seconds": seconds, "warmup": 2, "nearly_equal": True}
        says = "batches 48, 40, 10 steps, warmup 2, nearly equal times"
        return Case(level, 1, ([48, 40], seconds, 2), says=says, known=known, rtol=EXACT, atol=0.0)

    def formula(self, case, images=None, counted=None, times=None, mean=np.mean):
        images = case.known["batches"].sum() if images is None else images
        times = case.known["seconds"][case.known["warmup"] :] if times is None else times
        return images / mean(times) * (1 if counted is None else counted / len(times))

    def right(self, case):
        times, rate = case.known["seconds"][case.known["warmup"] :], self.formula(case)
        return rate, rate * standard_error(times) / times.mean()

    def worked(self, case):
        """Besides, of the counted steps: `times`, their number n, the standard error `of_seconds`; `images` of a
        step."""
        c = super().worked(case)
        c.times, c.images = c.seconds[c.warmup :], c.batches.sum()
        c.n, c.of_seconds = len(c.times), standard_error(c.times)
        return c

    def degrees_of_freedom(self, c):
        return c.n - 1, c.n

    def read(self, c, value, error):
        if close(value, c.value):
            return Finding("interval", "An error has no sign.") if c.both and close(-error, c.error) else None
        return "per_rank" if close(value * len(c.batches), c.value) else self.two_at_once(c.case, value)


def carried(c: SimpleNamespace, error: Callable[[np.ndarray], float]) -> float:
    """The error of a speedup, from those of the two means."""
    return c.value * math.hypot(*(error(times) / times.mean() for times in (c.slow, c.fast)))


def shortened(c: SimpleNamespace) -> tuple[np.ndarray, np.ndarray]:
    """Both columns cut to the length of the shorter one."""
    return c.slow[: min(c.n, c.m)], c.fast[: min(c.n, c.m)]


class SpeedupWithError(ValueAndError):
    """Speedup and its error"""

    signature = "speedup_with_error(baseline_seconds, parallel_seconds) -> tuple[float, float]"
    levels = {"speedup": 1, "its standard error": 1}
    may_lose = {
        "int64": "whole seconds are small",
        "integers of both widths": "whole seconds enter quotients, whatever their width",
    }
    mistakes = [
        Mistake("upside_down", "The speedup is upside down: it falls where the run gets faster.",
                "Mean of the baseline over mean of the parallel run.", lambda c: 1 / c.value),
        Mistake("fastest", "You compared the fastest runs. A minimum has no standard error, and gets smaller the more "
                "often you measure.",
                "Compare the means.", lambda c: c.slow.min() / c.fast.min()),
        Mistake("median", "You compared the medians.",
                "Compare the means: the error is that of a mean.", lambda c: np.median(c.slow) / np.median(c.fast)),
        Mistake("mean_of_ratios", "You averaged ratios. The two columns are independent: the third run of one has "
                "nothing to do with the third of the other.",
                "Average first, divide then.",
                lambda c: np.mean(c.slow / c.fast) if c.n == c.m else c.slow.mean() * np.mean(1 / c.fast)),
        Mistake("ratio_of_sums", "You divided the sums, but the two were not measured equally often.",
                "Divide the means.", lambda c: c.slow.sum() / c.fast.sum()),
        Mistake("cut_to_the_shorter",
                "Of the longer column only as many runs were used as the shorter one has. The columns are not pairs.",
                "Every measurement counts: each column has a mean and a standard error of its own.",
                lambda c: np.divide(*(np.mean(x) for x in shortened(c)))),
        Mistake("saved_seconds", "The seconds were subtracted: that is the time saved.",
                "How many times faster is a quotient of the means.", lambda c: c.slow.mean() - c.fast.mean()),
        Mistake("percent", "The speedup is given in percent.", "2.0 means twice as fast.", lambda c: 100 * c.value),
        Mistake("first_runs", "You compared the first runs.", "Compare the means.", lambda c: c.slow[0] / c.fast[0]),
        SWAPPED,
        Mistake("no_error_at_all", "One of the two was measured without scatter, and the error was set to 0. The other "
                "one scatters, and so does the speedup.",
                "Both relative errors, added in squares: the formula needs no exception for an error of 0.",
                in_error(lambda c: 0.0 if c.error and not c.a * c.b else math.nan)),
        Mistake("taken_as_equal", "Times that differ by millionths were taken as equal, and the error was set to 0.",
                "`np.allclose` and `np.isclose` allow for differences of 1e-5. The formula needs no exception.",
                in_error(lambda c: 0.0 if c.case.known.get("nearly_equal") else math.nan)),
        Mistake("baseline_error_ignored", "The error of the baseline is missing. It is part of every speedup.",
                "Both relative errors, added in squares.", in_error(lambda c: c.value * c.b)),
        Mistake("parallel_error_ignored", "The error of the parallel run is missing.",
                "Both relative errors, added in squares.", in_error(lambda c: c.value * c.a)),
        Mistake("added_linearly", "The relative errors were added. Independent errors add up in squares.",
                "math.hypot(a, b), which is sqrt(a² + b²).", in_error(lambda c: c.value * (c.a + c.b))),
        Mistake("absolute_errors", "The errors in seconds were added in squares. That is the rule for a sum or a "
                "difference; for a quotient it is the relative errors that add up in squares.",
                "speedup * math.hypot(error_1 / mean_1, error_2 / mean_2).",
                in_error(lambda c: math.hypot(standard_error(c.slow), standard_error(c.fast)))),
        Mistake("absolute_for_relative", "The standard errors, in seconds, stand where the relative ones belong.",
                "a and b are the standard errors divided by the means.",
                in_error(lambda c: c.value * math.hypot(standard_error(c.slow), standard_error(c.fast)))),
        RELATIVE.giving(in_error(lambda c: c.error / c.value)),
        Mistake("ratio_of_errors",
                "One error was divided by the other. That says whose runs scatter more, not how sure the quotient is.",
                "speedup * math.hypot(error_1 / mean_1, error_2 / mean_2).",
                in_error(lambda c: standard_error(c.slow) / standard_error(c.fast) if c.b else math.inf)),
        SD_FOR_SE.giving(in_error(lambda c: carried(c, lambda times: np.std(times, ddof=1)))),
        SD_FOR_SE.but(name="sd_ddof_0").giving(in_error(lambda c: carried(c, np.std))),
        DDOF_0.giving(in_error(lambda c: carried(c, lambda times: np.std(times) / math.sqrt(len(times))))),
        Mistake("same_n", "Both standard deviations were divided by the root of the same n.",
                "The two were not measured equally often.",
                in_error(lambda c: c.value * math.hypot(c.a, c.b * math.sqrt(c.m / c.n)))),
        VARIANCE.giving(in_error(lambda c: c.value * (c.a**2 + c.b**2))),
        INTERVAL, CANCELLATION, *LOST_DIGITS,
    ]  # fmt: skip

    def cases(self, rng):
        speedup, error = self.levels

        def case(level, repeats, factor, outlier=1.0, steady=None):
            """outlier: so many times as long takes one run of the baseline. steady: the column of equal times."""
            slow = rng.uniform(4, 40) * rng.uniform(0.9, 1.1, repeats[0])
            slow[3] *= outlier
            fast = slow.mean() / factor * rng.uniform(0.85, 1.15, repeats[1])
            for times in (slow, fast):  # the first run is neither the fastest nor the median
                second = np.argsort(times)[-2]
                times[[0, second]] = times[[second, 0]]
            says = f"{repeats[0]} and {repeats[1]} runs" + (", slower than the baseline" if factor < 1 else "")
            if steady is not None:
                (slow, fast)[steady][:] = math.ceil(16 * slow[0]) / 16  # a number whose mean is itself
                says += f", the {('first', 'second')[steady]} all equally long"
            return Case(level, 1, (slow, fast), says=says, known={"slow": slow, "fast": fast}, rtol=EXACT, atol=0.0)

        return [
            case(speedup, (5, 5), 3.1),
            case(speedup, (4, 7), 0.6),
            case(speedup, (16, 5), 2.4, outlier=4.0),  # more than three standard deviations from the mean
            case(error, (6, 6), 5.3),
            case(error, (4, 8), 1.8),
            case(error, (7, 5), 1.3, steady=0),
            case(error, (5, 7), 1.3, steady=1),
            self._nearly_equal(error),
            self._few(error, [4, 5], [2, 2, 2]),
            self._few(error, [4.0, 4.0], [2.0, 2.0]),
        ]

    @staticmethod
    def _few(level, slow, fast):
        """The fewest runs. A clock may show whole seconds, and the same ones every time."""
        known = {"slow": np.array(slow), "fast": np.array(fast)}
        says = f"{listed(slow)} s and {listed(fast)} s"
        return Case(level, 1, tuple(known.values()), says=says, known=known, rtol=EXACT, atol=0.0)

    @staticmethod
    def _nearly_equal(level):
        """Columns of which a sum of squares does not tell how they differ."""
        slow, fast = NEARLY_EQUAL, NEARLY_EQUAL[:5] / 2 + 1e-4 * np.arange(5)
        known = {"slow": slow, "fast": fast, "nearly_equal": True}
        says = "8 and 5 runs, nearly equal times"
        return Case(level, 1, (slow, fast), says=says, known=known, rtol=EXACT, atol=0.0)

    def right(self, case):
        slow, fast = case.known["slow"], case.known["fast"]
        value = slow.mean() / fast.mean()
        return value, value * math.hypot(standard_error(slow) / slow.mean(), standard_error(fast) / fast.mean())

    def worked(self, case):
        """Besides, of slow and fast: the numbers of runs n and m, the relative errors a and b, with ddof=0 a_0 and
        b_0."""
        c = super().worked(case)
        c.n, c.m = len(c.slow), len(c.fast)
        c.a, c.b = (standard_error(times) / times.mean() for times in (c.slow, c.fast))
        c.a_0, c.b_0 = c.a * math.sqrt((c.n - 1) / c.n), c.b * math.sqrt((c.m - 1) / c.m)
        return c

    def degrees_of_freedom(self, c):
        return c.n - 1, c.m - 1, c.n + c.m - 2, min(c.n, c.m) - 1

    def read(self, c, value, error):
        pairs = np.divide(*shortened(c))
        if not close(value, c.value):
            ways = ("mean_of_ratios", pairs.mean()), ("mean_of_ratios", np.mean(c.slow[:, None] / c.fast))
            return next((name for name, wrong in ways if close(value, wrong)), None)
        if math.isnan(error) and not c.error:
            return "ratio_of_errors"  # 0 / 0
        ways = (
            ("absolute_errors", standard_error(c.slow)),
            ("absolute_errors", standard_error(c.fast)),
            ("mean_of_ratios", standard_error(pairs)),
            ("mean_of_ratios", np.std(pairs, ddof=1)),
            ("same_n", c.value * math.hypot(c.a * math.sqrt(c.n / c.m), c.b) if c.n != c.m else math.nan),
            ("ddof_0", c.value * math.hypot(c.a_0, c.b)),
            ("ddof_0", c.value * math.hypot(c.a, c.b_0)),
        )
        return next((name for name, wrong in ways if close(error, wrong)), None) if c.both else None


# Tables of ranks and global batches that are nearly of another kind.
ALMOST = [
    # as many images more for each rank more, but not on each
    ([1, 2, 4], [100, 150, 250]),
    ([1, 2], [100, 150]),
    # nearly the same is not the same
    ([1, 3, 5], [256, 255, 255]),
    ([2, 4, 8], [2048, 4095, 8191]),
    # the same, but not to the last bit when its mean is taken, or when it is multiplied by the ranks
    ([13, 26, 39], [70, 140, 210]),
]


class ScalingEfficiency(Exercise):
    """Scaling efficiency, strong or weak"""

    signature = "scaling_efficiency(world_sizes, global_batch_sizes, step_seconds) -> (kind, efficiencies)"
    runtime = "plain"
    levels = {"fixed global batch": 1, "fixed local batch": 1, "neither, or no run on one rank": 1}
    may_lose = {
        "int64": "numbers of ranks and sizes of batches are small",
        "integers of both widths": "numbers of ranks enter quotients, whatever their width",
    }
    harness = harness_of(__file__, "scaling_efficiency")
    mistakes = [
        Mistake("strong_weak_swapped", "Strong and weak are swapped. Strong: the problem stays, and more ranks share "
                "it. Weak: each rank's part stays.",
                "The same global batch in every row is strong scaling, the same local batch is weak.",
                lambda c: {"strong": ("weak", c.right), "weak": ("strong", c.right)}.get(c.kind)),
        Mistake("neither_overlooked", "Neither the global nor the local batch stays the same from row to row: this is "
                "neither strong nor weak scaling.",
                "Test both conditions on all rows.", lambda c: ("strong", c.right) if c.kind == "neither" else None),
        Mistake("whole_batches_only", "The local batch is the same in all rows, and no whole number. That is weak "
                "scaling, too.",
                "Compare global batch / ranks unrounded, whole or not, with `np.allclose`: the last bit of a quotient "
                "may differ.",
                lambda c: ("neither", c.right) if c.kind == "weak" and np.any(c.batches % c.ranks) else None),
        Mistake("needs_one_rank", "No row of this table has one rank, and the answer needs one.",
                "Compare with the first row, however many ranks it has: neither the kind nor the efficiencies need "
                "a run on one rank.",
                lambda c: ("neither", c.right) if c.ranks[0] > 1 and c.kind != "neither" else None),
        Mistake("kind_missing", "The kind is missing: only numbers were returned.",
                "Return the kind and the efficiencies."),
        Mistake("unknown_kind", "The kind is not one of the three words.", 'Return "strong", "weak" or "neither".'),
        Mistake("time_ratio", "You compared the seconds and divided by the ranks, as if the work were the same in "
                "every row. Here it is not: a step with more images may take longer.",
                "Compare images per second, global_batch / step_seconds: that is right for every kind.",
                lambda c: c.seconds[0] / c.seconds / c.more),
        Mistake("not_divided", "This is the speedup. Efficiency is what each rank contributes to it.",
                "Divide by how many times more ranks than in the first row there are.", lambda c: c.right * c.more),
        Mistake("time_ratio_not_divided", "You compared the seconds only. That is right if each rank keeps its part of "
                "the work, and here it does not.",
                "Compare images per second, global_batch / step_seconds, and divide by the ranks.",
                lambda c: c.seconds[0] / c.seconds),
        Mistake("upside_down", "The efficiency is upside down: it grows where ranks are wasted.",
                "Row over first row, in images per second.", lambda c: 1 / c.right),
        Mistake("first_row_on_one_rank", "You divided by the ranks as if the first row had used a single one: it would "
                "then not have efficiency 1 itself.",
                "Divide by world_sizes / world_sizes[0].", lambda c: c.right / c.ranks[0]),
        Mistake("throughput", "These are images per second.",
                "Divide by the first row's and by world_sizes / world_sizes[0].", lambda c: c.batches / c.seconds),
        Mistake("throughput_per_rank", "These are images per second and rank.",
                "Divide by the first row's.", lambda c: c.per_rank),
        Mistake("percent", "The efficiency is given in percent.", "1.0 means perfect.", lambda c: 100 * c.right),
        Mistake("previous_row", "Each row was compared with the row before it.",
                "Compare every row with the first one.", lambda c: np.append(1.0, c.per_rank[1:] / c.per_rank[:-1])),
        Mistake("ranks_counted_twice", "The ranks were divided out twice.",
                "Either compare images per second of all ranks and divide by the ranks, or compare images per second "
                "and rank.", lambda c: c.right / c.more),
        Mistake("best_row", "Each row was compared with the best one.",
                "Compare every row with the first one.", lambda c: c.right / c.right.max()),
        Mistake("doubling_assumed", "The ranks were taken to double from row to row. In this table they do not.",
                "Divide by world_sizes / world_sizes[0].", lambda c: c.right * c.more / 2.0 ** np.arange(len(c.ranks))),
        Mistake("ranks_divided_whole", "The ranks were divided without a fraction: 3 ranks are 1.5 times as many as 2.",
                "`/`, not `//`.", lambda c: c.right * c.more / (c.ranks // c.ranks[0])),
        Mistake("clipped", "An efficiency above 1 was cut off. More than perfect is a finding: something besides the "
                "ranks has changed.",
                "Return what the formula gives.", lambda c: np.minimum(c.right, 1)),
        Mistake("without_first_row", "The first row is missing: its efficiency is 1.",
                "One efficiency for each row.", lambda c: c.right[1:]),
        Mistake("swapped", "The two answers are swapped.", "Return the kind first.", lambda c: (c.right, c.kind)),
        *LOST_DIGITS,
    ]  # fmt: skip

    def cases(self, rng):
        strong, weak, other = self.levels

        def case(level, ranks, batches, says, superlinear=False, whole=False):
            """superlinear: the second row keeps more than all of the first row's images per second and rank. whole:
            the seconds are integers."""
            ranks, batches = np.array(ranks), np.array(batches)
            kept = rng.uniform(0.75, 0.93) ** np.arange(len(ranks))
            if superlinear:
                kept[1], says = rng.uniform(1.05, 1.2), f"{says}, superlinear"
            seconds = batches / (rng.uniform(200, 900) * ranks * kept)
            if whole:
                seconds = np.ceil(10 * seconds).astype(np.int64) | 1  # odd: no whole images per second
            known = {"ranks": ranks, "batches": batches, "seconds": seconds}
            return Case(level, 1, (ranks, batches, seconds), says=says, known=known, rtol=EXACT, atol=0.0)

        return [
            case(strong, [1, 2, 4, 8], [256] * 4, "ranks 1, 2, 4, 8, global batch 256"),
            case(strong, [1, 2, 4], [256] * 3, "ranks 1, 2, 4, global batch 256, whole seconds", whole=True),
            case(strong, [1, 3, 5], [120] * 3, "ranks 1, 3, 5, global batch 120", superlinear=True),
            case(weak, [1, 2, 4, 8], [64, 128, 256, 512], "ranks 1, 2, 4, 8, local batch 64"),
            case(weak, [1, 3, 6], [50, 150, 300], "ranks 1, 3, 6, local batch 50", superlinear=True),
            case(other, [2, 4, 16], [64, 128, 512], "ranks 2, 4, 16, local batch 32"),
            case(other, [2, 3, 8], [240] * 3, "ranks 2, 3, 8, global batch 240", superlinear=True),
            case(other, [2, 4, 8], [63, 126, 252], "ranks 2, 4, 8, local batch 31.5"),
            case(other, [1, 2, 4], [256, 384, 768], "ranks 1, 2, 4, global batches 256, 384, 768"),
            case(other, [1, 2, 4, 8], [128, 256, 512, 512], "ranks 1, 2, 4, 8, global batches 128, 256, 512, 512"),
            # 32 on each, if rounded down
            case(other, [2, 3, 4], [64, 98, 131], "ranks 2, 3, 4, global batches 64, 98, 131"),
            # 32 on each, rounded or rounded up
            case(other, [2, 3, 4], [64, 95, 127], "ranks 2, 3, 4, global batches 64, 95, 127"),
            # Only the rows in the middle tell; with the mean of the batches, the mean of the local batches, and the sum
            # as they should be.
            case(other, [1, 2, 4, 8], [256, 320, 192, 256], "ranks 1, 2, 4, 8, global batches 256, 320, 192, 256"),
            case(other, [1, 2, 4, 8], [64, 160, 192, 512], "ranks 1, 2, 4, 8, local batches 64, 80, 48, 64"),
            case(other, [1, 2, 4, 8], [64, 120, 264, 512], "ranks 1, 2, 4, 8, local batches 64, 60, 66, 64"),
            *(case(other, *table, "ranks {}, global batches {}".format(*map(listed, table))) for table in ALMOST),
        ]

    def worked(self, case):
        """The right answer: the `kind` and the efficiencies; `more`: how many times more ranks than in the first row
        there are; `per_rank`: images per second and rank."""
        c = super().worked(case)
        c.more, c.per_rank = c.ranks / c.ranks[0], c.batches / c.seconds / c.ranks
        c.right = c.per_rank / c.per_rank[0]
        strong, weak = np.all(c.batches == c.batches[0]), np.all(c.batches * c.ranks[0] == c.batches[0] * c.ranks)
        c.kind = "strong" if strong else "weak" if weak else "neither"
        return c

    def expected(self, case):
        c = self.worked(case)
        return [(c.kind, c.right)]

    def per_rank(self, case, value):
        """The answer with these efficiencies, whatever its kind; None where they are right."""
        if isinstance(value, tuple):
            return [value]
        right = self.worked(case).right
        return None if len(value) == len(right) and np.allclose(value, right, EXACT, 0) else [(ANYTHING, value)]

    def of_exception(self, case, kind, text):
        """A row of one rank was looked for, where there is none."""
        empty = any(part in text for part in ("not in list", "size 0", "(0,)", "empty", "list index out of range"))
        nothing = kind in ("IndexError", "ValueError") and empty or kind in ("KeyError", "StopIteration")
        return "needs_one_rank" if nothing and case.known["ranks"][0] > 1 else None

    def facts(self, case: Case, run: Run):
        value, c = run.ranks[0].value, self.worked(case)
        if not any(isinstance(one, str) for one in (value if isinstance(value, (tuple, list)) else [value])):
            return "kind_missing"
        if not isinstance(value, (tuple, list)) or len(value) != 2 or not isinstance(value[0], str):
            return None
        if value[0] not in ("strong", "weak", "neither"):
            return Finding("unknown_kind", f'It is "{value[0]}".')
        got = np.asarray(value[1], dtype=float)
        if c.ranks[0] > 1 and np.isnan(got).all():
            return "needs_one_rank"
        if got.shape == c.right.shape and not np.allclose(got, c.right, rtol=EXACT, atol=0):
            for whole in (np.floor(c.batches / c.seconds), np.round(c.batches / c.seconds)):
                if np.allclose(got, whole / whole[0] / c.more, rtol=EXACT):
                    return Finding("rounded", "To whole images per second.")
            return lost_digits(got.tolist(), c.right.tolist())
        return "neither_overlooked" if value[0] != c.kind == "neither" else None


ONE_RANK = "Return (math.nan, math.nan) if world_size is 1."


class SerialFraction(ValueAndError):
    """The serial fraction of a speedup"""

    signature = "serial_fraction(world_size, speedup, speedup_error) -> tuple[float, float]"
    levels = {"fraction": 1, "its standard error": 1, "one rank": 1}
    mistakes = [
        Mistake("not_normalised",
                "1/S - 1/p is only the numerator. For a run that does not get faster at all the fraction has to be 1.",
                "Divide by 1 - 1/p; or divide p/S - 1 by p - 1, not by p.", lambda c: 1 / c.s - 1 / c.p),
        Mistake("parallel_fraction", "This is the part that is shared, 1 - f.",
                "The serial fraction is what is left.", lambda c: 1 - c.value),
        Mistake("inverse_efficiency", "p/S - 1 is the extra time of all ranks together. f is that divided by p - 1.",
                "Divide by p - 1.", lambda c: c.p / c.s - 1),
        Mistake("lost_efficiency", "1 - S/p is the efficiency that was lost. Amdahl's f is smaller: even a little "
                "serial work idles all the other ranks.",
                "Solve S = 1 / (f + (1 - f) / p) for f.", lambda c: 1 - c.s / c.p),
        Mistake("gustafson", "This is Gustafson's fraction, of the time on p ranks. Karp and Flatt's is a fraction of "
                "the time on one rank.",
                "Solve S = 1 / (f + (1 - f) / p) for f.", lambda c: (c.p - c.s) / (c.p - 1)),
        Mistake("amdahl_backwards", "The speedup was put into Amdahl's law as if it were the fraction.",
                "Solve S = 1 / (f + (1 - f) / p) for f.", lambda c: 1 / (c.s + (1 - c.s) / c.p)),
        Mistake("speedup_upside_down", "The formula was computed with 1/S in the place of S.",
                "1/S, with S larger than 1 for a faster run.", lambda c: (c.s - 1 / c.p) / c.scale),
        Mistake("clipped", "A negative fraction was cut off at 0. A superlinear speedup is a finding: something is "
                "wrong with the baseline, or more than the number of ranks has changed.",
                "Return what the formula gives.", lambda c: 0.0 if c.value < 0 else None),
        Mistake("absolute_value", "The sign was taken away. A negative fraction says that the speedup is superlinear.",
                "Return what the formula gives.", lambda c: abs(c.value)),
        Mistake("percent", "The fraction is given in percent.", "1.0: nothing is shared.", lambda c: 100 * c.value),
        Mistake("largest_speedup", "1/f is the largest speedup, not f.", "Return f.",
                lambda c: 1 / c.value if c.value else None),
        SWAPPED,
        Mistake("zero_fraction", "With a perfect speedup the fraction is 0, and its error was taken to be 0, too, or "
                "computed with a division by the fraction.",
                "The slope gives the error, whatever the fraction is: error / S² / (1 - 1/p).",
                in_error(lambda c: 0.0 if c.value == 0 else math.nan)),
        Mistake("error_not_carried", "This is the error of the speedup. The fraction is a function of it, and its "
                "error is smaller or larger.",
                "Multiply by the slope: df/dS = -1 / (S² (1 - 1/p)).", in_error(lambda c: c.ds)),
        Mistake("slope_not_normalised", "The error lacks the division by 1 - 1/p.",
                "The whole fraction is divided by it, so its error is, too.", in_error(lambda c: c.ds / c.s**2)),
        Mistake("slope_of_first_power", "The slope of 1/S is 1/S², not 1/S.",
                "error / S² / (1 - 1/p).", in_error(lambda c: c.ds / c.s / c.scale)),
        Mistake("relative_kept", "You gave the fraction the relative error of the speedup. That holds for products and "
                "quotients; f is a difference, and where it is small its relative error is large.",
                "Multiply by the slope: error / S² / (1 - 1/p).", in_error(lambda c: abs(c.value) * c.ds / c.s)),
        Mistake("relative_kept_and_sign", "You gave the fraction the relative error of the speedup, and the sign of "
                "the fraction. That holds for products and quotients; f is a difference.",
                "Multiply by the slope: error / S² / (1 - 1/p).", in_error(lambda c: c.value * c.ds / c.s)),
        Mistake("relative_error", "This is the relative error of the fraction.",
                "Multiply it by the fraction.", in_error(lambda c: c.error / c.value if c.value else math.nan)),
        NEGATIVE.giving(in_error(lambda c: -c.error)),
        Mistake("inverse_of_error", "The error was put into the formula in the place of the speedup.",
                "Multiply by the slope: error / S² / (1 - 1/p).", in_error(lambda c: (1 / c.ds - 1 / c.p) / c.scale)),
        Mistake("difference", "You took the difference of the fractions at S and one error away, not the slope at S.",
                "error / S² / (1 - 1/p)."),
        INTERVAL,
        Mistake("ZeroDivisionError",
                "On one rank 1 - 1/p is 0: a run on one rank does not tell what could be shared.", ONE_RANK),
        Mistake("zero_on_one_rank", "On one rank the fraction is not 0, it is unknown: every f gives the speedup 1.",
                ONE_RANK, lambda c: (0.0, ANYTHING) if c.single else None),
        Mistake("one_on_one_rank", "On one rank the fraction is not 1, it is unknown: every f gives the speedup 1.",
                ONE_RANK, lambda c: (1.0, ANYTHING) if c.single else None),
        Mistake("infinite_on_one_rank", "On one rank it is not infinite, it is unknown: every f gives the speedup 1.",
                ONE_RANK, lambda c: (math.inf, ANYTHING) if c.single else None),
        Mistake("error_0_on_one_rank", "On one rank the error of the fraction is not 0, as if the fraction were known "
                "exactly: it is not known at all.", ONE_RANK, lambda c: (math.nan, 0.0) if c.single else None),
        Mistake("undefined_by_speedup", "The fraction was called undefined, or not, by its speedup. It is the number "
                "of ranks that decides: a run on p > 1 ranks has a fraction whatever it gained, and a run on one rank "
                "has none.",
                "Return (math.nan, math.nan) if world_size is 1, and only then.",
                lambda c: math.nan if c.value < 0 or c.value > 1 else None),
        Mistake("cut_off_at_1", "A fraction above 1 was cut off. It says that p ranks are slower than one.",
                "Return what the formula gives.", lambda c: 1.0 if c.value > 1 else None),
        Mistake("none_on_one_rank", "None cannot be drawn or averaged. A number that is not there is written nan.",
                ONE_RANK, lambda c: (None, None) if c.single else None),
        *LOST_DIGITS,
    ]  # fmt: skip

    def cases(self, rng):
        fraction, error, single = self.levels

        def case(level, p, efficiency):
            s = p * efficiency * float(rng.uniform(0.97, 1.03))
            ds = s * float(rng.uniform(0.01, 0.04))
            says = f"p = {p}, S = {s:.2f}" + (", superlinear" if efficiency > 1 else "")
            return Case(level, 1, (p, s, ds), says=says, known={"p": p, "s": s, "ds": ds}, rtol=EXACT, atol=0.0)

        return [
            case(fraction, 4, 0.8),
            case(fraction, 2, 0.7),
            case(fraction, 16, 0.35),
            case(fraction, 8, 1.15),
            case(fraction, 6, 0.13),  # slower than one rank
            Case(fraction, 1, (4, 1.0, 0.02), says="p = 4, S = 1.00", known={"p": 4, "s": 1.0, "ds": 0.02}),
            case(error, 8, 0.6),
            case(error, 3, 0.9),
            case(error, 4, 1.2),
            Case(single, 1, (1, 1.0, 0.03), says="p = 1, S = 1.00", known={"p": 1, "s": 1.0, "ds": 0.03}),
            # a run against itself, measured: not 0 / 0
            Case(single, 1, (1, 1.02, 0.03), says="p = 1, S = 1.02", known={"p": 1, "s": 1.02, "ds": 0.03}),
            Case(error, 1, (4, 4.0, 0.1), says="p = 4, S = 4.00, perfect", known={"p": 4, "s": 4.0, "ds": 0.1}),
        ]

    def right(self, case):
        p, s, ds = case.arguments
        if p == 1:
            return math.nan, math.nan
        return (1 / s - 1 / p) / (1 - 1 / p), ds / s**2 / (1 - 1 / p)

    def worked(self, case):
        """On one rank (`single`) p is not a number, and so is what is computed from it. `scale`: 1 - 1/p."""
        c = super().worked(case)
        c.single = c.p == 1
        c.p = math.nan if c.single else c.p
        c.scale = 1 - 1 / c.p
        return c

    def of_exception(self, case, kind, text):
        return "zero_fraction" if kind == "ZeroDivisionError" and case.known["p"] == case.known["s"] > 1 else None

    def read(self, c, value, error=math.nan):
        if c.single:
            return "infinite_on_one_rank" if math.isinf(value) else None
        if not c.both or not close(value, c.value):
            return None
        up, down = (abs(1 / (c.s + h) - 1 / c.s) / c.scale for h in (c.ds, -c.ds))
        return "difference" if any(close(abs(error), one) for one in (up, down, (up + down) / 2)) else None


def of_line(c: SimpleNamespace, constant: float, slope: float) -> tuple[float, float]:
    """Latency and seconds per byte of a link, from the line of an all-reduce's times in the bytes."""
    return constant / c.steps, slope * c.p / c.steps


def fit(
    c: SimpleNamespace, chosen: Any = slice(None), sizes: Any = None, degree: int = 1, power: float = 0
) -> tuple[float, float]:
    """Latency and time per byte by a polynomial fit to the chosen measurements, with weights 1 / seconds**power."""
    sizes, times = (c.sizes if sizes is None else sizes)[chosen], c.times[chosen]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no line joins two measurements of one size
        *_, slope, constant = np.polyfit(sizes, times, degree, w=times**-power)
    return of_line(c, constant, slope)


def power_law(c: SimpleNamespace) -> tuple[float, float] | None:
    if not c.sizes.all():
        return None
    slope, constant = np.polyfit(np.log(c.sizes / c.p), np.log(c.times / c.steps), 1)
    return math.exp(constant), float(slope)


class AlphaBetaFromRing(NumbersExercise):
    """Latency and bandwidth of a link, from all-reduces"""

    signature = "alpha_beta_from_ring(world_size, nbytes, seconds) -> tuple[float, float]"
    withheld = ("labkit.scaling.fit_ring",)
    levels = {"times of a ring": 1, "noisy times": 1}
    may_lose = {
        "float64": "times are measured to three digits or four, and so is the fit",
        "int64": "sizes of messages enter a fit, in floating point",
        "integers of both widths": "sizes of messages enter a fit, in floating point",
    }
    mistakes = [
        Mistake("line_only", "These are the two numbers of the line. A ring sends 2 (p - 1) messages one after the "
                "other, of nbytes / p each.",
                "alpha = constant / (2 (p - 1)), beta = slope * p / (2 (p - 1)).",
                lambda c: (c.constant, c.slope) if c.p > 2 else None),
        Mistake("alpha_of_all_messages", "alpha is that of the all-reduce. It pays the latency of 2 (p - 1) messages.",
                "Divide by 2 (p - 1).", lambda c: (c.constant, c.beta)),
        Mistake("beta_of_all_messages",
                "beta is that of the whole all-reduce. A port passes 2 (p - 1) / p bytes for each byte of the vector.",
                "Multiply the slope by p / (2 (p - 1)).", lambda c: (c.alpha, c.slope)),
        Mistake("beta_forgets_chunks", "beta was divided by the number of messages, as if each held the whole vector. "
                "It holds one chunk, nbytes / p.",
                "Multiply the slope by p / (2 (p - 1)).", lambda c: (c.alpha, c.slope / c.steps)),
        Mistake("one_way", "Half of the steps are missing: a ring goes round twice, to add up and to pass the sums on.",
                "2 (p - 1) steps.", lambda c: (2 * c.alpha, 2 * c.beta)),
        Mistake("p_for_p_minus_1", "One step too many in each half: p ranks are joined by p - 1 messages.",
                "2 (p - 1) steps of nbytes / p.", lambda c: (c.constant / (2 * c.p), c.slope / 2)),
        Mistake("one_message_more", "One message too many was counted: 2 p - 1, where there are 2 (p - 1).",
                "p - 1 messages to add up, and p - 1 to pass the sums on.",
                lambda c: (c.constant / (2 * c.p - 1), c.slope * c.p / (2 * c.p - 1))),
        Mistake("multiplied", "The line's numbers were multiplied by the steps. One message takes less than all.",
                "Divide.", lambda c: (c.constant * c.steps, c.slope * c.steps / c.p)),
        Mistake("tree", "These are the steps of a tree, 2 ceil(log2 p) of the whole vector.",
                "A ring: 2 (p - 1) steps of nbytes / p.", lambda c: (c.constant / c.tree, c.slope / c.tree)),
        Mistake("chunks_multiplied", "The bytes were multiplied by p: no rank ever sends more than the vector has.",
                "A message has nbytes / p bytes.", lambda c: (c.alpha, c.beta / c.p**2)),
        Mistake("power_law", "A straight line was fitted to the logarithms: that is a power law. alpha + n beta is a "
                "line in n itself.",
                "Fit seconds against bytes; the weights 1 / seconds do what the logarithms were to do.", power_law),
        Mistake("swapped", "You returned (beta, alpha). `np.polyfit` gives the slope first.",
                "Return alpha first.", lambda c: (c.beta, c.alpha)),
        Mistake("swapped_line", "Slope for alpha, constant for beta: `np.polyfit` gives the slope first.",
                "beta comes from the slope, alpha from the constant.",
                lambda c: (c.slope / c.steps, c.constant * c.p / c.steps)),
        Mistake("bandwidth", "The second number is the bandwidth; beta is its inverse, seconds per byte.",
                value=lambda c: (c.alpha, 1 / c.beta)),
        Mistake("bits", "beta is given per bit. A byte has 8 of them.",
                "Seconds per byte: leave out the 8.", lambda c: (c.alpha, c.beta / 8)),
        Mistake("bytes_for_bits", "beta was multiplied by 8. The sizes are bytes already.",
                "Seconds per byte: leave out the 8.", lambda c: (c.alpha, c.beta * 8)),
        Mistake("float32_elements", "beta is per number of 4 bytes. The sizes are bytes already.",
                "Do not divide nbytes by 4.", lambda c: (c.alpha, c.beta * 4)),
        Mistake("microseconds", "Both numbers should be in seconds. You returned microseconds.",
                "Leave the seconds as they are.", lambda c: (1e6 * c.alpha, 1e6 * c.beta)),
        Mistake("alpha_in_microseconds", "alpha is in microseconds and should be in seconds.",
                "Leave the seconds as they are.", lambda c: (1e6 * c.alpha, c.beta)),
        Mistake("smallest_vector", "alpha was taken from the smallest vector, which still contains its bytes.",
                "Fit a line: alpha comes from where it meets size 0.",
                lambda c: (c.times.min() / c.steps, c.beta) if c.exact else None),
        Mistake("through_zero", "beta comes from time divided by size, as if an empty vector took no time.",
                "Fit a line with both numbers free.",
                lambda c: (c.alpha, np.mean(c.times / c.sizes) * c.p / c.steps)
                if c.exact and c.sizes.all() else None),
        Mistake("two_points", "The line goes through two measurements only, with their disturbances.",
                "Fit all of them, for example with `np.polyfit(nbytes, seconds, 1)`.",
                lambda c: None if c.exact else fit(c, [0, -1])),
        Mistake("not_all_measurements", "A measurement was left out of the fit. Each says something about the line.",
                "Fit all of them, for example with `np.polyfit(nbytes, seconds, 1)`."),
        Mistake("more_than_a_line",
                "A parabola was fitted. The time of a ring is a line in the bytes: constant and slope, nothing else.",
                "`np.polyfit(nbytes, seconds, 1)`: the 1 is the degree."),
        Mistake("slopes_averaged", "The slopes between neighbours, or between all pairs, were averaged, or their "
                "median was taken. Neighbours are close together, so their disturbances make steep slopes.",
                "Fit all of them by least squares, for example with `np.polyfit(nbytes, seconds, 1)`."),
        Mistake("sorted_apart", "Sizes and times were sorted separately. Noise can make a smaller vector take longer; "
                "then a time no longer belongs to its size.",
                "A line of least squares needs no order; to sort, take `np.argsort(nbytes)` for both."),
        Mistake("whole_chunks", "The bytes of a message were rounded to whole ones. The model counts nbytes / p.",
                "`/`, not `//`.", lambda c: fit(c, sizes=c.sizes // c.p * c.p, power=1) if c.exact else None),
        Mistake("below_zero", "alpha has lost its sign. Where latency is small beside the scatter, a fit may give an "
                "alpha below 0; its magnitude is nobody's latency.",
                "Return it as it is, or 0.", lambda c: (abs(c.alpha), c.beta) if c.alpha < 0 else None),
    ]  # fmt: skip

    def cases(self, rng):
        exact, scattered = self.levels
        found = []
        for level, p in ((exact, 2), (exact, 4), (exact, 5), (scattered, 3), (scattered, 6)):
            alpha, beta = float(rng.uniform(2e-6, 9e-6)), float(rng.uniform(0.5e-10, 4e-10))
            if p == 5:
                beta *= 1e3  # a slow link: its vectors are so small that the fraction of a byte of a chunk counts
            constant, slope = 2 * (p - 1) * alpha, 2 * (p - 1) / p * beta
            n = constant / slope  # the size at which latency and transfer cost the same
            if level == scattered:
                sizes = np.round(n * np.linspace(0.5, 4.5, 61)).astype(np.int64)
                times = self._scattered(rng, sizes, constant + slope * sizes)
                says, rtol = f"p = {p}, 61 sizes, times that scatter", 0.08
            else:
                sizes = np.round(n * np.array([0.4, 1, 2, 4, 8, 16])).astype(np.int64)
                if p == 4:
                    sizes = sizes[[3, 0, 3, 5, 2, 1, 4]]  # another order, one size measured twice
                if p == 5:
                    sizes = sizes // p * p + np.array([4, 1, 3, 2, 4, 1])
                times, says, rtol = constant + slope * sizes, f"p = {p}, {len(sizes)} sizes", 1e-8
            known = {"p": p, "alpha": alpha, "beta": beta, "sizes": sizes, "times": times}
            found.append(Case(level, 1, (p, sizes, times), says, known=known, rtol=rtol, atol=0.0))
        return [
            *found,
            self._by_satellite(exact),
            self._by_modem(exact),
            self._twice(scattered),
            *self._further(exact, scattered),
        ]

    @staticmethod
    def _further(exact: str, scattered: str) -> Iterator[Case]:
        """Two sizes, of which one is 0; squares of sizes that leave 64 bits; each size measured three times, once much
        too slow: lines of any weights lie up to 3 % below the mean, the line of the medians 6 %."""
        for level, p, alpha, beta, sizes, says in (
            (exact, 3, 1.0, 0.25, [0, 6], "p = 3, 2 sizes, one of them 0"),
            (exact, 2, 1e-3, 1e-10, [10**9, 2 * 10**9, 4 * 10**9], "p = 2, 3 sizes, gigabytes"),
            (
                scattered,
                3,
                5e-6,
                2e-10,
                3 * [10**4, 4 * 10**4, 10**5, 6 * 10**5],
                "p = 3, 4 sizes, each measured 3 times",
            ),
        ):
            known = {"p": p, "alpha": alpha, "beta": beta, "sizes": np.array(sizes)}
            known["times"] = 2 * (p - 1) * (alpha + known["sizes"] / p * beta)
            if level == scattered:
                known["times"] *= np.repeat([1.12, 0.94, 0.94], 4) / 0.986
                known["twice"] = True
            arguments, rtol = (p, known["sizes"], known["times"]), 1e-8 if level == exact else 0.036
            yield Case(level, 1, arguments, says, known=known, rtol=rtol, atol=0.0)

    @staticmethod
    def _by_satellite(level: str) -> Case:
        """Times of more than a second, of which the inverse, rounded down, weighs nothing."""
        known = {"p": 3, "alpha": 0.27, "beta": 4e-7, "sizes": 10**5 * np.array([1, 3, 10, 40, 100])}
        known["times"] = 4 * (known["alpha"] + known["sizes"] / 3 * known["beta"])
        arguments, says = (3, known["sizes"], known["times"]), "p = 3, 5 sizes, by satellite: seconds"
        return Case(level, 1, arguments, says, known=known, rtol=1e-8, atol=0.0)

    @staticmethod
    def _by_modem(level: str) -> Case:
        """Times of which a line fits an alpha below 0: that number or 0 is right, its magnitude or no number is not."""
        known = {"p": 4, "alpha": -2e-6, "beta": 4e-4, "sizes": np.array([100, 300, 1000, 4000])}
        known["times"] = 6 * (known["alpha"] + known["sizes"] / 4 * known["beta"])
        arguments, says = (4, known["sizes"], known["times"]), "p = 4, 4 sizes, an alpha below 0"
        return Case(level, 1, arguments, says, known=known, rtol=1e-8, atol=3e-6)

    @staticmethod
    def _twice(level: str) -> Case:
        """Each size measured twice, 9.5 % above the line and 9.5 % below: a fit to half of them misses the line."""
        known = {"p": 2, "alpha": 5e-6, "beta": 2e-10, "sizes": np.tile(10**4 * np.array([1, 4, 10, 25, 60, 100]), 2)}
        known["times"] = 2 * (known["alpha"] + known["sizes"] / 2 * known["beta"]) * np.repeat([1.095, 0.905], 6)
        known["twice"] = True  # whose scatter cancels: a parabola gives the same line
        arguments, says = (2, known["sizes"], known["times"]), "p = 2, 6 sizes, each measured twice"
        return Case(level, 1, arguments, says, known=known, rtol=0.08, atol=0.0)

    @staticmethod
    def _scattered(rng, sizes: np.ndarray, line: np.ndarray) -> np.ndarray:
        """Times that scatter about `line` by some 2 %, those at both ends by 10 % and more. No two lines of least
        squares with different weights agree, but all come within a few per cent of `line`: the errors add up to nothing
        for the usual weights, to first order.
        """
        x, y = sizes / sizes.mean(), line / line.mean()
        errors = rng.uniform(0.01, 0.02, len(line)) * np.where(np.arange(len(line)) % 2, 1, -1)
        errors[[0, 1, -2, -1]] = 0.15, -0.05, 0.05, -0.15
        rules = np.array([y * y**-power * x**k for power in (0.0, 1.0, 2.0) for k in (0, 1)])
        rules /= np.linalg.norm(rules, axis=1, keepdims=True)
        return line * (1 + errors - np.linalg.lstsq(rules, rules @ errors, rcond=1e-12)[0])

    def expected(self, case):
        return [(case.known["alpha"], case.known["beta"])]

    def worked(self, case):
        """Besides: the `constant` and the `slope` of the line, the `steps` of a ring and of a `tree`."""
        c = super().worked(case)
        c.exact, c.steps, c.tree = case.level == "times of a ring", 2 * (c.p - 1), 2 * (c.p - 1).bit_length()
        c.constant, c.slope = c.steps * c.alpha, c.steps / c.p * c.beta
        return c

    def facts(self, case: Case, run: Run):
        """A mistake in one number beside another mistake in the other: the first one is named."""
        got, right = numbers(run), self.expected(case)[0]
        if len(got) != 2:
            return None
        is_right = all(math.isclose(*pair, rel_tol=case.rtol) for pair in zip(got, right, strict=True))
        name = None if is_right and case.known.get("twice") else self._fitted(case, got)
        if name or is_right:
            return name
        for name, wanted in self.misconceptions(case).items():
            for g, wrong, r in zip(got, wanted[0], right, strict=True) if wanted and name != "two_points" else ():
                if math.isclose(g, wrong, rel_tol=case.rtol) and not math.isclose(wrong, r, rel_tol=case.rtol):
                    return name
        return None

    def _fitted(self, case, got) -> str | None:
        """A line that was fitted to something else than all measurements by least squares, whatever the weights
        were."""
        c = self.worked(case)
        if c.exact and c.sizes[0] == c.sizes[-1] and not np.isfinite(got).all():
            return "slopes_averaged"
        tolerance = case.rtol if c.exact else 1e-6
        for name, answer in exact_fits(c) if c.exact else scattered_fits(c, got):
            if all(math.isclose(g, a, rel_tol=tolerance) for g, a in zip(got, answer, strict=True)):
                return name
        return None


WEIGHTS = (0, 0.5, 1, 2)


def exact_fits(c: SimpleNamespace) -> Iterator[tuple[str, tuple]]:
    """(name, what it gives) of wrong fits to times on a line."""
    if c.sizes[0] == c.sizes[-1]:
        yield "two_points", fit(c, [0, -1])
    for power in WEIGHTS if len(c.sizes) == 2 else ():
        yield "more_than_a_line", fit(c, degree=2, power=power)
    if np.any(c.sizes % c.p):
        for power in WEIGHTS:
            yield "whole_chunks", fit(c, sizes=c.sizes // c.p * c.p, power=power)


def scattered_fits(c: SimpleNamespace, got: list[float]) -> Iterator[tuple[str, tuple]]:
    """(name, what it gives) of wrong fits to times that scatter."""
    apart = SimpleNamespace(**vars(c) | {"times": np.sort(c.times)})
    for power in WEIGHTS:
        yield "sorted_apart", fit(apart, power=power)
        yield "more_than_a_line", fit(c, degree=2, power=power)
        half = len(c.sizes) // 2
        for part in (slice(1, None), slice(-1), slice(1, -1), slice(half), slice(half, None)):
            yield "not_all_measurements", fit(c, part, power=power)
    sizes = np.unique(c.sizes)
    if len(sizes) < len(c.sizes):
        of_each = [c.times[c.sizes == size] for size in sizes]
        for pick, power in itertools.product((np.median, np.min), WEIGHTS):
            times = np.array([pick(times) for times in of_each])
            yield (
                "not_all_measurements",
                fit(SimpleNamespace(**vars(c) | {"sizes": sizes, "times": times}), power=power),
            )
        return
    k, j = np.triu_indices(len(c.sizes), 1)
    neighbours = np.diff(c.times) / np.diff(c.sizes)
    every = np.median((c.times[j] - c.times[k]) / (c.sizes[j] - c.sizes[k]))
    for mean, slope in ((np.median, every), (np.mean, neighbours.mean()), (np.median, np.median(neighbours))):
        yield "slopes_averaged", of_line(c, mean(c.times - slope * c.sizes), slope)
    yield "smallest_vector", (c.times.min() / c.steps, got[1])
    yield "through_zero", (got[0], np.mean(c.times / c.sizes) * c.p / c.steps)


RING = "2 (p - 1) messages of n / p bytes."


class StepSeconds(NumbersExercise):
    """The time of a training step, predicted"""

    signature = (
        "step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden) -> float"
    )
    levels = {"no overlap": 1, "communication overlapped with computation": 1}
    mistakes = [
        Mistake("global_batch_on_each", "Every rank computed the whole global batch. The ranks share it.",
                "A rank's part is global_batch_size / world_size.", lambda c: {"share": c.batch}),
        Mistake("perfect_overlap", "The longer of the two was taken, as if communication could run during all of the "
                "step. It cannot begin before the first gradients are there.",
                "It can hide behind hidden * computation, not behind all.", lambda c: {"overlap": "perfect_overlap"}),
        Mistake("communication_only", "The computation is missing.",
                "The step takes the computation and what is not hidden.", lambda c: {"overlap": "communication_only"}),
        Mistake("nothing_hidden", "All of the communication was added, although some of it can hide.",
                "What does not fit behind hidden * computation is added.", lambda c: {"overlap": "nothing_hidden"}),
        Mistake("negative_rest", "More was hidden than there was: the step became shorter than its computation.",
                "What is left over is never less than 0: max(0, ...).", lambda c: {"overlap": "negative_rest"}),
        Mistake("fraction_of_communication", "A fraction of the communication was taken away, however long it lasts. "
                "`hidden` is a fraction of the computation: what does not fit behind that is not hidden.",
                "max(0, communication - hidden * computation).", lambda c: {"overlap": "fraction_of_communication"}),
        Mistake("exposed_part", "Communication was hidden behind 1 - hidden of the computation.",
                "It can hide behind hidden * computation.", lambda c: {"overlap": "exposed_part"}),
        Mistake("parameters_for_bytes", "A parameter was taken for one byte. A float32 has four.",
                "The gradients have 4 * parameters bytes.", lambda c: {"size": 1}),
        Mistake("float64", "A parameter was taken for 8 bytes. A float32 has four.",
                "The gradients have 4 * parameters bytes.", lambda c: {"size": 8}),
        Mistake("bits", "A factor of 8 for bits was included. beta is seconds per byte, and a float32 has 4 bytes.",
                "The gradients have 4 * parameters bytes.", lambda c: {"size": 32}),
        Mistake("one_way", "A ring goes round twice: once to add up, once to pass the sums on.",
                "2 (p - 1) messages of n / p bytes.", lambda c: {"messages": c.p - 1}),
        Mistake("p_for_p_minus_1", "One step too many in each half of the ring: p ranks are joined by p - 1 messages.",
                "2 (p - 1) messages.", lambda c: {"messages": 2 * c.p}),
        Mistake("whole_vector_each_step", "In a ring a message holds one chunk, not all gradients.",
                "2 (p - 1) messages of n / p bytes.", lambda c: {"chunk": 1.0}),
        Mistake("latency_once", "The latency was counted once.",
                "Each of the 2 (p - 1) messages pays it.", lambda c: {"latencies": 1} if c.p > 1 else None),
        Mistake("no_latency", "The latency is missing.", "Each message pays alpha.", lambda c: {"latencies": 0}),
        Mistake("tree", "These are the steps of a tree.",
                "2 (p - 1) messages of n / p bytes.", lambda c: {"messages": 2 * (c.p - 1).bit_length(), "chunk": 1.0}),
        Mistake("one_message", "The gradients were sent once, as one message.",
                "An all-reduce as a ring: 2 (p - 1) messages of n / p bytes.", lambda c: {"messages": 1, "chunk": 1.0}),
        Mistake("floor_share", "The share of a rank was rounded down, or to the nearest whole number. The ranks that "
                "got one image more are the ones the others wait for.",
                "The largest share: ceil(global_batch_size / world_size).", lambda c: {"share": c.batch // c.p}),
        Mistake("rest_on_one_rank", "One rank got all of the images that are left over. Dealt out evenly, no rank has "
                "more than one image more than another.",
                "The largest share: ceil(global_batch_size / world_size).",
                lambda c: {"share": c.batch // c.p + c.batch % c.p}),
        Mistake("fraction_of_an_image",
                "No rank computes a fraction of an image: some have one more than others, and all wait for them.",
                "The largest share: ceil(global_batch_size / world_size).", lambda c: {"share": c.batch / c.p}),
        Mistake("one_image_more", "The largest share was taken to be one image more than the others', also where the "
                "batch divides by the ranks.",
                "ceil(global_batch_size / world_size), which is the quotient itself where it is whole.",
                lambda c: {"share": c.batch // c.p + 1}),
        Mistake("two_thirds_at_most", "`hidden` was cut off at two thirds. That is what a backward pass usually "
                "allows; the function takes what it is given.",
                "Use hidden as it is.", lambda c: {"hidden": min(c.hidden, 2 / 3)}),
        Mistake("whole_chunks", "The chunks of the ring were rounded to whole numbers. The model counts 1/p of the "
                "bytes, whatever that is.",
                "n / p, without rounding.", lambda c: {"chunk": c.parameters // c.p / c.parameters}),
        Mistake("no_communication", "The communication is missing.",
                "Add the time of a ring all-reduce, or what of it is not hidden.", lambda c: {"ring": 0.0}),
        Mistake("images_per_second", "These are images per second.", "Return seconds.", lambda c: c.batch / c.right),
        Mistake("milliseconds", "The number is right, but not in seconds.", "Return seconds.", lambda c: c.right * 1e3),
        *LOST_DIGITS,
    ]  # fmt: skip

    def cases(self, rng):
        plain, overlapped = self.levels

        def case(level, p, batch, hidden, part, says, sixties=40_000):
            """part: communication as a multiple of computation. The parameters never divide by 2, 3 or 5: chunks are no
            whole numbers."""
            per_image = float(rng.uniform(1e-4, 9e-4))
            alpha, parameters = float(rng.uniform(4e-6, 9e-6)), int(rng.integers(sixties, 2 * sixties)) * 60 + 7
            compute = math.ceil(batch / p) * per_image
            beta = max(part * compute - 2 * (p - 1) * alpha, 0.2 * part * compute) / (
                8 * parameters * max(p - 1, 1) / p
            )
            known = {"p": p, "batch": batch, "per_image": per_image, "parameters": parameters}
            known |= {"alpha": alpha, "beta": beta, "hidden": hidden}
            return Case(level, 1, tuple(known.values()), says=says, known=known, rtol=EXACT, atol=0.0)

        return [
            case(plain, 1, 48, 0.0, 0.5, "p = 1, global batch 48, hidden = 0"),
            # 369 / 123 is 3, but 369 * (1 / 123) a little more
            case(plain, 123, 369, 0.0, 1.4, "p = 123, global batch 369, hidden = 0"),
            case(plain, 5, 64, 0.0, 0.7, "p = 5, global batch 64, hidden = 0"),
            case(plain, 5, 62, 0.0, 0.9, "p = 5, global batch 62, hidden = 0"),  # less than half an image is left over
            case(plain, 2, 31, 0.0, 0.8, "p = 2, global batch 31, hidden = 0"),
            case(plain, 8, 5, 0.0, 1.2, "p = 8, global batch 5, hidden = 0"),  # who has no image adds up, too
            # so much communication that even a quarter of it does not fit: the mistakes in its bytes can be seen
            case(overlapped, 1, 60, 0.5, 0.5, "p = 1, hidden = 0.5"),
            case(overlapped, 6, 360, 0.6, 3.3, "p = 6, hidden = 0.6, not all of it fits"),
            case(overlapped, 5, 102, 0.7, 1.7, "p = 5, global batch 102, hidden = 0.7, not all of it fits"),
            case(overlapped, 4, 40, 0.5, 2.1, "p = 4, few parameters, hidden = 0.5, not all of it fits", sixties=10),
            case(overlapped, 5, 320, 0.6, 0.23, "p = 5, hidden = 0.6, all of it fits"),
            case(overlapped, 4, 80, 1.0, 2.1, "p = 4, hidden = 1, not all of it fits"),
            case(overlapped, 8, 5, 0.5, 2.1, "p = 8, global batch 5, hidden = 0.5, not all of it fits"),
            self._large(plain),
        ]

    @staticmethod
    def _large(level):
        """Two images on one rank and one on each of 122; gradients whose bytes 32 bits do not count."""
        known = {"p": 123, "batch": 124, "per_image": 5e-4, "parameters": 12 * 10**8 + 7}
        known |= {"alpha": 5e-6, "beta": 1e-10, "hidden": 0.0}
        says = "p = 123, global batch 124, 1200000007 parameters, hidden = 0"
        return Case(level, 1, tuple(known.values()), says=says, known=known, rtol=EXACT, atol=0.0)

    def formula(self, case, overlap="right", **changed):
        """Source: as for labkit.scaling.step_time and ring_all_reduce_time."""
        c, get = SimpleNamespace(**case.known | changed), changed.get
        compute = get("share", math.ceil(c.batch / c.p)) * c.per_image
        messages, chunk = get("messages", 2 * (c.p - 1)), get("chunk", 1 / c.p) * get("size", 4) * c.parameters
        ring = get("ring", 1.0) * (get("latencies", messages) * c.alpha + messages * chunk * c.beta)
        return {
            "right": compute + max(0.0, ring - c.hidden * get("behind", compute)),
            "nothing_hidden": compute + ring,
            "perfect_overlap": max(compute, ring),
            "negative_rest": compute + ring - c.hidden * compute,
            "fraction_of_communication": compute + (1 - c.hidden) * ring,
            "exposed_part": compute + max(0.0, ring - (1 - c.hidden) * compute),
            "communication_only": max(0.0, ring - c.hidden * compute),
        }[overlap]

    def worked(self, case):
        return SimpleNamespace(**vars(super().worked(case)), right=self.formula(case))

    def expected(self, case):
        return [self.formula(case)]

    def facts(self, case: Case, run: Run):
        found, c = numbers(run), self.worked(case)
        if len(found) != 1 or close(got := found[0], c.right):
            return None
        for chunk in (
            math.ceil(c.parameters / c.p),
            4 * c.parameters // c.p / 4,
            math.ceil(4 * c.parameters / c.p) / 4,
        ):
            if close(got, self.formula(case, chunk=chunk / c.parameters)):
                return "whole_chunks"
        if lost := lost_digits((got,), (c.right,)):
            return lost
        if close(got, self.formula(case, behind=c.batch / c.p * c.per_image)):
            return Finding("fraction_of_an_image", "Behind which the communication was to hide.")
        if got == 0 or close(got, self.formula(case, share=0, hidden=0.0)):
            return "communication_only"
        return self.two_at_once(case, got)
