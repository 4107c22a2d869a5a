"""Trains a small linear model on any number of ranks, writes a checkpoint every few
steps, and resumes from it when it is started again.

    TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --standalone --nproc-per-node 3 \
        --max-restarts 2 train_elastic.py FOLDER

The gradient of a step is a sum over SHARDS shards of its minibatch, always in the same
order, whichever rank computed them: so the result is the same, to the last bit, on any
number of ranks and however often training was interrupted.
"""

import argparse
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

from labkit import checkpoint

SHARDS, SIZE, RATE = 12, 16, 0.05


def gradient(w, step, shard):
    """Gradient of the mean squared error over the samples of one shard of one step."""
    draw = torch.Generator().manual_seed(1000 * step + shard)
    x = torch.randn(8, SIZE, generator=draw, dtype=torch.float64)
    y = x.sum(dim=1)  # to be learned: all weights 1
    return x.T @ (x @ w - y) / (8 * SHARDS)


def one_step(w, step, rank, world_size):
    """The weights after this step, on every rank."""
    table = torch.zeros(SHARDS, SIZE, dtype=torch.float64)
    for shard in range(rank, SHARDS, world_size):
        table[shard] = gradient(w, step, shard)
    if world_size > 1:
        dist.all_reduce(table)  # each entry has only one nonzero summand: exact
    for row in table:
        w = w - RATE * row
    return w


def say(text):
    """Write a line in one piece: several ranks write at the same time."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.05)
    options = parser.parse_args()
    torch.set_num_threads(1)
    # a rank that waits longer for another one gives up
    dist.init_process_group("gloo", timeout=timedelta(seconds=30))
    rank, world_size = dist.get_rank(), dist.get_world_size()
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    path = os.path.join(options.folder, "state.pt")
    state = checkpoint.read(path)
    w, step = torch.zeros(SIZE, dtype=torch.float64), 0
    if state is not None:
        w, step = state["w"], state["step"]
    say(
        f"start {restart}: rank {rank} of {world_size}, process {os.getpid()}, "
        f"begins at step {step}"
    )
    while step < options.steps:
        w = one_step(w, step, rank, world_size)
        step += 1
        time.sleep(options.pause)  # stands for a model that takes longer
        if rank == 0:
            say(f"step {step}")
            if step % options.every == 0:
                checkpoint.write(path, {"w": w, "step": step})
    if rank == 0:
        say(f"end {checkpoint.digest([w])}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
