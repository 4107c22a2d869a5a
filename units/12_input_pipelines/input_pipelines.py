# %% [markdown]
# # 12 · Input pipelines
#
# An accelerator computes nothing until a batch has been read, decoded and put together.
# Unless other processes do that during the steps, the accelerator waits. Mistakes in
# this part of training raise no error: a training run does not fail if its loader
# delivers every sample twice, or never delivers the last hundred, and a machine whose
# GPUs wait half of the time costs as much as a busy one.
#
# **At the end of this page** you have written shards and read broken ones, dealt them
# out to the worker processes of all ranks, shuffled a stream that does not fit into
# memory, made batches ahead of the step, predicted and measured how busy an accelerator
# is, and resumed an epoch on another number of ranks, with no sample lost or repeated.
#
# **You need** units 03 and 04. **It takes** about 85 minutes, the *stretch* 75 more.
# The cells themselves run for about 45 seconds on two cores. They take about 1 GB of
# memory.

# %%
import importlib.util
import io
import itertools
import queue
import random
import tarfile
import tempfile
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from autograder import check
from labkit import data
from labkit.lessons import input_pipelines as given
from labkit.plots import inputs

# %% [markdown]
# ## Guess first
#
# A step takes 32 ms on the accelerator. Its batch has 8 samples, which are on a remote
# disk; each takes 6 ms to arrive.
#
# 1. What share of the time does the accelerator work if the program reads a batch,
#    runs the step, and then reads the next batch?
# 2. And if another process reads batches during the steps? If two processes do?
# 3. A stream of 4 samples is read by a `DataLoader` with 2 worker processes. How many
#    samples come out?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Sharded files: how samples are stored
#
# `given.store` writes the same small pictures in three forms: one file each, as a
# camera does; all files in one archive; and decoded, as one array on disk (a memory
# map).
#
# (You need not read what this page takes from `given`: data sets, slow storage, a
# stopwatch, ranks as threads. It is all in `labkit/lessons/input_pipelines.py`, and
# `help(given)` describes it.)

# %% tags=["parameters"]
PICTURES, BATCHES = 1024, 30
WITH_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None

# %%
torch.set_num_threads(1)
keeper = tempfile.TemporaryDirectory()  # goes away with the notebook's kernel
folder = Path(keeper.name)
pictures = given.store(folder, PICTURES)

# %% [markdown]
# `given.Files`, `given.Archive` and `given.Mapped` are data sets that read the three
# forms. `given.rate` measures the pictures per second of a loader whose batches are
# thrown away at once:

# %%
sizes = {
    "files": sum(len(jpeg) for _, jpeg in pictures),
    "archive": (folder / "all.tar").stat().st_size,
    "memory map": (folder / "decoded.npy").stat().st_size,
}
kinds = {
    "files": given.Files(folder, PICTURES),
    "archive": given.Archive(folder),
    "memory map": given.Mapped(folder),
}
rates = {name: given.rate(DataLoader(kind, 32)) for name, kind in kinds.items()}
for name, per_second in rates.items():
    print(
        f"{name:12}{sizes[name] / 1e6:6.1f} MB {per_second:9,.0f} pictures/s, "
        f"{1e6 / per_second:4.0f} µs each"
    )

# %% [markdown]
# Most of the time here goes into decoding. The memory map is decoded already, but has
# several times as many bytes. The archive is no faster than the files, which were
# written a second ago and are still in the machine's memory. On a shared file system
# that is different: opening a file is a request to a server that others use, too, and a
# million small files are a million requests. An archive is opened with one request, and
# then read from front to back.
#
# But reading from front to back is work for one reader. So that many can read at once,
# a data set is cut into **shards**: archives of a few hundred megabytes each, many more
# of them than there are readers.
#
# ### Writing shards (3 points)

# %% nbgrader={"grade": false, "grade_id": "write_shards", "locked": false, "schema_version": 3, "solution": true, "task": false}
def write_shards(samples: list[tuple[str, bytes]], n: int) -> list[bytes]:
    """Write samples into n tar archives of almost equal size.

    samples: list of (name, content): a relative path of any length, and bytes
    n: int, number of shards
    Returns: list of n byte strings, uncompressed tar archives that have been closed

    - read back: each sample is a file of that name; the first shard holds the first
      samples, and so on.
    - uneven shards: the numbers of samples in two shards differ by at most one.
    - illegal arguments: raise ValueError if n < 1 or if a shard would be empty.

    Example: 5 samples in 2 shards: 3 and 2, or 2 and 3.
    """
    ### BEGIN SOLUTION
    if not 1 <= n <= len(samples):
        raise ValueError(f"{len(samples)} samples do not make {n} shards")
    shards, at = [], 0
    for k in range(n):
        size = len(samples) // n + (k < len(samples) % n)
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for key, content in samples[at : at + size]:
                info = tarfile.TarInfo(key)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        shards.append(out.getvalue())
        at += size
    return shards
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_write_shards", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(write_shards)

# %% tags=["raises-exception"]
SHARDS = [f"shard-{k:02d}.tar" for k in range(12)]
archives = dict(zip(SHARDS, write_shards(pictures, 12)))
for name, archive in archives.items():
    (folder / name).write_bytes(archive)
lengths = [len(archive) for archive in archives.values()]
print(f"12 shards of {min(lengths):,} to {max(lengths):,} bytes")

# %% [markdown]
# ### Reading broken shards (4 points) · stretch
#
# Among a million photographs, one cannot be decoded; an interrupted copy leaves a shard
# that ends in the middle. Neither should stop a training run at night. The reader
# should go on, and name the broken shard and sample, so that somebody can look at them.
#
# In a tar archive, each sample is a header with its name, followed by its bytes. If a
# shard is truncated (torn) in the middle of a sample, the header is still there
# (`tar.next()` returns it), but reading the sample raises `tarfile.ReadError`, and so
# does the next `tar.next()`. If a shard ends in a later header or between two samples,
# the names of the missing samples are unknown, and nothing is reported. `decode` may
# raise any exception. (These shards hold only files, no name longer than 100
# characters.)

# %% nbgrader={"grade": false, "grade_id": "read_shard", "locked": false, "schema_version": 3, "solution": true, "task": false}
def read_shard(name: str, archive: bytes, decode) -> tuple[list, list]:
    """Read the intact samples of one shard and name the broken ones.

    name: str, the name of the shard
    archive: bytes of a tar archive, not empty, which may be truncated
    decode: function, decode(content) makes a sample from a file's bytes, or raises an
        `Exception` of any kind
    Returns: (samples, broken), two lists in the order of the archive: pairs (key,
        decoded sample), and pairs (name of the shard, key)

    - whole shards: every file is a sample, even an empty one; its key is the file's
      name, with its folder.
    - samples that cannot be decoded: they are in `broken`, and reading goes on.
    - truncated shards: a sample is whole if all its own bytes are there, even if the
      padding that follows is cut off; a truncated one is in `broken`. If the bytes
      are no archive, or end in the first header, return [] and [(name, None)].

    Example: "a" and "b" in shard "s", "b" truncated: ([("a", ...)], [("s", "b")]).
    """
    ### BEGIN SOLUTION
    samples, broken = [], []
    try:
        tar = tarfile.open(fileobj=io.BytesIO(archive))
    except tarfile.TarError:
        return samples, [(name, None)]
    while True:
        try:
            member = tar.next()
        except tarfile.TarError:
            break
        if member is None:
            break
        try:
            samples.append((member.name, decode(tar.extractfile(member).read())))
        except Exception:
            broken.append((name, member.name))
    return samples, broken
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_read_shard", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(read_shard)

# %% [markdown]
# Now one byte of a photograph is changed, one shard is cut off, and one shard is a page
# of HTML (a server's error message, saved under the shard's name):

# %% tags=["raises-exception"]
count, broken = 0, []
for name, archive in given.spoilt(archives).items():
    samples, unread = read_shard(name, archive, given.decode)
    count += len(samples)
    broken += unread
print(f"{count} of {PICTURES} pictures read. Not read:")
for name, key in broken:
    print(f"  {name}: {key or 'no archive'}")

# %% [markdown]
# The samples after the break in a torn shard are lost for this epoch. But the shard is
# named, and can be copied again before the next epoch.
#
# ## Sharded reading: who reads which file
#
# A rank has several **workers**, processes that read for it. `DataLoader` starts them,
# and each gets a copy of the data set. If the data set is a stream, each worker has a
# stream of its own:

# %%
class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


print([int(x) for batch in DataLoader(Stream(), num_workers=2) for x in batch])
print(f"your guess: {guess_3}")

# %% [markdown]
# Every sample comes twice, without an error: that answers the third question. With 8
# ranks of 4 workers, each would come 32 times, and an "epoch" would be 32 epochs.
#
# So each worker must know which files are its own. `get_worker_info()` gives it its
# number among the workers; you pass the rank to the data set yourself.
#
# ### Files for every worker of every rank (4 points)
#
# Each worker deals all files out and keeps its own; nothing is communicated. Three
# rules make that work. **Sort** first, because all workers of all ranks must deal from
# the *same* order, and a folder's listing has none (Python's documentation of
# `os.listdir`: "arbitrary order"). **Shuffle** before you deal: otherwise a rank sees
# the same files in every epoch, and never those of the others. **Deal** evenly, first
# to the ranks and then to the workers of each: a rank with more samples would still be
# training when the others have finished, and would wait for them in its all-reduce for
# ever. (Ranks may still differ by one file, so all must also stop after the same number
# of batches.)
#
# ![Eight files, A to H, in two epochs. In each the sorted files are shuffled with seed and epoch and dealt in turn to two ranks, and the files of a rank in turn to its two workers. Epoch 0 has the order B F E H D C A G: rank 0 gets B D and E A, rank 1 gets F C and H G. Epoch 1 has the order H G B F C E D A: rank 0 gets H C and B D, rank 1 gets G E and F A.](../../images/shards_dealt.svg)
#
# Each file goes to one worker of one rank, and in the next epoch perhaps to another
# one.

# %% nbgrader={"grade": false, "grade_id": "shards_of", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shards_of(
    files: list[str],
    rank: int,
    world_size: int,
    worker: int,
    workers: int,
    seed: int,
    epoch: int,
) -> list[str]:
    """Return the files that one worker of one rank reads in an epoch.

    files: list of str, all names, each once, in an order that may differ between ranks
    rank: int, this rank
    world_size: int, number of ranks
    worker: int, this worker
    workers: int, number of workers of each rank
    seed: int, from 0 to 2**31 - 1
    epoch: int
    Returns: list of str, in the order in which they are read

    - each file once: one worker of one rank reads it. Ranks differ by at most one file,
      and so do the workers of a rank.
    - another order in each epoch: the order, even that of one worker's files, depends
      on seed and epoch (their sum will do), and so does the grouping of files by rank.
    - listings in any order: the result is the same for any order of `files`. Every
      worker calls this for itself, without communication.

    Example: 5 files, 2 ranks with 2 workers: 2 + 1 on one rank, 1 + 1 on the other.
    """
    ### BEGIN SOLUTION
    order = sorted(files)
    random.Random(f"{seed} {epoch}").shuffle(order)
    return order[rank::world_size][worker::workers]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_shards_of", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(shards_of)

# %% tags=["raises-exception"]
class Shards(IterableDataset):
    """The pictures in one rank's shards: pairs (key, picture)."""

    def __init__(self, rank, world_size, seed=12):
        self.place, self.seed, self.epoch = (rank, world_size), seed, 0

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        share = shards_of(SHARDS, *self.place, worker, workers, self.seed, self.epoch)
        for name in share:
            with tarfile.open(folder / name) as tar:
                for file in tar:
                    yield file.name, given.decode(tar.extractfile(file).read())


first = shards_of(SHARDS, 0, 3, 0, 2, 12, 0)
print(f"worker 0 of rank 0 reads {', '.join(first)}")
held = Counter()
for rank in range(3):
    loader = DataLoader(Shards(rank, 3), batch_size=32, num_workers=2)
    keys = [key for batch, _ in loader for key in batch]
    held.update(keys)
    print(f"rank {rank}: {len(keys)} pictures")
print(f"{len(held)} different pictures, each at most {max(held.values())} times")

# %% [markdown]
# ### A shuffle buffer (3 points) · stretch
#
# The samples of a shard come in the order in which they were written, often one class
# after the other. To shuffle all of them you would need all of them in memory. A
# **shuffle buffer** holds a few. First it fills up; then, for each sample that comes
# in, one of those inside, chosen at random, leaves.
#
# ![A stream A to G through a shuffle buffer of four places, row by row. The buffer fills up with A B C D. E comes and takes the place of C, which leaves; F takes the place of A, G that of E. When the stream has ended, the rest leaves in a random order: the output is C A E D F G B.](../../images/shuffle_buffer.svg)
#
# C came out two places early, and with this buffer no sample can be more than three
# early. B came out last: there is no limit to how late a sample may be.

# %% nbgrader={"grade": false, "grade_id": "shuffle_buffer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shuffle_buffer(stream, size: int, rng: np.random.Generator):
    """Shuffle a stream with a buffer of `size` elements.

    stream: iterable
    size: int, elements in the buffer
    rng: numpy Generator
    Returns: iterator over the elements, each once

    - the order: the first `size` elements fill a list. For each further one draw k =
      rng.integers(size): the element at place k leaves, and the new one takes its
      place. At the end the rest leaves in the order rng.permutation(length of the
      list). Draw nothing else.
    - bounded memory: at any time, at most size + 1 elements have been read and have not
      left yet.

    Example: size = 1 leaves the order as it is.
    """
    ### BEGIN SOLUTION
    buffer = []
    for element in stream:
        if len(buffer) < size:
            buffer.append(element)
        else:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_shuffle_buffer", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(shuffle_buffer)

# %% [markdown]
# How well does it shuffle? Each point is one of 1,000 elements: horizontally its place
# in the stream, vertically its place in the output.

# %% tags=["raises-exception"] alt="Three clouds of points: the place in the stream to the right, the place in the output upwards. With a buffer of 10 they lie on the diagonal, with 100 in a band around it with a long tail upwards, with 1,000 all over the square."
outputs = {}
for size in (10, 100, 1000):
    drawn = shuffle_buffer(range(1000), size, np.random.default_rng(1))
    outputs[f"a buffer of {size:,}"] = list(drawn)
inputs.orders(outputs);

# %% [markdown]
# An element comes out early by less than the buffer's size, but may stay for a long
# time. If 10,000 samples of one class come in a row, a buffer of 1,000 does not mix the
# classes. That is why the order of the *shards* is shuffled as well, and why samples
# are shuffled once before shards are written.

# %% [markdown]
# ## Throughput: the slowest stage decides
#
# Reading waits for a disk or a network and needs no core. Decoding needs a core, and
# the step needs the accelerator. If all three run at once, on different samples, **the
# slowest stage decides**, and the others wait for it.
#
# ![Three stages as pipes, one after the other, their heights the samples per second that each lets through: two workers, which read for 6 ms and decode for 4 ms, 200; four cores that two ranks share, 500 for each rank; the accelerator with 2.5 ms for a sample, 400. The stream through all three is as high as the narrowest: 200 samples per second.](../../images/slowest_stage.svg)
#
# More cores or a faster accelerator would change nothing here. A third worker would.
#
# ### A bound on the throughput (4 points)
#
# Each worker reads a sample, then decodes it, then takes the next. The workers of all
# ranks of a machine share its cores.

# %% nbgrader={"grade": false, "grade_id": "samples_per_second", "locked": false, "schema_version": 3, "solution": true, "task": false}
def samples_per_second(
    read: float, decode: float, step: float, workers: int, cores: int, ranks: int
) -> float:
    """Return the most samples per second that one rank can train on.

    read: float, seconds that a worker waits for a sample
    decode: float, seconds that one core then computes for it
    step: float, seconds that the accelerator needs for it; all three are positive
    workers: int, workers of each rank
    cores: int, cores of the machine
    ranks: int, ranks on the machine
    Returns: float

    - one rank: workers and accelerator run at the same time, and queues are long
      enough.
    - ranks that share the cores: each rank has cores / ranks of them for decoding, with
      or without workers.
    - no workers: if workers is 0, the program itself reads, decodes and steps, one
      after the other; while one rank reads, another may decode.

    Example: samples_per_second(0.03, 0.01, 0.005, 1, 4, 1) == 25.0
    """
    ### BEGIN SOLUTION
    of_the_cores = cores / (ranks * decode)
    if workers == 0:
        return min(1 / (read + decode + step), of_the_cores)
    return min(workers / (read + decode), of_the_cores, 1 / step)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_samples_per_second", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(samples_per_second)

# %% [markdown]
# Now compare the prediction with a measurement: each sample takes 6 ms to arrive and no
# time to decode, and the accelerator is busy for 32 ms with a batch of 8 (here it only
# sleeps for that time). The clock starts when the first batch is there, because
# starting the workers takes longer than a batch.

# %%
READ, STEP, BATCH = 0.006, 0.032, 8
slow = given.Far(BATCHES * BATCH, READ)  # numbers, each of which takes READ seconds


def busy_share(batches):
    """The share of the time in which the accelerator works, once it has a batch."""
    return given.busy_share(batches, STEP)

# %% tags=["raises-exception"]
print("workers  predicted  measured")
for workers in (0, 1, 2):
    bound = samples_per_second(READ, 1e-9, STEP / BATCH, workers, 2, 1)
    loader = DataLoader(slow, BATCH, num_workers=workers)
    print(f"{workers:7}  {bound * STEP / BATCH:9.0%}  {busy_share(loader):8.0%}")

# %% [markdown]
# Those are the answers to the first two questions. The measured share stays below the
# predicted one, which is a bound: sleeps last a little too long, and passing batches on
# takes time, especially on a machine with other work. The two workers of the last line
# could supply 133 % of what the accelerator uses, so a third worker would not help.
#
# ## Prefetching: batches made ahead of the step
#
# The same numbers on a time axis:
#
# ![Batches that take 48 ms to make and steps of 32 ms on a time axis. With nothing made ahead, making and steps alternate, and the accelerator is busy for 40 % of the time. With one worker batches are made during the steps; each step waits for the rest of its batch: 67 %. With two workers, each of which makes every second batch, steps follow each other without a gap: 100 %.](../../images/prefetching.svg)
#
# Now write such a worker, as a thread instead of a process: it makes batches and puts
# them into a queue with room for a few. A thread is enough if making a batch means
# waiting, or is done by a library that lets other threads run in the meantime (as
# decoders and numpy do in their long loops).
#
# ### Prefetch (4 points)
#
# Besides batches, the thread must pass two messages through the queue: that there are
# no more batches, and that an error has occurred. Otherwise an error in the thread is
# printed and forgotten, and the consumer waits for ever.

# %% nbgrader={"grade": false, "grade_id": "prefetch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def prefetch(batches, depth: int):
    """Return the same batches, which a thread makes ahead.

    batches: iterable; a batch can be anything, even None
    depth: int, at least 1, number of batches that may wait in the queue
    Returns: iterator over the batches in the same order

    - the batches: every batch once, in order.
    - prefetched batches: while the consumer uses a batch, the thread makes the next
      ones, until `depth` are waiting (and perhaps one more that does not fit into the
      queue yet). The thread may start at the first `next`.
    - errors: an exception raised by `batches` reaches the consumer, after the batches
      that were made before it.

    Example: depth = 2, and the consumer holds batch 0: batches 1 and 2 are being made.
    """
    ### BEGIN SOLUTION
    waiting, end = queue.Queue(depth), object()

    def fill():
        try:
            for batch in batches:
                waiting.put((batch, None))
            waiting.put((end, None))
        except Exception as error:
            waiting.put((end, error))

    threading.Thread(target=fill, daemon=True).start()
    while True:
        batch, error = waiting.get()
        if error is not None:
            raise error
        if batch is end:
            return
        yield batch
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_prefetch", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(prefetch)

# %% tags=["raises-exception"]
loader = DataLoader(slow, BATCH)
print(f"nothing ahead:     busy {busy_share(loader):.0%}")
print(f"your thread:       busy {busy_share(prefetch(loader, 2)):.0%}")
one_worker = DataLoader(slow, BATCH, num_workers=1)
print(f"DataLoader, 1:     busy {busy_share(one_worker):.0%}")
print(f"your guesses:      {guess_1}, {guess_2}")

# %% [markdown]
# ### Utilisation of each rank (4 points) · stretch
#
# With several ranks, a rank waits for two things: its own batch, and, in the all-reduce
# at the end of the step, the ranks that had to wait for theirs.
#
# ![Ranks 0 and 3 over three steps, with an all-reduce after each. Rank 0 steps at once and then waits for rank 3. Rank 3, which needs 50 ms to make a batch for a step of 40 ms, waits for its data first and then steps. Both are idle for the same time.](../../images/who_waits.svg)
#
# A monitor shows both as an idle accelerator, a fifth of the time on either rank.
# Faster reading on a rank shortens its wait for data, not its wait for others.
#
# Compute both from these rules. Each rank has one worker, which makes its batches one
# after the other and begins the first at time 0. With `depth` = 0 it begins a batch
# when all ranks have finished the step before it. With `depth` > 0 it begins batch k as
# soon as batch k - 1 is made and batch k - depth (if there is one) has been *taken*,
# that is, its step has begun. A rank's step begins when its batch is made and all ranks
# have finished the previous step. A step takes `step` seconds, and then all ranks wait
# for the slowest one.

# %% nbgrader={"grade": false, "grade_id": "utilisation", "locked": false, "schema_version": 3, "solution": true, "task": false}
def utilisation(
    make: list[list[float]], step: float, depth: int
) -> list[tuple[float, float, float]]:
    """Return the seconds that each rank is busy, waits for data and waits for others.

    make: list of lists, make[r][k] is the time in s to make batch k of rank r; all
        ranks have the same number of batches, at least 1
    step: float, seconds of a step
    depth: int, number of batches that may be made ahead
    Returns: list of (busy, waits for data, waits for others), one for each rank, in s

    - one rank: by the rules above; the three add up to the time of the whole run.
    - synchronised ranks: that sum is the same on all ranks.
    - with prefetching: if depth > 0, batch k is begun only after batch k - depth is
      taken.

    Example: utilisation([[1.0, 1.0]], 2.0, 0) == [(4.0, 2.0, 0.0)]
    """
    ### BEGIN SOLUTION
    make = np.array(make)
    p, steps = make.shape
    made, end, starts = np.zeros(p), 0.0, []
    data, others = np.zeros(p), np.zeros(p)
    for k in range(steps):
        if depth == 0:
            begun = end
        else:
            begun = np.maximum(made, starts[k - depth] if k >= depth else 0.0)
        made = begun + make[:, k]
        starts.append(np.maximum(made, end))
        data += starts[k] - end
        others += starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_utilisation", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(utilisation)

# %% [markdown]
# Take four ranks (here threads, `given.run_ranks`) and a step of 40 ms. Ranks 0 and 1
# need 24 ms for a batch. So does rank 2, except for every sixth batch, which takes 140
# ms: a shard ends, and the next must be opened. Rank 3 has a slow disk and needs 50 ms
# for every batch, more than a step.
#
# In your `prefetch`, `depth` batches wait in the queue, and the thread holds one more.
# So the prediction uses depth + 1.

# %% tags=["raises-exception"]
slow_starts = [0.14 if k % 6 == 5 else 0.024 for k in range(18)]
make = [[0.024] * 18, [0.024] * 18, slow_starts, [0.05] * 18]
measured = {}
for depth in (0, 1, 3):
    foreseen = utilisation(make, 0.04, depth + 1 if depth else 0)
    feeds = [given.source(seconds) for seconds in make]
    if depth:
        feeds = [prefetch(feed, depth) for feed in feeds]
    measured[depth] = given.run_ranks(feeds, 18, 0.04)
    print(f"depth {depth}: shares of the time, predicted (measured)")
    for r, (lane, seconds) in enumerate(zip(measured[depth], foreseen)):
        print(f"  rank {r}: {given.shares(lane, seconds)}")

# %% tags=["raises-exception"] alt="Bands of four ranks over time, three times: busy, waiting for data, waiting for others. With nothing made ahead all ranks wait for data after every step; with one batch ahead ranks 0 and 1 wait almost only for the others; with three, rank 2's long batches no longer stop the others, and rank 3 waits for its data as before."
names = {0: "nothing made ahead", 1: "depth 1", 3: "depth 3"}
if measured:
    inputs.bands({names[depth]: lanes for depth, lanes in measured.items()})

# %% [markdown]
# Read the bands from the top. Without prefetching all ranks wait for data. At depth 1,
# ranks 0 and 1 wait almost only for the others: their own input is fast enough, but all
# ranks run at the pace of rank 3, whose disk is the bottleneck in every step. Rank 2's
# long batches still stop all ranks now and then; at depth 3 they are mostly hidden.
# Depth helps against single slow batches (*bursts*). It does not help against a rank
# that is too slow on average: its bound is the bound of the whole run.
#
# ## Explain: a claim
#
# **"The GPUs will spend time waiting on the CPUs."** An IBM talk (B. Nelson,
# *Distributed Deep Learning*, CentOS Dojo, April 2019) warns: "If the pre-processing of
# the input data was tuned to use the total available CPU processing when training on a
# single GPU, and that training is distributed to 6 GPUs in the box, then the GPUs will
# spend time waiting". How much? Below, two "cores" (threads that sleep), each of which
# decodes a picture in 7 ms, can just keep one accelerator busy. Then they serve 2 and
# 6:

# %% tags=["raises-exception"]
def gpus_in_a_box(gpus, cores, seconds, batches=16):
    """The busy shares of `gpus` accelerators for which these cores decode."""
    with ThreadPoolExecutor(cores) as pool:

        def decoded_batches():
            for _ in range(batches):
                yield list(pool.map(time.sleep, [seconds] * BATCH))

        streams = [prefetch(decoded_batches(), 2) for _ in range(gpus)]
        with ThreadPoolExecutor(gpus) as boards:
            return list(boards.map(busy_share, streams))


print("GPUs  predicted  measured")
for gpus in (1, 2, 6):
    bound = samples_per_second(1e-9, 0.007, STEP / BATCH, 8, 2, gpus)
    shares = gpus_in_a_box(gpus, 2, 0.007)
    print(f"{gpus:4}  {bound * STEP / BATCH:9.0%}  {np.mean(shares):8.0%}")

# %% [markdown]
# True: four fifths of the time. And on a real machine with 6 GPUs? Take the rate at
# which one core of *this* machine read and decoded our small pictures at the top of the
# page:

# %%
for cores in (2, 16, 64, 192):
    each = cores * rates["files"] / 6
    print(f"{cores:3} cores: a GPU waits if it takes more than {each:7,.0f} pictures/s")

# %% [markdown]
# (Photographs of the usual size take many times longer to decode than 64 x 64 pixels.)
#
# A busy GPU is no proof of progress: one that copies a model is busy, too (unit 10
# examines a published utilisation). An idle GPU is waiting, but you cannot see whether
# for its own data or for another rank: compare ranks 0 and 3 above.
#
# ## Resuming with another number of ranks
#
# A job is stopped in the middle of an epoch, and when it is started again it gets 3
# nodes instead of 4. With unit 06's checkpoint, the epoch begins again. If an epoch
# takes days, that costs too much.
#
# What must a checkpoint store? Suppose that the order of the samples follows from seed
# and epoch alone, and that every step takes the next samples of this order, on any
# number of ranks. Then **one number** is enough besides seed and epoch: how many
# samples all ranks together have taken.
#
# ![The 24 samples of an epoch in a row, in an order that follows from seed and epoch; each cell names the rank that takes the sample. Batch 0 has 8 samples and is dealt in turn to 4 ranks. There the job stops, with a state that says: taken = 8. It goes on with 3 ranks: batches 1 and 2 have 6 samples each, two for each rank, and batch 3 the last 4.](../../images/other_ranks.svg)
#
# ### The next batch, on any number of ranks (5 points)

# %% nbgrader={"grade": false, "grade_id": "next_batch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def next_batch(
    state: dict, n: int, batch_size: int, rank: int, world_size: int
) -> tuple[list[int], dict]:
    """Return this rank's share of the next batch, and the state after it.

    state: dict with "seed", from 0 to 2**31 - 1, "epoch" and "taken", the number of
        samples of this epoch that all ranks together have taken; a run starts with
        epoch 0 and taken 0
    n: int, number of samples in an epoch
    batch_size: int, number of samples of all ranks together
    rank: int, this rank
    world_size: int, number of ranks
    Returns: (list of ints from 0 to n - 1, new state)

    - an epoch: every sample once. The ranks' shares of a batch differ by at most one
      sample and can be empty; which rank gets which samples is up to you.
    - the end of an epoch: the last batch has the samples that are left; after it the
      state is at the beginning of the next epoch.
    - epochs and seeds: the order depends on both.
    - another number of ranks: the next call may have another world_size or batch_size.
    - the new state: the same on all ranks, with values that JSON can hold; the given
      state is not changed.

    Example: n = 10, batch_size = 4, taken = 8: two samples, then epoch + 1 and taken 0.
    """
    ### BEGIN SOLUTION
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    batch = order[taken : taken + batch_size]
    taken += len(batch)
    if taken == n:
        epoch, taken = epoch + 1, 0
    after = {"seed": seed, "epoch": epoch, "taken": taken}
    return batch[rank::world_size].tolist(), after
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_next_batch", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(next_batch)

# %% [markdown]
# `given.train_with_stops` stops a training run at a hundred random places, and resumes
# it each time with another number of ranks and another batch size:

# %% tags=["raises-exception"]
seen, state = given.train_with_stops(next_batch, 100, 1000, np.random.default_rng(3))
full = [held for epoch, held in seen.items() if epoch < state["epoch"]]
twice = sum(k > 1 for held in seen.values() for k in held.values())
lost = sum(1000 - len(held) for held in full)
print(f"{len(full)} whole epochs: {lost} samples lost, {twice} twice; now {state}")

# %% [markdown]
# `DataLoader` has no state. `torchdata`'s **StatefulDataLoader** has one: it counts the
# batches that it has delivered, and its sampler counts the indices. Its documentation
# says that it handles state "across multiprocess workers (but not across ranks)".
# Below, each rank saves its own state after two batches of two samples, in an epoch of
# 24 samples:

# %%
warnings.filterwarnings("ignore", message=".*set_vital.*")


def stateful_loaders(world_size, states=None):
    loaders = []
    for rank in range(world_size):
        sampler = StatefulDistributedSampler(range(24), world_size, rank, seed=5)
        loader = StatefulDataLoader(range(24), batch_size=2, sampler=sampler)
        if states:
            loader.load_state_dict(states[rank % len(states)])
        loaders.append(loader)
    return loaders


for before, after in ((4, 4), (4, 2), (2, 4)):
    held, states = Counter(), []
    for loader in stateful_loaders(before):
        for batch in itertools.islice(loader, 2):
            held.update(batch.tolist())
        states.append(loader.state_dict())
    for loader in stateful_loaders(after, states):
        for batch in loader:
            held.update(batch.tolist())
    twice, lost = sum(k > 1 for k in held.values()), 24 - len(held)
    print(f"{before} ranks, then {after}: {twice} samples twice, {lost} never")

# %% [markdown]
# On the same number of ranks it is exact, and it saves much that ours does not: the
# positions of its workers, and the state of any sampler or data set with a
# `state_dict`. On another number of ranks samples are lost or repeated, as the
# documentation warns, and without an error. Your `next_batch`, as the sampler of such a
# loader, adds the missing part: a state that is the same on all ranks.
#
# ## Three libraries side by side · stretch
#
# | | `DataLoader` | `tf.data` | `StatefulDataLoader` |
# |---|---|---|---|
# | samples made in parallel | `num_workers`, processes | `map(..., num_parallel_calls)`, threads | as DataLoader |
# | batches ahead | `prefetch_factor` for each worker | `prefetch` | as DataLoader |
# | shares of ranks | a sampler; for a stream `get_worker_info` and you | `shard(ranks, rank)` | as DataLoader |
# | shuffle | a sampler, all indices | `shuffle(buffer)` | as DataLoader |
# | state in an epoch | none | `tf.train.Checkpoint` of the iterator | `state_dict` of each rank |
#
# In TensorFlow's tf.data, sharding, shuffling and prefetching are methods, too; calling
# them in the right order is up to you:

# %%
if WITH_TENSORFLOW:
    import os

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import tensorflow as tf

    def far(k):
        time.sleep(READ)
        return k

    def far_batches(parallel, ahead, rearranged):
        read = tf.data.Dataset.range(BATCHES * BATCH).map(
            lambda k: tf.py_function(far, [k], tf.int64), num_parallel_calls=parallel
        )
        batches = read.batch(BATCH)
        if ahead:
            batches = batches.prefetch(ahead)
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = rearranged
        return batches.with_options(options)

else:
    print("TensorFlow is not installed for this Python.")

# %%
if WITH_TENSORFLOW:
    for parallel, ahead, rearranged in (
        (None, 0, False),
        (None, 0, True),
        (None, 2, False),
        (2, 2, False),
        (4, 2, False),
    ):
        share = busy_share(far_batches(parallel, ahead, rearranged))
        how = "rearranged by tf.data" if rearranged else "as written"
        print(f"calls {parallel or 1}, prefetch {ahead}, {how}: busy {share:.0%}")

    numbers = tf.data.Dataset.range(12)
    ranks = range(2)
    first = [numbers.shard(2, r).shuffle(12, seed=r) for r in ranks]
    last = [numbers.shuffle(12, seed=r).shard(2, r) for r in ranks]
    for name, shares in (("shard, shuffle", first), ("shuffle, shard", last)):
        print(f"{name}: {sorted(int(x) for share in shares for x in share)}")

# %% [markdown]
# These are nearly the numbers of DataLoader: 40 % with nothing made ahead, two thirds
# with a batch made during the step, and all the time with samples read in parallel.
# Unless told not to, tf.data rearranges the pipeline and reads ahead by itself: the
# second line has no `prefetch` and is as fast as the third.
#
# The second list shows ranks that did not deal from the same order: each shuffled with
# a seed of its own *before* it took its share, so some samples come twice and others
# never.
#
# ## Break: the same "random" crops in every worker
#
# Augmentation (random changes of the samples, such as crops) draws random numbers in
# the workers. Workers may draw the same numbers for two reasons. PyTorch seeds `torch`,
# `random` and `np.random` differently in every worker of *one rank*: from a base seed,
# drawn from the rank's own generator, and the worker's number. But after
# `torch.manual_seed(0)` on every rank, worker 0 of all ranks draws the same numbers
# (unit 04, Deeper). And a generator of *your own*, made before the workers, is copied
# into each of them in its current state:

# %%
own = np.random.default_rng(0)


class Crops(Dataset):
    """Each sample is two random places of a crop, from two generators."""

    def __len__(self):
        return 4

    def __getitem__(self, k):
        return torch.tensor([own.integers(1000), torch.randint(1000, ()).item()])


for epoch in range(2):
    drawn = torch.cat(list(DataLoader(Crops(), num_workers=2)))
    print(f"epoch {epoch}: own {drawn[:, 0].tolist()}, torch {drawn[:, 1].tolist()}")

# %% [markdown]
# With the generator of your own (first list) both workers draw the same numbers, and
# the new workers of the next epoch draw them again. Nothing fails, but the training
# sees half the variety that it seems to have; with eight workers, an eighth. Make the
# generator *in* the worker, seeded with epoch, rank and the worker's number:

# %%
def worker_generator(epoch, rank=0):
    info = get_worker_info()
    return np.random.default_rng([12, epoch, rank, info.id if info else 0])


class Mended(Dataset):
    def __init__(self, epoch):
        self.epoch, self.own = epoch, None

    def __len__(self):
        return 4

    def __getitem__(self, k):
        self.own = self.own or worker_generator(self.epoch)
        return int(self.own.integers(1000))


for epoch in range(2):
    drawn = torch.cat(list(DataLoader(Mended(epoch), num_workers=2)))
    print(f"epoch {epoch}: {drawn.tolist()}")

# %% [markdown]
# ## What to remember
#
# - The slowest stage sets the rate of the pipeline. Compute it before you buy GPUs: for
#   each rank min(workers / (read + decode), cores / (ranks x decode), 1 / step).
# - Prefetching hides one stage behind another, and more depth hides bursts. Neither
#   makes the slowest stage faster.
# - One rank that waits for data makes all others wait in the all-reduce.
# - Sort the files, shuffle them with seed and epoch, then deal them: to ranks, then to
#   workers.
# - A state that resumes on any number of ranks is the same on all ranks and counts
#   *samples*.
# - Skip broken samples, and name each by shard and key.
#
# **To think about.** `next_batch` needs samples that can be read by their number.
# Shards are read in order, through a shuffle buffer. What would the state of such a
# reader have to hold so that no sample is lost or repeated, and what would you give up
# to keep it small?

# %% [markdown]
# ## Bonus: rows without padding
#
# Texts have different lengths, but a batch is a rectangle. Padding each text to a full
# row wastes the rest of the row; **packing** puts several texts into one row.
# (Attention must then be masked, so that texts in one row do not see each other.)
# Finding the fewest rows is hard, but a simple rule comes close: take the longest text
# first, and put each into the first row that has room.
#
# ### Packing sequences (3 points)

# %% nbgrader={"grade": false, "grade_id": "pack", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pack(lengths: list[int], capacity: int) -> list[list[int]]:
    """Pack sequences into few rows.

    lengths: list of ints, number of tokens of each sequence; may be 0
    capacity: int, the most tokens that fit into a row, at least 1
    Returns: list of rows, each a list of indices into lengths

    - every sequence once: whole, in one row; a row has at most `capacity` tokens.
    - few rows: no more than the rule "longest first, each into the first row with
      room" gives; an empty row does not count.
    - illegal arguments: raise ValueError if a sequence is longer than a row.
    - unchanged: lengths.

    Example: pack([5, 3, 5, 2], 8) may be [[0, 1], [2, 3]].
    """
    ### BEGIN SOLUTION
    rows, room = [], []
    for k in sorted(range(len(lengths)), key=lambda k: -lengths[k]):
        if lengths[k] > capacity:
            raise ValueError(f"sequence {k} has {lengths[k]} tokens, a row {capacity}")
        r = next((r for r, free in enumerate(room) if free >= lengths[k]), len(rows))
        if r == len(rows):
            rows.append([])
            room.append(capacity)
        rows[r].append(k)
        room[r] -= lengths[k]
    return rows
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_pack", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(pack)

# %% tags=["raises-exception"]
sentences = [part.strip() for part in data.text().split(".") if part.strip()]
tokens = [len(sentence) for sentence in sentences]
longest = max(tokens)
rows = pack(tokens, longest)
for name, count in (("one sentence a row", len(tokens)), ("packed", len(rows))):
    print(
        f"{name:20}{count:4} rows of {longest}, "
        f"{1 - sum(tokens) / (count * longest):.0%} of them padding"
    )
