"""The harnesses of unit 13's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import itertools
import json
import os
import types

import numpy as np
import tensorflow as tf


def tf_config(f, hosts, indices):
    found = []
    for index in indices:
        try:
            text = f(list(hosts), index)
        except ValueError:
            found.append("ValueError")
            continue
        if not isinstance(text, str):
            found.append("no text")
            continue
        try:
            found.append(json.dumps(json.loads(text), sort_keys=True))
        except ValueError:
            found.append("no JSON")
    return found


def mirrored(replicas):
    tf.get_logger().setLevel("ERROR")
    cpu = tf.config.list_physical_devices("CPU")[0]
    devices = [tf.config.LogicalDeviceConfiguration()] * (replicas + 1)  # one that the strategy does not use
    tf.config.set_logical_device_configuration(cpu, devices)
    tf.config.threading.set_inter_op_parallelism_threads(4 * replicas)  # an operation that waits keeps a thread
    tf.config.run_functions_eagerly(True)
    tf.keras.backend.set_floatx("float64")
    devices = [f"CPU:{k}" for k in range(replicas)]
    strategy = tf.distribute.MirroredStrategy(devices, cross_device_ops=tf.distribute.ReductionToOneDevice())
    # An iterator that fetches to several devices waits forever in its end, once in about twenty times.
    here = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    for name in ("experimental_distribute_dataset", "distribute_datasets_from_function"):
        distribute_it = getattr(strategy, name)

        def on_this_device(what, options=None, distribute_it=distribute_it):
            return distribute_it(what, options or here)

        setattr(strategy, name, on_this_device)
    return strategy


class Probe(tf.keras.layers.Layer):
    # Passes its input on and notes which samples, known by their first numbers, passed on which replica.
    def __init__(self, strategy, seen):
        super().__init__(dtype="float64")
        self.strategy, self.seen = strategy, seen

    def call(self, x):
        context = tf.distribute.get_replica_context()
        inside = context is not None and tf.distribute.get_strategy() is self.strategy
        where = int(context.replica_id_in_sync_group) if inside else -1
        tf.numpy_function(lambda first: self.seen.setdefault(where, []).extend(first.tolist()), [x[:, 0]], [])
        return x


class Frozen(tf.keras.layers.Layer):
    # Adds a variable that is not trained: 0.
    def build(self, shape):
        self.shift = self.add_weight(name="shift", shape=(shape[-1],), initializer="zeros", trainable=False)

    def call(self, x):
        return x + self.shift


def mirrored_gradients(f, replicas, x, y, weights, offset):
    strategy, seen = mirrored(replicas), {}
    with strategy.scope():
        dense = tf.keras.layers.Dense(weights.shape[1], dtype="float64")
        model = tf.keras.Sequential([Probe(strategy, seen), Frozen(dtype="float64"), dense])
        model.build((None, weights.shape[0]))
        dense.set_weights([weights, offset])
    seen.clear()
    found = f(strategy, model, x, y)
    if not isinstance(found, (list, tuple)):
        return found
    gradients = [[np.asarray(one) for one in strategy.experimental_local_results(g)] for g in found]
    alike = all(np.array_equal(one, some[0]) for some in gradients for one in some)
    number = {float(first): k for k, first in enumerate(x[:, 0])}
    return {
        "gradients": [some[0] for some in gradients],
        "alike on all replicas": alike,
        "samples of each replica": {
            str(where): sorted(number.get(first, -1) for first in rows) for where, rows in seen.items()
        },
    }


def global_loss(f, shares, penalty):
    strategy = mirrored(len(shares))
    n = sum(map(len, shares))
    penalty = tf.constant(penalty, tf.float64)
    taken = {}

    def step():
        replica = int(tf.distribute.get_replica_context().replica_id_in_sync_group)
        own = tf.reshape(tf.constant(shares[replica], tf.float64), [-1])
        with tf.GradientTape() as tape:
            tape.watch([own, penalty])
            loss = f(own, penalty, n)
        if loss is None:
            return
        if not tf.is_tensor(loss) or loss.shape != ():
            taken[replica] = None
            return
        by_sample, by_penalty = tape.gradient(loss, [own, penalty])
        by_sample = tf.zeros_like(own) if by_sample is None else by_sample
        by_penalty = tf.zeros_like(penalty) if by_penalty is None else by_penalty
        taken[replica] = [one.numpy() for one in (loss, by_sample, by_penalty)]

    strategy.run(step)
    if not taken:
        return None
    if None in taken.values():
        return "no scalar tensor"
    losses, by_sample, by_penalty = zip(*(taken[k] for k in range(len(shares))), strict=False)
    return {
        "sum of the replicas' losses": np.asarray(sum(losses)),
        "gradient by each sample's loss": np.concatenate(by_sample),
        "gradient by the penalty": np.asarray(sum(by_penalty)),
    }


# What MultiWorkerMirroredStrategy does with a dataset on one of its workers (TensorFlow 2.15,
# `input_lib.DistributedDataset`), by the same operations. The minibatches of its replicas come in turn.
class Handed:
    def __init__(self, datasets):
        self.minibatches = datasets


class Worker:
    def __init__(self, workers, index, replicas):
        self.workers, self.index, self.replicas = workers, index, replicas
        self.num_replicas_in_sync = workers * replicas
        self.cluster_resolver = types.SimpleNamespace(task_type="worker", task_id=index)

    def experimental_distribute_dataset(self, dataset, options=None):
        from tensorflow.python.data.experimental.ops import distribute as sizes
        from tensorflow.python.distribute import input_ops

        batch = sizes.compute_batch_size(dataset)
        own = sizes.batch_sizes_for_worker(batch, self.workers, self.replicas, self.index)
        if int(batch) == -1:
            dataset = sizes._LegacyRebatchDataset(dataset, self.num_replicas_in_sync)
        else:
            dataset = dataset.rebatch(own)
        return Handed(input_ops.auto_shard_dataset(dataset, self.workers, self.index, self.num_replicas_in_sync))

    def distribute_datasets_from_function(self, function, options=None):
        return Handed(function(tf.distribute.InputContext(self.workers, self.index, self.num_replicas_in_sync)))

    def scope(self):
        import contextlib

        return contextlib.nullcontext()


def labels(minibatch):
    return minibatch[1] if isinstance(minibatch, tuple) else minibatch


def steps_of(found, strategy, replicas):
    # One list of minibatches for each step of one worker; None where the dataset was not handed to the strategy.
    if isinstance(strategy, Worker):
        if not isinstance(found, Handed):
            return None
        minibatches = [np.ravel(labels(one)).tolist() for one in itertools.islice(iter(found.minibatches), 200)]
        return [minibatches[k : k + replicas] for k in range(0, len(minibatches), replicas)]
    if not isinstance(found, tf.distribute.DistributedDataset):
        return None
    return [
        [np.ravel(one).tolist() for one in strategy.experimental_local_results(labels(values))]
        for values in itertools.islice(iter(found), 100)
    ]


def distribute(f, samples, batch, workers, replicas):
    steps = []
    for index in range(workers):
        tf.get_logger().setLevel("ERROR")
        strategy = mirrored(replicas) if workers == 1 else Worker(workers, index, replicas)
        pairs = len(samples) % 2 == 0  # as images with labels
        held = (np.zeros((len(samples), 2)), samples) if pairs else samples
        found = f(tf.data.Dataset.from_tensor_slices(held), strategy, batch)
        if found is None:
            return None
        own = steps_of(found, strategy, replicas)
        if own is None:
            return {"distributed": False}
        steps.append(own)
    seen = [one for own in steps for step in own for minibatch in step for one in minibatch]
    return {
        "distributed": True,
        "samples nobody saw": len(set(samples.tolist()) - set(seen)),
        "samples seen again": len(seen) - len(set(seen)),
        "largest minibatch": max((len(one) for own in steps for step in own for one in step), default=0),
        "steps": max(len(own) for own in steps),
        "steps that a worker lacks": max(0, max(map(len, steps)) - min(map(len, steps)) - 1),
    }


def noted_policies(strategy):
    # how each dataset that goes to the strategy, by `fit` too, is divided among the workers
    policies, distribute_it = set(), strategy.experimental_distribute_dataset

    def noted(dataset, options=None):
        policies.add(dataset.options().experimental_distribute.auto_shard_policy.name)
        return distribute_it(dataset, options)

    strategy.experimental_distribute_dataset = noted
    return policies


def places(saved, index, trained):
    words = []
    for path, weights in saved.get(index, []):
        others = path in [one for one, _ in saved.get(index + 1, [])]
        where = "the same place as another worker" if others else "a place of its own"
        where = "the checkpoint" if path == "checkpoint" else where
        what = "" if np.array_equal(weights, trained) else ", before the last step"
        words.append(where + (", not the model" if weights is None else what))
    return " and ".join(words) or "nothing"


class InTraining(tf.keras.layers.Layer):
    # Like dropout and batch normalisation it is another layer outside of training.
    def call(self, x, training=None):
        return x if training else x / 2


def port(f, replicas, index, x, y, weights, local_batch, rate, epochs):
    strategy, seen, made, saved = mirrored(replicas), {}, [], {}
    policies = noted_policies(strategy)

    def build_model():
        dense = tf.keras.layers.Dense(weights.shape[1], use_bias=False, dtype="float64")
        model = tf.keras.Sequential([Probe(strategy, seen), InTraining(dtype="float64"), dense])
        model.build((None, weights.shape[0]))
        model.set_weights([weights])
        made.append((model, tf.distribute.has_strategy()))
        seen.clear()
        return model

    for worker in (index, index + 1) if index and not epochs else (index,):  # does the next one save to the same place?

        def save(model, path, worker=worker):
            now = model.get_weights()[0] if isinstance(model, tf.keras.Model) else None
            saved.setdefault(worker, []).append((os.path.normpath(str(path)), now))

        f(strategy, worker, build_model, x, y, local_batch, rate, epochs, save)
    if not made:
        return None
    model, inside = made[-1]
    number = {float(first): k for k, first in enumerate(x[:, 0])}
    passes = [[number[first] for first in rows] for rows in seen.values()]
    each = [one for rows in passes for one in np.array_split(rows, max(epochs, 1))]
    trained = model.get_weights()[0]
    return {
        "made under the strategy": inside,
        "replicas at work": len([where for where in seen if where >= 0]),
        "samples in order": all(np.all(np.diff(one) > 0) for one in each),
        "weights": trained,
        "policies": "OFF" if "OFF" in policies else "fine",
        "saved to": places(saved, index, trained),
    }
