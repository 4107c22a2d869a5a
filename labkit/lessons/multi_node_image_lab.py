"""The machinery of unit 09: scripts started on ranks, pages that ranks share, photos to look at, and what a Keras model
keeps of an image.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from labkit import products
from labkit.environment import mpi_environment, mpiexec

if TYPE_CHECKING:
    import tensorflow as tf

Named = list[tuple[str, Image.Image]]


def run_script(name: str, world_size: int, options: Sequence[object]) -> str:
    """The output of a script in this folder on `world_size` ranks under mpiexec; one rank needs no mpiexec. Raises
    RuntimeError with its last words where it fails.
    """
    launch = [] if world_size == 1 else [*mpiexec(), "-n", str(world_size)]
    done = subprocess.run(
        [str(word) for word in (*launch, sys.executable, name, *options)],
        env={**os.environ, **mpi_environment(world_size)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name} ended with status {done.returncode}:\n{done.stderr[-1500:]}")
    return done.stdout


def two_of_each_kind(entries: Sequence[products.Entry], data: Path) -> tuple[Named, Named]:
    """The first photo of each kind with the kind's name, and the last one without a name."""
    first, last = [], []
    for number, kind in enumerate(products.SUPER_CLASSES, start=1):
        photos = [entry for entry in entries if entry.super_class_id == number]
        first.append((kind.replace("_", "\n"), Image.open(data / photos[0].path)))
        last.append(("", Image.open(data / photos[-1].path)))
    return first, last


def pages_in_memory(end_of_path: str, smaps: str | Path = "/proc/self/smaps") -> tuple[int, int]:
    """Rss and Pss of this process's pages of a file, in kB, as Linux counts them: all of its pages in memory, and this
    process's part when each is divided among those that share it.

    end_of_path: how the path of the file ends.
    """
    book, inside = {"Rss:": 0, "Pss:": 0}, False
    for line in Path(smaps).read_text().splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):  # the pages of a file begin
            inside = line.rstrip().endswith(end_of_path)
        elif inside and first in book:
            book[first] += int(rest[0])
    return book["Rss:"], book["Pss:"]


def fastest_seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """The seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def kept_values(model: tf.keras.Model, side: int = 224) -> int:
    """The number of values that convolutions, normalisations and ReLUs of a Keras model put out for one image of
    side x side pixels in three colours.
    """
    from tensorflow import keras

    model = keras.models.clone_model(model, input_tensors=keras.Input((side, side, 3)))
    layers = [layer for layer in model.layers if layer.weights or "re_lu" in layer.name]
    return sum(int(np.prod(layer.output_shape[1:])) for layer in layers)
