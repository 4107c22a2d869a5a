# verdict: wrong, diagnosis: epoch_forgotten
import horovod.tensorflow as hvd


def go_on(model, optimizer, read_checkpoint):
    checkpoint = read_checkpoint()
    if checkpoint is not None:
        model.set_weights(checkpoint["weights"])
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return 0
