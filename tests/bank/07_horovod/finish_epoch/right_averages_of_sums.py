# verdict: passed
import horovod.tensorflow as hvd
import tensorflow as tf


def finish_epoch(save, loss, accuracy, count):
    mean_count = hvd.allreduce(tf.constant(count, tf.float64))
    loss = (hvd.allreduce(tf.constant(loss * count, tf.float64)) / mean_count).numpy()
    accuracy = (hvd.allreduce(tf.constant(accuracy * count, tf.float64)) / mean_count).numpy()
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}
