# verdict: wrong, diagnosis: read_too_early
import tensorflow as tf


def prepared_images(hvd, is_ready, prepare, load):
    hvd.allreduce(tf.constant(0.0))
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    return load()
