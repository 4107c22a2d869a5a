# %% [markdown]
# # 05 · Gradient all-reduce by hand
#
# You have everything that data-parallel training consists of: ranks, collectives, and a
# sampler that deals out the data. On this page you put it together yourself, without
# any library for it. It takes two short functions, and there are about ten ways to get
# them wrong without an error message.
#
# **At the end of this page** a network trains on four ranks and its loss curve is that
# of one process, to six digits. You can say where the seventh digit comes from, and you
# can tell a rounding error from a bug.
#
# **You need** units 00, 03 and 04. **It takes** about 120 minutes, the *stretch* 10
# more: two sittings. The cells themselves run for less than a minute on two cores. They
# take about 1.2 GB of memory.

# %%
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from autograder import check
from labkit import models, ranks, simulation, training
from labkit.lessons import gradient_all_reduce as given
from labkit.plots import charts, gradients, runs

RANKS = 4
# built in; "fashion_mnist" is downloaded once (30 MB), and all code below runs on it
# unchanged
DATA = "digits"
BATCH = 64  # the global batch size: images of all ranks together in one step
LR = 0.15

# %%
ranks.start(RANKS, torch=True)

# %% [markdown]
# ## Guess first
#
# Write down what you think before you read on; the page answers all three.
#
# 1. One process and four ranks train the same network on the same 160 minibatches. By
#    how much do the two losses differ at most, in any step: not at all, in the seventh
#    digit, in the third?
# 2. Four ranks start from *different* random weights and from then on average their
#    gradients correctly in every step. What becomes of the difference between their
#    weights: does it shrink, stay, or grow?
# 3. Rank 0 got 1 image right out of 1, rank 1 got 50 out of 99. What is the accuracy?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## The baseline: training in one process
#
# Everything on this page is compared with the training that you know: one process, one
# minibatch after the other. `labkit.training.train` is a loop of eight lines; look at
# it with `training.train??`.
#
# (Everything on this page whose name starts with `given.` is provided, and you need not
# read it: `given.mlp_from(START)` makes a new network with the weights `START` of the
# next cell; others make unequal shares, measure time, or compute distances. They are in
# `labkit/lessons/gradient_all_reduce.py`, and `help(given)` shows them.)

# %% tags=["parameters"]
x, y = training.load_tensors(DATA, n=2048)
test_x, test_y = training.load_tensors(DATA, train=False, n=1000)
epochs = [training.minibatches(len(x), BATCH, seed=5, epoch=e) for e in range(5)]
batches = sum(epochs, [])  # the minibatches of five epochs in a row

torch.manual_seed(0)
start = models.mlp()  # 784 -> 128 -> 64 -> 10
START = {name: tensor.clone() for name, tensor in start.state_dict().items()}

# %%
sequential = given.mlp_from(START)
losses_sequential = training.train(sequential, x, y, batches, lr=LR)
loss, accuracy = training.evaluate(sequential, test_x, test_y)
first, last = losses_sequential[0], losses_sequential[-1]
print(f"{len(batches)} steps, loss {first:.3f} -> {last:.3f}", end="; ")
print(f"test accuracy {accuracy:.1%}")

# %% [markdown]
# ## Why averaging gradients works
#
# The loss of a minibatch is a mean over its images. So its gradient is a mean of the
# images' gradients. Deal the 64 images out to 4 ranks, 16 each: every rank computes the
# mean gradient of its own 16, and
#
# $$\nabla L = \frac{1}{64} \sum_{i=1}^{64} \nabla \ell_i = \frac{1}{4} \left( \nabla L_0 + \nabla L_1 + \nabla L_2 + \nabla L_3 \right),
# \qquad \nabla L_r = \frac{1}{16} \sum_{i \text{ on rank } r} \nabla \ell_i .$$
#
# The mean of the ranks' gradients *is* the gradient of the whole minibatch. This is the
# only mathematics of data parallelism. One step then looks like this, here with three
# ranks, six images, one weight and a learning rate of 1:
#
# ![One training step on three ranks, one row for each. Every rank has its own two of the six images and the same weight, 2.0. After its forward and backward pass each has its own gradient: 0.9, 0.2 and 0.4. An all-reduce joins the rows and leaves the mean gradient 0.5 on every rank. All take the same optimizer step and end with the same weight, 1.5. Below the columns: weights equal, own gradients different, mean gradients equal, weights equal.](../../images/data_parallel_step.svg)
#
# Only the gradients differ between the ranks, and only until the all-reduce. Every rank
# subtracts the same mean from the same weight, so no weight is sent during training.
#
# Here are gradients from real ranks, those of the last layer's ten biases:

# %%
# %%ranks
torch.set_num_threads(1)  # the ranks share the cores already
model = given.mlp_from(START)
mine = batches[0][rank::world_size]  # every fourth image of the first minibatch
F.cross_entropy(model(x[mine]), y[mine]).backward()
gradient = model[-1].bias.grad.clone()
print(f"{len(mine)} images, gradient of the bias of class 0: {gradient[0]:+.4f}")

# %% alt="Gradients of the ten biases of the last layer: for each class the points of four ranks scatter around their mean, and the cross of one process with the whole minibatch lies on that mean."
own = torch.stack(ranks.pull("gradient"))
whole = given.mlp_from(START)
F.cross_entropy(whole(x[batches[0]]), y[batches[0]]).backward()
gradients.of_ranks(own, whole[-1].bias.grad, BATCH);

# %% [markdown]
# Four noisy opinions. Their mean sits exactly on the cross of the one process that has
# seen all 64 images.
#
# The formula holds under two conditions, and each is an exercise: all ranks must have
# *the same weights*, and their shares must be *of equal size*. (It also needs a loss of
# one image that does not depend on the others: batch normalisation breaks that, see
# unit 11.) First the weights.

# %% [markdown]
# ## Equal models at the start
#
# Every rank makes its own model, and its own random numbers:

# %%
# %%ranks
torch.manual_seed(100 + rank)
model = models.mlp()
print(model[1].weight[0, :3].tolist())

# %% [markdown]
# Equal seeds would help here, but not after rank 0 has loaded a checkpoint, and not
# when somebody draws one more random number. So nobody relies on seeds: **rank 0 tells
# the others**.
#
# A model has *parameters*, which the optimizer changes, and may have *buffers*, which
# the forward pass changes: the running means of batch normalisation, for example.
# Parameters can be *frozen* (`requires_grad = False`), when only the last layers are
# trained. **Think first:** which of these have to be equal at the start? A buffer may
# also be left out of `model.state_dict()` (`persistent=False`), for example a mask that
# any program can recreate; `model.buffers()` yields it like the others.
#
# ### Equal models at the start (2 points)
#
# Work in the model's own memory. An optimizer that was built before your call must
# still work after it.

# %% nbgrader={"grade": false, "grade_id": "broadcast_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def broadcast_parameters(model: nn.Module) -> None:
    """Give the model on every rank exactly the values that it has on rank 0.

    model: nn.Module; its parameters and buffers are contiguous
    Changes: the values, in the memory where they are; nothing else (`.grad` stays)

    - the parameters: they stay the same objects, with the same `requires_grad`.
    - frozen parameters and buffers too: all buffers, also integers and bools, and
      those that are not in the state_dict (`persistent=False`).

    Example: weights [1] on rank 0 and [7] on rank 1: both hold [1].
    """
    ### BEGIN SOLUTION
    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.data, src=0)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_broadcast_parameters", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(broadcast_parameters)

# %% tags=["raises-exception"]
# %%ranks
broadcast_parameters(model)
print(model[1].weight[0, :3].tolist())

# %% [markdown]
# ## Average the gradients
#
# After `loss.backward()` every parameter `p` has its gradient in `p.grad`, and the
# optimizer reads it from there. You have to act between these two moments.
#
# Three kinds of parameters need some thought:
#
# - a **frozen** one has no gradient: `p.grad` is `None`, on all ranks, and stays so.
#   With a gradient of zeros, weight decay would move what is meant to stay;
# - a **tied** one has two names in the model (an encoder and a decoder share one
#   matrix) but is one tensor with one gradient: autograd has already summed the
#   gradients of both uses, so it is reduced once;
# - one that was **not used** on some rank, because an `if` in the forward pass went the
#   other way there, has no gradient *on that rank only*. The others will wait in their
#   all_reduce. Such a rank contributes zeros.
#
# All gradients are contiguous here. Others come in *One bucket*, further down.
#
# ### Average the gradients (3 points)

# %% nbgrader={"grade": false, "grade_id": "average_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_gradients(model: nn.Module) -> None:
    """Replace the gradient of every trained parameter by its mean over all ranks.

    model: nn.Module, after backward and before the step; its parameters have one dtype
    Changes: `p.grad`, in place or by assigning a new tensor; nothing else

    - the mean, on every rank: it is computed in the dtype of the gradients, not in a
      narrower one.
    - frozen and tied parameters: frozen ones have no gradient; a tied one is reduced
      once.
    - a branch unused on some ranks: if the gradient of a trained
      parameter (`requires_grad`) is None on this rank, it counts as zero and becomes
      the mean, too. If it is None on all ranks, it ends as None or zeros.

    Example: gradients [2] on rank 0 and None on rank 1: both end with [1].
    """
    ### BEGIN SOLUTION
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_average_gradients", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(average_gradients)

# %% [markdown]
# In the check, rank 0 brings ones, twos and threes, rank 1 tens, twenties and thirties,
# rank 2 hundreds: the digits of a sum tell who is in it.
#
# ## Train
#
# That is all. The loop is the sequential one, with one more line and a share instead of
# the whole minibatch. The step of SGD is written out, so that nothing is hidden.

# %%
# %%ranks
def train_on_ranks(model, x, y, batches, average):
    """One step per minibatch, each rank on its share. Returns each minibatch's loss
    over all ranks (for shares of equal size).
    """
    losses = []
    for batch in batches:
        mine = batch[rank::world_size]
        model.zero_grad()
        loss = F.cross_entropy(model(x[mine]), y[mine])
        loss.backward()
        average(model)  # the one new line
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(p.grad, alpha=LR)
        losses.append(loss.detach())
    losses = torch.stack(losses)
    dist.all_reduce(losses, op=dist.ReduceOp.AVG)
    return losses.tolist()

# %% tags=["raises-exception"]
# %%ranks
model = models.mlp()
if rank == 0:
    # only rank 0 knows where to start; the others hold random numbers
    model.load_state_dict(START)
broadcast_parameters(model)

began = time.perf_counter()
losses = train_on_ranks(model, x, y, batches, average_gradients)
seconds = time.perf_counter() - began
weights = training.flat(model.parameters())
if rank == 0:
    print(
        f"{len(losses)} steps on {world_size} ranks in {seconds:.1f} s, loss "
        f"{losses[0]:.3f} -> {losses[-1]:.3f}"
    )

# %% [markdown]
# Are the four models still equal? And how far are they from the one that was trained
# sequentially?

# %% tags=["raises-exception"]
losses_parallel, weights = ranks.pull("losses")[0], ranks.pull("weights")
between_ranks = max(float((w - weights[0]).abs().max()) for w in weights)
to_sequential = float((weights[0] - training.flat(sequential.parameters())).abs().max())
print(f"largest difference between the weights of two ranks:       {between_ranks}")
print(f"largest difference from those of the sequential run:       {to_sequential:.1e}")

# %% [markdown]
# Between the ranks: zero, exactly. Every rank subtracted the same numbers, which the
# same all_reduce left everywhere. That keeps the models of data-parallel training
# equal, without anybody ever comparing them.
#
# From the sequential run they differ slightly. Is that a bug? Draw the curves over
# each other, and below them their difference, on a log axis, as one should: on a linear
# axis all errors smaller than a pencil line look alike. To have a judge, run the same
# training once more in `float64`, on both sides.

# %% tags=["raises-exception"]
# %%ranks
model = models.mlp().double()
if rank == 0:
    model.load_state_dict(START)
broadcast_parameters(model)
losses_double = train_on_ranks(model, x.double(), y, batches, average_gradients)

# %% tags=["raises-exception"] alt="Above, the loss of the minibatch over 160 steps: the curve of four ranks lies on that of one process. Below, their difference, logarithmic: with float32 points around its rounding, with float64 points around its much finer one."
double = given.mlp_from(START).double()
losses_sequential_double = training.train(double, x.double(), y, batches, lr=LR)

difference = np.abs(np.subtract(losses_parallel, losses_sequential))
losses_double = ranks.pull("losses_double")[0]
difference_double = np.abs(np.subtract(losses_double, losses_sequential_double))
runs.beside_sequential(
    losses_sequential,
    {f"{RANKS} ranks": losses_parallel},
    {"float32": difference, "float64": difference_double},
    floor=1e-18,
    ylim=(1e-18, 10),
    rounding={"float32 rounds to 6e-08": 2**-24, "float64 rounds to 1e-16": 2**-53},
)

# %% [markdown]
# The curves cannot be told apart. From the first step on, their difference is of the
# size of the number format's rounding. (A difference of exactly zero is drawn at the
# bottom edge. The others lie in rows, because the losses are `float32`: between 2 and
# 4, for example, neighbouring numbers are 2.4e-7 apart. Where the loss jumps, a small
# difference is blown up for a few steps.) And the judge has spoken: with numbers that
# are half a billion times finer, the difference is about half a billion times smaller.
# **A bug does not care about the number format; rounding does.** Remember the trick, it
# settles many arguments.
#
# ### Why rounding at all? The same numbers were added
#
# In a different order. One process adds 64 numbers in its own order; four ranks add 16
# each and then four sums. In floating point that is not the same:

# %%
print((0.1 + 0.2) + 0.3 == 0.1 + (0.2 + 0.3))
print((0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3))

# %% [markdown]
# Floating-point addition is commutative but not *associative*: after each addition the
# result is rounded, and where you put the brackets decides what gets rounded. Take the
# 64 images' gradients for one bias, add them up in 2000 random orders, and count the
# results:

# %% alt="A bar chart of 2000 orders of the same 64 summands: they give several different results in float32, spread on both sides of the exact sum, a few units of 1e-7 away."
summands = given.bias_gradients(whole, x[batches[0]], y[batches[0]])
errors, counts = given.sums_in_orders(summands)
ax = charts.spikes(errors, counts, ylabel="orders")
ax.set_xlabel(f"relative error, in units of 1e-7 ({len(errors)} different results)")
charts.guide(ax, "exact", x=0, how="ink --", at="top")

# %% [markdown]
# One set of numbers, many sums, all of them right to six or seven digits. No order is
# *the* right one: the sequential run is rounded just like yours. So two runs on
# different numbers of ranks agree up to rounding, and no test may ask for more. Your
# first guess:

# %% tags=["raises-exception"]
print(
    f"your guess: {guess_1}. Largest difference of the losses in {len(difference)} "
    f"steps: {difference.max():.1e}"
)

# %% [markdown]
# ## Half-time
#
# Equal models at the start and averaged gradients in every step: that is data
# parallelism, and the ranks stay equal. This is a good place for a break: next come
# loss and accuracy over all ranks, steps on unequal shares, and one bucket for all
# gradients.

# %% [markdown]
# ## Numbers for the screen
#
# The loss and the accuracy that you print should cover *all* images, and here the
# second condition bites: shares often differ in size. The last minibatch of an epoch is
# short. Ranks that read their own files hold different numbers of images. In the next
# cell the ranks hold the test images in blocks of 700, 200, 90 and 10, ordered by
# class.

# %% tags=["raises-exception"]
# %%ranks
model = given.mlp_from(START)
train_on_ranks(model, x, y, batches, average_gradients)

share = given.blocks_by_class(test_y, world_size)[rank]
model.eval()
with torch.no_grad():
    outputs = model(test_x[share])
    test_losses = F.cross_entropy(outputs, test_y[share], reduction="none")
    test_correct = outputs.argmax(dim=1) == test_y[share]
mean_of_means = torch.tensor([test_losses.mean(), test_correct.float().mean()])
loss, accuracy = mean_of_means
print(f"{len(share)} images, loss {loss:.3f}, accuracy {accuracy:.1%}")
dist.all_reduce(mean_of_means, op=dist.ReduceOp.AVG)

# %% [markdown]
# The cell's last line does the obvious: it averages the ranks' means. The result is
# biased. One image on the rank with 10 images counts as much as 70 on the rank with
# 700. And a rank without any image has no mean at all: 0 / 0.
#
# The cure is always the same: **first sum whatever is additive**
# over all ranks (losses, hits, counts), **and divide once**.
#
# ![Three ranks with 6, 3 and 1 images, of which 3, 2 and 1 are right. Below, two bars made of all ten images, each as wide as it weighs. Mean of means: every rank counts 1/3, so the one image of rank 2 is as wide as the six of rank 0 together, and the right ones fill 72 %. Sum first, then divide once: every image counts 1/10, all are equally wide, and the right ones fill 60 %.](../../images/mean_of_means.svg)
#
# Compare the widths of an image on rank 0 and the image on rank 2. The accuracy is the
# coloured part of the bar.
#
# ### Loss and accuracy over all ranks (3 points)

# %% nbgrader={"grade": false, "grade_id": "global_metrics", "locked": false, "schema_version": 3, "solution": true, "task": false}
def global_metrics(losses: torch.Tensor, correct: torch.Tensor) -> tuple[float, float]:
    """Return the mean loss and the accuracy over the samples of all ranks.

    losses: float32 tensor (n,), one for each sample of this rank, without gradient;
        each at least 0, or nan
    correct: bool tensor (n,)
    Returns: (mean loss, accuracy from 0 to 1), floats, up to rounding the same on every
        rank

    - equal shares: every sample counts the same, wherever it is.
    - unequal shares: n differs between the ranks.
    - a rank without samples: n may be 0, but not on all ranks.
    - unchanged: losses and correct.

    Example: losses [1, 2] on rank 0 and [6] on rank 1: the mean loss is 3.
    """
    ### BEGIN SOLUTION
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(sums)
    loss, hits, count = sums.tolist()
    return loss / count, hits / count
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_global_metrics", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(global_metrics)

# %% tags=["raises-exception"]
# %%ranks
loss, accuracy = global_metrics(test_losses, test_correct)
if rank == 0:
    one_process = training.evaluate(model, test_x, test_y)
    given.print_metrics(len(test_x), one_process, (loss, accuracy), mean_of_means)

# %% [markdown]
# Your third guess: 51 hits out of 100 images are 51 %. The mean of the means, 100 % and
# 50.5 %, says 75 %.

# %% [markdown]
# ## Steps on unequal shares
#
# The same holds for gradients. `average_gradients` gives every *rank* the same weight;
# instead, every *image* should have the weight $1/N$, where $N$ counts the images on
# all ranks. The cure is the same: add up the gradients of the images
# (`reduction="sum"`) and divide once, by $N$. **Think first:** what does `backward`
# leave in `p.grad` on a rank whose share is empty? Try it in one process.
#
# ### One step on unequal shares (3 points)
#
# You may use `average_gradients` and `global_metrics`. Mind their divisors.

# %% nbgrader={"grade": false, "grade_id": "train_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float:
    """Take one step of SGD on a minibatch that the ranks hold in shares of any size.

    model: nn.Module, equal on all ranks; all its parameters are trained, and used on
        each rank with samples; one may be tied
    x: tensor (n, ...), this rank's samples
    y: tensor (n,), their labels
    lr: float, learning rate
    Returns: float, the loss of the whole minibatch before the step, the same on every
        rank

    - equal shares: the step is the one that a single process would take on the whole
      minibatch. The loss is the mean cross-entropy over the samples of all ranks. All
      models are equal afterwards.
    - unequal shares: n differs between the ranks.
    - a rank without samples: n may be 0, but not on all ranks.
    - earlier gradients: `p.grad` may hold some; what it holds afterwards does not
      matter.

    Example: 3 images on rank 0 and 1 on rank 1: each has the weight 1/4.
    """
    ### BEGIN SOLUTION
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    loss_sum, count = totals.tolist()
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr * p.grad / count
    return loss_sum / count
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_train_step", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(train_step)

# %% [markdown]
# Compare it with the sequential run: the same minibatches, but now rank 0 takes half of
# each, rank 1 half of the rest, and so on. Once with your step, once with the mean of
# means.

# %% tags=["raises-exception"]
# %%ranks
def uneven(batch):
    """This rank's share: a half, a quarter, an eighth ... and what is left."""
    return given.halves(batch, rank, world_size)


model = given.mlp_from(START)
losses_weighted = [train_step(model, x[uneven(b)], y[uneven(b)], LR) for b in batches]
print(f"{len(uneven(batches[0]))} of {BATCH} images")

# %% tags=["raises-exception"]
# %%ranks
biased = given.mlp_from(START)
losses_biased = []
for batch in batches:
    with torch.no_grad():
        # of the whole minibatch, on every rank
        losses_biased.append(F.cross_entropy(biased(x[batch]), y[batch]).item())
    biased.zero_grad()
    F.cross_entropy(biased(x[uneven(batch)]), y[uneven(batch)]).backward()
    average_gradients(biased)
    given.descend(biased, LR)

# %% tags=["raises-exception"] alt="Difference from the sequential loss over the steps, logarithmic: where every image counts the same it stays at float32's rounding; where every rank counts the same it is many thousand times larger."
apart = {}
for name, text, look in (
    ("losses_biased", "every rank counts the same (biased)", "red s"),
    ("losses_weighted", "every image counts the same", "blue o"),
):
    gap = np.abs(np.subtract(ranks.pull(name)[0], losses_sequential))
    apart[text] = range(len(gap)), np.maximum(gap, 1e-9), look
words = {"xlabel": "step", "ylabel": "difference from the\nsequential loss"}
charts.lines(apart, log="y", size=(8, 3.4), markersize=3, ylim=(5e-10, 10), **words);

# %% [markdown]
# One of the two is rounding and the other is a bug that no error message will ever tell
# you about: the biased run still trains. It just weights your data differently than you
# think.

# %% [markdown]
# ## One bucket
#
# A call to `all_reduce` costs its latency, however small the tensor (unit 03). A deep
# network has hundreds of parameters, most of them small. So copy all gradients into one
# long vector, a **bucket**, and call once.
#
# ![Two ways to all-reduce the six gradients of a small network, on one time axis. One call for each gradient: six calls, each with a latency of 30 µs; only the first, of the largest weight matrix, spends longer on its bytes than on its latency; together 246 µs. One buffer: the six gradients lie end to end, one latency is followed by all bytes; 96 µs.](../../images/one_flat_buffer.svg)
#
# These are the weights (W) and biases (b) of this page's MLP, on a ring of 4 ranks of
# the simulated network, with 5 µs per message (a call is 6 messages) and 10 GB/s. Both
# rows move the same bytes. The time to copy into the bucket and out of it is left out.
#
# A gradient is not always *contiguous*: the numbers of a transposed matrix do not lie
# in memory in the order in which you read them. `view` refuses to flatten such a
# tensor. `reshape` flattens a copy, and what you write into a copy is lost.
#
# ### One bucket for all gradients (3 points)

# %% nbgrader={"grade": false, "grade_id": "average_gradients_flat", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_gradients_flat(model: nn.Module) -> None:
    """Average all gradients over the ranks in one collective call.

    model: nn.Module with at least one trained parameter, all of the same dtype
    Changes: `p.grad`, in place or by assigning a new tensor; nothing else

    - one call: exactly one collective (an all_reduce, for example) for all gradients
      together. The mean has the dtype of the gradients.
    - any memory layout: gradients may be contiguous or not.
    - frozen, tied, and unused on some ranks: frozen parameters have no gradient, tied
      ones are sent once, None on a rank counts as zero and gets the mean. What is None
      on all ranks ends as None or zeros.

    Example: ten parameters with 1,000 elements together: one all_reduce of 1,000.
    """
    ### BEGIN SOLUTION
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    bucket = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(bucket)
    bucket /= dist.get_world_size()
    for p, piece in zip(trained, bucket.split([p.numel() for p in trained])):
        p.grad.copy_(piece.view(p.shape))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_average_gradients_flat", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(average_gradients_flat)

# %% [markdown]
# What is it worth? First by counting, on the simulated network of unit 03 (5 µs per
# message, 10 GB/s). The network is a ResNet-34 with an eighth of the usual width: many
# parameters, all small.

# %%
def one_call_each():
    average_gradients(given.narrow_resnet())


def one_bucket():
    average_gradients_flat(given.narrow_resnet())


sizes = sorted(p.numel() for p in given.narrow_resnet().parameters())
half = sizes[len(sizes) // 2]
print(f"{len(sizes)} parameters, {sum(sizes):,} numbers; half have {half} or fewer")

# %% tags=["raises-exception"]
for function in (one_call_each, one_bucket):
    run = simulation.run(function, RANKS)
    counted = run.ranks[0]
    print(
        f"{function.__name__:<14} {len(counted.collectives):>4} calls "
        f"{counted.collective_bytes / 1e6:6.2f} MB {run.elapsed * 1e3:7.2f} ms"
    )

# %% [markdown]
# The same bytes in one call. Now on the real ranks of your machine, with a clock. For
# the picture, one vector of 1.3 MB is cut into more and more pieces. **Predict:** up to
# how many pieces is the time about that of one call?

# %% tags=["parameters"]
# %%ranks
PIECES = [1, 4, 16, 64, 256, 1024]
vector = torch.ones(327_680)  # 1.3 MB in float32
in_pieces = [
    given.milliseconds(lambda: [dist.all_reduce(part) for part in vector.chunk(n)], 5)
    for n in PIECES
]

# %% tags=["raises-exception"]
# %%ranks
wide = given.with_ones(models.mlp())
for name, net in (("MLP", wide), ("ResNet-34, narrow", given.narrow_resnet())):
    each = given.milliseconds(lambda: average_gradients(net))
    flat = given.milliseconds(lambda: average_gradients_flat(net))
    if rank == 0:
        times = f"one call each {each:6.2f} ms, one bucket {flat:6.2f} ms"
        print(f"{name:<18} {len(list(net.parameters())):>4} parameters: {times}")

# %% alt="Time of an all-reduce of 1.3 MB over the number of calls it is cut into, both axes logarithmic: flat for a few calls, then rising along the line of a fixed time per call."
PIECES, in_pieces = ranks.pull("PIECES")[0], ranks.pull("in_pieces")[0]
gradients.calls(PIECES, in_pieces, "1.3 MB", RANKS);

# %% [markdown]
# The dashed line assumes that every further call adds the same time; it is drawn
# through the first and the last point. Points lie above it where the pieces are tens of
# kilobytes: a further call adds more there. But the trend is clear: the bytes are the
# same throughout; a few large calls are cheap, many small ones are not.
#
# One bucket has a price too: it can leave only when the *last* gradient is there, so
# nothing is sent during `backward`. Libraries use several buckets of a few megabytes,
# and send each as soon as it is full. That is unit 06.

# %% [markdown]
# ## Clip what you averaged · stretch
#
# Recurrent networks and transformers are trained with *gradient clipping*: if the
# gradient's norm is above `max_norm`, the gradient is scaled down to that norm. The
# norm is one number for the whole model, the root of the sum of all squares, over all
# parameters.
#
# **Think first:** clip and then average, or average and then clip? And does the norm
# need a collective?
#
# ### Clip the averaged gradient (3 points)

# %% nbgrader={"grade": false, "grade_id": "average_and_clip", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_and_clip(model: nn.Module, max_norm: float) -> float:
    """Average the gradients over the ranks, then clip the mean by its norm.

    model: nn.Module, after backward and before the step; the squares of its gradients
        fit in their dtype
    max_norm: float, 0 or more
    Returns: float (or a tensor of one element), the norm before clipping

    - norm above the limit: if the Euclidean norm of all averaged gradients together is
      larger than max_norm, all are scaled by one factor so that it is max_norm (you may
      divide by the norm + 1e-6). The result is in `p.grad`.
    - norm below the limit: the gradient is only averaged.
    - frozen parameters, zero gradients: frozen ones have no gradient; None on a rank
      counts as zero; the norm may be 0.

    Example: gradients [6] and [2], max_norm 1: the mean is [4], the result [1],
    returned 4.
    """
    ### BEGIN SOLUTION
    average_gradients(model)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_average_and_clip", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(average_and_clip)

# %% [markdown]
# ## Break it
#
# The most common mistake of all, and the quietest: the broadcast is missing. The
# gradients are averaged as they should be. For comparison, the cell also runs its
# counterpart (equal starts without averaging) and the correct training. The cell
# records how far apart the ranks' weights are.
#
# **Before you run it**, look at your second guess again.

# %% tags=["raises-exception"]
# %%ranks
def drift(broadcast, average):
    """Train; returns the largest distance |w_r - w_0| after each step, and the test
    accuracy of this rank's model.
    """
    torch.manual_seed(100 + rank)
    model = models.mlp()
    if broadcast:
        broadcast_parameters(model)
    apart = []
    for batch in batches:
        train_on_ranks(model, x, y, [batch], average)
        apart.append(given.distance_to_rank_0(model))
    return apart, training.evaluate(model, test_x, test_y)[1]

# %% tags=["raises-exception"]
# %%ranks
drifts = {
    "no broadcast": drift(False, average_gradients),
    "no averaging": drift(True, lambda model: None),
    "both": drift(True, average_gradients),
}
for name, (_, accuracy) in drifts.items():
    print(f"{name:<13} test accuracy of this rank's model {accuracy:.1%}")

# %% tags=["raises-exception"] alt="Largest distance of a rank's weights from those of rank 0 over the steps: without the broadcast it is large from the start and stays, without averaging it grows from zero, with both it is zero throughout."
drifts = ranks.pull("drifts")[0]
looks = {"no broadcast": "red -", "no averaging": "orange --", "both": "blue -."}
curves = {name: (range(len(batches)), drifts[name][0], looks[name]) for name in looks}
words = {"xlabel": "step", "ylim": (-0.5, None)}
ax = charts.lines(curves, size=(8, 3.6), legend="ends", **words)
ax.set_ylabel("largest distance of a rank's\nweights from those of rank 0")
print(f"your guess: {guess_2}")

# %% [markdown]
# Without averaging the models drift apart, as everybody expects. Without the broadcast
# the line is *flat*: all ranks take the same step, so the distance at the start stays
# forever. Nothing pulls the models together. Each rank updates its weights with a mean
# of gradients, three quarters of which were computed for other models. Look at the
# accuracies: it may even train a little. No error, no warning, and the loss that a
# program prints is that of one of four different models, or their mean.
#
# What would have found it? One line, cheap enough for every run: compare a checksum of
# the weights across the ranks after the first step.

# %% [markdown]
# ## What to remember
#
# - The gradient of a minibatch is the mean of the gradients of its shares, if the
#   models are equal and the shares of equal size.
# - **Equal start**: broadcast parameters *and* buffers from rank 0. **Equal steps**:
#   all_reduce, divide once, on every rank, in `p.grad`.
# - Unequal shares: sum first, divide once by the global count. A mean of
#   means is biased.
# - Every rank takes part in every collective: a rank with nothing to add contributes
#   zeros.
# - Parallel and sequential agree up to rounding, because floating-point addition is not
#   associative. `float64` tells rounding from bugs.
# - A call costs its latency: one bucket instead of hundreds of calls.
#
# **To think about.** Your loss curve lies on the sequential one if the *global* batch
# is the same. With 64 ranks the share of a rank is one image. What would you rather
# keep, the global batch or the local batch, and what else changes then? Units 06 to 08
# come back to this.

# %% [markdown]
# ## Deeper: forgotten divisions
#
# Without the division by the number of ranks $p$, every step of SGD is $p$ times as
# long: the same as a learning rate of $p \cdot$ `LR`. Sometimes that trains faster,
# which is how such a bug survives on few ranks. Here is the loss, in one process, with
# the learning rates that 1, 4 and 16 ranks would really use:

# %% alt="Loss over the steps, mean of eight, for three learning rates: with LR it falls, with 4 times LR it falls less and wobbles, with 16 times LR it jumps and stays high."
curves = {}
for factor, look in ((1, "blue -"), (4, "orange --"), (16, "red :")):
    model = given.mlp_from(START)
    losses = training.train(model, x, y, batches, lr=factor * LR)
    smooth = np.convolve(losses, np.ones(8) / 8, "valid")
    curves[f"{factor} x LR"] = range(len(smooth)), smooth, look
words = {"xlabel": "step", "ylabel": "loss, mean of 8 steps", "ylim": (0, 3)}
charts.lines(curves, size=(8, 3.2), legend="ends", **words);

# %% [markdown]
# ## Deeper: accumulate, then communicate
#
# `backward` *adds* to `p.grad`. So a rank can go through several minibatches before it
# communicates once: the global batch is then $k$ times as large, and the number of
# calls per image $k$ times smaller. It is the same formula once more: divide by the
# number of all images that are in the sum.

# %% tags=["raises-exception"]
# %%ranks
model = given.mlp_from(START)
K = 4
for batch in batches[:K]:
    mine = batch[rank::world_size]
    (F.cross_entropy(model(x[mine]), y[mine]) / K).backward()
average_gradients_flat(model)  # one call for K minibatches

whole = given.mlp_from(START)
everything = torch.cat(batches[:K])
F.cross_entropy(whole(x[everything]), y[everything]).backward()
apart = given.largest_gradient_gap(model, whole)
if rank == 0:
    print(f"largest difference from the gradient of all at once: {apart:.1e}")

# %%
ranks.stop()

# %% [markdown]
# ### To read
#
# - S. Li et al., *PyTorch Distributed: Experiences on Accelerating Data Parallel
#   Training*, VLDB 2020: the beginning of section 3.2 is this page, the rest the next
#   one.
# - D. Goldberg, *What Every Computer Scientist Should Know About Floating-Point
#   Arithmetic*, 1991.
# - P. Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017:
#   section 3 lists subtle mistakes of exactly this kind.
