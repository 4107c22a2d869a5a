# verdict: passed
# differs: Rank 0 sends the checkpoint itself, and every rank loads it: one message, and a file that only one rank must reach.
import horovod.tensorflow as hvd


def go_on(model, optimizer, read_checkpoint):
    checkpoint = hvd.broadcast_object(read_checkpoint(), root_rank=0, name="checkpoint")
    if checkpoint is None:
        hvd.broadcast_variables(model.variables + optimizer.variables, root_rank=0)
        return 0
    model.set_weights(checkpoint["weights"])
    for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
        variable.assign(value)
    return checkpoint["epochs"]
