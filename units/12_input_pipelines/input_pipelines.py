# %% [markdown]
# # 12 · Input pipelines
#
# An accelerator computes nothing before a batch has been read, decoded and put
# together. Another process does that at the same time, or the accelerator waits. This
# is the part of training that goes wrong without any error: a loader that delivers
# every sample twice trains, one that never delivers the last hundred trains too, and a
# machine whose GPUs wait half of the time costs as much as a busy one.
#
# **At the end of this page** you have written shards and read broken ones, dealt them
# out to the workers of all ranks, shuffled a stream that does not fit into memory, made
# batches ahead of the step, predicted how busy an accelerator is and measured it, and
# stopped an epoch on 4 ranks to go on with it on 3, with no sample lost or repeated.
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
# A step takes 32 ms on the accelerator. Its 8 samples are on a distant disk; each takes
# 6 ms to arrive.
#
# 1. What share of the time does the accelerator work, if the program reads a batch,
#    computes, reads the next?
# 2. And if another process reads batches during the steps? If two do?
# 3. A stream of 4 samples is read by a loader with 2 workers. How many come out?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Sharded files: where samples lie
#
# Here are some small pictures in three forms: one file each, as a photograph comes from
# a camera; all files in one archive; and decoded, as one array on disk. `given.store`
# writes them.
#
# (What is called `given.` on this page you need not read: data sets, slow storage, a
# stopwatch, ranks as threads. It lies in `labkit/lessons/input_pipelines.py`, and
# `help(given)` shows it.)

# %% tags=["parameters"]
PICTURES, BATCHES = 1024, 30
WITH_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None

# %%
torch.set_num_threads(1)
keeper = tempfile.TemporaryDirectory()  # goes away with the notebook's kernel
folder = Path(keeper.name)
pictures = given.store(folder, PICTURES)

# %% [markdown]
# A data set for each of the three, `given.Files`, `given.Archive` and `given.Mapped`, and
# the pictures per second of a loader that nobody holds up, `given.rate`:

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
# Decoding is what costs time here, and the memory map is already decoded, at several
# times the bytes. The archive gains nothing over the files here: they were written a
# second ago and are still in the machine's memory. On a shared file system, opening a
# file is a request to a server that others use, too, and a million small files are a
# million requests. One archive is one, and it is read from front to back.
#
# But one archive can be read by one reader only. So a data set is cut into **shards**:
# archives of some hundred megabytes, many more than there are readers.
#
# ### Shards written (3 points)

# %% nbgrader={"grade": false, "grade_id": "write_shards", "locked": false, "schema_version": 3, "solution": true, "task": false}
def write_shards(samples: list[tuple[str, bytes]], n: int) -> list[bytes]:
    """Write samples into n tar archives of almost equal size.

    samples: list of (name, content), a str of any length and bytes
    n: int, number of shards
    Returns: list of n byte strings, tar archives that are not compressed

    - read back: each sample is a file of that name; the first shard holds the first
      samples, and so on.
    - sizes that do not come out even: shards differ by at most one sample.
    - what cannot be: raise ValueError if n < 1 or a shard would be empty.

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
# ### Shards that are broken (4 points) · stretch
#
# Among a million photographs one has a broken header, and a copy that was interrupted
# leaves a shard that ends in the middle. After a night of training is a bad time to
# find out. The reader should go on, and it should **say which**: the shard and the
# sample, so that somebody can look.
#
# `decode` raises whatever the library under it raises. A shard that is torn in a sample
# still has that sample's header (`tar.next()` gives it), but reading the sample raises
# `tarfile.ReadError`, and so does asking for the next. A shard that ends in a header or
# between two samples cannot name what is missing: nothing is reported. (These shards
# hold files and nothing else, and no key is longer than 100 characters.)

# %% nbgrader={"grade": false, "grade_id": "read_shard", "locked": false, "schema_version": 3, "solution": true, "task": false}
def read_shard(name: str, archive: bytes, decode) -> tuple[list, list]:
    """Read what can be read of one shard and name what cannot.

    name: str, the name of the shard
    archive: bytes of a tar archive, perhaps torn
    decode: function, decode(content) makes a sample of a file's bytes, or raises any
        exception
    Returns: (samples, broken), two lists in the order of the archive: pairs (key,
        decoded sample), and pairs (name of the shard, key)

    - whole shards: every file is a sample; its key is the file's name.
    - samples that cannot be decoded: they are in `broken`, and reading goes on.
    - torn shards: a sample is whole if all its own bytes are there, even if the padding
      that follows is torn; a torn one is in `broken`. If it is no archive, or torn
      in its first header, return [] and [(name, None)].

    Example: of files "a" and "b", "b" torn, in shard "s": ([("a", ...)], [("s", "b")]).
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
# One byte of a photograph is changed, one shard is cut off, and one is a page of HTML
# (the server's error message, saved under the shard's name):

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
# What comes after the end of a torn shard is lost for this epoch, but thanks to the
# message it can be copied again before the next.
#
# ## Sharded reading: who reads which file
#
# A rank has several **workers**, processes that read for it. `DataLoader` forks them,
# and each gets a copy of the data set. If that is a stream, each worker has a stream of
# its own:

# %%
class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


print([int(x) for batch in DataLoader(Stream(), num_workers=2) for x in batch])
print(f"your guess: {guess_3}")

# %% [markdown]
# Every sample twice, and no error: that is the answer to the third question. With 8
# ranks of 4 workers it would be 32 times, and an "epoch" 32 epochs.
#
# So each worker must know which files are its own. It asks `get_worker_info()` for its
# number, and the rank for its own.
#
# ### Files for every worker of every rank (4 points)
#
# There are three things to think of. All workers of all ranks must deal from the *same*
# order: a folder's listing has none (`os.listdir` gives "arbitrary order", says
# Python's documentation), so sort it first. Shuffle **before** you deal: otherwise a
# rank sees the same files in every epoch, and never those of the others. And deal
# evenly to ranks, then to the workers of each: a rank with more samples would still be
# training when the others have ended, and would wait for them in its all-reduce for
# ever.
#
# ![Eight files, A to H, in two epochs. In each the sorted files are shuffled with seed and epoch and dealt in turn to two ranks, and the files of a rank in turn to its two workers. Epoch 0 has the order B F E H D C A G: rank 0 gets B D and E A, rank 1 gets F C and H G. Epoch 1 has the order H G B F C E D A: rank 0 gets H C and B D, rank 1 gets G E and F A.](../../images/shards_dealt.svg)
#
# Each file goes to one worker of one rank. The next epoch deals them out in another
# order.

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

    files: list of str, all names, in any order, perhaps in another one on another rank
    rank: int, this rank
    world_size: int, number of ranks
    worker: int, this worker
    workers: int, number of workers of each rank
    seed: int
    epoch: int
    Returns: list of str, in the order in which they are read

    - each file once: one worker of one rank reads it. Ranks differ by at most one file,
      and so do the workers of a rank.
    - another order in each epoch: the order, also of one worker's files, depends on
      seed and epoch (their sum will do), and so do the files that are together on a
      rank.
    - listings in any order: the result is the same for any order of `files`. Every rank
      calls this for itself; nothing is communicated.

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
    """Pictures out of the shards of one rank's share: pairs (key, picture)."""

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
print(f"{len(held)} different pictures, the commonest came {max(held.values())} times")

# %% [markdown]
# ### A stream, shuffled (3 points) · stretch
#
# Samples of a shard come in the order in which they were written, often one class after
# the other. To shuffle all of them you would need all of them in memory. A **shuffle
# buffer** holds a few: it fills up, then for each sample that comes in, one of those
# inside, chosen at random, leaves.
#
# ![A stream A to G through a shuffle buffer of four places, row by row. The buffer fills up with A B C D. E comes and takes the place of C, which leaves; F takes the place of A, G that of E. When the stream has ended, the rest leaves in a random order: the output is C A E D F G B.](../../images/shuffle_buffer.svg)
#
# C came out two places early, and with this buffer no sample can be more than three
# early. B came out last: how late a sample may be has no limit.

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
    - as it comes: at most size + 1 elements are read ahead of those that have left.

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
# How well does it shuffle? A point for each of 1,000 elements shows where it went in
# and where it came out:

# %% tags=["raises-exception"] alt="Three clouds of points: the place in the stream to the right, the place in the output upwards. With a buffer of 10 they lie on the diagonal, with 100 in a band above it with a long tail to the left, with 1,000 all over the square."
outputs = {}
for size in (10, 100, 1000):
    drawn = shuffle_buffer(range(1000), size, np.random.default_rng(1))
    outputs[f"a buffer of {size:,}"] = list(drawn)
inputs.orders(outputs);

# %% [markdown]
# Nothing comes out much earlier than it went in; some elements stay for a long time. A
# buffer that is small compared with a class's run of samples shuffles nothing that
# matters. That is why the order of the *shards* is shuffled as well, and why samples
# are mixed once when shards are written.

# %% [markdown]
# ## Throughput: how fast can it be?
#
# Reading waits for a disk or a network and needs no core. Decoding needs one. The step
# needs the accelerator. If all three go on at once, on different samples, **the slowest
# stage decides**, and the others wait for it.
#
# ![Three stages as pipes, one behind the other, their heights the samples per second that each lets through: two workers, which read for 6 ms and decode for 4 ms, 200; four cores that two ranks share, 500 for each rank; the accelerator with 2.5 ms for a sample, 400. The stream through all three is as high as the narrowest: 200 samples per second.](../../images/slowest_stage.svg)
#
# More cores or a faster accelerator would change nothing here. A third worker would.
#
# ### The bound (4 points)
#
# Each worker reads a sample, then decodes it, then takes the next. The workers of all
# ranks of a machine share its cores.

# %% nbgrader={"grade": false, "grade_id": "samples_per_second", "locked": false, "schema_version": 3, "solution": true, "task": false}
def samples_per_second(
    read: float, decode: float, step: float, workers: int, cores: int, ranks: int
) -> float:
    """Return how many samples per second one rank can train with at best.

    read: float, seconds that a worker waits for a sample
    decode: float, seconds that one core then computes for it
    step: float, seconds of the accelerator for it; all three are positive
    workers: int, workers of each rank
    cores: int, cores of the machine
    ranks: int, ranks on the machine
    Returns: float

    - one rank: workers and accelerator are busy at the same time; queues are long
      enough.
    - ranks that share the cores: a rank has cores / ranks of them for decoding, with
      workers and without.
    - no workers: if workers is 0, the program itself reads, decodes and steps, one
      after the other.

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
# Predicted, then measured: a data set whose samples take 6 ms to arrive and nothing to
# decode, and an accelerator that is busy for 32 ms with a batch of 8 (here it only
# sleeps for that time). The clock starts with the second batch: starting the workers
# costs more than a batch.

# %%
READ, STEP, BATCH = 0.006, 0.032, 8
slow = given.Far(BATCHES * BATCH, READ)  # numbers, each of which takes READ seconds


def busy_share(batches):
    """The share of the time in which the accelerator works, after the first batch."""
    return given.busy_share(batches, STEP)

# %% tags=["raises-exception"]
print("workers  predicted  measured")
for workers in (0, 1, 2):
    bound = samples_per_second(READ, 1e-9, STEP / BATCH, workers, 2, 1)
    loader = DataLoader(slow, BATCH, num_workers=workers)
    print(f"{workers:7}  {bound * STEP / BATCH:9.0%}  {busy_share(loader):8.0%}")

# %% [markdown]
# Those are the answers to the first two questions. What is measured stays below what is
# predicted: that is what a bound means, and sleeping and handing over take time, the
# more so on a machine that has other work. The two workers of the last line could
# supply 133 %: a third worker would find nothing to do.
#
# ## Prefetching: ahead of the step
#
# These are the same numbers on a time axis:
#
# ![Batches that take 48 ms to make and steps of 32 ms on a time axis. With nothing made ahead, making and steps alternate, and the accelerator is busy for 40 % of the time. With one worker batches are made during the steps; the step waits for the rest of each: 67 %. With two workers, which make every second batch each, steps follow each other without a gap: 100 %.](../../images/prefetching.svg)
#
# You now write such a worker, without processes: a thread that makes batches and a queue
# with room for a few. That is enough wherever making a batch means waiting, or is done by
# a library that lets other threads run (as decoders and numpy do for their long loops).
#
# ### Prefetch (4 points)
#
# What is put into the queue must come out in order. And the thread must say two things
# besides batches: that there are no more, and that something went wrong. An error in a
# thread is printed and forgotten; the consumer would wait for ever.

# %% nbgrader={"grade": false, "grade_id": "prefetch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def prefetch(batches, depth: int):
    """Return the same batches, made ahead by a thread.

    batches: iterable; a batch can be anything, also None
    depth: int, at least 1, batches that may wait
    Returns: iterator over the batches in the same order

    - the batches: every batch once, in order.
    - made ahead: while the consumer has a batch, the thread makes the next ones, until
      `depth` are waiting (and perhaps one more is in its hand). It may begin with the
      first `next`.
    - errors: an exception of `batches` is raised to the consumer, after the batches
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
# ### A band for each rank (4 points) · stretch
#
# With several ranks there are two ways to wait: for one's own batch, and, in the
# all-reduce at the end of the step, for ranks that had to wait for theirs.
#
# ![Two ranks over three steps, with an all-reduce after each. Rank 0 steps at once and then waits for the others. Rank 3, which needs 50 ms to make a batch for a step of 40 ms, first waits for its data and steps later. Both are idle for the same time.](../../images/who_waits.svg)
#
# A monitor shows both as an idle accelerator, a fifth of the time on either rank. Only
# the first is cured by reading faster *here*.
#
# Work it out: each rank has one worker, which makes its batches one after the other.
# The first batch is begun at time 0. With `depth` = 0 a batch is begun when all ranks
# are through with the step before it. With `depth` > 0, batch k is begun as soon as
# batch k - 1 is made and batch k - depth (if there is one) has been *taken*, that is,
# its step has begun. A rank's step begins when its batch is made and all ranks are
# through with the previous step. A step takes `step` seconds, and then all ranks wait
# for the slowest one.

# %% nbgrader={"grade": false, "grade_id": "utilisation", "locked": false, "schema_version": 3, "solution": true, "task": false}
def utilisation(
    make: list[list[float]], step: float, depth: int
) -> list[tuple[float, float, float]]:
    """Return the seconds in which each rank is busy, waits for data and waits for
    others.

    make: list of lists, make[r][k] is the time in s to make batch k of rank r; all
        ranks have the same number of batches
    step: float, seconds of a step
    depth: int, batches that may be made ahead
    Returns: list of (busy, waits for data, waits for others), one for each rank, in s

    - one rank: by the rules above; the three add up to the time of the whole run.
    - ranks that wait for each other: that sum is the same on all ranks.
    - fetched ahead: if depth > 0, batch k waits until batch k - depth is taken.

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
# Four ranks (threads here: `given.run_ranks`), a step of 40 ms. Ranks 0 and 1 need 24 ms
# for a batch. So does rank 2, but every sixth batch takes it 140 ms: a shard ends, and
# the next must be opened. Rank 3 has a slow disk: 50 ms for every batch, more than a
# step.
#
# How far ahead is your `prefetch`? `depth` batches wait in the queue, and the thread
# holds one more: depth + 1, for the prediction.

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

# %% tags=["raises-exception"] alt="Bands of four ranks over time, three times: what was busy, waited for data, waited for others. With nothing made ahead everybody waits for data after every step; with one batch ahead ranks 0 and 1 wait for the others only; with three, rank 2's long batches no longer stop the others, and rank 3 waits for its data as before."
names = {0: "nothing made ahead", 1: "depth 1", 3: "depth 3"}
if measured:
    inputs.bands({names[depth]: lanes for depth, lanes in measured.items()})

# %% [markdown]
# Read the bands from the top. Without prefetching all ranks wait. With one batch ahead
# the healthy ranks wait only for the others: their own input is fine, and all of them
# run at the pace of rank 3, whose disk is the bottleneck in every step. Rank 2's long
# batches still stop all ranks now and then; with three ahead, that is mostly hidden.
# Depth helps against *bursts*. Against a rank that is too slow on average no depth
# helps: the bound of its stage is the bound of the whole run.
#
# ## Explain: a claim
#
# **"The GPUs will spend time waiting on the CPUs."** An IBM talk (B. Nelson,
# *Distributed Deep Learning*, CentOS Dojo, April 2019) warns: "If the pre-processing of
# the input data was tuned to use the total available CPU processing when training on a
# single GPU, and that training is distributed to 6 GPUs in the box, then the GPUs will
# spend time waiting". How long? Two "cores", each of which decodes one picture at a
# time in 7 ms, keep one accelerator busy, with little to spare:

# %% tags=["raises-exception"]
def gpus_in_a_box(gpus, cores, seconds, batches=16):
    """The share of time in which accelerators are busy that these cores decode for."""
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
# True, and not a little: four fifths of the time. When does the slide become true on a
# real machine? Compute it from the rate at which one core of *this* machine read and
# decoded our small pictures at the top of the page, for a box of 6 GPUs:

# %%
for cores in (2, 16, 64, 192):
    each = cores * rates["files"] / 6
    print(f"{cores:3} cores: a GPU waits if it takes more than {each:7,.0f} pictures/s")

# %% [markdown]
# (Photographs of the usual size take many times longer to decode than 64 x 64 pixels.)
#
# A busy GPU is no proof of progress: one that copies a model is busy, too (unit 10
# takes a published utilisation apart). An idle one proves waiting, but does not say for
# whom: compare ranks 0 and 3 above.
#
# ## Resuming with another number of ranks
#
# A job is stopped in the middle of an epoch, and when it comes back it gets 3 nodes in
# place of 4. Unit 06 started the epoch again. When an epoch takes days, nobody does
# that.
#
# What has to be written down? If the order of the samples follows from seed and epoch
# alone, and if every step takes the next samples of it, whatever the number of ranks,
# then **one number** says it all: how many samples all ranks together have taken.
#
# ![The 24 samples of an epoch in a row, in an order that follows from seed and epoch; each cell names the rank that takes the sample. Batch 0 has 8 samples and is dealt in turn to 4 ranks. There the job stops, with a state that says: taken = 8. It goes on with 3 ranks: batches 1 and 2 have 6 samples each, two for each rank, and batch 3 the last 4.](../../images/other_ranks.svg)
#
# ### The next batch, on any number of ranks (5 points)

# %% nbgrader={"grade": false, "grade_id": "next_batch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def next_batch(
    state: dict, n: int, batch_size: int, rank: int, world_size: int
) -> tuple[list[int], dict]:
    """Return this rank's share of the next batch, and the state after it.

    state: dict, "seed", "epoch" and "taken", the samples of this epoch that all ranks
        together have had; a run starts with epoch and taken 0
    n: int, samples of an epoch
    batch_size: int, samples of all ranks together
    rank: int, this rank
    world_size: int, number of ranks
    Returns: (list of ints from 0 to n - 1, new state)

    - an epoch: every sample once. Shares differ by at most one sample and can be empty;
      which rank gets which is up to you.
    - the end of an epoch: its last batch is what is left; after it the state is at the
      beginning of the next epoch.
    - epochs and seeds: the order depends on both.
    - another number of ranks: the next call may have another world_size or batch_size.
    - the new state: the same on all ranks, of values that JSON can hold; the given one
      is not changed.

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
# A hundred stops at random places, each time with another number of ranks and another
# size of batch, by `given.train_with_stops`:

# %% tags=["raises-exception"]
seen, state = given.train_with_stops(next_batch, 100, 1000, np.random.default_rng(3))
full = [held for epoch, held in seen.items() if epoch < state["epoch"]]
twice = sum(k > 1 for held in seen.values() for k in held.values())
lost = sum(1000 - len(held) for held in full)
print(f"{len(full)} whole epochs: {lost} samples lost, {twice} twice; now {state}")

# %% [markdown]
# `DataLoader` has no state. `torchdata`'s **StatefulDataLoader** has one: it remembers
# how many batches it has delivered, and its sampler how many indices. Its documentation
# says that it handles state "across multiprocess workers (but not across ranks)". Here
# each of 4 ranks saves its own after two batches of two, of 24 samples:

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
# On the same number of ranks it is exact, and it saves much that ours does not: what
# its workers have in their queues, and the state of any sampler or data set with a
# `state_dict`. On another number it does what its documentation says, without an error.
# Your `next_batch`, as the sampler of such a loader, has what is missing: a state that
# is the same on all ranks.
#
# ## Three libraries side by side · stretch
#
# | | `DataLoader` | `tf.data` | `StatefulDataLoader` |
# |---|---|---|---|
# | samples made at once | `num_workers`, processes | `map(..., num_parallel_calls)`, threads | as DataLoader |
# | batches ahead | `prefetch_factor` for each worker | `prefetch` | as DataLoader |
# | shares of ranks | a sampler; for a stream `get_worker_info` and you | `shard(ranks, rank)` | as DataLoader |
# | shuffle | a sampler, all indices | `shuffle(buffer)` | as DataLoader |
# | state in an epoch | none | `tf.train.Checkpoint` of the iterator | `state_dict` of each rank |
#
# With tf.data, each thing that you wrote is a method, and calling them in the right
# order is up to you:

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
# These are nearly the numbers of DataLoader again: nothing ahead; a batch made during
# the step; samples made side by side. Unless it is told not to, tf.data rearranges what
# was written and reads ahead by itself: the second line has no `prefetch` and is as
# fast as the third.
#
# The second list is the mistake from the first half of the page: every rank shuffled in
# an order of its own *before* it took its share, so some samples come twice and others
# never.
#
# ## Break: the same "random" crops in every worker
#
# Augmentation draws random numbers in the workers. Which? PyTorch seeds `torch`,
# `random` and `np.random` of every worker of *one rank* differently: by a base seed,
# drawn from the rank's own generator, plus the worker's number. After
# `torch.manual_seed(0)` on every rank, worker 0 of all ranks draws the same (unit 04,
# Deeper). And a generator of *your own*, made before the workers, is copied into each
# of them in its current state:

# %%
own = np.random.default_rng(0)


class Crops(Dataset):
    """A sample is where it was cropped, by two different generators."""

    def __len__(self):
        return 4

    def __getitem__(self, k):
        return torch.tensor([own.integers(1000), torch.randint(1000, ()).item()])


for epoch in range(2):
    drawn = torch.cat(list(DataLoader(Crops(), num_workers=2)))
    print(f"epoch {epoch}: own {drawn[:, 0].tolist()}, torch {drawn[:, 1].tolist()}")

# %% [markdown]
# The two workers draw the same, and in the next epoch, in new workers, the same again.
# Nothing fails, and the training has half the variety it seems to have, or an eighth.
# Make the generator *in* the worker, from what differs:

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
# - The slowest stage is the rate of the pipeline. Work it out before you buy GPUs:
#   workers / (read + decode), cores / decode, 1 / step.
# - Prefetching hides a stage behind another, and depth hides bursts. Neither makes the
#   slowest stage faster.
# - One rank that waits for data makes all others wait in the all-reduce.
# - Sort, shuffle with seed and epoch, then deal: to ranks, then to workers.
# - A state is worth keeping if it is the same on all ranks and counts *samples*.
# - Broken samples are named, by shard and key, and skipped.
#
# **To think about.** `next_batch` needs samples that can be asked for by number. With
# shards one reads in order, through a shuffle buffer. What would its state have to hold
# so that nothing is lost or twice, and what would you give up to keep it small?

# %% [markdown]
# ## Bonus: rows without padding
#
# Texts have different lengths, and a batch is a rectangle. Filling up each row wastes
# the rest of it; **packing** puts several texts into one row. (What attention must do
# so that they do not see each other is another story.) To find the fewest rows is hard;
# to be close is easy: the longest text first, each into the first row that has room.
#
# ### Packed (3 points)

# %% nbgrader={"grade": false, "grade_id": "pack", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pack(lengths: list[int], capacity: int) -> list[list[int]]:
    """Pack sequences into few rows.

    lengths: list of ints, tokens of each sequence; may be 0
    capacity: int, most tokens of a row
    Returns: list of rows, each a list of indices into lengths

    - every sequence once: whole, in one row; a row has at most `capacity` tokens.
    - few rows: not more than "longest first, each into the first row with room" makes.
    - what cannot be: raise ValueError if a sequence is longer than a row.
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
