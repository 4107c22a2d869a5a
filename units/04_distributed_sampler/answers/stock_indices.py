# Right and wrong answers to `stock_indices`. In files of their own: autograder bank --write DIR
import math
import numpy as np
import torch
from torch.utils.data import DistributedSampler

# %% right_global_seeded_in_a_fork: passed
import itertools


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = range(n)
    if shuffle:
        with torch.random.fork_rng():
            torch.manual_seed(seed + epoch)
            order = torch.randperm(n).tolist()
    total = n - n % world_size if drop_last else n + -n % world_size
    return list(itertools.islice(itertools.cycle(order), rank, total, world_size))

# %% right_modulo: passed
# differs: It pads nothing: the place in the order is taken modulo n, so that whoever runs over the end begins again.
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    torch.manual_seed(seed + epoch)
    order = torch.randperm(n) if shuffle else torch.arange(n)
    rounds = n // world_size if drop_last else math.ceil(n / world_size)
    return [int(order[(rank + k * world_size) % n]) for k in range(rounds)]

# %% right_modulo_positions: passed
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    g = torch.Generator()
    g.manual_seed(seed + epoch)
    order = torch.randperm(n, generator=g) if shuffle else torch.arange(n)
    each = n // world_size if drop_last else -(-n // world_size)
    return order[(torch.arange(each) * world_size + rank) % n]

# %% right_numpy: passed
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    total = n - n % world_size if drop_last else n + -n % world_size
    return np.resize(order, total)[rank::world_size]

# %% right_tensor: passed
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    g = torch.Generator()
    g.manual_seed(seed + epoch)
    order = torch.randperm(n, generator=g) if shuffle else torch.arange(n)
    rest = n % world_size
    if rest and drop_last:
        order = order[:-rest]
    elif rest:
        missing = world_size - rest
        order = torch.cat([order, order.repeat(missing // n + 1)[:missing]])
    return order.view(-1, world_size)[:, rank]

# %% right_torch: passed
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    if shuffle:
        g = torch.Generator()
        g.manual_seed(seed + epoch)
        order = torch.randperm(n, generator=g).tolist()
    else:
        order = list(range(n))
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        total = (n + world_size - 1) // world_size * world_size
        while len(order) < total:
            order += order[: total - len(order)]
    return order[rank::world_size]

# %% wrong_alone_unshuffled: wrong, not_shuffled, levels 1 1 0 1
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    if world_size == 1:
        return list(range(n))
    g = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(n, generator=g).tolist() if shuffle else list(range(n))
    length = n // world_size if drop_last else -(-n // world_size)
    return [order[(rank + k * world_size) % n] for k in range(length)]

# %% wrong_always_drops: wrong, always_drops, levels 0 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))
    return order[: n // world_size * world_size][rank::world_size]

# %% wrong_always_shuffles: wrong, always_shuffles, levels 0 0 1 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_asks_the_process_group: raised, ValueError, levels 0 0 0 0
import torch.distributed as dist


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))
    return order[dist.get_rank() :: dist.get_world_size()]

# %% wrong_blocks (right_numpy): wrong, blocks, levels 0 0 0 1
-    total = n - n % world_size if drop_last else n + -n % world_size
-    return np.resize(order, total)[rank::world_size]
+    size = n // world_size if drop_last else math.ceil(n / world_size)
+    return np.resize(order, size * world_size)[rank * size : (rank + 1) * size]

# %% wrong_cache_padded: wrong, padded_too_much, levels 0 1 0 0
# "The order is range(n) or ..., then pad": the cached list itself is padded, so a call after one with another
# world_size starts from an order that is too long
from functools import lru_cache


@lru_cache(maxsize=None)
def order_of(n, shuffle, seed):
    if not shuffle:
        return list(range(n))
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = order_of(n, shuffle, seed + epoch)
    if drop_last:
        return order[: len(order) // world_size * world_size][rank::world_size]
    k = 0
    while len(order) % world_size:
        order.append(order[k])
        k += 1
    return order[rank::world_size]

# %% wrong_cached_order: wrong, keeps_something, levels 1 1 0 0
ORDERS = {}


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    if (n, shuffle) not in ORDERS:
        g = torch.Generator()
        g.manual_seed(seed + epoch)
        ORDERS[n, shuffle] = torch.randperm(n, generator=g) if shuffle else torch.arange(n)
    each = n // world_size if drop_last else -(-n // world_size)
    return ORDERS[n, shuffle][(torch.arange(each) * world_size + rank) % n]

# %% wrong_drop_last_leaves_uneven (right_numpy): wrong, ignores_drop_last, levels 1 0 0 0
-    total = n - n % world_size if drop_last else n + -n % world_size
-    return np.resize(order, total)[rank::world_size]
+    if not drop_last:
+        order = np.resize(order, n + -n % world_size)
+    return order[rank::world_size]

# %% wrong_drops_a_round (right_numpy): wrong, drops_a_round_too_many, levels 1 0 0 1
-    total = n - n % world_size if drop_last else n + -n % world_size
-    return np.resize(order, total)[rank::world_size]
+    if drop_last:
+        order = order[: max(0, (n - world_size) // world_size * world_size)]
+    else:
+        order = np.resize(order, n + -n % world_size)
+    return order[rank::world_size]

# %% wrong_drops_all_where_n_is_world_size (right_torch): wrong, drops_a_round_too_many, levels 1 0 1 1
-def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
+def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
@@
-        order = order[: n // world_size * world_size]
+        if n <= world_size:
+            return []
+        order = order[: n - n % world_size]
@@
-        total = (n + world_size - 1) // world_size * world_size
-        while len(order) < total:
-            order += order[: total - len(order)]
+        while len(order) % world_size:
+            order += order[: world_size - len(order) % world_size]

# %% wrong_few_samples_apart: wrong, ignores_drop_last, levels 1 1 1 0
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if n < world_size and (shuffle or not drop_last):
        return [order[rank % n]]  # few samples: everybody takes one, over and over
    if drop_last:
        order = order[: n - n % world_size]
    else:
        order = order + order[: -n % world_size]
    return order[rank::world_size]

# %% wrong_float_ids: wrong, not_integers, levels 0 0 0 0
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = torch.arange(n).float()
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).float()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order = order.repeat(world_size)[: -(-n // world_size) * world_size]
    return order[rank::world_size]

# %% wrong_forgets_the_epoch: wrong, ignores_epoch, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).numpy()
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_forgets_the_seed: wrong, ignores_seed, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).numpy()
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_generator_of_the_rank: wrong, orders_differ, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch + rank)).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order = (order * world_size)[: -(-n // world_size) * world_size]
    return order[rank::world_size]

# %% wrong_ids_of_a_byte: wrong, sample_left_out, levels 0 1 1 1
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    order = order.astype(np.uint8)
    total = n - n % world_size if drop_last else n + -n % world_size
    return np.resize(order, total)[rank::world_size].tolist()

# %% wrong_ignores_drop_last (right_numpy): wrong, ignores_drop_last, levels 1 0 0 0
-    total = n - n % world_size if drop_last else n + -n % world_size
-    return np.resize(order, total)[rank::world_size]
+    return np.resize(order, n + -n % world_size)[rank::world_size]

# %% wrong_ignores_rank (right_numpy): wrong, ignores_rank, levels 0 0 0 0
-    total = n - n % world_size if drop_last else n + -n % world_size
-    return np.resize(order, total)[rank::world_size]
+    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[::world_size]

# %% wrong_never_shuffles: wrong, not_shuffled, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    return np.resize(np.arange(n), n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_no_padding: wrong, no_padding, levels 0 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        order = order[: n - n % world_size]
    return order[rank::world_size]

# %% wrong_no_seed: wrong, orders_differ, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.random.permutation(n) if shuffle else np.arange(n)
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_no_seed_at_epoch_0: wrong, other_seed_at_zero, levels 1 1 0 1
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        g = torch.Generator().manual_seed(seed + epoch if epoch else seed + 1)
        order = torch.randperm(n, generator=g).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        while len(order) % world_size:
            order = order + order[: world_size - len(order) % world_size]
    return order[rank::world_size]

# %% wrong_not_written: missing, not_written, levels 0 0 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    raise NotImplementedError

# %% wrong_numpy_order: wrong, other_shuffle, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.random.default_rng(seed + epoch).permutation(n) if shuffle else np.arange(n)
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_pads_before_shuffling: wrong, pads_before_shuffling, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.resize(np.arange(n), n - n % world_size if drop_last else n + -n % world_size)
    if shuffle:
        order = order[torch.randperm(len(order), generator=torch.Generator().manual_seed(seed + epoch)).numpy()]
    return order[rank::world_size]

# %% wrong_pads_by_recursion: raised, RecursionError, levels 1 1 1 0
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        order = order[: n - n % world_size]

    def padded(ids):
        return ids if len(ids) % world_size == 0 else padded(ids + [ids[len(ids) % n]])

    return padded(order)[rank::world_size]

# %% wrong_pads_once: wrong, padded_once, levels 1 1 1 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        order = order[: n - n % world_size]
    else:
        order = order + order[: -n % world_size]
    return order[rank::world_size]

# %% wrong_pads_too_much: wrong, padded_too_much, levels 0 1 0 1
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))
    if drop_last:
        order = order[: n - n % world_size]
    else:
        missing = world_size - n % world_size
        order = torch.cat([order, order.repeat(missing)[:missing]])
    return order[rank::world_size].tolist()

# %% wrong_pads_twice_at_most: wrong, no_padding, levels 1 1 1 0
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    g = torch.Generator()
    g.manual_seed(seed + epoch)
    order = torch.randperm(n, generator=g).tolist() if shuffle else list(range(n))
    if drop_last:
        return order[: n - n % world_size][rank::world_size]
    total = n + -n % world_size
    order += order[: total - len(order)]
    order += order[: total - len(order)]
    return order[rank::world_size]

# %% wrong_pads_with_its_own_first: wrong, other_padding, levels 0 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        return order[: n - n % world_size][rank::world_size]
    own = order[rank::world_size]
    if len(own) < math.ceil(n / world_size):
        own.append(own[0] if own else order[0])
    return own

# %% wrong_pads_with_the_last: wrong, other_padding, levels 0 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        order = order[: n - n % world_size]
    while len(order) % world_size:
        order.append(order[-1])
    return order[rank::world_size]

# %% wrong_pads_with_zeros: wrong, other_padding, levels 0 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        order = order[: n - n % world_size]
    order += [0] * (-len(order) % world_size)
    return order[rank::world_size]

# %% wrong_seed_glued: wrong, other_shuffle, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(int(f"{seed}{epoch}"))).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order = (order * world_size)[: -(-n // world_size) * world_size]
    return order[rank::world_size]

# %% wrong_seed_modulo: wrong, other_shuffle, levels 1 1 0 1
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        g = torch.Generator()
        g.manual_seed((seed + epoch) % (2**31 - 1))
        order = torch.randperm(n, generator=g).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order = (order * world_size)[: -(-n // world_size) * world_size]
    return order[rank::world_size]

# %% wrong_seed_of_the_rank: wrong, orders_differ, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch + rank)).numpy()
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_seed_or: wrong, other_seed_at_zero, levels 1 1 0 1
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        g = torch.Generator()
        if seed:
            g.manual_seed(seed + epoch)
        order = torch.randperm(n, generator=g).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order = (order * world_size)[: -(-n // world_size) * world_size]
    return order[rank::world_size]

# %% wrong_seed_times_epoch: wrong, other_shuffle, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed * epoch)).numpy()
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]

# %% wrong_shuffles_its_share: wrong, shuffles_its_share, levels 1 1 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    own = np.resize(np.arange(n), n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]
    if shuffle:
        own = own[torch.randperm(len(own), generator=torch.Generator().manual_seed(seed + epoch)).numpy()]
    return own

# %% wrong_sorts_its_share (right_numpy): wrong, own_order, levels 0 1 0 1
-    total = n - n % world_size if drop_last else n + -n % world_size
-    return np.resize(order, total)[rank::world_size]
+    return np.sort(np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size])

# %% wrong_subclass: wrong, uses_library, levels 0 0 0 0
class Mine(DistributedSampler):
    pass


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    s = Mine(range(n), world_size, rank, shuffle, seed, drop_last)
    s.set_epoch(epoch)
    return list(iter(s))

# %% wrong_two_bytes: wrong, out_of_range, levels 0 1 1 1
def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    order = order.astype(np.int16)
    total = n - n % world_size if drop_last else n + -n % world_size
    return np.resize(order, total)[rank::world_size].tolist()

# %% wrong_uses_the_sampler: wrong, uses_library, levels 0 0 0 0
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    sampler = DistributedSampler(range(n), world_size, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
    sampler.set_epoch(epoch)
    return list(sampler)
