# verdict: raised, diagnosis: TypeError
import horovod.tensorflow as hvd


def go_on(model, optimizer, read_checkpoint):
    checkpoint = read_checkpoint()
    model.set_weights(checkpoint["weights"])
    hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return checkpoint["epochs"]
