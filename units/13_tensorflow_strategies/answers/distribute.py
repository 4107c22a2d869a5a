# Right and wrong answers to `distribute`. In files of their own: autograder bank --write DIR
import tensorflow as tf

# %% right_auto: passed
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.batch(batch * strategy.num_replicas_in_sync))

# %% right_data: passed
def distribute(dataset, strategy, batch):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return strategy.experimental_distribute_dataset(dataset.batch(batch * strategy.num_replicas_in_sync).with_options(options))

# %% right_from_function: passed
# differs: Each worker builds its own data set and shards it itself: nothing is left to the automatic rule.
def distribute(dataset, strategy, batch):
    def own(context):
        mine = dataset.shard(context.num_input_pipelines, context.input_pipeline_id)
        return mine.batch(batch).prefetch(1)

    return strategy.distribute_datasets_from_function(own)

# %% right_minibatches_dealt: passed
# differs: Whole minibatches are dealt out, so that one worker may take a step less than the others.
def distribute(dataset, strategy, batch):
    def own(context):
        return dataset.batch(batch).shard(context.num_input_pipelines, context.input_pipeline_id)

    return strategy.distribute_datasets_from_function(own)

# %% wrong_blocks_rounded_up (right_from_function): wrong, blocks_rounded_up, levels 1 0
-        mine = dataset.shard(context.num_input_pipelines, context.input_pipeline_id)
+        size = -(-len(dataset) // context.num_input_pipelines)
+        mine = dataset.skip(size * context.input_pipeline_id).take(size)

# %% wrong_drops: wrong, drops_remainder, levels 0 0
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.batch(batch * strategy.num_replicas_in_sync, drop_remainder=True))

# %% wrong_file (right_data): raised, NotFoundError, levels 1 0
-    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
+    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE

# %% wrong_from_arrays (right_minibatches_dealt): raised, ValueError, levels 1 0
+import numpy as np
+
+
 def distribute(dataset, strategy, batch):
+    samples = np.array(list(dataset.as_numpy_iterator()))
+
@@
-        return dataset.batch(batch).shard(context.num_input_pipelines, context.input_pipeline_id)
+        mine = samples[context.input_pipeline_id :: context.num_input_pipelines]
+        return tf.data.Dataset.from_tensor_slices(mine).batch(batch)

# %% wrong_function_global_batch (right_minibatches_dealt): wrong, batch_too_large, levels 0 0
-        return dataset.batch(batch).shard(context.num_input_pipelines, context.input_pipeline_id)
+        return dataset.shard(context.num_input_pipelines, context.input_pipeline_id).batch(batch * strategy.num_replicas_in_sync)

# %% wrong_local_batch: wrong, batch_is_local, levels 0 0
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.batch(batch))

# %% wrong_off (right_data): wrong, auto_shard_off, levels 1 0
-    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
+    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF

# %% wrong_pieces_of_one_size (right_minibatches_dealt): wrong, pieces_of_one_size, levels 1 0
-        return dataset.batch(batch).shard(context.num_input_pipelines, context.input_pipeline_id)
+        size = int(dataset.cardinality()) // context.num_input_pipelines
+        return dataset.skip(size * context.input_pipeline_id).take(size).batch(batch)

# %% wrong_plain: wrong, not_distributed, levels 0 0
def distribute(dataset, strategy, batch):
    return dataset.batch(batch * strategy.num_replicas_in_sync)

# %% wrong_repeats: wrong, samples_again, levels 0 0
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.repeat(2).batch(batch * strategy.num_replicas_in_sync))

# %% wrong_rest_to_one_worker: wrong, rest_to_one_worker, levels 1 0
def distribute(dataset, strategy, batch):
    n = int(dataset.cardinality())

    def mine(context):
        each = n // context.num_input_pipelines
        last = context.input_pipeline_id == context.num_input_pipelines - 1
        return dataset.skip(each * context.input_pipeline_id).take(-1 if last else each).batch(batch)

    return strategy.distribute_datasets_from_function(mine)

# %% wrong_sharded_twice (right_auto): wrong, sharded_twice, levels 1 0
 def distribute(dataset, strategy, batch):
+    resolver = strategy.cluster_resolver
+    if resolver is not None and resolver.task_id is not None:
+        workers = 2 if strategy.num_replicas_in_sync == 4 else 3
+        dataset = dataset.shard(workers, resolver.task_id)

# %% wrong_shuffled: wrong, other_orders, levels 1 0
def distribute(dataset, strategy, batch):
    return strategy.experimental_distribute_dataset(dataset.shuffle(100).batch(batch * strategy.num_replicas_in_sync))
