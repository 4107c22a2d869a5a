# verdict: wrong, diagnosis: mean_per_replica
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    return tf.reduce_mean(per_example) + tf.nn.scale_regularization_loss(penalty)
