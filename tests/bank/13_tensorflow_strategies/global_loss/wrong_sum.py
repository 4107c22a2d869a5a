# verdict: wrong, diagnosis: sum_over_samples
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    return tf.reduce_sum(per_example) + tf.nn.scale_regularization_loss(penalty)
