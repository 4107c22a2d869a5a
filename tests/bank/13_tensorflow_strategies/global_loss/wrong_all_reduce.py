# verdict: wrong, diagnosis: whole_loss_on_every_replica
import tensorflow as tf


def global_loss(per_example, penalty, global_batch):
    context = tf.distribute.get_replica_context()
    total = context.all_reduce("sum", tf.reduce_sum(per_example))
    return total / global_batch + penalty
