"""Unit 08, scaling: a throughput and a speedup with their errors, strong against weak scaling, Karp and Flatt, and a prediction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np

from autograder.exercise import ANYTHING, Case, Diagnosis, Exercise, Finding, Run

UNIT = "08_scaling"

SWAPPED = Diagnosis("The two answers are swapped.", "Return the value first, then its error.")
INTERVAL = Diagnosis(
    "The error was multiplied by a factor, as for a 95 % interval. The standard error itself is asked for.",
    "Leave 1.96 and Student's t to whoever draws the interval.",
)
SD_FOR_SE = Diagnosis(
    "This is the standard deviation: how far a single measurement scatters. A mean of n measurements scatters less.",
    "The standard error of a mean is s / sqrt(n).",
)
DDOF_0 = Diagnosis(
    "The standard deviation was divided by n, as numpy does unasked. Of a sample it is divided by n - 1.",
    "`np.std(x, ddof=1)`.",
)
RELATIVE = Diagnosis("This is the relative error, a fraction of the value.", "Multiply it by the value.")
VARIANCE = Diagnosis("The square root is missing.", "An error has the unit of its value; its square does not.")
NEGATIVE = Diagnosis("An error has no sign.", "Take the absolute value: the slope 1/S² is meant without its minus.")
ROUNDED = Diagnosis("The numbers were rounded.", "Return them as they are; round where they are printed.")


def listed(these) -> str:
    return ", ".join(str(one) for one in these)


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=0.0)


def numbers(run: Run) -> list[float]:
    """What a function returned, as floats. Raises TypeError or ValueError where it cannot be read so."""
    value = getattr(run.ranks[0].value, "values", run.ranks[0].value)
    if isinstance(value, (tuple, list)):
        return [float(np.asarray(getattr(one, "values", one)).reshape(())) for one in value]
    return [float(one) for one in np.asarray(value, dtype=float).ravel()]


def singles(formula: Callable, mistakes: Mapping[str, dict]) -> dict[str, float]:
    """What each mistake makes of the formula. mistakes: name -> the arguments that commit it."""
    return {name: formula(**changed) for name, changed in mistakes.items()}


def doubles(formula: Callable, mistakes: Mapping[str, dict], value: float) -> tuple[str, str] | None:
    """The two mistakes which together give `value`, or None. Two that change the same argument cannot be made together."""
    for (a, one), (b, other) in itertools.combinations(mistakes.items(), 2):
        if not one.keys() & other.keys() and close(formula(**one, **other), value):
            return a, b
    return None


def standard_error(x: np.ndarray) -> float:
    """s / sqrt(n), with n - 1 in s."""
    return float(np.std(x, ddof=1) / math.sqrt(len(x)))


class Throughput(Exercise):
    """Throughput and its error"""

    unit, function = UNIT, "throughput_with_error"
    signature = "throughput_with_error(local_batch_sizes, step_seconds, warmup) -> (images_per_second, standard_error)"
    runtime = "plain"
    levels = {"images per second": 1, "its standard error": 1}
    may_lose = {"float64": "seconds are measured to a few digits"}
    diagnoses = {
        "one_rank": Diagnosis(
            "These are the images of one rank. The ranks work at the same time, and all their images count.",
            "A step has sum(local_batch_sizes) images.",
        ),
        "mean_batch": Diagnosis(
            "These are the images of an average rank. The ranks work at the same time, and all their images count.",
            "A step has sum(local_batch_sizes) images.",
        ),
        "rank_0_times_p": Diagnosis(
            "Rank 0's batch was multiplied by the number of ranks, but the others' batches differ from it.",
            "A step has sum(local_batch_sizes) images.",
        ),
        "warmup_included": Diagnosis(
            "The warm-up steps are in it. The first steps load libraries and fill caches: they measure something else.",
            "Leave them out: step_seconds[warmup:].",
        ),
        "warmup_images_counted": Diagnosis(
            "The seconds of the warm-up steps were left out, but their images were counted.",
            "Count the steps after the cut: len(step_seconds[warmup:]).",
        ),
        "warmup_seconds_counted": Diagnosis(
            "The images of the warm-up steps were left out, but their seconds were counted.", "Cut first, then sum."
        ),
        "last_steps_dropped": Diagnosis("The last steps were left out instead of the first.", "step_seconds[warmup:]."),
        "drops_one_more": Diagnosis("One step too many was left out.", "`warmup` steps go: step_seconds[warmup:]."),
        "drops_one_less": Diagnosis("One step too few was left out.", "`warmup` steps go: step_seconds[warmup:]."),
        "drops_first_only": Diagnosis("Only the first step was left out.", "`warmup` steps go: step_seconds[warmup:]."),
        "mean_of_rates": Diagnosis(
            "You averaged the rates of the steps. A slow step then counts as much as a fast one, although it lasts longer, and "
            "the result is too high.",
            "All images divided by all seconds.",
        ),
        "median": Diagnosis(
            "This is the median step. It forgets the slow ones, and they happened.", "All images divided by all seconds."
        ),
        "fastest": Diagnosis(
            "This is the fastest step. Nobody trains at that speed for long.", "All images divided by all seconds."
        ),
        "one_step": Diagnosis(
            "The images of one step were divided by the seconds of all.", "Multiply by the number of counted steps."
        ),
        "images_of_all_steps_per_step": Diagnosis(
            "The images of all steps were divided by the seconds of one.", "Divide by the sum of the seconds."
        ),
        "upside_down": Diagnosis("These are seconds per image.", "Images divided by seconds."),
        "per_rank": Diagnosis(
            "The throughput was divided by the number of ranks.", "All ranks together are asked for: leave the sum as it is."
        ),
        "times_ranks": Diagnosis(
            "The number of ranks was counted twice.", "sum(local_batch_sizes) holds all ranks already: do not multiply again."
        ),
        "steps_per_second": Diagnosis("These are steps per second.", "Multiply by the images of a step."),
        "milliseconds": Diagnosis("The times are in seconds: there is nothing to convert.", "Images divided by seconds."),
        "swapped": SWAPPED,
        "sd_for_se": SD_FOR_SE,
        "sd_ddof_0": SD_FOR_SE,
        "ddof_0": DDOF_0,
        "divided_by_n": Diagnosis(
            "The standard deviation was divided by n. The scatter of a mean shrinks like the square root of n.",
            "s / sqrt(n).",
        ),
        "error_of_seconds": Diagnosis(
            "This is the error of the mean step time, in seconds. The error of a rate is in images per second.",
            "The relative errors are the same: rate * (standard error of the step time) / (mean step time).",
        ),
        "error_upside_down": Diagnosis(
            "Dividing the images by the error of the time does not give an error: the surer the time, the larger it gets.",
            "The relative errors are the same: rate * (standard error of the step time) / (mean step time).",
        ),
        "rate_over_root_n": Diagnosis(
            "Images divided by the scatter of the times is no error of the rate, and dividing that by sqrt(n) does not make it one.",
            "The relative errors are the same: rate * (standard error of the step time) / (mean step time).",
        ),
        "relative_error": RELATIVE,
        "relative_sd": Diagnosis(
            "This is the scatter of single steps as a fraction of their mean.",
            "Divide by sqrt(n), and multiply by the throughput.",
        ),
        "scatter_of_rates": Diagnosis(
            "This is the scatter of the steps' rates. The throughput is not the mean of these rates, so that is not its error.",
            "Take the standard error of the step time and carry it over: rate * error / mean.",
        ),
        "sd_of_rates": Diagnosis(
            "This is the standard deviation of the steps' rates: not the error of a mean, and not of this mean.",
            "Take the standard error of the step time and carry it over: rate * error / mean.",
        ),
        "error_with_warmup": Diagnosis(
            "The warm-up steps are in the error.", "Cut them off once, and compute both numbers from what is left."
        ),
        "n_with_warmup": Diagnosis(
            "The warm-up steps are counted in n.", "Cut them off once, and compute both numbers from what is left."
        ),
        "interval": INTERVAL,
        "variance": VARIANCE,
    }

    def cases(self, rng):
        rate, error = self.levels

        def case(level, batches, steps, warmup):
            seconds = rng.uniform(0.05, 0.2) * rng.uniform(0.9, 1.2, steps) * sum(batches) / 100
            seconds[:warmup] *= np.linspace(9, 2, warmup)
            says = f"batches {listed(batches)}, {steps} steps, warmup {warmup}"
            return Case(
                level,
                1,
                (list(batches), seconds, warmup),
                says=says,
                known={"batches": np.array(batches), "seconds": seconds, "warmup": warmup},
                atol=1e-12,
            )

        return [
            case(rate, [32], 9, 0),
            case(rate, [48, 48, 48, 48], 12, 3),
            case(rate, [40, 40, 24], 9, 2),
            case(error, [32, 32], 11, 0),
            case(error, [31, 28, 16, 25, 20], 10, 3),
        ]

    @staticmethod
    def _rate(case, images=None, counted=None, seconds=None, how="total", factor=1.0):
        """Images per second, with each choice open to a mistake."""
        batches, times, warmup = (case.known[k] for k in ("batches", "seconds", "warmup"))
        images = batches.sum() if images is None else images
        times = times[warmup:] if seconds is None else seconds
        counted = len(times) if counted is None else counted
        if how == "total":
            return factor * images * counted / times.sum()
        reduce = {"mean_of_rates": lambda t: 1 / np.mean(1 / t), "median": np.median, "fastest": np.min}[how]
        return factor * images / reduce(times)

    def _mistakes(self, case) -> dict[str, dict]:
        batches, times, warmup = (case.known[k] for k in ("batches", "seconds", "warmup"))
        p, counted = len(batches), len(times) - warmup
        found = {
            "mean_of_rates": {"how": "mean_of_rates"},
            "median": {"how": "median"},
            "fastest": {"how": "fastest"},
            "one_step": {"counted": 1},
            "images_of_all_steps_per_step": {"counted": counted**2},
            "milliseconds": {"factor": 1e3},
            "drops_one_more": {"seconds": times[warmup + 1 :]},
        }
        if p > 1:
            found["one_rank"] = {"images": batches[0]}
            found["times_ranks"] = {"images": batches.sum() * p}
        if len(set(batches.tolist())) > 1:
            found["mean_batch"] = {"images": batches.mean()}
            found["rank_0_times_p"] = {"images": batches[0] * p}
        if warmup:
            found["warmup_included"] = {"seconds": times}
            found["warmup_images_counted"] = {"counted": len(times)}
            found["warmup_seconds_counted"] = {"seconds": times, "counted": counted}
            found["last_steps_dropped"] = {"seconds": times[:-warmup]}
            found["drops_one_less"] = {"seconds": times[warmup - 1 :]}
            if warmup > 2:
                found["drops_first_only"] = {"seconds": times[1:]}
        return found

    def expected(self, case):
        rate, error = self._right(case)
        return [(rate, error if case.level == "its standard error" else ANYTHING)]

    def _right(self, case) -> tuple[float, float]:
        counted, rate = case.known["seconds"][case.known["warmup"] :], self._rate(case)
        return rate, rate * standard_error(counted) / counted.mean()

    def misconceptions(self, case):
        batches, times, warmup = (case.known[k] for k in ("batches", "seconds", "warmup"))
        rate, error = self._right(case)
        found = {
            name: (value, ANYTHING) for name, value in singles(lambda **c: self._rate(case, **c), self._mistakes(case)).items()
        }
        found["upside_down"] = (1 / rate, ANYTHING)
        found["steps_per_second"] = (rate / batches.sum(), ANYTHING)
        if case.level == "its standard error":
            found |= {name: (rate, value) for name, value in self._wrong_errors(batches.sum(), times, warmup).items()}
        found["swapped"] = (error, rate)
        names = [*self.diagnoses]
        names = [n for n in names if n not in ("per_rank", "interval")]
        return {name: [found[name]] if name in found else None for name in names}

    @staticmethod
    def _wrong_errors(images: int, times: np.ndarray, warmup: int) -> dict[str, float]:
        t = times[warmup:]
        n, mean, sd, rate = len(t), t.mean(), np.std(t, ddof=1), images / t.mean()
        error = rate * sd / mean / math.sqrt(n)
        found = {
            "sd_for_se": error * math.sqrt(n),
            "sd_ddof_0": error * math.sqrt(n - 1),
            "ddof_0": error * math.sqrt((n - 1) / n),
            "divided_by_n": error / math.sqrt(n),
            "error_of_seconds": sd / math.sqrt(n),
            "error_upside_down": images / (sd / math.sqrt(n)),
            "rate_over_root_n": images / (sd * math.sqrt(n)),
            "relative_error": error / rate,
            "relative_sd": sd / mean,
            "scatter_of_rates": standard_error(images / t),
            "sd_of_rates": np.std(images / t, ddof=1),
            "variance": error**2,
        }
        if warmup:
            found["error_with_warmup"] = rate * standard_error(times) / times.mean()
            found["n_with_warmup"] = error * math.sqrt(n / len(times))
        return {name: float(value) for name, value in found.items()}

    def facts(self, case: Case, run: Run):
        rate, error = self._right(case)
        got_rate, got_error = numbers(run)
        if close(got_rate, rate):
            if case.level != "its standard error":
                return None
            if close(-got_error, error):
                return Finding("interval", "An error has no sign.")
            factor = got_error / error
            return Finding("interval", f"It is {factor:.2f} standard errors.") if 1.5 < factor < 4.4 else None
        if close(got_rate * len(case.known["batches"]), rate):
            return "per_rank"
        both = doubles(lambda **c: self._rate(case, **c), self._mistakes(case), got_rate)
        return Finding(both[0], self.diagnoses[both[1]].why) if both else None


class SpeedupWithError(Exercise):
    """Speedup and its error"""

    unit, function = UNIT, "speedup_with_error"
    signature = "speedup_with_error(baseline_seconds, parallel_seconds) -> (speedup, standard_error)"
    runtime = "plain"
    levels = {"speedup": 1, "its standard error": 1}
    may_lose = {"float64": "seconds are measured to a few digits"}
    diagnoses = {
        "upside_down": Diagnosis(
            "The speedup is upside down: it falls where the run gets faster.",
            "Mean of the baseline over mean of the parallel run.",
        ),
        "fastest": Diagnosis(
            "You compared the fastest runs. A minimum has no standard error, and gets smaller the more often you measure.",
            "Compare the means.",
        ),
        "median": Diagnosis("You compared the medians.", "Compare the means: the error below is that of a mean."),
        "mean_of_ratios": Diagnosis(
            "You averaged ratios. The two columns are independent: the third run of one has nothing to do with the third of the "
            "other.",
            "Average first, divide then.",
        ),
        "ratio_of_sums": Diagnosis("You divided the sums, but the two were not measured equally often.", "Divide the means."),
        "saved_seconds": Diagnosis(
            "The seconds were subtracted: that is the time saved.", "How many times faster is a quotient of the means."
        ),
        "saved_fraction": Diagnosis(
            "This is the part of the time that was saved.", "How many times faster is a quotient of the means."
        ),
        "percent": Diagnosis("The speedup is given in percent.", "2.0 means twice as fast."),
        "first_runs": Diagnosis("You compared the first runs only.", "Compare the means of all of them."),
        "swapped": SWAPPED,
        "baseline_error_ignored": Diagnosis(
            "The error of the baseline is missing. It stands in every speedup that is computed from it.",
            "Both relative errors, added in squares.",
        ),
        "parallel_error_ignored": Diagnosis(
            "The error of the parallel run is missing.", "Both relative errors, added in squares."
        ),
        "added_linearly": Diagnosis(
            "The relative errors were added. Independent errors rarely conspire: they add up in squares.",
            "math.hypot(a, b), which is sqrt(a² + b²).",
        ),
        "absolute_errors": Diagnosis(
            "The errors in seconds were added in squares. That is the rule for a sum or a difference; for a quotient it is the "
            "relative errors that add up in squares.",
            "speedup * math.hypot(error_1 / mean_1, error_2 / mean_2).",
        ),
        "relative_error": RELATIVE,
        "ratio_of_errors": Diagnosis(
            "One error was divided by the other. That says whose runs scatter more, not how sure the quotient is.",
            "speedup * math.hypot(error_1 / mean_1, error_2 / mean_2).",
        ),
        "sd_for_se": SD_FOR_SE,
        "sd_ddof_0": SD_FOR_SE,
        "ddof_0": DDOF_0,
        "divided_by_n": Diagnosis(
            "The standard deviation was divided by n. The scatter of a mean shrinks like the square root of n.", "s / sqrt(n)."
        ),
        "same_n": Diagnosis(
            "Both standard deviations were divided by the root of the same n.", "The two were not measured equally often."
        ),
        "variance": VARIANCE,
        "errors_subtracted": Diagnosis(
            "The relative errors were subtracted. Two uncertain numbers never make a surer one.", "They add up in squares."
        ),
        "interval": INTERVAL,
    }

    def cases(self, rng):
        speedup, error = self.levels

        def case(level, repeats, factor):
            slow = rng.uniform(4, 40) * rng.uniform(0.9, 1.1, repeats[0])
            fast = slow.mean() / factor * rng.uniform(0.85, 1.15, repeats[1])
            for times in (slow, fast):  # the first run is neither the fastest nor the median
                second = np.argsort(times)[-2]
                times[[0, second]] = times[[second, 0]]
            says = f"{repeats[0]} and {repeats[1]} runs" + (", slower than the baseline" if factor < 1 else "")
            return Case(level, 1, (slow, fast), says=says, known={"slow": slow, "fast": fast}, atol=1e-12)

        return [
            case(speedup, (5, 5), 3.1),
            case(speedup, (4, 7), 0.6),
            case(error, (6, 6), 5.3),
            case(error, (4, 8), 1.8),
        ]

    def _right(self, case) -> tuple[float, float]:
        slow, fast = case.known["slow"], case.known["fast"]
        value = slow.mean() / fast.mean()
        return value, value * math.hypot(standard_error(slow) / slow.mean(), standard_error(fast) / fast.mean())

    def expected(self, case):
        value, error = self._right(case)
        return [(value, error if case.level == "its standard error" else ANYTHING)]

    def misconceptions(self, case):
        slow, fast = case.known["slow"], case.known["fast"]
        value, error = self._right(case)
        same_n = len(slow) == len(fast)
        wrong_values = {
            "upside_down": 1 / value,
            "fastest": slow.min() / fast.min(),
            "median": np.median(slow) / np.median(fast),
            "mean_of_ratios": np.mean(slow / fast) if same_n else np.mean(slow) * np.mean(1 / fast),
            "ratio_of_sums": None if same_n else slow.sum() / fast.sum(),
            "saved_seconds": slow.mean() - fast.mean(),
            "saved_fraction": 1 - 1 / value,
            "percent": 100 * value,
            "first_runs": slow[0] / fast[0],
        }
        found = {name: None if wrong is None else [(float(wrong), ANYTHING)] for name, wrong in wrong_values.items()}
        found["swapped"] = [(error, value)]
        errors = self._wrong_errors(slow, fast)
        shown = case.level == "its standard error"
        found |= {name: [(value, wrong)] if shown and wrong is not None else None for name, wrong in errors.items()}
        return found

    @staticmethod
    def _wrong_errors(slow: np.ndarray, fast: np.ndarray) -> dict[str, float | None]:
        n, m, value = len(slow), len(fast), slow.mean() / fast.mean()
        sd_slow, sd_fast = np.std(slow, ddof=1) / slow.mean(), np.std(fast, ddof=1) / fast.mean()
        a, b = sd_slow / math.sqrt(n), sd_fast / math.sqrt(m)
        a_0, b_0 = a * math.sqrt((n - 1) / n), b * math.sqrt((m - 1) / m)
        return {
            "baseline_error_ignored": value * b,
            "parallel_error_ignored": value * a,
            "added_linearly": value * (a + b),
            "absolute_errors": math.hypot(a * slow.mean(), b * fast.mean()),
            "relative_error": math.hypot(a, b),
            "ratio_of_errors": a * slow.mean() / (b * fast.mean()),
            "sd_for_se": value * math.hypot(sd_slow, sd_fast),
            "sd_ddof_0": value * math.hypot(a_0 * math.sqrt(n), b_0 * math.sqrt(m)),
            "ddof_0": value * math.hypot(a_0, b_0),
            "divided_by_n": value * math.hypot(sd_slow / n, sd_fast / m),
            "same_n": None if n == m else value * math.hypot(a, sd_fast / math.sqrt(n)),
            "variance": value * (a**2 + b**2),
            "errors_subtracted": value * abs(a - b),
        }

    def facts(self, case: Case, run: Run):
        slow, fast = case.known["slow"], case.known["fast"]
        value, error = self._right(case)
        got_value, got_error = numbers(run)
        if len(slow) != len(fast) and not close(got_value, value):
            shortest = min(len(slow), len(fast))
            pairs, all_pairs = np.mean(slow[:shortest] / fast[:shortest]), np.mean(slow[:, None] / fast)
            return "mean_of_ratios" if close(got_value, pairs) or close(got_value, all_pairs) else None
        if case.level != "its standard error" or not close(got_value, value):
            return None
        if close(got_error, standard_error(slow)) or close(got_error, standard_error(fast)):
            return Finding("absolute_errors", "This is the error of one of the two means, in seconds.")
        if len(slow) == len(fast) and (
            close(got_error, standard_error(slow / fast)) or close(got_error, np.std(slow / fast, ddof=1))
        ):
            return "mean_of_ratios"
        if len(slow) != len(fast) and close(
            got_error, value * math.hypot(*(np.std(x, ddof=1) / x.mean() / math.sqrt(len(fast)) for x in (slow, fast)))
        ):
            return "same_n"
        factor = got_error / error
        return Finding("interval", f"It is {factor:.2f} standard errors.") if 1.9 < factor < 4.4 else None


class ScalingEfficiency(Exercise):
    """Strong or weak, and how well"""

    unit, function = UNIT, "scaling_efficiency"
    signature = "scaling_efficiency(world_sizes, global_batch_sizes, step_seconds) -> (kind, efficiencies)"
    runtime = "plain"
    levels = {"fixed global batch": 1, "fixed local batch": 1, "neither, or not from one rank": 1}
    may_lose = {
        "int64": "numbers of ranks and sizes of batches are small",
        "integers of both widths": "numbers of ranks enter quotients, whatever their width",
    }
    harness = """
import numpy as np


def harness(f, world_sizes, global_batch_sizes, step_seconds):
    answer = f(world_sizes, global_batch_sizes, step_seconds)
    if isinstance(answer, (str, dict)):  # not the pair that was asked for
        return answer
    try:
        kind, efficiencies = answer
        if isinstance(kind, str):
            return kind.strip().lower(), np.asarray(efficiencies, float)
    except (TypeError, ValueError):
        pass
    return answer
"""
    diagnoses = {
        "strong_weak_swapped": Diagnosis(
            "Strong and weak are swapped. Strong: the problem stays, and more ranks share it. Weak: each rank's part stays.",
            "The same global batch in every row is strong scaling, the same local batch is weak.",
        ),
        "neither_overlooked": Diagnosis(
            "Neither the global nor the local batch stays the same from row to row: this is neither strong nor weak scaling.",
            "Test both conditions on all rows.",
        ),
        "called_neither": Diagnosis(
            "One of the two batches does stay the same in every row.",
            "Strong: all global batches equal. Weak: all global_batch_sizes / world_sizes equal.",
        ),
        "kind_missing": Diagnosis(
            "The kind is missing: only numbers came back.", "Return a pair: the kind, and the efficiencies."
        ),
        "unknown_kind": Diagnosis("The kind is not one of the three words.", 'Return "strong", "weak" or "neither".'),
        "time_ratio": Diagnosis(
            "You compared the seconds and divided by the ranks, as if the work were the same in every row. Here it is not: a step "
            "with more images may take longer.",
            "Compare images per second, global_batch / step_seconds: that is right for every kind.",
        ),
        "not_divided": Diagnosis(
            "This is the speedup. Efficiency is what each rank contributes to it.",
            "Divide by how many times more ranks than in the first row there are.",
        ),
        "time_ratio_not_divided": Diagnosis(
            "You compared the seconds only. That is right if each rank keeps its part of the work, and here it does not.",
            "Compare images per second, global_batch / step_seconds, and divide by the ranks.",
        ),
        "upside_down": Diagnosis(
            "The efficiency is upside down: it grows where ranks are wasted.", "Row over first row, in images per second."
        ),
        "time_ratio_upside_down": Diagnosis(
            "This is how much longer a step takes than in the first row.", "Compare images per second, row over first row."
        ),
        "first_row_on_one_rank": Diagnosis(
            "You divided by the ranks as if the first row had used a single one: it would then not have efficiency 1 itself.",
            "Divide by world_sizes / world_sizes[0].",
        ),
        "throughput": Diagnosis(
            "These are images per second.", "Divide by the first row's, and by how many times more ranks there are."
        ),
        "throughput_per_rank": Diagnosis("These are images per second and rank.", "Divide by the first row's."),
        "percent": Diagnosis("The efficiency is given in percent.", "Return fractions: 1.0 means perfect."),
        "loss": Diagnosis("1 - efficiency is what was lost.", "Efficiency is what is left: 1 means that nothing was lost."),
        "previous_row": Diagnosis("Each row was compared with the row before it.", "Compare every row with the first one."),
        "last_row": Diagnosis("Each row was compared with the last one.", "Compare every row with the first one."),
        "times_ranks": Diagnosis(
            "The scaled speedup was multiplied by the ranks.", "Divide by how many times more ranks there are."
        ),
        "ranks_counted_twice": Diagnosis(
            "The ranks were divided out twice.",
            "Either compare images per second of all ranks and divide by the ranks, or compare images per second and rank.",
        ),
        "without_first_row": Diagnosis("The first row is missing: its efficiency is 1.", "One efficiency for each row."),
        "swapped": Diagnosis("The two answers are swapped.", "Return the kind first, then the efficiencies."),
        "rounded": ROUNDED,
    }

    def cases(self, rng):
        strong, weak, other = self.levels

        def case(level, ranks, batches, says):
            ranks, batches = np.array(ranks), np.array(batches)
            images_per_second = rng.uniform(200, 900) * ranks * rng.uniform(0.75, 0.93) ** np.arange(len(ranks))
            seconds = batches / images_per_second
            known = {"ranks": ranks, "batches": batches, "seconds": seconds}
            return Case(level, 1, (ranks, batches, seconds), says=says, known=known)

        return [
            case(strong, [1, 2, 4, 8], [256] * 4, "ranks 1, 2, 4, 8, global batch 256"),
            case(strong, [1, 3, 5], [120] * 3, "ranks 1, 3, 5, global batch 120"),
            case(weak, [1, 2, 4, 8], [64, 128, 256, 512], "ranks 1, 2, 4, 8, local batch 64"),
            case(weak, [1, 3, 6], [50, 150, 300], "ranks 1, 3, 6, local batch 50"),
            case(other, [2, 4, 16], [64, 128, 512], "ranks 2, 4, 16, local batch 32"),
            case(other, [4, 8, 12], [240] * 3, "ranks 4, 8, 12, global batch 240"),
            case(other, [1, 2, 4], [256, 384, 768], "ranks 1, 2, 4, global batches 256, 384, 768"),
            case(other, [1, 2, 4, 8], [128, 256, 512, 512], "ranks 1, 2, 4, 8, global batches 128, 256, 512, 512"),
            case(other, [2, 3, 4], [64, 98, 131], "ranks 2, 3, 4, global batches 64, 98, 131"),  # 32 on each, if rounded down
        ]

    @staticmethod
    def _kind(case) -> str:
        ranks, batches = case.known["ranks"], case.known["batches"]
        if np.all(batches == batches[0]):
            return "strong"
        return "weak" if np.all(batches * ranks[0] == batches[0] * ranks) else "neither"

    @staticmethod
    def _efficiency(case) -> np.ndarray:
        per_rank = case.known["batches"] / case.known["seconds"] / case.known["ranks"]
        return per_rank / per_rank[0]

    def expected(self, case):
        return [(self._kind(case), self._efficiency(case))]

    def misconceptions(self, case):
        ranks, batches, seconds = (case.known[k] for k in ("ranks", "batches", "seconds"))
        kind, right = self._kind(case), self._efficiency(case)
        more, rate = ranks / ranks[0], batches / seconds
        times = seconds[0] / seconds
        per_rank = rate / ranks
        from_one = ranks[0] == 1
        other = {"strong": "weak", "weak": "strong"}.get(kind)
        wrong = {
            "time_ratio": None if kind == "strong" else times / more,
            "not_divided": right * more,
            "time_ratio_not_divided": times if kind == "neither" else None,
            "upside_down": 1 / right,
            "time_ratio_upside_down": None if kind == "weak" else 1 / times,
            "first_row_on_one_rank": None if from_one else rate / rate[0] / ranks,
            "throughput": rate,
            "throughput_per_rank": per_rank,
            "percent": 100 * right,
            "loss": 1 - right,
            "previous_row": np.append(1.0, per_rank[1:] / per_rank[:-1]),
            "last_row": right / right[-1],
            "times_ranks": right * more**2,
            "ranks_counted_twice": right / more if kind == "strong" else None,
            "without_first_row": right[1:],
        }
        found = {name: None if value is None else [(ANYTHING, value)] for name, value in wrong.items()}
        found["strong_weak_swapped"] = [(other, right)] if other else None
        found["called_neither"] = [("neither", right)] if other else None
        found["neither_overlooked"] = None if other else [("strong", right)]
        found["swapped"] = [(right, kind)]
        return found

    def facts(self, case: Case, run: Run):
        value, kind = run.ranks[0].value, self._kind(case)
        if not any(isinstance(one, str) for one in (value if isinstance(value, (tuple, list)) else [value])):
            return "kind_missing"
        if not isinstance(value, (tuple, list)) or len(value) != 2 or not isinstance(value[0], str):
            return None
        if value[0] not in ("strong", "weak", "neither"):
            return Finding("unknown_kind", f'It is "{value[0]}".')
        right, got = self._efficiency(case), np.asarray(value[1], dtype=float)
        if got.shape == right.shape and not np.allclose(got, right, rtol=1e-6):
            return "rounded" if np.allclose(got, right, rtol=0, atol=0.051) else None
        if value[0] != kind and kind == "neither":
            return "neither_overlooked"
        return None


class SerialFraction(Exercise):
    """The serial fraction of a speedup"""

    unit, function = UNIT, "serial_fraction"
    signature = "serial_fraction(world_size, speedup, speedup_error) -> (fraction, standard_error)"
    runtime = "plain"
    levels = {"fraction": 1, "its standard error": 1, "one rank": 1}
    diagnoses = {
        "not_normalised": Diagnosis(
            "1/S - 1/p is only the numerator. For a run that does not get faster at all the fraction has to be 1.",
            "Divide by 1 - 1/p; or divide p/S - 1 by p - 1, not by p.",
        ),
        "parallel_fraction": Diagnosis("This is the part that is shared, 1 - f.", "The serial fraction is what is left."),
        "inverse_efficiency": Diagnosis(
            "p/S - 1 is how much the ranks do too much, per rank's share. f is that divided by p - 1.", "Divide by p - 1."
        ),
        "lost_efficiency": Diagnosis(
            "1 - S/p is the efficiency that was lost. Amdahl's f is smaller: even a little serial work idles all the other ranks.",
            "Solve S = 1 / (f + (1 - f) / p) for f.",
        ),
        "gustafson": Diagnosis(
            "This is Gustafson's fraction, of the time on p ranks. Karp and Flatt's is a fraction of the time on one rank.",
            "Solve S = 1 / (f + (1 - f) / p) for f.",
        ),
        "amdahl_backwards": Diagnosis(
            "The speedup was put into Amdahl's law as if it were the fraction.", "Solve S = 1 / (f + (1 - f) / p) for f."
        ),
        "speedup_upside_down": Diagnosis("The speedup is upside down in it.", "1/S, with S larger than 1 for a faster run."),
        "clipped": Diagnosis(
            "A negative fraction was cut off at 0. A superlinear speedup is a finding: something is wrong with the baseline, or "
            "more than the number of ranks has changed.",
            "Return what the formula gives.",
        ),
        "absolute_value": Diagnosis(
            "The sign was taken away. A negative fraction says that the speedup is superlinear.",
            "Return what the formula gives.",
        ),
        "percent": Diagnosis("The fraction is given in percent.", "1.0 would be a run of which nothing is shared."),
        "largest_speedup": Diagnosis("1/f is the speedup on infinitely many ranks, not f.", "Return f."),
        "swapped": SWAPPED,
        "error_not_carried": Diagnosis(
            "This is the error of the speedup. The fraction is a function of it, and its error is smaller or larger.",
            "Multiply by the slope: df/dS = -1 / (S² (1 - 1/p)).",
        ),
        "slope_not_normalised": Diagnosis(
            "The error lacks the division by 1 - 1/p.", "The whole fraction is divided by it, so its error is, too."
        ),
        "slope_of_first_power": Diagnosis("The slope of 1/S is 1/S², not 1/S.", "error / S² / (1 - 1/p)."),
        "relative_kept": Diagnosis(
            "You gave the fraction the relative error of the speedup. That holds for products and quotients; f is a difference, and "
            "where it is small its relative error is large.",
            "Multiply by the slope: error / S² / (1 - 1/p).",
        ),
        "relative_error": Diagnosis("This is the relative error of the fraction.", "Multiply it by the fraction."),
        "negative_error": NEGATIVE,
        "inverse_of_error": Diagnosis(
            "The error was put into the formula in the place of the speedup.",
            "An error is multiplied by the slope: error / S² / (1 - 1/p).",
        ),
        "difference": Diagnosis(
            "You took the difference of the fractions at S and at one error away. The slope at S is asked for.",
            "error / S² / (1 - 1/p).",
        ),
        "interval": INTERVAL,
        "ZeroDivisionError": Diagnosis(
            "On one rank 1 - 1/p is 0: from a run on one rank nobody can tell what part of it could be shared.",
            "Return (math.nan, math.nan) if world_size is 1.",
        ),
        "zero_on_one_rank": Diagnosis(
            "On one rank the fraction is not 0, it is unknown: every f gives the speedup 1.",
            "Return (math.nan, math.nan) if world_size is 1.",
        ),
        "one_on_one_rank": Diagnosis(
            "On one rank the fraction is not 1, it is unknown: every f gives the speedup 1.",
            "Return (math.nan, math.nan) if world_size is 1.",
        ),
        "infinite_on_one_rank": Diagnosis(
            "On one rank the fraction is not infinite, it is unknown: every f gives the speedup 1.",
            "Return (math.nan, math.nan) if world_size is 1.",
        ),
        "none_on_one_rank": Diagnosis(
            "None cannot be drawn or averaged. A number that is not there is written nan.",
            "Return (math.nan, math.nan) if world_size is 1.",
        ),
    }

    def cases(self, rng):
        fraction, error, single = self.levels

        def case(level, p, efficiency):
            s = p * efficiency * float(rng.uniform(0.97, 1.03))
            ds = s * float(rng.uniform(0.01, 0.04))
            says = f"p = {p}, S = {s:.2f}" + (", superlinear" if efficiency > 1 else "")
            return Case(level, 1, (p, s, ds), says=says, known={"p": p, "s": s, "ds": ds}, rtol=1e-6, atol=1e-12)

        return [
            case(fraction, 4, 0.8),
            case(fraction, 2, 0.7),
            case(fraction, 16, 0.35),
            case(fraction, 8, 1.15),
            case(error, 8, 0.6),
            case(error, 3, 0.9),
            Case(single, 1, (1, 1.0, 0.03), says="p = 1, S = 1.00", known={"p": 1, "s": 1.0, "ds": 0.03}),
        ]

    def _right(self, case) -> tuple[float, float]:
        p, s, ds = (case.known[k] for k in ("p", "s", "ds"))
        if p == 1:
            return math.nan, math.nan
        return (1 / s - 1 / p) / (1 - 1 / p), ds / s**2 / (1 - 1 / p)

    def expected(self, case):
        f, df = self._right(case)
        return [(f, ANYTHING if case.level == "fraction" else df)]

    def misconceptions(self, case):
        p, s, ds = (case.known[k] for k in ("p", "s", "ds"))
        f, df = self._right(case)
        found: dict[str, tuple] = {}
        if p == 1:
            found = {
                "zero_on_one_rank": (0.0, ANYTHING),
                "one_on_one_rank": (1.0, ANYTHING),
                "infinite_on_one_rank": (math.inf, ANYTHING),
                "none_on_one_rank": (None, None),
            }
        else:
            wrong = {
                "not_normalised": 1 / s - 1 / p,
                "parallel_fraction": 1 - f,
                "inverse_efficiency": p / s - 1 if p > 2 else None,  # on two ranks p - 1 is 1
                "lost_efficiency": 1 - s / p,
                "gustafson": (p - s) / (p - 1),
                "amdahl_backwards": 1 / (s + (1 - s) / p) if s > 1 else None,
                "speedup_upside_down": (s - 1 / p) / (1 - 1 / p),
                "clipped": 0.0 if f < 0 else None,
                "absolute_value": -f if f < 0 else None,
                "percent": 100 * f,
                "largest_speedup": 1 / f,
            }
            found = {name: (value, ANYTHING) for name, value in wrong.items() if value is not None}
            found["swapped"] = (df, f)
            if case.level == "its standard error":
                errors = {
                    "error_not_carried": ds,
                    "slope_not_normalised": ds / s**2,
                    "slope_of_first_power": ds / s / (1 - 1 / p),
                    "relative_kept": f * ds / s,
                    "relative_error": df / f,
                    "negative_error": -df,
                    "inverse_of_error": (1 / ds - 1 / p) / (1 - 1 / p),
                }
                found |= {name: (f, value) for name, value in errors.items()}
        kept = [name for name in self.diagnoses if name not in ("ZeroDivisionError", "interval", "difference")]
        return {name: [found[name]] if name in found else None for name in kept}

    def facts(self, case: Case, run: Run):
        p, s, ds = (case.known[k] for k in ("p", "s", "ds"))
        if p == 1:
            value = numbers(run)
            if len(value) == 1 and math.isnan(value[0]):
                return None
            return "infinite_on_one_rank" if math.isinf(value[0]) else None
        f, df = self._right(case)
        value = numbers(run)
        if case.level != "its standard error" or not close(value[0], f):
            return None
        scale = 1 - 1 / p
        one_away = {abs(1 / (s + sign * ds) - 1 / s) / scale for sign in (1, -1)}
        symmetric = abs(1 / (s - ds) - 1 / (s + ds)) / 2 / scale
        if any(close(abs(value[1]), one) for one in (*one_away, symmetric)):
            return "difference"
        factor = value[1] / df
        return Finding("interval", f"It is {factor:.2f} standard errors.") if 1.9 < factor < 4.4 else None


class AlphaBetaFromRing(Exercise):
    """Latency and bandwidth of a link, from all-reduces"""

    unit, function = UNIT, "alpha_beta_from_ring"
    signature = "alpha_beta_from_ring(world_size, nbytes, seconds) -> (alpha, beta)"
    runtime = "plain"
    levels = {"times of a ring": 1, "scattered times": 1}
    may_lose = {
        "float64": "times are measured to three digits or four, and so is the fit",
        "int64": "sizes of messages enter a fit, in floating point",
        "integers of both widths": "sizes of messages enter a fit, in floating point",
    }
    diagnoses = {
        "line_only": Diagnosis(
            "These are the two numbers of the line. A ring sends 2 (p - 1) messages one after the other, of nbytes / p each.",
            "alpha = constant / (2 (p - 1)), beta = slope * p / (2 (p - 1)).",
        ),
        "alpha_of_all_messages": Diagnosis(
            "alpha is that of the whole all-reduce. It pays the latency of 2 (p - 1) messages.", "Divide by 2 (p - 1)."
        ),
        "beta_of_all_messages": Diagnosis(
            "beta is that of the whole all-reduce. A port passes 2 (p - 1) / p bytes for each byte of the vector.",
            "Multiply the slope by p / (2 (p - 1)).",
        ),
        "beta_forgets_chunks": Diagnosis(
            "beta was divided by the number of messages, as if each held the whole vector. It holds one chunk, nbytes / p.",
            "Multiply the slope by p / (2 (p - 1)).",
        ),
        "one_way": Diagnosis(
            "Half of the steps are missing: a ring goes round twice, to add up and to pass the sums on.", "2 (p - 1) steps."
        ),
        "p_for_p_minus_1": Diagnosis(
            "One step too many in each half: p ranks are joined by p - 1 messages.", "2 (p - 1) steps of nbytes / p."
        ),
        "multiplied": Diagnosis(
            "The line's numbers were multiplied by the steps. One message takes less than all of them.", "Divide."
        ),
        "tree": Diagnosis(
            "These are the steps of a tree, 2 ceil(log2 p) of the whole vector.", "A ring: 2 (p - 1) steps of nbytes / p."
        ),
        "chunks_multiplied": Diagnosis(
            "The bytes were multiplied by p: no rank ever sends more than the vector has.", "A message has nbytes / p bytes."
        ),
        "power_law": Diagnosis(
            "A straight line was fitted to the logarithms: that is a power law. alpha + n beta is a line in n itself.",
            "Fit seconds against bytes; the weights 1 / seconds do what the logarithms were to do.",
        ),
        "swapped": Diagnosis("You returned (beta, alpha). `np.polyfit` gives the slope first.", "Return alpha first."),
        "swapped_line": Diagnosis(
            "You took the slope for alpha and the constant for beta: `np.polyfit` gives the slope first.",
            "beta comes from the slope, alpha from the constant.",
        ),
        "bandwidth": Diagnosis("The second number is the bandwidth; beta is its inverse, seconds per byte."),
        "bits": Diagnosis("beta is given per bit. A byte has 8 of them.", "Seconds per byte: leave out the 8."),
        "bytes_for_bits": Diagnosis(
            "beta was multiplied by 8. The sizes are bytes already.", "Seconds per byte: leave out the 8."
        ),
        "float32_elements": Diagnosis(
            "beta is per number of 4 bytes. The sizes are bytes already.", "Do not divide nbytes by 4."
        ),
        "microseconds": Diagnosis(
            "Both numbers are due in seconds. You returned microseconds.", "Leave the seconds as they are."
        ),
        "alpha_in_microseconds": Diagnosis("alpha is in microseconds and due in seconds.", "Leave the seconds as they are."),
        "smallest_vector": Diagnosis(
            "alpha was taken from the smallest vector, which still contains its bytes.",
            "Fit a line: alpha comes from where it meets size 0.",
        ),
        "two_points": Diagnosis(
            "The line goes through two measurements only, and their disturbances go straight into the result.",
            "Fit all of them, for example with `np.polyfit(nbytes, seconds, 1)`.",
        ),
        "through_zero": Diagnosis(
            "beta comes from time divided by size, as if an empty vector took no time.",
            "Fit a line with both numbers free.",
        ),
    }

    def cases(self, rng):
        exact, scattered = self.levels
        found = []
        for level, p in ((exact, 2), (exact, 4), (exact, 5), (scattered, 3)):
            alpha, beta = float(rng.uniform(2e-6, 9e-6)), float(rng.uniform(0.5e-10, 4e-10))
            constant, slope = 2 * (p - 1) * alpha, 2 * (p - 1) / p * beta
            n = constant / slope  # the size at which latency and transfer cost the same
            if level == scattered:
                sizes = np.round(n * np.linspace(0.5, 4.5, 101)).astype(np.int64)
                times = constant + slope * sizes
                times[[0, -1]] *= 1.25, 0.85
                times[1:-1] *= 1 + 0.002 * rng.choice([-1, 1], size=99)
                says, rtol = f"p = {p}, 101 sizes, two odd measurements", 0.12
            else:
                sizes = np.round(n * np.array([0.4, 1, 2, 4, 8, 16])).astype(np.int64)
                if p == 4:
                    sizes = sizes[[3, 0, 5, 2, 1, 4, 3]]  # another order, one size measured twice
                times, says, rtol = constant + slope * sizes, f"p = {p}, {len(sizes)} sizes", 1e-4
            known = {"p": p, "alpha": alpha, "beta": beta, "sizes": sizes, "times": times}
            found.append(Case(level, 1, (p, sizes, times), says, known=known, rtol=rtol, atol=0.0))
        return found

    def expected(self, case):
        return [(case.known["alpha"], case.known["beta"])]

    def misconceptions(self, case):
        p, alpha, beta, sizes, times = (case.known[k] for k in ("p", "alpha", "beta", "sizes", "times"))
        exact = case.level == "times of a ring"
        steps = 2 * (p - 1)
        constant, slope = steps * alpha, steps / p * beta
        tree = 2 * (p - 1).bit_length()
        values = {
            "line_only": (constant, slope) if p > 2 else None,  # on two ranks the slope is beta
            "alpha_of_all_messages": (constant, beta),
            "beta_of_all_messages": (alpha, slope) if p > 2 else None,
            "beta_forgets_chunks": (alpha, slope / steps),
            "chunks_multiplied": (alpha, beta / p**2),
            "one_way": (2 * alpha, 2 * beta),
            "p_for_p_minus_1": (constant / (2 * p), slope / 2),
            "multiplied": (constant * steps, slope * steps / p) if p > 2 else None,
            "tree": (constant / tree, slope / tree) if tree != steps else None,
            "swapped": (beta, alpha),
            "swapped_line": (slope / steps, constant * p / steps),
            "bandwidth": (alpha, 1 / beta),
            "bits": (alpha, beta / 8),
            "bytes_for_bits": (alpha, beta * 8),
            "float32_elements": (alpha, beta * 4),
            "microseconds": (1e6 * alpha, 1e6 * beta),
            "alpha_in_microseconds": (1e6 * alpha, beta),
            "smallest_vector": (float(times.min() / steps), beta) if exact else None,
            "through_zero": (alpha, float(np.mean(times / sizes)) * p / steps) if exact else None,
            "two_points": None if exact else self._two_points(p, sizes, times),
            "power_law": self._power_law(sizes / p, times / steps),
        }
        return {name: None if value is None else [value] for name, value in values.items()}

    @staticmethod
    def _power_law(chunks, times) -> tuple[float, float]:
        slope, constant = np.polyfit(np.log(chunks), np.log(times), 1)
        return math.exp(constant), float(slope)

    @staticmethod
    def _two_points(p, sizes, times, first=0, last=-1) -> tuple[float, float]:
        slope = (times[last] - times[first]) / (sizes[last] - sizes[first])
        return (times[first] - slope * sizes[first]) / (2 * (p - 1)), slope * p / (2 * (p - 1))

    def facts(self, case: Case, run: Run):
        """A mistake in one number beside another mistake in the other: the first one is named."""
        got = numbers(run)
        right = case.known["alpha"], case.known["beta"]
        if len(got) != 2:
            return None
        for name, wanted in self.misconceptions(case).items():
            if wanted is None or name == "two_points":
                continue
            for k in (0, 1):
                wrong = wanted[0][k]
                if math.isclose(got[k], wrong, rel_tol=case.rtol) and not math.isclose(wrong, right[k], rel_tol=case.rtol):
                    return name
        return None


class StepSeconds(Exercise):
    """The time of a training step, predicted"""

    unit, function = UNIT, "step_seconds"
    signature = "step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden) -> float"
    runtime = "plain"
    levels = {"nothing hidden": 1, "communication behind computation": 1}
    diagnoses = {
        "global_batch_on_each": Diagnosis(
            "Every rank computed the whole global batch. The ranks share it.", "A rank's part is global_batch_size / world_size."
        ),
        "floor_share": Diagnosis(
            "The share of a rank was rounded down. The ranks that got one image more are the ones the others wait for.",
            "The largest share: ceil(global_batch_size / world_size).",
        ),
        "fraction_of_an_image": Diagnosis(
            "No rank computes a fraction of an image: some have one more than others, and all wait for them.",
            "The largest share: ceil(global_batch_size / world_size).",
        ),
        "parameters_for_bytes": Diagnosis(
            "A parameter was taken for one byte. A float32 has four.", "The gradients have 4 * parameters bytes."
        ),
        "float64": Diagnosis(
            "A parameter was taken for 8 bytes. A float32 has four.", "The gradients have 4 * parameters bytes."
        ),
        "bits": Diagnosis(
            "Bits got into it. beta is seconds per byte, and a float32 has 4 bytes.", "The gradients have 4 * parameters bytes."
        ),
        "half_precision": Diagnosis(
            "A parameter was taken for 2 bytes. A float32 has four.", "The gradients have 4 * parameters bytes."
        ),
        "p_for_p_minus_1": Diagnosis(
            "One step too many in each half of the ring: p ranks are joined by p - 1 messages.", "2 (p - 1) messages."
        ),
        "one_way": Diagnosis(
            "A ring goes round twice: once to add up, once to pass the sums on.", "2 (p - 1) messages of n / p bytes."
        ),
        "whole_vector_each_step": Diagnosis(
            "In a ring a message holds one chunk, not all gradients.", "2 (p - 1) messages of n / p bytes."
        ),
        "latency_once": Diagnosis("The latency was counted once.", "Each of the 2 (p - 1) messages pays it."),
        "no_latency": Diagnosis("The latency is missing.", "Each of the 2 (p - 1) messages pays alpha."),
        "tree": Diagnosis("These are the steps of a tree.", "A ring: 2 (p - 1) messages of n / p bytes."),
        "one_message": Diagnosis(
            "The gradients were sent once, as one message.", "An all-reduce as a ring: 2 (p - 1) messages of n / p bytes."
        ),
        "no_communication": Diagnosis(
            "The communication is missing.", "Add the time of a ring all-reduce, or what of it is not hidden."
        ),
        "communication_only": Diagnosis("The computation is missing.", "The step takes the computation and what is not hidden."),
        "nothing_hidden": Diagnosis(
            "All of the communication was added, although some of it can hide.",
            "What does not fit behind hidden * computation is left over and is added.",
        ),
        "perfect_overlap": Diagnosis(
            "The longer of the two was taken, as if communication could run during all of the step. It cannot begin before the "
            "first gradients are there.",
            "It can hide behind hidden * computation, not behind all of it.",
        ),
        "negative_rest": Diagnosis(
            "More was hidden than there was: the step became shorter than its computation.",
            "What is left over is never less than 0: max(0, ...).",
        ),
        "fraction_of_communication": Diagnosis(
            "A fraction of the communication was taken away, however long it lasts. `hidden` is a fraction of the computation: what "
            "does not fit behind that is not hidden.",
            "max(0, communication - hidden * computation).",
        ),
        "exposed_part": Diagnosis(
            "Communication was hidden behind 1 - hidden of the computation.", "It can hide behind hidden * computation."
        ),
        "all_ranks_added": Diagnosis(
            "The times of the ranks were added up. They work at the same time.", "A step takes as long as its slowest rank."
        ),
        "images_per_second": Diagnosis("These are images per second.", "Seconds of one step are asked for."),
        "milliseconds": Diagnosis("The number is right, but not in seconds.", "Return seconds."),
    }

    def cases(self, rng):
        plain, overlapped = self.levels

        def case(level, p, batch, hidden, part, says):
            """part: communication as a multiple of computation."""
            per_image = float(rng.uniform(1e-4, 9e-4))
            alpha, parameters = float(rng.uniform(4e-6, 9e-6)), int(rng.integers(40_000, 90_000)) * 60
            compute = math.ceil(batch / p) * per_image
            beta = max(part * compute - 2 * (p - 1) * alpha, 0.2 * part * compute) / (8 * parameters * max(p - 1, 1) / p)
            known = {"p": p, "batch": batch, "per_image": per_image, "parameters": parameters}
            known |= {"alpha": alpha, "beta": beta, "hidden": hidden}
            return Case(level, 1, tuple(known.values()), says=says, known=known, atol=1e-12)

        return [
            case(plain, 1, 48, 0.0, 0.5, "p = 1, global batch 48, hidden = 0"),
            case(plain, 4, 256, 0.0, 1.4, "p = 4, global batch 256, hidden = 0"),
            case(plain, 5, 64, 0.0, 0.7, "p = 5, global batch 64, hidden = 0"),
            # so much communication that even a quarter of it does not fit: the mistakes in its bytes can be seen
            case(overlapped, 1, 60, 0.5, 0.5, "p = 1, hidden = 0.5"),
            case(overlapped, 6, 360, 0.6, 3.3, "p = 6, hidden = 0.6, not all of it fits"),
            case(overlapped, 3, 100, 0.7, 1.7, "p = 3, global batch 100, hidden = 0.7, not all of it fits"),
            case(overlapped, 5, 320, 0.6, 0.23, "p = 5, hidden = 0.6, all of it fits"),
        ]

    @staticmethod
    def _time(case, share=None, size=4, messages=None, chunk=None, latencies=None, overlap="right", ring=1.0) -> float:
        """The right formula, with each factor open to a mistake. Source: as for labkit.scaling.step_time and ring_all_reduce_time."""
        known = case.known
        p, hidden = known["p"], known["hidden"]
        compute = (math.ceil(known["batch"] / p) if share is None else share) * known["per_image"]
        messages = 2 * (p - 1) if messages is None else messages
        chunk = 1 / p if chunk is None else chunk
        latencies = messages if latencies is None else latencies
        ring = ring * (latencies * known["alpha"] + messages * chunk * size * known["parameters"] * known["beta"])
        return {
            "right": compute + max(0.0, ring - hidden * compute),
            "nothing_hidden": compute + ring,
            "perfect_overlap": max(compute, ring),
            "negative_rest": compute + ring - hidden * compute,
            "fraction_of_communication": compute + (1 - hidden) * ring,
            "exposed_part": compute + max(0.0, ring - (1 - hidden) * compute),
            "communication_only": max(0.0, ring - hidden * compute),
        }[overlap]

    def _mistakes(self, case) -> dict[str, dict]:
        known = case.known
        p, batch = known["p"], known["batch"]
        found: dict[str, dict] = {}
        overlaps = ["perfect_overlap", "communication_only"]
        if case.level == "communication behind computation":
            overlaps += ["nothing_hidden", "negative_rest", "fraction_of_communication", "exposed_part"]
        if p > 1:
            found["no_communication"] = {"ring": 0.0}
        found |= {name: {"overlap": name} for name in overlaps}
        if p > 1:
            found |= {
                "global_batch_on_each": {"share": batch},
                "parameters_for_bytes": {"size": 1},
                "float64": {"size": 8},
                "half_precision": {"size": 2},
                "bits": {"size": 32},
                "one_way": {"messages": p - 1},
                "p_for_p_minus_1": {"messages": 2 * p},
                "whole_vector_each_step": {"chunk": 1.0},
                "latency_once": {"latencies": 1},
                "no_latency": {"latencies": 0},
                "tree": {"messages": 2 * (p - 1).bit_length(), "chunk": 1.0},
                "one_message": {"messages": 1, "chunk": 1.0},
            }
        else:
            found["p_for_p_minus_1"] = {"messages": 2}
            found["one_message"] = {"messages": 1}
        if batch % p:
            found["floor_share"] = {"share": batch // p}
            found["fraction_of_an_image"] = {"share": batch / p}
        return found

    def expected(self, case):
        return [self._time(case)]

    def misconceptions(self, case):
        right = self._time(case)
        found = singles(lambda **c: self._time(case, **c), self._mistakes(case))
        found["all_ranks_added"] = right * case.known["p"] if case.known["p"] > 1 else None
        found["images_per_second"] = case.known["batch"] / right
        found["milliseconds"] = right * 1e3
        distinct: list[float] = [right]
        for name, value in list(found.items()):  # what fits behind the computation anyway cannot be seen in this case
            if value is None or any(math.isclose(value, other, rel_tol=1e-5) for other in distinct):
                found[name] = None
            else:
                distinct.append(value)
        return {name: None if found.get(name) is None else [found[name]] for name in self.diagnoses}

    def facts(self, case: Case, run: Run):
        value = numbers(run)
        if len(value) != 1 or close(value[0], self._time(case)):
            return None
        both = doubles(lambda **c: self._time(case, **c), self._mistakes(case), value[0])
        return Finding(both[0], self.diagnoses[both[1]].why) if both else None
