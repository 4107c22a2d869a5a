"""Trains a small convolutional network on handwritten digits: TensorFlow and Horovod, any number of processes.

    mpiexec -n 4 python tensorflow2_mnist_hvd.py --images 6000 --log run_4.jsonl
    ... --warmup-epochs 2                    the learning rate climbs for two epochs

tensorflow2_mnist.py is the same program for one process. Compare the two: every difference is one of Horovod's steps.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow: warnings and errors only

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from labkit import data, runlog
from labkit.keras_models import cnn

MOMENTUM = 0.9
loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)  # the mean over a minibatch


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch-size", type=int, default=64, help="images per step in this process (default: 64)")
    parser.add_argument("--epochs", type=int, default=5, help="passes over the training images (default: 5)")
    parser.add_argument("--lr", type=float, default=0.005, help="learning rate of one process (default: 0.005)")
    parser.add_argument("--warmup-epochs", type=int, default=0, help="epochs in which the learning rate climbs (default: 0)")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where to compute (default: cpu)")
    parser.add_argument("--seed", type=int, default=0, help="decides initial weights and the order of the images (default: 0)")
    parser.add_argument("--data", default="digits", help="digits, mnist, fashion_mnist, or an .npz file (default: digits)")
    parser.add_argument("--images", type=int, help="use only the first so many training images (default: all)")
    parser.add_argument("--log", "--run-log", help="write a run log to this file (default: no log)")
    parser.add_argument("--nonce", default="", help="the code you were given with the assignment, if any; goes into the log")
    return parser.parse_args()


def choose_device(device: str) -> None:
    """cpu: one computing thread, so that two processes compute twice as much as one. gpu: one of this machine's for each rank."""
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    elif not gpus:
        sys.exit("--device gpu: TensorFlow finds no GPU here")
    else:  # Horovod, step 2: the GPU with the number of this rank on its machine; memory is taken as it is needed
        gpu = gpus[hvd.local_rank()]
        tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.set_visible_devices(gpu, "GPU")


def load_data(name: str, count: int | None) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Training and test set, each (images, labels). count: only so many training images, and a sixth of that for the test."""
    if name.endswith(".npz"):
        with np.load(name, allow_pickle=False) as file:
            train, test = (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])
    else:
        train, test = data.load(name, train=True, n=count), data.load(name, train=False)
    return prepare(*train, count), prepare(*test, max(1, count // 6) if count else None)


def prepare(images: np.ndarray, labels: np.ndarray, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The first `count` images as float32 from 0 to 1, shape (count, 28, 28, 1), and their labels as int64."""
    return images[:count, ..., np.newaxis].astype("float32") / 255, labels[:count].astype("int64")


def evaluate(model: tf.keras.Model, images: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Mean loss and accuracy over all of these images; each rank looks at every size-th of them."""
    images, labels = images[hvd.rank() :: hvd.size()], labels[hvd.rank() :: hvd.size()]  # Horovod, step 8: share the work
    loss_sum, correct = 0.0, 0
    for first in range(0, len(images), 1000):
        x, y = images[first : first + 1000], labels[first : first + 1000]
        logits = model(x, training=False)
        loss_sum += float(loss_function(y, logits)) * len(x)
        correct += int(np.sum(np.argmax(logits, axis=1) == y))
    return mean_over_ranks(loss_sum, correct, len(images))  # Horovod, step 8


def mean_over_ranks(loss_sum: float, correct: int, count: int) -> tuple[float, float]:
    """Horovod, step 8: mean loss and accuracy over the images of all ranks. Ranks may have seen unequally many, or none."""
    sums = tf.constant([loss_sum, correct, count], tf.float64)
    loss_sum, correct, count = hvd.allreduce(sums, op=hvd.Sum).numpy()
    return float(loss_sum / count), float(correct / count)


def learning_rate(step: int, base_rate: float, warmup_steps: int) -> float:
    """Horovod, step 5: the rate of one process times the number of ranks, and a straight line up to that in the warm-up."""
    scaled = base_rate * hvd.size()
    if step >= warmup_steps:
        return scaled
    return base_rate + (scaled - base_rate) * step / warmup_steps


def main() -> None:
    options = parse_options()
    hvd.init()  # Horovod, step 1
    choose_device(options.device)
    tf.keras.utils.set_random_seed(options.seed)

    (images, labels), (test_images, test_labels) = load_data(options.data, options.images)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shard(hvd.size(), hvd.rank())  # Horovod, step 3: every size-th image
    dataset = dataset.shuffle(len(images), seed=options.seed).repeat().batch(options.batch_size)
    steps = len(images) // (options.batch_size * hvd.size())  # of an epoch. Horovod, step 4: the same number on every rank

    model = cnn()
    optimizer = tf.keras.optimizers.SGD(options.lr, momentum=MOMENTUM)
    optimizer.build(model.trainable_variables)  # Horovod, step 7: with its variables made, all can be sent before the first step
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_function(y, logits)
        tape = hvd.DistributedGradientTape(tape)  # Horovod, step 6: its gradients are means over all ranks
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss, tf.reduce_sum(tf.cast(tf.argmax(logits, axis=1) == y, tf.int64))

    log = runlog.Writer(  # Horovod, step 8: writes on rank 0 only
        options.log,
        rank=hvd.rank(),
        world_size=hvd.size(),
        gather=hvd.allgather_object,
        program=__file__,
        arguments=vars(options),
        batch_size=options.batch_size,
        seed=options.seed,
        nonce=options.nonce,
        data={"name": options.data, "train_images": len(images), "test_images": len(test_images)},
    )
    step = 0
    for epoch in range(options.epochs):
        loss_sum, correct, count = 0.0, 0, 0
        log.begin_epoch()
        for x, y in dataset.take(steps):
            # Horovod, step 5 (and the warm-up)
            optimizer.learning_rate = learning_rate(step, options.lr, options.warmup_epochs * steps)
            batch_loss, batch_correct = train_step(x, y)
            loss_sum += float(batch_loss) * len(x)
            correct += int(batch_correct)
            count += len(x)
            step += 1
            log.step(samples=len(x), learning_rate=float(optimizer.learning_rate))
        loss, accuracy = mean_over_ranks(loss_sum, correct, count)  # Horovod, step 8
        val_loss, val_accuracy = evaluate(model, test_images, test_labels)
        log.end_epoch(loss=loss, accuracy=accuracy, val_loss=val_loss, val_accuracy=val_accuracy)
        if hvd.rank() == 0:  # Horovod, step 8
            print(
                f"epoch {epoch + 1}: {steps} steps, loss {loss:.4f}, accuracy {accuracy:.4f}, "
                f"validation loss {val_loss:.4f}, validation accuracy {val_accuracy:.4f}"
            )
    log.close()


if __name__ == "__main__":
    main()
