# verdict: passed
import horovod.tensorflow as hvd
import tensorflow as tf


def go_on(model, optimizer, read_checkpoint):
    found = read_checkpoint()
    if found:
        for variable, value in zip([*model.variables, *optimizer.variables], [*found["weights"], *found["optimizer"]]):
            variable.assign(value)
    for k, variable in enumerate([*model.variables, *optimizer.variables]):
        variable.assign(hvd.broadcast(variable, root_rank=0, name=f"variable.{k}"))
    epochs = tf.constant(found["epochs"] if found else 0)
    return hvd.broadcast(epochs, root_rank=0, name="epochs")
