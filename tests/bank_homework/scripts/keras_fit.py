"""MNIST with Keras' fit and Horovod's callbacks."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from horovod.tensorflow.functions import allgather_object

from labkit import data, runlog
from labkit.keras_models import cnn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--data", default="digits")
parser.add_argument("--images", type=int)
parser.add_argument("--log")
parser.add_argument("--nonce", default="")
args = parser.parse_args()

hvd.init()
rank, size = hvd.rank(), hvd.size()

gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if args.device == "gpu":
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
else:
    tf.config.set_visible_devices([], "GPU")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

tf.keras.utils.set_random_seed(args.seed)


def load(train):
    if args.data.endswith(".npz"):
        with np.load(args.data) as file:
            return (file["x_train"], file["y_train"]) if train else (file["x_test"], file["y_test"])
    return data.load(args.data, train=train)


def prepare(images, labels, count):
    return images[:count, ..., None].astype("float32") / 255, labels[:count].astype("int64")


images, labels = prepare(*load(True), args.images)
test_images, test_labels = prepare(*load(False), max(1, args.images // 6) if args.images else None)
total = len(images)
steps = total // (args.batch_size * size)
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shard(size, rank)
dataset = dataset.shuffle(10_000, seed=args.seed, reshuffle_each_iteration=True).repeat().batch(args.batch_size)
# one batch of equal size on every rank: then the mean of the ranks' means is the mean over all images
share = len(test_images) // size
test = tf.data.Dataset.from_tensor_slices((test_images, test_labels)).shard(size, rank).take(share).batch(share)

model = cnn()
model.compile(
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(args.lr * size, momentum=0.9)),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
log = runlog.Writer(
    args.log,
    rank=rank,
    world_size=size,
    gather=allgather_object,
    program=__file__,
    arguments=vars(args),
    batch_size=args.batch_size,
    seed=args.seed,
    nonce=args.nonce,
    data={"name": args.data, "train_images": total},
)
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    log.keras_callback(),
]
model.fit(
    dataset,
    epochs=args.epochs,
    steps_per_epoch=steps,
    validation_data=test,
    callbacks=callbacks,
    verbose=2 if rank == 0 else 0,
)
