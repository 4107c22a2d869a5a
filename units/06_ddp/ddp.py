# %% [markdown]
# # 06 · DistributedDataParallel
#
# In unit 05 you averaged gradients by hand: backward pass, all-reduce, step. It was
# correct but slow: while the ranks computed, the network was idle, and while the
# network worked, the ranks waited. `DistributedDataParallel`, **DDP** for short, is
# PyTorch's answer. It takes four lines to use. This page is about what those four lines
# do behind your back, because that is where training goes wrong without an error.
#
# **At the end of this page** you train with DDP and prove that it equals sequential
# training; you know *when* it communicates, how much at a time, and how to make it
# wait; you can start it without a notebook, stop it, and resume it as if nothing had
# happened.
#
# **You need** units 04 and 05. **It takes** about 125 minutes, the *stretch* 30 more:
# two sittings. The cells themselves run for about a minute on two cores. They take
# about 1.5 GB of memory.

# %%
import contextlib
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from autograder import check
from labkit import ranks
from labkit.lessons import replicas
from labkit.models import mlp
from labkit.plots.runs import beside_sequential
from labkit.training import flat, load_tensors, max_difference, minibatches, train

RANKS = 4

# %%
ranks.start(RANKS, torch=True)

# %% [markdown]
# ## Guess first
#
# 1. A training step is forward pass, `loss.backward()`, `optimizer.step()`. In which of
#    the three does DDP communicate?
# 2. Rank 0 has 40 samples of a minibatch, ranks 1, 2 and 3 have 8 each. Every rank
#    takes the mean loss of its own samples, and DDP averages the gradients. How much
#    does a sample on rank 1 count, compared with one on rank 0?
# 3. Suppose 2 ranks on 2 cores train twice as fast as 1 rank. How fast are 4 ranks on 2
#    cores?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Four lines
#
# First the *sequential run*, with which everything is compared: one process, 64
# minibatches of 64 digits.

# %%
x, y = load_tensors("digits", n=4096)
torch.manual_seed(0)
sequential = mlp()
sequential_losses = train(sequential, x, y, minibatches(len(x), 64, seed=0), lr=0.2)
print(
    f"loss of the first step {sequential_losses[0]:.4f}, of the last "
    f"{sequential_losses[-1]:.4f}"
)

# %% [markdown]
# Now with DDP on all ranks. Every rank seeds its random numbers differently, so the
# models *start* differently: unless something corrects that, the result must be wrong.
# The four lines are marked; a fifth divides the minibatch among the ranks.

# %%
# %%ranks
torch.manual_seed(rank)
model = mlp()
different = flat(model.parameters())[:3].tolist()
ddp = DistributedDataParallel(model)  # 1: wrap the model
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.2)  # 2: as always

for batch in minibatches(len(x), 64, seed=0):
    mine = batch[rank::world_size]
    loss = F.cross_entropy(ddp(x[mine]), y[mine])  # 3: call the wrapper, not the model
    optimizer.zero_grad()
    loss.backward()  # 4: as always
    optimizer.step()

print(
    f"first three weights at the start {', '.join(f'{w:.4f}' for w in different)}; "
    f"my loss at the end {loss.item():.4f}"
)

# %%
for rank, trained in enumerate(ranks.pull("model")):
    print(
        f"rank {rank}: largest difference from the sequential weights "
        f"{max_difference(trained, sequential):.1e}"
    )

# %% [markdown]
# The weights are the same up to float32's rounding: the sums are taken in another
# order, as in unit 05. DDP did two things that you did not write:
#
# - **The constructor** sent rank 0's parameters to all ranks, once. If one rank alone
#   changes a parameter *afterwards*, the ranks differ for ever. (Buffers, such as the
#   running averages of a batch normalisation, are copied from rank 0 again before the
#   forward pass that follows a training step, even if that pass is the first one of an
#   evaluation; this model has none.)
# - **The backward pass** averaged the gradients. When `backward()` returns,
#   `parameter.grad` holds the *mean over the ranks*, the same everywhere. So every
#   optimizer takes the same step, and nothing more has to be sent.
#
# DDP did not average the loss: each rank printed *its own*. It averages gradients,
# nothing else.

# %% [markdown]
# ### Training with DDP (3 points)
#
# Write this training as a function that returns the loss of the whole minibatch instead
# of the loss of one share. All shares have the same size here.

# %% nbgrader={"grade": false, "grade_id": "train_ddp", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_ddp(model: nn.Module, batches: list, lr: float) -> list[float]:
    """Train a model with DistributedDataParallel and plain SGD.

    model: nn.Module in training mode, trained in place; all its parameters are trained,
        none has a gradient yet; it has no buffers
    batches: list of at least one (x, y), this rank's shares of the minibatches, equal
        in number and size on all ranks, in the dtype of the model
    lr: float, learning rate; do not scale it
    Returns: list of floats, one for each step, the same on every rank

    - the weights of the sequential run: the ranks begin with different weights;
      training starts from those of rank 0. Take one step for each minibatch; afterwards
      every rank's model has the weights of the sequential run, still in training mode.
    - the loss of all ranks: the mean cross-entropy of the whole minibatch, before the
      step; float32 is precise enough.

    Example: two minibatches on 4 ranks: two steps, and the same two losses on all
    ranks.
    """
    ### BEGIN SOLUTION
    wrapper = DistributedDataParallel(model)
    sgd = torch.optim.SGD(wrapper.parameters(), lr=lr)
    means = []
    for inputs, labels in batches:
        own = F.cross_entropy(wrapper(inputs), labels)
        sgd.zero_grad()
        own.backward()
        sgd.step()
        mean = own.detach().clone()
        dist.all_reduce(mean)
        means.append(mean.item() / dist.get_world_size())
    return means
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_train_ddp", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(train_ddp)

# %% [markdown]
# The next cells run your function on the real ranks and draw its losses over those of
# the sequential run:

# %%
# %%ranks
torch.manual_seed(rank)
shares = [
    (x[batch[rank::world_size]], y[batch[rank::world_size]])
    for batch in minibatches(len(x), 64, seed=0)
]
try:
    ddp_losses = train_ddp(mlp(), shares, lr=0.2)
except NotImplementedError:
    ddp_losses = None
    if rank == 0:
        print("train_ddp is not written yet: come back to this cell when it is.")

# %% alt="Above, the loss of the minibatch over the steps: the curve of DDP lies on that of one process. Below, their difference, logarithmic: a few units of float32's rounding."
ddp_losses = ranks.pull("ddp_losses")[0] or []
beside_sequential(
    sequential_losses,
    {f"DDP, {RANKS} ranks, your train_ddp": ddp_losses} if ddp_losses else {},
    {"DDP": [abs(a - b) for a, b in zip(ddp_losses, sequential_losses)]},
)

# %% [markdown]
# ## When does it talk?
#
# Back to your first guess. `replicas.timed_step` runs one training step, here of a
# larger model, and returns the times at which forward pass, backward pass and step
# begin and end. A recorder on the ranks logs every all-reduce, and `replicas.draw_step`
# draws both. (The helpers of this page are in `labkit.lessons.replicas`.) DDP sends the
# gradients in portions, its *buckets*; with `bucket_cap_mb=0.5` a bucket is full once
# it holds 0.5 MiB.

# %%
# %%ranks
WIDE = (512, 512, 512)  # 932,362 parameters, 3.7 MB of gradients
torch.manual_seed(0)
ddp = DistributedDataParallel(mlp(WIDE), bucket_cap_mb=0.5)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)

own = slice(rank * 128, (rank + 1) * 128)
for _ in range(3):  # DDP settles its buckets after the first step
    replicas.timed_step(ddp, optimizer, x[own], y[own])

# %%
# %%ranks
before_barrier = time.monotonic()
dist.barrier()
moments = replicas.timed_step(ddp, optimizer, x[own], y[own])
moments = [moment - before_barrier for moment in moments]

# %% alt="A step of four ranks on lanes over time: forward, backward and the optimizer's step, and below them the bars of the all-reduces, which begin and end under the backward pass."
recorded = ranks.events()  # of the last %%ranks cell
replicas.draw_step(ranks.pull("moments"), recorded);

# %% [markdown]
# The red bars are **under the backward pass**, not under the step. The step needs no
# communication: the mean is already in `parameter.grad`. DDP attaches a hook to every
# parameter, a function that is called when its gradient is ready. As soon as the
# gradients of a whole portion are ready, their all-reduce starts while the backward
# pass continues with earlier layers. On a GPU, with a network card that works by
# itself, most of the communication costs *no time* that way. Here it needs the same
# cores as the ranks, so do not expect such a gain.
#
# ![A training step on two lanes, compute and network, drawn twice on one time axis. Above, one all-reduce after the backward pass: forward, backward through layers 5 to 0, then the all-reduce of all gradients while nothing is computed, then the step. Below, DDP: the all-reduce of layer 5 runs under the backward pass of layer 4, that of layers 4 and 3 under those of 2 and 1; that of 2 and 1 begins under layer 0; it and the last one, for layer 0, end after the backward pass. The step comes earlier.](../../images/ddp_overlap.svg)
#
# The figure shows six layers and a network that works by itself. The numbers in the
# network's boxes are the layers whose gradients are sent. The step waits only for the
# communication that is left after the backward pass.
#
# Two consequences that cost people weeks:
#
# - The hooks send only if **`ddp(x)`** has prepared them. Call `model(x)` or
#   `ddp.module(x)`, and the same backward pass sends nothing.
# - Code between `backward()` and `step()` sees the mean gradients: clip them *there*,
#   but do not divide them by the number of ranks.

# %% [markdown]
# ## Buckets · stretch
#
# One all-reduce per parameter costs a latency (unit 03) for every single bias. One
# all-reduce for everything cannot begin before the last gradient is ready. DDP does
# something in between: it fills **buckets** and sends each one when it is full.
#
# The rule (Li et al. 2020, section 3.2.3, and `compute_bucket_assignment_by_size` in
# PyTorch): gradients become ready in about the reverse order of the parameters, so walk
# from the **last** parameter to the first. Put each gradient into the open bucket. A
# bucket that holds **at least** its cap is full; the next gradient opens a new one. By
# default the cap is 25 MiB (`bucket_cap_mb`), and that of the *first* bucket is 1 MiB,
# so that communication starts early.
#
# ![Six layers in the order of the forward pass, 0 to 5, with 1, 3, 3, 2, 2 and 1 MB of gradients. The backward pass runs from right to left, and so the buckets are filled: bucket 0 holds layer 5, 1 MB of its cap of 1 MB, full. Bucket 1 holds layers 4 and 3, 4 of 4 MB, full. Bucket 2 holds layers 2 and 1, 6 of 4 MB, full and over the cap. Bucket 3 holds the rest, layer 0, 1 of 4 MB.](../../images/ddp_buckets.svg)
#
# These are the six layers of the drawing above, with a first cap of 1 MB and 4 MB for
# the others. Read it from right to left. Layer 1 still goes into bucket 2, because the
# bucket holds only 3 of its 4 MB.
#
# ### Who shares a bucket (2 points)

# %% nbgrader={"grade": false, "grade_id": "buckets", "locked": false, "schema_version": 3, "solution": true, "task": false}
def buckets(sizes: list[int], first_cap: int, cap: int) -> list[list[int]]:
    """Return the buckets of DDP in the order in which they are filled.

    sizes: list of ints, bytes of each gradient, in the order of `model.parameters()`; 0
        for an empty parameter; the list itself may be empty, too
    first_cap: int, at least 1, bytes at which the first bucket is full
    cap: int, at least 1, bytes at which any other bucket is full
    Returns: list of lists, the indices of each bucket's parameters, from 0, in the
        order in which they go in: the last parameter first

    - equal caps: a bucket that holds at least its cap is full; the last bucket need not
      be full.
    - a small first bucket: first_cap is the cap of the first bucket.
    - unchanged: sizes is left as it is. No bucket is empty.

    Example: buckets([3, 1, 2, 2], 2, 3) == [[3], [2, 1], [0]]
    """
    ### BEGIN SOLUTION
    filled, bucket, held = [], [], 0
    for number in reversed(range(len(sizes))):
        bucket.append(number)
        held += sizes[number]
        if held >= (cap if filled else first_cap):
            filled.append(bucket)
            bucket, held = [], 0
    if bucket:
        filled.append(bucket)
    return filled
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_buckets", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(buckets)

# %% [markdown]
# Does PyTorch do what you wrote? The recorder knows how many bytes each all-reduce of
# the step above sent. (A cap that you set yourself holds for the first bucket, too.) If
# your function is right, the first two lists are equal.

# %% tags=["raises-exception"]
sizes = [p.numel() * p.element_size() for p in mlp((512, 512, 512)).parameters()]
carried = [event.nbytes for event in replicas.all_reduces(recorded, 0)]
cap = int(0.5 * 2**20)
print("DDP sent, bytes:   ", carried)
for name, caps in (("you say", (cap, cap)), ("with the defaults", (2**20, 25 * 2**20))):
    print(f"{name}, bytes:", [sum(sizes[k] for k in b) for b in buckets(sizes, *caps)])

# %% [markdown]
# How large should a bucket be? Measure the same step with caps from "a bucket for every
# parameter" to "one for everything". Many narrow layers make the difference visible: 40
# layers of 128 neurons, 3 MB of gradients in 82 tensors. `replicas.slowest_steps` runs
# one step of each model in turn, seven times, and returns the times of the slowest
# rank.
#
# **Predict:** where is the minimum on *your* machine, and which end of the curve is
# worse?

# %%
# %%ranks
DEEP = (128,) * 40
CAPS = [1e-5, 0.03, 0.1, 0.3, 1, 25]  # MiB; the first is smaller than any gradient
models = [DistributedDataParallel(mlp(DEEP), bucket_cap_mb=cap) for cap in CAPS]
own = slice(rank * 64, (rank + 1) * 64)
# `alone`: a model without DDP, the cost of computing

*times, alone = replicas.slowest_steps([*models, mlp(DEEP)], x[own], y[own])
calls = [replicas.calls_per_step(ddp) for ddp in models]
del models  # weights, gradients and buckets of six: more than 50 MB on every rank

# %% alt="Time of one step over the all-reduces per step, from one with buckets of 25 MiB to one for every gradient: medians with bars for the middle half of the steps, and a dashed line for computing alone, below all of them."
measured = [ranks.pull(name)[0] for name in ("CAPS", "calls", "times", "alone")]
title = f"{RANKS} ranks, 3 MB of gradients: median, and the middle half of the steps"
replicas.draw_buckets(*measured, title);

# %% [markdown]
# Many small buckets (right) pay for calls: 82 latencies. One large bucket (left) is
# cheap here: within one machine 3 MB are copied quickly, and overlap gains nothing,
# because a core that moves bytes does not compute. On a cluster the left end rises as
# well, because a single bucket overlaps with nothing. The best cap depends *on the
# model and the network*. The written question at the end comes back to it. (If your
# picture looks different, compare the light bars, the middle half of the steps, with
# the differences between the caps: if they are as large, other programs disturbed the
# measurement. Then run the two cells again.)

# %% [markdown]
# ## Uneven batches
#
# Now for your second guess. Rank 0 has 40 samples of a minibatch of 64, the others have
# 8 each. Every rank takes its mean, and DDP averages the gradients of these means.

# %%
# %%ranks
COUNTS = [64 - 8 * (world_size - 1)] + [8] * (world_size - 1)  # with 4: 40, 8, 8, 8
torch.manual_seed(0)
ddp = DistributedDataParallel(mlp())
first = sum(COUNTS[:rank])
inputs, labels = x[first : first + COUNTS[rank]], y[first : first + COUNTS[rank]]

F.cross_entropy(ddp(inputs), labels).backward()
gradient = flat(p.grad for p in ddp.parameters())

# %%
torch.manual_seed(0)
model = mlp()
F.cross_entropy(model(x[:64]), y[:64]).backward()
truth = flat(p.grad for p in model.parameters())

off = replicas.relative_error(ranks.pull("gradient")[0], truth)
print(f"mean of means: off by {off:.1e} of the gradient's norm")

# %% [markdown]
# The mean of means is not slightly inexact, it is a different gradient: a sample on
# rank 1 counts 1/(4·8), one on rank 0 counts 1/(4·40), a fifth of that. There is no
# error and no warning, and without padding or dropping samples the last minibatch of
# *every* epoch is uneven, unless the numbers divide evenly.
#
# DDP cannot know your counts. But you can scale the loss so that DDP's mean over the
# ranks is right. Write $n_r$ for the number of samples of rank $r$, $n = \sum_r n_r$,
# $p$ for the number of ranks and $L_r$ for the mean loss of rank $r$. You want
#
# $$\frac{1}{n} \sum_r n_r L_r = \frac{1}{p} \sum_r \boxed{\frac{n_r\, p}{n} L_r}$$
#
# and DDP does what is outside the box.
#
# ### A loss for uneven batches (3 points)
#
# **Think first:** what is $L_r$ on a rank with no samples at all? What is $n_r L_r$?

# %% nbgrader={"grade": false, "grade_id": "uneven_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def uneven_loss(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return this rank's loss, scaled so that DDP's mean counts every sample the same.

    outputs: tensor (n, classes), finite logits of this rank's samples, from a DDP model
    labels: int64 tensor (n,)
    Returns: tensor with one element, finite

    - uneven shares: n differs between the ranks. The mean of these losses over the
      ranks is the mean cross-entropy over the samples of all ranks.
    - a rank without samples: n may be 0 on some ranks, not on all. The loss depends on
      `outputs` there, too: the caller calls backward() on it on every rank.

    Example: n = 3 on rank 0 and 1 on rank 1: the mean losses are multiplied by 1.5 and
    0.5.
    """
    ### BEGIN SOLUTION
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    summed = F.cross_entropy(outputs, labels, reduction="sum")
    return summed * dist.get_world_size() / total
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_uneven_loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(uneven_loss)

# %% [markdown]
# The same minibatch of 40, 8, 8 and 8 samples on the real ranks, with your loss:

# %%
# %%ranks
try:
    ddp.zero_grad()
    uneven_loss(ddp(inputs), labels).backward()
    gradient = flat(p.grad for p in ddp.parameters())
except NotImplementedError:
    if rank == 0:
        print("uneven_loss is not written yet: come back to this cell when it is.")

# %%
off = replicas.relative_error(ranks.pull("gradient")[0], truth)
print(f"off by {off:.1e} of the gradient's norm")

# %% [markdown]
# Your loss has one hidden cost: an extra all-reduce of one number. If you know all
# counts beforehand (a sampler does), compute the total without communication.

# %% [markdown]
# ## Half-time
#
# DDP starts all ranks from rank 0's weights and averages the gradients while the
# backward pass still runs. It gives every rank, not every sample, the same weight, so
# uneven batches need a scaled loss. This is a good place for a break: next you make DDP
# talk less, and you stop and resume a training run.

# %% [markdown]
# ## Talking less: accumulation
#
# A minibatch that does not fit into memory is cut into **micro-batches**. Each has its
# forward and backward pass, the gradients add up in `parameter.grad`, and one step
# follows at the end. DDP would average the gradient after *every* micro-batch. `with
# ddp.no_sync():` prevents that: inside, gradients only add up locally. The first
# forward and backward pass outside averages the whole sum.
#
# ![Four micro-batches, drawn twice on lanes for compute, network and the content of .grad. Above, an all-reduce with the backward pass of every micro-batch: computing pauses until it ends, and .grad holds the mean over the ranks after each. Below, the first three micro-batches are inside with ddp.no_sync(): nothing is sent, and .grad holds this rank's own sum; the only all-reduce, with the last micro-batch, leaves the mean of everything, and the step comes earlier.](../../images/no_sync.svg)
#
# The lowest lane of each half shows what `.grad` holds after each micro-batch. Both
# halves end with the same gradient; the lower one sends a quarter of the bytes.
#
# ### Accumulating gradients (3 points)
#
# **Watch out:** DDP decides in the *forward* pass whether the backward pass will
# synchronise.

# %% nbgrader={"grade": false, "grade_id": "accumulate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def accumulate(ddp: DistributedDataParallel, micro_batches: list) -> None:
    """Accumulate the gradient over micro-batches and synchronise it once.

    ddp: DistributedDataParallel, without gradients at the start and without buffers;
        all parameters are trained
    micro_batches: list of at least one (x, y), this rank's, all of the same size, equal
        in number on all ranks
    Changes: the gradients of ddp's parameters, nothing else

    - the gradient of all samples: that of the mean cross-entropy over all micro-batches
      of all ranks. Run forward and backward for each before the next, so that no two
      need memory at once.
    - one synchronisation: each gradient is sent between the ranks only once, with the
      last micro-batch or after it.

    Example: 4 micro-batches on each of 2 ranks: each of the 8 has the weight 1/8.
    """
    ### BEGIN SOLUTION
    k = len(micro_batches)
    for number, (inputs, labels) in enumerate(micro_batches, start=1):
        with ddp.no_sync() if number < k else contextlib.nullcontext():
            (F.cross_entropy(ddp(inputs), labels) / k).backward()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_accumulate", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(accumulate)

# %% [markdown]
# How much does that save with 8 micro-batches of 16 images? `replicas.count_bytes`
# gives DDP a hook that counts the bytes of every bucket, and `replicas.print_cost`
# measures the time. `replicas.every_time` is your loop without `no_sync()`.

# %%
# %%ranks
ddp = DistributedDataParallel(mlp(WIDE))
mine = minibatches(len(x), 16, seed=1)[rank * 8 : (rank + 1) * 8]
micro_batches = [(x[batch], y[batch]) for batch in mine]
sent = replicas.count_bytes(ddp)

# %%
# %%ranks
try:
    replicas.print_cost(replicas.every_time, ddp, micro_batches, sent)
    replicas.print_cost(accumulate, ddp, micro_batches, sent)
except NotImplementedError:
    if rank == 0:
        print("accumulate is not written yet: come back to this cell when it is.")

# %% [markdown]
# ## Without a notebook
#
# A training run that takes days does not run in a notebook.
# [`train_ddp.py`](train_ddp.py) beside this page is the loop from above as a script for
# any number of ranks. Something has to start the ranks and tell each one its number.
# There are two ways.
#
# **torchrun** starts one process per rank and puts `RANK`, `WORLD_SIZE`, `LOCAL_RANK`
# and the address where the ranks meet into the environment; `init_process_group` reads
# all but `LOCAL_RANK`. `--standalone` picks a free port on this machine, so two
# students on one node do not collide. On several nodes you give the address (the
# *rendezvous*) yourself: `--nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:PORT`.

# %%
# this page's ranks are not needed here; the script's ranks need the memory
ranks.stop()
torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
replicas.run([*torchrun, "--nproc-per-node", "2", "train_ddp.py"])

# %% [markdown]
# (`python -m torch.distributed.run` is what `torchrun` runs.) **mp.spawn** is for a
# script that starts its ranks itself: it calls a function in a given number of fresh
# processes, with the rank as first argument. Each of them imports the script again, so
# the part that starts the ranks must be under `if __name__ == "__main__":`, or every
# rank starts ranks of its own.

# %%
replicas.run([sys.executable, "train_ddp.py", "--spawn", "2"])

# %%
print(f"the sequential run above: {sequential_losses[-1]:.6f}")

# %% [markdown]
# Both ways start the same training. In older scripts you will meet a third:
#
# ```
# python -m torch.distributed.launch --nproc_per_node=8 train.py   # and in train.py:
# parser.add_argument("--local_rank", type=int)
# ```
#
# It still exists, as a deprecated wrapper of torchrun. But it stopped working for such
# scripts: since PyTorch 2.0 it passes `--local-rank` with a hyphen, and `argparse` does
# not know that option ("unrecognized arguments"). Do not rename the option; read the
# number from where torchrun puts it: `int(os.environ["LOCAL_RANK"])`. You need it to
# choose a GPU (`torch.cuda.set_device`); the *global* rank decides which data a process
# reads and which files it writes. On one node the two are equal, so scripts that mix
# them up work until they run on two nodes.

# %% [markdown]
# ## Stopping and resuming
#
# A job often reaches its time limit before the training is done. So it saves a
# **checkpoint** with everything that the next step depends on: the weights and buffers,
# the optimizer's state (momentum!), the epoch, the state of the learning-rate schedule
# if there is one, and the state of the random generators of *each* rank if the training
# draws random numbers (dropout, augmentation). Here the learning rate is constant and
# the order of the images follows from the epoch, so the first three are enough.
#
# ![What four ranks hold, as a table of rows by ranks. Parameters and buffers, optimizer state and epoch are the same on every rank and go into the file from rank 0. The states of the random generators, R0 to R3, differ between the ranks: those of every rank go into the file if the training uses them. Gradients are not in the file, they are computed again.](../../images/checkpoint_contents.svg)
#
# A letter without a number stands for state that is the same on every rank, so one copy
# is enough. Two rules for writing: only *one* rank writes while the others wait, and
# the write is **atomic**. A job can be killed in the middle of `torch.save`, and then
# half a file has replaced the last good checkpoint. So write under a temporary name in
# the same folder, then call `os.replace`, which replaces the old file with the new one
# in one step.
#
# ![Writing a checkpoint over time. Rank 0 saves to a second file and then calls os.replace, while ranks 1, 2 and 3 wait; all four meet at a barrier and continue. Under it the file checkpoint.pt: up to the end of os.replace it is the whole old checkpoint, from then on the whole new one, never a part of one.](../../images/checkpoint_write.svg)
#
# At every moment `checkpoint.pt` is a complete checkpoint, the old one or the new one.
#
# ### Saving a checkpoint (3 points)
#
# All ranks hold the same state, so rank 0 writes. `ddp.state_dict()` puts `module.`
# before every name; only a DDP model can load such names. Save the wrapped model,
# `ddp.module`.

# %% nbgrader={"grade": false, "grade_id": "save_checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_checkpoint(
    path: str,
    ddp: DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    epoch: int,
) -> None:
    """Write a checkpoint that any number of ranks can resume from, with or without DDP.

    path: str, the file; an older one is replaced
    ddp: DistributedDataParallel
    optimizer: its optimizer
    epoch: int, 0 or more
    Changes: the file at path

    - contents of the file: a dict that torch.load(path, weights_only=True) reads:
      "model", the state_dict of the wrapped model (names without "module."),
      "optimizer", the optimizer's state_dict, "epoch"; other keys are allowed; dtypes
      are kept.
    - one rank writes, all wait: all ranks call this, and only rank 0 writes files. No
      rank returns before the file is complete. (Not checked: that the write is atomic,
      as above, and leaves no other file.)

    Example: on 4 ranks: one file, written once, and complete when any rank returns.
    """
    ### BEGIN SOLUTION
    if dist.get_rank() == 0:
        state = {
            "model": ddp.module.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": epoch,
        }
        torch.save(state, path + ".new")
        # at any moment `path` holds the old checkpoint or the new one, never half of it
        os.replace(path + ".new", path)
    dist.barrier()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_save_checkpoint", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(save_checkpoint)

# %% [markdown]
# ### Resuming from a checkpoint (2 points)
#
# DDP's constructor makes the ranks equal *before* you load, not afterwards. So every
# rank must get the contents of the file, by reading or receiving them: the state of the
# wrapped model, that of the optimizer, the epoch. On GPUs pass
# `map_location=f"cuda:{local_rank}"`, or all ranks load the tensors onto the GPU of
# rank 0.

# %% nbgrader={"grade": false, "grade_id": "load_checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
def load_checkpoint(
    path: str, ddp: DistributedDataParallel, optimizer: torch.optim.Optimizer
) -> int:
    """Load a checkpoint of `save_checkpoint` on every rank.

    path: str, a file that every rank can read; do not delete it
    ddp: new DistributedDataParallel, of a model with parameters and buffers
    optimizer: its optimizer, new
    Returns: int or tensor, the epoch in the file, on every rank

    - the uninterrupted run: afterwards training resumes as if it had never stopped.

    Example: saved on 4 ranks with epoch 3, loaded on 2: both return 3.
    """
    ### BEGIN SOLUTION
    state = torch.load(path, map_location="cpu")
    ddp.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_load_checkpoint", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(load_checkpoint)

# %% [markdown]
# Now the test on real ranks. The first run trains two epochs without a break. The
# second trains one epoch, saves, *creates everything again with other random numbers*,
# loads, and trains the second epoch. A third run does not restore the optimizer, for
# comparison. `replicas.interrupted` performs all three with your two functions; it is
# short, so read it.

# %%
ranks.start(RANKS, torch=True)

# %%
# %%ranks
try:
    with replicas.shared_folder() as folder:
        path, yours = f"{folder}/checkpoint.pt", (save_checkpoint, load_checkpoint)
        whole, resumed, forgetful = replicas.interrupted(path, x, y, *yours)
    if rank == 0:
        apart = max_difference(resumed, whole), max_difference(forgetful, whole)
        print(f"resumed:               {apart[0]:.1e} from the uninterrupted run")
        print(f"without the momentum:  {apart[1]:.1e}")
except NotImplementedError:
    if rank == 0:
        print("save_checkpoint or load_checkpoint is not written yet: come back later.")

# %% [markdown]
# ## Does it pay? Time to accuracy · stretch
#
# Images per second are easy to count, but they are not the goal. You want a *good*
# model soon. So train for seven epochs, and measure the time until 85 % of unseen
# digits are recognised. There are two experiments, each on 1, 2 and 4 ranks:
#
# - **The same training, divided:** a global batch of 256, whatever the number of ranks.
#   The curves over the *epochs* must be the same; only the time may differ.
# - **More work per step:** 256 images *per rank*. There are fewer, larger steps, and
#   the learning rate is scaled, as in most recipes. An image costs less time, but does
#   it help as much?
#
# **Predict before you run it:** with your number of cores (it is in the line under
# `ranks.start` at the top), which run will reach 85 % first, and what do 4 ranks gain?

# %% tags=["parameters"]
# %%ranks
TARGET, EPOCHS, IMAGES = 0.85, 7, 8192
training = load_tensors("digits", n=IMAGES)
test = load_tensors("digits", train=False, n=2000)
# every rank must be there when a group is made
circles = {p: dist.new_group(list(range(p))) for p in (1, 2, 4)}
same, more = {}, {}

# %%
# %%ranks
def time_to_accuracy(p, global_batch, lr):
    """Train on ranks 0 to p - 1. Returns [(seconds of training, accuracy), ...]."""
    how = EPOCHS, global_batch, lr, circles[p]
    return replicas.time_to_accuracy(training, test, *how)

# %% [markdown]
# Ranks that wait in a collective keep a core busy with polling. So ranks without work
# do not even run the next cells: `%%ranks 0` runs on rank 0 alone, `%%ranks 0:2` on
# ranks 0 and 1.

# %%
# %%ranks 0
same[1] = more[1] = time_to_accuracy(1, 256, 0.1)

# %%
# %%ranks 0:2
same[2] = time_to_accuracy(2, 256, 0.1)
more[2] = time_to_accuracy(2, 2 * 256, 2 * 0.1)

# %%
# %%ranks 0:4
same[4] = time_to_accuracy(4, 256, 0.1)
more[4] = time_to_accuracy(4, 4 * 256, 4 * 0.1)

# %% alt="Three charts of accuracy for 1, 2 and 4 ranks. With a global batch of 256 the curves over epochs lie on each other, and over time they part; with 256 per rank, over time, two ranks need more epochs to the thin line of the target, and four do not reach it."
same, more, TARGET, IMAGES = (
    ranks.pull(name)[0] for name in ("same", "more", "TARGET", "IMAGES")
)
replicas.draw_accuracy(same, more, TARGET)

# %%
print(f"your third guess: {guess_3}\n")
replicas.print_accuracy(same, more, TARGET, IMAGES)

# %% [markdown]
# Read these results critically:
#
# - **Left:** the three lines coincide. Dividing a minibatch changes nothing about
#   learning, so throughput alone decides.
# - **Middle:** 2 ranks on 2 cores gain less than a factor of 2: this model has 0.4 MB
#   of gradients and a few milliseconds of work per step, and both ranks stop for every
#   all-reduce. 4 ranks on 2 cores only take turns; at best they are as fast as 2 ranks.
# - **Right:** there are fewer steps, so fewer all-reduces, and more images per second
#   than in the middle. But a quarter of the steps with four times the learning rate is
#   not the same training: 512 images per step need more epochs, and with 1024 the
#   scaled learning rate is too large for the first steps (unit 07 has a remedy, the
#   warm-up). Look at the time to the target before you believe a column of images per
#   second, here and in every paper.
#
# **The verdict** is in the table: the row that reaches the target first on *your*
# machine. If it is not the one with most images per second, you have seen why
# throughput alone is not a result. Unit 08 asks the same question with confidence
# intervals, because one run is not a measurement.

# %% [markdown]
# ## Break it
#
# The most expensive mistake with DDP is a silent one. Somebody needs an attribute of
# the model, writes `ddp.module`, and then calls that. **Before you run it:** will it
# raise an error, hang, or do something else?

# %%
# %%ranks
torch.manual_seed(0)
ddp = DistributedDataParallel(mlp())
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.2)
for batch in minibatches(len(x), 64, seed=0):
    mine = batch[rank::world_size]
    loss = F.cross_entropy(ddp.module(x[mine]), y[mine])  # the mistake
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

sums = replicas.fingerprints(ddp)
if rank == 0:
    print("loss of rank 0's share at the end:", round(loss.item(), 3))
    print("sum of all weights on each rank:", sums)

# %% [markdown]
# No error, no hang, and the loss looks fine: each rank trains its own model on its
# share of the data, and you save rank 0's. The models also differ silently if the last
# micro-batch, too, is inside `no_sync()`, if only one rank loads a checkpoint, or if
# one rank changes a parameter after wrapping. All these mistakes share one symptom, and
# the last lines of the cell test for it: **after any step, a fingerprint of the weights
# must be the same on all ranks.** Put this test into every training script, once per
# epoch. It sends one number per rank.

# %% [markdown]
# ## What to remember
#
# - The constructor broadcasts rank 0's parameters, once. `backward()` averages the
#   gradients, bucket by bucket, while it still computes. `step()` is local.
# - Call **`ddp(x)`**. `model(x)` and `ddp.module(x)` do not synchronise and do not
#   complain.
# - DDP's mean is over *ranks*. Uneven batches: scale the loss by count · world_size /
#   total. Never divide the gradients again.
# - `no_sync()` around forward *and* backward of all micro-batches but the last, each
#   loss divided by their number.
# - DDP does not average losses and accuracies: you do.
# - A checkpoint: rank 0 writes `ddp.module.state_dict()`, optimizer, epoch, and
#   whatever else the next step depends on, under a temporary name, and replaces the old
#   file; all wait at a barrier. To resume, all ranks load it.
# - Equal fingerprints on all ranks, or it is not data parallel training.
#
# Next, unit 07 does the same with Horovod, in TensorFlow and in PyTorch.

# %% [markdown]
# ## A written question (4 points)
#
# Read sections 3.2.2 and 3.2.3 of Li et al., *PyTorch Distributed: Experiences on
# Accelerating Data Parallel Training*, VLDB 2020 (arXiv:2006.15704). Then answer in 10
# to 20 sentences.
#
# A colleague trains a model with 1 GB of gradients on 32 GPUs in 4 nodes and proposes
# `bucket_cap_mb=1000`: "one message, one latency, full bandwidth". A second one
# proposes `bucket_cap_mb=1`: "communication starts at once and hides behind the
# backward pass". What is right and what is wrong with each argument? Why are the
# buckets filled in reverse order, and why is the first one small by default? What would
# you measure to choose a value, and what does your own curve (section *Buckets*) say
# for this case?

# %% [markdown] nbgrader={"grade": true, "grade_id": "bucket_size", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **For graders**
#
# - 1 point: the large bucket. Right: few calls, so latency hardly counts and the
#   bandwidth is used well (the paper's 3.2.2: many small all-reduces are slower than a
#   few large ones for the same bytes). Wrong: the only bucket is ready when the *last*
#   gradient is, so nothing overlaps and the whole time of the all-reduce is added to
#   the step.
# - 1 point: the small bucket. Right: the first all-reduce starts early and can hide
#   behind the rest of the backward pass (3.2.3). Wrong: some 1000 calls of 1 MB each
#   pay latency and do not reach the bandwidth; the communication as a whole gets longer
#   than the backward pass that should hide it. Communication can only be hidden as far
#   as there is computation left.
# - 1 point: order and first bucket. Gradients become ready from the last layer to the
#   first, about in the reverse order of the parameters, so a bucket of neighbours is
#   full early; in forward order the first bucket would wait for the first layer, the
#   last to be ready. All ranks must send the same buckets in the same order. A small
#   first bucket gets the communication going while the others still fill (full marks
#   also for: the last bucket to be sent is the one that nothing hides).
# - 1 point: evidence. Time per step (median and spread, the slowest rank, after
#   warm-up) for several sizes in between on the real machine, with and without
#   communication, because the best size depends on model, network and number of ranks.
#   Own curve: quotes its numbers, and says that it tells little here, as the ranks
#   share memory and cores: next to no latency, nothing to hide behind.
#
# Half points where the right effect is named without its reason. Full marks do not need
# the paper's numbers.
# ### END SOLUTION

# %% [markdown]
# ## Deeper: parameters that get no gradient
#
# Here a model has two heads, and a step uses only one. The bucket with the other head's
# gradients never fills.

# %%
# %%ranks
torch.manual_seed(0)
for options in ({}, {"find_unused_parameters": True}):
    ddp = DistributedDataParallel(replicas.TwoHeads(), **options)
    try:
        for _ in range(2):
            F.cross_entropy(ddp(x[:16], use_right=False), y[:16]).backward()
        said = "two steps done"
    except RuntimeError as error:
        said = f"second step raised: {str(error).splitlines()[0][:95]}..."
    if rank == 0:
        print(f"{str(options or 'as it is'):<34} {said}")

# %% [markdown]
# Without `find_unused_parameters`, the *second* forward pass notices that the first
# reduction was never finished. With it, DDP searches the graph after each forward pass
# and counts unused parameters as ready. The search costs time in every step; do not
# switch it on "to be safe". (A parameter that no rank used keeps `grad = None`, and the
# optimizer leaves it alone. One that some ranks used gets a mean in which the others
# count as zeros.)
#
# ## Deeper: ranks with different numbers of batches
#
# If one rank has one batch fewer, the others wait for it in the all-reduce until the
# timeout. With `Join`, a rank that is done takes part in the collectives of the others
# with zeros, until the last one is done:

# %%
# %%ranks
from torch.distributed.algorithms.join import Join

torch.manual_seed(0)
# Join needs a process group written in C++; the one that this course has for MPI is
# written in Python
gloo = dist.new_group(backend="gloo")
ddp = DistributedDataParallel(mlp(), process_group=gloo)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
# rank 0 has 3 batches, the last rank the most
my_batches = minibatches(len(x), 64, seed=0)[: 3 + rank]
steps = 0
with Join([ddp], divide_by_initial_world_size=False):
    for batch in my_batches:
        optimizer.zero_grad()
        F.cross_entropy(ddp(x[batch]), y[batch]).backward()
        optimizer.step()
        steps += 1
print(
    f"{steps} steps of my own; sum of the weights "
    f"{float(flat(ddp.parameters()).double().sum()):.4f}"
)

# %% [markdown]
# In the end all ranks hold the weights of the rank that worked longest.
# `divide_by_initial_world_size=False` divides by the number of ranks that still have
# batches; the default divides by the number of all ranks, so the last steps get shorter
# and shorter. It is better to use a sampler that gives every rank the same number of
# steps, and `uneven_loss` for minibatches of different sizes.
#
# ## Deeper: a hook of your own
#
# You can decide what happens to a full bucket. PyTorch has a hook that sends 16 bits
# per number instead of 32:

# %%
# %%ranks
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

for name in ("float32", "float16"):
    torch.manual_seed(0)
    ddp = DistributedDataParallel(mlp())
    if name == "float16":
        ddp.register_comm_hook(None, fp16_compress_hook)
    replicas.one_epoch(ddp, torch.optim.SGD(ddp.parameters(), lr=0.2), x, y)
    if name == "float16" and rank == 0:
        print(
            "largest difference of a weight after 64 steps: "
            f"{max_difference(ddp, exact):.1e}"
        )
    exact = ddp

# %%
carried = [event.nbytes for event in replicas.all_reduces(ranks.events(), 0)]
print("bytes of an all-reduce in the first training:", carried[1])
print("                      in the second training:", carried[-1])

# %% [markdown]
# Half the bytes, and coarser rounding: gradients are sent with 11 significant bits. The
# smallest positive float16 is about 6e-8, so tiny gradients vanish; bfloat16 keeps the
# range of float32 and has only 8 significant bits (`bf16_compress_hook`).

# %%
ranks.stop()

# %% [markdown]
# ## Deeper: settings for GPUs
#
# You do not need them on this page, but you will meet them in other scripts. (PyTorch
# 2.13.)
#
# | setting | what it does |
# |---|---|
# | `init_process_group(device_id=...)` | says which GPU this process uses. NCCL then connects at once instead of in the first collective, so connection errors show at the start; new groups are split off the first one, which is faster |
# | `init_process_group(timeout=...)` | how long a collective may take. NCCL: 10 minutes, then the process is ended. Other backends: 30 minutes |
# | `DistributedDataParallel(gradient_as_bucket_view=True)` | the gradients are views of the buckets: nothing is copied between the two, and the memory for one copy of all gradients is saved (1 GB in the question above) |
# | `static_graph=True` | a promise: the same parameters get gradients in every step, and the graph does not change. DDP then need not look for unused parameters each time, and activation-checkpointing the same block several times works |
#
# `torch.compile(ddp)` works. By default the compiler cuts the model at DDP's buckets
# (`torch._dynamo.config.optimize_ddp`), because in one large compiled piece all
# gradients would be ready only at the end, and nothing would overlap.
#
# A new layer below DDP is `torchcomms`, a separate package with another API for
# communication. PyTorch 2.13 can use it instead of its own backends
# (`torch.distributed.config.use_torchcomms`). Its authors call it experimental.

# %% [markdown]
# ### To read
#
# - S. Li et al., *PyTorch Distributed: Experiences on Accelerating Data Parallel
#   Training*, VLDB 2020: why DDP is as it is, by the people who built it.
# - The page *Distributed Data Parallel* in PyTorch's notes describes the hooks and
#   buckets of the version you use.
