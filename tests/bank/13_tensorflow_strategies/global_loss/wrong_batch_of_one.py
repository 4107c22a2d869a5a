# verdict: wrong, diagnosis: divided_by_replicas
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    p = tf.distribute.get_strategy().num_replicas_in_sync
    return tf.nn.compute_average_loss(per_example, global_batch_size=global_batch * p) + tf.nn.scale_regularization_loss(penalty)
