# verdict: wrong, diagnosis: saved_too_early
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
    model.fit(x, y, batch_size=local_batch * p, epochs=epochs, shuffle=False, verbose=0)
