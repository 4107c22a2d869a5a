# Right and wrong answers to `shards_of`. In files of their own: autograder bank --write DIR
import numpy as np
import random

# %% right_hash_of_numbers: passed
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(hash((seed, epoch))).shuffle(order)
    return order[rank::world_size][worker::workers]

# %% right_numbered: passed
import torch


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
    order = torch.randperm(len(files), generator=generator).tolist()
    names = sorted(files)
    consumer, consumers = worker * world_size + rank, world_size * workers
    return [names[order[k]] for k in range(consumer, len(files), consumers)]

# %% right_runs: passed
# differs: Runs of the shuffled list in place of strides: as fair, since the list was shuffled before.
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = np.random.default_rng([seed, epoch]).permutation(sorted(files))
    mine = np.array_split(order, world_size)[rank]
    return np.array_split(mine, workers)[worker].tolist()

# %% right_strides: passed
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(f"{seed} {epoch}").shuffle(order)
    return order[rank::world_size][worker::workers]

# %% wrong_blocks_rounded_up: wrong, uneven_ranks, levels 0 1 1
import math


def shards_of(
    files: list[str],
    rank: int,
    world_size: int,
    worker: int,
    workers: int,
    seed: int,
    epoch: int,
) -> list[str]:
    order = sorted(files)
    random.Random(seed + epoch).shuffle(order)
    size = math.ceil(len(order) / world_size)
    mine = order[rank * size : (rank + 1) * size]
    size = math.ceil(len(mine) / workers)
    return mine[worker * size : (worker + 1) * size]

# %% wrong_capitals_are_equal: wrong, orders_differ, levels 1 1 0
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files, key=str.lower)
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order[rank::world_size][worker::workers]

# %% wrong_floor (right_strides): wrong, drops_files, levels 0 1 1
-    return order[rank::world_size][worker::workers]
+    each = len(order) // (world_size * workers)
+    first = (rank * workers + worker) * each
+    return order[first : first + each]

# %% wrong_groups_take_turns: wrong, same_groups, levels 1 0 1
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    mine = sorted(files)[(rank + epoch) % world_size :: world_size]
    mine = [mine[k] for k in np.random.default_rng([seed, epoch]).permutation(len(mine))]
    return mine[worker::workers]

# %% wrong_hash_of_text (right_hash_of_numbers): wrong, orders_differ, levels 0 0 0
-    random.Random(hash((seed, epoch))).shuffle(order)
+    random.Random(hash(f"{seed} {epoch}")).shuffle(order)

# %% wrong_last_worker (right_strides): wrong, uneven_workers, levels 0 1 1
-    return order[rank::world_size][worker::workers]
+    mine = order[rank::world_size]
+    each = len(mine) // workers
+    return mine[worker * each : (worker + 1) * each if worker < workers - 1 else None]

# %% wrong_listing (right_strides): wrong, orders_differ, levels 1 1 0
-    order = sorted(files)
+    order = list(files)

# %% wrong_natural_sort: wrong, orders_differ, levels 1 1 0
import re


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files, key=natural)
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return order[rank::world_size][worker::workers]

# %% wrong_no_epoch (right_hash_of_numbers): wrong, same_every_epoch, levels 1 0 1
-    random.Random(hash((seed, epoch))).shuffle(order)
+    random.Random(seed).shuffle(order)

# %% wrong_no_seed (right_hash_of_numbers): wrong, ignores_the_seed, levels 1 0 1
-    random.Random(hash((seed, epoch))).shuffle(order)
+    random.Random(epoch).shuffle(order)

# %% wrong_numbers (right_strides): wrong, not_files, levels 0 0 0
-    order = sorted(files)
+    order = list(range(len(files)))

# %% wrong_order_of_a_set (right_strides): wrong, orders_differ, levels 0 0 0
-    order = sorted(files)
+    order = list(set(files))

# %% wrong_padded (right_strides): wrong, reads_twice, levels 0 1 1
     random.Random(f"{seed} {epoch}").shuffle(order)
+    while len(order) % (world_size * workers):
+        order.append(order[len(order) % len(files)])

# %% wrong_product (right_hash_of_numbers): wrong, product_in_the_seed, levels 1 0 1
-    random.Random(hash((seed, epoch))).shuffle(order)
+    random.Random(seed * (epoch + 1)).shuffle(order)

# %% wrong_rank_in_the_seed (right_hash_of_numbers): wrong, orders_differ, levels 0 0 0
-    random.Random(hash((seed, epoch))).shuffle(order)
+    random.Random(f"{seed} {epoch} {rank}").shuffle(order)

# %% wrong_ranks_all (right_strides): wrong, every_rank_reads_all, levels 0 0 0
-    return order[rank::world_size][worker::workers]
+    return order[worker::workers]

# %% wrong_ranks_by_epoch_alone: wrong, groups_ignore_the_seed, levels 1 0 1
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(epoch).shuffle(order)
    share = order[rank::world_size]
    random.Random(seed * 1000 + epoch).shuffle(share)
    return share[worker::workers]

# %% wrong_shard_first: wrong, shards_then_shuffles, levels 1 0 1
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    mine = sorted(files)[rank::world_size][worker::workers]
    random.Random(f"{seed} {epoch}").shuffle(mine)
    return mine

# %% wrong_share_by_name: wrong, share_sorted, levels 1 0 1
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    names = sorted(files)
    order = np.random.default_rng([seed, epoch]).permutation(len(names))
    return sorted([names[k] for k in order[rank::world_size]][worker::workers])

# %% wrong_shift_by_remainder (right_hash_of_numbers): raised, ZeroDivisionError, levels 0 1 1
-    random.Random(hash((seed, epoch))).shuffle(order)
+    random.Random(seed + epoch).shuffle(order)
+    shift = (seed + epoch) % len(order)
+    order = order[shift:] + order[:shift]

# %% wrong_sorted_by_basename (right_strides): wrong, orders_differ, levels 1 1 0
-    order = sorted(files)
+    order = sorted(files, key=lambda name: name.rsplit("/")[-1])

# %% wrong_sorted_by_hash: wrong, orders_differ, levels 0 0 0
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files, key=lambda name: hash((name, seed, epoch)))
    return order[rank::world_size][worker::workers]

# %% wrong_unseeded (right_hash_of_numbers): wrong, orders_differ, levels 0 0 0
-    random.Random(hash((seed, epoch))).shuffle(order)
+    random.shuffle(order)

# %% wrong_worker_first (right_strides): wrong, uneven_ranks, levels 0 1 1
-    return order[rank::world_size][worker::workers]
+    return order[rank * workers + worker :: world_size * workers]

# %% wrong_workers_all (right_strides): wrong, every_worker_reads_all, levels 0 0 0
-    return order[rank::world_size][worker::workers]
+    return order[rank::world_size]
