"""Trains a small MobileNet to name the product on a photo: Keras, one process.

    python train_products.py
        a look-alike of Stanford Online Products, drawn on this machine
    python train_products.py --data DIR/Stanford_Online_Products --side 64 --width 1 \\
        --device gpu
        the real data, on a GPU
    python train_products.py --epochs 8 --checkpoint products.npz
        goes on where products.npz ends; writes it after every epoch

Your task is in the notebook beside it: copy this file to train_products_hvd.py and make
it run on any number of processes, on any number of nodes, with Horovod.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

# TensorFlow: errors only
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from labkit.environment import without_frameworks

if sentence := without_frameworks(horovod=False):
    sys.exit(sentence)

import numpy as np
import tensorflow as tf

from labkit import products, runlog
from labkit.data import DataError
from labkit.keras_models import mobilenet

MOMENTUM = 0.9


def parse_options() -> argparse.Namespace:
    scratch = Path(tempfile.gettempdir()) / f"products-{os.getuid()}"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        type=Path,
        default=scratch / "Stanford_Online_Products",
        help="the data set; drawn if it is not there",
    )
    parser.add_argument(
        "--scratch",
        type=Path,
        default=scratch,
        help="folder for prepared images, on a disk of this node",
    )
    parser.add_argument(
        "--side",
        type=int,
        default=products.SIDE,
        help="side of a prepared image in pixels (default: 32)",
    )
    parser.add_argument(
        "--width",
        type=float,
        default=0.25,
        help="width multiplier of the MobileNet (default: 0.25)",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=32,
        help="images per step in this process (default: 32)",
    )
    parser.add_argument(
        "--epochs",
        type=int,
        default=6,
        help="passes over the training images (default: 6)",
    )
    parser.add_argument(
        "--lr",
        type=float,
        default=0.05,
        help="learning rate of one process (default: 0.05)",
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "gpu"),
        default="cpu",
        help="where to compute (default: cpu)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="decides initial weights and the order of the images (default: 0)",
    )
    parser.add_argument(
        "--checkpoint",
        type=Path,
        help="go on from this file, if it is there, and write it after every epoch",
    )
    parser.add_argument("--log", help="write a run log to this file (default: no log)")
    return parser.parse_args()


def choose_device(device: str) -> None:
    """cpu: one computing thread, so that two processes compute twice as much as one.
    gpu: TensorFlow takes the first one.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    elif not gpus:
        sys.exit("--device gpu: TensorFlow finds no GPU here")


def prepare(options: argparse.Namespace) -> None:
    """Every photo opened and resized once, into the scratch folder; what is there
    already is kept.
    """
    if not options.data.exists() and options.data.name == "Stanford_Online_Products":
        products.draw(options.data.parent)
    for split in products.LISTS:
        products.prepare(options.data, split, options.scratch, options.side)


def to_floats(images, labels):
    """Bytes become numbers from -1 to 1, minibatch by minibatch: as bytes the data set
    needs a quarter of the memory.
    """
    return tf.cast(images, tf.float32) / 127.5 - 1, labels


def read_checkpoint(path: Path | None) -> dict | None:
    """Finished epochs, weights and the optimizer's variables, from `write_checkpoint`.
    None where there is none.
    """
    if path is None or not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        weights = [file[f"weight{k}"] for k in range(int(file["weights"]))]
        optimizer = [file[f"state{k}"] for k in range(int(file["states"]))]
        return {
            "epochs": int(file["epochs"]),
            "weights": weights,
            "optimizer": optimizer,
        }


def write_checkpoint(path: Path, model: tf.keras.Model, epochs: int) -> None:
    """All or nothing: written under another name, then renamed. A job that is ended
    while it writes leaves the older checkpoint.
    """
    weights, states = (
        model.get_weights(),
        [variable.numpy() for variable in model.optimizer.variables],
    )
    arrays = {f"weight{k}": value for k, value in enumerate(weights)} | {
        f"state{k}": value for k, value in enumerate(states)
    }
    part = path.with_name(f"{path.name}.part")
    with open(part, "wb") as file:
        np.savez(
            file, epochs=epochs, weights=len(weights), states=len(states), **arrays
        )
    part.replace(path)


class Checkpoint(tf.keras.callbacks.Callback):
    def __init__(self, path: Path):
        super().__init__()
        self.path = path

    def on_epoch_end(self, epoch, logs=None):
        write_checkpoint(self.path, self.model, epoch + 1)


def report(history: dict, epochs: int) -> None:
    if not history:
        print(
            f"nothing to do: {epochs} epochs are in the checkpoint already; ask for "
            "more with --epochs",
            flush=True,
        )
    else:
        print(
            f"test accuracy {history['val_accuracy'][-1]:.3f} after {epochs} epochs, "
            "1 rank",
            flush=True,
        )


def main() -> None:
    options = parse_options()
    choose_device(options.device)
    tf.keras.utils.set_random_seed(options.seed)

    prepare(options)
    images, labels = products.load("train", options.scratch, options.side)
    test_images, test_labels = products.load("test", options.scratch, options.side)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    minibatches = (
        dataset.shuffle(len(images), seed=options.seed)
        .repeat()
        .batch(options.batch_size)
    )
    steps = -(-len(images) // options.batch_size)  # of an epoch
    test = (
        tf.data.Dataset.from_tensor_slices((test_images, test_labels))
        .batch(100)
        .map(to_floats)
    )

    model = mobilenet(
        len(products.SUPER_CLASSES),
        options.width,
        small_images=options.side <= 64,
        repeats=1,
    )
    optimizer = tf.keras.optimizers.SGD(options.lr, momentum=MOMENTUM)
    optimizer.build(model.trainable_variables)
    first_epoch = 0
    checkpoint = read_checkpoint(options.checkpoint)
    if checkpoint is not None:
        first_epoch = checkpoint["epochs"]
        model.set_weights(checkpoint["weights"])
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
    model.compile(
        optimizer,
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

    log = runlog.Writer(
        options.log,
        program=__file__,
        arguments=vars(options),
        batch_size=options.batch_size,
        seed=options.seed,
        data={
            "name": "products",
            "train_images": len(images),
            "test_images": len(test_images),
        },
    )
    callbacks = [log.keras_callback()]
    if options.checkpoint is not None:
        callbacks.insert(0, Checkpoint(options.checkpoint))
    history = model.fit(
        # whoever goes on goes on in the order of the images, too
        minibatches.skip(first_epoch * steps).map(to_floats),
        steps_per_epoch=steps,
        initial_epoch=first_epoch,
        epochs=options.epochs,
        validation_data=test,
        callbacks=callbacks,
        verbose=2,
    )
    log.close()
    report(history.history, options.epochs)


if __name__ == "__main__":
    try:
        main()
    except DataError as error:  # says itself what is missing and what to do
        sys.exit(str(error))
