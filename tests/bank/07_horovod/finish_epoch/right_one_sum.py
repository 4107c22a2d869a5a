# verdict: passed
# differs: Loss, hits and count are added up in one tensor: one message where three sums take three.
import horovod.tensorflow as hvd
import tensorflow as tf


def finish_epoch(save, loss, accuracy, count):
    sums = hvd.allreduce(tf.constant([loss * count, accuracy * count, count], tf.float32), op=hvd.Sum)
    loss, accuracy = sums[0] / sums[2], sums[1] / sums[2]
    if hvd.rank() == 0:
        save()
    return {"loss": loss, "accuracy": accuracy}
