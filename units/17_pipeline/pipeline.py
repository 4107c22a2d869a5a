# %% [markdown]
# # 17 · Pipelines
#
# A model that does not fit on one device can be cut between its layers: the first
# layers on rank 0, the next on rank 1, and so on. The layers of one rank are its
# **stage**. Little data has to be sent: one activation forward and one gradient back at
# each cut. The cost is idle time: a rank has nothing to do until its neighbour has sent
# something. **Pipelining** splits the minibatch into *micro-batches* that follow each
# other, so that all ranks are busy nearly all the time. How close a pipeline comes to
# that, and how much memory it takes, depends on the number of micro-batches and on the
# *order* in which each rank does its work.
#
# **At the end of this page** you will have cut a transformer into stages, run a step of
# it with GPipe, and got the same gradients as from the whole model. You can then
# compute the idle time of a schedule and write down the order of 1F1B. In the stretch
# you run your own 1F1B and compare it with PyTorch's `pipelining`.
#
# **You need** units 02, 03 and 05. **It takes** about 120 minutes, the *stretch* 120
# more. Plan two sittings; parts marked *stretch* are optional. The cells themselves run
# for about 20 seconds on two cores. They take about 0.7 GB of memory.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import pipelining

from autograder import check
from labkit import data, models, simulation, timeline
from labkit.lessons.pipeline import Stage, show
from labkit.plots import charts
from labkit.schedules import StandStill, replay

# %% [markdown]
# ## Guess first
#
# A model is cut into 4 stages that take the same time, one on each of 4 ranks.
#
# 1. One minibatch passes through the model, forward and backward. How much faster is
#    that than on one rank that could hold the whole model?
# 2. Now the minibatch is split into 8 micro-batches that follow each other. What share
#    of the time is a rank idle?
# 3. Which rank needs the most memory for activations: the first, the last, or do all
#    need the same?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## A schedule and its timeline
#
# Write down what each rank does, one action after the other: this list is the rank's
# *order*, and the orders of all ranks are the *schedule*. `("F", 3)` is the forward
# pass of micro-batch 3 through this rank's layers, `("B", 3)` its backward pass. An
# action can begin when the rank has finished those before it and its input has arrived:
# for a forward pass the previous rank's activation, for a backward pass the next rank's
# gradient.
#
# ![A model of an embedding, eight blocks and a head, cut into four stages of two blocks, one stage on each of four ranks. Activations pass to the next rank, gradients of the activations back. Below, the first four slots: rank 0 starts micro-batches 0, 1, 2, 3 one after the other; in every slot each of them moves on to the next rank, and from slot 3 on all four ranks work.](../../images/pipeline_stages.svg)
#
# Follow micro-batch 0 down the diagonal: it moves on by one rank in each *slot* (the
# time of one forward pass). Rank 0 need not wait for it to come back before it starts
# micro-batch 1.
#
# `replay` works out when everything happens. It knows nothing about the model and
# assumes that a forward pass takes 1 slot and a backward pass 2. (For each layer a
# backward pass computes two matrix products, one for the gradient of the input and one
# for that of the weights; a forward pass computes one.)
#
# First one minibatch, not split. `show` replays a schedule and draws it. In the drawing
# a slot is one second, and the activations of one forward pass are 1 MB. A rank keeps
# these activations until the backward pass of the same micro-batch is done; until then
# the micro-batch is *alive* on this rank.

# %% alt="Space-time diagram of four ranks. The forward pass goes down the ranks like stairs and the backward pass up again, so that one rank works at a time and three quarters of the picture are white."
print(f"your first guess: {guess_1}")
show([[("F", 0), ("B", 0)]] * 4, m=1, title="One minibatch on 4 ranks")

# %% [markdown]
# That answers the first question: four ranks take exactly as long as one. Each works a
# quarter of the time and is idle for the rest. Cutting a model this way only makes it
# *fit*.
#
# Now the same work, split into 8 micro-batches. An eighth of the minibatch takes an
# eighth of the time. The drawing still shows a slot as one second, so compare the idle
# fractions of the two drawings, not their lengths. Every rank first does all forward
# passes, then all backward passes. That is **GPipe** (Huang et al. 2019):

# %% alt="GPipe with 8 micro-batches on four ranks: all forward passes, then all backward passes. White triangles of idle time lie at the beginning, between the two, and at the end; the memory of each rank climbs to 8 micro-batches."
def gpipe_order(m):
    return [("F", k) for k in range(m)] + [("B", k) for k in range(m)]


print(f"your second guess: {guess_2}")
show([gpipe_order(8)] * 4, m=8, title="GPipe, 8 micro-batches")

# %% [markdown]
# The white part is the **bubble**, and the line above the picture answers the second
# question. The curve under each rank shows how many micro-batches are alive there.
#
# Here are both schedules on one time axis, GPipe with 4 micro-batches (a slot is the
# time of one of its forward passes):
#
# ![Two schedules of four ranks on one time axis. One minibatch, not split: forward passes like stairs going down, backward passes going up again, 48 slots, each rank idle 75 % of the time. Split into four micro-batches: the same work in 21 slots, each rank idle 43 %; the hatched bubble lies before the forward passes, between them and the backward passes, and at the end. 27 slots are saved.](../../images/pipeline_uncut_and_cut.svg)
#
# ### The bubble (2 points)
# There are $p$ ranks and $m$ micro-batches. A *forward slot* is the slot from above; a
# *backward slot*, the time of a backward pass, is two of them. Look at the *lane* (the
# row) of the last rank: it waits for p - 1 forward slots, works without a break, and
# then waits for p - 1 backward slots while the others finish. All ranks wait for the
# same total time, but at different moments. So a rank is idle in $p - 1$ of the
# $m + p - 1$ forward slots, and likewise in $p - 1$ of the $m + p - 1$ backward slots.
#
# Write a function for this fraction. Later on this page a rank holds $v$ smaller pieces
# of the model, called *chunks*, instead of one stage, and each pass takes $1/v$ of the
# time. The rank works for $v m$ of these shorter forward passes and still waits for
# $p - 1$ of them; the same holds for the backward passes.

# %% nbgrader={"grade": false, "grade_id": "bubble", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bubble(p: int, m: int, v: int = 1) -> float:
    """Return the bubble, the fraction of the time in which a rank is idle.

    p: int, number of ranks
    m: int, number of micro-batches, at most 10**6
    v: int, number of chunks of the model on each rank
    Returns: float from 0 to 1

    - one chunk per rank: there are m + p - 1 forward slots and as many backward slots;
      a rank is idle in p - 1 of each.
    - v chunks per rank: a chunk's pass takes 1/v of a slot; a rank works for v m such
      passes forward and is idle for p - 1 more; the same holds backward.

    Example: bubble(4, 4) == 3 / 7
    """
    ### BEGIN SOLUTION
    return (p - 1) / (v * m + p - 1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_bubble", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(bubble)

# %% [markdown]
# ### How many micro-batches are enough? (2 points) · stretch
#
# More micro-batches make the bubble smaller, but very small micro-batches do not keep a
# device busy. So you want the smallest number that is enough. With chunks (v > 1) the
# number must be a multiple of p: one chunk works on p micro-batches, then the rank's
# next chunk takes its turn (more on this below).

# %% nbgrader={"grade": false, "grade_id": "enough_micro_batches", "locked": false, "schema_version": 3, "solution": true, "task": false}
def enough_micro_batches(p: int, share: float, v: int = 1) -> int:
    """Return the smallest number of micro-batches for which the bubble is small enough.

    p: int, number of ranks
    share: float, 0 < share <= 1, the largest bubble allowed
    v: int, number of chunks on each rank
    Returns: int, at least 1

    - one chunk per rank: the smallest m with bubble(p, m) <= share, compared as
      floats; equality is enough.
    - v chunks per rank: for v > 1, the smallest multiple m of p for which
      bubble(p, m, v) <= share.

    Example: enough_micro_batches(4, 0.1) == 27
    """
    ### BEGIN SOLUTION
    step = p if v > 1 else 1
    m = step
    while bubble(p, m, v) > share:
        m += step
    return m
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_enough_micro_batches", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(enough_micro_batches)

# %% [markdown]
# ## Stages: cutting a model
#
# The formula assumes that all stages take the same time. A pipeline is only as fast as
# its slowest stage, so the first job is to cut well.
#
# The model on this page is the course's small transformer: an embedding, 8 blocks, a
# layer norm, and a head that computes a logit for each of 96 characters. What does each
# module cost? We count the multiplications for one token: one for each weight of a
# linear layer, plus those of attention, which covers all positions of the window, even
# the later ones that the mask then removes. (The embedding only looks up a row: 0.)

# %%
WIDTH, CONTEXT, BLOCKS = 32, 16, 8
RANKS, BATCH = 4, 16


def whole_model():
    torch.manual_seed(17)
    return models.gpt(context=CONTEXT, width=WIDTH, heads=4, layers=BLOCKS).double()


def multiplications(name, module):
    """Per token: one for each weight of a matrix, plus attention's scores and sums."""
    weights = [m.weight.numel() for m in module.modules() if isinstance(m, nn.Linear)]
    attention = 2 * CONTEXT * WIDTH if name.startswith("block") else 0
    return sum(weights) + attention


names = [name for name, _ in whole_model().named_children()]
costs = [multiplications(*child) for child in whole_model().named_children()]
for name, cost in zip(names, costs):
    print(f"{name:10}{cost:8,}")

# %% [markdown]
# ### Partitioning layers into stages (3 points)
#
# Given the cost of each layer, how many consecutive layers does each stage get, so that
# the **slowest stage is as fast as possible**? Filling one stage after another up to
# the mean cost per stage is not always best. Two methods always find a best cut. Either
# search for the smallest limit on a stage's cost for which p stages are enough. Or
# build up from smaller problems: for $q = 2, 3, \dots, p$ and every $n$, find the best
# cut of the first $n$ layers into $q$ stages; one such cut consists of a best cut of
# fewer layers into $q - 1$ stages, and one last stage.
#
# ![Six layers of cost 1, 1, 4, 2, 4 and 5, partitioned into three stages in three ways; each bar is as long as its stage's cost, and hatching shows how long it waits for the slowest. Two layers each: 2, 6 and 9, so all wait for 9. Filled up to the mean: 2, 4 and 11. The best cut: 6, 6 and 5.](../../images/pipeline_cuts.svg)
#
# If the stages are filled up to the mean, the last one gets whatever is left: more than
# the other two together.

# %% nbgrader={"grade": false, "grade_id": "partition", "locked": false, "schema_version": 3, "solution": true, "task": false}
def partition(costs: list[int], p: int) -> list[int]:
    """Partition a model into p stages so that the slowest is as fast as possible.

    costs: list of ints, at least 0, the cost of each layer; their sum is below 2**62
    p: int, number of stages
    Returns: list of p ints, the number of layers in each stage, in order

    - the slowest stage is as fast as possible: a stage costs the sum of its layers'
      costs, and the largest of these is as small as possible. A stage is one or more
      consecutive layers. If several cuts are equally good, return any of them.
    - more stages than layers: raise ValueError.

    Example: partition([1, 1, 4, 2, 4, 5], 3) == [3, 2, 1]
    """
    ### BEGIN SOLUTION
    n = len(costs)
    if p > n:
        raise ValueError(f"{n} layers cannot be cut into {p} stages")
    upto = [sum(costs[:k]) for k in range(n + 1)]
    best = {(k, 1): (upto[k], [k]) for k in range(1, n + 1)}
    for q in range(2, p + 1):
        for k in range(q, n + 1):
            cuts = range(q - 1, k)
            tried = [
                (max(best[c, q - 1][0], upto[k] - upto[c]), best[c, q - 1][1] + [k - c])
                for c in cuts
            ]
            best[k, q] = min(tried)
    return best[n, p][1]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_partition", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(partition)

# %% tags=["raises-exception"]
def costs_of_stages(sizes):
    ends = np.cumsum(sizes)
    return [sum(costs[end - size : end]) for size, end in zip(sizes, ends)]


sizes = partition(costs, RANKS)
even = [3, 3, 3, 2]
for title, cut in (("your cut", sizes), ("equal layer counts", even)):
    stages = costs_of_stages(cut)
    seconds = np.array(stages) / np.mean(stages)
    orders = [gpipe_order(8)] * RANKS
    ran = replay(orders, RANKS, 8, forward=seconds, backward=2 * seconds)
    print(f"{title}: layers {cut}, costs {stages}; idle {ran.bubble.mean():.1%}")

# %% [markdown]
# A slow stage makes all others wait at every micro-batch. For the rest of this page all
# stages take the same time, so that all differences come from the schedule.

# %% [markdown]
# ## Half-time
#
# With p stages and m micro-batches a rank is idle for $(p - 1) / (m + p - 1)$ of the
# time, and the pipeline is only as fast as its slowest stage. You can cut a model well
# and read a timeline. This is a good place for a break: next you send activations and
# gradients between ranks.

# %% [markdown]
# ## GPipe
#
# Now with real tensors: each rank builds its stage of the transformer, and you send
# activations and gradients. On the simulated network of unit 03 **computing now takes
# virtual time**, too: the stage adds 1 ms for each forward pass and 2 ms for each
# backward pass to its rank's clock, however long your machine takes. With a hook that
# sees every saved tensor (unit 15) it also counts the bytes that autograd saves for
# each micro-batch's backward pass, excluding the weights. `Stage` does both; you can
# read it in `labkit/lessons/pipeline.py`, but you do not have to.

# %%
FORWARD, BACKWARD = 1e-3, 2e-3  # virtual seconds per stage and micro-batch


def stage_of(number, stages, chunks=1):
    """Stage `number`: two blocks if there are 4 stages, one if there are 8; the first
    also holds the embedding, the last the norm and the head."""
    per_stage = BLOCKS // stages
    first = 0 if number == 0 else 1 + number * per_stage
    last = 1 + (number + 1) * per_stage if number < stages - 1 else None
    return Stage(whole_model()[first:last], FORWARD / chunks, BACKWARD / chunks)

# %% [markdown]
# And the whole model on one rank, for comparison:

# %%
def minibatch():
    tokens = data.encode(data.text())
    x, y = data.windows(tokens, BATCH, CONTEXT, np.random.default_rng(17))
    return torch.from_numpy(x), torch.from_numpy(y)


def loss_of(logits, targets):
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def gradients_of(module):
    return torch.cat([p.grad.flatten() for p in module.parameters()])


whole = whole_model()
x, y = minibatch()
loss = loss_of(whole(x), y)
loss.backward()
parameters = len(gradients_of(whole))
print(f"the whole model: loss {loss.item():.6f}, {parameters:,} parameters")

# %% [markdown]
# ### Implementing GPipe (3 points)
#
# `block` is this rank's stage: call it with a micro-batch and you get an activation (on
# the last rank: the logits, which `loss_of` compares with the targets). PyTorch gives
# you the backward pass: `out.backward(g)` with the gradient `g` of the output, which
# comes from the next rank. Afterwards the gradient of the input is in `x.grad`, if you
# called `x.requires_grad_()` *before* the forward pass. Rank 0's inputs need no
# gradient.
#
# Three things to keep in mind. The autograd graph cannot be sent with an activation:
# send `out.detach()`. Receive each micro-batch into a new tensor, because its backward
# pass will need it again. And the loss of the minibatch is the mean over *all*
# micro-batches.

# %% nbgrader={"grade": false, "grade_id": "gpipe", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpipe(block, loss_of, xs, ys, m, shape):
    """Run one forward and backward pass of a pipeline over m micro-batches.

    block: this rank's stage, an nn.Module whose parameters' .grad is None at first;
        call it once for each micro-batch
    loss_of: function, loss_of(out, y) is the mean loss of a micro-batch
    xs: list of m input tensors of any shape and dtype on rank 0; None on the other
        ranks
    ys: list of m target tensors on the last rank; None on the other ranks
    m: int, number of micro-batches, all of the same size
    shape: tuple, shape of every tensor sent between two ranks; its dtype is float64
    Returns: float, the loss of the minibatch, on the last rank; any value on the others

    - the gradients of the whole model: leave the gradients of the minibatch's loss in
      the parameters of `block`. Any order that takes no longer than GPipe's is fine:
      m + p - 1 forward slots and as many backward slots.
    - one rank; fewer micro-batches than ranks: these must work as well.
    - messages: only between neighbours, one per micro-batch in each direction; no
      collective, no barrier.

    Example: p = 2, m = 2. Rank 0 sends two activations and receives two gradients.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    inputs, outputs, requests, total = [], [], [], 0.0
    for k in range(m):
        if rank == 0:
            x = xs[k]
        else:
            x = torch.empty(shape, dtype=torch.float64)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = block(x)
        if rank < p - 1:
            requests.append(dist.isend(out.detach(), rank + 1))
        inputs.append(x)
        outputs.append(out)
    for k in range(m):
        if rank == p - 1:
            loss = loss_of(outputs[k], ys[k]) / m
            total += loss.item()
            loss.backward()
        else:
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            outputs[k].backward(g)
        if rank > 0:
            requests.append(dist.isend(inputs[k].grad, rank - 1))
    for request in requests:
        request.wait()
    return total if rank == p - 1 else None
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_gpipe", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(gpipe)

# %% [markdown]
# Now the transformer: 4 ranks, 8 micro-batches of 2 windows each. Messages cost almost
# nothing: 0.1 µs each (`alpha`), nothing per byte (`beta`).

# %% tags=["raises-exception"]
def train(step, m):
    """Run one step of this rank's stage. Returns the loss and the stage's gradients."""
    rank, p = dist.get_rank(), dist.get_world_size()
    block = stage_of(rank, p)
    x, y = minibatch()
    xs = list(x.chunk(m)) if rank == 0 else None
    ys = list(y.chunk(m)) if rank == p - 1 else None
    shape = (BATCH // m, CONTEXT, WIDTH)
    loss = step(block, loss_of, xs, ys, m, shape)
    return loss, gradients_of(block)


def train_gpipe(m):
    return train(gpipe, m)

# %% tags=["raises-exception"] alt="GPipe on four ranks, in virtual time: the stairs of the replay above with thin arrows for the messages; under each rank the bytes that autograd keeps climb until the last forward pass and fall with each backward pass."
def measured(outcome):
    """The fraction of the virtual time in which ranks were idle."""
    busy = sum(rank.busy for rank in outcome.ranks)
    return 1 - busy / (len(outcome.ranks) * outcome.elapsed)


def compare(outcome):
    """Compare loss and gradients with those of the whole model."""
    loss_of_last = outcome.ranks[-1].value[0]
    found = np.concatenate([np.asarray(rank.value[1].values) for rank in outcome.ranks])
    print(f"loss {loss_of_last:.6f}, the whole model's {loss.item():.6f}")
    print(f"largest gradient difference: {abs(found - expected).max():.1e}")
    print(f"idle: {measured(outcome):.4f}")


expected = gradients_of(whole).numpy()
first = simulation.run(train_gpipe, RANKS, (8,), alpha=1e-7, beta=0)
compare(first)
print(f"formula: {bubble(RANKS, 8):.4f}")
title = "GPipe on the transformer"
timeline.draw(first.events, RANKS, title=title, memory=first.memory)

# %% [markdown]
# The loss and every gradient agree with the whole model's to the last digits of
# float64: GPipe is not an approximation. And the bubble is the one that the formula
# predicts.
#
# The curves under the lanes are measured, too: the bytes that autograd saved for the
# backward passes. At the peak, a rank keeps those of all 8 micro-batches. With more
# micro-batches the bubble shrinks, but the memory does not: a rank holds the
# activations of the whole minibatch. That is the price of this order, and it can be
# avoided.
#
# ## 1F1B: the same time, less memory
#
# Nothing requires all forward passes to come first. The last rank could begin the
# backward pass of micro-batch 0 as soon as the forward pass of that micro-batch is
# done, and then free its activations. While the earlier ranks wait for their first
# gradient, they run ahead, each by one more forward pass than the rank after it. So
# rank r begins with $p - 1 - r$ forward passes, the *warm-up*. After that it alternates
# between one forward pass and one backward pass ("one forward, one backward",
# **1F1B**). The remaining backward passes come last.
#
# ![GPipe and 1F1B for four ranks and six micro-batches on one time axis. Both take 27 slots and leave each rank idle 33 % of the time, hatched. GPipe does all forward passes first and keeps six micro-batches alive on every rank. 1F1B does some forward passes and then alternates between one forward and one backward pass; it keeps 4, 3, 2 and 1 micro-batches on ranks 0 to 3.](../../images/pipeline_gpipe_and_1f1b.svg)
#
# In the lower half of the figure each backward pass comes as early as it can.
#
# ### The order of 1F1B (3 points)
#
# Write a function that returns this order. The check replays it: it must finish, take
# no longer than GPipe and keep at most (p - rank) micro-batches alive on each rank.

# %% nbgrader={"grade": false, "grade_id": "order_1f1b", "locked": false, "schema_version": 3, "solution": true, "task": false}
def order_1f1b(rank: int, p: int, m: int) -> list[tuple[str, int]]:
    """List the passes of one rank in the order of 1F1B.

    rank: int, this rank, from 0 to p - 1
    p: int, number of ranks, one stage on each
    m: int, number of micro-batches
    Returns: list of ("F", k) and ("B", k), k from 0 to m - 1, each exactly once

    - GPipe's time with p - rank alive: the whole schedule takes at most 3 (m + p - 1)
      slots, where "F" takes one and "B" two. At any time at most p - rank micro-batches
      of a rank are alive, from the start of "F" to the end of "B".
    - fewer micro-batches than ranks: m may be smaller than p.

    Example: order_1f1b(1, 2, 2) == [("F", 0), ("B", 0), ("F", 1), ("B", 1)]
    """
    ### BEGIN SOLUTION
    ahead = min(m, p - 1 - rank)
    order = [("F", k) for k in range(ahead)]
    for k in range(m):
        if ahead + k < m:
            order.append(("F", ahead + k))
        order.append(("B", k))
    return order
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_order_1f1b", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(order_1f1b)

# %% tags=["raises-exception"] alt="1F1B with 8 micro-batches on four ranks: the white parts are as large as under GPipe, and the curve of memory stops at 4 micro-batches on rank 0, at 3, 2 and 1 on the others."
print(f"your third guess: {guess_3}")
show([order_1f1b(rank, 4, 8) for rank in range(4)], m=8, title="1F1B, 8 micro-batches")

# %% [markdown]
# It takes as long as GPipe, with the same bubble. Only the memory has changed: at most
# 4, 3, 2 and 1 micro-batches are alive on ranks 0 to 3, no matter how many there are in
# total. That answers the third question: GPipe keeps the same number on every rank,
# 1F1B the most on the first. For 4 to 64 micro-batches:

# %% tags=["raises-exception"] alt="Two charts over the number of micro-batches, 4 to 64. The bubble shrinks in the same way under both schedules. The number of micro-batches alive on rank 0 grows with their number under GPipe and stays at 4 under 1F1B."
counts = (4, 8, 16, 32, 64)
kept = {"GPipe": [], "1F1B": []}
for m in counts:
    for name, orders in (
        ("GPipe", [gpipe_order(m)] * 4),
        ("1F1B", [order_1f1b(rank, 4, m) for rank in range(4)]),
    ):
        kept[name].append(replay(orders, 4, m).alive[0])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
idle = {"both schedules, 4 ranks": (counts, [bubble(4, m) for m in counts], "ink o-")}
words = {"xlabel": "micro-batches", "xlim": (0, 68)}
charts.lines(idle, left, ylabel="bubble", ylim=(0, None), **words)
alive = {name: (counts, numbers) for name, numbers in kept.items()}
ylabel = "micro-batches alive on rank 0"
charts.lines(alive, right, legend="ends", ylabel=ylabel, ylim=(0, 70), **words);

# %% [markdown]
# ### Implementing 1F1B (4 points) · stretch
#
# The passes are those of your `gpipe`; only their order has changed. Take it from
# `order_1f1b`. **Think first:** in the middle of 1F1B rank 1 has an activation for rank
# 2, and rank 2 has a gradient for rank 1. What happens if both send first? (A send may
# block until its message is received.)

# %% nbgrader={"grade": false, "grade_id": "one_f_one_b", "locked": false, "schema_version": 3, "solution": true, "task": false}
def one_f_one_b(block, loss_of, xs, ys, m, shape):
    """Run the forward and backward passes of `gpipe` in the order of `order_1f1b`.

    block, loss_of, xs, ys, m, shape: as in `gpipe`
    Returns: float, the loss of the minibatch, on the last rank; any value on the others

    - the gradients of the whole model, p - rank alive: leave the same gradients as
      `gpipe` and take no more time (m + p - 1 forward slots and as many backward
      slots), but keep at most p - rank micro-batches alive at any time.
    - one rank; fewer micro-batches than ranks: these must work as well.
    - messages: only between neighbours, one per micro-batch in each direction; no
      collective, no barrier.

    Example: p = 4, m = 8. Rank 0 keeps at most 4 micro-batches, rank 3 only one.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, requests, total = {}, [], 0.0
    for what, k in order_1f1b(rank, p, m):
        if what == "F":
            x = xs[k] if rank == 0 else torch.empty(shape, dtype=torch.float64)
            if rank > 0:
                dist.recv(x, rank - 1)
                x.requires_grad_()
            out = block(x)
            kept[k] = x, out
            if rank < p - 1:
                requests.append(dist.isend(out.detach(), rank + 1))
            continue
        x, out = kept.pop(k)
        if rank == p - 1:
            loss = loss_of(out, ys[k]) / m
            total += loss.item()
            loss.backward()
        else:
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            out.backward(g)
        if rank > 0:
            requests.append(dist.isend(x.grad, rank - 1))
    for request in requests:
        request.wait()
    return total if rank == p - 1 else None
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_one_f_one_b", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(one_f_one_b)

# %% tags=["raises-exception"] alt="1F1B on four ranks: after a few forward passes each rank alternates between forward and backward passes. As much white as under GPipe, but the memory of rank 0 stops at 4 micro-batches and that of rank 3 at 1."
def train_1f1b(m):
    return train(one_f_one_b, m)


second = simulation.run(train_1f1b, RANKS, (8,), alpha=1e-7, beta=0)
compare(second)
title = "1F1B on the transformer"
timeline.draw(second.events, RANKS, title=title, memory=second.memory)

# %% [markdown]
# ## Break it: a send that blocks
#
# `dist.send` may block until its message is received. That does not hurt GPipe: all
# messages go one way, then all go the other way. Does it hurt 1F1B? The next two cells
# send the messages of both schedules, without a model, first with `isend`, then with
# `send`.

# %% tags=["raises-exception"]
def messages_alone(orders, blocking):
    """Run a rank's passes in order: receive, compute, send."""
    rank, p = dist.get_rank(), dist.get_world_size()
    x, requests = torch.zeros(4), []
    for kind, k in orders[rank]:
        source, target = (rank - 1, rank + 1) if kind == "F" else (rank + 1, rank - 1)
        if 0 <= source < p:
            dist.recv(x, source)
        simulation.compute(FORWARD if kind == "F" else BACKWARD, f"{kind}{k}")
        if 0 <= target < p:
            send = dist.send if blocking else dist.isend
            requests.append(send(x.clone(), target))
    for request in filter(None, requests):
        request.wait()

# %% tags=["raises-exception"]
ORDERS = {"GPipe": [gpipe_order(8)] * RANKS}
ORDERS["1F1B"] = [order_1f1b(rank, RANKS, 8) for rank in range(RANKS)]
for name, orders in ORDERS.items():
    for blocking in (False, True):
        arguments = orders, blocking
        broken = simulation.run(messages_alone, RANKS, arguments, alpha=1e-7, beta=0)
        said = "deadlock" if broken.hang else f"{broken.elapsed * 1e3:.1f} ms"
        print(f"{name:6}{'send' if blocking else 'isend':6}{said}")
print(broken.hang)

# %% [markdown]
# GPipe takes as long with `send` as with `isend`. 1F1B deadlocks: rank 2 wants to send
# an activation forward, rank 3 a gradient back, and neither receives. Where messages go
# in both directions, a rank must not wait for each send to complete before it goes on.
# You start the send and wait for it later; libraries start a send and a receive
# together, with one call (`batch_isend_irecv`, unit 02).
#
# A schedule can also deadlock without any network, if actions wait for each other in a
# cycle:

# %% tags=["raises-exception"]
def hasty(rank, p, m):
    """1F1B, but with the ranks numbered from the wrong end."""
    return order_1f1b(p - 1 - rank, p, m)


try:
    replay([hasty(rank, 4, 8) for rank in range(4)], 4, 8)
except StandStill as error:
    print(error)

# %% [markdown]
# ## Interleaved 1F1B: several chunks per rank · stretch
#
# A rank waits for $p - 1$ forward and $p - 1$ backward slots, so shorter passes mean a
# smaller bubble. Smaller stages make them shorter: cut the model into $v p$ **chunks**
# and deal them out to the ranks like cards, $v$ to each. With 4 ranks and $v = 2$, rank
# 0 holds chunks 0 and 4, rank 1 chunks 1 and 5. A micro-batch then goes around the
# ranks twice, and filling the pipeline takes $p - 1$ passes of half the length
# (Narayanan et al. 2021, arXiv 2104.04473).
#
# ![Above, a model of eight chunks dealt to four ranks: rank 0 holds chunks 0 and 4, rank 1 chunks 1 and 5, and so on. Below, two schedules of four micro-batches on one time axis. 1F1B with one stage per rank takes 21 slots, idle 43 %. Interleaved with two chunks per rank, passes half as long and each micro-batch twice on every rank, takes 16.5 slots, idle 27 %.](../../images/pipeline_interleaved.svg)
#
# The chunks of rank 0 are not neighbours in the model. In its lane each micro-batch has
# two forward passes, one without an underline and one with: its two trips around the
# ranks.
#
# The order: micro-batches go in **groups of p**. A group goes through the first chunk
# of every rank, then through the second chunk of every rank, and so on; then the next
# group. Backward passes go in the same groups, from the last chunk of every rank to the
# first. As in 1F1B, a rank begins with a warm-up, here of
#
# $$2 (p - 1 - \mathrm{rank}) + (v - 1) p$$
#
# forward passes (or all, if there are fewer); even for $v = 1$ that is more than in
# 1F1B, except on the last rank. Then it alternates between one forward and one backward
# pass, and finally it does the remaining backward passes.
#
# ### The order of interleaved 1F1B (4 points)
#
# An action now names the chunk, too: `("F", k, j)` is micro-batch k through chunk j of
# this rank, j from 0 to v - 1. (In the whole model it is chunk number `rank + j * p`.)
# If the last group would not be full, raise a ValueError.

# %% nbgrader={"grade": false, "grade_id": "order_interleaved", "locked": false, "schema_version": 3, "solution": true, "task": false}
def order_interleaved(rank: int, p: int, m: int, v: int) -> list[tuple[str, int, int]]:
    """List the passes of one rank in the order of interleaved 1F1B.

    rank: int, this rank, from 0 to p - 1
    p: int, number of ranks
    m: int, number of micro-batches
    v: int, number of chunks on each rank
    Returns: list of ("F", k, j) and ("B", k, j), micro-batch k through chunk j of this
        rank, j from 0 to v - 1, each exactly once

    - the bubble of v chunks: the whole schedule takes at most 3 (v m + p - 1) times
      the forward pass of one chunk, which is 1/v of a slot. At any time at most
      2 (p - 1 - rank) + (v - 1) p + 1 forward passes of a rank are alive (one for each
      micro-batch and chunk). Any order within both bounds is accepted.
    - p does not divide m: raise ValueError.

    Example: order_interleaved(0, 1, 1, 2) == [
        ("F", 0, 0), ("F", 0, 1), ("B", 0, 1), ("B", 0, 0)]
    """
    ### BEGIN SOLUTION
    if m % p:
        raise ValueError(f"{m} micro-batches do not make full groups of {p}")
    groups = [range(first, first + p) for first in range(0, m, p)]
    every = [(k, j) for group in groups for j in range(v) for k in group]
    forward = [("F", k, j) for k, j in every]
    backward = [("B", k, v - 1 - j) for k, j in every]
    ahead = min(m * v, 2 * (p - 1 - rank) + (v - 1) * p)
    order = forward[:ahead]
    for f, b in zip(forward[ahead:], backward):
        order += [f, b]
    return order + backward[m * v - ahead :]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_order_interleaved", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(order_interleaved)

# %% tags=["raises-exception"] alt="The interleaved order with two chunks on each of four ranks: blocks half as wide, and less white at the beginning and at the end than under 1F1B."
for v in (2, 4):
    orders = [order_interleaved(rank, 4, 8, v) for rank in range(4)]
    ran = replay(orders, 4, 8, v, forward=1 / v, backward=2 / v)
    print(
        f"v = {v}: {ran.elapsed:g} slots, idle {ran.bubble.mean():.4f}, formula "
        f"{bubble(4, 8, v):.4f}; alive, in micro-batches: {(ran.alive / v).tolist()}"
    )
orders = [order_interleaved(rank, 4, 8, 2) for rank in range(4)]
show(orders, 8, 2, "Interleaved, 2 chunks per rank", forward=0.5, backward=1.0)

# %% [markdown]
# Less idle time, but at a price: a rank keeps more activations than under 1F1B, and
# every micro-batch needs $v p - 1$ messages (*hops*) in each direction instead of
# $p - 1$, more than $v$ times as many. So far, they have cost next to nothing. In the
# next cell each hop takes a fraction of a slot:

# %% tags=["raises-exception"] alt="Total time in slots over the time of a message, for 1, 2 and 4 chunks per rank. With free messages 4 chunks are fastest and 1 is slowest. The line of 4 chunks is the steepest and crosses that of 2."
hops = [0, 0.05, 0.1, 0.2, 0.3]
slots = {}
for v in (1, 2, 4):
    if v == 1:
        orders = [order_1f1b(rank, 4, 8) for rank in range(4)]
    else:
        orders = [order_interleaved(rank, 4, 8, v) for rank in range(4)]
    parts = {"forward": 1 / v, "backward": 2 / v}
    times = [replay(orders, 4, 8, v, hop=hop, **parts).elapsed for hop in hops]
    slots[f"v = {v}"] = hops, times
xlabel = "time of a message, in forward slots"
charts.lines(
    slots, legend="ends", size=(5.6, 3.2), xlabel=xlabel, ylabel="total time in slots"
);

# %% [markdown]
# With free messages, four chunks are best. When a message takes more than about a
# seventh of a forward slot, two are better: with more chunks there are more messages.
#
# ## Explain: three claims
#
# **Claim 1: "negligible".** The GPipe paper (Huang et al., arXiv 1811.06965, section
# 2.3): "In our experiments, we found the bubble overhead to be negligible when M ≥ 4 ×
# K. This is also partly because re-computation during the backward pass can be
# scheduled earlier, without waiting for the gradients from earlier layers" (M
# micro-batches, K devices; the paper's "earlier layers" are the *later* layers of this
# page).
#
# Their GPipe keeps only the input of each stage and recomputes the activations inside
# it for the backward pass (activation checkpointing, unit 15). A micro-batch then
# occupies a stage for 4 slots: 1 for the forward pass, 1 for the recomputation, 2 for
# the backward pass. A recomputation needs no gradient, so a rank can do its first one
# while it waits for its first gradient. What is left of the waiting is one forward pass
# (1 slot) and one backward pass (2 slots) for each of the K - 1 cuts. So a rank works
# for 4 M slots and is idle for 3 (K - 1): the idle fraction is 3 (K - 1) / (4 M + 3 (K
# - 1)). What do this formula and the bubble formula give at M = 4 K? (The last column
# of the table below is the M at which the bubble without recomputation is 5 %: (K - 1)
# / (M + K - 1) = 1/20.)

# %% tags=["raises-exception"]
def recomputing(K, M):
    """The idle fraction if a rank recomputes while it waits for a gradient."""
    return 3 * (K - 1) / (4 * M + 3 * (K - 1))


print("          idle at M = 4 K   recomputing      5 % bubble at")
for K in (2, 4, 8, 16, 64):
    print(
        f"K = {K:2}: {bubble(K, 4 * K):17.1%} {recomputing(K, 4 * K):13.1%} "
        f"     M = {19 * (K - 1)}"
    )

# %% [markdown]
# At M = 4 K the idle fraction without recomputation is $(K - 1) / (5 K - 1)$, which
# tends to one fifth as K grows; with recomputation $3 (K - 1) / (19 K - 3)$, which
# tends to 3/19, not quite a sixth. But with recomputation there is a third more
# computation, and 3/19 is a fraction of this longer step. Whether it is negligible
# depends on who pays for it.

# %% [markdown]
# ### Measured throughput · stretch
#
# **Claim 2: table 2 of the same paper.** It gives the throughput of a transformer and
# of AmoebaNet (an image network found by architecture search) on TPUs, relative to K =
# 2 and M = 1. If only the schedule mattered, this throughput would be
# $K M / (M + K - 1)$, or $3.5\, K M / (4 M + 3 (K - 1))$ if the ranks recomputed while
# waiting (3.5 makes it 1 at K = 2 and M = 1).

# %%
MEASURED = {  # (K, M): AmoebaNet, transformer; GPipe, table 2
    (2, 1): (1.0, 1.0), (4, 1): (1.13, 1.07), (8, 1): (1.38, 1.3),
    (2, 4): (1.07, 1.7), (4, 4): (1.26, 3.2), (8, 4): (1.72, 4.8),
    (2, 32): (1.21, 1.8), (4, 32): (1.84, 3.4), (8, 32): (3.48, 6.3),
}  # fmt: skip

print("          formula  recomputing  transformer  of formula  AmoebaNet  of formula")
for (K, M), (amoeba, transformer) in MEASURED.items():
    formula = K * M / (M + K - 1)
    again = 3.5 * K * M / (4 * M + 3 * (K - 1))
    print(
        f"K={K} M={M:2}  {formula:7.2f} {again:12.2f} {transformer:12.2f}"
        f"{transformer / formula:12.0%} {amoeba:10.2f}{amoeba / formula:12.0%}"
    )

# %% [markdown]
# At M = 32 the transformer, whose layers are all the same, is within 8 % of both
# formulas. AmoebaNet reaches about half at K = 8. Its layers differ, and a pipeline
# waits for its slowest stage: this is why you wrote `partition`.
#
# At M = 1 recomputing while waiting explains the 1.07 at K = 4 and a part of the 1.3 at
# K = 8. At M = 4 both formulas fail for the transformer at K = 4 and K = 8: if all runs
# do the same work, they give 2.91 and 3.03 at K = 8; the measured 4.8 is at least 58 %
# more. There are two possible reasons. *The work* may differ between runs: "Batch size
# was adjusted to fit memory if necessary", says the caption, but not for which entries.
# *The baseline*: all entries are relative to the run with K = 2 and M = 1, where a
# device needs the most memory; if that run had a smaller batch and was slower because
# of it, all other entries would be too large (but then so would those at M = 32, which
# agree with the formulas). Without the batch sizes nobody can tell. For the transformer
# the table agrees with both formulas at M = 32; at M = 4 only the entry for K = 2 does,
# with the first.

# %% [markdown]
# ### Does latency grow with the number of devices?
#
# **Claim 3: "Latency proportional to the number of devices is incurred."** This is from
# an IBM slide on layer pipelining (B. Nelson, *Distributed Deep Learning*, CentOS Dojo,
# April 2019). How long does it take until the first micro-batch leaves the last stage?

# %%
def first_out(p, whole, hop):
    """Slots until rank p - 1 has done its first forward pass, if the whole model takes
    `whole` slots on one rank."""
    orders = [gpipe_order(8)] * p
    each = whole / p
    ran = replay(orders, p, 8, forward=each, backward=2 * each, hop=hop)
    return ran.ends[-1][0]


print("ranks   stages of fixed size   fixed model   fixed model, hop 0.1")
for p in (1, 2, 4, 8, 16):
    print(
        f"{p:5}   {first_out(p, p, 0):20.1f}   {first_out(p, 1, 0):11.1f}   "
        f"{first_out(p, 1, 0.1):20.1f}"
    )

# %% [markdown]
# If each device adds layers of its own, so that the model gets deeper, then yes: twice
# as many devices, twice the time until the first output. But a *given* model cut into
# more stages has the same layers to go through. Only the messages, one for each cut,
# and the bubble grow with the number of devices. The slide is right for stages of a
# fixed size.
#
# ## Pipelining in PyTorch · stretch
#
# `torch.distributed.pipelining` has the same schedules. You give it your stage and
# examples of its input and output (for the shapes of the messages); it splits the
# minibatch, sends and receives. On the same simulated network, with the same stages and
# the same virtual times:

# %% tags=["raises-exception"]
def train_with_torch(m):
    rank, p = dist.get_rank(), dist.get_world_size()
    block = stage_of(rank, p)
    x, y = minibatch()

    def like(width):  # an example of a message between two stages: shape and dtype
        shape = BATCH // m, CONTEXT, width
        return torch.zeros(shape, dtype=torch.float64, requires_grad=True)

    stage = pipelining.PipelineStage(
        block,
        rank,
        p,
        torch.device("cpu"),
        input_args=x[: BATCH // m] if rank == 0 else like(WIDTH),
        output_args=like(WIDTH if rank < p - 1 else len(data.CHARACTERS)),
    )
    schedule = pipelining.Schedule1F1B(stage, m, loss_fn=loss_of)
    losses = []
    given = {"target": y, "losses": losses} if rank == p - 1 else {}
    schedule.step(*([x] if rank == 0 else []), **given)
    loss = float(sum(losses)) / m if losses else None
    return loss, gradients_of(block)

# %% tags=["raises-exception"] alt="Two space-time diagrams, one below the other, yours and that of torch's Schedule1F1B: the same blocks at the same places."
library = simulation.run(train_with_torch, RANKS, (8,), alpha=1e-7, beta=0)
compare(library)
both = {"yours": second, "torch's Schedule1F1B": library}
charts.diagrams(both, RANKS);

# %% [markdown]
# The same gradients, the same idle time, the same picture. You can replace
# `Schedule1F1B` with `ScheduleGPipe` and change nothing else. Schedules with several
# chunks per rank (`ScheduleInterleaved1F1B`, `ScheduleInterleavedZeroBubble`) take a
# list of stages.
#
# ## What to remember
#
# - If you cut between layers, little data has to be sent. But without micro-batches
#   only one rank works at a time.
# - The bubble is $(p - 1) / (v m + p - 1)$ of the time, for GPipe and 1F1B ($v = 1$)
#   and for interleaved 1F1B.
# - In GPipe's order m micro-batches are alive on a rank, in 1F1B's at most p - rank,
#   and both take the same time if messages cost nothing. (The GPipe of the paper keeps
#   only the input of each stage, and recomputes.)
# - Interleaving makes the bubble smaller at the price of more messages and more memory.
# - When messages go in both directions, never block on a send.
# - The gradients are exact. (Pipelines that update the weights between micro-batches
#   are different; none on this page does that.)
# - A pipeline is only as fast as its slowest stage.
#
# **To think about.** In many language models the embedding, in the first stage, and the
# head, in the last, share one matrix ("tied weights"). In a pipeline they are on
# different ranks. What has to happen after the backward passes, and which collective
# does it?

# %% [markdown]
# ## Bonus: zero bubble
#
# A backward pass computes two things: the gradient of the *input*, which the neighbour
# waits for, and the gradients of the *weights*, which nobody waits for. 1F1B computes
# both together, so the neighbour waits for both. Split them: **B** computes the
# gradient of the input and sends it immediately, **W** computes the gradients of the
# weights at any later time, for example where the bubble was (Qi, Wan, Huang and Lin,
# *Zero Bubble Pipeline Parallelism*, arXiv 2401.10241).
#
# ![A backward pass in two parts: B, the gradient of the input, goes to the previous rank, which waits for it; W, the gradients of the weights, stays, and nobody waits for it. Below, two schedules of four micro-batches on one time axis. 1F1B with backward passes that are not split takes 21 slots, idle 43 %. With B first and W postponed into the gaps it takes 15 slots, idle 20 %: each rank is idle for only p - 1 = 3 slots, before its first F and its first B.](../../images/pipeline_zero_bubble.svg)
#
# A rank's B no longer waits for the W of the next rank. Compare rank 0 and rank 3: how
# far is W behind B on each?
#
# ### Splitting the backward pass (3 points)
#
# Autograd computes only the gradients that you ask for: `torch.autograd.grad(out, x,
# gradient, retain_graph=True)` computes the gradient of x alone and keeps the tensors
# that a second backward pass will need.

# %% nbgrader={"grade": false, "grade_id": "split_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def split_backward(out, x, gradient, parameters):
    """Compute the gradient of a layer's input now, and those of its weights later.

    out: tensor, the layer's output for the input x
    x: tensor, the layer's input; x.grad is None at first, and you may overwrite it
    gradient: tensor, the gradient of out; neither you nor the caller may change it
    parameters: list of the layer's parameters, at least one; out depends on each
    Returns: (gradient of x, function without arguments that computes the others)

    - input now, weights later: `split_backward` runs the backward pass for x alone. The
      returned function is called once, later. Only then does it run a single backward
      pass, for the parameters alone, and add each parameter's gradient to its .grad.
      Until then no parameter's .grad changes (at first each is None).

    Example: for out = w * x with a scalar w the first result is gradient * w. Calling
    the second adds the sum of gradient * x to w.grad.
    """
    ### BEGIN SOLUTION
    (of_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)

    def later():
        found = torch.autograd.grad(out, parameters, gradient)
        for parameter, g in zip(parameters, found):
            parameter.grad = g if parameter.grad is None else parameter.grad + g

    return of_x, later
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_split_backward", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(split_backward)

# %% [markdown]
# ### The order of a zero-bubble pipeline (3 points)
#
# Now F, B and W take one slot each. Start from your 1F1B and postpone each W. By how
# much? A W still needs the activations, so a micro-batch now stays alive until its W,
# and no more than p may be alive on any rank. Under 1F1B the last rank keeps the
# fewest, so it can postpone the most.

# %% nbgrader={"grade": false, "grade_id": "order_zero_bubble", "locked": false, "schema_version": 3, "solution": true, "task": false}
def order_zero_bubble(rank: int, p: int, m: int) -> list[tuple[str, int]]:
    """List the passes of one rank in an order with only p - 1 idle slots.

    rank: int, this rank, from 0 to p - 1
    p: int, number of ranks, one stage on each
    m: int, number of micro-batches, at least p
    Returns: list of ("F", k), ("B", k) and ("W", k), k from 0 to m - 1, each once

    - p - 1 idle slots, 1F1B's memory: the whole schedule takes at most 3 m + p - 1
      slots, where "F", "B" and "W" take one each. At any time at most p micro-batches
      are alive on a rank, from the start of "F" to the end of "W": as many as on rank 0
      under 1F1B.

    Example: for p = 1 and m = 1 the only order is [("F", 0), ("B", 0), ("W", 0)].
    """
    ### BEGIN SOLUTION
    order, postponed = [], []
    for what, k in order_1f1b(rank, p, m):
        order.append((what, k))
        if what == "B":
            postponed.append(("W", k))
            if len(postponed) > rank:
                order.append(postponed.pop(0))
    return order + postponed
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_order_zero_bubble", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(order_zero_bubble)

# %% tags=["raises-exception"] alt="Three space-time diagrams of four ranks, one below the other: 1F1B with backward passes that are not split, with each W directly after its B, and with W postponed. In the third, W fills what was white at the end of the other two."
def directly(rank, p, m):
    """1F1B with each W directly after its B."""
    pairs = [[a, ("W", a[1])] if a[0] == "B" else [a] for a in order_1f1b(rank, p, m)]
    return [action for pair in pairs for action in pair]


parts = {"forward": 1.0, "backward": 1.0, "weights": 1.0}
compared = {
    "1F1B, backward passes not split": (order_1f1b, {}),
    "1F1B, each W directly after its B": (directly, parts),
    "W postponed": (order_zero_bubble, parts),
}
runs = {}
for title, (order, seconds) in compared.items():
    ran = replay([order(rank, 4, 8) for rank in range(4)], 4, 8, **seconds)
    print(f"{title:35}{ran.elapsed:g} slots, idle {ran.bubble.mean():.1%}")
    runs[title] = ran
charts.diagrams(runs, 4);

# %% [markdown]
# Only p - 1 of the 3 (p - 1) idle slots are left, and no rank keeps more than rank 0
# did under 1F1B. A table in the authors' repository says the same of the schedule that
# they call ZB1P (memory for p micro-batches): a bubble of $(p - 1) / (3 m)$. (This is a
# fraction of the 3 m slots of work; the percentages on this page are fractions of the
# whole time.) In ZB2P (memory for 2 p micro-batches) a rank is idle only before its
# first F and after its last W; the table counts that as none, because the next step can
# fill it. Both hold if F, B and W take the same time. ZB2P also needs an optimizer step
# that does not wait for all stages; gradient clipping does wait, because it needs the
# norm over all of them.
