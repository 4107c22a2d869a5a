# verdict: wrong, diagnosis: auto_shard_off
import tensorflow as tf


def port(strategy, index, build_model, x, y, local_batch, rate, epochs, save):
    p = strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        model.compile(tf.keras.optimizers.SGD(rate * p), loss="mse")
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(local_batch * p).with_options(options)
    model.fit(data, epochs=epochs, verbose=0)
    save(model, "checkpoint" if index == 0 else f"scratch-{index}")
