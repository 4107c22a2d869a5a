"""Replicas on logical CPUs, in one process that has TensorFlow: what unit 13's harnesses share, and its kind of
exercise.
"""

from __future__ import annotations

from autograder.compare import difference
from autograder.exercise import Case, Finding, Run
from autograder.exercises.kinds import ReportExercise

REPLICAS = """
import os

import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")


def mirrored(replicas):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
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
"""

# What MultiWorkerMirroredStrategy does with a dataset on one of its workers (TensorFlow 2.15,
# `input_lib.DistributedDataset`), by the same operations. The minibatches of its replicas come in turn.
WORKER = """
import itertools
import types


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
        return Handed(
            input_ops.auto_shard_dataset(dataset, self.workers, self.index, self.num_replicas_in_sync)
        )

    def distribute_datasets_from_function(self, function, options=None):
        return Handed(function(tf.distribute.InputContext(self.workers, self.index, self.num_replicas_in_sync)))

    def scope(self):
        import contextlib

        return contextlib.nullcontext()


"""


class StrategyExercise(ReportExercise):
    """One process with TensorFlow, whose report is a dict. A case's arguments are those of the harness, by name."""

    runtime = "tensorflow"
    inputs = "free"
    talks = False
    given: tuple[str, ...] = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "harness" in vars(cls):
            cls.harness = REPLICAS + cls.harness

    def case(self, level: str, known: dict, says: str) -> Case:
        return Case(level, 1, tuple(known[name] for name in self.given), says, known)

    def facts(self, case: Case, run: Run):
        report = run.ranks[0].value
        if not isinstance(report, dict):
            return None
        right = difference(self.expected(case)[0], report, case.rtol, case.atol) is None
        return self.read(self.worked(case), report, right)

    def read(self, t, report: dict, right: bool) -> Finding | str | None:
        """Names what happened. right: whether the values are."""
        return None
