# Right and wrong answers to `epoch_batches`. In files of their own: autograder bank --write DIR
import horovod.tensorflow as hvd
import math
import tensorflow as tf

# %% right_all_shuffle_alike: passed
# differs: Everybody shuffles the whole list with one seed, and then shards it: each epoch a rank sees other images.
def epoch_batches(dataset, n, local_batch_size, seed):
    steps = -(-n // (local_batch_size * hvd.size()))
    mine = dataset.shuffle(n, seed=seed).shard(hvd.size(), hvd.rank())
    return mine.repeat().batch(local_batch_size), steps

# %% right_blocks: passed
import numpy as np


def epoch_batches(dataset, n, local_batch_size, seed):
    first, last = np.linspace(0, n, hvd.size() + 1).astype(int)[hvd.rank() : hvd.rank() + 2]
    mine = dataset.skip(first).take(last - first).shuffle(last - first, seed=seed).repeat()
    return mine.batch(local_batch_size), (n + local_batch_size * hvd.size() - 1) // (local_batch_size * hvd.size())

# %% right_enumerate_filter: passed
def epoch_batches(dataset, n, local_batch_size, seed):
    b = local_batch_size
    p, r = hvd.size(), hvd.rank()
    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1

# %% right_seed_of_each_rank: passed
def epoch_batches(dataset, n, local_batch_size, seed):
    steps = math.ceil(n / (local_batch_size * hvd.size()))
    share = len(range(hvd.rank(), n, hvd.size()))
    mine = dataset.shard(num_shards=hvd.size(), index=hvd.rank()).cache()
    mine = mine.shuffle(share, seed=seed + hvd.rank()).repeat()
    return mine.batch(local_batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE), tf.constant(steps)

# %% right_shard_shuffle_repeat_batch: passed
def epoch_batches(dataset, n, local_batch_size, seed):
    steps = -(-n // (local_batch_size * hvd.size()))
    mine = dataset.shard(hvd.size(), hvd.rank())
    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps

# %% wrong_another_shuffle (right_all_shuffle_alike): wrong, overlap, levels 0 0
-    mine = dataset.shuffle(n, seed=seed).shard(hvd.size(), hvd.rank())
+    mine = dataset.shuffle(n, seed=seed + hvd.rank()).shard(hvd.size(), hvd.rank())

# %% wrong_batch_then_repeat (right_shard_shuffle_repeat_batch): wrong, short_minibatches, levels 1 0
-    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
+    return mine.shuffle(n, seed=seed).batch(local_batch_size).repeat(), steps

# %% wrong_blocks_rest_last (right_enumerate_filter): wrong, unequal_shares, levels 1 0
-    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
-    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1
+    k = n // p
+    mine = dataset.skip(r * k)
+    mine = mine.take(k) if r < p - 1 else mine
+    return mine.shuffle(n, seed=seed).repeat().batch(b), -(-n // (b * p))

# %% wrong_buffer_256 (right_shard_shuffle_repeat_batch): wrong, small_buffer, levels 0 1
-    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
+    return mine.shuffle(256, seed=seed).repeat().batch(local_batch_size), steps

# %% wrong_buffer_of_16: wrong, small_buffer, levels 0 0
def epoch_batches(dataset, n, local_batch_size, seed):
    p, r = hvd.size(), hvd.rank()
    return dataset.shard(p, r).shuffle(16, seed=seed).repeat().batch(local_batch_size), -(-n // (p * local_batch_size))

# %% wrong_by_local_rank (right_shard_shuffle_repeat_batch): wrong, by_local_rank, levels 0 0
-    mine = dataset.shard(hvd.size(), hvd.rank())
+    mine = dataset.shard(hvd.size(), hvd.local_rank())

# %% wrong_common_order_small_buffer: wrong, small_buffer, levels 0 0
def epoch_batches(dataset, n, local_batch_size, seed):
    p, r = hvd.size(), hvd.rank()
    mine = dataset.shuffle(max(2, n // 2), seed=seed).shard(p, r)
    return mine.repeat().batch(local_batch_size), -(-n // (p * local_batch_size))

# %% wrong_drops_the_rest (right_shard_shuffle_repeat_batch): wrong, images_left_out, levels 1 0
-    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
+    return mine.shuffle(n, seed=seed).batch(local_batch_size, drop_remainder=True).repeat(), steps

# %% wrong_fixed_seed (right_enumerate_filter): wrong, seed_ignored, levels 0 0
-    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
-    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1
+    return dataset.shard(p, r).shuffle(n, seed=0).repeat().batch(b), -(-n // (b * p))

# %% wrong_global_batch (right_shard_shuffle_repeat_batch): wrong, minibatch_of_all, levels 0 0
-    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
+    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size * hvd.size()), steps

# %% wrong_half_a_buffer: wrong, small_buffer, levels 0 0
def epoch_batches(dataset, n, local_batch_size, seed):
    p, r = hvd.size(), hvd.rank()
    share = -(-n // p)
    mine = dataset.shard(p, r).shuffle(max(2, share // 2), seed=seed)
    return mine.repeat().batch(local_batch_size), -(-share // local_batch_size)

# %% wrong_no_seed (right_enumerate_filter): wrong, seed_ignored, levels 0 0
-    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
-    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1
+    return dataset.shard(p, r).shuffle(n).repeat().batch(b), -(-n // (b * p))

# %% wrong_not_sharded (right_shard_shuffle_repeat_batch): wrong, not_sharded, levels 0 0
-    mine = dataset.shard(hvd.size(), hvd.rank())
+    mine = dataset

# %% wrong_not_shuffled (right_all_shuffle_alike): wrong, not_shuffled, levels 0 0
-    mine = dataset.shuffle(n, seed=seed).shard(hvd.size(), hvd.rank())
+    mine = dataset.shard(hvd.size(), hvd.rank())

# %% wrong_plus_0_9 (right_shard_shuffle_repeat_batch): wrong, rounded_down, levels 1 0
-    steps = -(-n // (local_batch_size * hvd.size()))
+    steps = int(n / (local_batch_size * hvd.size()) + 0.9)

# %% wrong_repeat_only_two (right_enumerate_filter): wrong, stream_ends, levels 0 0
-    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
-    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1
+    return dataset.shard(p, r).shuffle(n, seed=seed).repeat(3).batch(b), -(-n // (b * p))

# %% wrong_repeat_then_shuffle (right_enumerate_filter): wrong, passes_mixed, levels 0 0
-    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
-    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1
+    return dataset.shard(p, r).repeat().shuffle(n, seed=seed).batch(b), -(-n // (b * p))

# %% wrong_room_for_all_but_one (right_seed_of_each_rank): wrong, small_buffer, levels 1 0
-    share = len(range(hvd.rank(), n, hvd.size()))
+    share = n // hvd.size()

# %% wrong_rounded_down (right_shard_shuffle_repeat_batch): wrong, rounded_down, levels 1 0
-    steps = -(-n // (local_batch_size * hvd.size()))
+    steps = n // (local_batch_size * hvd.size())

# %% wrong_rounds_half_even (right_shard_shuffle_repeat_batch): wrong, unrecognised, levels 1 0
-    steps = -(-n // (local_batch_size * hvd.size()))
+    steps = round(n / (local_batch_size * hvd.size()) + 0.5)

# %% wrong_same_order_each_pass (right_enumerate_filter): wrong, one_order, levels 0 0
-    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
-    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1
+    return dataset.shard(p, r).shuffle(n, seed=seed, reshuffle_each_iteration=False).repeat().batch(b), -(-n // (b * p))

# %% wrong_seed_or_none (right_shard_shuffle_repeat_batch): wrong, seed_ignored, levels 0 1
-    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
+    return mine.shuffle(n, seed=seed or None).repeat().batch(local_batch_size), steps

# %% wrong_steps_of_its_share (right_shard_shuffle_repeat_batch): wrong, unequal_steps, levels 1 0
-    steps = -(-n // (local_batch_size * hvd.size()))
+    steps = -(-len(range(hvd.rank(), n, hvd.size())) // local_batch_size)

# %% wrong_steps_of_one_process (right_shard_shuffle_repeat_batch): wrong, steps_of_one_process, levels 0 0
-    steps = -(-n // (local_batch_size * hvd.size()))
+    steps = -(-n // local_batch_size)

# %% wrong_stream_ends (right_shard_shuffle_repeat_batch): wrong, stream_ends, levels 0 0
-    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
+    return mine.shuffle(n, seed=seed).batch(local_batch_size), steps

# %% wrong_tiny_buffer (right_enumerate_filter): wrong, small_buffer, levels 0 0
-    mine = dataset.enumerate().filter(lambda i, x: i % p == p - 1 - r).map(lambda i, x: x).cache()
-    return mine.shuffle(n, seed=seed * 7 + r).repeat(-1).batch(b), (n - 1) // (b * p) + 1
+    return dataset.shard(p, r).shuffle(2, seed=seed).repeat().batch(b), -(-n // (b * p))
