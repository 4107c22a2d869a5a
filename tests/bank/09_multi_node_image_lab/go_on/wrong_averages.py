# verdict: wrong, diagnosis: mean_start
import horovod.tensorflow as hvd


def go_on(model, optimizer, read_checkpoint):
    checkpoint = hvd.broadcast_object(read_checkpoint(), root_rank=0)
    for variable in model.variables:
        variable.assign(hvd.allreduce(variable, op=hvd.Average))
    if checkpoint is not None:
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
        return checkpoint["epochs"]
    return 0
