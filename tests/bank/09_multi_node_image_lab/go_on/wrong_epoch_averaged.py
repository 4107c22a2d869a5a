# verdict: wrong, diagnosis: epoch_averaged
import horovod.tensorflow as hvd
import tensorflow as tf


def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint()
    if c:
        model.set_weights(c["weights"])
        for v, x in zip(optimizer.variables, c["optimizer"]):
            v.assign(x)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return int(hvd.allreduce(tf.constant(float(c["epochs"] if c else 0)), op=hvd.Average))
