"""Trains the course's MLP on digits with DistributedDataParallel, on any number of nodes; stops and goes on when told
to.

    torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint HOST:PORT \\
        ddp.py --epochs 5 --checkpoint checkpoint.pt

If the checkpoint is there, training goes on from it, in the middle of an epoch if need be, and ends with the same
parameters as a run that was never interrupted. In the middle of an epoch that takes as many ranks and as large a batch
as before: a step is other images with others. A checkpoint is written after each epoch, and when the job script says
that the time is up.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

# before a process group is there: else its functions hold on to the group, and so to gloo's threads
import torch.distributed.nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from labkit import checkpoint, placement, runlog
from labkit.models import mlp
from labkit.training import load_tensors, minibatches

PATIENCE = timedelta(seconds=60)  # a rank that waits longer for another one gives up with an error
START = {"epoch": 0, "step": 0, "sums": [0.0, 0.0, 0.0]}  # sums over the epoch so far: loss, right answers, images


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5, help="passes over the training images (default: 5)")
    parser.add_argument("--batch-size", type=int, default=64, help="images per step on each rank (default: 64)")
    parser.add_argument(
        "--lr", type=float, default=0.05, help="learning rate, however many ranks there are (default: 0.05)"
    )
    parser.add_argument(
        "--images", type=int, default=60_000, help="use only the first so many training images (default: all)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="decides first parameters and the order of the images (default: 0)"
    )
    parser.add_argument(
        "--checkpoint", type=Path, required=True, help="go on from this file if it is there; write to it"
    )
    parser.add_argument("--run-log", "--log", dest="log", type=Path, help="write a run log to this file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to this file")
    parser.add_argument(
        "--pause", type=float, default=0, help="seconds to rest after each step: time to watch, or to interrupt"
    )
    return parser.parse_args()


def set_up() -> torch.device:
    """Join the other ranks: torchrun has left in the environment who we are and where to meet. Returns this rank's
    device.
    """
    local_rank = int(os.environ["LOCAL_RANK"])
    placement.bind(local_rank, int(os.environ["LOCAL_WORLD_SIZE"]))
    if not torch.cuda.is_available():
        dist.init_process_group("gloo", timeout=PATIENCE)
        return torch.device("cpu")
    device = torch.device("cuda", placement.gpu_number(local_rank, torch.cuda.device_count()))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", timeout=PATIENCE, device_id=device)
    return device


def summed(numbers: list[float], device: torch.device) -> list[float]:
    """Each number, added up over all ranks; the same list on every rank."""
    tensor = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.all_reduce(tensor)
    return tensor.tolist()


def save(path: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, place: dict, batch_size: int) -> None:
    """All ranks hold the same, so rank 0 writes. place: epoch, step and sums; how much a step is belongs to it."""
    if dist.get_rank() == 0:
        place = {**place, "world_size": dist.get_world_size(), "batch_size": batch_size}
        checkpoint.write(path, {"place": place, "parameters": model.state_dict(), "optimizer": optimizer.state_dict()})


def resume(path: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch_size: int) -> dict:
    """The place in the data to begin at: a checkpoint's, after its parameters are put back, or the start.
    Every rank reads.

    Ends the program on every rank where the place is in the middle of an epoch that other ranks or batches have begun.
    """
    state = checkpoint.read(path)
    if state is None:
        return dict(START)
    before = state["place"].get("world_size"), state["place"].get("batch_size")
    if state["place"]["step"] and before != (dist.get_world_size(), batch_size):
        epoch, step = state["place"]["epoch"] + 1, state["place"]["step"]
        begun = "an unknown number of ranks" if None in before else f"{before[0]} ranks with {before[1]} images each"
        sys.exit(
            f"{path} stands in the middle of epoch {epoch}, behind {step} steps of {begun}; with "
            f"{dist.get_world_size()} ranks and "
            f"{batch_size} images some would be left out. Go on with as many ranks and the same --batch-size: only "
            "between two epochs "
            "both may change."
        )
    model.load_state_dict(state["parameters"])
    optimizer.load_state_dict(state["optimizer"])
    if dist.get_rank() == 0:
        print(f"goes on from {path}: epoch {state['place']['epoch'] + 1}, step {state['place']['step'] + 1}")
    return state["place"]


def train_step(wrapped, optimizer, x: torch.Tensor, y: torch.Tensor) -> list[float]:
    """One step on this rank's part of a minibatch. Returns the sum of its losses, its right answers, its images."""
    outputs = wrapped(x)
    loss = cross_entropy(outputs, y)
    optimizer.zero_grad()
    loss.backward()  # DDP: from here the gradients are the means over all ranks
    optimizer.step()
    return [loss.item() * len(y), (outputs.argmax(dim=1) == y).sum().item(), len(y)]


def measure(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """Mean loss and accuracy over x, of which each rank takes its share."""
    share = slice(dist.get_rank(), None, dist.get_world_size())
    with torch.no_grad():
        outputs = model(x[share])
    loss = cross_entropy(outputs, y[share], reduction="sum").item()
    right = (outputs.argmax(dim=1) == y[share]).sum().item()
    loss, right = summed([loss, right], x.device)
    return loss / len(x), right / len(x)


def train(options: argparse.Namespace, device: torch.device) -> dict | None:
    """The result of the finished training, on every rank; None where it was stopped."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    x, y = (part.to(device) for part in load_tensors("digits", n=options.images))
    test_x, test_y = (
        part.to(device) for part in load_tensors("digits", train=False, n=max(world_size, options.images // 6))
    )

    if len(x) < options.batch_size * world_size:
        sys.exit(f"{len(x)} images are not enough for one step of {options.batch_size} on each of {world_size} ranks")
    torch.manual_seed(options.seed)
    model = mlp().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    place = resume(options.checkpoint, model, optimizer, options.batch_size)
    wrapped = DistributedDataParallel(model)
    # After its first backward pass DDP rearranges the gradients in its buckets, and so the order in which ranks are
    # added up. One pass before the first step, for nothing, and all steps are made alike: those of a run that goes on,
    # too.
    cross_entropy(wrapped(x[:1]), y[:1]).backward()

    log = runlog.Writer(
        options.log if place["epoch"] < options.epochs else None,
        rank=rank,
        world_size=world_size,
        gather=runlog.torch_gather,
        program=__file__,
        arguments=vars(options),
        batch_size=options.batch_size,
        seed=options.seed,
        data={"name": "digits", "train_images": len(x), "test_images": len(test_x)},
    )
    for epoch in range(place["epoch"], options.epochs):
        batches = minibatches(len(x), options.batch_size * world_size, seed=options.seed, epoch=epoch, drop_last=True)
        sums = place["sums"]
        log.begin_epoch()
        for step in range(place["step"], len(batches)):
            mine = batches[step][rank::world_size].to(device)
            here = train_step(wrapped, optimizer, x[mine], y[mine])
            log.step(samples=len(mine), learning_rate=options.lr)
            time.sleep(options.pause)
            # rank 0 looks, all hear of it, and stop after the same step
            up = float(rank == 0 and checkpoint.time_is_up())
            *here, up = summed([*here, up], device)
            sums = [before + now for before, now in zip(sums, here, strict=True)]
            if up and step + 1 < len(batches):
                save(
                    options.checkpoint,
                    model,
                    optimizer,
                    {"epoch": epoch, "step": step + 1, "sums": sums},
                    options.batch_size,
                )
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
        save(options.checkpoint, model, optimizer, place, options.batch_size)
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
    device = set_up()
    rank, world_size = dist.get_rank(), dist.get_world_size()
    where = {
        "rank": rank,
        "world_size": world_size,
        "local_rank": int(os.environ["LOCAL_RANK"]),
        "host": os.uname().nodename,
    }
    ranks = runlog.torch_gather(where)
    if rank == 0:
        for one in ranks:
            print(f"rank {one['rank']} of {world_size}: local rank {one['local_rank']} on {one['host']}")
    result = train(options, device)
    if rank == 0:
        if result is None:
            print(f"the time is up: checkpoint written to {options.checkpoint}")
        else:
            print(
                f"finished: validation accuracy {result['val_accuracy']:.4f}, parameters "
                f"{result['parameters_sha256'][:12]}"
            )
            if options.json:
                options.json.write_text(json.dumps(result | {"ranks": ranks}) + "\n")
    dist.barrier()  # no rank closes its connections while another still needs them
    dist.destroy_process_group()  # ends gloo's threads: one that still ran while the interpreter ends could abort it


if __name__ == "__main__":
    main()
