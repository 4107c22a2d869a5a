# %% [markdown]
# # 10 · Devices and precision
#
# A node has eight GPUs, and a program uses one. Two changes of a few lines promise
# more: hand the work to all devices, and compute with 16 bits instead of 32. Both can
# go wrong without any error. A sample counts twice, one rank skips a step that the
# others make, weights do not change although every gradient is right. On this page you
# build what these few lines do, and break it.
#
# **At the end of this page** you know why `DataParallel` was 4 times slower than
# DistributedDataParallel on the same GPUs, you can say what 16 bits save and what they
# do not, and your evaluation gives the same number on any number of ranks, to the last
# digit.
#
# **You need** units 04, 05 and 06. **It takes** about 100 minutes, the *stretch*
# 50 more: two sittings. The cells themselves run for about half a minute on two cores.
# They take about 1 GB of memory.

# %%
import math

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DistributedSampler

from autograder import check
from labkit import plots, simulation
from labkit.lessons import devices, precision, roofline, traces
from labkit.plots import charts
from labkit.simulation import compute

# %%
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_num_threads(1)  # the networks of this page are too small for more

# %% [markdown]
# ## Guess first
#
# Write down what you think before you read on; the page answers all three.
#
# 1. Somebody wraps a ResNet in `nn.DataParallel` and trains it on 8 GPUs instead of
#    one. By what factor is an epoch faster?
# 2. A bfloat16 weight is 1.0. You subtract 0.001 from it, a thousand times. What is it
#    then?
# 3. Four ranks evaluate 509 images that a `DistributedSampler` deals out, and add up
#    what they counted. How many images do they count?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## One process, many devices
#
# `nn.DataParallel(model)` is the oldest way to use several GPUs: one process, one line.
# In every step it **scatters** the batch, **replicates** the model, applies the
# replicas in threads, **gathers** the outputs on device 0, where the loss is computed,
# and sums the gradients there. What does it do without a GPU?

# %%
model = nn.Linear(4, 2)
wrapped = nn.DataParallel(model)
print("devices:", wrapped.device_ids)
if DEVICE == "cpu":
    insisted = nn.DataParallel(nn.Linear(4, 2), device_ids=[0, 1])
    print("and with device_ids=[0, 1]:", insisted.device_ids)
    on_cpu = torch.ones(3, 4)
    print("the same result:", torch.equal(wrapped(on_cpu), model(on_cpu)))
print("names of parameters:", list(wrapped.state_dict()))

# %% [markdown]
# On a CPU it just calls the model, whatever you ask for, and says nothing. All that
# remains is a prefix to each parameter's name: a checkpoint saved this way does not
# load into the bare model. So you build it yourself.
#
# First, what `batch_size` means. A program with `DataParallel` has one loader, and its
# `batch_size` is that of all devices together; it is cut by `torch.chunk`: pieces of
# $\lceil \text{batch} / \text{devices} \rceil$ rows from the front, until there are no
# more. A program with DDP runs once for each device, and each process has its own
# loader. That is why the programs behind the table below say 3200 in one case and 400
# in the other, for the same step.
#
# ### Whose batch size is it? (2 points)


# %% nbgrader={"grade": false, "grade_id": "device_batches", "locked": false, "schema_version": 3, "solution": true, "task": false}
def device_batches(kind: str, batch_size: int, devices: int) -> list[int]:
    """Return how many rows each device gets in one step.

    kind: "DataParallel" or "DDP"
    batch_size: int, the DataLoader's, at least 1
    devices: int, number of devices
    Returns: list of ints, one for each device, 0 for a device that gets none

    - what divides: batch_size is for all devices together with DataParallel, for each
      device with DDP.
    - what does not: DataParallel cuts the batch as torch.chunk does.

    Example: device_batches("DataParallel", 5, 4) == [2, 2, 1, 0]
    """
    ### BEGIN SOLUTION
    if kind == "DDP":
        return [batch_size] * devices
    size = math.ceil(batch_size / devices)
    return [max(0, min(size, batch_size - k * size)) for k in range(devices)]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_device_batches", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(device_batches)

# %% tags=["raises-exception"]
for kind, batch_size in (("DataParallel", 3200), ("DDP", 400), ("DataParallel", 9)):
    rows = device_batches(kind, batch_size, 8)
    print(f"{kind:<12} batch_size {batch_size:>4}: {rows}, together {sum(rows)}")

# %% [markdown]
# The last line is no mistake: with 9 rows on 8 devices, three have nothing to do.
#
# ### DataParallel by hand (3 points) · stretch
#
# Here the devices are modules in a list. You compute the gradient of the mean loss over
# the *whole* batch, as if one device had seen it.


# %% nbgrader={"grade": false, "grade_id": "data_parallel_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def data_parallel_step(replicas: list, x: Tensor, y: Tensor, loss_fn) -> list[Tensor]:
    """Return the gradients of the mean loss over a batch that several devices share.

    replicas: list of modules, one for each device; at first only replicas[0] has the
        right weights: copy them into the others
    x: tensor, the batch, one row for each sample
    y: tensor, the labels
    loss_fn: function, loss_fn(outputs, labels) is a mean over rows; call it once or
        more
    Returns: list of tensors, one for each parameter of replicas[0]

    - the gradient of the batch: gradients that an earlier step has left in `.grad` do
      not count. Make no step.
    - rows that do not divide: every row counts the same. There may be fewer rows than
      replicas.
    - each row once, on all devices: each row goes through one replica, once; no replica
      gets more than ceil(rows / replicas) rows.

    Example: 5 rows on 2 replicas: 3 on one and 2 on the other, each row with the weight
    1/5.
    """
    ### BEGIN SOLUTION
    for replica in replicas:
        replica.load_state_dict(replicas[0].state_dict())
        replica.zero_grad()
    shards = x.chunk(len(replicas))
    used = replicas[: len(shards)]
    outputs = [replica(shard) for replica, shard in zip(used, shards)]
    loss_fn(torch.cat(outputs), y).backward()
    each = [[w.grad for w in replica.parameters()] for replica in used]
    return [sum(gradients) for gradients in zip(*each)]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_data_parallel_step", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(data_parallel_step)

# %% [markdown]
# Where the loss is computed decides what it is the mean of. On device 0 it is the mean
# over the batch. In DDP each process has a loss of its own, and gradients are averaged
# over processes: the same only if all shards have the same size.
#
# ### What it costs · stretch
#
# The same step twice, in the virtual time of the simulated network (unit 03): 4
# devices, a model of 100,000 numbers, and a forward and backward pass of 1.2 ms.
# `devices.like_data_parallel` is
# made of broadcast, scatter, gather, scatter and reduce, with computing in between;
# `devices.like_ddp` starts an all-reduce for each quarter of the backward pass. (All
# that this page takes from `labkit.lessons` can be read there.)

# %% alt="Two space-time diagrams of a step on four ranks. DataParallel: broadcast, scatter, gather, scatter and reduce one after the other, with rank 0 computing alone in between. DDP: the all-reduces of four buckets run under the backward pass, and the step is shorter."
runs = {}
hows = {"DataParallel": devices.like_data_parallel, "DDP": devices.like_ddp}
for name, how in hows.items():
    runs[name] = run = simulation.run(how, 4, **devices.LINK)
    busy = " ".join(f"{rank.busy / run.elapsed:.0%}" for rank in run.ranks)
    print(f"{name:<13} {run.elapsed * 1e3:.2f} ms a step, computing: {busy}")
charts.diagrams(runs, 4)

# %% [markdown]
# `DataParallel` copies all weights to all devices in every step, because only device 0
# has updated them. It waits for the loss, and again for the sum. Nothing overlaps with
# anything, and device 0 does more than the others. DDP copies the weights once; then
# all ranks make the same step, and gradients travel while others are being computed.
#
# Bytes are not the reason: 2 (p-1) n of them travel in either case, in a broadcast and
# a reduce or in an all-reduce. What matters is *when* they travel.
#
# ## A published table, taken apart
#
# High-Flyer AI trained a ResNet-50 on ImageNet in five ways, on nodes of 8 A100
# (*PyTorch Distributed Training Method*; the programs are in
# github.com/HFAiLab/pytorch_distributed). The article has seconds for an epoch (they
# are in `devices.PUBLISHED`); below, two lines of it at a time are compared. In its
# words, DDP is "about eight times" faster than one GPU, and 32 GPUs with apex, half
# precision, are "more than 30 times" faster, "almost in line with the number" of them.

# %%
devices.print_speedups()  # efficiency: faster, divided by the times as many GPUs

# %% [markdown]
# The first line answers your first guess. What about the sentences?
#
# - "About eight times" is 7.5: fair.
# - "More than 30 times" compares float32 on one GPU with half precision on 32: two
#   things changed. The line above it compares like with like, and finds 111 %: four
#   times the GPUs, *more* than four times as fast. Adding GPUs does not do that, so
#   something else changed, too; the article does not say what. (It says that half
#   precision leaves room for larger batches, and that these made it one and a half
#   times as fast. Then 52 s would be slow.)
# - An epoch here is training *and* validation: `t2 - t1` in their programs spans both.
#
# Whoever publishes a table should change one thing from line to line. Where two change,
# write two lines.
#
# ### And the utilisation?
#
# The article shows "GPU utilization": 36.5 % with `DataParallel`, 95.8 % with DDP and
# with apex. The chart in the repository, `result.png`, shows other numbers for the same
# five runs. Suppose that utilisation were the share of useful work. Then 8 GPUs that
# are busy for a share $u$ of the time are $8u / u_1$ times as fast as one.

# %%
devices.print_utilisation()  # the numbers are in devices.UTILISATION
print(f"memory with apex, by the chart: {24.48 / 39.92:.0%} of 39.92 GB")

# %% [markdown]
# For DDP it fits. For `DataParallel` it does not: by either number the GPUs were busy
# for longer than they did useful work. `nvidia-smi` counts "the percent of time over
# the past sample period during which one or more kernels was executing on the GPU"
# (PyTorch's manual of `torch.cuda.utilization`): a kernel that copies weights counts,
# and so does one that occupies a corner of the GPU. And with apex, by the chart, the
# GPUs get *more* done while they are busy for less time. High utilisation means that
# something ran. Images per second tell how much work was done.
#
# ## Mixed precision: sixteen bits
#
# Two types have 16 bits, and spend them differently: the exponent decides how far a type
# reaches, the digits how fine it is.
#
# ![Three number formats. float32 has 1 bit for the sign, 8 for the exponent, 23 for the digits; float16 has 1, 5 and 10; bfloat16 has 1, 8 and 7. After 1 the next number is 1.00000012, 1.00097656 and 1.0078125. Below, their ranges on a logarithmic number line: float32 and bfloat16 reach from about 10 to the minus 38 to 10 to the 38, float16 from 6 times 10 to the minus 8 to 65504. At its small end each type has a stretch with fewer digits.](../../images/number_formats.svg)
#
# bfloat16 is a float32 without its last 16 digits: the same range, with coarse steps.
# float16 has finer steps and a short range. Predict each of the lines below before you
# run the cell: the second guess is among them.

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    info = torch.finfo(dtype)
    print(
        f"{str(dtype):<15} largest {info.max:.3g}, smallest {info.smallest_normal:.3g} "
        f"(with fewer digits {info.smallest_normal * info.eps:.3g}), 1 + {info.eps:.2g}"
    )

print()
half, brain = torch.float16, torch.bfloat16
print("1 + 1/256:", [(torch.ones((), dtype=d) + 2**-8).item() for d in (half, brain)])
print("40000 + 40000 in float16:", (torch.tensor(40000.0, dtype=half) * 2).item())
weight = torch.tensor(1.0, dtype=brain)
for _ in range(1000):
    weight -= 0.001
print("bfloat16 1 - 1000 x 0.001:", weight.item())
for dtype in (half, brain):
    one_by_one = precision.summed_one_by_one(5000, dtype)
    inside = torch.ones(5000, dtype=dtype).sum()
    print(f"5000 ones, one by one in {dtype}: {one_by_one}; by .sum(): {inside.item()}")

# %% [markdown]
# float16 ends at 65504: a *sum* of gradients over ranks overflows where the mean would
# not, so divide before you add up. bfloat16 has the range of float32 and hardly any
# digits: 1 - 0.001 is 1.
#
# The last two lines say what "float32 accumulation" is about. Where numbers are added
# up one by one in 16 bits, the sum stops growing as soon as it is large. `.sum()`, and
# every good matrix product, keeps its sum in float32 and rounds once, at the end.
#
# **Eight bits** are divided in two ways, too: e4m3 has 4 for the exponent and 3 for the
# digits and ends at 448; e5m2 has 5 and 2 and ends at 57344. So narrow a range needs a
# scale, which puts the largest number at its end. One scale for a whole tensor is
# spoilt by one large number: beside a 1000, scaled down to 448, 0.001 becomes 0 in
# e4m3. So a *block* of numbers gets a scale of its own: 32 numbers in MXFP8, an open
# standard, 16 numbers of 4 bits in NVFP4. DeepSeek-V3 (unit 20) did its matrix products
# in e4m3, with a scale for each 128 activations and for each 128 x 128 weights; master
# weights and gradients stayed in higher precision (arXiv 2412.19437, section 3.3). What
# you write below for 16 bits is the same idea, with one scale for everything.
#
# ### Loss scaling: where gradients lie
#
# A network that learns digits, and the size of each of its gradients. (It has not
# learned anything yet; to imitate a later time, the loss is multiplied by 1/1000.) The
# grey lines are the ends of float16: what is left of the first becomes 0 or loses
# digits, what is right of the last becomes infinite.

# %%
images, labels = precision.digits(2048)
sizes = precision.gradient_sizes(images[:64], labels[:64])
for exponent in (0, 8, 16, 24, 32):
    there = (sizes * 2.0**exponent).half()
    print(
        f"times 2^{exponent:<2}: {(there == 0).float().mean():6.1%} become 0, "
        f"{there.isinf().sum():5d} infinite"
    )

# %% alt="Histogram of the gradients' sizes, logarithmic. As they are, a good part lies below the smallest number of half precision, two to the minus 24; times two to the sixteenth, all lie between it and the largest one, 65504."
precision.draw_sizes(sizes, 16);

# %% [markdown]
# Nothing is lost if the *loss* is multiplied by a large number first: then all
# gradients are, by the chain rule. That is **loss scaling** (Micikevicius et al., arXiv
# 1710.03740).
#
# ![The sizes of all gradients as a hill on a number line, three times. float16 holds sizes from 2 to the minus 24 to 65504, below 2 to the minus 14 with few digits. With the loss as it is, the left part of the hill lies below the range and becomes 0. With the loss times 2 to the 16 the hill has moved to the right, and all gradients are kept. With the loss times 2 to the 32 its right end is infinite: the step is skipped and the scale halved.](../../images/loss_scaling.svg)
#
# On a logarithmic line a factor moves the whole hill to the right and leaves its shape
# as it is. Before the step the gradients are divided by the scale again, in float32.
# Follow one step through both types, clockwise from the **master weights**:
#
# ![A step in mixed precision. float32 holds the master weights, the loss, the gradients after scaling back, and the step; float16 holds a rounded copy of the weights, the forward pass, the activations that it keeps, the backward pass and the scaled gradients. The loss is multiplied by the scale before the backward pass, the gradients are divided by it in float32. The step makes new master weights; if any gradient is infinite or NaN, the old ones stay.](../../images/mixed_precision_step.svg)
#
# What takes part in the large products has 16 bits. What is kept from step to step has
# 32, because a small step would be rounded away in 16.
#
# ### A step with loss scaling (4 points)


# %% nbgrader={"grade": false, "grade_id": "scaled_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaled_step(
    weights: Tensor, loss_of, scale: float, lr: float, max_norm: float
) -> tuple[Tensor, bool]:
    """Make one step of plain SGD in mixed precision, with a scaled loss.

    weights: float32 tensor, the master weights
    loss_of: function, loss_of(half) is the loss, float32, for a float16 copy of the
        weights; call it once
    scale: float, at least 1
    lr: float, learning rate
    max_norm: float, the largest norm of the gradient
    Returns: (float32 tensor, the new weights; bool, True if the step was skipped)

    - what is too small for float16: the gradient is float16, so multiply the loss by
      `scale`, and divide the gradient by it in float32.
    - what is too large for it: if any element of the gradient is infinite or nan, the
      step is skipped; return the weights as they were, or a copy.
    - clipping: shorten a gradient whose norm is above max_norm to max_norm, before the
      step.
    - unchanged: weights.

    Example: weights [1], gradient [4], lr 0.1, max_norm 2: the new weights are [0.8].
    """
    ### BEGIN SOLUTION
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    gradient = half.grad.float() / scale
    if not gradient.isfinite().all():
        return weights, True
    norm = gradient.norm()
    if norm > max_norm:
        gradient = gradient * (max_norm / norm)
    return weights - lr * gradient, False
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_scaled_step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(scaled_step)

# %% [markdown]
# ### A scale that looks after itself (3 points) · stretch
#
# Which scale? As large as it can be without overflow. `GradScaler` finds out while it
# trains: a step whose gradients overflow is skipped and halves the scale, and
# `growth_interval` good steps in a row double it.


# %% nbgrader={"grade": false, "grade_id": "dynamic_scale", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dynamic_scale(
    found_inf: list[bool], start: float, growth_interval: int
) -> list[float]:
    """Return the loss scale after each step.

    found_inf: list of bools, True where that step's gradients held an infinity or nan
    start: float, the scale before the first step
    growth_interval: int, good steps in a row that double the scale
    Returns: list of floats, one for each step

    - it halves: after a step with an infinity or nan. There is no smallest and no
      largest scale.
    - it doubles, and counts anew: after growth_interval good steps in a row. After each
      change the count of good steps starts at 0 again.

    Example: dynamic_scale([False, False, True], 8.0, 2) == [8.0, 16.0, 8.0]
    """
    ### BEGIN SOLUTION
    scale, good, scales = start, 0, []
    for inf in found_inf:
        good = 0 if inf else good + 1
        if inf:
            scale /= 2
        elif good == growth_interval:
            scale, good = scale * 2, 0
        scales.append(scale)
    return scales
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_dynamic_scale", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(dynamic_scale)

# %% [markdown]
# PyTorch's way: `torch.autocast` chooses the type of each operation, `GradScaler` the
# scale. It works on a CPU, too. What is 16 bits wide in such a step?

# %%
layer = nn.Linear(4, 3)
with torch.autocast(DEVICE, dtype=torch.bfloat16):
    layer.to(DEVICE)
    out = layer(torch.randn(5, 4, device=DEVICE))
    loss = F.cross_entropy(out, torch.tensor([0, 1, 2, 0, 1], device=DEVICE))
loss.backward()
for name, one in (
    ("the layer's output", out),
    ("its softmax, outside of autocast", out.softmax(1)),
    ("the loss", loss),
    ("the weights", layer.weight),
    ("their gradients", layer.weight.grad),
):
    print(f"{name:<33} {one.dtype}")

# %% [markdown]
# The weights stay float32: they *are* the master weights. autocast makes a copy in 16
# bits for each product. Now train with it, three times. `precision.trained` is the loop
# that you know, with four lines more:
#
# ```python
# with torch.autocast(DEVICE, dtype=dtype):
#     loss = F.cross_entropy(model(x), y)
# scaler.scale(loss).backward()
# scaler.step(optimizer)           # skips the step where a gradient is infinite
# scaler.update()
# ```
#
# With float16 the scale starts at $2^{16}$, GradScaler's default, and may double after
# 20 good steps (its default is 2000).

# %% tags=["parameters"]
STEPS = 240

# %%
results = {
    dtype: precision.trained(dtype, STEPS, images, labels, DEVICE)
    for dtype in (torch.float32, brain, half)
}
for dtype, (losses, _, skipped, _) in results.items():
    last = np.mean(losses[-32:])
    print(f"{str(dtype):<15} loss at the end {last:.3f}, {sum(skipped)} steps skipped")

# %% tags=["raises-exception"] alt="The loss scale over the steps, logarithmic: it doubles in regular steps and halves wherever a triangle marks a skipped step."
_, scales, skipped, _ = results[half]
mine = dynamic_scale(skipped, 2.0**16, precision.INTERVAL)
print("your scales are GradScaler's:", mine == scales)
precision.draw_scales(scales, skipped);

# %% [markdown]
# The scale climbs until a step overflows, falls, and climbs again. A skipped step now
# and then is how it works, not a fault. bfloat16 needs no scale: its range is that of
# float32.
#
# ### One overflows, nobody steps (3 points)
#
# With DDP all ranks see the same sum, and so the same infinity: they skip together.
# With ZeRO or FSDP each rank updates its own shard and sees the gradient of that shard
# alone. Then the ranks must ask each other.


# %% nbgrader={"grade": false, "grade_id": "found_inf_anywhere", "locked": false, "schema_version": 3, "solution": true, "task": false}
def found_inf_anywhere(grads: list[Tensor]) -> bool:
    """Return on all ranks whether a gradient of any rank holds an infinity or nan.

    grads: list of float32 or float16 tensors, this rank's, perhaps none
    Returns: bool

    - the same answer on all ranks: True for an infinity of either sign or a nan
      anywhere.
    - large is not infinite: large numbers must not become infinite on the way.
    - one number: one collective, to which each rank hands one number of at most 8
      bytes.

    Example: [1e38, 1e38] on rank 0 and nothing on rank 1: False on both.
    """
    ### BEGIN SOLUTION
    own = any(not gradient.isfinite().all() for gradient in grads)
    flag = torch.tensor(float(own))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_found_inf_anywhere", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(found_inf_anywhere)

# %% [markdown]
# ## What half precision saves
#
# The paper's abstract says that it reduces "the memory consumption of deep learning
# models by nearly 2". The chart above says 61 %. Count it. Weights, gradients and the
# optimizer's state are float32 under autocast: nothing is saved there. What is half as
# large are activations, which a backward pass keeps. And each product keeps its copy of
# the weights in 16 bits, which float32 does not need. `precision.kept_for_backward`
# counts the bytes of everything that autograd saves for the backward pass of a small
# transformer, and `precision.print_kept` makes a table of it for batches of so many
# sequences.

# %%
precision.print_kept((1, 2, 4, 8, 16, 32))

# %% [markdown]
# The smaller the batch, the less is saved: the copies of the weights stay the same
# size. With a large one the ratio goes down, but not to one half: softmax, norms and
# the loss stay in float32, and masks and indices have no digits. Together with the
# fixed part it is about what the chart says. "Nearly 2" is a limit: for activations
# alone, all in 16 bits.

# %% [markdown]
# ## Half-time
#
# You know whose batch size a program names, and how to train in 16 bits: scale the loss,
# keep 32-bit master weights, and if one rank overflows, all skip the step. This is a
# good place for a break: next you evaluate a model on all ranks.

# %% [markdown]
# ## Distributed evaluation
#
# Training is divided; evaluation should be, too. It is the part that goes wrong most
# often, because a wrong accuracy looks like an accuracy. From the same repository,
# shortened (`validate` in `restnet_ddp.py`):
#
# ```python
# for samples, labels in dataloader:          # a DistributedSampler deals them out
#     loss += criterion(outputs, labels)      # mean over a batch
#     correct1 += ...sum()
#     total += samples.size(0)
# for x in [loss, correct1, correct5, total]:
#     dist.reduce(x, 0)
# if local_rank == 0:
#     loss_val = loss.item() / dist.get_world_size() / len(dataloader)
#     print(...)
# return correct1.item() / total.item()
# ```
#
# Find three things before you go on. `devices.published_validate` is that function on
# one rank; we run it on four.

# %%
judged = results[torch.float32][3].cpu()
held_out = 509
test_images, test_labels = precision.digits(held_out, train=False)
with torch.no_grad():
    test_logits = judged(test_images)
right = (test_logits.argmax(1) == test_labels).sum().item()
truth = F.cross_entropy(test_logits.double(), test_labels).item()
print(f"one rank: accuracy {right / held_out:.6f}, loss {truth:.6f}")

# %%
given = (test_logits, test_labels, 50)
theirs = simulation.run(devices.published_validate, 4, given)
for r, rank in enumerate(theirs.ranks):
    accuracy, loss_value, total = rank.value
    print(
        f"rank {r}: accuracy {accuracy:.6f}, loss {loss_value:.6f}, of {total} images"
    )

# %% [markdown]
# 1. After `reduce` only rank 0 has the sum, but every rank divides what it has, and
#    returns it. (Here the others keep their own counts; gloo and NCCL promise nothing
#    about them.) `local_rank == 0` is true once on every node: on four nodes, four
#    lines are printed, and three of them are wrong.
# 2. The sampler pads: 512 images were counted, three of them twice. That is your third
#    guess.
# 3. The loss is a mean of the means of batches, and the last batch is smaller.
#
# Rank 0's numbers are near the truth, which is why nobody notices. But they change with
# the number of ranks, and nobody can say which part of a difference is noise.
#
# ### One evaluation on all ranks (3 points)


# %% nbgrader={"grade": false, "grade_id": "evaluate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def evaluate(
    correct: int, loss_sum: float, count: int, root: int | None
) -> tuple[float, float] | None:
    """Return the accuracy and mean loss over the samples of all ranks.

    correct: int, right answers in this rank's shard
    loss_sum: float, sum of its losses
    count: int, its samples
    root: int, the rank that returns the result, or None for all
    Returns: (accuracy, mean loss), floats, or None on a rank that is not the root

    - shards of any size: a shard may be empty, but not all are; counts may be larger
      than 2**24.
    - the same bits on every rank, of at most 32 bytes: with root None every rank
      returns the same two numbers, to the last bit. Each rank hands over at most 32
      bytes, all collectives together.
    - on one rank only: with a root, reduce or gather; do not send the result to all.

    Example: 1 of 2 right on rank 0, 5 of 8 on rank 1: the accuracy is 0.6.
    """
    ### BEGIN SOLUTION
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(sums)
    else:
        dist.reduce(sums, root)
        if dist.get_rank() != root:
            return None
    correct, loss_sum, count = sums.tolist()
    return correct / count, loss_sum / count
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_evaluate", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(evaluate)

# %% [markdown]
# What is that worth? Take a validation of 8 ms, on virtual time: on rank 0, while the
# others wait for it, or divided among all ranks.


# %% tags=["parameters", "raises-exception"]
SOME_RANKS = (1, 4, 8)


def validation(alone):
    rank, p = dist.get_rank(), dist.get_world_size()
    if alone:
        if rank == 0:
            compute(8e-3, "V")
        dist.barrier()
    else:
        compute(8e-3 / p, "V")
        evaluate(1, 0.5, 2, None)


for p in SOME_RANKS:
    times = [simulation.run(validation, p, (alone,)).elapsed for alone in (True, False)]
    print(f"{p:>2} ranks: alone {times[0] * 1e3:.2f} ms, all {times[1] * 1e3:.2f} ms")

# %% [markdown]
# ### To the last digit
#
# The same bits on every rank is one thing; the same on *any number* of ranks is
# another. Counts are whole numbers, and their sum has no order. A loss is a float, and
# a sum of floats depends on the order. The way out: round each sample's loss to a
# multiple of $2^{-20}$. Sums of these are exact in float64 up to $2^{33}$, so the order
# has no effect. `devices.counted` gives a rank's right answers, its sum of losses and
# its number of samples; `digits` says to how many binary digits losses are rounded.

# %% tags=["raises-exception"]
def evaluated(logits, labels, sizes, digits):
    return evaluate(*devices.counted(logits, labels, sizes, digits), None)


thirds = [170, 170, 169]
quarters, uneven = [128, 127, 127, 127], [200, 0, 9, 300]
shards = [[509], [255, 254], thirds, quarters, uneven, [1] * 4 + [505], [73] * 6 + [71]]
for digits in (None, 20):
    found = set()
    for sizes in shards:
        given = (test_logits, test_labels, sizes, digits)
        run = simulation.run(evaluated, len(sizes), given)
        found |= {rank.value for rank in run.ranks}
    print(f"digits {digits}: {len({loss for _, loss in found})} different losses,")
    for accuracy, loss_value in sorted(found):
        print(f"    {accuracy!r} {loss_value!r}")
print("bytes that a rank hands over:", run.ranks[0].collective_bytes)

# %% [markdown]
# ### What the sampler has dealt twice (4 points)
#
# Sometimes the shards are not yours to choose: the loader comes with a
# `DistributedSampler`. It lengthens the order of all samples by its own beginning
# (several times, if need be), until it divides evenly, and gives rank $r$ the places
# $r, r + p, r + 2p, \ldots$ A rank can tell from the place alone what is padding.


# %% nbgrader={"grade": false, "grade_id": "evaluate_padded", "locked": false, "schema_version": 3, "solution": true, "task": false}
def evaluate_padded(
    predictions: Tensor, labels: Tensor, indices: Tensor, n: int
) -> float:
    """Return the accuracy over n samples of which the sampler has dealt some twice.

    predictions, labels: int64 tensors, this rank's samples, ceil(n / p) on p ranks
    indices: int64 tensor, their numbers among the n (you may not need them)
    n: int, number of samples
    Returns: float, the same on every rank

    - every sample once: count a sample once, wherever the sampler has dealt it again.
    - fewer samples than ranks: n may be smaller than p.
    - no sample travels: each rank hands over at most 32 bytes.

    Example: n = 5, p = 2: rank 1 has places 1, 3 and 5; place 5 is padding.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    places = rank + p * torch.arange(len(labels))
    correct = ((predictions == labels) & (places < n)).sum()
    dist.all_reduce(correct)
    return correct.item() / n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_evaluate_padded", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(evaluate_padded)


# %% tags=["raises-exception"]
def padded(logits, labels):
    rank, p, n = dist.get_rank(), dist.get_world_size(), len(labels)
    sampler = DistributedSampler(range(n), p, rank, shuffle=True, seed=1)
    mine = torch.tensor(list(sampler))
    return evaluate_padded(logits[mine].argmax(1), labels[mine], mine, n)


for p in (1, 2, 3, 4, 7):
    values = {
        rank.value
        for rank in simulation.run(padded, p, (test_logits, test_labels)).ranks
    }
    print(f"{p} ranks: {values}, the truth: {values == {right / held_out}}")

# %% [markdown]
# ### F1 over all ranks (4 points) · stretch
#
# An accuracy is a quotient of sums; sum and divide. F1 is not: it is a mean of
# quotients. With a confusion matrix it becomes a formula of sums again.


# %% nbgrader={"grade": false, "grade_id": "macro_f1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def macro_f1(predicted: Tensor, labels: Tensor, classes: int) -> float:
    """Return the plain mean of F1 over the classes, for the samples of all ranks.

    predicted, labels: int64 tensors, this rank's, perhaps empty
    classes: int, number of classes
    Returns: float, the same on every rank

    - one matrix for all: F1 = 2 TP / (2 TP + FP + FN) for each class.
    - classes that are missing: a class without labels and predictions has F1 = 0, and
      counts.
    - one collective: a rank hands over at most max(2, classes**2) numbers of 8 bytes.

    Example: 2 classes, labels [0, 0] on rank 0 and [1] on rank 1, all predicted 0: F1
    is 0.8 and 0, the mean 0.4.
    """
    ### BEGIN SOLUTION
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    return (2 * hits / both.clamp(min=1)).mean().item()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check_macro_f1", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(macro_f1)


# %% tags=["raises-exception"]
def both_f1(logits, labels, sizes):
    """Yours, and the mean of the ranks' own."""
    mine = devices.shard(sizes)
    own = logits[mine].argmax(1), labels[mine]
    return macro_f1(*own, 10), devices.mean_of_own_f1(*own, 10)


for sizes in ([509], [128, 127, 127, 127], [470, 20, 19]):
    run = simulation.run(both_f1, len(sizes), (test_logits, test_labels, sizes))
    whole, mean = run.ranks[0].value
    print(f"shards {sizes}: F1 {whole:.4f}, mean of the ranks' {mean:.4f}")

# %% [markdown]
# ## Break it: two ways to stand still
#
# **Weights in 16 bits.** Somebody reads that bfloat16 needs no scale, and writes
# `model.bfloat16()`. The same training twice, from a network that has learned for 100
# steps, with a small learning rate; once the weights are float32, once bfloat16. The
# products are bfloat16 in both. `precision.goes_on` trains on, and says which share of
# the first layer's weights is no longer what it was.

# %%
*_, begun = precision.trained(torch.float32, 100, images, labels)
kept_in = {"float32": torch.float32, "bfloat16": brain}

# %% alt="Loss over the steps for weights in float32, which falls steadily, and for weights in bfloat16, which falls far more slowly."
curves = {}
for name, weights_in in kept_in.items():
    losses, moved = precision.goes_on(begun, weights_in, STEPS // 2, images, labels)
    curves[name] = (range(0, STEPS // 2, 10), losses)
    print(
        f"weights in {name}: loss {losses[0]:.3f} -> {losses[-1]:.3f}; "
        f"{moved:.1%} of the first layer's weights have changed at all"
    )
plots.training(curves, plots.canvas(size=(8, 3)), ylabel="loss", xlabel="step");

# %% [markdown]
# No error, no infinity, and each gradient is right to two digits. But a step of less
# than 1/512 of a weight is rounded away, always. That is what float32 master weights
# are for, and why 16 bits save no memory there.
#
# **One rank skips alone.** Four ranks, each with a quarter of the weights and of the
# optimizer (unit 15's ZeRO), loss scaling in float16. Rank 2's quarter has the large
# gradients. In one run they ask each other, in the other each looks only at its own:


# %% tags=["raises-exception"]
def sharded_training(ask, steps):
    """Distance to the best weights after each step; this rank's scale at the end."""
    found_inf = found_inf_anywhere if ask else precision.own_inf
    return precision.sharded_training(found_inf, steps)

# %% tags=["raises-exception"] alt="Distance to the best weights over 30 steps, logarithmic: where the ranks ask each other it falls; where each decides on its own it jumps up by orders of magnitude and stays there."
curves = {}
for ask, name in ((True, "they ask"), (False, "each its own")):
    run = simulation.run(sharded_training, 4, (ask, 30))
    distances = run.ranks[0].value[0]
    curves[name] = (range(len(distances)), distances)
    print(f"{name:<13} scales at the end:", [rank.value[1] for rank in run.ranks])
ax = plots.canvas(size=(8, 3))
plots.training(curves, ax, xlabel="step", ylabel="distance to the best", log=True);

# %% [markdown]
# Rank 2 skips alone, and halves its scale. The others go on with the old one, and send
# gradients for rank 2's quarter that overflow again; so it skips again, and halves
# again. Meanwhile its own gradients, of an ever smaller scale, hardly count for the
# others. Then a step happens not to overflow: rank 2 divides a sum of the old scale by
# its own tiny one, and its weights are gone. No error was raised at any time, and a
# program that logs the scale of rank 0 sees nothing.
#
# ## A page for GPUs · stretch
#
# ### What overlaps with what
#
# `torch.profiler` records when each operation began and how long it took, on each
# thread and each stream. `record_trace.py`, beside this page, trains six layers with
# DDP on two ranks and writes rank 0's trace. Where there is a GPU, the cell records a
# new one. Elsewhere it reads `ddp_trace.json.gz`, which was recorded on **two CPU ranks
# over gloo**. (The file opens in ui.perfetto.dev, too.) `traces.lanes_of` sorts its
# events into phases, computing and communication.

# %%
if DEVICE == "cuda":
    trace = traces.recorded("record_trace.py")
else:
    trace = traces.read("ddp_trace.json.gz")
in_lanes = traces.lanes_of(trace)
print(in_lanes.machine, "-", in_lanes.events, "events")
traces.print_overlap(in_lanes)

# %% alt="Three lanes over the time of the recorded steps: the phases forward, backward and step; computing, which goes on nearly all the time; and the all-reduces, which lie under the backward passes."
traces.draw(in_lanes);

# %% [markdown]
# Read it from the bottom up. Three all-reduces belong to each backward pass, one for
# each bucket. They begin while gradients of earlier layers are still being computed:
# that part is hidden. The last bucket belongs to the first layers; nothing is left to
# compute when it is ready, so its whole time is spent waiting. More buckets make the
# last one smaller, and each costs a latency.
#
# On a CPU the all-reduce takes the cores that the computation needs, so what is hidden
# is not free. On a GPU it is a kernel of NCCL's on a stream of its own; look there for
# gaps in the row *computing*, not for a utilisation.
#
# ### The same on virtual time
#
# Above: backward, then one all-reduce for everything. Below: a hook on each parameter,
# as DDP has them, that starts the all-reduce of a bucket of two layers as soon as its
# last gradient is ready. (DDP itself gives the same gradients, but on the simulated
# network its C++ waits for each bucket; its overlap is in the trace above.)
# `traces.one_step` makes a backward pass through six layers that take virtual time, and averages the gradients.

# %%
def with_hooks(layers):
    """Two layers are a bucket; returns what is on its way: (work, bucket, weights)."""
    pending = []
    for k in range(0, len(layers), 2):
        weights = [w for layer in layers[k : k + 2] for w in layer.parameters()]
        missing = set(range(len(weights)))

        def ready(w, weights=weights, missing=missing):
            missing.discard(next(i for i, one in enumerate(weights) if one is w))
            if not missing:
                bucket = torch.cat([one.grad.flatten() for one in weights])
                work = dist.all_reduce(bucket, async_op=True)
                pending.append((work, bucket, weights))

        for w in weights:
            w.register_post_accumulate_grad_hook(ready)
    return pending

# %%
def one_step(how):
    return traces.one_step(how, with_hooks)

# %% alt="Two space-time diagrams of two ranks. At the end: one all-reduce after the whole backward pass. With hooks: three smaller ones, two of which run under the backward pass of earlier layers, so that the step is shorter."
values, runs = {}, {}
for how in ("at the end", "with hooks", "DDP"):
    run = simulation.run(one_step, 2, (how,), alpha=5e-6, beta=1e-9)
    values[how] = run.ranks[1].value.values
    if how != "DDP":
        print(f"{how}: {run.elapsed * 1e3:.2f} ms")
        runs[how] = run
charts.diagrams(runs, 2)
for how in ("at the end", "with hooks"):
    apart = np.abs(values[how] - values["DDP"]).max()
    print(f"{how}: largest difference of a gradient to DDP's {apart:.0e}")

# %% [markdown]
# ### A roofline
#
# How fast can this machine multiply? A product of $m \times k$ and $k \times n$ numbers
# takes $2mkn$ operations and moves at least $mk + kn + mn$ numbers. Operations per byte
# are its **arithmetic intensity**. Two bounds limit the rate: the memory's bandwidth
# times the intensity (the slope), and the largest rate there is (the roof). Predict: is
# a product with $n = 1$, a matrix times a vector, faster with 16 bits? Is one with
# $n = 256$? `roofline.bandwidth` times a copy, `roofline.rates` times products.

# %%
bandwidth = roofline.bandwidth(DEVICE)
where = torch.cuda.get_device_name() if DEVICE == "cuda" else "one core"
print(f"memory of {where}: {bandwidth / 1e9:.1f} GB/s")

# %% alt="A roofline: GFLOP/s over operations per byte, both axes logarithmic. For each type of number a roof, first the sloping line of the memory's bandwidth and then the flat one of the best rate measured, and the measured points near it."
kinds = {"float32": torch.float32, "bfloat16": brain}
measured = {name: roofline.rates(dtype, DEVICE) for name, dtype in kinds.items()}
roofline.draw(measured, bandwidth)
print("GFLOP/s for n =", roofline.columns(DEVICE))
for name, (_, rates) in measured.items():
    print(f"{name:<9}", "  ".join(f"{rate:8.1f}" for rate in rates))

# %% [markdown]
# Thin products lie near the slope: the memory decides, and half the bytes may be twice
# as fast. (The slope is measured by a copy, which reads and writes. What only reads, or
# fits into a cache, may lie above it.) Thick ones lie under the roof, and there the
# type counts only if the machine has units for it. So say nothing about "half
# precision" in general: say on which machine, for which product.
#
# ## PyTorch's own
#
# Your own steps beside the library's: first `scaled_step` against `GradScaler` and
# `clip_grad_norm_`.

# %% tags=["raises-exception"]
def with_scaler(weights, loss_of, scale, lr, max_norm):
    master = weights.clone().requires_grad_()
    optimizer = torch.optim.SGD([master], lr=lr)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    scaler.scale(loss_of(master.half())).backward()
    scaler.unscale_(optimizer)  # before clipping
    torch.nn.utils.clip_grad_norm_([master], max_norm)
    scaler.step(optimizer)
    scaler.update()
    return master.detach(), scaler.get_scale() < scale

# %% tags=["raises-exception"]
start, loss_of = precision.small_loss()
for scale, max_norm in ((1.0, 1e9), (2.0**14, 1e9), (2.0**14, 0.05), (2.0**24, 1e9)):
    (mine, skip), (library, skipped) = (
        step(start, loss_of, scale, 1.0, max_norm)
        for step in (scaled_step, with_scaler)
    )
    apart = (mine - library).abs().max().item()
    print(
        f"scale {scale:>17,.0f}, max_norm {max_norm:g}: "
        f"largest difference {apart:.0e}, skipped: {skip} and {skipped}"
    )

# %% [markdown]
# ### DataParallel and DDP · stretch
#
# `data_parallel_step` on replicas against DDP on ranks:

# %% tags=["raises-exception"]
draws = torch.Generator().manual_seed(5)
rows, targets = torch.randn(12, 6, generator=draws), torch.randn(12, 3, generator=draws)
replicas = [devices.small_replica() for _ in range(4)]
ours = data_parallel_step(replicas, rows, targets, F.mse_loss)
theirs = simulation.run(devices.gradients_with_ddp, 4, (rows, targets)).ranks[2].value
apart = max(np.abs(a.numpy() - b.values).max() for a, b in zip(ours, theirs))
print(f"largest difference of a gradient: {apart:.1e}")

# %% [markdown]
# ## What to remember
#
# - `DataParallel`'s batch size is that of all devices, DDP's that of one. Do not use
#   `DataParallel`: it copies the weights in every step and overlaps nothing.
# - A table's lines are comparable where **one** thing changes between them. Utilisation
#   says that something ran, not that it was work.
# - float16 needs loss scaling: scale the loss, unscale in float32, then clip, then
#   step; and skip where anything is infinite, **all ranks together**. bfloat16 needs
#   none of it, and has hardly any digits.
# - Master weights stay float32. 16 bits save activations, time on machines that have
#   units for them, and bytes on the network.
# - Evaluate with **sums**: counts, losses, confusion matrices; one all_reduce, then
#   divide. No padding, no mean of means, no use of `reduce`'s result on another rank.
#
# **To think about.** With DDP and loss scaling all ranks skip together without asking,
# because they see the same sum. Which of these break that: a hook that clips on one
# rank, gradients that are reduced in bfloat16, `no_sync`?
#
# ### To read
#
# - P. Micikevicius et al., *Mixed Precision Training*, arXiv 1710.03740.
# - High-Flyer AI, *PyTorch Distributed Training Method*, with
#   github.com/HFAiLab/pytorch_distributed.
# - S. Williams, A. Waterman, D. Patterson, *Roofline: An Insightful Visual Performance
#   Model for Multicore Architectures*, 2009.
