# verdict: wrong, diagnosis: every_rank
import tensorflow as tf


def prepared_images(hvd, is_ready, prepare, load):
    if not is_ready():
        prepare()
    hvd.allreduce(tf.constant(0.0))
    return load()
