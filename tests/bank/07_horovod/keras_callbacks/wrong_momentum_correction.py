# verdict: wrong, diagnosis: momentum_correction
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    callbacks = [
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd_keras.callbacks.MetricAverageCallback(),
        hvd_keras.callbacks.LearningRateWarmupCallback(initial_lr=scaled_rate, warmup_epochs=warmup_epochs),
        plateau,
    ]
    if hvd.rank() == 0:
        callbacks.append(checkpoint)
    return callbacks
