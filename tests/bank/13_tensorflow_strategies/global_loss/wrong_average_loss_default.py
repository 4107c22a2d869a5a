# verdict: wrong, diagnosis: mean_of_means
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    return tf.nn.compute_average_loss(per_example) + tf.nn.scale_regularization_loss(penalty)
