# verdict: wrong, diagnosis: mean_per_replica
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(x))
    error = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.NONE)

    @tf.function
    def step(x_own, y_own):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(error(y_own, model(x_own)))
        return tape.gradient(loss, model.trainable_variables)

    for minibatch in strategy.experimental_distribute_dataset(dataset):
        found = strategy.run(step, args=minibatch)
    return [strategy.reduce("SUM", one, axis=None) for one in found]
