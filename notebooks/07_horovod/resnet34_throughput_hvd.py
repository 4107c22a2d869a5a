"""Images per second of a ResNet-34 in training on many devices (PyTorch and
Horovod, one process per device.)

    mpiexec -n 4 python resnet34_throughput_hvd.py --num-steps 10 --batch-size 32
        images made of random numbers
    ... --data /datasets/imagenet/train
        a folder with one folder per class
    ... --data /datasets/imagenet/train.txt
        a list: a path and a label on each line
    ... --image-size 32 --width 8 --batch-size 8 --threads 1
        small enough for a laptop

The last line is a record for programs, as JSON; --json FILE also writes it to a file.
Rank 0 writes both. resnet34_throughput.py is the same program for one process. Compare
the two: every difference is a step of Horovod.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import horovod.torch as hvd
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from labkit.models import resnet34

CLASSES = 1000  # of ImageNet, whatever the data: the model is then the published one
PICTURES = (".jpeg", ".jpg", ".png")
# per image of the global batch: 0.1 for 256 images (He et al. 2016)
LEARNING_RATE = 0.1 / 256


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--num-steps", type=int, default=10, help="steps that are timed (default: 10)"
    )
    parser.add_argument(
        "--warmup-steps",
        type=int,
        default=3,
        help="steps before them; the first one is slow (default: 3)",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=32,
        help="images per step on each device (default: 32)",
    )
    parser.add_argument(
        "--image-size",
        type=int,
        default=224,
        help="height and width in pixels (default: 224)",
    )
    parser.add_argument(
        "--width",
        type=int,
        default=64,
        help="feature maps of the first stage (default: 64)",
    )
    parser.add_argument(
        "--data",
        default="synthetic",
        help="a folder of class folders, or a list file (default: random numbers)",
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "gpu"),
        default="auto",
        help="auto: a GPU where there is one",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=0,
        help="computing threads (default: PyTorch decides)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        help="processes that only read pictures (default: none)",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the record to this file, too"
    )
    options = parser.parse_args()
    if options.num_steps < 2:
        parser.error(
            "--num-steps must be at least 2: the spread over steps is part of the "
            "result"
        )
    if min(options.batch_size, options.image_size, options.width) < 1:
        parser.error("--batch-size, --image-size and --width must be at least 1")
    if min(options.warmup_steps, options.threads, options.workers) < 0:
        parser.error("--warmup-steps, --threads and --workers must be at least 0")
    if options.batch_size == 1 and options.image_size <= 32:
        parser.error(
            "--batch-size 1 leaves batch normalisation a single number at the end of "
            "images of up to 32 pixels: give 2"
        )
    if options.data != "synthetic" and not Path(options.data).exists():
        parser.error(f"--data {options.data}: there is no such folder or file")
    return options


def choose_device(options: argparse.Namespace) -> torch.device:
    """Starts Horovod. Returns the device this rank computes on."""
    hvd.init()  # Horovod: from here on each process knows its rank
    if options.threads:
        torch.set_num_threads(options.threads)
    gpus = 0 if options.device == "cpu" else torch.cuda.device_count()
    if options.device == "gpu" and not gpus:
        sys.exit("--device gpu: PyTorch finds no GPU here")
    if 1 < gpus < hvd.local_size():
        sys.exit(
            f"{hvd.local_size()} ranks on this node, but {gpus} GPUs: start as many "
            "ranks, or give --device cpu"
        )
    # Horovod: one GPU for each rank of this node (a launcher may have bound it)
    number = hvd.local_rank() if gpus > 1 else 0
    if not gpus:
        return torch.device("cpu")
    torch.cuda.set_device(number)
    return torch.device("cuda", number)


def list_pictures(data: str) -> tuple[list[str], list[int]]:
    """Paths and labels of a folder of class folders (labels in alphabetical order) or
    of a list file.
    """
    source = Path(data)
    if source.is_dir():
        folders = sorted(entry.path for entry in os.scandir(source) if entry.is_dir())
        pairs = [
            (file.path, label)
            for label, folder in enumerate(folders)
            for file in os.scandir(folder)
        ]
        pairs = sorted(pair for pair in pairs if pair[0].lower().endswith(PICTURES))
    # "n01440764/n01440764_10026.JPEG 0": the path as seen from the list's own folder
    else:
        lines = [
            line.rsplit(maxsplit=1)
            for line in source.read_text().splitlines()
            if line.strip()
        ]
        if not all(len(line) == 2 and line[1].isdecimal() for line in lines):
            sys.exit(
                f"{data}: each line should be a path, a space and a label, such as "
                "n01440764/n01440764_10026.JPEG 0"
            )
        pairs = [(str(source.parent / path), int(label)) for path, label in lines]
    if not pairs:
        sys.exit(
            f"{data}: no pictures. Give a folder of class folders with files named "
            f"{', '.join(PICTURES)}, or a list"
        )
    if max(label for _, label in pairs) >= CLASSES:
        sys.exit(f"{data}: labels must be below {CLASSES}")
    return [path for path, _ in pairs], [label for _, label in pairs]


class Pictures(Dataset):
    """The files of `list_pictures`, each as an image of shape (3, size, size), float32
    in [-1, 1], and its label.
    """

    def __init__(self, paths: list[str], labels: list[int], size: int) -> None:
        self.paths, self.labels, self.size = paths, labels, size

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        # here: a run on random numbers does not need it, and starts earlier
        from PIL import Image

        with Image.open(self.paths[number]) as file:
            pixels = np.array(
                file.convert("RGB").resize(
                    (self.size, self.size), Image.Resampling.BILINEAR
                )
            )
        return torch.from_numpy(pixels).permute(2, 0, 1) / 127.5 - 1.0, self.labels[
            number
        ]


def shuffled(count: int) -> Iterator[int]:
    """The numbers below `count` in random order, then in another one, and so on without
    end.
    """
    generator = torch.Generator().manual_seed(0)
    while True:
        yield from torch.randperm(count, generator=generator).tolist()


def make_batches(
    options: argparse.Namespace, device: torch.device
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches without end: images (batch, 3, size, size) float32, labels (batch,)
    int64.
    """
    size, batch_size = options.image_size, options.batch_size
    # one batch again and again: nothing is measured but the training
    if options.data == "synthetic":
        # Horovod: each rank has images of its own
        generator = torch.Generator().manual_seed(hvd.rank())
        images = (
            torch.rand((batch_size, 3, size, size), generator=generator) * 2.0 - 1.0
        )
        labels = torch.randint(CLASSES, (batch_size,), generator=generator)
        return itertools.repeat((images.to(device), labels.to(device)))
    paths, labels = list_pictures(options.data)
    order = shuffled(len(paths))
    # Horovod: every size-th picture of an order common to all ranks
    order = itertools.islice(order, hvd.rank(), None, hvd.size())
    # a forked copy of a process with threads can hang
    start = "forkserver" if options.workers else None
    pictures = Pictures(paths, labels, size)
    return iter(
        DataLoader(
            pictures,
            batch_size,
            sampler=order,
            num_workers=options.workers,
            multiprocessing_context=start,
        )
    )


def time_steps(
    options: argparse.Namespace, device: torch.device
) -> tuple[list[float], int]:
    """Seconds of each timed step, and the number of the model's parameters."""
    model = resnet34(classes=CLASSES, width=options.width).to(device)
    # Horovod: grows with the global batch
    learning_rate = LEARNING_RATE * options.batch_size * hvd.size()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
    # Horovod: its gradients are means over all ranks
    optimizer = hvd.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters()
    )
    # Horovod: all ranks start with the values of rank 0
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    seconds = []
    batches = make_batches(options, device)
    for _ in range(options.warmup_steps + options.num_steps):
        start = time.perf_counter()
        images, labels = (part.to(device) for part in next(batches))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if device.type == "cuda":
            # waits for the device: without it only the launch would be timed
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    # Horovod: a step takes as long as its slowest rank
    seconds = hvd.allreduce(
        torch.tensor(seconds, dtype=torch.float64), op=hvd.Max
    ).tolist()
    return seconds[options.warmup_steps :], sum(
        parameter.numel() for parameter in model.parameters()
    )


def main() -> None:
    options = parse_options()
    device = choose_device(options)
    try:
        seconds, parameters = time_steps(options, device)
    # its last line: the report of a --workers process has more of them
    except OSError as error:
        sys.exit(
            f"--data {options.data}: a picture cannot be read: "
            f"{str(error).splitlines()[-1]}"
        )
    if hvd.rank() != 0:  # Horovod: one rank reports for all
        return
    global_batch_size = options.batch_size * hvd.size()
    rates = [global_batch_size / step for step in seconds]
    device_name = "gpu" if device.type == "cuda" else "cpu"
    record = {
        "program": Path(__file__).stem,
        "world_size": hvd.size(),
        "device": device_name,
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
    print(
        f"ResNet-34, {parameters:,} parameters, images of {options.image_size} x "
        f"{options.image_size} pixels ({options.data})"
    )
    print(
        f"world size {hvd.size()} on {device_name}: {global_batch_size} images per "
        f"step, {options.batch_size} on each rank"
    )
    print(
        f"images/s: mean {record['images_per_second']:.2f}, standard deviation "
        f"{record['images_per_second_sd']:.2f}",
        end="",
    )
    print(f" over {options.num_steps} steps after {options.warmup_steps} to warm up")
    print(json.dumps(record))
    if options.json:
        options.json.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
