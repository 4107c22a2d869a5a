# verdict: passed
# differs: TensorFlow has both divisions as functions: one by the global batch, one by the number of replicas.
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    loss = tf.nn.compute_average_loss(per_example, global_batch_size=global_batch)
    return loss + tf.nn.scale_regularization_loss(penalty)
