"""Trains the course's small network on handwritten digits with Horovod (PyTorch), on any number of nodes; stops and
goes on when told to.

    srun python horovod_mnist.py --epochs 5 --checkpoint checkpoint.pt --log run_4.jsonl

It has the options of the homework's script, so that your own port (TensorFlow) can take its place, and a few more. If
the checkpoint is there, training goes on from it, in the middle of an epoch if need be.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import horovod.torch as hvd
import torch
from torch.nn.functional import cross_entropy

from labkit import checkpoint, data, placement, runlog
from labkit.models import cnn
from labkit.training import load_tensors, minibatches

START = {"epoch": 0, "step": 0, "sums": [0.0, 0.0, 0.0]}  # sums over the epoch so far: loss, right answers, images


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch-size", type=int, default=64, help="images per step on each rank (default: 64)")
    parser.add_argument("--epochs", type=int, default=5, help="passes over the training images (default: 5)")
    parser.add_argument(
        "--lr", type=float, default=0.005, help="learning rate of one rank; multiplied by their number (default: 0.005)"
    )
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where to compute (default: cpu)")
    parser.add_argument(
        "--seed", type=int, default=0, help="decides first parameters and the order of the images (default: 0)"
    )
    parser.add_argument("--data", choices=data.NAMES, default="digits", help="data set (default: digits)")
    parser.add_argument("--images", type=int, help="use only the first so many training images (default: all)")
    parser.add_argument("--log", "--run-log", type=Path, help="write a run log to this file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to this file")
    parser.add_argument("--checkpoint", type=Path, help="go on from this file if it is there; write to it")
    parser.add_argument(
        "--pause", type=float, default=0, help="seconds to rest after each step: time to watch, or to interrupt"
    )
    return parser.parse_args()


def choose_device(wish: str) -> torch.device:
    """The GPU with this rank's local rank; or the CPU."""
    if wish == "cpu":
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
        return torch.device("cpu")
    if not torch.cuda.is_available():
        sys.exit("--device gpu: PyTorch finds no GPU here")
    device = torch.device("cuda", placement.gpu_number(hvd.local_rank(), torch.cuda.device_count()))
    torch.cuda.set_device(device)
    return device


def load(name: str, count: int | None, device: torch.device) -> tuple[torch.Tensor, ...]:
    """Training images and labels, test images and labels; count: only so many to train on, and a sixth of that to test
    with.

    One rank of a node reads first: where the data are not there yet, it is the one that draws or downloads them.
    """
    if hvd.local_rank() == 0:
        load_tensors(name, n=1)
    hvd.barrier()
    parts = (
        *load_tensors(name, n=count),
        *load_tensors(name, train=False, n=max(hvd.size(), count // 6) if count else None),
    )
    return tuple(part.to(device) for part in parts)


def summed(numbers: list[float]) -> list[float]:
    """Each number, added up over all ranks; the same list on every rank."""
    return hvd.allreduce(torch.tensor(numbers, dtype=torch.float64), op=hvd.Sum).tolist()


def measure(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """Mean loss and accuracy over x, of which each rank takes its share."""
    share = slice(hvd.rank(), None, hvd.size())
    with torch.no_grad():
        outputs = model(x[share])
    loss = cross_entropy(outputs, y[share], reduction="sum").item()
    right = (outputs.argmax(dim=1) == y[share]).sum().item()
    loss, right = summed([loss, right])
    return loss / len(x), right / len(x)


def save(path: Path | None, model: torch.nn.Module, optimizer: torch.optim.Optimizer, place: dict) -> None:
    """All ranks hold the same, so rank 0 writes."""
    if path and hvd.rank() == 0:
        checkpoint.write(path, {"place": place, "parameters": model.state_dict(), "optimizer": optimizer.state_dict()})


def resume(path: Path | None, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict:
    """The place in the data to begin at: a checkpoint's, after its parameters are put back, or the start.
    Every rank reads.
    """
    state = checkpoint.read(path) if path else None
    if state is None:
        return dict(START)
    model.load_state_dict(state["parameters"])
    optimizer.load_state_dict(state["optimizer"])
    if hvd.rank() == 0:
        print(f"goes on from {path}: epoch {state['place']['epoch'] + 1}, step {state['place']['step'] + 1}")
    return state["place"]


def train_step(model, optimizer, x: torch.Tensor, y: torch.Tensor) -> list[float]:
    """One step on this rank's part of a minibatch. Returns the sum of its losses, its right answers, its images."""
    outputs = model(x)
    loss = cross_entropy(outputs, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # Horovod: waits for the gradients' means over all ranks
    return [loss.item() * len(y), (outputs.argmax(dim=1) == y).sum().item(), len(y)]


def train(options: argparse.Namespace, device: torch.device) -> dict | None:
    """The result of the finished training, on every rank; None where it was stopped."""
    rank, world_size = hvd.rank(), hvd.size()
    x, y, test_x, test_y = load(options.data, options.images, device)
    if len(x) < options.batch_size * world_size:
        sys.exit(f"{len(x)} images are not enough for one step of {options.batch_size} on each of {world_size} ranks")
    torch.manual_seed(options.seed)
    model = cnn().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr * world_size, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    # into the wrapper: it keeps the momentum, not the optimizer inside
    place = resume(options.checkpoint, model, optimizer)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    log = runlog.Writer(
        options.log if place["epoch"] < options.epochs else None,
        rank=rank,
        world_size=world_size,
        gather=hvd.allgather_object,
        program=__file__,
        arguments=vars(options),
        batch_size=options.batch_size,
        seed=options.seed,
        data={"name": options.data, "train_images": len(x), "test_images": len(test_x)},
    )
    for epoch in range(place["epoch"], options.epochs):
        batches = minibatches(len(x), options.batch_size * world_size, seed=options.seed, epoch=epoch, drop_last=True)
        sums = place["sums"]
        log.begin_epoch()
        for step in range(place["step"], len(batches)):
            mine = batches[step][rank::world_size].to(device)
            here = train_step(model, optimizer, x[mine], y[mine])
            log.step(samples=len(mine), learning_rate=options.lr * world_size)
            time.sleep(options.pause)
            # rank 0 looks, all hear of it, and stop after the same step
            up = float(rank == 0 and checkpoint.time_is_up())
            *here, up = summed([*here, up])
            sums = [before + now for before, now in zip(sums, here, strict=True)]
            if up and step + 1 < len(batches):
                save(options.checkpoint, model, optimizer, {"epoch": epoch, "step": step + 1, "sums": sums})
                return None
        val_loss, val_accuracy = measure(model, test_x, test_y)
        metrics = {
            "loss": sums[0] / sums[2],
            "accuracy": sums[1] / sums[2],
            "val_loss": val_loss,
            "val_accuracy": val_accuracy,
        }
        log.end_epoch(**metrics)
        place = {**START, "epoch": epoch + 1, "metrics": metrics}
        save(options.checkpoint, model, optimizer, place)
        if rank == 0:
            print(f"epoch {epoch + 1}: " + ", ".join(f"{name} {value:.4f}" for name, value in metrics.items()))
        if up and epoch + 1 < options.epochs:
            return None
    log.close()
    return {
        **place.get("metrics", {}),
        "epochs": options.epochs,
        "parameters_sha256": checkpoint.digest(model.parameters()),
    }


def main() -> None:
    options = parse_options()
    hvd.init()
    device = choose_device(options.device)
    where = {"rank": hvd.rank(), "world_size": hvd.size(), "local_rank": hvd.local_rank(), "host": os.uname().nodename}
    ranks = hvd.allgather_object(where)
    if hvd.rank() == 0:
        for one in ranks:
            print(f"rank {one['rank']} of {one['world_size']}: local rank {one['local_rank']} on {one['host']}")
    result = train(options, device)
    if hvd.rank() == 0:
        if result is None:
            print(f"the time is up: checkpoint written to {options.checkpoint}")
        else:
            print(
                f"finished: validation accuracy {result['val_accuracy']:.4f}, parameters "
                f"{result['parameters_sha256'][:12]}"
            )
            if options.json:
                options.json.write_text(json.dumps(result | {"ranks": ranks}) + "\n")


if __name__ == "__main__":
    main()
