# verdict: hung, diagnosis: mismatched_collective
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    callbacks = [
        hvd_keras.callbacks.MetricAverageCallback(),
        hvd_keras.callbacks.LearningRateWarmupCallback(
            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
        ),
        plateau,
    ]
    if hvd.rank() == 0:
        callbacks += [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), checkpoint]
    return callbacks
