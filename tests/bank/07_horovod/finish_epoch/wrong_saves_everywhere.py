# verdict: wrong, diagnosis: every_rank_saves
import horovod.tensorflow as hvd
import tensorflow as tf


def finish_epoch(save, loss, accuracy, count):
    total = hvd.allreduce(tf.constant(float(count)), op=hvd.Sum)
    loss = float(hvd.allreduce(tf.constant(loss * count), op=hvd.Sum) / total)
    accuracy = float(hvd.allreduce(tf.constant(accuracy * count), op=hvd.Sum) / total)
    save()
    return {"loss": loss, "accuracy": accuracy}
