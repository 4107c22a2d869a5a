"""Exercises of unit 01: pi by random points, on every rank at once."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from autograder.exercise import ANYTHING, COMM, Case, Diagnosis, Exercise, Finding, Typed
from autograder.values import full_precision, wide_integers

UNIT = "01_mpi_pi"


def fair_sizes(n: int, world_size: int) -> list[int]:
    """How many of n samples each rank draws when shares differ by at most one, larger ones first."""
    return [n // world_size + (rank < n % world_size) for rank in range(world_size)]


def listed(numbers) -> str:
    """[3, 3, 4] as "3, 3 and 4"."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def points_in_square(rng: np.random.Generator, inside: np.ndarray) -> np.ndarray:
    """Points of the unit square around 0, inside the circle of radius 1/2 where `inside` is True. Shape (2, len(inside)).

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


def all_different(exercise: Exercise, case: Case) -> bool:
    """Whether the right answer and every mistake that shows can be told apart in this case."""
    answers = [exercise.expected(case), *(values for values in exercise.misconceptions(case).values() if values is not None)]
    return not any(same(a, b) for index, a in enumerate(answers) for b in answers[:index])


def same(first: list, second: list) -> bool:
    """Whether two lists of answers, one per rank, are equal up to rounding."""
    return all(alike(a, b) for a, b in zip(first, second, strict=True))


def alike(first, second) -> bool:
    """Whether two answers of a rank (number, array, dict, pair or None) are equal up to rounding."""
    first, second = (answer.values if isinstance(answer, Typed) else answer for answer in (first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(alike(first[key], second[key]) for key in first)
    if first is None or second is None or np.shape(first) != np.shape(second):
        return first is second
    return bool(np.allclose(first, second, equal_nan=True))


def is_fair(starts: np.ndarray, stops: np.ndarray, n: int) -> bool:
    """Whether the blocks start:stop hold each of n samples once and differ in size by at most one sample."""
    sizes = stops - starts
    return bool(np.all(owners(starts, stops, n) == 1) and sizes.sum() == n and sizes.min() >= 0 and np.ptp(sizes) <= 1)


def owners(starts: np.ndarray, stops: np.ndarray, n: int) -> np.ndarray:
    """How many ranks hold each of the samples 0 to n - 1. Shape (n,)."""
    samples = np.arange(n)[:, None]
    return np.sum((starts <= samples) & (samples < stops), axis=1)


def block_mistake(starts: np.ndarray, stops: np.ndarray, n: int) -> str | None:
    """What is wrong with one block start:stop per rank; None if they are fair."""
    world_size = len(starts)
    ranks = np.arange(world_size)
    sizes = stops - starts
    held = owners(starts, stops, n)
    rounded_up = -(-n // world_size)
    uneven = n % world_size != 0
    if is_fair(starts, stops, n):
        return None
    if np.ptp(starts) == 0 and np.ptp(stops) == 0:
        return "ignores_rank"
    if is_fair(starts, starts + stops, n):
        return "count_instead_of_stop"
    if is_fair(starts, stops + 1, n):
        return "inclusive_stop"
    if is_fair(starts - 1, stops - 1, n):
        return "starts_at_one"
    if uneven and np.all(sizes == n // world_size) and np.all(starts == ranks * (n // world_size)):
        return "drops_remainder"
    if uneven and np.all(starts[sizes > 0] == ranks[sizes > 0] * rounded_up) and sizes.max() == rounded_up:
        return "rounds_up"
    if np.array_equal(np.sort(sizes), np.sort(fair_sizes(n, world_size))) and np.all(starts == ranks * sizes):
        return "start_from_own_size"
    if np.any(sizes < 0):
        return "backwards"
    if np.any(held > 1):
        return "overlap"
    if np.any((sizes > 0) & ((starts < 0) | (stops > n))):
        return "out_of_range"
    if np.any(held == 0):
        return "hole"
    if np.sum(sizes == n // world_size) == world_size - 1:
        return "last_rank_takes_rest"
    return "unfair"


def is_pair(value: object) -> bool:
    """Whether a returned value is two numbers, in a tuple, a list or an array."""
    try:
        return np.shape(value) == (2,)
    except ValueError:  # lists of different lengths in it
        return False


class FairShare(Exercise):
    """Fair shares"""

    unit = UNIT
    function = "fair_share"
    signature = "fair_share(n, rank, world_size) -> (start, stop)"
    levels = {"n divides": 1, "n does not divide": 1}
    runtime = "plain"
    harness = """
def harness(fair_share, n, world_size):
    return [fair_share(n, rank, world_size) for rank in range(world_size)]
"""
    reference = """
def fair_share(n, rank, world_size):
    return n * rank // world_size, n * (rank + 1) // world_size
"""
    diagnoses = {
        "not_a_pair": Diagnosis(
            "Every rank needs the two ends of its block, and what came back is not a pair of numbers.",
            "Return two integers: `return start, stop`.",
        ),
        "float_bounds": Diagnosis(
            "The ends of the blocks are floating-point numbers: `/` gives a float even where the division leaves no rest.",
            "A sample cannot be cut in two. Divide with `//` and give the rest `n % world_size` to somebody.",
        ),
        "ignores_rank": Diagnosis(
            "Every rank has the same block, so the ranks repeat each other's work and add nothing new.",
            "Let `start` and `stop` depend on `rank`.",
        ),
        "count_instead_of_stop": Diagnosis(
            "The second number is how many samples the rank has, where the end of its block was asked for.",
            "Return `start, start + size`.",
        ),
        "inclusive_stop": Diagnosis(
            "The second number is the last sample of the block, but `range(start, stop)` and slices leave `stop` out: every rank "
            "loses one sample.",
            "Let `stop` be the first sample that belongs to the next rank.",
        ),
        "starts_at_one": Diagnosis(
            "The samples are counted from 1, so sample 0 belongs to nobody and the last rank reaches past the end.",
            "Samples are numbered 0 to n - 1, as ranks are numbered 0 to world_size - 1.",
        ),
        "drops_remainder": Diagnosis(
            "Shares of n // world_size leave the last n % world_size samples to nobody.",
            "Give one sample more to n % world_size of the ranks.",
        ),
        "last_rank_takes_rest": Diagnosis(
            "One rank takes the whole remainder. All others will wait for it: the slowest rank decides how long the program "
            "runs.",
            "Spread the remainder: n % world_size of the ranks take one sample more, so shares differ by at most one.",
        ),
        "rounds_up": Diagnosis(
            "Blocks of n / world_size rounded up use the samples up too early: the last ranks get less, or nothing.",
            "Round down, and give one sample more to n % world_size of the ranks.",
        ),
        "start_from_own_size": Diagnosis(
            "The sizes are right, the starts are not: rank x (own size) assumes that all ranks before this one have blocks "
            "as large as its own, so blocks overlap or leave holes.",
            "Add up the sizes of the ranks before: rank * (n // world_size) + min(rank, n % world_size).",
        ),
        "backwards": Diagnosis(
            "A block that ends before it starts has a negative size.",
            "With fewer samples than ranks some blocks are empty: start == stop there.",
        ),
        "overlap": Diagnosis(
            "Some samples belong to two ranks: they are drawn twice and weigh double in the result.",
            "The block of a rank must start where the block of the rank before it ends.",
        ),
        "out_of_range": Diagnosis(
            "A block reaches outside the samples 0 to n - 1.",
            "The first block starts at 0 and the last one stops at n.",
        ),
        "hole": Diagnosis(
            "Some samples belong to no rank.",
            "The block of a rank must start where the block of the rank before it ends; the last one stops at n.",
        ),
        "unfair": Diagnosis(
            "Every sample has one owner, but the shares differ by more than one sample, and the largest share decides the "
            "run time.",
            "Sizes n // world_size and n // world_size + 1 are all you need.",
        ),
    }

    def cases(self, rng):
        sizes = [
            ("n divides", 4, 4 * int(rng.integers(5, 50))),
            ("n divides", 3, 3 * int(rng.integers(5, 50))),
            ("n does not divide", 4, 4 * int(rng.integers(5, 50)) + 2),
            ("n does not divide", 5, 5 * int(rng.integers(5, 50)) + 4),
            ("n does not divide", 5, 3),
            ("n does not divide", 2, 0),
        ]
        return [Case(level, 1, (n, p), says=f"n = {n} over {p} ranks", known={"n": n, "world_size": p}) for level, p, n in sizes]

    def expected(self, case):
        return [ANYTHING]  # several ways to cut are right; `facts` judges the blocks

    def facts(self, case, run):
        n, world_size = case.known["n"], case.known["world_size"]
        value = run.ranks[0].value
        if not (isinstance(value, list | tuple) and len(value) == world_size and all(map(is_pair, value))):
            return Finding("not_a_pair", f"rank 0 got {value[0] if isinstance(value, list | tuple) and value else value!r}.")
        blocks = np.array([[np.asarray(end).item() for end in pair] for pair in value])
        if blocks.dtype.kind == "f":
            return Finding("float_bounds", f"The block of rank 0 is {blocks[0].tolist()}.")
        if blocks.dtype.kind not in "iu":
            return Finding("not_a_pair", f"rank 0 got {value[0]!r}.")
        name = block_mistake(blocks[:, 0], blocks[:, 1], n)
        return name and Finding(name, "Blocks of ranks 0, 1, ...: " + ", ".join(f"{a}:{b}" for a, b in blocks) + f" of n = {n}.")


class CountInside(Exercise):
    """Count without a loop"""

    unit = UNIT
    function = "count_inside"
    signature = "count_inside(x, y) -> number of points inside the circle"
    levels = {"counts": 1, "no Python loop": 1}
    runtime = "plain"
    may_lose = {"float64": "no point is closer to the circle than 0.01: rounding decides nothing"}
    # A loop over the points executes at least one line or call of Python per point; whole-array operations execute a handful
    # for any number of points. A loop whose body is a C function leaves no such trace: so `map` and its like are watched, too. The
    # first call, on few points, keeps imports inside the function out of the count.
    harness = """
import builtins
import contextlib
import functools
import itertools
import sys

import numpy as np


def harness(count_inside, x, y, watch):
    if not watch:
        return as_number(count_inside(x, y))
    count_inside(x[:5].copy(), y[:5].copy())
    steps = unseen = 0  # unseen: calls whose end was not reported; who stops the counting has something to count

    def step(frame, event, argument):
        nonlocal steps, unseen
        steps += 1
        unseen += (event == "call") - (event == "return" and frame.f_trace_lines)
        return step

    tracer, hidden = sys.gettrace(), []
    with watched(len(x), hidden, count_inside.__globals__):
        sys.settrace(step)
        try:
            inside = count_inside(x, y)
            counted = sys.gettrace() is step and unseen <= 0
        finally:
            sys.settrace(tracer)
    return {"inside": as_number(inside), "loops over the points": steps >= len(x) or not counted or bool(hidden)}


@contextlib.contextmanager
def watched(n, hidden, names):
    def over_points(original):
        def call(function, *arguments, **options):
            if any(hasattr(a, "__len__") and np.ndim(a) and len(a) >= n or hasattr(a, "__next__") for a in arguments):
                hidden.append(original)
            return original(function, *arguments, **options)

        return call

    def always(original):
        def call(*arguments, **options):
            hidden.append(original)
            return original(*arguments, **options)

        return call

    places = [vars(builtins), vars(functools), vars(itertools), vars(np), names]
    wrappers = {o: over_points(o) for o in (map, filter, functools.reduce, itertools.starmap, np.apply_along_axis)}
    wrappers |= {o: always(o) for o in (np.frompyfunc, np.vectorize)}
    changed = [(place, key, held) for place in places for key, held in list(place.items())
               if any(held is original for original in wrappers)]
    for place, key, held in changed:
        place[key] = wrappers[held]
    try:
        yield
    finally:
        for place, key, held in changed:
            place[key] = held


def as_number(inside):
    if inside is None or np.size(inside) != 1:
        return inside
    number = np.asarray(inside).item()
    return int(number) if isinstance(number, (bool, float)) and number == int(number) else number
"""
    reference = """
import numpy as np


def count_inside(x, y):
    return int(np.count_nonzero(x * x + y * y < 0.25))
"""
    diagnoses = {
        "python_loop": Diagnosis(
            "The count is right, but Python visits the points one by one, at some 100 ns or more for each: the same work is "
            "10 to 100 times faster on whole arrays. `map`, `np.vectorize` and `np.frompyfunc` are such loops in disguise.",
            "Write `x * x + y * y` for the whole arrays at once, compare, and count the True values with `np.count_nonzero`.",
        ),
        "counts_all": Diagnosis(
            "Every point was counted. x^2 + y^2 is never above 1/2 in this square, so a comparison with 1/2 or with 1 lets "
            "all of them through; so does counting the length of the comparison instead of its True values.",
            "The radius is 1/2: compare x^2 + y^2 with 1/4, and count with `np.count_nonzero`.",
        ),
        "radius_squared_twice": Diagnosis(
            "The distance was compared with 1/4, the square of the radius.",
            "Either sqrt(x^2 + y^2) < 1/2, or x^2 + y^2 < 1/4.",
        ),
        "diamond": Diagnosis(
            "|x| + |y| < 1/2 is a square standing on its tip, not a circle.",
            "The distance from the middle is sqrt(x^2 + y^2).",
        ),
        "counts_outside": Diagnosis("The points outside the circle were counted.", "Turn the comparison round."),
        "fraction": Diagnosis(
            "This is the share of points inside, not their number. Shares of different ranks cannot simply be added up: "
            "counts can.",
            "Return the count; divide once, at the very end.",
        ),
        "returns_pi": Diagnosis(
            "This is already an estimate of pi. Estimates of different ranks cannot simply be added up: counts can.",
            "Return the count of points inside; the factor 4 / n comes once, at the very end.",
        ),
        "counts_axes": Diagnosis(
            "The answer is 1 for any points: `np.where` and `np.nonzero` return a tuple with one array per axis, and its length "
            "is the number of axes.",
            "Count the True values themselves: `np.count_nonzero(mask)`.",
        ),
        "squares_the_sum": Diagnosis("(x + y)^2 is not x^2 + y^2.", "Square each coordinate first, then add."),
        "doubles": Diagnosis("2x + 2y was compared with 1/4: `x * 2` doubles.", "The square is `x**2` or `x * x`."),
        "off_centre": Diagnosis(
            "The circle was put around (1/2, 1/2), a corner of the square.", "Its middle is (0, 0): compare x^2 + y^2 with 1/4."
        ),
        "adds_distances": Diagnosis(
            "The distances of the points inside were added up, where the number of these points was asked for.",
            "Count the True values of the comparison: `np.count_nonzero(mask)`.",
        ),
        "returns_mask": Diagnosis(
            "This is True or False for every point, where one number was asked for.",
            "Count the True values: `np.count_nonzero(mask)`.",
        ),
    }

    def cases(self, rng):
        def case(level, n, watch):
            while True:
                x, y = points_in_square(rng, rng.random(n) < 0.6)
                known = {"x": x, "y": y, "watch": watch}
                case = Case(level, 1, (x, y, watch), says=f"{n} points", known=known)
                if all_different(self, case):
                    return case

        return [
            case("counts", 40, False),
            case("counts", 101, False),
            case("counts", 0, False),
            case("no Python loop", 1000, True),
        ]

    def answer(self, case, inside, loops=False):
        return [{"inside": inside, "loops over the points": loops} if case.known["watch"] else inside]

    def expected(self, case):
        x, y = case.known["x"], case.known["y"]
        return self.answer(case, int(np.sum(np.hypot(x, y) < 0.5)))

    def misconceptions(self, case):
        x, y = case.known["x"], case.known["y"]
        n = len(x)
        if n == 0:  # most mistakes do not show here
            return {"counts_axes": self.answer(case, 1), "returns_mask": [np.zeros(0, dtype=bool)]}
        distance = np.hypot(x, y)
        inside = int(np.sum(distance < 0.5))
        counts = {
            "counts_all": n,
            "radius_squared_twice": int(np.sum(distance < 0.25)),
            "diamond": int(np.sum(np.abs(x) + np.abs(y) < 0.5)),
            "counts_outside": n - inside,
            "fraction": inside / n,
            "returns_pi": 4 * inside / n,
            "counts_axes": 1,
            "squares_the_sum": int(np.sum((x + y) ** 2 < 0.25)),
            "doubles": int(np.sum(2 * x + 2 * y < 0.25)),
            "off_centre": int(np.sum((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.25)),
            "adds_distances": float(np.sum(distance[distance < 0.5])),
        }
        values = {name: self.answer(case, count) for name, count in counts.items()}
        values["returns_mask"] = (
            [{"inside": distance < 0.5, "loops over the points": False}] if case.known["watch"] else [distance < 0.5]
        )
        values["python_loop"] = self.answer(case, inside, loops=True) if case.known["watch"] else None
        return values


class RankRng(Exercise):
    """A stream of random numbers for every rank"""

    unit = UNIT
    function = "rank_rng"
    signature = "rank_rng(seed, rank, world_size) -> numpy.random.Generator"
    levels = {"a stream for every rank": 1, "a stream for every experiment": 1}
    runtime = "plain"
    # All generators are made before the first one is used: generators that share their state cannot hide it. The second call of each
    # pair is made as if in another process at another time, where strings have other hashes.
    harness = """
import builtins
import contextlib
import os
import random
import time

import numpy as np


def harness(rank_rng, seeds, world_size, ranks, length, far):
    def make():
        return [[rank_rng(seed, rank, world_size) for rank in ranks] for seed in seeds]

    before = global_states()
    made = [make()]
    with another_process():
        made.append(make())
    touched = before != global_states()
    every = [generator for call in made for ranks in call for generator in ranks]
    report = {"made": type(every[0]).__name__, "touched": touched}
    report["legacy"] = any(isinstance(generator, np.random.RandomState) for generator in every)
    for generator in every:
        if not callable(getattr(generator, "random", None)):
            return {"made": type(generator).__name__}
    if len({id(generator) for generator in every}) < len(every):
        return report | {"shared": True}
    try:
        draws = np.array([[[generator.random(8) for generator in ranks] for ranks in call] for call in made])
    except (AttributeError, TypeError):  # a generator of another library, or none at all
        return {"made": type(every[0]).__name__}
    longer = np.array([generator.random(length) for generator in made[0][0]])
    return report | {"draws": draws, "longer": longer, "met": met(made[0][0], draws[0, 0, :, 0], far)}


# [i, k]: the first number of stream k has come up far down in stream i.
def met(generators, first, far):
    return [[i, k] for i, generator in enumerate(generators) for _ in range(far // 1_000_000)
            for k in np.flatnonzero(np.isin(first, generator.random(1_000_000))).tolist()]


def global_states():
    name, keys, *rest = np.random.get_state()
    return random.getstate(), name, keys.tolist(), rest


@contextlib.contextmanager
def another_process():
    def salted(value):
        return real["hash"]((value, "another process") if has_text(value) else value)

    def has_text(value):
        return isinstance(value, (str, bytes)) or isinstance(value, (tuple, frozenset)) and any(map(has_text, value))

    real = {"hash": builtins.hash, "getpid": os.getpid, "time": time.time, "time_ns": time.time_ns}
    builtins.hash, os.getpid = salted, lambda: real["getpid"]() + 1
    time.time, time.time_ns = lambda: real["time"]() + 1000.0, lambda: real["time_ns"]() + 10**12
    try:
        yield
    finally:
        builtins.hash, os.getpid = real["hash"], real["getpid"]
        time.time, time.time_ns = real["time"], real["time_ns"]
"""
    reference = """
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(world_size)[rank])
"""
    diagnoses = {
        "not_a_generator": Diagnosis(
            "A generator was asked for: an object that draws when one calls its `.random(k)`.",
            "Return `np.random.default_rng(...)`.",
        ),
        "global_state": Diagnosis(
            "`np.random` itself is one generator for the whole process: whoever draws from it or seeds it changes "
            "everybody's numbers.",
            "Make a generator of your own with `np.random.default_rng(...)` and return it.",
        ),
        "touches_global_state": Diagnosis(
            "The stream is fine, but on the way the global generator of NumPy or of Python was seeded or drawn from: everybody else's "
            "numbers have changed.",
            "Make a generator of your own with `np.random.default_rng(...)`, and call neither `np.random.seed` nor `random.seed`.",
        ),
        "legacy_generator": Diagnosis(
            "This is a `RandomState`, which NumPy keeps for old programs only. A `numpy.random.Generator` was asked for.",
            "Return `np.random.default_rng(...)`.",
        ),
        "glued_seed": Diagnosis(
            "Seed and rank were written one behind the other as digits. Then seed 1 on rank 11 and seed 11 on rank 1 are the same "
            "number, 111, and share a stream.",
            "Do not glue, combine: `default_rng([rank, seed])`, or `SeedSequence(seed).spawn(world_size)[rank]`.",
        ),
        "shared_generator": Diagnosis(
            "Two calls returned one and the same generator object, so the second caller goes on where the first one stopped.",
            "Make a new generator in every call.",
        ),
        "unseeded": Diagnosis(
            "The same call gave different numbers the second time, or would in another process, so a run can never be repeated and a "
            "bug never be caught again.",
            "Everything random must follow from `seed` and `rank`, nothing from the clock, the process or the operating system. Python's "
            "`hash` of a string is another number in every process.",
        ),
        "same_stream": Diagnosis(
            "These ranks draw the very same points. Four ranks then do four times the work of one and know nothing more.",
            "Let the stream depend on `rank`: `SeedSequence(seed).spawn(world_size)[rank]`.",
        ),
        "overlapping_streams": Diagnosis(
            "The ranks walk along one and the same stream from different places, and soon one draws what another has drawn "
            "before.",
            "Give each rank a stream of its own: `SeedSequence(seed).spawn(world_size)[rank]`.",
        ),
        "ignores_seed": Diagnosis(
            "Another seed gives the same numbers: the experiment can be repeated, but never varied.",
            "Hand `seed` to the generator, together with `rank`.",
        ),
        "seed_times_rank": Diagnosis(
            "Rank 0 draws the same numbers for every seed, as a product with rank 0 is 0 whatever the seed.",
            "Do not calculate with the seed, combine: `default_rng([rank, seed])`, or "
            "`SeedSequence(seed).spawn(world_size)[rank]`.",
        ),
        "seed_plus_rank": Diagnosis(
            "Experiments with different seeds share streams, as they do with seed + rank: 7 + 1 and 8 + 0 are the same. "
            "Averaged over seeds, the same points count several times.",
            "Do not calculate with the seed, combine: `default_rng([rank, seed])`, or "
            "`SeedSequence(seed).spawn(world_size)[rank]`.",
        ),
    }

    def cases(self, rng):
        def case(level, world_size, seeds, length=5000, far=0, ranks=None, of=""):
            says = f"{world_size} ranks, " + ("seed " if len(seeds) == 1 else "seeds ") + (of or listed(seeds))
            ranks = list(range(world_size)) if ranks is None else ranks
            known = {"seeds": seeds, "ranks": ranks}
            return Case(level, 1, (seeds, world_size, ranks, length, far), says=says, known=known)

        seed = int(rng.integers(151, 1000))  # so that all the seeds below differ
        one, other = self.levels
        steps = [7919, 9973, 12_345, 65_537, 99_991, 104_729, 1_000_003, 15_485_863, 2**16, 2**20, 2**24, 2**30, 2**31]
        steps += [10**k for k in range(4, 10)]
        return [
            # As many numbers as the ten million darts of the page take from each of four streams.
            case(one, 4, [int(rng.integers(10, 1000))], far=5_000_000),
            case(one, 5, [int(rng.integers(10, 1000))]),
            # Pairs that a sum, a product or digits written one behind the other cannot tell apart, such as 1 and 11, 11 and 1.
            case(other, 12, [seed, seed + 1, 2 * seed, seed + 12, seed + 100, seed + 1000, 0, 1, 2, 11]),
            case(other, 101, [0, 1], length=1),
            # So many ranks, or seeds so far apart, that round numbers between them do not keep streams apart, either.
            case(other, 10_000, [0, 1], length=1, ranks=[0, 1, 128, 256, 512, 1000, 1024, 4096, 5000, 8192, 9999], of="0 and 1"),
            case(other, 2, [seed, *(seed + step for step in steps)], length=1, of=f"{seed} to {seed + 2**31}"),
        ]

    def expected(self, case):
        return [ANYTHING]  # any numbers will do, as long as they are nobody else's; `facts` compares the streams

    def facts(self, case, run):
        value = run.ranks[0].value
        made = value.get("made") if isinstance(value, dict) else type(value).__name__
        if made == "module":
            return "global_state"
        if made not in (None, "NoneType") and isinstance(value, dict) and "shared" in value:
            return "shared_generator"
        if not isinstance(value, dict) or "draws" not in value:
            return Finding("not_a_generator", f"rank_rng returned an object of type {made}.")
        met = [(int(a), int(b)) for a, b in value["met"]]
        found = stream_mistake(
            case.known["seeds"], case.known["ranks"], np.asarray(value["draws"]), np.asarray(value["longer"]), met
        )
        if found is None and value["legacy"]:
            return "legacy_generator"
        return "touches_global_state" if found is None and value["touched"] else found


def stream_mistake(
    seeds: list[int], ranks: list[int], draws: np.ndarray, longer: np.ndarray, met: list[tuple[int, int]]
) -> Finding | None:
    """What is wrong with the streams.

    draws: first numbers of each stream, shape (2 calls, seeds, ranks, numbers). longer: the numbers that follow in the streams of
    the first seed, shape (ranks, numbers). met: pairs of these, of which one begins far down in the other.
    Two independent streams have a common 53-bit number with a chance below 1e-8.
    """
    if not np.array_equal(draws[0], draws[1]):
        return Finding("unseeded")
    draws = draws[0]
    places = range(len(ranks))
    starts = draws[:, :, 0]  # equal first numbers of two streams: equal streams
    for a, b in itertools.combinations(places, 2):
        if starts[0, a] == starts[0, b]:
            numbers = ", ".join(f"{number:.4f}" for number in draws[0, a, :3])
            return Finding("same_stream", f"With seed {seeds[0]}, ranks {ranks[a]} and {ranks[b]} both draw {numbers}, ...")
    owner = {}
    for place in places:
        for number in longer[place].tolist():
            if owner.setdefault(number, place) != place:
                met = [(owner[number], place)]
    if met:
        first, second = (ranks[place] for place in sorted(met[0]))
        return Finding("overlapping_streams", f"Ranks {first} and {second} have drawn some of the same numbers.")
    unmoved = [ranks[place] for place in places if len(seeds) > 1 and starts[0, place] == starts[1, place]]
    if unmoved == [0]:
        return Finding("seed_times_rank")
    if unmoved:
        return Finding("ignores_seed", f"Rank {unmoved[0]} draws the same with seed {seeds[0]} and with seed {seeds[1]}.")
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


def is_glued(pair: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    """Whether two (seed, rank) are the same number when their digits are written one behind the other."""
    (seed, rank), (other_seed, other_rank) = pair
    in_order = int(f"{seed}{rank}") == int(f"{other_seed}{other_rank}")
    return in_order or int(f"{rank}{seed}") == int(f"{other_rank}{other_seed}")


class SumCounts(Exercise):
    """Add up without pickles"""

    unit = UNIT
    function = "sum_counts"
    signature = "sum_counts(comm, counts) -> sum over all ranks, on every rank"
    levels = {"sum on every rank": 1, "buffers": 1}
    runtime = "mpi4py"
    harness = """
def harness(sum_counts, comm, counts, team):
    return sum_counts(comm if team is None else comm.Split(team, comm.rank), counts)
"""
    reference = """
import numpy as np


def sum_counts(comm, counts):
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
"""
    diagnoses = {
        "pickled": Diagnosis(
            "The lower-case methods of mpi4py turn the array into a pickle, send it, and add up in Python.",
            "`comm.Allreduce(counts, total)` hands MPI the memory itself: capital A, and an array for the result.",
        ),
        "by_hand": Diagnosis(
            "The sum was put together from single messages. MPI knows faster ways (unit 03 builds them).",
            "One collective does it: `comm.Allreduce(counts, total)`.",
        ),
        "rank_0_only": Diagnosis(
            "Only rank 0 has the sum. A reduce leaves the result on one rank.",
            "Every rank needs it: use an all-reduce.",
        ),
        "ignores_comm": Diagnosis(
            "The ranks of other communicators were added, too. `comm` need not hold all ranks: this one held some of them.",
            "Call the methods of the argument `comm`, not those of MPI.COMM_WORLD.",
        ),
        "own_counts": Diagnosis(
            "Every rank returned its own counts: nothing was added up.",
            "`Allreduce` writes the sum into its second argument. Return that one.",
        ),
        "rank_0_counts": Diagnosis("Every rank returned the counts of rank 0.", "A broadcast copies; a reduction adds."),
        "mean": Diagnosis("This is the mean over the ranks, where the sum was asked for.", "Leave out the division."),
        "maximum": Diagnosis(
            "This is the largest count, where the sum was asked for.", "The operation is `MPI.SUM`, the default."
        ),
        "one_number": Diagnosis(
            "All elements were added into a single number.",
            "Element i of the result is the sum over the ranks of their elements i.",
        ),
        "gathered": Diagnosis(
            "The counts of all ranks were collected, but not added up.", "Use a reduction, or add over the ranks."
        ),
        "reduced_twice": Diagnosis(
            "What was summed over the ranks was summed over the ranks again: every count is in it once per rank.",
            "One all-reduce is enough. After it every rank holds the sum.",
        ),
        "ValueError": Diagnosis(
            "The two buffers of `Allreduce` must have the same type and the same number of elements.",
            "`np.empty_like(counts)` makes an array that fits; `np.zeros(n)` makes floats, whatever the counts are.",
        ),
        "Exception": Diagnosis(
            "MPI refused the call. The same memory must not be given as the source and as the result.",
            "Give the result an array of its own: `np.empty_like(counts)`.",
        ),
    }

    def cases(self, rng):
        def case(level, shape, dtype, teams):
            world_size = len(teams)
            while True:
                if dtype == "float64":
                    counts = full_precision(rng, 1, 1000, (world_size, *shape))
                else:
                    most = world_size**2 * math.prod(shape)  # a sum of sums of all elements fits, too
                    counts = wide_integers(rng, (world_size, *shape), dtype, summands=most)
                split = any(teams)
                arguments = [(COMM, own, team if split else None) for own, team in zip(counts, teams, strict=True)]
                says = f"{dtype}, shape {shape}" + (", `comm` holds some of them" if split else "")
                case = Case(level, world_size, arguments, says=says, known={"counts": counts, "teams": np.array(teams)})
                if all_different(self, case):
                    return case

        return [
            case("sum on every rank", (3,), "int64", [0, 0, 0, 0]),
            case("sum on every rank", (2, 3), "float64", [0, 0]),
            case("sum on every rank", (1,), "int32", [0, 1, 0, 1, 0]),
            case("buffers", (1000,), "int64", [0, 0, 0]),
        ]

    def parts(self, case) -> list[np.ndarray]:
        """For every rank, the counts of all members of its communicator. Shape (members, ...)."""
        counts, teams = case.known["counts"], case.known["teams"]
        return [counts[teams == team] for team in teams]

    def is_first(self, case) -> list[bool]:
        """For every rank, whether it is rank 0 of its communicator."""
        teams = case.known["teams"].tolist()
        return [team not in teams[:rank] for rank, team in enumerate(teams)]

    def expected(self, case):
        return [Typed(part.sum(axis=0, dtype=part.dtype)) for part in self.parts(case)]

    def misconceptions(self, case):
        counts, parts = case.known["counts"], self.parts(case)
        totals = [part.sum(axis=0, dtype=part.dtype) for part in parts]
        return {
            "rank_0_only": [total if first else None for total, first in zip(totals, self.is_first(case), strict=True)],
            "ignores_comm": [counts.sum(axis=0, dtype=counts.dtype)] * case.world_size if any(case.known["teams"]) else None,
            "own_counts": list(counts),
            "rank_0_counts": [part[0] for part in parts],
            "mean": [part.mean(axis=0) for part in parts],
            "maximum": [part.max(axis=0) for part in parts],
            # in 64 bits a thousand wide counts may not fit; of one element it would be no mistake
            "one_number": [float(total.sum(dtype=float)) for total in totals] if totals[0].size > 1 else None,
            "gathered": parts,
            "reduced_twice": [len(part) * total for part, total in zip(parts, totals, strict=True)],
        }

    def facts(self, case, run):
        right = [alike(rank.value, total.values) for rank, total in zip(run.ranks, self.expected(case), strict=True)]
        if right == self.is_first(case):
            return "rank_0_only"
        if any(alike(rank.value, list(part)) for rank, part in zip(run.ranks, self.parts(case), strict=True)):
            return "gathered"
        pickling = sorted({name for rank in run.ranks for name in rank.collectives if name[0].islower() and name != "barrier"})
        if all(right) and case.level == "buffers" and pickling:
            return Finding("pickled", f"The sum came from {listed(f'`comm.{name}`' for name in pickling)}.")
        if all(right) and case.level == "buffers" and any(rank.sends for rank in run.ranks):
            return Finding("by_hand", f"Ranks 0, 1, ... sent {listed([rank.sends for rank in run.ranks])} messages.")
        return None


class EstimatePi(Exercise):
    """Pi on all ranks"""

    unit = UNIT
    function = "estimate_pi"
    signature = "estimate_pi(comm, n, draw) -> estimate of pi, the same on every rank"
    all_hear = True
    levels = {"n divides": 1, "n does not divide": 1, "fewer samples than ranks": 1}
    runtime = "mpi4py"
    inputs = "free"
    may_lose = {
        "float64": "no point is closer to the circle than 0.01: rounding decides nothing",
        "int64": "the only integers handed out are the harness' own, which counts what was drawn",
        "integers of both widths": "the only integers handed out are the harness' own, which counts what was drawn",
    }
    uses = ("fair_share", "count_inside", "sum_counts")
    # `draw` hands out points that were prepared for this rank, in order, and notes in `drawn` how many it gave.
    harness = """
def harness(estimate_pi, comm, n, points, drawn, team):
    def draw(k):
        first = int(drawn[0])
        drawn[0] += k
        columns = [(first + i) % points.shape[1] for i in range(k)]
        x, y = points[:, columns]
        return x, y

    return estimate_pi(comm if team is None else comm.Split(team, comm.rank), n, draw)
"""
    diagnoses = {
        "ignores_comm": Diagnosis(
            "The ranks of other communicators took part, too. `comm` need not hold all ranks: this one held some of them.",
            "Ask `comm` for rank and size, and call its methods, not those of MPI.COMM_WORLD.",
        ),
        "forgets_4": Diagnosis(
            "This is the share of points inside the circle, which is pi / 4: the circle covers pi / 4 of the square.",
            "Multiply by 4.",
        ),
        "drops_remainder": Diagnosis(
            "Shares of n // world_size leave the last n % world_size samples undrawn.",
            "Let `fair_share` say how many samples this rank draws: stop - start.",
        ),
        "last_rank_takes_rest": Diagnosis(
            "One rank draws the whole remainder, and everybody waits for it.",
            "Let `fair_share` say how many samples this rank draws: stop - start.",
        ),
        "draws_too_many": Diagnosis(
            "More samples were drawn than the n that were asked for.",
            "n counts the samples of all ranks together: let `fair_share` say how many this rank draws.",
        ),
        "unfair": Diagnosis(
            "All samples were drawn, but the shares differ by more than one, and the largest share decides the run time.",
            "Let `fair_share` say how many samples this rank draws: stop - start.",
        ),
        "every_rank_draws_all": Diagnosis(
            "Every rank draws all n samples: more ranks then mean more work, not less time.",
            "n counts the samples of all ranks together: let `fair_share` say how many this rank draws.",
        ),
        "ignores_draw": Diagnosis(
            "No point was taken from `draw`: wherever the points came from, it was not this rank's stream.",
            "Call `x, y = draw(k)` for the k points of this rank.",
        ),
        "local_over_n": Diagnosis(
            "The points of this rank alone were divided by the samples of all ranks.",
            "Add up the counts of all ranks before you divide by n.",
        ),
        "no_reduction": Diagnosis(
            "Every rank returns an estimate of its own, from its own samples only.",
            "Add up the counts of all ranks, then divide by n.",
        ),
        "mean_of_means": Diagnosis(
            "The estimates of the ranks were averaged. Where shares differ in size, that gives the samples of small shares "
            "more weight.",
            "Add up counts, which weigh every sample alike, and divide once by n.",
        ),
        "sum_of_means": Diagnosis(
            "This is about world_size times pi. Either all points inside were divided by the samples of one rank, or "
            "something was added up over the ranks that was complete already: estimates, or sums.",
            "Add up the counts once, over all ranks, and divide once, by n.",
        ),
        "rounded_n": Diagnosis(
            "The points inside were divided by world_size * (n // world_size), which is less than the n that were drawn.",
            "Divide by n itself.",
        ),
        "rank_0_only": Diagnosis(
            "Only rank 0 knows the estimate. A reduce leaves the result on one rank.",
            "Every rank needs it: use an all-reduce.",
        ),
        "integer_division": Diagnosis("`//` throws away everything behind the decimal point.", "Divide with `/`."),
        "ZeroDivisionError": Diagnosis(
            "A rank divided by the number of its own samples, and with fewer samples than ranks some ranks have none.",
            "Add up counts over the ranks and divide once, by n.",
        ),
    }

    def cases(self, rng):
        def case(level, world_size, n, teams=None):
            while True:
                known = self.prepared(rng, n, np.array(teams or [0] * world_size))
                team = teams or [None] * world_size
                arguments = [(COMM, n, points, np.zeros(1, np.int64), team[r]) for r, points in enumerate(known["points"])]
                says = f"n = {n}" + (", `comm` holds some of them" if teams else "")
                case = Case(level, world_size, arguments, says=says, known=known)
                if all_different(self, case):
                    return case

        return [
            case("n divides", 4, 40),
            case("n divides", 2, 30),
            case("n does not divide", 4, 43),
            case("n does not divide", 5, 35, teams=[0, 1, 0, 1, 0]),
            case("fewer samples than ranks", 5, 3),
        ]

    def by_team(self, case) -> list[tuple[list[int], Case]]:
        """The members of each communicator, and the case as it looks to them."""
        inside, teams = case.known["inside"], case.known["teams"]
        members = [np.flatnonzero(teams == team).tolist() for team in sorted(set(teams.tolist()))]
        return [
            (own, replace(case, world_size=len(own), known={**case.known, "inside": inside[own], "teams": teams[own]}))
            for own in members
        ]

    @staticmethod
    def put_together(case, values_by_team: list[tuple[list[int], list]]) -> list:
        """One value per rank out of those of each team."""
        values = [None] * case.world_size
        for members, own in values_by_team:
            for member, value in zip(members, own, strict=True):
                values[member] = value
        return values

    def prepared(self, rng, n: int, teams: np.ndarray) -> dict:
        """Points for every rank, and which of them lie inside.

        Which ranks draw one sample more is nobody's business: the sample in question lies inside on every rank.
        """
        inside = rng.random((len(teams), n)) < rng.uniform(0.3, 0.9)
        for size in np.bincount(teams):
            inside[:, n // size] = True
        return {"n": n, "teams": teams, "inside": inside, "points": [points_in_square(rng, own) for own in inside]}

    def expected(self, case):
        return self.put_together(case, [(members, self.of_all_ranks(team)) for members, team in self.by_team(case)])

    def of_all_ranks(self, case) -> list[float]:
        """The estimate of all ranks of a case, one after the other in fair shares, on each of them."""
        n, inside = case.known["n"], case.known["inside"]
        return [4 * self.counts(inside, fair_sizes(n, len(inside))).sum() / n] * len(inside)

    def counts(self, inside, sizes) -> np.ndarray:
        """How many of its first sizes[rank] points each rank finds inside."""
        return np.array([own[:size].sum() for own, size in zip(inside, sizes, strict=True)])

    def misconceptions(self, case):
        teams = self.by_team(case)
        wrong = [(members, self.of_one_team(team)) for members, team in teams]
        shown = {name for name in wrong[0][1] if all(values[name] is not None for _, values in wrong)}
        found = {
            name: self.put_together(case, [(members, values[name]) for members, values in wrong]) if name in shown else None
            for name in wrong[0][1]
        }
        return found | {"ignores_comm": self.of_all_ranks(case) if len(teams) > 1 else None}

    def of_one_team(self, case) -> dict[str, list | None]:
        n, inside = case.known["n"], case.known["inside"]
        world_size = len(inside)
        quotient, rest = divmod(n, world_size)
        sizes = np.array(fair_sizes(n, world_size))
        counts = self.counts(inside, sizes)
        total = counts.sum()
        pi = 4 * total / n
        to_the_last = [quotient] * (world_size - 1) + [quotient + rest]

        def everywhere(value, shows=True):
            return [value] * world_size if shows else None

        no_empty_share = n >= world_size
        estimates = 4 * counts / np.maximum(sizes, 1)
        return {
            "forgets_4": everywhere(total / n),
            "drops_remainder": everywhere(4 * self.counts(inside, [quotient] * world_size).sum() / n, rest > 0),
            "last_rank_takes_rest": everywhere(4 * self.counts(inside, to_the_last).sum() / n, rest > 0),
            "every_rank_draws_all": everywhere(4 * inside.sum() / n),
            "local_over_n": list(4 * counts / n),
            "no_reduction": list(estimates) if no_empty_share else None,
            "mean_of_means": everywhere(estimates.mean(), no_empty_share and rest > 0),
            "sum_of_means": everywhere(estimates.sum(), no_empty_share),
            "rounded_n": everywhere(4 * total / max(1, n - rest), no_empty_share and rest > 0),
            "rank_0_only": [pi] + [None] * (world_size - 1),
            "integer_division": everywhere(math.floor(pi), pi != math.floor(pi)),
        }

    def facts(self, case, run):
        teams = self.by_team(case)
        if len(teams) == 1:
            return self.facts_of_team(case, run)
        n, inside = case.known["n"], case.known["inside"]
        drawn = [int(np.asarray(rank.after[3])[0]) for rank in run.ranks]
        of_everybody = 4 * self.counts(inside, drawn).sum() / n
        if sorted(drawn) == sorted(fair_sizes(n, len(drawn))) or all(alike(rank.value, of_everybody) for rank in run.ranks):
            return Finding("ignores_comm", f"n = {n}, and ranks 0, 1, ... drew {listed(drawn)} samples.")
        found = (self.facts_of_team(team, replace(run, ranks=tuple(run.ranks[r] for r in members))) for members, team in teams)
        return next(filter(None, found), None)

    def facts_of_team(self, case, run):
        n, world_size = case.known["n"], len(run.ranks)
        drawn = [int(np.asarray(rank.after[3])[0]) for rank in run.ranks]
        detail = f"n = {n}, and ranks 0, 1, ... drew {listed(drawn)} samples."
        right = [alike(rank.value, value) for rank, value in zip(run.ranks, self.expected(case), strict=True)]
        if sum(drawn) == 0:
            return Finding("ignores_draw", detail)
        if min(drawn) == n and world_size > 1:
            return Finding("every_rank_draws_all", detail)
        if sum(drawn) < n:
            return Finding("drops_remainder", detail)
        if sum(drawn) > n:
            return Finding("draws_too_many", detail)
        if max(drawn) - min(drawn) > 1:
            return Finding("unfair", detail)
        if right[0] and not any(right[1:]):
            return "rank_0_only"
        total = self.counts(case.known["inside"], fair_sizes(n, world_size)).sum()
        estimates = 4 * self.counts(case.known["inside"], drawn) / np.maximum(drawn, 1)
        if not all(right) and all(alike(rank.value, estimates.sum()) for rank in run.ranks):
            return "sum_of_means"
        own_share = all(size and alike(rank.value, 4 * total / size) for rank, size in zip(run.ranks, drawn, strict=True))
        if own_share or all(alike(rank.value, 4 * total / n * world_size) for rank in run.ranks):
            return "sum_of_means"
        return None if all(right) else self.of_own_samples(case, run, drawn)

    def of_own_samples(self, case, run, drawn: list[int]) -> str | None:
        """Which mistake the shares as they were drawn explain: which ranks draw one more is the student's choice."""
        counts, sizes = self.counts(case.known["inside"], drawn), np.maximum(drawn, 1)
        values = [rank.value for rank in run.ranks]
        ways = {
            "mean_of_means": [(4 * counts / sizes).mean()] * len(drawn),
            "no_reduction": 4 * counts / sizes,
            "local_over_n": 4 * counts / case.known["n"],
        }
        for name, expected in ways.items():
            tells = min(drawn) > 0 or name == "local_over_n"  # whose share is empty has no mean of its own
            if tells and all(alike(value, one) for value, one in zip(values, expected, strict=True)):
                return name
        return None


def pi_sigma() -> float:
    """Standard deviation of one sample: 4 with probability pi / 4, else 0. A Bernoulli variable times 4."""
    return math.sqrt(math.pi * (4 - math.pi))


class SamplesNeeded(Exercise):
    """How many samples for how many digits"""

    unit = UNIT
    function = "samples_needed"
    signature = "samples_needed(error) -> n"
    levels = {"n for an error": 1}
    runtime = "plain"
    harness = """
def harness(samples_needed, error):
    n = samples_needed(error)
    return n if n is None else float(n)
"""
    diagnoses = {
        "forgets_square": Diagnosis(
            "n = sigma / error is missing a square: the error shrinks as 1 / sqrt(n), so half the error takes four times the "
            "samples.",
            "Solve sigma / sqrt(n) = error for n.",
        ),
        "forgets_4": Diagnosis(
            "This is the n for the share of points inside; the estimate of pi is 4 times that share, and so is its error.",
            "One sample counts 4 or 0: its standard deviation is sqrt(pi (4 - pi)) = 1.64.",
        ),
        "sigma_is_1": Diagnosis(
            "1 / error^2 would be right for samples with a standard deviation of 1.",
            "One sample counts 4 or 0: its standard deviation is sqrt(pi (4 - pi)) = 1.64. Multiply by its square.",
        ),
        "sigma_not_squared": Diagnosis(
            "The standard deviation of a sample enters the number of samples squared, and was used unsquared.",
            "n = (sigma / error)^2.",
        ),
        "variance_squared": Diagnosis(
            "pi (4 - pi) is already the square of the standard deviation, and was squared again.",
            "n = pi (4 - pi) / error^2.",
        ),
        "relative_error": Diagnosis(
            "This n gives an error of `error` times pi: the error was taken as a fraction of pi.",
            "`error` is meant as it stands: 0.01 is 0.01, not one percent.",
        ),
        "shrinks_with_error": Diagnosis(
            "A smaller error was given fewer samples.", "Solve sigma / sqrt(n) = error for n: n = (sigma / error)^2."
        ),
        "error_not_squared": Diagnosis(
            "The standard deviation was squared, the error was not.", "Square the whole quotient: n = (sigma / error)^2."
        ),
        "4_not_squared": Diagnosis(
            "The 4 of the estimate entered once, but it multiplies the standard deviation, and n grows with the square of that.",
            "sigma = 4 sqrt(p (1 - p)) with p = pi / 4, so sigma^2 = 16 p (1 - p).",
        ),
        "overflow": Diagnosis(
            "A number of samples cannot be negative: n has outgrown its integer type.",
            "Return a Python int, which has no limit: `math.ceil(...)`.",
        ),
        "two_standard_errors": Diagnosis(
            "That is four times the n that was asked for: half the error, as for an interval of 95 %, which is two standard "
            "errors wide on either side.",
            "`error` is one standard error: n = (sigma / error)^2.",
        ),
        "too_few": Diagnosis("These samples are not enough.", "Solve sigma / sqrt(n) = error for n: n = (sigma / error)^2."),
        "too_many": Diagnosis("Fewer samples would do.", "Solve sigma / sqrt(n) = error for n: n = (sigma / error)^2."),
    }

    def cases(self, rng):
        errors = [float(np.round(rng.uniform(low, 3 * low), 6)) for low in (1e-2, 1e-3, 1e-5)]
        level = "n for an error"
        # 0.5 %: room for sigma = 1.64, pi = 3.14 and any rounding of n.
        return [Case(level, 1, (error,), says=f"error = {error:g}", known={"error": error}, rtol=5e-3) for error in errors]

    def expected(self, case):
        return [float(math.ceil((pi_sigma() / case.known["error"]) ** 2))]

    def misconceptions(self, case):
        error, sigma = case.known["error"], pi_sigma()
        values = {
            "forgets_square": sigma / error,
            "forgets_4": (sigma / 4 / error) ** 2,
            "sigma_is_1": 1 / error**2,
            "sigma_not_squared": sigma / error**2,
            "variance_squared": (sigma**2 / error) ** 2,
            "relative_error": (sigma / math.pi / error) ** 2,
            "shrinks_with_error": (sigma * error) ** 2,
            "error_not_squared": sigma**2 / error,
            "4_not_squared": (sigma / 2 / error) ** 2,
        }
        return {name: [value] for name, value in values.items()}

    def facts(self, case, run):
        value = run.ranks[0].value
        error, right = case.known["error"], self.expected(case)[0]
        if (
            not isinstance(value, int | float)
            or not math.isfinite(value)
            or alike(value, right)
            or math.isclose(value, right, rel_tol=case.rtol)
        ):
            return None
        if value < 0:
            return "overflow"
        if value <= 1:
            return "shrinks_with_error"
        for name, (wrong,) in self.misconceptions(case).items():
            if abs(value - wrong) < 1:  # rounding is not the mistake
                return name
        detail = f"With n = {value:g} the standard error is {pi_sigma() / math.sqrt(value):.2g}, and {error:.2g} was asked for."
        if 3.8 < value / right < 4.05:
            return Finding("two_standard_errors", detail)
        return Finding("too_few" if value < right else "too_many", detail)


class SpeedupAndEfficiency(Exercise):
    """Speedup and efficiency"""

    unit = UNIT
    function = "speedup_and_efficiency"
    signature = "speedup_and_efficiency(ranks, seconds) -> (speedup, efficiency)"
    levels = {"from one rank": 1, "from more than one rank": 1}
    runtime = "plain"
    may_lose = {
        "float64": "seconds are measured to three digits behind the point",
        "int64": "numbers of ranks are small",
        "integers of both widths": "numbers of ranks enter quotients, whatever their width",
    }
    harness = """
import numpy as np


def harness(speedup_and_efficiency, ranks, seconds):
    answer = speedup_and_efficiency(ranks, seconds)
    if isinstance(answer, dict):  # not the pair that was asked for
        return list(answer)
    try:
        speedup, efficiency = answer
        return {"speedup": np.asarray(speedup, float), "efficiency": np.asarray(efficiency, float)}
    except (TypeError, ValueError):
        return answer
"""
    diagnoses = {
        "upside_down": Diagnosis(
            "The speedup is upside down: it falls where the run gets faster.",
            "Time of the first row divided by the time of the row.",
        ),
        "previous_row": Diagnosis(
            "Each row was compared with the row before it.", "Compare every row with the first one: seconds[0] / seconds."
        ),
        "slowest_row": Diagnosis(
            "Each row was compared with the slowest one. More ranks may well be slower than one: that is a speedup below 1.",
            "Compare every row with the first one: seconds[0] / seconds.",
        ),
        "efficiency_is_speedup": Diagnosis(
            "Efficiency is what each rank contributes, and here it is the same as the speedup.",
            "Divide the speedup by how many times more ranks than in the first row were used.",
        ),
        "percent": Diagnosis("The efficiency is given in percent.", "Return a fraction: 1.0 means perfect."),
        "efficiency_times_ranks": Diagnosis(
            "The speedup was multiplied by the number of ranks.", "Divide by it: efficiency is the speedup per rank."
        ),
        "first_run_on_one_rank": Diagnosis(
            "The speedup was divided by the number of ranks, as if the first run had used a single one: a perfect run would "
            "then not have efficiency 1 in its first row.",
            "Divide by ranks / ranks[0], how many times more ranks were used.",
        ),
        "assumes_perfect_start": Diagnosis(
            "The speedup was multiplied by the ranks of the first run, as if that run had been perfect. Nobody measured that.",
            "Speedup here means: how many times faster than the first row.",
        ),
        "ideal": Diagnosis(
            "This is the speedup one would wish for, not the one that was measured.", "Speedup comes from the seconds alone."
        ),
        "last_row": Diagnosis(
            "Each row was compared with the last one.", "Compare every row with the first one: seconds[0] / seconds."
        ),
        "saved_seconds": Diagnosis(
            "The seconds were subtracted: that is the time saved.", "How many times faster is a quotient: seconds[0] / seconds."
        ),
        "loss": Diagnosis("1 - efficiency is what was lost.", "Efficiency is what is left: 1 means that nothing was lost."),
        "efficiency_upside_down": Diagnosis(
            "The efficiency is upside down: it grows where ranks are wasted.", "Divide the speedup by ranks / ranks[0]."
        ),
        "efficiency_is_ranks": Diagnosis(
            "The second answer is how many times more ranks were used.", "Efficiency is the speedup divided by that number."
        ),
        "whole_ratio": Diagnosis(
            "`ranks // ranks[0]` throws away everything behind the decimal point: 3 ranks are 1.5 times as many as 2.",
            "Divide with `/`.",
        ),
        "extra_ranks": Diagnosis(
            "The speedup was divided by a difference of ranks. How many *times* more ranks is a quotient.",
            "Divide by ranks / ranks[0].",
        ),
        "whole_numbers": Diagnosis(
            "Only whole numbers came back: `//` throws away everything behind the decimal point, and so does an integer array "
            "that results are written into, as `np.zeros_like(ranks)` makes one.",
            "Divide with `/`, and keep the results in arrays of floats.",
        ),
        "rounded": Diagnosis("The numbers were rounded.", "Return them as they are; round where they are printed."),
        "efficiency_wrong": Diagnosis(
            "The speedup is right, the efficiency is not.",
            "Divide the speedup by ranks / ranks[0], how many times more ranks were used.",
        ),
        "swapped": Diagnosis("The two answers are swapped.", "Return the speedup first, then the efficiency."),
    }

    def cases(self, rng):
        def case(level, ranks, slow_second=False):
            ranks = np.array(ranks)
            seconds = np.round(rng.uniform(10, 90) / ranks * rng.uniform(1.05, 1.3, len(ranks)) ** np.arange(len(ranks)), 3)
            if slow_second:
                seconds[1] = np.round(seconds[0] * rng.uniform(1.1, 1.4), 3)
            says = "ranks " + listed(ranks.tolist()) + (", slower on 2 than on 1" if slow_second else "")
            return Case(level, 1, (ranks, seconds), says=says, known={"ranks": ranks, "seconds": seconds}, rtol=1e-6)

        return [
            case("from one rank", [1, 2, 4, 8]),
            case("from one rank", [1, 3, 5]),
            case("from one rank", [1, 2, 4], slow_second=True),
            case("from more than one rank", [4, 8, 16]),
            case("from more than one rank", [2, 3, 6, 12]),
        ]

    def answer(self, speedup, efficiency):
        return [{"speedup": speedup, "efficiency": efficiency}]

    def expected(self, case):
        ranks, seconds = case.known["ranks"], case.known["seconds"]
        speedup = seconds[0] / seconds
        return self.answer(speedup, speedup * ranks[0] / ranks)

    def misconceptions(self, case):
        ranks, seconds = case.known["ranks"], case.known["seconds"]
        speedup = seconds[0] / seconds
        more_ranks = ranks / ranks[0]
        slowest = seconds.max() / seconds
        by_row = np.append(1.0, seconds[:-1] / seconds[1:])
        values = {
            "upside_down": self.answer(1 / speedup, 1 / speedup / more_ranks),
            "previous_row": self.answer(by_row, by_row / more_ranks),
            "slowest_row": self.answer(slowest, slowest / more_ranks) if seconds.max() > seconds[0] else None,
            "efficiency_is_speedup": self.answer(speedup, speedup),
            "percent": self.answer(speedup, 100 * speedup / more_ranks),
            "efficiency_times_ranks": self.answer(speedup, speedup * more_ranks),
            "first_run_on_one_rank": self.answer(speedup, speedup / ranks) if ranks[0] > 1 else None,
            "assumes_perfect_start": self.answer(speedup * ranks[0], speedup / more_ranks) if ranks[0] > 1 else None,
            "ideal": self.answer(more_ranks, np.ones(len(ranks))),
            "swapped": self.answer(speedup / more_ranks, speedup),
            "last_row": self.answer(speedup / speedup[-1], speedup / speedup[-1] * ranks[-1] / ranks),
            "saved_seconds": self.answer(seconds[0] - seconds, (seconds[0] - seconds) / more_ranks),
            "loss": self.answer(speedup, 1 - speedup / more_ranks),
            "efficiency_upside_down": self.answer(speedup, more_ranks / speedup),
            "efficiency_is_ranks": self.answer(speedup, more_ranks),
            "whole_ratio": self.answer(speedup, speedup / (ranks // ranks[0])) if np.any(ranks % ranks[0]) else None,
            "extra_ranks": self.answer(speedup, speedup / (ranks - ranks[0] + 1)) if ranks[0] > 1 else None,
        }
        return values

    def facts(self, case, run):
        value, right = run.ranks[0].value, self.expected(case)[0]
        if not isinstance(value, dict) or alike(value, right) or value.keys() != right.keys():
            return None
        got = {name: np.asarray(numbers, float) for name, numbers in value.items()}
        if any(got[name].shape != right[name].shape for name in right):
            return None
        if any(np.all(got[name] == np.floor(got[name])) for name in right):
            return "whole_numbers"
        if all(np.allclose(got[name], right[name], rtol=0, atol=0.051) for name in right):
            return "rounded"
        ranks, seconds = case.known["ranks"], case.known["seconds"]
        previous = np.append(1.0, seconds[:-1] / seconds[1:])
        if alike(got["speedup"], previous):
            return Finding("previous_row")
        if alike(got["speedup"], seconds.max() / seconds) and seconds.max() > seconds[0]:
            return Finding("slowest_row")
        if alike(got["speedup"], right["speedup"]):
            return Finding("efficiency_wrong", f"In the last row, {ranks[-1] / ranks[0]:g} times more ranks were used.")
        return None
