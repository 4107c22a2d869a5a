# %% [markdown]
# # 15 · Sharding
#
# In data parallelism every rank holds everything: all parameters, all gradients, the
# whole state of the optimizer. On 64 ranks that is 64 copies of the same numbers. On
# this page you take the copies away, one kind after the other, and count what it saves
# and what it costs. The method is called ZeRO (*Zero Redundancy Optimizer*); its last
# stage is what PyTorch calls `fully_shard`, or FSDP.
#
# **At the end of this page** you can say how many bytes a training run needs on every
# rank before you start it, you have written all three stages and activation
# checkpointing yourself, and your gradients and those of `fully_shard` agree.
#
# **You need** units 03, 05, 06 and 10 (mixed precision). **It takes** about 125 minutes,
# the *stretch* 110 more, in two sittings with a break at *Half-time*. The cells
# themselves run for about half a minute on two cores. They take about 0.8 GB of memory.

# %%
import functools
import warnings

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from autograder import check
from labkit import data, simulation, timeline, training
from labkit.lessons import sharding
from labkit.models import gpt
from labkit.plots import charts, grouped

warnings.filterwarnings("ignore", category=FutureWarning)
RANKS = 4

# %% [markdown]
# ## Guess first
#
# Write down what you think before you read on; the page answers all three.
#
# 1. A model has 7.5 billion parameters, 2 bytes each: 15 GB. How much memory does a
#    training step with Adam need, before the first activation is stored?
# 2. If no rank holds more than its share of the parameters, they must travel in every
#    step. How many times the bytes of plain data parallelism is that?
# 3. You throw away all activations of a network and compute them again in the backward
#    pass. By what factor does the peak of the memory shrink?
#
# (What is called `sharding.` on this page is given, and you need not read it: layers in
# shards, a counter of memory, a small transformer and its data. It lies in
# `labkit/lessons/sharding.py`, and `help(sharding)` shows it.)

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Sixteen bytes a parameter
#
# What has to be in memory for one parameter? In mixed precision with Adam:
#
# | what | bytes | first divided in |
# |---|---|---|
# | the parameter, 16 bits | 2 | stage 3 |
# | its gradient, 16 bits | 2 | stage 2 |
# | optimizer: a copy of the parameter in 32 bits | 4 | stage 1 |
# | optimizer: Adam's two moments, 32 bits each | 8 | stage 1 |
#
# That is 16 bytes, whatever the size of the batch. In 32 bits throughout, parameter and
# gradient take 4 bytes each, and no copy is needed. Momentum keeps one number of 4
# bytes, plain SGD none.
#
# Elsewhere you will read 18. ZeRO's paper counts a gradient of 16 bits, as the table
# does. Megatron-LM and Llama 3 add up the gradients of their micro-batches in 32 bits:
# 2 + 4 + 12 = 18 bytes, which is what unit 20 counts. And PyTorch's `fully_shard` (at
# the end of this page), with its `MixedPrecisionPolicy`, keeps everything in 32 bits,
# 4 + 4 + 8 = 16, and makes a 16-bit copy of one block at a time.
#
# ZeRO's stage 0 is plain data parallelism. **Stage 1** divides the optimizer's state
# among the $p$ ranks, **stage 2** the gradients, too, **stage 3** the parameters, too.
# What is divided is cut into shards of equal size, $k = \lceil n / p \rceil$ numbers: a
# collective takes the same amount from every rank. The last shards are filled up with
# zeros.
#
# ![What each of four ranks keeps for one parameter of the model, as bars. Data parallel: 2 bytes of parameter, 2 of gradient and 12 of optimizer state on every rank, 16 together. ZeRO-1: each rank keeps a quarter of the optimizer state, 7 bytes together. ZeRO-2: a quarter of the gradients, too, 5.5 bytes. ZeRO-3: a quarter of everything, 4 bytes. The quarters of the four ranks lie above each other like the steps of a staircase.](../../images/zero_stages.svg)
#
# The bars are what four ranks keep for one parameter. Each stage leaves a rank one
# quarter of one more part; the dotted rest lies on the other ranks.
#
# ### What a rank holds (3 points)

# %% nbgrader={"grade": false, "grade_id": "memory_per_rank", "locked": false, "schema_version": 3, "solution": true, "task": false}
def memory_per_rank(
    params: int, p: int, stage: int, optimizer: str, mixed: bool
) -> int:
    """Return the bytes of parameters, gradients and optimizer state on each of p ranks.

    params: int, number of parameters of the model
    p: int, number of ranks
    stage: int, 0 to 3, ZeRO's stage
    optimizer: "adam", "momentum" or "sgd"
    mixed: bool, True for mixed precision, False for 32 bits throughout
    Returns: int, bytes (a whole float does, too)

    - Adam in mixed precision: the bytes in the table above. From the stage in its row
      on, a part counts as a shard.
    - other optimizers, float32, and padding: in mixed precision the state of every
      optimizer has the 32-bit copy of the parameters, otherwise none has. A shard is
      ceil(params / p) numbers, padding included.
    - what cannot be: raise ValueError for any other stage, and for fewer than one rank.

    Example: memory_per_rank(1000, 8, 1, "adam", True) == 5500
    """
    ### BEGIN SOLUTION
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError(f"there is no stage {stage} on {p} ranks")
    small = 2 if mixed else 4
    state = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    shard_size = -(-params // p)
    sizes = ((state, 1), (small, 2), (small, 3))  # bytes, and divided from which stage
    return sum(
        size * (shard_size if stage >= first else params) for size, first in sizes
    )
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_memory_per_rank", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(memory_per_rank)

# %% [markdown]
# ### A published table, computed again · stretch
#
# The paper (Rajbhandari et al., *ZeRO: Memory Optimizations Toward Training Trillion
# Parameter Models*, arXiv 1910.02054) has a table of 54 numbers: gigabytes per device
# for three models, six numbers of ranks, three stages (table 1, page 11). They come
# from `sharding.published()`. Does your function give them? Each number is rounded to
# as many digits as the table prints, and compared:

# %% tags=["raises-exception"]
differences = []
for params, stage, p, printed in sharding.published():
    ours = memory_per_rank(params, p, stage, "adam", True) / 1e9
    if not sharding.rounds_to(ours, printed):
        differences.append((params, stage, p, printed, ours))
print(f"54 numbers; printed otherwise than rounded: {len(differences)}")
for params, stage, p, printed, ours in differences:
    print(
        f"  {params:.3g} parameters, stage {stage}, {p:>4} ranks: "
        f"printed {printed:g}, computed {ours:.3f}"
    )

# %% [markdown]
# The table holds. Where a printed number differs, it was cut off, not rounded, and only
# the last digit is affected. Look at the first column of the 7.5 billion: this was your
# first guess. Now draw the three stages on 64 ranks:

# %% tags=["raises-exception"] alt="Four bars, one below the other: GB on each of 64 ranks. Data parallel 120.0, ZeRO-1 31.4, ZeRO-2 16.6, ZeRO-3 1.9. The optimizer's state is by far the largest part of the first bar and the first to shrink."
stages = sharding.stages(7.5e9, 64)
charts.parts(
    stages,
    ends=[f"{sum(parts.values()):.1f} GB" for parts in stages.values()],
    xlabel="GB on each of 64 ranks, 7.5 billion parameters",
    xlim=(0, 136),
)
print(f"your guess: {guess_1}")

# %% [markdown]
# ## Shards
#
# From now on a model, or one of its layers, is a flat vector of $n$ numbers, of which
# every rank owns a shard.
#
# ![Vectors cut into equal shards for four ranks. Ten numbers: shards of 3; ranks 0, 1 and 2 own w0 to w8, rank 3 owns w9 and two zeros of padding. Five numbers: shards of 2; ranks 0 and 1 own w0 to w3, rank 2 owns w4 and one zero, and the shard of rank 3 is two zeros.](../../images/padded_shards.svg)
#
# Every rank's shard has $k$ cells, whatever $n$ is.
#
# ### Cut into equal shards (2 points)

# %% nbgrader={"grade": false, "grade_id": "shard", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shard(flat: Tensor, rank: int, p: int) -> Tensor:
    """Return the shard of one rank out of a flat vector.

    flat: tensor of n numbers, n >= 0
    rank: int, from 0 to p - 1
    p: int, number of ranks
    Returns: tensor of k = ceil(n / p) numbers, dtype of flat

    - shards of one size: the numbers of flat from rank * k up to (rank + 1) * k, filled
      up with zeros at the end.
    - more ranks than numbers: a shard may be zeros alone, or empty if n = 0.
    - unchanged: flat.

    Example: shard(torch.tensor([1, 2, 3]), 1, 2).tolist() == [3, 0]
    """
    ### BEGIN SOLUTION
    k = -(-len(flat) // p)
    padded = torch.cat([flat, flat.new_zeros(k * p - len(flat))])
    return padded[rank * k : (rank + 1) * k].clone()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_shard", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(shard)

# %% [markdown]
# ### Put shards together (3 points)
#
# `dist.all_gather_single(whole, part)` writes the parts of all ranks into `whole`, in
# the order of the ranks. `dist.reduce_scatter_single(own, whole)` adds up the `whole`
# of all ranks and leaves each rank its part of the sum in `own`. You need no others on
# this page, but may call others. (Before PyTorch 2.13 these two were called
# `all_gather_into_tensor` and `reduce_scatter_tensor`.)

# %% nbgrader={"grade": false, "grade_id": "unshard", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unshard(part: Tensor, n: int) -> Tensor:
    """Return the whole vector that is cut into shards, on every rank.

    part: tensor, this rank's shard, as `shard` cuts it
    n: int, length of the whole vector
    Returns: tensor of n numbers, dtype of part

    - the whole vector: the shards in the order of the ranks, without the padding.
    - more ranks than numbers: some shards may be padding alone.
    - in one collective: a single call, to which each rank brings its shard and no more.

    Example: p = 2, n = 3. From the shards [1, 2] and [3, 0] both ranks make [1, 2, 3].
    """
    ### BEGIN SOLUTION
    whole = part.new_empty(len(part) * dist.get_world_size())
    dist.all_gather_single(whole, part)
    return whole[:n]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_unshard", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(unshard)

# %% [markdown]
# ## ZeRO-1: divide the state of the optimizer
#
# Adam's two moments are read and written in the step and nowhere else. So let every
# rank keep those of its shard, step on its shard alone, and fetch the others' new
# weights. `adam` is given; it works in place.
#
# ![A step of ZeRO-1 on four ranks as grids of ranks by shards. Each rank begins with its own whole gradient. A reduce-scatter leaves each rank one shard of the mean. With that and its shard of the optimizer's state, which never travels, each rank makes a step of Adam and has one shard of new weights. An all-gather gives every rank all new weights.](../../images/zero1_step.svg)
#
# Read each row from left to right. In the middle a rank works on $k$ numbers instead of
# $n$.

# %%
def adam(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, lr: float) -> None:
    """Step number t, counted from 1, with gradient g. Changes weights and moments."""
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))

# %% [markdown]
# ### ZeRO-1: the state is divided (3 points)

# %% nbgrader={"grade": false, "grade_id": "zero1_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero1_step(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, lr: float) -> Tensor:
    """Run one step of Adam with the optimizer's state divided among the ranks.

    w: tensor of n weights, the same on every rank; may be changed
    g: tensor of n numbers, this rank's gradient; may be changed
    m, v: tensors of k numbers, the moments of this rank's shard; change them in place
    t: int, number of this step in the whole training, from 1
    lr: float, learning rate
    Returns: tensor of the n new weights, the same on every rank

    - the weights of sequential Adam: the step of `adam` with the mean of all ranks'
      gradients.
    - p does not divide n: shards are padded with zeros.
    - no more than it must move: at most two collectives, and no more bytes than an
      all_reduce of the gradient and an all_gather of the weights, both padded. The
      moments stay where they are.

    Example: p = 2. The gradients [1, 3] and [3, -7] turn m = [0] into [0.2] on rank 0
    and into [-0.2] on rank 1.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    padded = torch.cat([g, g.new_zeros(len(m) * p - len(g))])
    own = torch.empty_like(m)
    dist.reduce_scatter_single(own, padded)
    part = shard(w, rank, p)
    adam(part, own / p, m, v, t, lr)
    return unshard(part, len(w))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_zero1_step", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(zero1_step)

# %% [markdown]
# An `all_reduce` of the gradient would do as well, and in stage 1 many programs do
# that. But look closely: of the mean, each rank needs only its own shard.
#
# ## ZeRO-2: divide the gradients · stretch
#
# And an `all_reduce` is a `reduce_scatter` and an `all_gather` (unit 03). Leave out the
# second half, and the gradient is divided. What is that good for, if `backward` has
# just made the whole gradient? Two things. In a real program it is made layer by layer,
# and each layer's part is sent as soon as it is ready. And there is **gradient
# accumulation**: a batch that does not fit into memory is cut into *micro-batches*, one
# backward pass after the other, and their gradients are added up. What is kept from one
# micro-batch to the next is then a shard and not the whole vector.
#
# ### ZeRO-2: the gradients are divided (4 points)
#
# Here the vectors come padded, as a program of this kind allocates them. All
# micro-batches are of the same size, and their gradients come **in one buffer**.

# %% nbgrader={"grade": false, "grade_id": "zero2_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero2_step(w: Tensor, gradients, m: Tensor, v: Tensor, t: int, lr: float) -> Tensor:
    """Run one step of Adam with optimizer state and gradients divided among the ranks.

    w: tensor of k p weights, padded, the same on every rank; may be changed
    gradients: iterator; each turn computes this rank's gradient of a micro-batch, k p
        numbers, always into the same buffer; at least one comes
    m, v, t, lr: as in `zero1_step`
    Returns: tensor of the k p new weights, padded like w, the same on every rank

    - one micro-batch: the step of `adam` with the mean of all ranks' gradients.
    - several micro-batches: with the mean over all micro-batches of all ranks.
    - no more than it must move: no more bytes than a reduce_scatter for each
      micro-batch and one all_gather.
    - only its shard: while the next micro-batch is computed, nothing of the size of w
      is alive besides w and the buffer (if p > 1).

    Example: p = 2. The gradients [1, 0] and [3, 0] on rank 0, [2, 0] and [6, 0] on rank
    1 have the mean [3, 0].
    """
    ### BEGIN SOLUTION
    rank, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    own, part, count = torch.zeros_like(m), torch.empty_like(m), 0
    for gradient in gradients:
        dist.reduce_scatter_single(part, gradient)
        own += part
        count += 1
    part = w[rank * k : (rank + 1) * k].clone()
    adam(part, own / (count * p), m, v, t, lr)
    return unshard(part, len(w))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_zero2_step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(zero2_step)

# %% [markdown]
# It is a trade: $m$ micro-batches communicate $m$ times instead of once. Programs that
# have enough memory add up locally and communicate at the end (`no_sync` of unit 06).
#
# ## Activations: the rest of the memory · stretch
#
# Sixteen bytes per parameter do not depend on the batch. What does depend on it are the
# **activations**: whatever the forward pass keeps for the backward pass. PyTorch tells
# us what that is: `saved_tensors_hooks` is called for each tensor that autograd saves.
# Several tensors may share the same memory, so count *storages*, each once, and not the
# parameters, which are there anyway. The model is the course's transformer.

# %%
def saved_bytes(model: nn.Module, tokens: Tensor) -> int:
    """Bytes that autograd keeps between forward and backward, without parameters."""
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    seen = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(tokens)
    del logits
    return sum(seen.values())

# %% [markdown]
# Three batches of one model:

# %%
CONTEXT, WIDTH, HEADS, LAYERS = 64, 64, 4, 8
torch.manual_seed(0)
model = gpt(context=CONTEXT, width=WIDTH, heads=HEADS, layers=LAYERS)
params = sum(p.numel() for p in model.parameters())
tokens = torch.from_numpy(data.encode(data.text()))
print(f"{params:,} parameters: {16 * params / 1e6:.1f} MB with Adam in float32")
for batch in (1, 2, 4):
    kept = saved_bytes(model, tokens[: batch * CONTEXT].view(batch, CONTEXT).clone())
    numbers = kept / 4 / (batch * CONTEXT * WIDTH * LAYERS)
    print(
        f"batch {batch}: {kept / 1e6:6.1f} MB of activations, {numbers:.1f} numbers "
        "for each layer, token and unit of width"
    )

# %% [markdown]
# The ZeRO paper says "about 12" in that unit, for a transformer like GPT-2 (section
# 3.2, footnote). We count more. Where does the rest come from? Attention keeps a table
# of context x context for every head, which the formula leaves out:

# %%
contexts, numbers = (8, 16, 32, 64), []
for context in contexts:
    kept = saved_bytes(model, tokens[:context].view(1, context).clone())
    numbers.append(kept / 4 / (context * WIDTH * LAYERS))
    print(f"context {context:>2}: {numbers[-1]:4.1f} numbers")
slope, without = np.polyfit(contexts, numbers, 1)
print(
    f"a line: {without:.1f}, and {slope * WIDTH / HEADS:.2f} for each head and each "
    "token of the context"
)

# %% [markdown]
# For each head and each pair of tokens about one number (the softmax, and its mask, a
# byte). What stays at context 0 is the part that the formula means: inputs of matrix
# products, norms and GELUs of a block. We find 16 where the ZeRO paper says "about 12".
#
# Korthikanti et al. (arXiv 2205.05198, section 4.1) counted operation by operation. In
# 16 bits a layer keeps s b h (34 + 5 a s / h) bytes, for s tokens, a batch of b, width
# h and a heads. The 34 are 16 numbers of 2 bytes and two masks of dropout of 1 byte.
# Our model has no dropout, and 16 numbers is what we measure: their formula, with which
# unit 20 counts, is right to 2 %.
#
# (Try `tokens[:context]` without `.clone()`: a view of 300 bytes keeps all of the text
# alive. That is why storages are counted, and not tensors.)
#
# ### The peak is not where you think
#
# What is kept after the forward pass is not yet the peak. To see it, memory must be
# counted *over time*. `sharding.measured_step` does that for one step of the
# transformer's blocks on one rank: within `sharding.Counted()`, a `TorchDispatchMode`
# sees every operation of PyTorch, looks at the memory of its result, sums up what is
# still alive, and tells the relay's clock (unit 03). Each block takes virtual time:
# 1 ms forward, 2 ms backward. The blocks run as they are or checkpointed (you write
# that below):

# %% alt="A space-time diagram of one rank: eight blocks forward, eight backward, each backward block twice as wide. The curve of memory below climbs through the forward pass to its peak and comes down through the backward pass, not to nothing."
def one_step(how, every):
    def run(blocks, x):
        if how == "by hand":
            return checkpointed(blocks, x, every)
        if how == "library":
            return with_the_library(blocks, x, every)
        for block in blocks:
            x = block(x)
        return x

    sizes = {"context": CONTEXT, "width": WIDTH, "heads": HEADS, "layers": LAYERS}
    return sharding.measured_step(run, **sizes)


plain = simulation.run(one_step, 1, ("plain", 0))
kept, peak, _ = plain.ranks[0].value
print(f"after the forward pass {kept / 1e6:.1f} MB, at the peak {peak / 1e6:.1f} MB")
timeline.draw(plain.events, 1, title="A plain step", memory=plain.memory)

# %% [markdown]
# The curve climbs block after block, and comes down as the backward pass lets go of one
# block's activations after the other. It does not come down to nothing: gradients of
# the parameters take their place.
#
# ## Activation checkpointing · stretch
#
# **Activation checkpointing**: cut the blocks into segments. The forward pass keeps
# nothing but the *input* of each segment. The backward pass takes the last segment,
# computes it forward once more, now with everything kept, goes back through it, frees
# its memory, and takes the segment before. (Chen et al., *Training Deep Nets with
# Sublinear Memory Cost*, arXiv 1604.06174.)
#
# ![Memory of activations while six blocks run forward and backward. Plain: it climbs with each forward pass to a peak and falls with each backward pass. With segments of two blocks: after the forward pass only three small inputs are kept; then, segment by segment, two blocks run forward again, their inside fills the memory, and two backward passes empty it. The three hills are less than half as high as the plain peak; the step is a third longer.](../../images/checkpointing.svg)
#
# Above each pass is what is kept while it runs. Checkpointing turns the mountain into
# hills, and runs every block forward twice. (The inside of a block is drawn five times
# as large as its input, and a backward pass twice as long as a forward one.)
#
# Write it as a `torch.autograd.Function` with the segment's blocks and its input. In
# `forward`, autograd is off by itself; save the input with `ctx.save_for_backward`. In
# `backward`, begin with a detached input that requires a gradient, compute under
# `torch.enable_grad()`, and `torch.autograd.backward(y, gy)` puts the gradients of the
# parameters where they belong. **Think first:** a block has dropout. What must be the
# same in its second run, and how do you make it so? (`torch.get_rng_state`; and
# `torch.random.fork_rng(devices=[])` puts the generator back afterwards.)
#
# ### Activations computed twice (4 points)

# %% nbgrader={"grade": false, "grade_id": "checkpointed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpointed(blocks: list, x: Tensor, every: int) -> Tensor:
    """Run blocks one after the other with activation checkpointing.

    blocks: list of functions or modules, at least one
    x: tensor that requires a gradient
    every: int, number of blocks in a segment
    Returns: tensor, the output of `for block in blocks: x = block(x)`

    - the gradients of the plain run: after `backward`, x and all parameters have the
      same gradients as without checkpointing. The last segment has fewer blocks where
      `every` does not divide their number.
    - what is alive, and what is computed twice: after the forward pass the inputs of
      the segments and the result are alive, and no other activation. Each block runs at
      most twice. During `backward` the inside of one segment at a time is alive.
    - dropout: in both runs a block draws the random numbers that it draws in the plain
      run.

    Example: 5 blocks, every = 2. The segments have 2, 2 and 1 blocks, and their three
    inputs are kept.
    """
    ### BEGIN SOLUTION
    for start in range(0, len(blocks), every):
        x = Segment.apply(blocks[start : start + every], x)
    return x


class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, x):
        ctx.blocks, ctx.random = blocks, torch.get_rng_state()
        ctx.save_for_backward(x)
        for block in blocks:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random)
            y = x
            for block in ctx.blocks:
                y = block(y)
        torch.autograd.backward(y, gy)
        return None, x.grad

    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_checkpointed", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(checkpointed)

# %% tags=["raises-exception"] alt="The same diagram with checkpointing: in the backward pass each segment of two blocks runs forward once more before it goes back. The curve of memory stays low in the forward pass and then has one hill for each segment."
half = simulation.run(one_step, 1, ("by hand", 2))
same = np.array_equal(half.ranks[0].value[2].values, plain.ranks[0].value[2].values)
print("the same gradients, bit by bit:", same)
print(f"{half.ranks[0].busy / plain.ranks[0].busy:.2f} times the computing")
timeline.draw(half.events, 1, title="Segments of two blocks", memory=half.memory)

# %% [markdown]
# Each hill is a segment that is computed again. The price is the second forward pass:
# with a backward pass twice as long as a forward one, 4/3 of the computing; the ZeRO
# paper calls it "33% re-computation overhead" (section 3.2).
#
# **Predict:** which `every` has the lowest peak: 1, all 8, or something in between?

# %% tags=["parameters", "raises-exception"] alt="Pairs of bars for a plain step and for segments of 1, 2, 4 and 8 blocks: MB alive after the forward pass and at the peak of the step. After the forward pass the largest segments have least; at the peak the smallest ones do, and segments of all 8 blocks save nothing."
EVERY = (0, 1, 2, 4, 8)
measured = [
    simulation.run(one_step, 1, ("by hand" if every else "plain", every)).ranks[0].value
    for every in EVERY
]
kept = [kept / 1e6 for kept, _, _ in measured]
peaks = [peak / 1e6 for _, peak, _ in measured]
grouped.bars(
    ["plain", *(f"every {e}" for e in EVERY[1:])],
    {"after the forward pass": kept, "peak of the whole step": peaks},
    ylabel="MB alive",
)
print(
    f"your guess: {guess_3}; best: {peaks[0] / min(peaks):.1f} times less at the peak, "
    f"not {kept[0] / min(kept):.0f} times"
)

# %% [markdown]
# After the forward pass "all in one" looks best; at the peak it has saved nothing.
# Whoever measures only once, between the passes, picks the worst setting. The sum of
# the inputs and of one segment's inside would be smallest near the square root of the
# number of layers if a block's inside were as large as its input; here the inside is
# many times larger, so small segments win.

# %% [markdown]
# ## Half-time
#
# You have counted the bytes that a parameter costs, cut vectors into padded shards, and
# divided the optimizer's state: each rank steps on its own shard and gathers the
# others' new weights. Every rank still holds all parameters. ZeRO-3 divides them next;
# this is a good place for a break.

# %% [markdown]
# ## ZeRO-3: divide the parameters
#
# The last 2 bytes. A rank owns a shard of every layer. When a layer's turn comes, its
# weights are gathered; when it is done, they are freed. In the backward pass they are
# gathered *once more*, and the layer's gradient is reduce-scattered.
#
# ![The life of one layer under ZeRO-3 on four ranks. At rest each rank keeps one of four shards of the parameters. An all-gather gives every rank all four for the forward pass, then they are freed. A second all-gather brings them back for the backward pass, in which each rank computes its own whole gradient. A reduce-scatter leaves each rank one shard of the mean gradient, and the rest is freed.](../../images/zero3_layer.svg)
#
# Read the picture as a film of one layer: its weights are whole twice, and its gradient
# once.
#
# What you get is a list of layers. A layer has a `shard` (k numbers, padded), and two
# methods that want *all* of its weights, with or without the padding:
#
# - `layer.forward(weights, x)` returns its output and keeps its input, not the weights;
# - `layer.backward(weights, g)` takes the gradient with respect to its output and
#   returns a pair: the gradient with respect to its input, and this rank's gradient of
#   the weights, padded, k p numbers.
#
# **Think first:** while a layer computes, the network is idle. What could already be on
# its way? How many layers are then whole at a time? (The backward pass may begin with
# the last two as they are. The check changes the other shards before you need them.)
#
# ### ZeRO-3: the parameters are divided (5 points)

# %% nbgrader={"grade": false, "grade_id": "zero3_forward_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero3_forward_backward(layers: list, x: Tensor, loss_gradient) -> list[Tensor]:
    """Run one forward and one backward pass over layers whose weights are sharded.

    layers: list of layers, as described above, in the order of the forward pass
    x: tensor, this rank's input
    loss_gradient: function; loss_gradient(output) is the gradient of this rank's loss
        with respect to the output
    Returns: list of tensors of k numbers, one for each layer, in the order of `layers`

    - the gradients of the sequential run: each tensor is this rank's shard of the mean,
      over the ranks, of the layer's gradient.
    - no more than it must move: at most three times the bytes of the weights, for each
      layer two all_gathers and a reduce_scatter.
    - two layers at most: at any time at most two layers are whole, weights or gradient.
      What async_op=True returned holds its tensors, too, as long as you hold it.
    - gathers ahead: while a layer computes, the next layer's weights are on their way,
      in both passes.

    Example: p = 2. If a layer's gradient is [1, 2, 3] on rank 0 and [3, 4, 5] on rank
    1, they return [2, 3] and [4, 0] for it.
    """
    ### BEGIN SOLUTION
    p, last = dist.get_world_size(), len(layers) - 1
    whole, works = {}, {}

    def begin(i):
        if 0 <= i <= last and i not in whole:
            whole[i] = layers[i].shard.new_empty(p * len(layers[i].shard))
            works[i] = dist.all_gather_single(whole[i], layers[i].shard, async_op=True)

    def arrived(i):
        if i in works:
            works.pop(i).wait()

    begin(0)
    for i, layer in enumerate(layers):
        arrived(i)
        begin(i + 1)
        x = layer.forward(whole[i], x)
        if i < last - 1:  # the last two stay: with them the backward pass begins
            del whole[i]
    g, gradients = loss_gradient(x), []
    for i in reversed(range(len(layers))):
        arrived(i)
        begin(i - 1)
        g, gradient = layers[i].backward(whole.pop(i), g)
        own = torch.empty_like(layers[i].shard)
        dist.reduce_scatter_single(own, gradient)
        gradients.insert(0, own / p)
    return gradients
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_zero3_forward_backward", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(zero3_forward_backward)

# %% [markdown]
# Now on the transformer. `sharding.Layer` makes such a layer of each of its modules:
# the parameters are one flat vector, which your `shard` cuts, and what `forward` keeps
# is the input alone, so the inside is computed again in `backward`: checkpointing with
# `every = 1`. The modules themselves are on PyTorch's device "meta", where tensors have
# a shape and no memory. `sharding.minibatch` draws the sequences of each rank, and
# `sharding.data_parallel_gpt` has the gradient that data parallelism would use.

# %% tags=["raises-exception"]
def zero3_gpt():
    """The shards of all layers' gradients, and the most bytes alive."""
    x, y = sharding.minibatch(dist.get_rank(), dist.get_world_size())
    with sharding.Counted() as counted:
        modules = enumerate(sharding.small_gpt())
        layers = [sharding.Layer(module, k, shard) for k, module in modules]
        del modules
        counted.peak = 0  # building the model does not count
        gradients = zero3_forward_backward(layers, x, sharding.loss_gradient(y))
    return gradients, counted.peak

# %% tags=["raises-exception"]
LINKS = simulation.flat(alpha=1e-5, beta=1e-9)
by_hand = simulation.run(zero3_gpt, RANKS, topology=LINKS)
parallel = simulation.run(sharding.data_parallel_gpt, RANKS, topology=LINKS)

shards = [rank.value[0] for rank in by_hand.ranks]
worst = sharding.apart(shards, parallel.ranks[0].value[0])
print(f"largest difference of a gradient to data parallelism: {worst:.1e}")
for name, run in (("data parallel", parallel), ("ZeRO-3 by hand", by_hand)):
    print(
        f"{name:<15} peak {run.ranks[0].value[1] / 1e3:6.0f} kB, "
        f"{run.link_bytes['between'] / 1e3:6.0f} kB over the links, "
        f"{run.elapsed * 1e3:.2f} ms"
    )

# %% tags=["raises-exception"] alt="A space-time diagram of four ranks: blocks of computing, forward and backward, with the gathers of the next layer's weights below them at the same time. The curves of memory have a step at every layer."
timeline.draw(by_hand.events, RANKS, title="ZeRO-3 by hand", memory=by_hand.memory)

# %% [markdown]
# Above each lane is what is computed, below it what is gathered meanwhile; the curves
# show what is alive. Compare data parallelism: one long all-reduce at the end, and
# memory that climbs.

# %% tags=["raises-exception"] alt="The same for data parallelism: computing without a gap on all four ranks, then one long all-reduce. The curves of memory climb and stay high to the end."
timeline.draw(parallel.events, RANKS, title="Data parallel", memory=parallel.memory)

# %% [markdown]
# ### A published claim: 1.5 times · stretch
#
# "The total volume is therefore 3Ψ which is 1.5x compared to the baseline" (section
# 7.2.2, page 14; Ψ is the number of parameters). Count it, for larger and larger
# models, on the links of the ring. A layer here is n weights that are only added up:

# %% tags=["raises-exception"]
def dp_bytes(n):
    dist.all_reduce(torch.ones(n, dtype=torch.float64))


def zero3_bytes(n, count):
    layers = [sharding.Square(n // count, shard) for _ in range(count)]
    zero3_forward_backward(layers, torch.ones(1, dtype=torch.float64), lambda y: y)

# %% tags=["raises-exception"]
print("numbers   data parallel   layers      ZeRO-3   ratio")
ratios = {}
for n, count in ((96, 32), (960, 32), (9_600, 32), (96_000, 32), (96_000, 8)):
    once = simulation.run(dp_bytes, RANKS, (n,)).link_bytes["between"]
    sharded = simulation.run(zero3_bytes, RANKS, (n, count)).link_bytes["between"]
    ratios[n, count] = sharded / once
    print(
        f"{n:>7,} {once:>13,.0f} B {count:>8} {sharded:>9,.0f} B "
        f"{ratios[n, count]:>7.4f}"
    )
print(f"your guess: {guess_2}")

# %% [markdown]
# The excess in the first rows is padding, and vanishes as $n$ grows. The claim holds,
# for *bytes*, if each layer is gathered twice. Must it be? Where the forward pass ends,
# the backward pass begins: of $L$ layers two may stay whole, and the ratio is $3/2 -
# 1/L$. For messages the claim does not hold: data parallelism here needs one
# collective, ZeRO-3 up to three for every layer, and each pays its latency. That is why
# real programs gather a whole block of layers at a time.
#
# And a warning about counting: bytes *handed over* to the calls do not show it. A rank
# hands an all_reduce $n$ numbers and an all_gather $n / p$, although the first moves
# only twice as much as the second.

# %% [markdown]
# ## Clipping by the global norm · stretch
#
# Large models are trained with clipped gradients: if the norm of the gradient is above
# a limit, all of it is scaled down (unit 05). With ZeRO-2 and 3 no rank sees the whole
# gradient. What do the ranks have to tell each other?
#
# ### One norm of all shards (3 points)

# %% nbgrader={"grade": false, "grade_id": "clip_grad_norm_sharded", "locked": false, "schema_version": 3, "solution": true, "task": false}
def clip_grad_norm_sharded(shards: list, max_norm: float) -> float:
    """Clip a gradient by its global norm, where every rank holds shards of it.

    shards: list of tensors, this rank's shards of the gradient's tensors; scale them in
        place
    max_norm: float, the largest norm allowed
    Returns: float, the norm before clipping, the same on every rank

    - too long: multiply all shards by max_norm / norm. The norm is that of the whole
      gradient, over all tensors and all ranks.
    - short enough, empty, and zero: if norm <= max_norm nothing is scaled. Shards may
      be empty, and the gradient may be zero.
    - one number travels: one collective, of one number.

    Example: p = 2, max_norm = 1. The shards [3] and [4] have the norm 5 and become
    [0.6] and [0.8].
    """
    ### BEGIN SOLUTION
    total = sum((part**2).sum() for part in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    if norm > max_norm:
        for part in shards:
            part.mul_(max_norm / norm)
    return norm
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_clip_grad_norm_sharded", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(clip_grad_norm_sharded)

# %% [markdown]
# ## Break it
#
# The classic mistake: `torch.nn.utils.clip_grad_norm_` called on flat shards such as
# yours, as the program did before sharding. No error, no hang, all replicas equal. Each
# rank clips by the norm of *its* shard. **Before you run it:** how will the loss look?
#
# `sharding.descend` trains the small transformer with whatever gradient you apply. For
# each step it returns the loss, the cosine between the gradient that was applied and
# the right one, and the length of what was applied.
#
# (Under `fully_shard`, further down, gradients are DTensors, which know that they are
# shards. There the same call is right: it takes the norm over the whole mesh.)

# %% tags=["parameters"]
STEPS = 60

# %% tags=["raises-exception"]
def clipped_gradient(flat, how):
    """The gradient to apply: `flat`, the mean gradient of all ranks, clipped to a
    length of 0.25, shard by shard.
    """
    part = shard(flat, dist.get_rank(), dist.get_world_size())
    # here the whole gradient is at hand: the right norm is simply its own
    norm = flat.norm() if how == "all ranks' norm" else part.norm()
    part.mul_(min(1.0, 0.25 / float(norm)))
    return unshard(part, len(flat))


def train_clipped(steps, how):
    return sharding.descend(lambda flat: clipped_gradient(flat, how), steps)

# %% tags=["raises-exception"] alt="Two charts over the steps. The losses of both trainings fall almost alike. The cosine to the gradient is 1 throughout with the norm of all ranks and lies below 1 with each rank's own norm."
clipped = {}
for how in ("all ranks' norm", "own norm"):
    clipped[how] = simulation.run(train_clipped, RANKS, (STEPS, how)).ranks[0].value
    losses, cosines, lengths = clipped[how]
    print(
        f"{how:<16} loss after {STEPS} steps {np.mean(losses[-5:]):.3f}, "
        f"smallest cosine {min(cosines):.3f}, longest gradient {max(lengths):.3f}"
    )
looks = dict(zip(clipped, ("blue -", "red --")))
panels = {
    label: {how: (range(STEPS), of[k], looks[how]) for how, of in clipped.items()}
    for k, label in enumerate(("loss", "cosine to the gradient"))
}
limits = {"cosine to the gradient": (0, 1.05)}
charts.side_by_side(panels, size=(9, 3.2), xlabel="step", ylim=limits)

# %% [markdown]
# Each part of the gradient was scaled by a factor of its own: what is applied points in
# another direction than the gradient, and is up to $\sqrt{p}$ times as long as the
# limit allows: twice, on 4 ranks. The loss shows next to nothing, and that is the
# danger: it is another optimizer, one that changes with the number of ranks, and a
# limit that does not hold on the day it is needed. No message will ever tell you; a
# comparison with the sequential run does.

# %% [markdown]
# ## PyTorch's own
#
# ### ZeroRedundancyOptimizer is ZeRO-1
#
# It divides whole *tensors* among the ranks, not a flat vector, so that shares differ,
# and sends them by broadcasts. Three steps (`sharding.zero_redundancy_gpt`), held
# against your `zero1_step` on the same gradients:

# %% tags=["raises-exception"]
def three_steps_by_hand():
    """The weights after three steps, and numbers of state on this rank."""
    rank, p = dist.get_rank(), dist.get_world_size()
    net = sharding.small_gpt()
    w = training.flat(net.parameters())
    k = -(-len(w) // p)
    m, v = (torch.zeros(k, dtype=torch.float64) for _ in range(2))
    for t in range(1, 4):
        _, g = sharding.flat_gradient(net, *sharding.minibatch(rank, p, t))
        w = zero1_step(w, g, m, v, t, 0.01)
        sharding.write(net, w)
    return w, len(m) + len(v)

# %% tags=["raises-exception"]
ours = simulation.run(three_steps_by_hand, RANKS)
theirs = simulation.run(sharding.zero_redundancy_gpt, RANKS)
difference = ours.ranks[0].value[0].values - theirs.ranks[0].value[0].values
print(f"largest difference of a weight after three steps: {abs(difference).max():.1e}")
print("numbers of state by hand:", [rank.value[1] for rank in ours.ranks])
print("of the library:          ", [rank.value[1] for rank in theirs.ranks])

# %% [markdown]
# ### fully_shard is ZeRO-3
#
# `fully_shard(module)` turns a module's parameters into shards, and gathers them for
# its forward and its backward pass. If you call it on each block and then on the model,
# one block at a time is whole.

# %% tags=["raises-exception"]
def library_gpt(shape, names, whole=True):
    """Gradients of `fully_shard` on a mesh, flat for every module, and how many numbers
    this rank holds. whole: gather the gradients to compare them; no training does.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    rank, p = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", tuple(shape), mesh_dim_names=tuple(names))
    net = sharding.timed_gpt()
    for module in net:
        fully_shard(module, mesh=mesh)
    fully_shard(net, mesh=mesh)
    held = sum(w.to_local().numel() for w in net.parameters())
    x, y = sharding.minibatch(rank, p)
    sharding.loss_of(net(x), y).backward()
    return sharding.whole_gradients(net) if whole else [], held

# %% tags=["raises-exception"]
library = simulation.run(library_gpt, RANKS, ([RANKS], ["shard"]), topology=LINKS)
wholes = library.ranks[0].value[0]
worst = sharding.apart(shards, wholes)
print(f"largest difference of a gradient to yours: {worst:.1e}")
held = [rank.value[1] for rank in library.ranks]
numbers = sum(len(one.values) for one in wholes)
print("numbers that a rank holds:", held, "of", numbers)

# %% tags=["raises-exception"] alt="Two space-time diagrams of four ranks, one below the other. By hand the gathers run below the computing; under fully_shard each gather comes before the computing that needs it."
# the comparison's own gathers are left out
step, theirs = sharding.until_computed(library)
charts.diagrams({"ZeRO-3 by hand": by_hand, "fully_shard": step}, RANKS)
twice = by_hand.ranks[0].busy - library.ranks[0].busy
ours = by_hand.elapsed
print(f"by hand     {ours * 1e3:.2f} ms, {twice * 1e3:.2f} of them computing again")
print(f"fully_shard {theirs * 1e3:.2f} ms")

# %% [markdown]
# The same gathers before each block, forward and backward (except what you have kept),
# the same reduce-scatters after it. Two things differ. Your layers keep their input
# only and compute their inside again: a backward pass of 0.3 instead of 0.2 ms. And
# yours gather ahead, while here, on CPUs, `fully_shard` waits for each gather before it
# computes.
#
# ### HSDP: sharded inside a node, copied between nodes · stretch
#
# On a mesh of two dimensions, `fully_shard` shards along the last one and keeps copies
# along the first. Put the shards inside the nodes: what is gathered twice in every step
# uses the fast links, and between the nodes a shard of the gradient is all-reduced. It
# costs memory: a rank holds 1/2 instead of 1/4.
#
# ![Hybrid sharding on two nodes with two ranks each. In each node one rank keeps half 0 of the parameters, the other half 1; inside the node they are all-gathered twice and gradients reduce-scattered once in a step. Ranks 0 and 2 hold copies of half 0, ranks 1 and 3 of half 1; each pair all-reduces its half of the gradient between the nodes.](../../images/hsdp.svg)
#
# Along a row is the group that shards, down a column the group that holds copies.

# %% tags=["raises-exception"]
for shape, names in (([4], ["shard"]), ([2, 2], ["copies", "shard"])):
    mesh = shape, names
    step = simulation.run(library_gpt, RANKS, (*mesh, False), topology="nodes of 2")
    run = simulation.run(library_gpt, RANKS, mesh, topology="nodes of 2")
    print(
        f"mesh {shape!s:<7} a rank holds {run.ranks[0].value[1]:>6,} numbers; kB "
        f"inside the nodes {step.link_bytes['inside'] / 1e3:6.0f}, "
        f"between them {step.link_bytes['between'] / 1e3:6.0f}"
    )
    same = sharding.furthest(run.ranks[0].value[0], library.ranks[0].value[0])
    print(f"             difference of the gradients: {same:.0e}")

# %% [markdown]
# ## What to remember
#
# - **16 bytes per parameter** with Adam in mixed precision, before the first
#   activation; 18 where gradients are added up in 32 bits. ZeRO-1 divides 12 of the 16,
#   ZeRO-2 another 2, ZeRO-3 the last 2.
# - ZeRO-1 and 2 cost no more bytes than data parallelism: reduce_scatter + all_gather
#   *is* an all_reduce. ZeRO-3 costs **3/2**, and more messages.
# - Activations grow with the batch. Checkpointing trades them for **one more forward
#   pass**; judge it by the peak over the whole step.
# - Padding: $k = \lceil n / p \rceil$, zeros at the end, and a shard may be empty.
# - What concerns the whole gradient (a norm, an inf) needs communication between the
#   ranks.
#
# **To think about.** Adam's step hardly changes if you forget to divide the gradient by
# $p$. Why? And why should you divide all the same?

# %% [markdown]
# ## Deeper: what the library's checkpointing does
#
# `torch.utils.checkpoint` with `use_reentrant=False` needs no Function: it puts hooks
# on the saved tensors, as the counter above did. Nothing is stored when a tensor is
# packed; the first one to be unpacked makes the segment run again.

# %% tags=["raises-exception"]
def with_the_library(blocks, x, every):
    def run(x, start):
        for block in blocks[start : start + every]:
            x = block(x)
        return x

    for start in range(0, len(blocks), every):
        x = checkpoint(run, x, start, use_reentrant=False)
    return x


theirs = simulation.run(one_step, 1, ("library", 2))
for name, run in (("by hand", half), ("torch.utils.checkpoint", theirs)):
    kept, peak, _ = run.ranks[0].value
    print(f"{name:<23} kept {kept / 1e6:5.2f} MB, peak {peak / 1e6:5.2f} MB")
same = np.array_equal(half.ranks[0].value[2].values, theirs.ranks[0].value[2].values)
print("the same gradients:", same)

# %% [markdown]
# ### To read
#
# - S. Rajbhandari et al., *ZeRO: Memory Optimizations Toward Training Trillion
#   Parameter Models*, arXiv 1910.02054: sections 3, 5 and 7.
# - T. Chen et al., *Training Deep Nets with Sublinear Memory Cost*, arXiv 1604.06174.
