# verdict: wrong, diagnosis: mean_per_replica
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    own = tf.reduce_mean(per_example) if len(per_example) else tf.reduce_sum(per_example)
    return own + tf.nn.scale_regularization_loss(penalty)
