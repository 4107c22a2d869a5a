"""Trains a small convolutional network on handwritten digits: PyTorch, one process.

    python torch_mnist.py                                          the course's digits, 60,000 images
    python torch_mnist.py --images 6000 --log run_1.jsonl          the first 6,000 of them; also writes a run log
    python torch_mnist.py --data mnist.npz --device gpu            MNIST in Keras' format, on a GPU

Your task is in README.md: make it run on any number of processes, with torch.distributed. (tensorflow2_mnist.py is the
same program in TensorFlow, to be ported to Horovod. One of the two is enough.)
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from labkit import data, runlog
from labkit.models import cnn

MOMENTUM = 0.9


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


def choose_device(device: str) -> torch.device:
    """cpu: one computing thread, so that two processes compute twice as much as one. gpu: PyTorch takes the first one."""
    if device == "cpu":
        torch.set_num_threads(1)
        return torch.device("cpu")
    if not torch.cuda.is_available():
        sys.exit("--device gpu: PyTorch finds no GPU here")
    return torch.device("cuda")


def load_data(name: str, count: int | None) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Training and test set, each (images, labels). count: only so many training images, and a sixth of that for the test."""
    if name.endswith(".npz"):
        with np.load(name, allow_pickle=False) as file:
            train, test = (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])
    else:
        train, test = data.load(name, train=True, n=count), data.load(name, train=False)
    return prepare(*train, count), prepare(*test, max(1, count // 6) if count else None)


def prepare(images: np.ndarray, labels: np.ndarray, count: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    """The first `count` images as float32 from 0 to 1, shape (count, 1, 28, 28), and their labels as int64."""
    x = torch.from_numpy(images[:count, np.newaxis].astype("float32") / 255)
    return x, torch.from_numpy(labels[:count].astype("int64"))


def evaluate(model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor, device: torch.device) -> tuple[float, float]:
    """Mean loss and accuracy over all of these images."""
    loss_sum, correct = 0.0, 0
    with torch.no_grad():
        for first in range(0, len(images), 1000):
            x, y = images[first : first + 1000].to(device), labels[first : first + 1000].to(device)
            logits = model(x)
            loss_sum += cross_entropy(logits, y, reduction="sum").item()
            correct += (logits.argmax(dim=1) == y).sum().item()
    return loss_sum / len(images), correct / len(images)


def main() -> None:
    options = parse_options()
    device = choose_device(options.device)
    torch.manual_seed(options.seed)

    (images, labels), (test_images, test_labels) = load_data(options.data, options.images)
    steps = len(images) // options.batch_size  # of an epoch
    chance = torch.Generator().manual_seed(options.seed)

    model = cnn().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=MOMENTUM)

    def train_step(x: torch.Tensor, y: torch.Tensor) -> tuple[float, int]:
        """One step: the mean loss of the minibatch, and how many of its images are recognised."""
        logits = model(x)
        loss = cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item(), int((logits.argmax(dim=1) == y).sum())

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
        order = torch.randperm(len(images), generator=chance)
        for step in range(steps):
            rows = order[step * options.batch_size : (step + 1) * options.batch_size]
            batch_loss, batch_correct = train_step(images[rows].to(device), labels[rows].to(device))
            loss_sum += batch_loss * len(rows)
            correct += batch_correct
            count += len(rows)
            log.step(samples=len(rows), learning_rate=optimizer.param_groups[0]["lr"])
        loss, accuracy = loss_sum / count, correct / count
        val_loss, val_accuracy = evaluate(model, test_images, test_labels, device)
        log.end_epoch(loss=loss, accuracy=accuracy, val_loss=val_loss, val_accuracy=val_accuracy)
        print(
            f"epoch {epoch + 1}: {steps} steps, loss {loss:.4f}, accuracy {accuracy:.4f}, "
            f"validation loss {val_loss:.4f}, validation accuracy {val_accuracy:.4f}"
        )
    log.close()


if __name__ == "__main__":
    main()
