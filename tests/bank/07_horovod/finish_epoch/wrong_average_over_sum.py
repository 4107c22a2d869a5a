# verdict: wrong, diagnosis: divided_again
import tensorflow as tf
import horovod.tensorflow as hvd


def finish_epoch(save, loss, accuracy, count):
    v = hvd.allreduce(tf.constant([loss * count, accuracy * count], tf.float64), op=hvd.Average).numpy()
    n = hvd.allreduce(tf.constant(count, tf.float64), op=hvd.Sum).numpy()
    if hvd.rank() == 0:
        save()
    return {"loss": float(v[0] / n), "accuracy": float(v[1] / n)}
