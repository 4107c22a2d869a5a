# verdict: wrong, diagnosis: all_on_every_replica
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    def step(x, y):
        with tf.GradientTape() as tape:
            losses = tf.keras.losses.mean_squared_error(y, model(x))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=len(x))
        return tape.gradient(loss, model.trainable_variables)

    found = strategy.run(step, args=(x, y))
    return [strategy.reduce("SUM", gradient, axis=None) for gradient in found]
