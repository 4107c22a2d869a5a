# verdict: passed
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    p = tf.distribute.get_strategy().num_replicas_in_sync
    return tf.reduce_sum(per_example) / global_batch + penalty / p
