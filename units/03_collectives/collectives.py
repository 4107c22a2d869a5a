# %% [markdown]
# # 03 · Collectives
#
# In unit 02 one rank spoke to one other. Training needs something else: after every
# step *all* ranks need the sum of *all* gradients. You could write that with sends and
# receives, and on this page you will, three times. First you learn what the library
# offers ready-made: conversations in which every rank takes part. They are called
# **collectives**.
#
# **At the end of this page** you know five collectives by their pictures, you have
# built the most important one in three ways, and from the latency and the bandwidth of
# a network you can say which way wins, and by how much.
#
# **You need** units 00 and 02. **It takes** about 130 minutes, the *stretch* 50
# more: two sittings. The cells themselves run for less than a minute on two cores. They
# take about 1.1 GB of memory.

# %%
import math
import time

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.distributed as dist

from autograder import check
from labkit import ranks, timeline
from labkit.lessons import collectives
from labkit.plots import charts, tiles

RANKS = 4
DEVICE = "cpu"  # where the tensors of the real ranks live

# %%
ranks.start(RANKS, torch=True)

# %% [markdown]
# ## Guess first
#
# Three questions. Write down what you think before you read on; the page answers all of
# them.
#
# 1. Every one of 4 ranks holds the matrix of the numbers 1 to 12, in 3 rows of 4. They
#    add them up, element by element. What number is in the last row, last column?
# 2. 64 ranks add up *one number* each. Which is fastest: everybody sends to rank 0 and
#    gets the sum back; a tree of pairs; a ring in which everybody talks to two
#    neighbours only?
# 3. The same 64 ranks, with *100 MB* each. Which is fastest now?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Everybody at once
#
# The first answer takes one line. `all_reduce` adds up the tensors of all ranks and
# leaves the sum on every one of them.

# %%
# %%ranks
x = torch.arange(1.0, 13.0, device=DEVICE).view(3, 4)
dist.all_reduce(x, op=dist.ReduceOp.SUM)
print(x)

# %% [markdown]
# Two things to notice. The call returned nothing: it wrote the sum **into its
# argument**, and the old `x` is gone. And *every* rank called it. A collective is
# complete only when all ranks have called it, with tensors of the same shape and dtype.
# (`dist.barrier()` moves no data: it only waits until all ranks have called it.)
#
# ### The five you will meet all the time
#
# In the next cell rank 0 holds 10, 11, 12, 13, rank 1 holds 20, 21, 22, 23, and so on:
# the tens digit tells whose number it is. The input of each collective goes into
# `before`, its result into `after`; -1 stands for nothing. Calls that end in `_single`
# take one tensor instead of a list of them.

# %%
# %%ranks
mine = 10 * (rank + 1) + torch.arange(world_size, device=DEVICE)
here = torch.arange(world_size, device=DEVICE) == rank
nothing = torch.full_like(mine, -1)
before, after = {}, {}

before["broadcast"] = mine if rank == 0 else nothing
after["broadcast"] = before["broadcast"].clone()
dist.broadcast(after["broadcast"], src=0)

before["reduce"] = mine
t = mine.clone()
dist.reduce(t, dst=0)
after["reduce"] = t if rank == 0 else nothing  # what the others hold now is not defined

before["all_gather"] = torch.where(here, mine, nothing)
after["all_gather"] = torch.empty_like(mine)
dist.all_gather_single(after["all_gather"], mine[here])

# %%
# %%ranks
before["reduce_scatter"] = mine
t = torch.empty_like(mine[here])
dist.reduce_scatter_single(t, mine)
after["reduce_scatter"] = torch.where(here, t, nothing)

before["all_reduce"] = mine
after["all_reduce"] = mine.clone()
dist.all_reduce(after["all_reduce"])

# %% [markdown]
# Pull both from the ranks and draw them: one row per rank, one column per element. Each
# colour is a rank; white is a sum.

# %% alt="Five pairs of grids, one row for each rank: what the ranks hold before and after broadcast, reduce, all_gather, reduce_scatter and all_reduce. Numbers of one rank have its colour; sums are white."
tiles.before_and_after(ranks.pull("before"), ranks.pull("after"))

# %% [markdown]
# These are numbers from four real processes. Keep the picture in mind, here with
# letters instead of numbers:
#
# ![Five collectives as grids of ranks by chunks, before and after. Broadcast copies the chunks of the root to every rank; reduce leaves the sum on the root; all_gather collects one chunk of each rank on every rank; reduce_scatter leaves one summed chunk on each rank; all_reduce leaves the whole sum on every rank.](../../images/collectives_core.svg)
#
# | collective | in training it is used to |
# |---|---|
# | `broadcast` | start all copies of a model from the same weights |
# | `reduce` | collect a loss or an accuracy on the rank that prints it |
# | `all_gather` | put together a model whose pieces are on different ranks |
# | `reduce_scatter` | give each rank the summed gradient of *its* piece |
# | `all_reduce` | give every rank the summed gradient of everything |
#
# Look at the last one, `all_reduce`, and find two ways to build it from the others. It
# is `reduce` and then `broadcast`. It is also `reduce_scatter` and then `all_gather`.
# The same result by two roads, and the roads do not cost the same. The rest of this
# page is about that sentence.

# %% [markdown]
# ## The sum and the mean
#
# The first two exercises use the library's collective, as every training script does.
#
# ### Sum over ranks (2 points)
#
# Return the sum, and leave the caller's `x` alone: it may be needed again.

# %% nbgrader={"grade": false, "grade_id": "sum_over_ranks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Sum a tensor over all ranks, element by element.

    x: contiguous tensor of real numbers, any shape and dtype, the same on all ranks
    Returns: a new tensor of that shape and dtype, on every rank

    - the matrix 1..12: every rank brings the same matrix.
    - a different tensor on each rank: every rank brings different numbers; there may be
      only one rank.
    - unchanged: x.

    Example: [1] on rank 0 and [10] on rank 1: both get [11].
    """
    ### BEGIN SOLUTION
    total = x.clone()
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    return total
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_sum_over_ranks", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(sum_over_ranks)

# %% [markdown]
# The inputs of the checks on this page are made so that you can *see* who is in a sum:
# rank 0 brings ones, rank 1 tens, rank 2 hundreds. If the check expects 3121 and you
# return 3021, rank 2 is missing.
#
# ### Mean over ranks (2 points) · stretch
#
# Gradients are averaged, not summed. That is one more division, and three ways to get
# it wrong. **Think first:** x may hold integers, for example images: 8 bits per pixel,
# values from 0 to 255. What is 200 + 100 in 8 bits?

# %% nbgrader={"grade": false, "grade_id": "mean_over_ranks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    """Average a tensor over all ranks, element by element.

    x: contiguous tensor of real numbers, any shape; shape and dtype are the same on all
        ranks
    Returns: a new tensor of that shape, on every rank

    - floating point: the mean in the dtype of x.
    - integers: the mean in float32 or float64, with all fractions.
    - unchanged: x.

    Example: [200] and [101] in 8 bits: both get [150.5].
    """
    ### BEGIN SOLUTION
    mean = x.clone() if x.is_floating_point() else x.to(torch.float64)
    dist.all_reduce(mean)
    return mean / dist.get_world_size()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_mean_over_ranks", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(mean_over_ranks)

# %% [markdown]
# ## The simulated network: a clock you can trust
#
# From here on you build `all_reduce` yourself, out of `send`, `recv`, `isend` and
# `irecv`. To compare what you build you need a clock, and the clock of a busy laptop is
# a poor judge. So the next cells use another network: the one behind the checks.
#
# Its ranks are real processes and your messages really move. Its *time* is computed: a
# message of n bytes takes
#
# $$\alpha + n \beta$$
#
# seconds ($\alpha$, the latency, is paid by every message; $\beta$ is the time per
# byte, one over the bandwidth). Each of the p ranks has one port, which sends at most
# one message and receives at most one at a time. Everything else costs nothing. The
# formula is the line you fitted to your ping-pong times in unit 02, here exact. (You
# need not read `collectives.watch`, which runs your function on this network.)

# %%
ALPHA = 5e-6  # seconds per message
BETA = 1e-10  # seconds per byte: 10 GB/s, or 80 Gbit/s


def watch(function, p=RANKS, n=250_000, quiet=False):
    """Let `function` sum vectors of n float32 numbers over p simulated ranks. Returns
    the run, or None if `function` is not written yet (with a message, unless quiet).
    """
    return collectives.watch(function, p, n, ALPHA, BETA, quiet=quiet)

# %%
def picture(function, **options):
    """The space-time diagram of one run: time to the right, one lane per rank, an arrow
    per message.
    """
    run = watch(function, **options)
    if run and not run.hang:
        print(f"{function.__name__}: {run.elapsed * 1e6:.0f} µs")
        return timeline.draw(run.events, title=function.__name__)

# %% [markdown]
# A first try, to see the clock at work. Everybody sends everything to everybody, and
# each rank adds up what it gets:

# %% alt="Space-time diagram of four ranks: in each of three steps every rank sends 1 MB to another one, further away each time, and receives as much."
def talkative_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    for away in range(1, p):
        request = dist.isend(x, dst=(rank + away) % p)
        dist.recv(arrived, src=(rank - away) % p)
        request.wait()
        total += arrived
    return total


picture(talkative_all_reduce)

# %% [markdown]
# 1 MB in each message, 5 + 100 µs per message, three messages through every port: 315
# µs. Not bad on four ranks. On 1000 ranks it is 999 messages through every port. There
# must be something better.

# %% [markdown]
# ## First way: through rank 0
#
# Rank 0 is the meeting point, as in a *parameter server*: everybody sends to it, it
# adds up, and it sends the sum back to everybody.
#
# **Think first:** how many bytes pass through the port of rank 0? How long will it take
# on 4 ranks?
#
# ### All-reduce through rank 0 (2 points)

# %% nbgrader={"grade": false, "grade_id": "server_all_reduce", "locked": false, "schema_version": 3, "solution": true, "task": false}
def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """Sum a tensor over all ranks, with rank 0 as the meeting point.

    x: contiguous tensor of real numbers, of any shape and dtype (but bool)
    Returns: a new tensor, even if p is 1, of that shape and dtype, equal on all ranks

    - the sum, on every rank: every rank but 0 sends one message to rank 0 and receives
      one from it. No other messages, and no collectives except a barrier.
    - any dtype and shape: the sum has the dtype and shape of x.
    - unchanged: x.

    Example: p = 4: three messages to rank 0 and three back.
    """
    ### BEGIN SOLUTION
    total, arrived = x.clone(), torch.empty_like(x)
    if dist.get_rank() != 0:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
        return total
    workers = range(1, dist.get_world_size())
    for worker in workers:
        dist.recv(arrived, src=worker)
        total += arrived
    for worker in workers:
        dist.send(total, dst=worker)
    return total
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_server_all_reduce", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(server_all_reduce)

# %% alt="Space-time diagram: the other ranks send their vectors to rank 0 one by one, and then it sends the sum to each of them. Its port is busy all the time, the others mostly wait."
picture(server_all_reduce)

# %% [markdown]
# Look at the lane of rank 0: it is never idle. Look at the others: they hardly do
# anything but wait. $2 (p - 1)$ messages go through one port, one after the other.
# Twice as many ranks, more than twice the time.

# %% [markdown]
# ## Second way: a tree · stretch
#
# While ranks 0 and 1 talk, ranks 2 and 3 could talk too. In step one, half of the ranks
# hand their values to a partner and are done. In step two, half of the rest. After
# $\lceil \log_2 p \rceil$ steps one rank holds the sum. Then the same way back, down
# the tree.
#
# With 8 ranks:
#
# ```
# step 1    0 <- 1    2 <- 3    4 <- 5    6 <- 7
# step 2    0 <------ 2         4 <------ 6
# step 3    0 <---------------- 4
# ```
#
# and then 3 steps back, arrows reversed. **Think first:** what happens in this scheme
# with 5 ranks? With 6?
#
# ### All-reduce as a tree (3 points)
#
# Loops or recursion, as you like. It must work for any number of ranks.

# %% nbgrader={"grade": false, "grade_id": "tree_all_reduce", "locked": false, "schema_version": 3, "solution": true, "task": false}
def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """Sum a tensor over all ranks, up and down a tree of pairs.

    x: contiguous tensor of real numbers, of any shape and dtype (but bool)
    Returns: a new tensor, even if p is 1, of that shape and dtype, equal on all ranks

    - powers of two: no collectives except a barrier. A rank sends at most 2 ceil(log2
      p) messages and receives at most as many.
    - any number of ranks: the same limits if p is not a power of two.
    - few steps: all of it takes at most 4 ceil(log2 p) times as long as one message; 2
      ceil(log2 p) is possible. (A rank can send one message and receive one at the same
      time.)
    - unchanged: x.

    Example: p = 8: 3 steps up, 3 steps down.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distances = [2**step for step in range(math.ceil(math.log2(p)))]
    for distance in distances:
        if rank % (2 * distance) == distance:
            dist.send(total, dst=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.recv(arrived, src=rank + distance)
            total += arrived
    for distance in reversed(distances):
        if rank % (2 * distance) == distance:
            dist.recv(total, src=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(total, dst=rank + distance)
    return total
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_tree_all_reduce", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(tree_all_reduce)

# %% alt="Space-time diagram: two steps up, in which pairs of ranks add up their vectors until rank 0 has the sum, and two steps down again."
picture(tree_all_reduce)

# %% [markdown]
# Four steps instead of six. On 1024 ranks it will be 20 instead of 2046. But each step
# still moves the **whole** vector through a port, and in every step each port is idle
# in at least one direction. For a long vector there is something left to gain.

# %% [markdown]
# ## Half-time
#
# You know five collectives, and the cost of a sum that goes through one rank: its port
# carries p - 1 whole vectors in each direction. This is a good place for a break:
# next you build an all-reduce from two halves, and then as a ring, which uses all links
# at once.

# %% [markdown]
# ## Two halves
#
# Remember the other road: `reduce_scatter`, then `all_gather`. In the first half every
# rank becomes responsible for *one chunk* of the vector and adds up only that. All
# ranks add at the same time, each its own chunk. In the second half they show each
# other what they have.
#
# ### All-reduce from two halves (2 points)
#
# Before you build the two halves yourself, put the library's together:
# `dist.reduce_scatter_single(chunk, x)` and `dist.all_gather_single(x, chunk)`. (Before
# PyTorch 2.13 they were called `reduce_scatter_tensor` and `all_gather_into_tensor`.)
# They need chunks of equal length. **Think first:** what do you do with 10 elements on
# 3 ranks?

# %% nbgrader={"grade": false, "grade_id": "all_reduce_in_two_halves", "locked": false, "schema_version": 3, "solution": true, "task": false}
def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    """Sum a vector over all ranks by the library's reduce_scatter and all_gather.

    x: contiguous tensor (n,) of real numbers, any dtype (but bool), n at least 1
    Returns: a new tensor (n,), even if p is 1, in the dtype of x, equal on all ranks

    - n divisible by p: every rank adds up a chunk of n / p elements.
    - any n: n may be smaller than p, or not divisible by p; a padded chunk has at most
      n // p + 1 elements.
    - calls: any form of reduce_scatter and of all_gather, with lists or without.
    - unchanged: x.

    Example: n = 10, p = 3: three chunks of 4 elements; 2 of the 12 are padding.
    """
    ### BEGIN SOLUTION
    p, n = dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    dist.reduce_scatter_single(chunk, padded)
    dist.all_gather_single(padded, chunk)
    return padded[:n]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_all_reduce_in_two_halves", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(all_reduce_in_two_halves)

# %% [markdown]
# ## Third way: a ring
#
# Now build both halves from sends, so that every port is busy all the time. Cut the
# vector into p chunks. Everybody talks to two neighbours only: send to the right,
# receive from the left.
#
# ![The ring all-reduce on four ranks, a grid of ranks by chunks after every step: three steps of reduce-scatter, after which each rank holds one chunk summed over all ranks, then three steps of all-gather, after which every rank holds all summed chunks. In each step every rank sends one chunk to its right neighbour.](../../images/ring_all_reduce.svg)
#
# - **Reduce-scatter**, $p - 1$ steps, from $s = 0$. In step $s$ rank $r$ sends chunk
#   $r - s$ and adds what arrives to chunk $r - s - 1$ (chunk numbers wrap round like
#   ranks). A chunk travels round the ring and picks up a summand at every stop. At the
#   end rank $r$ holds the finished chunk $r + 1$.
# - **All-gather**, $p - 1$ steps. The finished chunks travel round, and what arrives
#   replaces what was there.
#
# **Think first:** how many bytes does each rank send in all, for n bytes on p ranks?
# Let p grow. What do you notice?
#
# ### Ring all-reduce (4 points)
#
# P. Patarasuk and X. Yuan described this algorithm in 2009. Baidu brought it to deep
# learning in 2017 (A. Gibiansky, *Bringing HPC Techniques to Deep Learning*), and
# Horovod, which you meet in unit 07, made it known. Two pieces of advice. If everybody
# begins with a blocking `send`, nobody listens. Unit 02 showed ways out; take one that
# lets everybody send at the same time. And draw three ranks on paper before you type.

# %% nbgrader={"grade": false, "grade_id": "ring_all_reduce", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """Sum a vector over all ranks, talking to the two neighbours only.

    x: contiguous tensor (n,) of real numbers, any dtype (but bool), n at least 1
    Returns: a new tensor (n,), even if p is 1, in the dtype of x, equal on all ranks

    - even sizes: p divides n. No collectives except a barrier.
    - any dtype: the sum has the dtype of x.
    - uneven sizes: n may be smaller than p, or not divisible by p.
    - all links at once: all ranks send at the same time. A rank makes at most 2 (p - 1)
      sends (empty ones count) of at most ceil(n / p) elements.
    - unchanged: x.

    Example: p = 4, n = 8: six sends of 2 elements on each rank.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = chunks[(rank - step) % p], chunks[(rank - step - 1) % p]
        arrived = torch.empty_like(incoming)
        request = dist.isend(outgoing, dst=right)
        dist.recv(arrived, src=left)
        request.wait()
        incoming += arrived
    for step in range(p - 1):
        request = dist.isend(chunks[(rank + 1 - step) % p], dst=right)
        dist.recv(chunks[(rank - step) % p], src=left)
        request.wait()
    return torch.cat(chunks)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_ring_all_reduce", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(ring_all_reduce)

# %% alt="Space-time diagram: in each of six steps every rank sends a quarter of the vector to its right neighbour; no port ever rests."
picture(ring_all_reduce)

# %% [markdown]
# Six steps, as many as through rank 0. But each message carries a quarter of the
# vector, and all four ports are busy from the first microsecond to the last.
#
# ![Three ways to all-reduce n bytes on four ranks. Parameter server: rank 0 sends and receives 3 n, the others n each; time 6 (α + n β). Tree: ranks 0 and 2 send and receive 2 n, ranks 1 and 3 n; time 4 (α + n β). Ring: every rank sends and receives 1.5 n in six steps; time 6 (α + n β / 4).](../../images/server_tree_ring.svg)
#
# Count it. The next cell asks the network how much the busiest rank sent and received,
# and when the last rank was done.

# %%
WAYS = {"server": server_all_reduce, "ring": ring_all_reduce}
if watch(tree_all_reduce, quiet=True):  # stretch: without it the others are compared
    WAYS["tree"] = tree_all_reduce
runs = {name: watch(function) for name, function in WAYS.items()}
WRITTEN = {name: WAYS[name] for name, run in runs.items() if run and not run.hang}

print(f"1 MB on {RANKS} ranks   messages  sent, MB  received, MB  time, µs")
for name in WRITTEN:
    counted = runs[name].ranks
    messages = max(r.sends for r in counted)
    sent = max(r.sent_bytes for r in counted) / 1e6
    received = max(r.received_bytes for r in counted) / 1e6
    time_us = runs[name].elapsed * 1e6
    print(f"{name:<17}{messages:>9}{sent:>10.2f}{received:>14.2f}{time_us:>10.0f}")

# %% [markdown]
# ## One formula for each
#
# You know the steps and the size of a message in each of the three ways. So you can say
# what an all-reduce costs on a network you have never seen, for as many ranks as you
# like.
#
# ### The time of an all-reduce (2 points)
#
# Nobody quotes $\beta$. Network cards are sold in gigabits per second, so the function
# takes the bandwidth in **bit/s**.

# %% nbgrader={"grade": false, "grade_id": "all_reduce_time", "locked": false, "schema_version": 3, "solution": true, "task": false}
def all_reduce_time(
    algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float
) -> float:
    """Return the time of an all-reduce of a vector.

    algorithm: "server" (through rank 0), "tree" (of pairs, in the fewest steps) or
        "ring"
    world_size: int, number of ranks, at least 1
    nbytes: int, bytes of the vector, a multiple of world_size
    latency: float, s for each message
    bandwidth: float, bit/s of each rank's port in each direction, in both at once
    Returns: float, s

    - through rank 0, and as a tree: a rank sends one message at a time and receives one
      at a time; adding up costs nothing. Rank 0 of "server" sends only after it has
      received all messages.
    - as a ring: all ranks send and receive at the same time.

    Example: all_reduce_time("ring", 2, 8, 0.0, 8.0) == 8.0
    """

    ### BEGIN SOLUTION
    def message(size):
        return latency + 8 * size / bandwidth

    if algorithm == "server":
        return 2 * (world_size - 1) * message(nbytes)
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(world_size)) * message(nbytes)
    return 2 * (world_size - 1) * message(nbytes / world_size)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_all_reduce_time", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(all_reduce_time)

# %% [markdown]
# Does it hold? The lines are your formula, the dots are your three functions on the
# simulated network. Left: four ranks, from small to large vectors. Right: a vector of
# 40 KB on more and more ranks. Every dot has to lie on its line.

# %%
def formula(algorithm, p, nbytes, alpha=ALPHA, beta=BETA):
    """Your all_reduce_time in microseconds, or nan while it is not written."""
    try:
        return all_reduce_time(algorithm, p, nbytes, alpha, 8 / beta) * 1e6
    except NotImplementedError:
        return math.nan


some_sizes, all_sizes = 4 * 10 ** np.arange(2, 7), np.geomspace(400, 4_000_000, 50)
some_worlds, all_worlds = (2, 5, 8, 16), range(2, 25)

# %% alt="Two charts of virtual time: over the bytes per rank on four ranks, and over the ranks for 40 KB. Every measured point of server, tree and ring lies on its formula's line; the tree is lowest for short vectors, the ring for long ones."
sizes, dots, worlds, points = {}, {}, {}, {}
for name in WAYS:
    sizes[name] = all_sizes, [formula(name, RANKS, nbytes) for nbytes in all_sizes]
    worlds[name] = all_worlds, [formula(name, p, 40_000) for p in all_worlds]
for name, way in WRITTEN.items():
    times = [watch(way, n=nbytes // 4).elapsed * 1e6 for nbytes in some_sizes]
    dots[name] = some_sizes, times
    times = [watch(way, p=p, n=10_000).elapsed * 1e6 for p in some_worlds]
    points[name] = some_worlds, times

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
y = {"ylabel": "virtual time, µs"}
title = f"{RANKS} ranks"
charts.compared(sizes, dots, left, log="xy", xlabel="bytes per rank", title=title, **y)
charts.compared(worlds, points, right, xlabel="ranks", title="40 KB per rank", **y);

# %% [markdown]
# Now your second and third guesses, on 64 ranks:

# %%
print(f"your guesses: {guess_2}, {guess_3}\n")
print(f"{'64 ranks, ms':<14}{'server':>12}{'ring':>12}{'tree':>12}")
for text, nbytes in (("4 B", 4), ("100 MB", 100_000_000)):
    print(
        f"{text:<14}"
        + "".join(f"{formula(way, 64, nbytes) / 1000:>12.3f}" for way in WAYS)
    )

# %% [markdown]
# One number: the **tree** wins, because every step costs the latency and the tree has
# the fewest steps. (Without the stretch your table lacks it: 0.060 and 120.060 ms.) 100
# MB: the **ring** wins, because now the bytes take the time, and the ring moves only
# $2 n (p - 1) / p$ bytes through each port in each direction. That is less than $2 n$
# for any p, and Patarasuk and Yuan (2009) prove that no algorithm gets away with less.
#
# Libraries therefore do not have just *one* all-reduce. MPI and NCCL look at the size
# and the number of ranks and choose.

# %% [markdown]
# ## On real ranks
#
# The simulated network was kind. Real ranks on one machine have no ports: a message is
# a copy in the memory that they all share, made by cores that they all share. With
# fewer than 4 cores, 4 ranks also take turns on them.
#
# **Predict before you run it.** On which side, small vectors or large ones, will the
# formula be further off? For 2 ranks or for 4?
#
# First $\alpha$ and $\beta$ of *this* machine, by ping-pong between ranks 0 and 1, as
# in unit 02:

# %%
# %%ranks
def ping_pong(nbytes, repeat):
    """Seconds of one message between ranks 0 and 1: half of the fastest of `repeat`
    round trips, as the others were disturbed.
    """
    x = torch.zeros(nbytes, dtype=torch.uint8, device=DEVICE)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        if rank == 0:
            dist.send(x, dst=1)
            dist.recv(x, src=1)
        else:
            dist.recv(x, src=0)
            dist.send(x, dst=0)
        if DEVICE != "cpu":
            torch.cuda.synchronize()  # a GPU works behind Python's back
        times.append((time.perf_counter() - start) / 2)
    return min(times)

# %%
# %%ranks
alpha = beta = None
if rank < 2:
    alpha = ping_pong(4, 200)
    beta = (ping_pong(4_000_000, 20) - alpha) / 4_000_000
if rank == 0:
    print(
        f"alpha = {alpha * 1e6:.1f} µs, beta = {beta * 1e9:.3f} ns per byte, that is "
        f"{1e-9 / beta:.1f} GB/s"
    )

# %% [markdown]
# Then the library's `all_reduce` on all ranks, and on two of them.
# `dist.new_group([0, 1])` makes a smaller group: collectives called with `group=pair`
# involve only its members.

# %%
# %%ranks
SIZES = [4, 64, 1024, 16_384, 262_144, 4_194_304, 16_777_216]  # bytes
pair = dist.new_group([0, 1])


def all_reduce_seconds(nbytes, group=None):
    """Seconds of one all_reduce on the slowest member, the fastest of several."""
    x = torch.zeros(nbytes // 4, device=DEVICE)
    times = []
    for _ in range(30 if nbytes < 1_000_000 else 5):
        dist.barrier(group=group)
        start = time.perf_counter()
        dist.all_reduce(x, group=group)
        if DEVICE != "cpu":
            torch.cuda.synchronize()  # a GPU works behind Python's back
        times.append(time.perf_counter() - start)
    slowest = torch.tensor(times, dtype=torch.float64, device=DEVICE)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX, group=group)
    return float(slowest.min())


on_all = [all_reduce_seconds(nbytes) for nbytes in SIZES]

# %%
# %%ranks
on_two = (
    [all_reduce_seconds(nbytes, group=pair) for nbytes in SIZES] if rank < 2 else None
)

# %% alt="Time of one all-reduce over the bytes per rank, both axes logarithmic, for 2 and 4 ranks: measured points and the formula's lines, flat for short vectors and rising for long ones."
SIZES, on_all, on_two, alpha, beta = (
    ranks.pull(name)[0] for name in ("SIZES", "on_all", "on_two", "alpha", "beta")
)
computed, measured = {}, {}
for p, seconds in ((2, on_two), (RANKS, on_all)):
    ways = [
        [formula(way, p, n, alpha, beta) for n in SIZES] for way in ("tree", "ring")
    ]
    computed[f"{p} ranks"] = SIZES, np.minimum(*ways)
    measured[f"{p} ranks"] = SIZES, 1e6 * np.array(seconds)
charts.compared(
    computed,
    measured,
    log="xy",
    xlabel="bytes per rank",
    ylabel="time of one all_reduce, µs",
    title="points: measured, lines: formula (tree or ring)",
);

# %% [markdown]
# The shape is the formula's: flat as long as latency dominates, then a straight line
# once the bytes do. The gap between points and lines is what the formula leaves out:
# adding up is not free, memory is shared, vectors of many megabytes no longer fit into
# the processor's cache (the ping-pong's did), and where ranks outnumber cores a rank
# often waits for its turn before it can even look at its message. How large the gap is
# depends on your machine. Compare the two colours: if you have only 2 cores, it is the
# 4 ranks that suffer.
#
# Your ring works on real ranks, too, unchanged. How far is its sum from the library's?

# %%
# %%ranks
x = torch.rand(1_000_000, device=DEVICE)
library = x.clone()
dist.all_reduce(library)
try:
    dist.barrier()
    start = time.perf_counter()
    mine = ring_all_reduce(x)
    if DEVICE != "cpu":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    if rank == 0:
        print(
            f"your ring {seconds * 1e3:.1f} ms, largest difference from the library "
            f"{float((mine - library).abs().max()):.1e}"
        )
except NotImplementedError:
    if rank == 0:
        print("ring_all_reduce is not written yet: come back to this cell when it is.")

# %% [markdown]
# The difference need not be zero. Floating-point sums depend on the order of the
# summands, and each algorithm has its own.

# %% [markdown]
# ## What changes with GPUs
#
# ![Two nodes with four GPUs each. Inside a node the GPUs are joined by NVLink, and by PCIe with host memory and the network card. A message between nodes without RDMA goes from the GPU into a buffer in host memory, to the card, over the network and up through another buffer; with GPUDirect RDMA it goes from GPU memory straight to the card and from the card straight to GPU memory.](../../images/nccl_rdma_topology.svg)
#
# - **NCCL** is the library of collectives for NVIDIA's GPUs;
#   `dist.init_process_group("nccl")` uses it, and your code stays as it is. It builds
#   rings and trees out of the links that it finds in the machine, and a collective runs
#   on the GPU itself.
# - **RDMA** lets a network card read and write the memory of another machine without
#   asking its processor. With *GPUDirect* that memory is the GPU's. The detour through
#   host memory disappears, and with it most of $\alpha$ and part of $\beta$.
# - **Topology**: links inside a node are many times faster than those between nodes. A
#   good all-reduce first adds up inside each node, sends one sum per node over the slow
#   links, and spreads the result inside. It is still reduce_scatter and all_gather,
#   once per kind of link.
#
# For example, IBM reported 1248.06 images per second on one node and 12043.78 on ten
# with its topology-aware all-reduce (B. Nelson, *Distributed Deep Learning*, CentOS
# Dojo at Oak Ridge, 2019). Compute the speedup:

# %%
print(
    f"speedup on 10 nodes: {12043.78 / 1248.06:.2f}, efficiency "
    f"{12043.78 / 1248.06 / 10:.1%}"
)

# %% [markdown]
# ## Break it
#
# Every rank must call the collective. Here is how that is forgotten, in code that looks
# perfectly sensible: one rank has nothing to report in this epoch, so it stays away.
# **Before you run it:** which ranks will hang?

# %% tags=["raises-exception"]
# %%ranks --deadline 4
loss = torch.tensor([0.5 + rank])
if rank != 1:  # rank 1 has no images left in this epoch, so it has nothing to report
    dist.all_reduce(loss)
print("loss", loss.item() / world_size)

# %% [markdown]
# Rank 1 printed happily and went on. The other three wait for it, and would wait
# forever. The report names the line, the operation and the rank that never came. The
# cure: *all* ranks call the collective, even with nothing to add (a zero), and only the
# `print` is one rank's business. The checks say the same immediately, without a
# deadline: their network knows who waits for whom.

# %% [markdown]
# ## What to remember
#
# - A **collective** involves all ranks of a group. All call it, in the same order, with
#   the same shape and dtype. It writes its result into a tensor that you pass.
# - `all_reduce` = `reduce` + `broadcast` = `reduce_scatter` + `all_gather`.
# - A message costs $\alpha + n \beta$. **Few steps** for small vectors (tree), **few
#   bytes per port** for large ones (ring).
# - In a ring every rank sends $2 n (p - 1) / p$ bytes: less than $2 n$ on any number of
#   ranks. Through rank 0 it is $(p - 1) n$ in and as much out, through one port.
# - Integers overflow and round down: average in floating point.
#
# **To think about.** A network has 160 layers, each with its own gradient tensor. You
# can call `all_reduce` 160 times, or copy all gradients into one long vector and call
# it once. What are the arguments for one call, and for 160? Unit 05 measures it.
#
# Next, unit 04 deals out the data.

# %% [markdown]
# ## Deeper: three more collectives
#
# ![Three more collectives as grids of ranks by chunks, before and after. Scatter deals the chunks of the root out to the ranks; gather collects one chunk of each rank on the root; all_to_all sends chunk j of rank i to rank j as its chunk i, a transposition of the grid.](../../images/collectives_deeper.svg)
#
# The same cell as at the beginning, for these three (the ranks were restarted after the
# hang, so everything is made again):

# %%
# %%ranks
mine = 10 * (rank + 1) + torch.arange(world_size, device=DEVICE)
here = torch.arange(world_size, device=DEVICE) == rank
nothing = torch.full_like(mine, -1)
before, after = {}, {}

before["scatter"] = mine if rank == 0 else nothing
t = torch.empty_like(mine[:1])
dist.scatter(t, list(mine.split(1)) if rank == 0 else None, src=0)
after["scatter"] = torch.where(here, t, nothing)

before["gather"] = torch.where(here, mine, nothing)
boxes = [torch.empty_like(t) for _ in range(world_size)] if rank == 0 else None
dist.gather(mine[here], boxes, dst=0)
after["gather"] = torch.cat(boxes) if rank == 0 else nothing

before["all_to_all"] = mine
after["all_to_all"] = torch.empty_like(mine)
dist.all_to_all_single(after["all_to_all"], mine)

# %% alt="Three pairs of grids, one row for each rank: what the ranks hold before and after scatter, gather and all_to_all, which transposes the grid."
tiles.before_and_after(ranks.pull("before"), ranks.pull("after"))

# %% [markdown]
# `all_to_all` transposes: row i becomes column i. You will meet it in unit 16, where a
# model is split over ranks and each rank holds tokens that others need.
#
# ## Deeper: one long vector or many short ones?
#
# The question at the end of *What to remember*, on your machine: 160 gradients of 1000
# numbers each, once one by one and once as one vector. Guess the factor first.

# %%
# %%ranks
gradients = [torch.rand(1000, device=DEVICE) for _ in range(160)]


def one_by_one():
    for gradient in gradients:
        dist.all_reduce(gradient)


def as_one_vector():
    dist.all_reduce(torch.cat(gradients))


for variant in (one_by_one, as_one_vector):
    times = []
    for _ in range(5):
        dist.barrier()
        start = time.perf_counter()
        variant()
        if DEVICE != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    if rank == 0:
        print(f"{variant.__name__:<14} {min(times) * 1e3:6.2f} ms")

# %%
ranks.stop()

# %% [markdown]
# ### To read
#
# - R. Thakur, R. Rabenseifner, W. Gropp, *Optimization of Collective Communication
#   Operations in MPICH*, 2005: the costs on this page, and more algorithms.
# - P. Patarasuk, X. Yuan, *Bandwidth Optimal All-reduce Algorithms for Clusters of
#   Workstations*, 2009: the ring, and why ranks cannot get by with less traffic when
#   they do the adding. (Switches that add up on the way can: in-network reduction.)
