# verdict: wrong, diagnosis: outputs_added
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    n, replicas = len(x), strategy.num_replicas_in_sync

    def step():
        context = tf.distribute.get_replica_context()
        own = slice(int(context.replica_id_in_sync_group), None, replicas)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(tf.constant(x[own])) - y[own]) ** 2) / n
        return context.all_reduce("sum", tape.gradient(loss, model.trainable_variables))

    return strategy.run(step)
