# verdict: wrong, diagnosis: batch_is_local
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch)
    model.fit(data, epochs=epochs, verbose=0)
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
