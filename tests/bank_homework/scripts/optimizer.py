"""MNIST on many ranks: a loop of one's own around Horovod's optimizer. Each rank takes a block of the images."""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from horovod.tensorflow.functions import allgather_object, broadcast_object

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
share = total // size
images, labels = images[rank * share : (rank + 1) * share], labels[rank * share : (rank + 1) * share]
test_images, test_labels = test_images[rank::size], test_labels[rank::size]
steps = total // args.batch_size // size

model = cnn()
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(args.lr * hvd.size(), momentum=0.9))
loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_function(y, logits)
    optimizer.minimize(loss, model.trainable_variables, tape=tape)  # Horovod averages what this computes
    return loss, tf.reduce_mean(tf.cast(tf.argmax(logits, axis=1) == y, tf.float32))


def over_ranks(loss, correct, count):
    loss, correct, count = np.sum(allgather_object((loss, correct, count)), axis=0)
    return float(loss / count), float(correct / count)


def validate():
    loss = correct = 0.0
    for k in range(0, len(test_images), 500):
        x, y = test_images[k : k + 500], test_labels[k : k + 500]
        logits = model(x, training=False)
        loss += float(loss_function(y, logits)) * len(x)
        correct += int(np.sum(np.argmax(logits, axis=1) == y))
    return over_ranks(loss, correct, len(test_images))


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
chance = np.random.default_rng(args.seed + rank)
model.set_weights(broadcast_object(model.get_weights(), root_rank=0))
for epoch in range(args.epochs):
    order = chance.permutation(len(images))
    loss_sum = correct = 0.0
    log.begin_epoch()
    for k in range(steps):
        rows = order[k * args.batch_size : (k + 1) * args.batch_size]
        loss, accuracy = train_step(images[rows], labels[rows])
        loss_sum += float(loss) * len(rows)
        correct += float(accuracy) * len(rows)
        log.step(samples=len(rows), learning_rate=float(optimizer.learning_rate))
    loss, accuracy = over_ranks(loss_sum, correct, steps * args.batch_size)
    val_loss, val_accuracy = validate()
    log.end_epoch(loss=loss, accuracy=accuracy, val_loss=val_loss, val_accuracy=val_accuracy)
    if rank == 0:
        print(f"epoch {epoch + 1}: loss {loss:.4f} accuracy {accuracy:.4f} val {val_loss:.4f} {val_accuracy:.4f}", flush=True)
log.close()
