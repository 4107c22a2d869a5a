# verdict: wrong, diagnosis: all_on_every_replica
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y, model(tf.constant(x))))
        g = tape.gradient(loss, model.trainable_variables)
        return tf.distribute.get_replica_context().all_reduce("mean", g)

    return strategy.run(step)
