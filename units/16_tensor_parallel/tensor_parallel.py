# %% [markdown]
# # 16 · Tensor parallelism
#
# A model that does not fit into one device has to be cut. Unit 15 cuts what the ranks
# *keep* and puts it together again before computing; unit 17 cuts between layers. This
# page cuts **inside** the layers: every rank holds a part of each matrix of a block and
# computes with it; no rank ever sees the whole.
#
# **At the end of this page** you have divided a transformer's blocks over ranks by
# columns, rows and heads (in the *stretch* also its vocabulary, and a convolution by
# channels and by rows of the image). The results equal the sequential ones, and you
# know how many bytes each cut sends. You can also say why these cuts seldom reach
# beyond one node.
#
# **You need** units 02, 03 and 05. **It takes** about 110 minutes, the *stretch* 195
# more: two sittings, with a break at *Half-time*. The cells themselves run for about 15
# seconds on two cores. They take about 0.8 GB of memory.

# %%
import math

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import parallel
from torch.distributed.tensor.placement_types import Replicate

from autograder import check
from labkit import simulation
from labkit.lessons import tensor_parallel as given
from labkit.plots import charts, divided

# %% [markdown]
# ## Guess first
#
# 1. An MLP maps each of n tokens from d numbers to 4 d hidden activations, and back to
#    d. It is divided over p ranks. Somebody doubles the hidden width, to 8 d. How many
#    more bytes go over the links?
# 2. A convolution is divided over 4 ranks: by output channels, by input channels, or by
#    the rows of the image. Which is cheapest for a large image?
# 3. A transformer is divided over 8 ranks, first in one node, then in two nodes of 4.
#    How many times as long does a step take in two nodes?
#
# (You need not read the functions of `given.`: parts of layers, a small transformer and
# its batch, a clock for a larger one. They are in `labkit/lessons/tensor_parallel.py`,
# and `help(given)` describes them.)

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Parameters: six matrices in every block
#
# The course's transformer is `labkit.models.gpt`. The table counts its parameters for
# width 32, the model of this page, and for width 4096:

# %%
given.print_parameters((32, 4096))

# %% [markdown]
# At width 4096 nearly all of them are in six matrices per block: `q`, `k`, `v` and
# `out` of the attention, `up` and `down` of the MLP. They are linear layers,
# $y = x W^T + b$, and $W^T$ can be cut in two ways: by columns or by rows.
#
# A note on names: PyTorch stores the weight of `nn.Linear(d, h)` as W, of shape (h, d).
# A **column** of $W^T$, which makes one output, is therefore a *row* of that tensor,
# and a rank's columns are `weight.chunk(p)[rank]`. Everybody trips over this once.
#
# ## Column-parallel linear layers
#
# Each rank computes some of the outputs. It needs all of x, its own columns of the
# weight, and its own piece of the bias.
#
# ![A linear layer by columns on two ranks. Each rank has all of x, n times d, and half of the columns of the transposed weight, d times h: rank 0 the left half, rank 1 the right half. Its product is half of the columns of the output, n times h. An all-gather puts the halves y0 and y1 side by side on every rank.](../../images/column_parallel.svg)
#
# Each colour is a rank; dotted parts are on the other rank.
#
# ### A linear layer by columns (3 points)
#
# Afterwards every rank is to have all outputs. **Think first:** each rank holds a block
# of shape (n, h / p). `all_gather_single` joins blocks along dimension 0. Which
# dimension do you need?

# %% nbgrader={"grade": false, "grade_id": "column_linear", "locked": false, "schema_version": 3, "solution": true, "task": false}
def column_linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Compute a linear layer whose columns are divided over the ranks.

    x: tensor (n, d), the same on every rank
    weight: tensor (h, d), W; on rank r only its own h / p rows are right, the others
        hold unrelated numbers
    bias: tensor (h,), the same on every rank
    Returns: tensor (n, h), x W^T + b, on every rank

    - all columns on every rank: rank r computes the r-th of p equal pieces of the
      outputs, with its own h / p rows of weight. All links together carry no more than
      one all_gather of the outputs, (p - 1) n h numbers.
    - illegal numbers of columns: if p does not divide h, raise ValueError before any
      communication.
    - unchanged: x, weight and bias.

    Example: p = 2, x = [[1, 2]], weight = [[1, 0], [0, 1]], bias = [10, 20]. Rank 0
    computes 11, rank 1 computes 22, and both return [[11, 22]].
    """
    ### BEGIN SOLUTION
    p, rank = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
    mine = F.linear(x, weight.chunk(p)[rank], bias.chunk(p)[rank])
    parts = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(parts, mine)
    return torch.cat(parts, dim=1)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_column_linear", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(column_linear)

# %% [markdown]
# ## Row-parallel linear layers
#
# In the second way each rank has some of the *inputs* and the rows of $W^T$ that
# multiply them (columns of PyTorch's tensor). Its product has the shape of the whole
# output, but is only one summand of it:
#
# $$x W^T = x_0 W_0^T + x_1 W_1^T + \dots$$
#
# ![A linear layer by rows on two ranks. Each rank has half of the columns of x and the rows of the transposed weight that belong to them: rank 0 the upper half, rank 1 the lower half. Its product has the full shape n times h, but is only a summand, x0 W0ᵀ or x1 W1ᵀ. An all-reduce gives every rank the sum.](../../images/row_parallel.svg)
#
# Compare the two drawings: by columns a rank has some numbers of the output; by rows it
# has a summand of every number.
#
# ### A linear layer by rows (2 points)
#
# **Think first:** where does the bias go?

# %% nbgrader={"grade": false, "grade_id": "row_linear", "locked": false, "schema_version": 3, "solution": true, "task": false}
def row_linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Compute a linear layer whose rows are divided over the ranks.

    x: tensor (n, d_r), this rank's inputs; d_r, at least 1, may differ between ranks
    weight: tensor (h, d_r), the weights of these inputs
    bias: tensor (h,), the same on every rank, or None
    Returns: tensor (n, h), the whole output, on every rank

    - no bias: x W^T over all d inputs.
    - a bias: x W^T + b.
    - messages: all links together carry no more bytes than one all_reduce of the
      output, 2 (p - 1) n h numbers.
    - unchanged: x, weight and bias.

    Example: p = 2, bias = [10]. From x = [[1]], weight = [[3]] on rank 0 and x = [[2]],
    weight = [[4]] on rank 1 both return [[21]].
    """
    ### BEGIN SOLUTION
    y = F.linear(x, weight)
    dist.all_reduce(y)
    return y if bias is None else y + bias
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_row_linear", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(row_linear)

# %% [markdown]
# ## A tensor-parallel MLP: columns, then rows
#
# Now use one after the other. After the layer by columns each rank has some of the
# hidden activations. GELU works on each number by itself, so they can stay divided. And
# the layer by rows needs exactly these as its inputs. So **nothing is sent between the
# two layers**. This is the idea of Megatron-LM (Shoeybi et al., 2019).
#
# The backward pass needs care, because autograd knows nothing of the other ranks.
#
# - Before the column-parallel layer all ranks have the same x. Forward, nothing is to
#   be done. Backward, each rank computes the contribution of *its* columns to the
#   gradient of x, and an all_reduce adds up the contributions. Megatron calls this
#   operator **f**.
# - After the row-parallel layer the summands are added up: forward an all_reduce.
#   Backward, every rank already has the whole gradient of the sum, and the gradient of
#   a summand is the same: nothing to do. This is **g**.
#
# ![An MLP by columns, then rows, on two ranks. Both have the same x; f hands it on. Rank r multiplies by its columns of U and applies GELU: half of the hidden activations, n times h/p. It multiplies by its rows of D: a summand of full size, n times d. g adds up the summands, so both ranks have y. Two strips below say what is sent. Forward: nothing at f, nothing in the middle, an all-reduce at g. Backward: nothing at g and in the middle, an all-reduce at f.](../../images/f_and_g.svg)
#
# The strips at the bottom name the collective at each place. In the middle nothing is
# sent, in either direction.
#
# f and g are mirror images. In PyTorch each is a `torch.autograd.Function`: two static
# methods, and `CopyIn.apply(x)` to call it.
#
# ### An MLP by columns, then rows: f and g (4 points)
#
# Write f and g, then the MLP. An all_reduce overwrites its tensor, which autograd may
# still need: reduce a clone.

# %% nbgrader={"grade": false, "grade_id": "tp_mlp", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CopyIn(torch.autograd.Function):
    """f: the identity forward, a sum over the ranks backward."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        return x.view_as(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        ### BEGIN SOLUTION
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient
        ### END SOLUTION


class SumOut(torch.autograd.Function):
    """g: a sum over the ranks forward, the identity backward."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        x = x.clone()
        dist.all_reduce(x)
        return x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        ### BEGIN SOLUTION
        return gradient
        ### END SOLUTION


def tp_mlp(
    x: torch.Tensor,
    up: torch.Tensor,
    up_bias: torch.Tensor,
    down: torch.Tensor,
    down_bias: torch.Tensor,
) -> torch.Tensor:
    """Compute an MLP whose hidden activations are divided over the ranks.

    x: tensor (n, d), the same on every rank
    up: tensor (h / p, d), this rank's columns
    up_bias: tensor (h / p,), this rank's piece
    down: tensor (d, h / p), this rank's rows
    down_bias: tensor (d,), the same on every rank
    Returns: tensor (n, d), the whole output, on every rank

    - the output: gelu(x U^T + a) D^T + b, where gelu is `F.gelu(...)`.
    - all gradients: after `.backward` with the same gradient on all ranks, every
      argument's gradient is added to its .grad: for x and down_bias the whole gradient,
      for the others that of this rank's part.
    - messages: each rank calls one all_reduce of n d numbers forward and one backward,
      and nothing else.

    Example: p = 2, n = 3, d = 4, h = 10. Each rank has 5 hidden activations of every
    token; its all_reduces are of 12 numbers.
    """
    ### BEGIN SOLUTION
    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
    return SumOut.apply(F.linear(hidden, down)) + down_bias
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_tp_mlp", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(tp_mlp)

# %% [markdown]
# Now your first guess. The cell runs your MLP on the simulated network of unit 03, for
# two hidden widths, and counts the bytes that a rank passes to collectives, forward and
# backward:

# %%
def mlp_step(n, d, h):
    """Forward and backward through a divided MLP of random weights."""
    x, weights = given.mlp_parts(n, d, h)
    tp_mlp(x, *weights).sum().backward()

# %%
n, d = 64, 32
print(f"n d = {n * d:,} numbers of 4 bytes = {4 * n * d:,} bytes")
for p in (2, 4):
    for h in (4 * d, 8 * d):
        outcome = given.run(mlp_step, p, (n, d, h))
        if outcome:
            rank = outcome.ranks[0]
            print(f"{p} ranks, h = {h}: {rank.collectives}, "
                  f"{rank.collective_bytes:,} bytes")  # fmt: skip

# %% [markdown]
# Two all_reduces of n d numbers, whatever the hidden width: **no more bytes at all**. A
# wider hidden layer computes more and sends the same. That is why tensor parallelism
# pays off for wide models.

# %% [markdown]
# ## Half-time
#
# You have divided a linear layer by columns and by rows. One after the other they make
# an MLP that all-reduces n d numbers forward and as many backward, however wide its
# hidden layer is. Attention comes next, and then a whole transformer; this is a good
# place for a break.

# %% [markdown]
# ## Attention: the heads divided
#
# Attention has a natural place to cut: between its heads. Each head has its own outputs
# of `q`, `k` and `v`, its own softmax, and its own inputs of `out`. So `q`, `k` and `v`
# are cut by columns, `out` by rows, and again nothing is sent in between. The softmax
# needs one head only, and each head is complete on one rank.
#
# ![Causal attention with four heads on two ranks. Both have all of x. The columns of q, k and v belong to heads: rank 0 has those of heads 0 and 1, rank 1 those of heads 2 and 3. Each rank makes the triangular scores of its own two heads and their softmax, and multiplies by the rows of out that belong to them. An all-reduce adds up the two products to y on every rank.](../../images/attention_heads.svg)
#
# Each stripe is a head, and stays on one rank from `q`, `k` and `v` to `out`.
#
# The heads also limit the number of ranks: 6 heads on 4 ranks would be one and a half
# for each.
#
# ### Attention with its heads divided (3 points)

# %% nbgrader={"grade": false, "grade_id": "head_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def head_attention(
    x: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    head_size: int,
) -> torch.Tensor:
    """Compute causal self-attention with its heads divided over the ranks.

    x: tensor (s, d), s tokens, the same on every rank
    q, k, v: tensors (d / p, d), the rows of this rank's heads, head_size rows for each,
        one head after the other
    out: tensor (d, d / p), the columns of these heads
    head_size: int, rows of a head
    Returns: tensor (s, d), the whole output, on every rank

    - whole heads: a token sees itself and those before it. Scores are divided by the
      square root of head_size. There are no biases, and there is no backward pass.
    - illegal numbers of heads: if head_size does not divide d / p, raise ValueError
      before any communication.
    - messages: all links together carry no more bytes than one all_reduce of the
      output.
    - unchanged: all tensors.

    Example: p = 2, d = 8. Each rank has 4 rows: two heads of head_size = 2; for
    head_size = 3 it raises ValueError.
    """
    ### BEGIN SOLUTION
    if len(q) % head_size:
        raise ValueError(f"{len(q)} rows are no whole heads of {head_size}")
    q, k, v = (
        (x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v)
    )
    scores = q @ k.transpose(-2, -1) / math.sqrt(head_size)
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
    y = mixed.transpose(0, 1).flatten(1) @ out.T
    dist.all_reduce(y)
    return y
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_head_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(head_attention)

# %% [markdown]
# ## A whole transformer
#
# With f and g you can divide the course's transformer. `divide` below cuts the six
# matrices of every block, puts f before the attention and before the MLP, and g after
# them. Norms, embeddings and the last matrix, `head`, are the same on every rank.
# (`given.cut_linear` makes a linear layer from a rank's part of the weights.)
#
# Then the cells take one step on a piece of text, in one process and on 2 and 4 ranks,
# and compare every gradient of every rank with the sequential one.

# %%
COLUMNS = ("attention.q", "attention.k", "attention.v", "mlp.up")
ROWS = ("attention.out", "mlp.down")


class SummedRows(nn.Module):
    """A linear layer by rows: this rank's summand, g, and the bias once."""

    def __init__(self, rows, bias):
        super().__init__()
        self.rows, self.bias = rows, bias

    def forward(self, x):
        return SumOut.apply(self.rows(x)) + self.bias

# %%
def divide(model):
    """Divide the blocks of a gpt over all ranks, in place."""
    p, rank = dist.get_world_size(), dist.get_rank()
    for name, block in model.named_children():
        if name.startswith("block"):
            for path in COLUMNS:
                linear = block.get_submodule(path)
                block.set_submodule(path, given.cut_linear(linear, p, rank, 0))
            for path in ROWS:
                linear = block.get_submodule(path)
                rows = given.cut_linear(linear, p, rank, 1)
                block.set_submodule(path, SummedRows(rows, linear.bias))
            for part in (block.attention, block.mlp):  # f, once for q, k and v
                part.register_forward_pre_hook(lambda _, x: (CopyIn.apply(x[0]),))

# %% [markdown]
# One step of the divided model; the batch is the same on every rank:

# %%
def divided_step():
    """Return the loss, and this rank's gradients by name."""
    model = given.new_model()
    divide(model)
    return given.loss_and_gradients(model)

# %%
loss, whole = given.loss_and_gradients(given.new_model())

# %%
outcomes = {p: given.run(divided_step, p) for p in (2, 4)}
print(f"one process: loss {loss:.12f}")
for p, outcome in outcomes.items():
    if outcome:
        worst = given.furthest(outcome, whole, COLUMNS)
        print(f"{p} ranks:     loss {outcome.ranks[0].value[0]:.12f}, "
              f"largest difference of a gradient {worst:.0e}")  # fmt: skip

# %% [markdown]
# ### A published count, re-checked
#
# Narayanan et al., *Efficient Large-Scale Language Model Training on GPU Clusters Using
# Megatron-LM* (2021), section 3.2: tensors of b s h numbers are all-reduced "twice each
# in the forward and backward pass for each layer, leading to a total communication of 8
# b s h (t - 1) / t per layer per device", for t ranks, batch b, sequence s, width h.
# Their layer is our block. Does the simulated network count the same?

# %%
b, s, h, blocks = 2, 32, 32, 2
for t, outcome in outcomes.items():
    if outcome:
        counted = sum(outcome.link_bytes.values()) / 8 / t / blocks
        print(f"{t} ranks: {counted:,.0f} numbers per block and device, the paper says "
              f"{8 * b * s * h * (t - 1) / t:,.0f}; rank 0 called "
              f"{len(outcome.ranks[0].collectives)} collectives")  # fmt: skip

# %% [markdown]
# Exactly. An all_reduce on the ring moves $2 (t - 1) / t$ of its tensor through every
# device (unit 03), and there are four of them.

# %% [markdown]
# ## Vocabulary-parallel cross-entropy · stretch
#
# The last matrix, `head`, makes logits: for each of n tokens, one number for each of
# the V entries of the vocabulary. If it is divided by columns, each rank has logits of
# shape (n, V / p). For 2,048 tokens and a vocabulary of 128,000 they are 262 million
# numbers in all: nobody wants to gather them only to compute *one number*, the loss.
#
# The cross-entropy of a token is
#
# $$\log \sum_j e^{z_j - m} + m - z_y, \qquad m = \max_j z_j,$$
#
# and each of its three parts, $m$, the sum, and the logit $z_y$ of the target, is *one
# number for each token* that the ranks can compute together.
#
# ### Cross-entropy of logits divided by the vocabulary (4 points)
#
# **Think first:** who knows $z_y$? And why must all ranks subtract the *same* m?

# %% nbgrader={"grade": false, "grade_id": "vocab_cross_entropy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def vocab_cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cross-entropy of n tokens and its gradient for this rank's logits.

    logits: tensor (n, V_r), this rank's columns, in the order of the ranks
    targets: int64 tensor (n,), from 0 to V - 1, the same on every rank
    Returns: (loss, gradient), one number (a float or a tensor), the same on every rank,
        and a tensor (n, V_r)

    - equal shares: the loss is that of `F.cross_entropy` with all V columns, the mean
      over the tokens; the gradient is the gradient of this mean.
    - large logits: they may be as large as 1e4 or as low as -1e4.
    - any vocabulary: ranks may hold different numbers of columns, even none.
    - messages: a rank passes at most 8 (3 n + p) bytes in all to sends and collectives;
      bytes that it receives do not count.
    - unchanged: logits and targets.

    Example: p = 2, targets = [1]. From logits [[0]] on both ranks the loss is log 2;
    the gradient is [[0.5]] on rank 0 and [[-0.5]] on rank 1.
    """
    ### BEGIN SOLUTION
    p, rank, n, width = dist.get_world_size(), dist.get_rank(), *logits.shape
    widths = torch.zeros(p, dtype=torch.int64)
    widths[rank] = width
    dist.all_reduce(widths)
    first = int(widths[:rank].sum())

    top = logits.max(1).values if width else logits.new_full((n,), -torch.inf)
    dist.all_reduce(top, dist.ReduceOp.MAX)
    exponentials = (logits - top[:, None]).exp()
    total = exponentials.sum(1)
    dist.all_reduce(total)

    (mine,) = torch.where((targets >= first) & (targets < first + width))
    place = targets[mine] - first
    target = logits.new_zeros(n)
    target[mine] = logits[mine, place]
    dist.all_reduce(target)

    loss = (total.log() + top - target).mean()
    gradient = exponentials / total[:, None]
    gradient[mine, place] -= 1
    return loss, gradient / n
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_vocab_cross_entropy", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(vocab_cross_entropy)

# %%
def random_loss(n, vocabulary):
    p, rank = dist.get_world_size(), dist.get_rank()
    logits, targets = given.random_logits(n, vocabulary)
    return float(vocab_cross_entropy(logits.chunk(p, 1)[rank], targets)[0])


for vocabulary in (1000, 10_000):
    outcome = given.run(random_loss, 4, (32, vocabulary))
    if outcome:
        right = F.cross_entropy(*given.random_logits(32, vocabulary))
        print(f"V = {vocabulary:>6,}: loss {outcome.ranks[0].value:.5f}, sequential "
              f"{right:.5f}; a rank hands over "
              f"{outcome.ranks[0].collective_bytes} bytes, its logits are "
              f"{4 * 32 * vocabulary // 4:,}")  # fmt: skip

# %% [markdown]
# ## Convolutions: channels and halos · stretch
#
# Convolutions came before transformers, and they can be cut, too: "divide C, H, or W
# dimensions of a CNN layer onto separate devices" (B. Nelson, *Distributed Deep
# Learning*, CentOS Dojo at Oak Ridge, 2019, the slide on model parallelism).
#
# - **C_out**, output channels: a layer by columns. The outputs are gathered.
# - **C_in**, input channels: a layer by rows. The outputs are summed.
# - **H** (or W), rows of the image: all weights are on every rank, and each rank has a
#   strip of every image. At the seams a kernel of k rows reaches k // 2 rows into the
#   neighbours' strips. These rows are the **halo**, and only they are sent, between
#   neighbours.
#
# ![An image of twelve rows cut into four strips of three rows, one for each rank. A kernel of 3 x 3 on the first row of rank 1 reaches into the last row of rank 0. Beside it what each rank needs: its own three rows, and the halo, one row above and one below, sent by the neighbours that own them: rank 1 gets row 2 from rank 0 and row 6 from rank 2. Above rank 0 and below rank 3 there is a question mark.](../../images/halo.svg)
#
# For k = 3 the halo is one row on each side. The exercise settles the question marks:
#
# ### A convolution over channels and over rows (4 points)
#
# **Think first:** what do rank 0 and rank p - 1 put where they have no neighbour?

# %% nbgrader={"grade": false, "grade_id": "split_conv", "locked": false, "schema_version": 3, "solution": true, "task": false}
def split_conv(x: torch.Tensor, weight: torch.Tensor, how: str) -> torch.Tensor:
    """Compute a convolution whose channels or rows are divided over the ranks.

    x: tensor (n, c, h, w), whole or this rank's part
    weight: tensor (o, c, k, k), whole or this rank's part, k odd and at least 3
    how: "C_out", "C_in" or "H", what is divided
    Returns: tensor, the whole output on every rank; for "H" this rank's rows of it

    - C_out: output channels: x is whole, weight holds this rank's output channels, as
      many on every rank. All links together carry no more than one all_gather of the
      outputs.
    - C_in: input channels: x and weight hold this rank's input channels. All links
      together carry no more than one all_reduce of the output.
    - H: rows: weight is whole, x holds this rank's rows, in the order of the ranks;
      ranks may hold different numbers of rows, at least k // 2. Neighbours send each
      other k // 2 rows; there are no other messages and no collectives.
    - all three: stride 1, zeros around the image ("same" size), no bias.
    - unchanged: x and weight.

    Example: p = 4, h = 12, k = 3, how = "H". Rank 1 has rows 3 to 5; it needs rows 2
    and 6, too.
    """
    ### BEGIN SOLUTION
    p, rank, reach = dist.get_world_size(), dist.get_rank(), weight.shape[-1] // 2
    if how == "C_out":
        mine = F.conv2d(x, weight, padding=reach)
        parts = [torch.empty_like(mine) for _ in range(p)]
        dist.all_gather(parts, mine)
        return torch.cat(parts, dim=1)
    if how == "C_in":
        y = F.conv2d(x, weight, padding=reach)
        dist.all_reduce(y)
        return y
    first, last = x[:, :, :reach].contiguous(), x[:, :, -reach:].contiguous()
    above, below = torch.zeros_like(first), torch.zeros_like(last)
    works = []
    if rank > 0:
        works += [dist.isend(first, rank - 1), dist.irecv(above, rank - 1)]
    if rank < p - 1:
        works += [dist.isend(last, rank + 1), dist.irecv(below, rank + 1)]
    for work in works:
        work.wait()
    return F.conv2d(torch.cat([above, x, below], dim=2), weight, padding=(0, reach))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_split_conv", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(split_conv)

# %% [markdown]
# Your second guess: 8 channels in and out, a 3 x 3 kernel, 4 ranks, and square images
# of growing size. The points are the bytes that your function sends over all links, the
# lines the least that each cut costs.

# %%
def one_convolution(how, side):
    split_conv(*given.image_parts(how, side), how)


COSTS = {  # numbers on all links
    "C_out": lambda side: 3 * 8 * side**2,
    "C_in": lambda side: 2 * 3 * 8 * side**2,
    "H": lambda side: 2 * 3 * 8 * side,
}

# %% alt="Bytes on all links over the side of the image, both axes logarithmic: three lines, with the bytes of your function as points on them. C_in is twice C_out, both grow with the area; H is far below them and grows half as steeply."
sides, sent = (8, 32, 128), {}
for how in COSTS:
    outcomes_of = [given.run(one_convolution, 4, (how, side)) for side in sides]
    if all(outcomes_of):
        sent[how] = [given.sent(outcome) for outcome in outcomes_of]
        print(f"{how:<6}", [f"{n:,}" for n in sent[how]])
costs = {how: [4 * cost(side) for side in sides] for how, cost in COSTS.items()}
divided.convolutions(sides, costs, sent);

# %% [markdown]
# Rows win, and the larger the image the more clearly: the outputs grow with its area,
# the halo only with its width. But every rank then holds all weights. Cutting by rows
# helps where *activations* do not fit, cutting by channels where *weights* do not.

# %% [markdown]
# ## Sequence parallelism · stretch
#
# "Columns, then rows" divides the work *inside* attention and MLP. Outside, in the
# norms and residual connections, every rank still holds all n tokens and computes the
# same as the others. This work can be divided by tokens, because a norm works on each
# token by itself. This is **sequence parallelism** (Korthikanti et al., 2022).
#
# Then f and g change. On the way in, each rank has n / p tokens and needs all: an
# *all_gather*. On the way out, the summands are added up and each rank keeps its own
# tokens: a *reduce_scatter*. Each is the other's backward pass. An all_reduce is a
# reduce_scatter followed by an all_gather (unit 03), so the activations cost no more
# bytes.
#
# ![Sequence parallelism around an MLP on two ranks. Outside, in norm and residual, each rank has half of the tokens, n/p times d. An all-gather gives every rank all tokens, n times d. Inside, the MLP is divided by its hidden activations; each rank ends with a summand of full size. A reduce-scatter adds up the summands and leaves each rank its half of the tokens. In the backward pass the two change places: an all-gather at the exit, a reduce-scatter at the entrance.](../../images/sequence_parallel.svg)
#
# This is the drawing of f and g with other collectives in the two strips at the bottom,
# and with half of the tokens at both ends.
#
# ### The same MLP with the tokens divided outside of it (3 points)
#
# **Think first:** `down_bias` is the same on all ranks, but each rank now adds it to
# its own tokens only. What about its gradient?

# %% nbgrader={"grade": false, "grade_id": "sequence_parallel_mlp", "locked": false, "schema_version": 3, "solution": true, "task": false}
class GatherTokens(torch.autograd.Function):
    """On the way in: gather the tokens of all ranks."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        whole = x.new_empty(dist.get_world_size() * len(x), x.shape[1])
        dist.all_gather_single(whole, x.contiguous())
        return whole
        ### END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        ### BEGIN SOLUTION
        mine = torch.empty_like(gradient.chunk(dist.get_world_size())[0])
        dist.reduce_scatter_single(mine, gradient.contiguous())
        return mine
        ### END SOLUTION


class ScatterTokens(torch.autograd.Function):
    """On the way out: add up over the ranks, and keep this rank's tokens."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        mine = torch.empty_like(x.chunk(dist.get_world_size())[0])
        dist.reduce_scatter_single(mine, x.contiguous())
        return mine
        ### END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        ### BEGIN SOLUTION
        shape = dist.get_world_size() * len(gradient), gradient.shape[1]
        whole = gradient.new_empty(shape)
        dist.all_gather_single(whole, gradient.contiguous())
        return whole
        ### END SOLUTION


def sequence_parallel_mlp(
    x: torch.Tensor,
    up: torch.Tensor,
    up_bias: torch.Tensor,
    down: torch.Tensor,
    down_bias: torch.Tensor,
) -> torch.Tensor:
    """Compute the MLP of `tp_mlp` for tokens that are divided over the ranks.

    x: tensor (n / p, d), this rank's tokens
    up, up_bias, down, down_bias: as in `tp_mlp`
    Returns: tensor (n / p, d), the output for these tokens

    - the output: that of `tp_mlp` for this rank's tokens.
    - all gradients: each rank calls `.backward` with the gradient of its tokens. Then
      every argument's gradient is added to its .grad: for x that of these tokens, for
      down_bias the whole gradient, for the others that of this rank's part.
    - messages: all links together carry no more bytes than an all_gather and a
      reduce_scatter of n d numbers forward, the same backward, and one all_reduce of d
      numbers.

    Example: p = 2, n = 6. Rank 0 gets tokens 0 to 2 and returns their output, rank 1
    does so for tokens 3 to 5.
    """
    ### BEGIN SOLUTION
    hidden = F.gelu(F.linear(GatherTokens.apply(x), up, up_bias))
    return ScatterTokens.apply(F.linear(hidden, down)) + CopyIn.apply(down_bias)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_sequence_parallel_mlp", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(sequence_parallel_mlp)

# %%
def one_norm_and_mlp(name, n):
    """Run a norm and an MLP of n tokens; return the bytes that the norm keeps."""
    x, weights = given.mlp_parts(n, 32, 128)
    y, kept = given.normed(x)
    layer = tp_mlp if name == "tp_mlp" else sequence_parallel_mlp
    layer(y, *weights).sum().backward()
    return kept


for layer, n in (("tp_mlp", 64), ("sequence_parallel_mlp", 16)):
    outcome = given.run(one_norm_and_mlp, 4, (layer, n))
    if outcome:
        print(f"{layer:<22} {n} tokens outside: the norm keeps "
              f"{outcome.ranks[0].value:,} bytes, on all links "
              f"{given.sent(outcome):,} bytes")  # fmt: skip

# %% [markdown]
# On 4 ranks the norm keeps a quarter of the bytes. The links carry as many as before,
# and one all_reduce of d numbers more, for the bias gradient.
#
# One tensor is still whole on every rank: the input of `up`, which is kept for the
# gradient of its weight. Korthikanti et al. (section 4.2.2) keep only the rank's own
# tokens of it, and gather the others once more in the backward pass. Then a whole block
# of width h keeps $34\,s\,b\,h / t$ bytes on each of t ranks (s tokens, b sequences),
# not counting the attention scores. The price is a third all_gather, a quarter more
# bytes on the links, sent while the rank computes. Unit 20 counts the memory this way,
# but not the bytes of this third all_gather.

# %% [markdown]
# ## Model parallelism in 2019: "all-to-all communication of outputs"
#
# A 2019 slide names the price of model parallelism (B. Nelson, *Distributed Deep
# Learning*, CentOS Dojo at Oak Ridge): "fully connected layers require all-to-all
# communication of outputs to next layer". It adds "Not used that much nowadays". Today
# many of the largest dense models are trained with tensor parallelism, Llama 3 in
# groups of 8 ranks. Others avoid it: DeepSeek-V3 was trained "without using costly
# tensor parallelism" (arXiv 2412.19437, section 1). Is the slide right about the
# communication? Layer by layer, as in your `column_linear`, every rank needs all
# outputs of all others before the next layer can begin. Count the bytes that an MLP of
# hidden width 4 d sends forward, layer by layer and as columns, then rows:

# %%
def layer_by_layer(n, d):
    hidden = column_linear(torch.ones(n, d), torch.ones(4 * d, d), torch.ones(4 * d))
    column_linear(F.gelu(hidden), torch.ones(d, 4 * d), torch.ones(d))


def as_a_pair(n, d):
    x, weights = given.mlp_parts(n, d, 4 * d)
    tp_mlp(x, *weights)


for way in (layer_by_layer, as_a_pair):
    outcome = given.run(way, 4, (64, 32))
    if outcome:
        calls = outcome.ranks[0].collectives
        print(f"{way.__name__:<16}{calls}: {given.sent(outcome):>7,} bytes")

# %% [markdown]
# The slide is right about layers one by one: they send $(p - 1) (4 n d + n d)$ numbers.
# A pair sends $2 (p - 1) n d$, a factor of 2.5 less, in one collective instead of two;
# and this does not grow with the hidden width. Cutting one layer was not new;
# Megatron-LM's idea was to look at two layers together.

# %% [markdown]
# ## Bandwidth: why it stays within a node
#
# A block has four all_reduces, and the next product cannot begin before the sum is
# there. So the links decide. Here is a network of two nodes as in a small cluster, with
# 300 GB/s for each rank inside a node and one network card of 100 Gbit/s for each node:

# %% alt="Eight ranks as two boxes of four. A word inside each box says what its links cost, a word between the boxes what the links between the nodes cost."
simulation.draw("nodes of 4", 8)

# %% [markdown]
# In the next cells our small model stands for one of width 4096 with 2,048 tokens in
# bfloat16: each byte counts as 1,024 bytes (32 times the tokens, 128 times the width, 2
# bytes in place of 8) and each operation as 524,288, on devices assumed to do
# $3 \cdot 10^{14}$ operations per second. The values are computed as before; only the
# clock is different. (`given.blocks_of` is such a network. `given.charged_step` divides
# a new model with the function that it gets, puts its matrix products on the clock, and
# takes one step.)

# %%
def charged_step():
    given.charged_step(divide)

# %% alt="Six bars of a step's virtual time, made of computing and waiting for sums: 1, 2, 4 and 8 ranks of one node, 8 ranks of two nodes, and the same with 8 network cards for each node. Inside a node more ranks are faster; the bar of two nodes, nearly all of it waiting, is longer than that of one rank; with 8 cards it is much shorter, and still longer than that of one node."
places = [(1, 8), (2, 8), (4, 8), (8, 8), (8, 4), (8, 4, 8)]  # ranks, in a node, cards
steps = {
    place: given.run(charged_step, place[0], topology=given.blocks_of(*place[1:]))
    for place in places
}
if all(steps.values()):
    divided.steps(steps)
    slower = steps[8, 4].elapsed / steps[8, 8].elapsed
    print(f"8 ranks: two nodes take {slower:.1f} times as long as one; your guess: "
          f"{guess_3}")  # fmt: skip

# %% [markdown]
# Inside a node, twice the ranks take 53 to 62 % of the time. Across two nodes the same
# 8 ranks are slower than *one rank alone*: every sum goes through one card, 96 times
# slower than the links of a node's four ranks together. The last bar has the network of
# a large machine: 8 cards in a node, two for each rank. Together they are 12 times
# slower than the node's links, as on Selene, the machine of Narayanan et al. (one card
# of 200 Gbit/s for each GPU). On such a network 8 ranks are about as fast as the 4 of
# one node. Hence their "Takeaway #1" (section 3.2): tensor parallelism "should
# generally be used up to degree g when using g-GPU servers"; beyond the server, go on
# with a pipeline (unit 17).
#
# The limit is not the node itself but the reach of the fast links. Their servers have 8
# GPUs; in an NVL72 rack 72 GPUs are one domain of NVLink, NVIDIA's fast links between
# GPUs.

# %% [markdown]
# ## DTensor: PyTorch does the same
#
# PyTorch can make the weights of a layer *DTensors*: tensors that know which ranks hold
# their parts. `parallelize_module` takes a plan, a cut for each layer by its name, and
# adds f and g for you.

# %%
def by_plan(model, one_f=False):
    """Divide the blocks of a gpt by torch. one_f: one f for q, k and v, see below."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plan = {path: parallel.ColwiseParallel() for path in COLUMNS}
    plan |= {path: parallel.RowwiseParallel() for path in ROWS}
    if one_f:
        whole = Replicate()
        plan["attention"] = parallel.PrepareModuleInput(
            input_layouts=(whole,), desired_input_layouts=(whole,)
        )
    for name, block in model.named_children():
        if name.startswith("block"):  # all ranks hold equal weights: nothing is sent
            parallel.parallelize_module(block, mesh, plan, src_data_rank=None)

# %%
def library_step():
    """Return the loss, and the whole gradients by name."""
    model = given.new_model()
    by_plan(model)
    return given.loss_and_gradients(model)


outcome = simulation.run(library_step, 4)
worst = given.furthest(outcome, whole)
print(f"4 ranks: loss {outcome.ranks[0].value[0]:.12f}, "
      f"largest difference of a gradient {worst:.0e}")  # fmt: skip

# %% [markdown]
# The loss and the gradients equal yours, and the sequential ones. Now both steps on the
# clock, one above the other:

# %% alt="Space-time diagrams of four ranks, by hand and by torch's plan, one below the other. Both take turns of computing and sums; torch's plan has more sums in the backward pass."
def charged_plan(one_f):
    given.charged_step(lambda model: by_plan(model, one_f))


network = given.blocks_of(4)
drawn = {
    "by hand": given.run(charged_step, 4, topology=network),
    "torch's plan": given.run(charged_plan, 4, (False,), topology=network),
}
divided.diagrams(drawn)

# %% [markdown]
# The library calls *more* all_reduces in the backward pass. It gives each of `q`, `k`
# and `v` an f of its own, so three gradients of x are summed over the ranks one by one;
# yours are added up on the rank first, and sent once. The remedy is to tell the library
# where f belongs: `PrepareModuleInput` makes x a DTensor in front of the attention, and
# then its three gradients are added up before they are sent.

# %%
better = simulation.run(charged_plan, 4, (True,), topology=network)
print(f"{better.ranks[0].collectives.count('all_reduce')} all_reduces, "
      f"{better.elapsed * 1e3:.2f} ms")  # fmt: skip

# %% [markdown]
# ## Break it
#
# Between columns and rows nothing is sent. Somebody wants the same after a cut by
# *rows*: cut the inputs of `up`, apply GELU to each rank's summand, and add up at the
# very end, after `down`. All shapes fit, and forward there is one all_reduce in both
# cases.
#
# The network is a very simple language model: one MLP predicts the next character from
# the vectors of the 8 before it. (In one process this is `given.Reader`;
# `given.train_reader` trains it.) **Before you run it:** will it train?

# %%
def read(model, tokens, too_late):
    """Run a `given.Reader` whose MLP is cut by the inputs of `up`. The sum comes before
    GELU, as it must, or too late, after `down`.
    """
    p, rank, f = dist.get_world_size(), dist.get_rank(), CopyIn.apply
    x = model.vectors(tokens).flatten(1)
    mine, weight = f(x).chunk(p, -1)[rank], f(model.up.weight).chunk(p, 1)[rank]
    part = F.linear(mine, weight)
    if not too_late:
        return model.down(F.gelu(SumOut.apply(part) + model.up.bias))
    hidden = F.gelu(part + f(model.up.bias) / p)  # GELU of a summand
    return SumOut.apply(F.linear(hidden, f(model.down.weight))) + model.down.bias

# %%
def train(too_late, steps):
    """Return the losses of the training, and on other text, on ranks and alone."""
    return given.train_reader(lambda model, x: read(model, x, too_late), steps)

# %% tags=["parameters"]
STEPS = 300

# %% alt="The loss over the steps of two trainings, sum before GELU and sum too late: both fall, and the two curves lie close together."
moments = {"sum before GELU": False, "sum too late": True}
trained = {name: given.run(train, 2, (late, STEPS)) for name, late in moments.items()}
if all(trained.values()):
    print(f"{'loss on other text':<20}{'on 2 ranks':>12}{'in one process':>16}")
    for name, outcome in trained.items():
        _, on_ranks, alone = outcome.ranks[0].value
        print(f"{name:<20}{on_ranks:>12.2f}{alone:>16.2f}")
    divided.trainings({name: run.ranks[0].value[0] for name, run in trained.items()})

# %% [markdown]
# It trains, and the curves show nothing wrong; the wrong one may even be lower. But it
# is *another network*: GELU of a sum is not the sum of GELUs. Its weights are good only
# on these 2 ranks. Copied into the same model on one device they are far worse. No
# curve shows this, only a comparison with the sequential model, made once, in float64,
# before you train. All checks of this page do that.

# %% [markdown]
# ## What to remember
#
# - **By columns** each rank computes some outputs: all_gather. **By rows** each
#   computes a summand: all_reduce, the bias once, and no GELU before the sum.
# - **Columns, then rows**: nothing is sent in between. f (forward nothing, backward a
#   sum) comes before, g (the other way round) after: an all_reduce of n d numbers each
#   way, whatever the hidden width.
# - Heads are groups of columns. If p does not divide their number, raise an error.
# - Logits stay divided: the ranks exchange only the maximum, the sum and the target's
#   logit, 3 n numbers.
# - A convolution cut by rows of the image sends only the halo. Sequence parallelism
#   divides norms and residuals by tokens, for hardly more bytes.
# - All ranks wait for four all_reduces in every block, so tensor parallelism pays off
#   only as far as the fast links reach: a node, or a rack that is one NVLink domain.
#
# **To think about.** Dropout inside the MLP must be different on each rank, and dropout
# after the sum must be the same on all. Why? What would you do with the seeds?

# %% [markdown]
# ## Deeper: ring attention
#
# For a very long text even the tokens *inside* attention have to be divided. Each rank
# keeps the queries of its tokens. Keys and values travel round the ring in blocks, and
# each rank works on the block that it has at the moment. The softmax over several
# blocks needs care: keep the largest score so far, the sum of exponentials and the sum
# of weighted values; when a larger score comes, scale both sums down.
#
# ![Ring attention on four ranks. Keys and values travel round the ring, from rank 0 to 1, 2, 3 and back to 0. A table shows which block each rank has in steps 0 to 3, beside its own queries: rank 0 has blocks 0, 3, 2, 1, rank 1 blocks 1, 0, 3, 2, rank 2 blocks 2, 1, 0, 3, rank 3 blocks 3, 2, 1, 0. With a causal mask rank 0 has nothing to compute after step 0, rank 1 works in two steps, rank 2 in three, rank 3 in all four.](../../images/ring_attention.svg)
#
# The queries stay, and after four steps every rank has seen all keys and values.
#
# ### Bonus: ring attention (3 points)

# %% nbgrader={"grade": false, "grade_id": "ring_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ring_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> torch.Tensor:
    """Compute attention of one head over tokens that are divided over the ranks.

    q, k, v: tensors (m, d), this rank's m of the p m tokens, in the order of the ranks
    causal: bool, whether later tokens are hidden
    Returns: tensor (m, d), the output for this rank's tokens

    - every token sees all: if causal is False. Scores are divided by the square root of
      d.
    - causal: if True, a token sees itself and those before it.
    - large scores: they may be far above or far below zero.
    - messages: each rank sends to one neighbour only, always the same: at most p - 1
      blocks of keys and as many of values, together or apart. There are no collectives.
    - unchanged: q, k and v.

    Example: p = 3, m = 2. Rank 1 has tokens 2 and 3, and sends at most two blocks of
    keys.
    """
    ### BEGIN SOLUTION
    p, rank, m = dist.get_world_size(), dist.get_rank(), len(q)
    block = torch.stack([k, v])
    top = torch.full((m, 1), -torch.inf, dtype=q.dtype)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for step in range(p):
        if step < p - 1:
            coming = torch.empty_like(block)
            works = [dist.isend(block, (rank + 1) % p)]
            works += [dist.irecv(coming, (rank - 1) % p)]
        owner = (rank - step) % p
        if not causal or owner <= rank:
            scores = q @ block[0].T / math.sqrt(q.shape[1])
            if causal and owner == rank:
                later = torch.ones(m, m, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(later, -torch.inf)
            new = torch.maximum(top, scores.amax(1, keepdim=True))
            weights, old = (scores - new).exp(), (top - new).exp()
            total = total * old + weights.sum(1, keepdim=True)
            out, top = out * old + weights @ block[1], new
        if step < p - 1:
            for work in works:
                work.wait()
            block = coming
    return out / total
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_ring_attention", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(ring_attention)

# %% [markdown]
# With a causal mask the ranks have different amounts of work: the first tokens see few
# others, the last ones all. **Zigzag** gives each rank one piece from the front of the
# text and one from the back. `given.pairs_on_a_ring` counts pairs of query and key,
# charges a nanosecond for each, and sends blocks like your function.

# %%
def tokens_of(rank, p, n, zigzag):
    """Return the indices of the tokens that a rank keeps."""
    pieces = np.split(np.arange(n), 2 * p)
    mine = (rank, 2 * p - 1 - rank) if zigzag else (2 * rank, 2 * rank + 1)
    return np.concatenate([pieces[k] for k in mine])

# %%
def ring_of_work(n, zigzag):
    """Return the number of pairs that this rank works on."""
    return given.pairs_on_a_ring(lambda rank, p: tokens_of(rank, p, n, zigzag))

# %% alt="Two space-time diagrams of four ranks. Contiguous: rank 0 computes little and the last rank all the time. Zigzag: all ranks compute about equally long."
drawn = {}
for name, zigzag in (("contiguous", False), ("zigzag", True)):
    outcome = simulation.run(ring_of_work, 4, (64, zigzag), alpha=1e-9, beta=1e-13)
    pairs = [rank.value for rank in outcome.ranks]
    ideal = 1e-9 * sum(pairs) / 4
    print(f"{name:<11} pairs {pairs}, {outcome.elapsed / ideal:.2f} times the ideal")
    drawn[f"{name}: pairs {pairs}"] = outcome
charts.diagrams(drawn, 4)

# %% [markdown]
# ## Deeper: Ulysses
#
# Another way to divide attention over a long text (Jacobs et al., *DeepSpeed Ulysses*,
# 2023): each rank has some tokens with *all* heads. One `all_to_all` for each of q, k
# and v turns this into *all* tokens with *some* heads. Each rank then computes
# attention for its heads alone, and a fourth all_to_all turns the output back. Forward
# only:

# %%
def turned(x, over):
    """Cut x along dimension `over` into p pieces, exchange them by all_to_all, and join
    the received pieces along the other dimension (0: heads, 1: tokens).
    """
    p = dist.get_world_size()
    pieces = [piece.contiguous() for piece in x.chunk(p, over)]
    arrived = [torch.empty_like(piece) for piece in pieces]
    dist.all_to_all(arrived, pieces)
    return torch.cat(arrived, 1 - over)


def ulysses(q, k, v):
    """(heads, s / p, d) each -> the same, causal attention over all s tokens."""
    q, k, v = (turned(t, over=0) for t in (q, k, v))  # now (heads / p, s, d)
    return turned(F.scaled_dot_product_attention(q, k, v, is_causal=True), over=1)


qkv, right = given.attention_of(heads=4, tokens=64)
outcome = simulation.run(ulysses, 4, [tuple(part) for part in qkv.chunk(4, 2)])
found = torch.cat([given.number(rank.value) for rank in outcome.ranks], 1)
worst = float((found - right).abs().max())
print(f"{outcome.ranks[0].collectives}, largest difference {worst:.0e}")

# %% [markdown]
# ## Deeper: experts
#
# In a *mixture of experts* each token goes through one of several MLPs, the experts,
# and each rank holds one of them. Tokens are sent to their expert and back: two
# `all_to_all` whose pieces have different sizes, so the sizes are sent first. If all
# tokens want the same expert, one rank works and the others wait. The remedy is a
# limit: each rank sends an expert at most `capacity` tokens, and the tokens left out
# pass through unchanged.

# %%
def experts(n, d, capacity):
    """Return how many tokens arrive and how many are left out; half want expert 0."""
    x, wanted, chosen = given.tokens_for_experts(n, d, capacity)
    order, sizes = torch.cat(chosen), torch.tensor([len(one) for one in chosen])
    coming = torch.empty_like(sizes)
    dist.all_to_all_single(coming, sizes)

    here = x.new_empty(int(coming.sum()), d)
    dist.all_to_all_single(here, x[order], coming.tolist(), sizes.tolist())
    here = given.expert(here)
    back = torch.empty_like(x[order])
    dist.all_to_all_single(back, here, sizes.tolist(), coming.tolist())
    y = x.clone()
    y[order] = back
    assert torch.equal(y[order], x[order] * (wanted[order] + 2)[:, None])
    return len(here), n - len(order)

# %%
for capacity in (32, 10):
    outcome = simulation.run(experts, 4, (32, 8, capacity))
    arrived, left = zip(*(rank.value for rank in outcome.ranks))
    print(f"capacity {capacity}: tokens per expert {arrived}, left out {sum(left)} of "
          f"128, {outcome.elapsed * 1e6:.0f} µs")  # fmt: skip

# %% [markdown]
# ### To read
#
# - M. Shoeybi et al., *Megatron-LM: Training Multi-Billion Parameter Language Models
#   Using Model Parallelism*, 2019: f, g, and the loss of logits divided by the
#   vocabulary.
# - D. Narayanan et al., *Efficient Large-Scale Language Model Training on GPU Clusters
#   Using Megatron-LM*, 2021: how tensor, pipeline and data parallelism fit together.
# - V. Korthikanti et al., *Reducing Activation Recomputation in Large Transformer
#   Models*, 2022: sequence parallelism.
# - H. Liu, M. Zaharia, P. Abbeel, *Ring Attention with Blockwise Transformers for
#   Near-Infinite Context*, 2023.
