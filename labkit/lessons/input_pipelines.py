"""The machinery of unit 12: pictures kept in three ways, slow storage, a measure of how busy an accelerator is, and
ranks as threads.
"""

from __future__ import annotations

import io
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

# --- pictures ---------------------------------------------------------------------------------------------------------


def store(folder: Path, n: int) -> list[tuple[str, bytes]]:
    """Pairs (name, JPEG file) of n pictures of 64 x 64, "00000.jpg" and so on, the same on every machine.

    Writes them into the folder in three ways: each into a file in `files`, all of them into `all.tar`, and decoded into
    `decoded.npy`, (n, 64, 64, 3), uint8.
    """
    rng = np.random.default_rng(12)
    coarse = rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
    pictures = []
    for k in range(n):
        out = io.BytesIO()
        Image.fromarray(coarse[k]).resize((64, 64)).save(out, "jpeg", quality=90)
        pictures.append((f"{k:05d}.jpg", out.getvalue()))
    (folder / "files").mkdir()
    for key, jpeg in pictures:
        (folder / "files" / key).write_bytes(jpeg)
    with tarfile.open(folder / "all.tar", "w") as tar:
        tar.add(folder / "files", arcname="")
    np.save(folder / "decoded.npy", np.stack([np.asarray(Image.open(io.BytesIO(jpeg))) for _, jpeg in pictures]))
    return pictures


def decode(jpeg: bytes) -> Tensor:
    """The bytes of a JPEG file as 3 x 64 x 64 numbers from 0 to 1."""
    picture = np.asarray(Image.open(io.BytesIO(jpeg)))
    return torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)


class Files(Dataset):
    """The n pictures of `store`, each out of its own file."""

    def __init__(self, folder: Path, n: int) -> None:
        self.folder, self.n = folder, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, k: int) -> Tensor:
        return decode((self.folder / "files" / f"{k:05d}.jpg").read_bytes())


class Archive(IterableDataset):
    """The pictures of `store` out of its archive, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __iter__(self) -> Iterator[Tensor]:
        with tarfile.open(self.folder / "all.tar") as tar:
            for member in tar:
                if member.isfile():
                    yield decode(tar.extractfile(member).read())


class Mapped(Dataset):
    """The pictures of `store`, already decoded. Nothing is read before it is asked for: the file's pages are mapped."""

    def __init__(self, folder: Path) -> None:
        self.pictures = np.load(folder / "decoded.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, k: int) -> Tensor:
        picture = self.pictures[k].astype(np.float32) / 255
        return torch.from_numpy(picture).permute(2, 0, 1)


def spoilt(archives: dict[str, bytes]) -> dict[str, bytes]:
    """The archives with three of them broken: a byte of a picture in shard-02, shard-05 cut off after 40,000 bytes, and
    an error page of a server in place of shard-07.
    """
    broken = dict(archives)
    whole = bytearray(broken["shard-02.tar"])
    whole[512 + 1] ^= 0xFF  # behind the first header: the picture's second byte
    broken["shard-02.tar"] = bytes(whole)
    broken["shard-05.tar"] = broken["shard-05.tar"][:40_000]
    broken["shard-07.tar"] = b"<html>503 Service Unavailable</html>" * 100
    return broken


# --- throughput -------------------------------------------------------------------------------------------------------


def rate(loader: Iterable) -> float:
    """The samples per second of a loader that nobody holds up."""
    begun = time.perf_counter()
    n = sum(len(batch) for batch in loader)
    return n / (time.perf_counter() - begun)


class Far(Dataset):
    """The numbers from 0 to n - 1; each takes so many seconds to read."""

    def __init__(self, n: int, seconds: float) -> None:
        self.n, self.seconds = n, seconds

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, k: int) -> int:
        time.sleep(self.seconds)
        return k


def busy_share(batches: Iterable, step: float) -> float:
    """The share of the time (0 to 1) in which an accelerator works that takes `step` seconds for each batch, from the
    first batch on.
    """
    batches = iter(batches)
    next(batches)
    begun, n = time.perf_counter(), 0
    while True:
        time.sleep(step)
        n += 1
        if next(batches, None) is None:
            return n * step / (time.perf_counter() - begun)


def source(seconds: Sequence[float]) -> Iterator[int]:
    """The numbers from 0 on; each takes its seconds."""
    for k, one in enumerate(seconds):
        time.sleep(one)
        yield k


Spans = list[tuple[str, float, float]]  # (what, from, to) in seconds
KINDS = ("busy", "waits for data", "waits for others")


def run_ranks(streams: Sequence[Iterable], steps: int, step: float) -> list[Spans]:
    """The spans of each rank, one after the other: "waits for data", "busy", "waits for others".

    Ranks are threads that take so many steps of `step` seconds, each with the next of its stream, and wait for each
    other after every one.
    """
    p = len(streams)
    barrier, lanes = threading.Barrier(p, timeout=20), [[] for _ in range(p)]
    begun = time.perf_counter()

    def rank(r: int) -> None:
        at, stream = 0.0, iter(streams[r])
        for _ in range(steps):
            acts: tuple[tuple[str, Callable], ...] = (
                ("waits for data", lambda: next(stream)),
                ("busy", lambda: time.sleep(step)),
                ("waits for others", barrier.wait),
            )
            for kind, act in acts:
                act()
                now = time.perf_counter() - begun
                lanes[r].append((kind, at, now))
                at = now

    with ThreadPoolExecutor(p) as pool:
        list(pool.map(rank, range(p)))
    return lanes


def shares(lane: Spans, foreseen: Sequence[float]) -> str:
    """A rank's predicted (measured) shares of the time in words. foreseen: its seconds of each of `KINDS`."""
    spent = [sum(b - a for which, a, b in lane if which == kind) for kind in KINDS]
    return ", ".join(
        f"{kind} {part / sum(foreseen):4.0%} ({took / sum(spent):4.0%})"
        for kind, part, took in zip(KINDS, foreseen, spent, strict=True)
    )


# --- epochs -----------------------------------------------------------------------------------------------------------


def train_with_stops(next_batch: Callable, stops: int, n: int, rng: np.random.Generator) -> tuple[dict, dict]:
    """Counts of how often each of n samples came, epoch -> Counter, and the state at the end of a training that was
    stopped so many times and went on with another number of ranks and another size of batch.

    next_batch: the exercise's function.
    """
    state: dict = {"seed": 12, "epoch": 0, "taken": 0}
    seen: dict[int, Counter] = {}
    for _ in range(stops):
        world_size, batch_size = int(rng.integers(1, 9)), int(rng.integers(1, 65))
        for _ in range(rng.integers(1, 9)):
            parts = [next_batch(state, n, batch_size, rank, world_size) for rank in range(world_size)]
            for share, _ in parts:
                seen.setdefault(state["epoch"], Counter()).update(share)
            state = parts[0][1]
    return seen, state
