# verdict: wrong, diagnosis: lost_digits
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    replicas = tf.distribute.get_replica_context().num_replicas_in_sync
    own = tf.cast(penalty, tf.float32) / replicas
    return tf.reduce_sum(per_example) / global_batch + tf.cast(own, tf.float64)
