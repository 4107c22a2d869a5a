# verdict: wrong, diagnosis: once_per_machine
import horovod.tensorflow as hvd
import tensorflow as tf


def finish_epoch(save, loss, accuracy, count):
    total = hvd.allreduce(tf.constant(float(count)), op=hvd.Sum)
    loss = float(hvd.allreduce(tf.constant(loss * count), op=hvd.Sum) / total)
    accuracy = float(hvd.allreduce(tf.constant(accuracy * count), op=hvd.Sum) / total)
    if hvd.local_rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}
