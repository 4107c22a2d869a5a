"""Unit 07: models and weights to compare, trainings with Horovod of which one thing differs, and what they are held
against. Needs TensorFlow and Horovod.

    runs = [of_rank["+ average"] for of_rank in ranks.pull("runs")]     weights after every step, for each rank
    eight_steps.between_ranks(runs)                                     the largest difference of a weight, per step
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
import torch

from labkit import horovod_timeline, keras_models, models, training
from labkit.environment import cores, mpi_environment, mpiexec
from labkit.plots import charts
from labkit.plots.runs import distances

LOCAL_BATCH = 32  # images per step on each rank
BASE_RATE = 0.02  # the learning rate of one process with minibatches of 32
# images/s of ResNet-34 on so many GPUs, mean and standard deviation: H. Zheng, AI for science training series, 2022
ALCF = {1: (281.22, 75.79), 2: (382.01, 8.42), 4: (689.22, 77.78), 8: (1341.25, 52.51)}

loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
Weights = np.ndarray  # all weights of a model as one vector
Run = Sequence[Weights]  # before the first and after every step


def new_model(seed: int) -> tf.keras.Model:
    """A network of 784 inputs, 32 hidden neurons and 10 outputs; the seed decides where it starts."""
    tf.keras.utils.set_random_seed(seed)
    return keras_models.mlp(hidden=(32,))


def weights_of(model: tf.keras.Model) -> Weights:
    """A copy of all weights as one vector."""
    return np.concatenate([variable.numpy().ravel() for variable in model.trainable_variables])


def between_ranks(runs: Sequence[Run]) -> list[float]:
    """The largest difference of a weight between a rank and rank 0, per step. runs: of every rank."""
    return [max(float(np.abs(w - steps[0]).max()) for w in steps) for steps in zip(*runs, strict=True)]


def between_paths(runs: Sequence[Run]) -> list[float]:
    """The same for the paths of the ranks: their weights minus those that they started with."""
    return between_ranks([[w - weights[0] for w in weights] for weights in runs])


def from_sequential(alone: Run) -> Callable[[Sequence[Run]], list[float]]:
    """A function of runs: the largest difference, per step, between a weight on any rank and the same weight of the
    sequential run `alone`."""

    def from_alone(runs: Sequence[Run]) -> list[float]:
        return [
            max(float(np.abs(w - reference).max()) for w in steps)
            for *steps, reference in zip(*runs, alone, strict=True)
        ]

    return from_alone


def draw_differences(of_ranks: Sequence[Mapping[str, Run]], panels: Mapping[str, Callable]) -> None:
    """Draw a panel for each function of `panels` (title -> function of the runs of all ranks, one number per step),
    with a curve for each name. of_ranks: for each rank {name: its run}."""
    found = {
        title: {what: distance([one[what] for one in of_ranks]) for what in of_ranks[0]}
        for title, distance in panels.items()
    }
    distances(found, ylabel="largest difference of a weight", promised=1e-5)


def print_largest(between: float, sequential: float, promise: str = "") -> None:
    """Print two largest differences of a weight: between ranks, and to the sequential run."""
    print(f"largest difference between ranks          {between:.1e}")
    print(f"largest difference to the sequential run  {sequential:.1e}{promise}")


def print_differences(of_ranks: Sequence[Weights], reference: Weights) -> None:
    """Print the largest difference of a weight between the ranks, and to `reference`."""
    print_largest(*(max(np.abs(w - other).max() for w in of_ranks) for other in (of_ranks[0], reference)))


def shares(x: np.ndarray, y: np.ndarray) -> tf.data.Dataset:
    """This rank's minibatches of LOCAL_BATCH images, as many as there are whole global ones."""
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank())
    return dataset.batch(LOCAL_BATCH).take(len(x) // (hvd.size() * LOCAL_BATCH))


def train_with_broadcast(when: str, x: np.ndarray, y: np.ndarray, epochs: int) -> list[Weights]:
    """Train with hvd.DistributedGradientTape, each rank from a start of its own. Returns the weights before the first
    and after every step.

    when: "before the first step", "after the first step" or "never": when rank 0's variables, model and optimizer, are
    broadcast. x, y: all images and labels.
    """
    model = new_model(seed=hvd.rank())
    optimizer = tf.keras.optimizers.SGD(BASE_RATE * hvd.size(), momentum=0.9)
    optimizer.build(model.trainable_variables)
    if when == "before the first step":
        hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    weights = [weights_of(model)]
    for step, (images, labels) in enumerate(shares(x, y).repeat(epochs)):
        with tf.GradientTape() as tape:
            loss = loss_function(labels, model(images, training=True))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        if when == "after the first step" and step == 0:
            hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
        weights.append(weights_of(model))
    return weights


class Spy(tf.keras.callbacks.Callback):
    """Notes the learning rate of every step (`rates`) and the loss of every epoch (`losses`), as it finds them at its
    place in the list of callbacks."""

    def on_train_begin(self, logs=None):
        self.rates, self.losses = [], []

    def on_train_batch_end(self, batch, logs=None):
        self.rates.append(float(self.model.optimizer.learning_rate))

    def on_epoch_end(self, epoch, logs=None):
        self.losses.append(round(float(logs["loss"]), 4))


class SaysThatItSaves(tf.keras.callbacks.Callback):
    """Prints the loss after every epoch where a checkpoint would be written."""

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch}: rank {hvd.rank()} saves, {logs['loss']:.3f}")


def fit(callbacks: list, epochs: int, x: np.ndarray, y: np.ndarray) -> tf.keras.Model:
    """Train a new model with Keras's `fit` and hvd_keras.DistributedOptimizer, every rank from a start of its own, on
    its share of x and y. Returns the model."""
    model = new_model(seed=hvd.rank())
    optimizer = hvd_keras.DistributedOptimizer(tf.keras.optimizers.SGD(BASE_RATE * hvd.size(), momentum=0.9))
    model.compile(optimizer, loss_function)
    model.fit(shares(x, y), epochs=epochs, callbacks=callbacks, verbose=0)
    return model


def draw_rates(mine: Sequence[float], rates: Sequence[float], ranks: int) -> None:
    """Draw two learning rates over the steps: `mine` as a line, Keras's as points; guides at the rate of one process
    and at that times the ranks."""
    steps = range(len(rates))
    shown = {"learning_rate(step)": (steps, mine, "blue -")}
    shown["Keras with LearningRateWarmupCallback"] = (steps, rates, "red o")
    words = {"xlabel": "step", "ylabel": "learning rate", "ylim": (0, ranks * BASE_RATE * 1.15)}
    ax = charts.lines(shown, size=(7, 3.2), legend="lower right", **words)
    charts.guide(ax, "rate of one process", y=BASE_RATE, at="right")
    charts.guide(ax, f"times {ranks} ranks", y=ranks * BASE_RATE)


def as_tensors(x: np.ndarray, y: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Keras's images, (n, 28, 28, 1), and labels for PyTorch: (n, 1, 28, 28), and (n,)."""
    return torch.from_numpy(x).movedim(-1, 1), torch.from_numpy(y)


def torch_shares(x: np.ndarray, y: np.ndarray, rank: int, ranks: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """This rank's minibatches for PyTorch, (x, y) of LOCAL_BATCH images each: every `ranks`-th image from number `rank`
    on, as many minibatches as there are whole global ones."""
    mine = as_tensors(x[rank::ranks], y[rank::ranks])
    batches = zip(*(part.split(LOCAL_BATCH) for part in mine), strict=True)
    return list(batches)[: len(x) // (ranks * LOCAL_BATCH)]


def torch_alone(x: np.ndarray, y: np.ndarray, ranks: int) -> Weights:
    """The weights of unit 05's sequential loop after one epoch with the global minibatches of so many ranks."""
    torch.manual_seed(0)
    model = models.mlp(hidden=(32,))
    batches = training.minibatches(len(x), ranks * LOCAL_BATCH, drop_last=True)
    training.train(model, *as_tensors(x, y), batches, lr=BASE_RATE * ranks, momentum=0.9)
    return training.flat(model.parameters()).numpy()


def recorded(path: str) -> list:
    """The steps in a file of Horovod's timeline, as `labkit.horovod_timeline.steps` finds them; prints the number of
    transfers in each."""
    steps = horovod_timeline.steps(horovod_timeline.read(path))
    transfers = [len(horovod_timeline.transfers(step)) for step in steps]
    print(f"{Path(path).stem:<20} transfers in each step: {transfers}")
    return steps


def mended(x: np.ndarray, y: np.ndarray, epochs: int) -> tuple[tf.keras.Model, list[int], list[str]]:
    """Train with the page's `specimen`, its three mistakes corrected: a broadcast before the first step, shares by the
    rank, and rank 0 writes. Returns the model, the numbers of the images that this rank has read, and what it wrote."""
    model = new_model(seed=hvd.rank())
    optimizer = tf.keras.optimizers.SGD(BASE_RATE * hvd.size(), momentum=0.9)
    dataset = tf.data.Dataset.from_tensor_slices((x, y, np.arange(len(x))))
    dataset = dataset.shard(hvd.size(), hvd.rank())
    dataset = dataset.batch(LOCAL_BATCH, drop_remainder=True).take(len(x) // (hvd.size() * LOCAL_BATCH))
    optimizer.build(model.trainable_variables)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    seen, written = [], []
    for epoch in range(epochs):
        for images, labels, numbers in dataset:
            with tf.GradientTape() as tape:
                loss = loss_function(labels, model(images, training=True))
            tape = hvd.DistributedGradientTape(tape)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            seen += numbers.numpy().tolist()
        loss = hvd.allreduce(loss, op=hvd.Average)
        if hvd.rank() == 0:
            print(f"epoch {epoch}: loss {float(loss):.3f}")
            written.append(f"epoch {epoch}")
    return model, seen, written


def print_evidence(weights: Sequence[Weights], seen: Sequence[list[int]], written: Sequence[list], n: int) -> None:
    """Print three facts about a run: the largest difference of a weight between ranks, how many of n images were read,
    and which ranks wrote a checkpoint. Each list has an entry for every rank."""
    apart = max(np.abs(w - weights[0]).max() for w in weights)
    print(f"largest difference of a weight between ranks   {apart:.2g}")
    print(f"different images read                          {len(set(sum(seen, [])))} of {n}")
    print(f"ranks that wrote the checkpoint                {[r for r, files in enumerate(written) if files]}")


def throughput(world_size: int) -> tuple[float, float]:
    """The images per second of a small ResNet-34 on `world_size` ranks: (mean, standard deviation) over 10 steps of the
    script beside the page, resnet34_throughput_hvd.py."""
    program = [sys.executable, "resnet34_throughput_hvd.py", "--num-steps", "10"]
    small = "--image-size 32 --width 8 --batch-size 8 --threads 1".split()
    done = subprocess.run(
        [*mpiexec(), "-n", str(world_size), *program, *small],
        env={**os.environ, **mpi_environment(world_size)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    record = json.loads(done.stdout.splitlines()[-1])
    return record["images_per_second"], record["images_per_second_sd"]


def draw_throughput(here: Mapping[int, tuple[float, float]]) -> None:
    """Draw and print images per second over the ranks beside the published ones, with what perfect scaling would be.
    here: ranks -> (mean, standard deviation)."""
    _, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    titles = f"here: {cores()} cores, tiny images", "published: GPUs (ALCF 2022)"
    for ax, measured, title in zip(axes, (here, ALCF), titles, strict=True):
        p, (mean, sd) = list(measured), zip(*measured.values(), strict=True)
        shown = {
            "measured, ± 1 sd over 10 steps": (p, mean, "blue o-", sd),
            "times the number of ranks": (p, [mean[0] * n for n in p], "grey --"),
        }
        words = {"xlabel": "ranks", "ylabel": "images/s", "title": title, "xticks": p}
        charts.lines(shown, ax, ylim=(0, None), legend="upper left", **words)
        said = (
            f"{n}: {m:.0f} ± {s:.0f} ({m / mean[0] / n:.0%} of perfect)" for n, m, s in zip(p, mean, sd, strict=True)
        )
        print(title, *said, sep="   ")
