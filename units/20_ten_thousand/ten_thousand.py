# %% [markdown]
# # 20 · Ten thousand
#
# Nobody can lend you 16,384 GPUs. But everything that decides how long a training step
# takes on them can be counted: who talks to whom over which link, what a rank has to
# hold, how long it waits. In units 15 to 19 you wrote the parts. Here you put them
# together: you price a mesh of tensor, pipeline and data parallelism link by link,
# replay a pipeline order of your own on 16,384 ranks, and check the tables of four
# papers.
#
# **At the end of this page** you can say for a model and a machine which mesh to take
# and what it costs, tell which utilisation a paper prints, and know what failures add
# at this size and what a budget buys.
#
# **You need** units 15 to 19. **It takes** about 90 minutes, the *stretch* 145 more. The
# cells themselves run for about 25 seconds. They take about 0.6 GB of memory.

# %%
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from autograder import check
from labkit import simulation
from labkit.lessons import ten_thousand as given
from labkit.plots import meshes
from labkit.scale import (
    Mesh, Plan, Step, Trouble, every_mesh, explore, machine, nodes, order_1f1b,
    order_interleaved, planner, published, replay_step, run_step, young_daly,
)

# %% tags=["parameters"]
ROWS = 10  # of Megatron-LM's table, whose meshes are searched for
REPLICAS = 128  # of sixteen stages and eight tensor ranks

# %% [markdown]
# ## Guess first
#
# Write down what you think before you read on; the page answers all four.
#
# 1. On 1,024 GPUs, eight in each node, somebody swaps two axes: neighbouring ranks hold
#    the same parameters, and those that share a layer are on eight different nodes. The
#    same bytes are sent. How many times as long does a step take?
# 2. Every layer on every rank takes a little longer, at random: 2 % on average. All
#    16,384 ranks wait for each other. How much longer does a step take? Is it worse
#    with 1F1B or with interleaved chunks?
# 3. One paper reports 52 % of the peak, another 46 %. Which of the two uses its machine
#    better?
# 4. How much of 54 days do 16,384 GPUs lose to failures, saves and restarts, at best?
#
# (You need not read the functions called `given.` on this page: they turn rows of
# published tables into models, plans and meshes. They are in
# `labkit/lessons/ten_thousand.py`, and `help(given)` shows them.)

# %%
guess_1, guess_2, guess_3, guess_4 = "?", "?", "?", "?"

# %% [markdown]
# ## A mesh
#
# A rank has one number, but three coordinates decide what it does: which **data** it
# works on, which **stage** of the pipeline it is, which **part of a layer's matrices**
# it holds. PyTorch describes such a mesh by a shape:
# `init_device_mesh("cpu", (2, 2, 4), mesh_dim_names=("data", "pipeline", "tensor"))`
# has 16 ranks, and the *last* axis is the innermost: ranks 0, 1, 2, 3 differ in
# `tensor`, ranks 0 and 4 in `pipeline`, 0 and 8 in `data`. (Llama 3 lists its axes the
# other way round, innermost first: "[TP, CP, PP, DP]"; it is the same order.)
#
# ![A mesh of 16 ranks as a block: two data replicas one behind the other, two pipeline stages one above the other, four tensor ranks side by side. In front ranks 0 to 3 above 4 to 7, behind them 8 to 11 above 12 to 15. Rank 6 is marked, at data 0, pipeline 1, tensor 2, and three thick lines from it are its groups: to 14 along data, to 2 along pipeline, to 4, 5 and 7 along tensor.](../../images/mesh_cube.svg)
#
# Each rank belongs to three groups, one along each axis. Those of rank 6 are drawn.
#
# ### Where a rank stands (3 points)

# %% nbgrader={"grade": false, "grade_id": "mesh_coordinates", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mesh_coordinates(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the coordinates of a rank in a mesh.

    rank: int, the rank, below 2**31
    shape: tuple of ints, the lengths of the axes, at most 32 of them, the last
        innermost
    Returns: tuple of ints, one for each axis, in the order of shape

    - three axes: from one rank to the next the last coordinate changes first.
    - any axes: there may be one axis, or even none. The mesh may have far more
      ranks than memory holds, up to 2**63 - 1.
    - illegal ranks: raise ValueError, also for a negative rank.

    Example: mesh_coordinates(6, (2, 2, 4)) == (0, 1, 2)
    """
    ### BEGIN SOLUTION
    if not 0 <= rank < math.prod(shape):
        raise ValueError(f"rank {rank} of a mesh of shape {shape}")
    found = []
    for length in reversed(shape):
        rank, place = divmod(rank, length)
        found.insert(0, place)
    return tuple(found)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_mesh_coordinates", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(mesh_coordinates)

# %% [markdown]
# ### Who talks to whom (2 points)
#
# The ranks whose coordinates are equal on all axes but one form a *group* of this axis:
# they run its collectives together.

# %% nbgrader={"grade": false, "grade_id": "axis_groups", "locked": false, "schema_version": 3, "solution": true, "task": false}
def axis_groups(shape: tuple[int, ...], axis: int) -> list[list[int]]:
    """Return the groups of ranks that run the collectives of one axis of a mesh.

    shape: tuple of ints, the lengths of the axes, the last innermost
    axis: int, the axis, 0 is the first
    Returns: list of lists of ranks

    - the last axis: a group holds the ranks that differ in this coordinate only, in
      rising order; the groups are sorted by their first rank.
    - any axis: the same, whatever the number of axes; a group may have one rank.

    Example: axis_groups((2, 2), 0) == [[0, 2], [1, 3]]
    """
    ### BEGIN SOLUTION
    ranks = np.arange(math.prod(shape)).reshape(shape)
    return np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis]).tolist()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_axis_groups", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(axis_groups)

# %% [markdown]
# PyTorch forms the same groups; here are 16 ranks of the simulated network:

# %%
AXES = ("data", "pipeline", "tensor")


def groups_of_the_library():
    mesh = init_device_mesh("cpu", (2, 2, 4), mesh_dim_names=AXES)
    found = [dist.get_process_group_ranks(mesh.get_group(axis)) for axis in AXES]
    return mesh.get_coordinate(), found


of_torch = simulation.run(groups_of_the_library, 16).ranks
for rank in (0, 6, 13):
    print(rank, *of_torch[rank].value)

# %% tags=["raises-exception"]
for rank in range(16):
    coordinate, groups = of_torch[rank].value
    assert tuple(coordinate) == tuple(mesh_coordinates(rank, (2, 2, 4)))
    for axis, ranks in enumerate(groups):
        assert ranks in [list(group) for group in axis_groups((2, 2, 4), axis)]
print("the same coordinates and groups on all 16 ranks")

# %% [markdown]
# Now put these 16 ranks on nodes of four. Each row is a node, each colour a group:

# %% alt="Three times the sixteen ranks on four nodes, a colour for each group. Groups of data: ranks 0 and 8, 1 and 9, and so on, two nodes apart; of pipeline: 0 and 4, 1 and 5, on neighbouring nodes; of tensor: the four ranks of a node." tags=["raises-exception"]
meshes.groups(
    {axis: axis_groups((2, 2, 4), k) for k, axis in enumerate(AXES)}, per_node=4
)

# %% [markdown]
# The tensor groups stay inside their nodes. Those of `pipeline` and `data` cross. On
# this small network all four ranks of a node do so over the same network card; in a
# large machine each rank has a card of its own.
#
# ## Bytes
#
# In one training step each axis sends, as in units 15 to 17:
#
# | axis | what | how often |
# |---|---|---|
# | tensor | an all-reduce of an activation, `tensor_bytes` on every rank | for each micro-batch, in every layer twice in the forward pass and twice in the backward pass |
# | pipeline | an activation or its gradient, `hop_bytes`, to the rank at the same place in the next stage or the previous one | for each micro-batch, once in each direction |
# | data | an all-reduce of the gradients, `gradient_bytes` on every rank | once |
#
# An all-reduce runs on a ring, in the order of the ranks. Each of n ranks sends
# 2 (n - 1) / n of its bytes to the next one, and the last rank sends to the first. Each
# edge of the ring lies inside a node or between two nodes.
#
# ![Sixteen ranks on four nodes, laid out in two ways; letters A to D are the four tensor groups. Tensor innermost: node 0 has all of A, node 1 all of B, and so on; the 16 neighbours in tensor rings are inside nodes, 8 pairs of data and 8 of pipeline are between nodes. Data innermost: every node has one rank of A, B, C and D; the 16 neighbours in tensor rings are on different nodes, the 8 pairs of data and the 8 of pipeline inside nodes.](../../images/axes_on_nodes.svg)
#
# A letter is a tensor group. The same groups can lie inside the nodes or across all of
# them; only the order of the axes decides.

# %% [markdown]
# ### Bytes of a step, by axis and link (4 points) · stretch

# %% nbgrader={"grade": false, "grade_id": "step_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def step_bytes(
    shape: tuple[int, int, int], work: dict, per_node: int
) -> dict[str, dict[str, float]]:
    """Return the bytes that all ranks together send in one step, by axis and link.

    shape: (data, pipeline, tensor)
    work: dict, "micro_batches" of each replica, "layers" of each stage, "tensor_bytes",
        "hop_bytes" and "gradient_bytes" (see the table above)
    per_node: int, ranks on a node; rank r is on node r // per_node
    Returns: dict {"data": {"inside": bytes, "between": bytes}, "pipeline": {...},
        "tensor": {...}}

    - on one node: all bytes are "inside"; 0 where nothing is sent.
    - across nodes: bytes between ranks of two nodes are "between".

    Example: on a mesh (1, 1, 1) all six numbers are 0.
    """
    ### BEGIN SOLUTION
    found = {axis: {"inside": 0.0, "between": 0.0} for axis in AXES}
    m = work["micro_batches"]

    def send(axis, a, b, nbytes):
        inside = a // per_node == b // per_node
        found[axis]["inside" if inside else "between"] += nbytes

    reduced = {
        "data": work["gradient_bytes"],
        "tensor": 4 * m * work["layers"] * work["tensor_bytes"],
    }
    for axis, nbytes in reduced.items():
        for group in axis_groups(shape, AXES.index(axis)):
            n = len(group)
            for k in range(n):
                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
    for group in axis_groups(shape, 1):
        for a, b in zip(group, group[1:]):
            send("pipeline", a, b, 2 * m * work["hop_bytes"])
    return found
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_step_bytes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(step_bytes)

# %% [markdown]
# Do real ranks send that much? Here sixteen ranks run real code: they send, receive and
# all-reduce on the simulated network, which counts their bytes. A `Step` of
# `labkit.scale` describes what every rank computes and sends in one step. Its meshes
# have one more axis, `context`, which comes later on this page.

# %%
work = {
    "micro_batches": 6,
    "layers": 2,
    "tensor_bytes": 1 << 16,
    "hop_bytes": 1 << 13,
    "gradient_bytes": 1 << 18,
}
small = Step(Mesh(tensor=4, pipeline=2, data=2), **work, forward=2e-4, backward=4e-4)
network = nodes(4, between=(2e-5, 1 / 1.25e9))  # 10 Gbit/s between the nodes
real = run_step(small, network, order_1f1b)
print("the simulated network has counted:", real.link_bytes)

# %% tags=["raises-exception"]
mine = step_bytes((2, 2, 4), work, per_node=4)
for axis, kinds in mine.items():
    print(f"{axis:9}", kinds)
for kind, nbytes in real.link_bytes.items():
    assert math.isclose(nbytes, sum(kinds[kind] for kinds in mine.values()))

# %% [markdown]
# And on a large model? Take GPT with 145.6 billion parameters, one of ten in the paper
# on Megatron-LM; here on 1,024 H100s, whose replicas share the optimizer's state (ZeRO
# 1):

# %%
gpt = explore.models()["GPT 145.6 B"]
plan = Plan(
    gpt,
    Mesh(tensor=8, pipeline=8, data=16),
    machine("DGX-H100"),
    batch=1024,
    recompute="selective",
)
print(f"{gpt.parameters / 1e9:.1f} billion parameters, {plan.tokens:,} tokens a step")
for axis, kinds in plan.estimate().bytes.items():
    for kind, nbytes in kinds.items():
        print(f"{axis:9}{kind:8} {nbytes / 1024 / 1e9:8.1f} GB for each rank and step")

# %% [markdown]
# The tensor axis sends eighteen times as much as the data axis, and the pipeline next
# to nothing. So the axis that sends most gets the fastest links: it is the innermost.
#
# ## Memory
#
# A mesh is useful only if the model fits. For GPT with Adam in mixed precision, a
# parameter takes 2 bytes for its weight, 4 for its gradient and 12 for the optimizer's
# state: 18 in all. (Unit 15 has 16, as in the ZeRO paper, which keeps gradients in 16
# bits; Megatron-LM and Llama 3 add up the gradients of the micro-batches in 32.)
#
# A layer of width h has 12 h^2 + 13 h parameters, the embedding (V + s) h for V tokens
# and s positions. The V h of the tokens are used again in the output (*tied*). With a
# pipeline the output is on another stage, which then needs a copy.
#
# Activations take 34 s h bytes for each layer and each micro-batch of one sequence,
# divided over the tensor ranks (Korthikanti et al. 2022, table 2: sequence parallelism,
# attention's scores recomputed). Under 1F1B stage k of p, counted from 0, keeps the
# activations of min(m, p - k) micro-batches.
#
# ![Memory of one GPU as bars of parameters, gradients, optimizer and activations. One GPU: 2, 4, 12 and, as an example, 8. With tensor 2 all four parts are halved. With pipeline 2 as well the first three are halved again; the activations stay as they are on the first stage, which keeps two micro-batches, and are halved on the last. With data 4 and ZeRO 1 only the optimizer shrinks, to a quarter. In the last bars activations are the largest part.](../../images/memory_by_axis.svg)
#
# The tensor axis makes every part smaller. The pipeline does not help with the
# activations of its first stage, and ZeRO 1 divides only the optimizer's state over the
# replicas. (Embeddings are left out, and the size of the activations is an example.)
#
# ### What a rank holds (4 points)

# %% nbgrader={"grade": false, "grade_id": "rank_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rank_memory(
    model: dict,
    shape: tuple[int, int, int],
    stage: int,
    micro_batches: int,
    zero: int = 1,
) -> dict[str, float]:
    """Return the bytes that a rank of one pipeline stage holds, by part.

    model: dict, "layers", "width", "vocabulary" and "sequence"; ignore other names
    shape: (data, pipeline, tensor)
    stage: int, the pipeline stage, 0 is the first
    micro_batches: int, micro-batches of one sequence that each replica computes in a
        step
    zero: int, stage of ZeRO, 0 to 3
    Returns: dict of bytes, "parameters", "gradients", "optimizer" and "activations"

    - one stage: every stage has the same number of layers, and everything is divided
      over the tensor ranks. The first stage also has an embedding of V + s rows.
    - stages: the last stage, unless it is also the first, has a copy of the V rows.
    - ZeRO: 0 divides nothing over the `data` replicas, 1 the optimizer's state, 2 also
      the gradients, 3 also the parameters.

    Example: with p = 4 and m = 2 stage 0 keeps the activations of 2 micro-batches,
    stage 3 those of 1.
    """
    ### BEGIN SOLUTION
    data, pipeline, tensor = shape
    h, layers = model["width"], model["layers"] // pipeline
    held = layers * (12 * h * h + 13 * h)
    if stage == 0:
        held += (model["vocabulary"] + model["sequence"]) * h
    elif stage == pipeline - 1:
        held += model["vocabulary"] * h
    held /= tensor
    alive = min(micro_batches, pipeline - stage)
    return {
        "parameters": 2 * held / (data if zero >= 3 else 1),
        "gradients": 4 * held / (data if zero >= 2 else 1),
        "optimizer": 12 * held / (data if zero >= 1 else 1),
        "activations": 34 * model["sequence"] * h / tensor * layers * alive,
    }
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_rank_memory", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(rank_memory)

# %% tags=["raises-exception"]
for zero in range(4):
    held = rank_memory(given.as_dict(gpt), (16, 8, 8), 0, 64, zero)
    parts = ", ".join(f"{part} {nbytes / 1e9:.1f}" for part, nbytes in held.items())
    print(f"ZeRO {zero}: {sum(held.values()) / 1e9:5.1f} GB: {parts}")

# %% [markdown]
# (With a pipeline, ZeRO 2 scatters the gradients and ZeRO 3 gathers the weights again
# for every micro-batch. So ZeRO 1 suits a pipeline of many micro-batches best.)
#
# ## Time
#
# A step is a pipeline of slots. A slot is the forward and backward pass of one chunk on
# one micro-batch: computing, and four all-reduces of the tensor ranks in each layer.
# With p stages and v chunks on each rank there are m v slots of work and p - 1 slots of
# waiting (unit 17). The last stage also computes the output layer for every
# micro-batch. At the end the replicas reduce their gradients. Here no communication
# overlaps with computing, so you see how much there is to hide.
#
# ![The time of a step as parts on one axis, for p = 4 stages, m = 6 micro-batches and v = 1: three slots of waiting, p - 1; six slots of work, m v; the outputs, m times; the all-reduce of the gradients, once. Below, one slot of two layers enlarged: in each layer forward attention, all-reduce, MLP, all-reduce; then the layers in reverse order backward, each with two all-reduces again.](../../images/step_parts.svg)
#
# The figure sorts the parts; in time they do not follow each other like this: some of
# the waiting comes at the end, and there is an output for each micro-batch.
#
# ### How long a step takes (3 points)

# %% nbgrader={"grade": false, "grade_id": "pipeline_seconds", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pipeline_seconds(
    p: int, m: int, v: int, layers: int, seconds: dict[str, float]
) -> float:
    """Return the time of one step under 1F1B (v = 1) or interleaved 1F1B.

    p: int, number of stages
    m: int, number of micro-batches
    v: int, number of chunks on each rank
    layers: int, layers in one chunk
    seconds: dict, "forward" and "backward" of a layer and a micro-batch; "all_reduce",
        each of the four in a layer; "head", forward and backward pass of the output for
        a micro-batch; "gradients", the replicas' all-reduce
    Returns: float, seconds, within 1 %; leave out the messages between stages

    - one chunk on each rank: the slots of work and of waiting, then once "gradients".
    - v chunks: there are v m slots of work; the given "head" is then 0.
    - an output on the last stage: that stage alone needs "head" seconds more for each
      micro-batch: m * "head" in a step.

    Example: p = 1, m = 2, v = 1, one layer with forward 1, backward 2, all else 0: 6 s.
    """
    ### BEGIN SOLUTION
    work = seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"]
    slots = m * v + p - 1
    return slots * layers * work + m * seconds["head"] + seconds["gradients"]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_pipeline_seconds", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(pipeline_seconds)

# %% [markdown]
# The check compares with a *replay*: it goes through every action of every rank, and
# each action begins when its rank is free and its input is there. With the formula and
# the simulated network that makes three ways to time a step. Compare them on ranks that
# exist, the sixteen from above:

# %% alt="Timeline of sixteen ranks: forward and backward passes of six micro-batches with thin all-reduces between them; ranks 4 to 7 and 12 to 15 begin one forward pass later; at the end long all-reduces of the gradients, four one after the other on each card."
replayed = replay_step(small, network, order_1f1b)
print(f"simulated {real.elapsed * 1e3:.3f} ms, replay {replayed.seconds * 1e3:.3f} ms")
meshes.step(real, 16, "a step of 16 ranks: data 2, pipeline 2, tensor 4")

# %% tags=["raises-exception"]
wires = network.collective
seconds = {
    "forward": small.forward,
    "backward": small.backward,
    "all_reduce": wires("all_reduce", range(4)).seconds(small.tensor_bytes),
    "head": 0.0,
    # four groups, one for each tensor rank, over the node's one card
    "gradients": 4 * wires("all_reduce", [0, 8]).seconds(small.gradient_bytes),
}
formula = pipeline_seconds(2, 6, 1, 2, seconds)
off = formula / real.elapsed - 1
print(f"formula {formula * 1e3:.3f} ms, {off:+.1%} of the simulated")

# %% [markdown]
# The formula lacks the messages between the stages, a tenth of a millisecond here and
# there.
#
# **What can be hidden?** Real programs start a message and go on computing. DDP adds up
# full buckets of gradients behind the rest of the backward pass (unit 06); the new
# weights of ZeRO 1 can be gathered behind the next step's first forward passes; a layer
# cut into four parts can all-reduce one while it computes the next; and with more
# forward passes ahead (and so more activations kept) a stage always has something to do
# while a message is on its way. Here are the 145.6 billion on 1,024 GPUs again, as if a
# GPU computed at its peak; each line adds one of these. Each pair gives, for one step,
# the seconds waited for + the seconds hidden:

# %%
given.print_hidden(plan)

# %% [markdown]
# Three quarters of the tensor groups' time is hidden: only each layer's last part is
# waited for. (Four parts pay the latency four times, so the two numbers add up to more
# than before.) Of the replicas' time only about a ninth is hidden, though it seems
# ideal for hiding: gradients are added up over 64 micro-batches, so there is one
# backward pass to hide behind, and reducing them takes seven times as long as this
# pass; at half of the peak it would still take more than three times as long. Buckets
# that are still under way even make messages between the stages wait for the card. (All
# this as if kernels were as fast beside a message as without one; they are a little
# slower.)
#
# ## A page with sliders
#
# Here is all of this in one figure, for the plan from above. A rank computes at its
# peak ("share of the peak" 1), which no kernel does: computing takes longer in fact.

# %% alt="Three charts. Memory of a rank by stage: 24.4 GB on stage 0, falling to 17 GB on stage 7, far below 80 GB. Time of a step: computing 1.87 s, tensor 0.55 s, pipeline 0.02 s, data 0.26 s, waiting 0.32 s, together 3.02 s. The pipeline of eight stages: a staircase of forward passes, then forward and backward in turn, then backward passes."
explore.draw(plan)

# %% [markdown]
# With a running kernel you get sliders under the next cell; the figure above shows one
# setting of them. (Without a kernel nothing is there.) Try to find out:
#
# - What is the smallest number of GPUs on which the 145.6 billion parameters fit?
# - Where does the time go with `tensor` 1, and where with 8?
# - What do more chunks cost, and when are they not worth it?

# %%
explore.sliders(model="GPT 145.6 B", gpus=1024, micro_batches=64)

# %% [markdown]
# ## The search
#
# Which mesh is best? There are few: 1,024 has only 11 divisors, so try them all. A mesh
# must divide evenly: `tensor` must divide the heads and be no larger than a node,
# `pipeline` must divide the layers, `data` the batch. (The true limit of `tensor` is
# the *domain* of the fast links. On the machines of this page that is a node of eight
# GPUs; in a rack like NVIDIA's GB200 NVL72 it is 72 of them, in a slice of TPUs
# hundreds or thousands. `labkit.scale.machine` knows some of each.)
#
# ### The best mesh (4 points)
#
# The report card at the end of the page shows how far your mesh is from the best;
# within 5 % is enough.

# %% nbgrader={"grade": false, "grade_id": "best_mesh", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_mesh(
    model: dict,
    gpus: int,
    batch: int,
    per_node: int,
    memory: float,
    seconds: Callable,
) -> tuple[int, int, int]:
    """Return the fastest mesh that uses all GPUs and on which the model fits.

    model: dict as in `rank_memory`, and "heads"
    gpus: int, number of GPUs; data * pipeline * tensor is equal to it
    batch: int, sequences of one step, of all replicas; a micro-batch has one sequence
    per_node: int, GPUs on a node, the largest `tensor` allowed
    memory: float, bytes of a GPU
    seconds: function, seconds(shape, micro_batches) is the time of a step with that
        many micro-batches on each replica; it raises ValueError if layers or heads do
        not divide
    Returns: (data, pipeline, tensor)

    - within 5 % of the best: `seconds` is at most 5 % more than on the best mesh that
      divides evenly, as said above, and fits. A mesh fits if the four parts of
      `rank_memory` with ZeRO 1 add up to at most `memory` on every stage.
    - nothing fits: raise ValueError.

    Example: with batch 64 and 16 replicas each replica computes 4 micro-batches.
    """
    ### BEGIN SOLUTION
    found = {}
    for tensor in range(1, per_node + 1):
        for pipeline in range(1, model["layers"] + 1):
            data, rest = divmod(gpus, tensor * pipeline)
            if rest or not data or batch % data:
                continue
            if model["heads"] % tensor or model["layers"] % pipeline:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            held = [rank_memory(model, shape, s, m).values() for s in range(pipeline)]
            if max(map(sum, held)) <= memory:
                found[shape] = seconds(shape, m)
    if not found:
        raise ValueError(f"no mesh of {gpus} GPUs fits")
    return min(found, key=found.get)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_best_mesh", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(best_mesh)

# %% [markdown]
# Which mesh would you have chosen in 2021? Narayanan et al. trained ten models and
# print the mesh of each (table 1). The cells compare their meshes with those of a
# search on their machine, with their batch and everything recomputed as they did. (This
# is the simulator's search: `rank_memory` counts activations that full recomputation
# does not keep. Yours follows for one model.)

# %%
table, rows = published()["megatron"], given.megatron_rows()


def fastest(row):
    """Seconds on every mesh that divides evenly and fits, and the fastest mesh."""
    found = {}
    for mesh in every_mesh(row["ranks"], tensor_at_most=8):
        if row["layers"] % mesh.pipeline == 0 and row["heads"] % mesh.tensor == 0:
            if row["batch"] % mesh.data == 0 and given.priced(row, mesh).fits:
                found[mesh] = given.priced(row, mesh).estimate().seconds
    return found, min(found, key=found.get)

# %%
print("billions    GPUs   theirs (d, p, t)   best found (d, p, t)   theirs takes")
for row in rows[:ROWS]:
    found, best = fastest(row)
    theirs = given.their_mesh(row)
    shapes = [f"{m.data:4} {m.pipeline:3} {m.tensor:2}" for m in (theirs, best)]
    print(
        f"{row['billions']:8} {row['ranks']:7}   {shapes[0]:18} {shapes[1]:20}"
        f" {found[theirs] / found[best]:8.3f} x"
    )

# %% [markdown]
# For 1.7, 76.1 and 145.6 billion they took the very mesh that the formulas find; from
# 39.1 billion on they are always within 3 %. From 3.6 to 18.4 billion they used larger
# tensor groups than necessary, up to 16 % slower by these formulas. And the formulas
# are still too kind to them: they do not know that kernels get slower when a matrix is
# cut into thin parts. The authors' own rule, from section 3.2: "tensor model
# parallelism should generally be used up to degree g when using g-GPU servers, and then
# pipeline model parallelism".

# %% tags=["raises-exception"]
row = next(row for row in rows if row["billions"] == 145.6)
model, memory = given.as_dict(given.gpt_of(row)), machine("DGX-A100").memory
seconds = given.seconds_of(row)
mine = best_mesh(model, row["ranks"], row["batch"], 8, memory, seconds)
print("yours for the 145.6 billion on 1,536 GPUs:", mine)

# %% [markdown]
# ## Utilisation · stretch
#
# How much of the hardware is used? *Model FLOPs utilisation* (MFU) counts what the
# model needs: for each token 6 floating-point operations per parameter (2 forward, 4
# backward), plus 12 l h s for attention's scores and weighted sums over s tokens, which
# have no parameters (as if no token were masked). *Hardware FLOPs utilisation* (HFU)
# counts what was done: with everything recomputed there are two forward passes, so 8
# per parameter and 16 l h s.
#
# ### Two utilisations (3 points)

# %% nbgrader={"grade": false, "grade_id": "mfu_and_hfu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mfu_and_hfu(
    tokens_per_second: float, model: dict, gpus: int, peak: float, recompute: str
) -> tuple[float, float]:
    """Return the model and the hardware FLOPs utilisation of a training run.

    tokens_per_second: float, tokens per second of all GPUs together
    model: dict, "parameters", "layers" (l), "width" (h) and "sequence" (s)
    gpus: int, number of GPUs
    peak: float, FLOP/s of one GPU
    recompute: "none" or "full"
    Returns: (MFU, HFU), floats from 0 to 1

    - no recomputation: for a token both count 6 FLOPs a parameter plus 12 l h s.
    - full recomputation: HFU counts 8 and 16 l h s, MFU as before.

    Example: with recompute = "full", MFU : HFU is 3 : 4.
    """
    ### BEGIN SOLUTION
    attention = model["layers"] * model["width"] * model["sequence"]
    forward = 2 * model["parameters"] + 4 * attention
    rate = tokens_per_second / (gpus * peak)
    return 3 * forward * rate, (4 if recompute == "full" else 3) * forward * rate
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_mfu_and_hfu", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(mfu_and_hfu)

# %% [markdown]
# Now check four published numbers.
#
# **Megatron-LM** (Narayanan et al. 2021, arXiv 2104.04473, table 1). The table prints
# parameters, TFLOP/s of a GPU, their share of the peak, and all GPUs' PFLOP/s. The
# FLOPs follow the paper's equation 3, which counts the forward pass twice.

# %%
given.print_megatron()

# %% [markdown]
# All ten sizes agree to the printed digit, the shares to the printed percent, and the
# total PFLOP/s within 0.5 % (the TFLOP/s are rounded). But the share that everybody
# quotes, "52 % of the peak", counts the forward pass twice. As MFU it is 39 %.
#
# **PaLM** (Chowdhery et al. 2022, arXiv 2204.02311, section 4.1, table 3 and appendix
# B): 238.3 thousand tokens/s on 6,144 TPU v4. The paper proposes the MFU.

# %%
palm, shape = published()["palm"], given.palm_model()
print(f"{shape['parameters'] / 1e9:.2f} billion parameters")

# %% tags=["raises-exception"]
rate = palm["tokens_per_second"]
mfu, hfu = mfu_and_hfu(rate, shape, palm["ranks"], palm["peak"], "full")
print(f"MFU {mfu:.1%} (printed {palm['percent']} %)")
print(f"HFU {hfu:.1%} if all was recomputed (printed {palm['hardware_percent']} %)")
print(f"your third guess: {guess_3}")

# %% [markdown]
# MFU agrees to the digit. The HFU does not, and rightly: the printed 57.8 % is less,
# because not everything was recomputed.
#
# **Llama 3** (Llama Team 2024, arXiv 2407.21783, table 4): 430 TFLOP/s on 8,192 H100,
# 400 on 16,384, and 380 with sequences of 131,072 tokens.

# %%
given.print_llama()

# %% [markdown]
# Two of three shares agree; 400 of 989 are 40.4 %, which rounds to 40 and not to the
# printed 41: perhaps the 400 was rounded, too. From 8,192 to 16,384 GPUs, with the same
# batch, the rate falls by 7 %. A bubble with about eight chunks would explain 5.2 of
# the 7 % (the paper does not say how many chunks there were). The rest is left for the
# network and for waiting.
#
# **DeepSeek-V3** (DeepSeek-AI 2024, arXiv 2412.19437, table 1 and section 1): 2.788
# million H800 hours, of them 2.664 million for pre-training.

# %%
given.print_deepseek()

# %% [markdown]
# The hours agree with each other. The utilisation is ours, not printed: 34.6 % of the
# bfloat16 peak, without attention. But the run computed in 8 bits, where the peak is
# twice as high. A utilisation without its peak and its FLOPs says nothing.
#
# ## Longer sequences
#
# Llama 3's table has one more kind of parallelism: **context** parallelism (unit 16).
# With s = 131,072 a single sequence's activations fill a GPU, and attention more than
# doubles the FLOPs of a token. Sixteen ranks take one sixteenth each of every sequence,
# and pass keys and values around a ring. They all hold the same parameters, so for
# their gradients they are replicas. The whole batch stays at 16 M tokens:

# %%
long = explore.models()["Llama 3 405 B"]
grand = machine("Grand-Teton")
given.print_longer(long, grand)

# %% [markdown]
# Context ranks divide activations and attention further; more tensor ranks would not
# fit into a node. Context ranks also keep the pipeline busy. With 16 M tokens in a step
# and 131,072 in a sequence there are 128 sequences. Without context parallelism that is
# one for each of 128 replicas, and with one micro-batch a pipeline of sixteen stages is
# idle for fifteen sixteenths of the time.
#
# Two columns, memory and MFU, differ from what Meta had. Activations of 64 GB and 19 GB
# of everything else are more than an H100 has, and yet sequences of 8,192 tokens were
# trained "without activation checkpointing" (section 3.3.2). Llama's own layers are
# counted (about 32 s h bytes; GPT's, with dropout, keep 34 s h). But the formula keeps
# every tensor until the backward pass, and gives all stages the same number of layers.
# Meta freed tensors early, and the first and the last stage had one layer fewer each.
# It is a coincidence that 39.4 % is close to the published 41 %. Kernels at their peak
# make our estimate too fast; no overlap, and one chunk on each rank, make it too slow.
# With eight chunks:

# %%
chunked = Plan(long, Mesh(8, 1, 16, 128), grand, 2048, chunks=8, recompute="selective")
took = chunked.estimate().seconds
print(f"eight chunks: {took:.1f} s, MFU {chunked.utilisation(took):.1%}")

# %% [markdown]
# ## Experts · stretch
#
# In a *mixture of experts* (unit 16) each token goes through a few of many MLPs, the
# experts. They are an axis of their own: the experts of a layer are dealt out to
# neighbouring replicas. In each layer the tokens travel to their experts and back,
# forward and backward: four all-to-alls. DeepSeek-V3 has 256 experts in a layer, of
# which a token takes eight. It was trained on 2,048 GPUs, in 16 stages of 128 replicas;
# the experts of a layer lay on 64 of these, on eight nodes. On how many would you put
# them?

# %%
deepseek, h800 = planner.named_model("DeepSeek-V3").model, machine("H800")
INNER = ("tensor", "context", "data", "pipeline")  # replicas are neighbours
print("experts on    GB held   computing   all-to-alls   step")
for ranks in (8, 16, 64):
    mesh = Mesh(pipeline=16, data=128, order=INNER, experts=ranks)
    more = {"recompute": "full", "efficiency": 0.5, "flash": True}
    given.print_experts(Plan(deepseek, mesh, h800, 15360, **more), ranks)

# %% [markdown]
# On eight ranks the experts share a node, and tokens take NVLink. On 64 a rank holds 28
# GB less, but seven of eight copies of a token leave their node by a card: the
# all-to-alls take four fifths as long as computing. The paper says nearly the same, "a
# computation-to-communication ratio of approximately 1:1" (arXiv 2412.19437, section
# 3.2.1), and hides the all-to-alls: while one micro-batch computes, the tokens of
# another travel. It also sends a token to four nodes at most, once to each, in eight
# bits on the way there; here every copy travels by itself, in sixteen. (What came back
# from the experts is kept: recomputing a layer sends nothing again.)

# %% [markdown]
# ## Your schedule on 16,384 ranks
#
# The library's `order_1f1b(stage, p, m)` and `order_interleaved(stage, p, m, v)` have
# the form of your functions of unit 17. **Put your own here**, or a new one: any order
# of ("F", k) and ("B", k), or ("F", k, chunk), on each stage.

# %%
my_order = order_1f1b
my_interleaved = order_interleaved

# %% [markdown]
# The job has sixteen stages, eight tensor ranks, 128 replicas, and the 405 billion
# parameters of Llama 3 on its machine. It runs first without any trouble, then with
# jitter: every layer on every rank takes 2 % longer on average (an exponential
# distribution, drawn independently each time). The third run has no jitter, but one of
# the 16,384 ranks is always 20 % slower.

# %%
def at_scale(order, chunks, trouble=None):
    mesh = Mesh(tensor=8, pipeline=16, data=REPLICAS)
    job = Plan(long, mesh, grand, 16 * REPLICAS, chunks=chunks, recompute="selective")
    return replay_step(job.step(), grand.topology, order, trouble)


jitter = Trouble(seed=1, jitter=0.02)
straggler = Trouble(seed=1, stragglers=1, straggling=1.2)
for name, order, v in (("1F1B", my_order, 1), ("interleaved", my_interleaved, 8)):
    calm, shaken, slow = (at_scale(order, v, t) for t in (None, jitter, straggler))
    print(
        f"{name:12} {calm.actions:9,} actions: {calm.seconds:.2f} s,"
        f" {calm.idle:.1%} idle; jitter {shaken.seconds / calm.seconds:.3f} x,"
        f" one slow rank {slow.seconds / calm.seconds:.3f} x"
    )

# %% [markdown]
# Jitter of 2 % costs 4.6 and 4.7 %, more than twice its mean: at every all-reduce eight
# ranks wait for the slowest of them, and at every message the later of two ranks
# counts. But 16,384 ranks are hardly worse off than 128 (the table below): jitter drawn
# independently in every layer averages out over a step. A rank that *stays* slow does
# not: one of 16,384 is a fifth slower, and all of them pay. Interleaving pays twice as
# much for it as 1F1B, 8.3 against 4.0 %, because its step is shorter and it has less
# idle time. That is why such runs look for stragglers (unit 19) and do not mind noise.
# The cost of jitter depends on how much of a step is communication. With links that
# cost nothing:

# %%
free = nodes(8, (0, 0), (0, 0))
print("tensor  replicas     1F1B  interleaved")
for tensor, replicas in ((1, 1), (1, REPLICAS), (8, 1), (8, REPLICAS)):
    factors = []
    for order, v in ((my_order, 1), (my_interleaved, 8)):
        step = Step(Mesh(tensor, 1, 16, replicas), 16, v, layers=8 // v)
        calm = replay_step(step, free, order).seconds
        factors.append(replay_step(step, free, order, jitter).seconds / calm)
    print(f"{tensor:6}{replicas:10}{factors[0]:9.3f}{factors[1]:10.3f}")
print(f"your guess: {guess_2}")

# %% [markdown]
# ## One gradient on three axes · stretch
#
# Before the optimizer's step the gradients must be right everywhere, and all ranks must
# clip by the same norm: that of the whole model. Three rules:
#
# - Replicas have seen different data: their gradients are **averaged** over `data`.
# - The tied embedding is on the first and on the last stage: its two gradients belong
#   to one matrix and are **added**. (A pipeline of one stage has only one.)
# - Most parameters are divided over the tensor ranks. Some, such as those of the layer
#   norms, are *replicated*: each tensor rank has them whole, with the same gradient. In
#   the gradient's norm every parameter of the model counts once.
#
# ![Eight ranks, a mesh of two replicas, two stages and two tensor ranks, with their gradients. E is the tied embedding: E0 on ranks 0, 2, 4, 6, E1 on 1, 3, 5, 7, so on both stages. M are the other matrices: each of M00, M01, M10, M11 on one rank of a replica. N are layer norms: N0 on all ranks of stage 0, N1 on all of stage 1. Everything is averaged over data; E alone is added between the stages.](../../images/one_gradient.svg)
#
# The same name means the same parameters. Which boxes of the drawing count in the norm?
#
# ### A gradient on a mesh, and its norm (5 points)
#
# The check runs up to eight ranks with real tensors. All ranks must call
# `dist.new_group` for all groups, in the same order; `init_device_mesh` does that for
# you.

# %% nbgrader={"grade": false, "grade_id": "average_and_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_and_norm(
    gradients: dict[str, torch.Tensor],
    replicated: list[str],
    shape: tuple[int, int, int],
) -> float:
    """Average this rank's gradients in place and return the norm of the model's
    gradient.

    gradients: dict of contiguous float64 tensors by name; "embedding" on the first and
        last stage only
    replicated: list of the names that every tensor rank holds whole; all others,
        including an "embedding" that is not listed, are this tensor rank's own part
    shape: (data, pipeline, tensor), ranks as in `init_device_mesh`
    Returns: float, the norm of the whole model's averaged gradient, every parameter
        once

    - one stage: average over `data`; write into the given tensors.
    - stages: add the two gradients of "embedding", on the first and the last stage.
    - all three axes: average over `data` and add "embedding".
    - messages: besides the averages send only the embedding's gradient, between first
      and last stage, and at most 128 bytes for each rank.

    Example: on (1, 1, 2) with gradients [3] and [4], not replicated, both ranks return
    5.
    """
    ### BEGIN SOLUTION
    data, pipeline, tensor = shape
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=AXES)
    _, stage, column = mesh.get_coordinate()
    both_ends = [[group[0], group[-1]] for group in axis_groups(shape, 1)]
    mine = None
    if pipeline > 1:
        for ends in both_ends:
            group = dist.new_group(ends)
            mine = group if dist.get_rank() in ends else mine
    for gradient in gradients.values():
        dist.all_reduce(gradient, group=mesh.get_group("data"))
        gradient /= data
    if mine is not None:
        dist.all_reduce(gradients["embedding"], group=mine)
    square = torch.zeros((), dtype=torch.float64)
    for name, gradient in gradients.items():
        again = name in replicated and column > 0
        tied = name == "embedding" and stage > 0
        if not again and not tied:
            square += gradient.square().sum()
    for axis in ("tensor", "pipeline"):
        dist.all_reduce(square, group=mesh.get_group(axis))
    return float(square.sqrt())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_average_and_norm", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(average_and_norm)

# %% [markdown]
# ## Failures · stretch
#
# Unit 19 had one failure every 3.09 hours on 16,384 GPUs: 419 in 54 days (Llama 3,
# table 5 and section 3.3.4). A job saves a checkpoint, which takes some seconds, after
# a fixed number of steps; a failure destroys the work since the last one. Let the next
# failure of any rank come after M seconds on average, independently of the past (an
# exponential distribution). Young's interval, sqrt(2 save M), assumes that a save takes
# next to no time. The exact calculation: w seconds of steps and a save must pass
# without a failure. Until they have, M (exp((w + save) / M) - 1) seconds pass on
# average. Restarts make that longer, by the same factor for every w. The best w needs
# the least of this time per second of steps.
#
# ### Steps between two checkpoints (3 points)
#
# The report card at the end of the page shows how much time is lost on 16,384 ranks,
# beside the least possible. A step may take milliseconds or minutes: if it is long,
# saving after every step may be best.

# %% nbgrader={"grade": false, "grade_id": "checkpoint_every", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpoint_every(step: float, save: float, mtbf: float, ranks: int) -> int:
    """Return the number of steps between two checkpoints that loses the least time.

    step: float, seconds of a step
    save: float, seconds of a checkpoint, at most mtbf / ranks
    mtbf: float, mean seconds between failures of one rank; any failure stops all ranks
    ranks: int, number of ranks
    Returns: int, at least 1

    - fast saves: the expected time for each second of steps is within 0.1 % of the
      least.
    - slow saves: within 0.1 % as well; Young's interval is not close enough.

    Example: if a step takes 1,400 s, a save 200 s and M is 1,200 s, save after each
    step.
    """
    ### BEGIN SOLUTION
    failure = mtbf / ranks

    def longer(steps):
        return math.expm1((steps * step + save) / failure) / steps

    steps = 1
    while longer(steps + 1) < longer(steps):
        steps += 1
    return steps
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_checkpoint_every", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(checkpoint_every)

# %% [markdown]
# The same with failures at random, on a run of 54 days in steps of 4.3 s, with 300 s
# for a restart:

# %% tags=["raises-exception"]
DAY, RANKS = 86400.0, 16384
one_rank = RANKS * 54 * DAY / 419  # mean seconds between two failures of a rank

for save in (5.0, 30.0, 120.0):
    steps = checkpoint_every(4.3, save, one_rank, RANKS)
    useful = given.useful_part(save, 4.3 * steps, one_rank, RANKS)
    print(f"every {steps} steps:", useful)
print(f"your guess of what is lost: {guess_4}")

# %% [markdown]
# The paper reports more than 90 % effective training time. By this calculation that
# takes saves of 30 s or less; saves of two minutes rule it out. With 100,000 of the
# same GPUs there would be a failure every half hour, and saves of two minutes would
# cost about a third of the time without restarts: "slow saves" on your report card.

# %% [markdown]
# ## From a budget to a plan · stretch
#
# Somebody gives you 100,000 H100-hours. Which model do you train, on how many
# tokens, on which mesh, and when is it done? A **scaling law** says how small the loss
# gets (Hoffmann et al. 2022, arXiv 2203.15556, the "Chinchilla" paper, approach 3):
#
# $$L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}$$
#
# for $N$ parameters and $D$ tokens, which take about $6 N D$ FLOPs. So a budget of
# FLOPs fixes the product. A model that is too small cannot make use of all its tokens;
# one that is too large sees too few. In between the loss is smallest.
#
# ### Parameters and tokens for a budget (3 points)

# %% nbgrader={"grade": false, "grade_id": "compute_optimal", "locked": false, "schema_version": 3, "solution": true, "task": false}
def compute_optimal(
    flops: float, law: dict, available: float
) -> tuple[float, float]:
    """Return the parameters and the tokens of the smallest loss for a budget of FLOPs.

    flops: float, at least 1e18; a parameter takes 6 for each token
    law: dict, "E", "A", "B", "alpha" and "beta", all positive
    available: float, tokens that there are; math.inf if there are as many as you want
    Returns: (parameters, tokens), floats, within 0.1 %

    - enough data: the law's loss is the smallest of all with 6 * parameters * tokens =
      flops.
    - not enough data: take no more than `available` tokens, and spend all `flops`.

    Example: with A = B and alpha = beta, 6e20 FLOPs buy 1e10 parameters and 1e10
    tokens; if only 5e9 tokens are available, 2e10 parameters.
    """
    ### BEGIN SOLUTION
    alpha, beta = law["alpha"], law["beta"]
    slopes = alpha * law["A"] / (beta * law["B"])
    parameters = (slopes * (flops / 6) ** beta) ** (1 / (alpha + beta))
    tokens = min(flops / 6 / parameters, available)
    return flops / 6 / tokens, tokens
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_compute_optimal", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(compute_optimal)

# %% [markdown]
# Two fits of this law have been published: Hoffmann's, with the coefficients as the
# paper prints them, and that of Besiroglu et al. (2024, arXiv 2404.10102), who read the
# data off Hoffmann's figures and fitted it again. The three budgets are a small one;
# that of Gopher, which Chinchilla shares; and that of Llama 3 405B. The last two columns
# say how much larger the loss is with half and with twice as many parameters.

# %% tags=["raises-exception"]
laws = given.laws()
for flops in (1e21, 5.76e23, 3.8e25):
    for name, law in laws.items():
        n, d = compute_optimal(flops, law, math.inf)
        best, *others = (given.loss_of(law, k * n, d / k) for k in (1, 0.5, 2))
        print(
            f"{flops:8.3g} {name:9} {n / 1e9:6.1f}e9 parameters {d / 1e12:6.2f}e12"
            f" tokens, {d / n:5.1f} each; loss {best:.3f}",
            *(f"+{other - best:.4f}" for other in others),
        )

# %% tags=["raises-exception"] alt="Loss over parameters, logarithmic, with 3.8e25 FLOPs: a flat valley for each of the two laws, with a point at its lowest place. Hoffmann's curve lies lower, with its point at 213 billion; Besiroglu's has it at 619 billion."
given.draw_valleys(3.8e25, compute_optimal)

# %% [markdown]
# With Chinchilla's budget the second fit says 72 billion parameters and 18 tokens for
# each; Chinchilla had 70 billion and 20, as the paper's two other approaches advise.
# The printed coefficients say 32 billion and 93. Besiroglu et al. found two reasons:
# the fit had stopped too early, and the coefficients were rounded too much. At Llama
# 3's 3.8e25 FLOPs one fit says 213 billion parameters, the other 619. Llama 3's authors
# fitted a law to their own data and got 402 billion, with 16.55 trillion tokens
# (section 3.2.1). The rule of thumb, 20 tokens a parameter, gives 563 billion. The
# valley is flat: twice or half as many parameters cost 0.002 to 0.003.
#
# The FLOPs are now known. How long do they take? A cluster computes below its peak; it
# saves, it fails, it restarts. You know the time of steps and a save from the last
# section; now restarts count, too. The GPUs draw their thermal design power (**TDP**)
# all the time. The energy that a building takes besides its computers is measured by
# its **PUE** (power usage effectiveness): all of its energy over that of the computers.
# 1.1 is assumed here, about what large cloud providers report.
#
# ### Days and kilowatt-hours, failures included (3 points)

# %% nbgrader={"grade": false, "grade_id": "days_and_energy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def days_and_energy(
    flops: float, cluster: dict, mtbf: float
) -> tuple[float, float]:
    """Return the expected days of a training run and its energy.

    flops: float, what the model needs
    cluster: dict, "gpus"; "peak", FLOP/s of one; "utilisation", the share of the peak
        that `flops` are computed at, from 0 to 1; "watts", of one GPU; "pue"; "every",
        "save" and "restart", in seconds
    mtbf: float, mean seconds between failures of one GPU, at most 10**12, or math.inf
        if none ever fails
    Returns: (days, kWh), floats

    - no failures: each `every` seconds of steps take `save` seconds more; a fraction
      of them takes the same fraction of `save`.
    - failures: with M, the mean time between failures of all GPUs together, `every`
      seconds of steps and a save take M (exp((every + save) / M) - 1) seconds on
      average. On the way there are exp((every + save) / M) - 1 failures; each costs
      `restart` seconds more, in which nothing fails. Where x is tiny, exp(x) - 1 loses
      digits; `math.expm1(x)` keeps them.
    - energy: all GPUs draw `watts` all the time, times the PUE.

    Example: 3.456e22 FLOPs on 1,000 GPUs of 1e15 FLOP/s, half of it used, with a save
    of 80 s every 1,000 s: 0.864 days; at 700 W and a PUE of 1.1 15,966.72 kWh.
    """
    ### BEGIN SOLUTION
    gpus, every = cluster["gpus"], cluster["every"]
    work = flops / (gpus * cluster["peak"] * cluster["utilisation"])
    taken = every + cluster["save"]
    if mtbf < math.inf:
        taken = math.expm1(taken * gpus / mtbf) * (mtbf / gpus + cluster["restart"])
    days = work / every * taken / 86400
    return days, days * 24 * gpus * cluster["watts"] * cluster["pue"] / 1000
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_days_and_energy", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(days_and_energy)

# %% [markdown]
# Llama 3 405B: 3.8e25 FLOPs at the published 400 TFLOP/s on each of 16,384 GPUs, one
# interruption in 3.09 hours. A save of 30 s and a restart of five minutes are assumed:

# %% tags=["raises-exception"]
llama = published()["llama"]["training"]
on = {"peak": 989e12, "watts": 700.0, "pue": 1.1, "save": 30.0, "restart": 300.0}
at = on | {"gpus": RANKS, "utilisation": 400 / 989}
at["every"] = young_daly(30.0, one_rank / RANKS)
for text, mtbf in (("nothing fails", math.inf), ("failures", one_rank)):
    days, kwh = days_and_energy(llama["flops"], at, mtbf)
    print(f"{text:14}{days:6.1f} days, {days * 24 * RANKS / 1e6:.2f}", end=" ")
    print(f"million GPU-hours, {kwh / 1e6:.1f} GWh; {llama['hours'] / 1e6} published")

# %% [markdown]
# Meta's model card says 30.84 million hours of H100s (700 W each); ours are 29.2
# million, 5 % less. That is less of a proof than it looks. 400 TFLOP/s is one row of a
# table (430 on half as many GPUs, 380 with long sequences); the card does not say what
# belongs to its hours; save and restart are our guess. And 3.8e25 is 6 for each
# parameter and token: with attention, which the 400 probably count, it is 4 to 8 % more
# (half of the scores, or all of them), and ours would be 30.4 to 31.6 million. So the
# card agrees with the rate, and tells nothing about failures.
#
# Now the choice. A small model on many GPUs runs inefficiently, a large one on few
# finishes too late: so a FLOP has no fixed price. Each plan below is the best mesh for
# its model and its number of GPUs, as `labkit plan` finds it.
#
# ### The plan that a budget buys (4 points)

# %% nbgrader={"grade": false, "grade_id": "budget_plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def budget_plan(
    gpu_days: float, days: float, plans: list[dict], law: dict
) -> tuple[int, int]:
    """Return the plan of the smallest loss, and its number of steps.

    gpu_days: float, the budget: a GPU for a day is 1
    days: float, the deadline; math.inf if there is none
    plans: list of dicts, "parameters"; "gpus"; "seconds" and "tokens" of a step
    law: dict, "E", "A", "B", "alpha" and "beta"
    Returns: (place, steps), whole numbers: the plan's place in the list, from 0, and
        its steps

    - a budget: each plan takes as many whole steps as the budget pays for; return the
      one whose loss by the law is then smallest (no two are equal).
    - a deadline: no plan takes more steps than fit into `days`.
    - no affordable step: leave such a plan out; raise ValueError if none is left.

    Example: with 64 GPU-days, 64 GPUs and steps of 8.1 s: 10,666 steps.
    """
    ### BEGIN SOLUTION
    found = []
    for place, plan in enumerate(plans):
        most = min(gpu_days / plan["gpus"], days) * 86400
        steps = int(most / plan["seconds"])
        if steps > 0:
            of_parameters = law["A"] / plan["parameters"] ** law["alpha"]
            of_tokens = law["B"] / (steps * plan["tokens"]) ** law["beta"]
            found.append((of_parameters + of_tokens, place, steps))
    if not found:
        raise ValueError("the budget pays for no step of any plan")
    return min(found)[1:]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_budget_plan", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(budget_plan)

# %% [markdown]
# 100,000 H100-hours, and three weeks. Each step is charged its share of saves and
# failures:

# %% tags=["raises-exception"]
offers = given.plans_for(["Llama 3 8B", "Llama 3 70B", "Llama 3 405B"], [128, 1024])
for one in offers:
    size = {name: one[name] for name in ("gpus", "utilisation")}
    size["every"] = young_daly(30.0, one_rank / one["gpus"])
    step = 6 * one["parameters"] * one["tokens"]
    one["seconds"] = DAY * days_and_energy(step, on | size, one_rank)[0]
for name, law in laws.items():
    place, _ = budget_plan(1e5 / 24, 21.0, offers, law)
    print("by", name)
    for k, one in enumerate(offers):
        _, steps = budget_plan(1e5 / 24, 21.0, [one], law)
        print("->" if k == place else "  ", given.plan_line(one, steps, law))

# %% [markdown]
# Two fits of one law, two different models. By Hoffmann's coefficients the best plan is
# the 8 B with 287 tokens a parameter, by Besiroglu's the 70 B with fewer than four. A
# model in between would be better by both: ask `compute_optimal`. Following the wrong
# fit raises the loss by 0.026 or 0.017, the smaller cluster by 0.011 or 0.018: its GPUs
# waste less, but three weeks are over before the budget is spent. On 1,024 GPUs the
# energy is 77 MWh either way, and at 2 dollars an hour, as DeepSeek's report assumes
# for H800s, 200,000 dollars.
#
# A plan says what is uncertain in it:
#
# - the law, most of all: state both fits, and remember that your data and tokenizer
#   differ from theirs;
# - the utilisation: the planner lets a GPU reach half of its peak while it computes.
#   Measure a few steps first;
# - failures: yours are not Meta's;
# - the power: GPUs at their TDP, without processors, network and storage; and the PUE.
#
# And the law minimises the cost of training, not of use: for a model that will answer
# many requests, take a smaller one and train it for longer, as Meta did with 8 billion
# parameters and 15 trillion tokens (the model card of Llama 3.1). `labkit plan` prints
# meshes, days and energy, without saves and failures, for a model and a machine of your
# own.

# %% [markdown]
# ## Who is right? · stretch
#
# Three published calculations, each of which contradicts itself or your formulas. The
# cell computes both sides. Decide for each before you read on.
#
# - MegaScale (Jiang et al. 2024, arXiv 2402.15627, table 2) prints MFU and PFLOP/s of
#   all GPUs: sixteen rows, and in four of them one does not follow from the other.
# - Korthikanti et al. (2022, arXiv 2205.05198, table 5) print an HFU for runs that
#   recompute attention's scores once. Does it follow from the work done?
# - EleutherAI's calculator (EleutherAI/cookbook at 827ee3b, calc_transformer_mem.py)
#   prints the memory of a GPU for GPT-NeoX-20B with 2 tensor ranks and 4 stages.

# %%
print("PFLOP/s by the MFU, and printed:")
for row in given.rows_of("megascale"):
    rate = row["percent"] / 100 * row["ranks"] * 312e12 / 1e15
    if abs(rate / row["petaflops"] - 1) > 0.005:
        print(f"   {row['system']:12}{row['ranks']:6} {rate:8.1f} {row['petaflops']:8}")
print("HFU in percent, scores computed once more, by equation 8, and printed:")
for row in given.rows_of("selective"):
    once, by_equation = given.hardware_shares(row)
    hfu = row["hardware_percent"]
    print(f"   {row['billions']:4}e9{once:7.1f}{by_equation:7.1f}{hfu:7}")
twenty, printed = given.cookbook()
print("GiB on the first and the last of 4 stages, and by the calculator:")
for part, size in printed.items():
    first, last = (getattr(twenty.memory(k), part) / 2**30 for k in (0, 3))
    print(f"   {part:12}{first:8.2f}{last:8.2f}{size:8.2f}")

# %% [markdown]
# - **MegaScale: the MFU is right.** It also follows from the seconds of a step, tokens
#   and parameters, to 0.1 point in Megatron-LM's rows and within a point in MegaScale's
#   own, which uses sliding-window attention.
# - **Korthikanti et al.: you are right.** Their equation 8 adds three forward passes of
#   the scores, where recomputing them takes one. Counting what is really computed, HFU
#   is 0.5 to 1.3 points lower.
# - **The calculator: you are right.** Parameters and optimizer agree to about 3 %. Its
#   gradients are those of the whole model, eight times too many, and its activations
#   those of all 44 layers. The first stage does hold as many (four micro-batches of
#   eleven layers), but each of its two tensor ranks keeps half of them, if the
#   activations between the matrix products are divided, too (sequence parallelism, unit
#   16).
#
# ## Break: two axes swapped
#
# One line in a launch script builds the mesh as (tensor, pipeline, data), so that
# neighbouring ranks are replicas, and those that share a layer are on eight nodes. All
# values in the training stay the same. First in the formulas, for the 145.6 billion on
# 1,024 GPUs:

# %%
SWAPPED = ("data", "context", "pipeline", "tensor")  # the innermost first
swapped = replace(plan, mesh=replace(plan.mesh, order=SWAPPED))
for name, job in (("tensor innermost", plan), ("data innermost", swapped)):
    found = job.estimate()
    sent = {axis: dict(kinds) for axis, kinds in found.bytes.items() if kinds}
    print(f"{name:17} {found.seconds:.2f} s, of it tensor {found.tensor:.2f} s")
    for axis, kinds in sent.items():
        print("   ", axis, {kind: f"{n / 1e12:.1f} TB" for kind, n in kinds.items()})
factor = swapped.estimate().seconds / plan.estimate().seconds
print(f"{factor:.2f} times as long; your guess: {guess_1}")

# %% [markdown]
# And for real, on the sixteen ranks from above: on nodes of four, all four tensor
# groups now share the one card of each node.

# %% alt="Timeline of the same step with data innermost: more than twice as long, with wide all-reduces between all forward and backward passes, which wait for each other."
across = replace(small, mesh=replace(small.mesh, order=SWAPPED))
broken = run_step(across, network, order_1f1b)
total = [sum(outcome.link_bytes.values()) for outcome in (real, broken)]
print("bytes:", total)
print("between nodes:", [o.link_bytes["between"] for o in (real, broken)])
print(f"{real.elapsed * 1e3:.2f} ms and {broken.elapsed * 1e3:.2f} ms:", end=" ")
print(f"{broken.elapsed / real.elapsed:.2f} times as long")
meshes.step(broken, 16, "the same step with data innermost")

# %% [markdown]
# The same bytes are sent. On the small network, where a node has one ordinary card, a
# step takes 2.3 times as long. Nothing fails and no value is wrong: only the speed in a
# log is lower than it could be. This is why you should count.
#
# Where does the factor 2.44 of the large machine come from? In a DGX each GPU has a
# card of its own, 50 GB/s, a ninth of its NVLink. So the eight tensor groups of eight
# nodes share no card: their all-reduces take about nine times as long, and computing
# takes as long as before. Your own formula, with a ring over such a card:

# %% tags=["raises-exception"]
part = plan.step()
in_ring = 2 * 7 / 8 * part.tensor_bytes  # what each of 8 ranks sends, in 14 messages
links = {  # bytes/s, latency in s, and the plan whose gradients travel beside it
    "NVLink": (450e9, 1.5e-6, plan),
    "a card each": (50e9, 5e-6, swapped),
}
for name, (rate, alpha, job) in links.items():
    seconds = {
        "forward": part.forward,
        "backward": part.backward,
        "all_reduce": in_ring / rate + 14 * alpha,
        "head": 3 * part.head,  # forward, and twice that backward
        "gradients": job.estimate().data,
    }
    took = pipeline_seconds(8, 64, 1, 10, seconds)
    print(
        f"{name:12} tensor {64 * 10 * 4 * seconds['all_reduce']:.2f} s, step"
        f" {took:.2f} s: {took / plan.estimate().seconds:.2f} times the one above"
    )

# %% [markdown]
# ## Explain
#
# 1. **Swapped axes.** 2.44 times as long on 1,024 GPUs of this machine, where each has
#    a card to other nodes with a ninth of its NVLink's rate; 2.3 times on sixteen ranks
#    with one slow card per node. Assert the order of axes in your launch script.
# 2. **Jitter.** 2 % of jitter costs 4.6 % with 1F1B, 4.7 % with interleaving. A single
#    rank that stays a fifth slower costs 4.0 and 8.3 %.
# 3. **52 or 46.** The 52 % is HFU with everything recomputed: 39 % as MFU. PaLM's 46.2
#    % is MFU.
# 4. **Failures.** 9.5 % are lost with saves of 30 s and restarts of five minutes, 5.5 %
#    with saves of 5 s.
#
# And 100,000 H100-hours buy 8 or 70 billion parameters: it depends on which of two
# published fits you believe.
#
# What to remember: count bytes for each axis and link; place the ranks that send most
# closest together; try all meshes, because no rule of thumb knows the cost of your
# links; and ask of every utilisation which FLOPs it counts.

# %% [markdown]
# ## Deeper
#
# - D. Narayanan et al., *Efficient Large-Scale Language Model Training on GPU Clusters
#   Using Megatron-LM*, 2021, arXiv 2104.04473: the formulas, and the table.
# - V. Korthikanti et al., *Reducing Activation Recomputation in Large Transformer
#   Models*, 2022, arXiv 2205.05198: what activations take. Its table 5 prints MFU and
#   HFU; the HFU follows only from its equation 8, which adds three forward passes of
#   attention's scores where recomputing them takes one.
# - Llama Team, *The Llama 3 Herd of Models*, 2024, arXiv 2407.21783, section 3.3.
# - J. Hoffmann et al., *Training Compute-Optimal Large Language Models*, 2022, arXiv
#   2203.15556; T. Besiroglu et al., *Chinchilla Scaling: A replication attempt*, 2024,
#   arXiv 2404.10102.
# - A. Chowdhery et al., *PaLM: Scaling Language Modeling with Pathways*, 2022, arXiv
#   2204.02311, section 4.1 and appendix B.
# - PyTorch 2.13 can also simulate ranks in one process, for DTensors:
#   `torch.distributed._local_tensor.LocalTensorMode`. It gives the values of all ranks,
#   as our simulated network does, but no times, and no bytes on links. The underscore
#   in its name says that it may still change.
# - J. T. Daly, *A higher order estimate of the optimum checkpoint interval for restart
#   dumps*, Future Generation Computer Systems 22, 2006.
