# verdict: wrong, diagnosis: saved_each_epoch
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    for _ in range(epochs):
        model.fit(x, y, batch_size=local_batch * p, shuffle=False, verbose=0)
        save(model, "checkpoint" if index == 0 else f"scratch-{index}")
