# %% [markdown]
# # 02 · Point to point
#
# In unit 01 each rank worked on its own, and the ranks met only once, at the end. From
# now on they talk. The smallest conversation has two ends: one rank **sends**, another
# **receives**. Everything else in this course, even the all-reduce that averages your
# gradients, is made of such messages.
#
# **At the end of this page** you can move a tensor from any rank to any other, in two
# ways; you know what a message costs on your machine, per message and per byte; you
# have seen a program that works with small messages and hangs with large ones, and you
# know three ways to write it so that it never hangs.
#
# **You need** unit 00, and from unit 01 the habit of asking "what if it does not divide
# evenly?". **It takes** about 145 minutes, the *stretch* 5 more: two sittings. The
# cells themselves run for less than a minute on two cores. They take about 1 GB of
# memory.

# %%
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from autograder import check
from labkit import ranks, simulation, timeline
from labkit.plots import charts

RANKS = 4
DEVICE = "cpu"  # where the tensors of the real ranks live

# %%
ranks.start(RANKS, torch=True)

# %% [markdown]
# ## Guess first
#
# Write down a number for each. Nobody marks them, but only a number you wrote down can
# surprise you.
#
# 1. How long do 4 bytes take to get from one process to another on this machine, in
#    microseconds?
# 2. And 4 *million* bytes?
# 3. Four ranks sit in a circle. Each calls `recv` from its left neighbour, and in the
#    next line `send` to its right neighbour. How long does that take?

# %%
guess_1, guess_2, guess_3 = "? µs", "? µs", "? µs"

# %% [markdown]
# ## Who am I?
#
# `ranks.start(..., torch=True)` has already called `dist.init_process_group("mpi")` on
# every rank. Since then `torch.distributed`, `dist` for short, knows all the ranks.
# This layer of PyTorch is called *c10d*. The library that moves the bytes for it is its
# **backend**: here MPI, on GPUs usually NCCL. Your code stays the same.

# %%
# %%ranks
print(
    f"rank {dist.get_rank()} of {dist.get_world_size()}, backend {dist.get_backend()}"
)

# %% [markdown]
# ### Exercise: who_am_i (1 point)
#
# In a `%%ranks` cell the variables `rank` and `world_size` are already there. A
# function that must work anywhere has to ask `dist` for them. The check runs yours on
# 2, 3, 4 and 5 ranks.

# %% nbgrader={"grade": false, "grade_id": "who_am_i", "locked": false, "schema_version": 3, "solution": true, "task": false}
def who_am_i() -> tuple[int, int]:
    """Return this rank and the number of ranks.

    Returns: (rank, world_size), ints

    - any number of ranks: the numbers are right on every rank, however many there are.

    Example: with 4 ranks the last one gets (3, 4).
    """
    ### BEGIN SOLUTION
    return dist.get_rank(), dist.get_world_size()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_who_am_i", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check(who_am_i)

# %% [markdown]
# ## A message
#
# A message needs two ends. The sender says *what* to send and *to whom*, the receiver
# says *where to put it* and *from whom* it comes:
#
# ```python
# dist.send(tensor, dst=1)     # on rank 0
# dist.recv(tensor, src=0)     # on rank 1: fills a tensor that exists already
# ```
#
# Three things about `recv` surprise everybody once. It does not return the data but
# **fills the tensor you give it** (its return value is the rank of the sender). That
# tensor must have as many elements as the message, and the same dtype, because only
# the bytes travel. And `recv` waits until the message arrives, if need be for ever.
#
# ![Two timelines of rank 0, which sends, and rank 1, which receives. Above, rank 1 is early: recv waits until rank 0 calls send, then x travels and both calls end. Below, rank 0 is early: send may wait until rank 1 calls recv, then x travels and both calls end.](../../images/send_and_recv.svg)
#
# All ranks run the same lines, so the lines have to say who does what:

# %% alt="Space-time diagram of four ranks: rank 0 sends one word to rank 1, an arrow from lane to lane; the other two do nothing."
# %%ranks --timeline
word = torch.tensor([42 if rank == 0 else 0], device=DEVICE)
if rank == 0:
    dist.send(word, dst=1)
elif rank == 1:
    dist.recv(word, src=0)
print(f"I hold {word.item()}")

# %% [markdown]
# Time runs from left to right, one lane per rank. The arrow is the message. Ranks 2 and
# 3 do nothing, and nobody waits for them. In a **collective**, such as the `allreduce`
# of unit 00, every rank has to take part.
#
# ### Exercise: send_matrix (2 points)
#
# Rank 0 has a 3 x 4 matrix of ones, rank 1 wants it. That is `send_matrix(1.0, 0, 1)`.
# Write it so that any rank can be the source and any other the destination. **Before
# you write it:** how many bytes will travel?

# %% nbgrader={"grade": false, "grade_id": "send_matrix", "locked": false, "schema_version": 3, "solution": true, "task": false}
def send_matrix(value: float, source: int, destination: int) -> torch.Tensor:
    """Send a matrix from one rank to another with blocking send and recv.

    value: float, the number that fills the matrix
    source: int, the rank that sends
    destination: int, another rank, which receives
    Returns: float32 tensor (3, 4), this rank's matrix

    - from rank 0 to rank 1: each rank makes a matrix: the source fills it with `value`,
      all others with zeros. The source sends its matrix as one message. On source and
      destination the result is filled with `value`, on the others with zeros.
    - between any two ranks: the other ranks neither send nor wait.

    Example: send_matrix(1.0, 0, 1) with 4 ranks: ones on ranks 0 and 1, zeros on 2 and
    3.
    """
    ### BEGIN SOLUTION
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, dst=destination)
    elif rank == destination:
        dist.recv(matrix, src=source)
    return matrix
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_send_matrix", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(send_matrix)

# %% [markdown]
# The card says how many bytes were sent: 12 numbers of 4 bytes each. Now on your real
# ranks:

# %%
# %%ranks
print(send_matrix(1.0, 0, 1))

# %% [markdown]
# ## Not waiting
#
# `send` and `recv` **block**: the next line runs only when the call is done. Often you
# have something better to do meanwhile, and sometimes you must not wait yet, as you
# will see soon. `isend` and `irecv` (the i is for *immediate*) only start the message.
# They return a **request** at once, and `request.wait()` returns when this rank's
# side of the message is done.
#
# Until then the tensor does not belong to you. It is like a letter that is half in the
# post-box: what you write on it now may or may not arrive. So between `isend` and
# `wait()` do not write to the tensor, and between `irecv` and `wait()` do not even read
# it.
#
# ![Timelines of two ranks. Rank 0 calls isend, has something better to do, and calls wait(); in between it must not write to x. Rank 1 calls irecv, and wait() later; in between it must neither read x nor write to it. After wait() x is theirs again.](../../images/request_and_wait.svg)
#
# **Predict:** the receiver breaks this rule: it prints its tensor before waiting as
# well as after. What will you see?

# %%
# %%ranks 0,1
letter = torch.full((2,), float(rank))
if rank == 0:
    time.sleep(0.2)  # rank 0 is late
    request = dist.isend(letter, dst=1)
else:
    request = dist.irecv(letter, src=0)
    print("started: ", letter.tolist())
request.wait()
if rank == 1:
    print("complete:", letter.tolist())

# %% [markdown]
# ### Exercise: move_matrix (2 points)
#
# The same task without blocking, and this time the matrix moves: at the end only the
# destination has it. The source is left with zeros, and must not clear a tensor that is
# still being sent.

# %% nbgrader={"grade": false, "grade_id": "move_matrix", "locked": false, "schema_version": 3, "solution": true, "task": false}
def move_matrix(value: float, source: int, destination: int) -> torch.Tensor:
    """Move a matrix from one rank to another with isend and irecv.

    value: float, the number that fills the matrix
    source: int, the rank that sends
    destination: int, another rank, which receives
    Returns: float32 tensor (3, 4), this rank's matrix

    - from rank 0 to rank 1: each rank makes a matrix: the source fills it with `value`,
      all others with zeros. Exactly one message is sent: the source's matrix.
      On the destination the result is filled with `value`, on all others with zeros.
      A rank may return its own matrix, cleared, or a new one, made in this call.
    - between any two ranks: wait for every request.

    Example: move_matrix(1.0, 0, 1): ones on rank 1, zeros on all others.
    """
    ### BEGIN SOLUTION
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.isend(matrix, dst=destination).wait()
        matrix.zero_()
    elif rank == destination:
        dist.irecv(matrix, src=source).wait()
    return matrix
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_move_matrix", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(move_matrix)

# %% [markdown]
# ## One after the other
#
# Ranks run at their own pace. If all of them write into one file, whose line comes
# first? In the notebook you never notice, because `%%ranks` sorts the output by rank. A
# file does not sort.

# %%
folder = tempfile.TemporaryDirectory()  # goes away with the notebook's kernel
log = Path(folder.name) / "log.txt"

# %%
# %%ranks
for turn in range(3):
    time.sleep(0.02 * np.random.rand())  # some work, never quite the same
    with log.open("a") as file:
        file.write(f"turn {turn}, rank {rank}\n")

# %%
print(log.read_text())

# %% [markdown]
# Run the two cells again: the new lines come in a different order. An order that nobody
# enforces is luck, and luck runs out on the day of the deadline.
#
# A message can enforce it. **A receive cannot end before its send has begun**: this is
# how one rank knows what another has already done. So pass a token, like the baton in a
# relay race: nobody runs before it is there.
#
# ### Exercise: print_in_turn (2 points)
#
# Every rank prints its own line, in the order of the ranks. Use point-to-point messages
# only; who sends to whom is up to you. The check is not kind: it starts some ranks
# late, and any order that your messages do not enforce comes out wrong.

# %% nbgrader={"grade": false, "grade_id": "print_in_turn", "locked": false, "schema_version": 3, "solution": true, "task": false}
def print_in_turn(line: str) -> None:
    """Print a line on every rank, in the order of the ranks.

    line: str, this rank's line, without a line break; it may be empty
    Changes: nothing; each rank prints its line once, to standard output, with
        print(line), flushed or not

    - in order: rank 0 prints first, then rank 1, and so on.
    - with slow ranks: a rank prints only after the previous rank's print has returned.
      It learns this from a message (send and recv, or isend and irecv).
    - messages: no collectives, no barrier.

    Example: 3 ranks, rank 1 starts late: rank 2 waits for it.
    """
    ### BEGIN SOLUTION
    rank, world_size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, src=rank - 1)
    print(line)
    if rank < world_size - 1:
        dist.send(token, dst=rank + 1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_print_in_turn", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(print_in_turn)

# %% [markdown]
# On real ranks, writing to the file again:

# %% alt="Space-time diagram: a token goes from rank to rank; each waits for it, prints, and sends it on to the next."
# %%ranks --timeline
from contextlib import redirect_stdout

with log.open("a", buffering=1) as file, redirect_stdout(file):
    print_in_turn(f"in turn: rank {rank}")

# %%
print(log.read_text())

# %% [markdown]
# Look at the staircase in the timeline (if your function works). It is the price: while
# one rank prints, all later ones wait. You have turned a parallel program into a
# sequential one. Use such a token for printing, never for computing.

# %% [markdown]
# ## Half-time
#
# You can send and receive with and without waiting, and you know the one thing that a
# message tells you about another rank: its send has begun. This is a good place for a
# break. Next you measure what a message costs, and make ranks wait for each other for
# ever.

# %% [markdown]
# ## What does a message cost?
#
# You cannot simply time one message with a clock on each side: the clocks of two
# machines agree to the microsecond only if they are kept in step, for example by PTP,
# the Precision Time Protocol. So let the message come back, and use one clock. Rank 0
# sends, rank 1 returns the message: **ping-pong**. The other ranks do nothing.
#
# A single ping-pong may be unlucky, because the operating system is busy with something
# else. So we play many and take the median. The first ones do not count: they set up
# buffers and touch memory pages for the first time.

# %%
SIZES = [4**k for k in range(1, 13)]  # bytes: 4 B to 16 MiB

# %%
# %%ranks
def ping_pong(nbytes, rounds):
    """Seconds of a round trip between ranks 0 and 1, the median of `rounds` trips."""
    ball = torch.zeros(nbytes, dtype=torch.uint8, device=DEVICE)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        if rank == 0:
            dist.send(ball, dst=1)
            dist.recv(ball, src=1)
        else:
            dist.recv(ball, src=0)
            dist.send(ball, dst=0)
        if DEVICE != "cpu":
            torch.cuda.synchronize()  # a GPU works behind Python's back
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))

# %%
# %%ranks
round_trip_s = None
if rank < 2:
    for nbytes in SIZES:
        ping_pong(nbytes, 3)  # to warm up
    round_trip_s = [
        ping_pong(nbytes, 300 if nbytes < 100_000 else 15) for nbytes in SIZES
    ]

# %% alt="Points: time of one way over the size of the message, both axes logarithmic. Flat for small messages, then rising as a straight line."
round_trip_s = ranks.pull("round_trip_s")[0]
one_way_us = 1e6 * np.array(round_trip_s) / 2
words = {
    "xlabel": "size of the message, bytes",
    "ylabel": "time for one way, µs",
    "title": "Half a ping-pong between ranks 0 and 1",
}
charts.lines(
    {"measured": (SIZES, one_way_us, "blue o")}, log="xy", legend=None, **words
);

# %% [markdown]
# Both axes are logarithmic. Compare with your guesses. Now look at the two ends of the
# curve.
#
# On the left it is nearly flat: 4 bytes take as long as 64. You pay for the message,
# not for its bytes, and this cost is called the **latency**, $\alpha$. On the right the
# time grows with the size. There you pay for the bytes, $\beta$ seconds for each, and
# $1/\beta$ is the **bandwidth**. In between the curve bends. Together:
#
# $$ t(n) = \alpha + \beta\, n $$
#
# It is the simplest useful model of a network, and in unit 03 it will decide which
# all-reduce is the fastest.
#
# ![The time of messages as bars of two parts: alpha for the message, beta for each of its bytes. Latency is 83 % of the time for 1 kB, 38 % for 8 kB, 14 % for 32 kB. Eight messages of 1 kB pay alpha eight times and take 3.7 times as long as one of 8 kB.](../../images/message_cost.svg)
#
# ### Exercise: fit_alpha_beta (2 points)
#
# Get the two numbers out of measurements. This is a plain function: no ranks. Sizes and
# times may be lists or arrays. Two hints. The measured times are for the way *there and
# back*. And a fit that minimises the squared errors in seconds cares about the large
# messages only: if the largest takes 3 ms, 5 % of that is more than all small ones
# together. `np.polyfit` takes weights; with `w=1/time` it minimises relative errors.
# (The check accepts a fit without weights, too: its measurements are clean enough.)

# %% nbgrader={"grade": false, "grade_id": "fit_alpha_beta", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fit_alpha_beta(sizes_bytes, round_trip_s) -> tuple[float, float]:
    """Fit t(n) = alpha + beta n to the times of a ping-pong.

    sizes_bytes: list (k,) of ints, or array (k,) of int32 or int64, sizes of the
        messages in any order; a size may occur more than once, but not all are equal
    round_trip_s: list or array (k,), s (> 0) that each message took there and back
    Returns: (alpha, beta) of one way, floats, in s and s/byte

    - exact times: every time is 2 (alpha + beta n).
    - noisy times: fit all of them, for example by least squares.

    Example: fit_alpha_beta([0, 100], [2.0, 4.0]) == (1.0, 0.01)
    """
    ### BEGIN SOLUTION
    one_way = np.asarray(round_trip_s) / 2
    beta, alpha = np.polyfit(sizes_bytes, one_way, 1, w=1 / one_way)
    return float(alpha), float(beta)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_fit_alpha_beta", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(fit_alpha_beta)

# %% [markdown]
# Now on your own measurements:

# %% tags=["raises-exception"] alt="The same points with the curve of alpha plus beta n, which is flat at first and then rises through them; a vertical line marks the size at which both parts cost the same."
alpha, beta = fit_alpha_beta(SIZES, round_trip_s)
print(f"latency    alpha  = {1e6 * alpha:8.1f} µs")
print(f"bandwidth  1/beta = {1e-9 / beta:8.2f} GB/s")
print(f"both cost the same at {alpha / beta / 1000:.0f} kB")

n = np.geomspace(SIZES[0], SIZES[-1], 200)
both = {
    "measured": (SIZES, one_way_us, "blue o"),
    "$\\alpha + \\beta n$": (n, 1e6 * (alpha + beta * n), "red -"),
}
ax = charts.lines(both, log="xy", **words)
charts.guide(ax, "$n = \\alpha / \\beta$", x=alpha / beta)

# %% [markdown]
# The model is a straight line; it only looks bent on these axes. It will not go through
# all your points, and that is a finding, too: the library treats small and large
# messages in different ways (you will soon see how), and data that fits into a cache of
# the processor is copied faster than data that does not.
#
# Keep the third number in mind, $\alpha/\beta$. A message much smaller than that costs
# as much as an empty one, so **send few large messages rather than many small ones**.
# This is why DistributedDataParallel collects gradients in buckets (of 25 MiB by
# default) before it sends them.

# %% [markdown]
# ## Break it: the deadlock
#
# Now your third guess. Every rank passes its number to the right and gets one from the
# left. Read the code. It looks fair to everybody.

# %%
# %%ranks --deadline 3
mine = torch.tensor([10.0 * rank])
left, right = (rank - 1) % world_size, (rank + 1) % world_size

arrived = torch.zeros(1)
dist.recv(arrived, src=left)
dist.send(mine, dst=right)
print(f"I got {arrived.item()} from rank {left}")

# %% [markdown]
# Start at any rank in the report: it waits for its left neighbour, which waits for its
# own left neighbour, and after four steps you are back where you started. Nobody has
# sent anything, because the send is in the *next* line. This circle is a **deadlock**,
# and it lasts exactly as long as your patience.
#
# ### The other way round
#
# Then send first! **Predict** what happens. Write it down, then run the three cells:
# they define the function, send one number, and send a million.

# %%
def send_first(n: int) -> float:
    """Every rank sends n numbers to the right, then receives from the left. Returns the
    first number that arrived.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine, arrived = torch.full((n,), 10.0 * rank), torch.zeros(n)
    dist.send(mine, dst=(rank + 1) % world_size)
    dist.recv(arrived, src=(rank - 1) % world_size)
    return arrived[0].item()

# %%
# %%ranks --deadline 3
print("I got", send_first(1))

# %%
# %%ranks --deadline 3
print("I got", send_first(1_000_000))

# %% [markdown]
# The lines are the same, but one number works and a million hang. This is the nastiest
# bug of the unit, because it passes every test with small data and strikes when the
# model grows.
#
# The reason is how a library sends. A short message goes out at once, into a buffer at
# the receiver, and stays there until `recv` asks for it. This is the **eager**
# protocol: `send` is done before anybody has received. A long message does not fit into
# the buffer. So the sender only announces it, and waits until the receiver has said
# where to put it: the **rendezvous** protocol. The size at which one gives way to the
# other depends on the library and the network (kilobytes, not megabytes), and no
# standard guarantees it. By the MPI standard, a `send` may *always* wait for its
# `recv`.
#
# ![Two ways to send, as timelines of two ranks. Small, eager: the message goes into a buffer at rank 1 at once, send is over, and recv takes it from the buffer later. Large, rendezvous: rank 0 announces 4 MB and send waits; only when rank 1 calls recv and answers do the bytes travel.](../../images/eager_and_rendezvous.svg)
#
# A program that works only thanks to the buffer is called **unsafe**. The checks in
# this course find it at once: their simulated network has no buffers at all. On it
# every send waits for its receive, so even a single number hangs:

# %%
outcome = simulation.run(send_first, RANKS, (1,))
print(outcome.hang)

# %% [markdown]
# ### Three ways out
#
# **One: an order.** Somebody has to go first. Even ranks send and then receive, odd
# ranks receive and then send, so each send meets a receive.
#
# ![Two rings of four ranks. Left, all send first: each send waits for the recv of the next rank, a circle of four arrows, and no rank reaches its recv. Right, even ranks send first and odd ranks receive first: 0 sends to 1 and 2 to 3, and then, dashed, 1 to 2 and 3 to 0.](../../images/ring_of_waits.svg)
#
# **Two: do not wait.** Start the send, receive, and only then wait for the send.
#
# **Three: tell the library everything at once.** `batch_isend_irecv` takes a list of
# sends and receives and sorts out the order. On GPUs this is the safe way: with NCCL,
# an `irecv` may have to wait in a queue behind an `isend` that is not complete.

# %%
def by_parity(mine: torch.Tensor) -> torch.Tensor:
    """Way one. On a ring of 3 or 5 two neighbours are both even: it still ends, only
    later.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % world_size, (rank + 1) % world_size
    arrived = torch.empty_like(mine)
    if rank % 2 == 0:
        dist.send(mine, dst=right)
        dist.recv(arrived, src=left)
    else:
        dist.recv(arrived, src=left)
        dist.send(mine, dst=right)
    return arrived

# %%
def without_waiting(mine: torch.Tensor) -> torch.Tensor:
    """Way two."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(mine)
    request = dist.isend(mine, dst=(rank + 1) % world_size)
    dist.recv(arrived, src=(rank - 1) % world_size)
    request.wait()
    return arrived


def as_a_batch(mine: torch.Tensor) -> torch.Tensor:
    """Way three."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(mine)
    operations = [
        dist.P2POp(dist.irecv, arrived, (rank - 1) % world_size),
        dist.P2POp(dist.isend, mine, (rank + 1) % world_size),
    ]
    for request in dist.batch_isend_irecv(operations):
        request.wait()
    return arrived

# %%
# %%ranks --deadline 20
mine = torch.full((1_000_000,), 10.0 * rank, device=DEVICE)
for way in (by_parity, without_waiting, as_a_batch):
    print(f"{way.__name__:16} {way(mine)[0].item()}")

# %% [markdown]
# All three survive the million. Are they equally fast? Ask the simulated network: it
# computes the time from $\alpha$ and $\beta$ instead of measuring it, so nothing
# disturbs the picture. Each rank sends 1 MB; $\alpha$ = 5 µs, $1/\beta$ = 10 GB/s:

# %%
ways = {
    "by_parity": by_parity,
    "without_waiting": without_waiting,
    "as_a_batch": as_a_batch,
}
outcomes = {
    name: simulation.run(way, RANKS, (torch.zeros(250_000),))
    for name, way in ways.items()
}
for name, outcome in outcomes.items():
    print(f"{name:16} {outcome.elapsed * 1e6:6.1f} µs")

# %% alt="Space-time diagram of four ranks: the even ranks send to the right first while the odd ones receive, then the other way round; two steps."
timeline.draw(
    outcomes["by_parity"].events, RANKS, title="an order: even ranks send first"
)

# %% alt="Space-time diagram of four ranks: all send to the right at once and receive from the left meanwhile; one step."
timeline.draw(
    outcomes["without_waiting"].events, RANKS, title="not waiting: all send at once"
)

# %% [markdown]
# The fixed order takes twice as long: while the even ranks send, the odd ones only
# receive. Without waiting, every rank sends and receives at the same time, and every
# link is busy. Remember this picture, a ring in which everybody sends to the right at
# once. It is the engine of unit 03.
#
# ### Exercise: exchange (2 points)
#
# Two partners swap their tensors. The argument `partner` says who swaps with whom, and
# it is not always a neighbour. With an odd number of ranks one is left over and is its
# own partner. **Think first:** why is "even ranks send first" not enough here?

# %% nbgrader={"grade": false, "grade_id": "exchange", "locked": false, "schema_version": 3, "solution": true, "task": false}
def exchange(x: torch.Tensor, partner: int) -> torch.Tensor:
    """Swap tensors with another rank.

    x: contiguous tensor of any shape and any real dtype or bool, both the same on all
        ranks
    partner: int, the rank to swap with; its partner is this rank
    Returns: tensor like x, the partner's numbers

    - neighbours: talk to the partner only. It works even if each send waits for its
      recv.
    - any partners: a rank that is its own partner returns x or a copy of it.
    - unchanged: x.

    Example: ranks 0 and 2 are partners, 1 is alone: rank 1 gets its own x.
    """
    ### BEGIN SOLUTION
    if partner == dist.get_rank():
        return x.clone()
    received = torch.empty_like(x)
    request = dist.isend(x, dst=partner)
    dist.recv(received, src=partner)
    request.wait()
    return received
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_exchange", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(exchange)

# %% [markdown]
# ### Exercise: ring_pass (3 points)
#
# The last exercise brings it all together. Every rank starts with one row of numbers,
# and in the end every rank has the rows of all. But each talks to its two neighbours
# only: in every step it passes on to the right what has just come from the left. After
# how many steps has everybody seen everything? And whose row arrives in step $s$?
#
# Draw four ranks in a circle on paper, and move the letters A, B, C, D round it. Then
# write the function, for any number of ranks.

# %% nbgrader={"grade": false, "grade_id": "ring_pass", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ring_pass(x: torch.Tensor) -> torch.Tensor:
    """Pass the rows of all ranks once round the ring.

    x: contiguous tensor (n,), of any real dtype or bool, n the same on all ranks
    Returns: tensor (p, n) in the dtype of x, row r is the x of rank r

    - a ring of four: each of p ranks makes p - 1 sends, all to its right neighbour
      (rank + 1) % p; no collective, no barrier. A send may wait for its recv.
    - rings of any size: p may be 1, and n may be 0: p empty rows, sent like any others.
    - unchanged: x.

    Example: p = 3: two sends on each rank, and all return the same 3 rows.
    """
    ### BEGIN SOLUTION
    rank, world_size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % world_size, (rank + 1) % world_size
    table = torch.empty(world_size, len(x), dtype=x.dtype)
    table[rank] = x
    for step in range(1, world_size):
        came_last, comes_now = (
            (rank - step + 1) % world_size,
            (rank - step) % world_size,
        )
        request = dist.isend(table[came_last], dst=right)
        dist.recv(table[comes_now], src=left)
        request.wait()
    return table
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_ring_pass", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(ring_pass)

# %% [markdown]
# On your real ranks, with the timeline:

# %% alt="Space-time diagram of four ranks that pass their values once round the ring: in every step each sends to the right and receives from the left."
# %%ranks --timeline
print(ring_pass(torch.tensor([10 * rank, 10 * rank + 1])))

# %% [markdown]
# And on the simulated network, where four ranks need not share two cores:

# %% tags=["raises-exception"] alt="Space-time diagram of 1 MB per rank going once round the ring: every step takes the same time on all four ranks."
rows = [(torch.full((250_000,), float(r)),) for r in range(RANKS)]
outcome = simulation.run(ring_pass, RANKS, rows)
timeline.draw(outcome.events, RANKS, title="1 MB per rank, once round the ring")

# %% [markdown]
# ## What to remember
#
# - A message has two ends: a `send` that names the receiver, and a `recv` that names
#   the sender and provides a tensor of the right size and dtype.
# - `isend` and `irecv` return at once. The tensor is yours again after `wait()`.
# - The only order between two ranks is the one that messages enforce. Everything else
#   is luck.
# - $t(n) = \alpha + \beta n$. Small messages pay latency, large ones bandwidth, and one
#   large message is cheaper than many small ones.
# - A `send` may wait until it is received. A program that relies on buffers hangs when
#   the data grows.
# - Three ways out of a deadlock: an order, not waiting, a batch.
#
# **To think about.** `ring_pass` gives every rank the rows of all $p$ ranks. Rank 0
# could also collect all rows and send the whole table to everybody. A rank can send one
# message and receive one at the same time, each in $\alpha + \beta n$. How long does
# each way take for 8 ranks with 1 MB each? And which links are idle meanwhile? Unit 03
# begins where your answer ends.

# %% [markdown]
# ## Deeper: from anybody
#
# A receive may leave the sender open: `dist.recv(tensor)` without `src` takes the next
# message, whoever sent it, and **returns the sender's rank** (MPI can do this, NCCL
# cannot). A rank that hands out work uses it to serve whoever is ready first. Here rank
# 0 collects, and the others work for different times:

# %%
# %%ranks
result = torch.tensor([float(rank)], device=DEVICE)
if rank == 0:
    order = []
    for _ in range(world_size - 1):
        sender = dist.recv(result)
        order.append(sender)
    print("they came in the order", order)
else:
    time.sleep(0.05 * (world_size - rank))
    dist.send(result, dst=0)

# %% [markdown]
# Had rank 0 asked for rank 1, then 2, then 3, it would have waited for the slowest
# first while the others queued. The price: the order may change from run to run. So
# store results by *who sent them*, never by when they came. Otherwise sums differ in
# the last digits from run to run, and one day two results will be swapped.
#
# ## Deeper: tags, and who may overtake whom
#
# `send` and `recv` take a `tag`, a number on which both sides must agree. Two messages
# between the *same* two ranks never overtake each other if they have the same tag:
# first sent, first received. Messages from *different* ranks have no order at all. With
# different tags a receiver can take the second message first, if the first was sent
# without waiting:

# %%
# %%ranks 0,1
DATA, NEWS = 1, 2
if rank == 0:
    requests = [
        dist.isend(torch.tensor([1.5]), dst=1, tag=DATA),
        dist.isend(torch.tensor([9.0]), dst=1, tag=NEWS),
    ]
    for request in requests:
        request.wait()
else:
    box = torch.zeros(1)
    for tag, name in ((NEWS, "news"), (DATA, "data")):
        dist.recv(box, src=0, tag=tag)
        print(f"{name}: {box.item()}")

# %% [markdown]
# You rarely need tags, and NCCL has none. When two parts of a program must not take
# each other's messages, give each its own group (`dist.new_group`) instead.
#
# ## Deeper: how long is a ring?
#
# One step of `ring_pass` costs $\alpha + \beta n$, and there are $p - 1$ of them. Does
# your function achieve that? On the simulated network you can try more ranks than your
# machine could run:

# %% tags=["raises-exception"]
n_bytes, network_alpha, network_beta = 4000, 5e-6, 1e-10
for p in (2, 4, 8, 16):
    outcome = simulation.run(
        ring_pass,
        p,
        (torch.zeros(n_bytes // 4),),
        alpha=network_alpha,
        beta=network_beta,
    )
    formula = (p - 1) * (network_alpha + network_beta * n_bytes)
    print(
        f"{p:3} ranks   computed {outcome.elapsed * 1e6:6.1f} µs   formula "
        f"{formula * 1e6:6.1f} µs"
    )

# %% [markdown]
# If yours takes longer than the formula, some rank waits although it could send. Draw
# its timeline and find the gap.

# %%
ranks.stop()
folder.cleanup()
