"""Trains the course's MLP on the built-in digits with DistributedDataParallel, outside
of any notebook.

    torchrun --standalone --nproc-per-node 2 train_ddp.py
        torchrun starts the ranks, one process each
    python train_ddp.py --spawn 2
        the script starts them itself

Only `start_torchrun` and `start_spawn` differ: how a rank learns who it is, and how the
ranks find each other.
"""

import argparse
import os
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist

# before there is a process group: imported later (an optimizer does it), it keeps the
# group alive at the end
import torch.distributed.nn
import torch.multiprocessing as mp
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from labkit.models import mlp
from labkit.training import load_tensors, minibatches

# a rank that waits longer for another one gives up with an error
PATIENCE = timedelta(seconds=60)


def start_torchrun() -> None:
    """torchrun has left everything in the environment: RANK, WORLD_SIZE, LOCAL_RANK,
    MASTER_ADDR and MASTER_PORT.
    """
    dist.init_process_group("gloo", timeout=PATIENCE)
    print(
        f"rank {dist.get_rank()} of {dist.get_world_size()}, local rank "
        f"{os.environ['LOCAL_RANK']}",
        flush=True,
    )


def start_spawn(rank: int, world_size: int, meeting_point: str) -> None:
    """Nobody sets the environment: rank and world size are arguments, and the ranks
    meet in a file that all of them can see.
    """
    dist.init_process_group(
        "gloo",
        init_method=f"file://{meeting_point}",
        rank=rank,
        world_size=world_size,
        timeout=PATIENCE,
    )
    print(f"rank {rank} of {world_size}, spawned", flush=True)


def train(steps: int) -> None:
    """The first minibatches of 64 digits, dealt out to the ranks in strides; rank 0
    prints the last loss of all ranks.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    x, y = load_tensors("digits", n=4096)
    torch.manual_seed(rank)
    wrapped = DistributedDataParallel(mlp())
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.2)
    for batch in minibatches(len(x), 64, seed=0)[:steps]:
        mine = batch[rank::world_size]
        here = cross_entropy(wrapped(x[mine]), y[mine])
        optimizer.zero_grad()
        here.backward()
        optimizer.step()
    everywhere = here.detach()
    dist.all_reduce(everywhere, op=dist.ReduceOp.SUM)
    if rank == 0:
        print(f"loss of step {steps}: {everywhere.item() / world_size:.6f}", flush=True)


def spawned(rank: int, world_size: int, meeting_point: str, steps: int) -> None:
    start_spawn(rank, world_size, meeting_point)
    train(steps)
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument(
        "--spawn",
        type=int,
        metavar="RANKS",
        help="start this many ranks with torch.multiprocessing",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.spawn is None:
        start_torchrun()
        train(options.steps)
        dist.destroy_process_group()
        return
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(
            spawned,
            (options.spawn, f"{folder}/meeting_point", options.steps),
            nprocs=options.spawn,
        )


# spawn imports this file again in every rank: what stands outside would run there, too
if __name__ == "__main__":
    main()
