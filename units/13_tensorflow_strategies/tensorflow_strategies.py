# %% [markdown]
# # 13 · TensorFlow's strategies
#
# *Optional: if you use TensorFlow.*
#
# Horovod changes a program in eight places. TensorFlow's own way changes it in two: you
# choose a **strategy**, and you make the model in its `scope()`. This page is about
# what those two lines do for you, and what they silently leave to you.
#
# **At the end of this page** two processes that know each other only through a text in
# an environment variable have trained one model over gRPC. Their gradient of 64 samples
# is that of the sequential program and that of Horovod, to 1e-12.
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

# TensorFlow: warnings and errors only, and no GPU
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

from labkit.environment import mpi_environment, mpiexec, need_frameworks

# says what to do where this Python has no TensorFlow; Horovod may be missing
need_frameworks(horovod=False)

import numpy as np
import tensorflow as tf
import three_ways  # the script beside this notebook

from autograder import check
from labkit.plots import charts, inputs

# %%
from labkit.environment import without_frameworks

print(f"TensorFlow {tf.__version__}; Horovod: {without_frameworks() or 'is here, too'}")
tf.get_logger().setLevel("ERROR")
tf.keras.backend.set_floatx("float64")

# %% [markdown]
# ## Guess first
#
# 1. A `MirroredStrategy` on 4 devices, `model.fit(x, y, batch_size=32)`. How many
#    samples does each device get in a step: 32 or 8?
# 2. Three replicas share minibatches of 4 samples. Which of them gets how many?
# 3. Two replicas hold 4 samples and 1 sample. Each takes the mean of its losses, and
#    the two gradients are averaged. How much does the single sample count, in samples?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## The list of the talk
#
# An IBM talk, from which this course grew, puts three ways side by side: *TF
# distribution strategies | Horovod | DDL*. All three are data parallelism by
# all-reduce.
#
# | | TensorFlow's strategies | Horovod | DDL |
# |---|---|---|---|
# | who it is for | TensorFlow | TensorFlow, Keras, PyTorch | TensorFlow, Caffe, Torch |
# | what you change | where the model is made | eight steps | "a library for easy use" |
# | who starts the processes | you, with `TF_CONFIG` for each | `mpiexec`, `horovodrun` | `ddlrun` |
# | a rank is called | worker, with one or more **replicas** in it | rank | rank |
# | can you get it? | part of TensorFlow | source, last release 2023 | closed, with IBM's machines |
#
# DDL is a closed library of IBM's (M. Cho et al., *PowerAI DDL*, arXiv 1708.02188, from
# whose abstract the quotation is; its core, several rings at once, belongs to unit 18).
# You cannot run it here, so two of the three ways are compared on this page. That DDL
# finds the same gradient is expected, but was not measured.

# %% [markdown]
# ## Four replicas in one process
#
# `MirroredStrategy` is for one machine with several GPUs: one process, one copy of the
# model on each device. You probably do not have four GPUs, but TensorFlow can cut one
# CPU into **logical** devices, and nothing in the program can tell the difference. This
# must be set before TensorFlow first uses a device.

# %%
REPLICAS = 4
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * REPLICAS
)
tf.config.threading.set_inter_op_parallelism_threads(4 * REPLICAS)


def mirrored(replicas):
    """A MirroredStrategy on so many logical CPUs. Its default all-reduce is made for
    GPUs; this one adds up on one device.
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
# `strategy.run(f)` runs f once in every replica: inside, you are a rank. Outside, in the
# `scope()`, you are no replica in particular, and variables made there are made once on
# each device.
#
# ![A MirroredStrategy on four devices. Above, in strategy.scope(), the cross-replica context: a variable w is written once and lies on CPU:0 to CPU:3, a copy on each. Below, in strategy.run(f), the replica context: each of the replicas 0 to 3 reads the copy on its own device and applies f to its share. An all_reduce puts the gradients G together: the same sum in every replica.](../../images/scope_and_run.svg)
#
# ## Who gets which sample
#
# A dataset goes to the replicas by `strategy.experimental_distribute_dataset`. The rule
# of TensorFlow's tutorial *Distributed input* (section "Batching"): the dataset is
# batched again, so that each replica gets a share of **your** batch. Your batch is that
# of *all* replicas together. The tutorial prints examples; we put two of them to the
# test.

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
# Both claims hold, and they answer your first two guesses: 8 samples each, not 32
# (Horovod is the other way round: there your batch is one rank's), and of 4 samples on
# three replicas the third gets **none**. Not 2, 1 and 1. In every step of this training
# a third of the machine would do nothing; and it must survive an empty minibatch.

# %% [markdown]
# ## Gradients of the replicas
#
# Now a whole step. Each replica finds the gradient of its part, and the parts are put
# together. **Think first:** what must each replica divide by, if the sum of the
# replicas' gradients is to be the gradient of the mean over *all* samples, however many
# each of them holds?
#
# ### The gradient of all samples (3 points)

# %% nbgrader={"grade": false, "grade_id": "mirrored_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mirrored_gradients(strategy, model, x, y) -> list:
    """Compute the gradient of the mean squared error over all samples on all replicas.

    strategy: a MirroredStrategy with p replicas
    model: Keras model, made in the strategy's scope
    x, y: float64 arrays of n samples; y has the shape of model(x)
    Returns: list with one gradient for each of model.trainable_variables, a per-replica
        value that is the same on all (from `all_reduce`) or one tensor (from
        `strategy.reduce`)

    - equal shares: a sample's loss is the mean of (model(x) - y)**2 over its outputs;
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
# ## The loss of uneven replicas
#
# TensorFlow's tutorial *Custom training* says of the obvious way to write the loss:
# "Using `tf.reduce_mean` is not recommended. Doing so divides the loss by actual per
# replica batch size which may vary step to step." There is a function for it,
# `tf.nn.compute_average_loss`, whose `global_batch_size`, by its documentation,
# defaults to "(size of first dimension of losses) * (number of replicas)". **Predict:**
# four samples with the losses 1, 1, 1, 1 on one replica, and one sample with the loss 6
# on the other. The mean is 2. What do the three ways give?

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
print("tf.nn.compute_average_loss, as it is:", add_up(tf.nn.compute_average_loss))
print("tf.nn.compute_average_loss, global_batch_size=5:", add_up(with_the_batch))

# %% [markdown]
# The default is not just off by rounding: 3.5 instead of 2. It is the mean of the
# replicas' means, and in it the single sample counts as 2.5 samples (your third guess).
# So pass the number of samples.
#
# What belongs to the *model* and not to the samples, a penalty on large weights, has
# the opposite problem: every replica knows all of it. If each adds it to its loss, it
# counts p times; with more devices it is another training.
#
# ### A loss that adds up (3 points)

# %% nbgrader={"grade": false, "grade_id": "global_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def global_loss(per_example, penalty, global_batch: int):
    """Return this replica's part of the loss; the strategy adds the parts up.

    per_example: float64 tensor, the losses of this replica's samples
    penalty: float64 scalar tensor, a property of the model, the same on all replicas
    global_batch: int, number of samples of all replicas together in this step
    Returns: scalar tensor

    - equal minibatches: it is called within a replica; all parts together are the mean
      loss of all samples plus the penalty, once. How the replicas share the penalty is
      up to you.
    - unequal minibatches, one of them empty: per_example may have no entry.

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
# One process can train on several replicas: each computes the gradient of its samples,
# everybody divides by the number of *all* samples, and the sums are equal everywhere.
# This is a good place for a break: next come several machines.

# %% [markdown]
# ## Several machines
#
# `MultiWorkerMirroredStrategy` is the same over several processes, each of which may
# have several replicas.
#
# ![Three ways with four copies of the whole model, each with its own samples and gradient. MirroredStrategy: one process with four replicas; a batch of 32 is that of all together, 8 for each. MultiWorkerMirroredStrategy: two processes with two replicas each, TF_CONFIG for each process; again 8 for each. In both gradients are added: you divide by the whole batch. Horovod: mpiexec starts four ranks with 32 samples each; gradients are averaged: you divide by your own batch.](../../images/who_holds_what.svg)
#
# In all three every copy of the model makes the same step. They differ in who starts the
# processes, whose batch you name and by what you divide. In the middle nobody starts the
# processes for you: on every machine you start the same program, and it reads from the
# environment variable `TF_CONFIG`, a JSON text, who all the workers are and which of them
# it is:
#
# ```
# {"cluster": {"worker": ["node1:12345", "node2:12345"]},
#  "task": {"type": "worker", "index": 0}}
# ```
#
# The cluster is the same text everywhere, the task is each worker's own. Worker 0 is
# the **chief**: it does what rank 0 does elsewhere. A worker that nobody started, or an
# address that appears twice, raises no error: the others wait.
#
# ### TF_CONFIG (2 points)

# %% nbgrader={"grade": false, "grade_id": "tf_config", "locked": false, "schema_version": 3, "solution": true, "task": false}
def tf_config(hosts: list[str], index: int) -> str:
    """Return the JSON text of TF_CONFIG for one worker.

    hosts: list of "name:port", the addresses of all workers, in their order
    index: int, this worker's place in hosts, from 0
    Returns: str, JSON as in the example above

    - every worker's own: the cluster has all hosts, all of type "worker"; the task is
      this worker's.
    - what cannot be: raise ValueError for an index that no worker has, also for a
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
# ## Two workers for real
#
# `three_ways.py`, beside this notebook, trains one small network ten steps on 64
# samples, in several ways. Read `mwms()` and `horovod()` in it: they are the same
# program. Below, your `tf_config` makes two workers of it, two processes that talk over
# gRPC. Their ports are free ones that the system names; a worker that does not finish
# in time is stopped.

# %% tags=["parameters"]
WAYS = ("mwms", "horovod", "server")  # what is run for real below
DEADLINE = 80  # seconds; some are enough

# %%
def free_ports(number):
    """Ports that nobody uses now, as the system names them."""
    import socket

    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def started(command, environment, log):
    """A process that writes what it says into the file `log`."""
    with open(log, "w") as file:
        return subprocess.Popen(
            command, env=os.environ | environment, stdout=file, stderr=subprocess.STDOUT
        )

# %%
def run(way, commands, environments):
    """Start these processes side by side and wait for all of them; none is left behind.
    Returns what each noted (see three_ways.py), and the seconds it took.
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
print(f"both together, with TensorFlow's import, {seconds:.0f} s")

# %% [markdown]
# ## Who reads what
#
# With one process, the strategy deals out the samples. With two, each process has a
# dataset of its own, which is the same one. Who makes sure that they do not train on
# the same samples? That is the **auto-sharding policy** of the dataset:
#
# | policy | what each worker reads |
# |---|---|
# | `AUTO` (default) | its part of the *files*, or, if none are found, the same as `DATA` |
# | `FILE` | its part of the files, or an error |
# | `DATA` | everything, and throws away what is not its own |
# | `OFF` | everything |
#
# The two workers have also recorded which of the samples 0 to 11 they saw, in
# minibatches of 4 for all replicas together.

# %% tags=["raises-exception"] alt="Which of the samples 0 to 11 each of two workers saw, under four policies. AUTO and DATA: half of them each, none twice. FILE: an error in place of samples. OFF: both workers saw all of them."
panels = {}
for policy in ("AUTO", "DATA", "FILE", "OFF"):
    panels[policy] = {}
    for k, worker in enumerate(workers):
        saw = str(worker[f"seen_{policy}"])  # a list, or the name of an error
        panels[policy][f"worker {k}"] = json.loads(saw) if saw[0] == "[" else saw
inputs.seen(panels, 12);

# %% [markdown]
# `OFF` is not "no sharding needed", it is "I have done it myself": both workers see all
# samples, twice the work for the same epoch, and nothing fails. And `DATA` costs what
# it says: every worker reads and decodes everything.
#
# Doing it yourself is `strategy.distribute_datasets_from_function(f)`: f gets a context
# with `num_input_pipelines` (one for each worker) and `input_pipeline_id`, and returns
# this worker's dataset in minibatches **of one replica**. There nothing is batched
# again, and nothing is sharded.
#
# ### Every sample once (3 points)

# %% nbgrader={"grade": false, "grade_id": "distribute", "locked": false, "schema_version": 3, "solution": true, "task": false}
def distribute(dataset: tf.data.Dataset, strategy, batch: int):
    """Deal a dataset out to all replicas of all workers, every sample once.

    dataset: tf.data.Dataset of single samples, in memory, in the same order on every
        worker
    strategy: a strategy with `num_replicas_in_sync` (replicas of all workers together),
        `experimental_distribute_dataset` and `distribute_datasets_from_function`
    batch: int, samples of one replica in one step
    Returns: the result of one of those two methods

    - one worker: in one pass every sample is seen once, also the last ones, if they do
      not fill a step.
    - several workers: each sample is on one replica of one worker. Workers may end one
      step apart.

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
# Horovod trains the same network on the same 64 samples, 32 on each of two ranks: its
# ranks are MPI's. Here is the whole difference, in the order of the eight steps of unit
# 07. Read `three_ways.py` beside it.
#
# | step | Horovod | MultiWorkerMirroredStrategy |
# |---|---|---|
# | 1 start | `hvd.init()` | `TF_CONFIG`, then the strategy, before anything else |
# | 2 one GPU each | pin by `hvd.local_rank()` | a replica for each GPU the process sees |
# | 3 share the data | `shard(hvd.size(), hvd.rank())`, batch of **one rank** | the policy; batch of **all replicas** |
# | 4 learning rate | `rate * hvd.size()` | `rate * strategy.num_replicas_in_sync`, also left to you |
# | 5 average gradients | `DistributedGradientTape`, **averages** | `optimizer.apply_gradients` **adds**: divide the loss yourself (`fit` does) |
# | 6 equal start | `broadcast_variables` | variables made in `scope()` start as the chief's |
# | 7 checkpoint | rank 0 alone saves | **every** worker calls save, all but the chief to a place of its own |
# | 8 metrics | `MetricAverageCallback` | `fit` adds them up |
#
# **Predict:** how far are the three gradients of the first step apart?

# %%
if "horovod" in WAYS and not without_frameworks():
    launch = [*mpiexec(), "-n", "2", *PROGRAM]
    noted["horovod"], seconds = run("horovod", [launch], [mpi_environment(2)])
    print(f"Horovod, 2 ranks: {seconds:.0f} s")

# %% tags=["raises-exception"] alt="For each parameter, logarithmic: the gradient of one process as a line, and far below it, many orders of magnitude, the distances of the two libraries' gradients to it as points."
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
words = {"xlabel": "number of the parameter", "ylabel": "distance to one process"}
legend = {"loc": "upper right", "ncols": 3}
charts.lines(
    curves, log="y", size=(8, 3.2), legend=legend, ylim=(5e-19, 3e2), **words
);

# %% [markdown]
# Rounding, and nothing else (a difference of 0 is drawn at $10^{-18}$). Two libraries
# that share no line of code, one over gRPC and one over MPI, find the gradient of the
# sequential program. This is what the columns of the talk's list have in common: the
# choice between them was never about the mathematics.

# %% [markdown]
# ## Port it
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
# Write it for a strategy. Go through the table above line by line: some steps change,
# some vanish, and some stay although it looks as if the strategy did them. (Some
# variables are added up over the workers when they are read. Saving reads them, so a
# chief that saves alone would wait for ever; all save, but not to the same place.)
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
    x, y: arrays, all samples, the same on all workers, a multiple of local_batch times
        the number of all replicas
    local_batch: int, samples of one replica in one step
    rate: float, learning rate of one replica; scale it as above
    epochs: int, passes over the samples, in their order; it may be 0
    save: function, save(model, path) writes a checkpoint
    Changes: nothing that you are given; the model that you build is trained and saved

    - the same training: plain SGD on the mean squared error, not shuffled.
    - one checkpoint: after the last epoch every worker calls save once, worker 0 with
      the path "checkpoint", each other one with a path of its own.

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
# ## A server instead
#
# There is an older strategy, too. In `ParameterServerStrategy` the variables live on
# **servers**; a **coordinator** hands out steps, and each worker fetches the variables,
# finds a gradient and has it applied, without waiting for the others. No slow worker
# delays the others; but a gradient may belong to variables that have changed since.
# Below: two workers and a server (threads of one process, over gRPC), 60 steps. Each
# step records how many updates of the other worker were applied between its fetching
# the variables and its gradient, and its loss: that of the variables it had fetched.
#
# **Predict:** how many of the 60 gradients belong to variables that are no longer
# current?
#
# On two cores this hangs silently unless each server may use at least as many threads
# as there are workers and one more (`inter_op_parallelism_threads` in `three_ways.py`):
# every thread waits for another one.

# %%
if "server" in WAYS:
    (server,), seconds = run("server", [PROGRAM], [{}])
    losses, missed = server["losses"], server["missed"]
    print(f"{int(server['applied'])} steps applied, {float(server['memory']):.2f} GB")
    print(f"the loss falls from {losses[0]:.3f} to {losses[-1]:.4f}")
    print("the losses of the first steps:", *(f"{loss:.3f}" for loss in losses[:6]))
    stale = int((missed > 0).sum())
    print(f"{stale} of {len(missed)} gradients were stale before they were applied")

# %% [markdown]
# A stale gradient is applied all the same: it knows nothing of a step that was taken in
# the meantime. That is the price of not waiting, and here it is small: the loss falls.
# The longer a step takes and the more workers there are, the more updates it misses; an
# all-reduce misses none.
#
# ## Break it: the optimizer outside
#
# Two lines make a program distributed, so you can forget two things. First the loud
# one: a model made outside `scope()` and compiled inside.

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
# That mistake is reported. With model *and* optimizer outside nothing is reported: the
# program trains, correctly, on one device, while the others idle. And here is the worst
# mistake of this kind. You go on from a checkpoint, so the optimizer is built before
# the training starts (`optimizer.build`), and that line is outside the scope.
# **Predict:** an error, a slower training, or something else?

# %%
def train(optimizer, model, steps=12):
    """Loss of all samples and the largest difference between a weight's copies on the
    replicas, after every step.
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
# No error, no warning, and a loss that looks no worse, perhaps better. The momentum,
# made outside, is there **once**, and every replica updates it in turn: each takes its
# step with what the others have left in it, so that the steps are longer than you asked
# for and the "mirrored" weights are four models. This is to a strategy what the missing
# broadcast was in unit 07: everything a step reads or writes must be made in the scope,
# or it is not mirrored. The measurement is the same, too: the largest difference
# between the copies, and it must be 0.

# %% [markdown]
# ## What is alive
#
# - **Horovod**: the last release is 0.28.1, of June 2023
#   (github.com/horovod/horovod/releases). It still installs, and conda-forge still
#   rebuilds it; but this course has to keep TensorFlow at 2.15 and Keras at 2 for it.
#   Databricks has archived its pages on it: "Horovod and HorovodRunner are now
#   deprecated", and recommends TorchDistributor for PyTorch and `tf.distribute` for
#   TensorFlow (learn.microsoft.com/azure/databricks/archive/machine-learning/train-model/horovod).
# - **What replaces it**: in PyTorch DDP (unit 06) and `fully_shard` (unit 15), started by
#   torchrun; in TensorFlow the strategies of this page.
# - **Keras**: from TensorFlow 2.16 on, `tf.keras` is Keras 3, which runs on JAX and
#   PyTorch, too. This page was run with Keras 2 only; with a newer TensorFlow, the
#   package `tf_keras` and `TF_USE_LEGACY_KERAS=1` bring Keras 2 back.
# - **JAX** is what Google trains its own large models with (the Gemini report, arXiv
#   2312.11805, names it). It has no strategy and no scope: you say how each array is
#   divided over a mesh of devices, and the compiler puts in the collectives that units
#   15 and 16 write by hand.
# - **DDL**: you can no longer get it, and you never could inspect it. Its idea, rings
#   arranged by which links are slow, lives on in unit 18.
#
# Why then eight steps? Because they are not Horovod's. Every row of the table above is
# a question that any data parallel program must answer, whoever answers it. A strategy
# answers five for you, and *Break it* showed what happens when you do not know which
# ones.

# %% [markdown]
# ## What to remember
#
# - In the scope: model, optimizer, metrics, and whatever a checkpoint is loaded into.
# - Under a strategy your batch is that of **all** replicas; with Horovod that of one.
# - Replicas' gradients are **added**. Divide each sample's loss by the number of all
#   samples, and what belongs to the model by the number of replicas.
# - `AUTO` becomes `DATA` where there are no files. `OFF` means "I have done it".
# - All workers save, the chief to the real place.
# - `TF_CONFIG` is the same cluster for all workers and an index for each; a worker that
#   is missing is waited for.
#
# **To think about.** With a parameter server no step waits for another. What would the
# workers of `MultiWorkerMirroredStrategy` do if one of them ended one step early,
# because its share of the data was smaller? Unit 04 has met this, and unit 07.
#
# ### To read
#
# - TensorFlow's tutorials *Distributed input*, *Custom training with
#   tf.distribute.Strategy* and *Multi-worker training with Keras*, in
#   github.com/tensorflow/docs, site/en/tutorials/distribute.
