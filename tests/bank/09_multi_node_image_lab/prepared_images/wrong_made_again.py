# verdict: wrong, diagnosis: made_again
import tensorflow as tf


def prepared_images(hvd, is_ready, prepare, load):
    if hvd.local_rank() == 0:
        prepare()
    hvd.allreduce(tf.constant(0.0))
    return load()
