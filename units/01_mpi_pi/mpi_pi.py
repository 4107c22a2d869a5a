# %% [markdown]
# # 01 · Pi on four ranks
#
# Throw darts at random at a square, count how many hit the circle inside it, and you
# can estimate pi. No problem in parallel computing is easier to cut into pieces: no
# dart depends on another. Still, there are half a dozen ways to get it wrong without
# noticing. You will meet every one of them again, with images instead of darts.
#
# **At the end of this page** four ranks estimate pi together, without losing a dart or
# throwing one twice. You know how much more precise the estimate is with four times as
# many darts, how much faster four ranks are than one, and why your machine may not make
# them four times as fast.
#
# **You need** [unit 00](../00_start_here/start_here.ipynb): what a rank is, and what
# `%%ranks` does. **It takes** about 80 minutes, the *stretch* 5 more. The cells
# themselves run for half a minute on two cores. They take about 0.9 GB of memory.

# %%
import os
import random
import time

import numpy as np

from autograder import check
from labkit import environment, ranks
from labkit.lessons import mpi_pi
from labkit.plots import timings
from labkit.plots.darts import darts

RANKS = 4  # on a larger machine or in an allocation: as many as you like
SEED = 2026
CORES = environment.cores()

# %% [markdown]
# ## Darts
#
# The square has side 1, the circle in it has radius 1/2. The circle covers pi/4 of the
# square, so about pi/4 of the darts land in it, and
#
# $$\pi \approx 4 \, \frac{\text{darts inside}}{\text{all darts}}$$

# %% alt="A square with a circle in it and 2000 darts, dots inside the circle and crosses outside: they fill the square evenly."
x, y = np.random.default_rng(SEED).uniform(-0.5, 0.5, (2, 2000))
inside = np.hypot(x, y) < 0.5
darts(
    {"inside": (x[inside], y[inside]), "outside": (x[~inside], y[~inside])},
    ("blue .", "orange x"),
    title=f"{inside.sum()} of {inside.size} inside: "
    f"pi is about {4 * inside.mean():.3f}",
);

# %% [markdown]
# ### Guess first
#
# Here are three questions, and you will measure each answer. Write down your guesses
# now. Nobody marks them.

# %%
my_guess_error = "?"  # with 100 times as many darts, the error is ... times smaller
# four ranks with the same seed estimate pi as precisely as ... independent ranks
my_guess_seed = "?"
my_guess_speedup = "?"  # four ranks on this machine are ... times as fast as one

print(f"this machine has {CORES} cores for {RANKS} ranks")

# %% [markdown]
# ## One dart after the other
#
# This is the loop of a well-known tutorial by Huihuo Zheng at the Argonne Leadership
# Computing Facility (ALCF, *ai-science-training-series*, part 6). It throws 5,000,000
# darts one by one, which took 8.029 s on one rank of their machine. We throw fewer.

# %%
def loop_inside(n: int, rng: random.Random) -> int:
    """Throw n darts one by one, and return how many land inside the circle."""
    inside = 0
    for _ in range(n):
        x = rng.uniform(-0.5, 0.5)
        y = rng.uniform(-0.5, 0.5)
        if np.sqrt(x * x + y * y) < 0.5:
            inside += 1
    return inside


start = time.perf_counter()
inside = loop_inside(200_000, random.Random(SEED))
loop_nanoseconds = (time.perf_counter() - start) / 200_000 * 1e9

print(f"pi is about {4 * inside / 200_000:.4f}")
print(f"here        {loop_nanoseconds:5.0f} ns per dart")
print(f"published   {8.029 / 5_000_000 * 1e9:5.0f} ns per dart")

# %% [markdown]
# Before you use four cores, make good use of the first. Almost all of this time is
# overhead per dart: Python looks up names and creates float objects, and `np.sqrt` is
# slow on single numbers. On whole arrays, NumPy does the same arithmetic in C.
#
# ### Count without a loop (2 points)
#
# Count the darts inside, with array operations only. One point is for the right count,
# one for doing it without a loop.

# %% nbgrader={"grade": false, "grade_id": "count_inside", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_inside(x: np.ndarray, y: np.ndarray) -> int:
    """Return how many of the points (x[i], y[i]) lie inside the circle.

    x, y: float64 arrays (n,); points may lie outside the square, and n may be 0
    Returns: int (a float such as 3.0 will do too)

    - counts: the circle around (0, 0) has radius 1/2; no point lies on it. x and y are
      not changed.
    - no Python loop: no Python code runs once per point; no loop, `map`, `np.vectorize`
      or the like.

    Example: count_inside(np.array([0.0, 0.4]), np.array([0.1, 0.4])) == 1
    """
    ### BEGIN SOLUTION
    return np.count_nonzero(x * x + y * y < 0.25)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_count_inside", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(count_inside)

# %% tags=["raises-exception"]
rng = np.random.default_rng(SEED)
start = time.perf_counter()
count_inside(*rng.uniform(-0.5, 0.5, (2, 1_000_000)))
nanoseconds = (time.perf_counter() - start) / 1_000_000 * 1e9

print(f"loop   {loop_nanoseconds:5.0f} ns per dart")
print(
    f"yours  {nanoseconds:5.0f} ns per dart: {loop_nanoseconds / nanoseconds:.0f} "
    "times faster, on a single rank"
)

# %% [markdown]
# That is more than any four ranks will give you. Remember it when somebody shows you an
# impressive speedup: *compared with what?*
#
# ## Fair shares
#
# Ten darts, four ranks. `10 // 4` is 2, and if every rank throws two, two darts are
# never thrown. Nothing crashes, and with many darts the estimate still looks right. If
# the last rank takes the remainder too, it throws four, and all others wait for it. If
# you round up to three, only one dart is left for the last rank.
#
# Shares are fair if they differ by at most one.
#
# ![Ten darts, numbered 0 to 9, shared by four ranks in four ways. 10 // 4 each: 2, 2, 2 and 2; nobody throws darts 8 and 9. The last one takes the rest: 2, 2, 2 and 4; all wait for four throws. Rounded up: 3, 3, 3 and 1; shares differ by 2. Fair: 3, 3, 2 and 2; shares differ by 1.](../../images/fair_shares.svg)
#
# ### Fair shares (2 points)
#
# Number the darts 0 to n - 1 and cut them into blocks, one for each rank. As everywhere
# in Python, `start` belongs to the block and `stop` does not. Which ranks get the extra
# darts is up to you. With fewer darts than ranks, some blocks are empty.

# %% nbgrader={"grade": false, "grade_id": "fair_share", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fair_share(n: int, rank: int, world_size: int) -> tuple[int, int]:
    """Return the block of n items that belongs to one rank.

    n: int, number of items, at most 10**9; may be 0, or smaller than world_size
    rank: int, this rank
    world_size: int, number of ranks
    Returns: (start, stop), ints, start <= stop

    - equal shares: n is a multiple of world_size; the blocks of all ranks hold each of
      the items 0 to n - 1 exactly once, and all have the same size.
    - unequal shares: for any other n each item still belongs to exactly one block, and
      the sizes differ by at most one.

    Example: n = 10 on 4 ranks: blocks of 3, 3, 2 and 2 in any order.
    """
    ### BEGIN SOLUTION
    size, rest = divmod(n, world_size)
    start = rank * size + min(rank, rest)  # the first `rest` ranks take one more
    return start, start + size + (rank < rest)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_fair_share", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(fair_share)

# %% tags=["raises-exception"]
for n in (8, 10, 3):
    print(
        f"n = {n:2d}:",
        "  ".join(f"rank {r} has {fair_share(n, r, RANKS)}" for r in range(RANKS)),
    )

# %% [markdown]
# ## The same seed on every rank
#
# A good experiment can be repeated, so you fix the seed. All ranks run the same
# program. What happens if each rank simply calls `default_rng(SEED)`?

# %%
ranks.start(RANKS)

# %%
# %%ranks
rng = np.random.default_rng(SEED)
x, y = rng.uniform(-0.5, 0.5, (2, 150))
print(
    f"{np.count_nonzero(x * x + y * y < 0.25)} of 150 inside, the first dart at "
    f"({x[0]:+.4f}, {y[0]:+.4f})"
)

# %% [markdown]
# Four ranks, one set of darts. In the picture, each rank's darts are rings of a
# different size. Is there any dart with fewer than four rings?

# %% alt="The upper right quarter of the circle with the darts of four ranks as rings of four sizes: every dart has four rings around it."
thrown = {
    f"rank {r}": (x, y)
    for r, (x, y) in enumerate(zip(ranks.pull("x"), ranks.pull("y")))
}
looks = ("blue o", "orange o", "green o", "red o")
title = "the upper right quarter"
darts(thrown, looks, quarter=True, sizes=(2, 5, 8, 11), title=title);

# %% [markdown]
# Does it matter? Nothing fails, and the estimate is not even biased. The harm shows
# only if you repeat the experiment. We do it 400 times, with 1000 darts on every rank,
# and look at how far the estimates scatter, that is, at their standard deviation. Four
# independent ranks throw four times as many darts, so their estimate should scatter
# half as much as that of one rank.

# %%
EXPERIMENTS, SHARE = 400, 1000

# %%
# %%ranks
def estimates(make_rng):
    """Two arrays, with an estimate of pi for every experiment: from this rank's darts
    alone, and from those of all ranks.
    """
    counts = np.empty(EXPERIMENTS, dtype=np.int64)
    for experiment in range(EXPERIMENTS):
        x, y = make_rng(experiment).uniform(-0.5, 0.5, (2, SHARE))
        counts[experiment] = np.count_nonzero(x * x + y * y < 0.25)
    return 4 * counts / SHARE, 4 * comm.allreduce(counts) / (SHARE * world_size)


# the same seed on every rank
alone, together = estimates(lambda experiment: np.random.default_rng(experiment))
if rank == 0:
    print(f"rank 0 alone                scatter {alone.std():.4f}")
    print(f"{world_size} ranks with the same seed  scatter {together.std():.4f}")

# %% [markdown]
# Four times the work, and the estimate is no more precise. This is the nastiest kind of
# parallel bug: the program is fast and stable, its answer is plausible, and three of
# its four ranks are useless. In training, the same bug makes every rank load the same
# images, or draw the same augmentation.
#
# ![Two experiments, seed 7 and seed 8, on four ranks, each rank with a little square of darts. Left, the seed alone decides: in each experiment all four squares are the same, one set of darts. Right, seed and rank decide: all eight squares differ, four sets in each experiment.](../../images/seeds_and_streams.svg)
#
# ### A stream for every rank (2 points)
#
# Give every rank its own generator. The sequence of numbers that a generator draws is
# its *stream*. `seed` identifies the experiment: the same seed must repeat the run, and
# another seed must give an independent run. So the stream has to depend on `seed` *and*
# on `rank`.
#
# `seed + rank` is the obvious idea, and it earns you one of the two points. Why not
# both? NumPy's page on
# [parallel random number generation](https://numpy.org/doc/1.26/reference/random/parallel.html)
# shows several right ways.

# %% nbgrader={"grade": false, "grade_id": "rank_rng", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rank_rng(seed: int, rank: int, world_size: int) -> np.random.Generator:
    """Return a new random generator for this rank in the experiment `seed`.

    seed: int from 0 to 2**32 - 1
    rank: int, this rank
    world_size: int, number of ranks, up to 10,000
    Returns: np.random.Generator

    - one stream per rank: the same arguments always give the same stream, in every
      process; different ranks get different streams. NumPy's and Python's global
      generators are neither seeded nor used.
    - one stream per experiment: with the same world_size, each pair (seed, rank) has
      its own stream, and no stream begins within 2**40 draws of another.

    Example: rank 1 of seed 0 and rank 0 of seed 1 draw different numbers.
    """
    ### BEGIN SOLUTION
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(world_size)[rank])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_rank_rng", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(rank_rng)

# %% [markdown]
# Now run the same 400 experiments with your generators:

# %% tags=["raises-exception"]
# %%ranks
alone, together = estimates(lambda experiment: rank_rng(experiment, rank, world_size))
if rank == 0:
    print(f"rank 0 alone                scatter {alone.std():.4f}")
    print(
        f"{world_size} ranks, own streams      scatter {together.std():.4f}, "
        f"{alone.std() / together.std():.2f} times smaller"
    )

# %% [markdown]
# ## Adding up
#
# Every rank has counted, and now every rank needs the sum. mpi4py offers two ways:
#
# | | you write | what travels |
# |---|---|---|
# | lower case | `total = comm.allreduce(value)` | almost any Python object, pickled; Python does the adding |
# | upper case | `comm.Allreduce(array, total)` | the memory of an array; MPI does the adding |
#
# The first is convenient: Python packs the object into bytes, a *pickle*. The second
# works on **buffers**, the memory of arrays. You make an array for the result, of the
# same size and type, *before* the call. In return nothing is packed or unpacked, and
# the call makes no new array.
#
# ![Two ways to sum an array over ranks. comm.allreduce(value): the array is packed into a pickle, sent as a message of bytes, unpacked into a new array and added by Python; three of the five boxes are new Python objects. comm.Allreduce(array, total): the memory of the array is sent as it is, and MPI adds it into total, which you have made.](../../images/pickle_or_buffer.svg)
#
# ### Add up without pickles (2 points)
#
# Use *collectives* on buffers (upper case): calls that all ranks of a *communicator*, a
# group of ranks such as `comm`, make together. No pickles, and no sends and receives.

# %% nbgrader={"grade": false, "grade_id": "sum_counts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sum_counts(comm, counts: np.ndarray) -> np.ndarray:
    """Sum an array over all ranks, on every rank, without pickles.

    comm: MPI communicator
    counts: C-contiguous array of any shape, of integers (signed or not) or floats of 4
        or 8 bytes whose sums do not overflow; shape and type are the same on all ranks
    Returns: a new array of that shape and type, even on a single rank; for the shape ()
        a NumPy scalar will do

    - sum on every rank: the sum over all ranks of `comm`, element by element; counts is
      not changed.
    - buffers: use collectives on buffers only.

    Example: [1, 2] on rank 0 and [3, 4] on rank 1: both get [4, 6].
    """
    ### BEGIN SOLUTION
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_sum_counts", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(sum_counts)

# %% [markdown]
# What does a pickle cost? The next cells compare your function with the lower-case one,
# for arrays of 8 bytes to 8 MB. The times are medians. Guess the ratio at the two ends
# before you look. (`mpi_pi.median_seconds` repeats a call, and starts all ranks
# together each time. You need not read it; it is in `labkit/lessons/mpi_pi.py`.)

# %%
SIZES = [8 * 10**k for k in range(7)]  # bytes

# %% tags=["raises-exception"]
# %%ranks
def both_ways(nbytes):
    """Median seconds to sum an array of this size, pickled and on buffers."""
    counts = np.ones(nbytes // 8, dtype=np.int64)
    repeats = 7 if nbytes > 1_000_000 else 30
    pickled = mpi_pi.median_seconds(comm, lambda: comm.allreduce(counts), repeats)
    buffers = mpi_pi.median_seconds(comm, lambda: sum_counts(comm, counts), repeats)
    return pickled, buffers


all_reduce_seconds = [both_ways(nbytes) for nbytes in SIZES]

# %% tags=["raises-exception"] alt="Time of a sum over all ranks against the size of the array, both axes logarithmic: the pickled curve lies above the one for buffers."
# the time of the slowest rank
pickled, buffered = np.array(ranks.pull("all_reduce_seconds")).max(axis=0).T

title = f"sum over {RANKS} ranks on {CORES} cores"
timings.sums(SIZES, pickled, buffered, title=title)
print(
    f"pickled / buffered: {pickled[0] / buffered[0]:.1f} for 8 bytes, "
    f"{pickled[-1] / buffered[-1]:.1f} for 8 MB"
)

# %% [markdown]
# The gradients of a network are millions of numbers, summed over all ranks in every
# training step. They always travel as buffers.
#
# ## All together
#
# ### Pi on all ranks (3 points)
#
# You have everything you need: shares, counting, adding up. `draw` is this rank's
# supply of darts: `x, y = draw(k)` gives you `k` new ones. Together the ranks throw
# exactly `n` darts in fair shares (sizes differ by at most one), and every rank returns
# the same estimate.
#
# An example with ten darts, eight of them inside:
#
# ![Four ranks have thrown 3, 3, 2 and 2 darts, of which 3, 2, 1 and 2 are inside. Each gives its count, one number, to an all-reduce; every rank gets the sum 8, and the estimate 4 times 8 / 10 = 3.2.](../../images/counts_added_up.svg)
#
# Be careful what you average. An average of averages is right only if all ranks have
# thrown the same number of darts, and a rank with an empty share has no average at all.

# %% nbgrader={"grade": false, "grade_id": "estimate_pi", "locked": false, "schema_version": 3, "solution": true, "task": false}
def estimate_pi(comm, n: int, draw) -> float:
    """Estimate pi from n points that all ranks throw together in fair shares.

    comm: MPI communicator; it may hold only some of the ranks
    n: int, at least 1, number of points of all ranks together
    draw: function, draw(k) gives this rank's next k random points as two arrays x, y of
        shape (k,), each in [-1/2, 1/2]; call it as often as you like, even with k = 0
    Returns: float, 4 * (points inside) / n over all ranks, the same on every rank

    - equal shares: n is a multiple of comm.size; together the ranks of comm throw
      exactly n points.
    - unequal shares: the shares differ by at most one.
    - fewer samples than ranks: some shares are empty.

    Example: n = 10, 8 of all points inside: every rank returns 3.2.
    """
    ### BEGIN SOLUTION
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    inside = sum_counts(comm, np.array([count_inside(x, y)]))
    return 4 * inside[0] / n
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_estimate_pi", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(estimate_pi)

# %% [markdown]
# Ten million darts on four ranks:

# %% tags=["raises-exception"] alt="Space-time diagram: four ranks compute for themselves and meet at the end in one all-reduce."
# %%ranks --timeline
rng = rank_rng(SEED, rank, world_size)
pi = estimate_pi(comm, 10_000_000, lambda k: rng.uniform(-0.5, 0.5, (2, k)))
print(f"pi is about {pi:.5f}")

# %% [markdown]
# In the picture, look for the only moment at which the ranks communicate. Each of them
# contributes one number. A rank that arrives early has to wait.
#
# ## How good is it?
#
# A dart counts as 4 if it is inside, which happens with probability pi/4, and as 0 if
# it is not. Its mean is pi, and its standard deviation is
#
# $$\sigma = 4\sqrt{\tfrac{\pi}{4}\left(1-\tfrac{\pi}{4}\right)} = \sqrt{\pi(4-\pi)} \approx 1.64$$
#
# and the standard deviation of the mean of n independent darts, called the **standard
# error**, is $\sigma / \sqrt{n}$. Does your program agree with this formula? Run twenty
# experiments for each n, from a hundred darts to a million:

# %%
DARTS = [int(10 ** (k / 2)) for k in range(4, 13)]

# %% tags=["raises-exception"]
# %%ranks
def error_of(n, experiment):
    rng = rank_rng(experiment, rank, world_size)
    return abs(estimate_pi(comm, n, lambda k: rng.uniform(-0.5, 0.5, (2, k))) - np.pi)


errors = [[error_of(n, experiment) for experiment in range(20)] for n in DARTS]

# %% tags=["raises-exception"] alt="Error of the estimate against the number of darts, both axes logarithmic: clouds of single experiments and their root mean square, which falls along the straight line of 1.64 divided by the square root of n."
# shape (sizes, experiments); the same on every rank
errors = np.array(ranks.pull("errors")[0])
root_mean_square = np.sqrt((errors**2).mean(axis=1))
slope = np.polyfit(np.log(DARTS), np.log(root_mean_square), 1)[0]

title = f"measured slope {slope:.2f}, theory -0.5"
timings.errors(DARTS, errors, root_mean_square, title=title)

first, second = root_mean_square[[0, 4]] / root_mean_square[[4, 8]]
print(
    f"with 100 times as many darts the error was {first:.1f} times smaller, and with "
    f"100 times as many again, {second:.1f} times smaller still"
)
print(f"you guessed {my_guess_error} times")

# %% [markdown]
# ### How many darts for how many digits? (1 point)
#
# Solve the formula for n. The answer is sobering: it is why nobody computes pi this
# way. The same law holds in training: the gradient of a batch is an average over its
# images, and a batch four times as large only halves its noise. Unit 11 comes back to
# this.

# %% nbgrader={"grade": false, "grade_id": "samples_needed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def samples_needed(error: float) -> int:
    """Return how many points make the estimate of pi precise enough.

    error: float, at least 1e-15, the standard error wanted
    Returns: int, at least 1

    - n for an error: the smallest n with a standard error of at most `error`. An n that
      is off by 0.5 % is accepted, but do not round down.

    Example: samples_needed(0.1) == 270
    """
    ### BEGIN SOLUTION
    return int(np.ceil(np.pi * (4 - np.pi) / error**2))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_samples_needed", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check(samples_needed)

# %% tags=["raises-exception"]
for digits in (2, 4, 6, 8):
    n = samples_needed(10.0**-digits)
    seconds = n * loop_nanoseconds * 1e-9
    print(
        f"{digits} digits: {n:24,} darts, with the loop above {seconds:16,.1f} s = "
        f"{seconds / 31_557_600:7.1f} years"
    )

# %% [markdown]
# ## How fast is it?
#
# **Strong scaling** means the same work on more and more ranks. ALCF published these
# times for 5,000,000 darts, thrown one by one:
#
# | ranks | 1 | 2 | 4 | 8 |
# |---|---|---|---|---|
# | seconds | 8.029 | 4.213 | 2.094 | 1.061 |
#
# Source: [ALCF
# ai-science-training-series](https://github.com/argonne-lcf/ai-science-training-series),
# 06_distributedTraining, on ThetaGPU. You will repeat these runs with fewer darts. But
# first: how do you *time* a parallel program? It is done when its slowest rank is done.
# So all ranks start together, and the clock stops when the last one has finished: the
# two barriers in `seconds_on` see to that. (`comm.Split` makes `group`, a communicator
# of the first p ranks only. The others sleep: at an ordinary barrier they would keep
# checking whether the rest have arrived, and so keep a core busy that others need.)
# Close other programs, since they take time on the same cores. The best of three runs
# is the one that was disturbed least.

# %% tags=["parameters"]
WORK = 400_000  # darts

# %%
# %%ranks
def seconds_on(p, work):
    """Seconds that work(group) takes on the first p ranks, until the slowest is done.
    The other ranks sleep, and get 0.
    """
    group = comm.Split(color=int(rank < p), key=rank)
    seconds = 0.0
    if rank < p:
        group.Barrier()
        start = time.perf_counter()
        work(group)
        group.Barrier()
        seconds = time.perf_counter() - start
    group.Free()
    mpi_pi.sleep_until_all_are_here(comm)
    return seconds

# %%
# %%ranks
def loop_pi(group):
    mine = len(range(group.rank, WORK, group.size))
    inside = loop_inside(mine, random.Random(1000 * SEED + rank))
    return 4 * group.allreduce(inside) / WORK


p_measured = [p for p in (1, 2, 4, 8, 16) if p <= world_size]
measured = [min(seconds_on(p, loop_pi) for _ in range(3)) for p in p_measured]
if rank == 0:
    for p, seconds in zip(p_measured, measured):
        print(f"{p} rank{'s' if p > 1 else ' '}  {seconds:.3f} s")

# %% [markdown]
# Did four ranks disappoint you? A rank is a process, and a process needs a core to run
# on. Two cores do two things at a time, however many ranks there are: four ranks take
# turns, and that makes nobody faster. So the best time you can hope for on p ranks is
#
# $$T_p = \frac{T_1}{\min(p, \text{cores})}$$
#
# On a machine with four idle cores the same cell comes close to the published curve.
# (The cores of a laptop or a cloud machine are often *hardware threads*, two of which
# share one real core. Then even two ranks may not reach twice the speed.)
#
# ![The same work on two cores as timelines. One rank: core 0 works for the time T, core 1 does nothing. Two ranks: one on each core, T / 2. Four ranks: ranks 0 and 2 take turns on core 0, ranks 1 and 3 on core 1; T / 2 again.](../../images/ranks_on_cores.svg)
#
# ### Speedup and efficiency (2 points)
#
# Two numbers sum up such a table. **Speedup**: a run with speedup 3 is three times as
# fast as the first run. **Efficiency**: the speedup divided by the factor by which the
# number of ranks has grown. With four times the ranks, a speedup of 3 is an efficiency
# of 0.75; 1 means that nothing was lost. Often a job does not fit on one rank, so the
# first run may use more than one.

# %% nbgrader={"grade": false, "grade_id": "speedup_and_efficiency", "locked": false, "schema_version": 3, "solution": true, "task": false}
def speedup_and_efficiency(
    ranks: np.ndarray, seconds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the speedup and efficiency of each run, compared with the first one.

    ranks: array (m,), m >= 1, number of ranks of each run, at least 1, increasing
    seconds: array (m,), time of each run in s, floats or ints
    Returns: (speedup, efficiency), arrays (m,) that both begin with 1.0

    - a baseline on one rank: the first run uses one rank.
    - a baseline on several ranks: the first run uses more than one.

    Example: ranks [2, 4] and seconds [8, 5]: speedup [1, 1.6], efficiency [1, 0.8].
    """
    ### BEGIN SOLUTION
    speedup = seconds[0] / seconds
    efficiency = speedup / (ranks / ranks[0])
    return speedup, efficiency
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_speedup_and_efficiency", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(speedup_and_efficiency)

# %% tags=["raises-exception"]
p_here, t_here = (np.array(ranks.pull(name)[0]) for name in ("p_measured", "measured"))
p_alcf, t_alcf = np.array([1, 2, 4, 8]), np.array([8.029, 4.213, 2.094, 1.061])

# %% tags=["raises-exception"] alt="Two charts against the number of ranks, speedup and efficiency: published points near the dotted line of a perfect speedup up to 8 ranks, and those measured here, which stay below the line of what the cores of this machine can do."
published = p_alcf, *speedup_and_efficiency(p_alcf, t_alcf)
speedup, efficiency = speedup_and_efficiency(p_here, t_here)
timings.scaling(published, (p_here, speedup, efficiency), CORES, xticks=p_alcf)
print(
    f"{p_here[-1]} ranks are {speedup[-1]:.2f} times as fast as one; you guessed "
    f"{my_guess_speedup}"
)

# %% [markdown]
# ## Ranks, threads and cores
#
# Ranks are not the only way to keep cores busy. One process can have several
# **threads**, which share its memory. On a cluster you choose how many of each: on a
# node with 48 cores, for example, 2 ranks of 24 threads each, or 48 ranks of one.
# NumPy releases Python's global interpreter lock (GIL) while it works on a large array,
# so even Python threads can throw darts at the same time. Each needs its own stream, of
# course.

# %%
# %%ranks
from concurrent.futures import ThreadPoolExecutor

BLOCK = 100_000  # darts at a time: they stay in the cache


def throw(blocks, stream):
    rng = np.random.default_rng(stream)
    inside = 0
    for _ in range(blocks):
        x, y = rng.random((2, BLOCK)) - 0.5
        inside += np.count_nonzero(x * x + y * y < 0.25)
    return inside


def threaded_pi(threads, blocks=240):
    """Work for `seconds_on`: blocks, divided among the ranks and then their threads."""

    def work(group):
        each = blocks // (group.size * threads)
        streams = np.random.SeedSequence([SEED, rank]).spawn(threads)
        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(throw, [each] * threads, streams))

    return work

# %%
# %%ranks
# a warm-up run: the first one is always slower
seconds_on(world_size, threaded_pi(1, blocks=world_size))
shapes = [
    (p, threads)
    for p, threads in ((1, 1), (1, 2), (2, 1), (1, 4), (2, 2), (4, 1), (4, 2))
    if p <= world_size
]
took = [
    min(seconds_on(p, threaded_pi(threads)) for _ in range(3)) for p, threads in shapes
]

# %% alt="Bars: seconds for 24 million darts with several numbers of ranks and threads. Only their product matters, up to the number of cores."
shapes, took = ranks.pull("shapes")[0], ranks.pull("took")[0]
seconds = {tuple(shape): one for shape, one in zip(shapes, took)}
title = f"24 million darts on {CORES} cores (orange: more threads than cores)"
timings.shapes(seconds, CORES, title=title);

# %% [markdown]
# In *this* program only the product of ranks and threads counts, up to the number of
# cores. In general, threads share memory, so one copy of the model serves them all, and
# they need no messages. Ranks can run on different machines.
#
# ### Who sits where
#
# The operating system decides which process runs on which core, and moves processes as
# it likes. **Binding** takes that choice away from it. Good binding keeps a rank near
# its memory and its caches. Bad binding is a disaster, and it happens easily: one wrong
# line in a job script puts every rank on core 0. Try it with two ranks:

# %%
# %%ranks
def bound(cores, work):
    """`work`, with this process bound to some cores."""

    def tied(group):
        free = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)
        try:
            return work(group)
        finally:
            os.sched_setaffinity(0, free)

    return tied

# %%
# %%ranks
if not hasattr(os, "sched_getaffinity"):
    print("this operating system does not let a process choose its cores")
else:
    mine = sorted(os.sched_getaffinity(0))
    work = threaded_pi(1)
    bindings = {
        "not bound": work,
        "a core each": bound({mine[rank % len(mine)]}, work),
        "all on one core": bound({mine[0]}, work),
    }
    for name, tied in bindings.items():
        seconds = min(seconds_on(2, tied) for _ in range(3))
        if rank == 0:
            print(f"2 ranks, {name:16s} {seconds:.3f} s")

# %% [markdown]
# Two ranks on one core are no faster than one, although you pay for two cores. When a
# job on a cluster is slower than it should be, check the binding first:
# `mpiexec --report-bindings ...` (Open MPI), or `srun --cpu-bind=verbose ...`.
#
# ## What to remember
#
# - **Use the first core well.** Whole arrays instead of a Python loop gain more than
#   four ranks do.
# - **Fair shares** differ by at most one. Samples that are lost or counted twice do not
#   crash the program; they only make the answer worse.
# - **A stream for every rank**, determined by seed *and* rank. With the same seed on
#   all, p ranks are no more precise than one.
# - **Add up counts, not averages**, and divide once. All ranks need the result: use an
#   all-reduce.
# - **Upper case for arrays**, lower case for small Python objects.
# - The error falls as $1/\sqrt{n}$. The time falls as 1/p, until you run out of cores.
# - Measure until the **slowest** rank is done, and say what you compare with.
#
# **To think about.** Four ranks train copies of one network, and each has a random
# generator. They use it for four things: the initial weights, the order of the images
# in an epoch (before the ranks take their shares), the augmentation of an image, and
# dropout. Which of these must be the *same* on all ranks, which must *differ*, and what
# would each mistake look like? Units 04 to 06 give the answers.
#
# Next: [unit 02](../02_point_to_point/point_to_point.ipynb), where ranks send each
# other messages by hand.

# %%
ranks.stop()

# %% [markdown]
# ## Deeper: what the published times tell
#
# **A serial part?** Amdahl's law says that if a fraction f of the work cannot be
# divided, the speedup is $S = 1 / (f + (1 - f) / p)$, and never more than 1/f. Solved
# for f, the law gives an f for every measured speedup (Karp and Flatt, 1990):
#
# $$f = \frac{1/S - 1/p}{1 - 1/p}$$

# %%
for p, seconds in ((2, 4.213), (4, 2.094), (8, 1.061)):
    speedup = 8.029 / seconds
    serial = (1 / speedup - 1 / p) / (1 - 1 / p)
    print(
        f"{p} ranks: speedup {speedup:.3f}, efficiency {speedup / p:.3f}, f = "
        f"{serial:.4f}"
    )

# %% [markdown]
# A true serial part would give the same f in every row. Here f falls, so a serial part
# is not what costs these runs their few percent. Look at how long a rank takes per
# dart: from one rank to two this rises by a twentieth, and then it hardly changes. A
# single busy core may run at a higher clock rate than two, or two ranks may share some
# part of the machine. Amdahl's law is a model: test it before you believe it.
#
# ## Deeper: reading the published program
#
# The program behind that table is about twenty lines long. Now you can review it.
#
# - It divides the darts with `range(comm.rank, N, comm.size)`: of four ranks, rank 0
#   takes 0, 4, 8, ... That is fair as well. The blocks of your `fair_share` would be no
#   better here. They are better for the rows of a file: a block is read in one piece.
# - It never seeds `random`, so every process gets a random seed from the operating
#   system. The streams differ, and no run can be repeated.
# - It uses `Allreduce` on buffers of 8 bytes. Pickles would make no difference in a run
#   of eight seconds.
# - Only rank 0 prints its time. The all-reduce before the clock is read makes sure that
#   the others are done too. One line earlier, it would time only rank 0's own darts.
#
# ## Deeper: why not seed + rank
#
# In a single run `seed + rank` is fine: NumPy scrambles seeds so well that 7 and 8 give
# streams as different as any two. The harm comes with the second run. You repeat the
# run of seed 7 with seed 8 to see how far the results scatter. The first run used the
# seeds 7, 8, 9 and 10, the second uses 8, 9, 10 and 11: three of its four streams are
# old. The runs are not independent, and they scatter too little.
# `SeedSequence(seed).spawn(p)` and `default_rng([rank, seed])` mix the two numbers
# instead of adding them.
