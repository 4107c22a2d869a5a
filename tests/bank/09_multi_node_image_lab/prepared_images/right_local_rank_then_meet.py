# verdict: passed
# differs: The first rank of each node prepares, and an all-reduce of a number is the meeting: it ends when all have come.
import tensorflow as tf


def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    hvd.allreduce(tf.constant(0.0))
    return load()
