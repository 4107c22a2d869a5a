# %% [markdown]
# # 11 · Large batches
#
# Data parallelism makes batches larger: p ranks with b samples each make one batch of
# p b samples. The gradients are right, as unit 05 showed; the *training* need not be.
# How long may a step be? How many samples are worth averaging? How does batch norm,
# which needs the whole batch, work over several ranks? And who validates while all the
# others compute? An IBM talk on distributed deep learning (B. Nelson, 2019) lists
# exactly these under "technical considerations": batch size, learning rate, batch
# normalization, on-the-fly validation. None of them raises an error when it goes wrong.
#
# **At the end of this page** you have found where the linear scaling rule fails,
# measured a noise scale while training and predicted a batch size from it, written a
# batch norm over all ranks, forward and backward, and validated without making any rank
# wait.
#
# **You need** units 05 and 06. **It takes** about 105 minutes, the *stretch* 85
# more: two sittings. The cells themselves run for less than a minute on two cores. They
# take about 1.6 GB of memory.

# %%
import copy
import itertools
import math

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from autograder import check
from labkit import simulation, training
from labkit.lessons import large_batches
from labkit.plots import charts

torch.set_num_threads(1)  # for so small a network a second thread only gets in the way

# %% [markdown]
# ## Guess first
#
# 1. A model learns well with batches of 32 and a learning rate of 0.12. With 8 times
#    the ranks you have batches of 256. Which rate do you use?
# 2. Do batches of 512 need 16 times fewer steps than batches of 32 to reach the same
#    accuracy?
# 3. If batch norm uses the samples of all ranks, a step of ResNet-50 sends more than
#    its gradients. How much more: a thousandth, a hundredth, as much again?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Run: one rate for all batches
#
# A small network learns digits in one process: a batch of p b samples has the same
# gradient there as on p ranks. For every line of the output each sample is used ten
# times; only the batch differs, so larger batches mean fewer steps.
# `learn(batch, rate, ...)` trains a new network by plain SGD for a number of epochs or
# steps, or until an accuracy is reached. It returns network, accuracy and steps.
#
# (You need not read the functions of `large_batches`. They are in
# `labkit/lessons/large_batches.py`, and `help(large_batches)` describes them.)

# %% tags=["parameters"]
IMAGES, EPOCHS = 8192, 10

# %%
x, y = training.load_tensors("digits", n=IMAGES)
test_x, test_y = training.load_tensors("digits", train=False, n=1000)
learn = large_batches.Learner(x, y, test_x, test_y)

for batch in (32, 128, 256):
    _, accuracy, steps = learn(batch, 0.12, EPOCHS)
    print(f"batch {batch:4}, rate 0.12: {steps:5} steps, accuracy {accuracy:.3f}")

# %% [markdown]
# With the same samples, the same rate and fewer steps the network learns less. Its
# steps have not grown, but their direction is more certain. So make them longer.
#
# ## Build: the learning rate
#
# Goyal et al. (2017, arXiv 1706.02677) trained with batches of up to 8192 images by one
# rule, the **linear scaling rule**: "When the minibatch size is multiplied by k,
# multiply the learning rate by k." The reason is short. k steps of rate $\eta$ with
# batches of n move the weights by about $\eta$ times the sum of k gradients, if the
# weights do not move much meanwhile. One step with a batch of k n uses the mean of
# these gradients, so its rate must be k times as large.
#
# ![Gradient descent on two curves of the loss, with 4 short steps of rate η and with 1 long step of rate 4 η. Left, where the slope hardly changes, the long step ends close to where the 4 short steps do. Right, in a narrow valley whose slope changes within a step, the short steps end near the lowest point; the long one jumps to the other side of the valley, higher than it began.](../../images/long_and_short_steps.svg)
#
# The "if" holds in the left picture: the gradient hardly changes on the way, so one
# long step does the same as k short ones. It does not hold at the beginning of
# training, when weights move fast. So Goyal et al. add a **warm-up**, which raises the
# rate in equal increments from that of the small batch to that of the large one.
#
# ### The learning rate of a large batch (3 points)
#
# After the warm-up the rate falls to zero along half a cosine:
# $\text{peak}\cdot(1 + \cos(\pi s))/2$, where $s$ goes from 0, at step `warmup_steps`,
# towards 1, at step `steps`.
#
# ![The learning rate over the steps. At step 0 it is the base rate. During the warm-up it rises along a straight line to k times the base rate, at step warmup_steps, where s is 0. From there it falls along half a cosine to zero at step steps, where s is 1.](../../images/warm_up.svg)

# %% nbgrader={"grade": false, "grade_id": "scaled_rate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaled_rate(
    step: int,
    base_rate: float,
    base_batch: int,
    batch: int,
    warmup_steps: int,
    steps: int,
) -> float:
    """Return the learning rate of one step for a large batch.

    step: int, the step, from 0
    base_rate: float, the right rate for base_batch
    base_batch: int, samples of the small batch
    batch: int, samples of this batch
    warmup_steps: int, steps of the warm-up
    steps: int, number of steps
    Returns: float

    - the linear rule, with warm-up: the peak follows from the linear scaling rule. Step
      0 has base_rate, step warmup_steps the peak, and between them the rate grows by
      the same amount in each step. If warmup_steps is 0, step 0 has the peak; if
      warmup_steps equals steps, no step has it.
    - down to zero: from warmup_steps on the rate falls along half a cosine, which would
      be zero at step `steps`.
    - illegal steps: raise ValueError unless 0 <= step < steps and 0 <= warmup_steps <=
      steps.

    Example: scaled_rate(1, 0.1, 32, 128, 2, 10) == 0.25
    """
    ### BEGIN SOLUTION
    if not (0 <= step < steps and 0 <= warmup_steps <= steps):
        raise ValueError(f"step {step} of {steps}, {warmup_steps} of them warm-up")
    peak = base_rate * batch / base_batch
    if step < warmup_steps:
        return base_rate + (peak - base_rate) * step / warmup_steps
    share = (step - warmup_steps) / (steps - warmup_steps)
    return peak * (1 + math.cos(math.pi * share)) / 2
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_scaled_rate", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(scaled_rate)

# %% tags=["raises-exception"] alt="Learning rate over the epochs for batches of 32, 128 and 256: each rises during the warm-up to a height that grows with the batch, and then falls to zero."
curves = {}
for k, look in ((1, "blue -"), (4, "orange --"), (8, "green -.")):
    steps = 2560 // k
    rates = [scaled_rate(s, 0.12, 32, 32 * k, 512 // k, steps) for s in range(steps)]
    curves[f"batch {32 * k}"] = np.arange(steps) * k / 256, rates, look
words = {"xlabel": "epochs", "ylabel": "learning rate", "ylim": (0, 1.1)}
charts.lines(curves, size=(5.6, 3), **words);

# %% [markdown]
# ## Break: where the linear scaling rule fails
#
# The rule has a condition: the weights must not move much in k small steps. The next
# cell tests it, with a constant rate after the warm-up:

# %% tags=["raises-exception"]
def warmed(k, warmup_steps):
    """The rate of batches of 32 k: the warm-up of `scaled_rate`, then its peak."""
    high = 0.12 * k
    return lambda step: (
        scaled_rate(step, 0.12, 32, 32 * k, warmup_steps, warmup_steps + 1)
        if step < warmup_steps
        else high
    )


for k, warmup in ((1, 0), (4, 0), (8, 0), (8, 64), (8, 160)):
    _, accuracy, _ = learn(32 * k, warmed(k, warmup), EPOCHS)
    print(f"batch {32 * k:4}, rate {0.12 * k:.2f}, {warmup:3} steps of warm-up: "
          f"accuracy {accuracy:.3f}")  # fmt: skip
print(f"your first guess: {guess_1}")

# %% [markdown]
# Four times the batch with four times the rate learns as well as the small batch, as
# promised. Eight times does not: there is no error message, but the network hardly
# learns. Neither warm-up rescues it: a warm-up helps if the rate is too large only at
# the *beginning*; here it always is.
#
# So the rule tells you which rate to try first. It does not tell you up to which batch
# it holds.
#
# ## Build: gradient accumulation
#
# To try the batch of 8 ranks on 2, compute it in micro-batches and add up their
# gradients (unit 06). There all micro-batches had the same size. In practice sizes
# differ: at the end of an epoch, with sequences of different lengths, after samples
# were filtered out. Then "the mean of the means" is a different loss.
#
# ### Accumulating uneven micro-batches (5 points)
#
# The loss of the batch is the mean of `(ddp(x) - y) ** 2` over its n rows, on all ranks
# together. DDP always takes the plain mean of the ranks' gradients.

# %% nbgrader={"grade": false, "grade_id": "accumulate_uneven", "locked": false, "schema_version": 3, "solution": true, "task": false}
def accumulate_uneven(ddp, micro_batches, n):
    """Compute the gradient of the mean squared error over all rows of all ranks.

    ddp: a DistributedDataParallel; ddp(x) has the shape of y, (rows,)
    micro_batches: list of pairs (x, y), this rank's, at least one, of different sizes,
        perhaps without rows
    n: int, rows of all ranks together
    Changes: the gradients of ddp's parameters, which are None at first

    - every row weighs the same: afterwards every rank has the gradient of the mean over
      all n rows.
    - one synchronisation, one micro-batch at a time: the model gets one micro-batch at
      a time, and its backward pass comes before the next one. Each gradient is
      synchronised once, by DDP or by you. Make no optimizer step.
    - a rank without rows: some micro-batches, or all, may be empty; you may skip them.

    Example: 3 rows on rank 0 and 1 on rank 1: each row has the weight 1/4.
    """
    ### BEGIN SOLUTION
    weight = dist.get_world_size() / n
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            (((ddp(x) - y) ** 2).sum() * weight).backward()
    x, y = micro_batches[-1]
    (((ddp(x) - y) ** 2).sum() * weight).backward()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_accumulate_uneven", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(accumulate_uneven)

# %% tags=["raises-exception"]
def synchronises_always(ddp, micro_batches, n):
    for rows, targets in micro_batches:
        loss = ((ddp(rows) - targets) ** 2).sum() * dist.get_world_size() / n
        loss.backward()

# %% tags=["raises-exception"] alt="Two space-time diagrams of two ranks with four micro-batches. Synchronised four times, every backward pass ends in an all-reduce; synchronised once, only the last one does, and the step is shorter."
def accumulated(always):
    batches = large_batches.uneven_batches()
    ddp = DistributedDataParallel(large_batches.Charged())
    how = synchronises_always if always else accumulate_uneven
    how(ddp, batches, 20)
    return ddp.module.weight.grad[:1000].numpy()


ran, gradients = {}, []
for title, always in {"synchronised four times": True, "once": False}.items():
    one = simulation.run(accumulated, 2, (always,), alpha=2e-5, beta=2e-9)
    gradients.append(one.ranks[0].value)
    ran[f"{title}: {one.elapsed * 1e3:.2f} ms"] = one
charts.diagrams(ran, 2)
different = np.abs(gradients[0] - gradients[1]).max()
print(f"largest difference of the gradients: {different:.1e}")

# %% [markdown]
# ## Build: layer-wise rates (LARS) · stretch
#
# At 8 times the batch the step was too long for some layer. This depends on the layer:
# an update of norm 1 destroys weights of norm 1, and hardly changes those of norm 100.
# **LARS** and **LAMB** therefore give every layer a rate of its own. With $w$ the
# layer's weights, $u$ its update,
#
# $$w \leftarrow w - \eta \cdot \text{trust} \cdot \frac{\|w\|}{\|u\|} \, u .$$
#
# In LARS $u$ is the gradient (with momentum and weight decay), in LAMB it is what Adam
# would subtract (You et al. 2020, arXiv 1904.00962). In both, each layer moves by the
# same fraction of the norm of its weights. Biases and the scales of norm layers are
# left out: they begin at zero or one, and their norm has no meaning.
#
# ### A step as long as the layer can bear (4 points)
#
# If layers are sharded, as in unit 15, no rank holds a whole one. The norm of a layer
# is then the root of a sum over ranks, and all norms fit into one collective.

# %% nbgrader={"grade": false, "grade_id": "trust_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def trust_step(shards, updates, adapt, lr, trust):
    """Make one step with layer-wise rates on sharded tensors.

    shards: list of float64 tensors, this rank's shards of the tensors w,
        one-dimensional, perhaps empty
    updates: list of tensors, this rank's shards of the updates u
    adapt: list of bools, one for each tensor
    lr: float, learning rate
    trust: float, trust coefficient
    Changes: shards, in place: w -= lr * factor * u

    - whole tensors: factor = trust * |w| / |u| where adapt is True.
    - biases, and zeros: the factor is 1 where adapt is False or one of the norms is 0.
    - shards, one collective: the norms are those of the whole tensors. At most one
      collective, of at most two elements for each tensor.
    - unchanged: updates.

    Example: w = [3, 4], u = [1, 0], lr = 1, trust = 0.1: the factor is 0.5, w = [2.5,
    4].
    """
    ### BEGIN SOLUTION
    squares = [(one**2).sum() for one in [*shards, *updates]]
    squares = torch.stack(squares)
    dist.all_reduce(squares)
    norms_w, norms_u = squares.sqrt().chunk(2)
    for w, u, adapted, of_w, of_u in zip(shards, updates, adapt, norms_w, norms_u):
        adapted = adapted and of_w > 0 and of_u > 0
        factor = float(trust * of_w / of_u) if adapted else 1.0
        w.sub_(lr * factor * u)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_trust_step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(trust_step)

# %% tags=["raises-exception"]
def one_step(pieces, how):
    """Make one step on this rank's pieces of two layers. LARS: u is the gradient. LAMB:
    u is that of Adam's first step.
    """
    mine, update = large_batches.two_layers(pieces, how)
    trust_step(mine, update, [True, True], 0.1, 0.02 if how == "LARS" else 1.0)
    return [one.tolist() for one in mine]


for how in ("LARS", "LAMB"):
    one = simulation.run(one_step, 1, (1, how)).ranks[0].value
    three = [rank.value for rank in simulation.run(one_step, 3, (3, how)).ranks]
    differ = large_batches.furthest(one, three)
    print(f"{how}: 3 ranks with a third of each layer, largest difference {differ:.0e}")

# %% tags=["raises-exception"]
def lars(model):
    for w in model.parameters():
        if w.dim() > 1:
            w.grad *= 0.02 * w.detach().norm() / (w.grad.norm() + 1e-12)


for k, change, name in ((8, None, "SGD"), (8, lars, "LARS"), (16, lars, "LARS")):
    _, accuracy, _ = learn(32 * k, warmed(k, 160 // k), EPOCHS, change=change)
    print(f"batch {32 * k}, rate {0.12 * k:.2f}, {name:4}: accuracy {accuracy:.3f}")

# %% [markdown]
# LARS learns at a rate at which SGD does not: no layer can move far in one step. That
# does not make it better. Compare with batch 256 at rate 0.12 in *Run*, and with Nado
# et al. on the problems for which LARS and LAMB were made (2021, arXiv 2102.06356,
# abstract): "standard optimization algorithms such as Nesterov momentum and Adam can
# match or exceed the results of LARS and LAMB at large batch sizes."

# %% [markdown]
# ## Half-time
#
# A larger batch needs a larger rate and a warm-up, and beyond some batch both fail.
# Gradients add up over micro-batches of any size if every row counts the same. This is
# a good place for a break: next you measure how large a useful batch is.

# %% [markdown]
# ## Build: the gradient noise scale
#
# Averaging more samples makes the direction of a step more certain, up to a point. Let
# $G$ be the true gradient and $S$ the noise of one sample, the sum of the variances of
# all components. The gradient $g$ of $B$ samples then has
#
# $$E|g|^2 = |G|^2 + S / B .$$
#
# The two parts are equally large at $B = S / |G|^2$: the **noise scale** (in McCandlish
# et al. 2018, arXiv 1812.06162, the "simple" one).
#
# ![Gradients of many batches as arrows from one point, with the true gradient G as a thick black arrow; a circle around the end of G shows their noise, the root of S / B. With a batch of a quarter of the noise scale the circle's radius is twice as long as G and the arrows point in all directions. With the noise scale it is as long as G. With 16 times the noise scale it is a quarter of G, and all arrows nearly agree with G.](../../images/gradient_noise.svg)
#
# In the left drawing twice the batch makes a step worth 1.7 times as much (formula
# below); in the right one it adds hardly anything. The paper's abstract: the noise
# scale "predicts the largest useful batch size across many domains".
#
# To measure it you need $|g|^2$ for two batch sizes. A data-parallel step has both:
# each rank's own gradient, of b samples, and their mean, of p b samples. The two
# equations give
#
# $$|G|^2 = \frac{B\,|g_B|^2 - b\,|g_b|^2}{B - b}, \qquad
# S = \frac{|g_b|^2 - |g_B|^2}{1/b - 1/B}, \qquad B = p\,b,$$
#
# where $|g_b|^2$ is the mean over the ranks.
#
# ### The noise scale, on the way (5 points)
#
# The gradients are averaged anyway. Send one number more.

# %% nbgrader={"grade": false, "grade_id": "noise_scale", "locked": false, "schema_version": 3, "solution": true, "task": false}
def noise_scale(gradient, b):
    """Return the mean gradient of all ranks and the noise scale S / |G|^2.

    gradient: float64 tensor (n,), this rank's, the mean over its samples
    b: int, samples of each rank
    Returns: (mean gradient, noise scale in samples), a tensor and a float, the same on
        every rank up to rounding

    - the estimate: by the two equations above. The estimate of |G|^2 may be negative;
      it is never 0.
    - one extra number sent: one all_reduce, of n + 1 elements.
    - one rank: raise ValueError.
    - unchanged: gradient.

    Example: b = 1, gradients [1] and [3]: |g_b|^2 = 5, |g_B|^2 = 4, so S / |G|^2 = 2 /
    3.
    """
    ### BEGIN SOLUTION
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one rank has one size of batch: two are needed")
    sent = torch.cat([gradient, (gradient**2).sum().reshape(1)])
    dist.all_reduce(sent)
    sent /= p
    mean, small, big = sent[:-1], sent[-1], (sent[:-1] ** 2).sum()
    B = p * b
    signal = (B * big - b * small) / (B - b)
    noise = (small - big) / (1 / b - 1 / B)
    return mean, float(noise / signal)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_noise_scale", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(noise_scale)

# %% tags=["raises-exception"]
def measured(start, rows, targets, b, steps):
    """SGD on 4 ranks from these weights; the noise scale of every step."""
    return large_batches.noise_scales(noise_scale, start, rows, targets, b, steps)

# %% tags=["raises-exception"]
RANKS, LOCAL = 4, 256
STEPS = min(6, len(x) // (RANKS * LOCAL))
shuffled = torch.randperm(len(x), generator=torch.Generator().manual_seed(5))
shuffled = shuffled[: RANKS * LOCAL * STEPS]
scales = {}
for before in (0, 100, 300):
    start = training.flat(learn(32, 0.12, steps=before)[0].parameters()).double()
    given = (start, x[shuffled].double(), y[shuffled], LOCAL, STEPS)
    scales[before] = simulation.run(measured, RANKS, given).ranks[0].value
    said = ", ".join(f"{one:.0f}" for one in scales[before])
    middle = np.median(scales[before])
    print(f"after {before:3} steps of 32: {said}; median {middle:.0f}")

# %% [markdown]
# Single values scatter, and some may even be negative: the denominator is a difference
# of two noisy numbers. So take the median over many steps. The order of magnitude is
# clear: a few hundred to a thousand samples. And the noise scale grows while the
# network learns, as the paper's abstract says: it "increases as the loss decreases".
# Once the network has learned what all samples have in common, mostly noise is left.
#
# Now the prediction, with $B_\text{noise}$ for the noise scale. If a goal takes
# $S_\min$ steps in the true direction, and a step with the batch $B$ is worth $1 / (1 +
# B_\text{noise} / B)$ of such a step, the goal takes about
#
# $$\text{steps} = S_\min (1 + B_\text{noise} / B), \qquad
# \text{samples} = B \cdot \text{steps} .$$
#
# ![Steps and samples to a goal over the batch, all axes logarithmic. Left, the steps: below the noise scale twice the batch halves them, above it they stay the same. Right, the samples: below the noise scale they stay the same, above it twice the batch takes twice as many. Both curves bend at the noise scale.](../../images/batch_and_steps.svg)
#
# Left of the bend, more ranks save time and need no more samples. Right of it a larger
# batch only costs more. Is that so for the digits? The next cell counts the steps to an
# accuracy of 80 %, for each batch with the better of two rates:

# %% tags=["parameters"]
TRIED = {8: (0.06, 0.12), 32: (0.12, 0.25), 128: (0.25, 0.5), 512: (0.5, 0.75)}
LARGEST = {2048: (0.5, 0.75)}

# %%
needed = {}
for batch, rates in {**TRIED, **LARGEST}.items():
    every = max(2, 320 // batch)
    until = {"target": 0.8, "every": every, "steps": 24_000 // batch + 160}
    tried = [learn(batch, rate, **until) for rate in rates]
    needed[batch] = min(steps for _, accuracy, steps in tried)
    steps = needed[batch]
    print(f"batch {batch:4}: {steps:5} steps, {batch * steps:7,} samples")

# %% tags=["raises-exception"] alt="Steps to 80 percent over the batch, both axes logarithmic: measured points fall and flatten; the curve that bends at the measured knee follows them, the one that bends at the noise scale is steeper."
batches = np.array(list(needed))
found = np.array(list(needed.values()))
knee = (batches * found).min() / found.min()  # fewest samples / fewest steps
print(f"knee of the measured steps {knee:.0f}")
bends = {"bend at the knee": (knee, "green --")}
if scales:
    noise = np.median(sum(scales.values(), []))
    print(f"noise scale {noise:.0f}")
    bends["bend at the noise scale"] = noise, "orange -"
shown = {"measured": (batches, found, "blue o")}
for name, (at, look) in bends.items():
    shown[name] = *large_batches.bend(batches, found, at), look
words = {"xlabel": "batch (samples)", "ylabel": "steps to 80 %"}
ticks = {"xticks": batches, "yticks": [100, 300, 1000]}
charts.lines(shown, log="xy", size=(5.2, 3.4), **words, **ticks);

# %% [markdown]
# The number of steps does stop falling, and the noise scale predicts roughly where: not
# at 8 samples and not at 8000. The knee of the measured points, the fewest samples
# divided by the fewest steps, is several times smaller than the noise scale. The
# formula assumes the best rate for every batch and a constant noise scale; here two
# rates were tried for each, and the noise scale kept growing. Use it for the order of
# magnitude, *before* you ask for 64 devices. Your second guess: 16 times the batch of
# 32 needs far more than a sixteenth of the steps.
#
# ## Build: synchronised batch norm
#
# Batch norm subtracts from every channel its mean over the batch and divides by its
# standard deviation. Each rank has only a part of the batch. Frameworks normalise each
# part by itself, without a warning that the layer now works on smaller batches than the
# model was made for: with 2 samples on each rank, it uses the mean and deviation of 2.
#
# ### The moments of all rows (5 points)
#
# Find the mean and variance of the rows of all ranks. Ranks may have different numbers
# of rows, or none. It is tempting to add up $x$ and $x^2$ and to use $E[x^2] - E[x]^2$.
# But in a channel of mean 200,000 and deviation 0.1 both terms are $4 \cdot 10^{10}$
# and their difference is 0.01: of 16 digits few are left. Each rank can compute
# accurately the mean of its $n_r$ rows, $\text{mean}_r$, and the sum of their squared
# distances *from that mean*, $M_r$. Then
#
# $$n \cdot \text{var} = \sum_r (M_r + n_r\,(\text{mean}_r - \text{mean})^2).$$
#
# ![The rows of a batch on four ranks: rank 0 holds the values 1 to 5, rank 1 holds 6 to 8, rank 2 holds 9, rank 3 none. For each rank the number of rows n, their mean, their squared distances M from it and n times the squared distance of their mean from 5, the mean of all: 5, 3, 10, 20; 3, 7, 2, 12; 1, 9, 0, 16; 0, no mean, 0, 0. All rows: 9 rows, mean 5, sums 12 and 48, variance 60 / 9 = 6.67.](../../images/sync_batch_norm.svg)
#
# Most of this variance lies *between* the ranks: a rank that looks only at its own rows
# sees none of the 48.

# %% nbgrader={"grade": false, "grade_id": "global_moments", "locked": false, "schema_version": 3, "solution": true, "task": false}
def global_moments(x):
    """Return the mean and variance of each channel over the rows of all ranks.

    x: float64 tensor (rows, C), this rank's rows; some ranks, not all, may have none
    Returns: (mean, variance), two tensors (C,), the same on every rank up to rounding

    - uneven and empty shards: every row counts the same; the variance is divided by the
      number of rows.
    - large means, one collective: accurate even if the mean is a million times the
      deviation. One collective, of at most 2 C + 1 elements from each rank.
    - unchanged: x.

    Example: rows [0] and [2] on rank 0, [4] on rank 1: mean [2], variance [8/3].
    """
    ### BEGIN SOLUTION
    c = x.shape[1]
    mean = x.sum(0) / max(len(x), 1)
    own = torch.cat([x.new_tensor([len(x)]), mean, ((x - mean) ** 2).sum(0)])
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    rows, means, squares = torch.stack(every).split([1, c, c], dim=1)
    n = rows.sum()
    mean = (rows * means).sum(0) / n
    return mean, (squares + rows * (means - mean) ** 2).sum(0) / n
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_global_moments", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(global_moments)

# %% [markdown]
# ### Back through the batch norm of all rows (4 points) · stretch
#
# The layer computes $\hat x = (x - \text{mean}) \cdot \text{inv}$ with
# $\text{inv} = 1 / \sqrt{\text{var} + \epsilon}$, and
# $y = \text{weight} \cdot \hat x + \text{bias}$. Mean and variance depend on every row,
# so the gradient of each row depends on all rows:
#
# $$\frac{\partial L}{\partial x} = \text{weight} \cdot \text{inv} \cdot \Big( g -
# \frac{1}{n} \sum g - \hat x \cdot \frac{1}{n} \sum g\,\hat x \Big),$$
#
# both sums over the rows of *all* ranks. The gradient of the weight is $\sum g\,\hat x$
# and that of the bias $\sum g$, both over this rank's *own* rows: like the gradients of
# all other parameters they are added up, or averaged, after the backward pass.

# %% nbgrader={"grade": false, "grade_id": "sync_norm_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sync_norm_backward(g, xhat, weight, inv, n):
    """Return the gradients of a batch norm that uses the rows of all ranks.

    g: float64 tensor (rows, C), the gradient of this rank's outputs, perhaps no rows
    xhat: tensor (rows, C), this rank's normalised inputs
    weight, inv: tensors (C,)
    n: int, rows of all ranks together
    Returns: three tensors, the gradients of x (in the shape of g), weight and bias

    - uneven and empty shards: by the formulas above; the gradients of weight and bias,
      (C,), come from this rank's rows alone.
    - one all_reduce: one collective, of 2 C elements on every rank.
    - unchanged: all arguments.

    Example: weight = inv = 1, xhat [1] and [-1] on two ranks, g [1] on both: x's
    gradients are 0.
    """
    ### BEGIN SOLUTION
    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
    total = own.clone()
    dist.all_reduce(total)
    gx = weight * inv * (g - total[0] / n - xhat * total[1] / n)
    return gx, own[1], own[0]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_sync_norm_backward", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(sync_norm_backward)

# %% [markdown]
# Together the two functions make a layer. `large_batches.pass_through` passes shards of
# 5, 3, 1 and no rows through it, forward and backward. Compare it with `BatchNorm1d` on
# the whole batch, in float64:

# %% tags=["raises-exception"]
class SyncNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, weight, bias, n, eps):
        mean, var = global_moments(rows)
        inv = (var + eps).rsqrt()
        xhat = (rows - mean) * inv
        ctx.save_for_backward(xhat, weight, inv)
        ctx.n = n
        return xhat * weight + bias

    @staticmethod
    def backward(ctx, g):
        return *sync_norm_backward(g, *ctx.saved_tensors, ctx.n), None, None


def by_autograd(rows, weight, bias, n, eps):
    """The library's way, for later."""
    from torch.distributed.nn.functional import all_reduce

    sums = all_reduce(torch.cat([rows.sum(0), (rows**2).sum(0)]))
    mean, square = (sums / n).chunk(2)
    return (rows - mean) * (square - mean**2 + eps).rsqrt() * weight + bias

# %% tags=["raises-exception"]
def a_layer(library):
    """Outputs, gradients of x and weight of a norm layer, which takes virtual time."""
    return large_batches.pass_through(by_autograd if library else SyncNorm.apply)


def compare(ran):
    for name, difference in large_batches.differences(ran.ranks).items():
        print(f"{name}: off by {difference:.0e}")
    print(f"a rank called {', '.join(ran.ranks[0].collectives)}")


by_hand = simulation.run(a_layer, 4, (False,))
compare(by_hand)

# %% [markdown]
# There is one collective forward and one backward. (The last one in the list is for the
# weight; it would be sent with all other gradients.) `nn.SyncBatchNorm` does the same
# on GPUs. Does it run here?

# %%
def ready_made():
    layer = nn.SyncBatchNorm(large_batches.CHANNELS).double()
    try:
        return layer(large_batches.own_rows()).tolist()
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


print(simulation.run(ready_made, 2).ranks[0].value)

# %% [markdown]
# ### Running statistics of each rank · stretch
#
# Batch norm also keeps *running* statistics, for evaluation. They are buffers, not
# gradients, so DDP does not average them: by default (`broadcast_buffers`) it copies
# those of rank 0 to all ranks before each forward pass. So only the rows of rank 0
# count. As long as the shards are alike nobody notices. Now sort the data by label, as
# files on a disk often are, so that each rank has only three or four of the digits
# (`large_batches.train_sorted`):

# %% tags=["parameters"]
NORM_STEPS = 150

# %% tags=["raises-exception"]
def normed(norm, inside, n):
    """`norm`, a BatchNorm1d, over the n rows of all ranks."""
    mean, var = global_moments(inside.detach())
    norm.running_mean.lerp_(mean, 0.2)
    norm.running_var.lerp_(var, 0.2)
    return SyncNorm.apply(inside, norm.weight, norm.bias, n, 1e-5)


def with_norm(synchronised, steps):
    """Train on this rank's share; return the last batch's accuracy, the weights, this
    rank's running mean and variance."""
    return large_batches.train_sorted(normed if synchronised else None, x, y, steps)

# %% tags=["raises-exception"]
test = test_x, test_y
for synchronised in (False, True):
    ran = simulation.run(with_norm, 4, (synchronised, NORM_STEPS))
    seen, weights, mean, var = ran.ranks[0].value
    print("batch norm over all ranks:" if synchronised else "batch norm of each rank:")
    print(f"  accuracy while training {seen:.2f}")
    of_one = large_batches.evaluated(weights, mean, var, *test)
    print(f"  evaluated with rank 0's running statistics {of_one:.2f}")
    means, variances = (np.array([rank.value[k] for rank in ran.ranks]) for k in (2, 3))
    mean = means.mean(0)
    var = variances.mean(0) + ((means - mean) ** 2).mean(0)
    merged = large_batches.evaluated(weights, mean, var, *test)
    print(f"  evaluated with those of all ranks together {merged:.2f}")

# %% [markdown]
# The training looks good: so few digits are easy to tell apart, and each rank subtracts
# the mean of its own digits. But the network that is saved and evaluated sees all ten
# digits, with the statistics of rank 0 alone. Merging the statistics afterwards (by the
# formula of your `global_moments`) helps only a little, since the weights were trained
# with a different norm on each rank. Batch norm over all ranks is one layer with one
# set of statistics. The other remedy is simpler: shuffle before you shard (unit 04).
#
# ## Explain: two claims, re-checked
#
# **"The overhead of fully synchronizing the mean and variance for the global minibatch
# quickly becomes unfeasible"** (B. Nelson, *Distributed Deep Learning*, 2019). Count
# it, for ResNet-50 (He et al. 2016, table 1): how many channels are normalised, and how
# many parameters have gradients?

# %%
channels, parameters = large_batches.resnet50()
numbers = sum(2 * c + 1 + 2 * c for c in channels)
print(f"{len(channels)} layers, {sum(channels):,} channels; {parameters:,} parameters")
print(f"a step sends {numbers:,} more numbers, {numbers / parameters:.2%},")
print(f"in {2 * len(channels)} more collectives; your guess: {guess_3}")

# %%
print("       time of the norms' collectives / time of the gradients' all_reduce")
print("alpha  " + "".join(f"{p:8} ranks" for p in (8, 64, 512)))
for alpha in (1e-6, 5e-6, 2e-5, 5e-5):
    shares = []
    for p in (8, 64, 512):
        number = 2 * (p - 1) / p * 4 * 1e-10  # seconds for each, at 10 GB/s
        gradients = 2 * math.log2(p) * alpha + parameters * number
        norms = 2 * len(channels) * 2 * math.log2(p) * alpha + numbers * number
        shares.append(norms / gradients)
    said = "".join(f"{share:14.1%}" for share in shares)
    print(f"{alpha * 1e6:3.0f} µs {said}")

# %% [markdown]
# In *bytes* it is next to nothing: less than half a percent. But there are over a
# hundred collectives, one after the other, and none of them overlaps with computing:
# the next layer waits. At 10 GB/s and a latency of a microsecond they take 4 to 10 % of
# the time of the gradients. With the latencies of slow networks between many nodes they
# take as long as all gradients, or longer. With all_reduce the slide is right about
# latency, not about volume.
#
# (Every collective is counted as an all_reduce by halving and doubling, with 2 log2 p
# latencies; unit 18 compares the algorithms. With a ring for the gradients, 2 (p - 1)
# latencies, the last column would end in 38, 94 and 134 %. An all_gather forward, as in
# `nn.SyncBatchNorm`, moves half as much as the gradients' all_reduce on 512 ranks.)
#
# The talk offers two alternatives: small groups (the local batch; *Bonus*, below), or
# **weight normalization**, which needs no statistics of the batch: $w = s\, v / \|v\|$
# for each output.

# %%
torch.manual_seed(3)
plain = nn.Linear(4, 3)
normalised = nn.utils.parametrizations.weight_norm(copy.deepcopy(plain))
for name, layer in (
    ("linear, then batch norm", nn.Sequential(plain, nn.BatchNorm1d(3))),
    ("linear, weight norm", normalised),
):
    depend = large_batches.rows_depend_on_each_other(layer)
    print(f"{name}: rows depend on each other: {depend}")

# %% [markdown]
# If rows do not depend on each other there is nothing to synchronise: no collective,
# forward or backward, and no running statistics.
#
# **"No loss of accuracy"** up to 8192 images, and **"~90% scaling efficiency when
# moving from 8 to 256 GPUs"** (Goyal et al., abstract). How far did the linear scaling
# rule hold there? They began with a rate of 0.1 for 256 images.

# %% tags=["raises-exception"]
peak = scaled_rate(0, 0.1, 256, 8192, 0, 100)
print(f"8192 images: {8192 // 256} times the batch, rate {peak:.1f}")
print(f"8 to 256 GPUs at 90 %: {0.9 * 256 / 8:.1f} times faster, not {256 // 8}")
print(f"this network: {needed[32] / needed[512]:.1f} times fewer steps, "
      f"32 to 512 samples, 16 times the batch")  # fmt: skip
print(f"your second guess: {guess_2}")

# %% [markdown]
# There the rule held up to 32 times the batch; with your digits it failed at 8 times.
# Both are true: how far it holds depends on the noise scale and on the curvature of the
# problem, and ImageNet is noisier. And note *which* efficiency a paper gives: here the
# 90 % refer to images per second. The time to a given accuracy is more important, and
# beyond the noise scale images per second still grow while that time stays the same.
#
# ## Build: validation that stops nobody · stretch
#
# "If the validation is not also distributed, it will quickly bottleneck the training",
# says the same talk. If only rank 0 validates, the others wait for it in the next
# all_reduce.
#
# ### Validation that stops nobody (4 points)
#
# All ranks have the same weights after each step, so each can validate a share of the
# samples. Then they add up their counts.

# %% nbgrader={"grade": false, "grade_id": "train_and_validate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_and_validate(step, correct, steps, every, n):
    """Make all steps, and validate on all ranks after every `every` steps.

    step: function, step(k) makes step k, from 0 on, on all ranks together
    correct: function, correct(start, stop), 0 <= start <= stop <= n, counts the right
        answers of the current weights on validation samples start to stop - 1; it takes
        time for each sample
    steps: int, number of steps
    every: int, steps between two validations
    n: int, number of validation samples, from 1 to 2**24 - 1
    Returns: list of floats, the accuracies, the same on every rank

    - every sample once: no sample is validated twice or left out.
    - equal work: no rank validates more than n / p samples, rounded up (n may be
      smaller than p; a rank without samples need not call `correct`). At most as many
      collectives as validations, or a single one at the very end.

    Example: steps = 5, every = 2: validations after 2 and 4 steps, two accuracies.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    start, stop = rank * n // p, (rank + 1) * n // p
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            count = torch.tensor(correct(start, stop))
            dist.all_reduce(count)
            accuracies.append(count.item() / n)
    return accuracies
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_train_and_validate", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(train_and_validate)

# %% tags=["raises-exception"]
def on_rank_0(step, correct, steps, every, n):
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0 and dist.get_rank() == 0:
            accuracies.append(correct(0, n) / n)
    return accuracies

# %% tags=["raises-exception"] alt="Three space-time diagrams of four ranks with four steps and two validations: nobody validates; rank 0 validates all samples while the other three wait for it in the next step's all-reduce; all ranks validate a quarter each, which costs a quarter of that time."
def a_training(who):
    """Four steps, two validations; a step takes 1 ms, and so do 100 samples."""
    ways = {"rank 0": on_rank_0, "all ranks": train_and_validate}
    ways["nobody"] = large_batches.nobody
    return large_batches.timed_training(ways[who])


shown = {}
for who in ("nobody", "rank 0", "all ranks"):
    one = simulation.run(a_training, 4, (who,))
    title = f"validates: {who}, {one.elapsed * 1e3:.2f} ms"
    shown[title] = one
    print(title, one.ranks[0].value or "")
charts.diagrams(shown, 4)

# %% [markdown]
# Validation takes a quarter of the time, as there are four ranks. If even that is too
# long, send a copy of the weights to ranks that do nothing but validate. The training
# goes on, and their result comes some steps later.
#
# ## PyTorch: schedulers and norm layers
#
# In PyTorch the rates come from two schedulers, one after the other. For accumulation
# DDP has `no_sync()`.

# %% tags=["raises-exception"]
def torch_rates(k, warmup_steps, steps):
    """SequentialLR: a line from 1 / k of the peak to the peak, then a cosine."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.12 * k)
    schedulers = torch.optim.lr_scheduler
    up = schedulers.LinearLR(optimizer, 1 / k, total_iters=warmup_steps)
    down = schedulers.CosineAnnealingLR(optimizer, steps - warmup_steps)
    both = schedulers.SequentialLR(optimizer, [up, down], [warmup_steps])
    return large_batches.rates_of(optimizer, both, steps)


mine = [scaled_rate(step, 0.12, 32, 256, 20, 100) for step in range(100)]
print(f"rates differ by {np.abs(torch_rates(8, 20, 100) - mine).max():.0e}")

# %% [markdown]
# ### Batch norm by autograd · stretch
#
# `SyncBatchNorm` needs GPUs, but autograd can differentiate PyTorch's collectives:
# write the forward pass with `torch.distributed.nn.functional.all_reduce`, and you get
# the backward pass, the collective included. (PyTorch 2.13 deprecates it in favour of
# `torch.distributed._functional_collectives.all_reduce`.)

# %% tags=["raises-exception"] alt="Two space-time diagrams of four ranks through one norm layer, forward and backward: by hand and by autograd, each with a collective in either direction and one for the gradient of the weight; by hand takes a little less."
library = simulation.run(a_layer, 4, (True,))
compare(library)
runs = {"by hand": by_hand, "by autograd": library}
charts.diagrams(runs, 4)

# %% [markdown]
# ## What to remember
#
# - Begin with k times the rate for k times the batch, and a warm-up. The rule fails
#   beyond some batch; find yours before the large run.
# - Weight micro-batches and shards of different sizes by their rows; never take means
#   of means.
# - LARS and LAMB move each layer by a fraction of its own norm; with shards, norms are
#   roots of sums over ranks, all in one collective.
# - The noise scale predicts up to which batch more samples save steps. It costs one
#   number more than the gradient, and it grows during training.
# - Batch norm over all ranks takes one collective forward and one backward in each
#   layer: few bytes, many latencies.
# - Running statistics come from the rows of one rank unless you synchronise them.
# - Validate on all ranks.
#
# **To think about.** With gradient accumulation a rank sees its micro-batches one after
# the other. What would a batch norm over the *whole* batch of a step have to do, and
# why does nobody do it?

# %% [markdown]
# ## Bonus: small groups on purpose
#
# The statistics of small groups are noisy, and that noise can help a network to
# generalise. So it can pay off to normalise in groups even if the batch is not divided.
# This is **ghost** batch norm (Hoffer, Hubara and Soudry 2017, arXiv 1705.08741). It
# also lets you try on one device how batch norm works with b samples on each of many.
#
# ### Batch norm of small groups (3 points)

# %% nbgrader={"grade": false, "grade_id": "ghost_batch_norm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ghost_batch_norm(x, ghost, eps):
    """Normalise a batch in groups of `ghost` consecutive rows.

    x: float64 tensor (rows, C), at least one row, whose values may be far from zero
    ghost: int, rows of a group
    eps: float, above 0, added to the variance
    Returns: float64 tensor (rows, C)

    - each group by itself: in each group and channel subtract the mean and divide by
      the root of variance + eps; the variance is divided by the number of rows.
    - illegal group sizes: raise ValueError if ghost is less than 1 or does not divide
      the number of rows.
    - unchanged: x.

    Example: rows [0], [2], [5], [9], ghost 2, eps 1e-12: each group becomes [-1], [1].
    """
    ### BEGIN SOLUTION
    if ghost < 1 or len(x) % ghost:
        raise ValueError(f"{len(x)} rows are not in groups of {ghost}")
    groups = x.reshape(-1, ghost, x.shape[1])
    var, mean = torch.var_mean(groups, 1, correction=0, keepdim=True)
    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_ghost_batch_norm", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(ghost_batch_norm)

# %% tags=["raises-exception"]
ran = simulation.run(large_batches.norm_of_each_rank, 4)
ranks = np.concatenate([rank.value for rank in ran.ranks])
ghosts = ghost_batch_norm(large_batches.waves(), 2, 1e-5)
differ = np.abs(ranks - ghosts.numpy()).max()
print(f"4 ranks with 2 rows each, and groups of 2: off by {differ:.0e}")

# %% [markdown]
# ## Deeper: fewer steps together
#
# Beyond the noise scale larger batches gain nothing, and every step waits for the
# network. **Local SGD** waits less often: each rank makes H steps by itself, then all
# average their *weights*. For H = 1 that is data parallelism with plain SGD; for large
# H each rank drifts towards its own samples between two averages. Unit 18 examines it,
# together with compression.
