# verdict: wrong, diagnosis: scaled_twice
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        optimizer = tf.keras.optimizers.SGD(rate * p)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
    @tf.function
    def step(x_own, y_own):
        def replica(x_own, y_own):
            with tf.GradientTape() as tape:
                losses = tf.keras.losses.mean_squared_error(y_own, model(x_own, training=True))
                loss = tf.reduce_mean(losses)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

        strategy.run(replica, args=(x_own, y_own))

    for _ in range(epochs):
        for x_own, y_own in strategy.experimental_distribute_dataset(data):
            step(x_own, y_own)
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
