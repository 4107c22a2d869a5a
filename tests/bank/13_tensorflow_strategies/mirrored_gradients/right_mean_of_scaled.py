# verdict: passed
import numpy as np
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    replicas = strategy.num_replicas_in_sync
    parts = list(zip(np.array_split(x, replicas), np.array_split(y, replicas)))
    mine = strategy.experimental_distribute_values_from_function(lambda c: parts[c.replica_id_in_sync_group][0])
    target = strategy.experimental_distribute_values_from_function(lambda c: parts[c.replica_id_in_sync_group][1])

    def replica_step(inputs, wanted):
        with tf.GradientTape() as tape:
            errors = tf.math.squared_difference(model(inputs), wanted)
            objective = replicas * tf.reduce_sum(errors) / y.size
        gradients = tape.gradient(objective, model.trainable_variables)
        context = tf.distribute.get_replica_context()
        return [context.all_reduce(tf.distribute.ReduceOp.MEAN, gradient) for gradient in gradients]

    return strategy.run(replica_step, args=(mine, target))
