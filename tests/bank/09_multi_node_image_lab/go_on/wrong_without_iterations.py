# verdict: wrong, diagnosis: steps_not_restored

import horovod.tensorflow as hvd


def go_on(model, optimizer, read_checkpoint):
    c = read_checkpoint()
    e = 0
    if c:
        model.set_weights(c["weights"])
        e = c["epochs"]
        for v, x in zip(optimizer.variables[1:], c["optimizer"][1:]):
            v.assign(x)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return hvd.broadcast_object(e, root_rank=0)
