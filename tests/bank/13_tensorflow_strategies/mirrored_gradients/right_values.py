# verdict: passed
# differs: The rows are dealt out by hand and the gradients summed inside the replicas, which leaves the same sum on each.
import numpy as np
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    n, p = len(x), strategy.num_replicas_in_sync
    shares = np.array_split(np.arange(n), p)

    def step(rows):
        with tf.GradientTape() as tape:
            losses = tf.reduce_mean((model(tf.gather(x, rows)) - tf.gather(y, rows)) ** 2, axis=1)
            loss = tf.reduce_sum(losses) / n
        g = tape.gradient(loss, model.trainable_variables)
        return tf.distribute.get_replica_context().all_reduce("sum", g)

    rows = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(shares[context.replica_id_in_sync_group])
    )
    return strategy.run(step, args=(rows,))
