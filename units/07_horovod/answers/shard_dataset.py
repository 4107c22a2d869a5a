# Right and wrong answers to `shard_dataset`. In files of their own: autograder bank --write DIR
import horovod.tensorflow as hvd
import tensorflow as tf

# %% right_batch_then_shard: passed
# differs: Whole batches are dealt out in place of samples: each rank then has runs of neighbours.
def shard_dataset(dataset, n, local_batch_size):
    batches = dataset.batch(local_batch_size, drop_remainder=True)
    steps = n // local_batch_size // hvd.size()
    return batches.take(steps * hvd.size()).shard(hvd.size(), hvd.rank()), steps

# %% right_blocks: passed
def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    mine = steps * local_batch_size
    return [dataset.skip(hvd.rank() * mine).take(mine).batch(local_batch_size), steps]

# %% right_filtered: passed
def shard_dataset(dataset, n, local_batch_size):
    p, r = hvd.size(), hvd.rank()
    steps = n // (p * local_batch_size)
    mine = dataset.enumerate().filter(lambda i, _: i % p == r).map(lambda _, item: item)
    return mine.batch(local_batch_size).take(steps).prefetch(tf.data.AUTOTUNE), steps

# %% right_shard_then_batch: passed
def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps

# %% wrong_a_list (right_shard_then_batch): wrong, wrong_type, levels 0 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    mine = dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True)
+    return list(mine.take(steps)), steps

# %% wrong_another_shuffle (right_shard_then_batch): wrong, overlap, levels 0 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    return dataset.shuffle(1000, seed=hvd.rank()).shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(
+        steps
+    ), steps

# %% wrong_by_local_rank (right_shard_then_batch): wrong, by_local_rank, levels 0 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    return dataset.shard(hvd.size(), hvd.local_rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps

# %% wrong_cardinality (right_shard_then_batch): wrong, length_unknown, levels 0 0
-    steps = n // (local_batch_size * hvd.size())
+    steps = int(dataset.cardinality()) // (local_batch_size * hvd.size())

# %% wrong_divides_the_batch (right_shard_then_batch): wrong, wrong_batch_size, levels 0 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    return dataset.shard(hvd.size(), hvd.rank()).batch(max(1, local_batch_size // hvd.size())).take(steps), steps

# %% wrong_not_cut (right_shard_then_batch): wrong, not_cut, levels 1 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size), steps

# %% wrong_not_sharded (right_shard_then_batch): wrong, not_sharded, levels 0 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    return dataset.batch(local_batch_size, drop_remainder=True).take(steps), steps

# %% wrong_not_whole: wrong, not_whole, levels 0 0
def shard_dataset(dataset, n, local_batch_size):
    steps = n / (hvd.size() * local_batch_size)
    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(int(steps)), steps

# %% wrong_one_array: raised, ValueError, levels 0 0
import numpy as np


def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    samples = np.array(list(dataset.as_numpy_iterator()))
    mine = tf.data.Dataset.from_tensor_slices(samples[hvd.rank() :: hvd.size()])
    return mine.batch(local_batch_size).take(steps), steps

# %% wrong_one_epoch (right_shard_then_batch): wrong, only_once, levels 0 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    mine = dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size).take(steps)
+    iterator = iter(mine)
+    return tf.data.Dataset.from_generator(lambda: iterator, output_signature=mine.element_spec), steps

# %% wrong_rounded_up: wrong, rounded_up, levels 1 0
def shard_dataset(dataset, n, local_batch_size):
    steps = -(-n // (local_batch_size * hvd.size()))
    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size).take(steps), steps

# %% wrong_steps_of_its_own: wrong, unequal_steps, levels 1 0
def shard_dataset(dataset, n, local_batch_size):
    shard = dataset.shard(hvd.size(), hvd.rank())
    steps = len(range(hvd.rank(), n, hvd.size())) // local_batch_size
    return shard.batch(local_batch_size, drop_remainder=True), steps

# %% wrong_steps_of_one_process (right_shard_then_batch): wrong, steps_of_one_process, levels 0 0
-    steps = n // (local_batch_size * hvd.size())
+    steps = n // local_batch_size

# %% wrong_swapped (right_shard_then_batch): raised, InvalidArgumentError, levels 0 0
-    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
+    return dataset.shard(hvd.rank(), hvd.size()).batch(local_batch_size).take(steps), steps
