# verdict: wrong, diagnosis: chief_elsewhere
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    batch = local_batch * strategy.num_replicas_in_sync
    model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
    save(model, f"checkpoint-{index}")
