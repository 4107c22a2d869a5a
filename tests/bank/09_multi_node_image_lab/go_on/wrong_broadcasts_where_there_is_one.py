# verdict: wrong, diagnosis: optimizer_not_broadcast
import horovod.tensorflow as hvd


def go_on(model, optimizer, read_checkpoint):
    epochs = 0
    hvd.broadcast_variables(model.variables, root_rank=0)
    checkpoint = read_checkpoint()
    if checkpoint is not None:
        epochs = checkpoint["epochs"]
        model.set_weights(checkpoint["weights"])
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
        hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")
