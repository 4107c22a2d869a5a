"""Trains a small convolutional network on handwritten digits: PyTorch with DistributedDataParallel, any number of processes.

    torchrun --standalone --nproc-per-node 4 torch_mnist_ddp.py --images 6000 --run-log run_4.jsonl

The solution to the homework: `torch_mnist.py` ported step by step ("DDP, step" below), and with a warm-up for the bonus.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn  # before a process group is there: else its functions hold on to the group's threads at the end
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from labkit import data, runlog
from labkit.models import cnn

MOMENTUM = 0.9
PATIENCE = timedelta(minutes=5)  # a rank that waits longer for the others ends, and with it the job


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch-size", type=int, default=64, help="images per step on each rank (default: 64)")
    parser.add_argument("--epochs", type=int, default=5, help="passes over the training images (default: 5)")
    parser.add_argument("--lr", type=float, default=0.005, help="learning rate of one process (default: 0.005)")
    parser.add_argument("--warmup-epochs", type=int, default=0, help="epochs in which the rate climbs (default: 0)")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where to compute (default: cpu)")
    parser.add_argument("--seed", type=int, default=0, help="decides initial weights and the order of the images (default: 0)")
    parser.add_argument("--data", default="digits", help="digits, mnist, fashion_mnist, or an .npz file (default: digits)")
    parser.add_argument("--images", type=int, help="use only the first so many training images (default: all)")
    parser.add_argument("--log", "--run-log", help="write a run log to this file (default: no log)")
    parser.add_argument("--nonce", default="", help="the code you were given with the assignment, if any; goes into the log")
    return parser.parse_args()


def choose_device(device: str) -> torch.device:
    """cpu: one computing thread, so that two processes compute twice as much as one. gpu: the one with our local rank."""
    if device == "cpu":
        torch.set_num_threads(1)
        return torch.device("cpu")
    if not torch.cuda.is_available():
        sys.exit("--device gpu: PyTorch finds no GPU here")
    local_rank = int(os.environ["LOCAL_RANK"])  # DDP, step 2: torchrun says which of its machine's ranks this is
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


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
    """Mean loss and accuracy over all of these images, of which each rank looks at its share."""
    images, labels = images[dist.get_rank() :: dist.get_world_size()], labels[dist.get_rank() :: dist.get_world_size()]
    loss_sum, correct = 0.0, 0
    with torch.no_grad():
        for first in range(0, len(images), 1000):
            x, y = images[first : first + 1000].to(device), labels[first : first + 1000].to(device)
            logits = model(x)
            loss_sum += cross_entropy(logits, y, reduction="sum").item()
            correct += (logits.argmax(dim=1) == y).sum().item()
    return mean_over_ranks(loss_sum, correct, len(images), device)  # DDP, step 8


def mean_over_ranks(loss_sum: float, correct: int, count: int, device: torch.device) -> tuple[float, float]:
    """DDP, step 8: mean loss and accuracy over the images of all ranks. Ranks may have seen unequally many, or none."""
    sums = torch.tensor([loss_sum, correct, count], dtype=torch.float64, device=device)
    dist.all_reduce(sums)
    loss_sum, correct, count = sums.tolist()
    return loss_sum / count, correct / count


def learning_rate(step: int, base_rate: float, warmup_steps: int) -> float:
    """DDP, step 5: the rate of one process times the number of ranks, and a straight line up to that in the warm-up."""
    scaled = base_rate * dist.get_world_size()
    if step >= warmup_steps:
        return scaled
    return base_rate + (scaled - base_rate) * step / warmup_steps


def main() -> None:
    options = parse_options()
    device = choose_device(options.device)
    dist.init_process_group("gloo" if device.type == "cpu" else "nccl", timeout=PATIENCE)  # DDP, step 1
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(options.seed)

    (images, labels), (test_images, test_labels) = load_data(options.data, options.images)
    total = len(images)
    images, labels = images[rank::world_size], labels[rank::world_size]  # DDP, step 3: every world_size-th image
    steps = total // (options.batch_size * world_size)  # of an epoch. DDP, step 4: the same number on every rank
    chance = torch.Generator().manual_seed(options.seed)

    model = cnn().to(device)
    # DDP, steps 6 and 7: it sends rank 0's weights to all ranks, now, and averages gradients in every backward pass
    wrapped = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=MOMENTUM)

    def train_step(x: torch.Tensor, y: torch.Tensor) -> tuple[float, int]:
        """One step: the mean loss of the minibatch, and how many of its images are recognised."""
        logits = wrapped(x)
        loss = cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()  # DDP, step 6: from here on the gradients are means over all ranks
        optimizer.step()
        return loss.item(), int((logits.argmax(dim=1) == y).sum())

    log = runlog.Writer(  # DDP, step 8: writes on rank 0 only
        options.log,
        rank=rank,
        world_size=world_size,
        gather=runlog.torch_gather,
        program=__file__,
        arguments=vars(options),
        batch_size=options.batch_size,
        seed=options.seed,
        nonce=options.nonce,
        data={"name": options.data, "train_images": total, "test_images": len(test_images)},
    )
    done = 0
    for epoch in range(options.epochs):
        loss_sum, correct, count = 0.0, 0, 0
        log.begin_epoch()
        order = torch.randperm(len(images), generator=chance)
        for step in range(steps):
            for group in optimizer.param_groups:  # DDP, step 5 (and the warm-up)
                group["lr"] = learning_rate(done, options.lr, options.warmup_epochs * steps)
            rows = order[step * options.batch_size : (step + 1) * options.batch_size]
            batch_loss, batch_correct = train_step(images[rows].to(device), labels[rows].to(device))
            loss_sum += batch_loss * len(rows)
            correct += batch_correct
            count += len(rows)
            done += 1
            log.step(samples=len(rows), learning_rate=optimizer.param_groups[0]["lr"])
        loss, accuracy = mean_over_ranks(loss_sum, correct, count, device)  # DDP, step 8
        val_loss, val_accuracy = evaluate(model, test_images, test_labels, device)
        log.end_epoch(loss=loss, accuracy=accuracy, val_loss=val_loss, val_accuracy=val_accuracy)
        if rank == 0:  # DDP, step 8
            print(
                f"epoch {epoch + 1}: {steps} steps, loss {loss:.4f}, accuracy {accuracy:.4f}, "
                f"validation loss {val_loss:.4f}, validation accuracy {val_accuracy:.4f}"
            )
    log.close()


if __name__ == "__main__":
    main()
    dist.barrier()  # gloo's threads have let go of the last tensors by then: else a rank hangs at its end, once in a while
    dist.destroy_process_group()
