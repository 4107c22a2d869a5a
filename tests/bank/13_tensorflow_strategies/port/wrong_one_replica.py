# verdict: wrong, diagnosis: one_replica_only
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
    for _ in range(epochs):
        for x_all, y_all in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.keras.losses.mean_squared_error(y_all, model(x_all)))
            gradients = tape.gradient(loss, model.trainable_variables)
            for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
                variable.assign_sub(rate * p * gradient)
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
