"""How many images per second does a ResNet-34 train on one device? (TensorFlow, one process.)

    python resnet34_throughput.py --num-steps 10 --batch-size 32                       images made of random numbers
    python resnet34_throughput.py --data /datasets/imagenet/train                      a folder with one folder per class
    python resnet34_throughput.py --data /datasets/imagenet/train.txt                  a list: a path and a label on each line
    python resnet34_throughput.py --image-size 32 --width 8 --batch-size 8             small enough for a laptop

The last line is a record for programs, as JSON; --json FILE also writes it to a file.
resnet34_throughput_hvd.py is the same program on many ranks. Compare the two: every difference is a step of Horovod.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

from labkit.keras_models import resnet34

CLASSES = 1000  # of ImageNet, whatever the data: the model is then the published one
PICTURES = (".jpeg", ".jpg", ".png")
LEARNING_RATE = 0.1 / 256  # per image of the global batch: 0.1 for 256 images (He et al. 2016)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-steps", type=int, default=10, help="steps that are timed (default: 10)")
    parser.add_argument("--warmup-steps", type=int, default=3, help="steps before them; the first one compiles (default: 3)")
    parser.add_argument("--batch-size", type=int, default=32, help="images per step on each device (default: 32)")
    parser.add_argument("--image-size", type=int, default=224, help="height and width in pixels (default: 224)")
    parser.add_argument("--width", type=int, default=64, help="feature maps of the first stage (default: 64)")
    parser.add_argument("--data", default="synthetic", help="a folder of class folders, or a list file (default: random numbers)")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto", help="auto: a GPU where there is one")
    parser.add_argument("--threads", type=int, default=0, help="computing threads (default: TensorFlow decides)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record to this file, too")
    options = parser.parse_args()
    if options.num_steps < 2:
        parser.error("--num-steps must be at least 2: the spread over steps is part of the result")
    if min(options.batch_size, options.image_size, options.width) < 1 or min(options.warmup_steps, options.threads) < 0:
        parser.error("--batch-size, --image-size and --width must be at least 1; --warmup-steps and --threads at least 0")
    if options.data != "synthetic" and not Path(options.data).exists():
        parser.error(f"--data {options.data}: there is no such folder or file")
    return options


def choose_device(options: argparse.Namespace) -> str:
    """Shows TensorFlow the devices it may use, before it uses any. Returns "cpu" or "gpu"."""
    if options.threads:
        tf.config.threading.set_intra_op_parallelism_threads(options.threads)
        tf.config.threading.set_inter_op_parallelism_threads(options.threads)
    gpus = [] if options.device == "cpu" else tf.config.list_physical_devices("GPU")
    if options.device == "gpu" and not gpus:
        sys.exit("--device gpu: TensorFlow finds no GPU here")
    gpus = gpus[:1]
    tf.config.set_visible_devices(gpus, "GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    return "gpu" if gpus else "cpu"


def list_pictures(data: str) -> tuple[list[str], list[int]]:
    """Paths and labels of a folder of class folders (labels in alphabetical order) or of a list file."""
    source = Path(data)
    if source.is_dir():
        folders = sorted(entry.path for entry in os.scandir(source) if entry.is_dir())
        pairs = [(file.path, label) for label, folder in enumerate(folders) for file in os.scandir(folder)]
        pairs = sorted(pair for pair in pairs if pair[0].lower().endswith(PICTURES))
    else:  # "n01440764/n01440764_10026.JPEG 0": the path as seen from the list's own folder
        lines = [line.rsplit(maxsplit=1) for line in source.read_text().splitlines() if line.strip()]
        if not all(len(line) == 2 and line[1].isdecimal() for line in lines):
            sys.exit(f"{data}: each line should be a path, a space and a label, such as n01440764/n01440764_10026.JPEG 0")
        pairs = [(str(source.parent / path), int(label)) for path, label in lines]
    if not pairs:
        sys.exit(f"{data}: no pictures. Give a folder of class folders with files named {', '.join(PICTURES)}, or a list")
    if max(label for _, label in pairs) >= CLASSES:
        sys.exit(f"{data}: labels must be below {CLASSES}")
    return [path for path, _ in pairs], [label for _, label in pairs]


def read_picture(path: tf.Tensor, label: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The file as (size, size, 3) float32 in [-1, 1]."""
    picture = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    return tf.ensure_shape(tf.image.resize(picture, (size, size)), (size, size, 3)) / 127.5 - 1.0, label


def make_batches(options: argparse.Namespace) -> tf.data.Dataset:
    """Batches without end: images (batch, size, size, 3) float32, labels (batch,)."""
    size, batch_size = options.image_size, options.batch_size
    if options.data == "synthetic":  # one batch again and again: nothing is measured but the training
        images = tf.random.stateless_uniform((batch_size, size, size, 3), (0, 0), -1.0, 1.0)
        labels = tf.random.stateless_uniform((batch_size,), (1, 0), 0, CLASSES, tf.int32)
        return tf.data.Dataset.from_tensors((images, labels)).repeat()
    paths, labels = list_pictures(options.data)
    pictures = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths), seed=0).repeat()
    pictures = pictures.map(lambda path, label: read_picture(path, label, size), tf.data.AUTOTUNE)
    return pictures.batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def make_training_step(model: tf.keras.Model, optimizer: tf.keras.optimizers.Optimizer):
    """One SGD step as a compiled function of images and labels that returns the loss."""
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(autograph=False)  # there is no if or for over tensors to translate: the first step starts seconds earlier
    def training_step(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_function(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return training_step


def time_steps(options: argparse.Namespace) -> tuple[list[float], int]:
    """Seconds of each timed step, and the number of the model's trainable parameters."""
    model = resnet34(classes=CLASSES, width=options.width)
    learning_rate = LEARNING_RATE * options.batch_size
    optimizer = tf.keras.optimizers.SGD(learning_rate, momentum=0.9)
    optimizer.build(model.trainable_variables)
    training_step = make_training_step(model, optimizer)
    seconds = []
    batches = iter(make_batches(options))
    for _ in range(options.warmup_steps + options.num_steps):
        start = time.perf_counter()
        loss = training_step(*next(batches))
        loss.numpy()  # waits for the device: without it only the launch would be timed
        seconds.append(time.perf_counter() - start)
    return seconds[options.warmup_steps :], sum(int(tf.size(variable)) for variable in model.trainable_variables)


def main() -> None:
    options = parse_options()
    device = choose_device(options)
    try:
        seconds, parameters = time_steps(options)
    except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError) as error:
        reason = error.message.splitlines()[0].split("}} ")[-1]  # without the names of TensorFlow's own functions
        sys.exit(f"--data {options.data}: a picture cannot be read: {reason}")
    global_batch_size = options.batch_size
    rates = [global_batch_size / step for step in seconds]
    record = {
        "program": Path(__file__).stem,
        "world_size": 1,
        "device": device,
        "data": options.data,
        "image_size": options.image_size,
        "width": options.width,
        "parameters": parameters,
        "local_batch_size": options.batch_size,
        "global_batch_size": global_batch_size,
        "warmup_steps": options.warmup_steps,
        "num_steps": options.num_steps,
        "images_per_second": statistics.mean(rates),
        "images_per_second_sd": statistics.stdev(rates),
        "seconds_per_step": seconds,
    }
    print(f"ResNet-34, {parameters:,} parameters, images of {options.image_size} x {options.image_size} pixels ({options.data})")
    print(f"one process on {device}: {global_batch_size} images per step")
    print(f"images/s: mean {record['images_per_second']:.2f}, standard deviation {record['images_per_second_sd']:.2f}", end="")
    print(f" over {options.num_steps} steps after {options.warmup_steps} to warm up")
    print(json.dumps(record))
    if options.json:
        options.json.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
