# verdict: wrong, diagnosis: every_rank_saves
import horovod.tensorflow.keras as hvd_keras


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    callbacks = [
        hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd_keras.callbacks.MetricAverageCallback(),
        hvd_keras.callbacks.LearningRateWarmupCallback(
            initial_lr=scaled_rate, warmup_epochs=warmup_epochs, momentum_correction=False
        ),
        plateau,
        checkpoint,
    ]
    return callbacks
