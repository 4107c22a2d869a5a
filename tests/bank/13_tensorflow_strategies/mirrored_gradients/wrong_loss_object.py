# verdict: raised, diagnosis: ValueError
import tensorflow as tf


def mirrored_gradients(strategy, model, x, y):
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(x))
    error = tf.keras.losses.MeanSquaredError()

    @tf.function
    def step(x_own, y_own):
        with tf.GradientTape() as tape:
            loss = error(y_own, model(x_own))
        return tape.gradient(loss, model.trainable_variables)

    for minibatch in strategy.experimental_distribute_dataset(dataset):
        found = strategy.run(step, args=minibatch)
    return [strategy.reduce("SUM", one, axis=None) for one in found]
