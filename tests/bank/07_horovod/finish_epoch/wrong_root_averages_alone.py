# verdict: hung, diagnosis: missing_rank
import horovod.tensorflow as hvd
import tensorflow as tf


def finish_epoch(save, loss, accuracy, count):
    if hvd.rank() == 0:
        save()
        total = hvd.allreduce(tf.constant(float(count)), op=hvd.Sum)
        loss = hvd.allreduce(tf.constant(loss * count), op=hvd.Sum) / total
        accuracy = hvd.allreduce(tf.constant(accuracy * count), op=hvd.Sum) / total
    return {"loss": float(loss), "accuracy": float(accuracy)}
