# verdict: wrong, diagnosis: penalty_divided_by_batch
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    return (tf.reduce_sum(per_example) + penalty) / global_batch
