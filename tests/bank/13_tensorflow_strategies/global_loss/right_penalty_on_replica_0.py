# verdict: passed
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
    share = tf.math.reduce_sum(per_example) / tf.cast(global_batch, per_example.dtype)
    return share + penalty if first else share
