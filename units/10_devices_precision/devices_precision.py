# %% [markdown]
# # 10 · Devices and precision
#
# A node has eight GPUs, and your program uses one of them. Two changes of a few lines
# each promise more speed: use all devices, and compute in 16 bits instead of 32. Both
# can go wrong without an error message: a sample is counted twice, one rank skips a
# step that the others take, weights stay the same although every gradient is right. On
# this page you write both changes by hand, and then break them.
#
# **At the end of this page** you know why `DataParallel` was 4 times slower than
# DistributedDataParallel (DDP) on the same GPUs, you can say what 16 bits save and what
# they do not, and your evaluation gives the same number on any number of ranks, to the
# last digit.
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
# 3. Four ranks evaluate 509 images, dealt out by a `DistributedSampler`, and add up
#    their counts. How many images have they counted?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## DataParallel: one process, many devices
#
# `nn.DataParallel(model)` is the oldest way to use several GPUs: one process, and one
# more line in the program. In every step it **scatters** the batch, **replicates** the
# model, runs the replicas in parallel threads, **gathers** the outputs on device 0,
# where the loss is computed, and sums the gradients there. What does it do without a
# GPU?

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
# On a CPU it just calls the model, whichever devices you name, and gives no warning.
# Its only trace is the prefix `module.` in each parameter's name: a checkpoint saved
# this way does not load into the bare model. So you will build it yourself.
#
# First, the meaning of `batch_size`. A program with `DataParallel` has one loader, and
# its `batch_size` is that of all devices together. `torch.chunk` cuts the batch into
# pieces of $\lceil \text{batch} / \text{devices} \rceil$ rows, from the front, until no
# rows are left. A program with DDP runs once for each device, and each process has its
# own loader. So for the same step on 8 GPUs, `batch_size` is 3200 with `DataParallel`
# and 400 with DDP, as in the programs behind the table below.
#
# ### Batch size: of all devices or of each (2 points)


# %% nbgrader={"grade": false, "grade_id": "device_batches", "locked": false, "schema_version": 3, "solution": true, "task": false}
def device_batches(kind: str, batch_size: int, devices: int) -> list[int]:
    """Return how many rows each device gets in one step.

    kind: "DataParallel" or "DDP"
    batch_size: int, the batch size of the DataLoader, 1 to 10**6
    devices: int, number of devices
    Returns: list of ints, one for each device, 0 for a device that gets none

    - equal shares: with DataParallel, batch_size is that of all devices together; with
      DDP, of each device.
    - unequal shares: where the rows do not divide evenly, DataParallel cuts the batch
      as torch.chunk does.

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
# The last line is right: with 9 rows on 8 devices, three devices get none.
#
# ### DataParallel by hand (3 points) · stretch
#
# Here each device is a module in a list. Compute the gradient of the mean loss over the
# *whole* batch, as if one device had seen all of it.


# %% nbgrader={"grade": false, "grade_id": "data_parallel_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def data_parallel_step(replicas: list, x: Tensor, y: Tensor, loss_fn) -> list[Tensor]:
    """Return the gradients of the mean loss over a batch that several devices share.

    replicas: list of modules, one for each device; at each call only replicas[0] has
        the right weights: copy them into the others
    x: tensor, the batch, one row for each sample
    y: tensor, the labels
    loss_fn: function, loss_fn(outputs, labels) is a mean over rows; you may call it
        more than once
    Returns: list of tensors, one for each parameter of replicas[0]; they may be the
        parameters' own `.grad`, and the loss depends on all of them

    - the gradient of the batch: `.grad` may hold the gradients of an earlier step,
      which must not count; you may overwrite them. Do not update the weights.
    - uneven rows: every row counts the same, in a large shard or a small one. There may
      be fewer rows than replicas.
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
# `DataParallel` computes the loss on device 0, as a mean over the whole batch. With DDP
# each process takes the mean over its own shard, and the gradients are averaged over
# processes. Both give the same gradients only if all shards have the same size.
#
# ### Cost of DataParallel and of DDP · stretch
#
# The same step in both ways, in the virtual time of the simulated network (unit 03): 4
# devices, a model of 100,000 numbers, and 1.2 ms for the forward and backward pass.
# `devices.like_data_parallel` calls broadcast, scatter, gather, scatter and reduce, and
# computes in between; `devices.like_ddp` starts an all-reduce after each quarter of the
# backward pass. (You can read the code that this page imports in `labkit/lessons`.)

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
# updates them. The other devices wait for the loss, and again for the step. Nothing
# overlaps, and device 0 does more work than the others. DDP copies the weights once, at
# the start; then all ranks take the same step, and gradients travel while others are
# still being computed.
#
# The number of bytes is not the reason. For a model of n bytes on p devices, a
# broadcast and a reduce move 2 (p-1) n bytes, and so does an all-reduce. The difference
# is *when* they travel: DDP uses all links at once, during the backward pass.
#
# ## A published table, taken apart
#
# High-Flyer AI trained a ResNet-50 on ImageNet in five ways, on nodes of 8 A100
# (*PyTorch Distributed Training Method*; the programs are in
# github.com/HFAiLab/pytorch_distributed). The article gives the seconds for an epoch
# (`devices.PUBLISHED`); each line below compares two of its runs. The article says that
# DDP is "about eight times" faster than one GPU, and that 32 GPUs with apex (NVIDIA's
# library for half precision) are "more than 30 times" faster, "almost in line with the
# number" of GPUs.

# %%
devices.print_speedups()  # efficiency: speedup / factor of GPUs

# %% [markdown]
# The first line answers your first guess: 1.82 times. Are the article's two sentences
# right?
#
# - "About eight times" is 7.5: fair.
# - "More than 30 times", the last line, compares float32 on one GPU with half precision
#   on 32 GPUs: two things changed. The line above compares like with like and finds
#   111 %: four times as many GPUs, and *more* than four times as fast. More GPUs alone
#   do not do that, so something else changed as well; the article does not name it. (It
#   says that half precision leaves room for larger batches, and that these made
#   training 1.5 times as fast. If that is the reason, scaling was poor: 4.42 / 1.5 =
#   2.9 times as fast on four times as many GPUs.)
# - An epoch here is training *and* validation: `t2 - t1` in their programs covers both.
#
# In a table of your own, change one thing from line to line. Where two things change,
# write two lines.
#
# ### GPU utilisation
#
# The article shows "GPU utilization": 36.5 % with `DataParallel`, 95.8 % with DDP and
# with apex. The chart in the repository, `result.png`, has all five runs, with other
# numbers. Suppose that utilisation were the share of time with useful work. Then 8 GPUs
# with utilisation $u$ would be $8u / u_1$ times as fast as one GPU with $u_1$.

# %%
devices.print_utilisation()  # the numbers are in devices.UTILISATION
print(f"memory with apex, by the chart: {24.48 / 39.92:.0%} of 39.92 GB")

# %% [markdown]
# For DDP that fits. For `DataParallel` it does not: by either source the GPUs were busy
# for much longer than they did useful work. `nvidia-smi` reports "the percent of time
# over the past sample period during which one or more kernels was executing on the GPU"
# (PyTorch's documentation of `torch.cuda.utilization`). So a kernel that only copies
# weights counts, and so does one that uses a small part of the GPU. With apex, by the
# chart, the GPUs even do *more* work while they are busy for less time. High
# utilisation means that something ran; images per second tell how much work was done.
#
# ## Mixed precision: sixteen bits
#
# Two types have 16 bits, and divide them differently: the bits of the exponent decide
# the range, the digits (the mantissa) the precision.
#
# ![Three number formats. float32 has 1 bit for the sign, 8 for the exponent, 23 for the digits; float16 has 1, 5 and 10; bfloat16 has 1, 8 and 7. After 1 the next number is 1.00000012, 1.00097656 and 1.0078125. Below, their ranges on a logarithmic number line: float32 reaches from about 10 to the minus 45 to 10 to the 38, bfloat16 from 10 to the minus 40 to 10 to the 38, float16 from 6 times 10 to the minus 8 to 65504. The small end of each is hatched: fewer digits.](../../images/number_formats.svg)
#
# bfloat16 is a float32 without its last 16 bits: the same range in coarser steps.
# float16 has finer steps and a shorter range. At the small end of each range are the
# subnormal numbers, which have fewer digits. Predict each line below before you run the
# cell; one of them answers your second guess.

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    its = torch.finfo(dtype)
    print(
        f"{str(dtype):<15} largest {its.max:.3g}, smallest {its.smallest_normal:.3g} "
        f"(subnormal {its.smallest_normal * its.eps:.3g}), after 1: 1 + {its.eps:.2g}"
    )

print()
half, brain = torch.float16, torch.bfloat16  # the b stands for Google Brain
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
# The largest float16 is 65504: a *sum* of gradients over ranks can overflow where the
# mean would not, so divide before you add. bfloat16 has the range of float32, but few
# digits: 1 - 0.001 is 1.
#
# The last two lines show the reason for "float32 accumulation". Added up one by one in
# 16 bits, the sum stops at 2048 or 256: there the next larger number is 2 away, and
# adding 1 is rounded away. `.sum()`, like every good matrix product, keeps its sum in
# float32 and rounds once, at the end.
#
# **Eight bits** are divided in two ways as well: e4m3 has 4 bits for the exponent and 3
# for the digits, up to 448; e5m2 has 5 and 2, up to 57344. Such narrow ranges need a
# scale, which moves the largest number of a tensor to the end of the range. With one
# scale for a whole tensor, one large number spoils all small ones: if 1000 is scaled to
# 448, 0.001 becomes 0 in e4m3. So each *block* of numbers gets a scale of its own: 32
# numbers in MXFP8, an open standard, 16 numbers of 4 bits in NVFP4. DeepSeek-V3 (unit
# 20) computed most of its matrix products in e4m3, with one scale for each 128
# activations and for each block of 128 x 128 weights; master weights and gradients
# stayed in higher precision (arXiv 2412.19437, section 3.3). The loss scaling that you
# write below for 16 bits is the same idea, with one scale for everything.
#
# ### Loss scaling: the sizes of gradients
#
# Take a network that recognises digits, and the absolute value of each of its
# gradients. (It is not trained yet. Later gradients are smaller; to imitate them, the
# loss is multiplied by 1/1000.) The grey lines in the histogram are the limits of
# float16: gradients to the left of the first become 0 or are rounded up to it,
# gradients to the right of the second become infinite.

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
# Nothing is lost if the *loss* is first multiplied by a large number: by the chain
# rule, every gradient is then larger by this factor. That is **loss scaling**
# (Micikevicius et al., arXiv 1710.03740).
#
# ![The sizes of all gradients as a hill on a number line, three times. float16 holds sizes from 2 to the minus 24 to 65504, below 2 to the minus 14 with few digits. With the loss as it is, the left part of the hill lies below the range and becomes 0. With the loss times 2 to the 16 the hill has moved to the right, and all gradients are kept. With the loss times 2 to the 32 its right end is infinite: the step is skipped and the scale halved.](../../images/loss_scaling.svg)
#
# On a logarithmic axis, a factor moves the whole hill to the right and keeps its shape.
# Before the step the gradients are divided by the scale again, in float32. Follow one
# step through both types, counterclockwise from the **master weights** at the top left:
#
# ![A step in mixed precision. float32 holds the master weights, the loss, the gradients after scaling back, and the step; float16 holds a rounded copy of the weights, the forward pass, the activations that it keeps, the backward pass and the scaled gradients. The loss is multiplied by the scale before the backward pass, the gradients are divided by it in float32. The step makes new master weights; if any gradient is infinite or NaN, the old ones stay.](../../images/mixed_precision_step.svg)
#
# All factors of the large matrix products have 16 bits. The weights that are kept from
# step to step have 32, because in 16 bits a small step would be rounded away.
#
# ### A step with loss scaling (4 points)


# %% nbgrader={"grade": false, "grade_id": "scaled_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaled_step(
    weights: Tensor, loss_of, scale: float, lr: float, max_norm: float
) -> tuple[Tensor, bool]:
    """Take one step of plain SGD in mixed precision, with a scaled loss.

    weights: float32 tensor, the master weights
    loss_of: function, loss_of(half) is the loss, float32, of a float16 copy of the
        weights; call it once
    scale: float, at least 1
    lr: float, learning rate
    max_norm: float, the largest norm of the gradient
    Returns: (float32 tensor, the new weights; bool, True if the step was skipped)

    - underflow: the gradient comes in float16, so multiply the loss by `scale` first,
      and divide the gradient by it in float32.
    - overflow: if any element of the gradient is infinite or nan, the step is skipped;
      return the weights as they were, or a copy.
    - clipping: before the step, a gradient with a norm above max_norm is scaled down to
      the norm max_norm. PyTorch's way, dividing by the norm + 1e-6, is fine.
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
# ### Dynamic loss scaling (3 points) · stretch
#
# The scale should be as large as possible without overflow. PyTorch's `GradScaler`
# finds it during training: a step whose gradients overflow is skipped and the scale
# halved; `growth_interval` good steps (without overflow) in a row double it.


# %% nbgrader={"grade": false, "grade_id": "dynamic_scale", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dynamic_scale(
    found_inf: list[bool], start: float, growth_interval: int
) -> list[float]:
    """Return the loss scale after each step.

    found_inf: list of bools, True where that step's gradients held an infinity or nan
    start: float, the scale before the first step
    growth_interval: int, good steps in a row that double the scale
    Returns: list of floats, one for each step

    - halving the scale: after a step with an infinity or nan. Nothing else bounds the
      scale, as long as it fits into a float32.
    - doubling the scale: after growth_interval good steps in a row. Each time the scale
      changes, the count of good steps starts again at 0.

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
# In PyTorch, `torch.autocast` chooses the type of each operation and `GradScaler` the
# scale, on a CPU as well. Which tensors of such a step have 16 bits?

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
# The weights stay float32: they *are* the master weights. autocast makes a 16-bit copy
# of each for the products. Now train in float32, bfloat16 and float16.
# `precision.trained` is the usual loop, with four lines new or changed:
#
# ```python
# with torch.autocast(DEVICE, dtype=dtype):
#     loss = F.cross_entropy(model(x), y)
# scaler.scale(loss).backward()
# scaler.step(optimizer)           # skips the step where a gradient is infinite
# scaler.update()
# ```
#
# With float16 the scale starts at $2^{16}$, GradScaler's default, and doubles after 20
# good steps in a row (the default is 2000).

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
print("the same scales as GradScaler's:", mine == scales)
precision.draw_scales(scales, skipped);

# %% [markdown]
# The scale rises until a step overflows, is halved, and rises again. A skipped step now
# and then is normal. bfloat16 needs no scale: its range is that of float32.
#
# ### Overflow on one rank: all skip the step (3 points)
#
# With DDP all ranks see the same sum of gradients, and so the same infinity: they skip
# together. With ZeRO or FSDP (unit 15) each rank updates its own shard of the weights,
# and sees the gradient of that shard alone. Then the ranks must tell each other about
# an overflow.


# %% nbgrader={"grade": false, "grade_id": "found_inf_anywhere", "locked": false, "schema_version": 3, "solution": true, "task": false}
def found_inf_anywhere(grads: list[Tensor]) -> bool:
    """Return on all ranks whether a gradient of any rank holds an infinity or nan.

    grads: list of float32 or float16 tensors, this rank's gradients; it may be empty
    Returns: bool

    - the same answer on all ranks: True for an infinity of either sign or a nan
      anywhere.
    - large but finite gradients: they are not an overflow; your own computation must
      not make them infinite.
    - one number: one collective, to which each rank contributes one number of at most 8
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
# ## Memory saved by half precision
#
# The abstract of Micikevicius et al. says that half precision reduces "the memory
# consumption of deep learning models by nearly 2x". In High-Flyer's chart 61 % remains.
# Count for yourself. Weights, gradients and the optimizer state are float32 under
# autocast: nothing is saved there. The activations, which are kept for the backward
# pass, are half as large. But each product also keeps a 16-bit copy of its weights,
# which float32 does not need. `precision.kept_for_backward` counts the bytes that
# autograd saves for the backward pass of a small transformer, and
# `precision.print_kept` prints them for batches of 1 to 32 sequences.

# %%
precision.print_kept((1, 2, 4, 8, 16, 32))

# %% [markdown]
# The smaller the batch, the less is saved: the copies of the weights do not shrink with
# it. With a larger batch the ratio falls, but not to one half. The layer norms keep
# their inputs in float32, and autocast copies an input once for each product that it
# enters: three times for queries, keys and values. Even with weights, gradients and
# Adam's state added (the last column), the ratio comes close to the chart's 61 %.
# "Nearly 2x" is a limit, for activations alone and all of them in 16 bits.

# %% [markdown]
# ## Half-time
#
# You know whether a batch size is that of one device or of all, and how to train in 16
# bits: scale the loss, keep 32-bit master weights, and if one rank overflows, skip the
# step on all. This is a good place for a break: next you evaluate a model on all ranks.

# %% [markdown]
# ## Distributed evaluation
#
# Training is divided among the ranks; evaluation should be, too. It goes wrong more
# often, because a wrong accuracy looks like a right one. From High-Flyer's repository,
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
# Find three mistakes before you read on. `devices.published_validate` is this function;
# below, four ranks run it.

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
# 1. After `reduce` only rank 0 has the sum, but every rank divides its own values and
#    returns the result. (Here the others keep their own counts; gloo and NCCL guarantee
#    nothing.) Besides, `local_rank == 0` is true on one rank of every node: on four
#    nodes, four lines are printed, and three of them are wrong.
# 2. The sampler pads: 512 images were counted, three of them twice. That answers your
#    third guess.
# 3. The loss is the mean of the batches' mean losses, although the last batch is
#    smaller.
#
# Rank 0's numbers are close to the truth, so nobody notices. But they change with the
# number of ranks: where two runs differ, nobody knows whether the model or the counting
# differs.
#
# ### One evaluation on all ranks (3 points)


# %% nbgrader={"grade": false, "grade_id": "evaluate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def evaluate(
    correct: int, loss_sum: float, count: int, root: int | None
) -> tuple[float, float] | None:
    """Return the accuracy and mean loss over the samples of all ranks.

    correct: int, right answers in this rank's shard
    loss_sum: float, sum of the losses in this shard
    count: int, number of samples in this shard
    root: int, the rank that returns the result, or None for all
    Returns: (accuracy, mean loss), floats, or None on a rank that is not the root

    - shards of any size: some shards may be empty, but never all; counts may be larger
      than 2**24.
    - the same bits on every rank, at most 32 bytes sent: with root None every rank
      returns the same two numbers, to the last bit. Each rank passes at most 32 bytes
      to collectives, in all.
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
# How much time does that save? Take a validation of 8 ms in virtual time: on rank 0
# alone, while the others wait for it, or divided among all ranks.


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
# ### The same bits on any number of ranks
#
# All ranks of a run now have the same bits. A run on *another number* of ranks may
# still get different ones: a sum of floats, such as losses, depends on the order of the
# additions. (A sum of counts, which are integers, does not.) The remedy: round each
# sample's loss to a multiple of $2^{-20}$. Sums of these are exact in float64 up to
# $2^{33}$, so the order has no effect. `devices.counted` returns a rank's right
# answers, its sum of losses and its number of samples; `digits` is the number of binary
# digits after the point that each loss keeps.

# %% tags=["raises-exception"]
def evaluated(*given):
    return [evaluate(*devices.counted(*given, digits), None) for digits in (None, 20)]


thirds = [170, 170, 169]
quarters, uneven = [128, 127, 127, 127], [200, 0, 9, 300]
shards = [[509], [255, 254], thirds, quarters, uneven, [1] * 4 + [505], [73] * 6 + [71]]
found = {None: set(), 20: set()}
for sizes in shards:
    run = simulation.run(evaluated, len(sizes), (test_logits, test_labels, sizes))
    for k, digits in enumerate(found):
        found[digits] |= {tuple(rank.value[k]) for rank in run.ranks}
for digits, results in found.items():
    print(f"digits {digits}, different losses: {len({loss for _, loss in results})}")
    print(*(f"    {right!r} {loss!r}" for right, loss in sorted(results)), sep="\n")
each = run.ranks[0].collective_bytes // len(found)
print("bytes that a rank passes on in each evaluation:", each)

# %% [markdown]
# ### Evaluation with a padding sampler (4 points)
#
# Sometimes you cannot choose the shards, because the loader comes with a
# `DistributedSampler` (unit 04). It puts all samples in an order, and repeats the order
# from its beginning until the length is a multiple of $p$, the number of ranks. Rank
# $r$ gets the places $r, r + p, r + 2p, \ldots$ The place alone tells whether a sample
# is padding.
#
# ![Ten samples, dealt in turn to four ranks; seven of them are predicted right. Ranks 2 and 3 get samples 0 and 1 once more as padding, dashed, both wrong. With padding the ranks count 1 of 3, 2 of 3, 2 of 3 and 2 of 3: together 7 of 12, 58 %. Without padding: 1 of 3, 2 of 3, 2 of 2 and 2 of 2: together 7 of 10, 70 %.](../../images/padded_evaluation.svg)


# %% nbgrader={"grade": false, "grade_id": "evaluate_padded", "locked": false, "schema_version": 3, "solution": true, "task": false}
def evaluate_padded(
    predictions: Tensor, labels: Tensor, indices: Tensor, n: int
) -> float:
    """Return the accuracy over n samples, some of which the sampler has repeated.

    predictions, labels: int64 tensors, for this rank's samples in the sampler's order:
        ceil(n / p) of them on p ranks
    indices: int64 tensor, the samples' indices in the data set (you may not need them)
    n: int, number of samples
    Returns: float, the same on every rank (to float32 precision)

    - every sample once: count each sample once, however often the sampler has dealt it.
    - fewer samples than ranks: n may be smaller than p.
    - no sample travels: each rank passes at most 32 bytes to collectives.

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
    ran = simulation.run(padded, p, (test_logits, test_labels))
    values = {rank.value for rank in ran.ranks}
    print(f"{p} ranks: {values}, the truth: {values == {right / held_out}}")

# %% [markdown]
# ### F1 over all ranks (4 points) · stretch
#
# An accuracy is a quotient of sums: add up over the ranks, then divide. Macro F1 is a
# mean of quotients, one for each class, and the mean of the ranks' F1 is wrong. But
# confusion matrices, the counts of each pair of label and prediction, can be added up,
# and F1 follows from their sum.


# %% nbgrader={"grade": false, "grade_id": "macro_f1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def macro_f1(predicted: Tensor, labels: Tensor, classes: int) -> float:
    """Return the macro F1, the plain mean of F1 over the classes, for the samples of
    all ranks.

    predicted, labels: int64 tensors, this rank's; they may be empty
    classes: int, number of classes
    Returns: float, the same on every rank

    - one matrix for all: F1 = 2 TP / (2 TP + FP + FN) for each class, with its true
      positives, false positives and false negatives.
    - missing classes: a class without labels and predictions has F1 = 0, and counts.
    - one collective: a rank passes at most max(2, classes**2) numbers of 8 bytes to it.

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
    """Your macro F1, and the mean of each rank's own."""
    mine = devices.shard(sizes)
    own = logits[mine].argmax(1), labels[mine]
    return macro_f1(*own, 10), devices.mean_of_own_f1(*own, 10)


for sizes in ([509], [128, 127, 127, 127], [470, 20, 19]):
    run = simulation.run(both_f1, len(sizes), (test_logits, test_labels, sizes))
    whole, mean = run.ranks[0].value
    print(f"shards {sizes}: F1 {whole:.4f}, mean of the ranks' own {mean:.4f}")

# %% [markdown]
# ## Break it: bfloat16 weights, and a rank that skips alone
#
# **Weights in 16 bits.** Somebody reads that bfloat16 needs no loss scaling, and writes
# `model.bfloat16()`. Train a network for 100 steps, then continue with two copies of
# it, at a small learning rate: one with weights in float32, one in bfloat16. The
# products are bfloat16 in both cases. `precision.goes_on` trains a copy, and returns
# the losses and the share of the first layer's weights that have changed.

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
# There is no error and no infinity, and each gradient is right to two digits. But a
# step smaller than 1/512 of its weight is always rounded away. Master weights in
# float32 prevent that, and so mixed precision saves no memory for weights.
#
# **One rank skips alone.** Four ranks train in float16 with loss scaling, and each
# updates a quarter of the weights (ZeRO, unit 15). The largest gradients are those of
# rank 2's quarter. In one run the ranks ask each other with your `found_inf_anywhere`;
# in the other each looks only at its own gradients:


# %% tags=["raises-exception"]
def sharded_training(ask, steps):
    """Distance to the best weights after each step, and this rank's last scale."""
    found_inf = found_inf_anywhere if ask else precision.own_inf
    return precision.sharded_training(found_inf, steps)

# %% tags=["raises-exception"] alt="Distance to the best weights over 30 steps, logarithmic: where all ranks ask each other it falls; where each decides alone it jumps up by orders of magnitude and stays there."
curves = {}
for ask, name in ((True, "all ask"), (False, "each alone")):
    run = simulation.run(sharded_training, 4, (ask, 30))
    distances = run.ranks[0].value[0]
    curves[name] = (range(len(distances)), distances)
    print(f"{name:<10} scales at the end:", [rank.value[1] for rank in run.ranks])
ax = plots.canvas(size=(8, 3))
plots.training(curves, ax, xlabel="step", ylabel="distance to the best", log=True);

# %% [markdown]
# In the first step ranks 0 and 2 skip and halve their scales. From then on only rank 2
# does: the others keep theirs, and the gradients that they send for rank 2's quarter
# overflow again. Meanwhile the gradients that rank 2 sends get smaller and smaller, and
# hardly count in the others' sums. Then one step happens not to overflow: rank 2
# divides a sum in the others' scales by its own tiny one, and its weights explode. No
# error was raised at any time, and a log of rank 0's scale shows one normal skip.
#
# ## Profiler and roofline · stretch
#
# ### Overlap in a profiler's trace
#
# `torch.profiler` records when each operation began and how long it took, on each
# thread and each stream (a GPU's queue of kernels). `record_trace.py`, beside this
# page, trains six layers with DDP on two ranks and writes rank 0's trace. With a GPU,
# the cell below records a new trace. Without one it reads `ddp_trace.json.gz`, which
# was recorded on **two CPU ranks over gloo**. (You can also open the file in
# ui.perfetto.dev.) `traces.lanes_of` sorts its events into phases, computing and
# communication.

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
# Read the figure from the bottom up. Three all-reduces belong to each backward pass,
# one for each bucket. The first two begin while gradients of earlier layers are still
# being computed: that part of their time is hidden. The last bucket holds the gradients
# of the first layers. When it is ready, nothing is left to compute, so its whole time
# is spent waiting. More buckets make the last one smaller, but each costs a latency.
#
# On a CPU the all-reduce uses cores that the computation needs, so even hidden
# communication costs time. With two GPUs it is an NCCL kernel on a stream of its own;
# there, look for gaps in the row *computing*, not at the utilisation. (With one GPU the
# two ranks share it, over gloo.)
#
# ### Overlap in virtual time
#
# Two ways to average the gradients, one above the other in the figure. Above, one
# all-reduce for everything follows the backward pass. Below, a hook on each parameter,
# as in DDP, starts the all-reduce of a bucket of two layers as soon as the bucket's
# last gradient is ready. (DDP itself gives the same gradients, but on the simulated
# network its C++ code waits for each bucket; its overlap is in the trace above.)
# `traces.one_step` makes a backward pass through six layers that take virtual time, and
# averages the gradients.

# %%
def with_hooks(layers):
    """Return a list that fills with (work, bucket, weights) as all-reduces start."""
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
# ### Roofline: the limits of this machine
#
# How fast can this machine multiply matrices? A product of $m \times k$ and
# $k \times n$ numbers takes $2mkn$ operations and moves at least $mk + kn + mn$ numbers
# between memory and processor. The operations per byte moved are its **arithmetic
# intensity**. Two bounds limit the operations per second: the memory's bandwidth times
# the intensity (the slope), and the highest rate of the processor (the roof). Predict:
# is a product with $n = 1$, a matrix times a vector, faster with 16 bits? Is one with
# $n = 256$? `roofline.bandwidth` measures a copy, `roofline.rates` products.

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
# Thin products (small $n$) lie near the slope: the memory is the limit, and half the
# bytes may take half the time. (The slope was measured with a copy, which reads and
# writes. A product that hardly writes, or fits into a cache, may lie above it.) Thick
# products lie near the roof, and there 16 bits help only if the machine has units for
# them. So "half precision is faster" says nothing without the machine and the product.
#
# ## PyTorch's own
#
# Compare your functions with the library's: first `scaled_step` with `GradScaler` and
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
    given = start, loss_of, scale, 1.0, max_norm
    (mine, skip), (library, skipped) = scaled_step(*given), with_scaler(*given)
    apart = (mine - library).abs().max().item()
    print(
        f"scale {scale:>17,.0f}, max_norm {max_norm:g}: "
        f"largest difference {apart:.0e}, skipped: {skip} and {skipped}"
    )

# %% [markdown]
# ### DataParallel and DDP · stretch
#
# Now compare `data_parallel_step` on four replicas with DDP on four ranks:

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
# - With `DataParallel`, `batch_size` is that of all devices together; with DDP, that of
#   one. Do not use `DataParallel`: it copies the weights in every step and overlaps
#   nothing.
# - Two lines of a table are comparable where **one** thing changes between them.
#   Utilisation says that something ran, not that it was useful.
# - float16 needs loss scaling: scale the loss, unscale the gradients in float32, clip,
#   step; if anything is infinite, skip the step on **all ranks together**. bfloat16
#   needs no scaling, but has few digits.
# - Master weights stay float32. 16 bits save memory for activations, time on machines
#   that have units for them, and bytes on the network where gradients are sent in 16
#   bits.
# - Evaluate with **sums**: counts, losses, confusion matrices; one all_reduce, then
#   divide. Count no padding, take no mean of means, and use the result of `reduce` on
#   the root only.
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
