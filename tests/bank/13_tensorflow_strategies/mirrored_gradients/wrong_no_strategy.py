# verdict: wrong, diagnosis: outside_the_replicas
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y, model(tf.constant(x))))
    return tape.gradient(loss, model.trainable_variables)
