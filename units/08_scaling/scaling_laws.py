# %% [markdown]
# # 08 · Scaling
#
# You can train on many ranks now, by hand, with DDP and with Horovod. Was it worth it?
# "Eight GPUs, 7.5 times as fast" is easily said. Compared with what? Measured how
# many times? On which problem? And would 512 GPUs be 480 times as fast?
#
# **At the end of this page** you can measure a speedup that others can trust, you can
# tell strong from weak scaling, and you have recomputed four published claims. In the
# *stretch* you also predict the time of a training step on 4096 ranks.
#
# **You need** units 01 (speedup), 03 (the cost of an all-reduce) and 06 (DDP).
# **It takes** about 90 minutes, the *stretch* 15 more. The cells themselves run for
# about a minute on two cores. They take about 1.5 GB of memory.

# %% tags=["parameters"]
import math
import os

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.distributed as dist

from autograder import check
from labkit import plots, ranks, scaling
from labkit.lessons import scaling_laws
from labkit.plots import charts, costs
from labkit.scaling import Estimate

RANKS = 4
DEVICE = "cpu"  # where the real ranks train
# images per step: on all ranks together (strong scaling), on each rank (weak)
GLOBAL_BATCH = LOCAL_BATCH = 1024
STEPS, WARMUP = 50, 5

# %%
ranks.start(RANKS, torch=True)
print(f"{len(os.sched_getaffinity(0))} cores for {RANKS} ranks")

# %% [markdown]
# ## Guess first
#
# 1. You train a small network on 1, 2 and 4 ranks of *this* machine and draw the
#    speedup. The line above says how many cores there are. What will the curve do up to
#    that number, and what beyond it? Is it the same if each rank has a batch of its own
#    instead of a share of one batch?
# 2. One per cent of a program cannot be divided among ranks. How many times faster do
#    1000 ranks make it?
# 3. 4096 GPUs add up 100 MB of gradients over a good network, with a ring. How long
#    does it take: 6 ms, 60 ms, 600 ms?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Throughput of one run
#
# The program to measure: the course's MLP, trained with DDP on random images. On one
# rank it is the plain model, without DDP: **the baseline is the best program for one
# rank**, not the parallel one run on a single rank. `train_steps` returns the time of
# every step; `now` reads the clock; on a GPU it first waits until all work is done.
#
# (You need not read `now`, nor the functions that begin with `scaling_laws.`: they read
# clocks, send traffic for a simulation and arrange runs for a figure.
# `help(scaling_laws)` shows them.)

# %%
# %%ranks
import time

from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from labkit.lessons.scaling_laws import all_reduce_seconds, now
from labkit.models import mlp

# the first p ranks
circles = {p: dist.new_group(list(range(p))) for p in (1, 2, world_size)}
seconds = {}  # (experiment, ranks) -> the time of each step


# %%
# %%ranks
def train_steps(local_batch, p, communicate=True):
    """Seconds of each of STEPS training steps on the first p ranks. communicate=False:
    each rank trains on its own.
    """
    torch.manual_seed(rank)
    model = mlp().to(DEVICE)
    if communicate and p > 1:
        model = DistributedDataParallel(model, process_group=circles[p])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.rand(local_batch, 1, 28, 28, device=DEVICE)
    y = torch.randint(10, (local_batch,), device=DEVICE)
    times = []
    dist.barrier(group=circles[p])
    for _ in range(STEPS):
        start = now(DEVICE)
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append(now(DEVICE) - start)
    return times

# %% [markdown]
# First on rank 0 alone, 1024 images in a step. The other ranks do not run this cell, so
# they take no processor time away.

# %%
# %%ranks 0
seconds["sequential", 1] = train_steps(GLOBAL_BATCH, 1)

# %% alt="Points: the time of each training step of one rank. The first step takes longer than the others, which scatter around one value."
step_times = np.array(ranks.pull("seconds")[0]["sequential", 1])
costs.step_times(step_times, title=f"one rank, {GLOBAL_BATCH} images per step");

# %% [markdown]
# Two things disturb the measurement. The **first steps** are slow: memory is allocated,
# code is loaded, and on a GPU kernels are chosen. They say nothing about the next ten
# thousand steps, so they are left out. And the other steps **scatter**: something else
# ran, or the processor changed its speed.
#
# The throughput of a run is all its images divided by all its seconds. *Not* the mean
# of each step's images per second: 100 images at 100 per second and 100 more at 50 per
# second take 3 seconds, which is 67 per second. The mean of the rates says 75.
#
# How certain is it? The step times $t_1 \dots t_n$ have a mean $\bar t$ and a standard
# deviation $s$ (with $n - 1$). A single step scatters by $s$; the *mean* of $n$
# scatters by the **standard error** $s / \sqrt n$. A rate is images over mean time, so
# its relative error is the same:
#
# $$r = \frac{\text{images of a step}}{\bar t} \qquad \Delta r = r \; \frac{s / \sqrt n}{\bar t}$$
#
# ### Throughput and its error (2 points)

# %% nbgrader={"grade": false, "grade_id": "throughput_with_error", "locked": false, "schema_version": 3, "solution": true, "task": false}
def throughput_with_error(
    local_batch_sizes, step_seconds, warmup
) -> tuple[float, float]:
    """Return the throughput of a data-parallel run and its standard error.

    local_batch_sizes: list of int, images of one step on each rank
    step_seconds: array (steps,) of floats or ints, the time of each step in s; the
        ranks work at the same time and wait for each other
    warmup: int, steps at the beginning that do not count; at least two steps are left
    Returns: (rate, error), floats, in images per second of all ranks together

    - images per second: all counted images divided by all counted seconds.
    - its standard error: rate * (s / sqrt(n)) / mean, with s the standard deviation of
      the n counted step times (n - 1 in its denominator), which may be nearly equal. No
      factor for a confidence interval.

    Example: throughput_with_error([8, 8], np.array([9.0, 2.0, 2.0]), 1) == (8.0, 0.0)
    """
    ### BEGIN SOLUTION
    counted = np.asarray(step_seconds)[warmup:]
    rate = sum(local_batch_sizes) / counted.mean()
    standard_error = counted.std(ddof=1) / math.sqrt(len(counted))
    return rate, rate * standard_error / counted.mean()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_throughput_with_error", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(throughput_with_error)

# %% tags=["raises-exception"]
for warmup in (0, WARMUP):
    rate, error = throughput_with_error([GLOBAL_BATCH], step_times, warmup)
    print(f"{warmup} warm-up steps left out: {rate:7.0f} ± {error:.0f} images/s")
print(f"mean of the rates:         {np.mean(GLOBAL_BATCH / step_times[WARMUP:]):7.0f}")

# %% [markdown]
# The ± is one standard error. If you measured again and again, about two results of
# three would be that close to the true mean, *as long as the steps are disturbed
# independently of each other*. They are not quite: whatever disturbs this machine lasts
# longer than a step. So the real error is larger than the one from a single run; repeat
# whole runs if it matters.

# %% [markdown]
# ## Strong and weak scaling
#
# More ranks can serve two purposes.
#
# | | **strong scaling** | **weak scaling** |
# |---|---|---|
# | stays the same | the **global** batch | the **local** batch of each rank |
# | grows with p | nothing; each rank gets less | the global batch |
# | a perfect run | takes 1/p of the time | takes the same time, for p times the images |
# | question | the same training, sooner? | more images in the same time? |
#
# ![A perfect run on 1, 2 and 4 ranks in two kinds of scaling; one box is one image, one line of boxes is one rank, time runs to the right. Left, strong scaling: 8 images in one line of 8, two lines of 4, four lines of 2; the time shrinks to a half and a quarter. Right, weak scaling: 4 images in one line, 8 in two lines of 4, 16 in four lines of 4; the time stays the same.](../../images/strong_weak_scaling.svg)
#
# The drawing shows a perfect run of each kind: one box is one image, one line is one
# rank.
#
# **Predict:** which of the two will look better here, and why? Each rank computes on
# fewer and fewer images in one of them; the gradients to be summed are as large as ever
# in both.
#
# Now run three experiments, each on 1, 2 and 4 ranks. The third is weak scaling
# without communication: ranks that train independently, side by side. With the same
# work on each rank, no parallel program on this machine can be faster. So it is the
# **bound** for the second.

# %%
# %%ranks 0,1
seconds["fixed global batch", 2] = train_steps(GLOBAL_BATCH // 2, 2)
seconds["fixed local batch", 2] = train_steps(LOCAL_BATCH, 2)
seconds["no communication", 2] = train_steps(LOCAL_BATCH, 2, communicate=False)

# %%
# %%ranks
p = world_size
seconds["fixed global batch", p] = train_steps(GLOBAL_BATCH // p, p)
seconds["fixed local batch", p] = train_steps(LOCAL_BATCH, p)
seconds["no communication", p] = train_steps(LOCAL_BATCH, p, communicate=False)

# %% [markdown]
# Now the baseline once more. A machine's speed can change within a minute; a baseline
# measured before *and* after the others shows that.

# %%
# %%ranks 0
again = train_steps(GLOBAL_BATCH, 1)
seconds["sequential", 1] = seconds["sequential", 1][WARMUP:] + again[WARMUP:]

# %%
measured = {
    name: np.array(times if name[1] == 1 else times[WARMUP:])
    for name, times in ranks.pull("seconds")[0].items()
}
WORLDS = [1, 2, RANKS]
local = [LOCAL_BATCH * p for p in WORLDS]
EXPERIMENTS = {"fixed global batch": [GLOBAL_BATCH] * 3, "fixed local batch": local}
EXPERIMENTS["no communication"] = local


def times_of(experiment):
    """The step times on 1, 2 and all ranks. On one rank all experiments are the same
    program.
    """
    return [measured["sequential", 1], *(measured[experiment, p] for p in WORLDS[1:])]


for experiment in EXPERIMENTS:
    means = [1e3 * times.mean() for times in times_of(experiment)]
    said = (f"{p} ranks {mean:6.2f} ms  " for p, mean in zip(WORLDS, means))
    print(f"{experiment:<20}", *said)

# %% [markdown]
# ### Speedup and its error (2 points)
#
# For the same work, the speedup is the time before over the time after. Both times are
# measured, so both have errors. The squares of their *relative* errors add up, if the
# errors are independent of each other:
#
# $$S = \frac{\bar t_1}{\bar t_p} \qquad \left(\frac{\Delta S}{S}\right)^2 = \left(\frac{\Delta \bar t_1}{\bar t_1}\right)^2 + \left(\frac{\Delta \bar t_p}{\bar t_p}\right)^2$$
#
# So a careless baseline spoils *every* speedup computed from it, however well the
# parallel runs were measured.

# %% nbgrader={"grade": false, "grade_id": "speedup_with_error", "locked": false, "schema_version": 3, "solution": true, "task": false}
def speedup_with_error(baseline_seconds, parallel_seconds) -> tuple[float, float]:
    """Return a measured speedup and its standard error.

    baseline_seconds, parallel_seconds: arrays (n,) and (m,) of floats or ints, repeated
        measurements of the same work in s, n and m at least 2
    Returns: (speedup, error), floats

    - speedup: the ratio of the means.
    - its standard error: speedup * sqrt(a**2 + b**2), with a and b the relative
      standard errors of the two means (n - 1 and m - 1 in the standard deviations). No
      factor for a confidence interval. Times may be nearly equal.

    Example: speedup_with_error(np.array([4.0, 4.0]), np.array([2.0, 2.0])) == (2.0,
    0.0)
    """
    ### BEGIN SOLUTION
    relative_errors, means = [], []
    for seconds in (np.asarray(baseline_seconds), np.asarray(parallel_seconds)):
        means.append(seconds.mean())
        relative_errors.append(
            seconds.std(ddof=1) / math.sqrt(len(seconds)) / seconds.mean()
        )
    speedup = means[0] / means[1]
    return speedup, speedup * math.hypot(*relative_errors)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_speedup_with_error", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(speedup_with_error)

# %% tags=["raises-exception"]
strong = {}
for p, times in zip(WORLDS[1:], times_of("fixed global batch")[1:]):
    strong[p] = ratio, error = speedup_with_error(measured["sequential", 1], times)
    print(f"{p} ranks, same global batch: speedup {ratio:.3f} ± {error:.3f}")

# %% [markdown]
# ### Scaling efficiency, strong or weak (3 points)
#
# In weak scaling a step that takes as long as before is a success, and "time before
# over time after, divided by p" would call it a failure. There is one formula that is
# right for both kinds: compare **images per second**, and divide by the factor by which
# the number of ranks has grown.
#
# The check gives you tables as you find them in reports. First decide which kind of
# scaling a table shows. Some reports change both batches from row to row; such a table
# is neither, and its efficiency says little. Some do not begin with one rank.

# %% nbgrader={"grade": false, "grade_id": "scaling_efficiency", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaling_efficiency(
    world_sizes, global_batch_sizes, step_seconds
) -> tuple[str, np.ndarray]:
    """Return the kind of scaling of a table and the efficiency of each row.

    world_sizes: array (m,) of ints, growing, m at least 2, the number of ranks of each
        row
    global_batch_sizes: array (m,) of ints, images of a step on all ranks
    step_seconds: array (m,) of floats or ints, seconds of a step
    Returns: (kind, efficiencies), a str and an array (m,)

    - fixed global batch: kind is "strong" if the global batch is the same in all rows.
    - fixed local batch: kind is "weak" if global batch / ranks, not rounded, is the
      same in all rows. (For either kind np.allclose is exact enough.)
    - neither, or no run on one rank: kind is "neither" in any other table. A table of
      any kind may begin with more than one rank.
    - efficiency: for each row, (its images per second / those of the first row) divided
      by (its ranks / those of the first row).

    Example: 1 and 2 ranks, 8 images each time, 1.0 s and 0.5 s: "strong", [1.0, 1.0].
    """
    ### BEGIN SOLUTION
    local_batch_sizes = global_batch_sizes / world_sizes
    if np.all(global_batch_sizes == global_batch_sizes[0]):
        kind = "strong"
    elif np.allclose(local_batch_sizes, local_batch_sizes[0]):
        kind = "weak"
    else:
        kind = "neither"
    rate_per_rank = global_batch_sizes / step_seconds / world_sizes
    return kind, rate_per_rank / rate_per_rank[0]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_scaling_efficiency", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(scaling_efficiency)

# %% [markdown]
# Now the figure of your own measurements. Each mean has its 95 % interval, which for
# this number of steps is about two standard errors to either side.

# %% tags=["raises-exception"] alt="Two charts over the ranks with 95 % intervals, speedup and efficiency, for a fixed global batch, a fixed local batch and no communication, which bounds the others: all fall below the perfect line where ranks outnumber cores."
student = scaling_efficiency, speedup_with_error
curves, efficiencies = scaling_laws.scaled_runs(EXPERIMENTS, WORLDS, times_of, *student)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
plots.speedup(curves, left)
plots.efficiency(efficiencies, right)
left.set_ylabel("speedup (ratio of images per second)");

# %% [markdown]
# Read it from the bound down. With fewer cores than ranks, the **bound itself** bends
# at the number of cores: four ranks on two cores take turns. That is the machine, and
# no algorithm can change it. (With four cores or more it bends less, because the cores
# share memory and cache, and their clock slows down when all of them work.) If a point
# is above the perfect line, look at its interval, and ask what else this machine was
# doing.
#
# What the fixed local batch loses *beyond its bound* is the price of communication and
# of waiting for each other. As long as every rank has a core, strong scaling suffers
# more: on p ranks the computation of a step shrinks to about 1/p, while the gradient
# still has 109,386 numbers, 438 kB, and the optimizer updates as many weights. In weak
# scaling none of these changes. Where ranks take turns, waiting for a core hides the
# difference, and either curve may end above the other.
#
# This is how ranks wait for each other:
#
# ![One training step on four ranks over time. Each lane begins with a forward and a backward pass. Rank 1 takes longest; ranks 0, 2 and 3 are done sooner and wait, rank 0 longest. When all ranks are there, the all-reduce begins on all of them at once, and then all take the optimizer step at the same time.](../../images/step_waiting.svg)
#
# An all-reduce needs every rank, so all ranks **wait** for the slowest one. A clock
# around the `all_reduce` of rank 0 would show both, its waiting and the communication.
#
# A curve that flattens because the cores run out says nothing about a cluster, where
# each rank has a processor of its own. The *method* carries over: the sequential
# program as baseline, a bound, two kinds of scaling, intervals.

# %% [markdown]
# ## Amdahl's and Gustafson's laws
#
# **Amdahl** (1967) keeps the problem fixed and adds ranks. If a fraction f of the
# one-rank time cannot be divided, then
#
# $$S = \frac{1}{f + (1 - f) / p} \; < \; \frac 1 f$$
#
# ![Amdahl's law for a program of 10 s, of which 2 s are serial, on 1, 2, 4 and 8 ranks, one line for each rank. In the serial part only the first rank works and the others are idle; it stays 2 s long. The parallel part of 8 s is divided among all ranks and becomes 4, 2 and 1 s long. Together 10, 6, 4 and 3 s: speedups of 1, 1.67, 2.5 and 3.33. The speedup stays below 5.](../../images/amdahl_bars.svg)
#
# Here f = 0.2. One line is one rank. With every doubling of p more ranks stand idle in
# the serial part, and the parallel part has less left to lose.
#
# **Gustafson** (1988) lets the problem grow with the machine. If a fraction f of the
# time *on p ranks* is serial, one rank would have needed $f + (1 - f)\,p$ times as
# long: $S = p - f\,(p - 1)$, without a limit.

# %% alt="Speedup by law up to 4096 ranks, both axes logarithmic: Gustafson's stays near the dotted perfect line; Amdahl's curves for three serial fractions flatten at one over the fraction."
p = 2 ** np.arange(13)
laws = {"Gustafson, f = 1 %": (p, scaling.gustafson(0.01, p))}
for f in (0.001, 0.01, 0.05):
    laws[f"Amdahl, f = {100 * f:g} %"] = p, scaling.amdahl(f, p)
ax = plots.speedup(laws)
ax.set(xticks=p[::2], yticks=p[::2], title="speedup by law, not by measurement")
print(
    f"f = 1 %, 1000 ranks: Amdahl {scaling.amdahl(0.01, 1000):.0f}, Gustafson "
    f"{scaling.gustafson(0.01, 1000):.0f}; your guess: {guess_2}"
)

# %% [markdown]
# They do not contradict each other: they mean different things by f. Strong scaling
# asks Amdahl's question and weak scaling Gustafson's.
#
# ### The serial fraction of a speedup (3 points)
#
# Karp and Flatt (1990) turn Amdahl's law around. Every measured speedup on p > 1 ranks
# gives one f:
#
# $$f = \frac{1/S - 1/p}{1 - 1/p} \qquad\qquad \Delta f = \left|\frac{df}{dS}\right| \Delta S = \frac{\Delta S}{S^2 \, (1 - 1/p)}$$
#
# Compute it for every p in *strong* scaling and compare the values. If f stays the
# same, Amdahl's formula describes your program: a serial part, or an overhead that
# hardly depends on p, like the bytes of a ring. If it **grows**, the overhead grows
# with p, like the latencies of a ring. If it **falls**, no serial part can explain the
# runs, and often the baseline is at fault. If it is negative, the speedup is
# superlinear (above p): something besides p has changed. (In weak scaling f falls even
# at a constant efficiency E: it is (1/E - 1) / (p - 1). There, compare efficiencies.)

# %% nbgrader={"grade": false, "grade_id": "serial_fraction", "locked": false, "schema_version": 3, "solution": true, "task": false}
def serial_fraction(world_size, speedup, speedup_error) -> tuple[float, float]:
    """Return the serial fraction of a measured speedup (Karp and Flatt) and its error.

    world_size: int, ranks, at least 1
    speedup: float
    speedup_error: float, its standard error
    Returns: (fraction, error), floats

    - fraction: by the formula above; it is negative if the speedup is superlinear.
    - its standard error: by the formula above; never negative.
    - one rank: the fraction is not defined: return (math.nan, math.nan).

    Example: serial_fraction(2, 1.5, 0.0) == (1 / 3, 0.0)
    """
    ### BEGIN SOLUTION
    if world_size == 1:
        return math.nan, math.nan
    scale = 1 - 1 / world_size
    return (1 / speedup - 1 / world_size) / scale, speedup_error / speedup**2 / scale
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_serial_fraction", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(serial_fraction)

# %% tags=["raises-exception"]
for p, (speedup, error) in strong.items():
    fraction, fraction_error = serial_fraction(p, speedup, error)
    print(f"{p} ranks: f = {fraction:.3f} ± {fraction_error:.3f}")

# %% [markdown]
# Is f the same for every p, within the errors? Where ranks outnumber cores it jumps,
# and not because a part of your program became serial: the ranks took turns. A law with
# one parameter always gives a number. Only several values of p show whether the number
# means anything.

# %% [markdown]
# ## The cost of communication
#
# Most of the overhead is the all-reduce. From unit 03 you know its time for a vector of
# n bytes, if a message of m bytes takes $\alpha + m \beta$:
#
# $$t_\text{ring} = 2\,(p - 1)\left(\alpha + \frac n p \beta\right) \qquad\qquad t_\text{tree} = 2\,\lceil \log_2 p \rceil \left(\alpha + n \beta\right)$$
#
# There you measured messages and predicted the all-reduce. Now go the other way round,
# as on a cluster where only the collectives can be measured: from the times of
# all-reduces, compute $\alpha$ and $\beta$ of a single message. The ranks are real and
# use the library's `all_reduce`. `all_reduce_seconds` calls it 30 times (8 times for
# long vectors), takes the time of the slowest rank in each call, and returns the
# smallest of these times:

# %%
# %%ranks
SIZES = [4, 1024, 16_384, 65_536, 262_144, 1_048_576, 4_194_304]  # bytes
reduced = {}

# %%
# %%ranks 0,1
reduced[2] = [all_reduce_seconds(nbytes, circles[2], DEVICE) for nbytes in SIZES]

# %%
# %%ranks
everybody = circles[world_size]
reduced[world_size] = [all_reduce_seconds(n, everybody, DEVICE) for n in SIZES]

# %% [markdown]
# Why the *fastest* call here, when the throughput used the mean of all steps? Because
# the question differs. The throughput is that of a real run, disturbances included.
# $\alpha$ and $\beta$ should describe the link itself, and disturbances can only make
# it look slower.
#
# ### Latency and bandwidth from all-reduces (2 points)
#
# The time of a ring is a straight line in n, like that of a single message in unit 02.
# How do its constant and its slope depend on $\alpha$, $\beta$ and p?

# %% nbgrader={"grade": false, "grade_id": "alpha_beta_from_ring", "locked": false, "schema_version": 3, "solution": true, "task": false}
def alpha_beta_from_ring(world_size, nbytes, seconds) -> tuple[float, float]:
    """Return alpha and beta of a single message, fitted to times of ring all-reduces.

    world_size: int, at least 2
    nbytes: array (m,), bytes of the vector, 0 or more, of two different sizes at least
    seconds: array (m,), the time of a ring all-reduce of that size
    Returns: (alpha in s, beta in s/byte), floats

    - times of a ring: a ring is 2 (p - 1) messages of nbytes / p bytes, one after the
      other; a message of n bytes takes alpha + n beta.
    - noisy times: fit all measurements by least squares (best with `w=1 / seconds` in
      np.polyfit, so that small vectors count, too). For an alpha below 0 you may
      return 0.

    Example: alpha_beta_from_ring(2, np.array([0, 2]), np.array([2.0, 4.0])) == (1.0,
    1.0)
    """
    ### BEGIN SOLUTION
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    messages = 2 * (world_size - 1)
    return constant / messages, slope * world_size / messages
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_alpha_beta_from_ring", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(alpha_beta_from_ring)

# %% alt="Time of one all-reduce over the bytes per rank, both axes logarithmic: measured points for 2 ranks and for all ranks, flat for short vectors and rising for long ones."
SIZES, reduced = np.array(ranks.pull("SIZES")[0]), ranks.pull("reduced")[0]

points = {f"{p} ranks": (SIZES, 1e6 * np.array(reduced[p])) for p in (2, RANKS)}
words = {"xlabel": "bytes per rank", "ylabel": "time of one all_reduce, µs"}
words["title"] = "measured: shared memory of this machine"
charts.compared({}, points, size=(7.5, 3.8), log="xy", **words);

# %% tags=["raises-exception"] alt="The same points with the curves of the fitted ring: they meet the points of long vectors and miss some in between."
lines = {}
for p in (2, RANKS):
    alpha, beta = alpha_beta_from_ring(p, SIZES, np.array(reduced[p]))
    print(
        f"{p} ranks: alpha = {1e6 * alpha:6.1f} µs, beta = {1e9 * beta:.3f} ns per "
        f"byte, that is {1e-9 / beta:.1f} GB/s"
    )
    alpha = max(alpha, 0)
    ring = [1e6 * scaling.ring_all_reduce_time(p, n, alpha, beta) for n in SIZES]
    lines[f"{p} ranks"] = SIZES, ring
words["title"] = "points: measured, lines: fitted ring"
charts.compared(lines, points, size=(7.5, 3.8), log="xy", **words);

# %% [markdown]
# These are numbers of **shared memory on this machine**, with ranks that may have to
# wait for a core. If both runs used the same link, both lines would give the same
# $\alpha$ and $\beta$. They do not where 4 ranks share 2 cores: the fit has put the
# waiting into both. And the library may not use a ring for small vectors at all. A fit
# summarises the measurements; it is not a law about other sizes or other links.

# %% [markdown]
# For a machine that you do not have, you must assume $\alpha$ and $\beta$. The rest of
# the page assumes this network: 5 µs per message and 100 Gbit/s per GPU, each GPU with
# a port of its own. That answers your third guess:

# %%
ALPHA = 5e-6  # seconds per message
BETA = 8 / 100e9  # seconds per byte at 100 Gbit/s
slow = 1e3 * scaling.ring_all_reduce_time(4096, 1e8, ALPHA, BETA)
print(f"4096 ranks, 100 MB, ring: {slow:.0f} ms; you guessed {guess_3}")

# %% [markdown]
# ## From two ranks to 4096 · stretch
#
# In this section everything is **a model**. Is the formula at least right about the
# messages? The simulated network (the relay of unit 03) computes the time of every
# single message, and lets ranks wait for each other. So let up to 64 processes send the
# messages of a ring and of a tree on it, and compare its virtual time with the formula.
# (`scaling_laws.ring_traffic` and `tree_traffic` send the messages only: the additions,
# which you wrote in unit 03, take no virtual time.)

# %% tags=["parameters"]
# bytes -> ranks; the ring of 64 takes a few real seconds
SIMULATED = {4096: (2, 8, 64), 1_000_000: (2, 4, 16, 64)}
virtual, off = scaling_laws.simulated(SIMULATED, ALPHA, BETA)
print(f"{len(virtual)} runs, largest difference from the formula: {off:.1%}")

# %% alt="Three charts of the time of one all-reduce over up to 4096 ranks, both axes logarithmic, for 4 KB, 1 MB and 100 MB: the tree rises slowly, the ring steeply where messages are short, and for 100 MB the ring is lower up to thousands of ranks. The relay's points lie on the lines."
title = "5 µs per message, 100 Gbit/s. Lines: formula. Points: relay's virtual time."
sizes = {"4 KB": 4096, "1 MB": 10**6, "100 MB": 10**8}
costs.all_reduces(sizes, virtual, ALPHA, BETA, title=f"A model: {title}")

# %% [markdown]
# The points lie on the lines. With 100 MB the ring wins even on 4096 ranks: its time
# for the bytes, $2 n \beta\,(p - 1) / p$, is 8 ms on 2 ranks and never more than 16 ms.
# But it has $2\,(p - 1)$ steps, and on 4096 ranks 8190 latencies of 5 µs are 41 ms
# more. On more than about 22,000 ranks the tree is faster, and for small vectors it is
# faster even on a few. Above what size is a ring worth it?

# %%
for p in (4, 64, 512, 4096):
    megabytes = scaling.crossover_bytes(p, ALPHA, BETA) / 1e6
    print(f"{p:>5} ranks: a ring is faster above {megabytes:8.3f} MB")

# %% [markdown]
# ### The time of a training step, predicted (2 points)
#
# A data-parallel step is computation and communication. DDP and Horovod send gradients
# while the backward pass still computes others, so a part of the communication
# **hides**: it can run during the last fraction h of the computation, and only the rest
# of it adds to the time.
#
# $$t = c + \max(0,\; t_\text{ring} - h \, c)$$
#
# ![A step on lanes for compute and network, drawn twice with the same all-reduce of 5 units, which begins with the backward pass. Large share: computation takes 9, the all-reduce fits under the backward pass, and the step takes t = 9. Small share: computation takes 3, the last 3 units of the all-reduce stick out behind it, and the step takes t = 6.](../../images/hidden_communication.svg)
#
# In the drawing h is 2/3. With a third of the computation the step is only a third
# shorter: the gradient, and with it the all-reduce, is as large as before.
#
# The backward pass takes about two thirds of a step's computation, so h is at most 2/3.

# %% nbgrader={"grade": false, "grade_id": "step_seconds", "locked": false, "schema_version": 3, "solution": true, "task": false}
def step_seconds(
    world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
) -> float:
    """Return the time of one data-parallel training step, by the model above.

    world_size: int, at least 1
    global_batch_size: int, images on all ranks together
    seconds_per_image: float, computation in s
    parameters: int, each a float32
    alpha: float, s for each message
    beta: float, s/byte
    hidden: float from 0 to 1, the fraction of the computation that can hide
        communication
    Returns: float, s

    - no overlap: images are dealt out whole and as evenly as possible; the time is that
      of the largest share plus one ring all-reduce of the gradients: 2 (p - 1) messages
      of 1/p of the bytes, not rounded; none on one rank.
    - communication overlapped with computation: only the communication that is not
      hidden is added.

    Example: step_seconds(2, 3, 1.0, 4, 0.0, 1.0, 0.5) == 17.0
    """
    ### BEGIN SOLUTION
    computation = math.ceil(global_batch_size / world_size) * seconds_per_image
    ring = 2 * (world_size - 1) * (alpha + 4 * parameters / world_size * beta)
    return computation + max(0.0, ring - hidden * computation)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_step_seconds", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(step_seconds)

# %% [markdown]
# Take a ResNet-50 (25.6 million parameters) on GPUs that train 312 images per second
# each. **Predict:** up to how many GPUs does a global batch of 8192 scale well, and up
# to how many does a local batch of 32?

# %% tags=["raises-exception"] alt="Predicted efficiency of ResNet-50 over up to 4096 GPUs: with a local batch of 32 it falls slowly, with a global batch of 8192 it falls to almost nothing; hiding two thirds of the communication moves both up."
many = [int(p) for p in 2 ** np.arange(13)]
GPU = {"seconds_per_image": 1 / 312, "parameters": 25_600_000}
GPU |= {"alpha": ALPHA, "beta": BETA}
images = {"local batch 32": [32 * p for p in many]}
images["global batch 8192"] = [8192] * len(many)
student = step_seconds, scaling_efficiency
predicted = scaling_laws.predicted(*student, images, many, **GPU)
ax = plots.efficiency(predicted, plots.canvas(size=(8.5, 4)))
title = "a model: ResNet-50, 312 images per second per GPU, 5 µs, 100 Gbit/s"
ax.set(title=title, xticks=many[::2]);

# %% [markdown]
# Weak scaling with overlap stays at 100 % as long as the ring fits behind the backward
# pass. Without overlap, the time of the ring is added to every step. Strong scaling
# collapses where a rank's share becomes small: on 4096 GPUs it is two images, 6 ms of
# work, against 57 ms for the ring. The number to watch is communication over
# computation *of one rank*.
#
# The model leaves out input that comes too late, ranks that are not equally fast, links
# that several GPUs share, and the effect of a global batch of 131,072 images on
# learning. The last is not a matter of speed: **images per second are not accuracy**,
# and a large batch may need more epochs.

# %% [markdown]
# ## Four claims
#
# ### 1. 60 % on eight GPUs (ALCF)
#
# A ResNet-34 on 1, 2, 4 and 8 GPUs: 281.22, 382.01, 689.22, 1341.25 images per second,
# with standard deviations of 75.79, 8.42, 77.78 and 52.51 over 10 steps (ALCF, *AI
# science training series*, 06_distributedTraining). Here is the efficiency with
# intervals, once with the first row as the baseline and once with the second:

# %% alt="Efficiency of the same published runs over up to 8 GPUs with two baselines: against one GPU it falls far below the perfect line, with a wide interval; against two GPUs it stays near it."
GPUS, IMAGES = [1, 2, 4, 8], [281.22, 382.01, 689.22, 1341.25]
SD = [75.79, 8.42, 77.78, 52.51]
rates = {p: Estimate(r, s / math.sqrt(10), 9) for p, r, s in zip(GPUS, IMAGES, SD)}
alcf = {}
for base in (1, 2):
    worlds, found = scaling_laws.efficiencies_from(base, rates)
    alcf[f"baseline: {base} GPU" + "s" * (base > 1)] = worlds, found
    said = (f"{p} GPUs {one}  " for p, one in zip(worlds[1:], found[1:]))
    print(f"baseline {base} GPU:", *said)
for p, sd, mean in zip((1, 2), SD, IMAGES):
    print(f"standard deviation of the run on {p}: {sd / mean:.0%} of its mean")
ax = plots.efficiency(alcf)
ax.set(title="ALCF, ResNet-34: the same runs, two baselines", xlabel="GPUs");

# %% [markdown]
# 68, 61 and 60 % of a baseline that is hardly known: the first interval reaches from
# well below 60 to above 80 %. From 2 GPUs to 8 the same runs keep 88 %, with a baseline
# that varied by 2 %. Both are true. Only one of them was measured well.
#
# Your function shows that the first row is odd:

# %% tags=["raises-exception"]
for p in GPUS[1:]:
    ratio = scaling.scaled_speedup(rates[1], rates[p])
    fraction, error = serial_fraction(p, ratio.value, ratio.error)
    print(f"{p} GPUs: speedup {ratio.value:.2f}, f = {fraction:.3f} ± {error:.3f}")

# %% [markdown]
# f **falls**, from 0.47 to 0.10. No serial part does that, so do not fit Amdahl's law
# to these numbers, although the fit would give you an f. (If each GPU kept its batch,
# which is not said, a constant efficiency alone makes f fall.) Either way, a factor is
# lost once, between 1 and 2 GPUs, and little after that: to communication that begins
# there, or to a baseline that is not the same program or was measured badly. Test the
# last idea: if *one slow step* of the ten explains all of the scatter, what did the
# other nine do?

# %%
# one of ten steps is d below the others: standard deviation d / sqrt(10), with n - 1
gap = SD[0] * math.sqrt(10)
others = IMAGES[0] + gap / 10
print(
    f"nine steps at {others:.0f} images/s and one at {others - gap:.0f}: mean "
    f"{IMAGES[0]}, standard deviation {SD[0]}"
)
print(
    "efficiency with that baseline:",
    *(f"{p} GPUs {r / others / p:.0%}  " for p, r in zip(GPUS[1:], IMAGES[1:])),
)

# %% [markdown]
# A warm-up step in the mean would explain the scatter, but not the loss: without it the
# baseline is faster, and the efficiencies are *lower*. So the bad baseline hides a part
# of what going from 1 to 2 GPUs costs. That is a guess; the ten numbers would settle
# it, but they were not published. Note also that *rates* were averaged, not times.
#
# ### 2. "More than 30 times" (HFAiLab)
#
# Seconds per epoch of a ResNet on ImageNet, batch 400 per GPU (HFAiLab,
# *pytorch_distributed*): 1786 on one GPU, 984 with `DataParallel` on 8, 239 with DDP on
# 8, 230 with mixed precision (AMP) on 8, and 52 to 54.5 with mixed precision on 32
# GPUs.

# %%
one_gpu, parallel, ddp, amp = 1786, 984, 239, 230  # seconds; all but the first on 8
for name, seconds in (("DataParallel on 8:", parallel), ("DDP on 8:", ddp)):
    ratio = one_gpu / seconds
    print(f"{name:<18} {ratio:.2f} times one GPU, efficiency {ratio / 8:.0%}")
print(f"AMP on 8:          {ddp / amp:.2f} times DDP on 8")
for t in (54.5, 52):
    total, step = one_gpu / t, amp / t
    print(
        f"AMP on 32 ({t} s): {total:.1f} times one GPU without AMP; {step:.2f} times "
        f"AMP on 8, efficiency {step / 4:.0%}"
    )

# %% [markdown]
# 33 to 34 times with 32 GPUs, but the program has changed on the way: the baseline did
# not use mixed precision. Compare like with like: with AMP, 32 GPUs, four times as
# many, are 4.2 to 4.4 times as fast as 8. **More than perfect.** So something else has
# changed, too. Which explanations fit?
#
# - *A bottleneck that is one per node.* Going from one node to four brings four times
#   the processors, memory and disks. If decoding images held up the 8 GPUs, that
#   scaled, too; and images that fit into the memory of four nodes but not of one are
#   read from disk only once. It would also explain why AMP gained only 4 %: GPUs that
#   wait for images do not get faster by computing faster.
# - *Another batch size.* The article says that AMP allows larger batches, which make
#   training up to 50 % faster. If the 32 GPUs ran with those and the 8 did not, the 4.4
#   is 1.5 times 2.9, and no longer superlinear.
# - *Noise.* "About 52 seconds", an average per epoch without its scatter, no repeated
#   run: nobody can tell.
#
# ### 3. "Almost linear", and "50 minutes" (IBM)
#
# 1248.06 images per second on one node, 12043.78 on ten (ResNet-50, batch 32 per GPU;
# B. Nelson, *Distributed Deep Learning*, CentOS Dojo at Oak Ridge, 2019). The same talk
# promises "almost linear scaling for 64 machines with 4 GPUs each": 90 epochs in 50
# minutes, also with batch 32 per GPU. IBM's figure for 256 GPUs is 95 %.

# %%
speedup = 12043.78 / 1248.06
print(f"1 to 10 nodes: {speedup:.2f} times, efficiency {speedup / 10:.1%}")
images = 90 * 1.28e6  # of 90 epochs of ImageNet
rate = images / (50 * 60)
each = rate / 256
print(f"90 epochs in 50 minutes: {rate:,.0f} images/s, {each:.0f} per GPU on 256 GPUs")
of_4, of_40 = 1248.06 / 4, 12043.78 / 40
print(f"the demonstration:       {of_4:.0f} per GPU on one node, {of_40:.0f} on ten")
minutes = images / (256 * of_40) / 60
print(f"at the demonstration's rate 256 GPUs would need {minutes:.0f} minutes")
alone = each / 0.95
print(f"if 95 % is right, one GPU alone did {alone:.0f} images/s in the 50-minute run")

# %% [markdown]
# 9.65 times on ten nodes is a clean comparison: same program, same batch per GPU, one
# number each (and no interval). The famous 50 minutes are *slower* than this promises:
# 150 images per second per GPU, half of the demonstration's 300 (if its nodes, like
# those of the 64 machines, had 4 GPUs each). The two are different systems: other GPUs,
# perhaps; real images instead of the benchmark's synthetic ones, which need no disk and
# no decoding; evaluation in between. An efficiency is always relative to its own
# baseline, and **a slow baseline scales beautifully**.
#
# ### 4. "90 %" and "68 %" (Horovod)
#
# On 512 GPUs Horovod reached 90 % for ResNet-101 and Inception V3 and 68 % for VGG-16
# (Horovod's documentation, *Benchmarks*: 128 servers with 4 Pascal GPUs each, 25 Gbit/s
# between them, RoCE). An efficiency E of weak scaling means that each second of a
# one-GPU step got $1/E - 1$ seconds longer:

# %%
claims = ("ResNet-101", 0.90, 44_549_160), ("VGG-16", 0.68, 138_357_544)
for model, efficiency, parameters in claims:
    f = scaling.karp_flatt(efficiency * 512, 512).value
    added = 1 / efficiency - 1
    ring = scaling.ring_all_reduce_time(128, 4 * parameters, ALPHA, 8 / 25e9)
    print(
        f"{model:<11} {4 * parameters / 1e6:4.0f} MB of gradients: {added:.2f} s "
        f"added to each second, Karp-Flatt f = {f:.4%}, ring model {ring:.3f} s"
    )
print(
    f"added: {(1 / 0.68 - 1) / (1 / 0.9 - 1):.1f} times as much for VGG-16, "
    f"gradients: {138_357_544 / 44_549_160:.1f} times as large"
)

# %% [markdown]
# Here two numbers support each other. VGG-16 has three times the gradients (most of
# them in its fully connected layers, which take little computing), and pays four times
# as much. The last column is the all-reduce over 25 Gbit/s by your formula, one ring
# through the 128 servers: tenths of a second, the size of a training step. So such a
# network explains losses of this size. How much was hidden behind computation cannot be
# told without the time of one step: ask for it. The failure was published beside the
# success, and a mechanism for it can be computed. (Karp and Flatt's f is printed only
# to show how little it takes: for a fixed problem, a serial fraction of 0.02 % would
# cost 10 % of 512 GPUs.)

# %% [markdown]
# ## Break it
#
# The classic mistake of all benchmarks: the clock is stopped before the work is done.
# `async_op=True` starts an all-reduce and returns at once; on a GPU almost *every*
# operation is like that. Someone measured the bandwidth of this machine:

# %%
# %%ranks
x = torch.zeros(4_000_000, device=DEVICE)  # 16 MB
dist.all_reduce(x)  # warm-up
for stop_early in (True, False):
    dist.barrier()
    start = time.perf_counter()
    work = dist.all_reduce(x, async_op=True)
    if not stop_early:
        work.wait()
    elapsed = time.perf_counter() - start
    work.wait()
    if rank == 0:
        when = "the call has returned" if stop_early else "the result is there"
        rate = x.nbytes / elapsed / 1e9
        print(f"{when:<22} after {1e3 * elapsed:7.3f} ms: {rate:8.1f} GB/s")

# %% [markdown]
# The first line is faster than the link as you fitted it, although an all-reduce moves
# every byte more than once; that gives the mistake away: **compare every result with a
# bound**. The cure is to wait for the result before you read the clock: `work.wait()`,
# on a GPU `torch.cuda.synchronize()`.

# %% [markdown]
# ## What to remember
#
# - **Throughput**: all images of all ranks over all seconds, warm-up left out, with a
#   standard error.
# - The **baseline** is the best sequential program, measured as carefully as the rest:
#   its error is part of every speedup.
# - **Strong**: fixed global batch, the time should shrink. **Weak**: fixed local batch,
#   the time should stay the same. Efficiency compares images per second per rank.
# - **Karp-Flatt**, compared over p in strong scaling: a constant f is a serial part or
#   an overhead that does not grow, a growing one is overhead that grows with p, a
#   falling one often a bad baseline, a negative one a changed experiment.
# - A step costs its computation and the communication that does not hide behind it.
#   Watch their ratio on one rank.
# - Before you believe a number, ask: compared with which baseline, measured how many
#   times, with which batch, on real data, and below which bound?
#
# Next, unit 09 goes to several nodes.

# %% [markdown]
# ## A written question (4 points)
#
# Of the four claims above (ALCF, HFAiLab, IBM, Horovod), which one would you believe
# most, and which one least? Give your reasons with numbers from this page. Then write
# to the authors of the claim that you believe least: ask for **three** things, and say
# for each of them which answer would change your mind, and how. 10 to 20 sentences.

# %% [markdown] nbgrader={"grade": true, "grade_id": "which_claim", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **For graders**
#
# Any choice can earn all points; what counts is the argument. Most will believe
# Horovod's pair of numbers or IBM's 9.65 and doubt HFAiLab's 33 or ALCF's 60 %.
#
# - 1 point: the most believed claim, with a reason that is *in the data*: like is
#   compared with like (same program, same local batch), a known baseline, a failure
#   published beside the success, or a mechanism that can be computed (VGG-16: 3.1 times
#   the gradients, 4.2 times the added time). "A well-known company" or "the highest
#   number" earns nothing.
# - 1 point: the least believed claim, with the right reason in numbers. ALCF: the
#   baseline's standard deviation is 27 %, f falls from 0.47 to 0.10, 88 % from the
#   second row on. HFAiLab: 33 mixes AMP with scaling, 8 to 32 GPUs is 4.2 to 4.4 times,
#   superlinear, averages without errors. IBM: 50 minutes need 150 images per second per
#   GPU, half of the 300 shown. Horovod: efficiencies only, no rates, no repetitions.
# - 1 point: three requests that fit the claim: the single step times or repeated runs;
#   the baseline (the sequential program, warm-up, same precision); global and local
#   batch of each row; real or synthetic data and the load of the processors; hardware
#   per node; time to a stated accuracy. Half a point for two of them; nothing for "more
#   details".
# - 1 point: for each request, which answer would change the verdict and in which
#   direction (for example: "if nine of ten steps ran at 305 images/s, the efficiencies
#   drop to 63, 56 and 55 %"; "if the 32-GPU run had a larger batch, the 4.4 is 1.5
#   times 2.9, and no longer superlinear"). Half a point if only one or two are
#   answered.
#
# Take off half a point, once, for confusing strong and weak scaling or standard
# deviation and standard error.
# ### END SOLUTION

# %% [markdown]
# ## Deeper: how long must you measure?
#
# The standard error falls with the square root of the number of steps: to halve it,
# measure four times as long. How many steps does it take until two runs that differ by
# 5 % can be told apart, if single steps vary by 2, 10, 27 or 50 %? Each mean has a
# relative error of $s / \sqrt n$, with s relative to the mean, and their ratio
# $\sqrt 2$ times that. To be 95 % sure, the difference must be about two such errors.

# %%
for scatter in (0.02, 0.10, 0.27, 0.50):
    steps = math.ceil((2 * math.sqrt(2) * scatter / 0.05) ** 2)
    print(f"steps that scatter by {scatter:.0%}: {steps:>4} steps of each run")

# %% [markdown]
# Ten steps are enough for a quiet machine, and far from enough for the one-GPU run of
# claim 1.
#
# ## Deeper: how much work does a rank need?
#
# Turn the step's formula around: how many images must each GPU have for an efficiency
# of 90 %, if nothing is hidden? Communication may take at most one ninth of the time of
# the computation. That is the **isoefficiency** of the program: how the problem must
# grow with the machine so that it stays efficient.

# %%
for p in (2, 8, 64, 512, 4096):
    ring = scaling.ring_all_reduce_time(p, 4 * 25_600_000, ALPHA, BETA)
    images = math.ceil(9 * ring * 312)
    print(f"{p:>5} GPUs: {images:>4} images per GPU, global batch {p * images:>10,}")

# %%
ranks.stop()

# %% [markdown]
# ### To read
#
# - G. Amdahl, *Validity of the single processor approach to achieving large scale
#   computing capabilities*, 1967. J. Gustafson, *Reevaluating Amdahl's Law*, 1988. Two
#   or three pages each.
# - A. Karp, H. Flatt, *Measuring Parallel Processor Performance*, 1990.
# - D. Bailey, *Twelve Ways to Fool the Masses When Giving Performance Results on
#   Parallel Computers*, 1991. Count how many of them you met here.
# - A. Sergeev, M. Del Balso, *Horovod: fast and easy distributed deep learning in
#   TensorFlow*, 2018, and the page *Benchmarks* in Horovod's documentation
#   (horovod.readthedocs.io).
