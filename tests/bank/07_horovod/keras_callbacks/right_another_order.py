# verdict: passed
# differs: The broadcast may come last among those that begin with the training; what counts is that metrics are averaged before anybody decides by them.
import horovod.tensorflow.keras as hvd_keras


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    callbacks = [
        hvd_keras.callbacks.LearningRateWarmupCallback(
            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
        ),
        hvd_keras.callbacks.MetricAverageCallback(),
        plateau,
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
    ]
    return callbacks + [checkpoint] if hvd_keras.rank() == 0 else callbacks
