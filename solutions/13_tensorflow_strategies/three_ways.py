"""The same training alone, under MultiWorkerMirroredStrategy, with Horovod and with a
parameter server: python three_ways.py WAY FOLDER

The gradient of the first step of this worker goes to FOLDER/WAY-RANK.npz, with its
other notes: weights at the end, the samples it saw under each policy, losses.
`TF_CONFIG` says who is who for the strategy, mpiexec for Horovod.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

SAMPLES, STEPS, RATE = 64, 10, 0.1


def the_samples():
    """64 samples of 8 numbers, float64, the same in every process."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=(SAMPLES, 8))
    return x, np.tanh(x @ rng.normal(size=(8, 1)))


def new_model():
    """8 inputs, 16 hidden neurons, 1 output: the same weights in every process."""
    tf.keras.backend.set_floatx("float64")
    tf.keras.utils.set_random_seed(0)
    hidden = tf.keras.layers.Dense(16, activation="tanh")
    model = tf.keras.Sequential([hidden, tf.keras.layers.Dense(1)])
    model.build((None, 8))
    return model


def flat(tensors):
    return np.concatenate([np.ravel(one.numpy()) for one in tensors])


def gradients_of(model, x, y, samples):
    """Gradients of the sum of the losses of x and y, divided by `samples`."""
    with tf.GradientTape() as tape:
        losses = tf.keras.losses.mean_squared_error(y, model(x, training=True))
        loss = tf.reduce_sum(losses) / samples
    return tape.gradient(loss, model.trainable_variables), loss


def alone():
    x, y = the_samples()
    model, optimizer = new_model(), tf.keras.optimizers.SGD(RATE)
    first = None
    for _ in range(STEPS):
        gradients, _ = gradients_of(model, x, y, SAMPLES)
        first = flat(gradients) if first is None else first
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return 0, {"gradient": first, "weights": flat(model.trainable_variables)}


def mwms():
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model, optimizer = new_model(), tf.keras.optimizers.SGD(RATE)
    dataset = tf.data.Dataset.from_tensor_slices(the_samples()).batch(SAMPLES).repeat()

    @tf.function
    def step(x, y):
        def replica(x, y):
            gradients, _ = gradients_of(model, x, y, SAMPLES)
            context = tf.distribute.get_replica_context()
            gradients = context.all_reduce("sum", gradients)
            optimizer.apply_gradients(
                zip(gradients, model.trainable_variables),
                skip_gradients_aggregation=True,  # that is done
            )
            return gradients

        return strategy.run(replica, args=(x, y))

    batches = iter(strategy.experimental_distribute_dataset(dataset))
    first = None
    for _ in range(STEPS):
        gradients = step(*next(batches))
        first = flat(gradients) if first is None else first
    noted = {"gradient": first, "weights": flat(model.trainable_variables)}
    return rank, {**noted, **seen_under(strategy)}


def seen_under(strategy):
    """Policy -> the samples of this worker, of 12 in minibatches of 4 for everybody."""
    seen = {}
    for policy in ("OFF", "DATA", "AUTO", "FILE"):
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = getattr(
            tf.data.experimental.AutoShardPolicy, policy
        )
        dataset = tf.data.Dataset.range(12).batch(4).with_options(options)
        try:
            # this worker's own part; both workers take part in the loop
            own = strategy.experimental_distribute_dataset(dataset)
            mine = [strategy.experimental_local_results(batch)[0] for batch in own]
            seen[policy] = [int(number) for batch in mine for number in batch]
        except tf.errors.OpError as error:
            seen[policy] = type(error).__name__
    return {f"seen_{policy}": np.array(str(what)) for policy, what in seen.items()}


def horovod():
    import horovod.tensorflow as hvd

    hvd.init()
    x, y = (one[hvd.rank() :: hvd.size()] for one in the_samples())
    model, optimizer = new_model(), tf.keras.optimizers.SGD(RATE)
    hvd.broadcast_variables(model.variables, root_rank=0)
    first = None
    for _ in range(STEPS):
        with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
            losses = tf.keras.losses.mean_squared_error(y, model(x, training=True))
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        first = flat(gradients) if first is None else first
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return hvd.rank(), {"gradient": first, "weights": flat(model.trainable_variables)}


def server():
    """Two workers and a parameter server, all three in this process; no step waits for
    another."""
    import socket

    sockets = [socket.socket() for _ in range(3)]
    for one in sockets:
        one.bind(("localhost", 0))
    a, b, c = (f"localhost:{one.getsockname()[1]}" for one in sockets)
    for one in sockets:
        one.close()
    cluster = tf.train.ClusterSpec({"worker": [a, b], "ps": [c]})
    config = tf.compat.v1.ConfigProto()
    config.inter_op_parallelism_threads = 3  # workers + 1: with fewer it waits for ever
    jobs = [("worker", 0), ("worker", 1), ("ps", 0)]
    servers = [
        tf.distribute.Server(
            cluster, job_name=job, task_index=k, config=config, protocol="grpc"
        )
        for job, k in jobs
    ]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        cluster, rpc_layer="grpc"
    )
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    x, y = the_samples()
    with strategy.scope():
        weights = tf.Variable(tf.zeros((8, 1), tf.float64))
        applied = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def step():
        begun = applied.read_value()
        with tf.control_dependencies([begun]), tf.GradientTape() as tape:
            fetched = weights.read_value()
            loss = tf.reduce_mean((tf.tanh(tf.matmul(x, fetched)) - y) ** 2)
        gradient = tape.gradient(loss, weights)
        with tf.control_dependencies([gradient]):
            before = applied.read_value()  # the number when the gradient was ready
        weights.assign_sub(RATE * gradient)
        applied.assign_add(1)
        return loss, before - begun

    scheduled = [coordinator.schedule(step) for _ in range(60)]
    coordinator.join()
    losses, missed = zip(*(one.fetch() for one in scheduled))
    assert len(servers) == 3
    return 0, {
        "losses": np.array(losses),
        "missed": np.array(missed),
        "applied": np.array(int(applied.numpy())),
    }


if __name__ == "__main__":
    way, folder = sys.argv[1], Path(sys.argv[2])
    began = time.perf_counter()
    ways = {"alone": alone, "mwms": mwms, "horovod": horovod, "server": server}
    rank, noted = ways[way]()
    noted["seconds"] = np.array(time.perf_counter() - began)
    noted["memory"] = np.array(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    np.savez(folder / f"{way}-{rank}.npz", **noted)
    sys.stdout.flush()
    if way == "server":
        os._exit(0)  # its servers never end by themselves
