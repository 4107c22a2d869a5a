"""Trains a small MobileNet to name the product on a photo: Keras and Horovod, any
number of processes on any number of nodes.

    mpiexec -n 4 python train_products_hvd.py --log run_4.jsonl
    srun --mpi=pmix python train_products_hvd.py --data DIR/Stanford_Online_Products \\
        --side 64 --width 1 --device gpu --checkpoint products.npz

train_products.py is the same program for one process. Compare the two: every difference
is one of Horovod's eight steps, or follows from there being several nodes.
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

if sentence := without_frameworks():
    sys.exit(sentence)

import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
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
    gpu: one of this node's for each rank.
    """
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    elif not gpus:
        sys.exit("--device gpu: TensorFlow finds no GPU here")
    # Horovod, step 2: the GPU with the number of this rank on its node; memory is taken
    # as it is needed
    else:
        gpu = gpus[hvd.local_rank()]
        tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.set_visible_devices(gpu, "GPU")


def prepare(options: argparse.Namespace) -> None:
    """Every photo opened and resized once on every node, by one rank of that node; the
    others wait. What is there already is kept.
    """
    if hvd.local_rank() == 0:
        if (
            not options.data.exists()
            and options.data.name == "Stanford_Online_Products"
        ):
            # complete or not at all, so two nodes with a common disk do not harm each
            # other
            products.draw(options.data.parent)
        for split in products.LISTS:
            products.prepare(options.data, split, options.scratch, options.side)
    # every collective is a meeting: nobody goes on before all nodes are ready
    hvd.allreduce(tf.constant(0.0), name="prepared")


def go_on(
    model: tf.keras.Model,
    optimizer: tf.keras.optimizers.Optimizer,
    checkpoint: dict | None,
) -> int:
    """Horovod, step 6: all ranks start with what rank 0 has, read from its checkpoint
    or new. Returns the first epoch to train.
    """
    epochs = 0
    if checkpoint is not None:
        epochs = checkpoint["epochs"]
        model.set_weights(checkpoint["weights"])
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")


class AverageMovingStatistics(tf.keras.callbacks.Callback):
    """Batch normalisation's moving averages come from this rank's images; what is
    tested and saved gets the mean over all ranks.
    """

    def on_test_begin(self, logs=None):
        for k, variable in enumerate(self.model.non_trainable_variables):
            variable.assign(hvd.allreduce(variable, op=hvd.Average, name=f"moving.{k}"))


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
    if hvd.rank() != 0:
        return
    if not history:
        print(
            f"nothing to do: {epochs} epochs are in the checkpoint already; ask for "
            "more with --epochs",
            flush=True,
        )
    else:
        print(
            f"test accuracy {history['val_accuracy'][-1]:.3f} after {epochs} epochs, "
            f"{hvd.size()} ranks",
            flush=True,
        )


def main() -> None:
    options = parse_options()
    hvd.init()  # Horovod, step 1
    choose_device(options.device)
    tf.keras.utils.set_random_seed(options.seed)

    prepare(options)
    images, labels = products.load("train", options.scratch, options.side)
    test_images, test_labels = products.load("test", options.scratch, options.side)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    # Horovod, step 3: every size-th image, before anything is shuffled
    dataset = dataset.shard(hvd.size(), hvd.rank())
    minibatches = (
        dataset.shuffle(len(images), seed=options.seed)
        .repeat()
        .batch(options.batch_size)
    )
    # of an epoch, the same number on every rank
    steps = -(-len(images) // (options.batch_size * hvd.size()))
    test = tf.data.Dataset.from_tensor_slices((test_images, test_labels))
    # Horovod, step 3, for the test, too
    test = test.shard(hvd.size(), hvd.rank()).batch(100).map(to_floats)

    model = mobilenet(
        len(products.SUPER_CLASSES),
        options.width,
        small_images=options.side <= 64,
        repeats=1,
    )
    # Horovod, step 4
    optimizer = tf.keras.optimizers.SGD(options.lr * hvd.size(), momentum=MOMENTUM)
    # Horovod, step 5: it averages gradients over all ranks before it applies them
    optimizer = hvd_keras.DistributedOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    first_epoch = go_on(
        model,
        optimizer,
        read_checkpoint(options.checkpoint) if hvd.rank() == 0 else None,
    )
    model.compile(
        optimizer,
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

    log = runlog.Writer(
        options.log,  # Horovod, step 7: rank 0 alone writes
        rank=hvd.rank(),
        world_size=hvd.size(),
        gather=hvd.allgather_object,
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
    # Horovod, step 8
    callbacks = [AverageMovingStatistics(), hvd_keras.callbacks.MetricAverageCallback()]
    if options.checkpoint is not None and hvd.rank() == 0:  # Horovod, step 7
        callbacks.append(Checkpoint(options.checkpoint))
    callbacks.append(log.keras_callback())
    history = model.fit(
        # whoever goes on goes on in the order of the images, too
        minibatches.skip(first_epoch * steps).map(to_floats),
        steps_per_epoch=steps,
        initial_epoch=first_epoch,
        epochs=options.epochs,
        validation_data=test,
        callbacks=callbacks,
        verbose=2 if hvd.rank() == 0 else 0,
    )
    log.close()
    report(history.history, options.epochs)


if __name__ == "__main__":
    try:
        main()
    except DataError as error:  # says itself what is missing and what to do
        sys.exit(str(error))
