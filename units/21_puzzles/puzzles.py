# %% [markdown]
# # 21 · Seven puzzles
#
# In unit 17 you wrote an order for one pipeline: the sequence of actions of each rank.
# Here are seven pipelines, each with its own bottleneck: little memory, a slow stage,
# slow links. You write an order for each, by hand or with a program of your own, and
# immediately see a picture of it, its time, and the memory that each rank needs. There
# is more than one right answer: an order passes if it fits in memory and wastes little
# time. After that you compete with a bound that no order can beat, and with the best
# order that we know.
#
# **At the end of this page** you can look at a pipeline and say which rank all others
# wait for, how short a step can be at best, and how much memory that takes.
#
# **You need** unit 17. **It takes** about 90 minutes. The cells themselves run for
# about 10 seconds. They take about 0.5 GB of memory.

# %%
from autograder import check
from labkit import timeline
from labkit.schedules import StandStill, replay

# %% [markdown]
# ## Guess first
#
# Four ranks, eight micro-batches; a forward pass takes 1 slot and a backward pass 2.
# 1F1B takes 3 (8 + 4 - 1) = 33 slots, and rank 0 keeps four micro-batches in memory.
#
# 1. Every rank has memory for only two micro-batches. How many slots does a step need?
# 2. Rank 1 is half as fast as the others. Does a step take a quarter longer, half as
#    long again, or twice as long?
# 3. Each hop from rank to rank takes a slot. Can more memory make up for all of that?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## How to write an order
#
# A picture of an order has a lane (a row) for each rank:
#
# ![1F1B with three micro-batches on four ranks as a timeline of 18 slots. A forward pass takes 1 slot, a backward pass 2; idle time is hatched. Arrows: each F0 waits for the F0 of the rank before, from rank 0 down to 3; each B0 waits for the B0 of the next rank, from rank 3 up to 0.](../../images/reading_a_timeline.svg)
#
# You write four strings, one for each rank. `F3` is the forward pass of micro-batch 3
# through this rank's layers, `B3` its backward pass. Write the strings by hand or
# compute them; lists of tuples, as in unit 17, also work. A micro-batch is *alive* on a
# rank from the beginning of its `F` to the end of its `B` (in puzzles 5 and 6, of its
# `W`).
#
# ![Rank 1 of 1F1B with five micro-batches. Below its forward and backward passes a bar for each micro-batch, from the beginning of its F to the end of its B. Below these, the number of bars at each time: it climbs to 3, stays there, and falls to 0. Most alive: 3.](../../images/alive_on_a_rank.svg)
#
# This is 1F1B:

# %%
one_f_one_b = [
    "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
    "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
    "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7",
    "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
]


def read(order):
    """("F", 3, 0) for "F3", ("F", 3, 1) for "F3.1", for each word of a string."""
    if not isinstance(order, str):
        return order
    words = [(word[0], *map(int, word[1:].split("."))) for word in order.split()]
    return [word if len(word) == 3 else (*word, 0) for word in words]

# %% alt="1F1B with 8 micro-batches on four ranks: forward and backward passes in turn, with white stairs at both ends. The memory of rank 0 stops at 4 MB, that of the others at 3, 2 and 1."
def attempt(orders, title=None, v=1, **machine):
    """Replay four orders, print their time and memory, and draw them."""
    try:
        ran = replay([read(order) for order in orders], 4, 8, v, **machine)
    except StandStill as stands_still:
        print(f"Deadlock: {stands_still}")
        return None
    print(
        f"{ran.elapsed:g} slots; most alive on each rank: {ran.alive.tolist()}, "
        f"{ran.alive.sum()} in all"
    )
    memory = [[(t, n * 1e6) for t, n in steps] for steps in ran.memory]
    return timeline.draw(ran.events, 4, title=title, memory=memory)


attempt(one_f_one_b, "1F1B")

# %% [markdown]
# In the picture a slot is one second, and each micro-batch that is alive takes 1 MB.
#
# Why can no order take fewer than 33 slots? Find a rank that is never idle between its
# first and its last action, and count the slots before and after:
#
# ![1F1B with eight micro-batches on four ranks. The actions of rank 3 are framed: they follow each other without a gap. 3 slots pass before it begins, F0 on ranks 0, 1 and 2; it works for 8 times (1 + 2) = 24 slots; then 6 slots pass, B7 on ranks 2, 1 and 0. Together 33 slots, and no order is shorter.](../../images/never_idle.svg)
#
# ## When nobody can go on
#
# One action in the wrong place is enough for a deadlock. Rank 0 needs the gradient of
# micro-batch 0 before it begins micro-batch 1, but rank 1 needs micro-batches 1 and 2
# before it computes that gradient:

# %%
stuck = [
    "F0 B0 F1 F2 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
    *one_f_one_b[1:],
]
attempt(stuck)

# %% [markdown]
# The message names the first action that can never run (places count from 0). Faults
# without a message show in the picture: find a waiting rank, and ask what it waits for.
#
# ![Two ranks in a deadlock. The order of rank 0 is F0 B0 F1 F2, that of rank 1 is F0 F1 F2 B0. After F0 rank 0 is at B0, rank 1 at F1. Arrows form a cycle: B0 of rank 0 needs B0 of rank 1, which needs F1 before it, which needs F1 of rank 0, which needs B0 before it.](../../images/nobody_goes_on.svg)

# %% [markdown] tags=["slide"]
# ## Puzzle 1: memory for two (2 points)
#
# Every rank has memory for two micro-batches. Look at rank 0: how long does its first
# micro-batch take to come back, and when can rank 0 begin a third one?

# %% nbgrader={"grade": false, "grade_id": "two_alive", "locked": false, "schema_version": 3, "solution": true, "task": false}
def two_alive() -> list[str]:
    """Write an order for 4 ranks with memory for two micro-batches each.

    Returns: list of 4 strings, the actions of each rank on 8 micro-batches

    - within memory and time: at most 54 slots; on each rank at most two micro-batches
      are alive (from the start of F to the end of B).

    Example: "F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5 F6 F7 B6 B7" is one rank's string.
    """
    ### BEGIN SOLUTION
    return [
        "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7",
        "F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5 F6 F7 B6 B7",
        "F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5 F6 F7 B6 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
    ]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_two_alive", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(two_alive)

# %% tags=["raises-exception", "no-slide"] alt="Your order with memory for two on four ranks: no curve of memory climbs above 2 MB."
print(f"your first guess: {guess_1}")
attempt(two_alive(), "Memory for two")

# %% [markdown] tags=["slide"]
# ## Puzzle 2: memory for three (2 points)
#
# Now every rank has memory for three. It is tempting to let every rank alternate
# forward and backward passes, as in 1F1B. But then a rank waits for a forward pass
# while a backward pass is ready.

# %% nbgrader={"grade": false, "grade_id": "three_alive", "locked": false, "schema_version": 3, "solution": true, "task": false}
def three_alive() -> list[str]:
    """Write an order for 4 ranks with memory for three micro-batches each.

    Returns: list of 4 strings, the actions of each rank on 8 micro-batches

    - within memory and time: at most 45 slots; on each rank at most three micro-batches
      are alive (from the start of F to the end of B).

    Example: "F0 F1 F2 B0 B1 B2 ..." keeps at most three alive.
    """
    ### BEGIN SOLUTION
    return [
        "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
        "F0 F1 F2 B0 B1 F3 B2 F4 F5 B3 B4 F6 B5 F7 B6 B7",
        "F0 F1 B0 F2 B1 B2 F3 F4 B3 F5 B4 B5 F6 F7 B6 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
    ]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_three_alive", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(three_alive)

# %% tags=["raises-exception", "no-slide"] alt="Your order with memory for three on four ranks: no curve of memory climbs above 3 MB."
attempt(three_alive(), "Memory for three")

# %% [markdown] tags=["slide"]
# ## Puzzle 3: a slow stage (2 points)
#
# Rank 1 has twice as many layers: F takes 2 slots there, B takes 4. Once it has begun,
# it should never wait. How can the others ensure that, and which rank has to keep more
# micro-batches alive than under 1F1B?

# %% nbgrader={"grade": false, "grade_id": "slow_stage", "locked": false, "schema_version": 3, "solution": true, "task": false}
def slow_stage() -> list[str]:
    """Write an order for 4 ranks where rank 1 takes twice as long as the others.

    Returns: list of 4 strings, the actions of each rank on 8 micro-batches

    - within memory and time: F takes 2 slots on rank 1 and 1 elsewhere, B 4 and 2; at
      most 54 slots; on each rank at most four micro-batches are alive (from the start
      of F to the end of B).

    Example: rank 1 alone works for 8 (2 + 4) = 48 slots.
    """
    ### BEGIN SOLUTION
    return [
        "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
        "F0 F1 F2 F3 B0 B1 B2 B3 F4 F5 F6 F7 B4 B5 B6 B7",
        "F0 F1 B0 F2 B1 F3 B2 B3 F4 F5 B4 F6 B5 F7 B6 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
    ]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_slow_stage", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(slow_stage)

# %% tags=["raises-exception", "no-slide"] alt="Your order where rank 1 is half as fast: its blocks are twice as wide and nearly without a gap, the other ranks wait for it."
slow_second = {"forward": [1, 2, 1, 1], "backward": [2, 4, 2, 2]}
print(f"your second guess: {guess_2}")
attempt(slow_stage(), "A slow stage", **slow_second)

# %% [markdown] tags=["slide"]
# ## Puzzle 4: slow links (2 points)
#
# A result reaches the neighbouring rank only a slot after it is ready. All ranks are
# equally fast again. 1F1B takes 49 slots and passes, but far fewer are possible: while
# one micro-batch travels, a rank could compute another, if it has one.

# %% nbgrader={"grade": false, "grade_id": "slow_links", "locked": false, "schema_version": 3, "solution": true, "task": false}
def slow_links() -> list[str]:
    """Write an order for 4 ranks whose messages take a slot each.

    Returns: list of 4 strings, the actions of each rank on 8 micro-batches

    - within memory and time: at most 49 slots; on each rank at most six micro-batches
      are alive (from the start of F to the end of B).

    Example: F0 ends on rank 0 after slot 1 and may begin on rank 1 after slot 2.
    """
    ### BEGIN SOLUTION
    orders = []
    for first in (5, 4, 2, 0):  # forward passes before the first pair
        order = [f"F{k}" for k in range(first)]
        for k in range(8):
            if first + k < 8:
                order.append(f"F{first + k}")
            order.append(f"B{k}")
        orders.append(" ".join(order))
    return orders
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_slow_links", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(slow_links)

# %% tags=["raises-exception", "no-slide"] alt="Your order where each hop takes a slot: each forward pass begins at least a slot after that of the rank before has ended."
slow_hops = {"hop": 1}
print(f"your third guess: {guess_3}")
attempt(slow_links(), "Slow links", **slow_hops)

# %% [markdown] tags=["slide"]
# ## Puzzle 5: weights later (2 points)
#
# The backward pass is split in two: `B3` computes the gradient of the input; `W3`
# computes that of the weights, at any later time on the same rank. `F3`, `B3` and `W3`
# take a slot each. A micro-batch stays alive until its `W` is done.

# %% nbgrader={"grade": false, "grade_id": "three_parts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def three_parts() -> list[str]:
    """Write an order for 4 ranks whose backward pass has two parts, B and W.

    Returns: list of 4 strings, the actions of each rank on 8 micro-batches

    - within memory and time: F, B and W take 1 slot each; at most 30 slots; on each
      rank at most five micro-batches are alive (from the start of F to the end of W).

    Example: "F0 B0 F1 W0 B1 W1 ..." keeps at most two alive.
    """
    ### BEGIN SOLUTION
    return [
        "F0 F1 F2 F3 F4 B0 W0 B1 F5 B2 W1 B3 "
        "F6 W2 F7 B4 W3 B5 W4 W5 B6 W6 B7 W7",
        "F0 F1 F2 F3 B0 W0 B1 F4 B2 W1 B3 F5 "
        "W2 F6 B4 W3 B5 F7 W4 W5 B6 W6 B7 W7",
        "F0 F1 F2 B0 W0 B1 F3 B2 W1 B3 F4 W2 "
        "F5 B4 W3 B5 F6 W4 F7 B6 W5 B7 W6 W7",
        "F0 B0 F1 B1 F2 B2 F3 B3 W0 W1 F4 B4 "
        "F5 B5 W2 W3 F6 B6 F7 B7 W4 W5 W6 W7",
    ]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_three_parts", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(three_parts)

# %% tags=["raises-exception", "no-slide"] alt="Your order with backward passes in two parts, B and W: what was white at the end is filled with W."
in_parts = {"forward": 1, "backward": 1, "weights": 1}
attempt(three_parts(), "Weights later", **in_parts)

# %% [markdown] tags=["slide"]
# ## Puzzle 6: a heavy head (2 points)
#
# The last rank also has the head, which computes a logit for each token of the
# vocabulary: F, B and W take 2 slots each there, and 1 on the other ranks. This puzzle
# is easier than it looks: which ranks must hurry, and which need not?

# %% nbgrader={"grade": false, "grade_id": "heavy_head", "locked": false, "schema_version": 3, "solution": true, "task": false}
def heavy_head() -> list[str]:
    """Write an order for 4 ranks, with B and W, where the last takes twice as long.

    Returns: list of 4 strings, the actions of each rank on 8 micro-batches

    - within memory and time: F, B and W take 2 slots each on rank 3, 1 each elsewhere;
      at most 57 slots; on each rank at most two micro-batches are alive (from the start
      of F to the end of W).

    Example: rank 3 alone works for 8 (2 + 2 + 2) = 48 slots.
    """
    ### BEGIN SOLUTION
    return [
        "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 F4 B3 "
        "W3 F5 B4 W4 F6 B5 W5 F7 B6 W6 B7 W7",
        "F0 F1 B0 W0 B1 F2 W1 F3 B2 W2 B3 F4 "
        "W3 F5 B4 W4 B5 F6 W5 F7 B6 W6 B7 W7",
        "F0 F1 B0 W0 B1 W1 F2 F3 B2 W2 B3 W3 "
        "F4 F5 B4 W4 B5 W5 F6 F7 B6 W6 B7 W7",
        "F0 B0 F1 B1 W0 W1 F2 B2 F3 B3 W2 W3 "
        "F4 B4 F5 B5 W4 W5 F6 B6 F7 B7 W6 W7",
    ]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_heavy_head", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(heavy_head)

# %% tags=["raises-exception", "no-slide"] alt="Your order where rank 3 is half as fast, with backward passes in two parts: its blocks are twice as wide and stand close together."
heavy_last = {part: [1, 1, 1, 2] for part in ("forward", "backward", "weights")}
attempt(heavy_head(), "A heavy head", **heavy_last)

# %% [markdown] tags=["slide"]
# ## Puzzle 7: two chunks on each rank (2 points)
#
# The model is cut into eight chunks; rank r has chunks r and r + 4. `F3.0` is the
# forward pass of micro-batch 3 through this rank's first chunk, `F3.1` through its
# second (the picture labels both alike). F takes 1 slot, B takes 2. After `F3.0` on
# rank 3 comes `F3.1` on rank 0. Interleaved 1F1B (unit 17, *stretch*) is as fast as
# possible, but keeps eleven forward passes alive on rank 0: too many.

# %% nbgrader={"grade": false, "grade_id": "two_chunks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def two_chunks() -> list[str]:
    """Write an order for 4 ranks with two chunks of the model each.

    Returns: list of 4 strings, the actions of each rank on both chunks of 8
        micro-batches

    - within memory and time: F takes 1 slot and B takes 2; at most 60 slots; on each
      rank at most eight forward passes, of both chunks together, are alive.

    Example: "F0.0 F1.0 F2.0 F3.0 F0.1 ..." can begin rank 0's string.
    """
    ### BEGIN SOLUTION
    places = [(group + k, j) for group in (0, 4) for j in (0, 1) for k in range(4)]
    forward = [f"F{k}.{j}" for k, j in places]
    backward = [f"B{k}.{1 - j}" for k, j in places]
    orders = []
    for rank in range(4):
        first = 4 + 3 - rank  # forward passes before the first backward pass
        order = forward[:first]
        for k in range(16 - first):
            order += [forward[first + k], backward[k]]
        orders.append(" ".join(order + backward[16 - first :]))
    return orders
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_two_chunks", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(two_chunks)

# %% tags=["raises-exception", "no-slide"] alt="Your order with two chunks on each of four ranks: blocks half as wide, and less white at both ends than under 1F1B."
chunks = {"v": 2}
attempt(two_chunks(), "Two chunks on each rank", **chunks)

# %% [markdown]
# ## What was to be found
#
# All seven bounds come from the same idea: some rank (or its memory) is never idle, and
# you count the slots before it can begin and after it is done.
#
# | puzzle | never idle | slots |
# |---|---|---|
# | memory for two | rank 0's memory: four rounds of two, each of 12 slots; the last micro-batch needs 3 more | 4 x 12 + 3 = 51 |
# | memory for three | rank 0's memory: three rounds, the last with only two | 3 x 12 + 3 = 39 |
# | a slow stage | rank 1: 8 x 6 slots, 1 before, 2 after | 51 |
# | slow links | the last rank: 8 x 3 slots, 6 before, 9 after | 39 |
# | weights later | the last rank: 8 x 3 slots, 3 before | 27 |
# | a heavy head | the last rank: 8 x 6 slots, 3 before | 51 |
# | two chunks | the last rank: 16 x 3 slots, 3 before, 6 after | 57 |
#
# All seven bounds can be reached. The other half of the game is the memory that this
# takes. There we have proved nothing: the best known numbers on your report cards come
# from orders that we have found. Compare some of your orders with 1F1B and with one
# micro-batch at a time (alive: the peaks of the ranks added up):

# %% tags=["raises-exception"]
in_turn = [" ".join(f"F{k} B{k}" for k in range(8))] * 4
for title, orders, machine in (
    ("one micro-batch at a time", in_turn, {}),
    ("memory for two", two_alive(), {}),
    ("memory for three", three_alive(), {}),
    ("1F1B", one_f_one_b, {}),
    ("1F1B with slow links", one_f_one_b, slow_hops),
    ("your order with slow links", slow_links(), slow_hops),
):
    ran = replay([read(order) for order in orders], 4, 8, **machine)
    print(f"{title:30}{ran.elapsed:3g} slots, {ran.alive.sum():2} alive in all")

# %% [markdown]
# Your best results of all units are kept in `work/records.json`; delete the file to
# start again in all of them.
#
# ## Deeper
#
# - P. Qi, X. Wan, G. Huang, M. Lin, *Zero Bubble Pipeline Parallelism*, arXiv
#   2401.10241: the idea of puzzle 5, with and without more memory, and a program that
#   searches for orders.
# - D. Narayanan et al., *Efficient Large-Scale Language Model Training on GPU Clusters
#   Using Megatron-LM*, 2021: chunks, as in puzzle 7.
