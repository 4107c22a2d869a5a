# verdict: wrong, diagnosis: all_to_the_same_file
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p)
    model.fit(data, epochs=epochs, verbose=0)
    save(model, "checkpoint")
