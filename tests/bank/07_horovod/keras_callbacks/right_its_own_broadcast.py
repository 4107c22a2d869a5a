# verdict: passed
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
import tensorflow as tf


class Broadcast(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.model.optimizer.build(self.model.trainable_variables)
        hvd.broadcast_variables(self.model.variables, root_rank=0)
        hvd.broadcast_variables(self.model.optimizer.variables, root_rank=0)


def keras_callbacks(scaled_rate, warmup_epochs, plateau, checkpoint):
    warmup = hvd_keras.callbacks.LearningRateWarmupCallback(scaled_rate, warmup_epochs, momentum_correction=False)
    callbacks = [Broadcast(), hvd_keras.callbacks.MetricAverageCallback(), warmup, plateau]
    return callbacks + [checkpoint] * (hvd.rank() == 0)
