"""Unit 14, search in parallel: grids and random configurations, manager and workers, halving, Hyperband, ASHA, the
choice of a winner, and the spectral method.

Nobody reads a clock: trials take virtual seconds, which the harness charges.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np

from autograder.case import Answer, name_of
from autograder.compare import difference
from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run, Tensor
from autograder.exercises.kinds import PlainExercise, RefusingExercise
from autograder.exercises.readings.search import (
    SPACE,
    any_state,
    asha,
    brackets,
    counted,
    greedy,
    halving,
    is_in,
    products,
    shape_of_draws,
    spectral,
    with_other_losses,
)
from autograder.exercises.source import harness_of
from labkit.interconnect.topology import flat
from labkit.watch.events import COMPUTE

NETWORK = flat(1e-7, 1e-12)  # messages that cost next to nothing
SLACK = 1.01  # for those messages
TAKES_ANYTHING = Mistake("takes_anything", "Impossible arguments were answered all the same.",
                         "Raise a ValueError before anything else.")  # fmt: skip


# -- which configurations ----------------------------------------------------------------------------------------------


def roots_of_products(c: SimpleNamespace) -> list[float]:
    """The grid as roots of products of powers of the ends, both ends being set. Powers may be too large, or 0."""
    k = np.arange(c.n)
    with np.errstate(all="ignore"):
        points = (np.float64(c.low) ** (c.n - 1 - k) * np.float64(c.high) ** k) ** (1 / (c.n - 1))
    return [c.low, *points[1:-1].tolist(), c.high]


class LogGrid(RefusingExercise):
    """A grid for a learning rate"""

    signature = "log_grid(low: float, high: float, n: int) -> list[float]"
    levels = {"a learning rate": 1, "any bounds": 1, "illegal arguments": 1}
    talks = False
    rtol = 1e-9
    mistakes = [
        Mistake("linear_grid", "The differences between neighbours are equal: nearly all points are close to `high`.",
                "Equal ratios: the points are evenly spaced in the logarithm.",
                lambda c: c.possible and np.linspace(c.low, c.high, c.n).tolist()),
        Mistake("without_the_end", "The last point is not `high`.", "n points have n - 1 steps between them.",
                lambda c: c.possible and [c.low * (c.high / c.low) ** (k / c.n) for k in range(c.n)]),
        Mistake("middles", "The points are the middles of n parts: neither the first nor the last is an end.",
                "The first is `low`, the last is `high`.",
                lambda c: c.possible and [c.low * (c.high / c.low) ** ((k + 0.5) / c.n) for k in range(c.n)]),
        Mistake("ends_as_exponents", "The ends were taken for exponents: 10 to the power of `low` to 10 to the power "
                "of `high`.",
                "np.logspace takes the logarithms of the ends, np.geomspace the ends themselves.",
                lambda c: c.possible and np.logspace(c.low, c.high, c.n).tolist()),
        Mistake("two_bases", "The logarithm has one base, and its inverse another.",
                "exp belongs to log, 10** to log10.",
                lambda c: c.possible and np.exp(np.linspace(np.log10(c.low), np.log10(c.high), c.n)).tolist()),
        Mistake("powers_of_ten", "The points were rounded to powers of ten.", "Return n points with equal ratios.",
                lambda c: c.possible and (10.0 ** np.round(np.linspace(np.log10(c.low), np.log10(c.high), c.n)))
                .tolist()),
        Mistake("ends_rounded", "The ends were rounded to powers of ten: the grid begins or ends elsewhere.",
                "The first point is `low`, the last is `high`, whatever they are: np.geomspace(low, high, n).",
                lambda c: c.possible and np.logspace(round(np.log10(c.low)), round(np.log10(c.high)), c.n).tolist()),
        Mistake("power_underflows", "Points are 0: each is the root of a product of many factors, and that is below "
                "the smallest float long before the root is taken (1e-6 to the power of 60 is 0).",
                "Take powers of high / low with exponents from 0 to 1, or equal steps of the logarithm.",
                lambda c: c.possible and roots_of_products(c)),
        TAKES_ANYTHING.but(how="Raise ValueError if low <= 0, high <= low or n < 2."),
    ]  # fmt: skip

    def draw(self, rng):
        rate, any_, wrong = self.levels
        yield rate, {"low": 1e-5, "high": 1.0, "n": 6}
        yield rate, {"low": 1e-4, "high": 1.0, "n": 9}
        yield rate, {"low": 1e-6, "high": 1.0, "n": 120}  # low to the power of n - 2 is 0 for a computer
        yield any_, {"low": float(rng.uniform(0.02, 0.08)), "high": float(rng.uniform(2, 9)), "n": 5}
        yield any_, {"low": float(rng.uniform(2, 4)), "high": float(rng.uniform(50, 90)), "n": 2}
        yield any_, {"low": float(rng.uniform(3, 5)), "high": float(rng.uniform(100, 300)), "n": 8}
        yield (
            any_,
            {"low": float(rng.uniform(3, 5)) * 1e-12, "high": float(rng.uniform(6, 9)) * 1e-9, "n": 5},
            {"atol": 0.0},
        )
        yield wrong, {"low": 0.0, "high": 1.0, "n": 5}
        yield wrong, {"low": -2.0, "high": -1.0, "n": 4}
        yield wrong, {"low": -0.5, "high": 1.0, "n": 4}
        yield wrong, {"low": 0.1, "high": 0.01, "n": 3}
        yield wrong, {"low": 0.5, "high": 0.5, "n": 3}
        yield wrong, {"low": 0.1, "high": 1.0, "n": 1}
        yield wrong, {"low": -1.0, "high": -2.0, "n": 3}  # a ratio above 1, and points that are no learning rates
        yield wrong, {"low": 0.1, "high": 1.0, "n": 0}
        yield any_, {"low": 1.0, "high": 1.0 + 1e-9, "n": 3}  # a factor below what a loop allows for rounding

    def draw_further(self, rng):
        _, _, wrong = self.levels
        low, high = float(rng.uniform(0.01, 1)), float(rng.uniform(2, 9))
        for ends in ((-low, high), (-high, -low), (high, low), (high, high)):
            yield wrong, {"low": ends[0], "high": ends[1], "n": int(rng.integers(2, 9))}
        yield wrong, {"low": low, "high": high, "n": 1}

    def impossible(self, low, high, n):
        return not (0 < low < high and n >= 2)

    def right(self, low, high, n):
        return None if self.impossible(low, high, n) else [low * (high / low) ** (k / (n - 1)) for k in range(n)]


MIXED = {"batch": ["choice", [16, "all", 0.5]], "layers": ["int", 0, 3]}
PAIRS = {"kernel": ["choice", [[3, 3], [5, 5]]], "shift": ["uniform", -1.0, 1.0]}
BOUNDS = SPACE | {"lr": ["log", 0.5, 300.0], "momentum": ["uniform", -2.0, 3.0], "layers": ["int", -2, 1]}


def as_they_come(space: dict) -> dict:
    """The space with tuples as the texts that the harness makes of them."""
    return {
        name: [kind, [repr(tuple(v)) if isinstance(v, (list, tuple)) else v for v in ends[0]]]
        if kind == "choice" else [kind, *ends] for name, (kind, *ends) in space.items()
    }  # fmt: skip


def within_space(one: dict) -> dict:
    """A configuration of `BOUNDS` with its values at the same places in `SPACE`."""
    (_, low, high), (_, least, most) = BOUNDS["lr"], SPACE["lr"]
    rate = least * (most / least) ** (math.log(one["lr"] / low) / math.log(high / low))
    return one | {"lr": rate, "momentum": (one["momentum"] + 2) / 5 * 0.95, "layers": one["layers"] + 3}


class RandomConfigs(PlainExercise):
    """The same configurations on any number of ranks"""

    signature = "random_configs(space: dict, n: int, seed: int, rank: int, world_size: int) -> list[dict]"
    levels = {"the same for any number of ranks": 2, "drawn from the search space": 1, "another seed": 1}
    talks = False
    given = ("space", "n", "seed", "sizes")
    rank_at = 3
    harness = harness_of(__file__, "random_configs")
    mistakes = [
        Mistake("not_configurations", "The answer is not a list of dicts with a value for every name of the space, "
                "each within its limits.",
                'A list of dicts such as {"lr": 0.01, ...}; an int is an int, the others are floats or choices.'),
        Mistake("other_each_time", "Two calls with the same arguments gave two different lists.",
                "Make a generator from `seed`: np.random.default_rng(...)."),
        Mistake("hash_of_a_text", "The same call gives another list in another process: Python's hash() of a text "
                "differs between processes.",
                "Give the generator numbers: np.random.default_rng([seed, i])."),
        Mistake("same_on_every_rank", "Two ranks train the same configurations: each draws from the same seed.",
                "A configuration must depend on its number, from 0 to n - 1, and each number belongs to one rank."),
        Mistake("not_n", "All ranks together do not have n configurations.", "Numbers 0 to n - 1, each on one rank."),
        Mistake("depends_on_the_ranks", "With another number of ranks, other configurations are tried: the search "
                "cannot be repeated elsewhere.",
                "Draw configuration i from (seed, i), or draw the whole list on every rank and keep your share."),
        Mistake("uneven_shares", "One rank has at least two configurations more than another.",
                "Shares differ by one at most: configurations[rank::world_size]."),
        Mistake("few_values", "The same few values are drawn again and again.",
                "Draw any value between the ends, not only powers of ten or points of a grid."),
        Mistake("linear_draw_for_a_rate", "Nearly all rates lie close to the upper end.",
                "Draw the logarithm: low * (high / low) ** u with u from 0 to 1."),
        Mistake("parameters_move_together", "Two hyperparameters move together (a large learning rate comes with "
                "a large momentum, say): both were made from the same draw.",
                "One generator for a configuration, and one draw after the other from it."),
        Mistake("never_the_upper_end", "The largest whole number is never drawn.",
                "Both ends are included: rng.integers(low, high + 1)."),
        Mistake("ends_too_rare", "The first and the last whole number are drawn half as often as those between.",
                "Do not round a real number: rng.integers(low, high + 1)."),
        Mistake("not_the_whole_range", "Some of the values between low and high are never drawn.",
                "Draw from the whole range, low to high."),
        Mistake("not_evenly", "Some values, or some powers of ten, are drawn more often than others.",
                "Each equally likely: `rng.uniform`, `rng.integers`, and for \"log\" a uniform logarithm."),
        Mistake("ignores_the_seed", "Another seed gives the same configurations.", "Make the generator from `seed`."),
        Mistake("choices_of_one_type", "A choice is another one than those in the space: numpy makes an array of them, "
                "in which 16 and \"all\" are both texts.",
                "`values[rng.integers(len(values))]`, not rng.choice(values)."),
        Mistake("neighbouring_seeds_overlap", "Seeds 1 apart share configurations: `seed + i` is the seed of the next "
                "search, too.",
                "Give the generator both numbers: np.random.default_rng([seed, i])."),
        Mistake("other_seeds_overlap", "Two searches with different seeds share configurations: seed and i were "
                "combined into one number, which is the same for several pairs.",
                "Give the generator both numbers: np.random.default_rng([seed, i])."),
    ]  # fmt: skip

    def draw(self, rng):
        same, drawn, seeds = self.levels
        for level, n, sizes in ((same, 13, (1, 1, 1, 2, 3, 5)), (same, 3, (1, 1, 1, 2, 4)), (drawn, 800, (1,))):
            seed = int(rng.integers(1, 10**6))
            known = {"space": SPACE, "n": n, "seed": seed, "sizes": [[seed, p] for p in sizes]}
            yield level, known, {"says": f"n = {n}, on {', '.join(map(str, sorted(set(sizes))))} ranks"}
        seed = int(rng.integers(1, 10**6))
        known = {"space": MIXED, "n": 12, "seed": seed, "sizes": [[seed, p] for p in (1, 1, 1)]}
        yield drawn, known, {"says": 'n = 12, ("choice", [16, "all", 0.5]) and an int'}
        seed = int(rng.integers(1, 10**6))
        known = {"space": SPACE, "n": 20, "seed": seed, "sizes": [[seed + k, 1] for k in (0, 1, 2, 256, 65536)]}
        yield seeds, known, {"says": "n = 20, seeds 1, 2, 256 and 65,536 apart"}
        known = {"space": SPACE, "n": 120, "seed": 1, "sizes": [[1, 1], [2, 1], [11, 1]]}
        yield seeds, known, {"says": "n = 120, seeds 1, 2 and 11"}
        known = {"space": SPACE, "n": 1001, "seed": 1, "sizes": [[1, 1], [2, 1]]}
        yield seeds, known, {"says": "n = 1001, seeds 1 and 2"}
        known = {"space": BOUNDS, "n": 800, "seed": 25, "sizes": [[25, 1]]}
        yield drawn, known, {"says": "n = 800, other bounds, some below zero"}
        known = {"space": PAIRS, "n": 12, "seed": 25, "sizes": [[25, p] for p in (1, 1, 1)]}
        yield drawn, known, {"says": 'n = 12, ("choice", ((3, 3), (5, 5)))'}
        sizes = [[1, 10_001, 10_000], [2, 10_001, 0]]  # the one configuration of a rank
        known = {"space": {"lr": SPACE["lr"]}, "n": 10_001, "seed": 1, "sizes": sizes}
        yield seeds, known, {"says": "n = 10,001, on 10,001 ranks: the last of seed 1, and rank 0 of seed 2"}
        known = {"space": SPACE, "n": 20, "seed": 1, "sizes": [[seed, 1] for seed in (1, 1001, 10_001, 100_001)]}
        yield seeds, known, {"says": "n = 20, seeds 1, 1001, 10,001 and 100,001"}

    def read_right(self, answer, space, n, seed, sizes):
        runs = [run if isinstance(run, list) else [] for run in answer] if isinstance(answer, list) else []
        if [len(run) for run in runs] != [len(some) or p for _, p, *some in sizes]:
            return "not_configurations"
        come = as_they_come(space)
        for run in runs:
            if not all(isinstance(s, list) and all(is_in(come, one) for one in s) for s in run):
                return "choices_of_one_type" if space in (MIXED, PAIRS) else "not_configurations"
        whole = [counted([one for share in run for one in share]) for run in runs]
        if sum(whole[0].values()) != min(n, sum(len(some) or n for _, _, *some in sizes[:1])):
            return "not_n"
        if n == 800:
            return shape_of_draws(list(map(within_space, runs[0][0])) if space == BOUNDS else runs[0][0])
        if sizes[0][0] != sizes[1][0]:
            return self._of_seeds(whole, sizes)
        return self._of_shares(runs, whole, n)

    @staticmethod
    def _of_seeds(whole, sizes):
        if whole[0] == whole[1]:
            return "ignores_the_seed" if len(sizes[0]) == 2 else "other_seeds_overlap"
        seeds = [seed for seed, *_ in sizes]
        shared = {(a, b): (whole[a] & whole[b]).total() for a in range(len(seeds)) for b in range(a)}
        most = max((often for (a, b), often in shared.items() if seeds[a] - seeds[b] == 1), default=0)
        if 2 * most > whole[0].total():
            return "neighbouring_seeds_overlap"
        return "other_seeds_overlap" if any(shared.values()) else None

    @staticmethod
    def _of_shares(runs, whole, n):
        if whole[0] != whole[1]:
            return "other_each_time"
        if whole[2] != whole[0]:
            return "hash_of_a_text"
        for run, all_ in zip(runs, whole, strict=True):
            shares = [counted(share) for share in run]
            p = len(shares)
            if any(shares[a] & shares[b] for a in range(p) for b in range(a)):
                return Finding("same_on_every_rank", f"On {p} ranks.")
            if sum(all_.values()) != n:
                return Finding("not_n", f"{sum(all_.values())} of {n} on {p} ranks.")
            if all_ != whole[0]:
                return Finding("depends_on_the_ranks", f"On {p} ranks other configurations are tried than on one.")
            sizes = [len(share) for share in run]
            if max(sizes) - min(sizes) > 1:
                return Finding("uneven_shares", f"Shares of {min(sizes)} and {max(sizes)}.")
        return None


# -- who trains what ---------------------------------------------------------------------------------------------------


def worked_on(known: dict, job: int) -> tuple[float, str, float]:
    """(virtual seconds that a rank of `farm` pays for the job at this place, the timeline's label, the loss)."""
    return known["seconds"][job], f"F{known['jobs'][job][0]}", known["losses"][job]


class Farm(Exercise):
    """Manager and workers"""

    signature = "farm(next_job: Callable, report: Callable, work: Callable) -> None"
    levels = {"every job once": 2, "no worker idle": 2, "jobs that arrive later": 2}
    harness = harness_of(__file__, "farm")
    mistakes = [
        Mistake("NoSuchJob", "A worker was given a job that next_job has never returned: the two whole numbers "
                "were rounded on the way.",
                "Send them as int64 (or float64): float32 holds only even whole numbers above 16,777,216, and "
                "int32 none above 2,147,483,647."),
        Mistake("NotAnInt", "`work` was called with a float, or with a tensor, which is no int either.",
                "`work(int(message[0]), int(message[1]))`."),
        Mistake("trained_twice", "A job was worked on more than once.",
                "Rank 0 alone calls next_job, and gives each job to one worker."),
        Mistake("nobody_works_alone", "On a single rank the jobs were not worked on: there are no workers.",
                "With one rank, rank 0 works itself."),
        Mistake("jobs_lost", "Some jobs were never worked on.",
                "None may mean \"not yet\". The search is over when next_job returns None and no worker has a job."),
        Mistake("reported_twice", "A result was reported more than once.", "Report it once, when it has arrived."),
        Mistake("not_reported", "Jobs were worked on, but their results were never reported.",
                "Rank 0 calls report(job, loss) for each result that arrives."),
        Mistake("reports_the_buffer", "A reported loss has changed since: it is a tensor into which the next result "
                "was received.",
                "Report a float: `report(job, float(message[2]))`."),
        Mistake("wrong_job", "Losses were reported for the wrong jobs: results arrive in another order than the jobs "
                "were sent.",
                "Send the job with the result, or remember which job the sending rank has."),
        Mistake("rank_0_works", "Rank 0 works itself; meanwhile nobody answers the workers.",
                "Rank 0 hands out jobs and receives results; it works only if it is alone."),
        Mistake("workers_idle", "A worker waits although there is a job for it.",
                "Receive from any rank (`source = dist.recv(x)`), report, and give a job to every idle worker before "
                "you wait again."),
    ]  # fmt: skip

    def cases(self, rng):
        once, idle, later = self.levels
        tree = [-1, -1, -1, 0, 0, 1, 3, 3]
        return [
            self._case(rng, once, 3, [-1] * 7, long=0),
            self._case(rng, once, 4, [-1] * 2),
            self._case(rng, once, 3, [-1] * 3, drawn=False),
            self._case(rng, once, 3, []),
            self._case(rng, once, 1, [-1, 0, -1]),
            self._case(rng, idle, 4, [-1] * 9, long=0),
            self._case(rng, idle, 5, [-1] * 11, long=1),
            self._case(rng, later, 4, tree, long=1),
            self._case(rng, later, 3, [-1, 0, 0, 0, 3, 3]),
            self._case(rng, once, 3, [-1] * 6, drawn=False),
            self._case(rng, idle, 3, [-1] * 6, epochs=2**53),
        ]

    @staticmethod
    def _case(rng, level, p, after, long=None, drawn=True, epochs=None):
        """long: one of the first jobs, which takes so long that others end before it; who waits for it is late. drawn:
        the losses, or else nan, 0, 1, -1, inf and -inf, which are losses like others. epochs: those of a job."""
        n = len(after)
        jobs = [[int(c), int(e)] for c, e in zip(rng.permutation(50)[:n] + 1, rng.integers(1, 30, n), strict=True)]
        if n > 3 and level != "every job once":  # a whole number that neither float32 nor int32 holds
            jobs[3][0] = 5_123_456_789
        if n > 3:  # numbers that somebody might take for a sign
            jobs[0] = [0, 0]
        if epochs:
            jobs[4] = [7, epochs]
        while True:
            seconds = rng.uniform(1e-3, 4e-3, n)
            if long is not None:
                seconds[long] = rng.uniform(9e-3, 11e-3)
            ends = sorted(greedy(seconds.tolist(), after, max(1, p - 1)))
            if all(b - a > 2e-5 for a, b in pairwise(ends)):
                break
        losses = rng.uniform(-3, 3, n).tolist() if drawn else [math.nan, 0.0, 1.0, -1.0, math.inf, -math.inf][:n]
        known = {"jobs": jobs, "seconds": seconds.tolist(), "losses": losses, "after": after}
        judge = name_of(jobs, known["seconds"], losses)
        answers = {judge: Answer(partial(worked_on, known), (range(n),))}
        return Case(level, p, (jobs, judge, after), f"{n} jobs", known, network=NETWORK, rtol=1e-12, answers=answers)

    def expected(self, case):
        k, p = case.known, case.world_size
        order = sorted(range(len(k["jobs"])), key=lambda j: k["jobs"][j])
        mine = {"jobs": [k["jobs"][j] for j in order], "losses": np.array([k["losses"][j] for j in order])}
        mine |= {"changed": False}
        others = {"jobs": [], "losses": np.array([]), "worked": ANYTHING, "changed": False}
        return [mine | {"worked": ANYTHING if p == 1 else []}] + [others] * (p - 1)

    def needs_bytes(self, case):
        n = len(case.known["jobs"])
        return [8 * n * (case.world_size > 1)] + [0] * (case.world_size - 1)

    def facts(self, case: Case, run: Run):
        k, p, jobs = case.known, case.world_size, case.known["jobs"]
        values = [rank.value if isinstance(rank.value, dict) else {} for rank in run.ranks]
        worked = Counter(tuple(job) for value in values for job in value.get("worked", []))
        reported = [tuple(job) for value in values for job in value.get("jobs", [])]
        if any(often > 1 for often in worked.values()):
            return "trained_twice"
        if p > 1 and run.ranks[0].busy > 0:
            return "rank_0_works"
        if len(worked) < len(jobs):
            name = "jobs_lost" if p > 1 or worked else "nobody_works_alone"
            return Finding(name, f"{len(worked)} of {len(jobs)} jobs were worked on.")
        if len(reported) != len(jobs):
            return "reported_twice" if len(reported) > len(jobs) else "not_reported"
        if values[0].get("changed"):
            return "reports_the_buffer"
        losses = values[0].get("losses", np.array([]))
        wanted = self.expected(case)[0]["losses"]
        if np.shape(losses) == (len(jobs),) and not np.array_equal(losses, wanted, equal_nan=True):
            return "wrong_job" if np.array_equal(np.sort(losses), np.sort(wanted), equal_nan=True) else None
        if case.level == list(self.levels)[0]:
            return None
        wanted = max(greedy(k["seconds"], k["after"], max(1, p - 1)))
        if run.elapsed > SLACK * wanted:
            said = f"It took {run.elapsed * 1e3:.2f} ms of virtual time; {wanted * 1e3:.2f} ms are enough."
            return Finding("workers_idle", said)
        return None

    def contradiction(self, case, run):
        for r in range(1, case.world_size):
            worked = max((e.ended for e in run.events if e.rank == r and e.kind == COMPUTE), default=0.0)
            told = max((e.posted for e in run.events if e.rank == r and e.kind != COMPUTE), default=0.0)
            if worked > told:
                return f"rank {r} says that it computed after it had told its last result"
        return run.uncharged(together=sum(case.known["seconds"]))


def mistakes_show(validation: np.ndarray, test: np.ndarray, ranks: int) -> bool:
    """True if no trial is what two mistakes take for the winner: best by its test error and nearly so by validation,
    and, on a single rank, the first of all trials besides."""
    finite, lost = np.flatnonzero(~np.isnan(validation)), np.flatnonzero(np.isnan(validation))
    by_test, near = finite[np.argmin(test[finite])], finite[np.argsort(validation[finite])[:4]]
    first = ranks == 1 and 0 in (by_test, *near, np.argmax(validation))
    known = min(test[lost], default=1) > 0 and (not len(lost) or len(finite) > 3)
    return bool(by_test not in near and known and not first)


class BestTrial(Exercise):
    """The winner, and its test error"""

    signature = "best_trial(numbers: Tensor, validation: Tensor, test: Tensor) -> tuple[int, float]"
    levels = {"chosen by validation": 2, "ranks without trials, ties": 1, "diverged trials": 1, "no trial to choose": 1}
    all_hear = True
    may_lose = dict.fromkeys(("int64 -> float64", "integers of both widths"), "numbers of trials, 2**53 at most")
    harness = harness_of(__file__, "best_trial")
    mistakes = [
        Mistake("chooses_by_test_set", "The trial with the smallest test error was chosen: that error is no "
                "fair estimate any more, it was chosen because it is small.",
                "Choose by the validation loss; look at the test error of the winner alone.",
                lambda c: c.best(c.test, c.test)),
        Mistake("lowest_test_error", "The winner is right, but the error returned is the smallest of all trials, not "
                "the winner's.",
                "Return the test error of the trial that was chosen.",
                lambda c: c.best() and [c.best()[0], float(np.nanmin(c.test))]),
        Mistake("returns_validation", "The winner's validation loss was returned, not its test error.",
                "Validation chose the winner, so this number is too good. Return the test error.",
                lambda c: c.best(value=c.validation)),
        Mistake("own_best", "Each rank returned the best of its own trials.", "Compare across the ranks.",
                lambda c: [c.best(share=share) or ANYTHING for share in c.shares] if c.best() else None),
        Mistake("nan_wins", "A trial that diverged was chosen: nan is neither smaller nor larger than a number, and "
                "argmin returns it.",
                "Drop trials whose validation loss is nan first, or make it infinite."),
        Mistake("nan_hides_the_others", "On a rank whose first loss is nan the other trials were not looked at: no "
                "comparison with nan is true, so `min` keeps what it has.",
                "Drop trials whose validation loss is nan before you compare.", lambda c: c.best(by=c.behind_nan)),
        Mistake("worst_wins", "The trial with the largest loss was chosen.", "Choose the smallest.",
                lambda c: c.best(-c.validation)),
        Mistake("place_for_number", "The first number is the place of the winner among all trials, or on its rank.",
                "Return its entry in `numbers`."),
        Mistake("last_of_equals", "Of trials with equal losses the one with the largest number was chosen.",
                "Choose the smallest number.", lambda c: c.best(last=True)),
        Mistake("first_rank_of_equals", "Of trials with equal losses the first was chosen, in the order of the ranks "
                "and of their trials.",
                "Choose the smallest number.", lambda c: c.best(by_place=1)),
        Mistake("last_place_of_equals", "Of trials with equal losses the last was chosen, in the order of a rank's "
                "trials.",
                "The smallest number: compare pairs (loss, number).", lambda c: c.best(by_place=-1)),
        Mistake("losses_rounded", "Losses that differ in the ninth digit were taken for equal: they were compared in "
                "float32, or rounded.",
                "Compare float64 with float64: `torch.tensor(loss, dtype=torch.float64)`.",
                lambda c: None if (np.abs(c.validation) > 3e38).any() else c.best(by=c.validation.astype(np.float32))),
        Mistake("number_rounded", "The number of the winner was rounded: it went through float32, which above "
                "16,777,216 holds only some of the even whole numbers.",
                "`numbers.double()`: float64 holds whole numbers up to 2**53."),
        Mistake("error_on_one_rank", "All ranks have the winner's number, but only its own rank has its test error.",
                "The error travels, too: let all other ranks add 0, or send it along with the loss."),
        Mistake("takes_anything", "There is no trial to choose, and the function returned something all the same.",
                "Raise a ValueError, on every rank."),
        Mistake("sends_all_trials", "The answer is right, but ranks pass all their trials to collectives.",
                "Each rank's best is enough: loss, number and test error."),
    ]  # fmt: skip

    def cases(self, rng):
        chosen, few, diverged, nobody = self.levels
        return [
            self._case(rng, chosen, (9, 12, 10)),
            self._case(rng, chosen, (15, 11), wide=5_123_456_789),
            self._case(rng, chosen, (8, 9, 7), wide=2**53, below=True),
            self._case(rng, few, (0, 9, 9, 0)),
            self._case(rng, few, (9, 10, 9), ties=True),
            self._case(rng, few, (7, 8), ties=True, within=True),
            self._case(rng, few, (8, 9), close=True),
            self._case(rng, few, (5, 0, 8), zero=True),
            self._case(rng, diverged, (10, 9), nan=(0.3,)),
            self._case(rng, diverged, (9, 0, 8), nan=(0.3,), scale=1e38),
            self._case(rng, diverged, (3, 12, 9), nan=(0.2, "first")),
            self._case(rng, nobody, (0, 0)),
            self._case(rng, nobody, (2, 3, 0), nan=("all",)),
            self._case(rng, chosen, (9,)),
            self._case(rng, chosen, (99, 40)),
            self._case(rng, chosen, (8, 9), lowest=-1.8),
            self._case(rng, few, (5, 0, 8), lowest=0.0),
            self._case(rng, diverged, (9, 0, 8), nan=(0.3,), scale=1e300),
            self._case(rng, nobody, (40, 40), nan=("all",)),
        ]

    @staticmethod
    def _case(
        rng, level, sizes, ties=False, nan=(), within=False, close=False, scale=1.0, zero=False, wide=0, below=False,
        lowest=None,
    ):  # fmt: skip
        """ties: each rank has the smallest loss once, or rank 1 alone has it four times (within). close: the two
        smallest losses differ in the ninth digit, and the larger one has the smaller number. scale: of the losses.
        zero: the winner, on the last rank, has the number 0, which who sends zeros takes for no trial. wide: it has
        this one, which int32 does not hold. below: all test errors are below zero, like a log-likelihood. lowest: the
        smallest of all losses."""
        n, starts = sum(sizes), np.cumsum([0, *sizes])
        while True:
            numbers, order = rng.permutation(400)[:n] + 100, rng.permutation(n)
            validation, test = np.linspace(0.2, 3, n)[order] + rng.uniform(0, 0.01, n), rng.uniform(0.3, 3, n)
            if within:
                at = starts[1] + np.sort(rng.permutation(sizes[1])[:4])
                validation[at] = 0.1
                numbers[at] = np.sort(numbers[at])[[2, 0, 3, 1]]
            elif close:
                at = np.array([rng.integers(sizes[0]), starts[1] + rng.integers(sizes[1])])
                validation[at] = 0.1, 0.1 - 3e-10
                numbers[at] = sorted(numbers[at])
            elif ties:  # three ranks have the smallest loss, the middle one the smallest number
                at = starts[:-1] + rng.integers(1, 8, len(sizes))
                validation[at] = 0.1
                numbers[at] = sorted(numbers[at])[1], sorted(numbers[at])[0], sorted(numbers[at])[2]
            if zero:
                at = starts[-2] + 3
                numbers[at], validation[at] = 0, 0.1
            if wide:
                numbers[np.argmin(validation)] = wide
            test -= 5.0 * below
            validation += 0.0 if lowest is None else lowest - validation.min()
            validation *= scale
            for share in nan:
                if share == "all":
                    validation[:] = np.nan
                elif share == "first":
                    validation[: sizes[0]] = np.nan
                else:
                    validation[rng.permutation(n)[: int(share * n)]] = np.nan
            if nan and not np.isnan(validation).all():  # what a comparison with nan keeps hides the winner behind it
                winner, firsts = np.nanargmin(validation), starts[:-1][np.diff(starts) > 0]
                first = firsts[np.searchsorted(firsts, winner, "right") - 1]
                if first == winner or np.isnan(validation[firsts[firsts != first]]).all():
                    continue
                validation[first] = np.nan
            if np.isnan(validation).all() or mistakes_show(validation, test, len(sizes)):
                break
        known = {"numbers": numbers, "validation": validation, "test": test, "sizes": list(sizes)}
        parts = [slice(a, b) for a, b in pairwise(starts)]
        arguments = [
            (Tensor(numbers[s], "int64"), Tensor(validation[s], "float64"), Tensor(test[s], "float64")) for s in parts
        ]
        return Case(level, len(sizes), arguments, f"{list(sizes)} trials", known, rtol=1e-12)

    def worked(self, case):
        c = super().worked(case)
        c.starts = np.cumsum([0, *c.sizes])
        c.shares = [range(a, b) for a, b in pairwise(c.starts)]

        def best(by=c.validation, value=c.test, share=None, last=False, by_place=0):
            some = range(len(c.numbers)) if share is None else share
            some = [k for k in some if not np.isnan(by[k] + c.validation[k])]
            if not some or np.isnan(c.validation).all():
                return None
            rest = {k: k * by_place if by_place else -c.numbers[k] if last else c.numbers[k] for k in some}
            k = min(some, key=lambda k: (by[k], rest[k]))
            return [int(c.numbers[k]), float(value[k])]

        c.behind_nan = c.validation.astype(float)
        for share in c.shares:
            if share and np.isnan(c.validation[share[0]]):
                c.behind_nan[share] = np.nan
        c.best = best
        return c

    def per_rank(self, case, value):
        values = value if isinstance(value[0], list) or value[0] is ANYTHING else [value] * case.world_size
        return [{"winner": one, "raises": "nothing"} for one in values]

    def expected(self, case):
        best = self.worked(case).best()
        right = {"winner": best, "raises": "nothing"} if best else {"winner": ANYTHING, "raises": "ValueError"}
        return [right] * case.world_size

    def needs_bytes(self, case):
        return [8 * bool(self.worked(case).best())] * case.world_size

    def facts(self, case: Case, run: Run):
        right, answers = self.worked(case).best(), [rank.value for rank in run.ranks]
        if not right:
            raised = [isinstance(a, dict) and a.get("raises") == "ValueError" for a in answers]
            return self._sent(run) if all(raised) else "takes_anything"
        pairs = [a.get("winner") if isinstance(a, dict) else None for a in answers]
        if not all(isinstance(a, list) and len(a) == 2 and type(a[0]) in (int, float) for a in pairs):
            return None
        diverged = case.known["numbers"][np.isnan(case.known["validation"])]
        if any(a[0] in diverged for a in pairs):
            return "nan_wins"
        if any(a[0] != right[0] and a[0] == np.float32(right[0]) for a in pairs):
            return "number_rounded"
        errors = [a[1] for a in pairs]
        if all(a[0] == right[0] for a in pairs) and 0 < errors.count(0.0) == len(errors) - 1 and right[1] in errors:
            return "error_on_one_rank"
        if any(a[0] != right[0] for a in pairs):
            tests = all(isinstance(a[1], float) and abs(a[1] - right[1]) < 1e-9 for a in pairs)
            return "place_for_number" if tests and all(a[0] < 100 for a in pairs) else None
        return self._sent(run)

    @staticmethod
    def _sent(run):
        most = max(rank.collective_bytes for rank in run.ranks)
        return Finding("sends_all_trials", f"A rank handed over {most} bytes; 24 would do.") if most > 64 else None


# -- who goes on -------------------------------------------------------------------------------------------------------


class SuccessiveHalving(PlainExercise):
    """Successive halving"""

    signature = "successive_halving(train: Callable, n: int, r: int, R: int, eta: int) -> list[list[int]]"
    levels = {"the rungs": 2, "uneven rungs; diverged trials": 1, "no wasted epochs": 1}
    talks = False
    given = ("curves", "n", "r", "R", "eta")
    harness = harness_of(__file__, "successive_halving")
    mistakes = [
        Mistake("keeps_the_worst", "The configurations with the largest losses go on.", "Keep the smallest losses.",
                lambda c: c.of("keeps_the_worst")),
        Mistake("rounds_up", "More configurations go on than asked for.", "Rung k has n // eta**k of them.",
                lambda c: c.of("rounds_up")),
        Mistake("halves", "Half of them go on, whatever eta is.", "Rung k has n // eta**k of them.",
                lambda c: c.of("halves") if c.eta != 2 else None),
        Mistake("equal_epochs", "Each rung adds the same number of epochs.",
                "Rung k trains to r * eta**k epochs in all.",
                lambda c: c.of("equal_epochs") if c.R > c.r * c.eta else None),
        Mistake("best_so_far", "Configurations are compared by the best loss that they ever had, which some had after "
                "fewer epochs.",
                "Compare the losses of this rung, all after the same number of epochs.", lambda c: c.of("best_so_far")),
        Mistake("not_in_order", "The rungs hold the right configurations in order of their numbers.",
                "The best first: the winner is rungs[-1][0].", lambda c: c.of("not_in_order")),
        Mistake("stops_before_R", "The last rung is missing.", "Go on while r * eta**k <= R.",
                lambda c: c.of("stops_before_R")),
        Mistake("order_of_training", "The rungs hold the right configurations in the order in which they were trained, "
                "which is that of the rung before.",
                "Append a rung after sorting it by its own losses: the winner is rungs[-1][0].",
                lambda c: c.of("order_of_training")),
        Mistake("new_epochs", "Only the epochs that a rung adds were passed to `train`, which then trains fewer.",
                "`train(i, epochs)` takes the epochs in all: r * eta**k.", lambda c: c.of("new_epochs")),
        Mistake("losses_rounded", "Losses that differ in the ninth digit were taken for equal: they were compared in "
                "float32, or rounded.",
                "Compare float64 with float64: `torch.tensor(loss, dtype=torch.float64)`.",
                lambda c: {**c.right, "rungs": halving(SimpleNamespace(
                    **{**c.case.known, "curves": c.curves.astype(np.float32)}))}),
        Mistake("NotAnInt", "`train` was called with a float for the epochs.",
                "Whole numbers all the way: r * eta**k."),
        Mistake("nan_stays", "A configuration whose loss is nan comes before one with a number.",
                "nan counts as worse than any number: `sorted` alone does not know that."),
        Mistake("not_rungs", "The answer is not a list of lists of configuration numbers."),
        Mistake("ties", "Of two equal losses the larger number comes first.", "The smaller number comes first."),
        Mistake("trains_the_dropped", "The rungs are right, but configurations were trained further than they had to "
                "be.",
                "Never train a configuration again that was dropped."),
        Mistake("trains_the_winner_on", "The rungs are right, but the winner was trained up to R: there is no such "
                "rung.",
                "Stop after the last rung."),
    ]  # fmt: skip

    def draw(self, rng):
        rungs, odd, cheap = self.levels
        for level, n, r, R, eta, nan in (
            (rungs, 27, 1, 27, 3, 0),
            (rungs, 16, 2, 16, 2, 0),
            (odd, 20, 1, 30, 3, 0),
            (odd, 30, 2, 20, 3, 14),
            (odd, 7, 1, 27, 3, 3),
            (odd, 12, 1, 9, 2, 9),  # who has diverged goes on, too
            (cheap, 12, 1, 9, 3, 0),
            (cheap, 12, 1, 20, 3, 0),
        ):
            known = {"n": n, "r": r, "R": R, "eta": eta, "counted": level == cheap}
            while True:
                known["curves"] = self._curves(rng, n, R, nan)
                c = SimpleNamespace(**known)
                right = halving(c)
                others = halving(c, "best_so_far"), halving(c, "equal_epochs")
                if right not in others and right[1] != sorted(right[1]):
                    break
            yield level, known, {"says": f"n = {n}, r = {r}, R = {R}, eta = {eta}"}
        known = {"curves": self._curves(rng, 3, 3, 0), "n": 3, "r": 4, "R": 3, "eta": 3, "counted": False}
        yield odd, known, {"says": "n = 3, r = 4, R = 3, eta = 3: no rung at all"}
        yield rungs, self._chosen(rng, 243), {"says": "n = 243, r = 1, R = 243, eta = 3"}
        close = self._chosen(rng, 9)
        close["curves"] = 1.0 + 1e-9 * rng.permutation(close["curves"])
        yield rungs, close, {"says": "n = 9, r = 1, R = 9, eta = 3; losses that differ in the tenth digit"}
        yield (
            odd,
            self._chosen(rng, 9, odd=True),
            {"says": "n = 9, r = 1, R = 9, eta = 3; inf, nan, and ties in rung 1"},
        )
        known = {"n": 9, "r": 1, "R": 9, "eta": 3, "counted": False}
        losses = np.array([0.5, 0.0, -0.25, -np.inf, 1.0, 0.75, 2.0, 3.0, 4.0])
        yield odd, known | {"curves": np.repeat(losses[:, None], 10, axis=1)}, {"says": "n = 9; losses of 0 and below"}
        yield odd, known | {"curves": np.zeros((0, 10)), "n": 0}, {"says": "n = 0, r = 1, R = 9, eta = 3"}

    @staticmethod
    def _chosen(rng, n, odd=False):
        """The larger its number, the better a configuration. odd: 0 diverges, 1 is infinite at first, and in rung
        1 two are equal and better than the third, which was the best."""
        curves = np.repeat(np.sort(rng.uniform(0.5, 1.5, n))[::-1, None], n + 1, axis=1)
        if odd:
            curves[0, 1:], curves[1, 1], curves[-3:, 3] = np.nan, np.inf, (1.9, 1.9, 2.0)
        return {"n": n, "r": 1, "R": n, "eta": 3, "counted": False, "curves": curves}

    @staticmethod
    def _curves(rng, n, R, nan):
        """Loss after e epochs, n configurations: they cross, come back up, and some diverge at the first rung or later;
        a pair is equal."""
        ends, tau = rng.uniform(0.1, 1.5, n), rng.uniform(2, 12, n)
        curves = ends[:, None] + (3 - ends[:, None]) * np.exp(-np.arange(R + 1) / tau[:, None])
        curves += rng.uniform(0, 0.4, (n, 1)) * rng.uniform(-1, 1, (n, R + 1)) * (np.arange(R + 1) < R)
        curves = np.abs(curves)
        equal = rng.permutation(n)[:2]
        curves[equal[1]] = curves[equal[0]]
        curves[rng.permutation(n)[:nan], 1:] = np.nan
        return curves

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: {"rungs": halving(c, slip), "epochs": ANYTHING}
        return c

    def right(self, **known):
        return {"rungs": halving(SimpleNamespace(**known)), "epochs": ANYTHING}

    def read(self, answer, curves, n, r, R, eta, counted):
        rungs = answer.get("rungs") if isinstance(answer, dict) else None
        if not rungs or not all(
            isinstance(rung, list) and all(type(i) is int and 0 <= i < n for i in rung) for rung in rungs
        ):
            return "not_rungs"
        for k, rung in enumerate(rungs):
            if r * eta**k > R:
                return None
            losses = [curves[i][r * eta**k] for i in rung]
            seen = [math.isnan(loss) for loss in losses]
            shown = [loss for loss in losses if not math.isnan(loss)]
            if seen != sorted(seen):
                return "nan_stays" if shown == sorted(shown) else None
            if any(a > b for (a, b), (x, y) in zip(pairwise(rung), pairwise(losses), strict=True) if x == y):
                return "ties"
        return None

    def read_right(self, answer, curves, n, r, R, eta, counted):
        rungs, level = answer["rungs"], {}
        for k, rung in enumerate(rungs):
            level |= dict.fromkeys(rung, r * eta**k)
        if counted and answer["epochs"] > sum(level.values()):
            said = f"{answer['epochs']} epochs were trained; {sum(level.values())} would do."
            on = answer["epochs"] - sum(level.values()) == R - max(level.values())
            return Finding("trains_the_winner_on" if on else "trains_the_dropped", said)
        return None


class HyperbandBrackets(RefusingExercise):
    """Hyperband's table"""

    signature = "hyperband_brackets(R: int, eta: int) -> list[list[tuple[int, int]]]"
    levels = {"R = 81, eta = 3": 1, "other powers": 1, "R is not a power of eta": 1, "illegal arguments": 1}
    talks = False
    mistakes = [
        Mistake("float_logarithm", "A bracket is missing: log(243) / log(3) is 4.999999999999999 for a computer.",
                "Count in whole numbers: the largest s with eta**s <= R.", lambda c: c.of("float_logarithm")),
        Mistake("logarithm_with_slack", "R is just below a power of eta, and its logarithm was taken for a whole "
                "number: there is a bracket too many.",
                "Count in whole numbers: the largest s with eta**s <= R.", lambda c: c.of("logarithm_with_slack")),
        Mistake("strictly_below", "R is a power of eta, and a bracket is missing.",
                "The largest s with eta**s <= R: equal counts, too.", lambda c: c.of("strictly_below")),
        Mistake("no_random_search", "The last bracket is missing, s = 0: all its configurations get R epochs.",
                "s runs from the largest down to 0.", lambda c: c.of("no_random_search")),
        Mistake("last_bracket_first", "The brackets are in reverse order.", "The largest s comes first.",
                lambda c: c.of("last_bracket_first") if c.R >= c.eta else None),
        Mistake("eta_to_the_s", "Every bracket begins with eta**s configurations: those with few rungs then cost much "
                "less than the others.",
                "n = (s_max + 1) // (s + 1) * eta**s.", lambda c: c.of("eta_to_the_s")),
        Mistake("the_formula_of_line_2", "This is the formula of the paper's Algorithm 1, rounded up; it does not give "
                "the paper's own Table 1.",
                "n = (s_max + 1) // (s + 1) * eta**s.", lambda c: c.of("the_formula_of_line_2")),
        Mistake("floor_of_the_product", "(s_max + 1) * eta**s was divided by s + 1 and then rounded down.",
                "Round the quotient down first: n = (s_max + 1) // (s + 1) * eta**s.",
                lambda c: c.of("floor_of_the_product")),
        Mistake("nearest_epoch", "The epochs were rounded to the nearest whole number.",
                "Round down: R // eta**(s - i).", lambda c: c.of("nearest_epoch")),
        Mistake("powers_for_epochs", "The epochs are powers of eta; the last rung does not get R.",
                "R // eta**(s - i) epochs in rung i.", lambda c: c.of("powers_for_epochs")),
        Mistake("rounded_on_the_way", "The epochs were computed in fractions and cut off at the end: 99.99999 becomes "
                "99.",
                "Whole numbers all the way: R // eta**(s - i).", lambda c: c.of("rounded_on_the_way")),
        Mistake("multiples_of_the_first_rung", "The first rung's epochs are rounded down and then multiplied by eta: "
                "the last rung gets less than R.",
                "Divide R in every rung: R // eta**(s - i).", lambda c: c.of("multiples_of_the_first_rung")),
        Mistake("fractions_of_epochs", "There are no fractions of an epoch.", "R // eta**(s - i) epochs in rung i.",
                lambda c: c.of("fractions_of_epochs")),
        TAKES_ANYTHING.but(how="Raise ValueError if R < 1 or eta < 2."),
    ]  # fmt: skip

    def draw(self, rng):
        paper, powers, none, wrong = self.levels
        known = [(paper, 81, 3), (powers, 243, 3), (powers, 125, 5), (powers, 1000, 10), (powers, 16, 4)]
        known += [(none, 100, 3), (none, int(rng.integers(300, 360)), 4), (none, 1, 3), (none, 2, 3)]
        known += [(powers, 32, 2), (powers, 196, 14), (none, 50, 2), (wrong, 0, 3), (wrong, 27, 1)]
        known += [(powers, 3**35, 3), (none, 3**21 - 1, 3)]
        known += [(wrong, -3, 3), (wrong, 27, 0), (wrong, 27, -2), (wrong, 1, 1)]
        for level, R, eta in known:
            yield level, {"R": R, "eta": eta}

    def draw_further(self, rng):
        _, powers, none, wrong = self.levels
        for eta in map(int, rng.integers(5, 60, 2)):
            yield powers, {"R": eta**2, "eta": eta}
            yield none, {"R": eta**3 + int(rng.integers(2, eta**3)), "eta": eta}
        yield wrong, {"R": -int(rng.integers(1, 500)), "eta": int(rng.integers(2, 9))}
        yield wrong, {"R": int(rng.integers(2, 500)), "eta": -int(rng.integers(500))}

    def impossible(self, R, eta):
        return R < 1 or eta < 2

    def right(self, R, eta):
        return None if self.impossible(R, eta) else as_plain(brackets(R, eta))

    def read(self, answer, R, eta):
        """Floats hold no more than 2**53: how much is lost depends on the way."""
        found = answer.get("value") if isinstance(answer, dict) and R > 2**53 else None
        slips = [as_plain(brackets(R, eta, m.name)) for m in self.mistakes]
        if found is None or any(difference(one, found) is None for one in slips):
            return None
        right, got = np.ravel(sum(self.right(R, eta), [])), np.ravel(sum(found, []))
        alike = got.dtype == right.dtype and got.shape == right.shape and np.allclose(got, right, rtol=1e-9, atol=1.0)
        return "rounded_on_the_way" if alike else None

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: as_plain(brackets(c.R, c.eta, slip)) if c.possible else None
        return c


def as_plain(table: list[list[tuple]]) -> list:
    return [[list(row) for row in bracket] for bracket in table]


class AshaNext(PlainExercise):
    """The next job of an idle worker"""

    signature = "asha_next(finished: list[dict], started: list[list], n: int, eta: int) -> tuple[int, int] | None"
    levels = {"promotion or a new trial": 2, "while others run": 1, "diverged trials, ties, nothing left": 1}
    talks = False
    harness = harness_of(__file__, "asha_next")
    mistakes = [
        Mistake("notes_it_itself", "The answer is right, but the function has changed its arguments: the caller "
                "records what it starts, so it is there twice.",
                "Only look at `finished` and `started`.", lambda c: {"job": ANYTHING, "changed": True}),
        Mistake("looks_at_the_best_alone", "None goes up where the best one has been started already.",
                "All of the best m // eta may go up: take the best one of these that has not been started.",
                lambda c: c.of("looks_at_the_best_alone")),
        Mistake("nan_is_last_and_goes_up", "Where most have diverged, one of these goes up: nan is worse than any "
                "number, and must be left out.",
                "`loss == loss` is False for nan: drop these before you take the best.",
                lambda c: c.of("nan_is_last_and_goes_up")),
        Mistake("inf_is_no_loss", "An infinite loss was treated as nan. It is a number, and among equals the smallest "
                "number goes up.",
                "math.isnan, not math.isfinite.", lambda c: c.of("inf_is_no_loss")),
        Mistake("last_of_equals", "Of two equal losses the larger number goes up first.",
                "The smaller number goes first.", lambda c: c.of("last_of_equals")),
        Mistake("losses_rounded", "Losses that differ in the ninth digit were taken for equal: they were compared in "
                "float32, or rounded.",
                "Compare float64 with float64: Python's own floats.",
                lambda c: {**c.right, "job": listed(asha(c.rounded))}),
        Mistake("diverged_do_not_count", "None goes up because a configuration that diverged was not counted among the "
                "m that have finished.",
                "m is the number of all that have finished, len(finished[k]).",
                lambda c: c.of("diverged_do_not_count")),
        Mistake("promotes_twice", "A configuration that has been started on the next rung is started there again.",
                "Leave out those in started[k + 1].", lambda c: c.of("promotes_twice")),
        Mistake("while_it_runs", "A configuration that is being trained on the next rung at this moment is started "
                "there again.",
                "Look into started[k + 1], not finished[k + 1].", lambda c: c.of("while_it_runs")),
        Mistake("lowest_rung_first", "A lower rung came first although a higher one has a configuration to promote.",
                "From the highest rung down.", lambda c: c.of("lowest_rung_first")),
        Mistake("new_ones_first", "A new configuration was begun although one could be promoted.",
                "Promote if you can; begin a new one if not.", lambda c: c.of("new_ones_first")),
        Mistake("rounds_up", "One is promoted too early: of m finished the best m // eta go up.", "Round down.",
                lambda c: c.of("rounds_up")),
        Mistake("counts_those_that_run", "Those that still run were counted: nobody knows yet how good they are.",
                "m is the number of finished ones.", lambda c: c.of("counts_those_that_run")),
        Mistake("waits_for_the_rung", "None is promoted before the whole rung has finished: that is successive "
                "halving, and workers wait.",
                "Promote a configuration as soon as it is among the best m // eta of the m that have finished.",
                lambda c: c.of("waits_for_the_rung")),
        Mistake("next_best", "One that is not among the best m // eta goes up because better ones have gone up before.",
                "First the best m // eta, then leave out those that have been started.", lambda c: c.of("next_best")),
        Mistake("promotes_the_worst", "The largest losses go up.", "The smallest losses go up.",
                lambda c: c.of("promotes_the_worst")),
        Mistake("past_the_last", "There is no configuration with this number.",
                "There are n, from 0 to n - 1; after that, None.", lambda c: c.of("past_the_last")),
        Mistake("nan_goes_up", "A configuration that diverged goes up.", "nan counts as worse than any number.",
                lambda c: c.of("nan_goes_up")),
        Mistake("nan_in_the_way", "With a nan among them the losses were not in order after sorting, and one that is "
                "not the best goes up: nan is neither smaller nor larger than a number.",
                "Drop nan before you sort, or sort by (is it nan, loss, number).",
                lambda c: c.of("nan_in_the_way")),
    ]  # fmt: skip

    def draw(self, rng):
        up, running, odd = self.levels
        structure = np.random.default_rng(14)  # who shows where is fixed: a grade must not hang on the key
        for level, n, to, shown, options in (
            (up, 20, 1, ("waits_for_the_rung",), {"all_begun": True}),
            (up, 20, 1, ("promotes_the_worst", "new_ones_first"), {}),
            (up, 20, 0, ("rounds_up",), {}),
            (up, 20, 0, ("promotes_twice", "next_best"), {}),
            (up, 27, 2, ("lowest_rung_first",), {}),
            (running, 20, 0, ("counts_those_that_run",), {}),
            (running, 20, 0, ("while_it_runs",), {}),
            (odd, 9, None, ("past_the_last",), {}),
            (odd, 12, 1, ("nan_goes_up",), {"diverged": 2}),
            (odd, 12, 1, ("last_of_equals",), {"equal": True}),
        ):
            while True:
                known = any_state(structure, n, **options) | {"n": n, "eta": 3}
                right = asha(state(**known))
                if (right and right[1]) == to and self._show(shown, right, known, level == up):
                    break
            known |= with_other_losses(rng, known, relabel=not options)
            yield level, known, {"says": f"n = {n}, eta = 3"}
        for level, eta, losses, gone in (
            (up, 3, {0: 0.9, 1: 0.4, 2: 0.7, 3: 0.2, 4: 0.8, 5: 0.6}, [3]),
            (odd, 3, {4: 0.5, 1: 0.9, 0: math.nan}, []),
            (odd, 2, {0: math.nan, 1: 0.9, 2: math.nan, 3: 0.4}, []),
            (odd, 2, {4: 0.5, 1: 0.5, 0: 0.9, 2: 0.8}, []),
            (odd, 2, {0: math.nan, 1: math.nan, 2: 0.5, 3: math.nan}, [2]),
            (odd, 2, {0: math.inf, 1: math.inf}, []),
        ):
            rung, begun = [list(pair) for pair in losses.items()], list(range(max(5, len(losses))))
            known = {"finished": [rung, [[i, 0.3] for i in gone], []], "started": [begun, gone, []]}
            known |= {"n": 9, "eta": eta}
            yield level, known, {"says": f"n = 9, eta = {eta}"}
        yield from self._fixed(up, odd)

    @staticmethod
    def _fixed(up, odd):
        rungs = [dict.fromkeys(range(8), 0.5), {0: 0.4, 1: 0.4, 2: 0.6, 3: 0.7}, {0: 0.4, 1: 0.3}, {}]
        for level, eta, says, finished, started in (
            (up, 3, "losses that differ in the ninth digit", [{0: 0.5 + 1e-9, 1: 0.5, 2: 0.9}, {}], [[0, 1, 2], []]),
            (up, 3, "nothing has begun", [{}, {}, {}], [[], [], []]),
            (up, 2, "four rungs", rungs, [list(range(8)), [0, 1, 2, 3], [0, 1], []]),
            (up, 3, "a single rung", [{0: 0.5, 1: 0.4, 2: 0.6}], [[0, 1, 2, 3]]),
            (odd, 3, "a loss of -inf", [{0: -math.inf, 1: 0.5, 2: 0.7, 3: 0.9}, {}], [[0, 1, 2, 3], [1]]),
        ):
            known = {"finished": [[list(pair) for pair in rung.items()] for rung in finished], "started": started}
            yield level, known | {"n": 9, "eta": eta}, {"says": f"n = 9, eta = {eta}, {says}"}

    def _show(self, shown, right, known, nobody_runs):
        """True if these mistakes give what neither a right answer nor another mistake gives, and, where `nobody_runs`
        is wanted, those that are still trained make no difference.
        """
        found = {mistake.name: asha(state(**known), mistake.name) for mistake in self.mistakes}
        others = [right, *(value for name, value in found.items() if name not in shown)]
        quiet = not nobody_runs or found["counts_those_that_run"] == found["while_it_runs"] == right
        return quiet and not any(found[name] in others for name in shown)

    def right(self, **known):
        return {"job": listed(asha(state(**known))), "changed": False}

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: {"job": listed(asha(state(**case.known), slip)), "changed": False}
        rounded = [[[i, float(np.float32(loss))] for i, loss in rung] for rung in c.finished]
        c.rounded = state(**case.known | {"finished": rounded})
        return c


def listed(job: tuple | None) -> list | None:
    return job if job is None else list(job)


def state(finished, started, n, eta):
    return SimpleNamespace(finished=[dict(map(tuple, rung)) for rung in finished], started=started, n=n, eta=eta)


# -- few switches matter -----------------------------------------------------------------------------------------------


class Spectral(PlainExercise):
    """The switches that matter"""

    harness = harness_of(__file__, "spectral")
    signature = "spectral(x: np.ndarray, y: np.ndarray, degree: int, s: int) -> list[tuple[tuple[int, ...], float]]"
    levels = {"without noise": 1, "with noise": 2}
    talks = False
    may_lose = dict.fromkeys(
        ("float64 -> float32", "int64", "integers of both widths"), "x holds +1 and -1; y has noise"
    )
    mistakes = [
        Mistake("not_products", "The answer is not a list of s pairs: a tuple of columns, and its coefficient.",
                "[((), 1.5), ((0, 3), -0.7), ...]"),
        Mistake("single_choices_only", "Products of several switches were left out.",
                "All sets of at most `degree` columns.", lambda c: c.of("single_choices_only") if c.degree else None),
        Mistake("no_constant", "The empty set was left out: its product is 1, its coefficient the constant.",
                "Sets of 0 to `degree` columns.", lambda c: c.of("no_constant") if c.degree else None),
        Mistake("constant_always", "The empty set is in the answer although s other sets matter more.",
                "It is a set like any other: keep it where its mean is among the s largest.",
                lambda c: c.of("constant_always")),
        Mistake("fitted_with_a_constant", "The sets are right, but their coefficients are those of a fit that has a "
                "constant, too.",
                "Fit the chosen sets alone; the constant is there only if the empty set was chosen.",
                lambda c: c.of("fitted_with_a_constant")),
        Mistake("too_many_columns", "Sets of more than `degree` columns were used, too.",
                "Sets of 0 to `degree` columns: `range(degree + 1)`.", lambda c: c.wider),
        Mistake("largest_not_in_magnitude", "The largest coefficients were kept, and those far below zero dropped.",
                "Compare their absolute values.", lambda c: c.of("largest_not_in_magnitude")),
        Mistake("degree_left_out", "The sets of `degree` columns were left out.",
                "`range(degree)` ends at degree - 1: `range(degree + 1)`.",
                lambda c: c.of("degree_left_out") if c.degree else None),
        Mistake("smallest_first", "The order is from the smallest to the largest.", "The largest in magnitude first.",
                lambda c: c.of("smallest_first")),
        Mistake("order_of_the_first_look", "The sets and their coefficients are right, but in the order of the means, "
                "not of the fit.",
                "Sort at the end, by the magnitudes of the fitted coefficients.",
                lambda c: c.of("order_of_the_first_look")),
        Mistake("order_of_the_fit_with_all", "The sets and their coefficients are right, but in the order of a fit "
                "with all sets, not of the fit with these alone.",
                "Sort at the end, by the magnitudes of the coefficients that you return.",
                lambda c: c.of("order_of_the_fit_with_all")),
        Mistake("fitted_with_all", "The sets are right, but their coefficients are those of a fit with all sets, which "
                "explains some of the noise.",
                "Fit the chosen sets alone.", lambda c: c.of("fitted_with_all")),
        Mistake("not_fitted_again", "The sets are right, but their coefficients are the means, in which all other sets "
                "count as noise.",
                "Fit the chosen sets together by least squares.", lambda c: c.of("not_fitted_again")),
        Mistake("signs_in_the_order", "The sets and their coefficients are right, but ordered with their signs: those "
                "below zero come last.",
                "Sort by the absolute values.", lambda c: c.of("signs_in_the_order")),
    ]  # fmt: skip

    def draw(self, rng):
        clean, noisy = self.levels
        look, fit = "order_of_the_first_look", "order_of_the_fit_with_all"
        for level, m, n, degree, s, noise, beyond, other in (
            (clean, 150, 6, 2, 3, 0.0, 0.0, ""),
            (clean, 200, 5, 3, 4, 0.0, 0.0, ""),
            (noisy, 200, 7, 2, 4, 0.1, 0.0, ""),
            (noisy, 250, 5, 3, 4, 0.2, 0.0, ""),
            (clean, 60, 5, 2, 3, 0.0, 0.0, look),  # two coefficients that look as if they stood in the other order
            (noisy, 60, 5, 2, 3, 0.3, 0.0, fit),  # or stand in it where all sets are fitted
            (noisy, 640, 5, 2, 3, 0.1, 2.5, ""),  # a set of more columns matters most
            (clean, 150, 6, 2, 3, 0.0, 0.0, "no constant"),
            (noisy, 150, 5, 2, 3, 0.3, 0.0, "no constant"),
        ):
            known = {"degree": degree, "s": s}
            while True:
                constant = other != "no constant"
                known |= self._data(rng, m, n, degree, s, noise, beyond, bool(other) and constant, constant)
                turned = [slip for slip in (look, fit) if self._turned(slip, **known)]
                if self._plain(**known) and turned == ([other] if other and constant else []):
                    break
            if (level, m) == (clean, 200):  # +1 and -1 as integers, in which products with y, all below 1, are lost
                known |= {"x": known["x"].astype(np.int64), "y": known["y"] / 8}
            yield level, known, {"says": f"{m} trials of {n} switches, degree {degree}, s = {s}"}
        x = np.array(list(product([-1.0, 1.0], repeat=3)))
        known = {"x": x, "y": 1.0 + 2.5 * x[:, 0], "degree": 0, "s": 1}
        yield noisy, known, {"says": "8 trials of 3 switches, degree 0, s = 1"}
        x = np.array(list(product([-1.0, 1.0], repeat=5)))
        y = (2.0 * x[:, :4].prod(axis=1) + 1.25 * x[:, 4] - 0.75) / 10_000
        known = {"x": x, "y": y, "degree": 4, "s": 3}
        yield clean, known, {"says": "32 trials of 5 switches, degree 4, s = 3, small losses"}

    @staticmethod
    def _data(rng, m, n, degree, s, noise, beyond, close, constant):
        x = rng.choice([-1.0, 1.0], (m, n))
        if beyond:  # all choices equally often: what more columns explain changes none of the other coefficients
            x = rng.permutation(np.tile(list(product([-1.0, 1.0], repeat=n)), (m // 2**n, 1)))
        sets, table = products(x, degree)
        many = [k for k, one in enumerate(sets) if len(one) == degree]
        chosen = ([0] * constant + [*rng.permutation(many)[:2], *(rng.permutation(n) + 1)])[:s]
        sizes = np.array([2.0, 1.0, 1.5, 0.7][:s]) * rng.uniform(0.9, 1.1, s)
        if close:
            sizes[2] = sizes[1] * 1.05
        signs = np.array([1, -1, 1, -1][:s])
        y = table[:, chosen] @ (sizes * signs) + beyond * x[:, : degree + 1].prod(axis=1)
        return {"x": x, "y": y + noise * rng.normal(size=m)}

    @staticmethod
    def _turned(slip, **known):
        """True if this slip puts the largest in another order than the fit."""
        c = SimpleNamespace(**known)
        return [one for one, _ in spectral(c)] != [one for one, _ in spectral(c, slip)]

    @staticmethod
    def _plain(x, y, degree, s):
        """True if the s largest stand out at the first look and in a fit of all, and are the same: then any sound
        method finds them.
        """
        table = products(x, degree)[1]
        looks = [np.abs(table.T @ y) / len(y), np.abs(np.linalg.lstsq(table, y, rcond=None)[0])]
        orders = [np.argsort(-sizes) for sizes in looks]
        plain = all(sizes[order[s - 1]] > 1.5 * sizes[order[s]] for sizes, order in zip(looks, orders, strict=True))
        return plain and {*orders[0][:s]} == {*orders[1][:s]}

    def right(self, **known):
        return spectral(SimpleNamespace(**known))

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: spectral(SimpleNamespace(**case.known), slip)
        c.wider = spectral(SimpleNamespace(**{**case.known, "degree": c.degree + 1}))
        return c

    def read(self, answer, x, y, degree, s):
        pairs = isinstance(answer, list) and all(isinstance(one, list) and len(one) == 2 for one in answer)
        if not pairs or len(answer) != s or not all(isinstance(one[0], list) for one in answer):
            return "not_products"
        signed = spectral(SimpleNamespace(x=x, y=y, degree=degree, s=s), "signs_count")  # in the order, too
        return "largest_not_in_magnitude" if difference(signed, answer, 1e-9) is None else None
