# verdict: wrong, diagnosis: divided_by_own_count
import horovod.tensorflow as hvd
import tensorflow as tf


def finish_epoch(save, loss, accuracy, count):
    loss = float(hvd.allreduce(tf.constant(loss * count), op=hvd.Sum)) / max(count, 1)
    accuracy = float(hvd.allreduce(tf.constant(accuracy * count), op=hvd.Sum)) / max(count, 1)
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}
