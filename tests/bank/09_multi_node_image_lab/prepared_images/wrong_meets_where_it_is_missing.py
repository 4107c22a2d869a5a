# verdict: hung, diagnosis: mismatched_collective
import tensorflow as tf


def prepared_images(hvd, is_ready, prepare, load):
    if not is_ready():
        if hvd.local_rank() == 0:
            prepare()
        hvd.allreduce(tf.constant(0.0))
    return load()
