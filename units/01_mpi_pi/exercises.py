"""Exercises of unit 01: pi by random points, on every rank at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from autograder.compare import same
from autograder.exercise import COMM, Case, Exercise, Finding, Mistake, Typed
from autograder.exercises.kinds import PlainExercise, as_floats, tells_apart
from autograder.exercises.source import harness_of, reference_of
from autograder.values import full_precision, wide_integers

SIGMA = math.sqrt(
    math.pi * (4 - math.pi)
)  # of one sample: 4 with probability pi / 4, else 0. A Bernoulli variable times 4.


def fair_sizes(n: int, world_size: int) -> list[int]:
    """The number of samples, of n, that each rank draws if shares differ by at most one, larger ones first."""
    return [n // world_size + (rank < n % world_size) for rank in range(world_size)]


def listed(numbers) -> str:
    """[3, 3, 4] as "3, 3 and 4"."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def points_in_square(rng: np.random.Generator, inside: np.ndarray) -> np.ndarray:
    """Points of the square around 0, inside the circle of radius 1/2 where `inside` is True: shape (2, len(inside)).

    No point is closer to the circle than 0.01, so that rounding decides nothing.
    """
    points = np.empty((2, len(inside)))
    for column, wanted in enumerate(inside):
        distance = 0.5
        while abs(distance - 0.5) < 0.01 or (distance < 0.5) != wanted:
            point = rng.uniform(-0.5, 0.5, 2)
            distance = math.hypot(*point)
        points[:, column] = point
    return points


def owners(starts: np.ndarray, stops: np.ndarray, n: int) -> np.ndarray:
    """For each of the samples 0 to n - 1, how many blocks start:stop hold it. Shape (n,)."""
    samples = np.arange(n)[:, None]
    return np.sum((starts <= samples) & (samples < stops), axis=1)


def is_fair(starts: np.ndarray, stops: np.ndarray, n: int) -> bool:
    """True if the blocks start:stop hold each of n samples once and differ in size by at most one sample."""
    sizes = stops - starts
    return bool(np.all(owners(starts, stops, n) == 1) and sizes.sum() == n and sizes.min() >= 0 and np.ptp(sizes) <= 1)


def block_mistake(starts: np.ndarray, stops: np.ndarray, n: int) -> str | None:
    """The name of what is wrong with one block start:stop per rank; None if they are fair."""
    world_size, sizes, held = len(starts), stops - starts, owners(starts, stops, n)
    ranks, taken = np.arange(world_size), sizes > 0
    quotient, rest = divmod(n, world_size)
    up = quotient + (rest > 0)
    as_fair = np.array_equal(np.sort(sizes), np.sort(fair_sizes(n, world_size)))
    table = [
        (None, is_fair(starts, stops, n)),
        ("ignores_rank", np.ptp(starts) == 0 and np.ptp(stops) == 0),
        ("count_instead_of_stop", is_fair(starts, starts + stops, n)),
        ("inclusive_stop", is_fair(starts, stops + 1, n)),
        ("starts_at_one", is_fair(starts - 1, stops - 1, n)),
        ("drops_remainder", rest and np.all(sizes == quotient) and np.all(starts == ranks * quotient)),
        ("rounds_up", rest and np.all(starts[taken] == ranks[taken] * up) and sizes.max() == up),
        ("start_from_own_size", as_fair and np.all(starts == ranks * sizes)),
        ("four_ranks", is_cut_for(4, starts, stops, n)),
        ("overlap", np.any(held > 1)),
        ("out_of_range", np.any(taken & ((starts < 0) | (stops > n)))),
        ("hole", np.any(held == 0)),
        ("last_rank_takes_rest", np.sum(sizes == quotient) == world_size - 1),
        ("unfair", True),
    ]
    return next(name for name, holds in table if holds)


def last_two_mistake(starts: np.ndarray, stops: np.ndarray, n: int, world_size: int) -> str | None:
    """The name of what is wrong with the blocks start:stop of the last two ranks alone; None if they can be fair."""
    quotient, rest = divmod(n, world_size)
    up = quotient + (rest > 0)
    table = [
        ("out_of_range", starts.min() < 0 or stops.max() > n),
        ("overlap", starts.max() < stops.min()),
        ("unfair", not set((stops - starts).tolist()) <= {quotient, up}),
    ]
    return next((name for name, holds in table if holds), None)


def is_cut_for(p: int, starts: np.ndarray, stops: np.ndarray, n: int) -> bool:
    """True if the blocks start:stop are those of p ranks, whatever stands in for ranks that p ranks do not have."""
    known = min(p, len(starts))
    sizes, ends = stops[:known] - starts[:known], np.append(0, stops[: known - 1])
    fair = np.all((sizes == n // p) | (sizes == -(-n // p))) and np.array_equal(starts[:known], ends)
    return bool(fair and (known < p or stops[known - 1] == n))


class FairShare(PlainExercise):
    """Fair shares"""

    signature = "fair_share(n, rank, world_size) -> tuple[int, int]"
    levels = {"equal shares": 1, "unequal shares": 1}
    given = ("n", "world_size", "last_two")
    rank_at = 1
    # last_two: of thousands of ranks. An answer that writes millions of items out does so at every call.
    harness = harness_of(__file__, "fair_share")
    reference = reference_of(__file__, "right_floor_of_both_ends")
    mistakes = [
        Mistake("not_a_pair", "Every rank needs the two ends of its block, but the function did not return a pair of "
                "numbers.", "Return two integers: `return start, stop`."),
        Mistake("float_bounds", "The ends of the blocks are floating-point numbers: `/` gives a float even where the "
                "division leaves no remainder.",
                "A sample cannot be cut in two. Divide with `//`, and spread the remainder `n % world_size`."),
        Mistake("ignores_rank", "Every rank has the same block, so the ranks repeat each other's work and add nothing "
                "new.", "Let `start` and `stop` depend on `rank`."),
        Mistake("count_instead_of_stop", "The second number is the size of the rank's block, but it should be the end "
                "of the block.", "Return `start, start + size`."),
        Mistake("inclusive_stop", "The second number is the last sample of the block, but `range(start, stop)` and "
                "slices leave `stop` out: every rank loses one sample.",
                "Let `stop` be the first sample that belongs to the next rank."),
        Mistake("starts_at_one", "The samples are counted from 1, so sample 0 belongs to nobody and the last rank "
                "reaches past the end.", "Samples are numbered 0 to n - 1, as ranks are numbered 0 to world_size - 1."),
        Mistake("drops_remainder", "Shares of n // world_size assign the last n % world_size samples to no rank.",
                "Give one sample more to n % world_size of the ranks."),
        Mistake("last_rank_takes_rest", "One rank takes the whole remainder. All others will wait for it: the slowest "
                "rank decides how long the program runs.",
                "Spread the remainder: n % world_size of the ranks take one sample more, so shares differ by at most "
                "one."),
        Mistake("rounds_up", "With n / world_size rounded up, the samples run out too early: the last ranks get fewer, "
                "or none.", "Round down, and give one sample more to n % world_size of the ranks."),
        Mistake("start_from_own_size", "The sizes are right, the starts are not: rank x (own size) assumes that all "
                "ranks before this one have blocks as large as its own, so blocks overlap or leave holes.",
                "Add up the sizes of the ranks before: rank * (n // world_size) + min(rank, n % world_size)."),
        Mistake("four_ranks", "These are the blocks for four ranks, whatever the number of ranks is.",
                "`world_size` is the number of ranks: divide by it, not by a fixed number."),
        Mistake("overlap", "Some samples belong to two ranks: they are drawn twice and count double in the result.",
                "The block of a rank must start where the block of the rank before it ends."),
        Mistake("out_of_range", "A block reaches outside the samples 0 to n - 1.",
                "The first block starts at 0 and the last one stops at n."),
        Mistake("hole", "Some samples belong to no rank.",
                "The block of a rank must start where the block of the rank before it ends; the last one stops at n."),
        Mistake("unfair", "Every sample has one owner, but the shares differ by more than one sample, and the largest "
                "share decides the run time.", "Sizes n // world_size and n // world_size + 1 are all you need."),
    ]  # fmt: skip

    def draw(self, rng):
        # The same n on more ranks and on fewer: who keeps an n's blocks and asks for no world_size is wrong.
        one, other = 20 * int(rng.integers(1, 10)) + 4, 12 * int(rng.integers(2, 12)) + 6
        for p, n in ((4, one), (3, other), (4, other), (5, one)):  # with 0, 0, 2 and 4 items left
            yield self.whole(n, p)
        for p, n in ((5, 3), (2, 0), (7, 61), (11, 15)):  # 7 * (61 / 7) is less than 61
            yield "unequal shares", self.whole(n, p)[1]
        yield self.whole(49, 49)  # 1 / 49 * 49 is less than 1
        # float32 does not hold this n, nor int32 the product of n and a rank; and no recursion is that deep.
        known = {"n": 17_000_003, "world_size": 2001, "last_two": True}
        yield "unequal shares", known, {"says": "n = 17000003, the last two of 2001 ranks"}

    def draw_further(self, rng):
        for p in map(int, rng.integers(6, 40, 2)):
            n = p * int(rng.integers(50, 5000))
            yield self.whole(n, p)
            yield self.whole(n + int(rng.integers(1, p)), p)

    @staticmethod
    def whole(n: int, p: int) -> tuple[str, dict]:
        return "unequal shares" if n % p else "equal shares", {"n": n, "world_size": p, "last_two": False}

    def read_right(self, value, n, world_size, last_two):
        """Several ways to cut are right."""
        first = world_size - 2 if last_two else 0
        listed = isinstance(value, list) and len(value) == world_size - first
        if not listed or not all(map(is_pair, value)):
            return Finding("not_a_pair", f"rank {first} got {value[0] if listed else value!r}.")
        blocks = np.array(value)
        if blocks.dtype.kind not in "iu":
            return Finding("float_bounds", f"The block of rank {first} is {value[0]}.")
        starts, stops = blocks.T
        name = last_two_mistake(starts, stops, n, world_size) if last_two else block_mistake(starts, stops, n)
        ends = ", ".join(f"{start}:{stop}" for start, stop in blocks)
        return name and Finding(name, f"Blocks of ranks {first}, {first + 1}, ...: {ends} of n = {n}.")


def is_pair(value: object) -> bool:
    """True if a value is two numbers in a list, none of them beyond 64 bits."""
    number = isinstance(value, list) and len(value) == 2 and all(type(end) in (int, float) for end in value)
    return number and max(map(abs, value)) < 2**62


def distinct_inside(c: SimpleNamespace) -> int | None:
    """The number of different points inside, in a case of `CountInside`; None if no two points are equal."""
    distinct = len({point for point in zip(c.x.tolist(), c.y.tolist(), strict=True) if math.hypot(*point) < 0.5})
    return None if distinct == c.right else distinct


def cut_off(c: SimpleNamespace) -> int | None:
    """The share of the points inside times their number, cut down by `int`, in a case of `CountInside`; None if that is
    right."""
    cut = int(c.right / len(c.x) * len(c.x)) if len(c.x) else c.right
    return None if cut == c.right else cut


class CountInside(PlainExercise):
    """Count without a loop"""

    signature = "count_inside(x, y) -> int"
    any_type = "a sum of ones and zeros may be a whole float"
    levels = {"counts": 1, "no Python loop": 1}
    given = ("x", "y", "watch")
    # A loop over the points executes at least one line or call of Python per point; whole-array operations execute a
    # handful for any number of points. A loop whose body is a C function leaves no such trace: so `map` and its like
    # are watched, too. The first call, on few points, keeps imports inside the function out of the count.
    harness = harness_of(__file__, "count_inside")
    reference = reference_of(__file__, "right_count_nonzero")
    mistakes = [
        Mistake("counts_all", "Every point was counted. x^2 + y^2 is never above 1/2 in this square, so a comparison "
                "with 1/2 or with 1 lets all points through. The length of the comparison, instead of the number of "
                "its True values, counts all points, too.",
                "The radius is 1/2: compare x^2 + y^2 with 1/4, and count with `np.count_nonzero`.",
                lambda c: len(c.x)),
        Mistake("radius_squared_twice", "The distance was compared with 1/4, the square of the radius.",
                "Either sqrt(x^2 + y^2) < 1/2, or x^2 + y^2 < 1/4.", lambda c: int(np.sum(np.hypot(c.x, c.y) < 0.25))),
        Mistake("diamond", "|x| + |y| < 1/2 is a square standing on one corner, not a circle.",
                "The distance from (0, 0) is sqrt(x^2 + y^2).",
                lambda c: int(np.sum(np.abs(c.x) + np.abs(c.y) < 0.5))),
        Mistake("counts_outside", "The points outside the circle were counted.", "Reverse the comparison.",
                lambda c: len(c.x) - c.right),
        Mistake("fraction", "This is the share of points inside, not their number. Shares of different ranks cannot "
                "simply be added up, but counts can.", "Return the count; divide once, at the very end.",
                lambda c: c.right / len(c.x) if len(c.x) else None),
        Mistake("returns_pi", "This is already an estimate of pi. Estimates of different ranks cannot simply be added "
                "up, but counts can.", "Return the count of points inside; the factor 4 / n comes once, at the end.",
                lambda c: 4 * c.right / len(c.x) if len(c.x) else None),
        Mistake("each_once", "Equal points were counted only once. Two darts in the same place are two darts.",
                "Count the True values themselves: `np.count_nonzero(mask)`.", distinct_inside),
        Mistake("narrow_count", "The count was kept in a type that is too narrow for it: after 255, uint8 starts again "
                "at 0, and float16 ends at 65504.",
                "`np.count_nonzero(mask)` and `mask.sum()` count in 64 bits by themselves.",
                lambda c: c.right % 256 if c.right > 255 else None),
        Mistake("counts_axes", "The answer is 1 for any points: `np.where` and `np.nonzero` return a tuple with one "
                "array per axis, and its length is the number of axes.",
                "Count the True values themselves: `np.count_nonzero(mask)`.", lambda c: 1),
        Mistake("returns_mask", "This is True or False for every point, but one number was asked for.",
                "Count the True values: `np.count_nonzero(mask)`.", lambda c: np.hypot(c.x, c.y) < 0.5),
        Mistake("through_float32", "The points went through float32, and those closest to the circle changed sides: it "
                "keeps about 7 digits.", "Compute with x and y as they are, in float64."),
        Mistake("cut_off", "One is missing. The share of the points inside was multiplied by their number and then cut "
                "down to an int, but 0.29 * 100 is 28.999999999999996 for a computer, and `int` makes 28 of it.",
                "Count the True values themselves: `np.count_nonzero(mask)`.", cut_off),
        Mistake("mean_of_nothing", "Without any point, a mean is 0 / 0, which is nan, and nan is no count.",
                "Count the True values themselves: `np.count_nonzero(mask)` of no values is 0."),
        Mistake("python_loop", "The count is right, but Python visits the points one by one, at about 100 ns or more "
                "each: the same work is 10 to 100 times faster on whole arrays. `map`, `np.vectorize` and "
                "`np.frompyfunc` are such loops in disguise.",
                "Write `x * x + y * y` for the whole arrays at once, compare, and count the True values with "
                "`np.count_nonzero`.",
                lambda c: {"inside": c.right, "loops over the points": True} if c.watch else None),
    ]  # fmt: skip

    def draw(self, rng):
        for level, n in (("counts", 40), ("counts", 101), ("counts", 0), ("no Python loop", 1000)):
            drawn = None
            while drawn is None or (n and not tells_apart(self, self._case(*drawn))):
                x, y = points_in_square(rng, rng.random(n) < 0.6)
                drawn = level, {"x": x, "y": y, "watch": n == 1000}, {"says": f"{n} points"}
            yield drawn
        # More inside than a byte counts, and some points more than once.
        few = points_in_square(rng, np.arange(60) < 45)
        x, y = few[:, rng.permutation(np.repeat(np.arange(60), 12))]
        yield "counts", {"x": x, "y": y, "watch": False}, {"says": "720 points, some of them equal"}
        # So near the circle that float32 does not see on which side, and far enough for any formula in float64.
        angles, side = rng.uniform(0, 2 * np.pi, 50), np.where(rng.permutation(50) < 19, 1 - 1e-10, 1 + 1e-10)
        outside = np.array([[0.6, -0.52, 0.1, 0.55], [0.0, 0.2, -0.65, 0.1]])  # of the square, too
        x, y = np.hstack([side * [np.cos(angles) / 2, np.sin(angles) / 2], outside])
        says = "50 points close to the circle, 4 outside of the square"
        yield "counts", {"x": x, "y": y, "watch": False}, {"says": says}
        yield "counts", {"x": np.array([0.25]), "y": np.array([-0.25]), "watch": False}, {"says": "1 point"}
        x, y = points_in_square(rng, rng.permutation(100) < 29)  # 0.29 * 100 is just below 29
        yield "counts", {"x": x, "y": y, "watch": False}, {"says": "100 points"}
        x, y = np.array([[1.0, 0.1, -1.0, 0.0, 0.2], [1.0, 0.2, 0.7, -2.0, -0.1]])
        yield "counts", {"x": x, "y": y, "watch": False}, {"says": "5 points, 3 far outside of the square"}
        x, y = np.array([[0.6, -0.45, 0.1, 0.48, -0.3], [0.0, 0.45, -0.65, -0.3, -0.44]])
        yield "counts", {"x": x, "y": y, "watch": False}, {"says": "5 points, none of them inside"}
        x, y = np.linspace(-0.48, 0.48, 70_001), np.full(70_001, 0.1)  # more than 16 bits count
        yield "counts", {"x": x, "y": y, "watch": False}, {"says": "70001 points, all of them inside"}

    def right(self, x, y, watch):
        return int(np.sum(np.hypot(x, y) < 0.5))

    def of_exception(self, case, kind, text):
        if kind == "OverflowError" and "infinity" in text:
            return "narrow_count"
        return "mean_of_nothing" if "NaN" in text and not len(case.known["x"]) else None

    def read(self, answer, x, y, watch):
        right = self.right(x, y, watch)
        if right > 127 and isinstance(answer, int) and (answer - right) % 2**8 == 0:
            return "narrow_count"
        x, y = x.astype("float32"), y.astype("float32")
        counts = [np.sum(np.hypot(x, y) < 0.5), np.sum(x * x + y * y < 0.25), np.sum(np.sqrt(x * x + y * y) < 0.5)]
        return "through_float32" if isinstance(answer, int) and answer in counts else None

    def per_rank(self, case, value):
        plain = isinstance(value, dict) or not case.known["watch"]
        return [value if plain else {"inside": value, "loops over the points": False}]


class RankRng(PlainExercise):
    """A stream of random numbers for every rank"""

    signature = "rank_rng(seed, rank, world_size) -> numpy.random.Generator"
    levels = {"one stream per rank": 1, "one stream per experiment": 1}
    given = ("seeds", "world_size", "ranks", "length", "far", "few")
    rank_at = 1
    # All generators are made before the first one is used: generators that share their state cannot hide it. The second
    # call of each pair is made as if in another process at another time, where strings have other hashes.
    # few: once each rank with the first seed, and the first rank with the others. Where a call makes the generators of
    # thousands of ranks to return one, more of them would take seconds.
    harness = harness_of(__file__, "rank_rng")
    mistakes = [
        Mistake("not_a_generator", "A generator was asked for: an object that draws with methods such as `.random(k)`.",
                "Return `np.random.default_rng(...)`."),
        Mistake("global_state", "`np.random` itself is one generator for the whole process: whoever draws from it or "
                "seeds it changes everybody's numbers.",
                "Make a generator of your own with `np.random.default_rng(...)` and return it."),
        Mistake("touches_global_state", "The stream is fine, but your function also seeded, or drew from, the global "
                "generator of NumPy or of Python: that changes everybody else's numbers.",
                "Make a generator of your own with `np.random.default_rng(...)`, and call neither `np.random.seed` "
                "nor `random.seed`."),
        Mistake("legacy_generator", "This is a `RandomState`, which NumPy keeps for old programs only. A "
                "`numpy.random.Generator` was asked for.", "Return `np.random.default_rng(...)`."),
        Mistake("glued_seed", "The digits of seed and rank were written one after another. Then seed 1 on rank 11 and "
                "seed 11 on rank 1 are the same number, 111, and share a stream.",
                "Pass both numbers on: `default_rng([rank, seed])`, or `SeedSequence(seed).spawn(world_size)[rank]`."),
        Mistake("shared_generator", "Two calls returned one and the same generator object, so the second caller "
                "continues where the first one stopped.", "Make a new generator in every call."),
        Mistake("unseeded", "The same call gave different numbers the second time, or would in another process, so a "
                "run can never be repeated, and a bug never reproduced.",
                "Everything random must follow from `seed` and `rank`, nothing from the clock, the process or the "
                "operating system. Python's `hash` of a string differs from process to process."),
        Mistake("same_stream", "These ranks draw the very same points. Four ranks then do four times the work of one, "
                "and their estimate is no more precise.",
                "Let the stream depend on `rank`: `SeedSequence(seed).spawn(world_size)[rank]`."),
        Mistake("overlapping_streams", "The ranks use one and the same stream from different starting points, so one "
                "rank draws what another has drawn before. Starting points must be at least 2**40 draws apart.",
                "Give each rank a stream of its own: `SeedSequence(seed).spawn(world_size)[rank]`."),
        Mistake("ignores_seed", "Another seed gives the same numbers: the experiment can be repeated, but never "
                "varied.", "Hand `seed` to the generator, together with `rank`."),
        Mistake("seed_times_rank", "Rank 0 draws the same numbers for every seed, since seed times rank is always 0 "
                "there.",
                "Do no arithmetic with the seed, pass both numbers on: `default_rng([rank, seed])`, or "
                "`SeedSequence(seed).spawn(world_size)[rank]`."),
        Mistake("too_few_numbers", "Every generator was made with one number of at most 32 bits, and there are many "
                "more pairs of seed and rank than such numbers: some pairs share a stream.",
                "Pass both numbers on, with all their digits: `default_rng([rank, seed])`, or "
                "`SeedSequence(seed).spawn(world_size)[rank]`."),
        Mistake("seed_plus_rank", "Experiments with different seeds share streams, as they do with seed + rank: 7 + 1 "
                "and 8 + 0 are the same. In an average over seeds, the same points count several times.",
                "Do no arithmetic with the seed, pass both numbers on: `default_rng([rank, seed])`, or "
                "`SeedSequence(seed).spawn(world_size)[rank]`."),
    ]  # fmt: skip

    def draw(self, rng):
        def case(level, world_size, seeds, length=5000, far=0, ranks=None, few=False, of=""):
            says = f"{world_size} ranks, " + ("seed " if len(seeds) == 1 else "seeds ") + (of or listed(seeds))
            ranks = ranks or list(range(world_size))
            known = {"seeds": seeds, "world_size": world_size, "ranks": ranks, "length": length, "far": far}
            known["few"] = few
            return level, known, {"says": says}

        seed = int(rng.integers(151, 1000))  # so that all the seeds below differ
        one, other = self.levels
        steps = [7919, 9973, 12_345, 65_537, 99_991, 104_729, 1_000_003, 15_485_863, 2**16, 2**20, 2**24, 2**30, 2**31]
        steps += [10**k for k in range(4, 10)]
        # As many numbers as the ten million darts of the page take from each of four streams.
        yield case(one, 4, [int(rng.integers(10, 1000))], far=5_000_000)
        yield case(one, 5, [int(rng.integers(10, 1000))])
        # Pairs that a sum, a product or digits one behind the other cannot tell apart, such as 1 and 11, 11 and 1.
        yield case(other, 12, [seed, seed + 1, 2 * seed, seed + 12, seed + 100, seed + 1000, 0, 1, 2, 11])
        yield case(other, 101, [0, 1], length=1, ranks=[0, 1, 2, 7, 10, 12, 16, 20, 32, 50, 64, 99, 100], of="0 and 1")
        # So many ranks, or seeds so far apart, that round numbers between them do not keep streams apart, either.
        most = [0, 1, 2**32 - 1], [0, 4096, 5000, 8192, 9_999]
        for seeds, ranks in (([0, 1], [0, 1, 128, 256, 512, 1000, 1024]), most):
            yield case(other, ranks[-1] + 1, seeds, length=1, ranks=ranks, few=True)
        yield case(other, 2, [seed, *(seed + step for step in steps)], length=1, of=f"{seed} to {seed + 2**31}")

    def read_right(self, value, seeds, ranks, **case):
        """Any numbers will do, as long as they are nobody else's."""
        made = value.get("made") if isinstance(value, dict) else type(value).__name__
        if made == "module":
            return "global_state"
        if made not in (None, "NoneType") and isinstance(value, dict) and "shared" in value:
            return "shared_generator"
        if not isinstance(value, dict) or "draws" not in value:
            return Finding("not_a_generator", f"rank_rng returned an object of type {made}.")
        met = [(int(a), int(b)) for a, b in value["met"]]
        found = stream_mistake(seeds, ranks, np.asarray(value["draws"]), np.asarray(value["longer"]), met)
        if found is None and value.get("twin") is not None:
            (seed, rank), (other_seed, other_rank) = value["twin"]
            detail = f"Seed {seed} on rank {rank} draws the same numbers as seed {other_seed} on rank {other_rank}."
            found = Finding("seed_plus_rank", detail)
        all_seeds = min(seeds) == 0 and max(seeds) == 2**32 - 1 and 0 < case["world_size"] - 1 in ranks
        if found is None and all_seeds and value.get("narrow"):
            found = "too_few_numbers"
        if found is None:
            found = near_streams(seeds, ranks, value["states"])
        if found is None and value["legacy"]:
            return "legacy_generator"
        return "touches_global_state" if found is None and value["touched"] else found


def stream_mistake(
    seeds: list[int], ranks: list[int], draws: np.ndarray, longer: np.ndarray, met: list[tuple[int, int]]
) -> Finding | None:
    """The mistake in the streams.

    draws: first numbers of each stream, shape (1 or 2 calls, seeds, ranks, numbers), nan where nobody asked. longer:
    the numbers that follow in the streams of the first seed, shape (ranks, numbers). met: pairs of these, of which one
    begins far down in the other.
    Two independent streams have a common 53-bit number with a chance below 1e-8.
    """
    if not np.array_equal(draws[0], draws[-1], equal_nan=True):
        return Finding("unseeded")
    places, starts = range(len(ranks)), draws[0, :, :, 0]  # equal first numbers of two streams: equal streams
    for a, b in itertools.combinations(places, 2):
        if starts[0, a] == starts[0, b]:
            numbers = ", ".join(f"{number:.4f}" for number in draws[0, 0, a, :3])
            return Finding(
                "same_stream", f"With seed {seeds[0]}, ranks {ranks[a]} and {ranks[b]} both draw {numbers}, ..."
            )
    owner = {}
    for place in places:
        for number in longer[place].tolist():
            if owner.setdefault(number, place) != place:
                met = [(owner[number], place)]
    if met:
        first, second = (ranks[place] for place in sorted(met[0]))
        return Finding("overlapping_streams", f"Ranks {first} and {second} have drawn some of the same numbers.")
    unmoved = [ranks[place] for place in places if len(seeds) > 1 and starts[0, place] == starts[1, place]]
    if unmoved and not np.isnan(starts).any():
        where = f"Rank {unmoved[0]} draws the same with seed {seeds[0]} and with seed {seeds[1]}."
        return Finding("seed_times_rank" if unmoved == [0] else "ignores_seed", where)
    pairs = [
        ((seeds[i], ranks[a]), (seeds[j], ranks[b]))
        for i, j in itertools.combinations(range(len(seeds)), 2)
        for a, b in np.argwhere(starts[i][:, None] == starts[j])
    ]
    if not pairs:
        return None
    (seed, rank), (other_seed, other_rank) = pairs[0]
    detail = f"Seed {seed} on rank {rank} draws the same numbers as seed {other_seed} on rank {other_rank}."
    return Finding("glued_seed" if all(map(is_glued, pairs)) else "seed_plus_rank", detail)


# of numpy's generators: the next state is factor * state + constant of the stream
FACTORS = {"PCG64": 0x2360ED051FC65DA44385DF649FCCF645, "PCG64DXSM": 0xDA942042E4DD58B5}
PERIODS = {"PCG64": 2**128, "PCG64DXSM": 2**128, "Philox": 2**258}


def near_streams(seeds: list[int], ranks: list[int], states: list[list]) -> Finding | None:
    """The finding that two of the streams are parts of one and begin less than 2**40 draws apart.

    states: of each seed, for each rank, [kind, constants of the stream, state], or None of generators whose state tells
    nothing. Two with the same constants are parts of one stream.
    """
    streams: dict[tuple, list] = {}
    for seed, of_seed in zip(seeds, states, strict=True):
        for rank, state in zip(ranks, of_seed, strict=False):  # of later seeds perhaps the first rank alone
            if state:
                streams.setdefault(tuple(state[:2]), []).append((int(state[2]), f"rank {rank} with seed {seed}"))
    for (kind, constants), members in streams.items():
        places = sorted((draws_between(kind, constants, members[0][0], state), name) for state, name in members)
        around = [*places[1:], (places[0][0] + PERIODS[kind], places[0][1])]
        for (one, first), (other, second) in zip(places, around, strict=True):
            if 0 < other - one < 2**40:
                detail = f"{second[0].upper()}{second[1:]} begins {other - one:,} draws after {first}."
                return Finding("overlapping_streams", detail)
    return None


def draws_between(kind: str, constants: str, start: int, state: int) -> int:
    """The draws that lead a generator from one state to the other. PCG's lowest bits do not depend on those above: each
    power of two among the steps is known by the lowest bit in which the states still differ."""
    if kind == "Philox":
        return (state - start) % PERIODS[kind]
    factor, constant, draws = FACTORS[kind], int(constants), 0
    for bit in (1 << k for k in range(128)):
        if (start ^ state) & bit:
            start, draws = (start * factor + constant) % 2**128, draws | bit
        factor, constant = factor * factor % 2**128, (factor + 1) * constant % 2**128
    return draws


def is_glued(pair: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    """True if two (seed, rank) are the same number when their digits are written one behind the other."""
    (seed, rank), (other_seed, other_rank) = pair
    in_order = int(f"{seed}{rank}") == int(f"{other_seed}{other_rank}")
    return in_order or int(f"{rank}{seed}") == int(f"{other_rank}{other_seed}")


class SumCounts(Exercise):
    """Add up without pickles"""

    signature = "sum_counts(comm, counts) -> sum over all ranks, on every rank"
    levels = {"sum on every rank": 1, "buffers": 1}
    runtime = "mpi4py"
    harness = harness_of(__file__, "sum_counts")
    reference = reference_of(__file__, "right_allreduce")
    mistakes = [
        Mistake("rank_0_only", "Only rank 0 has the sum. A reduce leaves the result on one rank.",
                "Every rank needs it: use an all-reduce.",
                lambda c: [total if first else None for total, first in zip(c.totals, c.first, strict=True)]),
        Mistake("ignores_comm", "Counts of ranks outside `comm` were added, too. `comm` need not hold all ranks: this "
                "one held some of them.", "Call the methods of the argument `comm`, not those of MPI.COMM_WORLD.",
                lambda c: [c.counts.sum(axis=0, dtype=c.counts.dtype)] * c.p if any(c.teams) else None),
        Mistake("own_counts", "Every rank returned its own counts: nothing was added up.",
                "`Allreduce` writes the sum into its second argument. Return that one.", lambda c: list(c.counts)),
        Mistake("rank_0_counts", "Every rank returned the counts of rank 0.", "A broadcast copies; a reduction adds.",
                lambda c: [part[0] for part in c.parts]),
        Mistake("mean", "This is the mean over the ranks, but the sum was asked for.", "Leave out the division.",
                lambda c: [part.mean(axis=0) for part in c.parts]),
        Mistake("maximum", "This is the largest count, but the sum was asked for.",
                "The operation is `MPI.SUM`, the default.", lambda c: [part.max(axis=0) for part in c.parts]),
        # in 64 bits a thousand wide counts may not fit; of one element it would be no mistake
        Mistake("one_number", "All elements were added into a single number.",
                "Element i of the result is the sum over the ranks of their elements i.",
                lambda c: [float(total.sum(dtype=float)) for total in c.totals] if c.totals[0].size > 1 else None),
        Mistake("gathered", "The counts of all ranks were collected, but not added up.",
                "Use a reduction, or add over the ranks.", lambda c: c.parts),
        Mistake("not_new", "What came back is `counts` itself, or lies in its memory: when ones were then written "
                "into the counts, the sum was gone.",
                "Return an array of its own, on a single rank, too: `counts.copy()`.",
                lambda c: [np.ones_like(c.totals[0])] if c.p == 1 else None),
        Mistake("pickled", "The lower-case methods of mpi4py turn the array into a pickle, send it, and add up in "
                "Python.",
                "`comm.Allreduce(counts, total)` hands MPI the memory itself: capital A, and an array for the result."),
        Mistake("by_hand", "The sum was built from single messages. MPI has faster ways, which you will build in unit "
                "03.", "One collective does it: `comm.Allreduce(counts, total)`."),
        Mistake("ValueError", "The two buffers of `Allreduce` must have the same type and the same number of elements.",
                "`np.empty_like(counts)` makes an array that fits; `np.zeros(n)` makes floats, whatever the counts "
                "are."),
        Mistake("Exception", "MPI refused the call. The same memory must not be both the source and the result.",
                "Give the result an array of its own: `np.empty_like(counts)`."),
    ]  # fmt: skip

    def cases(self, rng):
        def case(level, shape, dtype, teams):
            world_size = len(teams)
            while True:
                if dtype.startswith("float"):
                    counts = full_precision(rng, 1, 1000, (world_size, *shape)).astype(dtype)
                else:
                    most = world_size**2 * max(1, math.prod(shape))  # a sum of sums of all elements fits, too
                    counts = wide_integers(rng, (world_size, *shape), dtype.removeprefix("u"), summands=most)
                if dtype == "uint64":
                    counts = counts.astype(dtype)
                    counts.reshape(-1)[::2] += np.uint64(2**63)
                split = any(teams)
                arguments = [
                    (COMM, np.array(own), team if split else None) for own, team in zip(counts, teams, strict=True)
                ]
                says = f"{dtype}, shape {shape}" + (", `comm` holds some of them" if split else "")
                case = Case(level, world_size, arguments, says=says, known={"counts": counts, "teams": np.array(teams)})
                if world_size == 1 or not counts.size or tells_apart(self, case):
                    return case

        return [
            case("sum on every rank", (3,), "int64", [0, 0, 0, 0]),
            case("sum on every rank", (2, 3), "float64", [0, 0]),
            case("sum on every rank", (1,), "int32", [0, 1, 0, 1, 0]),
            case("sum on every rank", (4,), "float64", [0]),
            case("buffers", (1000,), "int64", [0, 0, 0]),
            case("buffers", (), "int64", [0, 0, 0, 0]),
            case("sum on every rank", (2, 0), "int64", [0, 0]),
            case("sum on every rank", (3,), "float32", [0, 0]),
            case("sum on every rank", (3,), "uint64", [0, 0]),
            case("buffers", (2, 3), "float64", [0, 0]),
        ]

    def worked(self, case):
        """For every rank: `parts`, the counts of all in its communicator, their `totals`, whether it is the `first`."""
        c = super().worked(case)
        c.parts = [c.counts[c.teams == team] for team in c.teams]
        c.totals = [part.sum(axis=0, dtype=part.dtype) for part in c.parts]
        c.first = [team not in c.teams[:rank] for rank, team in enumerate(c.teams)]
        return c

    def expected(self, case):
        return list(map(Typed, self.worked(case).totals))

    def facts(self, case, run):
        c, values = self.worked(case), [rank.value for rank in run.ranks]
        right = [same(value, total) for value, total in zip(values, c.totals, strict=True)]
        if right == c.first and not all(right):
            return "rank_0_only"
        if any(same(value, list(part)) for value, part in zip(values, c.parts, strict=True)):
            return "gathered"
        called = {name for rank in run.ranks for name in rank.collectives}
        pickling = sorted(name for name in called if name[0].islower() and name != "barrier")
        if all(right) and case.level == "buffers" and pickling:
            return Finding("pickled", f"The sum came from {listed(f'`comm.{name}`' for name in pickling)}.")
        if all(right) and case.level == "buffers" and any(rank.sends for rank in run.ranks):
            return Finding("by_hand", f"Ranks 0, 1, ... sent {listed(rank.sends for rank in run.ranks)} messages.")
        return None


def each_team(value: Callable) -> Callable:
    """A mistake's value from what it gives in a team (`EstimatePi.team`): a number for all ranks, a list, or None."""

    def of_all(c):
        found = [value(team) for team in c.of_teams]
        return None if any(one is None for one in found) else in_ranks(c.of_teams, found)

    return of_all


def in_ranks(teams: list[SimpleNamespace], values: list) -> list:
    """One value per rank, from a number or a list for each team."""
    found = {}
    for team, value in zip(teams, values, strict=True):
        found |= dict(zip(team.members, value if isinstance(value, list) else [value] * team.p, strict=True))
    return [found[rank] for rank in sorted(found)]


class EstimatePi(Exercise):
    """Pi on all ranks"""

    signature = "estimate_pi(comm, n, draw) -> float"
    all_hear = True
    levels = {"equal shares": 1, "unequal shares": 1, "fewer samples than ranks": 1}
    runtime = "mpi4py"
    inputs = "free"
    may_lose = {
        "float64": "no point is closer to the circle than 0.01: rounding decides nothing",
        "int64": "the only integers handed out are the harness' own, which counts what was drawn",
        "integers of both widths": "the only integers handed out are the harness' own, which counts what was drawn",
    }
    uses = ("fair_share", "count_inside", "sum_counts")
    # `draw` hands out points that were prepared for this rank, in order, and notes in `drawn` how many it gave.
    harness = harness_of(__file__, "estimate_pi")
    mistakes = [
        Mistake("forgets_4", "This is the share of points inside the circle, which is pi / 4: the circle covers pi / "
                "4 of the square.", "Multiply by 4.", each_team(lambda t: t.pi / 4)),
        Mistake("drops_remainder", "Shares of n // world_size leave the last n % world_size samples undrawn.",
                "Let `fair_share` say how many samples this rank draws: stop - start.",
                each_team(lambda t: t.drawn([t.quotient] * t.p) if t.rest else None)),
        Mistake("last_rank_takes_rest", "One rank draws the whole remainder, and everybody waits for it.",
                "Let `fair_share` say how many samples this rank draws: stop - start.",
                each_team(lambda t: t.drawn([t.quotient] * (t.p - 1) + [t.quotient + t.rest]) if t.rest else None)),
        Mistake("every_rank_draws_all", "Every rank draws all n samples: more ranks then mean more work, not less "
                "time.", "n counts the samples of all ranks together: let `fair_share` say how many this rank draws.",
                each_team(lambda t: t.drawn([t.n] * t.p))),
        Mistake("local_over_n", "The points of this rank alone were divided by the samples of all ranks.",
                "Add up the counts of all ranks before you divide by n.",
                each_team(lambda t: list(4 * t.counts / t.n))),
        Mistake("no_reduction", "Every rank returns an estimate of its own, from its own samples only.",
                "Add up the counts of all ranks, then divide by n.",
                each_team(lambda t: list(t.estimates) if t.quotient else None)),
        Mistake("mean_of_means", "The estimates of the ranks were averaged. Where shares differ in size, that gives "
                "the samples of small shares more weight.",
                "Add up counts, in which every sample has the same weight, and divide once by n.",
                each_team(lambda t: t.estimates.mean() if t.quotient and t.rest else None)),
        Mistake("sum_of_means", "This is about world_size times pi. Either all points inside were divided by the "
                "samples of one rank, or something that was already complete (estimates or sums) was added up over "
                "the ranks.", "Add up the counts once, over all ranks, and divide once, by n.",
                each_team(lambda t: t.estimates.sum() if t.quotient else None)),
        Mistake("rounded_n", "The points inside were divided by world_size * (n // world_size), which is less than "
                "the n that were drawn.", "Divide by n itself.",
                each_team(lambda t: t.pi * t.n / (t.n - t.rest) if t.quotient and t.rest else None)),
        Mistake("rank_0_only", "Only rank 0 knows the estimate. A reduce leaves the result on one rank.",
                "Every rank needs it: use an all-reduce.", each_team(lambda t: [t.pi] + [None] * (t.p - 1))),
        Mistake("integer_division", "`//` drops everything after the decimal point.", "Divide with `/`.",
                each_team(lambda t: math.floor(t.pi) if t.pi != math.floor(t.pi) else None)),
        Mistake("ignores_comm", "Ranks outside `comm` took part, too. `comm` need not hold all ranks: this one held "
                "some of them.",
                "Ask `comm` for rank and size, and call its methods, not those of MPI.COMM_WORLD.",
                lambda c: [c.world.pi] * c.p if any(c.teams) else None),
        Mistake("narrow_count", "The count was kept in a type that is too narrow for it: after 255, uint8 starts again "
                "at 0, and after 32767, int16 goes on with -32768.",
                "`np.count_nonzero(mask)` and `mask.sum()` count in 64 bits by themselves."),
        Mistake("draws_too_many", "More samples were drawn than the n that were asked for.",
                "n counts the samples of all ranks together: let `fair_share` say how many this rank draws."),
        Mistake("unfair", "All samples were drawn, but the shares differ by more than one, and the largest share "
                "decides the run time.", "Let `fair_share` say how many samples this rank draws: stop - start."),
        Mistake("ignores_draw", "No point was taken from `draw`, so the points did not come from this rank's stream.",
                "Call `x, y = draw(k)` for the k points of this rank."),
        Mistake("ZeroDivisionError", "A rank divided by the number of its own samples, which is 0 on some ranks if "
                "there are fewer samples than ranks.", "Add up counts over the ranks and divide once, by n."),
    ]  # fmt: skip

    def cases(self, rng):
        def case(level, world_size, n, teams=None):
            while True:
                known = self.prepared(rng, n, np.array(teams or [0] * world_size))
                own = zip(known["points"], teams or [None] * world_size, strict=True)
                arguments = [(COMM, n, points, np.zeros(1, np.int64), team) for points, team in own]
                says = f"n = {n}" + (", `comm` holds some of them" if teams else "")
                case = Case(level, world_size, arguments, says=says, known=known, rtol=1e-12)
                if world_size == 1 or tells_apart(self, case):
                    return case

        return [
            case("equal shares", 4, 40),
            case("equal shares", 2, 30),
            case("equal shares", 1, 20),
            case("unequal shares", 4, 43),
            case("unequal shares", 5, 35, teams=[0, 1, 0, 1, 0]),
            case("fewer samples than ranks", 5, 3),
            self.many_points(rng),
        ]

    @staticmethod
    def many_points(rng):
        """More points than 16 bits count, of all ranks together: on rank 0 all of them are inside, on rank 1 nineteen
        of twenty."""
        n, every = 70_002, np.array([[True] * 20, [True] * 19 + [False]])
        inside = np.resize(every.T, (n, 2)).T.copy()
        points = [points_in_square(rng, own) for own in every]  # `draw` begins anew with the first
        known = {"n": n, "teams": np.zeros(2, int), "inside": inside, "points": points}
        arguments = [(COMM, n, own, np.zeros(1, np.int64), None) for own in points]
        return Case("equal shares", 2, arguments, says=f"n = {n}", known=known, rtol=1e-12)

    def prepared(self, rng, n: int, teams: np.ndarray) -> dict:
        """Points for every rank, and which of them lie inside.

        Which ranks draw one sample more is nobody's business: the sample in question lies inside on every rank.
        """
        inside = rng.random((len(teams), n)) < rng.uniform(0.3, 0.9)
        for size in np.bincount(teams):
            inside[:, min(n // size, n - 1)] = True
        return {"n": n, "teams": teams, "inside": inside, "points": [points_in_square(rng, own) for own in inside]}

    def worked(self, case):
        c = super().worked(case)
        c.world = self.team(c, list(range(c.p)))
        c.of_teams = [self.team(c, np.flatnonzero(c.teams == team).tolist()) for team in np.unique(c.teams)]
        return c

    @staticmethod
    def team(c, members: list[int]) -> SimpleNamespace:
        """The counts of a communicator's ranks when they draw fair `sizes`, and in `drawn` those of other sizes.

        counts: points inside, estimates: of pi, each with one entry per rank. pi: the estimate of all.
        """
        t = SimpleNamespace(members=members, p=len(members), n=c.n)
        t.quotient, t.rest = divmod(t.n, t.p)
        t.counts_of = lambda sizes: np.array([c.inside[r, :size].sum() for r, size in zip(members, sizes, strict=True)])
        t.drawn = lambda sizes: 4 * t.counts_of(sizes).sum() / t.n
        sizes = fair_sizes(t.n, t.p)
        t.counts, t.pi = t.counts_of(sizes), t.drawn(sizes)
        t.estimates = 4 * t.counts / np.maximum(sizes, 1)
        return t

    def expected(self, case):
        teams = self.worked(case).of_teams
        return in_ranks(teams, [team.pi for team in teams])

    def facts(self, case, run):
        c, values = self.worked(case), [rank.value for rank in run.ranks]
        drawn = [int(np.asarray(rank.after[3])[0]) for rank in run.ranks]
        if len(c.of_teams) > 1:
            for_all = sorted(drawn) == sorted(fair_sizes(c.n, c.p))
            if for_all or all(same(value, c.world.drawn(drawn)) for value in values):
                return Finding("ignores_comm", f"n = {c.n}, and ranks 0, 1, ... drew {listed(drawn)} samples.")
        for team in c.of_teams:
            found = self.facts_of_team(team, [values[r] for r in team.members], [drawn[r] for r in team.members])
            if found:
                return found
        return None

    @staticmethod
    def facts_of_team(team, values: list, drawn: list[int]) -> Finding | str | None:
        """The mistake in the numbers of samples `drawn` by a team, and in the `values` that it made of them."""

        def all_are(numbers) -> bool:
            return all(same(value, number) for value, number in zip(values, numbers, strict=True))

        n, p, total = team.n, team.p, sum(drawn)
        table = [
            ("ignores_draw", total == 0),
            ("every_rank_draws_all", min(drawn) == n and p > 1),
            ("drops_remainder", total < n),
            ("draws_too_many", total > n),
            ("unfair", max(drawn) - min(drawn) > 1),
        ]
        detail = f"n = {n}, and ranks 0, 1, ... drew {listed(drawn)} samples."
        if found := next((Finding(name, detail) for name, holds in table if holds), None):
            return found
        right = [same(value, team.pi) for value in values]
        if all(right):
            return None
        counts, sizes = team.counts_of(drawn), np.maximum(drawn, 1)  # which ranks draw one more is the student's choice
        estimates, none_empty = 4 * counts / sizes, min(drawn) > 0
        if right[0] and (not any(right[1:]) or all_are([team.pi, *estimates[1:]])):
            return "rank_0_only"  # the others return nothing of use, perhaps their own estimates
        of_one = team.pi * n / sizes  # all points inside, divided by the samples of one rank
        table = [
            (
                "sum_of_means",
                all_are([estimates.sum()] * p) or (none_empty and all_are(of_one)) or all_are([p * team.pi] * p),
            ),
            ("mean_of_means", none_empty and all_are([estimates.mean()] * p)),
            ("no_reduction", none_empty and all_are(estimates)),
            ("local_over_n", all_are(4 * counts / n)),
            ("narrow_count", all(has_wrapped(value, int(counts.sum()), n) for value in values)),
        ]
        return next((name for name, holds in table if holds), None)


def has_wrapped(value: object, inside: int, n: int) -> bool:
    """True if a value is 4 / n times what is left of a number of points in a type of 8 or 16 bits."""
    if not isinstance(value, int | float) or not abs(value) < math.inf:
        return False
    count = round(value * n / 4)
    return inside > 127 and abs(count - value * n / 4) < 1e-6 and (count - inside) % 2**8 == 0


class SamplesNeeded(PlainExercise):
    """How many samples for how many digits"""

    signature = "samples_needed(error) -> int"
    levels = {"n for an error": 1}
    harness = harness_of(__file__, "samples_needed")
    mistakes = [
        Mistake("forgets_square", "n = sigma / error is missing a square: the error shrinks as 1 / sqrt(n), so half "
                "the error takes four times the samples.", "Solve sigma / sqrt(n) = error for n.",
                lambda c: SIGMA / c.error),
        Mistake("forgets_4", "This is the n for the share of points inside; the estimate of pi is 4 times that share, "
                "and so is its error.", "A sample is 4 or 0: its standard deviation is sqrt(pi (4 - pi)) = 1.64.",
                lambda c: (SIGMA / 4 / c.error) ** 2),
        Mistake("sigma_is_1", "1 / error^2 would be right for samples with a standard deviation of 1.",
                "A sample is 4 or 0: its standard deviation is sqrt(pi (4 - pi)) = 1.64. Multiply by its square.",
                lambda c: 1 / c.error**2),
        Mistake("sigma_not_squared", "The number of samples depends on the square of a sample's standard deviation, "
                "and it was not squared.", "n = (sigma / error)^2.", lambda c: SIGMA / c.error**2),
        Mistake("variance_squared", "pi (4 - pi) is already the square of the standard deviation, but it was squared "
                "again.", "n = pi (4 - pi) / error^2.", lambda c: (SIGMA**2 / c.error) ** 2),
        Mistake("relative_error", "This n gives an error of `error` times pi: the error was taken as a fraction of pi.",
                "`error` is absolute: 0.01 means 0.01, not one percent.",
                lambda c: (SIGMA / math.pi / c.error) ** 2),
        Mistake("shrinks_with_error", "The smaller the error, the fewer samples were returned.",
                "Solve sigma / sqrt(n) = error for n: n = (sigma / error)^2.",
                lambda c: (SIGMA * c.error) ** 2 if c.error > 1e-4 else None),
        Mistake("error_not_squared", "The standard deviation was squared, the error was not.",
                "Square the whole quotient: n = (sigma / error)^2.", lambda c: SIGMA**2 / c.error),
        Mistake("rounded_down", "The number was rounded down, or to the nearest: with so few samples the error is "
                "still larger than `error`.",
                "The error may be at most `error`: round up, `math.ceil(...)`.",
                lambda c: math.floor((SIGMA / c.error) ** 2)),
        Mistake("not_rounded", "This is a fraction of a sample: the formula's value, not rounded up.",
                "Nobody throws a part of a dart: round up, `math.ceil(...)`.", lambda c: (SIGMA / c.error) ** 2),
        Mistake("at_least_two", "Two samples were returned, but one is enough: its standard error is sigma, 1.64.",
                "Return what the formula gives, rounded up, even if that is 1.",
                lambda c: 2 if c.error > SIGMA else None),
        Mistake("one_for_any_large", "One sample was returned, but its standard error is sigma, 1.64, and less was "
                "asked for.", "Return what the formula gives, rounded up: it is 1 from sigma on only.",
                lambda c: 1 if c.error > 1e-5 else None),
        Mistake("overflow", "n has outgrown its integer type, and something else came out: int64 ends at about "
                "9.2e18, uint64 at 1.8e19.", "Return a Python int, which has no limit: `math.ceil(...)`."),
        Mistake("two_standard_errors", "This is four times the n that was asked for, which halves the error. A 95 % "
                "interval is two standard errors wide on either side.",
                "`error` is one standard error: n = (sigma / error)^2."),
        Mistake("too_few", "More samples are needed.",
                "Solve sigma / sqrt(n) = error for n: n = (sigma / error)^2."),
        Mistake("too_many", "Fewer samples would do.", "Solve sigma / sqrt(n) = error for n: n = (sigma / error)^2."),
    ]  # fmt: skip

    def draw(self, rng):
        yield "n for an error", {"error": 5.0}, {"says": "error = 5", "rtol": 0.025}  # 0.11 of a sample: one
        for low, high in ((1e-2, 3e-2), (1e-3, 3e-3), (4e-10, 5e-10)):  # the last n has 64 bits, and no room for a sign
            error = float(f"{rng.uniform(low, high):.6g}")
            if low == 1e-2:  # sigma / error is a half behind the point: who rounds that is wrong under every key
                error = float(np.round(SIGMA / (int(SIGMA / error) + 0.48), 9))
            # 0.5 %: room for sigma = 1.64, pi = 3.14 and any rounding of n.
            yield "n for an error", {"error": error}, {"says": f"error = {error:g}", "rtol": 5e-3}
        # 30.37 samples, 30.28 with sigma = 1.64: 31, and not 30, which is less than it takes.
        yield "n for an error", {"error": 0.298}, {"says": "error = 0.298", "rtol": 0.025}
        yield "n for an error", {"error": 1.1}, {"says": "error = 1.1", "rtol": 0.025}  # 2.2 samples: three
        yield "n for an error", {"error": 1.7}, {"says": "error = 1.7", "rtol": 0.025}  # 0.93 samples: one
        yield "n for an error", {"error": 1e-12}, {"says": "error = 1e-12", "rtol": 5e-3}  # more than 64 bits hold

    def right(self, error):
        return float(math.ceil((SIGMA / error) ** 2))

    def misconceptions(self, case):
        """Between 1 and sigma all numbers of samples are so small that most mistakes give one of two."""
        found = super().misconceptions(case)
        few, shown = 1 < case.known["error"] < SIGMA, ("one_for_any_large", "rounded_down", "not_rounded")
        return {name: None if few and name not in shown else values for name, values in found.items()}

    def read(self, value, error):
        if not isinstance(value, int | float) or not abs(value) < math.inf:
            return None
        value = float(max(-1.0, min(value, 1e300)))
        shown = {m.name: m.value(SimpleNamespace(error=error)) for m in self.mistakes if m.value is not None}
        if error > SIGMA:  # one sample will do
            if error < 2 and value == math.ceil(shown["variance_squared"]):
                return "variance_squared"
            return "shrinks_with_error" if 1 < value < 100 else "too_many" if value > 1 else None
        if value < 0 or self.right(error) > 2**63 and value in (0, 1, 2.0**63, 2.0**64):
            return "overflow"
        if error > 1:
            return None
        if value <= 1:
            return "shrinks_with_error"
        for name, shows in shown.items():
            if shows is not None and abs(value - shows) < max(1, 1e-12 * value):  # rounding is not the mistake
                return name
        detail = (
            f"With n = {value:g} the standard error is {SIGMA / math.sqrt(value):.2g}, and {error:.2g} was asked for."
        )
        too_much = "two_standard_errors" if 3.8 < value / (SIGMA / error) ** 2 < 4.1 else "too_many"
        return Finding("too_few" if value < self.right(error) else too_much, detail)


class SpeedupAndEfficiency(PlainExercise):
    """Speedup and efficiency"""

    signature = "speedup_and_efficiency(ranks, seconds) -> (speedup, efficiency)"
    levels = {"a baseline on one rank": 1, "a baseline on several ranks": 1}
    may_lose = {
        "float64": "seconds are measured to three digits behind the point",
        "int64": "numbers of ranks are small",
        "integers of both widths": "numbers of ranks enter quotients, whatever their width",
    }
    harness = harness_of(__file__, "speedup_and_efficiency")
    mistakes = [
        Mistake("upside_down", "The speedup is upside down: it falls where the run gets faster.",
                "Speedup is the time of the first row divided by the time of the row.",
                lambda c: (1 / c.speedup, 1 / c.speedup / c.more)),
        Mistake("previous_row", "Each row was compared with the row before it.",
                "Compare every row with the first one: seconds[0] / seconds.",
                lambda c: (by_row(c.seconds), by_row(c.seconds) / c.more)),
        Mistake("slowest_row", "Each row was compared with the slowest one. More ranks may well be slower than one: "
                "that is a speedup below 1.", "Compare every row with the first one: seconds[0] / seconds.",
                lambda c: (max(c.seconds) / c.seconds, max(c.seconds) / c.seconds / c.more)),
        Mistake("efficiency_is_speedup", "Efficiency is what each rank contributes, and here it is the same as the "
                "speedup.", "Divide the speedup by how many times more ranks than in the first row were used.",
                lambda c: (c.speedup, c.speedup)),
        Mistake("percent", "The efficiency is given in percent.", "Return a fraction: 1.0 means perfect.",
                lambda c: (c.speedup, 100 * c.speedup / c.more)),
        Mistake("efficiency_times_ranks", "The speedup was multiplied by the number of ranks.",
                "Divide by it: efficiency is the speedup per rank.", lambda c: (c.speedup, c.speedup * c.more)),
        Mistake("first_run_on_one_rank", "The speedup was divided by the number of ranks, as if the first run had "
                "used a single one: a perfect run would then not have efficiency 1 in its first row.",
                "Divide by ranks / ranks[0], how many times more ranks were used.",
                lambda c: (c.speedup, c.speedup / c.ranks)),
        Mistake("assumes_perfect_start", "The speedup was multiplied by the ranks of the first run, as if that run "
                "had been perfect. Nobody measured that.",
                "Speedup here means: how many times faster than the first row.",
                lambda c: (c.speedup * c.ranks[0], c.speedup / c.more)),
        Mistake("ideal", "This is the ideal speedup, not the one that was measured.",
                "Speedup comes from the seconds alone.", lambda c: (c.more, np.ones(len(c.ranks)))),
        Mistake("swapped", "The two answers are swapped.", "Return the speedup first, then the efficiency.",
                lambda c: (c.speedup / c.more, c.speedup)),
        Mistake("last_row", "Each row was compared with the last one.",
                "Compare every row with the first one: seconds[0] / seconds.",
                lambda c: (c.seconds[-1] / c.seconds, c.seconds[-1] / c.seconds * c.ranks[-1] / c.ranks)),
        Mistake("capped", "Efficiencies above 1 were cut down to 1. Twice the ranks can be more than twice as fast, if "
                "each share then fits into a cache, for example; and if the timing is wrong, you want to see it.",
                "Return what the formula gives.", lambda c: (c.speedup, np.minimum(1, c.speedup / c.more))),
        Mistake("whole_numbers", "Only whole numbers were returned: `//` drops everything after the decimal point, and "
                "so does writing results into an integer array, such as `np.zeros_like(ranks)`, or "
                "`np.zeros_like(seconds)` if the seconds are integers.",
                "Divide with `/`, and keep the results in arrays of floats."),
        Mistake("rounded", "The numbers were rounded.", "Return them as they are; round where they are printed."),
        Mistake("efficiency_wrong", "The speedup is right, the efficiency is not.",
                "Divide the speedup by ranks / ranks[0], how many times more ranks were used."),
    ]  # fmt: skip

    def draw(self, rng):
        one, more = self.levels
        for ranks in ([1, 2, 4, 8], [1, 3, 5], [1, 2, 4], [4, 8, 16], [2, 3, 6, 12], [1, 4, 6]):
            says = "ranks " + listed(ranks)
            ranks = np.array(ranks)
            seconds = np.round(
                rng.uniform(10, 90) / ranks * rng.uniform(1.05, 1.3, len(ranks)) ** np.arange(len(ranks)), 3
            )
            if ranks.tolist() == [1, 2, 4]:
                seconds[1], says = np.round(seconds[0] * rng.uniform(1.1, 1.4), 3), says + ", slower on 2 than on 1"
            if ranks.tolist() == [1, 4, 6]:
                seconds[1], says = (
                    np.round(seconds[0] / rng.uniform(4.4, 5.2), 3),
                    says + ", more than 4 times as fast on 4",
                )
            yield one if ranks[0] == 1 else more, {"ranks": ranks, "seconds": seconds}, {"says": says, "rtol": 1e-6}
        measured = ((one, [1, 2, 5], [61, 40, 17]), (more, [2, 4, 6], [80, 50, 47]), (more, [3], [25]))
        for level, ranks, seconds in measured:
            known = {"ranks": np.array(ranks), "seconds": np.array(seconds)}  # integers: clocks that show whole seconds
            yield level, known, {"says": f"ranks {listed(ranks)}, seconds {listed(seconds)}", "rtol": 1e-6}

    def right(self, ranks, seconds):
        return seconds[0] / seconds, seconds[0] / seconds * ranks[0] / ranks

    def worked(self, case):
        c = super().worked(case)
        c.speedup, c.more = c.right[0], c.ranks / c.ranks[0]
        return c

    def per_rank(self, case, value):
        return [dict(zip(("speedup", "efficiency"), value, strict=True))]

    def read(self, answer, ranks, seconds):
        speedup, efficiency = self.right(ranks, seconds)
        found = answer if isinstance(answer, dict) else {}
        got = [as_floats(found.get(name)) for name in ("speedup", "efficiency")]
        if len(ranks) == 1 or any(numbers.shape != ranks.shape for numbers in got):
            return None
        if any(np.all(numbers == np.floor(numbers)) for numbers in got):
            return "whole_numbers"
        if np.allclose(got, (speedup, efficiency), rtol=0, atol=0.051):
            return "rounded"
        if same(got[0], by_row(seconds), rtol=1e-5):
            return "previous_row"
        if same(got[0], speedup, rtol=1e-5):
            return Finding("efficiency_wrong", f"In the last row, {ranks[-1] / ranks[0]:g} times more ranks were used.")
        return "slowest_row" if same(got[0], seconds.max() / seconds, rtol=1e-5) else None


def by_row(seconds: np.ndarray) -> np.ndarray:
    """The ratio by which each row is faster than the row before it. Shape (rows,)."""
    return np.append(1.0, seconds[:-1] / seconds[1:])
