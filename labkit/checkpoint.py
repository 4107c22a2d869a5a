"""Checkpoints from which a training goes on as if it had never stopped, and the word to stop.

    # None where there is no file yet: begin at the beginning
    state = checkpoint.read(path)
    # the job script has heard that the job's time ends
    if checkpoint.time_is_up(): ...
    # rank 0 alone
    checkpoint.write(path, {"epoch": 3, "step": 17, "parameters": ..., "optimizer": ...})

What a state must hold: parameters, the optimizer's own state, and the place in the data (epoch and
step), from which the order of the images follows. Where random numbers are drawn in training
(dropout, augmentation), the state of each rank's generator belongs to it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import torch

STOP = "stop"  # the file in the job's folder by which a job script says that the time is up


def write(path: str | os.PathLike, state: dict) -> None:
    """Write a state so that `path` holds either the old one or the new one, never half of it: a job
    may be ended at any moment.
    """
    path = Path(path)
    new = path.with_name(path.name + ".new")
    with open(new, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def read(path: str | os.PathLike) -> dict | None:
    """The state in a checkpoint, its tensors on the CPU; None where there is no such file."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        return None


def time_is_up() -> bool:
    """True if the job script has asked this run to stop. Files reach other nodes late: ask on rank
    0, and tell the others.
    """
    folder = os.environ.get("COURSE_RUN")
    return bool(folder) and (Path(folder) / STOP).exists()


def digest(tensors) -> str:
    """SHA-256 over all values, bit by bit: equal for two models only if they are exactly equal.
    tensors: of model.parameters().
    """
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return sha.hexdigest()
