# verdict: wrong, diagnosis: penalty_forgotten
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    return tf.nn.compute_average_loss(per_example, global_batch_size=global_batch)
