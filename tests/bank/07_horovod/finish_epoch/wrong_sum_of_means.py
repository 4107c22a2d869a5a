# verdict: wrong, diagnosis: sum_of_means
import horovod.tensorflow as hvd
import tensorflow as tf


def finish_epoch(save, loss, accuracy, count):
    loss = float(hvd.allreduce(tf.constant(loss), op=hvd.Sum))
    accuracy = float(hvd.allreduce(tf.constant(accuracy), op=hvd.Sum))
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}
