# verdict: wrong, diagnosis: no_warmup
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    callbacks = [
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd_keras.callbacks.MetricAverageCallback(),
        plateau,
    ]
    if hvd.rank() == 0:
        callbacks.append(checkpoint)
    return callbacks
