# %% [markdown]
# # 07 · Horovod
#
# In unit 05 you averaged gradients by hand. In unit 06 PyTorch did it for you.
# **Horovod** does it for TensorFlow, Keras and PyTorch, with the same few calls: you
# take a program for one process, change it in eight places, and it trains on any number
# of ranks.
#
# Eight changes are easy to copy, and a missing one is easy to overlook: often the
# program still runs, and its loss falls. On this page you see what goes wrong then.
#
# **At the end of this page** a TensorFlow program written for one process trains on all
# ranks. Every rank holds the same weights, and they agree with those of a sequential
# run on the global batch to within 1e-5. Then you do it again with Keras callbacks, and
# in PyTorch.
#
# **You need** units 03, 05 and 06. **It takes** about 100 minutes, the *stretch* 65
# more: two sittings. The cells themselves run for 75 seconds on two cores, most of it
# spent starting processes. They take about 2.3 GB of memory.

# %%
import os
import time
from tempfile import TemporaryDirectory

# TensorFlow: errors only
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from labkit.environment import need_frameworks

# says what to do where this Python has neither TensorFlow nor Horovod
need_frameworks()

# %%
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
import horovod.torch as hvd_torch
import numpy as np
import tensorflow as tf
import torch

from autograder import check
from labkit import data, horovod_timeline, models, ranks, training
from labkit.lessons import eight_steps
from labkit.lessons.eight_steps import between_paths, between_ranks, new_model
from labkit.lessons.eight_steps import loss_function, weights_of
from labkit.plots.runs import beside_sequential

# Two: every rank imports TensorFlow and compiles, and wants a core for that. 4 work as
# well and take longer.
RANKS = 2

# %%
ranks.start(RANKS)

# %% [markdown]
# ## Guess first
#
# 1. Every rank starts with its own random weights. In every step the ranks average
#    their gradients, and nothing else. After 100 steps, are the models closer to each
#    other than at the start?
# 2. 8 ranks run on two machines with four GPUs each. The images are divided into 8
#    equal shares, 0 to 7. Each rank takes the share whose number is the rank's own
#    number *on its machine* (0 to 3). Which shares does nobody read?
# 3. A model has 6 gradient tensors. How many messages does Horovod send for them in
#    each step?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## The program that runs alone
#
# This one trains a small network on handwritten digits, by SGD with momentum, and knows
# nothing about ranks. (`new_model(seed)` makes a network of 32 hidden neurons, and
# `weights_of(model)` copies its weights into one vector. The helpers of this page are
# in `labkit.lessons.eight_steps`.)

# %% tags=["parameters"]
LOCAL_BATCH = eight_steps.LOCAL_BATCH  # 32 images per step on each rank
GLOBAL_BATCH = RANKS * LOCAL_BATCH
BASE_RATE = eight_steps.BASE_RATE  # 0.02, for one process with minibatches of 32
N, EPOCHS = 600, 2  # 600 is no multiple of 64, as in real life

images, labels = data.load("digits", n=N)
x, y = images[..., None].astype("float32") / 255, labels

# %%
def train_alone(model, optimizer, batches):
    """One process, one minibatch after the other. Returns the losses, and the weights
    before the first and after every step.
    """
    losses, weights = [], [weights_of(model)]
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = loss_function(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        losses.append(float(loss))
        weights.append(weights_of(model))
    return losses, weights


dataset = tf.data.Dataset.from_tensor_slices((x, y))
batches = dataset.batch(GLOBAL_BATCH, drop_remainder=True).repeat(EPOCHS)
optimizer = tf.keras.optimizers.SGD(BASE_RATE * RANKS, momentum=0.9)
alone_losses, alone = train_alone(new_model(seed=0), optimizer, batches)
from_alone = eight_steps.from_sequential(alone)  # how far runs on ranks are from it
print(
    f"{len(alone_losses)} steps of {GLOBAL_BATCH} images: the loss falls from "
    f"{alone_losses[0]:.2f} to {alone_losses[-1]:.2f}"
)

# %% [markdown]
# All later runs are compared with this *sequential run*. Each of your two ranks will
# take 32 of the 64 images of a step. If everything is right, every rank has *these*
# weights after every step.

# %% [markdown]
# ## Horovod wakes up
#
# `hvd.init()` connects the ranks, which are MPI processes on this page. On every rank
# it also starts a thread that does nothing but communicate. You will watch this thread
# at work below.

# %%
# %%ranks
os.environ["HOROVOD_TIMELINE"] = "DYNAMIC"  # we will record what Horovod does, later
# ms between two looks for work (default 1): 2 is kinder where ranks share cores
os.environ["HOROVOD_CYCLE_TIME"] = "2"
tf.get_logger().setLevel("ERROR")
hvd.init()
print(
    f"rank {hvd.rank()} of {hvd.size()}, number {hvd.local_rank()} of "
    f"{hvd.local_size()} on this machine"
)

# %% [markdown]
# Every rank has two numbers. `hvd.rank()` counts over all machines, `hvd.local_rank()`
# starts from 0 on every machine. Here there is only one machine, so the two are equal.
# That is why confusing them is not noticed on one machine.

# %% [markdown]
# ## By hand, one change at a time
#
# Four programs, each with one change more than the one before:
#
# 1. **each for itself**: only `hvd.init()`; every rank trains its own model, on the
#    same images
# 2. **+ shards**: with p ranks, rank r takes the images r, r + p, r + 2 p ...
# 3. **+ average**: gradients are averaged with `hvd.allreduce`, tensor by tensor
# 4. **+ broadcast**: before the first step all ranks get the weights of rank 0, with
#    `hvd.broadcast`
#
# All four use the learning rate of the sequential run. **Predict:** in which of them do
# the ranks come closer to each other during the training, if in any? Which follow the
# sequential run?

# %%
# %%ranks --deadline 150
def train_by_hand(share, average, broadcast):
    """The sequential program with some of the changes. Returns the weights before the
    first and after every step.
    """
    model = new_model(seed=hvd.rank())
    optimizer = tf.keras.optimizers.SGD(BASE_RATE * hvd.size(), momentum=0.9)
    mine = slice(hvd.rank(), None, hvd.size()) if share else slice(None)
    batches = tf.data.Dataset.from_tensor_slices((x[mine], y[mine])).batch(LOCAL_BATCH)
    if broadcast:
        for variable in model.variables:
            variable.assign(hvd.broadcast(variable, root_rank=0))
    weights = [weights_of(model)]
    for images, labels in batches.take(N // GLOBAL_BATCH).repeat(EPOCHS):
        with tf.GradientTape() as tape:
            loss = loss_function(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        if average:
            gradients = [hvd.allreduce(one, op=hvd.Average) for one in gradients]
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        weights.append(weights_of(model))
    return weights

# %%
# %%ranks --deadline 150
runs = {
    "each for itself": train_by_hand(share=False, average=False, broadcast=False),
    "+ shards": train_by_hand(share=True, average=False, broadcast=False),
    "+ average": train_by_hand(share=True, average=True, broadcast=False),
    "+ broadcast": train_by_hand(share=True, average=True, broadcast=True),
}

# %% alt="Three panels over the steps, logarithmic: differences between ranks, between their paths, and to the sequential run. Without averaging all three are large; with it the paths of the ranks agree to rounding, but the ranks stay as far apart as they began; with the broadcast as well, all three are at rounding."
panels = {"between ranks": between_ranks, "between their paths": between_paths}
panels["to the sequential run"] = from_alone
eight_steps.draw_differences(ranks.pull("runs"), panels)

# %% [markdown]
# All four run to the end without an error. Only one of them is data-parallel training.
#
# - **Each for itself** and **+ shards** train unrelated models.
# - **+ average** answers your first guess. The middle panel compares the ranks'
#   *paths*: the change of the weights since the start. The paths are the same, up to
#   rounding. All ranks take the same steps from different starting points, so they stay
#   as far apart as they began: averaging brings no rank closer to another. And these
#   steps fit none of the models, because each step is a mean over gradients of
#   different models.
# - **+ broadcast** is data-parallel training. The difference between the ranks is
#   exactly 0.0 after every step. The difference from the sequential run is rounding,
#   because the 64 images are summed in another order; the grey line is the promised
#   1e-5.
#
# ![The weights of two ranks as points that go from step to step. Own gradients: two starts, two unrelated paths. With averaged gradients: two starts and paths of the same form, as far apart at the end as at the beginning. With averaging and a broadcast: rank 1 takes over the start of rank 0, and both follow one path.](../../images/weights_of_two_ranks.svg)

# %% [markdown]
# ## The eight steps
#
# The usual recipe for Horovod has eight steps (in the order of a course of the Argonne
# Leadership Computing Facility, ALCF, 2022). The changes that you have just made by
# hand are among them; for some steps Horovod has a call.
#
# | step | what | if it is missing |
# |---|---|---|
# | 1 | `hvd.init()` | nothing works: an error at once |
# | 2 | one GPU per rank, memory growth | all ranks of a machine compute on GPU 0 and compete for memory |
# | 3 | share out the data, *and* the number of steps | an epoch has as many steps as before; or some ranks wait for ever |
# | 4 | scale the learning rate | fewer steps of the same size: less progress per epoch |
# | 5 | `hvd.DistributedGradientTape` | unrelated models |
# | 6 | `hvd.broadcast_variables`: model *and* optimizer | equal steps from different starting points |
# | 7 | checkpoint on rank 0 | all ranks write one file at the same time |
# | 8 | average the metrics | you see the loss of one rank's share of the data |
#
# ![The eight steps on timelines of four ranks. Once: each rank takes one GPU (steps 1 and 2) and its share of the data (3); a broadcast from rank 0 over all ranks (6). For every minibatch: forward and backward pass, an average of the gradients over all ranks (5), a step with the scaled learning rate (4). After every epoch: an average of the metrics over all ranks (8), and rank 0 alone saves (7).](../../images/eight_steps.svg)
#
# In the exercises you write these steps as five functions. At the end they make up
# *one* program, which you compare with the sequential run.

# %% [markdown]
# ### Steps 1 and 2: initialise and pin (2 points)
#
# A machine with 4 GPUs runs 4 ranks. By default TensorFlow takes *all* memory of *all*
# GPUs that it sees, so four ranks would compete for the same memory. Let each rank see
# only one GPU (*pin* it), and let the memory grow as needed.
#
# You probably work without a GPU, and certainly on one machine. So the function gets
# the two modules as arguments, and the check passes fake modules that imitate a
# cluster. **Think first:** rank 5 of 8 runs on the second of two machines with 4 GPUs
# each. Which of its numbers chooses the GPU?

# %% nbgrader={"grade": false, "grade_id": "init_and_pin", "locked": false, "schema_version": 3, "solution": true, "task": false}
def init_and_pin(tf, hvd) -> None:
    """Steps 1 and 2: initialise Horovod and give this rank one GPU of its machine.

    tf: the tensorflow module
    hvd: the horovod.tensorflow module
    Changes: the devices that TensorFlow sees

    - one machine: a rank sees the GPU whose number is its local rank and no other
      (`tf.config.set_visible_devices`); it still sees its CPU. The memory of at
      least this GPU grows as needed (`tf.config.experimental.set_memory_growth`).
    - several machines, and one without a GPU: use the local rank, not the rank. A
      machine has a GPU for each of its ranks, or none at all. If it has none
      (`tf.config.list_physical_devices("GPU")` is empty), choose none.

    Example: local rank 2 of a machine with 4 GPUs sees only GPU 2.
    """
    ### BEGIN SOLUTION
    hvd.init()
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if gpus:
        tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_init_and_pin", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(init_and_pin)

# %% [markdown]
# ### Step 3: share out the data, and the steps (2 points)
#
# `dataset.shard(p, r)` keeps every p-th sample, beginning with number r. That is the
# half of step 3 that everybody remembers. The other half is the number of steps.
# Averaging is a collective: *all* ranks must take part in every step. If one rank has
# one minibatch more than the others, it can wait for them for ever.
#
# **Think first:** 10 samples, 3 ranks, minibatches of 2. How many steps can every rank
# take?

# %% nbgrader={"grade": false, "grade_id": "shard_dataset", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shard_dataset(
    dataset: tf.data.Dataset, n: int, local_batch_size: int
) -> tuple[tf.data.Dataset, int]:
    """Step 3: return this rank's minibatches and the number of steps of an epoch.

    dataset: tf.data.Dataset, n elements of one sample each, in the same order on every
        rank
    n: int, number of samples
    local_batch_size: int, samples of one step on each rank
    Returns: (minibatches, steps): a tf.data.Dataset of exactly `steps` minibatches of
        local_batch_size samples, and an int

    - equal shares: steps is the number of complete global minibatches in n samples; it
      can be 0. No sample is used twice; which rank gets which samples is up to you.
    - unequal shares: samples that are left over are not used in this epoch.

    Example: n = 11, 2 ranks, local_batch_size = 2: 2 steps; 3 samples are left out.
    """
    ### BEGIN SOLUTION
    steps = n // (local_batch_size * hvd.size())
    shard = dataset.shard(num_shards=hvd.size(), index=hvd.rank())
    return shard.batch(local_batch_size, drop_remainder=True).take(steps), steps
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_shard_dataset", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(shard_dataset)

# %% [markdown]
# Your ranks now share 30 samples in minibatches of 3. Each row is a rank, each list is
# one step, and the numbers are the samples.

# %% tags=["raises-exception"]
# %%ranks
minibatches, steps = shard_dataset(tf.data.Dataset.range(30), 30, 3)
print(steps, "steps:", *(minibatch.numpy() for minibatch in minibatches))

# %% [markdown]
# ### Step 4: the learning rate (2 points)
#
# With 4 ranks a step looks at 4 times as many images, so the gradient is a better
# estimate, and there are a quarter as many steps in an epoch. To get as far in an
# epoch, each step should be 4 times as long: multiply the learning rate by the number
# of ranks. At the very beginning, while the weights change quickly, such steps can be
# too long. So the learning rate starts low and rises: the **warm-up**.

# %% nbgrader={"grade": false, "grade_id": "learning_rate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def learning_rate(
    step: int, base_rate: float, world_size: int, warmup_steps: int
) -> float:
    """Step 4: return the learning rate of a step, scaled linearly after a warm-up.

    step: int, from 0
    base_rate: float, the rate of one process
    world_size: int, number of ranks
    warmup_steps: int, steps of the warm-up
    Returns: float

    - the warm-up: the rate rises linearly from base_rate at step 0 to base_rate *
      world_size at step warmup_steps (Goyal et al. 2017, section 2.2).
    - after the warm-up, or without one: the rate is base_rate * world_size; if
      warmup_steps is 0, from step 0 on.

    Example: learning_rate(5, 0.1, 4, 10) == 0.25
    """
    ### BEGIN SOLUTION
    scaled = base_rate * world_size
    if step >= warmup_steps:
        return scaled
    return base_rate + (scaled - base_rate) * step / warmup_steps
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_learning_rate", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(learning_rate)

# %% [markdown]
# ### Steps 5 and 6: a training step (4 points)
#
# `hvd.DistributedGradientTape(tape)` wraps a tape; its `gradient` method returns
# gradients averaged over all ranks. `hvd.broadcast_variables(variables, root_rank=0)`
# overwrites variables with those of rank 0. Broadcast those of the model and those of
# the optimizer: SGD with momentum and Adam keep a state, and ranks with different
# states take different steps.
#
# There is a catch: a Keras optimizer creates its variables *when it first applies a
# gradient*. Before the first step the optimizer has no momentum to broadcast. Hence the
# common advice: broadcast **after** the first step. After this exercise you measure the
# effect.

# %% nbgrader={"grade": false, "grade_id": "horovod_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def horovod_step(model, optimizer, loss_function, x, y, first_batch: bool):
    """Steps 5 and 6: take one training step on this rank's minibatch.

    model: Keras model, to be called with training=True
    optimizer: Keras optimizer, built on all ranks or on none; its learning rate is
        already scaled
    loss_function: function, loss_function(y, prediction) is a mean over the minibatch
    x, y: arrays, this rank's minibatch
    first_batch: bool, True in the first step
    Returns: scalar, the loss of this rank's minibatch

    - equal weights at the start: average the gradients over all ranks before they are
      applied.
    - every rank starts with its own model: on the first batch only, replace all
      variables of the model (frozen ones, too) and of the optimizer with rank 0's,
      before or after the step.
    - rank 0 goes on from a checkpoint: after the first batch, model and optimizer are
      the same on all ranks.

    Example: 2 ranks with gradients [1] and [3]: both apply [2].
    """
    ### BEGIN SOLUTION
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first_batch:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return loss
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_horovod_step", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(horovod_step)

# %% [markdown]
# ### The effect of a broadcast after the first step
#
# Compare three programs. One broadcasts before the first step:
# `optimizer.build(model.trainable_variables)` creates the optimizer's variables early,
# so there is something to broadcast. One broadcasts after the first step, and one
# never. Every rank starts with its own model. **Predict:** in which of them do the
# ranks agree? Which follow the sequential run?

# %%
# %%ranks --deadline 150
runs = {
    when: eight_steps.train_with_broadcast(when, x, y, EPOCHS)
    for when in ("never", "after the first step", "before the first step")
}

# %% alt="Two panels over the steps, logarithmic: differences between ranks and to the sequential run, for a broadcast never, after the first step and before it. After the first step the ranks agree, but only with the broadcast before it do they follow the sequential run."
panels = {"between ranks": between_ranks, "to the sequential run": from_alone}
eight_steps.draw_differences(ranks.pull("runs"), panels)

# %% [markdown]
# - **After the first step**: in the first step the ranks still hold *different* models,
#   so they average gradients of different models, and the mean fits none of them. Rank
#   0 takes this one odd step, then all ranks get its weights. From then on all are
#   equal. This is correct training from a slightly different starting point; the right
#   panel shows no more harm than that.
# - **Before the first step**: the ranks are equal from the beginning, and equal to the
#   sequential run up to rounding.
# - If all ranks start with the same seed, both broadcasts give the same result. But if
#   only rank 0 *has read a checkpoint*, a first step with gradients of other models may
#   undo part of what it has learned: broadcast before that step. Call
#   `optimizer.build` on *every* rank or on none: Horovod matches variables by name, and
#   the momentum has a different name if `build` creates it (`m/...`) than if the first
#   step does (`SGD/m/...`). If the names differ between ranks, the ranks wait for ever.

# %% [markdown]
# ### Steps 7 and 8: the end of an epoch (2 points)
#
# Every rank knows the loss of *its* images. You want the mean over all images, and the
# ranks may have seen different numbers of them: at the end of a test set one rank may
# have none. Only one rank writes the checkpoint, but *all* ranks take part in the
# all-reduce. Which of the two belongs inside `if hvd.rank() == 0`? (`hvd.allreduce`
# takes tensors: convert plain numbers with `tf.constant`.)

# %% nbgrader={"grade": false, "grade_id": "finish_epoch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def finish_epoch(save, loss: float, accuracy: float, count: int) -> dict:
    """Steps 7 and 8: write one checkpoint and return the metrics of all samples.

    save: function, save() writes the checkpoint
    loss: float, mean over the samples that this rank has seen
    accuracy: float, mean over the same samples
    count: int, number of these samples; a rank without samples has 0 for all three; at
        least one rank has samples
    Returns: dict {"loss": float, "accuracy": float}; scalar tensors will do

    - the metrics of all samples: the means over the samples of all ranks, on every
      rank.
    - one checkpoint: only rank 0 calls save, and only once, before or after the
      all-reduce.

    Example: losses 1.0 of 30 samples and 2.0 of 10: {"loss": 1.25, ...} on both ranks.
    """
    ### BEGIN SOLUTION
    sums = hvd.allreduce(
        tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum
    ).numpy()
    if hvd.rank() == 0:
        save()
    return {"loss": float(sums[0] / sums[2]), "accuracy": float(sums[1] / sums[2])}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_finish_epoch", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(finish_epoch)

# %% [markdown]
# ## Half-time
#
# You have written all eight steps: a rank knows its GPU, its share and its learning
# rate, starts from rank 0's variables, averages gradients and metrics, and rank 0 alone
# writes the checkpoint. This is a good place for a break: next your functions run
# together.

# %% [markdown]
# ## All eight together
#
# Here is the sequential program once more, with your five functions in it. All ranks
# start with seed 0, so it should not matter when you broadcast. There is no warm-up,
# because the sequential run had none. (In a script, pinning comes before all other
# calls of TensorFlow.)

# %% tags=["raises-exception"]
# %%ranks --deadline 150
init_and_pin(tf, hvd)
dataset = tf.data.Dataset.from_tensor_slices((x, y))
minibatches, steps = shard_dataset(dataset, N, LOCAL_BATCH)
model = new_model(seed=0)
optimizer = tf.keras.optimizers.SGD(momentum=0.9)
step, losses, weights, metrics = 0, [], [weights_of(model)], []
for epoch in range(EPOCHS):
    correct = []
    for images, labels in minibatches:
        correct.append(np.mean(model(images).numpy().argmax(axis=1) == labels))
        rate = learning_rate(step, BASE_RATE, hvd.size(), warmup_steps=0)
        optimizer.learning_rate = rate
        batch = (images, labels)
        loss = horovod_step(model, optimizer, loss_function, *batch, step == 0)
        losses.append(float(loss))
        weights.append(weights_of(model))
        step += 1
    mine = float(np.mean(losses[-steps:])), float(np.mean(correct))
    count = steps * LOCAL_BATCH
    metrics.append(finish_epoch(lambda: print("rank 0 saves"), *mine, count))
    loss = metrics[-1]["loss"]
    print(f"epoch {epoch}: loss here {mine[0]:.3f}, of all ranks {loss:.3f}")

# %% tags=["raises-exception"] alt="Above, the loss over the steps: the mean of the ranks lies on the curve of one process. Below, their difference, logarithmic: at float32's rounding."
of_ranks = ranks.pull("weights")
largest = max(between_ranks(of_ranks)), max(from_alone(of_ranks))
eight_steps.print_largest(*largest, promise="   (promised: 1e-5)")
mean_loss = np.mean(ranks.pull("losses"), axis=0)
beside_sequential(
    alone_losses,
    {f"{RANKS} ranks, {LOCAL_BATCH} each, mean over the ranks": mean_loss},
    {"mean of the ranks": np.abs(mean_loss - alone_losses)},
    ylim=(3e-10, 1e-3),
)

# %% [markdown]
# The ranks do not differ at all, and they differ from the sequential run only by
# rounding. (If your shards are blocks instead of every second sample, your minibatches
# hold other images than those of the sequential run. That is allowed, but then the two
# runs differ, and this picture shows it.)
#
# The two runs agree because this model treats each sample independently and draws no
# random numbers. Dropout draws its own random numbers on each rank, and batch
# normalisation takes the mean over 32 images instead of 64: with these layers, parallel
# and sequential training differ, and both are right.

# %% [markdown]
# ## In Keras: callbacks · stretch
#
# With `model.fit` you have no loop to change. The steps become callbacks and a wrapped
# optimizer, `hvd_keras.DistributedOptimizer`, which averages gradients before it
# applies them.
#
# Keras calls callbacks **in the order of the list**, and each sees in `logs` what the
# callbacks before it have written. So the order matters. The list in the next cell has
# two spies, one before and one after the callback that averages; a spy records the loss
# that it sees. `eight_steps.fit` wraps the optimizer and calls `model.fit`; every rank
# starts with its own weights. **Predict** what the spies see.

# %%
# %%ranks --deadline 150
before, after = eight_steps.Spy(), eight_steps.Spy()
broadcast = hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0)
average = hvd_keras.callbacks.MetricAverageCallback()
eight_steps.fit([broadcast, before, average, after], 2, x, y)
print(f"before: {before.losses}   after: {after.losses}")

# %% [markdown]
# Before the averaging, each rank sees the loss of its own half; after it, all see the
# same loss. A callback that *decides* by a metric (lower the rate? stop? is this the
# best model so far?) must come after it, or the ranks decide differently. If one rank
# alone changes its learning rate, the models drift apart; if one rank alone stops, the
# others wait for ever.
#
# Horovod's warm-up callback needs `momentum_correction=False` here: the correction
# changes the momentum, but Keras's SGD keeps it as a plain number, not as a variable.
#
# ### The callbacks of a rank (3 points)

# %% nbgrader={"grade": false, "grade_id": "keras_callbacks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def keras_callbacks(
    scaled_rate: float, warmup_epochs: int, plateau, checkpoint
) -> list:
    """Steps 4 and 6 to 8 for `model.fit`: return this rank's callbacks.

    scaled_rate: float, learning rate after the warm-up: base rate times number of ranks
    warmup_epochs: int, at least 1
    plateau: callback that lowers the rate when the loss over all ranks no longer falls;
        every rank needs it
    checkpoint: callback that saves the model and records that loss; for rank 0 of all
        ranks, and no other
    Returns: list of callbacks, in the order in which Keras is to call them

    - one model, one learning rate: rank 0's variables are broadcast, and the rate rises
      for warmup_epochs. For the rate use Horovod's LearningRateWarmupCallback(
      initial_lr, warmup_epochs=..., momentum_correction=False): despite its name,
      initial_lr is the rate *after* the warm-up.
    - one loss, one checkpoint: metrics are averaged. Order matters only for callbacks
      that use metrics: they come after the averaging.

    Example: with 2 ranks, rank 0's list has one callback more than rank 1's.
    """
    ### BEGIN SOLUTION
    callbacks = [
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd_keras.callbacks.MetricAverageCallback(),
        hvd_keras.callbacks.LearningRateWarmupCallback(
            initial_lr=scaled_rate,
            warmup_epochs=warmup_epochs,
            momentum_correction=False,
        ),
        plateau,
    ]
    if hvd.rank() == 0:
        callbacks.append(checkpoint)
    return callbacks
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_keras_callbacks", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(keras_callbacks)

# %% [markdown]
# Now your callbacks run for three epochs, two of them warm-up. A spy at the end of the
# list records the learning rate of every step. The line is *your* `learning_rate`, the
# dots are the rates that Keras used.

# %% tags=["raises-exception"]
# %%ranks --deadline 150
spy = eight_steps.Spy()
checkpoint = eight_steps.SaysThatItSaves()
plateau = tf.keras.callbacks.ReduceLROnPlateau("loss", patience=5)
callbacks = keras_callbacks(BASE_RATE * hvd.size(), 2, plateau, checkpoint)
model = eight_steps.fit([*callbacks, spy], 3, x, y)
rates, weights = spy.rates, weights_of(model)

# %% tags=["raises-exception"] alt="Learning rate over the steps: the line of learning_rate(step) rises from the rate of one process to that times the ranks during the warm-up and stays there; Keras' points run one step ahead of it."
rates = ranks.pull("rates")[0]
warmup_steps = 2 * (N // GLOBAL_BATCH)
mine = [learning_rate(k, BASE_RATE, RANKS, warmup_steps) for k in range(len(rates))]
eight_steps.draw_rates(mine, rates, RANKS)
apart = between_ranks([[w] for w in ranks.pull("weights")])[0]
print(f"largest difference between ranks {apart:.1e}")

# %% [markdown]
# The dots run one step ahead: Horovod counts so that the *last* step of the warm-up has
# the full rate. And the broadcast callback broadcasts *after* the first step, in
# `on_batch_end` of the first minibatch.

# %% [markdown]
# ## In PyTorch · stretch
#
# The same steps have other names here. `hvd_torch.init()` has already been called when
# your function begins. You broadcast with
# `hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)` and
# `hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)`. PyTorch's parameters
# exist from the start, so you broadcast before the first step. (An optimizer state that
# does not exist yet is made by Horovod.) `hvd_torch.DistributedOptimizer(optimizer,
# named_parameters=model.named_parameters())` wraps the optimizer. Like DDP, it starts
# to average a gradient *during* `backward`, as soon as that gradient is ready; its
# `step` waits for all of them. `hvd_torch.broadcast_object(obj, root_rank=0,
# name="start")` returns rank 0's object on every rank. Give it a name: without one
# Horovod takes the type of `obj` as the name, and ranks that pass objects of different
# types wait for different messages.
#
# The exercise adds something that every long training needs: resuming from a checkpoint
# that only rank 0 has read. **Think first:** wrapping makes a *new* optimizer. What
# happens to the momentum of the old one?
#
# ### Train in PyTorch (3 points)

# %% nbgrader={"grade": false, "grade_id": "train_torch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_torch(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    checkpoint: dict | None,
    loss_function,
    batches: list,
) -> None:
    """Train a PyTorch model in place with Horovod, one step for each minibatch.

    model: nn.Module; all its parameters are trained
    optimizer: new SGD with momentum and no weight decay for the model's parameters;
        its learning rate is already scaled
    checkpoint: on rank 0 an optimizer's state_dict to resume from, with the same
        learning rate, or None; on the other ranks None
    loss_function: function, loss_function(prediction, y) is a mean over the minibatch
    batches: list of (x, y), this rank's minibatches
    Changes: model, by one step for each of `batches`; nothing is returned, and the
        optimizer is not used afterwards

    - equal weights at the start: every step applies gradients averaged over the ranks.
    - every rank starts with its own model: all ranks start with rank 0's parameters,
      and with the optimizer state of its checkpoint if there is one.

    Example: with a checkpoint on rank 0, the first step of rank 1 uses rank 0's
    momentum.
    """
    ### BEGIN SOLUTION
    optimizer = hvd_torch.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters()
    )
    if checkpoint is not None:
        # now: wrapping an optimizer makes a new one, without the old one's state
        optimizer.load_state_dict(checkpoint)
    # The optimizer first: where it has no state yet, Horovod lets it make a step with
    # zeros, which with weight decay moves the parameters.
    hvd_torch.broadcast_optimizer_state(optimizer, root_rank=0)
    hvd_torch.broadcast_parameters(model.state_dict(), root_rank=0)
    for x, y in batches:
        optimizer.zero_grad()
        loss_function(model(x), y).backward()
        optimizer.step()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_train_torch", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(train_torch)

# %% [markdown]
# Compare it with the sequential loop of unit 05, `training.train`, on the same images.
# (Every rank runs that loop by itself, with the same result.)

# %% tags=["raises-exception"]
# %%ranks
hvd_torch.init()  # Horovod for PyTorch is a library of its own
torch.manual_seed(rank)
model = models.mlp(hidden=(32,))
batches = eight_steps.torch_shares(x, y, rank, world_size)
optimizer = torch.optim.SGD(model.parameters(), lr=BASE_RATE * world_size, momentum=0.9)
train_torch(model, optimizer, None, torch.nn.functional.cross_entropy, batches)
torch_weights = training.flat(model.parameters()).numpy()

# %% tags=["raises-exception"]
# %%ranks
torch_alone = eight_steps.torch_alone(x, y, world_size)

# %% tags=["raises-exception"]
of_ranks, reference = ranks.pull("torch_weights"), ranks.pull("torch_alone")[0]
eight_steps.print_differences(of_ranks, reference)

# %% [markdown]
# ## Watch Horovod work
#
# Gradients can become ready in different orders on different ranks, but all ranks must
# call collectives in the same order. So your program does not call them itself: it
# hands each gradient to Horovod's thread. Again and again the threads of all ranks
# agree on *which tensors are ready on all ranks*, and reduce these next. Small tensors
# that are ready at the same time are copied into one long buffer, sent as one message
# and copied back: **tensor fusion**.
#
# ![Tensor fusion: six gradients of sizes 3, 1, 2, 1, 2 and 1 that are ready are copied one after another into one buffer. One all-reduce averages the whole buffer. Then the averages are copied back into six tensors. Two copies in memory are the price of one message in place of six.](../../images/tensor_fusion.svg)
#
# Horovod can record this in a *timeline*. You record it twice, for a model with 6
# gradients. First the program hands over all six and then waits for them, like the
# wrapped tape and the wrapped optimizer. Then it hands them over one by one, as you did
# by hand. Horovod for PyTorch has a call for each half: `allreduce_async` hands over,
# `synchronize` waits. The result answers **your third guess**.

# %%
recordings = TemporaryDirectory(prefix="timeline-")
folder = recordings.name

# %%
# %%ranks --deadline 150
hvd_torch.init()
named = models.mlp().named_parameters()
gradients = {name: torch.ones_like(parameter) for name, parameter in named}


def average_at_once():
    handles = [hvd_torch.allreduce_async(g, name=name) for name, g in gradients.items()]
    for handle in handles:
        hvd_torch.synchronize(handle)


def average_one_by_one():
    for name, gradient in gradients.items():
        hvd_torch.allreduce(gradient, name=name)

# %%
# %%ranks --deadline 150
for average in (average_at_once, average_one_by_one):
    average()  # Horovod learns the names
    # rank 0 writes the file
    hvd_torch.start_timeline(f"{folder}/{average.__name__}.json")
    for _ in range(5):
        average()
    hvd_torch.stop_timeline()

# %% alt="Timeline of six gradients handed over at once: after a common negotiation they travel together in few transfers."
names = ("average_at_once", "average_one_by_one")
steps_of = {name: eight_steps.recorded(f"{folder}/{name}.json") for name in names}
figure = horovod_timeline.draw(steps_of["average_at_once"][-1], title="at once")

# %% alt="Timeline of the same six gradients one by one: each waits for its own negotiation and its own transfer, one after the other."
figure = horovod_timeline.draw(steps_of["average_one_by_one"][-1], title="one by one")

# %% [markdown]
# Each lane is a tensor. A thick frame marks tensors that are sent as one message. At
# once: 6 tensors, *one* all-reduce, at the price of two copies in memory. (On a busy
# machine it may be two all-reduces.) One by one: six all-reduces and six rounds of
# agreement, between which the thread sleeps for up to 2 ms (the cycle time that you set
# above). Fusion is the one long vector of units 03 and 05, made by the library from
# whatever is ready. Compare the time axes: by what factor do they differ?
#
# The timeline also shows **who is late**. In the next cell one rank has more to do than
# the others. Which? The hatched block is the time until all agree. Each digit in it is
# a rank, drawn where rank 0 hears that this rank is ready.

# %%
# %%ranks
hvd_torch.start_timeline(f"{folder}/late.json")
time.sleep(0.15 if rank == world_size // 2 else 0.05 * rank / world_size)
hvd_torch.allreduce(torch.ones(1000), name="a gradient")
hvd_torch.stop_timeline()

# %% alt="Timeline with one late rank: the negotiation of the tensor is long, from the first rank that was ready to the late one, and the transfer short."
figure = horovod_timeline.draw(
    horovod_timeline.read(f"{folder}/late.json"), title="one late rank"
)

# %% [markdown]
# To record a program from start to end, run `HOROVOD_TIMELINE=timeline.json mpiexec -n
# 4 python train.py`; you can also open the file in Chrome, at `chrome://tracing`. When
# training on many ranks is slow, look at the timeline first. Long hatched blocks mean
# that ranks wait for each other, long solid ones that the network is slow.

# %% [markdown]
# ## Break it
#
# Below is a training program with Horovod, of the kind that is copied from project to
# project. It runs, and its loss falls. It contains **three mistakes**, each of them
# seen in published code or course material. Find the three lines before you run it;
# there is a cell for your answer below.
#
# Here your ranks act as two machines, with half of the ranks on each, so every
# `local_rank` occurs twice.

# %%
# %%ranks --deadline 150
def specimen(model, optimizer, local_rank, epochs):
    number = np.arange(len(x))
    dataset = tf.data.Dataset.from_tensor_slices((x, y, number))
    dataset = dataset.shard(hvd.size(), local_rank)
    dataset = dataset.batch(LOCAL_BATCH, drop_remainder=True).take(N // GLOBAL_BATCH)
    seen = []
    for epoch in range(epochs):
        for batch, (images, labels, numbers) in enumerate(dataset, start=1):
            with tf.GradientTape() as tape:
                loss = loss_function(labels, model(images, training=True))
            tape = hvd.DistributedGradientTape(tape)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            if epoch == 0 and batch == 0:
                hvd.broadcast_variables(model.variables, root_rank=0)
                hvd.broadcast_variables(optimizer.variables, root_rank=0)
            seen += numbers.numpy().tolist()
        loss = hvd.allreduce(loss, op=hvd.Average)
        if hvd.rank() == 0:
            print(f"epoch {epoch}: loss {float(loss):.3f}")
        if hvd.rank() != 0:
            written.append(f"epoch {epoch}")  # stands for: model.save("checkpoint")
    return seen

# %%
# %%ranks --deadline 150
written = []
model = new_model(seed=hvd.rank())
optimizer = tf.keras.optimizers.SGD(BASE_RATE * hvd.size(), momentum=0.9)
seen = specimen(model, optimizer, local_rank=rank % (world_size // 2), epochs=3)

# %%
line_1, line_2, line_3 = "?", "?", "?"

# %% [markdown]
# Everything looks fine. Now ask the ranks what such a program never prints: how far
# apart their weights are, how many images they have read, and who wrote the checkpoint.

# %%
# %%ranks
weights = weights_of(model)

# %%
found = [ranks.pull(name) for name in ("weights", "seen", "written")]
eight_steps.print_evidence(*found, N)

# %% [markdown]
# - **The broadcast never happens.** `enumerate(..., start=1)` counts batches from 1,
#   but the condition waits for batch 0. Every rank continues from its own start, and
#   the printed loss is a mean over different models. It falls all the same. Check that
#   such a condition does come true. Or better, do without it: build the optimizer,
#   broadcast, then start the loop.
# - **`shard(hvd.size(), local_rank)`.** Every local rank occurs once on each machine,
#   so both machines read the same images, and nobody reads the other half. That answers
#   your second guess. On *one* machine local rank and rank are equal, so every test on
#   your laptop passes. Rule: `local_rank` chooses the GPU and nothing else.
# - **`hvd.rank() != 0`** makes every rank save except the one that should. With 8
#   ranks, seven of them write the same file at the same time. With 1 rank there is no
#   checkpoint at all, and you find out when the job is over.
#
# ![Two machines with four ranks each: rank 0 to 3 and 4 to 7, local rank 0 to 3 on both. Below, the eight shares of the images. Chosen by rank, each share is read once. Chosen by local rank, shares 0 to 3 are read twice, shares 4 to 7 by nobody.](../../images/two_kinds_of_rank.svg)
#
# `eight_steps.mended` is the same program with the three mistakes corrected: compare it
# with the one above. Then ask the same questions:

# %%
# %%ranks --deadline 150
model, seen, written = eight_steps.mended(x, y, epochs=3)
weights = weights_of(model)

# %%
found = [ranks.pull(name) for name in ("weights", "seen", "written")]
eight_steps.print_evidence(*found, N)

# %% [markdown]
# ## What is it worth?
#
# Beside this notebook are two scripts: `resnet34_throughput.py` trains a ResNet-34 on
# synthetic images in one process, `resnet34_throughput_hvd.py` does the same with
# Horovod. They are written in PyTorch, because its processes start faster, and seven of
# them start below. The eight steps are the same, with a wrapped optimizer instead of a
# wrapped tape, and the broadcast before the first step. Compare the two line by line:
# every difference is one of the steps. (A measurement needs no warm-up of the learning
# rate and no checkpoint. Step 7 becomes: only rank 0 reports. Step 8: the time of a
# step is the maximum over the ranks.)
#
# The next cell runs the second one with tiny images and a thin network, 8 images and
# one thread per rank. It prints the **throughput**: images per second over all ranks
# together, as mean and standard deviation over 10 steps.
#
# **Predict** the throughput of 2 and of 4 ranks, as multiples of that of one rank. How
# many cores do you have?

# %% tags=["parameters"]
ranks.stop()  # they would take part of the cores
recordings.cleanup()
throughput = eight_steps.throughput
here = {p: throughput(p) for p in (1, 2, 4)}

# %% alt="Images per second over the ranks in two panels, measured here and published for GPUs: means with bars of one standard deviation, below the dashed line of the first times the number of ranks."
eight_steps.draw_throughput(here)

# %% [markdown]
# On the left, the curve bends where there are more ranks than cores. On 2 cores, 4
# ranks cannot do more work than 2, and they pay for the communication of 4.
#
# On the right are figures from a course of the Argonne Leadership Computing Facility
# (H. Zheng, *AI for science training series*, 06 distributed training, 2022): ResNet-34
# on 1 to 8 GPUs, mean and standard deviation over 10 steps. Look at the error bar of
# *one* GPU: 27 % of its mean. All other figures are compared with it. Would you believe
# that 2 GPUs reach 68 % of perfect scaling? Unit 08 examines such figures.

# %% [markdown]
# ## What is still maintained
#
# Horovod's last release is 0.28.1, of June 2023 (github.com/horovod/horovod/releases).
# You will meet it for years in existing scripts; for a new program there are other
# choices. In PyTorch use DistributedDataParallel (unit 06), or `fully_shard` if the
# model is too large for one GPU (unit 15), both started by torchrun. In TensorFlow use
# `MultiWorkerMirroredStrategy` (unit 13). Databricks, which used to ship Horovod, calls
# it "now deprecated" and recommends `tf.distribute`, and TorchDistributor, which
# launches `torch.distributed` training (Azure Databricks' documentation, *Horovod*,
# archived).
#
# The eight steps remain, because they belong to data parallelism and not to Horovod:
# every such program must connect its ranks, choose a GPU for each, share out the data,
# scale the learning rate, average the gradients, start all ranks equal, save once and
# average the metrics. A library that does five of them leaves three to you and does not
# say which: unit 13 has the table.

# %% [markdown]
# ## What to remember
#
# - Eight steps, three of which (3, 5 and 6) serve one sentence: *all ranks start equal
#   and take the same step, each on its own share of the data*.
# - `local_rank` chooses the GPU. `rank` chooses the data. Rank 0 prints and saves.
#   Collectives are for **all** ranks.
# - Equal weights are a fact that you can measure: the largest difference between ranks
#   is exactly 0. Print it once in every new program.
# - Averaged gradients without a broadcast keep the ranks as far apart as they were. A
#   broadcast after the first step costs one odd step; to avoid it, build the optimizer
#   and broadcast before that step.
# - In Keras the order of callbacks is part of the program: average the metrics before
#   any decision depends on them.
# - Horovod fuses the gradients that are ready at the same time. The timeline shows it,
#   and shows who is late.
#
# **To think about.** In every cycle Horovod's threads *agree* on the tensors to reduce.
# DDP fixes the order at the beginning: when the model is wrapped, and once more after
# the first step. What can go wrong with DDP that cannot go wrong with Horovod, and what
# does Horovod pay for that?
#
# Next, unit 08: what is a speedup worth?

# %% [markdown]
# ## Deeper: starting a job
#
# `mpiexec -n 8 python train.py` is all that Horovod needs. Its own `horovodrun -np 8 -H
# node1:4,node2:4 python train.py` does the same on two nodes, reached by ssh;
# `horovodrun --gloo` needs no MPI at all: the ranks then find each other through a
# small server that Horovod starts. Tensors on GPUs are sent with NCCL if Horovod was
# built with `HOROVOD_GPU_OPERATIONS=NCCL`; by default they are copied to the host and
# sent with MPI or gloo, like CPU tensors.
#
# | variable | what it does |
# |---|---|
# | `HOROVOD_TIMELINE=FILE` | writes the timeline of rank 0, from start to end |
# | `HOROVOD_FUSION_THRESHOLD` | bytes of the fusion buffer; 0 switches fusion off |
# | `HOROVOD_CYCLE_TIME` | ms between two rounds of agreement; a longer time means more fusion and a later start |
# | `HOROVOD_STALL_CHECK_TIME_SECONDS` | seconds after which Horovod names the ranks that are missing |
#
# ### To read
#
# - A. Sergeev, M. Del Balso, *Horovod: fast and easy distributed deep learning in
#   TensorFlow*, 2018, arXiv:1802.05799: 8 pages, with a timeline in it.
# - P. Goyal and others, *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*,
#   2017, arXiv:1706.02677: linear scaling and warm-up.
