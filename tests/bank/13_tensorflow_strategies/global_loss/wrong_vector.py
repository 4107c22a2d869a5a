# verdict: wrong, diagnosis: wrong_type
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    return per_example / global_batch + tf.nn.scale_regularization_loss(penalty)
