# verdict: wrong, diagnosis: optimizer_not_broadcast

import horovod.tensorflow as hvd


def go_on(model, optimizer, read_checkpoint):
    c = hvd.broadcast_object(read_checkpoint(), root_rank=0)
    if c is None:
        hvd.broadcast_variables(model.variables, root_rank=0)
        return 0
    model.set_weights(c["weights"])
    for v, x in zip(optimizer.variables, c["optimizer"]):
        v.assign(x)
    return c["epochs"]
