"""The beginning of `mesh_training.py`: copy this file under that name, and fill in what is missing.

    torchrun --nproc-per-node 4 mesh_training.py --data 2 --tensor 2 --run-log run_d2_t2_p1.jsonl
    mpiexec -n 4 python mesh_training.py --data 2 --tensor 2 --run-log run_d2_t2_p1.jsonl

Only `train` is called by the check; cut it into functions and classes as you like. What is here is a proposal, in the
order in which README.md builds it.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.nn  # before a process group is there
import torch.nn.functional as F  # noqa: F401  (yours to use)
from torch import Tensor, nn

from labkit import checkpoint
from labkit.meshrun import Log, Settings, adam  # noqa: F401
from labkit.scale import Mesh


class Axes:
    """This rank's place in the mesh, and the groups it talks in.

    `mesh.coordinates(rank)` says where a rank is, `mesh.groups("tensor")` which ranks differ in that axis alone. Every
    rank makes every group, with `dist.new_group(ranks)`, in the same order, and keeps its own.
    """

    def __init__(self, mesh: Mesh):
        raise NotImplementedError("step 1: the mesh")


def stage_of(settings: Settings, axes: Axes) -> nn.Module:
    """This rank's part of `settings.model()`: blocks of its stage (unit 17), cut for its tensor group (unit 16)."""
    raise NotImplementedError("steps 3 and 4: tensor and pipeline")


def one_f_one_b(part: nn.Module, xs: list[Tensor], ys: list[Tensor], axes: Axes, shape: tuple) -> float:
    """Forward and backward passes of all micro-batches in the order of 1F1B (unit 17)."""
    raise NotImplementedError("step 4: the pipeline")


class Sharded:
    """Adam whose moments are divided over the replicas (unit 15), with one norm of the whole gradient."""

    def __init__(self, part: nn.Module, axes: Axes, settings: Settings):
        raise NotImplementedError("step 2: the optimizer")


def train(mesh: Mesh, settings: Settings, steps: int, log, parts: list[dict] | None = None) -> dict:
    """So many steps, on every rank of the mesh, from the first weights or from the parts of a checkpoint of any mesh.

    `torch.distributed` is initialised, with mesh.size ranks. After each step every rank calls log.step(loss, norm): the
    mean loss of the whole minibatch, and the norm of the whole gradient before it was clipped to settings.clip. Returns
    this rank's part of a checkpoint: a dict of plain values, lists and tensors. parts: what `train` has returned on all
    ranks of the mesh that saved it, in the order of its ranks.
    """
    raise NotImplementedError("step 2 begins it, step 5 ends it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for axis in ("data", "tensor", "pipeline", "context"):
        parser.add_argument(f"--{axis}", type=int, default=1, help=f"ranks along {axis} (default: 1)")
    parser.add_argument("--steps", type=int, default=30, help="training steps (default: 30)")
    for name, what in (("layers", "blocks"), ("width", "of the model"), ("batch", "sequences of a step")):
        parser.add_argument(f"--{name}", type=int, default=getattr(Settings, name), help=what)
    parser.add_argument("--run-log", "--log", dest="log", type=Path, help="write a run log to this file")
    parser.add_argument("--checkpoint", type=Path, help="a folder: go on from what is there, write to it at the end")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo" if "RANK" in os.environ else "mpi")
    mesh = Mesh(**{axis: getattr(options, axis) for axis in ("data", "tensor", "pipeline", "context")})
    if mesh.size != dist.get_world_size():
        raise SystemExit(f"a mesh of {mesh.size} on {dist.get_world_size()} ranks")
    settings = Settings(layers=options.layers, width=options.width, batch=options.batch)
    files = sorted(options.checkpoint.glob("part_*.pt")) if options.checkpoint else []
    parts = [checkpoint.read(file) for file in files] or None
    dist.barrier()
    with Log(options.log, mesh, settings, program=__file__) as log:
        part = train(mesh, settings, options.steps, log, parts)
    if options.checkpoint:
        options.checkpoint.mkdir(parents=True, exist_ok=True)
        for file in files[dist.get_rank() :: mesh.size]:
            file.unlink()
        dist.barrier()
        checkpoint.write(options.checkpoint / f"part_{dist.get_rank():04d}.pt", part)
    if dist.get_rank() == 0:
        print(f"{mesh.size} ranks: {1e3 * log.seconds:.1f} ms a step")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
