# %% [markdown]
# # 13 · TensorFlow's strategies
#
# *Optional: if you use TensorFlow.*
#
# Horovod changes a program in eight places. TensorFlow's own way changes it in two
# places: you choose a **strategy**, and you make the model in its `scope()`. This page
# shows which of the eight steps these two lines take over, and which they silently
# leave to you.
#
# **At the end of this page** two processes that find each other through an environment
# variable have trained one model over gRPC (the remote procedure calls that TensorFlow
# uses). Their gradient of 64 samples equals that of the sequential program and that of
# Horovod, to 1e-12.
#
# **You need** units 05 and 07. **It takes** about 110 minutes, in two sittings. The
# cells themselves run for 30 seconds on two cores. They take about 1.6 GB of memory.

# %%
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

# TensorFlow: errors only, and no GPU
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

from labkit.environment import mpi_environment, mpiexec, need_frameworks

# tells you what to do if this Python has no TensorFlow; Horovod may be missing
need_frameworks(horovod=False)

import numpy as np
import tensorflow as tf
import three_ways  # the script beside this notebook

from autograder import check
from labkit.plots import charts, inputs

# %%
from labkit.environment import without_frameworks

print(f"TensorFlow {tf.__version__}; Horovod: {without_frameworks() or 'installed'}")
tf.get_logger().setLevel("ERROR")
tf.keras.backend.set_floatx("float64")

# %% [markdown]
# ## Guess first
#
# 1. A `MirroredStrategy` on 4 devices, `model.fit(x, y, batch_size=32)`. How many
#    samples does each device get in a step: 32 or 8?
# 2. Three replicas (copies of the model) share minibatches of 4 samples. How many
#    samples does each of them get?
# 3. Two replicas hold 4 samples and 1 sample. Each takes the mean of its losses, and
#    the gradients are averaged. By what factor is the single sample's weight too large?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Strategies, Horovod and DDL
#
# An IBM talk, from which this course grew, compares three libraries: *TF distribution
# strategies | Horovod | DDL*. All do data parallelism, mostly by all-reduce.
#
# | | TensorFlow's strategies | Horovod | DDL |
# |---|---|---|---|
# | frameworks | TensorFlow | TensorFlow, Keras, PyTorch, MXNet | TensorFlow, Caffe, Torch |
# | your changes | the place where the model is made | eight steps | "a library for easy use" |
# | who starts the processes | you, with `TF_CONFIG` for each | `mpiexec`, `horovodrun` | `ddlrun` |
# | name of a rank | worker, with one or more **replicas** in it | rank | rank |
# | availability | part of TensorFlow | open source, last release 2023 | closed source, no longer available |
#
# DDL, Distributed Deep Learning, was a library by IBM; the table quotes the abstract of
# its paper (M. Cho et al., *PowerAI DDL*, arXiv 1708.02188). Its core, several rings at
# once, is a topic of unit 18. You cannot run it here, so this page compares the other
# two. DDL should find the same gradient, but that was not measured.

# %% [markdown]
# ## MirroredStrategy: four replicas in one process
#
# `MirroredStrategy` is for one machine with several GPUs: one process, one copy of the
# model on each device. You probably do not have four GPUs, but TensorFlow can divide
# one CPU into **logical** devices, which a program uses like real ones. This must be
# set before TensorFlow first uses a device.

# %%
REPLICAS = 4
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * REPLICAS
)
tf.config.threading.set_inter_op_parallelism_threads(4 * REPLICAS)


def mirrored(replicas):
    """A MirroredStrategy on this number of logical CPUs. In place of its default, a
    collective all-reduce, it adds up on one device.
    """
    return tf.distribute.MirroredStrategy(
        [f"CPU:{k}" for k in range(replicas)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


strategy = mirrored(REPLICAS)

# %%
@tf.function
def who_am_i():
    context = tf.distribute.get_replica_context()
    own = tf.cast(context.replica_id_in_sync_group, tf.float64)
    return own, context.all_reduce("sum", own)


own, total = strategy.run(who_am_i)
for name, values in (("each replica's number", own), ("their sum", total)):
    print(f"{name:22}", [int(a) for a in strategy.experimental_local_results(values)])

with strategy.scope():
    model = three_ways.new_model()
print("a variable of the model is a", type(model.variables[0]).__name__)
print("on", [copy.device[-5:] for copy in model.variables[0].values])

# %% [markdown]
# `strategy.run(f)` runs f once in every replica: the code of f is like that of a rank.
# Code in the `scope()` belongs to no single replica, and a variable made there gets a
# copy on each device.
#
# ![A MirroredStrategy on four devices. Above, in strategy.scope(), the cross-replica context: a variable w is written once and lies on CPU:0 to CPU:3, a copy on each. Below, in strategy.run(f), the replica context: each of the replicas 0 to 3 reads the copy on its own device and applies f to its share. An all_reduce puts the gradients G together: the same sum in every replica.](../../images/scope_and_run.svg)
#
# ## Distributing a dataset: who gets which sample
#
# `strategy.experimental_distribute_dataset` divides a dataset among the replicas.
# According to TensorFlow's tutorial *Distributed input* (section "Batching"), the
# dataset is batched again, so that each replica gets a share of **your** batch: the
# batch size that you set is that of *all* replicas together. The tutorial prints
# examples; here two of them are tested.

# %%
def shares(n, batch, replicas):
    """For each step, the samples of each replica."""
    where = mirrored(replicas)
    dataset = tf.data.Dataset.range(n).batch(batch)
    return [
        [one.numpy().tolist() for one in where.experimental_local_results(values)]
        for values in where.experimental_distribute_dataset(dataset)
    ]


published = {
    (6, 4, 2): [[[0, 1], [2, 3]], [[4], [5]]],
    (8, 4, 3): [[[0, 1], [2, 3], []], [[4, 5], [6, 7], []]],
}
for (n, batch, replicas), claim in published.items():
    found = shares(n, batch, replicas)
    print(f"{n} samples, batch({batch}), {replicas} replicas: {found}", found == claim)

# %% [markdown]
# Both claims hold, and they answer your first two guesses: 8 samples each, not 32 (with
# Horovod the batch size is that of one rank), and of 4 samples on three replicas the
# third gets **none**. Not 2, 1 and 1. In every step of such a run a third of the
# machine does nothing, and the program must be able to handle an empty minibatch.

# %% [markdown]
# ## Gradients of the replicas
#
# Now a whole step. Each replica computes the gradient of its own samples, and the
# gradients are added up: by `context.all_reduce` in the replica, or outside by
# `strategy.reduce("sum", gradients, axis=None)`. **Think first:** the sum must be the
# gradient of the mean over *all* samples, however unevenly the replicas share them. By
# which number must each replica divide?
#
# ### The gradient of all samples (3 points)

# %% nbgrader={"grade": false, "grade_id": "mirrored_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mirrored_gradients(strategy, model, x, y) -> list:
    """Compute the gradient of the mean squared error over all samples on all replicas.

    strategy: a MirroredStrategy with p replicas
    model: Keras model, made in the strategy's scope
    x, y: float64 arrays (n, inputs) and (n, outputs); y has the shape of model(x)
    Returns: list with one gradient for each of model.trainable_variables: either a
        per-replica value, the same on all replicas (from `all_reduce`), or one tensor
        (from `strategy.reduce`)

    - equal shares: a sample's loss is the mean of (model(x) - y)**2 over the outputs;
      the loss is the mean over all n samples. Each sample passes through the model
      once, on one replica.
    - unequal shares: a replica gets at most ceil(n / p) samples; some may get none.

    Example: n = 5, p = 2. One replica computes 3 samples, the other 2; both divide by
    5.
    """
    ### BEGIN SOLUTION
    n = len(x)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(n)
    (minibatch,) = strategy.experimental_distribute_dataset(dataset)

    def step(x, y):
        with tf.GradientTape() as tape:
            losses = tf.keras.losses.mean_squared_error(y, model(x))
            share = tf.reduce_sum(losses) / n
        gradients = tape.gradient(share, model.trainable_variables)
        return tf.distribute.get_replica_context().all_reduce("sum", gradients)

    return strategy.run(step, args=minibatch)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_mirrored_gradients", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(mirrored_gradients)

# %% [markdown]
# ## The loss with uneven replicas
#
# TensorFlow's tutorial *Custom training* says of the obvious way to write the loss:
# "Using `tf.reduce_mean` is not recommended. Doing so divides the loss by actual per
# replica batch size which may vary step to step." Instead there is
# `tf.nn.compute_average_loss`, whose `global_batch_size`, by its documentation,
# defaults to "(size of first dimension of losses) * (number of replicas)". **Predict:**
# four samples with the losses 1, 1, 1, 1 are on one replica, and one sample with the
# loss 6 is on the other. The mean is 2. What do `reduce_mean`, the function with its
# default, and the function with the right batch size give?

# %%
two = mirrored(2)
losses = [np.ones(4), np.array([6.0])]


def add_up(loss):
    """The sum of the losses of both replicas."""
    per_example = two.experimental_distribute_values_from_function(
        lambda context: tf.constant(losses[context.replica_id_in_sync_group])
    )
    return float(two.reduce("sum", two.run(loss, args=(per_example,)), axis=None))


def with_the_batch(per_example):
    return tf.nn.compute_average_loss(per_example, global_batch_size=5)


print("tf.reduce_mean:", add_up(tf.reduce_mean))
print("tf.nn.compute_average_loss, default:", add_up(tf.nn.compute_average_loss))
print("tf.nn.compute_average_loss, global_batch_size=5:", add_up(with_the_batch))

# %% [markdown]
# The default is far off: 3.5 instead of 2. It is the mean of the replicas' means, in
# which the single sample has the weight 1/2, 2.5 times its fair 1/5 (your third guess).
# So always pass `global_batch_size`.
#
# ![Two replicas, one with four samples of loss 1, one with a single sample of loss 6, and three ways to compute the loss of all samples. tf.reduce_mean: 4 / 4 and 6 / 1 add up to 7. compute_average_loss with its default: 4 / 8 and 6 / 2 add up to 3.5. With global_batch_size=5: 4 / 5 and 6 / 5 add up to 2, the mean of all five losses.](../../images/uneven_replicas.svg)
#
# A term of the loss that depends on the *model* and not on the samples, such as a
# penalty on large weights, has the opposite problem: every replica computes all of it.
# If each of the p replicas adds it to its loss, it counts p times, and training depends
# on the number of devices.
#
# ### A loss that adds up (3 points)

# %% nbgrader={"grade": false, "grade_id": "global_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def global_loss(per_example, penalty, global_batch: int):
    """Return this replica's part of the loss; the strategy adds the parts up.

    per_example: float64 tensor, the losses of this replica's samples
    penalty: float64 scalar tensor, a term that depends on the model alone, the same on
        all replicas
    global_batch: int, number of samples of all replicas together in this step
    Returns: scalar tensor

    - equal minibatches: it is called within each replica; the parts add up to the mean
      loss of all samples plus the penalty, once. How the replicas share the penalty is
      up to you.
    - unequal minibatches, one of them empty: per_example may have no elements.

    Example: losses [1, 2] and [6] with penalty 0.5: the parts add up to 3.5.
    """
    ### BEGIN SOLUTION
    loss = tf.nn.compute_average_loss(per_example, global_batch_size=global_batch)
    return loss + tf.nn.scale_regularization_loss(penalty)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_global_loss", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(global_loss)

# %% [markdown]
# ## Half-time
#
# One process can train on several replicas: each computes the gradient of its samples
# and divides by the number of *all* samples, and all replicas get the same sum. This is
# a good place for a break: next come several machines.

# %% [markdown]
# ## MultiWorkerMirroredStrategy: several machines
#
# `MultiWorkerMirroredStrategy` does the same with several processes, called
# **workers**, each of which may have several replicas.
#
# ![Three ways with four copies of the whole model, each with its own samples and gradient. MirroredStrategy: one process with four replicas; a batch of 32 is that of all together, 8 for each. MultiWorkerMirroredStrategy: two processes with two replicas each, TF_CONFIG for each process; again 8 for each. In both, gradients are added: you divide by the whole batch. Horovod: mpiexec starts four ranks with 32 samples each; gradients are averaged: you divide by your own batch.](../../images/who_holds_what.svg)
#
# In all three ways every copy of the model makes the same step. They differ in the way
# processes are started, in the meaning of the batch size, and in the number by which
# you divide. With several workers you start the same program on every machine yourself.
# It reads the environment variable `TF_CONFIG`, a JSON text that lists all workers and
# says which of them this one is:
#
# ```
# {"cluster": {"worker": ["node1:12345", "node2:12345"]},
#  "task": {"type": "worker", "index": 0}}
# ```
#
# The cluster is the same on all workers; the task is each worker's own. Worker 0 is the
# **chief** and plays the part of rank 0. If a worker was not started, or an address
# appears twice, the others wait. Only a worker whose port is taken may raise an error.
#
# ### TF_CONFIG (2 points)

# %% nbgrader={"grade": false, "grade_id": "tf_config", "locked": false, "schema_version": 3, "solution": true, "task": false}
def tf_config(hosts: list[str], index: int) -> str:
    """Return the JSON text of TF_CONFIG for one worker.

    hosts: list of "name:port", the addresses of all workers, in their order
    index: int, index of this worker in hosts, from 0
    Returns: str, JSON as in the example above

    - one TF_CONFIG per worker: the cluster has all hosts, all of type "worker"; the
      task is this worker's.
    - illegal arguments: raise ValueError for an index that no worker has, such as a
      negative one, and for an address that appears twice.

    Example: for the text above, hosts is ["node1:12345", "node2:12345"] and index is 0.
    """
    ### BEGIN SOLUTION
    import json

    if not 0 <= index < len(hosts):
        raise ValueError(f"there is no worker {index} of {len(hosts)}")
    if len(set(hosts)) < len(hosts):
        raise ValueError(f"an address is there twice: {hosts}")
    task = {"type": "worker", "index": index}
    return json.dumps({"cluster": {"worker": hosts}, "task": task})
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_tf_config", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(tf_config)

# %% [markdown]
# ## Two workers as real processes
#
# `three_ways.py`, beside this notebook, trains one small network for ten steps on 64
# samples, in several ways. Compare `mwms()` and `horovod()` in it: they train the same
# way. With your `tf_config` it runs as two workers, processes that communicate over
# gRPC on free ports of this machine. A worker that does not finish in time is stopped.

# %% tags=["parameters"]
WAYS = ("mwms", "horovod", "server")  # the ways that are run below
DEADLINE = 80  # seconds; far fewer are needed

# %%
def free_ports(number):
    """Ports that are free now, chosen by the system."""
    import socket

    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def started(command, environment, log):
    """A process whose output goes into the file `log`."""
    with open(log, "w") as file:
        return subprocess.Popen(
            command, env=os.environ | environment, stdout=file, stderr=subprocess.STDOUT
        )

# %%
def run(way, commands, environments):
    """Start these processes at the same time and wait for all of them; none is left
    behind. Returns the results that each has saved (see three_ways.py), and the seconds
    it took.
    """
    began, processes = time.perf_counter(), []
    with TemporaryDirectory() as folder:
        try:
            for k, (command, environment) in enumerate(zip(commands, environments)):
                command = [*command, way, folder]
                processes.append(started(command, environment, f"{folder}/log-{k}"))
            for one in processes:
                left = DEADLINE - (time.perf_counter() - began)
                if one.wait(max(left, 0.1)):
                    texts = sorted(Path(folder).glob("log-*"))
                    raise RuntimeError("\n".join(p.read_text()[-1500:] for p in texts))
        finally:
            for one in processes:
                one.kill()
                one.wait()
        files = sorted(Path(folder).glob(f"{way}-*.npz"))
        noted = [dict(np.load(file)) for file in files]
    return noted, time.perf_counter() - began

# %%
PROGRAM = [sys.executable, "three_ways.py"]
noted = {"alone": [three_ways.alone()[1]]}
print(f"alone: a gradient of {noted['alone'][0]['gradient'].size} numbers")

# %% tags=["raises-exception"]
hosts = [f"localhost:{port}" for port in free_ports(2)]
workers, seconds = run(
    "mwms", [PROGRAM] * 2, [{"TF_CONFIG": tf_config(hosts, k)} for k in range(2)]
)
noted["mwms"] = workers
for k, worker in enumerate(workers):
    print(
        f"worker {k}: {float(worker['memory']):.2f} GB, trained in "
        f"{float(worker['seconds']):.1f} s"
    )
print(f"both together, including TensorFlow's import: {seconds:.0f} s")

# %% [markdown]
# ## Auto-sharding: who reads what
#
# In one process, the strategy deals out the samples. With two, each process makes a
# dataset of its own, with the same samples in it. The **auto-sharding policy** of the
# dataset decides which of them each worker uses:
#
# | policy | each worker reads |
# |---|---|
# | `AUTO` (default) | its part of the *files*, or, if none are found, the same as `DATA` |
# | `FILE` | its part of the files, or an error |
# | `DATA` | everything, and throws away the samples of the others |
# | `OFF` | everything |
#
# The two workers have also recorded which of the samples 0 to 11 they saw under each
# policy, in minibatches of 4 over all replicas.

# %% tags=["raises-exception"] alt="Which of the samples 0 to 11 each of two workers saw, under four policies. AUTO and DATA: half of them each, none twice. FILE: an error in place of samples. OFF: both workers saw all of them."
panels = {}
for policy in ("AUTO", "DATA", "FILE", "OFF"):
    panels[policy] = {}
    for k, worker in enumerate(workers):
        saw = str(worker[f"seen_{policy}"])  # a list, or the name of an error
        panels[policy][f"worker {k}"] = json.loads(saw) if saw[0] == "[" else saw
inputs.seen(panels, 12);

# %% [markdown]
# `OFF` does not mean "no sharding needed" but "I have done it myself". Here nobody had:
# both workers see all samples, twice the work for the same epoch, without an error. And
# `DATA` has its price: every worker reads and decodes everything.
#
# To do it yourself, call `strategy.distribute_datasets_from_function(f)`: f gets a
# context with `num_input_pipelines` (one for each worker) and `input_pipeline_id`, and
# returns this worker's dataset in minibatches **of one replica**. TensorFlow then
# neither batches it again nor shards it.
#
# ### Every sample once (3 points)

# %% nbgrader={"grade": false, "grade_id": "distribute", "locked": false, "schema_version": 3, "solution": true, "task": false}
def distribute(dataset: tf.data.Dataset, strategy, batch: int):
    """Deal a dataset out to all replicas of all workers, every sample once.

    dataset: tf.data.Dataset of single samples, in memory (`len` gives their number), in
        the same order on every worker
    strategy: a strategy with `num_replicas_in_sync` (replicas of all workers together),
        `experimental_distribute_dataset` and `distribute_datasets_from_function`
    batch: int, number of samples of one replica in one step
    Returns: the result of one of those two methods

    - one worker: in one pass every sample is seen once, even the last ones if they do
      not fill a step.
    - several workers: each sample goes to one replica of one worker. The workers'
      numbers of steps may differ by one.

    Example: 10 samples, 2 workers with 2 replicas each, batch 2: at most 8 samples a
    step.
    """
    ### BEGIN SOLUTION
    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy.DATA
    options.experimental_distribute.auto_shard_policy = policy
    together = dataset.batch(batch * strategy.num_replicas_in_sync)
    return strategy.experimental_distribute_dataset(together.with_options(options))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_distribute", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(distribute)

# %% [markdown]
# ## The same training, three ways
#
# Horovod trains the same network on the same 64 samples, 32 on each of two MPI ranks.
# The table lists all differences, in the order of the eight steps of unit 07. Read
# `three_ways.py` along with it; steps 2, 4, 7 and 8 are left out there.
#
# | step | Horovod | MultiWorkerMirroredStrategy |
# |---|---|---|
# | 1 start | `hvd.init()` | `TF_CONFIG`, then the strategy, before anything else |
# | 2 one GPU each | pin by `hvd.local_rank()` | a replica for each GPU the process sees |
# | 3 share the data | `shard(hvd.size(), hvd.rank())`, batch of **one rank** | the policy; batch of **all replicas** |
# | 4 learning rate | `rate * hvd.size()` | `rate * strategy.num_replicas_in_sync`; you must write it, too |
# | 5 average gradients | `DistributedGradientTape`, **averages** | `optimizer.apply_gradients` **adds**: divide the loss yourself (`fit` does) |
# | 6 equal start | `broadcast_variables` | variables made in `scope()` get the chief's values |
# | 7 checkpoint | rank 0 alone saves | **every** worker calls save, each but the chief with a path of its own |
# | 8 metrics | `MetricAverageCallback` | `fit` adds up sums and counts of all replicas |
#
# **Predict:** how far apart are the three gradients of the first step?

# %%
if "horovod" in WAYS and not without_frameworks():
    launch = [*mpiexec(), "-n", "2", *PROGRAM]
    noted["horovod"], seconds = run("horovod", [launch], [mpi_environment(2)])
    print(f"Horovod, 2 ranks: {seconds:.0f} s")

# %% tags=["raises-exception"] alt="For each parameter, logarithmic: the gradient of one process as a line, and far below it, many orders of magnitude, the differences of the two libraries' gradients from it as points."
names = {"mwms": "MultiWorkerMirroredStrategy", "horovod": "Horovod"}
(yardstick,) = noted["alone"]
gradient = np.abs(yardstick["gradient"])
curves = {"the gradient itself": (range(len(gradient)), gradient, "grey -")}
for (way, name), look in zip(names.items(), ("blue o", "orange x")):
    if way not in noted:
        continue
    one, other = noted[way]
    off = np.abs(one["gradient"] - yardstick["gradient"])
    apart = np.abs(one["weights"] - yardstick["weights"]).max()
    both = ("gradient", "weights")
    between = max(np.abs(one[what] - other[what]).max() for what in both)
    print(
        f"{name}: gradient {off.max():.1e} off, weights after {three_ways.STEPS} steps "
        f"{apart:.1e} off, between its two processes {between:.1e}"
    )
    curves[name] = range(len(off)), np.maximum(off, 1e-18), look
words = {"xlabel": "index of the parameter", "ylabel": "difference from one process"}
legend = {"loc": "upper right", "ncols": 3}
charts.lines(
    curves, log="y", size=(8, 3.2), legend=legend, ylim=(5e-19, 3e2), **words
);

# %% [markdown]
# The differences are rounding, and nothing else (a difference of 0 is drawn at
# $10^{-18}$). Two separate libraries, one over gRPC and one over MPI, find the gradient
# of the sequential program. The libraries of the talk differ in many things, but not in
# their mathematics.

# %% [markdown]
# ## Port a Horovod program
#
# Here is the middle of a Horovod program in Keras, as you wrote it in unit 07:
#
# ```python
# hvd.init()
# mine = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank())
# model = build_model()
# optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate * hvd.size()))
# model.compile(optimizer, loss="mse")
# start_equal = hvd.callbacks.BroadcastGlobalVariablesCallback(0)
# model.fit(mine.batch(local_batch), epochs=epochs, callbacks=[start_equal], verbose=0)
# if hvd.rank() == 0:
#     save(model, "checkpoint")
# ```
#
# Rewrite it for a strategy. Go through the table above line by line: some steps change,
# some disappear, and some stay, although the strategy seems to do them. (Saving reads
# all variables, and some of them are added up over the workers when they are read. A
# chief that saves alone would wait for ever. So all workers save, but not to the same
# place.)
#
# ### From Horovod to a strategy (3 points)

# %% nbgrader={"grade": false, "grade_id": "port", "locked": false, "schema_version": 3, "solution": true, "task": false}
def port(
    strategy, index, build_model, x, y, local_batch: int, rate: float, epochs: int, save
) -> None:
    """Train with `strategy` as the Horovod program above does, on worker `index`.

    strategy: a tf.distribute strategy
    index: int, this worker
    build_model: function, build_model() is a new Keras model
    x, y: arrays, all samples, the same on all workers; their number is a multiple of
        local_batch times the number of all replicas
    local_batch: int, number of samples of one replica in one step
    rate: float, learning rate of one replica; scale it as above
    epochs: int, number of passes over the samples, in their order; may be 0
    save: function, save(model, path) writes a checkpoint
    Changes: none of the arguments; the model that you build is trained and saved

    - the same training: plain SGD on the mean squared error, not shuffled.
    - one checkpoint: after the last epoch every worker calls save once, worker 0 with
      the path "checkpoint", each of the others with a path of its own.

    Example: 2 workers with one replica each, rate 0.1: SGD(0.2).
    """
    ### BEGIN SOLUTION
    replicas = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * replicas), loss="mse")
    samples = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * replicas)
    model.fit(samples, epochs=epochs, verbose=0)
    save(model, "checkpoint" if index == 0 else f"not-the-chief-{index}")
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_port", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(port)

# %% [markdown]
# ## ParameterServerStrategy: servers and stale gradients
#
# There is an older strategy without an all-reduce. In `ParameterServerStrategy` the
# variables are on **servers**, and a **coordinator** gives steps to the workers. A
# worker fetches the variables, computes a gradient and sends it to the servers, which
# apply it, without waiting for other workers. So a slow worker delays nobody. But a
# gradient may be **stale**: the variables have changed since the worker fetched them.
# Below, two workers and a server (threads of one process, over gRPC) make 60 steps.
# Each step records the loss at the variables it fetched, and how many updates the other
# worker made between this fetch and the end of the gradient's computation.
#
# **Predict:** how many of the 60 gradients are stale?
#
# (On two cores this would hang without an error, because all threads wait for each
# other. So each of the three (two workers, one server) may use one thread more than
# there are workers: `inter_op_parallelism_threads` in `three_ways.py`.)

# %%
if "server" in WAYS:
    (server,), seconds = run("server", [PROGRAM], [{}])
    losses, missed = server["losses"], server["missed"]
    print(f"{int(server['applied'])} steps applied, {float(server['memory']):.2f} GB")
    print(f"the loss falls from {losses[0]:.3f} to {losses[-1]:.4f}")
    print("the losses of the first steps:", *(f"{loss:.3f}" for loss in losses[:6]))
    stale = int((missed > 0).sum())
    print(f"{stale} of {len(missed)} gradients were already stale when computed")

# %% [markdown]
# A stale gradient is applied nevertheless, although it does not include the steps made
# in the meantime. That is the price of not waiting, and here it is small: the loss
# falls. The more workers there are, the more updates a gradient misses; with an
# all-reduce it misses none.
#
# ## Break it: an optimizer outside the scope
#
# Two lines make a program distributed, and each can be forgotten. First a mistake that
# raises an error: a model made outside `scope()` and compiled inside.

# %%
x, y = three_ways.the_samples()


def momentum():
    return tf.keras.optimizers.SGD(0.05, momentum=0.9)


outside = three_ways.new_model()
try:
    with strategy.scope():
        outside.compile(momentum(), loss="mse")
    outside.fit(x, y, batch_size=32, verbose=0)
except ValueError as error:
    said = " ".join(str(error).split())
    print(f"ValueError: ... {said[said.index('was not created'):][:150]} ...")

# %% [markdown]
# That mistake is reported. With model *and* optimizer outside there is no error: the
# program trains, correctly, on one device, while the others idle. The worst mistake of
# this kind: you resume from a checkpoint, so the optimizer's variables are made before
# the training starts (`optimizer.build`), and that line is outside the scope.
# **Predict:** an error, slower training, or something else?

# %%
def train(optimizer, model, steps=12):
    """The loss of all samples before each step, and the largest difference between two
    replicas' copies of a weight after it.
    """
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(x)).repeat(steps)

    @tf.function
    def step(x, y):
        def replica(x, y):
            gradients, loss = three_ways.gradients_of(model, x, y, three_ways.SAMPLES)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        return strategy.reduce("sum", strategy.run(replica, args=(x, y)), axis=None)

    losses, drift = [], []
    for minibatch in strategy.experimental_distribute_dataset(dataset):
        losses.append(float(step(*minibatch)))
        copies = [
            np.stack([copy.numpy() for copy in variable.values])
            for variable in model.trainable_variables
        ]
        drift.append(max(float(np.ptp(values, axis=0).max()) for values in copies))
    return losses, drift

# %% alt="Two charts over 12 steps, for an optimizer built in the scope and one built outside. The losses of both fall. The largest difference between replicas is 0 throughout in the scope and never 0 outside."
runs = {}
with strategy.scope():
    model, optimizer = three_ways.new_model(), momentum()
    optimizer.build(model.trainable_variables)
runs["built in the scope"] = train(optimizer, model)

with strategy.scope():
    model = three_ways.new_model()
optimizer = momentum()
optimizer.build(model.trainable_variables)  # the same lines, not indented
runs["built outside"] = train(optimizer, model)

panels = {"loss of the 64 samples": {}, "largest difference\nbetween replicas": {}}
for (name, series), look in zip(runs.items(), ("blue o-", "red s-")):
    print(f"{name}: loss {series[0][-1]:.4f}, replicas differ by {series[1][-1]:.2g}")
    for panel, values in zip(panels.values(), series):
        panel[name] = range(len(values)), values, look
charts.side_by_side(panels, xlabel="step", ylim={name: (0, None) for name in panels})

# %% [markdown]
# There is no error and no warning, and the loss looks no worse, perhaps better. But the
# momentum, made outside, exists **once**, and every replica updates it in turn. Each
# replica steps with a momentum that others have updated, so the steps are longer than
# you asked for, and the "mirrored" weights become four different models. This is the
# strategies' version of the missing broadcast in unit 07: every variable that a step
# reads or writes must be made in the scope, or it is not mirrored. The test is the
# same, too: the largest difference between the copies must be 0.

# %% [markdown]
# ## Which libraries are still maintained
#
# - **Horovod**: the last release is 0.28.1, of June 2023
#   (github.com/horovod/horovod/releases). It still installs, and conda-forge still
#   rebuilds it, but for its sake this course must stay at TensorFlow 2.15 and Keras 2.
#   Databricks has archived its pages about it ("Horovod and HorovodRunner are now
#   deprecated") and recommends TorchDistributor for PyTorch and `tf.distribute` for
#   TensorFlow
#   (learn.microsoft.com/azure/databricks/archive/machine-learning/train-model/horovod).
# - **Successors**: in PyTorch, DDP (unit 06) and `fully_shard` (unit 15), started by
#   torchrun; in TensorFlow, the strategies of this page.
# - **Keras**: from TensorFlow 2.16 on, `tf.keras` is Keras 3, which runs on JAX and
#   PyTorch, too. This page was tested with Keras 2 only; with a newer TensorFlow, the
#   package `tf_keras` and `TF_USE_LEGACY_KERAS=1` bring Keras 2 back.
# - **JAX** is used by Google to train its own large models (Gemini report, arXiv
#   2312.11805). It has no strategy and no scope: you declare how each array is divided
#   over a mesh of devices, and the compiler inserts the collectives that you write by
#   hand in units 15 and 16.
# - **DDL** is no longer available, and its source never was. Its idea of arranging
#   rings by the speed of the links returns in unit 18.
#
# Why learn the eight steps at all? Because they are not specific to Horovod. Every row
# of the table above is a question that any data-parallel program must answer. A
# strategy answers five of them for you, and *Break it* showed what happens if you do
# not know which ones.

# %% [markdown]
# ## What to remember
#
# - Make in the scope: model, optimizer, metrics, and all that is loaded from a
#   checkpoint.
# - Under a strategy the batch size is that of **all** replicas together (except in
#   `distribute_datasets_from_function`); with Horovod, that of one rank.
# - The replicas' gradients are **added**. Divide each sample's loss by the number of
#   all samples, and a penalty on the weights by the number of replicas.
# - `AUTO` becomes `DATA` where there are no files. `OFF` means "I have sharded it
#   myself".
# - All workers save, and only the chief's path is the real one.
# - `TF_CONFIG` has the same cluster for all workers and an index for each. If a worker
#   is missing, the others wait for it.
#
# **To think about.** With a parameter server no step waits for another. What would the
# workers of `MultiWorkerMirroredStrategy` do if one made one step fewer? You have met
# this in units 04 and 07. (A distributed dataset that ends early adds empty batches.)
#
# ### To read
#
# - TensorFlow's tutorials *Distributed input*, *Custom training with
#   tf.distribute.Strategy* and *Multi-worker training with Keras*, in
#   github.com/tensorflow/docs, site/en/tutorials/distribute.
