# Right and wrong answers to `global_loss`. In files of their own: autograder bank --write DIR
import tensorflow as tf

# %% right_by_hand: passed
def global_loss(per_example, penalty, global_batch):
    p = tf.distribute.get_strategy().num_replicas_in_sync
    return tf.reduce_sum(per_example) / global_batch + penalty / p

# %% right_penalty_by_samples: passed
def global_loss(per_example, penalty, global_batch):
    return tf.reduce_sum((per_example + penalty) / tf.cast(global_batch, per_example.dtype))

# %% right_penalty_on_replica_0: passed
def global_loss(per_example, penalty, global_batch):
    first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
    share = tf.math.reduce_sum(per_example) / tf.cast(global_batch, per_example.dtype)
    return share + penalty if first else share

# %% right_penalty_per_sample: passed
def global_loss(per_example, penalty, global_batch):
    return tf.reduce_sum(per_example + penalty) / global_batch

# %% right_tf_nn: passed
# differs: TensorFlow has both divisions as functions: one by the global batch, one by the number of replicas.
def global_loss(per_example, penalty, global_batch):
    loss = tf.nn.compute_average_loss(per_example, global_batch_size=global_batch)
    return loss + tf.nn.scale_regularization_loss(penalty)

# %% wrong_all_reduce: wrong, whole_loss_on_every_replica, levels 0 0
def global_loss(per_example, penalty, global_batch):
    context = tf.distribute.get_replica_context()
    total = context.all_reduce("sum", tf.reduce_sum(per_example))
    return total / global_batch + penalty

# %% wrong_average_loss_default: wrong, mean_of_means, levels 1 0
def global_loss(per_example, penalty, global_batch):
    return tf.nn.compute_average_loss(per_example) + tf.nn.scale_regularization_loss(penalty)

# %% wrong_batch_of_one (right_by_hand): wrong, divided_by_replicas, levels 0 0
-    return tf.reduce_sum(per_example) / global_batch + penalty / p
+    return tf.nn.compute_average_loss(per_example, global_batch_size=global_batch * p) + tf.nn.scale_regularization_loss(penalty)

# %% wrong_counts_devices (right_by_hand): wrong, counts_devices, levels 0 0
-    p = tf.distribute.get_strategy().num_replicas_in_sync
+    p = len(tf.config.list_logical_devices("CPU"))

# %% wrong_first_pays_if_it_has_samples: wrong, penalty_forgotten, levels 1 0
def global_loss(per_example, penalty, global_batch):
    context = tf.distribute.get_replica_context()
    mine = tf.reduce_sum(per_example) / global_batch
    if context.replica_id_in_sync_group == 0 and len(per_example):
        mine += penalty
    return mine

# %% wrong_mean: wrong, mean_per_replica, levels 0 0
def global_loss(per_example, penalty, global_batch):
    return tf.reduce_mean(per_example) + tf.nn.scale_regularization_loss(penalty)

# %% wrong_mean_or_nothing: wrong, mean_per_replica, levels 0 0
def global_loss(per_example, penalty, global_batch):
    own = tf.reduce_mean(per_example) if len(per_example) else tf.reduce_sum(per_example)
    return own + tf.nn.scale_regularization_loss(penalty)

# %% wrong_no_penalty: wrong, penalty_forgotten, levels 0 0
def global_loss(per_example, penalty, global_batch):
    return tf.nn.compute_average_loss(per_example, global_batch_size=global_batch)

# %% wrong_nothing_without_samples: wrong, no_penalty_without_samples, levels 1 0
def global_loss(per_example, penalty, global_batch):
    replicas = tf.distribute.get_replica_context().num_replicas_in_sync
    part = tf.reduce_sum(per_example) / global_batch + penalty / replicas
    return tf.where(tf.size(per_example) == 0, tf.zeros_like(part), part)

# %% wrong_one_bracket: wrong, penalty_divided_by_batch, levels 0 0
def global_loss(per_example, penalty, global_batch):
    return (tf.reduce_sum(per_example) + penalty) / global_batch

# %% wrong_penalty_float32: wrong, lost_digits, levels 0 0
def global_loss(per_example, penalty, global_batch):
    replicas = tf.distribute.get_replica_context().num_replicas_in_sync
    own = tf.cast(penalty, tf.float32) / replicas
    return tf.reduce_sum(per_example) / global_batch + tf.cast(own, tf.float64)

# %% wrong_penalty_on_replica_1: wrong, penalty_forgotten, levels 0 1
def global_loss(per_example, penalty, global_batch):
    second = tf.distribute.get_replica_context().replica_id_in_sync_group == 1
    share = tf.math.reduce_sum(per_example) / tf.cast(global_batch, per_example.dtype)
    return share + penalty if second else share

# %% wrong_sum: wrong, sum_over_samples, levels 0 0
def global_loss(per_example, penalty, global_batch):
    return tf.reduce_sum(per_example) + tf.nn.scale_regularization_loss(penalty)

# %% wrong_vector: wrong, wrong_type, levels 0 0
def global_loss(per_example, penalty, global_batch):
    return per_example / global_batch + tf.nn.scale_regularization_loss(penalty)

# %% wrong_whole_penalty: wrong, penalty_of_every_replica, levels 0 0
def global_loss(per_example, penalty, global_batch):
    return tf.nn.compute_average_loss(per_example, global_batch_size=global_batch) + penalty
