# %% [markdown]
# # 15 · Sharding
#
# In data parallelism every rank holds everything: all parameters, all gradients, the
# entire optimizer state. On 64 ranks that is 64 replicas of the same numbers. On this
# page you remove these replicas, one kind after another, and measure the savings and
# the costs. The method is called ZeRO (*Zero Redundancy Optimizer*); its last stage is
# PyTorch's `fully_shard`, or FSDP (*fully sharded data parallel*).
#
# **At the end of this page** you can say, before you start a training run, how many
# bytes parameters, gradients and optimizer state need on every rank; you have written
# ZeRO-1 and ZeRO-3 yourself (and, in the optional *stretch* sections, ZeRO-2 and
# activation checkpointing), and your gradients agree with those of `fully_shard`.
#
# **You need** units 03, 05, 06 and 10 (mixed precision). **It takes** about 125
# minutes, the *stretch* 110 more. Plan two sittings, with a break at *Half-time*;
# sections marked *stretch* are optional. The cells themselves run for about half a
# minute on two cores. They take about 0.8 GB of memory.

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
# 1. A model has 7.5 billion parameters of 2 bytes each: 15 GB. How much memory does a
#    training step with Adam need, before the first activation is stored?
# 2. If each rank holds only its share of the parameters (a *shard*), the other shards
#    must be communicated in every step. By what factor does the communication volume
#    grow, compared with plain data parallelism?
# 3. You discard most activations of a network and recompute them in the backward pass.
#    By what factor does peak memory shrink?
#
# (Everything whose name starts with `sharding.` is provided, and you need not read it:
# sharded layers, a memory counter, a small transformer and its data. It is in
# `labkit/lessons/sharding.py`; `help(sharding)` shows it.)

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Sixteen bytes per parameter
#
# What must be in memory for one parameter? With Adam in mixed precision (unit 10):
#
# | component | bytes | first sharded at |
# |---|---|---|
# | parameter, 16 bits | 2 | stage 3 |
# | gradient, 16 bits | 2 | stage 2 |
# | optimizer state: 32-bit copy of the parameter (*master weights*) | 4 | stage 1 |
# | optimizer state: Adam's two moments, 32 bits each | 8 | stage 1 |
#
# That is 16 bytes, whatever the batch size. The copy is needed because small updates
# would be rounded away in 16 bits. In 32 bits throughout, parameter and gradient take 4
# bytes each, and there is no copy. In either precision, SGD with momentum keeps one
# 4-byte number instead of the two moments, and plain SGD none; in mixed precision the
# 32-bit copy stays.
#
# Other texts say 18. The difference is the gradient: the ZeRO paper, like the table,
# counts it in 16 bits, while Megatron-LM and Llama 3 add up the gradients of
# micro-batches (parts of a batch) in 32 bits: 2 + 4 + 12 = 18 bytes, as in unit 20.
# PyTorch's `fully_shard` (at the end of this page) gets to 16 by another route: with
# the option `mp_policy` it keeps everything in 32 bits (4 + 4 + 8) and makes 16-bit
# copies block by block.
#
# ZeRO's stage 0 is plain data parallelism. **Stage 1** shards the optimizer state
# across the $p$ ranks, **stage 2** also the gradients, **stage 3** also the parameters.
# To shard a vector of $n$ numbers, cut it into shards of equal size,
# $k = \lceil n / p \rceil$ numbers each: the collectives used here take the same amount
# from every rank. The last shards are padded with zeros.
#
# ![The bytes that each of four ranks keeps for one parameter of the model, as bars. Data parallel: 2 bytes of parameter, 2 of gradient and 12 of optimizer state on every rank, 16 in total. ZeRO-1: each rank keeps a quarter of the optimizer state, 7 bytes in total. ZeRO-2: also a quarter of the gradients, 5.5 bytes. ZeRO-3: a quarter of everything, 4 bytes. The quarters of the four ranks are stacked like the steps of a staircase.](../../images/zero_stages.svg)
#
# The bars show the memory of each of four ranks for one parameter. Each stage shards
# one more kind of data: a rank keeps a quarter of it, and the other three quarters
# (dotted) are on the other ranks.
#
# ### Memory per rank (3 points)

# %% nbgrader={"grade": false, "grade_id": "memory_per_rank", "locked": false, "schema_version": 3, "solution": true, "task": false}
def memory_per_rank(
    params: int, p: int, stage: int, optimizer: str, mixed: bool
) -> int:
    """Return the bytes of parameters, gradients and optimizer state on each of p ranks.

    params: int, number of parameters of the model, 0 to 10**15
    p: int, number of ranks
    stage: int, 0 to 3, ZeRO's stage
    optimizer: "adam", "momentum" or "sgd"; no other is given
    mixed: bool, True for mixed precision, False for 32 bits throughout
    Returns: int, bytes (a float with an integer value is accepted, too)

    - Adam in mixed precision: the bytes in the table above. Count one shard of each
      component sharded at this stage or an earlier one, and the others in full.
    - other optimizers, float32, and padding: with mixed precision every optimizer's
      state (SGD's, too) includes the 32-bit copy of the parameters; without it, there
      is no such copy. A shard is ceil(params / p) numbers, padding included.
    - illegal arguments: raise ValueError for any other stage, and for fewer than one
      rank.

    Example: memory_per_rank(1000, 8, 1, "adam", True) == 5500
    """
    ### BEGIN SOLUTION
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError(f"there is no stage {stage} on {p} ranks")
    small = 2 if mixed else 4
    state = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    shard_size = -(-params // p)
    sizes = ((state, 1), (small, 2), (small, 3))  # bytes, and sharded from which stage
    return sum(
        size * (shard_size if stage >= first else params) for size, first in sizes
    )
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_memory_per_rank", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(memory_per_rank)

# %% [markdown]
# ### Recomputing a published table · stretch
#
# The paper (Rajbhandari et al., *ZeRO: Memory Optimizations Toward Training Trillion
# Parameter Models*, arXiv 1910.02054) has a table of 54 numbers: gigabytes per device
# for three models, six rank counts, three stages (table 1, page 11).
# `sharding.published()` returns them. Does your function reproduce them? Each of your
# results is rounded to as many digits as the table prints, and then compared:

# %% tags=["raises-exception"]
differences = []
for params, stage, p, printed in sharding.published():
    ours = memory_per_rank(params, p, stage, "adam", True) / 1e9
    if not sharding.rounds_to(ours, printed):
        which = f"{params:.3g} parameters, stage {stage}, {p:>4} ranks"
        differences.append(f"  {which}: printed {printed:g}, computed {ours:.3f}")
print(f"54 numbers; {len(differences)} differ from the correctly rounded value")
print(*differences, sep="\n")

# %% [markdown]
# The table agrees with the formula: where a printed number differs from yours, it was
# truncated, not rounded, which affects only its last digit. Now draw the stages for the
# smallest model on 64 ranks; the first bar, plain data parallelism, answers your first
# guess:

# %% tags=["raises-exception"] alt="Four bars, one below the other: GB on each of 64 ranks. Data parallel 120.0, ZeRO-1 31.4, ZeRO-2 16.6, ZeRO-3 1.9. The optimizer state is by far the largest part of the first bar and the first to shrink."
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
# From now on the parameters (or weights) of a model, or of one of its layers, are a
# flat vector of $n$ numbers, and every rank owns one shard of it.
#
# ![Vectors cut into equal shards for four ranks. Ten numbers: shards of 3; ranks 0, 1 and 2 own w0 to w8, rank 3 owns w9 and two zeros of padding. Five numbers: shards of 2; ranks 0 and 1 own w0 to w3, rank 2 owns w4 and one zero, and the shard of rank 3 is two zeros.](../../images/padded_shards.svg)
#
# Every shard has $k$ numbers, whether or not $p$ divides $n$.
#
# ### Cutting a vector into shards (2 points)

# %% nbgrader={"grade": false, "grade_id": "shard", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shard(flat: Tensor, rank: int, p: int) -> Tensor:
    """Return one rank's shard of a flat vector.

    flat: tensor of n numbers, n >= 0; it may be a view, such as a column of a matrix
    rank: int, from 0 to p - 1
    p: int, number of ranks
    Returns: tensor of k = ceil(n / p) numbers, dtype of flat

    - equal shards: flat[rank * k : (rank + 1) * k], padded with zeros at the end.
    - more ranks than numbers: a shard may be all padding, or empty if n = 0.
    - unchanged: do not write to flat.

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
# ### Gathering the shards (3 points)
#
# `dist.all_gather_single(whole, part)` writes the shards `part` of all ranks into
# `whole`, in the order of the ranks. `dist.reduce_scatter_single(own, whole)` adds up
# the vectors `whole` of all ranks and leaves each rank its shard of the sum in `own`.
# These two collectives are all you need for ZeRO, but you may use others. (Before
# PyTorch 2.13 they were called `all_gather_into_tensor` and `reduce_scatter_tensor`.)

# %% nbgrader={"grade": false, "grade_id": "unshard", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unshard(part: Tensor, n: int) -> Tensor:
    """Return, on every rank, the whole vector that was cut into shards.

    part: tensor, this rank's shard, as `shard` returns it
    n: int, length of the whole vector
    Returns: tensor of n numbers, dtype of part

    - the whole vector: the shards in the order of the ranks, without the padding.
    - more ranks than numbers: some shards may be all padding.
    - in one collective: a single call, to which each rank contributes only its shard.

    Example: p = 2, n = 3. With the shards [1, 2] and [3, 0] both ranks return
    [1, 2, 3].
    """
    ### BEGIN SOLUTION
    whole = part.new_empty(len(part) * dist.get_world_size())
    dist.all_gather_single(whole, part)
    return whole[:n]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_unshard", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(unshard)

# %% [markdown]
# ## ZeRO-1: sharding the optimizer state
#
# Adam's two moments are read and written only in the optimizer step. So let every rank
# keep only the moments of its shard, update only its shard of the parameters, and
# gather the other ranks' new shards. `adam` is provided; it works in place.
#
# ![A step of ZeRO-1 on four ranks as grids of ranks by shards. Each rank begins with its own full gradient. A reduce-scatter leaves each rank one shard of the mean. With that and its shard of the optimizer state, which is never communicated, each rank takes a step of Adam and has one shard of new parameters. An all-gather gives every rank all new parameters.](../../images/zero1_step.svg)
#
# Read each row from left to right. In the middle, a rank works on $k$ numbers instead
# of $n$.

# %%
def adam(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, lr: float) -> None:
    """Take step t, counted from 1, with gradient g; change w, m and v in place."""
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))

# %% [markdown]
# ### A step of ZeRO-1 (3 points)

# %% nbgrader={"grade": false, "grade_id": "zero1_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero1_step(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, lr: float) -> Tensor:
    """Run one step of Adam with the optimizer state sharded across the ranks.

    w: tensor of n parameters, float32 or float64, the same on every rank; may be
        changed
    g: tensor of n numbers, this rank's gradient, dtype of w; may be changed
    m, v: tensors of k numbers, the moments of this rank's shard, dtype of w; change
        their numbers in place (they may be views of one buffer)
    t: int, number of this step in the training run, from 1
    lr: float, learning rate
    Returns: tensor of the n new parameters, the same on every rank

    - the weights of sequential Adam: take the step of `adam` with the mean of all
      ranks' gradients.
    - p does not divide n: shards are padded with zeros.
    - limited traffic: at most two collectives, and together no more bytes than an
      all_reduce of the gradient plus an all_gather of the parameters, both padded. The
      moments are not communicated.

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
# An `all_reduce` of the gradient would also work, and many programs do that in stage 1.
# But each rank needs only its own shard of the mean.
#
# ## ZeRO-2: sharding the gradients · stretch
#
# An `all_reduce` is a `reduce_scatter` followed by an `all_gather` (unit 03). Leave out
# the second half, and the gradient is sharded. A `zero1_step` with a reduce-scatter
# does this already, but it starts from a full gradient. ZeRO-2 saves memory in two
# ways. First, in a real ZeRO-2 program the full gradient never exists: it is computed
# layer by layer, and each layer's part is reduce-scattered as soon as it is ready.
# Second, it saves memory in **gradient accumulation**: a batch too large for memory is
# cut into *micro-batches*, which run one after another, and their gradients are added
# up. From one micro-batch to the next, only a shard of this sum is kept, not the full
# vector. The exercise is about this one.
#
# ### A step of ZeRO-2 (4 points)
#
# Here the vectors are already padded, as a real program would allocate them. All
# micro-batches have the same size. Their gradients come **in one buffer**: each
# overwrites the one before.

# %% nbgrader={"grade": false, "grade_id": "zero2_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero2_step(w: Tensor, gradients, m: Tensor, v: Tensor, t: int, lr: float) -> Tensor:
    """Run one step of Adam with optimizer state and gradients sharded across the ranks.

    w: tensor of k * p parameters, padded, float32 or float64, the same on every rank;
        may be changed
    gradients: iterator; each iteration computes this rank's gradient of one
        micro-batch, k * p numbers, always into the same buffer, which you may
        overwrite; there is at least one
    m, v, t, lr: as in `zero1_step`
    Returns: tensor of the k * p new parameters, padded like w, the same on every rank

    - one micro-batch: take the step of `adam` with the mean of all ranks' gradients.
    - several micro-batches: use the mean over all micro-batches of all ranks.
    - minimal traffic: together no more bytes than a reduce_scatter for each micro-batch
      plus one all_gather.
    - sharded gradients: if p > 1, nothing as large as w is alive while the next
      micro-batch is computed, except w and the buffer.

    Example: p = 2. The gradients are [1, 0] and [3, 0] on rank 0, [2, 0] and [6, 0] on
    rank 1. Their mean is [3, 0].
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
# This is a trade-off: with $M$ micro-batches, a step takes $M$ reduce-scatters instead
# of one. Programs that have enough memory add up the gradients locally and communicate
# once, at the end (`no_sync` in unit 06).
#
# ## Activation memory · stretch
#
# The sixteen bytes per parameter do not depend on the batch. The **activations** do:
# the tensors that the forward pass keeps for the backward pass. PyTorch shows them: the
# hooks set by `saved_tensors_hooks` are called for each tensor that autograd saves.
# Several tensors may share one *storage*, the memory behind them, so count each storage
# once. Leave out the parameters, which are in memory anyway. The model is the course's
# transformer.

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
# The same model with three batch sizes:

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
        "per layer, token and hidden unit"
    )

# %% [markdown]
# The ZeRO paper says "about 12" for this quantity, for a transformer like GPT-2
# (section 3.2, footnote). We measure more. Where does the difference come from?
# Attention keeps a matrix of context x context numbers for every head, which the paper
# leaves out:

# %%
contexts, numbers = (8, 16, 32, 64), []
for context in contexts:
    kept = saved_bytes(model, tokens[:context].view(1, context).clone())
    numbers.append(kept / 4 / (context * WIDTH * LAYERS))
    print(f"context {context:>2}: {numbers[-1]:4.1f} numbers")
slope, without = np.polyfit(contexts, numbers, 1)
each = slope * WIDTH / HEADS
print(f"fit: {without:.1f} numbers, plus {each:.2f} per head and token of context")

# %% [markdown]
# Each head keeps one number for each pair of tokens: the softmax output. (All heads
# share the mask, one byte for each pair.) The intercept is what remains: the inputs of
# the block's matrix products, norms and GELUs. It is about 16, where the paper says
# "about 12".
#
# Korthikanti et al. (arXiv 2205.05198, section 4.1) counted operation by operation. In
# 16 bits a layer keeps $s\,b\,h\,(34 + 5 a s / h)$ bytes, for $s$ tokens, batch size
# $b$, width $h$ and $a$ heads. The 34 bytes are 16 numbers of 2 bytes each plus two
# dropout masks of 1 byte each. The 5 bytes for each head and pair of tokens are two
# numbers of 2 bytes (the softmax output before and after dropout) plus the dropout mask
# of 1 byte. Without dropout, 16 numbers remain in the first term and 1 in the second;
# the fit above gives 16.3 and 1.06. Unit 20 uses this formula.
#
# (Try `tokens[:context]` without `.clone()`: a view of 64 tokens, 512 bytes, keeps the
# entire text in memory. That is why storages are counted, and not tensors.)
#
# ### Peak memory
#
# The memory kept after the forward pass is not yet the peak. To see the peak, count
# memory *over time*. `sharding.measured_step` does this for one step of the
# transformer's blocks on one rank. It uses `sharding.Counted()`, a `TorchDispatchMode`:
# PyTorch calls it for every operation, and it then adds up the storages that are still
# alive; the simulator (unit 03) records the sum over time. Each block takes virtual
# time: 1 ms forward, 2 ms backward. The blocks run with or without activation
# checkpointing (`checkpointed` and `with_the_library` come later on this page):

# %% alt="A space-time diagram of one rank: eight blocks forward, eight backward, each backward block twice as wide. The curve of memory below climbs through the forward pass, peaks as the backward pass begins, and falls through the backward pass, not to zero."
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
# The curve climbs block by block and peaks as the backward pass begins: its first
# gradients come on top of all activations. It falls as the backward pass frees one
# block's activations after another, but not to zero: the parameter gradients take their
# place.
#
# ## Activation checkpointing · stretch
#
# **Activation checkpointing**: cut the blocks into segments. The forward pass keeps
# only the *input* of each segment. The backward pass takes the last segment, recomputes
# its forward pass, this time keeping everything, runs backward through it, frees its
# memory, and moves on to the preceding segment. (Chen et al., *Training Deep Nets with
# Sublinear Memory Cost*, arXiv 1604.06174.)
#
# ![Activation memory while six blocks run forward and backward. Plain: it climbs with each forward pass to a peak and falls with each backward pass. With segments of two blocks: after the forward pass only three small inputs are kept; then, segment by segment, two blocks run forward again, their intermediate activations fill the memory, and two backward passes empty it. The three hills are less than half as high as the plain peak; the step is a third longer.](../../images/checkpointing.svg)
#
# The area above each pass shows the memory kept while it runs. Checkpointing turns the
# mountain into hills, and runs every block forward twice. (A block's intermediate
# activations are drawn five times as large as its input, and a backward pass twice as
# long as a forward pass.)
#
# Write one segment as a `torch.autograd.Function` whose arguments are the segment's
# blocks and its input. In `forward`, autograd is switched off automatically; save the
# input with `ctx.save_for_backward`. In `backward`, detach the saved input, make it
# require a gradient, and compute the segment's output `y` again under
# `torch.enable_grad()`. With `gy`, the gradient that `backward` receives,
# `torch.autograd.backward(y, gy)` then accumulates the gradients in `.grad`. **Think
# first:** suppose a block has dropout. What must be the same in its second run, and how
# do you ensure it? (`torch.get_rng_state` and `set_rng_state` read and set the
# generator's state; after a `with torch.random.fork_rng(devices=[]):` block it is what
# it was before.)
#
# ### Recomputing activations (4 points)

# %% nbgrader={"grade": false, "grade_id": "checkpointed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpointed(blocks: list, x: Tensor, every: int) -> Tensor:
    """Run blocks one after the other with activation checkpointing.

    blocks: list of functions or modules, at least one
    x: tensor that requires a gradient
    every: int, number of blocks in a segment
    Returns: tensor, the output of `for block in blocks: x = block(x)`

    - the gradients of the plain run: after `backward`, x and all parameters have the
      same gradients as without checkpointing. The last segment has fewer blocks if
      `every` does not divide the number of blocks.
    - memory and recomputation: after the forward pass only the inputs of the segments
      and the result are alive. Each block runs at most twice. During `backward` the
      intermediate activations of only one segment at a time are alive.
    - dropout: a block draws the same random numbers as without checkpointing, in the
      first run and in the second. After `backward` the generator's state is as after
      the plain run.
    - two passes: a second forward pass may begin before the first one's `backward`.

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

# %% tags=["raises-exception"] alt="The same diagram with checkpointing: in the backward pass each segment of two blocks runs forward once more before it runs backward. The curve of memory stays low in the forward pass and then has one hill for each segment."
half = simulation.run(one_step, 1, ("by hand", 2))
same = np.array_equal(half.ranks[0].value[2].values, plain.ranks[0].value[2].values)
print("gradients bitwise equal:", same)
print(f"{half.ranks[0].busy / plain.ranks[0].busy:.2f} times the compute")
timeline.draw(half.events, 1, title="Segments of two blocks", memory=half.memory)

# %% [markdown]
# Each hill is one segment being recomputed. The price is the second forward pass: if a
# backward pass takes twice as long as a forward pass, the step takes 4/3 of the
# compute. The ZeRO paper calls it "33% re-computation overhead" (section 3.2).
#
# **Predict:** which `every` has the lowest peak: 1, all 8, or something in between?

# %% tags=["parameters", "raises-exception"] alt="Pairs of bars for a plain step and for segments of 1, 2, 4 and 8 blocks: MB alive after the forward pass and at the peak of the step. After the forward pass, memory is lowest with the largest segments; at the peak, with the smallest, and segments of all 8 blocks save nothing."
EVERY = (0, 1, 2, 4, 8)
measured = [
    simulation.run(one_step, 1, ("by hand" if every else "plain", every)).ranks[0].value
    for every in EVERY
]
kept = [kept / 1e6 for kept, _, _ in measured]
peaks = [peak / 1e6 for _, peak, _ in measured]
grouped.bars(
    ["plain", *(f"every {e}" for e in EVERY[1:])],
    {"after the forward pass": kept, "peak of the step": peaks},
    ylabel="MB alive",
)
print(
    f"your guess: {guess_3}; best factor at the peak: {peaks[0] / min(peaks):.1f}, "
    f"after the forward pass: {kept[0] / min(kept):.0f}"
)

# %% [markdown]
# Right after the forward pass, one segment of all 8 blocks looks best; at the peak it
# has saved nothing. If you measure only once, between the passes, you pick the worst
# setting. If a block's intermediate activations were only as large as its input, the
# lowest peak would come with segments of about $\sqrt{L}$ blocks, for $L$ layers. Here
# they are many times larger than the input, so small segments win.

# %% [markdown]
# ## Half-time
#
# You have counted the bytes per parameter, cut vectors into padded shards, and sharded
# the optimizer state: each rank updates its own shard of the parameters and gathers the
# other shards. Every rank still holds all parameters. ZeRO-3 shards them next; this is
# a good place for a break.

# %% [markdown]
# ## ZeRO-3: sharding the parameters
#
# The last 2 of the 16 bytes are the parameters. A rank owns a shard of every layer. A
# layer's parameters are gathered when the layer is about to run, and freed afterwards.
# In the backward pass they are gathered *once more*, and the layer's gradient is
# reduce-scattered.
#
# ![The life of one layer under ZeRO-3 on four ranks. At rest each rank keeps one of four shards of the parameters. An all-gather gives every rank all four for the forward pass, then they are freed. A second all-gather brings them back for the backward pass, in which each rank computes its own full gradient. A reduce-scatter leaves each rank one shard of the mean gradient, and the rest is freed.](../../images/zero3_layer.svg)
#
# Read the picture as a timeline of one layer: its parameters are gathered twice, and
# its full gradient exists only until the reduce-scatter.
#
# You get a list of layers. A layer has a `shard` (k numbers, padded), and two methods
# that need *all* of its parameters (`weights`), with or without the padding:
#
# - `layer.forward(weights, x)` returns its output and keeps its input, not the weights;
# - `layer.backward(weights, g)` takes the gradient with respect to its output and
#   returns a pair: the gradient with respect to its input, and this rank's gradient of
#   the weights, padded, k * p numbers.
#
# With `async_op=True` a collective returns a work handle at once, and the handle's
# `wait()` returns when the data has arrived (unit 08). **Think first:** while a layer
# computes, the links are idle. What could be gathered in the meantime (*prefetching*)?
# How many layers are then gathered at a time? (The backward pass may start with the
# last two layers still gathered from the forward pass. Each of the remaining layers is
# gathered again. Start gathering such a layer i when layer i + 1 begins its backward
# pass, and no earlier: until then the autograder may still change its shard.)
#
# ### Forward and backward pass of ZeRO-3 (5 points)

# %% nbgrader={"grade": false, "grade_id": "zero3_forward_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def zero3_forward_backward(layers: list, x: Tensor, loss_gradient) -> list[Tensor]:
    """Run one forward and one backward pass over layers whose parameters are sharded.

    layers: list of layers, as described above, in the order of the forward pass
    x: tensor, this rank's input
    loss_gradient: function; loss_gradient(output) is the gradient of this rank's loss
        with respect to the output
    Returns: list of tensors of k numbers, one for each layer, in the order of `layers`

    - the gradients of the sequential run: each tensor is this rank's shard of the
      layer's gradient, averaged over the ranks.
    - minimal traffic: together no more bytes than two all_gathers and one
      reduce_scatter for each layer.
    - two layers at most: at any time the parameters of at most two layers are gathered,
      and full gradients are not kept. The work handle that async_op=True returns also
      keeps its tensors alive until you drop it.
    - prefetched gathers: while a layer computes, the next layer's parameters are being
      gathered, in both passes.

    Example: p = 2. A layer's gradient is [1, 2, 3] on rank 0 and [3, 4, 5] on rank 1.
    For this layer rank 0 returns [2, 3] and rank 1 returns [4, 0].
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
        if i < last - 1:  # the last two stay: the backward pass starts with them
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
# Now apply it to the transformer. `sharding.Layer` turns each of its modules into such
# a layer: your `shard` cuts the flat vector of its parameters, and the module itself
# moves to PyTorch's device "meta", where tensors have a shape but no memory. `forward`
# keeps only the input, and `backward` recomputes the intermediate activations
# (activation checkpointing of one layer at a time). `sharding.minibatch` draws the
# sequences of each rank, and `sharding.data_parallel_gpt` computes the gradient as
# plain data parallelism would.

# %% tags=["raises-exception"]
def zero3_gpt():
    """The shards of all layers' gradients, and the peak memory in bytes."""
    x, y = sharding.minibatch(dist.get_rank(), dist.get_world_size())
    with sharding.Counted() as counted:
        modules = enumerate(sharding.small_gpt())
        layers = [sharding.Layer(module, k, shard) for k, module in modules]
        del modules
        counted.peak = 0  # building the model does not count
        gradients = zero3_forward_backward(layers, x, sharding.loss_gradient(y))
    return gradients, counted.peak

# %% tags=["raises-exception"]
LINKS = simulation.flat(alpha=1e-5, beta=1e-9)  # latency, seconds per byte
by_hand = simulation.run(zero3_gpt, RANKS, topology=LINKS)
parallel = simulation.run(sharding.data_parallel_gpt, RANKS, topology=LINKS)

shards = [rank.value[0] for rank in by_hand.ranks]
worst = sharding.apart(shards, parallel.ranks[0].value[0])
print(f"largest gradient difference from data parallelism: {worst:.1e}")
for name, run in (("data parallel", parallel), ("ZeRO-3 by hand", by_hand)):
    print(
        f"{name:<15} peak {run.ranks[0].value[1] / 1e3:6.0f} kB, "
        f"{run.link_bytes['between'] / 1e3:6.0f} kB over the links, "
        f"{run.elapsed * 1e3:.2f} ms"
    )

# %% tags=["raises-exception"] alt="A space-time diagram of four ranks: blocks of computation, forward and backward, and below them, at the same time, the gathers (G) of the next layer's parameters and the reduce-scatters (R) of gradients. The curves of memory have a step at every layer."
timeline.draw(by_hand.events, RANKS, title="ZeRO-3 by hand", memory=by_hand.memory)

# %% [markdown]
# Each rank's lane has two rows: the upper one shows computation, the lower one the
# collectives that run at the same time (where there is room, G marks an all-gather and
# R a reduce-scatter). The curves show the memory in use. Compare with data parallelism:
# one long all-reduce at the end, and memory that climbs.

# %% tags=["raises-exception"] alt="The same for data parallelism: computation without a gap on all four ranks, then one long all-reduce. The curves of memory climb and stay high to the end."
timeline.draw(parallel.events, RANKS, title="Data parallel", memory=parallel.memory)

# %% [markdown]
# ### A published claim: 1.5 times · stretch
#
# "The total volume is therefore 3Ψ which is 1.5x compared to the baseline" (section
# 7.2.2, page 14; Ψ is the number of parameters). Measure it on the links of the ring
# (unit 03), for larger and larger models of n parameters. The layers here are trivial:
# each adds the sum of its parameters to its input.

# %% tags=["raises-exception"]
def dp_bytes(n):
    dist.all_reduce(torch.ones(n, dtype=torch.float64))


def zero3_bytes(n, count):
    layers = [sharding.Square(n // count, shard) for _ in range(count)]
    zero3_forward_backward(layers, torch.ones(1, dtype=torch.float64), lambda y: y)

# %% tags=["raises-exception"]
print("parameters   data parallel   layers      ZeRO-3   ratio")
ratios = {}
for n, count in ((96, 32), (960, 32), (9_600, 32), (96_000, 32), (96_000, 8)):
    once = simulation.run(dp_bytes, RANKS, (n,)).link_bytes["between"]
    sharded = simulation.run(zero3_bytes, RANKS, (n, count)).link_bytes["between"]
    ratio = ratios[n, count] = sharded / once
    print(f"{n:>10,} {once:>13,.0f} B {count:>8} {sharded:>9,.0f} B {ratio:>7.4f}")
print(f"your guess: {guess_2}")

# %% [markdown]
# For small $n$, padding makes the ratio larger (3 numbers padded to 4: by a third);
# this effect vanishes as $n$ grows. The claim holds, for *bytes*, if each layer is
# gathered twice. Must it be? The backward pass starts where the forward pass ends, at
# the last layer, so the last two of the $L$ layers may stay gathered. This saves two of
# the $2L$ all-gathers, and the ratio becomes $3/2 - 1/L$. The claim does not hold for
# the *number of messages*: data parallelism needs one collective here, ZeRO-3 up to
# three for every layer, and each pays its latency. That is why real programs gather an
# entire block of layers at a time.
#
# A warning about counting: the bytes *passed* to the calls do not show this ratio. A
# rank passes $n$ numbers to an all_reduce and $n / p$ to an all_gather, although the
# first moves only twice as much as the second.

# %% [markdown]
# ## Clipping by the global norm · stretch
#
# Large models are trained with clipped gradients: if the norm of the gradient exceeds a
# limit, the gradient is scaled down to it (unit 05). Once the gradient is
# reduce-scattered, no rank holds the full mean gradient. What must the ranks tell each
# other?
#
# ### The global norm of sharded gradients (3 points)

# %% nbgrader={"grade": false, "grade_id": "clip_grad_norm_sharded", "locked": false, "schema_version": 3, "solution": true, "task": false}
def clip_grad_norm_sharded(shards: list, max_norm: float) -> float:
    """Clip a gradient by its global norm when every rank holds shards of it.

    shards: list of float64 tensors, this rank's shard of each tensor of the gradient;
        scale them in place
    max_norm: float, the largest norm allowed, at least 0
    Returns: float, the norm before clipping, the same on every rank

    - norm above the limit: if norm > max_norm, multiply all shards by max_norm / norm.
      The norm is that of the full gradient, over all tensors and all ranks.
    - norm below the limit, empty shards, zero gradients: if norm <= max_norm nothing is
      scaled. Shards may be empty, and the gradient may be zero.
    - one number sent: each rank passes one number to a single collective.

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
# The classic mistake: the call to `torch.nn.utils.clip_grad_norm_`, which was correct
# as long as nothing was sharded, stays in the program and is now applied to flat shards
# such as yours. No error, no hang, the same parameters on all ranks. But each rank
# clips by the norm of *its* shard. **Before you run it:** what will the loss curve look
# like?
#
# `sharding.descend` trains the small transformer with the gradient that a function of
# yours returns. For each step it returns the loss, the cosine between the applied
# gradient and the right one, and the norm of the applied gradient.
#
# (Under `fully_shard`, further down, gradients are DTensors: tensors that know how they
# are sharded. There the same call is right, as it takes the norm over all ranks.)

# %% tags=["parameters"]
STEPS = 60

# %% tags=["raises-exception"]
def clipped_gradient(flat, how):
    """The gradient to apply: `flat`, the mean gradient of all ranks, of which each rank
    clips its shard to 0.25, by the norm that `how` names.
    """
    part = shard(flat, dist.get_rank(), dist.get_world_size())
    # flat is the full gradient, so its norm is that over all ranks
    norm = flat.norm() if how == "all ranks' norm" else part.norm()
    part.mul_(min(1.0, 0.25 / float(norm)))
    return unshard(part, len(flat))


def train_clipped(steps, how):
    return sharding.descend(lambda flat: clipped_gradient(flat, how), steps)

# %% tags=["raises-exception"] alt="Two charts over the steps. The losses of both runs fall almost alike. The cosine to the gradient is 1 throughout with the norm of all ranks and below 1 with each rank's own norm."
clipped = {}
for how in ("all ranks' norm", "own norm"):
    clipped[how] = simulation.run(train_clipped, RANKS, (STEPS, how)).ranks[0].value
    losses, cosines, norms = clipped[how]
    print(
        f"{how:<16} loss after {STEPS} steps {np.mean(losses[-5:]):.3f}, "
        f"smallest cosine {min(cosines):.3f}, largest norm {max(norms):.3f}"
    )
looks = dict(zip(clipped, ("blue -", "red --")))
panels = {
    label: {how: (range(STEPS), of[k], looks[how]) for how, of in clipped.items()}
    for k, label in enumerate(("loss", "cosine to the gradient"))
}
limits = {"cosine to the gradient": (0, 1.05)}
charts.side_by_side(panels, size=(9, 3.2), xlabel="step", ylim=limits)

# %% [markdown]
# Each shard of the gradient was scaled by its own factor: the applied gradient points
# in a different direction from the true one, and its norm is up to $\sqrt{p}$ times the
# limit, here twice the limit. The loss shows almost nothing, and that is the danger:
# you are in effect using a different optimizer, which depends on the number of ranks,
# and the limit fails just when it is needed. No error message will tell you; a
# comparison with the sequential run will.

# %% [markdown]
# ## PyTorch's own implementations
#
# ### ZeroRedundancyOptimizer is ZeRO-1
#
# PyTorch's class assigns entire *tensors* to ranks instead of cutting a flat vector, so
# the shards differ in size, and each rank broadcasts the parameters that it has
# updated. Compare three steps (`sharding.zero_redundancy_gpt`) with your `zero1_step`
# on the same gradients:

# %% tags=["raises-exception"]
def three_steps_by_hand():
    """The parameters after three steps, and the size of this rank's optimizer state."""
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
print(f"largest parameter difference after three steps: {abs(difference).max():.1e}")
print("size of the optimizer state by hand:", [rank.value[1] for rank in ours.ranks])
print("of the library:                     ", [rank.value[1] for rank in theirs.ranks])

# %% [markdown]
# ### fully_shard is ZeRO-3
#
# `fully_shard(module)` shards a module's parameters, and gathers them for its forward
# and its backward pass. If you call it on each block and then on the model, only one or
# two blocks at a time are gathered, not the whole model. It takes a *device mesh*: the
# ranks as a grid, here one-dimensional.

# %% tags=["raises-exception"]
def library_gpt(shape, names, whole=True):
    """Gradients of `fully_shard` on a mesh, one flat vector per module, and the number
    of parameters this rank holds. whole: gather the full gradients, to compare them.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    rank, p = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", tuple(shape), mesh_dim_names=tuple(names))
    net = sharding.timed_gpt()
    for module in net:
        fully_shard(module, mesh=mesh)
    fully_shard(net, mesh=mesh)
    held = sum(w.to_local().numel() for w in net.parameters())  # in its shards
    x, y = sharding.minibatch(rank, p)
    sharding.loss_of(net(x), y).backward()
    return sharding.whole_gradients(net) if whole else [], held

# %% tags=["raises-exception"]
library = simulation.run(library_gpt, RANKS, ([RANKS], ["shard"]), topology=LINKS)
wholes = library.ranks[0].value[0]
worst = sharding.apart(shards, wholes)
print(f"largest gradient difference from yours: {worst:.1e}")
held = [rank.value[1] for rank in library.ranks]
total = sum(len(one.values) for one in wholes)
print("parameters held by each rank:", held, "of", total)

# %% tags=["raises-exception"] alt="Two space-time diagrams of four ranks, one below the other. By hand the gathers run at the same time as the computation; under fully_shard each gather comes before the computation that needs it."
# without the gathers of full gradients, which only the comparison needs
step, theirs = sharding.until_computed(library)
charts.diagrams({"ZeRO-3 by hand": by_hand, "fully_shard": step}, RANKS)
twice = by_hand.ranks[0].busy - library.ranks[0].busy
ours = by_hand.elapsed
print(f"by hand     {ours * 1e3:.2f} ms, {twice * 1e3:.2f} of it recomputation")
print(f"fully_shard {theirs * 1e3:.2f} ms")

# %% [markdown]
# Both gather each block before its forward and again before its backward pass (your
# version may keep the last two), and then reduce-scatter its gradient. Two things
# differ. Your layers keep only their input and recompute the rest: here, with 0.1 ms
# for a forward pass, a backward pass takes 0.3 instead of 0.2 ms. And your version
# overlaps gathers with computation, while here, on CPUs, `fully_shard` waits for each
# gather before it computes.
#
# ### HSDP: sharded within a node, replicated across nodes · stretch
#
# HSDP is *hybrid* sharded data parallelism. On a mesh of two dimensions, `fully_shard`
# shards along the last one and keeps replicas along the first. Let the last dimension
# run within a node: the two all-gathers of every block then use the fast links, and
# between the nodes each rank all-reduces only its shard of the gradient. It costs
# memory: with two nodes of two ranks, a rank holds 1/2 of the parameters instead of
# 1/4.
#
# ![Hybrid sharding on two nodes with two ranks each. In each node one rank keeps half 0 of the parameters and the other rank keeps half 1; within the node they are all-gathered twice and gradients reduce-scattered once per step. Ranks 0 and 2 hold replicas of half 0, ranks 1 and 3 of half 1; each pair all-reduces its half of the gradient between the nodes.](../../images/hsdp.svg)
#
# Each row of the picture is a node, whose ranks hold the shards of one replica; the two
# ranks of a column hold the same shard.

# %% tags=["raises-exception"]
for shape, names in (([4], ["shard"]), ([2, 2], ["replicate", "shard"])):
    mesh = shape, names
    step = simulation.run(library_gpt, RANKS, (*mesh, False), topology="nodes of 2")
    run = simulation.run(library_gpt, RANKS, mesh, topology="nodes of 2")
    print(
        f"mesh {shape!s:<7} a rank holds {run.ranks[0].value[1]:>6,} parameters; kB "
        f"within the nodes {step.link_bytes['inside'] / 1e3:6.0f}, "
        f"between them {step.link_bytes['between'] / 1e3:6.0f}"
    )
    same = sharding.furthest(run.ranks[0].value[0], library.ranks[0].value[0])
    print(f"             largest gradient difference: {same:.0e}")

# %% [markdown]
# ## What to remember
#
# - **16 bytes per parameter** with Adam in mixed precision, before the first activation
#   (guess 1: 16 · 7.5 = 120 GB); 18 where gradients are added up in 32 bits. ZeRO-1
#   shards 12 of the 16, ZeRO-2 another 2, ZeRO-3 the last 2.
# - ZeRO-1, and ZeRO-2 with one micro-batch, cost no more bytes than data parallelism:
#   reduce_scatter + all_gather *is* an all_reduce. ZeRO-3 costs **3/2** of the bytes
#   (guess 2), and more messages.
# - Activations grow with the batch. Checkpointing trades them for **one more forward
#   pass**; judge it by the peak over the entire step, which shrinks about fourfold on
#   this page (guess 3).
# - Padding: $k = \lceil n / p \rceil$, zeros at the end, and a shard may be all
#   padding.
# - Anything that depends on the full gradient (its norm, or unit 10's check for inf)
#   needs communication between the ranks.
#
# **To think about.** Adam's step hardly changes if you forget to divide the gradient by
# $p$. Why? And why should you still divide?

# %% [markdown]
# ## Deeper: activation checkpointing in the library · stretch
#
# `torch.utils.checkpoint` with `use_reentrant=False` (the newer of its two variants)
# needs no Function: it puts hooks on the saved tensors, as `saved_bytes` did above.
# When autograd saves a tensor, nothing is stored; when the backward pass first needs
# one, the segment is recomputed.

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
print("gradients bitwise equal:", same)

# %% [markdown]
# ### To read
#
# - S. Rajbhandari et al., *ZeRO: Memory Optimizations Toward Training Trillion
#   Parameter Models*, arXiv 1910.02054: sections 3, 5 and 7.
# - T. Chen et al., *Training Deep Nets with Sublinear Memory Cost*, arXiv 1604.06174.
