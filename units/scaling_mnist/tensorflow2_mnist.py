"""Trains a small convolutional network on handwritten digits: TensorFlow, one process.

    python tensorflow2_mnist.py                                          the course's digits, 60,000 images
    python tensorflow2_mnist.py --images 6000 --log run_1.jsonl          the first 6,000 of them; also writes a run log
    python tensorflow2_mnist.py --data mnist.npz --device gpu            MNIST in Keras' format, on a GPU

Your task is in README.md: make it run on any number of processes, with Horovod.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow: warnings and errors only

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
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where to compute (default: cpu)")
    parser.add_argument("--seed", type=int, default=0, help="decides initial weights and the order of the images (default: 0)")
    parser.add_argument("--data", default="digits", help="digits, mnist, fashion_mnist, or an .npz file (default: digits)")
    parser.add_argument("--images", type=int, help="use only the first so many training images (default: all)")
    parser.add_argument("--log", "--run-log", help="write a run log to this file (default: no log)")
    parser.add_argument("--nonce", default="", help="the code you were given with the assignment, if any; goes into the log")
    return parser.parse_args()


def choose_device(device: str) -> None:
    """cpu: one computing thread, so that two processes compute twice as much as one. gpu: TensorFlow takes the first one."""
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    elif not gpus:
        sys.exit("--device gpu: TensorFlow finds no GPU here")


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
    """Mean loss and accuracy over all of these images."""
    loss_sum, correct = 0.0, 0
    for first in range(0, len(images), 1000):
        x, y = images[first : first + 1000], labels[first : first + 1000]
        logits = model(x, training=False)
        loss_sum += float(loss_function(y, logits)) * len(x)
        correct += int(np.sum(np.argmax(logits, axis=1) == y))
    return loss_sum / len(images), correct / len(images)


def main() -> None:
    options = parse_options()
    choose_device(options.device)
    tf.keras.utils.set_random_seed(options.seed)

    (images, labels), (test_images, test_labels) = load_data(options.data, options.images)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shuffle(len(images), seed=options.seed).repeat().batch(options.batch_size)
    steps = len(images) // options.batch_size  # of an epoch

    model = cnn()
    optimizer = tf.keras.optimizers.SGD(options.lr, momentum=MOMENTUM)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_function(y, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss, tf.reduce_sum(tf.cast(tf.argmax(logits, axis=1) == y, tf.int64))

    log = runlog.Writer(
        options.log,
        program=__file__,
        arguments=vars(options),
        batch_size=options.batch_size,
        seed=options.seed,
        nonce=options.nonce,
        data={"name": options.data, "train_images": len(images), "test_images": len(test_images)},
    )
    for epoch in range(options.epochs):
        loss_sum, correct, count = 0.0, 0, 0
        log.begin_epoch()
        for x, y in dataset.take(steps):
            batch_loss, batch_correct = train_step(x, y)
            loss_sum += float(batch_loss) * len(x)
            correct += int(batch_correct)
            count += len(x)
            log.step(samples=len(x), learning_rate=float(optimizer.learning_rate))
        loss, accuracy = loss_sum / count, correct / count
        val_loss, val_accuracy = evaluate(model, test_images, test_labels)
        log.end_epoch(loss=loss, accuracy=accuracy, val_loss=val_loss, val_accuracy=val_accuracy)
        print(
            f"epoch {epoch + 1}: {steps} steps, loss {loss:.4f}, accuracy {accuracy:.4f}, "
            f"validation loss {val_loss:.4f}, validation accuracy {val_accuracy:.4f}"
        )
    log.close()


if __name__ == "__main__":
    main()
